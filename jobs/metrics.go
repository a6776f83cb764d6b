package jobs

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/bookings"
)

// metrics are the figures of jobs that look after the whole installation. Each process exports what
// its own runs found, so the newest of all processes is the one that counts.
type metrics struct {
	auditRun        prometheus.Gauge
	auditDuration   prometheus.Gauge
	auditOK         prometheus.Gauge
	auditViolations *prometheus.GaugeVec

	deletedRows       *prometheus.CounterVec
	retentionComplete *prometheus.GaugeVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		auditRun: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_audit_last_run_timestamp_seconds",
			Help: "When this process last completed an audit of the installation, in seconds of the Unix epoch; 0 is never. The newest of all processes tells whether audits run at all.",
		}),
		auditDuration: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_audit_duration_seconds",
			Help: "How long the last audit of this process took. Near the limit of five minutes it will soon fail.",
		}),
		auditOK: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_audit_ok",
			Help: "1 if the last audit of this process found nothing, else 0.",
		}),
		auditViolations: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "holdfast_audit_violations",
			Help: "What the last audit of this process found, by check. Anything above 0 is a sale or a payment that is wrong.",
		}, []string{"check"}),
		deletedRows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_retention_deleted_rows_total",
			Help: "Rows deleted because they were old enough, by table.",
		}, []string{"table"}),
		retentionComplete: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "holdfast_retention_complete_timestamp_seconds",
			Help: "When this process last found nothing more to delete in a table, in seconds of the Unix epoch; 0 is never. If the newest of all processes stays behind, the table grows.",
		}, []string{"table"}),
	}
	for _, collector := range []prometheus.Collector{
		m.auditRun, m.auditDuration, m.auditOK, m.auditViolations, m.deletedRows, m.retentionComplete,
	} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register the metrics of jobs: %w", err)
		}
	}
	return m, nil
}

// expectRetention shows each table as never completed until it is, so that a retention that fails
// from the start is missed.
func (m *metrics) expectRetention(tables []bookings.Retained) {
	for _, table := range tables {
		m.retentionComplete.WithLabelValues(table.Table).Set(0)
	}
}
