package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
)

// smallChaos is short, with few buyers and much trouble, on the server of this package's tests. Its
// processes are this test binary.
func smallChaos(t *testing.T) chaosConfig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return chaosConfig{
		DatabaseURL: dbtest.URL(t), Self: []string{self}, Environment: []string{asProcess + "=1"}, Progress: io.Discard,
		Seconds: 6, Buyers: 6, Timeouts: 6, Late: 6, Contradicted: 6, KillEvery: time.Second, PaymentSeconds: 3,
	}
}

// Servers and workers die while buyers buy. In the end nothing is astray, and the report says so.
func TestChaosLeavesNothingAstray(t *testing.T) {
	t.Parallel()
	var progress bytes.Buffer
	config := smallChaos(t)
	config.Progress = &progress
	report, err := runChaos(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK || !report.Audit.OK || len(report.Audit.Checks) == 0 || !report.Found.none() {
		t.Errorf("with seed %d the report is %+v", report.Seed, report)
	}
	// Each command is killed at random once, and all processes at the end.
	if report.Kills[chaosServe] <= chaosOfEach || report.Kills[chaosWork] <= chaosOfEach {
		t.Errorf("killed were %v", report.Kills)
	}
	if report.Sales.ToldBooked == 0 || report.Provider.Charges < report.Sales.ToldBooked || report.Provider.WebhooksDelivered == 0 ||
		report.Repaired.Attempts["SUCCEEDED APPLIED"] < report.Sales.ToldBooked {
		t.Errorf("the report is %+v", report)
	}
	if report.Engine != string(dbtest.Open(t).Engine()) || report.Seed == 0 || !strings.Contains(progress.String(), "Seed ") {
		t.Errorf("engine %q, seed %d, progress %q", report.Engine, report.Seed, progress.String())
	}
	encoded, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`{"ok":true,"engine":"`, `"unitsLost":0`, `"unitsDoubled":0`, `"chargesWithoutBookingOrRefund":0`, `"doubleRefunds":0`} {
		if !strings.Contains(string(encoded), part) {
			t.Errorf("%s is not in %s", part, encoded)
		}
	}
	var table bytes.Buffer
	printChaos(&table, report)
	if text := table.String(); !strings.Contains(text, "Every unit and all money is where it belongs") || !strings.Contains(text, "payments: SUCCEEDED APPLIED") {
		t.Errorf("the table says\n%s", text)
	}
}

// What goes astray is found: a place that nobody has, and a seat that its buyer has paid for and lost.
func TestChaosFindsWhatIsAstray(t *testing.T) {
	t.Parallel()
	config := smallChaos(t)
	config.Seconds, config.Timeouts, config.Late, config.Contradicted = 3, 0, 0, 0
	config.BeforeChecks = func(ctx context.Context, run *chaosRun) error {
		for _, statement := range []string{
			"UPDATE pool_counters SET booked = booked + 1 WHERE tenant_id = (SELECT tenant_id FROM pools LIMIT 1)",
			`UPDATE booking_lines SET state = 'CANCELLED' WHERE state = 'BOOKED' AND seat_id IS NOT NULL AND (tenant_id, booking_id) =
				(SELECT tenant_id, booking_id FROM booking_lines WHERE state = 'BOOKED' AND seat_id IS NOT NULL ORDER BY booking_id LIMIT 1)`,
		} {
			if _, err := run.app.store.db.Pool().Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
	report, err := runChaos(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if report.OK || report.Audit.OK {
		t.Errorf("the report is ok: %t, the audit: %t", report.OK, report.Audit.OK)
	}
	if f := report.Found; f.UnitsLost < 2 || f.ChargesAstray != 1 || f.PromisesBroken == 0 || f.DoubleRefunds+f.UnitsDoubled+f.Unresolved+f.Errors != 0 || len(f.Examples) == 0 {
		t.Errorf("found was %+v", f)
	}
	var table bytes.Buffer
	printChaos(&table, report)
	if !strings.Contains(table.String(), "NOT everything is where it belongs") {
		t.Errorf("the table says\n%s", &table)
	}
}

// Who interrupts leaves no process and no database behind.
func TestAnInterruptedChaosLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	config := smallChaos(t)
	config.Seconds = chaosMaxSeconds
	var run *chaosRun
	done := make(chan error, 1)
	began := make(chan *chaosRun, 1)
	config.BeforeBuying = func(r *chaosRun) { began <- r }
	go func() {
		_, err := runChaos(ctx, config)
		done <- err
	}()
	select {
	case run = <-began:
	case err := <-done:
		t.Fatal(err)
	}
	interrupt()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v", err)
	}
	for _, slot := range run.fleet.slots {
		if slot.running != nil {
			t.Errorf("a process of %s still runs", slot.command)
		}
	}
	_, err := db.Open(t.Context(), db.Config{URL: run.app.store.url, MaxConnections: 1})
	if err == nil {
		t.Error("the database is still there")
	}
}

func TestChaosSaysWhichFlagIsOutOfBounds(t *testing.T) {
	t.Parallel()
	for flag, change := range map[string]func(*chaosConfig){
		"--seconds: expected 1 to 600, got 601":  func(c *chaosConfig) { c.Seconds = 601 },
		"--seconds: expected 1 to 600, got NaN":  func(c *chaosConfig) { c.Seconds = math.NaN() },
		"--buyers: expected 1 to 256, got 0":     func(c *chaosConfig) { c.Buyers = 0 },
		"--timeouts: expected 0 to 100":          func(c *chaosConfig) { c.Timeouts = -1 },
		"--late: expected 0 to 100":              func(c *chaosConfig) { c.Late = 101 },
		"--contradicted: expected 0 to 100":      func(c *chaosConfig) { c.Contradicted = math.Inf(1) },
		"expected at most 100 percent together,": func(c *chaosConfig) { c.Timeouts, c.Late = 60, 60 },
	} {
		config := smallChaos(t)
		change(&config)
		_, err := runChaos(t.Context(), config)
		wantError(t, err, flag)
	}
}

// The same seed makes the same choices.
func TestTheSeedOfChaosDecidesWhatBuyersDo(t *testing.T) {
	t.Parallel()
	plans := func(seed uint64) []string {
		config := smallChaos(t)
		config.Seed = seed
		chance := config.chanceOf(1)
		var tokens []string
		for range 50 {
			var plan chaosPlan
			config.pays(chance, &plan)
			tokens = append(tokens, plan.token+plan.press+plan.trouble)
		}
		return tokens
	}
	if !slices.Equal(plans(7), plans(7)) {
		t.Error("the same seed makes other choices")
	}
	if slices.Equal(plans(7), plans(8)) {
		t.Error("another seed makes the same choices")
	}
}
