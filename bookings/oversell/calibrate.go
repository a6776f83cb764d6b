package oversell

import (
	"cloud.google.com/go/civil"
)

// Calibration compares what a model expected with what came, on stays that it had not seen: nights of
// one room type, by what stood on the books so many days before.
type Calibration struct {
	DaysOut int `json:"daysOut"`
	// Nights is how many nights of a room type were compared, and Bookings how many they had.
	Nights   int `json:"nights"`
	Bookings int `json:"bookings"`
	// Expected and Came are guests in all.
	Expected float64 `json:"expected"`
	Came     int     `json:"came"`
	// Within is the share of nights whose number lay in the central 50, 80 and 95 percent of the
	// predicted distribution: at least that much is right, because numbers are whole.
	Within50 float64 `json:"within50"`
	Within80 float64 `json:"within80"`
	Within95 float64 `json:"within95"`
	// Tenths is the share of nights in each tenth of their predicted distribution. Were the
	// distribution exact, each would be 0.1.
	Tenths [10]float64 `json:"tenths"`
}

// fewestCompared is the fewest bookings of a night that is compared: the distribution of two or three
// has hardly a shape.
const fewestCompared = 10

// Calibrate judges a model on the nights from one date to another, both included.
func Calibrate(m *Model, stays []Stay, daysOut int, from, until civil.Date) Calibration {
	c := Calibration{DaysOut: daysOut}
	for _, of := range m.nights(stays, daysOut) {
		if of.night.Before(from) || of.night.After(until) || of.bookings < fewestCompared {
			continue
		}
		d := NewShowUps(of.bookings, of.expected/float64(of.bookings), m.Spread(daysOut))
		c.Nights, c.Bookings, c.Expected, c.Came = c.Nights+1, c.Bookings+of.bookings, c.Expected+of.expected, c.Came+of.came
		low, high := d.AtMost(of.came-1), d.AtMost(of.came)
		c.Within50 += within(d, of.came, 0.50)
		c.Within80 += within(d, of.came, 0.80)
		c.Within95 += within(d, of.came, 0.95)
		// A number of guests is a step of the distribution, and is shared by the tenths it covers.
		for tenth := range c.Tenths {
			a, b := float64(tenth)/10, float64(tenth+1)/10
			if high > low {
				c.Tenths[tenth] += max(0, min(b, high)-max(a, low)) / (high - low)
			}
		}
	}
	if c.Nights > 0 {
		share := 1 / float64(c.Nights)
		c.Within50, c.Within80, c.Within95 = c.Within50*share, c.Within80*share, c.Within95*share
		for tenth := range c.Tenths {
			c.Tenths[tenth] *= share
		}
	}
	return c
}

func within(d ShowUps, came int, central float64) float64 {
	if came >= d.Quantile((1-central)/2) && came <= d.Quantile((1+central)/2) {
		return 1
	}
	return 0
}
