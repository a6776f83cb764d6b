package payments

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/payments/internal/dbsqlc"
)

// EventResult is what became of a provider's event.
type EventResult string

// The results of an event.
const (
	// EventApplied: it changed an attempt or refund.
	EventApplied EventResult = "APPLIED"
	// EventAlreadyKnown: it said what was known.
	EventAlreadyKnown EventResult = "ALREADY_KNOWN"
	// EventUnmatched: no attempt has this id; it is kept.
	EventUnmatched EventResult = "UNMATCHED"
	// EventMismatch: account, amount or currency differ from the attempt's; nothing was changed.
	EventMismatch EventResult = "MISMATCH"
	// EventIgnored: it is about something that Holdfast does not act on.
	EventIgnored EventResult = "IGNORED"
)

// EventPlace is the row of an event: its attempt's tenant and region, as far as they are known.
type EventPlace struct {
	Tenant  uuid.UUID
	Region  ids.Region
	Attempt uuid.UUID
}

// RecordEventTx stores an event in the transaction that applies it, and reports false when it was
// recorded before: providers deliver at least once.
func RecordEventTx(ctx context.Context, tx pgx.Tx, at EventPlace, event Event, result EventResult) (fresh bool, err error) {
	n, err := dbsqlc.New(tx).ProviderEventInsert(ctx, dbsqlc.ProviderEventInsertParams{
		TenantID: at.Tenant, Region: string(at.Region), Provider: event.Provider, EventID: event.ID, Type: string(event.Type),
		Account: event.Account, AttemptID: at.Attempt, AmountMinor: event.Amount.Minor, Currency: string(event.Amount.Currency),
		Result: string(result),
	})
	if err != nil {
		return false, fmt.Errorf("record a provider event: %w", err)
	}
	return n == 1, nil
}

// SetEventResultTx says what became of a recorded event.
func SetEventResultTx(ctx context.Context, tx pgx.Tx, at EventPlace, event Event, result EventResult) error {
	_, err := dbsqlc.New(tx).ProviderEventResultSet(ctx, dbsqlc.ProviderEventResultSetParams{
		TenantID: at.Tenant, Region: string(at.Region), Provider: event.Provider, EventID: event.ID, Result: string(result),
	})
	if err != nil {
		return fmt.Errorf("record what became of a provider event: %w", err)
	}
	return nil
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
