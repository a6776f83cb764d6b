package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/dbtest"
)

// The demo on a database of its own, beside the one of this package's other tests.
func demoOn(t *testing.T, scenarios ...demoScenario) demoConfig {
	t.Helper()
	return demoConfig{DatabaseURL: dbtest.URL(t), Progress: io.Discard, Scenarios: scenarios}
}

func TestEveryScenarioOfTheDemoEndsAsItMust(t *testing.T) {
	t.Parallel()
	report, err := playDemo(t.Context(), demoOn(t, demoScenarios()...))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, result := range report.Scenarios {
		names = append(names, result.Name)
		if !result.OK || result.Detail == "" {
			t.Errorf("%s: ok %t: %s", result.Name, result.OK, result.Detail)
		}
	}
	want := []string{
		"seat-conflict", "last-unit-race", "stay-full-night", "stay-boundary", "mixed-hold", "replay", "abandoned-cart",
		"late-payment-honoured", "late-payment-refunded", "decline-returns-units", "unknown-then-approved",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the scenarios are %v", names)
	}
	if !report.Audit.OK || len(report.Audit.Checks) == 0 {
		t.Errorf("the audit is %+v", report.Audit)
	}
	if !report.OK {
		t.Error("the report is not ok")
	}
	if report.Engine != string(dbtest.Open(t).Engine()) {
		t.Errorf("the engine is %q", report.Engine)
	}
	checkDemoJSON(t, report)
}

// checkDemoJSON reads the report as a script would.
func checkDemoJSON(t *testing.T, report demoReport) {
	t.Helper()
	encoded, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(encoded, []byte(`{"ok":true,"engine":"`)) {
		t.Errorf("the object begins with %.40s", encoded)
	}
	var read struct {
		Audit struct {
			OK     bool
			Checks []map[string]any
		}
	}
	if err := json.Unmarshal(encoded, &read); err != nil {
		t.Fatal(err)
	}
	for _, check := range read.Audit.Checks {
		if check["ok"] != true || check["violations"] != 0.0 || check["name"] == "" {
			t.Errorf("a check is %v", check)
		}
	}
}

func TestABrokenInvariantFailsTheDemo(t *testing.T) {
	t.Parallel()
	config := demoOn(t, demoScenario{name: "replay", play: playReplay})
	config.BeforeAudit = func(ctx context.Context, a *app) error {
		_, err := a.store.db.Pool().Exec(ctx, "UPDATE pool_counters SET held = held + 1 WHERE held + booked < ceiling")
		return err
	}
	report, err := playDemo(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if report.OK || report.Audit.OK {
		t.Errorf("the report is ok: %t, the audit: %t", report.OK, report.Audit.OK)
	}
	if !report.Scenarios[0].OK {
		t.Errorf("the scenario failed: %s", report.Scenarios[0].Detail)
	}
	for _, check := range report.Audit.Checks {
		if broken := check.Name == "pool counters equal their live lines"; check.OK == broken || (check.Violations == 1) != broken {
			t.Errorf("%q: ok %t with %d violations", check.Name, check.OK, check.Violations)
		}
	}
	var table bytes.Buffer
	printDemo(&table, report)
	for line := range strings.Lines(table.String()) {
		if line != strings.TrimRight(line, " \n")+"\n" {
			t.Errorf("the line %q ends in blanks", line)
		}
	}
	if text := table.String(); !strings.Contains(text, "1 violation\n") || !strings.Contains(text, "NOT everything ended as it must") {
		t.Errorf("the table says\n%s", text)
	}
}

func TestAFailedScenarioFailsTheDemo(t *testing.T) {
	t.Parallel()
	report, err := playDemo(t.Context(), demoOn(t,
		demoScenario{name: "good", play: func(context.Context, *demoStage) (string, error) { return "It went well.", nil }},
		demoScenario{name: "bad", play: func(context.Context, *demoStage) (string, error) {
			return "", errors.New("expected 1 winner, saw 2")
		}},
	))
	if err != nil {
		t.Fatal(err)
	}
	want := []demoResult{{Name: "good", OK: true, Detail: "It went well."}, {Name: "bad", Detail: "expected 1 winner, saw 2"}}
	if report.OK || !report.Audit.OK || !slices.Equal(report.Scenarios, want) {
		t.Errorf("the report is %+v", report)
	}
}

func TestAnInterruptedDemoLeavesNoDatabase(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var name string
	_, err := playDemo(ctx, demoOn(t, demoScenario{name: "interrupted", play: func(ctx context.Context, s *demoStage) (string, error) {
		err := s.app.store.db.Pool().QueryRow(ctx, "SELECT current_database()").Scan(&name)
		interrupt()
		return "", err
	}}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	var left int
	if err := dbtest.Open(t).Pool().QueryRow(t.Context(), "SELECT count(*) FROM pg_catalog.pg_database WHERE datname = $1", name).Scan(&left); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(name, "holdfast_demo_") || left != 0 {
		t.Errorf("%d databases are called %q", left, name)
	}
}

func TestADemoWithoutAServerSaysSo(t *testing.T) {
	t.Parallel()
	report, err := playDemo(t.Context(), demoConfig{DatabaseURL: "postgres://nobody:secret@127.0.0.1:1/none", Progress: io.Discard})
	if err == nil || strings.Contains(err.Error(), "secret") || report.OK {
		t.Fatalf("the error is %v, the report %+v", err, report)
	}
	if text := explain(err); !strings.Contains(text, "connect to the database server") || strings.Count(text, "refused") != 1 {
		t.Errorf("a person is told %q", text)
	}
}
