package graph

import (
	"context"
	"errors"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

const listBookings = "bookings"

// Booking is the resolver for the booking field.
func (r *queryResolver) Booking(ctx context.Context, id string) (*generated.Booking, error) {
	var d decoder
	wanted := readID[bookings.BookingKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	booking, err := r.bookings.Booking(ctx, actorOf(ctx), wanted)
	return one(booking, err, bookingView)
}

// BookingByReference is the resolver for the bookingByReference field.
func (r *queryResolver) BookingByReference(ctx context.Context, reference string, region *string) (*generated.Booking, error) {
	var d decoder
	actor := actorOf(ctx)
	where := readOptionalRegion(&d, region)
	if where == "" {
		where = actor.Session.Region
	}
	if d.err == nil && where == "" {
		d.err = fault.Invalid("region", "expected the region of the booking's stock, such as \"eu\"")
	}
	if d.err != nil {
		return nil, d.err
	}
	booking, err := r.bookings.BookingByReference(ctx, actor, where, reference)
	return one(booking, err, bookingView)
}

// Bookings is the resolver for the bookings field.
func (r *queryResolver) Bookings(ctx context.Context, region *string, first int64, after *string) (*generated.BookingConnection, error) {
	var d decoder
	actor := actorOf(ctx)
	where := readOptionalRegion(&d, region)
	if where == "" {
		where = actor.Session.Region
	}
	at, id := readTimeCursor(&d, listBookings, after)
	if d.err == nil && where == "" {
		d.err = fault.Invalid("region", "expected the region whose bookings are wanted, such as \"eu\"")
	}
	if d.err != nil {
		return nil, d.err
	}
	var from *bookings.Cursor
	if after != nil {
		from = &bookings.Cursor{BookedAt: at, ID: id}
	}
	found, more, err := r.bookings.Bookings(ctx, actor, where, from, int(first))
	if err != nil {
		return nil, err
	}
	return bookingConnection(found, more), nil
}

func bookingConnection(found []bookings.Booking, more bool) *generated.BookingConnection {
	var c generated.BookingConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, bookingCursor, bookingView,
		func(cursor string, node generated.Booking) generated.BookingEdge {
			return generated.BookingEdge{Cursor: cursor, Node: node}
		})
	return &c
}

// Audit is the resolver for the audit field.
func (r *queryResolver) Audit(ctx context.Context, tenant *string) (*generated.AuditReport, error) {
	var d decoder
	whose := readOptionalGlobalID[tenants.TenantKind](&d, "tenant", tenant)
	if d.err != nil {
		return nil, d.err
	}
	actor := actorOf(ctx)
	if whose.IsZero() {
		whose = actor.Tenant
	}
	// The audit runs on the command line too, where nobody is asked for permission.
	if err := r.authorizer.Authorize(actor, policies.ActionAuditRun, whose); err != nil {
		return nil, err
	}
	var scope *tenants.TenantID
	if !whose.IsZero() {
		scope = &whose
	}
	report, err := r.bookings.Audit(ctx, scope)
	return one(report, err, auditView)
}

// Checkout is the resolver for the checkout field.
func (r *mutationResolver) Checkout(ctx context.Context, input generated.CheckoutInput) (generated.CheckoutResult, error) {
	var d decoder
	request := bookings.Checkout{
		RequestKey: input.RequestKey, Hold: readID[inventory.HoldKind](&d, "input.hold", input.Hold),
		ExpectedTotal: readMoney(&d, "input.expectedTotal", input.ExpectedTotal), PartnerReference: textOf(input.PartnerReference),
	}
	if input.PaymentMethod != nil {
		request.MethodToken = textOf(input.PaymentMethod.Token)
		if hosted := input.PaymentMethod.Hosted; hosted != nil {
			request.ReturnURL = hosted.ReturnURL
			if request.ReturnURL == "" && d.err == nil {
				d.err = fault.Invalid("input.paymentMethod.hosted.returnUrl", "expected an https URL")
			}
		}
	}
	if input.Contact != nil {
		request.Contact = bookings.Contact{Name: textOf(input.Contact.Name), Email: textOf(input.Contact.Email)}
	}
	if d.err != nil {
		return nil, d.err
	}
	outcome, err := r.bookings.Checkout(ctx, actorOf(ctx), request)
	var refusal *inventory.Refusal
	switch {
	case errors.As(err, &refusal):
		return checkoutRefusedView(refusal), nil
	case err != nil:
		return nil, inInput(err)
	}
	return checkoutView(outcome), nil
}

// MarkNoShow is the resolver for the markNoShow field.
func (r *mutationResolver) MarkNoShow(ctx context.Context, input generated.BookingLinesInput) (generated.MarkNoShowResult, error) {
	var d decoder
	id := readID[bookings.BookingKind](&d, "input.booking", input.Booking)
	if d.err != nil {
		return nil, d.err
	}
	booking, err := r.bookings.MarkNoShow(ctx, actorOf(ctx), bookings.NoShow{RequestKey: input.RequestKey, Booking: id, Ordinals: input.Lines})
	if err != nil {
		return bookingRefused(err)
	}
	return bookingView(booking), nil
}

// bookingRefused makes an expected no the mutation's data; other errors stay errors.
func bookingRefused(err error) (*generated.BookingRefused, error) {
	var refusal *inventory.Refusal
	if !errors.As(err, &refusal) {
		return nil, inInput(err)
	}
	return &generated.BookingRefused{Code: generated.RefusalCode(refusal.Code), Message: refusal.Message}, nil
}

// Payments is the resolver for the payments field.
func (r *holdResolver) Payments(ctx context.Context, obj *generated.Hold) ([]generated.Payment, error) {
	return r.paymentsOf(ctx, obj.Source)
}

// Payments is the resolver for the payments field.
func (r *bookingResolver) Payments(ctx context.Context, obj *generated.Booking) ([]generated.Payment, error) {
	return r.paymentsOf(ctx, obj.Source)
}

func (r *Resolver) paymentsOf(ctx context.Context, hold inventory.HoldID) ([]generated.Payment, error) {
	attempts, err := r.bookings.AttemptsOfHold(ctx, actorOf(ctx), hold)
	return each(attempts, paymentView), err
}

// Booking is the resolver for the booking field.
func (r *holdResolver) Booking(ctx context.Context, obj *generated.Hold) (*generated.Booking, error) {
	booking, err := r.bookings.BookingOfHold(ctx, actorOf(ctx), obj.Source)
	if err != nil || booking == nil {
		return nil, err
	}
	return one(*booking, nil, bookingView)
}

// Refunds is the resolver for the refunds field.
func (r *paymentResolver) Refunds(ctx context.Context, obj *generated.Payment) ([]generated.Refund, error) {
	refunds, err := loadList(ctx, loadersOf(ctx).refunds, obj.Source)
	return each(refunds, refundView), err
}

// Disputes is the resolver for the disputes field.
func (r *paymentResolver) Disputes(ctx context.Context, obj *generated.Payment) ([]generated.Dispute, error) {
	disputes, err := loadList(ctx, loadersOf(ctx).disputes, obj.Source)
	return each(disputes, disputeView), err
}
