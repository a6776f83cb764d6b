package waitlist

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// Authorizer decides what an actor may do; package policies implements it.
type Authorizer interface {
	Authorize(actor tenants.Actor, action tenants.Action, tenant tenants.TenantID) error
}

// Stock is what waiting lists ask of stock; an inventory.Service is one.
type Stock interface {
	JudgeWish(ctx context.Context, actor tenants.Actor, action tenants.Action, lines []inventory.LineRequest) (inventory.Wanted, error)
	MayFit(ctx context.Context, tenant tenants.TenantID, region ids.Region, wishes []inventory.WaitingWish) ([]bool, error)
	PlaceOffers(ctx context.Context, offers inventory.Offers) ([]error, error)
	ReleaseHold(ctx context.Context, actor tenants.Actor, id inventory.HoldID, requestKey string) (inventory.Hold, error)
}

var _ Stock = (*inventory.Service)(nil)

// Teller writes an event to the outbox in the transaction of its change, with the job that tells others.
type Teller interface {
	TellTx(ctx context.Context, tx pgx.Tx, event events.NewEvent) error
}

// Config is how a process serves waiting lists. The zero value is good.
type Config struct {
	// LookEvery is how often at most it is looked whether those who wait in a list can be served, by all
	// processes together. Default 1 second.
	LookEvery time.Duration
	// Logger hears of lists that could not be served. Default: nobody.
	Logger *slog.Logger
	// Metrics receives the metrics. Default: a registry that nobody reads.
	Metrics prometheus.Registerer
}

// Service is what callers do with waiting lists. Its methods authorise, validate and open the transaction.
type Service struct {
	db         *db.DB
	authorizer Authorizer
	stock      Stock
	teller     Teller
	config     Config
	metrics    *metrics
}

// NewService needs a migrated database, the stock, and who writes events.
func NewService(d *db.DB, authorizer Authorizer, stock Stock, teller Teller, config Config) (*Service, error) {
	if config.LookEvery < 0 {
		return nil, fmt.Errorf("waiting lists: LookEvery: expected a duration such as 1s, got %s", config.LookEvery)
	}
	if config.LookEvery == 0 {
		config.LookEvery = time.Second
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Metrics == nil {
		config.Metrics = prometheus.NewRegistry()
	}
	s := &Service{db: d, authorizer: authorizer, stock: stock, teller: teller, config: config}
	measured, err := newMetrics(config.Metrics, s)
	s.metrics = measured
	return s, err
}

// authorizeAt authorises an action on the list of a show or a hotel.
func (s *Service) authorizeAt(ctx context.Context, actor tenants.Actor, action tenants.Action, scope Scope) error {
	if err := scope.validate(); err != nil {
		return err
	}
	return inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, action, scope.name(), scope.region(), scope.id())
}
