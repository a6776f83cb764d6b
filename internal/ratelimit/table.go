package ratelimit

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Policy is how fast a bucket fills and how much it holds. The zero value allows everything.
type Policy struct {
	// PerSecond is how many requests a second may be made for ever.
	PerSecond float64
	// Burst is how many may be made at once after a pause.
	Burst int
}

// Unlimited is whether the policy allows everything.
func (p Policy) Unlimited() bool { return p == Policy{} }

// Limits of a policy.
const (
	maxPerSecond = 1_000_000
	maxBurst     = 1_000_000
)

// errPolicy says what ParsePolicy expects.
var errPolicy = errors.New("expected requests a second and how many at once, such as 10/40, or off")

// ParsePolicy reads "10/40", which is ten a second and forty at once, or "off".
func ParsePolicy(text string) (Policy, error) {
	if text == "off" {
		return Policy{}, nil
	}
	perSecond, burst, found := strings.Cut(text, "/")
	if !found {
		return Policy{}, errPolicy
	}
	var p Policy
	var err error
	if p.PerSecond, err = strconv.ParseFloat(perSecond, 64); err != nil {
		return Policy{}, errPolicy
	}
	if p.Burst, err = strconv.Atoi(burst); err != nil {
		return Policy{}, errPolicy
	}
	return p, p.validate()
}

// validate is written so that NaN fails it.
func (p Policy) validate() error {
	if !(p.PerSecond >= 0.001 && p.PerSecond <= maxPerSecond) || p.Burst < 1 || p.Burst > maxBurst {
		return fmt.Errorf("%w: from 0.001/1 to %d/%d", errPolicy, maxPerSecond, maxBurst)
	}
	return nil
}

// String is what ParsePolicy reads.
func (p Policy) String() string {
	if p.Unlimited() {
		return "off"
	}
	return strconv.FormatFloat(p.PerSecond, 'f', -1, 64) + "/" + strconv.Itoa(p.Burst)
}

// Window is how long an empty bucket takes to be full again.
func (p Policy) Window() time.Duration {
	return time.Duration(float64(p.Burst) / p.PerSecond * float64(time.Second))
}

// State is what a bucket says after it was asked.
type State struct {
	Policy Policy
	// Allowed is whether the request may be made.
	Allowed bool
	// Remaining is how many more could be made at once.
	Remaining int
	// RetryAfter is when one can be made; zero when it can be now.
	RetryAfter time.Duration
	// Reset is when the bucket is full if nothing is asked.
	Reset time.Duration
}

// Table keeps the buckets of callers.
type Table struct {
	// buckets forgets the one that was asked longest ago. One that is forgotten begins anew full, so the
	// table must be larger than the number of callers who are near their limits at once; what an
	// attacker can make many of, sessions and addresses, is bounded by another bucket before.
	buckets *lru.Cache[string, *rate.Limiter]
}

// NewTable makes a table of at most size buckets, each about 300 bytes with its name.
func NewTable(size int) (*Table, error) {
	buckets, err := lru.New[string, *rate.Limiter](size)
	if err != nil {
		return nil, fmt.Errorf("make a table of rate limits: %w", err)
	}
	return &Table{buckets: buckets}, nil
}

// Take asks for one request in the name of a caller.
func (t *Table) Take(name string, policy Policy) State {
	bucket, now := t.bucket(name, policy), time.Now()
	allowed := bucket.AllowN(now, 1)
	return stateOf(bucket, now, policy, allowed)
}

// Peek is what Take would find, without taking.
func (t *Table) Peek(name string, policy Policy) State {
	bucket, now := t.bucket(name, policy), time.Now()
	return stateOf(bucket, now, policy, bucket.TokensAt(now) >= 1)
}

// Len is how many buckets there are.
func (t *Table) Len() int { return t.buckets.Len() }

func (t *Table) bucket(name string, policy Policy) *rate.Limiter {
	if known, ok := t.buckets.Get(name); ok {
		return known
	}
	fresh := rate.NewLimiter(rate.Limit(policy.PerSecond), policy.Burst)
	// Of two who come first at once, both use the one that was stored.
	if known, ok, _ := t.buckets.PeekOrAdd(name, fresh); ok {
		return known
	}
	return fresh
}

// stateOf looks at a bucket. A clock that was set back leaves the tokens as they were.
func stateOf(bucket *rate.Limiter, now time.Time, policy Policy, allowed bool) State {
	tokens := bucket.TokensAt(now)
	s := State{Policy: policy, Allowed: allowed, Remaining: max(0, int(math.Floor(tokens)))}
	s.Reset = fillTime(float64(policy.Burst)-tokens, policy)
	if !allowed {
		s.RetryAfter = fillTime(1-tokens, policy)
	}
	return s
}

func fillTime(missing float64, policy Policy) time.Duration {
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / policy.PerSecond * float64(time.Second))
}
