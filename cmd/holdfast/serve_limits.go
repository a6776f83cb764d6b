package main

import (
	"fmt"
	"time"

	"github.com/holdfast/holdfast/graph"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ratelimit"
)

// limitFlags say how much callers may ask of a process that serves. Each policy is requests a second
// and how many at once, such as 10/40.
type limitFlags struct {
	RateLimits      bool     `name:"rate-limits" env:"HOLDFAST_RATE_LIMITS" default:"true" negatable:"" help:"Bound how many requests each session, address and key may make of this process; refuse more with 429 and Retry-After."`
	RateSession     string   `name:"rate-session" env:"HOLDFAST_RATE_SESSION" default:"${rateSession}" help:"Requests a second of one guest or customer, and how many at once after a pause; off for no bound."`
	RateAddress     string   `name:"rate-address" env:"HOLDFAST_RATE_ADDRESS" default:"${rateAddress}" help:"The same of all who come with a publishable key from one address (of IPv6, one /64)."`
	RateUnknown     string   `name:"rate-unknown" env:"HOLDFAST_RATE_UNKNOWN" default:"${rateUnknown}" help:"The same of requests from one address without a good credential."`
	RatePublishable string   `name:"rate-publishable" env:"HOLDFAST_RATE_PUBLISHABLE" default:"${ratePublishable}" help:"The same of one publishable key, which is a whole shop."`
	RatePartner     string   `name:"rate-partner" env:"HOLDFAST_RATE_PARTNER" default:"${ratePartner}" help:"The same of one partner key."`
	RateAdmin       string   `name:"rate-admin" env:"HOLDFAST_RATE_ADMIN" default:"${rateAdmin}" help:"The same of one admin key."`
	RatePlatform    string   `name:"rate-platform" env:"HOLDFAST_RATE_PLATFORM" default:"${ratePlatform}" help:"The same of one platform key."`
	RateCallers     int      `name:"rate-callers" env:"HOLDFAST_RATE_CALLERS" default:"100000" help:"How many sessions, addresses and keys are told apart at once, at about 300 bytes each."`
	TrustedProxies  []string `name:"trusted-proxies" env:"HOLDFAST_TRUSTED_PROXIES" placeholder:"NETWORK,…" help:"Networks of the proxies in front of this process, such as 10.0.0.0/8. Only what they say in --client-address-header is believed."`
	ClientAddress   string   `name:"client-address-header" env:"HOLDFAST_CLIENT_ADDRESS_HEADER" placeholder:"HEADER" help:"The header in which these proxies say where a request comes from, such as X-Forwarded-For; they must set or append to it."`

	MaxConnections        int           `name:"max-connections" env:"HOLDFAST_MAX_CONNECTIONS" default:"16384" help:"How many connections of clients are open at once; more wait to be accepted."`
	DatabaseConnections   int           `name:"database-connections" env:"HOLDFAST_DATABASE_CONNECTIONS" default:"32" help:"How many connections to the database this process has at most."`
	BackOfficeConnections int           `name:"back-office-connections" env:"HOLDFAST_BACK_OFFICE_CONNECTIONS" default:"8" help:"How many of them reports and administration use at most."`
	BuyingOperations      int           `name:"buying-operations" env:"HOLDFAST_BUYING_OPERATIONS" default:"2048" help:"How many operations of buyers and shops run at once; more are refused with 503 and Retry-After."`
	BackOfficeOperations  int           `name:"back-office-operations" env:"HOLDFAST_BACK_OFFICE_OPERATIONS" default:"16" help:"How many operations of the back office run at once."`
	BackOfficeQueue       int           `name:"back-office-queue" env:"HOLDFAST_BACK_OFFICE_QUEUE" default:"64" help:"How many more of them wait; more are refused with 503 and Retry-After."`
	BackOfficeWait        time.Duration `name:"back-office-wait" env:"HOLDFAST_BACK_OFFICE_WAIT" default:"5s" help:"How long they wait before they are refused."`
}

// limitDefaults are the defaults that help shows, from where they are kept.
func limitDefaults() map[string]string {
	limits := graph.DefaultRateLimits()
	return map[string]string{
		"rateSession": limits.Session.String(), "rateAddress": limits.Address.String(), "rateUnknown": limits.Unknown.String(),
		"ratePublishable": limits.Publishable.String(), "ratePartner": limits.Partner.String(),
		"rateAdmin": limits.Admin.String(), "ratePlatform": limits.Platform.String(),
	}
}

const mostMaxConnections = 1_000_000

// validate finds out before anything is opened.
func (f limitFlags) validate() error {
	for _, bound := range []struct {
		flag      string
		got, most int
	}{
		{"--max-connections", f.MaxConnections, mostMaxConnections},
		{"--database-connections", f.DatabaseConnections, 10_000},
		{"--back-office-connections", f.BackOfficeConnections, 10_000},
		{"--buying-operations", f.BuyingOperations, 100_000},
		{"--back-office-operations", f.BackOfficeOperations, 100_000},
		{"--back-office-queue", f.BackOfficeQueue, 100_000},
		{"--rate-callers", f.RateCallers, 10_000_000},
	} {
		if bound.got < 1 || bound.got > bound.most {
			return fmt.Errorf("%s: expected 1 to %d, got %d", bound.flag, bound.most, bound.got)
		}
	}
	if f.BackOfficeConnections >= f.DatabaseConnections {
		return fmt.Errorf("--back-office-connections: expected fewer than the %d of --database-connections, got %d", f.DatabaseConnections, f.BackOfficeConnections)
	}
	if f.BackOfficeWait <= 0 {
		return fmt.Errorf("--back-office-wait: expected a time such as 5s, got %s", f.BackOfficeWait)
	}
	if _, err := f.addresses(); err != nil {
		return err
	}
	_, err := f.rateLimits()
	return err
}

// addresses tell where requests come from, whether or not anything is limited by that.
func (f limitFlags) addresses() (ratelimit.Addresses, error) {
	addresses, err := ratelimit.NewAddresses(f.TrustedProxies, f.ClientAddress)
	if err != nil {
		return ratelimit.Addresses{}, fmt.Errorf("--trusted-proxies, --client-address-header: %w", err)
	}
	return addresses, nil
}

// rateLimits are nil when they are turned off.
func (f limitFlags) rateLimits() (*graph.RateLimits, error) {
	limits := &graph.RateLimits{Callers: f.RateCallers}
	var err error
	allOff := true
	for _, policy := range []struct {
		flag, text string
		target     *ratelimit.Policy
	}{
		{"--rate-session", f.RateSession, &limits.Session},
		{"--rate-address", f.RateAddress, &limits.Address},
		{"--rate-unknown", f.RateUnknown, &limits.Unknown},
		{"--rate-publishable", f.RatePublishable, &limits.Publishable},
		{"--rate-partner", f.RatePartner, &limits.Partner},
		{"--rate-admin", f.RateAdmin, &limits.Admin},
		{"--rate-platform", f.RatePlatform, &limits.Platform},
	} {
		if *policy.target, err = ratelimit.ParsePolicy(policy.text); err != nil {
			return nil, fmt.Errorf("%s: %w, got %q", policy.flag, err, policy.text)
		}
		allOff = allOff && policy.target.Unlimited()
	}
	if !f.RateLimits || allOff {
		return nil, nil //nolint:nilnil // no limits are none
	}
	return limits, nil
}

func (f limitFlags) lanes() graph.Lanes {
	return graph.Lanes{Buying: f.BuyingOperations, BackOffice: f.BackOfficeOperations, BackOfficeQueue: f.BackOfficeQueue, BackOfficeWait: f.BackOfficeWait}
}

// share sets how many connections there are and how many of them are the back office's.
func (f limitFlags) share(config *db.Config) {
	config.MaxConnections, config.BackOfficeConnections = f.DatabaseConnections, f.BackOfficeConnections
}
