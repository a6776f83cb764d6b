package events

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/events/internal/dbsqlc"
)

// metrics are the figures of events on their way. What waits is asked of the database when it is
// read, so that every process tells the same and none tells what was true when it last looked.
type metrics struct {
	attempts *prometheus.CounterVec
	fanOut   prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer, s *Service) (*metrics, error) {
	m := &metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_webhook_attempts_total",
			Help: "Tries to deliver an event to an endpoint, by result. given_up means that a receiver was not told within three days; gone, that it wants no more.",
		}, []string{"result"}),
		fanOut: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "holdfast_event_fan_out_seconds",
			Help:    "Time from an event to its deliveries. More than seconds means that jobs wait or are lost.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 16),
		}),
	}
	due := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_webhook_oldest_due_seconds",
		Help: "For how long the oldest delivery has been due. Minutes mean that nobody sends, or that a receiver with many deliveries does not answer.",
	}, gauge(s.oldestDue))
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_event_oldest_waiting_seconds",
		Help: "For how long the oldest event has had no deliveries made. Minutes mean that no worker works.",
	}, gauge(s.oldestWaiting))
	for _, collector := range []prometheus.Collector{m.attempts, m.fanOut, due, waiting} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register the metrics of events: %w", err)
		}
	}
	return m, nil
}

// gauge is not a number while the database does not answer.
func gauge(age func(ctx context.Context) (time.Duration, error)) func() float64 {
	return func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), gaugeTimeout)
		defer cancel()
		value, err := age(ctx)
		if err != nil {
			return math.NaN()
		}
		return value.Seconds()
	}
}

func (s *Service) oldestDue(ctx context.Context) (time.Duration, error) {
	rows, now, err := s.lanesDue(ctx, 1)
	if err != nil || len(rows) == 0 || rows[0].NextAttemptAt == nil {
		return 0, err
	}
	return now.Sub(*rows[0].NextAttemptAt), nil
}

func (s *Service) oldestWaiting(ctx context.Context) (time.Duration, error) {
	queries := dbsqlc.New(s.db.Pool())
	tenantIDs, regions, err := s.places(ctx, queries)
	if err != nil {
		return 0, err
	}
	now, err := clock(ctx, queries)
	if err != nil {
		return 0, err
	}
	oldest, err := queries.EventWaitingOldest(ctx, dbsqlc.EventWaitingOldestParams{TenantIds: tenantIDs, Regions: regions, Now: now})
	return now.Sub(oldest), err
}
