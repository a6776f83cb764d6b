package events_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/events/eventstest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/tenants"
)

func TestASecretIsShownOnce(t *testing.T) {
	t.Parallel()
	o := open(t)
	key, input := inventorytest.Key(), events.NewEndpoint{URL: "https://example.com/hooks", Types: []events.Type{events.TypeRefundFailed, events.TypeBookingConfirmed, events.TypeRefundFailed}}
	made, err := o.events.CreateEndpoint(t.Context(), o.Owner, key, input)
	if err != nil || !strings.HasPrefix(made.Secret, "whsec_") || len(made.Secret) < 40 {
		t.Fatalf("%+v, %v", made, err)
	}
	if !slices.Equal(made.Endpoint.Types, []events.Type{events.TypeBookingConfirmed, events.TypeRefundFailed}) {
		t.Errorf("the types are %v", made.Endpoint.Types)
	}
	again, err := o.events.CreateEndpoint(t.Context(), o.Owner, key, input)
	if err != nil || again.Secret != "" || again.Endpoint.ID != made.Endpoint.ID {
		t.Errorf("a repeated call: %+v, %v", again, err)
	}
	input.URL = "https://example.com/others"
	if _, err := o.events.CreateEndpoint(t.Context(), o.Owner, key, input); !errors.Is(err, request.ErrKeyReused) {
		t.Errorf("another endpoint under the same key: %v", err)
	}
	if o.endpoint(o.Owner, input.URL).Secret == made.Secret {
		t.Error("two endpoints have one secret")
	}
}

func TestBadEndpointsAreRefusedByField(t *testing.T) {
	t.Parallel()
	o := open(t)
	endpoint := o.endpoint(o.Owner, "https://example.com/")
	for _, c := range []struct {
		name  string
		input events.NewEndpoint
		field string
	}{
		{"no URL", events.NewEndpoint{}, "url"},
		{"a long URL", events.NewEndpoint{URL: "https://example.com/" + strings.Repeat("a", 2000)}, "url"},
		{"a scheme", events.NewEndpoint{URL: "ftp://example.com/"}, "url"},
		{"a long description", events.NewEndpoint{URL: "https://example.com/", Description: strings.Repeat("ä", 201)}, "description"},
		{"two lines", events.NewEndpoint{URL: "https://example.com/", Description: "a\nb"}, "description"},
		{"bytes that are no text", events.NewEndpoint{URL: "https://example.com/", Description: "\xff"}, "description"},
		{"an unknown type", events.NewEndpoint{URL: "https://example.com/", Types: []events.Type{events.TypeRefundFailed, "refund.lost"}}, "types[1]"},
		{"the test", events.NewEndpoint{URL: "https://example.com/", Types: []events.Type{events.TypeEndpointPing}}, "types[0]"},
	} {
		_, err := o.events.CreateEndpoint(t.Context(), o.Owner, inventorytest.Key(), c.input)
		expectField(t, c.name, err, c.field)
		change := events.EndpointChange{URL: &c.input.URL, Description: &c.input.Description, Types: &c.input.Types}
		_, err = o.events.UpdateEndpoint(t.Context(), o.Owner, endpoint.Endpoint.ID, change)
		expectField(t, c.name+", in a change", err, c.field)
	}
	_, err := o.events.CreateEndpoint(t.Context(), o.Owner, "", events.NewEndpoint{URL: "https://example.com/"})
	expectField(t, "no request key", err, "requestKey")
	longest := events.NewEndpoint{URL: "https://example.com/" + strings.Repeat("a", 2000-len("https://example.com/")), Description: strings.Repeat("ä", 200)}
	if _, err := o.events.CreateEndpoint(t.Context(), o.Owner, inventorytest.Key(), longest); err != nil {
		t.Errorf("the longest that is allowed: %v", err)
	}
}

func TestAChangeSaysHowAnEndpointShallBe(t *testing.T) {
	t.Parallel()
	o := open(t)
	id := o.endpoint(o.Owner, "https://example.com/", events.TypeRefundFailed).Endpoint.ID
	change := events.EndpointChange{
		URL: inventorytest.Of("https://example.com/new"), Description: inventorytest.Of("Till 3"), Types: &[]events.Type{}, Enabled: inventorytest.Of(false),
	}
	for range 2 {
		got, err := o.events.UpdateEndpoint(t.Context(), o.Owner, id, change)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "changed", fmt.Sprint(got.URL, got.Description, got.Types, got.State, got.Reason, got.Version), "https://example.com/newTill 3[]DISABLEDREQUESTED2")
	}
	got, err := o.events.UpdateEndpoint(t.Context(), o.Owner, id, events.EndpointChange{Enabled: inventorytest.Of(true)})
	if err != nil || got.State != events.EndpointStateEnabled || got.Reason != "" || got.DisabledAt != nil || got.URL != *change.URL || got.Version != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := o.events.UpdateEndpoint(t.Context(), o.Owner, id, events.EndpointChange{}); err != nil || o.current(id).Version != 3 {
		t.Errorf("no change: version %d, %v", o.current(id).Version, err)
	}
}

func TestADeletedEndpointIsGone(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	waits := o.booked(o.Widget.Channel)
	id := endpoint.Endpoint.ID
	for range 2 {
		if err := o.events.DeleteEndpoint(t.Context(), o.Owner, id); err != nil {
			t.Fatal(err)
		}
	}
	o.booked(o.Widget.Channel)
	o.deliver(endpoint)
	if got := receiver.IDs(); len(got) != 0 {
		t.Errorf("%v arrived", got)
	}
	for name, act := range map[string]func() error{
		"read": func() error { _, err := o.events.Endpoint(t.Context(), o.Owner, id); return err },
		"change": func() error {
			_, err := o.events.UpdateEndpoint(t.Context(), o.Owner, id, events.EndpointChange{})
			return err
		},
		"rotate": func() error {
			_, err := o.events.RotateSecret(t.Context(), o.Owner, inventorytest.Key(), id)
			return err
		},
		"ping": func() error { _, err := o.events.Ping(t.Context(), o.Owner, inventorytest.Key(), id); return err },
		"its history": func() error {
			_, _, err := o.events.Deliveries(t.Context(), o.Owner, id, region, "", nil, 10)
			return err
		},
		"replay": func() error {
			_, err := o.events.Replay(t.Context(), o.Owner, inventorytest.Key(), id, []events.EventID{waits})
			return err
		},
	} {
		expectFault(t, name, act(), fault.KindNotFound)
	}
	if listed, _, err := o.events.Endpoints(t.Context(), o.Owner, events.EndpointID{}, 10); err != nil || len(listed) != 0 {
		t.Errorf("listed: %v, %v", listed, err)
	}
	var state, reason, secret string
	if err := o.DB.Pool().QueryRow(t.Context(), `SELECT d.state, d.last_error, e.secret || e.previous_secret FROM webhook_deliveries d
		JOIN webhook_endpoints e ON e.tenant_id = d.tenant_id AND e.id = d.endpoint_id WHERE d.tenant_id = $1`, o.ID.UUID).Scan(&state, &reason, &secret); err != nil {
		t.Fatal(err)
	}
	expect(t, "what waited, and the secrets", state+" "+reason+secret, "FAILED the endpoint was deleted")
}

func TestThePartnersEndpointsAreItsOwn(t *testing.T) {
	t.Parallel()
	o := open(t)
	partner, other, twin := o.Partner("Partner"), o.Partner("Other"), open(t)
	mine := o.endpoint(partner.Actor, "https://example.com/mine").Endpoint
	if mine.Channel != partner.Actor.Channel {
		t.Errorf("the channel is %s", mine.Channel)
	}
	named, err := o.events.CreateEndpoint(t.Context(), partner.Actor, inventorytest.Key(), events.NewEndpoint{URL: "https://example.com/", Channel: partner.Actor.Channel})
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.events.CreateEndpoint(t.Context(), partner.Actor, inventorytest.Key(), events.NewEndpoint{URL: "https://example.com/", Channel: other.Actor.Channel})
	expectFault(t, "a partner's endpoint of another channel", err, fault.KindNotFound)
	for name, channel := range map[string]tenants.ChannelID{"of another tenant": twin.Widget.Channel, "of nobody": ids.NewGlobal[tenants.ChannelKind]()} {
		_, err = o.events.CreateEndpoint(t.Context(), o.Owner, inventorytest.Key(), events.NewEndpoint{URL: "https://example.com/", Channel: channel})
		expectFault(t, "a channel "+name, err, fault.KindNotFound)
	}
	theirs, everybodys := o.endpoint(other.Actor, "https://example.com/theirs").Endpoint, o.endpoint(o.Owner, "https://example.com/all").Endpoint
	for name, actor := range map[string]tenants.Actor{"a partner": partner.Actor, "another tenant": twin.Owner} {
		for _, id := range []events.EndpointID{theirs.ID, everybodys.ID} {
			for what, act := range map[string]func() error{
				"reads": func() error { _, err := o.events.Endpoint(t.Context(), actor, id); return err },
				"changes": func() error {
					_, err := o.events.UpdateEndpoint(t.Context(), actor, id, events.EndpointChange{})
					return err
				},
				"rotates": func() error { _, err := o.events.RotateSecret(t.Context(), actor, inventorytest.Key(), id); return err },
				"tests":   func() error { _, err := o.events.Ping(t.Context(), actor, inventorytest.Key(), id); return err },
				"deletes": func() error { return o.events.DeleteEndpoint(t.Context(), actor, id) },
				"looks into": func() error {
					_, _, err := o.events.Deliveries(t.Context(), actor, id, region, "", nil, 10)
					return err
				},
			} {
				expectFault(t, name+" "+what+" another's endpoint", act(), fault.KindNotFound)
			}
		}
	}
	list := func(actor tenants.Actor, size int) []string {
		var all []string
		var after events.EndpointID
		for {
			found, more, err := o.events.Endpoints(t.Context(), actor, after, size)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range found {
				all, after = append(all, e.ID.String()), e.ID
			}
			if !more {
				slices.Sort(all)
				return all
			}
		}
	}
	sorted := func(endpoints ...events.Endpoint) string {
		var all []string
		for _, e := range endpoints {
			all = append(all, e.ID.String())
		}
		slices.Sort(all)
		return fmt.Sprint(all)
	}
	for _, size := range []int{1, 2, 100} {
		expect(t, "the partner's", fmt.Sprint(list(partner.Actor, size)), sorted(mine, named.Endpoint))
		expect(t, "the owner's", fmt.Sprint(list(o.Owner, size)), sorted(mine, named.Endpoint, theirs, everybodys))
	}
	for name, actor := range map[string]tenants.Actor{"a page": o.Widget, "a guest": o.Guest().Actor, "nobody": {}} {
		if _, err := o.events.CreateEndpoint(t.Context(), actor, inventorytest.Key(), events.NewEndpoint{URL: "https://example.com/"}); err == nil {
			t.Errorf("%s makes an endpoint", name)
		}
	}
}

func TestAChannelHasABoundedNumberOfEndpoints(t *testing.T) {
	t.Parallel()
	o := open(t)
	var last events.EndpointID
	for range 20 {
		last = o.endpoint(o.Owner, "https://example.com/").Endpoint.ID
	}
	_, err := o.events.CreateEndpoint(t.Context(), o.Owner, inventorytest.Key(), events.NewEndpoint{URL: "https://example.com/"})
	expectFault(t, "one more", err, fault.KindConflict)
	if err := o.events.DeleteEndpoint(t.Context(), o.Owner, last); err != nil {
		t.Fatal(err)
	}
	o.endpoint(o.Owner, "https://example.com/")
	o.endpoint(o.Partner("Partner").Actor, "https://example.com/")
}

func TestPingTestsOneEndpoint(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	partner := o.Partner("Partner")
	endpoint, other := o.endpoint(partner.Actor, receiver.URL, events.TypeRefundFailed), o.endpoint(o.Owner, receiver.URL)
	key := inventorytest.Key()
	sent, err := o.events.Ping(t.Context(), partner.Actor, key, endpoint.Endpoint.ID)
	if err != nil || sent.State != events.DeliveryStatePending || sent.Event.Type != events.TypeEndpointPing {
		t.Fatalf("%+v, %v", sent, err)
	}
	if again, err := o.events.Ping(t.Context(), partner.Actor, key, endpoint.Endpoint.ID); err != nil || again.ID != sent.ID {
		t.Errorf("a repeated call: %+v, %v", again, err)
	}
	if len(o.queue.lanes) == 0 || o.queue.lanes[0] != o.lane(endpoint.Endpoint.ID) {
		t.Errorf("jobs for %v", o.queue.lanes)
	}
	o.fanOut(sent.Event.ID)
	o.deliver(endpoint)
	o.deliver(other)
	got := receiver.Only()
	expect(t, "what arrived", got.Type+" "+got.Data.ID, "endpoint.ping "+endpoint.Endpoint.ID.String())
	if err := got.VerifiedBy(endpoint.Secret); err != nil {
		t.Error(err)
	}
	expect(t, "the delivery", o.standing(endpoint), "DELIVERED 1 204")
	// The next one is another event, of the next version.
	second, err := o.events.Ping(t.Context(), o.Owner, inventorytest.Key(), endpoint.Endpoint.ID)
	if err != nil || second.Event.Version != sent.Event.Version+1 {
		t.Errorf("%+v, %v", second, err)
	}
	_, err = o.events.Replay(t.Context(), o.Owner, inventorytest.Key(), other.Endpoint.ID, []events.EventID{sent.Event.ID})
	expectFault(t, "a test of one endpoint for another", err, fault.KindNotFound)
	if _, err := o.events.UpdateEndpoint(t.Context(), o.Owner, endpoint.Endpoint.ID, events.EndpointChange{Enabled: inventorytest.Of(false)}); err != nil {
		t.Fatal(err)
	}
	_, err = o.events.Ping(t.Context(), o.Owner, inventorytest.Key(), endpoint.Endpoint.ID)
	expectFault(t, "a test of a disabled endpoint", err, fault.KindConflict)
}

func TestDeliveriesAreListedByStateAndPage(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	delivered := []events.EventID{o.booked(o.Widget.Channel), o.booked(o.Widget.Channel), o.booked(o.Widget.Channel)}
	o.deliver(endpoint)
	waits := o.booked(o.Widget.Channel)
	list := func(state events.DeliveryState, size int) []string {
		var all []string
		var after *events.DeliveryCursor
		for {
			found, more, err := o.events.Deliveries(t.Context(), o.Owner, endpoint.Endpoint.ID, region, state, after, size)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range found {
				all, after = append(all, d.Event.ID.String()), &events.DeliveryCursor{CreatedAt: d.CreatedAt, ID: d.ID.UUID}
			}
			if !more {
				return all
			}
		}
	}
	for _, size := range []int{1, 3, 100} {
		expectIDs(t, "all", list("", size), waits, delivered[2], delivered[1], delivered[0])
		expectIDs(t, "delivered", list(events.DeliveryStateDelivered, size), delivered[2], delivered[1], delivered[0])
		expectIDs(t, "waiting", list(events.DeliveryStatePending, size), waits)
		expectIDs(t, "failed", list(events.DeliveryStateFailed, size))
	}
	_, _, err := o.events.Deliveries(t.Context(), o.Owner, endpoint.Endpoint.ID, region, "LOST", nil, 10)
	expectField(t, "a state", err, "state")
	_, _, err = o.events.Deliveries(t.Context(), o.Owner, endpoint.Endpoint.ID, region, "", nil, 0)
	expectField(t, "a page", err, "first")
}
