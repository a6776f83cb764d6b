package payments

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// EventResult is what became of a provider's event.
type EventResult string

// The results of an event.
const (
	// EventApplied: it changed an attempt, refund or dispute.
	EventApplied EventResult = "APPLIED"
	// EventAlreadyKnown: it said what was known.
	EventAlreadyKnown EventResult = "ALREADY_KNOWN"
	// EventUnmatched: no attempt has this id, so far. It is kept and tried again for a while; then a
	// person has to look.
	EventUnmatched EventResult = "UNMATCHED"
	// EventMismatch: account, amount or currency differ from the attempt's; nothing was changed, and a
	// person has to look.
	EventMismatch EventResult = "MISMATCH"
	// EventIgnored: it is about something that Holdfast does not act on.
	EventIgnored EventResult = "IGNORED"
)

// UnroutedRegion keeps events that name no attempt of ours, under the zero tenant.
const UnroutedRegion = ids.RegionOfNobody

// Bounds of the tries of an event that matches no attempt: after one minute, two, four … up to six
// hours, for a week.
const (
	firstRetry   = time.Minute
	longestRetry = 6 * time.Hour
	retriedFor   = 7 * 24 * time.Hour
)

// retryAfter is when an event that arrived long ago and was tried so often is tried again, or nil.
func retryAfter(receivedAt time.Time, tries int64, now time.Time) *time.Time {
	wait := longestRetry
	if tries < 9 {
		wait = min(longestRetry, firstRetry<<tries)
	}
	next := now.Add(wait)
	if next.Sub(receivedAt) > retriedFor {
		return nil
	}
	return &next
}

// EventPlace is the row of an event: its attempt's tenant and region, as far as they are known.
type EventPlace struct {
	Tenant  uuid.UUID
	Region  ids.Region
	Attempt uuid.UUID
}

// EventKey names a recorded event.
type EventKey struct {
	Tenant   uuid.UUID
	Region   ids.Region
	Provider string
	Event    string
}

// RecordedEvent is an event as it was kept.
type RecordedEvent struct {
	Event
	Place  EventPlace
	Result EventResult
	// Tries counts how often it was applied.
	Tries      int64
	ReceivedAt time.Time
	// ReviewedAt, ReviewedBy (a key) and ReviewNote are a person's word on it.
	ReviewedAt *time.Time
	ReviewedBy *uuid.UUID
	ReviewNote string
}

// Row names the event's row.
func (e RecordedEvent) Row() EventKey {
	return EventKey{Tenant: e.Place.Tenant, Region: e.Place.Region, Provider: e.Provider, Event: e.ID}
}

// EventCursor is where a page of events ended; pages run from the oldest.
type EventCursor struct {
	ReceivedAt time.Time
	Provider   string
	Event      string
}

// RecordEventTx stores an event in the transaction that applies it, and reports false when it was
// recorded before: providers deliver at least once.
func RecordEventTx(ctx context.Context, tx pgx.Tx, at EventPlace, event Event, result EventResult) (fresh bool, err error) {
	n, err := dbsqlc.New(tx).ProviderEventInsert(ctx, dbsqlc.ProviderEventInsertParams{
		TenantID: at.Tenant, Region: string(at.Region), Provider: event.Provider, EventID: event.ID, Type: string(event.Type),
		Account: event.Account, AttemptID: at.Attempt, AmountMinor: event.Amount.Minor, Currency: string(event.Amount.Currency),
		Result: string(result), EventKey: event.Key, ChargeID: event.ChargeID, RefundID: event.RefundID, DisputeID: event.DisputeID,
		DeclineCode: event.DeclineCode, Fingerprint: event.InstrumentFingerprint,
	})
	if err != nil {
		return false, fmt.Errorf("record a provider event: %w", err)
	}
	return n == 1, nil
}

// SetEventResultTx says what became of a recorded event. One that matched nothing is tried again.
func SetEventResultTx(ctx context.Context, tx pgx.Tx, at EventPlace, event Event, result EventResult, now time.Time) error {
	return setResult(ctx, tx, EventKey{Tenant: at.Tenant, Region: at.Region, Provider: event.Provider, Event: event.ID}, result, retryAfter(now, 0, now))
}

// SetRetryResultTx is SetEventResultTx for one more try of a locked event.
func SetRetryResultTx(ctx context.Context, tx pgx.Tx, event RecordedEvent, result EventResult, now time.Time) error {
	return setResult(ctx, tx, event.Row(), result, retryAfter(event.ReceivedAt, event.Tries, now))
}

func setResult(ctx context.Context, tx pgx.Tx, key EventKey, result EventResult, retryAt *time.Time) error {
	if result != EventUnmatched {
		retryAt = nil
	}
	_, err := dbsqlc.New(tx).ProviderEventResultSet(ctx, dbsqlc.ProviderEventResultSetParams{
		TenantID: key.Tenant, Region: string(key.Region), Provider: key.Provider, EventID: key.Event, Result: string(result), RetryAt: retryAt,
	})
	if err != nil {
		return fmt.Errorf("record what became of a provider event: %w", err)
	}
	return nil
}

// LockEvent reads a recorded event and locks its row until the transaction ends.
func LockEvent(ctx context.Context, tx pgx.Tx, key EventKey) (RecordedEvent, error) {
	row, err := dbsqlc.New(tx).ProviderEventLock(ctx, dbsqlc.ProviderEventLockParams{
		TenantID: key.Tenant, Region: string(key.Region), Provider: key.Provider, EventID: key.Event,
	})
	if db.IsNoRows(err) {
		return RecordedEvent{}, fault.NotFound("provider event")
	}
	if err != nil {
		return RecordedEvent{}, fmt.Errorf("lock a provider event: %w", err)
	}
	return recordedOf(row), nil
}

// EventsToRetry lists events that matched nothing so far and are to be tried again, at most limit.
// What belongs to nobody yet is among them.
func EventsToRetry(ctx context.Context, q dbsqlc.DBTX, places []Place, now time.Time, limit int) ([]EventKey, error) {
	params := dbsqlc.ProviderEventsToRetryParams{
		Now: now, MaxEvents: int32(min(limit, maxDue)), //nolint:gosec // bounded here
		TenantIds: []uuid.UUID{uuid.Nil}, Regions: []string{string(UnroutedRegion)},
	}
	for _, p := range places {
		params.TenantIds = append(params.TenantIds, p.Tenant.UUID)
		params.Regions = append(params.Regions, string(p.Region))
	}
	rows, err := dbsqlc.New(q).ProviderEventsToRetry(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("list provider events to try again: %w", err)
	}
	keys := make([]EventKey, len(rows))
	for i, row := range rows {
		keys[i] = EventKey{Tenant: row.TenantID, Region: ids.Region(row.Region), Provider: row.Provider, Event: row.EventID}
	}
	return keys, nil
}

// EventsToReview lists events of one tenant and region that a person has to look at, oldest first,
// at most limit after the cursor. The zero tenant has those that belong to nobody.
func EventsToReview(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, region ids.Region, after EventCursor, limit int) ([]RecordedEvent, error) {
	rows, err := dbsqlc.New(q).ProviderEventsToReview(ctx, dbsqlc.ProviderEventsToReviewParams{
		TenantID: tenant.UUID, Region: string(region), After: after.ReceivedAt, AfterProvider: after.Provider, AfterEvent: after.Event,
		MaxEvents: int32(min(limit, maxDue)), //nolint:gosec // bounded here
	})
	if err != nil {
		return nil, fmt.Errorf("list provider events to review: %w", err)
	}
	events := make([]RecordedEvent, len(rows))
	for i, row := range rows {
		events[i] = recordedOf(dbsqlc.ProviderEventLockRow(row))
	}
	return events, nil
}

// ReviewEventTx keeps a person's word on a locked event, and reports false when there was one before
// or the event needs none.
func ReviewEventTx(ctx context.Context, tx pgx.Tx, key EventKey, by uuid.UUID, note string, now time.Time) (bool, error) {
	n, err := dbsqlc.New(tx).ProviderEventReview(ctx, dbsqlc.ProviderEventReviewParams{
		TenantID: key.Tenant, Region: string(key.Region), Provider: key.Provider, EventID: key.Event, Now: now, ReviewedBy: by, ReviewNote: note,
	})
	if err != nil {
		return false, fmt.Errorf("keep the review of a provider event: %w", err)
	}
	return n == 1, nil
}

func recordedOf(row dbsqlc.ProviderEventLockRow) RecordedEvent {
	event := RecordedEvent{
		Event: Event{
			Provider: row.Provider, ID: row.EventID, Type: EventType(row.Type), Account: row.Account, Key: row.EventKey,
			ChargeID: row.ChargeID, RefundID: row.RefundID, DisputeID: row.DisputeID, DeclineCode: row.DeclineCode,
			InstrumentFingerprint: row.Fingerprint, Amount: money.Amount{Minor: row.AmountMinor, Currency: money.Currency(row.Currency)},
		},
		Place:  EventPlace{Tenant: row.TenantID, Region: ids.Region(row.Region), Attempt: row.AttemptID},
		Result: EventResult(row.Result), Tries: row.Tries, ReceivedAt: row.ReceivedAt, ReviewedAt: row.ReviewedAt, ReviewedBy: row.ReviewedBy,
		ReviewNote: row.ReviewNote,
	}
	if row.AttemptID != uuid.Nil {
		event.Reference = Reference{
			TenantID: tenants.TenantID{UUID: row.TenantID}, AttemptID: AttemptID{Region: event.Place.Region, UUID: row.AttemptID}.String(),
		}
	}
	return event
}

// DeleteEventsTx deletes at most limit of the events of one place that came before an instant and
// have been dealt with. Those that are UNMATCHED or a MISMATCH are kept for a person to look at.
func DeleteEventsTx(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region ids.Region, before time.Time, limit int32) (int64, error) {
	n, err := dbsqlc.New(tx).ProviderEventsDelete(ctx, dbsqlc.ProviderEventsDeleteParams{
		TenantID: tenant, Region: string(region), ReceivedBefore: before, MaxRows: limit,
	})
	if err != nil {
		return 0, fmt.Errorf("delete old provider events: %w", err)
	}
	return n, nil
}
