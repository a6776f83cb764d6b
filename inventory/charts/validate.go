package charts

import (
	"fmt"

	"github.com/google/uuid"
)

// Validate checks every invariant of the package comment and every limit. The error is a *ProblemsError without lines.
func (c *Chart) Validate() error {
	v := &validator{
		categories: make(map[string]bool, len(c.Categories)),
		ids:        map[uuid.UUID]bool{},
		refs:       map[string]bool{},
	}
	v.chart(c)
	if len(v.found.Problems) > 0 {
		return &v.found
	}
	return nil
}

type validator struct {
	at                         trail
	found                      ProblemsError
	categories                 map[string]bool
	ids                        map[uuid.UUID]bool
	refs                       map[string]bool
	rows, seats, areas, points int
}

// check records what is wrong with a field of the thing at hand; an empty message is nothing.
func (v *validator) check(field, message string) {
	if message == "" {
		return
	}
	if len(v.found.Problems) == MaxProblems {
		v.found.Truncated = true
		return
	}
	v.at.field(field)
	v.found.Problems = append(v.found.Problems, Problem{Path: v.at.String(), Message: message})
	v.at.leave()
}

// element checks one element of a list.
func (v *validator) element(list string, index int, check func()) {
	v.at.field(list)
	v.at.element(index)
	check()
	v.at.leave()
	v.at.leave()
}

// part checks a struct inside the thing at hand.
func (v *validator) part(field string, check func()) {
	v.at.field(field)
	check()
	v.at.leave()
}

func (v *validator) point(field string, p Point) {
	v.part(field, func() { v.corner(p) })
}

func (v *validator) corner(p Point) {
	v.check("x", checkCoordinate(p.X))
	v.check("y", checkCoordinate(p.Y))
}

func (v *validator) count(field, what string, has, most int) {
	if has > most {
		v.check(field, fmt.Sprintf("must not have more than %d %s, has %d", most, what, has))
	}
}

func (v *validator) chart(c *Chart) {
	v.check("name", checkText(c.Name))
	v.part("size", func() {
		v.check("width", checkLength(c.Size.Width))
		v.check("height", checkLength(c.Size.Height))
	})
	v.point("focalPoint", c.FocalPoint)
	v.count("categories", "categories", len(c.Categories), MaxCategories)
	for i := range c.Categories {
		v.element("categories", i, func() { v.category(&c.Categories[i]) })
	}
	v.count("zones", "zones", len(c.Zones), MaxZones)
	for i := range c.Zones {
		v.element("zones", i, func() { v.zone(&c.Zones[i]) })
	}
	v.count("zones", "rows", v.rows, MaxRows)
	v.count("zones", "seats", v.seats, MaxSeats)
	v.count("zones", "areas", v.areas, MaxAreas)
	v.count("zones", "polygon points", v.points, MaxPoints)
	if v.seats+v.areas == 0 {
		v.check("zones", "must have at least one seat or area")
	}
}

func (v *validator) category(category *Category) {
	v.check("name", checkText(category.Name))
	v.check("color", checkColor(category.Color))
	if v.categories[category.Name] {
		v.check("name", fmt.Sprintf("duplicate category name %q", shorten(category.Name)))
	}
	v.categories[category.Name] = true
}

func (v *validator) zone(zone *Zone) {
	v.check("id", checkOptionalText(zone.ID))
	v.check("name", checkOptionalText(zone.Name))
	v.point("position", zone.Position)
	v.rows += len(zone.Rows)
	for i := range zone.Rows {
		v.element("rows", i, func() { v.row(&zone.Rows[i]) })
	}
	v.areas += len(zone.Areas)
	for i := range zone.Areas {
		v.element("areas", i, func() { v.area(&zone.Areas[i]) })
	}
}

func (v *validator) row(row *Row) {
	v.check("label", checkOptionalText(row.Label))
	v.check("rowText", checkOptionalText(row.RowText))
	v.check("seatText", checkOptionalText(row.SeatText))
	v.check("labelAt", row.LabelAt.check())
	v.point("position", row.Position)
	if row.Block < 0 {
		v.check("block", fmt.Sprintf("must not be negative, is %d", row.Block))
	}
	v.seats += len(row.Seats)
	numbers := make(map[string]bool, len(row.Seats))
	for i := range row.Seats {
		v.element("seats", i, func() { v.seat(&row.Seats[i], numbers) })
	}
}

func (v *validator) seat(seat *Seat, numbers map[string]bool) {
	v.check("ref", checkText(seat.Ref))
	v.check("number", checkText(seat.Number))
	v.check("x", checkCoordinate(seat.X))
	v.check("y", checkCoordinate(seat.Y))
	if seat.Radius != 0 {
		v.check("radius", checkLength(seat.Radius))
	}
	if seat.ID == uuid.Nil {
		v.check("id", "must not be empty")
	} else if v.ids[seat.ID] {
		v.check("id", fmt.Sprintf("duplicate seat id %q", seat.ID))
	}
	if v.refs[seat.Ref] {
		v.check("ref", fmt.Sprintf("duplicate seat ref %q", shorten(seat.Ref)))
	}
	if numbers[seat.Number] {
		v.check("number", fmt.Sprintf("duplicate seat number %q in its row", shorten(seat.Number)))
	}
	if !v.categories[seat.Category] {
		v.check("category", fmt.Sprintf("unknown category %q", shorten(seat.Category)))
	}
	v.ids[seat.ID], v.refs[seat.Ref], numbers[seat.Number] = true, true, true
}

func (v *validator) area(area *Area) {
	v.check("shape", area.Shape.check())
	if field := area.missingGeometry(); field != "" {
		v.check(field, fmt.Sprintf("is missing for the shape %q", area.Shape))
	}
	v.point("position", area.Position)
	v.check("rotation", checkCoordinate(area.Rotation))
	v.check("color", checkColor(area.Color))
	v.check("borderColor", checkColor(area.BorderColor))
	v.check("pool", checkOptionalText(area.Pool))
	if size := area.Size; size != nil {
		v.part("size", func() {
			v.check("width", checkExtent(size.Width))
			v.check("height", checkExtent(size.Height))
		})
	}
	if radius := area.Radius; radius != nil {
		v.part("radius", func() {
			v.check("x", checkExtent(radius.X))
			v.check("y", checkExtent(radius.Y))
		})
	}
	v.points += len(area.Points)
	for i := range area.Points {
		v.element("points", i, func() { v.corner(area.Points[i]) })
	}
	if text := area.Text; text != nil {
		v.part("text", func() { v.areaText(text) })
	}
}

func (v *validator) areaText(text *AreaText) {
	v.check("text", checkText(text.Text))
	v.check("color", checkColor(text.Color))
	v.point("position", text.Position)
	if text.Size != 0 {
		v.check("size", checkLength(text.Size))
	}
}

// check says what is wrong with the value, or "".
func (l LabelAt) check() string {
	switch l {
	case LabelAtNone, LabelAtStart, LabelAtEnd, LabelAtBoth:
		return ""
	}
	return fmt.Sprintf("must be start, end or both, is %q", shorten(string(l)))
}

// check says what is wrong with the value, or "".
func (s AreaShape) check() string {
	switch s {
	case AreaShapeRectangle, AreaShapeCircle, AreaShapeEllipse, AreaShapePolygon, AreaShapeText:
		return ""
	}
	return fmt.Sprintf("must be rectangle, circle, ellipse, polygon or text, is %q", shorten(string(s)))
}

// missingGeometry names the field without which the area's shape cannot be drawn, or "".
func (a *Area) missingGeometry() string {
	switch {
	case a.Shape == AreaShapeRectangle && a.Size == nil:
		return "size"
	case (a.Shape == AreaShapeCircle || a.Shape == AreaShapeEllipse) && a.Radius == nil:
		return "radius"
	case a.Shape == AreaShapePolygon && len(a.Points) < 3:
		return "points"
	default:
		return ""
	}
}
