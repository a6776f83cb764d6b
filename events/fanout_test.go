package events_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/events/eventstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/schema"
	"github.com/holdfast/holdfast/tenants"
)

func TestEachEndpointIsToldOfWhatItWants(t *testing.T) {
	t.Parallel()
	o := open(t)
	first, second := o.Partner("First"), o.Partner("Second")
	all := o.endpoint(o.Owner, "http://127.0.0.1/all")
	refunds := o.endpoint(o.Owner, "http://127.0.0.1/refunds", events.TypeRefundFailed, events.TypeRefundSucceeded)
	ofFirst := o.endpoint(first.Actor, "http://127.0.0.1/first")
	ofSecond := o.endpoint(second.Actor, "http://127.0.0.1/second", events.TypeBookingConfirmed)
	disabled := o.endpoint(o.Owner, "http://127.0.0.1/disabled")
	if _, err := o.events.UpdateEndpoint(t.Context(), o.Owner, disabled.Endpoint.ID, events.EndpointChange{Enabled: inventorytest.Of(false)}); err != nil {
		t.Fatal(err)
	}
	sold, failed := o.emit(first.Actor.Channel, events.TypeBookingConfirmed), o.emit(first.Actor.Channel, events.TypeRefundFailed)
	elsewhere, nobodys := o.emit(second.Actor.Channel, events.TypeBookingConfirmed), o.emit(tenants.ChannelID{}, events.TypeBookingConfirmed)
	late := o.endpoint(o.Owner, "http://127.0.0.1/late")
	o.fanOut(sold, failed, elsewhere, nobodys)
	for _, c := range []struct {
		name     string
		endpoint events.EndpointSecret
		want     []events.EventID
	}{
		{"all", all, []events.EventID{sold, failed, elsewhere, nobodys}},
		{"refunds", refunds, []events.EventID{failed}},
		{"the first partner's", ofFirst, []events.EventID{sold, failed}},
		{"the second partner's", ofSecond, []events.EventID{elsewhere}},
		{"a disabled one", disabled, nil},
		{"one that is younger than the events", late, nil},
	} {
		expectSame(t, c.name, o.told(c.endpoint), c.want...)
	}
}

// told are the events that an endpoint has a delivery of.
func (o office) told(endpoint events.EndpointSecret) []string {
	o.t.Helper()
	var all []string
	for _, d := range o.deliveries(endpoint.Endpoint.ID, "") {
		all = append(all, d.Event.ID.String())
	}
	return all
}

func TestFanningOutTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	o := open(t)
	endpoint := o.endpoint(o.Owner, "http://127.0.0.1/")
	id := o.emit(o.Widget.Channel, events.TypeBookingConfirmed)
	var jobs sync.WaitGroup
	for range 4 {
		jobs.Go(func() { o.fanOut(id) })
	}
	jobs.Wait()
	o.fanOut(id)
	// As if the process had died before it noted that the event was fanned out.
	o.exec("UPDATE outbox_events SET fan_out_due_at = now() WHERE tenant_id = $1")
	o.fanOut(id)
	expectIDs(t, "the deliveries", o.told(endpoint), id)
	if n := len(o.deliveries(endpoint.Endpoint.ID, events.DeliveryStatePending)); n != 1 {
		t.Errorf("%d wait", n)
	}
	// Nothing is there to be told of.
	o.fanOut(events.EventID{Region: region, UUID: uuid.New()})
}

// alone is an office on a database of its own: the sweep works for everybody on theirs.
func alone(t *testing.T) office {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.Create(t), MaxConnections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	if err := schema.Migrate(t.Context(), d, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return openOn(t, inventorytest.NewOn(t, d))
}

func TestTheSweepFindsWhatLostItsJob(t *testing.T) {
	t.Parallel()
	o, receiver := alone(t), eventstest.NewReceiver(t)
	o.Hotel()
	endpoint := o.endpoint(o.Owner, receiver.URL)
	lost := []events.EventID{o.emit(o.Widget.Channel, events.TypeBookingConfirmed), o.emit(o.Widget.Channel, events.TypeBookingConfirmed)}
	sweep := func(limit int) int {
		t.Helper()
		n, err := o.events.FanOutDue(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := sweep(10); n != 0 {
		t.Errorf("%d events were taken from their jobs, which have a head start", n)
	}
	o.pass(time.Hour)
	if first, second, third := sweep(1), sweep(1), sweep(10); first != 1 || second != 1 || third != 0 {
		t.Errorf("sweeps of one event found %d, %d and then %d", first, second, third)
	}
	expectSame(t, "the deliveries", o.told(endpoint), lost...)
	lanes, err := o.events.LanesDue(t.Context(), 10)
	if err != nil || len(lanes) != 1 || lanes[0] != o.lane(endpoint.Endpoint.ID) {
		t.Fatalf("due: %v, %v", lanes, err)
	}
	if _, err := o.events.Deliver(t.Context(), lanes[0]); err != nil {
		t.Fatal(err)
	}
	expectSame(t, "what arrived", receiver.IDs(), lost...)
	if lanes, err := o.events.LanesDue(t.Context(), 10); err != nil || len(lanes) != 0 {
		t.Errorf("still due: %v, %v", lanes, err)
	}
}

// An endpoint with much that is due does not hide those with little.
func TestTheSweepSeesEveryEndpoint(t *testing.T) {
	t.Parallel()
	o := alone(t)
	crowded := o.endpoint(o.Owner, "http://127.0.0.1/crowded")
	for range 20 {
		o.booked(o.Widget.Channel)
	}
	quiet := o.endpoint(o.Owner, "http://127.0.0.1/quiet", events.TypeRefundFailed)
	o.fanOut(o.emit(o.Widget.Channel, events.TypeRefundFailed))
	lanes, err := o.events.LanesDue(t.Context(), 2)
	if err != nil || len(lanes) != 2 || lanes[0] != o.lane(crowded.Endpoint.ID) || lanes[1] != o.lane(quiet.Endpoint.ID) {
		t.Errorf("due: %v, %v", lanes, err)
	}
}

// A type that the table does not have would be in no document and no enumeration.
func TestOnlyEventsOfTheTableAreEmitted(t *testing.T) {
	t.Parallel()
	o := open(t)
	for _, e := range []events.NewEvent{
		{Kind: events.KindBooking, Type: "booking.reborn"}, {Kind: events.KindRefund, Type: events.TypeBookingConfirmed}, {Kind: "hold", Type: events.TypeBookingConfirmed},
	} {
		e.Tenant, e.Region, e.Entity, e.Version, e.OccurredAt = o.ID, region, uuid.New(), 1, o.Now()
		if _, err := db.InTx(t.Context(), o.DB, "test.Emit", func(ctx context.Context, tx pgx.Tx) (events.EventID, error) {
			return events.EmitTx(ctx, tx, e)
		}); err == nil {
			t.Errorf("a %s emits %s", e.Kind, e.Type)
		}
	}
}
