package tenants_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// No statement of the project alters or removes an entry of the log of changes.
func TestTheLogIsOnlyAddedTo(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/queries/*.sql")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	altering := regexp.MustCompile(`(?is)(UPDATE|DELETE\s+FROM|TRUNCATE)\s+audit_entries|ON\s+CONFLICT[^;]*audit_entries`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := altering.Find(text); found != nil {
			t.Errorf("%s has %s", file, found)
		}
	}
}
