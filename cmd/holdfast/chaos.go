package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

type chaosCommand struct {
	JSON         bool    `name:"json" help:"Print one JSON object."`
	Seconds      float64 `default:"60" help:"How long buyers buy while processes are killed, 1 to 600. Then everything is let settle, for at most three minutes, and checked."`
	Buyers       int     `default:"24" help:"How many buyers buy at once, 1 to 256."`
	Seed         uint64  `help:"What buyers choose, which faults they meet and which processes are killed; 0, the default, takes a new one and prints it. How the processes interleave is the machine's choice all the same."`
	Timeouts     float64 `default:"1" help:"Percent of payments whose call the provider does not answer, or answers with a broken connection or an error."`
	Late         float64 `default:"1" help:"Percent of payments that succeed after their deadline, or after they were declined."`
	Contradicted float64 `default:"1" help:"Percent of payments that are approved, and declined by a message that follows."`
}

// errChaos makes the command fail when something went astray; the report has said what.
var errChaos = errors.New("something went astray")

// Run buys under faults on a database of its own and fails unless every unit and all money is where
// it belongs.
func (c *chaosCommand) Run(ctx context.Context, root *cli) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program's own file: %w", err)
	}
	report, err := runChaos(ctx, chaosConfig{
		DatabaseURL: root.DatabaseURL, Self: []string{executable}, Progress: os.Stderr, Seconds: c.Seconds, Buyers: c.Buyers, Seed: c.Seed,
		Timeouts: c.Timeouts, Late: c.Late, Contradicted: c.Contradicted, KillEvery: 2 * time.Second, PaymentSeconds: 8,
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("it was interrupted: %w", err)
	}
	if err != nil {
		report.OK, report.Error = false, explain(err)
	}
	switch {
	case c.JSON:
		if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
	case err == nil:
		printChaos(os.Stdout, report)
	}
	switch {
	case err != nil:
		return fmt.Errorf("the chaos run broke off: %w", err)
	case !report.OK:
		return errChaos
	}
	return nil
}

// chaosConfig says what is broken, and for how long.
type chaosConfig struct {
	// DatabaseURL names a server to make a database on; empty starts a throw-away engine.
	DatabaseURL string
	// Self is the command that is this program, without arguments, and Environment what it needs in
	// its environment besides its settings.
	Self        []string
	Environment []string
	// Progress receives lines for people.
	Progress io.Writer
	Seconds  float64
	Buyers   int
	// Seed 0 takes a new one.
	Seed uint64
	// Timeouts, Late and Contradicted are percentages of payments, see chaosCommand.
	Timeouts, Late, Contradicted float64
	// KillEvery is the mean time between two kills.
	KillEvery time.Duration
	// PaymentSeconds is the window of a payment in the terms of sale.
	PaymentSeconds int
	// BeforeBuying is called when everything runs and the first purchase is about to begin; nil is nothing.
	BeforeBuying func(run *chaosRun)
	// BeforeChecks is called when everything has settled; nil is nothing. Tests damage the books there.
	BeforeChecks func(ctx context.Context, run *chaosRun) error
}

// Limits of a chaos run.
const (
	chaosMinSeconds = 1
	chaosMaxSeconds = 600
	chaosMaxBuyers  = 256
	// chaosSettleLimit bounds the wait for the end of every payment and refund, and chaosSpare all that is
	// done before and after besides.
	chaosSettleLimit = 3 * time.Minute
	chaosSpare       = 5 * time.Minute
	chaosMaxSales    = 200_000
	chaosExamples    = 10
)

// chanceOf is a sequence of choices of its own: 0 is that of the kills, further ones are the buyers'.
func (c chaosConfig) chanceOf(sequence int) *rand.Rand {
	return rand.New(rand.NewPCG(c.Seed, uint64(sequence))) //nolint:gosec // choices are to be repeatable, not secret
}

// Validate names the flag that is out of bounds.
func (c chaosConfig) Validate() error {
	// The comparisons are written so that NaN fails them.
	if !(c.Seconds >= chaosMinSeconds && c.Seconds <= chaosMaxSeconds) {
		return fmt.Errorf("--seconds: expected %d to %d, got %g", chaosMinSeconds, chaosMaxSeconds, c.Seconds)
	}
	if c.Buyers < 1 || c.Buyers > chaosMaxBuyers {
		return fmt.Errorf("--buyers: expected 1 to %d, got %d", chaosMaxBuyers, c.Buyers)
	}
	for _, share := range []struct {
		flag    string
		percent float64
	}{{"--timeouts", c.Timeouts}, {"--late", c.Late}, {"--contradicted", c.Contradicted}} {
		if !(share.percent >= 0 && share.percent <= 100) {
			return fmt.Errorf("%s: expected 0 to 100 percent, got %g", share.flag, share.percent)
		}
	}
	if sum := c.Timeouts + c.Late + c.Contradicted; sum > 100 {
		return fmt.Errorf("--timeouts, --late and --contradicted: expected at most 100 percent together, got %g", sum)
	}
	if c.KillEvery <= 0 || c.PaymentSeconds < 1 || c.PaymentSeconds > 60 || len(c.Self) == 0 {
		return errors.New("chaos: expected KillEvery, PaymentSeconds of 1 to 60 and Self to be set")
	}
	return nil
}

// chaosReport is what happened, and what was found at the end.
type chaosReport struct {
	OK      bool    `json:"ok"`
	Engine  string  `json:"engine"`
	Seed    uint64  `json:"seed"`
	Seconds float64 `json:"seconds"`
	Buyers  int     `json:"buyers"`
	// Sales is what buyers did and were told.
	Sales chaosTally `json:"sales"`
	// Kills counts SIGKILLs by the command that was killed.
	Kills map[string]int `json:"kills"`
	// Faults counts payments by the trouble that they met at the provider.
	Faults   map[string]int      `json:"faults"`
	Provider chaosProviderReport `json:"provider"`
	// SettledAfterSeconds is how long after the last purchase the last payment and refund had ended.
	SettledAfterSeconds float64       `json:"settledAfterSeconds"`
	Found               chaosFindings `json:"found"`
	// Repaired is what became of payments, refunds and the provider's messages, and what was mended.
	Repaired chaosRepaired        `json:"repaired"`
	Audit    bookings.AuditReport `json:"audit"`
	// Error says why the run could not be brought to its end.
	Error string `json:"error,omitempty"`
}

// chaosProviderReport is the provider's side.
type chaosProviderReport struct {
	Charges int `json:"charges"`
	Refunds int `json:"refunds"`
	// WebhooksDelivered counts those sent twice twice; WebhookTriesFailed are deliveries that no server took.
	WebhooksDelivered  int `json:"webhooksDelivered"`
	WebhookTriesFailed int `json:"webhookTriesFailed"`
}

// chaosRun is one run while it lasts.
type chaosRun struct {
	config   chaosConfig
	app      *app
	provider *sandbox.Server
	fleet    *chaosFleet
	stage    *demoStage
	sellers  []*chaosSeller
	ledger   chaosLedger
	// buyingEnds is when no purchase begins any more.
	buyingEnds time.Time
}

func (r *chaosRun) say(format string, args ...any) {
	// The terminal may be gone; the report says the same.
	_, _ = fmt.Fprintf(r.config.Progress, format+"\n", args...)
}

// runChaos breaks things while buyers buy, mends them, and compares what everybody was told with what
// there is. What went astray is no error but part of the report.
func runChaos(ctx context.Context, config chaosConfig) (report chaosReport, err error) {
	if err := config.Validate(); err != nil {
		return report, err
	}
	for config.Seed == 0 {
		// A JSON number that every reader keeps whole.
		config.Seed = rand.Uint64N(1 << 53) //nolint:gosec // it is printed, not secret
	}
	report = chaosReport{Seed: config.Seed, Seconds: config.Seconds, Buyers: config.Buyers}
	s, drop, err := openThrowaway(ctx, config.DatabaseURL, "holdfast_chaos", config.Progress)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	report.Engine = string(s.db.Engine())
	ctx, cancel := context.WithTimeout(ctx, time.Duration(config.Seconds*float64(time.Second))+chaosSettleLimit+chaosSpare)
	defer cancel()
	run, err := newChaosRun(ctx, s, config)
	defer func() { err = errors.Join(err, run.close(ctx)) }()
	if err != nil {
		return report, err
	}
	if config.BeforeBuying != nil {
		config.BeforeBuying(run)
	}
	if err := run.buy(ctx); err != nil {
		return report, err
	}
	return report, run.conclude(ctx, &report)
}

// newChaosRun starts the provider and the processes, and puts stock on sale. What it returns with an
// error is to be closed, too.
func newChaosRun(ctx context.Context, s *store, config chaosConfig) (*chaosRun, error) {
	run := &chaosRun{config: config, ledger: newChaosLedger()}
	run.say("Seed %d: %d buyers for %g s on %s; the same seed makes the same choices.", config.Seed, config.Buyers, config.Seconds, s.db.Version())
	var err error
	run.provider, _, err = startSandbox(ctx, sandbox.Config{
		SecretKey: newSecret(), WebhookSecrets: []string{newSecret()}, HangLimit: time.Minute,
		WebhookFaults: sandbox.WebhookFaults{Seed: config.Seed, Double: chaosDoubled, Shuffle: chaosShuffled},
	})
	if err != nil {
		return run, err
	}
	if run.app, err = newApp(ctx, s, nil, discard(), appSettings{}); err != nil {
		return run, err
	}
	run.fleet = newChaosFleet(config, s.url, run.provider)
	if err := run.fleet.start(ctx, run.fleet.slots); err != nil {
		return run, err
	}
	key, err := tenants.BootstrapPlatformKey(ctx, s.db, "chaos")
	if err != nil {
		return run, err
	}
	// A client of its own, because it is moved to the server that serves at the end.
	api := newAPIClient(run.fleet.servers()[0].running.url, demoConnections)
	run.stage = &demoStage{app: run.app, provider: run.provider, api: api, platform: apiCaller{api: api, key: key}}
	run.sellers, err = run.sells(ctx)
	return run, err
}

// close stops what was started, the last first. It may be called on half a run.
func (r *chaosRun) close(ctx context.Context) error {
	var err error
	if r.stage != nil {
		r.stage.api.close()
	}
	if r.fleet != nil {
		err = r.fleet.close()
	}
	if r.app != nil {
		r.app.close()
	}
	if r.provider != nil {
		err = errors.Join(err, closeSandbox(ctx, r.provider))
	}
	return err
}

func printChaos(out io.Writer, report chaosReport) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(table, "%s\t%v\n", name, value) }
	fmt.Fprintln(table)
	row("purchases", fmt.Sprintf("%d: %d told booked, %d cancelled, %d declined, %d refused, %d abandoned", report.Sales.Begun, report.Sales.ToldBooked,
		report.Sales.Cancelled, report.Sales.Declined, sumOf(report.Sales.Refused), report.Sales.Abandoned))
	row("requests sent again", report.Sales.Retries)
	row("killed", counts(report.Kills))
	row("trouble at the provider", counts(report.Faults))
	row("at the provider", fmt.Sprintf("%d charges, %d refunds, %d webhooks delivered, %d tries failed", report.Provider.Charges, report.Provider.Refunds,
		report.Provider.WebhooksDelivered, report.Provider.WebhookTriesFailed))
	row("settled after", fmt.Sprintf("%.1f s", report.SettledAfterSeconds))
	fmt.Fprintln(table)
	row("units lost", report.Found.UnitsLost)
	row("units doubled", report.Found.UnitsDoubled)
	row("charges without booking or refund", report.Found.ChargesAstray)
	row("double refunds", report.Found.DoubleRefunds)
	row("promises broken", report.Found.PromisesBroken)
	row("books that differ from the provider's", report.Found.BooksDiffer)
	row("payments, refunds and holds still open", report.Found.Unresolved)
	row("errors that no client should see", report.Found.Errors)
	for _, example := range report.Found.Examples {
		row("", example)
	}
	fmt.Fprintln(table)
	for _, group := range []struct {
		name  string
		count map[string]int
	}{
		{"payments", report.Repaired.Attempts},
		{"refunds", report.Repaired.Refunds},
		{"provider's messages", report.Repaired.Events},
		{"repairs", report.Repaired.Repairs},
	} {
		for _, kind := range slices.Sorted(maps.Keys(group.count)) {
			row(group.name+": "+kind, group.count[kind])
		}
	}
	fmt.Fprintln(table)
	for _, check := range report.Audit.Checks {
		row(check.Name, auditVerdict(check))
	}
	// The terminal may be gone; the exit status says the same.
	_ = table.Flush()
	verdict := "Every unit and all money is where it belongs"
	if !report.OK {
		verdict = "NOT everything is where it belongs"
	}
	fmt.Fprintf(out, "\n%s, on %s with seed %d.\n", verdict, report.Engine, report.Seed)
}

func sumOf(counted map[string]int) (sum int) {
	for _, n := range counted {
		sum += n
	}
	return sum
}
