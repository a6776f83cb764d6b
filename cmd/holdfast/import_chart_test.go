package main

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

func TestImportChartOfAStadium(t *testing.T) {
	t.Parallel()
	path := realInput(t, "stadium.pretix-plan.json")
	chart, digest, err := readChart(path)
	if err != nil {
		t.Fatal(err)
	}
	if chart.SeatCount() != 738 || len(chart.Categories) != 5 {
		t.Errorf("got %d seats and %d categories, want 738 and 5", chart.SeatCount(), len(chart.Categories))
	}
	a := newTestApp(t)
	owner := newOwner(t, a)
	venue := newVenue(t, a, owner)
	id, err := a.importChart(t.Context(), owner, venue.ID, chart, digest)
	if err != nil {
		t.Fatal(err)
	}
	again, err := a.importChart(t.Context(), owner, venue.ID, chart, digest)
	if err != nil || again != id {
		t.Errorf("importing it again gave %s, %v; want the same chart %s", again, err, id)
	}
	stored, err := a.inventory.Chart(t.Context(), owner, id)
	if err != nil {
		t.Fatal(err)
	}
	if stored.SeatCount() != 738 {
		t.Errorf("%d seats were stored", stored.SeatCount())
	}
	var printed strings.Builder
	printChart(&printed, id, venue.ID, chart)
	for _, word := range []string{id.String(), "738 seats", "90 rows", "CATEGORY", "createEvent", "createShow", venue.ID.String()} {
		if !strings.Contains(printed.String(), word) {
			t.Errorf("the command does not print %q:\n%s", word, printed.String())
		}
	}
	// Of another tenant's venue nothing is known.
	if _, err := a.importChart(t.Context(), newOwner(t, a), venue.ID, chart, digest); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("a foreign venue gave %v", err)
	}
}

func TestImportChartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	seat := func(guid, number, category string) string {
		return `{"seat_guid":"` + guid + `","seat_number":"` + number + `","position":{"x":1,"y":1},"category":"` + category + `"}`
	}
	plan := func(rows string) string {
		return "{\"name\":\"Hall\",\n\"categories\":[{\"name\":\"A\"}],\n\"zones\":[{\"name\":\"Z\",\n" + rows + "}]}"
	}
	for name, test := range map[string]struct {
		plan string
		want []string
	}{
		"duplicate seat":   {plan("\"rows\":[{\"row_number\":\"1\",\"seats\":[\n" + seat("x", "1", "A") + ",\n" + seat("x", "2", "A") + "]}]"), []string{"line 6", "zones[0].rows[0].seats[1].seat_guid", "duplicate seat id"}},
		"unknown category": {plan("\"rows\":[{\"row_number\":\"1\",\"seats\":[\n" + seat("x", "1", "B") + "]}]"), []string{"line 5", "category", `"B"`}},
		"missing rows":     {plan(`"zone_id":"z"`), []string{"line 3", "zones[0]", "rows"}},
		"two problems":     {plan("\"rows\":[{\"row_number\":\"1\",\"seats\":[\n" + seat("x", "1", "B") + ",\n" + seat("y", "2", "C") + "]}]"), []string{"line 5", "line 6", "nothing was stored"}},
		"no object":        {`[]`, []string{"line 1", "must be an object"}},
		"no JSON":          {"{\n\"name\":", []string{"line 2"}},
		"empty":            {"", []string{"plan.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := readChart(file(t, "plan.json", test.plan))
			wantError(t, err, test.want...)
		})
	}
	t.Run("no file", func(t *testing.T) {
		t.Parallel()
		_, _, err := readChart("absent.json")
		wantError(t, err, "absent.json")
	})
	t.Run("broken gzip", func(t *testing.T) {
		t.Parallel()
		_, _, err := readChart(file(t, "plan.json.gz", "\x1f\x8bnot really"))
		wantError(t, err, "plan.json.gz", "uncompress")
	})
}

func TestCompressedFilesAreTheSame(t *testing.T) {
	t.Parallel()
	const content = "night,physical\n2027-03-14,3\n"
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	if _, err := writer.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	plain, plainDigest, err := readImport(file(t, "nights.csv", content))
	if err != nil {
		t.Fatal(err)
	}
	other, digest, err := readImport(file(t, "nights.csv.gz", compressed.String()))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(plain, other) || plainDigest != digest {
		t.Error("a file and its compressed form differ")
	}
}

func newVenue(t testing.TB, a *app, owner tenants.Actor) tenants.Venue {
	t.Helper()
	venue, err := a.tenants.CreateVenue(t.Context(), owner, "venue", tenants.NewVenue{
		Region: "eu", Site: tenants.Site{Name: "Hall", TimeZone: "Europe/Vienna", Currency: "EUR", Country: "AT", City: "Vienna"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return venue
}
