package db_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
)

// meeting lets a number of transactions wait for each other once, in their first run.
type meeting struct{ group sync.WaitGroup }

func newMeeting(n int) *meeting {
	m := &meeting{}
	m.group.Add(n)
	return m
}

func (m *meeting) wait() {
	m.group.Done()
	m.group.Wait()
}

func TestInTxRestartsOnSerializationFailure(t *testing.T) {
	t.Parallel()
	d, c := dbtest.Open(t), newCounter(t)
	const writers = 2
	bothRead := newMeeting(writers)
	var runs [writers]int
	var workers sync.WaitGroup
	for i := range writers {
		workers.Go(func() {
			_, err := db.InTx(t.Context(), d, "test.restart", void(func(ctx context.Context, tx pgx.Tx) error {
				runs[i]++
				held, err := c.read(ctx, tx)
				if err != nil {
					return err
				}
				if runs[i] == 1 {
					bothRead.wait()
				}
				return c.set(ctx, tx, held+1)
			}))
			if err != nil {
				t.Errorf("InTx: %v", err)
			}
		})
	}
	workers.Wait()
	c.want(t, writers)
	if runs[0]+runs[1] <= writers {
		t.Errorf("runs: %v, want a restart", runs)
	}
}

func TestInTxRestartsOnDeadlock(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	counters := [2]counter{newCounter(t), newCounter(t)}
	bothLocked := newMeeting(2)
	var runs [2]int
	var workers sync.WaitGroup
	for i := range 2 {
		workers.Go(func() {
			_, err := db.InTx(t.Context(), d, "test.deadlock", void(func(ctx context.Context, tx pgx.Tx) error {
				runs[i]++
				if _, err := counters[i].add(ctx, tx); err != nil {
					return err
				}
				if runs[i] == 1 {
					bothLocked.wait()
				}
				_, err := counters[1-i].add(ctx, tx)
				return err
			}))
			if err != nil {
				t.Errorf("InTx: %v", err)
			}
		})
	}
	workers.Wait()
	counters[0].want(t, 2)
	counters[1].want(t, 2)
	if runs[0]+runs[1] < 3 {
		t.Errorf("runs: %v, want a restart", runs)
	}
}

func TestInTxReturnsTheErrorAsItIsAndRollsBack(t *testing.T) {
	t.Parallel()
	d, c := dbtest.Open(t), newCounter(t)
	refused := errors.New("sold out")
	got, err := db.InTx(t.Context(), d, "test.refuse", func(ctx context.Context, tx pgx.Tx) (int64, error) {
		held, err := c.add(ctx, tx)
		if err != nil {
			return 0, err
		}
		return held, refused
	})
	if err != refused { //nolint:errorlint // the very same error is the promise
		t.Errorf("error %v, want the function's own", err)
	}
	if got != 0 {
		t.Errorf("result %d beside an error, want none", got)
	}
	c.want(t, 0)
}

func TestInTxResultComesFromTheRunThatCommitted(t *testing.T) {
	t.Parallel()
	d, proxy := behindProxy(t)
	c := newCounter(t)
	proxy.SpoilCommits(dbtest.CommitConflict, dbtest.CommitConflict)
	runs := 0
	got, err := db.InTx(t.Context(), d, "test.result", func(ctx context.Context, tx pgx.Tx) (int, error) {
		runs++
		_, err := c.add(ctx, tx)
		return runs, err
	})
	if err != nil || got != 3 || runs != 3 {
		t.Errorf("result %d of %d runs, error %v; want the third of three", got, runs, err)
	}
	c.want(t, 1)
}

func TestInTxGivesTheConnectionBackWhenTheFunctionPanics(t *testing.T) {
	t.Parallel()
	d := open(t, db.Config{URL: dbtest.URL(t), MaxConnections: 1})
	c := newCounter(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = db.InTx(t.Context(), d, "test.panic", func(ctx context.Context, tx pgx.Tx) (int64, error) {
			if _, err := c.add(ctx, tx); err != nil {
				return 0, err
			}
			panic("a defect")
		})
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := db.InTx(ctx, d, "test.afterPanic", c.add); err != nil {
		t.Errorf("InTx after a panic: %v", err)
	}
	c.want(t, 1)
}

func TestInTxNeverCommitsABrokenTransaction(t *testing.T) {
	t.Parallel()
	d, c := dbtest.Open(t), newCounter(t)

	t.Run("the error is swallowed", func(t *testing.T) {
		t.Parallel()
		_, err := db.InTx(t.Context(), d, "test.swallowed", func(ctx context.Context, tx pgx.Tx) (int64, error) {
			held, err := c.add(ctx, tx)
			if err != nil {
				return 0, err
			}
			_, _ = tx.Exec(ctx, "SELECT 1 / 0")
			return held, nil
		})
		if err == nil || errors.Is(err, db.ErrOutcomeUnknown) || fault.KindOf(err) != fault.KindInternal {
			t.Errorf("error %v, want a defect with a known outcome", err)
		}
	})
	t.Run("a statement follows", func(t *testing.T) {
		t.Parallel()
		_, err := db.InTx(t.Context(), d, "test.following", func(ctx context.Context, tx pgx.Tx) (int64, error) {
			_, _ = tx.Exec(ctx, "SELECT 1 / 0")
			return c.add(ctx, tx)
		})
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != "25P02" {
			t.Errorf("error %v, want 25P02", err)
		}
	})
	t.Cleanup(func() {
		var held int64
		if err := d.Pool().QueryRow(context.Background(), "SELECT held FROM pool_counters WHERE tenant_id = $1::uuid", c.tenant).Scan(&held); err != nil || held != 0 {
			t.Errorf("the counter is %d (%v), want 0", held, err)
		}
	})
}

func TestInTxNamesTheViolatedConstraint(t *testing.T) {
	t.Parallel()
	d, c := dbtest.Open(t), newCounter(t)
	_, err := db.InTx(t.Context(), d, "test.check", void(func(ctx context.Context, tx pgx.Tx) error {
		return c.set(ctx, tx, 1001)
	}))
	if got := db.ViolatedConstraint(err); got != "pool_counters_ceiling" {
		t.Errorf("violated constraint %q of %v, want pool_counters_ceiling", got, err)
	}
}

// overtake makes every run of a transaction lose: between its read and its write somebody else
// changes the row.
func overtake(d *db.DB, c counter, runs *int) func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
	return void(func(ctx context.Context, tx pgx.Tx) error {
		*runs++
		held, err := c.read(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := d.Pool().Exec(ctx, "UPDATE pool_counters SET booked = booked + 1 WHERE tenant_id = $1::uuid", c.tenant); err != nil {
			return err
		}
		return c.set(ctx, tx, held+1)
	})
}

func TestInTxGivesUpOnContention(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	check := func(t *testing.T, err error) {
		t.Helper()
		if !errors.Is(err, db.ErrContention) {
			t.Errorf("error %v, want ErrContention in the chain", err)
		}
		if fault.KindOf(err) != fault.KindUnavailable || !strings.Contains(err.Error(), "try again") || strings.Contains(err.Error(), "pool_counters") {
			t.Errorf("the caller hears %v (%v), want unavailable, try again, and no table", err, fault.KindOf(err))
		}
	}
	t.Run("too many attempts", func(t *testing.T) {
		t.Parallel()
		c, runs := newCounter(t), 0
		_, err := db.InTx(t.Context(), db.WithLimits(d, 3, patience), "test.attempts", overtake(d, c, &runs))
		check(t, err)
		// CockroachDB counts retries, not runs.
		if runs < 3 || runs > 4 {
			t.Errorf("%d runs, want 3 or 4", runs)
		}
		c.want(t, 0)
	})
	t.Run("too long", func(t *testing.T) {
		t.Parallel()
		c, runs := newCounter(t), 0
		_, err := db.InTx(t.Context(), db.WithLimits(d, 1_000_000, 2*time.Second), "test.duration", overtake(d, c, &runs))
		check(t, err)
		c.want(t, 0)
	})
}

func TestInTxEndsWithItsContext(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)

	t.Run("before it begins", func(t *testing.T) {
		t.Parallel()
		c := newCounter(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := db.InTx(ctx, d, "test.cancelledBefore", c.add)
		wantGivenUp(t, err)
		c.want(t, 0)
	})
	t.Run("while a statement waits for a lock", func(t *testing.T) {
		t.Parallel()
		c := newCounter(t)
		blocker, err := d.Pool().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = blocker.Rollback(context.WithoutCancel(t.Context())) }()
		if _, err := c.add(t.Context(), blocker); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		entered := make(chan struct{})
		go func() {
			_, err := db.InTx(ctx, d, "test.cancelledWaiting", func(ctx context.Context, tx pgx.Tx) (int64, error) {
				close(entered)
				return c.add(ctx, tx)
			})
			done <- err
		}()
		<-entered
		cancel()
		select {
		case err := <-done:
			wantGivenUp(t, err)
		case <-time.After(patience):
			t.Fatal("InTx outlives its context")
		}
		if err := blocker.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := db.InTx(t.Context(), d, "test.afterCancel", c.add); err != nil {
			t.Errorf("the row is not free again: %v", err)
		}
		c.want(t, 1)
	})
	t.Run("before the commit", func(t *testing.T) {
		t.Parallel()
		c := newCounter(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := db.InTx(ctx, d, "test.cancelledAtCommit", func(ctx context.Context, tx pgx.Tx) (int64, error) {
			held, err := c.add(ctx, tx)
			cancel()
			return held, err
		})
		wantGivenUp(t, err)
		c.want(t, 0)
	})
}

// wantGivenUp also says that the outcome is known: nothing happened.
func wantGivenUp(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) || errors.Is(err, db.ErrOutcomeUnknown) || fault.KindOf(err) != fault.KindUnavailable {
		t.Errorf("error %v (%v), want unavailable because of the context, and nothing unknown", err, fault.KindOf(err))
	}
}

func TestInTxOutlivesATerminatedConnection(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	if d.Engine() == db.EngineCockroachDB {
		t.Skip("CockroachDB has no pg_terminate_backend; the proxy tests cut connections there")
	}
	c := newCounter(t)
	var pids []int64
	_, err := db.InTx(t.Context(), d, "test.terminated", void(func(ctx context.Context, tx pgx.Tx) error {
		var pid int64
		if err := tx.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			return err
		}
		pids = append(pids, pid)
		if len(pids) == 1 {
			// Only the session of this very transaction is ended.
			if _, err := d.Pool().Exec(ctx, "SELECT pg_terminate_backend($1::bigint::integer)", pid); err != nil {
				return err
			}
		}
		_, err := c.add(ctx, tx)
		return err
	}))
	if err != nil || len(pids) != 2 || pids[0] == pids[1] {
		t.Errorf("error %v, sessions %v; want success on a second session", err, pids)
	}
	c.want(t, 1)
}

func TestInSnapshotReadsOneState(t *testing.T) {
	t.Parallel()
	d, c := dbtest.Open(t), newCounter(t)
	got, err := db.InSnapshot(t.Context(), d, func(ctx context.Context, tx pgx.Tx) ([2]int64, error) {
		var seen [2]int64
		var err error
		if seen[0], err = c.read(ctx, tx); err != nil {
			return seen, err
		}
		if _, err := db.InTx(ctx, d, "test.besideSnapshot", c.add); err != nil {
			return seen, err
		}
		seen[1], err = c.read(ctx, tx)
		return seen, err
	})
	if err != nil || got[0] != got[1] {
		t.Errorf("read %v, error %v; want twice the same", got, err)
	}
}

// A snapshot knows its instant: what is committed after it is neither seen nor counted as earlier.
func TestInSnapshotAsOf(t *testing.T) {
	t.Parallel()
	d := open(t, db.Config{URL: dbtest.URL(t), MaxStaleness: time.Second})
	// On CockroachDB the table has to be as old as the read.
	c := newCounter(t)
	for _, options := range [][]db.ReadOption{nil, {db.Stale(time.Millisecond)}} {
		var before, after time.Time
		const clock = "SELECT clock_timestamp()"
		if err := d.Pool().QueryRow(t.Context(), clock).Scan(&before); err != nil {
			t.Fatal(err)
		}
		asOf, err := db.InSnapshotAsOf(t.Context(), d, func(ctx context.Context, s db.Snapshot) (time.Time, error) {
			if _, err := c.read(ctx, s.Tx); err != nil {
				return time.Time{}, err
			}
			return s.AsOf(ctx)
		}, options...)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Pool().QueryRow(t.Context(), clock).Scan(&after); err != nil {
			t.Fatal(err)
		}
		if asOf.Before(before.Add(-time.Millisecond)) || asOf.After(after) {
			t.Errorf("as of %s, want between %s and %s", asOf, before, after)
		}
	}
}

func TestInSnapshotRefusesWrites(t *testing.T) {
	t.Parallel()
	d, c := dbtest.Open(t), newCounter(t)
	_, err := db.InSnapshot(t.Context(), d, c.add)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "25006" {
		t.Errorf("error %v, want 25006", err)
	}
	c.want(t, 0)
}

func TestInSnapshotRunsAgainOnAnotherConnection(t *testing.T) {
	t.Parallel()
	d, proxy := behindProxy(t)
	c := newCounter(t)
	runs := 0
	got, err := db.InSnapshot(t.Context(), d, func(ctx context.Context, tx pgx.Tx) (int64, error) {
		runs++
		if runs == 1 {
			proxy.Cut()
		}
		return c.read(ctx, tx)
	})
	if err != nil || got != 0 || runs != 2 {
		t.Errorf("%d runs, error %v; want success in the second", runs, err)
	}
}

func TestClassifyKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	defect := errors.New("a defect")
	if got := db.Classify(defect); got != defect { //nolint:errorlint // the very same error is the promise
		t.Errorf("Classify changed %v to %v", defect, got)
	}
	refusal := fault.Conflict("not now")
	if got := db.Classify(refusal); !errors.Is(got, refusal) || fault.KindOf(got) != fault.KindConflict {
		t.Errorf("Classify changed a fault to %v", got)
	}
	if got := db.Classify(nil); got != nil {
		t.Errorf("Classify(nil) = %v", got)
	}
	if !db.IsNoRows(dbtest.Open(t).Pool().QueryRow(t.Context(), "SELECT held FROM pool_counters WHERE tenant_id = $1::uuid", uuid.New()).Scan(new(int64))) {
		t.Error("IsNoRows does not know an empty result")
	}
}
