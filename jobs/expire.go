package jobs

import (
	"context"

	"github.com/riverqueue/river"
)

// expireWorker sweeps due holds, so that maps and counts look right. Claims do not wait for it.
type expireWorker struct {
	river.WorkerDefaults[ExpireArgs]
	stock Inventory
}

// Work ends a bounded number of due holds; what is left is the next run's.
func (w *expireWorker) Work(ctx context.Context, _ *river.Job[ExpireArgs]) error {
	_, err := w.stock.ExpireDue(ctx, sweepLimit)
	return err
}
