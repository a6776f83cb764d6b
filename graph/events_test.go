package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// changeEvent is an event as these tests read it.
type changeEvent struct {
	ID, Type, SubjectID, Region string
	Version                     int64
	ChannelID                   *string
	OccurredAt                  time.Time
}

const changeEventFields = `{ id type subjectId version region channelId occurredAt }`

// changeEvents reads the whole feed of the house's region, two at a time.
func (h *house) changeEvents(as client) []changeEvent {
	h.server.t.Helper()
	var all []changeEvent
	var after any
	for {
		var answer struct {
			Events struct {
				Nodes    []changeEvent
				PageInfo struct {
					HasNextPage bool
					EndCursor   *string
				}
			}
		}
		as.get(`query($after: String) { events(region: "eu", first: 2, after: $after) { nodes `+changeEventFields+` pageInfo { hasNextPage endCursor } } }`, vars{"after": after}, &answer)
		all = append(all, answer.Events.Nodes...)
		if !answer.Events.PageInfo.HasNextPage {
			return all
		}
		after = answer.Events.PageInfo.EndCursor
	}
}

// webhookEndpoint is an endpoint as these tests read it.
type webhookEndpoint struct {
	ID, URL, State string
	Description    *string
	Types          []string
	ChannelID      *string
	DisabledReason *string
	DisabledAt     *time.Time
	RotatedUntil   *time.Time
	Version        int64
}

type endpointSecret struct {
	Endpoint webhookEndpoint
	Secret   *string
}

const (
	endpointFields = `{ id url state description types channelId disabledReason disabledAt rotatedUntil version }`
	makeEndpoint   = `mutation($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { secret endpoint ` + endpointFields + ` } }`
)

func (h *house) endpoint(as client, change vars) endpointSecret {
	h.server.t.Helper()
	input := vars{"requestKey": key(), "url": "https://example.com/hooks"}
	for name, value := range change {
		input[name] = value
	}
	var answer struct{ CreateWebhookEndpoint endpointSecret }
	as.get(makeEndpoint, vars{"input": input}, &answer)
	return answer.CreateWebhookEndpoint
}

// buy makes a booking, and so an event.
func (h *house) buy(as client) string {
	h.server.t.Helper()
	hold := h.hold(as, vars{"pool": vars{"pool": h.standing, "quantity": 1}})
	sale := h.checkout(as, vars{
		"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 1500, "currency": "EUR"},
	})
	if sale.Booking == nil {
		h.server.t.Fatalf("nothing was booked: %+v", sale)
	}
	return sale.Booking.ID
}

func TestThePartnerFollowsItsOwnSales(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, twin := newHouse(t, s), newHouse(t, s)
	mine, others := h.buy(h.partner), h.buy(h.guest())
	subjects := func(as client) string {
		var all []string
		for _, e := range h.changeEvents(as) {
			all = append(all, e.Type+" "+e.SubjectID)
		}
		return strings.Join(all, ", ")
	}
	if got, want := subjects(h.partner), "BOOKING_CONFIRMED "+mine; got != want {
		t.Errorf("the partner follows %s, want %s", got, want)
	}
	if got, want := subjects(h.admin), "BOOKING_CONFIRMED "+mine+", BOOKING_CONFIRMED "+others; got != want {
		t.Errorf("the admin follows %s, want %s", got, want)
	}
	if got := subjects(twin.admin); got != "" {
		t.Errorf("another tenant follows %s", got)
	}
	event := h.changeEvents(h.partner)[0]
	if event.Version != 1 || event.Region != "eu" || event.ChannelID == nil || *event.ChannelID != h.partners {
		t.Errorf("the event is %+v", event)
	}
	var byID struct{ Node changeEvent }
	h.partner.get(`query($id: ID!) { node(id: $id) { ... on ChangeEvent `+changeEventFields+` } }`, vars{"id": event.ID}, &byID)
	if byID.Node.ID != event.ID {
		t.Errorf("node is %+v", byID.Node)
	}
	for name, as := range map[string]client{"a page": h.page, "a guest": h.guest()} {
		if e := as.refused(`{ events(region: "eu") { nodes { id } } }`, nil); e.code() != "FORBIDDEN" {
			t.Errorf("%s follows the feed: %+v", name, e)
		}
	}
}

// Who is up to date keeps its cursor, and goes on from it when something happens.
func TestTheFeedGoesOnFromItsLastCursor(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	read := func(arguments string) (nodes []created, cursor *string) {
		var answer struct {
			Events struct {
				Nodes    []created
				PageInfo struct{ EndCursor *string }
			}
		}
		h.admin.get(`{ events(region: "eu"`+arguments+`) { nodes { id } pageInfo { endCursor } } }`, nil, &answer)
		return answer.Events.Nodes, answer.Events.PageInfo.EndCursor
	}
	first := h.buy(h.guest())
	nodes, cursor := read("")
	if len(nodes) != 1 || cursor == nil {
		t.Fatalf("%v", nodes)
	}
	after := fmt.Sprintf(", after: %q", *cursor)
	nodes, same := read(after)
	if len(nodes) != 0 || same == nil || *same != *cursor {
		t.Errorf("nothing new: %v, %v", nodes, same)
	}
	second := h.buy(h.guest())
	if nodes, _ = read(after); len(nodes) != 1 {
		t.Errorf("one new: %v", nodes)
	}
	all := h.changeEvents(h.admin)
	if all[0].SubjectID != first || all[1].SubjectID != second {
		t.Errorf("the feed is %+v", all)
	}
	since := fmt.Sprintf(", since: %q", all[1].OccurredAt.Format(time.RFC3339Nano))
	if nodes, _ = read(since); len(nodes) != 1 || nodes[0].ID != all[1].ID {
		t.Errorf("since the second: %v", nodes)
	}
	if e := h.admin.refused(`{ events(region: "eu", after: "x") { nodes { id } } }`, nil); e.code() != "BAD_INPUT" || e.field() != "after" {
		t.Errorf("another list's cursor: %+v", e)
	}
}

func TestEndpointsAreManaged(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	made := h.endpoint(h.partner, vars{"types": []string{"REFUND_FAILED", "BOOKING_NO_SHOW"}, "description": "Till"})
	if made.Secret == nil || !strings.HasPrefix(*made.Secret, "whsec_") || made.Endpoint.ChannelID == nil || *made.Endpoint.ChannelID != h.partners {
		t.Fatalf("made %+v", made)
	}
	if !slices.Equal(made.Endpoint.Types, []string{"BOOKING_NO_SHOW", "REFUND_FAILED"}) {
		t.Errorf("the types are %v", made.Endpoint.Types)
	}
	id := made.Endpoint.ID
	const update = `mutation($input: UpdateWebhookEndpointInput!) { updateWebhookEndpoint(input: $input) ` + endpointFields + ` }`
	change := func(change vars) webhookEndpoint {
		change["endpoint"] = id
		var answer struct{ UpdateWebhookEndpoint webhookEndpoint }
		h.partner.get(update, vars{"input": change}, &answer)
		return answer.UpdateWebhookEndpoint
	}
	if got := change(vars{"url": "https://example.com/new"}); got.URL != "https://example.com/new" || len(got.Types) != 2 || got.Description == nil {
		t.Errorf("only the URL: %+v", got)
	}
	if got := change(vars{"types": []string{}, "enabled": false}); len(got.Types) != 0 || got.State != "DISABLED" || got.DisabledReason == nil || *got.DisabledReason != "REQUESTED" || got.DisabledAt == nil {
		t.Errorf("all types, and disabled: %+v", got)
	}
	if e := h.partner.refused(`mutation($input: WebhookEndpointInput!) { pingWebhookEndpoint(input: $input) { id } }`, vars{"input": vars{"requestKey": key(), "endpoint": id}}); e.code() != "CONFLICT" {
		t.Errorf("a test of a disabled endpoint: %+v", e)
	}
	if got := change(vars{"enabled": true}); got.State != "ENABLED" || got.DisabledReason != nil {
		t.Errorf("enabled: %+v", got)
	}
	var rotated struct{ RotateWebhookSecret endpointSecret }
	again := vars{"input": vars{"requestKey": key(), "endpoint": id}}
	const rotate = `mutation($input: WebhookEndpointInput!) { rotateWebhookSecret(input: $input) { secret endpoint ` + endpointFields + ` } }`
	h.partner.get(rotate, again, &rotated)
	if got := rotated.RotateWebhookSecret; got.Secret == nil || *got.Secret == *made.Secret || got.Endpoint.RotatedUntil == nil {
		t.Errorf("rotated: %+v", got)
	}
	h.partner.get(rotate, again, &rotated)
	if got := rotated.RotateWebhookSecret; got.Secret != nil {
		t.Errorf("a repeated request tells the secret: %+v", got)
	}
	h.endpoint(h.admin, vars{})
	var list struct {
		WebhookEndpoints struct{ Nodes []created }
	}
	for _, c := range []struct {
		as   client
		want int
	}{{h.partner, 1}, {h.admin, 2}} {
		c.as.get(`{ webhookEndpoints { nodes { id } } }`, nil, &list)
		if len(list.WebhookEndpoints.Nodes) != c.want {
			t.Errorf("%d endpoints are listed, want %d", len(list.WebhookEndpoints.Nodes), c.want)
		}
	}
	var deleted struct{ DeleteWebhookEndpoint struct{ EndpointID string } }
	h.admin.get(`mutation($input: DeleteWebhookEndpointInput!) { deleteWebhookEndpoint(input: $input) { endpointId } }`, vars{"input": vars{"endpoint": id}}, &deleted)
	if e := h.partner.refused(`query($id: ID!) { webhookEndpoint(id: $id) { id } }`, vars{"id": id}); e.code() != "NOT_FOUND" || deleted.DeleteWebhookEndpoint.EndpointID != id {
		t.Errorf("a deleted endpoint: %+v", e)
	}
}

func TestBadEndpointsNameTheirField(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	for _, c := range []struct {
		name   string
		change vars
		field  string
	}{
		{"a scheme", vars{"url": "gopher://example.com/"}, "input.url"},
		{"a long URL", vars{"url": "https://example.com/" + strings.Repeat("a", 2000)}, "input.url"},
		{"a long description", vars{"description": strings.Repeat("a", 201)}, "input.description"},
		{"the test", vars{"types": []string{"BOOKING_CONFIRMED", "ENDPOINT_PING"}}, "input.types[1]"},
		{"an unknown type", vars{"types": []string{"BOOKING_REBORN"}}, "input.types[0]"},
		{"no request key", vars{"requestKey": ""}, "input.requestKey"},
	} {
		input := vars{"requestKey": key(), "url": "https://example.com/hooks"}
		for name, value := range c.change {
			input[name] = value
		}
		if e := h.admin.refused(makeEndpoint, vars{"input": input}); e.code() != "BAD_INPUT" || e.field() != c.field {
			t.Errorf("%s: got %+v, want BAD_INPUT of %s", c.name, e, c.field)
		}
	}
}

func TestTestsAndReplaysAreDeliveries(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	h.buy(h.partner)
	h.buy(h.guest())
	endpoint := h.endpoint(h.partner, vars{}).Endpoint.ID
	event := h.changeEvents(h.partner)[0]
	type delivery struct {
		ID, EndpointID, State string
		Attempts              int64
		LastStatus            *int
		LastError             *string
		NextAttemptAt         *time.Time
		SettledAt             *time.Time
		Event                 changeEvent
	}
	const deliveryFields = `{ id endpointId state attempts lastStatus lastError nextAttemptAt settledAt event ` + changeEventFields + ` }`
	var ping struct{ PingWebhookEndpoint delivery }
	h.partner.get(`mutation($input: WebhookEndpointInput!) { pingWebhookEndpoint(input: $input) `+deliveryFields+` }`, vars{"input": vars{"requestKey": key(), "endpoint": endpoint}}, &ping)
	if got := ping.PingWebhookEndpoint; got.State != "PENDING" || got.Event.Type != "ENDPOINT_PING" || got.Event.SubjectID != endpoint || got.NextAttemptAt == nil {
		t.Errorf("the test is %+v", got)
	}
	type replayed struct {
		Events       int
		ContinueFrom *time.Time
		Endpoint     created
	}
	const replay = `mutation($input: ReplayEventsInput!) { replayEvents(input: $input) { events continueFrom endpoint { id } } }`
	var byID struct{ ReplayEvents replayed }
	h.partner.get(replay, vars{"input": vars{"requestKey": key(), "endpoint": endpoint, "events": []string{event.ID}}}, &byID)
	if got := byID.ReplayEvents; got.Events != 1 || got.ContinueFrom != nil || got.Endpoint.ID != endpoint {
		t.Errorf("replayed %+v", got)
	}
	all := h.changeEvents(h.admin)
	if e := h.partner.refused(replay, vars{"input": vars{"requestKey": key(), "endpoint": endpoint, "events": []string{all[1].ID}}}); e.code() != "NOT_FOUND" {
		t.Errorf("another channel's event: %+v", e)
	}
	const between = `mutation($input: ReplayEventsBetweenInput!) { replayEventsBetween(input: $input) { events continueFrom endpoint { id } } }`
	span := func(from, to time.Time) vars {
		return vars{"input": vars{"requestKey": key(), "endpoint": endpoint, "region": "eu", "from": from.Format(time.RFC3339Nano), "to": to.Format(time.RFC3339Nano)}}
	}
	var byTime struct{ ReplayEventsBetween replayed }
	h.partner.get(between, span(event.OccurredAt.Add(-time.Hour), event.OccurredAt.Add(time.Hour)), &byTime)
	// The booking and the test.
	if got := byTime.ReplayEventsBetween; got.Events != 2 {
		t.Errorf("replayed %+v", got)
	}
	if e := h.partner.refused(between, span(event.OccurredAt, event.OccurredAt)); e.code() != "BAD_INPUT" || e.field() != "input.to" {
		t.Errorf("no time: %+v", e)
	}
	deliveries := func(arguments string) (all []delivery) {
		after := ""
		for {
			var answer struct {
				WebhookDeliveries struct {
					Nodes    []delivery
					PageInfo struct {
						HasNextPage bool
						EndCursor   *string
					}
				}
			}
			h.partner.get(`query($id: ID!) { webhookDeliveries(endpoint: $id, region: "eu", first: 1`+arguments+after+`) { nodes `+deliveryFields+` pageInfo { hasNextPage endCursor } } }`,
				vars{"id": endpoint}, &answer)
			all = append(all, answer.WebhookDeliveries.Nodes...)
			if !answer.WebhookDeliveries.PageInfo.HasNextPage {
				return all
			}
			after = fmt.Sprintf(", after: %q", *answer.WebhookDeliveries.PageInfo.EndCursor)
		}
	}
	if got := deliveries(""); len(got) != 2 || got[0].Event.ID != event.ID || got[1].ID != ping.PingWebhookEndpoint.ID {
		t.Errorf("the deliveries are %+v", got)
	}
	if got := deliveries(", state: PENDING"); len(got) != 2 {
		t.Errorf("%d wait, want 2", len(got))
	}
	if got := deliveries(", state: FAILED"); len(got) != 0 {
		t.Errorf("%d have failed", len(got))
	}
}
