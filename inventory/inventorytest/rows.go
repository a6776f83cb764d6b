package inventorytest

import (
	"strconv"
	"strings"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/charts"
)

// HallOf puts a show on sale whose rows are drawn, the first in front of the stage: '.' is a seat, 'w' a
// place for a wheelchair, 'c' a companion's seat and ' ' an aisle. Seats are numbered from 1 over all
// rows; every row is a section "Row 1", "Row 2" and so on.
func (x *Tenant) HallOf(rows ...string) *Hall {
	x.t.Helper()
	chart := &charts.Chart{
		Name: chartName, Size: charts.Size{Width: 10_000, Height: 10_000}, FocalPoint: charts.Point{X: float64(len(rows[0])-1) * 12.5},
		Categories: []charts.Category{{Name: "Seat"}},
	}
	number := 0
	for r, row := range rows {
		zone := charts.Zone{ID: "r" + strconv.Itoa(r+1), Name: "Row " + strconv.Itoa(r+1), Rows: []charts.Row{{Label: strconv.Itoa(r + 1)}}}
		for i, sort := range row {
			if sort == ' ' {
				continue
			}
			number++
			ref := strconv.Itoa(number)
			zone.Rows[0].Seats = append(zone.Rows[0].Seats, charts.Seat{
				ID: charts.SeatID(chartName, ref), Ref: ref, Number: ref, X: float64(i) * 25, Y: float64(r+1) * 100, Category: "Seat",
				Accessible: sort == 'w', Companion: sort == 'c',
			})
		}
		chart.Zones = append(chart.Zones, zone)
	}
	return x.hallOf("EUR", chart)
}

// Best is the wish for so many of the best seats.
func (h *Hall) Best(quantity int64) inventory.LineRequest {
	return inventory.LineRequest{Best: &inventory.BestRequest{Show: h.Show, Quantity: quantity}}
}

// Split is Best in several rows if need be.
func (h *Hall) Split(quantity int64) inventory.LineRequest {
	wish := h.Best(quantity)
	wish.Best.AllowSplit = true
	return wish
}

// Wheelchairs is Best with so many places for wheelchairs.
func (h *Hall) Wheelchairs(accessible, quantity int64) inventory.LineRequest {
	wish := h.Best(quantity)
	wish.Best.Accessible = accessible
	return wish
}

// NumbersOf are the seats of a hold.
func (h *Hall) NumbersOf(hold inventory.Hold) []int {
	h.tenant.t.Helper()
	var numbers []int
	for _, line := range hold.Lines {
		if line.Kind != inventory.LineKindSeat {
			continue
		}
		number, err := strconv.Atoi(h.tenant.nameOf(line.Seat.UUID))
		if err != nil {
			h.tenant.t.Fatal(err)
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// Picture draws rows as HallOf takes them with 'x' for each seat that a buyer cannot have.
func (b Buyer) Picture(h *Hall, rows ...string) []string {
	b.tenant.t.Helper()
	statuses := b.SeatStatuses(h)
	drawn := make([]string, len(rows))
	number := 0
	for r, row := range rows {
		drawn[r] = strings.Map(func(sort rune) rune {
			if sort == ' ' {
				return sort
			}
			if number++; statuses[number] != inventory.SeatStatusAvailable {
				return 'x'
			}
			return sort
		}, row)
	}
	return drawn
}
