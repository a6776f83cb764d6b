package graph_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Each role does its work where it is bound, and is refused elsewhere.
func TestRolesWorkWhereTheyAreBound(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	beside := newPlaceBeside(h)
	setNights := func(h house) (string, vars) {
		return `mutation($input: SetNightsInput!) { setNights(input: $input) { nights } }`,
			vars{"input": vars{"roomType": h.double, "nights": vars{"from": "2030-05-01", "to": "2030-05-03"}, "change": vars{"physical": 2, "rateMinor": 100}}}
	}
	setState := func(h house) (string, vars) {
		return `mutation($input: SetShowStateInput!) { setShowState(input: $input) { id } }`, vars{"input": vars{"show": h.show, "state": "ON_SALE"}}
	}
	createVenue := func(house) (string, vars) {
		return `mutation($input: CreateSiteInput!) { createVenue(input: $input) { id } }`, vars{"input": site("Another")}
	}
	readShow := func(h house) (string, vars) {
		return `query($id: ID!) { show(id: $id) { id venue { id } chart { id } seatMap { asOf } priceLevels { id } pools { available } } }`, vars{"id": h.show}
	}
	readHotel := func(h house) (string, vars) {
		return `query($id: ID!) { hotel(id: $id) { id roomTypes { id } calendar(from: "2030-03-10", to: "2030-03-12") { asOf } } }`, vars{"id": h.property}
	}
	const (
		yes  = ""
		no   = "FORBIDDEN"
		none = "NOT_FOUND"
	)
	type act func(house) (string, vars)
	acts := map[string]act{"nights": setNights, "state": setState, "venue": createVenue, "show": readShow, "hotel": readHotel}
	for _, c := range []struct {
		role         string
		scope        vars
		here, beside map[string]string
	}{
		{"TENANT_OWNER", nil, map[string]string{"nights": yes, "state": yes, "venue": yes, "show": yes, "hotel": yes}, map[string]string{"nights": yes, "show": yes}},
		{"CHAIN_MANAGER", nil, map[string]string{"nights": yes, "state": no, "venue": no, "show": no, "hotel": yes}, map[string]string{"nights": yes, "hotel": yes}},
		{"CHAIN_MANAGER", vars{"property": h.property}, map[string]string{"nights": yes, "hotel": yes, "show": no}, map[string]string{"nights": none, "hotel": none}},
		{"PROPERTY_MANAGER", vars{"property": h.property}, map[string]string{"nights": yes, "hotel": yes, "state": no, "venue": no}, map[string]string{"nights": none, "hotel": none}},
		{"VENUE_MANAGER", vars{"venue": h.venue}, map[string]string{"state": yes, "show": yes, "nights": no, "hotel": no, "venue": no}, map[string]string{"state": none, "show": none}},
		{"VENUE_MANAGER", vars{"show": h.show}, map[string]string{"state": yes, "show": yes, "nights": no}, map[string]string{"state": none, "show": none}},
		{"REVENUE_MANAGER", nil, map[string]string{"nights": yes, "state": no, "show": yes, "hotel": yes}, map[string]string{"nights": yes}},
		{"REVENUE_MANAGER", vars{"property": h.property}, map[string]string{"nights": yes, "show": none}, map[string]string{"nights": none}},
		{"BOX_OFFICE", vars{"show": h.show}, map[string]string{"show": yes, "state": no, "hotel": none}, map[string]string{"show": none}},
		{"CHANNEL_MANAGER", nil, map[string]string{"show": yes, "state": no, "nights": no}, map[string]string{"show": yes}},
		{"SUPPORT", nil, map[string]string{"show": yes, "hotel": yes, "state": no, "nights": no}, map[string]string{"show": yes}},
		{"AUDITOR", vars{"venue": h.venue}, map[string]string{"show": yes, "hotel": none, "state": no}, map[string]string{"show": none}},
	} {
		as := h.staff(c.role, c.scope)
		for where, wants := range map[*house]map[string]string{&h: c.here, &beside: c.beside} {
			for name, want := range wants {
				query, variables := acts[name](*where)
				answer := as.post(query, variables)
				got := yes
				if len(answer.Errors) > 0 {
					got = answer.Errors[0].code()
				}
				if got != want {
					t.Errorf("%s bound to %v: %s, in place %v: got %s, want %q", c.role, c.scope, name, where == &h, answer.body, want)
				}
			}
		}
	}
	lists := `{ hotels { nodes { id } } venues { nodes { id } } shows(region: "eu") { nodes { id } } }`
	for _, c := range []struct {
		role   string
		scope  vars
		lists  string
		wanted []string
		other  string
	}{
		{"PROPERTY_MANAGER", vars{"property": h.property}, `{ hotels { nodes { id } } }`, []string{h.property}, beside.property},
		{"BOX_OFFICE", vars{"venue": h.venue}, lists, []string{h.venue, h.show}, beside.venue},
		{"BOX_OFFICE", vars{"show": h.show}, lists, []string{h.venue, h.show}, beside.show},
		{"CHAIN_MANAGER", nil, `{ hotels { nodes { id } } }`, []string{h.property, beside.property}, h.venue},
	} {
		body := h.staff(c.role, c.scope).post(c.lists, nil).body
		if slices.ContainsFunc(c.wanted, func(id string) bool { return !strings.Contains(body, id) }) || strings.Contains(body, c.other) || strings.Contains(body, "errors") {
			t.Errorf("%s of %v lists %s", c.role, c.scope, body)
		}
	}
}

// A box office sells at its show, sees what was sold there, and nothing of what is sold elsewhere.
func TestTheBoxOfficeOfAShow(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	beside := newPlaceBeside(h)
	own, _ := h.ids()
	there, _ := beside.ids()
	clerk := h.staff("BOX_OFFICE", vars{"show": h.show})
	hold := h.hold(clerk, vars{"seats": vars{"show": h.show, "seats": []string{h.seats[3]}}})
	sale := h.checkout(clerk, vars{
		"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 5000, "currency": "EUR"},
	})
	if sale.Booking == nil {
		t.Fatalf("nothing was sold: %+v", sale)
	}
	place := `mutation($input: PlaceHoldInput!) { placeHold(input: $input) { __typename } }`
	for _, pool := range []string{beside.standing, randomID(beside.standing)} {
		e := clerk.refused(place, vars{"input": vars{"requestKey": key(), "lines": []vars{{"pool": vars{"pool": pool, "quantity": 1}}}}})
		if e.code() != "NOT_FOUND" {
			t.Errorf("a hold elsewhere: %+v", e)
		}
	}
	read := `query($id: ID!) { booking(id: $id) { id } }`
	clerk.get(read, vars{"id": own["book"]}, &struct{ Booking created }{})
	clerk.get(read, vars{"id": sale.Booking.ID}, &struct{ Booking created }{})
	if e := clerk.refused(read, vars{"id": there["book"]}); e.code() != "NOT_FOUND" {
		t.Errorf("a booking elsewhere: %+v", e)
	}
	var mine struct{ Bookings struct{ Nodes []created } }
	clerk.get(`{ bookings(region: "eu") { nodes { id } } }`, nil, &mine)
	if len(mine.Bookings.Nodes) != 1 || mine.Bookings.Nodes[0].ID != sale.Booking.ID {
		t.Errorf("the clerk's own sales: %+v", mine)
	}
}

// Support gives back up to its limit on one booking, in however many parts.
func TestSupportRefundsUpToItsLimit(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	own, _ := h.ids()
	refund := func(as client, minor int) reply {
		return as.post(`mutation($input: RefundBookingInput!) { refundBooking(input: $input) { __typename ... on Refusal { message } } }`, vars{"input": vars{
			"requestKey": key(), "booking": own["book"], "amount": vars{"amountMinor": minor, "currency": "EUR"}, "reason": "A cold meal",
		}})
	}
	reader := h.staff("SUPPORT", nil)
	if r := refund(reader, 1); len(r.Errors) != 1 || r.Errors[0].code() != "FORBIDDEN" {
		t.Errorf("support without a limit: %s", r.body)
	}
	helper := h.staff("SUPPORT", vars{"refundLimit": vars{"amountMinor": 500, "currency": "EUR"}})
	for _, c := range []struct {
		minor int
		want  string
	}{{501, "FORBIDDEN"}, {300, ""}, {201, "FORBIDDEN"}, {200, ""}, {1, "FORBIDDEN"}} {
		r := refund(helper, c.minor)
		got := ""
		if len(r.Errors) > 0 {
			got = r.Errors[0].code()
		}
		if got != c.want || strings.Contains(r.body, "Refused") {
			t.Errorf("%d: %s", c.minor, r.body)
		}
	}
}

// What staff read and do at their own place they are refused at any other, as if nothing were there.
func TestStaffOfAPlaceReportAndActThere(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	beside := newPlaceBeside(h)
	hotel := h.staff("PROPERTY_MANAGER", vars{"property": h.property})
	hall := h.staff("VENUE_MANAGER", vars{"venue": h.venue})
	own, there := h.houseSeats(h.seats[5]), beside.houseSeats(beside.seats[5])
	beside.openRoom(vars{})
	for _, c := range []struct {
		name           string
		as             client
		query          string
		own, elsewhere vars
	}{
		{"occupancy", hotel, `query($id: ID!) { hotel(id: $id) { occupancy(from: "2030-03-10", to: "2030-03-12") { nights { night } } } }`, vars{"id": h.property}, vars{"id": beside.property}},
		{
			"pick-up",
			hotel, `query($id: ID!) { hotel(id: $id) { pickUp(from: "2030-03-10", to: "2030-03-12", since: "2026-01-01T00:00:00Z", until: "2026-02-01T00:00:00Z") { nights { night } } } }`,
			vars{"id": h.property},
			vars{"id": beside.property},
		},
		{"night's history", hotel, `query($id: ID!) { nightHistory(roomType: $id, night: "2030-03-10") { nodes { at } } }`, vars{"id": h.double}, vars{"id": beside.double}},
		{"seat's history", hall, `query($show: ID!, $seat: ID!) { seatHistory(show: $show, seat: $seat) { nodes { at } } }`, vars{"show": h.show, "seat": h.seats[0]}, vars{"show": beside.show, "seat": beside.seats[0]}},
		{"pool's history", hall, `query($id: ID!) { poolHistory(pool: $id) { nodes { at } } }`, vars{"id": h.standing}, vars{"id": beside.standing}},
		{"waiting room", hall, `mutation($input: OpenWaitingRoomInput!) { openWaitingRoom(input: $input) { state } }`, roomInput(h.show), roomInput(beside.show)},
		{"set waiting room", hall, `mutation($input: UpdateWaitingRoomInput!) { updateWaitingRoom(input: $input) { state } }`, vars{"input": vars{"show": h.show, "ratePerMinute": 10}}, vars{"input": vars{"show": beside.show, "ratePerMinute": 10}}},
		{"waiting list", hall, `mutation($input: SetWaitingListInput!) { setWaitingList(input: $input) { open } }`, vars{"input": vars{"show": h.show, "open": true}}, vars{"input": vars{"show": beside.show, "open": true}}},
		{"hotel's waiting list", hotel, `query($id: ID!) { waitingList(property: $id) { open entries { nodes { id } } } }`, vars{"id": h.property}, vars{"id": beside.property}},
		{"release", hall, `mutation($input: ReleaseSeatBlockInput!) { releaseSeatBlock(input: $input) { id } }`, vars{"input": vars{"requestKey": key(), "block": own}}, vars{"input": vars{"requestKey": key(), "block": there}}},
	} {
		if answer := c.as.post(c.query, c.own); len(answer.Errors) > 0 {
			t.Errorf("%s at the own place: %s", c.name, answer.body)
		}
		if answer := c.as.post(c.query, c.elsewhere); len(answer.Errors) == 0 || answer.Errors[0].code() != "NOT_FOUND" {
			t.Errorf("%s elsewhere: %s", c.name, answer.body)
		}
	}
	// Too few stays are over to give advice, which only who may ask is told.
	advice := `query($input: OversellAdviceInput!) { oversellAdvice(input: $input) { asOf } }`
	tomorrow, later := time.Now().AddDate(0, 0, 2).Format(time.DateOnly), time.Now().AddDate(0, 0, 3).Format(time.DateOnly)
	for room, want := range map[string]string{h.double: "CONFLICT", beside.double: "NOT_FOUND"} {
		if e := hotel.refused(advice, vars{"input": vars{"roomType": room, "from": tomorrow, "to": later}}); e.code() != want {
			t.Errorf("advice: %+v, expected %s", e, want)
		}
	}
}

func roomInput(show string) vars {
	return vars{"input": vars{
		"requestKey": key(), "show": show, "opensAt": time.Now().Add(-time.Minute).Format(time.RFC3339), "closesAt": time.Now().Add(time.Hour).Format(time.RFC3339),
		"windowSeconds": 0, "ratePerMinute": 600,
	}}
}

// A limit holds at the place of its binding.
func TestARefundLimitHoldsWhereItIsBound(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	beside := newPlaceBeside(h)
	own, _ := h.ids()
	there, _ := beside.ids()
	member, helper := h.invite()
	h.bind(member.ID, "SUPPORT", vars{"venue": h.venue, "refundLimit": vars{"amountMinor": 500, "currency": "EUR"}})
	h.bind(member.ID, "SUPPORT", vars{"venue": beside.venue, "refundLimit": vars{"amountMinor": 100, "currency": "EUR"}})
	for _, c := range []struct {
		booking string
		minor   int
		want    string
	}{{own["book"], 500, ""}, {there["book"], 101, "FORBIDDEN"}, {there["book"], 100, ""}} {
		r := helper.post(`mutation($input: RefundBookingInput!) { refundBooking(input: $input) { __typename } }`, vars{"input": vars{
			"requestKey": key(), "booking": c.booking, "amount": vars{"amountMinor": c.minor, "currency": "EUR"}, "reason": "A cold meal",
		}})
		got := ""
		if len(r.Errors) > 0 {
			got = r.Errors[0].code()
		}
		if got != c.want {
			t.Errorf("%d of %s: %s, expected %q", c.minor, c.booking, r.body, c.want)
		}
	}
}
