package bookings_test

import (
	"slices"
	"testing"

	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// Whatever the provider does, a sale ends booked, declined or refunded, with one charge at most,
// with its webhooks and without them.
func TestEveryOutcomeOfAProvider(t *testing.T) {
	t.Parallel()
	const (
		booked   = "CONFIRMED SUCCEEDED/APPLIED BOOKED"
		declined = "RELEASED DECLINED/card_declined"
	)
	// With the money reserved first, these end otherwise.
	manually := map[string]string{
		sandbox.TokenCaptureFails: "RELEASED DECLINED/capture_failed",
	}
	for token, want := range map[string]string{
		sandbox.TokenApprove:                      booked,
		sandbox.TokenDecline:                      declined,
		sandbox.TokenDeclineStolenCard:            "RELEASED DECLINED/stolen_card",
		"tok_approve_after_3s":                    booked,
		"tok_decline_after_3s":                    declined,
		"tok_pending_approve_after_3s":            booked,
		"tok_pending_decline_after_3s":            declined,
		sandbox.TokenTimeoutApprove:               booked,
		sandbox.TokenTimeoutDecline:               declined,
		sandbox.TokenUnknownThenApprove:           booked,
		sandbox.TokenUnknownThenDecline:           declined,
		"tok_unknown_then_approve_after_1s":       booked,
		"tok_unknown_then_decline_after_1s":       declined,
		sandbox.TokenErrorApprove:                 booked,
		sandbox.TokenErrorDecline:                 declined,
		sandbox.TokenLostOnce:                     booked,
		sandbox.TokenWebhookTwice:                 booked,
		sandbox.TokenWebhookBeforeResponse:        booked,
		sandbox.TokenWebhookNever:                 booked,
		sandbox.TokenWrongAmount:                  "RELEASED SUCCEEDED/ORPHANED refund 5001 SUCCEEDED",
		sandbox.TokenRefundTimeout:                booked,
		"tok_late_approve_after_1s":               booked,
		sandbox.TokenCaptureFails:                 booked,
		sandbox.TokenCaptureTimeout:               booked,
		sandbox.TokenCaptureError:                 booked,
		"tok_reservation_expires_after_600s":      booked,
		sandbox.TokenDisputeWon:                   booked,
		sandbox.TokenDisputeLost:                  booked,
		"tok_no_such_thing":                       "RELEASED DECLINED/rejected",
		"tok_approve@acct_of_another:alice":       "RELEASED DECLINED/rejected",
		sandbox.TokenApprove + ":a-card-of-alice": booked,
	} {
		for kind, mode := range map[string]struct {
			change  func(*bookingstest.Setup)
			capture inventory.Capture
		}{
			"without webhooks":        {func(*bookingstest.Setup) {}, inventory.CaptureAutomatic},
			"with webhooks":           {webhooks, inventory.CaptureAutomatic},
			"reserved, no webhooks":   {func(*bookingstest.Setup) {}, inventory.CaptureManual},
			"reserved, with webhooks": {webhooks, inventory.CaptureManual},
		} {
			t.Run(token+" "+kind, func(t *testing.T) {
				t.Parallel()
				want := want
				if other, ok := manually[token]; ok && mode.capture == inventory.CaptureManual {
					want = other
				}
				b := open(t, impatient, mode.change).terms(inventory.TermsChange{Capture: &mode.capture})
				guest := b.Guest()
				free := b.counts()
				hold := guest.Hold(b.hall.Seats(1))
				if _, err := b.TryPay(guest, hold, token); err != nil {
					t.Fatal(b.Explain(err))
				}
				b.Settle()
				expect(t, "in the end", b.Sale(hold), want)
				if n := len(b.Provider.Charges()); n > 1 {
					t.Errorf("%d charges", n)
				}
				if want != booked {
					b.Guest().Hold(b.hall.Seats(1))
				}
				if got := b.counts(); got != free {
					t.Errorf("counters %+v, were %+v", got, free)
				}
				b.Audit()
			})
		}
	}
}

// The provider says yes and then no, or no and then yes. Its messages come in any order; the money is
// taken for a booking, or given back.
func TestAProviderThatContradictsItself(t *testing.T) {
	t.Parallel()
	const booked, refunded = "CONFIRMED SUCCEEDED/APPLIED BOOKED", "RELEASED SUCCEEDED/ORPHANED refund 5000 SUCCEEDED"
	for token, ends := range map[string][]string{
		sandbox.TokenApproveThenDecline: {booked, refunded}, sandbox.TokenDeclineThenApprove: {refunded},
	} {
		for _, capture := range []inventory.Capture{inventory.CaptureAutomatic, inventory.CaptureManual} {
			t.Run(token+" "+string(capture), func(t *testing.T) {
				t.Parallel()
				b := open(t, webhooks).terms(inventory.TermsChange{Capture: &capture})
				guest := b.Guest()
				hold := guest.Hold(b.hall.Seats(1))
				b.Pay(guest, hold, token)
				b.Eventually("both messages have arrived and the refund is paid", func() bool {
					b.Reconcile()
					return b.Rows("provider_events") >= 2 && slices.Contains(ends, b.Sale(hold))
				})
				b.Settle()
				if end := b.Sale(hold); !slices.Contains(ends, end) {
					t.Errorf("ended as %s", end)
				}
				b.Audit()
			})
		}
	}
}

// Nothing but the provider's event says how it went.
func TestAWebhookAloneEndsASale(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{
		slow: "CONFIRMED SUCCEEDED/APPLIED BOOKED", slowNo: "RELEASED DECLINED/card_declined",
	} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			b := open(t, webhooks)
			guest := b.Guest()
			hold := guest.Hold(b.hall.Seats(1), b.floor().Units(2), b.room.Stay(5, 7))
			b.Pay(guest, hold, token)
			b.decide(t, hold)
			b.Eventually("the event has arrived", func() bool { return b.Sale(hold) == want })
			b.Audit()
		})
	}
}

// A captured amount that is not the price buys nothing, goes back whole, and ends the payment by
// the policy for declines.
func TestAWrongAmountLeavesTheHoldToAnotherCard(t *testing.T) {
	t.Parallel()
	b := open(t).terms(keep())
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	expect(t, "the first card", b.Pay(guest, hold, sandbox.TokenWrongAmount), "ACTIVE SUCCEEDED/ORPHANED")
	expect(t, "the second card", b.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Settle()
	expect(t, "all of it", b.Sale(hold), "CONFIRMED SUCCEEDED/ORPHANED refund 5001 SUCCEEDED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}
