package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/tenants"
)

// auditTimeout is longer than the snapshot that an audit reads may last.
const auditTimeout = 6 * time.Minute

// Auditor is what the audit needs.
type Auditor interface {
	Audit(ctx context.Context, tenant *tenants.TenantID) (bookings.AuditReport, error)
}

var _ Auditor = (*bookings.Service)(nil)

// auditWorker checks the invariants of every tenant. It changes nothing: what it finds is work for
// a person, who hears of it through the metrics and the log.
type auditWorker struct {
	river.WorkerDefaults[AuditArgs]
	sales   Auditor
	metrics *metrics
	logger  *slog.Logger
}

// Timeout is the audit's own: it reads everything.
func (w *auditWorker) Timeout(*river.Job[AuditArgs]) time.Duration { return auditTimeout }

// Work audits once. A report with violations is a job well done.
func (w *auditWorker) Work(ctx context.Context, _ *river.Job[AuditArgs]) error {
	began := time.Now()
	report, err := w.sales.Audit(ctx, nil)
	if err != nil {
		return err
	}
	w.metrics.auditDuration.Set(time.Since(began).Seconds())
	for _, check := range report.Checks {
		w.metrics.auditViolations.WithLabelValues(check.Name).Set(float64(check.Violations))
		if !check.OK {
			w.logger.ErrorContext(ctx, "the audit found violations", "check", check.Name, "violations", check.Violations, "examples", check.Examples)
		}
	}
	ok := 0.0
	if report.OK {
		ok = 1
	}
	w.metrics.auditOK.Set(ok)
	// Last, so that a run that is seen as the newest has the violations that belong to it.
	w.metrics.auditRun.SetToCurrentTime()
	return nil
}
