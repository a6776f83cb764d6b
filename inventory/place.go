package inventory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// The names of the guards; their violation means sold out.
const (
	constraintPoolCeiling  = "pool_counters_ceiling"
	constraintNightCeiling = "night_counters_ceiling"
	constraintHouseCeiling = "house_counters_ceiling"
)

// errLookCloser ends the quick attempt: units of due holds must be reaped first, or a guard spoke
// and the exact answer needs the counters' rows.
var errLookCloser = errors.New("the claim needs the careful path")

// errMoreDue ends a careful attempt that would refuse although due holds still have the units.
var errMoreDue = errors.New("more holds are due than the claim has given back")

// PlaceHold leases every unit of the request to the buyer, or none. The answer is the hold, or a
// *Refusal that names every unit that could not be had and why.
//
// The first attempt claims counted stock without reading it: the named CHECK of the counter
// refuses what is not there. When it refuses, or when units belong to holds that are due, a second
// attempt locks all rows in order, reaps the due holds, judges in memory, and claims or refuses
// exactly.
func (s *Service) PlaceHold(ctx context.Context, actor tenants.Actor, input PlaceHold) (Hold, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionHoldPlace, actor.Tenant); err != nil {
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
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return Hold{}, err
	}
	leave, err := s.turns.enter(ctx, c.pools)
	if err != nil {
		return Hold{}, err
	}
	defer leave()
	p := placing{
		turns: s.turns, actor: actor, buyer: buyer, claim: c, at: placeOf(actor.Tenant, c.region), hold: uuid.New(),
		fingerprint: fingerprint, requestKey: input.RequestKey,
	}
	for range maxRounds {
		hold, err := db.Replayable(ctx, s.db, "inventory.PlaceHold", p.run)
		switch {
		case errors.Is(err, errLookCloser):
			p.careful = true
		case errors.Is(err, errMoreDue):
			if _, err := s.expireOn(ctx, p); err != nil {
				return Hold{}, err
			}
		case errors.Is(err, request.ErrKeyReused):
			return Hold{}, Refuse(RefusalRequestKeyReused, messageOf(RefusalRequestKeyReused))
		case errors.Is(err, db.ErrContention):
			return Hold{}, Busy()
		default:
			return hold, err
		}
	}
	return Hold{}, Busy()
}

// Busy is the refusal of a request that lost to others too often; it may be tried again.
func Busy() *Refusal {
	return &Refusal{Code: RefusalBusy, Message: messageOf(RefusalBusy), RetryAfter: busyRetryAfter}
}

// placing is one PlaceHold under way. Its fields do not change within a transaction, which may run
// several times.
type placing struct {
	turns       *turns
	actor       tenants.Actor
	buyer       tenants.Buyer
	claim       claim
	at          place
	hold        uuid.UUID
	requestKey  string
	fingerprint []byte
	careful     bool
}

// run is the transaction.
func (p placing) run(ctx context.Context, tx pgx.Tx) (Hold, error) {
	earlier, replayed, err := request.Claim(ctx, tx, request.Identity{
		Tenant: p.at.tenant, Region: p.at.region, Key: p.requestKey,
		Scope: "placeHold/" + string(p.buyer.Kind) + "/" + p.buyer.ID.String(),
	}, p.fingerprint, p.hold)
	if err != nil {
		return Hold{}, err
	}
	if replayed {
		return replayOf(ctx, tx, p.actor.Tenant, HoldID{Region: p.at.region, UUID: earlier})
	}
	f, err := factsOf(ctx, tx, p.at, p.claim)
	if err != nil {
		return Hold{}, err
	}
	for id, pool := range f.pools {
		p.turns.learn(id, pool.shards)
	}
	refused, err := p.claim.judgeRules(p.actor, f)
	if err != nil {
		return Hold{}, err
	}
	if err := p.judgeBuyer(ctx, tx, f); err != nil {
		return Hold{}, err
	}
	var stock stock
	if p.careful {
		if stock, err = p.lockAll(ctx, tx, &f); err != nil {
			return Hold{}, err
		}
	} else {
		switch {
		case len(refused) == 0:
		case p.claim.refusedWhole(refused):
			return Hold{}, p.refuse(ctx, tx, f, refused)
		default:
			return Hold{}, errLookCloser
		}
		if stock.seats, err = p.lockSeats(ctx, tx); err != nil {
			return Hold{}, err
		}
	}
	seatRefusals, err := p.judgeSeats(ctx, tx, &f, stock)
	if err != nil {
		return Hold{}, err
	}
	refused = append(refused, seatRefusals...)
	if p.careful {
		counters := p.judgeCounters(f, stock)
		if len(counters) > 0 {
			if err := p.judgeMoreDue(ctx, tx, &f); err != nil {
				return Hold{}, err
			}
		}
		refused = append(refused, counters...)
	}
	if len(refused) > 0 {
		return Hold{}, p.refuse(ctx, tx, f, refused)
	}
	lines, total, err := p.price(f, stock)
	if err != nil {
		return Hold{}, err
	}
	return p.write(ctx, tx, f, lines, total)
}

// replayOf is the hold that the same request led to before, as it stands now.
func replayOf(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id HoldID) (Hold, error) {
	hold, err := GetHold(ctx, tx, tenant, id)
	if err != nil {
		return Hold{}, err
	}
	now, err := Now(ctx, tx)
	if err != nil {
		return Hold{}, err
	}
	hold.State = hold.StateAt(now)
	return hold, nil
}

// judgeBuyer counts the guest's live holds in the transaction of the claim, so that parallel
// requests cannot all see the same free place.
func (p placing) judgeBuyer(ctx context.Context, tx pgx.Tx, f facts) error {
	if p.buyer.Kind != tenants.BuyerKindGuest {
		return nil
	}
	active, err := dbsqlc.New(tx).HoldsActiveOfBuyer(ctx, dbsqlc.HoldsActiveOfBuyerParams{
		TenantID: p.at.tenant, Region: string(p.at.region), BuyerID: p.buyer.ID, BuyerKind: string(p.buyer.Kind),
		Since: f.now.Add(-longestHold), Now: f.now,
	})
	if err != nil {
		return fmt.Errorf("count the buyer's holds: %w", err)
	}
	if limit := f.terms.MaxActiveHoldsPerBuyer; active >= limit {
		refusal := Refuse(RefusalLimitPerBuyer, messageOf(RefusalLimitPerBuyer))
		refusal.Lines = []RefusedLine{{Code: RefusalLimitPerBuyer, Limit: &limit}}
		return refusal
	}
	return nil
}

// lockSeats locks the wanted seats of every show, shows and seats in ascending order.
func (p placing) lockSeats(ctx context.Context, tx pgx.Tx) (map[uuid.UUID]map[SeatID]dbsqlc.SeatsLockRow, error) {
	wanted := map[uuid.UUID][]uuid.UUID{}
	for _, line := range p.claim.lines {
		if line.Seats != nil {
			for _, seat := range line.Seats.Seats {
				wanted[line.Seats.Show.UUID] = append(wanted[line.Seats.Show.UUID], seat.UUID)
			}
		}
	}
	return lockSeatsOf(ctx, tx, p.at, p.claim.shows, wanted)
}

func lockSeatsOf(ctx context.Context, tx pgx.Tx, at place, shows []uuid.UUID, wanted map[uuid.UUID][]uuid.UUID) (map[uuid.UUID]map[SeatID]dbsqlc.SeatsLockRow, error) {
	locked := make(map[uuid.UUID]map[SeatID]dbsqlc.SeatsLockRow, len(shows))
	for _, show := range shows {
		rows, err := dbsqlc.New(tx).SeatsLock(ctx, dbsqlc.SeatsLockParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: show, SeatIds: wanted[show],
		})
		if err != nil {
			return nil, fmt.Errorf("lock seats of show %s: %w", show, err)
		}
		locked[show] = make(map[SeatID]dbsqlc.SeatsLockRow, len(rows))
		for _, row := range rows {
			locked[show][SeatID{Region: at.region, UUID: row.SeatID}] = row
		}
	}
	return locked, nil
}

// judgeSeats judges every seat line over the locked rows. The clock is read again first when a seat
// is taken: the wait for the locks may have outlasted a deadline.
func (p placing) judgeSeats(ctx context.Context, tx pgx.Tx, f *facts, stock stock) ([]RefusedLine, error) {
	if len(p.claim.shows) == 0 {
		return nil, nil
	}
	if stock.anySeatTaken() {
		now, err := Now(ctx, tx)
		if err != nil {
			return nil, err
		}
		f.now = now
	}
	var refused []RefusedLine
	anyDue := false
	for i, line := range p.claim.lines {
		if line.Seats == nil {
			continue
		}
		lost, due := judgeSeats(i, line.Seats.Seats, stock.seats[line.Seats.Show.UUID], p.actor, f.now)
		refused = append(refused, lost...)
		anyDue = anyDue || due
	}
	// In the quick path, due holds must be reaped first; and a refused claim that also wants
	// counted stock is looked at whole, so that the refusal names everything at once.
	if anyDue || len(refused) > 0 && !p.careful && len(p.claim.pools)+len(p.claim.rooms) > 0 {
		return nil, errLookCloser
	}
	return refused, nil
}

// price fixes what each unit costs and where counted units come from.
func (p placing) price(f facts, stock stock) ([]HoldLine, money.Amount, error) {
	var lines []HoldLine
	total := money.Amount{}
	add := func(item int, line HoldLine, minor int64, currency money.Currency) error {
		amount, err := money.Amount{Minor: minor, Currency: currency}.Times(line.Quantity)
		if err == nil {
			total, err = total.Add(amount)
		}
		if err != nil || total.Minor > money.MaxMinor {
			return fault.Invalid(fmt.Sprintf("lines[%d]", item), "the total of the hold is too large")
		}
		line.Ordinal, line.Item, line.Amount = int64(len(lines)), int64(item), amount
		lines = append(lines, line)
		return nil
	}
	for i, request := range p.claim.lines {
		currency := f.currencyOf(request)
		switch {
		case request.Seats != nil:
			show := f.shows[request.Seats.Show.UUID]
			for _, seat := range request.Seats.Seats {
				level := stock.seats[request.Seats.Show.UUID][seat].PriceLevelID
				line := HoldLine{Kind: LineKindSeat, Show: request.Seats.Show, Seat: seat, Quantity: 1}
				if err := add(i, line, show.levels[level], currency); err != nil {
					return nil, money.Amount{}, err
				}
			}
		case request.Pool != nil:
			pool := f.pools[request.Pool.Pool.UUID]
			for _, part := range p.shardsFor(request.Pool.Pool.UUID, pool.shards, request.Pool.Quantity, stock) {
				line := HoldLine{
					Kind: LineKindPool, Show: ShowID{Region: p.at.region, UUID: pool.show}, Pool: request.Pool.Pool,
					Shard: part.shard, Bucket: part.bucket, Quantity: part.quantity,
				}
				if err := add(i, line, pool.price, currency); err != nil {
					return nil, money.Amount{}, err
				}
			}
		case request.Stay != nil:
			room := f.rooms[request.Stay.RoomType.UUID]
			for night := request.Stay.CheckIn; night.Before(request.Stay.CheckOut); night = night.AddDays(1) {
				line := HoldLine{
					Kind: LineKindNight, Property: tenants.PropertyID{Region: p.at.region, UUID: room.property},
					RoomType: request.Stay.RoomType, Night: night, Quantity: request.Stay.Rooms,
				}
				if err := add(i, line, *f.nights[i][night].AmountMinor, currency); err != nil {
					return nil, money.Amount{}, err
				}
			}
		}
	}
	if expected := p.claim.expectedTotal; expected != nil && *expected != total {
		return nil, money.Amount{}, Refuse(RefusalPriceChanged, fmt.Sprintf("the price is now %s, expected was %s", total, *expected))
	}
	return lines, total, nil
}

// shardsFor chooses the counters of a pool: in the quick path one at random, so that buyers spread;
// in the careful path what the locked rows have left, the fullest first.
func (p placing) shardsFor(pool uuid.UUID, shards, quantity int64, stock stock) []poolUnits {
	if !p.careful {
		return []poolUnits{{pool: pool, bucket: sharedBucket, shard: rand.Int64N(shards), quantity: quantity}} //nolint:gosec // spreading needs no secrecy
	}
	return stock.takeFromPool(pool, quantity)
}

// write claims the counters, and stores the hold, its seats and its lines.
func (p placing) write(ctx context.Context, tx pgx.Tx, f facts, lines []HoldLine, total money.Amount) (Hold, error) {
	if err := p.claimCounters(ctx, tx, gather(lines)); err != nil {
		return Hold{}, err
	}
	// The lease begins when everything was waited for.
	now, err := Now(ctx, tx)
	if err != nil {
		return Hold{}, err
	}
	deadline := now.Add(seconds(min(f.terms.HoldSeconds, f.terms.MaxHoldSeconds)))
	hold := Hold{
		ID: HoldID{Region: p.at.region, UUID: p.hold}, Tenant: p.actor.Tenant, Channel: p.actor.Channel, Buyer: p.buyer,
		State: HoldStateActive, PlacedAt: now, Deadline: deadline, LeaseDeadline: deadline, ClaimableAt: deadline,
		MaxExtensions: f.terms.MaxExtensions, Total: total, Version: 1, Lines: lines,
		Terms: HoldTerms{
			HoldSeconds: f.terms.HoldSeconds, MaxHoldSeconds: f.terms.MaxHoldSeconds,
			ProcessingSeconds: f.terms.ProcessingSeconds, GraceSeconds: f.terms.GraceSeconds,
			LatePayment: f.terms.LatePayment, OnDecline: f.terms.OnDecline, MaxPerInstrument: f.terms.MaxActiveHoldsPerInstrument,
			Capture: f.terms.Capture,
		},
	}
	queries := dbsqlc.New(tx)
	if err := queries.HoldInsert(ctx, dbsqlc.HoldInsertParams{
		TenantID: p.at.tenant, Region: string(p.at.region), ID: p.hold, ChannelID: hold.Channel.UUID,
		BuyerKind: string(hold.Buyer.Kind), BuyerID: hold.Buyer.ID, PlacedAt: now, Deadline: deadline,
		MaxExtensions: hold.MaxExtensions, HoldSeconds: hold.Terms.HoldSeconds, MaxHoldSeconds: hold.Terms.MaxHoldSeconds,
		ProcessingSeconds: hold.Terms.ProcessingSeconds, GraceSeconds: hold.Terms.GraceSeconds,
		LatePayment: string(hold.Terms.LatePayment), OnDecline: string(hold.Terms.OnDecline), MaxPerInstrument: hold.Terms.MaxPerInstrument,
		Capture:    string(hold.Terms.Capture),
		TotalMinor: total.Minor, Currency: string(total.Currency),
	}); err != nil {
		return Hold{}, fmt.Errorf("store the hold: %w", err)
	}
	if _, err := queries.HoldLinesInsert(ctx, linesParams(p.at, p.hold, lines)); err != nil {
		return Hold{}, fmt.Errorf("store the hold's lines: %w", err)
	}
	for _, show := range gather(lines).seats {
		n, err := queries.SeatsHold(ctx, dbsqlc.SeatsHoldParams{
			TenantID: p.at.tenant, Region: string(p.at.region), ShowID: show.show, SeatIds: show.seats,
			HoldID: p.hold, ClaimableAt: deadline,
		})
		if err != nil {
			return Hold{}, fmt.Errorf("claim seats of show %s: %w", show.show, err)
		}
		if n != int64(len(show.seats)) {
			return Hold{}, fmt.Errorf("claim seats of show %s: %d of %d were free under lock", show.show, n, len(show.seats))
		}
	}
	return hold, nil
}

// claimCounters adds to held, in lock order, and lets the named CHECKs refuse.
func (p placing) claimCounters(ctx context.Context, tx pgx.Tx, wanted units) error {
	queries := dbsqlc.New(tx)
	for _, pool := range wanted.pools {
		n, err := queries.PoolCounterHold(ctx, dbsqlc.PoolCounterHoldParams{
			TenantID: p.at.tenant, Region: string(p.at.region), PoolID: pool.pool, Bucket: pool.bucket, Shard: pool.shard, Quantity: pool.quantity,
		})
		if err != nil {
			return p.guardSpoke(err, "claim units of a pool")
		}
		if n != 1 {
			return errLookCloser
		}
	}
	for _, night := range wanted.nights {
		n, err := queries.NightCountersHold(ctx, dbsqlc.NightCountersHoldParams{
			TenantID: p.at.tenant, Region: string(p.at.region), RoomTypeID: night.roomType, Bucket: night.bucket,
			FirstNight: night.first, LastNight: night.last, Quantity: night.quantity,
		})
		if err != nil {
			return p.guardSpoke(err, "claim nights")
		}
		if n != night.nights() {
			return errLookCloser
		}
	}
	for _, house := range wanted.houses {
		if _, err := queries.HouseCountersHold(ctx, dbsqlc.HouseCountersHoldParams{
			TenantID: p.at.tenant, Region: string(p.at.region), PropertyID: house.property,
			FirstNight: house.first, LastNight: house.last, Quantity: house.quantity,
		}); err != nil {
			return p.guardSpoke(err, "claim house units")
		}
	}
	return nil
}

// guardSpoke turns the violation of a ceiling into a closer look; in the careful path, which has
// judged the rows under lock, it would be a defect.
func (p placing) guardSpoke(err error, doing string) error {
	switch db.ViolatedConstraint(err) {
	case constraintPoolCeiling, constraintNightCeiling, constraintHouseCeiling:
		if !p.careful {
			return errLookCloser
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// refuse completes a refusal with the buyer's own live holds on the units.
func (p placing) refuse(ctx context.Context, tx pgx.Tx, f facts, refused []RefusedLine) error {
	if err := p.markOwn(ctx, tx, f, refused); err != nil {
		return err
	}
	return refuseLines(refused)
}

// markOwn tells a buyer which of the lost units are in a live hold of their own, so that nobody
// reads "sold out" because of their own cart.
func (p placing) markOwn(ctx context.Context, tx pgx.Tx, f facts, refused []RefusedLine) error {
	var owners, pools, rooms []uuid.UUID
	for _, line := range refused {
		switch {
		case line.Code == RefusalHeldByOther && line.HeldByYou != nil:
			owners = append(owners, line.HeldByYou.UUID)
		case line.Code == RefusalSoldOut && line.Pool != nil:
			pools = append(pools, line.Pool.UUID)
		case line.Code == RefusalSoldOut && line.Night != nil:
			rooms = append(rooms, p.claim.lines[line.Line].Stay.RoomType.UUID)
		}
	}
	mine := map[uuid.UUID]bool{}
	if len(owners) > 0 {
		rows, err := dbsqlc.New(tx).HoldBuyers(ctx, dbsqlc.HoldBuyersParams{TenantID: p.at.tenant, Region: string(p.at.region), Ids: owners})
		if err != nil {
			return fmt.Errorf("read the owners of seats: %w", err)
		}
		for _, row := range rows {
			mine[row.ID] = row.BuyerID == p.buyer.ID && row.BuyerKind == string(p.buyer.Kind)
		}
	}
	own, err := p.ownCounters(ctx, tx, f, pools, rooms)
	if err != nil {
		return err
	}
	for i := range refused {
		line := &refused[i]
		switch {
		case line.Code == RefusalHeldByOther && line.HeldByYou != nil:
			if mine[line.HeldByYou.UUID] {
				line.Code = RefusalHeldByYou
			} else {
				line.HeldByYou = nil
			}
		case line.Code == RefusalSoldOut && line.Pool != nil:
			line.HeldByYou = own.pools[line.Pool.UUID]
		case line.Code == RefusalSoldOut && line.Night != nil:
			line.HeldByYou = own.nights[nightKey{owner: p.claim.lines[line.Line].Stay.RoomType.UUID, night: *line.Night}]
		}
	}
	return nil
}

type ownCounters struct {
	pools  map[uuid.UUID]*HoldID
	nights map[nightKey]*HoldID
}

func (p placing) ownCounters(ctx context.Context, tx pgx.Tx, f facts, pools, rooms []uuid.UUID) (ownCounters, error) {
	own := ownCounters{pools: map[uuid.UUID]*HoldID{}, nights: map[nightKey]*HoldID{}}
	if len(pools)+len(rooms) == 0 {
		return own, nil
	}
	rows, err := dbsqlc.New(tx).HoldsOfBuyerOnUnits(ctx, dbsqlc.HoldsOfBuyerOnUnitsParams{
		TenantID: p.at.tenant, Region: string(p.at.region), BuyerID: p.buyer.ID, BuyerKind: string(p.buyer.Kind),
		Since: f.now.Add(-longestHold), Now: f.now, PoolIds: pools, RoomTypeIds: rooms,
	})
	if err != nil {
		return own, fmt.Errorf("read the buyer's own holds: %w", err)
	}
	for _, row := range rows {
		id := HoldID{Region: p.at.region, UUID: row.ID}
		switch {
		case row.PoolID != nil:
			own.pools[*row.PoolID] = &id
		case row.RoomTypeID != nil && row.Night != nil:
			own.nights[nightKey{owner: *row.RoomTypeID, night: *row.Night}] = &id
		}
	}
	return own, nil
}

func linesParams(at place, hold uuid.UUID, lines []HoldLine) dbsqlc.HoldLinesInsertParams {
	params := dbsqlc.HoldLinesInsertParams{TenantID: at.tenant, Region: string(at.region), HoldID: hold}
	for _, line := range lines {
		params.Ordinals = append(params.Ordinals, line.Ordinal)
		params.Items = append(params.Items, line.Item)
		params.Kinds = append(params.Kinds, string(line.Kind))
		params.ShowIds = append(params.ShowIds, line.Show.UUID)
		params.SeatIds = append(params.SeatIds, line.Seat.UUID)
		params.PoolIds = append(params.PoolIds, line.Pool.UUID)
		shard, night := int64(-1), civil.Date{Year: 1, Month: time.January, Day: 1}
		switch line.Kind {
		case LineKindPool:
			shard = line.Shard
		case LineKindNight:
			night = line.Night
		case LineKindSeat:
		}
		params.Shards = append(params.Shards, shard)
		params.PropertyIds = append(params.PropertyIds, line.Property.UUID)
		params.RoomTypeIds = append(params.RoomTypeIds, line.RoomType.UUID)
		params.Nights = append(params.Nights, night)
		params.Buckets = append(params.Buckets, line.Bucket)
		params.Quantities = append(params.Quantities, line.Quantity)
		params.Amounts = append(params.Amounts, line.Amount.Minor)
	}
	return params
}
