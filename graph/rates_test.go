package graph_test

import (
	"slices"
	"strings"
	"testing"
)

// ratePlan makes a plan with prices of its own on the nights that the house has.
func (h *house) ratePlan(code string) string {
	h.server.t.Helper()
	return h.newRatePlan(vars{"code": code, "name": "Flexible"})
}

func (h *house) newRatePlan(input vars) string {
	h.server.t.Helper()
	input["requestKey"], input["property"] = key(), h.property
	if input["name"] == nil {
		input["name"] = input["code"]
	}
	var answer struct{ CreateRatePlan created }
	h.admin.get(`mutation($input: CreateRatePlanInput!) { createRatePlan(input: $input) { id } }`, vars{"input": input}, &answer)
	return answer.CreateRatePlan.ID
}

// planNights sets nights of a plan.
func (h *house) planNights(plan, from, to string, change vars) {
	h.server.t.Helper()
	var answer struct{ SetNights struct{ Nights int } }
	h.admin.get(`mutation($input: SetNightsInput!) { setNights(input: $input) { nights } }`, vars{"input": vars{
		"roomType": h.double, "ratePlan": plan, "nights": vars{"from": from, "to": to}, "change": change,
	}}, &answer)
}

// objections are the codes that whyNot gives, each with its level.
func (h *house) objections(as client, stay vars) []string {
	h.server.t.Helper()
	var answer struct {
		WhyNot struct {
			Objections []struct{ Code, Level, Night string }
		}
	}
	as.get(`query($stay: StayInput!) { whyNot(stay: $stay) { objections { code level night } } }`, vars{"stay": stay}, &answer)
	found := []string{}
	for _, o := range answer.WhyNot.Objections {
		found = append(found, o.Code+" "+o.Level+" "+o.Night)
	}
	return found
}

func (h *house) placeStay(as client, stay vars) held {
	h.server.t.Helper()
	return h.place(as, vars{"requestKey": key(), "lines": []vars{{"stay": stay}}})
}

// What is sold as a rate plan has the plan's price, or what is derived from another's, night by night.
func TestAStayIsSoldAsARatePlan(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	flex := h.ratePlan("FLEX")
	saver := h.newRatePlan(vars{"code": "SAVER", "refundable": false, "derivation": vars{"parent": flex, "basisPoints": -1250}})
	member := h.newRatePlan(vars{"code": "MEMBER", "derivation": vars{"amountMinor": -100_000}})
	h.planNights(flex, "2030-03-10", "2030-03-11", vars{"rateMinor": 10_001})
	h.planNights(flex, "2030-03-12", "2030-03-12", vars{"rateMinor": 20_003})
	guest := h.guest()
	for plan, want := range map[string]int64{flex: 30_004, saver: 8_751 + 17_503, member: 0} {
		got := h.placeStay(guest, vars{"roomType": h.double, "ratePlan": plan, "checkIn": "2030-03-11", "checkOut": "2030-03-13"})
		if got.State != "ACTIVE" || got.Total.AmountMinor != want {
			t.Errorf("got %+v, want a total of %d", got, want)
		}
		h.change(guest, "releaseHold", "ReleaseHoldInput", vars{"requestKey": key(), "hold": got.ID})
	}
	held := h.placeStay(guest, vars{"roomType": h.double, "ratePlan": saver, "checkIn": "2030-03-11", "checkOut": "2030-03-13", "guests": []vars{{"adults": 1, "childAges": []int{17}}}})
	sale := h.checkout(guest, vars{
		"requestKey": key(), "hold": held.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 26_254, "currency": "EUR"},
	})
	if sale.Booking == nil {
		t.Fatalf("nothing was booked: %+v", sale)
	}
	var shown struct {
		Booking struct {
			Lines []struct {
				Unit struct{ RatePlan struct{ Code string } }
			}
		}
		Node struct {
			Code               string
			CancellationPolicy struct{ Name string }
		}
	}
	guest.get(`query($id: ID!, $plan: ID!) { booking(id: $id) { lines { unit { ratePlan { code } } } }
		node(id: $plan) { ... on RatePlan { code cancellationPolicy { name } } } }`, vars{"id": sale.Booking.ID, "plan": saver}, &shown)
	for _, line := range shown.Booking.Lines {
		if line.Unit.RatePlan.Code != "SAVER" {
			t.Errorf("got %+v", shown)
		}
	}
	if len(shown.Booking.Lines) != 2 || shown.Node.CancellationPolicy.Name != "Non-refundable" {
		t.Errorf("got %+v", shown)
	}
	// The plan was sold as not refundable: a cancellation keeps all, whatever is set afterwards.
	h.admin.get(`mutation($input: UpdateRatePlanInput!) { updateRatePlan(input: $input) { refundable } }`, vars{"input": vars{"ratePlan": saver, "refundable": true}}, &map[string]any{})
	var cancelled struct {
		CancelBooking struct {
			Fee, Refund struct{ AmountMinor int64 }
		}
	}
	guest.get(`mutation($input: CancelBookingInput!) { cancelBooking(input: $input) { ... on Cancellation { fee { amountMinor } refund { amountMinor } } } }`,
		vars{"input": vars{"requestKey": key(), "booking": sale.Booking.ID, "dryRun": true}}, &cancelled)
	if cancelled.CancelBooking.Fee.AmountMinor != 26_254 || cancelled.CancelBooking.Refund.AmountMinor != 0 {
		t.Errorf("got %+v", cancelled)
	}
}

// A rate plan restricts what is sold as it besides what the room type says, and nothing else; whyNot and
// the refused hold name the same rules, and a hold that a rule meets later is neither extended nor paid.
func TestRatePlansRestrictWhatIsSoldAsThem(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	plan := h.newRatePlan(vars{"code": "EARLY", "derivation": vars{"basisPoints": -1000}})
	guest := h.guest()
	stay := vars{"roomType": h.double, "ratePlan": plan, "checkIn": "2030-03-11", "checkOut": "2030-03-13"}
	standard := vars{"roomType": h.double, "checkIn": "2030-03-11", "checkOut": "2030-03-13"}
	if got := h.objections(guest, stay); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	before := h.placeStay(guest, stay)
	h.planNights(plan, "2030-03-11", "2030-03-11", vars{"minStayArrival": 3, "closedToArrival": true})
	h.planNights(plan, "2030-03-12", "2030-03-12", vars{"stopSell": true})
	h.nights(h.double, "2030-03-13", "2030-03-13", vars{"closedToDeparture": true})
	want := []string{
		"STOP_SELL RATE_PLAN 2030-03-12", "CLOSED_TO_ARRIVAL RATE_PLAN 2030-03-11", "MIN_STAY_ARRIVAL RATE_PLAN 2030-03-11",
		"CLOSED_TO_DEPARTURE ROOM_TYPE 2030-03-13",
	}
	if got := h.objections(guest, stay); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for what, got := range map[string]held{"placed": h.placeStay(guest, stay), "extended": h.change(guest, "extendHold", "ExtendHoldInput", vars{"requestKey": key(), "hold": before.ID})} {
		var codes []string
		for _, line := range got.Lines {
			codes = append(codes, line.Code)
		}
		if !slices.Equal(codes, []string{"STOP_SELL", "CLOSED_TO_ARRIVAL", "MIN_STAY_ARRIVAL", "CLOSED_TO_DEPARTURE"}) {
			t.Errorf("%s: got %v", what, codes)
		}
	}
	if sale := h.checkout(guest, vars{
		"requestKey": key(), "hold": before.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 21_600, "currency": "EUR"},
	}); sale.Booking != nil || sale.Code != "STOP_SELL" {
		t.Errorf("got %+v", sale)
	}
	if got := h.objections(guest, standard); !slices.Equal(got, want[3:]) {
		t.Errorf("at the standard rate: got %v", got)
	}
	h.admin.get(`mutation($input: UpdateRatePlanInput!) { updateRatePlan(input: $input) { state } }`, vars{"input": vars{"ratePlan": plan, "state": "CLOSED"}}, &map[string]any{})
	if got := h.objections(guest, stay); !slices.Contains(got, "RATE_PLAN_CLOSED RATE_PLAN ") {
		t.Errorf("closed: got %v", got)
	}
}

// Windows, guests, stock and channels speak with codes of their own.
func TestWhyNotNamesEveryRule(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	plan := h.newRatePlan(vars{"code": "EARLY", "derivation": vars{"basisPoints": -1000}})
	guest := h.guest()
	stay := vars{"roomType": h.double, "ratePlan": plan, "checkIn": "2030-03-11", "checkOut": "2030-03-12", "rooms": 4, "guests": []vars{{"adults": 3}}}
	set := func(input vars) {
		h.admin.get(`mutation($input: SetBookingWindowInput!) { setBookingWindow(input: $input) { minAdvanceDays maxAdvanceDays cutoffTime } }`, vars{"input": input}, &map[string]any{})
	}
	set(vars{"property": h.property, "maxAdvanceDays": 30, "cutoffTime": "18:00"})
	h.admin.get(`mutation($input: SetChannelSalesInput!) { setChannelSales(input: $input) { ratePlanIds standardRate } }`,
		vars{"input": vars{"channel": h.shop, "ratePlans": []string{}, "commissionBasisPoints": 0}}, &map[string]any{})
	want := []string{"TOO_MANY_GUESTS ROOM_TYPE ", "TOO_EARLY_TO_BOOK HOTEL 2030-03-11", "NOT_SOLD_BY_CHANNEL CHANNEL ", "SOLD_OUT ROOM_TYPE 2030-03-11"}
	if got := h.objections(guest, stay); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := h.placeStay(guest, stay); got.Code != "TOO_MANY_GUESTS" {
		t.Errorf("got %+v", got)
	}
	set(vars{"property": h.property})
	if got := h.objections(guest, vars{"roomType": h.double, "checkIn": "2030-03-11", "checkOut": "2030-03-12"}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// What is wrong with a rate plan, its nights, a window or a party is named by its field, and nothing of it
// is written.
func TestBadRatePlans(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	own := h.ratePlan("FLEX")
	derived := h.newRatePlan(vars{"code": "SAVER", "derivation": vars{"parent": own, "basisPoints": -1000}})
	h.planNights(own, "2030-03-11", "2030-03-11", vars{"minStayArrival": 3})
	const create, update, nights = "createRatePlan:CreateRatePlanInput", "updateRatePlan:UpdateRatePlanInput", "setNights:SetNightsInput"
	on := func(plan string, change vars) vars {
		return vars{"roomType": h.double, "ratePlan": plan, "nights": vars{"from": "2030-03-11", "to": "2030-03-12"}, "change": change}
	}
	for field, attempt := range map[string]struct {
		mutation string
		input    vars
	}{
		"input.code":                   {create, vars{"requestKey": key(), "property": h.property, "code": "a b", "name": "N"}},
		"input.derivation":             {create, vars{"requestKey": key(), "property": h.property, "code": "A", "name": "N", "derivation": vars{}}},
		"input.derivation.basisPoints": {create, vars{"requestKey": key(), "property": h.property, "code": "A", "name": "N", "derivation": vars{"basisPoints": -10_001}}},
		"input.derivation.parent":      {create, vars{"requestKey": key(), "property": h.property, "code": "A", "name": "N", "derivation": vars{"parent": derived, "basisPoints": 1}}},
		"input.change.physical":        {nights, on(own, vars{"physical": 1})},
		"input.change.houseLimit":      {nights, on(own, vars{"houseLimit": 1})},
		"input.change.rateMinor":       {nights, on(derived, vars{"rateMinor": 1})},
		"input.change.maxStayArrival":  {nights, on(own, vars{"maxStayArrival": 2})},
		"input.maxAdvanceDays":         {"setBookingWindow:SetBookingWindowInput", vars{"property": h.property, "minAdvanceDays": 2, "maxAdvanceDays": 1}},
		"input.property":               {"setBookingWindow:SetBookingWindowInput", vars{}},
	} {
		name, input, _ := strings.Cut(attempt.mutation, ":")
		answer := h.admin.post(`mutation($input: `+input+`!) { `+name+`(input: $input) { __typename } }`, vars{"input": attempt.input})
		if !strings.Contains(answer.body, `"field":"`+field+`"`) {
			t.Errorf("%s: got %s", field, answer.body)
		}
	}
	for field, guests := range map[string][]vars{
		"input.lines[0].stay.guests":                 {{"adults": 1}, {"adults": 1}},
		"input.lines[0].stay.guests[0].adults":       {{"adults": 0}},
		"input.lines[0].stay.guests[0].childAges[1]": {{"adults": 1, "childAges": []int{3, 18}}},
	} {
		answer := h.guest().post(`mutation($input: PlaceHoldInput!) { placeHold(input: $input) { __typename } }`, vars{"input": vars{
			"requestKey": key(), "lines": []vars{{"stay": vars{"roomType": h.double, "checkIn": "2030-03-11", "checkOut": "2030-03-12", "guests": guests}}},
		}})
		if !strings.Contains(answer.body, `"field":"`+field+`"`) {
			t.Errorf("%s: got %s", field, answer.body)
		}
	}
	// A parent keeps its own prices.
	answer := h.admin.post(`mutation($input: UpdateRatePlanInput!) { updateRatePlan(input: $input) { id } }`, vars{"input": vars{"ratePlan": own, "derivation": vars{"basisPoints": 5}}})
	if !strings.Contains(answer.body, `"field":"input.derivation"`) {
		t.Errorf("got %s", answer.body)
	}
}
