package webhooks

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/holdfast/holdfast/events"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func newSender(t *testing.T, config Config) *Sender {
	t.Helper()
	sender, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sender.Close)
	return sender
}

// lax is for receivers of tests.
func lax() Config { return Config{AllowHTTP: true, AllowPrivate: true} }

func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

func messageTo(url string) events.Message {
	return events.Message{ID: "evt_eu_1", URL: url, Secrets: []string{secret}, Body: []byte(`{"type":"endpoint.ping"}`)}
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

const patience = 20 * time.Second
