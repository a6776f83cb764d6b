package bookings

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// maxReasonLength bounds the reasons that are recorded with cancellations and refunds, in characters.
const maxReasonLength = 200

// Refund gives money of a booking back outside a cancellation: its lines stand.
type Refund struct {
	// RequestKey makes the action: two keys are two refunds, though they be equal.
	RequestKey string
	Booking    BookingID
	Amount     money.Amount
	// Reason is recorded: one line of 1 to 200 characters.
	Reason string
}

// TooHighRefund is the refusal of a refund of more than is left.
type TooHighRefund struct {
	*inventory.Refusal
	// Rest is what is left of what was paid.
	Rest money.Amount
}

// Unwrap gives the refusal.
func (t *TooHighRefund) Unwrap() error { return t.Refusal }

func tooHigh(rest money.Amount) *TooHighRefund {
	return &TooHighRefund{
		Refusal: inventory.Refuse(inventory.RefusalRefundTooHigh, fmt.Sprintf("%s is left of what was paid", rest)), Rest: rest,
	}
}

// RefundBooking gives an amount of a booking's payment back. More than is left of it is refused with
// a *TooHighRefund.
func (s *Service) RefundBooking(ctx context.Context, actor tenants.Actor, input Refund) (payments.Refund, error) {
	may, err := s.mayRefund(actor)
	if err != nil {
		return payments.Refund{}, err
	}
	if err := request.ValidateKey(input.RequestKey); err != nil {
		return payments.Refund{}, err
	}
	if err := validateAmount("amount", &input.Amount, 1); err != nil {
		return payments.Refund{}, err
	}
	if input.Reason == "" {
		return payments.Refund{}, fault.Invalid("reason", "expected why the money is given back")
	}
	if err := validateReason(input.Reason); err != nil {
		return payments.Refund{}, err
	}
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return payments.Refund{}, err
	}
	id := uuid.New()
	refund, err := db.Replayable(ctx, s.db, "bookings.refundBooking", func(ctx context.Context, tx pgx.Tx) (payments.Refund, error) {
		return s.refundBookingTx(ctx, tx, actor, may, input, fingerprint, id)
	})
	return refund, refusable(err)
}

func (s *Service) refundBookingTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, may refundRight, input Refund, fingerprint []byte, id uuid.UUID) (payments.Refund, error) {
	earlier, replayed, err := request.Claim(ctx, tx, identity(actor, "refundBooking", input.Booking, input.RequestKey), fingerprint, id)
	if err != nil {
		return payments.Refund{}, err
	}
	booking, err := lockBooking(ctx, tx, actor.Tenant, input.Booking, everybody)
	if err != nil {
		return payments.Refund{}, err
	}
	limited, err := may.overTx(ctx, tx, actor, booking)
	if err != nil {
		return payments.Refund{}, err
	}
	if input.Amount.Currency != booking.Total.Currency {
		return payments.Refund{}, fault.Invalid("amount.currency", "expected %s, in which the booking was paid, got %s", booking.Total.Currency, input.Amount.Currency)
	}
	if booking.Total.Minor == 0 {
		return payments.Refund{}, tooHigh(booking.Total)
	}
	paid, err := paymentOf(ctx, tx, booking)
	if err != nil {
		return payments.Refund{}, err
	}
	if replayed {
		return payments.RefundOfAction(ctx, tx, actor.Tenant, paid.ID, amountAction(earlier))
	}
	attempt, err := payments.Lock(ctx, tx, actor.Tenant, paid.ID)
	if err != nil {
		return payments.Refund{}, err
	}
	if rest := attempt.Left(); input.Amount.Minor > rest.Minor {
		return payments.Refund{}, tooHigh(rest)
	}
	if limited {
		if err := withinLimitTx(ctx, tx, actor, booking, input.Amount); err != nil {
			return payments.Refund{}, err
		}
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return payments.Refund{}, err
	}
	if err := dbsqlc.New(tx).BookingRefundInsert(ctx, dbsqlc.BookingRefundInsertParams{
		TenantID: actor.Tenant.UUID, Region: string(booking.ID.Region), ID: id, BookingID: booking.ID.UUID, AttemptID: attempt.ID.UUID,
		AmountMinor: input.Amount.Minor, Currency: string(input.Amount.Currency), Reason: input.Reason, KeyID: actor.Key.UUID, DecidedAt: now,
	}); err != nil {
		return payments.Refund{}, fmt.Errorf("record a refund of booking %s: %w", booking.ID, err)
	}
	if err := s.requestRefundTx(ctx, tx, attempt, amountAction(id), input.Reason, input.Amount, now, now); err != nil {
		return payments.Refund{}, err
	}
	refund, err := payments.RefundOfAction(ctx, tx, actor.Tenant, attempt.ID, amountAction(id))
	if err != nil {
		return payments.Refund{}, err
	}
	return refund, tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionRefundCreate, Resource: booking.ID, Reason: input.Reason,
		After: map[string]any{"refund": refund.ID, "amount": input.Amount},
	})
}

// refundRight is with what right money is given back: the authorizer's answers about doing so without a
// limit, and up to the limit of the member's roles. Either may hold at some places only.
type refundRight struct{ any, limited error }

func (s *Service) mayRefund(actor tenants.Actor) (refundRight, error) {
	may := refundRight{
		any:     s.authorizer.Authorize(actor, policies.ActionRefundCreate, actor.Tenant),
		limited: s.authorizer.Authorize(actor, policies.ActionRefundLimited, actor.Tenant),
	}
	_, refusal := tenants.ReachOf(may.any)
	if _, err := tenants.ReachOf(may.limited); refusal != nil && err != nil {
		return refundRight{}, refusal
	}
	return may, nil
}

// overTx says with which of the rights money of a booking is given back: the wider one where it reaches.
func (r refundRight) overTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, booking Booking) (limited bool, err error) {
	if _, refusal := tenants.ReachOf(r.any); refusal == nil {
		err := within(ctx, tx, actor, r.any, booking)
		if err == nil || fault.KindOf(err) != fault.KindNotFound {
			return false, err
		}
	}
	if _, refusal := tenants.ReachOf(r.limited); refusal != nil {
		return false, fault.NotFound("booking")
	}
	return true, within(ctx, tx, actor, r.limited, booking)
}

// withinLimitTx refuses what would bring all that a member gave back on a locked booking above the
// limit: many small refunds are one large one.
func withinLimitTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, booking Booking, amount money.Amount) error {
	given, err := dbsqlc.New(tx).RefundedByKey(ctx, dbsqlc.RefundedByKeyParams{
		TenantID: actor.Tenant.UUID, Region: string(booking.ID.Region), BookingID: booking.ID.UUID, KeyID: actor.Key.UUID,
	})
	if err != nil {
		return fmt.Errorf("add up what a member gave back on booking %s: %w", booking.ID, err)
	}
	var limit money.Amount
	for _, placed := range actor.Grants.RefundLimits(amount.Currency) {
		covers, err := inventory.WithinReach(ctx, tx, actor.Tenant, placed.Answer(), booking.ID.Region, booking.Lines)
		if err != nil {
			return err
		}
		if covers {
			limit = placed.Amount
			break
		}
	}
	if limit.Minor == 0 {
		return fault.Denied("your roles give nothing back in %s here", amount.Currency)
	}
	if given+amount.Minor > limit.Minor {
		return fault.Denied("your roles give back up to %s on one booking, and %s of it is left", limit, money.Amount{Minor: max(0, limit.Minor-given), Currency: limit.Currency})
	}
	return nil
}

// amountAction names a refund by amount.
func amountAction(id uuid.UUID) string { return "amount:" + id.String() }

// RetryRefund tries a refund again that has failed for good: as a new action of the same amount, with
// as many tries again. One that is under way or paid is refused, and so is one tried again before.
func (s *Service) RetryRefund(ctx context.Context, actor tenants.Actor, requestKey string, id payments.RefundID) (payments.Refund, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionRefundCreate, actor.Tenant); err != nil {
		return payments.Refund{}, err
	}
	if err := request.ValidateKey(requestKey); err != nil {
		return payments.Refund{}, err
	}
	fingerprint, err := request.Fingerprint(id.String())
	if err != nil {
		return payments.Refund{}, err
	}
	refund, err := db.Replayable(ctx, s.db, "bookings.retryRefund", func(ctx context.Context, tx pgx.Tx) (payments.Refund, error) {
		return s.retryRefundTx(ctx, tx, actor, requestKey, id, fingerprint)
	})
	return refund, refusable(err)
}

func (s *Service) retryRefundTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, requestKey string, id payments.RefundID, fingerprint []byte) (payments.Refund, error) {
	_, replayed, err := request.Claim(ctx, tx, request.Identity{
		Tenant: actor.Tenant.UUID, Region: id.Region, Key: requestKey, Scope: "retryRefund/" + actor.Key.UUID.String(),
	}, fingerprint, id.UUID)
	if err != nil {
		return payments.Refund{}, err
	}
	known, err := payments.GetRefund(ctx, tx, actor.Tenant, id)
	if err != nil {
		return payments.Refund{}, err
	}
	action := "retry:" + id.UUID.String()
	if replayed {
		return payments.RefundOfAction(ctx, tx, actor.Tenant, known.Attempt, action)
	}
	// The attempt is locked before its refund, as wherever both are.
	attempt, err := payments.Lock(ctx, tx, actor.Tenant, known.Attempt)
	if err != nil {
		return payments.Refund{}, err
	}
	failed, err := payments.LockRefund(ctx, tx, actor.Tenant, id)
	if err != nil {
		return payments.Refund{}, err
	}
	if failed.ExhaustedAt == nil {
		return payments.Refund{}, inventory.Refuse(inventory.RefusalRefundNotFailed, "the refund is "+string(failed.State)+" and is not waiting for a person")
	}
	if rest := attempt.Left(); failed.Amount.Minor > rest.Minor {
		return payments.Refund{}, tooHigh(rest)
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return payments.Refund{}, err
	}
	if err := payments.ResumeRefundTx(ctx, tx, failed); err != nil {
		return payments.Refund{}, err
	}
	if err := s.requestRefundTx(ctx, tx, attempt, action, failed.Reason, failed.Amount, now, now); err != nil {
		return payments.Refund{}, err
	}
	again, err := payments.RefundOfAction(ctx, tx, actor.Tenant, attempt.ID, action)
	if err != nil {
		return payments.Refund{}, err
	}
	return again, tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionRefundCreate, Resource: id, Reason: failed.Reason, After: map[string]any{"triedAgainAs": again.ID, "amount": again.Amount},
	})
}

// FailedRefund is a refund that has failed for good: work for a person.
type FailedRefund struct {
	payments.Refund
	Hold inventory.HoldID
	// Booking is nil when the money bought none.
	Booking *BookingID
}

// FailedRefunds lists refunds that have failed as often as they are tried, the longest waiting first,
// and says whether more follow.
func (s *Service) FailedRefunds(ctx context.Context, actor tenants.Actor, region ids.Region, after *payments.RefundCursor, limit int) ([]FailedRefund, bool, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionPaymentReview, actor.Tenant); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > inventory.MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	from := payments.RefundCursor{ExhaustedAt: time.Unix(0, 0)}
	if after != nil {
		from = *after
	}
	refunds, err := payments.ExhaustedRefunds(ctx, s.db.Pool(), actor.Tenant, region, from, limit+1)
	if err != nil {
		return nil, false, db.Classify(err)
	}
	more := len(refunds) > limit
	if more {
		refunds = refunds[:limit]
	}
	holds := make([]uuid.UUID, len(refunds))
	for i, refund := range refunds {
		holds[i] = refund.Hold
	}
	rows, err := dbsqlc.New(s.db.Pool()).BookingsOfHolds(ctx, dbsqlc.BookingsOfHoldsParams{TenantID: actor.Tenant.UUID, Region: string(region), HoldIds: holds})
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("read the bookings of failed refunds: %w", err))
	}
	booked := make(map[uuid.UUID]*BookingID, len(rows))
	for _, row := range rows {
		booked[row.HoldID] = &BookingID{Region: region, UUID: row.ID}
	}
	found := make([]FailedRefund, len(refunds))
	for i, refund := range refunds {
		found[i] = FailedRefund{Refund: refund.Refund, Hold: inventory.HoldID{Region: region, UUID: refund.Hold}, Booking: booked[refund.Hold]}
	}
	return found, more, nil
}

// RefundedOfHolds says how much was given back, or is being given back, for the bookings of holds
// that the actor was shown.
func (s *Service) RefundedOfHolds(ctx context.Context, actor tenants.Actor, holds []inventory.HoldID) (map[inventory.HoldID]money.Amount, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionBookingRead, actor.Tenant)); err != nil {
		return nil, err
	}
	regions, uuids := make([]string, len(holds)), make([]uuid.UUID, len(holds))
	for i, hold := range holds {
		regions[i], uuids[i] = string(hold.Region), hold.UUID
	}
	amounts, err := payments.RefundedOf(ctx, s.db.Pool(), actor.Tenant, regions, uuids)
	if err != nil {
		return nil, db.Classify(err)
	}
	refunded := make(map[inventory.HoldID]money.Amount, len(amounts))
	for _, hold := range holds {
		if amount, ok := amounts[hold.UUID]; ok {
			refunded[hold] = amount
		}
	}
	return refunded, nil
}

func validateAmount(field string, amount *money.Amount, least int64) error {
	if amount != nil && (amount.Minor < least || amount.Minor > money.MaxMinor) {
		return fault.Invalid(field+".amountMinor", "expected %d to %d, got %d", least, int64(money.MaxMinor), amount.Minor)
	}
	return nil
}

func validateReason(reason string) error {
	if utf8.RuneCountInString(reason) > maxReasonLength || !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl) {
		return fault.Invalid("reason", "expected one line of at most %d characters, without control characters", maxReasonLength)
	}
	return nil
}
