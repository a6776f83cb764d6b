package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/holdfast/holdfast/payments"
)

// Capture implements payments.Gateway.
func (g *Gateway) Capture(ctx context.Context, account, key string) (payments.Outcome, error) {
	var answer wireCharge
	if err := g.post(ctx, "/v1/captures", key, wireKeyRequest{Account: account}, &answer); err != nil {
		return payments.Outcome{}, fmt.Errorf("capture %s: %w", key, err)
	}
	return readOutcome(answer, key)
}

// Cancel implements payments.Gateway.
func (g *Gateway) Cancel(ctx context.Context, account, key string) (payments.Outcome, error) {
	var answer wireCharge
	err := g.post(ctx, "/v1/cancellations", key, wireKeyRequest{Account: account}, &answer)
	switch {
	case err == nil:
		return readOutcome(answer, key)
	case isNotFound(err):
		return payments.Outcome{State: payments.OutcomeStateNotFound, Account: account}, nil
	}
	return payments.Outcome{}, fmt.Errorf("cancel %s: %w", key, err)
}

// Fingerprint implements payments.Gateway.
func (g *Gateway) Fingerprint(ctx context.Context, account, methodToken string) (string, error) {
	query := url.Values{"account": {account}, "method": {methodToken}}
	var answer wireFingerprint
	if err := g.call(ctx, http.MethodGet, "/v1/fingerprints?"+query.Encode(), "", nil, &answer); err != nil {
		return "", fmt.Errorf("ask for the fingerprint of a payment method: %w", err)
	}
	return answer.Fingerprint, nil
}

func (s *Server) capture(w http.ResponseWriter, r *http.Request) {
	var request wireKeyRequest
	key, err := readPost(r, &request)
	if err == nil {
		err = validateAccount(request.Account)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	c, fresh, err := s.ledger.capture(request.Account, key)
	switch {
	case err != nil:
		s.refuse(w, r, err)
	case fresh && c.act.capture == captureNeverAnswers:
		s.hang(w, r)
	default:
		s.answerCharge(w, r, c)
	}
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	var request wireKeyRequest
	key, err := readPost(r, &request)
	if err == nil {
		err = validateAccount(request.Account)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	c, err := s.ledger.cancel(request.Account, key)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.answerCharge(w, r, c)
}

func (s *Server) readFingerprint(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	err := validateAccount(query.Get("account"))
	var answer wireFingerprint
	if err == nil {
		var seed string
		if _, seed, err = readOwnToken(query.Get("account"), query.Get("method")); err != nil {
			err = invalid("method", "%s", err.Error())
		}
		answer.Fingerprint = fingerprint(seed)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, answer)
}

func (s *Server) dispute(w http.ResponseWriter, r *http.Request) {
	var request wireDisputeRequest
	if _, err := readPost(r, &request); err != nil {
		s.refuse(w, r, err)
		return
	}
	view, err := s.ledger.dispute(request)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, view)
}
