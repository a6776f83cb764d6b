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
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// The front desk sees stays where the sale has lines: a stay is the nights of one item of a booking that
// still stand, with as many rooms as were booked of it. Nothing about a stay is stored twice: its dates
// are its lines', its rooms and who has come stand in tables of their own.

// StayState says whether the guests of a stay, or of one of its rooms, have come.
type StayState string

// The states of a stay.
const (
	StayExpected   StayState = "EXPECTED"
	StayCheckedIn  StayState = "CHECKED_IN"
	StayCheckedOut StayState = "CHECKED_OUT"
	StayNoShow     StayState = "NO_SHOW"
)

// DeskStay is a stay as the front desk sees it.
type DeskStay struct {
	Booking  Booking
	Item     int64
	Property tenants.PropertyID
	RoomType inventory.RoomTypeID
	// CheckIn is the day of the first night that stands, CheckOut the day after the last.
	CheckIn, CheckOut civil.Date
	// Nights are those that stand, in ascending order; a cancellation may have left a gap.
	Nights []civil.Date
	// State is EXPECTED until the guests of one room have come, CHECKED_IN while those of one room are in
	// the house, and then CHECKED_OUT.
	State StayState
	// Rooms are as many as were booked.
	Rooms []StayRoom

	lines []Line
}

// StayRoom is one of the rooms of a stay.
type StayRoom struct {
	// Number counts the rooms of the stay from 1.
	Number       int64
	State        StayState
	CheckedInAt  *time.Time
	CheckedOutAt *time.Time
	// Spans are the physical rooms in the order of the nights.
	Spans []RoomSpan
	// Unassigned are nights without a physical room.
	Unassigned []civil.Date
}

// Split says that the guests have to move from one physical room to another during their stay.
func (r StayRoom) Split() bool {
	return slices.ContainsFunc(r.Spans, func(s RoomSpan) bool { return s.Room != r.Spans[0].Room })
}

// RoomSpan is a physical room on nights that follow each other.
type RoomSpan struct {
	Room inventory.RoomID
	// Door is the room's number in the hotel.
	Door     string
	RoomType inventory.RoomTypeID
	// First and Last are nights, both included.
	First, Last civil.Date
}

// has says whether a room is assigned on a night.
func (r StayRoom) has(night civil.Date) bool {
	return slices.ContainsFunc(r.Spans, func(s RoomSpan) bool { return !night.Before(s.First) && !night.After(s.Last) })
}

// ordinal is the line of a night.
func (d DeskStay) ordinal(night civil.Date) int64 {
	for _, line := range d.lines {
		if line.Night == night {
			return line.Ordinal
		}
	}
	return -1
}

// stayOf is what stands of an item of a booking; ok is false where nothing does.
func stayOf(booking Booking, item int64) (stay DeskStay, ok bool) {
	stay = DeskStay{Booking: booking, Item: item, State: StayExpected}
	noShow := true
	for _, line := range booking.Lines {
		if line.Item != item || line.Kind != inventory.LineKindNight || line.State != LineStateBooked && line.State != LineStateNoShow {
			continue
		}
		stay.lines = append(stay.lines, line)
		noShow = noShow && line.State == LineStateNoShow
	}
	if len(stay.lines) == 0 {
		return stay, false
	}
	slices.SortFunc(stay.lines, func(a, b Line) int { return a.Night.Compare(b.Night) })
	for _, line := range stay.lines {
		stay.Nights = append(stay.Nights, line.Night)
	}
	first := stay.lines[0]
	stay.Property, stay.RoomType = first.Property, first.RoomType
	stay.CheckIn, stay.CheckOut = first.Night, stay.Nights[len(stay.Nights)-1].AddDays(1)
	if noShow {
		stay.State = StayNoShow
	}
	for slot := range first.Quantity {
		stay.Rooms = append(stay.Rooms, StayRoom{Number: slot + 1, State: stay.State})
	}
	return stay, true
}

// stayKey names a stay.
type stayKey struct {
	booking uuid.UUID
	item    int64
}

// staysTx completes stays of bookings of one tenant and region with their rooms and who has come.
func staysTx(ctx context.Context, q dbsqlc.DBTX, stays []DeskStay) error {
	if len(stays) == 0 {
		return nil
	}
	queries, tenant, region := dbsqlc.New(q), stays[0].Booking.Tenant.UUID, stays[0].Booking.ID.Region
	var named []uuid.UUID
	at := map[stayKey]*DeskStay{}
	for i := range stays {
		named = append(named, stays[i].Booking.ID.UUID)
		at[stayKey{stays[i].Booking.ID.UUID, stays[i].Item}] = &stays[i]
	}
	came, err := queries.CheckedInOfBookings(ctx, dbsqlc.CheckedInOfBookingsParams{TenantID: tenant, Region: string(region), BookingIds: named})
	if err != nil {
		return fmt.Errorf("read who has come: %w", err)
	}
	for _, row := range came {
		stay := at[stayKey{row.BookingID, row.Item}]
		if stay == nil || row.Slot >= int64(len(stay.Rooms)) {
			continue
		}
		room := &stay.Rooms[row.Slot]
		room.State, room.CheckedInAt, room.CheckedOutAt = StayState(row.State), &row.CheckedInAt, row.CheckedOutAt
	}
	rows, err := queries.RoomNightsOfBookings(ctx, dbsqlc.RoomNightsOfBookingsParams{TenantID: tenant, Region: string(region), BookingIds: named})
	if err != nil {
		return fmt.Errorf("read assigned rooms: %w", err)
	}
	for i := range stays {
		stays[i].place(region, rows)
		stays[i].State = stays[i].stateOfRooms()
	}
	return nil
}

// place adds physical rooms, which are in the order of booking, slot and night.
func (d *DeskStay) place(region ids.Region, rows []dbsqlc.RoomNightsOfBookingsRow) {
	for _, row := range rows {
		if *row.BookingID != d.Booking.ID.UUID || *row.Slot >= int64(len(d.Rooms)) {
			continue
		}
		if !slices.ContainsFunc(d.lines, func(l Line) bool { return l.Ordinal == *row.Ordinal }) {
			continue
		}
		room := &d.Rooms[*row.Slot]
		id := inventory.RoomID{Region: region, UUID: row.RoomID}
		if n := len(room.Spans); n > 0 && room.Spans[n-1].Room == id && room.Spans[n-1].Last.AddDays(1) == row.Night {
			room.Spans[n-1].Last = row.Night
			continue
		}
		room.Spans = append(room.Spans, RoomSpan{
			Room: id, Door: row.Number, RoomType: inventory.RoomTypeID{Region: region, UUID: row.RoomTypeID}, First: row.Night, Last: row.Night,
		})
	}
	for i := range d.Rooms {
		for _, night := range d.Nights {
			if !d.Rooms[i].has(night) {
				d.Rooms[i].Unassigned = append(d.Rooms[i].Unassigned, night)
			}
		}
	}
}

func (d *DeskStay) stateOfRooms() StayState {
	in, out := false, false
	for _, room := range d.Rooms {
		in = in || room.State == StayCheckedIn
		out = out || room.State == StayCheckedOut
	}
	switch {
	case in:
		return StayCheckedIn
	case out:
		return StayCheckedOut
	}
	return d.State
}

// StayList says which stays of a date are meant.
type StayList string

// The lists of the front desk.
const (
	StayListArrivals   StayList = "ARRIVALS"
	StayListDepartures StayList = "DEPARTURES"
	StayListInHouse    StayList = "IN_HOUSE"
)

// StayCursor is where a page of stays begins: after this one.
type StayCursor struct {
	Reference string
	Item      int64
}

// Cursor is where the page after this stay begins.
func (d DeskStay) Cursor() StayCursor {
	return StayCursor{Reference: d.Booking.Reference, Item: d.Item}
}

// Stays lists who arrives at a property on a date, who leaves, or who sleeps in it on the night, by the
// reference of the booking, and says whether more follow.
func (s *Service) Stays(ctx context.Context, actor tenants.Actor, property tenants.Property, list StayList, date civil.Date, after *StayCursor, limit int) ([]DeskStay, bool, error) {
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionDeskRead, "property", property.ID.Region, property.ID.UUID); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > inventory.MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	if !date.IsValid() || date.Year < 2000 || date.Year > 2199 {
		return nil, false, fault.Invalid("date", "expected a date between 2000 and 2199, such as 2027-03-14")
	}
	stays, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]DeskStay, error) {
		return staysOnTx(ctx, tx, actor.Tenant, property, list, date, after, limit+1)
	})
	if err != nil {
		return nil, false, err
	}
	more := len(stays) > limit
	if more {
		stays = stays[:limit]
	}
	return stays, more, nil
}

func staysOnTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, property tenants.Property, list StayList, date civil.Date, after *StayCursor, most int) ([]DeskStay, error) {
	queries, region := dbsqlc.New(tx), string(property.ID.Region)
	zone, err := property.Location()
	if err != nil {
		return nil, err
	}
	_, rooms, err := roomTypesOf(ctx, queries, tenant, property.ID)
	if err != nil {
		return nil, err
	}
	night := date
	if list == StayListDepartures {
		night = date.AddDays(-1)
	}
	params := dbsqlc.StaysOnDateParams{
		TenantID: tenant.UUID, Region: region, PropertyID: &property.ID.UUID, RoomTypeIds: rooms, Night: night, Kind: string(list),
		NightOver: night.AddDays(1).In(zone), AfterItem: -1, MaxRows: int32(most), //nolint:gosec // at most a few hundred
	}
	if after != nil {
		params.AfterReference, params.AfterItem = after.Reference, after.Item
	}
	rows, err := queries.StaysOnDate(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("list the stays of a date: %w", err)
	}
	named := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		named[i] = row.ID
	}
	bookings, err := bookingsByID(ctx, tx, tenant, property.ID.Region, named)
	if err != nil {
		return nil, err
	}
	stays := make([]DeskStay, 0, len(rows))
	for _, row := range rows {
		if stay, ok := stayOf(bookings[row.ID], row.Item); ok {
			stays = append(stays, stay)
		}
	}
	return stays, staysTx(ctx, tx, stays)
}

func bookingsByID(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, region ids.Region, named []uuid.UUID) (map[uuid.UUID]Booking, error) {
	rows, err := dbsqlc.New(tx).BookingsByID(ctx, dbsqlc.BookingsByIDParams{TenantID: tenant.UUID, Region: string(region), Ids: named})
	if err != nil {
		return nil, fmt.Errorf("read bookings: %w", err)
	}
	found := make([]Booking, len(rows))
	for i, row := range rows {
		if found[i], err = bookingOf(tenant, dbsqlc.BookingGetRow(row)); err != nil {
			return nil, err
		}
	}
	if err := withLines(ctx, tx, found); err != nil {
		return nil, err
	}
	result := make(map[uuid.UUID]Booking, len(found))
	for _, booking := range found {
		result[booking.ID.UUID] = booking
	}
	return result, nil
}

// StaysOfBooking are the stays of a booking as the front desk sees them.
func (s *Service) StaysOfBooking(ctx context.Context, actor tenants.Actor, id BookingID) ([]DeskStay, error) {
	may := s.authorizer.Authorize(actor, policies.ActionDeskRead, actor.Tenant)
	if _, err := tenants.ReachOf(may); err != nil {
		return nil, err
	}
	return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]DeskStay, error) {
		booking, err := getBooking(ctx, tx, actor.Tenant, id, everybody)
		if err == nil {
			err = within(ctx, tx, actor, may, booking)
		}
		if err != nil {
			return nil, err
		}
		stays := staysOf(booking)
		return stays, staysTx(ctx, tx, stays)
	})
}

// staysOf are the stays of a booking, by item.
func staysOf(booking Booking) []DeskStay {
	var items []int64
	for _, line := range booking.Lines {
		if line.Kind == inventory.LineKindNight && !slices.Contains(items, line.Item) {
			items = append(items, line.Item)
		}
	}
	slices.Sort(items)
	stays := []DeskStay{}
	for _, item := range items {
		if stay, ok := stayOf(booking, item); ok {
			stays = append(stays, stay)
		}
	}
	return stays
}
