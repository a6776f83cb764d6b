package schema_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/golang-migrate/migrate/v4/database"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/schema"
)

// playClusterSessions gives PostgreSQL what CockroachDB's lock is judged by, in the test's own
// database: the list of sessions of all nodes. It shows that the rule is what it should be, not
// that CockroachDB's list is.
func playClusterSessions(t *testing.T, d *db.DB, extra ...string) {
	t.Helper()
	if d.Engine() == db.EngineCockroachDB {
		return
	}
	query := `CREATE OR REPLACE VIEW crdb_internal.cluster_sessions AS
SELECT pid::text AS session_id, application_name FROM pg_stat_activity WHERE datname = current_database()`
	for _, rows := range extra {
		query += " UNION ALL " + rows
	}
	execute(t, d, "CREATE SCHEMA IF NOT EXISTS crdb_internal", query)
}

// playLockTable makes golang-migrate's table, whose INT is too small for its numbers on PostgreSQL.
func playLockTable(t *testing.T, d *db.DB, engine db.Engine) {
	t.Helper()
	if d.Engine() != engine {
		execute(t, d, "CREATE TABLE IF NOT EXISTS schema_lock (lock_id bigint NOT NULL PRIMARY KEY)")
	}
}

func lockNumber(t *testing.T, d *db.DB) string {
	t.Helper()
	id, err := database.GenerateAdvisoryLockId(d.Pool().Config().ConnConfig.Database)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestLockOfADeadMigratorIsCleared(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	leaveLock(t, d)
	var log logBuffer
	if err := schema.MigrateAs(t.Context(), d, log.logger(), latest(t), db.EngineCockroachDB, time.Minute); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	if !strings.Contains(log.String(), `level=WARN msg="removed the schema lock of a migrator that is gone"`) {
		t.Errorf("the removal was not logged: %s", log.String())
	}
	if err := schema.RequireVersion(t.Context(), d); err != nil {
		t.Error(err)
	}
}

func TestLockIsNotClearedWithoutProof(t *testing.T) {
	t.Parallel()
	if dbtest.Open(t).Engine() == db.EngineCockroachDB {
		t.Skip("a node that does not answer cannot be played on a real CockroachDB")
	}
	for name, row := range map[string]string{
		"a migrator on another node":      fmt.Sprintf("SELECT 'x', '%s'", schema.SessionName),
		"a node that gives no answer":     "SELECT NULL::text, NULL::text",
		"the question itself is refused":  "SELECT (1 / 0)::text, 'x'",
		"another program, and no answers": "SELECT 'x', 'psql' UNION ALL SELECT NULL, NULL",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fresh(t)
			leaveLock(t, d, row)
			err := schema.MigrateAs(t.Context(), d, slog.New(slog.DiscardHandler), latest(t), db.EngineCockroachDB, 300*time.Millisecond)
			if err == nil || !strings.Contains(err.Error(), "another migrator has held the lock") {
				t.Errorf("Migrate: %v, want it to wait in vain", err)
			}
		})
	}
}

// leaveLock is what a migrator of CockroachDB leaves when it is killed.
func leaveLock(t *testing.T, d *db.DB, sessions ...string) {
	t.Helper()
	playLockTable(t, d, db.EngineCockroachDB)
	if err := schema.MigrateAs(t.Context(), d, slog.New(slog.DiscardHandler), 2, db.EngineCockroachDB, time.Minute); err != nil {
		t.Fatal(err)
	}
	playClusterSessions(t, d, sessions...)
	execute(t, d, fmt.Sprintf("INSERT INTO schema_lock (lock_id) VALUES (%s)", lockNumber(t, d)))
}
