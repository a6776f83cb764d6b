package db

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
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
	// ConnectTimeout bounds one attempt to connect. Default 5 seconds.
	ConnectTimeout time.Duration
	// ApplicationName is shown in the server's list of sessions. Default "holdfast".
	ApplicationName string
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
		return errors.New("MaxConnections: expected 1 to 10000")
	}
	return nil
}

// DB is a pool of connections to one engine.
type DB struct {
	pool    *pgxpool.Pool
	engine  Engine
	version string
	metrics *metrics
}

// Open connects and finds out which engine answers.
func Open(ctx context.Context, config Config) (*DB, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	poolConfig, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: not a usable database URL", config.URLSource)
	}
	poolConfig.MaxConns = int32(config.MaxConnections) //nolint:gosec // Validate bounds it to 10000
	poolConfig.ConnConfig.ConnectTimeout = config.ConnectTimeout
	poolConfig.MaxConnLifetime = 30 * time.Minute
	poolConfig.MaxConnLifetimeJitter = 3 * time.Minute
	poolConfig.ConnConfig.RuntimeParams["application_name"] = config.ApplicationName
	poolConfig.ConnConfig.RuntimeParams["timezone"] = "UTC"
	pool, err := pgxpool.NewWithConfig(ctx, poolConfig)
	if err != nil {
		return nil, fmt.Errorf("open the database pool: %w", withoutSecrets(err))
	}
	var version string
	if err := pool.QueryRow(ctx, "SELECT version()").Scan(&version); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the database of %s: %w", config.URLSource, withoutSecrets(err))
	}
	m, err := newMetrics(config.Metrics)
	if err != nil {
		pool.Close()
		return nil, err
	}
	d := &DB{pool: pool, version: shortVersion(version), metrics: m}
	switch {
	case strings.Contains(version, "CockroachDB"):
		d.engine = EngineCockroachDB
	case strings.HasPrefix(version, "PostgreSQL"):
		d.engine = EnginePostgreSQL
		if major := majorVersion(version); major > 0 && major < 15 {
			pool.Close()
			return nil, fmt.Errorf("%s: PostgreSQL 15 or later is needed, the server is %s", config.URLSource, d.version)
		}
	default:
		pool.Close()
		return nil, fmt.Errorf("%s: neither CockroachDB nor PostgreSQL answered", config.URLSource)
	}
	return d, nil
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

// InSnapshot runs reads in one read-only transaction, so that what they return belongs together.
func InSnapshot[T any](ctx context.Context, d *DB, fn func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	var zero T
	isolation := pgx.RepeatableRead
	if d.engine == EngineCockroachDB {
		// CockroachDB knows REPEATABLE READ only as another name of SERIALIZABLE in older versions
		// and as a preview in newer ones: ask for what both mean.
		isolation = pgx.Serializable
	}
	tx, err := d.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: isolation, AccessMode: pgx.ReadOnly})
	if err != nil {
		return zero, Classify(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	result, err := fn(ctx, tx)
	if err != nil {
		return zero, Classify(err)
	}
	return result, nil
}

// versionPattern finds the product and its version in what version() answers.
var versionPattern = regexp.MustCompile(`^(PostgreSQL [0-9.]+|CockroachDB \S+ v[0-9][^ ]*)`)

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

// withoutSecrets keeps the reason of a failed connection and drops the connection string, which
// pgx repeats in its messages.
func withoutSecrets(err error) error {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return fmt.Errorf("%s (SQLSTATE %s)", pgErr.Message, pgErr.Code)
	}
	var netErr *net.OpError
	if errors.As(err, &netErr) {
		return errors.New(netErr.Error())
	}
	return errors.New("no connection could be made")
}
