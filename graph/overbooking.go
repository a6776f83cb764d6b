package graph

import (
	"context"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/oversell"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
)

// OversellAdvice is the resolver for the oversellAdvice field.
func (r *queryResolver) OversellAdvice(ctx context.Context, input generated.OversellAdviceInput) (*generated.OversellAdvice, error) {
	question, err := adviceQuestion(input)
	if err != nil {
		return nil, err
	}
	advice, err := r.advisor.Advise(ctx, actorOf(ctx), question)
	return one(advice, inInput(err), adviceView)
}

// ApplyOversellAdvice is the resolver for the applyOversellAdvice field.
func (r *mutationResolver) ApplyOversellAdvice(ctx context.Context, input generated.OversellAdviceInput) (*generated.OversellApplied, error) {
	question, err := adviceQuestion(input)
	if err != nil {
		return nil, err
	}
	advice, set, err := r.advisor.Apply(ctx, actorOf(ctx), question)
	if err != nil {
		return nil, inInput(err)
	}
	return &generated.OversellApplied{Advice: adviceView(advice), Set: nightsSetView(set)}, nil
}

func adviceQuestion(input generated.OversellAdviceInput) (bookings.AdviceQuestion, error) {
	var d decoder
	roomType := readID[inventory.RoomTypeKind](&d, "input.roomType", input.RoomType)
	return bookings.AdviceQuestion{
		RoomType: roomType, From: input.From, To: input.To, WalkPercent: input.WalkPercent, MostPercent: input.MostPercent,
	}, d.err
}

func adviceView(a bookings.OversellAdvice) generated.OversellAdvice {
	return generated.OversellAdvice{
		AsOf: a.AsOf, LearntStays: a.Learnt, Unplanned: a.Unplanned,
		Nights: each(a.Nights, func(n bookings.NightAdvice) generated.NightAdvice {
			return generated.NightAdvice{
				Night: n.Night, Rooms: n.Rooms, Sold: n.Sold, Oversell: n.Oversell, Rate: moneyView(n.Rate),
				Advised: n.Advised, Low: n.Low, High: n.High, ShowUps: n.ShowUps, ShowUps90: n.ShowUps90,
				WalkChance: n.WalkChance, Walks: n.Walks, Gain: moneyView(n.Gain),
			}
		}),
		Proof: generated.AdviceProof{
			From: a.Proof.From, To: a.Proof.To,
			Results: each(a.Proof.Results, func(r oversell.Result) generated.OversellResult {
				return generated.OversellResult{
					Policy: r.Policy, RefusedStays: int64(r.Refused), Slept: int64(r.Slept), Walked: int64(r.Walked),
					Net: moneyView(money.Amount{Minor: r.NetMinor(), Currency: a.Proof.Currency}),
				}
			}),
			Calibration: each(a.Proof.Calibration, func(c oversell.Calibration) generated.AdviceCalibration {
				return generated.AdviceCalibration{DaysBefore: int64(c.DaysOut), Nights: int64(c.Nights), Expected: c.Expected, Came: int64(c.Came), Within80: c.Within80}
			}),
		},
	}
}
