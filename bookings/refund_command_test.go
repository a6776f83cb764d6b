package bookings_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

func refundOf(booking bookings.BookingID, minor int64) bookings.Refund {
	return bookings.Refund{RequestKey: inventorytest.Key(), Booking: booking, Amount: money.Amount{Minor: minor, Currency: "EUR"}, Reason: "noise at night"}
}

// R45: a key is one refund however often it comes, and two keys are two, though they be equal. Never
// more goes back than was taken.
func TestRefundsByAmount(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1, 2))
	b.Pay(guest, hold, sandbox.TokenApprove)
	id := b.BookingOf(hold).ID
	first := refundOf(id, 4000)
	var made []payments.RefundID
	for range 3 {
		refund, err := b.Sales.RefundBooking(t.Context(), b.Owner, first)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, refund.ID)
	}
	if made[0] != made[1] || made[1] != made[2] {
		t.Errorf("one key made the refunds %v", made)
	}
	if refund, err := b.Sales.RefundBooking(t.Context(), b.Owner, refundOf(id, 4000)); err != nil || refund.ID == made[0] || refund.Reason != "noise at night" {
		t.Errorf("an equal refund: %+v, %v", refund, err)
	}
	_, err := b.Sales.RefundBooking(t.Context(), b.Owner, refundOf(id, 2001))
	var tooHigh *bookings.TooHighRefund
	if !errors.As(err, &tooHigh) || tooHigh.Rest.Minor != 2000 || tooHigh.Code != inventory.RefusalRefundTooHigh {
		t.Errorf("too much: %v", err)
	}
	other := first
	other.Amount.Minor = 1
	_, err = b.Sales.RefundBooking(t.Context(), b.Owner, other)
	expect(t, "the key for another amount", b.Explain(err), "REQUEST_KEY_REUSED")
	b.Settle()
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 4000 SUCCEEDED refund 4000 SUCCEEDED BOOKED")
	b.Audit()

	// What was given back counts when lines are cancelled: no more than is left goes back.
	done := b.cancel(t, guest.Actor, bookings.Cancel{Booking: id, Ordinals: []int64{0}})
	expect(t, "the first line", figures(done), "fee 0 (0) refund 2000 (0) waived 0 credited 3000: 0=0+5000/0+0")
	b.Audit()
	done = b.cancel(t, guest.Actor, bookings.Cancel{Booking: id})
	expect(t, "the second", figures(done), "fee 0 (0) refund 0 (0) waived 0 credited 5000: 1=0+5000/0+0")
	b.Settle()
	if kept := b.Kept()["EUR"]; kept != 0 {
		t.Errorf("the provider still has %d", kept)
	}
	b.Audit()
}

// However many ask at once, no more goes back than was taken.
func TestRefundsRaceForTheRest(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, sandbox.TokenApprove)
	id := b.BookingOf(hold).ID
	paid := 0
	for _, err := range inventorytest.Race(8, func(int) error {
		_, err := b.Sales.RefundBooking(t.Context(), b.Owner, refundOf(id, 1500))
		return err
	}) {
		if err == nil {
			paid++
			continue
		}
		if got := b.Explain(err); got != "REFUND_TOO_HIGH" && got != "BUSY" {
			t.Errorf("refused as %s", got)
		}
	}
	b.Settle()
	if kept := b.Kept()["EUR"]; paid == 0 || paid > 3 || kept != 5000-int64(paid)*1500 {
		t.Errorf("%d refunds, the provider has %d", paid, kept)
	}
	b.Audit()
}

func TestWhatCannotBeRefunded(t *testing.T) {
	t.Parallel()
	b, elsewhere := open(t), open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, sandbox.TokenApprove)
	id := b.BookingOf(hold).ID
	change := func(f func(r *bookings.Refund)) bookings.Refund {
		r := refundOf(id, 100)
		f(&r)
		return r
	}
	for name, c := range map[string]struct {
		by   inventorytest.Buyer
		wish bookings.Refund
		want fault.Kind
	}{
		"by a guest":             {guest, refundOf(id, 100), fault.KindDenied},
		"by a partner":           {b.Partner("Agency"), refundOf(id, 100), fault.KindDenied},
		"another tenant's":       {elsewhere.Buyer(elsewhere.Owner), refundOf(id, 100), fault.KindNotFound},
		"no such booking":        {b.Buyer(b.Owner), refundOf(ids.New[bookings.BookingKind](inventorytest.Region), 100), fault.KindNotFound},
		"nothing":                {b.Buyer(b.Owner), refundOf(id, 0), fault.KindInvalid},
		"less than nothing":      {b.Buyer(b.Owner), refundOf(id, -1), fault.KindInvalid},
		"another currency":       {b.Buyer(b.Owner), change(func(r *bookings.Refund) { r.Amount.Currency = "JPY" }), fault.KindInvalid},
		"without a reason":       {b.Buyer(b.Owner), change(func(r *bookings.Refund) { r.Reason = "" }), fault.KindInvalid},
		"for a very long reason": {b.Buyer(b.Owner), change(func(r *bookings.Refund) { r.Reason = strings.Repeat("x", 201) }), fault.KindInvalid},
		"without a key":          {b.Buyer(b.Owner), change(func(r *bookings.Refund) { r.RequestKey = "" }), fault.KindInvalid},
	} {
		_, err := b.Sales.RefundBooking(t.Context(), c.by.Actor, c.wish)
		expectFault(t, name, err, c.want)
	}
	_, err := b.Sales.RetryRefund(t.Context(), guest.Actor, "1", payments.RefundID{})
	expectFault(t, "a guest tries again", err, fault.KindDenied)
	_, err = b.Sales.RetryRefund(t.Context(), b.Owner, "1", ids.New[payments.RefundKind](inventorytest.Region))
	expectFault(t, "no such refund", err, fault.KindNotFound)
	_, _, err = b.Sales.FailedRefunds(t.Context(), guest.Actor, inventorytest.Region, nil, 10)
	expectFault(t, "a guest lists", err, fault.KindDenied)
	_, _, err = b.Sales.FailedRefunds(t.Context(), b.Owner, inventorytest.Region, nil, 0)
	expectFault(t, "a page of none", err, fault.KindInvalid)
	b.Audit()
}

// A refund that failed as often as it is tried is work for a person, who has it tried again: once, and
// under another key at the provider.
func TestARefundThatFailedForGoodIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold := b.cancelled(t, sandbox.TokenApprove)
	sound := b.Sales
	b.Sales = b.Service(bookings.Config{}, gateway{b.Gateway, func(context.Context, payments.RefundRequest) (payments.RefundOutcome, error) {
		return payments.RefundOutcome{}, fmt.Errorf("%w: the account is closed", payments.ErrRejected)
	}})
	failed := func() []bookings.FailedRefund {
		t.Helper()
		found, more, err := b.Sales.FailedRefunds(t.Context(), b.Owner, inventorytest.Region, nil, 10)
		if err != nil || more {
			t.Fatal(err, more)
		}
		return found
	}
	first := b.Refund(hold)
	if err := b.Sales.DriveRefund(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if n := len(failed()); n != 0 {
		t.Errorf("%d are work for a person while they are still tried", n)
	}
	_, err := b.Sales.RetryRefund(t.Context(), b.Owner, inventorytest.Key(), first.ID)
	expect(t, "one that is tried by itself", b.Explain(err), "REFUND_NOT_FAILED")
	b.Settle()
	waiting := failed()
	if len(waiting) != 1 || waiting[0].Amount.Minor != 5000 || waiting[0].Hold != hold.ID || waiting[0].Booking == nil || *waiting[0].Booking != b.BookingOf(hold).ID || waiting[0].FailureCode != "rejected" {
		t.Fatalf("waiting for a person: %+v", waiting)
	}
	report, err := b.Sales.Audit(t.Context(), &b.ID)
	if err != nil || report.OK {
		t.Errorf("the audit does not see the money that is owed: %+v, %v", report, err)
	}

	b.Sales = sound
	key := inventorytest.Key()
	again, err := b.Sales.RetryRefund(t.Context(), b.Owner, key, waiting[0].ID)
	if err != nil || again.ID == waiting[0].ID || again.Amount != waiting[0].Amount || again.State != payments.RefundRequested {
		t.Fatalf("tried again: %+v, %v", again, err)
	}
	expectLogged(t, b, policies.ActionRefundCreate, waiting[0].ID.String())
	if same, err := b.Sales.RetryRefund(t.Context(), b.Owner, key, waiting[0].ID); err != nil || same.ID != again.ID {
		t.Errorf("the same key: %+v, %v", same, err)
	}
	for _, err := range inventorytest.Race(3, func(int) error {
		_, err := b.Sales.RetryRefund(t.Context(), b.Owner, inventorytest.Key(), waiting[0].ID)
		return err
	}) {
		expect(t, "another key", b.Explain(err), "REFUND_NOT_FAILED")
	}
	if n := len(failed()); n != 0 {
		t.Errorf("%d still wait for a person", n)
	}
	b.Settle()
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED"+strings.Repeat(" refund 5000 FAILED", 5)+" refund 5000 SUCCEEDED BOOKED")
	if n := len(b.Provider.Refunds()); n != 1 {
		t.Errorf("the provider paid %d refunds", n)
	}
	b.Audit()
}

// expectLogged looks for one entry of an action on a resource in the log of changes.
func expectLogged(t *testing.T, b box, action tenants.Action, resource string) {
	t.Helper()
	entries, _, err := b.Tenants.AuditEntries(t.Context(), b.Owner, b.ID, tenants.AuditFilter{Region: inventorytest.Region, Resource: resource}, nil, 10)
	if err != nil || len(entries) != 1 || entries[0].Action != action || entries[0].Author.Actor != b.Owner.Key.String() {
		t.Errorf("the log of changes has %+v, %v", entries, err)
	}
}
