package graph

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/holdfast/holdfast/internal/ratelimit"
	"github.com/holdfast/holdfast/tenants"
)

// RateLimits are how many requests callers may make of this process. A policy that allows everything
// leaves its limit out.
type RateLimits struct {
	// Session bounds one guest or one partner's customer.
	Session ratelimit.Policy
	// Address bounds all guests at one address who come with a publishable key: a household, an office,
	// and a machine that makes sessions by the thousand.
	Address ratelimit.Policy
	// Unknown bounds, by address, requests without a good credential.
	Unknown ratelimit.Policy
	// Publishable, Partner, Admin and Platform bound one key of that kind, and Admin one member.
	Publishable, Partner, Admin, Platform ratelimit.Policy

	// Callers bounds how many sessions, addresses and keys are told apart at once. Default 100,000,
	// which is about 30 MB when all are in use.
	Callers int
}

// DefaultRateLimits are those of a process that serves shops. A person's browser asks one or two
// things a second; a shop's key stands in its pages and is everybody's, so that its limit is there to
// keep one shop from taking what all share.
func DefaultRateLimits() RateLimits {
	return RateLimits{
		Session:     ratelimit.Policy{PerSecond: 10, Burst: 40},
		Address:     ratelimit.Policy{PerSecond: 50, Burst: 400},
		Unknown:     ratelimit.Policy{PerSecond: 10, Burst: 100},
		Publishable: ratelimit.Policy{PerSecond: 5000, Burst: 10_000},
		Partner:     ratelimit.Policy{PerSecond: 200, Burst: 1000},
		Admin:       ratelimit.Policy{PerSecond: 100, Burst: 500},
		Platform:    ratelimit.Policy{PerSecond: 100, Burst: 500},
		Callers:     maxCallers,
	}
}

const (
	maxCallers      = 100_000
	mostCallersEver = 10_000_000
)

func (l RateLimits) validate() error {
	if l.Callers < 0 || l.Callers > mostCallersEver {
		return fmt.Errorf("graph: RateLimits.Callers: expected 1 to %d, or 0 for the default", mostCallersEver)
	}
	if l.Session.Unlimited() && l.Address.Unlimited() && l.Unknown.Unlimited() && l.Publishable.Unlimited() &&
		l.Partner.Unlimited() && l.Admin.Unlimited() && l.Platform.Unlimited() {
		return errors.New("graph: RateLimits: expected at least one policy; leave the whole out to allow everything")
	}
	return nil
}

// The names of the limits, in the headers and the metrics.
const (
	limitSession = "session"
	limitAddress = "address"
	limitUnknown = "unknown"
	limitKey     = "key"
)

// gate lets requests through as fast as their callers may make them. A nil gate lets all through.
type gate struct {
	limits  RateLimits
	table   *ratelimit.Table
	refused *prometheus.CounterVec
}

func newGate(limits *RateLimits, registerer prometheus.Registerer) (*gate, error) {
	if limits == nil {
		return nil, nil //nolint:nilnil // no gate is one that lets all through
	}
	g := &gate{
		limits: *limits,
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_rate_limited_total",
			Help: "Requests refused with 429 by the limit that was reached: session, address, key, or unknown, which are requests without a " +
				"good credential. A rising key is a partner or a shop that outgrows its limit; the others are mostly machines.",
		}, []string{"limit"}),
	}
	if g.limits.Callers == 0 {
		g.limits.Callers = maxCallers
	}
	var err error
	if g.table, err = ratelimit.NewTable(g.limits.Callers); err != nil {
		return nil, err
	}
	callers := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_rate_limit_callers",
		Help: "Sessions, addresses and keys that the rate limits tell apart at present. When it stays at its bound, those who were quiet " +
			"longest are forgotten and begin anew.",
	}, func() float64 { return float64(g.table.Len()) })
	for _, collector := range []prometheus.Collector{g.refused, callers} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register the metrics of rate limits: %w", err)
		}
	}
	return g, nil
}

// verdict is what the limits say of a request: where they stand, and whether it is refused.
type verdict struct {
	states  []ratelimit.Named
	refused *gqlerror.Error
}

// tell writes where the limits stand into the header of an answer.
func (v verdict) tell(w http.ResponseWriter) {
	if len(v.states) > 0 {
		ratelimit.Write(w.Header(), v.states)
	}
}

// beforeKnown refuses those who keep coming from a site without a good credential, before the database
// is asked who they are.
func (g *gate) beforeKnown(site string) verdict {
	if g == nil || g.limits.Unknown.Unlimited() {
		return verdict{}
	}
	state := g.table.Peek(limitUnknown+"/"+site, g.limits.Unknown)
	if state.Allowed {
		return verdict{}
	}
	return g.refuse([]ratelimit.Named{{Name: limitUnknown, State: state}})
}

// unknown counts a request without a good credential.
func (g *gate) unknown(site string) verdict {
	if g == nil || g.limits.Unknown.Unlimited() {
		return verdict{}
	}
	state := g.table.Take(limitUnknown+"/"+site, g.limits.Unknown)
	return verdict{states: []ratelimit.Named{{Name: limitUnknown, State: state}}}
}

// admit counts a request of a known caller. The limits are asked from the narrowest to the widest and
// none after one that refuses, so that a person who is refused takes nothing from everybody else's.
func (g *gate) admit(site string, actor tenants.Actor) verdict {
	if g == nil {
		return verdict{}
	}
	var states []ratelimit.Named
	for _, limit := range g.of(site, actor) {
		if limit.policy.Unlimited() {
			continue
		}
		state := g.table.Take(limit.name+"/"+limit.caller, limit.policy)
		states = append(states, ratelimit.Named{Name: limit.name, State: state})
		if !state.Allowed {
			return g.refuse(states)
		}
	}
	return verdict{states: states}
}

// callerLimit is a limit and whose it is.
type callerLimit struct {
	name, caller string
	policy       ratelimit.Policy
}

func (g *gate) of(site string, actor tenants.Actor) []callerLimit {
	limits := make([]callerLimit, 0, 3)
	if !actor.Session.IsZero() {
		limits = append(limits, callerLimit{limitSession, string(actor.Session.UUID[:]), g.limits.Session})
	}
	key := callerLimit{name: limitKey, caller: string(actor.Key.UUID[:])}
	switch actor.KeyType {
	case tenants.KeyTypePublishable:
		limits = append(limits, callerLimit{limitAddress, site, g.limits.Address})
		key.policy = g.limits.Publishable
	case tenants.KeyTypePartner:
		key.policy = g.limits.Partner
	case tenants.KeyTypeAdmin, tenants.KeyTypeMember:
		key.policy = g.limits.Admin
	case tenants.KeyTypePlatform:
		key.policy = g.limits.Platform
	}
	return append(limits, key)
}

func (g *gate) refuse(states []ratelimit.Named) verdict {
	last := states[len(states)-1]
	g.refused.WithLabelValues(last.Name).Inc()
	err := failure(codeRateLimited, whyLimited(last.Name))
	err.Extensions["limit"] = last.Name
	err.Extensions["retryAfterMs"] = max(1, last.RetryAfter.Milliseconds())
	return verdict{states: states, refused: err}
}

func whyLimited(name string) string {
	switch name {
	case limitSession:
		return "too many requests of this session: wait as long as Retry-After says"
	case limitAddress:
		return "too many requests from this address: wait as long as Retry-After says"
	case limitUnknown:
		return "too many requests from this address without a good key or session: wait as long as Retry-After says"
	}
	return "too many requests with this key: wait as long as Retry-After says"
}
