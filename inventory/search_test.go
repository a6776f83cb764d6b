package inventory_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/tenants"
)

// R19: over random stock, restrictions, rate plans and stays at rest, everything that a search offers can be
// held for the price that it says, and a rate that it leaves out is refused by a rule that it counts.
func TestWhatASearchOffersCanBeHeld(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test's hotels
	tenant := inventorytest.New(t)
	tenant.SetTerms(inventory.TermsChange{MaxNightsPerStay: inventorytest.Of[int64](5)})
	var rooms []*inventorytest.Room
	for range 3 {
		hotel := tenant.Hotel()
		saver := tenant.Plan(hotel, inventory.NewRatePlan{Property: hotel.Property.ID, Code: "SAVER", Name: "Saver", Derivation: inventory.Derivation{Kind: inventory.DerivationPercent, BasisPoints: -1000}})
		for _, name := range []string{"Double", "Suite"} {
			room := hotel.Stocked(name, 1+random.Int64N(3), 1, 12)
			rooms = append(rooms, room)
			for night := 1; night <= 12; night++ {
				room.Set(night, night, restriction(random))
				if random.IntN(3) == 0 {
					tenant.SetPlan(room, saver, inventorytest.Nov(night), inventorytest.Nov(night), restriction(random))
				}
			}
			room.Set(4, 4, inventory.NightChange{RateMinor: inventorytest.Of[int64](7_777)})
		}
		if random.IntN(2) == 0 {
			hotel.SetHouseLimit(3, 9, inventorytest.Of(1+random.Int64N(3)))
		}
	}
	for range 8 {
		first := 1 + random.IntN(9)
		_, _ = tenant.Guest().Try(rooms[random.IntN(len(rooms))].Rooms(1, first, first+1+random.IntN(3)))
	}
	guest := tenant.Guest()
	offered := 0
	for range 25 {
		checkIn := 1 + random.IntN(11)
		search := inventory.StaySearch{
			CheckIn: inventorytest.Nov(checkIn), CheckOut: inventorytest.Nov(checkIn + 1 + random.IntN(6)), Rooms: 1 + random.Int64N(2),
			Guests: []inventory.Guests{{Adults: 1 + random.Int64N(3)}}, Sort: inventory.SearchSortPrice, NearbyDays: 2,
		}
		found, err := tenant.Inventory.SearchStays(t.Context(), guest.Actor, search, nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hotels) != 3 || found.HotelCount != 3 {
			t.Fatalf("found %d of %d hotels", len(found.Hotels), found.HotelCount)
		}
		for _, hotel := range found.Hotels {
			for _, offer := range append(slices.Clone(hotel.Offers), hotel.Alternatives...) {
				offered++
				hold, err := tenant.Inventory.PlaceHold(t.Context(), guest.Actor, inventory.PlaceHold{
					RequestKey: inventorytest.Key(), ExpectedTotal: &offer.Total,
					Lines: []inventory.LineRequest{{Stay: &inventory.StayRequest{
						RoomType: offer.RoomType, RatePlan: offer.RatePlan, CheckIn: offer.CheckIn, CheckOut: offer.CheckOut, Rooms: search.Rooms, Guests: search.Guests,
					}}},
				})
				if err != nil {
					t.Errorf("%+v of %+v is refused: %s", offer, search, tenant.Explain(err))
					continue
				}
				guest.Release(hold)
			}
			for _, room := range rooms {
				has := slices.ContainsFunc(hotel.Offers, func(o inventory.StayOffer) bool { return o.RoomType == room.ID })
				if room.Hotel.Property.ID != hotel.Property || has {
					continue
				}
				stay := inventory.StayRequest{RoomType: room.ID, CheckIn: search.CheckIn, CheckOut: search.CheckOut, Rooms: search.Rooms, Guests: search.Guests}
				hold, err := guest.Try(inventory.LineRequest{Stay: &stay})
				if err == nil {
					t.Errorf("%+v was left out and can be held", stay)
					guest.Release(hold)
					continue
				}
				var refusal *inventory.Refusal
				if !errors.As(err, &refusal) {
					t.Fatal(err)
				}
				for _, line := range refusal.Lines {
					if !slices.ContainsFunc(found.LeftOut, func(l inventory.LeftOut) bool { return l.Code == line.Code }) {
						t.Errorf("%+v is refused by %s, and the search counts %+v", stay, line.Code, found.LeftOut)
					}
				}
			}
		}
	}
	if offered == 0 {
		t.Error("nothing was ever offered")
	}
}

// restriction is a random change of a night, most often none.
func restriction(random *rand.Rand) inventory.NightChange {
	yes, two := true, int64(2)
	switch random.IntN(10) {
	case 0:
		return inventory.NightChange{StopSell: &yes}
	case 1:
		return inventory.NightChange{ClosedToArrival: &yes}
	case 2:
		return inventory.NightChange{ClosedToDeparture: &yes}
	case 3:
		return inventory.NightChange{MinStayArrival: &two}
	case 4:
		return inventory.NightChange{MaxStayThrough: &two}
	}
	return inventory.NightChange{RateMinor: nil, MinStayThrough: inventorytest.Of[int64](1)}
}

// Places, filters, orders, pages, months, flexible dates and alternatives.
func TestSearchFindsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	guest := tenant.Guest()
	type placed struct {
		room *inventorytest.Room
		at   tenants.Point
	}
	var hotels []placed
	for i, stars := range []int64{3, 5, 4} {
		room := tenant.Hotel().Stocked("Double", 2, 1, 40)
		room.Set(1, 40, inventory.NightChange{RateMinor: inventorytest.Of(int64(20_000 - 5_000*i))})
		at := tenants.Point{LatitudeE6: 48_208_000 + int64(i)*100_000, LongitudeE6: 16_373_000}
		if _, err := tenant.Tenants.SetDescription(t.Context(), tenant.Owner, room.Hotel.Property.ID, tenants.Description{Point: &at, Stars: &stars, Amenities: []string{"WIFI", "BAR"}[:1+i%2]}); err != nil {
			t.Fatal(err)
		}
		hotels = append(hotels, placed{room, at})
	}
	base := inventory.StaySearch{CheckIn: inventorytest.Nov(3), CheckOut: inventorytest.Nov(5), Rooms: 1, Sort: inventory.SearchSortPrice, NearbyDays: 3}
	find := func(change func(*inventory.StaySearch)) inventory.FoundStays {
		t.Helper()
		search := base
		change(&search)
		found, err := tenant.Inventory.SearchStays(t.Context(), guest.Actor, search, nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	order := func(found inventory.FoundStays) string {
		var names []string
		for _, h := range found.Hotels {
			names = append(names, string(rune('0'+slices.IndexFunc(hotels, func(p placed) bool { return p.room.Hotel.Property.ID == h.Property }))))
		}
		return strings.Join(names, "")
	}
	circle := &inventory.SearchCircle{Centre: hotels[0].at, Kilometres: 15}
	for what, c := range map[string]struct {
		change func(*inventory.StaySearch)
		want   string
	}{
		"by price":     {func(*inventory.StaySearch) {}, "210"},
		"by stars":     {func(s *inventory.StaySearch) { s.Sort = inventory.SearchSortStars }, "120"},
		"by distance":  {func(s *inventory.StaySearch) { s.Sort, s.Where.Circle = inventory.SearchSortDistance, circle }, "01"},
		"the city":     {func(s *inventory.StaySearch) { s.Where.City, s.Where.Country = "vienna", "AT" }, "210"},
		"another city": {func(s *inventory.StaySearch) { s.Where.City, s.Where.Country = "Graz", "AT" }, ""},
		"some hotels": {func(s *inventory.StaySearch) {
			s.Where.Properties = []tenants.PropertyID{hotels[1].room.Hotel.Property.ID}
		}, "1"},
		"four stars":          {func(s *inventory.StaySearch) { s.Filter.MinStars = inventorytest.Of[int64](4) }, "21"},
		"with a bar":          {func(s *inventory.StaySearch) { s.Filter.Amenities = []string{"BAR"} }, "1"},
		"in another currency": {func(s *inventory.StaySearch) { s.Filter.MaxTotal = &money.Amount{Minor: 20_000, Currency: "USD"} }, ""},
	} {
		if got := order(find(c.change)); got != c.want {
			t.Errorf("%s: found %q, want %q", what, got, c.want)
		}
	}
	cheap := find(func(s *inventory.StaySearch) { s.Filter.MaxTotal = &money.Amount{Minor: 20_000, Currency: "EUR"} })
	if cheap.OfferCount != 1 || len(cheap.Hotels[0].Offers) != 1 || cheap.Hotels[0].Offers[0].Total.Minor != 20_000 {
		t.Errorf("up to 200 euros: %+v", cheap)
	}
	// Page by page the same list.
	var paged []inventory.HotelStays
	var after *inventory.SearchCursor
	for {
		page, err := tenant.Inventory.SearchStays(t.Context(), guest.Actor, base, after, 1)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, page.Hotels...)
		if !page.More {
			break
		}
		at := page.Hotels[0].Cursor()
		after = &at
	}
	if got := order(inventory.FoundStays{Hotels: paged}); got != "210" {
		t.Errorf("page by page: %q", got)
	}
	// A full hotel comes last, offers other days, and says why; with flexible dates it has an offer.
	full := hotels[2].room
	full.Set(3, 4, inventory.NightChange{Physical: inventorytest.Of[int64](0)})
	found := find(func(*inventory.StaySearch) {})
	last := found.Hotels[2]
	if order(found) != "102" || len(last.Offers) != 0 || len(last.Alternatives) != 3 || last.Alternatives[0].CheckIn != inventorytest.Nov(1) ||
		!slices.Contains(found.LeftOut, inventory.LeftOut{Code: inventory.RefusalSoldOut, Rates: 1}) {
		t.Errorf("with a full hotel: %s, %+v, left out %+v", order(found), last, found.LeftOut)
	}
	if found = find(func(s *inventory.StaySearch) { s.FlexibleDays = 2 }); order(found) != "210" || found.Hotels[0].Offers[0].CheckIn != inventorytest.Nov(1) {
		t.Errorf("flexible: %+v", found.Hotels[0])
	}
	full.Set(20, 20, inventory.NightChange{RateMinor: inventorytest.Of[int64](1)})
	found = find(func(s *inventory.StaySearch) {
		s.CheckIn, s.CheckOut, s.Month = civil.Date{}, civil.Date{}, &inventory.SearchMonth{Year: inventorytest.Year, Month: 11, Nights: 2}
	})
	if best := found.Hotels[0].Offers[0]; order(found) != "210" || best.CheckIn != inventorytest.Nov(19) || best.Total.Minor != 10_001 {
		t.Errorf("in a month: %+v", best)
	}
	// What is left is told as far as the terms say.
	tenant.SetTerms(inventory.TermsChange{MaxRemainingShown: inventorytest.Of[int64](1)})
	if offer := find(func(*inventory.StaySearch) {}).Hotels[0].Offers[0]; offer.Remaining != 1 || !offer.RemainingIsMore {
		t.Errorf("of two rooms %+v is told", offer)
	}
}

func TestMalformedSearches(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hotel := tenant.Hotel()
	for want, change := range map[string]func(*inventory.StaySearch){
		"invalid: checkIn: expected a date such as 2027-03-14, or month":     func(s *inventory.StaySearch) { s.CheckIn = civil.Date{} },
		"invalid: checkOut: expected a date after checkIn 2097-11-03":        func(s *inventory.StaySearch) { s.CheckOut = s.CheckIn },
		"invalid: checkOut: a stay has at most 366 nights, this one has 400": func(s *inventory.StaySearch) { s.CheckOut = s.CheckIn.AddDays(400) },
		"invalid: rooms: expected 1 to 100, got 0":                           func(s *inventory.StaySearch) { s.Rooms = 0 },
		"invalid: guests[0].adults: expected 1 to 100, got 0":                func(s *inventory.StaySearch) { s.Guests = []inventory.Guests{{}} },
		"invalid: flexibleDays: expected 0 to 7, got 8":                      func(s *inventory.StaySearch) { s.FlexibleDays = 8 },
		"invalid: nearbyDays: expected 0 to 7, got -1":                       func(s *inventory.StaySearch) { s.NearbyDays = -1 },
		"invalid: sort: DISTANCE takes a circle":                             func(s *inventory.StaySearch) { s.Sort = inventory.SearchSortDistance },
		"invalid: where.city: expected a city with its country":              func(s *inventory.StaySearch) { s.Where.City = "Vienna" },
		"invalid: where.circle.kilometres: expected 1 to 500, got 0":         func(s *inventory.StaySearch) { s.Where.Circle = &inventory.SearchCircle{} },
		"invalid: filter.minStars: expected 1 to 5, got 6":                   func(s *inventory.StaySearch) { s.Filter.MinStars = inventorytest.Of[int64](6) },
		"invalid: month: expected checkIn with checkOut, or month, not both": func(s *inventory.StaySearch) { s.Month = &inventory.SearchMonth{Year: 2097, Month: 11, Nights: 2} },
		"invalid: where.properties: expected 1 to 500 hotels, got 0":         func(s *inventory.StaySearch) { s.Where.Properties = []tenants.PropertyID{} },
		"invalid: where: expected at most one of city with country, properties and circle": func(s *inventory.StaySearch) {
			s.Where = inventory.SearchWhere{City: "Vienna", Country: "AT", Properties: []tenants.PropertyID{hotel.Property.ID}}
		},
	} {
		search := inventory.StaySearch{CheckIn: inventorytest.Nov(3), CheckOut: inventorytest.Nov(5), Rooms: 1, Sort: inventory.SearchSortPrice}
		change(&search)
		_, err := tenant.Inventory.SearchStays(t.Context(), tenant.Guest().Actor, search, nil, 10)
		expectAnswer(t, tenant, err, want)
	}
}
