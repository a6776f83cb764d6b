package bookings

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

const (
	// maxConcerned bounds the bookings of a night for which there are proposals.
	maxConcerned = 200
	// maxOptions bounds the proposals for one stay.
	maxOptions = 10
)

// Compensation is what a hotel spends on a stay for which it has no room: Cost is the sum of its parts.
type Compensation struct {
	// Property and RoomType are where there was no room on Night.
	Property tenants.PropertyID
	RoomType inventory.RoomTypeID
	Night    civil.Date
	// To is where the guests sleep instead; nil when they were walked.
	To *inventory.RoomTypeID
	// Nights and Rooms are how much of the stay is affected.
	Nights, Rooms int64
	// RateDifference is by how much the other rooms cost more today than the guests pay.
	RateDifference money.Amount
	// Lodging, Goodwill and Transport are those of the walk terms, for all rooms and nights.
	Lodging, Goodwill, Transport money.Amount
	Cost                         money.Amount
	// Refunded goes back to the guests besides: what they had paid for nights that they do not get.
	Refunded money.Amount
}

// Proposal is one way out for one stay, with its place in the order of all.
type Proposal struct {
	Kind    ChangeKind
	Booking Booking
	Item    int64
	Compensation
	// RoomName and HotelName are where the guests would sleep; "" for a walk.
	RoomName, HotelName string
	// StayNights is how long the whole stay is.
	StayNights int64
	// Reason says in words why it is proposed.
	Reason string
}

// Overbooked is a room type with more rooms booked on a night than can be slept in.
type Overbooked struct {
	RoomType inventory.RoomTypeID
	Name     string
	// Usable rooms can be slept in, Booked are sold, and Short is by how many they are more.
	Usable, Booked, Short int64
}

// Proposals are what can be done about a night.
type Proposals struct {
	Overbooked []Overbooked
	// Proposals are the ways out, the best first.
	Proposals []Proposal
}

// CompensationProposals says what can be done where more rooms of a property are booked on a night than can
// be slept in: for each stay on that night an upgrade within the house, a move to a sister hotel of the same
// city, or a walk by the hotel's terms; by cost, then by the nights affected, by the length of the stay, and
// the last booker first. Guests who came before the night stay in the house.
func (s *Service) CompensationProposals(ctx context.Context, actor tenants.Actor, property tenants.Property, night civil.Date) (Proposals, error) {
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionCompensationRead, "property", property.ID.Region, property.ID.UUID); err != nil {
		return Proposals{}, err
	}
	if !night.IsValid() {
		return Proposals{}, fault.Invalid("night", "expected a date such as 2027-03-14")
	}
	return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (Proposals, error) {
		return proposalsTx(ctx, tx, actor.Tenant, property.ID, night, nil)
	})
}

// situation is a property and its neighbours around a night.
type situation struct {
	tenant   tenants.TenantID
	property tenants.PropertyID
	night    civil.Date
	nearby   []inventory.NearbyRoom
	nights   map[uuid.UUID]map[civil.Date]inventory.RoomNight
	// walk is nil when nobody has said what a walk costs.
	walk *WalkTerms
}

// proposalsTx reckons the proposals of a night, of one booking or, with nil, of all.
func proposalsTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, property tenants.PropertyID, night civil.Date, only *Booking) (Proposals, error) {
	at := situation{tenant: tenant, property: property, night: night}
	var err error
	if at.nearby, err = inventory.NearbyRooms(ctx, tx, tenant, property); err != nil {
		return Proposals{}, err
	}
	house := at.house()
	if at.nights, err = inventory.RoomNights(ctx, tx, tenant, property.Region, house, night, night); err != nil {
		return Proposals{}, err
	}
	found := Proposals{Overbooked: at.overbooked()}
	short := make([]uuid.UUID, len(found.Overbooked))
	for i, room := range found.Overbooked {
		short[i] = room.RoomType.UUID
	}
	if len(short) == 0 {
		return found, nil
	}
	concerned := []Booking{}
	if only != nil {
		concerned = append(concerned, *only)
	} else if concerned, err = concernedTx(ctx, tx, tenant, property, short, night); err != nil {
		return Proposals{}, err
	}
	last := lastNightOf(concerned, night)
	all := make([]uuid.UUID, len(at.nearby))
	for i, room := range at.nearby {
		all[i] = room.RoomType.UUID
	}
	if at.nights, err = inventory.RoomNights(ctx, tx, tenant, property.Region, all, night, last); err != nil {
		return Proposals{}, err
	}
	if at.walk, err = walkTermsTx(ctx, tx, tenant, property); err != nil {
		return Proposals{}, err
	}
	for _, booking := range concerned {
		found.Proposals = append(found.Proposals, at.of(booking, short)...)
	}
	slices.SortStableFunc(found.Proposals, byRank)
	return found, nil
}

// byRank is the order of proposals.
func byRank(a, b Proposal) int {
	return cmp.Or(
		cmp.Compare(a.Cost.Minor, b.Cost.Minor), cmp.Compare(a.Nights*a.Rooms, b.Nights*b.Rooms), cmp.Compare(a.StayNights, b.StayNights),
		b.Booking.BookedAt.Compare(a.Booking.BookedAt), slices.Compare(a.Booking.ID.UUID[:], b.Booking.ID.UUID[:]), cmp.Compare(a.Item, b.Item),
		cmp.Compare(a.RoomName, b.RoomName),
	)
}

// house are the property's own room types.
func (at situation) house() []uuid.UUID {
	var rooms []uuid.UUID
	for _, room := range at.nearby {
		if room.Property == at.property {
			rooms = append(rooms, room.RoomType.UUID)
		}
	}
	return rooms
}

func (at situation) overbooked() []Overbooked {
	var found []Overbooked
	for _, room := range at.nearby {
		if night, ok := at.nights[room.RoomType.UUID][at.night]; ok && room.Property == at.property && night.Short() > 0 {
			found = append(found, Overbooked{RoomType: room.RoomType, Name: room.Name, Usable: night.Usable, Booked: night.Booked, Short: night.Short()})
		}
	}
	return found
}

// concernedTx are the bookings with rooms of these types on the night, the last booker first.
func concernedTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, property tenants.PropertyID, rooms []uuid.UUID, night civil.Date) ([]Booking, error) {
	rows, err := dbsqlc.New(tx).BookingsOfNight(ctx, dbsqlc.BookingsOfNightParams{
		TenantID: tenant.UUID, Region: string(property.Region), RoomTypeIds: rooms, Night: night,
		BeforeTime: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), MaxRows: maxConcerned,
	})
	if err != nil {
		return nil, fmt.Errorf("list the bookings of a night: %w", err)
	}
	found := make([]Booking, len(rows))
	for i, row := range rows {
		if found[i], err = bookingOf(tenant, dbsqlc.BookingGetRow(row)); err != nil {
			return nil, err
		}
	}
	return found, withLines(ctx, tx, found)
}

func lastNightOf(concerned []Booking, night civil.Date) civil.Date {
	last := night
	for _, booking := range concerned {
		for _, line := range booking.Lines {
			if line.Kind == inventory.LineKindNight && line.State == LineStateBooked && line.Night.After(last) {
				last = line.Night
			}
		}
	}
	return last
}

// of are the ways out for the stays of a booking that have a room of these types on the night.
func (at situation) of(booking Booking, short []uuid.UUID) []Proposal {
	var items []int64
	for _, line := range booking.Lines {
		if line.Kind == inventory.LineKindNight && line.State == LineStateBooked && line.Night == at.night && slices.Contains(short, line.RoomType.UUID) && !slices.Contains(items, line.Item) {
			items = append(items, line.Item)
		}
	}
	var found []Proposal
	for _, item := range items {
		options := at.ofStay(booking, item)
		slices.SortStableFunc(options, byRank)
		found = append(found, options[:min(len(options), maxOptions)]...)
	}
	return found
}

func (at situation) ofStay(booking Booking, item int64) []Proposal {
	rest, err := at.rest(booking, item)
	if err != nil {
		return nil
	}
	var from inventory.NearbyRoom
	for _, room := range at.nearby {
		if room.RoomType == rest.room {
			from = room
		}
	}
	var found []Proposal
	for _, room := range at.nearby {
		if p, ok := at.moveTo(booking, rest, from, room); ok {
			found = append(found, p)
		}
	}
	if p, ok := at.walkOut(booking, rest); ok {
		found = append(found, p)
	}
	return found
}

// rest is what a stay has from the night on.
type rest struct {
	bookedStay
	// nights are the lines from the night on, paid what they cost, most the rooms of one night.
	nights     []inventory.HoldLine
	paid, most int64
	stayNights int64
}

// rest refuses a stay that has no room of the property on the night.
func (at situation) rest(booking Booking, item int64) (rest, error) {
	stay, err := soldStayOf(booking, item)
	if err != nil {
		return rest{}, err
	}
	r := rest{bookedStay: stay, stayNights: int64(stay.checkOut.DaysSince(stay.checkIn))}
	here := false
	rooms := map[civil.Date]int64{}
	for _, line := range stay.lines {
		if line.Night.Before(at.night) {
			continue
		}
		if line.Night == at.night && line.Property == at.property {
			here, r.room = true, line.RoomType
		}
		r.nights = append(r.nights, line)
		r.paid += line.Amount.Minor
		rooms[line.Night] += line.Quantity
		r.most = max(r.most, rooms[line.Night])
	}
	if !here {
		return rest{}, inventory.Refuse(inventory.RefusalProposalStale, "the stay has no room of the hotel on the night")
	}
	return r, nil
}

// moveTo is a room type for all the rest of a stay, if there is room on each of its nights.
func (at situation) moveTo(booking Booking, rest rest, from, to inventory.NearbyRoom) (Proposal, bool) {
	if to.RoomType == rest.room || to.MaxGuests < from.MaxGuests {
		return Proposal{}, false
	}
	kind := ChangeKindUpgrade
	if to.Property != at.property {
		kind = ChangeKindSisterHotel
		if rest.checkIn.Before(at.night) {
			return Proposal{}, false
		}
	}
	rooms := map[civil.Date]int64{}
	for _, line := range rest.nights {
		rooms[line.Night] += line.Quantity
	}
	price := int64(0)
	for night, n := range rooms {
		stands, ok := at.nights[to.RoomType.UUID][night]
		if !ok || !stands.Room(n) {
			return Proposal{}, false
		}
		price += *stands.RateMinor * n
	}
	p := at.proposal(kind, booking, rest)
	p.To, p.Nights, p.RoomName = &to.RoomType, int64(len(rooms)), to.Name
	p.RateDifference.Minor = max(0, price-rest.paid)
	p.Reason = fmt.Sprintf("%s has room on each of the %d nights", to.Name, p.Nights)
	if kind == ChangeKindSisterHotel {
		p.HotelName = to.PropertyName
		p.Reason = fmt.Sprintf("%s of %s has room on each of the %d nights", to.Name, to.PropertyName, p.Nights)
		if at.walk != nil {
			p.Transport.Minor = at.walk.Transport.Minor * rest.most
		}
	}
	p.sum()
	return p, true
}

// walkOut sends guests who arrive elsewhere for as long as the house is full.
func (at situation) walkOut(booking Booking, rest rest) (Proposal, bool) {
	if at.walk == nil || rest.checkIn.Before(at.night) {
		return Proposal{}, false
	}
	p := at.proposal(ChangeKindWalk, booking, rest)
	roomNights := int64(0)
	for _, line := range at.walked(rest) {
		roomNights += line.Quantity
	}
	p.Nights = int64(len(nightsOf(at.walked(rest))))
	p.Lodging.Minor = at.walk.Night.Minor * roomNights
	p.Goodwill.Minor, p.Transport.Minor = at.walk.Goodwill.Minor*rest.most, at.walk.Transport.Minor*rest.most
	p.Reason = fmt.Sprintf("the guests sleep elsewhere for %d of %d nights", p.Nights, rest.stayNights)
	p.sum()
	return p, true
}

// walked are the lines of the nights in a row, from the night on, on which the stay's room type is short.
func (at situation) walked(rest rest) []inventory.HoldLine {
	var lines []inventory.HoldLine
	for night := at.night; ; night = night.AddDays(1) {
		n := len(lines)
		for _, line := range rest.nights {
			if line.Night == night && at.nights[line.RoomType.UUID][night].Short() > 0 {
				lines = append(lines, line)
			}
		}
		if len(lines) == n {
			return lines
		}
	}
}

func nightsOf(lines []inventory.HoldLine) map[civil.Date]bool {
	nights := map[civil.Date]bool{}
	for _, line := range lines {
		nights[line.Night] = true
	}
	return nights
}

func (at situation) proposal(kind ChangeKind, booking Booking, rest rest) Proposal {
	none := money.Amount{Currency: booking.Total.Currency}
	return Proposal{
		Kind: kind, Booking: booking, Item: rest.item, StayNights: rest.stayNights,
		Compensation: Compensation{
			Property: at.property, RoomType: rest.room, Night: at.night, Rooms: rest.most,
			RateDifference: none, Lodging: none, Goodwill: none, Transport: none, Cost: none, Refunded: none,
		},
	}
}

func (p *Proposal) sum() {
	p.Cost.Minor = p.RateDifference.Minor + p.Lodging.Minor + p.Goodwill.Minor + p.Transport.Minor
}

// compensationOf is a stored compensation.
func compensationOf(booking Booking, row dbsqlc.StayChangesOfBookingRow) *Compensation {
	amount := func(minor *int64) money.Amount {
		return money.Amount{Minor: deref(minor), Currency: booking.Total.Currency}
	}
	c := &Compensation{
		Property: tenants.PropertyID{Region: booking.ID.Region, UUID: *row.PropertyID}, RoomType: inventory.RoomTypeID{Region: booking.ID.Region, UUID: *row.RoomTypeID},
		Night: *row.Night, Nights: deref(row.Nights), Rooms: deref(row.Rooms), RateDifference: amount(row.RateDifferenceMinor), Lodging: amount(row.LodgingMinor),
		Goodwill: amount(row.GoodwillMinor), Transport: amount(row.TransportMinor), Cost: amount(row.CostMinor), Refunded: amount(row.GivenMinor),
	}
	if row.ToRoomTypeID != nil {
		c.To = &inventory.RoomTypeID{Region: booking.ID.Region, UUID: *row.ToRoomTypeID}
	}
	return c
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
