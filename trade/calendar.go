package trade

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/civil"
	ics "github.com/arran4/golang-ical"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

const (
	productID = "-//Holdfast//Closed nights//EN"
	// ownUID ends the UIDs of events that Holdfast writes.
	ownUID = "@holdfast"
	// maxCalendarBytes, maxEvents and maxComponentDepth bound an imported calendar, and maxUID a UID in characters.
	maxCalendarBytes  = 1 << 20
	maxEvents         = 2000
	maxComponentDepth = 8
	maxUID            = 255
	// maxEventNights bounds the nights of one event.
	maxEventNights = 731
)

// closedRun is a run of closed nights, the last included.
type closedRun struct{ first, last civil.Date }

// uid is the same for as long as the run begins on the same night.
func (r closedRun) uid(roomType inventory.RoomTypeID) string {
	return r.first.String() + "-" + roomType.String() + ownUID
}

// ExportCalendar writes the nights from first to last, both included, on which nobody can buy a room of the type, as
// a calendar: those that are closed, and those that are sold out. An event ends on the day after its last night.
func (s *Service) ExportCalendar(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID, first, last civil.Date) ([]byte, error) {
	property, err := s.roomAt(ctx, actor, policies.ActionTradeRead, roomType)
	if err != nil {
		return nil, err
	}
	if err := checkRange(first, last); err != nil {
		return nil, err
	}
	type read struct {
		nights []inventory.PlannedNight
		now    time.Time
	}
	found, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (read, error) {
		nights, err := inventory.PlannedNightsTx(ctx, tx, actor.Tenant, property, []inventory.RoomTypeID{roomType}, first, last)
		if err != nil {
			return read{}, err
		}
		now, err := inventory.Now(ctx, tx)
		return read{nights, now}, err
	})
	if err != nil {
		return nil, err
	}
	var runs []closedRun
	for _, night := range found.nights {
		if !night.StopSell && night.Available > 0 {
			continue
		}
		if n := len(runs) - 1; n >= 0 && runs[n].last.AddDays(1) == night.Night {
			runs[n].last = night.Night
			continue
		}
		runs = append(runs, closedRun{night.Night, night.Night})
	}
	return writeCalendar(roomType, runs, found.now)
}

func writeCalendar(roomType inventory.RoomTypeID, runs []closedRun, now time.Time) ([]byte, error) {
	calendar := ics.NewCalendarFor("Holdfast")
	calendar.SetProductId(productID)
	calendar.SetMethod(ics.MethodPublish)
	for _, r := range runs {
		event := calendar.AddEvent(r.uid(roomType))
		event.SetDtStampTime(now.UTC())
		event.SetAllDayStartAt(r.first.In(time.UTC))
		event.SetAllDayEndAt(r.last.AddDays(1).In(time.UTC))
		event.SetSummary("Closed")
		event.SetTimeTransparency(ics.TransparencyOpaque)
	}
	var out bytes.Buffer
	if err := calendar.SerializeTo(&out, ics.WithNewLineWindows); err != nil {
		return nil, fmt.Errorf("write a calendar: %w", err)
	}
	return out.Bytes(), nil
}

// CalendarRange is the range of a calendar that names none: from today at the room type's hotel, a year.
func (s *Service) CalendarRange(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID) (first, last civil.Date, err error) {
	property, err := s.roomAt(ctx, actor, policies.ActionTradeRead, roomType)
	if err != nil {
		return first, last, err
	}
	h, err := hotelTx(ctx, s.db.Pool(), actor.Tenant, property)
	if err != nil {
		return first, last, db.Classify(err)
	}
	now, err := inventory.Now(ctx, s.db.Pool())
	if err != nil {
		return first, last, db.Classify(err)
	}
	first = civil.DateOf(now.In(h.zone))
	return first, first.AddDays(365), nil
}

// event is what an imported calendar says of some nights.
type event struct {
	uid         string
	first, last civil.Date
}

// readCalendar reads the events that close nights, in the time zone of a hotel. Events that are cancelled, that leave
// people free, or that Holdfast wrote itself close none.
func readCalendar(content []byte, zone *time.Location) ([]event, error) {
	if len(content) > maxCalendarBytes {
		return nil, fault.Invalid("calendar", "expected at most %d bytes", maxCalendarBytes)
	}
	if !utf8.Valid(content) {
		return nil, fault.Invalid("calendar", "expected a calendar in UTF-8")
	}
	content, err := unfolded(content)
	if err != nil {
		return nil, err
	}
	calendar, err := ics.ParseCalendar(bytes.NewReader(content))
	if err != nil {
		return nil, fault.Invalid("calendar", "expected a calendar of RFC 5545: %s", err)
	}
	all := calendar.Events()
	if len(all) > maxEvents {
		return nil, fault.Invalid("calendar", "expected at most %d events, got %d", maxEvents, len(all))
	}
	var events []event
	seen := map[string]bool{}
	for i, e := range all {
		read, closes, err := readEvent(e, zone)
		if err != nil {
			return nil, fault.InField(fmt.Sprintf("VEVENT[%d]", i+1), err)
		}
		if seen[read.uid] {
			return nil, fault.Invalid(fmt.Sprintf("VEVENT[%d].UID", i+1), "the event %s is there twice", quoted(read.uid))
		}
		seen[read.uid] = true
		if closes {
			events = append(events, read)
		}
	}
	return events, nil
}

// unfolded joins the lines of a calendar, and refuses components in components without end.
func unfolded(content []byte) ([]byte, error) {
	for _, fold := range []string{"\r\n ", "\r\n\t", "\n ", "\n\t"} {
		content = bytes.ReplaceAll(content, []byte(fold), nil)
	}
	if !bytes.HasPrefix(bytes.TrimPrefix(content, []byte("\uFEFF")), []byte("BEGIN:VCALENDAR")) {
		return nil, fault.Invalid("calendar", "expected a calendar that begins with BEGIN:VCALENDAR")
	}
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	depth := 0
	for line := range bytes.Lines(content) {
		switch word := strings.ToUpper(string(line[:min(len(line), len("BEGIN:"))])); {
		case word == "BEGIN:":
			depth++
		case strings.HasPrefix(word, "END:"):
			depth--
		}
		if depth > maxComponentDepth {
			return nil, fault.Invalid("calendar", "components are nested more than %d deep", maxComponentDepth)
		}
	}
	if depth != 0 {
		return nil, fault.Invalid("calendar", "the calendar did not arrive whole: a BEGIN has no END")
	}
	return content, nil
}

func readEvent(e *ics.VEvent, zone *time.Location) (event, bool, error) {
	value := func(name ics.ComponentProperty) string {
		if p := e.GetProperty(name); p != nil {
			return p.Value
		}
		return ""
	}
	read := event{uid: value(ics.ComponentPropertyUniqueId)}
	if n := utf8.RuneCountInString(read.uid); n < 1 || n > maxUID || strings.ContainsRune(read.uid, 0) {
		return read, false, fault.Invalid("UID", "expected 1 to %d characters", maxUID)
	}
	for _, repeats := range []ics.ComponentProperty{ics.ComponentPropertyRrule, ics.ComponentPropertyRdate, ics.ComponentPropertyDuration, "RECURRENCE-ID"} {
		if e.GetProperty(repeats) != nil {
			return read, false, fault.Invalid(string(repeats), "event %s: expected DTSTART and DTEND of one stay", quoted(read.uid))
		}
	}
	var err error
	if read.first, err = eventDate(e.GetProperty(ics.ComponentPropertyDtStart), zone); err != nil {
		return read, false, fault.Invalid("DTSTART", "event %s: %s", quoted(read.uid), err)
	}
	end := read.first.AddDays(1)
	if p := e.GetProperty(ics.ComponentPropertyDtEnd); p != nil {
		if end, err = eventDate(p, zone); err != nil {
			return read, false, fault.Invalid("DTEND", "event %s: %s", quoted(read.uid), err)
		}
	}
	if !end.After(read.first) {
		// Within a day: nobody sleeps.
		return read, false, nil
	}
	if n := end.DaysSince(read.first); n > maxEventNights {
		return read, false, fault.Invalid("DTEND", "event %s: expected at most %d nights, got %d", quoted(read.uid), maxEventNights, n)
	}
	read.last = end.AddDays(-1)
	idle := strings.EqualFold(value(ics.ComponentPropertyStatus), "CANCELLED") || strings.EqualFold(value(ics.ComponentPropertyTransp), "TRANSPARENT")
	return read, !idle && !strings.HasSuffix(read.uid, ownUID), nil
}

// eventDate is the day of a DTSTART or DTEND at the hotel.
func eventDate(p *ics.IANAProperty, zone *time.Location) (civil.Date, error) {
	const expected = "expected a date such as 20270314, or a time such as 20270314T150000Z, between 2000 and 2199"
	if p == nil {
		return civil.Date{}, fmt.Errorf("it is missing; %s", expected)
	}
	at, layout, named := zone, "20060102T150405", p.ICalParameters["TZID"]
	switch {
	case len(p.Value) == len("20060102"):
		// A day is the same everywhere, and has a midnight in UTC.
		at, layout = time.UTC, "20060102"
	case strings.HasSuffix(p.Value, "Z"):
		at, layout = time.UTC, layout+"Z"
	case len(named) == 1:
		known, err := time.LoadLocation(named[0])
		if err != nil || named[0] == "" || strings.EqualFold(named[0], "local") {
			return civil.Date{}, fmt.Errorf("there is no time zone %s", quoted(named[0]))
		}
		at = known
	}
	moment, err := time.ParseInLocation(layout, p.Value, at)
	if err != nil || moment.Year() < 2000 || moment.Year() > 2199 {
		return civil.Date{}, fmt.Errorf("%s, got %s", expected, quoted(p.Value))
	}
	if layout == "20060102" {
		return civil.DateOf(moment), nil
	}
	return civil.DateOf(moment.In(zone)), nil
}
