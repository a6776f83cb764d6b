package graph

import (
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
