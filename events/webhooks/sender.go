package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/holdfast/holdfast/events"
)

// Sender posts messages. It is safe for concurrent use.
type Sender struct {
	config Config
	client *http.Client
}

var _ events.Sender = (*Sender)(nil)

// New makes a Sender.
func New(config Config) (*Sender, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	s := &Sender{config: config.withDefaults()}
	dialer := &net.Dialer{Timeout: s.config.Timeout, Control: s.control}
	s.client = &http.Client{
		Timeout: s.config.Timeout,
		Transport: &http.Transport{
			// No proxy of the environment: through one, the address that is judged would be the proxy's.
			Proxy:                  nil,
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    s.config.Timeout,
			ResponseHeaderTimeout:  s.config.Timeout,
			MaxResponseHeaderBytes: maxAnswerHeaderBytes,
			MaxIdleConns:           maxIdle,
			MaxIdleConnsPerHost:    maxIdlePerHost,
			IdleConnTimeout:        idleTimeout,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		},
		// A redirect is not a receipt, and may lead anywhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

// Close ends the connections that are kept for later.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Send makes one try. Each is signed anew, so that a late one is as fresh to its receiver as a first.
func (s *Sender) Send(ctx context.Context, message events.Message) events.Answer {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, message.URL, bytes.NewReader(message.Body))
	if err != nil {
		return events.Answer{Error: "the URL cannot be used"}
	}
	// Settings may have become stricter since the endpoint was made.
	if err := s.Check(message.URL); err != nil {
		return events.Answer{Error: err.Error()}
	}
	now := time.Now()
	signatures, err := sign(message, now)
	if err != nil {
		return events.Answer{Error: "the message could not be signed"}
	}
	request.Header.Set(standardwebhooks.HeaderWebhookID, message.ID)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, signatures)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", s.config.UserAgent)
	response, err := s.client.Do(request)
	if err != nil {
		return events.Answer{Error: explain(err)}
	}
	defer func() { _ = response.Body.Close() }()
	// What the receiver says does not matter, only that it is done saying it.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswerBytes)
	return answerOf(response.StatusCode)
}

// sign makes one signature for each secret, as receivers want them while a secret is changed.
func sign(message events.Message, now time.Time) (string, error) {
	signatures := make([]string, len(message.Secrets))
	for i, secret := range message.Secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return "", fmt.Errorf("read the secret of an endpoint: %w", err)
		}
		if signatures[i], err = signer.Sign(message.ID, now, message.Body); err != nil {
			return "", fmt.Errorf("sign a message: %w", err)
		}
	}
	return strings.Join(signatures, " "), nil
}

func answerOf(status int) events.Answer {
	switch {
	case status >= 200 && status <= 299:
		return events.Answer{Status: status}
	case status >= 300 && status <= 399:
		return events.Answer{Status: status, Error: fmt.Sprintf("the receiver answered %d: redirects are not followed", status)}
	}
	return events.Answer{Status: status, Error: fmt.Sprintf("the receiver answered %d", status)}
}

// explain says why there was no answer, in words of our own: those of the libraries name addresses.
func explain(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	var unknownAuthority x509.UnknownAuthorityError
	var wrongHost x509.HostnameError
	var badCertificate x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, errPrivate):
		return errPrivate.Error()
	case errors.As(err, &dns):
		return "the name of the host cannot be resolved"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the receiver did not answer in time"
	case errors.As(err, &unknownAuthority), errors.As(err, &wrongHost), errors.As(err, &badCertificate), errors.As(err, &verification):
		return "the certificate of the receiver cannot be verified"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "the receiver does not speak TLS"
	}
	return "no connection to the receiver, or it was cut"
}
