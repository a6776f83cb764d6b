package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// How much of a pool or night belongs to whom is reckoned in one place, from four things: how much
// there is to sell, what each counter has sold, what each allotment is to have, and which of them are
// open. Whoever changes one of these reckons again, in the same transaction: see unitStock.fit. Readers
// reckon in the same way what a claim would find.

// unitStock is a pool, or one night of a room type, with the counters of everybody.
type unitStock struct {
	unit  uuid.UUID
	night civil.Date
	// planned is false of a night that does not exist.
	planned bool
	// capacity is how many units can be sold, the oversell included.
	capacity int64
	// shards is how many rows of its shared counter a pool is sold from.
	shards int64
	// sharedTaken are held or booked of what everybody may sell, and sharedLimit is the counter's limit.
	sharedTaken, sharedLimit int64
	// allotted is what the night's plan remembers to be kept from the shared counter.
	allotted int64
	// buckets stand in the order in which allotments became definite: when there is not enough for all,
	// the latest lack it.
	buckets []bucketStock
}

// bucketStock is a part of an allotment with its counter.
type bucketStock struct {
	part         allotmentPart
	taken, limit int64
	// counted is whether the counter exists.
	counted bool
}

// shares is who may sell how much of a pool or night: limits, what is sold included.
type shares struct {
	// buckets are in the order of unitStock.buckets.
	buckets []int64
	shared  int64
	// kept is what the buckets keep from the shared limit.
	kept int64
}

// fit shares the capacity out. What is sold is never taken from who sold it. An open part gets its size
// as far as there is enough; what is not open keeps only what it has sold. No sum of limits exceeds the
// capacity.
//
// While there is not enough for all, no single counter can tell when that ends and for whom: then the
// limits of those who get nothing are 0, and a claim that is refused by one fits anew.
func (s unitStock) fit(open func(allotmentPart) bool) shares {
	left := s.capacity - s.sharedTaken
	anyOpen := false
	for _, bucket := range s.buckets {
		left -= bucket.taken
		anyOpen = anyOpen || open(bucket.part)
	}
	result := shares{buckets: make([]int64, len(s.buckets))}
	short := left < 0
	for i, bucket := range s.buckets {
		limit, lacks := bucket.taken, false
		if open(bucket.part) {
			rest := max(0, bucket.part.quantity-bucket.taken)
			grant := min(rest, max(0, left))
			lacks = grant < rest
			limit += grant
			left -= grant
		}
		result.kept += limit
		if !short {
			result.buckets[i] = limit
		}
		short = short || lacks
	}
	if !short || !anyOpen {
		result.shared = max(0, s.capacity-result.kept)
	}
	return result
}

// taken is what is held or booked in all counters.
func (s unitStock) taken() int64 {
	taken := s.sharedTaken
	for _, bucket := range s.buckets {
		taken += bucket.taken
	}
	return taken
}

// roomFor is how large an allotment could be here beside all others.
func (s unitStock) roomFor(allotment uuid.UUID) int64 {
	left := s.capacity - s.sharedTaken
	for _, bucket := range s.buckets {
		if bucket.part.allotment == allotment {
			continue
		}
		if bucket.part.state == partOpen {
			left -= max(bucket.taken, bucket.part.quantity)
		} else {
			left -= bucket.taken
		}
	}
	return max(0, left)
}

// bucket is what an allotment has here.
func (s unitStock) bucket(allotment uuid.UUID) bucketStock {
	for _, bucket := range s.buckets {
		if bucket.part.allotment == allotment {
			return bucket
		}
	}
	return bucketStock{}
}

// isOpen is for whoever writes limits: a part that is due stays open until it is released, which is a
// command of its own with its own event.
func isOpen(p allotmentPart) bool { return p.state == partOpen }

// openAt is for readers: what is due can be had by everybody.
func openAt(now time.Time) func(allotmentPart) bool {
	return func(p allotmentPart) bool { return p.open(now) }
}

// partsOn reads what is set aside of units on the nights from first to last. Pools are found whatever the
// nights.
func partsOn(ctx context.Context, tx pgx.Tx, at place, units []uuid.UUID, first, last civil.Date) ([]allotmentPart, error) {
	rows, err := dbsqlc.New(tx).AllotmentPartsForClaim(ctx, dbsqlc.AllotmentPartsForClaimParams{
		TenantID: at.tenant, Region: string(at.region), UnitIds: units, FirstNight: first, LastNight: last,
	})
	if err != nil {
		return nil, fmt.Errorf("read allotments: %w", err)
	}
	parts := make([]allotmentPart, len(rows))
	for i, row := range rows {
		parts[i] = partOf(row)
	}
	return parts, nil
}

// lockNightRows locks counters in the order of their keys.
func lockNightRows(ctx context.Context, tx pgx.Tx, at place, nights []nightUnits) ([]dbsqlc.NightCountersLockRow, error) {
	if len(nights) == 0 {
		return nil, nil
	}
	slices.SortFunc(nights, func(a, b nightUnits) int {
		return cmp.Or(compareUUID(a.roomType, b.roomType), compareUUID(a.bucket, b.bucket), a.first.Compare(b.first))
	})
	params := make([]dbsqlc.NightCountersLockParams, len(nights))
	for i, night := range nights {
		params[i] = dbsqlc.NightCountersLockParams{
			TenantID: at.tenant, Region: string(at.region), RoomTypeID: night.roomType, Bucket: night.bucket, FirstNight: night.first, LastNight: night.last,
		}
	}
	var locked []dbsqlc.NightCountersLockRow
	var failed error
	dbsqlc.New(tx).NightCountersLock(ctx, params).Query(func(_ int, rows []dbsqlc.NightCountersLockRow, err error) {
		failed = errors.Join(failed, err)
		locked = append(locked, rows...)
	})
	if failed != nil {
		return nil, fmt.Errorf("lock night counters: %w", failed)
	}
	return locked, nil
}

// bucketRanges are the counters of parts of nights, neighbouring nights joined.
func bucketRanges(parts []allotmentPart) []nightUnits {
	ones := map[nightKey]int64{}
	for _, part := range parts {
		if part.night != poolNight {
			ones[part.bucket()] = 1
		}
	}
	var result []nightUnits
	for _, r := range ranges(ones) {
		result = append(result, nightUnits{roomType: r.owner, bucket: r.bucket, first: r.first, last: r.last})
	}
	return result
}

// nightStocks locks the plans and all counters of some nights of a room type, in ascending order.
func nightStocks(ctx context.Context, tx pgx.Tx, at place, roomType uuid.UUID, nights []civil.Date) ([]unitStock, error) {
	plans, err := dbsqlc.New(tx).NightPlansLock(ctx, dbsqlc.NightPlansLockParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: roomType, Nights: nights})
	if err != nil {
		return nil, fmt.Errorf("lock night plans: %w", err)
	}
	stocks := make([]unitStock, len(nights))
	index := make(map[civil.Date]*unitStock, len(nights))
	for i, night := range nights {
		stocks[i] = unitStock{unit: roomType, night: night}
		index[night] = &stocks[i]
	}
	for _, plan := range plans {
		stock := index[plan.Night]
		stock.planned, stock.capacity, stock.allotted = true, max(0, plan.Physical-plan.OutOfOrder+plan.Oversell), plan.Allotted
	}
	all, err := partsOn(ctx, tx, at, []uuid.UUID{roomType}, nights[0], nights[len(nights)-1])
	if err != nil {
		return nil, err
	}
	parts := slices.DeleteFunc(all, func(p allotmentPart) bool { return index[p.night] == nil })
	shared := map[nightKey]int64{}
	for _, night := range nights {
		shared[nightKey{owner: roomType, bucket: sharedBucket, night: night}] = 1
	}
	wanted := bucketRanges(parts)
	for _, r := range ranges(shared) {
		wanted = append(wanted, nightUnits{roomType: r.owner, bucket: r.bucket, first: r.first, last: r.last})
	}
	rows, err := lockNightRows(ctx, tx, at, wanted)
	if err != nil {
		return nil, err
	}
	counters := make(map[nightKey]dbsqlc.NightCountersLockRow, len(rows))
	for _, row := range rows {
		counters[nightKey{owner: row.RoomTypeID, bucket: row.Bucket, night: row.Night}] = row
	}
	for i := range stocks {
		row := counters[nightKey{owner: roomType, bucket: sharedBucket, night: stocks[i].night}]
		stocks[i].sharedTaken, stocks[i].sharedLimit = row.Held+row.Booked, row.SellLimit
	}
	for _, part := range parts {
		row, counted := counters[part.bucket()]
		stock := index[part.night]
		stock.buckets = append(stock.buckets, bucketStock{part: part, taken: row.Held + row.Booked, limit: row.SellLimit, counted: counted})
	}
	return stocks, nil
}

// nightLimits are limits of counters that are to be written, and what the plans then remember.
type nightLimits struct {
	counters dbsqlc.NightLimitsSetParams
	plans    dbsqlc.NightPlansAllotParams
}

func newNightLimits(at place, roomType uuid.UUID) *nightLimits {
	return &nightLimits{
		counters: dbsqlc.NightLimitsSetParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: roomType},
		plans:    dbsqlc.NightPlansAllotParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: roomType},
	}
}

// add notes what of a night differs from what is stored.
func (l *nightLimits) add(s unitStock, to shares) {
	differs := to.shared != s.sharedLimit || to.kept != s.allotted
	limit := func(bucket uuid.UUID, value int64) {
		differs = true
		l.counters.Buckets = append(l.counters.Buckets, bucket)
		l.counters.Nights = append(l.counters.Nights, s.night)
		l.counters.SellLimits = append(l.counters.SellLimits, value)
	}
	if to.shared != s.sharedLimit {
		limit(sharedBucket, to.shared)
	}
	for i, bucket := range s.buckets {
		if value := to.buckets[i]; value != bucket.limit || !bucket.counted && bucket.part.state == partOpen {
			limit(bucket.part.allotment, value)
		}
	}
	if differs {
		l.plans.Nights = append(l.plans.Nights, s.night)
		l.plans.Allotted = append(l.plans.Allotted, to.kept)
	}
}

// writeTx stores what differs.
func (l *nightLimits) writeTx(ctx context.Context, tx pgx.Tx) error {
	if err := l.writeCountersTx(ctx, tx); err != nil || len(l.plans.Nights) == 0 {
		return err
	}
	if _, err := dbsqlc.New(tx).NightPlansAllot(ctx, l.plans); err != nil {
		return fmt.Errorf("note what is allotted: %w", err)
	}
	return nil
}

// writeCountersTx stores limits only: claims never write a plan. What it remembers to be allotted is from
// the last command.
func (l *nightLimits) writeCountersTx(ctx context.Context, tx pgx.Tx) error {
	if len(l.counters.Nights) == 0 {
		return nil
	}
	if _, err := dbsqlc.New(tx).NightLimitsSet(ctx, l.counters); err != nil {
		return fmt.Errorf("set the limits of allotments: %w", err)
	}
	return nil
}

// allottedNights are those of edited plans that allotments may be of.
func allottedNights(plans map[civil.Date]dbsqlc.NightPlansLockRow, nights []civil.Date) []civil.Date {
	var allotted []civil.Date
	for _, night := range nights {
		if plans[night].HasAllotment {
			allotted = append(allotted, night)
		}
	}
	return allotted
}

// fitNightsTx shares nights out anew, after their plans were edited.
func fitNightsTx(ctx context.Context, tx pgx.Tx, at place, roomType uuid.UUID, nights []civil.Date) error {
	if len(nights) == 0 {
		return nil
	}
	stocks, err := nightStocks(ctx, tx, at, roomType, nights)
	if err != nil {
		return err
	}
	limits := newNightLimits(at, roomType)
	for _, stock := range stocks {
		limits.add(stock, stock.fit(isOpen))
	}
	return limits.writeTx(ctx, tx)
}

// poolStock is a pool over its locked counters.
func poolStock(pool uuid.UUID, capacity, shards int64, rows []dbsqlc.PoolCountersLockRow, parts []allotmentPart) unitStock {
	stock := unitStock{unit: pool, night: poolNight, planned: true, capacity: capacity, shards: shards}
	counters := map[uuid.UUID]dbsqlc.PoolCountersLockRow{}
	for _, row := range rows {
		switch {
		case row.PoolID != pool:
		case row.Bucket == sharedBucket:
			stock.sharedTaken += row.Held + row.Booked
			stock.sharedLimit += row.SellLimit
		default:
			counters[row.Bucket] = row
		}
	}
	for _, part := range parts {
		if part.unit == pool {
			row, counted := counters[part.allotment]
			stock.buckets = append(stock.buckets, bucketStock{part: part, taken: row.Held + row.Booked, limit: row.SellLimit, counted: counted})
		}
	}
	return stock
}

// fitPoolTx shares a pool out anew, and says whether anything changed. rows are all its counters, locked.
func fitPoolTx(ctx context.Context, tx pgx.Tx, at place, stock unitStock, rows []dbsqlc.PoolCountersLockRow) (changed bool, err error) {
	to := stock.fit(isOpen)
	if changed, err = fitBucketsTx(ctx, tx, at, stock, to); err != nil || to.shared == stock.sharedLimit {
		return changed, err
	}
	_, err = spreadCapacity(ctx, tx, at, stock.unit, rows, to.shared, stock.shards)
	return true, err
}

// fitBucketsTx writes the limits of a pool's allotments that differ from what is stored.
func fitBucketsTx(ctx context.Context, tx pgx.Tx, at place, stock unitStock, to shares) (changed bool, err error) {
	params := dbsqlc.PoolLimitsSetParams{TenantID: at.tenant, Region: string(at.region), PoolID: stock.unit}
	for i, bucket := range stock.buckets {
		if limit := to.buckets[i]; limit != bucket.limit || !bucket.counted && bucket.part.state == partOpen {
			params.Buckets = append(params.Buckets, bucket.part.allotment)
			params.SellLimits = append(params.SellLimits, limit)
		}
	}
	if len(params.Buckets) == 0 {
		return false, nil
	}
	if _, err := dbsqlc.New(tx).PoolLimitsSet(ctx, params); err != nil {
		return false, fmt.Errorf("set the limits of allotments: %w", err)
	}
	return true, nil
}
