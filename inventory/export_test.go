package inventory

import (
	"context"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/tenants"
)

// Order is a request of one buyer, for PlaceTogether.
type Order struct {
	Actor tenants.Actor
	Input PlaceHold
}

// PlaceTogether decides orders as if they had waited for one batch. Their form must be sound.
func (s *Service) PlaceTogether(ctx context.Context, orders []Order) []Placed {
	batch := make([]*waiter, len(orders))
	for i, order := range orders {
		c, err := order.Input.claim()
		if err != nil {
			panic(err)
		}
		fingerprint, err := request.Fingerprint(order.Input)
		if err != nil {
			panic(err)
		}
		buyer, _ := order.Actor.Buyer()
		batch[i] = &waiter{ctx: ctx, answer: make(chan answer, 1), wish: wish{
			actor: order.Actor, buyer: buyer, claim: c, hold: uuid.New(),
			scope: "placeHold/" + string(buyer.Kind) + "/" + buyer.ID.String(), requestKey: order.Input.RequestKey, fingerprint: fingerprint,
		}}
	}
	s.claims.answer(batch) //nolint:contextcheck // each waiter has its own context
	placed := make([]Placed, len(batch))
	for i, w := range batch {
		a := <-w.answer
		placed[i] = Placed{Hold: a.hold, Err: a.err}
	}
	return placed
}

// Placed is what became of an order.
type Placed struct {
	Hold Hold
	Err  error
}

// CountBoardReads counts the reads of boards, each of which waits for the channel to be closed.
func CountBoardReads(s *Service, reads *atomic.Int64) (release chan struct{}) {
	release = make(chan struct{})
	s.boards.read = func(ctx context.Context, key boardKey, before *board, stale bool) (*board, error) {
		reads.Add(1)
		<-release
		return s.readBoard(ctx, key, before, stale)
	}
	return release
}

// BoundBoards bounds the seats that are kept.
func BoundBoards(s *Service, seats int) { s.boards.maxSeats = seats }

// KeptBoards counts the shows and seats that are kept.
func KeptBoards(s *Service) (shows, seats int) {
	s.boards.mu.Lock()
	defer s.boards.mu.Unlock()
	return s.boards.shows.Len(), s.boards.seats
}
