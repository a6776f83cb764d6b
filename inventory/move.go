package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// A booked stay is moved by one claim of what is new and one return of what is old, in the transaction of
// whoever keeps the booking: by the rules and the guarded counters of a hold, in the order of its locks.
// Nights that stay are neither given back nor claimed.

// Move is what is to become of a booked stay.
type Move struct {
	// Actor asks for it.
	Actor tenants.Actor
	// Hold is the sale, locked: its channel's stock is claimed from, its currency paid in.
	Hold Hold
	// Lines are the nights that the stay has now.
	Lines []HoldLine
	// CheckIn, CheckOut, RoomType and Rooms are the stay as it is to be. Nights before From stay as they
	// are, whatever these say; From is today at the property when it is zero.
	Stay StayRequest
	From civil.Date
	// SameRoom leaves nights that the stay has in whatever room type they are, and SameCount with as many
	// rooms: then RoomType and Rooms are of new nights only.
	SameRoom, SameCount bool
	// Ordinal is the number of the first new line.
	Ordinal int64
	// Elsewhere allows a room type of another property.
	Elsewhere bool
	// KeepPrice has the new nights cost together what those cost that they replace.
	KeepPrice bool
	// Physical refuses nights for which rooms are not there to be slept in, though they might be sold.
	Physical bool
	// Override lifts the restrictions of nights; nil is the rule.
	Override *Override
	// Due are holds on the wanted nights that may be over; see Mover.
	Due []uuid.UUID
}

// CheckStay checks the form of a stay as it is to be: everything that can be said without the database.
func CheckStay(s StayRequest) error {
	switch {
	case !isDate(s.CheckIn):
		return fault.Invalid("newCheckIn", "expected a date such as 2027-03-14")
	case !isDate(s.CheckOut):
		return fault.Invalid("newCheckOut", "expected a date such as 2027-03-17")
	case !s.CheckOut.After(s.CheckIn):
		return fault.Invalid("newCheckOut", "expected a date after check-in %s, got %s", s.CheckIn, s.CheckOut)
	case s.nights() > maxStayDays:
		return fault.Invalid("newCheckOut", "a stay has at most %d nights, this one has %d", maxStayDays, s.nights())
	case s.Rooms < 1 || s.Rooms > maxRooms:
		return fault.Invalid("rooms", "expected 1 to %d, got %d", maxRooms, s.Rooms)
	}
	return nil
}

// Moved is what a move did to the stock.
type Moved struct {
	// Ended are the lines that ended. Added are those that took their place, with their prices: of new
	// nights, and of the rooms that stay where a line had more.
	Ended, Added []HoldLine
	// Claimed are the nights of Added that were claimed, at what they cost today.
	Claimed money.Amount
	// Arrives is the first night of the stay as it is now.
	Arrives civil.Date
}

// Mover runs moves until no hold that is due has what they want.
type Mover struct{ stock *Service }

// NewMover needs who is told of allotments that are released on the way.
func NewMover(d *db.DB, announcer Announcer) *Mover {
	return &Mover{stock: &Service{db: d, announcer: announcer}}
}

// moreDue ends a move that would be refused although holds that are due still have the units.
type moreDue struct{ batch *batch }

// Error says so.
func (*moreDue) Error() string { return errMoreDue.Error() }

// Run tries a move with the due holds that it may reap, and again while more come due than it has reaped.
func (m *Mover) Run(ctx context.Context, try func(ctx context.Context, due []uuid.UUID) error) error {
	var due []uuid.UUID
	for range maxRounds {
		err := try(ctx, due)
		var more *moreDue
		if !errors.As(err, &more) {
			return err
		}
		if _, err := m.stock.expireOn(ctx, more.batch); err != nil {
			return err
		}
		if due, err = m.stock.dueFor(ctx, more.batch); err != nil {
			return err
		}
	}
	return Busy()
}

// MoveTx gives back the nights of a booked stay that it is not to have any more, and claims and books those
// that are new, or refuses with every night that could not be had. The caller holds the lock of the sale,
// and ends the transaction when it is refused: then nothing was changed.
func MoveTx(ctx context.Context, tx pgx.Tx, m Move) (Moved, error) {
	whole := claim{region: m.Hold.ID.Region, lines: []LineRequest{{Stay: &m.Stay}}, rooms: []uuid.UUID{m.Stay.RoomType.UUID}, channels: []uuid.UUID{m.Hold.Channel.UUID}}
	at := placeOf(m.Hold.Tenant, m.Hold.ID.Region)
	f, err := factsOf(ctx, tx, at, whole, nil, nil)
	if err != nil {
		return Moved{}, err
	}
	if err := m.judgeForm(whole, &f); err != nil {
		return Moved{}, err
	}
	p, err := m.plan()
	if err != nil {
		return Moved{}, err
	}
	refused, err := m.judgeRules(whole, p, f)
	if err != nil {
		return Moved{}, err
	}
	b, err := m.batch(p)
	if err != nil {
		return Moved{}, err
	}
	s, err := b.lockMove(ctx, tx, &f, p)
	if err != nil {
		return Moved{}, err
	}
	w := b.wishes[0]
	counters := w.judgeCounters(f, s)
	if m.Physical && len(counters) == 0 {
		counters = s.judgePhysical(w, f)
	}
	if len(counters) > 0 {
		if err := b.judgeMoreDue(ctx, tx, &f); errors.Is(err, errMoreDue) {
			return Moved{}, &moreDue{batch: b}
		} else if err != nil {
			return Moved{}, err
		}
	}
	if refused = append(refused, counters...); len(refused) > 0 {
		for i := range refused {
			refused[i].Line = 0
		}
		return Moved{}, refuseLines(refused)
	}
	moved := Moved{Ended: p.ended, Arrives: p.arrives}
	// What is new is sold at today's prices; promotions are for those who book.
	prices, _, err := f.pricesUnder(w.claim, nil)
	if err != nil {
		return Moved{}, err
	}
	if moved.Claimed, err = f.totalOf(w, s, prices); err != nil {
		return Moved{}, err
	}
	moved.Claimed.Currency = m.Hold.Total.Currency
	claimed := b.linesOf(w, f, s, prices)
	if err := b.claimCounters(ctx, tx, gather(claimed)); err != nil {
		return Moved{}, err
	}
	if err := gather(claimed).apply(ctx, tx, at, book()); err != nil {
		return Moved{}, err
	}
	now, err := Now(ctx, tx)
	if err != nil {
		return Moved{}, err
	}
	if f.usedDue([]won{{wish: w, lines: claimed}}, now) {
		return Moved{}, &moreDue{batch: b}
	}
	if m.KeepPrice {
		p.keepPrice(claimed)
	}
	moved.Added = slices.Concat(p.split, claimed)
	for i := range moved.Added {
		moved.Added[i].Ordinal, moved.Added[i].Item = m.Ordinal+int64(i), m.Lines[0].Item
	}
	return moved, nil
}

// judgeForm says what is wrong with a move whatever the rules are, and sets From.
func (m *Move) judgeForm(whole claim, f *facts) error {
	if err := whole.judgeExists(*f); err != nil {
		return err
	}
	room, was := f.rooms[m.Stay.RoomType.UUID], m.was()
	today := room.today
	if room.property != m.Lines[0].Property.UUID && !m.Elsewhere {
		// The same answer as for a room type that does not exist.
		return fault.NotFound("room type")
	}
	if room.currency != m.Hold.Total.Currency {
		return fault.Invalid("newRoomType", "it is priced in %s, the booking in %s", room.currency, m.Hold.Total.Currency)
	}
	if m.From.IsZero() {
		m.From = today
	}
	switch {
	case m.From.Before(today):
		return fault.Invalid("night", "expected today at the hotel (%s) or later, got %s", today, m.From)
	case !was.checkOut.After(m.From):
		return Refuse(RefusalChangeClosed, "the stay is over")
	case m.Stay.CheckIn != was.checkIn && m.Stay.CheckIn.Before(m.From):
		return fault.Invalid("newCheckIn", "expected today at the hotel (%s) or later, got %s", today, m.Stay.CheckIn)
	case m.Stay.CheckIn != was.checkIn && was.checkIn.Before(m.From):
		return Refuse(RefusalChangeClosed, "the day of arrival is past, and stays as it is")
	case m.Stay.CheckOut.Before(m.From):
		return fault.Invalid("newCheckOut", "expected today at the hotel (%s) or later, got %s", today, m.Stay.CheckOut)
	}
	return nil
}

// was is the stay as it is: from its first night to the day after its last.
func (m *Move) was() stay {
	s := stay{room: m.Lines[0].RoomType.UUID, checkIn: m.Lines[0].Night, checkOut: m.Lines[0].Night.AddDays(1)}
	for _, line := range m.Lines {
		s.checkIn, s.checkOut = earlier(s.checkIn, line.Night), later(s.checkOut, line.Night.AddDays(1))
	}
	return s
}

// movePlan says, of a move, what of the stay ends and what is wanted.
type movePlan struct {
	// ended are lines that end. split are those in which rooms of them go on, at their share of the price.
	ended, split []HoldLine
	// returned are the units of ended that do not go on.
	returned []HoldLine
	wants    []StayRequest
	arrives  civil.Date
}

// plan compares the stay as it is with the stay as it is to be, night by night.
func (m *Move) plan() (movePlan, error) {
	var p movePlan
	open := map[civil.Date]int64{}
	for night := later(m.Stay.CheckIn, m.From); night.Before(m.Stay.CheckOut); night = night.AddDays(1) {
		open[night] = m.Stay.Rooms
	}
	if m.SameCount {
		m.keepCounts(open)
	}
	p.arrives = m.Stay.CheckIn
	for _, line := range m.Lines {
		if line.Night.Before(m.From) {
			p.arrives = earlier(p.arrives, line.Night)
			continue
		}
		stays := int64(0)
		if m.SameRoom || line.RoomType == m.Stay.RoomType {
			stays = min(line.Quantity, open[line.Night])
			open[line.Night] -= stays
		}
		if stays == line.Quantity {
			continue
		}
		p.ended = append(p.ended, line)
		back := line
		back.Quantity -= stays
		p.returned = append(p.returned, back)
		if stays > 0 {
			rest := line
			rest.Amount.Minor = money.Portion(line.Amount.Minor, stays, line.Quantity)
			rest.Quantity = stays
			p.split = append(p.split, rest)
		}
	}
	for night := later(m.Stay.CheckIn, m.From); night.Before(m.Stay.CheckOut); night = night.AddDays(1) {
		rooms := open[night]
		if rooms <= 0 {
			continue
		}
		if n := len(p.wants); n > 0 && p.wants[n-1].CheckOut == night && p.wants[n-1].Rooms == rooms {
			p.wants[n-1].CheckOut = night.AddDays(1)
			continue
		}
		want := m.Stay
		want.CheckIn, want.CheckOut, want.Rooms = night, night.AddDays(1), rooms
		p.wants = append(p.wants, want)
	}
	if len(p.ended) == 0 && len(p.wants) == 0 {
		return p, fault.Invalid("input", "the stay is already so: expected other dates, another room type or another number of rooms")
	}
	return p, nil
}

// keepCounts has each night that the stay has and keeps want as many rooms as it has.
func (m *Move) keepCounts(open map[civil.Date]int64) {
	has := map[civil.Date]int64{}
	for _, line := range m.Lines {
		has[line.Night] += line.Quantity
	}
	for night, rooms := range has {
		if _, wanted := open[night]; wanted {
			open[night] = rooms
		}
	}
}

// keepPrice gives new nights the price of those that they replace, in proportion to what they cost today.
func (p movePlan) keepPrice(claimed []HoldLine) {
	paid := int64(0)
	for _, line := range p.ended {
		paid += line.Amount.Minor
	}
	for _, line := range p.split {
		paid -= line.Amount.Minor
	}
	weights, units, priced := make([]int64, len(claimed)), make([]int64, len(claimed)), false
	for i, line := range claimed {
		weights[i], units[i] = line.Amount.Minor, line.Quantity
		priced = priced || line.Amount.Minor > 0
	}
	if !priced {
		weights = units
	}
	for i, share := range money.Apportion(paid, weights) {
		claimed[i].Amount.Minor, claimed[i].RatePlan = share, p.ended[0].RatePlan
	}
}

// judgeRules asks the rules of a hold about the stay as it is to be, and leaves out what they say about what
// stays as it was.
func (m *Move) judgeRules(whole claim, p movePlan, f facts) ([]RefusedLine, error) {
	if m.Actor.ChannelSuspended {
		return nil, Refuse(RefusalChannelSuspended, messageOf(RefusalChannelSuspended))
	}
	refused := m.Override.rest(refuseStay(0, judgeStay(m.Stay, f.stay(m.Stay))))
	wanted := map[civil.Date]bool{}
	for _, want := range p.wants {
		for night := want.CheckIn; night.Before(want.CheckOut); night = night.AddDays(1) {
			wanted[night] = true
		}
	}
	was := m.was()
	sameRoom := m.SameRoom || was.room == m.Stay.RoomType.UUID
	sameArrival := sameRoom && was.checkIn == m.Stay.CheckIn
	sameDeparture := sameRoom && was.checkOut == m.Stay.CheckOut
	refused = slices.DeleteFunc(refused, func(line RefusedLine) bool {
		switch code := line.Code; {
		case code == RefusalNoSuchNight || code == RefusalStopSell:
			return line.Night != nil && !wanted[*line.Night]
		case code == RefusalClosedToArrival, code == RefusalTooLateToBook, code == RefusalTooEarlyToBook:
			return sameArrival
		case code == RefusalRatePlanClosed:
			return len(p.wants) == 0
		case code == RefusalClosedToDeparture:
			return sameDeparture
		case slices.Contains(lengthRules(), code):
			return sameArrival && sameDeparture
		}
		return false
	})
	if len(p.wants) == 0 {
		return refused, nil
	}
	refused = append(refused, over(0, m.Stay.Rooms, f.terms.MaxQuantityPerHold)...)
	if m.Override == nil {
		refused = append(refused, whole.judgeOffers(m.Hold.Channel, f)...)
	}
	return refused, nil
}

// lengthRules are the rules about how long a stay is.
func lengthRules() []RefusalCode {
	return []RefusalCode{RefusalMinStayArrival, RefusalMaxStayArrival, RefusalMinStayThrough, RefusalMaxStayThrough, RefusalStayTooLong}
}

// batch is the claim of what is wanted, by the careful path.
func (m *Move) batch(p movePlan) (*batch, error) {
	wanted := claim{region: m.Hold.ID.Region}
	seller := m.Actor
	seller.Tenant, seller.Channel = m.Hold.Tenant, m.Hold.Channel
	for i := range p.wants {
		wanted.lines = append(wanted.lines, LineRequest{Stay: &p.wants[i]})
		wanted.rooms = []uuid.UUID{m.Stay.RoomType.UUID}
		wanted.unitRows += p.wants[i].nights()
	}
	if wanted.unitRows > maxHoldUnits {
		return nil, fault.Invalid("newCheckOut", "a change wants at most %d nights", maxHoldUnits)
	}
	b := newBatch([]wish{{actor: seller, buyer: m.Hold.Buyer, claim: wanted, hold: m.Hold.ID.UUID}}, func(facts) {})
	b.careful, b.due = true, m.Due
	return b, nil
}

// lockMove locks what is wanted, what is given back and what due holds have of it, in the one order; ends
// those holds, gives back what the stay leaves, and reads what is there then.
func (b *batch) lockMove(ctx context.Context, tx pgx.Tx, f *facts, p movePlan) (stock, error) {
	reaping, err := lockDue(ctx, tx, b.at, b.due)
	if err != nil {
		return stock{}, err
	}
	seats := gather(reaping.lines).seats
	for _, show := range seats {
		if _, err := lockSeatsOf(ctx, tx, b.at, []uuid.UUID{show.show}, map[uuid.UUID][]uuid.UUID{show.show: show.seats}); err != nil {
			return stock{}, err
		}
	}
	if err := b.lockCounters(ctx, tx, *f, gather(slices.Concat(reaping.lines, p.returned)), nil); err != nil {
		return stock{}, err
	}
	if _, err := lockPresale(ctx, tx, b.at, reaping.codes); err != nil {
		return stock{}, err
	}
	if err := reaping.reap(ctx, tx, b.at); err != nil {
		return stock{}, err
	}
	if err := gather(p.returned).apply(ctx, tx, b.at, unbook()); err != nil {
		return stock{}, err
	}
	s := stock{nights: map[nightKey]dbsqlc.NightCountersLockRow{}, houses: map[nightKey]dbsqlc.HouseCountersLockRow{}}
	if err := b.lockCounters(ctx, tx, *f, units{}, &s); err != nil {
		return stock{}, err
	}
	if err := b.fitAllotments(ctx, tx, *f, &s); err != nil {
		return stock{}, err
	}
	f.now, err = Now(ctx, tx)
	return s, err
}

// judgePhysical refuses nights that could be sold and not slept in.
func (s stock) judgePhysical(w wish, f facts) []RefusedLine {
	var refused []RefusedLine
	for i, line := range w.claim.lines {
		for night := line.Stay.CheckIn; night.Before(line.Stay.CheckOut); night = night.AddDays(1) {
			plan := f.nights[line.Stay.RoomType.UUID][night]
			free := plan.Physical - plan.OutOfOrder
			for key, row := range s.nights {
				if key.owner == line.Stay.RoomType.UUID && key.night == night {
					free -= row.Held + row.Booked
				}
			}
			if free = max(0, free); free < line.Stay.Rooms {
				refused = append(refused, RefusedLine{Line: i, Code: RefusalSoldOut, Night: &night, Available: &free})
			}
		}
	}
	return refused
}

// AddLinesTx stores lines that a change of a booking has claimed with the hold that was sold.
func AddLinesTx(ctx context.Context, tx pgx.Tx, hold Hold, change uuid.UUID, lines []HoldLine) error {
	if len(lines) == 0 {
		return nil
	}
	params := dbsqlc.HoldLinesInsertParams{TenantID: hold.Tenant.UUID, Region: string(hold.ID.Region)}
	hold.Lines = lines
	addLines(&params, hold)
	queries := dbsqlc.New(tx)
	stored, err := queries.HoldLinesInsert(ctx, params)
	if err != nil {
		return fmt.Errorf("store lines of hold %s: %w", hold.ID, err)
	}
	marked, err := queries.HoldLinesAdded(ctx, dbsqlc.HoldLinesAddedParams{
		TenantID: hold.Tenant.UUID, Region: string(hold.ID.Region), HoldID: hold.ID.UUID, Ordinals: params.Ordinals, AddedBy: change,
	})
	if err != nil {
		return fmt.Errorf("mark lines of hold %s: %w", hold.ID, err)
	}
	if stored != int64(len(lines)) || marked != stored {
		return fmt.Errorf("store lines of hold %s: %d and %d of %d", hold.ID, stored, marked, len(lines))
	}
	if _, err := queries.StayPriceRemove(ctx, dbsqlc.StayPriceRemoveParams{
		TenantID: hold.Tenant.UUID, Region: string(hold.ID.Region), HoldID: hold.ID.UUID, Item: lines[0].Item,
	}); err != nil {
		return fmt.Errorf("remove the price of a stay of hold %s: %w", hold.ID, err)
	}
	return nil
}
