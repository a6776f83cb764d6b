package inventory

import (
	"context"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// CalendarNight is one night of one room type, as a channel could sell it.
type CalendarNight struct {
	RoomType RoomTypeID
	Night    civil.Date
	// Available is how many rooms can be held, the house limit considered, as many as the terms show;
	// AvailableIsMore says that there are more.
	Available       int64
	AvailableIsMore bool
	// Price is of one room on this night, at the standard rate or at the rate plan that was asked for; nil
	// where there is none, and then the night is not sold so.
	Price *money.Amount
	// LowestPrice is what one room costs a party for this night alone, at the cheapest of the rates that the channel
	// sells and that are not closed on it; nil where there is none.
	LowestPrice *money.Amount
	// The restrictions are the room type's, and the rate plan's that was asked for: both speak.
	StopSell          bool
	ClosedToArrival   bool
	ClosedToDeparture bool
	MinStayArrival    *int64
	MaxStayArrival    *int64
	MinStayThrough    *int64
	MaxStayThrough    *int64
}

// Calendar is the nights of a property's room types, by night.
type Calendar struct {
	Nights []CalendarNight
	AsOf   time.Time
}

// CalendarQuestion is what a calendar shows.
type CalendarQuestion struct {
	RoomTypes []RoomTypeID
	// First and Last are nights, both included, at most MaxCalendarDays of them.
	First, Last civil.Date
	// RatePlan is the rate plan whose prices and restrictions are shown; nil is the standard rate.
	RatePlan *RatePlanID
	// Guests are the party in one room, for the lowest price; nil is the usual one.
	Guests *Guests
}

// Calendar reads nights of a property's room types. Nights without a plan are absent: they are not on sale.
func (s *Service) Calendar(ctx context.Context, actor tenants.Actor, property tenants.Property, q CalendarQuestion) (Calendar, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionAvailabilityRead, "property", property.ID.Region, property.ID.UUID); err != nil {
		return Calendar{}, err
	}
	switch {
	case !isDate(q.First):
		return Calendar{}, fault.Invalid("from", "expected a date such as 2027-03-14")
	case !isDate(q.Last) || q.Last.Before(q.First):
		return Calendar{}, fault.Invalid("to", "expected a date not before from %s, got %s", q.First, q.Last)
	case q.Last.DaysSince(q.First) >= MaxCalendarDays:
		return Calendar{}, fault.Invalid("to", "a calendar has at most %d days, this one has %d", MaxCalendarDays, q.Last.DaysSince(q.First)+1)
	}
	var party []Guests
	if q.Guests != nil {
		party = []Guests{*q.Guests}
	}
	if err := checkGuests("guests", party, 1); err != nil {
		return Calendar{}, err
	}
	// May be stale: a calendar is months of nights, and a claim asks their counters themselves.
	return db.InSnapshotAsOf(ctx, s.db, func(ctx context.Context, at db.Snapshot) (Calendar, error) {
		m := market{only: append([]RoomTypeID{}, q.RoomTypes...)}
		where := SearchWhere{Properties: []tenants.PropertyID{property.ID}}
		if err := m.read(ctx, at, actor, tenants.Whole(), where, SearchFilter{}, q.First, q.Last); err != nil {
			return Calendar{}, err
		}
		if len(m.hotels) != 1 {
			return Calendar{}, fault.NotFound("property")
		}
		return m.calendar(m.hotels[0], q, party)
	}, db.Stale(listStaleness))
}

// calendar makes the nights of one hotel from what was read.
func (m *market) calendar(hotel *marketHotel, q CalendarQuestion, party []Guests) (Calendar, error) {
	result := Calendar{AsOf: m.asOf}
	rates := make([][]rate, len(hotel.rooms))
	shown := 0
	for i, room := range hotel.rooms {
		rates[i] = hotel.rates(m, room)
	}
	if q.RatePlan != nil {
		for shown = 1; ; shown++ {
			if len(rates) == 0 || shown == len(rates[0]) {
				return Calendar{}, fault.NotFound("rate plan")
			}
			if *rates[0][shown].plan == *q.RatePlan {
				break
			}
		}
	}
	for night := q.First; !night.After(q.Last); night = night.AddDays(1) {
		for i, room := range hotel.rooms {
			if _, planned := room.nights[night]; planned {
				result.Nights = append(result.Nights, hotel.night(room, night, rates[i], shown, party))
			}
		}
	}
	return result, nil
}

// night is one night of a room type at all its rates, of which one is shown.
func (h *marketHotel) night(room *marketRoom, night civil.Date, rates []rate, shown int, party []Guests) CalendarNight {
	as := rates[shown].facts
	rules := room.nights[night].with(as.planNights[night])
	left := room.left[night]
	if house, limited := h.houseLeft[night]; limited {
		left = min(left, house)
	}
	n := CalendarNight{
		RoomType: room.id, Night: night, StopSell: rules.stopSell, ClosedToArrival: rules.closedToArrival, ClosedToDeparture: rules.closedToDeparture,
		MinStayArrival: rules.minStayArrival, MaxStayArrival: rules.maxStayArrival, MinStayThrough: rules.minStayThrough, MaxStayThrough: rules.maxStayThrough,
	}
	n.Available, n.AvailableIsMore = h.terms.remaining(left)
	if minor, ok := as.nightPrice(night); ok {
		n.Price = &money.Amount{Minor: minor, Currency: h.currency}
	}
	if room.nights[night].stopSell {
		return n
	}
	for _, rate := range rates {
		stay := StayRequest{RoomType: room.id, RatePlan: rate.plan, CheckIn: night, CheckOut: night.AddDays(1), Rooms: 1, Guests: party}
		if !rate.sold || rate.facts.planNights[night].stopSell || len(party) > 0 && party[0].Count() > room.maxGuests {
			continue
		}
		if minor, ok := rate.price(stay); ok && (n.LowestPrice == nil || minor < n.LowestPrice.Minor) {
			n.LowestPrice = &money.Amount{Minor: minor, Currency: h.currency}
		}
	}
	return n
}

// with are the rules of a night when other rules speak besides.
func (r nightRules) with(other nightRules) nightRules {
	r.stopSell = r.stopSell || other.stopSell
	r.closedToArrival = r.closedToArrival || other.closedToArrival
	r.closedToDeparture = r.closedToDeparture || other.closedToDeparture
	r.minStayArrival, r.minStayThrough = stricter(r.minStayArrival, other.minStayArrival, 1), stricter(r.minStayThrough, other.minStayThrough, 1)
	r.maxStayArrival, r.maxStayThrough = stricter(r.maxStayArrival, other.maxStayArrival, -1), stricter(r.maxStayThrough, other.maxStayThrough, -1)
	return r
}

// stricter is the larger of two bounds, or with a negative sign the smaller one; nil is no bound.
func stricter(a, b *int64, sign int64) *int64 {
	if a == nil || b != nil && *b*sign > *a*sign {
		return b
	}
	return a
}
