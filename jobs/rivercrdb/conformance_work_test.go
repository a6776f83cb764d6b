package rivercrdb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

func testFetchOrder(t *testing.T, b *bench) {
	available := func(priority int, since time.Duration) int64 {
		return b.put(t, riverdriver.JobInsertFullParams{
			Priority: priority, ScheduledAt: ago(since), State: rivertype.JobStateAvailable,
		}).ID
	}
	urgentLate, urgentEarly := available(1, time.Minute), available(1, time.Hour)
	laterFirst := available(2, time.Hour)
	// Those that must stay: of another queue, of the future, not available.
	b.put(t, riverdriver.JobInsertFullParams{Queue: "elsewhere", State: rivertype.JobStateAvailable})
	b.put(t, riverdriver.JobInsertFullParams{ScheduledAt: ago(-time.Hour), State: rivertype.JobStateAvailable})
	b.put(t, riverdriver.JobInsertFullParams{ScheduledAt: ago(time.Hour), State: rivertype.JobStateRetryable})

	var got []int64
	for range 4 {
		for _, job := range b.fetch(t, riverdriver.JobGetAvailableParams{MaxToLock: 1}) {
			if job.State != rivertype.JobStateRunning || job.Attempt != 1 || job.AttemptedAt == nil || !slices.Equal(job.AttemptedBy, []string{"client"}) {
				t.Errorf("got %+v", job)
			}
			got = append(got, job.ID)
		}
	}
	if want := []int64{urgentEarly, urgentLate, laterFirst}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func testFetchKinds(t *testing.T, b *bench) {
	put := func(kind string) int64 {
		return b.put(t, riverdriver.JobInsertFullParams{Kind: kind, State: rivertype.JobStateAvailable}).ID
	}
	first, second, third := put("a"), put("b"), put("c")
	if got := b.fetch(t, riverdriver.JobGetAvailableParams{Kind: []string{}}); len(got) != 0 {
		t.Errorf("no kinds: got %v, want none", ids(got))
	}
	if got := ids(b.fetch(t, riverdriver.JobGetAvailableParams{Kind: []string{"b", "z"}})); !slices.Equal(got, []int64{second}) {
		t.Errorf("got %v, want %d", got, second)
	}
	got := ids(b.fetch(t, riverdriver.JobGetAvailableParams{}))
	slices.Sort(got)
	want := []int64{first, third}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("all kinds: got %v, want %v", got, want)
	}
}

func testFetchConcurrently(t *testing.T, b *bench) {
	const jobs, fetchers = 60, 4
	for range jobs {
		b.put(t, riverdriver.JobInsertFullParams{State: rivertype.JobStateAvailable})
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		taken = make(map[int64]int)
	)
	for range fetchers {
		group.Go(func() {
			for {
				result, err := b.exec.JobGetAvailable(b.ctx, &riverdriver.JobGetAvailableParams{
					ClientID: "c", MaxAttemptedBy: 100, MaxToLock: 7, Queue: river.QueueDefault, Schema: b.schema,
				})
				if err != nil {
					t.Errorf("fetch: %v", err)
					return
				}
				mu.Lock()
				for _, job := range result.Jobs {
					taken[job.ID]++
				}
				all := len(taken) == jobs
				mu.Unlock()
				if all || b.ctx.Err() != nil {
					return
				}
			}
		})
	}
	group.Wait()
	for id, times := range taken {
		if times != 1 {
			t.Errorf("job %d was fetched %d times", id, times)
		}
	}
	if len(taken) != jobs {
		t.Errorf("%d jobs were fetched, want %d", len(taken), jobs)
	}
}

// The stock driver drops the oldest entry of a full list, this one starts it again.
func testFetchKeepsAttemptedBy(t *testing.T, b *bench) {
	job := b.put(t, riverdriver.JobInsertFullParams{AttemptedBy: []string{"a", "b"}, State: rivertype.JobStateAvailable})
	got := b.fetch(t, riverdriver.JobGetAvailableParams{ClientID: "c", MaxAttemptedBy: 3})
	if len(got) != 1 || !slices.Equal(got[0].AttemptedBy, []string{"a", "b", "c"}) {
		t.Fatalf("got %v", got)
	}
	b.finish(t, riverdriver.JobSetStateErrorAvailable(job.ID, *ago(time.Second), []byte("{}"), nil))
	want := []string{"b", "c", "d"}
	if b.rewriting {
		want = []string{"d"}
	}
	got = b.fetch(t, riverdriver.JobGetAvailableParams{ClientID: "d", MaxAttemptedBy: 3})
	if len(got) != 1 || !slices.Equal(got[0].AttemptedBy, want) {
		t.Errorf("got %v, want attempted by %v", got, want)
	}
}

func succeed(context.Context, *river.Job[taskArgs]) error { return nil }

func testComplete(t *testing.T, b *bench) {
	client := b.start(t, func(ctx context.Context, _ *river.Job[taskArgs]) error {
		return river.RecordOutput(ctx, map[string]string{"answer": "done"})
	})
	events, cancel := client.Subscribe(river.EventKindJobCompleted)
	defer cancel()
	id := insert(t, b, client, "a", nil).Job.ID
	if event := awaitSignal(t, "a completed event", events); event.Job.ID != id || event.Job.State != rivertype.JobStateCompleted {
		t.Errorf("got event for %+v", event.Job)
	}
	job := b.awaitState(t, id, rivertype.JobStateCompleted)
	if job.FinalizedAt == nil || job.Attempt != 1 || len(job.Errors) != 0 || string(job.Output()) != `{"answer": "done"}` {
		t.Errorf("got %+v with output %s", job, job.Output())
	}
}

// More jobs than go into one statement, each finished in its own way, and some that are not running.
func testCompleteMany(t *testing.T, b *bench) {
	const jobs = 600
	params := make([]*riverdriver.JobInsertFullParams, jobs)
	for i := range params {
		params[i] = &riverdriver.JobInsertFullParams{
			AttemptedAt: ago(time.Second), Attempt: 1, Kind: "task", MaxAttempts: 5, Priority: 1, Queue: river.QueueDefault,
			Metadata: []byte("{}"), State: rivertype.JobStateRunning,
		}
	}
	rows, err := b.exec.JobInsertFullMany(b.ctx, &riverdriver.JobInsertFullManyParams{Jobs: params, Schema: b.schema})
	if err != nil {
		t.Fatal(err)
	}
	waiting := b.put(t, riverdriver.JobInsertFullParams{State: rivertype.JobStateAvailable})
	changes := []*riverdriver.JobSetStateIfRunningParams{riverdriver.JobSetStateCompleted(waiting.ID, time.Now(), nil)}
	for i, row := range rows {
		switch i % 4 {
		case 0:
			changes = append(changes, riverdriver.JobSetStateCompleted(row.ID, time.Now(), []byte(`{"n":1}`)))
		case 1:
			changes = append(changes, riverdriver.JobSetStateErrorRetryable(row.ID, time.Now().Add(time.Hour), []byte(`{"error":"full, \"really\""}`), nil))
		case 2:
			changes = append(changes, riverdriver.JobSetStateSnoozed(row.ID, time.Now().Add(time.Hour), 0, nil))
		default:
			changes = append(changes, riverdriver.JobSetStateDiscarded(row.ID, time.Now(), []byte(`{"error":"no"}`), nil))
		}
	}
	states := make(map[rivertype.JobState]int)
	got := b.finish(t, changes...)
	if !slices.IsSorted(ids(got)) {
		t.Error("the rows are not in order of their ids")
	}
	for _, job := range got {
		states[job.State]++
		if job.State == rivertype.JobStateRetryable && (len(job.Errors) != 1 || job.Errors[0].Error != `full, "really"`) {
			t.Fatalf("got errors %+v", job.Errors)
		}
		if job.State == rivertype.JobStateCompleted && !strings.Contains(string(job.Metadata), `"n"`) {
			t.Fatalf("got metadata %s", job.Metadata)
		}
	}
	want := map[rivertype.JobState]int{
		rivertype.JobStateAvailable: 1, rivertype.JobStateCompleted: 150, rivertype.JobStateRetryable: 150,
		rivertype.JobStateScheduled: 150, rivertype.JobStateDiscarded: 150,
	}
	for state, n := range want {
		if states[state] != n {
			t.Errorf("%d jobs are %s, want %d", states[state], state, n)
		}
	}
}

func testCompleteInTransaction(t *testing.T, b *bench) {
	follow := make(chan int64, 1)
	client := b.start(t, func(ctx context.Context, job *river.Job[taskArgs]) error {
		if job.Args.Name == "follow" {
			return nil
		}
		tx, err := b.pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		done, err := river.JobCompleteTx[riverdriver.Driver[pgx.Tx]](ctx, tx, job)
		if err != nil {
			return err
		}
		if done.State != rivertype.JobStateCompleted {
			return fmt.Errorf("the job is %s", done.State)
		}
		next, err := river.ClientFromContext[pgx.Tx](ctx).InsertTx(ctx, tx, taskArgs{Name: "follow"}, nil)
		if err != nil {
			return err
		}
		if err := tx.Commit(ctx); err != nil {
			return err
		}
		follow <- next.Job.ID
		return nil
	})
	id := insert(t, b, client, "first", nil).Job.ID
	b.awaitState(t, awaitSignal(t, "the job to commit", follow), rivertype.JobStateCompleted)
	if job := b.get(t, id); job.State != rivertype.JobStateCompleted || job.Attempt != 1 {
		t.Errorf("the job is %s after %d attempts", job.State, job.Attempt)
	}
}

func testRetryAfterError(t *testing.T, b *bench) {
	client := b.start(t, func(_ context.Context, job *river.Job[taskArgs]) error {
		if job.Attempt < 3 {
			return fmt.Errorf("attempt %d: no \"room\", 'sorry' \\ {}", job.Attempt)
		}
		return nil
	})
	job := b.awaitState(t, insert(t, b, client, "a", nil).Job.ID, rivertype.JobStateCompleted)
	if job.Attempt != 3 || len(job.Errors) != 2 {
		t.Fatalf("got %d attempts and errors %+v", job.Attempt, job.Errors)
	}
	for i, failure := range job.Errors {
		want := fmt.Sprintf("attempt %d: no \"room\", 'sorry' \\ {}", i+1)
		if failure.Error != want || failure.Attempt != i+1 || failure.At.IsZero() {
			t.Errorf("got error %+v, want %s", failure, want)
		}
	}
}

func testRetryAfterPanic(t *testing.T, b *bench) {
	client := b.start(t, func(_ context.Context, job *river.Job[taskArgs]) error {
		if job.Attempt == 1 {
			panic("off the rails")
		}
		return nil
	})
	job := b.awaitState(t, insert(t, b, client, "a", nil).Job.ID, rivertype.JobStateCompleted)
	if job.Attempt != 2 || len(job.Errors) != 1 || !strings.Contains(job.Errors[0].Error, "off the rails") || job.Errors[0].Trace == "" {
		t.Errorf("got %d attempts and errors %+v", job.Attempt, job.Errors)
	}
}

func testRetryByHand(t *testing.T, b *bench) {
	client := b.inserter(t)
	discarded := b.put(t, riverdriver.JobInsertFullParams{
		Attempt: 3, MaxAttempts: 3, FinalizedAt: ago(time.Hour), Errors: [][]byte{[]byte(`{"error":"x"}`)}, State: rivertype.JobStateDiscarded,
		Metadata: []byte(`{"cancel_attempted_at":"2030-01-01T00:00:00Z"}`),
	})
	job, err := client.JobRetry(b.ctx, discarded.ID)
	if err != nil {
		t.Fatal(err)
	}
	if job.State != rivertype.JobStateAvailable || job.MaxAttempts != 4 || job.FinalizedAt != nil || len(job.Errors) != 1 ||
		strings.Contains(string(job.Metadata), "cancel_attempted_at") {
		t.Errorf("got %+v", job)
	}
	running := b.put(t, riverdriver.JobInsertFullParams{AttemptedAt: ago(0), State: rivertype.JobStateRunning})
	if job, err := client.JobRetry(b.ctx, running.ID); err != nil || job.State != rivertype.JobStateRunning {
		t.Errorf("a running job: got %+v, error %v", job, err)
	}
	if _, err := client.JobRetry(b.ctx, 1<<50); !errors.Is(err, rivertype.ErrNotFound) {
		t.Errorf("a job that does not exist: got error %v, want ErrNotFound", err)
	}
}

func testSnooze(t *testing.T, b *bench) {
	client := b.start(t, func(_ context.Context, job *river.Job[taskArgs]) error {
		if !strings.Contains(string(job.Metadata), "snoozes") {
			return river.JobSnooze(time.Millisecond)
		}
		return nil
	})
	job := b.awaitState(t, insert(t, b, client, "a", nil).Job.ID, rivertype.JobStateCompleted)
	if job.Attempt != 1 || len(job.Errors) != 0 {
		t.Errorf("got %d attempts and errors %v, want a snooze to count as none", job.Attempt, job.Errors)
	}
}

func testCancelWaiting(t *testing.T, b *bench) {
	client := b.inserter(t)
	id := insert(t, b, client, "a", nil).Job.ID
	job, err := client.JobCancel(b.ctx, id)
	if err != nil || job.State != rivertype.JobStateCancelled || job.FinalizedAt == nil {
		t.Errorf("got %+v, error %v", job, err)
	}
	again, err := client.JobCancel(b.ctx, id)
	if err != nil || !again.FinalizedAt.Equal(*job.FinalizedAt) {
		t.Errorf("again: got %+v, error %v, want the same", again, err)
	}
	if _, err := client.JobCancel(b.ctx, 1<<50); !errors.Is(err, rivertype.ErrNotFound) {
		t.Errorf("a job that does not exist: got error %v, want ErrNotFound", err)
	}
	if got := b.fetch(t, riverdriver.JobGetAvailableParams{}); len(got) != 0 {
		t.Errorf("a cancelled job was fetched")
	}
}

func testCancelRunning(t *testing.T, b *bench) {
	started := make(chan int64, 1)
	client := b.start(t, func(ctx context.Context, job *river.Job[taskArgs]) error {
		started <- job.ID
		<-ctx.Done()
		return ctx.Err()
	})
	insert(t, b, client, "a", nil)
	id := awaitSignal(t, "the job to start", started)
	job, err := client.JobCancel(b.ctx, id)
	if err != nil || job.State != rivertype.JobStateRunning || !strings.Contains(string(job.Metadata), "cancel_attempted_at") {
		t.Errorf("got %+v, error %v", job, err)
	}
	b.awaitState(t, id, rivertype.JobStateCancelled)
}

// Other clients learn of a cancellation by asking.
func testCancelRequested(t *testing.T, b *bench) {
	client := b.inserter(t)
	asked := b.put(t, riverdriver.JobInsertFullParams{AttemptedAt: ago(0), State: rivertype.JobStateRunning})
	left := b.put(t, riverdriver.JobInsertFullParams{AttemptedAt: ago(0), State: rivertype.JobStateRunning})
	if _, err := client.JobCancel(b.ctx, asked.ID); err != nil {
		t.Fatal(err)
	}
	got, err := b.exec.JobGetCancelRequested(b.ctx, &riverdriver.JobGetCancelRequestedParams{ID: []int64{asked.ID, left.ID}, Schema: b.schema})
	if err != nil || !slices.Equal(got, []int64{asked.ID}) {
		t.Errorf("got %v, error %v, want %d", got, err, asked.ID)
	}
	// A failure that would be tried again ends a job whose cancellation was asked for.
	rows := b.finish(t, riverdriver.JobSetStateErrorRetryable(asked.ID, time.Now().Add(time.Hour), []byte("{}"), nil))
	if len(rows) != 1 || rows[0].State != rivertype.JobStateCancelled || rows[0].FinalizedAt == nil {
		t.Errorf("got %+v", rows)
	}
}

func testCancelByWorker(t *testing.T, b *bench) {
	client := b.start(t, func(context.Context, *river.Job[taskArgs]) error { return river.JobCancel(errors.New("pointless")) })
	job := b.awaitState(t, insert(t, b, client, "a", nil).Job.ID, rivertype.JobStateCancelled)
	if job.Attempt != 1 || len(job.Errors) != 1 {
		t.Errorf("got %+v", job)
	}
}

func testDiscard(t *testing.T, b *bench) {
	client := b.start(t, func(context.Context, *river.Job[taskArgs]) error { return errors.New("never") })
	job := b.awaitState(t, insert(t, b, client, "a", &river.InsertOpts{MaxAttempts: 2}).Job.ID, rivertype.JobStateDiscarded)
	if job.Attempt != 2 || len(job.Errors) != 2 || job.FinalizedAt == nil {
		t.Errorf("got %+v", job)
	}
}

func testManyJobsThroughTwoClients(t *testing.T, b *bench) {
	const jobs = 1000
	var mu sync.Mutex
	worked := make(map[string]int)
	work := func(_ context.Context, job *river.Job[taskArgs]) error {
		mu.Lock()
		defer mu.Unlock()
		worked[job.Args.Name]++
		return nil
	}
	client := b.start(t, work)
	b.start(t, work)
	params := make([]river.InsertManyParams, jobs)
	for i := range params {
		params[i] = river.InsertManyParams{Args: taskArgs{Name: fmt.Sprint(i)}}
	}
	if _, err := client.InsertMany(b.ctx, params); err != nil {
		t.Fatal(err)
	}
	b.await(t, "all jobs are completed", func() bool {
		n, err := b.exec.JobCountByState(b.ctx, &riverdriver.JobCountByStateParams{Schema: b.schema, State: rivertype.JobStateCompleted})
		if err != nil {
			t.Fatal(err)
		}
		return n == jobs
	})
	mu.Lock()
	defer mu.Unlock()
	for name, times := range worked {
		if times != 1 {
			t.Errorf("job %s was worked %d times", name, times)
		}
	}
}
