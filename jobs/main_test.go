package jobs_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/events/eventstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/schema"
	"github.com/holdfast/holdfast/waitlist"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// office is a shop on a database of its own, because workers work for everybody on theirs.
type office struct {
	*bookingstest.Shop
	hall   *inventorytest.Hall
	lists  *waitlist.Service
	jobs   *jobs.Enqueuer
	events *events.Service
}

func open(t *testing.T, change ...func(*bookingstest.Setup)) office {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.Create(t), MaxConnections: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	if err := schema.Migrate(t.Context(), d, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	// Twice, as at every start of a process.
	for range 2 {
		if err := jobs.Migrate(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	enqueuer, err := jobs.NewEnqueuer(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	setup := append([]func(*bookingstest.Setup){func(s *bookingstest.Setup) { s.DB, s.Jobs = d, enqueuer }}, change...)
	shop := bookingstest.New(t, setup...)
	return office{
		lists: waitingLists(t, shop, enqueuer),
		Shop:  shop, hall: shop.Hall(5, inventorytest.PoolOf("Floor", 10, 1)), jobs: enqueuer, events: outbox(t, d, enqueuer),
	}
}

// waitingLists are those of a shop, at which a process looks whenever it is asked.
func waitingLists(t *testing.T, shop *bookingstest.Shop, enqueuer *jobs.Enqueuer) *waitlist.Service {
	t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	lists, err := waitlist.NewService(shop.DB, enforcer, shop.Inventory, bookings.NewAnnouncer(enqueuer), waitlist.Config{LookEvery: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	return lists
}

// outbox is one more process's end of the webhooks.
func outbox(t *testing.T, d *db.DB, enqueuer *jobs.Enqueuer) *events.Service {
	t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	service, err := events.NewService(d, enforcer, eventstest.Sender(t), enqueuer, events.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// work runs workers, with sweeps as rare or as frequent as the test wants them, until the test or
// the returned function ends them.
func (o office) work(t *testing.T, change ...func(*jobs.Config)) (stop func()) {
	t.Helper()
	config := jobs.Config{SweepInterval: time.Hour, ReconcileInterval: time.Hour, CompareInterval: time.Hour, DeliverInterval: time.Hour, BlockInterval: time.Hour}
	for _, c := range change {
		c(&config)
	}
	workers, err := jobs.NewWorkers(t.Context(), o.DB, o.Inventory, o.Sales, o.events, o.lists, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := workers.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(context.Background(), bookingstest.Patience)
		defer cancel()
		if err := workers.Stop(ctx); err != nil {
			t.Errorf("stop the workers: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func sweeping(c *jobs.Config) { c.SweepInterval = 50 * time.Millisecond }

func reconciling(c *jobs.Config) { c.ReconcileInterval = 50 * time.Millisecond }

func delivering(c *jobs.Config) { c.DeliverInterval = 50 * time.Millisecond }

// count of River's jobs of a kind, in any state of the list, or in every one.
func (o office) count(t *testing.T, kind string, states ...string) int {
	t.Helper()
	var n int
	if err := o.DB.Pool().QueryRow(t.Context(), `SELECT count(*) FROM river_job
		WHERE kind = $1 AND ($2::boolean OR state::text = ANY($3::text[]))`, kind, len(states) == 0, append([]string{}, states...)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// hurry makes every scheduled job due, and spares it River's scheduler.
func (o office) hurry(t *testing.T) {
	t.Helper()
	if _, err := o.DB.Pool().Exec(t.Context(), "UPDATE river_job SET state = 'available', scheduled_at = now() - interval '1 second' WHERE state = 'scheduled'"); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\ngot:  %s\nwant: %s", what, got, want)
	}
}
