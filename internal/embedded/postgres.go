package embedded

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	postgresUser  = "holdfast"
	initdbTimeout = 2 * time.Minute
	// portTries bounds the starts on a port that somebody took between the
	// moment it was seen free and the moment the server wanted it.
	portTries = 5
)

// startPostgres makes the cluster if there is none and starts the server on it.
func startPostgres(ctx context.Context, m machine, cfg Config, in installation, d dataDir, lock fileLock, r record) (*Engine, error) {
	c, err := placeCluster(ctx, m, cfg, in, d, r.Postgres)
	if err != nil {
		return nil, err
	}
	pg := postgresRecord{Dir: c.dir, Port: 0, Password: ""}
	if r.Postgres != nil {
		pg.Port, pg.Password = r.Postgres.Port, r.Postgres.Password
	}
	r.Kind, r.PID, r.Postgres = KindPostgreSQL, 0, &pg
	if err := c.create(ctx, m, cfg, in, d, &r); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		port, err := choosePort(ctx, pg.Port)
		if err != nil {
			return nil, err
		}
		if pg.Port != 0 && port != pg.Port && try == 1 {
			cfg.say("Port %d is taken by another process: using port %d.", pg.Port, port)
		}
		pg.Port = port
		e, err := c.run(ctx, cfg, in, d, lock, r)
		if err == nil {
			return e, nil
		}
		if !errors.Is(err, errPortTaken) || try == portTries {
			return nil, fmt.Errorf("starting PostgreSQL %s: %w", in.version, err)
		}
		pg.Port = 0
	}
}

// cluster is where PostgreSQL keeps its data and who runs it.
type cluster struct {
	dir     string
	account *account
}

// makeThrowawayDir makes a temporary directory that the server's user can reach.
func makeThrowawayDir(ctx context.Context, m machine, in installation) (dataDir, error) {
	if m.euid != 0 || in.kind != KindPostgreSQL {
		dir, err := os.MkdirTemp(m.tempDir, throwawayPrefix)
		if err != nil {
			return dataDir{}, fmt.Errorf("making a throw-away directory: %w", err)
		}
		return dataDir{path: dir, throwaway: true}, nil
	}
	a, err := serverAccount("")
	if err != nil {
		return dataDir{}, err
	}
	if err := probe(ctx, m, in, a, "/"); err != nil {
		return dataDir{}, err
	}
	var failures []error
	for _, parent := range []string{m.tempDir, "/tmp", "/var/tmp", m.stateRoot} {
		d, err := makePassableDir(ctx, m, in, a, parent)
		if err == nil {
			return d, nil
		}
		failures = append(failures, err)
	}
	return dataDir{}, fmt.Errorf("making a throw-away directory: %w", errors.Join(failures...))
}

// makePassableDir makes a throw-away directory in parent that the account can
// reach.
func makePassableDir(ctx context.Context, m machine, in installation, a *account, parent string) (dataDir, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return dataDir{}, err
	}
	dir, err := os.MkdirTemp(parent, throwawayPrefix)
	if err != nil {
		return dataDir{}, err
	}
	err = makePassable(dir)
	if err == nil {
		err = probe(ctx, m, in, a, dir)
	}
	if err != nil {
		return dataDir{}, errors.Join(err, os.Remove(dir))
	}
	return dataDir{path: dir, throwaway: true}, nil
}

// sweepBeside removes what killed processes have left beside a throw-away
// directory.
func sweepBeside(d dataDir) { sweep(filepath.Dir(d.path)) }

// probe tells whether an account can run the installation with dir as its
// working directory. Trying takes everything into account: modes, access lists,
// mount options.
func probe(ctx context.Context, m machine, in installation, a *account, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	_, err := m.run(ctx, invocation{path: in.initdb, args: []string{"--version"}, dir: dir, env: serverEnv(a.home), account: a})
	if err != nil {
		return fmt.Errorf("user %s cannot run %s in %s: %w", a.name, in.initdb, dir, err)
	}
	return nil
}

// placeCluster decides where the cluster is. It is in the data directory, except
// for root when the user that runs PostgreSQL cannot get there.
func placeCluster(ctx context.Context, m machine, cfg Config, in installation, d dataDir, known *postgresRecord) (cluster, error) {
	dir := d.file("postgres")
	if known != nil && hasCluster(known.Dir) {
		dir = known.Dir
	}
	if m.euid != 0 {
		return cluster{dir: dir}, nil
	}
	a, err := serverAccount(dir)
	if err != nil {
		return cluster{}, err
	}
	if err := probe(ctx, m, in, a, "/"); err != nil {
		return cluster{}, err
	}
	if probe(ctx, m, in, a, filepath.Dir(dir)) == nil {
		return cluster{dir: dir, account: a}, nil
	}
	if err := ctx.Err(); err != nil {
		return cluster{}, fmt.Errorf("placing the cluster: %w", err)
	}
	if hasCluster(dir) {
		return cluster{}, fmt.Errorf("user %s, who owns the cluster, cannot reach %s: a directory above it is closed to others", a.name, dir)
	}
	base := filepath.Join(m.stateRoot, pathHash(d.path))
	if err := errors.Join(os.MkdirAll(m.stateRoot, 0o755), os.MkdirAll(base, 0o711)); err != nil {
		return cluster{}, fmt.Errorf("making a directory for PostgreSQL: %w", err)
	}
	if err := makePassable(base); err != nil {
		return cluster{}, err
	}
	if err := probe(ctx, m, in, a, base); err != nil {
		return cluster{}, err
	}
	cfg.say("User %s, who runs PostgreSQL, cannot reach %s: its data is in %s.", a.name, d.path, base)
	return cluster{dir: filepath.Join(base, "postgres"), account: a}, nil
}

func pathHash(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:8])
}

func hasCluster(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "PG_VERSION"))
	return err == nil
}

// clusterMajor is the version of PostgreSQL that made a cluster, 0 if there is
// none.
func clusterMajor(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the version of the cluster: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("reading the version of the cluster in %s: %w", dir, err)
	}
	return major, nil
}

// create runs initdb unless the cluster exists. The cluster gets its name only
// when it is complete and its password is recorded, so that a start that was
// interrupted is simply begun again.
func (c cluster) create(ctx context.Context, m machine, cfg Config, in installation, d dataDir, r *record) error {
	base := filepath.Dir(c.dir)
	if hasCluster(c.dir) {
		if r.Postgres.Password != "" {
			return nil
		}
		if base == d.path {
			return fmt.Errorf("%s, which holds the password of the cluster in %s, is missing: put it back, or move the cluster away to begin anew", d.file(recordFile), c.dir)
		}
		// The data directory was removed, and the cluster that was kept elsewhere
		// for it was not.
		aside := fmt.Sprintf("%s.orphaned-%d", c.dir, time.Now().Unix())
		if err := os.Rename(c.dir, aside); err != nil {
			return fmt.Errorf("moving away the cluster of a data directory that is gone: %w", err)
		}
		cfg.say("The data of an earlier %s was moved to %s.", d.path, aside)
	}
	if !d.throwaway {
		cfg.say("Creating a PostgreSQL %d cluster in %s.", in.major, c.dir)
	}
	fresh := c.dir + ".new"
	pwFile := c.dir + ".password"
	defer func() { _ = os.Remove(pwFile) }()
	r.Postgres.Password = rand.Text()
	err := errors.Join(
		os.RemoveAll(fresh),
		os.Mkdir(fresh, 0o700),
		c.account.give(fresh),
		os.WriteFile(pwFile, []byte(r.Postgres.Password+"\n"), 0o600),
		c.account.give(pwFile),
	)
	if err != nil {
		return fmt.Errorf("preparing the cluster: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, initdbTimeout)
	defer cancel()
	args := []string{
		"--pgdata=" + fresh, "--username=" + postgresUser, "--pwfile=" + pwFile,
		"--auth-host=scram-sha-256", "--auth-local=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--no-instructions",
	}
	if d.throwaway {
		args = append(args, "--no-sync")
	} else {
		args = append(args, "--data-checksums")
	}
	if _, err := m.run(ctx, invocation{path: in.initdb, args: args, env: serverEnv(c.home()), dir: base, account: c.account}); err != nil {
		return fmt.Errorf("creating the cluster: %w", hideSecrets(err, r.Postgres.Password))
	}
	if err := d.writeRecord(*r); err != nil {
		return err
	}
	if err := os.Rename(fresh, c.dir); err != nil {
		return fmt.Errorf("naming the cluster: %w", err)
	}
	return nil
}

func (c cluster) home() string {
	if c.account == nil {
		return filepath.Dir(c.dir)
	}
	return c.account.home
}

var errPortTaken = errors.New("the port was taken by another process")

// run starts the server on the recorded port and waits until it answers.
func (c cluster) run(ctx context.Context, cfg Config, in installation, d dataDir, lock fileLock, r record) (*Engine, error) {
	args := []string{"-D", c.dir}
	settings := postgresSettings(r.Postgres.Port, d.throwaway)
	maps.Copy(settings, cfg.PostgresSettings)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	orphan := syscall.SIGINT
	if d.throwaway {
		orphan = syscall.SIGQUIT
	}
	server, err := startChild(ctx, launch{
		path: in.server, args: args, env: serverEnv(c.home()), dir: filepath.Dir(c.dir), account: c.account,
		logPath: d.file("postgres.log"), lock: lock, orphanSignal: orphan,
	})
	if err != nil {
		return nil, err
	}
	// SIGINT is a fast shutdown, which ends sessions and writes a checkpoint;
	// SIGQUIT an immediate one, after which the next start recovers.
	steps := []stopStep{{syscall.SIGINT, cfg.StopTimeout}, {syscall.SIGQUIT, forcedWait}}
	if d.throwaway {
		// Nothing is worth a checkpoint.
		steps = []stopStep{{syscall.SIGQUIT, cfg.StopTimeout}, {syscall.SIGQUIT, forcedWait}}
	}
	r.PID = server.pid
	dbURL := postgresURL(*r.Postgres)
	err = d.writeRecord(r)
	var info serverInfo
	if err == nil {
		info, err = server.awaitReady(ctx, dbURL, cfg.ReadyTimeout)
	}
	if err != nil {
		if server.portTaken() {
			return nil, fmt.Errorf("port %d: %w", r.Postgres.Port, errPortTaken)
		}
		return nil, errors.Join(err, server.stop(context.WithoutCancel(ctx), steps))
	}
	return &Engine{kind: KindPostgreSQL, product: info.product, version: info.version, url: dbURL, child: server, steps: steps}, nil
}

// postgresSettings are the settings of a server for Holdfast, whose transactions
// are SERIALIZABLE throughout: predicate locks are plentiful, so that they are
// not promoted from rows to whole tables early.
//
// The log tells about the server, not about statements: errors that clients get
// are the clients' business, and statements can hold personal data.
func postgresSettings(port int, throwaway bool) map[string]string {
	s := map[string]string{
		"listen_addresses":               "127.0.0.1",
		"port":                           strconv.Itoa(port),
		"unix_socket_directories":        "",
		"cluster_name":                   "holdfast",
		"max_connections":                "200",
		"max_locks_per_transaction":      "256",
		"max_pred_locks_per_transaction": "256",
		// By default three rows read from one page lock the page, and then every writer of its other
		// rows conflicts: three seats side by side would.
		"max_pred_locks_per_page":     "100",
		"max_pred_locks_per_relation": "10000",
		"shared_buffers":              "256MB",
		"jit":                         "off",
		// A fresh database is filled in seconds and asked at once: a planner that knows nothing of its
		// tables for a minute, as by default, would walk whole shows for a few seats.
		"autovacuum_naptime":              "1s",
		"autovacuum_analyze_threshold":    "200",
		"autovacuum_analyze_scale_factor": "0.2",
		"timezone":                        "UTC",
		"lc_messages":                     "C",
		"logging_collector":               "off",
		"log_destination":                 "stderr",
		"log_timezone":                    "UTC",
		"log_min_messages":                "log",
		"log_min_error_statement":         "panic",
		"log_checkpoints":                 "off",
	}
	if throwaway {
		maps.Copy(s, map[string]string{
			"fsync":              "off",
			"synchronous_commit": "off",
			"full_page_writes":   "off",
			"wal_level":          "minimal",
			"max_wal_senders":    "0",
			"max_wal_size":       "2GB",
			"shared_buffers":     "128MB",
		})
	}
	return s
}

func postgresURL(r postgresRecord) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(postgresUser, r.Password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port)), Path: "/postgres", RawQuery: "sslmode=disable",
	}
	return u.String()
}

// choosePort returns preferred if nobody listens on it, else some free port.
func choosePort(ctx context.Context, preferred int) (int, error) {
	var failures []error
	for _, port := range []int{preferred, 0} {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			failures = append(failures, err)
			continue
		}
		addr, ok := l.Addr().(*net.TCPAddr)
		if err := l.Close(); err != nil || !ok {
			failures = append(failures, fmt.Errorf("looking at port %d: %w", port, err))
			continue
		}
		return addr.Port, nil
	}
	return 0, fmt.Errorf("finding a free port: %w", errors.Join(failures...))
}
