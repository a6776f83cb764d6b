package inventory

import (
	"cmp"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/money"
)

// find makes a page of a search from what was read.
func (m *market) find(search StaySearch, after *SearchCursor, limit int) FoundStays {
	found := FoundStays{AsOf: m.asOf, HotelCount: len(m.hotels)}
	leftOut := map[RefusalCode]int{}
	hotels := make([]HotelStays, len(m.hotels))
	for i, hotel := range m.hotels {
		hotels[i] = hotel.stays(m, search, leftOut)
		if len(hotels[i].Offers) > 0 {
			found.OfferCount++
		}
	}
	slices.SortFunc(hotels, func(a, b HotelStays) int { return a.rank.compare(b.rank) })
	if after != nil {
		from, exact := slices.BinarySearchFunc(hotels, *after, func(h HotelStays, c SearchCursor) int { return h.rank.compare(c) })
		if exact {
			from++
		}
		hotels = hotels[from:]
	}
	if found.More = len(hotels) > limit; found.More {
		hotels = hotels[:limit]
	}
	found.Hotels = hotels
	for code, rates := range leftOut {
		found.LeftOut = append(found.LeftOut, LeftOut{Code: code, Rates: rates})
	}
	slices.SortFunc(found.LeftOut, func(a, b LeftOut) int {
		return cmp.Or(cmp.Compare(b.Rates, a.Rates), cmp.Compare(a.Code, b.Code))
	})
	return found
}

// stays is what a hotel offers for a search.
func (h *marketHotel) stays(m *market, search StaySearch, leftOut map[RefusalCode]int) HotelStays {
	arrivals, nights := search.wanted()
	result := HotelStays{Property: h.id, Metres: h.metres}
	for _, room := range h.rooms {
		best, ok := h.cheapest(m, room, search, arrivals, nights, leftOut)
		if ok {
			result.Offers = append(result.Offers, best)
		}
	}
	byPrice(result.Offers)
	if len(result.Offers) == 0 {
		for _, arrival := range search.nearby() {
			var offers []StayOffer
			for _, room := range h.rooms {
				if best, ok := h.cheapest(m, room, search, []civil.Date{arrival}, nights, nil); ok {
					offers = append(offers, best)
				}
			}
			if byPrice(offers); len(offers) > 0 {
				result.Alternatives = append(result.Alternatives, offers[0])
			}
			if len(result.Alternatives) == maxAlternativeStays {
				break
			}
		}
	}
	result.rank = h.rank(search, result)
	return result
}

func byPrice(offers []StayOffer) {
	slices.SortStableFunc(offers, func(a, b StayOffer) int {
		return cmp.Or(cmp.Compare(a.Total.Minor, b.Total.Minor), a.CheckIn.Compare(b.CheckIn), compareUUID(a.RoomType.UUID, b.RoomType.UUID))
	})
}

// rank is where a hotel stands in the order that was asked for.
func (h *marketHotel) rank(search StaySearch, stays HotelStays) SearchCursor {
	rank := SearchCursor{Full: len(stays.Offers) == 0, Property: h.id.UUID}
	switch search.Sort {
	case SearchSortPrice:
		rank.Text = string(h.currency)
		switch {
		case len(stays.Offers) > 0:
			rank.Number = stays.Offers[0].Total.Minor
		case len(stays.Alternatives) > 0:
			rank.Number = stays.Alternatives[0].Total.Minor
		default:
			rank.Number = money.MaxMinor
		}
	case SearchSortStars:
		if h.place.Stars != nil {
			rank.Number = -*h.place.Stars
		}
	case SearchSortName:
		rank.Text = h.name
	case SearchSortDistance:
		rank.Number = *h.metres
	}
	return rank
}

// cheapest is the cheapest offer of a room type over its rates and some days of arrival. For each rate that
// has none leftOut counts what spoke against the first day, which is the one that was asked for.
func (h *marketHotel) cheapest(m *market, room *marketRoom, search StaySearch, arrivals []civil.Date, nights int, leftOut map[RefusalCode]int) (best StayOffer, found bool) {
	for _, rate := range h.rates(m, room) {
		if search.Filter.Refundable && !rate.refundable {
			continue
		}
		var reasons []RefusalCode
		offered := false
		for i, arrival := range arrivals {
			stay := StayRequest{RoomType: room.id, RatePlan: rate.plan, CheckIn: arrival, CheckOut: arrival.AddDays(nights), Rooms: search.Rooms, Guests: search.Guests}
			codes := h.against(room, rate, stay)
			if len(codes) > 0 {
				if i == 0 || len(reasons) == 0 {
					reasons = codes
				}
				continue
			}
			offered = true
			total, ok := rate.price(stay)
			if !ok || search.Filter.MaxTotal != nil && total > search.Filter.MaxTotal.Minor {
				continue
			}
			if !found || total < best.Total.Minor {
				best, found = h.offer(room, rate, stay, total), true
			}
		}
		if !offered && leftOut != nil {
			for _, code := range reasons {
				leftOut[code]++
			}
		}
	}
	return best, found
}

// rate is one way to sell a room type.
type rate struct {
	hotel      *marketHotel
	suspended  bool
	plan       *RatePlanID
	facts      stayFacts
	sold       bool
	refundable bool
}

// price is what a stay costs at a rate, with the promotions that apply by themselves.
func (r rate) price(stay StayRequest) (int64, bool) {
	amounts := make(map[civil.Date]int64, stay.nights())
	for night := stay.CheckIn; night.Before(stay.CheckOut); night = night.AddDays(1) {
		amount, ok := r.facts.nightPrice(night)
		if !ok {
			return 0, false
		}
		amounts[night] = amount
	}
	h := r.hotel
	of := h.pricing.factsFor(stay, h.id.UUID, h.currency, r.facts.maxGuests, amounts)
	price, err := priceStay(stay, of)
	if err != nil {
		return 0, false
	}
	least := price.Total
	for i := range h.promotions {
		if promotion := &h.promotions[i]; promotion.usable("", r.facts.now, nil) && promotion.fits(stay, h.id.UUID) {
			of.promotion = &promotion.terms
			if price, err := priceStay(stay, of); err == nil {
				least = min(least, price.Total)
			}
		}
	}
	return least, true
}

// rates are the standard rate and the rate plans of a room type, each with what it is judged by.
func (h *marketHotel) rates(m *market, room *marketRoom) []rate {
	standard := stayFacts{now: m.asOf.In(h.zone), maxNights: h.terms.MaxNightsPerStay, maxGuests: room.maxGuests, nights: room.nights, window: h.window}
	rates := []rate{{hotel: h, suspended: m.suspended, facts: standard, sold: h.sold && h.standardSold, refundable: h.refundable}}
	for i := range h.plans {
		plan := &h.plans[i]
		facts := standard
		facts.plan, facts.planNights = &plan.facts, room.plans[plan.id.UUID]
		if plan.facts.parent != nil {
			facts.parentNights = room.plans[*plan.facts.parent]
		}
		rates = append(rates, rate{hotel: h, suspended: m.suspended, plan: &plan.id, facts: facts, sold: h.sold && plan.sold, refundable: plan.refundable})
	}
	return rates
}

// against are the codes with which a hold of the stay would be refused, each once; nothing says that it
// can be had.
func (h *marketHotel) against(room *marketRoom, rate rate, stay StayRequest) []RefusalCode {
	var codes []RefusalCode
	add := func(code RefusalCode) {
		if !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	if rate.suspended {
		return []RefusalCode{RefusalChannelSuspended}
	}
	if stay.CheckIn.Before(rate.facts.today()) {
		// A hold would not even be understood.
		return []RefusalCode{RefusalTooLateToBook}
	}
	for _, broken := range judgeStay(stay, rate.facts) {
		add(broken.Code)
	}
	if stay.Rooms > h.terms.MaxQuantityPerHold {
		add(RefusalLimitPerHold)
	}
	if !rate.sold {
		add(RefusalNotSoldByChannel)
	}
	if slices.ContainsFunc(codes, func(code RefusalCode) bool { return code != RefusalStopSell && code != RefusalNoSuchNight }) {
		// Where a rule speaks against the stay as a whole, a hold does not ask what is left.
		return codes
	}
	for night := stay.CheckIn; night.Before(stay.CheckOut); night = night.AddDays(1) {
		if _, planned := room.nights[night]; planned && room.left[night] < stay.Rooms {
			add(RefusalSoldOut)
		}
		if left, limited := h.houseLeft[night]; limited && left < stay.Rooms {
			add(RefusalHouseFull)
		}
	}
	return codes
}

func (h *marketHotel) offer(room *marketRoom, rate rate, stay StayRequest, total int64) StayOffer {
	offer := StayOffer{
		RoomType: room.id, RatePlan: rate.plan, CheckIn: stay.CheckIn, CheckOut: stay.CheckOut, Refundable: rate.refundable,
		Total: money.Amount{Minor: total, Currency: h.currency},
	}
	least := int64(-1)
	for night := stay.CheckIn; night.Before(stay.CheckOut); night = night.AddDays(1) {
		left := room.left[night]
		if house, limited := h.houseLeft[night]; limited {
			left = min(left, house)
		}
		if least < 0 || left < least {
			least = left
		}
	}
	offer.Remaining, offer.RemainingIsMore = h.terms.remaining(least)
	return offer
}
