package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
)

var _ payments.Lister = (*Gateway)(nil)

// ListCharges implements payments.Lister.
func (g *Gateway) ListCharges(ctx context.Context, account string, since time.Time, after string, limit int) ([]payments.ListedCharge, string, error) {
	if limit < 1 || limit > payments.MaxListedPage {
		return nil, "", fmt.Errorf("list charges: expected 1 to %d a page, got %d", payments.MaxListedPage, limit)
	}
	query := url.Values{"account": {account}, "since": {since.UTC().Format(time.RFC3339Nano)}, "limit": {strconv.Itoa(limit)}}
	if after != "" {
		query.Set("after", after)
	}
	var answer wireChargePage
	if err := g.call(ctx, http.MethodGet, "/v1/charges?"+query.Encode(), "", nil, &answer); err != nil {
		return nil, "", fmt.Errorf("list the charges of account %s: %w", account, err)
	}
	page := make([]payments.ListedCharge, len(answer.Charges))
	for i, charge := range answer.Charges {
		listed, err := listedCharge(charge)
		if err != nil {
			return nil, "", fmt.Errorf("list the charges of account %s: charge %.64q: %w", account, charge.ID, err)
		}
		page[i] = listed
	}
	return page, answer.Next, nil
}

func listedCharge(charge wireCharge) (payments.ListedCharge, error) {
	captured, err := readAmount(charge.CapturedMinor, charge.Currency)
	if err != nil {
		return payments.ListedCharge{}, err
	}
	if charge.RefundedMinor < 0 || charge.RefundedMinor > charge.CapturedMinor {
		return payments.ListedCharge{}, fmt.Errorf("%d of %d minor units are refunded", charge.RefundedMinor, charge.CapturedMinor)
	}
	state := outcomeState(charge.Status)
	if charge.ID == "" || state == payments.OutcomeStateUnknown {
		return payments.ListedCharge{}, errors.New("it has no id or no known status")
	}
	return payments.ListedCharge{
		ID: charge.ID, Account: charge.Account, Key: charge.Key, Reference: fromWire(charge.Reference), State: state,
		Captured: captured, Refunded: money.Amount{Minor: charge.RefundedMinor, Currency: captured.Currency},
		InstrumentFingerprint: charge.Fingerprint, CreatedAt: charge.CreatedAt,
	}, nil
}
