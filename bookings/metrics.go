package bookings

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/payments"
)

// Limits of what is measured.
const (
	// gaugesKept is how long figures of the database are shown before they are read again: several
	// scrapers, and several endpoints of one process, read once.
	gaugesKept = 10 * time.Second
	// gaugesTimeout bounds one reading.
	gaugesTimeout = 5 * time.Second
	// maxMeasured is how many rows of each place and kind are counted; more are not needed to know
	// that something is wrong.
	maxMeasured = 100_000
)

// webhookMetrics are what this process has seen of providers' messages.
type webhookMetrics struct {
	lag      *prometheus.HistogramVec
	messages *prometheus.CounterVec
}

func newWebhookMetrics() *webhookMetrics {
	return &webhookMetrics{
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "holdfast_webhook_lag_seconds",
			Help:    "From the provider's time of an event to its being applied here. A rising tail means that the provider delivers late, or that we refused it before.",
			Buckets: prometheus.ExponentialBuckets(0.05, 3, 13),
		}, []string{"provider"}),
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_webhook_messages_total",
			Help: "Providers' messages by what became of them. bad_signature and stale_signature are forged, replayed, or signed with a secret that is not known here; failed will be sent again.",
		}, []string{"provider", "result"}),
	}
}

// Results of a message in holdfast_webhook_messages_total.
const (
	webhookBadSignature   = "bad_signature"
	webhookStaleSignature = "stale_signature"
	webhookUnreadable     = "unreadable"
	webhookUnknown        = "unknown_provider"
	webhookFailed         = "failed"
	webhookApplied        = "applied"
	webhookKnown          = "already_known"
	webhookUnmatched      = "unmatched"
	webhookMismatch       = "mismatch"
	webhookIgnored        = "ignored"
)

// refused counts a message that was not taken. A provider that is not known is not named: anybody
// can make names up.
func (m *webhookMetrics) refused(provider string, err error) {
	result := webhookUnreadable
	switch {
	case errors.Is(err, payments.ErrBadSignature):
		result = webhookBadSignature
	case errors.Is(err, payments.ErrStaleSignature):
		result = webhookStaleSignature
	}
	m.messages.WithLabelValues(provider, result).Inc()
}

// unknown counts a message to a provider that there is not.
func (m *webhookMetrics) unknown() { m.messages.WithLabelValues("unknown", webhookUnknown).Inc() }

// taken counts a message of a provider, and how late it was applied.
func (m *webhookMetrics) taken(provider string, event payments.Event, result payments.EventResult, err error) {
	word := webhookFailed
	if err == nil {
		word = wordOf(result)
	}
	m.messages.WithLabelValues(provider, word).Inc()
	if err == nil && result == payments.EventApplied && !event.OccurredAt.IsZero() {
		m.lag.WithLabelValues(provider).Observe(max(0, time.Since(event.OccurredAt).Seconds()))
	}
}

func wordOf(result payments.EventResult) string {
	switch result {
	case payments.EventApplied:
		return webhookApplied
	case payments.EventAlreadyKnown:
		return webhookKnown
	case payments.EventUnmatched:
		return webhookUnmatched
	case payments.EventMismatch:
		return webhookMismatch
	case payments.EventIgnored:
		return webhookIgnored
	}
	return webhookFailed
}

// Collector shows the state of payments to Prometheus. The figures of the database are the same in
// every process that shows them: take their maximum, never their sum. It is a prometheus.Collector.
type Collector struct {
	service  *Service
	attempts *prometheus.Desc
	oldest   *prometheus.Desc
	repairs  *prometheus.Desc
	review   *prometheus.Desc

	lock  sync.Mutex
	read  time.Time
	known gauges
}

// gauges are figures of the database at one moment.
type gauges struct {
	attempts map[[2]string]float64
	oldest   map[string]float64
	repairs  map[string]float64
	review   map[string]float64
}

// NewCollector makes the collector of a service; register it once.
func NewCollector(s *Service) *Collector {
	return &Collector{
		service: s,
		attempts: prometheus.NewDesc("holdfast_payment_attempts_open",
			"Payment attempts whose outcome is open, by state and age: up to 1m, 15m, 1h or 1d, or older. Anything above 15m means a provider that does not answer.",
			[]string{"state", "age"}, nil),
		oldest: prometheus.NewDesc("holdfast_payment_oldest_unresolved_seconds",
			"Age of the oldest open payment attempt (kind payment) and of the oldest refund that is not paid (kind refund); 0 when there is none.",
			[]string{"kind"}, nil),
		repairs: prometheus.NewDesc("holdfast_payment_repairs_today",
			"Repairs since midnight UTC, by kind. Some are normal; a jump means that checkouts die, or that a provider is late.",
			[]string{"kind"}, nil),
		review: prometheus.NewDesc("holdfast_payment_review_waiting",
			"What waits for a person: events that fit no payment, refunds that failed for good, and charges that differ from ours.",
			[]string{"kind"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.attempts, c.oldest, c.repairs, c.review} {
		ch <- desc
	}
	c.service.webhooks.lag.Describe(ch)
	c.service.webhooks.messages.Describe(ch)
}

// Collect implements prometheus.Collector. Figures that cannot be read are left out, so that a
// database that is down does not hide the rest; PaymentsUnwatched alerts to their absence.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.service.webhooks.lag.Collect(ch)
	c.service.webhooks.messages.Collect(ch)
	known, err := c.figures()
	if err != nil {
		c.service.config.Logger.Warn("the state of payments cannot be read for the metrics", "error", err)
		return
	}
	for labels, value := range known.attempts {
		ch <- prometheus.MustNewConstMetric(c.attempts, prometheus.GaugeValue, value, labels[0], labels[1])
	}
	for desc, values := range map[*prometheus.Desc]map[string]float64{c.oldest: known.oldest, c.repairs: known.repairs, c.review: known.review} {
		for label, value := range values {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, label)
		}
	}
}

// figures are the database's, at most gaugesKept old. One scrape reads them while others wait.
func (c *Collector) figures() (gauges, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if !c.read.IsZero() && time.Since(c.read) < gaugesKept {
		return c.known, nil
	}
	// Prometheus gives its collectors no context.
	ctx, cancel := context.WithTimeout(context.Background(), gaugesTimeout)
	defer cancel()
	known, err := c.service.gauges(ctx)
	if err != nil {
		return gauges{}, err
	}
	c.known, c.read = known, time.Now()
	return known, nil
}

// gauges reads the figures: a bounded number of index rows for each tenant and region.
func (s *Service) gauges(ctx context.Context) (gauges, error) {
	g := newGauges()
	places, err := s.places(ctx)
	if err != nil {
		return g, db.Classify(err)
	}
	now, err := s.now(ctx)
	if err != nil {
		return g, err
	}
	tenantIDs, regions := columnsOf(places)
	queries := dbsqlc.New(s.db.Pool())
	attempts, err := queries.OpenAttemptAges(ctx, dbsqlc.OpenAttemptAgesParams{
		TenantIds: tenantIDs, Regions: regions, MaxRows: maxMeasured, MinuteAgo: now.Add(-time.Minute), QuarterAgo: now.Add(-15 * time.Minute),
		HourAgo: now.Add(-time.Hour), DayAgo: now.Add(-24 * time.Hour),
	})
	if err != nil {
		return g, db.Classify(fmt.Errorf("measure open attempts: %w", err))
	}
	for _, row := range attempts {
		g.attempts[[2]string{row.State, row.Age}] = float64(row.Attempts)
		g.oldest["payment"] = max(g.oldest["payment"], now.Sub(row.Oldest).Seconds())
	}
	refunds, err := queries.OpenRefundAges(ctx, dbsqlc.OpenRefundAgesParams{TenantIds: tenantIDs, Regions: regions, MaxRows: maxMeasured})
	if err != nil {
		return g, db.Classify(fmt.Errorf("measure open refunds: %w", err))
	}
	for _, row := range refunds {
		g.oldest["refund"] = max(g.oldest["refund"], now.Sub(row.Oldest).Seconds())
	}
	repairs, err := queries.RepairsSince(ctx, dbsqlc.RepairsSinceParams{
		TenantIds: tenantIDs, Regions: regions, MaxRows: maxMeasured, Since: now.UTC().Truncate(24 * time.Hour),
	})
	if err != nil {
		return g, db.Classify(fmt.Errorf("measure repairs: %w", err))
	}
	for _, row := range repairs {
		g.repairs[row.Kind] = float64(row.Repairs)
	}
	// Events about nothing of ours belong to nobody, and wait for a person all the same.
	review, err := queries.ReviewWaiting(ctx, dbsqlc.ReviewWaitingParams{
		TenantIds: append(tenantIDs, uuid.Nil), Regions: append(regions, string(payments.UnroutedRegion)), MaxRows: maxMeasured,
	})
	if err != nil {
		return g, db.Classify(fmt.Errorf("measure the review queue: %w", err))
	}
	for _, row := range review {
		g.review[row.Kind] = float64(row.Items)
	}
	return g, nil
}

// newGauges has every series at 0, so that an alert never waits for a series to appear.
func newGauges() gauges {
	g := gauges{attempts: map[[2]string]float64{}, oldest: map[string]float64{"payment": 0, "refund": 0}, repairs: map[string]float64{}, review: map[string]float64{}}
	for _, state := range []payments.AttemptState{payments.AttemptStateCreated, payments.AttemptStateSubmitted, payments.AttemptStateUnknown} {
		for _, age := range []string{"1m", "15m", "1h", "1d", "older"} {
			g.attempts[[2]string{string(state), age}] = 0
		}
	}
	for _, kind := range RepairKinds() {
		g.repairs[string(kind)] = 0
	}
	for _, kind := range []string{string(payments.EventUnmatched), string(payments.EventMismatch), string(ReviewRefundFailed), "DIFFERENCE"} {
		g.review[kind] = 0
	}
	return g
}
