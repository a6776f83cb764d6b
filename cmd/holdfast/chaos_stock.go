package main

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// How much stock each seller has: enough for a run, with a few units that everybody wants.
const (
	chaosSeats     = 1500
	chaosPlaces    = 100_000
	chaosNights    = 60
	chaosRooms     = 200
	chaosWanted    = 25
	chaosStayLimit = 3
)

// chaosSeller is a tenant with a show and a hotel, and what it has taken.
type chaosSeller struct {
	*demoSeller
	hall  *demoHall
	house *demoHotel
}

// sells puts the stock of two tenants on sale. One takes its money with the charge and honours late
// payments; the other reserves it first, refunds late payments and keeps a fifth of what is cancelled.
func (r *chaosRun) sells(ctx context.Context) ([]*chaosSeller, error) {
	seconds := r.config.PaymentSeconds
	terms := func(capture, late string) apiInput {
		return apiInput{
			"holdSeconds": 3 * seconds, "processingSeconds": seconds, "graceSeconds": seconds / 2, "capture": capture, "latePayment": late,
			"maxActiveHoldsPerBuyer": 1000, "maxQuantityPerHold": 100,
		}
	}
	prompt, err := r.stage.sells(ctx, "chaos-prompt", terms("AUTOMATIC", "HONOUR"))
	if err != nil {
		return nil, err
	}
	careful, err := r.stage.sells(ctx, "chaos-careful", terms("MANUAL", "REFUND"))
	if err != nil {
		return nil, err
	}
	if _, err := ask[struct{}](ctx, careful.admin, `mutation ($input: SetCancellationPolicyInput!) { result: setCancellationPolicy(input: $input) { name } }`,
		map[string]any{"input": apiInput{"name": "A fifth", "steps": []apiInput{{"daysBefore": 1, "fee": apiInput{"basisPoints": 2000}}}}}); err != nil {
		return nil, fmt.Errorf("set the cancellation policy: %w", err)
	}
	var sellers []*chaosSeller
	for _, tenant := range []*demoSeller{prompt, careful} {
		seller := &chaosSeller{demoSeller: tenant}
		if seller.hall, err = tenant.hall(ctx, chaosSeats, chaosPlaces); err != nil {
			return nil, err
		}
		if seller.house, err = tenant.hotel(ctx, chaosNights); err != nil {
			return nil, err
		}
		if _, err := ask[struct{}](ctx, tenant.admin, `mutation ($input: SetNightsInput!) { result: setNights(input: $input) { nights } }`, map[string]any{"input": apiInput{
			"roomType": seller.house.roomType, "nights": apiInput{"from": seller.house.day(0), "to": seller.house.day(chaosNights - 1)},
			"change": apiInput{"physical": chaosRooms},
		}}); err != nil {
			return nil, fmt.Errorf("set the rooms: %w", err)
		}
		sellers = append(sellers, seller)
	}
	return sellers, nil
}

// wants chooses seats, places of the one pool, nights, or all of them. Half of the choices are among
// the few units that everybody wants.
func (s *chaosSeller) wants(chance *rand.Rand) []apiInput {
	among := func(all int) int {
		if chance.IntN(2) == 0 {
			return min(all, chaosWanted)
		}
		return all
	}
	seats := func() apiInput {
		n := 1 + chance.IntN(3)
		first := 1 + chance.IntN(among(chaosSeats)-n)
		numbers := make([]int, n)
		for i := range numbers {
			numbers[i] = first + i
		}
		return s.hall.seats(numbers...)
	}
	places := func() apiInput { return poolInput(s.hall.pool, 1+chance.IntN(4)) }
	stay := func() apiInput {
		nights := 1 + chance.IntN(chaosStayLimit)
		first := chance.IntN(among(chaosNights) - nights)
		return s.house.stay(first, first+nights)
	}
	switch n := chance.IntN(10); {
	case n < 3:
		return []apiInput{seats()}
	case n < 6:
		return []apiInput{places()}
	case n < 8:
		return []apiInput{stay()}
	default:
		return []apiInput{seats(), places(), stay()}
	}
}

// chaosStock is what can still be had of a seller: seats by id, places, and rooms by night.
type chaosStock struct {
	seats  map[string]string
	places int
	rooms  map[string]int
}

// stock reads it as the public does.
func (s *chaosSeller) stock(ctx context.Context) (chaosStock, error) {
	view, err := s.hall.view(ctx)
	if err != nil {
		return chaosStock{}, err
	}
	stock := chaosStock{seats: map[string]string{}, rooms: map[string]int{}}
	for _, seat := range view.SeatMap.Seats {
		stock.seats[seat.SeatID] = seat.Status
	}
	for _, pool := range view.Pools {
		stock.places += pool.Available
	}
	hotel, err := ask[struct {
		Calendar struct {
			Nights []struct {
				Night     string `json:"night"`
				Available int    `json:"available"`
			} `json:"nights"`
		} `json:"calendar"`
	}](ctx, s.shop, `query ($id: ID!, $from: Date!, $to: Date!) { result: hotel(id: $id) { calendar(from: $from, to: $to) { nights { night available } } } }`,
		map[string]any{"id": s.house.property, "from": s.house.day(0), "to": s.house.day(chaosNights - 1)})
	if err != nil {
		return chaosStock{}, fmt.Errorf("read the calendar: %w", err)
	}
	for _, night := range hotel.Calendar.Nights {
		stock.rooms[night.Night] = night.Available
	}
	return stock, nil
}
