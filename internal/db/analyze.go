package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// NoteGrowth tells the planner of a table that has just grown by a part that matters. PostgreSQL's
// own analysis comes up to a minute later, and until then a planner that believes the table small
// walks a whole show for three seats, and its serializable readers lock the whole table.
// CockroachDB plans keyed lookups without statistics and collects its own.
//
// It is called after the commit. A failure only leaves a slower plan for a while, so it is the
// caller's to log.
func (d *DB) NoteGrowth(ctx context.Context, table string, rows int64) error {
	if d.engine == EngineCockroachDB {
		return nil
	}
	var known float64
	if err := d.pool.QueryRow(ctx, "SELECT reltuples::float8 FROM pg_class WHERE oid = to_regclass($1::text)", table).Scan(&known); err != nil {
		return fmt.Errorf("read the statistics of %s: %w", table, err)
	}
	const partThatMatters = 0.1
	if float64(rows) <= known*partThatMatters {
		return nil
	}
	if _, err := d.pool.Exec(ctx, "ANALYZE "+pgx.Identifier{table}.Sanitize()); err != nil {
		return fmt.Errorf("analyze %s: %w", table, err)
	}
	return nil
}
