package bookings

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// A physical room is given apart from the sale: it neither takes nor frees anything that can be sold. That a
// room has one use a night, and a guest one room, are keys of the table, so that of two clerks one wins.

// AssignRoom gives a room of a stay a physical room.
type AssignRoom struct {
	RequestKey string
	Booking    BookingID
	Item       int64
	// Number is which of the rooms of the stay, from 1.
	Number int64
	// Room is the physical room; nil has one chosen.
	Room *inventory.RoomID
	// First and Last are the nights; nil means all of the stay that are not over.
	First, Last *civil.Date
	// Upgrade allows a room of another type.
	Upgrade bool
	// Split allows several rooms one after the other, where no single one is free. Only without Room.
	Split bool
}

func (a AssignRoom) validate() error {
	switch {
	case a.Item < 0:
		return fault.Invalid("item", "expected 0 or more, got %d", a.Item)
	case a.Number < 1:
		return fault.Invalid("number", "expected 1 or more, got %d", a.Number)
	case a.Split && a.Room != nil:
		return fault.Invalid("split", "expected only without physicalRoom: a room that is named is for all the nights")
	case a.Upgrade && a.Room == nil:
		return fault.Invalid("upgrade", "expected only with physicalRoom: rooms of the type that was booked are chosen")
	case a.First != nil && !a.First.IsValid():
		return fault.Invalid("from", "expected a date such as 2027-03-14")
	case a.Last != nil && !a.Last.IsValid():
		return fault.Invalid("to", "expected a date such as 2027-03-14")
	case a.First != nil && a.Last != nil && a.Last.Before(*a.First):
		return fault.Invalid("to", "expected a date not before from %s, got %s", *a.First, *a.Last)
	}
	return nil
}

// RoomRefusal is the refusal of a room.
type RoomRefusal struct {
	*inventory.Refusal
	// Nights are those on which the room is not free, in ascending order.
	Nights []RefusedNight
	// Proposal is how the stay could be split over rooms, as far as there are any.
	Proposal []RoomSpan
}

// RefusedNight is a night on which a room is taken.
type RefusedNight struct {
	Night civil.Date
	// Code is ROOM_TAKEN or ROOM_OUT_OF_ORDER.
	Code inventory.RefusalCode
	// Booking is the one that has the room; nil for a period out of order.
	Booking *BookingID
}

// Unwrap gives the refusal.
func (r *RoomRefusal) Unwrap() error { return r.Refusal }

// AssignRoom puts the guests of one room of a stay into a physical room of the type that was booked, or of
// another where that is asked for, on all nights that are not over or on some of them; a room that they had
// on these nights is freed. Without a room it chooses one that is free on all the nights. Where none is, it
// is refused with NO_SINGLE_ROOM and how the stay could be split, or splits it, as asked.
func (s *Service) AssignRoom(ctx context.Context, actor tenants.Actor, input AssignRoom) (DeskStay, error) {
	return s.deskCommand(ctx, actor, "assignRoom", input.RequestKey, input.Booking, input.Item, input, input.validate, func(ctx context.Context, tx pgx.Tx, stay *DeskStay) error {
		return s.assignTx(ctx, tx, actor, stay, input)
	})
}

// sound is for commands that have nothing to validate before the stay is known.
func sound() error { return nil }

// deskCommand runs a command on a stay of a locked booking and answers with the stay as it is then; a
// repetition is answered with the stay as it is.
func (s *Service) deskCommand(ctx context.Context, actor tenants.Actor, operation, requestKey string, id BookingID, item int64, content any,
	validate func() error, change func(ctx context.Context, tx pgx.Tx, stay *DeskStay) error,
) (DeskStay, error) {
	may := s.authorizer.Authorize(actor, policies.ActionDeskWork, actor.Tenant)
	if _, err := tenants.ReachOf(may); err != nil {
		return DeskStay{}, err
	}
	if err := request.ValidateKey(requestKey); err != nil {
		return DeskStay{}, err
	}
	if err := validate(); err != nil {
		return DeskStay{}, err
	}
	fingerprint, err := request.Fingerprint(content)
	if err != nil {
		return DeskStay{}, err
	}
	done, err := db.Replayable(ctx, s.db, "bookings."+operation, func(ctx context.Context, tx pgx.Tx) (DeskStay, error) {
		_, replayed, err := request.Claim(ctx, tx, identity(actor, operation, id, requestKey), fingerprint, id.UUID)
		if err != nil {
			return DeskStay{}, err
		}
		booking, err := lockBooking(ctx, tx, actor.Tenant, id, everybody)
		if err == nil {
			err = within(ctx, tx, actor, may, booking)
		}
		if err != nil {
			return DeskStay{}, err
		}
		stay, err := readStayTx(ctx, tx, booking, item)
		if err != nil || replayed {
			return stay, err
		}
		if err := change(ctx, tx, &stay); err != nil {
			return DeskStay{}, err
		}
		return readStayTx(ctx, tx, stay.Booking, item)
	})
	return done, refusable(err)
}

// readStayTx is a stay of a booking with its rooms. One of which nothing stands is refused.
func readStayTx(ctx context.Context, tx pgx.Tx, booking Booking, item int64) (DeskStay, error) {
	stay, ok := stayOf(booking, item)
	if !ok {
		if !slices.ContainsFunc(booking.Lines, func(l Line) bool { return l.Item == item && l.Kind == inventory.LineKindNight }) {
			return DeskStay{}, fault.Invalid("item", "the booking has no stay %d", item)
		}
		return DeskStay{}, inventory.Refuse(inventory.RefusalNotBooked, "no night of the stay stands any more")
	}
	stays := []DeskStay{stay}
	err := staysTx(ctx, tx, stays)
	return stays[0], err
}

// room is one of the rooms of a stay.
func (d *DeskStay) room(number int64) (*StayRoom, error) {
	if number < 1 || number > int64(len(d.Rooms)) {
		return nil, fault.Invalid("number", "the stay has the rooms 1 to %d", len(d.Rooms))
	}
	return &d.Rooms[number-1], nil
}

// assignable are the nights of a stay on which a command gives or frees rooms: those that are named, or all,
// without those that are over. The night that began yesterday may still be slept.
func (d *DeskStay) assignable(first, last *civil.Date, today civil.Date) ([]civil.Date, error) {
	var nights []civil.Date
	for _, line := range d.lines {
		named := (first == nil || !line.Night.Before(*first)) && (last == nil || !line.Night.After(*last))
		switch {
		case !named || line.State != LineStateBooked:
		case !line.Night.Before(today.AddDays(-1)):
			nights = append(nights, line.Night)
		case first != nil:
			return nil, fault.Invalid("from", "the night of %s is over at the hotel, where it is %s", line.Night, today)
		}
	}
	if len(nights) > 0 {
		return nights, nil
	}
	if first != nil || last != nil {
		return nil, fault.Invalid("from", "the stay is of the nights %s to %s, and has none that is named", d.CheckIn, d.CheckOut.AddDays(-1))
	}
	return nil, inventory.Refuse(inventory.RefusalNotBooked, "no night of the stay is still to come")
}

func (s *Service) assignTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, stay *DeskStay, input AssignRoom) error {
	room, err := stay.room(input.Number)
	if err != nil {
		return err
	}
	today, now, err := inventory.TodayTx(ctx, tx, actor.Tenant, stay.Property)
	if err != nil {
		return err
	}
	if room.State == StayCheckedOut {
		return inventory.Refuse(inventory.RefusalNotCheckedIn, "the guests have gone")
	}
	nights, err := stay.assignable(input.First, input.Last, today)
	if err != nil {
		return err
	}
	var named inventory.Room
	if input.Room != nil {
		if named, err = assignableRoomTx(ctx, tx, actor.Tenant, *stay, input); err != nil {
			return err
		}
	}
	if err := freeNightsTx(ctx, tx, *stay, room.Number, nights); err != nil {
		return err
	}
	var spans []RoomSpan
	if input.Room != nil {
		if err := judgeRoomTx(ctx, tx, actor.Tenant, named, nights); err != nil {
			return err
		}
		spans = spansOf(named, nights)
	} else if spans, err = chooseTx(ctx, tx, *stay, nights, input.Split); err != nil {
		return err
	}
	if err := takeNightsTx(ctx, tx, *stay, room.Number, spans); err != nil {
		return err
	}
	if err := s.touchTx(ctx, tx, &stay.Booking, string(events.TypeBookingRoomAssigned), now); err != nil {
		return err
	}
	return tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionDeskWork, Resource: stay.Booking.ID, Before: assigned{"rooms", stay.Item, room.Number, room.Spans},
		After: assigned{"rooms", stay.Item, room.Number, spans},
	})
}

// assigned is what the log of changes says of rooms.
type assigned struct {
	Change string
	Item   int64
	Number int64
	Spans  []RoomSpan
}

// assignableRoomTx locks the room that was named and says whether guests of a stay may be put into it.
func assignableRoomTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, stay DeskStay, input AssignRoom) (inventory.Room, error) {
	if input.Room.Region != stay.Booking.ID.Region {
		return inventory.Room{}, fault.NotFound("room")
	}
	room, err := inventory.LockRoom(ctx, tx, tenant, *input.Room)
	switch {
	case err != nil:
		return inventory.Room{}, err
	case room.Property != stay.Property:
		return inventory.Room{}, fault.NotFound("room")
	case room.State != inventory.RoomStateInUse:
		return inventory.Room{}, inventory.Refuse(inventory.RefusalRoomRetired, fmt.Sprintf("room %s is not used any more", room.Number))
	case room.RoomType != stay.RoomType && !input.Upgrade:
		return inventory.Room{}, inventory.Refuse(inventory.RefusalRoomOtherType, fmt.Sprintf("room %s is not of the type that was booked; ask for an upgrade to give it all the same", room.Number))
	}
	return room, nil
}

// judgeRoomTx refuses a room that is taken on some of the nights, and names them.
func judgeRoomTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, room inventory.Room, nights []civil.Date) error {
	rows, err := dbsqlc.New(tx).RoomNightsBetween(ctx, dbsqlc.RoomNightsBetweenParams{
		TenantID: tenant.UUID, Region: string(room.ID.Region), RoomIds: []uuid.UUID{room.ID.UUID}, FirstNight: nights[0], LastNight: nights[len(nights)-1],
	})
	if err != nil {
		return fmt.Errorf("read what room %s is taken for: %w", room.ID, err)
	}
	var refused []RefusedNight
	for _, row := range rows {
		if !slices.Contains(nights, row.Night) {
			continue
		}
		night := RefusedNight{Night: row.Night, Code: inventory.RefusalRoomOutOfOrder}
		if row.BookingID != nil {
			night.Code, night.Booking = inventory.RefusalRoomTaken, &BookingID{Region: room.ID.Region, UUID: *row.BookingID}
		}
		refused = append(refused, night)
	}
	if len(refused) == 0 {
		return nil
	}
	return &RoomRefusal{
		Refusal: inventory.Refuse(refused[0].Code, fmt.Sprintf("room %s is not free on %d of the nights, first on %s", room.Number, len(refused), refused[0].Night)),
		Nights:  refused,
	}
}

// chooseTx finds a room for nights of a stay, or where that is allowed, several.
func chooseTx(ctx context.Context, tx pgx.Tx, stay DeskStay, nights []civil.Date, split bool) ([]RoomSpan, error) {
	free, err := readFreeRooms(ctx, tx, stay.Booking.Tenant, stay.Booking.ID.Region, []uuid.UUID{stay.RoomType.UUID}, nights[0], nights[len(nights)-1])
	if err != nil {
		return nil, err
	}
	return free.choose(stay.RoomType, nights, split)
}

// choose is a single room or, where that is allowed, a split; else the refusal says why not.
func (f freeRooms) choose(roomType inventory.RoomTypeID, nights []civil.Date, split bool) ([]RoomSpan, error) {
	if spans, ok := f.single(roomType, nights); ok {
		return spans, nil
	}
	spans, whole := f.split(roomType, nights)
	switch {
	case !whole:
		return nil, &RoomRefusal{Refusal: inventory.Refuse(inventory.RefusalNoRoom, "on some of the nights no room of the type is free"), Proposal: spans}
	case !split:
		return nil, &RoomRefusal{
			Refusal:  inventory.Refuse(inventory.RefusalNoSingleRoom, fmt.Sprintf("no single room is free on all %d nights; %d rooms after each other are", len(nights), len(spans))),
			Proposal: spans,
		}
	}
	return spans, nil
}

// takeNightsTx writes assignments. Of two who want a room on a night the key of the table refuses one.
func takeNightsTx(ctx context.Context, tx pgx.Tx, stay DeskStay, number int64, spans []RoomSpan) error {
	params := dbsqlc.GuestNightsInsertParams{
		TenantID: stay.Booking.Tenant.UUID, Region: string(stay.Booking.ID.Region), BookingID: stay.Booking.ID.UUID, Slot: number - 1,
	}
	for _, span := range spans {
		for night := span.First; !night.After(span.Last); night = night.AddDays(1) {
			params.RoomIds = append(params.RoomIds, span.Room.UUID)
			params.RoomTypeIds = append(params.RoomTypeIds, span.RoomType.UUID)
			params.Nights = append(params.Nights, night)
			params.Ordinals = append(params.Ordinals, stay.ordinal(night))
		}
	}
	if _, err := dbsqlc.New(tx).GuestNightsInsert(ctx, params); err != nil {
		if db.ViolatedConstraint(err) == "room_nights_pkey" {
			return &RoomRefusal{Refusal: inventory.Refuse(inventory.RefusalRoomTaken, "somebody else was given the room meanwhile")}
		}
		return fmt.Errorf("assign rooms to booking %s: %w", stay.Booking.ID, err)
	}
	return nil
}

// freeNightsTx takes the physical rooms of nights of one of a stay's rooms away.
func freeNightsTx(ctx context.Context, tx pgx.Tx, stay DeskStay, number int64, nights []civil.Date) error {
	params := dbsqlc.GuestNightsDeleteParams{
		TenantID: stay.Booking.Tenant.UUID, Region: string(stay.Booking.ID.Region), BookingID: &stay.Booking.ID.UUID, Slot: number - 1,
	}
	for _, night := range nights {
		params.Ordinals = append(params.Ordinals, stay.ordinal(night))
	}
	if _, err := dbsqlc.New(tx).GuestNightsDelete(ctx, params); err != nil {
		return fmt.Errorf("free rooms of booking %s: %w", stay.Booking.ID, err)
	}
	return nil
}

// freeRoomsTx frees the physical rooms of lines that move to a state in which nobody sleeps.
func freeRoomsTx(ctx context.Context, tx pgx.Tx, booking Booking, ordinals []int64, to LineState) error {
	if to != LineStateCancelled && to != LineStateWalked && to != LineStateChanged {
		return nil
	}
	if _, err := dbsqlc.New(tx).GuestNightsDelete(ctx, dbsqlc.GuestNightsDeleteParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), BookingID: &booking.ID.UUID, Slot: -1, Ordinals: ordinals,
	}); err != nil {
		return fmt.Errorf("free rooms of booking %s: %w", booking.ID, err)
	}
	return nil
}

// UnassignRoom takes the physical room of a room of a stay away, on all nights that are not over or on some.
type UnassignRoom struct {
	RequestKey  string
	Booking     BookingID
	Item        int64
	Number      int64
	First, Last *civil.Date
}

// UnassignRoom frees what AssignRoom took. Guests who are in the house keep their room.
func (s *Service) UnassignRoom(ctx context.Context, actor tenants.Actor, input UnassignRoom) (DeskStay, error) {
	as := AssignRoom{Item: input.Item, Number: input.Number, First: input.First, Last: input.Last}
	return s.deskCommand(ctx, actor, "unassignRoom", input.RequestKey, input.Booking, input.Item, input, as.validate, func(ctx context.Context, tx pgx.Tx, stay *DeskStay) error {
		room, err := stay.room(input.Number)
		if err != nil {
			return err
		}
		if room.State == StayCheckedIn {
			return inventory.Refuse(inventory.RefusalCheckedIn, "the guests are in the room: assign them another one")
		}
		today, now, err := inventory.TodayTx(ctx, tx, actor.Tenant, stay.Property)
		if err != nil {
			return err
		}
		nights, err := stay.assignable(input.First, input.Last, today)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(nights, room.has) {
			return inventory.Refuse(inventory.RefusalNoRoomAssigned, "the guests have no room on these nights")
		}
		if err := freeNightsTx(ctx, tx, *stay, room.Number, nights); err != nil {
			return err
		}
		if err := s.touchTx(ctx, tx, &stay.Booking, string(events.TypeBookingRoomUnassigned), now); err != nil {
			return err
		}
		return tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionDeskWork, Resource: stay.Booking.ID, Before: assigned{"rooms", stay.Item, room.Number, room.Spans},
			After: map[string]any{"freed": nights},
		})
	})
}

// maxStaysPerAssignment bounds the rooms of stays that one call assigns.
const maxStaysPerAssignment = 200

// AssignRooms proposes or assigns rooms for who arrives at a property on a date.
type AssignRooms struct {
	Property tenants.Property
	Date     civil.Date
	// Split allows several rooms one after the other, where no single one is free.
	Split bool
	// DryRun proposes, and changes nothing.
	DryRun bool
}

// RoomsAssigned is what AssignRooms did, or in a dry run would do.
type RoomsAssigned struct {
	Given []GivenRoom
	// Lacking are those for whom nothing was found.
	Lacking []LackingRoom
	// More says that there are more arrivals without a room than one call assigns: call again.
	More bool
}

// GivenRoom is one room of a stay with the physical rooms that were found for it.
type GivenRoom struct {
	Booking BookingID
	// Reference is the booking's.
	Reference string
	Item      int64
	Number    int64
	Spans     []RoomSpan
}

// LackingRoom is one room of a stay without a physical room, and why.
type LackingRoom struct {
	GivenRoom
	Refusal *inventory.Refusal
}

// AssignRooms gives those arrivals of a date that have no room yet one each, for all their nights: the
// longest stays first, because who stays longer has fewer rooms to choose from. It is not one transaction:
// each is assigned as AssignRoom does, and a second call goes on with those who still have none.
func (s *Service) AssignRooms(ctx context.Context, actor tenants.Actor, input AssignRooms) (RoomsAssigned, error) {
	at := input.Property.ID
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionDeskWork, "property", at.Region, at.UUID); err != nil {
		return RoomsAssigned{}, err
	}
	if !input.Date.IsValid() || input.Date.Year < 2000 || input.Date.Year > 2199 {
		return RoomsAssigned{}, fault.Invalid("date", "expected a date between 2000 and 2199, such as 2027-03-14")
	}
	plan, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (RoomsAssigned, error) {
		return planTx(ctx, tx, actor.Tenant, input)
	})
	if err != nil || input.DryRun {
		return plan, err
	}
	result := RoomsAssigned{Lacking: plan.Lacking, More: plan.More}
	for _, given := range plan.Given {
		err := s.giveTx(ctx, actor, given)
		var refusal *inventory.Refusal
		switch {
		case err == nil:
			result.Given = append(result.Given, given)
		case errors.As(err, &refusal):
			given.Spans = nil
			result.Lacking = append(result.Lacking, LackingRoom{GivenRoom: given, Refusal: refusal})
		default:
			return RoomsAssigned{}, err
		}
	}
	return result, nil
}

// planTx finds rooms for the arrivals of a date that have none on some night.
func planTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, input AssignRooms) (RoomsAssigned, error) {
	today, _, err := inventory.TodayTx(ctx, tx, tenant, input.Property.ID)
	if err != nil {
		return RoomsAssigned{}, err
	}
	stays, err := staysOnTx(ctx, tx, tenant, input.Property, StayListArrivals, input.Date, nil, inventory.MaxRooms)
	if err != nil {
		return RoomsAssigned{}, err
	}
	type wanted struct {
		given  GivenRoom
		typ    inventory.RoomTypeID
		nights []civil.Date
	}
	var all []wanted
	var types []uuid.UUID
	last := input.Date
	for _, stay := range stays {
		nights, err := stay.assignable(nil, nil, today)
		if err != nil {
			continue // nothing of it is still to come
		}
		for _, room := range stay.Rooms {
			if room.State != StayExpected || len(room.Spans) > 0 {
				continue
			}
			all = append(all, wanted{
				given: GivenRoom{Booking: stay.Booking.ID, Reference: stay.Booking.Reference, Item: stay.Item, Number: room.Number}, typ: stay.RoomType, nights: nights,
			})
		}
		if !slices.Contains(types, stay.RoomType.UUID) {
			types = append(types, stay.RoomType.UUID)
		}
		if nights[len(nights)-1].After(last) {
			last = nights[len(nights)-1]
		}
	}
	slices.SortStableFunc(all, func(a, b wanted) int { return len(b.nights) - len(a.nights) })
	plan := RoomsAssigned{More: len(all) > maxStaysPerAssignment}
	all = all[:min(len(all), maxStaysPerAssignment)]
	if len(all) == 0 {
		return plan, nil
	}
	free, err := readFreeRooms(ctx, tx, tenant, input.Property.ID.Region, types, earlier(input.Date, today.AddDays(-1)), last)
	if err != nil {
		return RoomsAssigned{}, err
	}
	for _, want := range all {
		spans, err := free.choose(want.typ, want.nights, input.Split)
		var refused *RoomRefusal
		if errors.As(err, &refused) {
			want.given.Spans = refused.Proposal
			plan.Lacking = append(plan.Lacking, LackingRoom{GivenRoom: want.given, Refusal: refused.Refusal})
			continue
		}
		free.takeSpans(spans)
		want.given.Spans = spans
		plan.Given = append(plan.Given, want.given)
	}
	return plan, nil
}

// earlier is the earlier of two dates.
func earlier(a, b civil.Date) civil.Date {
	if b.Before(a) {
		return b
	}
	return a
}

// giveTx assigns what was planned, unless the stay has changed or has a room meanwhile.
func (s *Service) giveTx(ctx context.Context, actor tenants.Actor, given GivenRoom) error {
	_, err := s.deskCommand(ctx, actor, "assignRooms", uuid.NewString(), given.Booking, given.Item, given, sound, func(ctx context.Context, tx pgx.Tx, stay *DeskStay) error {
		room, err := stay.room(given.Number)
		if err != nil {
			return err
		}
		_, now, err := inventory.TodayTx(ctx, tx, actor.Tenant, stay.Property)
		if err != nil {
			return err
		}
		if len(room.Spans) > 0 || room.State != StayExpected {
			return inventory.Refuse(inventory.RefusalRoomTaken, "the guests were given a room meanwhile")
		}
		for _, span := range given.Spans {
			if _, err := assignableRoomTx(ctx, tx, actor.Tenant, *stay, AssignRoom{Room: &span.Room}); err != nil {
				return err
			}
			for night := span.First; !night.After(span.Last); night = night.AddDays(1) {
				if stay.ordinal(night) < 0 {
					return inventory.Refuse(inventory.RefusalNotBooked, "the stay has changed meanwhile")
				}
			}
		}
		if err := takeNightsTx(ctx, tx, *stay, given.Number, given.Spans); err != nil {
			return err
		}
		if err := s.touchTx(ctx, tx, &stay.Booking, string(events.TypeBookingRoomAssigned), now); err != nil {
			return err
		}
		return tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionDeskWork, Resource: stay.Booking.ID, After: assigned{"rooms", stay.Item, room.Number, given.Spans},
		})
	})
	return err
}
