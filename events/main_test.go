package events_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/events/eventstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const region = inventorytest.Region

// queue keeps the lanes for which jobs were enqueued.
type queue struct {
	mu    sync.Mutex
	lanes []events.Lane
}

func (q *queue) EnqueueDeliveriesTx(_ context.Context, _ pgx.Tx, lanes ...events.Lane) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lanes = append(q.lanes, lanes...)
	return nil
}

// office is a tenant whose events somebody wants to hear of.
type office struct {
	*inventorytest.Tenant
	t      testing.TB
	events *events.Service
	queue  *queue
}

func open(t *testing.T) office {
	t.Helper()
	return openOn(t, inventorytest.New(t))
}

func openOn(t *testing.T, tenant *inventorytest.Tenant) office {
	t.Helper()
	o := office{Tenant: tenant, t: t, queue: &queue{}}
	o.events = o.service()
	return o
}

// service is one more process.
func (o office) service(change ...func(*events.Config)) *events.Service {
	o.t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		o.t.Fatal(err)
	}
	var config events.Config
	for _, c := range change {
		c(&config)
	}
	service, err := events.NewService(o.DB, enforcer, eventstest.Sender(o.t), o.queue, config)
	if err != nil {
		o.t.Fatal(err)
	}
	return service
}

// endpoint registers an address that wants everything.
func (o office) endpoint(actor tenants.Actor, url string, types ...events.Type) events.EndpointSecret {
	o.t.Helper()
	made, err := o.events.CreateEndpoint(o.t.Context(), actor, inventorytest.Key(), events.NewEndpoint{URL: url, Types: types})
	if err != nil {
		o.t.Fatal(err)
	}
	return made
}

// emit writes an event about something new in a channel's sales, and returns it.
func (o office) emit(channel tenants.ChannelID, what events.Type) events.EventID {
	o.t.Helper()
	return o.emitAbout(channel, what, uuid.New(), 1)
}

func (o office) emitAbout(channel tenants.ChannelID, what events.Type, entity uuid.UUID, version int64) events.EventID {
	o.t.Helper()
	kind := events.KindBooking
	if what == events.TypeRefundFailed || what == events.TypeRefundSucceeded || what == events.TypeRefundRequested {
		kind = events.KindRefund
	}
	now := o.Now()
	id, err := db.InTx(o.t.Context(), o.DB, "test.Emit", func(ctx context.Context, tx pgx.Tx) (events.EventID, error) {
		return events.EmitTx(ctx, tx, events.NewEvent{
			Tenant: o.ID, Region: region, Channel: channel, Kind: kind, Entity: entity, Version: version, Type: what, OccurredAt: now,
		})
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return id
}

// booked emits a sale of a channel, and makes its deliveries.
func (o office) booked(channel tenants.ChannelID) events.EventID {
	o.t.Helper()
	id := o.emit(channel, events.TypeBookingConfirmed)
	o.fanOut(id)
	return id
}

func (o office) fanOut(ids ...events.EventID) {
	o.t.Helper()
	for _, id := range ids {
		if err := o.events.FanOut(o.t.Context(), o.ID, id); err != nil {
			o.t.Fatal(err)
		}
	}
}

func (o office) lane(endpoint events.EndpointID) events.Lane {
	return events.Lane{Tenant: o.ID, Region: region, Endpoint: endpoint}
}

// deliver does the job of an endpoint.
func (o office) deliver(endpoint events.EndpointSecret) {
	o.t.Helper()
	if _, err := o.events.Deliver(o.t.Context(), o.lane(endpoint.Endpoint.ID)); err != nil {
		o.t.Fatal(err)
	}
}

// due lets just so much time pass that every delivery that waits is due.
func (o office) due() {
	o.t.Helper()
	o.exec("UPDATE webhook_deliveries SET next_attempt_at = now() - interval '1 second' WHERE tenant_id = $1 AND state = 'PENDING'")
}

// pass lets time pass for events, endpoints and deliveries.
func (o office) pass(d time.Duration) {
	o.t.Helper()
	o.exec("UPDATE outbox_events SET occurred_at = occurred_at - $2::interval, fan_out_due_at = fan_out_due_at - $2::interval WHERE tenant_id = $1", d)
	o.exec(`UPDATE webhook_endpoints SET created_at = created_at - $2::interval, previous_secret_until = previous_secret_until - $2::interval,
		disabled_at = disabled_at - $2::interval, deleted_at = deleted_at - $2::interval WHERE tenant_id = $1`, d)
	o.exec(`UPDATE webhook_deliveries SET created_at = created_at - $2::interval, opened_at = opened_at - $2::interval,
		next_attempt_at = next_attempt_at - $2::interval, settled_at = settled_at - $2::interval WHERE tenant_id = $1`, d)
}

func (o office) exec(statement string, args ...any) {
	o.t.Helper()
	if _, err := o.DB.Pool().Exec(o.t.Context(), statement, append([]any{o.ID.UUID}, args...)...); err != nil {
		o.t.Fatal(err)
	}
}

// deliveries of an endpoint, the newest first.
func (o office) deliveries(endpoint events.EndpointID, state events.DeliveryState) []events.Delivery {
	o.t.Helper()
	found, more, err := o.events.Deliveries(o.t.Context(), o.Owner, endpoint, region, state, nil, events.MaxPage)
	if err != nil || more {
		o.t.Fatalf("deliveries: %v, more %t", err, more)
	}
	return found
}

// standing is how the one delivery of an endpoint stands, such as "PENDING 1 500 the receiver answered 500".
func (o office) standing(endpoint events.EndpointSecret) string {
	o.t.Helper()
	found := o.deliveries(endpoint.Endpoint.ID, "")
	if len(found) != 1 {
		o.t.Fatalf("%d deliveries, want 1", len(found))
	}
	d := found[0]
	text := fmt.Sprintf("%s %d", d.State, d.Attempts)
	if d.LastStatus != 0 {
		text += fmt.Sprintf(" %d", d.LastStatus)
	}
	if d.LastError != "" {
		text += " " + d.LastError
	}
	return text
}

// current is an endpoint as its owner reads it.
func (o office) current(id events.EndpointID) events.Endpoint {
	o.t.Helper()
	endpoint, err := o.events.Endpoint(o.t.Context(), o.Owner, id)
	if err != nil {
		o.t.Fatal(err)
	}
	return endpoint
}

func texts(ids ...events.EventID) []string {
	var all []string
	for _, id := range ids {
		all = append(all, id.String())
	}
	return all
}

func expectIDs(t *testing.T, what string, got []string, want ...events.EventID) {
	t.Helper()
	if !slices.Equal(got, texts(want...)) {
		t.Errorf("%s\ngot:  %v\nwant: %v", what, got, texts(want...))
	}
}

// expectSame is expectIDs in any order.
func expectSame(t *testing.T, what string, got []string, want ...events.EventID) {
	t.Helper()
	wanted := texts(want...)
	slices.Sort(wanted)
	got = slices.Sorted(slices.Values(got))
	if !slices.Equal(got, wanted) {
		t.Errorf("%s\ngot:  %v\nwant: %v", what, got, wanted)
	}
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\ngot:  %s\nwant: %s", what, got, want)
	}
}

func expectFault(t *testing.T, what string, err error, want fault.Kind) {
	t.Helper()
	if err == nil || fault.KindOf(err) != want {
		t.Errorf("%s: got %v, want a fault %s", what, err, want)
	}
}
