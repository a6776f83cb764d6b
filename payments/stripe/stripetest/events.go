package stripetest

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84/webhook"
)

// Event is a message that the server would send.
type Event struct {
	ID, Type string
	// Body is the message.
	Body []byte
}

// emit makes an event. The caller holds the lock.
func (s *Server) emit(account, kind string, object map[string]any) {
	message := map[string]any{
		"id": s.id("evt"), "object": "event", "api_version": "2020-08-27", "created": s.now().Unix(), "livemode": false,
		"type": kind, "data": map[string]any{"object": object},
	}
	if account != "" {
		message["account"] = account
	}
	s.events = append(s.events, Event{ID: fmt.Sprint(message["id"]), Type: kind, Body: encode(message)})
}

// Events are the messages so far, the oldest first.
func (s *Server) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// Sign makes the headers of a message as they are delivered, signed with each of the secrets.
func Sign(body []byte, at time.Time, secrets ...string) map[string][]string {
	parts := []string{fmt.Sprintf("t=%d", at.Unix())}
	for _, secret := range secrets {
		parts = append(parts, "v1="+hex.EncodeToString(webhook.ComputeSignature(at, body, secret)))
	}
	return http.Header{"Stripe-Signature": {strings.Join(parts, ",")}}
}

// NewEvent makes a message of its own about an object, with fields of the message replaced.
func NewEvent(kind string, object, fields map[string]any) []byte {
	message := map[string]any{
		"id": "evt_own", "object": "event", "created": 1_790_000_000, "livemode": false, "type": kind, "data": map[string]any{"object": object},
	}
	maps.Copy(message, fields)
	return encode(message)
}
