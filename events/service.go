package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/events/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/tenants"
)

// Authorizer decides what an actor may do; package policies implements it.
type Authorizer interface {
	Authorize(actor tenants.Actor, action tenants.Action, tenant tenants.TenantID) error
}

// Lane is an endpoint in a region: deliveries of one lane are sent after each other, lanes beside
// each other.
type Lane struct {
	Tenant   tenants.TenantID
	Region   ids.Region
	Endpoint EndpointID
}

// Enqueuer puts jobs that call Deliver into the transaction of the change that they follow from.
// Package jobs has one.
type Enqueuer interface {
	EnqueueDeliveriesTx(ctx context.Context, tx pgx.Tx, lanes ...Lane) error
}

// Message is one try of one delivery.
type Message struct {
	// ID is the event's: the same in each try, and in each replay.
	ID  string
	URL string
	// Secrets are one, or two while a rotation lasts, the newest first.
	Secrets []string
	Body    []byte
}

// Answer is what became of a try.
type Answer struct {
	// Status is the receiver's HTTP status, or 0 when it gave none.
	Status int
	// Error says in a few words, and without anything that the receiver wrote, why the message does
	// not count as delivered. Empty: it does.
	Error string
}

// Delivered says that the receiver took the message.
func (a Answer) Delivered() bool { return a.Error == "" }

// gone says that the receiver wants no more: 410 Gone.
func (a Answer) gone() bool {
	const statusGone = 410
	return a.Status == statusGone
}

// Sender takes messages to receivers; package webhooks has one.
type Sender interface {
	// Check refuses a URL to which nothing would be sent, with a fault.KindInvalid about the field
	// "url".
	Check(url string) error
	// Send makes one try. It ends in a bounded time.
	Send(ctx context.Context, message Message) Answer
}

// Config adjusts a Service. The zero value works.
type Config struct {
	// FeedHorizon is how old an event must be to stand in the feed. Events carry the moment at which
	// their transaction read the clock, and appear when it commits; a reader that was past that moment
	// already would miss them. So it must be longer than the longest transaction, which package db
	// bounds to 15 seconds. Default 20 seconds.
	FeedHorizon time.Duration
	// MaxPerEndpoint is how many deliveries to one endpoint are under way at once in this process.
	// Default 2.
	MaxPerEndpoint int
	// Metrics receives the metrics of deliveries. Default: a registry that nobody reads.
	Metrics prometheus.Registerer
	// Logger receives what a person may need to know. Default: nowhere.
	Logger *slog.Logger
	// AfterStep is called after "send", outside any transaction. Failure tests use it to stop there;
	// nil is nothing.
	AfterStep func(step string)
}

func (c Config) withDefaults() Config {
	if c.FeedHorizon == 0 {
		c.FeedHorizon = 20 * time.Second
	}
	if c.MaxPerEndpoint == 0 {
		c.MaxPerEndpoint = 2
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.AfterStep == nil {
		c.AfterStep = func(string) {}
	}
	return c
}

// Validate names the setting that is out of bounds.
func (c Config) Validate() error {
	if c.FeedHorizon < 0 || c.MaxPerEndpoint < 0 {
		return errors.New("events: FeedHorizon and MaxPerEndpoint must not be negative")
	}
	return nil
}

// Service keeps endpoints, and brings events to them. Its methods authorise, validate and open
// transactions. It is safe for concurrent use.
type Service struct {
	db         *db.DB
	authorizer Authorizer
	sender     Sender
	jobs       Enqueuer
	config     Config
	lanes      *lanes
	metrics    *metrics
}

// NewService needs a migrated database, a way to receivers, and where to put jobs.
func NewService(d *db.DB, authorizer Authorizer, sender Sender, jobs Enqueuer, config Config) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	s := &Service{db: d, authorizer: authorizer, sender: sender, jobs: jobs, config: config, lanes: newLanes(config.MaxPerEndpoint)}
	var err error
	if s.metrics, err = newMetrics(config.Metrics, s); err != nil {
		return nil, err
	}
	return s, nil
}

// reach is the one channel whose events and endpoints an actor deals with, or nil for all of its
// tenant's. Who has neither was refused before.
func reach(actor tenants.Actor) (*tenants.ChannelID, error) {
	switch actor.KeyType {
	case tenants.KeyTypeAdmin, tenants.KeyTypeMember:
		return nil, nil //nolint:nilnil // no bound is this function's answer
	case tenants.KeyTypePartner:
		return &actor.Channel, nil
	case tenants.KeyTypePlatform, tenants.KeyTypePublishable:
	}
	return nil, fault.Denied("events are for admin and partner keys")
}

// command is a call that may come twice.
type command struct {
	identity    request.Identity
	fingerprint []byte
}

// newCommand binds a request key to the operation and the key that uses it. content is the call's
// input after its validation.
func newCommand(operation string, actor tenants.Actor, region ids.Region, requestKey string, content any) (command, error) {
	if err := request.ValidateKey(requestKey); err != nil {
		return command{}, err
	}
	fingerprint, err := request.Fingerprint(content)
	return command{fingerprint: fingerprint, identity: request.Identity{
		Tenant: actor.Tenant.UUID, Region: region, Scope: operation + "/KEY/" + actor.Key.UUID.String(), Key: requestKey,
	}}, err
}

func (c command) claimTx(ctx context.Context, tx pgx.Tx, result uuid.UUID) (earlier uuid.UUID, replayed bool, err error) {
	return request.Claim(ctx, tx, c.identity, c.fingerprint, result)
}

// home is the region of what belongs to a tenant and to no place: it never changes.
func (s *Service) home(ctx context.Context, tenant tenants.TenantID) (ids.Region, error) {
	region, err := dbsqlc.New(s.db.Pool()).TenantHome(ctx, tenant.UUID)
	if db.IsNoRows(err) {
		return "", fault.NotFound("tenant")
	}
	if err != nil {
		return "", db.Classify(fmt.Errorf("read the home region of tenant %s: %w", tenant, err))
	}
	return ids.Region(region), nil
}

// clock is the database's.
func clock(ctx context.Context, queries *dbsqlc.Queries) (time.Time, error) {
	now, err := queries.ClockGet(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}

func checkPage(limit int) error {
	if limit < 1 || limit > MaxPage {
		return fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	return nil
}
