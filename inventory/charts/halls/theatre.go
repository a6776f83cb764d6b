package halls

import (
	"math"

	"github.com/holdfast/holdfast/inventory/charts"
)

// Categories of the theatre.
const (
	TheatrePremium        = "Premium"
	TheatreStalls         = "Stalls"
	TheatreDressCircle    = "Dress circle"
	TheatreBalcony        = "Balcony"
	TheatreRestrictedView = "Restricted view"
)

// Theatre is a hall of exactly 1,350 seats: stalls (700), dress circle (380) and balcony (270) in curved rows with two
// aisles, 5 categories, and 6 wheelchair places, each beside its companion's seat.
func Theatre() *charts.Chart {
	chart := &charts.Chart{
		Name:       "Sample theatre",
		Size:       charts.Size{Width: 1400, Height: 1480},
		FocalPoint: charts.Point{X: 700, Y: 95},
		Categories: []charts.Category{
			{Name: TheatrePremium, Color: "#C62828"},
			{Name: TheatreStalls, Color: "#EF6C00"},
			{Name: TheatreDressCircle, Color: "#1565C0"},
			{Name: TheatreBalcony, Color: "#2E7D32"},
			{Name: TheatreRestrictedView, Color: "#78909C"},
		},
		Zones: []charts.Zone{stalls(), dressCircle(), balcony()},
	}
	nameSeats(chart)
	return chart
}

// tierRow is how many seats a row has between the aisles, and on each side of them.
type tierRow struct{ centre, side int }

func tier(id, name string, radius float64, rows []tierRow) charts.Zone {
	centre := charts.Point{X: 700, Y: -280}
	zone := charts.Zone{ID: id, Name: name, Rows: make([]charts.Row, 0, len(rows))}
	for i, r := range rows {
		at := arc(centre, radius+float64(i*rowPitch), math.Pi/2)
		zone.Rows = append(zone.Rows, newRow(rowLetters[i:i+1], at, r.side, r.centre, r.side))
	}
	zone.Position = zone.Rows[0].Position
	zone.Areas = []charts.Area{caption(name, charts.Point{X: 700, Y: zone.Position.Y - 48}, 26)}
	return zone
}

// categorise gives each seat of a tier the category that the rule says. inCentre means between the aisles, and fromEnd
// counts from the nearer end of the row.
func categorise(zone *charts.Zone, rows []tierRow, rule func(row, fromEnd int, inCentre bool) string) {
	for r := range zone.Rows {
		seats := zone.Rows[r].Seats
		for s := range seats {
			fromEnd := min(s, len(seats)-1-s)
			seats[s].Category = rule(r, fromEnd, fromEnd >= rows[r].side)
		}
	}
}

func stalls() charts.Zone {
	rows := []tierRow{
		{10, 6},
		{10, 6},
		{11, 7},
		{11, 7},
		{12, 8},
		{12, 8},
		{13, 9},
		{13, 9},
		{14, 10},
		{14, 10},
		{15, 10},
		{15, 11},
		{16, 11},
		{16, 12},
		{17, 12},
		{17, 13},
		{18, 13},
		{18, 14},
		{19, 14},
		{19, 15},
	}
	zone := tier("stalls", "Stalls", 520, rows)
	categorise(&zone, rows, func(row, fromEnd int, inCentre bool) string {
		switch {
		case inCentre && row >= 2 && row <= 11:
			return TheatrePremium
		case row <= 1 && fromEnd < 3:
			return TheatreRestrictedView
		default:
			return TheatreStalls
		}
	})
	stage := charts.Area{
		Shape:    charts.AreaShapePolygon,
		Position: charts.Point{X: 700, Y: 40},
		Points:   []charts.Point{{X: -200}, {X: 200}, {X: 250, Y: 85}, {X: 130, Y: 106}, {Y: 113}, {X: -130, Y: 106}, {X: -250, Y: 85}},
		Color:    "#ECEFF1", BorderColor: "#607D8B",
		Text: &charts.AreaText{Text: "Stage", Size: 30, Position: charts.Point{Y: 55}},
	}
	zone.Areas = append(zone.Areas, stage)
	// The last row is reached without steps: wheelchairs stand at its ends and on both sides of the aisles.
	last := &zone.Rows[len(zone.Rows)-1]
	side, end := rows[len(rows)-1].side, len(last.Seats)-1
	makeAccessible(last, 0, 1)
	makeAccessible(last, side, side+1)
	makeAccessible(last, end-side, end-side-1)
	makeAccessible(last, end, end-1)
	return zone
}

func dressCircle() charts.Zone {
	rows := []tierRow{{16, 9}, {16, 9}, {17, 9}, {17, 10}, {18, 10}, {18, 10}, {19, 10}, {19, 11}, {20, 11}, {20, 11}}
	zone := tier("circle", "Dress circle", 1160, rows)
	categorise(&zone, rows, func(row, fromEnd int, inCentre bool) string {
		switch {
		case inCentre && row <= 2:
			return TheatrePremium
		// Nobody is asked to watch from a wheelchair place with a restricted view; those are in the last row.
		case fromEnd < 2 && row < len(rows)-1:
			return TheatreRestrictedView
		default:
			return TheatreDressCircle
		}
	})
	last := &zone.Rows[len(zone.Rows)-1]
	end := len(last.Seats) - 1
	makeAccessible(last, 0, 1)
	makeAccessible(last, end, end-1)
	return zone
}

func balcony() charts.Zone {
	rows := []tierRow{{17, 9}, {17, 10}, {18, 10}, {18, 10}, {19, 10}, {19, 11}, {20, 11}}
	zone := tier("balcony", "Balcony", 1530, rows)
	categorise(&zone, rows, func(_, fromEnd int, _ bool) string {
		if fromEnd < 3 {
			return TheatreRestrictedView
		}
		return TheatreBalcony
	})
	return zone
}
