package bookings_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/bookings"
)

var update = flag.Bool("update", false, "write the documents that are made from the code")

const moneyDocument = "../docs/money.md"

// TestDocumentOfMoneyIsMadeFromTheTable keeps docs/money.md equal to the code's own sequences.
func TestDocumentOfMoneyIsMadeFromTheTable(t *testing.T) {
	t.Parallel()
	if *update {
		if err := os.WriteFile(moneyDocument, []byte(documentOfMoney()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(moneyDocument)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != documentOfMoney() {
		t.Errorf("%s differs from the code's sequences; run this test with -update", moneyDocument)
	}
}

func documentOfMoney() string {
	var b strings.Builder
	b.WriteString(`# How money never goes astray

Made from bookings.Sequences and bookings.RepairKinds; write it anew with: go test ./bookings -run TestDocumentOfMoney -update

Each sequence of events below could end in a charge without a unit. It is found by the named queries (of
bookings/queries and payments/queries), checks of ` + "`holdfast audit`" + ` and metrics; it is mended by the remedies, of which the
state of the hold decides; what was mended is counted once, in the transaction that mends it, under the kinds. The tests
are those of package bookings. What a person has to decide is in ` + "`unresolvedPayments`" + ` and in what ` + "`holdfast reconcile`" + ` prints.

## Kinds of repair

| kind | meaning |
|---|---|
`)
	for _, kind := range bookings.RepairKinds() {
		fmt.Fprintf(&b, "| %s | %s |\n", kind, kind.Meaning())
	}
	b.WriteString("\nA step that the checkout's own process takes is no repair; neither is a provider's message while that process is at work,\nnor whatever ends a payment while its buyer is on the provider's page.\n\n## Sequences\n")
	for _, s := range bookings.Sequences() {
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n\n", strings.ToUpper(s.Name[:1])+s.Name[1:], strings.ToUpper(s.Events[:1])+s.Events[1:])
		for _, part := range []struct {
			name  string
			items []string
			code  bool
		}{
			{"found by the queries", s.Queries, true},
			{"found by the audit", s.Checks, false},
			{"shown by", s.Metrics, true},
			{"mended by", texts(s.Remedies), false},
			{"counted as", texts(s.Counted), false},
			{"tested by", s.Tests, true},
		} {
			if len(part.items) == 0 {
				continue
			}
			items := slices.Clone(part.items)
			if part.code {
				for i := range items {
					items[i] = "`" + items[i] + "`"
				}
			}
			fmt.Fprintf(&b, "- %s: %s\n", part.name, strings.Join(items, ", "))
		}
	}
	return b.String()
}

func texts[T ~string](values []T) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = string(value)
	}
	return all
}

// found is the first group of a pattern in all files of some names.
func found(t *testing.T, pattern string, globs ...string) []string {
	t.Helper()
	var all []string
	for _, glob := range globs {
		paths, err := filepath.Glob(glob)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no files %s (%v)", glob, err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(content), -1) {
				all = append(all, match[1])
			}
		}
	}
	return all
}

// What a sequence names is there, every kind of repair has a sequence, and what nothing finds or
// mends is no entry.
func TestWhatSequencesNameIsThere(t *testing.T) {
	t.Parallel()
	queries := found(t, `(?m)^-- name: (\w+) :`, "queries/*.sql", "../payments/queries/*.sql")
	metrics := found(t, `"(holdfast_\w+)"`, "metrics.go")
	tests := found(t, `(?m)^func (Test\w+)\(`, "*_test.go")
	b := open(t)
	report, err := b.Sales.Audit(t.Context(), &b.ID)
	if err != nil {
		t.Fatal(err)
	}
	var checks []string
	for _, check := range report.Checks {
		checks = append(checks, check.Name)
	}
	names, counted := map[string]bool{}, map[bookings.RepairKind]bool{}
	for _, s := range bookings.Sequences() {
		if names[s.Name] || s.Events == "" || len(s.Remedies) == 0 || len(s.Tests) == 0 || len(s.Queries)+len(s.Checks) == 0 {
			t.Errorf("%s: expected a name of its own, events, what finds it, a remedy and a test", s.Name)
		}
		names[s.Name] = true
		for _, part := range []struct {
			what        string
			named, have []string
		}{{"query", s.Queries, queries}, {"check", s.Checks, checks}, {"metric", s.Metrics, metrics}, {"test", s.Tests, tests}} {
			for _, name := range part.named {
				if !slices.Contains(part.have, name) {
					t.Errorf("%s: there is no %s %q", s.Name, part.what, name)
				}
			}
		}
		if person := slices.Contains(s.Remedies, bookings.RemedyPerson); person && len(s.Counted) > 0 {
			t.Errorf("%s: what a person decides is not counted as repaired", s.Name)
		}
		for _, kind := range s.Counted {
			counted[kind] = true
		}
	}
	for _, kind := range bookings.RepairKinds() {
		if !counted[kind] || kind.Meaning() == string(kind) {
			t.Errorf("%s: no sequence is counted as it, or it has no meaning", kind)
		}
	}
}
