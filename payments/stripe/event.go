package stripe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	stripego "github.com/stripe/stripe-go/v84"
	"github.com/stripe/stripe-go/v84/webhook"

	"github.com/holdfast/holdfast/payments"
)

// SignatureHeader carries the time and the signatures of a webhook.
const SignatureHeader = "Stripe-Signature"

const (
	// signatureTolerance is how far a webhook's time may be from ours, either way.
	signatureTolerance = webhook.DefaultTolerance
	// maxSignatureLength bounds the header, in bytes; a signature takes about 70.
	maxSignatureLength = 2048
	// maxEventBytes bounds a message.
	maxEventBytes = 256 << 10
)

// ParseWebhook implements payments.Gateway. Any version of Stripe's API may have written the message:
// what is needed of it is checked field by field instead.
func (g *Gateway) ParseWebhook(header map[string][]string, body []byte) (payments.Event, error) {
	if len(body) > maxEventBytes {
		return payments.Event{}, fmt.Errorf("%w: it has %d bytes, more than %d", payments.ErrBadEvent, len(body), maxEventBytes)
	}
	if err := g.verify(header[SignatureHeader], body); err != nil {
		return payments.Event{}, err
	}
	var message stripego.Event
	if err := json.Unmarshal(body, &message); err != nil {
		// The decoder's error quotes the message.
		return payments.Event{}, fmt.Errorf("%w: it is not in Stripe's form", payments.ErrBadEvent)
	}
	event, err := g.readEvent(&message)
	if err != nil {
		return payments.Event{}, fmt.Errorf("%w: event %s of type %s: %w", payments.ErrBadEvent, word(message.ID), word(string(message.Type)), err)
	}
	return event, nil
}

// verify accepts a body that is signed with one of the secrets at about this time. The signature is
// judged first, so that a stale message is known to be a real one.
func (g *Gateway) verify(signatures []string, body []byte) error {
	if len(signatures) != 1 || len(signatures[0]) > maxSignatureLength {
		return fmt.Errorf("%w: expected one header %s of at most %d bytes", payments.ErrBadSignature, SignatureHeader, maxSignatureLength)
	}
	signed, err := signedAt(signatures[0])
	if err != nil {
		return err
	}
	for _, secret := range g.config.WebhookSecrets {
		if webhook.ValidatePayloadIgnoringTolerance(body, signatures[0], secret) != nil {
			continue
		}
		if age := g.config.Now().Sub(signed); age > signatureTolerance || age < -signatureTolerance {
			return fmt.Errorf("%w: signed at %s, tolerated are %s", payments.ErrStaleSignature, signed.UTC().Format(time.RFC3339), signatureTolerance)
		}
		return nil
	}
	return payments.ErrBadSignature
}

// signedAt is the time of a signature, of which the header must have exactly one.
func signedAt(header string) (time.Time, error) {
	var at time.Time
	for part := range strings.SplitSeq(header, ",") {
		text, found := strings.CutPrefix(part, "t=")
		if !found {
			continue
		}
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !at.IsZero() {
			return time.Time{}, fmt.Errorf("%w: the header's time is not one number", payments.ErrBadSignature)
		}
		at = time.Unix(seconds, 0)
	}
	if at.IsZero() {
		return time.Time{}, fmt.Errorf("%w: the header has no time", payments.ErrBadSignature)
	}
	return at, nil
}

func (g *Gateway) readEvent(message *stripego.Event) (payments.Event, error) {
	switch {
	case message.Object != "event" || !strings.HasPrefix(message.ID, "evt_") || message.Type == "":
		return payments.Event{}, errors.New("it has no id or no type")
	case message.Livemode != g.config.LiveMode():
		return payments.Event{}, errors.New("it is of the other mode: test events do not belong to live payments, nor the other way round")
	case message.Data == nil || len(message.Data.Raw) == 0:
		return payments.Event{}, errors.New("it is about nothing")
	}
	event := payments.Event{
		Provider: Name, ID: message.ID, Type: payments.EventTypeOther, Account: g.config.PlatformAccount,
		OccurredAt: time.Unix(message.Created, 0).UTC(),
	}
	if message.Account != "" {
		event.Account = message.Account
	}
	kind := string(message.Type)
	switch {
	case strings.HasPrefix(kind, "payment_intent."):
		return readIntentEvent(event, message)
	case strings.HasPrefix(kind, "checkout.session."):
		return readSessionEvent(event, message)
	case strings.HasPrefix(kind, "refund."), kind == "charge.refund.updated":
		return readRefundEvent(event, message)
	case strings.HasPrefix(kind, "charge.dispute."):
		return readDisputeEvent(event, message)
	}
	return event, nil
}

// readIntentEvent says what an event about a PaymentIntent changes: by its type, with which its
// status must agree. payment_failed changes nothing, because the PaymentIntent can be paid still; it
// is final when it is cancelled, and that is an event of its own.
func readIntentEvent(event payments.Event, message *stripego.Event) (payments.Event, error) {
	var intent stripego.PaymentIntent
	if err := readObject(message, &intent); err != nil {
		return payments.Event{}, err
	}
	key := intent.Metadata[metadataKey]
	if key == "" {
		return event, nil // Not ours: the account is used for other things as well.
	}
	outcome, err := readIntent(&intent, event.Account, key)
	if err != nil {
		return payments.Event{}, err
	}
	event.Key, event.Reference = key, fromMetadata(intent.Metadata)
	event.ChargeID, event.InstrumentFingerprint = intent.ID, outcome.InstrumentFingerprint
	if event.Amount, err = amountOf(&intent); err != nil {
		return payments.Event{}, err
	}
	var want payments.OutcomeState
	switch string(message.Type) {
	case string(stripego.EventTypePaymentIntentSucceeded):
		event.Type, event.Amount, want = payments.EventTypeChargeSucceeded, outcome.Captured, payments.OutcomeStateApproved
	case string(stripego.EventTypePaymentIntentCanceled):
		event.Type, event.DeclineCode, want = payments.EventTypeChargeDeclined, outcome.DeclineCode, payments.OutcomeStateDeclined
	case string(stripego.EventTypePaymentIntentAmountCapturableUpdated):
		// It is sent for every change of the reservation, its end included.
		if outcome.State == payments.OutcomeStateAuthorized {
			event.Type = payments.EventTypeChargeAuthorized
			event.Amount, err = fromStripe(intent.AmountCapturable, string(intent.Currency))
		}
		return event, err
	default:
		return event, nil
	}
	if outcome.State != want {
		return payments.Event{}, fmt.Errorf("its PaymentIntent is %s", outcome.State)
	}
	return event, nil
}

// readSessionEvent reads an event about a page. What was paid there is told by the PaymentIntent's own
// events as well; whichever comes first changes something.
func readSessionEvent(event payments.Event, message *stripego.Event) (payments.Event, error) {
	var session stripego.CheckoutSession
	if err := readObject(message, &session); err != nil {
		return payments.Event{}, err
	}
	key := session.Metadata[metadataKey]
	if key == "" {
		return event, nil
	}
	if err := checkSession(&session, key); err != nil {
		return payments.Event{}, err
	}
	event.Key, event.Reference = key, fromMetadata(session.Metadata)
	if session.PaymentIntent != nil {
		event.ChargeID = session.PaymentIntent.ID
	}
	var err error
	if event.Amount, err = fromStripe(session.AmountTotal, string(session.Currency)); err != nil {
		return payments.Event{}, err
	}
	switch string(message.Type) {
	case string(stripego.EventTypeCheckoutSessionCompleted), string(stripego.EventTypeCheckoutSessionAsyncPaymentSucceeded):
		if session.Status != stripego.CheckoutSessionStatusComplete {
			return payments.Event{}, fmt.Errorf("its Checkout Session is %s", word(string(session.Status)))
		}
		// What is only reserved, or answers later, is unpaid.
		if session.PaymentStatus == stripego.CheckoutSessionPaymentStatusPaid && event.ChargeID != "" {
			event.Type = payments.EventTypeChargeSucceeded
		}
	case string(stripego.EventTypeCheckoutSessionAsyncPaymentFailed):
		// The page is complete and cannot be used again.
		event.Type, event.DeclineCode = payments.EventTypeChargeDeclined, declinedWithoutReason
	case string(stripego.EventTypeCheckoutSessionExpired):
		if session.Status != stripego.CheckoutSessionStatusExpired {
			return payments.Event{}, fmt.Errorf("its Checkout Session is %s", word(string(session.Status)))
		}
		// With a PaymentIntent somebody began to pay, and that one's end is the answer.
		if session.PaymentIntent == nil {
			event.Type, event.DeclineCode = payments.EventTypeChargeDeclined, string(session.Status)
		}
	}
	return event, nil
}

// readRefundEvent reads an event about a refund, by its status: refund.updated tells of every change.
func readRefundEvent(event payments.Event, message *stripego.Event) (payments.Event, error) {
	var refund stripego.Refund
	if err := readObject(message, &refund); err != nil {
		return payments.Event{}, err
	}
	key := refund.Metadata[metadataKey]
	if key == "" {
		return event, nil
	}
	outcome, err := readRefund(&refund, event.Account, key)
	if err != nil {
		return payments.Event{}, err
	}
	event.Key, event.Reference = key, fromMetadata(refund.Metadata)
	event.ChargeID, event.RefundID, event.Amount, event.DeclineCode = outcome.ChargeID, outcome.RefundID, outcome.Amount, outcome.FailureCode
	switch outcome.State {
	case payments.RefundStateSucceeded:
		event.Type = payments.EventTypeRefundSucceeded
	case payments.RefundStateFailed:
		event.Type = payments.EventTypeRefundFailed
	case payments.RefundStatePending, payments.RefundStateNotFound, payments.RefundStateUnknown:
	}
	return event, nil
}

// readDisputeEvent reads an event about a dispute. Stripe copies no metadata to disputes, so the
// charge's id and the account say which attempt it is about; Key and Reference are empty.
func readDisputeEvent(event payments.Event, message *stripego.Event) (payments.Event, error) {
	var dispute stripego.Dispute
	if err := readObject(message, &dispute); err != nil {
		return payments.Event{}, err
	}
	if dispute.PaymentIntent == nil {
		return event, nil // Not ours: it is about a charge that was made without a PaymentIntent.
	}
	if word(dispute.ID) == "" || !strings.HasPrefix(dispute.PaymentIntent.ID, intentPrefix) {
		return payments.Event{}, errors.New("its dispute has no id or no charge")
	}
	event.ChargeID, event.DisputeID = dispute.PaymentIntent.ID, dispute.ID
	var err error
	if event.Amount, err = fromStripe(dispute.Amount, string(dispute.Currency)); err != nil {
		return payments.Event{}, err
	}
	switch string(message.Type) {
	case string(stripego.EventTypeChargeDisputeCreated):
		event.Type = payments.EventTypeDisputeOpened
	case string(stripego.EventTypeChargeDisputeClosed):
		switch dispute.Status {
		case stripego.DisputeStatusWon, stripego.DisputeStatusWarningClosed:
			// An inquiry that is closed has taken no money.
			event.Type = payments.EventTypeDisputeWon
		case stripego.DisputeStatusLost:
			event.Type = payments.EventTypeDisputeLost
		case stripego.DisputeStatusPrevented, stripego.DisputeStatusNeedsResponse, stripego.DisputeStatusUnderReview,
			stripego.DisputeStatusWarningNeedsResponse, stripego.DisputeStatusWarningUnderReview:
		}
	}
	return event, nil
}

// readObject reads what the event is about.
func readObject(message *stripego.Event, into any) error {
	if err := json.Unmarshal(message.Data.Raw, into); err != nil {
		return errors.New("what it is about is not in Stripe's form")
	}
	return nil
}
