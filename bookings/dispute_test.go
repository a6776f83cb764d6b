package bookings_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// disputeMessage tells of one step of a dispute.
func (b box) disputeMessage(attempt payments.Attempt, dispute, status string, minor int64) message {
	return message{"id": "evt_" + inventorytest.Key(), "type": "dispute." + status, "createdAt": time.Now().UTC(), "dispute": map[string]any{
		"id": dispute, "account": b.Account, "key": attempt.ID.String(), "charge": attempt.ProviderCharge, "status": status,
		"amountMinor": minor, "currency": string(attempt.Amount.Currency),
		"reference": map[string]any{"tenant": b.ID.String(), "attempt": attempt.ID.String()},
	}}
}

func (b box) mustDeliver(t *testing.T, m message) {
	t.Helper()
	if err := b.deliver(t, m); err != nil {
		t.Fatal(err)
	}
}

func (b box) mustDeliverIn(rt *rapid.T, m message) {
	if err := b.deliverIn(rt.Context(), m); err != nil {
		rt.Fatal(err)
	}
}

// requestRefund asks for a refund by amount.
func (b box) requestRefund(t *testing.T, attempt payments.Attempt, action string, minor int64) (payments.Refund, error) {
	t.Helper()
	return b.requestRefundIn(t.Context(), attempt.ID, action, minor)
}

func (b box) requestRefundIn(ctx context.Context, id payments.AttemptID, action string, minor int64) (payments.Refund, error) {
	return db.InTx(ctx, b.DB, "test", func(ctx context.Context, tx pgx.Tx) (payments.Refund, error) {
		attempt, err := payments.Lock(ctx, tx, b.ID, id)
		if err != nil {
			return payments.Refund{}, err
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return payments.Refund{}, err
		}
		return payments.RequestRefundTx(ctx, tx, attempt, action, "by hand", money.Amount{Minor: minor, Currency: attempt.Amount.Currency}, now, now)
	})
}

// disputes are a payment's disputes in words, such as "5000 OPENED".
func (b box) disputes(t *testing.T, attempt payments.AttemptID) string {
	t.Helper()
	disputes, err := b.Sales.DisputesOfAttempts(t.Context(), b.Owner, []payments.AttemptID{attempt})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, d := range disputes[attempt] {
		words = append(words, fmt.Sprintf("%d %s", d.Amount.Minor, d.State))
		if (d.ClosedAt != nil) != (d.State != payments.DisputeOpened) {
			t.Errorf("dispute %s is %s and closed at %v", d.ID, d.State, d.ClosedAt)
		}
	}
	return strings.Join(words, ", ")
}

// paid is a paid booking of one seat with its payment.
func (b box) paid(t *testing.T, token string) (inventory.Hold, payments.Attempt) {
	t.Helper()
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	expect(t, "booked", b.Pay(guest, hold, token), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	return hold, b.Attempts(hold)[0]
}

// C49: a dispute moves money, not the seat, in whatever order and however often its steps are told.
func TestADisputeIsRecordedInAnyOrder(t *testing.T) {
	t.Parallel()
	for end, state := range map[string]payments.DisputeState{"won": payments.DisputeWon, "lost": payments.DisputeLost} {
		for name, order := range map[string][]string{
			"in order": {"opened", end}, "the end first": {end, "opened"}, "the end only": {end}, "doubled": {"opened", "opened", end, end, "opened"},
		} {
			t.Run(end+", "+name, func(t *testing.T) {
				t.Parallel()
				b := open(t)
				hold, attempt := b.paid(t, sandbox.TokenApprove)
				for _, status := range order {
					m := b.disputeMessage(attempt, "dp_1", status, 5000)
					for range 2 {
						b.mustDeliver(t, m)
					}
				}
				expect(t, "the dispute", b.disputes(t, attempt.ID), "5000 "+string(state))
				expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
				b.Guest().Refused("HELD_BY_OTHER seat 1", b.hall.Seats(1))
				after := b.Attempts(hold)[0]
				lost := int64(0)
				if state == payments.DisputeLost {
					lost = 5000
				}
				if after.Disputed.Minor != 0 || after.Lost.Minor != lost || after.Captured.Minor != 5000 || after.Refunded.Minor != 0 {
					t.Errorf("the payment is %+v", after)
				}
				if n := b.Rows("disputes"); n != 1 {
					t.Errorf("%d disputes", n)
				}
				b.Audit()
			})
		}
	}
}

// A test of the whole way, with the provider's own events.
func TestTheProvidersDisputesArrive(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{sandbox.TokenDisputeWon: "5000 WON", sandbox.TokenDisputeLost: "5000 LOST"} {
		b := open(t, webhooks)
		hold, attempt := b.paid(t, token)
		b.Eventually(want, func() bool { return b.disputes(t, attempt.ID) == want })
		expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
		disputes, err := b.Sales.DisputesOfAttempts(t.Context(), b.Owner, []payments.AttemptID{attempt.ID})
		if err != nil {
			t.Fatal(err)
		}
		told := strings.Join(b.Events(disputes[attempt.ID][0].ID.UUID), ", ")
		if last := "dispute." + strings.ToLower(strings.Fields(want)[1]); !strings.HasSuffix(told, last) {
			t.Errorf("told %s, want %s in the end", told, last)
		}
		b.Audit()
	}
}

func TestDisputesThatDoNotFitChangeNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(m map[string]any)
		want   string
	}{
		"another account":  {func(m map[string]any) { m["account"] = "acct_other" }, "MISMATCH 1"},
		"another currency": {func(m map[string]any) { m["currency"] = "JPY" }, "MISMATCH 1"},
		"another charge":   {func(m map[string]any) { m["charge"] = "ch_other" }, "MISMATCH 1"},
		"too much":         {func(m map[string]any) { m["amountMinor"] = 5001 }, "MISMATCH 1"},
		"nothing":          {func(m map[string]any) { m["amountMinor"] = 0 }, "MISMATCH 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			hold, attempt := b.paid(t, sandbox.TokenApprove)
			m := b.disputeMessage(attempt, "dp_1", "lost", 5000)
			told, ok := m["dispute"].(map[string]any)
			if !ok {
				t.Fatal("no dispute")
			}
			c.change(told)
			b.mustDeliver(t, m)
			expect(t, "the dispute", b.disputes(t, attempt.ID), "")
			expect(t, "the events", b.results(t), c.want)
			if after := b.Attempts(hold)[0]; after.Lost.Minor != 0 || after.Version != attempt.Version {
				t.Errorf("the payment is %+v", after)
			}
		})
	}
	t.Run("a contradiction", func(t *testing.T) {
		t.Parallel()
		b := open(t)
		_, attempt := b.paid(t, sandbox.TokenApprove)
		b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", "won", 5000))
		b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", "lost", 5000))
		expect(t, "the dispute", b.disputes(t, attempt.ID), "5000 WON")
		expect(t, "the events", b.results(t), "APPLIED 1, MISMATCH 1")
	})
	t.Run("another payment", func(t *testing.T) {
		t.Parallel()
		b := open(t)
		_, attempt := b.paid(t, sandbox.TokenApprove)
		b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", "opened", 5000))
		guest := b.Guest()
		hold := guest.Hold(b.hall.Seats(2))
		b.Pay(guest, hold, sandbox.TokenApprove)
		b.mustDeliver(t, b.disputeMessage(b.Attempts(hold)[0], "dp_1", "lost", 5000))
		expect(t, "the events", b.results(t), "APPLIED 1, MISMATCH 1")
	})
}

// An event that names only the charge, as those of some providers do, finds its payment.
func TestADisputeFindsItsPaymentByTheCharge(t *testing.T) {
	t.Parallel()
	b := open(t)
	_, attempt := b.paid(t, sandbox.TokenApprove)
	m := b.disputeMessage(attempt, "dp_1", "opened", 5000)
	told, ok := m["dispute"].(map[string]any)
	if !ok {
		t.Fatal("no dispute")
	}
	told["reference"], told["key"] = map[string]any{}, ""
	b.mustDeliver(t, m)
	expect(t, "the dispute", b.disputes(t, attempt.ID), "5000 OPENED")
	expect(t, "the events", b.results(t), "APPLIED 1")
}

// A refund that was not sent yet waits for the end of a dispute: money is not given back twice.
func TestARefundWaitsForADispute(t *testing.T) {
	t.Parallel()
	for end, c := range map[string]struct{ sale, dispute string }{
		"won":  {"CONFIRMED SUCCEEDED/APPLIED refund 5000 SUCCEEDED CANCELLED", "5000 WON"},
		"lost": {"CONFIRMED SUCCEEDED/APPLIED refund 5000 FAILED CANCELLED", "5000 LOST"},
	} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			hold, attempt := b.paid(t, sandbox.TokenApprove)
			b.cancelWhole(t, hold)
			b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", "opened", 5000))
			for range 3 {
				b.Reconcile()
			}
			expect(t, "while the dispute is open", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 REQUESTED CANCELLED")
			if n := len(b.Provider.Refunds()); n != 0 {
				t.Fatalf("%d refunds were sent", n)
			}
			b.audit(t)
			b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", end, 5000))
			b.Settle()
			expect(t, "in the end", b.Sale(hold), c.sale)
			expect(t, "the dispute", b.disputes(t, attempt.ID), c.dispute)
			b.audit(t)
		})
	}
}

// A refund that may have been sent before the dispute came is asked about under its key, whatever
// the dispute says.
func TestASentRefundIsNotHeldBack(t *testing.T) {
	t.Parallel()
	b := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash("refund") })
	hold, attempt := b.paid(t, sandbox.TokenApprove)
	b.cancelWhole(t, hold)
	bookingstest.Survive(func() { _ = b.Sales.DriveRefund(t.Context(), b.Refund(hold)) })
	b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", "opened", 5000))
	b.Settle()
	expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 SUCCEEDED CANCELLED")
	if n := len(b.Provider.Refunds()); n != 1 {
		t.Errorf("%d refunds", n)
	}
}

// What a lost dispute took in part is not refunded; the rest is, once.
func TestTheRestOfALostDisputeIsRefunded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before bool
		want   string
	}{
		"lost before the cancellation": {true, "CONFIRMED SUCCEEDED/APPLIED refund 4000 SUCCEEDED CANCELLED"},
		"lost after it":                {false, "CONFIRMED SUCCEEDED/APPLIED refund 5000 FAILED refund 4000 SUCCEEDED CANCELLED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			hold, attempt := b.paid(t, sandbox.TokenApprove)
			if c.before {
				b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", "lost", 1000))
			}
			b.cancelWhole(t, hold)
			if !c.before {
				b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", "lost", 1000))
			}
			b.Settle()
			expect(t, "in the end", b.Sale(hold), c.want)
			if got := b.Provider.RefundedTotal(b.Account)["EUR"]; got != 4000 {
				t.Errorf("%d were given back", got)
			}
			b.audit(t)
		})
	}
}

// C49: a booking whose price a dispute took whole can still be cancelled, for its seat; nothing is
// refunded. A refund asked for by amount is refused.
func TestARefundAfterALostDisputeIsRefused(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.paid(t, sandbox.TokenApprove)
	b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", "lost", 5000))
	_, err := b.requestRefund(t, attempt, "by-hand", 1)
	expectFault(t, "a refund by amount", err, fault.KindConflict)
	b.cancelWhole(t, hold)
	b.Settle()
	expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED CANCELLED")
	b.Guest().Hold(b.hall.Seats(1))
	b.audit(t)
}

// C49: what a lost dispute took is not there to be given back. A dry run and the cancellation say so
// alike, the cancellation stores it, and refunds by amount are refused with what is left.
func TestALostDisputeCountsAsGivenBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost int64
		want string
	}{
		"whole": {5000, "fee 0 (0) refund 0 (0) waived 0 credited 5000: 0=0+5000/0+0"},
		"part":  {1000, "fee 0 (0) refund 4000 (0) waived 0 credited 1000: 0=0+5000/0+0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			hold, attempt := b.paid(t, sandbox.TokenApprove)
			b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", "lost", c.lost))
			booking := b.BookingOf(hold).ID
			_, err := b.Sales.RefundBooking(t.Context(), b.Owner, refundOf(booking, 5000-c.lost+1))
			var tooHigh *bookings.TooHighRefund
			if !errors.As(err, &tooHigh) || tooHigh.Rest.Minor != 5000-c.lost {
				t.Errorf("a refund of more than is left: %v", err)
			}
			cancel := bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking, DryRun: true}
			for _, cancel.DryRun = range []bool{true, false, false} {
				done, err := b.Sales.CancelBooking(t.Context(), b.Owner, cancel)
				if err != nil {
					t.Fatal(err)
				}
				expect(t, fmt.Sprintf("dry run %t", cancel.DryRun), figures(done), c.want)
			}
			b.Settle()
			if got := b.Provider.RefundedTotal(b.Account)["EUR"]; got != 5000-c.lost {
				t.Errorf("%d were given back", got)
			}
			b.Audit()
		})
	}
}

// The money of an orphan that was lost in a dispute before the success was known is not owed twice.
func TestADisputeThatComesBeforeItsSuccess(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.pending()
	b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", "lost", 5000))
	b.Lapse(hold)
	b.Guest().Hold(b.hall.Seats(1))
	b.mustDeliver(t, b.chargeMessage(attempt, "approved"))
	expect(t, "the sale", b.Sale(hold), "EXPIRED SUCCEEDED/ORPHANED")
	b.audit(t)
}

// Whatever the order of refunds, disputes and their ends, the provider never gives back more than
// what was captured and not lost.
func TestRefundsAndLostDisputesStayWithinTheCapture(t *testing.T) {
	t.Parallel()
	shop := open(t)
	shop.hall = shop.Hall(1, inventorytest.PoolOf("Floor", 10_000, 1))
	rapid.Check(t, func(rt *rapid.T) {
		guest := shop.Guest()
		hold := guest.Hold(shop.floor().Units(rapid.Int64Range(1, 3).Draw(rt, "units")))
		shop.Pay(guest, hold, rapid.SampledFrom([]string{sandbox.TokenApprove, sandbox.TokenRefundFailsOnce, sandbox.TokenRefundError}).Draw(rt, "token"))
		attempt := shop.Attempts(hold)[0]
		price, open, refunds := attempt.Captured.Minor, map[string]int64{}, 0
		disputed := int64(0)
		rt.Repeat(map[string]func(*rapid.T){
			"open": func(rt *rapid.T) {
				minor := rapid.Int64Range(1, price).Draw(rt, "disputed")
				// A provider disputes no more than it still has, and knows of all that was sent.
				sent := int64(0)
				for _, refund := range shop.Refunds(hold)[attempt.ID] {
					if refund.State == payments.RefundSubmitted || refund.State == payments.RefundSucceeded {
						sent += refund.Amount.Minor
					}
				}
				if disputed+minor+sent > price {
					return
				}
				disputed += minor
				id := fmt.Sprintf("dp_%s_%d", attempt.ID, len(open))
				open[id] = minor
				shop.mustDeliverIn(rt, shop.disputeMessage(attempt, id, "opened", minor))
			},
			"close": func(rt *rapid.T) {
				for _, id := range slices.Sorted(maps.Keys(open)) {
					minor := open[id]
					if minor == 0 {
						continue
					}
					end := rapid.SampledFrom([]string{"won", "lost"}).Draw(rt, "end")
					shop.mustDeliverIn(rt, shop.disputeMessage(attempt, id, end, minor))
					if open[id] = 0; end == "won" {
						disputed -= minor
					}
					return
				}
			},
			"refund": func(rt *rapid.T) {
				refunds++
				_, err := shop.requestRefundIn(rt.Context(), attempt.ID, fmt.Sprintf("by-hand:%d", refunds), rapid.Int64Range(1, price).Draw(rt, "refund"))
				if err != nil && fault.KindOf(err) != fault.KindConflict {
					rt.Fatal(err)
				}
			},
			"drive": func(*rapid.T) { shop.Reconcile() },
			"": func(rt *rapid.T) {
				now := shop.Attempts(hold)[0]
				paid := int64(0)
				for _, refund := range shop.Provider.Refunds() {
					if refund.AttemptID == attempt.ID.String() && refund.State == payments.RefundStateSucceeded {
						paid += refund.Amount.Minor
					}
				}
				if paid > now.Refunded.Minor || paid+now.Lost.Minor > price {
					rt.Fatalf("%d of %d were given back and %d lost, %d are counted", paid, price, now.Lost.Minor, now.Refunded.Minor)
				}
			},
		})
	})
	report, err := shop.Sales.Audit(t.Context(), &shop.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range report.Checks {
		if strings.Contains(check.Name, "add up") && !check.OK {
			t.Errorf("audit: %s: %v", check.Name, check.Examples)
		}
	}
}
