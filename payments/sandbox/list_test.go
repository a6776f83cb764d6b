package sandbox_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// The adapter lists every charge of an account once, page after page, as a look-up tells it.
func TestTheAdapterListsCharges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	began := time.Now().Add(-time.Minute)
	tokens := []string{sandbox.TokenApprove, sandbox.TokenDecline, sandbox.TokenWrongAmount, "tok_pending_approve_after_600s", sandbox.TokenApprove}
	for i, token := range tokens {
		if _, err := w.gateway.Charge(t.Context(), chargeRequest(fmt.Sprintf("pay_%d", i), token)); err != nil {
			t.Fatal(err)
		}
	}
	other := chargeRequest("pay_other", sandbox.TokenApprove)
	other.Account = "acct_hotel"
	if _, err := w.gateway.Charge(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	var listed []payments.ListedCharge
	after := ""
	for {
		page, next, err := w.gateway.ListCharges(t.Context(), account, began, after, 2)
		if err != nil || len(page) > 2 {
			t.Fatalf("%d charges, %v", len(page), err)
		}
		listed = append(listed, page...)
		if after = next; next == "" {
			break
		}
	}
	if len(listed) != len(tokens) {
		t.Fatalf("%d charges are listed, want %d", len(listed), len(tokens))
	}
	for i, charge := range listed {
		known, err := w.gateway.LookUp(t.Context(), account, fmt.Sprintf("pay_%d", i))
		if err != nil || charge.Outcome() != known && known.State != payments.OutcomeStateDeclined || charge.Key != fmt.Sprintf("pay_%d", i) ||
			charge.State != known.State || charge.CreatedAt.IsZero() || !charge.Is(known.ChargeID) {
			t.Errorf("charge %d is listed as %+v, looked up as %+v, %v", i, charge, known, err)
		}
	}
	if page, next, err := w.gateway.ListCharges(t.Context(), account, time.Now().Add(time.Hour), "", 2); err != nil || len(page) != 0 || next != "" {
		t.Errorf("later ones: %v, %q, %v", page, next, err)
	}
	for _, limit := range []int{0, payments.MaxListedPage + 1} {
		if _, _, err := w.gateway.ListCharges(t.Context(), account, began, "", limit); err == nil {
			t.Errorf("a page of %d is given", limit)
		}
	}
}

// What is no list of charges is an error, never an empty list: that would hide them.
func TestAListThatMakesNoSenseIsAnError(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no JSON":              "<html>",
		"an unknown status":    `{"charges":[{"id":"ch_1","status":"perhaps","currency":"EUR"}]}`,
		"no id":                `{"charges":[{"status":"approved","capturedMinor":1,"currency":"EUR"}]}`,
		"no currency":          `{"charges":[{"id":"ch_1","status":"approved","capturedMinor":1}]}`,
		"more back than taken": `{"charges":[{"id":"ch_1","status":"approved","capturedMinor":1,"refundedMinor":2,"currency":"EUR"}]}`,
	} {
		provider := httptest.NewServer(answer(http.StatusOK, body))
		t.Cleanup(provider.Close)
		g := newGateway(t, sandbox.GatewayConfig{BaseURL: provider.URL, SecretKey: "sk_sandbox_test", WebhookSecrets: []string{"whsec_sandbox_test"}})
		if page, _, err := g.ListCharges(t.Context(), account, time.Now(), "", 1); err == nil || errors.Is(err, payments.ErrRejected) || len(page) != 0 {
			t.Errorf("%s: got %v, %v", name, page, err)
		}
	}
}
