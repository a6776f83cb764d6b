package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// standardRate stands for a stay without a rate plan, among the ids of rate plans.
var standardRate = uuid.Nil //nolint:gochecknoglobals // a name for a constant that Go cannot declare

// rateKey is a room type or a property, and a rate plan or standardRate.
type rateKey struct{ owner, plan uuid.UUID }

// pricing is what the prices of room types are made of, besides the amounts of their nights.
type pricing struct {
	guests      map[rateKey]GuestPrices
	adjustments map[rateKey][]RateAdjustment
	charges     map[uuid.UUID][]Charge
	rounding    RoundingRule
}

// readPricing reads it for room types and their properties.
func readPricing(ctx context.Context, q dbsqlc.DBTX, at place, rooms, properties []uuid.UUID) (pricing, error) {
	rows, err := dbsqlc.New(q).PricingOfRooms(ctx, dbsqlc.PricingOfRoomsParams{
		TenantID: at.tenant, Region: string(at.region), RoomTypeIds: rooms, PropertyIds: properties,
	})
	if err != nil {
		return pricing{}, fmt.Errorf("read what prices are made of: %w", err)
	}
	p := pricing{
		guests: map[rateKey]GuestPrices{}, adjustments: map[rateKey][]RateAdjustment{}, charges: map[uuid.UUID][]Charge{},
		rounding: DefaultRoundingRule(),
	}
	taxes := map[uuid.UUID]int64{}
	ages := map[rateKey][]AgeBand{}
	for _, row := range rows {
		key := rateKey{owner: row.OwnerID, plan: row.RatePlanID}
		switch row.What {
		case "GUESTS":
			p.guests[key] = GuestPrices{BaseOccupancy: row.Ordinal, ExtraAdult: row.AmountMinor, SingleReduction: row.ExtraMinor}
		case "AGE":
			ages[key] = append(ages[key], AgeBand{FromAge: row.Ordinal, ToAge: row.High, Minor: row.AmountMinor})
		case "ADJUSTMENT":
			p.adjustments[key] = append(p.adjustments[key], adjustmentOf(row.Kind, row.Ordinal, row.BasisPoints, row.AmountMinor))
		case "CHARGE":
			p.charges[row.OwnerID] = append(p.charges[row.OwnerID], Charge{
				Name: row.Name, Kind: ChargeKind(row.Kind), Included: row.Included, BasisPoints: row.BasisPoints, Minor: row.AmountMinor, ExemptBelow: row.High,
			})
		case "TAX":
			taxes[row.OwnerID] = row.BasisPoints
		case "ROUNDING":
			p.rounding = RoundingRule{Level: RoundingLevel(row.Name), Mode: money.Rounding(row.Kind)}
		}
	}
	for key, bands := range ages {
		guests := p.guests[key]
		guests.Ages = bands
		p.guests[key] = guests
	}
	for _, property := range properties {
		p.charges[property] = withTaxRate(p.charges[property], taxes[property])
	}
	return p, nil
}

// nameOfTax is what the included tax of a property is called that has a rate and no name for it.
const nameOfTax = "Tax"

// withTaxRate puts the tax rate of a property into its list of charges: prices include one percentage, and
// its rate is the tax rate, whichever of the two commands set it.
func withTaxRate(charges []Charge, basisPoints int64) []Charge {
	for i, c := range charges {
		if c.Included && c.Kind == ChargeKindPercent {
			charges[i].BasisPoints = basisPoints
			return charges
		}
	}
	if basisPoints == 0 {
		return charges
	}
	return append([]Charge{{Name: nameOfTax, Kind: ChargeKindPercent, Included: true, BasisPoints: basisPoints}}, charges...)
}

func adjustmentOf(kind string, threshold, basisPoints, minor int64) RateAdjustment {
	a := RateAdjustment{BasisPoints: basisPoints, Minor: minor}
	if kind == adjustmentWeekday {
		weekday := time.Weekday(threshold % daysOfWeek)
		a.Weekday = &weekday
	} else {
		a.MinNights = &threshold
	}
	return a
}

// guestsFor are the guest prices of a room type at a rate plan: the plan's own, or those of the room type
// itself, or none, for as many adults as usual.
func (p pricing) guestsFor(room, plan uuid.UUID, maxGuests int64) GuestPrices {
	for _, key := range []rateKey{{room, plan}, {room, standardRate}} {
		if guests, ok := p.guests[key]; ok {
			return guests
		}
	}
	return GuestPrices{BaseOccupancy: max(1, min(usualOccupancy, maxGuests))}
}

// factsFor is what the price of a stay is made of, with the amounts of its nights.
func (p pricing) factsFor(stay StayRequest, property uuid.UUID, currency money.Currency, maxGuests int64, amounts map[civil.Date]int64) priceFacts {
	plan := standardRate
	if stay.RatePlan != nil {
		plan = stay.RatePlan.UUID
	}
	return priceFacts{
		currency: currency, amounts: amounts, guests: p.guestsFor(stay.RoomType.UUID, plan, maxGuests),
		adjustments: p.adjustments[rateKey{property, plan}], charges: p.charges[property], rounding: p.rounding,
	}
}

// heldPrices are the prices of a claim's stays, by its lines; nil for lines of other kinds.
type heldPrices struct {
	stays []*StayPrice
	// use is the promotion that the hold takes a use of; nil for none.
	use *uuid.UUID
}

// firstLine is the first line whose price has a promotion.
func (h heldPrices) firstLine() int {
	for i, price := range h.stays {
		if price != nil && price.Promotion != nil {
			return i
		}
	}
	return 0
}

// readPrices reads what the prices of the claim's stays are made of.
func (f *facts) readPrices(ctx context.Context, q dbsqlc.DBTX, at place, c claim, promotionCodes []string) error {
	if len(f.rooms) == 0 {
		return nil
	}
	seen := map[uuid.UUID]bool{}
	var properties []uuid.UUID
	for _, room := range f.rooms {
		if !seen[room.property] {
			seen[room.property] = true
			properties = append(properties, room.property)
		}
	}
	var err error
	if f.pricing, err = readPricing(ctx, q, at, c.rooms, properties); err != nil {
		return err
	}
	f.promotions, err = readPromotions(ctx, q, at, properties, promotionCodes, f.now)
	return err
}

// pricesOf are the prices of a claim's stays under the promotion that makes the claim cheapest: one of those that
// apply by themselves, or the one of its code. Promotions do not add up. left is what is left of counted
// promotions under lock, nil before.
func (f *facts) pricesOf(c claim, left map[uuid.UUID]int64) (heldPrices, error) {
	best, bestTotal, err := f.pricesUnder(c, nil)
	if err != nil {
		return heldPrices{}, err
	}
	codeFits := false
	for i := range f.promotions {
		promotion := &f.promotions[i]
		if !promotion.usable(c.promotionCode, f.now, left) || !f.fitsAny(c, *promotion) {
			continue
		}
		codeFits = codeFits || promotion.terms.applied.Code != ""
		prices, total, err := f.pricesUnder(c, promotion)
		if err != nil {
			return heldPrices{}, err
		}
		if total < bestTotal {
			best, bestTotal = prices, total
		}
	}
	if c.promotionCode != "" && !codeFits {
		return heldPrices{}, Refuse(RefusalPromotionCode, messageOf(RefusalPromotionCode))
	}
	return best, nil
}

func (f *facts) fitsAny(c claim, promotion promotionFacts) bool {
	for _, line := range c.lines {
		if line.Stay != nil && promotion.fits(*line.Stay, f.rooms[line.Stay.RoomType.UUID].property) {
			return true
		}
	}
	return false
}

// pricesUnder are the prices with one promotion on the stays that it is for, or with none.
func (f *facts) pricesUnder(c claim, promotion *promotionFacts) (heldPrices, int64, error) {
	prices := heldPrices{stays: make([]*StayPrice, len(c.lines))}
	if promotion != nil && promotion.counted {
		prices.use = &promotion.id
	}
	var total int64
	for i, line := range c.lines {
		if line.Stay == nil {
			continue
		}
		room := f.rooms[line.Stay.RoomType.UUID]
		of := f.pricing.factsFor(*line.Stay, room.property, room.currency, room.maxGuests, f.amountsOf(*line.Stay))
		if promotion != nil && promotion.fits(*line.Stay, room.property) {
			of.promotion = &promotion.terms
		}
		price, err := priceStay(*line.Stay, of)
		if errors.Is(err, errPriceTooLarge) {
			return heldPrices{}, 0, fault.Invalid(fmt.Sprintf("lines[%d]", i), "the total of the hold is too large")
		}
		if err != nil {
			return heldPrices{}, 0, err
		}
		prices.stays[i] = &price
		total += price.Total
	}
	return prices, total, nil
}

// amountsOf are what a room costs on each night of a stay before differences.
func (f *facts) amountsOf(stay StayRequest) map[civil.Date]int64 {
	amounts := make(map[civil.Date]int64, stay.nights())
	of := f.stay(stay)
	for night := stay.CheckIn; night.Before(stay.CheckOut); night = night.AddDays(1) {
		if amount, ok := of.nightPrice(night); ok {
			amounts[night] = amount
		}
	}
	return amounts
}
