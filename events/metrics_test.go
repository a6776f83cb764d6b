package events_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/events/eventstest"
)

func TestMetricsSayWhatWaitsAndWhatBecameOfTries(t *testing.T) {
	t.Parallel()
	o, receiver := alone(t), eventstest.NewReceiver(t)
	registry := prometheus.NewRegistry()
	o.events = o.service(func(c *events.Config) { c.Metrics = registry })
	endpoint := o.endpoint(o.Owner, receiver.URL)
	read := func(name, label string) float64 {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				if family.GetName() != name || (label != "" && !strings.Contains(metric.String(), label)) {
					continue
				}
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
		return 0
	}
	id := o.emit(o.Widget.Channel, events.TypeBookingConfirmed)
	if age := read("holdfast_event_oldest_waiting_seconds", ""); age != 0 {
		t.Errorf("an event that has its job waits %g s", age)
	}
	o.pass(time.Hour)
	if age := read("holdfast_event_oldest_waiting_seconds", ""); age < 3600 || age > 4000 {
		t.Errorf("an event waits an hour: %g s", age)
	}
	o.exec("UPDATE webhook_endpoints SET created_at = created_at - interval '1 hour' WHERE tenant_id = $1")
	o.fanOut(id)
	o.pass(time.Hour)
	if age := read("holdfast_webhook_oldest_due_seconds", ""); age < 3600 || age > 4000 {
		t.Errorf("a delivery is due for an hour: %g s", age)
	}
	receiver.AnswerStatus(http.StatusTeapot)
	o.deliver(endpoint)
	receiver.AnswerStatus(http.StatusOK)
	o.due()
	o.deliver(endpoint)
	for label, want := range map[string]float64{"delivered": 1, "retry": 1, "gone": 0, "given_up": 0} {
		if got := read("holdfast_webhook_attempts_total", label); got != want {
			t.Errorf("%g tries with the result %s, want %g", got, label, want)
		}
	}
	if age, lags := read("holdfast_webhook_oldest_due_seconds", ""), read("holdfast_event_fan_out_seconds", ""); age != 0 || lags != 1 {
		t.Errorf("at the end %g s are due, and %g events were fanned out", age, lags)
	}
}
