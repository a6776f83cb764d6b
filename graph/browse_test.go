package graph_test

import (
	"strings"
	"testing"
)

func TestBrowseShows(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	var answer struct {
		Shows struct {
			Nodes []struct {
				ID, Name, State, StartsAt string
				Event, Venue              struct{ Name string }
				PriceLevels               []struct {
					Name  string
					Price struct{ Formatted string }
				}
				Pools []struct {
					Name      string
					Available int
					Price     struct{ AmountMinor int }
				}
				SeatMap struct {
					AsOf  string
					Seats []struct {
						SeatID string
						Status string
						Seat   struct{ Label string }
					}
				}
				Chart struct {
					SeatCount       int
					GeometryVersion string
					FocalPoint      struct{ X, Y float64 }
				}
			}
			PageInfo struct{ HasNextPage bool }
		}
	}
	// Without a region: all the tenant's venues are in one.
	h.page.get(`{ shows { nodes { id name state startsAt event { name } venue { name }
		priceLevels { name price { formatted } } pools { name available price { amountMinor } }
		seatMap { asOf seats { seatId status seat { label } } }
		chart { seatCount geometryVersion focalPoint { x y } } } pageInfo { hasNextPage } } }`, nil, &answer)
	if len(answer.Shows.Nodes) != 1 || answer.Shows.PageInfo.HasNextPage {
		t.Fatalf("got %+v", answer.Shows)
	}
	show := answer.Shows.Nodes[0]
	if show.ID != h.show || show.State != "ON_SALE" || show.StartsAt != "2030-03-14T19:30:00Z" || show.Event.Name != "Hamlet" || show.Venue.Name != "Hall" {
		t.Errorf("got the show %+v", show)
	}
	if len(show.PriceLevels) != 3 || show.PriceLevels[0].Name != "Stalls" || show.PriceLevels[0].Price.Formatted != "50.00 EUR" {
		t.Errorf("got the price levels %+v, want the dearest first", show.PriceLevels)
	}
	if len(show.Pools) != 1 || show.Pools[0].Available != 20 || show.Pools[0].Price.AmountMinor != 1500 {
		t.Errorf("got the pools %+v", show.Pools)
	}
	if show.Chart.SeatCount != 10 || len(show.Chart.GeometryVersion) != 32 || show.Chart.FocalPoint.X != 100 {
		t.Errorf("got the chart %+v", show.Chart)
	}
	if len(show.SeatMap.Seats) != 10 || show.SeatMap.AsOf == "" {
		t.Fatalf("got the seat map %+v", show.SeatMap)
	}
	labels := map[string]string{}
	for _, seat := range show.SeatMap.Seats {
		labels[seat.SeatID] = seat.Seat.Label
		if seat.Status != "AVAILABLE" {
			t.Errorf("seat %s is %s", seat.Seat.Label, seat.Status)
		}
	}
	if labels[h.seats[0]] != "Hall, row A, seat 1" || labels[h.seats[9]] != "Hall, row B, seat 5" {
		t.Errorf("got the labels %v", labels)
	}
}

func TestBrowseHotels(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	h.nights(h.double, "2030-03-12", "2030-03-12", vars{"stopSell": true, "minStayArrival": 2})
	h.nights(h.double2nd, "2030-03-10", "2030-03-10", vars{"physical": 1})
	type night struct {
		RoomTypeID, Night string
		Available         int
		Price             *struct{ AmountMinor int }
		StopSell          bool
		MinStayArrival    *int
	}
	var answer struct {
		Hotel struct {
			Name      string
			RoomTypes []struct {
				ID, Name string
				Property created
			}
			Calendar struct {
				AsOf   string
				Nights []night
			}
		}
	}
	const query = `query($id: ID!, $from: Date!, $to: Date!, $types: [ID!]) { hotel(id: $id) { name roomTypes { id name property { id } }
		calendar(from: $from, to: $to, roomTypes: $types) { asOf nights { roomTypeId night available price { amountMinor } stopSell minStayArrival } } } }`
	h.page.get(query, vars{"id": h.property, "from": "2030-03-09", "to": "2030-03-12"}, &answer)
	if len(answer.Hotel.RoomTypes) != 2 || answer.Hotel.RoomTypes[0].Name != "Double" || answer.Hotel.RoomTypes[0].Property.ID != h.property {
		t.Errorf("got the room types %+v", answer.Hotel.RoomTypes)
	}
	if n := len(answer.Hotel.Calendar.Nights); n != 4 || answer.Hotel.Calendar.AsOf == "" {
		t.Fatalf("got %d nights: the 9th has no plan, doubles are planned from the 10th, one single night", n)
	}
	byNight := map[string]night{}
	for _, n := range answer.Hotel.Calendar.Nights {
		byNight[n.RoomTypeID+" "+n.Night] = n
	}
	if n := byNight[h.double+" 2030-03-12"]; n.Available != 3 || n.Price == nil || n.Price.AmountMinor != 12000 || !n.StopSell || n.MinStayArrival == nil || *n.MinStayArrival != 2 {
		t.Errorf("got the night %+v", n)
	}
	if n := byNight[h.double2nd+" 2030-03-10"]; n.Price != nil || n.MinStayArrival != nil && *n.MinStayArrival != 0 {
		t.Errorf("got the night %+v, want no price and no rule", n)
	}
	h.page.get(query, vars{"id": h.property, "from": "2030-03-10", "to": "2030-03-10", "types": []string{h.double2nd}}, &answer)
	if n := answer.Hotel.Calendar.Nights; len(n) != 1 || n[0].RoomTypeID != h.double2nd {
		t.Errorf("got %+v, want the single alone", n)
	}
	other := newHouse(t, h.server)
	for name, roomType := range map[string]string{"another tenant's": other.double, "no": randomID(other.double)} {
		if e := h.page.refused(query, vars{"id": h.property, "from": "2030-03-10", "to": "2030-03-10", "types": []string{roomType}}); e.code() != "NOT_FOUND" || e.Message != "no such room type" {
			t.Errorf("%s room type: got %+v", name, e)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	want := []string{h.show}
	for _, start := range []string{"2030-04-01T19:00:00Z", "2030-04-01T19:00:00Z", "2030-04-02T19:00:00.123456Z", "2030-05-01T19:00:00Z"} {
		want = append(want, h.newShow("Show", start).ID)
	}
	for _, list := range []struct {
		field string
		as    client
		want  int
	}{
		{`shows(region: "eu", first: $first, after: $after)`, h.page, 5},
		{`hotels(first: $first, after: $after)`, h.page, 1},
		{`venues(first: $first, after: $after)`, h.page, 1},
		{`channels(first: $first, after: $after)`, h.admin, 3},
		{`keys(first: $first, after: $after)`, h.admin, 3},
		{`bookings(region: "eu", first: $first, after: $after)`, h.admin, 0},
	} {
		query := `query($first: Int!, $after: String) { list: ` + list.field + ` { edges { cursor node { id } } nodes { id } pageInfo { hasNextPage endCursor } } }`
		seen := map[string]bool{}
		var after any
		for range 10 {
			var answer struct {
				List struct {
					Edges []struct {
						Cursor string
						Node   created
					}
					Nodes    []created
					PageInfo struct {
						HasNextPage bool
						EndCursor   *string
					}
				}
			}
			list.as.get(query, vars{"first": 2, "after": after}, &answer)
			for i, edge := range answer.List.Edges {
				if seen[edge.Node.ID] || answer.List.Nodes[i].ID != edge.Node.ID {
					t.Errorf("%s: %s comes twice", list.field, edge.Node.ID)
				}
				seen[edge.Node.ID] = true
			}
			if !answer.List.PageInfo.HasNextPage {
				break
			}
			after = *answer.List.PageInfo.EndCursor
		}
		if len(seen) != list.want {
			t.Errorf("%s: got %d items, want %d", list.field, len(seen), list.want)
		}
		for _, first := range []any{0, -1, 101} {
			if e := list.as.refused(query, vars{"first": first}); e.code() != "BAD_INPUT" || e.field() != "first" {
				t.Errorf("%s, first %v: got %+v", list.field, first, e)
			}
		}
		for _, cursor := range []string{"", "x", "%%%", "c2hvd3M", "dGVuYW50cyB4"} {
			if e := list.as.refused(query, vars{"first": 1, "after": cursor}); e.code() != "BAD_INPUT" || e.field() != "after" {
				t.Errorf("%s, after %q: got %+v", list.field, cursor, e)
			}
		}
	}
	var from struct{ Shows struct{ Nodes []created } }
	h.page.get(`{ shows(from: "2030-04-02T00:00:00+02:00") { nodes { id } } }`, nil, &from)
	if len(from.Shows.Nodes) != 2 || from.Shows.Nodes[0].ID != want[3] {
		t.Errorf("from the 2nd of April: got %v, want two of %v", from.Shows.Nodes, want)
	}
}

func TestShowsNeedARegionWhenVenuesAreInSeveral(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	overseas := site("Hall overseas")
	overseas["region"] = "us"
	var venue struct{ CreateVenue created }
	h.admin.get(`mutation($input: CreateSiteInput!) { createVenue(input: $input) { id } }`, vars{"input": overseas}, &venue)
	if e := h.page.refused(`{ shows { nodes { id } } }`, nil); e.code() != "BAD_INPUT" || e.field() != "region" || !strings.Contains(e.Message, "eu, us") {
		t.Errorf("got %+v", e)
	}
	var answer struct{ Shows struct{ Nodes []created } }
	h.page.get(`query($venue: ID) { shows(venue: $venue) { nodes { id } } }`, vars{"venue": h.venue}, &answer)
	if len(answer.Shows.Nodes) != 1 {
		t.Errorf("with a venue: got %v", answer.Shows.Nodes)
	}
}

func TestDraftsAreForAdmins(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	var set struct{ SetShowState struct{ State string } }
	h.admin.get(`mutation($input: SetShowStateInput!) { setShowState(input: $input) { state } }`, vars{"input": vars{"show": h.show, "state": "DRAFT"}}, &set)
	if set.SetShowState.State != "DRAFT" {
		t.Errorf("got %+v", set)
	}
	const query = `query($id: ID!) { show(id: $id) { name } }`
	if e := h.page.refused(query, vars{"id": h.show}); e.code() != "NOT_FOUND" {
		t.Errorf("a page sees a draft: %+v", e)
	}
	var answer struct{ Show struct{ Name string } }
	h.admin.get(query, vars{"id": h.show}, &answer)
}

func TestNodes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	hold := h.hold(guest, vars{"pool": vars{"pool": h.standing, "quantity": 1}})
	for id, want := range map[string]string{
		h.tenant: "Tenant", h.boxOffice: "Channel", h.adminKey: "Key", h.venue: "Venue", h.property: "Property",
		h.event: "Event", h.show: "Show", h.chart: "Chart", h.double: "RoomType", hold.ID: "Hold",
	} {
		var answer struct {
			Node struct {
				Typename string `json:"__typename"`
				ID       string
			}
		}
		h.admin.get(`query($id: ID!) { node(id: $id) { __typename id } }`, vars{"id": id}, &answer)
		if answer.Node.Typename != want || answer.Node.ID != id {
			t.Errorf("node %s: got %+v, want a %s", id, answer.Node, want)
		}
	}
	for _, id := range []string{h.seats[0], h.stalls, "", "show", "show_eu_x", "nothing_eu_00000000000000000000000000", h.show + "0"} {
		if e := h.admin.refused(`query($id: ID!) { node(id: $id) { id } }`, vars{"id": id}); e.code() != "BAD_INPUT" || e.field() != "id" {
			t.Errorf("node %q: got %+v", id, e)
		}
	}
}

func TestViewer(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	type viewer struct {
		Viewer struct {
			TenantID, ChannelID, SessionID *string
			KeyType, Mode                  string
			ChannelSuspended               bool
		}
	}
	const query = `{ viewer { tenantId channelId sessionId keyType mode channelSuspended } }`
	var guest, operator viewer
	h.guest().get(query, nil, &guest)
	if v := guest.Viewer; *v.TenantID != h.tenant || *v.ChannelID != h.shop || v.SessionID == nil || v.KeyType != "PUBLISHABLE" || v.Mode != "LIVE" {
		t.Errorf("a guest: got %+v", v)
	}
	h.server.operator.get(query, nil, &operator)
	if v := operator.Viewer; v.TenantID != nil || v.ChannelID != nil || v.SessionID != nil || v.KeyType != "PLATFORM" {
		t.Errorf("an operator: got %+v", v)
	}
}
