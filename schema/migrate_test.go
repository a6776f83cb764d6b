package schema_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/schema"
)

func TestUpDownAndUpAgain(t *testing.T) {
	t.Parallel()
	d, want := fresh(t), catalogs(t)
	last := latest(t)
	for range 2 {
		if err := schema.Migrate(t.Context(), d, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		wantCatalog(t, d, want[last])
		for version := last - 1; version >= 0; version-- {
			migrateTo(t, d, version)
			wantCatalog(t, d, want[version])
		}
		for version := range want {
			migrateTo(t, d, version)
			wantCatalog(t, d, want[version])
		}
		migrateTo(t, d, 0)
		wantCatalog(t, d, "")
	}
}

func TestMigrateAgainChangesNothing(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	for range 3 {
		if err := schema.Migrate(t.Context(), d, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	wantCatalog(t, d, catalogs(t)[latest(t)])
}

func TestEveryStatementMayRunAgain(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	last := latest(t)
	migrateTo(t, d, last)
	execute(t, d, `INSERT INTO tenants (id, name, slug, home_region, payment_provider, payment_account)
VALUES ('11111111-1111-1111-1111-111111111111', 'A', 'a', 'eu', 'sandbox', 'acct')`)
	before := catalog(t, d)
	for range 2 {
		for version := 1; version <= last; version++ {
			for _, statement := range statementsOf(t, version, "up") {
				if _, err := d.Pool().Exec(t.Context(), statement.Text); err != nil {
					t.Errorf("%s: %v", statement.Name, err)
				}
			}
		}
	}
	wantCatalog(t, d, before)
	var tenants int64
	if err := d.Pool().QueryRow(t.Context(), "SELECT count(*) FROM tenants").Scan(&tenants); err != nil || tenants != 1 {
		t.Errorf("%d tenants are left (%v), want 1", tenants, err)
	}
	for version := last; version >= 1; version-- {
		migrateTo(t, d, version-1)
		for _, statement := range statementsOf(t, version, "down") {
			if _, err := d.Pool().Exec(t.Context(), statement.Text); err != nil {
				t.Errorf("%s: %v", statement.Name, err)
			}
		}
	}
}

// A migrator that is killed leaves a mark that its file is under way, and on CockroachDB any number
// of its statements done.
func TestMigrateCompletesWhatAKilledMigratorBegan(t *testing.T) {
	t.Parallel()
	want, last := catalogs(t), latest(t)
	for version := 1; version <= last; version++ {
		t.Run(fmt.Sprintf("up to %d", version), func(t *testing.T) {
			t.Parallel()
			d, statements := fresh(t), statementsOf(t, version, "up")
			for done := range len(statements) + 1 {
				migrateTo(t, d, version-1)
				setVersion(t, d, version, true)
				for _, statement := range statements[:done] {
					execute(t, d, statement.Text)
				}
				var log logBuffer
				if err := schema.MigrateTo(t.Context(), d, log.logger(), version); err != nil {
					t.Fatalf("after %d statements: %v", done, err)
				}
				wantCatalog(t, d, want[version])
				if !strings.Contains(log.String(), `level=WARN msg="completing a schema migration that did not finish" version=`) {
					t.Errorf("the recovery was not logged: %s", log.String())
				}
			}
			setVersion(t, d, version, true)
			if err := schema.Migrate(t.Context(), d, slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
			wantCatalog(t, d, want[last])
		})
		t.Run(fmt.Sprintf("down from %d", version), func(t *testing.T) {
			t.Parallel()
			d, statements := fresh(t), statementsOf(t, version, "down")
			for done := range len(statements) + 1 {
				migrateTo(t, d, version)
				mark := version - 1
				if mark == 0 {
					mark = -1
				}
				setVersion(t, d, mark, true)
				for _, statement := range statements[:done] {
					execute(t, d, statement.Text)
				}
				// On, or back again.
				target := version - 1
				if done%2 == 1 {
					target = last
				}
				migrateTo(t, d, target)
				wantCatalog(t, d, want[target])
			}
		})
	}
}

func TestMigrateOutlivesALostConnection(t *testing.T) {
	t.Parallel()
	url := dbtest.Create(t)
	d, proxy := open(t, url), dbtest.NewProxy(t, url)
	if d.Engine() == db.EngineCockroachDB {
		t.Skip("it waits for a lock of PostgreSQL to know that the migrator is in the middle of its file")
	}
	// Version 5 refers to the table that is locked below.
	const waits = 5
	migrateTo(t, d, waits-1)
	behind := open(t, proxy.URL())

	blocker, err := d.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = blocker.Rollback(context.WithoutCancel(t.Context())) }()
	// Whatever the latest migration is about, it needs some table.
	if _, err := blocker.Exec(t.Context(), "LOCK TABLE "+strings.Join(tableNames(t, d), ", ")+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- schema.Migrate(t.Context(), behind, slog.New(slog.DiscardHandler)) }()
	eventually(t, "a migrator that waits for the table", func(ctx context.Context) bool {
		var waiting int64
		err := d.Pool().QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
WHERE application_name = $1::text AND datname = current_database() AND wait_event_type = 'Lock'`, schema.SessionName).Scan(&waiting)
		return err == nil && waiting == 1
	})
	proxy.Cut()
	if err := <-done; err == nil || strings.Contains(err.Error(), "CREATE TABLE") {
		t.Errorf("Migrate: %v, want an error without the file's text", err)
	}
	if err := blocker.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, d, fmt.Sprintf("a migration to version %d did not finish: run `holdfast migrate up` again", waits))
	if err := schema.Migrate(t.Context(), d, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	wantCatalog(t, d, catalogs(t)[latest(t)])
}

func TestStartersAtOnce(t *testing.T) {
	t.Parallel()
	want := catalogs(t)[latest(t)]
	for _, engine := range drivers(t) {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			url := dbtest.Create(t)
			playLockTable(t, open(t, url), engine)
			var starters sync.WaitGroup
			for range 4 {
				d := open(t, url)
				starters.Go(func() {
					if err := schema.MigrateAs(t.Context(), d, slog.New(slog.DiscardHandler), latest(t), engine, time.Minute); err != nil {
						t.Errorf("Migrate: %v", err)
					}
				})
			}
			starters.Wait()
			d := open(t, url)
			wantCatalog(t, d, want)
			if err := schema.RequireVersion(t.Context(), d); err != nil {
				t.Errorf("RequireVersion: %v", err)
			}
		})
	}
}

// drivers are the engines whose way of migrating the engine at hand can play. On PostgreSQL the one
// of CockroachDB is a rehearsal: its lock row and golang-migrate's driver are plain SQL.
func drivers(t *testing.T) []db.Engine {
	t.Helper()
	if dbtest.Open(t).Engine() == db.EngineCockroachDB {
		return []db.Engine{db.EngineCockroachDB}
	}
	return []db.Engine{db.EnginePostgreSQL, db.EngineCockroachDB}
}

func TestMigrateWaitsForALivingMigrator(t *testing.T) {
	t.Parallel()
	for _, engine := range drivers(t) {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			url := dbtest.Create(t)
			d := open(t, url)
			release := holdLock(t, d, engine)
			migrate := func(ctx context.Context, patience time.Duration) error {
				return schema.MigrateAs(ctx, d, slog.New(slog.DiscardHandler), latest(t), engine, patience)
			}

			err := migrate(t.Context(), 300*time.Millisecond)
			if err == nil || !strings.Contains(err.Error(), "another migrator has held the lock for over 300ms") {
				t.Errorf("Migrate beyond the deadline: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if err := migrate(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Migrate beyond its context: %v", err)
			}

			done := make(chan error, 1)
			go func() { done <- migrate(t.Context(), time.Minute) }()
			release()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("Migrate after the other one: %v", err)
				}
			case <-time.After(patience):
				t.Error("Migrate still waits for a lock that is free")
			}
		})
	}
}

// holdLock stands for a migrator that is at work.
func holdLock(t *testing.T, d *db.DB, engine db.Engine) (release func()) {
	t.Helper()
	playLockTable(t, d, engine)
	if err := schema.MigrateAs(t.Context(), d, slog.New(slog.DiscardHandler), 1, engine, time.Minute); err != nil {
		t.Fatal(err)
	}
	config := d.Pool().Config().ConnConfig
	config.RuntimeParams["application_name"] = schema.SessionName
	session, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close(context.WithoutCancel(t.Context())) })
	if engine == db.EnginePostgreSQL {
		id, err := database.GenerateAdvisoryLockId(config.Database, "public", "schema_migrations")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.Exec(t.Context(), "SELECT pg_advisory_lock($1::text::bigint)", id); err != nil {
			t.Fatal(err)
		}
		return func() { _ = session.Close(t.Context()) }
	}
	playClusterSessions(t, d)
	execute(t, d, fmt.Sprintf("INSERT INTO schema_lock (lock_id) VALUES (%s)", lockNumber(t, d)))
	return func() { execute(t, d, "DELETE FROM schema_lock WHERE lock_id > 0") }
}

func TestMigrateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := schema.Migrate(ctx, d, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) {
		t.Errorf("Migrate: %v, want context.Canceled", err)
	}
	wantCatalog(t, d, "")

	// In the middle: the handler of the log ends the context after the second file.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	files := 0
	logger := slog.New(slog.NewTextHandler(writer(func(string) {
		if files++; files == 2 {
			cancel()
		}
	}), nil))
	if err := schema.Migrate(ctx, d, logger); !errors.Is(err, context.Canceled) {
		t.Errorf("Migrate: %v, want context.Canceled", err)
	}
	wantRefusal(t, d, fmt.Sprintf("the schema is version 2 and this binary needs %d: run `holdfast migrate up`", latest(t)))
	if err := schema.Migrate(t.Context(), d, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
}

// writer calls a function with each line.
type writer func(line string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

func TestMigrateToRefusesUnknownVersions(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	for _, version := range []int{-1, latest(t) + 1} {
		err := schema.MigrateTo(t.Context(), d, slog.New(slog.DiscardHandler), version)
		if fault.KindOf(err) != fault.KindInvalid || err.Error() != fmt.Sprintf("version: expected 0 to %d", latest(t)) {
			t.Errorf("MigrateTo(%d): %v", version, err)
		}
	}
}

func TestRequireVersion(t *testing.T) {
	t.Parallel()
	d, last := fresh(t), latest(t)
	wantRefusal(t, d, "the database has no Holdfast schema yet: run `holdfast migrate up`")
	migrateTo(t, d, last)
	if err := schema.RequireVersion(t.Context(), d); err != nil {
		t.Errorf("RequireVersion: %v", err)
	}
	setVersion(t, d, last-1, false)
	wantRefusal(t, d, fmt.Sprintf("the schema is version %d and this binary needs %d: run `holdfast migrate up`", last-1, last))
	setVersion(t, d, last, true)
	wantRefusal(t, d, fmt.Sprintf("a migration to version %d did not finish: run `holdfast migrate up` again", last))
	setVersion(t, d, -1, true)
	wantRefusal(t, d, "the removal of the schema did not finish: run `holdfast migrate up`")

	for _, dirty := range []bool{false, true} {
		setVersion(t, d, last+1, dirty)
		newer := fmt.Sprintf("the schema is version %d, newer than this binary's %d: start a newer holdfast", last+1, last)
		wantRefusal(t, d, newer)
		before := catalog(t, d)
		for name, err := range map[string]error{
			"Migrate":   schema.Migrate(t.Context(), d, slog.New(slog.DiscardHandler)),
			"MigrateTo": schema.MigrateTo(t.Context(), d, slog.New(slog.DiscardHandler), 0),
		} {
			if err == nil || err.Error() != newer {
				t.Errorf("%s on a newer schema: %v", name, err)
			}
		}
		wantCatalog(t, d, before)
	}
	execute(t, d, "DELETE FROM schema_migrations WHERE version IS NOT NULL")
	wantRefusal(t, d, "the database has no Holdfast schema yet: run `holdfast migrate up`")

	proxy := dbtest.NewProxy(t, dbtest.URL(t))
	gone := open(t, proxy.URL())
	proxy.Stop()
	if err := schema.RequireVersion(t.Context(), gone); fault.KindOf(err) != fault.KindUnavailable {
		t.Errorf("RequireVersion without a server: %v, want unavailable", err)
	}
}

func wantRefusal(t *testing.T, d *db.DB, message string) {
	t.Helper()
	err := schema.RequireVersion(t.Context(), d)
	if fault.KindOf(err) != fault.KindConflict || err.Error() != message {
		t.Errorf("RequireVersion: %v (%v), want %q", err, fault.KindOf(err), message)
	}
}
