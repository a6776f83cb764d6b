package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
)

// Hold is the resolver for the hold field.
func (r *queryResolver) Hold(ctx context.Context, id string) (*generated.Hold, error) {
	var d decoder
	wanted := readID[inventory.HoldKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	hold, err := r.inventory.Hold(ctx, actorOf(ctx), wanted)
	return one(hold, err, holdView)
}

// PlaceHold is the resolver for the placeHold field.
func (r *mutationResolver) PlaceHold(ctx context.Context, input generated.PlaceHoldInput) (generated.PlaceHoldResult, error) {
	var d decoder
	request := inventory.PlaceHold{RequestKey: input.RequestKey, Lines: make([]inventory.LineRequest, len(input.Lines))}
	for i, line := range input.Lines {
		request.Lines[i] = readLine(&d, fmt.Sprintf("input.lines[%d]", i), line)
	}
	if input.ExpectedTotal != nil {
		total := readMoney(&d, "input.expectedTotal", *input.ExpectedTotal)
		request.ExpectedTotal = &total
	}
	request.PresaleCode = textOf(input.PresaleCode)
	request.Grant = readOptionalID[inventory.GrantKind](&d, "input.grant", input.Grant)
	if input.OverrideRestrictions {
		request.Override = &inventory.Override{Reason: textOf(input.OverrideReason)}
	}
	request.OverrideBlock = readOverride(&d, input.OverrideBlock)
	if d.err != nil {
		return nil, d.err
	}
	hold, err := r.inventory.PlaceHold(ctx, actorOf(ctx), request)
	if err != nil {
		return holdRefused(err, request.Lines)
	}
	return holdView(hold), nil
}

func readLine(d *decoder, field string, line generated.HoldLineInput) inventory.LineRequest {
	request := inventory.LineRequest{Best: readBest(d, field+".bestAvailable", line.BestAvailable)}
	if line.Seats != nil {
		seats := inventory.SeatsRequest{
			Show:  readID[inventory.ShowKind](d, field+".seats.show", line.Seats.Show),
			Seats: make([]inventory.SeatID, len(line.Seats.Seats)),
		}
		for i, text := range line.Seats.Seats {
			seats.Seats[i] = readID[inventory.SeatKind](d, fmt.Sprintf("%s.seats.seats[%d]", field, i), text)
		}
		request.Seats = &seats
	}
	if line.Pool != nil {
		request.Pool = &inventory.PoolRequest{
			Pool: readID[inventory.PoolKind](d, field+".pool.pool", line.Pool.Pool), Quantity: line.Pool.Quantity,
		}
	}
	if line.Stay != nil {
		stay := readStay(d, field+".stay", *line.Stay)
		request.Stay = &stay
	}
	return request
}

// ExtendHold is the resolver for the extendHold field.
func (r *mutationResolver) ExtendHold(ctx context.Context, input generated.ExtendHoldInput) (generated.ExtendHoldResult, error) {
	var d decoder
	id := readID[inventory.HoldKind](&d, "input.hold", input.Hold)
	if d.err != nil {
		return nil, d.err
	}
	hold, err := r.inventory.ExtendHold(ctx, actorOf(ctx), id, input.RequestKey)
	if err != nil {
		return holdRefused(err, nil)
	}
	return holdView(hold), nil
}

// ReleaseHold is the resolver for the releaseHold field.
func (r *mutationResolver) ReleaseHold(ctx context.Context, input generated.ReleaseHoldInput) (generated.ReleaseHoldResult, error) {
	var d decoder
	id := readID[inventory.HoldKind](&d, "input.hold", input.Hold)
	if d.err != nil {
		return nil, d.err
	}
	hold, err := r.inventory.ReleaseHold(ctx, actorOf(ctx), id, input.RequestKey)
	if err != nil {
		return holdRefused(err, nil)
	}
	return holdView(hold), nil
}

// holdRefused makes an expected no the mutation's data; other errors stay errors.
func holdRefused(err error, lines []inventory.LineRequest) (*generated.HoldRefused, error) {
	var refusal *inventory.Refusal
	if !errors.As(err, &refusal) {
		return nil, inInput(err)
	}
	return holdRefusedView(refusal, lines), nil
}

// Seat is the resolver for the seat field.
func (r *refusedLineResolver) Seat(ctx context.Context, obj *generated.RefusedLine) (*generated.Seat, error) {
	if obj.SeatSource == nil || obj.ShowSource.IsZero() {
		return nil, nil //nolint:nilnil // the line is not about a seat
	}
	return r.seatOf(ctx, obj.ShowSource, *obj.SeatSource)
}

// RoomType is the resolver for the roomType field.
func (r *refusedLineResolver) RoomType(ctx context.Context, obj *generated.RefusedLine) (*generated.RoomType, error) {
	if obj.RoomTypeSource == nil {
		return nil, nil //nolint:nilnil // the line is not about a night
	}
	return loadOrNull(ctx, loadersOf(ctx).roomTypes, *obj.RoomTypeSource, roomTypeView)
}

// Show is the resolver for the show field.
func (r *unitResolver) Show(ctx context.Context, obj *generated.Unit) (*generated.Show, error) {
	if obj.Source.Show.IsZero() {
		return nil, nil //nolint:nilnil // the unit is not of a show
	}
	return loadOrNull(ctx, loadersOf(ctx).shows, obj.Source.Show, showView)
}

// Seat is the resolver for the seat field.
func (r *unitResolver) Seat(ctx context.Context, obj *generated.Unit) (*generated.Seat, error) {
	if obj.Source.Seat.IsZero() {
		return nil, nil //nolint:nilnil // the unit is not a seat
	}
	return r.seatOf(ctx, obj.Source.Show, obj.Source.Seat)
}

// Pool is the resolver for the pool field.
func (r *unitResolver) Pool(ctx context.Context, obj *generated.Unit) (*generated.Pool, error) {
	if obj.Source.Pool.IsZero() {
		return nil, nil //nolint:nilnil // the unit is not of a pool
	}
	show, err := loadersOf(ctx).shows.Load(ctx, obj.Source.Show)
	if isMissing(err) {
		return nil, nil //nolint:nilnil // null is the answer for a pool that cannot be shown any more
	}
	if err != nil {
		return nil, err
	}
	pools, err := r.poolsOf(ctx, show)
	if err != nil {
		return nil, err
	}
	for i := range pools {
		if pools[i].ID == obj.Source.Pool.String() {
			return &pools[i], nil
		}
	}
	return nil, nil //nolint:nilnil // null is the answer for a pool that cannot be shown any more
}

// Property is the resolver for the property field.
func (r *unitResolver) Property(ctx context.Context, obj *generated.Unit) (*generated.Property, error) {
	if obj.Source.Property.IsZero() {
		return nil, nil //nolint:nilnil // the unit is not of a hotel
	}
	return loadOrNull(ctx, loadersOf(ctx).properties, obj.Source.Property, propertyView)
}

// RoomType is the resolver for the roomType field.
func (r *unitResolver) RoomType(ctx context.Context, obj *generated.Unit) (*generated.RoomType, error) {
	if obj.Source.RoomType.IsZero() {
		return nil, nil //nolint:nilnil // the unit is not a night
	}
	return loadOrNull(ctx, loadersOf(ctx).roomTypes, obj.Source.RoomType, roomTypeView)
}
