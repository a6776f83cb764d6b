package stripe_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/gatewaytest"
	"github.com/holdfast/holdfast/payments/stripe"
	"github.com/holdfast/holdfast/payments/stripe/stripetest"
	"github.com/holdfast/holdfast/tenants"
)

const (
	account   = "acct_theatre"
	platform  = "acct_platform"
	returnURL = "https://shop.example.com/back"
)

// bench is an adapter and the double that it speaks to.
type bench struct {
	testing.TB
	server  *stripetest.Server
	gateway *stripe.Gateway
}

func newBench(t testing.TB, change ...func(*stripe.Config)) *bench {
	t.Helper()
	server := stripetest.New(t)
	return &bench{TB: t, server: server, gateway: gatewayTo(t, server.URL, change...)}
}

func gatewayTo(t testing.TB, address string, change ...func(*stripe.Config)) *stripe.Gateway {
	t.Helper()
	config := stripe.Config{
		SecretKey: stripetest.SecretKey, WebhookSecrets: []string{stripetest.WebhookSecret}, PlatformAccount: platform,
		ReturnURL: returnURL, BaseURL: address,
	}
	for _, apply := range change {
		apply(&config)
	}
	gateway, err := stripe.NewGateway(config)
	if err != nil {
		t.Fatal(err)
	}
	return gateway
}

// other is a second adapter to the same double, as another process has: it remembers nothing.
func (b *bench) other(change ...func(*stripe.Config)) *bench {
	b.Helper()
	return &bench{TB: b.TB, server: b.server, gateway: gatewayTo(b.TB, b.server.URL, change...)}
}

func newKey() string { return "attempt_eu_" + uuid.NewString() }

func euros(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: "EUR"} }

func chargeOf(key, token string) payments.ChargeRequest {
	return payments.ChargeRequest{
		Account: account, Key: key, Amount: euros(4200), MethodToken: token, Description: "Booking",
		Reference: payments.Reference{TenantID: ids.NewGlobal[tenants.TenantKind](), AttemptID: key},
	}
}

func pageOf(key string) payments.ChargeRequest {
	request := chargeOf(key, "")
	request.Hosted = &payments.HostedPage{ReturnURL: returnURL, ExpiresAt: time.Now().Add(5 * time.Minute).Truncate(time.Second)}
	return request
}

// charge charges and expects a state.
func (b *bench) charge(request payments.ChargeRequest, want payments.OutcomeState) payments.Outcome {
	b.Helper()
	outcome, err := b.gateway.Charge(b.Context(), request)
	if outcome.State != want || (err != nil) != (want == payments.OutcomeStateUnknown) {
		b.Fatalf("charge: got %s (%+v), %v, want %s", outcome.State, outcome, err, want)
	}
	return outcome
}

func (b *bench) lookUp(key string, want payments.OutcomeState) payments.Outcome {
	b.Helper()
	outcome, err := b.gateway.LookUp(b.Context(), account, key)
	if outcome.State != want || (err != nil) != (want == payments.OutcomeStateUnknown) {
		b.Fatalf("look up: got %s (%+v), %v, want %s", outcome.State, outcome, err, want)
	}
	return outcome
}

func (b *bench) cancel(key string, want payments.OutcomeState) {
	b.Helper()
	outcome, err := b.gateway.Cancel(b.Context(), account, key)
	if outcome.State != want || (err != nil) != (want == payments.OutcomeStateUnknown) {
		b.Fatalf("cancel: got %s (%+v), %v, want %s", outcome.State, outcome, err, want)
	}
}

func (b *bench) refund(charge, key string, amount money.Amount, want payments.RefundState) payments.RefundOutcome {
	b.Helper()
	outcome, err := b.gateway.Refund(b.Context(), payments.RefundRequest{Account: account, Key: key, ChargeID: charge, Amount: amount, Reason: "test"})
	if outcome.State != want || (err != nil) != (want == payments.RefundStateUnknown) {
		b.Fatalf("refund: got %s (%+v), %v, want %s", outcome.State, outcome, err, want)
	}
	return outcome
}

// only is the one PaymentIntent of a key.
func (b *bench) only(key string) stripetest.Intent {
	b.Helper()
	intents := b.server.Intents(key)
	if len(intents) != 1 {
		b.Fatalf("the key has %d PaymentIntents: %+v", len(intents), intents)
	}
	return intents[0]
}

// callsTo counts the calls of a method to a path.
func (b *bench) callsTo(method, path string) int {
	count := 0
	for _, call := range b.server.Calls() {
		if call.Method == method && call.Path == path {
			count++
		}
	}
	return count
}

func TestContract(t *testing.T) {
	t.Parallel()
	gatewaytest.Run(t, func(t testing.TB) gatewaytest.Provider {
		b := newBench(t)
		return gatewaytest.Provider{
			Gateway: b.gateway, Account: account,
			Approve: stripetest.MethodCard, Decline: stripetest.MethodDeclined, Pending: stripetest.MethodAuthentication,
			Settle:      func(key string, approve bool) { b.server.Settle(b.only(key).ID, approve) },
			LoseRequest: func() { b.server.Break(http.MethodPost, "/v1/", stripetest.FaultUnreached, 1) },
			LoseAnswer:  func() { b.server.Break(http.MethodPost, "/v1/", stripetest.FaultLost, 1) },
			Taken: func(key string) int64 {
				var sum int64
				for _, intent := range b.server.Intents(key) {
					sum += intent.Received
				}
				return sum
			},
			Deliveries: func() []gatewaytest.Delivery {
				var deliveries []gatewaytest.Delivery
				for _, event := range b.server.Events() {
					deliveries = append(deliveries, gatewaytest.Delivery{
						Header: stripetest.Sign(event.Body, time.Now(), stripetest.WebhookSecret), Body: event.Body,
					})
				}
				return deliveries
			},
			PayPage: func(key string) bool {
				pages := b.server.Pages(key)
				return len(pages) == 1 && b.server.PayPage(pages[0], stripetest.MethodCard)
			},
		}
	})
}
