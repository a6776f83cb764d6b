package inventory

import (
	"context"
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
func (p placing) lockAll(ctx context.Context, tx pgx.Tx, f *facts) (stock, error) {
	reaping, err := lockDue(ctx, tx, p.at, p.due)
	if err != nil {
		return stock{}, err
	}
	given := gather(reaping.lines)
	wanted := map[uuid.UUID][]uuid.UUID{}
	for _, show := range given.seats {
		wanted[show.show] = append(wanted[show.show], show.seats...)
	}
	for _, line := range p.claim.lines {
		if line.Seats != nil {
			for _, seat := range line.Seats.Seats {
				wanted[line.Seats.Show.UUID] = append(wanted[line.Seats.Show.UUID], seat.UUID)
			}
		}
	}
	shows := make([]uuid.UUID, 0, len(wanted))
	for show := range wanted {
		shows = append(shows, show)
	}
	slices.SortFunc(shows, compareUUID)
	if _, err := lockSeatsOf(ctx, tx, p.at, shows, wanted); err != nil {
		return stock{}, err
	}
	if err := p.lockCounters(ctx, tx, *f, given, nil); err != nil {
		return stock{}, err
	}
	if err := reaping.reap(ctx, tx, p.at); err != nil {
		return stock{}, err
	}
	// Everything is locked now: read again what the reaping left.
	s := stock{nights: map[nightKey]dbsqlc.NightCountersLockRow{}, houses: map[nightKey]dbsqlc.HouseCountersLockRow{}}
	if s.seats, err = p.lockSeats(ctx, tx); err != nil {
		return stock{}, err
	}
	if err := p.lockCounters(ctx, tx, *f, units{}, &s); err != nil {
		return stock{}, err
	}
	return s, p.reopenPools(ctx, tx, *f, &s)
}

// reopenPools spreads the capacity of wanted pools that were oversold and are no more.
func (p placing) reopenPools(ctx context.Context, tx pgx.Tx, f facts, s *stock) error {
	reopened := false
	for _, pool := range p.claim.pools {
		_, capacity, limits, taken := sharedStock(s.pools, pool, f.pools[pool].capacity)
		if limits >= capacity || taken >= capacity {
			continue
		}
		if _, err := spreadCapacity(ctx, tx, p.at, pool, s.pools, f.pools[pool].capacity); err != nil {
			return err
		}
		reopened = true
	}
	if !reopened {
		return nil
	}
	return p.lockCounters(ctx, tx, f, units{}, s)
}

// dueFor looks, in a snapshot of its own, for holds whose units a claim wants and whose time is over.
// In the claim's transaction the search would be a read of every due hold of the place, and each of
// them that a sweeper ends meanwhile would start the claim over: thousands are due at once when a
// rush ends. The claim locks what was found, and judges it then.
func (s *Service) dueFor(ctx context.Context, p placing) ([]uuid.UUID, error) {
	return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]uuid.UUID, error) {
		f, err := factsOf(ctx, tx, p.at, p.claim)
		if err != nil {
			return nil, err
		}
		return p.findDue(ctx, tx, f)
	})
}

// findDue lists holds whose units this claim wants and whose time is over.
func (p placing) findDue(ctx context.Context, tx pgx.Tx, f facts) ([]uuid.UUID, error) {
	queries := dbsqlc.New(tx)
	var due []uuid.UUID
	for _, line := range p.claim.lines {
		if line.Seats == nil {
			continue
		}
		seats := make([]uuid.UUID, len(line.Seats.Seats))
		for i, seat := range line.Seats.Seats {
			seats[i] = seat.UUID
		}
		owners, err := queries.SeatsDueHolds(ctx, dbsqlc.SeatsDueHoldsParams{
			TenantID: p.at.tenant, Region: string(p.at.region), ShowID: line.Seats.Show.UUID, SeatIds: seats, Now: f.now,
		})
		if err != nil {
			return nil, fmt.Errorf("find due holds of seats: %w", err)
		}
		due = append(due, owners...)
	}
	if len(p.claim.pools)+len(p.claim.rooms) > 0 {
		onCounters, err := p.dueOnCounters(ctx, tx, f, maxReap)
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
func (p placing) judgeMoreDue(ctx context.Context, tx pgx.Tx, f *facts) error {
	now, err := Now(ctx, tx)
	if err != nil {
		return err
	}
	f.now = now
	due, err := p.dueOnCounters(ctx, tx, *f, 1)
	if err != nil {
		return err
	}
	if len(due) > 0 {
		return errMoreDue
	}
	return nil
}

func (p placing) dueOnCounters(ctx context.Context, tx pgx.Tx, f facts, limit int32) ([]uuid.UUID, error) {
	params := dbsqlc.HoldsDueOnCountersParams{
		TenantID: p.at.tenant, Region: string(p.at.region), Now: f.now, PoolIds: p.claim.pools, MaxHolds: limit,
		PropertyIds: []uuid.UUID{}, FirstNight: civil.Date{Year: 9999, Month: 1, Day: 1}, LastNight: civil.Date{Year: 1, Month: 1, Day: 1},
	}
	for _, line := range p.claim.lines {
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
func (p placing) lockCounters(ctx context.Context, tx pgx.Tx, f facts, others units, s *stock) error {
	queries := dbsqlc.New(tx)
	pools := append([]uuid.UUID{}, p.claim.pools...)
	for _, pool := range others.pools {
		pools = append(pools, pool.pool)
	}
	if len(pools) > 0 {
		rows, err := queries.PoolCountersLock(ctx, dbsqlc.PoolCountersLockParams{TenantID: p.at.tenant, Region: string(p.at.region), PoolIds: pools})
		if err != nil {
			return fmt.Errorf("lock pool counters: %w", err)
		}
		if s != nil {
			s.pools = rows
		}
	}
	nights := append([]nightUnits{}, others.nights...)
	houses := append([]houseUnits{}, others.houses...)
	for _, line := range p.claim.lines {
		if line.Stay == nil {
			continue
		}
		nights = append(nights, nightUnits{roomType: line.Stay.RoomType.UUID, bucket: sharedBucket, first: line.Stay.CheckIn, last: line.Stay.lastNight()})
		houses = append(houses, houseUnits{property: f.rooms[line.Stay.RoomType.UUID].property, first: line.Stay.CheckIn, last: line.Stay.lastNight()})
	}
	slices.SortFunc(nights, func(a, b nightUnits) int {
		if c := compareUUID(a.roomType, b.roomType); c != 0 {
			return c
		}
		if c := compareUUID(a.bucket, b.bucket); c != 0 {
			return c
		}
		return a.first.Compare(b.first)
	})
	for _, night := range nights {
		rows, err := queries.NightCountersLock(ctx, dbsqlc.NightCountersLockParams{
			TenantID: p.at.tenant, Region: string(p.at.region), RoomTypeID: night.roomType, Bucket: night.bucket, FirstNight: night.first, LastNight: night.last,
		})
		if err != nil {
			return fmt.Errorf("lock night counters: %w", err)
		}
		if s != nil {
			for _, row := range rows {
				s.nights[nightKey{owner: row.RoomTypeID, bucket: row.Bucket, night: row.Night}] = row
			}
		}
	}
	slices.SortFunc(houses, func(a, b houseUnits) int {
		if c := compareUUID(a.property, b.property); c != 0 {
			return c
		}
		return a.first.Compare(b.first)
	})
	for _, house := range houses {
		rows, err := queries.HouseCountersLock(ctx, dbsqlc.HouseCountersLockParams{
			TenantID: p.at.tenant, Region: string(p.at.region), PropertyID: house.property, FirstNight: house.first, LastNight: house.last,
		})
		if err != nil {
			return fmt.Errorf("lock house counters: %w", err)
		}
		if s != nil {
			for _, row := range rows {
				s.houses[nightKey{owner: row.PropertyID, night: row.Night}] = row
			}
		}
	}
	return nil
}

// judgeCounters says exactly which pools and nights have too little left, over the locked rows.
func (p placing) judgeCounters(f facts, s stock) []RefusedLine {
	var refused []RefusedLine
	house := map[nightKey]int64{}
	for i, line := range p.claim.lines {
		switch {
		case line.Pool != nil:
			if f.shows[f.pools[line.Pool.Pool.UUID].show].completed {
				continue // judgeSale has said so
			}
			free := int64(0)
			for _, row := range s.pools {
				if row.PoolID == line.Pool.Pool.UUID && row.Bucket == sharedBucket {
					free += max(0, row.Ceiling-row.Held-row.Booked)
				}
			}
			if free < line.Pool.Quantity {
				refused = append(refused, RefusedLine{Line: i, Code: RefusalSoldOut, Pool: &line.Pool.Pool, Available: &free})
			}
		case line.Stay != nil:
			for night := line.Stay.CheckIn; night.Before(line.Stay.CheckOut); night = night.AddDays(1) {
				refused = append(refused, judgeNight(i, *line.Stay, night, f, s, house)...)
			}
		}
	}
	return refused
}

// judgeNight looks at the room type's counter and at the house's. house adds up what earlier lines
// of the same claim take of it.
func judgeNight(line int, stay StayRequest, night civil.Date, f facts, s stock, house map[nightKey]int64) []RefusedLine {
	if !f.onSale(line, night) {
		return nil // judgeStay has said so
	}
	row, ok := s.nights[nightKey{owner: stay.RoomType.UUID, bucket: sharedBucket, night: night}]
	if !ok {
		return []RefusedLine{{Line: line, Code: RefusalNoSuchNight, Night: &night}}
	}
	var refused []RefusedLine
	if free := max(0, row.Ceiling-row.Held-row.Booked); free < stay.Rooms {
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

// takeFromPool spreads a quantity over the shards that have something left, the fullest first, so
// that a quantity is found when it is left anywhere.
func (s stock) takeFromPool(pool uuid.UUID, quantity int64) []poolUnits {
	var rows []dbsqlc.PoolCountersLockRow
	for _, row := range s.pools {
		if row.PoolID == pool && row.Bucket == sharedBucket {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b dbsqlc.PoolCountersLockRow) int {
		return int((b.Ceiling - b.Held - b.Booked) - (a.Ceiling - a.Held - a.Booked))
	})
	var taken []poolUnits
	for _, row := range rows {
		part := min(quantity, max(0, row.Ceiling-row.Held-row.Booked))
		if part == 0 {
			break
		}
		taken = append(taken, poolUnits{pool: pool, bucket: row.Bucket, shard: row.Shard, quantity: part})
		quantity -= part
	}
	return taken
}
