package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/tenants"
)

const historyHeader = "hotel,is_canceled,lead_time,arrival_date_year,arrival_date_month,arrival_date_day_of_month,stays_in_weekend_nights," +
	"stays_in_week_nights,adults,reserved_room_type,adr,reservation_status,reservation_status_date\n"

// guest is a line of a history: somebody who books lead days before the arrival.
func guest(hotel, roomType string, arrival civil.Date, lead, nights int, adr string, status historyStatus, settled civil.Date) string {
	return fmt.Sprintf("%s,0,%d,%d,%s,%d,0,%d,2,%s,%s,%s,%02d-%02d-%d\n", hotel, lead, arrival.Year, arrival.Month, arrival.Day, nights, roomType, adr, status,
		settled.Day, settled.Month, settled.Year)
}

func importHistory(t *testing.T, a *app, c importBookingsCommand, content string) (*historyReport, error) {
	t.Helper()
	h, err := parseHistory("history.csv", []byte(content), digestOf(t, content))
	if err != nil {
		t.Fatal(err)
	}
	if c.Workers == 0 {
		c.Workers = 4
	}
	return a.importBookings(t.Context(), c, h, io.Discard)
}

func digestOf(t *testing.T, content string) string {
	t.Helper()
	_, digest, err := readImport(file(t, "history.csv", content))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// Two rooms of type A; every line's fate can be told from the ones before it.
func TestImportBookings(t *testing.T) {
	t.Parallel()
	a := newTestApp(t)
	day := func(n int) civil.Date { return date(2016, 3, 1).AddDays(n) }
	const city, resort = historyCityHotel, historyResortHotel
	content := historyHeader +
		// Line 2 and 3 stay together on the nights of 11 and 12: the most at once, so there are two rooms.
		guest(city, "A", day(10), 60, 3, "80", historyCheckedOut, day(13)) +
		guest(city, "A", day(11), 50, 4, "100", historyCheckedOut, day(15)) +
		// Lines 4 and 5 find both rooms sold. That they are cancelled later says nothing of them.
		guest(city, "A", day(12), 40, 1, "90", historyCancelled, day(-20)) +
		guest(city, "A", day(11), 39, 1, "90", historyCancelled, day(-21)) +
		// Line 6 has the second room of the 14th, is cancelled, and then line 7 has it; line 8 came in between.
		guest(city, "A", day(13), 30, 1, "90", historyCancelled, day(0)) +
		guest(city, "A", day(13), 10, 1, "95", historyCheckedOut, day(14)) +
		guest(city, "A", day(13), 25, 1, "95", historyNoShow, day(13)) +
		// A no-show keeps the room: line 10 is refused for it.
		guest(resort, "C", day(20), 9, 1, "-6.38", historyNoShow, day(20)) +
		guest(resort, "C", day(20), 1, 2, "70", historyCheckedOut, day(22)) +
		// The form of these is wrong, or the product says so.
		guest(city, "A", day(30), 1, 0, "0", historyCheckedOut, day(30)) +
		guest(city, "A", day(30), 1, 400, "0", historyCancelled, day(0)) +
		guest("Grand Hotel", "A", day(30), 1, 1, "50", historyCheckedOut, day(31)) +
		guest(city, "A", day(30), 1, 1, "much", historyCheckedOut, day(31)) +
		guest(city, "A", day(30), 1, 1, "50", "Lost", day(31)) +
		guest(city, "A", day(30), -1, 1, "50", historyCheckedOut, day(31)) +
		guest(city, "A", day(30), 1, -1, "50", historyCheckedOut, day(31)) +
		strings.Replace(guest(city, "A", day(30), 1, 1, "50", historyCheckedOut, day(31)), "March", "Brumaire", 1) +
		strings.Replace(guest(city, "A", date(2016, 3, 31), 1, 1, "50", historyCheckedOut, day(31)), "March", "February", 1) +
		"City Hotel,0,1\n"
	command := importBookingsCommand{File: "history.csv", TenantSlug: newSlug()}
	report, err := importHistory(t, a, command, content)
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK || report.Audit == nil {
		t.Errorf("the audit is %+v", report.Audit)
	}
	if report.AdminKey == "" {
		t.Error("the key of the new tenant is not told")
	}
	if report.ShiftDays%7 != 0 || report.ShiftDays <= 0 {
		t.Errorf("the dates were moved by %d days", report.ShiftDays)
	}
	got := map[string]int{
		"rows": report.Rows, "booked": report.Accepted, "checked out": report.CheckedOut, "cancelled": report.Cancelled, "no-show": report.NoShow,
		"refused": report.RefusedRows, "replayed": report.Replayed,
	}
	for code, refused := range report.Refused {
		got[code] = refused.Count
	}
	want := map[string]int{
		"rows": 19, "booked": 5, "checked out": 3, "cancelled": 1, "no-show": 1, "replayed": 0,
		"refused": 14, "SOLD_OUT": 4, "BAD_INPUT": 2, "MALFORMED": 8,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v\nrefused %+v", got, want, refusals(report))
	}
	for line, words := range map[int]string{
		4: "night 2016-03-13", 5: "night 2016-03-12", 8: "night 2016-03-14", 11: "checkOut", 12: "at most 366 nights",
	} {
		if !slices.ContainsFunc(refusals(report), func(text string) bool {
			return strings.HasPrefix(text, fmt.Sprintf("line %d:", line)) && strings.Contains(text, words)
		}) {
			t.Errorf("no refusal of line %d that says %q: %q", line, words, refusals(report))
		}
	}
	// A tenant with bookings is not sold to again by accident, and --again sells nothing twice.
	if _, err := importHistory(t, a, command, content); err == nil || !strings.Contains(err.Error(), "--again") {
		t.Errorf("importing into a tenant with bookings gave %v", err)
	}
	command.Again = true
	again, err := importHistory(t, a, command, content)
	if err != nil {
		t.Fatal(err)
	}
	if again.Accepted != 5 || again.Replayed != 5 || again.Cancelled != 1 || again.NoShow != 1 || again.RefusedRows != 14 || !again.OK {
		t.Errorf("importing again gave %+v, %q", again, refusals(again))
	}
	command.Limit = 3
	if _, err := importHistory(t, a, command, content); err == nil || !strings.Contains(err.Error(), "--limit") {
		t.Errorf("importing a part of what is there gave %v", err)
	}
	var printed strings.Builder
	again.print(&printed)
	for _, word := range []string{"SOLD_OUT", "no-show", "Audit", "City Hotel"} {
		if !strings.Contains(printed.String(), word) {
			t.Errorf("the table does not say %q:\n%s", word, printed.String())
		}
	}
}

// An oversold hotel sells what it would refuse.
func TestImportBookingsOversell(t *testing.T) {
	t.Parallel()
	a := newTestApp(t)
	content := historyHeader +
		guest(historyCityHotel, "A", date(2016, 3, 1), 9, 2, "80", historyCheckedOut, date(2016, 3, 3)) +
		guest(historyCityHotel, "A", date(2016, 3, 2), 8, 2, "80", historyCancelled, date(2016, 3, 1))
	for oversell, booked := range map[int64]int{0: 1, 100: 2} {
		report, err := importHistory(t, a, importBookingsCommand{TenantSlug: newSlug(), Oversell: oversell, ThrowAway: true}, content)
		if err != nil || report.Accepted != booked || !report.OK {
			t.Errorf("with %d %% oversell: %+v, %v; want %d booked", oversell, report, err, booked)
		}
		if report != nil && report.AdminKey != "" {
			t.Error("the key of a tenant that is thrown away is told")
		}
	}
	owner, slug := newOwner(t, a), ""
	err := a.asOperator(t.Context(), "Tests", func(ctx context.Context, operator tenants.Actor) error {
		other, err := a.tenants.Tenant(ctx, operator, owner.Tenant)
		slug = other.Slug
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = importHistory(t, a, importBookingsCommand{TenantSlug: slug}, content)
	wantError(t, err, "--tenant-slug", "sandbox", "offline")
}

// Wherever an import is interrupted, and however often, going on ends where an import without an
// interruption ends; and that is what a plain count of rooms says.
func TestImportBookingsGoesOn(t *testing.T) {
	t.Parallel()
	a := newTestApp(t)
	random := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // a test's history needs no secrecy
	var content strings.Builder
	content.WriteString(historyHeader)
	const rows = 60
	for range rows {
		arrival := date(2016, 3, 10).AddDays(random.IntN(12))
		nights, lead := 1+random.IntN(4), random.IntN(20)
		hotel := []string{historyCityHotel, historyResortHotel}[random.IntN(2)]
		switch random.IntN(5) {
		case 0, 1:
			content.WriteString(guest(hotel, "A", arrival, lead, nights, "80", historyCancelled, arrival.AddDays(-random.IntN(lead+1))))
		case 2:
			content.WriteString(guest(hotel, "A", arrival, lead, nights, "80", historyNoShow, arrival))
		default:
			content.WriteString(guest(hotel, "A", arrival, lead, nights, "80", historyCheckedOut, arrival.AddDays(nights)))
		}
	}
	h, err := parseHistory("history.csv", []byte(content.String()), digestOf(t, content.String()))
	if err != nil {
		t.Fatal(err)
	}
	want := countRooms(h)
	for _, interruptions := range [][]int64{nil, {1}, {25}, {10, 10, 10}, {70}} {
		command := importBookingsCommand{TenantSlug: newSlug(), Workers: 3, Again: true}
		for _, after := range interruptions {
			interruptedImport(t, a, command, h, after)
		}
		report, err := a.importBookings(t.Context(), command, h, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		got := historyOutcome{report.Accepted, report.Cancelled, report.NoShow}
		if got != want || !report.OK {
			t.Errorf("interrupted at %v: got %+v, want %+v; refused %q", interruptions, got, want, refusals(report))
		}
		if report.Accepted+report.RefusedRows != rows {
			t.Errorf("interrupted at %v: %d rows were booked and %d refused, of %d", interruptions, report.Accepted, report.RefusedRows, rows)
		}
	}
}

// interruptedImport replays a history until so many events have happened.
func interruptedImport(t *testing.T, a *app, c importBookingsCommand, h history, events int64) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	err := a.asOperator(t.Context(), "Tests", func(background context.Context, operator tenants.Actor) error {
		setup, err := a.historySetup(background, operator, c, h, stockOf(h.rows).first)
		if err != nil {
			return err
		}
		if err := setup.sell(background, stockOf(h.rows), c.Oversell); err != nil {
			return err
		}
		r := newReplay(setup, h)
		var happened atomic.Int64
		return r.plan.run(ctx, c.Workers, func(ctx context.Context, index int) error {
			settled := r.settled[index]
			err := r.happen(ctx, r.plan.events[index], settled)
			if !settled && happened.Add(1) == events {
				interrupt()
			}
			return err
		})
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted import ended with %v", err)
	}
}

type historyOutcome struct{ booked, cancelled, noShow int }

// countRooms is the history on paper: a count of rooms per night.
func countRooms(h history) historyOutcome {
	type night struct {
		room historyRoom
		date civil.Date
	}
	var outcome historyOutcome
	stock, taken, booked := stockOf(h.rows), map[night]int64{}, map[int]bool{}
	for _, event := range planOf(h.rows).events {
		row := h.rows[event.row]
		room := historyRoom{row.hotel, row.roomType}
		change := int64(0)
		switch {
		case event.kind == historyBooks:
			booked[event.row] = true
			for date := row.arrival; date.Before(row.departure()); date = date.AddDays(1) {
				booked[event.row] = booked[event.row] && taken[night{room, date}] < stock.rooms[room].physical
			}
			if booked[event.row] {
				outcome.booked++
				change = 1
			}
		case !booked[event.row]:
		case event.kind == historyCancels:
			outcome.cancelled++
			change = -1
		default:
			outcome.noShow++
		}
		for date := row.arrival; date.Before(row.departure()); date = date.AddDays(1) {
			taken[night{room, date}] += change
		}
	}
	return outcome
}

func TestHistoryNeedsItsColumns(t *testing.T) {
	t.Parallel()
	for content, words := range map[string][]string{
		"":                      {"history.csv", "empty"},
		"hotel,lead_time\n":     {"line 1", "arrival_date_year"},
		"a \"quoted\" header\n": {"line 1"},
	} {
		_, err := parseHistory("history.csv", []byte(content), "")
		wantError(t, err, words...)
	}
}

func TestHistoryNeedsARow(t *testing.T) {
	t.Parallel()
	a := newTestApp(t)
	for content, words := range map[string][]string{
		historyHeader:                      {"there is none"},
		historyHeader + "City Hotel,0,1\n": {"line 2", "as many cells"},
	} {
		_, err := importHistory(t, a, importBookingsCommand{File: "history.csv", TenantSlug: newSlug()}, content)
		wantError(t, err, append(words, "history.csv")...)
	}
}

func TestHistoryLimit(t *testing.T) {
	t.Parallel()
	good := guest(historyCityHotel, "A", date(2016, 3, 1), 9, 2, "80", historyCheckedOut, date(2016, 3, 3))
	h, err := parseHistory("history.csv", []byte(historyHeader+good+"x\n"+good+"y\n"+good), "")
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int][2]int{0: {3, 2}, 1: {1, 0}, 2: {1, 1}, 3: {2, 1}, 4: {2, 2}, 5: {3, 2}, 9: {3, 2}} {
		limited := h.limited(limit)
		if got := [2]int{len(limited.rows), len(limited.malformed)}; got != want {
			t.Errorf("the first %d rows are %d good and %d malformed ones, want %v", limit, got[0], got[1], want)
		}
	}
}

func TestShiftKeepsWeekdays(t *testing.T) {
	t.Parallel()
	first := date(2015, 7, 1)
	for today, want := range map[civil.Date]int{
		date(2015, 6, 30): 0,
		date(2015, 7, 1):  7,
		date(2015, 7, 7):  7,
		date(2015, 7, 8):  14,
	} {
		if got := shiftDaysOf(first, today); got != want || !first.AddDays(got).After(today) {
			t.Errorf("on %s the dates move by %d days, want %d", today, got, want)
		}
	}
}

// The real history has known sums.
func TestRealHistoryIsRead(t *testing.T) {
	t.Parallel()
	path := realInput(t, "hotel_bookings.csv.gz")
	content, digest, err := readImport(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := parseHistory(path, content, digest)
	if err != nil {
		t.Fatal(err)
	}
	noNights := 0
	byHotel := map[string]int{}
	for _, row := range h.rows {
		byHotel[row.hotel]++
		if row.nights == 0 {
			noNights++
		}
	}
	if h.lines != 119_390 || len(h.malformed) != 0 || noNights != 715 || byHotel[historyCityHotel] != 79_330 || byHotel[historyResortHotel] != 40_060 {
		t.Errorf("read %d rows, %d malformed, %d without nights, by hotel %v", h.lines, len(h.malformed), noNights, byHotel)
	}
	stock := stockOf(h.rows)
	if len(stock.rooms) != 18 || stock.first != date(2015, 7, 1) {
		t.Errorf("the stock has %d room types from %s", len(stock.rooms), stock.first)
	}
}

// The first rows of the real history go through the product.
func TestRealHistoryBegins(t *testing.T) {
	t.Parallel()
	content, digest, err := readImport(realInput(t, "hotel_bookings.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := parseHistory("hotel_bookings.csv.gz", content, digest)
	if err != nil {
		t.Fatal(err)
	}
	a := newTestApp(t)
	report, err := a.importBookings(t.Context(), importBookingsCommand{TenantSlug: newSlug(), Limit: 200, Workers: 4}, h, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK || report.Rows != 200 || report.Accepted+report.RefusedRows != 200 || report.Refused[codeBadInput].Count == 0 {
		t.Errorf("got %+v, refused %q", report, refusals(report))
	}
}

// refusals are the examples of a report as text.
func refusals(report *historyReport) []string {
	var texts []string
	for code, refused := range report.Refused {
		for _, example := range refused.Examples {
			texts = append(texts, fmt.Sprintf("line %d: %s: %s", example.Line, code, example.Reason))
		}
	}
	slices.Sort(texts)
	return texts
}
