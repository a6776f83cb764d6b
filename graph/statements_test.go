package graph_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/holdfast/holdfast/graph"
)

// A page of twenty costs as many statements as a page of two: everything of one kind is read at once.
func TestStatementsDoNotGrowWithThePage(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	for i := range 20 {
		h.newShow(fmt.Sprintf("Show %d", i), "2030-05-01T19:30:00Z")
	}
	for i := range 20 {
		var property struct{ CreateProperty created }
		h.admin.get(`mutation($input: CreateSiteInput!) { createProperty(input: $input) { id } }`, vars{"input": site(fmt.Sprintf("Hotel %d", i))}, &property)
		h.property = property.CreateProperty.ID
		h.roomType("Double")
	}
	guest := h.guest()
	hold := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": h.seats[:8]}}, vars{"pool": vars{"pool": h.standing, "quantity": 1}},
		vars{"stay": vars{"roomType": h.double, "checkIn": "2030-03-12", "checkOut": "2030-03-20"}})

	count := newWire(t)
	// Batches wait long here, so that a slow machine cannot part them.
	s := serverOn(t, count.open(), func(c *graph.Config) { c.BatchWait = 100 * time.Millisecond })
	page := s.client(h.page.key)
	// The fewest of some tries: now and then a key is looked up again, which is not the operation's.
	statements := func(as client, query string, variables vars) int64 {
		fewest := int64(math.MaxInt64)
		for range 4 {
			before := count.statements.Load()
			var data any
			as.get(query, variables, &data)
			fewest = min(fewest, count.statements.Load()-before)
		}
		return fewest
	}
	for _, c := range []struct {
		name, query string
		most        int64
	}{
		{"shows", `query($first: Int!) { shows(region: "eu", first: $first) { nodes { name event { name venue { name } } venue { name city } cancellationPolicy { name } chart { name } priceLevels { price { amountMinor } } pools { available price { amountMinor } } } } }`, 12},
		{"hotels", `query($first: Int!) { hotels(first: $first) { nodes { name taxRate { basisPoints } cancellationPolicy { name } roomTypes { name property { name } cancellationPolicy { name } } } } }`, 6},
	} {
		few, many := statements(page, c.query, vars{"first": 2}), statements(page, c.query, vars{"first": 20})
		if few != many || many > c.most || many == 0 {
			t.Errorf("%s: %d statements for a page of 2, %d for 20, at most %d are expected", c.name, few, many, c.most)
		}
	}
	for range 5 {
		h.buy(h.partner)
	}
	endpoint := h.endpoint(h.admin, vars{}).Endpoint.ID
	var replayed struct{ ReplayEventsBetween struct{ Events int } }
	h.admin.get(`mutation($input: ReplayEventsBetweenInput!) { replayEventsBetween(input: $input) { events } }`, vars{"input": vars{
		"requestKey": key(), "endpoint": endpoint, "region": "eu", "from": time.Now().Add(-time.Hour).Format(time.RFC3339), "to": time.Now().Add(time.Hour).Format(time.RFC3339),
	}}, &replayed)
	admin := s.client(h.admin.key)
	for _, c := range []struct {
		name, query string
		most        int64
	}{
		{"events", `query($first: Int!, $id: ID!) { events(region: "eu", first: $first) { nodes { id type subjectId } } webhookEndpoint(id: $id) { id } }`, 4},
		{"deliveries", `query($first: Int!, $id: ID!) { webhookDeliveries(endpoint: $id, region: "eu", first: $first) { nodes { state event { id type } } } }`, 3},
	} {
		few, many := statements(admin, c.query, vars{"first": 1, "id": endpoint}), statements(admin, c.query, vars{"first": 5, "id": endpoint})
		if few != many || many > c.most || many == 0 || replayed.ReplayEventsBetween.Events != 5 {
			t.Errorf("%s: %d statements for a page of 1, %d for 5 of %d, at most %d are expected", c.name, few, many, replayed.ReplayEventsBetween.Events, c.most)
		}
	}
	const lines = `query($id: ID!) { hold(id: $id) { lines { unit { show { name } seat { label } pool { name } property { name } roomType { name } } } } }`
	buyer := page.as(guest.session)
	if n := statements(buyer, lines, vars{"id": hold.ID}); n > 12 {
		t.Errorf("the %d lines of a hold cost %d statements", len(hold.Lines), n)
	}
}
