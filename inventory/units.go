package inventory

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// Line is what a hold line and a booking line have in common: the unit row and how much of it.
// Units are moved by lines, so that a confirm, a release and a cancellation give back exactly what
// was claimed.
type Line interface {
	Unit() Unit
}

// Unit is a quantity of one row of stock.
type Unit struct {
	Kind     LineKind
	Show     uuid.UUID
	Seat     uuid.UUID
	Pool     uuid.UUID
	Shard    int64
	Property uuid.UUID
	RoomType uuid.UUID
	Night    civil.Date
	Bucket   uuid.UUID
	Quantity int64
}

// Unit of a hold's line.
func (l HoldLine) Unit() Unit {
	return Unit{
		Kind: l.Kind, Show: l.Show.UUID, Seat: l.Seat.UUID, Pool: l.Pool.UUID, Shard: l.Shard, Property: l.Property.UUID,
		RoomType: l.RoomType.UUID, Night: l.Night, Bucket: l.Bucket, Quantity: l.Quantity,
	}
}

// place is the tenant and region that every statement on units names.
type place struct {
	tenant uuid.UUID
	region ids.Region
}

func placeOf(tenant tenants.TenantID, region ids.Region) place {
	return place{tenant: tenant.UUID, region: region}
}

// units is stock gathered by row and sorted in the order in which rows are locked.
type units struct {
	seats  []showSeats
	pools  []poolUnits
	nights []nightUnits
	houses []houseUnits
}

type showSeats struct {
	show  uuid.UUID
	seats []uuid.UUID
}

type poolUnits struct {
	pool, bucket uuid.UUID
	shard        int64
	quantity     int64
}

// nightUnits is the same quantity on every night from first to last, both included.
type nightUnits struct {
	roomType, bucket uuid.UUID
	first, last      civil.Date
	quantity         int64
}

type houseUnits struct {
	property    uuid.UUID
	first, last civil.Date
	quantity    int64
}

func (u nightUnits) nights() int64 { return int64(u.last.DaysSince(u.first)) + 1 }

type nightKey struct {
	owner, bucket uuid.UUID
	night         civil.Date
}

// gather adds up the units of lines by row, and joins neighbouring nights of equal quantity into
// one range, which one statement then updates.
func gather[L Line](lines []L) units {
	seats := map[uuid.UUID][]uuid.UUID{}
	pools := map[poolUnits]int64{}
	nights := map[nightKey]int64{}
	houses := map[nightKey]int64{}
	for _, line := range lines {
		unit := line.Unit()
		switch unit.Kind {
		case LineKindSeat:
			seats[unit.Show] = append(seats[unit.Show], unit.Seat)
		case LineKindPool:
			pools[poolUnits{pool: unit.Pool, bucket: unit.Bucket, shard: unit.Shard}] += unit.Quantity
		case LineKindNight:
			nights[nightKey{owner: unit.RoomType, bucket: unit.Bucket, night: unit.Night}] += unit.Quantity
			houses[nightKey{owner: unit.Property, night: unit.Night}] += unit.Quantity
		}
	}
	var result units
	for show, ids := range seats {
		slices.SortFunc(ids, compareUUID)
		result.seats = append(result.seats, showSeats{show: show, seats: ids})
	}
	slices.SortFunc(result.seats, func(a, b showSeats) int { return compareUUID(a.show, b.show) })
	for key, quantity := range pools {
		key.quantity = quantity
		result.pools = append(result.pools, key)
	}
	slices.SortFunc(result.pools, func(a, b poolUnits) int {
		if c := compareUUID(a.pool, b.pool); c != 0 {
			return c
		}
		if c := compareUUID(a.bucket, b.bucket); c != 0 {
			return c
		}
		return int(a.shard - b.shard)
	})
	for _, r := range ranges(nights) {
		result.nights = append(result.nights, nightUnits{roomType: r.owner, bucket: r.bucket, first: r.first, last: r.last, quantity: r.quantity})
	}
	for _, r := range ranges(houses) {
		result.houses = append(result.houses, houseUnits{property: r.owner, first: r.first, last: r.last, quantity: r.quantity})
	}
	return result
}

type nightRange struct {
	owner, bucket uuid.UUID
	first, last   civil.Date
	quantity      int64
}

func ranges(quantities map[nightKey]int64) []nightRange {
	keys := make([]nightKey, 0, len(quantities))
	for key := range quantities {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b nightKey) int {
		if c := compareUUID(a.owner, b.owner); c != 0 {
			return c
		}
		if c := compareUUID(a.bucket, b.bucket); c != 0 {
			return c
		}
		return a.night.Compare(b.night)
	})
	var result []nightRange
	for _, key := range keys {
		if n := len(result); n > 0 {
			before := &result[n-1]
			if before.owner == key.owner && before.bucket == key.bucket && before.quantity == quantities[key] && before.last.AddDays(1) == key.night {
				before.last = key.night
				continue
			}
		}
		result = append(result, nightRange{owner: key.owner, bucket: key.bucket, first: key.night, last: key.night, quantity: quantities[key]})
	}
	return result
}

func compareUUID(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// move is how a counter's held and booked change for each unit.
type move struct {
	name         string
	held, booked int64
}

// book turns held units into booked ones; unhold and unbook give them back.
func book() move   { return move{name: "book", held: -1, booked: +1} }
func unhold() move { return move{name: "unhold", held: -1} }
func unbook() move { return move{name: "unbook", booked: -1} }

// apply moves the counters of units, in lock order. It never claims: see claimCounters.
func (u units) apply(ctx context.Context, tx pgx.Tx, at place, m move) error {
	queries := dbsqlc.New(tx)
	for _, pool := range u.pools {
		params := dbsqlc.PoolCounterMoveParams{
			TenantID: at.tenant, Region: string(at.region), PoolID: pool.pool, Bucket: pool.bucket, Shard: pool.shard,
			HeldDelta: m.held * pool.quantity, BookedDelta: m.booked * pool.quantity,
		}
		n, err := queries.PoolCounterMove(ctx, params)
		if err == nil && n == 0 {
			// The show is over, and its counters have been archived.
			n, err = queries.PastPoolCounterMove(ctx, dbsqlc.PastPoolCounterMoveParams(params))
		}
		if err != nil {
			return fmt.Errorf("%s units of pool %s: %w", m.name, pool.pool, err)
		}
		if n != 1 {
			return fmt.Errorf("%s units of pool %s: its counter %d is missing", m.name, pool.pool, pool.shard)
		}
	}
	for _, night := range u.nights {
		n, err := queries.NightCountersMove(ctx, dbsqlc.NightCountersMoveParams{
			TenantID: at.tenant, Region: string(at.region), RoomTypeID: night.roomType, Bucket: night.bucket,
			FirstNight: night.first, LastNight: night.last,
			HeldDelta: m.held * night.quantity, BookedDelta: m.booked * night.quantity,
		})
		if err != nil {
			return fmt.Errorf("%s nights of room type %s: %w", m.name, night.roomType, err)
		}
		if n != night.nights() {
			return fmt.Errorf("%s nights of room type %s: %d of %d counters are there", m.name, night.roomType, n, night.nights())
		}
	}
	for _, house := range u.houses {
		// Only nights with a house limit have a row.
		if _, err := queries.HouseCountersMove(ctx, dbsqlc.HouseCountersMoveParams{
			TenantID: at.tenant, Region: string(at.region), PropertyID: house.property,
			FirstNight: house.first, LastNight: house.last,
			HeldDelta: m.held * house.quantity, BookedDelta: m.booked * house.quantity,
		}); err != nil {
			return fmt.Errorf("%s house units of property %s: %w", m.name, house.property, err)
		}
	}
	return nil
}

// freeSeats gives seats back, only where they still belong to one of the holds: an old clean-up
// never frees a newer owner's seat. A seat that is not theirs is a broken invariant.
func (u units) freeSeats(ctx context.Context, tx pgx.Tx, at place, from string, holds []uuid.UUID) error {
	queries := dbsqlc.New(tx)
	for _, show := range u.seats {
		params := dbsqlc.SeatsFreeParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: show.show, SeatIds: show.seats, FromState: from, HoldIds: holds,
		}
		n, err := queries.SeatsFree(ctx, params)
		if err == nil && n < int64(len(show.seats)) {
			// The show is over, and the others have been archived.
			var past int64
			past, err = queries.PastSeatsFree(ctx, dbsqlc.PastSeatsFreeParams(params))
			n += past
		}
		if err != nil {
			return fmt.Errorf("free seats of show %s: %w", show.show, err)
		}
		if n != int64(len(show.seats)) {
			return fmt.Errorf("free seats of show %s: %d of %d belong to the hold", show.show, n, len(show.seats))
		}
	}
	return nil
}
