package graph_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/payments"
)

const paymentFields = `hold(id: $id) { state payments { id state redirectUrl disputes { id state amount { amountMinor } openedAt closedAt } } }`

type paid struct {
	Hold struct {
		State    string
		Payments []struct {
			ID, State   string
			RedirectURL *string
			Disputes    []struct {
				ID, State          string
				Amount             struct{ AmountMinor int64 }
				OpenedAt, ClosedAt *string
			}
		}
	}
}

// A buyer pays on the provider's page. Its address is for the buyer and for whoever placed the hold.
func TestCheckoutOnTheProvidersPage(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	hold := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": h.seats[:1]}})
	pay := func(method vars) vars {
		return vars{"requestKey": key(), "hold": hold.ID, "paymentMethod": method, "expectedTotal": vars{"amountMinor": 5000, "currency": "EUR"}}
	}
	for name, method := range map[string]vars{
		"nothing":   {},
		"both":      {"token": "tok_approve", "hosted": vars{"returnUrl": "https://shop.example/thanks"}},
		"no target": {"hosted": vars{"returnUrl": ""}},
		"http":      {"hosted": vars{"returnUrl": "http://shop.example/thanks"}},
		"a script":  {"hosted": vars{"returnUrl": "javascript:alert(1)"}},
	} {
		e := guest.refused(`mutation($input: CheckoutInput!) { checkout(input: $input) { __typename } }`, vars{"input": pay(method)})
		if e.code() != "BAD_INPUT" || !strings.HasPrefix(e.field(), "input.paymentMethod.") {
			t.Errorf("%s: got %+v", name, e)
		}
	}
	started := h.checkout(guest, pay(vars{"hosted": vars{"returnUrl": "https://shop.example/thanks"}}))
	if started.Hold.State != "PROCESSING" || started.Payment == nil || started.Payment.RedirectURL == nil || !strings.Contains(*started.Payment.RedirectURL, "/pay/") {
		t.Fatalf("got %+v", started)
	}
	var buyers, admins paid
	guest.get(`query($id: ID!) { `+paymentFields+` }`, vars{"id": hold.ID}, &buyers)
	if p := buyers.Hold.Payments; len(p) != 1 || p[0].RedirectURL == nil || *p[0].RedirectURL != *started.Payment.RedirectURL {
		t.Errorf("the buyer sees %+v", p)
	}
	h.admin.get(`query($id: ID!) { `+paymentFields+` }`, vars{"id": hold.ID}, &admins)
	if p := admins.Hold.Payments; len(p) != 1 || p[0].State != "UNKNOWN" || p[0].RedirectURL != nil {
		t.Errorf("the admin sees %+v", p)
	}
}

func TestDisputesAreShownWithTheirPayment(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	hold := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": h.seats[:1]}})
	h.checkout(guest, vars{
		"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 5000, "currency": "EUR"},
	})
	var before, after paid
	guest.get(`query($id: ID!) { `+paymentFields+` }`, vars{"id": hold.ID}, &before)
	if p := before.Hold.Payments; len(p) != 1 || p[0].RedirectURL != nil || len(p[0].Disputes) != 0 {
		t.Fatalf("got %+v", p)
	}
	attempt, err := ids.Parse[payments.AttemptKind](before.Hold.Payments[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dbtest.Open(t).Pool().Exec(t.Context(), `
		INSERT INTO disputes (tenant_id, region, id, attempt_id, provider, provider_dispute, amount_minor, currency, state, opened_at)
		SELECT tenant_id, region, $2::uuid, id, provider, 'dp_1', 5000, 'EUR', 'OPENED', now() FROM payment_attempts WHERE id = $1`,
		attempt.UUID, uuid.New()); err != nil {
		t.Fatal(err)
	}
	guest.get(`query($id: ID!) { `+paymentFields+` }`, vars{"id": hold.ID}, &after)
	if d := after.Hold.Payments[0].Disputes; len(d) != 1 || d[0].State != "OPENED" || d[0].Amount.AmountMinor != 5000 || d[0].OpenedAt == nil || d[0].ClosedAt != nil {
		t.Errorf("got %+v", d)
	}
}

func TestCaptureIsATerm(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	var set, read struct{ Terms struct{ Capture string } }
	h.admin.get(`{ terms { capture } }`, nil, &read)
	h.admin.get(`mutation { terms: setTerms(input: {capture: MANUAL}) { capture } }`, nil, &set)
	if read.Terms.Capture != "AUTOMATIC" || set.Terms.Capture != "MANUAL" {
		t.Errorf("was %s, is %s", read.Terms.Capture, set.Terms.Capture)
	}
	guest := h.guest()
	hold := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": h.seats[:1]}})
	bought := h.checkout(guest, vars{
		"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 5000, "currency": "EUR"},
	})
	if bought.Hold.State != "CONFIRMED" || bought.Payment.State != "SUCCEEDED" {
		t.Errorf("got %+v", bought)
	}
}
