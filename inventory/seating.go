package inventory

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/inventory/charts"
)

// seating is what claims must know of a hall: which seats stand beside each other, where the good ones
// are, and which are for wheelchairs. It is made once of a chart, which never changes.
//
// A seat is known by its place, the number at which it stands in the chart's order. Seats of one run
// have places in a row, so that the neighbours of a place are the places before and after it.
type seating struct {
	seats []seatPlace
	runs  []seatRun
	at    map[uuid.UUID]int32
	// sections are the numbers of zones by their names and by their short names.
	sections map[string][]int32
	focal    charts.Point

	mu sync.Mutex
	// windows are the first places of so many seats beside each other, the best first.
	windows map[int][]int32
}

type seatPlace struct {
	id      uuid.UUID
	x, y    float64
	run     int32
	section int32
	// accessible is a place for a wheelchair, companion the seat of somebody who comes with it.
	accessible, companion bool
}

// ordinary reports whether anybody is offered the seat.
func (p seatPlace) ordinary() bool { return !p.accessible && !p.companion }

// seatRun is seats between two aisles, or between an aisle and the end of a row: [first, end).
type seatRun struct{ first, end int32 }

// aisleFrom is how much wider than the usual distance of two seats of a row a gap must be to be an
// aisle.
const aisleFrom = 1.6

// seatingOf reads which seats are beside each other off a chart.
func seatingOf(chart *charts.Chart) *seating {
	h := &seating{at: make(map[uuid.UUID]int32, chart.SeatCount()), sections: map[string][]int32{}, focal: chart.FocalPoint, windows: map[int][]int32{}}
	for z := range chart.Zones {
		zone := &chart.Zones[z]
		section := int32(z) //nolint:gosec // a chart has far fewer zones
		for _, name := range []string{zone.Name, zone.ID} {
			if name != "" && !slices.Contains(h.sections[name], section) {
				h.sections[name] = append(h.sections[name], section)
			}
		}
		for r := range zone.Rows {
			h.addRow(zone.Rows[r].Seats, section)
		}
	}
	for i := range h.seats {
		// A companion's seat without a wheelchair place in reach is a seat like any other.
		place := int32(i) //nolint:gosec // a chart has at most MaxSeats seats
		if h.seats[i].companion && !h.anyAccessible(h.party(place)) {
			h.seats[i].companion = false
		}
	}
	return h
}

func (h *seating) addRow(seats []charts.Seat, section int32) {
	widest := aisleFrom * usualDistance(seats)
	for i, seat := range seats {
		place := int32(len(h.seats)) //nolint:gosec // a chart has at most MaxSeats seats
		if i == 0 || widest > 0 && distance(seats[i-1], seat) > widest {
			h.runs = append(h.runs, seatRun{first: place, end: place})
		}
		h.runs[len(h.runs)-1].end = place + 1
		h.at[seat.ID] = place
		h.seats = append(h.seats, seatPlace{
			id: seat.ID, x: seat.X, y: seat.Y, run: int32(len(h.runs) - 1), section: section, //nolint:gosec // as above
			accessible: seat.Accessible, companion: seat.Companion && !seat.Accessible,
		})
	}
}

func distance(a, b charts.Seat) float64 { return math.Hypot(a.X-b.X, a.Y-b.Y) }

// usualDistance is the median of the distances between neighbours of a row; of an even number, the
// lower of the two in the middle.
func usualDistance(seats []charts.Seat) float64 {
	if len(seats) < 2 {
		return 0
	}
	distances := make([]float64, len(seats)-1)
	for i := range distances {
		distances[i] = distance(seats[i], seats[i+1])
	}
	slices.Sort(distances)
	return distances[(len(distances)-1)/2]
}

// beside is the place so many seats to a side of another, in the same run.
func (h *seating) beside(place, by int32) (int32, bool) {
	run := h.runs[h.seats[place].run]
	to := place + by
	return to, to >= run.first && to < run.end
}

// party is the wheelchair places and companions' seats that stand together with a companion's seat:
// [first, end).
func (h *seating) party(place int32) seatRun {
	run := h.runs[h.seats[place].run]
	together := seatRun{first: place, end: place + 1}
	for together.first > run.first && !h.seats[together.first-1].ordinary() {
		together.first--
	}
	for together.end < run.end && !h.seats[together.end].ordinary() {
		together.end++
	}
	return together
}

func (h *seating) anyAccessible(within seatRun) bool {
	return slices.ContainsFunc(h.seats[within.first:within.end], func(p seatPlace) bool { return p.accessible })
}

// best are the first places of every so many seats beside each other, those nearest to the focal point
// first.
func (h *seating) best(count int) []int32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if starts, ok := h.windows[count]; ok {
		return starts
	}
	type window struct {
		start int32
		away  float64
	}
	var windows []window
	for _, run := range h.runs {
		for start := run.first; start+int32(count) <= run.end; start++ { //nolint:gosec // bounded by maxBestQuantity
			var x, y float64
			for _, seat := range h.seats[start : start+int32(count)] { //nolint:gosec // as above
				x, y = x+seat.x, y+seat.y
			}
			windows = append(windows, window{start: start, away: math.Hypot(x/float64(count)-h.focal.X, y/float64(count)-h.focal.Y)})
		}
	}
	slices.SortFunc(windows, func(a, b window) int { return cmp.Or(cmp.Compare(a.away, b.away), cmp.Compare(a.start, b.start)) })
	starts := make([]int32, len(windows))
	for i, w := range windows {
		starts[i] = w.start
	}
	if len(h.windows) >= maxWindowSizes {
		clear(h.windows)
	}
	h.windows[count] = starts
	return starts
}

// between is how far two places are from each other on the drawing.
func (h *seating) between(a, b int32) float64 {
	return math.Hypot(h.seats[a].x-h.seats[b].x, h.seats[a].y-h.seats[b].y)
}
