package stripe

import (
	"context"
	"fmt"
	"strings"
	"time"

	stripego "github.com/stripe/stripe-go/v84"

	"github.com/holdfast/holdfast/payments"
)

const (
	// maxReason is Stripe's bound on a metadata value, in characters.
	maxReason = 500
	// maxRefundsOfCharge bounds the refunds read of one charge.
	maxRefundsOfCharge = 10 * pageSize
	// refundWindow and maxRecentRefunds bound looking a refund up by its key alone: Stripe has no
	// search for refunds.
	refundWindow     = 30 * 24 * time.Hour
	maxRecentRefunds = 20 * pageSize
)

// Refund implements payments.Gateway. Stripe forgets idempotency keys after a day and repeats its own
// errors until then, so the charge's refunds are read first: one that has the key is the answer.
func (g *Gateway) Refund(ctx context.Context, request payments.RefundRequest) (payments.RefundOutcome, error) {
	ctx, cancel := g.bound(ctx)
	defer cancel()
	outcome, err := g.refund(ctx, request)
	if err != nil {
		return payments.RefundOutcome{}, fmt.Errorf("refund %.64q: %w", request.Key, err)
	}
	return outcome, nil
}

func (g *Gateway) refund(ctx context.Context, request payments.RefundRequest) (payments.RefundOutcome, error) {
	if err := validatePlace(request.Account, request.Key); err != nil {
		return payments.RefundOutcome{}, rejected("%w", err)
	}
	if !strings.HasPrefix(request.ChargeID, intentPrefix) || word(request.ChargeID) == "" {
		return payments.RefundOutcome{}, rejected("expected the charge to be a PaymentIntent such as pi_…")
	}
	minor, currency, err := toStripe(request.Amount)
	if err != nil {
		return payments.RefundOutcome{}, rejected("%w", err)
	}
	made, err := g.refundOfCharge(ctx, request.Account, request.ChargeID, request.Key)
	if err != nil {
		return payments.RefundOutcome{}, err
	}
	if made != nil {
		return g.sameRefund(made, request, minor, currency)
	}
	// Stripe takes a refund's amount in the charge's currency, whatever was meant.
	intent, err := g.intent(ctx, request.Account, request.ChargeID)
	switch {
	case isMissing(err):
		return payments.RefundOutcome{}, rejected("no such charge: %w", err)
	case err != nil:
		return payments.RefundOutcome{}, err
	case string(intent.Currency) != currency:
		return payments.RefundOutcome{}, rejected("the charge is in another currency")
	case minor > intent.AmountReceived:
		return payments.RefundOutcome{}, rejected("the charge captured less than %s", request.Amount)
	}
	metadata := toMetadata(request.Key, request.Reference)
	if request.Reason != "" {
		metadata[metadataReason] = request.Reason[:min(len(request.Reason), maxReason)]
	}
	created, err := g.client.V1Refunds.Create(ctx, &stripego.RefundCreateParams{
		Params: g.keyed(request.Account, request.Key), PaymentIntent: &request.ChargeID, Amount: &minor, Metadata: metadata,
	})
	if err != nil {
		if err = safe(err); isAuthentication(err) {
			// A key that is not accepted is our own fault and will be mended. What is owed stays owed.
			return payments.RefundOutcome{}, err
		}
		return payments.RefundOutcome{}, judge(err)
	}
	if isReplayed(created.LastResponse) {
		if created, err = g.refundByID(ctx, request.Account, created.ID); err != nil {
			return payments.RefundOutcome{}, err
		}
	}
	g.ids.Add(place{request.Account, request.Key}, created.ID)
	return readRefund(created, request.Account, request.Key)
}

// sameRefund is the outcome of the refund that was made under a key, if it is the one asked for.
func (g *Gateway) sameRefund(made *stripego.Refund, request payments.RefundRequest, minor int64, currency string) (payments.RefundOutcome, error) {
	if made.Amount != minor || string(made.Currency) != currency {
		return payments.RefundOutcome{}, fmt.Errorf("%w: refund %s has another amount", payments.ErrKeyReused, word(made.ID))
	}
	g.ids.Add(place{request.Account, request.Key}, made.ID)
	return readRefund(made, request.Account, request.Key)
}

// refundOfCharge is the refund of a charge that has this key, or nil. The list is exact.
func (g *Gateway) refundOfCharge(ctx context.Context, account, charge, key string) (*stripego.Refund, error) {
	params := &stripego.RefundListParams{ListParams: g.listed(account), PaymentIntent: &charge}
	read := 0
	for refund, err := range g.client.V1Refunds.List(ctx, params) {
		if err != nil {
			if err = safe(err); isMissing(err) {
				return nil, rejected("no such charge: %w", err)
			}
			return nil, err
		}
		if refund.Metadata[metadataKey] == key {
			return refund, nil
		}
		if read++; read == maxRefundsOfCharge {
			return nil, fmt.Errorf("the charge has more than %d refunds", maxRefundsOfCharge)
		}
	}
	return nil, nil //nolint:nilnil // nil is the answer: there is none
}

func (g *Gateway) refundByID(ctx context.Context, account, id string) (*stripego.Refund, error) {
	refund, err := g.client.V1Refunds.Retrieve(ctx, id, &stripego.RefundRetrieveParams{Params: g.params(account)})
	if err != nil {
		return nil, safe(err)
	}
	return refund, nil
}

// LookUpRefund implements payments.Gateway. It reads the account's refunds of the last thirty days,
// the newest two thousand at most; when there are more it does not know.
func (g *Gateway) LookUpRefund(ctx context.Context, account, key string) (payments.RefundOutcome, error) {
	ctx, cancel := g.bound(ctx)
	defer cancel()
	outcome, err := g.lookUpRefund(ctx, account, key)
	if err != nil {
		return payments.RefundOutcome{}, fmt.Errorf("look up refund %.64q: %w", key, err)
	}
	return outcome, nil
}

func (g *Gateway) lookUpRefund(ctx context.Context, account, key string) (payments.RefundOutcome, error) {
	if err := validatePlace(account, key); err != nil {
		return payments.RefundOutcome{}, err
	}
	if id, ok := g.ids.Get(place{account, key}); ok {
		refund, err := g.refundByID(ctx, account, id)
		if err != nil {
			return payments.RefundOutcome{}, err
		}
		return readRefund(refund, account, key)
	}
	since := g.config.Now().Add(-refundWindow).Unix()
	params := &stripego.RefundListParams{ListParams: g.listed(account), CreatedRange: &stripego.RangeQueryParams{GreaterThanOrEqual: since}}
	read := 0
	for refund, err := range g.client.V1Refunds.List(ctx, params) {
		if err != nil {
			return payments.RefundOutcome{}, safe(err)
		}
		if refund.Metadata[metadataKey] == key {
			g.ids.Add(place{account, key}, refund.ID)
			return readRefund(refund, account, key)
		}
		if read++; read == maxRecentRefunds {
			return payments.RefundOutcome{}, fmt.Errorf("it is none of the newest %d refunds", maxRecentRefunds)
		}
	}
	return payments.RefundOutcome{State: payments.RefundStateNotFound, Account: account}, nil
}

// readRefund makes an outcome of a refund.
func readRefund(refund *stripego.Refund, account, key string) (payments.RefundOutcome, error) {
	switch {
	case refund == nil || !strings.HasPrefix(word(refund.ID), refundPrefix) && !strings.HasPrefix(word(refund.ID), refundPrefixOld):
		return payments.RefundOutcome{}, errUnreadable
	case refund.Metadata[metadataKey] != key:
		return payments.RefundOutcome{}, fmt.Errorf("the refund %s is about another key", word(refund.ID))
	}
	amount, err := fromStripe(refund.Amount, string(refund.Currency))
	if err != nil {
		return payments.RefundOutcome{}, fmt.Errorf("read the refund %s: %w", word(refund.ID), err)
	}
	outcome := payments.RefundOutcome{RefundID: refund.ID, Amount: amount, Account: account}
	if refund.PaymentIntent != nil {
		outcome.ChargeID = refund.PaymentIntent.ID
	}
	switch refund.Status {
	case stripego.RefundStatusSucceeded:
		outcome.State = payments.RefundStateSucceeded
	case stripego.RefundStatusPending, stripego.RefundStatusRequiresAction:
		outcome.State = payments.RefundStatePending
	case stripego.RefundStatusFailed, stripego.RefundStatusCanceled:
		outcome.State, outcome.FailureCode = payments.RefundStateFailed, failureCode(refund)
	default:
		return payments.RefundOutcome{}, fmt.Errorf("the refund %s has the unknown status %q", word(refund.ID), word(string(refund.Status)))
	}
	return outcome, nil
}

func failureCode(refund *stripego.Refund) string {
	if code := word(string(refund.FailureReason)); code != "" {
		return code
	}
	return string(refund.Status)
}
