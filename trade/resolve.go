package trade

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
)

// cellKey is a night of a room type, sold as a rate plan; the zero plan is the room type itself with its standard rate.
type cellKey struct {
	plan  inventory.RatePlanID
	room  inventory.RoomTypeID
	night civil.Date
}

// cells are what a message sets, by room type and night.
type cells map[cellKey]*inventory.FedNight

// feeds are the cells by room type.
func (c cells) feeds() []inventory.Feed {
	byRoom := map[inventory.RoomTypeID]int{}
	var feeds []inventory.Feed
	for key, night := range c {
		if !key.plan.IsZero() {
			continue
		}
		at, known := byRoom[key.room]
		if !known {
			at = len(feeds)
			byRoom[key.room] = at
			feeds = append(feeds, inventory.Feed{RoomType: key.room})
		}
		feeds[at].Nights = append(feeds[at].Nights, *night)
	}
	return feeds
}

// planFeeds are the cells of rate plans, nights with the same change together, always in the same order: that of the locks.
func (c cells) planFeeds() []inventory.PlanFeed {
	var keys []cellKey
	for key := range c {
		if !key.plan.IsZero() {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b cellKey) int {
		return cmp.Or(bytes.Compare(a.plan.UUID[:], b.plan.UUID[:]), bytes.Compare(a.room.UUID[:], b.room.UUID[:]), a.night.Compare(b.night))
	})
	var feeds []inventory.PlanFeed
	for _, key := range keys {
		change := c[key].Change
		n := len(feeds) - 1
		if n < 0 || feeds[n].Plan != key.plan || feeds[n].RoomType != key.room || !reflect.DeepEqual(feeds[n].Change, change) {
			feeds = append(feeds, inventory.PlanFeed{Plan: key.plan, RoomType: key.room, Change: change})
			n++
		}
		feeds[n].Nights = append(feeds[n].Nights, key.night)
	}
	return feeds
}

// at is the cell of a night, made when there is none.
func (c cells) at(plan inventory.RatePlanID, room inventory.RoomTypeID, night civil.Date) *inventory.FedNight {
	key := cellKey{plan, room, night}
	if c[key] == nil {
		c[key] = &inventory.FedNight{DatedChange: inventory.DatedChange{Night: night}}
	}
	return c[key]
}

// resolve finds the room types and rate plans of a message, and what it sets on each night. What is wrong is in
// the notes.
func resolve(m message, h hotel, n *notes) cells {
	set := cells{}
	visited := 0
	for _, s := range m.statements {
		if n.full() {
			break
		}
		rooms := h.roomsOf(s, n)
		for _, r := range rooms {
			plan, change, ok := s.changeFor(r, h, n)
			if !ok {
				break
			}
			for _, night := range s.nights.dates() {
				visited++
				// Whoever says everything ten times is not waited for.
				if len(set) > MaxNights || visited > 10*MaxNights {
					n.fail(typeBusinessRule, codeUnableToProcess, s.at.path(), "expected a message of at most %d nights of room types; send it in parts", MaxNights)
					return nil
				}
				if clash := overlay(set.at(plan, r.id, night), change); clash != "" {
					n.fail(typeBusinessRule, codeInvalidValue, s.at.path(), "%s of %s on %s is set before to another value", clash, quoted(r.code), night)
					break
				}
			}
		}
	}
	return set
}

// roomsOf are the room types that a statement is about.
func (h hotel) roomsOf(s statement, n *notes) []room {
	if s.room == "" {
		if len(h.rooms) == 0 {
			n.fail(typeBusinessRule, codeInvalidRoom, s.at.path(), "the hotel has no room type")
		}
		return h.rooms
	}
	i := slices.IndexFunc(h.rooms, func(r room) bool { return r.code == s.room })
	if i < 0 {
		n.fail(typeBusinessRule, codeInvalidRoom, s.at.path(), "the hotel %s has no room type with the code %s", quoted(h.code), quoted(s.room))
		return nil
	}
	return h.rooms[i : i+1]
}

// changeFor is what a statement sets on each night of a room type, and of which rate plan.
func (s statement) changeFor(r room, h hotel, n *notes) (plan inventory.RatePlanID, change inventory.FedNight, ok bool) {
	change = inventory.FedNight{DatedChange: inventory.DatedChange{Change: s.change}, Available: s.available}
	plan, known := h.plans[s.plan]
	standard := s.plan == h.standardRate
	if standard {
		plan = inventory.RatePlanID{}
	}
	if s.plan != "" && !standard && !known {
		n.fail(typeBusinessRule, codeInvalidRate, s.at.path(), "the hotel %s has no rate plan with the code %s", quoted(h.code), quoted(s.plan))
		return plan, change, false
	}
	if s.prices == nil {
		if standard {
			n.fail(typeBusinessRule, codeInvalidRate, s.at.path(), "the standard rate %s has no restrictions of its own: leave the rate plan's code out to restrict the room type", quoted(s.plan))
			return plan, change, false
		}
		return plan, change, true
	}
	minor, ok := s.prices.minorFor(r, h, s, n)
	change.Change.RateMinor = &minor
	return plan, change, ok
}

// minorFor is the price of a night for the guests that a room type is priced for: the most that it takes, or
// the most of those that the rate offers.
func (p *prices) minorFor(r room, h hotel, s statement, n *notes) (int64, bool) {
	if s.currency != string(h.currency) {
		n.fail(typeBusinessRule, codeInvalidCurrency, s.at.path(), "the hotel sells in %s, got %s", h.currency, quoted(s.currency))
		return 0, false
	}
	var best *price
	for i := range p.amounts {
		a := &p.amounts[i]
		if a.guests <= r.maxGuests && (best == nil || a.guests > best.guests) {
			best = a
		}
	}
	if best == nil {
		n.fail(typeBusinessRule, codeInvalidValue, s.at.path(), "the room type %s takes at most %d guests, and no price is for so few", quoted(r.code), r.maxGuests)
		return 0, false
	}
	minor, ok := best.minor(h.currency)
	if !ok {
		n.fail(typeBusinessRule, codeInvalidValue, best.at.path()+"/@AmountAfterTax", "expected an amount in %s such as 120.00, not negative and of at most %d decimals, got %s", h.currency, h.currency.Decimals(), quoted(best.text))
		return 0, false
	}
	if p.perPerson {
		if best.guests == 0 {
			n.fail(typeRequired, codeMissing, best.at.path()+"/@NumberOfGuests", "a price per person needs the attribute NumberOfGuests")
			return 0, false
		}
		minor *= best.guests
	}
	if minor > money.MaxMinor {
		n.fail(typeBusinessRule, codeInvalidValue, best.at.path()+"/@AmountAfterTax", "the price of a night is too high")
		return 0, false
	}
	for i := range p.amounts {
		if a := &p.amounts[i]; a != best {
			n.warn(a.at.path(), "the price for %d guests is not kept: nights have one price, here the one for %d", a.guests, best.guests)
		}
	}
	return minor, true
}

// overlay puts a change over what was said of the night before, and names what was said differently. Whoever says
// it twice may mean either.
func overlay(cell *inventory.FedNight, change inventory.FedNight) (clash string) {
	c, w := &cell.Change, &change.Change
	for _, f := range []struct {
		name   string
		target **int64
		value  *int64
	}{
		{"what is available", &cell.Available, change.Available},
		{"the number of rooms", &c.Physical, w.Physical},
		{"what is out of order", &c.OutOfOrder, w.OutOfOrder},
		{"what is oversold", &c.Oversell, w.Oversell},
		{"the minimum stay by arrival", &c.MinStayArrival, w.MinStayArrival},
		{"the maximum stay by arrival", &c.MaxStayArrival, w.MaxStayArrival},
		{"the minimum stay through", &c.MinStayThrough, w.MinStayThrough},
		{"the maximum stay through", &c.MaxStayThrough, w.MaxStayThrough},
		{"the price", &c.RateMinor, w.RateMinor},
	} {
		switch {
		case f.value == nil:
		case *f.target != nil && **f.target != *f.value:
			return f.name
		default:
			*f.target = f.value
		}
	}
	for _, f := range []struct {
		name   string
		target **bool
		value  *bool
	}{
		{"whether it is open", &c.StopSell, w.StopSell},
		{"whether guests may arrive", &c.ClosedToArrival, w.ClosedToArrival},
		{"whether guests may leave", &c.ClosedToDeparture, w.ClosedToDeparture},
	} {
		switch {
		case f.value == nil:
		case *f.target != nil && **f.target != *f.value:
			return f.name
		default:
			*f.target = f.value
		}
	}
	return ""
}

// fillInventory closes the nights that a complete set of counts does not name.
func (c cells) fillInventory(planned []inventory.PlannedNight) {
	for _, night := range planned {
		if c[cellKey{room: night.RoomType, night: night.Night}] == nil && night.Available > 0 {
			none := int64(0)
			c.at(inventory.RatePlanID{}, night.RoomType, night.Night).Available = &none
		}
	}
}

// fillRestrictions lifts what a complete set of restrictions does not name.
func (c cells) fillRestrictions(planned []inventory.PlannedNight) {
	for _, night := range planned {
		lifted := inventory.NightChange{}
		no, none := false, int64(0)
		for _, f := range []struct {
			target **bool
			value  bool
		}{{&lifted.StopSell, night.StopSell}, {&lifted.ClosedToArrival, night.ClosedToArrival}, {&lifted.ClosedToDeparture, night.ClosedToDeparture}} {
			if f.value {
				*f.target = &no
			}
		}
		for _, f := range []struct {
			target **int64
			value  *int64
		}{
			{&lifted.MinStayArrival, night.MinStayArrival},
			{&lifted.MaxStayArrival, night.MaxStayArrival},
			{&lifted.MinStayThrough, night.MinStayThrough},
			{&lifted.MaxStayThrough, night.MaxStayThrough},
		} {
			if f.value != nil {
				*f.target = &none
			}
		}
		if lifted == (inventory.NightChange{}) {
			continue
		}
		cell := c.at(inventory.RatePlanID{}, night.RoomType, night.Night)
		said := cell.Change
		cell.Change = lifted
		replace(&cell.Change, said)
	}
}

// replace puts what was said over what is lifted.
func replace(target *inventory.NightChange, said inventory.NightChange) {
	for _, f := range []struct {
		target **bool
		value  *bool
	}{{&target.StopSell, said.StopSell}, {&target.ClosedToArrival, said.ClosedToArrival}, {&target.ClosedToDeparture, said.ClosedToDeparture}} {
		if f.value != nil {
			*f.target = f.value
		}
	}
	for _, f := range []struct {
		target **int64
		value  *int64
	}{
		{&target.MinStayArrival, said.MinStayArrival},
		{&target.MaxStayArrival, said.MaxStayArrival},
		{&target.MinStayThrough, said.MinStayThrough},
		{&target.MaxStayThrough, said.MaxStayThrough},
	} {
		if f.value != nil {
			*f.target = f.value
		}
	}
}
