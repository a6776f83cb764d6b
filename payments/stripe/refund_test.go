package stripe_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/stripe/stripetest"
)

func (b *bench) paid(token string) (charge string) {
	b.Helper()
	return b.charge(chargeOf(newKey(), token), payments.OutcomeStateApproved).ChargeID
}

func TestARefundIsPaidOnceWhateverHappens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault stripetest.Fault
		// forget lets Stripe forget the key before the refund is asked for again.
		forget bool
		want   payments.RefundState
	}{
		"lost before":                       {fault: stripetest.FaultUnreached, want: payments.RefundStateSucceeded},
		"lost after":                        {fault: stripetest.FaultLost, want: payments.RefundStateSucceeded},
		"lost after, and asked a day later": {fault: stripetest.FaultLost, forget: true, want: payments.RefundStateSucceeded},
		"500 after":                         {fault: stripetest.FaultFailedAfter, want: payments.RefundStateSucceeded},
		"500":                               {fault: stripetest.FaultFailed, want: payments.RefundStateUnknown},
		"500, and asked a day later":        {fault: stripetest.FaultFailed, forget: true, want: payments.RefundStateSucceeded},
		"too many requests":                 {fault: stripetest.FaultRateLimit, want: payments.RefundStateSucceeded},
		"a proxy's page":                    {fault: stripetest.FaultGarbage, want: payments.RefundStateSucceeded},
		// What is owed stays owed when our key is not accepted.
		"unauthorized": {fault: stripetest.FaultUnauthorized, want: payments.RefundStateSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			charge, key := b.paid(stripetest.MethodCard), newKey()
			b.server.Break(http.MethodPost, "/v1/refunds", c.fault, 1)
			outcome, err := b.gateway.Refund(t.Context(), payments.RefundRequest{Account: account, Key: key, ChargeID: charge, Amount: euros(1000), Reason: "test"})
			if err == nil || errors.Is(err, payments.ErrRejected) {
				t.Fatalf("got %+v, %v", outcome, err)
			}
			if c.forget {
				b.server.ForgetKeys()
			}
			b.other().refund(charge, key, euros(1000), c.want)
			b.refund(charge, key, euros(1000), c.want)
			if made := b.server.Refunds(charge); (c.want == payments.RefundStateSucceeded) != (len(made) == 1) {
				t.Errorf("%d refunds were made", len(made))
			}
		})
	}
}

func TestARefundThatWaits(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]payments.RefundState{
		"succeeded": payments.RefundStateSucceeded, "failed": payments.RefundStateFailed, "canceled": payments.RefundStateFailed,
		"requires_action": payments.RefundStatePending, "something_new": payments.RefundStateUnknown,
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			charge, key := b.paid(stripetest.MethodRefundPending), newKey()
			pending := b.refund(charge, key, euros(1000), payments.RefundStatePending)
			b.server.SettleRefund(pending.RefundID, status)
			for _, process := range []*bench{b, b.other()} {
				// A repeated answer of Stripe's would still say pending.
				process.refund(charge, key, euros(1000), want)
				found, err := process.gateway.LookUpRefund(t.Context(), account, key)
				if found.State != want || (err != nil) != (want == payments.RefundStateUnknown) {
					t.Errorf("looked up: %+v, %v", found, err)
				}
			}
		})
	}
}

func TestAFailedRefundIsTriedUnderAnotherKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	charge := b.paid(stripetest.MethodRefundFails)
	failed := b.refund(charge, "refund_first", euros(4200), payments.RefundStateFailed)
	if failed.FailureCode != "expired_or_canceled_card" || failed.Amount != euros(4200) {
		t.Errorf("got %+v", failed)
	}
	// What failed does not count against the rest.
	b.refund(charge, "refund_second", euros(4200), payments.RefundStateFailed)
}

func TestOldRefundsAreLookedUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	charge := b.paid(stripetest.MethodCard)
	b.refund(charge, "refund_old", euros(100), payments.RefundStateSucceeded)
	b.server.Age(20 * 24 * time.Hour)
	found, err := b.other().gateway.LookUpRefund(t.Context(), account, "refund_old")
	if err != nil || found.State != payments.RefundStateSucceeded || found.ChargeID != charge {
		t.Errorf("got %+v, %v", found, err)
	}
}

func TestRefundsOfOtherMoneyAreRejected(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	request := chargeOf(newKey(), stripetest.MethodCard)
	request.Capture = payments.CaptureManual
	reserved := b.charge(request, payments.OutcomeStateAuthorized).ChargeID
	charge := b.paid(stripetest.MethodCard)
	for name, refund := range map[string]payments.RefundRequest{
		"only reserved":     {Account: account, Key: newKey(), ChargeID: reserved, Amount: euros(1)},
		"another account":   {Account: platform, Key: newKey(), ChargeID: charge, Amount: euros(1)},
		"a charge's id":     {Account: account, Key: newKey(), ChargeID: "ch_1", Amount: euros(1)},
		"another currency":  {Account: account, Key: newKey(), ChargeID: charge, Amount: money.Amount{Minor: 1, Currency: "USD"}},
		"a page's id":       {Account: account, Key: newKey(), ChargeID: "cs_test_1", Amount: euros(1)},
		"a path for charge": {Account: account, Key: newKey(), ChargeID: "pi_1/../../x", Amount: euros(1)},
		"no key":            {Account: account, ChargeID: charge, Amount: euros(1)},
	} {
		if outcome, err := b.gateway.Refund(t.Context(), refund); !errors.Is(err, payments.ErrRejected) {
			t.Errorf("%s: %+v, %v", name, outcome, err)
		}
	}
	if made := len(b.server.Refunds(charge)) + len(b.server.Refunds(reserved)); made != 0 {
		t.Errorf("%d refunds were made", made)
	}
}
