package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cockroachdb/cockroach-go/v2/crdb"
	crdbpgx "github.com/cockroachdb/cockroach-go/v2/crdb/crdbpgxv5"
	"github.com/jackc/pgx/v5"
)

// serializable is asked for by name: PostgreSQL's default is READ COMMITTED, and CockroachDB's can
// be configured.
func serializable() pgx.TxOptions { return pgx.TxOptions{IsoLevel: pgx.Serializable} }

// serializableByIndex begins a transaction on PostgreSQL that reads by index wherever there is one. A
// serializable transaction that reads a table whole conflicts with everybody who writes to it, and the
// planner reads small tables whole: with the 64 counters of a pool, each booking of a place made all
// others that were under way start over. JIT would be talked into compiling by the costs with which
// the planner is kept from reading whole tables.
const serializableByIndex = "BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL enable_seqscan = off; SET LOCAL jit = off"

// InTx runs fn in one SERIALIZABLE transaction and commits it. It is the only place that begins
// one for writing.
//
// fn may run several times, on conflicts with other transactions and on connections lost before
// the commit, so it returns its result, writes no captured variable and calls nothing outside the
// database; jobs are enqueued through its tx. An error of fn rolls back and is returned as it is,
// except that failures of the database become fault.KindUnavailable. One of those is ErrContention:
// the transaction lost to others until its limit was reached.
//
// When the commit's outcome cannot be known the error is ErrOutcomeUnknown; see Replayable.
func InTx[T any](ctx context.Context, d *DB, name string, fn func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	ctx, span := startSpan(ctx, name)
	defer span.End()
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, d.limits.duration)
	defer cancel()

	attempts := 0
	counted := func(ctx context.Context, tx pgx.Tx) (T, error) {
		attempts++
		return fn(ctx, tx)
	}
	result, err := again(ctx, d.limits, func() (T, error) {
		if d.engine == EngineCockroachDB {
			return onceCockroachDB(ctx, d.pool, d.limits, counted)
		}
		return oncePostgreSQL(ctx, d.pool, counted)
	})
	d.metrics.observe(name, attempts, time.Since(started), err)
	if err != nil {
		span.RecordError(err)
		var zero T
		if errors.Is(err, ErrOutcomeUnknown) {
			return zero, err
		}
		return zero, Classify(err)
	}
	return result, nil
}

// Replayable is InTx for a command that is safe to run again after an unknown outcome, because
// its first statement claims a request row or every transition repeats its precondition. It runs
// the command again on a new connection; only when the database stays away does the caller hear
// fault.KindUnavailable.
func Replayable[T any](ctx context.Context, d *DB, name string, fn func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	for replay := 0; ; replay++ {
		result, err := InTx(ctx, d, name, fn)
		if !errors.Is(err, ErrOutcomeUnknown) {
			return result, err
		}
		if replay == maxReplays || !pause(ctx, replay+3) {
			var zero T
			return zero, Classify(err)
		}
	}
}

// again runs a whole transaction until it ends for a reason that another run would not change.
func again[T any](ctx context.Context, l limits, once func() (T, error)) (T, error) {
	var zero T
	conflicts, losses := 0, 0
	for attempt := 0; ; attempt++ {
		result, err := once()
		if err == nil {
			return result, nil
		}
		tryAgain := false
		switch {
		case errors.Is(err, ErrOutcomeUnknown), errors.Is(err, ErrContention):
			return zero, err
		case restartable(err):
			conflicts++
			tryAgain = conflicts < l.attempts
		case connectionLost(err):
			losses++
			tryAgain = losses < l.connections
		}
		if tryAgain && pause(ctx, attempt) {
			continue
		}
		if restartable(err) || (conflicts > 0 && outOfTime(ctx, err)) {
			return zero, fmt.Errorf("%w: %w", ErrContention, err)
		}
		return zero, err
	}
}

// oncePostgreSQL is one attempt from BEGIN: PostgreSQL gives a transaction no second chance.
func oncePostgreSQL[T any](ctx context.Context, conn crdbpgx.Conn, fn func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	var zero T
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: serializableByIndex})
	if err != nil {
		return zero, err
	}
	// Deferred, because a panic of fn must give the connection back, too.
	defer rollback(ctx, tx)
	result, err := fn(ctx, tx)
	if err != nil {
		return zero, outcomeOf(err)
	}
	if err := tx.Commit(ctx); err != nil {
		if committedPerhaps(err) {
			return zero, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		}
		return zero, err
	}
	return result, nil
}

// onceCockroachDB uses the savepoint protocol of cockroach-go, which restarts on 40001 by itself
// and keeps the transaction's place in line. It must never run on PostgreSQL: it ignores the error
// of COMMIT, because on CockroachDB the RELEASE has already committed.
func onceCockroachDB[T any](ctx context.Context, conn crdbpgx.Conn, l limits, fn func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	var result, zero T
	runs := 0
	err := crdbpgx.ExecuteTx(crdb.WithMaxRetries(ctx, l.attempts), conn, serializable(), func(tx pgx.Tx) error {
		runs++
		var err error
		result, err = fn(ctx, tx)
		return err
	})
	if err == nil {
		return result, nil
	}
	var tooOften *crdb.MaxRetriesExceededError
	var restart *crdb.TxnRestartError
	var release *crdb.AmbiguousCommitError
	switch {
	case errors.As(err, &tooOften):
		return zero, fmt.Errorf("%w: %w", ErrContention, err)
	case errors.As(err, &restart):
		// The transaction had been refused, and going back to its savepoint failed as well.
		return zero, err
	case errors.As(err, &release) && committedPerhaps(err):
		return zero, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	case runs > 1 && outOfTime(ctx, err):
		return zero, fmt.Errorf("%w: %w", ErrContention, err)
	}
	return zero, outcomeOf(err)
}

// outOfTime reports that err comes from the deadline of ctx.
func outOfTime(ctx context.Context, err error) bool {
	return gaveUp(err) && errors.Is(ctx.Err(), context.DeadlineExceeded)
}

func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	// The connection is discarded when this fails, which rolls back as well. After a commit it
	// does nothing.
	_ = tx.Rollback(ctx)
}

// pause waits with full jitter before the next attempt, and reports false when ctx ends first.
func pause(ctx context.Context, attempt int) bool {
	ceiling := longestBackoff
	if attempt < 7 {
		ceiling = firstBackoff << attempt
	}
	timer := time.NewTimer(rand.N(ceiling)) //nolint:gosec // jitter needs no secrecy
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
