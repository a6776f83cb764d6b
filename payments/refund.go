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

// constraintRefunds guards that refunds never sum to more than was captured.
const constraintRefunds = "payment_attempts_refunds"

// RefundRecordState is where a refund action stands.
type RefundRecordState string

// The states of a refund action.
const (
	// RefundRequested: decided and stored, the provider has not been called yet.
	RefundRequested RefundRecordState = "REQUESTED"
	// RefundSubmitted: the provider was asked; being asked is no proof that it has paid.
	RefundSubmitted RefundRecordState = "SUBMITTED"
	// RefundSucceeded: the provider has paid. Final.
	RefundSucceeded RefundRecordState = "SUCCEEDED"
	// RefundFailed: the provider will not pay under this action. Final; another try is another
	// action.
	RefundFailed RefundRecordState = "FAILED"
)

// Open reports whether the refund is still to be paid.
func (s RefundRecordState) Open() bool { return s == RefundRequested || s == RefundSubmitted }

// Refund is one action that gives money of an attempt back.
type Refund struct {
	ID      RefundID
	Tenant  tenants.TenantID
	Attempt AttemptID
	// Action says why this refund exists, such as "orphan": the same action never pays twice.
	Action         string
	Reason         string
	Amount         money.Amount
	State          RefundRecordState
	ProviderRefund string
	FailureCode    string
	Checks         int64
	RequestedAt    time.Time
	SettledAt      *time.Time
	Version        int64
	// ExhaustedAt is set while the refund has failed for good and nobody has tried it again.
	ExhaustedAt *time.Time
}

// RequestRefundTx stores a refund action of a locked, succeeded attempt. The same action is
// answered with the refund it already is. More than is left of the captured amount is refused.
func RequestRefundTx(ctx context.Context, tx pgx.Tx, attempt Attempt, action, reason string, amount money.Amount, now, due time.Time) (Refund, error) {
	queries := dbsqlc.New(tx)
	refund := Refund{
		ID: RefundID{Region: attempt.ID.Region, UUID: uuid.New()}, Tenant: attempt.Tenant, Attempt: attempt.ID, Action: action,
		Reason: reason, Amount: amount, State: RefundRequested, RequestedAt: now, Version: 1,
	}
	n, err := queries.RefundInsert(ctx, dbsqlc.RefundInsertParams{
		TenantID: attempt.Tenant.UUID, Region: string(attempt.ID.Region), ID: refund.ID.UUID, AttemptID: attempt.ID.UUID,
		Action: action, Reason: reason, AmountMinor: amount.Minor, Currency: string(amount.Currency), RequestedAt: now, NextCheckAt: &due,
	})
	if err != nil {
		return Refund{}, fmt.Errorf("store a refund: %w", err)
	}
	if n == 0 {
		return RefundOfAction(ctx, tx, attempt.Tenant, attempt.ID, action)
	}
	return refund, reserve(ctx, tx, attempt.Tenant, attempt.ID, amount.Minor)
}

// RefundOfAction reads the refund that an action is.
func RefundOfAction(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, attempt AttemptID, action string) (Refund, error) {
	row, err := dbsqlc.New(q).RefundByAction(ctx, dbsqlc.RefundByActionParams{
		TenantID: tenant.UUID, Region: string(attempt.Region), AttemptID: attempt.UUID, Action: action,
	})
	if err != nil {
		return Refund{}, fmt.Errorf("read the refund of action %s: %w", action, err)
	}
	return refundOf(tenant, attempt.Region, dbsqlc.RefundGetRow(row)), nil
}

// reserve counts a refund against what was captured and not lost in a dispute. A named CHECK refuses
// more than was captured, too.
func reserve(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, attempt AttemptID, minor int64) error {
	n, err := dbsqlc.New(tx).AttemptRefundedAdd(ctx, dbsqlc.AttemptRefundedAddParams{
		TenantID: tenant.UUID, Region: string(attempt.Region), ID: attempt.UUID, AmountMinor: minor,
	})
	if db.ViolatedConstraint(err) == constraintRefunds || err == nil && n != 1 {
		return fault.Conflict("the refund is more than what is left of the payment")
	}
	if err != nil {
		return fmt.Errorf("count a refund against its payment: %w", err)
	}
	return nil
}

// GetRefund reads a refund. It does not ask whose it is.
func GetRefund(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, id RefundID) (Refund, error) {
	row, err := dbsqlc.New(q).RefundGet(ctx, dbsqlc.RefundGetParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return Refund{}, fault.NotFound("refund")
	}
	if err != nil {
		return Refund{}, fmt.Errorf("read refund %s: %w", id, err)
	}
	return refundOf(tenant, id.Region, row), nil
}

// LockRefund reads a refund and locks its row until the transaction ends.
func LockRefund(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id RefundID) (Refund, error) {
	row, err := dbsqlc.New(tx).RefundLock(ctx, dbsqlc.RefundLockParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return Refund{}, fault.NotFound("refund")
	}
	if err != nil {
		return Refund{}, fmt.Errorf("lock refund %s: %w", id, err)
	}
	return refundOf(tenant, id.Region, dbsqlc.RefundGetRow(row)), nil
}

// SubmitRefundTx marks a locked open refund as being asked for, and when to ask again.
func SubmitRefundTx(ctx context.Context, tx pgx.Tx, refund Refund, now time.Time) error {
	n, err := dbsqlc.New(tx).RefundSubmit(ctx, dbsqlc.RefundSubmitParams{
		TenantID: refund.Tenant.UUID, Region: string(refund.ID.Region), ID: refund.ID.UUID,
		NextCheckAt: now.Add(driverPatience + waitAfter(refund.Checks)),
	})
	return oneRefund(n, err, "submit", refund)
}

// PostponeRefundTx leaves a locked refund unsent that was never sent, and says when to look again.
func PostponeRefundTx(ctx context.Context, tx pgx.Tx, refund Refund, now time.Time) error {
	n, err := dbsqlc.New(tx).RefundPostpone(ctx, dbsqlc.RefundPostponeParams{
		TenantID: refund.Tenant.UUID, Region: string(refund.ID.Region), ID: refund.ID.UUID, NextCheckAt: now.Add(waitAfter(refund.Checks)),
	})
	return oneRefund(n, err, "postpone", refund)
}

// SettleRefundTx records the provider's final word on a locked open refund. What failed is no
// longer counted against the payment.
func SettleRefundTx(ctx context.Context, tx pgx.Tx, refund Refund, outcome RefundOutcome, now time.Time) error {
	state := RefundSucceeded
	if outcome.State != RefundStateSucceeded {
		state = RefundFailed
	}
	n, err := dbsqlc.New(tx).RefundSettle(ctx, dbsqlc.RefundSettleParams{
		TenantID: refund.Tenant.UUID, Region: string(refund.ID.Region), ID: refund.ID.UUID, ToState: string(state),
		ProviderRefund: outcome.RefundID, FailureCode: outcome.FailureCode, Now: now,
	})
	if err := oneRefund(n, err, "settle", refund); err != nil {
		return err
	}
	if state == RefundFailed {
		return reserve(ctx, tx, refund.Tenant, refund.Attempt, -refund.Amount.Minor)
	}
	return nil
}

// ExhaustRefundTx marks a failed refund that is not tried again by itself: it is work for a person.
func ExhaustRefundTx(ctx context.Context, tx pgx.Tx, refund Refund, now time.Time) error {
	n, err := dbsqlc.New(tx).RefundExhaust(ctx, dbsqlc.RefundExhaustParams{
		TenantID: refund.Tenant.UUID, Region: string(refund.ID.Region), ID: refund.ID.UUID, Now: now,
	})
	return oneRefund(n, err, "give up", refund)
}

// ResumeRefundTx takes the mark from a locked failed refund that somebody tries again.
func ResumeRefundTx(ctx context.Context, tx pgx.Tx, refund Refund) error {
	n, err := dbsqlc.New(tx).RefundResume(ctx, dbsqlc.RefundResumeParams{
		TenantID: refund.Tenant.UUID, Region: string(refund.ID.Region), ID: refund.ID.UUID,
	})
	return oneRefund(n, err, "try again", refund)
}

// RefundCursor is where a page of exhausted refunds ended; pages run from the longest waiting.
type RefundCursor struct {
	ExhaustedAt time.Time
	ID          uuid.UUID
}

// ExhaustedRefund is a refund that has failed for good, with the hold that was paid for.
type ExhaustedRefund struct {
	Refund
	// Hold is the UUID of the hold, in the refund's region.
	Hold uuid.UUID
}

// ExhaustedRefunds lists at most limit refunds that have failed for good and wait for a person.
func ExhaustedRefunds(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, region ids.Region, after RefundCursor, limit int) ([]ExhaustedRefund, error) {
	rows, err := dbsqlc.New(q).RefundsExhausted(ctx, dbsqlc.RefundsExhaustedParams{
		TenantID: tenant.UUID, Region: string(region), After: after.ExhaustedAt, AfterID: after.ID, MaxRows: int32(min(limit, maxDue)), //nolint:gosec // bounded here
	})
	if err != nil {
		return nil, fmt.Errorf("list refunds that failed for good: %w", err)
	}
	refunds := make([]ExhaustedRefund, len(rows))
	for i, row := range rows {
		refunds[i] = ExhaustedRefund{Hold: row.HoldID, Refund: refundOf(tenant, region, dbsqlc.RefundGetRow{
			ID: row.ID, AttemptID: row.AttemptID, Action: row.Action, Reason: row.Reason, AmountMinor: row.AmountMinor,
			Currency: row.Currency, State: row.State, ProviderRefund: row.ProviderRefund, FailureCode: row.FailureCode,
			Checks: row.Checks, RequestedAt: row.RequestedAt, SettledAt: row.SettledAt, Version: row.Version, ExhaustedAt: row.ExhaustedAt,
		})}
	}
	return refunds, nil
}

// RefundedOf says how much was given back, or is being given back, of what bought the bookings of
// holds. A hold that no payment bought is left out.
func RefundedOf(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, regions []string, holds []uuid.UUID) (map[uuid.UUID]money.Amount, error) {
	rows, err := dbsqlc.New(q).AttemptsRefunded(ctx, dbsqlc.AttemptsRefundedParams{TenantID: tenant.UUID, Regions: regions, HoldIds: holds})
	if err != nil {
		return nil, fmt.Errorf("read what was refunded: %w", err)
	}
	refunded := make(map[uuid.UUID]money.Amount, len(rows))
	for _, row := range rows {
		refunded[row.HoldID] = money.Amount{Minor: row.RefundedMinor, Currency: money.Currency(row.Currency)}
	}
	return refunded, nil
}

// RefundsOf lists the refunds of attempts, oldest first.
func RefundsOf(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, attempts []AttemptID) (map[AttemptID][]Refund, error) {
	params := dbsqlc.RefundsOfAttemptsParams{TenantID: tenant.UUID}
	regionOf := make(map[uuid.UUID]ids.Region, len(attempts))
	for _, attempt := range attempts {
		params.Regions = append(params.Regions, string(attempt.Region))
		params.AttemptIds = append(params.AttemptIds, attempt.UUID)
		regionOf[attempt.UUID] = attempt.Region
	}
	rows, err := dbsqlc.New(q).RefundsOfAttempts(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("list refunds: %w", err)
	}
	refunds := make(map[AttemptID][]Refund, len(attempts))
	for _, row := range rows {
		refund := refundOf(tenant, regionOf[row.AttemptID], dbsqlc.RefundGetRow(row))
		refunds[refund.Attempt] = append(refunds[refund.Attempt], refund)
	}
	return refunds, nil
}

// DueRefunds lists open refunds of payments through these providers whose next look is due, at most
// limit, the longest due first.
func DueRefunds(ctx context.Context, q dbsqlc.DBTX, places []Place, providers []string, now time.Time, limit int) ([]Located[RefundID], error) {
	params := dbsqlc.RefundsDueParams{Now: now, Providers: providers, MaxRefunds: int32(min(limit, maxDue))} //nolint:gosec // bounded here
	for _, p := range places {
		params.TenantIds = append(params.TenantIds, p.Tenant.UUID)
		params.Regions = append(params.Regions, string(p.Region))
	}
	rows, err := dbsqlc.New(q).RefundsDue(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("list due refunds: %w", err)
	}
	due := make([]Located[RefundID], len(rows))
	for i, row := range rows {
		due[i] = Located[RefundID]{Tenant: tenants.TenantID{UUID: row.TenantID}, ID: RefundID{Region: ids.Region(row.Region), UUID: row.ID}}
	}
	return due, nil
}

func oneRefund(n int64, err error, doing string, refund Refund) error {
	if err != nil {
		return fmt.Errorf("%s refund %s: %w", doing, refund.ID, err)
	}
	if n != 1 {
		return fmt.Errorf("%s refund %s: it is %s", doing, refund.ID, refund.State)
	}
	return nil
}

func refundOf(tenant tenants.TenantID, region ids.Region, row dbsqlc.RefundGetRow) Refund {
	return Refund{
		ID: RefundID{Region: region, UUID: row.ID}, Tenant: tenant, Attempt: AttemptID{Region: region, UUID: row.AttemptID},
		Action: row.Action, Reason: row.Reason, Amount: money.Amount{Minor: row.AmountMinor, Currency: money.Currency(row.Currency)},
		State: RefundRecordState(row.State), ProviderRefund: row.ProviderRefund, FailureCode: row.FailureCode,
		Checks: row.Checks, RequestedAt: row.RequestedAt, SettledAt: row.SettledAt, Version: row.Version,
		ExhaustedAt: row.ExhaustedAt,
	}
}
