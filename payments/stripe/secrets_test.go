package stripe_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/stripe"
	"github.com/holdfast/holdfast/payments/stripe/stripetest"
)

// TestNoSecretIsTold makes every kind of error and looks into each for what may be in no log: keys and
// signing secrets, card numbers, what Stripe knows of the buyer, and the client secrets with which a
// PaymentIntent can be paid. stripe-go itself writes nothing either.
func TestNoSecretIsTold(t *testing.T) { //nolint:paralleltest // it looks at what the process writes
	const card = "4242424242424242"
	output := captured(t, func() {
		b := newBench(t, func(c *stripe.Config) { c.Timeout = 300 * time.Millisecond })
		var errs []error
		add := func(err error) { errs = append(errs, err) }
		for fault := stripetest.FaultUnreached; fault <= stripetest.FaultHuge; fault++ {
			for _, method := range []string{http.MethodPost, http.MethodGet} {
				b.server.Break(method, "/v1/", fault, 1)
				for _, token := range []string{stripetest.MethodCard, stripetest.MethodDeclined, "pm_unknown"} {
					outcome, err := b.gateway.Charge(t.Context(), chargeOf(newKey(), token))
					add(err)
					_, err = b.gateway.Refund(t.Context(), payments.RefundRequest{Account: account, Key: newKey(), ChargeID: "pi_unknown", Amount: money.Amount{Minor: 1, Currency: "EUR"}})
					add(err)
					add(fmt.Errorf("%+v", outcome))
				}
				_, err := b.gateway.LookUp(t.Context(), account, newKey())
				add(err)
				_, err = b.gateway.Fingerprint(t.Context(), account, "pm_unknown")
				add(err)
			}
		}
		number := chargeOf(newKey(), card)
		_, err := b.gateway.Charge(t.Context(), number)
		add(err)
		_, err = b.gateway.Fingerprint(t.Context(), account, card)
		add(err)
		body := []byte(`{"card": "` + card + `"}`)
		_, err = b.gateway.ParseWebhook(stripetest.Sign(body, time.Now(), stripetest.WebhookSecret), body)
		add(err)
		_, err = b.gateway.ParseWebhook(stripetest.Sign(body, time.Now(), "whsec_wrong0123456789"), body)
		add(err)
		body = stripetest.NewEvent("payment_intent.succeeded", map[string]any{"id": card, "status": card, "metadata": map[string]string{"holdfast_key": card}}, nil)
		_, err = b.gateway.ParseWebhook(stripetest.Sign(body, time.Now(), stripetest.WebhookSecret), body)
		if !errors.Is(err, payments.ErrBadEvent) {
			t.Error(err)
		}
		for _, err := range errs {
			if err != nil {
				search(t, err.Error(), card)
			}
		}
		if len(errs) < 100 {
			t.Errorf("only %d errors were looked into", len(errs))
		}
	})
	if output != "" {
		t.Errorf("the process wrote: %s", output)
	}
}

func search(t *testing.T, text, card string) {
	t.Helper()
	for _, secret := range []string{
		stripetest.SecretKey, stripetest.WebhookSecret, card, "whsec_", "sk_test", "_secret_", "Buyer's name", "buyer@example.com", "The double refuses",
	} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is told in: %s", secret, text)
		}
	}
}

// captured is what the process writes to its standard streams meanwhile.
func captured(t *testing.T, act func()) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, file
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	act()
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
