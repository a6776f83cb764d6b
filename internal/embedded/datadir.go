package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// dataDir is a directory in which engines keep their data. Both kinds of engine
// can have data in it; one of them runs at a time.
//
//	engine.json    what runs, where, and its password; mode 0600
//	start.lock     held by a process while it looks for a running engine or starts one
//	owner.lock     held by the process that started the running engine
//	engine.lock    held by the engine itself
//	postgres/      PostgreSQL's cluster, unless its user cannot get here
//	cockroach/     CockroachDB's store
type dataDir struct {
	path      string
	throwaway bool
}

func (d dataDir) file(name string) string { return filepath.Join(d.path, name) }

const (
	recordFile = "engine.json"
	startLock  = "start.lock"
	ownerLock  = "owner.lock"
	engineLock = "engine.lock"

	throwawayPrefix = "holdfast-throwaway-"
)

// record is the content of engine.json.
type record struct {
	// Kind is the engine that was started last.
	Kind Kind `json:"kind"`
	// PID is the process of that engine, which may have ended.
	PID       int              `json:"pid"`
	Postgres  *postgresRecord  `json:"postgresql,omitempty"`
	Cockroach *cockroachRecord `json:"cockroachdb,omitempty"`
}

type postgresRecord struct {
	// Dir is the cluster. In the file it is relative to the data directory, which
	// may be moved or copied, unless the cluster is elsewhere.
	Dir      string `json:"dir"`
	Port     int    `json:"port"`
	Password string `json:"password"`
}

type cockroachRecord struct {
	Dir  string `json:"-"`
	Port int    `json:"port"`
}

// url is where the engine that was started last listens.
func (r record) url() (string, bool) {
	switch {
	case r.Kind == KindPostgreSQL && r.Postgres != nil:
		return postgresURL(*r.Postgres), true
	case r.Kind == KindCockroachDB && r.Cockroach != nil:
		return cockroachURL(r.Cockroach.Port), true
	default:
		return "", false
	}
}

// confirmedPID is the process of the engine that was started last, if the file
// that the engine itself writes agrees with the record.
func (r record) confirmedPID() (int, bool) {
	var path string
	switch {
	case r.Kind == KindPostgreSQL && r.Postgres != nil:
		path = filepath.Join(r.Postgres.Dir, "postmaster.pid")
	case r.Kind == KindCockroachDB && r.Cockroach != nil:
		path = cockroachPIDFile(r.Cockroach.Dir)
	default:
		return 0, false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	return pid, err == nil && pid > 1 && pid == r.PID
}

// readRecord returns an empty record for a directory that has none.
func (d dataDir) readRecord() (record, error) {
	text, err := os.ReadFile(d.file(recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("reading the data directory: %w", err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		// The text holds a password; the error of the decoder may quote a
		// character of it, at most.
		return record{}, fmt.Errorf("reading %s: %w", d.file(recordFile), err)
	}
	if r.Postgres != nil && !filepath.IsAbs(r.Postgres.Dir) {
		r.Postgres.Dir = d.file(r.Postgres.Dir)
	}
	if r.Cockroach != nil {
		r.Cockroach.Dir = d.file("cockroach")
	}
	return r, nil
}

// writeRecord replaces engine.json as a whole: a crash leaves the old or the new.
func (d dataDir) writeRecord(r record) error {
	if r.Postgres != nil && r.Postgres.Dir == d.file("postgres") {
		inside := *r.Postgres
		inside.Dir = "postgres"
		r.Postgres = &inside
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", recordFile, err)
	}
	path := d.file(recordFile)
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("writing the data directory: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil && !d.throwaway {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// openDataDir creates the directory if needed and checks that it can be used.
func openDataDir(path string, euid int) (dataDir, error) {
	abs, err := absolute(path)
	if err != nil {
		return dataDir{}, err
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
		return dataDir{}, fmt.Errorf("creating the data directory: %w", err)
	}
	if err := os.Mkdir(abs, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return dataDir{}, fmt.Errorf("creating the data directory: %w", err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return dataDir{}, fmt.Errorf("opening the data directory: %w", err)
	}
	if !info.IsDir() {
		return dataDir{}, fmt.Errorf("opening the data directory: %s is not a directory", abs)
	}
	if euid == 0 {
		if err := makePassable(abs); err != nil {
			return dataDir{}, err
		}
	}
	return dataDir{path: abs}, nil
}

// makePassable lets other users go through a directory, without listing it.
func makePassable(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("opening the data directory: %w", err)
	}
	const pass = 0o011
	if info.Mode().Perm()&pass == pass {
		return nil
	}
	if err := os.Chmod(dir, info.Mode().Perm()|pass); err != nil {
		return fmt.Errorf("letting the user of the server into the data directory: %w", err)
	}
	return nil
}

// occupancy is what a start finds on a data directory.
type occupancy struct {
	// engine is the lock that the new engine will hold, if there is none yet.
	engine fileLock
	// attached is the running engine, if there is one.
	attached *Engine
}

// orphanGrace is how long an engine whose starter is gone may take to end by
// itself before it is asked to.
const orphanGrace = 3 * time.Second

// settle finds out who runs on the directory, while start.lock is held: nobody
// (it returns the engine's lock), an engine of a living process (it attaches), or
// one that is ending or was left behind (it waits for its end, and asks for it).
func (d dataDir) settle(ctx context.Context, cfg Config) (occupancy, error) {
	wait := newPatience(cfg.ReadyTimeout)
	grace := newPatience(orphanGrace)
	asked, told := false, false
	for {
		lock, held, err := tryLock(d.file(engineLock))
		if err != nil {
			return occupancy{}, err
		}
		if !held {
			return occupancy{engine: lock}, nil
		}
		r, err := d.readRecord()
		if err != nil {
			return occupancy{}, err
		}
		owner, owned, err := tryLock(d.file(ownerLock))
		if err != nil {
			return occupancy{}, err
		}
		owner.release()
		dbURL, known := r.url()
		var failure error
		switch {
		case owned && known:
			info, err := askServer(ctx, dbURL)
			if err == nil {
				return occupancy{attached: &Engine{kind: info.product, product: info.product, version: info.version, url: dbURL, attached: true}}, nil
			}
			failure = hideSecrets(err, urlSecrets(dbURL)...)
		case owned:
			failure = errors.New("its starter has not recorded where it listens")
		default:
			failure = errors.New("its starter is gone, and it does not end")
			if pid, ok := r.confirmedPID(); ok && !asked && !time.Now().Before(grace.until) {
				asked = true
				cfg.say("Stopping the %s that an earlier run left behind (process %d).", r.Kind.title(), pid)
				if err := signalProcess(pid, orderlySignal(r.Kind)); err != nil {
					return occupancy{}, fmt.Errorf("stopping the engine that an earlier run left behind (process %d): %w", pid, err)
				}
			}
		}
		if !told && time.Since(grace.until) > 0 {
			told = true
			cfg.say("Waiting for the engine that runs on %s.", d.path)
		}
		if !wait.again(ctx) {
			if err := ctx.Err(); err != nil {
				failure = err
			}
			return occupancy{}, fmt.Errorf("an engine (process %d) runs on %s and cannot be used: %w", r.PID, d.path, failure)
		}
	}
}

// orderlySignal asks a server to end without waiting for its clients.
func orderlySignal(k Kind) syscall.Signal {
	if k == KindPostgreSQL {
		return syscall.SIGINT
	}
	return syscall.SIGTERM
}

const (
	sweepMax = 100
	// sweepAge keeps a directory safe that another process has just made and not
	// locked yet.
	sweepAge = 10 * time.Minute
)

// sweep removes throw-away directories in parent whose engine and starter are
// gone. It is tidying: what cannot be removed is left alone.
func sweep(parent string) {
	found, err := filepath.Glob(filepath.Join(parent, throwawayPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range found[:min(len(found), sweepMax)] {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || !isMine(dir) {
			continue
		}
		path := filepath.Join(dir, engineLock)
		info, err = os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		lock, held, err := tryLock(path)
		if err != nil || held {
			continue
		}
		_ = os.RemoveAll(dir)
		lock.release()
	}
}
