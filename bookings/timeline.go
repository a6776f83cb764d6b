package bookings

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// StepKind says what a step of a payment's history is.
type StepKind string

// The kinds of step, in the order in which steps of the same instant are told.
const (
	StepHoldPlaced       StepKind = "HOLD_PLACED"
	StepHoldExtended     StepKind = "HOLD_EXTENDED"
	StepPaymentCreated   StepKind = "PAYMENT_CREATED"
	StepPaymentSubmitted StepKind = "PAYMENT_SUBMITTED"
	StepProviderEvent    StepKind = "PROVIDER_EVENT"
	StepPaymentSettled   StepKind = "PAYMENT_SETTLED"
	StepHoldEnded        StepKind = "HOLD_ENDED"
	StepBooked           StepKind = "BOOKED"
	StepBookingChanged   StepKind = "BOOKING_CHANGED"
	StepRefundRequested  StepKind = "REFUND_REQUESTED"
	StepRefundSettled    StepKind = "REFUND_SETTLED"
	StepRepair           StepKind = "REPAIR"
	StepReviewed         StepKind = "REVIEWED"
	// StepPaymentOpen and StepRefundOpen are what is still to come: their time is the next look.
	StepPaymentOpen StepKind = "PAYMENT_OPEN"
	StepRefundOpen  StepKind = "REFUND_OPEN"
)

// StepKinds are all of them.
func StepKinds() []StepKind {
	return []StepKind{
		StepHoldPlaced, StepHoldExtended, StepPaymentCreated, StepPaymentSubmitted, StepProviderEvent, StepPaymentSettled, StepHoldEnded,
		StepBooked, StepBookingChanged, StepRefundRequested, StepRefundSettled, StepRepair, StepReviewed, StepPaymentOpen, StepRefundOpen,
	}
}

// Step is one thing that happened to a hold's money.
type Step struct {
	At   time.Time
	Kind StepKind
	// Attempt and Refund are set where the step is about one.
	Attempt *payments.AttemptID
	Refund  *payments.RefundID
	// Amount is set where money is asked for, taken or given back.
	Amount *money.Amount
	// Detail says it in words: states, the provider's codes, how often it was asked.
	Detail string
	// By is who made a repair or a decision.
	By string
}

// Timeline is everything that happened to the money of a hold, in order.
type Timeline struct {
	Hold    inventory.HoldID
	Booking *BookingID
	Steps   []Step
}

// maxSteps bounds each part of a timeline.
const maxSteps = 200

// TimelineOf names the hold, or the booking that it became.
type TimelineOf struct {
	Hold    *inventory.HoldID
	Booking *BookingID
}

// PaymentTimeline tells every step of a sale's money from the rows, in one snapshot.
func (s *Service) PaymentTimeline(ctx context.Context, actor tenants.Actor, of TimelineOf) (Timeline, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionPaymentReview, actor.Tenant); err != nil {
		return Timeline{}, err
	}
	if (of.Hold == nil) == (of.Booking == nil) {
		return Timeline{}, fault.Invalid("hold", "expected a hold or a booking, and not both")
	}
	return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (Timeline, error) {
		hold := of.Hold
		if of.Booking != nil {
			row, err := dbsqlc.New(tx).BookingGet(ctx, dbsqlc.BookingGetParams{
				TenantID: actor.Tenant.UUID, Region: string(of.Booking.Region), ID: of.Booking.UUID,
			})
			if db.IsNoRows(err) {
				return Timeline{}, fault.NotFound("booking")
			}
			if err != nil {
				return Timeline{}, fmt.Errorf("read booking %s: %w", of.Booking, err)
			}
			hold = &inventory.HoldID{Region: of.Booking.Region, UUID: row.HoldID}
		}
		return timelineTx(ctx, tx, actor.Tenant, *hold)
	})
}

func timelineTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id inventory.HoldID) (Timeline, error) {
	hold, err := inventory.GetHold(ctx, tx, tenant, id)
	if err != nil {
		return Timeline{}, err
	}
	attempts, err := payments.OfHold(ctx, tx, tenant, id.Region, id.UUID)
	if err != nil {
		return Timeline{}, err
	}
	wanted := make([]payments.AttemptID, len(attempts))
	for i, attempt := range attempts {
		wanted[i] = attempt.ID
	}
	refunds, err := payments.RefundsOf(ctx, tx, tenant, wanted)
	if err != nil {
		return Timeline{}, err
	}
	timeline := Timeline{Hold: id, Steps: stepsOfHold(hold)}
	var failed []string
	for _, attempt := range attempts {
		timeline.Steps = append(timeline.Steps, stepsOfAttempt(attempt)...)
		for _, refund := range refunds[attempt.ID] {
			timeline.Steps = append(timeline.Steps, stepsOfRefund(refund)...)
			failed = append(failed, refund.ID.UUID.String())
		}
	}
	events, err := stepsOfEvents(ctx, tx, tenant, attempts)
	if err != nil {
		return Timeline{}, err
	}
	booked, booking, err := stepsOfBooking(ctx, tx, tenant, id)
	if err != nil {
		return Timeline{}, err
	}
	mended, err := stepsOfRepairs(ctx, tx, tenant, id)
	if err != nil {
		return Timeline{}, err
	}
	reviewed, err := stepsOfReviews(ctx, tx, tenant, id, failed)
	if err != nil {
		return Timeline{}, err
	}
	timeline.Booking = booking
	timeline.Steps = slices.Concat(timeline.Steps, events, booked, mended, reviewed)
	order := map[StepKind]int{}
	for i, kind := range StepKinds() {
		order[kind] = i
	}
	slices.SortStableFunc(timeline.Steps, func(a, b Step) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(order[a.Kind], order[b.Kind]))
	})
	return timeline, nil
}

func stepsOfHold(hold inventory.Hold) []Step {
	steps := []Step{{At: hold.PlacedAt, Kind: StepHoldPlaced, Amount: &hold.Total, Detail: fmt.Sprintf("%d lines, extended %d times", len(hold.Lines), hold.Extensions)}}
	lease := time.Duration(hold.Terms.HoldSeconds) * time.Second
	// The last extension began a lease of the full length, unless the cap on the hold's life cut it
	// short; then its instant is not known, and the first step tells the number only.
	if extended := hold.LeaseDeadline.Add(-lease); hold.Extensions > 0 && extended.After(hold.PlacedAt) &&
		hold.LeaseDeadline.Before(hold.PlacedAt.Add(time.Duration(hold.Terms.MaxHoldSeconds)*time.Second)) {
		steps = append(steps, Step{At: extended, Kind: StepHoldExtended, Detail: "until " + hold.LeaseDeadline.UTC().Format(time.RFC3339)})
	}
	if hold.EndedAt != nil {
		steps = append(steps, Step{At: *hold.EndedAt, Kind: StepHoldEnded, Detail: string(hold.State)})
	}
	return steps
}

func stepsOfAttempt(attempt payments.Attempt) []Step {
	step := func(at time.Time, kind StepKind, amount money.Amount, detail string) Step {
		return Step{At: at, Kind: kind, Attempt: &attempt.ID, Amount: &amount, Detail: detail}
	}
	steps := []Step{step(attempt.CreatedAt, StepPaymentCreated, attempt.Amount, attempt.Provider+", account "+attempt.Account)}
	if attempt.SubmittedAt != nil {
		steps = append(steps, step(*attempt.SubmittedAt, StepPaymentSubmitted, attempt.Amount, ""))
	}
	asked := fmt.Sprintf("%d times without a definite answer", attempt.Checks)
	switch {
	case attempt.SettledAt != nil && attempt.State == payments.AttemptStateSucceeded:
		steps = append(steps, step(*attempt.SettledAt, StepPaymentSettled, attempt.Captured,
			fmt.Sprintf("%s %s, charge %s, asked %s", attempt.State, attempt.Disposition, attempt.ProviderCharge, asked)))
	case attempt.SettledAt != nil:
		steps = append(steps, step(*attempt.SettledAt, StepPaymentSettled, money.Amount{Currency: attempt.Amount.Currency},
			fmt.Sprintf("%s %s, asked %s", attempt.State, attempt.DeclineCode, asked)))
	case attempt.NextCheckAt != nil:
		steps = append(steps, step(*attempt.NextCheckAt, StepPaymentOpen, attempt.Amount, fmt.Sprintf("%s, asked %s", attempt.State, asked)))
	}
	return steps
}

func stepsOfRefund(refund payments.Refund) []Step {
	step := func(at time.Time, kind StepKind, detail string) Step {
		return Step{At: at, Kind: kind, Attempt: &refund.Attempt, Refund: &refund.ID, Amount: &refund.Amount, Detail: detail}
	}
	steps := []Step{step(refund.RequestedAt, StepRefundRequested, refund.Action+": "+refund.Reason)}
	asked := fmt.Sprintf("asked %d times", refund.Checks)
	if refund.SettledAt != nil {
		detail := fmt.Sprintf("%s, %s", refund.State, asked)
		if refund.FailureCode != "" {
			detail = fmt.Sprintf("%s %s, %s", refund.State, refund.FailureCode, asked)
		}
		return append(steps, step(*refund.SettledAt, StepRefundSettled, detail))
	}
	// Its next look is not told: a refund is open from its request on.
	return append(steps, step(refund.RequestedAt, StepRefundOpen, fmt.Sprintf("%s, %s", refund.State, asked)))
}

func stepsOfEvents(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, attempts []payments.Attempt) ([]Step, error) {
	if len(attempts) == 0 {
		return nil, nil
	}
	params := dbsqlc.EventsOfAttemptsParams{TenantID: tenant.UUID, Region: string(attempts[0].ID.Region), MaxRows: maxSteps}
	for _, attempt := range attempts {
		params.AttemptIds = append(params.AttemptIds, attempt.ID.UUID)
	}
	rows, err := dbsqlc.New(tx).EventsOfAttempts(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("list the events of payments: %w", err)
	}
	var by []uuid.UUID
	for _, row := range rows {
		if row.ReviewedBy != nil {
			by = append(by, *row.ReviewedBy)
		}
	}
	acted, err := tenants.WhoActed(ctx, tx, tenant, by)
	if err != nil {
		return nil, err
	}
	steps := make([]Step, 0, len(rows))
	for _, row := range rows {
		about := payments.AttemptID{Region: attempts[0].ID.Region, UUID: row.AttemptID}
		step := Step{At: row.ReceivedAt, Kind: StepProviderEvent, Attempt: &about, Detail: fmt.Sprintf("%s %s: %s", row.Type, row.EventID, row.Result)}
		if row.Currency != "" {
			step.Amount = &money.Amount{Minor: row.AmountMinor, Currency: money.Currency(row.Currency)}
		}
		steps = append(steps, step)
		if row.ReviewedAt != nil && row.ReviewedBy != nil {
			steps = append(steps, Step{
				At: *row.ReviewedAt, Kind: StepReviewed, Attempt: &about, Detail: row.ReviewNote, By: acted.Actor(*row.ReviewedBy),
			})
		}
	}
	return steps, nil
}

func stepsOfBooking(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, hold inventory.HoldID) ([]Step, *BookingID, error) {
	booking, err := bookingOfHold(ctx, tx, tenant, hold)
	if err != nil || booking == nil {
		return nil, nil, err
	}
	steps := []Step{{At: booking.BookedAt, Kind: StepBooked, Amount: &booking.Total, Detail: "reference " + booking.Reference}}
	rows, err := dbsqlc.New(tx).OutboxOfEntity(ctx, dbsqlc.OutboxOfEntityParams{
		TenantID: tenant.UUID, Region: string(hold.Region), EntityID: booking.ID.UUID, MaxRows: maxSteps,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list what happened to booking %s: %w", booking.ID, err)
	}
	for _, row := range rows {
		if row.Version > 1 {
			steps = append(steps, Step{At: row.OccurredAt, Kind: StepBookingChanged, Detail: fmt.Sprintf("%s, version %d", row.Type, row.Version)})
		}
	}
	return steps, &booking.ID, nil
}

func stepsOfRepairs(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, hold inventory.HoldID) ([]Step, error) {
	repairs, err := repairsOfHold(ctx, tx, tenant, hold.Region, hold.UUID)
	if err != nil {
		return nil, err
	}
	steps := make([]Step, len(repairs))
	for i, repair := range repairs {
		steps[i] = Step{
			At: repair.At, Kind: StepRepair, Attempt: &repair.Attempt, Refund: repair.Refund,
			Detail: fmt.Sprintf("%s: %s", repair.Kind, repair.Kind.Meaning()), By: string(repair.By),
		}
	}
	return steps, nil
}

// stepsOfReviews tells what people have decided about the refunds of a sale.
func stepsOfReviews(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, hold inventory.HoldID, subjects []string) ([]Step, error) {
	rows, err := dbsqlc.New(tx).ReviewsOfHold(ctx, dbsqlc.ReviewsOfHoldParams{
		TenantID: tenant.UUID, Region: string(hold.Region), SubjectKinds: []string{ReviewRefundFailed.subject()}, SubjectIds: subjects,
	})
	if err != nil {
		return nil, fmt.Errorf("list decisions about a sale: %w", err)
	}
	by := make([]string, len(rows))
	for i, row := range rows {
		by[i] = row.ResolvedBy
	}
	if by, err = reviewers(ctx, tx, tenant, by...); err != nil {
		return nil, err
	}
	steps := make([]Step, len(rows))
	for i, row := range rows {
		steps[i] = Step{At: row.ResolvedAt, Kind: StepReviewed, Detail: row.Note, By: by[i]}
	}
	return steps, nil
}
