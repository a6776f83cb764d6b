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
	"github.com/holdfast/holdfast/tenants"
)

// Bounds of the tries of a refund that the provider fails.
const (
	// maxRefundTries is how many actions one refund may take; then it is work for a person.
	maxRefundTries = 5
	// firstRefundWait is doubled with each try, up to longestRefundWait.
	firstRefundWait   = time.Minute
	longestRefundWait = time.Hour
)

// refundWait is how long after a failure its next try is due: the second after 2 minutes, then 4, 8
// and 16.
func refundWait(try int) time.Duration {
	wait := firstRefundWait
	for range try - 1 {
		wait = min(2*wait, longestRefundWait)
	}
	return wait
}

// requestRefundTx stores a refund action, the event of it and the job that drives it.
func (s *Service) requestRefundTx(ctx context.Context, tx pgx.Tx, attempt payments.Attempt, action, reason string, amount money.Amount, now, due time.Time) error {
	if left := attempt.Left(); attempt.Lost.Minor > 0 && amount.Minor > left.Minor {
		// A lost dispute has given the rest back already.
		if amount = left; amount.Minor == 0 {
			return nil
		}
	}
	refund, err := payments.RequestRefundTx(ctx, tx, attempt, action, reason, amount, now, due)
	if err != nil {
		return err
	}
	if refund.Version > 1 || refund.State != payments.RefundRequested || !refund.RequestedAt.Equal(now) {
		return nil // This action was requested before.
	}
	channel, err := channelOf(ctx, tx, attempt)
	if err != nil {
		return err
	}
	if err := s.emitTx(ctx, tx, attempt.Tenant, refund.ID.Region, channel, "refund", refund.ID.UUID, 1, "refund.requested", now); err != nil {
		return err
	}
	return s.jobs.EnqueueTx(ctx, tx, RefundJob{Refund: payments.Located[payments.RefundID]{Tenant: attempt.Tenant, ID: refund.ID}, After: due})
}

// DriveRefund asks the provider for a refund under the action's own key, and records its answer. It
// may run twice and in several processes at once: the provider pays once per key.
func (s *Service) DriveRefund(ctx context.Context, at payments.Located[payments.RefundID]) error {
	return s.driveRefund(ctx, at, DriverJob)
}

func (s *Service) driveRefund(ctx context.Context, at payments.Located[payments.RefundID], by Driver) error {
	gateway, open, err := s.gatewayOfRefund(ctx, at)
	if err != nil || !open {
		return err
	}
	work, err := db.Replayable(ctx, s.db, "bookings.SubmitRefund", func(ctx context.Context, tx pgx.Tx) (submittedRefund, error) {
		attempt, refund, err := lockRefund(ctx, tx, at)
		if err != nil || !refund.State.Open() {
			return submittedRefund{refund: refund}, err
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return submittedRefund{}, err
		}
		if refund.State == payments.RefundRequested && attempt.Contested() {
			return submittedRefund{refund: refund, held: true}, s.holdBackTx(ctx, tx, attempt, refund, now)
		}
		return submittedRefund{refund: refund, attempt: attempt, at: now}, payments.SubmitRefundTx(ctx, tx, refund, now)
	})
	if err != nil || work.held || !work.refund.State.Open() {
		return err
	}
	s.config.AfterStep("submit refund")
	outcome, err := s.askRefund(ctx, gateway, work)
	s.config.AfterStep("refund")
	if err != nil {
		s.config.Logger.InfoContext(ctx, "the payment provider gave no definite answer about a refund", "refund", at.ID.String(), "error", err)
		return nil // It was submitted with the time of its next look.
	}
	_, err = db.Replayable(ctx, s.db, "bookings.SettleRefund", func(ctx context.Context, tx pgx.Tx) (payments.EventResult, error) {
		return s.settleRefundTx(ctx, tx, at, outcome, by)
	})
	if errors.Is(err, errMismatch) {
		s.config.Logger.ErrorContext(ctx, "a provider's answer does not fit its refund; a person has to look", "refund", at.ID.String())
		// It stays open, and is asked for again under its key.
		return s.keepRefundAnswer(ctx, work, outcome)
	}
	return err
}

// gatewayOfRefund says whether a refund is still to be paid, and by whom. It is asked before anything
// is marked as sent.
func (s *Service) gatewayOfRefund(ctx context.Context, at payments.Located[payments.RefundID]) (gateway payments.Gateway, open bool, err error) {
	refund, err := payments.GetRefund(ctx, s.db.Pool(), at.Tenant, at.ID)
	if err != nil || !refund.State.Open() {
		return nil, false, db.Classify(err)
	}
	attempt, err := payments.Get(ctx, s.db.Pool(), at.Tenant, refund.Attempt)
	if err != nil {
		return nil, false, db.Classify(err)
	}
	gateway, err = s.gateway(attempt.Provider)
	return gateway, true, err
}

// submittedRefund is a refund as it was before this call to the provider.
type submittedRefund struct {
	refund  payments.Refund
	attempt payments.Attempt
	// at is when it was submitted, by the database's clock.
	at time.Time
	// held says that it was not submitted, because its payment is disputed.
	held bool
}

// askRefund calls the provider with no transaction open. A rejection is final for the first call
// under a key only: an earlier one whose answer was lost may have paid, and another key would then
// pay again. So the provider is asked what it knows of the key before that is given up.
func (s *Service) askRefund(ctx context.Context, gateway payments.Gateway, work submittedRefund) (payments.RefundOutcome, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	key := work.refund.ID.String()
	outcome, err := gateway.Refund(ctx, payments.RefundRequest{
		Account: work.attempt.Account, Key: key, Reference: work.attempt.Reference(),
		ChargeID: work.attempt.ProviderCharge, Amount: work.refund.Amount, Reason: work.refund.Reason,
	})
	if !errors.Is(err, payments.ErrRejected) {
		return outcome, err
	}
	rejected := payments.RefundOutcome{
		State: payments.RefundStateFailed, FailureCode: "rejected", Account: work.attempt.Account, Amount: work.refund.Amount,
	}
	if work.refund.State == payments.RefundRequested {
		return rejected, nil
	}
	known, lookUpErr := gateway.LookUpRefund(ctx, work.attempt.Account, key)
	switch {
	case lookUpErr != nil:
		return payments.RefundOutcome{}, errors.Join(err, lookUpErr)
	case known.State != payments.RefundStateNotFound:
		return known, nil
	case work.at.Sub(work.refund.RequestedAt) < notReceivedAfter:
		return payments.RefundOutcome{}, fmt.Errorf("an earlier call may still be on its way: %w", err)
	}
	return rejected, nil
}

// settleRefundTx records the provider's final word on a refund. What it failed is asked for again
// under another action, later each time, a bounded number of times.
func (s *Service) settleRefundTx(ctx context.Context, tx pgx.Tx, at payments.Located[payments.RefundID], outcome payments.RefundOutcome, by Driver) (payments.EventResult, error) {
	if !outcome.State.Final() {
		return payments.EventAlreadyKnown, nil
	}
	attempt, refund, err := lockRefund(ctx, tx, at)
	if err != nil {
		return "", err
	}
	if outcome.Account != attempt.Account || outcome.Amount != refund.Amount {
		return payments.EventMismatch, errMismatch
	}
	if !refund.State.Open() {
		if (refund.State == payments.RefundSucceeded) != (outcome.State == payments.RefundStateSucceeded) {
			// A bank may send money back that was paid, and a person has to find out which is true.
			return payments.EventMismatch, errMismatch
		}
		return payments.EventAlreadyKnown, nil
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return "", err
	}
	return payments.EventApplied, s.endRefundTx(ctx, tx, attempt, refund, outcome, by, now)
}

// lockRefund locks an attempt and then its refund, as wherever both are.
func lockRefund(ctx context.Context, tx pgx.Tx, at payments.Located[payments.RefundID]) (payments.Attempt, payments.Refund, error) {
	known, err := payments.GetRefund(ctx, tx, at.Tenant, at.ID)
	if err != nil {
		return payments.Attempt{}, payments.Refund{}, err
	}
	attempt, err := payments.Lock(ctx, tx, at.Tenant, known.Attempt)
	if err != nil {
		return payments.Attempt{}, payments.Refund{}, err
	}
	refund, err := payments.LockRefund(ctx, tx, at.Tenant, at.ID)
	return attempt, refund, err
}

// holdBackTx keeps money that a dispute may take, or has taken, from being given back on top. While
// the dispute is open the refund waits; when it is lost the refund ends, and what is left is
// requested anew.
func (s *Service) holdBackTx(ctx context.Context, tx pgx.Tx, attempt payments.Attempt, refund payments.Refund, now time.Time) error {
	if attempt.Disputed.Minor > 0 {
		return payments.PostponeRefundTx(ctx, tx, refund, now)
	}
	return s.endRefundTx(ctx, tx, attempt, refund, payments.RefundOutcome{State: payments.RefundStateFailed, FailureCode: "disputed"}, DriverWebhook, now)
}

// endRefundTx records the end of a locked open refund, and what follows from a failure.
func (s *Service) endRefundTx(ctx context.Context, tx pgx.Tx, attempt payments.Attempt, refund payments.Refund, outcome payments.RefundOutcome, by Driver, now time.Time) error {
	if err := payments.SettleRefundTx(ctx, tx, refund, outcome, now); err != nil {
		return err
	}
	event := "refund.succeeded"
	if outcome.State == payments.RefundStateFailed {
		event = "refund.failed"
	}
	channel, err := channelOf(ctx, tx, attempt)
	if err != nil {
		return err
	}
	if err := s.emitTx(ctx, tx, refund.Tenant, refund.ID.Region, channel, "refund", refund.ID.UUID, refund.Version+1, event, now); err != nil {
		return err
	}
	if outcome.State == payments.RefundStateFailed {
		action, try := nextAction(refund.Action)
		if try > maxRefundTries {
			s.config.Logger.ErrorContext(ctx, "a refund failed for good; a person has to look", "refund", refund.ID.String())
			return payments.ExhaustRefundTx(ctx, tx, refund, now)
		}
		due := now.Add(refundWait(try))
		// What failed is no longer counted.
		attempt.Refunded.Minor -= refund.Amount.Minor
		return s.requestRefundTx(ctx, tx, attempt, action, refund.Reason, refund.Amount, now, due)
	}
	return mendedRefundTx(ctx, tx, by, attempt, refund, now)
}

// channelOf is the channel of the sale that an attempt paid for. A hold keeps it from its beginning.
func channelOf(ctx context.Context, tx pgx.Tx, attempt payments.Attempt) (tenants.ChannelID, error) {
	return inventory.ChannelOf(ctx, tx, attempt.Tenant, inventory.HoldID{Region: attempt.ID.Region, UUID: attempt.Hold})
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
