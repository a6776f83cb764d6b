package inventory

import (
	"context"
	"sync"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdfast/holdfast/internal/fault"
)

// turns lets the claims of one pool take turns within a process: as many at once as the pool has
// counters. Buyers of a hot pool all want the same row, and a serializable transaction that waited
// for a row starts over when the one before it commits; waiting here instead costs nothing and
// wastes no work. It decides nothing: other processes have turns of their own, and the database
// stays the judge.
type turns struct {
	mu sync.Mutex
	// pools has the queues in which somebody is.
	pools map[uuid.UUID]*turn
	// counters remembers how many counters a pool has; 1 is assumed of others.
	counters *lru.Cache[uuid.UUID, int64]
	// longest bounds a queue.
	longest int
}

// turn is the queue of one pool.
type turn struct {
	tokens chan struct{}
	users  int
}

func newTurns(longest int) *turns {
	counters, err := lru.New[uuid.UUID, int64](maxKnownPools)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return &turns{pools: map[uuid.UUID]*turn{}, counters: counters, longest: longest}
}

// learn notes how many counters a pool has, for the next queue that forms before it.
func (t *turns) learn(pool uuid.UUID, counters int64) {
	if known, ok := t.counters.Get(pool); !ok || known != counters {
		t.counters.Add(pool, counters)
	}
}

// enter waits for a turn at each pool, which must be sorted, and returns how to leave. A full queue
// is answered with BUSY, and a caller that has gone leaves the queue before it costs anything.
func (t *turns) enter(ctx context.Context, pools []uuid.UUID) (leave func(), err error) {
	var entered []uuid.UUID
	leave = func() {
		for _, pool := range entered {
			t.leave(pool, true)
		}
	}
	for _, pool := range pools {
		if err := t.wait(ctx, pool); err != nil {
			leave()
			return nil, err
		}
		entered = append(entered, pool)
	}
	return leave, nil
}

func (t *turns) wait(ctx context.Context, pool uuid.UUID) error {
	t.mu.Lock()
	queue, ok := t.pools[pool]
	if !ok {
		counters, known := t.counters.Get(pool)
		if !known {
			counters = 1
		}
		queue = &turn{tokens: make(chan struct{}, counters)}
		t.pools[pool] = queue
	}
	if queue.users >= t.longest {
		t.mu.Unlock()
		return Busy()
	}
	queue.users++
	t.mu.Unlock()
	select {
	case queue.tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		t.leave(pool, false)
		return fault.Unavailable(ctx.Err(), "the request was given up before its turn came")
	}
}

func (t *turns) leave(pool uuid.UUID, hadTurn bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue := t.pools[pool]
	if hadTurn {
		<-queue.tokens
	}
	if queue.users--; queue.users == 0 {
		delete(t.pools, pool)
	}
}
