package sandbox_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

func TestARefundIsPaidOncePerAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	charge := w.mustCharge(t, "pay_1", sandbox.TokenApprove)
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			outcome, err := w.gateway.Refund(t.Context(), refundRequest("refund_1", charge.ChargeID, 1000))
			if err != nil || outcome.State != payments.RefundStateSucceeded || outcome.Amount != euros(1000) || outcome.ChargeID != charge.ChargeID {
				t.Errorf("got %+v, %v", outcome, err)
			}
		})
	}
	wait.Wait()
	// An equal refund for another reason is another action.
	if _, err := w.gateway.Refund(t.Context(), refundRequest("refund_2", charge.ChargeID, 1000)); err != nil {
		t.Error(err)
	}
	if total := w.server.RefundedTotal(account)["EUR"]; total != 2000 {
		t.Errorf("%d cents were given back", total)
	}
	outcome, err := w.gateway.LookUpRefund(t.Context(), account, "refund_1")
	if err != nil || outcome.State != payments.RefundStateSucceeded || outcome.Account != account || outcome.RefundID == "" {
		t.Errorf("the lookup gave %+v, %v", outcome, err)
	}
	outcome, err = w.gateway.LookUpRefund(t.Context(), account, "refund_9")
	if err != nil || outcome.State != payments.RefundStateNotFound {
		t.Errorf("the lookup of nothing gave %+v, %v", outcome, err)
	}
	event := w.receiver.awaitEvent(t, "refund_2")
	if event.Type != payments.EventTypeRefundSucceeded || event.Amount != euros(1000) || event.ChargeID != charge.ChargeID ||
		event.RefundID == "" || event.Reference != (payments.Reference{TenantID: tenant, AttemptID: "pay_of_refund_2"}) {
		t.Errorf("got the event %+v", event)
	}
	if _, err := w.gateway.Refund(t.Context(), refundRequest("refund_1", charge.ChargeID, 999)); !errors.Is(err, payments.ErrKeyReused) {
		t.Errorf("the key paid another amount: %v", err)
	}
}

func TestRefundsNeverExceedWhatWasCaptured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	charge := w.mustCharge(t, "pay_1", sandbox.TokenApprove)
	var paid, refused atomic.Int64
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			_, err := w.gateway.Refund(t.Context(), refundRequest("refund_"+string(rune('a'+i)), charge.ChargeID, 1000))
			switch {
			case err == nil:
				paid.Add(1)
			case errors.Is(err, payments.ErrRejected):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if paid.Load() != 4 || refused.Load() != 16 {
		t.Errorf("%d refunds of 10.00 were paid of 42.50, %d refused", paid.Load(), refused.Load())
	}
	if _, err := w.gateway.Refund(t.Context(), refundRequest("refund_rest", charge.ChargeID, 250)); err != nil {
		t.Errorf("the rest was refused: %v", err)
	}
	if charge := w.server.Charges()[0]; charge.Refunded != charge.Captured {
		t.Errorf("got %+v", charge)
	}
}

func TestWhatCannotBeRefundedIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *sandbox.Config) { c.TimeScale = 1 })
	approved := w.mustCharge(t, "pay_1", sandbox.TokenApprove)
	declined, err := w.gateway.Charge(t.Context(), chargeRequest("pay_2", sandbox.TokenDecline))
	if err != nil {
		t.Fatal(err)
	}
	pending, err := w.gateway.Charge(t.Context(), chargeRequest("pay_3", "tok_pending_approve_after_600s"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*payments.RefundRequest){
		"declined charge":  func(r *payments.RefundRequest) { r.ChargeID = declined.ChargeID },
		"pending charge":   func(r *payments.RefundRequest) { r.ChargeID = pending.ChargeID },
		"no charge":        func(r *payments.RefundRequest) { r.ChargeID = "ch_none" },
		"empty charge":     func(r *payments.RefundRequest) { r.ChargeID = "" },
		"other account":    func(r *payments.RefundRequest) { r.Account = "acct_hotel" },
		"other currency":   func(r *payments.RefundRequest) { r.Amount.Currency = "USD" },
		"one cent more":    func(r *payments.RefundRequest) { r.Amount.Minor = 4251 },
		"nothing":          func(r *payments.RefundRequest) { r.Amount.Minor = 0 },
		"less than that":   func(r *payments.RefundRequest) { r.Amount.Minor = -1 },
		"empty key":        func(r *payments.RefundRequest) { r.Key = "" },
		"key of two lines": func(r *payments.RefundRequest) { r.Key = "a\nb" },
	} {
		request := refundRequest("refund_1", approved.ChargeID, 100)
		change(&request)
		outcome, err := w.gateway.Refund(t.Context(), request)
		if !errors.Is(err, payments.ErrRejected) || outcome.State != payments.RefundStateUnknown {
			t.Errorf("%s: got %+v, %v", name, outcome, err)
		}
	}
	if refunds := w.server.Refunds(); len(refunds) != 0 {
		t.Errorf("got the refunds %+v", refunds)
	}
}

func TestARefundThatFailsIsPaidUnderAnotherKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	charge := w.mustCharge(t, "pay_1", sandbox.TokenRefundFailsOnce)
	for range 2 {
		outcome, err := w.gateway.Refund(t.Context(), refundRequest("refund_1", charge.ChargeID, 4250))
		if err != nil || outcome.State != payments.RefundStateFailed || outcome.FailureCode == "" {
			t.Fatalf("got %+v, %v", outcome, err)
		}
	}
	if event := w.receiver.awaitEvent(t, "refund_1"); event.Type != payments.EventTypeRefundFailed || event.DeclineCode == "" {
		t.Errorf("got the event %+v", event)
	}
	outcome, err := w.gateway.Refund(t.Context(), refundRequest("refund_1.2", charge.ChargeID, 4250))
	if err != nil || outcome.State != payments.RefundStateSucceeded {
		t.Errorf("got %+v, %v", outcome, err)
	}
}

func TestAPendingRefundReservesItsAmount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *sandbox.Config) { c.TimeScale = 100 })
	charge := w.mustCharge(t, "pay_1", sandbox.TokenRefundPending)
	outcome, err := w.gateway.Refund(t.Context(), refundRequest("refund_1", charge.ChargeID, 4250))
	if err != nil || outcome.State != payments.RefundStatePending {
		t.Fatalf("got %+v, %v", outcome, err)
	}
	if _, err := w.gateway.Refund(t.Context(), refundRequest("refund_2", charge.ChargeID, 1)); !errors.Is(err, payments.ErrRejected) {
		t.Errorf("more than everything was promised: %v", err)
	}
	if total := w.server.RefundedTotal(account); len(total) != 0 {
		t.Errorf("a pending refund counts as paid: %v", total)
	}
	if !w.server.Settle(account, "refund_1") {
		t.Error("the pending refund was not settled")
	}
	if event := w.receiver.awaitEvent(t, "refund_1"); event.Type != payments.EventTypeRefundSucceeded {
		t.Errorf("got the event %+v", event)
	}
	outcome, err = w.gateway.LookUpRefund(t.Context(), account, "refund_1")
	if err != nil || outcome.State != payments.RefundStateSucceeded {
		t.Errorf("got %+v, %v", outcome, err)
	}
}

func TestARefundWhoseAnswerIsLostIsPaidOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	charge := w.mustCharge(t, "pay_1", sandbox.TokenRefundTimeout)
	outcome, err := w.impatient(t).Refund(t.Context(), refundRequest("refund_1", charge.ChargeID, 4250))
	if err == nil || errors.Is(err, payments.ErrRejected) || outcome.State != payments.RefundStateUnknown {
		t.Fatalf("got %+v, %v", outcome, err)
	}
	outcome, err = w.gateway.LookUpRefund(t.Context(), account, "refund_1")
	if err != nil || outcome.State != payments.RefundStateSucceeded {
		t.Errorf("the lookup gave %+v, %v", outcome, err)
	}
	outcome, err = w.gateway.Refund(t.Context(), refundRequest("refund_1", charge.ChargeID, 4250))
	if err != nil || outcome.State != payments.RefundStateSucceeded {
		t.Errorf("the second call gave %+v, %v", outcome, err)
	}
	if total := w.server.RefundedTotal(account)["EUR"]; total != 4250 {
		t.Errorf("%d cents were given back", total)
	}
}

func TestMinorUnitsPassUntouchedInEveryCurrency(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, amount := range []money.Amount{
		{Minor: 5800, Currency: "JPY"},
		{Minor: 5800, Currency: "USD"},
		{Minor: 5800, Currency: "KWD"},
		{Minor: 1, Currency: "JPY"},
		{Minor: money.MaxMinor, Currency: "KWD"},
	} {
		key := amount.String()
		key = "pay_" + key[len(key)-3:] + key[:len(key)-4]
		request := chargeRequest(key, sandbox.TokenApprove)
		request.Amount = amount
		charge, err := w.gateway.Charge(t.Context(), request)
		if err != nil || charge.Captured != amount {
			t.Fatalf("%s: got %+v, %v", amount, charge, err)
		}
		if event := w.receiver.awaitEvent(t, key); event.Amount != amount {
			t.Errorf("the webhook says %s, want %s", event.Amount, amount)
		}
		back := refundRequest("refund_"+key, charge.ChargeID, 0)
		back.Amount = money.Amount{Minor: (amount.Minor + 99) / 100, Currency: amount.Currency}
		refund, err := w.gateway.Refund(t.Context(), back)
		if err != nil || refund.Amount != back.Amount {
			t.Errorf("a refund of %s: got %+v, %v", back.Amount, refund, err)
		}
	}
}
