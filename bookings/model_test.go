package bookings_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

const (
	modelSeats  = 3
	modelPool   = 4
	modelRooms  = 2
	modelNights = 4
)

// model is what a clerk with a pencil would keep of a shop.
type model struct {
	box
	room       *inventorytest.Room
	sales      []*modelSale
	keep, late bool
	cards      int
}

// modelSale is a hold and what became of it.
type modelSale struct {
	buyer    inventorytest.Buyer
	hold     inventory.Hold
	state    inventory.HoldState
	extended bool
	// lapsed says that others may take the units.
	lapsed bool
	// cancelled are the ordinals of cancelled lines.
	cancelled []int64
	charges   []*modelCharge
}

// modelCharge is a payment that the provider has not told the end of.
type modelCharge struct {
	attempt payments.Attempt
	yes     bool
	// open says that Holdfast waits for the end, told that the truth is out.
	open, told bool
}

// No schedule of holds, extensions, expiries, payments of every kind, contradicting messages and
// cancellations sells a unit twice, loses one, or loses money.
func TestNoScheduleLosesUnitsOrMoney(t *testing.T) {
	t.Parallel()
	shop := bookingstest.New(t, ownDatabase(t))
	ends := map[inventory.HoldState]int{}
	cancelled := 0
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{
			box:  box{Shop: shop, hall: shop.Hall(modelSeats, inventorytest.PoolOf("Floor", modelPool, 2))},
			room: shop.Hotel().Stocked("Double", modelRooms, 1, modelNights), keep: rapid.Bool().Draw(rt, "keep"), late: rapid.Bool().Draw(rt, "refund late"),
		}
		terms := inventory.TermsChange{OnDecline: inventorytest.Of(inventory.OnDeclineRelease), LatePayment: inventorytest.Of(inventory.LatePaymentHonour)}
		if m.keep {
			terms.OnDecline = inventorytest.Of(inventory.OnDeclineKeep)
		}
		if m.late {
			terms.LatePayment = inventorytest.Of(inventory.LatePaymentRefund)
		}
		m.SetTerms(terms)
		rt.Repeat(map[string]func(*rapid.T){
			"place": m.place, "place more": m.place, "pay": m.pay, "pay again": m.pay, "extend": m.extend, "release": m.release, "lapse": m.lapse,
			"sweep": m.sweep, "decide": m.decide, "contradict": m.contradict, "cancel": m.cancel, "": m.check,
		})
		m.finish(rt)
		for _, s := range m.sales {
			ends[s.state]++
			cancelled += len(s.cancelled)
		}
	})
	t.Logf("holds ended as %v, %d lines cancelled", ends, cancelled)
}

func (m *model) place(rt *rapid.T) {
	seats := rapid.SliceOfNDistinct(rapid.IntRange(1, modelSeats), 0, 2, rapid.ID[int]).Draw(rt, "seats")
	quantity := rapid.Int64Range(0, 3).Draw(rt, "units")
	first := rapid.IntRange(1, modelNights+2).Draw(rt, "check-in")
	var wishes []inventory.LineRequest
	free := true
	if len(seats) > 0 {
		wishes = append(wishes, m.hall.Seats(seats...))
		for _, seat := range seats {
			free = free && m.sold(m.isSeat(seat)) == 0
		}
	}
	if quantity > 0 {
		wishes = append(wishes, m.floor().Units(quantity))
	}
	if first <= modelNights {
		out := rapid.IntRange(first+1, modelNights+1).Draw(rt, "check-out")
		wishes = append(wishes, m.room.Stay(first, out))
		for night := first; night < out; night++ {
			free = free && m.sold(isNight(night)) < modelRooms
		}
	}
	if len(wishes) == 0 {
		return
	}
	buyer := m.Guest()
	hold, err := buyer.Try(wishes...)
	split := m.sold(isPool)+quantity <= modelPool
	switch {
	case err == nil && free && split:
		m.sales = append(m.sales, &modelSale{buyer: buyer, hold: hold, state: inventory.HoldStateActive})
	case err == nil:
		rt.Fatalf("got what is not free: %v", wishes)
	case !refused(err):
		rt.Fatal(err)
	case free && (quantity == 0 || split):
		rt.Fatalf("refused what is free: %s", m.Explain(err))
	}
}

// sold is how many units of a kind live holds and bookings have.
func (m *model) sold(counts func(l inventory.HoldLine) bool) int64 {
	var n int64
	for _, s := range m.sales {
		if !s.owns() || s.lapsed && s.state != inventory.HoldStateConfirmed {
			continue
		}
		for _, line := range s.hold.Lines {
			if counts(line) && !slices.Contains(s.cancelled, line.Ordinal) {
				n += line.Quantity
			}
		}
	}
	return n
}

func (s *modelSale) owns() bool { return s.state.Live() || s.state == inventory.HoldStateConfirmed }

func (m *model) isSeat(number int) func(inventory.HoldLine) bool {
	id := m.hall.Seats(number).Seats.Seats[0]
	return func(l inventory.HoldLine) bool { return l.Kind == inventory.LineKindSeat && l.Seat == id }
}

func isPool(l inventory.HoldLine) bool { return l.Kind == inventory.LineKindPool }

func isNight(day int) func(inventory.HoldLine) bool {
	return func(l inventory.HoldLine) bool {
		return l.Kind == inventory.LineKindNight && l.Night == inventorytest.Nov(day)
	}
}

func (m *model) pick(rt *rapid.T, fits func(s *modelSale) bool) *modelSale {
	var fitting []*modelSale
	for _, s := range m.sales {
		if fits(s) {
			fitting = append(fitting, s)
		}
	}
	if len(fitting) == 0 {
		return nil
	}
	return rapid.SampledFrom(fitting).Draw(rt, "sale")
}

func anySale(*modelSale) bool { return true }

func (m *model) pay(rt *rapid.T) {
	s := m.pick(rt, anySale)
	if s == nil {
		return
	}
	token := rapid.SampledFrom([]string{sandbox.TokenApprove, sandbox.TokenDecline, sandbox.TokenWrongAmount, sandbox.TokenErrorApprove, slow, slow, slowNo}).Draw(rt, "token")
	m.cards++
	_, err := m.TryPay(s.buyer, s.hold, fmt.Sprintf("%s:%d-%s", token, m.cards, s.hold.ID.UUID))
	if s.state != inventory.HoldStateActive || s.lapsed {
		// Nothing is started: it is refused, or answered as it stands.
		stands := s.state == inventory.HoldStateProcessing || s.state == inventory.HoldStateConfirmed
		if err != nil && !refused(err) || stands != (err == nil) {
			rt.Fatalf("paying a hold that is %s: %v", s.state, err)
		}
		return
	}
	if err != nil {
		rt.Fatalf("refused to pay: %s", m.Explain(err))
	}
	switch token {
	case sandbox.TokenApprove:
		s.state = inventory.HoldStateConfirmed
	case sandbox.TokenDecline, sandbox.TokenWrongAmount:
		s.decline(m)
	case sandbox.TokenErrorApprove:
		s.state = inventory.HoldStateProcessing
		s.charges = append(s.charges, &modelCharge{attempt: m.latest(s), yes: true, open: true})
	default:
		s.state = inventory.HoldStateProcessing
		s.charges = append(s.charges, &modelCharge{attempt: m.latest(s), yes: token == slow, open: true})
	}
}

func (m *model) latest(s *modelSale) payments.Attempt {
	attempts := m.Attempts(s.hold)
	return attempts[len(attempts)-1]
}

func (s *modelSale) decline(m *model) {
	s.state = inventory.HoldStateReleased
	if m.keep {
		s.state = inventory.HoldStateActive
		s.lapsed = m.isDue(s)
	}
}

// isDue asks the row, because a kept hold goes back to the deadline that it had before its payment.
func (m *model) isDue(s *modelSale) bool {
	return !m.Now().Before(s.buyer.Read(s.hold).ClaimableAt)
}

func (m *model) extend(rt *rapid.T) {
	s := m.pick(rt, anySale)
	if s == nil {
		return
	}
	_, err := s.buyer.TryExtend(s.hold)
	allowed := s.state == inventory.HoldStateActive && !s.lapsed && !s.extended
	if (err == nil) != allowed || err != nil && !refused(err) {
		rt.Fatalf("extending a hold that is %s: %v", s.state, err)
	}
	s.extended = s.extended || allowed
}

func (m *model) release(rt *rapid.T) {
	s := m.pick(rt, func(s *modelSale) bool { return s.state != inventory.HoldStateConfirmed })
	if s == nil {
		return
	}
	_, err := s.buyer.TryRelease(s.hold)
	if (err == nil) == (s.state == inventory.HoldStateProcessing) || err != nil && !refused(err) {
		rt.Fatalf("releasing a hold that is %s: %v", s.state, err)
	}
	if s.state == inventory.HoldStateActive {
		s.state = inventory.HoldStateReleased
	}
}

func (m *model) lapse(rt *rapid.T) {
	if s := m.pick(rt, func(s *modelSale) bool { return s.state.Live() && !s.lapsed }); s != nil {
		m.Lapse(s.hold)
		s.lapsed = true
	}
}

func (m *model) sweep(rt *rapid.T) {
	if _, err := m.Inventory.ExpireDue(rt.Context(), 1000); err != nil {
		rt.Fatal(err)
	}
	for _, s := range m.sales {
		if s.state.Live() && s.lapsed {
			s.state = inventory.HoldStateExpired
		}
	}
}

// contradict lets the provider say no to what it will say yes to later, or has already.
func (m *model) contradict(rt *rapid.T) {
	s := m.pick(rt, func(s *modelSale) bool { return len(s.charges) > 0 })
	if s == nil {
		return
	}
	charge := rapid.SampledFrom(s.charges).Draw(rt, "charge")
	if err := m.deliverIn(rt.Context(), m.chargeMessage(charge.attempt, "declined")); err != nil {
		rt.Fatal(err)
	}
	m.saidNo(s, charge)
}

func (m *model) saidNo(s *modelSale, charge *modelCharge) {
	if charge.open && s.state == inventory.HoldStateProcessing {
		s.decline(m)
	}
	charge.open = false
}

func (m *model) saidYes(s *modelSale, charge *modelCharge) {
	if s.state.Live() && (!m.late || !m.isDue(s)) {
		s.state = inventory.HoldStateConfirmed
	} else if s.state == inventory.HoldStateProcessing {
		s.state = inventory.HoldStateExpired
	}
	charge.open = false
}

// decide lets the truth about a charge out, by its event or by asking.
func (m *model) decide(rt *rapid.T) {
	s := m.pick(rt, func(s *modelSale) bool {
		return slices.ContainsFunc(s.charges, func(c *modelCharge) bool { return !c.told })
	})
	if s == nil {
		return
	}
	for _, charge := range s.charges {
		if !charge.told {
			m.tell(rt, s, charge, charge.open && rapid.Bool().Draw(rt, "by asking"))
			return
		}
	}
}

func (m *model) tell(rt *rapid.T, s *modelSale, charge *modelCharge, asking bool) {
	m.Provider.Settle(m.Account, charge.attempt.ID.String())
	charge.told = true
	status := "declined"
	if charge.yes {
		status = "approved"
	}
	var err error
	if asking {
		err = m.Sales.DriveCharge(rt.Context(), payments.Located[payments.AttemptID]{Tenant: m.ID, ID: charge.attempt.ID})
	} else {
		message := m.chargeMessage(charge.attempt, status)
		message.about()["id"] = m.chargeID(charge.attempt)
		err = m.deliverIn(rt.Context(), message)
	}
	if err != nil {
		rt.Fatal(err)
	}
	if charge.yes {
		m.saidYes(s, charge)
		return
	}
	m.saidNo(s, charge)
}

func (m *model) cancel(rt *rapid.T) {
	s := m.pick(rt, func(s *modelSale) bool { return s.state == inventory.HoldStateConfirmed })
	if s == nil {
		return
	}
	ordinal := rapid.Int64Range(0, int64(len(s.hold.Lines)-1)).Draw(rt, "line")
	_, err := m.Sales.CancelBooking(rt.Context(), m.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: m.BookingOf(s.hold).ID, Ordinals: []int64{ordinal}})
	if slices.Contains(s.cancelled, ordinal) {
		if got := m.Explain(err); got != "NOT_BOOKED" {
			rt.Fatalf("cancelled twice: %s", got)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	s.cancelled = append(s.cancelled, ordinal)
}

// check compares the clerk's notes with the rows. Only a lapsed hold may have ended without being
// asked to: a claim may reap it at any time.
func (m *model) check(rt *rapid.T) {
	for _, s := range m.sales {
		row, err := inventory.GetHold(rt.Context(), m.DB.Pool(), m.ID, s.hold.ID)
		if err != nil {
			rt.Fatal(err)
		}
		if row.State == inventory.HoldStateExpired && s.state.Live() && s.lapsed {
			s.state = row.State
		}
		if row.State != s.state {
			rt.Fatalf("hold %s is %s, want %s", s.hold.ID, row.State, s.state)
		}
	}
	pool := m.floor().Count()
	if owned := m.owned(isPool); pool.Held+pool.Booked != owned {
		rt.Fatalf("the pool has %d held and %d booked, want %d together", pool.Held, pool.Booked, owned)
	}
	for night := 1; night <= modelNights; night++ {
		if count, owned := m.room.Count(night), m.owned(isNight(night)); count.Held+count.Booked != owned {
			rt.Fatalf("night %d has %d held and %d booked, want %d together", night, count.Held, count.Booked, owned)
		}
	}
}

// owned is sold with what lapsed holds still occupy.
func (m *model) owned(counts func(l inventory.HoldLine) bool) int64 {
	var n int64
	for _, s := range m.sales {
		for _, line := range s.hold.Lines {
			if s.owns() && counts(line) && !slices.Contains(s.cancelled, line.Ordinal) {
				n += line.Quantity
			}
		}
	}
	return n
}

// finish lets every truth out and every refund be paid, and counts the money.
func (m *model) finish(rt *rapid.T) {
	for _, s := range m.sales {
		for _, charge := range s.charges {
			if !charge.told {
				m.tell(rt, s, charge, false)
			}
		}
	}
	m.Settle()
	m.check(rt)
	for _, s := range m.sales {
		var want, got int64
		for _, line := range s.hold.Lines {
			if s.state == inventory.HoldStateConfirmed && !slices.Contains(s.cancelled, line.Ordinal) {
				want += line.Amount.Minor
			}
		}
		for _, attempt := range m.Attempts(s.hold) {
			got += attempt.Captured.Minor - attempt.Refunded.Minor
		}
		if got != want {
			rt.Fatalf("%d of hold %s are kept, want %d: %s", got, s.hold.ID, want, m.Sale(s.hold))
		}
		if booking := m.BookingOf(s.hold); (booking != nil) != (s.state == inventory.HoldStateConfirmed) {
			rt.Fatalf("hold %s is %s and its booking %v", s.hold.ID, s.state, booking)
		} else if booking != nil && len(s.cancelled) == len(booking.Lines) && booking.State != bookings.StateCancelled {
			rt.Fatalf("every line of %s is cancelled, the booking is %s", booking.ID, booking.State)
		}
	}
	report, err := m.Sales.Audit(rt.Context(), &m.ID)
	if err != nil || !report.OK {
		rt.Fatal(errors.Join(err, fmt.Errorf("audit: %+v", report)))
	}
	if kept, sold := m.Kept()["EUR"], m.Sold()["EUR"]; kept != sold {
		rt.Fatalf("the provider has %d, the standing lines cost %d", kept, sold)
	}
	// The units of this schedule are not the next one's.
	m.sweep(rt)
}
