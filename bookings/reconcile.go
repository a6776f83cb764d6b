package bookings

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
)

// Limits of a reconciliation.
const (
	// reconcileWorkers is how many attempts and refunds one reconciliation asks about at once. Each
	// keeps a connection for a moment only, never while the provider is asked.
	reconcileWorkers = 16
	// reconcileBudget is how long one run begins to ask about further payments; what is left is the
	// next run's.
	reconcileBudget = 10 * time.Second
)

// Reconciled counts what a reconciliation looked at.
type Reconciled struct {
	Attempts int
	Refunds  int
	// Events are provider events that had matched no payment and were tried again.
	Events int
}

// Reconcile drives every attempt and refund whose next look is due, at most limit of each: what a
// dead process, a lost webhook or a silent provider left open. Those of providers that this process
// cannot reach are left to one that can. It is bounded in number and time, and may run in several
// processes at once.
func (s *Service) Reconcile(ctx context.Context, limit int) (Reconciled, error) {
	places, err := s.places(ctx)
	if err != nil {
		return Reconciled{}, db.Classify(err)
	}
	now, err := inventory.Now(ctx, s.db.Pool())
	if err != nil {
		return Reconciled{}, db.Classify(err)
	}
	providers := s.providers()
	attempts, err := payments.Due(ctx, s.db.Pool(), places, providers, now, limit)
	if err != nil {
		return Reconciled{}, db.Classify(err)
	}
	refunds, err := payments.DueRefunds(ctx, s.db.Pool(), places, providers, now, limit)
	if err != nil {
		return Reconciled{}, db.Classify(err)
	}
	events, err := payments.EventsToRetry(ctx, s.db.Pool(), places, now, limit)
	if err != nil {
		return Reconciled{}, db.Classify(err)
	}
	t := newTeam(reconcileBudget)
	var done Reconciled
	for _, attempt := range attempts {
		if !t.do(func() error { return s.driveCharge(ctx, attempt, DriverReconciler) }) {
			break
		}
		done.Attempts++
	}
	for _, refund := range refunds {
		if !t.do(func() error { return s.driveRefund(ctx, refund, DriverReconciler) }) {
			break
		}
		done.Refunds++
	}
	for _, event := range events {
		if !t.do(func() error { return s.retryEvent(ctx, event, places) }) {
			break
		}
		done.Events++
	}
	return done, t.wait()
}

// providers are the names of the providers that this process can ask.
func (s *Service) providers() []string { return slices.Sorted(maps.Keys(s.gateways)) }

// team does many small things at once, as long as its time lasts, and keeps what went wrong.
type team struct {
	group    errgroup.Group
	until    time.Time
	lock     sync.Mutex
	failures []error
}

// maxFailures is how many failures a team keeps: a provider that is down fails everything.
const maxFailures = 20

func newTeam(budget time.Duration) *team {
	t := &team{until: time.Now().Add(budget)}
	t.group.SetLimit(reconcileWorkers)
	return t
}

// do begins one thing when there is room for it, or reports that the time is over.
func (t *team) do(act func() error) bool {
	if time.Now().After(t.until) {
		return false
	}
	t.group.Go(func() error {
		if err := act(); err != nil {
			t.lock.Lock()
			defer t.lock.Unlock()
			if len(t.failures) < maxFailures {
				t.failures = append(t.failures, err)
			}
		}
		return nil
	})
	return true
}

func (t *team) wait() error {
	// Failures are kept one by one; the group has none.
	_ = t.group.Wait()
	return errors.Join(t.failures...)
}

// lookUp asks a provider about an attempt, with no transaction open.
func (s *Service) lookUp(ctx context.Context, gateway payments.Gateway, attempt payments.Attempt) (payments.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	return gateway.LookUp(ctx, attempt.Account, attempt.ID.String())
}
