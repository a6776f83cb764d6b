package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
)

// serveArgument makes the test binary a server process: see TestServerProcess.
const serveArgument = "serve-for-benchmark"

// TestServerProcess is `holdfast serve` when the benchmark of another test starts this binary for
// it, and otherwise nothing.
func TestServerProcess(t *testing.T) {
	t.Parallel()
	if !slices.Contains(flag.Args(), serveArgument) {
		return
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	if code := run(ctx, []string{"serve"}); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
}

// bareArgument makes the test binary a bare server: see TestBareProcess.
const bareArgument = "bare-for-benchmark"

// TestBareProcess is `holdfast bench --bare` when the benchmark of another test starts this binary for
// it, and otherwise nothing.
func TestBareProcess(t *testing.T) {
	t.Parallel()
	arguments := flag.Args()
	if !slices.Contains(arguments, bareArgument) {
		return
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	if code := run(ctx, []string{"bench", "--bare", arguments[len(arguments)-1]}); code != 0 {
		t.Errorf("bench --bare ended with %d", code)
	}
}

func smallBench(t *testing.T) benchConfig {
	t.Helper()
	return benchConfig{
		DatabaseURL: dbtest.URL(t), Server: []string{os.Args[0], "-test.run=^TestServerProcess$", serveArgument}, Progress: io.Discard,
		Bare:    []string{os.Args[0], "-test.run=^TestBareProcess$", bareArgument},
		Seconds: 1, Clients: []int{2}, Scenarios: []string{benchSeats, benchPool, benchNights, benchBest, benchFlashSale, benchExpiryStorm}, Baseline: true, BaselineClients: []int{2},
		Seats: 500, Shards: 2, Guests: 10, Hotels: 12,
		Sections: []string{benchHolds, benchRiver, benchMigrating, benchSweeping}, Jobs: 50, Nights: 2500, Due: 300,
		Buyers: []int{1, 40}, Events: 60, Attempts: 70, Soak: 4 * time.Second,
		Visitors: 300, BlockSeats: 200,
	}
}

// The figures are not judged, only that there are some and that nothing went wrong.
func TestTheBenchmarkProducesFigures(t *testing.T) {
	t.Parallel()
	report, err := runBench(t.Context(), smallBench(t))
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK || !report.Audit.OK || len(report.Audit.Checks) == 0 || report.Engine != string(dbtest.Open(t).Engine()) || report.Durability != "server" {
		t.Errorf("the report is %+v", report)
	}
	var scenarios []string
	for _, cell := range report.Cells {
		scenarios = append(scenarios, cell.Scenario)
		if cell.HoldsPerSecond <= 0 || cell.P50Ms <= 0 || cell.P95Ms < cell.P50Ms || cell.P99Ms < cell.P95Ms || len(cell.Errors) > 0 ||
			cell.Clients != 2 || cell.Engine != report.Engine || !cell.Audit.OK {
			t.Errorf("a cell is %+v", cell)
		}
		if cell.Scenario == benchBest {
			if cell.Together <= 0 || cell.Together > 1 || cell.Tries < 1 {
				t.Errorf("%g of the groups are together, after %g tries", cell.Together, cell.Tries)
			}
			continue
		}
		if cell.Baseline == nil || cell.Baseline.PerSecond <= 0 || cell.Ratio <= 0 {
			t.Errorf("%s: the baseline is %+v, the ratio %g", cell.Scenario, cell.Baseline, cell.Ratio)
		}
	}
	if want := []string{"seats", "pool", "nights", "best-available", "flash-sale", "expiry-storm"}; !slices.Equal(scenarios, want) {
		t.Errorf("the cells are %v", scenarios)
	}
	if memory := report.Memory; runtime.GOOS == "linux" && (memory.StartBytes <= 0 || memory.PeakBytes < memory.StartBytes || memory.EndBytes <= 0) {
		t.Errorf("the memory is %+v", memory)
	}
	if m := report.Migration; m == nil || m.Nights != 3000 || m.Rows != 9000 || m.FromVersion >= m.ToVersion || m.Seconds <= 0 {
		t.Errorf("the migration is %+v", m)
	}
	if s := report.Sweep; s == nil || s.Due != 300 || s.HoldsPerSecond <= 0 {
		t.Errorf("the sweep is %+v", s)
	}
	checkJobRates(t, report)
	var table bytes.Buffer
	printBench(&table, report)
	if text := table.String(); !strings.Contains(text, "nights") || !strings.Contains(text, "InsertMany") || !strings.Contains(text, "The audit is clean.") {
		t.Errorf("the table says\n%s", text)
	}
}

func checkJobRates(t *testing.T, report benchReport) {
	t.Helper()
	if report.Jobs == nil || len(report.Jobs.Rates) != 3 {
		t.Fatalf("the jobs are %+v", report.Jobs)
	}
	for _, rate := range report.Jobs.Rates {
		compared := rate.Stock > 0 && rate.Ratio > 0
		if rate.RiverCRDB <= 0 || compared == (report.Engine == string(db.EngineCockroachDB)) {
			t.Errorf("the jobs' rate is %+v", rate)
		}
	}
}

// The map is read through a server while its seats are held.
func TestTheBenchmarkReadsMaps(t *testing.T) {
	t.Parallel()
	config := smallBench(t)
	// So many that the answer is worth compressing.
	config.Sections, config.Seconds, config.Seats = []string{benchMapping}, 0.5, 4000
	report, err := runBench(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	m := report.Map
	if !report.OK || m == nil || m.PerSecond <= 0 || m.Bare <= 0 || m.Ratio <= 0 || m.AgeP99Ms < m.AgeP50Ms || m.Seats != 4000 || len(m.Errors) > 0 || m.ZippedBytes >= m.Bytes {
		t.Errorf("the report is %+v", m)
	}
	var table bytes.Buffer
	printBench(&table, report)
	if !strings.Contains(table.String(), "bare handler") {
		t.Errorf("the table says\n%s", table.String())
	}
}

// Without holds there is neither stock nor a server.
func TestTheBenchmarkMeasuresOneSection(t *testing.T) {
	t.Parallel()
	config := smallBench(t)
	config.Server, config.Sections = nil, []string{benchMigrating}
	report, err := runBench(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK || report.Migration == nil || report.Jobs != nil || report.Sweep != nil || len(report.Cells) != 0 {
		t.Errorf("the report is %+v", report)
	}
}

func TestAServerThatDoesNotServeIsTold(t *testing.T) {
	t.Parallel()
	// The binary's own flags without the server: it runs no test and ends.
	server, err := startBenchServer(t.Context(), []string{os.Args[0], "-test.run=^$"}, "postgres://127.0.0.1:1/none")
	if err == nil {
		t.Fatalf("it serves at %s, stopped with %v", server.url, server.stop())
	}
	if !strings.Contains(err.Error(), "ended before it served") {
		t.Errorf("the error is %v", err)
	}
}

func TestBenchFlagsAreBounded(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(c *benchConfig){
		"--seconds":     func(c *benchConfig) { c.Seconds = 0 },
		"--clients":     func(c *benchConfig) { c.Clients = []int{1, 0} },
		"--scenarios":   func(c *benchConfig) { c.Scenarios = []string{"seat"} },
		"--seats":       func(c *benchConfig) { c.Seats = benchMaxSeats + 1 },
		"--shards":      func(c *benchConfig) { c.Shards = 0 },
		"--guests":      func(c *benchConfig) { c.Guests = -1 },
		"--shows":       func(c *benchConfig) { c.Shows = -1 },
		"--rate":        func(c *benchConfig) { c.Rate = -1 },
		"--hotels":      func(c *benchConfig) { c.Hotels = 10 },
		"--baseline-":   func(c *benchConfig) { c.BaselineClients = []int{0} },
		"--sections":    func(c *benchConfig) { c.Sections = []string{"hold"} },
		"--jobs":        func(c *benchConfig) { c.Jobs = 0 },
		"--nights":      func(c *benchConfig) { c.Nights = benchMaxNights + 1 },
		"--due":         func(c *benchConfig) { c.Due = 0 },
		"--buyers":      func(c *benchConfig) { c.Buyers = []int{benchMaxClients + 1} },
		"--events":      func(c *benchConfig) { c.Events = 0 },
		"--attempts":    func(c *benchConfig) { c.Attempts = benchMaxAttempts + 1 },
		"--visitors":    func(c *benchConfig) { c.Visitors = benchMaxVisitors + 1 },
		"--block-seats": func(c *benchConfig) { c.BlockSeats = benchMaxBlockSeats + 1 },
		"--soak":        func(c *benchConfig) { c.Soak = time.Millisecond },
	} {
		config := benchConfig{
			Seconds: 1, Clients: []int{1}, Scenarios: []string{benchPool}, Seats: 1, Shards: 1, Guests: 1, Hotels: 400,
			Sections: []string{benchRiver}, Jobs: 1, Nights: 1, Due: 1, Buyers: []int{1}, Events: 1, Attempts: 1, Soak: time.Minute,
			Visitors: 1, BlockSeats: 1,
		}
		if err := config.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&config)
		if err := config.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

func TestALoadCountsWhatHappened(t *testing.T) {
	t.Parallel()
	answers := make(chan string, 3)
	answers <- ""
	answers <- "SOLD_OUT"
	answers <- ""
	load, err := runLoad(t.Context(), 1, 0, time.Second, func(ctx context.Context) (string, error) {
		select {
		case code := <-answers:
			return code, nil
		default:
			return "", io.ErrUnexpectedEOF
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(load.latencies) != 2 || load.refused["SOLD_OUT"] != 1 || load.errors["FAILED"] == 0 || load.firstError == nil {
		t.Errorf("the load is %+v", load)
	}
	cell := load.cell(benchSeats, 1)
	if cell.HoldsPerSecond != 2 || cell.Refused["SOLD_OUT"] != 1 {
		t.Errorf("the cell is %+v", cell)
	}
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	load := benchLoad{}
	if got := load.percentile(50); got != 0 {
		t.Errorf("of nothing: %g", got)
	}
	for i := range 200 {
		load.latencies = append(load.latencies, time.Duration(i+1)*time.Millisecond)
	}
	for p, want := range map[int]float64{50: 100, 95: 190, 99: 198} {
		if got := load.percentile(p); got != want {
			t.Errorf("p%d is %g ms, want %g", p, got, want)
		}
	}
}

// With an offered rate, what a stalled server keeps others from asking counts from when they would have
// asked.
func TestAnOfferedRateChargesForStalls(t *testing.T) {
	t.Parallel()
	stall := make(chan struct{})
	var asked atomic.Int64
	load, err := runLoadOf(t.Context(), benchPlan{clients: 1, perSecond: 100, measured: 2 * time.Second}, func(ctx context.Context) (string, error) {
		if asked.Add(1) == 1 {
			time.AfterFunc(time.Second, func() { close(stall) })
			<-stall
		}
		return "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The hundred that were due within the stalled second waited for half a second on average, although
	// each was answered at once when it was asked.
	if len(load.latencies) < 2 || load.percentile(99) < 900 || load.percentile(50) < 1 {
		t.Errorf("%d placed, half within %g ms, 99 of 100 within %g ms", len(load.latencies), load.percentile(50), load.percentile(99))
	}
	if asked.Load() > 201 {
		t.Errorf("%d were asked at 100 a second in two seconds", asked.Load())
	}
}

// The lines of JSON have the keys that scripts look for, and no others.
func TestTheLinesOfJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cell := benchCell{
		Scenario: "pool", Engine: "postgresql", Clients: 2, Refused: map[string]int{"BUSY": 1}, Errors: map[string]int{"INTERNAL": 2},
		Baseline: &benchBaseline{PerSecond: 10, Clients: 4}, Ratio: 2, Audit: benchAudit{OK: true},
	}
	if err := printBenchLines(&out, []benchCell{cell, cell}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := `{"scenario":"pool","engine":"postgresql","clients":2,"holdsPerSecond":0,"p50Ms":0,"p95Ms":0,"p99Ms":0,` +
		`"refused":{"BUSY":1,"INTERNAL":2},"baseline":{"perSecond":10,"clients":4},"ratio":2,"audit":{"ok":true}}`
	if len(lines) != 2 || lines[0] != want {
		t.Errorf("got %s", out.String())
	}
}
