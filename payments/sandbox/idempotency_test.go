package sandbox_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

func TestOneKeyChargesOnceHoweverManyAsk(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"tok_approve", "tok_approve_after_5s", "tok_decline", "tok_webhook_before_response", "tok_webhook_twice"} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			const callers = 50
			w := newWorld(t)
			outcomes := make([]payments.Outcome, callers)
			var wait sync.WaitGroup
			for i := range callers {
				wait.Go(func() {
					outcome, err := w.gateway.Charge(t.Context(), chargeRequest("pay_1", token))
					if err != nil {
						t.Error(err)
					}
					outcomes[i] = outcome
				})
			}
			wait.Wait()
			for _, outcome := range outcomes {
				if outcome != outcomes[0] || !outcome.State.Final() {
					t.Fatalf("got %+v and %+v", outcomes[0], outcome)
				}
			}
			charges := w.server.Charges()
			if len(charges) != 1 || charges[0].Requests != callers {
				t.Fatalf("got the charges %+v", charges)
			}
			w.drained(t)
			if ids := w.receiver.about("pay_1"); len(ids) > 2 {
				t.Errorf("got %d webhooks", len(ids))
			}
		})
	}
}

func TestARepeatedRequestIsToldHowTheChargeStands(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]payments.OutcomeState{
		"tok_timeout_approve":               payments.OutcomeStateApproved,
		"tok_timeout_decline":               payments.OutcomeStateDeclined,
		"tok_error_approve":                 payments.OutcomeStateApproved,
		"tok_unknown_then_approve_after_0s": payments.OutcomeStateApproved,
	} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if outcome, err := w.impatient(t).Charge(t.Context(), chargeRequest("pay_1", token)); err == nil {
				t.Fatalf("the first call was answered: %+v", outcome)
			}
			outcome, err := w.gateway.Charge(t.Context(), chargeRequest("pay_1", token))
			if err != nil || outcome.State != want {
				t.Errorf("the second call learned %+v, %v", outcome, err)
			}
			if charges := w.server.Charges(); len(charges) != 1 {
				t.Errorf("got the charges %+v", charges)
			}
		})
	}
}

func TestAKeyIsNotUsedForAnotherRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.mustCharge(t, "pay_1", sandbox.TokenApprove)
	for name, change := range map[string]func(*payments.ChargeRequest){
		"amount":      func(r *payments.ChargeRequest) { r.Amount.Minor++ },
		"currency":    func(r *payments.ChargeRequest) { r.Amount.Currency = "USD" },
		"method":      func(r *payments.ChargeRequest) { r.MethodToken = sandbox.TokenDecline },
		"reference":   func(r *payments.ChargeRequest) { r.Reference.AttemptID = "pay_2" },
		"description": func(r *payments.ChargeRequest) { r.Description = "three seats" },
	} {
		request := chargeRequest("pay_1", sandbox.TokenApprove)
		change(&request)
		outcome, err := w.gateway.Charge(t.Context(), request)
		if !errors.Is(err, payments.ErrKeyReused) || errors.Is(err, payments.ErrRejected) || outcome.State != payments.OutcomeStateUnknown {
			t.Errorf("another %s: got %+v, %v", name, outcome, err)
		}
	}
	// Keys belong to their account.
	elsewhere := chargeRequest("pay_1", sandbox.TokenApprove)
	elsewhere.Account = "acct_hotel"
	outcome, err := w.gateway.Charge(t.Context(), elsewhere)
	if err != nil || outcome.ChargeID == first.ChargeID {
		t.Errorf("the same key of another account: got %+v, %v", outcome, err)
	}
	// The layout of the JSON is not part of the request.
	status, answer := call(t, http.MethodPost, w.server.URL()+"/v1/charges", "pay_3", chargeBody("tok_approve"))
	again, same := call(t, http.MethodPost, w.server.URL()+"/v1/charges", "pay_3",
		`{ "method":"tok_approve", "currency":"EUR", "amountMinor":4250, "account":"`+account+`" }`)
	if status != http.StatusOK || again != http.StatusOK || answer != same {
		t.Errorf("got %d %s and %d %s", status, answer, again, same)
	}
}
