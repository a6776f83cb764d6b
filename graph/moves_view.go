package graph

import (
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/ids"
)

func stayChangeView(c bookings.StayChange) generated.StayChange {
	view := generated.StayChange{
		ID: idOrNull(c.ID), Kind: generated.StayChangeKind(c.Kind), Booking: bookingView(c.Booking), Item: c.Item, At: c.At,
		EndedLines: numbers(c.EndedLines), AddedLines: numbers(c.AddedLines), Returned: moneyView(c.Returned), Added: moneyView(c.Added),
		Fee: moneyView(c.Fee), WaivedFee: moneyView(c.Waived), Refund: moneyView(c.Refund), Credited: moneyView(c.Credited),
		Due: moneyView(c.Due), Open: moneyView(c.Open()), DueState: generated.AmountDueState(c.DueState), SettleNote: orNull(c.Note),
		SettledAt: c.SettledAt, Reason: orNull(c.Reason),
	}
	if c.Method != "" {
		method := generated.SettleMethod(c.Method)
		view.SettledWith = &method
	}
	if c.Compensation != nil {
		compensation := compensationView(*c.Compensation)
		view.Compensation = &compensation
	}
	return view
}

// numbers are never null.
func numbers(list []int64) []int64 {
	if list == nil {
		return []int64{}
	}
	return list
}

func compensationView(c bookings.Compensation) generated.Compensation {
	view := generated.Compensation{
		PropertyID: c.Property.String(), RoomTypeID: c.RoomType.String(), Night: c.Night, Nights: c.Nights, Rooms: c.Rooms,
		RateDifference: moneyView(c.RateDifference), Lodging: moneyView(c.Lodging), Goodwill: moneyView(c.Goodwill),
		Transport: moneyView(c.Transport), Cost: moneyView(c.Cost), Refunded: moneyView(c.Refunded),
	}
	if c.To != nil {
		view.ToRoomTypeID = idOrNull(*c.To)
	}
	return view
}

func proposalsView(p bookings.Proposals) generated.CompensationProposals {
	return generated.CompensationProposals{
		Overbooked: each(p.Overbooked, func(o bookings.Overbooked) generated.OverbookedRoomType {
			return generated.OverbookedRoomType{RoomTypeID: o.RoomType.String(), Name: o.Name, Usable: o.Usable, Booked: o.Booked, Short: o.Short}
		}),
		Proposals: each(p.Proposals, func(p bookings.Proposal) generated.CompensationProposal {
			return generated.CompensationProposal{
				Kind: generated.StayChangeKind(p.Kind), Booking: bookingView(p.Booking), Item: p.Item, RoomName: orNull(p.RoomName),
				HotelName: orNull(p.HotelName), StayNights: p.StayNights, Compensation: compensationView(p.Compensation), Reason: p.Reason,
			}
		}),
	}
}

func walkTermsView(w bookings.WalkTerms) generated.WalkTerms {
	return generated.WalkTerms{Night: moneyView(w.Night), Goodwill: moneyView(w.Goodwill), Transport: moneyView(w.Transport)}
}

func compensationReportView(c bookings.CompensationReport) generated.CompensationReport {
	return generated.CompensationReport{
		AsOf: c.AsOf, Total: moneyView(c.Total),
		Nights: each(c.Nights, func(n bookings.CompensatedNight) generated.CompensatedNight {
			return generated.CompensatedNight{
				Night: n.Night, Kind: generated.StayChangeKind(n.Kind), Stays: n.Stays, Rooms: n.Rooms, RoomNights: n.RoomNights,
				RateDifference: moneyView(n.RateDifference), Lodging: moneyView(n.Lodging), Goodwill: moneyView(n.Goodwill),
				Transport: moneyView(n.Transport), Cost: moneyView(n.Cost), Refunded: moneyView(n.Refunded),
			}
		}),
	}
}

func changeIDView(region ids.Region, id *uuid.UUID) *string {
	if id == nil {
		return nil
	}
	return idOrNull(bookings.StayChangeID{Region: region, UUID: *id})
}
