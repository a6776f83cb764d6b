package bookings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// A room that goes out of order may have guests: stock, guests and events meet here.

// maxDisplaced bounds the bookings that one period takes a room from.
const maxDisplaced = 100

// OutOfOrderSet is what a change of a period did.
type OutOfOrderSet struct {
	Period inventory.OutOfOrder
	Room   inventory.Room
	// Oversold are nights of the room's type that are now sold above their limit. What is sold stays
	// sold, and nothing more is sold until it is below.
	Oversold []inventory.OversoldNight
	// Displaced are the bookings whose guests had the room on one of the nights: they have none there now.
	Displaced []BookingID
}

// NewOutOfOrder is a period to be.
type NewOutOfOrder struct {
	RequestKey string
	Room       inventory.RoomID
	// First and Last are its nights, both included.
	First, Last civil.Date
	Reason      string
}

// PutOutOfOrder makes a period in which a room cannot be slept in. It takes one room from what can be sold
// of its type on each night, whatever is sold already, and the room from whoever it was assigned to; both
// are answered.
func (s *Service) PutOutOfOrder(ctx context.Context, actor tenants.Actor, input NewOutOfOrder) (OutOfOrderSet, error) {
	period := inventory.OutOfOrder{
		ID: ids.New[inventory.OutOfOrderKind](input.Room.Region), Room: input.Room, First: input.First, Last: input.Last, Reason: input.Reason,
		State: inventory.OutOfOrderOpen, Version: 1,
	}
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionRoomOutOfOrder, "room", input.Room.Region, input.Room.UUID); err != nil {
		return OutOfOrderSet{}, err
	}
	if err := period.Validate(); err != nil {
		return OutOfOrderSet{}, err
	}
	return s.outOfOrderCommand(ctx, actor, "putOutOfOrder", input.RequestKey, input, period.ID, func(ctx context.Context, tx pgx.Tx) (OutOfOrderSet, error) {
		return s.putOutOfOrderTx(ctx, tx, actor, period)
	})
}

// outOfOrderCommand runs a command about a period; a repetition is answered with the period as it is.
func (s *Service) outOfOrderCommand(ctx context.Context, actor tenants.Actor, operation, requestKey string, content any, id inventory.OutOfOrderID,
	change func(ctx context.Context, tx pgx.Tx) (OutOfOrderSet, error),
) (OutOfOrderSet, error) {
	if err := request.ValidateKey(requestKey); err != nil {
		return OutOfOrderSet{}, err
	}
	fingerprint, err := request.Fingerprint(content)
	if err != nil {
		return OutOfOrderSet{}, err
	}
	set, err := db.Replayable(ctx, s.db, "bookings."+operation, func(ctx context.Context, tx pgx.Tx) (OutOfOrderSet, error) {
		earlier, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: id.Region, Key: requestKey, Scope: operation + "/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, id.UUID)
		if err != nil {
			return OutOfOrderSet{}, err
		}
		if !replayed {
			return change(ctx, tx)
		}
		period, err := inventory.OutOfOrderTx(ctx, tx, actor.Tenant, inventory.OutOfOrderID{Region: id.Region, UUID: earlier})
		if err != nil {
			return OutOfOrderSet{}, err
		}
		room, err := inventory.LockRoom(ctx, tx, actor.Tenant, period.Room)
		return OutOfOrderSet{Period: period, Room: room}, err
	})
	return set, refusable(err)
}

func (s *Service) putOutOfOrderTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, period inventory.OutOfOrder) (OutOfOrderSet, error) {
	known, err := inventory.RoomsByID(ctx, tx, actor.Tenant, period.Room.Region, []uuid.UUID{period.Room.UUID})
	if err != nil {
		return OutOfOrderSet{}, err
	}
	if len(known) == 0 {
		return OutOfOrderSet{}, fault.NotFound("room")
	}
	// Plans, then bookings, then the room: the order of locks.
	if err := inventory.LockPlansTx(ctx, tx, actor.Tenant, known[0].RoomType, period.Nights()); err != nil {
		return OutOfOrderSet{}, err
	}
	displaced, err := s.lockGuestsTx(ctx, tx, actor, period)
	if err != nil {
		return OutOfOrderSet{}, err
	}
	room, err := inventory.LockRoom(ctx, tx, actor.Tenant, period.Room)
	if err != nil {
		return OutOfOrderSet{}, err
	}
	if room.State != inventory.RoomStateInUse {
		return OutOfOrderSet{}, inventory.Refuse(inventory.RefusalRoomRetired, fmt.Sprintf("room %s is not used any more", room.Number))
	}
	period.RoomType = room.RoomType
	if period.CreatedAt, err = inventory.Now(ctx, tx); err != nil {
		return OutOfOrderSet{}, err
	}
	set := OutOfOrderSet{Period: period}
	for _, booking := range displaced {
		if err := s.displaceTx(ctx, tx, booking, period); err != nil {
			return OutOfOrderSet{}, err
		}
		set.Displaced = append(set.Displaced, booking.ID)
	}
	if set.Oversold, err = inventory.BeginOutOfOrderTx(ctx, tx, actor, room, period); err != nil {
		return OutOfOrderSet{}, err
	}
	err = s.tellRoomTx(ctx, tx, actor.Tenant, &room, period.CreatedAt)
	set.Room = room
	return set, err
}

// lockGuestsTx locks the bookings that have a room on nights of a period, by id.
func (s *Service) lockGuestsTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, period inventory.OutOfOrder) ([]Booking, error) {
	rows, err := dbsqlc.New(tx).RoomNightsBetween(ctx, dbsqlc.RoomNightsBetweenParams{
		TenantID: actor.Tenant.UUID, Region: string(period.Room.Region), RoomIds: []uuid.UUID{period.Room.UUID}, FirstNight: period.First, LastNight: period.Last,
	})
	if err != nil {
		return nil, fmt.Errorf("read who has room %s: %w", period.Room, err)
	}
	var named []uuid.UUID
	for _, row := range rows {
		if row.BookingID != nil && !slices.Contains(named, *row.BookingID) {
			named = append(named, *row.BookingID)
		}
	}
	if len(named) > maxDisplaced {
		return nil, fault.Invalid("to", "%d bookings have the room on these nights, and one period takes it from at most %d: make several", len(named), maxDisplaced)
	}
	slices.SortFunc(named, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	bookings := make([]Booking, len(named))
	for i, id := range named {
		if bookings[i], err = lockBooking(ctx, tx, actor.Tenant, BookingID{Region: period.Room.Region, UUID: id}, everybody); err != nil {
			return nil, err
		}
	}
	return bookings, nil
}

// displaceTx takes a room from a booking on the nights of a period.
func (s *Service) displaceTx(ctx context.Context, tx pgx.Tx, booking Booking, period inventory.OutOfOrder) error {
	if _, err := dbsqlc.New(tx).GuestNightsDisplace(ctx, dbsqlc.GuestNightsDisplaceParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), RoomID: period.Room.UUID, BookingID: &booking.ID.UUID,
		FirstNight: period.First, LastNight: period.Last,
	}); err != nil {
		return fmt.Errorf("take room %s from booking %s: %w", period.Room, booking.ID, err)
	}
	return s.touchTx(ctx, tx, &booking, string(events.TypeBookingRoomUnassigned), period.CreatedAt)
}

func (s *Service) tellRoomTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, room *inventory.Room, now time.Time) error {
	if err := inventory.TouchRoomTx(ctx, tx, tenant, room); err != nil {
		return err
	}
	return s.emitTx(ctx, tx, tenant, room.ID.Region, tenants.ChannelID{}, string(events.KindRoom), room.ID.UUID, room.Version, string(events.TypeRoomOutOfOrder), now)
}

// EndOutOfOrder shortens or ends a period.
type EndOutOfOrder struct {
	RequestKey string
	Period     inventory.OutOfOrderID
	// Last is the last night that it keeps; nil ends it now: the night of today at the hotel, and those
	// after it, are given back.
	Last *civil.Date
}

// EndOutOfOrder gives nights of a period back, from which on the room can be sold and slept in.
func (s *Service) EndOutOfOrder(ctx context.Context, actor tenants.Actor, input EndOutOfOrder) (OutOfOrderSet, error) {
	id := input.Period
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionRoomOutOfOrder, "out-of-order period", id.Region, id.UUID); err != nil {
		return OutOfOrderSet{}, err
	}
	if input.Last != nil && !input.Last.IsValid() {
		return OutOfOrderSet{}, fault.Invalid("to", "expected a date such as 2027-03-14")
	}
	return s.outOfOrderCommand(ctx, actor, "endOutOfOrder", input.RequestKey, input, id, func(ctx context.Context, tx pgx.Tx) (OutOfOrderSet, error) {
		return s.endOutOfOrderTx(ctx, tx, actor, input)
	})
}

func (s *Service) endOutOfOrderTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, input EndOutOfOrder) (OutOfOrderSet, error) {
	period, err := inventory.OutOfOrderTx(ctx, tx, actor.Tenant, input.Period)
	if err != nil {
		return OutOfOrderSet{}, err
	}
	if err := inventory.LockPlansTx(ctx, tx, actor.Tenant, period.RoomType, period.Nights()); err != nil {
		return OutOfOrderSet{}, err
	}
	room, err := inventory.LockRoom(ctx, tx, actor.Tenant, period.Room)
	if err != nil {
		return OutOfOrderSet{}, err
	}
	// Under the room's lock.
	if period, err = inventory.OutOfOrderTx(ctx, tx, actor.Tenant, input.Period); err != nil {
		return OutOfOrderSet{}, err
	}
	today, now, err := inventory.TodayTx(ctx, tx, actor.Tenant, room.Property)
	if err != nil {
		return OutOfOrderSet{}, err
	}
	if period.State == inventory.OutOfOrderEnded || period.Last.Before(today) {
		return OutOfOrderSet{}, inventory.Refuse(inventory.RefusalOutOfOrderEnded, "the period was ended before, or its nights are over")
	}
	from, state := today, inventory.OutOfOrderEnded
	if input.Last != nil {
		from, state = input.Last.AddDays(1), inventory.OutOfOrderOpen
		if !input.Last.Before(period.Last) || input.Last.Before(period.First) || from.Before(today) {
			return OutOfOrderSet{}, fault.Invalid("to", "expected a night from %s to %s, from which it is shortened; without one the period ends",
				later(period.First, today.AddDays(-1)), period.Last.AddDays(-1))
		}
	}
	var set OutOfOrderSet
	if set.Period, set.Oversold, err = inventory.EndOutOfOrderTx(ctx, tx, actor, room, period, from, state, now); err != nil {
		return OutOfOrderSet{}, err
	}
	err = s.tellRoomTx(ctx, tx, actor.Tenant, &room, now)
	set.Room = room
	return set, err
}

// later is the later of two dates.
func later(a, b civil.Date) civil.Date {
	if b.After(a) {
		return b
	}
	return a
}
