package eventstest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/events/webhooks"
)

// Receiver is somebody's end of the webhooks.
type Receiver struct {
	// URL is where it listens, in plain HTTP on the loopback.
	URL string

	t      testing.TB
	mu     sync.Mutex
	answer http.HandlerFunc
	got    []Message
}

// Message is what arrived.
type Message struct {
	ID     string
	Header http.Header
	Body   []byte
	Content
}

// Content is the body as a receiver reads it.
type Content struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      struct {
		Event   string  `json:"event"`
		Kind    string  `json:"kind"`
		ID      string  `json:"id"`
		Version int64   `json:"version"`
		Region  string  `json:"region"`
		Channel *string `json:"channel"`
	} `json:"data"`
}

// NewReceiver listens until the test ends, and answers 204 until it is told otherwise.
func NewReceiver(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{t: t, answer: status(http.StatusNoContent)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL + "/hooks"
	return r
}

// ServeHTTP keeps the message and answers.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		r.t.Errorf("read a webhook: %v", err)
	}
	message := Message{ID: request.Header.Get("webhook-id"), Header: request.Header.Clone(), Body: body}
	if err := json.Unmarshal(body, &message.Content); err != nil {
		r.t.Errorf("a webhook is not JSON: %v\n%s", err, body)
	}
	r.mu.Lock()
	r.got = append(r.got, message)
	answer := r.answer
	r.mu.Unlock()
	answer(w, request)
}

// Answer is how it answers from now on.
func (r *Receiver) Answer(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// AnswerStatus is a status with which it answers from now on.
func (r *Receiver) AnswerStatus(code int) { r.Answer(status(code)) }

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// Messages are what arrived, in order.
func (r *Receiver) Messages() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// IDs are the ids of what arrived, in order.
func (r *Receiver) IDs() []string {
	var all []string
	for _, message := range r.Messages() {
		all = append(all, message.ID)
	}
	return all
}

// Only is the one message that arrived.
func (r *Receiver) Only() Message {
	r.t.Helper()
	got := r.Messages()
	if len(got) != 1 {
		r.t.Fatalf("%d messages arrived, want 1", len(got))
	}
	return got[0]
}

// VerifiedBy says whether a secret vouches for the message, by the library that receivers use.
func (m Message) VerifiedBy(secret string) error {
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	return verifier.Verify(m.Body, m.Header)
}

// Sender sends to Receivers.
func Sender(t testing.TB, change ...func(*webhooks.Config)) events.Sender {
	t.Helper()
	config := webhooks.Config{AllowHTTP: true, AllowPrivate: true}
	for _, c := range change {
		c(&config)
	}
	sender, err := webhooks.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sender.Close)
	return sender
}
