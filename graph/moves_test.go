package graph_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A stay is moved, its difference settled, and on the night that has too few rooms a guest is walked, all
// through the API; the report and its CSV say what it cost.
func TestAStayIsMovedSettledAndWalked(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	h.nights(h.double, "2030-04-01", "2030-04-10", vars{"physical": 1, "oversell": 1, "rateMinor": 10_000})
	guest := h.guest()
	first := h.book(guest, h.stay(h.double, "2030-04-02", "2030-04-03", 1))
	second := h.book(h.guest(), h.stay(h.double, "2030-04-03", "2030-04-04", 1))
	type amount struct{ AmountMinor int }
	type change struct {
		Typename           string `json:"__typename"`
		ID                 string
		Code, DueState     string
		Due, Added, Refund amount
		Booking            struct{ Version int }
		Lines              []struct{ Code, Night string }
		Compensation       struct{ Cost, Refunded amount }
	}
	const fields = `__typename ... on StayChange { id dueState due { amountMinor } added { amountMinor } refund { amountMinor } booking { version } compensation { cost { amountMinor } refunded { amountMinor } } }
		... on StayChangeRefused { code lines { code night } }`
	move := func(as client, input vars) change {
		var answer struct{ ChangeStay change }
		input["requestKey"] = key()
		as.get(`mutation($input: ChangeStayInput!) { changeStay(input: $input) { `+fields+` } }`, vars{"input": input}, &answer)
		return answer.ChangeStay
	}
	wanted := vars{"booking": first, "newCheckIn": "2030-04-03", "newCheckOut": "2030-04-05", "dryRun": true}
	if told := move(guest, wanted); told.ID != "" || told.Due.AmountMinor != 10_000 || told.Booking.Version != 2 {
		t.Errorf("the dry run is %+v", told)
	}
	wanted["dryRun"], wanted["expectedTotal"] = false, euro(20_000)
	moved := move(guest, wanted)
	if moved.ID == "" || moved.Due.AmountMinor != 10_000 || moved.DueState != "DUE" {
		t.Fatalf("moved is %+v", moved)
	}
	h.nights(h.double, "2030-04-06", "2030-04-06", vars{"stopSell": true})
	if refused := move(guest, vars{"booking": first, "newCheckOut": "2030-04-07"}); refused.Code != "STOP_SELL" || len(refused.Lines) != 1 || refused.Lines[0].Night != "2030-04-06" {
		t.Errorf("refused is %+v", refused)
	}
	var due struct{ AmountsDue struct{ Nodes []change } }
	h.admin.get(`query { amountsDue(region: "eu") { nodes { id due { amountMinor } } } }`, nil, &due)
	if n := due.AmountsDue.Nodes; len(n) != 1 || n[0].ID != moved.ID {
		t.Errorf("due is %+v", n)
	}
	var settled struct{ SettleAmountDue change }
	h.admin.get(`mutation($input: SettleAmountDueInput!) { settleAmountDue(input: $input) { __typename ... on StayChange { dueState } } }`,
		vars{"input": vars{"requestKey": key(), "change": moved.ID, "method": "CARD", "reference": "terminal 7"}}, &settled)
	if settled.SettleAmountDue.DueState != "SETTLED" {
		t.Errorf("settled is %+v", settled)
	}

	// Two guests, one room.
	h.admin.get(`mutation($input: SetWalkTermsInput!) { setWalkTerms(input: $input) { night { amountMinor } } }`,
		vars{"input": vars{"property": h.property, "night": euro(9_000), "goodwill": euro(5_000), "transport": euro(2_500)}}, &struct{ SetWalkTerms struct{ Night amount } }{})
	type proposal struct {
		Kind         string
		Item         int
		Booking      created
		Compensation struct{ Cost amount }
	}
	var found struct {
		CompensationProposals struct {
			Overbooked []struct{ Short int }
			Proposals  []proposal
		}
	}
	const proposals = `query($property: ID!) { compensationProposals(property: $property, night: "2030-04-03") { overbooked { short } proposals { kind item booking { id } compensation { cost { amountMinor } } } } }`
	h.admin.get(proposals, vars{"property": h.property}, &found)
	ways := found.CompensationProposals
	if len(ways.Overbooked) != 1 || ways.Overbooked[0].Short != 1 || len(ways.Proposals) == 0 {
		t.Fatalf("the proposals are %+v", ways)
	}
	var walk proposal
	for _, p := range ways.Proposals {
		if p.Kind == "WALK" && walk.Kind == "" {
			walk = p
		}
	}
	if walk.Booking.ID != second || walk.Compensation.Cost.AmountMinor != 16_500 {
		t.Errorf("the first walk is %+v", walk)
	}
	compensate := func(cost int) change {
		var answer struct{ Compensate change }
		h.admin.get(`mutation($input: CompensateInput!) { compensate(input: $input) { `+fields+` } }`, vars{"input": vars{
			"requestKey": key(), "booking": walk.Booking.ID, "item": walk.Item, "night": "2030-04-03", "kind": "WALK", "expectedCost": euro(cost), "refund": true, "reason": "a burst pipe",
		}}, &answer)
		return answer.Compensate
	}
	if stale := compensate(1); stale.Code != "PROPOSAL_STALE" {
		t.Errorf("another cost is %+v", stale)
	}
	if done := compensate(16_500); done.Compensation.Cost.AmountMinor != 16_500 || done.Compensation.Refunded.AmountMinor != 10_000 {
		t.Errorf("walked is %+v", done)
	}
	if stale := compensate(16_500); stale.Code != "PROPOSAL_STALE" && stale.Code != "NOT_BOOKED" {
		t.Errorf("walked twice is %+v", stale)
	}
	var report struct {
		Hotel struct {
			WalkTerms          struct{ Night amount }
			CompensationReport struct {
				Total  amount
				Nights []struct {
					Night, Kind string
					Cost        amount
				}
			}
		}
	}
	h.admin.get(`query($id: ID!) { hotel(id: $id) { walkTerms { night { amountMinor } } compensationReport(from: "2030-04-01", to: "2030-04-30") { total { amountMinor } nights { night kind cost { amountMinor } } } } }`,
		vars{"id": h.property}, &report)
	if r := report.Hotel.CompensationReport; r.Total.AmountMinor != 16_500 || len(r.Nights) != 1 || r.Nights[0].Night != "2030-04-03" || r.Nights[0].Kind != "WALK" {
		t.Errorf("the report is %+v", r)
	}
	var history struct {
		Booking struct {
			Lines       []struct{ State, EndedBy string }
			StayChanges []struct{ Kind, Reason string }
		}
	}
	h.admin.get(`query($id: ID!) { booking(id: $id) { lines { state endedBy } stayChanges { kind reason } } }`, vars{"id": second}, &history)
	if got := fmt.Sprint(history.Booking.Lines[0].State, " ", history.Booking.StayChanges); got != "WALKED [{WALK a burst pipe}]" {
		t.Errorf("the booking says %s", got)
	}
	logged := h.entries(h.admin, vars{"region": "eu", "resource": second})
	if len(logged) == 0 || logged[0].Action != "compensation.decide" || logged[0].Reason == nil || *logged[0].Reason != "a burst pipe" {
		t.Errorf("the log of changes has %+v", logged)
	}
	var units struct {
		NightHistory struct{ Nodes []struct{ Change string } }
	}
	h.admin.get(`query($room: ID!) { nightHistory(roomType: $room, night: "2030-04-03") { nodes { change } } }`, vars{"room": h.double}, &units)
	if got := fmt.Sprint(units.NightHistory.Nodes); !strings.Contains(got, "WALKED") || !strings.Contains(got, "MOVED_IN") {
		t.Errorf("the night's history is %s", got)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.server.url+"/reports/compensation.csv?"+url.Values{"property": {h.property}, "from": {"2030-04-01"}, "to": {"2030-04-30"}}.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+h.admin.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if want := "2030-04-03,WALK,1,1,1,0.00,90.00,50.00,25.00,165.00,100.00,EUR\n"; err != nil || !strings.HasSuffix(string(body), want) {
		t.Errorf("the CSV is %s, %v", body, err)
	}
	var audit struct{ Audit struct{ Ok bool } }
	h.admin.get(`query { audit { ok } }`, nil, &audit)
	if !audit.Audit.Ok {
		t.Error("the audit finds something")
	}
}
