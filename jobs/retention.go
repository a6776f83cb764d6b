package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/bookings"
)

// Limits of one run. What is left when one of them is reached is the next run's.
const (
	retentionTimeout = 10 * time.Minute
	// maxDeletedRows is for each table.
	maxDeletedRows = 1_000_000
)

// Retainer deletes what is old enough.
type Retainer interface {
	DeleteOld(ctx context.Context, table bookings.Retained, limit int64) (int64, error)
}

var _ Retainer = (*bookings.Service)(nil)

// retentionWorker keeps tables from growing for ever. Nothing depends on it: a row that is too old
// is as good as a young one.
type retentionWorker struct {
	river.WorkerDefaults[RetentionArgs]
	sales   Retainer
	tables  []bookings.Retained
	metrics *metrics
}

// Timeout is the retention's own: the first run has years to catch up with.
func (w *retentionWorker) Timeout(*river.Job[RetentionArgs]) time.Duration { return retentionTimeout }

// Work goes through the tables, batch by batch. A table that fails does not keep the others.
func (w *retentionWorker) Work(ctx context.Context, _ *river.Job[RetentionArgs]) error {
	var failures []error
	for _, table := range w.tables {
		deleted, err := w.sales.DeleteOld(ctx, table, maxDeletedRows)
		w.metrics.deletedRows.WithLabelValues(table.Table).Add(float64(deleted))
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if deleted < maxDeletedRows {
			w.metrics.retentionComplete.WithLabelValues(table.Table).SetToCurrentTime()
		}
	}
	return errors.Join(failures...)
}
