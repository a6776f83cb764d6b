// Package oidctest is a small identity provider for tests: it publishes keys and signs whatever it is
// told to, good and bad.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Key signs tokens under a name.
type Key struct {
	ID      string
	Private *ecdsa.PrivateKey
}

// Claims are what a token says.
type Claims map[string]any

// Issuer is a provider on this machine.
type Issuer struct {
	URL string
	// Fetches counts how often the keys were asked for.
	Fetches atomic.Int64
	// Down makes it answer nothing but 503.
	Down atomic.Bool

	t    testing.TB
	mu   sync.Mutex
	keys []Key
}

// New starts an issuer with one key.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t}
	i.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.answer(w, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"}})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.Fetches.Add(1)
		i.answer(w, map[string]any{"keys": i.published()})
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	i.URL = web.URL
	return i
}

func (i *Issuer) answer(w http.ResponseWriter, document map[string]any) {
	if i.Down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}

func (i *Issuer) published() []map[string]string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var keys []map[string]string
	for _, key := range i.keys {
		point := key.point()
		keys = append(keys, map[string]string{
			"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": key.ID, "x": encode(point[:32]), "y": encode(point[32:]),
		})
	}
	return keys
}

// Rotate replaces the key by a new one, and returns it.
func (i *Issuer) Rotate() Key {
	i.t.Helper()
	key := NewKey(i.t)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = []Key{key}
	return key
}

// Key is the one that is published.
func (i *Issuer) Key() Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[0]
}

// NewKey makes a key that nobody publishes.
func NewKey(t testing.TB) Key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key := Key{Private: private}
	key.ID = encode(key.point()[:6])
	return key
}

// point is the public key: both coordinates, 32 bytes each.
func (k Key) point() []byte {
	raw, err := k.Private.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	return raw[1:]
}

// Claims are those of a good token that ends in an hour; change adds to them, and nil takes away.
func (i *Issuer) Claims(subject, audience string, change Claims) Claims {
	now := time.Now()
	claims := Claims{"iss": i.URL, "sub": subject, "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for name, value := range change {
		if value == nil {
			delete(claims, name)
		} else {
			claims[name] = value
		}
	}
	return claims
}

// Token is a good token about a subject.
func (i *Issuer) Token(subject, audience string, change Claims) string {
	i.t.Helper()
	return Sign(i.t, i.Key(), i.Claims(subject, audience, change))
}

// Sign signs claims with a key.
func Sign(t testing.TB, key Key, claims Claims) string {
	t.Helper()
	text := Unsigned(t, map[string]any{"alg": "ES256", "typ": "JWT", "kid": key.ID}, claims)
	sum := sha256.Sum256([]byte(text))
	r, second, err := ecdsa.Sign(rand.Reader, key.Private, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	second.FillBytes(signature[32:])
	return text + "." + encode(signature)
}

// Unsigned is the part of a token that is signed.
func Unsigned(t testing.TB, header map[string]any, claims Claims) string {
	t.Helper()
	first, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return encode(first) + "." + encode(second)
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }
