package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/bookings"
)

// chargeWorker drives a payment attempt whose checkout's own process may have died. What stays open
// after it is the reconciler's.
type chargeWorker struct {
	river.WorkerDefaults[ChargeArgs]
	sales *bookings.Service
}

// Work submits the attempt, or asks the provider what became of it.
func (w *chargeWorker) Work(ctx context.Context, job *river.Job[ChargeArgs]) error {
	attempt, err := attemptOf(job.Args)
	if err != nil {
		return river.JobCancel(err)
	}
	return w.sales.DriveCharge(ctx, attempt)
}
