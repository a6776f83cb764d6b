package jobs

import (
	"context"
	"log/slog"

	"github.com/riverqueue/river"
)

// eventWorker is the end of the outbox in this process: it logs that the event is there to be read.
// Endpoints that tenants register will be called from here.
type eventWorker struct {
	river.WorkerDefaults[EventArgs]
	logger *slog.Logger
}

// Work notes the event.
func (w *eventWorker) Work(ctx context.Context, job *river.Job[EventArgs]) error {
	w.logger.DebugContext(ctx, "event", "tenant", job.Args.Tenant, "region", job.Args.Region, "event", job.Args.Event.String())
	return nil
}
