package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Engine is a database server that answers.
type Engine struct {
	kind     Kind
	product  Kind
	version  string
	url      string
	attached bool

	// What follows is set only when this process started the server.
	child     *child
	steps     []stopStep
	owner     fileLock
	removeDir string
	logger    *slog.Logger

	stopping  sync.Mutex
	stopped   bool
	stopError error
}

// URL is a postgres:// URL of the server's default database, for a user that may
// create databases (an external URL is returned as it was given). It contains a
// password: it must not be logged.
func (e *Engine) URL() string { return e.url }

// Kind tells how the engine came about: KindPostgreSQL or KindCockroachDB if it
// was found or started here, KindExternal if it was named by URL.
func (e *Engine) Kind() Kind { return e.kind }

// Product tells what answers: KindPostgreSQL or KindCockroachDB, also for an
// external engine.
func (e *Engine) Product() Kind { return e.product }

// Version is the server's version as it reports it: "15.14", "25.4.0".
func (e *Engine) Version() string { return e.version }

// Started tells whether this process started the server and Stop will end it.
func (e *Engine) Started() bool { return e.child != nil }

// Attached tells whether another process had started the server on the data
// directory. It ends when that process ends it.
func (e *Engine) Attached() bool { return e.attached }

// PID is the server's process, 0 if this process did not start it.
func (e *Engine) PID() int {
	if e.child == nil {
		return 0
	}
	return e.child.pid
}

// Done is closed when the server that this process started has ended, by Stop or
// by itself. It is nil, and so blocks for ever, for other engines.
func (e *Engine) Done() <-chan struct{} {
	if e.child == nil {
		return nil
	}
	return e.child.done
}

// Stop ends the server if this Engine started it, and removes the directory of a
// throw-away one. The server is asked first, is made to end when
// Config.StopTimeout or ctx runs out, and is gone when Stop returns nil. Further
// calls return the first one's result.
func (e *Engine) Stop(ctx context.Context) error {
	e.stopping.Lock()
	defer e.stopping.Unlock()
	if e.stopped || e.child == nil {
		return e.stopError
	}
	e.stopped = true
	if err := e.child.stop(ctx, e.steps); err != nil {
		e.stopError = fmt.Errorf("stopping %s: %w", e.product.title(), err)
	}
	if e.removeDir != "" && e.child.ended() {
		if err := removeAll(ctx, e.removeDir); err != nil {
			e.stopError = errors.Join(e.stopError, fmt.Errorf("removing the throw-away directory: %w", err))
		}
	}
	e.logger.InfoContext(ctx, "database engine stopped", "engine", string(e.product), "pid", e.child.pid)
	return e.stopError
}

// Close is Stop without a deadline of the caller's; Config.StopTimeout applies.
func (e *Engine) Close() error { return e.Stop(context.Background()) }

// Start returns an engine that answers: the server named by cfg.URL; else the one
// that already runs on cfg.DataDir; else one that it starts, from the first of:
// the executable named by COCKROACH_BINARY, cockroach on PATH, PostgreSQL 15 or
// later on PATH, the newest in the usual places, a downloaded CockroachDB, the
// system's PostgreSQL package. A data directory keeps the kind of engine, and the
// version of PostgreSQL, that made its data.
//
// The error wraps ErrBadURL for a URL that cannot be used as it is written, and
// ErrNoEngine, in one line that says what to install, when nothing was found. The
// caller owns the Engine and must Stop it. Cancelling ctx ends the start, not a
// started engine.
func Start(ctx context.Context, cfg Config) (*Engine, error) {
	return start(ctx, thisMachine(), cfg)
}

func start(ctx context.Context, m machine, cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if cfg.URL != "" {
		return startExternal(ctx, cfg)
	}
	if err := supported(); err != nil {
		return nil, err
	}
	if cfg.DataDir == "" {
		return startThrowaway(ctx, m, cfg)
	}
	return startPersistent(ctx, m, cfg)
}

func startThrowaway(ctx context.Context, m machine, cfg Config) (*Engine, error) {
	in, err := findOrFetch(ctx, m, cfg, need{kind: cfg.Kind})
	if err != nil {
		return nil, err
	}
	d, err := makeThrowawayDir(ctx, m, in)
	if err != nil {
		return nil, err
	}
	sweepBeside(d)
	lock, held, err := tryLock(d.file(engineLock))
	if err == nil && held {
		err = fmt.Errorf("%s is locked by another process", d.path)
	}
	var e *Engine
	if err == nil {
		defer lock.release()
		e, err = startServer(ctx, m, cfg, in, d, lock, record{})
	}
	if err != nil {
		return nil, errors.Join(err, removeAll(ctx, d.path))
	}
	e.removeDir = d.path
	return e, nil
}

func startPersistent(ctx context.Context, m machine, cfg Config) (*Engine, error) {
	d, err := openDataDir(cfg.DataDir, m.euid)
	if err != nil {
		return nil, err
	}
	starting, err := waitForLock(ctx, d.file(startLock), func() {
		cfg.say("Waiting for another process that is starting the engine on %s.", d.path)
	})
	if err != nil {
		return nil, fmt.Errorf("opening the data directory: %w", err)
	}
	defer starting.release()

	found, err := d.settle(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if found.attached != nil {
		if k := found.attached.kind; cfg.Kind != "" && cfg.Kind != k {
			return nil, fmt.Errorf("%s runs on %s, and %s was asked for: stop it first, or choose another data directory", k.title(), d.path, cfg.Kind.title())
		}
		cfg.say("Database: %s %s, already running on %s.", found.attached.product.title(), found.attached.version, d.path)
		return found.attached, nil
	}
	defer found.engine.release()

	r, err := d.readRecord()
	if err != nil {
		return nil, err
	}
	n, err := needOf(m, cfg, r)
	if err != nil {
		return nil, err
	}
	in, err := findOrFetch(ctx, m, cfg, n)
	if err != nil {
		if n.kind != "" && n.kind == r.Kind {
			return nil, fmt.Errorf("the data in %s is %s's: %w", d.path, r.Kind.title(), err)
		}
		return nil, err
	}
	if r.Kind != "" && r.Kind != in.kind {
		cfg.say("The %s data in %s stays where it is and is not used.", r.Kind.title(), d.path)
	}
	owner, held, err := tryLock(d.file(ownerLock))
	if err != nil {
		return nil, err
	}
	if held {
		return nil, fmt.Errorf("another process is still stopping the engine on %s: try again", d.path)
	}
	e, err := startServer(ctx, m, cfg, in, d, found.engine, r)
	if err != nil {
		owner.release()
		return nil, err
	}
	e.owner = owner
	go func() {
		<-e.child.done
		e.owner.release()
	}()
	return e, nil
}

// needOf keeps to the engine whose data is in the directory: an engine that has
// been installed since must not make the data seem gone. An engine that is asked
// for by name wins.
func needOf(m machine, cfg Config, r record) (need, error) {
	n := need{kind: cfg.Kind}
	if n.kind == "" && m.getenv(CockroachBinaryVariable) == "" {
		n.kind = r.Kind
	}
	if r.Postgres == nil || !n.allows(KindPostgreSQL) {
		return n, nil
	}
	major, err := clusterMajor(r.Postgres.Dir)
	if err != nil {
		return need{}, err
	}
	n.major = major
	return n, nil
}

// startServer starts the installation on d and waits until it answers. lock is
// the engine's; the caller gives up its share afterwards.
func startServer(ctx context.Context, m machine, cfg Config, in installation, d dataDir, lock fileLock, r record) (*Engine, error) {
	begun := time.Now()
	var e *Engine
	var err error
	if in.kind == KindPostgreSQL {
		e, err = startPostgres(ctx, m, cfg, in, d, lock, r)
	} else {
		e, err = startCockroach(ctx, cfg, in, d, lock, r)
	}
	if err != nil {
		return nil, err
	}
	e.logger = cfg.Logger
	took := time.Since(begun)
	what := "throw-away"
	if !d.throwaway {
		what = "data in " + d.path
	}
	cfg.say("Database: %s %s, %s, ready in %.1f s.", e.product.title(), e.version, what, took.Seconds())
	cfg.Logger.InfoContext(ctx, "database engine started",
		"engine", string(e.product), "version", e.version, "pid", e.child.pid, "throwaway", d.throwaway, "seconds", took.Seconds())
	go func() {
		<-e.child.done
		e.stopping.Lock()
		defer e.stopping.Unlock()
		if !e.stopped {
			e.logger.ErrorContext(context.WithoutCancel(ctx), "database engine ended by itself", "engine", string(e.product), "pid", e.child.pid, "log", e.child.logPath)
		}
	}()
	return e, nil
}

// removeAll removes a directory whose server has just ended: stragglers of its
// process group may still write for an instant. It is done even when ctx is over.
func removeAll(ctx context.Context, dir string) error {
	ctx = context.WithoutCancel(ctx)
	wait := newPatience(2 * time.Second)
	for {
		err := os.RemoveAll(dir)
		if err == nil || !wait.again(ctx) {
			return err
		}
	}
}
