package inventory_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/tenants"
)

// everyTable is what a refused command must leave as it was.
func everyTable(tenant *inventorytest.Tenant) map[string]int {
	rows := map[string]int{}
	for _, table := range []string{
		"requests", "holds", "hold_lines", "events", "shows", "price_levels", "show_seats", "pools", "pool_counters",
		"seating_charts", "room_types", "night_plans", "night_rates", "night_counters", "house_counters", "sales_terms",
	} {
		rows[table] = tenant.Rows(table)
	}
	return rows
}

func expectUntouched(t *testing.T, tenant *inventorytest.Tenant, before map[string]int) {
	t.Helper()
	if after := everyTable(tenant); !maps.Equal(before, after) {
		t.Errorf("rows before %v\nand after %v", before, after)
	}
	tenant.Audit()
}

func TestMalformedHolds(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	yen := e.tenant.HallIn("JPY", 2, inventorytest.PoolOf("Floor", 5, 1))
	dear := e.tenant.Hotel().Room("Palace")
	e.tenant.SetTerms(inventory.TermsChange{
		MaxNightsPerStay: inventorytest.Of[int64](366), MaxQuantityPerHold: inventorytest.Of[int64](1000), MaxSeatsPerHold: inventorytest.Of[int64](100),
	})
	dear.Set(1, 10, inventory.NightChange{Physical: inventorytest.Of[int64](100), RateMinor: inventorytest.Of[int64](money.MaxMinor)})
	abroad := e.hall.Seats(1)
	abroad.Seats.Seats[0].Region = "us"
	abroadShow := e.hall.Seats(1)
	abroadShow.Seats.Show.Region, abroadShow.Seats.Seats[0].Region = "us", "us"
	abroadPool := e.floor.Units(1)
	abroadPool.Pool.Pool.Region = "us"
	abroadRoom := e.room.Stay(5, 6)
	abroadRoom.Stay.RoomType.Region = "us"
	impossible := e.room.Stay(5, 6)
	impossible.Stay.CheckIn = civil.Date{Year: 2097, Month: time.February, Day: 30}
	impossibleEnd := e.room.Stay(5, 6)
	impossibleEnd.Stay.CheckOut = civil.Date{}
	ancient := e.room.On(1, civil.Date{Year: 1, Month: 1, Day: 1}, civil.Date{Year: 1, Month: 1, Day: 3})
	nowhere := civil.Date{Year: -9999, Month: 1, Day: 1}
	farOff := civil.Date{Year: 9_999_999, Month: 1, Day: 1}
	both := e.floor.Units(1)
	both.Stay = e.room.Stay(5, 6).Stay
	noSeats := e.hall.Seats()
	var many []inventory.LineRequest
	for range 21 {
		many = append(many, e.floor.Units(1))
	}
	var crowd, crowd2 []int
	for i := range 600 {
		crowd, crowd2 = append(crowd, i+1), append(crowd2, i+601)
	}
	one := func(line inventory.LineRequest) inventory.PlaceHold {
		return inventory.PlaceHold{RequestKey: "k", Lines: []inventory.LineRequest{line}}
	}
	two := func(a, b inventory.LineRequest) inventory.PlaceHold {
		return inventory.PlaceHold{RequestKey: "k", Lines: []inventory.LineRequest{a, b}}
	}
	today := civil.DateOf(e.tenant.Now().In(vienna(t)))
	before := everyTable(e.tenant)
	guest := e.tenant.Guest()
	for _, input := range []struct {
		input inventory.PlaceHold
		want  string
	}{
		{inventory.PlaceHold{Lines: []inventory.LineRequest{e.hall.Seats(1)}}, "requestKey: expected 1 to 255 characters"},
		{inventory.PlaceHold{RequestKey: strings.Repeat("k", 256), Lines: []inventory.LineRequest{e.hall.Seats(1)}}, "requestKey: expected 1 to 255 characters"},
		{inventory.PlaceHold{RequestKey: "a\x00b", Lines: []inventory.LineRequest{e.hall.Seats(1)}}, "requestKey: expected 1 to 255 characters"},
		{inventory.PlaceHold{RequestKey: "\xff", Lines: []inventory.LineRequest{e.hall.Seats(1)}}, "requestKey: expected 1 to 255 characters"},
		{inventory.PlaceHold{RequestKey: "k"}, "lines: expected 1 to 20 lines, got 0"},
		{inventory.PlaceHold{RequestKey: "k", Lines: many}, "lines: expected 1 to 20 lines, got 21"},
		{one(inventory.LineRequest{}), "lines[0]: expected exactly one of seats, pool, stay, bestAvailable"},
		{one(both), "lines[0]: expected exactly one of seats, pool, stay, bestAvailable"},
		{one(noSeats), "lines[0].seats.seats: expected at least one seat"},
		{one(e.hall.Seats(1, 2, 1)), "lines[0].seats.seats[2]: the same seat is named at lines[0].seats.seats[0]"},
		{two(e.hall.Seats(1, 2), e.hall.Seats(2)), "lines[1].seats.seats[0]: the same seat is named at lines[0].seats.seats[1]"},
		{two(e.hall.Seats(crowd...), e.hall.Seats(crowd2...)), "lines[1]: the hold names more than 1000 seats, pools and nights"},
		{one(abroad), "lines[0].seats.seats[0]: the seat is of another region than its show"},
		{two(e.hall.Seats(1), abroadShow), `lines[1].seats.show: a hold lies in one region; this is in "us", the first line in "eu"`},
		{two(e.hall.Seats(1), abroadPool), `lines[1].pool.pool: a hold lies in one region; this is in "us", the first line in "eu"`},
		{two(e.hall.Seats(1), abroadRoom), `lines[1].stay.roomType: a hold lies in one region; this is in "us", the first line in "eu"`},
		{one(e.floor.Units(0)), "lines[0].pool.quantity: expected 1 to 1000, got 0"},
		{one(e.floor.Units(-1)), "lines[0].pool.quantity: expected 1 to 1000, got -1"},
		{one(e.floor.Units(1001)), "lines[0].pool.quantity: expected 1 to 1000, got 1001"},
		{two(e.floor.Units(1), e.floor.Units(2)), "lines[1].pool.pool: the same pool is named at lines[0].pool; ask for the sum in one line"},
		{one(impossible), "lines[0].stay.checkIn: expected a date such as 2027-03-14"},
		{one(impossibleEnd), "lines[0].stay.checkOut: expected a date such as 2027-03-17"},
		{one(e.room.Stay(6, 6)), "lines[0].stay.checkOut: expected a date after checkIn 2097-11-06, got 2097-11-06"},
		{one(e.room.Stay(6, 5)), "lines[0].stay.checkOut: expected a date after checkIn 2097-11-06, got 2097-11-05"},
		{one(e.room.Stay(1, 368)), "lines[0].stay.checkOut: a stay has at most 366 nights, this one has 367"},
		{one(e.room.On(1, nowhere, nowhere.AddDays(2))), "lines[0].stay.checkIn: expected a date such as 2027-03-14"},
		{one(e.room.On(1, farOff, farOff.AddDays(2))), "lines[0].stay.checkIn: expected a date such as 2027-03-14"},
		{one(ancient), fmt.Sprintf("lines[0].stay.checkIn: expected today at the property (%s) or later, got 0001-01-01", today)},
		{one(e.room.On(1, today.AddDays(-1), today.AddDays(1))), fmt.Sprintf("lines[0].stay.checkIn: expected today at the property (%s) or later, got %s", today, today.AddDays(-1))},
		{one(e.room.Rooms(0, 5, 6)), "lines[0].stay.rooms: expected 1 to 100, got 0"},
		{one(e.room.Rooms(-3, 5, 6)), "lines[0].stay.rooms: expected 1 to 100, got -3"},
		{one(e.room.Rooms(101, 5, 6)), "lines[0].stay.rooms: expected 1 to 100, got 101"},
		{two(e.room.Stay(3, 6), e.room.Stay(5, 8)), "lines[1].stay: it shares nights of the same room type with lines[0].stay; ask for the rooms in one line"},
		{two(e.hall.Seats(1), yen.Seats(1)), "lines[1]: a hold has one currency; this line is in JPY, the first in EUR"},
		{two(yen.Pools[0].Units(1), e.room.Stay(5, 6)), "lines[1]: a hold has one currency; this line is in EUR, the first in JPY"},
		{one(dear.Stay(5, 7)), "lines[0]: the total of the hold is too large"},
		{two(e.hall.Seats(1), dear.Stay(5, 6)), "lines[1]: the total of the hold is too large"},
		{one(dear.Rooms(100, 1, 11)), "lines[0]: the total of the hold is too large"},
		{inventory.PlaceHold{RequestKey: "k", Lines: []inventory.LineRequest{e.hall.Seats(1)}, ExpectedTotal: &money.Amount{Minor: -1, Currency: "EUR"}}, "expectedTotal.amountMinor: expected 0 to 1000000000000, got -1"},
		{inventory.PlaceHold{RequestKey: "k", Lines: []inventory.LineRequest{e.hall.Seats(1)}, ExpectedTotal: &money.Amount{Minor: 1 << 62, Currency: "EUR"}}, "expectedTotal.amountMinor: expected 0 to 1000000000000, got 4611686018427387904"},
	} {
		_, err := e.tenant.Inventory.PlaceHold(t.Context(), guest.Actor, input.input)
		expectAnswer(t, e.tenant, err, "invalid: "+input.want)
	}
	for _, amount := range []money.Amount{{Minor: inventorytest.SeatPrice, Currency: "USD"}, {Minor: inventorytest.SeatPrice}, {Minor: inventorytest.SeatPrice, Currency: "XXX"}} {
		input := one(e.hall.Seats(1))
		input.ExpectedTotal = &amount
		_, err := e.tenant.Inventory.PlaceHold(t.Context(), guest.Actor, input)
		expectAnswer(t, e.tenant, err, "PRICE_CHANGED")
	}
	expectUntouched(t, e.tenant, before)

	// Without a guest there is no buyer.
	_, err := e.tenant.Inventory.PlaceHold(t.Context(), e.tenant.Widget, one(e.hall.Seats(1)))
	if kind := fault.KindOf(err); kind != fault.KindUnauthenticated && kind != fault.KindDenied {
		t.Errorf("a hold for nobody: %v", err)
	}
	// The dearest hold that is allowed.
	guest.Hold(dear.Stay(5, 6))
	// Stays of one type that only touch are fine, and so are others' keys and other shows' seats.
	guest.Hold(e.room.Stay(3, 5), e.room.Stay(5, 8))
	e.tenant.Audit()
}

func vienna(t *testing.T) *time.Location {
	t.Helper()
	location, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	return location
}

// What belongs to another tenant, lies in another region or does not exist at all is answered in
// the same words, byte for byte.
func TestForeignIdsAnswerLikeRandomOnes(t *testing.T) {
	t.Parallel()
	mine, theirs := newEvening(t), newEvening(t)
	guest, owner, service := mine.tenant.Guest(), mine.tenant.Owner, mine.tenant.Inventory
	theirHold := theirs.tenant.Guest().Hold(theirs.hall.Seats(1))
	beforeTheirs := everyTable(theirs.tenant)
	before := everyTable(mine.tenant)
	n := inventorytest.Of[int64]

	show := func(id inventory.ShowID, act func(inventory.ShowID) error) []error { return tryIDs(id, act) }
	pool := func(act func(inventory.PoolID) error) []error { return tryIDs(theirs.floor.ID, act) }
	room := func(act func(inventory.RoomTypeID) error) []error { return tryIDs(theirs.room.ID, act) }
	hold := func(act func(inventory.HoldID) error) []error { return tryIDs(theirHold.ID, act) }
	property := func(act func(tenants.PropertyID) error) []error { return tryIDs(theirs.hotel.Property.ID, act) }
	venue := func(act func(tenants.VenueID) error) []error { return tryIDs(theirs.hall.Venue, act) }
	wish := func(line inventory.LineRequest) error {
		_, err := guest.Try(line)
		return err
	}
	for name, check := range map[string]struct {
		want string
		got  []error
	}{
		"hold seats": {"not_found: no such show", show(theirs.hall.Show, func(id inventory.ShowID) error {
			line := mine.hall.Seats(1)
			line.Seats.Show, line.Seats.Seats[0].Region = id, id.Region
			return wish(line)
		})},
		"hold a pool": {"not_found: no such pool", pool(func(id inventory.PoolID) error { line := mine.floor.Units(1); line.Pool.Pool = id; return wish(line) })},
		"hold a night": {"not_found: no such room type", room(func(id inventory.RoomTypeID) error {
			line := mine.room.Stay(5, 6)
			line.Stay.RoomType = id
			return wish(line)
		})},
		"read a hold": {"not_found: no such hold", hold(func(id inventory.HoldID) error {
			_, err := service.Hold(t.Context(), guest.Actor, id)
			return err
		})},
		"read a hold as admin": {"not_found: no such hold", hold(func(id inventory.HoldID) error {
			_, err := service.Hold(t.Context(), owner, id)
			return err
		})},
		"extend": {"not_found: no such hold", hold(func(id inventory.HoldID) error {
			_, err := service.ExtendHold(t.Context(), guest.Actor, id, inventorytest.Key())
			return err
		})},
		"release": {"not_found: no such hold", hold(func(id inventory.HoldID) error {
			_, err := service.ReleaseHold(t.Context(), guest.Actor, id, inventorytest.Key())
			return err
		})},
		"read a show": {"not_found: no such show", show(theirs.hall.Show, func(id inventory.ShowID) error {
			_, err := service.Show(t.Context(), owner, id)
			return err
		})},
		"read a chart": {"not_found: no such chart", tryIDs(*theirs.hall.Chart, func(id inventory.ChartID) error {
			_, err := service.Chart(t.Context(), owner, id)
			return err
		})},
		"set a show's state": {"not_found: no such show", show(theirs.hall.Show, func(id inventory.ShowID) error {
			return service.SetShowState(t.Context(), owner, id, inventory.ShowStateClosed)
		})},
		"set a show's terms": {"not_found: no such show", show(theirs.hall.Show, func(id inventory.ShowID) error {
			_, err := service.SetTerms(t.Context(), owner, inventory.TermsScope{Show: &id}, inventory.TermsChange{})
			return err
		})},
		"read a show's terms": {"not_found: no such show", show(theirs.hall.Show, func(id inventory.ShowID) error {
			_, err := service.Terms(t.Context(), owner, inventory.TermsScope{Show: &id})
			return err
		})},
		"set a hotel's terms": {"not_found: no such property", property(func(id tenants.PropertyID) error {
			_, err := service.SetTerms(t.Context(), owner, inventory.TermsScope{Property: &id}, inventory.TermsChange{})
			return err
		})},
		"set a price": {"not_found: no such price level", show(theirs.hall.Show, func(id inventory.ShowID) error {
			return service.SetPrice(t.Context(), owner, id, inventorytest.Random[inventory.PriceLevelKind](), 1)
		})},
		"set a pool's capacity": {"not_found: no such pool", pool(func(id inventory.PoolID) error {
			_, err := service.SetPoolCapacity(t.Context(), owner, id, 1)
			return err
		})},
		"set nights": {"not_found: no such room type", room(func(id inventory.RoomTypeID) error {
			_, err := service.SetNights(t.Context(), owner, inventory.NightsEdit{RoomType: &id, Nights: inventory.NightRange{First: inventorytest.Nov(5), Last: inventorytest.Nov(5)}, Change: inventory.NightChange{Physical: n(9)}})
			return err
		})},
		"set a house limit": {"not_found: no such property", property(func(id tenants.PropertyID) error {
			_, err := service.SetNights(t.Context(), owner, inventory.NightsEdit{Property: &id, Nights: inventory.NightRange{First: inventorytest.Nov(5), Last: inventorytest.Nov(5)}, Change: inventory.NightChange{HouseLimit: n(9)}})
			return err
		})},
		"remove a house limit": {"not_found: no such property", property(func(id tenants.PropertyID) error {
			_, err := service.SetNights(t.Context(), owner, inventory.NightsEdit{Property: &id, Nights: inventory.NightRange{First: inventorytest.Nov(5), Last: inventorytest.Nov(5)}, Change: inventory.NightChange{NoHouseLimit: true}})
			return err
		})},
		"add a room type": {"not_found: no such property", property(func(id tenants.PropertyID) error {
			_, err := service.CreateRoomType(t.Context(), owner, inventorytest.Key(), inventory.NewRoomType{Property: id, Name: "x", MaxGuests: 1})
			return err
		})},
		"add an event": {"not_found: no such venue", venue(func(id tenants.VenueID) error {
			_, err := service.CreateEvent(t.Context(), owner, inventorytest.Key(), inventory.NewEvent{Venue: id, Name: "x"})
			return err
		})},
		"import a chart": {"not_found: no such venue", venue(func(id tenants.VenueID) error {
			_, err := service.ImportChart(t.Context(), owner, inventorytest.Key(), id, inventorytest.Chart(3))
			return err
		})},
		"add a show": {"not_found: no such event", tryIDs(theirs.hall.Event, func(id inventory.EventID) error {
			input := mine.hall.NewShow(inventorytest.PoolOf("Floor", 1, 1))
			input.Event, input.Chart = id, nil
			_, err := service.CreateShow(t.Context(), owner, inventorytest.Key(), input)
			return err
		})},
		"add a show with a chart": {"not_found: no such chart", tryIDs(*theirs.hall.Chart, func(id inventory.ChartID) error {
			input := mine.hall.NewShow()
			input.Chart = &id
			if id.Region != input.Event.Region {
				return fault.NotFound("chart") // another region than the event's is an input error, tested elsewhere
			}
			_, err := service.CreateShow(t.Context(), owner, inventorytest.Key(), input)
			return err
		})},
	} {
		for i, err := range check.got {
			if got := mine.tenant.Explain(err); got != check.want {
				t.Errorf("%s, %s: got %s, want %s", name, []string{"another tenant's", "random", "of another region"}[i], got, check.want)
			}
		}
	}
	// Lists and maps of what is not one's own are empty, like those of what does not exist.
	for _, id := range []inventory.ShowID{theirs.hall.Show, inventorytest.Random[inventory.ShowKind]()} {
		seats, err := service.SeatMap(t.Context(), guest.Actor, id)
		if err != nil || len(seats.Seats) != 0 {
			t.Errorf("the seat map of another's show has %d seats, %v", len(seats.Seats), err)
		}
		pools, err := service.PoolsOfShows(t.Context(), guest.Actor, []inventory.ShowID{id})
		if err != nil || len(pools) != 0 {
			t.Errorf("another's show has %d pools, %v", len(pools), err)
		}
	}
	calendar, err := service.Calendar(t.Context(), guest.Actor, theirs.hotel.Property, inventory.CalendarQuestion{RoomTypes: []inventory.RoomTypeID{theirs.room.ID}, First: inventorytest.Nov(1), Last: inventorytest.Nov(9)})
	if got := mine.tenant.Explain(err); got != "not_found: no such property" || len(calendar.Nights) != 0 {
		t.Errorf("another's calendar has %d nights, %s", len(calendar.Nights), got)
	}
	expectUntouched(t, mine.tenant, before)
	expectUntouched(t, theirs.tenant, beforeTheirs)
}

// tryIDs acts on another tenant's id, on a random one, and on the same one in another region.
func tryIDs[K ids.Kind](foreign ids.ID[K], act func(ids.ID[K]) error) []error {
	abroad := foreign
	abroad.Region = "us"
	return []error{act(foreign), act(inventorytest.Random[K]()), act(abroad)}
}

func TestMalformedNights(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	n := inventorytest.Of[int64]
	nov := inventorytest.Nov
	before := everyTable(e.tenant)
	for _, input := range []struct {
		nights inventory.NightRange
		change inventory.NightChange
		want   string
	}{
		{inventory.NightRange{Last: nov(5)}, inventory.NightChange{}, "nights.from: expected a date between 2000 and 2199, such as 2027-03-14"},
		{inventory.NightRange{First: civil.Date{Year: 1999, Month: 12, Day: 31}, Last: nov(5)}, inventory.NightChange{}, "nights.from: expected a date between 2000 and 2199, such as 2027-03-14"},
		{inventory.NightRange{First: nov(5)}, inventory.NightChange{}, "nights.to: expected a date between 2000 and 2199, such as 2027-03-14"},
		{inventory.NightRange{First: nov(5), Last: civil.Date{Year: 2200, Month: 1, Day: 1}}, inventory.NightChange{}, "nights.to: expected a date between 2000 and 2199, such as 2027-03-14"},
		{inventory.NightRange{First: nov(5), Last: nov(4)}, inventory.NightChange{}, "nights.to: expected a date not before from 2097-11-05, got 2097-11-04"},
		{inventory.NightRange{First: nov(0), Last: nov(1827)}, inventory.NightChange{}, "nights.to: a range has at most 1827 nights, got 1828"},
		{inventory.NightRange{First: nov(5), Last: nov(5), Weekdays: []time.Weekday{(nov(5).Weekday() + 1) % 7}}, inventory.NightChange{}, "nights.weekdays: no night of the range falls on these weekdays"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{Physical: n(-1)}, "physical: expected 0 to 100000, got -1"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{Physical: n(100_001)}, "physical: expected 0 to 100000, got 100001"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{OutOfOrder: n(-1)}, "outOfOrder: expected 0 to 100000, got -1"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{OutOfOrder: n(3)}, "outOfOrder: night 2097-11-05: 3 rooms out of order are more than its 2 rooms"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{Oversell: n(100_001)}, "oversell: expected 0 to 100000, got 100001"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{MinStayArrival: n(367)}, "minStayArrival: expected 0 to 366, got 367"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{MaxStayArrival: n(-2)}, "maxStayArrival: expected 0 to 366, got -2"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{MinStayThrough: n(400)}, "minStayThrough: expected 0 to 366, got 400"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{MaxStayThrough: n(400)}, "maxStayThrough: expected 0 to 366, got 400"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{MinStayArrival: n(3), MaxStayArrival: n(2)}, "maxStayArrival: night 2097-11-05: expected at least minStayArrival 3, got 2"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{MinStayThrough: n(3), MaxStayThrough: n(2)}, "maxStayThrough: night 2097-11-05: expected at least minStayThrough 3, got 2"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{RateMinor: n(-1)}, "rate: expected 0 to 1000000000000 minor units, got -1"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{RateMinor: n(money.MaxMinor + 1)}, "rate: expected 0 to 1000000000000 minor units, got 1000000000001"},
		{inventory.NightRange{First: nov(5), Last: nov(5), Weekdays: []time.Weekday{}}, inventory.NightChange{}, "nights.weekdays: expected at least one day; leave it out for all"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{OversellPercent: n(101)}, "oversellPercent: expected 0 to 100, got 101"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{OversellPercent: n(-1)}, "oversellPercent: expected 0 to 100, got -1"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{Oversell: n(1), OversellPercent: n(1)}, "oversellPercent: expected oversell or oversellPercent, not both"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{HouseLimit: n(-1)}, "houseLimit: expected 0 to 1000000, got -1"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{HouseLimit: n(1_000_001)}, "houseLimit: expected 0 to 1000000, got 1000001"},
		{inventory.NightRange{First: nov(5), Last: nov(5)}, inventory.NightChange{HouseLimit: n(1), NoHouseLimit: true}, "noHouseLimit: expected houseLimit or noHouseLimit, not both"},
		{inventory.NightRange{First: nov(5), Last: nov(4)}, inventory.NightChange{HouseLimit: n(1)}, "nights.to: expected a date not before from 2097-11-05, got 2097-11-04"},
		{inventory.NightRange{First: nov(5), Last: nov(5).AddDays(800)}, inventory.NightChange{Physical: n(2)}, "requestKey: expected a key of 1 to 255 characters: 801 nights are more than one transaction writes (731), so the edit runs as a job"},
		{inventory.NightRange{First: nov(9), Last: nov(11)}, inventory.NightChange{StopSell: inventorytest.Of(true)}, "physical: night 2097-11-11 does not exist yet: say how many rooms there are"},
	} {
		_, err := e.tenant.Inventory.SetNights(t.Context(), e.tenant.Owner, inventory.NightsEdit{RoomType: &e.room.ID, Nights: input.nights, Change: input.change})
		expectAnswer(t, e.tenant, err, "invalid: "+input.want)
	}
	for _, input := range []struct {
		changes []inventory.DatedChange
		want    string
	}{
		{nil, "nights: expected 1 to 731 nights, got 0"},
		{make([]inventory.DatedChange, 732), "nights: expected 1 to 731 nights, got 732"},
		{[]inventory.DatedChange{{Night: nov(5)}, {Night: nov(6)}, {Night: nov(5)}}, "nights: night 2097-11-05 is named twice"},
		{[]inventory.DatedChange{{}}, "night: expected a date between 2000 and 2199, such as 2027-03-14"},
		{[]inventory.DatedChange{{Night: nov(5), Change: inventory.NightChange{StopSell: inventorytest.Of(true)}}, {Night: nov(12)}}, "physical: night 2097-11-12 does not exist yet: say how many rooms there are"},
	} {
		_, err := e.tenant.Inventory.WriteNights(t.Context(), e.tenant.Owner, e.room.ID, input.changes)
		expectAnswer(t, e.tenant, err, "invalid: "+input.want)
	}
	expectUntouched(t, e.tenant, before)
	e.tenant.Guest().Hold(e.room.Stay(9, 10)) // the night 9 was not closed by the change that failed on 11
	e.tenant.Guest().Hold(e.room.Stay(5, 6))
}

func TestMalformedShows(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	elsewhere := e.tenant.Hall(2)
	before := everyTable(e.tenant)
	for _, input := range []struct {
		want   string
		change func(s *inventory.NewShow)
	}{
		{"name: expected 1 to 200 characters without spaces around them", func(s *inventory.NewShow) { s.Name = "" }},
		{"name: expected 1 to 200 characters without spaces around them", func(s *inventory.NewShow) { s.Name = " x" }},
		{"name: expected 1 to 200 characters without spaces around them", func(s *inventory.NewShow) { s.Name = strings.Repeat("ä", 201) }},
		{"name: expected 1 to 200 characters without spaces around them", func(s *inventory.NewShow) { s.Name = "a\x00b" }},
		{"name: expected 1 to 200 characters without spaces around them", func(s *inventory.NewShow) { s.Name = "\xff" }},
		{"state: expected DRAFT or ON_SALE", func(s *inventory.NewShow) { s.State = "CLOSED" }},
		{"state: expected DRAFT or ON_SALE", func(s *inventory.NewShow) { s.State = "on_sale" }},
		{"startsAt: expected a time such as 2027-03-14T20:00:00Z", func(s *inventory.NewShow) { s.StartsAt = time.Time{} }},
		{"saleClosesAt: expected a time after saleOpensAt", func(s *inventory.NewShow) { s.SaleOpensAt, s.SaleClosesAt = &s.StartsAt, &s.StartsAt }},
		{"chart: the chart is of another region than the event", func(s *inventory.NewShow) { chart := *s.Chart; chart.Region = "us"; s.Chart = &chart }},
		{"chart: the chart belongs to another venue than the event", func(s *inventory.NewShow) { s.Chart = elsewhere.Chart }},
		{"pools: a show without a chart needs at least one pool", func(s *inventory.NewShow) { s.Chart, s.Pools = nil, nil }},
		{"priceLevels: expected 1 to 50, got 0", func(s *inventory.NewShow) { s.PriceLevels = nil }},
		{"priceLevels: expected 1 to 50, got 51", func(s *inventory.NewShow) { s.PriceLevels = make([]inventory.NewPriceLevel, 51) }},
		{"priceLevels[1].name: expected 1 to 200 characters without spaces around them", func(s *inventory.NewShow) { s.PriceLevels[1].Name = "" }},
		{`priceLevels[1].name: "Seat" is named twice`, func(s *inventory.NewShow) { s.PriceLevels[1].Name = "Seat" }},
		{"priceLevels[0].amountMinor: expected 0 to 1000000000000 minor units, got -1", func(s *inventory.NewShow) { s.PriceLevels[0].AmountMinor = -1 }},
		{"priceLevels[0].amountMinor: expected 0 to 1000000000000 minor units, got 9223372036854775807", func(s *inventory.NewShow) { s.PriceLevels[0].AmountMinor = 1<<63 - 1 }},
		{`priceLevels[1].categories[0]: category "Seat" already has price level "Seat"`, func(s *inventory.NewShow) { s.PriceLevels[1].Categories = []string{"Seat"} }},
		{`priceLevels: the chart has no category "Box"`, func(s *inventory.NewShow) { s.PriceLevels[1].Categories = []string{"Box"} }},
		{`priceLevels: no price level has the chart's category "Seat"`, func(s *inventory.NewShow) { s.PriceLevels[0].Categories = nil }},
		{"pools: expected at most 50, got 51", func(s *inventory.NewShow) { s.Pools = make([]inventory.NewPool, 51) }},
		{"pools[0].name: expected 1 to 200 characters without spaces around them", func(s *inventory.NewShow) { s.Pools[0].Name = "" }},
		{`pools[1].name: "Floor" is named twice`, func(s *inventory.NewShow) { s.Pools = append(s.Pools, s.Pools[0]) }},
		{`pools[0].priceLevel: expected the name of one of the show's price levels, got "Loge"`, func(s *inventory.NewShow) { s.Pools[0].PriceLevel = "Loge" }},
		{"pools[0].capacity: expected 0 to 10000000, got -1", func(s *inventory.NewShow) { s.Pools[0].Capacity = -1 }},
		{"pools[0].capacity: expected 0 to 10000000, got 10000001", func(s *inventory.NewShow) { s.Pools[0].Capacity = 10_000_001 }},
		{"pools[0].shards: expected 1 to 256, got -1", func(s *inventory.NewShow) { s.Pools[0].Shards = -1 }},
		{"pools[0].shards: expected 1 to 256, got 257", func(s *inventory.NewShow) { s.Pools[0].Shards = 257 }},
	} {
		show := e.hall.NewShow(inventorytest.PoolOf("Floor", 1, 1))
		input.change(&show)
		_, err := e.tenant.Inventory.CreateShow(t.Context(), e.tenant.Owner, inventorytest.Key(), show)
		expectAnswer(t, e.tenant, err, "invalid: "+input.want)
	}
	service := e.tenant.Inventory
	_, err := service.CreateShow(t.Context(), e.tenant.Owner, "", e.hall.NewShow())
	expectAnswer(t, e.tenant, err, "invalid: requestKey: expected 1 to 255 characters")
	_, err = service.CreateEvent(t.Context(), e.tenant.Owner, inventorytest.Key(), inventory.NewEvent{Venue: e.hall.Venue})
	expectAnswer(t, e.tenant, err, "invalid: name: expected 1 to 200 characters without spaces around them")
	expectAnswer(t, e.tenant, service.SetShowState(t.Context(), e.tenant.Owner, e.hall.Show, "GONE"), "invalid: state: expected DRAFT, ON_SALE or CLOSED")
	_, err = service.SetPoolCapacity(t.Context(), e.tenant.Owner, e.floor.ID, -1)
	expectAnswer(t, e.tenant, err, "invalid: capacity: expected 0 to 10000000, got -1")
	expectAnswer(t, e.tenant, service.SetPrice(t.Context(), e.tenant.Owner, e.hall.Show, inventorytest.Random[inventory.PriceLevelKind](), -1),
		"invalid: amountMinor: expected 0 to 1000000000000 minor units, got -1")
	broken := inventorytest.Chart(2)
	broken.Zones[0].Rows[0].Seats[1].ID = broken.Zones[0].Rows[0].Seats[0].ID
	broken.Zones[0].Rows[0].Seats[1].Category = "Box"
	_, err = service.ImportChart(t.Context(), e.tenant.Owner, inventorytest.Key(), e.hall.Venue, broken)
	if fault.KindOf(err) != fault.KindInvalid || !strings.Contains(err.Error(), "seats[1]") {
		t.Errorf("a broken chart: %v", err)
	}
	_, err = service.ImportChart(t.Context(), e.tenant.Owner, inventorytest.Key(), e.hall.Venue, &charts.Chart{Name: "Nothing"})
	if fault.KindOf(err) != fault.KindInvalid {
		t.Errorf("an empty chart: %v", err)
	}
	for _, input := range []struct {
		input inventory.NewRoomType
		want  string
	}{
		{inventory.NewRoomType{Property: e.hotel.Property.ID, MaxGuests: 2}, "invalid: name: expected 1 to 200 characters without spaces around them"},
		{inventory.NewRoomType{Property: e.hotel.Property.ID, Name: "Suite"}, "invalid: maxGuests: expected 1 to 100, got 0"},
		{inventory.NewRoomType{Property: e.hotel.Property.ID, Name: "Suite", MaxGuests: 101}, "invalid: maxGuests: expected 1 to 100, got 101"},
		{inventory.NewRoomType{Property: e.hotel.Property.ID, Name: "Double", MaxGuests: 2}, "conflict: the name is already taken"},
	} {
		_, err := service.CreateRoomType(t.Context(), e.tenant.Owner, inventorytest.Key(), input.input)
		expectAnswer(t, e.tenant, err, input.want)
	}
	expectUntouched(t, e.tenant, before)
}

func TestMalformedTerms(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	n := inventorytest.Of[int64]
	before := everyTable(e.tenant)
	never := inventory.LatePayment("NEVER")
	shrug := inventory.OnDecline("")
	for _, input := range []struct {
		change inventory.TermsChange
		want   string
	}{
		{inventory.TermsChange{HoldSeconds: n(0)}, "holdSeconds: expected 1 to 86400, got 0"},
		{inventory.TermsChange{HoldSeconds: n(86_401)}, "holdSeconds: expected 1 to 86400, got 86401"},
		{inventory.TermsChange{MaxExtensions: n(-1)}, "maxExtensions: expected 0 to 10, got -1"},
		{inventory.TermsChange{MaxExtensions: n(11)}, "maxExtensions: expected 0 to 10, got 11"},
		{inventory.TermsChange{MaxHoldSeconds: n(172_801)}, "maxHoldSeconds: expected 1 to 172800, got 172801"},
		{inventory.TermsChange{ProcessingSeconds: n(0)}, "processingSeconds: expected 1 to 86400, got 0"},
		{inventory.TermsChange{GraceSeconds: n(-1)}, "graceSeconds: expected 0 to 86400, got -1"},
		{inventory.TermsChange{MaxSeatsPerHold: n(101)}, "maxSeatsPerHold: expected 1 to 100, got 101"},
		{inventory.TermsChange{MaxQuantityPerHold: n(1001)}, "maxQuantityPerHold: expected 1 to 1000, got 1001"},
		{inventory.TermsChange{MaxNightsPerStay: n(367)}, "maxNightsPerStay: expected 1 to 366, got 367"},
		{inventory.TermsChange{MaxActiveHoldsPerBuyer: n(0)}, "maxActiveHoldsPerBuyer: expected 1 to 1000, got 0"},
		{inventory.TermsChange{MaxActiveHoldsPerInstrument: n(1 << 40)}, "maxActiveHoldsPerInstrument: expected 1 to 1000, got 1099511627776"},
		{inventory.TermsChange{LatePayment: &never}, "latePayment: expected HONOUR or REFUND"},
		{inventory.TermsChange{OnDecline: &shrug}, "onDecline: expected RELEASE or KEEP"},
	} {
		_, err := e.tenant.Inventory.SetTerms(t.Context(), e.tenant.Owner, inventory.TermsScope{}, input.change)
		expectAnswer(t, e.tenant, err, "invalid: "+input.want)
	}
	_, err := e.tenant.Inventory.SetTerms(t.Context(), e.tenant.Owner, inventory.TermsScope{Show: &e.hall.Show, Property: &e.hotel.Property.ID}, inventory.TermsChange{})
	expectAnswer(t, e.tenant, err, "invalid: scope: expected a show or a property, not both")
	expectUntouched(t, e.tenant, before)

	// What terms do not name falls back to the tenant's, and in the end to the product's own.
	terms := e.tenant.SetTerms(inventory.TermsChange{HoldSeconds: n(60), MaxSeatsPerHold: n(4)})
	want := inventory.DefaultTerms()
	want.HoldSeconds, want.MaxSeatsPerHold = 60, 4
	if terms != want {
		t.Errorf("got %+v, want %+v", terms, want)
	}
	if _, err := e.tenant.Inventory.SetTerms(t.Context(), e.tenant.Owner, inventory.TermsScope{Show: &e.hall.Show}, inventory.TermsChange{MaxSeatsPerHold: n(2)}); err != nil {
		t.Fatal(err)
	}
	want.MaxSeatsPerHold = 2
	for _, scope := range []inventory.TermsScope{{Show: &e.hall.Show}, {Property: &e.hotel.Property.ID}, {}} {
		if scope.Show == nil {
			want.MaxSeatsPerHold = 4
		}
		if terms, err := e.tenant.Inventory.Terms(t.Context(), e.tenant.Owner, scope); err != nil || terms != want {
			t.Errorf("got %+v, %v, want %+v", terms, err, want)
		}
	}
}

func TestMalformedReads(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest, service := e.tenant.Guest(), e.tenant.Inventory
	for _, input := range []struct {
		first, last civil.Date
		want        string
	}{
		{civil.Date{}, inventorytest.Nov(1), "from: expected a date such as 2027-03-14"},
		{inventorytest.Nov(1), civil.Date{}, "to: expected a date not before from 2097-11-01, got 0000-00-00"},
		{civil.Date{Year: -1, Month: 1, Day: 1}, inventorytest.Nov(1), "from: expected a date such as 2027-03-14"},
		{inventorytest.Nov(1), civil.Date{Year: 10_000, Month: 1, Day: 1}, "to: expected a date not before from 2097-11-01, got 10000-01-01"},
		{inventorytest.Nov(2), inventorytest.Nov(1), "to: expected a date not before from 2097-11-02, got 2097-11-01"},
		{inventorytest.Nov(1), inventorytest.Nov(732), "to: a calendar has at most 731 days, this one has 732"},
	} {
		_, err := service.Calendar(t.Context(), guest.Actor, e.hotel.Property, inventory.CalendarQuestion{First: input.first, Last: input.last})
		expectAnswer(t, e.tenant, err, "invalid: "+input.want)
	}
	for _, limit := range []int{-1, 0, inventory.MaxPage + 1} {
		_, _, err := service.Shows(t.Context(), guest.Actor, inventory.ShowFilter{Region: inventorytest.Region}, nil, limit)
		expectAnswer(t, e.tenant, err, fmt.Sprintf("invalid: first: expected 1 to 100, got %d", limit))
	}
}
