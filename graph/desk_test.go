package graph_test

import (
	"testing"
)

// newRooms adds physical rooms of the double to the house.
func (h *house) newRooms(numbers ...string) []string {
	h.server.t.Helper()
	rooms := make([]vars, len(numbers))
	for i, number := range numbers {
		rooms[i] = vars{"roomType": h.double, "number": number, "floor": "1"}
	}
	var answer struct{ CreateRooms struct{ Rooms []created } }
	h.admin.get(`mutation($input: CreateRoomsInput!) { createRooms(input: $input) { rooms { id } } }`,
		vars{"input": vars{"requestKey": key(), "property": h.property, "rooms": rooms}}, &answer)
	ids := make([]string, len(numbers))
	for i, room := range answer.CreateRooms.Rooms {
		ids[i] = room.ID
	}
	return ids
}

// roomOutOfOrder is a physical room with a period.
func (h *house) roomOutOfOrder() (room, period string) {
	h.server.t.Helper()
	room = h.newRooms("Walk " + key()[:8])[0]
	var answer struct{ PutOutOfOrder struct{ Period created } }
	h.admin.get(`mutation($input: PutOutOfOrderInput!) { putOutOfOrder(input: $input) { ... on OutOfOrderSet { period { id } } } }`,
		vars{"input": vars{"requestKey": key(), "physicalRoom": room, "from": "2030-04-01", "to": "2030-04-03", "reason": "Paint"}}, &answer)
	return room, answer.PutOutOfOrder.Period.ID
}

// soldStay is a booking of a guest who arrives on 14 March 2030 for two nights.
func (h *house) soldStay() string {
	h.server.t.Helper()
	guest := h.guest()
	hold := h.hold(guest, vars{"stay": vars{"roomType": h.double, "checkIn": "2030-03-14", "checkOut": "2030-03-16", "rooms": 1}})
	sale := h.checkout(guest, vars{
		"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": hold.Total.AmountMinor, "currency": "EUR"},
	})
	if sale.Booking == nil {
		h.server.t.Fatalf("nothing was booked: %+v", sale)
	}
	return sale.Booking.ID
}

// The box office works the desk: it gives rooms, sees who comes, and is told what it may not.
func TestTheFrontDesk(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	doors := h.newRooms("101", "102")
	desk := h.staff("BOX_OFFICE", nil)
	booking := h.soldStay()

	var closed struct {
		PutOutOfOrder struct {
			Period   struct{ ID, From, To, State string }
			Oversold []struct{ Night string }
		}
	}
	desk.get(`mutation($input: PutOutOfOrderInput!) { putOutOfOrder(input: $input) { ... on OutOfOrderSet { period { id from to state } oversold { night } } } }`,
		vars{"input": vars{"requestKey": key(), "physicalRoom": doors[0], "from": "2030-03-15", "to": "2030-03-15", "reason": "Water damage"}}, &closed)
	if p := closed.PutOutOfOrder.Period; p.From != "2030-03-15" || p.To != "2030-03-15" || p.State != "OPEN" {
		t.Fatalf("the period: %+v", closed)
	}

	type stay struct {
		State, CheckIn, CheckOut string
		Booking                  struct {
			ID        string
			Reference string
		}
		Rooms []struct {
			Assigned   []struct{ Number, From, To string }
			Unassigned []string
			Split      bool
		}
		Code   string
		Nights []any
	}
	const fields = `... on DeskStay { state checkIn checkOut booking { id reference } rooms { assigned { number from to } unassigned split } }`
	var assigned struct{ AssignRoom stay }
	give := func(change vars) stay {
		t.Helper()
		input := vars{"requestKey": key(), "booking": booking}
		for name, value := range change {
			input[name] = value
		}
		assigned.AssignRoom = stay{}
		desk.get(`mutation($input: AssignRoomInput!) { assignRoom(input: $input) { `+fields+` ... on RoomRefused { code nights { night code } } } }`, vars{"input": input}, &assigned)
		return assigned.AssignRoom
	}
	if got := give(vars{"physicalRoom": doors[0]}); got.Code != "ROOM_OUT_OF_ORDER" || len(got.Nights) != 1 {
		t.Errorf("a room out of order: %+v", got)
	}
	got := give(nil)
	if got.State != "EXPECTED" || len(got.Rooms) != 1 || len(got.Rooms[0].Assigned) != 1 || got.Rooms[0].Assigned[0].Number != "102" || got.Rooms[0].Split {
		t.Errorf("any room: %+v", got)
	}
	var arrivals struct {
		Hotel struct {
			Arrivals, Departures, InHouse struct{ Nodes []stay }
			PhysicalRooms                 struct {
				Nodes []struct {
					Number     string
					OutOfOrder struct{ Nodes []struct{ Reason string } }
				}
				PageInfo struct {
					HasNextPage bool
					EndCursor   string
				}
			}
		}
	}
	query := `query($id: ID!, $after: String) { hotel(id: $id) {
		arrivals(date: "2030-03-14") { nodes { ` + fields[len("... on DeskStay {"):len(fields)-1] + ` } }
		departures(date: "2030-03-16") { nodes { state checkOut } }
		inHouse(date: "2030-03-14") { nodes { state } }
		physicalRooms(first: 1, after: $after) { nodes { number outOfOrder { nodes { reason } } } pageInfo { hasNextPage endCursor } } } }`
	desk.get(query, vars{"id": h.property}, &arrivals)
	a := arrivals.Hotel
	if len(a.Arrivals.Nodes) != 1 || a.Arrivals.Nodes[0].Booking.ID != booking || len(a.Departures.Nodes) != 1 || len(a.InHouse.Nodes) != 0 {
		t.Errorf("the lists: %+v", a)
	}
	if rooms := a.PhysicalRooms; len(rooms.Nodes) != 1 || rooms.Nodes[0].Number != "101" || len(rooms.Nodes[0].OutOfOrder.Nodes) != 1 || !rooms.PageInfo.HasNextPage {
		t.Errorf("the rooms: %+v", rooms)
	}
	desk.get(query, vars{"id": h.property, "after": a.PhysicalRooms.PageInfo.EndCursor}, &arrivals)
	if rooms := arrivals.Hotel.PhysicalRooms; len(rooms.Nodes) != 1 || rooms.Nodes[0].Number != "102" || rooms.PageInfo.HasNextPage {
		t.Errorf("the next rooms: %+v", rooms)
	}

	var early struct {
		CheckIn, MarkNoShow, ReleaseNoShow, DepartEarly struct{ Code string }
	}
	desk.get(`mutation($in: CheckInInput!, $mark: BookingLinesInput!, $release: ReleaseNoShowInput!, $leave: DepartEarlyInput!) {
		checkIn(input: $in) { ... on RoomRefused { code } }
		markNoShow(input: $mark) { ... on BookingRefused { code } }
		releaseNoShow(input: $release) { ... on BookingRefused { code } }
		departEarly(input: $leave) { ... on CancellationRefused { code } } }`, vars{
		"in": vars{"requestKey": key(), "booking": booking}, "mark": vars{"requestKey": key(), "booking": booking},
		"release": vars{"requestKey": key(), "booking": booking}, "leave": vars{"requestKey": key(), "booking": booking, "date": "2030-03-15", "dryRun": true},
	}, &early)
	if early.CheckIn.Code != "NOT_DUE" || early.MarkNoShow.Code != "NOT_DUE" || early.ReleaseNoShow.Code != "NOT_NO_SHOW" || early.DepartEarly.Code != "NOT_CHECKED_IN" {
		t.Errorf("before the day: %+v", early)
	}
}
