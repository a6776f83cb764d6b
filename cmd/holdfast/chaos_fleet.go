package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/payments/sandbox"
)

// chaosOfEach is how many processes of each command there are.
const chaosOfEach = 2

// The commands of the processes.
const (
	chaosServe = "serve"
	chaosWork  = "work"
)

// chaosFleet is the servers and workers, each a process of this program on a port of its own.
type chaosFleet struct {
	self        []string
	databaseURL string
	environment []string
	provider    *sandbox.Server
	// connections bounds those that are kept to one server.
	connections int
	slots       []*chaosSlot

	// kills counts by command.
	lock  sync.Mutex
	kills map[string]int
}

// chaosSlot is the place of one process.
type chaosSlot struct {
	command string
	// running belongs to whoever kills; it is nil while there is none.
	running *benchServer
	// client reaches a server; nil while there is none.
	client atomic.Pointer[apiClient]
}

func newChaosFleet(config chaosConfig, databaseURL string, provider *sandbox.Server) *chaosFleet {
	gateway := provider.GatewayConfig()
	f := &chaosFleet{
		self: config.Self, databaseURL: databaseURL, provider: provider, connections: config.Buyers, kills: map[string]int{},
		environment: append([]string{
			"HOLDFAST_SANDBOX_URL=" + gateway.BaseURL, "HOLDFAST_SANDBOX_SECRET=" + gateway.SecretKey,
			"HOLDFAST_SANDBOX_WEBHOOK_SECRETS=" + gateway.WebhookSecrets[0], "HOLDFAST_MAX_STALENESS=0",
		}, config.Environment...),
	}
	for range chaosOfEach {
		f.slots = append(f.slots, &chaosSlot{command: chaosServe}, &chaosSlot{command: chaosWork})
	}
	return f
}

// servers are the slots of servers.
func (f *chaosFleet) servers() []*chaosSlot {
	var all []*chaosSlot
	for _, slot := range f.slots {
		if slot.command == chaosServe {
			all = append(all, slot)
		}
	}
	return all
}

// start starts processes side by side and waits until they serve and work.
func (f *chaosFleet) start(ctx context.Context, slots []*chaosSlot) error {
	var group errgroup.Group
	for _, slot := range slots {
		group.Go(func() error {
			command := append(append([]string{}, f.self...), slot.command)
			started, err := startBenchServer(ctx, command, f.databaseURL, f.environment...)
			if err != nil {
				return fmt.Errorf("start %s: %w", slot.command, err)
			}
			slot.running = started
			if slot.command != chaosServe {
				return nil
			}
			slot.client.Store(newAPIClient(started.url, f.connections))
			// The provider's messages go to whichever server came last.
			return f.provider.SetWebhookURL(started.url + "/webhooks/payments/" + sandbox.Name)
		})
	}
	return group.Wait()
}

// kill ends processes without a word. An error is that one had ended by itself.
func (f *chaosFleet) kill(slots []*chaosSlot) error {
	var failures []error
	for _, slot := range slots {
		failures = append(failures, slot.running.kill())
		slot.running = nil
		if client := slot.client.Swap(nil); client != nil {
			client.close()
		}
		f.lock.Lock()
		f.kills[slot.command]++
		f.lock.Unlock()
	}
	return errors.Join(failures...)
}

// harass kills processes at random and starts them again, until a moment; one of each command for
// sure. Then every process is killed at once, and the whole fleet starts anew. between is called while
// nothing runs.
func (f *chaosFleet) harass(ctx context.Context, config chaosConfig, until time.Time, between func(ctx context.Context) error) error {
	chance := config.chanceOf(0)
	for first := []*chaosSlot{f.slots[0], f.slots[1]}; ; {
		wait := config.KillEvery/2 + time.Duration(chance.Int64N(int64(config.KillEvery)))
		if left := time.Until(until); wait > left && len(first) == 0 {
			if err := pause(ctx, left); err != nil {
				return err
			}
			break
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		order := chance.Perm(len(f.slots))
		victims := []*chaosSlot{f.slots[order[0]]}
		if chance.IntN(4) == 0 {
			victims = append(victims, f.slots[order[1]])
		}
		if len(first) > 0 {
			victims, first = first[:1], first[1:]
		}
		if err := f.kill(victims); err != nil {
			return err
		}
		if err := pause(ctx, time.Duration(chance.Int64N(int64(config.KillEvery/2)+1))); err != nil {
			return err
		}
		if err := f.start(ctx, victims); err != nil {
			return err
		}
	}
	if err := f.kill(f.slots); err != nil {
		return err
	}
	if err := between(ctx); err != nil {
		return err
	}
	return f.start(ctx, f.slots)
}

// close lets every process end what it does.
func (f *chaosFleet) close() error {
	failures := make([]error, len(f.slots))
	var group sync.WaitGroup
	for i, slot := range f.slots {
		if slot.running == nil {
			continue
		}
		group.Go(func() {
			failures[i] = slot.running.stop()
			slot.running = nil
			if client := slot.client.Swap(nil); client != nil {
				client.close()
			}
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

// kill ends the process as a crash does. The error is that it had ended before, by itself.
func (s *benchServer) kill() error {
	// When it has ended already, Wait says how.
	_ = s.command.Process.Kill()
	err := s.command.Wait()
	s.cancel()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() {
		return nil
	}
	return fmt.Errorf("a process ended by itself: %w; it said: %s", err, s.said)
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
