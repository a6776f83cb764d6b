package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/holdfast/holdfast/events/webhooks"
	"github.com/holdfast/holdfast/graph/explorer"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/payments/stripe"
)

// providerFlags say which payment providers a process can reach.
type providerFlags struct {
	SandboxURL            string `name:"sandbox-url" env:"HOLDFAST_SANDBOX_URL" help:"Address of a sandbox payment provider."`
	SandboxSecret         string `name:"sandbox-secret" env:"HOLDFAST_SANDBOX_SECRET" help:"The sandbox provider's secret key."`
	SandboxWebhookSecrets string `name:"sandbox-webhook-secrets" env:"HOLDFAST_SANDBOX_WEBHOOK_SECRETS" help:"Secrets accepted on the sandbox provider's webhooks, separated by commas."`

	StripeSecretKey       string        `name:"stripe-secret-key" env:"HOLDFAST_STRIPE_SECRET_KEY" help:"A secret or restricted key of Stripe; with it, tenants can be paid through Stripe."`
	StripeWebhookSecrets  string        `name:"stripe-webhook-secrets" env:"HOLDFAST_STRIPE_WEBHOOK_SECRETS" help:"Signing secrets accepted on Stripe's webhooks, separated by commas."`
	StripePlatformAccount string        `name:"stripe-platform-account" env:"HOLDFAST_STRIPE_PLATFORM_ACCOUNT" help:"The Stripe account that the key itself belongs to, if tenants are paid into it."`
	StripeReturnURL       string        `name:"stripe-return-url" env:"HOLDFAST_STRIPE_RETURN_URL" help:"Where buyers come back to after confirming a payment at their bank; without it such payments are declined."`
	StripeTimeout         time.Duration `name:"stripe-timeout" env:"HOLDFAST_STRIPE_TIMEOUT" help:"Bound on one request to Stripe. Default 20s."`
	StripeURL             string        `name:"stripe-url" env:"HOLDFAST_STRIPE_URL" help:"Address of Stripe's API, for tests against a double."`
}

// gateways are the adapters of the configured providers. No error repeats a secret.
func (p providerFlags) gateways() (map[string]payments.Gateway, error) {
	all := map[string]payments.Gateway{}
	if p.SandboxURL != "" {
		switch {
		case p.SandboxSecret == "":
			return nil, errors.New("HOLDFAST_SANDBOX_SECRET is not set, but HOLDFAST_SANDBOX_URL is")
		case p.SandboxWebhookSecrets == "":
			return nil, errors.New("HOLDFAST_SANDBOX_WEBHOOK_SECRETS is not set, but HOLDFAST_SANDBOX_URL is")
		}
		gateway, err := sandbox.NewGateway(sandbox.GatewayConfig{
			BaseURL: p.SandboxURL, SecretKey: p.SandboxSecret, WebhookSecrets: strings.Split(p.SandboxWebhookSecrets, ","),
		})
		if err != nil {
			return nil, fmt.Errorf("HOLDFAST_SANDBOX_URL, HOLDFAST_SANDBOX_SECRET, HOLDFAST_SANDBOX_WEBHOOK_SECRETS: %w", err)
		}
		all[sandbox.Name] = gateway
	}
	if p.StripeSecretKey != "" {
		if p.StripeWebhookSecrets == "" {
			return nil, errors.New("HOLDFAST_STRIPE_WEBHOOK_SECRETS is not set, but HOLDFAST_STRIPE_SECRET_KEY is")
		}
		gateway, err := stripe.NewGateway(stripe.Config{
			SecretKey: p.StripeSecretKey, WebhookSecrets: strings.Split(p.StripeWebhookSecrets, ","), PlatformAccount: p.StripePlatformAccount,
			ReturnURL: p.StripeReturnURL, Timeout: p.StripeTimeout, BaseURL: p.StripeURL,
		})
		if err != nil {
			return nil, fmt.Errorf("HOLDFAST_STRIPE_…: %w", err)
		}
		all[stripe.Name] = gateway
	} else if p.StripeWebhookSecrets != "" || p.StripePlatformAccount != "" || p.StripeReturnURL != "" || p.StripeURL != "" {
		return nil, errors.New("HOLDFAST_STRIPE_SECRET_KEY is not set, but other settings of Stripe are")
	}
	return all, nil
}

// receiverFlags say to whom webhooks may go.
type receiverFlags struct {
	WebhookHTTP    bool          `name:"webhook-http" env:"HOLDFAST_WEBHOOK_HTTP" help:"Let webhook endpoints have http URLs. For development."`
	WebhookPrivate bool          `name:"webhook-private" env:"HOLDFAST_WEBHOOK_PRIVATE" help:"Let webhook endpoints be at loopback, private and link-local addresses. For development: a tenant could call what only this process can reach."`
	WebhookTimeout time.Duration `name:"webhook-timeout" env:"HOLDFAST_WEBHOOK_TIMEOUT" default:"10s" help:"How long a receiver of webhooks has to answer, at most 15s."`
}

func (f receiverFlags) config() webhooks.Config {
	return webhooks.Config{AllowHTTP: f.WebhookHTTP, AllowPrivate: f.WebhookPrivate, Timeout: f.WebhookTimeout}
}

// stalenessFlag bounds the reads of a process that may be stale.
type stalenessFlag struct {
	MaxStaleness time.Duration `name:"max-staleness" env:"HOLDFAST_MAX_STALENESS" default:"5s" help:"On CockroachDB, how old lists, calendars, maps and audits may be at most, so that they neither wait for sales nor disturb them; 0 reads the present. Each read has a bound of its own, too."`
}

func (f stalenessFlag) allowStale(config *db.Config) { config.MaxStaleness = f.MaxStaleness }

type serveCommand struct {
	providerFlags
	regionMapFlag
	workFlags
	receiverFlags
	stalenessFlag
	limitFlags
	identityFlags
	Listen        string `env:"HOLDFAST_LISTEN" default:"127.0.0.1:8080" help:"Address to serve on."`
	Introspection bool   `env:"HOLDFAST_INTROSPECTION" help:"Let clients read the schema through introspection."`
	Explorer      bool   `env:"HOLDFAST_EXPLORER" help:"Serve the GraphQL explorer at /explorer/ (needs introspection)."`
	Admin         bool   `env:"HOLDFAST_ADMIN" help:"Serve the admin pages at /admin/: the job queues, for who signs in with a platform key."`
	Workers       bool   `env:"HOLDFAST_WORKERS" help:"Run the background workers in this process too; by default only holdfast work does."`
}

// Run serves until the process is told to stop, then finishes what is under way.
func (c *serveCommand) Run(ctx context.Context, root *cli) error {
	if err := errors.Join(c.workFlags.validate(), c.limitFlags.validate()); err != nil {
		return err
	}
	limits, err := c.rateLimits()
	if err != nil {
		return err
	}
	addresses, err := c.addresses()
	if err != nil {
		return err
	}
	return root.withProcess(ctx, c.providerFlags, c.receiverFlags, c.regionMapFlag, []func(*db.Config){c.allowStale, c.share}, c.identityFlags, func(ctx context.Context, a *app) error {
		options := httpOptions{introspection: c.Introspection, rateLimits: limits, addresses: addresses, lanes: c.lanes()}
		if c.Explorer {
			options.explorer = &explorer.Config{}
		}
		if c.Admin {
			var err error
			if options.admin, err = a.adminPages(ctx); err != nil {
				return err
			}
		}
		handler, err := a.handler(options)
		if err != nil {
			return err
		}
		listener, err := bind(ctx, c.Listen)
		if err != nil {
			return err
		}
		var workers *jobs.Workers
		if c.Workers {
			if workers, err = a.startWorkers(ctx, c.workFlags); err != nil {
				return errors.Join(err, listener.Close())
			}
		}
		s := serveOn(netutil.LimitListener(listener, c.MaxConnections), handler)
		a.logger.InfoContext(ctx, "serving", "url", s.url, "engine", a.store.db.Version())
		select {
		case <-ctx.Done():
			err = nil
		case err = <-s.failures:
		}
		return errors.Join(err, s.close(ctx), stopWorkers(ctx, workers))
	})
}

type workCommand struct {
	providerFlags
	stalenessFlag
	receiverFlags
	regionMapFlag
	workFlags
	Listen string `env:"HOLDFAST_LISTEN" default:"127.0.0.1:8081" help:"Address of /healthz, /readyz and /metrics. There is no API."`
}

// Run works until the process is told to stop, then finishes or hands back what is under way. The
// probes answer until the last job has ended.
func (c *workCommand) Run(ctx context.Context, root *cli) error {
	if err := c.validate(); err != nil {
		return err
	}
	return root.withProcess(ctx, c.providerFlags, c.receiverFlags, c.regionMapFlag, []func(*db.Config){c.allowStale}, identityFlags{}, func(ctx context.Context, a *app) error {
		listener, err := bind(ctx, c.Listen)
		if err != nil {
			return err
		}
		workers, err := a.startWorkers(ctx, c.workFlags)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		s := serveOn(listener, a.probes())
		a.logger.InfoContext(ctx, "working", "url", s.url, "engine", a.store.db.Version())
		select {
		case <-ctx.Done():
			err = nil
		case err = <-s.failures:
		}
		return errors.Join(err, stopWorkers(ctx, workers), s.close(ctx))
	})
}

// withProcess opens the configured database for a long-running process.
func (c *cli) withProcess(ctx context.Context, providers providerFlags, receivers receiverFlags, placed regionMapFlag, change []func(*db.Config), identities identityFlags, act func(ctx context.Context, a *app) error) (err error) {
	if c.DatabaseURL == "" {
		return errors.New("HOLDFAST_DATABASE_URL is not set: serve and work need a database; `holdfast dev` starts one by itself")
	}
	gateways, err := providers.gateways()
	if err != nil {
		return err
	}
	named, err := placed.regions()
	if err != nil {
		return err
	}
	verifier, err := identities.verifier()
	if err != nil {
		return err
	}
	logger := c.logger()
	s, err := openStore(ctx, c.DatabaseURL, "", nil, logger, change...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	a, err := newApp(ctx, s, gateways, logger, appSettings{receivers: receivers.config(), regions: named, onlyConfigured: true, tuneSales: c.tuneSales, tokens: verifier})
	if err != nil {
		return err
	}
	defer a.close()
	if err := s.registry.Register(jobs.NewQueueCollector(s.db, logger)); err != nil {
		return fmt.Errorf("register the metrics of queues: %w", err)
	}
	return act(ctx, a)
}

// startWorkers begins background work. The workers outlive ctx until they are stopped, so that a
// drain can finish jobs under way.
func (a *app) startWorkers(ctx context.Context, flags workFlags) (*jobs.Workers, error) {
	config := flags.config()
	config.Logger = a.logger
	if a.store.registry != nil {
		config.Metrics = a.store.registry
	}
	workers, err := jobs.NewWorkers(ctx, a.store.db, a.inventory, a.bookings, a.events, a.waitlists, config)
	if err != nil {
		return nil, err
	}
	return workers, workers.Start(context.WithoutCancel(ctx))
}

func stopWorkers(ctx context.Context, workers *jobs.Workers) error {
	if workers == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return workers.Stop(ctx)
}
