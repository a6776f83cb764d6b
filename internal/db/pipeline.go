package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Pipeline collects statements that need nothing of one another's results, and sends them to the
// database in one round trip. Within a transaction that many wait for, each round trip saved is time in
// which its locks are not held.
//
// It stands where a query package wants its connection: what is executed on it is sent by Send, in
// order, and Send says what became of it. It reads nothing.
type Pipeline struct {
	batch pgx.Batch
}

var errPipelineReads = errors.New("a pipeline executes statements and reads nothing")

// Exec puts a statement in the pipeline. The tag that it returns is empty, whatever the statement will
// do.
func (p *Pipeline) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	p.batch.Queue(sql, args...)
	return pgconn.CommandTag{}, nil
}

// Query fails.
func (*Pipeline) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return nil, errPipelineReads
}

// QueryRow fails when it is scanned.
func (*Pipeline) QueryRow(context.Context, string, ...any) pgx.Row { return noRow{} }

// SendBatch fails when its results are read.
func (*Pipeline) SendBatch(context.Context, *pgx.Batch) pgx.BatchResults { return noResults{} }

// Send executes what was collected, in order, and is how many rows each statement changed. The first
// failure ends it, and with it the transaction.
func (p *Pipeline) Send(ctx context.Context, tx pgx.Tx) (changed []int64, err error) {
	results := tx.SendBatch(ctx, &p.batch)
	defer func() {
		if closeErr := results.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("end a pipeline: %w", closeErr)
		}
	}()
	for range p.batch.Len() {
		tag, err := results.Exec()
		if err != nil {
			return nil, err
		}
		changed = append(changed, tag.RowsAffected())
	}
	return changed, nil
}

type noRow struct{}

// Scan fails.
func (noRow) Scan(...any) error { return errPipelineReads }

// noResults embeds the interface for what nobody calls after a failure.
type noResults struct{ pgx.BatchResults }

// Exec fails.
func (noResults) Exec() (pgconn.CommandTag, error) { return pgconn.CommandTag{}, errPipelineReads }

// Query fails.
func (noResults) Query() (pgx.Rows, error) { return nil, errPipelineReads }

// QueryRow fails when it is scanned.
func (noResults) QueryRow() pgx.Row { return noRow{} }

// Close has nothing to close.
func (noResults) Close() error { return nil }
