package webhooks

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/holdfast/holdfast/events"
)

// The example of the specification: whoever follows it comes to this signature.
func TestSignatureOfTheSpecification(t *testing.T) {
	t.Parallel()
	got, err := sign(events.Message{
		ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, Body: []byte(`{"test": 2432232314}`),
	}, time.Unix(1614265330, 0))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "the signature", got, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
}

func TestEachSecretSigns(t *testing.T) {
	t.Parallel()
	const second = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	var body []byte
	var header http.Header
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		header = r.Header
	})
	message := messageTo(url + "/hooks?source=holdfast")
	message.Secrets = append(message.Secrets, second)
	if answer := newSender(t, lax()).Send(t.Context(), message); !answer.Delivered() || answer.Status != http.StatusOK {
		t.Fatalf("%+v", answer)
	}
	expect(t, "the body", string(body), string(message.Body))
	expect(t, "the signatures", len(strings.Split(header.Get("webhook-signature"), " ")), 2)
	for _, key := range message.Secrets {
		verifier, err := standardwebhooks.NewWebhook(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(body, header); err != nil {
			t.Error(err)
		}
		if verifier.Verify(append(body, ' '), header) == nil {
			t.Error("a changed body is vouched for")
		}
	}
}

func TestOnlySuccessIsAReceipt(t *testing.T) {
	t.Parallel()
	sender := newSender(t, lax())
	for status, want := range map[int]string{
		200: "", 202: "", 204: "", 299: "", 400: "the receiver answered 400", 410: "the receiver answered 410", 429: "the receiver answered 429",
		500: "the receiver answered 500", 302: "the receiver answered 302: redirects are not followed", 304: "the receiver answered 304: redirects are not followed",
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		answer := sender.Send(t.Context(), messageTo(url))
		expect(t, "the status", answer.Status, status)
		expect(t, "the error", answer.Error, want)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, status) })
		if answer := newSender(t, lax()).Send(t.Context(), messageTo(url)); answer.Delivered() || answer.Status != status {
			t.Errorf("%d: %+v", status, answer)
		}
	}
	expect(t, "requests elsewhere", reached.Load(), int64(0))
}

// A receiver that talks without end is hung up on.
func TestAnAnswerIsReadInPart(t *testing.T) {
	t.Parallel()
	ended := make(chan int64, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var written int64
		for r.Context().Err() == nil {
			n, err := w.Write(make([]byte, 64<<10))
			written += int64(n)
			if err != nil {
				break
			}
		}
		ended <- written
	})
	if answer := newSender(t, lax()).Send(t.Context(), messageTo(url)); !answer.Delivered() {
		t.Errorf("%+v", answer)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the receiver is still talking")
	}
}

func TestASilentReceiverTimesOut(t *testing.T) {
	t.Parallel()
	config := lax()
	config.Timeout = 50 * time.Millisecond
	release := make(chan struct{})
	url := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	answer := newSender(t, config).Send(t.Context(), messageTo(url))
	close(release)
	expect(t, "the error", answer.Error, "the receiver did not answer in time")
}

func TestWhyThereWasNoAnswer(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	sender := newSender(t, lax())
	for _, c := range []struct{ url, want string }{
		{closed.URL, "no connection to the receiver, or it was cut"},
		{untrusted.URL, "the certificate of the receiver cannot be verified"},
		{strings.Replace(plain, "http://", "https://", 1), "the receiver does not speak TLS"},
		{"https://nobody.invalid/", "the name of the host cannot be resolved"},
	} {
		answer := sender.Send(t.Context(), messageTo(c.url))
		expect(t, c.url, answer.Error, c.want)
		expect(t, "the status of "+c.url, answer.Status, 0)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if answer := sender.Send(ctx, messageTo(plain)); answer.Delivered() {
		t.Error("delivered after it was called off")
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, config := range []Config{{Timeout: -1}, {Timeout: 16 * time.Second}} {
		if _, err := New(config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}
