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

// Limits of one transaction's retries. The deadline is what ends a hot transaction; the count
// only stops a loop that makes no progress at all.
const (
	maxAttempts     = 200
	maxTransaction  = 15 * time.Second
	firstBackoff    = 500 * time.Microsecond
	longestBackoff  = 60 * time.Millisecond
	rollbackTimeout = 2 * time.Second
	// maxReplays is how often Replayable runs a command again after an unknown outcome.
	maxReplays = 4
)

// InTx runs fn in one SERIALIZABLE transaction and commits it. It is the only place that begins
// one for writing.
//
// fn may run several times, on conflicts with other transactions and on connections lost before
// the commit, so it returns its result, writes no captured variable and calls nothing outside the
// database; jobs are enqueued through its tx. An error of fn rolls back and is returned as it is,
// except that failures of the database become fault.KindUnavailable.
//
// When the commit's outcome cannot be known the error is ErrOutcomeUnknown; see Replayable.
func InTx[T any](ctx context.Context, d *DB, name string, fn func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	ctx, span := startSpan(ctx, name)
	defer span.End()
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, maxTransaction)
	defer cancel()

	attempts := 0
	counted := func(ctx context.Context, tx pgx.Tx) (T, error) {
		attempts++
		return fn(ctx, tx)
	}
	var result T
	var err error
	if d.engine == EngineCockroachDB {
		result, err = inTxCockroachDB(ctx, d, counted)
	} else {
		result, err = inTxPostgreSQL(ctx, d, counted)
	}
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

// inTxPostgreSQL restarts from BEGIN: PostgreSQL gives a transaction no second chance.
func inTxPostgreSQL[T any](ctx context.Context, d *DB, fn func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	for attempt := 0; ; attempt++ {
		result, err := oncePostgreSQL(ctx, d, fn)
		if err == nil {
			return result, nil
		}
		var zero T
		again := restartable(err) || (connectionLost(err) && !errors.Is(err, ErrOutcomeUnknown))
		if !again {
			return zero, err
		}
		if attempt+1 >= maxAttempts || !pause(ctx, attempt) {
			if restartable(err) {
				return zero, fmt.Errorf("%w: %w", ErrContention, err)
			}
			return zero, err
		}
	}
}

func oncePostgreSQL[T any](ctx context.Context, d *DB, fn func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	var zero T
	tx, err := d.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	if err != nil {
		return zero, err
	}
	result, err := fn(ctx, tx)
	if err != nil {
		rollback(ctx, tx)
		return zero, err
	}
	if err := tx.Commit(ctx); err != nil {
		if ambiguous(err) {
			return zero, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		}
		return zero, err
	}
	return result, nil
}

// inTxCockroachDB uses the savepoint protocol of cockroach-go, which keeps the transaction's place
// in line. It must never run on PostgreSQL: it ignores the error of COMMIT, because on CockroachDB
// the RELEASE has already committed.
func inTxCockroachDB[T any](ctx context.Context, d *DB, fn func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	var zero T
	for attempt := 0; ; attempt++ {
		var result T
		var fnErr error
		err := crdbpgx.ExecuteTx(crdb.WithMaxRetries(ctx, maxAttempts), d.pool,
			pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error {
				var value T
				value, fnErr = fn(ctx, tx)
				if fnErr != nil {
					return fnErr
				}
				result = value
				return nil
			})
		if err == nil {
			return result, nil
		}
		var tooOften *crdb.MaxRetriesExceededError
		var commitErr *crdb.AmbiguousCommitError
		switch {
		case errors.As(err, &tooOften):
			return zero, fmt.Errorf("%w: %w", ErrContention, err)
		case errors.As(err, &commitErr) && definite(err):
			// RELEASE was answered with a definite refusal, such as a deferred constraint.
			return zero, err
		case fnErr == nil && ambiguous(err):
			return zero, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		case connectionLost(err) && attempt < maxReplays && pause(ctx, attempt+3):
			continue
		}
		return zero, err
	}
}

// definite reports an answer of the server that says the transaction was rolled back.
func definite(err error) bool {
	return ViolatedConstraint(err) != "" || restartable(err)
}

func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	// The connection is discarded when this fails, which rolls back as well.
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
