package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/cockroachdb"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast/holdfast/internal/db"
)

const (
	// versionTable and lockTable are golang-migrate's own; only CockroachDB has the latter.
	versionTable = "schema_migrations"
	lockTable    = "schema_lock"
	// sessionName is the application_name of every session of a migrator, and of nothing else:
	// where there is no such session, nobody migrates.
	sessionName = "holdfast-migrator"
	// lockTimeout is how long a statement waits on PostgreSQL, for the migrators' lock or for a
	// table. Everybody else queues up behind a statement that waits for a table.
	lockTimeout = "10s"
)

// session is golang-migrate's driver with its connections. On PostgreSQL its lock belongs to the
// connection that runs the files: even a statement that the server goes on with after its client
// has died holds it.
type session struct {
	driver database.Driver
	pool   *sql.DB

	mu      sync.Mutex
	conns   []net.Conn
	aborted bool
}

// lock tries until its deadline to get golang-migrate's lock. On CockroachDB the lock is a row, for
// which nobody can wait, and which outlives a migrator that was killed.
func lock(ctx context.Context, d *db.DB, logger *slog.Logger, s settings) (*session, error) {
	waiting, cancel := context.WithTimeout(ctx, s.lockDeadline)
	defer cancel()
	for {
		// Opened anew each time: between two tries, this migrator has no session of that name.
		candidate := newSession(d, s.engine)
		err := candidate.lock(waiting, s.engine)
		if err == nil {
			return candidate, nil
		}
		candidate.abort()
		_ = candidate.pool.Close()
		if errors.Is(err, database.ErrLocked) && s.engine == db.EngineCockroachDB {
			if err := clearStaleLock(waiting, d, logger); err != nil && waiting.Err() == nil {
				logger.WarnContext(ctx, "cannot tell whether the owner of the schema lock is alive", "error", err)
			}
		}
		if waiting.Err() == nil && !otherMigrator(err) {
			return nil, db.Classify(err)
		}
		if !waitForTurn(waiting) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("another migrator has held the lock for over %s", s.lockDeadline)
		}
	}
}

func newSession(d *db.DB, engine db.Engine) *session {
	config := d.Pool().Config().ConnConfig
	config.RuntimeParams["application_name"] = sessionName
	if engine == db.EnginePostgreSQL {
		config.RuntimeParams["lock_timeout"] = lockTimeout
	}
	s := &session{}
	s.pool = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(s.keep))
	return s
}

// lock connects the driver and takes the lock. golang-migrate knows no context: when ctx ends, its
// connections are cut.
func (s *session) lock(ctx context.Context, engine db.Engine) error {
	stop := context.AfterFunc(ctx, s.abort)
	defer stop()
	var err error
	if engine == db.EngineCockroachDB {
		s.driver, err = cockroachdb.WithInstance(s.pool, &cockroachdb.Config{MigrationsTable: versionTable, LockTable: lockTable})
	} else {
		s.driver, err = migratepgx.WithInstance(s.pool, &migratepgx.Config{MigrationsTable: versionTable})
	}
	if err == nil {
		err = s.driver.Lock()
	}
	if err != nil {
		return causeOf(err)
	}
	if !stop() {
		return ctx.Err()
	}
	return nil
}

// keep remembers a connection, to cut it.
func (s *session) keep(_ context.Context, conn *pgx.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aborted {
		return net.ErrClosed
	}
	s.conns = append(s.conns, conn.PgConn().Conn())
	return nil
}

func (s *session) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborted = true
	for _, conn := range s.conns {
		_ = conn.Close()
	}
}

func (s *session) release() error {
	return errors.Join(s.driver.Unlock(), s.driver.Close())
}

// waitForTurn lets a moment pass, another one for each waiter, and is false when ctx ends first.
func waitForTurn(ctx context.Context) bool {
	timer := time.NewTimer(100*time.Millisecond + rand.N(400*time.Millisecond)) //nolint:gosec // jitter needs no secrecy
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// causeOf is the server's error within golang-migrate's, which cannot be unwrapped and repeats the
// statement.
func causeOf(err error) error {
	var value database.Error
	if errors.As(err, &value) && value.OrigErr != nil {
		return value.OrigErr
	}
	var pointer *database.Error
	if errors.As(err, &pointer) && pointer.OrigErr != nil {
		return pointer.OrigErr
	}
	return err
}

// otherMigrator reports that another migrator is in the way: it holds the lock, or was faster in
// making golang-migrate's tables.
func otherMigrator(err error) bool {
	const (
		serializationFailure = "40001"
		uniqueViolation      = "23505"
		duplicateTable       = "42P07"
		lockNotAvailable     = "55P03"
	)
	if errors.Is(err, database.ErrLocked) {
		return true
	}
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return false
	}
	switch pgErr.Code {
	case serializationFailure, uniqueViolation, duplicateTable, lockNotAvailable:
		return true
	}
	return false
}

// clearStaleLock removes CockroachDB's lock row if its owner is provably dead. An owner has a
// session named sessionName before it takes the lock and until it has given it back; the row is
// read first and the sessions of all nodes after it, so an owner that lives is seen. A node that
// did not answer for its sessions, which shows as a row without a session, proves nothing. The
// transaction is SERIALIZABLE: if the row changes hands meanwhile, it does not commit.
func clearStaleLock(ctx context.Context, d *db.DB, logger *slog.Logger) error {
	name := d.Pool().Config().ConnConfig.Database
	id, err := database.GenerateAdvisoryLockId(name)
	if err != nil {
		return fmt.Errorf("compute the lock's number: %w", err)
	}
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return fmt.Errorf("compute the lock's number: %w", err)
	}
	cleared, err := db.InTx(ctx, d, "schema.ClearStaleLock", func(ctx context.Context, tx pgx.Tx) (bool, error) {
		var held int64
		err := tx.QueryRow(ctx, "SELECT lock_id FROM schema_lock WHERE lock_id = $1::bigint FOR UPDATE", number).Scan(&held)
		if db.IsNoRows(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read the lock: %w", err)
		}
		var alive int64
		err = tx.QueryRow(ctx, `
SELECT count(*) FROM crdb_internal.cluster_sessions
WHERE application_name = $1::text OR session_id IS NULL`, sessionName).Scan(&alive)
		if err != nil {
			return false, fmt.Errorf("look for a living migrator: %w", err)
		}
		if alive > 0 {
			return false, nil
		}
		if _, err := tx.Exec(ctx, "DELETE FROM schema_lock WHERE lock_id = $1::bigint", number); err != nil {
			return false, fmt.Errorf("remove the lock: %w", err)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	if cleared {
		logger.WarnContext(ctx, "removed the schema lock of a migrator that is gone")
	}
	return nil
}
