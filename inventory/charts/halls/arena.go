package halls

import (
	"fmt"
	"math"
	"strconv"

	"github.com/holdfast/holdfast/inventory/charts"
)

// Categories of the arena's seats.
const (
	ArenaLowerTier      = "Lower tier"
	ArenaLowerCorner    = "Lower corner"
	ArenaUpperTier      = "Upper tier"
	ArenaRestrictedView = "Restricted view"
)

// Names of the arena's general-admission pools, which are areas of its chart.
const (
	ArenaPoolFrontOfStage  = "Front of stage"
	ArenaPoolStandingFloor = "Standing floor"
)

// The arena's floor: the stands begin around it, the stage closes its upper end.
const (
	floorLeft, floorRight = 670.0, floorLeft + endBlocks*blockLength + 2*cornerRadius
	floorTop, floorBottom = 200.0, 1330.0
	cornerRadius          = 60.0
	sideBlocks, endBlocks = 3, 2
	blockSeats            = 14
	blockLength           = blockSeats*seatPitch + aisle
)

// Arena is a concert arena: two standing pools on the floor, and stands in two tiers around three sides of it, in
// blocks of 14 seats a row with curved corners: 3,190 seats, 8 of them for wheelchairs beside their companions.
func Arena() *charts.Chart {
	chart := &charts.Chart{
		Name:       "Sample arena",
		Size:       charts.Size{Width: 2220, Height: 2000},
		FocalPoint: charts.Point{X: (floorLeft + floorRight) / 2, Y: 145},
		Categories: []charts.Category{
			{Name: ArenaLowerTier, Color: "#1565C0"},
			{Name: ArenaLowerCorner, Color: "#00838F"},
			{Name: ArenaUpperTier, Color: "#6A1B9A"},
			{Name: ArenaRestrictedView, Color: "#78909C"},
		},
		Zones: []charts.Zone{arenaFloor()},
	}
	lower := stand{number: 101, rows: 12, away: 56, cornerBlocks: 1, category: ArenaLowerTier, corner: ArenaLowerCorner}
	upper := stand{number: 201, rows: 8, away: 56 + 12*rowPitch + 50, cornerBlocks: 2, category: ArenaUpperTier, corner: ArenaUpperTier}
	chart.Zones = append(chart.Zones, lower.zones()...)
	chart.Zones = append(chart.Zones, upper.zones()...)
	for z := range chart.Zones {
		zone := &chart.Zones[z]
		// The lower tier's end blocks have a platform behind their last row.
		if zone.ID != "105" && zone.ID != "106" {
			continue
		}
		last := &zone.Rows[len(zone.Rows)-1]
		for s := 0; s+1 < len(last.Seats); s += 4 {
			makeAccessible(last, s, s+1)
		}
	}
	nameSeats(chart)
	return chart
}

func arenaFloor() charts.Zone {
	width := floorRight - floorLeft
	standing := func(pool, color string, top, bottom float64) charts.Area {
		size := charts.Size{Width: width, Height: bottom - top}
		return charts.Area{
			Shape: charts.AreaShapeRectangle, Position: charts.Point{X: floorLeft, Y: top}, Size: &size,
			Color: color, BorderColor: "#A1887F", Pool: pool,
			Text: &charts.AreaText{Text: pool, Size: 34, Position: charts.Point{X: width / 2, Y: size.Height / 2}},
		}
	}
	return charts.Zone{
		ID: "floor", Name: "Floor", Position: charts.Point{X: floorLeft, Y: floorTop}, Rows: []charts.Row{},
		Areas: []charts.Area{
			{
				Shape: charts.AreaShapeRectangle, Position: charts.Point{X: floorLeft, Y: 90}, Size: &charts.Size{Width: width, Height: 110},
				Color: "#CFD8DC", BorderColor: "#607D8B",
				Text: &charts.AreaText{Text: "Stage", Size: 34, Position: charts.Point{X: width / 2, Y: 55}},
			},
			standing(ArenaPoolFrontOfStage, "#FFE0B2", 220, 520),
			standing(ArenaPoolStandingFloor, "#FFF3E0", 540, floorBottom),
		},
	}
}

// stand is one tier around the floor.
type stand struct {
	number int
	rows   int
	// away is the distance of the first row from the edge of the floor.
	away         float64
	cornerBlocks int
	category     string
	corner       string
}

// zones goes around the floor: down the left side, along the lower end, up the right side.
func (s *stand) zones() []charts.Zone {
	left, right, bottom := floorLeft+cornerRadius, floorRight-cornerRadius, floorBottom-cornerRadius
	middleX := (floorLeft + floorRight) / 2
	var zones []charts.Zone
	for i := range sideBlocks {
		middle := charts.Point{X: left, Y: bottom - (float64(sideBlocks-1-i)+0.5)*blockLength}
		zones = append(zones, s.straightBlock(middle, charts.Point{Y: 1}, charts.Point{X: -1}))
	}
	zones = append(zones, s.cornerZones(charts.Point{X: left, Y: bottom}, math.Pi)...)
	for i := range endBlocks {
		middle := charts.Point{X: middleX + (float64(i)-0.5)*blockLength, Y: bottom}
		zones = append(zones, s.straightBlock(middle, charts.Point{X: 1}, charts.Point{Y: 1}))
	}
	zones = append(zones, s.cornerZones(charts.Point{X: right, Y: bottom}, math.Pi/2)...)
	for i := range sideBlocks {
		middle := charts.Point{X: right, Y: bottom - (float64(i)+0.5)*blockLength}
		zones = append(zones, s.straightBlock(middle, charts.Point{Y: -1}, charts.Point{X: 1}))
	}
	for i := range zones {
		s.finish(&zones[i], s.number+i, i == 0 || i == len(zones)-1)
	}
	return zones
}

// straightBlock puts rows one behind the other, away from the floor.
func (s *stand) straightBlock(middle, along, outward charts.Point) charts.Zone {
	at := straight(middle, outward)
	zone := charts.Zone{Position: rounded(at(s.distance(-1)))}
	for i := range s.rows {
		row := newRow(strconv.Itoa(i+1), straight(at(s.distance(i)), along), blockSeats)
		zone.Rows = append(zone.Rows, withCategory(row, s.category))
	}
	return zone
}

// cornerZones fills a quarter circle, which starts at an angle and goes against the clock, with as many seats as fit.
func (s *stand) cornerZones(centre charts.Point, start float64) []charts.Zone {
	sweep := math.Pi / 2 / float64(s.cornerBlocks)
	zones := make([]charts.Zone, s.cornerBlocks)
	for b := range zones {
		middle := start - (float64(b)+0.5)*sweep
		zones[b].Position = rounded(arc(centre, s.distance(-1), middle)(0))
		for i := range s.rows {
			radius := s.distance(i)
			seats := int((radius*sweep - aisle/2) / seatPitch)
			row := newRow(strconv.Itoa(i+1), arc(centre, radius, middle), seats)
			zones[b].Rows = append(zones[b].Rows, withCategory(row, s.corner))
		}
	}
	return zones
}

// distance of a row from the line on which the corners' centres lie; row -1 is where the block's number is written.
func (s *stand) distance(row int) float64 {
	return cornerRadius + s.away + float64(row*rowPitch)
}

// finish names a block and marks the ones beside the stage, whose view is restricted.
func (s *stand) finish(zone *charts.Zone, number int, besideStage bool) {
	zone.ID = strconv.Itoa(number)
	zone.Name = fmt.Sprintf("Block %d", number)
	zone.Areas = []charts.Area{caption(zone.ID, zone.Position, 18)}
	for r := range zone.Rows {
		// Neighbouring blocks stand too close for row labels between them.
		zone.Rows[r].LabelAt = charts.LabelAtNone
		if besideStage {
			zone.Rows[r] = withCategory(zone.Rows[r], ArenaRestrictedView)
		}
	}
}

func withCategory(row charts.Row, category string) charts.Row {
	for s := range row.Seats {
		row.Seats[s].Category = category
	}
	return row
}
