package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/bookings/oversell"
)

// judgeOversell judges a file by one size of hotel.
func judgeOversell(t *testing.T, content []byte, percent int) oversellReport {
	t.Helper()
	h, err := parseHistory("history.csv", content, "")
	if err != nil {
		t.Fatal(err)
	}
	c := oversellCommand{JudgeFrom: "2017-01-01", Walk: 2, MostPercent: 40, RoomsPercent: []int{percent}}
	report, err := c.judge(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// result of a policy, by its name.
func (r oversellHotelReport) result(t *testing.T, policy string) oversell.Result {
	t.Helper()
	for _, result := range r.Sizes[0].Results {
		if result.Policy == policy {
			return result
		}
	}
	t.Fatalf("no result of %s", policy)
	return oversell.Result{}
}

// On two years of two real hotels that are too small for their demand, what was learnt from the first
// one and a half earns more in the rest than no overbooking, than any flat percentage that is shown,
// and than the one that was best before; and the number of guests is told as surely as it is said.
func TestAdviceOnRealHistory(t *testing.T) {
	t.Parallel()
	content, _, err := readImport(realInput(t, "hotel_bookings.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	report := judgeOversell(t, content, 70)
	if len(report.Hotels) != 2 || report.Until != date(2017, 8, 31) {
		t.Fatalf("%d hotels until %s", len(report.Hotels), report.Until)
	}
	for _, hotel := range report.Hotels {
		advised := hotel.result(t, "advised")
		for _, result := range hotel.Sizes[0].Results {
			if result.Policy != "advised" && result.NetMinor() >= advised.NetMinor() {
				t.Errorf("%s: %s earns %d, advice %d", hotel.Hotel, result.Policy, result.NetMinor(), advised.NetMinor())
			}
		}
		if none := hotel.result(t, "no overbooking"); none.Walked != 0 || none.WalkMinor != 0 {
			t.Errorf("%s: without overbooking guests are walked: %+v", hotel.Hotel, none)
		}
		for _, c := range hotel.Calibration {
			if c.Nights < 400 || c.Within80 < 0.80 || c.Within95 < 0.95 {
				t.Errorf("%s, %d days out: of %d nights %.3f lie in the central 80 percent and %.3f in 95", hotel.Hotel, c.DaysOut, c.Nights, c.Within80, c.Within95)
			}
		}
	}
}

// busyHistory is a hotel of which a quarter of the bookings are cancelled.
func busyHistory() string {
	random := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // a made-up history
	var lines strings.Builder
	lines.WriteString(historyHeader)
	for day := range 120 {
		arrival := date(2016, 11, 1).AddDays(day)
		for range 8 {
			lead := random.IntN(40)
			if random.IntN(4) == 0 {
				lines.WriteString(guest(historyCityHotel, "A", arrival, lead, 2, "80", historyCancelled, arrival.AddDays(-random.IntN(lead+1))))
				continue
			}
			lines.WriteString(guest(historyCityHotel, "A", arrival, lead, 2, "80", historyCheckedOut, arrival.AddDays(2)))
		}
	}
	return lines.String()
}

func TestTheReportAndItsPlots(t *testing.T) {
	t.Parallel()
	report := judgeOversell(t, []byte(busyHistory()), 80)
	var text bytes.Buffer
	if err := report.print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"City Hotel: 488 stays learnt from, 472 to judge by", "no overbooking", "5 % more", "best flat percentage before", "advised", "days out"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, &text)
		}
	}
	folder := filepath.Join(t.TempDir(), "plots")
	if err := report.plot(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"city-hotel-calibration.svg", "city-hotel-revenue.svg"} {
		drawn, err := os.ReadFile(filepath.Join(folder, name)) //nolint:gosec // the test's own folder
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(drawn, []byte("City Hotel")) {
			t.Errorf("%s has no title", name)
		}
		decoder := xml.NewDecoder(bytes.NewReader(drawn))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s is no XML: %v", name, err)
				break
			}
		}
	}
}

func TestOversellRefusesBadInput(t *testing.T) {
	t.Parallel()
	good := oversellCommand{JudgeFrom: "2017-01-01", Walk: 2, MostPercent: 40, RoomsPercent: []int{100}}
	for want, change := range map[string]func(*oversellCommand){
		`--judge-from: expected a date such as 2017-01-01, got "soon"`:        func(c *oversellCommand) { c.JudgeFrom = "soon" },
		"--judge-until: expected a date from 2017-01-01 on, got 2016-12-31":   func(c *oversellCommand) { c.JudgeUntil = "2016-12-31" },
		"--walk: expected 0 to 100, got -1":                                   func(c *oversellCommand) { c.Walk = -1 },
		"--most-percent: expected 0 to 100, got 101":                          func(c *oversellCommand) { c.MostPercent = 101 },
		"--rooms-percent: expected 1 to 100, got 0":                           func(c *oversellCommand) { c.RoomsPercent = []int{0} },
		"--rooms-percent: expected at most 5 sizes, got 6":                    func(c *oversellCommand) { c.RoomsPercent = []int{1, 2, 3, 4, 5, 6} },
		`--judge-until: expected a date such as 2017-08-31, got "31/08/2017"`: func(c *oversellCommand) { c.JudgeUntil = "31/08/2017" },
	} {
		c := good
		change(&c)
		if err := c.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := good.Validate(); err != nil {
		t.Errorf("good input is refused: %v", err)
	}
	h, err := parseHistory("history.csv", []byte(historyHeader+guest(historyCityHotel, "A", civil.Date{Year: 2016, Month: 3, Day: 3}, 3, 1, "80", historyCheckedOut, date(2016, 3, 4))), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := good.judge(t.Context(), h); err == nil || err.Error() != "City Hotel: the history is too short for advice: expected at least 100 stays that arrive before --judge-from 2017-01-01" {
		t.Errorf("a history of one stay: %v", err)
	}
}
