package halls

import (
	"math"
	"strconv"

	"github.com/holdfast/holdfast/inventory/charts"
)

// Distances in plan units; a seat is drawn 20 wide.
const (
	seatPitch = 25
	rowPitch  = 28
	aisle     = 30
)

// rowLetters leaves out I and O, which people read as 1 and 0.
const rowLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ"

// place is where a seat stands: along the row from its middle, turned to the shape of the stand.
type place func(along float64) charts.Point

// arc bends a row around a centre. Along grows against the clock, so that seat 1 is on the left of somebody who sits
// below the centre and looks up at it on the drawing.
func arc(centre charts.Point, radius, middle float64) place {
	return func(along float64) charts.Point {
		sin, cos := math.Sincos(middle - along/radius)
		return charts.Point{X: centre.X + radius*cos, Y: centre.Y + radius*sin}
	}
}

// straight runs a row through its middle in a direction of length 1.
func straight(middle, direction charts.Point) place {
	return func(along float64) charts.Point {
		return charts.Point{X: middle.X + along*direction.X, Y: middle.Y + along*direction.Y}
	}
}

// newRow seats people in blocks parted by aisles, numbered from 1 over the whole row.
func newRow(label string, at place, blocks ...int) charts.Row {
	row := charts.Row{Label: label, LabelAt: charts.LabelAtBoth, Position: rounded(at(0))}
	length := float64(aisle * (len(blocks) - 1))
	for _, seats := range blocks {
		length += float64(seats * seatPitch)
	}
	along := (seatPitch - length) / 2
	for _, seats := range blocks {
		for range seats {
			point := rounded(at(along))
			number := strconv.Itoa(len(row.Seats) + 1)
			row.Seats = append(row.Seats, charts.Seat{Number: number, X: point.X, Y: point.Y})
			along += seatPitch
		}
		along += aisle
	}
	return row
}

func rounded(p charts.Point) charts.Point {
	return charts.Point{X: math.Round(p.X*100) / 100, Y: math.Round(p.Y*100) / 100}
}

// makeAccessible turns the seat at the index into a wheelchair place and its neighbour into the companion's.
func makeAccessible(row *charts.Row, index, companion int) {
	row.Seats[index].Accessible = true
	row.Seats[companion].Companion = true
}

// nameSeats gives each seat the ref zone-row-number and the id that follows from it.
func nameSeats(c *charts.Chart) {
	for p := range c.Seats() {
		p.Seat.Ref = p.Zone.ID + "-" + p.Row.Label + "-" + p.Seat.Number
		p.Seat.ID = charts.SeatID(c.Name, p.Seat.Ref)
	}
}

// caption is a text on the drawing.
func caption(text string, at charts.Point, size float64) charts.Area {
	return charts.Area{Shape: charts.AreaShapeText, Position: at, Text: &charts.AreaText{Text: text, Size: size}}
}
