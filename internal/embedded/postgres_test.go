//go:build linux || darwin

package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestThrowawayPostgres(t *testing.T) {
	t.Parallel()
	cfg, said := postgresConfig(t, "")
	cfg.PostgresSettings = map[string]string{"work_mem": "7MB"}
	e := mustStart(t, cfg)
	if e.Kind() != KindPostgreSQL || e.Product() != KindPostgreSQL || !e.Started() || e.Attached() {
		t.Errorf("got %s, %s, started %v, attached %v", e.Kind(), e.Product(), e.Started(), e.Attached())
	}
	said.mustSay(t, "Database: PostgreSQL "+e.Version()+", throw-away, ready in")
	for setting, want := range map[string]string{
		"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "server_encoding": "UTF8", "lc_collate": "C",
		"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_pred_locks_per_transaction": "256",
		"max_connections": "200", "work_mem": "7MB", "timezone": "UTC", "password_encryption": "scram-sha-256",
	} {
		if got := query(t, e, "SHOW "+setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	if got := query(t, e, "SELECT string_agg(DISTINCT auth_method, ',') FROM pg_hba_file_rules"); got != "scram-sha-256" {
		t.Errorf("connections are let in by %s, want scram-sha-256 only", got)
	}
	if strings.Contains(said.String(), passwordOf(t, e)) {
		t.Error("the progress shows the password")
	}
	group, err := syscall.Getpgid(e.PID())
	if err != nil || group != e.PID() {
		t.Errorf("the server is in process group %d, %v, want its own: a Ctrl-C would reach it", group, err)
	}

	dir := e.removeDir
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the throw-away directory is still there: %v", err)
	}
	if answers(t, e) {
		t.Error("the server still answers")
	}
	select {
	case <-e.Done():
	default:
		t.Error("Done is not closed")
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

// What is stored is there after a restart, under the same URL; what the password
// is kept in cannot be read by others.
func TestPersistentPostgres(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "deep", "data")
	cfg, said := postgresConfig(t, dir)
	e := mustStart(t, cfg)
	said.mustSay(t, "Creating a PostgreSQL")
	said.mustSay(t, "data in "+dir)
	exec1(t, e, "CREATE TABLE kept (v text)")
	exec1(t, e, "INSERT INTO kept VALUES ('still here')")
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes", "data_checksums"} {
		if got := query(t, e, "SHOW "+setting); got != "on" {
			t.Errorf("%s is %s in a database that is kept", setting, got)
		}
	}
	if strings.Contains(said.String(), passwordOf(t, e)) {
		t.Error("the progress shows the password")
	}
	info, err := os.Stat(filepath.Join(dir, recordFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v, %v, want 0600", recordFile, info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "postgres.password")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the password of initdb was left behind: %v", err)
	}
	mustClose(t, e)
	if answers(t, e) {
		t.Error("the server still answers")
	}

	again := mustStart(t, cfg)
	if again.URL() != e.URL() {
		t.Error("the URL has changed with a restart")
	}
	if got := query(t, again, "SELECT v FROM kept"); got != "still here" {
		t.Errorf("got %q", got)
	}
}

// A second start on a directory uses the engine of the first, also from another
// process, and does not stop it; when the first ends, so does the engine.
func TestSecondStarterAttaches(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "data")
	cfg, said := postgresConfig(t, dir)
	owner, pid, _ := startOwner(t, dir)
	second := mustStart(t, cfg)
	if !second.Attached() || second.Started() || second.Done() != nil || second.Kind() != KindPostgreSQL {
		t.Error("the second start has not attached")
	}
	said.mustSay(t, "already running on "+dir)
	mustClose(t, second)
	if !answers(t, second) {
		t.Fatal("closing the second has stopped the engine of the first")
	}

	// The owner is killed: the kernel ends its engine, and the next start, which
	// may come before that, ends up with one of its own.
	exec1(t, second, "CREATE TABLE kept ()")
	kill(t, owner)
	third := mustStart(t, cfg)
	if !third.Started() || third.PID() == pid {
		t.Errorf("the third start has process %d, started %v", third.PID(), third.Started())
	}
	if got := query(t, third, "SELECT count(*)::text FROM kept"); got != "0" {
		t.Errorf("got %q", got)
	}
	eventually(t, "the engine of the killed owner is gone", func() bool { return syscall.Kill(pid, 0) != nil })
}

func TestManyStartersAtOnce(t *testing.T) {
	t.Parallel()
	cfg, _ := postgresConfig(t, filepath.Join(openDir(t), "data"))
	const starters = 4
	engines := make([]*Engine, starters)
	errs := make([]error, starters)
	var wg sync.WaitGroup
	for i := range starters {
		wg.Go(func() { engines[i], errs[i] = Start(t.Context(), cfg) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var owner *Engine
	for _, e := range engines {
		if e.URL() != engines[0].URL() || !answers(t, e) {
			t.Error("the starters do not share one engine")
		}
		if e.Started() {
			if owner != nil {
				t.Error("two engines were started")
			}
			owner = e
			continue
		}
		mustClose(t, e)
	}
	if owner == nil {
		t.Fatal("nobody has started an engine")
	}
	if !answers(t, owner) {
		t.Error("the others have stopped the engine")
	}
	mustClose(t, owner)
}

// A server that was killed leaves its pid file, its shared memory and, for a
// moment, its children behind; the next start recovers what was committed.
func TestKilledPostmasterIsRecovered(t *testing.T) {
	t.Parallel()
	cfg, _ := postgresConfig(t, filepath.Join(openDir(t), "data"))
	e := mustStart(t, cfg)
	exec1(t, e, "CREATE TABLE kept (v text)")
	exec1(t, e, "INSERT INTO kept VALUES ('committed')")
	if err := syscall.Kill(e.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-e.Done()
	again := mustStart(t, cfg)
	if !again.Started() {
		t.Error("the second start has not started a server")
	}
	if got := query(t, again, "SELECT v FROM kept"); got != "committed" {
		t.Errorf("got %q", got)
	}
	mustClose(t, e)
	if !answers(t, again) {
		t.Error("stopping the engine that was killed has stopped its successor")
	}
}

func TestStopEndsOnlyItsOwn(t *testing.T) {
	t.Parallel()
	cfg, _ := postgresConfig(t, "")
	one, two := mustStart(t, cfg), mustStart(t, cfg)
	if one.URL() == two.URL() || one.removeDir == two.removeDir {
		t.Fatal("two throw-away engines share something")
	}
	mustClose(t, one)
	if !answers(t, two) {
		t.Error("stopping one engine has stopped another")
	}
}

// Clients do not hold up the end of a server, and a context that is over does not
// leave it behind.
func TestStopWithClients(t *testing.T) {
	t.Parallel()
	cfg, _ := postgresConfig(t, filepath.Join(openDir(t), "data"))
	e := mustStart(t, cfg)
	ended := make(chan struct{})
	conn, err := pgx.Connect(t.Context(), e.URL())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(ended)
		_, _ = conn.Exec(context.WithoutCancel(t.Context()), "SELECT pg_sleep(60)")
		_ = conn.Close(context.WithoutCancel(t.Context()))
	}()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Stop(over); err != nil {
		t.Fatal(err)
	}
	<-ended
	if answers(t, e) {
		t.Error("the server still answers")
	}
	again := mustStart(t, cfg)
	mustClose(t, again)
}

func TestTakenPortIsReplaced(t *testing.T) {
	t.Parallel()
	cfg, said := postgresConfig(t, filepath.Join(openDir(t), "data"))
	e := mustStart(t, cfg)
	mustClose(t, e)
	before := describeURL(e.URL())
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp4", strings.TrimSuffix(before, "/postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	again := mustStart(t, cfg)
	after := describeURL(again.URL())
	if before == after {
		t.Error("the port of another process was used")
	}
	said.mustSay(t, "is taken by another process: using port")
	mustClose(t, again)
	third := mustStart(t, cfg)
	if got := describeURL(third.URL()); got != after {
		t.Errorf("the new port is not remembered: %s, then %s", after, got)
	}
}

func TestFailedStartShowsTheLog(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "data")
	cfg, _ := postgresConfig(t, dir)
	cfg.PostgresSettings = map[string]string{"shared_buffers": "plenty"}
	_, err := Start(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "shared_buffers": "plenty"`) {
		t.Fatalf("got %v, want the end of the log", err)
	}
	r, rerr := dataDir{path: dir}.readRecord()
	if rerr != nil || r.Postgres == nil {
		t.Fatal(rerr)
	}
	if strings.Contains(err.Error(), r.Postgres.Password) {
		t.Errorf("the error shows the password: %v", err)
	}
	// What went wrong has damaged nothing.
	cfg.PostgresSettings = nil
	mustStart(t, cfg)
}

// A start that was killed while it made the cluster is begun anew.
func TestInterruptedInitIsBegunAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "data")
	cfg, _ := postgresConfig(t, dir)
	half := filepath.Join(dir, "postgres.new", "base")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (dataDir{path: dir}).writeRecord(record{Kind: KindPostgreSQL, Postgres: &postgresRecord{Dir: filepath.Join(dir, "postgres"), Password: "old"}}); err != nil {
		t.Fatal(err)
	}
	e := mustStart(t, cfg)
	if !answers(t, e) {
		t.Error("the server does not answer")
	}
}

func TestClusterWithoutItsPassword(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "data")
	cfg, _ := postgresConfig(t, dir)
	mustClose(t, mustStart(t, cfg))
	if err := os.Remove(filepath.Join(dir, recordFile)); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "put it back, or move the cluster away") {
		t.Errorf("got %v, want advice", err)
	}
}

func TestDataDirThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(openDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _ := postgresConfig(t, file)
	if _, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), file+" is not a directory") {
		t.Errorf("got %v", err)
	}
	cfg.DataDir = filepath.Join(file, "below")
	if _, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	damaged := filepath.Join(openDir(t), "data")
	if err := os.Mkdir(damaged, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(damaged, recordFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.DataDir = damaged
	if _, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), recordFile) {
		t.Errorf("got %v", err)
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	m := thisMachine()
	m.tempDir = openDir(t)
	for _, after := range []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond} {
		cfg, _ := postgresConfig(t, "")
		ctx, cancel := context.WithTimeout(t.Context(), after)
		e, err := start(ctx, m, cfg)
		cancel()
		if err == nil {
			// The machine was faster than the context.
			mustClose(t, e)
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: got %v, want the context's error", after, err)
		}
		left, err := os.ReadDir(m.tempDir)
		if err != nil || len(left) != 0 {
			t.Errorf("after %v: %v is left behind, %v", after, left, err)
		}
	}
}

// Where the kernel does not end the engine of a starter that was killed, the next
// start does, and begins its own.
func TestOrphanIsReplaced(t *testing.T) {
	t.Parallel()
	cfg, said := postgresConfig(t, filepath.Join(openDir(t), "data"))
	orphan := mustStart(t, cfg)
	exec1(t, orphan, "CREATE TABLE kept ()")
	orphan.owner.release()
	e := mustStart(t, cfg)
	said.mustSay(t, "Stopping the PostgreSQL that an earlier run left behind")
	if !e.Started() || e.PID() == orphan.PID() {
		t.Error("the orphan was not replaced")
	}
	<-orphan.Done()
	if got := query(t, e, "SELECT count(*)::text FROM kept"); got != "0" {
		t.Errorf("got %q", got)
	}
}

// A project that is moved takes its data along.
func TestMovedDataDir(t *testing.T) {
	t.Parallel()
	parent := openDir(t)
	cfg, _ := postgresConfig(t, filepath.Join(parent, "before"))
	e := mustStart(t, cfg)
	exec1(t, e, "CREATE TABLE kept ()")
	mustClose(t, e)
	cfg.DataDir = filepath.Join(parent, "after")
	if err := os.Rename(filepath.Join(parent, "before"), cfg.DataDir); err != nil {
		t.Fatal(err)
	}
	e = mustStart(t, cfg)
	if got := query(t, e, "SELECT count(*)::text FROM kept"); got != "0" {
		t.Errorf("got %q", got)
	}
	if got := query(t, e, "SHOW data_directory"); !strings.HasPrefix(got, cfg.DataDir) {
		t.Errorf("the cluster is in %s", got)
	}
	cfg.Kind = KindCockroachDB
	if _, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "PostgreSQL runs on "+cfg.DataDir) {
		t.Errorf("got %v, want a refusal of the other kind", err)
	}
}

// A throw-away engine does not outlive a starter that was killed, and the next
// start removes its directory once it is old enough not to be somebody's who has
// only just begun.
func TestThrowawayOfKilledStarter(t *testing.T) {
	t.Parallel()
	requirePostgres(t)
	parent := openDir(t)
	if err := os.Chmod(parent, 0o777); err != nil {
		t.Fatal(err)
	}
	owner, pid, dir := startOwner(t, "")
	kill(t, owner)
	if runtime.GOOS == "linux" {
		eventually(t, "the server has ended", func() bool { return syscall.Kill(pid, 0) != nil })
	} else if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(parent, filepath.Base(dir))
	eventually(t, "nobody holds the engine's lock", func() bool {
		lock, held, err := tryLock(filepath.Join(dir, engineLock))
		lock.release()
		return err == nil && !held
	})
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	sweep(parent)
	if _, err := os.Stat(moved); err != nil {
		t.Fatalf("a directory that may be in use was removed: %v", err)
	}
	old := time.Now().Add(-2 * sweepAge)
	if err := os.Chtimes(filepath.Join(moved, engineLock), old, old); err != nil {
		t.Fatal(err)
	}
	lock, held, err := tryLock(filepath.Join(moved, engineLock))
	if err != nil || held {
		t.Fatal(held, err)
	}
	sweep(parent)
	if _, err := os.Stat(moved); err != nil {
		t.Fatalf("a directory that is in use was removed: %v", err)
	}
	lock.release()
	sweep(parent)
	if _, err := os.Stat(moved); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was not removed: %v", err)
	}
}

// Root cannot run PostgreSQL: somebody else does, who cannot look into a directory
// that is closed to others. The data is then elsewhere, survives, and is set aside
// when the directory it belonged to is gone.
func TestRootWithAClosedDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root runs PostgreSQL as another user")
	}
	closed := filepath.Join(openDir(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	m := thisMachine()
	m.stateRoot = filepath.Join(openDir(t), "state")
	cfg, said := postgresConfig(t, filepath.Join(closed, "data"))

	e, err := start(t.Context(), m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	said.mustSay(t, "cannot reach "+cfg.DataDir)
	exec1(t, e, "CREATE TABLE kept (v text)")
	exec1(t, e, "INSERT INTO kept VALUES ('still here')")
	cluster := query(t, e, "SHOW data_directory")
	if !strings.HasPrefix(cluster, m.stateRoot) {
		t.Errorf("the cluster is in %s", cluster)
	}
	if uid, _, ok := ownerOf(cluster); !ok || uid == 0 {
		t.Errorf("the cluster belongs to user %d", uid)
	}
	mustClose(t, e)

	e, err = start(t.Context(), m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := query(t, e, "SELECT v FROM kept"); got != "still here" {
		t.Errorf("got %q", got)
	}
	mustClose(t, e)

	if err := os.RemoveAll(cfg.DataDir); err != nil {
		t.Fatal(err)
	}
	e, err = start(t.Context(), m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	said.mustSay(t, "was moved to "+cluster+".orphaned-")
	if got := query(t, e, "SELECT count(*)::text FROM pg_tables WHERE tablename = 'kept'"); got != "0" {
		t.Errorf("the data of the directory that is gone is back: %s", got)
	}
	mustClose(t, e)
	if mode, err := os.Stat(closed); err != nil || mode.Mode().Perm() != 0o700 {
		t.Errorf("a directory that is not ours was opened to others: %v, %v", mode.Mode(), err)
	}
}

func TestServersGetNoSecretsFromTheEnvironment(t *testing.T) {
	// Not parallel: it changes the environment.
	t.Setenv("HOLDFAST_DATABASE_URL", "postgres://u:p@h/db")
	t.Setenv("PGDATA", "/elsewhere")
	t.Setenv("COCKROACH_URL", "postgres://elsewhere")
	env := strings.Join(serverEnv("/", "A=b"), "\n")
	for _, name := range []string{"HOLDFAST", "PGDATA", "COCKROACH_URL"} {
		if strings.Contains(env, name) {
			t.Errorf("a server gets %s", name)
		}
	}
	if !strings.Contains(env, "A=b") || !strings.Contains(env, fmt.Sprintf("PATH=%s", os.Getenv("PATH"))) {
		t.Errorf("got %s", env)
	}
}
