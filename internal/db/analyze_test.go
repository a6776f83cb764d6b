package db_test

import (
	"testing"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
)

// TestGrowthIsToldToThePlanner: a table that has just been filled is planned for what it holds.
func TestGrowthIsToldToThePlanner(t *testing.T) {
	t.Parallel()
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.Create(t), URLSource: "the test"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Engine() == db.EngineCockroachDB {
		t.Skip("CockroachDB keeps its own statistics")
	}
	known := func() (rows float64) {
		if err := d.Pool().QueryRow(t.Context(), "SELECT reltuples::float8 FROM pg_class WHERE relname = 'grown'").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	for _, statement := range []string{
		"CREATE TABLE grown (id bigint NOT NULL) WITH (autovacuum_enabled = off)",
		"INSERT INTO grown SELECT generate_series(1, 1000)",
	} {
		if _, err := d.Pool().Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.NoteGrowth(t.Context(), "grown", 1000); err != nil {
		t.Fatal(err)
	}
	if got := known(); got != 1000 {
		t.Errorf("the planner believes in %v rows, want 1000", got)
	}
	if _, err := d.Pool().Exec(t.Context(), "INSERT INTO grown SELECT generate_series(1, 50)"); err != nil {
		t.Fatal(err)
	}
	if err := d.NoteGrowth(t.Context(), "grown", 50); err != nil {
		t.Fatal(err)
	}
	if got := known(); got != 1000 {
		t.Errorf("a growth of a twentieth was analyzed: %v rows", got)
	}
	if err := d.NoteGrowth(t.Context(), "missing", 1); err == nil {
		t.Error("a table that is not there was analyzed")
	}
}
