package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/dbtest"
)

// mortalArgument makes the test binary a process of the product that kills itself: see
// TestMortalProcess.
const mortalArgument = "mortal-for-test"

// TestMortalProcess is `holdfast serve` or `holdfast work` when another test starts this binary for
// it, and otherwise nothing. Its arguments are the command, the step of the saga after which it kills
// itself, and how often the step is survived before; "" is never.
func TestMortalProcess(t *testing.T) {
	t.Parallel()
	args := flag.Args()
	if !slices.Contains(args, mortalArgument) {
		return
	}
	command, step := args[1], args[2]
	survived, err := strconv.Atoi(args[3])
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	var reached atomic.Int64
	mortal := &cli{tuneSales: func(c *bookings.Config) {
		c.AfterStep = func(at string) {
			if at == step && reached.Add(1) > int64(survived) {
				killMyself()
			}
		}
	}}
	if code := mortal.run(ctx, []string{command}); code != 0 {
		t.Errorf("%s ended with %d", command, code)
	}
}

// killMyself ends the process without a word, as SIGKILL does.
func killMyself() {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		panic(err)
	}
	_ = self.Kill()
	select {} // Nothing more happens in this process.
}

// start is a process of the product on the site's database and provider.
func (s *faultSite) start(ctx context.Context, command, step string, survived int) (*benchServer, error) {
	gateway := s.provider.GatewayConfig()
	return startBenchServer(ctx, []string{os.Args[0], "-test.run=^TestMortalProcess$", mortalArgument, command, step, strconv.Itoa(survived)}, s.app.store.url,
		"HOLDFAST_SANDBOX_URL="+gateway.BaseURL, "HOLDFAST_SANDBOX_SECRET="+gateway.SecretKey, "HOLDFAST_SANDBOX_WEBHOOK_SECRETS="+gateway.WebhookSecrets[0],
		"HOLDFAST_MAX_STALENESS=0")
}

// dies waits for a process that kills itself.
func (s *benchServer) dies(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.command.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		s.cancel()
		return errors.Join(fmt.Errorf("the process reached its step too seldom: %w", ctx.Err()), <-ended)
	}
	s.cancel()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Exited() {
		return fmt.Errorf("the process was to be killed, it ended with %w and said: %s", err, s.said)
	}
	return nil
}

// The server is killed after every step of a sale while buyers buy. A new one and workers take over,
// and every buyer has the units, or the money.
func TestAKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"checkout", "submit", "charge", "apply"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newFaultSite(t, dbtest.Create(t), 8)
			s.serverDies = true
			buyers := s.newBuyers(16)
			server, err := s.start(t.Context(), "serve", step, 3)
			if err != nil {
				t.Fatal(err)
			}
			s.front.leadTo(t, server.url)
			s.shop(buyers, func(ctx context.Context) error {
				if err := server.dies(ctx); err != nil {
					return err
				}
				s.front.leadTo(t, "")
				return s.takeOver(ctx)
			})
			s.settle()
			s.audit()
		})
	}
}

// The workers are killed after each step of a refund. Refunds are paid once.
func TestKilledWorkersLoseNothing(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"submit refund", "refund"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newFaultSite(t, dbtest.Create(t), 8)
			buyers := s.newBuyers(16)
			server, err := s.start(t.Context(), "serve", "", 0)
			if err != nil {
				t.Fatal(err)
			}
			stopAtEnd(t, server)
			s.front.leadTo(t, server.url)
			workers, err := s.start(t.Context(), "work", step, 1)
			if err != nil {
				t.Fatal(err)
			}
			s.shop(buyers, func(ctx context.Context) error {
				if err := workers.dies(ctx); err != nil {
					return err
				}
				// An hour passes for the jobs and the leadership that the dead process had.
				for _, statement := range []string{
					"UPDATE river_job SET attempted_at = attempted_at - interval '1 hour' WHERE state = 'running'",
					"DELETE FROM river_leader",
				} {
					if _, err := s.app.store.db.Pool().Exec(ctx, statement); err != nil {
						return err
					}
				}
				return s.takeOver(ctx)
			})
			s.settle()
			s.audit()
		})
	}
}

// takeOver starts a new server and workers, which live until the test ends.
func (s *faultSite) takeOver(ctx context.Context) error {
	server, err := s.start(ctx, "serve", "", 0)
	if err != nil {
		return err
	}
	stopAtEnd(s.t, server)
	s.front.leadTo(s.t, server.url)
	workers, err := s.start(ctx, "work", "", 0)
	if err != nil {
		return err
	}
	stopAtEnd(s.t, workers)
	return nil
}

func stopAtEnd(t *testing.T, process *benchServer) {
	t.Helper()
	t.Cleanup(func() {
		if err := process.stop(); err != nil {
			t.Error(err)
		}
	})
}
