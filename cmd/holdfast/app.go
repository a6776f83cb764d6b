package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/holdfast/holdfast/admission"
	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/events/webhooks"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/embedded"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/offline"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/schema"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/trade"
	"github.com/holdfast/holdfast/waitlist"
)

// databaseName is the database that Holdfast makes on an engine that it started itself.
const databaseName = "holdfast"

// store is an open database, with the engine behind it when Holdfast started one.
type store struct {
	db       *db.DB
	url      string
	engine   *embedded.Engine
	registry *prometheus.Registry
}

// openStore connects to the configured database, or finds or starts an engine. dataDir "" is a
// throw-away one. Reads are never stale unless change says so: most commands read back what they have
// written.
func openStore(ctx context.Context, databaseURL, dataDir string, progress io.Writer, logger *slog.Logger, change ...func(*db.Config)) (*store, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s := &store{registry: registry}
	target := databaseURL
	if databaseURL == "" {
		engineDir := ""
		if dataDir != "" {
			engineDir = filepath.Join(dataDir, engineFolder)
		}
		engine, err := embedded.Start(ctx, embedded.Config{DataDir: engineDir, Progress: progress, Logger: logger})
		if err != nil {
			return nil, dataDirProblem(dataDir, err)
		}
		s.engine = engine
		if target, err = createDatabase(ctx, engine.URL(), databaseName); err != nil {
			return nil, errors.Join(err, s.closeEngine(ctx))
		}
	}
	config := db.Config{URL: target, Metrics: registry}
	for _, c := range change {
		c(&config)
	}
	opened, err := db.Open(ctx, config)
	if err != nil {
		return nil, errors.Join(err, s.closeEngine(ctx))
	}
	s.db, s.url = opened, target
	return s, nil
}

// close stops an engine that Holdfast started, also when ctx has ended: it often ends because of
// that.
func (s *store) close(ctx context.Context) error {
	s.db.Close()
	return s.closeEngine(ctx)
}

func (s *store) closeEngine(ctx context.Context) error {
	if s.engine == nil {
		return nil
	}
	return s.engine.Stop(context.WithoutCancel(ctx))
}

// migrate makes or updates every table, River's included.
func (s *store) migrate(ctx context.Context, logger *slog.Logger) error {
	if err := schema.Migrate(ctx, s.db, logger); err != nil {
		return err
	}
	return jobs.Migrate(ctx, s.db)
}

// createDatabase makes a database on a server when it is not there, and is its URL.
func createDatabase(ctx context.Context, server, name string) (string, error) {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", fmt.Errorf("connect to the database server: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	if err != nil && !databaseExists(err) {
		return "", fmt.Errorf("create the database: %w", err)
	}
	target, err := url.Parse(server)
	if err != nil {
		return "", errors.New("the engine's address cannot be read")
	}
	target.Path = "/" + name
	return target.String(), nil
}

// databaseExists tells that CREATE DATABASE failed because somebody made it before, or, as
// PostgreSQL says it through the index of its catalog, is making it at this moment.
func databaseExists(err error) bool {
	const duplicateDatabase, uniqueViolation, databaseNames = "42P04", "23505", "pg_database_datname_index"
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) &&
		(pgErr.Code == duplicateDatabase || pgErr.Code == uniqueViolation && pgErr.ConstraintName == databaseNames)
}

// app is the services over one store.
type app struct {
	store     *store
	logger    *slog.Logger
	policy    *policies.Enforcer
	tenants   *tenants.Service
	inventory *inventory.Service
	admission *admission.Service
	trade     *trade.Service
	waitlists *waitlist.Service
	bookings  *bookings.Service
	advisor   *bookings.Advisor
	events    *events.Service
	webhooks  *webhooks.Sender
}

// appSettings are what differs between the commands. The zero value fits all that sell nothing.
type appSettings struct {
	// receivers says to whom webhooks may go.
	receivers webhooks.Config
	// regions are those that tenants may use; none are all.
	regions []ids.Region
	// onlyConfigured refuses new tenants whose payment provider cannot be reached: of a server, to which
	// their buyers will come.
	onlyConfigured bool
	// tokens judges those of identity providers; nil lets nobody sign in with one.
	tokens tenants.TokenVerifier
	// tuneSales changes the saga's configuration; nil leaves it.
	tuneSales func(*bookings.Config)
}

// newApp wires the services. gateways are the payment providers that this process can reach;
// offline is always among them.
func newApp(ctx context.Context, s *store, gateways map[string]payments.Gateway, logger *slog.Logger, settings appSettings) (*app, error) {
	if err := schema.RequireVersion(ctx, s.db); err != nil {
		return nil, err
	}
	enforcer, err := policies.New()
	if err != nil {
		return nil, fmt.Errorf("load the policy: %w", err)
	}
	enqueuer, err := jobs.NewEnqueuer(ctx, s.db)
	if err != nil {
		return nil, err
	}
	all := map[string]payments.Gateway{offlineProvider: offline.Gateway{}}
	for name, gateway := range gateways {
		all[name] = gateway
	}
	// Only where no money moves may a buyer be sent back to a shop on a developer's machine.
	_, pretends := gateways[sandbox.Name]
	bookingsConfig := bookings.Config{Logger: logger, LoopbackReturn: pretends}
	if settings.tuneSales != nil {
		settings.tuneSales(&bookingsConfig)
	}
	if err := bookingsConfig.Validate(); err != nil {
		return nil, err
	}
	tenantsConfig := tenants.Config{Logger: logger, Regions: settings.regions, Tokens: settings.tokens}
	if settings.onlyConfigured {
		tenantsConfig.Providers = slices.Sorted(maps.Keys(all))
	}
	if err := tenantsConfig.Validate(); err != nil {
		return nil, fmt.Errorf("tenants: %w", err)
	}
	sales := bookings.NewService(s.db, enforcer, all, enqueuer, bookingsConfig)
	if s.registry != nil {
		if err := s.registry.Register(bookings.NewCollector(sales)); err != nil {
			return nil, fmt.Errorf("register the metrics of payments: %w", err)
		}
	}
	sender, err := webhooks.New(settings.receivers)
	if err != nil {
		return nil, err
	}
	eventsConfig := events.Config{Logger: logger}
	if s.registry != nil {
		eventsConfig.Metrics = s.registry
	}
	outbox, err := events.NewService(s.db, enforcer, sender, enqueuer, eventsConfig) //nolint:contextcheck // its gauges are read at no request of ours
	if err != nil {
		return nil, err
	}
	stock := inventory.NewService(s.db, enforcer, inventory.Announcing(bookings.NewAnnouncer(enqueuer)))
	if s.registry != nil {
		for _, figures := range stock.Metrics() {
			if err := s.registry.Register(figures); err != nil {
				return nil, fmt.Errorf("register the metrics of claims: %w", err)
			}
		}
	}
	rooms, err := newWaitingRooms(s, enforcer, logger)
	if err != nil {
		return nil, err
	}
	listsConfig := waitlist.Config{Logger: logger}
	if s.registry != nil {
		listsConfig.Metrics = s.registry
	}
	lists, err := waitlist.NewService(s.db, enforcer, stock, bookings.NewAnnouncer(enqueuer), listsConfig) //nolint:contextcheck // its gauges are read at no request of ours
	if err != nil {
		return nil, err
	}
	return &app{
		store: s, logger: logger, policy: enforcer, events: outbox, webhooks: sender,
		tenants:   tenants.NewService(s.db, enforcer, tenantsConfig),
		inventory: stock,
		trade:     trade.NewService(s.db, enforcer, stock),
		admission: rooms,
		waitlists: lists,
		bookings:  sales,
		advisor:   bookings.NewAdvisor(s.db, enforcer, stock),
	}, nil
}

// offlineProvider names money that was taken elsewhere: at a box office, or in an imported history.
const offlineProvider = "offline"

func (a *app) close() {
	a.bookings.Close()
	a.admission.Close()
	a.tenants.Close()
	a.webhooks.Close()
}

// withApp opens the configured store with its services for one command. A data directory must have
// a database already; none at all is a throw-away one.
func (c *cli) withApp(ctx context.Context, act func(ctx context.Context, a *app) error, change ...func(*db.Config)) error {
	return c.withProviders(ctx, nil, act, change...)
}

// withProviders is withApp for a command that asks payment providers.
func (c *cli) withProviders(ctx context.Context, gateways map[string]payments.Gateway, act func(ctx context.Context, a *app) error, change ...func(*db.Config)) (err error) {
	if c.DatabaseURL == "" && c.DataDir != "" {
		if err := requireData(c.DataDir); err != nil {
			return err
		}
	}
	logger := c.logger()
	s, err := openStore(ctx, c.DatabaseURL, c.DataDir, os.Stderr, logger, change...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if s.engine != nil {
		// An engine of our own is brought up to date; a configured database only by `migrate`.
		if err := s.migrate(ctx, logger); err != nil {
			return err
		}
	}
	a, err := newApp(ctx, s, gateways, logger, appSettings{})
	if err != nil {
		return err
	}
	defer a.close()
	return act(ctx, a)
}
