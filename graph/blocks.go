package graph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

const (
	listSeatBlocks   = "seatBlocks"
	listBlockSeats   = "blockSeats"
	listBlockChanges = "blockChanges"
)

// SeatBlock is the resolver for the seatBlock field.
func (r *queryResolver) SeatBlock(ctx context.Context, id string) (*generated.SeatBlock, error) {
	var d decoder
	wanted := readID[inventory.BlockKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	block, err := r.inventory.SeatBlock(ctx, actorOf(ctx), wanted)
	return one(block, err, seatBlockView)
}

// SeatBlocks is the resolver for the seatBlocks field.
func (r *queryResolver) SeatBlocks(ctx context.Context, show string, first int64, after *string) (*generated.SeatBlockConnection, error) {
	var d decoder
	of := readID[inventory.ShowKind](&d, "show", show)
	from := readBlockCursor(&d, listSeatBlocks, after)
	if d.err != nil {
		return nil, d.err
	}
	blocks, more, err := r.inventory.SeatBlocks(ctx, actorOf(ctx), of, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.SeatBlockConnection
	c.Edges, c.Nodes, c.PageInfo = connect(blocks, more,
		func(b inventory.SeatBlock) string { return blockCursor(listSeatBlocks, b.CreatedAt, b.ID.UUID) }, seatBlockView,
		func(cursor string, node generated.SeatBlock) generated.SeatBlockEdge {
			return generated.SeatBlockEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

func blockCursor(list string, at time.Time, id fmt.Stringer) string {
	return encodeCursor(list, at.UTC().Format(time.RFC3339Nano), id.String())
}

func readBlockCursor(d *decoder, list string, after *string) *inventory.BlockCursor {
	if after == nil {
		return nil
	}
	at, id := readTimeCursor(d, list, after)
	return &inventory.BlockCursor{At: at, ID: id}
}

// Seats is the resolver for the seats field.
func (r *seatBlockResolver) Seats(ctx context.Context, obj *generated.SeatBlock, first int64, after *string) (*generated.BlockSeatConnection, error) {
	var d decoder
	var from inventory.SeatID
	if key := readCursor(&d, listBlockSeats, after); key != "" {
		from = readID[inventory.SeatKind](&d, "after", key)
	}
	if d.err != nil {
		return nil, d.err
	}
	seats, more, err := r.inventory.SeatsOfBlock(ctx, actorOf(ctx), obj.Source.ID, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.BlockSeatConnection
	c.Edges, c.Nodes, c.PageInfo = connect(seats, more,
		func(s inventory.SeatState) string { return encodeCursor(listBlockSeats, s.Seat.String()) },
		func(s inventory.SeatState) generated.BlockSeat {
			return generated.BlockSeat{SeatID: s.Seat.String(), Status: generated.SeatStatus(s.Status), Show: obj.Source.Show, Source: s.Seat}
		},
		func(cursor string, node generated.BlockSeat) generated.BlockSeatEdge {
			return generated.BlockSeatEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// Seat is the resolver for the seat field.
func (r *blockSeatResolver) Seat(ctx context.Context, obj *generated.BlockSeat) (*generated.Seat, error) {
	return r.seatOf(ctx, obj.Show, obj.Source)
}

// Changes is the resolver for the changes field.
func (r *seatBlockResolver) Changes(ctx context.Context, obj *generated.SeatBlock, first int64, after *string) (*generated.SeatBlockChangeConnection, error) {
	var d decoder
	from := readBlockCursor(&d, listBlockChanges, after)
	if d.err != nil {
		return nil, d.err
	}
	changes, more, err := r.inventory.ChangesOfBlock(ctx, actorOf(ctx), obj.Source.ID, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.SeatBlockChangeConnection
	c.Edges, c.Nodes, c.PageInfo = connect(changes, more,
		func(change inventory.BlockChange) string { return blockCursor(listBlockChanges, change.At, change.ID) }, blockChangeView,
		func(cursor string, node generated.SeatBlockChange) generated.SeatBlockChangeEdge {
			return generated.SeatBlockChangeEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// CreateSeatBlock is the resolver for the createSeatBlock field.
func (r *mutationResolver) CreateSeatBlock(ctx context.Context, input generated.CreateSeatBlockInput) (generated.SeatBlockResult, error) {
	var d decoder
	request := inventory.NewSeatBlock{
		Show: readID[inventory.ShowKind](&d, "input.show", input.Show), Channel: readOptionalGlobalID[tenants.ChannelKind](&d, "input.channel", input.Channel),
		Reason: textOf(input.Reason), Note: textOf(input.Note), Release: readMoment(input.ReleaseAt, input.ReleaseAtLocal),
		Seats: readSelection(&d, input.Seats),
	}
	if d.err != nil {
		return nil, d.err
	}
	edit, err := r.inventory.CreateSeatBlock(ctx, actorOf(ctx), input.RequestKey, request)
	return blockResult(edit, err)
}

// AssignSeats is the resolver for the assignSeats field.
func (r *mutationResolver) AssignSeats(ctx context.Context, input generated.AssignSeatsInput) (generated.SeatBlockResult, error) {
	var d decoder
	block, seats := readID[inventory.BlockKind](&d, "input.block", input.Block), readSelection(&d, input.Seats)
	if d.err != nil {
		return nil, d.err
	}
	edit, err := r.inventory.AssignSeats(ctx, actorOf(ctx), input.RequestKey, block, seats)
	return blockResult(edit, err)
}

// MoveSeats is the resolver for the moveSeats field.
func (r *mutationResolver) MoveSeats(ctx context.Context, input generated.MoveSeatsInput) (generated.SeatBlockResult, error) {
	var d decoder
	from, to := readID[inventory.BlockKind](&d, "input.fromBlock", input.FromBlock), readID[inventory.BlockKind](&d, "input.toBlock", input.ToBlock)
	seats := readSelection(&d, input.Seats)
	if d.err != nil {
		return nil, d.err
	}
	edit, err := r.inventory.MoveSeats(ctx, actorOf(ctx), input.RequestKey, from, to, seats)
	return blockResult(edit, err)
}

// ReleaseSeats is the resolver for the releaseSeats field.
func (r *mutationResolver) ReleaseSeats(ctx context.Context, input generated.ReleaseSeatsInput) (generated.SeatBlockResult, error) {
	var d decoder
	block, seats := readID[inventory.BlockKind](&d, "input.block", input.Block), readSelection(&d, input.Seats)
	if d.err != nil {
		return nil, d.err
	}
	edit, err := r.inventory.ReleaseSeats(ctx, actorOf(ctx), input.RequestKey, block, seats)
	return blockResult(edit, err)
}

// ReleaseSeatBlock is the resolver for the releaseSeatBlock field.
func (r *mutationResolver) ReleaseSeatBlock(ctx context.Context, input generated.ReleaseSeatBlockInput) (*generated.SeatBlock, error) {
	var d decoder
	id := readID[inventory.BlockKind](&d, "input.block", input.Block)
	if d.err != nil {
		return nil, d.err
	}
	if err := r.bookings.ReleaseBlock(ctx, actorOf(ctx), input.RequestKey, id); err != nil {
		return nil, inInput(err)
	}
	block, err := r.inventory.SeatBlock(ctx, actorOf(ctx), id)
	return one(block, err, seatBlockView)
}

// ChangeSeatBlock is the resolver for the changeSeatBlock field.
func (r *mutationResolver) ChangeSeatBlock(ctx context.Context, input generated.ChangeSeatBlockInput) (generated.ChangeSeatBlockResult, error) {
	var d decoder
	id := readID[inventory.BlockKind](&d, "input.block", input.Block)
	if d.err != nil {
		return nil, d.err
	}
	change := inventory.BlockTerms{Reason: input.Reason, Note: input.Note, NeverRelease: input.NeverRelease}
	if moment := readMoment(input.ReleaseAt, input.ReleaseAtLocal); moment != (inventory.Moment{}) {
		change.Release = &moment
	}
	block, err := r.inventory.ChangeSeatBlock(ctx, actorOf(ctx), input.RequestKey, id, change)
	if err != nil {
		return blockRefused(err)
	}
	return seatBlockView(block), nil
}

// readSelection reads the part named seats.
func readSelection(d *decoder, input generated.SeatSelectionInput) inventory.SeatSelection {
	selection := inventory.SeatSelection{Seats: make([]inventory.SeatID, len(input.Seats)), Zones: input.Zones}
	for i, text := range input.Seats {
		selection.Seats[i] = readID[inventory.SeatKind](d, fmt.Sprintf("input.seats.seats[%d]", i), text)
	}
	for _, row := range input.Rows {
		selection.Rows = append(selection.Rows, inventory.ZoneRow{Zone: row.Zone, Row: row.Row})
	}
	return selection
}

// readOverride is the reason for which blocks do not matter, "" when they do. An empty one is refused here:
// to the service it would say that nothing is overridden.
func readOverride(d *decoder, input *generated.OverrideBlockInput) string {
	if input == nil {
		return ""
	}
	if input.Reason == "" {
		d.refuse("input.overrideBlock.reason", errNoReason)
	}
	return input.Reason
}

var errNoReason = errors.New("expected 1 to 200 characters on one line")

func readMoment(at *time.Time, local *string) inventory.Moment {
	return inventory.Moment{At: at, Local: textOf(local)}
}

func blockResult(edit inventory.BlockEdit, err error) (generated.SeatBlockResult, error) {
	if err != nil {
		return blockRefused(err)
	}
	return generated.SeatBlockEdit{
		Block: seatBlockView(edit.Block), SeatCount: edit.Seats, KeptCount: edit.KeptCount,
		Kept: each(edit.Kept, func(s inventory.SeatState) generated.KeptSeat {
			return generated.KeptSeat{SeatID: s.Seat.String(), Status: generated.SeatStatus(s.Status)}
		}),
	}, nil
}

// blockRefused makes an expected no the mutation's data; other errors stay errors.
func blockRefused(err error) (*generated.SeatBlockRefused, error) {
	var refusal *inventory.Refusal
	if !errors.As(err, &refusal) {
		return nil, inInput(err)
	}
	view := &generated.SeatBlockRefused{Code: generated.RefusalCode(refusal.Code), Message: refusal.Message, Seats: []generated.RefusedBlockSeat{}}
	var seats *inventory.BlockRefused
	if errors.As(err, &seats) {
		view.SeatCount = seats.Count
		view.Seats = each(seats.Seats, func(s inventory.RefusedSeat) generated.RefusedBlockSeat {
			shown := generated.RefusedBlockSeat{SeatID: s.Seat.String(), Code: generated.RefusalCode(s.Code)}
			if s.Block != nil {
				shown.BlockID = idOrNull(*s.Block)
			}
			return shown
		})
	}
	return view, nil
}

func seatBlockView(b inventory.SeatBlock) generated.SeatBlock {
	view := generated.SeatBlock{
		ID: b.ID.String(), ShowID: b.Show.String(), ChannelID: idOrNull(b.Channel), Reason: orNull(b.Reason), Note: orNull(b.Note),
		State: generated.SeatBlockState(b.State), ReleaseAt: b.ReleaseAt, ReleasedAt: b.ReleasedAt, Version: b.Version, CreatedAt: b.CreatedAt,
		Free: b.Free, Held: b.Held, Sold: b.Sold, AsOf: b.AsOf, Source: b,
	}
	if b.ReleasedBy != "" {
		by := generated.SeatBlockReleasedBy(b.ReleasedBy)
		view.ReleasedBy = &by
	}
	return view
}

func blockChangeView(c inventory.BlockChange) generated.SeatBlockChange {
	view := generated.SeatBlockChange{Kind: generated.SeatBlockChangeKind(c.Kind), Seats: c.Seats, KeyID: idOrNull(c.Key), Actor: orNull(c.Actor), Note: orNull(c.Note), At: c.At}
	if c.Other != nil {
		view.OtherBlockID = idOrNull(*c.Other)
	}
	if c.Hold != nil {
		view.HoldID = idOrNull(*c.Hold)
	}
	return view
}

// ChannelSales is the resolver for the channelSales field.
func (r *queryResolver) ChannelSales(ctx context.Context, channel string) (*generated.ChannelSales, error) {
	var d decoder
	id := readGlobalID[tenants.ChannelKind](&d, "channel", channel)
	if d.err != nil {
		return nil, d.err
	}
	sales, err := r.inventory.ChannelSales(ctx, actorOf(ctx), id)
	return one(sales, err, channelSalesView)
}

// SetChannelSales is the resolver for the setChannelSales field.
func (r *mutationResolver) SetChannelSales(ctx context.Context, input generated.SetChannelSalesInput) (*generated.ChannelSales, error) {
	var d decoder
	sales := inventory.ChannelSales{
		Channel: readGlobalID[tenants.ChannelKind](&d, "input.channel", input.Channel), EveryShow: input.Shows == nil, EveryProperty: input.Properties == nil,
		CommissionBasisPoints: input.CommissionBasisPoints, NoStandardRate: !input.StandardRate,
	}
	if input.RatePlans != nil {
		sales.RatePlans = make([]inventory.RatePlanID, len(input.RatePlans))
	}
	for i, text := range input.RatePlans {
		sales.RatePlans[i] = readID[inventory.RatePlanKind](&d, indexed("input.ratePlans", i), text)
	}
	for i, text := range input.Shows {
		sales.Shows = append(sales.Shows, readID[inventory.ShowKind](&d, fmt.Sprintf("input.shows[%d]", i), text))
	}
	for i, text := range input.Properties {
		sales.Properties = append(sales.Properties, readID[tenants.PropertyKind](&d, fmt.Sprintf("input.properties[%d]", i), text))
	}
	if d.err != nil {
		return nil, d.err
	}
	set, err := r.inventory.SetChannelSales(ctx, actorOf(ctx), sales)
	return one(set, inInput(err), channelSalesView)
}

func channelSalesView(s inventory.ChannelSales) generated.ChannelSales {
	view := generated.ChannelSales{ChannelID: s.Channel.String(), CommissionBasisPoints: s.CommissionBasisPoints, StandardRate: !s.NoStandardRate}
	// A list that is empty says that nothing is sold; without one, everything is.
	if !s.EveryShow {
		view.ShowIds = each(s.Shows, inventory.ShowID.String)
	}
	if s.RatePlans != nil {
		view.RatePlanIds = each(s.RatePlans, inventory.RatePlanID.String)
	}
	if !s.EveryProperty {
		view.PropertyIds = each(s.Properties, tenants.PropertyID.String)
	}
	return view
}

// Commission is the resolver for the commission field. It is between the seller and the channel.
func (r *bookingResolver) Commission(ctx context.Context, obj *generated.Booking) (*generated.Commission, error) {
	if !actorOf(ctx).Session.IsZero() {
		return nil, nil //nolint:nilnil // null is what guests are told
	}
	earned := obj.CommissionSource
	return &generated.Commission{BasisPoints: earned.BasisPoints, Amount: moneyView(earned.Amount)}, nil
}
