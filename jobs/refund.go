package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/bookings"
)

// refundWorker drives a refund as soon as it is requested.
type refundWorker struct {
	river.WorkerDefaults[RefundArgs]
	sales *bookings.Service
}

// Work asks the provider for the refund under its own key.
func (w *refundWorker) Work(ctx context.Context, job *river.Job[RefundArgs]) error {
	refund, err := refundOf(job.Args)
	if err != nil {
		return river.JobCancel(err)
	}
	return w.sales.DriveRefund(ctx, refund)
}
