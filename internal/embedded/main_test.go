//go:build linux || darwin

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The test executable plays other programs when this variable names one: a
// process that is killed while it owns an engine, and a small CockroachDB.
const roleVariable = "HOLDFAST_EMBEDDED_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case "owner":
		os.Exit(playOwner(os.Getenv("HOLDFAST_EMBEDDED_TEST_DIR")))
	case "cockroach":
		os.Exit(playCockroach(os.Args[1:]))
	default:
		fmt.Fprintf(os.Stderr, "unknown role %q\n", role)
		os.Exit(2)
	}
}

// playOwner starts an engine, says so, and waits to be killed.
func playOwner(dataDir string) int {
	e, err := Start(context.Background(), Config{DataDir: dataDir, Kind: KindPostgreSQL, NoFetch: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("%d %s\n", e.PID(), filepath.Dir(e.child.logPath))
	_, _ = os.Stdin.Read(make([]byte, 1))
	return 0
}

// startOwner runs playOwner in a process of its own and returns it with the
// engine's process and directory.
func startOwner(t *testing.T, dataDir string) (owner *exec.Cmd, pid int, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner = exec.CommandContext(t.Context(), self)
	owner.Env = append(os.Environ(), roleVariable+"=owner", "HOLDFAST_EMBEDDED_TEST_DIR="+dataDir)
	owner.Stderr = os.Stderr
	stdin, err := owner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close() })
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanf(stdout, "%d %s\n", &pid, &dir); err != nil {
		_ = owner.Process.Kill()
		t.Fatalf("the other process has not started an engine: %v", err)
	}
	return owner, pid, dir
}

// kill ends an owner without letting it clean up.
func kill(t *testing.T, owner *exec.Cmd) {
	t.Helper()
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
}

// requirePostgres skips a test on a machine that has no server to start. It
// installs nothing.
func requirePostgres(t *testing.T) installation {
	t.Helper()
	in, err := find(t.Context(), thisMachine(), need{kind: KindPostgreSQL})
	if errors.Is(err, ErrNoEngine) {
		t.Skipf("this test starts a real PostgreSQL, and there is none: %v; install PostgreSQL %d or later", err, oldestPostgres)
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// postgresConfig is a Config for real starts in tests.
func postgresConfig(t *testing.T, dataDir string) (Config, *transcript) {
	t.Helper()
	requirePostgres(t)
	said := &transcript{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("progress:\n%s", said)
		}
	})
	return Config{DataDir: dataDir, Kind: KindPostgreSQL, NoFetch: true, Progress: said}, said
}

func mustStart(t *testing.T, cfg Config) *Engine {
	t.Helper()
	e, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, e) })
	return e
}

func mustClose(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
}

// openDir is a temporary directory that every user can go through, as a project's
// directory usually is.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-embedded-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// query runs one statement and returns its single text value.
func query(t *testing.T, e *Engine, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), e.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var value string
	if err := conn.QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

func exec1(t *testing.T, e *Engine, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), e.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func answers(t *testing.T, e *Engine) bool {
	t.Helper()
	_, err := askServer(t.Context(), e.URL())
	return err == nil
}

// eventually waits on a condition, for at most 20 s.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	wait := newPatience(20 * time.Second)
	for !condition() {
		if !wait.again(t.Context()) {
			t.Fatalf("still not so after 20 s: %s", what)
		}
	}
}

// transcript keeps what an engine's progress said.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *transcript) mustSay(t *testing.T, part string) {
	t.Helper()
	if !strings.Contains(s.String(), part) {
		t.Errorf("progress does not say %q:\n%s", part, s)
	}
}
