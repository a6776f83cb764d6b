package bookings

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Driver says who takes a step of the saga. All of them take the same steps; whoever is not the
// checkout's own process mends something by it, and that is counted.
type Driver string

// The drivers.
const (
	// DriverCheckout is the process of the checkout itself: the way things should go.
	DriverCheckout Driver = "CHECKOUT"
	// DriverJob is the job that was enqueued with the checkout, or with the refund.
	DriverJob Driver = "JOB"
	// DriverReconciler is the periodic reconciliation.
	DriverReconciler Driver = "RECONCILER"
	// DriverWebhook is a message of the provider.
	DriverWebhook Driver = "WEBHOOK"
	// DriverCommand is a person at a terminal.
	DriverCommand Driver = "COMMAND"
)

// RepairKind says what was mended.
type RepairKind string

// The kinds of repair.
const (
	// RepairConfirmed: a buyer had paid and had no booking. The checkout's own process had died, or
	// had not been told; somebody else confirmed.
	RepairConfirmed RepairKind = "CONFIRMED"
	// RepairReleased: a payment was left open, and no money was taken. It was closed, and what its
	// hold still had went back on sale, or to the buyer's next card.
	RepairReleased RepairKind = "RELEASED"
	// RepairOrphanRefunded: money was taken and there was nothing left to give for it. The provider
	// has paid it back.
	RepairOrphanRefunded RepairKind = "ORPHAN_REFUNDED"
	// RepairRefundCompleted: the answer to a refund was lost, or nobody had asked for it in time. A
	// later look found that it is paid, or had it paid.
	RepairRefundCompleted RepairKind = "REFUND_COMPLETED"
	// RepairRefundRetried: the provider failed a refund, and a further action paid it.
	RepairRefundRetried RepairKind = "REFUND_RETRIED"
	// RepairEventMatched: a provider's event came when its attempt was not there, and was matched
	// later.
	RepairEventMatched RepairKind = "EVENT_MATCHED"
)

// RepairKinds are all of them, in the order of the reports.
func RepairKinds() []RepairKind {
	return []RepairKind{RepairConfirmed, RepairReleased, RepairOrphanRefunded, RepairRefundCompleted, RepairRefundRetried, RepairEventMatched}
}

// Meaning is the kind in one sentence, for reports.
func (k RepairKind) Meaning() string {
	switch k {
	case RepairConfirmed:
		return "paid but not confirmed: the booking was made"
	case RepairReleased:
		return "left open and never charged: closed, and the units given back"
	case RepairOrphanRefunded:
		return "charged for units that were gone: the provider has paid the money back"
	case RepairRefundCompleted:
		return "a refund whose answer was lost or that nobody had asked for: paid"
	case RepairRefundRetried:
		return "a refund that the provider had failed: paid by a further action"
	case RepairEventMatched:
		return "an event that came before its payment: matched"
	}
	return string(k)
}

// RepairTag is a repair's kind of public id.
type RepairTag struct{}

// Prefix of a repair's public id.
func (RepairTag) Prefix() string { return "repair" }

// RepairID names a repair.
type RepairID = ids.ID[RepairTag]

// Repair is one thing that was mended.
type Repair struct {
	ID      RepairID
	Kind    RepairKind
	Hold    inventory.HoldID
	Attempt payments.AttemptID
	// Refund is set where a refund was mended.
	Refund *payments.RefundID
	By     Driver
	At     time.Time
}

// repairTx counts a repair in the transaction that makes it. What the checkout's own process does is
// no repair.
func repairTx(ctx context.Context, tx pgx.Tx, kind RepairKind, by Driver, attempt payments.Attempt, refund *payments.Refund, now time.Time) error {
	if by == DriverCheckout {
		return nil
	}
	params := dbsqlc.RepairInsertParams{
		TenantID: attempt.Tenant.UUID, Region: string(attempt.ID.Region), ID: uuid.New(), Kind: string(kind), SubjectID: attempt.ID.UUID,
		AttemptID: attempt.ID.UUID, HoldID: attempt.Hold, RepairedBy: string(by), RepairedAt: now,
	}
	if refund != nil {
		params.SubjectID, params.RefundID = refund.ID.UUID, &refund.ID.UUID
	}
	if _, err := dbsqlc.New(tx).RepairInsert(ctx, params); err != nil {
		return fmt.Errorf("count a repair of payment attempt %s: %w", attempt.ID, err)
	}
	return nil
}

// mendedAttemptTx counts that somebody ended a payment in place of the checkout's own process. A
// provider's message that comes while that process is still at work, or the buyer on the provider's
// page, is the ordinary course; one that overturns a decline never is.
func mendedAttemptTx(ctx context.Context, tx pgx.Tx, kind RepairKind, by Driver, attempt payments.Attempt, now time.Time) error {
	ordinary := attempt.CreatedAt.Add(jobPatience)
	onPage := attempt.PayUntil != nil && (attempt.ReturnURL != "" || attempt.RedirectURL != "")
	if onPage {
		// The buyer is still paying, and whoever hears of it first ends the payment.
		ordinary = *attempt.PayUntil
	}
	if (by == DriverWebhook || onPage) && attempt.State.Open() && now.Before(ordinary) {
		return nil
	}
	return repairTx(ctx, tx, kind, by, attempt, nil, now)
}

// mendedRefundTx counts what the success of a refund has mended: each of an orphan, a refund that
// was failed before, and one whose first call did not end it.
func mendedRefundTx(ctx context.Context, tx pgx.Tx, by Driver, attempt payments.Attempt, refund payments.Refund, now time.Time) error {
	base, _, retried := strings.Cut(refund.Action, "#")
	if base == orphanAction {
		if err := repairTx(ctx, tx, RepairOrphanRefunded, by, attempt, nil, now); err != nil {
			return err
		}
	}
	if retried {
		return repairTx(ctx, tx, RepairRefundRetried, by, attempt, &refund, now)
	}
	// The first look is the job's, soon after the request; whoever comes later finds it undone. Looks
	// at the same moment, which the job and a reconciler may take, are no sign of a lost answer.
	late := now.After(refund.RequestedAt.Add(jobPatience)) && (by != DriverJob || refund.Checks > 1)
	if by == DriverWebhook {
		late = now.After(refund.RequestedAt.Add(refundPatience))
	}
	if !late {
		return nil
	}
	return repairTx(ctx, tx, RepairRefundCompleted, by, attempt, &refund, now)
}

// refundPatience is how long a provider may take to pay a refund before its message about that is
// counted as a repair.
const refundPatience = 10 * time.Minute

// orphanAction is the action of the refund of money that bought nothing.
const orphanAction = "orphan"

// RepairCursor is where a page of repairs ended; pages run from the oldest.
type RepairCursor struct {
	At time.Time
	ID uuid.UUID
}

// RepairCount is how many repairs of a kind there were.
type RepairCount struct {
	Kind  RepairKind
	Count int64
}

// RepairCounts counts the repairs of one day in UTC, in one region of the actor's tenant, by kind:
// every kind is there, with 0 too.
func (s *Service) RepairCounts(ctx context.Context, actor tenants.Actor, region ids.Region, day time.Time) ([]RepairCount, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionPaymentReview, actor.Tenant); err != nil {
		return nil, err
	}
	first := day.UTC().Truncate(24 * time.Hour)
	rows, err := dbsqlc.New(s.db.Pool()).RepairCounts(ctx, dbsqlc.RepairCountsParams{
		TenantID: actor.Tenant.UUID, Region: string(region), First: first, Beyond: first.AddDate(0, 0, 1),
	})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("count repairs: %w", err))
	}
	counted := map[RepairKind]int64{}
	for _, row := range rows {
		counted[RepairKind(row.Kind)] = row.Repairs
	}
	counts := make([]RepairCount, len(RepairKinds()))
	for i, kind := range RepairKinds() {
		counts[i] = RepairCount{Kind: kind, Count: counted[kind]}
	}
	return counts, nil
}

// Repairs lists the repairs of one day in UTC, in one region of the actor's tenant, from the oldest,
// and says whether more follow.
func (s *Service) Repairs(ctx context.Context, actor tenants.Actor, region ids.Region, day time.Time, after *RepairCursor, limit int) ([]Repair, bool, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionPaymentReview, actor.Tenant); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > inventory.MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	first := day.UTC().Truncate(24 * time.Hour)
	params := dbsqlc.RepairsPageParams{
		TenantID: actor.Tenant.UUID, Region: string(region), First: first, Beyond: first.AddDate(0, 0, 1), MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	}
	if after != nil {
		params.After, params.AfterID = after.At, after.ID
	}
	rows, err := dbsqlc.New(s.db.Pool()).RepairsPage(ctx, params)
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list repairs: %w", err))
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	repairs := make([]Repair, len(rows))
	for i, row := range rows {
		repairs[i] = repairOf(region, dbsqlc.RepairsOfHoldRow(row))
	}
	return repairs, more, nil
}

func repairOf(region ids.Region, row dbsqlc.RepairsOfHoldRow) Repair {
	repair := Repair{
		ID: RepairID{Region: region, UUID: row.ID}, Kind: RepairKind(row.Kind), Hold: inventory.HoldID{Region: region, UUID: row.HoldID},
		Attempt: payments.AttemptID{Region: region, UUID: row.AttemptID}, By: Driver(row.RepairedBy), At: row.RepairedAt,
	}
	if row.RefundID != nil {
		repair.Refund = &payments.RefundID{Region: region, UUID: *row.RefundID}
	}
	return repair
}

// repairsOfHold lists what was mended about a hold, oldest first.
func repairsOfHold(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, region ids.Region, hold uuid.UUID) ([]Repair, error) {
	rows, err := dbsqlc.New(q).RepairsOfHold(ctx, dbsqlc.RepairsOfHoldParams{TenantID: tenant.UUID, Region: string(region), HoldID: hold})
	if err != nil {
		return nil, fmt.Errorf("list the repairs of a hold: %w", err)
	}
	repairs := make([]Repair, len(rows))
	for i, row := range rows {
		repairs[i] = repairOf(region, row)
	}
	return repairs, nil
}
