package inventory

import (
	"errors"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/internal/money"
)

// monday is the first night of the stays of these tests.
var monday = civil.Date{Year: 2097, Month: time.November, Day: 4} //nolint:gochecknoglobals // a date cannot be a constant

func stayOf(rooms int64, nights int, guests ...Guests) StayRequest {
	return StayRequest{CheckIn: monday, CheckOut: monday.AddDays(nights), Rooms: rooms, Guests: guests}
}

func amountsFrom(amounts ...int64) map[civil.Date]int64 {
	of := make(map[civil.Date]int64, len(amounts))
	for i, amount := range amounts {
		of[monday.AddDays(i)] = amount
	}
	return of
}

func ptr[T any](value T) *T { return &value }

func nightly(rounding money.Rounding) RoundingRule {
	return RoundingRule{Level: RoundingLevelNight, Mode: rounding}
}

// Each value was reckoned by hand.
func TestWhatAStayCosts(t *testing.T) {
	t.Parallel()
	if monday.Weekday() != time.Monday {
		t.Fatalf("the tests begin on a %s", monday.Weekday())
	}
	family := GuestPrices{BaseOccupancy: 2, ExtraAdult: 3000, SingleReduction: 1500, Ages: []AgeBand{{0, 2, 0}, {3, 11, 1000}}}
	for name, c := range map[string]struct {
		stay     StayRequest
		facts    priceFacts
		rooms    []int64
		added    []int64
		tax      int64
		charges  []int64
		discount int64
	}{
		// C43: the sum of the nights, not the first one three times.
		"nights are added up": {
			stay: stayOf(2, 3), facts: priceFacts{amounts: amountsFrom(10000, 11000, 15000), guests: family, rounding: nightly(money.HalfUp)},
			rooms: []int64{20000, 22000, 30000}, added: []int64{0, 0, 0},
		},
		"one adult alone": {
			stay: stayOf(1, 1, Guests{Adults: 1}), facts: priceFacts{amounts: amountsFrom(10000), guests: family, rounding: nightly(money.HalfUp)},
			rooms: []int64{8500}, added: []int64{0},
		},
		// A baby is free, a child of 5 is 10.00, one of 12 is an adult: three adults, one of them extra.
		"children by age": {
			stay:  stayOf(1, 1, Guests{Adults: 2, ChildAges: []int64{1, 5, 12}}),
			facts: priceFacts{amounts: amountsFrom(10000), guests: family, rounding: nightly(money.HalfUp)},
			rooms: []int64{14000}, added: []int64{0},
		},
		// The parent alone with a child has no reduction: 100.00 + 10.00; the other room has three adults.
		"each room has its guests": {
			stay:  stayOf(2, 1, Guests{Adults: 1, ChildAges: []int64{3}}, Guests{Adults: 3}),
			facts: priceFacts{amounts: amountsFrom(10000), guests: family, rounding: nightly(money.HalfUp)},
			rooms: []int64{11000 + 13000}, added: []int64{0},
		},
		// Monday 10 % more is 110.00, then three nights 5 % less: 104.50; Tuesday and Wednesday 95.00.
		"weekday and length": {
			stay: stayOf(1, 3),
			facts: priceFacts{
				amounts: amountsFrom(10000, 10000, 10000), guests: family, rounding: nightly(money.HalfUp),
				adjustments: []RateAdjustment{
					{MinNights: ptr(int64(2)), BasisPoints: -100},
					{MinNights: ptr(int64(3)), BasisPoints: -500},
					{MinNights: ptr(int64(4)), BasisPoints: -9000},
					{Weekday: ptr(time.Monday), BasisPoints: 1000},
				},
			},
			rooms: []int64{10450, 9500, 9500}, added: []int64{0, 0, 0},
		},
		"never below zero": {
			stay:  stayOf(1, 1, Guests{Adults: 1}),
			facts: priceFacts{amounts: amountsFrom(1000), guests: family, rounding: nightly(money.HalfUp), adjustments: []RateAdjustment{{Weekday: ptr(time.Monday), Minor: -5000}}},
			rooms: []int64{0}, added: []int64{0},
		},
		// R62: 33.33 and 21 % within; at night level twice 5.78, of the stay 66.66 it is 11.57.
		"tax within, of each night": {
			stay:  stayOf(1, 2),
			facts: priceFacts{amounts: amountsFrom(3333, 3333), guests: family, rounding: nightly(money.HalfUp), charges: []Charge{{Name: "VAT", Kind: ChargeKindPercent, Included: true, BasisPoints: 2100}}},
			rooms: []int64{3333, 3333}, added: []int64{0, 0}, tax: 1156, charges: []int64{1156},
		},
		"tax within, of the stay": {
			stay: stayOf(1, 2),
			facts: priceFacts{
				amounts: amountsFrom(3333, 3333), guests: family, rounding: RoundingRule{Level: RoundingLevelStay, Mode: money.HalfUp},
				charges: []Charge{{Name: "VAT", Kind: ChargeKindPercent, Included: true, BasisPoints: 2100}},
			},
			rooms: []int64{3333, 3333}, added: []int64{0, 0}, tax: 1157, charges: []int64{1157},
		},
		// 10 % on top of 0.25 is 2.5 cents: 3 up, 2 even; of both nights together it is 5.
		"tax on top, half up": {
			stay:  stayOf(1, 2),
			facts: priceFacts{amounts: amountsFrom(25, 25), guests: family, rounding: nightly(money.HalfUp), charges: []Charge{{Name: "Tax", Kind: ChargeKindPercent, BasisPoints: 1000}}},
			rooms: []int64{25, 25}, added: []int64{3, 3}, charges: []int64{6},
		},
		"tax on top, half even": {
			stay:  stayOf(1, 2),
			facts: priceFacts{amounts: amountsFrom(25, 25), guests: family, rounding: nightly(money.HalfEven), charges: []Charge{{Name: "Tax", Kind: ChargeKindPercent, BasisPoints: 1000}}},
			rooms: []int64{25, 25}, added: []int64{2, 2}, charges: []int64{4},
		},
		"tax on top, of the stay": {
			stay: stayOf(1, 2),
			facts: priceFacts{
				amounts: amountsFrom(25, 25), guests: family, rounding: RoundingRule{Level: RoundingLevelStay, Mode: money.HalfEven},
				charges: []Charge{{Name: "Tax", Kind: ChargeKindPercent, BasisPoints: 1000}},
			},
			rooms: []int64{25, 25}, added: []int64{2, 3}, charges: []int64{5},
		},
		// Two rooms with 2 adults and 2 adults and a child of 8, two nights. City tax 2.20 for each adult and
		// night: 4 x 2.20 = 8.80 a night. Linen 5.00 for each of 5 persons: 25.00. Cleaning 30.00 a room: 60.00.
		// Parking 4.00 a room and night: 8.00 a night. Booking fee 1.01 once: 0.50 and 0.51.
		"fees of every kind": {
			stay: stayOf(2, 2, Guests{Adults: 2}, Guests{Adults: 2, ChildAges: []int64{8}}),
			facts: priceFacts{amounts: amountsFrom(10000, 10000), guests: GuestPrices{BaseOccupancy: 2, Ages: []AgeBand{{0, 17, 0}}}, rounding: nightly(money.HalfUp), charges: []Charge{
				{Name: "City tax", Kind: ChargeKindPersonNight, Minor: 220, ExemptBelow: 15},
				{Name: "Linen", Kind: ChargeKindPersonStay, Minor: 500},
				{Name: "Cleaning", Kind: ChargeKindRoomStay, Minor: 3000},
				{Name: "Parking", Kind: ChargeKindRoomNight, Minor: 400},
				{Name: "Booking fee", Kind: ChargeKindStay, Minor: 101},
				{Name: "Breakfast", Kind: ChargeKindPersonNight, Included: true, Minor: 900},
			}},
			rooms: []int64{20000, 20000}, added: []int64{880 + 1250 + 3000 + 800 + 50, 880 + 1250 + 3000 + 800 + 51},
			charges: []int64{1760, 2500, 6000, 1600, 101, 9000},
		},
		// 15 % off 33.33 is 5.00 (4.9995), and the included tax is reckoned from what is left: 28.33 at 10 %.
		"a percentage off": {
			stay: stayOf(1, 1),
			facts: priceFacts{
				amounts: amountsFrom(3333), guests: family, rounding: nightly(money.HalfUp), promotion: &promotionTerms{basisPoints: 1500},
				charges: []Charge{{Name: "VAT", Kind: ChargeKindPercent, Included: true, BasisPoints: 1000}},
			},
			rooms: []int64{2833}, added: []int64{0}, tax: 258, charges: []int64{258}, discount: 500,
		},
		// 10.00 off 30.00 and 60.00, in proportion.
		"an amount off": {
			stay:  stayOf(1, 2),
			facts: priceFacts{amounts: amountsFrom(3000, 6000), guests: family, rounding: nightly(money.HalfUp), promotion: &promotionTerms{minor: 1000}},
			rooms: []int64{3000 - 333, 6000 - 667}, added: []int64{0, 0}, discount: 1000,
		},
		"no more off than there is": {
			stay:  stayOf(1, 2),
			facts: priceFacts{amounts: amountsFrom(30, 60), guests: family, rounding: nightly(money.HalfUp), promotion: &promotionTerms{minor: 1000}},
			rooms: []int64{0, 0}, added: []int64{0, 0}, discount: 90,
		},
		// Yen have no decimals: 8 % within 1980 is 146.67, so 147. A fee of 300 yen on top.
		"yen": {
			stay: stayOf(1, 1),
			facts: priceFacts{currency: "JPY", amounts: amountsFrom(1980), guests: family, rounding: nightly(money.HalfUp), charges: []Charge{
				{Name: "Tax", Kind: ChargeKindPercent, Included: true, BasisPoints: 800}, {Name: "Onsen", Kind: ChargeKindPersonNight, Minor: 150},
			}},
			rooms: []int64{1980}, added: []int64{300}, tax: 147, charges: []int64{147, 300},
		},
		// Dinars have three: 5 % on top of 12.345 is 0.61725, so 0.617; 10.001 gives 0.50005, so 0.500.
		"dinars": {
			stay:  stayOf(1, 2),
			facts: priceFacts{currency: "KWD", amounts: amountsFrom(12345, 10001), guests: family, rounding: nightly(money.HalfUp), charges: []Charge{{Name: "Tax", Kind: ChargeKindPercent, BasisPoints: 500}}},
			rooms: []int64{12345, 10001}, added: []int64{617, 500}, charges: []int64{1117},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			price, err := priceStay(c.stay, c.facts)
			if err != nil {
				t.Fatal(err)
			}
			for i, night := range price.Nights {
				if night.Rooms != c.rooms[i] || night.Added != c.added[i] {
					t.Errorf("night %d is %d and %d added, want %d and %d", i, night.Rooms, night.Added, c.rooms[i], c.added[i])
				}
			}
			for i, charge := range price.Charges {
				if charge.Minor != c.charges[i] {
					t.Errorf("%s is %d, want %d", charge.Name, charge.Minor, c.charges[i])
				}
			}
			if price.Tax != c.tax || price.Discount != c.discount {
				t.Errorf("tax %d and discount %d, want %d and %d", price.Tax, price.Discount, c.tax, c.discount)
			}
			expectSums(t, price)
		})
	}
}

type failer interface{ Errorf(string, ...any) }

// expectSums says that a price is the sum of its parts, whichever way they are added.
func expectSums(t failer, p StayPrice) {
	var rooms, discount, added, tax, total, charged, taxed int64
	for _, night := range p.Nights {
		if night.Rooms < 0 || night.Discount < 0 || night.Added < 0 || night.Tax < 0 || night.Tax > night.Rooms || night.Total != night.Rooms+night.Added {
			t.Errorf("the night is %+v", night)
		}
		rooms, discount, added, tax, total = rooms+night.Rooms, discount+night.Discount, added+night.Added, tax+night.Tax, total+night.Total
	}
	for _, charge := range p.Charges {
		switch {
		case !charge.Included:
			charged += charge.Minor
		case charge.Kind == ChargeKindPercent:
			taxed += charge.Minor
		}
	}
	if rooms != p.Rooms || discount != p.Discount || added != p.Added || tax != p.Tax || total != p.Total || total != rooms+added || charged != added || taxed != tax {
		t.Errorf("the parts of %+v do not add up", p)
	}
}

func drawFacts(rt *rapid.T, nights int) priceFacts {
	f := priceFacts{
		amounts: map[civil.Date]int64{},
		guests: GuestPrices{
			BaseOccupancy: rapid.Int64Range(1, 4).Draw(rt, "base"), ExtraAdult: rapid.Int64Range(0, 9999).Draw(rt, "extra"),
			SingleReduction: rapid.Int64Range(0, 20000).Draw(rt, "single"),
		},
		rounding: RoundingRule{
			Level: rapid.SampledFrom([]RoundingLevel{RoundingLevelNight, RoundingLevelStay}).Draw(rt, "level"),
			Mode:  rapid.SampledFrom([]money.Rounding{money.HalfUp, money.HalfEven}).Draw(rt, "mode"),
		},
	}
	for i := range nights {
		f.amounts[monday.AddDays(i)] = rapid.Int64Range(0, 50_000).Draw(rt, "amount")
	}
	for day := range rapid.IntRange(0, 7).Draw(rt, "weekdays") {
		a := RateAdjustment{Weekday: ptr(time.Weekday(day))}
		if rapid.Bool().Draw(rt, "percent") {
			a.BasisPoints = rapid.Int64Range(-10_000, 10_000).Draw(rt, "basis points")
		} else {
			a.Minor = rapid.Int64Range(-60_000, 60_000).Draw(rt, "minor")
		}
		f.adjustments = append(f.adjustments, a)
	}
	for range rapid.IntRange(0, 5).Draw(rt, "charges") {
		c := Charge{Included: rapid.Bool().Draw(rt, "included"), Kind: rapid.SampledFrom([]ChargeKind{
			ChargeKindPercent, ChargeKindRoomNight, ChargeKindPersonNight, ChargeKindPersonStay, ChargeKindRoomStay, ChargeKindStay,
		}).Draw(rt, "kind")}
		if c.Kind == ChargeKindPercent {
			c.Included, c.BasisPoints = false, rapid.Int64Range(0, 10_000).Draw(rt, "rate")
		} else {
			c.Minor = rapid.Int64Range(0, 9999).Draw(rt, "fee")
		}
		f.charges = append(f.charges, c)
	}
	if rapid.Bool().Draw(rt, "taxed") {
		f.charges = append(f.charges, Charge{Kind: ChargeKindPercent, Included: true, BasisPoints: rapid.Int64Range(0, 10_000).Draw(rt, "tax")})
	}
	switch rapid.IntRange(0, 2).Draw(rt, "promotion") {
	case 1:
		f.promotion = &promotionTerms{basisPoints: rapid.Int64Range(1, 10_000).Draw(rt, "off")}
	case 2:
		f.promotion = &promotionTerms{minor: rapid.Int64Range(1, 100_000).Draw(rt, "off")}
	}
	return f
}

// Parts add up and are never below zero; a dearer night, one more adult or a higher fee never makes the stay
// cheaper; and the same stay costs the same however its nights are stored.
func TestPricesAreSums(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		nights := rapid.IntRange(1, 10).Draw(rt, "nights")
		f := drawFacts(rt, nights)
		stay := stayOf(rapid.Int64Range(1, 5).Draw(rt, "rooms"), nights, Guests{
			Adults: rapid.Int64Range(1, 5).Draw(rt, "adults"), ChildAges: rapid.SliceOfN(rapid.Int64Range(0, 17), 0, 3).Draw(rt, "children"),
		})
		price, err := priceStay(stay, f)
		if err != nil {
			rt.Fatal(err)
		}
		expectSums(rt, price)

		again := map[civil.Date]int64{}
		for i := nights - 1; i >= 0; i-- {
			again[monday.AddDays(i)] = f.amounts[monday.AddDays(i)]
		}
		same := f
		same.amounts = again
		if other, err := priceStay(stay, same); err != nil || versionOf(stay, other) != versionOf(stay, price) {
			rt.Fatalf("the same stay is %+v, %v", other, err)
		}

		dearer := f
		dearer.amounts = map[civil.Date]int64{}
		for night, amount := range f.amounts {
			dearer.amounts[night] = amount
		}
		dearer.amounts[monday.AddDays(rapid.IntRange(0, nights-1).Draw(rt, "night"))] += rapid.Int64Range(1, 1000).Draw(rt, "more")
		if more, err := priceStay(stay, dearer); err != nil || more.Total < price.Total {
			rt.Fatalf("a dearer night made %d of %d: %v", more.Total, price.Total, err)
		}
		fuller := stay
		fuller.Guests = []Guests{{Adults: stay.Guests[0].Adults + 1, ChildAges: stay.Guests[0].ChildAges}}
		if more, err := priceStay(fuller, f); err != nil || more.Total < price.Total {
			rt.Fatalf("one more adult made %d of %d: %v", more.Total, price.Total, err)
		}
		charged := f
		charged.charges = append([]Charge{{Kind: ChargeKindStay, Minor: 7}}, f.charges...)
		if more, err := priceStay(stay, charged); err != nil || more.Total != price.Total+7 {
			rt.Fatalf("a fee of 7 made %d of %d: %v", more.Total, price.Total, err)
		}
	})
}

func TestPricesThatDoNotFit(t *testing.T) {
	t.Parallel()
	base := GuestPrices{BaseOccupancy: 2}
	for name, c := range map[string]struct {
		stay  StayRequest
		facts priceFacts
	}{
		"a night":         {stayOf(2, 1), priceFacts{amounts: amountsFrom(money.MaxMinor), guests: base}},
		"a stay":          {stayOf(1, 2), priceFacts{amounts: amountsFrom(money.MaxMinor, 1), guests: base}},
		"an extra adult":  {stayOf(1, 1, Guests{Adults: 3}), priceFacts{amounts: amountsFrom(money.MaxMinor), guests: GuestPrices{BaseOccupancy: 2, ExtraAdult: money.MaxMinor}}},
		"a fee":           {stayOf(100, 366), priceFacts{amounts: yearOf(0), guests: base, charges: []Charge{{Kind: ChargeKindPersonNight, Minor: money.MaxMinor}}}},
		"a tax on top":    {stayOf(1, 1), priceFacts{amounts: amountsFrom(money.MaxMinor), guests: base, charges: []Charge{{Kind: ChargeKindPercent, BasisPoints: 1}}}},
		"fee on fee":      {stayOf(1, 1), priceFacts{amounts: amountsFrom(0), guests: base, charges: []Charge{{Kind: ChargeKindStay, Minor: money.MaxMinor}, {Kind: ChargeKindStay, Minor: 1}}}},
		"of many persons": {stayOf(100, 1, Guests{Adults: 100}), priceFacts{amounts: amountsFrom(0), guests: base, charges: []Charge{{Kind: ChargeKindPersonStay, Minor: money.MaxMinor}}}},
	} {
		if price, err := priceStay(c.stay, c.facts); !errors.Is(err, errPriceTooLarge) {
			t.Errorf("%s: %+v, %v", name, price, err)
		}
	}
	var missing noPriceError
	if _, err := priceStay(stayOf(1, 2), priceFacts{amounts: amountsFrom(1), guests: base}); !errors.As(err, &missing) || missing.night != monday.AddDays(1) {
		t.Errorf("a night without a price gave %v", err)
	}
}

func yearOf(amount int64) map[civil.Date]int64 {
	amounts := map[civil.Date]int64{}
	for i := range 366 {
		amounts[monday.AddDays(i)] = amount
	}
	return amounts
}

func TestVersionsStandForWhatWasPriced(t *testing.T) {
	t.Parallel()
	stay := stayOf(1, 1)
	price, err := priceStay(stay, priceFacts{currency: "EUR", amounts: amountsFrom(100), guests: GuestPrices{BaseOccupancy: 2}})
	if err != nil {
		t.Fatal(err)
	}
	version := versionOf(stay, price)
	quoted := stay
	quoted.Quote = version
	other := price
	other.Promotion = &AppliedPromotion{ID: PromotionID{Region: "eu", UUID: uuid.New()}}
	if versionOf(quoted, price) != version || versionOf(stay, other) == version || versionOf(stayOf(2, 1), price) == version {
		t.Errorf("version %s does not stand for the stay and its price", version)
	}
}
