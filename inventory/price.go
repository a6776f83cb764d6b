package inventory

import (
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/money"
)

// RoundingLevel says what is rounded: the percentage of each night, or that of the whole stay, which is
// then shared out over the nights.
type RoundingLevel string

// The levels of rounding.
const (
	RoundingLevelNight RoundingLevel = "NIGHT"
	RoundingLevelStay  RoundingLevel = "STAY"
)

// RoundingRule is how a tenant's percentages of stays become whole minor units.
type RoundingRule struct {
	Level RoundingLevel  `json:"level"`
	Mode  money.Rounding `json:"mode"`
}

// DefaultRoundingRule is what holds where a tenant has set none.
func DefaultRoundingRule() RoundingRule {
	return RoundingRule{Level: RoundingLevelNight, Mode: money.HalfUp}
}

// GuestPrices say what guests of a room cost beyond its nightly amount, which is for BaseOccupancy adults.
type GuestPrices struct {
	BaseOccupancy int64
	// ExtraAdult is the amount per night for each adult beyond the base occupancy.
	ExtraAdult int64
	// SingleReduction is what a night costs less when one adult stays alone.
	SingleReduction int64
	// Ages are the bands of children, from age 0 and without gaps. Older children count as adults; without
	// bands all do.
	Ages []AgeBand
}

// AgeBand is what a child from FromAge to ToAge, both included, costs a night; 0 is free.
type AgeBand struct {
	FromAge int64
	ToAge   int64
	Minor   int64
}

// perNight is what the guests of one room add to its price on a night; it is less than 0 for one who
// stays alone.
func (g GuestPrices) perNight(guests Guests) int64 {
	adults, children, added := guests.Adults, int64(0), int64(0)
	for _, age := range guests.ChildAges {
		band, ok := g.bandOf(age)
		if !ok {
			adults++
			continue
		}
		children++
		added += band.Minor
	}
	added += max(0, adults-g.BaseOccupancy) * g.ExtraAdult
	if adults == 1 && children == 0 {
		added -= g.SingleReduction
	}
	return added
}

func (g GuestPrices) bandOf(age int64) (AgeBand, bool) {
	for _, band := range g.Ages {
		if band.FromAge <= age && age <= band.ToAge {
			return band, true
		}
	}
	return AgeBand{}, false
}

// RateAdjustment changes the price of a night, of one room, by a percentage or by an amount. Exactly one of
// MinNights and Weekday is set. Of the adjustments by length the one with the most nights that the stay
// has applies.
type RateAdjustment struct {
	MinNights *int64
	Weekday   *time.Weekday
	// BasisPoints is hundredths of a percent, less than 0 for a reduction; 0 where Minor says the change.
	BasisPoints int64
	Minor       int64
}

// of is the amount after the change, never below 0.
func (a RateAdjustment) of(amount int64, mode money.Rounding) int64 {
	change := a.Minor
	switch {
	case a.BasisPoints > 0:
		change = mode.Percent(amount, a.BasisPoints)
	case a.BasisPoints < 0:
		change = -mode.Percent(amount, -a.BasisPoints)
	}
	return max(0, amount+change)
}

// ChargeKind says what a tax or fee is reckoned by.
type ChargeKind string

// The kinds of charge.
const (
	// ChargeKindPercent is a share of the price of the rooms.
	ChargeKindPercent ChargeKind = "PERCENT"
	// ChargeKindRoomNight is an amount for each room and night.
	ChargeKindRoomNight ChargeKind = "ROOM_NIGHT"
	// ChargeKindPersonNight is an amount for each person and night.
	ChargeKindPersonNight ChargeKind = "PERSON_NIGHT"
	// ChargeKindPersonStay is an amount for each person, once.
	ChargeKindPersonStay ChargeKind = "PERSON_STAY"
	// ChargeKindRoomStay is an amount for each room, once.
	ChargeKindRoomStay ChargeKind = "ROOM_STAY"
	// ChargeKindStay is an amount once, however many rooms there are.
	ChargeKindStay ChargeKind = "STAY"
)

// Charge is a tax or a fee of a hotel's stays.
type Charge struct {
	Name string
	Kind ChargeKind
	// Included: it is within the price of the rooms, which does not grow by it.
	Included bool
	// BasisPoints is the share of a ChargeKindPercent, in hundredths of a percent; Minor the amount of the
	// others.
	BasisPoints int64
	Minor       int64
	// ExemptBelow is the age below which children are not counted as persons; 0 exempts nobody.
	ExemptBelow int64
}

// priceFacts are what the price of one stay is made of.
type priceFacts struct {
	currency money.Currency
	// amounts are what a room costs on each night for the base occupancy, at the stay's rate plan or at the
	// standard rate, before any difference.
	amounts     map[civil.Date]int64
	guests      GuestPrices
	adjustments []RateAdjustment
	charges     []Charge
	// promotion is nil for none.
	promotion *promotionTerms
	rounding  RoundingRule
}

// StayPrice is what a stay costs and why. All amounts are of all its rooms together, in minor units of
// Currency. Total is Rooms and Added together, each of them the sum over the nights; Added is the sum of
// the charges that are not included.
type StayPrice struct {
	Currency money.Currency `json:"currency"`
	Nights   []NightPrice   `json:"nights"`
	Charges  []ChargePrice  `json:"charges"`
	// Rooms is the price of the rooms, after Discount was taken off and with the included charges in it.
	Rooms    int64 `json:"rooms"`
	Discount int64 `json:"discount"`
	Added    int64 `json:"added"`
	Total    int64 `json:"total"`
	// Tax is the included tax of TaxBasisPoints within Rooms.
	Tax            int64 `json:"tax"`
	TaxBasisPoints int64 `json:"taxBasisPoints"`
	// Promotion is the one that took Discount off; nil for none.
	Promotion *AppliedPromotion `json:"promotion"`
	Rounding  RoundingRule      `json:"rounding"`
}

// NightPrice is what one night of a stay costs; charges for the stay are shared out over its nights.
type NightPrice struct {
	Night    civil.Date `json:"night"`
	Rooms    int64      `json:"rooms"`
	Discount int64      `json:"discount"`
	Added    int64      `json:"added"`
	Tax      int64      `json:"tax"`
	Total    int64      `json:"total"`
}

// ChargePrice is what a tax or fee comes to for a stay.
type ChargePrice struct {
	Name     string     `json:"name"`
	Kind     ChargeKind `json:"kind"`
	Included bool       `json:"included"`
	Minor    int64      `json:"minor"`
}

// errPriceTooLarge says that a price does not fit; the caller names the field.
var errPriceTooLarge = errors.New("the price is too large")

// noPriceError says that a night has no price.
type noPriceError struct{ night civil.Date }

// Error names the night.
func (e noPriceError) Error() string { return fmt.Sprintf("the night of %s has no price", e.night) }

// priceStay is what a stay costs: a function of its arguments alone. The price of a room on a night is its
// amount, changed by weekday and then by length of stay, and then by the room's guests, never below zero. Rooms and
// nights are added up, the promotion is taken off, and taxes and fees are reckoned from what is left.
func priceStay(stay StayRequest, f priceFacts) (StayPrice, error) {
	rooms, err := roomPrices(stay, f)
	if err != nil {
		return StayPrice{}, err
	}
	discounts := make([]int64, len(rooms))
	p := StayPrice{Currency: f.currency, Rounding: f.rounding, Nights: make([]NightPrice, len(rooms)), Charges: make([]ChargePrice, len(f.charges))}
	if f.promotion != nil {
		discounts = f.promotion.off(rooms, f.rounding)
		p.Promotion = &f.promotion.applied
	}
	for i := range rooms {
		rooms[i] -= discounts[i]
		p.Nights[i] = NightPrice{Night: stay.CheckIn.AddDays(i), Rooms: rooms[i], Discount: discounts[i]}
		p.Rooms += rooms[i]
		p.Discount += discounts[i]
	}
	if err := p.addCharges(stay, rooms, f); err != nil {
		return StayPrice{}, err
	}
	for i := range p.Nights {
		night := &p.Nights[i]
		if night.Total = night.Rooms + night.Added; night.Total > money.MaxMinor {
			return StayPrice{}, errPriceTooLarge
		}
		p.Added += night.Added
		p.Tax += night.Tax
		p.Total += night.Total
	}
	if p.Total > money.MaxMinor {
		return StayPrice{}, errPriceTooLarge
	}
	return p, nil
}

// roomPrices are the prices of all rooms of a stay on each of its nights, before promotion and charges.
func roomPrices(stay StayRequest, f priceFacts) ([]int64, error) {
	guests := f.guestsOf(stay)
	nights := stay.nights()
	rooms := make([]int64, nights)
	for i := range rooms {
		night := stay.CheckIn.AddDays(i)
		amount, ok := f.amounts[night]
		if !ok {
			return nil, noPriceError{night: night}
		}
		amount = f.adjust(amount, night.Weekday(), int64(nights))
		for _, room := range guests {
			one := max(0, amount+f.guests.perNight(room))
			if rooms[i] += one; one > money.MaxMinor || rooms[i] > money.MaxMinor {
				return nil, errPriceTooLarge
			}
		}
	}
	return rooms, nil
}

// guestsOf are the guests of each room: those that the stay names, or as many adults as the base occupancy.
func (f priceFacts) guestsOf(stay StayRequest) []Guests {
	guests := make([]Guests, stay.Rooms)
	for i := range guests {
		named, ok := stay.inRoom(int64(i))
		if !ok {
			named = Guests{Adults: f.guests.BaseOccupancy}
		}
		guests[i] = named
	}
	return guests
}

// adjust applies the difference of the weekday and then that of the length.
func (f priceFacts) adjust(amount int64, weekday time.Weekday, nights int64) int64 {
	var length *RateAdjustment
	for i, a := range f.adjustments {
		switch {
		case a.Weekday != nil && *a.Weekday == weekday:
			amount = a.of(amount, f.rounding.Mode)
		case a.MinNights != nil && *a.MinNights <= nights && (length == nil || *a.MinNights > *length.MinNights):
			length = &f.adjustments[i]
		}
	}
	if length != nil {
		amount = length.of(amount, f.rounding.Mode)
	}
	return amount
}

// addCharges reckons taxes and fees from the price of the rooms on each night. The included percentage
// comes first: it is the tax rate of the hotel. What else is included is within what that leaves.
func (p *StayPrice) addCharges(stay StayRequest, rooms []int64, f priceFacts) error {
	left := make([]int64, len(rooms))
	copy(left, rooms)
	for _, first := range []bool{true, false} {
		for i, c := range f.charges {
			if isTax := c.Included && c.Kind == ChargeKindPercent; isTax != first {
				continue
			}
			p.Charges[i] = ChargePrice{Name: c.Name, Kind: c.Kind, Included: c.Included}
			shares := c.shares(rooms, f.guestsOf(stay), f.rounding)
			if first {
				p.TaxBasisPoints = c.BasisPoints
			}
			for night, share := range shares {
				if c.Included {
					share = min(share, left[night])
					left[night] -= share
				} else if p.Nights[night].Added += share; p.Nights[night].Added > money.MaxMinor || share > money.MaxMinor {
					return errPriceTooLarge
				}
				if first {
					p.Nights[night].Tax += share
				}
				p.Charges[i].Minor += share
			}
		}
	}
	return nil
}

// shares is what a charge comes to on each night; what is for the stay is shared out over its nights.
func (c Charge) shares(rooms []int64, guests []Guests, rounding RoundingRule) []int64 {
	switch c.Kind {
	case ChargeKindPercent:
		of := rounding.Mode.Percent
		if c.Included {
			of = rounding.Mode.IncludedTax
		}
		return rounding.perNight(rooms, func(amount int64) int64 { return of(amount, c.BasisPoints) })
	case ChargeKindRoomNight:
		return each(len(rooms), c.Minor*int64(len(guests)))
	case ChargeKindPersonNight:
		return each(len(rooms), c.Minor*c.persons(guests))
	case ChargeKindPersonStay:
		return money.Apportion(c.Minor*c.persons(guests), each(len(rooms), 1))
	case ChargeKindRoomStay:
		return money.Apportion(c.Minor*int64(len(guests)), each(len(rooms), 1))
	case ChargeKindStay:
		return money.Apportion(c.Minor, each(len(rooms), 1))
	}
	return make([]int64, len(rooms))
}

// persons counts those for whom the charge is due.
func (c Charge) persons(guests []Guests) int64 {
	persons := int64(0)
	for _, room := range guests {
		persons += room.Adults
		for _, age := range room.ChildAges {
			if age >= c.ExemptBelow {
				persons++
			}
		}
	}
	return persons
}

// perNight takes a share of the price of each night, rounded for each of them, or once for all.
func (r RoundingRule) perNight(rooms []int64, share func(int64) int64) []int64 {
	if r.Level == RoundingLevelStay {
		sum := int64(0)
		for _, amount := range rooms {
			sum += amount
		}
		return money.Apportion(share(sum), rooms)
	}
	shares := make([]int64, len(rooms))
	for i, amount := range rooms {
		shares[i] = share(amount)
	}
	return shares
}

// each is n times the same.
func each(n int, amount int64) []int64 {
	amounts := make([]int64, n)
	for i := range amounts {
		amounts[i] = amount
	}
	return amounts
}
