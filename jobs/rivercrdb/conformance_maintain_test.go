package rivercrdb_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// immediately is a retry policy without back-off.
type immediately struct{}

func (immediately) NextRetry(*rivertype.JobRow) time.Time { return time.Now() }

func testRescue(t *testing.T, b *bench) {
	running := func(since time.Duration) *rivertype.JobRow {
		return b.put(t, riverdriver.JobInsertFullParams{
			Attempt: 1, AttemptedAt: ago(since), MaxAttempts: 5, State: rivertype.JobStateRunning,
		})
	}
	stuck, hopeless, busy := running(2*time.Hour), running(3*time.Hour), running(time.Minute)
	horizon := time.Now().Add(-time.Hour)
	found, err := b.exec.JobGetStuck(b.ctx, &riverdriver.JobGetStuckParams{Max: 10, Schema: b.schema, StuckHorizon: horizon})
	if err != nil || len(found) != 2 {
		t.Fatalf("got stuck jobs %v, error %v, want 2", ids(found), err)
	}
	now := time.Now()
	if _, err := b.exec.JobRescueMany(b.ctx, &riverdriver.JobRescueManyParams{
		ID:          []int64{stuck.ID, hopeless.ID, busy.ID},
		Error:       [][]byte{[]byte(`{"error":"stuck"}`), []byte(`{"error":"stuck"}`), []byte(`{"error":"stuck"}`)},
		FinalizedAt: []*time.Time{nil, &now, nil}, ScheduledAt: []time.Time{now, now, now}, Schema: b.schema,
		State:        []string{string(rivertype.JobStateRetryable), string(rivertype.JobStateDiscarded), string(rivertype.JobStateRetryable)},
		StuckHorizon: horizon,
	}); err != nil {
		t.Fatal(err)
	}
	if job := b.get(t, stuck.ID); job.State != rivertype.JobStateRetryable || job.FinalizedAt != nil || len(job.Errors) != 1 ||
		job.Errors[0].Error != "stuck" || !strings.Contains(string(job.Metadata), `"river:rescue_count": 1`) {
		t.Errorf("the stuck job: got %+v with metadata %s", job, job.Metadata)
	}
	if job := b.get(t, hopeless.ID); job.State != rivertype.JobStateDiscarded || job.FinalizedAt == nil {
		t.Errorf("the hopeless job: got %+v", job)
	}
	if job := b.get(t, busy.ID); job.State != rivertype.JobStateRunning || len(job.Errors) != 0 {
		t.Errorf("the busy job: got %+v", job)
	}
}

func testRescueByLeader(t *testing.T, b *bench) {
	job := b.put(t, riverdriver.JobInsertFullParams{
		Attempt: 1, AttemptedAt: ago(2 * time.Hour), AttemptedBy: []string{"killed"}, MaxAttempts: 5, State: rivertype.JobStateRunning,
	})
	b.start(t, succeed, func(c *river.Config) { c.RetryPolicy = immediately{} })
	got := b.awaitState(t, job.ID, rivertype.JobStateCompleted)
	if got.Attempt != 2 || len(got.Errors) != 1 {
		t.Errorf("got %d attempts and errors %+v", got.Attempt, got.Errors)
	}
}

func (b *bench) schedule(t *testing.T) map[int64]*riverdriver.JobScheduleResult {
	t.Helper()
	results, err := b.exec.JobSchedule(b.ctx, &riverdriver.JobScheduleParams{Max: 100, Schema: b.schema})
	if err != nil {
		t.Fatalf("schedule: %v", err)
	}
	byID := make(map[int64]*riverdriver.JobScheduleResult)
	for _, result := range results {
		byID[result.Job.ID] = result
	}
	return byID
}

func testSchedule(t *testing.T, b *bench) {
	due := b.put(t, riverdriver.JobInsertFullParams{ScheduledAt: ago(time.Minute), State: rivertype.JobStateScheduled})
	retry := b.put(t, riverdriver.JobInsertFullParams{ScheduledAt: ago(time.Minute), State: rivertype.JobStateRetryable})
	later := b.put(t, riverdriver.JobInsertFullParams{ScheduledAt: ago(-time.Hour), State: rivertype.JobStateScheduled})
	pending := b.put(t, riverdriver.JobInsertFullParams{ScheduledAt: ago(time.Minute), State: rivertype.JobStatePending})
	got := b.schedule(t)
	if len(got) != 2 || got[due.ID] == nil || got[retry.ID] == nil {
		t.Errorf("got %v, want %d and %d", got, due.ID, retry.ID)
	}
	for id, want := range map[int64]rivertype.JobState{
		due.ID: rivertype.JobStateAvailable, retry.ID: rivertype.JobStateAvailable,
		later.ID: rivertype.JobStateScheduled, pending.ID: rivertype.JobStatePending,
	} {
		if job := b.get(t, id); job.State != want {
			t.Errorf("job %d is %s, want %s", id, job.State, want)
		}
	}
}

func testScheduleUniqueConflict(t *testing.T, b *bench) {
	// The key covers available and running, not the states that the scheduler looks at: bit n from
	// the left is the state of get_bit's n, so available is the last and running the second.
	const availableAndRunning = 0b0000_0001 | 0b0100_0000
	put := func(key string, state rivertype.JobState, since time.Duration) int64 {
		params := riverdriver.JobInsertFullParams{
			ScheduledAt: ago(since), State: state, UniqueKey: []byte(key), UniqueStates: availableAndRunning,
		}
		if state == rivertype.JobStateRunning {
			params.AttemptedAt = ago(0)
		}
		return b.put(t, params).ID
	}
	taken := put("taken", rivertype.JobStateRunning, time.Hour)
	blocked := put("taken", rivertype.JobStateRetryable, time.Hour)
	first := put("free", rivertype.JobStateRetryable, 2*time.Hour)
	second := put("free", rivertype.JobStateScheduled, time.Hour)
	alone := put("alone", rivertype.JobStateScheduled, time.Hour)

	got := b.schedule(t)
	for id, want := range map[int64]rivertype.JobState{
		taken: rivertype.JobStateRunning, blocked: rivertype.JobStateDiscarded, first: rivertype.JobStateAvailable,
		second: rivertype.JobStateDiscarded, alone: rivertype.JobStateAvailable,
	} {
		job := b.get(t, id)
		if job.State != want {
			t.Errorf("job %d is %s, want %s", id, job.State, want)
		}
		if result := got[id]; result != nil && result.ConflictDiscarded != (want == rivertype.JobStateDiscarded) {
			t.Errorf("job %d: discarded for a conflict %t, but %s", id, result.ConflictDiscarded, want)
		}
		if want == rivertype.JobStateDiscarded && !strings.Contains(string(job.Metadata), "scheduler_discarded") {
			t.Errorf("job %d: got metadata %s", id, job.Metadata)
		}
	}
}

func testScheduleByLeader(t *testing.T, b *bench) {
	// The leader's first round looks as far ahead as the next.
	id := insert(t, b, b.inserter(t), "a", &river.InsertOpts{ScheduledAt: time.Now().Add(time.Second)}).Job.ID
	b.start(t, succeed)
	job := b.awaitState(t, id, rivertype.JobStateCompleted)
	if job.AttemptedAt.Before(job.ScheduledAt.Add(-time.Millisecond)) {
		t.Errorf("worked at %s, before %s", job.AttemptedAt, job.ScheduledAt)
	}
}

func testLeaderElection(t *testing.T, b *bench) {
	elect := func(id string, now *time.Time) (*riverdriver.Leader, error) {
		return b.exec.LeaderAttemptElect(b.ctx, &riverdriver.LeaderElectParams{LeaderID: id, Now: now, Schema: b.schema, TTL: 10 * time.Second})
	}
	resign := func(leader *riverdriver.Leader) bool {
		t.Helper()
		resigned, err := b.exec.LeaderResign(b.ctx, &riverdriver.LeaderResignParams{
			ElectedAt: leader.ElectedAt, LeaderID: leader.LeaderID, LeadershipTopic: "river_leadership", Schema: b.schema,
		})
		if err != nil {
			t.Fatal(err)
		}
		return resigned
	}
	a, err := elect("a", nil)
	if err != nil || a.LeaderID != "a" || a.ExpiresAt.Sub(a.ElectedAt) != 10*time.Second {
		t.Fatalf("got %+v, error %v", a, err)
	}
	if got, err := elect("b", nil); !errors.Is(err, rivertype.ErrNotFound) {
		t.Errorf("a second leader: got %+v, error %v", got, err)
	}
	reelected, err := b.exec.LeaderAttemptReelect(b.ctx, &riverdriver.LeaderReelectParams{
		ElectedAt: a.ElectedAt, LeaderID: "a", Schema: b.schema, TTL: time.Minute,
	})
	if err != nil || !reelected.ElectedAt.Equal(a.ElectedAt) || !reelected.ExpiresAt.After(a.ExpiresAt) {
		t.Errorf("reelected: got %+v, error %v", reelected, err)
	}
	earlier := &riverdriver.Leader{ElectedAt: a.ElectedAt.Add(-time.Second), LeaderID: "a"}
	if _, err := b.exec.LeaderAttemptReelect(b.ctx, &riverdriver.LeaderReelectParams{
		ElectedAt: earlier.ElectedAt, LeaderID: "a", Schema: b.schema, TTL: time.Minute,
	}); !errors.Is(err, rivertype.ErrNotFound) {
		t.Errorf("reelected for an earlier term: got error %v", err)
	}
	if resign(earlier) || resign(&riverdriver.Leader{ElectedAt: a.ElectedAt, LeaderID: "b"}) {
		t.Error("somebody else's leadership was resigned")
	}
	if leader, err := b.exec.LeaderGetElectedLeader(b.ctx, &riverdriver.LeaderGetElectedLeaderParams{Schema: b.schema}); err != nil || leader.LeaderID != "a" {
		t.Errorf("got leader %+v, error %v", leader, err)
	}
	if !resign(a) || resign(a) {
		t.Error("the leader could not resign once")
	}
	if _, err := elect("b", ago(time.Hour)); err != nil {
		t.Errorf("after the resignation: %v", err)
	}
	if n, err := b.exec.LeaderDeleteExpired(b.ctx, &riverdriver.LeaderDeleteExpiredParams{Schema: b.schema}); err != nil || n != 1 {
		t.Errorf("got %d expired leaders, error %v, want 1", n, err)
	}
	if c, err := b.exec.LeaderInsert(b.ctx, &riverdriver.LeaderInsertParams{LeaderID: "c", Schema: b.schema, TTL: time.Second}); err != nil ||
		c.ExpiresAt.Sub(c.ElectedAt) != time.Second {
		t.Errorf("got %+v, error %v", c, err)
	}
}

func testLeaderTakeover(t *testing.T, b *bench) {
	awaitLeader := func(id string) {
		t.Helper()
		b.await(t, id+" leads", func() bool {
			leader, err := b.exec.LeaderGetElectedLeader(b.ctx, &riverdriver.LeaderGetElectedLeaderParams{Schema: b.schema})
			return err == nil && leader.LeaderID == id
		})
	}
	named := func(id string) func(*river.Config) { return func(c *river.Config) { c.ID = id } }
	first := b.start(t, succeed, named("first"))
	awaitLeader("first")
	b.start(t, succeed, named("second"))
	stop(t, first)
	awaitLeader("second")
}

func testPeriodicJob(t *testing.T, b *bench) {
	var worked atomic.Int64
	b.start(t, func(context.Context, *river.Job[taskArgs]) error {
		worked.Add(1)
		return nil
	}, func(c *river.Config) {
		c.PeriodicJobs = []*river.PeriodicJob{river.NewPeriodicJob(
			river.PeriodicInterval(200*time.Millisecond),
			func() (river.JobArgs, *river.InsertOpts) { return taskArgs{Name: "tick"}, nil },
			&river.PeriodicJobOpts{RunOnStart: true},
		)}
	})
	b.await(t, "three ticks", func() bool { return worked.Load() >= 3 })
}

func testQueuePause(t *testing.T, b *bench) {
	client := b.start(t, succeed, func(c *river.Config) { c.Queues["other"] = river.QueueConfig{MaxWorkers: 1} })
	events, cancel := client.Subscribe(river.EventKindQueuePaused, river.EventKindQueueResumed)
	defer cancel()
	b.await(t, "the queues are there", func() bool {
		list, err := client.QueueList(b.ctx, river.NewQueueListParams().First(10))
		return err == nil && len(list.Queues) == 2
	})
	if err := client.QueuePause(b.ctx, river.QueueDefault, nil); err != nil {
		t.Fatal(err)
	}
	if event := awaitSignal(t, "the queue to pause", events); event.Kind != river.EventKindQueuePaused || event.Queue.Name != river.QueueDefault {
		t.Errorf("got event %+v", event)
	}
	if queue, err := client.QueueGet(b.ctx, river.QueueDefault); err != nil || queue.PausedAt == nil {
		t.Errorf("got queue %+v, error %v", queue, err)
	}
	held := insert(t, b, client, "held", nil).Job.ID
	b.awaitState(t, insert(t, b, client, "passing", &river.InsertOpts{Queue: "other"}).Job.ID, rivertype.JobStateCompleted)
	if job := b.get(t, held); job.State != rivertype.JobStateAvailable {
		t.Errorf("a job of a paused queue is %s", job.State)
	}
	if err := client.QueueResume(b.ctx, river.QueueDefault, nil); err != nil {
		t.Fatal(err)
	}
	b.awaitState(t, held, rivertype.JobStateCompleted)
}

func testQueues(t *testing.T, b *bench) {
	for _, name := range []string{"b", "a", "old"} {
		params := &riverdriver.QueueCreateOrSetUpdatedAtParams{Metadata: []byte(`{"k":1}`), Name: name, Schema: b.schema}
		if name == "old" {
			params.UpdatedAt = ago(48 * time.Hour)
		}
		for range 2 {
			if _, err := b.exec.QueueCreateOrSetUpdatedAt(b.ctx, params); err != nil {
				t.Fatal(err)
			}
		}
	}
	names, err := b.exec.QueueNameList(b.ctx, &riverdriver.QueueNameListParams{Exclude: []string{"old"}, Max: 10, Schema: b.schema})
	if err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("got %v, error %v", names, err)
	}
	queue, err := b.exec.QueueUpdate(b.ctx, &riverdriver.QueueUpdateParams{
		Metadata: []byte(`{"k":2}`), MetadataDoUpdate: true, Name: "a", Schema: b.schema,
	})
	if err != nil || !strings.Contains(string(queue.Metadata), "2") {
		t.Errorf("got %+v, error %v", queue, err)
	}
	if err := b.exec.QueuePause(b.ctx, &riverdriver.QueuePauseParams{Name: riverdriver.AllQueuesString, Schema: b.schema}); err != nil {
		t.Fatal(err)
	}
	if err := b.exec.QueuePause(b.ctx, &riverdriver.QueuePauseParams{Name: "none", Schema: b.schema}); !errors.Is(err, rivertype.ErrNotFound) {
		t.Errorf("pause a queue that does not exist: got error %v", err)
	}
	if err := b.exec.QueueResume(b.ctx, &riverdriver.QueueResumeParams{Name: "a", Schema: b.schema}); err != nil {
		t.Fatal(err)
	}
	for name, wantPaused := range map[string]bool{"a": false, "b": true} {
		if queue, err := b.exec.QueueGet(b.ctx, &riverdriver.QueueGetParams{Name: name, Schema: b.schema}); err != nil || (queue.PausedAt != nil) != wantPaused {
			t.Errorf("got %+v, error %v, want paused %t", queue, err, wantPaused)
		}
	}
	// Pausing has touched the old queue, too.
	deleted, err := b.exec.QueueDeleteExpired(b.ctx, &riverdriver.QueueDeleteExpiredParams{
		Max: 10, Schema: b.schema, UpdatedAtHorizon: time.Now().Add(time.Hour),
	})
	slices.Sort(deleted)
	if err != nil || !slices.Equal(deleted, []string{"a", "b", "old"}) {
		t.Errorf("got %v, error %v", deleted, err)
	}
}

func testRetention(t *testing.T, b *bench) {
	finalized := func(state rivertype.JobState, since time.Duration, queue string) int64 {
		return b.put(t, riverdriver.JobInsertFullParams{FinalizedAt: ago(since), Queue: queue, State: state}).ID
	}
	old := []int64{
		finalized(rivertype.JobStateCompleted, 2*time.Hour, ""),
		finalized(rivertype.JobStateCancelled, 2*time.Hour, ""),
	}
	kept := []int64{
		finalized(rivertype.JobStateCompleted, time.Minute, ""),
		finalized(rivertype.JobStateDiscarded, 2*time.Hour, ""),
		finalized(rivertype.JobStateCompleted, 2*time.Hour, "archive"),
		b.put(t, riverdriver.JobInsertFullParams{State: rivertype.JobStateAvailable}).ID,
	}
	horizon := time.Now().Add(-time.Hour)
	params := &riverdriver.JobDeleteBeforeParams{
		CancelledDoDelete: true, CancelledFinalizedAtHorizon: horizon, CompletedDoDelete: true, CompletedFinalizedAtHorizon: horizon,
		DiscardedDoDelete: false, DiscardedFinalizedAtHorizon: horizon, Max: 1, QueuesExcluded: []string{"archive"}, Schema: b.schema,
	}
	for round, want := range []int{1, 1, 0} {
		if n, err := b.exec.JobDeleteBefore(b.ctx, params); err != nil || n != want {
			t.Errorf("round %d: deleted %d, error %v, want %d", round, n, err, want)
		}
	}
	left, err := b.exec.JobGetByIDMany(b.ctx, &riverdriver.JobGetByIDManyParams{ID: slices.Concat(old, kept), Schema: b.schema})
	slices.Sort(kept)
	if err != nil || !slices.Equal(ids(left), kept) {
		t.Errorf("got %v, error %v, want %v", ids(left), err, kept)
	}
}

func testDelete(t *testing.T, b *bench) {
	client := b.inserter(t)
	waiting := b.put(t, riverdriver.JobInsertFullParams{State: rivertype.JobStateAvailable})
	running := b.put(t, riverdriver.JobInsertFullParams{AttemptedAt: ago(0), State: rivertype.JobStateRunning})
	if job, err := client.JobDelete(b.ctx, waiting.ID); err != nil || job.ID != waiting.ID {
		t.Errorf("got %+v, error %v", job, err)
	}
	if _, err := client.JobDelete(b.ctx, waiting.ID); !errors.Is(err, rivertype.ErrNotFound) {
		t.Errorf("again: got error %v, want ErrNotFound", err)
	}
	if _, err := client.JobDelete(b.ctx, running.ID); !errors.Is(err, rivertype.ErrJobRunning) {
		t.Errorf("a running job: got error %v, want ErrJobRunning", err)
	}
	for range 3 {
		b.put(t, riverdriver.JobInsertFullParams{Kind: "other", State: rivertype.JobStateAvailable})
	}
	result, err := client.JobDeleteMany(b.ctx, river.NewJobDeleteManyParams().Kinds("other", "task").First(100))
	if err != nil || len(result.Jobs) != 3 || !slices.IsSorted(ids(result.Jobs)) {
		t.Errorf("got %+v, error %v, want three jobs", result, err)
	}
	b.get(t, running.ID)
}

func testListAndCount(t *testing.T, b *bench) {
	client := b.inserter(t)
	a := b.put(t, riverdriver.JobInsertFullParams{Metadata: []byte(`{"tenant":"x"}`), State: rivertype.JobStateAvailable, Tags: []string{"red", "big"}})
	c := b.put(t, riverdriver.JobInsertFullParams{Kind: "other", State: rivertype.JobStateScheduled, Tags: []string{"red"}})
	b.put(t, riverdriver.JobInsertFullParams{FinalizedAt: ago(0), State: rivertype.JobStateCompleted})
	for name, test := range map[string]struct {
		params *river.JobListParams
		want   []int64
	}{
		"kind":     {river.NewJobListParams().Kinds("other"), []int64{c.ID}},
		"state":    {river.NewJobListParams().States(rivertype.JobStateAvailable, rivertype.JobStateScheduled), []int64{a.ID, c.ID}},
		"metadata": {river.NewJobListParams().Metadata(`{"tenant":"x"}`), []int64{a.ID}},
		"all tags": {river.NewJobListParams().TagsAll("red", "big"), []int64{a.ID}},
		"any tag":  {river.NewJobListParams().TagsAny("red", "small"), []int64{a.ID, c.ID}},
		"queue":    {river.NewJobListParams().Queues("none"), nil},
	} {
		result, err := client.JobList(b.ctx, test.params)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		slices.Sort(test.want)
		if got := ids(result.Jobs); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	counts, err := b.exec.JobCountByAllStates(b.ctx, &riverdriver.JobCountByAllStatesParams{Schema: b.schema})
	if err != nil || counts[rivertype.JobStateAvailable] != 1 || counts[rivertype.JobStateCompleted] != 1 || counts[rivertype.JobStateRunning] != 0 {
		t.Errorf("got counts %v, error %v", counts, err)
	}
	byQueue, err := b.exec.JobCountByQueueAndState(b.ctx, &riverdriver.JobCountByQueueAndStateParams{
		QueueNames: []string{river.QueueDefault, "none"}, Schema: b.schema,
	})
	if err != nil || len(byQueue) != 2 || byQueue[0].CountAvailable != 1 || byQueue[1].CountAvailable != 0 {
		t.Errorf("got counts %v, error %v", byQueue, err)
	}
	kinds, err := b.exec.JobKindList(b.ctx, &riverdriver.JobKindListParams{Max: 10, Schema: b.schema})
	if err != nil || !slices.Equal(kinds, []string{"other", "task"}) {
		t.Errorf("got kinds %v, error %v", kinds, err)
	}
	byKind, err := b.exec.JobGetByKindMany(b.ctx, &riverdriver.JobGetByKindManyParams{Kind: []string{"other"}, Schema: b.schema})
	if err != nil || !slices.Equal(ids(byKind), []int64{c.ID}) {
		t.Errorf("got %v, error %v", ids(byKind), err)
	}
}

func testUpdateMetadata(t *testing.T, b *bench) {
	job := b.put(t, riverdriver.JobInsertFullParams{Metadata: []byte(`{"a":1}`), State: rivertype.JobStateAvailable})
	got, err := b.exec.JobUpdate(b.ctx, &riverdriver.JobUpdateParams{
		ID: job.ID, Metadata: []byte(`{"b":2}`), MetadataDoMerge: true, Schema: b.schema,
	})
	if err != nil || string(got.Metadata) != `{"a": 1, "b": 2}` {
		t.Errorf("got %s, error %v", got.Metadata, err)
	}
	full, err := b.exec.JobUpdateFull(b.ctx, &riverdriver.JobUpdateFullParams{
		Attempt: 4, AttemptDoUpdate: true, Errors: [][]byte{[]byte(`{"error":"x"}`)}, ErrorsDoUpdate: true, ID: job.ID, Schema: b.schema,
	})
	if err != nil || full.Attempt != 4 || len(full.Errors) != 1 || full.Errors[0].Error != "x" {
		t.Errorf("got %+v, error %v", full, err)
	}
}
