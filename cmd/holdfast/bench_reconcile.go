package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
)

const (
	benchMaxAttempts = 1_000_000
	// benchReconcileBatch is how many payments one call of the reconciler looks at, at most.
	benchReconcileBatch = 10_000
	benchReconcileLimit = 2 * time.Hour
)

// benchReconciled is how fast open payments are looked at, of a provider that answers at once.
type benchReconciled struct {
	Attempts int `json:"attempts"`
	// UndecidedPerSecond is while the provider says of each that it is not decided, so that it has to
	// be looked at again; PaidPerSecond while it says that each was paid, which makes a booking.
	UndecidedPerSecond float64    `json:"undecidedPerSecond"`
	PaidPerSecond      float64    `json:"paidPerSecond"`
	Booked             int64      `json:"booked"`
	Audit              benchAudit `json:"audit"`
}

// benchPrompt is a provider that answers every look-up at once.
type benchPrompt struct {
	payments.Gateway
	paid atomic.Bool
}

// LookUp implements payments.Gateway.
func (p *benchPrompt) LookUp(_ context.Context, account, key string) (payments.Outcome, error) {
	if !p.paid.Load() {
		return payments.Outcome{State: payments.OutcomeStatePending, Account: account}, nil
	}
	return payments.Outcome{
		State: payments.OutcomeStateApproved, Account: account, ChargeID: "ch_" + key,
		Captured: money.Amount{Minor: benchTillMinor, Currency: "EUR"},
	}, nil
}

// measureReconcile makes open payments and has the reconciler look at all of them, twice.
func measureReconcile(ctx context.Context, s *store, config benchConfig, say func(string, ...any)) (*benchReconciled, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, benchReconcileLimit)
	defer cancel()
	provider := &benchPrompt{}
	a, err := newBenchApp(ctx, s, provider)
	if err != nil {
		return nil, false, err
	}
	defer a.close()
	stock, err := makeBenchShow(ctx, a, "reconcile")
	if err != nil {
		return nil, false, err
	}
	if _, err := stock.makeOpen(ctx, config.Attempts); err != nil {
		return nil, false, err
	}
	report := &benchReconciled{Attempts: config.Attempts}
	if report.UndecidedPerSecond, err = stock.reconcileAll(ctx, config.Attempts); err != nil {
		return nil, false, err
	}
	say("  undecided  %8.0f payments/s", report.UndecidedPerSecond)
	provider.paid.Store(true)
	if err := stock.makeDueAgain(ctx); err != nil {
		return nil, false, err
	}
	if report.PaidPerSecond, err = stock.reconcileAll(ctx, config.Attempts); err != nil {
		return nil, false, err
	}
	say("  paid       %8.0f payments/s", report.PaidPerSecond)
	if report.Booked, _, err = stock.booked(ctx); err != nil {
		return nil, false, err
	}
	audit, err := a.bookings.Audit(ctx, nil)
	report.Audit.OK = audit.OK
	return report, audit.OK && report.Booked == int64(config.Attempts), err
}

// reconcileAll calls the reconciler until it has looked at as many payments as there are, the longest
// due first, and is how many a second it looked at. What is undecided may be due again by then.
func (b *benchStock) reconcileAll(ctx context.Context, attempts int) (float64, error) {
	begin, looked := time.Now(), 0
	for looked < attempts {
		done, err := b.app.bookings.Reconcile(ctx, benchReconcileBatch)
		if err != nil {
			return 0, err
		}
		if done.Attempts == 0 {
			return 0, fmt.Errorf("the reconciler looked at %d of %d open payments and found no more", looked, attempts)
		}
		looked += done.Attempts
	}
	return rounded(float64(looked)/time.Since(begin).Seconds(), 10), nil
}

// makeDueAgain lets the time pass until every open payment is to be looked at again.
func (b *benchStock) makeDueAgain(ctx context.Context) error {
	for more := true; more; {
		tag, err := b.app.store.db.Pool().Exec(ctx, `UPDATE payment_attempts SET next_check_at = now() - interval '1 second'
			WHERE tenant_id = $1 AND region = $2 AND id IN (
				SELECT id FROM payment_attempts WHERE tenant_id = $1 AND region = $2 AND settled_at IS NULL AND next_check_at > now() LIMIT $3)`,
			b.actor.Tenant.UUID, demoRegion, benchOpenPerInsert)
		if err != nil {
			return fmt.Errorf("make the payments due: %w", err)
		}
		more = tag.RowsAffected() > 0
	}
	return b.analyze(ctx, "payment_attempts")
}

func (r *benchReconciled) print(out io.Writer) {
	fmt.Fprintf(out, "\nReconciler over %d open payments: %.0f payments/s that stay undecided, %.0f payments/s that are booked.\n",
		r.Attempts, r.UndecidedPerSecond, r.PaidPerSecond)
}
