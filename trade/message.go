package trade

import (
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/inventory"
)

// Kind is what a message is about.
type Kind string

// The kinds of messages.
const (
	KindInventory    Kind = "INVENTORY"
	KindRestrictions Kind = "RESTRICTIONS"
	KindRates        Kind = "RATES"
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{KindInventory, KindRestrictions, KindRates} }

// root is the name of a message without its ending RQ or RS.
func (k Kind) root() string {
	switch k {
	case KindInventory:
		return "OTA_HotelInvCountNotif"
	case KindRestrictions:
		return "OTA_HotelAvailNotif"
	case KindRates:
		return "OTA_HotelRatePlanNotif"
	}
	return ""
}

// message is what a partner's system says of one hotel.
type message struct {
	kind Kind
	// version, echoToken and timeStamp are the message's own, and repeated by the answer.
	version, echoToken, timeStamp string
	hotel                         string
	// complete: what the message does not name is closed, or free of restrictions.
	complete   bool
	statements []statement
}

// statement is one thing that a message says of some nights.
type statement struct {
	at *element
	// room is a room type's code; "" is every room type of the hotel.
	room string
	// plan is a rate plan's code; "" is the room type itself.
	plan      string
	nights    nights
	change    inventory.NightChange
	available *int64
	// prices are what a rate offers; which of them is the night's price depends on the room type.
	prices *prices
	// currency is that of the prices.
	currency string
}

// nights are those from first to last, both included, that begin on certain weekdays.
type nights struct {
	first, last civil.Date
	weekdays    [7]bool
}

func everyDay() [7]bool { return [7]bool{true, true, true, true, true, true, true} }

func (r nights) dates() []civil.Date {
	var dates []civil.Date
	for night := r.first; !night.After(r.last); night = night.AddDays(1) {
		if r.weekdays[night.Weekday()] {
			dates = append(dates, night)
		}
	}
	return dates
}

// some is whether there is any night at all.
func (r nights) some() bool {
	for night := r.first; !night.After(r.last) && night.DaysSince(r.first) < len(r.weekdays); night = night.AddDays(1) {
		if r.weekdays[night.Weekday()] {
			return true
		}
	}
	return false
}

// parse reads a message. What is wrong with it is in the notes; without errors the message can be applied to
// a hotel that has its codes.
func parse(document []byte) (message, notes) {
	var n notes
	if len(document) > MaxBytes {
		n.fail(typeProtocol, codeInvalidRequest, "", "expected a message of at most %d bytes; send it in parts", MaxBytes)
		return message{}, n
	}
	root, err := parseElement(document)
	if err != nil {
		n.fail(typeProtocol, codeInvalidRequest, "", "%s", err)
		return message{}, n
	}
	var m message
	for _, kind := range Kinds() {
		if root.name == kind.root()+"RQ" {
			m.kind = kind
		}
	}
	if m.kind == "" || root.foreign {
		m.kind = ""
		n.fail(typeNoImplementation, codeInvalidRequest, "", "expected OTA_HotelInvCountNotifRQ, OTA_HotelAvailNotifRQ or OTA_HotelRatePlanNotifRQ of the namespace %s, got %s", namespace, quoted(root.name))
		return m, n
	}
	m.version, _ = root.value("Version")
	m.echoToken, _ = root.value("EchoToken")
	m.timeStamp, _ = root.value("TimeStamp")
	for name, value := range map[string]string{"Version": m.version, "EchoToken": m.echoToken, "TimeStamp": m.timeStamp} {
		if len(value) > maxEchoToken {
			n.fail(typeBusinessRule, codeInvalidValue, root.path()+"/@"+name, "expected at most %d bytes", maxEchoToken)
		}
	}
	for _, name := range []string{"Target", "PrimaryLangID", "MessageContentCode", "TransactionIdentifier", "SequenceNmbr", "CorrelationID", "RetransmissionIndicator"} {
		if value, _ := root.value(name); name == "Target" && value != "" && value != "Production" {
			n.fail(typeBusinessRule, codeUnableToProcess, root.path()+"/@Target", "expected Production: what is sent here is sold, got %s", quoted(value))
		}
	}
	// Who sends is told by the key.
	root.one(&n, "POS").skip()
	m.complete = completeSet(&n, root)
	switch m.kind {
	case KindInventory:
		m.readInventory(&n, root)
	case KindRestrictions:
		m.readRestrictions(&n, root)
	case KindRates:
		m.readRates(&n, root)
	}
	root.tellUnread(&n)
	return m, n
}

// completeSet is whether the message is the whole of what there is, as AlpineBits marks it.
func completeSet(n *notes, root *element) bool {
	id := root.one(n, "UniqueID")
	if id == nil {
		return false
	}
	instance, _ := id.value("Instance")
	id.skip()
	switch instance {
	case "CompleteSet":
		return true
	case "":
		return false
	}
	n.fail(typeBusinessRule, codeInvalidValue, id.path()+"/@Instance", "expected CompleteSet, got %s", quoted(instance))
	return false
}

// readHotel reads of which hotel a list is.
func (m *message) readHotel(n *notes, list *element) {
	m.hotel = list.needed(n, "HotelCode")
	for _, name := range []string{"HotelName", "ChainCode", "ChainName", "BrandCode", "BrandName", "HotelCityCode"} {
		list.value(name)
	}
}

// readNights reads a range of nights and the weekdays it is limited to. Weekdays that are true are the only ones;
// where some are only false, the others are meant.
func readNights(n *notes, e *element) (nights, bool) {
	first, ok := e.date(n, "Start")
	last, alsoOK := e.date(n, "End")
	if !ok || !alsoOK {
		return nights{}, false
	}
	days := last.DaysSince(first) + 1
	switch {
	case days < 1:
		n.fail(typeBusinessRule, codeInvalidRange, e.path(), "expected an End that is not before the Start %s, got %s", first, last)
		return nights{}, false
	case days > inventory.MaxNightRange:
		n.fail(typeBusinessRule, codeInvalidRange, e.path(), "expected a range of at most %d nights, got %d", inventory.MaxNightRange, days)
		return nights{}, false
	}
	r := nights{first: first, last: last, weekdays: readWeekdays(n, e)}
	if !r.some() {
		n.fail(typeBusinessRule, codeInvalidRange, e.path(), "no night from %s to %s falls on these weekdays", first, last)
		return nights{}, false
	}
	return r, true
}

func readWeekdays(n *notes, e *element) [7]bool {
	var only, never [7]bool
	any := false
	for day, name := range [7]string{time.Sunday: "Sun", time.Monday: "Mon", time.Tuesday: "Tue", time.Wednesday: "Weds", time.Thursday: "Thur", time.Friday: "Fri", time.Saturday: "Sat"} {
		yes, ok := e.flag(n, name)
		only[day], never[day] = ok && yes, ok && !yes
		any = any || only[day]
	}
	if any {
		return only
	}
	every := everyDay()
	for day := range every {
		every[day] = !never[day]
	}
	return every
}
