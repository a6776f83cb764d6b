package bookings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Cancel names lines of a booking that are to be cancelled.
type Cancel struct {
	RequestKey string
	Booking    BookingID
	// Ordinals are the lines; none means every line that is still booked.
	Ordinals []int64
	// DryRun asks what the cancellation would do now, and does nothing.
	DryRun bool
	// ExpectedFee and ExpectedRefund are what the caller was told: if they differ from what holds now,
	// nothing is changed and the refusal has the new figures.
	ExpectedFee    *money.Amount
	ExpectedRefund *money.Amount
	// WaiveFee gives everything back. It is the seller's to decide, and needs a reason.
	WaiveFee bool
	// Reason is recorded: one line of up to 200 characters.
	Reason string
}

func (c Cancel) validate() error {
	if err := request.ValidateKey(c.RequestKey); err != nil {
		return err
	}
	if len(c.Ordinals) > maxOrdinals {
		return fault.Invalid("lines", "expected at most %d", maxOrdinals)
	}
	if err := validateAmount("expectedFee", c.ExpectedFee, 0); err != nil {
		return err
	}
	if err := validateAmount("expectedRefund", c.ExpectedRefund, 0); err != nil {
		return err
	}
	if c.WaiveFee && c.Reason == "" {
		return fault.Invalid("reason", "expected why the fee is waived")
	}
	return validateReason(c.Reason)
}

// CancelBooking gives lines of a booking back to the stock, keeps the fee of the policy that the
// booking was sold under, and refunds the rest. A dry run says, by the database's clock, what the
// same call would do, and changes nothing.
//
// Guests and partners cancel bookings of their own, until the start; who may cancel anybody's may do
// it at any time, also lines marked as no-show where they are named, and may waive the fee. A
// changed fee is refused with a *ChangedFee; a request key that comes again is answered with what
// was done the first time.
func (s *Service) CancelBooking(ctx context.Context, actor tenants.Actor, input Cancel) (Cancellation, error) {
	anybodys := s.authorizer.Authorize(actor, policies.ActionBookingCancelAny, actor.Tenant)
	own := s.authorizer.Authorize(actor, policies.ActionBookingCancel, actor.Tenant)
	if _, err := tenants.ReachOf(own); err != nil {
		return Cancellation{}, err
	}
	_, refusal := tenants.ReachOf(anybodys)
	if input.WaiveFee && refusal != nil {
		return Cancellation{}, refusal
	}
	if err := input.validate(); err != nil {
		return Cancellation{}, err
	}
	as := canceller{actor: actor, seller: refusal == nil, may: own, operation: "cancelBooking"}
	if as.seller {
		as.may = anybodys
	}
	return s.cancel(ctx, as, input, input)
}

// cancel runs a cancellation, or says what it would do; content is what its request key stands for.
func (s *Service) cancel(ctx context.Context, as canceller, input Cancel, content any) (Cancellation, error) {
	actor := as.actor
	if input.DryRun {
		return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (Cancellation, error) {
			booking, err := getBooking(ctx, tx, actor.Tenant, input.Booking, as.sees)
			if err == nil {
				err = within(ctx, tx, actor, as.may, booking)
			}
			if err != nil {
				return Cancellation{}, err
			}
			quote, _, err := as.quoteTx(ctx, tx, booking, input)
			return quote, err
		})
	}
	fingerprint, err := request.Fingerprint(content)
	if err != nil {
		return Cancellation{}, err
	}
	id := uuid.New()
	done, err := db.Replayable(ctx, s.db, "bookings."+as.operation, func(ctx context.Context, tx pgx.Tx) (Cancellation, error) {
		return s.cancelTx(ctx, tx, as, input, fingerprint, id)
	})
	return done, refusable(err)
}

// canceller is who cancels, and whether with the rights of the seller.
type canceller struct {
	actor  tenants.Actor
	seller bool
	// operation is the scope of its request keys.
	operation string
	// early is set for guests who leave early: it says which lines are cancelled.
	early *earlyDeparture
	// may is the authorizer's answer, which says where.
	may error
}

func (c canceller) sees(booking Booking) bool {
	return c.seller || inventory.MaySee(c.actor, booking.Buyer, booking.Channel)
}

func (s *Service) cancelTx(ctx context.Context, tx pgx.Tx, as canceller, input Cancel, fingerprint []byte, id uuid.UUID) (Cancellation, error) {
	earlier, replayed, err := request.Claim(ctx, tx, identity(as.actor, as.operation, input.Booking, input.RequestKey), fingerprint, id)
	if err != nil {
		return Cancellation{}, err
	}
	booking, err := lockBooking(ctx, tx, as.actor.Tenant, input.Booking, as.sees)
	if err == nil {
		err = within(ctx, tx, as.actor, as.may, booking)
	}
	if err != nil {
		return Cancellation{}, err
	}
	if replayed {
		return cancellationOf(ctx, tx, booking, earlier)
	}
	done, paid, err := as.quoteTx(ctx, tx, booking, input)
	if err != nil {
		return Cancellation{}, err
	}
	return s.cancelQuotedTx(ctx, tx, as, booking, done, paid, id)
}

// cancelQuotedTx does what a quote of a locked booking says.
func (s *Service) cancelQuotedTx(ctx context.Context, tx pgx.Tx, as canceller, booking Booking, done Cancellation, paid payments.Attempt, id uuid.UUID) (Cancellation, error) {
	chosen := done.chosen(booking)
	if err := inventory.ReturnBookedTx(ctx, tx, booking.Tenant, booking.Hold, chosen); err != nil {
		return Cancellation{}, err
	}
	if err := s.moveTx(ctx, tx, &booking, chosen, LineStateCancelled, "booking.cancelled", done.At); err != nil {
		return Cancellation{}, err
	}
	done.ID = id
	if err := done.recordTx(ctx, tx, &booking, as.actor); err != nil {
		return Cancellation{}, err
	}
	if err := dropDuesTx(ctx, tx, booking, done.Credited.Minor, done.At); err != nil {
		return Cancellation{}, err
	}
	done.Booking = booking
	if as.seller {
		if err := done.auditTx(ctx, tx, as.actor); err != nil {
			return Cancellation{}, err
		}
	}
	if done.Refund.Minor == 0 {
		return done, nil
	}
	attempt, err := payments.Lock(ctx, tx, booking.Tenant, paid.ID)
	if err != nil {
		return Cancellation{}, err
	}
	action := fmt.Sprintf("cancel:v%d", booking.Version)
	return done, s.requestRefundTx(ctx, tx, attempt, action, "the booking was cancelled", done.Refund, done.At, done.At)
}

// auditTx logs what a seller has cancelled; what buyers cancel of their own is no admin's change.
func (c Cancellation) auditTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor) error {
	return tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionBookingCancelAny, Resource: c.Booking.ID, Reason: c.Reason,
		After: map[string]any{"cancellation": c.ID, "fee": c.Fee, "refund": c.Refund},
	})
}

// identity says whose request it is: a key's, or that of the guest who came with it.
func identity(actor tenants.Actor, operation string, id BookingID, requestKey string) request.Identity {
	return request.Identity{
		Tenant: actor.Tenant.UUID, Region: id.Region, Key: requestKey,
		Scope: operation + "/" + actor.Key.UUID.String() + "/" + actor.Session.UUID.String(),
	}
}

// refusable makes what a caller can expect of a command a refusal.
func refusable(err error) error {
	switch {
	case errors.Is(err, request.ErrKeyReused):
		return inventory.Refuse(inventory.RefusalRequestKeyReused, err.Error())
	case errors.Is(err, db.ErrContention):
		return inventory.Busy()
	}
	return err
}

// everybody is for commands whose permission covers every booking of the tenant.
func everybody(Booking) bool { return true }

// getBooking reads a booking. For those who may not see it, it does not exist.
func getBooking(ctx context.Context, tx dbsqlc.DBTX, tenant tenants.TenantID, id BookingID, sees func(Booking) bool) (Booking, error) {
	row, err := dbsqlc.New(tx).BookingGet(ctx, dbsqlc.BookingGetParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return Booking{}, fault.NotFound("booking")
	}
	if err != nil {
		return Booking{}, fmt.Errorf("read booking %s: %w", id, err)
	}
	booking, err := bookingOf(tenant, row)
	if err != nil {
		return Booking{}, err
	}
	if !sees(booking) {
		return Booking{}, fault.NotFound("booking")
	}
	found := []Booking{booking}
	err = withLines(ctx, tx, found)
	return found[0], err
}

// lockBooking locks the hold and then its booking: whoever changes either takes them in this order.
func lockBooking(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id BookingID, sees func(Booking) bool) (Booking, error) {
	queries := dbsqlc.New(tx)
	row, err := queries.BookingGet(ctx, dbsqlc.BookingGetParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return Booking{}, fault.NotFound("booking")
	}
	if err != nil {
		return Booking{}, fmt.Errorf("read booking %s: %w", id, err)
	}
	// Whose it is never changes, so that nobody waits at, or locks, what is not theirs.
	booking, err := bookingOf(tenant, row)
	if err != nil {
		return Booking{}, err
	}
	if !sees(booking) {
		return Booking{}, fault.NotFound("booking")
	}
	if _, err := inventory.LockHold(ctx, tx, tenant, inventory.HoldID{Region: id.Region, UUID: row.HoldID}); err != nil {
		return Booking{}, err
	}
	locked, err := queries.BookingLock(ctx, dbsqlc.BookingLockParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if err != nil {
		return Booking{}, fmt.Errorf("lock booking %s: %w", id, err)
	}
	booking, err = bookingOf(tenant, dbsqlc.BookingGetRow(locked))
	if err != nil {
		return Booking{}, err
	}
	found := []Booking{booking}
	err = withLines(ctx, tx, found)
	return found[0], err
}

// choose are the lines that a command is about: those that are named, which must be in one of the
// states, or every line that is booked.
func choose(booking Booking, ordinals []int64, states ...LineState) ([]Line, error) {
	var chosen []Line
	for _, line := range booking.Lines {
		named := slices.Contains(ordinals, line.Ordinal)
		switch {
		case named && !slices.Contains(states, line.State):
			return nil, inventory.Refuse(inventory.RefusalNotBooked, fmt.Sprintf("line %d of the booking is %s", line.Ordinal, line.State))
		case named, len(ordinals) == 0 && line.State == LineStateBooked:
			chosen = append(chosen, line)
		}
	}
	distinct := slices.Clone(ordinals)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	switch {
	case len(ordinals) > 0 && len(chosen) != len(distinct):
		return nil, fault.Invalid("lines", "the booking has no such line; its lines are 0 to %d", len(booking.Lines)-1)
	case len(chosen) == 0:
		return nil, inventory.Refuse(inventory.RefusalNotBooked, "no line of the booking is still booked")
	}
	return chosen, nil
}

// moveTx moves chosen lines to a final state and raises the booking's version.
func (s *Service) moveTx(ctx context.Context, tx pgx.Tx, booking *Booking, chosen []Line, to LineState, event string, now time.Time) error {
	queries := dbsqlc.New(tx)
	ordinals := make([]int64, len(chosen))
	var from []string
	for i, line := range chosen {
		ordinals[i] = line.Ordinal
		from = append(from, string(line.State))
	}
	n, err := queries.BookingLinesMove(ctx, dbsqlc.BookingLinesMoveParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), BookingID: booking.ID.UUID, Ordinals: ordinals,
		ToState: string(to), FromStates: from,
	})
	if err != nil {
		return fmt.Errorf("move lines of booking %s: %w", booking.ID, err)
	}
	if n != int64(len(chosen)) {
		return fmt.Errorf("move lines of booking %s: %d of %d were as they had been read", booking.ID, n, len(chosen))
	}
	booking.State = StateCancelled
	for i := range booking.Lines {
		if slices.Contains(ordinals, booking.Lines[i].Ordinal) {
			booking.Lines[i].State = to
		}
		if state := booking.Lines[i].State; state != LineStateCancelled && state != LineStateChanged {
			booking.State = StateBooked
		}
	}
	if err := freeRoomsTx(ctx, tx, *booking, ordinals, to); err != nil {
		return err
	}
	return s.touchTx(ctx, tx, booking, event, now)
}

// touchTx raises the version of a locked booking, in its state, and tells of it.
func (s *Service) touchTx(ctx context.Context, tx pgx.Tx, booking *Booking, event string, now time.Time) error {
	touched, err := dbsqlc.New(tx).BookingTouch(ctx, dbsqlc.BookingTouchParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), ID: booking.ID.UUID, State: string(booking.State), Version: booking.Version,
	})
	if err != nil {
		return fmt.Errorf("raise the version of booking %s: %w", booking.ID, err)
	}
	if touched != 1 {
		return fmt.Errorf("raise the version of booking %s: it is not %d", booking.ID, booking.Version)
	}
	booking.Version++
	return s.emitTx(ctx, tx, booking.Tenant, booking.ID.Region, booking.Channel, "booking", booking.ID.UUID, booking.Version, event, now)
}
