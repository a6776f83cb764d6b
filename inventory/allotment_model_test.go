package inventory_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// What the model of allotments sells: rooms on three nights, and a pool, which is its night 0.
const (
	// never is the moment at which an allotment without one is released.
	never       = 1 << 40
	allotNights = 3
	allotRooms  = 6
)

// modelAllotment is an allotment as the model remembers it: sizes by night, and which nights are open.
type modelAllotment struct {
	real      inventory.Allotment
	channel   int
	shares    bool
	state     inventory.AllotmentState
	size      map[int]int64
	open      map[int]bool
	releaseAt int
	definite  int
}

// allottedHold remembers how many units of each night came from which allotment; nil is what is shared.
type allottedHold struct {
	real      inventory.Hold
	channel   int
	units     map[int]map[*modelAllotment]int64
	deadline  int
	gone      bool
	confirmed bool
}

type allotModel struct {
	tenant     *inventorytest.Tenant
	room       *inventorytest.Room
	hall       *inventorytest.Hall
	buyers     []inventorytest.Buyer
	capacity   map[int]int64
	allotments []*modelAllotment
	holds      []*allottedHold
	clock      int
	steps      int
	checks     int
}

func newAllotModel(tenant *inventorytest.Tenant) *allotModel {
	m := &allotModel{
		tenant: tenant, room: tenant.Hotel().Stocked("Double", allotRooms, 1, allotNights), hall: tenant.Hall(0, inventorytest.PoolOf("Floor", allotRooms, 3)),
		capacity: map[int]int64{},
	}
	tenant.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: inventorytest.Of[int64](1000)})
	m.buyers = []inventorytest.Buyer{tenant.Guest(), tenant.Partner("Tour operator"), tenant.Partner("Agency")}
	for night := range allotNights + 1 {
		m.capacity[night] = allotRooms
	}
	return m
}

// live reports that the hold's units are not free.
func (m *allotModel) live(h *allottedHold) bool {
	return !h.gone && (h.confirmed || m.clock < h.deadline)
}

func (m *allotModel) isOpen(a *modelAllotment, night int) bool {
	return a.open[night] && m.clock < a.releaseAt
}

func (m *allotModel) taken(night int, from *modelAllotment) int64 {
	sum := int64(0)
	for _, h := range m.holds {
		if m.live(h) {
			sum += h.units[night][from]
		}
	}
	return sum
}

// free is what each open allotment has left of a night, and what is left for everybody: what is sold is
// sold, allotments have theirs in the order in which they became definite, and the rest is shared.
func (m *allotModel) free(night int) (own map[*modelAllotment]int64, shared int64) {
	left := m.capacity[night] - m.taken(night, nil)
	var open []*modelAllotment
	for _, a := range m.allotments {
		left -= m.taken(night, a)
		if m.isOpen(a, night) {
			open = append(open, a)
		}
	}
	slices.SortFunc(open, func(a, b *modelAllotment) int { return a.definite - b.definite })
	own = map[*modelAllotment]int64{}
	for _, a := range open {
		own[a] = max(0, min(a.size[night]-m.taken(night, a), left))
		left -= own[a]
	}
	return own, max(0, left)
}

// from lists where a channel may take units of a night, in order; nil is what is shared.
func (m *allotModel) from(channel, night int) []*modelAllotment {
	var own []*modelAllotment
	shared := true
	for _, a := range m.allotments {
		if _, is := a.size[night]; !is || a.channel != channel || a.definite == 0 || a.state == inventory.AllotmentStateCancelled {
			continue
		}
		shared = shared && a.shares
		if m.isOpen(a, night) {
			own = append(own, a)
		}
	}
	// They stand as they were made: of two that are released at the same tick the older one's moment is earlier, by
	// as long as the test took in between.
	slices.SortStableFunc(own, func(a, b *modelAllotment) int {
		if a.releaseAt != b.releaseAt || a.releaseAt != never {
			return a.releaseAt - b.releaseAt
		}
		return bytes.Compare(a.real.ID.UUID[:], b.real.ID.UUID[:])
	})
	if shared {
		own = append(own, nil)
	}
	return own
}

// take is which units a channel gets, and how many there are.
func (m *allotModel) take(channel, night int, wanted int64) (units map[*modelAllotment]int64, left int64) {
	own, shared := m.free(night)
	units = map[*modelAllotment]int64{}
	for _, a := range m.from(channel, night) {
		has := shared
		if a != nil {
			has = own[a]
		}
		left += has
		if part := min(wanted, has); part > 0 {
			units[a] += part
			wanted -= part
		}
	}
	return units, left
}

func (m *allotModel) place(t *rapid.T) {
	h := &allottedHold{channel: rapid.IntRange(0, len(m.buyers)-1).Draw(t, "channel"), units: map[int]map[*modelAllotment]int64{}, deadline: m.clock + 300}
	first := rapid.IntRange(0, allotNights).Draw(t, "night")
	last := first
	if first > 0 {
		last = rapid.IntRange(first, allotNights).Draw(t, "last night")
	}
	wanted := rapid.Int64Range(1, 4).Draw(t, "units")
	var lost []string
	for night := first; night <= last; night++ {
		units, left := m.take(h.channel, night, wanted)
		h.units[night] = units
		switch {
		case left >= wanted:
		case night == 0:
			lost = append(lost, fmt.Sprintf("SOLD_OUT Floor left %d", left))
		default:
			lost = append(lost, fmt.Sprintf("SOLD_OUT %d Nov left %d", night, left))
		}
	}
	want := "held"
	if len(lost) > 0 {
		want = strings.Join(lost, ", ")
	}
	wish := m.hall.Pools[0].Units(wanted)
	if first > 0 {
		wish = m.room.Rooms(wanted, first, last+1)
	}
	real, err := m.buyers[h.channel].Try(wish)
	if got := strings.ReplaceAll(m.tenant.Explain(err), " yours", ""); got != want {
		t.Fatalf("channel %d got:  %s\nwant: %s", h.channel, got, want)
	}
	if err == nil {
		h.real = real
		m.holds = append(m.holds, h)
	}
}

// pickHold is a hold to do something with. A step that has nothing to act on is skipped, which to rapid
// means that another step is drawn in its place: the test itself goes on, and rapid fails it when too
// few steps are left.
func (m *allotModel) pickHold(t *rapid.T) *allottedHold {
	var live []*allottedHold
	for _, h := range m.holds {
		if m.live(h) {
			live = append(live, h)
		}
	}
	if len(live) == 0 {
		t.Skip("there are no holds")
	}
	return live[rapid.IntRange(0, len(live)-1).Draw(t, "hold")]
}

// give gives a hold or a sale back.
func (m *allotModel) give(t *rapid.T) {
	h := m.pickHold(t)
	h.gone = true
	if h.confirmed {
		m.expect(t, m.tenant.Return(h.real), "held")
		return
	}
	_, err := m.buyers[h.channel].TryRelease(h.real)
	m.expect(t, err, "held")
}

func (m *allotModel) confirm(t *rapid.T) {
	h := m.pickHold(t)
	if h.confirmed {
		t.Skip("it is sold")
	}
	if _, err := m.tenant.Checkout(h.real.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := m.tenant.Confirm(h.real.ID); err != nil {
		t.Fatal(err)
	}
	h.confirmed = true
}

// roomFor is how large an allotment may be on a night beside all others.
func (m *allotModel) roomFor(a *modelAllotment, night int) int64 {
	left := m.capacity[night] - m.taken(night, nil)
	for _, other := range m.allotments {
		switch {
		case other == a:
		case m.isOpen(other, night):
			left -= max(m.taken(night, other), other.size[night])
		default:
			left -= m.taken(night, other)
		}
	}
	return max(0, left)
}

// name is how a refusal names a night.
func name(night int) string {
	if night == 0 {
		return "Floor"
	}
	return fmt.Sprintf("%d Nov", night)
}

func nightsOf(a *modelAllotment) []int {
	var nights []int
	for night := range allotNights + 1 {
		if _, has := a.size[night]; has {
			nights = append(nights, night)
		}
	}
	return nights
}

// growing is what the service must say when the open nights of an allotment are to have a size.
func (m *allotModel) growing(a *modelAllotment, size int64, opening bool) string {
	var lost []string
	for _, night := range nightsOf(a) {
		if !opening && !m.isOpen(a, night) {
			continue
		}
		room, taken := m.roomFor(a, night), m.taken(night, a)
		switch {
		case (opening || size > a.size[night]) && size > room:
			lost = append(lost, fmt.Sprintf("SOLD_OUT %s left %d limit %d", name(night), room, size))
		case size < taken && size != a.size[night]:
			lost = append(lost, fmt.Sprintf("ALLOTMENT_SOLD %s left %d limit %d", name(night), taken, size))
		}
	}
	if len(lost) > 0 {
		return strings.Join(lost, ", ")
	}
	return "held"
}

func (m *allotModel) allot(t *rapid.T) {
	a := &modelAllotment{
		channel: rapid.IntRange(0, 2).Draw(t, "channel"), shares: rapid.Bool().Draw(t, "sells shared"), state: inventory.AllotmentStateTentative,
		size: map[int]int64{}, open: map[int]bool{}, releaseAt: never,
	}
	first := rapid.IntRange(0, allotNights).Draw(t, "night")
	last := first
	if first > 0 {
		last = rapid.IntRange(first, allotNights).Draw(t, "last night")
	}
	size := rapid.Int64Range(1, 5).Draw(t, "size")
	for night := first; night <= last; night++ {
		a.size[night] = size
	}
	channel := m.buyers[a.channel].Actor.Channel
	input := m.hall.Pools[0].Part(channel, size)
	if first > 0 {
		input = m.room.Nights(channel, size, first, last)
	}
	input.SellsShared, input.Definite = a.shares, rapid.Bool().Draw(t, "definite")
	if ticks := rapid.IntRange(0, 4).Draw(t, "released after"); ticks > 0 {
		// Half a tick away from any moment, so that the seconds that the test takes decide nothing.
		seconds := ticks*modelTick - modelTick/2
		a.releaseAt = m.clock + seconds
		input.Release = inventory.ReleaseRule{At: inventorytest.Of(m.tenant.Now().Add(time.Duration(seconds) * time.Second))}
	}
	want := "held"
	if input.Definite {
		want = m.growing(a, size, true)
	}
	real, err := m.tenant.Inventory.CreateAllotment(m.tenant.Context(), m.tenant.Owner, inventorytest.Key(), input)
	if got := m.tenant.Explain(err); got != want {
		t.Fatalf("got:  %s\nwant: %s", got, want)
	}
	if err != nil {
		return
	}
	a.real = real
	m.allotments = append(m.allotments, a)
	if input.Definite {
		m.opened(a)
	}
}

// opened notes that an allotment became definite.
func (m *allotModel) opened(a *modelAllotment) {
	m.steps++
	a.definite, a.state = m.steps, inventory.AllotmentStateDefinite
	for night := range a.size {
		a.open[night] = true
	}
}

// stateOf is the state that a command finds.
func (m *allotModel) stateOf(t *rapid.T, a *modelAllotment) inventory.AllotmentState {
	state := m.tenant.Allotment(a.real).State
	switch {
	case state == inventory.AllotmentStateReleased && a.state == inventory.AllotmentStateDefinite && m.clock >= a.releaseAt:
		a.state = state // somebody has carried the release out
	case state != a.state:
		t.Fatalf("the allotment is %s, want %s", state, a.state)
	}
	return state
}

func (m *allotModel) pickAllotment(t *rapid.T) *modelAllotment {
	if len(m.allotments) == 0 {
		t.Skip("there are no allotments")
	}
	latest := len(m.allotments) - 1
	return m.allotments[latest-rapid.IntRange(0, min(latest, 3)).Draw(t, "allotment")]
}

func (m *allotModel) expect(t *rapid.T, err error, want string) {
	if got := m.tenant.Explain(err); got != want {
		t.Fatalf("got:  %s\nwant: %s", got, want)
	}
}

func (m *allotModel) makeDefinite(t *rapid.T) {
	a := m.pickAllotment(t)
	state := m.stateOf(t, a)
	err := m.tenant.MakeDefinite(a.real)
	switch {
	case state == inventory.AllotmentStateDefinite:
		m.expect(t, err, "held")
	case state != inventory.AllotmentStateTentative, m.clock >= a.releaseAt:
		m.expect(t, err, "ALLOTMENT_ENDED")
	default:
		size := a.size[nightsOf(a)[0]]
		want := m.growing(a, size, true)
		m.expect(t, err, want)
		if err == nil {
			m.opened(a)
		}
	}
}

func (m *allotModel) resize(t *rapid.T) {
	a := m.pickAllotment(t)
	size := rapid.Int64Range(0, 6).Draw(t, "size")
	state := m.stateOf(t, a)
	if m.clock >= a.releaseAt && state == inventory.AllotmentStateDefinite {
		t.Skip("due, and not carried out: the size of what nobody can sell any more")
	}
	want := "held"
	switch state {
	case inventory.AllotmentStateReleased, inventory.AllotmentStateCancelled:
		want = "ALLOTMENT_ENDED"
	case inventory.AllotmentStateDefinite:
		want = m.growing(a, size, false)
	case inventory.AllotmentStateTentative:
	}
	m.expect(t, m.tenant.Resize(a.real, size), want)
	if want == "held" {
		for night := range a.size {
			a.size[night] = size
		}
	}
}

func (m *allotModel) release(t *rapid.T) {
	a := m.pickAllotment(t)
	state := m.stateOf(t, a)
	err := m.tenant.ReleaseAllotment(a.real)
	if state == inventory.AllotmentStateTentative {
		m.expect(t, err, "ALLOTMENT_TENTATIVE")
		return
	}
	m.expect(t, err, "held")
	if state == inventory.AllotmentStateDefinite {
		a.state, a.open = inventory.AllotmentStateReleased, map[int]bool{}
	}
}

func (m *allotModel) cancel(t *rapid.T) {
	a := m.pickAllotment(t)
	state := m.stateOf(t, a)
	m.expect(t, m.tenant.CancelAllotment(a.real), "held")
	if state == inventory.AllotmentStateDefinite || state == inventory.AllotmentStateTentative {
		a.state, a.open = inventory.AllotmentStateCancelled, map[int]bool{}
	}
}

// capacityOf changes how much there is, down to below what is sold.
func (m *allotModel) capacityOf(t *rapid.T) {
	night, units := rapid.IntRange(0, allotNights).Draw(t, "night"), rapid.Int64Range(1, 8).Draw(t, "capacity")
	m.capacity[night] = units
	if night == 0 {
		m.hall.Pools[0].SetCapacity(units)
		return
	}
	// One of them is oversell.
	m.room.Set(night, night, inventory.NightChange{Physical: inventorytest.Of(units - 1), Oversell: inventorytest.Of[int64](1)})
}

// shards splits the pool's counter anew, which nobody notices.
func (m *allotModel) shards(t *rapid.T) {
	m.hall.Pools[0].SetShards(rapid.Int64Range(1, 5).Draw(t, "shards"))
}

func (m *allotModel) tick(*rapid.T) {
	m.tenant.Tick(modelTick * time.Second)
	m.tenant.TickAllotments(modelTick * time.Second)
	m.clock += modelTick
}

func (m *allotModel) sweep(t *rapid.T) {
	if _, err := m.tenant.Inventory.ReleaseDue(m.tenant.Context(), 10_000); err != nil {
		t.Fatal(err)
	}
	if _, err := m.tenant.Inventory.ExpireDue(m.tenant.Context(), 10_000); err != nil {
		t.Fatal(err)
	}
	for _, a := range m.allotments {
		if state := m.stateOf(t, a); m.clock >= a.releaseAt && state == inventory.AllotmentStateDefinite {
			t.Fatal("a due allotment is definite after the sweep")
		}
	}
}

// check compares what a channel is shown, another one each time, and what each allotment is said to have.
func (m *allotModel) check(t *rapid.T) {
	m.checks++
	channel := m.checks % len(m.buyers)
	buyer := m.buyers[channel]
	_, want := m.take(channel, 0, 0)
	if got := buyer.Available(m.hall); got != want {
		t.Fatalf("channel %d is shown %d of the pool, want %d", channel, got, want)
	}
	for i, got := range buyer.Calendar(m.room, 1, allotNights) {
		if _, want := m.take(channel, i+1, 0); got != want {
			t.Fatalf("channel %d is shown %d on %d Nov, want %d", channel, got, i+1, want)
		}
	}
	wanted := make([]inventory.AllotmentID, len(m.allotments))
	for i, a := range m.allotments {
		wanted[i] = a.real.ID
	}
	stocks, err := m.tenant.Inventory.AllotmentStocks(m.tenant.Context(), m.tenant.Owner, wanted)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range m.allotments {
		for i, got := range stocks[a.real.ID] {
			night := nightsOf(a)[i]
			if taken := m.taken(night, a); got.Quantity != a.size[night] || got.Held+got.Sold != taken {
				t.Fatalf("an allotment of %d on night %d is said to be %+v, with %d sold", a.size[night], night, got, taken)
			}
			if got.Held+got.Sold+got.Released+got.Free > got.Quantity {
				t.Fatalf("an allotment is said to be %+v: more than its size", got)
			}
		}
	}
}

// Whatever the order in which stock is set aside, sold, given back, released by hand and by time, and
// changed: every answer is that of a model which is nothing but lists and a clock; no more is sold than
// there is, and none is lost.
func TestEveryScheduleOfAllotmentsAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	d := ownDatabase(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := newAllotModel(inventorytest.NewOn(t, d))
		rt.Repeat(map[string]func(*rapid.T){
			"place": m.place, "place more": m.place, "give back": m.give, "confirm": m.confirm, "allot": m.allot, "allot more": m.allot,
			"make definite": m.makeDefinite, "resize": m.resize, "release": m.release, "cancel": m.cancel,
			"capacity": m.capacityOf, "shards": m.shards, "tick": m.tick, "sweep": m.sweep, "": m.check,
		})
		var returned []inventory.HoldID
		for _, h := range m.holds {
			if h.confirmed && h.gone {
				returned = append(returned, h.real.ID)
			}
		}
		m.tenant.Audit(returned...)
	})
}
