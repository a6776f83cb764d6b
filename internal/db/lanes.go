package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Back-office work has a share of the pool's connections, so that a report or an import never keeps
// those from buying who pay for it. Work that is not marked may use every connection.

type backOfficeKey struct{}

// BackOffice is a context whose statements share the connections of Config.BackOfficeConnections and
// wait for one another when these are in use.
func BackOffice(ctx context.Context) context.Context {
	return context.WithValue(ctx, backOfficeKey{}, true)
}

func isBackOffice(ctx context.Context) bool {
	marked, _ := ctx.Value(backOfficeKey{}).(bool)
	return marked
}

// Shared is the context of a read that others may wait for: it goes on when the caller who began it has
// gone, and takes any connection although that caller may be the back office.
func Shared(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), backOfficeKey{}, false)
}

// backOfficeShare gives out the back office's connections. The pool calls it as its tracer, which is
// the one place that every statement passes on its way to a connection and back.
type backOfficeShare struct {
	slots chan struct{}

	lock sync.Mutex
	// taken are the connections that hold a slot.
	taken map[*pgx.Conn]struct{}

	waits prometheus.Histogram
}

func newBackOfficeShare(connections int) *backOfficeShare {
	return &backOfficeShare{
		slots: make(chan struct{}, connections), taken: map[*pgx.Conn]struct{}{},
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "holdfast_backoffice_connection_wait_seconds",
			Help: "How long back-office work waited for one of its connections. A rising tail means that reports and administration " +
				"want more than their share; buyers do not feel it.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}),
	}
}

// register is called once the pool has been opened: who opens it again after a failure registers
// nothing twice.
func (s *backOfficeShare) register(registerer prometheus.Registerer) error {
	inUse := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_backoffice_connections",
		Help: "Connections that back-office work uses. At its share for long, reports are slow and buyers are not.",
	}, func() float64 { return float64(len(s.slots)) })
	for _, collector := range []prometheus.Collector{s.waits, inUse} {
		if err := registerer.Register(collector); err != nil {
			return fmt.Errorf("register the metrics of back-office connections: %w", err)
		}
	}
	return nil
}

// slotKey marks the context of an acquisition that has a slot.
type slotKey struct{}

// TraceAcquireStart implements pgxpool.AcquireTracer. It waits for a slot before the pool looks for a
// connection, so that those who wait keep none; when the caller gives up, the pool finds its context
// ended.
func (s *backOfficeShare) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	if !isBackOffice(ctx) {
		return ctx
	}
	begin := time.Now()
	select {
	case s.slots <- struct{}{}:
		s.waits.Observe(time.Since(begin).Seconds())
		return context.WithValue(ctx, slotKey{}, true)
	case <-ctx.Done():
		s.waits.Observe(time.Since(begin).Seconds())
		return ctx
	}
}

// TraceAcquireEnd implements pgxpool.AcquireTracer.
func (s *backOfficeShare) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	if ctx.Value(slotKey{}) == nil {
		return
	}
	if data.Err != nil || data.Conn == nil {
		<-s.slots
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.taken[data.Conn] = struct{}{}
}

// TraceRelease implements pgxpool.ReleaseTracer.
func (s *backOfficeShare) TraceRelease(_ *pgxpool.Pool, data pgxpool.TraceReleaseData) {
	s.lock.Lock()
	_, had := s.taken[data.Conn]
	delete(s.taken, data.Conn)
	s.lock.Unlock()
	if had {
		<-s.slots
	}
}

// TraceQueryStart implements pgx.QueryTracer, which pgx asks of every tracer.
func (*backOfficeShare) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*backOfficeShare) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// backOfficeConnections is the share: what the configuration says, else a quarter of the pool, and
// at least one. One connection at least is left to buying, if there are two.
func (c Config) backOfficeConnections() int {
	share := c.BackOfficeConnections
	if share == 0 {
		share = c.MaxConnections / 4
	}
	return max(1, min(share, c.MaxConnections-1))
}

func (c Config) validateShare() error {
	if c.BackOfficeConnections < 0 || c.BackOfficeConnections > 10_000 {
		return errors.New("BackOfficeConnections: expected 1 to 10000, or 0 for a quarter of the pool")
	}
	return nil
}
