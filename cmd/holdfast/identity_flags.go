package main

import (
	"fmt"
	"time"

	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/tenants/oidc"
)

// identityFlags say with whom admins may sign in.
type identityFlags struct {
	OIDCIssuers   []string      `name:"oidc-issuer" env:"HOLDFAST_OIDC_ISSUERS" sep:";" placeholder:"URL,audience=…[,tenant=…]" help:"An OpenID Connect issuer whose tokens sign members of tenants in, the audience that they must be for, and the only tenant for which it is trusted, if it is one. May be repeated; in the environment with semicolons between."`
	OIDCClockSkew time.Duration `name:"oidc-clock-skew" env:"HOLDFAST_OIDC_CLOCK_SKEW" default:"30s" help:"How much the clocks of issuers may differ from this one, at most 5m."`
}

// verifier judges the tokens of the issuers; nil when there is none.
func (f identityFlags) verifier() (tenants.TokenVerifier, error) {
	if len(f.OIDCIssuers) == 0 {
		return nil, nil //nolint:nilnil // nobody signs in with a token
	}
	config := oidc.Config{ClockSkew: f.OIDCClockSkew}
	for _, text := range f.OIDCIssuers {
		issuer, err := oidc.ParseIssuer(text)
		if err != nil {
			return nil, fmt.Errorf("HOLDFAST_OIDC_ISSUERS (--oidc-issuer): %w", err)
		}
		config.Issuers = append(config.Issuers, issuer)
	}
	verifier, err := oidc.New(config)
	if err != nil {
		return nil, fmt.Errorf("HOLDFAST_OIDC_…: %w", err)
	}
	return verifier, nil
}
