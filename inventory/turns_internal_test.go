package inventory

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/fault"
)

func TestAsManyTurnsAsThePoolHasCounters(t *testing.T) {
	t.Parallel()
	for _, counters := range []int64{1, 4} {
		line := newTurns(100)
		pool := uuid.New()
		line.learn(pool, counters)
		var inside, most atomic.Int64
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				leave, err := line.enter(context.Background(), []uuid.UUID{pool})
				if err != nil {
					t.Error(err)
					return
				}
				now := inside.Add(1)
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				inside.Add(-1)
				leave()
			})
		}
		group.Wait()
		if got := most.Load(); got > counters {
			t.Errorf("%d were inside at once, the pool has %d counters", got, counters)
		}
		if len(line.pools) != 0 {
			t.Errorf("%d queues are left of nobody", len(line.pools))
		}
	}
}

func TestAFullQueueIsBusyAndAGoneCallerLeavesIt(t *testing.T) {
	t.Parallel()
	line := newTurns(2)
	pools := []uuid.UUID{uuid.New(), uuid.New()}
	leave, err := line.enter(t.Context(), pools)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := line.enter(ctx, pools[1:])
		gone <- err
	}()
	for waiting := 0; waiting < 2; {
		line.mu.Lock()
		waiting = line.pools[pools[1]].users
		line.mu.Unlock()
	}
	var refusal *Refusal
	if _, err := line.enter(t.Context(), pools[1:]); !errors.As(err, &refusal) || refusal.Code != RefusalBusy || refusal.RetryAfter <= 0 {
		t.Errorf("a full queue answers %v", err)
	}
	cancel()
	if err := <-gone; fault.KindOf(err) != fault.KindUnavailable {
		t.Errorf("a caller that has gone is told %v", err)
	}
	leave()
	if len(line.pools) != 0 {
		t.Errorf("%d queues are left of nobody", len(line.pools))
	}
}
