package inventory

import (
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/tenants"
)

// possessions are what a guest has while a batch is judged: live holds, and units by show in live
// holds and in sales that stand.
type possessions struct {
	holds int64
	units map[uuid.UUID]int64
}

// judgeBuyer refuses a guest who has as many live holds, or as many units of a show, as the terms
// allow; nil when nothing speaks against the wish.
func (f facts) judgeBuyer(w wish) error {
	if w.buyer.Kind != tenants.BuyerKindGuest {
		return nil
	}
	has := f.has[w.buyer.ID]
	if limit := f.terms.MaxActiveHoldsPerBuyer; has.holds >= limit {
		refusal := Refuse(RefusalLimitPerBuyer, messageOf(RefusalLimitPerBuyer))
		refusal.Lines = []RefusedLine{{Code: RefusalLimitPerBuyer, Limit: &limit}}
		return refusal
	}
	limit := f.terms.MaxUnitsPerBuyer
	if limit == nil {
		return nil
	}
	var refused []RefusedLine
	more := map[uuid.UUID]int64{}
	for i, line := range w.claim.lines {
		show, wanted := f.unitsOf(line)
		if wanted == 0 {
			continue
		}
		if left := max(0, *limit-has.units[show]-more[show]); wanted > left {
			refused = append(refused, RefusedLine{Line: i, Code: RefusalLimitPerBuyer, Limit: limit, Available: &left})
		}
		more[show] += wanted
	}
	if len(refused) > 0 {
		return refuseLines(refused)
	}
	return nil
}

// note adds what a guest has just won, for the wishes that follow in the batch.
func (f facts) note(w wish) {
	has := f.has[w.buyer.ID]
	if w.buyer.Kind != tenants.BuyerKindGuest || has == nil {
		return
	}
	has.holds++
	for _, line := range w.claim.lines {
		if show, units := f.unitsOf(line); units > 0 {
			has.units[show] += units
		}
	}
}
