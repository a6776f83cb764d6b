package oidc_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/tenants/oidc"
	"github.com/holdfast/holdfast/tenants/oidc/oidctest"
)

const audience = "holdfast"

func newVerifier(t *testing.T, config oidc.Config) *oidc.Verifier {
	t.Helper()
	v, err := oidc.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGoodTokens(t *testing.T) {
	t.Parallel()
	issuer, own := oidctest.New(t), ids.NewGlobal[tenants.TenantKind]()
	v := newVerifier(t, oidc.Config{Issuers: []oidc.Issuer{{URL: issuer.URL, Audience: audience, Tenant: own}}})
	now := time.Now()
	for name, change := range map[string]oidctest.Claims{
		"plain": nil, "several audiences": {"aud": []string{"other", audience}},
		"just expired": {"exp": now.Add(-5 * time.Second).Unix()}, "a clock ahead": {"nbf": now.Add(5 * time.Second).Unix(), "iat": now.Add(5 * time.Second).Unix()},
	} {
		got, err := v.Verify(t.Context(), issuer.Token("someone", audience, change))
		if err != nil || got.Issuer != issuer.URL || got.Subject != "someone" || got.Tenant != own || got.Email != "" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for email, verified := range map[string]any{"yes@example.com": true, "text@example.com": "true"} {
		if got, err := v.Verify(t.Context(), issuer.Token("s", audience, oidctest.Claims{"email": email, "email_verified": verified})); err != nil || got.Email != email {
			t.Errorf("%s: got %+v, %v", email, got, err)
		}
	}
	for _, verified := range []any{false, "false", nil, 1} {
		if got, err := v.Verify(t.Context(), issuer.Token("s", audience, oidctest.Claims{"email": "x@example.com", "email_verified": verified})); err != nil || got.Email != "" {
			t.Errorf("an e-mail with email_verified %v: got %+v, %v", verified, got, err)
		}
	}
	if n := issuer.Fetches.Load(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
	if got := v.Issuers(own); len(got) != 1 {
		t.Errorf("the tenant's issuers: %v", got)
	}
	if got := v.Issuers(ids.NewGlobal[tenants.TenantKind]()); len(got) != 0 {
		t.Errorf("another tenant's issuers: %v", got)
	}
}

func TestBadTokens(t *testing.T) {
	t.Parallel()
	issuer, stranger := oidctest.New(t), oidctest.New(t)
	v := newVerifier(t, oidc.Config{Issuers: []oidc.Issuer{{URL: issuer.URL, Audience: audience}}})
	good := issuer.Token("someone", audience, nil)
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	claims := issuer.Claims("someone", audience, nil)
	parts := strings.Split(good, ".")
	none := oidctest.Unsigned(t, map[string]any{"alg": "none"}, claims)
	// The trick of a verifier that takes the published key for a shared secret.
	confused := oidctest.Unsigned(t, map[string]any{"alg": "HS256", "kid": issuer.Key().ID}, claims)
	public, err := issuer.Key().Private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, public)
	mac.Write([]byte(confused))
	renamed := oidctest.NewKey(t)
	renamed.ID = issuer.Key().ID
	for name, c := range map[string]struct{ token, want string }{
		"no token":               {"a.b.c", "expected a key, or a signed token"},
		"two parts":              {"a.b", "expected a key, or a signed token"},
		"far too long":           {good + strings.Repeat("A", 20_000), "expected a key, or a signed token"},
		"alg none":               {none + ".", "the token's signature is not its issuer's"},
		"alg none with a tail":   {none + "." + parts[2], "the token's signature is not its issuer's"},
		"a shared secret":        {confused + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), "the token's signature is not its issuer's"},
		"another issuer":         {stranger.Token("someone", audience, nil), "none that this installation trusts"},
		"another's signature":    {oidctest.Sign(t, stranger.Key(), claims), "not one of the keys that its issuer publishes"},
		"a key of the same name": {oidctest.Sign(t, renamed, claims), "not one of the keys that its issuer publishes"},
		"tampered claims":        {parts[0] + "." + strings.Split(issuer.Token("boss", audience, nil), ".")[1] + "." + parts[2], "not one of the keys that its issuer publishes"},
		"another audience":       {issuer.Token("someone", "other", nil), "the token is for another audience"},
		"no audience":            {issuer.Token("someone", "", oidctest.Claims{"aud": nil}), "the token is for another audience"},
		"expired":                {issuer.Token("someone", audience, oidctest.Claims{"exp": now.Add(-time.Minute).Unix()}), "the token has expired"},
		"no end":                 {issuer.Token("someone", audience, oidctest.Claims{"exp": nil}), "expected a token with an end"},
		"not yet":                {issuer.Token("someone", audience, oidctest.Claims{"nbf": now.Add(time.Minute).Unix()}), "the token is not valid yet"},
		"issued tomorrow":        {issuer.Token("someone", audience, oidctest.Claims{"iat": now.AddDate(0, 0, 1).Unix()}), "the token is not valid yet"},
		"nobody":                 {issuer.Token("", audience, nil), "expected a token with a subject"},
		"a very long subject":    {issuer.Token(strings.Repeat("s", 256), audience, nil), "expected a token with a subject"},
	} {
		_, err := v.Verify(t.Context(), c.token)
		if fault.KindOf(err) != fault.KindUnauthenticated || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// A flood of tokens with unknown keys asks the issuer once in the interval, and a new key is found
// all the same.
func TestKeysAreFetchedSeldom(t *testing.T) {
	t.Parallel()
	issuer := oidctest.New(t)
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	v := newVerifier(t, oidc.Config{Issuers: []oidc.Issuer{{URL: issuer.URL, Audience: audience}}, Now: now, FetchInterval: 5 * time.Minute, KeysAge: 20 * time.Minute})
	verify := func(token string) error {
		_, err := v.Verify(t.Context(), token)
		return err
	}
	old := issuer.Token("someone", audience, nil)
	if err := verify(old); err != nil {
		t.Fatal(err)
	}
	forged := oidctest.Sign(t, oidctest.NewKey(t), issuer.Claims("someone", audience, nil))
	var flood sync.WaitGroup
	for range 50 {
		flood.Go(func() {
			if err := verify(forged); fault.KindOf(err) != fault.KindUnauthenticated {
				t.Errorf("a forged token: %v", err)
			}
		})
	}
	flood.Wait()
	if n := issuer.Fetches.Load(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
	issuer.Rotate()
	rotated := issuer.Token("someone", audience, nil)
	if err := verify(rotated); fault.KindOf(err) != fault.KindUnauthenticated {
		t.Errorf("a new key within the interval: %v", err)
	}
	offset.Add(int64(6 * time.Minute))
	if err := verify(rotated); err != nil {
		t.Errorf("a new key after the interval: %v", err)
	}
	offset.Add(int64(21 * time.Minute))
	if err := verify(old); fault.KindOf(err) != fault.KindUnauthenticated {
		t.Errorf("a key that was withdrawn: %v", err)
	}
	if err := verify(rotated); err != nil {
		t.Errorf("the key in use: %v", err)
	}
	if n := issuer.Fetches.Load(); n != 3 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

func TestAProviderThatIsDown(t *testing.T) {
	t.Parallel()
	issuer := oidctest.New(t)
	issuer.Down.Store(true)
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	v := newVerifier(t, oidc.Config{Issuers: []oidc.Issuer{{URL: issuer.URL, Audience: audience}}, Now: now, FetchInterval: 5 * time.Minute})
	token := issuer.Token("someone", audience, nil)
	for range 3 {
		if _, err := v.Verify(t.Context(), token); fault.KindOf(err) != fault.KindUnavailable || err.Error() != "the identity provider does not answer" {
			t.Fatalf("got %v", err)
		}
	}
	issuer.Down.Store(false)
	offset.Add(int64(6 * time.Minute))
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Errorf("when it is back: %v", err)
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://login.example.com":                     "audience",
		"http://login.example.com,audience=a":           "http is for this machine only",
		"login,audience=a":                              "expected an address",
		"https://login.example.com?x=1,audience=a":      "expected an address",
		"https://login.example.com,audience=a,tenant=7": "tenant",
		"https://login.example.com,audience=a,team=7":   "expected audience=… or tenant=…",
	} {
		if _, err := oidc.ParseIssuer(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	id := ids.NewGlobal[tenants.TenantKind]()
	got, err := oidc.ParseIssuer("https://login.example.com/realm, audience=holdfast, tenant=" + id.String())
	if err != nil || got != (oidc.Issuer{URL: "https://login.example.com/realm", Audience: "holdfast", Tenant: id}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := oidc.New(oidc.Config{ClockSkew: time.Hour}); err == nil {
		t.Error("a skew of an hour is accepted")
	}
}
