package events_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/holdfast/holdfast/events"
)

// The receiver of docs/webhooks.md takes what is sent.
func TestTheDocumentedReceiverWorks(t *testing.T) {
	t.Parallel()
	o := open(t)
	var worked []string
	server := httptest.NewUnstartedServer(nil)
	t.Cleanup(server.Close)
	endpoint := o.endpoint(o.Owner, "http://"+server.Listener.Addr().String())
	busy := true
	receiver, err := receive(endpoint.Secret, func(event, eventType, kind, id string, version int64) error {
		if busy {
			busy = false
			return errors.New("busy")
		}
		worked = append(worked, fmt.Sprintf("%s %s %s %t %d", event, eventType, kind, strings.HasPrefix(id, "book_eu_"), version))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = receiver
	server.Start()
	id := o.booked(o.Widget.Channel)
	o.deliver(endpoint)
	expect(t, "while it is busy", o.standing(endpoint), "PENDING 1 503 the receiver answered 503")
	o.due()
	o.deliver(endpoint)
	expect(t, "what was worked", fmt.Sprint(worked), fmt.Sprintf("[%s booking.confirmed booking true 1]", id))
	response, err := http.Post(server.URL, "application/json", strings.NewReader("{}")) //nolint:noctx // this is anybody's request
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized || len(worked) != 1 {
		t.Errorf("an unsigned message is answered %d, and %v is worked", response.StatusCode, worked)
	}
	if _, err := o.events.RotateSecret(t.Context(), o.Owner, "rotate", endpoint.Endpoint.ID); err != nil {
		t.Fatal(err)
	}
	o.booked(o.Widget.Channel)
	o.deliver(endpoint)
	if len(worked) != 2 {
		t.Errorf("after a rotation the old secret does not verify: %v", o.deliveries(endpoint.Endpoint.ID, events.DeliveryStatePending))
	}
}

// receive takes one message. secret is what createWebhookEndpoint showed, "whsec_…"; work is yours and
// may be given the same event twice.
func receive(secret string, work func(event, eventType, kind, id string, version int64) error) (http.HandlerFunc, error) {
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return nil, err
	}
	return func(w http.ResponseWriter, r *http.Request) {
		// The signature is over the bytes as they came: read them before anything parses them.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil {
			http.Error(w, "too long", http.StatusRequestEntityTooLarge)
			return
		}
		// Also refuses a timestamp that is more than five minutes off.
		if err := verifier.Verify(body, r.Header); err != nil {
			http.Error(w, "not signed", http.StatusUnauthorized)
			return
		}
		var message struct {
			Type string `json:"type"`
			Data struct {
				Kind    string `json:"kind"`
				ID      string `json:"id"`
				Version int64  `json:"version"`
			} `json:"data"`
		}
		if err := json.Unmarshal(body, &message); err != nil {
			http.Error(w, "not JSON", http.StatusBadRequest)
			return
		}
		if err := work(r.Header.Get("webhook-id"), message.Type, message.Data.Kind, message.Data.ID, message.Data.Version); err != nil {
			http.Error(w, "later, please", http.StatusServiceUnavailable) // it comes again
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}, nil
}
