package rivercrdb_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

func testInsert(t *testing.T, b *bench) {
	client := b.inserter(t)
	at := time.Now().UTC().Add(time.Hour).Truncate(time.Microsecond)
	job := insert(t, b, client, "one", &river.InsertOpts{
		MaxAttempts: 7, Metadata: []byte(`{"trace":"é"}`), Priority: 3, Queue: "front_desk", ScheduledAt: at, Tags: []string{"red", "big"},
	}).Job
	got := b.get(t, job.ID)
	if got.Attempt != 0 || got.MaxAttempts != 7 || got.Priority != 3 || got.Queue != "front_desk" || got.Kind != "task" ||
		got.State != rivertype.JobStateScheduled || !got.ScheduledAt.Equal(at) || !slices.Equal(got.Tags, []string{"red", "big"}) ||
		got.FinalizedAt != nil || got.AttemptedAt != nil || len(got.Errors) != 0 || got.UniqueKey != nil {
		t.Errorf("got %+v", got)
	}
	if now := insert(t, b, client, "two", nil).Job; now.State != rivertype.JobStateAvailable {
		t.Errorf("a job for now is %s, want available", now.State)
	}
	_, err := b.exec.JobGetByID(b.ctx, &riverdriver.JobGetByIDParams{ID: 1 << 50, Schema: b.schema})
	if !errors.Is(err, rivertype.ErrNotFound) {
		t.Errorf("a job that does not exist: got error %v, want ErrNotFound", err)
	}
}

func testInsertInTransaction(t *testing.T, b *bench) {
	client := b.inserter(t)
	for _, commit := range []bool{false, true} {
		tx, err := b.pool.Begin(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(b.ctx) }()
		result, err := client.InsertTx(b.ctx, tx, taskArgs{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.JobGetTx(b.ctx, tx, result.Job.ID); err != nil {
			t.Errorf("the transaction does not see its own job: %v", err)
		}
		end := tx.Rollback
		if commit {
			end = tx.Commit
		}
		if err := end(b.ctx); err != nil {
			t.Fatal(err)
		}
		_, err = client.JobGet(b.ctx, result.Job.ID)
		if commit && err != nil || !commit && !errors.Is(err, rivertype.ErrNotFound) {
			t.Errorf("committed %t: got error %v", commit, err)
		}
	}
}

func testInsertMany(t *testing.T, b *bench) {
	client := b.inserter(t)
	unique := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
	existing := insert(t, b, client, "taken", unique).Job
	results, err := client.InsertMany(b.ctx, []river.InsertManyParams{
		{Args: taskArgs{Name: "plain"}},
		{Args: taskArgs{Name: "taken"}, InsertOpts: unique},
		{Args: otherArgs{Name: "free"}, InsertOpts: unique},
		{Args: taskArgs{Name: "plain"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	var skipped []bool
	seen := make(map[int64]bool)
	for _, result := range results {
		kinds = append(kinds, result.Job.Kind)
		skipped = append(skipped, result.UniqueSkippedAsDuplicate)
		seen[result.Job.ID] = true
	}
	if want := []string{"task", "task", "other", "task"}; !slices.Equal(kinds, want) {
		t.Errorf("got kinds %v, want %v", kinds, want)
	}
	if want := []bool{false, true, false, false}; !slices.Equal(skipped, want) {
		t.Errorf("got skipped %v, want %v", skipped, want)
	}
	if len(seen) != 4 || results[1].Job.ID != existing.ID {
		t.Errorf("got ids %v, want four with %d among them", seen, existing.ID)
	}
}

func testInsertManyFast(t *testing.T, b *bench) {
	client := b.inserter(t)
	unique := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
	n, err := client.InsertManyFast(b.ctx, []river.InsertManyParams{
		{Args: taskArgs{Name: "a"}, InsertOpts: &river.InsertOpts{Tags: []string{"red", "big"}}}, {Args: taskArgs{Name: "b"}, InsertOpts: unique},
	})
	if err != nil || n != 2 {
		t.Fatalf("got %d, error %v, want 2", n, err)
	}
	// A conflict fails the whole, and nothing of it stays.
	if _, err := client.InsertManyFast(b.ctx, []river.InsertManyParams{
		{Args: taskArgs{Name: "c"}}, {Args: taskArgs{Name: "b"}, InsertOpts: unique},
	}); err == nil {
		t.Error("a duplicate was inserted")
	}
	if jobs := b.fetch(t, riverdriver.JobGetAvailableParams{}); len(jobs) != 2 {
		t.Errorf("got %d jobs, want 2", len(jobs))
	}
}

func testUniqueByArgs(t *testing.T, b *bench) {
	client := b.inserter(t)
	opts := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
	first := insert(t, b, client, "a", opts)
	again := insert(t, b, client, "a", opts)
	other := insert(t, b, client, "b", opts)
	plain := insert(t, b, client, "a", nil)
	if first.UniqueSkippedAsDuplicate || !again.UniqueSkippedAsDuplicate || other.UniqueSkippedAsDuplicate || plain.UniqueSkippedAsDuplicate {
		t.Errorf("got skipped %t, %t, %t, %t, want only the second", first.UniqueSkippedAsDuplicate,
			again.UniqueSkippedAsDuplicate, other.UniqueSkippedAsDuplicate, plain.UniqueSkippedAsDuplicate)
	}
	if again.Job.ID != first.Job.ID {
		t.Errorf("the duplicate is job %d, want %d", again.Job.ID, first.Job.ID)
	}
	tx, err := b.pool.Begin(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(b.ctx) }()
	inTx, err := client.InsertTx(b.ctx, tx, taskArgs{Name: "a"}, opts)
	if err != nil || !inTx.UniqueSkippedAsDuplicate || inTx.Job.ID != first.Job.ID {
		t.Errorf("in a transaction: got %+v, error %v", inTx, err)
	}
}

func testUniqueByPeriod(t *testing.T, b *bench) {
	client := b.inserter(t)
	at := time.Now().UTC().Add(time.Hour).Truncate(24 * time.Hour).Add(25 * time.Hour)
	opts := func(at time.Time) *river.InsertOpts {
		return &river.InsertOpts{ScheduledAt: at, UniqueOpts: river.UniqueOpts{ByPeriod: 24 * time.Hour}}
	}
	first := insert(t, b, client, "a", opts(at))
	if same := insert(t, b, client, "b", opts(at.Add(time.Hour))); !same.UniqueSkippedAsDuplicate || same.Job.ID != first.Job.ID {
		t.Error("a second job of the same day was inserted")
	}
	if next := insert(t, b, client, "c", opts(at.Add(24*time.Hour))); next.UniqueSkippedAsDuplicate {
		t.Error("a job of the next day was taken for a duplicate")
	}
}

func testUniqueByQueue(t *testing.T, b *bench) {
	client := b.inserter(t)
	opts := func(queue string) *river.InsertOpts {
		return &river.InsertOpts{Queue: queue, UniqueOpts: river.UniqueOpts{ByQueue: true}}
	}
	insert(t, b, client, "a", opts("east"))
	if west := insert(t, b, client, "a", opts("west")); west.UniqueSkippedAsDuplicate {
		t.Error("a job of another queue was taken for a duplicate")
	}
	if east := insert(t, b, client, "b", opts("east")); !east.UniqueSkippedAsDuplicate {
		t.Error("a second job of the queue was inserted")
	}
}

func testUniqueByState(t *testing.T, b *bench) {
	client := b.inserter(t)
	untilDone := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}}}
	for _, test := range []struct {
		name       string
		opts       *river.InsertOpts
		finish     func(id int64)
		wantUnique bool
	}{
		{"running", untilDone, func(int64) {}, true},
		{"completed, key until done", untilDone, func(id int64) { b.finish(t, riverdriver.JobSetStateCompleted(id, time.Now(), nil)) }, false},
		{"completed, key for ever", &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}, func(id int64) {
			b.finish(t, riverdriver.JobSetStateCompleted(id, time.Now(), nil))
		}, true},
		{"retryable", untilDone, func(id int64) {
			b.finish(t, riverdriver.JobSetStateErrorRetryable(id, time.Now().Add(time.Hour), []byte("{}"), nil))
		}, true},
		{"discarded", untilDone, func(id int64) {
			b.finish(t, riverdriver.JobSetStateDiscarded(id, time.Now(), []byte("{}"), nil))
		}, false},
		{"cancelled", untilDone, func(id int64) {
			b.finish(t, riverdriver.JobSetStateCancelled(id, time.Now(), []byte("{}"), nil))
		}, false},
	} {
		first := insert(t, b, client, test.name, test.opts)
		if taken := b.fetch(t, riverdriver.JobGetAvailableParams{}); !slices.Contains(ids(taken), first.Job.ID) {
			t.Fatalf("%s: the job was not fetched", test.name)
		}
		test.finish(first.Job.ID)
		second := insert(t, b, client, test.name, test.opts)
		if second.UniqueSkippedAsDuplicate != test.wantUnique {
			t.Errorf("%s: skipped as duplicate %t, want %t", test.name, second.UniqueSkippedAsDuplicate, test.wantUnique)
		}
		b.fetch(t, riverdriver.JobGetAvailableParams{})
	}
}

// finish sets the state of a running job, as River's completer does.
func (b *bench) finish(t *testing.T, jobs ...*riverdriver.JobSetStateIfRunningParams) []*rivertype.JobRow {
	t.Helper()
	params := &riverdriver.JobSetStateIfRunningManyParams{Schema: b.schema}
	for _, job := range jobs {
		params.ID = append(params.ID, job.ID)
		params.Attempt = append(params.Attempt, job.Attempt)
		params.ErrData = append(params.ErrData, job.ErrData)
		params.FinalizedAt = append(params.FinalizedAt, job.FinalizedAt)
		params.MetadataDoMerge = append(params.MetadataDoMerge, job.MetadataDoMerge)
		params.MetadataUpdates = append(params.MetadataUpdates, job.MetadataUpdates)
		params.ScheduledAt = append(params.ScheduledAt, job.ScheduledAt)
		params.State = append(params.State, job.State)
	}
	rows, err := b.exec.JobSetStateIfRunningMany(b.ctx, params)
	if err != nil {
		t.Fatalf("set the state: %v", err)
	}
	return rows
}

func testUniqueAmongConcurrent(t *testing.T, b *bench) {
	client := b.inserter(t)
	const inserters = 16
	results := make([]*rivertype.JobInsertResult, inserters)
	errs := make([]error, inserters)
	var group sync.WaitGroup
	for i := range inserters {
		group.Go(func() {
			results[i], errs[i] = client.Insert(b.ctx, taskArgs{Name: "same"}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}})
		})
	}
	group.Wait()
	inserted := 0
	for i, result := range results {
		if errs[i] != nil {
			t.Fatalf("insert: %v", errs[i])
		}
		if !result.UniqueSkippedAsDuplicate {
			inserted++
		}
		if result.Job.ID != results[0].Job.ID {
			t.Errorf("got jobs %d and %d", results[0].Job.ID, result.Job.ID)
		}
	}
	if inserted != 1 {
		t.Errorf("%d inserts say that theirs is the job, want 1", inserted)
	}
}
