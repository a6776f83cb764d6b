package rivercrdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// maxStateChanges is how many jobs one JobSetStateIfRunningMany changes. Its result holds whole
// rows, and the server retries a statement by itself only while the result fits its buffer (16 KiB
// on 21.1, 512 KiB later). Thousands of jobs in one statement then fail to River's completer, which
// gives up after three tries, and finished jobs run again after RescueStuckJobsAfter.
const maxStateChanges = 250

// executor is riverpgxv5's, but for what a rewritten statement cannot express.
type executor struct {
	riverdriver.Executor

	// plain is for inserts without a unique job, through the same connection.
	plain  riverdriver.Executor
	driver *Driver
}

// Begin opens a transaction; see lazyTx for when.
func (e *executor) Begin(ctx context.Context) (riverdriver.ExecutorTx, error) {
	inner, err := e.Executor.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return e.driver.newExecutorTx(inner), nil
}

// IndexReindex does nothing: CockroachDB has no REINDEX, and its storage has no bloat to remove.
// Set river.Config.ReindexerIndexNames to an empty slice, and River does not ask.
func (e *executor) IndexReindex(context.Context, *riverdriver.IndexReindexParams) error { return nil }

// PGAdvisoryXactLock fails: there are no advisory locks. River v0.51.2 does not call it.
func (e *executor) PGAdvisoryXactLock(context.Context, int64) (*struct{}, error) {
	return nil, fmt.Errorf("rivercrdb: advisory lock: %w", riverdriver.ErrNotImplemented)
}

// JobInsertFastMany leaves out what only unique jobs need when there is none: ON CONFLICT, and the
// nonce in each job's metadata that tells duplicates where there is no xmax, which River writes with
// two and reads back with one more pass through encoding/json. That cost as much as all the rest of
// an insert's time in this process.
func (e *executor) JobInsertFastMany(ctx context.Context, params *riverdriver.JobInsertFastManyParams) ([]*riverdriver.JobInsertFastResult, error) {
	unique := func(job *riverdriver.JobInsertFastParams) bool { return len(job.UniqueKey) > 0 }
	if slices.ContainsFunc(params.Jobs, unique) {
		return e.Executor.JobInsertFastMany(ctx, params)
	}
	return e.plain.JobInsertFastMany(context.WithValue(ctx, plainInsertKey{}, true), params)
}

type plainInsertKey struct{}

func isPlainInsert(ctx context.Context) bool { return ctx.Value(plainInsertKey{}) != nil }

// JobSetStateIfRunningMany works through the jobs maxStateChanges at a time. Each part is right by
// itself, and a job whose state has changed is returned as it is when the whole is tried again.
func (e *executor) JobSetStateIfRunningMany(ctx context.Context, params *riverdriver.JobSetStateIfRunningManyParams) ([]*rivertype.JobRow, error) {
	var rows []*rivertype.JobRow
	for start := 0; start < len(params.ID); start += maxStateChanges {
		end := min(start+maxStateChanges, len(params.ID))
		part, err := e.Executor.JobSetStateIfRunningMany(ctx, &riverdriver.JobSetStateIfRunningManyParams{
			ID:              params.ID[start:end],
			Attempt:         params.Attempt[start:end],
			ErrData:         params.ErrData[start:end],
			FinalizedAt:     params.FinalizedAt[start:end],
			MetadataDoMerge: params.MetadataDoMerge[start:end],
			MetadataUpdates: params.MetadataUpdates[start:end],
			Now:             params.Now,
			ScheduledAt:     params.ScheduledAt[start:end],
			Schema:          params.Schema,
			State:           params.State[start:end],
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
	}
	slices.SortFunc(rows, func(a, b *rivertype.JobRow) int { return cmp.Compare(a.ID, b.ID) })
	return rows, nil
}

// executorTx is an executor in a transaction.
type executorTx struct {
	executor

	inner riverdriver.ExecutorTx
	tx    *rewriteTx
}

func (d *Driver) newExecutorTx(inner riverdriver.ExecutorTx) *executorTx {
	tx := d.Driver.UnwrapTx(inner).(*rewriteTx) //nolint:forcetypeassert // this package made it
	return &executorTx{
		executor: executor{Executor: inner, plain: d.plain.UnwrapExecutor(tx), driver: d},
		inner:    inner,
		tx:       tx,
	}
}

func (t *executorTx) Commit(ctx context.Context) error   { return t.inner.Commit(ctx) }
func (t *executorTx) Rollback(ctx context.Context) error { return t.inner.Rollback(ctx) }
