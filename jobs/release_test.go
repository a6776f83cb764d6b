package jobs_test

import (
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/policies"
)

// What is due for release is sold to others without a worker; a worker carries the rest out. Each release
// is told of once, whoever did it.
func TestDueAllotmentsAreReleasedAndToldOfOnce(t *testing.T) {
	t.Parallel()
	o := open(t)
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	o.Inventory = inventory.NewService(o.DB, enforcer, inventory.Announcing(bookings.NewAnnouncer(o.jobs)))
	partner, room := o.Partner("Tour operator"), o.Hotel().Stocked("Double", 3, 1, 5)
	rule := inventory.ReleaseRule{At: inventorytest.Of(o.Now().Add(time.Hour))}
	ofPool, ofNights := o.hall.Pools[0].Part(partner.Actor.Channel, 4), room.Nights(partner.Actor.Channel, 2, 1, 3)
	ofPool.Release, ofNights.Release = rule, rule
	first, second := o.Allot(ofPool), o.Allot(ofNights)
	o.TickAllotments(2 * time.Hour)

	o.Guest().Hold(o.hall.Pools[0].Units(10))
	expect(t, "what the claim needed", string(o.Allotment(first).State), "RELEASED")
	expect(t, "what nobody needed", string(o.Allotment(second).State), "DEFINITE")
	if n := o.Rows("outbox_events"); n != 1 {
		t.Errorf("%d events without a worker, want 1", n)
	}

	o.work(t, sweeping)
	o.Eventually("the other one is released", func() bool { return o.Allotment(second).State == inventory.AllotmentStateReleased })
	o.Eventually("the releases are told of", func() bool { return o.count(t, "event", "completed") == 2 })
	if again, err := o.Inventory.ReleaseDue(t.Context(), 100); again != 0 || err != nil {
		t.Errorf("%d are released again: %v", again, err)
	}
	if n := o.Rows("outbox_events"); n != 2 {
		t.Errorf("%d events, want one for each release", n)
	}
	o.Audit()
}
