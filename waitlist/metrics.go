package waitlist

import (
	"context"
	"fmt"
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/waitlist/internal/dbsqlc"
)

// metrics are the figures of waiting lists. Who waits is asked of the database when it is read, so that
// every process tells the same.
type metrics struct {
	offers prometheus.Counter
	passes prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, s *Service) (*metrics, error) {
	m := &metrics{
		offers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_waiting_list_offers_total",
			Help: "Offers that this process made to entries of waiting lists.",
		}),
		passes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_waiting_list_passes_total",
			Help: "How often this process looked whether those who wait in a list can be served.",
		}),
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_waiting_list_entries",
		Help: "Entries that wait in all waiting lists.",
	}, s.gauge(func(row dbsqlc.WaitingTotalsRow) float64 { return float64(row.Waiting) }))
	oldest := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_waiting_list_oldest_seconds",
		Help: "For how long the oldest entry of all waiting lists has waited.",
	}, s.gauge(func(row dbsqlc.WaitingTotalsRow) float64 { return row.Now.Sub(row.Oldest).Seconds() }))
	for _, collector := range []prometheus.Collector{m.offers, m.passes, waiting, oldest} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register the metrics of waiting lists: %w", err)
		}
	}
	return m, nil
}

// gauge is not a number while the database does not answer.
func (s *Service) gauge(value func(dbsqlc.WaitingTotalsRow) float64) func() float64 {
	return func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), gaugeTimeout)
		defer cancel()
		tenantIDs, regions, err := s.places(ctx)
		if err != nil {
			return math.NaN()
		}
		row, err := dbsqlc.New(s.db.Pool()).WaitingTotals(ctx, dbsqlc.WaitingTotalsParams{TenantIds: tenantIDs, Regions: regions})
		if err != nil {
			s.config.Logger.DebugContext(ctx, "counting who waits failed", "error", db.Classify(err))
			return math.NaN()
		}
		return value(row)
	}
}
