package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/bookings"
)

type demoCommand struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// errDemo makes the command fail when a scenario or the audit did not end well; the report has said
// which.
var errDemo = errors.New("the demo did not end as it must")

// demoTimeout bounds the demo from the moment there is a database.
const demoTimeout = 5 * time.Minute

// Run plays the scenarios on a database of their own and fails unless each ended as it must.
func (c *demoCommand) Run(ctx context.Context, root *cli) error {
	report, err := playDemo(ctx, demoConfig{DatabaseURL: root.DatabaseURL, Progress: os.Stderr, Scenarios: demoScenarios()})
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
		printDemo(os.Stdout, report)
	}
	switch {
	case err != nil:
		return fmt.Errorf("the demo broke off: %w", err)
	case !report.OK:
		return errDemo
	}
	return nil
}

// demoConfig says where the demo is played.
type demoConfig struct {
	// DatabaseURL names a server to make a database on; empty starts a throw-away engine.
	DatabaseURL string
	// Progress receives a line for people with each scenario.
	Progress io.Writer
	// Scenarios are the stories to play.
	Scenarios []demoScenario
	// BeforeAudit is called between the last scenario and the audit; nil is nothing. Tests damage
	// the database there.
	BeforeAudit func(ctx context.Context, a *app) error
}

// demoReport is what happened.
type demoReport struct {
	OK        bool                 `json:"ok"`
	Engine    string               `json:"engine"`
	Scenarios []demoResult         `json:"scenarios"`
	Audit     bookings.AuditReport `json:"audit"`
	// Error says why the demo could not be played to its end.
	Error string `json:"error,omitempty"`
}

// demoResult is how one scenario ended.
type demoResult struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// demoScenario is one story. play answers what happened in one sentence, or an error that says what
// was expected and what was seen.
type demoScenario struct {
	name string
	play func(ctx context.Context, s *demoStage) (detail string, err error)
	// workers says that the scenario needs background work; the others are played while there is
	// none.
	workers bool
}

// demoScenarios are all stories, in the order in which the table tells them.
func demoScenarios() []demoScenario {
	return []demoScenario{
		{name: "seat-conflict", play: playSeatConflict},
		{name: "last-unit-race", play: playLastUnitRace},
		{name: "stay-full-night", play: playStayFullNight},
		{name: "stay-boundary", play: playStayBoundary},
		{name: "mixed-hold", play: playMixedHold},
		{name: "replay", play: playReplay},
		{name: "abandoned-cart", play: playAbandonedCart},
		{name: "late-payment-honoured", play: playLatePaymentHonoured, workers: true},
		{name: "late-payment-refunded", play: playLatePaymentRefunded, workers: true},
		{name: "decline-returns-units", play: playDeclineReturnsUnits, workers: true},
		{name: "unknown-then-approved", play: playUnknownThenApproved, workers: true},
	}
}

// playDemo plays every scenario and audits the database. A scenario that ends badly is no error but
// part of the report.
func playDemo(ctx context.Context, config demoConfig) (report demoReport, err error) {
	report = demoReport{Scenarios: []demoResult{}, Audit: bookings.AuditReport{Checks: []bookings.AuditCheck{}}}
	s, drop, err := openThrowaway(ctx, config.DatabaseURL, "holdfast_demo", config.Progress)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	report.Engine = string(s.db.Engine())
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	stage, err := newDemoStage(ctx, s)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, stage.close(ctx)) }()

	results := make([]demoResult, len(config.Scenarios))
	if err := playScenarios(ctx, stage, config, results, false); err != nil {
		return report, err
	}
	if err := stage.startWorkers(ctx); err != nil {
		return report, err
	}
	if err := playScenarios(ctx, stage, config, results, true); err != nil {
		return report, err
	}
	report.Scenarios = results
	// What the workers have in hand is finished, so that the audit sees the end of it.
	if err := stage.stopWorkers(ctx); err != nil {
		return report, err
	}
	if config.BeforeAudit != nil {
		if err := config.BeforeAudit(ctx, stage.app); err != nil {
			return report, err
		}
	}
	if report.Audit, err = stage.app.bookings.Audit(ctx, nil); err != nil {
		return report, err
	}
	report.OK = report.Audit.OK
	for _, result := range results {
		report.OK = report.OK && result.OK
	}
	return report, nil
}

// playScenarios plays those that need workers, or those that do not, side by side: each has a
// tenant of its own. The error is only that the demo was interrupted.
func playScenarios(ctx context.Context, stage *demoStage, config demoConfig, results []demoResult, workers bool) error {
	var group errgroup.Group
	for i, scenario := range config.Scenarios {
		if scenario.workers != workers {
			continue
		}
		group.Go(func() error {
			started := time.Now()
			detail, err := scenario.play(ctx, stage)
			verdict := "ok"
			results[i] = demoResult{Name: scenario.name, OK: err == nil, Detail: detail}
			if err != nil {
				verdict = "FAILED"
				results[i].Detail = err.Error()
			}
			if ctx.Err() != nil {
				// It was broken off, which is no verdict.
				return nil
			}
			// The terminal may be gone; the report says the same.
			_, _ = fmt.Fprintf(config.Progress, "%-22s %s (%.1f s)\n", scenario.name, verdict, time.Since(started).Seconds())
			return nil
		})
	}
	return errors.Join(group.Wait(), ctx.Err())
}

func printDemo(out io.Writer, report demoReport) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nSCENARIO\tRESULT\tWHAT HAPPENED\n")
	for _, result := range report.Scenarios {
		verdict := "ok"
		if !result.OK {
			verdict = "FAILED"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", result.Name, verdict, result.Detail)
	}
	fmt.Fprintf(table, "\nAUDIT\tRESULT\n")
	for _, check := range report.Audit.Checks {
		fmt.Fprintf(table, "%s\t%s\n", check.Name, auditVerdict(check))
		for _, example := range check.Examples {
			fmt.Fprintf(table, "\t%s\n", example)
		}
	}
	// The terminal may be gone; the exit status says the same.
	_ = table.Flush()
	verdict := "Every scenario ended as it must"
	if !report.OK {
		verdict = "NOT everything ended as it must"
	}
	fmt.Fprintf(out, "\n%s, on %s.\n", verdict, report.Engine)
}
