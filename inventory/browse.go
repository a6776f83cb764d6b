package inventory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Reading for display. What it returns may be stale by the time it is seen, and carries as-of
// times; the exact answer is a hold's. Lists, calendars, maps and what is left of pools may be read a
// little in the past (see db.Stale); what is read by its id, because a command or a buyer's own hold
// names it, never is. Holds whose time is over count as free here too, whether or
// not anybody has reaped them.

// Event is a production.
type Event struct {
	ID    EventID
	Venue tenants.VenueID
	Name  string
}

// Show is one performance.
type Show struct {
	ID           ShowID
	Event        EventID
	Venue        tenants.VenueID
	Chart        *ChartID
	Name         string
	State        ShowState
	StartsAt     time.Time
	SaleOpensAt  *time.Time
	SaleClosesAt *time.Time
	Currency     money.Currency
}

// PriceLevel is a price of a show.
type PriceLevel struct {
	ID     PriceLevelID
	Show   ShowID
	Name   string
	Amount money.Amount
}

// Pool is a quantity of a show that is sold without seats.
type Pool struct {
	ID         PoolID
	Show       ShowID
	PriceLevel PriceLevelID
	Name       string
	Capacity   int64
	// Available is what can be held at AsOf.
	Available int64
	AsOf      time.Time
}

// SeatStatus is what may be done with a seat.
type SeatStatus string

// The statuses of a seat on a map.
const (
	SeatStatusAvailable SeatStatus = "AVAILABLE"
	SeatStatusHeld      SeatStatus = "HELD"
	SeatStatusBooked    SeatStatus = "BOOKED"
	// SeatStatusBlocked: the seat belongs to another channel's block, or to the house.
	SeatStatusBlocked SeatStatus = "BLOCKED"
)

// SeatState is the status and price level of one seat of a show.
type SeatState struct {
	Seat       SeatID
	PriceLevel PriceLevelID
	Status     SeatStatus
}

// SeatMap is the status of every seat of a show. The geometry is the chart's, apart and immutable.
type SeatMap struct {
	Show    ShowID
	Seats   []SeatState
	AsOf    time.Time
	Version MapVersion
}

// RoomType is what a hotel sells.
type RoomType struct {
	ID        RoomTypeID
	Property  tenants.PropertyID
	Name      string
	MaxGuests int64
}

// ShowCursor is where a page of shows ended.
type ShowCursor struct {
	StartsAt time.Time
	ID       uuid.UUID
}

// ShowFilter chooses shows of one region.
type ShowFilter struct {
	Region ids.Region
	// Venue limits to one venue; nil is every venue.
	Venue *tenants.VenueID
	// From leaves out shows that start earlier; zero starts at the beginning.
	From time.Time
}

// Shows lists shows by start, at most limit after the cursor, and says whether more follow. Drafts
// are listed for admins only.
func (s *Service) Shows(ctx context.Context, actor tenants.Actor, filter ShowFilter, after *ShowCursor, limit int) ([]Show, bool, error) {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionShowRead, actor.Tenant))
	if err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	params := dbsqlc.ShowsPageParams{
		TenantID: actor.Tenant.UUID, Region: string(filter.Region), AfterStartsAt: filter.From.Add(-time.Microsecond),
		Limited: !reach.Whole(), VenueIds: reach.Venues(false), ShowIds: reach.OneByOne(),
		IncludeDrafts: actor.IsStaff(), MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	}
	if filter.From.IsZero() {
		params.AfterStartsAt = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if filter.Venue != nil {
		params.OneVenue, params.VenueID = true, filter.Venue.UUID
	}
	if after != nil {
		params.AfterStartsAt, params.AfterID = after.StartsAt, after.ID
	}
	// A list of what is on may be stale: it changes by the day, and every visitor reads it.
	rows, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]dbsqlc.ShowsPageRow, error) {
		return dbsqlc.New(tx).ShowsPage(ctx, params)
	}, db.Stale(listStaleness))
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list shows: %w", err))
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	shows := make([]Show, len(rows))
	for i, row := range rows {
		shows[i] = showOf(dbsqlc.ShowsByIDRow(row))
	}
	return shows, more, nil
}

// Show reads one show; a draft exists for admins only.
func (s *Service) Show(ctx context.Context, actor tenants.Actor, id ShowID) (Show, error) {
	found, err := s.ShowsByID(ctx, actor, []ShowID{id})
	if err != nil {
		return Show{}, err
	}
	show, ok := found[id]
	if !ok {
		return Show{}, fault.NotFound("show")
	}
	return show, nil
}

// ShowsByID reads several shows; what does not exist for the actor is missing in the answer.
func (s *Service) ShowsByID(ctx context.Context, actor tenants.Actor, wanted []ShowID) (map[ShowID]Show, error) {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionShowRead, actor.Tenant))
	if err != nil {
		return nil, err
	}
	regions, uuids := splitIDs(wanted)
	rows, err := dbsqlc.New(s.db.Pool()).ShowsByID(ctx, dbsqlc.ShowsByIDParams{TenantID: actor.Tenant.UUID, Regions: regions, Ids: uuids})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read shows: %w", err))
	}
	shows := make(map[ShowID]Show, len(rows))
	for _, row := range rows {
		show := showOf(row)
		if (show.State != ShowStateDraft || actor.IsStaff()) && reach.Covers(tenants.Place{Venue: row.VenueID, Show: row.ID}) {
			shows[show.ID] = show
		}
	}
	return shows, nil
}

// EventsByID reads several events.
func (s *Service) EventsByID(ctx context.Context, actor tenants.Actor, wanted []EventID) (map[EventID]Event, error) {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionShowRead, actor.Tenant))
	if err != nil {
		return nil, err
	}
	regions, uuids := splitIDs(wanted)
	rows, err := dbsqlc.New(s.db.Pool()).EventsByID(ctx, dbsqlc.EventsByIDParams{TenantID: actor.Tenant.UUID, Regions: regions, Ids: uuids})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read events: %w", err))
	}
	events := make(map[EventID]Event, len(rows))
	for _, row := range rows {
		region := ids.Region(row.Region)
		if !reach.Shows(tenants.Place{Venue: row.VenueID}) {
			continue
		}
		id := EventID{Region: region, UUID: row.ID}
		events[id] = Event{ID: id, Venue: tenants.VenueID{Region: region, UUID: row.VenueID}, Name: row.Name}
	}
	return events, nil
}

// PriceLevelsOfShows reads the price levels of several shows, dearest first.
func (s *Service) PriceLevelsOfShows(ctx context.Context, actor tenants.Actor, shows []Show) (map[ShowID][]PriceLevel, error) {
	if err := s.authorizeShows(ctx, actor, policies.ActionShowRead, showsOf(shows)); err != nil {
		return nil, err
	}
	currencies := make(map[ShowID]money.Currency, len(shows))
	wanted := make([]ShowID, len(shows))
	for i, show := range shows {
		wanted[i], currencies[show.ID] = show.ID, show.Currency
	}
	regions, uuids := splitIDs(wanted)
	rows, err := dbsqlc.New(s.db.Pool()).LevelsOfShows(ctx, dbsqlc.LevelsOfShowsParams{TenantID: actor.Tenant.UUID, Regions: regions, ShowIds: uuids})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read price levels: %w", err))
	}
	levels := make(map[ShowID][]PriceLevel, len(shows))
	for _, row := range rows {
		region := ids.Region(row.Region)
		show := ShowID{Region: region, UUID: row.ShowID}
		levels[show] = append(levels[show], PriceLevel{
			ID: PriceLevelID{Region: region, UUID: row.ID}, Show: show, Name: row.Name,
			Amount: money.Amount{Minor: row.AmountMinor, Currency: currencies[show]},
		})
	}
	return levels, nil
}

// PoolsOfShows reads the pools of several shows with what is left of each.
func (s *Service) PoolsOfShows(ctx context.Context, actor tenants.Actor, shows []ShowID) (map[ShowID][]Pool, error) {
	if err := s.authorizeShows(ctx, actor, policies.ActionAvailabilityRead, shows); err != nil {
		return nil, err
	}
	// May be stale, as a map may: a claim asks the counters themselves.
	return db.InSnapshotAsOf(ctx, s.db, func(ctx context.Context, at db.Snapshot) (map[ShowID][]Pool, error) {
		return poolsOfShows(ctx, at, actor, shows)
	}, db.Stale(mapStaleness))
}

func poolsOfShows(ctx context.Context, at db.Snapshot, actor tenants.Actor, shows []ShowID) (map[ShowID][]Pool, error) {
	asOf, err := at.AsOf(ctx)
	if err != nil {
		return nil, err
	}
	tenant := actor.Tenant.UUID
	regions, uuids := splitIDs(shows)
	rows, err := dbsqlc.New(at.Tx).PoolsOfShows(ctx, dbsqlc.PoolsOfShowsParams{TenantID: tenant, Regions: regions, ShowIds: uuids})
	if err != nil {
		return nil, fmt.Errorf("read pools: %w", err)
	}
	due := dueUnits{}
	for _, region := range distinct(regions) {
		if err := due.read(ctx, at.Tx, tenant, region, asOf); err != nil {
			return nil, err
		}
	}
	var allotted []uuid.UUID
	for _, row := range rows {
		if row.HasAllotment {
			allotted = append(allotted, row.ID)
		}
	}
	setAside, err := shownParts(ctx, at, tenant, distinct(regions), allotted, poolNight, poolNight)
	if err != nil {
		return nil, err
	}
	pools := make(map[ShowID][]Pool, len(shows))
	for _, row := range rows {
		stock := unitStock{
			unit: row.ID, night: poolNight, capacity: row.Capacity, sharedTaken: row.Taken, buckets: setAside[nightKey{owner: row.ID, night: poolNight}],
		}
		region := ids.Region(row.Region)
		show := ShowID{Region: region, UUID: row.ShowID}
		pools[show] = append(pools[show], Pool{
			ID: PoolID{Region: region, UUID: row.ID}, Show: show, PriceLevel: PriceLevelID{Region: region, UUID: row.PriceLevelID},
			Name: row.Name, Capacity: row.Capacity, AsOf: asOf,
			Available: stock.left(actor.Channel.UUID, due, asOf),
		})
	}
	return pools, nil
}

// SeatMap reads the status of every seat of a show, as this actor's channel sees it at present.
func (s *Service) SeatMap(ctx context.Context, actor tenants.Actor, show ShowID) (SeatMap, error) {
	board, err := s.SeatBoard(ctx, actor, show, 0)
	if err != nil {
		return SeatMap{}, err
	}
	result := SeatMap{Show: show, AsOf: board.AsOf(), Version: board.Version(), Seats: make([]SeatState, board.Len())}
	for i := range result.Seats {
		result.Seats[i] = board.Seat(i)
	}
	return result, nil
}

// Chart reads the geometry of a hall.
func (s *Service) Chart(ctx context.Context, actor tenants.Actor, id ChartID) (*charts.Chart, error) {
	if err := s.authorizeLook(ctx, actor, policies.ActionChartRead, "chart", id.Region, id.UUID); err != nil {
		return nil, err
	}
	row, err := dbsqlc.New(s.db.Pool()).ChartGet(ctx, dbsqlc.ChartGetParams{TenantID: actor.Tenant.UUID, Region: string(id.Region), ID: id.UUID})
	switch {
	case db.IsNoRows(err):
		return nil, fault.NotFound("chart")
	case err != nil:
		return nil, db.Classify(fmt.Errorf("read a chart: %w", err))
	}
	return decodeChart(row.Geometry)
}

// RoomTypesOfProperties reads the room types of several properties, by name.
func (s *Service) RoomTypesOfProperties(ctx context.Context, actor tenants.Actor, properties []tenants.PropertyID) (map[tenants.PropertyID][]RoomType, error) {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionRoomTypeRead, actor.Tenant))
	if err != nil {
		return nil, err
	}
	regions, uuids := splitIDs(properties)
	rows, err := dbsqlc.New(s.db.Pool()).RoomTypesOfProperties(ctx, dbsqlc.RoomTypesOfPropertiesParams{TenantID: actor.Tenant.UUID, Regions: regions, PropertyIds: uuids})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read room types: %w", err))
	}
	types := make(map[tenants.PropertyID][]RoomType, len(properties))
	for _, row := range rows {
		roomType := roomTypeOf(dbsqlc.RoomTypesByIDRow(row))
		if reach.Covers(tenants.Place{Property: row.PropertyID}) {
			types[roomType.Property] = append(types[roomType.Property], roomType)
		}
	}
	return types, nil
}

// RoomTypesByID reads several room types; what does not exist is missing in the answer.
func (s *Service) RoomTypesByID(ctx context.Context, actor tenants.Actor, wanted []RoomTypeID) (map[RoomTypeID]RoomType, error) {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionRoomTypeRead, actor.Tenant))
	if err != nil {
		return nil, err
	}
	regions, uuids := splitIDs(wanted)
	rows, err := dbsqlc.New(s.db.Pool()).RoomTypesByID(ctx, dbsqlc.RoomTypesByIDParams{TenantID: actor.Tenant.UUID, Regions: regions, Ids: uuids})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read room types: %w", err))
	}
	types := make(map[RoomTypeID]RoomType, len(rows))
	for _, row := range rows {
		if roomType := roomTypeOf(row); reach.Covers(tenants.Place{Property: row.PropertyID}) {
			types[roomType.ID] = roomType
		}
	}
	return types, nil
}

// dueUnits is what holds whose time is over still occupy, by pool and bucket, by room type, bucket and
// night, or by property and night.
type dueUnits map[nightKey]int64

func (d dueUnits) read(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region string, asOf time.Time) error {
	rows, err := dbsqlc.New(tx).DueUnits(ctx, dbsqlc.DueUnitsParams{TenantID: tenant, Region: region, AsOf: asOf})
	if err != nil {
		return fmt.Errorf("read what due holds occupy: %w", err)
	}
	for _, row := range rows {
		switch {
		case row.PoolID != nil:
			d[nightKey{owner: *row.PoolID, bucket: row.Bucket}] += row.Quantity
		case row.RoomTypeID != nil && row.PropertyID != nil && row.Night != nil:
			d[nightKey{owner: *row.RoomTypeID, bucket: row.Bucket, night: *row.Night}] += row.Quantity
			d[nightKey{owner: *row.PropertyID, night: *row.Night}] += row.Quantity
		}
	}
	return nil
}

func showOf(row dbsqlc.ShowsByIDRow) Show {
	region := ids.Region(row.Region)
	show := Show{
		ID: ShowID{Region: region, UUID: row.ID}, Event: EventID{Region: region, UUID: row.EventID},
		Venue: tenants.VenueID{Region: region, UUID: row.VenueID}, Name: row.Name, State: ShowState(row.State),
		StartsAt: row.StartsAt, SaleOpensAt: row.SaleOpensAt, SaleClosesAt: row.SaleClosesAt, Currency: money.Currency(row.Currency),
	}
	if row.ChartID != nil {
		show.Chart = &ChartID{Region: region, UUID: *row.ChartID}
	}
	return show
}

func roomTypeOf(row dbsqlc.RoomTypesByIDRow) RoomType {
	region := ids.Region(row.Region)
	return RoomType{
		ID: RoomTypeID{Region: region, UUID: row.ID}, Property: tenants.PropertyID{Region: region, UUID: row.PropertyID},
		Name: row.Name, MaxGuests: row.MaxGuests,
	}
}

// splitIDs gives the regions and UUIDs of ids as query parameters.
func splitIDs[K ids.Kind](wanted []ids.ID[K]) (regions []string, uuids []uuid.UUID) {
	regions, uuids = make([]string, len(wanted)), make([]uuid.UUID, len(wanted))
	for i, id := range wanted {
		regions[i], uuids[i] = string(id.Region), id.UUID
	}
	return distinct(regions), uuids
}

func distinct(values []string) []string {
	seen := make(map[string]bool, len(values))
	result := make([]string, 0, len(values))
	for _, value := range values {
		if !seen[value] {
			seen[value] = true
			result = append(result, value)
		}
	}
	return result
}
