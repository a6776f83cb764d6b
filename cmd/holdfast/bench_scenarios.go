package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// benchScenario is one way to hold under load. A new one is a value in the list of benchScenarios,
// with its function in a file of its own.
type benchScenario struct {
	name string
	// about says in a line what is held, for help and progress.
	about func(config benchConfig) string
	// run measures it with each number of clients, and what it is compared with. The engine and the
	// audit's verdict are filled in by who calls.
	run func(ctx context.Context, b *benchRun) ([]benchCell, error)
}

// benchRun is what a scenario runs on.
type benchRun struct {
	config benchConfig
	// stock is a tenant with a hall, a pool and a hotel, and guests with sessions at the server.
	stock  *benchStock
	server *benchServer
	say    func(format string, args ...any)
}

// The scenarios' names.
const (
	benchSeats       = "seats"
	benchPool        = "pool"
	benchNights      = "nights"
	benchFlashSale   = "flash-sale"
	benchExpiryStorm = "expiry-storm"
)

// benchScenarios are all that there are, in the order in which help lists them.
func benchScenarios() []benchScenario {
	return []benchScenario{
		{benchSeats, func(c benchConfig) string {
			return fmt.Sprintf("%d random seats a hold, of one show of %d", benchSeatsPerHold, c.Seats)
		}, runStockScenario(benchSeats)},
		{benchPool, func(c benchConfig) string {
			return fmt.Sprintf("one unit a hold of one hot pool, its counter in %d rows", c.Shards)
		}, runStockScenario(benchPool)},
		{benchNights, func(benchConfig) string {
			return fmt.Sprintf("one room for %d nights a hold, at random out of %d room types and %d nights", benchStayNights, benchRoomTypes, benchNightCount)
		}, runStockScenario(benchNights)},
		{benchBest, func(c benchConfig) string {
			return fmt.Sprintf("%d of the best seats a hold, of shows of %d", benchBestSeats, c.Seats)
		}, func(ctx context.Context, b *benchRun) ([]benchCell, error) {
			return b.stock.measureBest(ctx, b.config, b.say)
		}},
		{benchFlashSale, func(c benchConfig) string {
			return fmt.Sprintf("one room for %d nights a hold, of %d hotels of which %d have %d times the traffic of the others",
				benchStayNights, c.Hotels, benchSaleHot, benchSaleTimes)
		}, runFlashSale},
		{benchExpiryStorm, func(c benchConfig) string {
			return fmt.Sprintf("%d random seats a hold, of a show of %d whose seats are all in holds that have just expired, while the sweeper ends them",
				benchSeatsPerHold, min(c.Seats, benchStormSeats))
		}, runExpiryStorm},
	}
}

func benchScenarioNames() []string {
	var names []string
	for _, scenario := range benchScenarios() {
		names = append(names, scenario.name)
	}
	return names
}

// findBenchScenario is a scenario by its name; Validate has seen to it that there is one.
func findBenchScenario(name string) (benchScenario, error) {
	for _, scenario := range benchScenarios() {
		if scenario.name == name {
			return scenario, nil
		}
	}
	return benchScenario{}, fmt.Errorf("expected a scenario of %s, got %q", strings.Join(benchScenarioNames(), ", "), name)
}

// runStockScenario holds what every benchmark's stock has.
func runStockScenario(name string) func(ctx context.Context, b *benchRun) ([]benchCell, error) {
	return func(ctx context.Context, b *benchRun) ([]benchCell, error) {
		return b.measure(ctx, name, b.stock.holder(name), b.stock.plainHolder(name))
	}
}

// measure lets each number of clients hold through the API, and then hold the same with plain SQL.
func (b *benchRun) measure(ctx context.Context, scenario string, hold, plain benchHolder) ([]benchCell, error) {
	var cells []benchCell
	for _, clients := range b.config.Clients {
		cell, err := b.measureCell(ctx, scenario, clients, hold)
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
	}
	return cells, b.compare(ctx, scenario, cells, plain)
}

// measureCell is one number of clients.
func (b *benchRun) measureCell(ctx context.Context, scenario string, clients int, hold benchHolder) (benchCell, error) {
	config := b.config
	load, err := runLoadOf(ctx, benchPlan{
		clients: clients, perSecond: config.Rate, warmUp: config.warmUp(), measured: config.measured(), progress: b.progressOf(clients),
	}, hold)
	if err != nil {
		return benchCell{}, err
	}
	cell := load.cell(scenario, clients)
	b.say("  %4d clients  %8.0f holds/s  p50 %6.1f ms  p95 %6.1f ms  p99 %6.1f ms  %s", clients, cell.HoldsPerSecond, cell.P50Ms, cell.P95Ms, cell.P99Ms, load.complaints())
	return cell, nil
}

// progressOf tells how far a cell has come.
func (b *benchRun) progressOf(clients int) func(seconds int, placed, refused int64) {
	return func(seconds int, placed, refused int64) {
		b.say("  %4d clients  %2d s: %d placed, %d not", clients, seconds, placed, refused)
	}
}

// compare measures the same hold as plain SQL, and fills in the best of it. Its clients are as many as
// they like: the offered rate is not theirs.
func (b *benchRun) compare(ctx context.Context, scenario string, cells []benchCell, plain benchHolder) error {
	if !b.config.Baseline {
		return nil
	}
	best := &benchBaseline{}
	for _, clients := range b.config.baselineClients() {
		load, err := runLoad(ctx, clients, b.config.warmUp(), b.config.measured(), plain)
		if err != nil {
			return err
		}
		cell := load.cell(scenario, clients)
		if cell.HoldsPerSecond > best.PerSecond {
			best = &benchBaseline{PerSecond: cell.HoldsPerSecond, Clients: clients}
		}
		b.say("  plain SQL, %4d clients  %8.0f holds/s  %s", clients, cell.HoldsPerSecond, load.complaints())
	}
	for i := range cells {
		cells[i].Baseline = best
		if best.PerSecond > 0 {
			cells[i].Ratio = rounded(cells[i].HoldsPerSecond/best.PerSecond, 100)
		}
	}
	return nil
}

// baselineClients are how many clients plain SQL is tried with, to find its best.
func (c benchConfig) baselineClients() []int {
	if len(c.BaselineClients) == 0 {
		return []int{1, 4, 16, 64}
	}
	return c.BaselineClients
}

// measureHolds measures the scenarios through a server process.
func measureHolds(ctx context.Context, stock *benchStock, config benchConfig, report *benchReport, say func(string, ...any)) (err error) {
	server, err := startBenchServer(ctx, config.Server, stock.app.store.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	report.Memory.StartBytes = server.memory().now
	if err := stock.startSessions(ctx, server.url, config.Guests, config.Clients); err != nil {
		return err
	}
	defer stock.api.close()
	run := &benchRun{config: config, stock: stock, server: server, say: say}
	for _, name := range config.Scenarios {
		scenario, err := findBenchScenario(name)
		if err != nil {
			return err
		}
		say("%s: %s", scenario.name, scenario.about(config))
		cells, err := scenario.run(ctx, run)
		if err != nil {
			return fmt.Errorf("measure %s: %w", name, err)
		}
		audit, err := stock.app.bookings.Audit(ctx, nil)
		if err != nil {
			return err
		}
		for i := range cells {
			cells[i].Engine, cells[i].Audit.OK = report.Engine, audit.OK
			report.OK = report.OK && len(cells[i].Errors) == 0
		}
		for _, check := range audit.Checks {
			if !check.OK {
				say("  The audit found %d violations: %s; such as %v", check.Violations, check.Name, check.Examples)
			}
		}
		report.OK = report.OK && audit.OK
		report.Cells = append(report.Cells, cells...)
	}
	memory := server.memory()
	report.Memory.EndBytes, report.Memory.PeakBytes = memory.now, memory.peak
	return nil
}

// printBenchLines prints one JSON object a line for each scenario and number of clients. Failures that
// no client should see stand among what was refused, by their code.
func printBenchLines(out io.Writer, cells []benchCell) error {
	encoder := json.NewEncoder(out)
	for _, cell := range cells {
		refused := map[string]int{}
		for _, counted := range []map[string]int{cell.Refused, cell.Errors} {
			for code, n := range counted {
				refused[code] += n
			}
		}
		cell.Refused, cell.Errors = refused, nil
		if err := encoder.Encode(cell); err != nil {
			return fmt.Errorf("print a scenario: %w", err)
		}
	}
	return nil
}

// validateScenarios names the scenario that does not exist.
func (c benchConfig) validateScenarios() error {
	for _, scenario := range c.Scenarios {
		if !slices.Contains(benchScenarioNames(), scenario) {
			return fmt.Errorf("--scenarios: expected some of %s, got %q", strings.Join(benchScenarioNames(), ", "), scenario)
		}
	}
	return nil
}
