package db

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"
)

// Engine is the database system at the other end.
type Engine string

// The engines that Holdfast runs on.
const (
	EngineCockroachDB Engine = "cockroachdb"
	EnginePostgreSQL  Engine = "postgresql"
)

// Config says how to reach the database.
type Config struct {
	// URL is a postgres:// or postgresql:// URL that names a database.
	URL string
	// URLSource is the environment variable or flag that URL came from, for error messages.
	URLSource string
	// MaxConnections bounds the pool. Default 32: more connections than that only wait for one
	// another on hot rows.
	MaxConnections int
	// BackOfficeConnections is how many of them the work under BackOffice uses at most. Default: a
	// quarter.
	BackOfficeConnections int
	// ConnectTimeout bounds one attempt to connect. Default 5 seconds.
	ConnectTimeout time.Duration
	// ApplicationName is shown in the server's list of sessions. Default "holdfast".
	ApplicationName string
	// MaxStaleness bounds how old the reads may be that allow themselves to be stale; see Stale.
	// Default 0: none is, as a process wants that reads back what it has written.
	MaxStaleness time.Duration
	// Metrics receives the transaction metrics. Default: a registry that nobody reads.
	Metrics prometheus.Registerer
}

func (c Config) withDefaults() Config {
	if c.URLSource == "" {
		c.URLSource = "HOLDFAST_DATABASE_URL"
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = 32
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	if c.ApplicationName == "" {
		c.ApplicationName = "holdfast"
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	return c
}

// Validate names the setting that is wrong. It never repeats the URL, which may hold a password.
func (c Config) Validate() error {
	if !strings.HasPrefix(c.URL, "postgres://") && !strings.HasPrefix(c.URL, "postgresql://") {
		return fmt.Errorf("%s: expected a URL such as postgres://user:password@host:5432/holdfast", c.withDefaults().URLSource)
	}
	if c.MaxConnections < 0 || c.MaxConnections > 10_000 {
		return errors.New("MaxConnections: expected 1 to 10000, or 0 for the default")
	}
	if err := c.validateShare(); err != nil {
		return err
	}
	if c.ConnectTimeout < 0 {
		return errors.New("ConnectTimeout: expected a positive duration, or 0 for the default")
	}
	if c.MaxStaleness < 0 || c.MaxStaleness > longestStaleness {
		return fmt.Errorf("MaxStaleness: expected 0 to %s", longestStaleness)
	}
	return nil
}

// DB is a pool of connections to one engine.
type DB struct {
	pool    *pgxpool.Pool
	engine  Engine
	version string
	metrics *metrics
	limits  limits
	// maxStaleness is Config's.
	maxStaleness time.Duration
}

// Open connects and finds out which engine answers.
func Open(ctx context.Context, config Config) (*DB, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	poolConfig, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: not a usable database URL: %s", config.URLSource, whyNotParsed(err))
	}
	poolConfig.MaxConns = int32(config.MaxConnections) //nolint:gosec // Validate bounds it to 10000
	poolConfig.ConnConfig.ConnectTimeout = config.ConnectTimeout
	poolConfig.MaxConnLifetime = 30 * time.Minute
	poolConfig.MaxConnLifetimeJitter = 3 * time.Minute
	poolConfig.ConnConfig.RuntimeParams["application_name"] = config.ApplicationName
	poolConfig.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// A process that stops in the middle of a transaction must not keep its locks for ever.
	poolConfig.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt(idleInTransaction.Milliseconds(), 10)
	// Without its own codec every UUID would be formatted and parsed as text.
	poolConfig.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		pgxuuid.Register(conn.TypeMap())
		return nil
	}
	share := newBackOfficeShare(config.backOfficeConnections())
	poolConfig.ConnConfig.Tracer = share
	pool, err := pgxpool.NewWithConfig(ctx, poolConfig)
	if err != nil {
		return nil, fmt.Errorf("open a pool for the database of %s: %w", config.URLSource, withoutSecrets(err))
	}
	var version string
	if err := pool.QueryRow(ctx, "SELECT version()").Scan(&version); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the database of %s: %w", config.URLSource, withoutSecrets(err))
	}
	engine, shown, err := detect(version)
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("%s: %w", config.URLSource, err)
	}
	m, err := newMetrics(config.Metrics)
	if err == nil {
		err = share.register(config.Metrics)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &DB{pool: pool, engine: engine, version: shown, metrics: m, limits: defaultLimits(), maxStaleness: config.MaxStaleness}, nil
}

// Pool is for reads and for libraries that bring their own transactions, such as River.
func (d *DB) Pool() *pgxpool.Pool { return d.pool }

// Engine is the system that answered.
func (d *DB) Engine() Engine { return d.engine }

// Version is the engine's version, such as "PostgreSQL 15.18" or "CockroachDB v21.1.7".
func (d *DB) Version() string { return d.version }

// Close ends every connection.
func (d *DB) Close() { d.pool.Close() }

// Ping reports whether the database answers.
func (d *DB) Ping(ctx context.Context) error {
	var one int64
	if err := d.pool.QueryRow(ctx, "SELECT 1::bigint").Scan(&one); err != nil {
		return unavailable(err)
	}
	return nil
}

// versionPattern finds the product and its version in what version() answers.
var versionPattern = regexp.MustCompile(`^(PostgreSQL [0-9.]+|CockroachDB \S+ v[0-9][^ ]*)`)

// detect is the engine and the version to show, from what version() answers.
func detect(version string) (Engine, string, error) {
	shown := shortVersion(version)
	switch {
	case strings.Contains(version, "CockroachDB"):
		return EngineCockroachDB, shown, nil
	case strings.HasPrefix(version, "PostgreSQL"):
		if major := majorVersion(version); major > 0 && major < 15 {
			return "", "", fmt.Errorf("PostgreSQL 15 or later is needed, the server is %s", shown)
		}
		return EnginePostgreSQL, shown, nil
	}
	return "", "", errors.New("neither CockroachDB nor PostgreSQL answered")
}

func shortVersion(version string) string {
	found := versionPattern.FindString(version)
	if found == "" {
		return "unknown"
	}
	if strings.HasPrefix(found, "CockroachDB") {
		fields := strings.Fields(found)
		return "CockroachDB " + fields[len(fields)-1]
	}
	return found
}

func majorVersion(version string) int {
	fields := strings.Fields(version)
	if len(fields) < 2 {
		return 0
	}
	digits := fields[1]
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	major, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return major
}

// withoutSecrets keeps the reason of a failed connection in one line. What pgx says beside it is
// longer than a reader needs and names the user.
func withoutSecrets(err error) error {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return fmt.Errorf("%s (SQLSTATE %s)", pgErr.Message, pgErr.Code)
	}
	var netErr *net.OpError
	if errors.As(err, &netErr) {
		return errors.New(netErr.Error())
	}
	var connectErr *pgconn.ConnectError
	if errors.As(err, &connectErr) {
		return errors.New(strings.Join(strings.Fields(connectErr.Unwrap().Error()), " "))
	}
	return errors.New("no connection could be made")
}

// whyNotParsed is the reason without the URL. When net/url is at a loss it quotes the part it
// stumbled on, which may be a piece of the password.
func whyNotParsed(err error) string {
	var urlErr *url.Error
	var parseErr *pgconn.ParseConfigError
	if errors.As(err, &urlErr) || !errors.As(err, &parseErr) || parseErr.Unwrap() == nil {
		return "expected postgres://user:password@host:5432/database, with / ? # % and @ of the password percent-encoded"
	}
	return parseErr.Unwrap().Error()
}
