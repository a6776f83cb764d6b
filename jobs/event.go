package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/events"
)

// eventWorker makes the deliveries of an event, each with a job of its own.
type eventWorker struct {
	river.WorkerDefaults[EventArgs]
	outbox *events.Service
}

// Work fans one event out. Doing it again changes nothing.
func (w *eventWorker) Work(ctx context.Context, job *river.Job[EventArgs]) error {
	tenant, event, err := eventOf(job.Args)
	if err != nil {
		return river.JobCancel(err)
	}
	return w.outbox.FanOut(ctx, tenant, event)
}
