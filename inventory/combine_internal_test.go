package inventory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

// wishOf is a claim of one seat's show by somebody.
func wishOf(show uuid.UUID, key string) wish {
	return wish{
		actor: tenants.Actor{Tenant: tenants.TenantID{UUID: uuid.NameSpaceDNS}}, scope: "test", requestKey: key, hold: uuid.New(),
		claim: claim{region: "eu", shows: []uuid.UUID{show}, unitRows: 1},
	}
}

// gate is a decide that lets each batch wait until it is opened, and notes the keys of batches.
type gate struct {
	mu      sync.Mutex
	batches [][]string
	opened  chan error
}

func (g *gate) decide(_ context.Context, wishes []wish) ([]answer, error) {
	g.mu.Lock()
	keys := make([]string, len(wishes))
	for i, w := range wishes {
		keys[i] = w.requestKey
	}
	g.batches = append(g.batches, keys)
	g.mu.Unlock()
	if err := <-g.opened; err != nil {
		return nil, err
	}
	answers := make([]answer, len(wishes))
	for i, w := range wishes {
		answers[i].hold = Hold{ID: HoldID{Region: "eu", UUID: w.hold}}
	}
	return answers, nil
}

func newGate(longest, largest int) (*combiner, *gate) {
	g := &gate{opened: make(chan error)}
	c := newCombiner(longest, largest)
	c.decide = g.decide
	return c, g
}

func TestClaimsThatArriveDuringABatchAreTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, g := newGate(100, 3)
		show := uuid.New()
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				key := fmt.Sprint(i)
				if i == 5 {
					key = "4" // a double click
				}
				if hold, err := c.place(t.Context(), wishOf(show, key)); err != nil || hold.ID.IsZero() {
					t.Errorf("claim %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		// Another show waits for nobody.
		group.Go(func() {
			if _, err := c.place(t.Context(), wishOf(uuid.New(), "other")); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 5 {
			g.opened <- nil
			synctest.Wait()
		}
		group.Wait()
		if got := fmt.Sprint(g.batches); got != "[[0] [other] [1 2 3] [4] [4]]" {
			t.Errorf("the batches were %s", got)
		}
		if len(c.queues) != 0 {
			t.Errorf("%d queues are left", len(c.queues))
		}
	})
}

func TestAFullQueueIsBusyAndWhoHasGoneCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, g := newGate(2, 10)
		show := uuid.New()
		leaving, leave := context.WithCancel(t.Context())
		results := make([]error, 4)
		var group sync.WaitGroup
		for i, ctx := range []context.Context{t.Context(), leaving, t.Context(), t.Context()} {
			group.Go(func() { _, results[i] = c.place(ctx, wishOf(show, fmt.Sprint(i))) })
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		g.opened <- nil
		synctest.Wait()
		g.opened <- nil
		group.Wait()
		var refusal *Refusal
		if !errors.As(results[3], &refusal) || refusal.Code != RefusalBusy || refusal.RetryAfter <= 0 {
			t.Errorf("the claim beyond the queue's limit got %v", results[3])
		}
		if fault.KindOf(results[1]) != fault.KindUnavailable {
			t.Errorf("the claim of the caller who left got %v", results[1])
		}
		if results[0] != nil || results[2] != nil {
			t.Errorf("the others got %v and %v", results[0], results[2])
		}
		if got := fmt.Sprint(g.batches); got != "[[0] [2]]" {
			t.Errorf("the batches were %s", got)
		}
	})
}

func TestABatchThatFailsIsDecidedOneByOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure error
		want    string
	}{
		"for a reason of its own":       {errors.New("one wish broke the batch"), "[[a b c] [a] [b] [c]]"},
		"because the database was away": {fault.Unavailable(nil, "the database is away"), "[[a b c]]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				combiner, g := newGate(10, 10)
				show := uuid.New()
				var batch []*waiter
				for _, key := range []string{"a", "b", "c"} {
					batch = append(batch, &waiter{ctx: t.Context(), wish: wishOf(show, key), answer: make(chan answer, 1)})
				}
				go combiner.answer(batch)
				g.opened <- c.failure
				synctest.Wait()
				for len(g.batches) > 1 && len(batch[2].answer) == 0 {
					g.opened <- nil
					synctest.Wait()
				}
				if got := fmt.Sprint(g.batches); got != c.want {
					t.Errorf("the batches were %s, want %s", got, c.want)
				}
				for _, w := range batch {
					if a := <-w.answer; (a.err == nil) != (len(g.batches) > 1) {
						t.Errorf("%s got %v", w.wish.requestKey, a.err)
					}
				}
			})
		})
	}
}
