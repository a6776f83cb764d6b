package graph

import (
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
)

func roomTypeView(t inventory.RoomType) generated.RoomType {
	return generated.RoomType{ID: t.ID.String(), Name: t.Name, MaxGuests: t.MaxGuests, Source: t}
}

func calendarView(c inventory.Calendar) generated.Calendar {
	names := map[inventory.RoomTypeID]string{}
	return generated.Calendar{AsOf: c.AsOf, Nights: each(c.Nights, func(n inventory.CalendarNight) generated.CalendarNight {
		name, ok := names[n.RoomType]
		if !ok {
			name = n.RoomType.String()
			names[n.RoomType] = name
		}
		view := generated.CalendarNight{
			RoomTypeID: name, Night: n.Night, Available: n.Available, AvailableIsMore: n.AvailableIsMore, StopSell: n.StopSell,
			ClosedToArrival: n.ClosedToArrival, ClosedToDeparture: n.ClosedToDeparture,
			MinStayArrival: n.MinStayArrival, MaxStayArrival: n.MaxStayArrival,
			MinStayThrough: n.MinStayThrough, MaxStayThrough: n.MaxStayThrough,
		}
		if n.Price != nil {
			price := moneyView(*n.Price)
			view.Price = &price
		}
		if n.LowestPrice != nil {
			price := moneyView(*n.LowestPrice)
			view.LowestPrice = &price
		}
		return view
	})}
}
