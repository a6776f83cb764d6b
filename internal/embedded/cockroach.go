package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// startCockroach starts a single node on its own store. The flags are those that
// 21.1 and 25.4 share.
func startCockroach(ctx context.Context, cfg Config, in installation, d dataDir, lock fileLock, r record) (*Engine, error) {
	crdb := cockroachRecord{Dir: d.file("cockroach")}
	if r.Cockroach != nil {
		crdb.Port = r.Cockroach.Port
	}
	if err := os.MkdirAll(crdb.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the store of CockroachDB: %w", err)
	}
	r.Kind, r.PID, r.Cockroach = KindCockroachDB, 0, &crdb
	for try := 1; ; try++ {
		// Port 0 lets the server choose. A store that is kept keeps its port, so
		// that URLs that were copied stay good.
		port := 0
		if !d.throwaway {
			var err error
			if port, err = choosePort(ctx, crdb.Port); err != nil {
				return nil, err
			}
			if crdb.Port != 0 && port != crdb.Port && try == 1 {
				cfg.say("Port %d is taken by another process: using port %d.", crdb.Port, port)
			}
		}
		crdb.Port = port
		e, err := runCockroach(ctx, cfg, in, d, lock, r)
		if err == nil {
			return e, nil
		}
		if !errors.Is(err, errPortTaken) || try == portTries {
			return nil, fmt.Errorf("starting CockroachDB %s: %w", in.version, err)
		}
		crdb.Port = 0
	}
}

func runCockroach(ctx context.Context, cfg Config, in installation, d dataDir, lock fileLock, r record) (*Engine, error) {
	dir := r.Cockroach.Dir
	urlFile := filepath.Join(dir, "listening-url")
	for _, stale := range []string{urlFile, cockroachPIDFile(dir)} {
		if err := os.Remove(stale); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("removing what an earlier start left: %w", err)
		}
	}
	args := append([]string{
		"start-single-node", "--insecure",
		"--store=path=" + filepath.Join(dir, "store"),
		"--listen-addr=" + net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Cockroach.Port)),
		"--http-addr=127.0.0.1:0",
		"--listening-url-file=" + urlFile,
		"--pid-file=" + cockroachPIDFile(dir),
		"--external-io-dir=disabled",
		"--cache=256MiB",
		"--max-sql-memory=256MiB",
	}, cfg.CockroachFlags...)
	orphan := syscall.SIGTERM
	if d.throwaway {
		orphan = syscall.SIGKILL
	}
	server, err := startChild(ctx, launch{
		path: in.server, args: args, dir: dir,
		// A developer's or a test's node reports nothing to anybody.
		env:     serverEnv(dir, "COCKROACH_SKIP_ENABLING_DIAGNOSTIC_REPORTING=true"),
		logPath: d.file("cockroach.log"), lock: lock, orphanSignal: orphan,
	})
	if err != nil {
		return nil, err
	}
	// SIGTERM drains and stops; an ended process is recovered from its log.
	steps := []stopStep{{syscall.SIGTERM, cfg.StopTimeout}}
	if d.throwaway {
		steps = []stopStep{{syscall.SIGKILL, cfg.StopTimeout}}
	}
	e, err := server.adoptCockroach(ctx, cfg, d, r, urlFile)
	if err != nil {
		if server.portTaken() {
			return nil, fmt.Errorf("port %d: %w", r.Cockroach.Port, errPortTaken)
		}
		return nil, errors.Join(err, server.stop(context.WithoutCancel(ctx), steps))
	}
	e.steps = steps
	return e, nil
}

// adoptCockroach learns the server's port, records it, and waits for an answer.
func (c *child) adoptCockroach(ctx context.Context, cfg Config, d dataDir, r record, urlFile string) (*Engine, error) {
	r.PID = c.pid
	if err := d.writeRecord(r); err != nil {
		return nil, err
	}
	begun := time.Now()
	port, err := c.awaitURLFile(ctx, urlFile, cfg.ReadyTimeout)
	if err != nil {
		return nil, err
	}
	if port != r.Cockroach.Port {
		r.Cockroach.Port = port
		if err := d.writeRecord(r); err != nil {
			return nil, err
		}
	}
	dbURL := cockroachURL(port)
	info, err := c.awaitReady(ctx, dbURL, max(cfg.ReadyTimeout-time.Since(begun), time.Second))
	if err != nil {
		return nil, err
	}
	if d.throwaway {
		relaxCockroach(ctx, cfg, dbURL)
	}
	return &Engine{kind: KindCockroachDB, product: info.product, version: info.version, url: dbURL, child: c}, nil
}

// awaitURLFile waits until the server has written where it listens.
func (c *child) awaitURLFile(ctx context.Context, path string, timeout time.Duration) (int, error) {
	wait := newPatience(timeout)
	for {
		text, err := os.ReadFile(path)
		if first, _, _ := strings.Cut(string(text), "\n"); err == nil && first != "" {
			u, err := url.Parse(strings.TrimSpace(first))
			if err != nil {
				return 0, fmt.Errorf("reading %s: %w", path, err)
			}
			port, err := strconv.Atoi(u.Port())
			if err != nil {
				return 0, fmt.Errorf("reading the port in %s: %w", path, err)
			}
			return port, nil
		}
		var failure error
		switch {
		case c.ended():
			failure = fmt.Errorf("%w: %w", errServerEnded, exitReason(c.exit))
		case wait.unless(ctx, c.done):
			continue
		case ctx.Err() != nil:
			failure = ctx.Err()
		default:
			failure = fmt.Errorf("it has not said where it listens after %v", timeout)
		}
		return 0, fmt.Errorf("waiting for the server (log: %s): %w\n%s", c.logPath, failure, indent(c.logTail()))
	}
}

// relaxCockroach turns off the syncing of the log, for a store that nobody will
// read again. It makes tests faster and changes nothing else, so a version that
// does not know the setting goes without.
func relaxCockroach(ctx context.Context, cfg Config, dbURL string) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, dbURL)
	if err == nil {
		_, err = conn.Exec(ctx, "SET CLUSTER SETTING kv.raft_log.disable_synchronization_unsafe = true", pgx.QueryExecModeSimpleProtocol)
		err = errors.Join(err, conn.Close(ctx))
	}
	if err != nil {
		cfg.Logger.DebugContext(ctx, "throw-away store stays durable", "error", err.Error())
	}
}

func cockroachURL(port int) string {
	return "postgres://root@" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + "/defaultdb?sslmode=disable"
}

// cockroachPIDFile is written by the server itself.
func cockroachPIDFile(dir string) string { return filepath.Join(dir, "cockroach.pid") }
