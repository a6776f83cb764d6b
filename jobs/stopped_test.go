package jobs_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// For an hour there is no worker. What is due is sold again all the same, to whoever asks; payments
// that were open end right once there are workers: one buys what nobody took, one is refunded.
func TestAnHourWithoutWorkers(t *testing.T) {
	t.Parallel()
	const slow = "tok_pending_approve_after_600s"
	o := open(t)
	floor := o.hall.Pools[0]
	idle, slowBuyer, slowLoser, other := o.Guest(), o.Guest(), o.Guest(), o.Guest()
	abandoned := idle.Hold(o.hall.Seats(1, 2), floor.Units(4))
	kept := slowBuyer.Hold(o.hall.Seats(3))
	lost := slowLoser.Hold(o.hall.Seats(4), floor.Units(6))
	expect(t, "the first slow payment", o.Pay(slowBuyer, kept, slow), "PROCESSING UNKNOWN")
	expect(t, "the second slow payment", o.Pay(slowLoser, lost, slow), "PROCESSING UNKNOWN")
	other.Refused("HELD_BY_OTHER seat 1", o.hall.Seats(1))
	other.Refused("SOLD_OUT Floor left 0", floor.Units(1))

	o.Tick(time.Hour)
	o.Age(time.Hour)
	expect(t, "a hold nobody swept", string(idle.Read(abandoned).State), string(inventory.HoldStateExpired))
	// Seat 3 is due, too, but nobody asks for it.
	again := other.Hold(o.hall.Seats(1, 2, 4), floor.Units(10))
	expect(t, "what was due, sold again", o.Pay(other, again, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	o.Audit()
	if n := o.count(t, "charge", "completed", "running"); n != 0 {
		t.Fatalf("%d jobs have run: there is a worker", n)
	}

	for _, hold := range []inventory.Hold{kept, lost} {
		o.Provider.Settle(o.Account, o.Attempt(hold).ID.String())
	}
	o.hurry(t)
	// A sweep that comes first would end the unpaid hold of seat 3, and its payment be refunded.
	o.work(t, reconciling)
	o.Eventually("the payment of what is still there buys it", func() bool {
		return o.Sale(kept) == "CONFIRMED SUCCEEDED/APPLIED BOOKED"
	})
	o.Eventually("the payment of what was sold again is refunded", func() bool {
		return o.Sale(lost) == "EXPIRED SUCCEEDED/ORPHANED refund "+strconv.FormatInt(lost.Total.Minor, 10)+" SUCCEEDED"
	})
	expect(t, "the abandoned hold", o.Sale(abandoned), "EXPIRED")
	if c := floor.Count(); c.Held != 0 || c.Booked != 10 {
		t.Errorf("%d places are held and %d booked, want 0 and 10", c.Held, c.Booked)
	}
	o.Audit()
}
