package sandbox

import "time"

// These are the JSON forms of the provider's API, spoken by the server and by the adapter.

// Statuses of charges and refunds on the wire.
const (
	statusPending   = "pending"
	statusApproved  = "approved"
	statusDeclined  = "declined"
	statusSucceeded = "succeeded"
	statusFailed    = "failed"
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
	CreatedAt     time.Time     `json:"createdAt"`
	DecidedAt     time.Time     `json:"decidedAt,omitzero"`
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

// wireEvent is the body of a webhook: exactly one of Charge and Refund is set.
type wireEvent struct {
	ID        string      `json:"id"`
	Type      string      `json:"type"`
	CreatedAt time.Time   `json:"createdAt"`
	Charge    *wireCharge `json:"charge,omitempty"`
	Refund    *wireRefund `json:"refund,omitempty"`
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
	codeTooLarge       = "request_too_large"
	codeOverloaded     = "overloaded"
	codeInternal       = "internal"
)
