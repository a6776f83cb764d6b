package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// stock is what a claim has locked. The quick path locks only seats.
type stock struct {
	seats  map[uuid.UUID]map[SeatID]dbsqlc.SeatsLockRow
	pools  []dbsqlc.PoolCountersLockRow
	nights map[nightKey]dbsqlc.NightCountersLockRow
	houses map[nightKey]dbsqlc.HouseCountersLockRow
	// blocks are those that the seats are in; see readBlocks.
	blocks map[uuid.UUID]dbsqlc.BlocksForClaimRow
	// uses says what is left of presale codes.
	uses map[uuid.UUID]int64
	// shard is the counter that the quick path has chosen for a pool.
	shard map[uuid.UUID]int64
}

// anySeatTaken reports whether the clock matters for the seats.
func (s stock) anySeatTaken() bool {
	for _, rows := range s.seats {
		for _, row := range rows {
			if row.State != string(seatStateAvailable) {
				return true
			}
		}
	}
	return false
}

// lockAll is the careful path: due holds on the wanted units are locked first, then every wanted
// row and every row of those holds in the one order, and then the due holds are reaped.
func (b *batch) lockAll(ctx context.Context, tx pgx.Tx, f *facts) (stock, error) {
	reaping, err := lockDue(ctx, tx, b.at, b.due)
	if err != nil {
		return stock{}, err
	}
	given := gather(reaping.lines)
	wanted := b.seatsToLock(*f)
	for _, show := range given.seats {
		wanted[show.show] = append(wanted[show.show], show.seats...)
	}
	shows := make([]uuid.UUID, 0, len(wanted))
	for show := range wanted {
		shows = append(shows, show)
	}
	slices.SortFunc(shows, compareUUID)
	if _, err := lockSeatsOf(ctx, tx, b.at, shows, wanted); err != nil {
		return stock{}, err
	}
	if err := b.lockCounters(ctx, tx, *f, given, nil); err != nil {
		return stock{}, err
	}
	codes := append(f.presaleIDs(), reaping.codes...)
	if _, err := lockPresale(ctx, tx, b.at, codes); err != nil {
		return stock{}, err
	}
	if err := reaping.reap(ctx, tx, b.at); err != nil {
		return stock{}, err
	}
	// Everything is locked now: read again what the reaping left.
	s := stock{nights: map[nightKey]dbsqlc.NightCountersLockRow{}, houses: map[nightKey]dbsqlc.HouseCountersLockRow{}}
	if s.seats, err = b.lockSeats(ctx, tx, *f); err != nil {
		return stock{}, err
	}
	if err := b.lockCounters(ctx, tx, *f, units{}, &s); err != nil {
		return stock{}, err
	}
	if s.uses, err = lockPresale(ctx, tx, b.at, codes); err != nil {
		return stock{}, err
	}
	if err := b.fitAllotments(ctx, tx, *f, &s); err != nil {
		return stock{}, err
	}
	return s, b.reopenPools(ctx, tx, *f, &s)
}

// reopenPools spreads the capacity of wanted pools that were oversold and are no more. Those of which
// some was set aside were shared out anew before; see fitAllotments.
func (b *batch) reopenPools(ctx context.Context, tx pgx.Tx, f facts, s *stock) error {
	reopened := false
	for _, pool := range b.all.pools {
		capacity := f.pools[pool].capacity
		_, limits, taken := sharedStock(s.pools, pool)
		if limits >= capacity || taken >= capacity || f.pools[pool].allotted {
			continue
		}
		if _, err := spreadCapacity(ctx, tx, b.at, pool, s.pools, f.pools[pool].capacity, f.pools[pool].shards); err != nil {
			return err
		}
		reopened = true
	}
	if !reopened {
		return nil
	}
	return b.lockCounters(ctx, tx, f, units{}, s)
}

// dueFor looks, in a snapshot of its own, for holds whose units a claim wants and whose time is over.
// In the claim's transaction the search would be a read of every due hold of the place, and each of
// them that a sweeper ends meanwhile would start the claim over: thousands are due at once when a
// rush ends. The claim locks what was found, and judges it then.
func (s *Service) dueFor(ctx context.Context, b *batch) ([]uuid.UUID, error) {
	found, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (overdue, error) {
		f, err := factsOf(ctx, tx, b.at, b.all, b.codes())
		if err != nil {
			return overdue{}, err
		}
		holds, err := b.findDue(ctx, tx, f)
		return overdue{holds: holds, allotments: f.dueAllotments()}, err
	})
	if err != nil {
		return nil, err
	}
	return found.holds, s.releaseOverdue(ctx, b.at, found.allotments)
}

// findDue lists holds whose units this claim wants and whose time is over.
func (b *batch) findDue(ctx context.Context, tx pgx.Tx, f facts) ([]uuid.UUID, error) {
	queries := dbsqlc.New(tx)
	var due []uuid.UUID
	for _, line := range b.all.lines {
		if line.Seats == nil {
			continue
		}
		seats := make([]uuid.UUID, len(line.Seats.Seats))
		for i, seat := range line.Seats.Seats {
			seats[i] = seat.UUID
		}
		owners, err := queries.SeatsDueHolds(ctx, dbsqlc.SeatsDueHoldsParams{
			TenantID: b.at.tenant, Region: string(b.at.region), ShowID: line.Seats.Show.UUID, SeatIds: seats, Now: f.now,
		})
		if err != nil {
			return nil, fmt.Errorf("find due holds of seats: %w", err)
		}
		due = append(due, owners...)
	}
	if len(b.all.pools)+len(b.all.rooms) > 0 || len(f.presale) > 0 {
		onCounters, err := b.dueOnCounters(ctx, tx, f, maxReap)
		if err != nil {
			return nil, err
		}
		due = append(due, onCounters...)
	}
	slices.SortFunc(due, compareUUID)
	return slices.Compact(due), nil
}

// judgeMoreDue looks, before counted stock is refused, for holds on it that are due and were not
// reaped: there were too many for one transaction, or their time ended while the locks were waited
// for. The answer is errMoreDue when there are any.
func (b *batch) judgeMoreDue(ctx context.Context, tx pgx.Tx, f *facts) error {
	now, err := Now(ctx, tx)
	if err != nil {
		return err
	}
	f.now = now
	due, err := b.dueOnCounters(ctx, tx, *f, 1)
	if err != nil {
		return err
	}
	if len(due) > 0 || len(f.dueAllotments()) > 0 {
		return errMoreDue
	}
	return nil
}

func (b *batch) dueOnCounters(ctx context.Context, tx pgx.Tx, f facts, limit int32) ([]uuid.UUID, error) {
	params := dbsqlc.HoldsDueOnCountersParams{
		TenantID: b.at.tenant, Region: string(b.at.region), Now: f.now, PoolIds: b.all.pools, MaxHolds: limit,
		PropertyIds: []uuid.UUID{}, FirstNight: civil.Date{Year: 9999, Month: 1, Day: 1}, LastNight: civil.Date{Year: 1, Month: 1, Day: 1},
	}
	params.PresaleCodeIds = f.presaleIDs()
	for _, line := range b.all.lines {
		if line.Stay == nil {
			continue
		}
		// By property, not by room type: a house limit is freed by any of its rooms.
		params.PropertyIds = append(params.PropertyIds, f.rooms[line.Stay.RoomType.UUID].property)
		if line.Stay.CheckIn.Before(params.FirstNight) {
			params.FirstNight = line.Stay.CheckIn
		}
		if line.Stay.lastNight().After(params.LastNight) {
			params.LastNight = line.Stay.lastNight()
		}
	}
	due, err := dbsqlc.New(tx).HoldsDueOnCounters(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("find due holds of counters: %w", err)
	}
	return due, nil
}

// lockCounters locks the counters of the claim together with those of other units, each table in
// the order of its key, and keeps the claim's rows in s when s is given.
func (b *batch) lockCounters(ctx context.Context, tx pgx.Tx, f facts, others units, s *stock) error {
	queries := dbsqlc.New(tx)
	pools := append([]uuid.UUID{}, b.all.pools...)
	for _, pool := range others.pools {
		pools = append(pools, pool.pool)
	}
	if len(pools) > 0 {
		rows, err := queries.PoolCountersLock(ctx, dbsqlc.PoolCountersLockParams{TenantID: b.at.tenant, Region: string(b.at.region), PoolIds: pools})
		if err != nil {
			return fmt.Errorf("lock pool counters: %w", err)
		}
		if s != nil {
			s.pools = rows
		}
	}
	nights := append([]nightUnits{}, others.nights...)
	houses := append([]houseUnits{}, others.houses...)
	for _, stay := range b.all.stays() {
		nights = append(nights, nightUnits{roomType: stay.room, bucket: sharedBucket, first: stay.checkIn, last: stay.lastNight()})
		houses = append(houses, houseUnits{property: f.rooms[stay.room].property, first: stay.checkIn, last: stay.lastNight()})
	}
	nights = append(nights, bucketRanges(f.parts)...)
	if err := b.lockNights(ctx, tx, nights, s); err != nil {
		return err
	}
	return b.lockHouses(ctx, tx, houses, s)
}

func (b *batch) lockNights(ctx context.Context, tx pgx.Tx, nights []nightUnits, s *stock) error {
	rows, err := lockNightRows(ctx, tx, b.at, nights)
	if err != nil || s == nil {
		return err
	}
	for _, row := range rows {
		s.nights[nightKey{owner: row.RoomTypeID, bucket: row.Bucket, night: row.Night}] = row
	}
	return nil
}

func (b *batch) lockHouses(ctx context.Context, tx pgx.Tx, houses []houseUnits, s *stock) error {
	if len(houses) == 0 {
		return nil
	}
	slices.SortFunc(houses, func(a, b houseUnits) int {
		return cmp.Or(compareUUID(a.property, b.property), a.first.Compare(b.first))
	})
	params := make([]dbsqlc.HouseCountersLockParams, len(houses))
	for i, house := range houses {
		params[i] = dbsqlc.HouseCountersLockParams{
			TenantID: b.at.tenant, Region: string(b.at.region), PropertyID: house.property, FirstNight: house.first, LastNight: house.last,
		}
	}
	var failed error
	dbsqlc.New(tx).HouseCountersLock(ctx, params).Query(func(_ int, rows []dbsqlc.HouseCountersLockRow, err error) {
		failed = errors.Join(failed, err)
		for _, row := range rows {
			if s != nil {
				s.houses[nightKey{owner: row.PropertyID, night: row.Night}] = row
			}
		}
	})
	if failed != nil {
		return fmt.Errorf("lock house counters: %w", failed)
	}
	return nil
}

// judgeCounters says exactly which pools and nights have too little left, over the locked rows.
func (w wish) judgeCounters(f facts, s stock) []RefusedLine {
	var refused []RefusedLine
	if code := f.presaleID(w.claim); code != nil && s.uses[*code] == 0 {
		refused = append(refused, RefusedLine{Code: RefusalPresaleUsedUp})
	}
	house := map[nightKey]int64{}
	for i, line := range w.claim.lines {
		switch {
		case line.Pool != nil:
			if f.shows[f.pools[line.Pool.Pool.UUID].show].completed {
				continue // judgeSale has said so
			}
			free := s.poolLeft(line.Pool.Pool.UUID, f.bucketsOf(w.actor.Channel.UUID, line.Pool.Pool.UUID, poolNight))
			if free < line.Pool.Quantity {
				refused = append(refused, RefusedLine{Line: i, Code: RefusalSoldOut, Pool: &line.Pool.Pool, Available: &free})
			}
		case line.Stay != nil:
			for night := line.Stay.CheckIn; night.Before(line.Stay.CheckOut); night = night.AddDays(1) {
				refused = append(refused, w.judgeNight(i, *line.Stay, night, f, s, house)...)
			}
		}
	}
	return refused
}

// judgeNight looks at the room type's counter and at the house's. house adds up what earlier lines
// of the same claim take of it.
func (w wish) judgeNight(line int, stay StayRequest, night civil.Date, f facts, s stock, house map[nightKey]int64) []RefusedLine {
	if !f.onSale(stay, night) {
		return nil // judgeStay has said so
	}
	if _, ok := s.nights[nightKey{owner: stay.RoomType.UUID, bucket: sharedBucket, night: night}]; !ok {
		return []RefusedLine{{Line: line, Code: RefusalNoSuchNight, Night: &night}}
	}
	var refused []RefusedLine
	if free := s.nightLeft(stay.RoomType.UUID, night, f.bucketsOf(w.actor.Channel.UUID, stay.RoomType.UUID, night)); free < stay.Rooms {
		refused = append(refused, RefusedLine{Line: line, Code: RefusalSoldOut, Night: &night, Available: &free})
	}
	key := nightKey{owner: f.rooms[stay.RoomType.UUID].property, night: night}
	house[key] += stay.Rooms
	if limit, ok := s.houses[key]; ok {
		if free := max(0, limit.Ceiling-limit.Held-limit.Booked); free < house[key] {
			refused = append(refused, RefusedLine{Line: line, Code: RefusalHouseFull, Night: &night, Available: &free})
		}
	}
	return refused
}

// takeFromPool spreads a quantity over the counters that have something left: of each of the buckets in
// turn, the fullest shard first, so that a quantity is found when it is left anywhere.
func (s stock) takeFromPool(pool uuid.UUID, quantity int64, buckets []uuid.UUID) []poolUnits {
	var taken []poolUnits
	for _, bucket := range buckets {
		var rows []dbsqlc.PoolCountersLockRow
		for _, row := range s.pools {
			if row.PoolID == pool && row.Bucket == bucket {
				rows = append(rows, row)
			}
		}
		slices.SortFunc(rows, func(a, b dbsqlc.PoolCountersLockRow) int {
			return int((b.Ceiling - b.Held - b.Booked) - (a.Ceiling - a.Held - a.Booked))
		})
		for _, row := range rows {
			part := min(quantity, max(0, row.Ceiling-row.Held-row.Booked))
			if part == 0 {
				break
			}
			taken = append(taken, poolUnits{pool: pool, bucket: row.Bucket, shard: row.Shard, quantity: part})
			quantity -= part
		}
	}
	return taken
}

// take marks what a winner gets as gone, for the wishes that follow in the batch.
func (s stock) take(w won) {
	for _, line := range w.lines {
		switch line.Kind {
		case LineKindSeat:
			row := s.seats[line.Show.UUID][line.Seat]
			row.State, row.HoldID = string(seatStateHeld), &w.wish.hold
			row.ClaimableAt = nil
			s.seats[line.Show.UUID][line.Seat] = row
		case LineKindPool:
			for i := range s.pools {
				if row := &s.pools[i]; row.PoolID == line.Pool.UUID && row.Bucket == line.Bucket && row.Shard == line.Shard {
					row.Held += line.Quantity
				}
			}
		case LineKindNight:
			takeFrom(s.nights, nightKey{owner: line.RoomType.UUID, bucket: line.Bucket, night: line.Night}, func(row *dbsqlc.NightCountersLockRow) { row.Held += line.Quantity })
			takeFrom(s.houses, nightKey{owner: line.Property.UUID, night: line.Night}, func(row *dbsqlc.HouseCountersLockRow) { row.Held += line.Quantity })
		}
	}
	if w.presale != nil && s.uses != nil {
		s.uses[*w.presale]--
	}
}

// takeFrom changes a row of a counter where there is one; in the quick path there are none.
func takeFrom[R any](rows map[nightKey]R, key nightKey, change func(*R)) {
	if row, ok := rows[key]; ok {
		change(&row)
		rows[key] = row
	}
}
