package oversell

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/mathext"
)

func compareCells(a, b cell) int {
	return cmp.Or(cmp.Compare(a.lookout, b.lookout), cmp.Compare(a.lead, b.lead), cmp.Compare(a.channel, b.channel), cmp.Compare(a.season, b.season))
}

// ShowUps is the distribution of how many of the bookings of a night come: beta-binomial, which is a
// binomial whose chance is itself uncertain by the spread.
type ShowUps struct {
	bookings int
	// cumulative[k] is the probability that at most k come.
	cumulative []float64
}

// NewShowUps is the distribution for so many bookings that come with a mean chance and a spread.
func NewShowUps(bookings int, chance, spread float64) ShowUps {
	d := ShowUps{bookings: bookings, cumulative: make([]float64, bookings+1)}
	chance = min(1-1e-9, max(1e-9, chance))
	// A spread of 0 is a binomial, and so is one too small to tell from it.
	size := (1 - max(spread, 1e-7)) / max(spread, 1e-7)
	n, a, b := float64(bookings), chance*size, (1-chance)*size
	// Shares follow from their neighbours, outwards from the middle, where none is too small to hold.
	shares, middle := d.cumulative, min(bookings, int(chance*(n+1)))
	k := float64(middle)
	shares[middle] = math.Exp(-math.Log(n+1) - mathext.Lbeta(n-k+1, k+1) + mathext.Lbeta(k+a, n-k+b) - mathext.Lbeta(a, b))
	for i := middle; i < bookings; i++ {
		k := float64(i)
		shares[i+1] = shares[i] * (n - k) / (k + 1) * (k + a) / (n - k - 1 + b)
	}
	for i := middle; i > 0; i-- {
		k := float64(i)
		shares[i-1] = shares[i] * k / (n - k + 1) * (n - k + b) / (k - 1 + a)
	}
	sum := 0.0
	for i, share := range shares {
		sum += share
		d.cumulative[i] = min(1, sum)
	}
	d.cumulative[bookings] = 1
	return d
}

// AtMost is the probability that no more than so many come.
func (d ShowUps) AtMost(k int) float64 {
	if k < 0 {
		return 0
	}
	return d.cumulative[min(k, d.bookings)]
}

// Quantile is the smallest number that is reached or undercut with the given probability.
func (d ShowUps) Quantile(probability float64) int {
	for k, sum := range d.cumulative {
		if sum >= probability {
			return k
		}
	}
	return d.bookings
}

// Mean number that come.
func (d ShowUps) Mean() float64 {
	mean := 0.0
	for k := range d.bookings {
		mean += 1 - d.cumulative[k]
	}
	return mean
}

// Over is the mean number of guests that come beyond the rooms.
func (d ShowUps) Over(rooms int) float64 {
	over := 0.0
	for k := max(0, rooms); k < d.bookings; k++ {
		over += 1 - d.cumulative[k]
	}
	return over
}
