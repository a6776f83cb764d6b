package bookings

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/payments"
)

// disputeTx keeps what a provider says of a dispute. It moves money, not the seat: no booking and no
// hold is changed. Refunds that were not sent yet wait for its end.
func (s *Service) disputeTx(ctx context.Context, tx pgx.Tx, event payments.Event, at payments.Located[payments.AttemptID]) (payments.EventResult, error) {
	_, attempt, now, err := lockAttempt(ctx, tx, at)
	if err != nil {
		return "", err
	}
	otherCharge := attempt.ProviderCharge != "" && event.ChargeID != "" && event.ChargeID != attempt.ProviderCharge
	if otherCharge || event.DisputeID == "" || event.Account != attempt.Account || event.Amount.Currency != attempt.Amount.Currency ||
		event.Amount.Minor <= 0 || event.Amount.Minor > max(attempt.Amount.Minor, attempt.Captured.Minor) {
		return payments.EventMismatch, errMismatch
	}
	state := payments.DisputeOpened
	if event.Type == payments.EventTypeDisputeWon {
		state = payments.DisputeWon
	}
	if event.Type == payments.EventTypeDisputeLost {
		state = payments.DisputeLost
	}
	dispute, news, err := payments.RecordDisputeTx(ctx, tx, attempt, event.DisputeID, state, event.Amount, now)
	if err != nil {
		return "", err
	}
	if !news {
		return payments.EventAlreadyKnown, nil
	}
	channel, err := channelOf(ctx, tx, attempt)
	if err != nil {
		return "", err
	}
	return payments.EventApplied, s.emitTx(ctx, tx, at.Tenant, at.ID.Region, channel, "dispute", dispute.ID.UUID, dispute.Version, "dispute."+strings.ToLower(string(state)), now)
}
