package bookings_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// toReview are the messages that a person has to look at, in words.
func (b box) toReview(t *testing.T) []payments.RecordedEvent {
	t.Helper()
	events, _, err := b.Sales.EventsForReview(t.Context(), b.Owner, inventorytest.Region, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// retryNow lets the time pass after which events that matched nothing are tried again.
func (b box) retryNow(t *testing.T) {
	t.Helper()
	b.Exec("UPDATE provider_events SET retry_at = now() - interval '1 second' WHERE tenant_id = $1 AND retry_at IS NOT NULL")
	b.Reconcile()
}

// An event that comes before its attempt is known here is kept, and applied when it is.
func TestAnEventIsMatchedLater(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message func(b box, attempt payments.Attempt) message
		want    string
	}{
		"a success": {func(b box, a payments.Attempt) message { return b.chargeMessage(a, "approved") }, "CONFIRMED SUCCEEDED/APPLIED BOOKED"},
		"a decline": {func(b box, a payments.Attempt) message { return b.chargeMessage(a, "declined") }, "RELEASED DECLINED/card_declined"},
		"a dispute": {func(b box, a payments.Attempt) message { return b.disputeMessage(a, "dp_1", "opened", 5000) }, "PROCESSING UNKNOWN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			hold, attempt := b.pending()
			// As if this region had not seen it yet.
			elsewhere := uuid.New()
			move := "UPDATE payment_attempts SET id = $3 WHERE tenant_id = $1 AND id = $2"
			b.Exec(move, attempt.ID.UUID, elsewhere)
			b.mustDeliver(t, c.message(b, attempt))
			expect(t, "the events", b.results(t), "UNMATCHED 1")
			if n := len(b.toReview(t)); n != 0 {
				t.Errorf("%d events are a person's work while they are tried again", n)
			}
			b.retryNow(t)
			expect(t, "the events, still", b.results(t), "UNMATCHED 1")
			b.Exec(move, elsewhere, attempt.ID.UUID)
			b.retryNow(t)
			expect(t, "the events", b.results(t), "APPLIED 1")
			expect(t, "the sale", b.Sale(hold), c.want)
			b.retryNow(t)
			expect(t, "the events", b.results(t), "APPLIED 1")
			b.audit(t)
		})
	}
}

// What names nothing but a charge belongs to nobody until the charge is known.
func TestAnEventOfAChargeIsMatchedLater(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.pending()
	m := b.disputeMessage(attempt, "dp_1", "lost", 5000)
	told, ok := m["dispute"].(map[string]any)
	if !ok {
		t.Fatal("no dispute")
	}
	told["reference"], told["key"], told["charge"] = map[string]any{}, "", "ch_"+attempt.ID.String()
	b.mustDeliver(t, m)
	expect(t, "the event", b.unrouted(t, m["id"]), "UNMATCHED")
	// The event of this shop's provider is sent again by its provider, too: it changes nothing.
	b.mustDeliver(t, m)
	b.mustDeliver(t, b.chargeMessage(attempt, "approved"))
	if _, err := b.DB.Pool().Exec(t.Context(), "UPDATE provider_events SET retry_at = now() - interval '1 second' WHERE tenant_id = $1 AND event_id = $2", uuid.Nil, m["id"]); err != nil {
		t.Fatal(err)
	}
	b.Reconcile()
	expect(t, "the event", b.unrouted(t, m["id"]), "APPLIED")
	expect(t, "the dispute", b.disputes(t, attempt.ID), "5000 LOST")
	expect(t, "with its payment", b.results(t), "APPLIED 2")
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
}

// After a week it is a person's work.
func TestAnEventThatMatchesNothingEndsInTheReview(t *testing.T) {
	t.Parallel()
	b := open(t)
	_, attempt := b.pending()
	m := b.chargeMessage(attempt, "approved")
	m.refer(ids.New[payments.AttemptKind](inventorytest.Region).String())
	b.mustDeliver(t, m)
	b.Exec("UPDATE provider_events SET received_at = received_at - interval '8 days' WHERE tenant_id = $1")
	b.retryNow(t)
	events := b.toReview(t)
	if len(events) != 1 || events[0].Result != payments.EventUnmatched || events[0].Tries != 2 || events[0].Key != m.about()["key"] || events[0].Amount.Minor != 5000 {
		t.Errorf("to review: %+v", events)
	}
}

// Money at another account or in another currency ends in the review queue, never in a
// booking, whether the provider answers so or sends an event, and stays there until it is resolved.
func TestMoneyThatDoesNotFitIsReviewed(t *testing.T) {
	t.Parallel()
	for _, token := range []string{sandbox.TokenWrongAccount, sandbox.TokenWrongCurrency} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			b := open(t, webhooks)
			guest := b.Guest()
			hold := guest.Hold(b.hall.Seats(1))
			expect(t, "paid somewhere", b.Pay(guest, hold, token), "PROCESSING UNKNOWN")
			b.Eventually("the event has arrived", func() bool { return b.results(t) == "MISMATCH 2" })
			for range 3 {
				b.Reconcile()
			}
			expect(t, "kept once for each", b.results(t), "MISMATCH 2")
			expect(t, "the sale", b.Sale(hold), "PROCESSING UNKNOWN")
			events := b.toReview(t)
			if len(events) != 2 {
				t.Fatalf("%d to review", len(events))
			}
			for _, event := range events {
				if event.Account == b.Account && event.Amount.Currency == "EUR" || event.Place.Attempt != b.Attempt(hold).ID.UUID || event.Provider != b.ProviderName || event.ChargeID == "" {
					t.Errorf("kept as %+v", event)
				}
			}
			b.resolveAll(t, events)
		})
	}
}

func (b box) resolveAll(t *testing.T, events []payments.RecordedEvent) {
	t.Helper()
	for i, event := range events {
		input := bookings.Resolution{RequestKey: inventorytest.Key(), Region: inventorytest.Region, Provider: event.Provider, Event: event.ID, Note: "sent back by hand"}
		for range 2 {
			done, err := b.Sales.ResolveEvent(t.Context(), b.Owner, input)
			if err != nil || done.ReviewedAt == nil || done.ReviewNote != input.Note || done.ReviewedBy == nil || *done.ReviewedBy != b.Owner.Key.UUID {
				t.Fatalf("resolved as %+v, %v", done, err)
			}
		}
		input.Note = "something else"
		if _, err := b.Sales.ResolveEvent(t.Context(), b.Owner, input); !refused(err) {
			t.Errorf("the same key with another note: %v", err)
		}
		input.RequestKey = inventorytest.Key()
		_, err := b.Sales.ResolveEvent(t.Context(), b.Owner, input)
		expectFault(t, "resolved twice", err, fault.KindConflict)
		if left := len(b.toReview(t)); left != len(events)-i-1 {
			t.Errorf("%d are left", left)
		}
	}
}

func TestTheReviewIsPagedAndTheTenantsOwn(t *testing.T) {
	t.Parallel()
	b, other := open(t), open(t)
	_, attempt := b.pending()
	for range 5 {
		m := b.chargeMessage(attempt, "approved")
		m.about()["account"] = "acct_other"
		b.mustDeliver(t, m)
	}
	seen := map[string]bool{}
	var after *payments.EventCursor
	for pages := 1; ; pages++ {
		events, more, err := b.Sales.EventsForReview(t.Context(), b.Owner, inventorytest.Region, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			seen[event.ID] = true
		}
		if !more {
			if pages != 3 || len(seen) != 5 {
				t.Errorf("%d events on %d pages", len(seen), pages)
			}
			break
		}
		last := events[len(events)-1]
		after = &payments.EventCursor{ReceivedAt: last.ReceivedAt, Provider: last.Provider, Event: last.ID}
	}
	if n := len(other.toReview(t)); n != 0 {
		t.Errorf("another tenant sees %d", n)
	}
	event := b.toReview(t)[0]
	input := bookings.Resolution{RequestKey: inventorytest.Key(), Region: inventorytest.Region, Provider: event.Provider, Event: event.ID, Note: "mine"}
	_, err := other.Sales.ResolveEvent(t.Context(), other.Owner, input)
	expectFault(t, "another tenant's", err, fault.KindNotFound)
	for name, change := range map[string]func(r *bookings.Resolution){
		"no note":       func(r *bookings.Resolution) { r.Note = "" },
		"a long note":   func(r *bookings.Resolution) { r.Note = strings.Repeat("n", 1001) },
		"a broken note": func(r *bookings.Resolution) { r.Note = "a\x00b" },
		"no key":        func(r *bookings.Resolution) { r.RequestKey = "" },
	} {
		bad := input
		change(&bad)
		_, err := b.Sales.ResolveEvent(t.Context(), b.Owner, bad)
		expectFault(t, name, err, fault.KindInvalid)
	}
	input.Event = "evt_\x00"
	_, err = b.Sales.ResolveEvent(t.Context(), b.Owner, input)
	expectFault(t, "an event that cannot be", err, fault.KindNotFound)
	guest := b.Guest()
	_, _, err = b.Sales.EventsForReview(t.Context(), guest.Actor, inventorytest.Region, nil, 10)
	expectFault(t, "a guest", err, fault.KindDenied)
	_, err = b.Sales.ResolveEvent(t.Context(), guest.Actor, input)
	expectFault(t, "a guest resolving", err, fault.KindDenied)
}

// A refund's answer that does not fit is reviewed, too.
func TestARefundThatDoesNotFitIsReviewed(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold := b.cancelled(t, sandbox.TokenRefundWrongAmount)
	for range 2 {
		b.Reconcile()
	}
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 SUBMITTED BOOKED")
	events := b.toReview(t)
	if len(events) != 1 || events[0].Amount.Minor != 5001 || events[0].Type != payments.EventTypeRefundSucceeded {
		t.Errorf("to review: %+v", events)
	}
}

// An event that a message names another tenant for is nobody's: a tenant's provider cannot speak of
// another tenant's payment.
func TestAnEventUnderAnotherTenantChangesNothing(t *testing.T) {
	t.Parallel()
	b, other := open(t), open(t)
	hold, attempt := b.pending()
	theirs, theirAttempt := other.pending()
	// The other tenant's provider and account, our attempt; and their name for it.
	m := other.chargeMessage(attempt, "approved")
	other.mustDeliver(t, m)
	swapped := other.chargeMessage(attempt, "approved")
	if reference, ok := swapped.about()["reference"].(map[string]any); ok {
		reference["tenant"] = b.ID.String()
	}
	other.mustDeliver(t, swapped)
	expect(t, "ours", b.Sale(hold), "PROCESSING UNKNOWN")
	expect(t, "theirs", other.Sale(theirs), "PROCESSING UNKNOWN")
	expect(t, "kept with us", b.results(t), "MISMATCH 1")
	expect(t, "kept with them", other.results(t), "UNMATCHED 1")
	other.mustDeliver(t, other.chargeMessage(theirAttempt, "approved"))
	expect(t, "their own", other.Sale(theirs), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
}

// A message that was cut off anywhere changes nothing.
func TestTruncatedMessagesAreRefused(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.pending()
	body, err := json.Marshal(b.chargeMessage(attempt, "approved"))
	if err != nil {
		t.Fatal(err)
	}
	genuine := signature("whsec_sandbox_test", time.Now(), body)
	for length := 0; length < len(body); length += 7 {
		expectFault(t, "cut off", b.Sales.HandleWebhook(t.Context(), b.ProviderName, genuine, body[:length]), fault.KindUnauthenticated)
		// Even if the provider itself had signed it so.
		own := signature("whsec_sandbox_test", time.Now(), body[:length])
		expectFault(t, "signed when cut off", b.Sales.HandleWebhook(t.Context(), b.ProviderName, own, body[:length]), fault.KindInvalid)
	}
	text := genuine.Get(sandbox.SignatureHeader)
	for length := 0; length < len(text); length += 5 {
		cut := http.Header{sandbox.SignatureHeader: {text[:length]}}
		expectFault(t, "a signature cut off", b.Sales.HandleWebhook(t.Context(), b.ProviderName, cut, body), fault.KindUnauthenticated)
	}
	expect(t, "the sale", b.Sale(hold), "PROCESSING UNKNOWN")
	expect(t, "the events", b.results(t), "none")
}

// A message that is replayed within the tolerance is the same event, and changes nothing either.
func TestAReplayedMessageChangesNothing(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold := b.cancelled(t, sandbox.TokenApprove)
	attempt := b.Attempts(hold)[0]
	before := b.Sale(hold)
	m := b.chargeMessage(attempt, "approved")
	for range 3 {
		b.mustDeliver(t, m)
	}
	expect(t, "the sale", b.Sale(hold), before)
	expect(t, "the events", b.results(t), "ALREADY_KNOWN 1")
}

// The provider's name is part of the address, and an unknown one is nobody's.
func TestAPaymentOfAProviderThatIsNotThere(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.Exec("UPDATE tenants SET payment_provider = 'nobody' WHERE id = $1")
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	for _, input := range []bookings.Checkout{bookingstest.CheckoutOf(hold, sandbox.TokenApprove), onPage(bookingstest.CheckoutOf(hold, ""))} {
		_, err := b.Sales.Checkout(t.Context(), guest.Actor, input)
		expectFault(t, "an unknown provider", err, fault.KindUnavailable)
	}
	expect(t, "the hold", b.Sale(hold), "ACTIVE")
}

func onPage(input bookings.Checkout) bookings.Checkout {
	input.ReturnURL = "https://shop.example/thanks"
	return input
}
