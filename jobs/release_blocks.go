package jobs

import (
	"context"
	"errors"

	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/bookings"
)

// ReleaseBlocksArgs writes down that seat blocks whose moment has come are released.
type ReleaseBlocksArgs struct{}

// Kind names the job in River's table.
func (ReleaseBlocksArgs) Kind() string { return "release_blocks" }

// releaseBlocksWorker tells others of blocks whose moment has come, and lets the seats of released ones
// forget them. Claims and readers do not wait for it.
type releaseBlocksWorker struct {
	river.WorkerDefaults[ReleaseBlocksArgs]
	sales *bookings.Service
	stock Inventory
}

// Work looks after a bounded number of blocks; what is left is the next run's.
func (w *releaseBlocksWorker) Work(ctx context.Context, _ *river.Job[ReleaseBlocksArgs]) error {
	_, released := w.sales.ReleaseDueBlocks(ctx, blocksLimit)
	_, cleared := w.stock.ClearReleasedBlocks(ctx, blocksLimit)
	return errors.Join(released, cleared)
}
