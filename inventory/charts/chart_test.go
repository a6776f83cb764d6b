package charts_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/inventory/charts/halls"
)

func TestLabel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		zone string
		row  charts.Row
		want string
	}{
		{"Ground floor", charts.Row{Label: "A"}, "Ground floor, row A, seat 1"},
		{"Ground floor", charts.Row{Label: "A", Block: 2}, "Ground floor, block 2, row A, seat 1"},
		{"", charts.Row{Label: "A"}, "row A, seat 1"},
		{"Restaurant", charts.Row{Label: "7", RowText: "Table 7", SeatText: "chair %s"}, "Restaurant, Table 7, chair 1"},
		{"Restaurant", charts.Row{RowText: "Sofa", SeatText: "place"}, "Restaurant, Sofa, place 1"},
		{"Chapel", charts.Row{}, "Chapel, seat 1"},
	}
	for _, test := range tests {
		place := charts.Place{Zone: &charts.Zone{Name: test.zone}, Row: &test.row, Seat: &charts.Seat{Number: "1"}}
		if got := place.Label(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestSeatsStopsWhenAsked(t *testing.T) {
	t.Parallel()
	visited := 0
	for range halls.Theatre().Seats() {
		visited++
		if visited == 3 {
			break
		}
	}
	if visited != 3 {
		t.Errorf("visited %d seats, want 3", visited)
	}
}

// A chart is stored as jsonb and read back.
func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	for _, chart := range []*charts.Chart{halls.Theatre(), halls.Arena(), parse(t, smallPlan)} {
		stored, err := json.Marshal(chart)
		if err != nil {
			t.Fatal(err)
		}
		var read charts.Chart
		if err := json.Unmarshal(stored, &read); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(&read, chart) {
			t.Errorf("%s came back different", chart.Name)
		}
	}
}

// Stored charts must stay readable: a renamed field fails here.
func TestJSONFieldNames(t *testing.T) {
	t.Parallel()
	chart := parse(t, smallPlan)
	chart.Zones = chart.Zones[:1]
	chart.Zones[0].Rows[0].Seats = chart.Zones[0].Rows[0].Seats[:1]
	stored, err := json.Marshal(chart)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"Small hall","size":{"width":400,"height":300},"focalPoint":{"x":200,"y":30},` +
		`"categories":[{"name":"Front","color":"#C62828"},{"name":"Back"}],` +
		`"zones":[{"id":"floor","name":"Ground floor","position":{"x":100,"y":50},` +
		`"rows":[{"label":"A","labelAt":"start","position":{"x":100,"y":100},` +
		`"seats":[{"id":"2f1c8a52-52b4-4a53-9d0f-8f8a3f6a0001","ref":"floor-A-1","number":"1","x":100,"y":100,"category":"Front","radius":12}]}],` +
		`"areas":[{"shape":"rectangle","position":{"x":100,"y":10},"size":{"width":200,"height":40},"color":"#EEEEEE","text":{"text":"Main stage","size":20,"position":{"x":100,"y":20}}}]}]}`
	if string(stored) != want {
		t.Errorf("got  %s\nwant %s", stored, want)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	firstSeat := func(c *charts.Chart) *charts.Seat { return &c.Zones[0].Rows[0].Seats[0] }
	secondSeat := func(c *charts.Chart) *charts.Seat { return &c.Zones[0].Rows[0].Seats[1] }
	tests := []struct {
		name  string
		spoil func(*charts.Chart)
		want  string
	}{
		{"no name", func(c *charts.Chart) { c.Name = " " }, `name: must not be empty`},
		{"a name that is too long", func(c *charts.Chart) { c.Name = strings.Repeat("ü", 201) }, `name: must not be longer than 200 characters, has 201`},
		{"a zero byte, which jsonb refuses", func(c *charts.Chart) { c.Zones[0].Name = "a\x00" }, `zones[0].name: must not contain control characters or invalid UTF-8`},
		{"no size", func(c *charts.Chart) { c.Size = charts.Size{Width: 1} }, `size.height: must be above 0 and at most 1000000, is 0`},
		{"nothing in it", func(c *charts.Chart) { c.Zones = nil }, `zones: must have at least one seat or area`},
		{"infinite", func(c *charts.Chart) { firstSeat(c).X = math.Inf(1) }, `zones[0].rows[0].seats[0].x: must lie between -1000000 and 1000000, is +Inf`},
		{"not a number", func(c *charts.Chart) { firstSeat(c).Y = math.NaN() }, `zones[0].rows[0].seats[0].y: must lie between -1000000 and 1000000, is NaN`},
		{"no id", func(c *charts.Chart) { firstSeat(c).ID = uuid.Nil }, `zones[0].rows[0].seats[0].id: must not be empty`},
		{"the same id twice", func(c *charts.Chart) { secondSeat(c).ID = firstSeat(c).ID }, `zones[0].rows[0].seats[1].id: duplicate seat id "2f1c8a52-52b4-4a53-9d0f-8f8a3f6a0001"`},
		{"the same ref twice", func(c *charts.Chart) { secondSeat(c).Ref = firstSeat(c).Ref }, `zones[0].rows[0].seats[1].ref: duplicate seat ref "floor-A-1"`},
		{"the same number twice", func(c *charts.Chart) { secondSeat(c).Number = "1" }, `zones[0].rows[0].seats[1].number: duplicate seat number "1" in its row`},
		{"a category that is not there", func(c *charts.Chart) { firstSeat(c).Category = "Gold" }, `zones[0].rows[0].seats[0].category: unknown category "Gold"`},
		{"the same category twice", func(c *charts.Chart) { c.Categories = append(c.Categories, c.Categories[0]) }, `categories[2].name: duplicate category name "Front"`},
		{"a colour that is code", func(c *charts.Chart) { c.Categories[0].Color = `"><script>` }, `categories[0].color: must be a CSS colour such as #2196F3, is "\"><script>"`},
		{"a shape that is not there", func(c *charts.Chart) { c.Zones[0].Areas[0].Shape = "star" }, `zones[0].areas[0].shape: must be rectangle, circle, ellipse, polygon or text, is "star"`},
		{"a circle without a radius", func(c *charts.Chart) { c.Zones[0].Areas[0].Shape = charts.AreaShapeCircle }, `zones[0].areas[0].radius: is missing for the shape "circle"`},
		{"a label beside the row", func(c *charts.Chart) { c.Zones[0].Rows[0].LabelAt = "left" }, `zones[0].rows[0].labelAt: must be start, end or both, is "left"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			chart := parse(t, smallPlan)
			test.spoil(chart)
			err := chart.Validate()
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestValidateCountsSeats(t *testing.T) {
	t.Parallel()
	chart := parse(t, smallPlan)
	chart.Zones[0].Rows[0].Seats = make([]charts.Seat, charts.MaxSeats)
	err := chart.Validate()
	var problems *charts.ProblemsError
	if !errors.As(err, &problems) || len(problems.Problems) != charts.MaxProblems || !problems.Truncated {
		t.Fatalf("got %v, want the first %d problems", err, charts.MaxProblems)
	}
	if last := strings.Split(err.Error(), "\n")[charts.MaxProblems]; last != "and more: only the first 20 problems are listed" {
		t.Errorf("last line: %q", last)
	}
}
