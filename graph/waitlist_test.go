package graph_test

import (
	"strings"
	"testing"
)

const entryFields = `id state showId propertyId channelId ahead holdId hold { state total { amountMinor } } version offeredAt endedAt
	lines { kind quantity poolId showId roomTypeId checkIn checkOut accessible allowSplit sections priceLevelIds }`

type shownEntry struct {
	Typename                   string `json:"__typename"`
	Code, Message              string
	ID, State, ChannelID       string
	ShowID, PropertyID, HoldID *string
	OfferedAt, EndedAt         *string
	Ahead                      *int
	Hold                       *struct {
		State string
		Total struct{ AmountMinor int }
	}
	Version int
	Lines   []shownWish
}

type shownWish struct {
	Kind                                          string
	Quantity                                      int
	PoolID, ShowID, RoomTypeID, CheckIn, CheckOut *string
	Accessible                                    int
	AllowSplit                                    bool
	Sections, PriceLevelIds                       []string
}

type shownList struct {
	ShowID, PropertyID, OldestJoinedAt         *string
	Open                                       bool
	OfferSeconds, MaxEntries, Waiting, Offered int
	Entries                                    struct{ Nodes []struct{ ID string } }
}

// waitFor puts a guest's wish into the list of its show or hotel, which is open from then on.
func (h *house) waitFor(guest client, line vars) string {
	h.server.t.Helper()
	scope := vars{"show": h.show, "open": true}
	if line["stay"] != nil {
		scope = vars{"property": h.property, "open": true}
	}
	h.setList(scope)
	joined := h.joinList(guest, vars{"lines": []vars{line}})
	if joined.ID == "" {
		h.server.t.Fatalf("nobody waits: %+v", joined)
	}
	return joined.ID
}

func (h *house) setList(input vars) shownList {
	h.server.t.Helper()
	var answer struct{ SetWaitingList shownList }
	h.admin.get(`mutation($input: SetWaitingListInput!) { setWaitingList(input: $input) { showId propertyId open offerSeconds maxEntries waiting offered oldestJoinedAt } }`, vars{"input": input}, &answer)
	return answer.SetWaitingList
}

func (h *house) joinList(as client, input vars) shownEntry {
	h.server.t.Helper()
	if input["requestKey"] == nil {
		input["requestKey"] = key()
	}
	var answer struct{ JoinWaitingList shownEntry }
	as.get(`mutation($input: JoinWaitingListInput!) { joinWaitingList(input: $input) { __typename ... on WaitingListEntry { `+entryFields+` } ... on HoldRefused { code message } } }`,
		vars{"input": input}, &answer)
	return answer.JoinWaitingList
}

func entryOf(as client, id string) shownEntry {
	as.server.t.Helper()
	var answer struct{ WaitingListEntry shownEntry }
	as.get(`query($id: ID!) { waitingListEntry(id: $id) { `+entryFields+` } }`, vars{"id": id}, &answer)
	return answer.WaitingListEntry
}

// From the line to a sale, and what staff and others see of it.
func TestFromTheWaitingListToASale(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	pool := func(quantity int) vars { return vars{"pool": vars{"pool": h.standing, "quantity": quantity}} }
	for range 2 {
		h.hold(h.guest(), pool(10))
	}
	first, second := h.guest(), h.guest()
	if closed := h.joinList(first, vars{"lines": []vars{pool(2)}}); closed.Code != "WAITING_LIST_CLOSED" {
		t.Errorf("got %+v", closed)
	}
	if list := h.setList(vars{"show": h.show, "open": true, "offerSeconds": 600}); !list.Open || list.OfferSeconds != 600 || list.MaxEntries != 1000 || *list.ShowID != h.show {
		t.Errorf("got %+v", list)
	}
	waits := h.joinList(first, vars{"lines": []vars{pool(2)}})
	behind := h.joinList(second, vars{"lines": []vars{pool(1)}})
	if waits.State != "WAITING" || *waits.Ahead != 0 || *behind.Ahead != 1 || waits.Hold != nil || len(waits.Lines) != 1 || *waits.Lines[0].PoolID != h.standing || waits.Lines[0].Quantity != 2 {
		t.Errorf("got %+v and %+v", waits, behind)
	}
	if e := second.refused(`query($id: ID!) { waitingListEntry(id: $id) { state } }`, vars{"id": waits.ID}); e.code() != "NOT_FOUND" {
		t.Errorf("another guest sees %v", e)
	}
	h.admin.get(`mutation($input: SetPoolCapacityInput!) { setPoolCapacity(input: $input) { __typename } }`, vars{"input": vars{"pool": h.standing, "capacity": 22}}, new(any))
	offered := entryOf(first, waits.ID)
	if offered.State != "OFFERED" || offered.Hold == nil || offered.Hold.State != "ACTIVE" || offered.Hold.Total.AmountMinor != 3000 || offered.Ahead != nil {
		t.Fatalf("got %+v", offered)
	}
	var seen struct{ WaitingList shownList }
	h.admin.get(`query($show: ID!) { waitingList(show: $show) { showId propertyId open offerSeconds maxEntries waiting offered oldestJoinedAt entries { nodes { id } } } }`, vars{"show": h.show}, &seen)
	if list := seen.WaitingList; list.Waiting != 1 || list.Offered != 1 || list.OldestJoinedAt == nil || len(list.Entries.Nodes) != 2 || list.Entries.Nodes[0].ID != waits.ID {
		t.Errorf("staff see %+v", list)
	}
	if sale := h.checkout(first, vars{
		"requestKey": key(), "hold": *offered.HoldID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 3000, "currency": "EUR"},
	}); sale.Booking == nil {
		t.Fatalf("nothing was sold: %+v", sale)
	}
	if served := entryOf(first, waits.ID); served.State != "SERVED" || served.EndedAt == nil {
		t.Errorf("got %+v", served)
	}
	var mine struct {
		WaitingListEntries struct{ Nodes []struct{ ID, State string } }
	}
	second.get(`{ waitingListEntries { nodes { id state } } }`, nil, &mine)
	if nodes := mine.WaitingListEntries.Nodes; len(nodes) != 1 || nodes[0].ID != behind.ID || nodes[0].State != "WAITING" {
		t.Errorf("got %+v", nodes)
	}
	leave := func(as client, id string) shownEntry {
		var answer struct{ LeaveWaitingList shownEntry }
		as.get(`mutation($input: LeaveWaitingListInput!) { leaveWaitingList(input: $input) { __typename ... on WaitingListEntry { `+entryFields+` } ... on HoldRefused { code message } } }`,
			vars{"input": vars{"requestKey": key(), "waitingListEntry": id}}, &answer)
		return answer.LeaveWaitingList
	}
	if left := leave(second, behind.ID); left.State != "LEFT" {
		t.Errorf("got %+v", left)
	}
	if over := leave(first, waits.ID); over.State != "SERVED" {
		t.Errorf("got %+v", over)
	}
}

// Input that is wrong is told where.
func TestWrongWishesAreToldWhere(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	guest := h.guest()
	h.setList(vars{"show": h.show, "open": true})
	for field, line := range map[string]vars{
		"input.lines[0].pool.quantity":             {"pool": vars{"pool": h.standing, "quantity": 0}},
		"input.lines[0].bestAvailable.sections[0]": {"bestAvailable": vars{"show": h.show, "quantity": 1, "sections": []string{"Nowhere"}}},
		"input.lines[0].stay.checkOut":             {"stay": vars{"roomType": h.double, "checkIn": "2030-03-14", "checkOut": "2030-03-14"}},
	} {
		if e := guest.refused(`mutation($input: JoinWaitingListInput!) { joinWaitingList(input: $input) { __typename } }`,
			vars{"input": vars{"requestKey": key(), "lines": []vars{line}}}); e.code() != "BAD_INPUT" || e.field() != field {
			t.Errorf("%s: got %v", field, e)
		}
	}
	for field, input := range map[string]vars{
		"input.show":         {"open": true},
		"input.offerSeconds": {"show": h.show, "offerSeconds": 5},
		"input.maxEntries":   {"show": h.show, "maxEntries": 0},
	} {
		if e := h.admin.refused(`mutation($input: SetWaitingListInput!) { setWaitingList(input: $input) { open } }`, vars{"input": input}); e.code() != "BAD_INPUT" || !strings.HasPrefix(e.field(), field) {
			t.Errorf("%s: got %v", field, e)
		}
	}
}
