package bookings

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// CheckStay names rooms of a stay whose guests come or go.
type CheckStay struct {
	RequestKey string
	Booking    BookingID
	Item       int64
	// Numbers are the rooms of the stay, from 1; none means all that are still to come, or to go.
	Numbers []int64
	// KeepNights lets guests go before their stay is over, whose nights stay sold. Only when they go.
	KeepNights bool
}

func (c CheckStay) validate() error {
	if len(c.Numbers) > maxOrdinals {
		return fault.Invalid("numbers", "expected at most %d", maxOrdinals)
	}
	return nil
}

// CheckIn records that the guests of rooms of a stay have come: on the day of their arrival or later, by the
// hotel's date and the database's clock, and once they have a physical room for the night.
func (s *Service) CheckIn(ctx context.Context, actor tenants.Actor, input CheckStay) (DeskStay, error) {
	return s.deskCommand(ctx, actor, "checkIn", input.RequestKey, input.Booking, input.Item, input, input.validate, func(ctx context.Context, tx pgx.Tx, stay *DeskStay) error {
		today, now, err := inventory.TodayTx(ctx, tx, actor.Tenant, stay.Property)
		if err != nil {
			return err
		}
		if today.Before(stay.CheckIn) || today.After(stay.CheckOut) {
			return inventory.Refuse(inventory.RefusalNotDue, fmt.Sprintf("the stay is from %s to %s, and it is %s at the hotel", stay.CheckIn, stay.CheckOut, today))
		}
		tonight := stay.Nights[len(stay.Nights)-1]
		for _, night := range slices.Backward(stay.Nights) {
			if !night.Before(today) {
				tonight = night
			}
		}
		if i := slices.IndexFunc(stay.lines, func(l Line) bool { return l.Night == tonight }); stay.lines[i].State != LineStateBooked {
			return inventory.Refuse(inventory.RefusalNotBooked, "the guests are marked as a no-show")
		}
		slots, err := stay.slots(input.Numbers, StayExpected)
		if err != nil {
			return err
		}
		if len(slots) == 0 {
			return inventory.Refuse(inventory.RefusalCheckedIn, "the guests have come")
		}
		for _, slot := range slots {
			if !stay.Rooms[slot].has(tonight) {
				return inventory.Refuse(inventory.RefusalNoRoomAssigned, fmt.Sprintf("the guests of room %d of the stay have no physical room for the night of %s", slot+1, tonight))
			}
		}
		if _, err := dbsqlc.New(tx).CheckIn(ctx, dbsqlc.CheckInParams{
			TenantID: actor.Tenant.UUID, Region: string(stay.Booking.ID.Region), BookingID: stay.Booking.ID.UUID, Item: stay.Item, Slots: slots, Now: now,
		}); err != nil {
			return fmt.Errorf("check in booking %s: %w", stay.Booking.ID, err)
		}
		if err := s.touchTx(ctx, tx, &stay.Booking, string(events.TypeBookingCheckedIn), now); err != nil {
			return err
		}
		return tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionDeskWork, Resource: stay.Booking.ID, After: map[string]any{"checkedIn": slots, "item": stay.Item},
		})
	})
}

// CheckOut records that the guests of rooms of a stay have gone. Where nights of the stay are left, they are
// given back by DepartEarly first, or stay sold where that is asked for; then the physical rooms of these
// nights are free for others.
func (s *Service) CheckOut(ctx context.Context, actor tenants.Actor, input CheckStay) (DeskStay, error) {
	return s.deskCommand(ctx, actor, "checkOut", input.RequestKey, input.Booking, input.Item, input, input.validate, func(ctx context.Context, tx pgx.Tx, stay *DeskStay) error {
		today, now, err := inventory.TodayTx(ctx, tx, actor.Tenant, stay.Property)
		if err != nil {
			return err
		}
		slots, err := stay.slots(input.Numbers, StayCheckedIn)
		if err != nil {
			return err
		}
		if len(slots) == 0 {
			return inventory.Refuse(inventory.RefusalNotCheckedIn, "no guests of the stay are in the house")
		}
		var left []civil.Date
		for _, line := range stay.lines {
			if line.State == LineStateBooked && !line.Night.Before(today) {
				left = append(left, line.Night)
			}
		}
		if len(left) > 0 && !input.KeepNights {
			return inventory.Refuse(inventory.RefusalNightsLeft, fmt.Sprintf("%d nights are left from %s on: depart early to give them back, or keep them sold with keepNights", len(left), left[0]))
		}
		if _, err := dbsqlc.New(tx).CheckOut(ctx, dbsqlc.CheckOutParams{
			TenantID: actor.Tenant.UUID, Region: string(stay.Booking.ID.Region), BookingID: stay.Booking.ID.UUID, Item: stay.Item, Slots: slots, Now: now,
		}); err != nil {
			return fmt.Errorf("check out booking %s: %w", stay.Booking.ID, err)
		}
		for _, slot := range slots {
			if err := freeNightsTx(ctx, tx, *stay, slot+1, left); err != nil {
				return err
			}
		}
		if err := s.touchTx(ctx, tx, &stay.Booking, string(events.TypeBookingCheckedOut), now); err != nil {
			return err
		}
		return tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionDeskWork, Resource: stay.Booking.ID, After: map[string]any{"checkedOut": slots, "item": stay.Item, "nightsLeft": left},
		})
	})
}

// slots are the rooms of a stay, from 0, that are in a state: those that are named, which must all be, or all.
func (d *DeskStay) slots(numbers []int64, state StayState) ([]int64, error) {
	var slots []int64
	for _, number := range numbers {
		room, err := d.room(number)
		if err != nil {
			return nil, fault.Invalid("numbers", "the stay has the rooms 1 to %d, not %d", len(d.Rooms), number)
		}
		if room.State != state {
			code := inventory.RefusalNotCheckedIn
			if state == StayExpected {
				code = inventory.RefusalCheckedIn
			}
			return nil, inventory.Refuse(code, fmt.Sprintf("room %d of the stay is %s", number, room.State))
		}
		if !slices.Contains(slots, number-1) {
			slots = append(slots, number-1)
		}
	}
	if len(numbers) > 0 {
		return slots, nil
	}
	for _, room := range d.Rooms {
		if room.State == state {
			slots = append(slots, room.Number-1)
		}
	}
	return slots, nil
}
