package bookings

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// maxNoteLength bounds a reviewer's note, in characters.
const maxNoteLength = 1000

// EventsForReview lists the provider's messages of one region that did not fit a payment, or matched
// none for a week, and that nobody has resolved, oldest first: at most limit after the cursor, and
// whether more follow. A tenant sees its own; the platform operator, who has no tenant, those that
// belong to nobody, in region payments.UnroutedRegion.
func (s *Service) EventsForReview(ctx context.Context, actor tenants.Actor, region ids.Region, after *payments.EventCursor, limit int) ([]payments.RecordedEvent, bool, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionPaymentReview, actor.Tenant); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > inventory.MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	var from payments.EventCursor
	if after != nil {
		from = *after
	}
	events, err := payments.EventsToReview(ctx, s.db.Pool(), actor.Tenant, region, from, limit+1)
	if err != nil {
		return nil, false, db.Classify(err)
	}
	more := len(events) > limit
	return events[:min(len(events), limit)], more, nil
}

// Resolution is a person's word on a provider's message.
type Resolution struct {
	RequestKey string
	// Region, Provider and Event name the message; they are RecordedEvent's.
	Region   ids.Region
	Provider string
	Event    string
	// Note says what was found and done, up to 1,000 characters.
	Note string
}

func (r Resolution) validate() error {
	if err := request.ValidateKey(r.RequestKey); err != nil {
		return err
	}
	n := utf8.RuneCountInString(r.Note)
	if n < 1 || n > maxNoteLength || !utf8.ValidString(r.Note) || strings.ContainsFunc(r.Note, func(c rune) bool { return unicode.IsControl(c) && c != '\n' }) {
		return fault.Invalid("note", "expected 1 to %d characters", maxNoteLength)
	}
	for _, text := range []string{r.Provider, r.Event} {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fault.NotFound("provider event")
		}
	}
	return nil
}

// ResolveEvent takes a message from the review queue with a person's note. It changes no payment: what
// is to be done is done by the commands that exist for it. What is resolved stays as it was said.
func (s *Service) ResolveEvent(ctx context.Context, actor tenants.Actor, input Resolution) (payments.RecordedEvent, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionPaymentReview, actor.Tenant); err != nil {
		return payments.RecordedEvent{}, err
	}
	if err := input.validate(); err != nil {
		return payments.RecordedEvent{}, err
	}
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return payments.RecordedEvent{}, err
	}
	key := payments.EventKey{Tenant: actor.Tenant.UUID, Region: input.Region, Provider: input.Provider, Event: input.Event}
	resolved, err := db.Replayable(ctx, s.db, "bookings.ResolveEvent", func(ctx context.Context, tx pgx.Tx) (payments.RecordedEvent, error) {
		_, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: input.Region, Key: input.RequestKey, Scope: "resolveEvent/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, uuid.Nil)
		if err != nil {
			return payments.RecordedEvent{}, err
		}
		event, err := payments.LockEvent(ctx, tx, key)
		if err != nil || replayed {
			return event, err
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return payments.RecordedEvent{}, err
		}
		done, err := payments.ReviewEventTx(ctx, tx, key, actor.Key.UUID, input.Note, now)
		if err != nil {
			return payments.RecordedEvent{}, err
		}
		if !done {
			return payments.RecordedEvent{}, fault.Conflict("the event needs no review: it is %s", reviewState(event))
		}
		item := ReviewItem{Region: input.Region, Subject: ReviewEventMismatch.subject(), ID: input.Provider + " " + input.Event}
		if err := item.auditTx(ctx, tx, actor, input.Note); err != nil {
			return payments.RecordedEvent{}, err
		}
		return payments.LockEvent(ctx, tx, key)
	})
	switch {
	case errors.Is(err, request.ErrKeyReused):
		return payments.RecordedEvent{}, inventory.Refuse(inventory.RefusalRequestKeyReused, err.Error())
	case errors.Is(err, db.ErrContention):
		return payments.RecordedEvent{}, inventory.Busy()
	}
	return resolved, err
}

func reviewState(event payments.RecordedEvent) string {
	if event.ReviewedAt != nil {
		return "resolved"
	}
	return string(event.Result)
}

// keepAnswer puts a provider's answer about a charge that does not fit into the review queue, once for
// each attempt.
func (s *Service) keepAnswer(ctx context.Context, at payments.Located[payments.AttemptID], outcome payments.Outcome) error {
	event := payments.Event{
		ID: "answer:" + at.ID.String(), Type: payments.EventTypeChargeSucceeded, Account: outcome.Account, Key: at.ID.String(),
		ChargeID: outcome.ChargeID, Amount: outcome.Captured, DeclineCode: outcome.DeclineCode, InstrumentFingerprint: outcome.InstrumentFingerprint,
	}
	if outcome.State == payments.OutcomeStateDeclined {
		event.Type = payments.EventTypeChargeDeclined
	}
	if outcome.State == payments.OutcomeStateAuthorized {
		event.Type = payments.EventTypeChargeAuthorized
	}
	return s.keepMisfit(ctx, at, event)
}

// keepRefundAnswer is keepAnswer for a refund.
func (s *Service) keepRefundAnswer(ctx context.Context, work submittedRefund, outcome payments.RefundOutcome) error {
	event := payments.Event{
		ID: "answer:" + work.refund.ID.String(), Type: payments.EventTypeRefundSucceeded, Account: outcome.Account, Key: work.refund.ID.String(),
		ChargeID: outcome.ChargeID, RefundID: outcome.RefundID, Amount: outcome.Amount, DeclineCode: outcome.FailureCode,
	}
	if outcome.State == payments.RefundStateFailed {
		event.Type = payments.EventTypeRefundFailed
	}
	return s.keepMisfit(ctx, payments.Located[payments.AttemptID]{Tenant: work.attempt.Tenant, ID: work.attempt.ID}, event)
}

func (s *Service) keepMisfit(ctx context.Context, at payments.Located[payments.AttemptID], event payments.Event) error {
	if !storable(event) {
		return nil // It was logged.
	}
	_, err := db.Replayable(ctx, s.db, "bookings.KeepAnswer", func(ctx context.Context, tx pgx.Tx) (bool, error) {
		attempt, err := payments.Get(ctx, tx, at.Tenant, at.ID)
		if err != nil {
			return false, err
		}
		event.Provider = attempt.Provider
		return payments.RecordEventTx(ctx, tx, payments.EventPlace{Tenant: at.Tenant.UUID, Region: at.ID.Region, Attempt: at.ID.UUID}, event, payments.EventMismatch)
	})
	return err
}
