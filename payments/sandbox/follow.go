package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// maxDisputesPerCharge bounds the disputes of one charge.
const maxDisputesPerCharge = 100

// follow sets off what a charge does by itself from where it stands: a reservation ends, a decline
// is taken back, a dispute is opened or closed. The caller holds the lock.
func (l *ledger) follow(c *charge) {
	switch c.wire.Status {
	case statusAuthorized:
		if c.act.reservation > 0 {
			l.later(c.act.reservation, func() {
				if c.wire.Status == statusAuthorized {
					l.end(c, "reservation_expired")
				}
			})
		}
	case statusDeclined:
		if c.act.changesMind && c.wire.DeclineCode == c.act.declineCode {
			l.later(briefly, func() {
				c.capture(l.config.Now().UTC())
				l.record(c)
				l.tell(c)
			})
		}
	case statusApproved:
		if c.act.dispute == "" {
			return
		}
		next := statusOpened
		if len(c.disputes) > 0 {
			if c.disputes[0].Status != statusOpened {
				return
			}
			next = c.act.dispute
		}
		l.later(briefly, func() {
			// Bounded, and refused only when the dispute was closed by hand in the meantime.
			if _, err := l.advance(c, next, 0); err == nil {
				l.follow(c)
			}
		})
	}
}

// later runs something under the lock after a while, unless the provider is closed by then.
func (l *ledger) later(wait time.Duration, run func()) {
	time.AfterFunc(l.config.scaled(wait), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.closed {
			run()
		}
	})
}

// end declines what has taken no money. The caller holds the lock.
func (l *ledger) end(c *charge, code string) {
	if c.pending() {
		l.unschedule(c)
	}
	c.wire.Status, c.wire.DeclineCode, c.wire.DecidedAt = statusDeclined, code, l.config.Now().UTC()
	l.record(c)
	l.tell(c)
}

// owned finds the charge of a key. The caller holds the lock.
func (l *ledger) owned(account, key string) (*charge, error) {
	c, ok := l.byKey[ownedKey{account, key}]
	switch {
	case l.closed:
		return nil, overloaded("the provider is shutting down")
	case !ok:
		return nil, &apiError{http.StatusNotFound, codeNotFound, "key", "no charge of this account has this key"}
	}
	return c, nil
}

// capture takes the money of a reservation, once; fresh says whether it was this call.
func (l *ledger) capture(account, key string) (c *charge, fresh bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, err = l.owned(account, key); err != nil {
		return nil, false, err
	}
	switch {
	case c.pending():
		return nil, false, &apiError{http.StatusUnprocessableEntity, codeNotCapturable, "key", "the charge is pending, nothing is reserved"}
	case c.wire.Status != statusAuthorized:
		return c, false, nil
	case c.act.capture == captureErrorOnce && l.lose("capture", account, key):
		return nil, false, &apiError{http.StatusInternalServerError, codeInternal, "", "the token asks for this error"}
	case c.act.capture == captureFails:
		l.end(c, "capture_failed")
	default:
		c.capture(l.config.Now().UTC())
		l.record(c)
		l.tell(c)
	}
	return c, true, nil
}

// cancel sees to it that no money is taken under a key any more, where none was.
func (l *ledger) cancel(account, key string) (*charge, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.owned(account, key)
	if err != nil {
		return nil, err
	}
	if c.wire.Status == statusAuthorized || c.pending() && !c.act.stubborn {
		l.end(c, "cancelled")
	}
	return c, nil
}

// dispute opens or closes the dispute of a captured charge.
func (l *ledger) dispute(request wireDisputeRequest) (wireDispute, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.owned(request.Account, request.Charge)
	if err != nil {
		return wireDispute{}, err
	}
	return l.advance(c, request.Status, request.AmountMinor)
}

// advance opens a dispute, or closes the last one, and tells of it. The caller holds the lock.
func (l *ledger) advance(c *charge, status string, amountMinor int64) (wireDispute, error) {
	refusal := func(message string) error {
		return &apiError{http.StatusUnprocessableEntity, codeInvalid, "status", message}
	}
	last := len(c.disputes) - 1
	open := last >= 0 && c.disputes[last].Status == statusOpened
	switch {
	case c.wire.Status != statusApproved:
		return wireDispute{}, refusal("the charge is " + c.wire.Status + ", nothing was captured")
	case !slices.Contains([]string{statusOpened, statusWon, statusLost}, status):
		return wireDispute{}, refusal("expected opened, won or lost")
	case status == statusOpened && open:
		return wireDispute{}, refusal("a dispute is open")
	case status == statusOpened && len(c.disputes) >= maxDisputesPerCharge:
		return wireDispute{}, refusal(fmt.Sprintf("a charge has at most %d disputes", maxDisputesPerCharge))
	case status != statusOpened && !open:
		return wireDispute{}, refusal("no dispute is open")
	case amountMinor < 0 || amountMinor > c.wire.CapturedMinor:
		return wireDispute{}, invalid("amountMinor", "expected 0 to %d", c.wire.CapturedMinor)
	}
	now := l.config.Now().UTC()
	if status == statusOpened {
		if amountMinor == 0 {
			amountMinor = c.wire.CapturedMinor
		}
		view := c.view()
		c.disputes = append(c.disputes, wireDispute{
			ID: newID("dp"), Account: view.Account, Key: view.Key, Charge: view.ID, AmountMinor: amountMinor, Currency: view.Currency,
			Reference: view.Reference, CreatedAt: now,
		})
		last++
	}
	c.disputes[last].Status = status
	l.record(c)
	told := c.disputes[last]
	l.announce(wireEvent{ID: newID("evt"), Type: "dispute." + status, CreatedAt: now, Dispute: &told}, webhookOnce)
	return told, nil
}

// losesRefunds reports whether the first call for each refund of a charge is to be lost.
func (l *ledger) losesRefunds(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	element, ok := l.charges[id]
	return ok && chargeOf(element).act.refund == refundLostOnce
}
