package inventory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// StaySearch is what somebody who looks for a stay wants.
type StaySearch struct {
	Where SearchWhere
	// CheckIn and CheckOut are the dates, or Month is any day of arrival in a month.
	CheckIn  civil.Date
	CheckOut civil.Date
	Month    *SearchMonth
	// FlexibleDays is how many days earlier or later the stay may begin.
	FlexibleDays int64
	// NearbyDays is how many days before and after other arrivals are looked for where a hotel has nothing.
	NearbyDays int64
	Rooms      int64
	Guests     []Guests
	Sort       SearchSort
	Filter     SearchFilter
}

// SearchWhere says which hotels; the zero value is all of the tenant. At most one of City, Properties and
// Circle is set.
type SearchWhere struct {
	City, Country string
	Properties    []tenants.PropertyID
	Circle        *SearchCircle
}

// SearchCircle is everything within a distance of a point, in kilometres.
type SearchCircle struct {
	Centre     tenants.Point
	Kilometres int64
}

// SearchMonth is any stay of so many nights that begins in a month.
type SearchMonth struct {
	Year, Month, Nights int64
}

// SearchFilter says which offers are wanted.
type SearchFilter struct {
	MaxTotal   *money.Amount
	MinStars   *int64
	Amenities  []string
	Refundable bool
}

// SearchSort is what hotels are ordered by.
type SearchSort string

// The orders.
const (
	SearchSortPrice    SearchSort = "PRICE"
	SearchSortStars    SearchSort = "STARS"
	SearchSortName     SearchSort = "NAME"
	SearchSortDistance SearchSort = "DISTANCE"
)

// FoundStays is a page of what was found, and what was left out.
type FoundStays struct {
	AsOf time.Time
	// HotelCount is how many hotels were looked at, OfferCount how many of them have an offer.
	HotelCount, OfferCount int
	LeftOut                []LeftOut
	Hotels                 []HotelStays
	More                   bool
}

// HotelStays is what a hotel offers.
type HotelStays struct {
	Property tenants.PropertyID
	// Metres is the distance from the point that was asked for; nil without one.
	Metres *int64
	// Offers are the cheapest of each room type, the cheapest first.
	Offers []StayOffer
	// Alternatives are the cheapest of the nearest other arrivals, where there is no offer.
	Alternatives []StayOffer

	rank SearchCursor
}

// Cursor is where the page after this hotel begins.
func (h HotelStays) Cursor() SearchCursor { return h.rank }

// StayOffer is a stay that could be held when it was read.
type StayOffer struct {
	RoomType   RoomTypeID
	RatePlan   *RatePlanID
	CheckIn    civil.Date
	CheckOut   civil.Date
	Total      money.Amount
	Refundable bool
	// Remaining is how many rooms are left on each night, as many as the terms show; RemainingIsMore says
	// that there are more.
	Remaining       int64
	RemainingIsMore bool
}

// LeftOut is a reason, and how many rates of room types it kept out.
type LeftOut struct {
	Code  RefusalCode
	Rates int
}

// SearchCursor is the rank of a hotel in a search.
type SearchCursor struct {
	// Full hotels come last.
	Full     bool
	Text     string
	Number   int64
	Property uuid.UUID
}

func (c SearchCursor) compare(other SearchCursor) int {
	full := 0
	switch {
	case c.Full && !other.Full:
		full = 1
	case !c.Full && other.Full:
		full = -1
	}
	return cmp.Or(full, strings.Compare(c.Text, other.Text), cmp.Compare(c.Number, other.Number), compareUUID(c.Property, other.Property))
}

// SearchStays looks for stays over hotels, by the rules and prices of a hold. What it returns may be a few
// seconds old, where the process allows that.
func (s *Service) SearchStays(ctx context.Context, actor tenants.Actor, search StaySearch, after *SearchCursor, limit int) (FoundStays, error) {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionAvailabilityRead, actor.Tenant))
	if err != nil {
		return FoundStays{}, err
	}
	if err := search.validate(); err != nil {
		return FoundStays{}, err
	}
	if limit < 1 || limit > MaxPage {
		return FoundStays{}, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	return db.InSnapshotAsOf(ctx, s.db, func(ctx context.Context, at db.Snapshot) (FoundStays, error) {
		first, last := search.span()
		var m market
		if err := m.read(ctx, at, actor, reach, search.Where, search.Filter, first, last); err != nil {
			return FoundStays{}, err
		}
		return m.find(search, after, limit), nil
	}, db.Stale(listStaleness))
}

// validate says what is wrong with the form of a search.
func (s StaySearch) validate() error {
	if err := s.validateDates(); err != nil {
		return err
	}
	if s.Rooms < 1 || s.Rooms > maxRooms {
		return fault.Invalid("rooms", "expected 1 to %d, got %d", maxRooms, s.Rooms)
	}
	if err := checkGuests("guests", s.Guests, s.Rooms); err != nil {
		return err
	}
	if err := s.Where.validate(); err != nil {
		return err
	}
	switch s.Sort {
	case SearchSortPrice, SearchSortStars, SearchSortName:
	case SearchSortDistance:
		if s.Where.Circle == nil {
			return fault.Invalid("sort", "DISTANCE takes a circle")
		}
	default:
		return fault.Invalid("sort", "expected PRICE, STARS, NAME or DISTANCE")
	}
	if most := s.Filter.MaxTotal; most != nil && (most.Minor < 0 || most.Minor > money.MaxMinor) {
		return fault.Invalid("filter.maxTotal.amountMinor", "expected 0 to %d, got %d", money.MaxMinor, most.Minor)
	}
	if stars := s.Filter.MinStars; stars != nil && (*stars < 1 || *stars > 5) {
		return fault.Invalid("filter.minStars", "expected 1 to 5, got %d", *stars)
	}
	return nil
}

func (s StaySearch) validateDates() error {
	for _, bound := range []struct {
		field string
		value int64
	}{{"flexibleDays", s.FlexibleDays}, {"nearbyDays", s.NearbyDays}} {
		if bound.value < 0 || bound.value > maxShiftDays {
			return fault.Invalid(bound.field, "expected 0 to %d, got %d", maxShiftDays, bound.value)
		}
	}
	if m := s.Month; m != nil {
		switch {
		case s.CheckIn != civil.Date{} || s.CheckOut != civil.Date{}:
			return fault.Invalid("month", "expected checkIn with checkOut, or month, not both")
		case s.FlexibleDays != 0:
			return fault.Invalid("flexibleDays", "a month has no flexible days: each of its days is asked for")
		case m.Year < 2000 || m.Year > 2199:
			return fault.Invalid("month.year", "expected 2000 to 2199, got %d", m.Year)
		case m.Month < 1 || m.Month > 12:
			return fault.Invalid("month.month", "expected 1 to 12, got %d", m.Month)
		case m.Nights < 1 || m.Nights > maxMonthNights:
			return fault.Invalid("month.nights", "expected 1 to %d, got %d", maxMonthNights, m.Nights)
		}
		return nil
	}
	switch {
	case !s.CheckIn.IsValid() || s.CheckIn.Year < 2000 || s.CheckIn.Year > 2199:
		return fault.Invalid("checkIn", "expected a date such as 2027-03-14, or month")
	case !s.CheckOut.IsValid() || !s.CheckOut.After(s.CheckIn):
		return fault.Invalid("checkOut", "expected a date after checkIn %s", s.CheckIn)
	case s.CheckOut.DaysSince(s.CheckIn) > maxStayDays:
		return fault.Invalid("checkOut", "a stay has at most %d nights, this one has %d", maxStayDays, s.CheckOut.DaysSince(s.CheckIn))
	}
	return nil
}

func (w SearchWhere) validate() error {
	named := 0
	for _, is := range []bool{w.City != "" || w.Country != "", w.Properties != nil, w.Circle != nil} {
		if is {
			named++
		}
	}
	switch {
	case named > 1:
		return fault.Invalid("where", "expected at most one of city with country, properties and circle")
	case (w.City == "") != (w.Country == ""):
		return fault.Invalid("where.city", "expected a city with its country")
	case utf8.RuneCountInString(w.City) > 100:
		return fault.Invalid("where.city", "expected a city of at most 100 characters")
	case w.Country != "" && len(w.Country) != 2:
		return fault.Invalid("where.country", "expected an ISO 3166 country code of two letters, such as \"AT\"")
	case w.Properties != nil && (len(w.Properties) < 1 || len(w.Properties) > MaxSearchHotels):
		return fault.Invalid("where.properties", "expected 1 to %d hotels, got %d", MaxSearchHotels, len(w.Properties))
	}
	if c := w.Circle; c != nil {
		switch {
		case c.Centre.LatitudeE6 < -90_000_000 || c.Centre.LatitudeE6 > 90_000_000:
			return fault.Invalid("where.circle.latitude", "expected -90 to 90")
		case c.Centre.LongitudeE6 < -180_000_000 || c.Centre.LongitudeE6 > 180_000_000:
			return fault.Invalid("where.circle.longitude", "expected -180 to 180")
		case c.Kilometres < 1 || c.Kilometres > maxCircleKilometres:
			return fault.Invalid("where.circle.kilometres", "expected 1 to %d, got %d", maxCircleKilometres, c.Kilometres)
		}
	}
	return nil
}

// wanted are the stays that would do, as days of arrival with a number of nights.
func (s StaySearch) wanted() (arrivals []civil.Date, nights int) {
	if m := s.Month; m != nil {
		first := civil.Date{Year: int(m.Year), Month: time.Month(m.Month), Day: 1}
		for day := first; day.Month == first.Month; day = day.AddDays(1) {
			arrivals = append(arrivals, day)
		}
		return arrivals, int(m.Nights)
	}
	// The dates that were asked for come first.
	return s.around(s.FlexibleDays), s.CheckOut.DaysSince(s.CheckIn)
}

// nearby are the other arrivals that are looked at where a hotel has nothing, the nearest first.
func (s StaySearch) nearby() []civil.Date {
	if s.Month != nil || s.FlexibleDays > 0 {
		return nil
	}
	return s.around(s.NearbyDays)[1:]
}

// around are the days up to so many before and after the arrival, the nearest first.
func (s StaySearch) around(days int64) []civil.Date {
	arrivals := []civil.Date{s.CheckIn}
	for d := 1; d <= int(days); d++ {
		arrivals = append(arrivals, s.CheckIn.AddDays(-d), s.CheckIn.AddDays(d))
	}
	return arrivals
}

// span is from the first night that must be read to the last date, the departure included.
func (s StaySearch) span() (first, last civil.Date) {
	arrivals, nights := s.wanted()
	all := append(slices.Clone(arrivals), s.nearby()...)
	first, last = slices.MinFunc(all, civil.Date.Compare), slices.MaxFunc(all, civil.Date.Compare)
	return first, last.AddDays(nights)
}

// The earth, as distances on it are reckoned.
const (
	earthMetres     = 6_371_000
	metresPerDegree = earthMetres * math.Pi / 180
	e6              = 1_000_000
)

// metresBetween is the distance of two points on the globe.
func metresBetween(a, b tenants.Point) int64 {
	rad := func(e int64) float64 { return float64(e) / e6 * math.Pi / 180 }
	lat1, lat2 := rad(a.LatitudeE6), rad(b.LatitudeE6)
	sinLat, sinLong := math.Sin((lat2-lat1)/2), math.Sin((rad(b.LongitudeE6)-rad(a.LongitudeE6))/2)
	h := sinLat*sinLat + math.Cos(lat1)*math.Cos(lat2)*sinLong*sinLong
	return int64(math.Round(2 * earthMetres * math.Asin(math.Min(1, math.Sqrt(h)))))
}

// box is a box around the circle; across the date line and near a pole it goes around the globe.
func (c SearchCircle) box() (south, north, west, east int64) {
	degrees := float64(c.Kilometres) * 1000 / metresPerDegree
	reach := int64(math.Ceil(degrees * e6))
	south, north = max(-90*e6, c.Centre.LatitudeE6-reach), min(90*e6, c.Centre.LatitudeE6+reach)
	west, east = -180*e6, 180*e6
	if edge := max(-south, north); edge < 89*e6 {
		wide := int64(math.Ceil(degrees * e6 / math.Cos(float64(edge)/e6*math.Pi/180)))
		if w, e := c.Centre.LongitudeE6-wide, c.Centre.LongitudeE6+wide; w >= west && e <= east {
			west, east = w, e
		}
	}
	return south, north, west, east
}

// errTooWide says that a search would read more than it may.
func errTooWide(nights int) error {
	return fault.Invalid("where", "this would read %d nights of room types, and a search reads at most %d: name fewer hotels or a shorter stay", nights, maxSearchNights)
}

func errTooManyHotels() error {
	return fault.Invalid("where", "expected at most %d hotels: name a city, some hotels or a circle", MaxSearchHotels)
}
