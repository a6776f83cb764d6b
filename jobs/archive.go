package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory"
)

// ArchiveArgs moves the stock of shows that are over out of the tables that are sold from.
type ArchiveArgs struct{}

// Kind names the job in River's table.
func (ArchiveArgs) Kind() string { return "archive_shows" }

// archiveWorker keeps the tables that claims walk as small as what is on sale.
type archiveWorker struct {
	river.WorkerDefaults[ArchiveArgs]
	db    *db.DB
	stock Inventory
	// after is how long after its end a show is archived.
	after   time.Duration
	metrics *archiveMetrics
}

// Work moves a bounded number of rows; what is left is the next run's. The clock is the database's.
func (w *archiveWorker) Work(ctx context.Context, _ *river.Job[ArchiveArgs]) error {
	now, err := inventory.Now(ctx, w.db.Pool())
	if err != nil {
		return db.Classify(err)
	}
	done, err := w.stock.ArchiveDue(ctx, inventory.Archiving{CompletedBefore: now.Add(-w.after), MaxRows: archiveLimit})
	w.metrics.observe(done)
	return err
}

// archiveMetrics counts what was moved.
type archiveMetrics struct {
	shows prometheus.Counter
	rows  *prometheus.CounterVec
}

func newArchiveMetrics(registerer prometheus.Registerer) (*archiveMetrics, error) {
	m := &archiveMetrics{
		shows: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_archived_shows_total",
			Help: "Shows that are over and whose stock has left the tables that are sold from.",
		}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_archived_rows_total",
			Help: "Rows of shows that are over, moved to the past tables, by the table they left. None for weeks, while shows end, means that the archiver does not run.",
		}, []string{"table"}),
	}
	for _, collector := range []prometheus.Collector{m.shows, m.rows} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register the archiver's metrics: %w", err)
		}
	}
	return m, nil
}

func (m *archiveMetrics) observe(done inventory.Archived) {
	m.shows.Add(float64(done.Shows))
	m.rows.WithLabelValues("show_seats").Add(float64(done.Seats))
	m.rows.WithLabelValues("pool_counters").Add(float64(done.PoolCounters))
}
