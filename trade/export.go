package trade

import (
	"context"
	"encoding/xml"
	"strconv"
	"strings"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// The parts of messages that are written.
type (
	inventoryDocument struct {
		XMLName     xml.Name
		Version     string        `xml:"Version,attr"`
		Inventories inventoryList `xml:"Inventories"`
	}
	inventoryList struct {
		HotelCode string           `xml:"HotelCode,attr"`
		Entries   []inventoryEntry `xml:"Inventory"`
	}
	inventoryEntry struct {
		Control control      `xml:"StatusApplicationControl"`
		Counts  []countEntry `xml:"InvCounts>InvCount"`
	}
	countEntry struct {
		CountType int   `xml:"CountType,attr"`
		Count     int64 `xml:"Count,attr"`
	}
	control struct {
		Start        string `xml:"Start,attr"`
		End          string `xml:"End,attr"`
		InvTypeCode  string `xml:"InvTypeCode,attr,omitempty"`
		RatePlanCode string `xml:"RatePlanCode,attr,omitempty"`
	}
	restrictionDocument struct {
		XMLName  xml.Name
		Version  string          `xml:"Version,attr"`
		Messages restrictionList `xml:"AvailStatusMessages"`
	}
	restrictionList struct {
		HotelCode string             `xml:"HotelCode,attr"`
		Entries   []restrictionEntry `xml:"AvailStatusMessage"`
	}
	restrictionEntry struct {
		Control control      `xml:"StatusApplicationControl"`
		Lengths *lengthList  `xml:"LengthsOfStay"`
		Status  *statusEntry `xml:"RestrictionStatus"`
	}
	lengthList struct {
		Entries []lengthEntry `xml:"LengthOfStay"`
	}
	lengthEntry struct {
		Time int64  `xml:"Time,attr"`
		Unit string `xml:"TimeUnit,attr"`
		Sort string `xml:"MinMaxMessageType,attr"`
	}
	statusEntry struct {
		Restriction string `xml:"Restriction,attr"`
		Status      string `xml:"Status,attr"`
	}
	rateDocument struct {
		XMLName xml.Name
		Version string   `xml:"Version,attr"`
		Plans   rateList `xml:"RatePlans"`
	}
	rateList struct {
		HotelCode string          `xml:"HotelCode,attr"`
		Plans     []ratePlanEntry `xml:"RatePlan"`
	}
	ratePlanEntry struct {
		Code     string      `xml:"RatePlanCode,attr"`
		Sort     string      `xml:"RatePlanNotifType,attr"`
		Currency string      `xml:"CurrencyCode,attr"`
		Rates    []rateEntry `xml:"Rates>Rate"`
	}
	rateEntry struct {
		Room  string      `xml:"InvTypeCode,attr"`
		Start string      `xml:"Start,attr"`
		End   string      `xml:"End,attr"`
		Bases []baseEntry `xml:"BaseByGuestAmts>BaseByGuestAmt"`
	}
	baseEntry struct {
		Guests int64  `xml:"NumberOfGuests,attr"`
		Amount string `xml:"AmountAfterTax,attr"`
	}
)

// exported is what an export reads.
type exported struct {
	hotel  hotel
	nights []inventory.PlannedNight
}

// Export writes a message about the nights of a hotel from first to last, both included. Room types without a code
// are left out. Sent to Take, it changes nothing.
func (s *Service) Export(ctx context.Context, actor tenants.Actor, kind Kind, property tenants.PropertyID, first, last civil.Date) ([]byte, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionTradeRead, property); err != nil {
		return nil, err
	}
	if err := checkRange(first, last); err != nil {
		return nil, err
	}
	x, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (exported, error) {
		h, err := hotelTx(ctx, tx, actor.Tenant, property)
		if err != nil {
			return exported{}, err
		}
		if h.code == "" {
			return exported{}, fault.Conflict("the hotel has no code yet: set one with setTradeCodes")
		}
		nights, err := inventory.PlannedNightsTx(ctx, tx, actor.Tenant, property, h.coded(), first, last)
		return exported{h, nights}, err
	})
	if err != nil {
		return nil, err
	}
	switch kind {
	case KindInventory:
		return x.inventory()
	case KindRestrictions:
		return x.restrictions()
	case KindRates:
		return x.rates()
	}
	return nil, fault.Invalid("kind", "expected INVENTORY, RESTRICTIONS or RATES")
}

// checkRange says what is wrong with a range of nights.
func checkRange(first, last civil.Date) error {
	switch {
	case !first.IsValid():
		return fault.Invalid("from", "expected a date such as 2027-03-14")
	case !last.IsValid() || last.Before(first):
		return fault.Invalid("to", "expected a date not before from %s, got %s", first, last)
	case last.DaysSince(first) >= MaxExportDays:
		return fault.Invalid("to", "expected at most %d days, got %d", MaxExportDays, last.DaysSince(first)+1)
	}
	return nil
}

func nameOf(kind Kind) xml.Name { return xml.Name{Space: namespace, Local: kind.root() + "RQ"} }

// run is a range of nights of one room type that are alike.
type run struct {
	room        inventory.RoomTypeID
	first, last civil.Date
	night       inventory.PlannedNight
}

func (r run) control(h hotel) control {
	return control{Start: r.first.String(), End: r.last.String(), InvTypeCode: h.codeOf(r.room)}
}

// runs joins nights that follow one another, by what must be alike. A night whose form is "" is left out.
func (x exported) runs(form func(inventory.PlannedNight) string) []run {
	var runs []run
	previous := ""
	for _, night := range x.nights {
		said := form(night)
		if said == "" {
			continue
		}
		if n := len(runs) - 1; n >= 0 && runs[n].room == night.RoomType && runs[n].last.AddDays(1) == night.Night && said == previous {
			runs[n].last = night.Night
			continue
		}
		previous = said
		runs = append(runs, run{room: night.RoomType, first: night.Night, last: night.Night, night: night})
	}
	return runs
}

func (x exported) inventory() ([]byte, error) {
	d := inventoryDocument{XMLName: nameOf(KindInventory), Version: answerVersion, Inventories: inventoryList{HotelCode: x.hotel.code}}
	for _, r := range x.runs(func(n inventory.PlannedNight) string {
		return joined(n.Physical, n.OutOfOrder, n.Oversell, n.Available)
	}) {
		d.Inventories.Entries = append(d.Inventories.Entries, inventoryEntry{Control: r.control(x.hotel), Counts: []countEntry{
			{countPhysical, r.night.Physical},
			{countAvailable, r.night.Available},
			{countOutOfOrder, r.night.OutOfOrder},
			{countOversell, r.night.Oversell},
		}})
	}
	return document(d)
}

func joined(numbers ...int64) string {
	var text strings.Builder
	for _, n := range numbers {
		text.WriteString(strconv.FormatInt(n, 10))
		text.WriteByte(' ')
	}
	return text.String()
}

func (x exported) restrictions() ([]byte, error) {
	d := restrictionDocument{XMLName: nameOf(KindRestrictions), Version: answerVersion, Messages: restrictionList{HotelCode: x.hotel.code}}
	for _, f := range []struct {
		restriction string
		closed      func(inventory.PlannedNight) bool
	}{
		{"Master", func(n inventory.PlannedNight) bool { return n.StopSell }},
		{"Arrival", func(n inventory.PlannedNight) bool { return n.ClosedToArrival }},
		{"Departure", func(n inventory.PlannedNight) bool { return n.ClosedToDeparture }},
	} {
		for _, r := range x.runs(func(n inventory.PlannedNight) string { return openOrClose(f.closed(n)) }) {
			d.Messages.Entries = append(d.Messages.Entries, restrictionEntry{
				Control: r.control(x.hotel), Status: &statusEntry{Restriction: f.restriction, Status: openOrClose(f.closed(r.night))},
			})
		}
	}
	for _, r := range x.runs(func(n inventory.PlannedNight) string {
		return joined(rule(n.MinStayArrival), rule(n.MaxStayArrival), rule(n.MinStayThrough), rule(n.MaxStayThrough))
	}) {
		d.Messages.Entries = append(d.Messages.Entries, restrictionEntry{Control: r.control(x.hotel), Lengths: &lengthList{[]lengthEntry{
			{rule(r.night.MinStayArrival), "Day", "SetMinLOS"},
			{rule(r.night.MaxStayArrival), "Day", "SetMaxLOS"},
			{rule(r.night.MinStayThrough), "Day", "SetForwardMinStay"},
			{rule(r.night.MaxStayThrough), "Day", "SetForwardMaxStay"},
		}}})
	}
	return document(d)
}

// rule is a limit of the length of stay; 0 is none.
func rule(nights *int64) int64 {
	if nights == nil {
		return 0
	}
	return *nights
}

func openOrClose(closed bool) string {
	if closed {
		return "Close"
	}
	return "Open"
}

func (x exported) rates() ([]byte, error) {
	d := rateDocument{XMLName: nameOf(KindRates), Version: answerVersion, Plans: rateList{HotelCode: x.hotel.code}}
	plan := ratePlanEntry{Code: x.hotel.standardRate, Sort: "Overlay", Currency: string(x.hotel.currency)}
	for _, r := range x.runs(func(n inventory.PlannedNight) string {
		if n.RateMinor == nil {
			return ""
		}
		return joined(*n.RateMinor)
	}) {
		plan.Rates = append(plan.Rates, rateEntry{
			Room: x.hotel.codeOf(r.room), Start: r.first.String(), End: r.last.String(),
			Bases: []baseEntry{{Guests: x.hotel.guestsOf(r.room), Amount: decimal(*r.night.RateMinor, x.hotel.currency)}},
		})
	}
	if len(plan.Rates) > 0 {
		d.Plans.Plans = append(d.Plans.Plans, plan)
	}
	return document(d)
}

func (h hotel) guestsOf(id inventory.RoomTypeID) int64 {
	for _, r := range h.rooms {
		if r.id == id {
			return r.maxGuests
		}
	}
	return 1
}

// decimal is an amount in units of its currency, with a point.
func decimal(minor int64, currency money.Currency) string {
	return strings.TrimSuffix(money.Amount{Minor: minor, Currency: currency}.String(), " "+string(currency))
}
