package payments

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/tenants"
)

// Gateway is what Holdfast asks of a payment provider. Adapters live in the folders below this
// package and are safe for concurrent use.
//
// The contract that keeps money from going astray:
//
//   - Charge and Refund are idempotent by their key: the driver may send the same request again at
//     any time, after a crash too, and money moves at most once. One key always carries the same
//     request.
//   - Whoever does not know says so. A timeout, a broken connection, an answer that cannot be read
//     and every 5xx are UNKNOWN with an error for the log, never DECLINED or FAILED: the money may
//     have moved. The state is UNKNOWN exactly when the error is not nil.
//   - Only an error that wraps ErrRejected says that this call moved no money and will not.
//   - No transaction may be open during a call. Each call has a time limit of its own, within the
//     one of its context.
//
// No card data passes here, only the provider's tokens and fingerprints.
type Gateway interface {
	// Charge takes money, or with CaptureManual reserves it, once per key.
	Charge(ctx context.Context, request ChargeRequest) (Outcome, error)
	// Capture takes the money that Charge reserved under this key, once. What was captured before is
	// APPROVED again. A reservation that is gone is DECLINED, and ErrRejected says that there is
	// nothing to capture.
	Capture(ctx context.Context, account, key string) (Outcome, error)
	// Cancel asks the provider to see to it that no money is taken under this key from now on: it ends
	// a reservation, a charge that waits for the buyer, and the hosted page that belongs to it.
	// DECLINED says that it is so, APPROVED that the money was taken before. NOT_FOUND is as with
	// LookUp: an earlier request may still be on its way. It never refunds.
	Cancel(ctx context.Context, account, key string) (Outcome, error)
	// Fingerprint names the instrument behind a method token, equal for all tokens of one card, or is
	// "" when the provider tells none before a charge. It moves nothing.
	Fingerprint(ctx context.Context, account, methodToken string) (string, error)
	// LookUp asks what became of the charge with this idempotency key. NOT_FOUND says that the
	// provider has not seen the key, which is no proof after a submission: the request may still be
	// on its way. The driver then submits again under the same key. LookUp never returns
	// ErrRejected, because its own failure says nothing about the charge.
	LookUp(ctx context.Context, account, key string) (Outcome, error)
	// Refund gives back all or part of a captured charge, once per key. The provider refuses
	// (ErrRejected) what would raise the sum of refunds above the captured amount.
	Refund(ctx context.Context, request RefundRequest) (RefundOutcome, error)
	// LookUpRefund asks what became of the refund with this idempotency key, like LookUp.
	LookUpRefund(ctx context.Context, account, key string) (RefundOutcome, error)
	// ParseWebhook authenticates and reads one message of the provider. body is the raw body as
	// received, because the signature covers its bytes; header is the request's header in canonical
	// form (an http.Header is one). The errors are ErrBadSignature, ErrStaleSignature and
	// ErrBadEvent. The caller still has to compare the event's account, amount and currency with
	// the stored attempt.
	ParseWebhook(header map[string][]string, body []byte) (Event, error)
}

var (
	// ErrRejected says that the provider refused the call itself (malformed, not authorised, over
	// the captured amount), and that this call therefore moved no money. An earlier call with the
	// same key that ended UNKNOWN may have: then LookUp tells.
	ErrRejected = errors.New("the payment provider rejected the request")
	// ErrKeyReused says that the key already stands for another request. Nothing was done now, but
	// what the key stands for may have moved money, so the state is UNKNOWN and LookUp tells. It is
	// a defect of the caller.
	ErrKeyReused = errors.New("the idempotency key was used for another request")

	// ErrBadSignature says that a message carries no valid signature: forged, altered, truncated,
	// or signed with a secret that is no longer accepted.
	ErrBadSignature = errors.New("the signature does not match the message")
	// ErrStaleSignature says that a message is rightly signed, but longer ago, or further ahead,
	// than the tolerance: it may be replayed.
	ErrStaleSignature = errors.New("the signature is outside the tolerated time")
	// ErrBadEvent says that a message is authentic or oversized, but not a readable event.
	ErrBadEvent = errors.New("the message is not a readable event")
)

// Reference is what Holdfast attaches to a charge or refund, and finds again on the provider's
// events. It is the zero Reference on money that Holdfast did not ask for.
type Reference struct {
	// TenantID is the seller; it is the provider's echo and not proof of anything.
	TenantID tenants.TenantID
	// AttemptID is the public id of the payment attempt, which carries its region.
	AttemptID string
}

// ChargeRequest asks for money from one instrument.
type ChargeRequest struct {
	// Account is the seller's account with the provider.
	Account string
	// Key is the idempotency key: the public id of the payment attempt.
	Key       string
	Reference Reference
	// Amount is positive, in minor units as ISO 4217 counts them; an adapter translates where its
	// provider counts differently.
	Amount money.Amount
	// MethodToken is the provider's name for the instrument. It is empty with Hosted.
	MethodToken string
	// Capture says whether the money is taken at once. The zero value is CaptureAutomatic.
	Capture CaptureMode
	// Hosted asks for a page of the provider on which the buyer pays; nil charges MethodToken.
	Hosted *HostedPage
	// Description may be shown to the buyer by the provider. It holds no personal data.
	Description string
}

// CaptureMode says when a charge takes its money.
type CaptureMode string

// The ways to capture. The zero value is CaptureAutomatic.
const (
	// CaptureAutomatic takes the money with the charge.
	CaptureAutomatic CaptureMode = ""
	// CaptureManual only reserves it: Capture takes it, Cancel lets it go.
	CaptureManual CaptureMode = "MANUAL"
)

// HostedPage is where the buyer goes on after having paid, or not, on the provider's page.
type HostedPage struct {
	// ReturnURL is where the provider sends the buyer back to.
	ReturnURL string
	// ExpiresAt is when the hold's payment window ends. The page must not take money after it; where
	// a provider's shortest lifetime is longer, Cancel ends the page.
	ExpiresAt time.Time
}

// OutcomeState says what is known about a charge. The zero value is UNKNOWN, so that a forgotten
// assignment never reads as a verdict.
type OutcomeState int

// The states of an outcome.
const (
	// OutcomeStateUnknown is no answer: the money may have moved. Ask again.
	OutcomeStateUnknown OutcomeState = iota
	// OutcomeStateApproved is final: the money is captured.
	OutcomeStateApproved
	// OutcomeStateDeclined is final: no money was taken, nor will be under this key.
	OutcomeStateDeclined
	// OutcomeStatePending is the provider's word that it has not decided yet. Ask again, or wait
	// for its event.
	OutcomeStatePending
	// OutcomeStateNotFound answers a lookup or a cancellation: the provider does not know the key, so
	// far.
	OutcomeStateNotFound
	// OutcomeStateAuthorized is a reservation (CaptureManual): the money is set aside and not yet
	// taken. Capture or Cancel it.
	OutcomeStateAuthorized
)

// String is the name used in logs.
func (s OutcomeState) String() string {
	switch s {
	case OutcomeStateAuthorized:
		return "AUTHORIZED"
	case OutcomeStateApproved:
		return "APPROVED"
	case OutcomeStateDeclined:
		return "DECLINED"
	case OutcomeStatePending:
		return "PENDING"
	case OutcomeStateNotFound:
		return "NOT_FOUND"
	case OutcomeStateUnknown:
		return "UNKNOWN"
	}
	return "UNKNOWN"
}

// Final reports whether the provider will never say otherwise.
func (s OutcomeState) Final() bool {
	return s == OutcomeStateApproved || s == OutcomeStateDeclined
}

// Outcome is the provider's answer about a charge. Fields other than State are set where the
// provider gave them.
type Outcome struct {
	State OutcomeState
	// ChargeID is the provider's id of the charge; refunds name it.
	ChargeID string
	// DeclineCode is the provider's reason when State is DECLINED, such as "insufficient_funds".
	DeclineCode string
	// Captured is what was really taken when State is APPROVED; the caller compares it with what
	// was asked for.
	Captured money.Amount
	// Account is where the money went, for the same comparison.
	Account string
	// InstrumentFingerprint is equal for two charges of one instrument, and empty when the provider
	// tells none.
	InstrumentFingerprint string
	// RedirectURL is where the buyer has to go to pay or to confirm, when State is PENDING.
	RedirectURL string
}

// RefundRequest gives money back to the instrument it came from.
type RefundRequest struct {
	// Account is the account that holds the charge.
	Account string
	// Key is the idempotency key of this refund action: two refunds of the same amount are two
	// actions with two keys, and one action never has two.
	Key       string
	Reference Reference
	// ChargeID is the Outcome's.
	ChargeID string
	// Amount is positive and in the charge's currency.
	Amount money.Amount
	// Reason is a short word for the provider's records, such as "orphan".
	Reason string
}

// RefundState says what is known about a refund. The zero value is UNKNOWN.
type RefundState int

// The states of a refund at the provider.
const (
	// RefundStateUnknown is no answer: the money may have been given back. Ask again.
	RefundStateUnknown RefundState = iota
	// RefundStateSucceeded is final: the provider has paid.
	RefundStateSucceeded
	// RefundStateFailed is final for this key: nothing was paid, nor will be. Another try is
	// another key.
	RefundStateFailed
	// RefundStatePending is accepted but not yet paid.
	RefundStatePending
	// RefundStateNotFound answers only a lookup: the provider does not know the key, so far.
	RefundStateNotFound
)

// String is the name used in logs.
func (s RefundState) String() string {
	switch s {
	case RefundStateSucceeded:
		return "SUCCEEDED"
	case RefundStateFailed:
		return "FAILED"
	case RefundStatePending:
		return "PENDING"
	case RefundStateNotFound:
		return "NOT_FOUND"
	case RefundStateUnknown:
		return "UNKNOWN"
	}
	return "UNKNOWN"
}

// Final reports whether the provider will never say otherwise about this key.
func (s RefundState) Final() bool {
	return s == RefundStateSucceeded || s == RefundStateFailed
}

// RefundOutcome is the provider's answer about a refund. Fields other than State are set where the
// provider gave them.
type RefundOutcome struct {
	State RefundState
	// RefundID is the provider's id of the refund.
	RefundID string
	// ChargeID is the charge that it belongs to.
	ChargeID string
	// FailureCode is the provider's reason when State is FAILED.
	FailureCode string
	// Amount is what is given back.
	Amount money.Amount
	// Account is where the money comes from.
	Account string
}

// EventType says what a provider's event is about.
type EventType string

// The types of event that Holdfast acts on; all others are EventTypeOther.
const (
	EventTypeChargeSucceeded EventType = "charge.succeeded"
	EventTypeChargeDeclined  EventType = "charge.declined"
	EventTypeRefundSucceeded EventType = "refund.succeeded"
	EventTypeRefundFailed    EventType = "refund.failed"
	// EventTypeChargeAuthorized: the money of a CaptureManual charge is reserved.
	EventTypeChargeAuthorized EventType = "charge.authorized"
	// The provider's steps of a dispute (chargeback). A dispute moves money, not the seat: it is
	// recorded, and changes no booking.
	EventTypeDisputeOpened EventType = "dispute.opened"
	EventTypeDisputeWon    EventType = "dispute.won"
	EventTypeDisputeLost   EventType = "dispute.lost"
	// EventTypeOther is recorded and otherwise ignored.
	EventTypeOther EventType = "other"
)

// Event is one authenticated message of a provider. It may arrive early, late, more than once, out
// of order or never.
type Event struct {
	// Provider is the adapter's name, such as "sandbox".
	Provider string
	// ID is the provider's id of the event, equal in every delivery of it.
	ID   string
	Type EventType
	// Account is where the money moved.
	Account   string
	Reference Reference
	// Key is the idempotency key of the charge or refund that the event is about.
	Key string
	// ChargeID is set on events about charges and refunds.
	ChargeID string
	// RefundID is set on events about refunds.
	RefundID string
	// DisputeID is set on events about disputes.
	DisputeID string
	// Amount is what was captured or given back, or would have been.
	Amount money.Amount
	// DeclineCode is the provider's reason for a declined charge or failed refund.
	DeclineCode string
	// InstrumentFingerprint is set on events about charges, where the provider tells it.
	InstrumentFingerprint string
	// OccurredAt is the provider's clock. It orders nothing: states do.
	OccurredAt time.Time
}
