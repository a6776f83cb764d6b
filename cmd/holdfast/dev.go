package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/holdfast/holdfast/events/webhooks"
	"github.com/holdfast/holdfast/graph/explorer"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

type devCommand struct {
	Listen string `env:"HOLDFAST_LISTEN" default:"127.0.0.1:8080" help:"Address to serve on."`
	identityFlags

	// out is where the command says what it did; nil is standard output.
	out io.Writer
}

// Help is what --help says beyond the flags.
func (devCommand) Help() string {
	return `The database is the first of: --database-url; the engine that runs in --data-dir
already; the cockroach binary that COCKROACH_BINARY names, or the one on PATH;
PostgreSQL 15 or later on this machine. With none of them one is fetched or, where
that cannot be, the message says what to install. A data directory keeps the kind
of engine that made its data.

One dev runs on a data directory at a time. Ctrl-C stops all that it started; the
data stay.`
}

// devState is what a development installation remembers between starts, beside its data.
type devState struct {
	SandboxSecret        string `json:"sandboxSecret"`
	SandboxWebhookSecret string `json:"sandboxWebhookSecret"`
	// DatabaseURL is for other programs while dev runs: an engine of its own has another port at each start.
	DatabaseURL string     `json:"databaseUrl"`
	Keys        sampleKeys `json:"keys"`
}

// devStateFile holds secrets, so only its owner may read it.
const (
	devStateFile   = "dev.json"
	privateFile    = 0o600
	privateFolder  = 0o755
	sandboxJournal = "sandbox.jsonl"
)

// Run starts everything that a developer needs, prints how to use it, and stops what it started
// when told to.
func (c *devCommand) Run(ctx context.Context, root *cli) (err error) {
	logger := root.logger()
	var out io.Writer = os.Stdout
	if c.out != nil {
		out = c.out
	}
	// What can be refused is refused before anything is started.
	verifier, err := c.verifier()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(root.DataDir, privateFolder); err != nil {
		return dataDirProblem(root.DataDir, fmt.Errorf("make the data directory: %w", err))
	}
	claim, err := claimDataDir(root.DataDir)
	if err != nil {
		return err
	}
	defer claim.Release()
	listener, err := bind(ctx, c.Listen)
	if err != nil {
		return err
	}
	// The server owns and closes it later; to close it twice does no harm.
	defer func() { _ = listener.Close() }()
	if err := claim.Note(urlOf(listener)); err != nil {
		return err
	}
	s, err := openStore(ctx, root.DatabaseURL, root.DataDir, out, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.migrate(ctx, logger); err != nil {
		return err
	}
	state, err := readDevState(root.DataDir)
	if err != nil {
		return dataDirProblem(root.DataDir, err)
	}
	provider, gateways, err := startSandbox(ctx, sandbox.Config{
		SecretKey: state.SandboxSecret, WebhookSecrets: []string{state.SandboxWebhookSecret},
		JournalPath: filepath.Join(root.DataDir, sandboxJournal), Logger: logger,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSandbox(ctx, provider)) }()
	a, err := newApp(ctx, s, gateways, logger, appSettings{receivers: webhooks.Config{AllowHTTP: true, AllowPrivate: true}, tokens: verifier})
	if err != nil {
		return err
	}
	defer a.close()
	if state.Keys, err = a.sampleData(ctx, state.Keys, out); err != nil {
		return err
	}
	state.DatabaseURL = s.url
	if err := writeDevState(root.DataDir, state); err != nil {
		return err
	}
	query, err := a.firstQuery(ctx, state.Keys)
	if err != nil {
		return err
	}
	admin, err := a.adminPages(ctx)
	if err != nil {
		return err
	}
	handler, err := a.handler(httpOptions{introspection: true, admin: admin, explorer: &explorer.Config{
		Title: "Holdfast", DefaultQuery: query, DefaultHeaders: map[string]string{"Authorization": "Bearer " + state.Keys.Admin},
	}})
	if err != nil {
		return err
	}
	web := serveOn(listener, handler)
	if err := provider.SetWebhookURL(web.url + "/webhooks/payments/" + sandbox.Name); err != nil {
		return errors.Join(err, web.close(ctx))
	}
	workers, err := a.startWorkers(ctx, developmentWork())
	if err != nil {
		return errors.Join(err, web.close(ctx))
	}
	printBanner(out, web.url, provider.URL(), s, state.Keys, query)
	err = waitForEnd(ctx, s, web)
	fmt.Fprintln(out, "\nStopping …")
	return errors.Join(err, web.close(ctx), stopWorkers(ctx, workers))
}

// waitForEnd returns when the process is told to stop, or when something it needs has ended.
func waitForEnd(ctx context.Context, s *store, web *server) error {
	var engineEnded <-chan struct{}
	if s.engine != nil {
		engineEnded = s.engine.Done()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-web.failures:
		return err
	case <-engineEnded:
		return errors.New("the database engine has ended; start again")
	}
}

// startSandbox starts a payment provider of our own on a free port.
func startSandbox(ctx context.Context, config sandbox.Config) (*sandbox.Server, map[string]payments.Gateway, error) {
	provider, err := sandbox.NewServer(config)
	if err != nil {
		return nil, nil, fmt.Errorf("set up the sandbox payment provider: %w", err)
	}
	if err := provider.Start(ctx, "127.0.0.1:0"); err != nil {
		return nil, nil, err
	}
	gateway, err := sandbox.NewGateway(provider.GatewayConfig())
	if err != nil {
		return nil, nil, errors.Join(err, closeSandbox(ctx, provider))
	}
	return provider, map[string]payments.Gateway{sandbox.Name: gateway}, nil
}

func closeSandbox(ctx context.Context, provider *sandbox.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return provider.Close(ctx)
}

func readDevState(dir string) (devState, error) {
	var state devState
	encoded, err := os.ReadFile(filepath.Join(dir, devStateFile)) //nolint:gosec // the user names the folder
	switch {
	case errors.Is(err, os.ErrNotExist):
		state.SandboxSecret, state.SandboxWebhookSecret = newSecret(), newSecret()
		return state, nil
	case err != nil:
		return state, fmt.Errorf("read the development state: %w", err)
	}
	if err := json.Unmarshal(encoded, &state); err != nil {
		return state, fmt.Errorf("read %s: it is not what Holdfast wrote; move it away: %w", filepath.Join(dir, devStateFile), err)
	}
	return state, nil
}

func writeDevState(dir string, state devState) error {
	encoded, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("write the development state: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, devStateFile), encoded, privateFile); err != nil {
		return fmt.Errorf("write the development state: %w", err)
	}
	return nil
}

func newSecret() string {
	var secret [24]byte
	_, _ = rand.Read(secret[:]) // crypto/rand never fails
	return hex.EncodeToString(secret[:])
}

func printBanner(out io.Writer, url, provider string, s *store, keys sampleKeys, query string) {
	curl, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		curl = []byte(`{"query":"{ __typename }"}`)
	}
	fmt.Fprintf(out, `
Holdfast is ready.

  Explorer   %s/explorer/
  API        %s/graphql
  Metrics    %s/metrics      Ready? %s/readyz
  Jobs       %s/admin/river/ (sign in with the platform key)
  Database   %s
  Payments   sandbox provider at %s

  Keys for the sample data:
    admin        %s
    partner      %s
    publishable  %s   (browsers; guests start a session with it)
    platform     %s   (creates tenants)

  A first query, to paste into a terminal:

    curl -s %s/graphql -H 'Content-Type: application/json' -H 'Authorization: Bearer %s' \
      -d '%s'

  The same one is in the explorer. Ctrl-C stops everything; the data stay.
`, url, url, url, url, url, s.db.Version(), provider, keys.Admin, keys.Partner, keys.Publishable, keys.Platform, url, keys.Publishable, curl)
}

// discard is a logger for commands whose own output says enough.
func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
