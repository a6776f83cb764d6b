package payments_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

const region ids.Region = "eu"

func euros(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: "EUR"} }

// ledger is a tenant with a hold to be paid. The hold's row is made here, because payments knows no
// stock.
type ledger struct {
	t      *testing.T
	db     *db.DB
	tenant tenants.TenantID
	hold   uuid.UUID
	now    time.Time
}

func open(t *testing.T) ledger {
	t.Helper()
	l := ledger{t: t, db: dbtest.Open(t), tenant: ids.NewGlobal[tenants.TenantKind](), now: time.Now().UTC().Truncate(time.Microsecond)}
	l.newHold()
	return l
}

func (l *ledger) newHold() {
	l.t.Helper()
	l.hold = uuid.New()
	l.must(func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO holds (tenant_id, region, id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline,
			lease_deadline, claimable_at, max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment,
			on_decline, max_per_instrument, total_minor, currency)
			VALUES ($1, $2, $3, $3, 'GUEST', $3, 'PROCESSING', $4, $4, $4, $4, 0, 1, 1, 1, 1, 'HONOUR', 'KEEP', 1, 5000, 'EUR')`,
			l.tenant.UUID, string(region), l.hold, l.now)
		return err
	})
}

func (l *ledger) do(act func(ctx context.Context, tx pgx.Tx) error) error {
	_, err := db.InTx(l.t.Context(), l.db, "test", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		return struct{}{}, act(ctx, tx)
	})
	return err
}

func (l *ledger) must(act func(ctx context.Context, tx pgx.Tx) error) {
	l.t.Helper()
	if err := l.do(act); err != nil {
		l.t.Fatal(err)
	}
}

func (l *ledger) create() (payments.Attempt, error) {
	var attempt payments.Attempt
	id := payments.AttemptID{Region: region, UUID: uuid.New()}
	_, err := db.InTx(l.t.Context(), l.db, "test", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		_, err := payments.CreateTx(ctx, tx, l.tenant, payments.NewAttempt{
			ID: id, Hold: l.hold, Provider: "sandbox", Account: "acct_1", MethodToken: "tok_1", Amount: euros(5000),
		}, l.now)
		return struct{}{}, err
	})
	if err == nil {
		attempt = l.read(id)
	}
	return attempt, err
}

func (l *ledger) created() payments.Attempt {
	l.t.Helper()
	attempt, err := l.create()
	if err != nil {
		l.t.Fatal(err)
	}
	return attempt
}

func (l *ledger) read(id payments.AttemptID) payments.Attempt {
	l.t.Helper()
	attempt, err := payments.Get(l.t.Context(), l.db.Pool(), l.tenant, id)
	if err != nil {
		l.t.Fatal(err)
	}
	return attempt
}

func (l *ledger) captured() payments.Attempt {
	l.t.Helper()
	attempt := l.created()
	l.must(func(ctx context.Context, tx pgx.Tx) error {
		_, err := payments.SucceedTx(ctx, tx, attempt, payments.DispositionOrphaned, payments.Outcome{ChargeID: "ch_1", Captured: euros(5000)}, l.now)
		return err
	})
	return l.read(attempt.ID)
}

// What an attempt may become, whatever its holder believes that it is.
func TestTransitionsOfAnAttemptRepeatTheirPrecondition(t *testing.T) {
	t.Parallel()
	steps := map[string]func(l *ledger, a payments.Attempt) error{
		"submit": func(l *ledger, a payments.Attempt) error {
			return l.do(func(ctx context.Context, tx pgx.Tx) error { return payments.SubmitTx(ctx, tx, a, l.now) })
		},
		"look later": func(l *ledger, a payments.Attempt) error {
			return l.do(func(ctx context.Context, tx pgx.Tx) error { return payments.CheckLaterTx(ctx, tx, a, "", l.now) })
		},
		"authorize": func(l *ledger, a payments.Attempt) error {
			return l.do(func(ctx context.Context, tx pgx.Tx) error {
				return payments.AuthorizeTx(ctx, tx, a, payments.Outcome{ChargeID: "ch"}, l.now)
			})
		},
		"decline": func(l *ledger, a payments.Attempt) error {
			return l.do(func(ctx context.Context, tx pgx.Tx) error { return payments.DeclineTx(ctx, tx, a, "no", l.now) })
		},
		"succeed": func(l *ledger, a payments.Attempt) error {
			return l.do(func(ctx context.Context, tx pgx.Tx) error {
				_, err := payments.SucceedTx(ctx, tx, a, payments.DispositionApplied, payments.Outcome{ChargeID: "ch", Captured: euros(5000)}, l.now)
				return err
			})
		},
	}
	for _, c := range []struct {
		path []string
		ends payments.AttemptState
		may  []string
	}{
		{nil, payments.AttemptStateCreated, []string{"submit", "look later", "authorize", "decline", "succeed"}},
		{[]string{"submit"}, payments.AttemptStateSubmitted, []string{"look later", "authorize", "decline", "succeed"}},
		{[]string{"submit", "look later"}, payments.AttemptStateUnknown, []string{"look later", "authorize", "decline", "succeed"}},
		{[]string{"submit", "authorize"}, payments.AttemptStateAuthorized, []string{"look later", "decline", "succeed"}},
		{[]string{"submit", "authorize", "succeed"}, payments.AttemptStateSucceeded, nil},
		{[]string{"submit", "authorize", "decline"}, payments.AttemptStateDeclined, []string{"succeed"}},
		{[]string{"submit", "decline"}, payments.AttemptStateDeclined, []string{"succeed"}},
		{[]string{"submit", "succeed"}, payments.AttemptStateSucceeded, nil},
		{[]string{"submit", "decline", "succeed"}, payments.AttemptStateSucceeded, nil},
	} {
		for name, step := range steps {
			l := open(t)
			before := l.created()
			for _, taken := range c.path {
				if err := steps[taken](&l, before); err != nil {
					t.Fatalf("%v: %s: %v", c.path, taken, err)
				}
			}
			now := l.read(before.ID)
			if now.State != c.ends || now.Version != int64(1+len(c.path)) {
				t.Fatalf("%v ends as %s, version %d", c.path, now.State, now.Version)
			}
			allowed := false
			for _, may := range c.may {
				allowed = allowed || may == name
			}
			err := step(&l, before)
			if (err == nil) != allowed {
				t.Errorf("%s after %v: %v", name, c.path, err)
			}
			if after := l.read(before.ID); !allowed && (after.State != now.State || after.Version != now.Version) {
				t.Errorf("%s after %v changed the attempt to %+v", name, c.path, after)
			}
		}
	}
}

func TestAHoldHasOneOpenAttempt(t *testing.T) {
	t.Parallel()
	l := open(t)
	first := l.created()
	if _, err := l.create(); db.ViolatedConstraint(err) != "payment_attempts_one_unsettled" {
		t.Errorf("a second open attempt: %v", err)
	}
	l.must(func(ctx context.Context, tx pgx.Tx) error { return payments.DeclineTx(ctx, tx, first, "no", l.now) })
	second := l.created()
	succeed := func(a payments.Attempt) error {
		return l.do(func(ctx context.Context, tx pgx.Tx) error {
			_, err := payments.SucceedTx(ctx, tx, a, payments.DispositionApplied, payments.Outcome{ChargeID: "ch", Captured: euros(5000)}, l.now)
			return err
		})
	}
	if err := succeed(second); err != nil {
		t.Fatal(err)
	}
	if err := succeed(first); db.ViolatedConstraint(err) != "payment_attempts_one_applied" {
		t.Errorf("two attempts paid for one hold: %v", err)
	}
	attempts, err := payments.OfHold(t.Context(), l.db.Pool(), l.tenant, region, l.hold)
	if err != nil || len(attempts) != 2 {
		t.Errorf("the hold has %d attempts, %v", len(attempts), err)
	}
}

func TestAnotherTenantsAttemptIsNotFound(t *testing.T) {
	t.Parallel()
	l := open(t)
	attempt := l.created()
	_, err := payments.Get(t.Context(), l.db.Pool(), ids.NewGlobal[tenants.TenantKind](), attempt.ID)
	if fault.KindOf(err) != fault.KindNotFound {
		t.Error(err)
	}
	_, err = payments.GetRefund(t.Context(), l.db.Pool(), l.tenant, payments.RefundID{Region: region, UUID: uuid.New()})
	if fault.KindOf(err) != fault.KindNotFound {
		t.Error(err)
	}
}

func (l *ledger) refund(a payments.Attempt, action string, minor int64) (payments.Refund, error) {
	return db.InTx(l.t.Context(), l.db, "test", func(ctx context.Context, tx pgx.Tx) (payments.Refund, error) {
		return payments.RequestRefundTx(ctx, tx, a, action, "a reason", euros(minor), l.now, l.now)
	})
}

// The sum of refunds never exceeds what was captured; one action is one refund; what failed counts
// no more.
func TestRefundsAreWithinWhatWasCaptured(t *testing.T) {
	t.Parallel()
	l := open(t)
	attempt := l.captured()
	first, err := l.refund(attempt, "one", 3000)
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.refund(attempt, "one", 3000)
	if err != nil || again.ID != first.ID {
		t.Errorf("the same action is %v, %v; want %v", again.ID, err, first.ID)
	}
	if _, err := l.refund(attempt, "two", 2001); fault.KindOf(err) != fault.KindConflict {
		t.Errorf("one too much: %v", err)
	}
	if _, err := l.refund(attempt, "two", 2000); err != nil {
		t.Errorf("the rest: %v", err)
	}
	if got := l.read(attempt.ID).Refunded; got != euros(5000) {
		t.Errorf("refunded %v", got)
	}
	settle := func(state payments.RefundState) error {
		return l.do(func(ctx context.Context, tx pgx.Tx) error {
			return payments.SettleRefundTx(ctx, tx, first, payments.RefundOutcome{State: state, RefundID: "re_1"}, l.now)
		})
	}
	if err := settle(payments.RefundStateFailed); err != nil {
		t.Fatal(err)
	}
	if err := settle(payments.RefundStateSucceeded); err == nil {
		t.Error("a failed refund succeeded")
	}
	if err := l.do(func(ctx context.Context, tx pgx.Tx) error { return payments.SubmitRefundTx(ctx, tx, first, l.now) }); err == nil {
		t.Error("a failed refund was submitted again")
	}
	if got := l.read(attempt.ID).Refunded; got != euros(2000) {
		t.Errorf("after a failure refunded %v", got)
	}
	if _, err := l.refund(attempt, "one#2", 3000); err != nil {
		t.Errorf("the next action: %v", err)
	}
	refunds, err := payments.RefundsOf(t.Context(), l.db.Pool(), l.tenant, []payments.AttemptID{attempt.ID})
	if err != nil || len(refunds[attempt.ID]) != 3 {
		t.Errorf("listed %+v, %v", refunds, err)
	}
}

// What is due is listed from the longest overdue on, at most as many as asked for, and nothing
// that has ended.
func TestWhatIsDueIsListed(t *testing.T) {
	t.Parallel()
	l := open(t)
	place := []payments.Place{{Tenant: l.tenant, Region: region}, {Tenant: ids.NewGlobal[tenants.TenantKind](), Region: region}}
	due := func(at time.Time, limit int) int {
		t.Helper()
		found, err := payments.Due(t.Context(), l.db.Pool(), place, []string{"sandbox"}, at, limit)
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	for range 3 {
		l.newHold()
		l.created()
	}
	l.newHold()
	ended := l.created()
	l.must(func(ctx context.Context, tx pgx.Tx) error { return payments.DeclineTx(ctx, tx, ended, "no", l.now) })
	if n := due(l.now.Add(19*time.Second), 10); n != 0 {
		t.Errorf("%d are due while their driver has them", n)
	}
	if n := due(l.now.Add(20*time.Second), 10); n != 3 {
		t.Errorf("%d are due, want 3", n)
	}
	if n := due(l.now.Add(time.Hour), 2); n != 2 {
		t.Errorf("%d are listed, want 2", n)
	}
	l.newHold()
	if _, err := l.refund(l.captured(), "one", 10); err != nil {
		t.Fatal(err)
	}
	refunds, err := payments.DueRefunds(t.Context(), l.db.Pool(), place, []string{"sandbox"}, l.now, 10)
	if err != nil || len(refunds) != 1 {
		t.Errorf("due refunds %v, %v", refunds, err)
	}
}

// Of two tenants with more due than is asked for, neither waits behind the other: what is longest
// overdue comes first, whosever it is.
func TestTheLongestOverdueComesFirstWhosesoeverItIs(t *testing.T) {
	t.Parallel()
	ledgers := []ledger{open(t), open(t)}
	base := ledgers[0].now
	var places []payments.Place
	for _, l := range ledgers {
		places = append(places, payments.Place{Tenant: l.tenant, Region: region})
	}
	var attempts []payments.Located[payments.AttemptID]
	var refunds []payments.Located[payments.RefundID]
	for i := range 10 {
		l := &ledgers[i%2]
		l.now = base.Add(time.Duration(i) * time.Second)
		l.newHold()
		attempts = append(attempts, payments.Located[payments.AttemptID]{Tenant: l.tenant, ID: l.created().ID})
		l.newHold()
		refund, err := l.refund(l.captured(), "one", 10)
		if err != nil {
			t.Fatal(err)
		}
		refunds = append(refunds, payments.Located[payments.RefundID]{Tenant: l.tenant, ID: refund.ID})
	}
	for _, limit := range []int{5, 1} {
		found, err := payments.Due(t.Context(), ledgers[0].db.Pool(), places, []string{"sandbox"}, base.Add(time.Hour), limit)
		if err != nil || !slices.Equal(found, attempts[:limit]) {
			t.Errorf("due attempts %v, %v\nwant %v", found, err, attempts[:limit])
		}
		back, err := payments.DueRefunds(t.Context(), ledgers[0].db.Pool(), places, []string{"sandbox"}, base.Add(time.Hour), limit)
		if err != nil || !slices.Equal(back, refunds[:limit]) {
			t.Errorf("due refunds %v, %v\nwant %v", back, err, refunds[:limit])
		}
	}
}

// An event is recorded once for its place.
func TestAnEventIsRecordedOnce(t *testing.T) {
	t.Parallel()
	l := open(t)
	at := payments.EventPlace{Tenant: l.tenant.UUID, Region: region, Attempt: uuid.New()}
	event := payments.Event{Provider: "sandbox", ID: "evt_1", Type: payments.EventTypeChargeSucceeded, Amount: euros(1)}
	for _, want := range []bool{true, false} {
		fresh, err := db.InTx(t.Context(), l.db, "test", func(ctx context.Context, tx pgx.Tx) (bool, error) {
			return payments.RecordEventTx(ctx, tx, at, event, payments.EventIgnored)
		})
		if err != nil || fresh != want {
			t.Errorf("fresh is %v, %v; want %v", fresh, err, want)
		}
	}
}
