package jobs

import (
	"context"

	"github.com/riverqueue/river"
)

// releaseWorker releases allotments whose time has come, so that lists and events say so. Sales do not
// wait for it.
type releaseWorker struct {
	river.WorkerDefaults[ReleaseAllotmentsArgs]
	stock Inventory
}

// Work releases a bounded number of allotments; what is left is the next run's.
func (w *releaseWorker) Work(ctx context.Context, _ *river.Job[ReleaseAllotmentsArgs]) error {
	_, err := w.stock.ReleaseDue(ctx, releaseLimit)
	return err
}
