package sandbox_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

func TestEveryTokenDoesWhatItsNameSays(t *testing.T) {
	t.Parallel()
	const (
		unknown  = payments.OutcomeStateUnknown
		approved = payments.OutcomeStateApproved
		declined = payments.OutcomeStateDeclined
		pending  = payments.OutcomeStatePending
	)
	for _, row := range []struct {
		token string
		// answer is what the first call learns, end what lookups say in the end.
		answer, end payments.OutcomeState
		code        string
		webhooks    int
	}{
		{"tok_approve", approved, approved, "", 1},
		{"tok_decline", declined, declined, "card_declined", 1},
		{"tok_decline_insufficient_funds", declined, declined, "insufficient_funds", 1},
		{"tok_decline_expired_card", declined, declined, "expired_card", 1},
		{"tok_decline_stolen_card", declined, declined, "stolen_card", 1},
		{"tok_decline_limit_exceeded", declined, declined, "limit_exceeded", 1},
		{"tok_approve_after_0s", approved, approved, "", 1},
		{"tok_approve_after_2s", approved, approved, "", 1},
		{"tok_decline_after_2s", declined, declined, "card_declined", 1},
		{"tok_pending_approve_after_20s", pending, approved, "", 1},
		{"tok_pending_decline_after_20s", pending, declined, "card_declined", 1},
		{"tok_timeout_approve", unknown, approved, "", 1},
		{"tok_timeout_decline", unknown, declined, "card_declined", 1},
		{"tok_unknown_then_approve", unknown, approved, "", 1},
		{"tok_unknown_then_decline", unknown, declined, "card_declined", 1},
		{"tok_unknown_then_approve_after_5s", unknown, approved, "", 1},
		{"tok_unknown_then_decline_after_5s", unknown, declined, "card_declined", 1},
		{"tok_error_approve", unknown, approved, "", 1},
		{"tok_error_decline", unknown, declined, "card_declined", 1},
		{"tok_webhook_twice", approved, approved, "", 2},
		{"tok_webhook_before_response", approved, approved, "", 1},
		{"tok_webhook_never", approved, approved, "", 0},
		{"tok_refund_fails_once", approved, approved, "", 1},
		{"tok_refund_pending", approved, approved, "", 1},
		{"tok_refund_timeout", approved, approved, "", 1},
	} {
		t.Run(row.token, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			charging := w.gateway
			if strings.HasPrefix(row.token, "tok_timeout") {
				charging = w.impatient(t)
			}
			outcome, err := charging.Charge(t.Context(), chargeRequest("pay_1", row.token+":alice"))
			if outcome.State != row.answer || (err != nil) != (row.answer == unknown) {
				t.Fatalf("the call learned %s, %v; want %s", outcome.State, err, row.answer)
			}
			if errors.Is(err, payments.ErrRejected) {
				t.Errorf("an unknown outcome says that nothing was charged: %v", err)
			}
			w.eventuallyCharge(t, "pay_1", row.end)
			outcome, err = w.gateway.LookUp(t.Context(), account, "pay_1")
			if err != nil {
				t.Fatal(err)
			}
			if outcome.DeclineCode != row.code || outcome.Account != account || outcome.ChargeID == "" {
				t.Errorf("the lookup gave %+v", outcome)
			}
			if captured := w.server.CapturedTotal(account)["EUR"]; (row.end == approved) != (captured == 4250) {
				t.Errorf("%d cents were captured", captured)
			}
			if want, _ := sandbox.FingerprintOf("tok_approve:alice"); outcome.InstrumentFingerprint != want {
				t.Errorf("the instrument is %s, want %s", outcome.InstrumentFingerprint, want)
			}
			w.drained(t)
			w.checkEvents(t, row.end, row.webhooks, row.code)
		})
	}
}

func (w world) checkEvents(t *testing.T, end payments.OutcomeState, count int, code string) {
	t.Helper()
	events := w.receiver.about("pay_1")
	if len(events) != count {
		t.Fatalf("got %d webhooks, want %d", len(events), count)
	}
	want := payments.EventTypeChargeSucceeded
	if end == payments.OutcomeStateDeclined {
		want = payments.EventTypeChargeDeclined
	}
	for _, event := range events {
		if event.ID != events[0].ID {
			t.Errorf("one decision made the events %s and %s", events[0].ID, event.ID)
		}
		if event.Type != want || event.DeclineCode != code || event.Provider != "sandbox" || event.Account != account ||
			event.Amount != euros(4250) || event.OccurredAt.IsZero() || event.ChargeID == "" ||
			event.Reference != (payments.Reference{TenantID: tenant, AttemptID: "pay_1"}) {
			t.Errorf("got the event %+v", event)
		}
	}
}

func TestTheWebhookComesBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustCharge(t, "pay_1", sandbox.TokenWebhookBeforeResponse)
	if got := len(w.receiver.about("pay_1")); got != 1 {
		t.Errorf("%d webhooks had come when the answer came, want 1", got)
	}
}

func TestAPendingChargeIsPendingUntilItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *sandbox.Config) { c.TimeScale = 1 })
	outcome, err := w.gateway.Charge(t.Context(), chargeRequest("pay_1", "tok_pending_approve_after_600s"))
	if err != nil || outcome.State != payments.OutcomeStatePending || outcome.Captured.Minor != 0 {
		t.Fatalf("got %+v, %v", outcome, err)
	}
	// A client that gives up leaves the charge as open as one that is told so.
	if outcome, err = w.impatient(t).Charge(t.Context(), chargeRequest("pay_2", "tok_approve_after_600s")); err == nil {
		t.Fatalf("the charge is decided already: %+v", outcome)
	}
	for _, key := range []string{"pay_1", "pay_2"} {
		outcome, err = w.gateway.LookUp(t.Context(), account, key)
		if err != nil || outcome.State != payments.OutcomeStatePending {
			t.Errorf("%s: got %+v, %v", key, outcome, err)
		}
		if !w.server.Settle(account, key) || w.server.Settle(account, key) {
			t.Errorf("%s: a pending charge is settled once", key)
		}
		if event := w.receiver.awaitEvent(t, key); event.Type != payments.EventTypeChargeSucceeded {
			t.Errorf("%s: got the event %s", key, event.Type)
		}
		w.eventuallyCharge(t, key, payments.OutcomeStateApproved)
	}
}

func TestALostRequestIsNotFoundAndThenCharged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	outcome, err := w.gateway.Charge(t.Context(), chargeRequest("pay_1", sandbox.TokenLostOnce))
	if err == nil || outcome.State != payments.OutcomeStateUnknown {
		t.Fatalf("got %+v, %v", outcome, err)
	}
	outcome, err = w.gateway.LookUp(t.Context(), account, "pay_1")
	if err != nil || outcome.State != payments.OutcomeStateNotFound {
		t.Fatalf("got %+v, %v", outcome, err)
	}
	w.mustCharge(t, "pay_1", sandbox.TokenLostOnce)
	if total := w.server.CapturedTotal(account)["EUR"]; total != 4250 {
		t.Errorf("%d cents were captured", total)
	}
}

func TestTheWrongAmountIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if outcome := w.mustCharge(t, "pay_1", sandbox.TokenWrongAmount); outcome.Captured != euros(4251) {
		t.Errorf("captured %s", outcome.Captured)
	}
	if event := w.receiver.awaitEvent(t, "pay_1"); event.Amount != euros(4251) {
		t.Errorf("the webhook says %s", event.Amount)
	}
}

func TestUnknownTokensAreRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, token := range []string{
		"", "4242424242424242", "tok_", "tok_approved", "TOK_APPROVE", "tok_approve_after_", "tok_approve_after_5", "tok_approve_after_601s",
		"tok_approve_after_-1s", "tok_approve_after_1.5s", "tok_after_5s", "tok_approve:", "tok_approve:a b", "tok_approve:a:b",
		"tok_approve:" + strings.Repeat("a", 200),
	} {
		outcome, err := w.gateway.Charge(t.Context(), chargeRequest("pay_1", token))
		if !errors.Is(err, payments.ErrRejected) || outcome.State != payments.OutcomeStateUnknown || !strings.Contains(err.Error(), "method") {
			t.Errorf("%.30q: got %+v, %v", token, outcome, err)
		}
	}
	if charges := w.server.Charges(); len(charges) != 0 {
		t.Errorf("%d charges were made", len(charges))
	}
}

func TestInstrumentsAreToldApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, token := range []string{"tok_approve", "tok_decline", "tok_approve:alice", "tok_approve:bob", "tok_approve_after_5s"} {
		mark, err := sandbox.FingerprintOf(token)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[mark]; ok {
			t.Errorf("%s and %s are the same instrument", token, other)
		}
		seen[mark] = token
	}
}

func TestTheManualListsEveryToken(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("tokens.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(source), "= \"tok_")[1:] {
		token, _, _ := strings.Cut(part, "\"")
		if !strings.Contains(string(manual), "`tok_"+strings.Replace(token, "after_", "after_<n>s", 1)+"`") {
			t.Errorf("README.md does not list tok_%s", token)
		}
	}
}
