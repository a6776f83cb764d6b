package bookings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// slow is approved long after every test has ended, unless the test lets the provider decide.
const slow = "tok_pending_approve_after_600s"

// slowNo is slow with a decline.
const slowNo = "tok_pending_decline_after_600s"

// decide lets the provider decide the hold's pending charge.
func (b box) decide(t *testing.T, hold inventory.Hold) {
	t.Helper()
	if !b.Provider.Settle(b.Account, b.Attempt(hold).ID.String()) {
		t.Fatal("the provider has no pending charge for the hold")
	}
}

// R50: an unknown outcome is PROCESSING and never FAILED, and a second click pays nothing.
func TestAnUnknownOutcomeIsShownAsProcessing(t *testing.T) {
	t.Parallel()
	for _, token := range []string{sandbox.TokenTimeoutApprove, "tok_unknown_then_approve_after_600s", sandbox.TokenErrorApprove, slow} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			b := open(t, impatient)
			guest := b.Guest()
			hold := guest.Hold(b.hall.Seats(1))
			first, err := b.TryPay(guest, hold, token)
			if err != nil {
				t.Fatal(b.Explain(err))
			}
			expect(t, "the first answer", bookingstest.Standing(first), "PROCESSING UNKNOWN")
			again, err := b.TryPay(guest, hold, sandbox.TokenApprove)
			if err != nil || again.Attempt.ID != first.Attempt.ID {
				t.Errorf("the second checkout says %s, %v", bookingstest.Standing(again), err)
			}
			_, err = guest.TryRelease(hold)
			expect(t, "releasing it", b.Explain(err), "PAYMENT_IN_PROGRESS")
			b.Guest().Refused("HELD_BY_OTHER seat 1", b.hall.Seats(1))
			b.Provider.Settle(b.Account, first.Attempt.ID.String())
			b.Settle()
			expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
			if n := len(b.Provider.Charges()); n != 1 {
				t.Errorf("%d charges", n)
			}
			b.Audit()
		})
	}
}

// The default policy: a success after the deadline buys what is still the buyer's.
func TestALatePaymentIsHonoured(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest, other := b.Guest(), b.Guest()
	hold := guest.Hold(b.hall.Seats(1), b.floor().Units(2))
	b.Pay(guest, hold, slow)
	b.Tick(125 * time.Second) // past the payment's window, within the grace
	if now := guest.Read(hold); now.State != inventory.HoldStateProcessing || !b.Now().After(now.Deadline) {
		t.Fatalf("the hold is %s until %s", now.State, now.Deadline)
	}
	other.Refused("HELD_BY_OTHER seat 1", b.hall.Seats(1))
	b.Reconcile()
	expect(t, "while nobody knows", b.Sale(hold), "PROCESSING UNKNOWN")
	b.decide(t, hold)
	b.Reconcile()
	expect(t, "honoured", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

// R76: nobody has swept, the grace is over, and the units are still there: the sale is whole.
func TestALatePaymentIsHonouredWithoutASweeper(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1), b.floor().Units(2), b.room.Stay(5, 7))
	b.Pay(guest, hold, slow)
	b.Lapse(hold)
	if now := guest.Read(hold); now.State != inventory.HoldStateExpired {
		t.Fatalf("a reader is shown %s", now.State)
	}
	b.decide(t, hold)
	b.Reconcile()
	expect(t, "honoured", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

// R76, the other half: a checkout after the deadline changes no row.
func TestACheckoutAfterTheDeadlineIsRefused(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1), b.floor().Units(2))
	b.Lapse(hold)
	before := b.counts()
	_, err := b.TryPay(guest, hold, sandbox.TokenApprove)
	expect(t, "after the deadline", b.Explain(err), "HOLD_EXPIRED")
	if got := b.counts(); got != before || b.Rows("payment_attempts") != 0 || b.Rows("checkouts") != 0 {
		t.Errorf("something was written: %+v, was %+v", got, before)
	}
	b.Audit()
}

// R37: what has expired stays readable, with its price and its payments.
func TestAnExpiredHoldStaysReadable(t *testing.T) {
	t.Parallel()
	b := open(t, ownDatabase(t))
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, slow)
	b.Lapse(hold)
	if _, err := b.Inventory.ExpireDue(t.Context(), 10_000); err != nil {
		t.Fatal(err)
	}
	read := guest.Read(hold)
	if read.State != inventory.HoldStateExpired || read.Total != hold.Total || len(read.Lines) != 1 {
		t.Errorf("the hold is %+v", read)
	}
	for who, actor := range map[string]inventorytest.Buyer{"the guest": guest, "the admin": b.Buyer(b.Owner)} {
		attempts, err := b.Sales.AttemptsOfHold(t.Context(), actor.Actor, hold.ID)
		if err != nil || len(attempts) != 1 || attempts[0].Amount != hold.Total {
			t.Errorf("%s sees %+v, %v", who, attempts, err)
		}
	}
	b.Audit()
}

// R38 and R39: A pays too late, B has bought: B keeps the unit, A gets one refund.
func TestALatePaymentForASoldUnitIsRefundedOnce(t *testing.T) {
	t.Parallel()
	for name, sell := range map[string]func(b box, other inventorytest.Buyer) inventory.Hold{
		"a seat":        func(b box, other inventorytest.Buyer) inventory.Hold { return other.Hold(b.hall.Seats(1)) },
		"the last room": func(b box, other inventorytest.Buyer) inventory.Hold { return other.Hold(b.room.Rooms(2, 5, 6)) },
		"the pool":      func(b box, other inventorytest.Buyer) inventory.Hold { return other.Hold(b.floor().Units(10)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			late, other := b.Guest(), b.Guest()
			hold := late.Hold(b.hall.Seats(1), b.room.Stay(5, 6), b.floor().Units(3))
			b.Pay(late, hold, slow)
			b.Lapse(hold)
			sold := sell(b, other)
			expect(t, "B pays", b.Pay(other, sold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
			b.decide(t, hold)
			b.Settle()
			b.Settle()
			expect(t, "A", b.Sale(hold), "EXPIRED SUCCEEDED/ORPHANED refund 24500 SUCCEEDED")
			expect(t, "B", b.Sale(sold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
			if charges, refunds := b.Provider.Charges(), b.Provider.Refunds(); len(charges) != 2 || len(refunds) != 1 || refunds[0].Amount != hold.Total {
				t.Errorf("the provider has %d charges and the refunds %+v", len(charges), refunds)
			}
			refund := b.Refund(hold)
			expect(t, "events", strings.Join(b.Events(refund.ID.UUID), ", "), "1 refund.requested, 3 refund.succeeded")
			b.Audit()
		})
	}
}

// Policy REFUND: after the deadline the money goes back, even if nobody took the units.
func TestUnderPolicyRefundALatePaymentGoesBack(t *testing.T) {
	t.Parallel()
	b := open(t).terms(refundLate())
	guest, other := b.Guest(), b.Guest()
	before := b.counts()
	hold := guest.Hold(b.hall.Seats(1), b.floor().Units(2))
	b.Pay(guest, hold, slow)
	b.Lapse(hold)
	b.decide(t, hold)
	b.Settle()
	expect(t, "refunded", b.Sale(hold), "EXPIRED SUCCEEDED/ORPHANED refund 11000 SUCCEEDED")
	if got := b.counts(); got != before {
		t.Errorf("counters %+v, were %+v", got, before)
	}
	other.Hold(b.hall.Seats(1), b.floor().Units(10))
	b.Audit()
}

func TestUnderPolicyRefundAPaymentInTimeBuys(t *testing.T) {
	t.Parallel()
	b := open(t).terms(refundLate())
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, slow)
	if now := guest.Read(hold); !now.ClaimableAt.Equal(now.Deadline) {
		t.Errorf("a grace of %s under policy REFUND", now.ClaimableAt.Sub(now.Deadline))
	}
	b.decide(t, hold)
	b.Reconcile()
	expect(t, "in time", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

// The second card bought the hold; then the first, declined, turns out to have paid: one booking,
// one refund.
func TestADeclinedCardThatPaidAfterAllIsRefunded(t *testing.T) {
	t.Parallel()
	b := open(t, webhooks).terms(keep())
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, slow)
	first := b.Attempt(hold)
	// The provider forgets the charge for so long that it is given up.
	b.Exec("UPDATE payment_attempts SET state = 'DECLINED', settled_at = now(), next_check_at = NULL WHERE tenant_id = $1")
	b.Exec("UPDATE holds SET state = 'ACTIVE', deadline = lease_deadline, claimable_at = lease_deadline WHERE tenant_id = $1")
	b.Exec("UPDATE show_seats SET claimable_at = $2 WHERE tenant_id = $1 AND state = 'HELD'", guest.Read(hold).Deadline)
	expect(t, "the second card", b.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	if !b.Provider.Settle(b.Account, first.ID.String()) {
		t.Fatal("no pending charge")
	}
	b.Eventually("the provider's event has arrived", func() bool { return b.Attempts(hold)[0].State == "SUCCEEDED" })
	b.Settle()
	expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/ORPHANED refund 5000 SUCCEEDED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

// A success for a kept hold, while its second card is being charged, buys it; the second is refunded.
func TestTwoCardsThatBothPay(t *testing.T) {
	t.Parallel()
	b := open(t, webhooks).terms(keep())
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, slow)
	first := b.Attempt(hold)
	b.Exec("UPDATE payment_attempts SET state = 'DECLINED', settled_at = now(), next_check_at = NULL WHERE tenant_id = $1")
	b.Exec("UPDATE holds SET state = 'ACTIVE' WHERE tenant_id = $1")
	b.Pay(guest, hold, slow)
	second := b.Attempts(hold)[1]
	b.Provider.Settle(b.Account, first.ID.String())
	b.Eventually("the first card's event has arrived", func() bool { return b.BookingOf(hold) != nil })
	b.Provider.Settle(b.Account, second.ID.String())
	b.Settle()
	expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED SUCCEEDED/ORPHANED refund 5000 SUCCEEDED BOOKED")
	b.Audit()
}

// A hold whose window has passed before its payment was sent is not charged at all.
func TestAHoldThatEndedIsNotCharged(t *testing.T) {
	t.Parallel()
	for name, lapse := range map[string]func(b box, hold inventory.Hold){
		"its units were taken": func(b box, hold inventory.Hold) {
			b.Lapse(hold)
			b.Guest().Hold(b.hall.Seats(1))
		},
		"nobody wanted its units": func(b box, hold inventory.Hold) { b.Lapse(hold) },
		"within the grace":        func(b box, _ inventory.Hold) { b.Tick(125 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash("checkout") })
			guest := b.Guest()
			hold := guest.Hold(b.hall.Seats(1))
			if bookingstest.Survive(func() { b.Pay(guest, hold, sandbox.TokenApprove) }) {
				t.Fatal("it did not crash")
			}
			lapse(b, hold)
			b.Settle()
			if n := len(b.Provider.Charges()); n != 0 {
				t.Errorf("%d charges", n)
			}
			attempts := b.Attempts(hold)
			if attempts[0].DeclineCode != "not_sent" {
				t.Errorf("the attempt is %+v", attempts[0])
			}
			b.Audit()
		})
	}
}

// A provider that never received a charge is asked for a while; then the charge is given up, and a
// success that appears even later is refunded.
func TestAChargeThatTheProviderNeverSawIsGivenUp(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, sandbox.TokenLostOnce)
	expect(t, "lost", b.Sale(hold), "PROCESSING UNKNOWN")
	b.Lapse(hold)
	b.Reconcile()
	expect(t, "it may still be on its way", b.Sale(hold), "EXPIRED UNKNOWN")
	b.Age(16 * time.Minute)
	b.Settle()
	expect(t, "given up", b.Sale(hold), "RELEASED DECLINED/not_received")
	if n := len(b.Provider.Charges()); n != 0 {
		t.Errorf("%d charges", n)
	}
	b.Audit()
}

// A success of an earlier card that bought nothing leaves the payment of the next card alone.
func TestAnOrphanLeavesTheNextCardAlone(t *testing.T) {
	t.Parallel()
	b := open(t).terms(keep())
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, slow)
	first := b.Attempts(hold)[0]
	if err := b.deliver(t, b.chargeMessage(first, "declined")); err != nil {
		t.Fatal(err)
	}
	b.Pay(guest, hold, slow+":next")
	tooMuch := b.chargeMessage(first, "approved")
	tooMuch.about()["capturedMinor"] = 5001
	if err := b.deliver(t, tooMuch); err != nil {
		t.Fatal(err)
	}
	expect(t, "the next card is still asked", b.Sale(hold), "PROCESSING SUCCEEDED/ORPHANED refund 5001 REQUESTED UNKNOWN")
	if err := b.deliver(t, b.chargeMessage(b.Attempts(hold)[1], "approved")); err != nil {
		t.Fatal(err)
	}
	expect(t, "the next card has paid", b.Sale(hold), "CONFIRMED SUCCEEDED/ORPHANED refund 5001 REQUESTED SUCCEEDED/APPLIED BOOKED")
	b.audit(t)
}
