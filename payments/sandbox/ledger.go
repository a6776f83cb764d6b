package sandbox

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// maxRefundsPerCharge bounds the refunds of one charge.
	maxRefundsPerCharge = 1000
	// maxLostKeys bounds how many requests that were lost once are remembered.
	maxLostKeys = 10_000
)

// ledger holds every charge and refund, and decides them.
type ledger struct {
	config  Config
	journal *journal
	// announce sends an event to whoever listens; the channel closes once its first delivery has
	// been tried.
	announce func(wireEvent, webhookKind) <-chan struct{}
	// base is the server's address, once it listens.
	base func() string
	lost *lru.Cache[ownedKey, struct{}]

	mu     sync.Mutex
	closed bool
	// order holds the charges from oldest to newest.
	order   *list.List
	charges map[string]*list.Element
	byKey   map[ownedKey]*charge
	refunds map[ownedKey]*refund
	// pages finds the charges that wait for their buyers.
	pages map[string]*charge
	// open counts the charges and refunds that are not decided.
	open int
}

// ownedKey is an idempotency key within its account.
type ownedKey struct{ account, key string }

type charge struct {
	// wire is as it was when the charge was made or decided; view adds the refunds, and what the
	// token makes it lie about.
	wire     wireCharge
	hosted   hosted
	disputes []wireDispute
	token    string
	act      behaviour
	request  string
	decideAt time.Time
	refunds  []*refund
	// reservedMinor is the sum of refunds that succeeded or are pending.
	reservedMinor int64
	requests      int

	timer *time.Timer
	// decided closes when the charge is no longer pending.
	decided   chan struct{}
	announced <-chan struct{}
	base      func() string
}

// hosted is the page on which a charge's buyer pays or confirms.
type hosted struct {
	// Page is the secret part of its address; empty for a charge that waits for no buyer.
	Page      string    `json:"page,omitempty"`
	ReturnURL string    `json:"returnUrl,omitempty"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

type refund struct {
	wire     wireRefund
	charge   *charge
	request  string
	decideAt time.Time
	requests int
	timer    *time.Timer
}

// apiError is a refusal as the API tells it.
type apiError struct {
	status  int
	code    string
	field   string
	message string
}

// Error is the message for people.
func (e *apiError) Error() string { return e.message }

func newLedger(config Config, base func() string, announce func(wireEvent, webhookKind) <-chan struct{}) (*ledger, error) {
	lost, err := lru.New[ownedKey, struct{}](maxLostKeys)
	if err != nil {
		return nil, fmt.Errorf("make the memory of lost requests: %w", err)
	}
	return &ledger{
		config:   config,
		announce: announce,
		base:     base,
		lost:     lost,
		pages:    map[string]*charge{},
		order:    list.New(),
		charges:  map[string]*list.Element{},
		byKey:    map[ownedKey]*charge{},
		refunds:  map[ownedKey]*refund{},
	}, nil
}

// lose reports, once for each kind and key, that a request is to be lost.
func (l *ledger) lose(kind, account, key string) bool {
	known, _ := l.lost.ContainsOrAdd(ownedKey{account, kind + " " + key}, struct{}{})
	return !known
}

// takeCharge finds the charge that a key stands for, or makes it; fresh says which.
func (l *ledger) takeCharge(key string, request wireChargeRequest, act behaviour, seed string) (c *charge, fresh bool, err error) {
	sum, err := requestSum(request)
	if err != nil {
		return nil, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	owned := ownedKey{request.Account, key}
	if known, ok := l.byKey[owned]; ok {
		known.requests++
		if known.request != sum {
			return nil, false, keyReused("charge")
		}
		return known, false, nil
	}
	onPage := request.Method == "" || act.confirm
	if err := l.makeRoom(act.after > 0 || onPage); err != nil {
		return nil, false, err
	}
	now := l.config.Now().UTC()
	c = &charge{
		wire: wireCharge{
			ID: newID("ch"), Account: request.Account, Key: key, Status: statusPending,
			AmountMinor: request.AmountMinor, Currency: request.Currency, Fingerprint: fingerprint(seed),
			Reference: request.Reference, Description: request.Description, Capture: request.Capture, CreatedAt: now,
		},
		token: request.Method, act: act, request: sum, requests: 1, decided: make(chan struct{}), base: l.base,
	}
	switch {
	case onPage:
		c.hosted = hosted{Page: newID("page"), ReturnURL: request.ReturnURL, ExpiresAt: request.ExpiresAt}
	case act.after > 0:
		c.decideAt = now.Add(l.config.scaled(act.after))
	default:
		c.settle(now)
	}
	// What was not written down has not happened.
	if err := l.write(c.entry()); err != nil {
		return nil, false, err
	}
	l.add(c)
	if c.pending() {
		l.schedule(c)
	} else {
		l.tell(c)
	}
	return c, true, nil
}

// makeRoom forgets the oldest decided charge if there are too many, and refuses more open ones than
// the bound. The caller holds the lock.
func (l *ledger) makeRoom(opens bool) error {
	switch {
	case l.closed:
		return overloaded("the provider is shutting down")
	case opens && l.open >= l.config.MaxOpen:
		return overloaded("too many charges and refunds are undecided")
	case l.order.Len() < l.config.MaxCharges:
		return nil
	}
	for element := l.order.Front(); element != nil; element = element.Next() {
		if c := chargeOf(element); !c.open() {
			l.forget(element, c)
			return nil
		}
	}
	return overloaded("too many charges are undecided")
}

// add makes a charge known. The caller holds the lock.
func (l *ledger) add(c *charge) {
	l.charges[c.wire.ID] = l.order.PushBack(c)
	l.byKey[ownedKey{c.wire.Account, c.wire.Key}] = c
	if c.hosted.Page != "" {
		l.pages[c.hosted.Page] = c
	}
}

// forget drops a charge with its refunds. The caller holds the lock.
func (l *ledger) forget(element *list.Element, c *charge) {
	l.order.Remove(element)
	delete(l.charges, c.wire.ID)
	delete(l.byKey, ownedKey{c.wire.Account, c.wire.Key})
	delete(l.pages, c.hosted.Page)
	for _, r := range c.refunds {
		delete(l.refunds, ownedKey{r.wire.Account, r.wire.Key})
	}
}

// schedule decides a pending charge when its time comes, or leaves it to the buyer. The caller holds
// the lock.
func (l *ledger) schedule(c *charge) {
	l.open++
	if c.decideAt.IsZero() {
		return
	}
	c.timer = time.AfterFunc(c.decideAt.Sub(l.config.Now()), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.decide(c)
	})
}

// decide ends the waiting of a charge, once. The caller holds the lock.
func (l *ledger) decide(c *charge) {
	if l.closed || !c.pending() {
		return
	}
	l.unschedule(c)
	c.settle(l.config.Now().UTC())
	l.record(c)
	l.tell(c)
}

// unschedule ends the waiting of a pending charge. The caller holds the lock.
func (l *ledger) unschedule(c *charge) {
	if c.timer != nil {
		c.timer.Stop()
	}
	l.open--
}

// record writes a decision down. The caller holds the lock.
func (l *ledger) record(c *charge) {
	if err := l.write(c.entry()); err != nil {
		// The decision stands. After a restart it is made again, to the same end.
		l.config.Logger.Error("sandbox decision is not in the journal", slog.String("charge", c.wire.ID), slog.Any("error", err))
	}
}

// tell announces a decided charge, lets go of those who wait for it and sets off what its token does
// next. The caller holds the lock.
func (l *ledger) tell(c *charge) {
	view := c.view()
	event := wireEvent{ID: newID("evt"), Type: "charge.declined", CreatedAt: view.DecidedAt, Charge: &view}
	switch view.Status {
	case statusApproved:
		event.Type = "charge.succeeded"
	case statusAuthorized:
		event.Type = "charge.authorized"
	}
	announced := l.announce(event, c.act.webhook)
	select {
	case <-c.decided:
	default:
		c.announced = announced
		close(c.decided)
	}
	if c.act.contradicts && view.Status == statusApproved {
		lie := view
		lie.Status, lie.CapturedMinor, lie.DeclineCode = statusDeclined, 0, genericDecline
		l.announce(wireEvent{ID: newID("evt"), Type: "charge.declined", CreatedAt: view.DecidedAt, Charge: &lie}, webhookOnce)
	}
	l.follow(c)
}

// takeRefund finds the refund that a key stands for, or makes it; fresh says which.
func (l *ledger) takeRefund(key string, request wireRefundRequest) (r *refund, fresh bool, err error) {
	sum, err := requestSum(request)
	if err != nil {
		return nil, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	owned := ownedKey{request.Account, key}
	if known, ok := l.refunds[owned]; ok {
		known.requests++
		if known.request != sum {
			return nil, false, keyReused("refund")
		}
		return known, false, nil
	}
	c, err := l.refundable(request)
	if err != nil {
		return nil, false, err
	}
	now := l.config.Now().UTC()
	r = &refund{
		wire: wireRefund{
			ID: newID("re"), Account: request.Account, Key: key, Charge: request.Charge, Status: statusPending,
			AmountMinor: request.AmountMinor, Currency: request.Currency,
			Reference: request.Reference, Reason: request.Reason, CreatedAt: now,
		},
		charge: c, request: sum, requests: 1,
	}
	if r.wire.Reference == (wireReference{}) {
		r.wire.Reference = c.wire.Reference
	}
	switch {
	case c.act.refund == refundPending, c.act.refund == refundPendingFails:
		r.decideAt = now.Add(l.config.scaled(briefly))
	case c.act.refund == refundFailsOnce && len(c.refunds) == 0, c.act.refund == refundFails:
		r.settle(statusFailed, now)
	default:
		r.settle(statusSucceeded, now)
	}
	if err := l.write(r.entry()); err != nil {
		return nil, false, err
	}
	l.addRefund(r)
	if r.wire.Status == statusPending {
		l.scheduleRefund(r)
	} else {
		l.tellRefund(r)
	}
	return r, true, nil
}

// refundable finds the charge of a refund and refuses what may not be refunded. The caller holds
// the lock.
func (l *ledger) refundable(request wireRefundRequest) (*charge, error) {
	element, ok := l.charges[request.Charge]
	if !ok || chargeOf(element).wire.Account != request.Account {
		return nil, &apiError{http.StatusNotFound, codeNotFound, "charge", "no such charge of this account"}
	}
	c := chargeOf(element)
	switch {
	case l.closed:
		return nil, overloaded("the provider is shutting down")
	case c.act.refund == refundRefused:
		return nil, &apiError{http.StatusUnprocessableEntity, codeRefundRefused, "charge", "the token asks for this refusal"}
	case c.wire.Status != statusApproved:
		return nil, &apiError{http.StatusUnprocessableEntity, codeNotCaptured, "charge", "the charge is " + c.wire.Status + ", nothing was captured"}
	case request.Currency != c.wire.Currency:
		return nil, &apiError{http.StatusUnprocessableEntity, codeInvalid, "currency", "expected the charge's currency, " + c.wire.Currency}
	case request.AmountMinor > c.wire.CapturedMinor-c.reservedMinor:
		return nil, &apiError{
			http.StatusUnprocessableEntity, codeExceedsCapture, "amountMinor",
			fmt.Sprintf("%d of %d is left to refund, asked were %d", c.wire.CapturedMinor-c.reservedMinor, c.wire.CapturedMinor, request.AmountMinor),
		}
	case len(c.refunds) >= maxRefundsPerCharge:
		return nil, &apiError{http.StatusUnprocessableEntity, codeExceedsCapture, "charge", fmt.Sprintf("a charge has at most %d refunds", maxRefundsPerCharge)}
	case (c.act.refund == refundPending || c.act.refund == refundPendingFails) && l.open >= l.config.MaxOpen:
		return nil, overloaded("too many charges and refunds are undecided")
	}
	return c, nil
}

// addRefund makes a refund known. The caller holds the lock.
func (l *ledger) addRefund(r *refund) {
	l.refunds[ownedKey{r.wire.Account, r.wire.Key}] = r
	r.charge.refunds = append(r.charge.refunds, r)
	if r.wire.Status != statusFailed {
		r.charge.reservedMinor += r.wire.AmountMinor
	}
}

// scheduleRefund pays a pending refund when its time comes. The caller holds the lock.
func (l *ledger) scheduleRefund(r *refund) {
	l.open++
	r.timer = time.AfterFunc(r.decideAt.Sub(l.config.Now()), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.decideRefund(r)
	})
}

// decideRefund ends the waiting of a refund, once. The caller holds the lock.
func (l *ledger) decideRefund(r *refund) {
	if l.closed || r.wire.Status != statusPending {
		return
	}
	r.timer.Stop()
	l.open--
	status := statusSucceeded
	if r.charge.act.refund == refundPendingFails {
		status = statusFailed
		r.charge.reservedMinor -= r.wire.AmountMinor
	}
	r.settle(status, l.config.Now().UTC())
	if err := l.write(r.entry()); err != nil {
		l.config.Logger.Error("sandbox decision is not in the journal", slog.String("refund", r.wire.ID), slog.Any("error", err))
	}
	l.tellRefund(r)
}

// tellRefund announces a decided refund. The caller holds the lock.
func (l *ledger) tellRefund(r *refund) {
	view := r.view()
	event := wireEvent{ID: newID("evt"), Type: "refund.failed", CreatedAt: view.DecidedAt, Refund: &view}
	if view.Status == statusSucceeded {
		event.Type = "refund.succeeded"
	}
	l.announce(event, webhookOnce)
}

// settleKey decides at once what a key stands for, if it is undecided.
func (l *ledger) settleKey(account, key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.byKey[ownedKey{account, key}]; ok && c.pending() && !l.closed {
		l.decide(c)
		return true
	}
	if r, ok := l.refunds[ownedKey{account, key}]; ok && r.wire.Status == statusPending && !l.closed {
		l.decideRefund(r)
		return true
	}
	return false
}

// write puts a line into the journal, if there is one. The caller holds the lock.
func (l *ledger) write(entry journalEntry) error {
	if l.journal == nil {
		return nil
	}
	// Before the line, because what it says is not in the ledger yet.
	if l.journal.lines > 2*(l.order.Len()+len(l.refunds))+compactAbove {
		if err := l.compact(); err != nil {
			l.config.Logger.Error("sandbox journal grows because it cannot be rewritten", slog.Any("error", err))
		}
	}
	return l.journal.append(entry)
}

// compact rewrites the journal with only what is known now. The caller holds the lock.
func (l *ledger) compact() error {
	return l.journal.rewrite(func(yield func(journalEntry) bool) {
		for element := l.order.Front(); element != nil; element = element.Next() {
			c := chargeOf(element)
			if !yield(c.entry()) {
				return
			}
			for _, r := range c.refunds {
				if !yield(r.entry()) {
					return
				}
			}
		}
	})
}

// close stops all deciding; what is undecided stays so.
func (l *ledger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	for element := l.order.Front(); element != nil; element = element.Next() {
		c := chargeOf(element)
		if c.pending() && c.timer != nil {
			c.timer.Stop()
		}
		for _, r := range c.refunds {
			if r.wire.Status == statusPending {
				r.timer.Stop()
			}
		}
	}
	if l.journal == nil {
		return nil
	}
	return l.journal.close()
}

func (c *charge) pending() bool { return c.wire.Status == statusPending }

// open reports whether the charge or one of its refunds is undecided.
func (c *charge) open() bool {
	for _, r := range c.refunds {
		if r.wire.Status == statusPending {
			return true
		}
	}
	return c.pending()
}

// settle makes the token's decision.
func (c *charge) settle(now time.Time) {
	c.wire.DecidedAt = now
	if c.act.declineCode != "" {
		c.wire.Status = statusDeclined
		c.wire.DeclineCode = c.act.declineCode
		return
	}
	if c.wire.Capture == captureManual {
		c.wire.Status = statusAuthorized
		return
	}
	c.capture(now)
}

// capture takes the money.
func (c *charge) capture(now time.Time) {
	c.wire.Status, c.wire.DecidedAt, c.wire.DeclineCode = statusApproved, now, ""
	c.wire.CapturedMinor = c.wire.AmountMinor + c.act.extraMinor
}

// view is the charge with what was given back so far.
func (c *charge) view() wireCharge {
	view := c.wire
	if c.pending() && c.hosted.Page != "" {
		view.RedirectURL = c.base() + pathPages + c.hosted.Page
	}
	if c.act.elsewhere {
		view.Account += "_other"
	}
	if c.act.otherCurrency {
		view.Currency = "USD"
		if c.wire.Currency == view.Currency {
			view.Currency = "EUR"
		}
	}
	for _, r := range c.refunds {
		if r.wire.Status == statusSucceeded {
			view.RefundedMinor += r.wire.AmountMinor
		}
	}
	return view
}

// view is the refund as it is told.
func (r *refund) view() wireRefund {
	view := r.wire
	if r.charge.act.refund == refundWrongAmount {
		view.AmountMinor++
	}
	return view
}

func (r *refund) settle(status string, now time.Time) {
	r.wire.Status = status
	r.wire.DecidedAt = now
	if status == statusFailed {
		r.wire.FailureCode = "refund_failed"
	}
}

func chargeOf(element *list.Element) *charge {
	c, ok := element.Value.(*charge)
	if !ok {
		panic("sandbox: the list of charges holds something else")
	}
	return c
}

// requestSum is equal for two requests that ask the same, however their JSON was laid out.
func requestSum(request any) (string, error) {
	canonical, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("sum up the request: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

func newID(prefix string) string { return prefix + "_" + rand.Text() }

func keyReused(what string) error {
	return &apiError{http.StatusConflict, codeKeyReused, keyHeader, "the key stands for another " + what + " request"}
}

func overloaded(message string) error {
	return &apiError{http.StatusServiceUnavailable, codeOverloaded, "", message}
}
