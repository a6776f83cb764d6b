package offline_test

import (
	"errors"
	"testing"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/offline"
)

func TestMoneyTakenOutsideIsApprovedAtOnce(t *testing.T) {
	t.Parallel()
	gateway := offline.Gateway{}
	request := payments.ChargeRequest{Account: "box_office", Key: "pay_1", Amount: money.Amount{Minor: 5800, Currency: "JPY"}, MethodToken: "cash"}
	first, err := gateway.Charge(t.Context(), request)
	if err != nil || first.State != payments.OutcomeStateApproved || first.Captured != request.Amount || first.Account != "box_office" || first.ChargeID == "" {
		t.Fatalf("got %+v, %v", first, err)
	}
	// A driver that lost the outcome finds nothing, asks again, and gets the same.
	found, err := gateway.LookUp(t.Context(), "box_office", "pay_1")
	if err != nil || found.State != payments.OutcomeStateNotFound {
		t.Errorf("the lookup gave %+v, %v", found, err)
	}
	if again, err := gateway.Charge(t.Context(), request); err != nil || again != first {
		t.Errorf("the same request gave %+v, %v", again, err)
	}
	request.Key = "pay_2"
	if other, err := gateway.Charge(t.Context(), request); err != nil || other.ChargeID == first.ChargeID {
		t.Errorf("another key gave %+v, %v", other, err)
	}
}

func TestRefundsOutsideSucceedAtOnce(t *testing.T) {
	t.Parallel()
	gateway := offline.Gateway{}
	request := payments.RefundRequest{Account: "box_office", Key: "refund_1", ChargeID: "offline_pay_1", Amount: money.Amount{Minor: 58, Currency: "JPY"}}
	first, err := gateway.Refund(t.Context(), request)
	if err != nil || first.State != payments.RefundStateSucceeded || first.Amount != request.Amount || first.ChargeID != request.ChargeID || first.RefundID == "" {
		t.Fatalf("got %+v, %v", first, err)
	}
	found, err := gateway.LookUpRefund(t.Context(), "box_office", "refund_1")
	if err != nil || found.State != payments.RefundStateNotFound {
		t.Errorf("the lookup gave %+v, %v", found, err)
	}
	if again, err := gateway.Refund(t.Context(), request); err != nil || again != first {
		t.Errorf("the same request gave %+v, %v", again, err)
	}
}

func TestWhatIsNotWellFormedIsRejected(t *testing.T) {
	t.Parallel()
	gateway := offline.Gateway{}
	for name, change := range map[string]func(*payments.RefundRequest){
		"no account":       func(r *payments.RefundRequest) { r.Account = "" },
		"no key":           func(r *payments.RefundRequest) { r.Key = "" },
		"nothing":          func(r *payments.RefundRequest) { r.Amount.Minor = 0 },
		"less than that":   func(r *payments.RefundRequest) { r.Amount.Minor = -1 },
		"more than a sale": func(r *payments.RefundRequest) { r.Amount.Minor = money.MaxMinor + 1 },
		"no currency":      func(r *payments.RefundRequest) { r.Amount.Currency = "" },
	} {
		request := payments.RefundRequest{Account: "box_office", Key: "k", ChargeID: "offline_pay_1", Amount: money.Amount{Minor: 1, Currency: "EUR"}}
		change(&request)
		if outcome, err := gateway.Refund(t.Context(), request); !errors.Is(err, payments.ErrRejected) || outcome != (payments.RefundOutcome{}) {
			t.Errorf("a refund with %s: got %+v, %v", name, outcome, err)
		}
		charge := payments.ChargeRequest{Account: request.Account, Key: request.Key, Amount: request.Amount}
		if outcome, err := gateway.Charge(t.Context(), charge); !errors.Is(err, payments.ErrRejected) || outcome != (payments.Outcome{}) {
			t.Errorf("a charge with %s: got %+v, %v", name, outcome, err)
		}
	}
	noCharge := payments.RefundRequest{Account: "box_office", Key: "k", Amount: money.Amount{Minor: 1, Currency: "EUR"}}
	if _, err := gateway.Refund(t.Context(), noCharge); !errors.Is(err, payments.ErrRejected) {
		t.Errorf("a refund of nothing gave %v", err)
	}
	if event, err := gateway.ParseWebhook(nil, []byte("{}")); !errors.Is(err, payments.ErrBadSignature) || event != (payments.Event{}) {
		t.Errorf("a message gave %+v, %v", event, err)
	}
}
