package bookings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

// Limits of a reconciliation.
const (
	// reconcileWorkers is how many attempts and refunds one reconciliation asks about at once. Each
	// keeps a connection for a moment only, never while the provider is asked.
	reconcileWorkers = 16
	// reconcileBudget is how long one run begins to ask about further payments; what is left is the
	// next run's.
	reconcileBudget = 10 * time.Second
	// maxUnmatched bounds the events that one run tries to match.
	maxUnmatched = 100
)

// Reconciled counts what a reconciliation looked at.
type Reconciled struct {
	Attempts int
	Refunds  int
	Events   int
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
	failures := t.wait()
	matched, err := s.matchEvents(ctx, places)
	done.Events = matched
	return done, errors.Join(failures, err)
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

// matchEvents asks the provider about payments whose events came before their attempt was there to
// be found, such as after a restore, and marks those events as matched.
func (s *Service) matchEvents(ctx context.Context, places []payments.Place) (int, error) {
	params := dbsqlc.UnmatchedEventsDueParams{MaxRows: maxUnmatched}
	params.TenantIds, params.Regions = columnsOf(places)
	rows, err := dbsqlc.New(s.db.Pool()).UnmatchedEventsDue(ctx, params)
	if err != nil {
		return 0, db.Classify(fmt.Errorf("list unmatched events: %w", err))
	}
	var failures []error
	matched := 0
	for _, row := range rows {
		at := payments.Located[payments.AttemptID]{
			Tenant: tenants.TenantID{UUID: row.TenantID}, ID: payments.AttemptID{Region: ids.Region(row.Region), UUID: row.AttemptID},
		}
		gateway, reachable := s.gateways[row.Provider]
		if !reachable {
			continue
		}
		ok, err := s.matchEvent(ctx, gateway, at, row)
		if err != nil {
			failures = append(failures, err)
		}
		if ok {
			matched++
		}
	}
	return matched, errors.Join(failures...)
}

// matchEvent applies what the provider says now; the event itself is only the occasion to ask.
func (s *Service) matchEvent(ctx context.Context, gateway payments.Gateway, at payments.Located[payments.AttemptID], row dbsqlc.UnmatchedEventsDueRow) (bool, error) {
	attempt, err := payments.Get(ctx, s.db.Pool(), at.Tenant, at.ID)
	if err != nil {
		return false, db.Classify(err)
	}
	outcome, err := s.lookUp(ctx, gateway, attempt)
	if err != nil || !outcome.State.Final() {
		return false, nil //nolint:nilerr // no answer yet: the event stays, and the payment is asked about anyway
	}
	return db.Replayable(ctx, s.db, "bookings.MatchEvent", func(ctx context.Context, tx pgx.Tx) (bool, error) {
		if _, err := s.applyTx(ctx, tx, at, outcome, DriverReconciler); errors.Is(err, errMismatch) {
			return false, nil // It stays in the review queue.
		} else if err != nil {
			return false, err
		}
		n, err := dbsqlc.New(tx).EventMatch(ctx, dbsqlc.EventMatchParams{
			TenantID: row.TenantID, Region: row.Region, Provider: row.Provider, EventID: row.EventID,
		})
		if err != nil {
			return false, fmt.Errorf("match a provider event: %w", err)
		}
		if n == 0 {
			return false, nil // Somebody else did.
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return false, err
		}
		return true, repairTx(ctx, tx, RepairEventMatched, DriverReconciler, attempt, nil, now)
	})
}

// lookUp asks a provider about an attempt, with no transaction open.
func (s *Service) lookUp(ctx context.Context, gateway payments.Gateway, attempt payments.Attempt) (payments.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	return gateway.LookUp(ctx, attempt.Account, attempt.ID.String())
}
