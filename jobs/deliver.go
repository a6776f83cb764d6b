package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/events"
)

// deliverWorker sends what is due to one endpoint. One that does not answer keeps a bounded number of
// workers for a bounded time; see events.Service.Deliver.
type deliverWorker struct {
	river.WorkerDefaults[DeliverArgs]
	outbox *events.Service
}

// Work sends until nothing is due or a try fails. When its time is up first, it goes to the end of
// the queue.
func (w *deliverWorker) Work(ctx context.Context, job *river.Job[DeliverArgs]) error {
	lane, err := laneOf(job.Args)
	if err != nil {
		return river.JobCancel(err)
	}
	more, err := w.outbox.Deliver(ctx, lane)
	if err == nil && more {
		return river.JobSnooze(0)
	}
	return err
}
