package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/events"
)

// deliverDueWorker reads from the rows what is to be done: events that nobody has fanned out, because
// their job was lost, and deliveries that are due, because they are to be tried again or lost theirs.
type deliverDueWorker struct {
	river.WorkerDefaults[DeliverDueArgs]
	outbox *events.Service
}

// Work looks at a bounded number of each; what is left is the next run's.
func (w *deliverDueWorker) Work(ctx context.Context, _ *river.Job[DeliverDueArgs]) error {
	_, fanOut := w.outbox.FanOutDue(ctx, fanOutLimit)
	due, err := w.outbox.LanesDue(ctx, lanesLimit)
	if err != nil || len(due) == 0 {
		return errors.Join(fanOut, err)
	}
	params := make([]river.InsertManyParams, len(due))
	for i, lane := range due {
		params[i] = deliverParams(lane, true)
	}
	if _, err := river.ClientFromContext[pgx.Tx](ctx).InsertMany(ctx, params); err != nil {
		return errors.Join(fanOut, fmt.Errorf("enqueue deliveries that are due: %w", err))
	}
	return fanOut
}
