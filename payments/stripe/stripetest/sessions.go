package stripetest

import (
	"maps"
	"slices"
	"time"
)

// The states of a Checkout Session.
const (
	sessionOpen     = "open"
	sessionComplete = "complete"
	sessionExpired  = "expired"
)

type session struct {
	id, account, currency, status, capture string
	amount, created, expiresAt             int64
	metadata, onIntent                     map[string]string
	intent                                 *intent
}

func (c *session) render(expandIntent, expandCharge bool) map[string]any {
	rendered := map[string]any{
		"id": c.id, "object": "checkout.session", "mode": "payment", "status": c.status, "payment_status": "unpaid",
		"amount_total": c.amount, "currency": c.currency, "created": c.created, "expires_at": c.expiresAt, "livemode": false,
		"metadata": maps.Clone(c.metadata), "payment_intent": nil, "url": nil,
	}
	if c.status == sessionOpen {
		rendered["url"] = "https://checkout.example.com/" + c.id
	}
	if c.intent != nil {
		rendered["payment_intent"] = c.intent.id
		if expandIntent {
			rendered["payment_intent"] = c.intent.render(expandCharge)
		}
		if c.intent.status == succeeded {
			rendered["payment_status"] = "paid"
		}
	}
	return rendered
}

func (r *request) renderSession(c *session) map[string]any {
	return c.render(r.expands("payment_intent"), r.expands("payment_intent.latest_charge"))
}

func (s *Server) createSession(r *request) (map[string]any, *apiError) {
	now := s.now()
	expires := time.Unix(number(r.form, "expires_at"), 0)
	const item = "line_items[0][price_data]"
	switch {
	case expires.Before(now.Add(30*time.Minute)) || expires.After(now.Add(24*time.Hour)):
		return nil, invalid("", "expires_at")
	case number(r.form, item+"[unit_amount]") <= 0:
		return nil, invalid("parameter_invalid_integer", "line_items")
	}
	c := &session{
		id: s.id("cs_test"), account: r.account, currency: r.form.Get(item + "[currency]"), status: sessionOpen,
		capture: r.form.Get("payment_intent_data[capture_method]"), amount: number(r.form, item+"[unit_amount]"), created: now.Unix(),
		expiresAt: expires.Unix(), metadata: metadata(r.form, "metadata"), onIntent: metadata(r.form, "payment_intent_data[metadata]"),
	}
	s.sessions = append(s.sessions, c)
	return r.renderSession(c), nil
}

func (s *Server) sessionOf(account, id string) *session {
	for _, c := range s.sessions {
		if c.id == id && c.account == account {
			return c
		}
	}
	return nil
}

func (s *Server) readSession(r *request, id string) (map[string]any, *apiError) {
	c := s.sessionOf(r.account, id)
	if c == nil {
		return nil, missing("session")
	}
	return r.renderSession(c), nil
}

func (s *Server) listSessions(r *request) (map[string]any, *apiError) {
	var listed []*session
	for _, c := range slices.Backward(s.sessions) {
		wanted := c.account == r.account
		if status := r.form.Get("status"); status != "" && c.status != status {
			wanted = false
		}
		if intent := r.form.Get("payment_intent"); intent != "" && (c.intent == nil || c.intent.id != intent) {
			wanted = false
		}
		if wanted {
			listed = append(listed, c)
		}
	}
	return page(r, listed, func(c *session) string { return c.id }, func(c *session) map[string]any { return c.render(false, false) }), nil
}

func (s *Server) expireSession(r *request, id string) (map[string]any, *apiError) {
	c := s.sessionOf(r.account, id)
	switch {
	case c == nil:
		return nil, missing("session")
	case c.status != sessionOpen:
		return nil, invalid("", "")
	}
	s.expire(c)
	return r.renderSession(c), nil
}

func (s *Server) expire(c *session) {
	c.status = sessionExpired
	if c.intent != nil && c.intent.status == requiresMethod {
		s.cancel(c.intent, "expired")
	}
	s.emit(c.account, "checkout.session.expired", c.render(false, false))
}

// PayPage lets the buyer of a page pay with a method, and reports whether the page let them.
func (s *Server) PayPage(id, method string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sessions {
		if c.id != id || c.status != sessionOpen {
			continue
		}
		if c.intent == nil {
			c.intent = &intent{
				id: s.id("pi"), account: c.account, currency: c.currency, capture: c.capture, amount: c.amount,
				created: s.now().Unix(), metadata: maps.Clone(c.onIntent), session: c,
			}
			s.intents = append(s.intents, c.intent)
		}
		s.pay(c.intent, method)
		if c.intent.status != requiresMethod && c.intent.status != requiresAction {
			c.status = sessionComplete
			s.emit(c.account, "checkout.session.completed", c.render(false, false))
		}
		return true
	}
	return false
}

// ExpirePage ends a page as its time does.
func (s *Server) ExpirePage(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sessions {
		if c.id == id && c.status == sessionOpen {
			s.expire(c)
		}
	}
}

// Pages are the ids of the pages with a key in their metadata.
func (s *Server) Pages(value string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, c := range s.sessions {
		if slices.Contains(slices.Collect(maps.Values(c.metadata)), value) {
			found = append(found, c.id)
		}
	}
	return found
}
