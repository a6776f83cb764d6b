package events_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/events/eventstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/tenants"
)

func TestADeliveryIsSignedAndThin(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	partner := o.Channel("Partner", tenants.ChannelTypePartner)
	entity := uuid.New()
	id := o.emitAbout(partner.ID, events.TypeBookingCancelled, entity, 7)
	o.fanOut(id)
	o.deliver(endpoint)
	got := receiver.Only()
	if err := got.VerifiedBy(endpoint.Secret); err != nil {
		t.Error(err)
	}
	if err := got.VerifiedBy(o.endpoint(o.Owner, receiver.URL).Secret); err == nil {
		t.Error("another endpoint's secret vouches for it")
	}
	expect(t, "the id", got.ID, id.String())
	expect(t, "the type of the content", got.Header.Get("Content-Type"), "application/json")
	event, err := o.events.Event(t.Context(), o.Owner, id)
	if err != nil {
		t.Fatal(err)
	}
	// Byte for byte: there is room for nothing else.
	expect(t, "the body", string(got.Body), fmt.Sprintf(
		`{"type":"booking.cancelled","timestamp":%q,"data":{"event":%q,"kind":"booking","id":%q,"version":7,"region":"eu","channel":%q}}`,
		event.OccurredAt.UTC().Format(time.RFC3339Nano), id, event.Subject(), partner.ID))
	expect(t, "the delivery", o.standing(endpoint), "DELIVERED 1 204")
}

func TestAnEventWithoutAChannelSaysSo(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	o.booked(tenants.ChannelID{})
	o.deliver(endpoint)
	if got := receiver.Only(); got.Data.Channel != nil {
		t.Errorf("the channel is %q", *got.Data.Channel)
	}
}

func TestAFailedDeliveryIsTriedAgain(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	receiver.AnswerStatus(http.StatusInternalServerError)
	id := o.booked(o.Widget.Channel)
	o.deliver(endpoint)
	expect(t, "after a failure", o.standing(endpoint), "PENDING 1 500 the receiver answered 500")
	next := o.deliveries(endpoint.Endpoint.ID, "")[0]
	if wait := next.NextAttemptAt.Sub(*next.LastAttemptAt); wait < 2*time.Second || wait > 20*time.Second {
		t.Errorf("the next try is in %s", wait)
	}
	o.deliver(endpoint)
	expectIDs(t, "before it is due", receiver.IDs(), id)
	receiver.AnswerStatus(http.StatusOK)
	o.due()
	o.deliver(endpoint)
	expect(t, "after a success", o.standing(endpoint), "DELIVERED 2 200")
	o.due()
	o.deliver(endpoint)
	expectIDs(t, "the same id in each try", receiver.IDs(), id, id)
	got := receiver.Messages()
	expect(t, "the same body in each try", string(got[1].Body), string(got[0].Body))
}

func TestADeliveryIsGivenUpAfterThreeDays(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	receiver.AnswerStatus(http.StatusServiceUnavailable)
	id := o.booked(o.Widget.Channel)
	o.pass(events.RetryFor - time.Hour)
	o.exec("UPDATE webhook_deliveries SET attempts = 40, next_attempt_at = now() WHERE tenant_id = $1")
	o.deliver(endpoint)
	last := o.deliveries(endpoint.Endpoint.ID, events.DeliveryStatePending)
	if len(last) != 1 || !last[0].NextAttemptAt.Equal(last[0].OpenedAt.Add(events.RetryFor)) {
		t.Errorf("the last try is not at the end of the three days: %+v", last)
	}
	o.pass(time.Hour)
	o.deliver(endpoint)
	expect(t, "after three days", o.standing(endpoint), "FAILED 42 503 the receiver answered 503")
	expectIDs(t, "what was tried", receiver.IDs(), id, id)
	if found := o.deliveries(endpoint.Endpoint.ID, events.DeliveryStateDelivered); len(found) != 0 {
		t.Errorf("delivered: %+v", found)
	}
}

func TestGoneDisablesTheEndpoint(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	receiver.AnswerStatus(http.StatusGone)
	o.booked(o.Widget.Channel)
	waits := o.booked(o.Widget.Channel)
	o.deliver(endpoint)
	now := o.current(endpoint.Endpoint.ID)
	if now.State != events.EndpointStateDisabled || now.Reason != events.DisabledReasonGone || now.DisabledAt == nil {
		t.Errorf("the endpoint is %+v", now)
	}
	missed := o.booked(o.Widget.Channel)
	o.due()
	o.deliver(endpoint)
	if n := len(receiver.Messages()); n != 1 {
		t.Errorf("%d messages to a receiver that is gone, want 1", n)
	}
	var got []string
	for _, d := range o.deliveries(endpoint.Endpoint.ID, events.DeliveryStateFailed) {
		got = append(got, d.LastError)
	}
	expect(t, "why they failed", fmt.Sprint(got), "[the endpoint is disabled the receiver answered 410]")
	receiver.AnswerStatus(http.StatusOK)
	if _, err := o.events.UpdateEndpoint(t.Context(), o.Owner, endpoint.Endpoint.ID, events.EndpointChange{Enabled: inventorytest.Of(true)}); err != nil {
		t.Fatal(err)
	}
	o.deliver(endpoint)
	if n := len(receiver.Messages()); n != 1 {
		t.Errorf("%d messages: enabling alone brings back what was missed", n)
	}
	if _, err := o.events.Replay(t.Context(), o.Owner, inventorytest.Key(), endpoint.Endpoint.ID, []events.EventID{waits, missed}); err != nil {
		t.Fatal(err)
	}
	o.deliver(endpoint)
	expectSame(t, "after a replay", receiver.IDs()[1:], waits, missed)
}

// Who answers for an address that the endpoint no longer has disables nothing.
func TestGoneOfAnEarlierAddressChangesNothing(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	receiver.Answer(func(w http.ResponseWriter, r *http.Request) {
		if _, err := o.events.UpdateEndpoint(r.Context(), o.Owner, endpoint.Endpoint.ID, events.EndpointChange{URL: inventorytest.Of(receiver.URL + "/new")}); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusGone)
	})
	o.booked(o.Widget.Channel)
	o.deliver(endpoint)
	if now := o.current(endpoint.Endpoint.ID); now.State != events.EndpointStateEnabled {
		t.Errorf("the endpoint is %+v", now)
	}
}

func TestRotationSignsTwice(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	key := inventorytest.Key()
	rotated, err := o.events.RotateSecret(t.Context(), o.Owner, key, endpoint.Endpoint.ID)
	if err != nil || rotated.Secret == endpoint.Secret || rotated.Endpoint.RotatedUntil == nil {
		t.Fatalf("rotated: %+v, %v", rotated, err)
	}
	again, err := o.events.RotateSecret(t.Context(), o.Owner, key, endpoint.Endpoint.ID)
	if err != nil || again.Secret != "" || again.Endpoint.Version != rotated.Endpoint.Version {
		t.Errorf("a repeated call: %+v, %v", again, err)
	}
	o.booked(o.Widget.Channel)
	o.deliver(endpoint)
	for name, secret := range map[string]string{"old": endpoint.Secret, "new": rotated.Secret} {
		if err := receiver.Only().VerifiedBy(secret); err != nil {
			t.Errorf("the %s secret during the overlap: %v", name, err)
		}
	}
	o.pass(events.SecretOverlap)
	if o.current(endpoint.Endpoint.ID).RotatedUntil != nil {
		t.Error("the rotation does not end")
	}
	o.booked(o.Widget.Channel)
	o.deliver(endpoint)
	last := receiver.Messages()[1]
	if err := last.VerifiedBy(rotated.Secret); err != nil {
		t.Error(err)
	}
	if last.VerifiedBy(endpoint.Secret) == nil {
		t.Error("the old secret still signs after the overlap")
	}
}

// The process dies after the receiver has taken a message and before that is written down.
func TestATryWhoseProcessDiedIsMadeAgainWithTheSameID(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	id := o.booked(o.Widget.Channel)
	dying := o.service(func(c *events.Config) { c.AfterStep = func(string) { runtime.Goexit() } })
	var ended sync.WaitGroup
	ended.Go(func() { _, _ = dying.Deliver(t.Context(), o.lane(endpoint.Endpoint.ID)) })
	ended.Wait()
	o.deliver(endpoint)
	expectIDs(t, "while its lease lasts", receiver.IDs(), id)
	o.due()
	o.deliver(endpoint)
	expectIDs(t, "after its lease", receiver.IDs(), id, id)
	expect(t, "the delivery", o.standing(endpoint), "DELIVERED 2 204")
}

// Many jobs of one endpoint at once, in two processes, send each event once.
func TestJobsAtOnceSendEachEventOnce(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	var sent []events.EventID
	for range 12 {
		sent = append(sent, o.booked(o.Widget.Channel))
	}
	other := o.service()
	var jobs sync.WaitGroup
	for _, service := range []*events.Service{o.events, other, o.events, other, o.events} {
		jobs.Go(func() {
			if _, err := service.Deliver(t.Context(), o.lane(endpoint.Endpoint.ID)); err != nil {
				t.Error(err)
			}
		})
	}
	jobs.Wait()
	expectSame(t, "what arrived", receiver.IDs(), sent...)
}

// One receiver does not answer. Its jobs take a bounded number of workers, and others get theirs.
func TestADeadEndpointDelaysNoOther(t *testing.T) {
	t.Parallel()
	o, dead, living := open(t), eventstest.NewReceiver(t), eventstest.NewReceiver(t)
	hung, release := make(chan struct{}, 10), make(chan struct{})
	dead.Answer(func(w http.ResponseWriter, _ *http.Request) {
		hung <- struct{}{}
		<-release
		w.WriteHeader(http.StatusBadGateway)
	})
	stuck, fine := o.endpoint(o.Owner, dead.URL), o.endpoint(o.Owner, living.URL)
	var sent []events.EventID
	for range 5 {
		sent = append(sent, o.booked(o.Widget.Channel))
	}
	var jobs sync.WaitGroup
	for range 2 {
		jobs.Go(func() { o.deliver(stuck) })
		<-hung
	}
	// Both places are taken: a third job does nothing, at once.
	o.deliver(stuck)
	o.deliver(fine)
	expectSame(t, "what the living receiver got meanwhile", living.IDs(), sent...)
	close(release)
	jobs.Wait()
	if n := len(dead.Messages()); n != 2 {
		t.Errorf("%d tries at the dead receiver, want 2", n)
	}
	if n := len(o.deliveries(stuck.Endpoint.ID, events.DeliveryStatePending)); n != 5 {
		t.Errorf("%d of its deliveries wait, want 5", n)
	}
}

// After failures in a row an endpoint rests in this process, whatever is due.
func TestADeadEndpointRests(t *testing.T) {
	t.Parallel()
	o, dead := open(t), eventstest.NewReceiver(t)
	dead.AnswerStatus(http.StatusInternalServerError)
	stuck := o.endpoint(o.Owner, dead.URL)
	for range 20 {
		o.booked(o.Widget.Channel)
	}
	for range 20 {
		o.deliver(stuck)
	}
	if n := len(dead.Messages()); n < 3 || n > 6 {
		t.Errorf("20 jobs made %d tries at a dead receiver", n)
	}
}

func TestALongRunGoesToTheEndOfTheQueue(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	const sent = 51
	for range sent {
		o.booked(o.Widget.Channel)
	}
	var runs []string
	for range 2 {
		more, err := o.events.Deliver(t.Context(), o.lane(endpoint.Endpoint.ID))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, strconv.FormatBool(more))
	}
	expect(t, "whether more is due", fmt.Sprint(runs), "[true false]")
	if n := len(receiver.Messages()); n != sent {
		t.Errorf("%d arrived", n)
	}
}

func TestWhatEndedLongAgoIsForgotten(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	endpoint := o.endpoint(o.Owner, receiver.URL)
	o.booked(o.Widget.Channel)
	o.deliver(endpoint)
	o.pass(31 * 24 * time.Hour)
	recent := o.booked(o.Widget.Channel)
	o.deliver(endpoint)
	waiting := o.booked(o.Widget.Channel)
	for range 2 {
		// Deliveries first: an event goes only when it has none.
		_, err := db.InTx(t.Context(), o.DB, "test.Retention", func(ctx context.Context, tx pgx.Tx) (int64, error) {
			before := o.Now().Add(-30 * 24 * time.Hour) //nolint:contextcheck // the fixture asks with the context of the test
			if _, err := events.DeleteEventsTx(ctx, tx, o.ID.UUID, inventorytest.Region, before, 100); err != nil {
				return 0, err
			}
			return events.DeleteDeliveriesTx(ctx, tx, o.ID.UUID, inventorytest.Region, before, 100)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := o.Rows("outbox_events"); n != 2 {
		t.Errorf("%d events are left, want the 2 that still have deliveries", n)
	}
	var left []string
	for _, d := range o.deliveries(endpoint.Endpoint.ID, "") {
		left = append(left, d.Event.ID.String())
	}
	expectIDs(t, "what is left, the newest first", left, waiting, recent)
}
