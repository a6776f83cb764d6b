package inventory

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// PlaceHold leases every unit of the request to the buyer, or none. The answer is the hold, or a
// *Refusal that names every unit that could not be had and why.
//
// Requests for one show or property that arrive while others are being written wait together and
// share the next transaction; see combiner and batch. A request over several of them has a
// transaction of its own.
func (s *Service) PlaceHold(ctx context.Context, actor tenants.Actor, input PlaceHold) (Hold, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionHoldPlace, actor.Tenant)); err != nil {
		return Hold{}, err
	}
	buyer, ok := actor.Buyer()
	if !ok {
		return Hold{}, fault.Unauthenticated("a hold needs a buyer: send the header Holdfast-Session with a token of startGuestSession")
	}
	c, err := input.claim()
	if err != nil {
		return Hold{}, err
	}
	if input.Override != nil {
		if err := s.mayOverride(ctx, actor, c, *input.Override); err != nil {
			return Hold{}, err
		}
	}
	if c.overrideBlock != "" {
		if err := s.authorizeClaim(ctx, actor, policies.ActionBlockOverride, c); err != nil {
			return Hold{}, err
		}
	}
	if err := s.authorizeClaim(ctx, actor, policies.ActionHoldPlace, c); err != nil {
		return Hold{}, err
	}
	input.PresaleCode, input.PromotionCode = c.presaleCode, c.promotionCode
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return Hold{}, err
	}
	return s.claims.place(ctx, wish{
		actor: actor, buyer: buyer, claim: c, hold: uuid.New(),
		scope: "placeHold/" + string(buyer.Kind) + "/" + buyer.ID.String(), requestKey: input.RequestKey, fingerprint: fingerprint,
	})
}

// wish is one buyer's request, as a batch decides it.
type wish struct {
	actor tenants.Actor
	buyer tenants.Buyer
	claim claim
	// hold is the id that the hold will have, chosen before the first attempt.
	hold        uuid.UUID
	scope       string
	requestKey  string
	fingerprint []byte
	// offering is set when the wish is somebody's who waits; see PlaceOffers.
	offering *offering
}

// answer is what became of a wish: a hold, or an error, which for an expected no is a *Refusal.
type answer struct {
	hold Hold
	err  error
}

// decide runs a batch to its end. The first attempt claims counted stock without reading it: the
// named CHECK of the counter refuses what is not there. When it refuses, or when units belong to
// holds that are due, a second attempt locks all rows in order, reaps the due holds, judges in
// memory, and claims or refuses exactly. An error is the whole batch's, and nothing was changed.
func (s *Service) decide(ctx context.Context, wishes []wish) ([]answer, error) {
	seating, err := s.halls.of(ctx, wishes)
	if err != nil {
		return nil, err
	}
	if !anyBest(wishes) {
		return s.decideOn(ctx, wishes, seating)
	}
	return s.decideChosen(ctx, wishes, seating)
}

// decideOn decides wishes whose seats are named or were chosen.
func (s *Service) decideOn(ctx context.Context, wishes []wish, seating map[uuid.UUID]*seating) ([]answer, error) {
	b := newBatch(wishes, s.claims.learn)
	b.halls, b.noteSeats, b.spread = seating, s.choices.noteLocked, s.spread
	for range maxRounds {
		answers, err := db.Replayable(ctx, s.db, "inventory.PlaceHold", b.run)
		var none *nothingWon
		switch {
		case errors.As(err, &none):
			return none.answers, nil
		case errors.Is(err, errLookCloser):
			b.careful = true
			if b.due, err = s.dueFor(ctx, b); err != nil {
				return nil, err
			}
		case errors.Is(err, errMoreDue):
			if _, err := s.expireOn(ctx, b); err != nil {
				return nil, err
			}
			if b.due, err = s.dueFor(ctx, b); err != nil {
				return nil, err
			}
		default:
			s.choices.noteHolds(b.at, answers)
			return answers, err
		}
	}
	s.claims.metrics.busy.WithLabelValues(busyContention).Add(float64(len(wishes)))
	return nil, Busy()
}

// Busy is the refusal of a request that lost to others too often; it may be tried again.
func Busy() *Refusal {
	return &Refusal{Code: RefusalBusy, Message: messageOf(RefusalBusy), RetryAfter: busyRetryAfter}
}
