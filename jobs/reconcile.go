package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/bookings"
)

// reconcileWorker looks after payments and refunds whose outcome is open.
type reconcileWorker struct {
	river.WorkerDefaults[ReconcileArgs]
	sales *bookings.Service
}

// Work drives a bounded number of them; what is left is the next run's.
func (w *reconcileWorker) Work(ctx context.Context, _ *river.Job[ReconcileArgs]) error {
	_, err := w.sales.Reconcile(ctx, reconcileLimit)
	return err
}
