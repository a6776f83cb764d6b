package sandbox

import (
	"errors"
	"fmt"

	"github.com/holdfast/holdfast/payments"
)

// ParseWebhook implements payments.Gateway.
func (g *Gateway) ParseWebhook(header map[string][]string, body []byte) (payments.Event, error) {
	if len(body) > maxBodyBytes {
		return payments.Event{}, fmt.Errorf("%w: it has %d bytes, more than %d", payments.ErrBadEvent, len(body), maxBodyBytes)
	}
	signatures := header[SignatureHeader]
	if len(signatures) != 1 {
		return payments.Event{}, fmt.Errorf("%w: expected one header %s, got %d", payments.ErrBadSignature, SignatureHeader, len(signatures))
	}
	if err := verify(g.config.WebhookSecrets, signatures[0], body, g.config.Now()); err != nil {
		return payments.Event{}, err
	}
	var message wireEvent
	if err := decodeTolerantly(body, &message); err != nil {
		return payments.Event{}, fmt.Errorf("%w: %w", payments.ErrBadEvent, err)
	}
	event, err := readEvent(message)
	if err != nil {
		return payments.Event{}, fmt.Errorf("%w: event %.64q of type %.64q: %w", payments.ErrBadEvent, message.ID, message.Type, err)
	}
	return event, nil
}

func readEvent(message wireEvent) (payments.Event, error) {
	if message.ID == "" || message.Type == "" {
		return payments.Event{}, errors.New("it has no id or no type")
	}
	event := payments.Event{Provider: Name, ID: message.ID, Type: payments.EventType(message.Type), OccurredAt: message.CreatedAt}
	switch event.Type {
	case payments.EventTypeChargeSucceeded:
		return readChargeEvent(event, message.Charge, payments.OutcomeStateApproved)
	case payments.EventTypeChargeDeclined:
		return readChargeEvent(event, message.Charge, payments.OutcomeStateDeclined)
	case payments.EventTypeChargeAuthorized:
		return readChargeEvent(event, message.Charge, payments.OutcomeStateAuthorized)
	case payments.EventTypeDisputeOpened, payments.EventTypeDisputeWon, payments.EventTypeDisputeLost:
		return readDisputeEvent(event, message.Dispute)
	case payments.EventTypeRefundSucceeded:
		return readRefundEvent(event, message.Refund, payments.RefundStateSucceeded)
	case payments.EventTypeRefundFailed:
		return readRefundEvent(event, message.Refund, payments.RefundStateFailed)
	case payments.EventTypeOther:
	}
	event.Type = payments.EventTypeOther
	return event, nil
}

// readChargeEvent fills in what an event says of its charge, whose status must agree with the type.
func readChargeEvent(event payments.Event, told *wireCharge, state payments.OutcomeState) (payments.Event, error) {
	if told == nil || told.Key == "" {
		return payments.Event{}, errors.New("it has no charge, or one without a key")
	}
	outcome, err := readOutcome(*told, told.Key)
	if err != nil {
		return payments.Event{}, err
	}
	if outcome.State != state {
		return payments.Event{}, fmt.Errorf("its charge is %s", outcome.State)
	}
	event.Amount = outcome.Captured
	if state != payments.OutcomeStateApproved {
		if event.Amount, err = readAmount(told.AmountMinor, told.Currency); err != nil {
			return payments.Event{}, err
		}
	}
	event.Account, event.Reference, event.Key = outcome.Account, fromWire(told.Reference), told.Key
	event.ChargeID, event.DeclineCode, event.InstrumentFingerprint = outcome.ChargeID, outcome.DeclineCode, outcome.InstrumentFingerprint
	return event, nil
}

// readRefundEvent fills in what an event says of its refund, whose status must agree with the type.
func readRefundEvent(event payments.Event, told *wireRefund, state payments.RefundState) (payments.Event, error) {
	if told == nil || told.Key == "" {
		return payments.Event{}, errors.New("it has no refund, or one without a key")
	}
	outcome, err := readRefundOutcome(*told, told.Key)
	if err != nil {
		return payments.Event{}, err
	}
	if outcome.State != state {
		return payments.Event{}, fmt.Errorf("its refund is %s", outcome.State)
	}
	event.Account, event.Reference, event.Key = outcome.Account, fromWire(told.Reference), told.Key
	event.ChargeID, event.RefundID, event.Amount, event.DeclineCode = outcome.ChargeID, outcome.RefundID, outcome.Amount, outcome.FailureCode
	return event, nil
}

// readDisputeEvent fills in what an event says of its dispute, whose status must agree with the type.
func readDisputeEvent(event payments.Event, told *wireDispute) (payments.Event, error) {
	if told == nil || told.ID == "" || "dispute."+told.Status != string(event.Type) {
		return payments.Event{}, errors.New("it has no dispute, or one of another status")
	}
	amount, err := readAmount(told.AmountMinor, told.Currency)
	if err != nil {
		return payments.Event{}, err
	}
	event.Account, event.Reference, event.Key = told.Account, fromWire(told.Reference), told.Key
	event.ChargeID, event.DisputeID, event.Amount = told.Charge, told.ID, amount
	return event, nil
}
