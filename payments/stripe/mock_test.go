package stripe_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/stripe/stripetest"
)

// TestEveryCallIsAsStripeDescribesIt plays everything that the adapter does against the double, and
// shows each call to stripe-mock, which knows Stripe's OpenAPI description: the endpoints, the names
// and the types of the parameters.
func TestEveryCallIsAsStripeDescribesIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.playEverything()

	fixtures, err := server.LoadFixtures(embedded.OpenAPIFixtures, "")
	if err != nil {
		t.Fatal(err)
	}
	description, err := server.LoadSpec(embedded.OpenAPISpec, "")
	if err != nil {
		t.Fatal(err)
	}
	mock, err := server.NewStubServer(fixtures, description, false, false)
	if err != nil {
		t.Fatal(err)
	}
	var endpoints []string
	for _, call := range b.server.Calls() {
		target, body := call.Path, ""
		if call.Method == http.MethodPost {
			body = call.Form.Encode()
		} else {
			target += "?" + call.Form.Encode()
		}
		request := httptest.NewRequestWithContext(t.Context(), call.Method, target, strings.NewReader(body))
		request.Header = call.Header
		answer := httptest.NewRecorder()
		mock.HandleRequest(answer, request)
		if answer.Code != http.StatusOK {
			t.Errorf("%s %s %s: %d %s", call.Method, call.Path, call.Form.Encode(), answer.Code, answer.Body)
		}
		endpoints = append(endpoints, call.Method+" "+withoutIDs(call.Path))
	}
	slices.Sort(endpoints)
	want := []string{
		"GET /v1/checkout/sessions", "GET /v1/checkout/sessions/{id}", "GET /v1/payment_intents", "GET /v1/payment_intents/search",
		"GET /v1/payment_intents/{id}", "GET /v1/payment_methods/{id}", "GET /v1/refunds", "GET /v1/refunds/{id}",
		"POST /v1/checkout/sessions", "POST /v1/checkout/sessions/{id}/expire", "POST /v1/payment_intents",
		"POST /v1/payment_intents/{id}/cancel", "POST /v1/payment_intents/{id}/capture", "POST /v1/refunds",
	}
	if got := slices.Compact(endpoints); !slices.Equal(got, want) {
		t.Errorf("the calls went to\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func withoutIDs(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.Contains(part, "_double") || strings.HasPrefix(part, "pm_") {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}

func (b *bench) playEverything() {
	b.Helper()
	if _, err := b.gateway.Fingerprint(b.Context(), account, stripetest.MethodCard); err != nil {
		b.Fatal(err)
	}
	paid := newKey()
	charge := b.charge(chargeOf(paid, stripetest.MethodCard), payments.OutcomeStateApproved).ChargeID
	b.charge(chargeOf(newKey(), stripetest.MethodDeclined), payments.OutcomeStateDeclined)
	own := chargeOf(newKey(), stripetest.MethodCard)
	own.Account = platform
	b.charge(own, payments.OutcomeStateApproved)
	silent := b.other(withoutReturn)
	silent.charge(chargeOf(newKey(), stripetest.MethodAuthentication), payments.OutcomeStateDeclined)

	reserved := newKey()
	request := chargeOf(reserved, stripetest.MethodCard)
	request.Capture = payments.CaptureManual
	b.charge(request, payments.OutcomeStateAuthorized)
	if _, err := b.gateway.Capture(b.Context(), account, reserved); err != nil {
		b.Fatal(err)
	}
	open, filled := newKey(), newKey()
	b.charge(pageOf(open), payments.OutcomeStatePending)
	manual := pageOf(filled)
	manual.Capture = payments.CaptureManual
	b.charge(manual, payments.OutcomeStatePending)
	b.server.PayPage(b.server.Pages(filled)[0], stripetest.MethodCard)
	b.other().lookUp(open, payments.OutcomeStatePending)
	b.other().lookUp(filled, payments.OutcomeStateAuthorized)
	b.cancel(open, payments.OutcomeStateDeclined)
	b.cancel(filled, payments.OutcomeStateDeclined)

	b.refund(charge, paid+"-refund", euros(100), payments.RefundStateSucceeded)
	for _, process := range []*bench{b, b.other()} {
		if _, err := process.gateway.LookUpRefund(b.Context(), account, paid+"-refund"); err != nil {
			b.Fatal(err)
		}
	}
	b.server.Age(2 * time.Hour)
	b.other().lookUp(paid, payments.OutcomeStateApproved)
	b.other().lookUp(newKey(), payments.OutcomeStateNotFound)
}
