package graph

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
)

// Lists of this file, in cursors.
const (
	listUnresolved = "unresolved"
	listRepairs    = "repairs"
	listReview     = "review"
)

var errItem = errors.New("expected an item as unresolvedPayments gives it")

// UnresolvedPayments is the resolver for the unresolvedPayments field.
func (r *queryResolver) UnresolvedPayments(ctx context.Context, region string, first int64, after *string) (*generated.UnresolvedPaymentConnection, error) {
	var d decoder
	where := readRegion(&d, "region", region)
	from := readUnresolvedCursor(&d, after)
	if d.err != nil {
		return nil, d.err
	}
	found, more, err := r.bookings.Unresolved(ctx, actorOf(ctx), where, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.UnresolvedPaymentConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, unresolvedCursor, unresolvedView,
		func(cursor string, node generated.UnresolvedPayment) generated.UnresolvedPaymentEdge {
			return generated.UnresolvedPaymentEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// readUnresolvedCursor is nil at the beginning of the list.
func readUnresolvedCursor(d *decoder, after *string) *bookings.UnresolvedCursor {
	if after == nil {
		return nil
	}
	key, err := decodeCursor(listUnresolved, *after, 2)
	if err != nil {
		d.refuse("after", err)
		return nil
	}
	since, timeErr := time.Parse(time.RFC3339Nano, key[0])
	item, itemErr := base64.RawURLEncoding.DecodeString(key[1])
	if timeErr != nil || itemErr != nil {
		d.refuse("after", errCursor)
		return nil
	}
	return &bookings.UnresolvedCursor{Since: since, Item: string(item)}
}

// ResolveReview is the resolver for the resolveReview field.
func (r *mutationResolver) ResolveReview(ctx context.Context, input generated.ResolveReviewInput) (*generated.Review, error) {
	key, err := decodeCursor(listReview, input.Item, 3)
	if err != nil {
		return nil, fault.Invalid("input.item", "%s", errItem)
	}
	region, regionErr := ids.ParseRegion(key[0])
	id, idErr := base64.RawURLEncoding.DecodeString(key[2])
	if regionErr != nil || idErr != nil {
		return nil, fault.Invalid("input.item", "%s", errItem)
	}
	review, err := r.bookings.ResolveReview(ctx, actorOf(ctx), bookings.ReviewItem{Region: region, Subject: key[1], ID: string(id)}, input.Note)
	if err != nil {
		return nil, inInput(err)
	}
	return one(review, nil, reviewView)
}

// Repairs is the resolver for the repairs field.
func (r *queryResolver) Repairs(ctx context.Context, day civil.Date, region string, first int64, after *string) (*generated.RepairReport, error) {
	var d decoder
	where := readRegion(&d, "region", region)
	at, id := readTimeCursor(&d, listRepairs, after)
	if d.err != nil {
		return nil, d.err
	}
	var from *bookings.RepairCursor
	if after != nil {
		from = &bookings.RepairCursor{At: at, ID: id}
	}
	actor, date := actorOf(ctx), day.In(time.UTC)
	counts, err := r.bookings.RepairCounts(ctx, actor, where, date)
	if err != nil {
		return nil, err
	}
	found, more, err := r.bookings.Repairs(ctx, actor, where, date, from, int(first))
	if err != nil {
		return nil, err
	}
	report := generated.RepairReport{Counts: each(counts, repairCountView)}
	report.List.Edges, report.List.Nodes, report.List.PageInfo = connect(found, more, repairCursor, repairView,
		func(cursor string, node generated.Repair) generated.RepairEdge {
			return generated.RepairEdge{Cursor: cursor, Node: node}
		})
	return &report, nil
}

// PaymentTimeline is the resolver for the paymentTimeline field.
func (r *queryResolver) PaymentTimeline(ctx context.Context, hold *string, booking *string) (*generated.PaymentTimeline, error) {
	var d decoder
	of := bookings.TimelineOf{
		Hold: readOptionalID[inventory.HoldKind](&d, "hold", hold), Booking: readOptionalID[bookings.BookingKind](&d, "booking", booking),
	}
	if d.err != nil {
		return nil, d.err
	}
	timeline, err := r.bookings.PaymentTimeline(ctx, actorOf(ctx), of)
	return one(timeline, err, timelineView)
}
