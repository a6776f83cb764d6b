package main

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

// process is a holdfast of its own, on a free port.
type process struct {
	url  string
	log  *lockedBuffer
	cmd  *exec.Cmd
	done chan error
}

var processURL = regexp.MustCompile(`url=(http://\S+)`)

// startProcess runs a command with settings of the environment until the test ends.
func startProcess(t *testing.T, settings []string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{log: &lockedBuffer{}, done: make(chan error, 1)}
	p.cmd = exec.Command(self, args...) //nolint:gosec,noctx // it is this test itself, and ends by a signal
	p.cmd.Env = append(append(os.Environ(), asProcess+"=1", "HOLDFAST_LISTEN=127.0.0.1:0"), settings...)
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done //nolint:errcheck // how it ended is the business of the test, if of anybody
	})
	eventually(t, strings.Join(args, " ")+" listens", func() bool {
		select {
		case err := <-p.done:
			p.done <- err
			t.Fatalf("%v ended: %v\n%s", args, err, p.log)
		default:
		}
		if found := processURL.FindStringSubmatch(p.log.String()); found != nil {
			p.url = found[1]
		}
		return p.url != ""
	})
	return p
}

// terminate asks the process to end, and waits until it has.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.done:
		p.done <- err
		if err != nil {
			t.Errorf("it did not end well: %v\n%s", err, p.log)
		}
	case <-time.After(time.Minute):
		t.Fatalf("it did not end within a minute\n%s", p.log)
	}
}

// installation is a database with a payment provider, and what processes need to know of both.
type installation struct {
	settings []string
	provider *sandbox.Server
	stage    *demoStage
}

// newInstallation starts everything but the processes. Nobody hears the provider's webhooks, so what
// it does not answer at once is for workers to ask.
func newInstallation(t *testing.T, config sandbox.Config) *installation {
	t.Helper()
	ctx := t.Context()
	target := dbtest.Create(t)
	s, err := openStore(ctx, target, "", nil, discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close(ctx) })
	if err := s.migrate(ctx, discard()); err != nil {
		t.Fatal(err)
	}
	config.SecretKey, config.WebhookSecrets = newSecret(), []string{newSecret()}
	provider, _, err := startSandbox(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeSandbox(ctx, provider) })
	platform, err := tenants.BootstrapPlatformKey(ctx, s.db, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return &installation{
		settings: []string{
			// Here one guest asks without a pause until something has happened.
			"HOLDFAST_RATE_LIMITS=false",
			"HOLDFAST_DATABASE_URL=" + target, "HOLDFAST_SANDBOX_URL=" + provider.URL(),
			"HOLDFAST_SANDBOX_SECRET=" + config.SecretKey, "HOLDFAST_SANDBOX_WEBHOOK_SECRETS=" + config.WebhookSecrets[0],
		},
		provider: provider, stage: &demoStage{provider: provider, platform: apiCaller{key: platform}},
	}
}

// sells sets a hall up through a server.
func (i *installation) sells(t *testing.T, server *process, seats int) (*demoSeller, *demoHall) {
	t.Helper()
	i.stage.api = newAPIClient(server.url, 4)
	i.stage.platform.api = i.stage.api
	t.Cleanup(i.stage.api.close)
	seller, err := i.stage.sells(t.Context(), "apart", nil)
	if err != nil {
		t.Fatal(err)
	}
	hall, err := seller.hall(t.Context(), seats, 0)
	if err != nil {
		t.Fatal(err)
	}
	return seller, hall
}

// sold waits until a hold is paid for.
func sold(t *testing.T, buyer demoBuyer, hold apiHold) (current apiHold) {
	t.Helper()
	eventually(t, "the hold is paid for", func() bool {
		var err error
		if current, err = buyer.reads(t.Context(), hold.ID); err != nil {
			t.Fatal(err)
		}
		return current.State == "CONFIRMED" && current.Booking != nil
	})
	return current
}

// Servers and workers are processes of their own, each with its queues: together they are one
// installation.
func TestServersAndWorkersRunApart(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, sandbox.Config{TimeScale: 0.1})
	server := startProcess(t, i.settings, "serve")
	money := startProcess(t, append(i.settings, "HOLDFAST_QUEUES=payments,events"), "work")
	rest := startProcess(t, i.settings, "work", "--queues=sweeps,audits,maintenance")

	seller, hall := i.sells(t, server, 2)
	a, _, err := seller.guests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hold, err := a.holds(t.Context(), hall.seats(1))
	if err != nil {
		t.Fatal(err)
	}
	paid, err := a.pays(t.Context(), hold, "tok_pending_approve_after_1s")
	if err != nil || paid.Hold.State != "PROCESSING" {
		t.Fatalf("the server alone came to %+v, %v", paid.Hold, err)
	}
	// The sweeps find the open payment, in whichever process, and ask for it.
	sold(t, a, hold)
	for name, worker := range map[string]*process{"money": money, "rest": rest} {
		for _, probe := range []string{"/healthz", "/readyz"} {
			if status, body := call(t, http.MethodGet, worker.url+probe, "", ""); status != http.StatusOK {
				t.Errorf("%s: %s says %d %s", name, probe, status, body)
			}
		}
		if status, _ := call(t, http.MethodPost, worker.url+"/graphql", "", `{"query":"{ __typename }"}`); status != http.StatusNotFound {
			t.Errorf("%s: the API answers with %d", name, status)
		}
		if _, body := call(t, http.MethodGet, worker.url+"/metrics", "", ""); !strings.Contains(body, `holdfast_queue_depth{queue="payments",state="available"}`) {
			t.Errorf("%s: the metrics say nothing about queues", name)
		}
	}
	eventually(t, "the process with that queue has audited", func() bool {
		_, body := call(t, http.MethodGet, rest.url+"/metrics", "", "")
		return strings.Contains(body, "holdfast_audit_ok 1\n")
	})
	if _, body := call(t, http.MethodGet, money.url+"/metrics", "", ""); !strings.Contains(body, "holdfast_audit_last_run_timestamp_seconds 0\n") {
		t.Error("the process without that queue has audited, too")
	}
	for _, p := range []*process{money, rest, server} {
		p.terminate(t)
	}
}

// A worker that is told to end finishes the refund that it is making at a slow provider.
func TestAWorkerFinishesWhatItHasBegun(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, sandbox.Config{Latency: time.Second})
	server := startProcess(t, i.settings, "serve")
	seller, hall := i.sells(t, server, 1)
	a, _, err := seller.guests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hold, err := a.holds(t.Context(), hall.seats(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.pays(t.Context(), hold, sandbox.TokenApprove); err != nil {
		t.Fatal(err)
	}
	done := sold(t, a, hold)
	cancelled, err := ask[struct {
		Booking struct {
			State string `json:"state"`
		} `json:"booking"`
	}](t.Context(), seller.admin, `mutation ($input: CancelBookingInput!) { result: cancelBooking(input: $input) { ... on Cancellation { booking { state } } } }`,
		setUp(apiInput{"booking": done.Booking.ID}))
	if err != nil {
		t.Fatal(err)
	}
	if cancelled.Booking.State != "CANCELLED" {
		t.Fatalf("the booking is %+v", cancelled)
	}
	worker := startProcess(t, i.settings, "work", "--queues=payments")
	// The provider answers a second after it has the refund.
	eventually(t, "the provider has the refund", func() bool { return len(i.provider.Refunds()) == 1 })
	worker.terminate(t)
	after := sold(t, a, hold)
	if got := after.Payments[0].Refunded.AmountMinor; got != demoSeatMinor {
		t.Errorf("%d were refunded, want %d", got, demoSeatMinor)
	}
}

// Bad settings are refused before the database is asked, by name.
func TestWorkIsToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	root := &cli{DatabaseURL: "postgres://nobody@127.0.0.1:1/none", LogLevel: "warn"}
	usual := workFlags{
		PaymentWorkers: 1, SweepWorkers: 1, EventWorkers: 1, DeliveryWorkers: 1,
		KeepRequests: 72 * time.Hour, KeepSessions: time.Hour, KeepProviderEvents: 2160 * time.Hour, KeepEvents: 720 * time.Hour,
	}
	keepsNothing, worksNothing := usual, usual
	keepsNothing.KeepEvents, worksNothing.SweepWorkers = 0, 0
	for want, c := range map[string]workCommand{
		"HOLDFAST_KEEP_EVENTS: expected for how long":            {workFlags: keepsNothing},
		"HOLDFAST_SWEEP_WORKERS: expected at least 1":            {workFlags: worksNothing},
		`no queue "paiments"; expected some of payments, sweeps`: {workFlags: workFlags{Queues: []string{"paiments"}}},
		"PaymentWorkers":                         {workFlags: workFlags{PaymentWorkers: 1001}},
		"of requests: expected at least 24h0m0s": {workFlags: workFlags{KeepRequests: time.Hour}},
		"HOLDFAST_REGION_MAP":                    {workFlags: usual, regionMapFlag: regionMapFlag{RegionMap: "eu"}},
	} {
		wantError(t, c.Run(t.Context(), root), want)
	}
	wantError(t, (&serveCommand{workFlags: workFlags{AuditInterval: -1}}).Run(t.Context(), root), "negative")
}

// A tenant cannot be where the cluster has no region.
func TestTenantsStayInTheRegionsOfTheCluster(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, sandbox.Config{})
	server := startProcess(t, append(i.settings, "HOLDFAST_REGION_MAP=eu=europe-west1,us=us-east1"), "serve")
	seller, _ := i.sells(t, server, 1)
	site := demoSite("Elsewhere")
	site["region"] = "ap"
	for _, mutation := range []string{"createProperty", "createVenue"} {
		_, err := seller.create(t.Context(), mutation, "CreateSiteInput", site)
		var refused *apiError
		if !errors.As(err, &refused) || refused.Extensions.Code != "BAD_INPUT" {
			t.Errorf("%s: %v", mutation, err)
		}
		wantError(t, err, `"eu"`, `"us"`, `got "ap"`)
	}
	site["region"] = "us"
	if _, err := seller.create(t.Context(), "createVenue", "CreateSiteInput", site); err != nil {
		t.Error(err)
	}
}
