package rivercrdb_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/jobs/rivercrdb"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// patience is how long a test waits for what must happen before it fails.
const patience = 30 * time.Second

// system is River on one engine with one driver.
type system struct {
	name string
	pool *pgxpool.Pool
	// migrate makes River's tables in a schema, or where the search_path leads.
	migrate func(ctx context.Context, schema string) error
	driver  func(ctx context.Context, schema string) (riverdriver.Driver[pgx.Tx], error)
	// rewriting is whether the driver is this package's.
	rewriting bool
}

// TestConformance says the same of River on every system at hand: on PostgreSQL of the stock driver
// and of this one, on CockroachDB of this one. What holds for the stock driver is what River does.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, s := range systems(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for name, test := range conformance() {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, newBench(t, s))
				})
			}
		})
	}
}

func conformance() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"Insert":                    testInsert,
		"InsertInTransaction":       testInsertInTransaction,
		"InsertMany":                testInsertMany,
		"InsertManyFast":            testInsertManyFast,
		"UniqueByArgs":              testUniqueByArgs,
		"UniqueByPeriod":            testUniqueByPeriod,
		"UniqueByQueue":             testUniqueByQueue,
		"UniqueByState":             testUniqueByState,
		"UniqueAmongConcurrent":     testUniqueAmongConcurrent,
		"FetchOrder":                testFetchOrder,
		"FetchKinds":                testFetchKinds,
		"FetchConcurrently":         testFetchConcurrently,
		"FetchKeepsAttemptedBy":     testFetchKeepsAttemptedBy,
		"Complete":                  testComplete,
		"CompleteMany":              testCompleteMany,
		"CompleteInTransaction":     testCompleteInTransaction,
		"RetryAfterError":           testRetryAfterError,
		"RetryAfterPanic":           testRetryAfterPanic,
		"RetryByHand":               testRetryByHand,
		"Snooze":                    testSnooze,
		"CancelWaiting":             testCancelWaiting,
		"CancelRunning":             testCancelRunning,
		"CancelRequested":           testCancelRequested,
		"CancelByWorker":            testCancelByWorker,
		"Discard":                   testDiscard,
		"Rescue":                    testRescue,
		"RescueByLeader":            testRescueByLeader,
		"Schedule":                  testSchedule,
		"ScheduleUniqueConflict":    testScheduleUniqueConflict,
		"ScheduleByLeader":          testScheduleByLeader,
		"LeaderElection":            testLeaderElection,
		"LeaderTakeover":            testLeaderTakeover,
		"PeriodicJob":               testPeriodicJob,
		"QueuePause":                testQueuePause,
		"Queues":                    testQueues,
		"Retention":                 testRetention,
		"Delete":                    testDelete,
		"ListAndCount":              testListAndCount,
		"UpdateMetadata":            testUpdateMetadata,
		"ManyJobsThroughTwoClients": testManyJobsThroughTwoClients,
	}
}

func systems(t testing.TB) []*system {
	t.Helper()
	pool := newPool(t, dbtest.Create(t))
	var version string
	if err := pool.QueryRow(t.Context(), "SELECT version()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	t.Log(version)
	rewriting := func(name string, pool *pgxpool.Pool) *system {
		return &system{
			name: name, pool: pool, rewriting: true,
			migrate: func(ctx context.Context, schema string) error {
				return rivercrdb.Migrate(ctx, pool, rivercrdb.Config{Schema: schema})
			},
			driver: func(ctx context.Context, schema string) (riverdriver.Driver[pgx.Tx], error) {
				return rivercrdb.New(ctx, pool, rivercrdb.Config{Schema: schema})
			},
		}
	}
	if strings.Contains(version, "CockroachDB") {
		return []*system{rewriting("CockroachDB", pool)}
	}
	return []*system{
		rewriting("PostgreSQL", pool),
		stock(newPool(t, dbtest.Create(t))),
	}
}

func stock(pool *pgxpool.Pool) *system {
	return &system{
		name: "PostgreSQLStockDriver", pool: pool,
		migrate: func(ctx context.Context, schema string) error {
			if schema != "" {
				if _, err := pool.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{schema}.Sanitize()); err != nil {
					return err
				}
			}
			migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{
				Logger: slog.New(slog.DiscardHandler), Schema: schema,
			})
			if err != nil {
				return err
			}
			_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
			return err
		},
		driver: func(context.Context, string) (riverdriver.Driver[pgx.Tx], error) { return riverpgxv5.New(pool), nil },
	}
}

func newPool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 24
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// bench is a place for one test: a schema of its own on a system.
type bench struct {
	*system

	ctx    context.Context //nolint:containedctx // the test's own, which every helper would be handed
	schema string
	river  riverdriver.Driver[pgx.Tx]
	exec   riverdriver.Executor
}

func newBench(t testing.TB, s *system) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	b := &bench{system: s, ctx: ctx}
	// The simplest test runs without a schema, the others with a name that needs quotes.
	if name := t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]; name != "Insert" {
		b.schema = "River_" + name
	}
	if err := s.migrate(ctx, b.schema); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.river, err = s.driver(ctx, b.schema); err != nil {
		t.Fatal(err)
	}
	b.exec = b.river.GetExecutor()
	if err := b.exec.InitDriver(ctx); err != nil {
		t.Fatal(err)
	}
	return b
}

// taskArgs are the arguments of the one kind of job of these tests; a worker's function gives it
// its meaning.
type taskArgs struct {
	Name string `json:"name"`
}

func (taskArgs) Kind() string { return "task" }

type otherArgs struct {
	Name string `json:"name"`
}

func (otherArgs) Kind() string { return "other" }

type taskWorker struct {
	river.WorkerDefaults[taskArgs]

	work func(ctx context.Context, job *river.Job[taskArgs]) error
}

func (w *taskWorker) Work(ctx context.Context, job *river.Job[taskArgs]) error {
	return w.work(ctx, job)
}

// NextRetry is at once: a retry within the scheduler's interval becomes available directly.
func (w *taskWorker) NextRetry(*river.Job[taskArgs]) time.Time { return time.Now() }

// inserter is a client that works no jobs.
func (b *bench) inserter(t testing.TB) *river.Client[pgx.Tx] {
	t.Helper()
	client, err := river.NewClient(b.river, &river.Config{Logger: slog.New(slog.DiscardHandler), Schema: b.schema})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// start is a client that works jobs of the default queue with this function, until the test ends.
func (b *bench) start(t testing.TB, work func(ctx context.Context, job *river.Job[taskArgs]) error, options ...func(*river.Config)) *river.Client[pgx.Tx] {
	t.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, &taskWorker{work: work})
	config := &river.Config{
		FetchCooldown:       5 * time.Millisecond,
		FetchPollInterval:   25 * time.Millisecond,
		Logger:              slog.New(slog.DiscardHandler),
		Queues:              map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 50}},
		ReindexerIndexNames: []string{},
		Schema:              b.schema,
		TestOnly:            true,
		Workers:             workers,
	}
	for _, option := range options {
		option(config)
	}
	client, err := river.NewClient(b.river, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(b.ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, client) })
	return client
}

func stop(t testing.TB, client *river.Client[pgx.Tx]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := client.StopAndCancel(ctx); err != nil {
		t.Errorf("stop the client: %v", err)
	}
}

func insert(t testing.TB, b *bench, client *river.Client[pgx.Tx], name string, opts *river.InsertOpts) *rivertype.JobInsertResult {
	t.Helper()
	result, err := client.Insert(b.ctx, taskArgs{Name: name}, opts)
	if err != nil {
		t.Fatalf("insert %s: %v", name, err)
	}
	return result
}

// put inserts a row in any state, bypassing River's client.
func (b *bench) put(t testing.TB, params riverdriver.JobInsertFullParams) *rivertype.JobRow {
	t.Helper()
	params.Schema = b.schema
	params.EncodedArgs = []byte(`{"name":"put"}`)
	if params.Kind == "" {
		params.Kind = "task"
	}
	if params.Metadata == nil {
		params.Metadata = []byte("{}")
	}
	params.MaxAttempts = max(params.MaxAttempts, 1)
	params.Priority = max(params.Priority, 1)
	if params.Queue == "" {
		params.Queue = river.QueueDefault
	}
	if params.Tags == nil {
		params.Tags = []string{}
	}
	job, err := b.exec.JobInsertFull(b.ctx, &params)
	if err != nil {
		t.Fatalf("put a job: %v", err)
	}
	return job
}

func (b *bench) get(t testing.TB, id int64) *rivertype.JobRow {
	t.Helper()
	job, err := b.exec.JobGetByID(b.ctx, &riverdriver.JobGetByIDParams{ID: id, Schema: b.schema})
	if err != nil {
		t.Fatalf("get job %d: %v", id, err)
	}
	return job
}

// fetch takes jobs of the default queue, as a producer does.
func (b *bench) fetch(t testing.TB, params riverdriver.JobGetAvailableParams) []*rivertype.JobRow {
	t.Helper()
	params.Schema = b.schema
	if params.ClientID == "" {
		params.ClientID = "client"
	}
	if params.Queue == "" {
		params.Queue = river.QueueDefault
	}
	if params.MaxAttemptedBy == 0 {
		params.MaxAttemptedBy = 100
	}
	if params.MaxToLock == 0 {
		params.MaxToLock = 100
	}
	result, err := b.exec.JobGetAvailable(b.ctx, &params)
	if err != nil {
		t.Fatalf("fetch: %v", err)
	}
	if len(result.DecodeErrors) > 0 {
		t.Fatalf("fetch: %v", result.DecodeErrors)
	}
	return result.Jobs
}

// await waits until the condition holds, asking again and again.
func (b *bench) await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}

func (b *bench) awaitState(t testing.TB, id int64, state rivertype.JobState) *rivertype.JobRow {
	t.Helper()
	var job *rivertype.JobRow
	b.await(t, fmt.Sprintf("job %d becomes %s", id, state), func() bool {
		job = b.get(t, id)
		return job.State == state
	})
	return job
}

func awaitSignal[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %s in vain: %s", patience, what)
		panic("unreachable")
	}
}

func ids(jobs []*rivertype.JobRow) []int64 {
	result := make([]int64, len(jobs))
	for i, job := range jobs {
		result[i] = job.ID
	}
	return result
}

func ago(d time.Duration) *time.Time {
	at := time.Now().UTC().Add(-d)
	return &at
}
