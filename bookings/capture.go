package bookings

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
)

// authorizeTx records that a locked attempt's money is reserved.
func authorizeTx(ctx context.Context, tx pgx.Tx, attempt payments.Attempt, outcome payments.Outcome, now time.Time) (payments.EventResult, error) {
	if outcome.Account != attempt.Account {
		return payments.EventMismatch, errMismatch
	}
	if !attempt.State.Open() || attempt.State == payments.AttemptStateAuthorized {
		return payments.EventAlreadyKnown, nil
	}
	return payments.EventApplied, payments.AuthorizeTx(ctx, tx, attempt, outcome, now)
}

// endReservation takes the money of an AUTHORIZED attempt while its hold can still be sold, lets it go
// otherwise, and applies the answer. A capture whose answer was lost is asked for again: the provider
// takes the money once. When the hold ended in between, the cancellation says that the money was
// taken, and it is refunded like any other that came too late.
func (s *Service) endReservation(ctx context.Context, gateway payments.Gateway, at payments.Located[payments.AttemptID], by Driver) error {
	judged, err := s.judgeReservation(ctx, at)
	if err != nil || judged.attempt.State != payments.AttemptStateAuthorized {
		return err
	}
	s.config.AfterStep("judge")
	outcome, err := s.askForReserved(ctx, gateway, judged)
	s.config.AfterStep("capture")
	if err != nil {
		s.config.Logger.InfoContext(ctx, "the payment provider gave no definite answer about a reservation", "attempt", at.ID.String(), "error", err)
	}
	return s.apply(ctx, at, outcome, by)
}

// judgedReservation is an attempt, and whether its hold can be sold.
type judgedReservation struct {
	attempt  payments.Attempt
	sellable bool
}

// judgeReservation looks under the locks that also whoever takes the units needs.
func (s *Service) judgeReservation(ctx context.Context, at payments.Located[payments.AttemptID]) (judgedReservation, error) {
	return db.Replayable(ctx, s.db, "bookings.JudgeReservation", func(ctx context.Context, tx pgx.Tx) (judgedReservation, error) {
		hold, attempt, now, err := lockAttempt(ctx, tx, at)
		return judgedReservation{attempt: attempt, sellable: hold.State == inventory.HoldStateProcessing && hold.Confirmable(now)}, err
	})
}

func (s *Service) askForReserved(ctx context.Context, gateway payments.Gateway, judged judgedReservation) (payments.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	if !judged.sellable {
		return cancelCharge(ctx, gateway, judged.attempt, "cancelled")
	}
	key := judged.attempt.ID.String()
	outcome, err := gateway.Capture(ctx, judged.attempt.Account, key)
	if !errors.Is(err, payments.ErrRejected) {
		return outcome, err
	}
	// There is nothing to capture: taken already, gone, or refused for good.
	outcome, lookUpErr := gateway.LookUp(ctx, judged.attempt.Account, key)
	switch {
	case lookUpErr != nil:
		return payments.Outcome{}, errors.Join(err, lookUpErr)
	case outcome.State.Final():
		return outcome, nil
	}
	return cancelCharge(ctx, gateway, judged.attempt, "not_captured")
}

// providerCancelled is a provider's word for a charge that it was asked to cancel. Other codes are
// reasons of its own, and are kept.
const providerCancelled = "cancelled"

// cancelCharge sees to it that no money is taken any more, or learns that it was. The code is the
// reason that a decline is kept with.
func cancelCharge(ctx context.Context, gateway payments.Gateway, attempt payments.Attempt, code string) (payments.Outcome, error) {
	outcome, err := gateway.Cancel(ctx, attempt.Account, attempt.ID.String())
	if outcome.State == payments.OutcomeStateDeclined && (outcome.DeclineCode == "" || outcome.DeclineCode == providerCancelled) {
		outcome.DeclineCode = code
	}
	return outcome, err
}
