package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

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
	// nights are the plans of the room types, from the first check-in to the last check-out inclusive.
	nights map[uuid.UUID]map[civil.Date]dbsqlc.NightsForClaimRow
	// parts are what is set aside of the pools and nights for channels, in the order in which it was, and
	// partsOf the same by pool or night.
	parts   []allotmentPart
	partsOf map[nightKey][]allotmentPart
	// presale has the codes that buyers named, as far as the show has them.
	presale map[string]*presaleFacts
	// grants are those that wishes name, locked; see lockGrants.
	grants map[uuid.UUID]*grantFacts
	// has is what each guest has; see readBuyers.
	has map[uuid.UUID]*possessions
}

type showFacts struct {
	id    uuid.UUID
	state ShowState
	// completed: the show is over for good, and its stock is on its way to the past tables or there.
	completed bool
	opens     *time.Time
	// shuts is the end of the sale: the one that was set, or the start of the show.
	shuts    time.Time
	currency money.Currency
	levels   map[uuid.UUID]int64
	// admission is when guests need a grant of the show's waiting room.
	admission admissionWindow
	// notSoldBy are those of the claim's channels that do not sell the show.
	notSoldBy []uuid.UUID
}

type poolFacts struct {
	show     uuid.UUID
	capacity int64
	shards   int64
	price    int64
	// allotted: some of it is or was set aside for a channel.
	allotted bool
}

type roomFacts struct {
	property uuid.UUID
	currency money.Currency
	zone     *time.Location
	today    civil.Date
	// notSoldBy are those of the claim's channels that do not sell the property.
	notSoldBy []uuid.UUID
}

// factsOf reads everything that claims will be judged by; c is what they want together. An id that is
// not the tenant's is missing from it; see judgeExists.
func factsOf(ctx context.Context, tx pgx.Tx, at place, c claim, codes []string) (facts, error) {
	now, err := Now(ctx, tx)
	if err != nil {
		return facts{}, err
	}
	f := facts{
		now:   now,
		shows: map[uuid.UUID]showFacts{}, pools: map[uuid.UUID]poolFacts{}, rooms: map[uuid.UUID]roomFacts{},
		nights: map[uuid.UUID]map[civil.Date]dbsqlc.NightsForClaimRow{},
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
	if err := f.readAllotments(ctx, tx, at, c); err != nil {
		return facts{}, err
	}
	if err := f.readPresale(ctx, tx, at, codes); err != nil {
		return facts{}, err
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
		f.pools[row.ID] = poolFacts{show: row.ShowID, capacity: row.Capacity, shards: row.Shards, price: row.AmountMinor, allotted: row.HasAllotment}
	}
	return nil
}

func (f *facts) readShows(ctx context.Context, tx pgx.Tx, at place, c claim) error {
	wanted := append([]uuid.UUID{}, c.shows...)
	for _, pool := range f.pools {
		wanted = append(wanted, pool.show)
	}
	rows, err := dbsqlc.New(tx).ShowsForClaim(ctx, dbsqlc.ShowsForClaimParams{TenantID: at.tenant, Region: string(at.region), Ids: wanted, ChannelIds: c.channels})
	if err != nil {
		return fmt.Errorf("read shows: %w", err)
	}
	for _, row := range rows {
		shuts := row.StartsAt
		if row.SaleClosesAt != nil {
			shuts = *row.SaleClosesAt
		}
		f.shows[row.ID] = showFacts{
			id: row.ID, state: ShowState(row.State), completed: row.Completed, opens: row.SaleOpensAt, shuts: shuts,
			currency: money.Currency(row.Currency), levels: map[uuid.UUID]int64{},
			admission: admissionWindow{from: row.AdmissionFrom, until: row.AdmissionUntil}, notSoldBy: row.NotSoldBy,
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
	rows, err := dbsqlc.New(tx).RoomTypesForClaim(ctx, dbsqlc.RoomTypesForClaimParams{TenantID: at.tenant, Region: string(at.region), Ids: c.rooms, ChannelIds: c.channels})
	if err != nil {
		return fmt.Errorf("read room types: %w", err)
	}
	for _, row := range rows {
		zone, err := time.LoadLocation(row.TimeZone)
		if err != nil {
			return fmt.Errorf("time zone %q of property %s: %w", row.TimeZone, row.PropertyID, err)
		}
		f.rooms[row.ID] = roomFacts{property: row.PropertyID, currency: money.Currency(row.Currency), zone: zone, today: civil.DateOf(f.now.In(zone)), notSoldBy: row.NotSoldBy}
	}
	return f.readNights(ctx, tx, at, c.stays())
}

// readNights reads the plans of all stays in one round trip.
func (f *facts) readNights(ctx context.Context, tx pgx.Tx, at place, stays []stay) error {
	params := make([]dbsqlc.NightsForClaimParams, len(stays))
	for i, s := range stays {
		params[i] = dbsqlc.NightsForClaimParams{
			TenantID: at.tenant, Region: string(at.region), RoomTypeID: s.room, CheckIn: s.checkIn, CheckOut: s.checkOut,
		}
		if f.nights[s.room] == nil {
			f.nights[s.room] = map[civil.Date]dbsqlc.NightsForClaimRow{}
		}
	}
	var failed error
	dbsqlc.New(tx).NightsForClaim(ctx, params).Query(func(i int, nights []dbsqlc.NightsForClaimRow, err error) {
		failed = errors.Join(failed, err)
		for _, night := range nights {
			f.nights[stays[i].room][night.Night] = night
		}
	})
	if failed != nil {
		return fmt.Errorf("read nights: %w", failed)
	}
	return nil
}

// unitsOf is the show of a line, and how many of its units the line wants; a stay has neither.
func (f *facts) unitsOf(line LineRequest) (show uuid.UUID, units int64) {
	switch {
	case line.Best != nil:
		// It wants as many as it asked for, whatever was offered.
		return line.Best.Show.UUID, line.Best.Quantity
	case line.Seats != nil:
		return line.Seats.Show.UUID, int64(len(line.Seats.Seats))
	case line.Pool != nil:
		return f.pools[line.Pool.Pool.UUID].show, line.Pool.Quantity
	}
	return uuid.Nil, 0
}

// onSale reports whether a night of a room type has a plan and a rate.
func (f *facts) onSale(room RoomTypeID, night civil.Date) bool {
	plan, ok := f.nights[room.UUID][night]
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
