package charts

import (
	"math"
	"strings"
)

// makeAbsolute adds the zone's position to its rows and areas, and theirs to their seats.
func (z *Zone) makeAbsolute() {
	for r := range z.Rows {
		row := &z.Rows[r]
		row.Position = row.Position.plus(z.Position).rounded()
		for s := range row.Seats {
			seat := &row.Seats[s]
			place := row.Position.plus(Point{seat.X, seat.Y}).rounded()
			seat.X, seat.Y = place.X, place.Y
		}
	}
	for a := range z.Areas {
		z.Areas[a].Position = z.Areas[a].Position.plus(z.Position).rounded()
	}
}

func (p Point) plus(q Point) Point { return Point{p.X + q.X, p.Y + q.Y} }

// rounded keeps a thousandth of a plan unit: summing positions leaves noise such as 478.85213751448657 that helps
// nobody and doubles the size of the stored chart.
func (p Point) rounded() Point {
	return Point{math.Round(p.X*1000) / 1000, math.Round(p.Y*1000) / 1000}
}

// turned rotates clockwise around the origin.
func (p Point) turned(degrees float64) Point {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	return Point{p.X*cos - p.Y*sin, p.X*sin + p.Y*cos}
}

// middle is the centre of the area's extent.
func (a *Area) middle() Point {
	var offset Point
	switch {
	case a.Size != nil:
		offset = Point{a.Size.Width / 2, a.Size.Height / 2}
	case len(a.Points) > 0:
		for _, corner := range a.Points {
			offset = offset.plus(corner)
		}
		offset = Point{offset.X / float64(len(a.Points)), offset.Y / float64(len(a.Points))}
	}
	return a.Position.plus(offset.turned(a.Rotation)).rounded()
}

// surface is the size of the area in square plan units.
func (a *Area) surface() float64 {
	switch {
	case a.Size != nil:
		return a.Size.Width * a.Size.Height
	case a.Radius != nil:
		return math.Pi * a.Radius.X * a.Radius.Y
	}
	twice := 0.0
	for i, corner := range a.Points {
		next := a.Points[(i+1)%len(a.Points)]
		twice += corner.X*next.Y - next.X*corner.Y
	}
	return math.Abs(twice) / 2
}

// guessFocalPoint finds what the audience most likely looks at.
func (c *Chart) guessFocalPoint() Point {
	var largest *Area
	for z := range c.Zones {
		for a := range c.Zones[z].Areas {
			area := &c.Zones[z].Areas[a]
			if area.Text != nil && strings.Contains(strings.ToLower(area.Text.Text), "stage") {
				return area.middle()
			}
			if area.surface() > 0 && (largest == nil || area.surface() > largest.surface()) {
				largest = area
			}
		}
	}
	if largest != nil {
		return largest.middle()
	}
	return Point{X: c.Size.Width / 2, Y: 0}
}

// fillSize measures a chart whose plan does not give its size.
func (c *Chart) fillSize() {
	if c.Size.Width > 0 && c.Size.Height > 0 {
		return
	}
	const margin = 2 * DefaultSeatRadius
	size := Size{Width: margin, Height: margin}
	include := func(x, y float64) {
		size.Width = min(max(size.Width, x+margin), MaxCoordinate)
		size.Height = min(max(size.Height, y+margin), MaxCoordinate)
	}
	for place := range c.Seats() {
		include(place.Seat.X, place.Seat.Y)
	}
	for z := range c.Zones {
		for a := range c.Zones[z].Areas {
			area := &c.Zones[z].Areas[a]
			middle := area.middle()
			include(2*middle.X-area.Position.X, 2*middle.Y-area.Position.Y)
		}
	}
	c.Size = size
}
