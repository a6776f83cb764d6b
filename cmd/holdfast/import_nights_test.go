package main

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

func newRoom(t testing.TB, a *app, owner tenants.Actor, currency money.Currency) (tenants.Property, inventory.RoomTypeID) {
	t.Helper()
	property, err := a.tenants.CreateProperty(t.Context(), owner, "hotel", tenants.NewProperty{
		Region: "eu", Site: tenants.Site{Name: "Hotel", TimeZone: "Europe/Vienna", Currency: currency, Country: "AT", City: "Vienna"},
	})
	if err != nil {
		t.Fatal(err)
	}
	room, err := a.inventory.CreateRoomType(t.Context(), owner, "room", inventory.NewRoomType{Property: property.ID, Name: "Double", MaxGuests: 2})
	if err != nil {
		t.Fatal(err)
	}
	return property, room
}

func TestImportNights(t *testing.T) {
	t.Parallel()
	a := newTestApp(t)
	owner := newOwner(t, a)
	property, room := newRoom(t, a, owner, "EUR")
	currency, err := a.currencyOf(t.Context(), owner, room)
	if err != nil || currency != "EUR" {
		t.Fatalf("the room type is sold in %q, %v", currency, err)
	}
	write := func(content string) error {
		nights, err := parseNights("nights.csv", []byte(content), currency)
		if err != nil {
			return err
		}
		_, err = a.importNights(t.Context(), owner, room, "nights.csv", nights)
		return err
	}
	if err := write("\ufeffnight,physical,rate,min_stay_arrival,stop_sell\n2097-11-02,12,99.50,,yes\n2097-11-01, 10 ,120,2,\n"); err != nil {
		t.Fatal(err)
	}
	// An empty cell leaves what is there.
	if err := write("night,out_of_order,rate_minor,stop_sell\n2097-11-01,3,,\n2097-11-02,,5000,false\n"); err != nil {
		t.Fatal(err)
	}
	calendar, err := a.inventory.Calendar(t.Context(), owner, property, inventory.CalendarQuestion{RoomTypes: []inventory.RoomTypeID{room}, First: date(2097, 11, 1), Last: date(2097, 11, 2)})
	if err != nil {
		t.Fatal(err)
	}
	if len(calendar.Nights) != 2 {
		t.Fatalf("there are %d nights", len(calendar.Nights))
	}
	first, second := calendar.Nights[0], calendar.Nights[1]
	if first.Available != 7 || first.Price.Minor != 120_00 || first.MinStayArrival == nil || *first.MinStayArrival != 2 {
		t.Errorf("the first night is %+v", first)
	}
	if second.Available != 12 || second.Price.Minor != 50_00 || second.StopSell {
		t.Errorf("the second night is %+v", second)
	}
	// What only the database can tell is refused whole.
	wantError(t, write("night,rate\n2097-11-02,70\n2097-11-03,70\n"), "nights.csv: lines 2 to 3: ", "2097-11-03", "nothing was stored")
	wantError(t, write("night,rate\n2097-11-03,70\n"), "nights.csv: line 2: ", "nothing was stored")
	calendar, err = a.inventory.Calendar(t.Context(), owner, property, inventory.CalendarQuestion{RoomTypes: []inventory.RoomTypeID{room}, First: date(2097, 11, 2), Last: date(2097, 11, 2)})
	if err != nil || calendar.Nights[0].Price.Minor != 50_00 {
		t.Errorf("after a refused file the night is %+v, %v", calendar.Nights, err)
	}
}

func TestImportNightsInParts(t *testing.T) {
	t.Parallel()
	a := newTestApp(t)
	owner := newOwner(t, a)
	_, room := newRoom(t, a, owner, "EUR")
	var content strings.Builder
	content.WriteString("night,physical\n")
	const nights = inventory.MaxNightsPerEdit + 2
	for i := range nights {
		content.WriteString(date(2090, 1, 1).AddDays(i).String())
		if i < nights-1 {
			content.WriteString(",4")
		} else {
			content.WriteString(",") // A new night needs to know how many rooms there are.
		}
		content.WriteByte('\n')
	}
	parsed, err := parseNights("nights.csv", []byte(content.String()), "EUR")
	if err != nil {
		t.Fatal(err)
	}
	set, err := a.importNights(t.Context(), owner, room, "nights.csv", parsed)
	wantError(t, err, "lines 733 to 734", "lines 2 to 732 were stored before")
	if set.Nights != inventory.MaxNightsPerEdit {
		t.Errorf("%d nights were written before the part that failed", set.Nights)
	}
}

func TestImportNightsSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content string
		want    []string
	}{
		"empty":              {"", []string{"line 1", "header"}},
		"no nights":          {"night,physical\n", []string{"no nights"}},
		"semicolons":         {"night;physical;rate\n2097-11-01;3;12,50\n", []string{"line 1", "semicolons", "commas"}},
		"no night column":    {"physical\n3\n", []string{"line 1", "night", "missing"}},
		"unknown column":     {"night,rooms\n2097-11-01,3\n", []string{"line 1", `"rooms"`}},
		"column twice":       {"night,rate,rate\n2097-11-01,3,3\n", []string{"line 1", "rate", "twice"}},
		"no date":            {"night\n2097-02-30\n", []string{"line 2", "column night", "2097-02-30"}},
		"year":               {"night\n1997-02-03\n", []string{"line 2", "column night", "2000"}},
		"night twice":        {"night\n2097-11-01\n2097-11-02\n2097-11-01\n", []string{"line 4", "named on line 2"}},
		"negative":           {"night,physical\n2097-11-01,-1\n", []string{"line 2", "column physical", "0 to 100000"}},
		"fraction":           {"night,physical\n2097-11-01,1.5\n", []string{"line 2", "column physical"}},
		"too many":           {"night,oversell\n2097-11-01,100001\n", []string{"line 2", "column oversell"}},
		"flag":               {"night,stop_sell\n2097-11-01,maybe\n", []string{"line 2", "column stop_sell", "true, yes or 1"}},
		"rule":               {"night,max_stay_through\n2097-11-01,367\n", []string{"line 2", "column max_stay_through"}},
		"rules contradict":   {"night,min_stay_arrival,max_stay_arrival\n2097-11-01,3,2\n", []string{"line 2", "column min_stay_arrival"}},
		"too many of repair": {"night,physical,out_of_order\n2097-11-01,3,4\n", []string{"line 2", "column out_of_order"}},
		"rate with comma":    {"night,rate\n2097-11-01,\"12,50\"\n", []string{"line 2", "column rate", "125.00"}},
		"rate too exact":     {"night,rate\n2097-11-01,12.505\n", []string{"line 2", "column rate", "2 decimals"}},
		"rate with currency": {"night,rate\n2097-11-01,12 EUR\n", []string{"line 2", "column rate"}},
		"rate negative":      {"night,rate\n2097-11-01,-12\n", []string{"line 2", "column rate"}},
		"rate too large":     {"night,rate\n2097-11-01,99999999999999999999\n", []string{"line 2", "column rate"}},
		"two rates":          {"night,rate,rate_minor\n2097-11-01,12,1200\n", []string{"line 2", "column rate_minor", "rate as well"}},
		"ragged":             {"night,physical\n2097-11-01\n2097-11-02,x\n", []string{"line 2", "as many cells", "line 3"}},
		"quotes":             {"night,physical\n2097-11-01,\"3\n", []string{"line"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseNights("nights.csv", []byte(test.content), "EUR")
			wantError(t, err, append(test.want, "nights.csv", "nothing was stored")...)
		})
	}
}

func TestDecimalsFollowTheCurrency(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text     string
		currency money.Currency
		want     int64
	}{{"12.5", "EUR", 1250}, {"12", "EUR", 1200}, {"1200", "JPY", 1200}, {"1.005", "KWD", 1005}, {"0.00", "EUR", 0}} {
		if got, err := money.ParseDecimal(test.text, test.currency); err != nil || got != test.want {
			t.Errorf("%s %s: got %d, %v; want %d", test.text, test.currency, got, err, test.want)
		}
	}
	if got, err := money.ParseDecimal("12.5", "JPY"); err == nil {
		t.Errorf("half a yen was taken as %d", got)
	}
}

func date(year, month, day int) civil.Date {
	return civil.Date{Year: year, Month: time.Month(month), Day: day}
}

func TestPrintNightsCounts(t *testing.T) {
	t.Parallel()
	for nights, want := range map[int]string{1: "1 night was written.\n", 2: "2 nights were written.\n"} {
		var printed strings.Builder
		printNights(&printed, inventory.NightsSet{Nights: nights})
		if printed.String() != want {
			t.Errorf("%d nights print %q", nights, printed.String())
		}
	}
}
