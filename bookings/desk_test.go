package bookings_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

// desk is a hotel with rooms, whose dates are counted from the day it is there.
type desk struct {
	*bookingstest.Shop
	t     *testing.T
	hotel *inventorytest.Hotel
	room  *inventorytest.Room
	today civil.Date
}

// west is as far behind, and east as far before UTC as zones go: when it is a day in the west, the next one
// or the one after has come in the east.
const west, east = "Etc/GMT+12", "Pacific/Kiritimati"

// openDesk opens a hotel with so many rooms of a type, for forty nights.
func openDesk(t *testing.T, rooms int64) desk {
	t.Helper()
	shop := bookingstest.New(t)
	d := desk{Shop: shop, t: t, hotel: shop.HotelIn(west, "EUR")}
	d.today = d.date()
	d.room = d.hotel.Room("Double")
	d.room.Stock(rooms, d.today, d.today.AddDays(40))
	return d
}

func (d desk) date() civil.Date {
	d.t.Helper()
	today, _, err := inventory.TodayTx(d.t.Context(), d.DB.Pool(), d.ID, d.hotel.Property.ID)
	if err != nil {
		d.t.Fatal(err)
	}
	return today
}

// nextDay lets the hotel's day be over, by moving the hotel, and says what day it is then.
func (d *desk) nextDay() civil.Date {
	d.t.Helper()
	d.Exec("UPDATE properties SET time_zone = $3 WHERE tenant_id = $1 AND id = $2", d.hotel.Property.ID.UUID, east)
	return d.date()
}

// doors adds physical rooms.
func (d desk) doors(room *inventorytest.Room, numbers ...string) []inventory.Room {
	d.t.Helper()
	rooms := make([]inventory.NewRoom, len(numbers))
	for i, number := range numbers {
		rooms[i] = inventory.NewRoom{RoomType: room.ID, Number: number}
	}
	made, err := d.Inventory.CreateRooms(d.t.Context(), d.Owner, inventorytest.Key(), d.hotel.Property.ID, rooms)
	if err != nil {
		d.t.Fatal(err)
	}
	return made
}

// sold is a booking of rooms from one day on, so many nights.
func (d desk) sold(rooms int64, from, nights int) bookings.Booking {
	d.t.Helper()
	guest := d.Guest()
	hold := guest.Hold(d.room.On(rooms, d.today.AddDays(from), d.today.AddDays(from+nights)))
	expect(d.t, "booked", d.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	return *d.BookingOf(hold)
}

func (d desk) assign(booking bookings.Booking, change ...func(*bookings.AssignRoom)) (bookings.DeskStay, error) {
	input := bookings.AssignRoom{RequestKey: inventorytest.Key(), Booking: booking.ID, Number: 1}
	for _, c := range change {
		c(&input)
	}
	return d.Sales.AssignRoom(d.t.Context(), d.Owner, input)
}

func into(room inventory.Room) func(*bookings.AssignRoom) {
	return func(a *bookings.AssignRoom) { a.Room = &room.ID }
}

// check is what a stay's first room looks like, such as "CHECKED_IN 101:0-2 102:3-4 without 5".
func (d desk) stay(booking bookings.Booking) string {
	d.t.Helper()
	stays, err := d.Sales.StaysOfBooking(d.t.Context(), d.Owner, booking.ID)
	if err != nil {
		d.t.Fatal(err)
	}
	if len(stays) == 0 {
		return "nothing"
	}
	return d.explain(stays[0])
}

func (d desk) explain(stay bookings.DeskStay) string {
	parts := []string{string(stay.State)}
	for _, room := range stay.Rooms {
		parts = append(parts, d.spans(room.Spans))
		if room.Split() {
			parts = append(parts, "split")
		}
		if len(room.Unassigned) > 0 {
			parts = append(parts, fmt.Sprintf("lacks %d", len(room.Unassigned)))
		}
	}
	return strings.Join(parts, " ")
}

func (d desk) spans(spans []bookings.RoomSpan) string {
	parts := []string{}
	for _, span := range spans {
		parts = append(parts, fmt.Sprintf("%s:%d-%d", span.Door, span.First.DaysSince(d.today), span.Last.DaysSince(d.today)))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// refusal is the code of a refusal with the nights and the proposal of a room.
func (d desk) refusal(err error) string {
	var room *bookings.RoomRefusal
	var refusal *inventory.Refusal
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &room):
		text := string(room.Code)
		for _, night := range room.Nights {
			text += fmt.Sprintf(" %d=%s", night.Night.DaysSince(d.today), night.Code)
		}
		if len(room.Proposal) > 0 {
			text += " " + d.spans(room.Proposal)
		}
		return text
	case errors.As(err, &refusal):
		return string(refusal.Code)
	}
	return fault.KindOf(err).String() + ": " + err.Error()
}

// logged are the actions that the log of changes has of a booking, each with how often.
func (d desk) logged(booking bookings.Booking) string {
	d.t.Helper()
	var text string
	if err := d.DB.Pool().QueryRow(d.t.Context(), `
		SELECT COALESCE(string_agg(action || ' ' || entries::text, ', ' ORDER BY action), '')
		FROM (SELECT action, count(*) AS entries FROM audit_entries WHERE tenant_id = $1 AND resource = $2 GROUP BY action) AS e`,
		d.ID.UUID, booking.ID.String()).Scan(&text); err != nil {
		d.t.Fatal(err)
	}
	return text
}

func (d desk) cleared() {
	d.t.Helper()
	d.Settle()
	d.Audit()
}

// R23: two rooms, one taken early and one late: a stay over both is sold by the type, no single room is free,
// and it can be split.
func TestAStayForWhichNoSingleRoomIsFree(t *testing.T) {
	t.Parallel()
	d := openDesk(t, 2)
	doors := d.doors(d.room, "101", "102")
	early, late := d.sold(1, 1, 10), d.sold(1, 11, 10)
	for booking, door := range map[*bookings.Booking]int{&early: 0, &late: 1} {
		if _, err := d.assign(*booking, into(doors[door])); err != nil {
			t.Fatal(err)
		}
	}
	long := d.sold(1, 1, 20)
	_, err := d.assign(long)
	expect(t, "one room", d.refusal(err), "NO_SINGLE_ROOM [102:1-10 101:11-20]")
	expect(t, "nothing is assigned", d.stay(long), "EXPECTED [] lacks 20")
	_, err = d.assign(long, into(doors[0]))
	if got := d.refusal(err); !strings.HasPrefix(got, "ROOM_TAKEN 1=ROOM_TAKEN 2=ROOM_TAKEN") {
		t.Errorf("a room that is taken: %s", got)
	}
	if _, err = d.assign(long, func(a *bookings.AssignRoom) { a.Split = true }); err != nil {
		t.Fatal(err)
	}
	expect(t, "split", d.stay(long), "EXPECTED [102:1-10 101:11-20] split")
	expect(t, "events", strings.Join(d.Events(long.ID.UUID), ", "), "1 booking.confirmed, 2 booking.room_assigned")
	d.cleared()
}

// What is cancelled frees its room, on the nights that are cancelled and in the same transaction.
func TestACancelledNightFreesItsRoom(t *testing.T) {
	t.Parallel()
	d := openDesk(t, 3)
	doors := d.doors(d.room, "101", "102")
	first, second := d.sold(1, 2, 4), d.sold(1, 2, 4)
	if _, err := d.assign(first, into(doors[0])); err != nil {
		t.Fatal(err)
	}
	_, err := d.assign(second, into(doors[0]))
	expect(t, "the same room", d.refusal(err), "ROOM_TAKEN 2=ROOM_TAKEN 3=ROOM_TAKEN 4=ROOM_TAKEN 5=ROOM_TAKEN")
	if _, err := d.Sales.CancelBooking(t.Context(), d.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: first.ID, Ordinals: []int64{2, 3}}); err != nil {
		t.Fatal(err)
	}
	expect(t, "what is left", d.stay(first), "EXPECTED [101:2-3]")
	_, err = d.assign(second, into(doors[0]), func(a *bookings.AssignRoom) {
		from := d.today.AddDays(4)
		a.First = &from
	})
	expect(t, "the nights that were freed", d.refusal(err), "done")
	expect(t, "the other stay", d.stay(second), "EXPECTED [101:4-5] lacks 2")
	if _, err = d.assign(second, into(doors[1])); err != nil {
		t.Fatal(err)
	}
	expect(t, "another room in its place", d.stay(second), "EXPECTED [102:2-5]")
	if _, err := d.Sales.UnassignRoom(t.Context(), d.Owner, bookings.UnassignRoom{RequestKey: inventorytest.Key(), Booking: second.ID, Number: 1}); err != nil {
		t.Fatal(err)
	}
	expect(t, "no room", d.stay(second), "EXPECTED [] lacks 4")
	_, err = d.Sales.UnassignRoom(t.Context(), d.Owner, bookings.UnassignRoom{RequestKey: inventorytest.Key(), Booking: second.ID, Number: 1})
	expect(t, "again", d.refusal(err), "NO_ROOM_ASSIGNED")
	d.cleared()
}

// Of clerks who give one room to many guests at once, one wins.
func TestClerksRaceForARoom(t *testing.T) {
	t.Parallel()
	d := openDesk(t, 8)
	doors := d.doors(d.room, "101")
	var stays []bookings.Booking
	for range 6 {
		stays = append(stays, d.sold(1, 3, 2))
	}
	won := 0
	for i, err := range inventorytest.Race(len(stays), func(i int) error {
		_, err := d.assign(stays[i], into(doors[0]))
		return err
	}) {
		switch got := d.refusal(err); {
		case err == nil:
			won++
			expect(t, "the winner", d.stay(stays[i]), "EXPECTED [101:3-4]")
		case !strings.HasPrefix(got, "ROOM_TAKEN") && got != "BUSY":
			t.Errorf("clerk %d: %s", i, got)
		}
	}
	if won != 1 {
		t.Errorf("%d clerks gave the room", won)
	}
	d.cleared()
}

func TestWhichRoomsCanBeGiven(t *testing.T) {
	t.Parallel()
	d := openDesk(t, 5)
	suite := d.hotel.Room("Suite")
	double, better := d.doors(d.room, "101", "102"), d.doors(suite, "201")
	elsewhere := openDesk(t, 1)
	other := elsewhere.doors(elsewhere.room, "101")
	booking := d.sold(2, 1, 2)
	_, err := d.assign(booking, into(better[0]))
	expect(t, "another type", d.refusal(err), "ROOM_OF_OTHER_TYPE")
	_, err = d.assign(booking, into(better[0]), func(a *bookings.AssignRoom) { a.Upgrade = true })
	expect(t, "an upgrade", d.refusal(err), "done")
	_, err = d.assign(booking, into(other[0]))
	expectFault(t, "another tenant's room", err, fault.KindNotFound)
	_, err = d.assign(booking, func(a *bookings.AssignRoom) { a.Number = 3 })
	expectFault(t, "a third room of two", err, fault.KindInvalid)
	retired := inventory.RoomStateRetired
	if _, err := d.Inventory.UpdateRoom(t.Context(), d.Owner, inventorytest.Key(), double[0].ID, inventory.RoomChange{State: &retired}); err != nil {
		t.Fatal(err)
	}
	_, err = d.assign(booking, into(double[0]), func(a *bookings.AssignRoom) { a.Number = 2 })
	expect(t, "a room that is not used any more", d.refusal(err), "ROOM_RETIRED")
	_, err = d.assign(booking, func(a *bookings.AssignRoom) { a.Number = 2 })
	expect(t, "any room", d.refusal(err), "done")
	expect(t, "both", d.stay(booking), "EXPECTED [201:1-2] [102:1-2]")
	_, err = d.Inventory.UpdateRoom(t.Context(), d.Owner, inventorytest.Key(), double[1].ID, inventory.RoomChange{RoomType: &suite.ID})
	expectFault(t, "the type of a room with guests", err, fault.KindConflict)
	_, err = d.Inventory.CreateRooms(t.Context(), d.Owner, inventorytest.Key(), d.hotel.Property.ID, []inventory.NewRoom{{RoomType: d.room.ID, Number: "102"}})
	expectFault(t, "a number twice", err, fault.KindConflict)
	_, err = d.Inventory.CreateRooms(t.Context(), d.Owner, inventorytest.Key(), d.hotel.Property.ID, []inventory.NewRoom{{RoomType: d.room.ID, Number: ""}})
	expectFault(t, "no number", err, fault.KindInvalid)
	d.cleared()
}

// A period takes a room from what can be sold, whatever is sold, and from its guests; nights that are planned
// later count it, hand-set rooms come on top, and its end gives both back.
func TestARoomOutOfOrder(t *testing.T) {
	t.Parallel()
	d := openDesk(t, 2)
	doors := d.doors(d.room, "101", "102")
	booking, full := d.sold(1, 2, 3), d.sold(1, 3, 1)
	if _, err := d.assign(booking, into(doors[0])); err != nil {
		t.Fatal(err)
	}
	put := func(room inventory.Room, from, to int) (bookings.OutOfOrderSet, error) {
		return d.Sales.PutOutOfOrder(t.Context(), d.Owner, bookings.NewOutOfOrder{
			RequestKey: inventorytest.Key(), Room: room.ID, First: d.today.AddDays(from), Last: d.today.AddDays(to), Reason: "Water damage",
		})
	}
	set, err := put(doors[0], 3, 45)
	if err != nil {
		t.Fatal(err)
	}
	var over []string
	for _, night := range set.Oversold {
		over = append(over, fmt.Sprintf("%d: %d of %d", night.Night.DaysSince(d.today), night.Taken(), night.SellLimit))
	}
	expect(t, "sold above their limit", strings.Join(over, ", "), "3: 2 of 1")
	if len(set.Displaced) != 1 || set.Displaced[0] != booking.ID {
		t.Errorf("displaced: %v", set.Displaced)
	}
	expect(t, "who had the room", d.stay(booking), "EXPECTED [101:2-2] lacks 2")
	_, err = put(doors[0], 40, 50)
	expect(t, "another period of the room", d.refusal(err), "OUT_OF_ORDER_OVERLAP")
	_, err = d.assign(full, into(doors[0]))
	expect(t, "a room out of order", d.refusal(err), "ROOM_OUT_OF_ORDER 3=ROOM_OUT_OF_ORDER")
	left := func(day int) int64 {
		calendar, err := d.Inventory.Calendar(t.Context(), d.Owner, d.hotel.Property, inventory.CalendarQuestion{RoomTypes: []inventory.RoomTypeID{d.room.ID}, First: d.today.AddDays(day), Last: d.today.AddDays(day)})
		if err != nil || len(calendar.Nights) != 1 {
			t.Fatalf("%v %v", calendar, err)
		}
		return calendar.Nights[0].Available
	}
	// The second of two rooms by hand, then the second by a period: never less than none.
	d.edit(10, 12, inventory.NightChange{OutOfOrder: inventorytest.Of[int64](1)})
	expect(t, "by hand besides", fmt.Sprint(left(9), left(10)), "1 0")
	if _, err := put(doors[1], 11, 11); err != nil {
		t.Fatal(err)
	}
	expect(t, "more than there are", fmt.Sprint(left(11)), "0")
	d.Audit()
	// A night that is planned under the period counts it.
	d.room.Stock(2, d.today.AddDays(41), d.today.AddDays(46))
	expect(t, "planned later", fmt.Sprint(left(45), left(46)), "1 2")
	end := d.today.AddDays(20)
	if _, err := d.Sales.EndOutOfOrder(t.Context(), d.Owner, bookings.EndOutOfOrder{RequestKey: inventorytest.Key(), Period: set.Period.ID, Last: &end}); err != nil {
		t.Fatal(err)
	}
	expect(t, "shortened", fmt.Sprint(left(20), left(21), left(45)), "1 2 2")
	ended, err := d.Sales.EndOutOfOrder(t.Context(), d.Owner, bookings.EndOutOfOrder{RequestKey: inventorytest.Key(), Period: set.Period.ID})
	if err != nil || ended.Period.State != inventory.OutOfOrderEnded {
		t.Fatalf("%+v, %v", ended, err)
	}
	expect(t, "ended before it began", fmt.Sprint(left(4), left(9), left(10), left(11)), "1 2 1 0")
	_, err = d.Sales.EndOutOfOrder(t.Context(), d.Owner, bookings.EndOutOfOrder{RequestKey: inventorytest.Key(), Period: set.Period.ID})
	expect(t, "ended twice", d.refusal(err), "OUT_OF_ORDER_ENDED")
	_, err = d.assign(full, into(doors[0]))
	expect(t, "the room again", d.refusal(err), "done")
	expect(t, "events", strings.Join(d.Events(doors[0].ID.UUID), ", "), "2 room.out_of_order, 3 room.out_of_order, 4 room.out_of_order")
	d.cleared()
}

func (d desk) edit(from, to int, change inventory.NightChange) {
	d.t.Helper()
	if _, err := d.Inventory.SetNights(d.t.Context(), d.Owner, inventory.NightsEdit{
		RoomType: &d.room.ID, Nights: inventory.NightRange{First: d.today.AddDays(from), Last: d.today.AddDays(to)}, Change: change,
	}); err != nil {
		d.t.Fatal(err)
	}
}

// Arrivals get rooms of their own, the longest stays first, and a second call changes nothing.
func TestArrivalsGetRooms(t *testing.T) {
	t.Parallel()
	d := openDesk(t, 4)
	doors := d.doors(d.room, "101", "102", "103")
	later := d.sold(1, 3, 5)
	if _, err := d.assign(later, into(doors[0])); err != nil {
		t.Fatal(err)
	}
	short, long, pair := d.sold(1, 1, 2), d.sold(1, 1, 8), d.sold(2, 1, 3)
	rooms := bookings.AssignRooms{Property: d.hotel.Property, Date: d.today.AddDays(1), DryRun: true}
	for _, dry := range []bool{true, false} {
		rooms.DryRun = dry
		done, err := d.Sales.AssignRooms(t.Context(), d.Owner, rooms)
		if err != nil {
			t.Fatal(err)
		}
		if len(done.Given) != 3 || len(done.Lacking) != 1 || done.More {
			t.Fatalf("%+v", done)
		}
		if dry {
			expect(t, "only proposed", d.stay(long), "EXPECTED [] lacks 8")
		}
	}
	expect(t, "the longest", d.stay(long), "EXPECTED [102:1-8]")
	expect(t, "two nights before the later stay", d.stay(short), "EXPECTED [101:1-2]")
	expect(t, "one of two", d.stay(pair), "EXPECTED [103:1-3] [] lacks 3")
	rooms.Split = true
	done, err := d.Sales.AssignRooms(t.Context(), d.Owner, rooms)
	if err != nil || len(done.Given) != 0 || len(done.Lacking) != 1 || done.Lacking[0].Refusal.Code != inventory.RefusalNoRoom {
		t.Fatalf("%+v, %v", done, err)
	}
	d.cleared()
}

// list is a list of the front desk, such as "EXPECTED [101:0-1]; CHECKED_IN [102:0-3]".
func (d desk) list(list bookings.StayList, date civil.Date) string {
	d.t.Helper()
	var parts []string
	var after *bookings.StayCursor
	for {
		property := d.hotel.Property
		stays, more, err := d.Sales.Stays(d.t.Context(), d.Owner, property, list, date, after, 1)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, stay := range stays {
			parts = append(parts, d.explain(stay))
			at := stay.Cursor()
			after = &at
		}
		if !more {
			slices.Sort(parts)
			return strings.Join(parts, "; ")
		}
	}
}

func TestGuestsComeAndGo(t *testing.T) {
	t.Parallel()
	d := openDesk(t, 4)
	doors := d.doors(d.room, "101", "102")
	booking, future := d.sold(2, 0, 4), d.sold(1, 2, 2)
	in := func(id bookings.BookingID, numbers ...int64) string {
		_, err := d.Sales.CheckIn(t.Context(), d.Owner, bookings.CheckStay{RequestKey: inventorytest.Key(), Booking: id, Numbers: numbers})
		return d.refusal(err)
	}
	out := func(keep bool, numbers ...int64) string {
		_, err := d.Sales.CheckOut(t.Context(), d.Owner, bookings.CheckStay{RequestKey: inventorytest.Key(), Booking: booking.ID, Numbers: numbers, KeepNights: keep})
		return d.refusal(err)
	}
	expect(t, "before the day", in(future.ID), "NOT_DUE")
	expect(t, "without a room", in(booking.ID), "NO_ROOM_ASSIGNED")
	if _, err := d.assign(booking, into(doors[0])); err != nil {
		t.Fatal(err)
	}
	expect(t, "one of two", in(booking.ID, 1), "done")
	expect(t, "twice", in(booking.ID, 1), "CHECKED_IN")
	expect(t, "arrivals", d.list(bookings.StayListArrivals, d.today), "CHECKED_IN [101:0-3] [] lacks 4")
	expect(t, "later arrivals", d.list(bookings.StayListArrivals, d.today.AddDays(2)), "EXPECTED [] lacks 2")
	expect(t, "no arrivals", d.list(bookings.StayListArrivals, d.today.AddDays(1)), "")
	if _, err := d.assign(booking, func(a *bookings.AssignRoom) { a.Number = 2 }); err != nil {
		t.Fatal(err)
	}
	expect(t, "the other", in(booking.ID), "done")
	expect(t, "in the house", d.list(bookings.StayListInHouse, d.today.AddDays(3)), "CHECKED_IN [101:0-3] [102:0-3]")
	_, err := d.Sales.UnassignRoom(t.Context(), d.Owner, bookings.UnassignRoom{RequestKey: inventorytest.Key(), Booking: booking.ID, Number: 1})
	expect(t, "the room of who is in it", d.refusal(err), "CHECKED_IN")
	expect(t, "with nights left", out(false, 2), "NIGHTS_LEFT")
	expect(t, "with nights that stay sold", out(true, 2), "done")
	expect(t, "again", out(true, 2), "NOT_CHECKED_IN")
	expect(t, "one is left", d.stay(booking), "CHECKED_IN [101:0-3] [] lacks 4")
	expect(t, "departures", d.list(bookings.StayListDepartures, d.today.AddDays(4)), "CHECKED_IN [101:0-3] [] lacks 4; EXPECTED [] lacks 2")
	_, err = d.Sales.MarkNoShow(t.Context(), d.Owner, bookings.NoShow{RequestKey: inventorytest.Key(), Booking: booking.ID})
	expect(t, "a no-show", d.refusal(err), "NOT_DUE")
	expect(t, "events", strings.Join(d.Events(booking.ID.UUID), ", "),
		"1 booking.confirmed, 2 booking.room_assigned, 3 booking.checked_in, 4 booking.room_assigned, 5 booking.checked_in, 6 booking.checked_out")
	expect(t, "the log of changes", d.logged(booking), "desk.work 5")
	d.cleared()
}

// policy sets what a cancellation costs after the arrival.
func (d desk) policy(fee inventory.Fee) {
	d.t.Helper()
	policy := inventory.DefaultCancellationPolicy()
	policy.Final = fee
	if _, err := d.Inventory.SetCancellationPolicy(d.t.Context(), d.Owner, inventory.ConditionsScope{Property: &d.hotel.Property.ID}, policy); err != nil {
		d.t.Fatal(err)
	}
}

// Guests who leave early give their nights back once, for what the dry run said.
func TestGuestsLeaveEarly(t *testing.T) {
	t.Parallel()
	d := openDesk(t, 2)
	d.policy(inventory.FeePercent(6_000))
	doors := d.doors(d.room, "101")
	booking := d.sold(1, 0, 5)
	d.Until(booking.ID, 0)
	leave := bookings.DepartEarly{RequestKey: inventorytest.Key(), Booking: booking.ID, Date: d.today.AddDays(2), DryRun: true}
	_, err := d.Sales.DepartEarly(t.Context(), d.Owner, leave)
	expect(t, "who has not come", d.refusal(err), "NOT_CHECKED_IN")
	if _, err := d.assign(booking, into(doors[0])); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Sales.CheckIn(t.Context(), d.Owner, bookings.CheckStay{RequestKey: inventorytest.Key(), Booking: booking.ID}); err != nil {
		t.Fatal(err)
	}
	for _, day := range []int{-1, 0, 5, 9} {
		wrong := leave
		wrong.Date = d.today.AddDays(day)
		_, err := d.Sales.DepartEarly(t.Context(), d.Owner, wrong)
		expect(t, fmt.Sprintf("on day %d", day), d.refusal(err), "NOT_DUE")
	}
	quote, err := d.Sales.DepartEarly(t.Context(), d.Owner, leave)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "the dry run changes nothing", d.stay(booking), "CHECKED_IN [101:0-4]")
	leave.DryRun = false
	wrong := leave
	wrong.ExpectedFee = &money.Amount{Minor: quote.Fee.Minor + 1, Currency: "EUR"}
	_, err = d.Sales.DepartEarly(t.Context(), d.Owner, wrong)
	expect(t, "another fee than was told", d.refusal(err), "FEE_CHANGED")
	leave.ExpectedFee = &quote.Fee
	results := inventorytest.Race(4, func(int) error {
		_, err := d.Sales.DepartEarly(t.Context(), d.Owner, leave)
		return err
	})
	for i, err := range results {
		if err != nil && d.refusal(err) != "BUSY" {
			t.Errorf("caller %d: %s", i, d.refusal(err))
		}
	}
	var price int64
	for day := 2; day < 5; day++ {
		price += inventorytest.NightPrice(d.today.AddDays(day))
	}
	if quote.Fee.Minor*10 < price*6-10 || quote.Fee.Minor*10 > price*6+10 || quote.Fee.Minor+quote.Refund.Minor != price {
		t.Errorf("a fee of %s and a refund of %s for %d", quote.Fee, quote.Refund, price)
	}
	d.Settle()
	if kept, want := d.Kept()["EUR"], booking.Total.Minor-quote.Refund.Minor; kept != want {
		t.Errorf("the provider has %d, want %d", kept, want)
	}
	expect(t, "what is left", d.stay(booking), "CHECKED_IN [101:0-1]")
	expect(t, "the log of changes", d.logged(booking), "booking.cancel_any 1, desk.work 2")
	again := d.Guest()
	expect(t, "sold again, once", d.Explain(func() error { _, err := again.Try(d.room.On(2, d.today.AddDays(2), d.today.AddDays(5))); return err }()), d.Explain(nil))
	d.Audit()
}

// A no-show is marked once its day is over, and ended by a decision of its own: its nights are sold again, its
// fee is kept to the minor unit, or waived.
func TestNoShows(t *testing.T) {
	t.Parallel()
	for name, waive := range map[string]bool{"with its fee": false, "with its fee waived": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t, 2)
			d.policy(inventory.FeePercent(7_777))
			d.doors(d.room, "101")
			booking, present := d.sold(1, 0, 6), d.sold(1, 0, 6)
			if _, err := d.assign(present); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Sales.CheckIn(t.Context(), d.Owner, bookings.CheckStay{RequestKey: inventorytest.Key(), Booking: present.ID}); err != nil {
				t.Fatal(err)
			}
			mark := func(id bookings.BookingID) string {
				_, err := d.Sales.MarkNoShow(t.Context(), d.Owner, bookings.NoShow{RequestKey: inventorytest.Key(), Booking: id})
				return d.refusal(err)
			}
			expect(t, "on the day", mark(booking.ID), "NOT_DUE")
			past := d.nextDay().DaysSince(d.today)
			d.Until(booking.ID, 0)
			release := bookings.ReleaseNoShow{RequestKey: inventorytest.Key(), Booking: booking.ID, WaiveFee: waive, Reason: "A storm", DryRun: true}
			_, err := d.Sales.ReleaseNoShow(t.Context(), d.Owner, release)
			expect(t, "before it is marked", d.refusal(err), "NOT_NO_SHOW")
			expect(t, "who has come", mark(present.ID), "CHECKED_IN")
			expect(t, "after the day", mark(booking.ID), "done")
			_, err = d.Guest().Try(d.room.On(1, d.today.AddDays(past), d.today.AddDays(past+1)))
			expect(t, "a night of the no-show", d.refusal(err), "SOLD_OUT")
			quote, err := d.Sales.ReleaseNoShow(t.Context(), d.Owner, release)
			if err != nil || len(quote.Past) != past || len(quote.Released) != 6-past {
				t.Fatalf("%d past, %d ahead, %v", len(quote.Past), len(quote.Released), err)
			}
			release.DryRun, release.ExpectedFee = false, &quote.Fee
			for range 2 {
				done, err := d.Sales.ReleaseNoShow(t.Context(), d.Owner, release)
				if err != nil || done.Fee != quote.Fee || done.Refund != quote.Refund || len(done.Past) != past || len(done.Released) != 6-past {
					t.Fatalf("%+v, %v; want %+v", done, err, quote)
				}
			}
			total := booking.Total.Minor
			if fee := quote.Fee.Minor; waive && (fee != 0 || quote.Refund.Minor != total) ||
				!waive && (fee != money.Percent(total, 7_777) || quote.Refund.Minor != total-fee) {
				t.Errorf("a fee of %s and a refund of %s for %d", quote.Fee, quote.Refund, total)
			}
			_, err = d.Sales.CancelBooking(t.Context(), d.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID, Ordinals: []int64{0}})
			expect(t, "what is settled", d.refusal(err), "NOT_BOOKED")
			d.Settle()
			if kept, want := d.Kept()["EUR"], present.Total.Minor+quote.Fee.Minor; kept != want {
				t.Errorf("the provider has %d, want %d", kept, want)
			}
			d.Guest().Hold(d.room.On(1, d.today.AddDays(past), d.today.AddDays(past+1)))
			expect(t, "events", strings.Join(d.Events(booking.ID.UUID), ", "), "1 booking.confirmed, 2 booking.no_show, 3 booking.cancelled, 4 booking.no_show_settled")
			expect(t, "the log of changes", d.logged(booking), "booking.noshow 2")
			d.Audit()
		})
	}
}

// Who may not work the desk is told so, whoever's booking it is.
func TestWhoWorksTheDesk(t *testing.T) {
	t.Parallel()
	d, elsewhere := openDesk(t, 2), openDesk(t, 2)
	doors := d.doors(d.room, "101")
	booking := d.sold(1, 0, 1)
	for _, c := range []struct {
		name  string
		actor tenants.Actor
		want  fault.Kind
	}{
		{"a guest", d.Guest().Actor, fault.KindDenied},
		{"a partner", d.Partner("Agency").Actor, fault.KindDenied},
		{"another tenant", elsewhere.Owner, fault.KindNotFound},
	} {
		_, err := d.Sales.AssignRoom(t.Context(), c.actor, bookings.AssignRoom{RequestKey: "a", Booking: booking.ID, Number: 1, Room: &doors[0].ID})
		expectFault(t, c.name+" assigns", err, c.want)
		_, err = d.Sales.CheckIn(t.Context(), c.actor, bookings.CheckStay{RequestKey: "b", Booking: booking.ID})
		expectFault(t, c.name+" checks in", err, c.want)
		_, err = d.Sales.DepartEarly(t.Context(), c.actor, bookings.DepartEarly{RequestKey: "c", Booking: booking.ID, Date: d.today})
		expectFault(t, c.name+" leaves", err, c.want)
		_, err = d.Sales.ReleaseNoShow(t.Context(), c.actor, bookings.ReleaseNoShow{RequestKey: "d", Booking: booking.ID})
		expectFault(t, c.name+" releases", err, c.want)
		_, err = d.Sales.PutOutOfOrder(t.Context(), c.actor, bookings.NewOutOfOrder{RequestKey: "e", Room: doors[0].ID, First: d.today, Last: d.today, Reason: "x"})
		expectFault(t, c.name+" closes", err, c.want)
	}
	expect(t, "nothing happened", d.stay(booking), "EXPECTED [] lacks 1")
	d.cleared()
}
