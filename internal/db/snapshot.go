package db

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// InSnapshot runs reads in one read-only transaction, so that what they return belongs together.
//
// fn may run several times, as in InTx: CockroachDB restarts reads that meet a newer write once
// their results no longer fit its buffer, and connections are lost.
func InSnapshot[T any](ctx context.Context, d *DB, fn func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	if d.engine == EngineCockroachDB {
		// CockroachDB knows REPEATABLE READ only as another name of SERIALIZABLE in older versions
		// and as a preview in newer ones: ask for what both mean.
		options.IsoLevel = pgx.Serializable
	}
	ctx, cancel := context.WithTimeout(ctx, d.limits.snapshot)
	defer cancel()
	result, err := again(ctx, d.limits, func() (T, error) {
		var zero T
		tx, err := d.pool.BeginTx(ctx, options)
		if err != nil {
			return zero, err
		}
		// There is nothing to commit.
		defer rollback(ctx, tx)
		result, err := fn(ctx, tx)
		if err != nil {
			return zero, err
		}
		return result, nil
	})
	if err != nil {
		var zero T
		return zero, Classify(err)
	}
	return result, nil
}
