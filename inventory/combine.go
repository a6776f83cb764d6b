package inventory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
)

// combiner lets claims of one show or property share transactions. One transaction a buyer spends
// its time on round trips and on waiting for the rows that every buyer wants; so while one batch of a
// show is being written, the claims that arrive wait together and are the next batch. An idle show
// makes nobody wait: the first claim is a batch of one.
//
// It decides nothing: several processes have a combiner each, and the database stays the judge.
type combiner struct {
	decide func(ctx context.Context, wishes []wish) ([]answer, error)
	mu     sync.Mutex
	// queues has an entry for each owner of stock whose claims are being decided.
	queues map[owner]*queue
	// owners remembers which show a pool is of, and which property a room type is of.
	owners *lru.Cache[uuid.UUID, uuid.UUID]
	// longest bounds a queue, largest a batch.
	longest, largest int
	metrics          *claimMetrics
}

// owner is what a queue is for: a show or property of a tenant. A pool or room type that was not met
// before stands for its own.
type owner struct {
	place
	stock uuid.UUID
}

// queue is the claims that wait for the batch under way.
type queue struct {
	waiting []*waiter
}

type waiter struct {
	ctx    context.Context //nolint:containedctx // a caller that has gone is left out of the batch
	wish   wish
	answer chan answer
	// arrived is for the metrics alone.
	arrived time.Time
}

func newCombiner(longest, largest int) *combiner {
	owners, err := lru.New[uuid.UUID, uuid.UUID](maxKnownOwners)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return &combiner{queues: map[owner]*queue{}, owners: owners, longest: longest, largest: largest, metrics: newClaimMetrics()}
}

// learn remembers where stock belongs, for the claims to come.
func (c *combiner) learn(f facts) {
	for id, pool := range f.pools {
		c.owners.Add(id, pool.show)
	}
	for id, room := range f.rooms {
		c.owners.Add(id, room.property)
	}
}

// ownerOf is the one show or property that a claim is about. A claim of several has none.
func (c *combiner) ownerOf(w wish) (owner, bool) {
	found := owner{place: placeOf(w.actor.Tenant, w.claim.region)}
	several := false
	note := func(stock uuid.UUID) {
		several = several || found.stock != uuid.Nil && found.stock != stock
		found.stock = stock
	}
	for _, show := range w.claim.shows {
		note(show)
	}
	for _, list := range [][]uuid.UUID{w.claim.pools, w.claim.rooms} {
		for _, id := range list {
			known, ok := c.owners.Get(id)
			if !ok {
				known = id
			}
			note(known)
		}
	}
	return found, !several
}

// place has a wish decided, and waits for it. A full queue is answered with BUSY. A caller that goes
// away before its batch begins costs nothing; after that its request key tells what became of it.
func (c *combiner) place(ctx context.Context, w wish) (Hold, error) {
	of, ok := c.ownerOf(w)
	if !ok {
		return c.alone(ctx, w)
	}
	waiting := &waiter{ctx: ctx, wish: w, answer: make(chan answer, 1), arrived: time.Now()}
	c.mu.Lock()
	line, busy := c.queues[of]
	if !busy {
		line = &queue{}
		c.queues[of] = line
	}
	if len(line.waiting) >= c.longest {
		c.mu.Unlock()
		c.metrics.busy.WithLabelValues(busyQueue).Inc()
		return Hold{}, Busy()
	}
	line.waiting = append(line.waiting, waiting)
	c.metrics.waiting.Inc()
	c.mu.Unlock()
	if !busy {
		go c.drain(of, line) //nolint:contextcheck // a batch is of many callers; each waiter has its own context
	}
	select {
	case a := <-waiting.answer:
		return a.hold, a.err
	case <-ctx.Done():
		return Hold{}, fault.Unavailable(ctx.Err(), "the request was given up before it was decided; the same request key tells what became of it")
	}
}

// drain decides the claims of one owner batch by batch, until none waits.
func (c *combiner) drain(of owner, line *queue) {
	for {
		batch := c.next(of, line)
		if batch == nil {
			return
		}
		c.answer(batch)
	}
}

// next takes the next batch from a queue, in the order of arrival, and closes a queue that is empty.
// Of several waiters with one request key, one is in a batch: the next is answered as it was.
func (c *combiner) next(of owner, line *queue) []*waiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	var batch, later []*waiter
	keys := map[[2]string]bool{}
	rows := 0
	for i, w := range line.waiting {
		if w.ctx.Err() != nil {
			c.metrics.waiting.Dec()
			continue
		}
		key := [2]string{w.wish.scope, w.wish.requestKey}
		if len(batch) == c.largest || rows >= maxBatchUnits {
			later = append(later, line.waiting[i:]...)
			break
		}
		if keys[key] {
			later = append(later, w)
			continue
		}
		keys[key] = true
		rows += w.wish.claim.unitRows
		batch = append(batch, w)
		c.metrics.waiting.Dec()
		c.metrics.wait.Observe(time.Since(w.arrived).Seconds())
	}
	line.waiting = later
	if len(batch) == 0 {
		delete(c.queues, of)
	}
	return batch
}

// answer decides a batch. When it fails as a whole, its wishes are decided one by one, so that none
// is harmed by another; only a database that is away answers them all alike.
func (c *combiner) answer(batch []*waiter) {
	c.metrics.size.Observe(float64(len(batch)))
	if len(batch) == 1 {
		hold, err := c.alone(batch[0].ctx, batch[0].wish)
		batch[0].answer <- answer{hold: hold, err: err}
		return
	}
	wishes := make([]wish, len(batch))
	for i, w := range batch {
		wishes[i] = w.wish
	}
	// It is nobody's own request, so no single caller's leaving ends it; the transaction has a limit.
	answers, err := c.guarded(context.WithoutCancel(batch[0].ctx), wishes)
	for i, w := range batch {
		switch {
		case err == nil && !errors.Is(answers[i].err, errAlone):
			w.answer <- answers[i]
		case fault.KindOf(err) == fault.KindUnavailable && !errors.Is(err, db.ErrContention):
			w.answer <- answer{err: err}
		default:
			hold, err := c.alone(w.ctx, w.wish)
			w.answer <- answer{hold: hold, err: err}
		}
	}
}

// alone decides one wish in a transaction of its own.
func (c *combiner) alone(ctx context.Context, w wish) (Hold, error) {
	answers, err := c.guarded(ctx, []wish{w})
	switch {
	case errors.Is(err, db.ErrContention):
		c.metrics.busy.WithLabelValues(busyContention).Inc()
		return Hold{}, Busy()
	case err != nil:
		return Hold{}, err
	}
	return answers[0].hold, answers[0].err
}

// guarded keeps a defect that panics from ending the process, in which others wait.
func (c *combiner) guarded(ctx context.Context, wishes []wish) (answers []answer, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			answers, err = nil, fmt.Errorf("place holds: panic: %v", problem)
		}
	}()
	return c.decide(ctx, wishes)
}
