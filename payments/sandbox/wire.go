package sandbox

import "time"

// These are the JSON forms of the provider's API, spoken by the server and by the adapter.

// Statuses of charges and refunds on the wire.
const (
	statusPending  = "pending"
	statusApproved = "approved"
	// statusAuthorized: the money is reserved and waits to be captured or cancelled.
	statusAuthorized = "authorized"
	statusDeclined   = "declined"
	statusSucceeded  = "succeeded"
	statusFailed     = "failed"
)

// keyHeader carries the idempotency key of a POST.
const keyHeader = "Idempotency-Key"

type wireReference struct {
	Tenant  string `json:"tenant,omitempty"`
	Attempt string `json:"attempt,omitempty"`
}

type wireChargeRequest struct {
	Account     string        `json:"account"`
	AmountMinor int64         `json:"amountMinor"`
	Currency    string        `json:"currency"`
	Method      string        `json:"method"`
	Reference   wireReference `json:"reference"`
	Description string        `json:"description,omitempty"`
	// Capture is "manual" to reserve only.
	Capture string `json:"capture,omitempty"`
	// ReturnURL without a method asks for a page on which the buyer pays until ExpiresAt.
	ReturnURL string    `json:"returnUrl,omitempty"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// captureManual is the value of a charge's "capture" that reserves only.
const captureManual = "manual"

// wireKeyRequest is the body of a call about the charge that the key of its header stands for.
type wireKeyRequest struct {
	Account string `json:"account"`
}

type wireDisputeRequest struct {
	Account string `json:"account"`
	// Charge is the charge's key.
	Charge string `json:"charge"`
	// Status is "opened", "won" or "lost".
	Status string `json:"status"`
	// AmountMinor is what is disputed; 0 is all that was captured.
	AmountMinor int64 `json:"amountMinor,omitempty"`
}

// Statuses of disputes on the wire.
const (
	statusOpened = "opened"
	statusWon    = "won"
	statusLost   = "lost"
)

type wireDispute struct {
	ID          string        `json:"id"`
	Account     string        `json:"account"`
	Key         string        `json:"key"`
	Charge      string        `json:"charge"`
	Status      string        `json:"status"`
	AmountMinor int64         `json:"amountMinor"`
	Currency    string        `json:"currency"`
	Reference   wireReference `json:"reference"`
	CreatedAt   time.Time     `json:"createdAt"`
}

type wireFingerprint struct {
	Fingerprint string `json:"fingerprint"`
}

type wireCharge struct {
	ID            string        `json:"id"`
	Account       string        `json:"account"`
	Key           string        `json:"key"`
	Status        string        `json:"status"`
	AmountMinor   int64         `json:"amountMinor"`
	CapturedMinor int64         `json:"capturedMinor"`
	RefundedMinor int64         `json:"refundedMinor"`
	Currency      string        `json:"currency"`
	DeclineCode   string        `json:"declineCode,omitempty"`
	Fingerprint   string        `json:"fingerprint"`
	Reference     wireReference `json:"reference"`
	Description   string        `json:"description,omitempty"`
	Capture       string        `json:"capture,omitempty"`
	// RedirectURL is where the buyer has to go while the charge waits for the buyer.
	RedirectURL string    `json:"redirectUrl,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
	DecidedAt   time.Time `json:"decidedAt,omitzero"`
}

type wireChargePage struct {
	Charges []wireCharge `json:"charges"`
	// Next is the value of "after" that gives the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}

type wireRefundRequest struct {
	Account     string        `json:"account"`
	Charge      string        `json:"charge"`
	AmountMinor int64         `json:"amountMinor"`
	Currency    string        `json:"currency"`
	Reference   wireReference `json:"reference"`
	Reason      string        `json:"reason,omitempty"`
}

type wireRefund struct {
	ID          string        `json:"id"`
	Account     string        `json:"account"`
	Key         string        `json:"key"`
	Charge      string        `json:"charge"`
	Status      string        `json:"status"`
	AmountMinor int64         `json:"amountMinor"`
	Currency    string        `json:"currency"`
	FailureCode string        `json:"failureCode,omitempty"`
	Reference   wireReference `json:"reference"`
	Reason      string        `json:"reason,omitempty"`
	CreatedAt   time.Time     `json:"createdAt"`
	DecidedAt   time.Time     `json:"decidedAt,omitzero"`
}

// wireEvent is the body of a webhook: exactly one of Charge, Refund and Dispute is set.
type wireEvent struct {
	ID        string       `json:"id"`
	Type      string       `json:"type"`
	CreatedAt time.Time    `json:"createdAt"`
	Charge    *wireCharge  `json:"charge,omitempty"`
	Refund    *wireRefund  `json:"refund,omitempty"`
	Dispute   *wireDispute `json:"dispute,omitempty"`
}

type wireError struct {
	Error wireErrorDetail `json:"error"`
}

type wireErrorDetail struct {
	// Code is for programs and never changes its meaning.
	Code string `json:"code"`
	// Field is the part of the request that is at fault, where there is one.
	Field string `json:"field,omitempty"`
	// Message is for people.
	Message string `json:"message"`
}

// Codes of errors.
const (
	codeInvalid        = "invalid_request"
	codeUnauthorized   = "unauthorized"
	codeNotFound       = "not_found"
	codeNoRoute        = "no_such_address"
	codeKeyReused      = "key_reused"
	codeNotCaptured    = "charge_not_captured"
	codeExceedsCapture = "amount_exceeds_captured"
	codeNotCapturable  = "nothing_to_capture"
	codeRefundRefused  = "refund_refused"
	codeTooLarge       = "request_too_large"
	codeOverloaded     = "overloaded"
	codeInternal       = "internal"
)
