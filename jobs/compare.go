package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/bookings"
)

// compareWorker finds what no look at our own payments can: charges at the provider that we know
// nothing of, or know otherwise.
type compareWorker struct {
	river.WorkerDefaults[CompareChargesArgs]
	sales *bookings.Service
}

// Work compares a bounded number of pages; what is left is the next run's.
func (w *compareWorker) Work(ctx context.Context, _ *river.Job[CompareChargesArgs]) error {
	_, err := w.sales.ReconcileCharges(ctx)
	return err
}
