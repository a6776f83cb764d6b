package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// DisputeKind is one dispute (chargeback) of a payment.
type DisputeKind struct{}

// Prefix of a dispute's public id.
func (DisputeKind) Prefix() string { return "dispute" }

// DisputeID names a dispute.
type DisputeID = ids.ID[DisputeKind]

// DisputeState is where a dispute stands. It moves money, never a seat.
type DisputeState string

// The states of a dispute.
const (
	// DisputeOpened: the buyer's bank has asked for the money back.
	DisputeOpened DisputeState = "OPENED"
	// DisputeWon: the seller keeps the money. Final.
	DisputeWon DisputeState = "WON"
	// DisputeLost: the buyer's bank has the money. Final; it is not refunded on top.
	DisputeLost DisputeState = "LOST"
)

// ErrDisputeContradicts says that a message about a dispute does not agree with what is known of it:
// another payment, or the other end. A person has to look.
var ErrDisputeContradicts = errors.New("the message contradicts what is known of the dispute")

// Dispute is what a provider said about one dispute of a payment.
type Dispute struct {
	ID      DisputeID
	Tenant  tenants.TenantID
	Attempt AttemptID
	// ProviderDispute is the provider's id.
	ProviderDispute string
	Amount          money.Amount
	State           DisputeState
	// OpenedAt and ClosedAt are when it was recorded so, by the database's clock.
	OpenedAt time.Time
	ClosedAt *time.Time
	Version  int64
}

// RecordDisputeTx keeps what a provider says of a dispute of a locked attempt, and reports whether it
// was news. The messages may come in any order: an end is never undone by an opening.
func RecordDisputeTx(ctx context.Context, tx pgx.Tx, attempt Attempt, providerDispute string, state DisputeState, amount money.Amount, now time.Time) (dispute Dispute, news bool, err error) {
	queries := dbsqlc.New(tx)
	row, err := queries.DisputeLock(ctx, dbsqlc.DisputeLockParams{
		TenantID: attempt.Tenant.UUID, Region: string(attempt.ID.Region), Provider: attempt.Provider, ProviderDispute: providerDispute,
	})
	if db.IsNoRows(err) {
		dispute, err = openDispute(ctx, queries, attempt, providerDispute, state, amount, now)
		return dispute, err == nil, err
	}
	if err != nil {
		return Dispute{}, false, fmt.Errorf("lock dispute %s: %w", providerDispute, err)
	}
	dispute = disputeOf(attempt.Tenant, attempt.ID.Region, dbsqlc.DisputesOfAttemptsRow(row))
	switch {
	case dispute.Attempt != attempt.ID:
		return dispute, false, ErrDisputeContradicts
	case state == dispute.State, state == DisputeOpened:
		return dispute, false, nil
	case dispute.State != DisputeOpened:
		return dispute, false, ErrDisputeContradicts
	}
	n, err := queries.DisputeClose(ctx, dbsqlc.DisputeCloseParams{
		TenantID: attempt.Tenant.UUID, Region: string(attempt.ID.Region), ID: dispute.ID.UUID, ToState: string(state),
		AmountMinor: amount.Minor, ClosedAt: now,
	})
	if err != nil || n != 1 {
		return Dispute{}, false, fmt.Errorf("close dispute %s: %d rows: %w", dispute.ID, n, err)
	}
	if err := countDispute(ctx, queries, attempt, -dispute.Amount.Minor, state, amount); err != nil {
		return Dispute{}, false, err
	}
	dispute.State, dispute.Amount, dispute.ClosedAt = state, amount, &now
	dispute.Version++
	return dispute, true, nil
}

func openDispute(ctx context.Context, queries *dbsqlc.Queries, attempt Attempt, providerDispute string, state DisputeState, amount money.Amount, now time.Time) (Dispute, error) {
	dispute := Dispute{
		ID: DisputeID{Region: attempt.ID.Region, UUID: uuid.New()}, Tenant: attempt.Tenant, Attempt: attempt.ID,
		ProviderDispute: providerDispute, Amount: amount, State: state, OpenedAt: now, Version: 1,
	}
	if state != DisputeOpened {
		dispute.ClosedAt = &now
	}
	if err := queries.DisputeInsert(ctx, dbsqlc.DisputeInsertParams{
		TenantID: attempt.Tenant.UUID, Region: string(attempt.ID.Region), ID: dispute.ID.UUID, AttemptID: attempt.ID.UUID,
		Provider: attempt.Provider, ProviderDispute: providerDispute, AmountMinor: amount.Minor, Currency: string(amount.Currency),
		State: string(state), OpenedAt: now, ClosedAt: dispute.ClosedAt,
	}); err != nil {
		return Dispute{}, fmt.Errorf("store a dispute: %w", err)
	}
	return dispute, countDispute(ctx, queries, attempt, 0, state, amount)
}

// countDispute keeps the sums of an attempt: what is no longer open, and what is open or lost now.
func countDispute(ctx context.Context, queries *dbsqlc.Queries, attempt Attempt, openMinor int64, state DisputeState, amount money.Amount) error {
	lost := int64(0)
	switch state {
	case DisputeOpened:
		openMinor += amount.Minor
	case DisputeLost:
		lost = amount.Minor
	case DisputeWon:
	}
	n, err := queries.AttemptDisputedAdd(ctx, dbsqlc.AttemptDisputedAddParams{
		TenantID: attempt.Tenant.UUID, Region: string(attempt.ID.Region), ID: attempt.ID.UUID, DisputedMinor: openMinor, LostMinor: lost,
	})
	return oneRow(n, err, "count a dispute of", attempt)
}

// DisputesOf lists the disputes of attempts, oldest first.
func DisputesOf(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, attempts []AttemptID) (map[AttemptID][]Dispute, error) {
	params := dbsqlc.DisputesOfAttemptsParams{TenantID: tenant.UUID}
	regionOf := make(map[uuid.UUID]ids.Region, len(attempts))
	for _, attempt := range attempts {
		params.Regions = append(params.Regions, string(attempt.Region))
		params.AttemptIds = append(params.AttemptIds, attempt.UUID)
		regionOf[attempt.UUID] = attempt.Region
	}
	rows, err := dbsqlc.New(q).DisputesOfAttempts(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("list disputes: %w", err)
	}
	disputes := make(map[AttemptID][]Dispute, len(attempts))
	for _, row := range rows {
		dispute := disputeOf(tenant, regionOf[row.AttemptID], row)
		disputes[dispute.Attempt] = append(disputes[dispute.Attempt], dispute)
	}
	return disputes, nil
}

func disputeOf(tenant tenants.TenantID, region ids.Region, row dbsqlc.DisputesOfAttemptsRow) Dispute {
	return Dispute{
		ID: DisputeID{Region: region, UUID: row.ID}, Tenant: tenant, Attempt: AttemptID{Region: region, UUID: row.AttemptID},
		ProviderDispute: row.ProviderDispute, Amount: money.Amount{Minor: row.AmountMinor, Currency: money.Currency(row.Currency)},
		State: DisputeState(row.State), OpenedAt: row.OpenedAt, ClosedAt: row.ClosedAt, Version: row.Version,
	}
}
