package inventory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// What the model sells.
const (
	modelSeats  = 6
	modelPool   = 5
	modelRooms  = 2
	modelHouse  = 3
	modelNights = 5
	// modelTick is how many seconds pass at once. No sum of ticks comes near a deadline, so that the
	// seconds that the test itself takes decide nothing.
	modelTick = 170
)

// modelHold is a hold as the model remembers it. Its state is CONFIRMED also after its units were
// returned.
type modelHold struct {
	real                       inventory.Hold
	buyer                      int
	key                        string
	wishes                     []inventory.LineRequest
	seats                      []int
	pool                       int64
	nights                     map[modelNight]int64
	state                      inventory.HoldState
	deadline, lease, claimable int
	extensions                 int
	returned                   bool
}

type modelNight struct{ room, day int }

// model is the whole stock in memory: a list of holds and a clock, from which everything follows.
type model struct {
	tenant *inventorytest.Tenant
	hall   *inventorytest.Hall
	rooms  [2]*inventorytest.Room
	buyers []inventorytest.Buyer
	honour bool
	keep   bool
	clock  int
	holds  []*modelHold
}

func newModel(t *testing.T, open func(*testing.T) *inventorytest.Tenant, honour, keep bool) *model {
	t.Helper()
	m := &model{tenant: open(t), honour: honour, keep: keep}
	m.hall = m.tenant.Hall(modelSeats, inventorytest.PoolOf("Floor", modelPool, 2))
	hotel := m.tenant.Hotel()
	m.rooms = [2]*inventorytest.Room{hotel.Stocked("Double", modelRooms, 1, modelNights), hotel.Stocked("Suite", modelRooms, 1, modelNights)}
	hotel.SetHouseLimit(1, modelNights, inventorytest.Of[int64](modelHouse))
	late, decline, many := inventory.LatePaymentRefund, inventory.OnDeclineRelease, inventorytest.Of[int64](1000)
	if honour {
		late = inventory.LatePaymentHonour
	}
	if keep {
		decline = inventory.OnDeclineKeep
	}
	m.tenant.SetTerms(inventory.TermsChange{LatePayment: &late, OnDecline: &decline, MaxActiveHoldsPerBuyer: many})
	m.buyers = append(m.tenant.Guests(3), m.tenant.Partner("Agency"))
	return m
}

// due reports that others may take the hold's units.
func (m *model) due(h *modelHold) bool { return h.state.Live() && m.clock >= h.claimable }

// owns reports that the hold's units are not free.
func (m *model) owns(h *modelHold) bool {
	return h.state.Live() && !m.due(h) || h.state == inventory.HoldStateConfirmed && !h.returned
}

func (m *model) poolLeft() int64 {
	left := int64(modelPool)
	for _, h := range m.holds {
		if m.owns(h) {
			left -= h.pool
		}
	}
	return left
}

// nightLeft is what is left of the room type, and of the house.
func (m *model) nightLeft(night modelNight) (rooms, house int64) {
	rooms, house = modelRooms, modelHouse
	for _, h := range m.holds {
		if m.owns(h) {
			rooms -= h.nights[night]
			house -= h.nights[modelNight{0, night.day}] + h.nights[modelNight{1, night.day}]
		}
	}
	return rooms, house
}

func (m *model) seatOwner(number int) *modelHold {
	for _, h := range m.holds {
		if m.owns(h) && slices.Contains(h.seats, number) {
			return h
		}
	}
	return nil
}

// yours is the suffix of a refusal when a live hold of the buyer has some of the units.
func (m *model) yours(buyer int, has func(h *modelHold) bool) string {
	for _, h := range m.holds {
		if h.buyer == buyer && h.state.Live() && !m.due(h) && has(h) {
			return " yours"
		}
	}
	return ""
}

// answer is what the service must say to a claim.
func (m *model) answer(h *modelHold, stays []modelStay) string {
	var lost []string
	line := 0
	refuse := func(text string) { lost = append(lost, fmt.Sprintf("%d: %s", line, text)) }
	if len(h.seats) > 0 {
		for _, number := range h.seats {
			owner := m.seatOwner(number)
			switch {
			case owner == nil:
			case owner.buyer == h.buyer:
				refuse(fmt.Sprintf("HELD_BY_YOU seat %d yours", number))
			default:
				refuse(fmt.Sprintf("HELD_BY_OTHER seat %d", number))
			}
		}
		line++
	}
	if h.pool > 0 {
		if left := m.poolLeft(); left < h.pool {
			refuse(fmt.Sprintf("SOLD_OUT Floor left %d%s", left, m.yours(h.buyer, func(o *modelHold) bool { return o.pool > 0 })))
		}
		line++
	}
	house := map[int]int64{}
	for _, stay := range stays {
		for day := stay.first; day < stay.out; day++ {
			night := modelNight{stay.room, day}
			rooms, left := m.nightLeft(night)
			if rooms < stay.rooms {
				refuse(fmt.Sprintf("SOLD_OUT %d Nov left %d%s", day, rooms, m.yours(h.buyer, func(o *modelHold) bool { return o.nights[night] > 0 })))
			}
			if house[day] += stay.rooms; left < house[day] {
				refuse(fmt.Sprintf("HOUSE_FULL %d Nov left %d", day, left))
			}
		}
		line++
	}
	if len(lost) == 0 {
		return "held"
	}
	text := strings.Join(lost, ", ")
	if !strings.ContainsAny(strings.ReplaceAll(text, "0: ", ""), ":") {
		text = strings.ReplaceAll(text, "0: ", "")
	}
	return text
}

type modelStay struct {
	room, first, out int
	rooms            int64
}

// place asks for random wishes, and compares the answer word for word.
func (m *model) place(t *rapid.T) {
	h := &modelHold{buyer: rapid.IntRange(0, len(m.buyers)-1).Draw(t, "buyer"), key: inventorytest.Key(), nights: map[modelNight]int64{}, state: inventory.HoldStateActive}
	h.seats = rapid.SliceOfNDistinct(rapid.IntRange(1, modelSeats), 0, 3, rapid.ID[int]).Draw(t, "seats")
	h.pool = rapid.Int64Range(0, 3).Draw(t, "pool")
	var stays []modelStay
	for room := range m.rooms {
		if rooms := rapid.Int64Range(0, 2).Draw(t, "rooms"); rooms > 0 {
			first := rapid.IntRange(1, modelNights).Draw(t, "check-in")
			stay := modelStay{room: room, first: first, out: rapid.IntRange(first+1, modelNights+1).Draw(t, "check-out"), rooms: rooms}
			stays = append(stays, stay)
			for day := stay.first; day < stay.out; day++ {
				h.nights[modelNight{room, day}] = rooms
			}
		}
	}
	if len(h.seats) > 0 {
		h.wishes = append(h.wishes, m.hall.Seats(h.seats...))
	}
	if h.pool > 0 {
		h.wishes = append(h.wishes, m.hall.Pools[0].Units(h.pool))
	}
	for _, stay := range stays {
		h.wishes = append(h.wishes, m.rooms[stay.room].Rooms(stay.rooms, stay.first, stay.out))
	}
	if len(h.wishes) == 0 {
		t.Skip("nothing is wished for")
	}
	want := m.answer(h, stays)
	real, err := m.buyers[h.buyer].TryKey(h.key, h.wishes...)
	if got := m.tenant.Explain(err); got != want {
		t.Fatalf("got:  %s\nwant: %s", got, want)
	}
	if err == nil {
		h.real, h.deadline, h.lease, h.claimable = real, m.clock+300, m.clock+300, m.clock+300
		m.holds = append(m.holds, h)
	}
}

// pick is a random hold, with its state as it is stored: a hold that is due may have been reaped or
// not, and only then.
func (m *model) pick(t *rapid.T) *modelHold {
	if len(m.holds) == 0 {
		t.Skip("there are no holds")
	}
	// Mostly one of the latest, so that schedules follow a hold through its life.
	latest := len(m.holds) - 1
	h := m.holds[latest-rapid.IntRange(0, min(latest, 3)).Draw(t, "hold")]
	m.refresh(t, h)
	return h
}

func (m *model) refresh(t *rapid.T, h *modelHold) {
	stored, err := inventory.GetHold(m.tenant.Context(), m.tenant.DB.Pool(), m.tenant.ID, h.real.ID)
	switch {
	case err != nil:
		t.Fatal(err)
	case m.due(h) && stored.State == inventory.HoldStateExpired:
		h.state = inventory.HoldStateExpired
	case stored.State != h.state:
		t.Fatalf("the hold is stored as %s, want %s", stored.State, h.state)
	}
}

func (m *model) expect(t *rapid.T, err error, want string) {
	if got := m.tenant.Explain(err); got != want {
		t.Fatalf("got:  %s\nwant: %s", got, want)
	}
}

func (m *model) extend(t *rapid.T) {
	h := m.pick(t)
	_, err := m.buyers[h.buyer].TryExtend(h.real)
	switch {
	case h.state == inventory.HoldStateProcessing:
		m.expect(t, err, "PAYMENT_IN_PROGRESS")
	case h.state == inventory.HoldStateExpired, h.state == inventory.HoldStateActive && m.clock >= h.deadline:
		m.expect(t, err, "HOLD_EXPIRED")
	case h.state != inventory.HoldStateActive:
		m.expect(t, err, "HOLD_ENDED")
	case h.extensions > 0:
		m.expect(t, err, "NO_EXTENSION_LEFT")
	default:
		m.expect(t, err, "held")
		h.extensions++
		h.deadline, h.lease, h.claimable = m.clock+300, m.clock+300, m.clock+300
	}
}

func (m *model) release(t *rapid.T) {
	h := m.pick(t)
	released, err := m.buyers[h.buyer].TryRelease(h.real)
	switch h.state {
	case inventory.HoldStateProcessing:
		m.expect(t, err, "PAYMENT_IN_PROGRESS")
		return
	case inventory.HoldStateConfirmed:
		m.expect(t, err, "HOLD_ENDED")
		return
	case inventory.HoldStateActive:
		h.state = inventory.HoldStateReleased
	case inventory.HoldStateReleased, inventory.HoldStateExpired:
	}
	m.expect(t, err, "held")
	if released.State != h.state {
		t.Fatalf("released as %s, want %s", released.State, h.state)
	}
}

func (m *model) checkout(t *rapid.T) { m.checkoutOf(t, m.pick(t)) }

func (m *model) checkoutOf(t *rapid.T, h *modelHold) {
	_, err := m.tenant.Checkout(h.real.ID)
	if h.state != inventory.HoldStateActive || m.clock >= h.deadline {
		m.expect(t, err, "HOLD_EXPIRED")
		return
	}
	m.expect(t, err, "held")
	h.state, h.deadline = inventory.HoldStateProcessing, m.clock+120
	h.claimable = h.deadline
	if m.honour {
		h.claimable += 120
	}
}

func (m *model) confirm(t *rapid.T) { m.confirmOf(t, m.pick(t)) }

// payLate is a payment whose success comes after its deadline.
func (m *model) payLate(t *rapid.T) {
	h := m.pick(t)
	m.checkoutOf(t, h)
	m.tick(t)
	m.refresh(t, h)
	m.confirmOf(t, h)
}

func (m *model) confirmOf(t *rapid.T, h *modelHold) {
	_, err := m.tenant.Confirm(h.real.ID)
	if !h.state.Live() || !m.honour && m.clock > h.deadline {
		if !errors.Is(err, inventorytest.ErrNotConfirmable) {
			t.Fatalf("confirmed a hold that is %s: %v", h.state, err)
		}
		return
	}
	m.expect(t, err, "held")
	h.state = inventory.HoldStateConfirmed
}

func (m *model) decline(t *rapid.T) {
	h := m.pick(t)
	if h.state != inventory.HoldStateProcessing {
		t.Skip("it is not being paid")
	}
	_, err := m.tenant.Decline(h.real.ID)
	m.expect(t, err, "held")
	if m.keep {
		h.state, h.deadline, h.claimable = inventory.HoldStateActive, h.lease, h.lease
	} else {
		h.state = inventory.HoldStateReleased
	}
}

func (m *model) cancel(t *rapid.T) {
	h := m.pick(t)
	if h.state != inventory.HoldStateConfirmed || h.returned {
		t.Skip("it is not booked")
	}
	m.expect(t, m.tenant.Return(h.real), "held")
	h.returned = true
}

func (m *model) replay(t *rapid.T) {
	h := m.pick(t)
	again, err := m.buyers[h.buyer].TryKey(h.key, h.wishes...)
	m.expect(t, err, "held")
	want := h.state
	if m.due(h) {
		want = inventory.HoldStateExpired
	}
	if again.ID != h.real.ID || again.State != want || again.Extensions != int64(h.extensions) {
		t.Fatalf("the replay answers %s in state %s, want %s in state %s", again.ID, again.State, h.real.ID, want)
	}
}

func (m *model) tick(t *rapid.T) {
	m.tenant.Tick(modelTick * time.Second)
	m.clock += modelTick
}

func (m *model) sweep(t *rapid.T) {
	if _, err := m.tenant.Inventory.ExpireDue(m.tenant.Context(), 10_000); err != nil {
		t.Fatal(err)
	}
	for _, h := range m.holds {
		m.refresh(t, h)
		if m.due(h) {
			t.Fatalf("a due hold is %s after the sweep", h.state)
		}
	}
}

// check compares what a buyer is shown with what the model says.
func (m *model) check(t *rapid.T) {
	viewer := m.buyers[0]
	statuses := viewer.SeatStatuses(m.hall)
	for number := 1; number <= modelSeats; number++ {
		want := inventory.SeatStatusAvailable
		if owner := m.seatOwner(number); owner != nil && owner.state.Live() {
			want = inventory.SeatStatusHeld
		} else if owner != nil {
			want = inventory.SeatStatusBooked
		}
		if got := statuses[number]; got != want {
			t.Fatalf("seat %d is shown as %s, want %s", number, got, want)
		}
	}
	if got, want := viewer.Available(m.hall), m.poolLeft(); got != want {
		t.Fatalf("the pool is shown with %d left, want %d", got, want)
	}
	for room := range m.rooms {
		for i, got := range viewer.Calendar(m.rooms[room], 1, modelNights) {
			rooms, house := m.nightLeft(modelNight{room, i + 1})
			if want := min(rooms, house); got != want {
				t.Fatalf("%d Nov is shown with %d left, want %d", i+1, got, want)
			}
		}
	}
}

func (m *model) audit() {
	var returned []inventory.HoldID
	for _, h := range m.holds {
		if h.returned {
			returned = append(returned, h.real.ID)
		}
	}
	m.tenant.Audit(returned...)
}

// Whatever the order in which buyers hold, extend, release, pay and cancel, and time passes: every
// answer is the one of a model that is nothing but a list of holds and a clock, and no unit is lost
// or sold twice.
func TestEveryScheduleAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	d := ownDatabase(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(t, func(t *testing.T) *inventorytest.Tenant { return inventorytest.NewOn(t, d) },
			rapid.Bool().Draw(rt, "honour late payments"), rapid.Bool().Draw(rt, "keep after a decline"))
		rt.Repeat(map[string]func(*rapid.T){
			"place": m.place, "place more": m.place, "tick": m.tick, "extend": m.extend, "release": m.release,
			"checkout": m.checkout, "confirm": m.confirm, "decline": m.decline, "cancel": m.cancel, "replay": m.replay, "pay late": m.payLate,
			"sweep": m.sweep, "": m.check,
		})
		m.audit()
	})
}
