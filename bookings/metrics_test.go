package bookings_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/tenants"
)

// metrics are the series of a new process, such as holdfast_payment_attempts_open{15m,UNKNOWN}; of a
// histogram it is the number of observations.
func (b box) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(bookings.NewCollector(b.Sales))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			name := family.GetName() + "{" + strings.Join(labels, ",") + "}"
			switch {
			case metric.GetHistogram() != nil:
				series[name] = float64(metric.GetHistogram().GetSampleCount())
			case metric.GetCounter() != nil:
				series[name] = metric.GetCounter().GetValue()
			default:
				series[name] = metric.GetGauge().GetValue()
			}
		}
	}
	return series
}

// What is open, mended or waiting moves its series, and back.
func TestTheMetricsOfPaymentsMove(t *testing.T) {
	t.Parallel()
	b := open(t, ownDatabase(t)).terms(refundLate())
	const (
		openPayments = "holdfast_payment_attempts_open{1h,UNKNOWN}"
		oldest       = "holdfast_payment_oldest_unresolved_seconds{payment}"
		oldestRefund = "holdfast_payment_oldest_unresolved_seconds{refund}"
		orphans      = "holdfast_payment_repairs_today{ORPHAN_REFUNDED}"
		mismatches   = "holdfast_payment_review_waiting{MISMATCH}"
		unmatched    = "holdfast_payment_review_waiting{UNMATCHED}"
	)
	want := func(what string, series map[string]float64, values map[string]float64) {
		t.Helper()
		for name, value := range values {
			got, there := series[name]
			if !there || value >= 0 && got != value || value < 0 && got < -value {
				t.Errorf("%s: %s is %g (%t), want %g", what, name, got, there, value)
			}
		}
	}
	want("at first", b.metrics(t), map[string]float64{openPayments: 0, oldest: 0, oldestRefund: 0, orphans: 0, mismatches: 0, unmatched: 0})
	hold, attempt := b.pending()
	b.Age(30 * time.Minute)
	wrong := b.chargeMessage(attempt, "approved")
	wrong.about()["account"] = "acct_other"
	if err := b.deliver(t, wrong); err != nil {
		t.Fatal(err)
	}
	// An event of nobody waits as well.
	nobodys := b.chargeMessage(attempt, "approved")
	nobodys.about()["reference"], nobodys.about()["key"] = map[string]any{}, "made-by-hand"
	if err := b.deliver(t, nobodys); err != nil {
		t.Fatal(err)
	}
	want("what is tried again by itself", b.metrics(t), map[string]float64{mismatches: 1, unmatched: 0})
	if _, err := b.DB.Pool().Exec(t.Context(), "UPDATE provider_events SET retry_at = NULL WHERE tenant_id = $1", tenants.TenantID{}.UUID); err != nil {
		t.Fatal(err)
	}
	// At least half an hour: time passes.
	want("open", b.metrics(t), map[string]float64{openPayments: 1, oldest: -1799, mismatches: 1, unmatched: 1})
	b.Lapse(hold)
	b.decide(t, hold)
	b.Reconcile()
	b.Age(time.Hour)
	want("a refund is open", b.metrics(t), map[string]float64{openPayments: 0, oldest: 0, oldestRefund: -3599})
	b.Settle()
	if _, err := b.Sales.ResolveReview(t.Context(), b.Owner, b.waiting(t)[0].Item, "Another shop's."); err != nil {
		t.Fatal(err)
	}
	want("in the end", b.metrics(t), map[string]float64{openPayments: 0, oldest: 0, oldestRefund: 0, orphans: 1, mismatches: 0, unmatched: 1})
}

// Messages are counted by what became of them, and a provider that somebody makes up has no series
// of its own.
func TestProvidersMessagesAreCounted(t *testing.T) {
	t.Parallel()
	b := open(t)
	_, attempt := b.pending()
	m := b.chargeMessage(attempt, "approved")
	for range 2 {
		if err := b.deliver(t, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.deliver(t, b.chargeMessage(attempt, "approved")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		provider string
		header   http.Header
	}{
		{b.ProviderName, http.Header{}},
		{b.ProviderName, signature("whsec_sandbox_test", time.Now().Add(-time.Hour), []byte("{}"))},
		{b.ProviderName, signature("whsec_sandbox_test", time.Now(), []byte("{}"))},
		{"made-up", http.Header{}},
		{"made-up-too", http.Header{}},
	} {
		if err := b.Sales.HandleWebhook(t.Context(), c.provider, c.header, []byte("{}")); err == nil {
			t.Error("taken")
		}
	}
	series := b.metrics(t)
	for name, want := range map[string]float64{
		"holdfast_webhook_messages_total{" + b.ProviderName + ",applied}":         1,
		"holdfast_webhook_messages_total{" + b.ProviderName + ",already_known}":   2,
		"holdfast_webhook_messages_total{" + b.ProviderName + ",bad_signature}":   1,
		"holdfast_webhook_messages_total{" + b.ProviderName + ",stale_signature}": 1,
		"holdfast_webhook_messages_total{" + b.ProviderName + ",unreadable}":      1,
		"holdfast_webhook_messages_total{unknown,unknown_provider}":               2,
		"holdfast_webhook_lag_seconds{" + b.ProviderName + "}":                    1,
	} {
		if series[name] != want {
			t.Errorf("%s is %g, want %g", name, series[name], want)
		}
	}
}

// A database that is away hides its figures, and nothing else.
func TestMetricsWithoutADatabase(t *testing.T) {
	t.Parallel()
	away := openDatabase(t, db.Config{URL: dbtest.Create(t)})
	b := open(t, func(s *bookingstest.Setup) { s.DB = away })
	if err := b.Sales.HandleWebhook(t.Context(), "made-up", nil, nil); err == nil {
		t.Error("taken")
	}
	away.Close()
	series := b.metrics(t)
	if len(series) != 1 || series["holdfast_webhook_messages_total{unknown,unknown_provider}"] != 1 {
		t.Errorf("shown: %v", series)
	}
}
