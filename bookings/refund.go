package bookings

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
)

// maxRefundTries is how many actions one refund may take when the provider fails it; then it is
// work for a person.
const maxRefundTries = 5

// requestRefundTx stores a refund action, the event of it and the job that drives it.
func (s *Service) requestRefundTx(ctx context.Context, tx pgx.Tx, attempt payments.Attempt, action, reason string, amount money.Amount, now, due time.Time) error {
	refund, err := payments.RequestRefundTx(ctx, tx, attempt, action, reason, amount, now, due)
	if err != nil {
		return err
	}
	if refund.Version > 1 || refund.State != payments.RefundRequested || !refund.RequestedAt.Equal(now) {
		return nil // This action was requested before.
	}
	if err := s.emitTx(ctx, tx, attempt.Tenant, refund.ID.Region, "refund", refund.ID.UUID, 1, "refund.requested", now); err != nil {
		return err
	}
	return s.jobs.EnqueueTx(ctx, tx, RefundJob{Refund: payments.Located[payments.RefundID]{Tenant: attempt.Tenant, ID: refund.ID}, After: due})
}

// DriveRefund asks the provider for a refund under the action's own key, and records its answer. It
// may run twice and in several processes at once: the provider pays once per key.
func (s *Service) DriveRefund(ctx context.Context, at payments.Located[payments.RefundID]) error {
	type submitted struct {
		refund  payments.Refund
		attempt payments.Attempt
	}
	work, err := db.Replayable(ctx, s.db, "bookings.SubmitRefund", func(ctx context.Context, tx pgx.Tx) (submitted, error) {
		refund, err := payments.LockRefund(ctx, tx, at.Tenant, at.ID)
		if err != nil || !refund.State.Open() {
			return submitted{refund: refund}, err
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return submitted{}, err
		}
		attempt, err := payments.Get(ctx, tx, at.Tenant, refund.Attempt)
		if err != nil {
			return submitted{}, err
		}
		return submitted{refund: refund, attempt: attempt}, payments.SubmitRefundTx(ctx, tx, refund, now)
	})
	if err != nil || !work.refund.State.Open() {
		return err
	}
	s.config.AfterStep("submit refund")
	gateway, ok := s.gateways[work.attempt.Provider]
	if !ok {
		return fmt.Errorf("drive refund %s: provider %q is not configured", at.ID, work.attempt.Provider)
	}
	call, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	outcome, err := gateway.Refund(call, payments.RefundRequest{
		Account: work.attempt.Account, Key: work.refund.ID.String(), Reference: work.attempt.Reference(),
		ChargeID: work.attempt.ProviderCharge, Amount: work.refund.Amount, Reason: work.refund.Reason,
	})
	s.config.AfterStep("refund")
	if errors.Is(err, payments.ErrRejected) {
		outcome = payments.RefundOutcome{State: payments.RefundStateFailed, FailureCode: "rejected"}
	} else if err != nil {
		s.config.Logger.InfoContext(ctx, "the payment provider gave no definite answer about a refund", "refund", at.ID.String(), "error", err)
		return nil // It was submitted with the time of its next look.
	}
	_, err = db.Replayable(ctx, s.db, "bookings.SettleRefund", func(ctx context.Context, tx pgx.Tx) (payments.EventResult, error) {
		return s.settleRefundTx(ctx, tx, at, outcome)
	})
	return err
}

// settleRefundTx records the provider's final word on a refund. What it failed is asked for again
// under another action, later each time, a bounded number of times.
func (s *Service) settleRefundTx(ctx context.Context, tx pgx.Tx, at payments.Located[payments.RefundID], outcome payments.RefundOutcome) (payments.EventResult, error) {
	if !outcome.State.Final() {
		return payments.EventAlreadyKnown, nil
	}
	// The attempt is locked before its refund, as wherever both are.
	known, err := payments.GetRefund(ctx, tx, at.Tenant, at.ID)
	if err != nil {
		return "", err
	}
	attempt, err := payments.Lock(ctx, tx, at.Tenant, known.Attempt)
	if err != nil {
		return "", err
	}
	refund, err := payments.LockRefund(ctx, tx, at.Tenant, at.ID)
	if err != nil {
		return "", err
	}
	if !refund.State.Open() {
		return payments.EventAlreadyKnown, nil
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return "", err
	}
	if err := payments.SettleRefundTx(ctx, tx, refund, outcome, now); err != nil {
		return "", err
	}
	event := "refund.succeeded"
	if outcome.State == payments.RefundStateFailed {
		event = "refund.failed"
	}
	if err := s.emitTx(ctx, tx, refund.Tenant, refund.ID.Region, "refund", refund.ID.UUID, refund.Version+1, event, now); err != nil {
		return "", err
	}
	if outcome.State == payments.RefundStateFailed {
		action, try := nextAction(refund.Action)
		if try > maxRefundTries {
			s.config.Logger.ErrorContext(ctx, "a refund failed for good; a person has to look", "refund", at.ID.String())
			return payments.EventApplied, nil
		}
		due := now.Add(time.Minute << try)
		return payments.EventApplied, s.requestRefundTx(ctx, tx, attempt, action, refund.Reason, refund.Amount, now, due)
	}
	return payments.EventApplied, nil
}

// nextAction names the next try of a failed refund action: "orphan", "orphan#2", "orphan#3", …
func nextAction(action string) (next string, try int) {
	base, number, found := strings.Cut(action, "#")
	try = 2
	if n, err := strconv.Atoi(number); found && err == nil {
		try = n + 1
	}
	return base + "#" + strconv.Itoa(try), try
}
