package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast/holdfast/bookings"
)

type benchCommand struct {
	Only []string `arg:"" optional:"" name:"scenario" help:"Measure only these scenarios of holds: ${benchScenarios}."`

	JSON            bool     `name:"json" help:"Print JSON: with scenarios named, one object a line for each scenario and number of clients; else one object of everything."`
	Seconds         float64  `default:"5" help:"How long each cell is measured, after a warm-up of a fifth of it."`
	Sections        []string `default:"holds,map,jobs,migration,sweep,sagas,webhooks,reconcile,blocks" help:"What is measured: holds (the scenarios), map (reading a seat map while it changes), jobs (River's drivers), migration (of a database full of nights), sweep (ending due holds), sagas (hold, checkout, booked), webhooks (a provider's events), reconcile (asking after open payments), blocks (setting seats aside while others hold); and only when it is named, best alone: soak (memory while payments go wrong), waiting-room (a crowd that joins, waits and is let in), capacity (nights set and loaded while another hotel sells)."`
	Clients         []int    `default:"1,16,64" help:"How many clients hold at once, each its next hold when the last is answered."`
	Rate            float64  `default:"0" help:"Offer so many holds a second however fast the answers come, and measure each from the moment it was due; 0 is as many as the clients get answered."`
	Scenarios       []string `default:"seats,pool,nights" help:"What is held when no scenario is named: some of ${benchScenarios}."`
	Baseline        bool     `default:"true" negatable:"" help:"Measure the same holds as plain SQL without a server, too."`
	BaselineClients []int    `default:"1,4,16,64" help:"With how many clients plain SQL is tried; the best counts."`
	Durable         bool     `help:"Run the engine with the durability of a real one. Without it a throw-away engine does not wait for the disk."`
	Seats           int      `default:"50000" help:"How many seats the generated hall has."`
	Shows           int      `default:"1" help:"How many shows of the hall are on sale at least, to see what a large database costs; the seats of one after another are held."`
	Shards          int      `default:"1" help:"Over how many rows the counter of the pool is split."`
	Hotels          int      `default:"400" help:"How many hotels the flash sale has, ten of them in the advertisement, and how many of 10 room types capacity loads with 365 nights each."`
	Guests          int      `default:"1000" help:"How many guests take turns to hold."`
	Jobs            int      `default:"2000" help:"How many jobs are inserted at once and worked, in each of seven rounds."`
	Nights          int      `default:"1000000" help:"How many nights the database has that is migrated."`
	Due             int      `default:"20000" help:"How many due holds are swept."`
	Buyers          []int    `default:"1,16,64,256" help:"How many buyers have a saga under way at once."`
	Events          int      `default:"10000" help:"How many events a provider sends, each twice."`
	Attempts        int      `default:"100000" help:"How many open payments are reconciled."`

	BlockSeats int `default:"10000" help:"How many seats are assigned to a block at a time."`

	Soak time.Duration `default:"10m" help:"How long the soak lasts."`
	Bare string        `hidden:"" help:"Serve the answer at this address from a bare handler, as the benchmark of maps compares with."`

	Visitors int `default:"100000" help:"How many visitors join the waiting room."`
}

// errBench makes the command fail when holds failed or the audit found something; the report says
// what.
var errBench = errors.New("the benchmark met failures")

// Run measures holds through GraphQL over HTTP against a server process of its own. It prints
// figures and judges only whether everything was right, not how fast it was.
func (c *benchCommand) Run(ctx context.Context, root *cli) error {
	if c.Bare != "" {
		return serveBare(ctx, c.Bare, root.logger())
	}
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program's own file: %w", err)
	}
	if len(c.Only) > 0 {
		c.Sections, c.Scenarios = []string{benchHolds}, c.Only
	}
	report, err := runBench(ctx, benchConfig{
		DatabaseURL: root.DatabaseURL, Server: []string{executable, "serve"}, Bare: []string{executable, "bench", "--bare"}, Progress: os.Stderr, Durable: c.Durable,
		Seconds: c.Seconds, Clients: c.Clients, Scenarios: c.Scenarios, Rate: c.Rate, Baseline: c.Baseline, BaselineClients: c.BaselineClients,
		Seats: c.Seats, Shows: c.Shows, Shards: c.Shards, Hotels: c.Hotels, Guests: c.Guests,
		Sections: c.Sections, Jobs: c.Jobs, Nights: c.Nights, Due: c.Due,
		Buyers: c.Buyers, Events: c.Events, Attempts: c.Attempts, Soak: c.Soak,
		Visitors: c.Visitors, BlockSeats: c.BlockSeats,
	})
	if err != nil {
		return err
	}
	switch {
	case c.JSON && len(c.Only) > 0:
		if err := printBenchLines(os.Stdout, report.Cells); err != nil {
			return err
		}
	case c.JSON:
		if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
	default:
		printBench(os.Stdout, report)
	}
	if !report.OK {
		return errBench
	}
	return nil
}

// benchConfig says what is measured and where.
type benchConfig struct {
	// DatabaseURL names a server to make a database on; empty starts an engine.
	DatabaseURL string
	// Server is the command that serves, such as holdfast and its argument serve.
	Server []string
	// Bare is the command that serves the answer at an address, which is added to it.
	Bare []string
	// Progress receives lines for people.
	Progress io.Writer
	// Durable asks of an engine that is started here to wait for the disk.
	Durable bool
	// Sections are what is measured.
	Sections []string
	// Seconds is how long each cell is measured.
	Seconds   float64
	Clients   []int
	Scenarios []string
	// Rate is how many holds a second are offered; 0 is as many as the clients get answered.
	Rate float64
	// Baseline also measures plain SQL, with BaselineClients: none are 1, 4, 16 and 64.
	Baseline        bool
	BaselineClients []int
	// Seats is the size of the hall, Shows how many shows of it there are at least, Shards in how many rows
	// the pool's counter is, Hotels how many the flash sale has and are loaded with a year of nights, and
	// Guests how many buyers there are.
	Seats, Shows, Shards, Hotels, Guests int
	// Jobs are what a round inserts at once, Nights what the migrated database has, and Due how many
	// holds are swept.
	Jobs, Nights, Due int
	// Buyers are how many sagas are under way at once, Events what a provider sends, Attempts how many
	// open payments are reconciled, and Soak is how long the soak lasts.
	Buyers           []int
	Events, Attempts int
	// BlockSeats are assigned to a block at a time.
	BlockSeats int
	Soak       time.Duration
	// Visitors are how many join the waiting room.
	Visitors int
}

// measures is whether a section is asked for.
func (c benchConfig) measures(section string) bool { return slices.Contains(c.Sections, section) }

// Limits of a benchmark.
const (
	benchMaxSeconds = 600
	benchMaxClients = 1024
	benchMaxSeats   = 100_000
	benchMaxShards  = 256
	benchMaxGuests  = 100_000
	benchMaxRate    = 1_000_000
	benchMaxHotels  = 10_000
)

// The sections.
const (
	benchHolds     = "holds"
	benchRiver     = "jobs"
	benchMigrating = "migration"
	benchSweeping  = "sweep"
	benchSelling   = "sagas"
	benchTelling   = "webhooks"
	benchAsking    = "reconcile"
	benchSoaking   = "soak"
	benchSetting   = "capacity"
	benchBlocking  = "blocks"
)

func benchSections() []string {
	return []string{benchHolds, benchMapping, benchRiver, benchMigrating, benchSweeping, benchSelling, benchTelling, benchAsking, benchSoaking, benchWaiting, benchSetting, benchBlocking}
}

// Validate names the flag that is out of bounds.
func (c benchConfig) Validate() error {
	// The comparison is written so that NaN fails it.
	if !(c.Seconds >= 0.1 && c.Seconds <= benchMaxSeconds) {
		return fmt.Errorf("--seconds: expected 0.1 to %d, got %g", benchMaxSeconds, c.Seconds)
	}
	if len(c.Sections) == 0 {
		return errors.New("--sections: expected at least one")
	}
	for _, section := range c.Sections {
		if !slices.Contains(benchSections(), section) {
			return fmt.Errorf("--sections: expected some of %s, got %q", strings.Join(benchSections(), ", "), section)
		}
	}
	if len(c.Clients) == 0 || len(c.Scenarios) == 0 || len(c.Buyers) == 0 {
		return errors.New("--clients, --scenarios and --buyers: expected at least one each")
	}
	for _, n := range c.Clients {
		if err := benchBound("--clients", n, benchMaxClients); err != nil {
			return err
		}
	}
	for _, n := range c.Buyers {
		if err := benchBound("--buyers", n, benchMaxClients); err != nil {
			return err
		}
	}
	for _, n := range c.BaselineClients {
		if err := benchBound("--baseline-clients", n, benchMaxClients); err != nil {
			return err
		}
	}
	if err := c.validateScenarios(); err != nil {
		return err
	}
	if !(c.Rate >= 0 && c.Rate <= benchMaxRate) {
		return fmt.Errorf("--rate: expected 0 to %d, got %g", benchMaxRate, c.Rate)
	}
	for _, bound := range []struct {
		flag      string
		got, most int
	}{
		{"--seats", c.Seats, benchMaxSeats},
		{"--shards", c.Shards, benchMaxShards},
		{"--guests", c.Guests, benchMaxGuests},
		{"--jobs", c.Jobs, benchMaxJobs},
		{"--nights", c.Nights, benchMaxNights},
		{"--due", c.Due, benchMaxDue},
		{"--events", c.Events, benchMaxEvents},
		{"--attempts", c.Attempts, benchMaxAttempts},
		{"--visitors", c.Visitors, benchMaxVisitors},
		{"--block-seats", c.BlockSeats, benchMaxBlockSeats},
	} {
		if err := benchBound(bound.flag, bound.got, bound.most); err != nil {
			return err
		}
	}
	if c.Shows < 0 || c.Shows > benchMaxShows {
		return fmt.Errorf("--shows: expected 0 to %d, got %d", benchMaxShows, c.Shows)
	}
	if c.Hotels <= benchSaleHot || c.Hotels > benchMaxHotels {
		return fmt.Errorf("--hotels: expected %d to %d, got %d", benchSaleHot+1, benchMaxHotels, c.Hotels)
	}
	if c.Soak < benchMinSoak || c.Soak > benchMaxSoak {
		return fmt.Errorf("--soak: expected %s to %s, got %s", benchMinSoak, benchMaxSoak, c.Soak)
	}
	return nil
}

func benchBound(flag string, got, most int) error {
	if got < 1 || got > most {
		return fmt.Errorf("%s: expected 1 to %d, got %d", flag, most, got)
	}
	return nil
}

// measured and warmUp are the two parts of a cell.
func (c benchConfig) measured() time.Duration { return time.Duration(c.Seconds * float64(time.Second)) }
func (c benchConfig) warmUp() time.Duration   { return c.measured() / 5 }

// benchReport is what was measured.
type benchReport struct {
	OK     bool   `json:"ok"`
	Engine string `json:"engine"`
	// Version is the engine's.
	Version string `json:"version"`
	// Durability says whether a commit waited for the disk: "on", "off" for a throw-away engine, or
	// "server" for a server whose settings are its operator's.
	Durability string `json:"durability"`
	CPUs       int    `json:"cpus"`
	// Seconds is how long each cell was measured.
	Seconds float64     `json:"seconds"`
	Cells   []benchCell `json:"cells"`
	// The sections beside holds are nil when they were not measured.
	Map       *benchMaps       `json:"map,omitempty"`
	Jobs      *benchJobs       `json:"jobs,omitempty"`
	Migration *benchMigration  `json:"migration,omitempty"`
	Sweep     *benchSwept      `json:"sweep,omitempty"`
	Sagas     *benchSagas      `json:"sagas,omitempty"`
	Webhooks  *benchWebhooks   `json:"webhooks,omitempty"`
	Reconcile *benchReconciled `json:"reconcile,omitempty"`
	Soak      *benchSoaked     `json:"soak,omitempty"`
	Room      *benchRoom       `json:"waitingRoom,omitempty"`
	Capacity  *benchCapacity   `json:"capacity,omitempty"`
	Blocks    *benchBlocked    `json:"blocks,omitempty"`
	// Memory is the server process's.
	Memory benchMemory          `json:"memory"`
	Audit  bookings.AuditReport `json:"audit"`
}

// benchCell is one scenario with one number of clients.
type benchCell struct {
	Scenario       string  `json:"scenario"`
	Engine         string  `json:"engine"`
	Clients        int     `json:"clients"`
	HoldsPerSecond float64 `json:"holdsPerSecond"`
	// The percentiles are of holds that were placed.
	P50Ms float64 `json:"p50Ms"`
	P95Ms float64 `json:"p95Ms"`
	P99Ms float64 `json:"p99Ms"`
	// Refused counts refusals by code, Errors failures that no client should see by code.
	Refused map[string]int `json:"refused"`
	Errors  map[string]int `json:"errors,omitempty"`
	// Baseline is the best rate of the same hold as plain SQL, and at how many clients it was; nil
	// when it was not measured.
	Baseline *benchBaseline `json:"baseline"`
	// Ratio is HoldsPerSecond over the baseline's.
	Ratio float64 `json:"ratio"`
	// Together is the share of groups whose seats are beside each other, Tries how many choices of seats a
	// hold took; 0 where no seats were chosen.
	Together float64    `json:"together,omitempty"`
	Tries    float64    `json:"tries,omitempty"`
	Audit    benchAudit `json:"audit"`
}

type benchBaseline struct {
	PerSecond float64 `json:"perSecond"`
	Clients   int     `json:"clients"`
}

// benchAudit is the audit's verdict after a scenario.
type benchAudit struct {
	OK bool `json:"ok"`
}

// runBench measures section by section on a database of its own.
func runBench(ctx context.Context, config benchConfig) (report benchReport, err error) {
	if err := config.Validate(); err != nil {
		return benchReport{}, err
	}
	say := func(format string, args ...any) {
		// The terminal may be gone; the report says the same.
		_, _ = fmt.Fprintf(config.Progress, format+"\n", args...)
	}
	s, drop, err := openBenchStore(ctx, config)
	if err != nil {
		return benchReport{}, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	a, err := newApp(ctx, s, nil, discard(), appSettings{})
	if err != nil {
		return benchReport{}, err
	}
	defer a.close()
	report = benchReport{
		OK: true, Engine: string(s.db.Engine()), Version: s.db.Version(), Durability: config.durability(), CPUs: runtime.NumCPU(), Seconds: config.Seconds,
		Cells: []benchCell{},
	}
	if config.measures(benchHolds) || config.measures(benchSweeping) {
		if err := measureStock(ctx, a, config, &report, say); err != nil {
			return benchReport{}, err
		}
	}
	if config.measures(benchMapping) {
		say("map: the status of %d seats, read from memory while seats are held", config.Seats)
		var ok bool
		if report.Map, ok, err = measureMaps(ctx, a, config, say); err != nil {
			return benchReport{}, fmt.Errorf("measure maps: %w", err)
		}
		report.OK = report.OK && ok
	}
	if config.measures(benchRiver) {
		say("jobs: %d at once, and %d each in a transaction of its own, medians of %d rounds", config.Jobs, benchJobsInTx, benchJobRounds)
		if report.Jobs, err = measureJobs(ctx, s.db, config, say); err != nil {
			return benchReport{}, err
		}
	}
	if config.measures(benchMigrating) {
		say("migration: a database with %d nights", config.Nights)
		if report.Migration, err = measureMigration(ctx, s, config, say); err != nil {
			return benchReport{}, err
		}
	}
	if config.measures(benchSetting) {
		say("capacity: a year of nights set, and of %d hotels of %d room types loaded, while another hotel sells", config.Hotels, benchChainTypes)
		if report.Capacity, err = measureCapacity(ctx, a, config, say); err != nil {
			return benchReport{}, fmt.Errorf("measure capacity: %w", err)
		}
	}
	if err := measurePayments(ctx, a, config, &report, say); err != nil {
		return benchReport{}, err
	}
	if config.measures(benchWaiting) {
		say("waiting room: %d visitors join and wait", config.Visitors)
		if report.Room, err = measureRoom(ctx, a, config, say); err != nil {
			return benchReport{}, fmt.Errorf("measure the waiting room: %w", err)
		}
	}
	if config.measures(benchBlocking) {
		say("blocks: all %d seats of a show are set aside and released, while %d clients hold seats of other shows", config.BlockSeats, benchBlockClients)
		var ok bool
		if report.Blocks, ok, err = measureBlocks(ctx, a, config, say); err != nil {
			return benchReport{}, fmt.Errorf("measure blocks: %w", err)
		}
		report.OK = report.OK && ok
	}
	if report.Audit, err = a.bookings.Audit(ctx, nil); err != nil {
		return benchReport{}, err
	}
	report.OK = report.OK && report.Audit.OK
	return report, nil
}

// measurePayments measures the sections about payments, each with a tenant of its own.
func measurePayments(ctx context.Context, a *app, config benchConfig, report *benchReport, say func(string, ...any)) (err error) {
	var ok bool
	if config.measures(benchSelling) {
		say("sagas: a place is held, paid at a provider that takes %s an answer, and booked; without workers", benchLatency)
		if report.Sagas, ok, err = measureSagas(ctx, a.store, config, say); err != nil {
			return fmt.Errorf("measure sagas: %w", err)
		}
		report.OK = report.OK && ok
	}
	if config.measures(benchTelling) {
		say("webhooks: %d signed events of open payments, each sent twice, %d at once", config.Events, benchEventSenders)
		if report.Webhooks, ok, err = measureWebhooks(ctx, a.store, config, say); err != nil {
			return fmt.Errorf("measure webhooks: %w", err)
		}
		report.OK = report.OK && ok
	}
	if config.measures(benchAsking) {
		say("reconcile: %d open payments of a provider that answers at once", config.Attempts)
		if report.Reconcile, ok, err = measureReconcile(ctx, a.store, config, say); err != nil {
			return fmt.Errorf("measure the reconciler: %w", err)
		}
		report.OK = report.OK && ok
	}
	if config.measures(benchSoaking) {
		say("soak: %d buyers for %s, a provider that goes wrong, a server process with workers", benchSoakBuyers, config.Soak)
		if report.Soak, ok, err = measureSoak(ctx, a, config, say); err != nil {
			return fmt.Errorf("soak: %w", err)
		}
		report.OK = report.OK && ok
	}
	return nil
}

// measureStock sets up stock, and measures holds of it through a server process, cell by cell, and
// the sweep of due ones.
func measureStock(ctx context.Context, a *app, config benchConfig, report *benchReport, say func(string, ...any)) error {
	say("Making stock: a hall of %d seats, a pool, a hotel …", config.Seats)
	stock, err := makeBenchStock(ctx, a, config)
	if err != nil {
		return err
	}
	if config.measures(benchHolds) {
		if err := measureHolds(ctx, stock, config, report, say); err != nil {
			return err
		}
	}
	if config.measures(benchSweeping) {
		say("sweep: holds of one unit each, all due at once")
		if report.Sweep, err = measureSweep(ctx, stock, config, say); err != nil {
			return err
		}
	}
	return nil
}

func printBench(out io.Writer, report benchReport) {
	fmt.Fprintf(out, "\n%s, durability %s, %d CPUs shared by database, server and clients; %g s a cell\n",
		report.Version, report.Durability, report.CPUs, report.Seconds)
	if len(report.Cells) > 0 {
		printBenchCells(out, report.Cells)
	}
	printBenchSections(out, report)
	if report.Memory.PeakBytes > 0 {
		const mib = 1 << 20
		fmt.Fprintf(out, "\nMemory of the server process: %d MiB at the start, %d MiB at its peak, %d MiB at the end.\n",
			report.Memory.StartBytes/mib, report.Memory.PeakBytes/mib, report.Memory.EndBytes/mib)
	}
	broken := 0
	for _, check := range report.Audit.Checks {
		if !check.OK {
			broken++
			fmt.Fprintf(out, "The audit found %d violations: %s\n", check.Violations, check.Name)
		}
	}
	if broken == 0 {
		fmt.Fprintln(out, "The audit is clean.")
	}
}

func printBenchCells(out io.Writer, cells []benchCell) {
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "scenario\tclients\tholds/s\tp50 ms\tp95 ms\tp99 ms\tplain SQL/s\tratio\trefused\t")
	for _, cell := range cells {
		plain, ratio := "-", "-"
		if cell.Baseline != nil {
			plain, ratio = fmt.Sprintf("%.0f (%d clients)", cell.Baseline.PerSecond, cell.Baseline.Clients), fmt.Sprintf("%.2f", cell.Ratio)
		}
		fmt.Fprintf(table, "%s\t%d\t%.0f\t%.1f\t%.1f\t%.1f\t%s\t%s\t%s\t\n", cell.Scenario, cell.Clients, cell.HoldsPerSecond,
			cell.P50Ms, cell.P95Ms, cell.P99Ms, plain, ratio, counts(cell.Refused, cell.Errors))
	}
	// The terminal may be gone; the exit status says the same.
	_ = table.Flush()
}

// printBenchSections tells what was measured beside holds.
func printBenchSections(out io.Writer, report benchReport) {
	if report.Map != nil {
		report.Map.print(out)
	}
	if report.Jobs != nil {
		fmt.Fprintln(out)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "River\trivercrdb jobs/s\tstock jobs/s\tratio\t")
		for _, rate := range report.Jobs.Rates {
			stock, ratio := "-", "-"
			if rate.Stock > 0 {
				stock, ratio = fmt.Sprintf("%.0f", rate.Stock), fmt.Sprintf("%.2f", rate.Ratio)
			}
			fmt.Fprintf(table, "%s\t%.0f\t%s\t%s\t\n", rate.Activity, rate.RiverCRDB, stock, ratio)
		}
		_ = table.Flush()
	}
	if m := report.Migration; m != nil {
		fmt.Fprintf(out, "\nMigration of %d nights (%d rows) from version %d to %d: %.2f s.\n", m.Nights, m.Rows, m.FromVersion, m.ToVersion, m.Seconds)
	}
	if report.Sweep != nil {
		fmt.Fprintf(out, "\nSweep of %d due holds: %.0f holds/s.\n", report.Sweep.Due, report.Sweep.HoldsPerSecond)
	}
	if report.Sagas != nil {
		report.Sagas.print(out)
	}
	if report.Webhooks != nil {
		report.Webhooks.print(out)
	}
	if report.Reconcile != nil {
		report.Reconcile.print(out)
	}
	if report.Soak != nil {
		report.Soak.print(out)
	}
	if report.Room != nil {
		report.Room.print(out)
	}
	if report.Capacity != nil {
		report.Capacity.print(out)
	}
	if report.Blocks != nil {
		report.Blocks.print(out)
	}
}

// counts is a map of counts as a short list.
func counts(maps ...map[string]int) string {
	var parts []string
	for _, m := range maps {
		for code, n := range m {
			parts = append(parts, fmt.Sprintf("%s %d", code, n))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
