package trade

import (
	"math"
	"strconv"
	"strings"

	"github.com/holdfast/holdfast/internal/money"
)

// The kinds of charges of a price, of OpenTravel's list CHG.
const (
	chargePerPerson = "7"
	chargePerRoom   = "25"
)

const maxGuests = 100

// prices are the amounts of a rate by the number of guests that they are for.
type prices struct {
	amounts []price
	// rooms is whether an amount is for the room, or else for each guest.
	perPerson bool
}

type price struct {
	at *element
	// guests is 0 where the message does not say.
	guests   int64
	text     string
	decimals int
	// scaled is whether the text is a number of the smallest of so many decimals.
	scaled bool
}

// readRates reads OTA_HotelRatePlanNotifRQ.
func (m *message) readRates(n *notes, root *element) {
	list := root.one(n, "RatePlans")
	if list == nil {
		n.fail(typeRequired, codeMissing, root.path(), "expected the element RatePlans")
		return
	}
	m.readHotel(n, list)
	if m.complete {
		n.fail(typeNoImplementation, codeUnableToProcess, root.path()+"/UniqueID", "rates are overlaid: expected no CompleteSet, and a RatePlan for each plan whose nights change")
		return
	}
	plans := list.all("RatePlan")
	if len(plans) == 0 {
		n.fail(typeRequired, codeMissing, list.path(), "expected at least one element RatePlan")
	}
	for _, e := range plans {
		if n.full() {
			return
		}
		m.readRatePlan(n, e)
	}
}

func (m *message) readRatePlan(n *notes, e *element) {
	code := e.needed(n, "RatePlanCode")
	sort, named := e.value("RatePlanNotifType")
	if named && sort != "Overlay" {
		n.fail(typeNoImplementation, codeUnableToProcess, e.path()+"/@RatePlanNotifType", "expected Overlay: rate plans are set up at the hotel, got %s", quoted(sort))
		return
	}
	currency, _ := e.value("CurrencyCode")
	perPerson := false
	for _, rates := range e.all("Rates") {
		for _, rate := range rates.all("Rate") {
			if n.full() {
				return
			}
			_, dated := rate.value("Start")
			if !dated {
				perPerson = readStaticRate(n, rate, perPerson)
				continue
			}
			if s, ok := readRate(n, rate, code, currency, perPerson); ok {
				m.statements = append(m.statements, s)
			}
		}
	}
	for _, rules := range e.all("BookingRules") {
		for _, rule := range rules.all("BookingRule") {
			if n.full() {
				return
			}
			m.readBookingRule(n, rule, code)
		}
	}
}

// readStaticRate reads a rate without dates: AlpineBits says there how amounts are meant.
func readStaticRate(n *notes, e *element, perPerson bool) bool {
	checkUnit(n, e)
	for _, amounts := range e.all("BaseByGuestAmts") {
		for _, amount := range amounts.all("BaseByGuestAmt") {
			perPerson = readChargeType(n, amount, perPerson)
		}
	}
	return perPerson
}

func readChargeType(n *notes, e *element, perPerson bool) bool {
	sort, named := e.value("Type")
	switch {
	case !named:
		return perPerson
	case sort == chargePerPerson:
		return true
	case sort == chargePerRoom:
		return false
	}
	n.fail(typeBusinessRule, codeInvalidValue, e.path()+"/@Type", "expected 7 (per person) or 25 (per room), got %s", quoted(sort))
	return perPerson
}

// checkUnit refuses rates of anything but one night.
func checkUnit(n *notes, e *element) {
	if unit, named := e.value("RateTimeUnit"); named && unit != "Day" {
		n.fail(typeBusinessRule, codeInvalidValue, e.path()+"/@RateTimeUnit", "expected Day, got %s", quoted(unit))
	}
	if units, ok := e.whole(n, "UnitMultiplier", 1, math.MaxInt32); ok && units != 1 {
		n.fail(typeBusinessRule, codeInvalidValue, e.path()+"/@UnitMultiplier", "expected the price of one night, got that of %d", units)
	}
}

func readRate(n *notes, e *element, plan, currency string, perPerson bool) (statement, bool) {
	s := statement{at: e, plan: plan, prices: &prices{perPerson: perPerson}}
	var ok bool
	if s.nights, ok = readNights(n, e); !ok {
		return s, false
	}
	checkUnit(n, e)
	if s.room = e.needed(n, "InvTypeCode"); s.room == "" {
		return s, false
	}
	if own, named := e.value("CurrencyCode"); named {
		currency = own
	}
	bases := e.one(n, "BaseByGuestAmts")
	if bases == nil {
		n.fail(typeRequired, codeMissing, e.path(), "expected the element BaseByGuestAmts")
		return s, false
	}
	for _, base := range bases.all("BaseByGuestAmt") {
		p, its, ok := readPrice(n, base)
		if !ok {
			return s, false
		}
		if its == "" {
			its = currency
		}
		if its == "" {
			n.fail(typeRequired, codeMissing, base.path()+"/@CurrencyCode", "expected the attribute CurrencyCode, here or at the RatePlan")
			return s, false
		}
		if currency != "" && its != currency {
			n.fail(typeBusinessRule, codeInvalidCurrency, base.path()+"/@CurrencyCode", "expected %s, got %s", quoted(currency), quoted(its))
			return s, false
		}
		currency = its
		s.prices.perPerson = readChargeType(n, base, s.prices.perPerson)
		s.prices.amounts = append(s.prices.amounts, p)
	}
	if len(s.prices.amounts) == 0 {
		n.fail(typeRequired, codeMissing, bases.path(), "expected at least one element BaseByGuestAmt")
		return s, false
	}
	s.currency = currency
	return s, true
}

func readPrice(n *notes, e *element) (p price, currency string, ok bool) {
	p = price{at: e}
	p.guests, _ = e.whole(n, "NumberOfGuests", 1, maxGuests)
	currency, _ = e.value("CurrencyCode")
	if code, named := e.value("AgeQualifyingCode"); named && code != "10" {
		n.fail(typeBusinessRule, codeInvalidValue, e.path()+"/@AgeQualifyingCode", "expected 10 (adults), got %s", quoted(code))
		return p, currency, false
	}
	if p.text = e.needed(n, "AmountAfterTax"); p.text == "" {
		return p, currency, false
	}
	decimals, scaled := e.whole(n, "DecimalPlaces", 0, 9)
	p.decimals, p.scaled = int(decimals), scaled && !strings.Contains(p.text, ".")
	return p, currency, true
}

// minor is the amount in minor units of a currency. A price is written in units with a point, 120.00, or, with
// DecimalPlaces, in the smallest of so many decimals, 12000. Zeros after the currency's digits are taken.
func (p price) minor(currency money.Currency) (int64, bool) {
	whole, fraction, pointed := strings.Cut(p.text, ".")
	if p.scaled && p.decimals > 0 {
		digits := strings.Repeat("0", max(0, p.decimals+1-len(whole))) + whole
		whole, fraction = digits[:len(digits)-p.decimals], digits[len(digits)-p.decimals:]
	} else if pointed && fraction == "" {
		return 0, false
	}
	decimals := currency.Decimals()
	if len(fraction) > decimals {
		if strings.Trim(fraction[decimals:], "0") != "" {
			return 0, false
		}
		fraction = fraction[:decimals]
	}
	fraction += strings.Repeat("0", decimals-len(fraction))
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, false
	}
	minor, err := strconv.ParseInt(whole+fraction, 10, 64)
	return minor, err == nil && minor <= money.MaxMinor
}

// readBookingRule reads AlpineBits's restrictions of a rate plan.
func (m *message) readBookingRule(n *notes, e *element, plan string) {
	s := statement{at: e, plan: plan}
	var ok bool
	if s.nights, ok = readNights(n, e); !ok {
		return
	}
	if context, named := e.value("CodeContext"); named && context != "ROOMTYPE" {
		n.fail(typeBusinessRule, codeInvalidValue, e.path()+"/@CodeContext", "expected ROOMTYPE, got %s", quoted(context))
		return
	}
	s.room, _ = e.value("Code")
	says := false
	for _, lengths := range e.all("LengthsOfStay") {
		says = s.readLengths(n, lengths) || says
	}
	for _, status := range e.all("RestrictionStatus") {
		says = s.readStatus(n, status) || says
	}
	if says {
		m.statements = append(m.statements, s)
	}
	for _, days := range e.all("DOW_Restrictions") {
		m.readDayRules(n, s, days)
	}
}

// readDayRules reads on which weekdays guests may arrive and leave; what is not said is left.
func (m *message) readDayRules(n *notes, rule statement, e *element) {
	for _, days := range e.all("ArrivalDaysOfWeek") {
		m.addDayRule(rule, readWeekdays(n, days), true)
	}
	for _, days := range e.all("DepartureDaysOfWeek") {
		m.addDayRule(rule, readWeekdays(n, days), false)
	}
}

func (m *message) addDayRule(rule statement, open [7]bool, arrival bool) {
	for _, closed := range []bool{false, true} {
		s := statement{at: rule.at, room: rule.room, plan: rule.plan, nights: rule.nights}
		for day := range s.nights.weekdays {
			s.nights.weekdays[day] = s.nights.weekdays[day] && open[day] != closed
		}
		if arrival {
			s.change.ClosedToArrival = &closed
		} else {
			s.change.ClosedToDeparture = &closed
		}
		if s.nights.some() {
			m.statements = append(m.statements, s)
		}
	}
}
