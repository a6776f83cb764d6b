package oversell

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// MinStays is the fewest stays from which a model can be fitted: with fewer, a limit is a guess.
const MinStays = 100

// ErrTooFewStays says that the history is too short for advice.
var ErrTooFewStays = errors.New("the history is too short for advice")

// lookouts are the days out at which the books of the past are looked at; between them chances are
// drawn straight over the logarithm of the days. Most of what happens to a booking happens in the
// last days.
var lookouts = [...]int{0, 1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180, 270}

// leadFrom are the lower ends of the bands in which lead times are told apart.
var leadFrom = [...]int{0, 1, 3, 7, 14, 30, 60, 120, 240}

// between gives the lookouts on either side of some days out, and how far they lie from the lower to
// the upper one, 0 to 1.
func between(daysOut int) (lower, upper int, share float64) {
	daysOut = max(0, daysOut)
	at, found := slices.BinarySearch(lookouts[:], daysOut)
	switch {
	case found:
		return at, at, 0
	case at == len(lookouts):
		return at - 1, at - 1, 0
	}
	low, high := math.Log1p(float64(lookouts[at-1])), math.Log1p(float64(lookouts[at]))
	return at - 1, at, (math.Log1p(float64(daysOut)) - low) / (high - low)
}

func leadBand(days int) int {
	at, found := slices.BinarySearch(leadFrom[:], max(0, days))
	if !found {
		at--
	}
	return at
}

// halfLifeDays is how old a stay is that counts half as much as the latest one: guests' habits change,
// and on the history that the model was tried on half a year predicted the next year best.
const halfLifeDays = 180

// cell is what is told apart. A coarser level leaves the later fields at their zero value.
type cell struct {
	lookout, lead int
	channel       string
	season        int
}

// Levels, from the coarsest. Each is drawn towards the one before it as far as its own evidence is thin.
const (
	levelLookout = iota
	levelLead
	levelChannel
	levelSeason
	levels
)

func (c cell) at(level int) cell {
	if level < levelSeason {
		c.season = 0
	}
	if level < levelChannel {
		c.channel = ""
	}
	if level < levelLead {
		c.lead = 0
	}
	return c
}

// count is how many stays were seen in a cell and how many of them came, old ones at less than 1.
type count struct{ stays, came float64 }

// Model knows how probable it is that a booking's guests come, by the days that are left, the lead
// time, the channel and the season of the arrival.
type Model struct {
	stays  int
	prior  float64
	counts [levels]map[cell]count
	// pull is how many stays of evidence the coarser level weighs, by level.
	pull [levels]float64
	// spread is how much likelier two guests of one night are to decide alike than by chance, by
	// lookout: an intraclass correlation. Groups, weather and events make it more than zero.
	spread [len(lookouts)]float64
}

// Fit learns from stays whose end is known. Stays that are listed twice count twice.
func Fit(stays []Stay) (*Model, error) {
	if len(stays) < MinStays {
		return nil, ErrTooFewStays
	}
	// How far a night may lie from what was expected is only honest where the model had not seen it.
	byArrival := slices.Clone(stays)
	slices.SortStableFunc(byArrival, func(a, b Stay) int { return a.Arrival.Compare(b.Arrival) })
	cut := byArrival[len(byArrival)*2/3].Arrival
	seen := slices.IndexFunc(byArrival, func(s Stay) bool { return !s.Arrival.Before(cut) })
	var spread [len(lookouts)]float64
	if seen > 0 {
		spread = spreadOf(means(byArrival[:seen]), byArrival[seen:])
	}
	m := means(stays)
	m.spread = spread
	return m, nil
}

// means learns everything but the spread.
func means(stays []Stay) *Model {
	m := &Model{stays: len(stays)}
	for level := range m.counts {
		m.counts[level] = map[cell]count{}
	}
	var all count
	latest := stays[0].Arrival
	for _, stay := range stays {
		if stay.Arrival.After(latest) {
			latest = stay.Arrival
		}
	}
	for _, stay := range stays {
		weight := math.Exp2(-float64(latest.DaysSince(stay.Arrival)) / halfLifeDays)
		came := 0.0
		if stay.Outcome == OutcomeCame {
			came = weight
		}
		all.stays, all.came = all.stays+weight, all.came+came
		full := cell{lead: leadBand(stay.leadDays()), channel: stay.Channel, season: season(stay.Arrival)}
		for lookout, daysOut := range lookouts {
			if !stay.stands(daysOut) {
				continue
			}
			full.lookout = lookout
			for level := range m.counts {
				at := m.counts[level][full.at(level)]
				m.counts[level][full.at(level)] = count{at.stays + weight, at.came + came}
			}
		}
	}
	// One stay of each kind of doubt, so that no chance is ever 0 or 1.
	m.prior = (all.came + 1) / (all.stays + 2)
	for level := range m.counts {
		m.pull[level] = m.likeliestPull(level)
	}
	return m
}

// pulls are the weights of the coarser level that are tried, in stays.
func pulls() []float64 { return []float64{2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000} }

// likeliestPull is the weight under which the counts of a level are the least surprising: the
// likelihood of beta-binomial counts around the means of the coarser level. The order of summation is
// fixed, so that the same history gives the same model to the last bit.
func (m *Model) likeliestPull(level int) float64 {
	cells := make([]cell, 0, len(m.counts[level]))
	for c := range m.counts[level] {
		cells = append(cells, c)
	}
	slices.SortFunc(cells, compareCells)
	best, bestPull := math.Inf(-1), 0.0
	for _, pull := range pulls() {
		sum := 0.0
		for _, c := range cells {
			n := m.counts[level][c]
			mean := m.coarser(c, level).Chance
			a, b := pull*mean, pull*(1-mean)
			sum += mathext.Lbeta(n.came+a, n.stays-n.came+b) - mathext.Lbeta(a, b)
		}
		if sum > best {
			best, bestPull = sum, pull
		}
	}
	return bestPull
}

// Estimate is a chance and how much it rests on.
type Estimate struct {
	// Chance that the guests come, more than 0 and less than 1.
	Chance float64
	// Evidence is how many stays the chance rests on, those lent by coarser levels included.
	Evidence float64
}

func (m *Model) coarser(c cell, level int) Estimate {
	if level == 0 {
		return Estimate{Chance: m.prior, Evidence: 2}
	}
	return m.estimate(c, level-1)
}

func (m *Model) estimate(c cell, level int) Estimate {
	mean := m.coarser(c, level).Chance
	n, pull := m.counts[level][c.at(level)], m.pull[level]
	return Estimate{Chance: (n.came + pull*mean) / (n.stays + pull), Evidence: n.stays + pull}
}

// Chance that the guests of a booking come which still stands so many days before its arrival. A
// channel or season without history gets what is known of the rest.
func (m *Model) Chance(of Traits, daysOut int) Estimate {
	if daysOut < 0 {
		// Whoever has arrived is there.
		return Estimate{Chance: 1, Evidence: float64(m.stays)}
	}
	at := cell{lead: leadBand(max(of.leadDays(), daysOut)), channel: of.Channel, season: season(of.Arrival)}
	lower, upper, share := between(daysOut)
	at.lookout = lower
	low := m.estimate(at, levels-1)
	at.lookout = upper
	high := m.estimate(at, levels-1)
	return Estimate{
		Chance:   low.Chance + share*(high.Chance-low.Chance),
		Evidence: low.Evidence + share*(high.Evidence-low.Evidence),
	}
}

// Stays is how many stays the model was fitted to.
func (m *Model) Stays() int { return m.stays }

// Spread is how alike the guests of one night decide, so many days before: 0 for by themselves, 1 for
// all as one.
func (m *Model) Spread(daysOut int) float64 {
	lower, upper, share := between(daysOut)
	return m.spread[lower] + share*(m.spread[upper]-m.spread[lower])
}

// maxSpread keeps a short history from making every limit the number of rooms.
const maxSpread = 0.5

// spreadOf compares, for each lookout, what was expected of the nights of stays that the model had not
// seen with what came: by the method of moments, so that an error of the means counts as spread too.
func spreadOf(m *Model, unseen []Stay) [len(lookouts)]float64 {
	var spread [len(lookouts)]float64
	for lookout, daysOut := range lookouts {
		var excess, scale float64
		for _, of := range m.nights(unseen, daysOut) {
			mean := of.expected / float64(of.bookings)
			variance := of.expected * (1 - mean)
			off := float64(of.came) - of.expected
			excess += off*off - variance
			scale += variance * float64(of.bookings-1)
		}
		if scale > 0 {
			spread[lookout] = min(maxSpread, max(0, excess/scale))
		}
	}
	return spread
}

// longestStay bounds how many nights of one stay are looked at.
const longestStay = 60

// expectedNight is what stood on the books for a night of a room type, some days before it.
type expectedNight struct {
	roomNight

	bookings, came int
	expected       float64
}

// nights are all nights for which anything stood on the books so many days before them, and what the
// model expects of each.
func (m *Model) nights(stays []Stay, daysOut int) []expectedNight {
	at := map[roomNight]int{}
	var nights []expectedNight
	for _, stay := range stays {
		for day := range min(stay.Nights, longestStay) {
			// Guests of earlier arrivals are in the house already, or known not to have come.
			arrivesIn := daysOut - day
			if arrivesIn < 0 && stay.Outcome != OutcomeCame || arrivesIn >= 0 && !stay.stands(arrivesIn) {
				continue
			}
			key := roomNight{stay.RoomType, stay.Arrival.AddDays(day)}
			i, known := at[key]
			if !known {
				i = len(nights)
				at[key], nights = i, append(nights, expectedNight{roomNight: key})
			}
			nights[i].bookings++
			nights[i].expected += m.Chance(stay.Traits, arrivesIn).Chance
			if stay.Outcome == OutcomeCame {
				nights[i].came++
			}
		}
	}
	return nights
}
