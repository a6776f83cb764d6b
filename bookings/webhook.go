package bookings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/payments"
)

// unroutedRegion keeps events that name no attempt of ours.
const unroutedRegion ids.Region = "xx"

// HandleWebhook takes one message of a payment provider. Its signature is checked on the raw body;
// the event is recorded and applied in one transaction, so that a crash between the two cannot lose
// it; a duplicate changes nothing. A nil error tells the provider to stop sending.
func (s *Service) HandleWebhook(ctx context.Context, provider string, header map[string][]string, body []byte) error {
	gateway, ok := s.gateways[provider]
	if !ok {
		s.webhooks.unknown()
		return fault.NotFound("payment provider")
	}
	event, err := gateway.ParseWebhook(header, body)
	if err != nil {
		s.webhooks.refused(provider, err)
	}
	switch {
	case errors.Is(err, payments.ErrBadSignature), errors.Is(err, payments.ErrStaleSignature):
		return fault.Unauthenticated("the message's signature is not valid")
	case err != nil:
		return fault.Invalid("body", "expected an event of provider %s", provider)
	}
	if !storable(event) {
		s.webhooks.refused(provider, payments.ErrBadEvent)
		return fault.Invalid("body", "expected an event of provider %s whose texts are readable", provider)
	}
	result, err := db.Replayable(ctx, s.db, "bookings.HandleWebhook", func(ctx context.Context, tx pgx.Tx) (payments.EventResult, error) {
		return s.webhookTx(ctx, tx, provider, event)
	})
	s.webhooks.taken(provider, event, result, err)
	if err != nil {
		return err
	}
	if result == payments.EventMismatch || result == payments.EventUnmatched {
		s.config.Logger.ErrorContext(ctx, "a provider's event does not fit a payment; a person has to look", "provider", provider, "event", event.ID, "result", string(result))
	}
	return nil
}

func (s *Service) webhookTx(ctx context.Context, tx pgx.Tx, provider string, event payments.Event) (payments.EventResult, error) {
	at := payments.EventPlace{Tenant: event.Reference.TenantID.UUID, Region: unroutedRegion}
	attemptID, parseErr := ids.Parse[payments.AttemptKind](event.Reference.AttemptID)
	if parseErr == nil {
		at.Region, at.Attempt = attemptID.Region, attemptID.UUID
	} else {
		at.Tenant = uuid.Nil
	}
	fresh, err := payments.RecordEventTx(ctx, tx, at, event, payments.EventIgnored)
	if err != nil || !fresh {
		return payments.EventAlreadyKnown, err
	}
	result := payments.EventUnmatched
	switch {
	case event.Type == payments.EventTypeOther:
		result = payments.EventIgnored
	case parseErr == nil:
		result, err = s.applyEventTx(ctx, tx, provider, event, payments.Located[payments.AttemptID]{Tenant: event.Reference.TenantID, ID: attemptID})
	}
	switch {
	case fault.KindOf(err) == fault.KindNotFound:
		result = payments.EventUnmatched
	case errors.Is(err, errMismatch):
		result = payments.EventMismatch
	case err != nil:
		return "", err
	}
	return result, payments.SetEventResultTx(ctx, tx, at, event, result)
}

// applyEventTx says what an event changes. Its evidence is compared with the stored attempt: one
// provider's word about another's payment is worth nothing.
func (s *Service) applyEventTx(ctx context.Context, tx pgx.Tx, provider string, event payments.Event, at payments.Located[payments.AttemptID]) (payments.EventResult, error) {
	attempt, err := payments.Get(ctx, tx, at.Tenant, at.ID)
	if err != nil {
		return "", err
	}
	if attempt.Provider != provider {
		return "", errMismatch
	}
	switch event.Type {
	case payments.EventTypeChargeSucceeded, payments.EventTypeChargeDeclined:
		if event.Key != at.ID.String() {
			return payments.EventUnmatched, nil
		}
		outcome := payments.Outcome{
			State: payments.OutcomeStateApproved, ChargeID: event.ChargeID, Captured: event.Amount, Account: event.Account,
			InstrumentFingerprint: event.InstrumentFingerprint,
		}
		if event.Type == payments.EventTypeChargeDeclined {
			outcome = payments.Outcome{State: payments.OutcomeStateDeclined, DeclineCode: event.DeclineCode, Account: event.Account}
		}
		return s.applyTx(ctx, tx, at, outcome, DriverWebhook)
	case payments.EventTypeRefundSucceeded, payments.EventTypeRefundFailed:
		refundID, err := ids.Parse[payments.RefundKind](event.Key)
		if err != nil {
			return payments.EventUnmatched, nil //nolint:nilerr // not one of ours: kept as such
		}
		refund, err := payments.GetRefund(ctx, tx, at.Tenant, refundID)
		if err != nil {
			return "", err
		}
		if refund.Attempt != at.ID {
			return payments.EventUnmatched, nil
		}
		outcome := payments.RefundOutcome{State: payments.RefundStateSucceeded, RefundID: event.RefundID, Amount: event.Amount, Account: event.Account}
		if event.Type == payments.EventTypeRefundFailed {
			outcome.State, outcome.FailureCode = payments.RefundStateFailed, event.DeclineCode
		}
		return s.settleRefundTx(ctx, tx, payments.Located[payments.RefundID]{Tenant: at.Tenant, ID: refundID}, outcome, DriverWebhook)
	case payments.EventTypeOther:
	}
	return "", fmt.Errorf("provider event of unknown type %q", event.Type)
}

// storable reports whether the texts of an event can be kept: no database takes a NUL.
func storable(event payments.Event) bool {
	for _, text := range []string{event.ID, event.Account, event.Key, event.ChargeID, event.RefundID, event.DeclineCode, event.InstrumentFingerprint} {
		if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return false
		}
	}
	return true
}
