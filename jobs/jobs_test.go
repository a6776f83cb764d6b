package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// A job exists exactly if the change that it follows from does.
func TestJobsAreEnqueuedWithTheirChange(t *testing.T) {
	t.Parallel()
	o := open(t)
	attempt := payments.Located[payments.AttemptID]{Tenant: o.ID, ID: payments.AttemptID{Region: inventorytest.Region, UUID: uuid.New()}}
	given := errors.New("given up")
	for _, c := range []struct {
		end  error
		want int
	}{{given, 0}, {nil, 1}} {
		_, err := db.InTx(t.Context(), o.DB, "test.Enqueue", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
			err := o.jobs.EnqueueTx(ctx, tx, bookings.ChargeJob{Attempt: attempt, After: time.Now().Add(time.Hour)})
			return struct{}{}, errors.Join(err, c.end)
		})
		if !errors.Is(err, c.end) {
			t.Fatal(err)
		}
		if n := o.count(t, "charge"); n != c.want {
			t.Errorf("ended with %v: %d jobs, want %d", c.end, n, c.want)
		}
	}
}

func TestASaleEnqueuesWhatFollows(t *testing.T) {
	t.Parallel()
	o := open(t)
	guest := o.Guest()
	hold := guest.Hold(o.hall.Seats(1))
	input := bookingstest.CheckoutOf(hold, sandbox.TokenApprove)
	input.ExpectedTotal.Minor++
	if _, err := o.Sales.Checkout(t.Context(), guest.Actor, input); err == nil {
		t.Fatal("not refused")
	}
	if n := o.count(t, "charge") + o.count(t, "event"); n != 0 {
		t.Errorf("%d jobs of a refused checkout", n)
	}
	for range 2 {
		input.ExpectedTotal = hold.Total
		if _, err := o.Sales.Checkout(t.Context(), guest.Actor, input); err != nil {
			t.Fatal(err)
		}
	}
	if charges, events := o.count(t, "charge", "scheduled"), o.count(t, "event"); charges != 1 || events != 1 {
		t.Errorf("%d charges and %d events are enqueued, want 1 and 1", charges, events)
	}
	var headStart time.Duration
	if err := o.DB.Pool().QueryRow(t.Context(), `SELECT scheduled_at - (SELECT created_at FROM payment_attempts WHERE tenant_id = $1)
		FROM river_job WHERE kind = 'charge'`, o.ID.UUID).Scan(&headStart); err != nil {
		t.Fatal(err)
	}
	if headStart < 9*time.Second || headStart > 11*time.Second {
		t.Errorf("the process of the checkout has a head start of %s, want 10 s", headStart)
	}
	o.cancel(t, hold)
	if refunds, events := o.count(t, "refund", "available"), o.count(t, "event"); refunds != 1 || events != 3 {
		t.Errorf("%d refunds and %d events are enqueued, want 1 and 3", refunds, events)
	}
}

func (o office) cancel(t *testing.T, hold inventory.Hold) {
	t.Helper()
	if _, err := o.Sales.CancelBooking(t.Context(), o.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: o.BookingOf(hold).ID}); err != nil {
		t.Fatal(err)
	}
}

func TestWorkersFinishWhatADeadProcessBegan(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"checkout", "submit", "charge"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			o := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash(step) })
			guest := o.Guest()
			hold := guest.Hold(o.hall.Seats(1))
			bookingstest.Survive(func() { o.Pay(guest, hold, sandbox.TokenApprove) })
			o.Restart(bookings.Config{})
			o.hurry(t)
			o.work(t)
			o.Eventually("the sale is finished", func() bool { return o.Sale(hold) == "CONFIRMED SUCCEEDED/APPLIED BOOKED" })
			o.Eventually("every job has ended", func() bool { return o.count(t, "charge", "completed") == 1 && o.count(t, "event", "completed") == 1 })
			if n := len(o.Provider.Charges()); n != 1 {
				t.Errorf("%d charges", n)
			}
			o.Audit()
		})
	}
}

func TestWorkersPayRefunds(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.work(t)
	guest := o.Guest()
	hold := guest.Hold(o.hall.Seats(1))
	o.Pay(guest, hold, sandbox.TokenApprove)
	o.cancel(t, hold)
	o.Eventually("the refund is paid", func() bool {
		return o.Sale(hold) == "CONFIRMED SUCCEEDED/APPLIED refund 5000 SUCCEEDED CANCELLED"
	})
	o.Audit()
}

func TestTheSweeperEndsDueHolds(t *testing.T) {
	t.Parallel()
	o := open(t)
	guest := o.Guest()
	due, current := guest.Hold(o.hall.Seats(1), o.hall.Pools[0].Units(3)), guest.Hold(o.hall.Seats(2), o.hall.Pools[0].Units(2))
	o.Lapse(due)
	o.work(t, sweeping)
	o.Eventually("the units are given back", func() bool { return o.hall.Pools[0].Count().Held == 2 })
	expect(t, "the other hold", o.Sale(current), "ACTIVE")
	o.Audit()
}

func TestTheReconcilerFindsOpenPayments(t *testing.T) {
	t.Parallel()
	o := open(t)
	guest := o.Guest()
	hold := guest.Hold(o.hall.Seats(1))
	expect(t, "at first", o.Pay(guest, hold, "tok_unknown_then_approve_after_600s"), "PROCESSING UNKNOWN")
	o.Provider.Settle(o.Account, o.Attempt(hold).ID.String())
	o.Due()
	o.work(t, reconciling)
	o.Eventually("the sale is finished", func() bool { return o.Sale(hold) == "CONFIRMED SUCCEEDED/APPLIED BOOKED" })
	o.Audit()
}

// A payment that was given up as never received, and was captured all the same, is found on the
// provider's own list although no event ever tells of it.
func TestTheProvidersListIsCompared(t *testing.T) {
	t.Parallel()
	o := open(t)
	guest := o.Guest()
	hold := guest.Hold(o.hall.Seats(1))
	o.Pay(guest, hold, "tok_unknown_then_approve_after_600s")
	o.Provider.Settle(o.Account, o.Attempt(hold).ID.String())
	o.Exec("UPDATE payment_attempts SET state = 'DECLINED', settled_at = now(), next_check_at = NULL WHERE tenant_id = $1")
	o.work(t)
	o.Eventually("the sale is finished", func() bool { return o.Sale(hold) == "CONFIRMED SUCCEEDED/APPLIED BOOKED" })
	o.Audit()
}

func TestTwoJobsOfOnePaymentChargeOnce(t *testing.T) {
	t.Parallel()
	o := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash("checkout") })
	guest := o.Guest()
	hold := guest.Hold(o.hall.Seats(1))
	bookingstest.Survive(func() { o.Pay(guest, hold, "tok_approve_after_10s") })
	attempt := o.Attempt(hold)
	if _, err := db.InTx(t.Context(), o.DB, "test.Enqueue", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		job := bookings.ChargeJob{Attempt: attempt, After: time.Now()}
		return struct{}{}, o.jobs.EnqueueTx(ctx, tx, job, job, job)
	}); err != nil {
		t.Fatal(err)
	}
	o.hurry(t)
	o.work(t)
	o.work(t)
	o.Eventually("every job has ended", func() bool { return o.count(t, "charge", "completed") == 4 })
	expect(t, "the sale", o.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	if n := len(o.Provider.Charges()); n != 1 {
		t.Errorf("%d charges", n)
	}
	o.Audit()
}

func TestStoppingFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	o := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash("checkout") })
	guest := o.Guest()
	hold := guest.Hold(o.hall.Seats(1))
	bookingstest.Survive(func() { o.Pay(guest, hold, "tok_approve_after_60s") })
	o.hurry(t)
	stop := o.work(t)
	o.Eventually("the provider is being asked", func() bool { return len(o.Provider.Charges()) == 1 })
	stop()
	expect(t, "after the stop", o.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	if n := o.count(t, "charge", "completed"); n != 1 {
		t.Errorf("%d completed jobs", n)
	}
	o.Audit()
}

// R81: a periodic job is unique while it runs. The one of a process that was killed must not keep
// the sweeper and the reconciler of its successors from working.
func TestAKilledSweepIsNotInTheWayForLong(t *testing.T) {
	t.Parallel()
	o := open(t)
	stop := o.work(t, sweeping, reconciling)
	o.Eventually("both have run", func() bool {
		return o.count(t, "expire_holds", "completed") > 0 && o.count(t, "reconcile_payments", "completed") > 0
	})
	stop()
	for _, statement := range []string{
		`DELETE FROM river_job WHERE id NOT IN (SELECT max(id) FROM river_job GROUP BY kind)`,
		`UPDATE river_job SET state = 'running', finalized_at = NULL, attempt = 1, attempted_at = now() - interval '1 minute'`,
	} {
		if _, err := o.DB.Pool().Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	guest := o.Guest()
	due, open := guest.Hold(o.hall.Seats(1)), guest.Hold(o.hall.Seats(2))
	o.Lapse(due)
	o.Pay(guest, open, "tok_unknown_then_approve_after_600s")
	o.Provider.Settle(o.Account, o.Attempt(open).ID.String())
	o.Due()
	o.work(t, sweeping, reconciling)
	o.Eventually("the sweeper works", func() bool {
		row, err := inventory.GetHold(t.Context(), o.DB.Pool(), o.ID, due.ID)
		return err == nil && row.State == inventory.HoldStateExpired
	})
	o.Eventually("the reconciler works", func() bool { return o.Sale(open) == "CONFIRMED SUCCEEDED/APPLIED BOOKED" })
}

// A job whose arguments nobody can read is not tried for ever.
func TestAJobThatMakesNoSenseIsCancelled(t *testing.T) {
	t.Parallel()
	o := open(t)
	queues := map[string]string{"charge": "payments", "refund": "payments", "event": "events", "deliver": "deliveries"}
	for kind, args := range map[string]string{
		"charge": `{"tenant":"` + o.ID.String() + `","attempt":"refund_eu_1"}`, "refund": `{"tenant":"nobody","refund":""}`,
		"event": `{"tenant":"` + o.ID.String() + `","region":"Europe","event":"00000000-0000-0000-0000-000000000000"}`, "deliver": `{"endpoint":"evt_eu_1"}`,
	} {
		if _, err := o.DB.Pool().Exec(t.Context(), "INSERT INTO river_job (kind, args, max_attempts, queue) VALUES ($1, $2, 25, $3)", kind, args, queues[kind]); err != nil {
			t.Fatal(err)
		}
	}
	o.work(t)
	o.Eventually("all are cancelled", func() bool {
		for kind := range queues {
			if o.count(t, kind, "cancelled") != 1 {
				return false
			}
		}
		return true
	})
}

func TestTheConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	if err := (jobs.Config{}).Validate(); err != nil {
		t.Error(err)
	}
	for _, config := range []jobs.Config{{PaymentWorkers: -1}, {SweepWorkers: 1001}, {EventWorkers: -1}, {SweepInterval: -1}, {ReconcileInterval: -1}, {CompareInterval: -1}, {DeliveryWorkers: 1001}, {DeliverInterval: -1}, {ArchiveInterval: -1}, {ArchiveAfter: -time.Hour}} {
		if config.Validate() == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}
