package bookingstest

import (
	"context"
	"crypto/rand"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/policies"
)

// Patience bounds every wait of tests; none should ever take that long.
const Patience = 30 * time.Second

// HangingCallTimeout is for tests whose provider never answers: long enough for the rest of a call
// on a busy machine, short enough to wait for.
const HangingCallTimeout = 400 * time.Millisecond

// Setup is what a shop is made of; see New for the defaults.
type Setup struct {
	// DB is the database. Default: the test package's.
	DB *db.DB
	// Sales tunes the saga. Default: a checkout waits for its payment as long as it takes.
	Sales bookings.Config
	// Provider sets up the sandbox. Default: a hundred times faster than its tokens say.
	Provider sandbox.Config
	// Jobs takes the jobs of the saga. Default: nobody does them.
	Jobs bookings.Enqueuer
	// Webhooks makes the address to which the provider sends its events. Default: they go nowhere.
	Webhooks func(s *Shop) (url string)
}

// Shop is a tenant that sells.
type Shop struct {
	*inventorytest.Tenant
	// Sales is the process that serves; see Restart.
	Sales    *bookings.Service
	Provider *sandbox.Server
	Gateway  *sandbox.Gateway
	// ProviderName and Account are where the shop's money is taken.
	ProviderName string
	Account      string

	t       testing.TB
	jobs    bookings.Enqueuer
	current *atomic.Pointer[bookings.Service]
}

// Nobody is an Enqueuer whose jobs are lost: whatever the saga ends in, it ends in it without them.
type Nobody struct{}

// EnqueueTx forgets the jobs.
func (Nobody) EnqueueTx(context.Context, pgx.Tx, ...bookings.Job) error { return nil }

// New opens a shop.
func New(t testing.TB, change ...func(*Setup)) *Shop {
	t.Helper()
	setup := Setup{
		Sales:    bookings.Config{InlineWait: Patience},
		Provider: sandbox.Config{SecretKey: "sk_sandbox_test", WebhookSecrets: []string{"whsec_sandbox_test"}, TimeScale: 0.01},
		Jobs:     Nobody{},
	}
	for _, c := range change {
		c(&setup)
	}
	if setup.DB == nil {
		setup.DB = dbtest.Open(t)
	}
	shop := &Shop{
		Tenant: inventorytest.NewOn(t, setup.DB), ProviderName: "sandbox-" + strings.ToLower(rand.Text()[:12]),
		t: t, jobs: setup.Jobs, current: &atomic.Pointer[bookings.Service]{},
	}
	shop.startProvider(setup.Provider)
	shop.Exec("UPDATE tenants SET payment_provider = $2 WHERE id = $1", shop.ProviderName)
	shop.Account = shop.ID.String()
	shop.Restart(setup.Sales)
	if setup.Webhooks != nil {
		if err := shop.Provider.SetWebhookURL(setup.Webhooks(shop)); err != nil {
			t.Fatal(err)
		}
	}
	return shop
}

func (s *Shop) startProvider(config sandbox.Config) {
	s.t.Helper()
	server, err := sandbox.NewServer(config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			s.t.Error(err)
		}
	})
	if err := server.Start(s.t.Context(), "127.0.0.1:0"); err != nil {
		s.t.Fatal(err)
	}
	gateway, err := sandbox.NewGateway(server.GatewayConfig())
	if err != nil {
		s.t.Fatal(err)
	}
	s.Provider, s.Gateway = server, gateway
}

// Restart makes a new process of the service, as after a crash of the old one, on the same database
// and provider. Webhooks go to it from now on.
func (s *Shop) Restart(config bookings.Config) {
	s.t.Helper()
	s.Sales = s.Service(config, s.Gateway)
	s.current.Store(s.Sales)
}

// Service is one more process of the shop, with a gateway of the test's choice.
func (s *Shop) Service(config bookings.Config, gateway payments.Gateway) *bookings.Service {
	s.t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := config.Validate(); err != nil {
		s.t.Fatal(err)
	}
	sales := bookings.NewService(s.DB, enforcer, map[string]payments.Gateway{s.ProviderName: gateway}, s.jobs, config)
	s.t.Cleanup(sales.Close)
	return sales
}

// Current is the process that serves at the moment, for callers that outlive a Restart, such as the
// shop's end of the webhooks.
func (s *Shop) Current() *bookings.Service { return s.current.Load() }

// Cleanup does something when the shop's test has ended.
func (s *Shop) Cleanup(act func()) { s.t.Cleanup(act) }

// Exec changes rows of the tenant behind the service's back; $1 is the tenant.
func (s *Shop) Exec(statement string, args ...any) {
	s.t.Helper()
	_, err := db.InTx(s.t.Context(), s.DB, "bookingstest.Exec", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		_, err := tx.Exec(ctx, statement, append([]any{s.ID.UUID}, args...)...)
		return struct{}{}, err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// For is the same shop with its failures reported to another test, such as a subtest.
func (s *Shop) For(t testing.TB) *Shop {
	other := *s
	other.t, other.Tenant = t, s.Tenant.For(t)
	return &other
}
