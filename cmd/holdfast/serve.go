package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/explorer"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// providerFlags say which payment providers a process can reach.
type providerFlags struct {
	SandboxURL            string `name:"sandbox-url" env:"HOLDFAST_SANDBOX_URL" help:"Address of a sandbox payment provider."`
	SandboxSecret         string `name:"sandbox-secret" env:"HOLDFAST_SANDBOX_SECRET" help:"The sandbox provider's secret key."`
	SandboxWebhookSecrets string `name:"sandbox-webhook-secrets" env:"HOLDFAST_SANDBOX_WEBHOOK_SECRETS" help:"Secrets accepted on the sandbox provider's webhooks, separated by commas."`
}

func (p providerFlags) gateways() (map[string]payments.Gateway, error) {
	if p.SandboxURL == "" {
		return nil, nil
	}
	gateway, err := sandbox.NewGateway(sandbox.GatewayConfig{
		BaseURL: p.SandboxURL, SecretKey: p.SandboxSecret, WebhookSecrets: strings.Split(p.SandboxWebhookSecrets, ","),
	})
	if err != nil {
		return nil, fmt.Errorf("HOLDFAST_SANDBOX_URL, HOLDFAST_SANDBOX_SECRET, HOLDFAST_SANDBOX_WEBHOOK_SECRETS: %w", err)
	}
	return map[string]payments.Gateway{sandbox.Name: gateway}, nil
}

// stalenessFlag bounds the reads of a process that may be stale.
type stalenessFlag struct {
	MaxStaleness time.Duration `name:"max-staleness" env:"HOLDFAST_MAX_STALENESS" default:"5s" help:"On CockroachDB, how old lists, calendars, maps and audits may be at most, so that they neither wait for sales nor disturb them; 0 reads the present. Each read has a bound of its own, too."`
}

func (f stalenessFlag) allowStale(config *db.Config) { config.MaxStaleness = f.MaxStaleness }

type serveCommand struct {
	providerFlags
	stalenessFlag
	Listen        string `env:"HOLDFAST_LISTEN" default:"127.0.0.1:8080" help:"Address to serve on."`
	Introspection bool   `env:"HOLDFAST_INTROSPECTION" help:"Let clients read the schema through introspection."`
	Explorer      bool   `env:"HOLDFAST_EXPLORER" help:"Serve the GraphQL explorer at /explorer/ (needs introspection)."`
	Workers       bool   `env:"HOLDFAST_WORKERS" help:"Run the background workers in this process too."`
}

// Run serves until the process is told to stop, then finishes what is under way.
func (c *serveCommand) Run(ctx context.Context, root *cli) error {
	return root.withProcess(ctx, c.providerFlags, c.stalenessFlag, func(ctx context.Context, a *app) error {
		options := httpOptions{introspection: c.Introspection}
		if c.Explorer {
			options.explorer = &explorer.Config{}
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
			if workers, err = a.startWorkers(ctx); err != nil {
				return errors.Join(err, listener.Close())
			}
		}
		s := serveOn(listener, handler)
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
}

// Run works until the process is told to stop, then finishes or hands back what is under way.
func (c *workCommand) Run(ctx context.Context, root *cli) error {
	return root.withProcess(ctx, c.providerFlags, c.stalenessFlag, func(ctx context.Context, a *app) error {
		workers, err := a.startWorkers(ctx)
		if err != nil {
			return err
		}
		a.logger.InfoContext(ctx, "working", "engine", a.store.db.Version())
		<-ctx.Done()
		return stopWorkers(ctx, workers)
	})
}

// withProcess opens the configured database for a long-running process.
func (c *cli) withProcess(ctx context.Context, providers providerFlags, staleness stalenessFlag, act func(ctx context.Context, a *app) error) (err error) {
	if c.DatabaseURL == "" {
		return errors.New("HOLDFAST_DATABASE_URL is not set: serve and work need a database; `holdfast dev` starts one by itself")
	}
	gateways, err := providers.gateways()
	if err != nil {
		return err
	}
	logger := c.logger()
	s, err := openStore(ctx, c.DatabaseURL, "", nil, logger, staleness.allowStale)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	var tune []func(*bookings.Config)
	if c.tuneSales != nil {
		tune = append(tune, c.tuneSales)
	}
	a, err := newApp(ctx, s, gateways, logger, tune...)
	if err != nil {
		return err
	}
	defer a.close()
	return act(ctx, a)
}

// startWorkers begins background work. The workers outlive ctx until they are stopped, so that a
// drain can finish jobs under way.
func (a *app) startWorkers(ctx context.Context) (*jobs.Workers, error) {
	workers, err := jobs.NewWorkers(ctx, a.store.db, a.inventory, a.bookings, jobs.Config{Logger: a.logger})
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
