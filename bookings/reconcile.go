package bookings

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
)

// reconcileWorkers is how many attempts and refunds one reconciliation asks about at once.
const reconcileWorkers = 8

// Reconciled counts what a reconciliation looked at.
type Reconciled struct {
	Attempts int
	Refunds  int
	// Events are provider events that had matched no payment and were tried again.
	Events int
}

// Reconcile drives every attempt and refund whose next look is due, at most limit of each: what a
// dead process, a lost webhook or a silent provider left open. It is bounded and may run in several
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
	attempts, refunds, err := s.due(ctx, places, now, limit)
	if err != nil {
		return Reconciled{}, db.Classify(err)
	}
	events, err := payments.EventsToRetry(ctx, s.db.Pool(), places, now, limit)
	if err != nil {
		return Reconciled{}, db.Classify(err)
	}
	var failures []error
	var lock sync.Mutex
	note := func(err error) {
		if err != nil {
			lock.Lock()
			failures = append(failures, err)
			lock.Unlock()
		}
	}
	var group errgroup.Group
	group.SetLimit(reconcileWorkers)
	for _, attempt := range attempts {
		group.Go(func() error { note(s.DriveCharge(ctx, attempt)); return nil })
	}
	for _, refund := range refunds {
		group.Go(func() error { note(s.DriveRefund(ctx, refund)); return nil })
	}
	for _, event := range events {
		group.Go(func() error { note(s.retryEvent(ctx, event, places)); return nil })
	}
	err = group.Wait()
	return Reconciled{Attempts: len(attempts), Refunds: len(refunds), Events: len(events)}, errors.Join(append(failures, err)...)
}

// due lists the attempts and refunds whose next look is due.
func (s *Service) due(ctx context.Context, places []payments.Place, now time.Time, limit int) ([]payments.Located[payments.AttemptID], []payments.Located[payments.RefundID], error) {
	attempts, err := payments.Due(ctx, s.db.Pool(), places, now, limit)
	if err != nil {
		return nil, nil, err
	}
	refunds, err := payments.DueRefunds(ctx, s.db.Pool(), places, now, limit)
	return attempts, refunds, err
}
