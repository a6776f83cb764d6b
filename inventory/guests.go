package inventory

import (
	"fmt"

	"github.com/holdfast/holdfast/internal/fault"
)

// Guests are the people in one room.
type Guests struct {
	Adults int64
	// ChildAges has the age of each child in full years on the day of arrival, 0 to 17.
	ChildAges []int64 `json:",omitempty"`
}

// Count is how many people there are.
func (g Guests) Count() int64 { return g.Adults + int64(len(g.ChildAges)) }

// inRoom is who is in a room of a stay, counted from 0; ok is false where nobody said.
func (s StayRequest) inRoom(room int64) (guests Guests, ok bool) {
	switch int64(len(s.Guests)) {
	case 0:
		return Guests{}, false
	case 1:
		return s.Guests[0], true
	}
	return s.Guests[room], true
}

// planOf is the rate plan of a stay, zero for the standard rate.
func planOf(s StayRequest) RatePlanID {
	if s.RatePlan == nil {
		return RatePlanID{}
	}
	return *s.RatePlan
}

// checkGuests says what is wrong with the form of a party. How many a room takes, the room type says.
func checkGuests(field string, guests []Guests, rooms int64) error {
	if n := int64(len(guests)); n > 1 && n != rooms {
		return fault.Invalid(field, "expected one entry for each of the %d rooms, one for all, or none, got %d", rooms, n)
	}
	for i, room := range guests {
		at := fmt.Sprintf("%s[%d]", field, i)
		if room.Adults < 1 || room.Adults > maxRoomGuests {
			return fault.Invalid(at+".adults", "expected 1 to %d, got %d", maxRoomGuests, room.Adults)
		}
		if len(room.ChildAges) > maxRoomGuests {
			return fault.Invalid(at+".childAges", "expected at most %d, got %d", maxRoomGuests, len(room.ChildAges))
		}
		for j, age := range room.ChildAges {
			if age < 0 || age > maxChildAge {
				return fault.Invalid(fmt.Sprintf("%s.childAges[%d]", at, j), "expected an age in years, 0 to %d, got %d", maxChildAge, age)
			}
		}
	}
	return nil
}
