package graph

import (
	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
)

func physicalRoomView(r inventory.Room) generated.PhysicalRoom {
	return generated.PhysicalRoom{
		ID: r.ID.String(), PropertyID: r.Property.String(), RoomTypeID: r.RoomType.String(), Number: r.Number, Floor: orNull(r.Floor), Notes: orNull(r.Notes),
		State: generated.PhysicalRoomState(r.State), Version: r.Version, Source: r.ID,
	}
}

func outOfOrderView(o inventory.OutOfOrder) generated.OutOfOrderPeriod {
	return generated.OutOfOrderPeriod{
		ID: o.ID.String(), RoomID: o.Room.String(), From: o.First, To: o.Last, Reason: o.Reason, State: generated.OutOfOrderState(o.State),
		CreatedAt: o.CreatedAt, EndedAt: o.EndedAt,
	}
}

func outOfOrderSetView(s bookings.OutOfOrderSet) generated.OutOfOrderSet {
	return generated.OutOfOrderSet{
		Period: outOfOrderView(s.Period), PhysicalRoom: physicalRoomView(s.Room), Oversold: each(s.Oversold, oversoldNightView),
		DisplacedBookingIds: each(s.Displaced, func(id bookings.BookingID) string { return id.String() }),
	}
}

func roomSpanView(s bookings.RoomSpan) generated.RoomSpan {
	return generated.RoomSpan{RoomID: s.Room.String(), Number: s.Door, RoomTypeID: s.RoomType.String(), From: s.First, To: s.Last}
}

func refusedRoomNightView(n bookings.RefusedNight) generated.RefusedRoomNight {
	view := generated.RefusedRoomNight{Night: n.Night, Code: generated.RefusalCode(n.Code)}
	if n.Booking != nil {
		id := n.Booking.String()
		view.BookingID = &id
	}
	return view
}

func deskStayView(d bookings.DeskStay) generated.DeskStay {
	return generated.DeskStay{
		Booking: bookingView(d.Booking), Item: d.Item, PropertyID: d.Property.String(), RoomTypeID: d.RoomType.String(), CheckIn: d.CheckIn, CheckOut: d.CheckOut,
		Nights: orEmpty(d.Nights), State: generated.StayState(d.State),
		Rooms: each(d.Rooms, func(r bookings.StayRoom) generated.StayRoom {
			return generated.StayRoom{
				Number: r.Number, State: generated.StayState(r.State), CheckedInAt: r.CheckedInAt, CheckedOutAt: r.CheckedOutAt,
				Assigned: each(r.Spans, roomSpanView), Unassigned: orEmpty(r.Unassigned), Split: r.Split(),
			}
		}),
	}
}

// orEmpty is a list that is never null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func roomsAssignedView(a bookings.RoomsAssigned) generated.RoomsAssigned {
	return generated.RoomsAssigned{
		Given: each(a.Given, func(g bookings.GivenRoom) generated.GivenRoom {
			return generated.GivenRoom{BookingID: g.Booking.String(), Reference: g.Reference, Item: g.Item, Number: g.Number, Rooms: each(g.Spans, roomSpanView)}
		}),
		Lacking: each(a.Lacking, func(l bookings.LackingRoom) generated.LackingRoom {
			return generated.LackingRoom{
				BookingID: l.Booking.String(), Reference: l.Reference, Item: l.Item, Number: l.Number, Code: generated.RefusalCode(l.Refusal.Code),
				Message: l.Refusal.Message, Proposal: each(l.Spans, roomSpanView),
			}
		}),
		More: a.More,
	}
}

func noShowReleaseView(r bookings.NoShowRelease) generated.NoShowRelease {
	ordinal := func(l bookings.CancelledLine) int64 { return l.Ordinal }
	return generated.NoShowRelease{
		DryRun: r.DryRun(), Booking: bookingView(r.Booking), At: r.At, ReleasedLines: each(r.Released, ordinal), PastLines: each(r.Past, ordinal),
		Fee: moneyView(r.Fee), Refund: moneyView(r.Refund), Credited: moneyView(r.Credited), Waived: moneyView(r.Waived), Reason: orNull(r.Reason),
	}
}
