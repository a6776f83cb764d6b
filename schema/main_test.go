package schema_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/sqlfloor"
	"github.com/holdfast/holdfast/schema"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// patience is how long a test waits for a condition before it gives up.
const patience = 20 * time.Second

// fresh is an empty database of the test's own.
func fresh(t *testing.T) *db.DB {
	t.Helper()
	return open(t, dbtest.Create(t))
}

func open(t *testing.T, url string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: url, MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func migrateTo(t *testing.T, d *db.DB, version int) {
	t.Helper()
	if err := schema.MigrateTo(t.Context(), d, slog.New(slog.DiscardHandler), version); err != nil {
		t.Fatalf("MigrateTo(%d): %v", version, err)
	}
}

func latest(t *testing.T) int {
	t.Helper()
	version, err := schema.Latest()
	if err != nil || version < 5 {
		t.Fatalf("Latest() = %d, %v", version, err)
	}
	return version
}

// statementsOf are those of the up or down file of a version, each with its file and line.
func statementsOf(t *testing.T, version int, direction string) []sqlfloor.Statement {
	t.Helper()
	names, err := fs.Glob(schema.Files(), fmt.Sprintf("migrations/%04d_*.%s.sql", version, direction))
	if err != nil || len(names) != 1 {
		t.Fatalf("version %d has the %s files %v (%v), want one", version, direction, names, err)
	}
	text, err := fs.ReadFile(schema.Files(), names[0])
	if err != nil {
		t.Fatal(err)
	}
	statements := sqlfloor.Split(string(text))
	for i := range statements {
		statements[i].Name = fmt.Sprintf("%s:%d", path.Base(names[0]), statements[i].Line)
	}
	return statements
}

func execute(t *testing.T, d *db.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := d.Pool().Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// setVersion writes golang-migrate's row, as a migrator does before it runs a file.
func setVersion(t *testing.T, d *db.DB, version int, dirty bool) {
	t.Helper()
	execute(t, d,
		"DELETE FROM schema_migrations WHERE version IS NOT NULL",
		fmt.Sprintf("INSERT INTO schema_migrations (version, dirty) VALUES (%d, %t)", version, dirty))
}

// catalog is everything that migrations made: columns, constraints and indexes. CockroachDB names the
// database in some definitions, which is another one in each test.
func catalog(t *testing.T, d *db.DB) string {
	t.Helper()
	rows, err := d.Pool().Query(t.Context(), `
SELECT 'column ' || table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || COALESCE(column_default, '')
FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name NOT IN ('schema_migrations', 'schema_lock')
UNION ALL
SELECT 'constraint ' || t.relname || ' ' || c.conname || ' ' || replace(pg_get_constraintdef(c.oid), current_database() || '.', '')
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = current_schema() AND t.relname NOT IN ('schema_migrations', 'schema_lock')
UNION ALL
SELECT 'index ' || tablename || ' ' || replace(indexdef, current_database() || '.', '')
FROM pg_catalog.pg_indexes
WHERE schemaname = current_schema() AND tablename NOT IN ('schema_migrations', 'schema_lock')
ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

var expected struct {
	once     sync.Once
	catalogs []string
}

// catalogs are those of each version, reached once by going up file by file.
func catalogs(t *testing.T) []string {
	t.Helper()
	expected.once.Do(func() {
		d := fresh(t)
		result := []string{""}
		for version := 1; version <= latest(t); version++ {
			migrateTo(t, d, version)
			result = append(result, catalog(t, d))
		}
		expected.catalogs = result
	})
	if expected.catalogs == nil {
		t.Fatal("the catalogs of the versions are not known, see the first failure")
	}
	return expected.catalogs
}

func wantCatalog(t *testing.T, d *db.DB, want string) {
	t.Helper()
	if got := catalog(t, d); got != want {
		t.Errorf("the catalog is\n%s\nwant\n%s", got, want)
	}
}

// logBuffer keeps what is logged by several goroutines.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("in vain: %s", what)
		case <-tick.C:
		}
	}
}
