package bookings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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

// CancelBooking gives lines of a booking back to the stock and refunds their price in full. It is
// the tenant's decision. Without ordinals it cancels every line that still stands.
func (s *Service) CancelBooking(ctx context.Context, actor tenants.Actor, requestKey string, id BookingID, ordinals []int64) (Booking, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionBookingCancelAny, actor.Tenant); err != nil {
		return Booking{}, err
	}
	return s.change(ctx, actor, "cancelBooking", requestKey, id, ordinals,
		func(ctx context.Context, tx pgx.Tx, booking *Booking, chosen []Line, now time.Time) error {
			if err := inventory.ReturnBookedTx(ctx, tx, booking.Tenant, booking.Hold, chosen); err != nil {
				return err
			}
			if err := s.moveTx(ctx, tx, booking, chosen, LineStateCancelled, "booking.cancelled", now); err != nil {
				return err
			}
			return s.refundLinesTx(ctx, tx, *booking, chosen, now)
		})
}

// MarkNoShow records that the guests of lines did not come. Their units stay sold: what remains of
// a stay is released only by a cancellation.
func (s *Service) MarkNoShow(ctx context.Context, actor tenants.Actor, requestKey string, id BookingID, ordinals []int64) (Booking, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionBookingNoShow, actor.Tenant); err != nil {
		return Booking{}, err
	}
	return s.change(ctx, actor, "markNoShow", requestKey, id, ordinals,
		func(ctx context.Context, tx pgx.Tx, booking *Booking, chosen []Line, now time.Time) error {
			return s.moveTx(ctx, tx, booking, chosen, LineStateNoShow, "booking.no_show", now)
		})
}

// change is a command on lines of a booking: claim the request key, lock the hold and the booking,
// choose the lines, act. A repetition is answered with the booking as it stands.
func (s *Service) change(ctx context.Context, actor tenants.Actor, operation, requestKey string, id BookingID, ordinals []int64,
	act func(ctx context.Context, tx pgx.Tx, booking *Booking, chosen []Line, now time.Time) error,
) (Booking, error) {
	if err := request.ValidateKey(requestKey); err != nil {
		return Booking{}, err
	}
	type content struct {
		Booking  string
		Ordinals []int64
	}
	fingerprint, err := request.Fingerprint(content{id.String(), ordinals})
	if err != nil {
		return Booking{}, err
	}
	changed, err := db.Replayable(ctx, s.db, "bookings."+operation, func(ctx context.Context, tx pgx.Tx) (Booking, error) {
		_, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: id.Region, Key: requestKey, Scope: operation + "/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, id.UUID)
		if err != nil {
			return Booking{}, err
		}
		booking, err := lockBooking(ctx, tx, actor.Tenant, id)
		if err != nil || replayed {
			return booking, err
		}
		chosen, err := choose(booking, ordinals)
		if err != nil {
			return Booking{}, err
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return Booking{}, err
		}
		err = act(ctx, tx, &booking, chosen, now)
		return booking, err
	})
	switch {
	case errors.Is(err, request.ErrKeyReused):
		return Booking{}, inventory.Refuse(inventory.RefusalRequestKeyReused, err.Error())
	case errors.Is(err, db.ErrContention):
		return Booking{}, inventory.Busy()
	}
	return changed, err
}

// lockBooking locks the hold and then its booking: whoever changes either takes them in this order.
func lockBooking(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id BookingID) (Booking, error) {
	queries := dbsqlc.New(tx)
	row, err := queries.BookingGet(ctx, dbsqlc.BookingGetParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return Booking{}, fault.NotFound("booking")
	}
	if err != nil {
		return Booking{}, fmt.Errorf("read booking %s: %w", id, err)
	}
	if _, err := inventory.LockHold(ctx, tx, tenant, inventory.HoldID{Region: id.Region, UUID: row.HoldID}); err != nil {
		return Booking{}, err
	}
	locked, err := queries.BookingLock(ctx, dbsqlc.BookingLockParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if err != nil {
		return Booking{}, fmt.Errorf("lock booking %s: %w", id, err)
	}
	found := []Booking{bookingOf(tenant, dbsqlc.BookingGetRow(locked))}
	if err := withLines(ctx, tx, found); err != nil {
		return Booking{}, err
	}
	return found[0], nil
}

func choose(booking Booking, ordinals []int64) ([]Line, error) {
	var chosen []Line
	for _, line := range booking.Lines {
		named := slices.Contains(ordinals, line.Ordinal)
		switch {
		case named && line.State != LineStateBooked:
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

// moveTx moves lines to a final state and raises the booking's version.
func (s *Service) moveTx(ctx context.Context, tx pgx.Tx, booking *Booking, chosen []Line, to LineState, event string, now time.Time) error {
	queries := dbsqlc.New(tx)
	ordinals := make([]int64, len(chosen))
	for i, line := range chosen {
		ordinals[i] = line.Ordinal
	}
	n, err := queries.BookingLinesMove(ctx, dbsqlc.BookingLinesMoveParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), BookingID: booking.ID.UUID, Ordinals: ordinals,
		ToState: string(to), FromStates: []string{string(LineStateBooked)},
	})
	if err != nil {
		return fmt.Errorf("move lines of booking %s: %w", booking.ID, err)
	}
	if n != int64(len(chosen)) {
		return fmt.Errorf("move lines of booking %s: %d of %d were booked", booking.ID, n, len(chosen))
	}
	booking.State = StateCancelled
	for i := range booking.Lines {
		if slices.Contains(ordinals, booking.Lines[i].Ordinal) {
			booking.Lines[i].State = to
		}
		if booking.Lines[i].State != LineStateCancelled {
			booking.State = StateBooked
		}
	}
	touched, err := queries.BookingTouch(ctx, dbsqlc.BookingTouchParams{
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

// refundLinesTx requests the price of lines back from the payment that bought them.
func (s *Service) refundLinesTx(ctx context.Context, tx pgx.Tx, booking Booking, chosen []Line, now time.Time) error {
	sum := money.Amount{Currency: booking.Total.Currency}
	for _, line := range chosen {
		var err error
		if sum, err = sum.Add(line.Amount); err != nil {
			return fmt.Errorf("sum the refund of booking %s: %w", booking.ID, err)
		}
	}
	if sum.Minor == 0 {
		return nil
	}
	attempts, err := payments.OfHold(ctx, tx, booking.Tenant, booking.ID.Region, booking.Hold.UUID)
	if err != nil {
		return err
	}
	for _, attempt := range attempts {
		if attempt.Disposition != payments.DispositionApplied {
			continue
		}
		if attempt, err = payments.Lock(ctx, tx, booking.Tenant, attempt.ID); err != nil {
			return err
		}
		action := fmt.Sprintf("cancel:v%d", booking.Version)
		return s.requestRefundTx(ctx, tx, attempt, action, "the booking was cancelled", sum, now, now)
	}
	return fmt.Errorf("refund booking %s: no payment bought it", booking.ID)
}
