package graph

import (
	"time"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
)

func holdView(h inventory.Hold) generated.Hold {
	view := generated.Hold{
		ID: h.ID.String(), State: generated.HoldState(h.State), PlacedAt: h.PlacedAt, Deadline: h.Deadline, EndedAt: h.EndedAt,
		Total: moneyView(h.Total), Version: h.Version, ChannelID: h.Channel.String(), Source: h.ID,
		Lines: each(h.Lines, func(l inventory.HoldLine) generated.HoldLine {
			return generated.HoldLine{Ordinal: l.Ordinal, Item: l.Item, Unit: unitView(l), Amount: moneyView(l.Amount)}
		}),
	}
	if h.State.Live() {
		// The deadline is the database's; a countdown needs only a good approximation of what is left.
		view.SecondsLeft = max(0, int64(time.Until(h.Deadline)/time.Second))
	}
	if h.State == inventory.HoldStateActive {
		view.ExtensionsLeft = max(0, h.MaxExtensions-h.Extensions)
	}
	return view
}

func unitView(l inventory.HoldLine) generated.Unit {
	view := generated.Unit{
		Kind: generated.UnitKind(l.Kind), Quantity: l.Quantity, SeatID: idOrNull(l.Seat), PoolID: idOrNull(l.Pool), Source: l,
	}
	if l.Kind == inventory.LineKindNight {
		view.Night = &l.Night
	}
	return view
}

// holdRefusedView shows a refusal. The lines of the request tell which show a refused seat is of,
// and which room type a refused night.
func holdRefusedView(r *inventory.Refusal, lines []inventory.LineRequest) *generated.HoldRefused {
	return &generated.HoldRefused{
		Code: generated.RefusalCode(r.Code), Message: r.Message, RetryAfterMs: retryAfterView(r.RetryAfter),
		Lines: each(r.Lines, func(l inventory.RefusedLine) generated.RefusedLine {
			view := generated.RefusedLine{
				Line: int64(l.Line), Code: generated.RefusalCode(l.Code), Night: l.Night, Available: l.Available, Limit: l.Limit,
				SeatSource: l.Seat, Level: levelView(l.Level),
			}
			if l.Seat != nil {
				view.SeatID = idOrNull(*l.Seat)
			}
			if l.Pool != nil {
				view.PoolID = idOrNull(*l.Pool)
			}
			if l.HeldByYou != nil {
				view.HeldByYou = idOrNull(*l.HeldByYou)
			}
			if l.Line < len(lines) {
				if seats := lines[l.Line].Seats; seats != nil {
					view.ShowSource = seats.Show
				}
				if best := lines[l.Line].Best; best != nil {
					view.ShowSource = best.Show
				}
				if stay := lines[l.Line].Stay; stay != nil {
					view.RoomTypeSource = &stay.RoomType
				}
			}
			return view
		}),
	}
}

func retryAfterView(wait time.Duration) *int64 {
	if wait <= 0 {
		return nil
	}
	ms := wait.Milliseconds()
	return &ms
}
