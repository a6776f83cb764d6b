package sandbox_test

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

func TestWebhooksWaitForAReceiverThatIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.receiver.answerWith(http.StatusInternalServerError)
	w.mustCharge(t, "pay_1", sandbox.TokenApprove)
	w.mustCharge(t, "pay_2", sandbox.TokenApprove)
	w.receiver.await(t, "a few failed deliveries", func() bool {
		w.receiver.mu.Lock()
		defer w.receiver.mu.Unlock()
		return w.receiver.refused >= 6
	})
	// New events come through while old ones wait.
	w.receiver.answerWith(http.StatusNoContent)
	w.mustCharge(t, "pay_3", sandbox.TokenApprove)
	for _, key := range []string{"pay_1", "pay_2", "pay_3"} {
		w.receiver.awaitEvent(t, key)
	}
	w.drained(t)
	if stats := w.server.WebhookStats(); stats.Delivered != 3 || stats.FailedTries < 6 || stats.Dropped != 0 || stats.Queued != 0 {
		t.Errorf("got %+v", stats)
	}
}

func TestWebhooksReachAReceiverThatMoved(t *testing.T) {
	t.Parallel()
	nobody := unusedAddress(t)
	w := newWorld(t, func(c *sandbox.Config) { c.WebhookURL = "http://" + nobody })
	w.mustCharge(t, "pay_1", sandbox.TokenApprove)
	eventually(t, "the delivery to nobody", func() (string, error) {
		if w.server.WebhookStats().FailedTries > 0 {
			return "refused", nil
		}
		return "under way", nil
	}, "refused")
	if err := w.server.SetWebhookURL(w.receiver.url); err != nil {
		t.Fatal(err)
	}
	w.receiver.awaitEvent(t, "pay_1")
}

func TestWebhooksAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *sandbox.Config) { c.WebhookAttempts, c.WebhookQueue, c.TimeScale = 3, 5, 0.001 })
	w.receiver.answerWith(http.StatusServiceUnavailable)
	w.mustCharge(t, "pay_1", sandbox.TokenApprove)
	w.drained(t)
	if stats := w.server.WebhookStats(); stats.FailedTries != 3 || stats.Dropped != 1 || stats.Delivered != 0 {
		t.Errorf("got %+v", stats)
	}

	slow := newWorld(t, func(c *sandbox.Config) { c.WebhookQueue, c.TimeScale = 5, 1000 })
	slow.receiver.answerWith(http.StatusServiceUnavailable)
	for i := range 12 {
		slow.mustCharge(t, fmt.Sprintf("pay_%d", i), sandbox.TokenApprove)
	}
	if stats := slow.server.WebhookStats(); stats.Queued != 5 || stats.Dropped != 7 {
		t.Errorf("got %+v", stats)
	}
}

func TestARedirectIsNotAReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.receiver.answerWith(http.StatusFound)
	w.mustCharge(t, "pay_1", sandbox.TokenApprove)
	w.receiver.await(t, "two tries", func() bool {
		w.receiver.mu.Lock()
		defer w.receiver.mu.Unlock()
		return w.receiver.refused >= 2
	})
	w.receiver.answerWith(http.StatusNoContent)
	w.receiver.awaitEvent(t, "pay_1")
}

func TestWebhooksCarryOneSignaturePerSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *sandbox.Config) { c.WebhookSecrets = []string{newSecret, oldSecret} })
	for _, secret := range []string{newSecret, oldSecret} {
		config := w.server.GatewayConfig()
		config.WebhookSecrets = []string{secret}
		receiver := newReceiver(t, newGateway(t, config))
		if err := w.server.SetWebhookURL(receiver.url); err != nil {
			t.Fatal(err)
		}
		w.mustCharge(t, "pay_"+secret, sandbox.TokenApprove)
		receiver.awaitEvent(t, "pay_"+secret)
	}
}

func TestWithoutAReceiverNothingIsQueued(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.server.SetWebhookURL(""); err != nil {
		t.Fatal(err)
	}
	w.mustCharge(t, "pay_1", sandbox.TokenWebhookBeforeResponse)
	if stats := w.server.WebhookStats(); stats != (sandbox.WebhookStats{}) {
		t.Errorf("got %+v", stats)
	}
	for _, target := range []string{"localhost", "ftp://localhost", "http://", ":"} {
		if err := w.server.SetWebhookURL(target); err == nil {
			t.Errorf("%q was taken for the address of a receiver", target)
		}
	}
	outcome, err := w.gateway.LookUp(t.Context(), account, "pay_1")
	if err != nil || outcome.State != payments.OutcomeStateApproved {
		t.Errorf("got %+v, %v", outcome, err)
	}
}

// unusedAddress is one where nobody listens.
func unusedAddress(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
