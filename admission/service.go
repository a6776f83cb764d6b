package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/tenants"
)

// Authorizer decides what an actor may do; package policies implements it.
type Authorizer interface {
	Authorize(actor tenants.Actor, action tenants.Action, tenant tenants.TenantID) error
}

// Config is how a process runs waiting rooms. The zero value is good.
type Config struct {
	// Tick is how old the public document may be, and how often the watermark moves. Default 1 second.
	Tick time.Duration
	// Flush is how long a visitor who joined may be counted in this process only. Default 2 seconds.
	Flush time.Duration
	// Settle is how long after an arrival at the earliest a visitor is called, so that those before are
	// counted by then, whichever process they came to. Default 4 seconds; it must be at least Flush and
	// two ticks.
	Settle time.Duration
	// Verifiers are what rooms can ask for.
	Verifiers []Verifier
	// Logger hears of counts that could not be written. Default: nobody.
	Logger *slog.Logger
	// Metrics receives the metrics. Default: a registry that nobody reads.
	Metrics prometheus.Registerer
}

func (c Config) withDefaults() Config {
	for _, set := range []struct {
		target *time.Duration
		value  time.Duration
	}{{&c.Tick, time.Second}, {&c.Flush, 2 * time.Second}, {&c.Settle, 4 * time.Second}} {
		if *set.target == 0 {
			*set.target = set.value
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	return c
}

// Validate names the setting that is wrong.
func (c Config) Validate() error {
	c = c.withDefaults()
	if c.Tick < 0 || c.Flush < 0 || c.Settle < c.Flush+2*c.Tick {
		return fmt.Errorf("waiting rooms: expected Settle (%s) to be at least Flush (%s) and two ticks (%s each)", c.Settle, c.Flush, c.Tick)
	}
	named := map[string]bool{}
	for _, verifier := range c.Verifiers {
		if name := verifier.Name(); name == "" || len(name) > 64 || named[name] {
			return fmt.Errorf("waiting rooms: expected verifiers with names of their own of 1 to 64 characters, got %q", name)
		}
		named[verifier.Name()] = true
	}
	return nil
}

// Service is what callers do with waiting rooms. Its methods authorise, validate, and open the
// transaction where there is one.
type Service struct {
	db         *db.DB
	authorizer Authorizer
	config     Config
	verifiers  map[string]Verifier
	keys       *keyRing
	metrics    *metrics
	// elapsed is the process's own steady time; see reading.
	elapsed func() time.Duration

	lock  sync.Mutex
	rooms *lru.Cache[place, *crowd]
	// joined remembers the order of visitors by a hash of room and visitor.
	joined *lru.Cache[[16]byte, int64]
	// flushes are writes of counts under way or to come.
	flushes sync.WaitGroup
	closed  bool
	// stop ends the waits of flushes.
	stop chan struct{}
}

// NewService needs a migrated database. Close it when nobody asks any more.
func NewService(d *db.DB, authorizer Authorizer, config Config) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	measured, err := newMetrics(config.Metrics)
	if err != nil {
		return nil, err
	}
	elapsed := monotonic()
	s := &Service{
		db: d, authorizer: authorizer, config: config, verifiers: map[string]Verifier{}, keys: newKeyRing(d, elapsed), metrics: measured, elapsed: elapsed,
		stop: make(chan struct{}),
	}
	for _, verifier := range config.Verifiers {
		s.verifiers[verifier.Name()] = verifier
	}
	var failed error
	if s.rooms, err = lru.New[place, *crowd](maxRooms); err != nil {
		failed = errors.Join(failed, err)
	}
	if s.joined, err = lru.New[[16]byte, int64](maxRemembered); err != nil {
		failed = errors.Join(failed, err)
	}
	return s, failed
}

// Close writes the counts that were not written yet, and returns when that is done.
func (s *Service) Close() {
	s.lock.Lock()
	if !s.closed {
		s.closed = true
		close(s.stop)
	}
	s.lock.Unlock()
	// Each crowd with something to write has a flush that waits.
	s.flushes.Wait()
}

// crowdOf is what this process knows of a room.
func (s *Service) crowdOf(p place) *crowd {
	s.lock.Lock()
	defer s.lock.Unlock()
	if c, ok := s.rooms.Get(p); ok {
		return c
	}
	c := &crowd{place: p, counter: uuid.New()}
	s.rooms.Add(p, c)
	return c
}

// forget drops a room that is not there, so that made-up ones fill no memory.
func (s *Service) forget(p place) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.rooms.Remove(p)
}

// flushSoon has the counts of a crowd written within the time that they may wait.
func (s *Service) flushSoon(c *crowd) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.closed {
		// Close has written what it found; this is a visitor who came in its last moment.
		return
	}
	s.flushes.Go(func() {
		timer := time.NewTimer(s.config.Flush)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.stop:
		}
		s.flushNow(c)
	})
}

func (s *Service) flushNow(c *crowd) {
	ctx, cancel := context.WithTimeout(context.Background(), refreshTimeout)
	defer cancel()
	if err := s.flush(ctx, c); err != nil {
		s.config.Logger.WarnContext(ctx, "counting the visitors of a waiting room failed; it is tried again", "error", err)
		s.lock.Lock()
		closed := s.closed
		s.lock.Unlock()
		if !closed && c.mustFlush() {
			s.flushSoon(c)
		}
	}
}
