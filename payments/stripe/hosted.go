package stripe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	stripego "github.com/stripe/stripe-go/v84"

	"github.com/holdfast/holdfast/payments"
)

// Stripe lets a Checkout Session live 30 minutes to 24 hours from its creation
// (https://docs.stripe.com/api/checkout/sessions/create).
const (
	shortestPage = 30 * time.Minute
	longestPage  = 24 * time.Hour
	// pageSlack is for the time that a request takes, and for clocks that differ.
	pageSlack = time.Minute
)

// itemName is on the page when the request has no description.
const itemName = "Booking"

// openPage creates a Checkout Session, or is told of the one that exists under the key.
func (g *Gateway) openPage(ctx context.Context, request payments.ChargeRequest) (payments.Outcome, error) {
	params, err := g.sessionParams(request)
	if err != nil {
		return payments.Outcome{}, rejected("%w", err)
	}
	session, err := g.client.V1CheckoutSessions.Create(ctx, params)
	if err != nil {
		return payments.Outcome{}, judge(err)
	}
	if err := checkSession(session, request.Key); err != nil {
		return payments.Outcome{}, err
	}
	g.ids.Add(place{request.Account, request.Key}, session.ID)
	if isReplayed(session.LastResponse) {
		if session, err = g.session(ctx, request.Account, session.ID); err != nil {
			return payments.Outcome{}, err
		}
	}
	return readSession(session, request.Account, request.Key)
}

func (g *Gateway) sessionParams(request payments.ChargeRequest) (*stripego.CheckoutSessionCreateParams, error) {
	if request.MethodToken != "" {
		return nil, errors.New("a page of Stripe's asks for the payment method itself")
	}
	if err := validateURL(request.Hosted.ReturnURL); err != nil {
		return nil, fmt.Errorf("the return address: %w", err)
	}
	expiresAt, err := pageEnd(request.Hosted.ExpiresAt, g.config.Now())
	if err != nil {
		return nil, err
	}
	minor, currency, err := toStripe(request.Amount)
	if err != nil {
		return nil, err
	}
	capture, err := captureMethod(request.Capture)
	if err != nil {
		return nil, err
	}
	name := request.Description
	if name == "" {
		name = itemName
	}
	onIntent := toMetadata(request.Key, request.Reference)
	onIntent[metadataHosted] = "true"
	mode := string(stripego.CheckoutSessionModePayment)
	return &stripego.CheckoutSessionCreateParams{
		Params:            g.keyed(request.Account, request.Key),
		Mode:              &mode,
		ClientReferenceID: clientReference(request.Key),
		LineItems: []*stripego.CheckoutSessionCreateLineItemParams{{
			Quantity: stripego.Int64(1),
			PriceData: &stripego.CheckoutSessionCreateLineItemPriceDataParams{
				Currency: &currency, UnitAmount: &minor,
				ProductData: &stripego.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: &name},
			},
		}},
		PaymentIntentData: &stripego.CheckoutSessionCreatePaymentIntentDataParams{
			CaptureMethod: &capture, Metadata: onIntent, Description: &name,
		},
		Metadata:   toMetadata(request.Key, request.Reference),
		SuccessURL: &request.Hosted.ReturnURL,
		CancelURL:  &request.Hosted.ReturnURL,
		ExpiresAt:  stripego.Int64(expiresAt.Unix()),
		// The buyer pays the price that was held, in its currency.
		AdaptivePricing: &stripego.CheckoutSessionCreateAdaptivePricingParams{Enabled: stripego.Bool(false)},
		Expand:          expandIntent(),
	}, nil
}

// clientReference shows the key in Stripe's dashboard, where it fits.
func clientReference(key string) *string {
	const longest = 200
	if len(key) > longest {
		return nil
	}
	return &key
}

// pageEnd is when Stripe ends the page by itself: at the end of the payment window if Stripe allows
// so short a life, else half an hour after it, and Cancel ends it in time. It depends on the window
// and not on the clock, so that a repeated request is the same request.
func pageEnd(window, now time.Time) (time.Time, error) {
	left := window.Sub(now)
	switch {
	case left <= 0:
		return time.Time{}, errors.New("the time to pay has ended")
	case left > longestPage-pageSlack:
		return time.Time{}, fmt.Errorf("a page of Stripe's lives at most %s", longestPage)
	case left >= shortestPage+pageSlack:
		return window, nil
	}
	return window.Add(shortestPage + pageSlack), nil
}

// expandIntent asks for the PaymentIntent and the charge within a Checkout Session.
func expandIntent() []*string {
	return []*string{stripego.String("payment_intent"), stripego.String("payment_intent.latest_charge")}
}

// session reads a Checkout Session as it is now.
func (g *Gateway) session(ctx context.Context, account, id string) (*stripego.CheckoutSession, error) {
	session, err := g.client.V1CheckoutSessions.Retrieve(ctx, id, &stripego.CheckoutSessionRetrieveParams{Params: g.params(account), Expand: expandIntent()})
	if err != nil {
		return nil, safe(err)
	}
	return session, nil
}

func checkSession(session *stripego.CheckoutSession, key string) error {
	switch {
	case session == nil || !strings.HasPrefix(word(session.ID), sessionPrefix):
		return errUnreadable
	case session.Metadata[metadataKey] != key:
		return fmt.Errorf("the Checkout Session %s is about another key", word(session.ID))
	}
	return nil
}

// readSession makes an outcome of a Checkout Session, expanded with its PaymentIntent. Stripe makes
// that only when the buyer pays, and lets nobody but the page confirm it.
func readSession(session *stripego.CheckoutSession, account, key string) (payments.Outcome, error) {
	if err := checkSession(session, key); err != nil {
		return payments.Outcome{}, err
	}
	outcome := payments.Outcome{Account: account, State: payments.OutcomeStatePending}
	if session.PaymentIntent != nil {
		var err error
		if outcome, err = readIntent(session.PaymentIntent, account, key); err != nil {
			return payments.Outcome{}, err
		}
		if outcome.State != payments.OutcomeStatePending {
			return outcome, nil
		}
	}
	waiting := session.PaymentIntent != nil && session.PaymentIntent.Status != stripego.PaymentIntentStatusRequiresPaymentMethod
	switch session.Status {
	case stripego.CheckoutSessionStatusOpen:
		outcome.RedirectURL = session.URL
		return outcome, nil
	case stripego.CheckoutSessionStatusComplete:
		if waiting {
			return outcome, nil
		}
		if session.PaymentIntent == nil {
			return payments.Outcome{}, errUnreadable
		}
		// A payment method that answers later has refused, and the page cannot be used again.
		outcome.State, outcome.DeclineCode = payments.OutcomeStateDeclined, declineCode(session.PaymentIntent)
		return outcome, nil
	case stripego.CheckoutSessionStatusExpired:
		if waiting {
			return outcome, nil
		}
		outcome.State, outcome.DeclineCode = payments.OutcomeStateDeclined, string(session.Status)
		return outcome, nil
	}
	return payments.Outcome{}, fmt.Errorf("the Checkout Session %s has the unknown status %q", word(session.ID), word(string(session.Status)))
}

// closePage expires an open page, or lets go what a completed one has reserved.
func (g *Gateway) closePage(ctx context.Context, account, key string, session *stripego.CheckoutSession) (payments.Outcome, error) {
	if session.Status == stripego.CheckoutSessionStatusOpen {
		expired, err := g.client.V1CheckoutSessions.Expire(ctx, session.ID, &stripego.CheckoutSessionExpireParams{Params: g.params(account), Expand: expandIntent()})
		switch err = safe(err); {
		case err == nil:
			session = expired
		case !isWrongState(err):
			return payments.Outcome{}, err
		default:
			// The buyer, or the page's own end, was first.
			if session, err = g.session(ctx, account, session.ID); err != nil {
				return payments.Outcome{}, err
			}
		}
	}
	outcome, err := readSession(session, account, key)
	if err != nil || outcome.State != payments.OutcomeStateAuthorized {
		return outcome, err
	}
	ended, err := g.end(ctx, account, session.PaymentIntent)
	if err != nil {
		return payments.Outcome{}, err
	}
	return readIntent(ended, account, key)
}
