package graph

import (
	"context"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// RatePlan returns generated.RatePlanResolver implementation.
func (r *Resolver) RatePlan() generated.RatePlanResolver { return &ratePlanResolver{r} }

type ratePlanResolver struct{ *Resolver }

// readStay reads what a buyer wants of a hotel.
func readStay(d *decoder, field string, stay generated.StayInput) inventory.StayRequest {
	return inventory.StayRequest{
		RoomType: readID[inventory.RoomTypeKind](d, field+".roomType", stay.RoomType),
		CheckIn:  stay.CheckIn, CheckOut: stay.CheckOut, Rooms: stay.Rooms,
		RatePlan: readOptionalID[inventory.RatePlanKind](d, field+".ratePlan", stay.RatePlan), Guests: guestsOf(stay.Guests),
	}
}

func guestsOf(rooms []generated.GuestsInput) []inventory.Guests {
	guests := make([]inventory.Guests, len(rooms))
	for i, room := range rooms {
		guests[i] = inventory.Guests{Adults: room.Adults, ChildAges: room.ChildAges}
	}
	return guests
}

// WhyNot is the resolver for the whyNot field.
func (r *queryResolver) WhyNot(ctx context.Context, stay generated.StayInput) (*generated.WhyNot, error) {
	var d decoder
	wanted := readStay(&d, "stay", stay)
	if d.err != nil {
		return nil, d.err
	}
	answer, err := r.inventory.WhyNot(ctx, actorOf(ctx), wanted)
	return one(answer, err, whyNotView)
}

// CreateRatePlan is the resolver for the createRatePlan field.
func (r *mutationResolver) CreateRatePlan(ctx context.Context, input generated.CreateRatePlanInput) (*generated.RatePlan, error) {
	var d decoder
	plan := inventory.NewRatePlan{
		Property: readID[tenants.PropertyKind](&d, "input.property", input.Property), Code: input.Code, Name: input.Name,
		Refundable: input.Refundable, Derivation: readDerivation(&d, input.Derivation),
	}
	if d.err != nil {
		return nil, d.err
	}
	created, err := r.inventory.CreateRatePlan(ctx, actorOf(ctx), input.RequestKey, plan)
	return one(created, inInput(err), ratePlanView)
}

// UpdateRatePlan is the resolver for the updateRatePlan field.
func (r *mutationResolver) UpdateRatePlan(ctx context.Context, input generated.UpdateRatePlanInput) (*generated.RatePlan, error) {
	var d decoder
	id := readID[inventory.RatePlanKind](&d, "input.ratePlan", input.RatePlan)
	change := inventory.RatePlanChange{Name: input.Name, State: (*inventory.RatePlanState)(input.State), Refundable: input.Refundable}
	if input.Derivation != nil || input.OwnPrices {
		derivation := readDerivation(&d, input.Derivation)
		change.Derivation = &derivation
	}
	if d.err != nil {
		return nil, d.err
	}
	if input.Derivation != nil && input.OwnPrices {
		return nil, fault.Invalid("input.ownPrices", "expected derivation or ownPrices, not both")
	}
	changed, err := r.inventory.UpdateRatePlan(ctx, actorOf(ctx), id, change)
	return one(changed, inInput(err), ratePlanView)
}

// readDerivation reads how prices follow from others; without one a plan has its own.
func readDerivation(d *decoder, input *generated.RatePlanDerivationInput) inventory.Derivation {
	if input == nil {
		return inventory.Derivation{}
	}
	const field = "input.derivation"
	derivation := inventory.Derivation{Parent: readOptionalID[inventory.RatePlanKind](d, field+".parent", input.Parent)}
	switch {
	case (input.BasisPoints == nil) == (input.AmountMinor == nil):
		d.refuse(field, fault.Invalid(field, "expected exactly one of basisPoints and amountMinor"))
	case input.BasisPoints != nil:
		derivation.Kind, derivation.BasisPoints = inventory.DerivationPercent, *input.BasisPoints
	default:
		derivation.Kind, derivation.Minor = inventory.DerivationAmount, *input.AmountMinor
	}
	return derivation
}

// SetBookingWindow is the resolver for the setBookingWindow field.
func (r *mutationResolver) SetBookingWindow(ctx context.Context, input generated.SetBookingWindowInput) (*generated.BookingWindow, error) {
	var d decoder
	scope := inventory.WindowScope{
		Property: readOptionalID[tenants.PropertyKind](&d, "input.property", input.Property),
		RatePlan: readOptionalID[inventory.RatePlanKind](&d, "input.ratePlan", input.RatePlan),
	}
	window := inventory.BookingWindow{MinAdvanceDays: input.MinAdvanceDays, MaxAdvanceDays: input.MaxAdvanceDays}
	if input.CutoffTime != nil {
		cutoff := readTimeOfDay(&d, "input.cutoffTime", *input.CutoffTime)
		window.Cutoff = &cutoff
	}
	if d.err != nil {
		return nil, d.err
	}
	set, err := r.inventory.SetBookingWindow(ctx, actorOf(ctx), scope, window)
	return one(set, inInput(err), bookingWindowView)
}

// RatePlans is the resolver for the ratePlans field.
func (r *propertyResolver) RatePlans(ctx context.Context, obj *generated.Property) ([]generated.RatePlan, error) {
	plans, err := loadList(ctx, loadersOf(ctx).plansOf, obj.Source.ID)
	return each(plans, ratePlanView), err
}

// BookingWindow is the resolver for the bookingWindow field.
func (r *propertyResolver) BookingWindow(ctx context.Context, obj *generated.Property) (*generated.BookingWindow, error) {
	window, err := r.inventory.HotelBookingWindow(ctx, actorOf(ctx), obj.Source.ID)
	return one(window, err, bookingWindowView)
}

// Property is the resolver for the property field.
func (r *ratePlanResolver) Property(ctx context.Context, obj *generated.RatePlan) (*generated.Property, error) {
	property, err := load(ctx, loadersOf(ctx).properties, obj.Source.Property, "property")
	return one(property, err, propertyView)
}

// CancellationPolicy is the resolver for the cancellationPolicy field.
func (r *ratePlanResolver) CancellationPolicy(ctx context.Context, obj *generated.RatePlan) (*generated.CancellationPolicy, error) {
	offer, err := load(ctx, loadersOf(ctx).conditions, inventory.Site{Property: obj.Source.Property, RatePlan: obj.Source.ID}, "rate plan")
	return one(offer.Policy, err, policyView)
}

// RatePlan is the resolver for the ratePlan field.
func (r *unitResolver) RatePlan(ctx context.Context, obj *generated.Unit) (*generated.RatePlan, error) {
	if obj.Source.RatePlan.IsZero() {
		return nil, nil //nolint:nilnil // null is the standard rate
	}
	return loadOrNull(ctx, loadersOf(ctx).ratePlans, obj.Source.RatePlan, ratePlanView)
}

func (r *queryResolver) ratePlan(ctx context.Context, text string) (*generated.RatePlan, error) {
	var d decoder
	id := readID[inventory.RatePlanKind](&d, "id", text)
	if d.err != nil {
		return nil, d.err
	}
	plan, err := load(ctx, loadersOf(ctx).ratePlans, id, "rate plan")
	return one(plan, err, ratePlanView)
}

func ratePlanView(p inventory.RatePlan) generated.RatePlan {
	view := generated.RatePlan{
		ID: p.ID.String(), Code: p.Code, Name: p.Name, State: generated.RatePlanState(p.State), Refundable: p.Refundable,
		BookingWindow: bookingWindowView(p.Window), Source: p,
	}
	if p.Derivation.Kind == "" {
		return view
	}
	view.Derivation = &generated.RatePlanDerivation{}
	if p.Derivation.Parent != nil {
		view.Derivation.ParentID = idOrNull(*p.Derivation.Parent)
	}
	if p.Derivation.Kind == inventory.DerivationPercent {
		view.Derivation.BasisPoints = &p.Derivation.BasisPoints
	} else {
		view.Derivation.AmountMinor = &p.Derivation.Minor
	}
	return view
}

func bookingWindowView(w inventory.BookingWindow) generated.BookingWindow {
	view := generated.BookingWindow{MinAdvanceDays: w.MinAdvanceDays, MaxAdvanceDays: w.MaxAdvanceDays}
	if w.Cutoff != nil {
		cutoff := w.Cutoff.String()
		view.CutoffTime = &cutoff
	}
	return view
}

func whyNotView(w inventory.WhyNot) generated.WhyNot {
	return generated.WhyNot{AsOf: w.AsOf, Objections: each(w.Objections, func(o inventory.Objection) generated.Objection {
		return generated.Objection{Code: generated.RefusalCode(o.Code), Level: levelView(o.Level), Night: o.Night, Limit: o.Limit, Available: o.Available}
	})}
}

func levelView(level inventory.RuleLevel) *generated.RuleLevel {
	if level == "" {
		return nil
	}
	view := generated.RuleLevel(level)
	return &view
}
