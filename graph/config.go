package graph

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/internal/ratelimit"
)

// Config is what NewHandler needs. The services must be given; everything else has a default.
type Config struct {
	Tenants   Tenants
	Inventory Inventory
	Bookings  Bookings
	Advisor   Advisor
	Events    Events
	Admission Admission
	Trade     Trade
	// WaitingLists are those who wait for what is sold out.
	WaitingLists WaitingLists
	// Authorizer decides who may run the audit. Default: the product's policy.
	Authorizer Authorizer

	// Logger hears of internal errors, with their ids, and of dependencies that are down. Default:
	// nobody.
	Logger *slog.Logger
	// Metrics receives the metrics of operations. Default: a registry that nobody reads.
	Metrics prometheus.Registerer
	// Introspection lets anybody with a key read the schema, as the explorer needs. Default off.
	Introspection bool
	// AllowedOrigins are the web origins whose pages may call from a browser, such as
	// "https://tickets.example.com". Default: any. That is safe, because nothing identifies a caller
	// but the headers that a page has to set itself; there are no cookies.
	AllowedOrigins []string

	// RateLimits bound how many requests each caller may make. Default: none; `holdfast serve` has
	// those of DefaultRateLimits.
	RateLimits *RateLimits
	// Lanes bound how many operations run at once, apart for buying and for the back office.
	Lanes Lanes

	// MaxBodyBytes bounds the body of a request. Default 1 MiB.
	MaxBodyBytes int64
	// MaxAdminBodyBytes bounds the body of a request with an admin key, which may carry a seating
	// plan. Default 16 MiB.
	MaxAdminBodyBytes int64
	// MaxQueryBytes bounds the text of an operation, without its variables. Default 128 KiB.
	MaxQueryBytes int
	// MaxTokens bounds the words and signs of an operation. Default 10,000.
	MaxTokens int
	// MaxDepth bounds how deep the fields of an operation are nested. Default 15.
	MaxDepth int
	// MaxCost bounds the cost of an operation: one for each field, for each item that a list may
	// have, and more for the fields that are expensive to read. Default 10,000.
	MaxCost int
	// MaxDuration bounds the time that one operation may take. Default 30 seconds.
	MaxDuration time.Duration
	// MaxPersistedQueries bounds how many operations are remembered, parsed and by their hash.
	// Default 1,000.
	MaxPersistedQueries int
	// MaxCachedSeats bounds the charts kept in memory, at about 300 bytes a seat. Default 500,000.
	MaxCachedSeats int
	// MaxAnswerAge is how old what a kept answer says may be when it is sent. Answers are kept for public
	// queries over GET only. Default 2 seconds.
	MaxAnswerAge time.Duration
	// MaxAnswerBytes bounds the memory of kept answers. Default 64 MiB.
	MaxAnswerBytes int64
	// Streams are the handler's subscriptions, for whoever ends them before the process stops. Default:
	// some that nobody ends.
	Streams *Streams
	// MaxSubscribers bounds the connections of subscribers. Default 10,000.
	MaxSubscribers int
	// MaxSubscriptionsPerKey bounds the subscriptions with one key. Default 5,000.
	MaxSubscriptionsPerKey int
	// MaxSubscribersPerAddress bounds the connections, and the subscriptions, from one address. Default 1,000,
	// because many people may share one.
	MaxSubscribersPerAddress int
	// Addresses tells where a request comes from, for limits, subscribers and the log of changes. Default:
	// from whoever connects.
	Addresses ratelimit.Addresses
	// BatchWait is how long a field waits for others that want something of the same kind, so that
	// it is read at once. Default 1 millisecond.
	BatchWait time.Duration
}

// maxBatch bounds the ids of one batched read.
const maxBatch = 500

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	for _, set := range []struct {
		target *int64
		value  int64
	}{{&c.MaxBodyBytes, 1 << 20}, {&c.MaxAdminBodyBytes, 16 << 20}, {&c.MaxAnswerBytes, 64 << 20}} {
		if *set.target == 0 {
			*set.target = set.value
		}
	}
	for _, set := range []struct {
		target *int
		value  int
	}{
		{&c.MaxQueryBytes, 128 << 10},
		{&c.MaxTokens, 10_000},
		{&c.MaxDepth, 15},
		{&c.MaxCost, 10_000},
		{&c.MaxPersistedQueries, 1000},
		{&c.MaxCachedSeats, 500_000},
		{&c.MaxSubscribers, 10_000},
		{&c.MaxSubscriptionsPerKey, 5000},
		{&c.MaxSubscribersPerAddress, 1000},
	} {
		if *set.target == 0 {
			*set.target = set.value
		}
	}
	c.Lanes = c.Lanes.withDefaults()
	if c.MaxDuration == 0 {
		c.MaxDuration = 30 * time.Second
	}
	if c.MaxAnswerAge == 0 {
		c.MaxAnswerAge = 2 * time.Second
	}
	if c.Streams == nil {
		c.Streams = NewStreams()
	}
	if c.BatchWait == 0 {
		c.BatchWait = time.Millisecond
	}
	return c
}

// Validate names the setting that is missing or out of its range.
func (c Config) Validate() error {
	if c.Tenants == nil || c.Inventory == nil || c.Bookings == nil || c.Advisor == nil || c.Events == nil || c.Admission == nil || c.Trade == nil || c.WaitingLists == nil {
		return errors.New("graph: Tenants, Inventory, Bookings, Advisor, Events, Admission, Trade and WaitingLists must be given")
	}
	for _, bound := range []struct {
		name  string
		value int64
	}{
		{"MaxBodyBytes", c.MaxBodyBytes},
		{"MaxAdminBodyBytes", c.MaxAdminBodyBytes},
		{"MaxQueryBytes", int64(c.MaxQueryBytes)},
		{"MaxTokens", int64(c.MaxTokens)},
		{"MaxDepth", int64(c.MaxDepth)},
		{"MaxCost", int64(c.MaxCost)},
		{"MaxDuration", int64(c.MaxDuration)},
		{"MaxPersistedQueries", int64(c.MaxPersistedQueries)},
		{"MaxCachedSeats", int64(c.MaxCachedSeats)},
		{"MaxSubscribers", int64(c.MaxSubscribers)},
		{"MaxSubscriptionsPerKey", int64(c.MaxSubscriptionsPerKey)},
		{"MaxSubscribersPerAddress", int64(c.MaxSubscribersPerAddress)},
		{"MaxAnswerAge", int64(c.MaxAnswerAge)},
		{"MaxAnswerBytes", c.MaxAnswerBytes},
		{"BatchWait", int64(c.BatchWait)},
	} {
		if bound.value < 0 {
			return fmt.Errorf("graph: %s must not be negative", bound.name)
		}
	}
	if err := c.Lanes.validate(); err != nil {
		return err
	}
	if c.RateLimits != nil {
		if err := c.RateLimits.validate(); err != nil {
			return err
		}
	}
	for _, origin := range c.AllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.Path != "" || u.RawQuery != "" {
			return fmt.Errorf("graph: AllowedOrigins: expected an origin such as \"https://tickets.example.com\", got %q", origin)
		}
	}
	return nil
}
