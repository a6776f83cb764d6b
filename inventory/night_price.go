package inventory

import "cloud.google.com/go/civil"

// nightPrice is what one room costs on a night: the standard rate, the plan's own price, or what is derived
// from the standard rate or from the plan's parent. ok is false where there is no price to begin with.
func (f stayFacts) nightPrice(night civil.Date) (minor int64, ok bool) {
	base := f.nights[night].amount
	switch {
	case f.plan == nil:
	case f.plan.ownPrices():
		base = f.planNights[night].amount
	case f.plan.parent != nil:
		base = f.parentNights[night].amount
	}
	if base == nil {
		return 0, false
	}
	if f.plan == nil {
		return *base, true
	}
	return f.plan.derivation.of(*base), true
}
