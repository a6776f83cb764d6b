package sandbox_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

func withJournal(path string, scale float64) func(*sandbox.Config) {
	return func(c *sandbox.Config) { c.JournalPath, c.TimeScale = path, scale }
}

func TestARestartedProviderKnowsItsCharges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "charges.jsonl")
	before := newWorld(t, withJournal(path, 100))
	charge := before.mustCharge(t, "pay_1", sandbox.TokenRefundPending)
	if _, err := before.gateway.Refund(t.Context(), refundRequest("refund_1", charge.ChargeID, 4000)); err != nil {
		t.Fatal(err)
	}
	if _, err := before.gateway.Charge(t.Context(), chargeRequest("pay_2", sandbox.TokenDecline)); err != nil {
		t.Fatal(err)
	}
	if _, err := before.gateway.Charge(t.Context(), chargeRequest("pay_3", "tok_pending_approve_after_600s")); err != nil {
		t.Fatal(err)
	}
	if _, err := before.gateway.Charge(t.Context(), chargeRequest("pay_4", "tok_pending_approve_after_600s")); err != nil {
		t.Fatal(err)
	}
	before.server.Settle(account, "pay_4")
	closeServer(t, before.server)
	// The process died while it wrote a line.
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"charge":{"id":"ch_`); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}

	after := newWorld(t, withJournal(path, 100))
	var states []string
	for _, c := range after.server.Charges() {
		states = append(states, c.Key+" "+c.State.String())
	}
	if got := strings.Join(states, ", "); got != "pay_1 APPROVED, pay_2 DECLINED, pay_3 PENDING, pay_4 APPROVED" {
		t.Fatalf("got %s", got)
	}
	if again := after.mustCharge(t, "pay_1", sandbox.TokenRefundPending); again != charge {
		t.Errorf("the same key gave %+v, before %+v", again, charge)
	}
	// The refund that was pending still reserves its amount, and is paid in its time.
	if _, err := after.gateway.Refund(t.Context(), refundRequest("refund_2", charge.ChargeID, 251)); err == nil {
		t.Error("more than was captured can be refunded after a restart")
	}
	for _, key := range []string{"refund_1", "pay_3"} {
		if !after.server.Settle(account, key) {
			t.Errorf("%s is not pending any more", key)
		}
		after.receiver.awaitEvent(t, key)
	}
	if got := after.server.RefundedTotal(account)["EUR"]; got != 4000 {
		t.Errorf("%d cents were given back", got)
	}
	if got := after.server.CapturedTotal(account)["EUR"]; got != 3*4250 {
		t.Errorf("%d cents were captured", got)
	}
}

func TestDecisionsThatWereOpenAreMadeAfterARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "charges.jsonl")
	before := newWorld(t, withJournal(path, 0.001))
	charge := before.mustCharge(t, "pay_1", sandbox.TokenRefundPending)
	if _, err := before.gateway.Refund(t.Context(), refundRequest("refund_1", charge.ChargeID, 4250)); err != nil {
		t.Fatal(err)
	}
	if _, err := before.gateway.Charge(t.Context(), chargeRequest("pay_2", "tok_pending_decline_after_600s")); err != nil {
		t.Fatal(err)
	}
	closeServer(t, before.server)
	after := newWorld(t, withJournal(path, 0.001))
	after.eventuallyCharge(t, "pay_2", payments.OutcomeStateDeclined)
	eventually(t, "the refund", func() (string, error) {
		outcome, err := after.gateway.LookUpRefund(t.Context(), account, "refund_1")
		return outcome.State.String(), err
	}, "SUCCEEDED")
}

func TestADamagedJournalIsNamed(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"garbage":       "{}\n",
		"not JSON":      "charge\n",
		"unknown token": `{"charge":{"id":"ch_1","token":"visa"}}` + "\n",
		"endless line":  strings.Repeat("x", 1<<20),
	} {
		path := filepath.Join(t.TempDir(), "charges.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		server, err := sandbox.NewServer(sandbox.Config{SecretKey: secretKey, WebhookSecrets: []string{webhookSecret}, JournalPath: path})
		if err == nil || server != nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: got %v", name, err)
		}
		if kept, err := os.ReadFile(path); err != nil || string(kept) != text {
			t.Errorf("%s: the damaged journal was changed", name)
		}
	}
}

func TestTheJournalIsRewrittenWhenItOutgrowsItsCharges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "charges.jsonl")
	bounded := func(c *sandbox.Config) { c.MaxCharges = 10 }
	w := newWorld(t, withJournal(path, 0.01), bounded)
	if err := w.server.SetWebhookURL(""); err != nil {
		t.Fatal(err)
	}
	const charges = 1500
	for i := range charges {
		w.mustCharge(t, fmt.Sprintf("pay_%d", i), sandbox.TokenApprove)
	}
	closeServer(t, w.server)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines >= charges {
		t.Errorf("the journal has %d lines for 10 charges", lines)
	}
	after := newWorld(t, withJournal(path, 0.01), bounded)
	left := after.server.Charges()
	if len(left) != 10 || left[9].Key != fmt.Sprintf("pay_%d", charges-1) {
		t.Errorf("got the charges %+v", left)
	}
}
