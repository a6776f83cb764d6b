package jobs_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/events/eventstest"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

func (o office) endpoint(t *testing.T, actor tenants.Actor, url string) events.EndpointSecret {
	t.Helper()
	made, err := o.events.CreateEndpoint(t.Context(), actor, inventorytest.Key(), events.NewEndpoint{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// told says in short what a receiver was told, in the order of the events.
func told(receiver *eventstest.Receiver) []string {
	messages := receiver.Messages()
	slices.SortStableFunc(messages, func(a, b eventstest.Message) int { return a.Timestamp.Compare(b.Timestamp) })
	var all []string
	for _, m := range messages {
		all = append(all, fmt.Sprintf("%s %d", m.Type, m.Data.Version))
	}
	return all
}

func (o office) arrive(t *testing.T, receiver *eventstest.Receiver, want ...string) {
	t.Helper()
	o.Eventually("the receiver is told", func() bool { return len(receiver.Messages()) >= len(want) })
	// The order of messages is not that of the events; that of the same moment is nobody's.
	got := told(receiver)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the receiver was told %v, want %v", got, want)
	}
}

// A sale, its cancellation and the refund reach whoever wants to know, and a partner hears of its
// own sales only.
func TestASaleIsToldToEndpoints(t *testing.T) {
	t.Parallel()
	o := open(t)
	partner, other := o.Partner("Partner"), o.Partner("Other")
	everything, partners, others := eventstest.NewReceiver(t), eventstest.NewReceiver(t), eventstest.NewReceiver(t)
	secret := o.endpoint(t, o.Owner, everything.URL).Secret
	o.endpoint(t, partner.Actor, partners.URL)
	o.endpoint(t, other.Actor, others.URL)
	o.work(t)
	guest := o.Guest()
	ofPartner, ofGuest := partner.Hold(o.hall.Seats(1)), guest.Hold(o.hall.Seats(2))
	o.Pay(partner, ofPartner, sandbox.TokenApprove)
	o.Pay(guest, ofGuest, sandbox.TokenApprove)
	o.cancel(t, ofPartner)
	sale := []string{"booking.confirmed 1", "booking.cancelled 2", "refund.requested 1", "refund.succeeded 3"}
	o.arrive(t, partners, slices.Clone(sale)...)
	o.arrive(t, everything, append(sale, "booking.confirmed 1")...)
	if got := told(others); len(got) != 0 {
		t.Errorf("a partner is told of others' sales: %v", got)
	}
	booking := o.BookingOf(ofPartner)
	refund := o.Refund(ofPartner)
	for _, m := range partners.Messages() {
		if m.Data.Channel == nil || *m.Data.Channel != partner.Actor.Channel.String() {
			t.Errorf("%s is of channel %v", m.Type, m.Data.Channel)
		}
		// What events call a thing is what the API does.
		if m.Data.ID != booking.ID.String() && m.Data.ID != refund.ID.String() {
			t.Errorf("%s is about %s, want %s or %s", m.Type, m.Data.ID, booking.ID, refund.ID)
		}
	}
	for _, m := range everything.Messages() {
		if err := m.VerifiedBy(secret); err != nil {
			t.Errorf("%s: %v", m.Type, err)
		}
	}
}

func (o office) sell(t *testing.T) {
	t.Helper()
	guest := o.Guest()
	o.Pay(guest, guest.Hold(o.hall.Pools[0].Units(1)), sandbox.TokenApprove)
}

// The receiver is down at first; nothing but the row remembers that it has to be told.
func TestAFailedDeliveryIsTriedAgainWhenItIsDue(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	o.endpoint(t, o.Owner, receiver.URL)
	receiver.AnswerStatus(http.StatusBadGateway)
	o.work(t, delivering)
	o.sell(t)
	o.Eventually("it is tried", func() bool { return len(receiver.Messages()) >= 1 })
	receiver.AnswerStatus(http.StatusOK)
	o.Eventually("it is tried again", func() bool {
		o.Exec("UPDATE webhook_deliveries SET next_attempt_at = now() WHERE tenant_id = $1 AND state = 'PENDING' AND last_status IS NOT NULL")
		return o.delivered(t) == 1
	})
	ids := receiver.IDs()
	if len(ids) < 2 || slices.ContainsFunc(ids, func(id string) bool { return id != ids[0] }) {
		t.Errorf("the ids are %v", ids)
	}
}

// delivered counts deliveries.
func (o office) delivered(t *testing.T) int {
	t.Helper()
	var n int
	if err := o.DB.Pool().QueryRow(t.Context(), "SELECT count(*) FROM webhook_deliveries WHERE tenant_id = $1 AND state = 'DELIVERED'", o.ID.UUID).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEventsAndDeliveriesWhoseJobsAreLostAreFound(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	o.endpoint(t, o.Owner, receiver.URL)
	o.sell(t)
	o.Exec("DELETE FROM river_job WHERE kind = 'event' AND $1::uuid IS NOT NULL")
	o.Exec("UPDATE outbox_events SET fan_out_due_at = now() WHERE tenant_id = $1")
	stop := o.work(t, delivering)
	o.arrive(t, receiver, "booking.confirmed 1")
	stop()
	o.sell(t)
	stop = o.work(t, func(c *jobs.Config) { c.DeliveryWorkers = 1 })
	o.Eventually("its delivery is sent", func() bool { return o.delivered(t) == 2 })
	stop()
	o.Exec("UPDATE webhook_deliveries SET state = 'PENDING', settled_at = NULL, next_attempt_at = now() WHERE tenant_id = $1")
	o.Exec("DELETE FROM river_job WHERE kind = 'deliver' AND $1::uuid IS NOT NULL")
	o.work(t, delivering)
	o.Eventually("both are sent again", func() bool { return o.delivered(t) == 2 && len(receiver.Messages()) == 4 })
}

// hanging is a receiver that answers nobody until it is released. Release it before the workers are
// stopped, which wait for what is under way.
func hanging(t *testing.T) (receiver *eventstest.Receiver, release func()) {
	t.Helper()
	receiver = eventstest.NewReceiver(t)
	held := make(chan struct{})
	receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		<-held
		w.WriteHeader(http.StatusBadGateway)
	})
	return receiver, func() { close(held) }
}

// swept waits until the sweep has run some more.
func (o office) swept(t *testing.T) {
	t.Helper()
	before := o.count(t, "deliver_due", "completed")
	o.Eventually("the sweep has run some more", func() bool { return o.count(t, "deliver_due", "completed") > before+10 })
}

func TestAHangingReceiverDoesNotKeepOthersFromTheirMessages(t *testing.T) {
	t.Parallel()
	o, living := open(t), eventstest.NewReceiver(t)
	dead, release := hanging(t)
	o.endpoint(t, o.Owner, dead.URL)
	o.endpoint(t, o.Owner, living.URL)
	o.work(t, delivering, func(c *jobs.Config) { c.DeliveryWorkers = 3 })
	t.Cleanup(release)
	for range 6 {
		o.sell(t)
	}
	o.Eventually("the living receiver is told everything", func() bool { return len(living.Messages()) == 6 })
}

// While no worker is free the sweep finds the same deliveries again and again.
func TestJobsOfTheSweepDoNotPileUp(t *testing.T) {
	t.Parallel()
	o := open(t)
	dead, release := hanging(t)
	o.endpoint(t, o.Owner, dead.URL)
	o.work(t, delivering, func(c *jobs.Config) { c.DeliveryWorkers = 1 })
	t.Cleanup(release)
	o.sell(t)
	o.Eventually("the one worker hangs", func() bool { return len(dead.Messages()) == 1 })
	o.sell(t)
	o.swept(t)
	// The one that hangs, that of the second event, and that of the sweep.
	if n := o.count(t, "deliver", "available", "running", "scheduled", "retryable", "pending"); n > 3 {
		t.Errorf("%d jobs for one receiver", n)
	}
}

func TestDeliveriesOfLongAgoAreForgotten(t *testing.T) {
	t.Parallel()
	o, receiver := open(t), eventstest.NewReceiver(t)
	o.endpoint(t, o.Owner, receiver.URL)
	stop := o.work(t)
	o.sell(t)
	o.Eventually("it is sent", func() bool { return o.delivered(t) == 1 })
	stop()
	o.Exec("UPDATE webhook_deliveries SET settled_at = settled_at - $2::interval WHERE tenant_id = $1", 31*24*time.Hour)
	o.work(t, func(c *jobs.Config) { c.RetentionInterval = 50 * time.Millisecond })
	o.Eventually("it is forgotten", func() bool { return o.delivered(t) == 0 })
}
