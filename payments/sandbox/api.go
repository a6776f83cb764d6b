package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/holdfast/holdfast/internal/money"
)

// Bounds of the fields of requests, in bytes, and of pages.
const (
	maxKeyLength         = 255
	maxAccountLength     = 128
	maxReferenceLength   = 128
	maxDescriptionLength = 500
	maxReturnURLLength   = 2000
	defaultPage          = 100
	maxPage              = 1000
)

func (s *Server) createCharge(w http.ResponseWriter, r *http.Request) {
	var request wireChargeRequest
	key, err := readPost(r, &request)
	if err == nil {
		err = validateCharge(request)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	var act behaviour
	var seed string
	if request.Method == "" {
		act.answer = answerPending
	} else if act, seed, err = readOwnToken(request.Account, request.Method); err != nil {
		s.refuse(w, r, invalid("method", "%s", err.Error()))
		return
	}
	if act.lostOnce && s.ledger.lose("charge", request.Account, key) {
		cut(w)
		return
	}
	c, fresh, err := s.ledger.takeCharge(key, request, act, seed)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	answer := act.answer
	if !fresh && answer != answerDecision {
		// Only the request that made the charge meets the trouble; a repeated one is told how the
		// charge stands.
		answer = answerPending
	}
	switch answer {
	case answerNever:
		s.hang(w, r)
	case answerCut:
		cut(w)
	case answerError:
		s.refuse(w, r, &apiError{http.StatusInternalServerError, codeInternal, "", "the token asks for this error"})
	case answerDecision:
		if !s.await(w, r, c) {
			return
		}
		s.answerCharge(w, r, c)
	case answerPending:
		s.answerCharge(w, r, c)
	}
}

// await waits for the decision, and for the first delivery where the token wants it before the
// answer. It reports false when there is nobody left to answer.
func (s *Server) await(w http.ResponseWriter, r *http.Request, c *charge) bool {
	select {
	case <-c.decided:
	case <-r.Context().Done():
		return false
	case <-s.closing:
		cut(w)
		return false
	}
	if c.act.webhook != webhookBeforeAnswer {
		return true
	}
	select {
	case <-c.announced:
	case <-r.Context().Done():
		return false
	case <-s.closing:
	}
	return true
}

func (s *Server) answerCharge(w http.ResponseWriter, r *http.Request, c *charge) {
	view := s.ledger.viewCharge(c)
	status := http.StatusOK
	if view.Status == statusPending {
		status = http.StatusAccepted
	}
	s.answer(w, r, status, view)
}

func (s *Server) readCharge(w http.ResponseWriter, r *http.Request) {
	view, ok := s.ledger.chargeByID(r.PathValue("id"))
	if !ok {
		s.refuse(w, r, &apiError{http.StatusNotFound, codeNotFound, "id", "no such charge"})
		return
	}
	s.answer(w, r, http.StatusOK, view)
}

// findCharges looks up one charge by account and key, or lists them from the oldest on.
func (s *Server) findCharges(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Has("key") {
		account, key, err := readLookup(query)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		view, ok := s.ledger.chargeByKey(account, key)
		if !ok {
			s.refuse(w, r, &apiError{http.StatusNotFound, codeNotFound, "key", "no charge of this account has this key"})
			return
		}
		s.answer(w, r, http.StatusOK, view)
		return
	}
	filter, err := readFilter(query)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	page, err := s.ledger.list(filter)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.answer(w, r, http.StatusOK, page)
}

func (s *Server) createRefund(w http.ResponseWriter, r *http.Request) {
	var request wireRefundRequest
	key, err := readPost(r, &request)
	if err == nil {
		err = validateRefund(request)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if s.ledger.losesRefunds(request.Charge) && s.ledger.lose("refund", request.Account, key) {
		cut(w)
		return
	}
	made, fresh, err := s.ledger.takeRefund(key, request)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	switch {
	case fresh && made.charge.act.refund == refundNeverAnswers:
		s.hang(w, r)
		return
	case fresh && made.charge.act.refund == refundError:
		s.refuse(w, r, &apiError{http.StatusInternalServerError, codeInternal, "", "the token asks for this error"})
		return
	}
	view := s.ledger.viewRefund(made)
	status := http.StatusOK
	if view.Status == statusPending {
		status = http.StatusAccepted
	}
	s.answer(w, r, status, view)
}

func (s *Server) findRefund(w http.ResponseWriter, r *http.Request) {
	account, key, err := readLookup(r.URL.Query())
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	view, ok := s.ledger.refundByKey(account, key)
	if !ok {
		s.refuse(w, r, &apiError{http.StatusNotFound, codeNotFound, "key", "no refund of this account has this key"})
		return
	}
	s.answer(w, r, http.StatusOK, view)
}

// answer sends a body once the latency has passed.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, status int, body any) {
	if !s.pause(r, s.config.Latency) {
		return
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		s.config.Logger.ErrorContext(r.Context(), "sandbox answer cannot be encoded", slog.Any("error", err))
		status, encoded = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
	w.WriteHeader(status)
	if _, err := w.Write(encoded); err != nil {
		s.config.Logger.DebugContext(r.Context(), "sandbox client left before its answer", slog.Any("error", err))
	}
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var refusal *apiError
	if !errors.As(err, &refusal) {
		s.config.Logger.WarnContext(r.Context(), "sandbox call failed", slog.Any("error", err))
		refusal = &apiError{http.StatusInternalServerError, codeInternal, "", "the provider failed; what happened to the request is not said"}
	}
	s.answer(w, r, refusal.status, wireError{wireErrorDetail{Code: refusal.code, Field: refusal.field, Message: refusal.message}})
}

// pause waits, and reports false when the client is gone or the server closing.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.closing:
	}
	return false
}

// hang never answers.
func (s *Server) hang(w http.ResponseWriter, r *http.Request) {
	s.pause(r, s.config.scaled(s.config.HangLimit))
	cut(w)
}

// cut breaks the connection within the answer. An answer that broke off before its first byte
// would be taken for a stale connection by some clients, and the request sent again unasked.
func cut(w http.ResponseWriter) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	// Failing to write breaks the connection as well.
	_, _ = buffered.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1024\r\n\r\n{")
	_ = buffered.Flush()
}

// readPost reads the key and the body of a POST.
func readPost(r *http.Request, into any) (string, error) {
	key := r.Header.Get(keyHeader)
	if err := validateKey(keyHeader, key); err != nil {
		return "", err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", fmt.Errorf("read the body again: %w", err)
	}
	if err := decodeStrictly(body, into); err != nil {
		return "", &apiError{http.StatusBadRequest, codeInvalid, "", "expected one JSON object of the documented form: " + err.Error()}
	}
	return key, nil
}

func validateCharge(request wireChargeRequest) error {
	if err := validateMoney(request.AmountMinor, request.Currency); err != nil {
		return err
	}
	if len(request.Description) > maxDescriptionLength {
		return invalid("description", "expected at most %d bytes", maxDescriptionLength)
	}
	if request.Capture != "" && request.Capture != captureManual {
		return invalid("capture", "expected nothing or %q", captureManual)
	}
	if request.ReturnURL != "" || request.Method == "" {
		if err := validateURL("returnUrl", request.ReturnURL); err != nil || len(request.ReturnURL) > maxReturnURLLength {
			return invalid("returnUrl", "expected an http or https URL of at most %d bytes, or a method", maxReturnURLLength)
		}
	}
	return validateOwner(request.Account, request.Reference)
}

func validateRefund(request wireRefundRequest) error {
	if err := validateMoney(request.AmountMinor, request.Currency); err != nil {
		return err
	}
	if request.Charge == "" {
		return invalid("charge", "expected the id of a charge")
	}
	if len(request.Reason) > maxDescriptionLength {
		return invalid("reason", "expected at most %d bytes", maxDescriptionLength)
	}
	return validateOwner(request.Account, request.Reference)
}

func validateMoney(minor int64, currency string) error {
	if minor <= 0 || minor > money.MaxMinor {
		return invalid("amountMinor", "expected 1 to %d minor units, got %d", int64(money.MaxMinor), minor)
	}
	if _, err := money.ParseCurrency(currency); err != nil {
		return invalid("currency", "%s", err.Error())
	}
	return nil
}

func validateOwner(account string, reference wireReference) error {
	if err := validateAccount(account); err != nil {
		return err
	}
	if len(reference.Tenant) > maxReferenceLength || len(reference.Attempt) > maxReferenceLength {
		return invalid("reference", "expected at most %d bytes in each part", maxReferenceLength)
	}
	return nil
}

func validateAccount(account string) error {
	if account == "" || len(account) > maxAccountLength || !isPrintable(account) {
		return invalid("account", "expected 1 to %d printable ASCII characters without spaces", maxAccountLength)
	}
	return nil
}

func validateKey(field, key string) error {
	if key == "" || len(key) > maxKeyLength || !isPrintable(key) {
		return invalid(field, "expected 1 to %d printable ASCII characters without spaces", maxKeyLength)
	}
	return nil
}

func readLookup(query url.Values) (account, key string, err error) {
	account, key = query.Get("account"), query.Get("key")
	if err := validateAccount(account); err != nil {
		return "", "", err
	}
	return account, key, validateKey("key", key)
}

// chargeFilter chooses a page of charges.
type chargeFilter struct {
	// account is empty for all.
	account string
	// after is the id of the last charge of the page before.
	after string
	// since is the earliest creation.
	since time.Time
	limit int
}

func readFilter(query url.Values) (chargeFilter, error) {
	filter := chargeFilter{account: query.Get("account"), after: query.Get("after"), limit: defaultPage}
	if query.Has("limit") {
		limit, err := strconv.Atoi(query.Get("limit"))
		if err != nil || limit < 1 || limit > maxPage {
			return chargeFilter{}, invalid("limit", "expected 1 to %d", maxPage)
		}
		filter.limit = limit
	}
	if query.Has("since") {
		since, err := time.Parse(time.RFC3339, query.Get("since"))
		if err != nil {
			return chargeFilter{}, invalid("since", "expected an instant such as 2026-01-31T09:00:00Z")
		}
		filter.since = since
	}
	return filter, nil
}

func invalid(field, format string, args ...any) error {
	return &apiError{http.StatusUnprocessableEntity, codeInvalid, field, fmt.Sprintf(format, args...)}
}
