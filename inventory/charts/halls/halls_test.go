package halls_test

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/inventory/charts/halls"
)

func TestTheatre(t *testing.T) {
	t.Parallel()
	theatre := halls.Theatre()

	perZone := map[string]int{}
	perCategory := map[string]int{}
	for p := range theatre.Seats() {
		perZone[p.Zone.Name]++
		perCategory[p.Seat.Category]++
		if strings.ContainsAny(p.Row.Label, "IO") {
			t.Errorf("%s: rows have no letters I and O", p.Label())
		}
	}
	if got := theatre.SeatCount(); got != 1350 {
		t.Errorf("seats: got %d, want 1350", got)
	}
	if want := map[string]int{"Stalls": 700, "Dress circle": 380, "Balcony": 270}; !reflect.DeepEqual(perZone, want) {
		t.Errorf("seats per zone: got %v, want %v", perZone, want)
	}
	if len(perCategory) != 5 {
		t.Errorf("categories with seats: got %v, want 5", perCategory)
	}
	if got := accessible(theatre); got != 6 {
		t.Errorf("wheelchair places: got %d, want 6", got)
	}
}

func TestArena(t *testing.T) {
	t.Parallel()
	arena := halls.Arena()

	if got, want := arena.Pools(), []string{halls.ArenaPoolFrontOfStage, halls.ArenaPoolStandingFloor}; !reflect.DeepEqual(got, want) {
		t.Errorf("pools: got %q, want %q", got, want)
	}
	if got := len(arena.Zones); got != 1+10+12 {
		t.Errorf("zones: got %d, want the floor, 10 lower and 12 upper blocks", got)
	}
	if got := arena.SeatCount(); got != 3190 {
		t.Errorf("seats: got %d, want 3190", got)
	}
	if got := accessible(arena); got != 8 {
		t.Errorf("wheelchair places: got %d, want 8", got)
	}
}

// Both halls keep what a person expects of a hall.
func TestHalls(t *testing.T) {
	t.Parallel()
	for _, build := range []func() *charts.Chart{halls.Theatre, halls.Arena} {
		hall := build()
		t.Run(hall.Name, func(t *testing.T) {
			t.Parallel()
			if err := hall.Validate(); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(hall, build()) {
				t.Error("two calls gave different charts")
			}
			labelsAreUnique(t, hall)
			rowsAreNumberedFromOne(t, hall)
			seatsDoNotOverlap(t, hall)
			seatsAreOnTheDrawing(t, hall)
			companionsSitBesideWheelchairs(t, hall)
		})
	}
}

func accessible(c *charts.Chart) (count int) {
	for p := range c.Seats() {
		if p.Seat.Accessible {
			count++
		}
	}
	return count
}

func labelsAreUnique(t *testing.T, c *charts.Chart) {
	t.Helper()
	seen := map[string]bool{}
	for p := range c.Seats() {
		if seen[p.Label()] {
			t.Errorf("two seats are called %q", p.Label())
		}
		seen[p.Label()] = true
	}
}

// Neighbours have consecutive numbers, and stand one seat's width or an aisle apart.
func rowsAreNumberedFromOne(t *testing.T, c *charts.Chart) {
	t.Helper()
	for p := range c.Seats() {
		number, err := strconv.Atoi(p.Seat.Number)
		if err != nil || number < 1 || number > len(p.Row.Seats) || p.Row.Seats[number-1].ID != p.Seat.ID {
			t.Errorf("%s is not the seat of its number in the row", p.Label())
			continue
		}
		if number == 1 {
			continue
		}
		if apart := distance(p.Row.Seats[number-2], *p.Seat); apart > 2.5*25 {
			t.Errorf("%s stands %.1f away from its neighbour", p.Label(), apart)
		}
	}
}

func seatsDoNotOverlap(t *testing.T, c *charts.Chart) {
	t.Helper()
	const seatWidth = 2 * charts.DefaultSeatRadius
	var seats []charts.Place
	for p := range c.Seats() {
		for _, other := range seats {
			if distance(*p.Seat, *other.Seat) < seatWidth {
				t.Errorf("%s and %s overlap", p.Label(), other.Label())
			}
		}
		seats = append(seats, p)
	}
}

func seatsAreOnTheDrawing(t *testing.T, c *charts.Chart) {
	t.Helper()
	const margin = charts.DefaultSeatRadius
	for p := range c.Seats() {
		if p.Seat.X < margin || p.Seat.Y < margin || p.Seat.X > c.Size.Width-margin || p.Seat.Y > c.Size.Height-margin {
			t.Errorf("%s is outside the drawing, at %g, %g", p.Label(), p.Seat.X, p.Seat.Y)
		}
	}
}

func companionsSitBesideWheelchairs(t *testing.T, c *charts.Chart) {
	t.Helper()
	for p := range c.Seats() {
		if !p.Seat.Companion {
			continue
		}
		beside := 0
		for _, other := range p.Row.Seats {
			if other.Accessible && distance(other, *p.Seat) < 26 {
				beside++
			}
		}
		if beside != 1 {
			t.Errorf("%s is a companion's seat beside %d wheelchair places, want 1", p.Label(), beside)
		}
	}
}

func distance(a, b charts.Seat) float64 {
	return math.Hypot(a.X-b.X, a.Y-b.Y)
}
