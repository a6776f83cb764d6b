package graph

import (
	"errors"
	"strings"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
)

func quoteView(q inventory.Quote) generated.Quote {
	lines := make([]inventory.LineRequest, 0, len(q.Stays))
	view := generated.Quote{AsOf: q.AsOf, Stays: each(q.Stays, func(s inventory.StayQuote) generated.StayQuote {
		for len(lines) <= s.Line {
			lines = append(lines, inventory.LineRequest{})
		}
		lines[s.Line].Stay = &s.Stay
		stay := generated.StayQuote{
			Line: int64(s.Line), CheckIn: s.Stay.CheckIn, CheckOut: s.Stay.CheckOut, Rooms: s.Stay.Rooms, Version: orNull(s.Version), Source: s,
		}
		if s.Price != nil {
			price := stayPriceView(*s.Price)
			stay.Price = &price
		}
		return stay
	})}
	view.Refused = refusedLinesView(q.Refused, lines)
	if q.Total != nil {
		total := moneyView(*q.Total)
		view.Total = &total
	}
	return view
}

func quoteOrNull(q *inventory.Quote) *generated.Quote {
	if q == nil {
		return nil
	}
	view := quoteView(*q)
	return &view
}

func heldStayPriceView(p inventory.HeldPrice) generated.HeldStayPrice {
	return generated.HeldStayPrice{Item: p.Item, Price: stayPriceView(p.Price)}
}

func stayPriceView(p inventory.StayPrice) generated.StayPrice {
	amount := func(minor int64) generated.Money { return moneyView(money.Amount{Minor: minor, Currency: p.Currency}) }
	view := generated.StayPrice{
		Total: amount(p.Total), Rooms: amount(p.Rooms), Discount: amount(p.Discount), Added: amount(p.Added), Tax: amount(p.Tax),
		TaxRate: taxRateView(p.TaxBasisPoints), Rounding: roundingView(p.Rounding),
		Nights: each(p.Nights, func(n inventory.NightPrice) generated.NightPrice {
			return generated.NightPrice{Night: n.Night, Rooms: amount(n.Rooms), Discount: amount(n.Discount), Added: amount(n.Added), Total: amount(n.Total)}
		}),
		Charges: each(p.Charges, func(c inventory.ChargePrice) generated.ChargePrice {
			return generated.ChargePrice{Name: c.Name, Kind: generated.ChargeKind(c.Kind), Included: c.Included, Amount: amount(c.Minor)}
		}),
	}
	if p.Promotion != nil {
		view.Promotion = &generated.AppliedPromotion{ID: p.Promotion.ID.String(), Name: p.Promotion.Name, Code: orNull(p.Promotion.Code)}
	}
	return view
}

func roundingView(r inventory.RoundingRule) generated.RoundingRule {
	return generated.RoundingRule{Level: generated.RoundingLevel(r.Level), Mode: generated.RoundingMode(r.Mode)}
}

func ratesView(r inventory.Rates) generated.Rates {
	return generated.Rates{
		Guests: each(r.Guests, guestPricesView), Adjustments: each(r.Adjustments, adjustmentsView),
		Charges: each(r.Charges, stayChargeView), Rounding: roundingView(r.Rounding),
	}
}

func planOrNull(plan *inventory.RatePlanID) *string {
	if plan == nil {
		return nil
	}
	return idOrNull(*plan)
}

func guestPricesView(p inventory.RoomGuestPrices) generated.GuestPrices {
	return generated.GuestPrices{
		RoomTypeID: p.RoomType.String(), RatePlanID: planOrNull(p.RatePlan), BaseOccupancy: p.Prices.BaseOccupancy,
		ExtraAdultMinor: p.Prices.ExtraAdult, SingleReductionMinor: p.Prices.SingleReduction,
		Ages: each(p.Prices.Ages, func(a inventory.AgeBand) generated.AgeBand {
			return generated.AgeBand{FromAge: a.FromAge, ToAge: a.ToAge, AmountMinor: a.Minor}
		}),
	}
}

func adjustmentsView(p inventory.PlanAdjustments) generated.RateAdjustments {
	return generated.RateAdjustments{
		RatePlanID: planOrNull(p.RatePlan),
		Adjustments: each(p.Adjustments, func(a inventory.RateAdjustment) generated.RateAdjustment {
			view := generated.RateAdjustment{MinNights: a.MinNights, BasisPoints: a.BasisPoints, AmountMinor: a.Minor}
			if a.Weekday != nil {
				weekday := weekdayView(*a.Weekday)
				view.Weekday = &weekday
			}
			return view
		}),
	}
}

func stayChargeView(c inventory.Charge) generated.StayCharge {
	return generated.StayCharge{
		Name: c.Name, Kind: generated.ChargeKind(c.Kind), Included: c.Included, BasisPoints: c.BasisPoints, AmountMinor: c.Minor, ExemptBelowAge: c.ExemptBelow,
	}
}

func promotionView(p inventory.Promotion) generated.Promotion {
	return generated.Promotion{
		ID: p.ID.String(), PropertyID: p.Property.String(), Name: p.Terms.Name, Code: orNull(p.Code), State: generated.PromotionState(p.State),
		BasisPoints: p.Terms.BasisPoints, AmountMinor: p.Terms.Minor, BookFrom: p.Terms.BookFrom, BookUntil: p.Terms.BookUntil,
		StayFrom: p.Terms.StayFrom, StayTo: p.Terms.StayTo, MinNights: p.Terms.MinNights, Uses: p.Uses, Held: p.Held, Used: p.Used,
		RoomTypeIds: each(p.Terms.RoomTypes, func(id inventory.RoomTypeID) string { return id.String() }),
		RatePlanIds: each(p.Terms.RatePlans, func(id inventory.RatePlanID) string { return id.String() }),
	}
}

// inTerms says of a fault of a promotion where its field stands: its terms are an input of their own.
func inTerms(err error) error {
	var known *fault.Error
	if !errors.As(err, &known) || known.Field == "" {
		return err
	}
	switch field, _, _ := strings.Cut(known.Field, "."); field {
	case "requestKey", "property", "code", "uses", "state", "promotion":
		return inInput(err)
	}
	return fault.InField("input.terms", err)
}
