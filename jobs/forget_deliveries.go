package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/events"
)

// forgetDeliveriesWorker removes deliveries that ended long ago. The events stay, and can be replayed.
type forgetDeliveriesWorker struct {
	river.WorkerDefaults[ForgetDeliveriesArgs]
	outbox *events.Service
}

// Work removes a bounded number in each place; what is left is the next run's.
func (w *forgetDeliveriesWorker) Work(ctx context.Context, _ *river.Job[ForgetDeliveriesArgs]) error {
	_, err := w.outbox.ForgetEnded(ctx, forgetLimit)
	return err
}
