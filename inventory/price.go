package inventory

import "cloud.google.com/go/civil"

// StayPrice is what a stay costs as it is sold.
type StayPrice struct {
	// Nights are the prices of one room on each night of the stay, in minor units of the property's currency.
	Nights []int64
}

// Room is what one room costs for the whole stay: the sum of its nights.
func (p StayPrice) Room() int64 {
	var sum int64
	for _, night := range p.Nights {
		sum += night
	}
	return sum
}

// priceStay prices a stay: night by night, as it is sold. ok is false where a night has no price.
func priceStay(stay StayRequest, f stayFacts) (price StayPrice, ok bool) {
	price.Nights = make([]int64, 0, stay.nights())
	for night := stay.CheckIn; night.Before(stay.CheckOut); night = night.AddDays(1) {
		minor, ok := f.nightPrice(night)
		if !ok {
			return StayPrice{}, false
		}
		price.Nights = append(price.Nights, minor)
	}
	return price, true
}

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
