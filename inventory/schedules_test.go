package inventory_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// The same operations from several buyers at once, with two sweepers and a clock among them. No
// model can tell who wins; but nothing breaks, and afterwards the books agree.
func TestConcurrentSchedulesKeepTheBooks(t *testing.T) {
	t.Parallel()
	d := ownDatabase(t)
	for _, honour := range []bool{true, false} {
		m := newModel(t, func(t *testing.T) *inventorytest.Tenant { return inventorytest.NewOn(t, d) }, honour, !honour)
		const workers, steps = 6, 50
		var lock sync.Mutex
		var returned []inventory.HoldID
		results := inventorytest.Race(workers+2, func(i int) error {
			random := rand.New(rand.NewPCG(uint64(i), 7))
			if i >= workers {
				for range 12 {
					if i == workers {
						m.tenant.Tick(modelTick * time.Second)
					}
					if _, err := m.tenant.Inventory.ExpireDue(t.Context(), 100); err != nil {
						return err
					}
				}
				return nil
			}
			w := worker{m: m, buyer: m.buyers[i%len(m.buyers)], random: random}
			for range steps {
				if err := w.step(); err != nil {
					return err
				}
			}
			lock.Lock()
			defer lock.Unlock()
			returned = append(returned, w.returned...)
			return nil
		})
		for _, err := range results {
			if err != nil {
				t.Error(err)
			}
		}
		m.tenant.Audit(returned...)
		if len(returned) == 0 {
			t.Error("nothing was ever sold and returned: the schedule proves little")
		}
	}
}

// worker does random things for a buyer. Only it confirms and cancels its holds, as bookings sees
// to; everything else may cross with anything.
type worker struct {
	m        *model
	buyer    inventorytest.Buyer
	random   *rand.Rand
	holds    []inventory.Hold
	sold     []inventory.Hold
	returned []inventory.HoldID
}

func (w *worker) step() error {
	action := w.random.IntN(10)
	if action < 4 || len(w.holds) == 0 {
		return w.place()
	}
	hold := w.holds[w.random.IntN(len(w.holds))]
	var err error
	switch action {
	case 4:
		_, err = w.buyer.TryExtend(hold)
	case 5:
		_, err = w.buyer.TryRelease(hold)
	case 6:
		_, err = w.m.tenant.Checkout(hold.ID)
	case 7:
		var confirmed inventory.Hold
		if confirmed, err = w.m.tenant.Confirm(hold.ID); err == nil {
			w.sold = append(w.sold, confirmed)
		}
	case 8:
		if _, err = w.m.tenant.Decline(hold.ID); err != nil && fault.KindOf(err) == fault.KindInternal {
			err = nil // it was not being paid
		}
	case 9:
		if n := len(w.sold); n > 0 {
			booked := w.sold[n-1]
			w.sold = w.sold[:n-1]
			if err = w.m.tenant.Return(booked); err == nil {
				w.returned = append(w.returned, booked.ID)
			}
		}
	}
	return expectedNo(err)
}

func (w *worker) place() error {
	var wishes []inventory.LineRequest
	if w.random.IntN(2) == 0 {
		seats := w.random.Perm(modelSeats)[:1+w.random.IntN(3)]
		for i := range seats {
			seats[i]++
		}
		wishes = append(wishes, w.m.hall.Seats(seats...))
	}
	if w.random.IntN(2) == 0 {
		wishes = append(wishes, w.m.hall.Pools[0].Units(1+w.random.Int64N(3)))
	}
	for _, room := range w.m.rooms {
		if w.random.IntN(2) == 0 {
			first := 1 + w.random.IntN(modelNights)
			wishes = append(wishes, room.Rooms(1+w.random.Int64N(2), first, first+1+w.random.IntN(modelNights+1-first)))
		}
	}
	if len(wishes) == 0 {
		return nil
	}
	hold, err := w.buyer.Try(wishes...)
	if err == nil {
		w.holds = append(w.holds, hold)
	}
	return expectedNo(err)
}

// expectedNo lets pass what a buyer may be told.
func expectedNo(err error) error {
	var refusal *inventory.Refusal
	if errors.As(err, &refusal) || errors.Is(err, inventorytest.ErrNotConfirmable) {
		return nil
	}
	return err
}
