package graph

import (
	"context"
	"strconv"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
)

const listHistory = "history"

// SeatHistory is the resolver for the seatHistory field.
func (r *queryResolver) SeatHistory(ctx context.Context, show, seat string, first int64, after *string) (*generated.UnitEventConnection, error) {
	var d decoder
	showID, seatID := readID[inventory.ShowKind](&d, "show", show), readID[inventory.SeatKind](&d, "seat", seat)
	from := readHistoryCursor(&d, after)
	if d.err != nil {
		return nil, d.err
	}
	if _, err := r.inventory.Show(ctx, actorOf(ctx), showID); err != nil {
		return nil, err
	}
	found, more, err := r.bookings.SeatHistory(ctx, actorOf(ctx), showID, seatID, from, int(first))
	return historyConnection(found, more, err)
}

// PoolHistory is the resolver for the poolHistory field.
func (r *queryResolver) PoolHistory(ctx context.Context, pool string, first int64, after *string) (*generated.UnitEventConnection, error) {
	var d decoder
	id, from := readID[inventory.PoolKind](&d, "pool", pool), readHistoryCursor(&d, after)
	if d.err != nil {
		return nil, d.err
	}
	found, more, err := r.bookings.PoolHistory(ctx, actorOf(ctx), id, from, int(first))
	return historyConnection(found, more, err)
}

// NightHistory is the resolver for the nightHistory field.
func (r *queryResolver) NightHistory(ctx context.Context, roomType string, night civil.Date, first int64, after *string) (*generated.UnitEventConnection, error) {
	var d decoder
	id, from := readID[inventory.RoomTypeKind](&d, "roomType", roomType), readHistoryCursor(&d, after)
	if d.err != nil {
		return nil, d.err
	}
	if _, err := load(ctx, loadersOf(ctx).roomTypes, id, "room type"); err != nil {
		return nil, err
	}
	found, more, err := r.bookings.NightHistory(ctx, actorOf(ctx), id, night, from, int(first))
	return historyConnection(found, more, err)
}

func historyConnection(found []bookings.UnitEvent, more bool, err error) (*generated.UnitEventConnection, error) {
	if err != nil {
		return nil, err
	}
	var c generated.UnitEventConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, func(e bookings.UnitEvent) string {
		at := e.Cursor()
		return encodeCursor(listHistory, at.At.UTC().Format(time.RFC3339Nano), at.Subject.String(), strconv.FormatInt(at.Ordinal, 10), strconv.FormatInt(at.Step, 10))
	}, unitEventView, func(cursor string, node generated.UnitEvent) generated.UnitEventEdge {
		return generated.UnitEventEdge{Cursor: cursor, Node: node}
	})
	return &c, nil
}

func readHistoryCursor(d *decoder, after *string) *bookings.HistoryCursor {
	if after == nil {
		return nil
	}
	key, err := decodeCursor(listHistory, *after, 4)
	if err != nil {
		d.refuse("after", err)
		return nil
	}
	at, timeErr := time.Parse(time.RFC3339Nano, key[0])
	subject, subjectErr := uuid.Parse(key[1])
	ordinal, ordinalErr := strconv.ParseInt(key[2], 10, 64)
	step, stepErr := strconv.ParseInt(key[3], 10, 64)
	if timeErr != nil || subjectErr != nil || ordinalErr != nil || stepErr != nil {
		d.refuse("after", errCursor)
	}
	return &bookings.HistoryCursor{At: at, Subject: subject, Ordinal: ordinal, Step: step}
}

func unitEventView(e bookings.UnitEvent) generated.UnitEvent {
	return generated.UnitEvent{
		At: e.At, Change: generated.UnitChange(e.Change), Quantity: e.Quantity, HoldID: idOrNull(e.Hold), BookingID: idOrNull(e.Booking),
		BlockID: idOrNull(e.Block), AllotmentID: idOrNull(e.Allotment), ChannelID: idOrNull(e.Channel),
		Actor: orNull(e.Actor), Reason: orNull(e.Reason), Note: orNull(e.Note),
	}
}

// Occupancy is the resolver for the occupancy field.
func (r *propertyResolver) Occupancy(ctx context.Context, obj *generated.Property, from, to civil.Date) (*generated.OccupancyReport, error) {
	report, err := r.bookings.Occupancy(ctx, actorOf(ctx), obj.Source, from, to)
	return one(report, err, func(o bookings.Occupancy) generated.OccupancyReport {
		return generated.OccupancyReport{AsOf: o.AsOf, Nights: each(o.Nights, occupiedNightView)}
	})
}

func occupiedNightView(n bookings.OccupiedNight) generated.OccupiedNight {
	view := generated.OccupiedNight{
		RoomTypeID: n.RoomType.String(), RoomTypeName: n.Name, Night: n.Night, Physical: n.Physical, OutOfOrder: n.OutOfOrder,
		Oversell: n.Oversell, Allotted: n.Allotted, Held: n.Held, Booked: n.Booked, Revenue: moneyView(n.Revenue),
	}
	if rooms := n.Physical - n.OutOfOrder; rooms > 0 {
		share := n.Booked * 10_000 / rooms
		view.OccupancyBasisPoints = &share
	}
	return view
}

// PickUp is the resolver for the pickUp field.
func (r *propertyResolver) PickUp(ctx context.Context, obj *generated.Property, from, to civil.Date, since, until time.Time) (*generated.PickUpReport, error) {
	report, err := r.bookings.PickUp(ctx, actorOf(ctx), obj.Source, from, to, since, until)
	return one(report, err, func(p bookings.PickUp) generated.PickUpReport {
		return generated.PickUpReport{AsOf: p.AsOf, Nights: each(p.Nights, pickedUpNightView)}
	})
}

func pickedUpNightView(n bookings.PickedUpNight) generated.PickedUpNight {
	return generated.PickedUpNight{
		RoomTypeID: n.RoomType.String(), RoomTypeName: n.Name, Night: n.Night, Sold: n.Sold, Cancelled: n.Cancelled,
		RoomsBefore: n.RoomsBefore, RoomsAfter: n.RoomsAfter, RevenueBefore: moneyView(n.RevenueBefore), RevenueAfter: moneyView(n.RevenueAfter),
	}
}
