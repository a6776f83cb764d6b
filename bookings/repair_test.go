package bookings_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// repairs is what was mended today, as the admin is shown it, such as "CONFIRMED 1".
func (b box) repairs(t *testing.T) string {
	t.Helper()
	counts, err := b.Sales.RepairCounts(t.Context(), b.Owner, inventorytest.Region, b.Now())
	if err != nil {
		t.Fatal(err)
	}
	listed, more, err := b.Sales.Repairs(t.Context(), b.Owner, inventorytest.Region, b.Now(), nil, 100)
	if err != nil || more {
		t.Fatalf("the list goes on: %t, %v", more, err)
	}
	var parts []string
	for _, count := range counts {
		if count.Count > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", count.Kind, count.Count))
		}
		for _, repair := range listed {
			if repair.Kind == count.Kind {
				count.Count--
			}
		}
		if count.Count != 0 {
			t.Errorf("%s: the list has %d fewer than the count", count.Kind, count.Count)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// crashedAt is a hold whose checkout died after a step.
func crashedAt(t *testing.T, step, token string, change ...func(*bookingstest.Setup)) (box, inventory.Hold) {
	t.Helper()
	crash := func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash(step) }
	b := open(t, append(change, crash)...)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	bookingstest.Survive(func() { _, _ = b.TryPay(guest, hold, token) })
	if standing := b.Sale(hold); !strings.HasPrefix(standing, "PROCESSING") {
		t.Fatalf("it did not crash: %s", standing)
	}
	b.Restart(bookings.Config{InlineWait: bookingstest.Patience})
	return b, hold
}

// What the checkout's own process does is no repair, and neither is a provider's message that comes
// while that process is at work.
func TestTheOrdinaryCourseIsNoRepair(t *testing.T) {
	t.Parallel()
	for _, token := range []string{sandbox.TokenApprove, sandbox.TokenDecline, sandbox.TokenWebhookBeforeResponse} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			b := open(t, webhooks)
			guest := b.Guest()
			hold := guest.Hold(b.hall.Seats(1))
			b.Pay(guest, hold, token)
			b.Settle()
			expect(t, "repairs", b.repairs(t), "none")
			if b.BookingOf(hold) != nil {
				b.cancelWhole(t, hold)
				if err := b.Sales.DriveRefund(t.Context(), b.Refund(hold)); err != nil {
					t.Fatal(err)
				}
				expect(t, "repairs after a refund", b.repairs(t), "none")
			}
		})
	}
}

// Whoever comes first mends it, and it is counted once, although the job, the reconciler, the
// provider's message and a person come at the same moment.
func TestEachRepairIsCountedOnce(t *testing.T) {
	t.Parallel()
	type sale struct {
		b    box
		hold inventory.Hold
	}
	for name, c := range map[string]struct {
		begin func(t *testing.T) sale
		ends  string
		want  string
	}{
		"paid, and the process died": {func(t *testing.T) sale {
			t.Helper()
			b, hold := crashedAt(t, "charge", sandbox.TokenApprove)
			return sale{b, hold}
		}, "CONFIRMED SUCCEEDED/APPLIED BOOKED", "CONFIRMED 1"},
		"declined, and the process died": {func(t *testing.T) sale {
			t.Helper()
			b, hold := crashedAt(t, "charge", sandbox.TokenDecline)
			return sale{b, hold}
		}, "RELEASED DECLINED/card_declined", "RELEASED 1"},
		"never sent, and the hold is over": {func(t *testing.T) sale {
			t.Helper()
			b, hold := crashedAt(t, "checkout", sandbox.TokenApprove)
			b.Lapse(hold)
			return sale{b, hold}
		}, "RELEASED DECLINED/not_sent", "RELEASED 1"},
		"paid too late": {func(t *testing.T) sale {
			t.Helper()
			b := open(t).terms(refundLate())
			hold, _ := b.pending()
			b.Lapse(hold)
			b.decide(t, hold)
			return sale{b, hold}
		}, "EXPIRED SUCCEEDED/ORPHANED refund 5000 SUCCEEDED", "ORPHAN_REFUNDED 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.begin(t)
			b, attempt := s.b, s.b.Attempt(s.hold)
			b.Age(time.Minute)
			b.Due()
			for i, err := range inventorytest.Race(6, func(i int) error {
				switch i % 3 {
				case 0:
					return b.Sales.DriveCharge(t.Context(), attempt)
				case 1:
					_, err := b.Sales.Reconcile(t.Context(), 100)
					return err
				}
				_, err := b.Sales.ReconcileRange(t.Context(), b.today())
				return err
			}) {
				if err != nil {
					t.Errorf("%d: %v", i, err)
				}
			}
			for _, refunds := range b.Refunds(s.hold) {
				for _, refund := range refunds {
					at := payments.Located[payments.RefundID]{Tenant: b.ID, ID: refund.ID}
					for _, err := range inventorytest.Race(3, func(int) error { return b.Sales.DriveRefund(t.Context(), at) }) {
						if err != nil {
							t.Error(err)
						}
					}
				}
			}
			b.Settle()
			expect(t, "the sale", b.Sale(s.hold), c.ends)
			expect(t, "repairs", b.repairs(t), c.want)
			b.Settle()
			if report := b.reconcile(t, b.today()); len(report.Repaired) != 0 || report.Disputed != 0 {
				t.Errorf("once more: %+v", report)
			}
			expect(t, "once more", b.repairs(t), c.want)
			b.Audit()
		})
	}
}

// today is a reconciliation by hand of everything of the tenant.
func (b box) today() bookings.Range {
	return bookings.Range{Since: b.Now().Add(-24 * time.Hour), Until: b.Now().Add(time.Hour), Tenant: b.ID}
}

func (b box) reconcile(t *testing.T, input bookings.Range) bookings.RangeReport {
	t.Helper()
	report, err := b.Sales.ReconcileRange(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A provider's message mends what nobody else did, once the checkout's own process has had its time.
func TestALateMessageIsARepair(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ status, want string }{{"approved", "CONFIRMED 1"}, {"declined", "RELEASED 1"}} {
		b := open(t)
		_, attempt := b.pending()
		b.Age(time.Minute)
		m := b.chargeMessage(attempt, c.status)
		for _, err := range inventorytest.Race(3, func(int) error { return b.deliver(t, m) }) {
			if err != nil {
				t.Error(err)
			}
		}
		expect(t, c.status, b.repairs(t), c.want)
	}
}

// A success that overturns a decline is a repair at any time: we had told the buyer no.
func TestAnOverturnedDeclineIsARepair(t *testing.T) {
	t.Parallel()
	b := open(t).terms(keep())
	hold, attempt := b.pending()
	for _, status := range []string{"declined", "approved"} {
		if err := b.deliver(t, b.chargeMessage(attempt, status)); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	expect(t, "repairs", b.repairs(t), "CONFIRMED 1")
}

func TestRefundsThatWereMendedAreCounted(t *testing.T) {
	t.Parallel()
	t.Run("its answer was lost", func(t *testing.T) {
		t.Parallel()
		b := open(t, impatient)
		hold := b.cancelled(t, sandbox.TokenRefundTimeout)
		if err := b.Sales.DriveRefund(t.Context(), b.Refund(hold)); err != nil {
			t.Fatal(err)
		}
		expect(t, "after the first", b.repairs(t), "none")
		b.Age(time.Minute)
		b.Settle()
		expect(t, "after the second", b.repairs(t), "REFUND_COMPLETED 1")
	})
	t.Run("its job never came", func(t *testing.T) {
		t.Parallel()
		b := open(t)
		b.cancelled(t, sandbox.TokenApprove)
		b.Age(time.Minute)
		b.Settle()
		expect(t, "repairs", b.repairs(t), "REFUND_COMPLETED 1")
	})
	t.Run("the provider failed it once", func(t *testing.T) {
		t.Parallel()
		b := open(t)
		hold := b.cancelled(t, sandbox.TokenRefundFailsOnce)
		if err := b.Sales.DriveRefund(t.Context(), b.Refund(hold)); err != nil {
			t.Fatal(err)
		}
		b.Settle()
		expect(t, "repairs", b.repairs(t), "REFUND_RETRIED 1")
	})
	t.Run("the provider tells of it late", func(t *testing.T) {
		t.Parallel()
		b := open(t)
		hold := b.cancelled(t, sandbox.TokenApprove)
		attempt := b.Attempts(hold)[0]
		b.Age(time.Hour)
		if err := b.deliver(t, b.refundMessage(attempt, b.Refunds(hold)[attempt.ID][0], "succeeded")); err != nil {
			t.Fatal(err)
		}
		expect(t, "repairs", b.repairs(t), "REFUND_COMPLETED 1")
	})
}

// An event that came before its attempt, such as after a restore, is matched when it is there.
func TestAnEventThatCameTooEarlyIsMatched(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.pending()
	b.Exec(`INSERT INTO provider_events (tenant_id, region, provider, event_id, type, account, attempt_id, amount_minor, currency, result, received_at,
			event_key, charge_id, retry_at)
		VALUES ($1, $2, $3, 'evt_early', 'charge.succeeded', $4, $5, 5000, 'EUR', 'UNMATCHED', now() - interval '1 hour', $6, 'ch_early', now() - interval '1 second')`,
		string(attempt.ID.Region), b.ProviderName, b.Account, attempt.ID.UUID, attempt.ID.String())
	for range 2 {
		if _, err := b.Sales.Reconcile(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	expect(t, "repairs", b.repairs(t), "CONFIRMED 1, EVENT_MATCHED 1")
	expect(t, "the review queue", b.unresolved(t), "nothing")
}

// The money of an orphan counts as given back when the provider has paid it, not before.
func TestAnOrphanCountsWhenItIsPaid(t *testing.T) {
	t.Parallel()
	b := open(t).terms(refundLate())
	hold, _ := b.pending()
	b.Lapse(hold)
	b.decide(t, hold)
	b.Reconcile()
	expect(t, "requested", b.repairs(t), "none")
	expect(t, "unresolved", b.unresolved(t), "REFUND_OPEN")
	silent := b.Service(bookings.Config{}, gateway{b.Gateway, func(context.Context, payments.RefundRequest) (payments.RefundOutcome, error) {
		return payments.RefundOutcome{}, context.DeadlineExceeded
	}})
	if err := silent.DriveRefund(t.Context(), b.Refund(hold)); err != nil {
		t.Fatal(err)
	}
	expect(t, "asked for", b.repairs(t), "none")
	b.Age(time.Minute)
	b.Settle()
	expect(t, "paid", b.repairs(t), "ORPHAN_REFUNDED 1, REFUND_COMPLETED 1")
	expect(t, "unresolved", b.unresolved(t), "nothing")
}
