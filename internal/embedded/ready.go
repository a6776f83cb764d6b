package embedded

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	connectTimeout = 5 * time.Second
	pollInterval   = 25 * time.Millisecond
)

// serverInfo is what a server says about itself.
type serverInfo struct {
	product Kind
	version string
}

var (
	postgresVersion  = regexp.MustCompile(`^PostgreSQL (\S+)`)
	cockroachVersion = regexp.MustCompile(`^CockroachDB \S+ v?(\S+)`)
)

// askServer connects once and asks the server what it is. It uses the simple
// protocol, which every version of both engines and every pooler speaks.
func askServer(ctx context.Context, dbURL string) (serverInfo, error) {
	cfg, err := pgx.ParseConfig(dbURL)
	if err != nil {
		return serverInfo{}, fmt.Errorf("parsing the database URL: %w", hideSecrets(err, append(urlSecrets(dbURL), dbURL)...))
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return serverInfo{}, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var text string
	if err := conn.QueryRow(ctx, "SELECT version()").Scan(&text); err != nil {
		return serverInfo{}, fmt.Errorf("asking for the server's version: %w", err)
	}
	if m := cockroachVersion.FindStringSubmatch(text); m != nil {
		return serverInfo{product: KindCockroachDB, version: m[1]}, nil
	}
	if m := postgresVersion.FindStringSubmatch(text); m != nil {
		return serverInfo{product: KindPostgreSQL, version: m[1]}, nil
	}
	return serverInfo{}, fmt.Errorf("%w: the server calls itself %.60q", errUnknownProduct, text)
}

var errUnknownProduct = errors.New("neither PostgreSQL nor CockroachDB")

// mayPass tells whether a failed connection can be due to a server that is still
// starting. A refused password, an unknown database or a failed TLS handshake
// stays as it is however long one waits.
func mayPass(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, errUnknownProduct) {
		return false
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		const cannotConnectNow, tooManyConnections = "57P03", "53300"
		return pgErr.Code == cannotConnectNow || pgErr.Code == tooManyConnections
	}
	var parse *pgconn.ParseConfigError
	return !errors.As(err, &parse)
}

// patience is a bounded wait on a condition that has to be asked for.
type patience struct{ until time.Time }

func newPatience(d time.Duration) patience { return patience{until: time.Now().Add(d)} }

// again pauses for one poll interval and tells whether to ask once more.
func (p patience) again(ctx context.Context) bool { return p.unless(ctx, nil) }

// unless is again, cut short when stop is closed; the caller then has to look
// at what was closed.
func (p patience) unless(ctx context.Context, stop <-chan struct{}) bool {
	if !time.Now().Before(p.until) {
		return false
	}
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-stop:
		return true
	case <-timer.C:
		return true
	}
}

// title is the product's name as people write it.
func (k Kind) title() string {
	switch k {
	case KindPostgreSQL:
		return "PostgreSQL"
	case KindCockroachDB:
		return "CockroachDB"
	case KindExternal:
		return "a database"
	default:
		return string(k)
	}
}
