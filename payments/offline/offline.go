// Package offline is the payments adapter for money that is taken outside of Holdfast: cash and
// card terminals at a box office, invoices, and sales of an imported history. Whoever records such
// a sale says that the money was taken, so everything is approved at once, within the process.
//
// It owns no state: an answer is a pure function of its request. That makes it idempotent without
// a memory, and has one consequence: a lookup by key alone cannot know whether the charge was ever
// asked for, nor its amount, so it answers NOT_FOUND. A driver that lost its outcome submits again
// under the same key, as payments.Gateway tells it to, and gets the same approval with the same
// charge id.
//
// It does not know what was captured before, so it cannot refuse a refund above that; the sum of
// refunds is guarded by the refunds table.
package offline

import (
	"context"
	"fmt"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
)

// Name is the provider's name in attempts and events.
const Name = "offline"

// Gateway approves everything that is well formed. The zero value is ready to use.
type Gateway struct{}

var _ payments.Gateway = Gateway{}

// Charge approves the whole amount. The charge id is made of the key, and there is no fingerprint,
// because no instrument is known. An empty account or key, an amount that is not positive or has
// no currency is payments.ErrRejected.
func (Gateway) Charge(_ context.Context, request payments.ChargeRequest) (payments.Outcome, error) {
	if err := validate(request.Account, request.Key, request.Amount); err != nil {
		return payments.Outcome{}, fmt.Errorf("charge offline: %w", err)
	}
	return payments.Outcome{
		State: payments.OutcomeStateApproved, ChargeID: chargeID(request.Key), Captured: request.Amount, Account: request.Account,
	}, nil
}

// Capture is always payments.ErrRejected: nothing is ever reserved offline.
func (Gateway) Capture(context.Context, string, string) (payments.Outcome, error) {
	return payments.Outcome{}, fmt.Errorf("%w: the offline provider reserves no money", payments.ErrRejected)
}

// Cancel answers DECLINED: nobody will take the money any more.
func (Gateway) Cancel(_ context.Context, account, _ string) (payments.Outcome, error) {
	return payments.Outcome{State: payments.OutcomeStateDeclined, Account: account, DeclineCode: "cancelled"}, nil
}

// Fingerprint is empty: no instrument is known.
func (Gateway) Fingerprint(context.Context, string, string) (string, error) { return "", nil }

// LookUp answers NOT_FOUND: submit again under the same key.
func (Gateway) LookUp(_ context.Context, account, _ string) (payments.Outcome, error) {
	return payments.Outcome{State: payments.OutcomeStateNotFound, Account: account}, nil
}

// Refund says that the money was given back, as it was taken, outside. The refund id is made of
// the key. A request that Charge would reject, or without a charge id, is payments.ErrRejected.
func (Gateway) Refund(_ context.Context, request payments.RefundRequest) (payments.RefundOutcome, error) {
	err := validate(request.Account, request.Key, request.Amount)
	if err == nil && request.ChargeID == "" {
		err = fmt.Errorf("%w: the charge id is empty", payments.ErrRejected)
	}
	if err != nil {
		return payments.RefundOutcome{}, fmt.Errorf("refund offline: %w", err)
	}
	return payments.RefundOutcome{
		State: payments.RefundStateSucceeded, RefundID: refundID(request.Key), ChargeID: request.ChargeID,
		Amount: request.Amount, Account: request.Account,
	}, nil
}

// LookUpRefund answers NOT_FOUND: submit again under the same key.
func (Gateway) LookUpRefund(_ context.Context, account, _ string) (payments.RefundOutcome, error) {
	return payments.RefundOutcome{State: payments.RefundStateNotFound, Account: account}, nil
}

// ParseWebhook is always payments.ErrBadSignature: nobody sends events about money taken offline,
// so whoever claims to is a forger.
func (Gateway) ParseWebhook(map[string][]string, []byte) (payments.Event, error) {
	return payments.Event{}, fmt.Errorf("%w: the offline provider sends no events", payments.ErrBadSignature)
}

func chargeID(key string) string { return "offline_" + key }

func refundID(key string) string { return "offline_refund_" + key }

func validate(account, key string, amount money.Amount) error {
	switch {
	case account == "":
		return fmt.Errorf("%w: the account is empty", payments.ErrRejected)
	case key == "":
		return fmt.Errorf("%w: the idempotency key is empty", payments.ErrRejected)
	case amount.Minor <= 0 || amount.Minor > money.MaxMinor:
		return fmt.Errorf("%w: expected an amount of 1 to %d minor units, got %d", payments.ErrRejected, int64(money.MaxMinor), amount.Minor)
	case amount.Currency == "":
		return fmt.Errorf("%w: the amount has no currency", payments.ErrRejected)
	}
	return nil
}
