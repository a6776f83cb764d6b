package oidc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"

	"github.com/holdfast/holdfast/internal/fault"
)

// errTooSoon is the answer to a request that was made a moment ago.
var errTooSoon = errors.New("the identity provider was asked for this a moment ago")

// provider is one issuer with the keys that it published when it was last asked.
type provider struct {
	issuer Issuer
	config Config
	client *http.Client

	// loading has one place: whoever takes it may ask for the discovery document.
	loading chan struct{}

	mu     sync.Mutex
	keys   gooidc.KeySet
	loaded time.Time
}

func newProvider(issuer Issuer, config Config) *provider {
	return &provider{
		issuer: issuer, config: config, loading: make(chan struct{}, 1),
		client: &http.Client{
			Transport: &seldom{base: config.Transport, config: config, asked: map[string]time.Time{}},
			Timeout:   fetchTimeout,
			// What an issuer publishes stands where it says; nobody is followed to somewhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// verify judges the signature of a token.
func (p *provider) verify(ctx context.Context, token string) (*gooidc.IDToken, error) {
	keys, err := p.keySet(ctx)
	if err != nil {
		if errors.Is(err, errTooSoon) || errors.Is(err, context.Canceled) {
			return nil, fault.Unavailable(err, providerDown)
		}
		return nil, fault.Unavailable(fmt.Errorf("read what the issuer %s publishes: %w", p.issuer.URL, err), providerDown)
	}
	noted := &notedKeys{keys: keys}
	verifier := gooidc.NewVerifier(p.issuer.URL, noted, &gooidc.Config{
		SupportedSigningAlgs: algorithms(), Now: p.config.Now,
		// Audience and times are judged by identity, with a skew of our own.
		SkipClientIDCheck: true, SkipExpiryCheck: true,
	})
	verified, err := verifier.Verify(ctx, token)
	if err != nil {
		return nil, answerOf(err, noted.fetched)
	}
	return verified, nil
}

// keySet is the issuer's, read anew when it is old. It fetches keys itself when a token names one that
// it does not know.
func (p *provider) keySet(ctx context.Context) (gooidc.KeySet, error) {
	if keys := p.known(); keys != nil {
		return keys, nil
	}
	select {
	case p.loading <- struct{}{}:
		defer func() { <-p.loading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if keys := p.known(); keys != nil {
		return keys, nil
	}
	found, err := gooidc.NewProvider(gooidc.ClientContext(ctx, p.client), p.issuer.URL)
	if err != nil {
		return nil, err
	}
	var document struct {
		KeysURL string `json:"jwks_uri"`
	}
	if err := found.Claims(&document); err != nil {
		return nil, err
	}
	if err := checkAddress(document.KeysURL); err != nil {
		return nil, fmt.Errorf("jwks_uri: %w", err)
	}
	// The set outlives the request that made it.
	keys := gooidc.NewRemoteKeySet(gooidc.ClientContext(context.WithoutCancel(ctx), p.client), document.KeysURL)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys, p.loaded = keys, p.config.Now()
	return keys, nil
}

func (p *provider) known() gooidc.KeySet {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys == nil || p.config.since(p.loaded) > p.config.KeysAge {
		return nil
	}
	return p.keys
}

// notedKeys remembers why keys could not be fetched, which go-oidc tells in words only.
type notedKeys struct {
	keys    gooidc.KeySet
	fetched error
}

// VerifySignature is called by go-oidc after it has judged the algorithm.
func (n *notedKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := n.keys.VerifySignature(ctx, token)
	if err != nil && errors.Unwrap(err) != nil {
		// Only what went wrong with a fetch is wrapped.
		n.fetched = errors.Unwrap(err)
	}
	return payload, err
}

// seldom lets the same address be asked once in an interval, and bounds what it answers.
type seldom struct {
	base   http.RoundTripper
	config Config

	mu sync.Mutex
	// asked has the addresses of one issuer: two, unless it moves its keys.
	asked map[string]time.Time
}

// RoundTrip asks, or fails with errTooSoon.
func (s *seldom) RoundTrip(request *http.Request) (*http.Response, error) {
	if !s.may(request.URL.String()) {
		return nil, errTooSoon
	}
	response, err := s.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxAnswerBytes), response.Body}
	return response, nil
}

func (s *seldom) may(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, asked := s.asked[address]
	if asked && s.config.since(last) < s.config.FetchInterval {
		return false
	}
	if len(s.asked) > 10 {
		clear(s.asked)
	}
	s.asked[address] = s.config.Now()
	return true
}
