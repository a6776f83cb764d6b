package sandbox

import (
	"context"
	"time"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
)

// Charge is one charge as the provider knows it, for tests and demonstrations.
type Charge struct {
	ID      string
	Account string
	Key     string
	// TenantID and AttemptID are the reference as it was sent.
	TenantID  string
	AttemptID string
	// State is PENDING, AUTHORIZED, APPROVED or DECLINED.
	State       payments.OutcomeState
	Amount      money.Amount
	DeclineCode string
	// Captured is zero unless approved.
	Captured money.Amount
	// Refunded is the sum of refunds that succeeded.
	Refunded    money.Amount
	Fingerprint string
	// Page is where the buyer pays or confirms; empty for a charge that waits for no buyer.
	Page string
	// Requests counts the POSTs with this key since the server was made, refused ones included.
	Requests  int
	CreatedAt time.Time
	// DecidedAt is zero while the charge is pending.
	DecidedAt time.Time
}

// Refund is one refund as the provider knows it.
type Refund struct {
	ID        string
	Account   string
	Key       string
	ChargeID  string
	TenantID  string
	AttemptID string
	// State is PENDING, SUCCEEDED or FAILED.
	State       payments.RefundState
	Amount      money.Amount
	FailureCode string
	Reason      string
	// Requests counts the POSTs with this key since the server was made, refused ones included.
	Requests  int
	CreatedAt time.Time
	// DecidedAt is zero while the refund is pending.
	DecidedAt time.Time
}

// Charges is a snapshot of all charges, from the oldest on.
func (s *Server) Charges() []Charge {
	var charges []Charge
	s.ledger.each(func(c *charge) {
		view := c.view()
		currency := money.Currency(view.Currency)
		charges = append(charges, Charge{
			ID: view.ID, Account: view.Account, Key: view.Key, TenantID: view.Reference.Tenant, AttemptID: view.Reference.Attempt,
			State: outcomeState(view.Status), DeclineCode: view.DeclineCode, Fingerprint: view.Fingerprint,
			Amount:   money.Amount{Minor: view.AmountMinor, Currency: currency},
			Captured: money.Amount{Minor: view.CapturedMinor, Currency: currency},
			Refunded: money.Amount{Minor: view.RefundedMinor, Currency: currency},
			Page:     view.RedirectURL, Requests: c.requests, CreatedAt: view.CreatedAt, DecidedAt: view.DecidedAt,
		})
	})
	return charges
}

// Refunds is a snapshot of all refunds, in the order of their charges and then of their making.
func (s *Server) Refunds() []Refund {
	var refunds []Refund
	s.ledger.each(func(c *charge) {
		for _, r := range c.refunds {
			refunds = append(refunds, Refund{
				ID: r.wire.ID, Account: r.wire.Account, Key: r.wire.Key, ChargeID: r.wire.Charge,
				TenantID: r.wire.Reference.Tenant, AttemptID: r.wire.Reference.Attempt,
				State:  refundState(r.wire.Status),
				Amount: money.Amount{Minor: r.wire.AmountMinor, Currency: money.Currency(r.wire.Currency)}, FailureCode: r.wire.FailureCode,
				Reason: r.wire.Reason, Requests: r.requests, CreatedAt: r.wire.CreatedAt, DecidedAt: r.wire.DecidedAt,
			})
		}
	})
	return refunds
}

// CapturedTotal is the sum of everything captured for an account, in minor units by currency,
// refunds not subtracted.
func (s *Server) CapturedTotal(account string) map[money.Currency]int64 {
	totals := map[money.Currency]int64{}
	s.ledger.each(func(c *charge) {
		if c.wire.Account == account && c.wire.Status == statusApproved {
			totals[money.Currency(c.wire.Currency)] += c.wire.CapturedMinor
		}
	})
	return totals
}

// RefundedTotal is the sum of refunds that succeeded for an account, in minor units by currency.
func (s *Server) RefundedTotal(account string) map[money.Currency]int64 {
	totals := map[money.Currency]int64{}
	s.ledger.each(func(c *charge) {
		if view := c.view(); view.Account == account && view.RefundedMinor > 0 {
			totals[money.Currency(view.Currency)] += view.RefundedMinor
		}
	})
	return totals
}

// Settle decides a pending charge or refund now, as its token says, without waiting for its
// seconds to pass. It reports whether there was one with this key.
func (s *Server) Settle(account, key string) bool { return s.ledger.settleKey(account, key) }

// Dispute opens or closes ("opened", "won", "lost") a dispute of a captured charge over an amount, or
// with 0 over all that was captured, and gives the dispute's id.
func (s *Server) Dispute(account, key, status string, amountMinor int64) (string, error) {
	dispute, err := s.ledger.dispute(wireDisputeRequest{Account: account, Charge: key, Status: status, AmountMinor: amountMinor})
	return dispute.ID, err
}

// Press does what a buyer does on the page of the charge with this key: "pay" with a token, "decline"
// or "leave". A charge that waits for no buyer is not changed.
func (s *Server) Press(account, key, press, method string) error {
	s.ledger.mu.Lock()
	c, err := s.ledger.owned(account, key)
	s.ledger.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = s.ledger.press(c, press, method)
	return err
}

// WebhookStats counts the webhooks so far.
func (s *Server) WebhookStats() WebhookStats { return s.webhooks.snapshot() }

// DrainWebhooks waits until no webhook is queued; ctx bounds the waiting. Charges that are decided
// later make new ones.
func (s *Server) DrainWebhooks(ctx context.Context) error { return s.webhooks.drain(ctx) }

func (l *ledger) each(visit func(*charge)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for element := l.order.Front(); element != nil; element = element.Next() {
		visit(chargeOf(element))
	}
}

func (l *ledger) viewCharge(c *charge) wireCharge {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.view()
}

func (l *ledger) viewRefund(r *refund) wireRefund {
	l.mu.Lock()
	defer l.mu.Unlock()
	return r.view()
}

func (l *ledger) chargeByID(id string) (wireCharge, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	element, ok := l.charges[id]
	if !ok {
		return wireCharge{}, false
	}
	return chargeOf(element).view(), true
}

func (l *ledger) chargeByKey(account, key string) (wireCharge, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.byKey[ownedKey{account, key}]
	if !ok {
		return wireCharge{}, false
	}
	return c.view(), true
}

func (l *ledger) refundByKey(account, key string) (wireRefund, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.refunds[ownedKey{account, key}]
	if !ok {
		return wireRefund{}, false
	}
	return r.view(), true
}

// list gives a page of charges, from the oldest on.
func (l *ledger) list(filter chargeFilter) (wireChargePage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	element := l.order.Front()
	if filter.after != "" {
		last, ok := l.charges[filter.after]
		if !ok {
			return wireChargePage{}, invalid("after", "expected the id of a charge that is still known")
		}
		element = last.Next()
	}
	page := wireChargePage{Charges: []wireCharge{}}
	for ; element != nil; element = element.Next() {
		c := chargeOf(element)
		if filter.account != "" && c.wire.Account != filter.account || c.wire.CreatedAt.Before(filter.since) {
			continue
		}
		if len(page.Charges) == filter.limit {
			page.Next = page.Charges[filter.limit-1].ID
			return page, nil
		}
		page.Charges = append(page.Charges, c.view())
	}
	return page, nil
}
