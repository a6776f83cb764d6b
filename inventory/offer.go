package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// An offer is a hold that is placed for somebody who waits and does not ask at this moment. It is claimed
// as all holds are, by the same code and under the same rules; who waits, and in which order, is known by
// package waitlist.

// Wanted is what somebody may wait for: units of one show, or rooms of one hotel.
type Wanted struct {
	// Show or Property is set.
	Show     ShowID
	Property tenants.PropertyID
	// Ends is from when there is nothing to wait for any more: the end of the show's sale, or of the first
	// day of arrival.
	Ends time.Time
}

// JudgeWish says what a wish is for, when it could be held now if only there were units: a rule that would
// refuse the hold refuses it with the same words. It is asked before somebody joins a waiting list, for
// whoever may do the action where the units are. Seats are wished for by quantity, not by name.
func (s *Service) JudgeWish(ctx context.Context, actor tenants.Actor, action tenants.Action, lines []LineRequest) (Wanted, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, action, actor.Tenant)); err != nil {
		return Wanted{}, err
	}
	for i, line := range lines {
		if line.Seats != nil {
			return Wanted{}, fault.Invalid(fmt.Sprintf("lines[%d].seats", i), "expected a pool, bestAvailable or a stay: seats are waited for by quantity")
		}
	}
	c, err := PlaceHold{RequestKey: "a wish", Lines: lines}.claim()
	if err != nil {
		return Wanted{}, err
	}
	if err := s.authorizeClaim(ctx, actor, action, c); err != nil {
		return Wanted{}, err
	}
	c.channels = []uuid.UUID{actor.Channel.UUID}
	wanted, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (Wanted, error) {
		f, err := factsOf(ctx, tx, placeOf(actor.Tenant, c.region), c, nil, nil)
		if err != nil {
			return Wanted{}, err
		}
		return c.judgeWish(actor, f)
	})
	if err != nil {
		return Wanted{}, err
	}
	return wanted, s.checkBest(ctx, actor, c)
}

// judgeWish judges a claim whose seats are not chosen.
func (c claim) judgeWish(actor tenants.Actor, f facts) (Wanted, error) {
	lines := make([]LineRequest, len(c.lines))
	for i, line := range c.lines {
		if line.Best != nil {
			line.Seats = &SeatsRequest{Show: line.Best.Show}
		}
		lines[i] = line
	}
	c.lines = lines
	refused, err := c.judgeRules(actor, f)
	if err != nil {
		return Wanted{}, err
	}
	if len(refused) > 0 {
		return Wanted{}, refuseLines(refused)
	}
	return f.wantedOf(c)
}

// wantedOf is the one show or hotel of a claim, and when its time is over.
func (f facts) wantedOf(c claim) (Wanted, error) {
	var wanted Wanted
	places := map[uuid.UUID]bool{}
	for id, show := range f.shows {
		places[id] = true
		wanted = Wanted{Show: ShowID{Region: c.region, UUID: id}, Ends: show.shuts}
	}
	for _, line := range c.lines {
		if line.Stay == nil {
			continue
		}
		room := f.rooms[line.Stay.RoomType.UUID]
		places[room.property] = true
		ends := line.Stay.CheckIn.AddDays(1).In(room.zone)
		if wanted.Ends.IsZero() || ends.Before(wanted.Ends) {
			wanted.Ends = ends
		}
		wanted.Property = tenants.PropertyID{Region: c.region, UUID: room.property}
	}
	if len(places) != 1 {
		return Wanted{}, fault.Invalid("lines", "expected units of one show, or rooms of one hotel")
	}
	return wanted, nil
}

// checkBest refuses price levels and sections that the show does not have.
func (s *Service) checkBest(ctx context.Context, actor tenants.Actor, c claim) error {
	w := wish{actor: actor, claim: c}
	halls, err := s.halls.of(ctx, []wish{w})
	if err != nil {
		return err
	}
	for i, line := range c.lines {
		if line.Best == nil || halls[line.Best.Show.UUID] == nil {
			continue
		}
		m, err := s.choices.of(ctx, owner{place: placeOf(actor.Tenant, c.region), stock: line.Best.Show.UUID}, halls[line.Best.Show.UUID])
		if err != nil {
			return err
		}
		if _, err := m.criteria(w, i); err != nil {
			return err
		}
	}
	return nil
}

// WaitingWish is what somebody waits for.
type WaitingWish struct {
	// Hold is the id that the hold will have, chosen before the first attempt.
	Hold    HoldID
	Channel tenants.ChannelID
	Buyer   tenants.Buyer
	Lines   []LineRequest
}

// Offers are wishes for units of one show or hotel, the first in line first.
type Offers struct {
	Tenant tenants.TenantID
	Region ids.Region
	// Lease is how long each hold lasts. It cannot be extended: others wait behind it.
	Lease  time.Duration
	Wishes []WaitingWish
	// NoteTx is called in the transaction that places holds, with all of them: neither is there without the
	// other. Its error is PlaceOffers' answer, and then nothing is held.
	NoteTx func(ctx context.Context, tx pgx.Tx, holds []Hold) error
}

// offering is what a wish has besides when it is an offer.
type offering struct {
	lease  time.Duration
	noteTx func(ctx context.Context, tx pgx.Tx, holds []Hold) error
}

// PlaceOffers holds for each in line what can be held for them, in one order: what one gets is gone for
// those behind. The answers are in the order of the offers: nil for a hold, or why there is none, which for
// an expected no is a *Refusal. Wishes of counted stock are judged in one transaction, over rows that are
// locked; those that have seats chosen one after the other, each in a transaction of its own.
//
// It does not ask for permission: whoever waits was asked when joining.
func (s *Service) PlaceOffers(ctx context.Context, input Offers) ([]error, error) {
	suspended, err := s.suspendedOf(ctx, input)
	if err != nil {
		return nil, err
	}
	answers := make([]error, len(input.Wishes))
	wishes := make([]wish, len(input.Wishes))
	for i, offer := range input.Wishes {
		wishes[i], answers[i] = input.wishOf(offer, suspended[offer.Channel.UUID])
	}
	for at := 0; at < len(wishes); {
		var batch []int
		rows := 0
		for ; at < len(wishes); at++ {
			if answers[at] != nil {
				continue
			}
			if len(batch) > 0 && (wishes[at].wantsBest() || wishes[batch[0]].wantsBest() || rows+wishes[at].claim.unitRows > maxBatchUnits) {
				break
			}
			rows += wishes[at].claim.unitRows
			batch = append(batch, at)
		}
		if err := s.offer(ctx, wishes, batch, answers); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// offer decides some of the wishes together, and what the batch leaves to a transaction of its own alone.
func (s *Service) offer(ctx context.Context, wishes []wish, batch []int, answers []error) error {
	if len(batch) == 0 {
		return nil
	}
	together := make([]wish, len(batch))
	for n, i := range batch {
		together[n] = wishes[i]
	}
	got, err := s.claims.guarded(ctx, together)
	if err != nil {
		return err
	}
	for n, i := range batch {
		if answers[i] = got[n].err; errors.Is(answers[i], errAlone) {
			alone, err := s.claims.guarded(ctx, wishes[i:i+1])
			if err != nil {
				return err
			}
			answers[i] = alone[0].err
		}
	}
	return nil
}

func (o Offers) wishOf(offer WaitingWish, suspended bool) (wish, error) {
	place := PlaceHold{RequestKey: offer.Hold.String(), Lines: offer.Lines}
	c, err := place.claim()
	if err != nil {
		return wish{}, err
	}
	fingerprint, err := request.Fingerprint(place)
	if err != nil {
		return wish{}, err
	}
	actor := tenants.Actor{Tenant: o.Tenant, Channel: offer.Channel, ChannelSuspended: suspended}
	return wish{
		actor: actor, buyer: offer.Buyer, claim: c, hold: offer.Hold.UUID,
		scope: "offer/" + string(offer.Buyer.Kind) + "/" + offer.Buyer.ID.String(), requestKey: place.RequestKey, fingerprint: fingerprint,
		offering: &offering{lease: o.Lease, noteTx: o.NoteTx},
	}, nil
}

// suspendedOf are the channels of offers that may not sell at present.
func (s *Service) suspendedOf(ctx context.Context, input Offers) (map[uuid.UUID]bool, error) {
	params := dbsqlc.OfferChannelsParams{TenantID: input.Tenant.UUID}
	for _, offer := range input.Wishes {
		params.Ids = append(params.Ids, offer.Channel.UUID)
	}
	rows, err := dbsqlc.New(s.db.Pool()).OfferChannels(ctx, params)
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read the channels of offers: %w", err))
	}
	suspended := make(map[uuid.UUID]bool, len(rows))
	for _, id := range rows {
		suspended[id] = true
	}
	return suspended, nil
}

// offerTerms are the terms of a batch: of offers, with their own lease.
func (b *batch) offerTerms(terms Terms) Terms {
	if offer := b.wishes[0].offering; offer != nil {
		terms.HoldSeconds, terms.MaxHoldSeconds, terms.MaxExtensions = int64(offer.lease/time.Second), int64(offer.lease/time.Second), 0
	}
	return terms
}

// noteOffers has the holds of a batch of offers noted by whoever makes them.
func (b *batch) noteOffers(ctx context.Context, tx pgx.Tx, holds []Hold) error {
	if offer := b.wishes[0].offering; offer != nil {
		return offer.noteTx(ctx, tx, holds)
	}
	return nil
}

// free is what a claim could find at most.
type free struct {
	pools  map[uuid.UUID]int64
	nights map[nightKey]int64
	// seats are by show, price level and the channel of their block.
	seats map[uuid.UUID][]dbsqlc.OfferSeatsFreeRow
}

// MayFit says of each wish whether a claim could be worth its while, from one look at the counters that
// locks nothing. No is certain of that moment; yes is not.
func (s *Service) MayFit(ctx context.Context, tenant tenants.TenantID, region ids.Region, offers []WaitingWish) ([]bool, error) {
	at := placeOf(tenant, region)
	found, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (free, error) { return readFree(ctx, tx, at, offers) })
	if err != nil {
		return nil, err
	}
	fit := make([]bool, len(offers))
	for i, offer := range offers {
		fit[i] = found.fits(offer)
	}
	return fit, nil
}

func readFree(ctx context.Context, tx pgx.Tx, at place, offers []WaitingWish) (free, error) {
	found := free{pools: map[uuid.UUID]int64{}, nights: map[nightKey]int64{}, seats: map[uuid.UUID][]dbsqlc.OfferSeatsFreeRow{}}
	pools := dbsqlc.OfferPoolsFreeParams{TenantID: at.tenant, Region: string(at.region)}
	nights := dbsqlc.OfferNightsFreeParams{TenantID: at.tenant, Region: string(at.region)}
	for _, offer := range offers {
		for _, line := range offer.Lines {
			switch {
			case line.Pool != nil:
				pools.PoolIds = append(pools.PoolIds, line.Pool.Pool.UUID)
			case line.Stay != nil:
				nights.RoomTypeIds = append(nights.RoomTypeIds, line.Stay.RoomType.UUID)
				if nights.FirstNight == (civil.Date{}) || line.Stay.CheckIn.Before(nights.FirstNight) {
					nights.FirstNight = line.Stay.CheckIn
				}
				if line.Stay.lastNight().After(nights.LastNight) {
					nights.LastNight = line.Stay.lastNight()
				}
			case line.Best != nil:
				found.seats[line.Best.Show.UUID] = nil
			}
		}
	}
	queries := dbsqlc.New(tx)
	if len(pools.PoolIds) > 0 {
		rows, err := queries.OfferPoolsFree(ctx, pools)
		if err != nil {
			return free{}, fmt.Errorf("read what is free of pools: %w", err)
		}
		for _, row := range rows {
			found.pools[row.PoolID] = row.Free
		}
	}
	if len(nights.RoomTypeIds) > 0 {
		rows, err := queries.OfferNightsFree(ctx, nights)
		if err != nil {
			return free{}, fmt.Errorf("read what is free of nights: %w", err)
		}
		for _, row := range rows {
			found.nights[nightKey{owner: row.RoomTypeID, night: row.Night}] = row.Free
		}
	}
	for show := range found.seats {
		rows, err := queries.OfferSeatsFree(ctx, dbsqlc.OfferSeatsFreeParams{TenantID: at.tenant, Region: string(at.region), ShowID: show})
		if err != nil {
			return free{}, fmt.Errorf("read what is free of seats: %w", err)
		}
		found.seats[show] = rows
	}
	return found, nil
}

// fits reports whether there could be enough of everything that an offer is for.
func (f free) fits(offer WaitingWish) bool {
	for _, line := range offer.Lines {
		switch {
		case line.Pool != nil:
			if f.pools[line.Pool.Pool.UUID] < line.Pool.Quantity {
				return false
			}
		case line.Stay != nil:
			for night := line.Stay.CheckIn; night.Before(line.Stay.CheckOut); night = night.AddDays(1) {
				if f.nights[nightKey{owner: line.Stay.RoomType.UUID, night: night}] < line.Stay.Rooms {
					return false
				}
			}
		case line.Best != nil:
			if f.seatsFor(*line.Best, offer.Channel) < line.Best.Quantity {
				return false
			}
		}
	}
	return true
}

// seatsFor is how many seats of the levels that are wished for a channel could have.
func (f free) seatsFor(best BestRequest, channel tenants.ChannelID) int64 {
	var seats int64
	for _, row := range f.seats[best.Show.UUID] {
		if row.ChannelID != sharedBucket && row.ChannelID != channel.UUID {
			continue
		}
		wanted := len(best.PriceLevels) == 0
		for _, level := range best.PriceLevels {
			wanted = wanted || level.UUID == row.PriceLevelID
		}
		if wanted {
			seats += row.Free
		}
	}
	return seats
}

// RefuseBy is the refusal of a code with the words for people that it has everywhere.
func RefuseBy(code RefusalCode) *Refusal { return Refuse(code, messageOf(code)) }
