package graph

import (
	"context"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

const listPromotions = "promotions"

// StayQuote returns generated.StayQuoteResolver implementation.
func (r *Resolver) StayQuote() generated.StayQuoteResolver { return &stayQuoteResolver{r} }

type stayQuoteResolver struct{ *Resolver }

// Quote is the resolver for the quote field.
func (r *queryResolver) Quote(ctx context.Context, stays []generated.StayInput, promotionCode *string) (*generated.Quote, error) {
	var d decoder
	wanted := make([]inventory.StayRequest, len(stays))
	for i, stay := range stays {
		wanted[i] = readStay(&d, indexed("stays", i), stay)
	}
	if d.err != nil {
		return nil, d.err
	}
	quote, err := r.inventory.Quote(ctx, actorOf(ctx), wanted, textOf(promotionCode))
	return one(quote, err, quoteView)
}

// RoomType is the resolver for the roomType field.
func (r *stayQuoteResolver) RoomType(ctx context.Context, obj *generated.StayQuote) (*generated.RoomType, error) {
	return loadOrNull(ctx, loadersOf(ctx).roomTypes, obj.Source.Stay.RoomType, roomTypeView)
}

// CancellationPolicy is the resolver for the cancellationPolicy field.
func (r *stayQuoteResolver) CancellationPolicy(ctx context.Context, obj *generated.StayQuote) (*generated.CancellationPolicy, error) {
	property, err := load(ctx, loadersOf(ctx).properties, obj.Source.Property, "property")
	if err != nil {
		return nil, err
	}
	site := inventory.Site{Property: property.ID}
	if plan := obj.Source.Stay.RatePlan; plan != nil {
		site.RatePlan = *plan
	}
	return policyOfSite(ctx, property, site, &obj.Source.Stay.CheckIn)
}

// StayPrices is the resolver for the stayPrices field.
func (r *holdResolver) StayPrices(ctx context.Context, obj *generated.Hold) ([]generated.HeldStayPrice, error) {
	prices, err := loadList(ctx, loadersOf(ctx).prices, obj.Source)
	return each(prices, heldStayPriceView), err
}

// StayPrices is the resolver for the stayPrices field.
func (r *bookingResolver) StayPrices(ctx context.Context, obj *generated.Booking) ([]generated.HeldStayPrice, error) {
	prices, err := loadList(ctx, loadersOf(ctx).prices, obj.Source)
	return each(prices, heldStayPriceView), err
}

// Rates is the resolver for the rates field.
func (r *queryResolver) Rates(ctx context.Context, property string) (*generated.Rates, error) {
	var d decoder
	of := readID[tenants.PropertyKind](&d, "property", property)
	if d.err != nil {
		return nil, d.err
	}
	rates, err := r.inventory.RatesOf(ctx, actorOf(ctx), of)
	return one(rates, err, ratesView)
}

// Promotions is the resolver for the promotions field.
func (r *queryResolver) Promotions(ctx context.Context, property string, first int64, after *string) (*generated.PromotionConnection, error) {
	var d decoder
	of := readID[tenants.PropertyKind](&d, "property", property)
	from := uuid.Nil
	if key := readCursor(&d, listPromotions, after); key != "" {
		from = readID[inventory.PromotionKind](&d, "after", key).UUID
	}
	if d.err != nil {
		return nil, d.err
	}
	promotions, more, err := r.inventory.Promotions(ctx, actorOf(ctx), of, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.PromotionConnection
	c.Edges, c.Nodes, c.PageInfo = connect(promotions, more,
		func(p inventory.Promotion) string { return encodeCursor(listPromotions, p.ID.String()) }, promotionView,
		func(cursor string, node generated.Promotion) generated.PromotionEdge {
			return generated.PromotionEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// SetGuestPrices is the resolver for the setGuestPrices field.
func (r *mutationResolver) SetGuestPrices(ctx context.Context, input generated.SetGuestPricesInput) (*generated.GuestPrices, error) {
	var d decoder
	room := readID[inventory.RoomTypeKind](&d, "input.roomType", input.RoomType)
	plan := readOptionalID[inventory.RatePlanKind](&d, "input.ratePlan", input.RatePlan)
	if d.err != nil {
		return nil, d.err
	}
	set, err := r.inventory.SetGuestPrices(ctx, actorOf(ctx), room, plan, inventory.GuestPrices{
		BaseOccupancy: input.BaseOccupancy, ExtraAdult: input.ExtraAdultMinor, SingleReduction: input.SingleReductionMinor,
		Ages: each(input.Ages, func(a generated.AgeBandInput) inventory.AgeBand {
			return inventory.AgeBand{FromAge: a.FromAge, ToAge: a.ToAge, Minor: a.AmountMinor}
		}),
	})
	return one(inventory.RoomGuestPrices{RoomType: room, RatePlan: plan, Prices: set}, inInput(err), guestPricesView)
}

// SetRateAdjustments is the resolver for the setRateAdjustments field.
func (r *mutationResolver) SetRateAdjustments(ctx context.Context, input generated.SetRateAdjustmentsInput) (*generated.RateAdjustments, error) {
	var d decoder
	property := readID[tenants.PropertyKind](&d, "input.property", input.Property)
	plan := readOptionalID[inventory.RatePlanKind](&d, "input.ratePlan", input.RatePlan)
	if d.err != nil {
		return nil, d.err
	}
	set, err := r.inventory.SetRateAdjustments(ctx, actorOf(ctx), property, plan, each(input.Adjustments, func(a generated.RateAdjustmentInput) inventory.RateAdjustment {
		read := inventory.RateAdjustment{MinNights: a.MinNights, BasisPoints: a.BasisPoints, Minor: a.AmountMinor}
		if a.Weekday != nil {
			weekday := weekdayOf(*a.Weekday)
			read.Weekday = &weekday
		}
		return read
	}))
	return one(inventory.PlanAdjustments{RatePlan: plan, Adjustments: set}, inInput(err), adjustmentsView)
}

// SetTaxesAndFees is the resolver for the setTaxesAndFees field.
func (r *mutationResolver) SetTaxesAndFees(ctx context.Context, input generated.SetTaxesAndFeesInput) ([]generated.StayCharge, error) {
	var d decoder
	property := readID[tenants.PropertyKind](&d, "input.property", input.Property)
	if d.err != nil {
		return nil, d.err
	}
	set, err := r.inventory.SetTaxesAndFees(ctx, actorOf(ctx), property, each(input.Charges, func(c generated.StayChargeInput) inventory.Charge {
		return inventory.Charge{
			Name: c.Name, Kind: inventory.ChargeKind(c.Kind), Included: c.Included, BasisPoints: c.BasisPoints, Minor: c.AmountMinor, ExemptBelow: c.ExemptBelowAge,
		}
	}))
	return each(set, stayChargeView), inInput(err)
}

// SetRoundingRule is the resolver for the setRoundingRule field.
func (r *mutationResolver) SetRoundingRule(ctx context.Context, input generated.SetRoundingRuleInput) (*generated.RoundingRule, error) {
	set, err := r.inventory.SetRoundingRule(ctx, actorOf(ctx), inventory.RoundingRule{Level: inventory.RoundingLevel(input.Level), Mode: money.Rounding(input.Mode)})
	return one(set, inInput(err), roundingView)
}

// CreatePromotion is the resolver for the createPromotion field.
func (r *mutationResolver) CreatePromotion(ctx context.Context, input generated.CreatePromotionInput) (*generated.Promotion, error) {
	var d decoder
	wanted := inventory.NewPromotion{
		Property: readID[tenants.PropertyKind](&d, "input.property", input.Property), Terms: readPromotion(&d, "input.terms", input.Terms),
		Code: textOf(input.Code), Uses: input.Uses,
	}
	if d.err != nil {
		return nil, d.err
	}
	promotion, err := r.inventory.CreatePromotion(ctx, actorOf(ctx), input.RequestKey, wanted)
	return one(promotion, inTerms(err), promotionView)
}

// UpdatePromotion is the resolver for the updatePromotion field.
func (r *mutationResolver) UpdatePromotion(ctx context.Context, input generated.UpdatePromotionInput) (*generated.Promotion, error) {
	var d decoder
	id := readID[inventory.PromotionKind](&d, "input.promotion", input.Promotion)
	change := inventory.PromotionChange{Terms: readPromotion(&d, "input.terms", input.Terms), State: inventory.PromotionState(input.State), Uses: input.Uses}
	if d.err != nil {
		return nil, d.err
	}
	promotion, err := r.inventory.UpdatePromotion(ctx, actorOf(ctx), input.RequestKey, id, change)
	return one(promotion, inTerms(err), promotionView)
}

func readPromotion(d *decoder, field string, terms generated.PromotionTermsInput) inventory.PromotionTerms {
	read := inventory.PromotionTerms{
		Name: terms.Name, BasisPoints: terms.BasisPoints, Minor: terms.AmountMinor, BookFrom: terms.BookFrom, BookUntil: terms.BookUntil,
		StayFrom: terms.StayFrom, StayTo: terms.StayTo, MinNights: terms.MinNights,
	}
	for i, room := range terms.RoomTypes {
		read.RoomTypes = append(read.RoomTypes, readID[inventory.RoomTypeKind](d, indexed(field+".roomTypes", i), room))
	}
	for i, plan := range terms.RatePlans {
		read.RatePlans = append(read.RatePlans, readID[inventory.RatePlanKind](d, indexed(field+".ratePlans", i), plan))
	}
	return read
}
