package inventory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/fault"
)

// chooser offers seats to the wishes of one batch that want the best available. Within the batch no
// seat is the first choice of two wishes.
type chooser struct {
	*Service

	seating map[uuid.UUID]*seating
	// alternatives is how many sets of seats each wish is offered.
	alternatives int
	// begun is when the wishes had all arrived: that there are no such seats is said from a map that was
	// read later.
	begun time.Time
	// searches are shared by the wishes that want the same.
	searches map[string]*search
	// promised are the first choices, and the seats that wishes name, by show.
	promised map[uuid.UUID]map[int32]bool
	// wrong are the errors of wishes that cannot be chosen for, by their positions.
	wrong map[int]error
}

// choose offers seats to the open wishes, up to one for which there are seats, but none that another of
// the batch was not offered before: it has its turn when that one is decided, and those after it have
// theirs later. at are the positions of those that were chosen for.
func (c *chooser) choose(ctx context.Context, wishes []wish, open []int) (chosen []wish, at []int, err error) {
	c.searches, c.promised, c.wrong = map[string]*search{}, map[uuid.UUID]map[int32]bool{}, map[int]error{}
	for _, i := range open {
		for _, line := range wishes[i].claim.lines {
			if line.Seats != nil {
				c.promise(line.Seats.Show, line.Seats.Seats)
			}
		}
	}
	for _, i := range open {
		w, waits, err := c.offer(ctx, wishes[i])
		switch {
		case fault.KindOf(err) == fault.KindInvalid:
			c.wrong[i] = err
		case err != nil:
			return nil, nil, err
		case !waits:
			chosen, at = append(chosen, w), append(at, i)
		case len(at) == 0 && len(c.wrong) == 0 && len(open) > 1:
			// It waits for a later one, which names the seats that it would get: the first has its turn.
			return c.choose(ctx, wishes, open[:1])
		default:
			// Nobody overtakes it.
			return chosen, at, nil
		}
	}
	return chosen, at, nil
}

func (c *chooser) promise(show ShowID, seats []SeatID) {
	hall := c.seating[show.UUID]
	if hall == nil {
		return
	}
	if c.promised[show.UUID] == nil {
		c.promised[show.UUID] = map[int32]bool{}
	}
	for _, seat := range seats {
		if place, ok := hall.at[seat.UUID]; ok {
			c.promised[show.UUID][place] = true
		}
	}
}

// offer puts the seats that a wish may get into its lines.
func (c *chooser) offer(ctx context.Context, w wish) (offered wish, waits bool, err error) {
	w.claim.lines = slices.Clone(w.claim.lines)
	for i := range w.claim.lines {
		line := &w.claim.lines[i]
		if line.Best == nil {
			continue
		}
		hall := c.seating[line.Best.Show.UUID]
		if hall == nil {
			// The claim says that there is no such show; a show that there is has no seats.
			line.choice, line.Seats = &choice{none: &RefusedLine{Code: RefusalSoldOut, Available: new(int64)}}, &SeatsRequest{Show: line.Best.Show}
			continue
		}
		wanted := owner{place: placeOf(w.actor.Tenant, w.claim.region), stock: line.Best.Show.UUID}
		m, err := c.choices.of(ctx, wanted, hall)
		if err != nil {
			return w, false, err
		}
		sets, none, err := c.setsFor(ctx, w, i, m)
		if err != nil {
			return w, false, err
		}
		if sets == nil && none == nil {
			return w, true, nil
		}
		line.choice, line.Seats = &choice{sets: sets, none: none}, &SeatsRequest{Show: line.Best.Show, Seats: union(sets)}
		if len(sets) > 0 {
			c.promise(line.Best.Show, sets[0])
		}
	}
	return w, false, nil
}

func union(sets [][]SeatID) []SeatID {
	var all []SeatID
	for _, set := range sets {
		for _, seat := range set {
			if !slices.Contains(all, seat) {
				all = append(all, seat)
			}
		}
	}
	return all
}

// setsFor finds sets of seats for a line. Neither sets nor a reason is the answer when all there are
// were promised to others.
func (c *chooser) setsFor(ctx context.Context, w wish, i int, m *choiceMap) ([][]SeatID, *RefusedLine, error) {
	best := *w.claim.lines[i].Best
	for {
		want, err := m.criteria(w, i)
		if err != nil {
			return nil, nil, err
		}
		if sets := c.find(m, want, c.promised[m.show.stock]); len(sets) > 0 {
			return m.ids(best.Show, sets), nil, nil
		}
		alone := chooser{alternatives: 1, searches: map[string]*search{}}
		own := map[int32]bool{}
		for j, line := range w.claim.lines {
			var seats []SeatID
			switch {
			case line.choice != nil && j < i && line.Best.Show == best.Show && len(line.choice.sets) > 0:
				seats = line.choice.sets[0]
			case line.Best == nil && line.Seats != nil && line.Seats.Show == best.Show:
				seats = line.Seats.Seats
			}
			for _, seat := range seats {
				if place, ok := m.hall.at[seat.UUID]; ok {
					own[place] = true
				}
			}
		}
		if sets := alone.find(m, want, own); len(sets) > 0 {
			return nil, nil, nil
		}
		m.mu.Lock()
		young := m.begun.After(c.begun)
		m.mu.Unlock()
		if young {
			return nil, m.none(best, want, own), nil
		}
		if err := c.choices.readSince(ctx, m, c.begun); err != nil {
			return nil, nil, err
		}
		clear(c.searches)
	}
}

// none says why a line gets nothing: too few seats, or too few beside each other.
func (m *choiceMap) none(best BestRequest, want criteria, own map[int32]bool) *RefusedLine {
	m.mu.Lock()
	defer m.mu.Unlock()
	free, wheelchairs := int64(0), int64(0)
	for place := range m.seats {
		at := int32(place) //nolint:gosec // a chart has at most MaxSeats seats
		if !m.fits(at, want) || own[at] {
			continue
		}
		if m.hall.seats[at].accessible {
			wheelchairs++
		}
		free++
	}
	switch {
	case wheelchairs < best.Accessible:
		return &RefusedLine{Code: RefusalSoldOut, Available: &wheelchairs}
	case free < best.Quantity:
		return &RefusedLine{Code: RefusalSoldOut, Available: &free}
	}
	return &RefusedLine{Code: RefusalNotTogether, Available: &free}
}

func (m *choiceMap) ids(show ShowID, sets [][]int32) [][]SeatID {
	named := make([][]SeatID, len(sets))
	for i, set := range sets {
		named[i] = make([]SeatID, len(set))
		for j, place := range set {
			named[i][j] = SeatID{Region: show.Region, UUID: m.hall.seats[place].id}
		}
	}
	return named
}

// criteria is what a line wants, in the terms of the map.
type criteria struct {
	quantity, accessible int
	split                bool
	// levels and sections are nil for any.
	levels   []uint16
	sections []int32
	channel  uuid.UUID
	// strict: what the terms forbid is forbidden to this buyer.
	strict bool
}

// key is the same for criteria that the same seats meet.
func (c criteria) key(m *choiceMap, size int) string {
	var key strings.Builder
	fmt.Fprint(&key, m.show.stock, " ", size, " ", c.accessible, c.levels, c.sections, c.channel, c.strict)
	return key.String()
}

// criteria reads the price levels and sections that a line names.
func (m *choiceMap) criteria(w wish, i int) (criteria, error) {
	best := *w.claim.lines[i].Best
	m.mu.Lock()
	defer m.mu.Unlock()
	want := criteria{
		quantity: int(best.Quantity), accessible: int(best.Accessible), split: best.AllowSplit, channel: w.actor.Channel.UUID,
		strict: m.strict && !w.actor.IsStaff(),
	}
	for j, level := range best.PriceLevels {
		n := slices.Index(m.levels, level.UUID)
		if n < 0 {
			return criteria{}, fault.Invalid("lines["+strconv.Itoa(i)+"].bestAvailable.priceLevels["+strconv.Itoa(j)+"]", "expected a price level of the show")
		}
		want.levels = append(want.levels, uint16(n)) //nolint:gosec // at most maxPriceLevels
	}
	for j, name := range best.Sections {
		zones := m.hall.sections[name]
		if len(zones) == 0 {
			return criteria{}, fault.Invalid("lines["+strconv.Itoa(i)+"].bestAvailable.sections["+strconv.Itoa(j)+"]", "expected the name of a section of the show's chart, got %q", name)
		}
		want.sections = append(want.sections, zones...)
	}
	return want, nil
}

// fits reports whether a buyer who wants this may get the seat, as far as the map knows.
func (m *choiceMap) fits(place int32, want criteria) bool {
	seat, stands := m.seats[place], m.hall.seats[place]
	switch {
	case !m.free(place, want.channel):
		return false
	case want.accessible == 0 && !stands.ordinary():
		return false
	case want.levels != nil && !slices.Contains(want.levels, seat.level):
		return false
	}
	return want.sections == nil || slices.Contains(want.sections, stands.section)
}

func (m *choiceMap) free(place int32, channel uuid.UUID) bool {
	seat := m.seats[place]
	return (seat.freeAt == seatFree || seat.freeAt != seatGone && seat.freeAt <= m.now()) && (seat.block == 0 || m.blocks[seat.block-1] == channel)
}

// find gives the sets of seats that meet criteria, none of which were promised: the first is one of the
// best few, at random.
func (c *chooser) find(m *choiceMap, want criteria, promised map[int32]bool) [][]int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pick := range picks(want) {
		key := want.key(m, want.quantity) + pick.name
		s, ok := c.searches[key]
		if !ok {
			s = &search{m: m, want: want, size: want.quantity, pick: pick}
			c.searches[key] = s
		}
		sets := s.best(max(topCandidates, c.alternatives), promised)
		if len(sets) == 0 {
			continue
		}
		first := rand.IntN(min(len(sets), topCandidates)) //nolint:gosec // spreading needs no secrecy
		sets[0], sets[first] = sets[first], sets[0]
		return sets[:min(len(sets), c.alternatives)]
	}
	if set := m.split(want, promised); set != nil {
		return [][]int32{set}
	}
	return nil
}

// pick is how choosy a search is.
type pick struct {
	name string
	// tidy: no single seat is left, even where the terms would allow it. companions: whoever comes with a
	// wheelchair gets a companion's seat.
	tidy, companions bool
	// any: a single seat may be left.
	any bool
}

// picks are tried in order.
func picks(want criteria) []pick {
	var all []pick
	if want.accessible > 0 {
		all = append(all, pick{name: "companions", tidy: true, companions: true})
	}
	all = append(all, pick{name: "tidy", tidy: true}, pick{name: "allowed"})
	if !want.strict {
		all = append(all, pick{name: "any", any: true})
	}
	return all
}

// search goes through the windows of a hall, the best first. Wishes that want the same share it, so
// that each goes on where the one before ended.
type search struct {
	m    *choiceMap
	want criteria
	size int
	pick pick
	next int
	// found are windows that met the criteria and were not chosen yet. They do not overlap.
	found []int32
}

// best are up to count sets of seats beside each other, the best first.
func (s *search) best(count int, promised map[int32]bool) [][]int32 {
	s.found = slices.DeleteFunc(s.found, func(start int32) bool { return !s.meets(start, promised) })
	windows := s.m.hall.best(s.size)
	for ; s.next < len(windows) && len(s.found) < count; s.next++ {
		start := windows[s.next]
		overlaps := slices.ContainsFunc(s.found, func(other int32) bool { return start < other+int32(s.size) && other < start+int32(s.size) }) //nolint:gosec // at most maxBestQuantity
		if !overlaps && s.meets(start, promised) {
			s.found = append(s.found, start)
		}
	}
	sets := make([][]int32, len(s.found))
	for i, start := range s.found {
		sets[i] = s.window(start)
	}
	return sets
}

func (s *search) window(start int32) []int32 {
	set := make([]int32, s.size)
	for i := range set {
		set[i] = start + int32(i) //nolint:gosec // at most maxBestQuantity
	}
	return set
}

func (s *search) meets(start int32, promised map[int32]bool) bool {
	wheelchairs := 0
	for place := start; place < start+int32(s.size); place++ { //nolint:gosec // at most maxBestQuantity
		if promised[place] || !s.m.fits(place, s.want) {
			return false
		}
		stands := s.m.hall.seats[place]
		if stands.accessible {
			wheelchairs++
		} else if s.pick.companions && !stands.companion {
			return false
		}
	}
	if wheelchairs != s.want.accessible {
		return false
	}
	set := s.window(start)
	if wheelchairs > 0 && len(s.m.hall.lone(set)) > 0 {
		return false
	}
	return s.pick.any || len(s.m.leaves(set, s.want, promised, s.pick.tidy)) == 0
}

// leaves are the single seats that a set would leave.
func (m *choiceMap) leaves(set []int32, want criteria, promised map[int32]bool, strict bool) []int32 {
	return m.hall.orphans(set, func(place int32) bool { return !promised[place] && m.free(place, want.channel) }, strict)
}

// split finds seats in several places when the buyer allows it: in as few parts as possible and of about
// the same size, the first near what the hall looks at, the others near the first. Wheelchairs stay
// together, with as many as fit beside them.
func (m *choiceMap) split(want criteria, promised map[int32]bool) []int32 {
	if !want.split || want.quantity < 2 {
		return nil
	}
	if want.accessible > 0 {
		for size := want.quantity - 1; size >= want.accessible; size-- {
			first := m.parts(want, []int{size}, promised)
			if first == nil {
				continue
			}
			rest := criteria{quantity: want.quantity - size, levels: want.levels, sections: want.sections, channel: want.channel, strict: want.strict}
			for count := 1; count <= rest.quantity; count++ {
				if all := m.partsBeside(first, rest, evenly(rest.quantity, count), promised); all != nil {
					return all
				}
			}
		}
		return nil
	}
	for count := 2; count <= want.quantity; count++ {
		if all := m.parts(want, evenly(want.quantity, count), promised); all != nil {
			return all
		}
	}
	return nil
}

// evenly parts a quantity, the largest part first.
func evenly(quantity, count int) []int {
	sizes := make([]int, count)
	for i := range sizes {
		sizes[i] = int(shareOf(int64(quantity), int64(count), int64(i)))
	}
	return sizes
}

func (m *choiceMap) parts(want criteria, sizes []int, promised map[int32]bool) []int32 {
	return m.partsBeside(nil, want, sizes, promised)
}

// partsBeside adds parts of these sizes to seats that are chosen, or nothing when one cannot be found.
func (m *choiceMap) partsBeside(chosen []int32, want criteria, sizes []int, promised map[int32]bool) []int32 {
	gone := make(map[int32]bool, len(promised)+want.quantity)
	for place := range promised {
		gone[place] = true
	}
	for _, place := range chosen {
		gone[place] = true
	}
	all := slices.Clone(chosen)
	for _, size := range sizes {
		part := m.part(all, want, size, gone)
		if part == nil {
			return nil
		}
		for _, place := range part {
			gone[place] = true
		}
		all = append(all, part...)
	}
	return all
}

// part is seats beside each other, near the first of those that are chosen.
func (m *choiceMap) part(chosen []int32, want criteria, size int, gone map[int32]bool) []int32 {
	for _, pick := range picks(want) {
		s := search{m: m, want: want, size: size, pick: pick}
		sets := s.best(topCandidates, gone)
		switch {
		case len(sets) == 0:
			continue
		case len(chosen) == 0:
			return sets[rand.IntN(len(sets))] //nolint:gosec // spreading needs no secrecy
		}
		return slices.MinFunc(sets, func(a, b []int32) int {
			if m.hall.between(chosen[0], a[0]) < m.hall.between(chosen[0], b[0]) {
				return -1
			}
			return 1
		})
	}
	return nil
}
