package bookings_test

import (
	"testing"

	"github.com/holdfast/holdfast/payments/sandbox"
)

// R33, policy RELEASE: the units return at once.
func TestADeclineReturnsTheUnits(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest, other := b.Guest(), b.Guest()
	before := b.counts()
	hold := guest.Hold(b.hall.Seats(1), b.floor().Units(2), b.room.Stay(5, 6))
	expect(t, "declined", b.Pay(guest, hold, sandbox.TokenDeclineInsufficientFunds), "RELEASED DECLINED/insufficient_funds")
	if got := b.counts(); got != before {
		t.Errorf("counters %+v, were %+v", got, before)
	}
	next := other.Hold(b.hall.Seats(1), b.floor().Units(8), b.room.Rooms(2, 5, 6))
	_, err := b.TryPay(guest, hold, sandbox.TokenApprove)
	expect(t, "another card for it", b.Explain(err), "HOLD_ENDED")
	expect(t, "the next buyer", b.Pay(other, next, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

// R33, policy KEEP: another card until the original deadline, and no path gives back twice.
func TestADeclineKeepsTheHoldForAnotherCard(t *testing.T) {
	t.Parallel()
	b := open(t).terms(keep())
	guest, other := b.Guest(), b.Guest()
	hold := guest.Hold(b.hall.Seats(1), b.floor().Units(2), b.room.Stay(5, 6))
	held := b.counts()
	expect(t, "the first card", b.Pay(guest, hold, sandbox.TokenDecline), "ACTIVE DECLINED/card_declined")
	if got := b.counts(); got != held {
		t.Errorf("counters %+v, were %+v", got, held)
	}
	if now := guest.Read(hold); !now.Deadline.Equal(hold.Deadline) || !now.ClaimableAt.Equal(hold.Deadline) {
		t.Errorf("the deadline is %s and %s, was %s", now.Deadline, now.ClaimableAt, hold.Deadline)
	}
	other.Refused("HELD_BY_OTHER seat 1", b.hall.Seats(1))
	expect(t, "the second card", b.Pay(guest, hold, sandbox.TokenDeclineExpiredCard), "ACTIVE DECLINED/expired_card")
	expect(t, "the third card", b.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	expect(t, "all of it", b.Sale(hold), "CONFIRMED DECLINED/card_declined DECLINED/expired_card SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

func TestAKeptHoldEndsOnce(t *testing.T) {
	t.Parallel()
	b := open(t).terms(keep())
	guest, other := b.Guest(), b.Guest()
	free := b.counts()
	released := guest.Hold(b.floor().Units(2))
	b.Pay(guest, released, sandbox.TokenDecline)
	guest.Release(released)
	attempt := b.Attempt(released)
	if err := b.Sales.DriveCharge(t.Context(), attempt); err != nil {
		t.Error(err)
	}
	guest.Release(released)
	lapsed := guest.Hold(b.floor().Units(2))
	b.Pay(guest, lapsed, sandbox.TokenDecline)
	b.Lapse(lapsed)
	_, err := b.TryPay(guest, lapsed, sandbox.TokenApprove)
	expect(t, "after the deadline", b.Explain(err), "HOLD_EXPIRED")
	all := other.Hold(b.floor().Units(10))
	other.Release(all)
	if got := b.counts(); got != free {
		t.Errorf("counters %+v, want %+v", got, free)
	}
	expect(t, "released", b.Sale(released), "RELEASED DECLINED/card_declined")
	expect(t, "lapsed", b.Sale(lapsed), "EXPIRED DECLINED/card_declined")
	b.Audit()
}

// R63: what was never paid costs nothing to give back, and leaves no row of money behind.
func TestAnUnpaidHoldEndsWithoutMoney(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	guest.Release(guest.Hold(b.hall.Seats(1), b.floor().Units(2)))
	lapsed := guest.Hold(b.hall.Seats(1))
	b.Lapse(lapsed)
	b.Guest().Hold(b.hall.Seats(1))
	b.Settle()
	if attempts, refunds := b.Rows("payment_attempts"), b.Rows("refunds"); attempts != 0 || refunds != 0 {
		t.Errorf("%d attempts and %d refunds of holds that nobody paid", attempts, refunds)
	}
	b.Audit()
}
