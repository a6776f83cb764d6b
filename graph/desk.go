package graph

import (
	"context"
	"errors"
	"strconv"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

const (
	listPhysicalRooms = "physicalRooms"
	listOutOfOrder    = "outOfOrder"
	listArrivals      = "arrivals"
	listDepartures    = "departures"
	listInHouse       = "inHouse"
)

// PhysicalRoom is the resolver for the physicalRoom field.
func (r *queryResolver) PhysicalRoom(ctx context.Context, id string) (*generated.PhysicalRoom, error) {
	var d decoder
	wanted := readID[inventory.RoomKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	room, err := r.inventory.Room(ctx, actorOf(ctx), wanted)
	return one(room, err, physicalRoomView)
}

// PhysicalRooms is the resolver for the physicalRooms field.
func (r *propertyResolver) PhysicalRooms(ctx context.Context, obj *generated.Property, roomType *string, first int64, after *string) (*generated.PhysicalRoomConnection, error) {
	var d decoder
	of := readOptionalID[inventory.RoomTypeKind](&d, "roomType", roomType)
	from := readTextCursor(&d, listPhysicalRooms, after)
	if d.err != nil {
		return nil, d.err
	}
	rooms, more, err := r.inventory.Rooms(ctx, actorOf(ctx), obj.Source.ID, of, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.PhysicalRoomConnection
	c.Edges, c.Nodes, c.PageInfo = connect(rooms, more,
		func(room inventory.Room) string {
			return encodeCursor(listPhysicalRooms, strconv.QuoteToASCII(room.Number))
		}, physicalRoomView,
		func(cursor string, node generated.PhysicalRoom) generated.PhysicalRoomEdge {
			return generated.PhysicalRoomEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// readTextCursor reads a cursor whose key is any text, which may have spaces.
func readTextCursor(d *decoder, list string, after *string) string {
	if after == nil {
		return ""
	}
	text, err := decodeTextCursor(list, *after)
	if err != nil {
		d.refuse("after", err)
	}
	return text
}

// OutOfOrder is the resolver for the outOfOrder field.
func (r *physicalRoomResolver) OutOfOrder(ctx context.Context, obj *generated.PhysicalRoom, first int64, after *string) (*generated.OutOfOrderPeriodConnection, error) {
	var d decoder
	var from *inventory.OutOfOrderCursor
	if after != nil {
		at := readDatedCursor(&d, listOutOfOrder, *after)
		from = &at
	}
	if d.err != nil {
		return nil, d.err
	}
	periods, more, err := r.inventory.OutOfOrderOf(ctx, actorOf(ctx), obj.Source, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.OutOfOrderPeriodConnection
	c.Edges, c.Nodes, c.PageInfo = connect(periods, more,
		func(o inventory.OutOfOrder) string {
			return encodeCursor(listOutOfOrder, o.First.String(), o.ID.UUID.String())
		}, outOfOrderView,
		func(cursor string, node generated.OutOfOrderPeriod) generated.OutOfOrderPeriodEdge {
			return generated.OutOfOrderPeriodEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

func readDatedCursor(d *decoder, list, after string) inventory.OutOfOrderCursor {
	key, err := decodeCursor(list, after, 2)
	if err != nil {
		d.refuse("after", err)
		return inventory.OutOfOrderCursor{}
	}
	date, dateErr := civil.ParseDate(key[0])
	id, idErr := uuid.Parse(key[1])
	if dateErr != nil || idErr != nil {
		d.refuse("after", errCursor)
	}
	return inventory.OutOfOrderCursor{First: date, ID: id}
}

// Arrivals is the resolver for the arrivals field.
func (r *propertyResolver) Arrivals(ctx context.Context, obj *generated.Property, date civil.Date, first int64, after *string) (*generated.DeskStayConnection, error) {
	return r.stays(ctx, obj.Source, bookings.StayListArrivals, listArrivals, date, first, after)
}

// Departures is the resolver for the departures field.
func (r *propertyResolver) Departures(ctx context.Context, obj *generated.Property, date civil.Date, first int64, after *string) (*generated.DeskStayConnection, error) {
	return r.stays(ctx, obj.Source, bookings.StayListDepartures, listDepartures, date, first, after)
}

// InHouse is the resolver for the inHouse field.
func (r *propertyResolver) InHouse(ctx context.Context, obj *generated.Property, date civil.Date, first int64, after *string) (*generated.DeskStayConnection, error) {
	return r.stays(ctx, obj.Source, bookings.StayListInHouse, listInHouse, date, first, after)
}

func (r *propertyResolver) stays(ctx context.Context, property tenants.Property, list bookings.StayList, name string, date civil.Date, first int64, after *string) (*generated.DeskStayConnection, error) {
	var from *bookings.StayCursor
	if after != nil {
		key, err := decodeCursor(name, *after, 2)
		if err != nil {
			return nil, fault.Invalid("after", "%s", err)
		}
		item, err := strconv.ParseInt(key[1], 10, 64)
		if err != nil {
			return nil, fault.Invalid("after", "%s", errCursor)
		}
		from = &bookings.StayCursor{Reference: key[0], Item: item}
	}
	stays, more, err := r.bookings.Stays(ctx, actorOf(ctx), property, list, date, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.DeskStayConnection
	c.Edges, c.Nodes, c.PageInfo = connect(stays, more,
		func(stay bookings.DeskStay) string {
			return encodeCursor(name, stay.Booking.Reference, strconv.FormatInt(stay.Item, 10))
		}, deskStayView,
		func(cursor string, node generated.DeskStay) generated.DeskStayEdge {
			return generated.DeskStayEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// Stays is the resolver for the stays field.
func (r *bookingResolver) Stays(ctx context.Context, obj *generated.Booking) ([]generated.DeskStay, error) {
	var d decoder
	id := readID[bookings.BookingKind](&d, "id", obj.ID)
	if d.err != nil {
		return nil, d.err
	}
	stays, err := r.bookings.StaysOfBooking(ctx, actorOf(ctx), id)
	return each(stays, deskStayView), err
}

// CreateRooms is the resolver for the createRooms field.
func (r *mutationResolver) CreateRooms(ctx context.Context, input generated.CreateRoomsInput) (*generated.CreatedRooms, error) {
	var d decoder
	property := readID[tenants.PropertyKind](&d, "input.property", input.Property)
	rooms := make([]inventory.NewRoom, len(input.Rooms))
	for i, room := range input.Rooms {
		rooms[i] = inventory.NewRoom{
			RoomType: readID[inventory.RoomTypeKind](&d, indexed("input.rooms", i)+".roomType", room.RoomType), Number: room.Number,
			Floor: textOf(room.Floor), Notes: textOf(room.Notes),
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	made, err := r.inventory.CreateRooms(ctx, actorOf(ctx), input.RequestKey, property, rooms)
	return one(generated.CreatedRooms{Rooms: each(made, physicalRoomView)}, inInput(err), func(c generated.CreatedRooms) generated.CreatedRooms { return c })
}

// UpdateRoom is the resolver for the updateRoom field.
func (r *mutationResolver) UpdateRoom(ctx context.Context, input generated.UpdateRoomInput) (*generated.PhysicalRoom, error) {
	var d decoder
	id := readID[inventory.RoomKind](&d, "input.physicalRoom", input.PhysicalRoom)
	change := inventory.RoomChange{
		RoomType: readOptionalID[inventory.RoomTypeKind](&d, "input.roomType", input.RoomType), Number: input.Number, Floor: input.Floor, Notes: input.Notes,
	}
	if input.State != nil {
		state := inventory.RoomState(*input.State)
		change.State = &state
	}
	if d.err != nil {
		return nil, d.err
	}
	room, err := r.inventory.UpdateRoom(ctx, actorOf(ctx), input.RequestKey, id, change)
	return one(room, inInput(err), physicalRoomView)
}

// PutOutOfOrder is the resolver for the putOutOfOrder field.
func (r *mutationResolver) PutOutOfOrder(ctx context.Context, input generated.PutOutOfOrderInput) (generated.OutOfOrderResult, error) {
	var d decoder
	wanted := bookings.NewOutOfOrder{
		RequestKey: input.RequestKey, Room: readID[inventory.RoomKind](&d, "input.physicalRoom", input.PhysicalRoom), First: input.From, Last: input.To, Reason: input.Reason,
	}
	if d.err != nil {
		return nil, d.err
	}
	set, err := r.bookings.PutOutOfOrder(ctx, actorOf(ctx), wanted)
	if err != nil {
		return deskRefused(err)
	}
	return outOfOrderSetView(set), nil
}

// EndOutOfOrder is the resolver for the endOutOfOrder field.
func (r *mutationResolver) EndOutOfOrder(ctx context.Context, input generated.EndOutOfOrderInput) (generated.OutOfOrderResult, error) {
	var d decoder
	wanted := bookings.EndOutOfOrder{RequestKey: input.RequestKey, Period: readID[inventory.OutOfOrderKind](&d, "input.outOfOrder", input.OutOfOrder), Last: input.To}
	if d.err != nil {
		return nil, d.err
	}
	set, err := r.bookings.EndOutOfOrder(ctx, actorOf(ctx), wanted)
	if err != nil {
		return deskRefused(err)
	}
	return outOfOrderSetView(set), nil
}

// AssignRoom is the resolver for the assignRoom field.
func (r *mutationResolver) AssignRoom(ctx context.Context, input generated.AssignRoomInput) (generated.DeskResult, error) {
	var d decoder
	wanted := bookings.AssignRoom{
		RequestKey: input.RequestKey, Booking: readID[bookings.BookingKind](&d, "input.booking", input.Booking), Item: input.Item, Number: input.Number,
		Room: readOptionalID[inventory.RoomKind](&d, "input.physicalRoom", input.PhysicalRoom), First: input.From, Last: input.To,
		Upgrade: input.Upgrade, Split: input.Split,
	}
	if d.err != nil {
		return nil, d.err
	}
	return deskResult(r.bookings.AssignRoom(ctx, actorOf(ctx), wanted))
}

// UnassignRoom is the resolver for the unassignRoom field.
func (r *mutationResolver) UnassignRoom(ctx context.Context, input generated.UnassignRoomInput) (generated.DeskResult, error) {
	var d decoder
	wanted := bookings.UnassignRoom{
		RequestKey: input.RequestKey, Booking: readID[bookings.BookingKind](&d, "input.booking", input.Booking), Item: input.Item, Number: input.Number,
		First: input.From, Last: input.To,
	}
	if d.err != nil {
		return nil, d.err
	}
	return deskResult(r.bookings.UnassignRoom(ctx, actorOf(ctx), wanted))
}

// AssignRooms is the resolver for the assignRooms field.
func (r *mutationResolver) AssignRooms(ctx context.Context, input generated.AssignRoomsInput) (*generated.RoomsAssigned, error) {
	var d decoder
	id := readID[tenants.PropertyKind](&d, "input.property", input.Property)
	if d.err != nil {
		return nil, d.err
	}
	property, err := load(ctx, loadersOf(ctx).properties, id, "property")
	if err != nil {
		return nil, err
	}
	done, err := r.bookings.AssignRooms(ctx, actorOf(ctx), bookings.AssignRooms{Property: property, Date: input.Date, Split: input.Split, DryRun: input.DryRun})
	return one(done, inInput(err), roomsAssignedView)
}

// CheckIn is the resolver for the checkIn field.
func (r *mutationResolver) CheckIn(ctx context.Context, input generated.CheckInInput) (generated.DeskResult, error) {
	var d decoder
	id := readID[bookings.BookingKind](&d, "input.booking", input.Booking)
	if d.err != nil {
		return nil, d.err
	}
	return deskResult(r.bookings.CheckIn(ctx, actorOf(ctx), bookings.CheckStay{RequestKey: input.RequestKey, Booking: id, Item: input.Item, Numbers: input.Numbers}))
}

// CheckOut is the resolver for the checkOut field.
func (r *mutationResolver) CheckOut(ctx context.Context, input generated.CheckOutInput) (generated.DeskResult, error) {
	var d decoder
	id := readID[bookings.BookingKind](&d, "input.booking", input.Booking)
	if d.err != nil {
		return nil, d.err
	}
	return deskResult(r.bookings.CheckOut(ctx, actorOf(ctx), bookings.CheckStay{
		RequestKey: input.RequestKey, Booking: id, Item: input.Item, Numbers: input.Numbers, KeepNights: input.KeepNights,
	}))
}

// DepartEarly is the resolver for the departEarly field.
func (r *mutationResolver) DepartEarly(ctx context.Context, input generated.DepartEarlyInput) (generated.CancelBookingResult, error) {
	var d decoder
	wanted := bookings.DepartEarly{
		RequestKey: input.RequestKey, Booking: readID[bookings.BookingKind](&d, "input.booking", input.Booking), Item: input.Item, Date: input.Date,
		DryRun: input.DryRun, ExpectedFee: readOptionalMoney(&d, "input.expectedFee", input.ExpectedFee), WaiveFee: input.WaiveFee, Reason: textOf(input.Reason),
	}
	if d.err != nil {
		return nil, d.err
	}
	done, err := r.bookings.DepartEarly(ctx, actorOf(ctx), wanted)
	if err != nil {
		return cancellationRefused(err)
	}
	return cancellationView(done), nil
}

// ReleaseNoShow is the resolver for the releaseNoShow field.
func (r *mutationResolver) ReleaseNoShow(ctx context.Context, input generated.ReleaseNoShowInput) (generated.ReleaseNoShowResult, error) {
	var d decoder
	wanted := bookings.ReleaseNoShow{
		RequestKey: input.RequestKey, Booking: readID[bookings.BookingKind](&d, "input.booking", input.Booking), Item: input.Item,
		DryRun: input.DryRun, ExpectedFee: readOptionalMoney(&d, "input.expectedFee", input.ExpectedFee), WaiveFee: input.WaiveFee, Reason: textOf(input.Reason),
	}
	if d.err != nil {
		return nil, d.err
	}
	done, err := r.bookings.ReleaseNoShow(ctx, actorOf(ctx), wanted)
	if err != nil {
		return bookingRefused(err)
	}
	return noShowReleaseView(done), nil
}

// deskResult is a stay after a command; an expected no is the mutation's data.
func deskResult(stay bookings.DeskStay, err error) (generated.DeskResult, error) {
	if err != nil {
		return deskRefused(err)
	}
	return deskStayView(stay), nil
}

// deskRefused makes an expected no the mutation's data; other errors stay errors.
func deskRefused(err error) (*generated.RoomRefused, error) {
	var refusal *inventory.Refusal
	if !errors.As(err, &refusal) {
		return nil, inInput(err)
	}
	view := &generated.RoomRefused{
		Code: generated.RefusalCode(refusal.Code), Message: refusal.Message, Nights: []generated.RefusedRoomNight{}, Proposal: []generated.RoomSpan{},
	}
	var room *bookings.RoomRefusal
	if errors.As(err, &room) {
		view.Nights, view.Proposal = each(room.Nights, refusedRoomNightView), each(room.Proposal, roomSpanView)
	}
	return view, nil
}
