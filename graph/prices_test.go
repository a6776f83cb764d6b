package graph_test

import "testing"

type priced struct {
	Total, Rooms, Discount, Added, Tax minor
	Nights                             []struct {
		Night string
		Total minor
	}
	Charges []struct {
		Name     string
		Included bool
		Amount   minor
	}
	Promotion *struct{ Name, Code string }
	Rounding  struct{ Level, Mode string }
}

const priceFields = `total { amountMinor } rooms { amountMinor } discount { amountMinor } added { amountMinor } tax { amountMinor }
	nights { night total { amountMinor } } charges { name included amount { amountMinor } } promotion { name code } rounding { level mode }`

type quoted struct {
	Total   *minor
	Refused []struct{ Code string }
	Stays   []struct {
		Version            *string
		Price              *priced
		RoomType           created
		CancellationPolicy struct{ Name string }
	}
}

const quoteFields = `total { amountMinor } refused { code } stays { version roomType { id } cancellationPolicy { name } price { ` + priceFields + ` } }`

func (h *house) quote(as client, code any, stays ...vars) quoted {
	h.server.t.Helper()
	var answer struct{ Quote quoted }
	as.get(`query($stays: [StayInput!]!, $code: String) { quote(stays: $stays, promotionCode: $code) { `+quoteFields+` } }`, vars{"stays": stays, "code": code}, &answer)
	return answer.Quote
}

// A revenue manager sets what a hotel's stays cost; a guest sees the quote, holds at its price, buys, and finds
// the breakdown with the hold and with the booking.
func TestAGuestPaysWhatWasQuoted(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	manager := h.staff("REVENUE_MANAGER", vars{"property": h.property})
	var set struct {
		SetGuestPrices struct {
			BaseOccupancy int
			Ages          []struct{ ToAge int }
		}
		SetRateAdjustments struct {
			Adjustments []struct {
				Weekday   *string
				MinNights *int
			}
		}
		SetTaxesAndFees []struct{ Name string }
		CreatePromotion struct{ ID, Code string }
	}
	manager.get(`mutation($guests: SetGuestPricesInput!, $differences: SetRateAdjustmentsInput!, $charges: SetTaxesAndFeesInput!, $promotion: CreatePromotionInput!) {
		setGuestPrices(input: $guests) { baseOccupancy ages { toAge } }
		setRateAdjustments(input: $differences) { adjustments { weekday minNights } }
		setTaxesAndFees(input: $charges) { name }
		createPromotion(input: $promotion) { id code }
	}`, vars{
		"guests":      vars{"roomType": h.double, "baseOccupancy": 1, "extraAdultMinor": 2000, "ages": []vars{{"fromAge": 0, "toAge": 6, "amountMinor": 500}}},
		"differences": vars{"property": h.property, "adjustments": []vars{{"weekday": "THURSDAY", "amountMinor": 1000}, {"minNights": 2, "basisPoints": -1000}}},
		"charges": vars{"property": h.property, "charges": []vars{
			{"name": "VAT", "kind": "PERCENT", "included": true, "basisPoints": 1000}, {"name": "City tax", "kind": "PERSON_NIGHT", "amountMinor": 150, "exemptBelowAge": 15},
		}},
		"promotion": vars{"requestKey": key(), "property": h.property, "code": "spring 30", "uses": 5, "terms": vars{"name": "Spring", "basisPoints": 2000}},
	}, &set)
	if set.CreatePromotion.Code != "SPRING30" || len(set.SetTaxesAndFees) != 2 {
		t.Errorf("set %+v", set)
	}
	guest := h.guest()
	// 2030-03-14 is a Thursday: 120.00 + 10.00, less 10 %, and a child of 5.00: 122.00. Friday: 108.00 + 5.00.
	stay := vars{"roomType": h.double, "checkIn": "2030-03-14", "checkOut": "2030-03-16", "guests": []vars{{"adults": 1, "childAges": []int{5}}}}
	plain := h.quote(guest, nil, stay)
	if plain.Total == nil || plain.Total.AmountMinor != 12200+11300+300 || len(plain.Refused) > 0 || plain.Stays[0].RoomType.ID != h.double {
		t.Fatalf("quoted %+v", plain)
	}
	// A fifth off 235.00 is 47.00; 10 % within 188.00 is 17.09 (8.87 and 8.22).
	coded := h.quote(guest, "Spring30", stay)
	price := coded.Stays[0].Price
	if price.Total.AmountMinor != 18800+300 || price.Discount.AmountMinor != 4700 || price.Tax.AmountMinor != 1709 || price.Promotion == nil || price.Promotion.Code != "SPRING30" || price.Charges[1].Amount.AmountMinor != 300 {
		t.Fatalf("quoted %+v", price)
	}
	wrong := h.quote(guest, "WINTER", stay)
	if len(wrong.Refused) != 1 || wrong.Refused[0].Code != "PROMOTION_CODE_INVALID" {
		t.Errorf("an unknown code is quoted as %+v", wrong)
	}
	stay["quote"] = *plain.Stays[0].Version
	var answer struct {
		PlaceHold struct {
			Typename, ID, Code string
			Total              minor
			StayPrices         []struct {
				Item  int
				Price priced
			}
			Quote *quoted
		}
	}
	place := func(code any) {
		t.Helper()
		answer.PlaceHold.Quote = nil
		guest.get(`mutation($input: PlaceHoldInput!) { placeHold(input: $input) { typename: __typename
			... on Hold { id total { amountMinor } stayPrices { item price { `+priceFields+` } } } ... on HoldRefused { code quote { `+quoteFields+` } } } }`,
			vars{"input": vars{"requestKey": key(), "lines": []vars{{"stay": stay}}, "promotionCode": code}}, &answer)
	}
	// The version is of the price without the code.
	place("SPRING 30")
	if refused := answer.PlaceHold; refused.Code != "PRICE_CHANGED" || refused.Quote == nil || *refused.Quote.Stays[0].Version != *coded.Stays[0].Version {
		t.Fatalf("answered %+v", refused)
	}
	stay["quote"] = *coded.Stays[0].Version
	place("SPRING 30")
	hold := answer.PlaceHold
	if hold.Typename != "Hold" || hold.Total.AmountMinor != 19100 || len(hold.StayPrices) != 1 || hold.StayPrices[0].Price.Tax.AmountMinor != 1709 {
		t.Fatalf("answered %+v", hold)
	}
	sale := h.checkout(guest, vars{"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": euro(19100)})
	if sale.Booking == nil {
		t.Fatalf("not booked: %+v", sale)
	}
	var booking struct {
		Booking struct {
			Tax        minor
			StayPrices []struct{ Price priced }
		}
	}
	guest.get(`query($id: ID!) { booking(id: $id) { tax { amountMinor } stayPrices { price { `+priceFields+` } } } }`, vars{"id": sale.Booking.ID}, &booking)
	if booking.Booking.Tax.AmountMinor != 1709 || booking.Booking.StayPrices[0].Price.Total.AmountMinor != 19100 {
		t.Errorf("the booking is %+v", booking)
	}
	var read struct {
		Rates struct {
			Guests      []struct{ BaseOccupancy int }
			Adjustments []struct{ Adjustments []struct{ Weekday *string } }
			Charges     []struct{ BasisPoints int }
		}
		Promotions struct {
			Nodes []struct{ Uses, Held, Used int }
		}
	}
	manager.get(`query($p: ID!) { rates(property: $p) { guests { baseOccupancy } adjustments { adjustments { weekday } } charges { basisPoints } } promotions(property: $p) { nodes { uses held used } } }`,
		vars{"p": h.property}, &read)
	if len(read.Rates.Guests) != 1 || len(read.Rates.Adjustments[0].Adjustments) != 2 || read.Rates.Charges[0].BasisPoints != 1000 || read.Promotions.Nodes[0].Used != 1 || read.Promotions.Nodes[0].Held != 0 {
		t.Errorf("read %+v", read)
	}
}

// What is wrong with a price is said with its field; those who may not set prices are told so.
func TestWrongPricesAreNamed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	for _, c := range []struct {
		mutation, input, field string
		variables              vars
	}{
		{"setGuestPrices", "SetGuestPricesInput", "input.ages[1].fromAge", vars{"roomType": h.double, "baseOccupancy": 2, "ages": []vars{{"fromAge": 0, "toAge": 6, "amountMinor": 0}, {"fromAge": 5, "toAge": 9, "amountMinor": 0}}}},
		{"setRateAdjustments", "SetRateAdjustmentsInput", "input.adjustments[0]", vars{"property": h.property, "adjustments": []vars{{"minNights": 3}}}},
		{"setTaxesAndFees", "SetTaxesAndFeesInput", "input.charges[0].amountMinor", vars{"property": h.property, "charges": []vars{{"name": "Fee", "kind": "STAY", "amountMinor": -1}}}},
		{"createPromotion", "CreatePromotionInput", "input.terms.minNights", vars{"requestKey": key(), "property": h.property, "terms": vars{"name": "Long", "basisPoints": 1, "minNights": 0}}},
		{"createPromotion", "CreatePromotionInput", "input.code", vars{"requestKey": key(), "property": h.property, "code": "?", "terms": vars{"name": "Long", "basisPoints": 1}}},
	} {
		fault := h.admin.refused(`mutation($input: `+c.input+`!) { `+c.mutation+`(input: $input) { __typename } }`, vars{"input": c.variables})
		if fault.code() != "BAD_INPUT" || fault.field() != c.field {
			t.Errorf("%s: %+v", c.field, fault)
		}
		if fault := h.guest().refused(`mutation($input: `+c.input+`!) { `+c.mutation+`(input: $input) { __typename } }`, vars{"input": c.variables}); fault.code() != "FORBIDDEN" {
			t.Errorf("a guest may %s: %+v", c.mutation, fault)
		}
	}
	// The largest price of a night is a price; of two nights it is none.
	h.nights(h.double, "2030-03-10", "2030-03-20", vars{"rateMinor": 1_000_000_000_000})
	fault := h.guest().refused(`query($stays: [StayInput!]!) { quote(stays: $stays) { __typename } }`,
		vars{"stays": []vars{{"roomType": h.double, "checkIn": "2030-03-14", "checkOut": "2030-03-16"}}})
	if fault.field() != "stays[0]" {
		t.Errorf("answered %+v", fault)
	}
}
