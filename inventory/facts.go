package inventory

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// facts are what a claim must know besides the units themselves. They are read in the claim's
// transaction and never written by it.
type facts struct {
	now   time.Time
	terms Terms
	shows map[uuid.UUID]showFacts
	pools map[uuid.UUID]poolFacts
	rooms map[uuid.UUID]roomFacts
	// nights are the plans of each stay line, by line and date, from check-in to check-out inclusive.
	nights map[int]map[civil.Date]dbsqlc.NightsForClaimRow
}

type showFacts struct {
	state ShowState
	// completed: the show is over for good, and its stock is on its way to the past tables or there.
	completed bool
	opens     *time.Time
	// shuts is the end of the sale: the one that was set, or the start of the show.
	shuts    time.Time
	currency money.Currency
	levels   map[uuid.UUID]int64
}

type poolFacts struct {
	show     uuid.UUID
	capacity int64
	shards   int64
	price    int64
}

type roomFacts struct {
	property uuid.UUID
	currency money.Currency
	today    civil.Date
}

// factsOf reads everything a claim will be judged by. An id that is not the tenant's is not found.
func factsOf(ctx context.Context, tx pgx.Tx, at place, c claim) (facts, error) {
	now, err := Now(ctx, tx)
	if err != nil {
		return facts{}, err
	}
	f := facts{
		now:   now,
		shows: map[uuid.UUID]showFacts{}, pools: map[uuid.UUID]poolFacts{}, rooms: map[uuid.UUID]roomFacts{},
		nights: map[int]map[civil.Date]dbsqlc.NightsForClaimRow{},
	}
	if len(c.pools) > 0 {
		if err := f.readPools(ctx, tx, at, c); err != nil {
			return facts{}, err
		}
	}
	if len(c.shows) > 0 || len(f.pools) > 0 {
		if err := f.readShows(ctx, tx, at, c); err != nil {
			return facts{}, err
		}
	}
	if len(c.rooms) > 0 {
		if err := f.readRooms(ctx, tx, at, c); err != nil {
			return facts{}, err
		}
	}
	f.terms, err = termsOf(ctx, tx, at.tenant, f.scopes())
	return f, err
}

func (f *facts) readPools(ctx context.Context, tx pgx.Tx, at place, c claim) error {
	rows, err := dbsqlc.New(tx).PoolsForClaim(ctx, dbsqlc.PoolsForClaimParams{TenantID: at.tenant, Region: string(at.region), Ids: c.pools})
	if err != nil {
		return fmt.Errorf("read pools: %w", err)
	}
	for _, row := range rows {
		f.pools[row.ID] = poolFacts{show: row.ShowID, capacity: row.Capacity, shards: row.Shards, price: row.AmountMinor}
	}
	if len(f.pools) != len(c.pools) {
		return fault.NotFound("pool")
	}
	return nil
}

func (f *facts) readShows(ctx context.Context, tx pgx.Tx, at place, c claim) error {
	wanted := append([]uuid.UUID{}, c.shows...)
	for _, pool := range f.pools {
		wanted = append(wanted, pool.show)
	}
	rows, err := dbsqlc.New(tx).ShowsForClaim(ctx, dbsqlc.ShowsForClaimParams{TenantID: at.tenant, Region: string(at.region), Ids: wanted})
	if err != nil {
		return fmt.Errorf("read shows: %w", err)
	}
	for _, row := range rows {
		shuts := row.StartsAt
		if row.SaleClosesAt != nil {
			shuts = *row.SaleClosesAt
		}
		f.shows[row.ID] = showFacts{
			state: ShowState(row.State), completed: row.Completed, opens: row.SaleOpensAt, shuts: shuts,
			currency: money.Currency(row.Currency), levels: map[uuid.UUID]int64{},
		}
	}
	for _, show := range c.shows {
		if _, ok := f.shows[show]; !ok {
			return fault.NotFound("show")
		}
	}
	if len(c.shows) == 0 {
		return nil
	}
	levels, err := dbsqlc.New(tx).PriceLevelsOfShows(ctx, dbsqlc.PriceLevelsOfShowsParams{TenantID: at.tenant, Region: string(at.region), ShowIds: c.shows})
	if err != nil {
		return fmt.Errorf("read price levels: %w", err)
	}
	for _, level := range levels {
		f.shows[level.ShowID].levels[level.ID] = level.AmountMinor
	}
	return nil
}

func (f *facts) readRooms(ctx context.Context, tx pgx.Tx, at place, c claim) error {
	rows, err := dbsqlc.New(tx).RoomTypesForClaim(ctx, dbsqlc.RoomTypesForClaimParams{TenantID: at.tenant, Region: string(at.region), Ids: c.rooms})
	if err != nil {
		return fmt.Errorf("read room types: %w", err)
	}
	for _, row := range rows {
		zone, err := time.LoadLocation(row.TimeZone)
		if err != nil {
			return fmt.Errorf("time zone %q of property %s: %w", row.TimeZone, row.PropertyID, err)
		}
		f.rooms[row.ID] = roomFacts{property: row.PropertyID, currency: money.Currency(row.Currency), today: civil.DateOf(f.now.In(zone))}
	}
	if len(f.rooms) != len(c.rooms) {
		return fault.NotFound("room type")
	}
	for i, line := range c.lines {
		if line.Stay == nil {
			continue
		}
		nights, err := dbsqlc.New(tx).NightsForClaim(ctx, dbsqlc.NightsForClaimParams{
			TenantID: at.tenant, Region: string(at.region), RoomTypeID: line.Stay.RoomType.UUID,
			CheckIn: line.Stay.CheckIn, CheckOut: line.Stay.CheckOut,
		})
		if err != nil {
			return fmt.Errorf("read nights: %w", err)
		}
		f.nights[i] = make(map[civil.Date]dbsqlc.NightsForClaimRow, len(nights))
		for _, night := range nights {
			f.nights[i][night.Night] = night
		}
	}
	return nil
}

// onSale reports whether a night of a stay line has a plan and a rate.
func (f *facts) onSale(line int, night civil.Date) bool {
	plan, ok := f.nights[line][night]
	return ok && plan.AmountMinor != nil
}

// scopes are the shows and properties whose terms apply.
func (f *facts) scopes() []uuid.UUID {
	var scopes []uuid.UUID
	for show := range f.shows {
		scopes = append(scopes, show)
	}
	for _, room := range f.rooms {
		scopes = append(scopes, room.property)
	}
	return scopes
}
