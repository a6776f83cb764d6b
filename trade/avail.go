package trade

import (
	"strings"

	"github.com/holdfast/holdfast/inventory"
)

// readRestrictions reads OTA_HotelAvailNotifRQ.
func (m *message) readRestrictions(n *notes, root *element) {
	list := root.one(n, "AvailStatusMessages")
	if list == nil {
		n.fail(typeRequired, codeMissing, root.path(), "expected the element AvailStatusMessages")
		return
	}
	m.readHotel(n, list)
	entries := list.all("AvailStatusMessage")
	if m.complete && len(entries) == 1 && len(entries[0].attributes)+len(entries[0].children) == 0 {
		return
	}
	if len(entries) == 0 {
		n.fail(typeRequired, codeMissing, list.path(), "expected at least one element AvailStatusMessage")
	}
	for _, e := range entries {
		if n.full() {
			return
		}
		m.readAvailStatus(n, e)
	}
}

func (m *message) readAvailStatus(n *notes, e *element) {
	control := e.one(n, "StatusApplicationControl")
	if control == nil {
		n.fail(typeRequired, codeMissing, e.path(), "expected the element StatusApplicationControl")
		return
	}
	// The sender's own number of the part.
	e.one(n, "UniqueID").skip()
	e.value("LocatorID")
	s := statement{at: control}
	var ok bool
	if s.nights, ok = readNights(n, control); !ok {
		return
	}
	s.room, _ = control.value("InvTypeCode")
	s.plan, _ = control.value("RatePlanCode")
	control.flag(n, "AllInvCode")
	if code, named := control.value("InvCode"); named && code != "" && code != s.room {
		n.fail(typeBusinessRule, codeInvalidRoom, control.path()+"/@InvCode", "restrictions are those of a room type: expected InvTypeCode alone, got the room %s", quoted(code))
		return
	}
	says := s.readLimit(n, e)
	for _, status := range e.all("RestrictionStatus") {
		says = s.readStatus(n, status) || says
	}
	for _, lengths := range e.all("LengthsOfStay") {
		says = s.readLengths(n, lengths) || says
	}
	if says {
		m.statements = append(m.statements, s)
	}
}

// readLimit reads how many rooms may still be sold.
func (s *statement) readLimit(n *notes, e *element) bool {
	limit, ok := e.whole(n, "BookingLimit", 0, maxCount)
	sort, _ := e.value("BookingLimitMessageType")
	switch {
	case sort != "" && sort != "SetLimit":
		n.fail(typeNoImplementation, codeUnableToProcess, e.path()+"/@BookingLimitMessageType", "expected SetLimit: a limit is given as it is to be, got %s", quoted(sort))
		return false
	case !ok:
		return false
	case s.plan != "":
		n.fail(typeBusinessRule, codeInvalidRate, e.path()+"/@BookingLimit", "rooms are limited for all rate plans together, got one for %s", quoted(s.plan))
		return false
	case s.room == "":
		n.fail(typeRequired, codeMissing, s.at.path()+"/@InvTypeCode", "a BookingLimit needs the attribute InvTypeCode")
		return false
	}
	s.available = &limit
	return true
}

// readStatus reads what opens or closes.
func (s *statement) readStatus(n *notes, e *element) bool {
	restriction, _ := e.value("Restriction")
	status, named := e.value("Status")
	if !named {
		// What else it says is told as not kept.
		return false
	}
	closed := false
	switch status {
	case "Open":
	case "Close":
		closed = true
	default:
		n.fail(typeBusinessRule, codeInvalidValue, e.path()+"/@Status", "expected Open or Close, got %s", quoted(status))
		return false
	}
	var target **bool
	switch restriction {
	case "", "Master":
		target = &s.change.StopSell
	case "Arrival":
		target = &s.change.ClosedToArrival
	case "Departure":
		target = &s.change.ClosedToDeparture
	default:
		n.fail(typeNoImplementation, codeInvalidValue, e.path()+"/@Restriction", "expected Master, Arrival or Departure, got %s", quoted(restriction))
		return false
	}
	if *target != nil && **target != closed {
		n.fail(typeBusinessRule, codeInvalidValue, e.path(), "the same restriction is both opened and closed")
		return false
	}
	*target = &closed
	return true
}

// readLengths reads limits of the length of stay.
func (s *statement) readLengths(n *notes, list *element) bool {
	says := false
	for _, e := range list.all("LengthOfStay") {
		says = s.readLength(n, e, e.needed(n, "MinMaxMessageType")) || says
	}
	// By arrival and through are told apart by the message types.
	list.value("ArrivalDateBased")
	return says
}

func (s *statement) readLength(n *notes, e *element, sort string) bool {
	var target **int64
	removes := strings.HasPrefix(sort, "Remove")
	switch "Set" + strings.TrimPrefix(strings.TrimPrefix(sort, "Remove"), "Set") {
	case "SetMinLOS":
		target = &s.change.MinStayArrival
	case "SetMaxLOS":
		target = &s.change.MaxStayArrival
	case "SetForwardMinStay":
		target = &s.change.MinStayThrough
	case "SetForwardMaxStay":
		target = &s.change.MaxStayThrough
	default:
		if sort != "" {
			n.fail(typeNoImplementation, codeInvalidValue, e.path()+"/@MinMaxMessageType", "expected SetMinLOS, SetMaxLOS, SetForwardMinStay or SetForwardMaxStay, got %s", quoted(sort))
		}
		return false
	}
	if unit, named := e.value("TimeUnit"); named && unit != "Day" {
		n.fail(typeBusinessRule, codeInvalidValue, e.path()+"/@TimeUnit", "expected Day, got %s", quoted(unit))
		return false
	}
	limit, ok := e.whole(n, "Time", 0, inventory.MaxStayRule)
	switch {
	case removes:
		limit = 0
	case !ok:
		e.needed(n, "Time")
		return false
	}
	if *target != nil && **target != limit {
		n.fail(typeBusinessRule, codeInvalidValue, e.path(), "%s is there twice, as %d and as %d", sort, **target, limit)
		return false
	}
	*target = &limit
	return true
}
