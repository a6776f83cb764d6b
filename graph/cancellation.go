package graph

import (
	"context"
	"errors"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

const listFailedRefunds = "failedRefunds"

// CancellationPolicy is the resolver for the cancellationPolicy field.
func (r *queryResolver) CancellationPolicy(ctx context.Context, show, venue, property, ratePlan *string) (*generated.CancellationPolicy, error) {
	scope, err := readConditionsScope("", show, venue, property, ratePlan)
	if err != nil {
		return nil, err
	}
	policy, err := r.inventory.CancellationPolicy(ctx, actorOf(ctx), scope)
	return one(policy, err, policyView)
}

// SetCancellationPolicy is the resolver for the setCancellationPolicy field.
func (r *mutationResolver) SetCancellationPolicy(ctx context.Context, input generated.SetCancellationPolicyInput) (*generated.CancellationPolicy, error) {
	scope, err := readConditionsScope("input.", input.Show, input.Venue, input.Property, input.RatePlan)
	if err != nil {
		return nil, err
	}
	policy, err := readPolicy(input)
	if err != nil {
		return nil, err
	}
	set, err := r.inventory.SetCancellationPolicy(ctx, actorOf(ctx), scope, policy)
	return one(set, inInput(err), policyView)
}

// RemoveCancellationPolicy is the resolver for the removeCancellationPolicy field.
func (r *mutationResolver) RemoveCancellationPolicy(ctx context.Context, input generated.RemoveCancellationPolicyInput) (*generated.CancellationPolicy, error) {
	scope, err := readConditionsScope("input.", input.Show, input.Venue, input.Property, input.RatePlan)
	if err != nil {
		return nil, err
	}
	policy, err := r.inventory.RemoveCancellationPolicy(ctx, actorOf(ctx), scope)
	return one(policy, inInput(err), policyView)
}

// SetTaxRate is the resolver for the setTaxRate field.
func (r *mutationResolver) SetTaxRate(ctx context.Context, input generated.SetTaxRateInput) (*generated.TaxRate, error) {
	scope, err := readConditionsScope("input.", nil, input.Venue, input.Property, nil)
	if err != nil {
		return nil, err
	}
	if scope.Venue == nil && scope.Property == nil {
		return nil, fault.Invalid("input.property", "expected a venue or a hotel")
	}
	rate, err := r.inventory.SetTaxRate(ctx, actorOf(ctx), scope, input.BasisPoints)
	return one(rate, inInput(err), taxRateView)
}

// readConditionsScope reads what conditions are for.
func readConditionsScope(parent string, show, venue, property, plan *string) (inventory.ConditionsScope, error) {
	var d decoder
	scope := inventory.ConditionsScope{
		Show:     readOptionalID[inventory.ShowKind](&d, parent+"show", show),
		Venue:    readOptionalID[tenants.VenueKind](&d, parent+"venue", venue),
		Property: readOptionalID[tenants.PropertyKind](&d, parent+"property", property),
		RatePlan: readOptionalID[inventory.RatePlanKind](&d, parent+"ratePlan", plan),
	}
	if d.err != nil {
		return scope, d.err
	}
	const one = "expected only one of show, venue, property and ratePlan"
	switch {
	case scope.Show != nil && scope.Venue != nil:
		return scope, fault.Invalid(parent+"venue", one)
	case scope.Property != nil && (scope.Show != nil || scope.Venue != nil):
		return scope, fault.Invalid(parent+"property", one)
	case scope.RatePlan != nil && (scope.Show != nil || scope.Venue != nil || scope.Property != nil):
		return scope, fault.Invalid(parent+"ratePlan", one)
	}
	return scope, nil
}

// readPolicy reads the forms of a policy; the service judges what it says.
func readPolicy(input generated.SetCancellationPolicyInput) (inventory.CancellationPolicy, error) {
	var d decoder
	policy := inventory.CancellationPolicy{
		Name: input.Name, CheckIn: readTimeOfDay(&d, "input.checkInTime", input.CheckInTime), Final: readFee(&d, "input.finalFee", input.FinalFee),
	}
	for i, step := range input.Steps {
		field := indexed("input.steps", i)
		read := inventory.CancellationStep{MinutesBefore: step.MinutesBefore, DaysBefore: step.DaysBefore, Fee: readFee(&d, field+".fee", step.Fee)}
		if step.LocalTime != nil {
			at := readTimeOfDay(&d, field+".localTime", *step.LocalTime)
			read.LocalTime = &at
		}
		policy.Steps = append(policy.Steps, read)
	}
	return policy, d.err
}

func readTimeOfDay(d *decoder, field, text string) inventory.TimeOfDay {
	at, err := inventory.ParseTimeOfDay(text)
	if err != nil {
		d.refuse(field, err)
	}
	return at
}

var errFee = errors.New("expected one of basisPoints, perUnit and perBooking")

// readFee reads a fee, which has one of three forms.
func readFee(d *decoder, field string, input generated.CancellationFeeInput) inventory.Fee {
	forms := 0
	var fee inventory.Fee
	if input.BasisPoints != nil {
		forms++
		fee = inventory.FeePercent(*input.BasisPoints)
	}
	if input.PerUnit != nil {
		forms++
		amount := readMoney(d, field+".perUnit", *input.PerUnit)
		fee = inventory.Fee{Kind: inventory.FeeKindPerUnit, Minor: amount.Minor, Currency: amount.Currency}
	}
	if input.PerBooking != nil {
		forms++
		amount := readMoney(d, field+".perBooking", *input.PerBooking)
		fee = inventory.Fee{Kind: inventory.FeeKindPerBooking, Minor: amount.Minor, Currency: amount.Currency}
	}
	if forms != 1 {
		d.refuse(field, errFee)
	}
	return fee
}

// CancelBooking is the resolver for the cancelBooking field.
func (r *mutationResolver) CancelBooking(ctx context.Context, input generated.CancelBookingInput) (generated.CancelBookingResult, error) {
	var d decoder
	cancel := bookings.Cancel{
		RequestKey: input.RequestKey, Booking: readID[bookings.BookingKind](&d, "input.booking", input.Booking), Ordinals: input.Lines,
		DryRun: input.DryRun, WaiveFee: input.WaiveFee, Reason: textOf(input.Reason),
		ExpectedFee: readOptionalMoney(&d, "input.expectedFee", input.ExpectedFee), ExpectedRefund: readOptionalMoney(&d, "input.expectedRefund", input.ExpectedRefund),
	}
	if d.err != nil {
		return nil, d.err
	}
	done, err := r.bookings.CancelBooking(ctx, actorOf(ctx), cancel)
	if err != nil {
		return cancellationRefused(err)
	}
	return cancellationView(done), nil
}

// cancellationRefused makes an expected no the mutation's data; other errors stay errors.
func cancellationRefused(err error) (generated.CancelBookingResult, error) {
	var refusal *inventory.Refusal
	if !errors.As(err, &refusal) {
		return nil, inInput(err)
	}
	view := generated.CancellationRefused{
		Code: generated.RefusalCode(refusal.Code), Message: refusal.Message, RetryAfterMs: retryAfterView(refusal.RetryAfter),
	}
	var changed *bookings.ChangedFee
	if errors.As(err, &changed) {
		now := cancellationView(changed.Now)
		view.Now = &now
	}
	return view, nil
}

func readOptionalMoney(d *decoder, field string, input *generated.MoneyInput) *money.Amount {
	if input == nil {
		return nil
	}
	amount := readMoney(d, field, *input)
	return &amount
}

// RefundBooking is the resolver for the refundBooking field.
func (r *mutationResolver) RefundBooking(ctx context.Context, input generated.RefundBookingInput) (generated.RefundBookingResult, error) {
	var d decoder
	wanted := bookings.Refund{
		RequestKey: input.RequestKey, Booking: readID[bookings.BookingKind](&d, "input.booking", input.Booking),
		Amount: readMoney(&d, "input.amount", input.Amount), Reason: input.Reason,
	}
	if d.err != nil {
		return nil, d.err
	}
	refund, err := r.bookings.RefundBooking(ctx, actorOf(ctx), wanted)
	if err != nil {
		return refundRefused(err)
	}
	return refundView(refund), nil
}

// RetryRefund is the resolver for the retryRefund field.
func (r *mutationResolver) RetryRefund(ctx context.Context, input generated.RetryRefundInput) (generated.RetryRefundResult, error) {
	var d decoder
	id := readID[payments.RefundKind](&d, "input.refund", input.Refund)
	if d.err != nil {
		return nil, d.err
	}
	refund, err := r.bookings.RetryRefund(ctx, actorOf(ctx), input.RequestKey, id)
	if err != nil {
		return refundRefused(err)
	}
	return refundView(refund), nil
}

// refundRefused makes an expected no the mutation's data; other errors stay errors.
func refundRefused(err error) (*generated.RefundRefused, error) {
	var refusal *inventory.Refusal
	if !errors.As(err, &refusal) {
		return nil, inInput(err)
	}
	view := &generated.RefundRefused{
		Code: generated.RefusalCode(refusal.Code), Message: refusal.Message, RetryAfterMs: retryAfterView(refusal.RetryAfter),
	}
	var tooHigh *bookings.TooHighRefund
	if errors.As(err, &tooHigh) {
		rest := moneyView(tooHigh.Rest)
		view.Rest = &rest
	}
	return view, nil
}

// FailedRefunds is the resolver for the failedRefunds field.
func (r *queryResolver) FailedRefunds(ctx context.Context, region string, first int64, after *string) (*generated.FailedRefundConnection, error) {
	var d decoder
	where := readRegion(&d, "region", region)
	at, id := readTimeCursor(&d, listFailedRefunds, after)
	if d.err != nil {
		return nil, d.err
	}
	var from *payments.RefundCursor
	if after != nil {
		from = &payments.RefundCursor{ExhaustedAt: at, ID: id}
	}
	found, more, err := r.bookings.FailedRefunds(ctx, actorOf(ctx), where, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.FailedRefundConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, failedRefundCursor, failedRefundView,
		func(cursor string, node generated.FailedRefund) generated.FailedRefundEdge {
			return generated.FailedRefundEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// CancellationPolicy is the resolver for the cancellationPolicy field.
func (r *showResolver) CancellationPolicy(ctx context.Context, obj *generated.Show) (*generated.CancellationPolicy, error) {
	offer, err := load(ctx, loadersOf(ctx).conditions, inventory.Site{Show: obj.Source.ID, Venue: obj.Source.Venue}, "show")
	if err != nil {
		return nil, err
	}
	venue, err := load(ctx, loadersOf(ctx).venues, obj.Source.Venue, "venue")
	if err != nil {
		return nil, err
	}
	zone, err := venue.Location()
	if err != nil {
		return nil, err
	}
	return timedPolicyView(offer.Policy, offer.Policy.OfShow(obj.Source.StartsAt, zone)), nil
}

// CancellationPolicy is the resolver for the cancellationPolicy field.
func (r *propertyResolver) CancellationPolicy(ctx context.Context, obj *generated.Property, checkIn *civil.Date) (*generated.CancellationPolicy, error) {
	return policyOfProperty(ctx, obj.Source, checkIn)
}

// CancellationPolicy is the resolver for the cancellationPolicy field.
func (r *roomTypeResolver) CancellationPolicy(ctx context.Context, obj *generated.RoomType, checkIn *civil.Date) (*generated.CancellationPolicy, error) {
	property, err := load(ctx, loadersOf(ctx).properties, obj.Source.Property, "property")
	if err != nil {
		return nil, err
	}
	return policyOfProperty(ctx, property, checkIn)
}

func policyOfProperty(ctx context.Context, property tenants.Property, checkIn *civil.Date) (*generated.CancellationPolicy, error) {
	offer, err := load(ctx, loadersOf(ctx).conditions, inventory.Site{Property: property.ID}, "property")
	if err != nil || checkIn == nil {
		return one(offer.Policy, err, policyView)
	}
	if checkIn.Year < 2000 || checkIn.Year > 2199 {
		return nil, fault.Invalid("checkIn", "expected a date between 2000 and 2199, such as 2027-03-14")
	}
	zone, err := property.Location()
	if err != nil {
		return nil, err
	}
	return timedPolicyView(offer.Policy, offer.Policy.OfStay(*checkIn, zone)), nil
}

// TaxRate is the resolver for the taxRate field.
func (r *propertyResolver) TaxRate(ctx context.Context, obj *generated.Property) (*generated.TaxRate, error) {
	offer, err := load(ctx, loadersOf(ctx).conditions, inventory.Site{Property: obj.Source.ID}, "property")
	return one(offer.TaxBasisPoints, err, taxRateView)
}

// TaxRate is the resolver for the taxRate field.
func (r *venueResolver) TaxRate(ctx context.Context, obj *generated.Venue) (*generated.TaxRate, error) {
	offer, err := load(ctx, loadersOf(ctx).conditions, inventory.Site{Venue: obj.Source}, "venue")
	return one(offer.TaxBasisPoints, err, taxRateView)
}

// RefundedTotal is the resolver for the refundedTotal field.
func (r *bookingResolver) RefundedTotal(ctx context.Context, obj *generated.Booking) (*generated.Money, error) {
	refunded, err := loadersOf(ctx).refunded.Load(ctx, obj.Source)
	if isMissing(err) {
		// No payment bought it, so none was refunded.
		refunded, err = money.Amount{Currency: money.Currency(obj.Total.Currency)}, nil
	}
	return one(refunded, err, moneyView)
}

// Cancellations is the resolver for the cancellations field.
func (r *bookingResolver) Cancellations(ctx context.Context, obj *generated.Booking) ([]generated.Cancellation, error) {
	var d decoder
	id := readID[bookings.BookingKind](&d, "id", obj.ID)
	if d.err != nil {
		return nil, d.err
	}
	done, err := r.bookings.CancellationsOf(ctx, actorOf(ctx), id)
	return each(done, cancellationView), err
}

func failedRefundCursor(f bookings.FailedRefund) string {
	return encodeCursor(listFailedRefunds, f.ExhaustedAt.UTC().Format(time.RFC3339Nano), f.ID.UUID.String())
}
