package oidc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	gooidc "github.com/coreos/go-oidc/v3/oidc"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

// What is answered to a token that is not good. The token itself is never repeated.
const (
	tokenForm      = "Authorization: expected a key, or a signed token (JWT) of an identity provider"
	tokenIssuer    = "Authorization: the token's issuer is none that this installation trusts"
	tokenSignature = "Authorization: the token's signature is not its issuer's"
	tokenKey       = "Authorization: the token's signature is not one of the keys that its issuer publishes; new keys are looked for every few seconds"
	tokenAudience  = "Authorization: the token is for another audience"
	tokenEnd       = "Authorization: expected a token with an end (exp)"
	tokenExpired   = "Authorization: the token has expired"
	tokenEarly     = "Authorization: the token is not valid yet"
	tokenSubject   = "Authorization: expected a token with a subject (sub) of 1 to 255 characters"
	providerDown   = "the identity provider does not answer"
)

// algorithms are the signatures that are accepted, whatever a provider or a token says: asymmetric
// ones only, so that no published key is ever taken for a shared secret.
func algorithms() []string {
	return []string{gooidc.RS256, gooidc.RS384, gooidc.RS512, gooidc.PS256, gooidc.PS384, gooidc.PS512, gooidc.ES256, gooidc.ES384, gooidc.ES512, gooidc.EdDSA}
}

// Verifier judges tokens. It is safe for concurrent use, and satisfies tenants.TokenVerifier.
type Verifier struct {
	config  Config
	issuers map[string]*provider
}

// New makes a Verifier of a valid configuration. It asks no provider anything before the first token
// comes, so that one that is down delays no start.
func New(config Config) (*Verifier, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	v := &Verifier{config: config, issuers: make(map[string]*provider, len(config.Issuers))}
	for _, issuer := range config.Issuers {
		v.issuers[issuer.URL] = newProvider(issuer, config)
	}
	return v, nil
}

// Issuers are those whose tokens may be about a tenant's members, in order.
func (v *Verifier) Issuers(tenant tenants.TenantID) []string {
	var urls []string
	for url, p := range v.issuers {
		if p.issuer.Tenant.IsZero() || p.issuer.Tenant == tenant {
			urls = append(urls, url)
		}
	}
	slices.Sort(urls)
	return urls
}

// Verify tells who a token is about.
func (v *Verifier) Verify(ctx context.Context, token string) (tenants.Identity, error) {
	url, ok := claimedIssuer(token)
	if !ok {
		return tenants.Identity{}, fault.Unauthenticated(tokenForm)
	}
	p, ok := v.issuers[url]
	if !ok {
		return tenants.Identity{}, fault.Unauthenticated(tokenIssuer)
	}
	verified, err := p.verify(ctx, token)
	if err != nil {
		return tenants.Identity{}, err
	}
	return v.identity(p.issuer, verified)
}

// claimedIssuer is what a token says of itself, before anything is known to be true.
func claimedIssuer(token string) (string, bool) {
	if len(token) > maxTokenLength {
		return "", false
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", false
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	return claims.Issuer, json.Unmarshal(raw, &claims) == nil
}

// identity judges the claims of a token whose signature is good.
func (v *Verifier) identity(issuer Issuer, token *gooidc.IDToken) (tenants.Identity, error) {
	var claims struct {
		NotBefore     *float64 `json:"nbf"`
		Email         string   `json:"email"`
		EmailVerified any      `json:"email_verified"`
	}
	if err := token.Claims(&claims); err != nil {
		return tenants.Identity{}, fault.Unauthenticated(tokenForm)
	}
	now, skew := v.config.Now(), v.config.ClockSkew
	switch {
	case !slices.Contains(token.Audience, issuer.Audience):
		return tenants.Identity{}, fault.Unauthenticated(tokenAudience)
	case token.Expiry.Unix() <= 0:
		return tenants.Identity{}, fault.Unauthenticated(tokenEnd)
	case !now.Before(token.Expiry.Add(skew)):
		return tenants.Identity{}, fault.Unauthenticated(tokenExpired)
	case token.IssuedAt.After(now.Add(skew)), claims.NotBefore != nil && *claims.NotBefore > float64(now.Add(skew).Unix()):
		return tenants.Identity{}, fault.Unauthenticated(tokenEarly)
	}
	if n := utf8.RuneCountInString(token.Subject); n < 1 || n > 255 || strings.ContainsRune(token.Subject, 0) {
		return tenants.Identity{}, fault.Unauthenticated(tokenSubject)
	}
	identity := tenants.Identity{Issuer: issuer.URL, Subject: token.Subject, Tenant: issuer.Tenant, ExpiresAt: token.Expiry.Add(skew)}
	// Some providers write the boolean as text.
	if claims.EmailVerified == true || claims.EmailVerified == "true" {
		identity.Email = claims.Email
	}
	return identity, nil
}

// answerOf makes a fault of what verifying a signature ended in. fetched is why keys could not be
// read, if that was tried.
func answerOf(err, fetched error) error {
	switch {
	case errors.Is(fetched, errTooSoon):
		return fault.Unauthenticated(tokenKey)
	case fetched != nil:
		return fault.Unavailable(fetched, providerDown)
	case err != nil:
		return fault.Unauthenticated(tokenSignature)
	}
	return nil
}

// since says how long ago something was.
func (c Config) since(t time.Time) time.Duration { return c.Now().Sub(t) }
