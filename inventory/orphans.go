package inventory

import (
	"slices"

	"github.com/google/uuid"
)

// The orphan rule and the rule of companions' seats. Both are judged in the claim, over rows that it
// has locked: two buyers who would together leave a single seat both want the row of a seat between
// them or beside, so that the second is judged by what the first has taken.

// maxCompanions is how many companions come with one wheelchair.
const maxCompanions = 3

// orphans are the seats that taking some places would leave alone: free, with a seat that is taken, an
// aisle, a wall or a place for wheelchairs on either side. free says of a seat in reach of the places
// whether this buyer could have it.
//
// What would be alone whatever so many seats one took of the same free stretch is no orphan, unless
// strict: when three are free and two are wanted, one is left. Places for wheelchairs and their
// companions leave no orphans and are none.
func (h *seating) orphans(take []int32, free func(place int32) bool, strict bool) []int32 {
	taken := make(map[int32]bool, len(take))
	for _, place := range take {
		taken[place] = true
	}
	// open is a seat that stays free.
	open := func(place int32, within bool) bool {
		return within && !taken[place] && h.seats[place].ordinary() && free(place)
	}
	// goesOn reports whether more of the free stretch lies beyond the places taken from here on.
	goesOn := func(place, side int32) bool {
		next, within := h.beside(place, side)
		for within && taken[next] && h.seats[next].ordinary() {
			next, within = h.beside(next, side)
		}
		return open(next, within)
	}
	var left []int32
	for _, place := range take {
		if !h.seats[place].ordinary() {
			continue
		}
		for _, side := range []int32{-1, +1} {
			single, within := h.beside(place, side)
			if !open(single, within) || open(h.beside(single, side)) {
				continue
			}
			if strict || goesOn(single, side) || goesOn(single, -side) {
				left = append(left, single)
			}
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
}

// lone are the companions' seats among some places that come without their wheelchair place, or are
// more than may come with it.
func (h *seating) lone(take []int32) []int32 {
	var left []int32
	for _, place := range take {
		if !h.seats[place].companion {
			continue
		}
		party := h.party(place)
		wheelchairs, companions := 0, 0
		for _, other := range take {
			switch {
			case other < party.first || other >= party.end:
			case h.seats[other].accessible:
				wheelchairs++
			case other <= place:
				companions++
			}
		}
		if companions > maxCompanions*wheelchairs {
			left = append(left, place)
		}
	}
	return left
}

// judgeNeighbours says which seats a wish would leave alone, if the terms forbid that, and which
// companions' seats it wants without their wheelchair place.
func (b *batch) judgeNeighbours(w wish, f facts, s stock) []RefusedLine {
	if w.actor.IsStaff() {
		return nil
	}
	var refused []RefusedLine
	for show, hall := range b.halls {
		var take []int32
		lines := map[int32]int{}
		for i, line := range w.claim.lines {
			if line.Seats == nil || line.Seats.Show.UUID != show {
				continue
			}
			for _, seat := range line.Seats.Seats {
				if place, ok := hall.at[seat.UUID]; ok {
					take, lines[place] = append(take, place), i
				}
			}
		}
		add := func(line int, code RefusalCode, place int32) {
			seat := SeatID{Region: b.at.region, UUID: hall.seats[place].id}
			refused = append(refused, RefusedLine{Line: line, Code: code, Seat: &seat})
		}
		for _, place := range hall.lone(take) {
			add(lines[place], RefusalCompanionSeat, place)
		}
		if f.terms.OrphanSeats != OrphanSeatsRefuse {
			continue
		}
		for _, place := range hall.orphans(take, b.freeUnder(hall, w, f, s, show), false) {
			line, ok := lines[place-1]
			if !ok {
				line = lines[place+1]
			}
			add(line, RefusalOrphanSeat, place)
		}
	}
	return refused
}

// freeUnder says of a locked seat whether a buyer could have it.
func (b *batch) freeUnder(hall *seating, w wish, f facts, s stock, show uuid.UUID) func(int32) bool {
	rows, closed := s.seats[show], s.closedTo(w, f.now)
	return func(place int32) bool {
		row, ok := rows[SeatID{Region: b.at.region, UUID: hall.seats[place].id}]
		switch {
		case !ok, closed(row):
			return false
		case row.State == string(seatStateAvailable):
			return true
		}
		return row.State == string(seatStateHeld) && row.ClaimableAt != nil && !f.now.Before(*row.ClaimableAt)
	}
}

// seatsToLock are the seats that the wishes want, by show, and where single seats must not be left,
// the two on either side of each: what a claim that is judged beside this one could take.
func (b *batch) seatsToLock(f facts) map[uuid.UUID][]uuid.UUID {
	wanted := map[uuid.UUID][]uuid.UUID{}
	for _, line := range b.all.lines {
		if line.Seats == nil {
			continue
		}
		show := line.Seats.Show.UUID
		hall := b.halls[show]
		if f.terms.OrphanSeats != OrphanSeatsRefuse {
			hall = nil
		}
		for _, seat := range line.Seats.Seats {
			wanted[show] = append(wanted[show], seat.UUID)
			if hall == nil {
				continue
			}
			place, ok := hall.at[seat.UUID]
			for _, by := range []int32{-2, -1, +1, +2} {
				if !ok {
					break
				}
				if neighbour, within := hall.beside(place, by); within {
					wanted[show] = append(wanted[show], hall.seats[neighbour].id)
				}
			}
		}
	}
	for show, seats := range wanted {
		slices.SortFunc(seats, compareUUID)
		wanted[show] = slices.Compact(seats)
	}
	return wanted
}
