package charts

import (
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
)

// ParsePretix reads a seating plan in the format of the ticket shop pretix, which publishes it as a JSON schema
// (seating-plan.schema.json in its source). Documented fields are checked, fields that are not documented are ignored.
//
// A seat is known by its seat_guid. Plans exist in which a label such as "row A" returns in every block of a zone, and
// the guid made from it returns too; such seats are told apart by their uuid, which then is also their Ref. Every other
// guid that is used twice is an error.
//
// The format does not say which seats are accessible, nor where the audience looks. The focal point is the middle of
// the first area whose text mentions a stage, else of the largest area, else the middle of the upper edge.
//
// Errors are ErrPlanTooLarge, a failure to read, or a *ProblemsError that names lines and fields.
func ParsePretix(r io.Reader) (*Chart, error) {
	reader, err := newPlanReader(r)
	if err != nil {
		return nil, err
	}
	p := newPretixReader(reader)
	p.plan()
	p.identifySeats()
	if err := p.err(); err != nil {
		return nil, err
	}
	p.chart.numberBlocks()
	p.chart.fillSize()
	p.chart.FocalPoint = p.chart.guessFocalPoint()
	if err := p.chart.Validate(); err != nil {
		return nil, err
	}
	return &p.chart, nil
}

type pretixReader struct {
	*planReader
	chart      Chart
	categoryAt map[string]int
	seats      []pretixSeat

	categories, zones, rows, seatBudget, areas, points budget
}

// pretixSeat is what is known of a seat beyond the chart: its place in plan and file, and its names, which can be
// judged only when every seat is known.
type pretixSeat struct {
	zone, row, seat                        int
	guid                                   string
	uuid                                   uuid.UUID
	guidAt, uuidAt, categoryAt, positionAt int
}

func newPretixReader(reader *planReader) *pretixReader {
	return &pretixReader{
		planReader: reader,
		chart:      Chart{Categories: []Category{}, Zones: []Zone{}},
		categoryAt: map[string]int{},
		categories: budget{what: "categories", max: MaxCategories},
		zones:      budget{what: "zones", max: MaxZones},
		rows:       budget{what: "rows", max: MaxRows},
		seatBudget: budget{what: "seats", max: MaxSeats},
		areas:      budget{what: "areas", max: MaxAreas},
		points:     budget{what: "polygon points", max: MaxPoints},
	}
}

func (p *pretixReader) plan() {
	if kind := p.kind(); kind != "object" {
		p.report(p.start(), "a seating plan must be an object, is %s", article(kind))
		return
	}
	p.object(
		field{"name", true, func() { p.text(&p.chart.Name, checkText) }},
		field{"size", false, func() { p.rectangle(&p.chart.Size, checkLength) }},
		field{"categories", true, func() { p.list(&p.categories, p.category) }},
		field{"zones", true, func() {
			start := p.start()
			if p.list(&p.zones, p.zone) {
				p.report(start, "must have at least one zone")
			}
		}},
	)
}

func (p *pretixReader) category() {
	var category Category
	nameAt := unusable
	p.object(
		field{"name", true, func() { nameAt = p.text(&category.Name, checkText) }},
		field{"color", false, func() { p.text(&category.Color, checkColor) }},
	)
	if nameAt == unusable {
		return
	}
	if first, taken := p.categoryAt[category.Name]; taken {
		p.reportField(nameAt, "name", "duplicate category name %q, first used at %s", category.Name, p.where(first, nameAt))
		return
	}
	p.categoryAt[category.Name] = nameAt
	p.chart.Categories = append(p.chart.Categories, category)
}

func (p *pretixReader) zone() {
	zone := Zone{Rows: []Row{}, Areas: []Area{}}
	index := len(p.chart.Zones)
	emptyRowsAt := unusable
	p.object(
		field{"name", false, func() { p.text(&zone.Name, checkOptionalText) }},
		field{"zone_id", false, func() { p.text(&zone.ID, checkOptionalText) }},
		field{"position", false, func() { p.point(&zone.Position, checkCoordinate) }},
		field{"rows", true, func() {
			start := p.start()
			if p.list(&p.rows, func() { zone.Rows = append(zone.Rows, p.row(index, len(zone.Rows))) }) {
				emptyRowsAt = start
			}
		}},
		field{"areas", false, func() {
			p.list(&p.areas, func() { zone.Areas = append(zone.Areas, p.area()) })
		}},
	)
	if emptyRowsAt != unusable && len(zone.Areas) == 0 {
		p.reportField(emptyRowsAt, "rows", "must have at least one row, because the zone has no areas")
	}
	if zone.Name == "" {
		zone.Name = zone.ID
	}
	zone.makeAbsolute()
	p.chart.Zones = append(p.chart.Zones, zone)
}

func (p *pretixReader) row(zone, index int) Row {
	row := Row{Seats: []Seat{}}
	numberAt := map[string]int{}
	p.object(
		field{"row_number", true, func() { p.text(&row.Label, checkOptionalText) }},
		field{"row_label", false, func() { p.text(&row.RowText, checkOptionalText) }},
		field{"seat_label", false, func() { p.text(&row.SeatText, checkOptionalText) }},
		field{"row_number_position", false, func() {
			p.text((*string)(&row.LabelAt), func(value string) string { return LabelAt(value).check() })
		}},
		field{"position", false, func() { p.point(&row.Position, checkCoordinate) }},
		field{"seats", true, func() {
			start := p.start()
			if p.list(&p.seatBudget, func() { row.Seats = append(row.Seats, p.seat(zone, index, len(row.Seats), numberAt)) }) {
				p.report(start, "must have at least one seat")
			}
		}},
	)
	return row
}

func (p *pretixReader) seat(zone, row, index int, numberAt map[string]int) Seat {
	var seat Seat
	known := pretixSeat{zone: zone, row: row, seat: index, guidAt: unusable, uuidAt: unusable, categoryAt: unusable}
	number := unusable
	p.object(
		field{"seat_guid", true, func() { known.guidAt = p.text(&known.guid, checkText) }},
		field{"seat_number", true, func() { number = p.text(&seat.Number, checkText) }},
		field{"uuid", false, func() { known.uuidAt = p.uuid(&known.uuid) }},
		field{"position", true, func() {
			known.positionAt = p.start()
			var position Point
			p.point(&position, checkCoordinate)
			seat.X, seat.Y = position.X, position.Y
		}},
		field{"category", true, func() { known.categoryAt = p.text(&seat.Category, checkOptionalText) }},
		field{"radius", false, func() { p.number(&seat.Radius, checkLength) }},
		field{"start_direction", false, func() { p.text(new(string), checkStartDirection) }},
	)
	if number != unusable {
		if first, taken := numberAt[seat.Number]; taken {
			p.reportField(number, "seat_number", "duplicate seat number %q in this row, first used at %s", seat.Number, p.where(first, number))
		} else {
			numberAt[seat.Number] = number
		}
	}
	p.seats = append(p.seats, known)
	return seat
}

// area reads today's form, and the first published one, in which an area is a rectangle with width, height and a text
// without a position.
func (p *pretixReader) area() Area {
	var area Area
	var size Size
	var radius Point
	start, hasRectangle := p.start(), false
	isObject := p.kind() == "object"
	p.object(
		field{"shape", false, func() {
			p.text((*string)(&area.Shape), func(value string) string { return AreaShape(value).check() })
		}},
		field{"position", false, func() { p.point(&area.Position, checkCoordinate) }},
		field{"rotation", false, func() { p.number(&area.Rotation, checkCoordinate) }},
		field{"color", false, func() { p.text(&area.Color, checkColor) }},
		field{"border_color", false, func() { p.text(&area.BorderColor, checkColor) }},
		field{"rectangle", false, func() { hasRectangle = true; p.rectangle(&size, checkExtent) }},
		field{"width", false, func() { hasRectangle = true; p.number(&size.Width, checkExtent) }},
		field{"height", false, func() { hasRectangle = true; p.number(&size.Height, checkExtent) }},
		field{"circle", false, func() {
			area.Radius = &radius
			p.object(field{"radius", true, func() { p.number(&radius.X, checkExtent) }})
			radius.Y = radius.X
		}},
		field{"ellipse", false, func() {
			area.Radius = &radius
			p.object(field{"radius", true, func() { p.point(&radius, checkExtent) }})
		}},
		field{"polygon", false, func() {
			p.object(field{"points", true, func() {
				p.list(&p.points, func() {
					var corner Point
					p.point(&corner, checkCoordinate)
					area.Points = append(area.Points, corner)
				})
			}})
		}},
		field{"text", false, func() { area.Text = p.areaText() }},
	)
	if hasRectangle {
		area.Size = &size
	}
	if area.Shape == "" {
		area.Shape = area.impliedShape()
	}
	if missing := area.missingGeometry(); missing != "" && isObject {
		p.reportField(start, string(area.Shape), "is missing or incomplete for the shape %q", area.Shape)
	}
	return area
}

// impliedShape is the shape of an area that does not name it.
func (a *Area) impliedShape() AreaShape {
	switch {
	case a.Size != nil:
		return AreaShapeRectangle
	case a.Radius != nil:
		return AreaShapeEllipse
	case a.Points != nil:
		return AreaShapePolygon
	default:
		return AreaShapeText
	}
}

// areaText reads a text on an area, or nil when it says nothing.
func (p *pretixReader) areaText() *AreaText {
	var text AreaText
	words := func(value string) string { return strings.Join(strings.Fields(value), " ") }
	check := func(value string) string { return checkOptionalText(words(value)) }
	if p.kind() == "text" {
		p.text(&text.Text, check)
	} else {
		p.object(
			field{"text", true, func() { p.text(&text.Text, check) }},
			field{"color", false, func() { p.text(&text.Color, checkColor) }},
			field{"size", false, func() { p.number(&text.Size, checkExtent) }},
			field{"position", false, func() { p.point(&text.Position, checkCoordinate) }},
		)
	}
	text.Text = words(text.Text)
	if text.Text == "" {
		return nil
	}
	return &text
}

func (p *pretixReader) point(target *Point, check func(float64) string) {
	p.object(
		field{"x", true, func() { p.number(&target.X, check) }},
		field{"y", true, func() { p.number(&target.Y, check) }},
	)
}

func (p *pretixReader) rectangle(target *Size, check func(float64) string) {
	p.object(
		field{"width", true, func() { p.number(&target.Width, check) }},
		field{"height", true, func() { p.number(&target.Height, check) }},
	)
}

// uuid reads a UUID. The schema only asks that it "should" be one, so another text counts as none.
func (p *pretixReader) uuid(target *uuid.UUID) int {
	var value string
	start := p.text(&value, checkOptionalText)
	parsed, err := uuid.Parse(value)
	if err != nil || parsed == uuid.Nil {
		return unusable
	}
	*target = parsed
	return start
}

func checkStartDirection(value string) string {
	switch value {
	case "", "<", ">", "<>":
		return ""
	}
	return fmt.Sprintf("must be <, > or <>, is %q", shorten(value))
}

// identifySeats gives every seat its id and ref, and judges what can be judged only when the whole plan is known.
func (p *pretixReader) identifySeats() {
	byGUID := make(map[string]*pretixSeat, len(p.seats))
	byUUID := make(map[uuid.UUID]*pretixSeat, len(p.seats))
	repeated := map[string]bool{}
	for i := range p.seats {
		if p.truncated {
			return
		}
		known := &p.seats[i]
		p.checkCategory(known)
		p.checkPlace(known)
		if known.uuidAt != unusable {
			if first := byUUID[known.uuid]; first != nil {
				p.reportSeat(known, known.uuidAt, "uuid", "duplicate seat id %q, first used at %s", known.uuid, p.where(first.uuidAt, known.uuidAt))
			} else {
				byUUID[known.uuid] = known
			}
		}
		if known.guidAt == unusable {
			continue
		}
		switch first := byGUID[known.guid]; {
		case first == nil:
			byGUID[known.guid] = known
		case p.sameSeatOfOtherBlock(first, known):
			repeated[known.guid] = true
		default:
			p.reportSeat(known, known.guidAt, "seat_guid", "duplicate seat id %q, first used at %s", known.guid, p.where(first.guidAt, known.guidAt))
		}
	}
	for i := range p.seats {
		known := &p.seats[i]
		seat := p.chartSeat(known)
		seat.ID, seat.Ref = known.uuid, known.guid
		if repeated[known.guid] {
			seat.Ref = known.uuid.String()
		}
		if known.uuidAt == unusable {
			seat.ID = SeatID(p.chart.Name, known.guid)
		}
	}
}

// sameSeatOfOtherBlock recognises the one harmless way in which a guid returns: another row with the same label in the
// same zone has a seat with the same number, and both seats have an id of their own.
func (p *pretixReader) sameSeatOfOtherBlock(a, b *pretixSeat) bool {
	if a.zone != b.zone || a.row == b.row || a.uuidAt == unusable || b.uuidAt == unusable {
		return false
	}
	rows := p.chart.Zones[a.zone].Rows
	return rows[a.row].words() == rows[b.row].words() && p.chartSeat(a).Number == p.chartSeat(b).Number
}

func (p *pretixReader) checkCategory(known *pretixSeat) {
	if known.categoryAt == unusable {
		return
	}
	category := p.chartSeat(known).Category
	if _, exists := p.categoryAt[category]; !exists {
		p.reportSeat(known, known.categoryAt, "category", "unknown category %q; %s", category, p.chart.categoryList())
	}
}

// checkPlace repeats the check of the coordinates for their sum over zone, row and seat.
func (p *pretixReader) checkPlace(known *pretixSeat) {
	seat := p.chartSeat(known)
	for _, value := range []float64{seat.X, seat.Y} {
		if message := checkCoordinate(value); message != "" {
			p.reportSeat(known, known.positionAt, "position", "together with row and zone, %s", message)
			return
		}
	}
}

func (p *pretixReader) chartSeat(known *pretixSeat) *Seat {
	return &p.chart.Zones[known.zone].Rows[known.row].Seats[known.seat]
}

// reportSeat reports a problem of a seat after the walk.
func (p *pretixReader) reportSeat(known *pretixSeat, offset int, name, format string, args ...any) {
	p.at = trail{{field: "zones"}, {index: known.zone}, {field: "rows"}, {index: known.row}, {field: "seats"}, {index: known.seat}}
	p.reportField(offset, name, format, args...)
}

// categoryList tells a person which categories there are.
func (c *Chart) categoryList() string {
	const enough = 10
	if len(c.Categories) == 0 {
		return "the plan has no categories"
	}
	names := make([]string, 0, enough)
	for _, category := range c.Categories[:min(enough, len(c.Categories))] {
		names = append(names, fmt.Sprintf("%q", category.Name))
	}
	list := "the plan has " + strings.Join(names, ", ")
	if more := len(c.Categories) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
