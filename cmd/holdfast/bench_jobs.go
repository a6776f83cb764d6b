package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/jobs/rivercrdb"
)

// How many jobs a round has, and how they are worked.
const (
	benchJobRounds      = 7
	benchJobBatch       = 1000
	benchJobsInTx       = 500
	benchJobWorkers     = 500
	benchJobCooldown    = 10 * time.Millisecond
	benchJobsRoundLimit = time.Minute
	benchMaxJobs        = 100_000
)

// What is done with jobs.
const (
	benchInsertMany = "InsertMany"
	benchInsertTx   = "InsertTx"
	benchWork       = "work"
)

// benchJobs compares River's drivers on one engine: the medians of some rounds, each driver on tables
// of its own, taking turns to be first.
type benchJobs struct {
	Rounds int `json:"rounds"`
	// Jobs is how many a round inserts with InsertMany.
	Jobs  int            `json:"jobs"`
	Rates []benchJobRate `json:"rates"`
}

// benchJobRate is jobs per second of one activity.
type benchJobRate struct {
	Activity string `json:"activity"`
	// RiverCRDB is package rivercrdb's driver; Stock is River's own, 0 on CockroachDB, where it does
	// not run.
	RiverCRDB float64 `json:"rivercrdbPerSecond"`
	Stock     float64 `json:"stockPerSecond,omitempty"`
	// Ratio is RiverCRDB over Stock.
	Ratio float64 `json:"ratio,omitempty"`
}

// benchQueue is one driver over its own tables.
type benchQueue struct {
	db     *db.DB
	schema string
	driver riverdriver.Driver[pgx.Tx]
	// rates are jobs per second by activity, one for each round.
	rates map[string][]float64
}

// benchJob does nothing.
type benchJob struct {
	Number int `json:"number"`
}

// Kind names the job in River's table.
func (benchJob) Kind() string { return "bench" }

// benchJobWorker counts.
type benchJobWorker struct {
	river.WorkerDefaults[benchJob]
	left *atomic.Int64
	done chan<- struct{}
}

// Work counts the job, and tells of the last one.
func (w *benchJobWorker) Work(context.Context, *river.Job[benchJob]) error {
	if w.left.Add(-1) == 0 {
		close(w.done)
	}
	return nil
}

// measureJobs compares the drivers on the benchmark's database.
func measureJobs(ctx context.Context, d *db.DB, config benchConfig, say func(string, ...any)) (*benchJobs, error) {
	queues, err := openBenchQueues(ctx, d)
	if err != nil {
		return nil, err
	}
	for range benchJobRounds {
		for _, queue := range queues {
			if err := queue.round(ctx, config.Jobs); err != nil {
				return nil, err
			}
		}
		slices.Reverse(queues)
	}
	report := &benchJobs{Rounds: benchJobRounds, Jobs: config.Jobs}
	for _, activity := range []string{benchInsertMany, benchInsertTx, benchWork} {
		rate := benchJobRate{Activity: activity}
		for _, queue := range queues {
			median := rounded(medianOf(queue.rates[activity]), 1)
			if queue.schema == benchStockSchema {
				rate.Stock = median
			} else {
				rate.RiverCRDB = median
			}
		}
		text := ""
		if rate.Stock > 0 {
			rate.Ratio = rounded(rate.RiverCRDB/rate.Stock, 100)
			text = fmt.Sprintf("  stock %8.0f jobs/s  ratio %.2f", rate.Stock, rate.Ratio)
		}
		say("  %-10s  rivercrdb %8.0f jobs/s%s", activity, rate.RiverCRDB, text)
		report.Rates = append(report.Rates, rate)
	}
	return report, nil
}

const (
	benchStockSchema = "bench_river_stock"
	benchCRDBSchema  = "bench_river_crdb"
)

// openBenchQueues makes the tables of each driver that the engine takes.
func openBenchQueues(ctx context.Context, d *db.DB) ([]*benchQueue, error) {
	if err := rivercrdb.Migrate(ctx, d.Pool(), rivercrdb.Config{Schema: benchCRDBSchema}); err != nil {
		return nil, err
	}
	driver, err := rivercrdb.New(ctx, d.Pool(), rivercrdb.Config{Schema: benchCRDBSchema})
	if err != nil {
		return nil, err
	}
	queues := []*benchQueue{{db: d, schema: benchCRDBSchema, driver: driver, rates: map[string][]float64{}}}
	if d.Engine() == db.EngineCockroachDB {
		return queues, nil
	}
	if _, err := d.Pool().Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+benchStockSchema); err != nil {
		return nil, fmt.Errorf("make a schema for River: %w", err)
	}
	stock := riverpgxv5.New(d.Pool())
	migrator, err := rivermigrate.New(stock, &rivermigrate.Config{Schema: benchStockSchema, Logger: discard()})
	if err != nil {
		return nil, fmt.Errorf("migrate River's tables: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, fmt.Errorf("migrate River's tables: %w", err)
	}
	return append(queues, &benchQueue{db: d, schema: benchStockSchema, driver: stock, rates: map[string][]float64{}}), nil
}

// round inserts jobs in both ways and works them all.
func (q *benchQueue) round(ctx context.Context, jobs int) error {
	ctx, cancel := context.WithTimeout(ctx, benchJobsRoundLimit)
	defer cancel()
	inserter, err := river.NewClient(q.driver, &river.Config{Schema: q.schema, Logger: discard()})
	if err != nil {
		return fmt.Errorf("open River: %w", err)
	}
	if err := q.measure(benchInsertMany, jobs, func() error { return insertBenchJobs(ctx, inserter, jobs) }); err != nil {
		return err
	}
	if err := q.measure(benchInsertTx, benchJobsInTx, func() error {
		for i := range benchJobsInTx {
			if _, err := db.InTx(ctx, q.db, "bench.InsertTx", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
				_, err := inserter.InsertTx(ctx, tx, benchJob{Number: i}, nil)
				return struct{}{}, err
			}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	jobs += benchJobsInTx
	return q.measure(benchWork, jobs, func() error { return q.work(ctx, jobs) })
}

func (q *benchQueue) measure(activity string, jobs int, act func() error) error {
	begin := time.Now()
	if err := act(); err != nil {
		return fmt.Errorf("measure %s in %s: %w", activity, q.schema, err)
	}
	q.rates[activity] = append(q.rates[activity], float64(jobs)/time.Since(begin).Seconds())
	return nil
}

func insertBenchJobs(ctx context.Context, client *river.Client[pgx.Tx], jobs int) error {
	params := make([]river.InsertManyParams, jobs)
	for i := range params {
		params[i] = river.InsertManyParams{Args: benchJob{Number: i}}
	}
	for batch := range slices.Chunk(params, benchJobBatch) {
		if _, err := client.InsertMany(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// work ends when the last job is written as completed.
func (q *benchQueue) work(ctx context.Context, jobs int) error {
	done := make(chan struct{})
	left := &atomic.Int64{}
	left.Store(int64(jobs))
	workers := river.NewWorkers()
	river.AddWorker(workers, &benchJobWorker{left: left, done: done})
	client, err := river.NewClient(q.driver, &river.Config{
		Schema: q.schema, Logger: discard(), Workers: workers, FetchCooldown: benchJobCooldown,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: benchJobWorkers}}, ReindexerIndexNames: []string{},
	})
	if err != nil {
		return fmt.Errorf("open River: %w", err)
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	select {
	case <-done:
		err = nil
	case <-ctx.Done():
		err = fmt.Errorf("%d jobs were left: %w", left.Load(), ctx.Err())
	}
	return errors.Join(err, client.Stop(context.WithoutCancel(ctx)))
}

// medianOf is the middle one of some values.
func medianOf(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
