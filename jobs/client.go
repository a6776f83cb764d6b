package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/jobs/rivercrdb"
)

// Config tunes the workers of one process.
type Config struct {
	// PaymentWorkers, SweepWorkers and EventWorkers are how many jobs of each queue run at once.
	// Defaults 16, 3 and 8.
	PaymentWorkers int
	SweepWorkers   int
	EventWorkers   int
	// SweepInterval is how often due holds are swept. Default 1 second.
	SweepInterval time.Duration
	// ReconcileInterval is how often open payments are looked after. Default 2 seconds; each
	// attempt has its own growing wait.
	ReconcileInterval time.Duration
	// CompareInterval is how often it is looked whether an account's list of charges is due to be
	// compared; each account has its own rhythm. Default 1 minute.
	CompareInterval time.Duration
	// Logger receives River's messages and failures. Default: nowhere.
	Logger *slog.Logger
}

// Limits of the periodic work: what one run looks at.
const (
	sweepLimit     = 2000
	reconcileLimit = 10_000
	jobTimeout     = 30 * time.Second
	rescueMargin   = 10 * time.Second
	maxWorkers     = 1000
)

func (c Config) withDefaults() Config {
	defaultTo := func(value *int, fallback int) {
		if *value == 0 {
			*value = fallback
		}
	}
	defaultTo(&c.PaymentWorkers, 16)
	defaultTo(&c.SweepWorkers, 3)
	defaultTo(&c.EventWorkers, 8)
	if c.SweepInterval == 0 {
		c.SweepInterval = time.Second
	}
	if c.ReconcileInterval == 0 {
		c.ReconcileInterval = 2 * time.Second
	}
	if c.CompareInterval == 0 {
		c.CompareInterval = time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate names the setting that is out of bounds.
func (c Config) Validate() error {
	for name, n := range map[string]int{"PaymentWorkers": c.PaymentWorkers, "SweepWorkers": c.SweepWorkers, "EventWorkers": c.EventWorkers} {
		if n < 0 || n > maxWorkers {
			return fmt.Errorf("jobs: %s: expected 1 to %d", name, maxWorkers)
		}
	}
	if c.SweepInterval < 0 || c.ReconcileInterval < 0 || c.CompareInterval < 0 {
		return errors.New("jobs: the intervals must not be negative")
	}
	return nil
}

// Migrate makes or updates River's tables: with River's own migrations on PostgreSQL, with those of
// package rivercrdb on CockroachDB.
func Migrate(ctx context.Context, d *db.DB) error {
	if d.Engine() == db.EngineCockroachDB {
		return rivercrdb.Migrate(ctx, d.Pool(), rivercrdb.Config{})
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(d.Pool()), nil)
	if err != nil {
		return fmt.Errorf("migrate River's tables: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate River's tables: %w", err)
	}
	return nil
}

func driver(ctx context.Context, d *db.DB) (riverdriver.Driver[pgx.Tx], error) {
	if d.Engine() == db.EngineCockroachDB {
		return rivercrdb.New(ctx, d.Pool(), rivercrdb.Config{})
	}
	return riverpgxv5.New(d.Pool()), nil
}

// Enqueuer puts jobs into transactions. A process that only serves requests has one without
// workers.
type Enqueuer struct {
	client *river.Client[pgx.Tx]
}

// NewEnqueuer needs River's tables; see Migrate.
func NewEnqueuer(ctx context.Context, d *db.DB) (*Enqueuer, error) {
	riverDriver, err := driver(ctx, d)
	if err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverDriver, &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("open River for enqueueing: %w", err)
	}
	return &Enqueuer{client: client}, nil
}

// EnqueueTx inserts jobs that exist exactly if the transaction commits.
func (e *Enqueuer) EnqueueTx(ctx context.Context, tx pgx.Tx, jobs ...bookings.Job) error {
	params := make([]river.InsertManyParams, len(jobs))
	for i, job := range jobs {
		var err error
		if params[i], err = insertParams(job); err != nil {
			return err
		}
	}
	if _, err := e.client.InsertManyTx(ctx, tx, params); err != nil {
		return fmt.Errorf("enqueue jobs: %w", err)
	}
	return nil
}

// Inventory is what the sweeper needs.
type Inventory interface {
	ExpireDue(ctx context.Context, limit int) (int, error)
}

var _ Inventory = (*inventory.Service)(nil)

// Workers runs jobs until it is stopped.
type Workers struct {
	client *river.Client[pgx.Tx]
}

// NewWorkers registers every worker and the periodic jobs.
func NewWorkers(ctx context.Context, d *db.DB, stock Inventory, sales *bookings.Service, config Config) (*Workers, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	riverDriver, err := driver(ctx, d)
	if err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &chargeWorker{sales: sales})
	river.AddWorker(workers, &refundWorker{sales: sales})
	river.AddWorker(workers, &eventWorker{logger: config.Logger})
	river.AddWorker(workers, &expireWorker{stock: stock})
	river.AddWorker(workers, &reconcileWorker{sales: sales})
	river.AddWorker(workers, &compareWorker{sales: sales})
	client, err := river.NewClient(riverDriver, &river.Config{
		Logger:  slog.New(quiet{config.Logger.Handler()}),
		Workers: workers,
		Queues: map[string]river.QueueConfig{
			queuePayments: {MaxWorkers: config.PaymentWorkers},
			queueSweeps:   {MaxWorkers: config.SweepWorkers},
			queueEvents:   {MaxWorkers: config.EventWorkers},
		},
		PeriodicJobs: periodicJobs(config),
		JobTimeout:   jobTimeout,
		// A periodic job is unique while it runs, so the one of a process that was killed is in the way
		// of all further sweeps until it is found dead.
		RescueStuckJobsAfter: jobTimeout + rescueMargin,
		// Finished jobs are garbage in the way of every fetch.
		CompletedJobRetentionPeriod: time.Hour,
		ReindexerIndexNames:         []string{},
	})
	if err != nil {
		return nil, fmt.Errorf("open River for working: %w", err)
	}
	return &Workers{client: client}, nil
}

// Start begins to work; ctx ends it hard.
func (w *Workers) Start(ctx context.Context) error {
	if err := w.client.Start(ctx); err != nil {
		return fmt.Errorf("start the workers: %w", err)
	}
	return nil
}

// Stop finishes the jobs under way and hands the rest back, until ctx ends.
func (w *Workers) Stop(ctx context.Context) error {
	if err := w.client.Stop(ctx); err != nil {
		return fmt.Errorf("stop the workers: %w", err)
	}
	return nil
}
