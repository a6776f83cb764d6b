package events

import "slices"

// Type says what happened: the sort of thing, and what became of it.
type Type string

// The types of event. They are added, never renamed.
const (
	TypeBookingConfirmed Type = "booking.confirmed"
	TypeBookingCancelled Type = "booking.cancelled"
	TypeBookingNoShow    Type = "booking.no_show"
	TypeBookingChanged   Type = "booking.changed"
	TypeBookingWalked    Type = "booking.walked"
	// Of the front desk.
	TypeBookingNoShowSettled  Type = "booking.no_show_settled"
	TypeBookingRoomAssigned   Type = "booking.room_assigned"
	TypeBookingRoomUnassigned Type = "booking.room_unassigned"
	TypeBookingCheckedIn      Type = "booking.checked_in"
	TypeBookingCheckedOut     Type = "booking.checked_out"
	TypeRoomOutOfOrder        Type = "room.out_of_order"

	TypeRefundRequested    Type = "refund.requested"
	TypeRefundSucceeded    Type = "refund.succeeded"
	TypeRefundFailed       Type = "refund.failed"
	TypeDisputeOpened      Type = "dispute.opened"
	TypeDisputeWon         Type = "dispute.won"
	TypeDisputeLost        Type = "dispute.lost"
	TypeAllotmentReleased  Type = "allotment.released"
	TypeAllotmentCancelled Type = "allotment.cancelled"
	TypeBlockReleased      Type = "block.released"
	TypeWaitingListOffered Type = "waitinglist.offered"
	// TypeEndpointPing goes to one endpoint only, whatever it subscribes to.
	TypeEndpointPing Type = "endpoint.ping"
)

// Kind is the sort of thing that an event is about.
type Kind string

// The kinds of thing.
const (
	KindBooking Kind = "booking"
	KindRefund  Kind = "refund"
	KindDispute Kind = "dispute"
	KindBlock   Kind = "block"
	// KindRoom is a physical room of a hotel.
	KindRoom     Kind = "room"
	KindEndpoint Kind = "endpoint"
	// KindWaitingEntry is somebody's entry in a waiting list.
	KindWaitingEntry Kind = "waiting_entry"
	// KindAllotment is stock that was set aside for a channel; the event's channel is that one.
	KindAllotment Kind = "allotment"
)

// Meaning is a type of event with what it says, for people who write receivers.
type Meaning struct {
	Type Type
	Kind Kind
	Text string
}

// Meanings are all types of event. The API's enumeration and docs/webhooks.md are held against it.
func Meanings() []Meaning {
	return []Meaning{
		{TypeBookingConfirmed, KindBooking, "A hold was paid for and became a booking."},
		{TypeBookingCancelled, KindBooking, "Lines of a booking were cancelled; their units are for sale again."},
		{TypeBookingNoShow, KindBooking, "The guests of lines of a booking did not come."},
		{TypeBookingNoShowSettled, KindBooking, "What guests who did not come are charged was settled, and the rest of it is given back."},
		{TypeBookingRoomAssigned, KindBooking, "Guests of a booking were given a physical room, or another one."},
		{TypeBookingRoomUnassigned, KindBooking, "Guests of a booking have a physical room no more on some nights."},
		{TypeBookingCheckedIn, KindBooking, "Guests of a booking have come."},
		{TypeBookingCheckedOut, KindBooking, "Guests of a booking have gone."},
		{TypeRoomOutOfOrder, KindRoom, "A period in which a physical room is out of order was made, shortened or ended."},
		{TypeBookingChanged, KindBooking, "A stay of a booking was moved to other nights or rooms, perhaps of another hotel of the seller."},
		{TypeBookingWalked, KindBooking, "There is no room for a stay of a booking: its guests are sent elsewhere, and have to be told."},
		{TypeRefundRequested, KindRefund, "Money is to be given back."},
		{TypeRefundSucceeded, KindRefund, "The payment provider gave the money back."},
		{TypeRefundFailed, KindRefund, "The payment provider refused to give the money back; it is asked again, or a person is."},
		{TypeDisputeOpened, KindDispute, "The buyer disputes a payment with the bank; the booking stands."},
		{TypeDisputeWon, KindDispute, "A dispute ended for the seller: the money stays."},
		{TypeDisputeLost, KindDispute, "A dispute ended for the buyer: the bank took the money back, and the booking stands."},
		{TypeAllotmentReleased, KindAllotment, "The unsold rest of an allotment, or of some of its nights, went to everybody."},
		{TypeAllotmentCancelled, KindAllotment, "An allotment was taken back; what was sold from it stays sold."},
		{TypeBlockReleased, KindBlock, "Seats that were set aside for a channel or the house are for sale through every channel."},
		{TypeWaitingListOffered, KindWaitingEntry, "What somebody waits for is held for them, for a time; the entry names the hold."},
		{TypeEndpointPing, KindEndpoint, "Somebody tests the endpoint. Nothing happened."},
	}
}

// meaningOf finds a type in the table.
func meaningOf(t Type) (Meaning, bool) {
	all := Meanings()
	i := slices.IndexFunc(all, func(m Meaning) bool { return m.Type == t })
	if i < 0 {
		return Meaning{}, false
	}
	return all[i], true
}
