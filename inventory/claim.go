package inventory

import (
	"cmp"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
)

// PlaceHold asks for a whole set of units, or nothing.
type PlaceHold struct {
	// RequestKey makes the command safe to repeat: the same key and content is answered with the
	// same hold and the same deadline.
	RequestKey string
	Lines      []LineRequest
	// ExpectedTotal is the price that the buyer was shown; nil accepts the present one.
	ExpectedTotal *money.Amount
	// PresaleCode lets the buyer in before the sale of the hold's one show opens, and takes one of the
	// code's uses; "" is none.
	PresaleCode string `json:",omitempty"`
	// Grant is an admission from the waiting room of one of the hold's shows, nil for none. It is no part
	// of what the request key stands for: the same request again needs no second grant.
	Grant *GrantID `json:"-"`
	// Override holds nights against their restrictions; nil is the rule.
	Override *Override `json:",omitempty"`
	// OverrideBlock is the reason for which staff hold seats of blocks that are not their channel's; "" is
	// not to. It takes a permission of its own, and never gives a seat that somebody has.
	OverrideBlock string `json:",omitempty"`
}

// LineRequest is one wish of the buyer. Exactly one field is set. All lines of a hold lie in one
// region of one tenant and have one currency; otherwise they may be of any kind.
type LineRequest struct {
	Seats *SeatsRequest
	Pool  *PoolRequest
	Stay  *StayRequest
	// Best has seats chosen; see BestRequest.
	Best *BestRequest `json:",omitempty"`

	// choice is what was offered for Best; then Seats has all of it, until one set is taken.
	choice *choice
}

// SeatsRequest asks for exactly these seats of a show.
type SeatsRequest struct {
	Show  ShowID
	Seats []SeatID
}

// PoolRequest asks for a quantity of a general-admission pool.
type PoolRequest struct {
	Pool     PoolID
	Quantity int64
}

// StayRequest asks for rooms of a type on every night of [CheckIn, CheckOut), hotel-local dates.
type StayRequest struct {
	RoomType RoomTypeID
	CheckIn  civil.Date
	CheckOut civil.Date
	Rooms    int64
	// RatePlan is what the rooms are sold as; nil is the standard rate.
	RatePlan *RatePlanID `json:",omitempty"`
	// Guests are who comes: one entry for each room, one for all rooms, or none where nobody says. Then the
	// price is that of the base occupancy.
	Guests []Guests `json:",omitempty"`
}

// nights is how many nights the stay occupies; the check-out date consumes none.
func (s StayRequest) nights() int { return s.CheckOut.DaysSince(s.CheckIn) }

// lastNight is the last night occupied.
func (s StayRequest) lastNight() civil.Date { return s.CheckOut.AddDays(-1) }

// claim is a request whose form is sound, sorted by what it touches.
type claim struct {
	region        ids.Region
	lines         []LineRequest
	expectedTotal *money.Amount
	// presaleCode is normal, "" for none.
	presaleCode string
	// grant is the admission that the hold uses, nil for none.
	grant    *uuid.UUID
	override *Override
	// overrideBlock is why blocks of others do not matter, "" when they do.
	overrideBlock string
	// unitRows counts the seats, pools and nights named.
	unitRows int
	// shows, pools, rooms are the distinct ids named, sorted.
	shows []uuid.UUID
	pools []uuid.UUID
	rooms []uuid.UUID
	// channels are those through which the claim sells, as far as it matters what they may sell.
	channels []uuid.UUID
}

// stay is the nights of one room type that a line wants.
type stay struct {
	room              uuid.UUID
	checkIn, checkOut civil.Date
}

// lastNight is the last night occupied.
func (s stay) lastNight() civil.Date { return s.checkOut.AddDays(-1) }

// stays are the distinct stays of the claim, by room type and arrival: in this order each night is met
// after all that are locked before it.
func (c claim) stays() []stay {
	var stays []stay
	for _, line := range c.lines {
		if line.Stay != nil {
			stays = append(stays, stay{room: line.Stay.RoomType.UUID, checkIn: line.Stay.CheckIn, checkOut: line.Stay.CheckOut})
		}
	}
	slices.SortFunc(stays, func(a, b stay) int {
		return cmp.Or(compareUUID(a.room, b.room), a.checkIn.Compare(b.checkIn), a.checkOut.Compare(b.checkOut))
	})
	return slices.Compact(stays)
}

// Validate checks the form of a request: everything that can be said without the database.
func (p PlaceHold) Validate() error {
	_, err := p.claim()
	return err
}

func (p PlaceHold) claim() (claim, error) {
	if err := request.ValidateKey(p.RequestKey); err != nil {
		return claim{}, err
	}
	if len(p.Lines) < 1 || len(p.Lines) > maxLines {
		return claim{}, fault.Invalid("lines", "expected 1 to %d lines, got %d", maxLines, len(p.Lines))
	}
	if p.ExpectedTotal != nil && (p.ExpectedTotal.Minor < 0 || p.ExpectedTotal.Minor > money.MaxMinor) {
		return claim{}, fault.Invalid("expectedTotal.amountMinor", "expected 0 to %d, got %d", money.MaxMinor, p.ExpectedTotal.Minor)
	}
	c := claim{lines: p.Lines, expectedTotal: p.ExpectedTotal, presaleCode: normalCode(p.PresaleCode), override: p.Override, overrideBlock: p.OverrideBlock}
	if p.OverrideBlock != "" {
		if err := checkText("overrideBlock.reason", p.OverrideBlock, maxBlockReason); err != nil {
			return claim{}, err
		}
	}
	if p.PresaleCode != "" {
		if err := checkCode("presaleCode", c.presaleCode); err != nil {
			return claim{}, err
		}
	}
	seen := seenUnits{seats: map[[2]uuid.UUID]string{}, pools: map[uuid.UUID]string{}, stays: map[uuid.UUID][]seenStay{}}
	for i, line := range p.Lines {
		field := fmt.Sprintf("lines[%d]", i)
		rows, err := c.add(field, line, &seen)
		if err != nil {
			return claim{}, err
		}
		if c.unitRows += rows; c.unitRows > maxHoldUnits {
			return claim{}, fault.Invalid(field, "the hold names more than %d seats, pools and nights", maxHoldUnits)
		}
	}
	for _, list := range []*[]uuid.UUID{&c.shows, &c.pools, &c.rooms} {
		slices.SortFunc(*list, compareUUID)
		*list = slices.Compact(*list)
	}
	return c, c.addGrant(p.Grant)
}

type seenUnits struct {
	seats map[[2]uuid.UUID]string
	pools map[uuid.UUID]string
	stays map[uuid.UUID][]seenStay
}

type seenStay struct {
	stay  StayRequest
	field string
}

func (c *claim) add(field string, line LineRequest, seen *seenUnits) (rows int, err error) {
	named := 0
	for _, set := range []bool{line.Seats != nil, line.Pool != nil, line.Stay != nil, line.Best != nil} {
		if set {
			named++
		}
	}
	if named != 1 {
		return 0, fault.Invalid(field, "expected exactly one of seats, pool, stay, bestAvailable")
	}
	switch {
	case line.Seats != nil:
		return len(line.Seats.Seats), c.addSeats(field+".seats", *line.Seats, seen)
	case line.Pool != nil:
		return 1, c.addPool(field+".pool", *line.Pool, seen)
	case line.Best != nil:
		return int(line.Best.Quantity), c.addBest(field+".bestAvailable", *line.Best)
	default:
		return line.Stay.nights(), c.addStay(field+".stay", *line.Stay, seen)
	}
}

func (c *claim) addSeats(field string, seats SeatsRequest, seen *seenUnits) error {
	if err := c.inRegion(field+".show", seats.Show.Region); err != nil {
		return err
	}
	if len(seats.Seats) < 1 {
		return fault.Invalid(field+".seats", "expected at least one seat")
	}
	for i, seat := range seats.Seats {
		at := fmt.Sprintf("%s.seats[%d]", field, i)
		if seat.Region != seats.Show.Region {
			return fault.Invalid(at, "the seat is of another region than its show")
		}
		key := [2]uuid.UUID{seats.Show.UUID, seat.UUID}
		if first, twice := seen.seats[key]; twice {
			return fault.Invalid(at, "the same seat is named at %s", first)
		}
		seen.seats[key] = at
	}
	c.shows = append(c.shows, seats.Show.UUID)
	return nil
}

func (c *claim) addPool(field string, pool PoolRequest, seen *seenUnits) error {
	if err := c.inRegion(field+".pool", pool.Pool.Region); err != nil {
		return err
	}
	if pool.Quantity < 1 || pool.Quantity > maxPoolQuantity {
		return fault.Invalid(field+".quantity", "expected 1 to %d, got %d", maxPoolQuantity, pool.Quantity)
	}
	if first, twice := seen.pools[pool.Pool.UUID]; twice {
		return fault.Invalid(field+".pool", "the same pool is named at %s; ask for the sum in one line", first)
	}
	seen.pools[pool.Pool.UUID] = field
	c.pools = append(c.pools, pool.Pool.UUID)
	return nil
}

func (c *claim) addStay(field string, stay StayRequest, seen *seenUnits) error {
	if err := c.inRegion(field+".roomType", stay.RoomType.Region); err != nil {
		return err
	}
	if !isDate(stay.CheckIn) {
		return fault.Invalid(field+".checkIn", "expected a date such as 2027-03-14")
	}
	if !isDate(stay.CheckOut) {
		return fault.Invalid(field+".checkOut", "expected a date such as 2027-03-17")
	}
	if !stay.CheckOut.After(stay.CheckIn) {
		return fault.Invalid(field+".checkOut", "expected a date after checkIn %s, got %s", stay.CheckIn, stay.CheckOut)
	}
	if stay.nights() > maxStayDays {
		return fault.Invalid(field+".checkOut", "a stay has at most %d nights, this one has %d", maxStayDays, stay.nights())
	}
	if stay.Rooms < 1 || stay.Rooms > maxRooms {
		return fault.Invalid(field+".rooms", "expected 1 to %d, got %d", maxRooms, stay.Rooms)
	}
	if stay.RatePlan != nil {
		if err := c.inRegion(field+".ratePlan", stay.RatePlan.Region); err != nil {
			return err
		}
	}
	if err := checkGuests(field+".guests", stay.Guests, stay.Rooms); err != nil {
		return err
	}
	for _, other := range seen.stays[stay.RoomType.UUID] {
		if stay.CheckIn.Before(other.stay.CheckOut) && other.stay.CheckIn.Before(stay.CheckOut) {
			return fault.Invalid(field, "it shares nights of the same room type with %s; ask for the rooms in one line", other.field)
		}
	}
	seen.stays[stay.RoomType.UUID] = append(seen.stays[stay.RoomType.UUID], seenStay{stay: stay, field: field})
	c.rooms = append(c.rooms, stay.RoomType.UUID)
	return nil
}

// isDate reports whether a date exists and has a year that every engine can store.
func isDate(date civil.Date) bool { return date.IsValid() && date.Year >= 1 && date.Year <= 9999 }

func (c *claim) inRegion(field string, region ids.Region) error {
	if c.region == "" {
		c.region = region
	}
	if region != c.region {
		return fault.Invalid(field, "a hold lies in one region; this is in %q, the first line in %q", region, c.region)
	}
	return nil
}
