package stripetest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// The payment methods that the server knows; all others are missing, as those of another account are.
const (
	// MethodCard is charged.
	MethodCard = "pm_card_visa"
	// MethodSameCard is the same card under another token.
	MethodSameCard = "pm_card_visa_again"
	// MethodDeclined is declined for insufficient funds.
	MethodDeclined = "pm_card_chargeDeclinedInsufficientFunds"
	// MethodAuthentication asks the buyer to confirm at the bank.
	MethodAuthentication = "pm_card_authenticationRequired"
	// MethodDebit is processing until Settle.
	MethodDebit = "pm_sepaDebit"
	// MethodRefundPending is charged; its refunds are pending until SettleRefund.
	MethodRefundPending = "pm_card_refundPending"
	// MethodRefundFails is charged; its refunds fail.
	MethodRefundFails = "pm_card_refundFail"
	// MethodUnattachable is refused as a request, after the PaymentIntent was made.
	MethodUnattachable = "pm_card_unattachable"
	// MethodWallet has no fingerprint.
	MethodWallet = "pm_wallet"
)

// The states of a PaymentIntent.
const (
	requiresMethod  = "requires_payment_method"
	requiresAction  = "requires_action"
	requiresCapture = "requires_capture"
	processing      = "processing"
	succeeded       = "succeeded"
	canceled        = "canceled"
)

type intent struct {
	id, account, currency, status, capture string
	method, failure, cancelled, returnURL  string
	amount, received, capturable, created  int64
	metadata                               map[string]string
	session                                *session
}

func fingerprintOf(method string) string {
	switch method {
	case "", MethodWallet:
		return ""
	case MethodSameCard:
		method = MethodCard
	}
	return "fp_" + strings.TrimPrefix(method, "pm_")
}

func renderMethod(id string) map[string]any {
	rendered := map[string]any{"id": id, "object": "payment_method", "type": "wallet"}
	switch fingerprint := fingerprintOf(id); {
	case id == MethodDebit:
		rendered["type"], rendered["sepa_debit"] = "sepa_debit", map[string]any{"fingerprint": fingerprint}
	case fingerprint != "":
		rendered["type"] = "card"
		rendered["card"] = map[string]any{"fingerprint": fingerprint, "last4": "4242"}
		rendered["billing_details"] = map[string]any{"name": "Buyer's name", "email": "buyer@example.com"}
	}
	return rendered
}

func isMethod(id string) bool {
	return slices.Contains([]string{
		MethodCard, MethodSameCard, MethodDeclined, MethodAuthentication, MethodDebit, MethodRefundPending,
		MethodRefundFails, MethodUnattachable, MethodWallet,
	}, id)
}

func readMethod(id string) (map[string]any, *apiError) {
	if !isMethod(id) {
		return nil, missing("payment_method")
	}
	return renderMethod(id), nil
}

func (i *intent) render(expand bool) map[string]any {
	rendered := map[string]any{
		"id": i.id, "object": "payment_intent", "amount": i.amount, "amount_received": i.received,
		"amount_capturable": i.capturable, "currency": i.currency, "status": i.status, "capture_method": i.capture,
		"created": i.created, "livemode": false, "metadata": maps.Clone(i.metadata), "client_secret": i.id + "_secret_double",
		"payment_method": nil, "latest_charge": nil, "last_payment_error": nil, "next_action": nil, "cancellation_reason": nil,
	}
	if i.method != "" {
		rendered["payment_method"] = i.method
		if i.status != requiresAction {
			rendered["latest_charge"] = i.charge(expand)
		}
	}
	if i.failure != "" {
		rendered["last_payment_error"] = map[string]any{
			"type": "card_error", "code": "card_declined", "decline_code": i.failure, "message": "declined",
			"payment_method": renderMethod(i.method),
		}
		rendered["payment_method"] = nil
	}
	if i.status == requiresAction {
		rendered["next_action"] = map[string]any{
			"type": "redirect_to_url", "redirect_to_url": map[string]any{"url": "https://bank.example.com/" + i.id, "return_url": i.returnURL},
		}
	}
	if i.cancelled != "" {
		rendered["cancellation_reason"] = i.cancelled
	}
	return rendered
}

func (i *intent) charge(expand bool) any {
	id := "ch_" + strings.TrimPrefix(i.id, "pi_")
	if !expand {
		return id
	}
	details := renderMethod(i.method)
	delete(details, "id")
	delete(details, "object")
	return map[string]any{"id": id, "object": "charge", "payment_method_details": details}
}

func (r *request) render(i *intent) map[string]any { return i.render(r.expands("latest_charge")) }

func (s *Server) createIntent(r *request) (map[string]any, *apiError) {
	method := r.form.Get("payment_method")
	amount := number(r.form, "amount")
	switch {
	case amount <= 0:
		return nil, invalid("parameter_invalid_integer", "amount")
	case r.form.Get("confirm") != "true":
		return nil, invalid("parameter_missing", "confirm")
	case !isMethod(method):
		return nil, missing("payment_method")
	}
	i := &intent{
		id: s.id("pi"), account: r.account, currency: r.form.Get("currency"), capture: r.form.Get("capture_method"),
		amount: amount, created: s.now().Unix(), metadata: metadata(r.form, "metadata"), returnURL: r.form.Get("return_url"),
	}
	s.intents = append(s.intents, i)
	s.pay(i, method)
	switch {
	case method == MethodUnattachable:
		i.status, i.method = requiresMethod, ""
		return nil, refuse(http.StatusBadRequest, "invalid_request_error", "payment_method_unexpected_state", map[string]any{"payment_intent": i.render(false)})
	case i.status == requiresAction && r.form.Get("error_on_requires_action") == "true":
		i.status, i.failure = requiresMethod, "authentication_required"
		return nil, i.refused()
	case i.failure != "":
		return nil, i.refused()
	}
	return r.render(i), nil
}

func (i *intent) refused() *apiError {
	return refuse(http.StatusPaymentRequired, "card_error", "card_declined", map[string]any{
		"decline_code": i.failure, "payment_intent": i.render(false), "payment_method": renderMethod(i.method),
	})
}

// pay confirms a PaymentIntent with a method. The caller holds the lock.
func (s *Server) pay(i *intent, method string) {
	i.method, i.failure = method, ""
	switch method {
	case MethodDeclined:
		s.fail(i, "insufficient_funds")
	case MethodAuthentication:
		i.status = requiresAction
		s.emit(i.account, "payment_intent.requires_action", i.render(false))
	case MethodDebit:
		i.status = processing
		s.emit(i.account, "payment_intent.processing", i.render(false))
	default:
		s.take(i)
	}
}

func (s *Server) fail(i *intent, reason string) {
	i.status, i.failure = requiresMethod, reason
	s.emit(i.account, "payment_intent.payment_failed", i.render(false))
}

func (s *Server) take(i *intent) {
	if i.capture == "manual" {
		i.status, i.capturable = requiresCapture, i.amount
		s.emit(i.account, "payment_intent.amount_capturable_updated", i.render(false))
		return
	}
	i.status, i.received = succeeded, i.amount
	s.emit(i.account, "payment_intent.succeeded", i.render(false))
}

func (s *Server) changeIntent(r *request, id, action string) (map[string]any, *apiError) {
	i := s.intentOf(r.account, id)
	if i == nil {
		return nil, missing("intent")
	}
	switch action {
	case "capture":
		if i.status != requiresCapture {
			return nil, invalid("payment_intent_unexpected_state", "")
		}
		i.status, i.received, i.capturable = succeeded, i.amount, 0
		s.emit(i.account, "payment_intent.succeeded", i.render(false))
	case "cancel":
		if i.session != nil && i.session.status == sessionOpen {
			return nil, invalid("", "") // Pages are expired, not cancelled.
		}
		if i.status == succeeded || i.status == canceled || i.status == processing {
			return nil, invalid("payment_intent_unexpected_state", "")
		}
		s.cancel(i, r.form.Get("cancellation_reason"))
	default:
		return nil, missing("action")
	}
	return r.render(i), nil
}

func (s *Server) cancel(i *intent, reason string) {
	i.status, i.cancelled, i.capturable = canceled, reason, 0
	s.emit(i.account, "payment_intent.canceled", i.render(false))
}

func (s *Server) intentOf(account, id string) *intent {
	for _, i := range s.intents {
		if i.id == id && i.account == account {
			return i
		}
	}
	return nil
}

func (s *Server) readIntent(r *request, id string) (map[string]any, *apiError) {
	i := s.intentOf(r.account, id)
	if i == nil {
		return nil, missing("intent")
	}
	return r.render(i), nil
}

func (s *Server) listIntents(r *request) (map[string]any, *apiError) {
	var listed []*intent
	for _, i := range slices.Backward(s.intents) {
		if i.account == r.account && i.created >= number(r.form, "created[gte]") {
			listed = append(listed, i)
		}
	}
	return page(r, listed, func(i *intent) string { return i.id }, func(i *intent) map[string]any { return i.render(false) }), nil
}

func (s *Server) searchIntents(r *request) (map[string]any, *apiError) {
	if s.searchOff {
		return nil, invalid("", "query")
	}
	known := s.intents
	if s.searchable >= 0 {
		known = known[:s.searchable]
	}
	data := []map[string]any{}
	for _, i := range known {
		for name, value := range i.metadata {
			if i.account == r.account && r.form.Get("query") == fmt.Sprintf("metadata[%q]:%q", name, value) {
				data = append(data, i.render(false))
			}
		}
	}
	return map[string]any{"object": "search_result", "url": "/v1", "has_more": false, "data": data}, nil
}

// Intent is what is known of a PaymentIntent.
type Intent struct {
	ID, Status string
	Received   int64
}

// Intents are the PaymentIntents whose metadata has a value, such as an attempt's key.
func (s *Server) Intents(value string) []Intent {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Intent
	for _, i := range s.intents {
		if slices.Contains(slices.Collect(maps.Values(i.metadata)), value) {
			found = append(found, Intent{ID: i.id, Status: i.status, Received: i.received})
		}
	}
	return found
}

// Settle decides a PaymentIntent that waits for the buyer's confirmation or for the bank.
func (s *Server) Settle(id string, approved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.intents {
		if i.id != id || i.status != requiresAction && i.status != processing {
			continue
		}
		if approved {
			s.take(i)
		} else {
			s.fail(i, "authentication_failed")
		}
	}
}

// Confirm tries again to pay a PaymentIntent with another method, as anybody can who has its client
// secret, and reports whether Stripe would let them.
func (s *Server) Confirm(id, method string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.intents {
		if i.id == id && i.status == requiresMethod {
			s.pay(i, method)
			return true
		}
	}
	return false
}

// Crowd adds PaymentIntents of others to an account.
func (s *Server) Crowd(account string, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range count {
		s.intents = append(s.intents, &intent{
			id: s.id("pi"), account: account, currency: "eur", capture: "automatic", status: succeeded, amount: 100, received: 100,
			created: s.now().Unix(), metadata: map[string]string{},
		})
	}
}
