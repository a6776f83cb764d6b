package trade_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/trade"
)

// booked is an event from one day of November to the day of departure.
func booked(uid string, first, departure int, more ...string) string {
	compact := func(day int) string { return strings.ReplaceAll(inventorytest.Nov(day).String(), "-", "") }
	return fmt.Sprintf("BEGIN:VEVENT\r\nUID:%s\r\nDTSTAMP:20970101T000000Z\r\nDTSTART;VALUE=DATE:%s\r\nDTEND;VALUE=DATE:%s\r\n%sEND:VEVENT\r\n", uid, compact(first), compact(departure), strings.Join(more, ""))
}

func calendar(events ...string) string {
	return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//EN\r\n" + strings.Join(events, "") + "END:VCALENDAR\r\n"
}

func (d *desk) subscribe(name, content string) trade.CalendarTaken {
	d.t.Helper()
	taken, err := d.trade.ImportCalendar(d.t.Context(), d.Owner, d.double.ID, name, []byte(content))
	if err != nil {
		d.t.Fatal(err)
	}
	return taken
}

// expectClosed wants exactly these days from 1 to 10 to be closed.
func (d *desk) expectClosed(when string, days ...int) {
	d.t.Helper()
	want := map[int]bool{}
	for _, day := range days {
		want[day] = true
	}
	for day := 1; day <= 10; day++ {
		if got := d.night(d.double, day).StopSell; got != want[day] {
			d.t.Errorf("%s: day %d is closed: %t", when, day, got)
		}
	}
}

// An event that moved or vanished opens what it had closed, and nothing else.
func TestImportedCalendarOpensOnlyWhatItClosed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	yes := true
	d.double.Set(3, 3, inventory.NightChange{StopSell: &yes})
	if got, want := d.subscribe("agency", calendar(booked("a", 1, 4), booked("b", 6, 8))), (trade.CalendarTaken{Events: 2, Closed: 4}); got != want {
		t.Errorf("the import says %+v", got)
	}
	d.expectClosed("imported", 1, 2, 3, 6, 7)
	if got, want := d.subscribe("agency", calendar(booked("b", 6, 8), booked("a", 1, 4))), (trade.CalendarTaken{Events: 2}); got != want {
		t.Errorf("the same calendar again says %+v", got)
	}
	// Another calendar closes one of the nights, too.
	d.subscribe("owner", calendar(booked("a", 7, 9)))
	d.expectClosed("with another", 1, 2, 3, 6, 7, 8)
	// a moves by a day, b is gone: what the other calendar closes stays closed, as does what was closed by hand.
	d.subscribe("agency", calendar(booked("a", 2, 5)))
	d.expectClosed("moved", 2, 3, 4, 7, 8)
	d.subscribe("agency", calendar())
	d.expectClosed("emptied", 3, 7, 8)
	d.subscribe("owner", calendar(booked("other", 7, 8)))
	d.expectClosed("named anew", 3, 7)
	d.subscribe("owner", calendar())
	d.expectClosed("both emptied", 3)
}

func TestWhatAnEventCloses(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	moment := func(name, value string) string { return name + value + "\r\n" }
	for name, test := range map[string]struct {
		event string
		days  []int
	}{
		"the day of departure is free": {booked("x", 2, 4), []int{2, 3}},
		"cancelled":                    {booked("x", 2, 4, "STATUS:CANCELLED\r\n"), nil},
		"leaves people free":           {booked("x", 2, 4, "TRANSP:TRANSPARENT\r\n"), nil},
		"no end":                       {"BEGIN:VEVENT\r\nUID:x\r\nDTSTART;VALUE=DATE:20971102\r\nEND:VEVENT\r\n", []int{2}},
		// At the hotel it is one o'clock on the next day.
		"in UTC":           {"BEGIN:VEVENT\r\nUID:x\r\n" + moment("DTSTART:", "20971101T233000Z") + moment("DTEND:", "20971104T090000Z") + "END:VEVENT\r\n", []int{2, 3}},
		"in another zone":  {"BEGIN:VEVENT\r\nUID:x\r\n" + moment("DTSTART;TZID=America/New_York:", "20971101T190000") + moment("DTEND;TZID=America/New_York:", "20971103T110000") + "END:VEVENT\r\n", []int{2}},
		"at the hotel":     {"BEGIN:VEVENT\r\nUID:x\r\n" + moment("DTSTART:", "20971102T150000") + moment("DTEND:", "20971103T100000") + "END:VEVENT\r\n", []int{2}},
		"within a day":     {"BEGIN:VEVENT\r\nUID:x\r\n" + moment("DTSTART:", "20971102T100000") + moment("DTEND:", "20971102T120000") + "END:VEVENT\r\n", nil},
		"a folded line":    {strings.Replace(booked("x", 2, 3), "UID:x", "UID:x-\r\n y", 1), []int{2}},
		"with an alarm":    {booked("x", 2, 3, "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT5M\r\nDESCRIPTION:x\r\nEND:VALARM\r\n"), []int{2}},
		"half unplanned":   {booked("x", 10, 15), []int{10}},
		"written by us":    {booked("2097-11-02-room@holdfast", 2, 4), nil},
		"in the past, too": {"BEGIN:VEVENT\r\nUID:x\r\nDTSTART;VALUE=DATE:20200101\r\nDTEND;VALUE=DATE:20200103\r\nEND:VEVENT\r\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			own := *d
			own.t, own.Tenant = t, d.For(t)
			own.subscribe("one", calendar(test.event))
			own.expectClosed(name, test.days...)
			own.subscribe("one", calendar())
			own.expectClosed(name + ", emptied")
		})
	}
}

func TestCalendarsAreRefusedWhole(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for name, test := range map[string]struct{ content, want string }{
		"empty":           {"", "BEGIN:VCALENDAR"},
		"no calendar":     {"night,physical\n", "BEGIN:VCALENDAR"},
		"cut off":         {strings.TrimSuffix(calendar(booked("a", 1, 2)), "END:VCALENDAR\r\n"), "did not arrive whole"},
		"no UTF-8":        {calendar(booked("a\xff", 1, 2)), "UTF-8"},
		"too deep":        {strings.Repeat("BEGIN:VCALENDAR\r\n", 10_000), "nested"},
		"no UID":          {calendar(strings.Replace(booked("a", 1, 2), "UID:a\r\n", "", 1)), "VEVENT[1].UID"},
		"UID twice":       {calendar(booked("a", 1, 2), booked("a", 3, 4)), "VEVENT[2].UID"},
		"repeats":         {calendar(booked("b", 5, 6), booked("a", 1, 2, "RRULE:FREQ=DAILY\r\n")), "VEVENT[2].RRULE"},
		"no start":        {calendar("BEGIN:VEVENT\r\nUID:a\r\nEND:VEVENT\r\n"), "DTSTART"},
		"no date":         {calendar("BEGIN:VEVENT\r\nUID:a\r\nDTSTART;VALUE=DATE:20970230\r\nEND:VEVENT\r\n"), "20970230"},
		"no such zone":    {calendar("BEGIN:VEVENT\r\nUID:a\r\nDTSTART;TZID=Mars/Base:20970203T100000\r\nEND:VEVENT\r\n"), "Mars/Base"},
		"without end":     {calendar("BEGIN:VEVENT\r\nUID:a\r\nDTSTART;VALUE=DATE:20970101\r\nDTEND;VALUE=DATE:21970101\r\nEND:VEVENT\r\n"), "at most 731 nights"},
		"too many events": {calendar(strings.Repeat(booked("a", 1, 2), 2001)), "at most 2000 events"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := d.trade.ImportCalendar(t.Context(), d.Owner, d.double.ID, "", []byte(test.content))
			if fault.KindOf(err) != fault.KindInvalid || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	d.expectClosed("refused")
}

func TestExportedCalendar(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	yes := true
	d.double.Set(2, 3, inventory.NightChange{StopSell: &yes})
	d.Guest().Hold(d.double.Rooms(5, 4, 5))
	d.double.Set(8, 8, inventory.NightChange{StopSell: &yes})
	read := func() string {
		written, err := d.trade.ExportCalendar(t.Context(), d.Owner, d.double.ID, inventorytest.Nov(1), inventorytest.Nov(10))
		if err != nil {
			t.Fatal(err)
		}
		return string(written)
	}
	first := strings.ReplaceAll(read(), "\r\n ", "")
	for _, want := range []string{
		"BEGIN:VCALENDAR\r\n", "PRODID:-//Holdfast//Closed nights//EN\r\n", "UID:2097-11-02-" + d.double.ID.String() + "@holdfast\r\n",
		"DTSTART;VALUE=DATE:20971102\r\n", "DTEND;VALUE=DATE:20971105\r\n", "DTSTART;VALUE=DATE:20971108\r\n", "DTEND;VALUE=DATE:20971109\r\n",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("the calendar does not say %q:\n%s", want, first)
		}
	}
	if n := strings.Count(first, "BEGIN:VEVENT"); n != 2 {
		t.Errorf("there are %d events", n)
	}
	for _, line := range strings.Split(read(), "\r\n") {
		if len(line) > 75 {
			t.Errorf("a line of %d bytes is not folded: %s", len(line), line)
		}
	}
	// What is sold out is not closed when our own calendar comes back.
	d.subscribe("echo", read())
	d.expectClosed("echoed", 2, 3, 8)
	if _, err := d.trade.ExportCalendar(t.Context(), d.Partner("Agency").Actor, d.double.ID, inventorytest.Nov(1), inventorytest.Nov(10)); fault.KindOf(err) != fault.KindDenied {
		t.Errorf("a partner's export is answered %v", err)
	}
	today := civil.DateOf(d.Now().In(time.UTC))
	if from, to, err := d.trade.CalendarRange(t.Context(), d.Owner, d.double.ID); err != nil || to.DaysSince(from) != 365 || max(today.DaysSince(from), from.DaysSince(today)) > 1 {
		t.Errorf("the calendar is from %s to %s, %v", from, to, err)
	}
}
