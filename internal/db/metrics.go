package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast/holdfast/internal/fault"
)

// metrics are the figures of named transactions.
type metrics struct {
	duration *prometheus.HistogramVec
	attempts *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "holdfast_transaction_seconds",
			Help:    "Duration of a named transaction over all its attempts, by outcome. A rising tail of ok means waiting for locks.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15),
		}, []string{"transaction", "outcome"}),
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "holdfast_transaction_attempts",
			Help:    "Attempts of a named transaction until it ended. More than a few means that many want the same rows.",
			Buckets: []float64{1, 2, 3, 5, 10, 20, 50, 100, 200},
		}, []string{"transaction"}),
	}
	for _, collector := range []prometheus.Collector{m.duration, m.attempts} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register transaction metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) observe(name string, attempts int, duration time.Duration, err error) {
	m.attempts.WithLabelValues(name).Observe(float64(attempts))
	m.duration.WithLabelValues(name, outcome(err)).Observe(duration.Seconds())
}

// outcome is the metric label of how a transaction ended.
func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, ErrOutcomeUnknown):
		return "unknown"
	case errors.Is(err, ErrContention):
		return "contention"
	case fault.KindOf(Classify(err)) == fault.KindUnavailable:
		return "unavailable"
	}
	return "refused"
}

func startSpan(ctx context.Context, name string) (context.Context, trace.Span) {
	return otel.Tracer("github.com/holdfast/holdfast/internal/db").Start(ctx, name)
}
