package charts

import (
	"iter"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// DefaultSeatRadius is how large a seat is drawn when its plan does not say, in plan units.
const DefaultSeatRadius = 10

// Chart is the geometry of a hall. Its JSON form is stored and served, so field names are stable: fields are added,
// never renamed.
type Chart struct {
	Name string `json:"name"`
	// Size is the drawing's extent in plan units; the origin is its top left corner and y grows downwards.
	Size Size `json:"size"`
	// FocalPoint is what the audience looks at: the middle of the stage or pitch. Best-available ranks seats by it.
	FocalPoint Point      `json:"focalPoint"`
	Categories []Category `json:"categories"`
	Zones      []Zone     `json:"zones"`
}

// Size is a width and a height in plan units.
type Size struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Point is a place on the drawing in plan units.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Category is a group of seats that are worth the same; a show gives it a price level.
type Category struct {
	Name string `json:"name"`
	// Color is a CSS colour, or empty.
	Color string `json:"color,omitempty"`
}

// Zone is a part of the hall that people know by name: stalls, balcony, block 101.
type Zone struct {
	// ID is the plan's own short name of the zone, or empty.
	ID       string `json:"id,omitempty"`
	Name     string `json:"name"`
	Position Point  `json:"position"`
	Rows     []Row  `json:"rows"`
	Areas    []Area `json:"areas"`
}

// Row is seats beside each other, in the order in which they stand: neighbours in Seats are neighbours in the hall,
// unless an aisle parts them.
type Row struct {
	Label string `json:"label"`
	// Block is 0 when the label is unique in its zone. A plan may use "row A" once per block without naming the
	// blocks; then this counts them from 1, and the seat's label says it, so that no two tickets read alike.
	Block int `json:"block,omitempty"`
	// RowText replaces "row <label>" in labels, for instance "Box 3". Usually empty.
	RowText string `json:"rowText,omitempty"`
	// SeatText replaces "seat <number>" in labels; "%s" in it stands for the number. Usually empty.
	SeatText string `json:"seatText,omitempty"`
	// LabelAt is where the drawing shows the row's label.
	LabelAt  LabelAt `json:"labelAt,omitempty"`
	Position Point   `json:"position"`
	Seats    []Seat  `json:"seats"`
}

// LabelAt is an end of a row, or both.
type LabelAt string

// Where a row's label is drawn.
const (
	LabelAtNone  LabelAt = ""
	LabelAtStart LabelAt = "start"
	LabelAtEnd   LabelAt = "end"
	LabelAtBoth  LabelAt = "both"
)

// Seat is one place that is sold as itself.
type Seat struct {
	ID uuid.UUID `json:"id"`
	// Ref is the plan's own name of the seat, unique over the chart.
	Ref      string  `json:"ref"`
	Number   string  `json:"number"`
	X        float64 `json:"x"`
	Y        float64 `json:"y"`
	Category string  `json:"category"`
	// Radius is how large the seat is drawn; 0 means DefaultSeatRadius.
	Radius float64 `json:"radius,omitempty"`
	// Accessible marks a place for a wheelchair or for a person with a disability.
	Accessible bool `json:"accessible,omitempty"`
	// Companion marks a seat that is sold together with the accessible seat beside it.
	Companion bool `json:"companion,omitempty"`
}

// Area is anything drawn that is not a seat: a stage, a bar, a block of general admission.
type Area struct {
	Shape AreaShape `json:"shape"`
	// Position is the top left corner of a rectangle, the centre of a circle or ellipse, the origin of a polygon's
	// points, the middle of a text.
	Position Point `json:"position"`
	// Rotation is in degrees clockwise around Position.
	Rotation float64 `json:"rotation,omitempty"`
	// Size is set for rectangles.
	Size *Size `json:"size,omitempty"`
	// Radius is set for circles (x and y alike) and ellipses.
	Radius *Point `json:"radius,omitempty"`
	// Points are a polygon's corners relative to Position.
	Points      []Point   `json:"points,omitempty"`
	Color       string    `json:"color,omitempty"`
	BorderColor string    `json:"borderColor,omitempty"`
	Text        *AreaText `json:"text,omitempty"`
	// Pool names the general-admission pool whose people stand here; empty for decoration.
	Pool string `json:"pool,omitempty"`
}

// AreaText is words on an area.
type AreaText struct {
	Text  string `json:"text"`
	Color string `json:"color,omitempty"`
	// Size is the font size in plan units; 0 means 16.
	Size float64 `json:"size,omitempty"`
	// Position is the middle of the text, relative to the area's position.
	Position Point `json:"position"`
}

// AreaShape is how an area is drawn.
type AreaShape string

// The shapes of areas.
const (
	AreaShapeRectangle AreaShape = "rectangle"
	AreaShapeCircle    AreaShape = "circle"
	AreaShapeEllipse   AreaShape = "ellipse"
	AreaShapePolygon   AreaShape = "polygon"
	AreaShapeText      AreaShape = "text"
)

// Place is a seat with the row and zone it stands in. The pointers point into the chart.
type Place struct {
	Zone *Zone
	Row  *Row
	Seat *Seat
}

// Label names the place for people, for instance "Ground floor, row A, seat 1". No two seats of a chart that
// ParsePretix returned have the same zone name, block, row words and number.
func (p Place) Label() string {
	parts := make([]string, 0, 4)
	if p.Zone.Name != "" {
		parts = append(parts, p.Zone.Name)
	}
	if p.Row.Block > 0 {
		parts = append(parts, "block "+strconv.Itoa(p.Row.Block))
	}
	if row := p.Row.words(); row != "" {
		parts = append(parts, row)
	}
	switch {
	case strings.Contains(p.Row.SeatText, "%s"):
		parts = append(parts, strings.ReplaceAll(p.Row.SeatText, "%s", p.Seat.Number))
	case p.Row.SeatText != "":
		parts = append(parts, p.Row.SeatText+" "+p.Seat.Number)
	default:
		parts = append(parts, "seat "+p.Seat.Number)
	}
	return strings.Join(parts, ", ")
}

func (r *Row) words() string {
	switch {
	case r.RowText != "":
		return r.RowText
	case r.Label != "":
		return "row " + r.Label
	default:
		return ""
	}
}

// Seats walks over every seat in the chart's order, with its row and zone.
func (c *Chart) Seats() iter.Seq[Place] {
	return func(yield func(Place) bool) {
		for z := range c.Zones {
			zone := &c.Zones[z]
			for r := range zone.Rows {
				row := &zone.Rows[r]
				for s := range row.Seats {
					if !yield(Place{Zone: zone, Row: row, Seat: &row.Seats[s]}) {
						return
					}
				}
			}
		}
	}
}

// SeatCount is the number of seats over all zones.
func (c *Chart) SeatCount() int {
	count := 0
	for z := range c.Zones {
		for r := range c.Zones[z].Rows {
			count += len(c.Zones[z].Rows[r].Seats)
		}
	}
	return count
}

// Pools lists the names of the chart's general-admission pools, each once, in the order in which they first appear.
func (c *Chart) Pools() []string {
	var names []string
	seen := map[string]bool{}
	for z := range c.Zones {
		for _, area := range c.Zones[z].Areas {
			if area.Pool != "" && !seen[area.Pool] {
				seen[area.Pool] = true
				names = append(names, area.Pool)
			}
		}
	}
	return names
}

// SeatID derives a seat's id from the chart's name and the seat's ref, for plans that bring none. The same plan gives
// the same ids each time it is read.
func SeatID(chartName, ref string) uuid.UUID {
	// The zero byte keeps ("a", "bc") and ("ab", "c") apart; neither text can contain it.
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:holdfast:chart-seat\x00"+chartName+"\x00"+ref))
}

// numberBlocks counts rows that share their zone's name and their own words, so that labels differ.
func (c *Chart) numberBlocks() {
	type key struct{ zone, row string }
	total := map[key]int{}
	each := func(visit func(key, *Row)) {
		for z := range c.Zones {
			zone := &c.Zones[z]
			for r := range zone.Rows {
				visit(key{zone.Name, zone.Rows[r].words()}, &zone.Rows[r])
			}
		}
	}
	each(func(k key, _ *Row) { total[k]++ })
	seen := map[key]int{}
	each(func(k key, row *Row) {
		row.Block = 0
		if total[k] > 1 {
			seen[k]++
			row.Block = seen[k]
		}
	})
}
