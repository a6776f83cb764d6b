package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

// NightsArgs writes the chunks of edits of nights that are too large for one transaction.
type NightsArgs struct{}

// Kind names the job in River's table.
func (NightsArgs) Kind() string { return "write_nights" }

// nightsWorker goes on where the last run ended, whichever process that was: the rows of the edits say
// what is still to be written.
type nightsWorker struct {
	river.WorkerDefaults[NightsArgs]
	stock Inventory
}

// Work writes chunks for part of its time; what is left is the next run's. Being stopped between two
// chunks is no failure.
func (w *nightsWorker) Work(ctx context.Context, _ *river.Job[NightsArgs]) error {
	ctx, cancel := context.WithTimeout(ctx, nightsTime)
	defer cancel()
	_, err := w.stock.WriteNightsJobs(ctx, chunksLimit)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the next run goes on
	}
	return err
}

// Limits of one run.
const (
	chunksLimit = 2000
	nightsTime  = 20 * time.Second
)
