package stripetest

import (
	"maps"
	"slices"
)

type refund struct {
	id, account, status, failure string
	amount, created              int64
	metadata                     map[string]string
	intent                       *intent
}

func (f *refund) render() map[string]any {
	rendered := map[string]any{
		"id": f.id, "object": "refund", "amount": f.amount, "currency": f.intent.currency, "status": f.status, "created": f.created,
		"metadata": maps.Clone(f.metadata), "payment_intent": f.intent.id, "charge": f.intent.charge(false),
	}
	if f.failure != "" {
		rendered["failure_reason"] = f.failure
	}
	return rendered
}

func (s *Server) createRefund(r *request) (map[string]any, *apiError) {
	i := s.intentOf(r.account, r.form.Get("payment_intent"))
	amount := number(r.form, "amount")
	switch {
	case i == nil:
		return nil, missing("payment_intent")
	case i.status != succeeded:
		return nil, invalid("charge_not_captured", "")
	case amount <= 0 || amount > i.received-s.refunded(i):
		return nil, invalid("amount_too_large", "amount")
	}
	f := &refund{id: s.id("re"), account: r.account, amount: amount, created: s.now().Unix(), metadata: metadata(r.form, "metadata"), intent: i, status: succeeded}
	switch i.method {
	case MethodRefundPending:
		f.status = "pending"
	case MethodRefundFails:
		f.status, f.failure = "failed", "expired_or_canceled_card"
	}
	s.refunds = append(s.refunds, f)
	s.emit(r.account, "refund.created", f.render())
	if f.status == "failed" {
		s.emit(r.account, "refund.failed", f.render())
	}
	s.emit(r.account, "charge.refunded", map[string]any{"id": i.charge(false), "object": "charge", "currency": i.currency})
	return f.render(), nil
}

func (s *Server) refunded(i *intent) int64 {
	var sum int64
	for _, f := range s.refunds {
		if f.intent == i && f.status != "failed" && f.status != canceled {
			sum += f.amount
		}
	}
	return sum
}

func (s *Server) readRefund(r *request, id string) (map[string]any, *apiError) {
	for _, f := range s.refunds {
		if f.id == id && f.account == r.account {
			return f.render(), nil
		}
	}
	return nil, missing("refund")
}

func (s *Server) listRefunds(r *request) (map[string]any, *apiError) {
	intent := r.form.Get("payment_intent")
	if intent != "" && s.intentOf(r.account, intent) == nil {
		return nil, missing("payment_intent")
	}
	var listed []*refund
	for _, f := range slices.Backward(s.refunds) {
		if f.account == r.account && (intent == "" || f.intent.id == intent) && f.created >= number(r.form, "created[gte]") {
			listed = append(listed, f)
		}
	}
	return page(r, listed, func(f *refund) string { return f.id }, (*refund).render), nil
}

// SettleRefund decides a refund; a status such as "failed" may follow "succeeded", too.
func (s *Server) SettleRefund(id, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.refunds {
		if f.id == id {
			f.status = status
			s.emit(f.account, "refund.updated", f.render())
		}
	}
}

// Refunds are the ids of the refunds of a PaymentIntent.
func (s *Server) Refunds(intentID string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, f := range s.refunds {
		if f.intent.id == intentID {
			found = append(found, f.id)
		}
	}
	return found
}
