package stripetest

type dispute struct {
	id, account, status string
	intent              *intent
}

func (d *dispute) render() map[string]any {
	return map[string]any{
		"id": d.id, "object": "dispute", "amount": d.intent.amount, "currency": d.intent.currency, "status": d.status,
		"reason": "fraudulent", "charge": d.intent.charge(false), "payment_intent": d.intent.id, "metadata": map[string]string{},
	}
}

// OpenDispute lets the cardholder of a PaymentIntent dispute it.
func (s *Server) OpenDispute(intentID string) (disputeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.intents {
		if i.id == intentID {
			d := &dispute{id: s.id("dp"), account: i.account, status: "needs_response", intent: i}
			s.disputes = append(s.disputes, d)
			s.emit(d.account, "charge.dispute.created", d.render())
			return d.id
		}
	}
	return ""
}

// CloseDispute ends a dispute as "won", "lost" or "warning_closed".
func (s *Server) CloseDispute(disputeID, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.disputes {
		if d.id == disputeID {
			d.status = status
			s.emit(d.account, "charge.dispute.closed", d.render())
		}
	}
}
