package stripetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// SecretKey is the key that the server takes.
const SecretKey = "sk_test_stripetest0123456789" //nolint:gosec // of a double

// WebhookSecret signs its events.
const WebhookSecret = "whsec_stripetest0123456789" //nolint:gosec // of a double

// Server is the double. Its methods may be called at any time.
type Server struct {
	// URL is the address of its API.
	URL string

	http *httptest.Server

	mu       sync.Mutex
	now      func() time.Time
	nextID   int
	intents  []*intent
	sessions []*session
	refunds  []*refund
	disputes []*dispute
	events   []Event
	answers  map[string]*answer
	faults   []*fault
	calls    []Call
	// searchable is how many PaymentIntents the search has seen; -1 is all.
	searchable int
	searchOff  bool
}

// Call is one request that the server has met.
type Call struct {
	Method, Path, Account, IdempotencyKey string
	Header                                http.Header
	Form                                  url.Values
}

// answer is what was answered under an idempotency key.
type answer struct {
	request string
	done    bool
	status  int
	body    []byte
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{now: time.Now, answers: map[string]*answer{}, searchable: -1}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	// On a connection that was used before, net/http sends a request with an idempotency key again by
	// itself when it breaks, and the fault would not be seen.
	s.http.Config.SetKeepAlivesEnabled(false)
	s.http.Start()
	s.URL = s.http.URL
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// Calls are the requests so far.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// ForgetKeys lets the idempotency keys expire, which Stripe does after a day or later.
func (s *Server) ForgetKeys() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.answers)
}

// FreezeSearch makes the search see only what exists now.
func (s *Server) FreezeSearch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.searchable = len(s.intents)
}

// DisableSearch refuses searches, as in countries where Stripe offers none.
func (s *Server) DisableSearch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.searchOff = true
}

// Age makes everything that exists older.
func (s *Server) Age(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seconds := int64(by / time.Second)
	for _, i := range s.intents {
		i.created -= seconds
	}
	for _, c := range s.sessions {
		c.created -= seconds
	}
	for _, r := range s.refunds {
		r.created -= seconds
	}
}

// request is a call on its way through the server.
type request struct {
	account string
	form    url.Values
	expand  []string
}

func (r *request) expands(field string) bool { return slices.Contains(r.expand, field) }

// apiError is an error in Stripe's form.
type apiError struct {
	status int
	detail map[string]any
}

func refuse(status int, kind, code string, more map[string]any) *apiError {
	detail := map[string]any{"type": kind, "message": "The double refuses: " + code}
	if code != "" {
		detail["code"] = code
	}
	for name, value := range more {
		detail[name] = value
	}
	return &apiError{status: status, detail: detail}
}

func invalid(code, param string) *apiError {
	return refuse(http.StatusBadRequest, "invalid_request_error", code, map[string]any{"param": param})
}

func missing(param string) *apiError {
	return refuse(http.StatusNotFound, "invalid_request_error", "resource_missing", map[string]any{"param": param})
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "form", http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	account := r.Header.Get("Stripe-Account")
	s.mu.Lock()
	s.calls = append(s.calls, Call{Method: r.Method, Path: r.URL.Path, Account: account, IdempotencyKey: key, Header: r.Header.Clone(), Form: r.Form})
	fault := s.meet(r)
	s.mu.Unlock()
	if fault == FaultUnreached {
		abort()
	}
	if r.Header.Get("Authorization") != "Bearer "+SecretKey || fault == FaultUnauthorized {
		write(w, http.StatusUnauthorized, encode(refuse(http.StatusUnauthorized, "invalid_request_error", "", nil).body()), false)
		return
	}
	if fault == FaultRateLimit {
		write(w, http.StatusTooManyRequests, encode(refuse(http.StatusTooManyRequests, "invalid_request_error", "rate_limit", nil).body()), false)
		return
	}
	status, body, replayed := s.answer(r, account, key, fault)
	switch fault {
	case FaultHang:
		<-r.Context().Done()
		abort()
	case FaultLost:
		abort()
	case FaultGarbage:
		status, body = http.StatusOK, []byte(`<html>4242424242424242</html>`)
	case FaultRedirect:
		w.Header().Set("Location", "https://example.com/")
		status, body = http.StatusFound, nil
	case FaultHuge:
		body = append([]byte(`{"padding":"`), []byte(strings.Repeat("x", 3<<20)+`"}`)...)
	case FaultNone, FaultUnreached, FaultUnauthorized, FaultRateLimit, FaultFailed, FaultFailedAfter:
	}
	write(w, status, body, replayed)
}

// answer works a request out, or repeats what was answered under its key.
func (s *Server) answer(r *http.Request, account, key string, fault Fault) (status int, body []byte, replayed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodPost || key == "" {
		status, body = s.work(r, account, fault)
		return status, body, false
	}
	content := r.URL.Path + "?" + r.PostForm.Encode()
	at := account + "\n" + key
	if known, ok := s.answers[at]; ok {
		if known.request != content {
			return http.StatusBadRequest, encode(refuse(http.StatusBadRequest, "idempotency_error", "", nil).body()), false
		}
		if !known.done {
			return http.StatusConflict, encode(refuse(http.StatusConflict, "idempotency_error", "idempotency_key_in_use", nil).body()), false
		}
		return known.status, known.body, true
	}
	status, body = s.work(r, account, fault)
	s.answers[at] = &answer{request: content, done: true, status: status, body: body}
	return status, body, false
}

// HoldKey makes the server answer that a first call with the key is still under way.
func (s *Server) HoldKey(account, key, path string, form url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[account+"\n"+key] = &answer{request: path + "?" + form.Encode()}
}

func (s *Server) work(r *http.Request, account string, fault Fault) (int, []byte) {
	broken := encode(refuse(http.StatusInternalServerError, "api_error", "", nil).body())
	if fault == FaultFailed {
		return http.StatusInternalServerError, broken
	}
	object, err := s.route(r.Method, strings.Split(strings.Trim(r.URL.Path, "/"), "/"), &request{
		account: account, form: r.Form, expand: expanded(r.Form),
	})
	if fault == FaultFailedAfter {
		return http.StatusInternalServerError, broken
	}
	if err != nil {
		return err.status, encode(err.body())
	}
	return http.StatusOK, encode(object)
}

func (s *Server) route(method string, path []string, r *request) (map[string]any, *apiError) {
	if len(path) < 2 || path[0] != "v1" {
		return nil, missing("path")
	}
	id, action := "", ""
	rest := path[2:]
	if path[1] == "checkout" && len(rest) > 0 {
		rest = rest[1:]
	}
	if len(rest) > 0 {
		id = rest[0]
	}
	if len(rest) > 1 {
		action = rest[1]
	}
	post := method == http.MethodPost
	switch path[1] {
	case "payment_intents":
		switch {
		case post && id == "":
			return s.createIntent(r)
		case post:
			return s.changeIntent(r, id, action)
		case id == "search":
			return s.searchIntents(r)
		case id == "":
			return s.listIntents(r)
		}
		return s.readIntent(r, id)
	case "checkout":
		switch {
		case post && id == "":
			return s.createSession(r)
		case post && action == "expire":
			return s.expireSession(r, id)
		case id == "":
			return s.listSessions(r)
		}
		return s.readSession(r, id)
	case "refunds":
		switch {
		case post:
			return s.createRefund(r)
		case id == "":
			return s.listRefunds(r)
		}
		return s.readRefund(r, id)
	case "payment_methods":
		return readMethod(id)
	}
	return nil, missing("path")
}

func (e *apiError) body() map[string]any { return map[string]any{"error": e.detail} }

func encode(object map[string]any) []byte {
	body, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("stripetest: encode an answer: %v", err))
	}
	return body
}

func write(w http.ResponseWriter, status int, body []byte, replayed bool) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_double")
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// abort breaks the connection without an answer.
func abort() { panic(http.ErrAbortHandler) }

func (s *Server) id(prefix string) string {
	s.nextID++
	return fmt.Sprintf("%s_double%06d", prefix, s.nextID)
}

func expanded(form url.Values) []string {
	var fields []string
	for name, values := range form {
		if strings.HasPrefix(name, "expand[") {
			fields = append(fields, values...)
		}
	}
	return fields
}

// metadata reads the metadata under a prefix of the form.
func metadata(form url.Values, prefix string) map[string]string {
	read := map[string]string{}
	for name, values := range form {
		if key, ok := strings.CutPrefix(name, prefix+"["); ok && strings.HasSuffix(key, "]") {
			read[strings.TrimSuffix(key, "]")] = values[0]
		}
	}
	return read
}

// page is one page of a list whose objects are sorted with the newest first.
func page[T any](r *request, objects []T, id func(T) string, render func(T) map[string]any) map[string]any {
	limit := max(1, int(number(r.form, "limit")))
	if r.form.Get("limit") == "" {
		limit = 10
	}
	if after := r.form.Get("starting_after"); after != "" {
		for at, object := range objects {
			if id(object) == after {
				objects = objects[at+1:]
				break
			}
		}
	}
	data := []map[string]any{}
	for _, object := range objects[:min(limit, len(objects))] {
		data = append(data, render(object))
	}
	return map[string]any{"object": "list", "url": "/v1", "has_more": len(objects) > limit, "data": data}
}

func number(form url.Values, name string) int64 {
	var n int64
	// What is no number is 0.
	_, _ = fmt.Sscan(form.Get(name), &n)
	return n
}
