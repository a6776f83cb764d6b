package db

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ReadOption says what a snapshot may return.
type ReadOption func(*read)

// read is what the options ask for. The zero value is a fresh read.
type read struct{ mostStale time.Duration }

// Stale lets a read return a state that is up to so much older than the present, and says so where
// the query stands. On CockroachDB it then reads at that instant (AS OF SYSTEM TIME): it never waits
// for a writer, never makes one start over, and from about five seconds on the nearest replica
// answers. PostgreSQL's readers do neither, so there a stale read is a fresh one.
//
// Config.MaxStaleness bounds it for a whole process, and Fresh for a request. It is for lists,
// calendars, maps and reports; never for a claim, for what answers a mutation, or for a buyer's own
// hold or booking.
func Stale(most time.Duration) ReadOption {
	return func(r *read) { r.mostStale = most }
}

type freshKey struct{}

// Fresh is a context under which no read is stale: a request that changes something reads what it
// has changed.
func Fresh(ctx context.Context) context.Context { return context.WithValue(ctx, freshKey{}, true) }

// staleness is how far back a read goes; 0 is the present.
func (d *DB) staleness(ctx context.Context, options []ReadOption) time.Duration {
	var r read
	for _, option := range options {
		option(&r)
	}
	if d.engine != EngineCockroachDB || ctx.Value(freshKey{}) != nil {
		return 0
	}
	return max(0, min(r.mostStale, d.maxStaleness))
}

// InSnapshot runs reads in one read-only transaction, so that what they return belongs together.
// Without options it reads the present.
//
// fn may run several times, as in InTx: CockroachDB restarts reads that meet a newer write once
// their results no longer fit its buffer, and connections are lost. A stale read of a table or
// column that did not exist at its instant is run once more, on the present.
func InSnapshot[T any](ctx context.Context, d *DB, fn func(ctx context.Context, tx pgx.Tx) (T, error), options ...ReadOption) (T, error) {
	return InSnapshotAsOf(ctx, d, func(ctx context.Context, s Snapshot) (T, error) { return fn(ctx, s.Tx) }, options...)
}

// Snapshot is a read-only transaction and what it is a snapshot of.
type Snapshot struct {
	Tx pgx.Tx

	stale bool
}

// InSnapshotAsOf is InSnapshot for reads that have to know the instant they are made at.
func InSnapshotAsOf[T any](ctx context.Context, d *DB, fn func(ctx context.Context, s Snapshot) (T, error), options ...ReadOption) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limits.snapshot)
	defer cancel()
	result, err := snapshotWithFallback(ctx, d.pool, d.engine, d.limits, d.staleness(ctx, options), fn)
	if err != nil {
		var zero T
		return zero, Classify(err)
	}
	return result, nil
}

// beginner is the part of a pool that a snapshot needs.
type beginner interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// snapshotWithFallback reads the present when the past had not what was asked for.
func snapshotWithFallback[T any](ctx context.Context, conn beginner, engine Engine, l limits, staleness time.Duration, fn func(ctx context.Context, s Snapshot) (T, error)) (T, error) {
	result, err := inSnapshot(ctx, conn, engine, l, staleness, fn)
	if staleness > 0 && notThereYet(err) {
		return inSnapshot(ctx, conn, engine, l, 0, fn)
	}
	return result, err
}

func inSnapshot[T any](ctx context.Context, conn beginner, engine Engine, l limits, staleness time.Duration, fn func(ctx context.Context, s Snapshot) (T, error)) (T, error) {
	return again(ctx, l, func() (T, error) {
		var zero T
		tx, err := conn.BeginTx(ctx, snapshotOptions(engine, staleness))
		if err != nil {
			return zero, err
		}
		// There is nothing to commit.
		defer rollback(ctx, tx)
		result, err := fn(ctx, Snapshot{Tx: tx, stale: staleness > 0})
		if err != nil {
			return zero, err
		}
		return result, nil
	})
}

func snapshotOptions(engine Engine, staleness time.Duration) pgx.TxOptions {
	switch {
	case engine != EngineCockroachDB:
		return pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	case staleness == 0:
		// CockroachDB knows REPEATABLE READ only as another name of SERIALIZABLE in older versions
		// and as a preview in newer ones: ask for what both mean.
		return pgx.TxOptions{IsoLevel: pgx.Serializable, AccessMode: pgx.ReadOnly}
	}
	// The same as SET TRANSACTION AS OF SYSTEM TIME for its first statement, without a round trip for
	// it. The interval is a literal: no parameter can stand here.
	seconds := strconv.FormatFloat(staleness.Seconds(), 'f', -1, 64)
	return pgx.TxOptions{BeginQuery: "BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, AS OF SYSTEM TIME '-" + seconds + "s'"}
}

// AsOf is the instant whose state the snapshot shows, by the database's clock: the rows are at least
// as new, and a deadline is to be judged by it and not by the time at which it is read.
func (s Snapshot) AsOf(ctx context.Context) (time.Time, error) {
	if !s.stale {
		var now time.Time
		if err := s.Tx.QueryRow(ctx, "SELECT transaction_timestamp()::timestamptz AS as_of").Scan(&now); err != nil {
			return time.Time{}, fmt.Errorf("read the time of a snapshot: %w", err)
		}
		return now.UTC(), nil
	}
	// The clock's functions tell when the statement runs; this is what it reads at. In a transaction
	// of the present it would pin the transaction to its instant, so it is asked for here alone.
	var logical string
	if err := s.Tx.QueryRow(ctx, "SELECT cluster_logical_timestamp()::text AS as_of").Scan(&logical); err != nil {
		return time.Time{}, fmt.Errorf("read the time of a stale snapshot: %w", err)
	}
	return wallTime(logical)
}

// wallTime is the time in a logical timestamp such as 1700000000123456789.0000000001: nanoseconds
// before the point, the count of events within them behind it.
func wallTime(logical string) (time.Time, error) {
	digits, _, _ := strings.Cut(logical, ".")
	nanoseconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of a stale snapshot: %q: %w", logical, err)
	}
	// Databases keep microseconds.
	return time.Unix(0, nanoseconds).Truncate(time.Microsecond).UTC(), nil
}

// notThereYet reports that a statement named what did not exist at the instant of a stale read: a
// database, schema, table, column or type that has just been made.
func notThereYet(err error) bool {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return false
	}
	switch pgErr.Code {
	case codeUndefinedDatabase, codeUndefinedSchema, codeUndefinedTable, codeUndefinedColumn, codeUndefinedObject:
		return true
	}
	return false
}
