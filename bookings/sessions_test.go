package bookings_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/tenants"
)

// Somebody who opens hundreds of sessions and has one card gets no more with them than the terms allow:
// so many places for each session, whatever they race for, and so many payments at once for the card.
func TestHundredsOfSessionsOfOneCardStayWithinItsLimits(t *testing.T) {
	t.Parallel()
	b := open(t)
	const sessions, paying, perSession, perCard = 300, 20, 2, 3
	hall := b.Hall(0, inventorytest.PoolOf("Field", 10*sessions, 4))
	b.SetTerms(inventory.TermsChange{
		MaxUnitsPerBuyer: inventorytest.Of[int64](perSession), MaxActiveHoldsPerInstrument: inventorytest.Of[int64](perCard),
	})
	guests := make([]inventorytest.Buyer, sessions)
	for i := range guests {
		actor := b.Widget
		actor.Session = ids.New[tenants.SessionKind](inventorytest.Region)
		guests[i] = b.Buyer(actor)
	}
	// Each asks for two places, twice.
	holds := make([]inventory.Hold, 2*sessions)
	for i, err := range inventorytest.Race(len(holds), func(i int) (err error) {
		for {
			holds[i], err = guests[i/2].Try(hall.Pools[0].Units(perSession))
			var refusal *inventory.Refusal
			if !errors.As(err, &refusal) || refusal.Code != inventory.RefusalBusy {
				return err
			}
		}
	}) {
		if err != nil && b.Explain(err) != "LIMIT_PER_BUYER left 0 limit 2" {
			t.Fatalf("%d: %s", i, b.Explain(err))
		}
	}
	if count := hall.Pools[0].Count(); count.Held != sessions*perSession {
		t.Errorf("%d sessions hold %d places, want %d each", sessions, count.Held, perSession)
	}
	var live []int
	for i, hold := range holds {
		if !hold.ID.IsZero() && len(live) < paying {
			live = append(live, i)
		}
	}
	started := 0
	for _, err := range inventorytest.Race(len(live), func(n int) error {
		i := live[n]
		for {
			_, err := b.TryPay(guests[i/2], holds[i], fmt.Sprintf("tok_pending_approve_after_%ds:card-of-one", 500+n))
			var refusal *inventory.Refusal
			if !errors.As(err, &refusal) || refusal.Code != inventory.RefusalBusy {
				return err
			}
		}
	}) {
		switch {
		case err == nil:
			started++
		case b.Explain(err) != "LIMIT_PER_INSTRUMENT":
			t.Error(b.Explain(err))
		}
	}
	if started != perCard {
		t.Errorf("%d payments of one card are under way, want %d", started, perCard)
	}
	b.Tenant.Audit()
}
