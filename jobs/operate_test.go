package jobs_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/jobs/rivercrdb"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// figure is the value of the metric that has all these values of labels; an absent one is -1.
func figure(t *testing.T, registry *prometheus.Registry, name string, labels ...string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			if hasLabels(metric.GetLabel(), labels) {
				return metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			}
		}
	}
	return -1
}

func hasLabels[L interface{ GetValue() string }](labels []L, values []string) bool {
	for _, value := range values {
		if !slices.ContainsFunc(labels, func(label L) bool { return label.GetValue() == value }) {
			return false
		}
	}
	return true
}

// logged keeps what several goroutines log.
type logged struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.String()
}

const ceilings = "no counter above its ceiling"

func TestTheAuditRunsByItselfAndSaysWhatItFound(t *testing.T) {
	t.Parallel()
	o := open(t)
	registry, log := prometheus.NewRegistry(), &logged{}
	o.Exec("UPDATE pool_counters SET ceiling = ceiling + 5 WHERE tenant_id = $1")
	o.work(t, func(c *jobs.Config) {
		c.AuditInterval, c.Metrics = 100*time.Millisecond, registry
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	o.Eventually("the damage is seen", func() bool { return figure(t, registry, "holdfast_audit_violations", ceilings) == 1 })
	o.Eventually("the run is noted", func() bool {
		return figure(t, registry, "holdfast_audit_last_run_timestamp_seconds") > 0 && figure(t, registry, "holdfast_audit_ok") == 0
	})
	if text := log.String(); !strings.Contains(text, `level=ERROR msg="the audit found violations" check="`+ceilings+`" violations=1`) {
		t.Errorf("the log says %s", text)
	}
	o.Exec("UPDATE pool_counters SET ceiling = ceiling - 5 WHERE tenant_id = $1")
	o.Eventually("the repair is seen", func() bool {
		return figure(t, registry, "holdfast_audit_violations", ceilings) == 0 && figure(t, registry, "holdfast_audit_ok") == 1
	})
	if n := figure(t, registry, "holdfast_audit_violations", "no seat with two owners"); n != 0 {
		t.Errorf("another check counts %v", n)
	}
}

func TestOldRowsGoByThemselves(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.Exec("UPDATE requests SET created_at = created_at - interval '100 hours' WHERE tenant_id = $1")
	o.Exec(`INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id, created_at)
		VALUES ($1, 'eu', 'placeHold', 'a week old', '', $1, now() - interval '7 days'), ($1, 'eu', 'placeHold', 'a day old', '', $1, now() - interval '1 day')`)
	registry := prometheus.NewRegistry()
	o.work(t, func(c *jobs.Config) { c.RetentionInterval, c.Metrics = time.Hour, registry })
	o.Eventually("the retention has run", func() bool {
		return figure(t, registry, "holdfast_retention_complete_timestamp_seconds", "admin_sessions") > 0
	})
	var left string
	if err := o.DB.Pool().QueryRow(t.Context(), "SELECT key FROM requests WHERE tenant_id = $1 AND scope = 'placeHold'", o.ID.UUID).Scan(&left); err != nil || left != "a day old" {
		t.Errorf("what is left is %q, %v", left, err)
	}
	if n := figure(t, registry, "holdfast_retention_deleted_rows_total", "requests"); n < 1 {
		t.Errorf("%v deleted rows are counted", n)
	}
}

// A retention that never completes is seen by its age: the series are there from the start.
func TestARetentionThatNeverCompletesIsMissed(t *testing.T) {
	t.Parallel()
	o := open(t)
	for interval, want := range map[time.Duration]float64{time.Hour: 0, 0: -1} {
		registry := prometheus.NewRegistry()
		o.work(t, func(c *jobs.Config) {
			c.RetentionInterval, c.Metrics, c.Queues = interval, registry, []string{"events"}
		})
		if got := figure(t, registry, "holdfast_retention_complete_timestamp_seconds", "requests"); got != want {
			t.Errorf("with an interval of %s: %v, want %v", interval, got, want)
		}
	}
}

// A process works the queues that it is told to; the jobs of the others wait for another process.
func TestAProcessWorksItsQueuesOnly(t *testing.T) {
	t.Parallel()
	o := open(t)
	stop := o.work(t, sweeping, func(c *jobs.Config) { c.Queues = []string{"events"} })
	guest := o.Guest()
	hold := guest.Hold(o.hall.Seats(1))
	o.Pay(guest, hold, sandbox.TokenApprove)
	o.cancel(t, hold)
	o.Eventually("events are told", func() bool { return o.count(t, "event") == 3 && o.count(t, "event", "completed") == 3 })
	if n := o.count(t, "refund", "available"); n != 1 {
		t.Errorf("%d refunds wait, want 1", n)
	}
	stop()
	o.work(t, func(c *jobs.Config) { c.Queues = []string{"payments", "sweeps"} })
	o.Eventually("the refund is paid", func() bool { return o.count(t, "refund", "completed") == 1 })
	o.Audit()
}

// A job that does not end in the time of a drain goes back to the queue, and another process
// finishes it: the provider is asked under the same key.
func TestADrainHandsBackWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	o := open(t, func(s *bookingstest.Setup) { s.Sales.AfterStep = bookingstest.Crash("checkout") })
	guest := o.Guest()
	hold := guest.Hold(o.hall.Seats(1))
	bookingstest.Survive(func() { o.Pay(guest, hold, "tok_approve_after_600s") })
	o.hurry(t)
	stop := o.work(t, func(c *jobs.Config) { c.DrainTimeout = 50 * time.Millisecond })
	o.Eventually("the provider is being asked", func() bool { return len(o.Provider.Charges()) == 1 })
	stop()
	if n := o.count(t, "charge", "retryable", "available"); n != 1 {
		t.Fatalf("%d charges are back in the queue, want 1", n)
	}
	o.Provider.Settle(o.Account, o.Attempt(hold).ID.String())
	if _, err := o.DB.Pool().Exec(t.Context(), "UPDATE river_job SET state = 'available', scheduled_at = now() - interval '1 second' WHERE state = 'retryable'"); err != nil {
		t.Fatal(err)
	}
	o.Due()
	o.work(t)
	o.Eventually("the sale is finished", func() bool { return o.Sale(hold) == "CONFIRMED SUCCEEDED/APPLIED BOOKED" })
	if n := len(o.Provider.Charges()); n != 1 {
		t.Errorf("%d charges", n)
	}
	o.Audit()
}

// queuesOn puts jobs into both kinds of River's tables.
func queuesOn(t *testing.T) map[string]*db.DB {
	t.Helper()
	databases := map[string]*db.DB{"stock": open(t).DB}
	other, err := db.Open(t.Context(), db.Config{URL: dbtest.Create(t), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	if err := rivercrdb.Migrate(t.Context(), other.Pool(), rivercrdb.Config{}); err != nil {
		t.Fatal(err)
	}
	databases["rivercrdb"] = other
	return databases
}

func TestQueuesAreMeasured(t *testing.T) {
	t.Parallel()
	for name, d := range queuesOn(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fill(t, d.Pool())
			registry := prometheus.NewRegistry()
			registry.MustRegister(jobs.NewQueueCollector(d, slog.New(slog.DiscardHandler)))
			for labels, want := range map[[2]string]float64{
				{"payments", "available"}: 3, {"payments", "retryable"}: 1, {"sweeps", "available"}: 0, {"audits", "retryable"}: 0,
			} {
				if got := figure(t, registry, "holdfast_queue_depth", labels[:]...); got != want {
					t.Errorf("%v: the depth is %v, want %v", labels, got, want)
				}
			}
			const hour, day = 3600, 86400
			if age := figure(t, registry, "holdfast_queue_oldest_job_seconds", "payments", "available"); age < 2*hour || age > 3*hour {
				t.Errorf("the oldest job has waited %v s, want two hours", age)
			}
			if age := figure(t, registry, "holdfast_queue_oldest_job_seconds", "payments", "retryable"); age < day || age > 2*day {
				t.Errorf("the oldest job that fails is %v s old, want a day", age)
			}
			if age := figure(t, registry, "holdfast_queue_oldest_job_seconds", "events", "available"); age != 0 {
				t.Errorf("an empty queue has a job that is %v s old", age)
			}
			// Figures are good for some seconds.
			if _, err := d.Pool().Exec(t.Context(), "DELETE FROM river_job WHERE id IS NOT NULL"); err != nil {
				t.Fatal(err)
			}
			if got := figure(t, registry, "holdfast_queue_depth", "payments", "available"); got != 3 {
				t.Errorf("a moment later the depth is %v, want the same figures", got)
			}
		})
	}
}

// fill makes jobs that wait, that are to be tried again, that are not due, and that have ended.
func fill(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for _, job := range []struct{ state, scheduled, created string }{
		{"available", "2 hours", "1 day"},
		{"available", "1 minute", "1 day"},
		{"available", "1 second", "1 second"},
		{"retryable", "-1 hour", "1 day"},
		{"scheduled", "-1 hour", "1 day"},
		{"completed", "1 hour", "1 day"},
	} {
		if _, err := pool.Exec(t.Context(), `INSERT INTO river_job (kind, args, max_attempts, queue, state, scheduled_at, created_at, finalized_at)
			VALUES ('charge', '{}', 25, 'payments', $1::text::river_job_state, now() - $2::text::interval, now() - $3::text::interval, CASE WHEN $1::text = 'completed' THEN now() END)`,
			job.state, job.scheduled, job.created); err != nil {
			t.Fatal(err)
		}
	}
}

// While the database does not answer, the scrape goes on without figures of queues.
func TestQueuesOfASilentDatabaseAreNotMeasured(t *testing.T) {
	t.Parallel()
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.Create(t), MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	log := &logged{}
	registry := prometheus.NewRegistry()
	registry.MustRegister(jobs.NewQueueCollector(d, slog.New(slog.NewTextHandler(log, nil))))
	if got := figure(t, registry, "holdfast_queue_depth"); got != -1 {
		t.Errorf("without tables the depth is %v", got)
	}
	if !strings.Contains(log.String(), "the queues cannot be looked at") {
		t.Errorf("the log says %q", log.String())
	}
}

// What River's interface asks for is answered with both drivers, over the tables of each.
func TestJobsCanBeInspected(t *testing.T) {
	t.Parallel()
	for name, d := range queuesOn(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fill(t, d.Pool())
			if _, err := d.Pool().Exec(t.Context(), "INSERT INTO river_queue (name, created_at, updated_at, metadata) VALUES ('payments', now(), now(), '{}')"); err != nil {
				t.Fatal(err)
			}
			inspector := inspectorOf(t, name, d)
			ask := func(method, path, body string) (int, string) {
				t.Helper()
				request := httptest.NewRequestWithContext(t.Context(), method, "/admin/river"+path, strings.NewReader(body))
				request.Header.Set("Content-Type", "application/json")
				recorder := httptest.NewRecorder()
				inspector.ServeHTTP(recorder, request)
				return recorder.Code, recorder.Body.String()
			}
			want := func(method, path, body string, words ...string) string {
				t.Helper()
				status, answer := ask(method, path, body)
				if status != http.StatusOK {
					t.Errorf("%s %s: %d %s", method, path, status, answer)
				}
				for _, word := range words {
					if !strings.Contains(answer, word) {
						t.Errorf("%s %s does not say %s: %s", method, path, word, answer)
					}
				}
				return answer
			}
			want("GET", "/", "", "<title>River</title>", `/admin/river/api`)
			want("GET", "/api/health-checks/complete", "", "ok")
			want("GET", "/api/features", "")
			want("GET", "/api/states", "", `"available":{"accuracy":"exact","count":3`, `"completed":{"accuracy":"exact","count":1`)
			want("GET", "/api/queues", "", `"name":"payments"`, `"count_available":3`)
			want("GET", "/api/queues/payments", "", `"name":"payments"`)
			want("GET", "/api/autocomplete?facet=job_kind&match=ch", "", "charge")
			want("GET", "/api/autocomplete?facet=queue_name&match=pay", "", "payments")
			for _, state := range []string{"available", "cancelled", "completed", "discarded", "pending", "retryable", "running", "scheduled"} {
				want("GET", "/api/jobs?state="+state, "")
			}
			want("GET", "/api/jobs?kinds=charge&queues=payments&priorities=1&state=available", "", `"kind":"charge"`)
			var jobs struct {
				Data []struct {
					ID json.Number `json:"id"`
				} `json:"data"`
			}
			if err := json.Unmarshal([]byte(want("GET", "/api/jobs?state=available&limit=3", "")), &jobs); err != nil || len(jobs.Data) != 3 {
				t.Fatalf("%d jobs, %v", len(jobs.Data), err)
			}
			id, another := string(jobs.Data[0].ID), string(jobs.Data[1].ID)
			want("GET", "/api/jobs/"+id, "", `"kind":"charge"`)
			want("POST", "/api/jobs/cancel", `{"ids":["`+id+`"]}`, "ok")
			want("GET", "/api/jobs?state=cancelled", "", id)
			want("POST", "/api/jobs/retry", `{"ids":["`+id+`"]}`, "ok")
			want("POST", "/api/jobs/delete", `{"ids":["`+another+`"]}`, "ok")
			if status, _ := ask("GET", "/api/jobs/"+another, ""); status != http.StatusNotFound {
				t.Errorf("a deleted job is answered with %d", status)
			}
			want("PUT", "/api/queues/payments/pause", "", "ok")
			want("GET", "/api/queues/payments", "", `"paused_at":"`)
			want("PUT", "/api/queues/payments/resume", "", "ok")
			want("GET", "/api/queues/payments", "", `"paused_at":null`)
		})
	}
}

func inspectorOf(t *testing.T, driver string, d *db.DB) http.Handler {
	t.Helper()
	discard := slog.New(slog.DiscardHandler)
	if driver == "rivercrdb" {
		riverDriver, err := rivercrdb.New(t.Context(), d.Pool(), rivercrdb.Config{})
		if err != nil {
			t.Fatal(err)
		}
		inspector, err := jobs.InspectorOver(riverDriver, "/admin/river", discard)
		if err != nil {
			t.Fatal(err)
		}
		return inspector
	}
	inspector, err := jobs.NewInspector(t.Context(), d, "/admin/river", discard)
	if err != nil {
		t.Fatal(err)
	}
	return inspector
}

// On a server that cannot sort as River asks there is a page that says so.
func TestAServerThatCannotBeInspectedIsTold(t *testing.T) {
	t.Parallel()
	recorder := httptest.NewRecorder()
	jobs.CannotInspect("CockroachDB v21.1.7").ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/admin/river/", nil))
	if recorder.Code != http.StatusNotImplemented {
		t.Errorf("status %d", recorder.Code)
	}
	for _, words := range []string{"CockroachDB v21.1.7", "22.1", "stuck-queue.md"} {
		if !strings.Contains(recorder.Body.String(), words) {
			t.Errorf("the page does not say %q: %s", words, recorder.Body.String())
		}
	}
}

func TestTheOperatingConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]jobs.Config{
		`no queue "paiments"`: {Queues: []string{"paiments"}},
		"named twice":         {Queues: []string{"payments", "sweeps", "payments"}},
		"negative":            {AuditInterval: -1},
		"must not":            {RetentionInterval: -time.Hour},
		"of requests":         {Retention: bookings.Retention{Requests: time.Hour}},
	} {
		if err := config.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", config, err, want)
		}
	}
	if err := (jobs.Config{Queues: jobs.Queues()}).Validate(); err != nil {
		t.Error(err)
	}
}
