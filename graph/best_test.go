package graph_test

import (
	"slices"
	"strings"
	"testing"
)

// A buyer has seats chosen, is told why not, and meets the rule against single seats; the house splits
// the counter of its pool.
func TestBestAvailableSeats(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	best := func(change vars) vars {
		wish := vars{"show": h.show, "quantity": 3}
		for name, value := range change {
			wish[name] = value
		}
		return vars{"bestAvailable": wish}
	}
	first := vars{"requestKey": key(), "lines": []vars{best(vars{"priceLevels": []string{h.balcony}})}}
	hold := h.place(guest, first)
	if hold.Typename != "Hold" || len(hold.Lines) != 3 {
		t.Fatalf("got %+v", hold)
	}
	for _, line := range hold.Lines {
		if !slices.Contains(h.seats[5:], *line.Unit.SeatID) {
			t.Errorf("%s is not a seat of the balcony", line.Unit.Seat.Label)
		}
	}
	if again := h.place(guest, first); again.ID != hold.ID || *again.Lines[0].Unit.SeatID != *hold.Lines[0].Unit.SeatID {
		t.Errorf("the same request came to %+v, want %+v", again, hold)
	}
	for _, refused := range []struct {
		wish      vars
		code      string
		available int
	}{
		{best(vars{"quantity": 6}), "NOT_TOGETHER", 7},
		{best(vars{"quantity": 8, "allowSplit": true}), "SOLD_OUT", 7},
		{best(vars{"quantity": 1, "accessible": 1}), "SOLD_OUT", 0},
	} {
		got := h.place(guest, vars{"requestKey": key(), "lines": []vars{refused.wish}})
		if got.Code != refused.code || len(got.Lines) != 1 || got.Lines[0].Code != refused.code || *got.Lines[0].Available != refused.available {
			t.Errorf("%v: got %+v", refused.wish, got)
		}
	}
	for field, change := range map[string]vars{
		"input.lines[0].bestAvailable.sections[0]":    {"sections": []string{"Balcony"}},
		"input.lines[0].bestAvailable.quantity":       {"quantity": 101},
		"input.lines[0].bestAvailable.accessible":     {"accessible": 4},
		"input.lines[0].bestAvailable.priceLevels[0]": {"priceLevels": []string{randomID(h.stalls)}},
	} {
		answer := guest.post(`mutation($input: PlaceHoldInput!) { placeHold(input: $input) { __typename } }`, vars{"input": vars{"requestKey": key(), "lines": []vars{best(change)}}})
		if len(answer.Errors) != 1 || answer.Errors[0].code() != "BAD_INPUT" || answer.Errors[0].field() != field {
			t.Errorf("%s: got %s", field, answer.body)
		}
	}

	var terms struct{ SetTerms struct{ OrphanSeats string } }
	h.admin.get(`mutation($input: SetTermsInput!) { setTerms(input: $input) { orphanSeats } }`, vars{"input": vars{"show": h.show, "orphanSeats": "REFUSE"}}, &terms)
	if terms.SetTerms.OrphanSeats != "REFUSE" {
		t.Errorf("got %+v", terms)
	}
	refused := h.place(guest, vars{"requestKey": key(), "lines": []vars{{"seats": vars{"show": h.show, "seats": []string{h.seats[1]}}}}})
	if refused.Code != "ORPHAN_SEAT" || len(refused.Lines) != 1 || *refused.Lines[0].SeatID != h.seats[0] || !strings.HasSuffix(refused.Lines[0].Seat.Label, "row A, seat 1") {
		t.Errorf("got %+v", refused)
	}
	h.hold(guest, best(vars{"quantity": 2, "priceLevels": []string{h.stalls}}))

	var set struct {
		SetPoolShards struct {
			PoolID             string
			Shards, OversoldBy int
		}
	}
	h.admin.get(`mutation($input: SetPoolShardsInput!) { setPoolShards(input: $input) { poolId shards oversoldBy } }`, vars{"input": vars{"pool": h.standing, "shards": 4}}, &set)
	if got := set.SetPoolShards; got.PoolID != h.standing || got.Shards != 4 || got.OversoldBy != 0 {
		t.Errorf("got %+v", got)
	}
	h.hold(guest, vars{"pool": vars{"pool": h.standing, "quantity": 2}})
	if answer := h.page.post(`mutation($input: SetPoolShardsInput!) { setPoolShards(input: $input) { shards } }`, vars{"input": vars{"pool": h.standing, "shards": 1}}); len(answer.Errors) != 1 || answer.Errors[0].code() != "FORBIDDEN" {
		t.Errorf("a page may change the pool: %s", answer.body)
	}
}
