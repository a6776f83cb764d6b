package graph

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

// Streams are the subscriptions of a handler: how many there may be, and their end when the process is
// to stop. The zero value is not ready; NewStreams makes one.
type Streams struct {
	stopping chan struct{}
	stop     sync.Once
	running  sync.WaitGroup

	mu        sync.Mutex
	total     int
	byKey     map[tenants.KeyID]int
	byAddress map[string]int
	// subscribedFrom are the subscriptions of an address: one visitor must not use up a shop's.
	subscribedFrom map[string]int
}

// NewStreams makes a set of subscriptions without any.
func NewStreams() *Streams {
	return &Streams{stopping: make(chan struct{}), byKey: map[tenants.KeyID]int{}, byAddress: map[string]int{}, subscribedFrom: map[string]int{}}
}

// End tells every subscriber that the server is stopping, lets no more begin, and waits until they have
// been told or ctx has ended.
func (s *Streams) End(ctx context.Context) {
	s.stop.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.stopping)
	})
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// streamBounds are how many subscribers there may be at once.
type streamBounds struct{ all, key, address int }

// errStopping is told to subscribers whose server ends.
var errStopping = &fault.Error{Kind: fault.KindUnavailable, Message: "the server is stopping: subscribe again"}

// enter counts a connection by its address, until leave is called. It is refused over a bound.
func (s *Streams) enter(bounds streamBounds, address string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stopping:
		return nil, errStopping
	default:
	}
	switch {
	case s.total >= bounds.all:
		return nil, &fault.Error{Kind: fault.KindUnavailable, Message: "the server has as many subscribers as it takes: subscribe elsewhere or later"}
	case s.byAddress[address] >= bounds.address:
		return nil, &fault.Error{Kind: fault.KindExhausted, Message: "there are too many subscribers at this address"}
	}
	s.total++
	s.byAddress[address]++
	s.running.Add(1)
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.total--
		lower(s.byAddress, address)
		s.mu.Unlock()
		s.running.Done()
	}), nil
}

// subscribe counts a subscription by its key and address, until leave is called. It is refused over a bound.
func (s *Streams) subscribe(bounds streamBounds, key tenants.KeyID, address string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[key] >= bounds.key {
		return nil, &fault.Error{Kind: fault.KindExhausted, Message: "there are too many subscriptions with this key"}
	}
	if s.subscribedFrom[address] >= bounds.address {
		return nil, &fault.Error{Kind: fault.KindExhausted, Message: "there are too many subscriptions from this address"}
	}
	s.byKey[key]++
	s.subscribedFrom[address]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		lower(s.byKey, key)
		lower(s.subscribedFrom, address)
	}), nil
}

func lower[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// Describe is of prometheus.Collector.
func (s *Streams) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, out) }

// Collect tells how many subscriptions and connections there are.
func (s *Streams) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	connections, subscriptions := s.total, 0
	for _, n := range s.byKey {
		subscriptions += n
	}
	s.mu.Unlock()
	out <- prometheus.MustNewConstMetric(streamConnections(), prometheus.GaugeValue, float64(connections))
	out <- prometheus.MustNewConstMetric(streamSubscriptions(), prometheus.GaugeValue, float64(subscriptions))
}

func streamConnections() *prometheus.Desc {
	return prometheus.NewDesc("holdfast_subscriber_connections", "Connections of subscribers, over SSE and WebSocket.", nil, nil)
}

func streamSubscriptions() *prometheus.Desc {
	return prometheus.NewDesc("holdfast_subscriptions", "Subscriptions that are open.", nil, nil)
}
