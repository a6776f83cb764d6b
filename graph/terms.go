package graph

import (
	"context"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// Terms is the resolver for the terms field.
func (r *queryResolver) Terms(ctx context.Context, show, property *string) (*generated.Terms, error) {
	scope, err := readScope("", show, property)
	if err != nil {
		return nil, err
	}
	terms, err := r.inventory.Terms(ctx, actorOf(ctx), scope)
	return one(terms, err, termsView)
}

// SetTerms is the resolver for the setTerms field.
func (r *mutationResolver) SetTerms(ctx context.Context, input generated.SetTermsInput) (*generated.Terms, error) {
	scope, err := readScope("input.", input.Show, input.Property)
	if err != nil {
		return nil, err
	}
	terms, err := r.inventory.SetTerms(ctx, actorOf(ctx), scope, inventory.TermsChange{
		HoldSeconds: input.HoldSeconds, MaxExtensions: input.MaxExtensions, MaxHoldSeconds: input.MaxHoldSeconds,
		ProcessingSeconds: input.ProcessingSeconds, GraceSeconds: input.GraceSeconds,
		LatePayment: (*inventory.LatePayment)(input.LatePayment), OnDecline: (*inventory.OnDecline)(input.OnDecline),
		MaxSeatsPerHold: input.MaxSeatsPerHold, MaxQuantityPerHold: input.MaxQuantityPerHold,
		MaxNightsPerStay: input.MaxNightsPerStay, MaxActiveHoldsPerBuyer: input.MaxActiveHoldsPerBuyer,
		MaxActiveHoldsPerInstrument: input.MaxActiveHoldsPerInstrument, MaxUnitsPerBuyer: input.MaxUnitsPerBuyer, MaxRemainingShown: input.MaxRemainingShown, OrphanSeats: (*inventory.OrphanSeats)(input.OrphanSeats), AdmissionRequired: input.AdmissionRequired, Capture: (*inventory.Capture)(input.Capture),
	})
	return one(terms, inInput(err), termsView)
}

func readScope(parent string, show, property *string) (inventory.TermsScope, error) {
	var d decoder
	scope := inventory.TermsScope{
		Show:     readOptionalID[inventory.ShowKind](&d, parent+"show", show),
		Property: readOptionalID[tenants.PropertyKind](&d, parent+"property", property),
	}
	if d.err == nil && scope.Show != nil && scope.Property != nil {
		d.err = fault.Invalid(parent+"property", "expected a show or a property, not both")
	}
	return scope, d.err
}

func termsView(t inventory.Terms) generated.Terms {
	return generated.Terms{
		HoldSeconds: t.HoldSeconds, MaxExtensions: t.MaxExtensions, MaxHoldSeconds: t.MaxHoldSeconds,
		ProcessingSeconds: t.ProcessingSeconds, GraceSeconds: t.GraceSeconds,
		LatePayment: generated.LatePayment(t.LatePayment), OnDecline: generated.OnDecline(t.OnDecline),
		MaxSeatsPerHold: t.MaxSeatsPerHold, MaxQuantityPerHold: t.MaxQuantityPerHold, MaxNightsPerStay: t.MaxNightsPerStay,
		MaxActiveHoldsPerBuyer: t.MaxActiveHoldsPerBuyer, MaxActiveHoldsPerInstrument: t.MaxActiveHoldsPerInstrument,
		MaxUnitsPerBuyer:  t.MaxUnitsPerBuyer,
		MaxRemainingShown: t.MaxRemainingShown,
		AdmissionRequired: t.AdmissionRequired, OrphanSeats: generated.OrphanSeats(t.OrphanSeats),
		Capture: generated.Capture(t.Capture),
	}
}
