package trade

// The counts of OpenTravel's list INV that Holdfast holds.
const (
	countPhysical   = 1
	countAvailable  = 2
	countOutOfOrder = 6
	countOversell   = 99
)

const maxCount = 100_000

// readInventory reads OTA_HotelInvCountNotifRQ.
func (m *message) readInventory(n *notes, root *element) {
	list := root.one(n, "Inventories")
	if list == nil {
		n.fail(typeRequired, codeMissing, root.path(), "expected the element Inventories")
		return
	}
	m.readHotel(n, list)
	inventories := list.all("Inventory")
	if m.complete && len(inventories) == 1 && len(inventories[0].attributes)+len(inventories[0].children) == 0 {
		// AlpineBits: a complete set with one empty inventory says that nothing is for sale.
		return
	}
	if len(inventories) == 0 {
		n.fail(typeRequired, codeMissing, list.path(), "expected at least one element Inventory")
	}
	for _, e := range inventories {
		if n.full() {
			return
		}
		m.readInventoryOf(n, e)
	}
}

func (m *message) readInventoryOf(n *notes, e *element) {
	control := e.one(n, "StatusApplicationControl")
	if control == nil {
		n.fail(typeRequired, codeMissing, e.path(), "expected the element StatusApplicationControl")
		return
	}
	s := statement{at: control}
	var ok bool
	if s.nights, ok = readNights(n, control); !ok {
		return
	}
	s.room, _ = control.value("InvTypeCode")
	every, _ := control.flag(n, "AllInvCode")
	if code, named := control.value("InvCode"); named && code != "" && code != s.room {
		n.fail(typeBusinessRule, codeInvalidRoom, control.path()+"/@InvCode", "rooms are counted by their type: expected InvTypeCode alone, got the room %s", quoted(code))
		return
	}
	if plan, named := control.value("RatePlanCode"); named && plan != "" {
		n.fail(typeBusinessRule, codeInvalidRate, control.path()+"/@RatePlanCode", "rooms are counted for all rate plans together, got %s", quoted(plan))
		return
	}
	counts := e.one(n, "InvCounts")
	switch {
	case every && (s.room != "" || counts != nil):
		n.fail(typeBusinessRule, codeInvalidValue, e.path(), "a season in which the hotel is closed (AllInvCode) has neither InvTypeCode nor InvCounts")
		return
	case !every && s.room == "":
		n.fail(typeRequired, codeMissing, control.path()+"/@InvTypeCode", "expected the attribute InvTypeCode")
		return
	}
	if counts == nil {
		// AlpineBits: no counts at all are no rooms for sale.
		none := int64(0)
		s.available = &none
		m.statements = append(m.statements, s)
		return
	}
	if s.readCounts(n, counts) {
		m.statements = append(m.statements, s)
	}
}

// readCounts reads the counts of an inventory, and says whether any of them is kept.
func (s *statement) readCounts(n *notes, list *element) bool {
	entries, seen := list.all("InvCount"), map[int64]bool{}
	var available *element
	for _, e := range entries {
		kind, ok := e.whole(n, "CountType", 1, 99)
		if !ok {
			e.needed(n, "CountType")
			continue
		}
		count, ok := e.whole(n, "Count", 0, maxCount)
		if !ok {
			e.needed(n, "Count")
			continue
		}
		if seen[kind] {
			n.fail(typeBusinessRule, codeInvalidValue, e.path(), "CountType %d is there twice", kind)
			continue
		}
		seen[kind] = true
		switch kind {
		case countPhysical:
			s.change.Physical = &count
		case countAvailable:
			s.available, available = &count, e
		case countOutOfOrder:
			s.change.OutOfOrder = &count
		case countOversell:
			s.change.Oversell = &count
		default:
			n.warn(e.path(), "CountType %d is not kept: Holdfast counts what it sells itself, and keeps types 1, 2, 6 and 99", kind)
		}
	}
	if len(entries) == 0 {
		n.fail(typeRequired, codeMissing, list.path(), "expected at least one element InvCount")
		return false
	}
	if available != nil && (s.change.Physical != nil || s.change.Oversell != nil) {
		// It follows from the others and from what is sold here.
		s.available = nil
	}
	return s.available != nil || s.change.Physical != nil || s.change.OutOfOrder != nil || s.change.Oversell != nil
}
