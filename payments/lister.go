package payments

import (
	"context"
	"time"

	"github.com/holdfast/holdfast/internal/money"
)

// MaxListedPage is the most charges that one page of a Lister has.
const MaxListedPage = 100

// Lister is what a Gateway is beside, where its provider can list an account's charges. A list finds
// what no look-up by key can: money that was taken without an attempt of ours.
type Lister interface {
	// ListCharges gives the charges of an account that were made at since or later, from the oldest
	// on, at most limit (1 to MaxListedPage) after the page that ended with after; "" is the first
	// page. next is the after of the following page, and "" on the last one.
	ListCharges(ctx context.Context, account string, since time.Time, after string, limit int) (page []ListedCharge, next string, err error)
}

// ListedCharge is a charge as its provider lists it, in an answer or in an exported file.
type ListedCharge struct {
	// ID is the provider's id of the charge.
	ID string
	// OtherID is a second name of the charge that an Outcome may carry, such as a payment intent's.
	OtherID string
	Account string
	// Key is the idempotency key, where the provider tells it.
	Key       string
	Reference Reference
	// State is APPROVED, DECLINED, PENDING or AUTHORIZED.
	State OutcomeState
	// Captured is what was really taken; Refunded what was given back of it.
	Captured              money.Amount
	Refunded              money.Amount
	InstrumentFingerprint string
	CreatedAt             time.Time
}

// Outcome is the charge as an answer to a look-up would tell it.
func (c ListedCharge) Outcome() Outcome {
	outcome := Outcome{State: c.State, ChargeID: c.ID, Account: c.Account, InstrumentFingerprint: c.InstrumentFingerprint}
	if c.State == OutcomeStateApproved {
		outcome.Captured = c.Captured
	}
	return outcome
}

// Is reports whether the charge goes by this name.
func (c ListedCharge) Is(id string) bool {
	return id == c.ID || c.OtherID != "" && id == c.OtherID
}
