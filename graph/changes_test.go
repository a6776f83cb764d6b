package graph_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	graphql "github.com/vektah/gqlparser/v2/ast"
)

// buyersMutations are those that no admin's permission is asked for: what they do is in the histories
// of the units and in the bookings.
func buyersMutations() []string {
	return []string{"startGuestSession", "placeHold", "extendHold", "releaseHold", "checkout", "joinWaitingRoom", "admitVisitor", "joinWaitingList", "leaveWaitingList"}
}

// provedElsewhere are mutations that need a state that only faults or years bring about, with the test
// that looks for their entries.
func provedElsewhere() map[string]string {
	return map[string]string{
		"retryRefund": "bookings.TestARefundThatFailedForGoodIsTriedAgain",
		// It writes as setNights does.
		"applyOversellAdvice": "bookings.TestAppliedAdviceSells",
		"resolveReview":       "bookings.TestARefundThatIsGivenUpWaitsForAPerson",
		// There must be more guests than rooms.
		"compensate": "graph.TestAStayIsMovedSettledAndWalked",
		// The day of arrival must have come, or be over.
		"checkIn":       "bookings.TestGuestsComeAndGo",
		"checkOut":      "bookings.TestGuestsComeAndGo",
		"departEarly":   "bookings.TestGuestsLeaveEarly",
		"releaseNoShow": "bookings.TestNoShows",
	}
}

type entry struct {
	ID, Actor, Action, Resource string
	Address, RequestID, Reason  *string
	Before, After               json.RawMessage
}

func (h *house) entries(as client, arguments vars) []entry {
	h.server.t.Helper()
	var answer struct{ AuditEntries struct{ Nodes []entry } }
	var declared, passed []string
	types := map[string]string{"region": "String", "resource": "String", "actor": "String", "since": "DateTime", "until": "DateTime", "tenant": "ID"}
	for name := range arguments {
		declared, passed = append(declared, "$"+name+": "+types[name]), append(passed, name+": $"+name)
	}
	query := "query"
	if len(declared) > 0 {
		query += "(" + strings.Join(declared, ", ") + ")"
	}
	as.get(query+` { auditEntries(first: 100`+strings.Join(append([]string{""}, passed...), ", ")+`) { nodes { id actor action resource address requestId reason before after } } }`, arguments, &answer)
	return answer.AuditEntries.Nodes
}

// Every mutation that an admin's permission allows leaves an entry in the log of changes, with who it
// was and from where. The walk goes over the schema, so that one that is added is asked, too.
func TestEveryAdminMutationIsLogged(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	for _, field := range schema().Mutation.Fields {
		if slices.Contains(buyersMutations(), field.Name) || provedElsewhere()[field.Name] != "" {
			continue
		}
		h := newHouse(t, s)
		own, _ := h.ids()
		p := place{operation: graphql.Mutation, field: field}
		variables := filler{schema: schema(), own: own}.variables(p)
		h.complete(field.Name, variables, own)
		as, arguments := h.admin, vars{"region": "eu"}
		if field.Name == "createTenant" {
			as = s.operator
		}
		before := len(h.entries(h.admin, arguments))
		answer := as.post(operation(schema(), p), variables)
		if len(answer.Errors) > 0 || strings.Contains(answer.body, "Refused") {
			t.Errorf("%s with %v was refused: %s", field.Name, variables, answer.body)
			continue
		}
		if field.Name == "createTenant" {
			continue // its entry is the first of the new tenant's log: see below
		}
		after := h.entries(h.admin, arguments)
		if len(after) <= before {
			t.Errorf("%s left no entry", field.Name)
			continue
		}
		e := after[0]
		if e.Actor != h.adminKey || e.Address == nil || *e.Address != "127.0.0.1" || e.RequestID == nil || e.Action == "" || e.Resource == "" ||
			string(e.Before) == "null" && string(e.After) == "null" {
			t.Errorf("%s left the entry %+v, before %s, after %s", field.Name, e, e.Before, e.After)
		}
	}
}

// complete adds to the variables of a mutation what it needs besides what the schema requires.
func (h *house) complete(mutation string, variables vars, own map[string]string) {
	input, _ := variables["input"].(vars)
	switch mutation {
	case "setNights":
		input["roomType"], input["nights"], input["change"] = h.double, vars{"from": "2030-03-14", "to": "2030-03-15"}, vars{"stopSell": true}
	case "createShow":
		input["priceLevels"] = []vars{{"name": "All", "amountMinor": 100}}
		input["pools"] = []vars{{"name": "Floor", "priceLevel": "All", "capacity": 5}}
	case "setTerms":
		input["holdSeconds"] = 77
	case "changePresaleCode":
		input["uses"] = 7
	case "removeCancellationPolicy":
		h.setPolicy(vars{"name": "Firm", "finalFee": vars{"basisPoints": 5000}})
	case "assignRoom":
		input["booking"] = h.soldStay()
		h.newRooms("101")
	case "unassignRoom":
		input["booking"] = h.soldStay()
		h.newRooms("101")
		h.admin.get(`mutation($input: AssignRoomInput!) { assignRoom(input: $input) { ... on DeskStay { state } } }`,
			vars{"input": vars{"requestKey": key(), "booking": input["booking"]}}, new(any))
	case "assignRooms":
		h.soldStay()
		h.newRooms("101")
	case "changeStay":
		input["booking"], input["rooms"] = h.soldStay(), 2
	case "setRateAdjustments":
		input["adjustments"] = []vars{{"minNights": 3, "basisPoints": -500}}
	case "createPromotion", "updatePromotion":
		input["terms"] = vars{"name": "Early", "basisPoints": 1000}
	case "setTaxRate":
		input["property"] = h.property
	case "updateWebhookEndpoint":
		input["description"] = "Another one"
	case "revokeKey":
		for name, value := range variables {
			if value == own["key"] {
				variables[name] = h.spareKey()
			}
		}
		if input != nil && input["key"] == own["key"] {
			input["key"] = h.spareKey()
		}
	case "createVenue", "createProperty":
		variables["input"] = site("Another")
	case "openWaitingRoom":
		h.admin.get(`mutation($show: ID!) { closeWaitingRoom(show: $show) { state } }`, vars{"show": h.show}, new(any))
		input["opensAt"], input["closesAt"] = "2030-03-14T10:00:00Z", "2030-03-14T12:00:00Z"
	case "setWaitingList":
		input["show"], input["maxEntries"] = h.show, 7
	case "updateWaitingRoom":
		input["ratePerMinute"] = 7
	case "createAllotment":
		input["pool"] = h.standing
	case "makeAllotmentDefinite":
		var answer struct{ CreateAllotment created }
		h.admin.get(`mutation($input: CreateAllotmentInput!) { createAllotment(input: $input) { ... on Allotment { id } } }`,
			vars{"input": vars{"requestKey": key(), "channel": h.boxOffice, "name": "Tentative", "pool": h.standing, "quantity": 1}}, &answer)
		input["allotment"] = answer.CreateAllotment.ID
	case "updateAllotment":
		input["name"] = "Another name"
	case "createSeatBlock":
		input["reason"], input["seats"] = "Camera", vars{"seats": []string{h.seats[4]}}
	case "assignSeats":
		input["seats"] = vars{"seats": []string{h.seats[4]}}
	case "moveSeats":
		input["fromBlock"], input["toBlock"], input["seats"] = own["block"], h.houseSeats(h.seats[4]), vars{"seats": []string{h.seats[9]}}
	case "releaseSeats":
		input["seats"] = vars{"seats": []string{h.seats[9]}}
	case "changeSeatBlock":
		input["note"] = "Another note"
	case "createRatePlan":
		input["code"] = "BAR"
	case "updateRatePlan":
		input["name"] = "Another name"
	case "setBookingWindow":
		input["property"], input["minAdvanceDays"] = h.property, 2
	case "setChannelSales":
		input["commissionBasisPoints"] = 100
	case "inviteMember":
		input["email"] = "night-audit@example.com"
	case "bindRole":
		input["role"] = "BOX_OFFICE"
	case "createTenant":
		input["slug"] = "t-" + strings.ToLower(key()[:8])
	case "replayEventsBetween":
		input["from"], input["to"] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	}
}

// What an entry says, how entries are found, and that nobody else finds them.
func TestTheLogOfChanges(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	h.nights(h.double, "2030-03-10", "2030-03-12", vars{"outOfOrder": 1, "oversellPercent": 50})
	found := h.entries(h.admin, vars{"resource": h.double})
	if len(found) != 3 {
		t.Fatalf("got %+v", found)
	}
	var before, after []struct {
		From, To                                        string
		Physical, OutOfOrder, Oversell, OversellPercent int
		RateMinor                                       *int
	}
	if err := json.Unmarshal(found[0].Before, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(found[0].After, &after); err != nil {
		t.Fatal(err)
	}
	// Half of the two rooms that are left is one.
	if fmt.Sprintf("%+v %+v", before, after) != "[{From:2030-03-10 To:2030-03-12 Physical:3 OutOfOrder:0 Oversell:0 OversellPercent:0 RateMinor:<nil>}] "+
		"[{From:2030-03-10 To:2030-03-12 Physical:3 OutOfOrder:1 Oversell:1 OversellPercent:50 RateMinor:<nil>}]" || found[0].Action != "nights.set" {
		t.Errorf("got %+v from %+v", after, before)
	}
	if found[1].Action != "nights.set" || found[2].Action != "roomtype.create" || string(found[2].Before) != "null" {
		t.Errorf("got %+v", found)
	}
	if byActor := h.entries(h.admin, vars{"actor": h.adminKey, "resource": h.double}); len(byActor) != 3 {
		t.Errorf("by actor: %+v", byActor)
	}
	if none := h.entries(h.admin, vars{"until": "2020-01-01T00:00:00Z"}); len(none) != 0 {
		t.Errorf("before there was anything: %+v", none)
	}
	for _, e := range h.entries(h.admin, nil) {
		if strings.Contains(string(e.After), h.admin.key) || strings.Contains(strings.ToLower(string(e.After)), "secret") {
			t.Errorf("an entry holds a secret: %+v", e)
		}
	}
	if theirs := other.entries(other.admin, vars{"resource": h.double}); len(theirs) != 0 {
		t.Errorf("another tenant reads %+v", theirs)
	}
	if e := h.partner.refused(`{ auditEntries(region: "eu") { nodes { id } } }`, nil); e.code() != "FORBIDDEN" {
		t.Errorf("a partner: %+v", e)
	}
	// A tenant's first entry is the operator's.
	all := h.entries(h.admin, vars{"resource": h.tenant})
	if len(all) != 1 || all[0].Action != "tenant.create" || all[0].Actor == h.adminKey {
		t.Errorf("got %+v", all)
	}
}
