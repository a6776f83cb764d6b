package bookings_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// cancelled is a booking of two seats of equal price, one of which was cancelled: its refund is
// still to be driven.
func (b box) cancelled(t *testing.T, token string) inventory.Hold {
	t.Helper()
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1, 2))
	expect(t, "booked", b.Pay(guest, hold, token), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.cancelLines(t, hold, 0)
	return hold
}

func (b box) cancelLines(t *testing.T, hold inventory.Hold, ordinals ...int64) {
	t.Helper()
	if _, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: b.BookingOf(hold).ID, Ordinals: ordinals}); err != nil {
		t.Fatal(err)
	}
}

// R44: a refund that is driven several times, while its webhook arrives, is paid and told of once.
func TestARefundDrivenTwiceIsPaidOnce(t *testing.T) {
	t.Parallel()
	for _, token := range []string{sandbox.TokenApprove, sandbox.TokenRefundPending, sandbox.TokenRefundTimeout} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			b := open(t, impatient, webhooks)
			hold := b.cancelled(t, token)
			refund := b.Refund(hold)
			for _, err := range inventorytest.Race(4, func(int) error { return b.Sales.DriveRefund(t.Context(), refund) }) {
				if err != nil {
					t.Error(err)
				}
			}
			b.Settle()
			if err := b.Sales.DriveRefund(t.Context(), refund); err != nil {
				t.Error(err)
			}
			expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 SUCCEEDED BOOKED")
			if n := len(b.Provider.Refunds()); n != 1 {
				t.Errorf("the provider has %d refunds", n)
			}
			told := b.Events(refund.ID.UUID)
			if len(told) != 2 || !strings.HasSuffix(told[1], "refund.succeeded") {
				t.Errorf("events %v", told)
			}
			b.Audit()
		})
	}
}

// R45: two refunds of one payment, of equal amounts, are two refunds.
func TestTwoEqualRefundsAreBothPaid(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold := b.cancelled(t, sandbox.TokenApprove)
	b.cancelLines(t, hold, 1)
	b.Settle()
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 SUCCEEDED refund 5000 SUCCEEDED CANCELLED")
	if kept := b.Kept()["EUR"]; kept != 0 {
		t.Errorf("the provider still has %d", kept)
	}
	b.Audit()
}

// What the provider fails is asked for again, later and under another key, a bounded number of
// times; then the audit names it.
func TestAFailedRefundIsAskedForAgain(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold := b.cancelled(t, sandbox.TokenRefundFailsOnce)
	refund := b.Refund(hold)
	if err := b.Sales.DriveRefund(t.Context(), refund); err != nil {
		t.Fatal(err)
	}
	expect(t, "after the first", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 FAILED refund 5000 REQUESTED BOOKED")
	b.Audit()
	b.Settle()
	expect(t, "after the second", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 FAILED refund 5000 SUCCEEDED BOOKED")
	expect(t, "events", strings.Join(b.Events(refund.ID.UUID), ", "), "1 refund.requested, 3 refund.failed")
	b.Audit()
}

// gateway is a provider's adapter of which a test changes one answer.
type gateway struct {
	payments.Gateway
	refund func(ctx context.Context, request payments.RefundRequest) (payments.RefundOutcome, error)
}

func (g gateway) Refund(ctx context.Context, request payments.RefundRequest) (payments.RefundOutcome, error) {
	return g.refund(ctx, request)
}

func refuseRefund(context.Context, payments.RefundRequest) (payments.RefundOutcome, error) {
	return payments.RefundOutcome{}, fmt.Errorf("%w: the account is closed", payments.ErrRejected)
}

func TestARefundThatAlwaysFailsIsGivenUp(t *testing.T) {
	t.Parallel()
	b := open(t).terms(refundLate())
	hold, _ := b.pending()
	b.Lapse(hold)
	b.decide(t, hold)
	refused := 0
	b.Sales = b.Service(bookings.Config{}, gateway{b.Gateway, func(context.Context, payments.RefundRequest) (payments.RefundOutcome, error) {
		refused++
		return payments.RefundOutcome{}, fmt.Errorf("%w: the account is closed", payments.ErrRejected)
	}})
	b.Settle()
	const tries = 5
	if refused != tries {
		t.Errorf("asked %d times, want %d", refused, tries)
	}
	expect(t, "given up", b.Sale(hold), "EXPIRED SUCCEEDED/ORPHANED"+strings.Repeat(" refund 5000 FAILED", tries))
	attempt := b.Attempts(hold)[0]
	if attempt.Refunded.Minor != 0 {
		t.Errorf("counted as refunded: %d", attempt.Refunded.Minor)
	}
	report, err := b.Sales.Audit(t.Context(), &b.ID)
	if err != nil || report.OK {
		t.Errorf("the audit does not see the money: %+v, %v", report, err)
	}
}

// R45: the provider has paid, its answer was lost, and the next call is refused for another reason.
// That is no ground to pay under another key.
func TestARejectedRepetitionIsNoFailure(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold := b.cancelled(t, sandbox.TokenApprove)
	refund := b.Refund(hold)
	lost := b.Service(bookings.Config{}, gateway{b.Gateway, func(ctx context.Context, request payments.RefundRequest) (payments.RefundOutcome, error) {
		if outcome, err := b.Gateway.Refund(ctx, request); err != nil || outcome.State != payments.RefundStateSucceeded {
			t.Errorf("the provider says %v, %v", outcome, err)
		}
		return payments.RefundOutcome{}, context.DeadlineExceeded
	}})
	if err := lost.DriveRefund(t.Context(), refund); err != nil {
		t.Fatal(err)
	}
	rejecting := b.Service(bookings.Config{}, gateway{b.Gateway, func(context.Context, payments.RefundRequest) (payments.RefundOutcome, error) {
		return payments.RefundOutcome{}, fmt.Errorf("%w: the key has expired", payments.ErrRejected)
	}})
	if err := rejecting.DriveRefund(t.Context(), refund); err != nil {
		t.Fatal(err)
	}
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 SUCCEEDED BOOKED")
	if n := len(b.Provider.Refunds()); n != 1 {
		t.Errorf("the provider has %d refunds", n)
	}
	b.Audit()
}

// A first call that never arrived and a second one that is refused: it may still be on its way, so
// the action stays open until that cannot be.
func TestARejectedRepetitionIsAFailureInTheEnd(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold := b.cancelled(t, sandbox.TokenApprove)
	refund := b.Refund(hold)
	answers := []error{context.DeadlineExceeded, payments.ErrRejected, payments.ErrRejected}
	b.Sales = b.Service(bookings.Config{}, gateway{b.Gateway, func(context.Context, payments.RefundRequest) (payments.RefundOutcome, error) {
		err := answers[0]
		answers = answers[1:]
		return payments.RefundOutcome{}, err
	}})
	for _, want := range []string{"SUBMITTED", "SUBMITTED", "FAILED"} {
		if err := b.Sales.DriveRefund(t.Context(), refund); err != nil {
			t.Fatal(err)
		}
		if got := string(b.Refunds(hold)[b.Attempt(hold).ID][0].State); got != want {
			t.Errorf("the refund is %s, want %s", got, want)
		}
		if len(answers) == 1 {
			b.Age(16 * time.Minute)
		}
	}
}

// A provider's answer about a refund that is not the one asked for settles nothing.
func TestAnAnswerThatDoesNotFitARefundSettlesNothing(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold := b.cancelled(t, sandbox.TokenApprove)
	refund := b.Refund(hold)
	for name, outcome := range map[string]payments.RefundOutcome{
		"another account": {State: payments.RefundStateSucceeded, RefundID: "re_1", Account: "acct_other", Amount: money.Amount{Minor: 5000, Currency: "EUR"}},
		"another amount":  {State: payments.RefundStateSucceeded, RefundID: "re_1", Account: b.Account, Amount: money.Amount{Minor: 4999, Currency: "EUR"}},
	} {
		sales := b.Service(bookings.Config{}, gateway{b.Gateway, func(context.Context, payments.RefundRequest) (payments.RefundOutcome, error) {
			return outcome, nil
		}})
		if err := sales.DriveRefund(t.Context(), refund); err != nil {
			t.Error(err)
		}
		expect(t, name, b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 SUBMITTED BOOKED")
	}
	b.Settle()
	expect(t, "the real answer", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 SUCCEEDED BOOKED")
	b.Audit()
}

// The same for a charge: an answer about another account or currency is looked at by a person.
func TestAnAnswerThatDoesNotFitAChargeSettlesNothing(t *testing.T) {
	t.Parallel()
	b := open(t)
	for name, change := range map[string]func(o *payments.Outcome){
		"another account":         func(o *payments.Outcome) { o.Account = "acct_other" },
		"another currency":        func(o *payments.Outcome) { o.Captured.Currency = "JPY" },
		"another account's no":    func(o *payments.Outcome) { o.Account, o.State = "acct_other", payments.OutcomeStateDeclined },
		"nobody's account's word": func(o *payments.Outcome) { o.Account = "" },
	} {
		guest := b.Guest()
		hold := guest.Hold(b.floor().Units(1))
		sales := b.Service(bookings.Config{InlineWait: bookingstest.Patience}, charging{b.Gateway, change})
		outcome, err := sales.Checkout(t.Context(), guest.Actor, bookingstest.CheckoutOf(hold, sandbox.TokenApprove))
		if err != nil {
			t.Fatal(err)
		}
		expect(t, name, bookingstest.Standing(outcome), "PROCESSING UNKNOWN")
	}
	b.Settle()
	b.Audit()
}

// charging changes the provider's answers about charges.
type charging struct {
	payments.Gateway
	change func(o *payments.Outcome)
}

func (c charging) Charge(ctx context.Context, request payments.ChargeRequest) (payments.Outcome, error) {
	outcome, err := c.Gateway.Charge(ctx, request)
	c.change(&outcome)
	return outcome, err
}

// A charge whose first call was cut off and whose second is refused may still have been taken: the
// attempt stays open, and the provider is looked up before it is asked again.
func TestARejectedSecondCallIsNoDecline(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	rejecting := rejectingSecond{Gateway: b.Gateway, calls: new(atomic.Int64)}
	sales := b.Service(bookings.Config{InlineWait: bookingstest.Patience}, rejecting)
	outcome, err := sales.Checkout(t.Context(), guest.Actor, bookingstest.CheckoutOf(hold, sandbox.TokenApprove))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "cut off", bookingstest.Standing(outcome), "PROCESSING UNKNOWN")
	if err := sales.DriveCharge(t.Context(), b.Attempt(hold)); err != nil {
		t.Fatal(err)
	}
	expect(t, "rejected", b.Sale(hold), "PROCESSING UNKNOWN")
	if n := rejecting.calls.Load(); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
	b.Settle()
	expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

// rejectingSecond loses the first call before it arrives and rejects the second.
type rejectingSecond struct {
	payments.Gateway
	calls *atomic.Int64
}

func (r rejectingSecond) Charge(context.Context, payments.ChargeRequest) (payments.Outcome, error) {
	if r.calls.Add(1) == 1 {
		return payments.Outcome{}, context.DeadlineExceeded
	}
	return payments.Outcome{}, payments.ErrRejected
}

// What is known already is not asked for again: a charge is looked up before it is sent a second
// time.
func TestAChargeIsLookedUpBeforeItIsSentAgain(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, slow)
	b.Reconcile()
	b.decide(t, hold)
	b.Reconcile()
	expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	if requests := b.Provider.Charges()[0].Requests; requests != 1 {
		t.Errorf("the charge was sent %d times", requests)
	}
}

// A bank may send back what a refund has paid, days later. What was recorded stands, and a person is
// told.
func TestARefundThatComesBackIsForAPerson(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.paid(t, sandbox.TokenApprove)
	b.cancelWhole(t, hold)
	b.Settle()
	refund := b.Refunds(hold)[attempt.ID][0]
	b.mustDeliver(t, b.refundMessage(attempt, refund, "succeeded"))
	expect(t, "the same again", b.unresolved(t), "nothing")
	b.mustDeliver(t, b.refundMessage(attempt, refund, "failed"))
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 SUCCEEDED CANCELLED")
	expect(t, "for a person", b.unresolved(t), "EVENT_MISMATCH")
	b.audit(t)
}
