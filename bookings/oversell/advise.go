package oversell

import (
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Limits of a question.
const (
	// MaxRooms is the most rooms of one type that a night may have.
	MaxRooms = 10_000
	// MaxOversellPercent is the most that may be asked for beyond the rooms, in percent.
	MaxOversellPercent = 100
)

// Night is a night of a room type, as it stands when advice is asked for.
type Night struct {
	// Rooms that can be slept in: physical less out of order.
	Rooms int
	// OnBooks are the chances of the bookings that are sold already.
	OnBooks []Estimate
	// Next is the chance of a booking that is made now.
	Next Estimate
	// Spread of the guests of this night: Model.Spread.
	Spread float64
	// RateMinor is what a room brings that night, and WalkMinor what it costs to walk a guest: the
	// other hotel, the way there and the good will. Both in minor units of one currency.
	RateMinor, WalkMinor int64
	// MaxOversell is how many rooms more may be sold at most.
	MaxOversell int
}

// Confidence of the range of Advice: the probability that the true limit lies in it, as far as the
// means are concerned.
const Confidence = 0.90

// Advice for a night.
type Advice struct {
	// Limit is how many rooms to sell; never fewer than there are.
	Limit int
	// Low and High enclose the limit with Confidence, by what is known of the chances.
	Low, High int
	// Evidence is how many stays the chances rest on, in the mean.
	Evidence float64
	// ShowUps is how many guests are expected if the limit is sold, and Quantile90 the number that is
	// exceeded on one night of ten.
	ShowUps    float64
	Quantile90 int
	// WalkChance is the probability that anybody has to be walked if the limit is sold, and Walks how
	// many in the mean.
	WalkChance, Walks float64
	// GainMinor is what the limit is expected to earn more than the rooms alone would, walks paid, if
	// as many want to come.
	GainMinor int64
}

// Validate says which part of a question is out of bounds.
func (n Night) Validate() error {
	switch {
	case n.Rooms < 0 || n.Rooms > MaxRooms:
		return fmt.Errorf("rooms: expected 0 to %d, got %d", MaxRooms, n.Rooms)
	case len(n.OnBooks) > 2*MaxRooms:
		return fmt.Errorf("on the books: expected at most %d bookings, got %d", 2*MaxRooms, len(n.OnBooks))
	case n.RateMinor <= 0:
		return fmt.Errorf("rate: expected more than 0, got %d", n.RateMinor)
	case n.WalkMinor < 0:
		return fmt.Errorf("walk cost: expected 0 or more, got %d", n.WalkMinor)
	case n.MaxOversell < 0 || n.MaxOversell > MaxRooms:
		return fmt.Errorf("most oversell: expected 0 to %d, got %d", MaxRooms, n.MaxOversell)
	}
	return nil
}

// Advise finds the limit at which the next sale would cost as much as it brings. Once its guest comes, a
// sale brings the rate if there is a room, and costs a walk if the others have filled the house. So
// sales go on while the probability that the others fill it is at most rate / (rate + walk cost): the
// newsvendor's rule on the show-up distribution. The guests of one night do not decide by themselves
// (Spread), so the sum that is earned is compared, not that probability.
func Advise(n Night) (Advice, error) {
	if err := n.Validate(); err != nil {
		return Advice{}, err
	}
	if n.Rooms == 0 {
		return Advice{}, nil
	}
	evidence := n.evidence()
	limit := n.limit(0)
	a := Advice{Limit: limit, Low: limit, High: limit, Evidence: evidence}
	if mean := n.mean(limit, 0); mean < 1 {
		// Guests who come more surely allow fewer sales.
		of := distuv.Beta{Alpha: mean * evidence, Beta: (1 - mean) * evidence}
		a.Low = min(limit, n.limit(of.Quantile((1+Confidence)/2)-mean))
		a.High = max(limit, n.limit(of.Quantile((1-Confidence)/2)-mean))
	}
	sold := NewShowUps(limit, n.mean(limit, 0), n.Spread)
	a.ShowUps, a.Quantile90 = sold.Mean(), sold.Quantile(0.9)
	a.WalkChance, a.Walks = 1-sold.AtMost(n.Rooms), sold.Over(n.Rooms)
	a.GainMinor = int64(math.Round(n.earns(limit, 0) - n.earns(n.Rooms, 0)))
	return a, nil
}

// evidence of the chances together: a mean is no surer than its parts, because they share cells.
func (n Night) evidence() float64 {
	sum, of := n.Next.Evidence, 1.0
	for _, e := range n.OnBooks {
		sum, of = sum+e.Evidence, of+1
	}
	return sum / of
}

// mean chance of so many bookings, those on the books first and then as many as the next. Chances are
// moved by an error, to ask how much the answer rests on them.
func (n Night) mean(bookings int, shift float64) float64 {
	if bookings == 0 {
		return n.Next.Chance
	}
	sum := 0.0
	for _, e := range n.OnBooks[:min(bookings, len(n.OnBooks))] {
		sum += e.Chance
	}
	sum += float64(max(0, bookings-len(n.OnBooks))) * n.Next.Chance
	return min(1, max(0, sum/float64(bookings)+shift))
}

// limit is the number of sales that earns most. What a sale adds shrinks with each, so the first that
// adds nothing is looked for.
func (n Night) limit(shift float64) int {
	return n.Rooms + sort.Search(n.MaxOversell, func(i int) bool {
		return n.earns(n.Rooms+i+1, shift) <= n.earns(n.Rooms+i, shift)
	})
}

// earns is what a night brings in the mean when so many rooms are sold now, in minor units.
func (n Night) earns(sold int, shift float64) float64 {
	d := NewShowUps(sold, n.mean(sold, shift), n.Spread)
	over := d.Over(n.Rooms)
	return float64(n.RateMinor)*(d.Mean()-over) - float64(n.WalkMinor)*over
}
