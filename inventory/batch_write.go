package inventory

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// The names of the guards; their violation means sold out.
const (
	constraintPoolCeiling  = "pool_counters_ceiling"
	constraintNightCeiling = "night_counters_ceiling"
	constraintHouseCeiling = "house_counters_ceiling"
)

// won is a wish that gets all its units, which were judged or will be by the counters' CHECKs.
type won struct {
	wish    wish
	lines   []HoldLine
	total   money.Amount
	presale *uuid.UUID
	// overridden are the blocks of others that the wish was allowed to hold across, with how many seats
	// of each.
	overridden map[uuid.UUID]int64
}

// totalOf is what a wish costs, whatever counters its units come from. It is compared with what the
// buyer expects before counted stock is judged: a buyer who would not pay is not told what is left.
func (f facts) totalOf(w wish, stock stock) (money.Amount, error) {
	var total money.Amount
	for i, request := range w.claim.lines {
		sum := int64(0)
		switch {
		case request.Seats != nil:
			show := f.shows[request.Seats.Show.UUID]
			for _, seat := range request.Seats.Seats {
				sum += show.levels[stock.seats[request.Seats.Show.UUID][seat].PriceLevelID]
			}
		case request.Pool != nil:
			sum = f.pools[request.Pool.Pool.UUID].price * request.Pool.Quantity
		case request.Stay != nil:
			price, _ := priceStay(*request.Stay, f.stay(*request.Stay)) // judgeStay has seen that each night has a price
			sum = price.Room() * request.Stay.Rooms
		}
		var err error
		if total, err = total.Add(money.Amount{Minor: sum, Currency: f.currencyOf(request)}); err != nil || total.Minor > money.MaxMinor {
			return money.Amount{}, fault.Invalid(fmt.Sprintf("lines[%d]", i), "the total of the hold is too large")
		}
	}
	if expected := w.claim.expectedTotal; expected != nil && *expected != total {
		return money.Amount{}, Refuse(RefusalPriceChanged, fmt.Sprintf("the price is now %s, expected was %s", total, *expected))
	}
	return total, nil
}

// linesOf fixes what each unit costs and where counted units come from.
func (b *batch) linesOf(w wish, f facts, stock stock) []HoldLine {
	var lines []HoldLine
	add := func(item int, line HoldLine, minor int64, currency money.Currency) {
		line.Ordinal, line.Item = int64(len(lines)), int64(item)
		// The sum was bounded before, and each part of it is smaller.
		line.Amount = money.Amount{Minor: minor * line.Quantity, Currency: currency}
		lines = append(lines, line)
	}
	for i, request := range w.claim.lines {
		currency := f.currencyOf(request)
		switch {
		case request.Seats != nil:
			show := f.shows[request.Seats.Show.UUID]
			for _, seat := range request.Seats.Seats {
				level := stock.seats[request.Seats.Show.UUID][seat].PriceLevelID
				add(i, HoldLine{Kind: LineKindSeat, Show: request.Seats.Show, Seat: seat, Quantity: 1}, show.levels[level], currency)
			}
		case request.Pool != nil:
			pool := f.pools[request.Pool.Pool.UUID]
			for _, part := range b.shardsFor(request.Pool.Pool.UUID, pool.shards, request.Pool.Quantity, f.bucketsOf(w.actor.Channel.UUID, request.Pool.Pool.UUID, poolNight), stock) {
				add(i, HoldLine{
					Kind: LineKindPool, Show: ShowID{Region: b.at.region, UUID: pool.show}, Pool: request.Pool.Pool,
					Shard: part.shard, Bucket: part.bucket, Quantity: part.quantity,
				}, pool.price, currency)
			}
		case request.Stay != nil:
			room := f.rooms[request.Stay.RoomType.UUID]
			price, _ := priceStay(*request.Stay, f.stay(*request.Stay))
			for night := request.Stay.CheckIn; night.Before(request.Stay.CheckOut); night = night.AddDays(1) {
				for _, part := range b.roomsFor(w, f, stock, request.Stay, night) {
					add(i, HoldLine{
						Kind: LineKindNight, Property: tenants.PropertyID{Region: b.at.region, UUID: room.property},
						RoomType: request.Stay.RoomType, RatePlan: planOf(*request.Stay), Night: night, Bucket: part.bucket, Quantity: part.quantity,
					}, price.Nights[night.DaysSince(request.Stay.CheckIn)], currency)
				}
			}
		}
	}
	return lines
}

// write claims the counters, and stores the holds, their seats and their lines, with one statement a
// table.
func (b *batch) write(ctx context.Context, tx pgx.Tx, f facts, winners []won) ([]Hold, error) {
	var all []HoldLine
	var codes []uuid.UUID
	for _, w := range winners {
		all = append(all, w.lines...)
		if w.presale != nil {
			codes = append(codes, *w.presale)
		}
	}
	if err := b.claimCounters(ctx, tx, gather(all)); err != nil {
		return nil, err
	}
	if err := b.claimUses(ctx, tx, codes); err != nil {
		return nil, err
	}
	// The leases begin when everything was waited for.
	now, err := Now(ctx, tx)
	if err != nil {
		return nil, err
	}
	if f.usedDue(winners, now) {
		return nil, errMoreDue
	}
	holds := make([]Hold, len(winners))
	for i, w := range winners {
		holds[i] = w.holdAt(b.at, f.terms, now)
	}
	var out pipelined
	if err := b.insertHolds(ctx, &out, holds); err != nil {
		return nil, err
	}
	if err := b.holdSeats(ctx, &out, holds); err != nil {
		return nil, err
	}
	if err := out.send(ctx, tx); err != nil {
		return nil, err
	}
	if err := auditOverrides(ctx, tx, f, winners); err != nil {
		return nil, err
	}
	if err := b.noteOverrides(ctx, tx, winners, now); err != nil {
		return nil, err
	}
	return holds, b.useGrants(ctx, tx, f, winners)
}

// pipelined are the statements that write what was judged under lock: none needs another's answer, so
// they are sent together.
type pipelined struct {
	db.Pipeline
	checks []rowCheck
}

// rowCheck is how many rows a statement must change: another number is a defect.
type rowCheck struct {
	doing string
	rows  int
}

// expect is called after a statement was put in.
func (p *pipelined) expect(doing string, rows int) {
	p.checks = append(p.checks, rowCheck{doing: doing, rows: rows})
}

func (p *pipelined) send(ctx context.Context, tx pgx.Tx) error {
	changed, err := p.Send(ctx, tx)
	if err != nil {
		return fmt.Errorf("write holds: %w", err)
	}
	for i, check := range p.checks {
		if changed[i] != int64(check.rows) {
			return fmt.Errorf("%s: %d of %d", check.doing, changed[i], check.rows)
		}
	}
	return nil
}

// holdAt is the hold of a winner whose lease begins now.
func (w won) holdAt(at place, terms Terms, now time.Time) Hold {
	deadline := now.Add(seconds(min(terms.HoldSeconds, terms.MaxHoldSeconds)))
	hold := Hold{
		ID: HoldID{Region: at.region, UUID: w.wish.hold}, Tenant: w.wish.actor.Tenant, Channel: w.wish.actor.Channel, Buyer: w.wish.buyer,
		State: HoldStateActive, PlacedAt: now, Deadline: deadline, LeaseDeadline: deadline, ClaimableAt: deadline,
		MaxExtensions: terms.MaxExtensions, Total: w.total, Version: 1, Lines: w.lines,
		OverridesRestrictions: w.wish.claim.override != nil,
		Terms: HoldTerms{
			HoldSeconds: terms.HoldSeconds, MaxHoldSeconds: terms.MaxHoldSeconds,
			ProcessingSeconds: terms.ProcessingSeconds, GraceSeconds: terms.GraceSeconds,
			LatePayment: terms.LatePayment, OnDecline: terms.OnDecline, MaxPerInstrument: terms.MaxActiveHoldsPerInstrument,
			Capture: terms.Capture,
		},
	}
	if w.presale != nil {
		hold.PresaleCode = &PresaleCodeID{Region: at.region, UUID: *w.presale}
	}
	return hold
}

func (b *batch) insertHolds(ctx context.Context, out *pipelined, holds []Hold) error {
	first := holds[0]
	params := dbsqlc.HoldsInsertParams{
		TenantID: b.at.tenant, Region: string(b.at.region), PlacedAt: first.PlacedAt, Deadline: first.Deadline,
		MaxExtensions: first.MaxExtensions, HoldSeconds: first.Terms.HoldSeconds, MaxHoldSeconds: first.Terms.MaxHoldSeconds,
		ProcessingSeconds: first.Terms.ProcessingSeconds, GraceSeconds: first.Terms.GraceSeconds,
		LatePayment: string(first.Terms.LatePayment), OnDecline: string(first.Terms.OnDecline), MaxPerInstrument: first.Terms.MaxPerInstrument,
		Capture: string(first.Terms.Capture),
	}
	lines := dbsqlc.HoldLinesInsertParams{TenantID: b.at.tenant, Region: string(b.at.region)}
	for _, hold := range holds {
		params.Ids = append(params.Ids, hold.ID.UUID)
		params.ChannelIds = append(params.ChannelIds, hold.Channel.UUID)
		params.BuyerKinds = append(params.BuyerKinds, string(hold.Buyer.Kind))
		params.BuyerIds = append(params.BuyerIds, hold.Buyer.ID)
		params.Totals = append(params.Totals, hold.Total.Minor)
		params.Currencies = append(params.Currencies, string(hold.Total.Currency))
		code := uuid.Nil
		if hold.PresaleCode != nil {
			code = hold.PresaleCode.UUID
		}
		params.PresaleCodeIds = append(params.PresaleCodeIds, code)
		params.OverridesRestrictions = append(params.OverridesRestrictions, hold.OverridesRestrictions)
		addLines(&lines, hold)
	}
	queries := dbsqlc.New(out)
	if _, err := queries.HoldsInsert(ctx, params); err != nil {
		return fmt.Errorf("store holds: %w", err)
	}
	out.expect("store holds", len(holds))
	if _, err := queries.HoldLinesInsert(ctx, lines); err != nil {
		return fmt.Errorf("store the lines of holds: %w", err)
	}
	out.expect("store the lines of holds", len(lines.HoldIds))
	return nil
}

// holdSeats gives the seats to their holds; each was judged under its lock.
func (b *batch) holdSeats(ctx context.Context, out *pipelined, holds []Hold) error {
	for _, show := range b.all.shows {
		params := dbsqlc.SeatsHoldParams{TenantID: b.at.tenant, Region: string(b.at.region), ShowID: show, ClaimableAt: holds[0].ClaimableAt}
		for _, hold := range holds {
			for _, line := range hold.Lines {
				if line.Kind == LineKindSeat && line.Show.UUID == show {
					params.SeatIds = append(params.SeatIds, line.Seat.UUID)
					params.HoldIds = append(params.HoldIds, hold.ID.UUID)
				}
			}
		}
		if len(params.SeatIds) == 0 {
			continue
		}
		if _, err := dbsqlc.New(out).SeatsHold(ctx, params); err != nil {
			return fmt.Errorf("claim seats of show %s: %w", show, err)
		}
		out.expect("claim seats that were free under lock, of show "+show.String(), len(params.SeatIds))
	}
	return nil
}

// claimCounters adds to held, in lock order, and lets the named CHECKs refuse.
func (b *batch) claimCounters(ctx context.Context, tx pgx.Tx, wanted units) error {
	queries := dbsqlc.New(tx)
	for _, pool := range wanted.pools {
		n, err := queries.PoolCounterHold(ctx, dbsqlc.PoolCounterHoldParams{
			TenantID: b.at.tenant, Region: string(b.at.region), PoolID: pool.pool, Bucket: pool.bucket, Shard: pool.shard, Quantity: pool.quantity,
		})
		if err != nil {
			return b.guardSpoke(err, "claim units of a pool")
		}
		if n != 1 {
			return errLookCloser
		}
	}
	if err := b.claimNights(ctx, tx, wanted.nights); err != nil {
		return err
	}
	return b.claimHouses(ctx, tx, wanted.houses)
}

func (b *batch) claimNights(ctx context.Context, tx pgx.Tx, nights []nightUnits) error {
	if len(nights) == 0 {
		return nil
	}
	params := make([]dbsqlc.NightCountersHoldParams, len(nights))
	for i, night := range nights {
		params[i] = dbsqlc.NightCountersHoldParams{
			TenantID: b.at.tenant, Region: string(b.at.region), RoomTypeID: night.roomType, Bucket: night.bucket,
			FirstNight: night.first, LastNight: night.last, Quantity: night.quantity,
		}
	}
	var failed error
	missing := false
	dbsqlc.New(tx).NightCountersHold(ctx, params).Query(func(i int, claimed []civil.Date, err error) {
		failed = cmp.Or(failed, err)
		missing = missing || err == nil && int64(len(claimed)) != nights[i].nights()
	})
	switch {
	case failed != nil:
		return b.guardSpoke(failed, "claim nights")
	case missing:
		return errLookCloser
	}
	return nil
}

func (b *batch) claimHouses(ctx context.Context, tx pgx.Tx, houses []houseUnits) error {
	if len(houses) == 0 {
		return nil
	}
	params := make([]dbsqlc.HouseCountersHoldParams, len(houses))
	for i, house := range houses {
		params[i] = dbsqlc.HouseCountersHoldParams{
			TenantID: b.at.tenant, Region: string(b.at.region), PropertyID: house.property,
			FirstNight: house.first, LastNight: house.last, Quantity: house.quantity,
		}
	}
	var failed error
	// Only nights with a house limit have a row.
	dbsqlc.New(tx).HouseCountersHold(ctx, params).Query(func(_ int, _ []civil.Date, err error) { failed = cmp.Or(failed, err) })
	if failed != nil {
		return b.guardSpoke(failed, "claim house units")
	}
	return nil
}

// guardSpoke turns the violation of a ceiling into a closer look; in the careful path, which has
// judged the rows under lock, it would be a defect.
func (b *batch) guardSpoke(err error, doing string) error {
	switch db.ViolatedConstraint(err) {
	case constraintPoolCeiling, constraintNightCeiling, constraintHouseCeiling, constraintPresaleCeiling:
		if !b.careful {
			return errLookCloser
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func addLines(params *dbsqlc.HoldLinesInsertParams, hold Hold) {
	for _, line := range hold.Lines {
		params.HoldIds = append(params.HoldIds, hold.ID.UUID)
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
		params.RatePlanIds = append(params.RatePlanIds, line.RatePlan.UUID)
	}
}
