package inventory_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/inventory"
)

var update = flag.Bool("update", false, "write the documents that are made from the code")

const holdsDocument = "../docs/holds.md"

// TestDiagramOfHoldsIsMadeFromTheTable keeps docs/holds.md equal to the code's own transitions.
func TestDiagramOfHoldsIsMadeFromTheTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`# The life of a hold

Made from inventory.Transitions; write it anew with: go test ./inventory -run TestDiagramOfHolds -update

`)
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> ACTIVE: place\n")
	for _, transition := range inventory.Transitions() {
		for _, from := range transition.From {
			fmt.Fprintf(&b, "    %s --> %s: %s\n", from, transition.To, transition.Name)
		}
	}
	b.WriteString("    CONFIRMED --> [*]\n    RELEASED --> [*]\n    EXPIRED --> [*]\n```\n\n| transition | from | to |\n|---|---|---|\n")
	for _, transition := range inventory.Transitions() {
		names := make([]string, len(transition.From))
		for i, from := range transition.From {
			names[i] = string(from)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", transition.Name, strings.Join(names, ", "), transition.To)
	}
	if *update {
		if err := os.WriteFile(holdsDocument, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(holdsDocument)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != b.String() {
		t.Errorf("%s differs from the code's transitions; run this test with -update", holdsDocument)
	}
}
