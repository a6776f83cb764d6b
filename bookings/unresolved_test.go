package bookings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/policies"
)

// waiting is what the admin's queue has, read in pages of two.
func (b box) waiting(t *testing.T) []bookings.Unresolved {
	t.Helper()
	var found []bookings.Unresolved
	var after *bookings.UnresolvedCursor
	for {
		page, more, err := b.Sales.Unresolved(t.Context(), b.Owner, inventorytest.Region, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, page...)
		if !more {
			return found
		}
		cursor := page[len(page)-1].Cursor()
		after = &cursor
	}
}

// unresolved are the reasons of the queue, oldest first.
func (b box) unresolved(t *testing.T) string {
	t.Helper()
	var reasons []string
	for _, u := range b.waiting(t) {
		reasons = append(reasons, string(u.Reason))
	}
	if len(reasons) == 0 {
		return "nothing"
	}
	return strings.Join(reasons, ", ")
}

// The queue has everything that is not at its end, oldest first, page after page, and a decision
// takes out what only a person can end.
func TestTheReviewQueue(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.pendingOn(1)
	expect(t, "within its window", b.unresolved(t), "nothing")
	b.Lapse(hold)
	for i, change := range []func(m message){
		func(m message) { m.about()["account"] = "acct_other" },
		func(m message) { m.about()["key"] = "pay_other" },
	} {
		m := b.chargeMessage(attempt, "approved")
		change(m)
		if err := b.deliver(t, m); err != nil {
			t.Fatal(i, err)
		}
	}
	b.Exec("UPDATE payment_attempts SET created_at = created_at - interval '1 hour' WHERE tenant_id = $1")
	expect(t, "what is tried again by itself", b.unresolved(t), "PAYMENT_OPEN, EVENT_MISMATCH")
	b.Exec("UPDATE provider_events SET retry_at = NULL WHERE tenant_id = $1")
	expect(t, "three things", b.unresolved(t), "PAYMENT_OPEN, EVENT_MISMATCH, EVENT_UNMATCHED")

	queue := b.waiting(t)
	for _, u := range queue {
		if u.Attempt != attempt.ID || u.Hold != hold.ID || u.Amount != attempt.Amount || u.Provider == "" {
			t.Errorf("%s says %+v", u.Reason, u)
		}
	}
	if _, err := b.Sales.ResolveReview(t.Context(), b.Owner, queue[0].Item, "done"); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("what ends by itself was decided about: %v", err)
	}
	for _, note := range []string{"", "  ", strings.Repeat("n", 1001), "a\x00b"} {
		_, err := b.Sales.ResolveReview(t.Context(), b.Owner, queue[1].Item, note)
		expectFault(t, fmt.Sprintf("the note %.10q", note), err, fault.KindInvalid)
	}
	reviews := make([]bookings.Review, 4)
	for i, err := range inventorytest.Race(len(reviews), func(i int) (err error) {
		reviews[i], err = b.Sales.ResolveReview(t.Context(), b.Owner, queue[1].Item, fmt.Sprintf("note %d", i))
		return err
	}) {
		if err != nil || reviews[i] != reviews[0] || reviews[i].ResolvedBy != b.Owner.Key.String() {
			t.Errorf("decision %d is %+v, %v", i, reviews[i], err)
		}
	}
	expect(t, "after the decision", b.unresolved(t), "PAYMENT_OPEN, EVENT_UNMATCHED")

	other := bookingstest.New(t)
	if _, err := other.Sales.ResolveReview(t.Context(), other.Owner, queue[2].Item, "not mine"); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("another tenant decided: %v", err)
	}
	if found, _, err := other.Sales.Unresolved(t.Context(), other.Owner, inventorytest.Region, nil, 10); err != nil || len(found) != 0 {
		t.Errorf("another tenant sees %+v, %v", found, err)
	}
	if listed, _, err := other.Sales.Repairs(t.Context(), other.Owner, inventorytest.Region, b.Now(), nil, 10); err != nil || len(listed) != 0 {
		t.Errorf("another tenant sees %+v, %v", listed, err)
	}
	for name, buyer := range map[string]inventorytest.Buyer{"a guest": b.Guest()} {
		_, _, err := b.Sales.Unresolved(t.Context(), buyer.Actor, inventorytest.Region, nil, 10)
		if kind := fault.KindOf(err); kind != fault.KindDenied && kind != fault.KindUnauthenticated {
			t.Errorf("%s sees the queue: %v", name, err)
		}
	}
}

// A refund that is given up is in the queue once, not once for each of its tries.
func TestARefundThatIsGivenUpWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := open(t).terms(refundLate())
	hold, _ := b.pending()
	b.Lapse(hold)
	b.decide(t, hold)
	b.Sales = b.Service(bookings.Config{}, refusing(b.Gateway))
	b.Settle()
	expect(t, "given up", b.unresolved(t), "REFUND_FAILED")
	item := b.waiting(t)[0]
	if _, err := b.Sales.ResolveReview(t.Context(), b.Owner, item.Item, "Paid by bank transfer."); err != nil {
		t.Fatal(err)
	}
	expectLogged(t, b, policies.ActionPaymentReview, item.Item.String())
	expect(t, "decided", b.unresolved(t), "nothing")
	steps := b.timeline(t, bookings.TimelineOf{Hold: &hold.ID})
	if last := steps[len(steps)-1]; last.Kind != bookings.StepReviewed || last.Detail != "Paid by bank transfer." || last.By != b.Owner.Key.String() {
		t.Errorf("the timeline ends with %+v", last)
	}
}

// A refund that a person has had tried again is the new one's matter, and one that ended because a
// dispute was lost is nobody's: nothing can be done about either.
func TestARefundThatNobodyCanRetryWaitsForNobody(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.paid(t, sandbox.TokenApprove)
	b.cancelWhole(t, hold)
	b.Sales = b.Service(bookings.Config{}, refusing(b.Gateway))
	b.Settle()
	expect(t, "given up", b.unresolved(t), "REFUND_FAILED")
	failed, _, err := b.Sales.FailedRefunds(t.Context(), b.Owner, inventorytest.Region, nil, 10)
	if err != nil || len(failed) != 1 {
		t.Fatalf("%d failed refunds: %v", len(failed), err)
	}
	b.Sales = b.Service(bookings.Config{}, b.Gateway)
	if _, err := b.Sales.RetryRefund(t.Context(), b.Owner, inventorytest.Key(), failed[0].ID); err != nil {
		t.Fatal(err)
	}
	b.Settle()
	expect(t, "paid in the end", b.unresolved(t), "nothing")
	if got := b.Provider.RefundedTotal(b.Account)["EUR"]; got != attempt.Captured.Minor {
		t.Errorf("%d were given back", got)
	}

	guest := b.Guest()
	disputed := guest.Hold(b.hall.Seats(2))
	b.Pay(guest, disputed, sandbox.TokenApprove)
	b.cancelWhole(t, disputed)
	b.mustDeliver(t, b.disputeMessage(b.Attempts(disputed)[0], "dp_1", "lost", 5000))
	b.Settle()
	expect(t, "ended", b.Sale(disputed), "CONFIRMED SUCCEEDED/APPLIED refund 5000 FAILED CANCELLED")
	expect(t, "a lost dispute", b.unresolved(t), "nothing")
	b.audit(t)
}

func (b box) timeline(t *testing.T, of bookings.TimelineOf) []bookings.Step {
	t.Helper()
	timeline, err := b.Sales.PaymentTimeline(t.Context(), b.Owner, of)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(timeline.Steps); i++ {
		if timeline.Steps[i].At.Before(timeline.Steps[i-1].At) {
			t.Errorf("%s is told before %s, which was earlier", timeline.Steps[i-1].Kind, timeline.Steps[i].Kind)
		}
	}
	return timeline.Steps
}

func kindsOf(steps []bookings.Step) string {
	kinds := make([]string, len(steps))
	for i, step := range steps {
		kinds[i] = string(step.Kind)
	}
	return strings.Join(kinds, " ")
}

// A sale that was extended, whose process died after the charge, that its job confirmed, and that was
// cancelled and refunded: every step is there, in order.
func TestTheTimelineOfASaleThatWasMended(t *testing.T) {
	t.Parallel()
	b := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash("charge") })
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1, 2))
	b.Tick(time.Minute)
	hold, err := b.Inventory.ExtendHold(t.Context(), guest.Actor, hold.ID, inventorytest.Key())
	if err != nil {
		t.Fatal(err)
	}
	bookingstest.Survive(func() { _, _ = b.TryPay(guest, hold, sandbox.TokenApprove) })
	b.Restart(bookings.Config{InlineWait: bookingstest.Patience})
	open := b.timeline(t, bookings.TimelineOf{Hold: &hold.ID})
	expect(t, "while it is open", kindsOf(open), "HOLD_PLACED HOLD_EXTENDED PAYMENT_CREATED PAYMENT_SUBMITTED PAYMENT_OPEN")
	if err := b.Sales.DriveCharge(t.Context(), b.Attempt(hold)); err != nil {
		t.Fatal(err)
	}
	attempt := b.Attempts(hold)[0]
	if err := b.deliver(t, b.chargeMessage(attempt, "approved")); err != nil {
		t.Fatal(err)
	}
	b.cancelLines(t, hold, 0)
	b.Settle()
	booking := b.BookingOf(hold)
	steps := b.timeline(t, bookings.TimelineOf{Booking: &booking.ID})
	expect(t, "in the end", kindsOf(steps), "HOLD_PLACED HOLD_EXTENDED PAYMENT_CREATED PAYMENT_SUBMITTED PAYMENT_SETTLED HOLD_ENDED BOOKED REPAIR"+
		" PROVIDER_EVENT BOOKING_CHANGED REFUND_REQUESTED REFUND_SETTLED")
	told := map[bookings.StepKind]bookings.Step{}
	for _, step := range steps {
		told[step.Kind] = step
	}
	if step := told[bookings.StepPaymentSettled]; *step.Amount != attempt.Amount || *step.Attempt != attempt.ID || !strings.HasPrefix(step.Detail, "SUCCEEDED APPLIED") {
		t.Errorf("the payment's end is told as %+v", step)
	}
	if step := told[bookings.StepRepair]; step.By != "JOB" || !strings.HasPrefix(step.Detail, "CONFIRMED") {
		t.Errorf("the repair is told as %+v", step)
	}
	if step := told[bookings.StepProviderEvent]; !strings.HasSuffix(step.Detail, "ALREADY_KNOWN") {
		t.Errorf("the event is told as %+v", step)
	}
	if step := told[bookings.StepRefundSettled]; !strings.HasPrefix(step.Detail, "SUCCEEDED") || step.Refund == nil {
		t.Errorf("the refund's end is told as %+v", step)
	}
}

func TestWhoseTimelineItIs(t *testing.T) {
	t.Parallel()
	b, other := open(t), open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, sandbox.TokenApprove)
	booking := b.BookingOf(hold).ID
	for name, of := range map[string]bookings.TimelineOf{"hold": {Hold: &hold.ID}, "booking": {Booking: &booking}} {
		_, err := other.Sales.PaymentTimeline(t.Context(), other.Owner, of)
		expectFault(t, name, err, fault.KindNotFound)
		if _, err := b.Sales.PaymentTimeline(t.Context(), guest.Actor, of); err == nil {
			t.Errorf("%s: the guest is told everything", name)
		}
	}
	for name, of := range map[string]bookings.TimelineOf{"neither": {}, "both": {Hold: &hold.ID, Booking: &booking}} {
		_, err := b.Sales.PaymentTimeline(t.Context(), b.Owner, of)
		expectFault(t, name, err, fault.KindInvalid)
	}
	var nobody inventory.HoldID
	nobody.Region = inventorytest.Region
	_, err := b.Sales.PaymentTimeline(t.Context(), b.Owner, bookings.TimelineOf{Hold: &nobody})
	expectFault(t, "nobody's", err, fault.KindNotFound)
}

func refusing(g payments.Gateway) payments.Gateway { return gateway{g, refuseRefund} }
