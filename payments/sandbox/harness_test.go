package sandbox_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

const (
	secretKey     = "sk_sandbox_test"
	webhookSecret = "whsec_sandbox_test"
	account       = "acct_theatre"
	// patience bounds every wait of these tests; none should ever take that long.
	patience = 20 * time.Second
)

// world is a provider, the adapter that speaks to it, and a receiver of its webhooks.
type world struct {
	server   *sandbox.Server
	gateway  *sandbox.Gateway
	receiver *receiver
}

// newWorld runs a provider a hundred times faster than its tokens say, unless changed.
func newWorld(t *testing.T, change ...func(*sandbox.Config)) world {
	t.Helper()
	config := sandbox.Config{
		SecretKey: secretKey, WebhookSecrets: []string{webhookSecret}, TimeScale: 0.01,
	}
	for _, c := range change {
		c(&config)
	}
	server, err := sandbox.NewServer(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeServer(t, server) })
	if err := server.Start(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	w := world{server: server, gateway: newGateway(t, server.GatewayConfig())}
	w.receiver = newReceiver(t, w.gateway)
	if config.WebhookURL == "" {
		if err := server.SetWebhookURL(w.receiver.url); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func newGateway(t *testing.T, config sandbox.GatewayConfig) *sandbox.Gateway {
	t.Helper()
	gateway, err := sandbox.NewGateway(config)
	if err != nil {
		t.Fatal(err)
	}
	return gateway
}

// impatient is the same adapter with a short timeout.
func (w world) impatient(t *testing.T) *sandbox.Gateway {
	t.Helper()
	config := w.server.GatewayConfig()
	config.Timeout = 50 * time.Millisecond
	return newGateway(t, config)
}

func closeServer(t *testing.T, server *sandbox.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := server.Close(ctx); err != nil {
		t.Error(err)
	}
}

// receiver is Holdfast's end of the webhooks.
type receiver struct {
	url string

	mu sync.Mutex
	// status is what deliveries are answered with; other than 204 they are not kept.
	status  int
	events  []payments.Event
	refused int
	wrong   []error
	changed chan struct{}
}

func newReceiver(t *testing.T, gateway *sandbox.Gateway) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusNoContent, changed: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
		var event payments.Event
		if err == nil {
			event, err = gateway.ParseWebhook(request.Header, body)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case err != nil:
			r.wrong = append(r.wrong, err)
		case r.status == http.StatusNoContent:
			r.events = append(r.events, event)
		default:
			r.refused++
		}
		w.WriteHeader(r.status)
		close(r.changed)
		r.changed = make(chan struct{})
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, err := range r.wrong {
			t.Errorf("a webhook of the provider was not understood: %v", err)
		}
	})
	r.url = server.URL
	return r
}

func (r *receiver) answerWith(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// about gives the events received so far about a key.
func (r *receiver) about(key string) []payments.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []payments.Event
	for _, event := range r.events {
		if event.Key == key {
			events = append(events, event)
		}
	}
	return events
}

// await waits until the condition holds, which is tried after each delivery.
func (r *receiver) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("waited %s in vain for %s", patience, what)
		}
	}
}

// awaitEvent waits for the first event about a key.
func (r *receiver) awaitEvent(t *testing.T, key string) payments.Event {
	t.Helper()
	r.await(t, "an event about "+key, func() bool { return len(r.about(key)) > 0 })
	return r.about(key)[0]
}

// drained waits until every queued webhook was delivered.
func (w world) drained(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.server.DrainWebhooks(ctx); err != nil {
		t.Fatal(err)
	}
}

var tenant = ids.NewGlobal[tenants.TenantKind]()

func euros(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: "EUR"} }

func chargeRequest(key, token string) payments.ChargeRequest {
	return payments.ChargeRequest{
		Account: account, Key: key, Amount: euros(4250), MethodToken: token, Description: "two seats",
		Reference: payments.Reference{TenantID: tenant, AttemptID: key},
	}
}

func refundRequest(key, chargeID string, minor int64) payments.RefundRequest {
	return payments.RefundRequest{
		Account: account, Key: key, ChargeID: chargeID, Amount: euros(minor), Reason: "orphan",
		Reference: payments.Reference{TenantID: tenant, AttemptID: "pay_of_" + key},
	}
}

// mustCharge charges with a token that approves and answers.
func (w world) mustCharge(t *testing.T, key, token string) payments.Outcome {
	t.Helper()
	outcome, err := w.gateway.Charge(t.Context(), chargeRequest(key, token))
	if err != nil {
		t.Fatal(err)
	}
	if outcome.State != payments.OutcomeStateApproved {
		t.Fatalf("charge %s: %s", key, outcome.State)
	}
	return outcome
}

// eventually asks again until the answer is the wanted one.
func eventually(t *testing.T, what string, ask func() (string, error), want string) {
	t.Helper()
	deadline := time.After(patience)
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		got, err := ask()
		if err == nil && got == want {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("%s is %s (%v), want %s", what, got, err, want)
		}
	}
}

func (w world) eventuallyCharge(t *testing.T, key string, want payments.OutcomeState) {
	t.Helper()
	eventually(t, "charge "+key, func() (string, error) {
		outcome, err := w.gateway.LookUp(t.Context(), account, key)
		return outcome.State.String(), err
	}, want.String())
}

// call makes a request of its own to the provider.
func call(t *testing.T, method, url, key, body string) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+secretKey)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}

func chargeBody(token string) string {
	return fmt.Sprintf(`{"account":%q,"amountMinor":4250,"currency":"EUR","method":%q,"reference":{}}`, account, token)
}
