package oidc

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

// Limits of this package.
const (
	// maxTokenLength is far above any token; longer text is refused before it is decoded.
	maxTokenLength = 16 << 10
	// maxAnswerBytes bounds what a provider may answer.
	maxAnswerBytes = 1 << 20
	maxClockSkew   = 5 * time.Minute
	maxIssuers     = 1000

	defaultClockSkew     = 30 * time.Second
	defaultFetchInterval = 10 * time.Second
	defaultKeysAge       = time.Hour
	fetchTimeout         = 3 * time.Second
)

// Issuer is an identity provider that is trusted.
type Issuer struct {
	// URL is what the provider calls itself, such as "https://login.example.com"; its discovery
	// document stands below it. It is https, or http on this machine.
	URL string
	// Audience must be among those of a token.
	Audience string
	// Tenant is the only one whose members may have tokens of this issuer; zero for every tenant.
	Tenant tenants.TenantID
}

// ParseIssuer reads an issuer as the command line names it: its address and what belongs to it, with
// commas between, such as "https://login.example.com,audience=holdfast,tenant=tenant_…".
func ParseIssuer(text string) (Issuer, error) {
	parts := strings.Split(text, ",")
	issuer := Issuer{URL: strings.TrimSpace(parts[0])}
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "audience":
			issuer.Audience = value
		case "tenant":
			id, err := ids.ParseGlobal[tenants.TenantKind](value)
			if err != nil {
				return Issuer{}, fmt.Errorf("the tenant of the issuer %s: %w", issuer.URL, err)
			}
			issuer.Tenant = id
		default:
			return Issuer{}, fmt.Errorf("the issuer %s: expected audience=… or tenant=…, got %q", issuer.URL, part)
		}
	}
	return issuer, issuer.validate()
}

func (i Issuer) validate() error {
	if err := checkAddress(i.URL); err != nil {
		return fmt.Errorf("the issuer %q: %w", i.URL, err)
	}
	if i.Audience == "" {
		return fmt.Errorf("the issuer %s: expected the audience that its tokens are for: audience=…", i.URL)
	}
	return nil
}

var errAddress = errors.New("expected an address such as https://login.example.com, without query and fragment; http is for this machine only")

func checkAddress(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errAddress
	}
	address := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || address != nil && address.IsLoopback()
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return errAddress
	}
	return nil
}

// Config says whom to trust. Only Issuers must be given.
type Config struct {
	Issuers []Issuer
	// ClockSkew is how much the clocks of a provider and of this process may differ, up to 5 minutes.
	// Default 30 seconds.
	ClockSkew time.Duration
	// FetchInterval is how long a provider is not asked for the same thing again, whatever tokens
	// come. A token that was signed with a new key may have to wait so long. Default 10 seconds.
	FetchInterval time.Duration
	// KeysAge is after how long the keys of a provider are read anew: a key that it has withdrawn is
	// good for so long. Default 1 hour.
	KeysAge time.Duration
	// Transport carries the requests. Default: that of net/http.
	Transport http.RoundTripper
	// Now is the clock. Default: the process's.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	if c.ClockSkew == 0 {
		c.ClockSkew = defaultClockSkew
	}
	if c.FetchInterval == 0 {
		c.FetchInterval = defaultFetchInterval
	}
	if c.KeysAge == 0 {
		c.KeysAge = defaultKeysAge
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Validate names what is missing or out of its range.
func (c Config) Validate() error {
	if len(c.Issuers) > maxIssuers {
		return fmt.Errorf("expected at most %d issuers, got %d", maxIssuers, len(c.Issuers))
	}
	seen := map[string]bool{}
	for _, issuer := range c.Issuers {
		if err := issuer.validate(); err != nil {
			return err
		}
		if seen[issuer.URL] {
			return fmt.Errorf("the issuer %s is named twice", issuer.URL)
		}
		seen[issuer.URL] = true
	}
	switch {
	case c.ClockSkew < 0 || c.ClockSkew > maxClockSkew:
		return fmt.Errorf("ClockSkew: expected up to %s, got %s", maxClockSkew, c.ClockSkew)
	case c.FetchInterval < 0:
		return fmt.Errorf("FetchInterval: expected no less than 0, got %s", c.FetchInterval)
	case c.KeysAge < 0:
		return fmt.Errorf("KeysAge: expected no less than 0, got %s", c.KeysAge)
	}
	return nil
}
