package main

import (
	"bytes"
	"strings"
	"testing"
)

// The figures are not judged, only that there are some and that nothing went wrong.
func TestTheBenchmarkOfBlocksProducesFigures(t *testing.T) {
	t.Parallel()
	config := smallBench(t)
	config.Server, config.Sections, config.Seconds = nil, []string{benchBlocking}, 0.5
	report, err := runBench(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	b := report.Blocks
	if !report.OK || b == nil || b.Seats != 200 || b.Assigned < 1 || b.Released != b.Assigned || b.AssignMs <= 0 || b.ReleaseMs <= 0 {
		t.Fatalf("the report is %+v, the blocks are %+v", report, b)
	}
	for _, cell := range []benchCell{b.Alone, b.Meanwhile} {
		if len(cell.Errors) > 0 || cell.Clients != benchBlockClients {
			t.Errorf("a cell is %+v", cell)
		}
	}
	var table bytes.Buffer
	printBench(&table, report)
	if text := table.String(); !strings.Contains(text, "Blocks: 200 seats of a show are assigned in") || !strings.Contains(text, "The audit is clean.") {
		t.Errorf("the table says\n%s", text)
	}
}
