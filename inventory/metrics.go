package inventory

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// claimMetrics are what this process sees of claims that share transactions, and of the choice of seats.
type claimMetrics struct {
	size    prometheus.Histogram
	wait    prometheus.Histogram
	waiting prometheus.Gauge
	busy    *prometheus.CounterVec
	choices *prometheus.CounterVec
}

// Why a claim was answered with BUSY.
const (
	// busyQueue: as many claims of the show or property waited as may.
	busyQueue = "queue"
	// busyContention: the transaction started over too often.
	busyContention = "contention"
	// busyOutrun: the seats that were chosen were taken by others each time.
	busyOutrun = "outrun"
)

// What became of a choice of seats.
const (
	choiceHeld   = "held"
	choiceOutrun = "outrun"
	choiceNone   = "none"
	// choiceRefused: a rule spoke that has nothing to do with the choice.
	choiceRefused = "refused"
)

func newClaimMetrics() *claimMetrics {
	return &claimMetrics{
		size: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "holdfast_claim_batch_size",
			Help:    "Claims of one show or property that shared a transaction. One means that nobody waited; the largest bucket that buyers come faster than batches are written.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "holdfast_claim_wait_seconds",
			Help:    "From a claim's arrival to the beginning of its batch. A rising tail means that a show is wanted faster than its rows can be written.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15),
		}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_claims_waiting",
			Help: "Claims that wait for the batch under way, over all queues of the process. Each show or property has a queue of 2000 at most.",
		}),
		busy: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_claims_busy_total",
			Help: "Claims that were answered with BUSY, by why: queue is full, contention made the transaction start over too often, outrun in the choice of seats each time.",
		}, []string{"reason"}),
		choices: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_seat_choices_total",
			Help: "Choices of best available seats by what became of them. Many outrun ones beside few held mean that several processes choose from maps that are too old.",
		}, []string{"outcome"}),
	}
}

// Metrics are the figures of claims, for a registry of the process.
func (s *Service) Metrics() []prometheus.Collector {
	m := s.claims.metrics
	return []prometheus.Collector{m.size, m.wait, m.waiting, m.busy, m.choices}
}

// chose counts what became of a wish whose seats were chosen, if they were.
func (m *claimMetrics) chose(w wish, a answer) {
	if !w.wantsBest() {
		return
	}
	outcome := choiceRefused
	var refusal *Refusal
	switch {
	case a.err == nil:
		outcome = choiceHeld
	case errors.Is(a.err, errOutrun):
		outcome = choiceOutrun
	case errors.As(a.err, &refusal) && (refusal.Code == RefusalSoldOut || refusal.Code == RefusalNotTogether):
		outcome = choiceNone
	}
	m.choices.WithLabelValues(outcome).Inc()
}
