package schema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/sqlfloor"
)

// testdata/fixtures has a file for each version, with a row for each table that the version brings.
// A migration must leave the rows of those before it as they are. Columns may be added; one that
// changes a value on purpose says so here.
func TestDataSurvivesTheNextMigration(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	before := map[string][]row{}
	for version := 1; version <= latest(t); version++ {
		migrateTo(t, d, version)
		after := rowsOf(t, d)
		for table, rows := range before {
			for _, want := range rows {
				if !slices.ContainsFunc(after[table], want.isPartOf) {
					t.Errorf("migration %d lost or changed in %s the row %v", version, table, want)
				}
			}
		}
		text, err := os.ReadFile(fmt.Sprintf("testdata/fixtures/%04d.sql", version))
		if err != nil {
			t.Fatalf("version %d has no fixture: %v", version, err)
		}
		for _, statement := range sqlfloor.Split(string(text)) {
			if _, err := d.Pool().Exec(t.Context(), statement.Text); err != nil {
				t.Fatalf("fixture %d, line %d: %v", version, statement.Line, err)
			}
		}
		before = rowsOf(t, d)
		for table, rows := range before {
			if len(rows) == 0 {
				t.Errorf("the fixture of version %d leaves %s empty", version, table)
			}
		}
	}
}

// row is a row's columns as JSON.
type row map[string]any

func (r row) isPartOf(other row) bool {
	for column, value := range r {
		if !reflect.DeepEqual(other[column], value) {
			return false
		}
	}
	return true
}

// rowsOf is what each table holds.
func rowsOf(t *testing.T, d *db.DB) map[string][]row {
	t.Helper()
	result := map[string][]row{}
	for _, table := range list(t, d, `
SELECT table_name::text FROM information_schema.tables
WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND table_name NOT IN ('schema_migrations', 'schema_lock')`) {
		result[table] = nil
		for _, text := range list(t, d, "SELECT to_jsonb(t)::text FROM "+table+" AS t") {
			var r row
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Fatal(err)
			}
			result[table] = append(result[table], r)
		}
	}
	return result
}
