package schema_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/sqlfloor"
	"github.com/holdfast/holdfast/schema"
)

// Going back to the version before the archive loses nothing that was sold, even when the way down
// was interrupted behind the removal of the past tables.
func TestWhatPastShowsSoldComesBackOnTheWayDown(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(schema.Files(), "migrations/*_archive.down.sql")
	if err != nil || len(names) != 1 {
		t.Fatalf("the archive's migration is %v, %v", names, err)
	}
	number, _, _ := strings.Cut(filepath.Base(names[0]), "_")
	version, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	d := fresh(t)
	migrateTo(t, d, version)
	fixtures, err := filepath.Glob("testdata/fixtures/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range fixtures {
		if filepath.Base(name) > number+".sql" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range sqlfloor.Split(string(text)) {
			execute(t, d, statement.Text)
		}
	}
	for range 2 {
		for _, statement := range statementsOf(t, version, "down") {
			execute(t, d, statement.Text)
		}
	}
	for query, want := range map[string]string{
		"SELECT state || ' ' || hold_id::text FROM show_seats WHERE show_id = 'd9000000-0000-4000-8000-000000000003'":                                      "BOOKED e0000000-0000-4000-8000-000000000002",
		"SELECT sell_limit::text || ' ' || booked::text || ' ' || ceiling::text FROM pool_counters WHERE pool_id = 'd9000000-0000-4000-8000-000000000006'": "50 20 50",
		"SELECT count(*)::text FROM show_seats": "2",
	} {
		if got := list(t, d, query); len(got) != 1 || got[0] != want {
			t.Errorf("%s\ngot:  %v\nwant: %s", query, got, want)
		}
	}
}
