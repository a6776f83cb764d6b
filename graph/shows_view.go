package graph

import (
	"fmt"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/charts"
)

func eventView(e inventory.Event) generated.Event {
	return generated.Event{ID: e.ID.String(), Name: e.Name, Source: e}
}

func showView(s inventory.Show) generated.Show {
	return generated.Show{
		ID: s.ID.String(), Name: s.Name, State: generated.ShowState(s.State), StartsAt: s.StartsAt,
		SaleOpensAt: s.SaleOpensAt, SaleClosesAt: s.SaleClosesAt, Currency: string(s.Currency), Source: s,
	}
}

func priceLevelView(l inventory.PriceLevel) generated.PriceLevel {
	return generated.PriceLevel{ID: l.ID.String(), Name: l.Name, Price: moneyView(l.Amount)}
}

func poolView(p inventory.Pool, level inventory.PriceLevel) generated.Pool {
	return generated.Pool{
		ID: p.ID.String(), Name: p.Name, Capacity: p.Capacity, Available: p.Available,
		PriceLevel: priceLevelView(level), Price: moneyView(level.Amount), AsOf: p.AsOf,
	}
}

// seatMapView joins the status of a show's seats with its chart, whose ids and labels are made once.
func seatMapView(seats inventory.SeatMap, geometry *hall) (*generated.SeatMap, error) {
	view := &generated.SeatMap{AsOf: seats.AsOf, Seats: make([]generated.SeatState, len(seats.Seats))}
	levels := map[inventory.PriceLevelID]string{}
	for i, seat := range seats.Seats {
		shown, ok := geometry.seats[seat.Seat.UUID]
		if !ok {
			return nil, fmt.Errorf("seat %s of show %s is not in its chart", seat.Seat, seats.Show)
		}
		level, ok := levels[seat.PriceLevel]
		if !ok {
			level = seat.PriceLevel.String()
			levels[seat.PriceLevel] = level
		}
		view.Seats[i] = generated.SeatState{SeatID: shown.ID, Seat: *shown, PriceLevelID: level, Status: generated.SeatStatus(seat.Status)}
	}
	return view, nil
}

func chartRejectedView(e *charts.ProblemsError) generated.ChartRejected {
	return generated.ChartRejected{
		Message: "the seating plan cannot be read", Truncated: e.Truncated,
		Problems: each(e.Problems, func(p charts.Problem) generated.ChartProblem {
			view := generated.ChartProblem{Path: orNull(p.Path), Message: p.Message}
			if p.Line > 0 {
				line, column := int64(p.Line), int64(p.Column)
				view.Line, view.Column = &line, &column
			}
			return view
		}),
	}
}
