package stripe

import (
	"context"
	"errors"
	"fmt"

	stripego "github.com/stripe/stripe-go/v84"

	"github.com/holdfast/holdfast/payments"
)

// maxDescription is Stripe's bound on the description of a payment, in bytes.
const maxDescription = 1000

// errToken never repeats the token: it may be a card's number.
var errToken = errors.New("expected a payment method's id such as pm_…")

// Charge implements payments.Gateway: it creates and confirms a PaymentIntent, or opens the page of
// a Checkout Session.
func (g *Gateway) Charge(ctx context.Context, request payments.ChargeRequest) (payments.Outcome, error) {
	ctx, cancel := g.bound(ctx)
	defer cancel()
	outcome, err := g.charge(ctx, request)
	if err != nil {
		return payments.Outcome{}, fmt.Errorf("charge %.64q: %w", request.Key, err)
	}
	return outcome, nil
}

func (g *Gateway) charge(ctx context.Context, request payments.ChargeRequest) (payments.Outcome, error) {
	if err := validatePlace(request.Account, request.Key); err != nil {
		return payments.Outcome{}, rejected("%w", err)
	}
	if len(request.Description) > maxDescription {
		return payments.Outcome{}, rejected("the description is longer than %d bytes", maxDescription)
	}
	if request.Hosted != nil {
		return g.openPage(ctx, request)
	}
	params, err := g.intentParams(request)
	if err != nil {
		return payments.Outcome{}, rejected("%w", err)
	}
	intent, err := g.client.V1PaymentIntents.Create(ctx, params)
	if err == nil {
		return g.created(ctx, request, intent, isReplayed(intent.LastResponse), nil)
	}
	err = judge(err)
	var r *refusal
	switch {
	case !errors.As(err, &r) || r.status < 400 || r.status > 499 || errors.Is(err, payments.ErrKeyReused):
	case r.intent != nil && r.intent.ID != "":
		// The request has failed, and left a PaymentIntent behind that can be confirmed again.
		return g.created(ctx, request, r.intent, r.replayed, r)
	case r.kind == string(stripego.ErrorTypeCard):
		return payments.Outcome{State: payments.OutcomeStateDeclined, Account: request.Account, DeclineCode: r.reason()}, nil
	}
	return payments.Outcome{}, err
}

// reason is the decline code of a card error.
func (r *refusal) reason() string {
	switch {
	case r.declineCode != "":
		return r.declineCode
	case r.code != "":
		return r.code
	}
	return declinedWithoutReason
}

func (g *Gateway) intentParams(request payments.ChargeRequest) (*stripego.PaymentIntentCreateParams, error) {
	if !tokenForm.MatchString(request.MethodToken) {
		return nil, errToken
	}
	minor, currency, err := toStripe(request.Amount)
	if err != nil {
		return nil, err
	}
	capture, err := captureMethod(request.Capture)
	if err != nil {
		return nil, err
	}
	params := &stripego.PaymentIntentCreateParams{
		Params:        g.keyed(request.Account, request.Key),
		Amount:        &minor,
		Currency:      &currency,
		CaptureMethod: &capture,
		Confirm:       stripego.Bool(true),
		PaymentMethod: &request.MethodToken,
		Metadata:      toMetadata(request.Key, request.Reference),
		Expand:        expandCharge(),
	}
	if request.Description != "" {
		params.Description = &request.Description
	}
	redirects := string(stripego.PaymentIntentAutomaticPaymentMethodsAllowRedirectsAlways)
	if g.config.ReturnURL != "" {
		params.ReturnURL = &g.config.ReturnURL
	} else {
		// Nobody could send the buyer to the bank and back: better a decline than a payment that
		// waits for ever.
		redirects = string(stripego.PaymentIntentAutomaticPaymentMethodsAllowRedirectsNever)
		params.ErrorOnRequiresAction = stripego.Bool(true)
	}
	params.AutomaticPaymentMethods = &stripego.PaymentIntentCreateAutomaticPaymentMethodsParams{
		Enabled: stripego.Bool(true), AllowRedirects: &redirects,
	}
	return params, nil
}

func captureMethod(mode payments.CaptureMode) (string, error) {
	switch mode {
	case payments.CaptureAutomatic:
		return string(stripego.PaymentIntentCaptureMethodAutomatic), nil
	case payments.CaptureManual:
		return string(stripego.PaymentIntentCaptureMethodManual), nil
	}
	return "", fmt.Errorf("unknown capture mode %.32q", string(mode))
}

// expandCharge asks for the charge within a PaymentIntent, which has the instrument's fingerprint.
func expandCharge() []*string { return []*string{stripego.String("latest_charge")} }

// created reads the PaymentIntent that a charge made, also one that failed. A replayed answer is as old
// as the first one, so it only tells the id.
func (g *Gateway) created(ctx context.Context, request payments.ChargeRequest, intent *stripego.PaymentIntent, replayed bool, failure *refusal) (payments.Outcome, error) {
	if err := checkIntent(intent, request.Key); err != nil {
		return payments.Outcome{}, err
	}
	g.ids.Add(place{request.Account, request.Key}, intent.ID)
	if replayed {
		var err error
		if intent, err = g.intent(ctx, request.Account, intent.ID); err != nil {
			return payments.Outcome{}, err
		}
	}
	if failure != nil && isUnpaid(intent) {
		return g.decline(ctx, request.Account, request.Key, intent, failure.reason())
	}
	return g.settled(ctx, request.Account, request.Key, intent)
}

// settled is the outcome of a PaymentIntent that is no page's.
func (g *Gateway) settled(ctx context.Context, account, key string, intent *stripego.PaymentIntent) (payments.Outcome, error) {
	if intent != nil && isUnpaid(intent) && intent.LastPaymentError != nil {
		return g.decline(ctx, account, key, intent, declineCode(intent))
	}
	return readIntent(intent, account, key)
}

// decline cancels a PaymentIntent whose last try was refused, because Stripe would let it be confirmed
// again with another card. If that fails the decline is not proven, and the outcome unknown; if the
// PaymentIntent turns out to be paid, that is the outcome.
func (g *Gateway) decline(ctx context.Context, account, key string, intent *stripego.PaymentIntent, reason string) (payments.Outcome, error) {
	if err := checkIntent(intent, key); err != nil {
		return payments.Outcome{}, err
	}
	fingerprint := fingerprintOfIntent(intent)
	ended, err := g.end(ctx, account, intent)
	if err != nil {
		return payments.Outcome{}, fmt.Errorf("cancel the declined PaymentIntent %s: %w", word(intent.ID), err)
	}
	outcome, err := readIntent(ended, account, key)
	if err == nil && outcome.State == payments.OutcomeStateDeclined {
		outcome.DeclineCode = reason
		if outcome.InstrumentFingerprint == "" {
			outcome.InstrumentFingerprint = fingerprint
		}
	}
	return outcome, err
}

// end cancels a PaymentIntent, or reads it again when its state does not allow that.
func (g *Gateway) end(ctx context.Context, account string, intent *stripego.PaymentIntent) (*stripego.PaymentIntent, error) {
	reason := string(stripego.PaymentIntentCancellationReasonAbandoned)
	ended, err := g.client.V1PaymentIntents.Cancel(ctx, intent.ID, &stripego.PaymentIntentCancelParams{
		Params: g.params(account), CancellationReason: &reason, Expand: expandCharge(),
	})
	if err == nil {
		return ended, nil
	}
	if err = safe(err); !isWrongState(err) {
		return nil, err
	}
	return g.intent(ctx, account, intent.ID)
}

// intent reads a PaymentIntent as it is now.
func (g *Gateway) intent(ctx context.Context, account, id string) (*stripego.PaymentIntent, error) {
	intent, err := g.client.V1PaymentIntents.Retrieve(ctx, id, &stripego.PaymentIntentRetrieveParams{Params: g.params(account), Expand: expandCharge()})
	if err != nil {
		return nil, safe(err)
	}
	return intent, nil
}

// Capture implements payments.Gateway.
func (g *Gateway) Capture(ctx context.Context, account, key string) (payments.Outcome, error) {
	ctx, cancel := g.bound(ctx)
	defer cancel()
	outcome, err := g.capture(ctx, account, key)
	if err != nil {
		return payments.Outcome{}, fmt.Errorf("capture %.64q: %w", key, err)
	}
	return outcome, nil
}

func (g *Gateway) capture(ctx context.Context, account, key string) (payments.Outcome, error) {
	if err := validatePlace(account, key); err != nil {
		return payments.Outcome{}, rejected("%w", err)
	}
	found, err := g.find(ctx, account, key)
	if err != nil {
		return payments.Outcome{}, err
	}
	intent := found.intent
	if found.session != nil {
		intent = found.session.PaymentIntent
	}
	switch {
	case found.session == nil && intent == nil:
		// It may only not be found yet, so this is no reason to give a reservation up.
		return payments.Outcome{}, errors.New("no reservation with this key is found, so far")
	case intent == nil:
		return payments.Outcome{}, rejected("the page has taken no reservation")
	}
	if intent.Status == stripego.PaymentIntentStatusRequiresCapture {
		captured, err := g.client.V1PaymentIntents.Capture(ctx, intent.ID, &stripego.PaymentIntentCaptureParams{Params: g.params(account), Expand: expandCharge()})
		if err == nil {
			return readIntent(captured, account, key)
		}
		if err = safe(err); !isWrongState(err) {
			return payments.Outcome{}, err
		}
		// Somebody else was first, or the reservation has ended.
		if intent, err = g.intent(ctx, account, intent.ID); err != nil {
			return payments.Outcome{}, err
		}
	}
	outcome, err := readIntent(intent, account, key)
	if err == nil && outcome.State == payments.OutcomeStatePending && intent.Status != stripego.PaymentIntentStatusProcessing {
		return payments.Outcome{}, rejected("nothing is reserved under this key")
	}
	return outcome, err
}

// Cancel implements payments.Gateway: it cancels the PaymentIntent, or expires the page.
func (g *Gateway) Cancel(ctx context.Context, account, key string) (payments.Outcome, error) {
	ctx, cancel := g.bound(ctx)
	defer cancel()
	outcome, err := g.cancel(ctx, account, key)
	if err != nil {
		return payments.Outcome{}, fmt.Errorf("cancel %.64q: %w", key, err)
	}
	return outcome, nil
}

func (g *Gateway) cancel(ctx context.Context, account, key string) (payments.Outcome, error) {
	if err := validatePlace(account, key); err != nil {
		return payments.Outcome{}, rejected("%w", err)
	}
	found, err := g.find(ctx, account, key)
	switch {
	case err != nil:
		return payments.Outcome{}, err
	case found.session != nil:
		return g.closePage(ctx, account, key, found.session)
	case found.intent == nil:
		return payments.Outcome{State: payments.OutcomeStateNotFound, Account: account}, nil
	}
	outcome, err := readIntent(found.intent, account, key)
	if err != nil || outcome.State.Final() {
		return outcome, err
	}
	ended, err := g.end(ctx, account, found.intent)
	if err != nil {
		return payments.Outcome{}, err
	}
	return readIntent(ended, account, key)
}
