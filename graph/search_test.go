package graph_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const searchFields = `asOf hotelCount offerCount leftOut { code rates }
	nodes { property { id description { stars latitude } } distanceMetres offers { roomType { id name } ratePlanId checkIn checkOut total { amountMinor currency } refundable remaining remainingIsMore } alternatives { checkIn } }
	pageInfo { hasNextPage endCursor }`

type stayOffer struct {
	RoomType          struct{ ID, Name string }
	RatePlanID        *string
	CheckIn, CheckOut string
	Total             struct {
		AmountMinor int64
		Currency    string
	}
	Refundable, RemainingIsMore bool
	Remaining                   int
}

type foundStays struct {
	AsOf                   string
	HotelCount, OfferCount int
	LeftOut                []struct {
		Code  string
		Rates int
	}
	Nodes []struct {
		Property struct {
			ID          string
			Description struct {
				Stars    *int
				Latitude *float64
			}
		}
		DistanceMetres *int
		Offers         []stayOffer
		Alternatives   []struct{ CheckIn string }
	}
	PageInfo struct {
		HasNextPage bool
		EndCursor   *string
	}
}

func (h *house) search(as client, input vars, page vars) foundStays {
	h.server.t.Helper()
	variables := vars{"input": input, "first": 20}
	for name, value := range page {
		variables[name] = value
	}
	var answer struct{ SearchStays foundStays }
	as.get(`query($input: SearchStaysInput!, $first: Int!, $after: String) { searchStays(input: $input, first: $first, after: $after) { `+searchFields+` } }`, variables, &answer)
	return answer.SearchStays
}

// A guest finds a stay, sees it in the calendar, and holds it for the price that both say.
func TestAStayIsFoundAndHeld(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	var described struct {
		DescribeHotel struct {
			Stars     *int
			Longitude *float64
			Amenities []string
		}
	}
	h.admin.get(`mutation($input: DescribeHotelInput!) { describeHotel(input: $input) { stars longitude amenities } }`,
		vars{"input": vars{"property": h.property, "latitude": 48.208174, "longitude": 16.373819, "stars": 4, "amenities": []string{"WIFI", "BAR"}}}, &described)
	if d := described.DescribeHotel; *d.Stars != 4 || *d.Longitude != 16.373819 || strings.Join(d.Amenities, " ") != "BAR WIFI" {
		t.Errorf("described: %+v", d)
	}
	guest := h.guest()
	asked := vars{"where": vars{"city": "Vienna", "country": "AT"}, "checkIn": "2030-03-14", "checkOut": "2030-03-16", "filter": vars{"minStars": 4, "amenities": []string{"BAR"}}}
	found := h.search(guest, asked, nil)
	if found.HotelCount != 1 || found.OfferCount != 1 || len(found.Nodes) != 1 || found.Nodes[0].Property.ID != h.property || len(found.Nodes[0].Offers) != 1 {
		t.Fatalf("found %+v", found)
	}
	offer := found.Nodes[0].Offers[0]
	if offer.RoomType.ID != h.double || offer.Total.AmountMinor != 24_000 || offer.Remaining != 3 || offer.RemainingIsMore || !offer.Refundable || offer.RatePlanID != nil {
		t.Errorf("offered: %+v", offer)
	}
	var calendar struct {
		Hotel struct {
			Calendar struct {
				Nights []struct {
					Available          int
					AvailableIsMore    bool
					Price, LowestPrice struct{ AmountMinor int }
				}
			}
		}
	}
	h.page.get(`query($id: ID!, $room: ID!) { hotel(id: $id) { calendar(from: "2030-03-14", to: "2030-03-15", roomTypes: [$room], guests: { adults: 2 }) { nights { available availableIsMore price { amountMinor } lowestPrice { amountMinor } } } } }`,
		vars{"id": h.property, "room": h.double}, &calendar)
	for _, night := range calendar.Hotel.Calendar.Nights {
		if night.Available != 3 || night.Price.AmountMinor != 12_000 || night.LowestPrice.AmountMinor != 12_000 {
			t.Errorf("the calendar says %+v", night)
		}
	}
	hold := h.place(guest, vars{"requestKey": key(), "expectedTotal": euro(int(offer.Total.AmountMinor)), "lines": []vars{{"stay": vars{
		"roomType": offer.RoomType.ID, "checkIn": offer.CheckIn, "checkOut": offer.CheckOut, "rooms": 1, "guests": []vars{{"adults": 2}},
	}}}})
	if hold.Typename != "Hold" {
		t.Errorf("the offer is refused: %+v", hold)
	}
	asked["rooms"] = 3
	full := h.search(guest, asked, nil)
	if full.OfferCount != 0 || len(full.Nodes[0].Alternatives) == 0 || len(full.LeftOut) != 2 || full.LeftOut[0].Code != "NO_SUCH_NIGHT" || full.LeftOut[1].Code != "SOLD_OUT" {
		t.Errorf("three rooms where two are left: %+v", full)
	}
	// Another tenant's hotels are as those that nobody has.
	for _, id := range []string{other.property, randomID(other.property)} {
		if got := h.search(guest, vars{"where": vars{"properties": []string{id}}, "checkIn": "2030-03-14", "checkOut": "2030-03-16"}, nil); got.HotelCount != 0 {
			t.Errorf("the hotel %s is found: %+v", id, got)
		}
	}
	for field, input := range map[string]vars{
		"input.checkIn":                  {},
		"input.where.circle.kilometres":  {"checkIn": "2030-03-14", "checkOut": "2030-03-16", "where": vars{"circle": vars{"latitude": 1, "longitude": 1, "kilometres": 501}}},
		"input.where.properties[0]":      {"checkIn": "2030-03-14", "checkOut": "2030-03-16", "where": vars{"properties": []string{h.double}}},
		"input.filter.maxTotal.currency": {"checkIn": "2030-03-14", "checkOut": "2030-03-16", "filter": vars{"maxTotal": vars{"amountMinor": 1, "currency": "XXQ"}}},
		"input.guests[0].childAges[0]":   {"checkIn": "2030-03-14", "checkOut": "2030-03-16", "guests": []vars{{"adults": 1, "childAges": []int{18}}}},
	} {
		if e := guest.refused(`query($input: SearchStaysInput!) { searchStays(input: $input) { asOf } }`, vars{"input": input}); e.code() != "BAD_INPUT" || e.field() != field {
			t.Errorf("%s: %+v", field, e)
		}
	}
	if e := h.page.refused(`query { searchStays(input: { checkIn: "2030-03-14", checkOut: "2030-03-16" }, after: "elsewhere") { asOf } }`, nil); e.field() != "after" {
		t.Errorf("a cursor that is none: %+v", e)
	}
}

// Hotels are listed page by page, and a page's answer is kept for everybody of the channel.
func TestPagesOfSearches(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	beside := newPlaceBeside(h)
	seen := map[string]bool{}
	page := vars{"first": 1}
	for {
		found := h.search(h.page, vars{"checkIn": "2030-03-14", "checkOut": "2030-03-16"}, page)
		if len(found.Nodes) != 1 || found.HotelCount != 2 || seen[found.Nodes[0].Property.ID] {
			t.Fatalf("a page has %+v", found)
		}
		seen[found.Nodes[0].Property.ID] = true
		if !found.PageInfo.HasNextPage {
			break
		}
		page["after"] = *found.PageInfo.EndCursor
	}
	if !seen[h.property] || !seen[beside.property] {
		t.Errorf("the pages have %v", seen)
	}
	query := "?query=" + url.QueryEscape(`{ searchStays(input: { checkIn: "2030-03-14", checkOut: "2030-03-16" }) { offerCount } }`)
	first := h.page.send(http.MethodGet, query, nil, nil)
	again := h.page.send(http.MethodGet, query, nil, map[string]string{"If-None-Match": first.header.Get("Etag")})
	if first.status != http.StatusOK || !strings.HasPrefix(first.header.Get("Cache-Control"), "public") || again.status != http.StatusNotModified {
		t.Errorf("kept: %d %v, then %d", first.status, first.header, again.status)
	}
}
