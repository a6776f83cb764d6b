package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
)

// BestRequest has seats of a show chosen: beside each other in one row where there are such, near what
// the hall looks at, and so that no single seat is left. The same request key is answered with the same
// seats.
type BestRequest struct {
	Show     ShowID
	Quantity int64
	// PriceLevels and Sections limit the choice to seats of these levels, and to zones of the chart by
	// their names or short names; empty is any.
	PriceLevels []PriceLevelID
	Sections    []string
	// Accessible is how many of the seats are places for wheelchairs. The others then are companions'
	// seats beside them, or ordinary ones. Without it only ordinary seats are chosen.
	Accessible int64
	// AllowSplit takes seats in several rows when so many are not left beside each other.
	AllowSplit bool
}

// choice is what was offered for one BestRequest.
type choice struct {
	// sets are the seats that would do, the first choice first.
	sets [][]SeatID
	// none says why there are no such seats; nil when there are.
	none *RefusedLine
}

// errOutrun is the answer of a wish whose chosen seats others have taken meanwhile. It is chosen for
// again.
var errOutrun = errors.New("the chosen seats were taken meanwhile")

func (c *claim) addBest(field string, best BestRequest) error {
	if err := c.inRegion(field+".show", best.Show.Region); err != nil {
		return err
	}
	if best.Quantity < 1 || best.Quantity > maxBestQuantity {
		return fault.Invalid(field+".quantity", "expected 1 to %d, got %d", maxBestQuantity, best.Quantity)
	}
	if best.Accessible < 0 || best.Accessible > best.Quantity {
		return fault.Invalid(field+".accessible", "expected 0 to the quantity %d, got %d", best.Quantity, best.Accessible)
	}
	if len(best.PriceLevels) > maxPriceLevels {
		return fault.Invalid(field+".priceLevels", "expected at most %d, got %d", maxPriceLevels, len(best.PriceLevels))
	}
	for i, level := range best.PriceLevels {
		if level.Region != best.Show.Region {
			return fault.Invalid(fmt.Sprintf("%s.priceLevels[%d]", field, i), "the price level is of another region than the show")
		}
	}
	if len(best.Sections) > maxSections {
		return fault.Invalid(field+".sections", "expected at most %d, got %d", maxSections, len(best.Sections))
	}
	for i, section := range best.Sections {
		if err := checkName(fmt.Sprintf("%s.sections[%d]", field, i), section); err != nil {
			return err
		}
	}
	c.shows = append(c.shows, best.Show.UUID)
	return nil
}

// seatCount is how many seats a line is to get.
func (l LineRequest) seatCount() int64 {
	switch {
	case l.Best != nil:
		return l.Best.Quantity
	case l.Seats != nil:
		return int64(len(l.Seats.Seats))
	}
	return 0
}

func anyBest(wishes []wish) bool {
	return slices.ContainsFunc(wishes, func(w wish) bool { return w.wantsBest() })
}

func (w wish) wantsBest() bool {
	return slices.ContainsFunc(w.claim.lines, func(line LineRequest) bool { return line.Best != nil })
}

// decideChosen chooses seats for the wishes that leave that to us, decides all, and chooses again for
// those that others were quicker than, a bounded number of times. What one round has granted stays.
func (s *Service) decideChosen(ctx context.Context, wishes []wish, seating map[uuid.UUID]*seating) ([]answer, error) {
	answers := make([]answer, len(wishes))
	open := make([]int, len(wishes))
	for i := range wishes {
		open[i] = i
	}
	alternatives, tries := 1, 0
	for tries < maxChoices {
		round := chooser{Service: s, seating: seating, alternatives: alternatives, begun: time.Now()}
		chosen, at, err := round.choose(ctx, wishes, open)
		var got []answer
		if err == nil && len(chosen) > 0 {
			got, err = s.decideOn(ctx, chosen, seating)
		}
		if err != nil {
			if len(open) == len(wishes) {
				return nil, err
			}
			// Some are decided already: the others have their turn alone.
			for _, i := range open {
				answers[i].err = errAlone
			}
			return answers, nil
		}
		later := slices.DeleteFunc(slices.Clone(open), func(i int) bool {
			answers[i].err = round.wrong[i]
			return slices.Contains(at, i) || round.wrong[i] != nil
		})
		outrun := false
		for n, i := range at {
			if answers[i] = got[n]; errors.Is(got[n].err, errOutrun) {
				later, outrun = append(later, i), true
			}
			s.claims.metrics.chose(wishes[i], got[n])
		}
		if outrun {
			tries++
			alternatives = min(2*alternatives, maxAlternatives)
		}
		if outrun && tries > 1 {
			// It may not be others who are quicker: a new block or other terms are seen by reading only. Where
			// that fails, the next round chooses from what is known.
			s.readAgain(ctx, wishes, later, round.begun)
		}
		slices.Sort(later)
		if open = later; len(open) == 0 {
			return answers, nil
		}
	}
	for _, i := range open {
		answers[i].err = triedInVain(wishes[i])
	}
	s.claims.metrics.busy.WithLabelValues(busyOutrun).Add(float64(len(open)))
	return answers, nil
}

// readAgain reads the maps of what some wishes choose from, unless that was done since an instant.
func (s *Service) readAgain(ctx context.Context, wishes []wish, open []int, since time.Time) {
	for _, i := range open {
		for _, line := range wishes[i].claim.lines {
			if line.Best == nil {
				continue
			}
			m, ok := s.choices.maps.Peek(owner{place: placeOf(wishes[i].actor.Tenant, wishes[i].claim.region), stock: line.Best.Show.UUID})
			if ok {
				_ = s.choices.readSince(db.Shared(ctx), m, since)
			}
		}
	}
}

// triedInVain is the refusal of a wish for which there were seats each time, and others were quicker each
// time.
func triedInVain(w wish) error {
	refusal := Busy()
	for i, line := range w.claim.lines {
		if line.Best != nil {
			refusal.Lines = append(refusal.Lines, RefusedLine{Line: i, Code: RefusalBusy})
		}
	}
	return refusal
}

// choose fixes which of the seats that were offered to a wish it gets, over the locked rows: the first
// set that is free and leaves no single seat where that is forbidden. unmet is what cannot be had
// because there was nothing to offer. errOutrun is the answer when every set is gone.
func (b *batch) choose(w wish, f facts, s stock) (chosen wish, unmet []RefusedLine, err error) {
	if !w.wantsBest() {
		return w, nil, nil
	}
	lines := slices.Clone(w.claim.lines)
	w.claim.lines = lines
	for i, line := range lines {
		if line.choice != nil {
			// What is offered counts for nothing before it is chosen.
			lines[i].Seats = &SeatsRequest{Show: line.Best.Show}
		}
	}
	for i, line := range lines {
		switch {
		case line.choice == nil:
		case f.shows[line.Best.Show.UUID].completed:
			// judgeSale has said what there is to say.
		case line.choice.none != nil:
			none := *line.choice.none
			none.Line = i
			unmet = append(unmet, none)
		case !b.chooseSet(&w, i, f, s):
			return w, nil, errOutrun
		}
	}
	return w, unmet, nil
}

// chooseSet takes the first set of a line that may be had; one that waits for a hold which is due is
// taken only when no other is free.
func (b *batch) chooseSet(w *wish, i int, f facts, s stock) bool {
	lines := w.claim.lines
	show := lines[i].Best.Show
	var waiting []SeatID
	for _, set := range lines[i].choice.sets {
		refused, due := judgeSeats(i, set, s.seats[show.UUID], s.closedTo(*w, f.now), f.now)
		if len(refused) > 0 || w.has(show, set) {
			continue
		}
		lines[i].Seats.Seats = set
		if slices.ContainsFunc(b.judgeNeighbours(*w, f, s), func(l RefusedLine) bool { return l.Line == i }) {
			continue
		}
		if !due {
			return true
		}
		if waiting == nil {
			waiting = set
		}
	}
	lines[i].Seats.Seats = waiting
	return waiting != nil
}

// has reports whether another line of the wish has one of the seats already.
func (w *wish) has(show ShowID, seats []SeatID) bool {
	for _, line := range w.claim.lines {
		if line.Seats == nil || line.Seats.Show != show {
			continue
		}
		for _, seat := range seats {
			if slices.Contains(line.Seats.Seats, seat) {
				return true
			}
		}
	}
	return false
}
