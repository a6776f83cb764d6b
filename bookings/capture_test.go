package bookings_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// reserved is a sale whose driver died when the money was reserved.
func reserved(t *testing.T) (box, inventorytest.Buyer, inventory.Hold) {
	t.Helper()
	b := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash("authorize") }).terms(manual())
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1), b.floor().Units(2))
	bookingstest.Survive(func() { _, _ = b.TryPay(guest, hold, sandbox.TokenApprove) })
	expect(t, "reserved", b.Sale(hold), "PROCESSING AUTHORIZED")
	if captured := b.Provider.CapturedTotal(b.Account)["EUR"]; captured != 0 {
		t.Fatalf("%d were captured", captured)
	}
	return b, guest, hold
}

// What is reserved is captured for the price while the units are there, whoever goes on with it.
func TestAReservationIsCapturedForTheSale(t *testing.T) {
	t.Parallel()
	b, _, hold := reserved(t)
	for _, err := range inventorytest.Race(4, func(int) error { return b.Sales.DriveCharge(t.Context(), b.Attempt(hold)) }) {
		if err != nil {
			t.Error(err)
		}
	}
	expect(t, "captured", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	if charges := b.Provider.Charges(); len(charges) != 1 || charges[0].Captured != hold.Total {
		t.Errorf("the provider has %+v", charges)
	}
	b.Audit()
}

// R38 without a refund: the units are somebody else's by the time of the capture, and no money moves.
func TestAReservationForSoldUnitsIsLetGo(t *testing.T) {
	t.Parallel()
	b, _, hold := reserved(t)
	b.Lapse(hold)
	other := b.Guest()
	sold := other.Hold(b.hall.Seats(1))
	b.Settle()
	b.Settle()
	expect(t, "the late buyer", b.Sale(hold), "EXPIRED DECLINED/cancelled")
	expect(t, "the newer buyer", b.Pay(other, sold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	if refunds := b.Provider.Refunds(); len(refunds) != 0 {
		t.Errorf("the provider has %d refunds", len(refunds))
	}
	if charge := b.Provider.Charges()[0]; charge.State != payments.OutcomeStateDeclined || charge.Captured.Minor != 0 {
		t.Errorf("the reservation is %+v", charge)
	}
	b.Audit()
}

// Under policy REFUND the window decides, also for what is only reserved.
func TestUnderPolicyRefundALateReservationIsLetGo(t *testing.T) {
	t.Parallel()
	b := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash("authorize") })
	change := manual()
	change.LatePayment = inventorytest.Of(inventory.LatePaymentRefund)
	b.SetTerms(change)
	guest := b.Guest()
	before := b.counts()
	hold := guest.Hold(b.hall.Seats(1), b.floor().Units(2))
	bookingstest.Survive(func() { _, _ = b.TryPay(guest, hold, sandbox.TokenApprove) })
	b.Lapse(hold)
	b.Settle()
	expect(t, "let go", b.Sale(hold), "RELEASED DECLINED/cancelled")
	if got := b.counts(); got != before {
		t.Errorf("counters %+v, were %+v", got, before)
	}
	b.Audit()
}

// The capture succeeded, its answer was lost, and then the units were sold: that is money without
// units, found by the cancellation.
func TestACaptureThatIsFoundTooLateIsRefunded(t *testing.T) {
	t.Parallel()
	b, _, hold := reserved(t)
	if outcome, err := b.Gateway.Capture(t.Context(), b.Account, b.Attempt(hold).ID.String()); err != nil || outcome.State != payments.OutcomeStateApproved {
		t.Fatalf("captured as %s, %v", outcome.State, err)
	}
	b.Lapse(hold)
	b.Guest().Hold(b.hall.Seats(1))
	b.Settle()
	expect(t, "refunded", b.Sale(hold), "EXPIRED SUCCEEDED/ORPHANED refund 11000 SUCCEEDED")
	b.Audit()
}

// A reservation that ended at the provider declines the sale by its policy.
func TestAReservationThatExpiredDeclines(t *testing.T) {
	t.Parallel()
	b := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash("authorize") })
	change := manual()
	change.OnDecline = inventorytest.Of(inventory.OnDeclineKeep)
	b.SetTerms(change)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	bookingstest.Survive(func() { _, _ = b.TryPay(guest, hold, "tok_reservation_expires_after_0s") })
	b.Eventually("the reservation has ended", func() bool { return b.Provider.Charges()[0].State == payments.OutcomeStateDeclined })
	b.Settle()
	expect(t, "declined", b.Sale(hold), "ACTIVE DECLINED/reservation_expired")
	expect(t, "another card", b.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

// A capture that cannot be asked for leaves the reservation as it is, and is asked for again.
func TestAnUnknownCaptureStaysReserved(t *testing.T) {
	t.Parallel()
	b, guest, hold := reserved(t)
	down := b.Service(bookings.Config{}, capturing{b.Gateway, func(context.Context, string, string) (payments.Outcome, error) {
		return payments.Outcome{}, context.DeadlineExceeded
	}})
	if err := down.DriveCharge(t.Context(), b.Attempt(hold)); err != nil {
		t.Fatal(err)
	}
	expect(t, "still reserved", b.Sale(hold), "PROCESSING AUTHORIZED")
	_, err := guest.TryRelease(hold)
	expect(t, "releasing it", b.Explain(err), "PAYMENT_IN_PROGRESS")
	b.Settle()
	expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

// A provider that refuses the capture for good has its reservation cancelled.
func TestARefusedCaptureDeclines(t *testing.T) {
	t.Parallel()
	b, _, hold := reserved(t)
	refusing := b.Service(bookings.Config{}, capturing{b.Gateway, func(context.Context, string, string) (payments.Outcome, error) {
		return payments.Outcome{}, payments.ErrRejected
	}})
	if err := refusing.DriveCharge(t.Context(), b.Attempt(hold)); err != nil {
		t.Fatal(err)
	}
	expect(t, "declined", b.Sale(hold), "RELEASED DECLINED/not_captured")
	if charge := b.Provider.Charges()[0]; charge.State != payments.OutcomeStateDeclined {
		t.Errorf("the reservation is %s", charge.State)
	}
	b.Audit()
}

// The refusal of a capture that had succeeded before is no decline.
func TestARefusedRepetitionOfACaptureIsNoDecline(t *testing.T) {
	t.Parallel()
	b, _, hold := reserved(t)
	calls := new(atomic.Int64)
	lying := b.Service(bookings.Config{}, capturing{b.Gateway, func(ctx context.Context, account, key string) (payments.Outcome, error) {
		if calls.Add(1) == 1 {
			if _, err := b.Gateway.Capture(ctx, account, key); err != nil {
				t.Error(err)
			}
			return payments.Outcome{}, context.DeadlineExceeded
		}
		return payments.Outcome{}, payments.ErrRejected
	}})
	for range 2 {
		if err := lying.DriveCharge(t.Context(), b.Attempt(hold)); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "booked", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

// capturing changes the provider's answers to captures.
type capturing struct {
	payments.Gateway
	capture func(ctx context.Context, account, key string) (payments.Outcome, error)
}

func (c capturing) Capture(ctx context.Context, account, key string) (payments.Outcome, error) {
	return c.capture(ctx, account, key)
}

// The driver died within the charge; the provider's event says that the money is reserved. Nothing
// but the reconciler or the job takes it.
func TestAnEventOfAReservationIsFollowedByItsCapture(t *testing.T) {
	t.Parallel()
	b := open(t, webhooks, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash("charge") }).terms(manual())
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	bookingstest.Survive(func() { _, _ = b.TryPay(guest, hold, sandbox.TokenApprove) })
	b.Eventually("the event has arrived", func() bool { return b.Sale(hold) == "PROCESSING AUTHORIZED" })
	b.Settle()
	expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

// A charge that was given up arrives all the same and reserves money: its event lets it go.
func TestAReservationOfAGivenUpPaymentIsLetGo(t *testing.T) {
	t.Parallel()
	b := open(t, webhooks).terms(manual())
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, sandbox.TokenLostOnce)
	b.Lapse(hold)
	b.Age(16 * time.Minute)
	b.Settle()
	expect(t, "given up", b.Sale(hold), "RELEASED DECLINED/not_received")
	attempt := b.Attempts(hold)[0]
	outcome, err := b.Gateway.Charge(t.Context(), payments.ChargeRequest{
		Account: b.Account, Key: attempt.ID.String(), Reference: attempt.Reference(), Amount: attempt.Amount,
		MethodToken: sandbox.TokenApprove, Capture: payments.CaptureManual,
	})
	if err != nil || outcome.State != payments.OutcomeStateAuthorized {
		t.Fatalf("reserved as %s, %v", outcome.State, err)
	}
	b.Eventually("the reservation was let go", func() bool { return b.Provider.Charges()[0].State == payments.OutcomeStateDeclined })
	expect(t, "in the end", b.Sale(hold), "RELEASED DECLINED/not_received")
	b.Audit()
}

// A change of terms changes no hold that was placed before.
func TestAHoldKeepsTheCaptureOfItsTerms(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	before := guest.Hold(b.hall.Seats(1))
	b.terms(manual())
	after := guest.Hold(b.hall.Seats(2))
	for _, hold := range []inventory.Hold{before, after} {
		expect(t, "booked", b.Pay(guest, hold, sandbox.TokenCaptureError), map[bool]string{
			true: "CONFIRMED SUCCEEDED/APPLIED BOOKED", false: "PROCESSING AUTHORIZED",
		}[hold.ID == before.ID])
	}
	if a := b.Attempts(before)[0]; a.Capture != payments.CaptureAutomatic {
		t.Errorf("the hold of before is captured %q", a.Capture)
	}
	if a := b.Attempts(after)[0]; a.Capture != payments.CaptureManual {
		t.Errorf("the hold of after is captured %q", a.Capture)
	}
	b.Settle()
	b.Audit()
}
