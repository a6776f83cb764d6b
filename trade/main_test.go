package trade_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/trade"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// desk is a hotel that hears from partners' systems.
type desk struct {
	*inventorytest.Tenant
	t     testing.TB
	trade *trade.Service
	hotel *inventorytest.Hotel
	// double has five rooms on the first ten nights of November, and single three.
	double, single *inventorytest.Room
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	x := inventorytest.New(t)
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{Tenant: x, t: t, trade: trade.NewService(x.DB, enforcer, x.Inventory), hotel: x.Hotel()}
	d.double, d.single = d.hotel.Stocked("Double", 5, 1, 10), d.hotel.Stocked("Single", 3, 1, 10)
	d.code("H1", trade.RoomTypeCode{RoomType: d.double.ID, Code: "DBL"}, trade.RoomTypeCode{RoomType: d.single.ID, Code: "SGL"})
	return d
}

func (d *desk) code(hotel string, rooms ...trade.RoomTypeCode) {
	d.t.Helper()
	if _, err := d.trade.SetCodes(d.t.Context(), d.Owner, inventorytest.Key(), trade.SetCodes{Property: d.hotel.Property.ID, Hotel: hotel, RoomTypes: rooms}); err != nil {
		d.t.Fatal(err)
	}
}

// take sends a message, and wants it to be applied.
func (d *desk) take(body string) trade.Answer {
	d.t.Helper()
	answer := d.send(body)
	if answer.Outcome != trade.OutcomeApplied || !strings.Contains(string(answer.Document), "<Success>") {
		d.t.Fatalf("the message\n%s\nis answered %s:\n%s", body, answer.Outcome, answer.Document)
	}
	return answer
}

func (d *desk) send(body string) trade.Answer {
	d.t.Helper()
	answer, err := d.trade.Take(d.t.Context(), d.Owner, []byte(body))
	if err != nil {
		d.t.Fatal(err)
	}
	return answer
}

// refuse sends a message, wants an error that says all of something, and nothing changed.
func (d *desk) refuse(body string, wants ...string) {
	d.t.Helper()
	before := d.state()
	answer := d.send(body)
	text := string(answer.Document)
	if answer.Outcome != trade.OutcomeRefused || !strings.Contains(text, "<Errors>") || strings.Contains(text, "<Success>") {
		d.t.Errorf("the message\n%.2000s\nis answered %s:\n%s", body, answer.Outcome, text)
	}
	for _, want := range wants {
		if !strings.Contains(text, want) {
			d.t.Errorf("the answer does not say %q:\n%s", want, text)
		}
	}
	if after := d.state(); after != before {
		d.t.Errorf("a refused message changed\n%s\nto\n%s", before, after)
	}
}

// state is what all messages of the hotel say of November and around.
func (d *desk) state() string {
	d.t.Helper()
	var all strings.Builder
	for _, kind := range trade.Kinds() {
		all.WriteString(d.export(kind))
	}
	return all.String()
}

func (d *desk) export(kind trade.Kind) string {
	d.t.Helper()
	written, err := d.trade.Export(d.t.Context(), d.Owner, kind, d.hotel.Property.ID, inventorytest.Nov(-10), inventorytest.Nov(100))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(written)
}

// night is what a guest sees of a night of a room type.
func (d *desk) night(r *inventorytest.Room, day int) inventory.CalendarNight {
	d.t.Helper()
	calendar, err := d.Inventory.Calendar(d.t.Context(), d.Widget, d.hotel.Property, inventory.CalendarQuestion{RoomTypes: []inventory.RoomTypeID{r.ID}, First: inventorytest.Nov(day), Last: inventorytest.Nov(day)})
	if err != nil {
		d.t.Fatal(err)
	}
	if len(calendar.Nights) != 1 {
		d.t.Fatalf("day %d has %d nights", day, len(calendar.Nights))
	}
	return calendar.Nights[0]
}

func counts(attributes, inventories string) string {
	return message("OTA_HotelInvCountNotifRQ", attributes, `<Inventories HotelCode="H1">`+inventories+`</Inventories>`)
}

func avails(attributes, messages string) string {
	return message("OTA_HotelAvailNotifRQ", attributes, `<AvailStatusMessages HotelCode="H1">`+messages+`</AvailStatusMessages>`)
}

func plans(plans string) string {
	return message("OTA_HotelRatePlanNotifRQ", "", `<RatePlans HotelCode="H1">`+plans+`</RatePlans>`)
}

func message(root, attributes, body string) string {
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?><%s xmlns="http://www.opentravel.org/OTA/2003/05" Version="4" %s>%s</%[1]s>`, root, attributes, body)
}

// count is an inventory of DBL from one day of November to another, both included.
func count(first, last int, counts ...int) string {
	var entries strings.Builder
	for i := 0; i+1 < len(counts); i += 2 {
		fmt.Fprintf(&entries, `<InvCount CountType="%d" Count="%d"/>`, counts[i], counts[i+1])
	}
	return fmt.Sprintf(`<Inventory><StatusApplicationControl Start="%s" End="%s" InvTypeCode="DBL"/><InvCounts>%s</InvCounts></Inventory>`,
		inventorytest.Nov(first), inventorytest.Nov(last), entries.String())
}

// control is the element of a range of November.
func control(first, last int, attributes string) string {
	return fmt.Sprintf(`<StatusApplicationControl Start="%s" End="%s" %s/>`, inventorytest.Nov(first), inventorytest.Nov(last), attributes)
}
