package graph_test

import (
	"fmt"
	"strings"
	"testing"
)

// allotted is an allotment, or its refusal, as these tests read it.
type allotted struct {
	Typename                       string `json:"__typename"`
	ID, Name, State, ChannelID     string
	PoolID, RoomTypeID, PropertyID *string
	From, To                       *string
	Weekdays                       []string
	SellsShared                    bool
	Version                        int
	Release                        *struct {
		At, LocalTime *string
		DaysBefore    *int
	}
	Stock []struct {
		Night, ReleaseAt                     *string
		State                                string
		Quantity, Held, Sold, Released, Free int
	}
	History struct {
		Nodes []struct {
			Action  string
			KeyID   *string
			Units   int
			Version int
		}
	}
	Code    string
	Message string
	Lacking []struct {
		Code            string
		Night           *string
		Asked, Possible *int
	}
}

const allotmentFields = `{ __typename
	... on Allotment { id name state channelId poolId roomTypeId propertyId from to weekdays sellsShared version release { at daysBefore localTime }
		stock { night state quantity held sold released free releaseAt } history { nodes { action keyId units version } } }
	... on AllotmentRefused { code message lacking { code night asked possible } } }`

// stock writes what an allotment has: "night state quantity=held+sold+released+free".
func (a allotted) stock() string {
	var parts []string
	for _, s := range a.Stock {
		night := "pool"
		if s.Night != nil {
			night = (*s.Night)[8:]
		}
		parts = append(parts, fmt.Sprintf("%s %s %d=%d+%d+%d+%d", night, s.State, s.Quantity, s.Held, s.Sold, s.Released, s.Free))
	}
	return strings.Join(parts, ", ")
}

func (h *house) allot(as client, mutation, input string, change vars) allotted {
	h.server.t.Helper()
	content := vars{"requestKey": key()}
	for name, value := range change {
		content[name] = value
	}
	var answer map[string]allotted
	as.get(fmt.Sprintf(`mutation($input: %s!) { %s(input: $input) %s }`, input, mutation, allotmentFields), vars{"input": content}, &answer)
	return answer[mutation]
}

func (h *house) create(change vars) allotted {
	h.server.t.Helper()
	input := vars{"channel": h.partners, "name": "Spring tours", "roomType": h.double, "quantity": 2, "definite": true, "nights": vars{"from": "2030-03-14", "to": "2030-03-15"}}
	for name, value := range change {
		if value == nil {
			delete(input, name)
			continue
		}
		input[name] = value
	}
	return h.allot(h.admin, "createAllotment", "CreateAllotmentInput", input)
}

func (h *house) readAllotment(as client, id string) allotted {
	h.server.t.Helper()
	var answer struct{ Allotment allotted }
	as.get(`query($id: ID!) { allotment(id: $id) `+strings.Split(allotmentFields, "... on AllotmentRefused")[0]+`} }`, vars{"id": id}, &answer)
	return answer.Allotment
}

// left is what a client sees of the double rooms on the 14th to the 16th.
func (h *house) left(as client) string {
	h.server.t.Helper()
	var answer struct {
		Hotel struct {
			Calendar struct{ Nights []struct{ Available int } }
		}
	}
	as.get(`query($hotel: ID!, $room: ID!) { hotel(id: $hotel) { calendar(from: "2030-03-14", to: "2030-03-16", roomTypes: [$room]) { nights { available } } } }`,
		vars{"hotel": h.property, "room": h.double}, &answer)
	return fmt.Sprint(answer.Hotel.Calendar.Nights)
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s\ngot:  %v\nwant: %v", what, got, want)
	}
}

// R58: the life of an allotment through the API: what the public sees, what the partner sees, what is
// said of it, and who is told.
func TestAnAllotmentsLife(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	a := h.create(vars{"definite": false, "release": vars{"daysBefore": 7, "localTime": "18:00"}})
	equal(t, "kind", a.Typename+" "+a.State, "Allotment TENTATIVE")
	equal(t, "nothing is set aside", h.left(h.page), "[{3} {3} {3}]")
	equal(t, "its release at the hotel's clock", *a.Stock[0].ReleaseAt, "2030-03-07T17:00:00Z")
	a = h.allot(h.admin, "makeAllotmentDefinite", "AllotmentInput", vars{"allotment": a.ID})
	equal(t, "stock", a.stock(), "14 DEFINITE 2=0+0+0+2, 15 DEFINITE 2=0+0+0+2")
	equal(t, "the public sees", h.left(h.page), "[{1} {1} {3}]")
	equal(t, "the partner sees", h.left(h.partner), "[{3} {3} {3}]")
	stay := func(rooms int) vars {
		return vars{"stay": vars{"roomType": h.double, "checkIn": "2030-03-14", "checkOut": "2030-03-16", "rooms": rooms}}
	}
	refused := h.place(h.guest(), vars{"requestKey": key(), "lines": []vars{stay(2)}})
	equal(t, "the public is told", refused.Code, "SOLD_OUT")
	h.hold(h.partner, stay(1))
	equal(t, "stock", h.readAllotment(h.partner, a.ID).stock(), "14 DEFINITE 2=1+0+0+1, 15 DEFINITE 2=1+0+0+1")
	// Growing re-checks, shrinking stops at what is sold.
	a2 := h.allot(h.admin, "updateAllotment", "UpdateAllotmentInput", vars{"allotment": a.ID, "quantity": 4})
	if a2.Typename != "AllotmentRefused" || a2.Code != "SOLD_OUT" || len(a2.Lacking) != 2 || *a2.Lacking[0].Night != "2030-03-14" || *a2.Lacking[0].Asked != 4 || *a2.Lacking[0].Possible != 3 {
		t.Errorf("growing is answered with %+v", a2)
	}
	a2 = h.allot(h.admin, "updateAllotment", "UpdateAllotmentInput", vars{"allotment": a.ID, "quantity": 0})
	if a2.Code != "ALLOTMENT_SOLD" || *a2.Lacking[0].Possible != 1 {
		t.Errorf("shrinking is answered with %+v", a2)
	}
	key1 := key()
	for range 2 {
		h.allot(h.admin, "releaseAllotment", "ReleaseAllotmentInput", vars{"requestKey": key1, "allotment": a.ID, "nights": vars{"from": "2030-03-15", "to": "2030-03-15"}})
	}
	equal(t, "the public sees", h.left(h.page), "[{1} {2} {3}]")
	for range 2 {
		a = h.allot(h.admin, "releaseAllotment", "ReleaseAllotmentInput", vars{"allotment": a.ID})
	}
	equal(t, "stock", a.stock(), "14 RELEASED 2=1+0+1+0, 15 RELEASED 2=1+0+1+0")
	equal(t, "the public sees", h.left(h.page), "[{2} {2} {3}]")
	var history []string
	for _, entry := range a.History.Nodes {
		history = append(history, fmt.Sprint(entry.Action, " ", entry.Units, " ", entry.KeyID != nil && *entry.KeyID == h.adminKey))
	}
	equal(t, "history", strings.Join(history, ", "), "RELEASED -1 true, RELEASED -1 true, MADE_DEFINITE 4 true, CREATED 0 true")
	var told []string
	for _, e := range h.changeEvents(h.partner) {
		told = append(told, fmt.Sprint(e.Type, " ", e.Version, " ", e.SubjectID == a.ID, " ", *e.ChannelID == h.partners))
	}
	equal(t, "events", strings.Join(told, ", "), "ALLOTMENT_RELEASED 3 true true, ALLOTMENT_RELEASED 4 true true")
}

// R25: cancelling restores what the public sees once, and says so once.
func TestACancelledAllotment(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	a := h.create(vars{"pool": h.standing, "roomType": nil, "nights": nil, "quantity": 20})
	available := func() int {
		var answer struct {
			Show struct{ Pools []struct{ Available int } }
		}
		h.page.get(`query($id: ID!) { show(id: $id) { pools { available } } }`, vars{"id": h.show}, &answer)
		return answer.Show.Pools[0].Available
	}
	equal(t, "what is left", available(), 0)
	for range 2 {
		a = h.allot(h.admin, "cancelAllotment", "AllotmentInput", vars{"allotment": a.ID})
	}
	equal(t, "state", a.State, "CANCELLED")
	equal(t, "what is left", available(), 20)
	if told := h.changeEvents(h.admin); len(told) != 1 || told[0].Type != "ALLOTMENT_CANCELLED" {
		t.Errorf("told: %+v", told)
	}
}

// A partner sees the allotments of its own channel; for others they do not exist.
func TestAllotmentsAreTheirChannels(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	mine, other := h.create(nil), h.create(vars{"channel": h.shop, "quantity": 1})
	list := func(as client, arguments string) string {
		var answer struct {
			Allotments struct {
				Nodes    []created
				PageInfo struct{ HasNextPage bool }
			}
		}
		as.get(`query($property: ID!, $channel: ID) { allotments(property: $property, channel: $channel, `+arguments+`) { nodes { id } pageInfo { hasNextPage } } }`,
			vars{"property": h.property, "channel": nil}, &answer)
		return fmt.Sprint(answer.Allotments.Nodes, answer.Allotments.PageInfo.HasNextPage)
	}
	equal(t, "the admin's list", list(h.admin, "first: 5"), fmt.Sprintf("[{%s} {%s}] false", mine.ID, other.ID))
	equal(t, "its first page", list(h.admin, "first: 1"), fmt.Sprintf("[{%s}] true", mine.ID))
	equal(t, "the partner's list", list(h.partner, "first: 5"), fmt.Sprintf("[{%s}] false", mine.ID))
	if e := h.partner.refused(`query($id: ID!) { allotment(id: $id) { id } }`, vars{"id": other.ID}); e.code() != "NOT_FOUND" {
		t.Errorf("the partner reads another channel's allotment: %+v", e)
	}
	if e := h.partner.refused(`mutation($input: AllotmentInput!) { cancelAllotment(input: $input) { __typename } }`, vars{"input": vars{"requestKey": key(), "allotment": mine.ID}}); e.code() != "FORBIDDEN" {
		t.Errorf("the partner cancels: %+v", e)
	}
}

func TestBadInputOfAllotments(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	other := newHouse(t, h.server)
	for name, c := range map[string]struct {
		change         vars
		field, message string
	}{
		"a range that ends before it starts": {vars{"nights": vars{"from": "2030-03-15", "to": "2030-03-14"}}, "input.nights.to", "expected a date not before from 2030-03-15"},
		"a range beyond the limit":           {vars{"nights": vars{"from": "2030-03-15", "to": "2035-03-14"}}, "input.nights.to", "at most 731 nights"},
		"a mask with no day":                 {vars{"nights": vars{"from": "2030-03-14", "to": "2030-03-15", "weekdays": []string{}}}, "input.nights.weekdays", "expected at least one day of the week"},
		"a mask that no night meets":         {vars{"nights": vars{"from": "2030-03-14", "to": "2030-03-14", "weekdays": []string{"MONDAY"}}}, "input.nights.weekdays", "no night of the range"},
		"nights in the past":                 {vars{"nights": vars{"from": "2020-03-14", "to": "2030-03-14"}}, "input.nights.to", "at most"},
		"yesterday":                          {vars{"nights": vars{"from": "2020-03-14", "to": "2020-03-14"}}, "input.nights.from", "expected today at the property"},
		"no quantity":                        {vars{"quantity": 0}, "input.quantity", "expected 1 to 1000000, got 0"},
		"a pool and a room type":             {vars{"pool": h.standing}, "input.pool", "exactly one of pool and roomType"},
		"a pool with nights":                 {vars{"pool": h.standing, "roomType": nil}, "input.nights", "a pool has no nights"},
		"a room type without nights":         {vars{"nights": nil}, "input.nights", "expected the nights"},
		"two rules of release":               {vars{"release": vars{"at": "2030-01-01T00:00:00Z", "daysBefore": 1}}, "input.release", "expected either at, or daysBefore"},
		"no time of day":                     {vars{"release": vars{"daysBefore": 1}}, "input.release.localTime", "expected the time of day"},
		"a time of day that does not exist":  {vars{"release": vars{"daysBefore": 1, "localTime": "25:00"}}, "input.release.localTime", ""},
		"too early a release":                {vars{"release": vars{"daysBefore": 731, "localTime": "12:00"}}, "input.release.daysBefore", "expected 0 to 730"},
		"a release in the past":              {vars{"release": vars{"at": "2020-01-01T00:00:00Z"}}, "input.release", "lies in the past"},
		"an empty name":                      {vars{"name": ""}, "input.name", "expected 1 to 200 characters"},
		"another tenant's channel":           {vars{"channel": other.partners}, "", "channel"},
		"another tenant's room type":         {vars{"roomType": other.double}, "", "room type"},
	} {
		t.Run(name, func(t *testing.T) {
			input := vars{"requestKey": key(), "channel": h.partners, "name": "Tours", "roomType": h.double, "quantity": 1, "nights": vars{"from": "2030-03-14", "to": "2030-03-15"}, "definite": true}
			for name, value := range c.change {
				if value == nil {
					delete(input, name)
					continue
				}
				input[name] = value
			}
			e := h.admin.refused(`mutation($input: CreateAllotmentInput!) { createAllotment(input: $input) { __typename } }`, vars{"input": input})
			if e.field() != c.field || !strings.Contains(e.Message, c.message) {
				t.Errorf("%s of field %q, want field %q with %q", e.Message, e.field(), c.field, c.message)
			}
			equal(t, "nothing is set aside", h.left(h.page), "[{3} {3} {3}]")
		})
	}
	refused := h.create(vars{"quantity": 4, "nights": vars{"from": "2030-03-19", "to": "2030-03-21"}})
	if refused.Code != "SOLD_OUT" || len(refused.Lacking) != 3 || refused.Lacking[2].Code != "NO_SUCH_NIGHT" || *refused.Lacking[0].Possible != 3 {
		t.Errorf("more than there is: %+v", refused)
	}
}
