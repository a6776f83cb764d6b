package charts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/inventory/charts"
)

// smallPlan is a good plan that uses most of the format, one value a line where tests count lines.
const smallPlan = `{
  "name": "Small hall",
  "size": {"width": 400, "height": 300},
  "categories": [
    {"name": "Front", "color": "#C62828"},
    {"name": "Back"}
  ],
  "zones": [
    {
      "name": "Ground floor",
      "zone_id": "floor",
      "uuid": "2f1c8a52-52b4-4a53-9d0f-8f8a3f6a00f0",
      "position": {"x": 100, "y": 50},
      "rows": [
        {
          "row_number": "A",
          "row_label": null,
          "row_number_position": "start",
          "position": {"x": 0, "y": 50},
          "seats": [
            {"seat_guid": "floor-A-1", "seat_number": "1", "category": "Front", "position": {"x": 0, "y": 0}, "uuid": "2f1c8a52-52b4-4a53-9d0f-8f8a3f6a0001", "radius": 12},
            {"seat_guid": "floor-A-2", "seat_number": "2", "category": "Front", "position": {"x": 25.0001, "y": 0}, "start_direction": "<>"},
            {"seat_guid": "floor-A-3", "seat_number": "3", "category": "Back", "position": {"x": 50, "y": 0}, "uuid": "none"}
          ]
        }
      ],
      "areas": [
        {
          "shape": "rectangle", "color": "#EEEEEE", "position": {"x": 0, "y": -40},
          "rectangle": {"width": 200, "height": 40},
          "text": {"text": "Main\nstage", "size": 20, "position": {"x": 100, "y": 20}}
        }
      ]
    },
    {
      "name": "Garden",
      "position": {"x": 0, "y": 200},
      "rows": [],
      "areas": [
        {"shape": "circle", "position": {"x": 10, "y": 10}, "circle": {"radius": 5}, "text": {"text": "", "position": {"x": 0, "y": 0}}},
        {"shape": "ellipse", "position": {"x": 10, "y": 10}, "ellipse": {"radius": {"x": 5, "y": 8}}, "rotation": 45},
        {"shape": "polygon", "polygon": {"points": [{"x": 0, "y": 0}, {"x": 9, "y": 0}, {"x": 0, "y": 9}]}},
        {"shape": "text", "position": {"x": 50, "y": 50}, "text": {"text": "Entrance", "position": {"x": 0, "y": 0}, "color": "#333"}},
        {"width": 20, "height": 10, "position": {"x": 0, "y": 0}, "text": "Bar"}
      ]
    }
  ]
}`

func parse(t *testing.T, plan string) *charts.Chart {
	t.Helper()
	chart, err := charts.ParsePretix(strings.NewReader(plan))
	if err != nil {
		t.Fatal(err)
	}
	return chart
}

func parseFile(t *testing.T, path string) *charts.Chart {
	t.Helper()
	plan, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(plan))
}

// stadiumFile finds a real plan, which is not part of this repository, or "".
func stadiumFile() string {
	const name = "stadium.pretix-plan.json"
	if folder := os.Getenv("HOLDFAST_TEST_DATA"); folder != "" {
		return filepath.Join(folder, name)
	}
	folder, err := os.Getwd()
	for err == nil && folder != filepath.Dir(folder) {
		path := filepath.Join(folder, "shared", "data", name)
		if _, statErr := os.Stat(path); statErr == nil {
			return path
		}
		folder = filepath.Dir(folder)
	}
	return ""
}

func TestStadium(t *testing.T) {
	t.Parallel()
	path := stadiumFile()
	if path == "" {
		t.Skip("needs the real plan shared/data/stadium.pretix-plan.json beside the repository, or HOLDFAST_TEST_DATA naming its folder")
	}
	chart := parseFile(t, path)

	rows, areas := 0, 0
	for _, zone := range chart.Zones {
		rows += len(zone.Rows)
		areas += len(zone.Areas)
	}
	got := []int{chart.SeatCount(), rows, len(chart.Zones), len(chart.Categories), areas}
	if want := []int{738, 90, 2, 5, 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("seats, rows, zones, categories, areas: got %v, want %v", got, want)
	}
	// The plan draws a pitch in the middle, and nothing else.
	if want := (charts.Point{X: 1035.115, Y: 836.131}); chart.FocalPoint != want {
		t.Errorf("focal point: got %v, want %v", chart.FocalPoint, want)
	}
	labels := map[string]bool{}
	for place := range chart.Seats() {
		labels[place.Label()] = true
	}
	if len(labels) != 738 {
		t.Errorf("%d different labels for 738 seats", len(labels))
	}
	for _, label := range []string{"Ground floor, block 2, row A, seat 1", "Ground floor, row R, seat 7", "First Floor, block 1, row A, seat 1"} {
		if !labels[label] {
			t.Errorf("no seat is called %q", label)
		}
	}
	if again := parseFile(t, path); !reflect.DeepEqual(again, chart) {
		t.Error("reading the plan again gave another chart")
	}
}

func TestParsePretix(t *testing.T) {
	t.Parallel()
	chart := parse(t, "\xef\xbb\xbf"+smallPlan)

	seats := chart.Zones[0].Rows[0].Seats
	if want := []float64{100, 125, 150}; seats[0].X != want[0] || seats[1].X != want[1] || seats[2].X != want[2] || seats[2].Y != 100 {
		t.Errorf("seats are not at the sum of zone, row and seat: %v", seats)
	}
	if seats[0].ID != uuid.MustParse("2f1c8a52-52b4-4a53-9d0f-8f8a3f6a0001") {
		t.Errorf("the plan's uuid was not kept: %s", seats[0].ID)
	}
	for _, seat := range seats[1:] {
		if seat.ID != charts.SeatID("Small hall", seat.Ref) || seat.ID.Version() != 5 {
			t.Errorf("seat %s without a uuid got %s", seat.Number, seat.ID)
		}
	}
	if chart.FocalPoint != (charts.Point{X: 200, Y: 30}) {
		t.Errorf("focal point: got %v, want the middle of the stage", chart.FocalPoint)
	}
	if got := chart.Zones[0].Areas[0].Text.Text; got != "Main stage" {
		t.Errorf("area text: got %q", got)
	}
	var shapes []charts.AreaShape
	for _, area := range chart.Zones[1].Areas {
		shapes = append(shapes, area.Shape)
	}
	want := []charts.AreaShape{charts.AreaShapeCircle, charts.AreaShapeEllipse, charts.AreaShapePolygon, charts.AreaShapeText, charts.AreaShapeRectangle}
	if !reflect.DeepEqual(shapes, want) {
		t.Errorf("shapes: got %q, want %q", shapes, want)
	}
	if chart.Zones[1].Areas[0].Text != nil {
		t.Error("an empty text was kept")
	}
}

// Size became part of the format later; a plan without it is measured.
func TestParsePretixWithoutSize(t *testing.T) {
	t.Parallel()
	chart := parse(t, strings.Replace(smallPlan, `"size": {"width": 400, "height": 300},`, "", 1))
	if want := (charts.Size{Width: 320, Height: 270}); chart.Size != want {
		t.Errorf("got %v, want %v", chart.Size, want)
	}
}

// What people get wrong in a plan, and what they are told.
func TestParsePretixMistakes(t *testing.T) {
	t.Parallel()
	const secondSeat = `{"seat_guid": "floor-A-2", "seat_number": "2", "category": "Front", "position": {"x": 25.0001, "y": 0}, "start_direction": "<>"}`
	seat := func(replacement string) [2]string { return [2]string{secondSeat, replacement} }
	tests := []struct {
		name    string
		replace [2]string
		want    string
	}{
		{"an empty file", [2]string{smallPlan, " \n"}, `line 1, column 1: the file is empty; expected a seating plan in JSON`},
		{"a list of plans", [2]string{smallPlan, `[{}]`}, `line 1, column 1: a seating plan must be an object, is a list`},
		{"a spreadsheet", [2]string{smallPlan, "row;seat\nA;1"}, `line 1, column 1: not valid JSON: invalid character 'r' looking for beginning of value`},
		{"a forgotten comma", [2]string{`"name": "Small hall",`, `"name": "Small hall"`}, `line 3, column 3: not valid JSON: invalid character '"' after object key:value pair`},
		{"one comma too many", [2]string{`{"name": "Back"}`, `{"name": "Back"},`}, `line 7, column 3: not valid JSON: invalid character ']' looking for beginning of value`},
		{"half a file", [2]string{smallPlan, smallPlan[:40]}, `line 3, column 14: not valid JSON: unexpected end of JSON input`},
		{"two plans in a file", [2]string{smallPlan, "{}\n{}"}, `line 2, column 1: not valid JSON: invalid character '{' after top-level value`},

		{"no name", [2]string{`"name": "Small hall",`, ``}, `line 1, column 1: name: is missing`},
		{"no zones", [2]string{`"zones": [`, `"areas": [`}, `line 1, column 1: zones: is missing`},
		{"an empty list of zones", [2]string{smallPlan, "{\"name\": \"x\", \"categories\": [],\n\"zones\": []}"}, `line 2, column 10: zones: must have at least one zone`},
		{"zones as an object", [2]string{smallPlan, `{"name": "x", "categories": [], "zones": {}}`}, `line 1, column 42: zones: must be a list, is an object`},
		{"a zone without rows", [2]string{`"rows": [],`, ``}, `line 35, column 5: zones[1].rows: is missing`},
		{"a zone without anything", [2]string{smallPlan, `{"name": "x", "categories": [], "zones": [{"rows": []}]}`}, `line 1, column 52: zones[0].rows: must have at least one row, because the zone has no areas`},
		{"a row without seats", [2]string{smallPlan, `{"name": "x", "categories": [], "zones": [{"rows": [{"row_number": "A", "seats": []}]}]}`}, `line 1, column 82: zones[0].rows[0].seats: must have at least one seat`},
		{"a row whose seats are missing", [2]string{smallPlan, `{"name": "x", "categories": [], "zones": [{"rows": [{"row_number": "A"}]}]}`}, `line 1, column 53: zones[0].rows[0].seats: is missing`},

		{"a category that is not there", seat(strings.Replace(secondSeat, `"Front"`, `"Frnt"`, 1)), `line 22, column 72: zones[0].rows[0].seats[1].category: unknown category "Frnt"; the plan has "Front", "Back"`},
		{"the same category twice", [2]string{`"Back"}`, `"Front"}`}, "line 6, column 14: categories[1].name: duplicate category name \"Front\", first used at line 5\n" +
			`line 23, column 72: zones[0].rows[0].seats[2].category: unknown category "Back"; the plan has "Front"`},
		{"no categories", [2]string{smallPlan, `{"name": "x", "categories": [], "zones": [{"rows": [{"row_number": "A", "seats": [{"seat_guid": "1", "seat_number": "1", "position": {"x": 1, "y": 1}, "category": "A"}]}]}]}`}, `line 1, column 164: zones[0].rows[0].seats[0].category: unknown category "A"; the plan has no categories`},

		{"a seat pasted without a new guid", seat(strings.Replace(secondSeat, `floor-A-2`, `floor-A-1`, 1)), `line 22, column 27: zones[0].rows[0].seats[1].seat_guid: duplicate seat id "floor-A-1", first used at line 21`},
		{"a seat pasted without a new uuid", seat(strings.Replace(secondSeat, `{`, `{"uuid": "2f1c8a52-52b4-4a53-9d0f-8f8a3f6a0001", `, 1)), `line 22, column 22: zones[0].rows[0].seats[1].uuid: duplicate seat id "2f1c8a52-52b4-4a53-9d0f-8f8a3f6a0001", first used at line 21`},
		{"a seat pasted without a new number", seat(strings.Replace(secondSeat, `"2"`, `"1"`, 1)), `line 22, column 55: zones[0].rows[0].seats[1].seat_number: duplicate seat number "1" in this row, first used at line 21`},
		{"a seat without a guid", seat(strings.Replace(secondSeat, `"seat_guid": "floor-A-2", `, ``, 1)), `line 22, column 13: zones[0].rows[0].seats[1].seat_guid: is missing`},
		{"a seat with an empty guid", seat(strings.Replace(secondSeat, `floor-A-2`, ``, 1)), `line 22, column 27: zones[0].rows[0].seats[1].seat_guid: must not be empty`},
		{"a seat without a number", seat(strings.Replace(secondSeat, `"seat_number": "2", `, ``, 1)), `line 22, column 13: zones[0].rows[0].seats[1].seat_number: is missing`},
		{"a number for a text", seat(strings.Replace(secondSeat, `"2"`, `2`, 1)), `line 22, column 55: zones[0].rows[0].seats[1].seat_number: must be text, is a number`},
		{"null for a text", seat(strings.Replace(secondSeat, `"2"`, `null`, 1)), `line 22, column 55: zones[0].rows[0].seats[1].seat_number: must be text, is null`},
		{"a text for a number", seat(strings.Replace(secondSeat, `25.0001`, `"25"`, 1)), `line 22, column 99: zones[0].rows[0].seats[1].position.x: must be a number, is text`},
		{"an x without a y", seat(strings.Replace(secondSeat, `, "y": 0`, ``, 1)), `line 22, column 93: zones[0].rows[0].seats[1].position.y: is missing`},
		{"a field given twice", seat(strings.Replace(secondSeat, `{`, `{"seat_number": "9", `, 1)), `line 22, column 60: zones[0].rows[0].seats[1].seat_number: is given twice in the same object`},
		{"a text for a seat", seat(`"A2"`), `line 22, column 13: zones[0].rows[0].seats[1]: must be an object, is text`},
		{"a seat on the moon", seat(strings.Replace(secondSeat, `25.0001`, `384400000`, 1)), `line 22, column 99: zones[0].rows[0].seats[1].position.x: must lie between -1000000 and 1000000, is 3.844e+08`},
		{"a seat at infinity", seat(strings.Replace(secondSeat, `25.0001`, `1e999`, 1)), `line 22, column 99: zones[0].rows[0].seats[1].position.x: must lie between -1000000 and 1000000, is +Inf`},
		{"a seat too far away together with its zone", seat(strings.Replace(secondSeat, `25.0001`, `999999`, 1)), `line 22, column 93: zones[0].rows[0].seats[1].position: together with row and zone, must lie between -1000000 and 1000000, is 1.000099e+06`},
		{"a zero byte", seat(strings.Replace(secondSeat, `floor-A-2`, `floor\u0000`, 1)), `line 22, column 27: zones[0].rows[0].seats[1].seat_guid: must not contain control characters or invalid UTF-8`},

		{"a drawing without height", [2]string{`"height": 300`, `"height": 0`}, `line 3, column 36: size.height: must be above 0 and at most 1000000, is 0`},
		{"a shape that is not there", [2]string{`"shape": "text"`, `"shape": "star"`}, `line 43, column 19: zones[1].areas[3].shape: must be rectangle, circle, ellipse, polygon or text, is "star"`},
		{"a circle without a radius", [2]string{`"circle": {"radius": 5}`, `"diameter": 5`}, `line 40, column 9: zones[1].areas[0].circle: is missing or incomplete for the shape "circle"`},
		{"a polygon that is a line", [2]string{`, {"x": 0, "y": 9}`, ``}, `line 42, column 9: zones[1].areas[2].polygon: is missing or incomplete for the shape "polygon"`},
		{"a row label beside the row", [2]string{`"row_number_position": "start"`, `"row_number_position": "left"`}, `line 18, column 34: zones[0].rows[0].row_number_position: must be start, end or both, is "left"`},
		{"columns count characters", [2]string{`"name": "Small hall"`, `"ärgerlich": 1, "name": 5`}, `line 2, column 27: name: must be text, is a number`},
		{"a minified plan", [2]string{smallPlan, `{"name":"x","categories":[{"name":"A"},{"name":"A"}],"zones":[{"rows":[],"areas":[{"text":"a"}]}]}`}, `line 1, column 48: categories[1].name: duplicate category name "A", first used at line 1, column 35`},
		{"several mistakes at once", seat(`{"seat_guid": "floor-A-1", "seat_number": 2, "position": null, "category": "Back"}`), "line 22, column 27: zones[0].rows[0].seats[1].seat_guid: duplicate seat id \"floor-A-1\", first used at line 21\n" +
			"line 22, column 55: zones[0].rows[0].seats[1].seat_number: must be text, is a number\n" +
			`line 22, column 70: zones[0].rows[0].seats[1].position: must be an object, is null`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if strings.Count(smallPlan, test.replace[0]) != 1 {
				t.Fatalf("the text to replace is not in the plan exactly once: %s", test.replace[0])
			}
			chart, err := charts.ParsePretix(strings.NewReader(strings.Replace(smallPlan, test.replace[0], test.replace[1], 1)))
			if err == nil {
				t.Fatalf("was accepted with %d seats", chart.SeatCount())
			}
			if err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// A stadium that has a row A in each block tells its seats apart by uuid; a pasted seat never passes for that.
func TestParsePretixRepeatedRows(t *testing.T) {
	t.Parallel()
	plan := func(uuid1, uuid2, row2, number2 string) string {
		row := func(label, number, id string) string {
			return fmt.Sprintf(`{"row_number": %q, "seats": [{"seat_guid": "A-1", "seat_number": %q, "uuid": %q, "position": {"x": 0, "y": 0}, "category": "C"}]}`, label, number, id)
		}
		return `{"name": "Blocks", "categories": [{"name": "C"}], "zones": [{"name": "Floor", "rows": [` + "\n" +
			row("A", "1", uuid1) + ",\n" + row(row2, number2, uuid2) + `]}]}`
	}
	const one, two = "2f1c8a52-52b4-4a53-9d0f-8f8a3f6a0001", "2f1c8a52-52b4-4a53-9d0f-8f8a3f6a0002"

	var got []string
	for place := range parse(t, plan(one, two, "A", "1")).Seats() {
		got = append(got, place.Label()+" = "+place.Seat.Ref)
	}
	want := []string{"Floor, block 1, row A, seat 1 = " + one, "Floor, block 2, row A, seat 1 = " + two}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	refused := `line 3, column 45: zones[0].rows[1].seats[0].seat_guid: duplicate seat id "A-1", first used at line 2`
	for name, bad := range map[string]string{
		"another row":     plan(one, two, "B", "1"),
		"another number":  plan(one, two, "A", "2"),
		"one has no uuid": plan(one, "", "A", "1"),
		"neither has one": plan("", "", "A", "1"),
	} {
		_, err := charts.ParsePretix(strings.NewReader(bad))
		if err == nil || err.Error() != refused {
			t.Errorf("%s: got %v, want %s", name, err, refused)
		}
	}
}

func TestParsePretixListsTwentyProblems(t *testing.T) {
	t.Parallel()
	for seats, truncated := range map[int]bool{20: false, 21: true, 1000: true} {
		plan := `{"name": "x", "categories": [], "zones": [{"rows": [{"row_number": "A", "seats": [` + strings.Repeat("\n5,", seats-1) + "\n5]}]}]}"
		_, err := charts.ParsePretix(strings.NewReader(plan))
		var problems *charts.ProblemsError
		if !errors.As(err, &problems) {
			t.Fatalf("got %v, want a *ProblemsError", err)
		}
		if len(problems.Problems) != charts.MaxProblems || problems.Truncated != truncated {
			t.Errorf("%d mistakes: listed %d, truncated %t", seats, len(problems.Problems), problems.Truncated)
		}
		first := charts.Problem{Line: 2, Column: 1, Path: "zones[0].rows[0].seats[0]", Message: "must be an object, is a number"}
		if problems.Problems[0] != first {
			t.Errorf("first problem: got %v, want %v", problems.Problems[0], first)
		}
	}
}

func TestParsePretixLimits(t *testing.T) {
	t.Parallel()
	seats := func(count int) string {
		var plan bytes.Buffer
		plan.WriteString(`{"name": "x", "categories": [{"name": "C"}], "zones": [{"rows": [`)
		const perRow = 100
		for i := range count {
			switch {
			case i == 0:
				plan.WriteString("\n" + `{"row_number": "0", "seats": [`)
			case i%perRow == 0:
				fmt.Fprintf(&plan, "]},\n{\"row_number\": \"%d\", \"seats\": [", i/perRow)
			default:
				plan.WriteString(",")
			}
			fmt.Fprintf(&plan, `{"seat_guid": "%d", "seat_number": "%d", "position": {"x": %d, "y": %d}, "category": "C"}`, i, i%perRow, 25*(i%perRow), 25*(i/perRow))
		}
		plan.WriteString("]}]}]}")
		return plan.String()
	}
	if got := parse(t, seats(charts.MaxSeats)).SeatCount(); got != charts.MaxSeats {
		t.Errorf("seats: got %d, want %d", got, charts.MaxSeats)
	}
	_, err := charts.ParsePretix(strings.NewReader(seats(charts.MaxSeats + 1)))
	if want := `line 1002, column 34: zones[0].rows[1000].seats[0]: too many seats: a plan may have 100000`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}

	_, err = charts.ParsePretix(io.MultiReader(strings.NewReader(smallPlan), endlessSpaces{}))
	if !errors.Is(err, charts.ErrPlanTooLarge) {
		t.Errorf("an endless file: got %v, want ErrPlanTooLarge", err)
	}
	broken := errors.New("the disk is broken")
	if _, err = charts.ParsePretix(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a broken disk: got %v", err)
	}
	deep := strings.Repeat("[", 1_000_000)
	if _, err = charts.ParsePretix(strings.NewReader(deep)); err == nil {
		t.Error("a million brackets were accepted")
	}
}

type endlessSpaces struct{}

func (endlessSpaces) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat(" ", min(len(p), 1<<20))), nil
}

// Whatever is read is a valid chart, or a list of problems that names lines; it never panics.
func FuzzParsePretix(f *testing.F) {
	f.Add([]byte(smallPlan))
	f.Add([]byte(`{"name": "x", "categories": [{"name": "A"}], "zones": [{"rows": [{"row_number": "", "seats": [{"seat_guid": "1", "seat_number": "1", "position": {"x": 1, "y": 1}, "category": "A"}]}]}]}`))
	f.Add([]byte(`{"name": "x", "categories": null, "zones": [[], 5, {"rows": null, "areas": [{"text": {"text": "\u0000"}}, {"polygon": 3}]}]}`))
	f.Add([]byte(`[{]`))
	f.Fuzz(func(t *testing.T, plan []byte) {
		chart, err := charts.ParsePretix(bytes.NewReader(plan))
		if err != nil {
			var problems *charts.ProblemsError
			if !errors.As(err, &problems) || len(problems.Problems) == 0 {
				t.Fatalf("an error without problems: %v", err)
			}
			return
		}
		if err := chart.Validate(); err != nil {
			t.Fatalf("was accepted, but is not valid: %v", err)
		}
		if _, err := json.Marshal(chart); err != nil {
			t.Fatalf("was accepted, but cannot be stored: %v", err)
		}
		if err := chart.SVG(io.Discard); err != nil {
			t.Fatalf("was accepted, but cannot be drawn: %v", err)
		}
	})
}
