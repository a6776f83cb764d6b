package bookings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
)

type commitFault struct {
	name  string
	fault dbtest.CommitFault
}

func commitFaults() []commitFault {
	return []commitFault{
		{"its answer is lost", dbtest.CommitAnswerLost},
		{"it is never sent", dbtest.CommitNeverSent},
		{"its answer is unknown", dbtest.CommitAnswerUnknown},
		{"it conflicts", dbtest.CommitConflict},
	}
}

// openBehindProxy is a shop whose commits can be spoiled.
func openBehindProxy(t *testing.T) (box, *dbtest.Proxy) {
	t.Helper()
	dbtest.Open(t)
	proxy := dbtest.NewProxy(t, dbtest.URL(t))
	return open(t, onDatabase(openDatabase(t, db.Config{URL: proxy.URL(), MaxConnections: 4}))), proxy
}

// A commit whose outcome is not known, at each transaction of a sale, makes no second attempt, and
// the same checkout still drives its payment.
func TestALostCommitOfASaleIsMadeGood(t *testing.T) {
	t.Parallel()
	b, proxy := openBehindProxy(t)
	for before, step := range []string{"checkout", "submit", "apply"} {
		for _, f := range commitFaults() {
			guest := b.Guest()
			hold := guest.Hold(b.floor().Units(1), b.room.Stay(3*before+int(f.fault), 3*before+int(f.fault)+1))
			charges := len(b.Provider.Charges())
			proxy.SpoilCommits(append(make([]dbtest.CommitFault, before), f.fault)...)
			what := step + ", " + f.name
			expect(t, what, b.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
			expect(t, what, b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
			if n := len(b.Provider.Charges()) - charges; n != 1 {
				t.Errorf("%s: %d charges", what, n)
			}
			b.cancelWhole(t, hold)
		}
	}
	b.Settle()
	b.Audit()
}

func (b box) cancelWhole(t *testing.T, hold inventory.Hold) {
	t.Helper()
	booking := b.BookingOf(hold)
	if booking == nil {
		t.Fatalf("not booked: %s", b.Sale(hold))
	}
	if _, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID}); err != nil {
		t.Fatal(err)
	}
}

func TestALostCommitOfARefundIsMadeGood(t *testing.T) {
	t.Parallel()
	b, proxy := openBehindProxy(t)
	for before, step := range []string{"submit refund", "settle refund"} {
		for _, f := range commitFaults() {
			guest := b.Guest()
			hold := guest.Hold(b.hall.Seats(1))
			b.Pay(guest, hold, sandbox.TokenApprove)
			b.cancelWhole(t, hold)
			refund := b.Refund(hold)
			proxy.SpoilCommits(append(make([]dbtest.CommitFault, before), f.fault)...)
			if err := b.Sales.DriveRefund(t.Context(), refund); err != nil {
				t.Error(err)
			}
			expect(t, step+", "+f.name, b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 SUCCEEDED CANCELLED")
		}
	}
	b.Audit()
	if n := len(b.Provider.Refunds()); n != 8 {
		t.Errorf("the provider has %d refunds, want 8", n)
	}
}

// R49: the process dies at a boundary between two steps, the hold stays, lapses or is taken by
// somebody else, and another process finds out. It ends booked, or refunded, or never charged.
func TestACrashAtEveryStepIsMadeGood(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"checkout", "submit", "charge", "apply"} {
		for _, token := range []string{sandbox.TokenApprove, sandbox.TokenDecline, "tok_pending_approve_after_3s"} {
			for _, meanwhile := range []string{"in time", "lapsed", "taken"} {
				for _, late := range []inventory.LatePayment{inventory.LatePaymentHonour, inventory.LatePaymentRefund} {
					if meanwhile == "in time" && late == inventory.LatePaymentRefund {
						continue // It is about what is late.
					}
					t.Run(strings.Join([]string{step, token, meanwhile, string(late)}, ", "), func(t *testing.T) {
						t.Parallel()
						b := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash(step) })
						b.SetTerms(inventory.TermsChange{LatePayment: &late})
						crashAndRecover(t, b, token, meanwhile)
					})
				}
			}
		}
	}
}

// R49 with the money reserved first: the process dies between the reservation, the judgement, the
// capture and the booking. What was only reserved is never refunded, and never kept.
func TestACrashAtEveryStepOfAReservationIsMadeGood(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"checkout", "submit", "charge", "authorize", "judge", "capture", "apply"} {
		for _, token := range []string{sandbox.TokenApprove, sandbox.TokenCaptureTimeout, sandbox.TokenCaptureFails} {
			for _, meanwhile := range []string{"in time", "lapsed", "taken"} {
				t.Run(strings.Join([]string{step, token, meanwhile}, ", "), func(t *testing.T) {
					t.Parallel()
					b := open(t, impatient, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash(step) }).terms(manual())
					crashAndRecover(t, b, token, meanwhile)
				})
			}
		}
	}
}

func crashAndRecover(t *testing.T, b box, token, meanwhile string) {
	t.Helper()
	guest, other := b.Guest(), b.Guest()
	hold := guest.Hold(b.hall.Seats(1), b.floor().Units(2))
	bookingstest.Survive(func() { _, _ = b.TryPay(guest, hold, token) })
	if meanwhile != "in time" && guest.Read(hold).State == inventory.HoldStateProcessing {
		b.Lapse(hold)
		// Long enough for a charge that was never received to be given up.
		b.Age(16 * time.Minute)
	}
	var taken *inventory.Hold
	if meanwhile == "taken" {
		if now, err := other.Try(b.hall.Seats(1)); err == nil {
			taken = &now
		}
	}
	b.Restart(bookings.Config{InlineWait: bookingstest.Patience, CallTimeout: bookingstest.HangingCallTimeout})
	attempt := b.Attempt(hold)
	for _, err := range inventorytest.Race(3, func(int) error { return b.Sales.DriveCharge(t.Context(), attempt) }) {
		if err != nil {
			t.Error(err)
		}
	}
	b.Settle()
	ended := b.Sale(hold)
	booked, refunded := strings.Contains(ended, "BOOKED"), strings.Contains(ended, "refund")
	charged := len(b.Provider.Charges()) == 1 && b.Provider.Charges()[0].Captured.Minor > 0
	switch {
	case booked && refunded:
		t.Errorf("both booked and refunded: %s", ended)
	case charged && !booked && !refunded:
		t.Errorf("charged for nothing: %s", ended)
	case booked && (taken != nil || !charged):
		t.Errorf("booked what is somebody else's, or unpaid: %s", ended)
	case meanwhile == "in time" && token == sandbox.TokenApprove && !booked:
		t.Errorf("in time, but not booked: %s", ended)
	}
	if guest.Read(hold).State.Live() {
		t.Errorf("the hold still owns its units: %s", ended)
	}
	b.Audit()
	// All of it once more changes nothing.
	if err := b.Sales.DriveCharge(t.Context(), attempt); err != nil {
		t.Error(err)
	}
	b.Settle()
	expect(t, "driven once more", b.Sale(hold), ended)
}

// R45: the process dies around a refund. It is paid once.
func TestACrashAroundARefundPaysOnce(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"submit refund", "refund"} {
		for _, token := range []string{slow, sandbox.TokenRefundTimeout, sandbox.TokenRefundPending} {
			t.Run(step+", "+token, func(t *testing.T) {
				t.Parallel()
				b := open(t, impatient)
				guest := b.Guest()
				hold := guest.Hold(b.hall.Seats(1))
				b.payAndCancel(t, guest, hold, token)
				b.Restart(bookings.Config{AfterStep: bookingstest.Crash(step), CallTimeout: bookingstest.HangingCallTimeout})
				refund := b.Refund(hold)
				bookingstest.Survive(func() { _ = b.Sales.DriveRefund(t.Context(), refund) })
				b.Restart(bookings.Config{CallTimeout: bookingstest.HangingCallTimeout})
				for _, err := range inventorytest.Race(3, func(int) error { return b.Sales.DriveRefund(t.Context(), refund) }) {
					if err != nil {
						t.Error(err)
					}
				}
				b.Settle()
				expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 SUCCEEDED CANCELLED")
				if refunds := b.Provider.Refunds(); len(refunds) != 1 {
					t.Errorf("the provider has %d refunds", len(refunds))
				}
				b.Audit()
			})
		}
	}
}

// payAndCancel leaves a cancelled booking whose refund nobody has driven.
func (b box) payAndCancel(t *testing.T, guest inventorytest.Buyer, hold inventory.Hold, token string) {
	t.Helper()
	b.Pay(guest, hold, token)
	if token == slow {
		b.decide(t, hold)
		b.Reconcile()
	}
	b.cancelWhole(t, hold)
}

// A process of this server that does not know the provider leaves the payment to one that does.
func TestAPaymentOfAnUnknownProviderIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash("checkout") })
	elsewhere := bookingstest.New(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	bookingstest.Survive(func() { b.Pay(guest, hold, sandbox.TokenApprove) })
	if err := elsewhere.Sales.DriveCharge(t.Context(), b.Attempt(hold)); err == nil {
		t.Error("driven without a provider")
	}
	expect(t, "left alone", b.Sale(hold), "PROCESSING CREATED")
	b.Settle()
	expect(t, "driven where it can be", b.Sale(hold), fmt.Sprintf("CONFIRMED SUCCEEDED/APPLIED %s", bookings.StateBooked))
}
