package bookings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
)

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
	// Kept under the name by which this installation knows its provider.
	event.Provider = provider
	if err := s.refer(ctx, s.db.Pool(), &event, nil); err != nil {
		return err
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
	if event.Type == payments.EventTypeChargeAuthorized && result == payments.EventAlreadyKnown {
		return s.letGo(ctx, gateway, event)
	}
	return nil
}

// refer fills in the reference of an event that names nothing but a charge, as events about disputes
// do with some providers, when the charge is ours. places may be nil.
func (s *Service) refer(ctx context.Context, q dbsqlc.DBTX, event *payments.Event, places []payments.Place) error {
	if event.Reference != (payments.Reference{}) || event.ChargeID == "" || event.Type == payments.EventTypeOther {
		return nil
	}
	if places == nil {
		var err error
		if places, err = s.places(ctx); err != nil {
			return db.Classify(err)
		}
	}
	found, err := payments.OfCharge(ctx, q, places, event.Provider, event.Account, event.ChargeID)
	if err != nil || found == nil {
		return db.Classify(err)
	}
	event.Reference = payments.Reference{TenantID: found.Tenant, AttemptID: found.ID.String()}
	return nil
}

// letGo cancels a reservation that came about after its attempt was declined: nobody will capture it.
// An error makes the provider send the event again.
func (s *Service) letGo(ctx context.Context, gateway payments.Gateway, event payments.Event) error {
	id, err := ids.Parse[payments.AttemptKind](event.Reference.AttemptID)
	if err != nil {
		return nil //nolint:nilerr // not one of ours: kept as such
	}
	attempt, err := payments.Get(ctx, s.db.Pool(), event.Reference.TenantID, id)
	if fault.KindOf(err) == fault.KindNotFound || err == nil && (attempt.State != payments.AttemptStateDeclined || attempt.Account != event.Account) {
		return nil
	}
	if err != nil {
		return db.Classify(err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	if _, err := gateway.Cancel(ctx, attempt.Account, attempt.ID.String()); err != nil {
		return fault.Unavailable(err, "the reservation could not be cancelled; send the event again")
	}
	return nil
}

// eventPlace is where an event is kept.
func eventPlace(event payments.Event) (at payments.EventPlace, attempt payments.Located[payments.AttemptID], ours bool) {
	id, err := ids.Parse[payments.AttemptKind](event.Reference.AttemptID)
	if err != nil {
		return payments.EventPlace{Region: payments.UnroutedRegion}, attempt, false
	}
	tenant := event.Reference.TenantID
	return payments.EventPlace{Tenant: tenant.UUID, Region: id.Region, Attempt: id.UUID}, payments.Located[payments.AttemptID]{Tenant: tenant, ID: id}, true
}

func (s *Service) webhookTx(ctx context.Context, tx pgx.Tx, provider string, event payments.Event) (payments.EventResult, error) {
	at, _, _ := eventPlace(event)
	fresh, err := payments.RecordEventTx(ctx, tx, at, event, payments.EventIgnored)
	if err != nil || !fresh {
		return payments.EventAlreadyKnown, err
	}
	result, err := s.judgeEventTx(ctx, tx, provider, event, DriverWebhook)
	if err != nil {
		return "", err
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return "", err
	}
	return result, payments.SetEventResultTx(ctx, tx, at, event, result, now)
}

// judgeEventTx applies a recorded event and says what became of it. What does not fit is a result, and
// no error.
func (s *Service) judgeEventTx(ctx context.Context, tx pgx.Tx, provider string, event payments.Event, by Driver) (payments.EventResult, error) {
	_, attempt, ours := eventPlace(event)
	switch {
	case event.Type == payments.EventTypeOther:
		return payments.EventIgnored, nil
	case !ours:
		return payments.EventUnmatched, nil
	}
	result, err := s.applyEventTx(ctx, tx, provider, event, attempt, by)
	switch {
	case fault.KindOf(err) == fault.KindNotFound:
		return payments.EventUnmatched, nil
	case errors.Is(err, errMismatch), errors.Is(err, payments.ErrDisputeContradicts):
		return payments.EventMismatch, nil
	}
	return result, err
}

// retryEvent applies an event that had matched nothing when it came, or says when to try again.
func (s *Service) retryEvent(ctx context.Context, key payments.EventKey, places []payments.Place) error {
	_, err := db.Replayable(ctx, s.db, "bookings.RetryEvent", func(ctx context.Context, tx pgx.Tx) (payments.EventResult, error) {
		event, err := payments.LockEvent(ctx, tx, key)
		if err != nil || event.Result != payments.EventUnmatched || event.ReviewedAt != nil {
			return event.Result, err
		}
		if err := s.refer(ctx, tx, &event.Event, places); err != nil {
			return "", err
		}
		result, err := s.judgeEventTx(ctx, tx, event.Provider, event.Event, DriverReconciler)
		if err != nil {
			return "", err
		}
		if err := s.matchedTx(ctx, tx, event.Event, result); err != nil {
			return "", err
		}
		if at, _, ours := eventPlace(event.Event); ours && event.Place.Attempt != at.Attempt {
			// It is kept where its payment is, too.
			if _, err := payments.RecordEventTx(ctx, tx, at, event.Event, result); err != nil {
				return "", err
			}
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return "", err
		}
		return result, payments.SetRetryResultTx(ctx, tx, event, result, now)
	})
	return err
}

// matchedTx counts that an event which had matched nothing has found its payment.
func (s *Service) matchedTx(ctx context.Context, tx pgx.Tx, event payments.Event, result payments.EventResult) error {
	_, at, ours := eventPlace(event)
	if !ours || result != payments.EventApplied && result != payments.EventAlreadyKnown {
		return nil
	}
	attempt, err := payments.Get(ctx, tx, at.Tenant, at.ID)
	if err != nil {
		return err
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return err
	}
	return repairTx(ctx, tx, RepairEventMatched, DriverReconciler, attempt, nil, now)
}

// applyEventTx says what an event changes. Its evidence is compared with the stored attempt: one
// provider's word about another's payment is worth nothing.
func (s *Service) applyEventTx(ctx context.Context, tx pgx.Tx, provider string, event payments.Event, at payments.Located[payments.AttemptID], by Driver) (payments.EventResult, error) {
	attempt, err := payments.Get(ctx, tx, at.Tenant, at.ID)
	if err != nil {
		return "", err
	}
	if attempt.Provider != provider {
		return "", errMismatch
	}
	switch event.Type {
	case payments.EventTypeChargeSucceeded, payments.EventTypeChargeDeclined, payments.EventTypeChargeAuthorized:
		if event.Key != at.ID.String() {
			return payments.EventUnmatched, nil
		}
		return s.applyChargeEventTx(ctx, tx, event, at, by)
	case payments.EventTypeDisputeOpened, payments.EventTypeDisputeWon, payments.EventTypeDisputeLost:
		return s.disputeTx(ctx, tx, event, at)
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
		return s.settleRefundTx(ctx, tx, payments.Located[payments.RefundID]{Tenant: at.Tenant, ID: refundID}, outcome, by)
	case payments.EventTypeOther:
	}
	return "", fmt.Errorf("provider event of unknown type %q", event.Type)
}

func (s *Service) applyChargeEventTx(ctx context.Context, tx pgx.Tx, event payments.Event, at payments.Located[payments.AttemptID], by Driver) (payments.EventResult, error) {
	outcome := payments.Outcome{
		State: payments.OutcomeStateApproved, ChargeID: event.ChargeID, Captured: event.Amount, Account: event.Account,
		InstrumentFingerprint: event.InstrumentFingerprint,
	}
	if event.Type == payments.EventTypeChargeDeclined {
		outcome = payments.Outcome{State: payments.OutcomeStateDeclined, DeclineCode: event.DeclineCode, Account: event.Account}
	}
	if event.Type == payments.EventTypeChargeAuthorized {
		outcome.State, outcome.Captured = payments.OutcomeStateAuthorized, money.Amount{}
	}
	result, err := s.applyTx(ctx, tx, at, outcome, by)
	if err != nil || event.Type != payments.EventTypeChargeAuthorized || result != payments.EventApplied {
		return result, err
	}
	// The driver that charged may be gone: somebody has to capture.
	return result, s.jobs.EnqueueTx(ctx, tx, ChargeJob{Attempt: at})
}

// storable reports whether the texts of an event can be kept: no database takes a NUL.
func storable(event payments.Event) bool {
	for _, text := range []string{event.ID, event.Account, event.Key, event.ChargeID, event.RefundID, event.DisputeID, event.DeclineCode, event.InstrumentFingerprint} {
		if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return false
		}
	}
	return true
}
