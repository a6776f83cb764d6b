package charts

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

const (
	defaultTextSize  = 16
	defaultSeatColor = "#9E9E9E"
	defaultAreaColor = "#E0E0E0"
	// inkColor is for words and for the rings of accessible seats.
	inkColor = "#333333"
)

// SVG draws the chart as a picture of its own: areas, then seats in their category's colour, then row labels.
// Accessible seats are squares, companion seats have a ring. Texts are escaped; call it on charts that passed Validate.
//
// To look at the sample halls:
//
//	go test ./inventory/charts -run TestSVG -svg /tmp/halls
func (c *Chart) SVG(w io.Writer) error {
	d := &drawing{w: bufio.NewWriter(w), colors: make(map[string]string, len(c.Categories))}
	for _, category := range c.Categories {
		d.colors[category.Name] = orElse(category.Color, defaultSeatColor)
	}
	d.line(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" text-anchor="middle" dominant-baseline="central">`, c.Size.Width, c.Size.Height)
	d.line(`<title>%s</title>`, escape(c.Name))
	d.line(`<rect width="100%%" height="100%%" fill="#FFFFFF"/>`)
	for z := range c.Zones {
		for a := range c.Zones[z].Areas {
			d.area(&c.Zones[z].Areas[a])
		}
	}
	for z := range c.Zones {
		for r := range c.Zones[z].Rows {
			d.row(&c.Zones[z].Rows[r])
		}
	}
	d.line(`</svg>`)
	if err := d.w.Flush(); err != nil {
		return fmt.Errorf("drawing chart %q: %w", c.Name, err)
	}
	return nil
}

type drawing struct {
	w      *bufio.Writer
	colors map[string]string
}

// line ignores write errors: bufio keeps the first one and returns it from Flush.
func (d *drawing) line(format string, args ...any) {
	_, _ = fmt.Fprintf(d.w, format+"\n", args...)
}

func (d *drawing) area(a *Area) {
	d.line(`<g transform="translate(%g %g) rotate(%g)">`, a.Position.X, a.Position.Y, a.Rotation)
	paint := fmt.Sprintf(`fill="%s" stroke="%s"`, escape(orElse(a.Color, defaultAreaColor)), escape(orElse(a.BorderColor, "none")))
	switch a.Shape {
	case AreaShapeRectangle:
		d.line(`<rect width="%g" height="%g" rx="4" %s/>`, a.Size.Width, a.Size.Height, paint)
	case AreaShapeCircle, AreaShapeEllipse:
		d.line(`<ellipse rx="%g" ry="%g" %s/>`, a.Radius.X, a.Radius.Y, paint)
	case AreaShapePolygon:
		var corners []string
		for _, corner := range a.Points {
			corners = append(corners, fmt.Sprintf("%g,%g", corner.X, corner.Y))
		}
		d.line(`<polygon points="%s" %s/>`, strings.Join(corners, " "), paint)
	case AreaShapeText:
	}
	if t := a.Text; t != nil {
		size := t.Size
		if size == 0 {
			size = defaultTextSize
		}
		d.line(`<text x="%g" y="%g" font-size="%g" fill="%s">%s</text>`, t.Position.X, t.Position.Y, size, escape(orElse(t.Color, inkColor)), escape(t.Text))
	}
	d.line(`</g>`)
}

func (d *drawing) row(row *Row) {
	for s := range row.Seats {
		d.seat(&row.Seats[s])
	}
	if len(row.Seats) == 0 || row.Label == "" {
		return
	}
	first, last := row.Seats[0], row.Seats[len(row.Seats)-1]
	step := Point{2.5 * DefaultSeatRadius, 0}
	if row.LabelAt == LabelAtStart || row.LabelAt == LabelAtBoth {
		if len(row.Seats) > 1 {
			step = Point{row.Seats[1].X - first.X, row.Seats[1].Y - first.Y}
		}
		d.rowLabel(row.Label, first.X-step.X, first.Y-step.Y)
	}
	if row.LabelAt == LabelAtEnd || row.LabelAt == LabelAtBoth {
		if len(row.Seats) > 1 {
			before := row.Seats[len(row.Seats)-2]
			step = Point{last.X - before.X, last.Y - before.Y}
		}
		d.rowLabel(row.Label, last.X+step.X, last.Y+step.Y)
	}
}

func (d *drawing) rowLabel(label string, x, y float64) {
	d.line(`<text x="%g" y="%g" font-size="12" fill="%s">%s</text>`, x, y, inkColor, escape(label))
}

func (d *drawing) seat(seat *Seat) {
	color := escape(d.colors[seat.Category])
	radius := seat.Radius
	if radius == 0 {
		radius = DefaultSeatRadius
	}
	switch {
	case seat.Accessible:
		d.line(`<rect x="%g" y="%g" width="%g" height="%g" rx="3" fill="%s" stroke="%s" stroke-width="2"/>`, seat.X-radius, seat.Y-radius, 2*radius, 2*radius, color, inkColor)
	case seat.Companion:
		d.line(`<circle cx="%g" cy="%g" r="%g" fill="%s" stroke="%s" stroke-width="2"/>`, seat.X, seat.Y, radius-1, color, inkColor)
	default:
		d.line(`<circle cx="%g" cy="%g" r="%g" fill="%s"/>`, seat.X, seat.Y, radius, color)
	}
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

func escape(text string) string {
	var escaped strings.Builder
	// A strings.Builder never fails to write.
	_ = xml.EscapeText(&escaped, []byte(text))
	return escaped.String()
}
