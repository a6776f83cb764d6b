package main

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The figures are not judged, only that there are some, that nothing went wrong, and that whoever
// waits for the provider has no connection.
func TestTheBenchmarkMeasuresPayments(t *testing.T) {
	t.Parallel()
	config := smallBench(t)
	config.Server, config.Sections = nil, []string{benchSelling, benchTelling, benchAsking}
	report, err := runBench(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK || !report.Audit.OK || report.Sagas == nil || report.Webhooks == nil || report.Reconcile == nil || report.Soak != nil {
		t.Fatalf("the report is %+v", report)
	}
	checkSagas(t, report.Sagas)
	if w := report.Webhooks; w.Events != 60 || w.FreshPerSecond <= 0 || w.DuplicatesPerSecond <= 0 || w.Booked != 60 || w.Recorded != 60 || !w.Audit.OK {
		t.Errorf("the webhooks are %+v", w)
	}
	if r := report.Reconcile; r.Attempts != 70 || r.UndecidedPerSecond <= 0 || r.PaidPerSecond <= 0 || r.Booked != 70 || !r.Audit.OK {
		t.Errorf("the reconciliation is %+v", r)
	}
	var table bytes.Buffer
	printBench(&table, report)
	for _, want := range []string{"connections while all wait", "Webhooks of 60 payments", "Reconciler over 70 open payments", "The audit is clean."} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, table.String())
		}
	}
}

func checkSagas(t *testing.T, sagas *benchSagas) {
	t.Helper()
	if sagas.Booked <= 0 || sagas.Before != 70 || sagas.BookedMinor != sagas.Booked*benchTillMinor || sagas.KeptMinor != sagas.BookedMinor || !sagas.Audit.OK || sagas.LatencyMs != 20 {
		t.Errorf("the sagas are %+v", sagas)
	}
	var buyers []int
	for _, cell := range sagas.Cells {
		buyers = append(buyers, cell.Buyers)
		if cell.P95Ms < cell.P50Ms || cell.P99Ms < cell.P95Ms || len(cell.Errors) > 0 {
			t.Errorf("a cell is %+v", cell)
		}
		// There are more buyers than connections, and they all wait.
		if c := cell.Connections; c.WhileAllWait != 0 || c.Limit <= 0 || c.Peak < 1 || c.Peak > c.Limit || c.PeakWaiting > int64(cell.Buyers) {
			t.Errorf("the connections of %d buyers are %+v", cell.Buyers, c)
		}
	}
	if want := []int{1, 40}; !slices.Equal(buyers, want) {
		t.Errorf("the cells are of %v buyers", buyers)
	}
}

func TestTheBenchmarkSoaks(t *testing.T) {
	t.Parallel()
	config := smallBench(t)
	config.Sections = []string{benchSoaking}
	report, err := runBench(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	soak := report.Soak
	if !report.OK || soak == nil || !soak.Audit.OK || soak.Booked <= 0 || soak.KeptMinor != soak.BookedMinor || soak.Payments < soak.Booked || len(soak.Errors) > 0 {
		t.Fatalf("the report is %+v, the soak %+v", report, soak)
	}
	if len(soak.Memory) != benchSoakParts {
		t.Errorf("the memory is %+v", soak.Memory)
	}
	for _, point := range soak.Memory {
		if point.Second <= 0 || point.HeapBytes <= 0 || point.RSSBytes <= 0 && runtime.GOOS == "linux" {
			t.Errorf("a point is %+v", point)
		}
	}
	var table bytes.Buffer
	printBench(&table, report)
	if text := table.String(); !strings.Contains(text, "Slope: heap ") || !strings.Contains(text, "The audit is clean.") {
		t.Errorf("the table says\n%s", text)
	}
}

func TestTheSlopeIsThatOfTheBestLine(t *testing.T) {
	t.Parallel()
	heap := func(p benchSoakPoint) int64 { return p.HeapBytes }
	growing := []benchSoakPoint{{Second: 60, HeapBytes: 1000}, {Second: 120, HeapBytes: 1600}, {Second: 180, HeapBytes: 2000}}
	if got := slopePerMinute(growing, heap); got != 500 {
		t.Errorf("it grows by %g a minute, want 500", got)
	}
	if got := slopePerMinute([]benchSoakPoint{{Second: 60, HeapBytes: 7}, {Second: 120, HeapBytes: 7}}, heap); got != 0 {
		t.Errorf("what is flat grows by %g", got)
	}
	if got := slopePerMinute(growing[:1], heap); got != 0 {
		t.Errorf("one point grows by %g", got)
	}
}

// The faults leave room for payments that go well.
func TestTheFaultsOfASoakAreSome(t *testing.T) {
	t.Parallel()
	sum := 0
	for _, fault := range benchFaults() {
		sum += fault.perMille
	}
	if sum < 10 || sum > 500 {
		t.Errorf("%d of 1,000 payments go wrong", sum)
	}
}

func TestTheBenchmarkFillsAWaitingRoom(t *testing.T) {
	t.Parallel()
	config := smallBench(t)
	config.Sections = []string{benchWaiting}
	report, err := runBench(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	room := report.Room
	if !report.OK || room == nil || room.Visitors != config.Visitors || room.PollsPerSecond <= 0 || room.DocumentBytes <= 0 ||
		room.StatementsPerSecond <= 0 || room.CalledPerMinute < 0 || room.Admitted < 1 || room.StatementsPerAdmission <= 1 {
		t.Fatalf("the report is %+v, the room %+v", report, room)
	}
	var table bytes.Buffer
	printBench(&table, report)
	if text := table.String(); !strings.Contains(text, "Waiting room of 300 visitors") || !strings.Contains(text, "The audit is clean.") {
		t.Errorf("the table says\n%s", text)
	}
}
