package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdfast/holdfast/internal/dbtest"
)

// TestASecondDevIsRefused would have two processes on one sandbox journal and one set of keys.
func TestASecondDevIsRefused(t *testing.T) {
	t.Parallel()
	databaseURL, dataDir := dbtest.Create(t), t.TempDir()
	first := startDev(t, dataDir, databaseURL)
	before, err := os.ReadFile(filepath.Join(dataDir, devStateFile))
	if err != nil {
		t.Fatal(err)
	}
	second := &cli{DatabaseURL: databaseURL, DataDir: dataDir, LogLevel: "warn"}
	wantError(t, (&devCommand{Listen: "127.0.0.1:0", out: &lockedBuffer{}}).Run(t.Context(), second),
		"another `holdfast dev`", dataDir, first.url, "--data-dir", "HOLDFAST_LISTEN")
	if after, err := os.ReadFile(filepath.Join(dataDir, devStateFile)); err != nil || string(after) != string(before) {
		t.Errorf("the refused one changed the state: %v", err)
	}
	first.end(t)
	startDev(t, dataDir, databaseURL)
}

func TestDevSaysAtOnceThatItsPortIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := bind(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	dataDir := filepath.Join(t.TempDir(), "data")
	// No database is named: one would be started in the data directory.
	root := &cli{DataDir: dataDir, LogLevel: "warn"}
	wantError(t, (&devCommand{Listen: taken.Addr().String(), out: &lockedBuffer{}}).Run(t.Context(), root),
		"cannot listen on "+taken.Addr().String(), "in use", "HOLDFAST_LISTEN")
	wantOnlyTheLock(t, dataDir)
	// The same data directory is free for the next try.
	wantError(t, (&devCommand{Listen: "8080", out: &lockedBuffer{}}).Run(t.Context(), root), "expected host:port such as 127.0.0.1:8080", `"8080"`)
	wantOnlyTheLock(t, dataDir)
}

func wantOnlyTheLock(t *testing.T, dataDir string) {
	t.Helper()
	entries, err := os.ReadDir(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != devLock {
			t.Errorf("%s was made", entry.Name())
		}
	}
}

func TestCommandsThatReadMakeNoDatabase(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(t.TempDir(), "data")
	root := &cli{DataDir: dataDir, LogLevel: "warn"}
	history := file(t, "history.csv", historyHeader+guest(historyCityHotel, "A", date(2016, 3, 1), 1, 1, "50", historyCheckedOut, date(2016, 3, 2)))
	for name, command := range map[string]interface {
		Run(ctx context.Context, root *cli) error
	}{
		"audit":           &auditCommand{},
		"key create":      &keyCreateCommand{Name: "platform"},
		"import bookings": &importBookingsCommand{File: history, TenantSlug: "history", Workers: 1},
		"migrate down":    &migrateCommand{To: "0", Yes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, command.Run(t.Context(), root), "there is no database in "+dataDir, "--data-dir", "HOLDFAST_DATABASE_URL")
			if _, err := os.Stat(dataDir); !os.IsNotExist(err) {
				t.Errorf("the data directory was made: %v", err)
			}
		})
	}
}

func TestAnotherUsersDataDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	refused := func(path string) error {
		return fmt.Errorf("opening a lock file: %w", &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES})
	}
	wantError(t, dataDirProblem(dataDir, refused(filepath.Join(dataDir, engineFolder, "start.lock"))), "the data directory "+dataDir, "--data-dir", "start.lock")
	elsewhere := refused("/somewhere/else")
	if err := dataDirProblem(dataDir, elsewhere); err.Error() != elsewhere.Error() {
		t.Errorf("a file elsewhere gave %v", err)
	}
}
