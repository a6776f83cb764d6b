package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/internal/db"
)

// Limits of looking at the queues.
const (
	// queueFiguresAge is how long figures are good: several scrapers must not cost several looks.
	queueFiguresAge = 10 * time.Second
	// queueFiguresTimeout is below what Prometheus waits for a scrape.
	queueFiguresTimeout = 3 * time.Second
	// maxQueueDepth is where counting ends: a queue that long is one that nobody works.
	maxQueueDepth = 10_000
)

// The two questions of a queue. Both go along River's index of (state, queue, priority, scheduled_at)
// and stop after maxQueueDepth entries. A job that waits does so since it was due. One that is to be
// tried again is in trouble since it was made.
const (
	queueAvailable = `SELECT count(*), COALESCE(extract(epoch FROM clock_timestamp() - min(w.since)), 0)::float8
		FROM (
			SELECT j.scheduled_at AS since
			FROM river_job AS j
			WHERE j.state = 'available' AND j.queue = $1::text
			ORDER BY j.priority, j.scheduled_at
			LIMIT $2::bigint) AS w`
	queueRetryable = `SELECT count(*), COALESCE(extract(epoch FROM clock_timestamp() - min(w.since)), 0)::float8
		FROM (
			SELECT j.created_at AS since
			FROM river_job AS j
			WHERE j.state = 'retryable' AND j.queue = $1::text
			ORDER BY j.priority, j.scheduled_at
			LIMIT $2::bigint) AS w`
)

// QueueCollector tells how long queues are and how long their oldest job has been waiting. Every
// process that has one says the same. While the database does not answer it says nothing.
type QueueCollector struct {
	db     *db.DB
	logger *slog.Logger
	depth  *prometheus.Desc
	oldest *prometheus.Desc

	lock    sync.Mutex
	read    time.Time
	figures []queueFigures
}

// queueFigures are those of one queue in one state.
type queueFigures struct {
	queue, state  string
	depth         int64
	oldestSeconds float64
}

// NewQueueCollector needs River's tables only when it is asked.
func NewQueueCollector(d *db.DB, logger *slog.Logger) *QueueCollector {
	return &QueueCollector{
		db: d, logger: logger,
		depth: prometheus.NewDesc("holdfast_queue_depth",
			"Jobs of a queue that are due (available) or failed and will be tried again (retryable), counted to at most 10000. A number that grows means too few workers.",
			[]string{"queue", "state"}, nil),
		oldest: prometheus.NewDesc("holdfast_queue_oldest_job_seconds",
			"How long the oldest job of a queue has been due (available), or ago it was made (retryable); 0 without one. Minutes of available mean that nobody works the queue.",
			[]string{"queue", "state"}, nil),
	}
}

// Describe names the metrics.
func (c *QueueCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.depth
	descs <- c.oldest
}

// Collect answers from figures that are at most queueFiguresAge old.
func (c *QueueCollector) Collect(metrics chan<- prometheus.Metric) {
	for _, f := range c.current() {
		metrics <- prometheus.MustNewConstMetric(c.depth, prometheus.GaugeValue, float64(f.depth), f.queue, f.state)
		metrics <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, f.oldestSeconds, f.queue, f.state)
	}
}

func (c *QueueCollector) current() []queueFigures {
	c.lock.Lock()
	defer c.lock.Unlock()
	if !c.read.IsZero() && time.Since(c.read) < queueFiguresAge {
		return c.figures
	}
	// The interface of collectors has no context.
	ctx, cancel := context.WithTimeout(context.Background(), queueFiguresTimeout)
	defer cancel()
	figures, err := c.ask(ctx)
	if err != nil {
		c.logger.WarnContext(ctx, "the queues cannot be looked at", "error", err)
	}
	// Also after a failure: a database that does not answer is not asked again at once.
	c.read, c.figures = time.Now(), figures
	return figures
}

func (c *QueueCollector) ask(ctx context.Context) ([]queueFigures, error) {
	var all []queueFigures
	for _, queue := range Queues() {
		for _, question := range []struct{ state, statement string }{{"available", queueAvailable}, {"retryable", queueRetryable}} {
			f := queueFigures{queue: queue, state: question.state}
			if err := c.db.Pool().QueryRow(ctx, question.statement, queue, maxQueueDepth).Scan(&f.depth, &f.oldestSeconds); err != nil {
				return nil, db.Classify(err)
			}
			// A job can be due a moment ahead of the clock.
			f.oldestSeconds = max(f.oldestSeconds, 0)
			all = append(all, f)
		}
	}
	return all, nil
}
