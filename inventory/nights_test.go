package inventory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// R12: the nights in the middle of a stay are taken like those at its ends.
func TestEveryNightOfAStayIsTaken(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 1, 1, 20)
	a, b := tenant.Guest(), tenant.Guest()
	a.Hold(room.Stay(5, 8))
	b.Refused("SOLD_OUT 6 Nov left 0", room.Stay(6, 7))
	b.Refused("SOLD_OUT 5 Nov left 0", room.Stay(5, 6))
	b.Refused("SOLD_OUT 7 Nov left 0", room.Stay(7, 8))
	b.Refused("SOLD_OUT 5 Nov left 0, SOLD_OUT 6 Nov left 0, SOLD_OUT 7 Nov left 0", room.Stay(4, 9))
	for day, held := range map[int]int64{4: 0, 5: 1, 6: 1, 7: 1, 8: 0} {
		expectCount(t, fmt.Sprint(day), room.Count(day), 1, held, 0)
	}
	tenant.Audit()
}

// R14: the check-out date consumes nothing, so stays meet back to back.
func TestBackToBackStays(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 1, 1, 20)
	tenant.Guest().Hold(room.Stay(5, 8))
	tenant.Guest().Hold(room.Stay(8, 10))
	tenant.Guest().Hold(room.Stay(3, 5))
	tenant.Audit()
}

// Each night has its own price, fixed at the hold: a stay costs their sum.
func TestAStayCostsTheSumOfItsNights(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 3, 1, 20)
	hold := tenant.Guest().Hold(room.Rooms(2, 5, 8))
	want := 2 * (inventorytest.NightPrice(inventorytest.Nov(5)) + inventorytest.NightPrice(inventorytest.Nov(6)) + inventorytest.NightPrice(inventorytest.Nov(7)))
	if hold.Total.Minor != want || len(hold.Lines) != 3 {
		t.Errorf("two rooms for three nights cost %s in %d lines, want %d", hold.Total, len(hold.Lines), want)
	}
}

// Two overlapping stays race for the last room of the night they share.
func TestTwoStaysRaceForTheLastRoom(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 1, 1, 20)
	for range 8 {
		guests := tenant.Guests(2)
		stays := []inventory.LineRequest{room.Stay(5, 8), room.Stay(7, 10)}
		holds := make([]inventory.Hold, 2)
		won, refused := tally(t, tenant, inventorytest.Race(2, func(i int) (err error) {
			holds[i], err = guests[i].Try(stays[i])
			return err
		}))
		if won != 1 || refused["SOLD_OUT 7 Nov left 0"] != 1 {
			t.Errorf("%d won, the other was told %v", won, refused)
		}
		for i, hold := range holds {
			if !hold.ID.IsZero() {
				guests[i].Release(hold)
			}
		}
	}
	tenant.Audit()
}

// A night without a row is not sold, and is not guessed: nothing is held (C5, R10).
func TestAMissingNight(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Room("Double")
	room.Stock(5, inventorytest.Nov(5), inventorytest.Nov(5))
	room.Stock(5, inventorytest.Nov(7), inventorytest.Nov(8))
	guest := tenant.Guest()
	guest.Refused("NO_SUCH_NIGHT 6 Nov", room.Stay(5, 8))
	expectCount(t, "the night before", room.Count(5), 5, 0, 0)
	expectCount(t, "the night after", room.Count(7), 5, 0, 0)
	guest.Hold(room.Stay(5, 6))
	guest.Hold(room.Stay(7, 9))

	// The first two who ever want a night that nobody has opened: nobody makes a row by asking.
	guests := tenant.Guests(2)
	won, refused := tally(t, tenant, inventorytest.Race(2, func(i int) error {
		_, err := guests[i].Try(room.Stay(20, 21))
		return err
	}))
	if won != 0 || refused["NO_SUCH_NIGHT 20 Nov"] != 2 {
		t.Errorf("%d won a night that does not exist; %v", won, refused)
	}
	if got := guest.Calendar(room, 5, 7); !slices.Equal(got, []int64{4, -1, 4}) {
		t.Errorf("the calendar shows %v", got)
	}
}

// A night with rooms but without a rate has no price, and is not sold.
func TestANightWithoutARate(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 1, 1, 3)
	room.Set(4, 4, inventory.NightChange{Physical: inventorytest.Of[int64](1)})
	tenant.Guest().Refused("NO_SUCH_NIGHT 4 Nov", room.Stay(3, 5))
}

// R17: a closed night refuses the stays that include it, and no others.
func TestAClosedNight(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 5, 1, 20)
	room.Set(6, 6, inventory.NightChange{StopSell: inventorytest.Of(true)})
	guest := tenant.Guest()
	guest.Refused("STOP_SELL 6 Nov", room.Stay(5, 8))
	guest.Refused("STOP_SELL 6 Nov", room.Stay(6, 7))
	for day := 5; day < 8; day++ {
		expectCount(t, fmt.Sprint(day), room.Count(day), 5, 0, 0)
	}
	guest.Hold(room.Stay(5, 6))
	guest.Hold(room.Stay(7, 8))

	// C13: opening it again is one change of one flag.
	room.Set(6, 6, inventory.NightChange{StopSell: inventorytest.Of(false)})
	guest.Hold(room.Stay(5, 8))
}

// Restrictions speak each for itself: R20, R22, C8 to C13.
func TestRestrictions(t *testing.T) {
	t.Parallel()
	yes := inventorytest.Of(true)
	n := inventorytest.Of[int64]
	for _, restriction := range []struct {
		name    string
		night   int
		change  inventory.NightChange
		answers map[[2]int]string
	}{
		{"min stay by arrival", 14, inventory.NightChange{MinStayArrival: n(3)}, map[[2]int]string{
			{14, 16}: "MIN_STAY_ARRIVAL 14 Nov limit 3", {13, 15}: "held", {14, 17}: "held", {12, 14}: "held",
		}},
		{"min stay through", 14, inventory.NightChange{MinStayThrough: n(3)}, map[[2]int]string{
			{14, 16}: "MIN_STAY_THROUGH 14 Nov limit 3", {13, 15}: "MIN_STAY_THROUGH 14 Nov limit 3", {13, 16}: "held", {12, 14}: "held", {15, 16}: "held",
		}},
		{"max stay by arrival", 14, inventory.NightChange{MaxStayArrival: n(2)}, map[[2]int]string{
			{14, 17}: "MAX_STAY_ARRIVAL 14 Nov limit 2", {13, 17}: "held", {14, 16}: "held",
		}},
		{"max stay through", 14, inventory.NightChange{MaxStayThrough: n(2)}, map[[2]int]string{
			{14, 17}: "MAX_STAY_THROUGH 14 Nov limit 2", {13, 16}: "MAX_STAY_THROUGH 14 Nov limit 2", {13, 15}: "held", {11, 14}: "held",
		}},
		{"closed to arrival", 6, inventory.NightChange{ClosedToArrival: yes}, map[[2]int]string{
			{6, 9}: "CLOSED_TO_ARRIVAL 6 Nov", {6, 7}: "CLOSED_TO_ARRIVAL 6 Nov", {5, 8}: "held", {4, 6}: "held",
		}},
		{"closed to departure", 6, inventory.NightChange{ClosedToDeparture: yes}, map[[2]int]string{
			{4, 6}: "CLOSED_TO_DEPARTURE 6 Nov", {6, 7}: "held", {5, 8}: "held",
		}},
		{"closed to arrival with a min stay", 6, inventory.NightChange{ClosedToArrival: yes, MinStayThrough: n(3)}, map[[2]int]string{
			{6, 9}: "CLOSED_TO_ARRIVAL 6 Nov", {5, 8}: "held",
			{6, 7}: "MIN_STAY_THROUGH 6 Nov limit 3, CLOSED_TO_ARRIVAL 6 Nov",
			{5, 7}: "MIN_STAY_THROUGH 6 Nov limit 3",
		}},
		{"all at once", 6, inventory.NightChange{
			StopSell: yes, ClosedToArrival: yes, MinStayArrival: n(5), MinStayThrough: n(4),
		}, map[[2]int]string{
			{6, 8}: "STOP_SELL 6 Nov, MIN_STAY_THROUGH 6 Nov limit 4, CLOSED_TO_ARRIVAL 6 Nov, MIN_STAY_ARRIVAL 6 Nov limit 5",
		}},
	} {
		t.Run(restriction.name, func(t *testing.T) {
			t.Parallel()
			tenant := inventorytest.New(t)
			room := tenant.Hotel().Stocked("Double", 20, 1, 25)
			room.Set(restriction.night, restriction.night, restriction.change)
			for stay, want := range restriction.answers {
				_, err := tenant.Guest().Try(room.Stay(stay[0], stay[1]))
				if got := tenant.Explain(err); got != want {
					t.Errorf("[%d,%d) got:  %s\nwant: %s", stay[0], stay[1], got, want)
				}
			}
			tenant.Audit()
		})
	}
}

// C11: the check-out date is no night of the stay, so it needs no row; C13 and C17: a write leaves
// alone what it does not name.
func TestWhatAWriteDoesNotNameStays(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 5, 1, 10)
	guest := tenant.Guest()
	guest.Hold(room.Stay(9, 11))

	n := inventorytest.Of[int64]
	room.Set(5, 8, inventory.NightChange{MinStayArrival: n(2), ClosedToDeparture: inventorytest.Of(true)})
	room.Set(6, 6, inventory.NightChange{StopSell: inventorytest.Of(true)})
	room.Set(6, 7, inventory.NightChange{MinStayArrival: n(0)})
	room.Set(6, 6, inventory.NightChange{StopSell: inventorytest.Of(false)})
	guest.Refused("MIN_STAY_ARRIVAL 5 Nov limit 2, CLOSED_TO_DEPARTURE 6 Nov", room.Stay(5, 6))
	guest.Refused("CLOSED_TO_DEPARTURE 7 Nov", room.Stay(6, 7))
	guest.Refused("MIN_STAY_ARRIVAL 8 Nov limit 2", room.Stay(8, 9))
	guest.Hold(room.Stay(6, 9))
	expectCount(t, "the rooms", room.Count(6), 5, 1, 0)
}

// A range can be limited to weekdays.
func TestWeekdaysOfARange(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 5, 1, 14)
	set, err := tenant.Inventory.SetNights(t.Context(), tenant.Owner, inventory.NightsEdit{
		RoomType: &room.ID,
		Nights:   inventory.NightRange{First: inventorytest.Nov(1), Last: inventorytest.Nov(14), Weekdays: []time.Weekday{time.Friday, time.Saturday}},
		Change:   inventory.NightChange{StopSell: inventorytest.Of(true)},
	})
	if err != nil || set.Nights != 4 {
		t.Fatalf("%+v, %v", set, err)
	}
	for day := 1; day <= 14; day++ {
		weekday := inventorytest.Nov(day).Weekday()
		want := "held"
		if weekday == time.Friday || weekday == time.Saturday {
			want = "STOP_SELL " + inventorytest.DayName(inventorytest.Nov(day))
		}
		_, err := tenant.Guest().Try(room.Stay(day, day+1))
		expectAnswer(t, tenant, err, want)
	}
}

// C2: a stay over a change of the clocks has as many nights as dates, and each is taken once.
func TestAStayOverAChangeOfClocks(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Vienna", "America/New_York", "Pacific/Apia", "Africa/Casablanca"} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		tenant := inventorytest.New(t)
		room := tenant.HotelIn(zone, "EUR").Room("Double")
		for _, month := range []time.Month{time.March, time.October, time.November} {
			first := civil.Date{Year: inventorytest.Year, Month: month, Day: 1}
			checkOut := civil.Date{Year: inventorytest.Year, Month: month + 1, Day: 1}
			if zone == "Europe/Vienna" && month == time.March && checkOut.In(location).Sub(first.In(location)).Hours() != 31*24-1 {
				t.Fatalf("no clock changes in Vienna in March of %d", inventorytest.Year)
			}
			room.Stock(1, first, checkOut.AddDays(-1))
			tenant.SetTerms(inventory.TermsChange{MaxNightsPerStay: inventorytest.Of[int64](40)})
			hold := tenant.Guest().Hold(room.On(1, first, checkOut))
			if len(hold.Lines) != checkOut.DaysSince(first) {
				t.Errorf("%s: %d nights from %s to %s", zone, len(hold.Lines), first, checkOut)
			}
			for i, line := range hold.Lines {
				if line.Night != first.AddDays(i) || line.Quantity != 1 {
					t.Errorf("%s: night %d is %s", zone, i, line.Night)
				}
			}
		}
		tenant.Audit()
	}
}

// C3: today is the hotel's own. There are always at least two dates on earth, and in Kiritimati and
// Pago Pago never the same.
func TestTodayIsTheHotelsOwn(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	for _, zone := range []string{"Pacific/Kiritimati", "Pacific/Pago_Pago"} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		room := tenant.HotelIn(zone, "EUR").Room("Double")
		today := func() civil.Date { return civil.DateOf(tenant.Now().In(location)) }
		room.Stock(9, today().AddDays(-3), today().AddDays(5))
		for {
			day := today()
			_, yesterday := tenant.Guest().Try(room.On(1, day.AddDays(-1), day.AddDays(1)))
			_, sameDay := tenant.Guest().Try(room.On(1, day, day.AddDays(1)))
			if today() != day {
				continue // midnight passed in between
			}
			expectAnswer(t, tenant, yesterday, fmt.Sprintf(
				"invalid: lines[0].stay.checkIn: expected today at the property (%s) or later, got %s", day, day.AddDays(-1)))
			expectAnswer(t, tenant, sameDay, "held")
			break
		}
	}
}

// R23: two rooms of a type, one free in November and the other in December: the type has a room
// every night, so the stay is sold. Nobody may expect to keep the same room.
func TestARoomEveryNightButNotTheSame(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	tenant.SetTerms(inventory.TermsChange{MaxNightsPerStay: inventorytest.Of[int64](70)})
	room := tenant.Hotel().Stocked("Double", 2, 1, 61)
	a := tenant.Guest()
	a.Hold(room.Stay(1, 31))
	a.Hold(room.Stay(31, 62))
	long := tenant.Guest().Hold(room.Stay(1, 62))
	if len(long.Lines) != 61 {
		t.Errorf("the long stay has %d nights", len(long.Lines))
	}
	_, err := tenant.Guest().Try(room.Stay(30, 32))
	expectAnswer(t, tenant, err, "SOLD_OUT 30 Nov left 0, SOLD_OUT 1 Dec left 0")
	tenant.Audit()
}

// R27 and C19: oversell is a number of the night, and the next claim follows it.
func TestOversellAndRoomsOutOfOrder(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	n := inventorytest.Of[int64]
	room := tenant.Hotel().Stocked("Double", 3, 5, 5)
	room.Set(5, 5, inventory.NightChange{OutOfOrder: n(1), Oversell: n(2)})
	tenant.Guest().Hold(room.Rooms(4, 5, 6))
	tenant.Guest().Refused("SOLD_OUT 5 Nov left 0", room.Stay(5, 6))
	room.Set(5, 5, inventory.NightChange{OutOfOrder: n(0)})
	tenant.Guest().Hold(room.Stay(5, 6))
	room.Set(5, 5, inventory.NightChange{Oversell: n(0)})
	tenant.Guest().Refused("SOLD_OUT 5 Nov left 0", room.Stay(5, 6))
	expectCount(t, "the night", room.Count(5), 3, 5, 0)
	tenant.Audit()
}

// R54 and C26: a limit below what is sold is accepted with a warning that names the nights. What
// is sold stays valid, less than nothing is never shown, and nothing more is sold until below.
func TestALimitBelowWhatIsSold(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	n := inventorytest.Of[int64]
	room := tenant.Hotel().Stocked("Double", 12, 5, 7)
	tenant.SetTerms(inventory.TermsChange{MaxQuantityPerHold: n(20)})
	guest, other := tenant.Guest(), tenant.Guest()
	booked := guest.Hold(room.Rooms(9, 5, 8))
	if _, err := tenant.Confirm(booked.ID); err != nil {
		t.Fatal(err)
	}
	one := guest.Hold(room.Rooms(1, 6, 7))
	two := guest.Hold(room.Rooms(2, 6, 7))

	set := room.Set(5, 7, inventory.NightChange{Physical: n(10)})
	if len(set.Oversold) != 1 || set.Oversold[0] != (inventory.OversoldNight{
		Property: room.Hotel.Property.ID, RoomType: room.ID, Night: inventorytest.Nov(6), SellLimit: 10, Held: 3, Booked: 9, Excess: 2,
	}) {
		t.Errorf("the warning is %+v", set.Oversold)
	}
	if got := other.Calendar(room, 5, 7); !slices.Equal(got, []int64{1, 0, 1}) {
		t.Errorf("the calendar shows %v", got)
	}
	other.Refused("SOLD_OUT 6 Nov left 0", room.Stay(5, 8))
	guest.Release(one)
	other.Refused("SOLD_OUT 6 Nov left 0", room.Stay(6, 7))
	guest.Release(two)
	other.Hold(room.Stay(6, 7))
	other.Refused("SOLD_OUT 6 Nov left 0 yours", room.Stay(6, 7))
	expectCount(t, "the night", room.Count(6), 10, 1, 9)
	tenant.Audit()
}

// C20: the sum over the room types is capped by the house limit, where there is one.
func TestTheHouseLimit(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	n := inventorytest.Of[int64]
	hotel := tenant.Hotel()
	double, suite := hotel.Stocked("Double", 5, 1, 10), hotel.Stocked("Suite", 5, 1, 10)
	a, b := tenant.Guest(), tenant.Guest()

	// The limit begins with what is already sold.
	first := a.Hold(double.Rooms(2, 4, 7))
	set := hotel.SetHouseLimit(5, 6, n(3))
	if set.Nights != 2 || len(set.Oversold) > 0 {
		t.Errorf("the limit was set as %+v", set)
	}
	expectCount(t, "the house", hotel.HouseCount(5), 3, 2, 0)
	if got := b.Calendar(suite, 4, 7); !slices.Equal(got, []int64{5, 1, 1, 5}) {
		t.Errorf("the calendar of suites shows %v", got)
	}
	b.Refused("HOUSE_FULL 5 Nov left 1, HOUSE_FULL 6 Nov left 1", suite.Rooms(2, 4, 8))
	// Two lines of one hold add up.
	b.Refused("1: HOUSE_FULL 5 Nov left 1", suite.Stay(5, 6), double.Stay(5, 6))
	hold := b.Hold(suite.Stay(4, 8))
	expectCount(t, "the house", hotel.HouseCount(6), 3, 3, 0)
	a.Refused("HOUSE_FULL 6 Nov left 0", double.Stay(6, 7))
	a.Hold(double.Stay(7, 8))
	if _, err := tenant.Confirm(hold.ID); err != nil {
		t.Fatal(err)
	}
	expectCount(t, "the house", hotel.HouseCount(6), 3, 2, 1)

	// Below what is sold: a warning, and nothing more until below.
	set = hotel.SetHouseLimit(5, 6, n(2))
	if len(set.Oversold) != 2 {
		t.Errorf("the warning is %+v", set)
	}
	b.Refused("HOUSE_FULL 6 Nov left 0", suite.Stay(6, 7))
	a.Release(first)
	b.Hold(suite.Stay(6, 7))
	b.Refused("HOUSE_FULL 6 Nov left 0", suite.Stay(6, 7))
	tenant.Audit()

	hotel.SetHouseLimit(5, 6, nil)
	b.Hold(suite.Stay(6, 7))
	if err := tenant.Return(hold); err != nil {
		t.Fatal(err)
	}
	tenant.Audit(hold.ID)
	hotel.SetHouseLimit(5, 6, n(4))
	tenant.Audit(hold.ID)
}

// A house limit that is set while guests hold rooms counts each of them exactly once.
func TestAHouseLimitDuringTheSale(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hotel := tenant.Hotel()
	rooms := []*inventorytest.Room{hotel.Stocked("Double", 20, 5, 5), hotel.Stocked("Suite", 20, 5, 5)}
	guests := tenant.Guests(20)
	won, refused := tally(t, tenant, inventorytest.Race(len(guests)+1, func(i int) error {
		if i == len(guests) {
			_, err := tenant.Inventory.SetNights(t.Context(), tenant.Owner, inventory.NightsEdit{
				Property: &hotel.Property.ID, Nights: inventory.NightRange{First: inventorytest.Nov(5), Last: inventorytest.Nov(5)},
				Change: inventory.NightChange{HouseLimit: inventorytest.Of[int64](10)},
			})
			return err
		}
		_, err := guests[i].Try(rooms[i%2].Stay(5, 6))
		return err
	}))
	won--
	delete(refused, "HOUSE_FULL 5 Nov left 0")
	if len(refused) > 0 {
		t.Errorf("refused for %v", refused)
	}
	if count := hotel.HouseCount(5); count.Held != int64(won) {
		t.Errorf("%d hold rooms, the house counts %+v", won, count)
	}
	tenant.Audit()
}

// C4: a stay of no night is no stay.
func TestAStayNeedsANight(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 1, 1, 10)
	tenant.Guest().Refused("invalid: lines[0].stay.checkOut: expected a date after checkIn 2097-11-05, got 2097-11-05", room.Stay(5, 5))
	tenant.Guest().Refused("invalid: lines[0].stay.checkOut: expected a date after checkIn 2097-11-05, got 2097-11-04", room.Stay(5, 4))
}

// R11: the box office and a partner go through one door.
func TestTheBoxOfficeHasNoBackDoor(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 1, 5, 5)
	buyers := []inventorytest.Buyer{tenant.Buyer(tenant.Owner), tenant.Partner("Agency")}
	won, refused := tally(t, tenant, inventorytest.Race(2, func(i int) error {
		_, err := buyers[i].Try(room.Stay(5, 6))
		return err
	}))
	if won != 1 || refused["SOLD_OUT 5 Nov left 0"] != 1 {
		t.Errorf("%d won, the other was told %v", won, refused)
	}
}
