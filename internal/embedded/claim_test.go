package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestAClaimIsRefusedWithTheNoteOfItsHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dev.lock")
	first, err := TakeClaim(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range []string{"", "http://127.0.0.1:8080"} {
		if note != "" {
			if err := first.Note(note); err != nil {
				t.Fatal(err)
			}
		}
		var claimed *ClaimedError
		_, err := TakeClaim(path)
		if !errors.As(err, &claimed) {
			t.Fatalf("a claimed file gave %v", err)
		}
		if claimed.Note != note || claimed.Path != path {
			t.Errorf("the refusal is %+v, want the note %q", claimed, note)
		}
	}
	first.Release()
	second, err := TakeClaim(path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Release()
	if left, err := os.ReadFile(path); err != nil || len(left) > 0 {
		t.Errorf("the next holder finds the note %q, %v", left, err)
	}
}

func TestHasDataKnowsAnEmptyDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "engine")
	if has, err := HasData(dir); has || err != nil {
		t.Errorf("an absent directory: %t, %v", has, err)
	}
	d, err := openDataDir(dir, os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	if has, err := HasData(dir); has || err != nil {
		t.Errorf("an empty directory: %t, %v", has, err)
	}
	if err := d.writeRecord(record{Kind: KindPostgreSQL}); err != nil {
		t.Fatal(err)
	}
	if has, err := HasData(dir); !has || err != nil {
		t.Errorf("a directory with a record: %t, %v", has, err)
	}
}
