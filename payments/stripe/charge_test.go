package stripe_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/stripe"
	"github.com/holdfast/holdfast/payments/stripe/stripetest"
)

func withoutReturn(config *stripe.Config) { config.ReturnURL = "" }

// What Stripe, or something between, answers to a charge, and what may be believed of it.
func TestFaultsAreToldForWhatTheyAre(t *testing.T) {
	t.Parallel()
	const once = 1
	for name, c := range map[string]struct {
		fault stripetest.Fault
		want  error
		// after is what a lookup from another process finds.
		after payments.OutcomeState
	}{
		"connection refused":    {fault: stripetest.FaultUnreached, after: payments.OutcomeStateNotFound},
		"answer lost":           {fault: stripetest.FaultLost, after: payments.OutcomeStateApproved},
		"no answer":             {fault: stripetest.FaultHang, after: payments.OutcomeStateApproved},
		"500":                   {fault: stripetest.FaultFailed, after: payments.OutcomeStateNotFound},
		"500 after the charge":  {fault: stripetest.FaultFailedAfter, after: payments.OutcomeStateApproved},
		"too many requests":     {fault: stripetest.FaultRateLimit, after: payments.OutcomeStateNotFound},
		"a proxy's page":        {fault: stripetest.FaultGarbage, after: payments.OutcomeStateApproved},
		"a redirect":            {fault: stripetest.FaultRedirect, after: payments.OutcomeStateApproved},
		"an endless answer":     {fault: stripetest.FaultHuge, after: payments.OutcomeStateApproved},
		"the key is not theirs": {fault: stripetest.FaultUnauthorized, want: payments.ErrRejected, after: payments.OutcomeStateNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			caller := b
			if c.fault == stripetest.FaultHang {
				caller = b.other(func(config *stripe.Config) { config.Timeout = 300 * time.Millisecond })
			}
			b.server.Break(http.MethodPost, "/v1/payment_intents", c.fault, once)
			key := newKey()
			request := chargeOf(key, stripetest.MethodCard)
			outcome, err := caller.gateway.Charge(t.Context(), request)
			if outcome != (payments.Outcome{}) || err == nil || errors.Is(err, payments.ErrRejected) != (c.want != nil) || errors.Is(err, payments.ErrKeyReused) {
				t.Fatalf("got %+v, %v", outcome, err)
			}
			if n := b.callsTo(http.MethodPost, "/v1/payment_intents"); n != 1 {
				t.Errorf("one charge made %d calls", n)
			}
			b.other().lookUp(key, c.after)
			if c.fault != stripetest.FaultFailed {
				// Sending it again is always safe, and ends in the one charge; the double repeats the answer
				// of a call that took effect.
				again, err := b.gateway.Charge(t.Context(), request)
				if c.fault == stripetest.FaultFailedAfter {
					if err == nil {
						t.Errorf("the repeated 500 was believed: %+v", again)
					}
				} else if err != nil || again.State != payments.OutcomeStateApproved {
					t.Errorf("sent again: %+v, %v", again, err)
				}
				if intent := b.only(key); intent.Received != 4200 {
					t.Errorf("received %d", intent.Received)
				}
			}
		})
	}
}

// Stripe repeats its own 500 under a key until it forgets the key, so the key stays unknown until then.
func TestARepeatedServerErrorStaysUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := newKey()
	request := chargeOf(key, stripetest.MethodCard)
	b.server.Break(http.MethodPost, "/v1/payment_intents", stripetest.FaultFailed, 1)
	for range 3 {
		b.charge(request, payments.OutcomeStateUnknown)
		b.lookUp(key, payments.OutcomeStateNotFound)
	}
	b.server.ForgetKeys()
	b.charge(request, payments.OutcomeStateApproved)
	b.only(key)
}

// While a first call is under way its key is in use, which is not the same as used for something else.
func TestAKeyInUseIsUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := newKey()
	request := chargeOf(key, stripetest.MethodCard)
	b.server.Break(http.MethodPost, "/v1/payment_intents", stripetest.FaultUnreached, 1)
	b.charge(request, payments.OutcomeStateUnknown)
	sent := b.server.Calls()[0]
	b.server.HoldKey(account, key, sent.Path, sent.Form)
	if outcome, err := b.gateway.Charge(t.Context(), request); err == nil || errors.Is(err, payments.ErrKeyReused) || errors.Is(err, payments.ErrRejected) {
		t.Errorf("got %+v, %v", outcome, err)
	}
}

// A declined PaymentIntent could be confirmed with another card by anybody with its client secret.
func TestADeclineCannotBecomeACharge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := newKey()
	outcome := b.charge(chargeOf(key, stripetest.MethodDeclined), payments.OutcomeStateDeclined)
	if outcome.DeclineCode != "insufficient_funds" || outcome.InstrumentFingerprint == "" || outcome.ChargeID == "" {
		t.Errorf("got %+v", outcome)
	}
	intent := b.only(key)
	if intent.Status != "canceled" || b.server.Confirm(intent.ID, stripetest.MethodCard) {
		t.Errorf("the declined PaymentIntent is %s", intent.Status)
	}
	if found := b.other().lookUp(key, payments.OutcomeStateDeclined); found.DeclineCode != "insufficient_funds" {
		t.Errorf("looked up: %+v", found)
	}
}

func TestADeclineThatCannotBeProvenIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		confirm bool
		want    payments.OutcomeState
	}{
		"and stays declined":     {confirm: false, want: payments.OutcomeStateDeclined},
		"and is paid in between": {confirm: true, want: payments.OutcomeStateApproved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			key := newKey()
			request := chargeOf(key, stripetest.MethodDeclined)
			b.server.Break(http.MethodPost, "/cancel", stripetest.FaultFailed, 1)
			b.charge(request, payments.OutcomeStateUnknown)
			intent := b.only(key)
			if intent.Status != "requires_payment_method" {
				t.Fatalf("the PaymentIntent is %s", intent.Status)
			}
			if c.confirm && !b.server.Confirm(intent.ID, stripetest.MethodCard) {
				t.Fatal("it cannot be confirmed")
			}
			b.other().lookUp(key, c.want)
			b.charge(request, c.want)
		})
	}
}

// An error that is no decline can leave a PaymentIntent behind as well.
func TestARefusedRequestLeavesNothingToPay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := newKey()
	outcome := b.charge(chargeOf(key, stripetest.MethodUnattachable), payments.OutcomeStateDeclined)
	if intent := b.only(key); intent.Status != "canceled" || outcome.DeclineCode != "payment_method_unexpected_state" {
		t.Errorf("the PaymentIntent is %s, the outcome %+v", intent.Status, outcome)
	}
}

func TestTheBuyersConfirmation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := newKey()
	outcome := b.charge(chargeOf(key, stripetest.MethodAuthentication), payments.OutcomeStatePending)
	if want := "https://bank.example.com/" + b.only(key).ID; outcome.RedirectURL != want {
		t.Errorf("the buyer is sent to %q, want %q", outcome.RedirectURL, want)
	}
	b.server.Settle(b.only(key).ID, true)
	if found := b.lookUp(key, payments.OutcomeStateApproved); found.RedirectURL != "" || found.InstrumentFingerprint == "" {
		t.Errorf("got %+v", found)
	}

	// Without an address to come back to nobody could confirm.
	silent, key := b.other(withoutReturn), newKey()
	if outcome := silent.charge(chargeOf(key, stripetest.MethodAuthentication), payments.OutcomeStateDeclined); outcome.DeclineCode != "authentication_required" {
		t.Errorf("got %+v", outcome)
	}
	if intent := b.only(key); intent.Status != "canceled" {
		t.Errorf("the PaymentIntent is %s", intent.Status)
	}
}

func TestADebitIsDecidedByTheBank(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := newKey()
	b.charge(chargeOf(key, stripetest.MethodDebit), payments.OutcomeStatePending)
	// Stripe cannot take a debit back that it has sent.
	b.cancel(key, payments.OutcomeStatePending)
	if outcome, err := b.gateway.Capture(t.Context(), account, key); err != nil || outcome.State != payments.OutcomeStatePending {
		t.Errorf("capture: %+v, %v", outcome, err)
	}
	b.server.Settle(b.only(key).ID, false)
	b.lookUp(key, payments.OutcomeStateDeclined)
}

func TestEachAccountIsChargedForItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct{ account, header string }{{account, account}, {platform, ""}} {
		request := chargeOf(newKey(), stripetest.MethodCard)
		request.Account = c.account
		if outcome := b.charge(request, payments.OutcomeStateApproved); outcome.Account != c.account {
			t.Errorf("the money went to %q", outcome.Account)
		}
		calls := b.server.Calls()
		if call := calls[len(calls)-1]; call.Account != c.header {
			t.Errorf("account %s: header %q", c.account, call.Account)
		}
	}
	key := newKey()
	b.charge(chargeOf(key, stripetest.MethodCard), payments.OutcomeStateApproved)
	if outcome, err := b.gateway.LookUp(t.Context(), platform, key); err != nil || outcome.State != payments.OutcomeStateNotFound {
		t.Errorf("another account's charge: %+v, %v", outcome, err)
	}
}

func TestBadChargesAreNotSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, change := range map[string]func(*payments.ChargeRequest){
		"a tenant's id as the account": func(r *payments.ChargeRequest) { r.Account = "tenant_abc" },
		"a card's number":              func(r *payments.ChargeRequest) { r.MethodToken = "4242424242424242" },
		"a token of another provider":  func(r *payments.ChargeRequest) { r.MethodToken = "tok_approve" },
		"a key in words":               func(r *payments.ChargeRequest) { r.Key = "my key" },
		"a long key":                   func(r *payments.ChargeRequest) { r.Key += string(make([]byte, 256)) },
		"an odd amount of dinars":      func(r *payments.ChargeRequest) { r.Amount.Minor, r.Amount.Currency = 1001, "KWD" },
		"a currency without Stripe":    func(r *payments.ChargeRequest) { r.Amount.Currency = "IQD" },
		"an unknown mode":              func(r *payments.ChargeRequest) { r.Capture = "LATER" },
		"a long description":           func(r *payments.ChargeRequest) { r.Description = string(make([]byte, 1001)) },
	} {
		request := chargeOf(newKey(), stripetest.MethodCard)
		change(&request)
		if outcome, err := b.gateway.Charge(t.Context(), request); !errors.Is(err, payments.ErrRejected) {
			t.Errorf("%s: %+v, %v", name, outcome, err)
		}
	}
	if calls := b.server.Calls(); len(calls) != 0 {
		t.Errorf("%d calls were made: %+v", len(calls), calls)
	}
}

func TestNothingIsToldOfThisMachine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.charge(chargeOf(newKey(), stripetest.MethodCard), payments.OutcomeStateApproved)
	b.charge(chargeOf(newKey(), stripetest.MethodCard), payments.OutcomeStateApproved)
	for _, call := range b.server.Calls() {
		for _, header := range []string{"X-Stripe-Client-Telemetry", "X-Stripe-Client-User-Agent"} {
			if value := call.Header.Get(header); value != "" {
				t.Errorf("%s: %s", header, value)
			}
		}
	}
}

func TestCaptureIsAskedForOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]stripetest.Fault{
		"lost": stripetest.FaultLost, "500": stripetest.FaultFailed, "500 after": stripetest.FaultFailedAfter,
		"too many": stripetest.FaultRateLimit, "unauthorized": stripetest.FaultUnauthorized,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			key := newKey()
			request := chargeOf(key, stripetest.MethodCard)
			request.Capture = payments.CaptureManual
			b.charge(request, payments.OutcomeStateAuthorized)
			b.server.Break(http.MethodPost, "/capture", fault, 1)
			// A reservation is never given up because of a call that failed.
			if outcome, err := b.gateway.Capture(t.Context(), account, key); err == nil || errors.Is(err, payments.ErrRejected) {
				t.Fatalf("got %+v, %v", outcome, err)
			}
			outcome, err := b.other().gateway.Capture(t.Context(), account, key)
			if err != nil || outcome.State != payments.OutcomeStateApproved || outcome.Captured != euros(4200) {
				t.Errorf("got %+v, %v", outcome, err)
			}
		})
	}
}
