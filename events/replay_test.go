package events_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/events/eventstest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

func TestReplayByID(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	before := o.emit(o.Widget.Channel, events.TypeBookingConfirmed)
	endpoint := o.endpoint(o.Owner, receiver.URL, events.TypeRefundFailed)
	told := o.emit(o.Widget.Channel, events.TypeRefundFailed)
	o.fanOut(before, told)
	o.deliver(endpoint)
	expectIDs(t, "at first", receiver.IDs(), told)
	key := inventorytest.Key()
	replay := func(key string, wanted ...events.EventID) (events.Replayed, error) {
		return o.events.Replay(t.Context(), o.Owner, key, endpoint.Endpoint.ID, wanted)
	}
	// One was delivered, and one was not for the endpoint when it happened.
	done, err := replay(key, told, before, told)
	if err != nil || done.Events != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	o.deliver(endpoint)
	expectSame(t, "after the replay", receiver.IDs()[1:], told, before)
	for _, m := range receiver.Messages() {
		if m.ID != m.Data.Event {
			t.Errorf("the id %s is not the event's %s", m.ID, m.Data.Event)
		}
	}
	if again, err := replay(key, told, before, told); err != nil || again.Events != 2 {
		t.Errorf("the same request again: %+v, %v", again, err)
	}
	o.deliver(endpoint)
	if n := len(receiver.IDs()); n != 3 {
		t.Errorf("%d messages: a repeated request replays again", n)
	}
	if _, err := replay(key, before); !errors.Is(err, request.ErrKeyReused) {
		t.Errorf("another request under the same key: %v", err)
	}
	if found := o.deliveries(endpoint.Endpoint.ID, events.DeliveryStateDelivered); len(found) != 2 || found[0].Attempts != 1 || found[1].Attempts != 1 {
		t.Errorf("the deliveries are %+v", found)
	}
	for _, c := range []struct {
		name   string
		events []events.EventID
		field  string
	}{
		{"nothing", nil, "events"},
		{"too many", make([]events.EventID, events.MaxReplayedByID+1), "events"},
		{"two regions", []events.EventID{told, {Region: "us", UUID: told.UUID}}, "events[1]"},
	} {
		_, err := replay(inventorytest.Key(), c.events...)
		expectField(t, c.name, err, c.field)
	}
	_, err = replay(inventorytest.Key(), told, events.EventID{Region: region, UUID: uuid.New()})
	expectFault(t, "an event that is not there", err, fault.KindNotFound)
	_, err = o.events.Replay(t.Context(), o.Owner, inventorytest.Key(), ids.NewGlobal[events.EndpointKind](), []events.EventID{told})
	expectFault(t, "an endpoint that is not there", err, fault.KindNotFound)
}

// A delivery that was given up has all its tries before it again.
func TestReplayCountsAgain(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	id := o.booked(o.Widget.Channel)
	receiver.AnswerStatus(500)
	o.pass(events.RetryFor)
	o.deliver(endpoint)
	expect(t, "given up", o.standing(endpoint), "FAILED 1 500 the receiver answered 500")
	if _, err := o.events.Replay(t.Context(), o.Owner, inventorytest.Key(), endpoint.Endpoint.ID, []events.EventID{id}); err != nil {
		t.Fatal(err)
	}
	expect(t, "opened again", o.standing(endpoint), "PENDING 0")
	o.deliver(endpoint)
	expect(t, "and failed once", o.standing(endpoint), "PENDING 1 500 the receiver answered 500")
}

func TestReplayBetween(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	partner, other := o.Partner("Partner"), o.Partner("Other")
	var sent []events.EventID
	for range 4 {
		sent = append(sent, o.emit(partner.Actor.Channel, events.TypeBookingConfirmed))
		o.emit(other.Actor.Channel, events.TypeBookingConfirmed)
		o.emit(partner.Actor.Channel, events.TypeRefundRequested)
	}
	endpoint := o.endpoint(partner.Actor, receiver.URL, events.TypeBookingConfirmed)
	at := func(i int) time.Time {
		event, err := o.events.Event(t.Context(), o.Owner, sent[i])
		if err != nil {
			t.Fatal(err)
		}
		return event.OccurredAt
	}
	replay := func(from, to time.Time) (events.Replayed, error) {
		return o.events.ReplayBetween(t.Context(), partner.Actor, inventorytest.Key(), endpoint.Endpoint.ID, region, from, to)
	}
	done, err := replay(at(1), at(3))
	if err != nil || done.Events != 2 || done.ContinueFrom != nil {
		t.Fatalf("%+v, %v", done, err)
	}
	o.deliver(endpoint)
	expectSame(t, "from the first moment up to the second", receiver.IDs(), sent[1], sent[2])
	for _, c := range []struct {
		name     string
		from, to time.Time
	}{
		{"no time", at(1), at(1)}, {"backwards", at(2), at(1)}, {"too long", at(3).Add(-events.MaxReplaySpan - time.Second), at(3)},
	} {
		_, err := replay(c.from, c.to)
		expectField(t, c.name, err, "to")
	}
	if none, err := replay(at(0).Add(-time.Hour), at(0)); err != nil || none.Events != 0 {
		t.Errorf("before everything: %+v, %v", none, err)
	}
}

func TestAReplayOfMuchSaysWhereToGoOn(t *testing.T) {
	t.Parallel()
	o := open(t)
	endpoint := o.endpoint(o.Owner, "http://127.0.0.1/")
	o.exec(`INSERT INTO outbox_events (tenant_id, region, id, entity_kind, entity_id, version, type, occurred_at)
		SELECT $1, 'eu', gen_random_uuid(), 'booking', gen_random_uuid(), 1, 'booking.confirmed', now() - n * interval '1 second'
		FROM (SELECT generate_series(1, $2::bigint) AS n) AS numbers`, events.MaxReplayed+7)
	to := o.Now()
	key := inventorytest.Key()
	first, err := o.events.ReplayBetween(t.Context(), o.Owner, key, endpoint.Endpoint.ID, region, to.Add(-time.Hour), to)
	if err != nil || first.Events != events.MaxReplayed || first.ContinueFrom == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := o.events.ReplayBetween(t.Context(), o.Owner, key, endpoint.Endpoint.ID, region, to.Add(-time.Hour), to)
	if err != nil || again.Events != first.Events || !again.ContinueFrom.Equal(*first.ContinueFrom) {
		t.Errorf("the same request again: %+v, %v", again, err)
	}
	rest, err := o.events.ReplayBetween(t.Context(), o.Owner, inventorytest.Key(), endpoint.Endpoint.ID, region, *first.ContinueFrom, to)
	if err != nil || rest.Events != 7 || rest.ContinueFrom != nil {
		t.Errorf("the rest: %+v, %v", rest, err)
	}
	var waits int
	if err := o.DB.Pool().QueryRow(t.Context(), "SELECT count(*) FROM webhook_deliveries WHERE tenant_id = $1", o.ID.UUID).Scan(&waits); err != nil || waits != events.MaxReplayed+7 {
		t.Errorf("%d deliveries, %v", waits, err)
	}
}

func TestReplaysStayInTheirChannel(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	partner, other := o.Partner("Partner"), o.Partner("Other")
	theirs, nobodys := o.emit(other.Actor.Channel, events.TypeBookingConfirmed), o.booked(o.Widget.Channel)
	endpoint, foreign := o.endpoint(partner.Actor, receiver.URL), o.endpoint(other.Actor, receiver.URL)
	for name, actor := range map[string]inventorytest.Buyer{"the partner": partner, "the owner": o.Buyer(o.Owner)} {
		for _, id := range []events.EventID{theirs, nobodys} {
			_, err := o.events.Replay(t.Context(), actor.Actor, inventorytest.Key(), endpoint.Endpoint.ID, []events.EventID{id})
			expectFault(t, name+" replays another channel's event", err, fault.KindNotFound)
		}
	}
	_, err := o.events.Replay(t.Context(), partner.Actor, inventorytest.Key(), foreign.Endpoint.ID, []events.EventID{theirs})
	expectFault(t, "a partner replays to another's endpoint", err, fault.KindNotFound)
	done, err := o.events.ReplayBetween(t.Context(), partner.Actor, inventorytest.Key(), endpoint.Endpoint.ID, region, o.Now().Add(-time.Hour), o.Now())
	if err != nil || done.Events != 0 {
		t.Errorf("a partner replays %d events of others, %v", done.Events, err)
	}
	twin := open(t)
	_, err = o.events.Replay(t.Context(), twin.Owner, inventorytest.Key(), endpoint.Endpoint.ID, []events.EventID{theirs})
	expectFault(t, "another tenant replays", err, fault.KindNotFound)
	if _, err := o.events.UpdateEndpoint(t.Context(), partner.Actor, endpoint.Endpoint.ID, events.EndpointChange{Enabled: inventorytest.Of(false)}); err != nil {
		t.Fatal(err)
	}
	_, err = o.events.ReplayBetween(t.Context(), partner.Actor, inventorytest.Key(), endpoint.Endpoint.ID, region, o.Now().Add(-time.Hour), o.Now())
	expectFault(t, "a replay to a disabled endpoint", err, fault.KindConflict)
	if got := receiver.IDs(); len(got) != 0 {
		t.Errorf("%v arrived", got)
	}
}

// expectField is a fault.KindInvalid about a field.
func expectField(t *testing.T, what string, err error, field string) {
	t.Helper()
	var invalid *fault.Error
	if !errors.As(err, &invalid) || invalid.Kind != fault.KindInvalid {
		t.Errorf("%s: got %v, want a fault about %s", what, err, field)
		return
	}
	expect(t, fmt.Sprintf("%s (%v)", what, err), invalid.Field, field)
}
