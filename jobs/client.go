package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/jobs/rivercrdb"
)

// Config tunes the workers of one process.
type Config struct {
	// PaymentWorkers, SweepWorkers, EventWorkers and DeliveryWorkers are how many jobs of each queue run
	// at once. Defaults 16, 5, 8 and 32.
	PaymentWorkers  int
	SweepWorkers    int
	EventWorkers    int
	DeliveryWorkers int
	// Queues are those that this process works, some of Queues(). Default: all.
	Queues []string
	// SweepInterval is how often due holds are swept, and due allotments released. Default 1 second.
	SweepInterval time.Duration
	// ReconcileInterval is how often open payments are looked after. Default 2 seconds; each
	// attempt has its own growing wait.
	ReconcileInterval time.Duration
	// CompareInterval is how often it is looked whether an account's list of charges is due to be
	// compared; each account has its own rhythm. Default 1 minute.
	CompareInterval time.Duration
	// BlockInterval is how often blocks of seats whose moment has come are looked for. Default 5 seconds;
	// they are for sale at their moment all the same.
	BlockInterval time.Duration
	// DeliverInterval is how often deliveries that are due, and events without deliveries, are looked
	// for. Default 5 seconds; each delivery has its own growing wait.
	DeliverInterval time.Duration
	// NightsInterval is how often it is looked for edits of nights to write. Default 2 seconds.
	NightsInterval time.Duration
	// WaitingListInterval is how often it is looked whether those who wait in lists can be served. Default 2
	// seconds.
	WaitingListInterval time.Duration
	// AuditInterval is how often the invariants are checked. 0, the default, is never.
	AuditInterval time.Duration
	// RetentionInterval is how often rows that are old enough are deleted, see Retention. 0, the
	// default, is never.
	RetentionInterval time.Duration
	// Retention is for how long rows are kept.
	Retention bookings.Retention
	// DrainTimeout is how long Stop lets jobs under way finish before it interrupts them and hands
	// them back to the queue. Default 15 seconds.
	DrainTimeout time.Duration
	// ArchiveAfter is how long after its end a show's stock is moved out of the tables that are sold
	// from; 0 is never.
	ArchiveAfter time.Duration
	// ArchiveInterval is how often it is looked for shows to archive. Default 1 minute.
	ArchiveInterval time.Duration
	// Metrics receives what the jobs count and find. Default: a registry that nobody reads.
	Metrics prometheus.Registerer
	// Logger receives River's messages and failures. Default: nowhere.
	Logger *slog.Logger
}

// Limits of the periodic work: what one run looks at.
const (
	sweepLimit     = 2000
	releaseLimit   = 500
	reconcileLimit = 10_000
	fanOutLimit    = 200
	lanesLimit     = 500
	archiveLimit   = 20_000
	blocksLimit    = 200
	listsLimit     = 200
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
	defaultTo(&c.SweepWorkers, 5)
	defaultTo(&c.EventWorkers, 8)
	defaultTo(&c.DeliveryWorkers, 32)
	if c.SweepInterval == 0 {
		c.SweepInterval = time.Second
	}
	if c.ReconcileInterval == 0 {
		c.ReconcileInterval = 2 * time.Second
	}
	if c.CompareInterval == 0 {
		c.CompareInterval = time.Minute
	}
	if c.DeliverInterval == 0 {
		c.DeliverInterval = 5 * time.Second
	}
	if c.NightsInterval == 0 {
		c.NightsInterval = 2 * time.Second
	}
	if c.WaitingListInterval == 0 {
		c.WaitingListInterval = 2 * time.Second
	}
	if c.BlockInterval == 0 {
		c.BlockInterval = 5 * time.Second
	}
	if len(c.Queues) == 0 {
		c.Queues = Queues()
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 15 * time.Second
	}
	if c.ArchiveInterval == 0 {
		c.ArchiveInterval = time.Minute
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate names the setting that is out of bounds.
func (c Config) Validate() error {
	for name, n := range map[string]int{
		"PaymentWorkers": c.PaymentWorkers, "SweepWorkers": c.SweepWorkers, "EventWorkers": c.EventWorkers, "DeliveryWorkers": c.DeliveryWorkers,
	} {
		if n < 0 || n > maxWorkers {
			return fmt.Errorf("jobs: %s: expected 1 to %d", name, maxWorkers)
		}
	}
	if c.SweepInterval < 0 || c.ReconcileInterval < 0 || c.CompareInterval < 0 || c.DeliverInterval < 0 || c.NightsInterval < 0 || c.BlockInterval < 0 || c.WaitingListInterval < 0 || c.ArchiveInterval < 0 || c.AuditInterval < 0 || c.RetentionInterval < 0 || c.DrainTimeout < 0 {
		return errors.New("jobs: the intervals must not be negative")
	}
	for i, name := range c.Queues {
		if !slices.Contains(Queues(), name) {
			return fmt.Errorf("jobs: there is no queue %q; expected some of %s", name, strings.Join(Queues(), ", "))
		}
		if slices.Contains(c.Queues[:i], name) {
			return fmt.Errorf("jobs: the queue %s is named twice", name)
		}
	}
	if err := c.Retention.Validate(); err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	if c.ArchiveAfter < 0 {
		return errors.New("jobs: ArchiveAfter: expected a duration such as 168h, or 0 for never")
	}
	return nil
}

// queueConfigs are the queues that the process works, each with its share of jobs at once.
func (c Config) queueConfigs() map[string]river.QueueConfig {
	all := map[string]river.QueueConfig{
		queuePayments:    {MaxWorkers: c.PaymentWorkers},
		queueSweeps:      {MaxWorkers: c.SweepWorkers},
		queueEvents:      {MaxWorkers: c.EventWorkers},
		queueDeliveries:  {MaxWorkers: c.DeliveryWorkers},
		queueAudits:      {MaxWorkers: 1},
		queueMaintenance: {MaxWorkers: 1},
	}
	maps.DeleteFunc(all, func(name string, _ river.QueueConfig) bool { return !slices.Contains(c.Queues, name) })
	return all
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

var (
	_ bookings.Enqueuer = (*Enqueuer)(nil)
	_ events.Enqueuer   = (*Enqueuer)(nil)
)

// EnqueueDeliveriesTx inserts a job for each lane, which exist exactly if the transaction commits.
func (e *Enqueuer) EnqueueDeliveriesTx(ctx context.Context, tx pgx.Tx, lanes ...events.Lane) error {
	params := make([]river.InsertManyParams, len(lanes))
	for i, lane := range lanes {
		params[i] = deliverParams(lane, false)
	}
	if _, err := e.client.InsertManyTx(ctx, tx, params); err != nil {
		return fmt.Errorf("enqueue deliveries: %w", err)
	}
	return nil
}

// Inventory is what the sweepers, the archiver and the writer of nights need.
type Inventory interface {
	ExpireDue(ctx context.Context, limit int) (int, error)
	ReleaseDue(ctx context.Context, limit int) (int, error)
	ArchiveDue(ctx context.Context, input inventory.Archiving) (inventory.Archived, error)
	WriteNightsJobs(ctx context.Context, limit int) (int, error)
	ClearReleasedBlocks(ctx context.Context, limit int) (seats int64, err error)
}

var _ Inventory = (*inventory.Service)(nil)

// Workers runs jobs until it is stopped.
type Workers struct {
	client *river.Client[pgx.Tx]
}

// NewWorkers registers every worker and the periodic jobs.
func NewWorkers(ctx context.Context, d *db.DB, stock Inventory, sales *bookings.Service, outbox *events.Service, lists WaitingLists, config Config) (*Workers, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	riverDriver, err := driver(ctx, d)
	if err != nil {
		return nil, err
	}
	measures, err := newMetrics(config.Metrics)
	if err != nil {
		return nil, err
	}
	if config.RetentionInterval > 0 {
		measures.expectRetention(config.Retention.Tables())
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &chargeWorker{sales: sales})
	river.AddWorker(workers, &refundWorker{sales: sales})
	river.AddWorker(workers, &eventWorker{outbox: outbox})
	river.AddWorker(workers, &deliverWorker{outbox: outbox})
	river.AddWorker(workers, &deliverDueWorker{outbox: outbox})
	river.AddWorker(workers, &expireWorker{stock: stock})
	river.AddWorker(workers, &releaseWorker{stock: stock})
	river.AddWorker(workers, &nightsWorker{stock: stock})
	river.AddWorker(workers, &releaseBlocksWorker{sales: sales, stock: stock})
	river.AddWorker(workers, &waitingListsWorker{lists: lists})
	river.AddWorker(workers, &reconcileWorker{sales: sales})
	river.AddWorker(workers, &compareWorker{sales: sales})
	river.AddWorker(workers, &auditWorker{sales: sales, metrics: measures, logger: config.Logger})
	river.AddWorker(workers, &retentionWorker{sales: sales, tables: config.Retention.Tables(), metrics: measures})
	archived, err := newArchiveMetrics(config.Metrics)
	if err != nil {
		return nil, err
	}
	river.AddWorker(workers, &archiveWorker{db: d, stock: stock, after: config.ArchiveAfter, metrics: archived})
	client, err := river.NewClient(riverDriver, &river.Config{
		Logger:       slog.New(quiet{config.Logger.Handler()}),
		Workers:      workers,
		Queues:       config.queueConfigs(),
		PeriodicJobs: periodicJobs(config),
		JobTimeout:   jobTimeout,
		// What has not finished by then is interrupted: its error is its way back into the queue.
		SoftStopTimeout: config.DrainTimeout,
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

// Stop takes no more jobs, lets those under way finish, and after Config.DrainTimeout interrupts the
// rest, which go back to the queue for others. It gives up when ctx ends; what runs then is found
// dead and handed out again by another process.
func (w *Workers) Stop(ctx context.Context) error {
	if err := w.client.Stop(ctx); err != nil {
		return fmt.Errorf("stop the workers: %w", err)
	}
	return nil
}
