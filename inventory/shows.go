package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// ShowState says whether a show may be sold.
type ShowState string

// The states of a show.
const (
	// ShowStateDraft: only admins see it.
	ShowStateDraft ShowState = "DRAFT"
	// ShowStateOnSale: sold within its sale window.
	ShowStateOnSale ShowState = "ON_SALE"
	// ShowStateClosed: visible, no longer sold.
	ShowStateClosed ShowState = "CLOSED"
)

// NewEvent is a production to be performed at a venue.
type NewEvent struct {
	Venue tenants.VenueID
	Name  string
}

// NewShow is one performance, with everything that is sold in it.
type NewShow struct {
	Event EventID
	// Chart gives the show assigned seats; a show without one sells pools only.
	Chart *ChartID
	Name  string
	// State is DRAFT or ON_SALE; empty means ON_SALE.
	State    ShowState
	StartsAt time.Time
	// SaleOpensAt and SaleClosesAt bound the sale. Without the first it is open at once, without the
	// second it ends when the show starts.
	SaleOpensAt  *time.Time
	SaleClosesAt *time.Time
	PriceLevels  []NewPriceLevel
	Pools        []NewPool
}

// NewPriceLevel is a price, and the categories of the chart whose seats are sold at it.
type NewPriceLevel struct {
	Name string
	// AmountMinor is in minor units of the venue's currency.
	AmountMinor int64
	Categories  []string
}

// NewPool is a quantity sold without seats.
type NewPool struct {
	Name string
	// PriceLevel is the name of one of the show's levels.
	PriceLevel string
	Capacity   int64
	// Shards splits the counter over so many rows, so that buyers of a hot pool wait less for one
	// another; 0 means 1.
	Shards int64
}

// ImportChart stores a hall's geometry for a venue. It is immutable: a changed plan is a new chart.
func (s *Service) ImportChart(ctx context.Context, actor tenants.Actor, requestKey string, venue tenants.VenueID, chart *charts.Chart) (ChartID, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionChartImport, "venue", venue.Region, venue.UUID); err != nil {
		return ChartID{}, err
	}
	if err := chart.Validate(); err != nil {
		return ChartID{}, fault.Invalid("chart", "%s", err.Error())
	}
	geometry, err := json.Marshal(chart)
	if err != nil {
		return ChartID{}, fmt.Errorf("encode the chart: %w", err)
	}
	type content struct {
		Venue    string
		Geometry json.RawMessage
	}
	id, err := s.create(ctx, actor, venue.Region, "importChart", requestKey, content{venue.String(), geometry},
		func(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
			if err := venueTx(ctx, tx, actor.Tenant, venue, nil); err != nil {
				return err
			}
			if err := dbsqlc.New(tx).ChartInsert(ctx, dbsqlc.ChartInsertParams{
				TenantID: actor.Tenant.UUID, Region: string(venue.Region), ID: id, VenueID: venue.UUID,
				Name: chart.Name, Geometry: geometry, SeatCount: int64(chart.SeatCount()),
			}); err != nil {
				return err
			}
			return tenants.AuditTx(ctx, tx, actor, tenants.Change{
				Action: policies.ActionChartImport, Resource: ChartID{Region: venue.Region, UUID: id},
				After: map[string]any{"venue": venue, "name": chart.Name, "seats": chart.SeatCount()},
			})
		})
	return ChartID{Region: venue.Region, UUID: id}, err
}

// CreateEvent stores a production.
func (s *Service) CreateEvent(ctx context.Context, actor tenants.Actor, requestKey string, input NewEvent) (EventID, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionShowCreate, "venue", input.Venue.Region, input.Venue.UUID); err != nil {
		return EventID{}, err
	}
	if err := checkName("name", input.Name); err != nil {
		return EventID{}, err
	}
	id, err := s.create(ctx, actor, input.Venue.Region, "createEvent", requestKey, input,
		func(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
			if err := venueTx(ctx, tx, actor.Tenant, input.Venue, nil); err != nil {
				return err
			}
			if err := dbsqlc.New(tx).EventInsert(ctx, dbsqlc.EventInsertParams{
				TenantID: actor.Tenant.UUID, Region: string(input.Venue.Region), ID: id, VenueID: input.Venue.UUID, Name: input.Name,
			}); err != nil {
				return err
			}
			return tenants.AuditTx(ctx, tx, actor, tenants.Change{
				Action: policies.ActionShowCreate, Resource: EventID{Region: input.Venue.Region, UUID: id}, After: input,
			})
		})
	return EventID{Region: input.Venue.Region, UUID: id}, err
}

// CreateShow stores a performance with its price levels, seats and pools, in one transaction.
func (s *Service) CreateShow(ctx context.Context, actor tenants.Actor, requestKey string, input NewShow) (ShowID, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionShowCreate, "event", input.Event.Region, input.Event.UUID); err != nil {
		return ShowID{}, err
	}
	if input.Chart != nil {
		if err := s.authorizeAt(ctx, actor, policies.ActionShowCreate, "chart", input.Chart.Region, input.Chart.UUID); err != nil {
			return ShowID{}, err
		}
	}
	if input.State == "" {
		input.State = ShowStateOnSale
	}
	if err := input.validate(); err != nil {
		return ShowID{}, err
	}
	region := input.Event.Region
	id, err := s.create(ctx, actor, region, "createShow", requestKey, input, func(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
		if err := createShowTx(ctx, tx, placeOf(actor.Tenant, region), actor.Tenant, id, input); err != nil {
			return err
		}
		return tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionShowCreate, Resource: ShowID{Region: region, UUID: id}, After: input,
		})
	})
	if err == nil && input.Chart != nil {
		s.noteGrowth(ctx, "show_seats", maxSeatsPerShow)
	}
	return ShowID{Region: region, UUID: id}, err
}

// noteGrowth keeps the planner informed after stock was added. Without it the next claims are slow
// for a while, not wrong, so its failure is no failure of the command.
func (s *Service) noteGrowth(ctx context.Context, table string, rows int64) {
	_ = s.db.NoteGrowth(ctx, table, rows)
}

func createShowTx(ctx context.Context, tx pgx.Tx, at place, tenant tenants.TenantID, id uuid.UUID, input NewShow) error {
	queries := dbsqlc.New(tx)
	events, err := queries.EventsByID(ctx, dbsqlc.EventsByIDParams{TenantID: at.tenant, Ids: []uuid.UUID{input.Event.UUID}, Regions: []string{string(at.region)}})
	if err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	if len(events) == 0 {
		return fault.NotFound("event")
	}
	var currency money.Currency
	venue := tenants.VenueID{Region: at.region, UUID: events[0].VenueID}
	if err := venueTx(ctx, tx, tenant, venue, &currency); err != nil {
		return err
	}
	var chart *charts.Chart
	var chartID *uuid.UUID
	if input.Chart != nil {
		if chart, err = chartTx(ctx, tx, at, *input.Chart, venue); err != nil {
			return err
		}
		chartID = &input.Chart.UUID
	}
	if err := queries.ShowInsert(ctx, dbsqlc.ShowInsertParams{
		TenantID: at.tenant, Region: string(at.region), ID: id, EventID: input.Event.UUID, VenueID: venue.UUID, ChartID: chartID,
		Name: input.Name, State: string(input.State), StartsAt: input.StartsAt, SaleOpensAt: input.SaleOpensAt,
		SaleClosesAt: input.SaleClosesAt, Currency: string(currency),
	}); err != nil {
		return fmt.Errorf("store the show: %w", err)
	}
	levels, err := insertLevels(ctx, tx, at, id, input.PriceLevels)
	if err != nil {
		return err
	}
	if chart != nil {
		if err := insertSeats(ctx, tx, at, id, chart, input.PriceLevels, levels); err != nil {
			return err
		}
	}
	for _, pool := range input.Pools {
		if err := insertPool(ctx, tx, at, id, pool, levels[pool.PriceLevel]); err != nil {
			return err
		}
	}
	return nil
}

func (n NewShow) validate() error {
	if err := checkName("name", n.Name); err != nil {
		return err
	}
	if n.State != ShowStateDraft && n.State != ShowStateOnSale {
		return fault.Invalid("state", "expected DRAFT or ON_SALE")
	}
	if n.StartsAt.IsZero() {
		return fault.Invalid("startsAt", "expected a time such as 2027-03-14T20:00:00Z")
	}
	if n.SaleOpensAt != nil && n.SaleClosesAt != nil && !n.SaleOpensAt.Before(*n.SaleClosesAt) {
		return fault.Invalid("saleClosesAt", "expected a time after saleOpensAt")
	}
	if n.Chart != nil && n.Chart.Region != n.Event.Region {
		return fault.Invalid("chart", "the chart is of another region than the event")
	}
	if n.Chart == nil && len(n.Pools) == 0 {
		return fault.Invalid("pools", "a show without a chart needs at least one pool")
	}
	if len(n.PriceLevels) < 1 || len(n.PriceLevels) > maxPriceLevels {
		return fault.Invalid("priceLevels", "expected 1 to %d, got %d", maxPriceLevels, len(n.PriceLevels))
	}
	levels := map[string]bool{}
	categories := map[string]string{}
	for i, level := range n.PriceLevels {
		field := fmt.Sprintf("priceLevels[%d]", i)
		if err := checkName(field+".name", level.Name); err != nil {
			return err
		}
		if levels[level.Name] {
			return fault.Invalid(field+".name", "%q is named twice", level.Name)
		}
		levels[level.Name] = true
		if err := checkPrice(field+".amountMinor", level.AmountMinor); err != nil {
			return err
		}
		for j, category := range level.Categories {
			if first, twice := categories[category]; twice {
				return fault.Invalid(fmt.Sprintf("%s.categories[%d]", field, j), "category %q already has price level %q", category, first)
			}
			categories[category] = level.Name
		}
	}
	return n.validatePools(levels)
}

func (n NewShow) validatePools(levels map[string]bool) error {
	if len(n.Pools) > maxPools {
		return fault.Invalid("pools", "expected at most %d, got %d", maxPools, len(n.Pools))
	}
	names := map[string]bool{}
	for i, pool := range n.Pools {
		field := fmt.Sprintf("pools[%d]", i)
		if err := checkName(field+".name", pool.Name); err != nil {
			return err
		}
		if names[pool.Name] {
			return fault.Invalid(field+".name", "%q is named twice", pool.Name)
		}
		names[pool.Name] = true
		if !levels[pool.PriceLevel] {
			return fault.Invalid(field+".priceLevel", "expected the name of one of the show's price levels, got %q", pool.PriceLevel)
		}
		if pool.Capacity < 0 || pool.Capacity > 10_000_000 {
			return fault.Invalid(field+".capacity", "expected 0 to 10000000, got %d", pool.Capacity)
		}
		if pool.Shards < 0 || pool.Shards > maxShards {
			return fault.Invalid(field+".shards", "expected 1 to %d, got %d", maxShards, pool.Shards)
		}
	}
	return nil
}

func insertLevels(ctx context.Context, tx pgx.Tx, at place, show uuid.UUID, levels []NewPriceLevel) (map[string]uuid.UUID, error) {
	params := dbsqlc.PriceLevelsInsertParams{TenantID: at.tenant, Region: string(at.region), ShowID: show}
	byName := make(map[string]uuid.UUID, len(levels))
	for _, level := range levels {
		id := uuid.New()
		byName[level.Name] = id
		params.Ids = append(params.Ids, id)
		params.Names = append(params.Names, level.Name)
		params.Amounts = append(params.Amounts, level.AmountMinor)
	}
	if _, err := dbsqlc.New(tx).PriceLevelsInsert(ctx, params); err != nil {
		return nil, fmt.Errorf("store price levels: %w", err)
	}
	return byName, nil
}

func insertSeats(ctx context.Context, tx pgx.Tx, at place, show uuid.UUID, chart *charts.Chart, levels []NewPriceLevel, levelIDs map[string]uuid.UUID) error {
	levelOf := map[string]uuid.UUID{}
	for _, level := range levels {
		for _, category := range level.Categories {
			levelOf[category] = levelIDs[level.Name]
		}
	}
	params := dbsqlc.SeatsInsertParams{TenantID: at.tenant, Region: string(at.region), ShowID: show}
	for place := range chart.Seats() {
		level, ok := levelOf[place.Seat.Category]
		if !ok {
			return fault.Invalid("priceLevels", "no price level has the chart's category %q", place.Seat.Category)
		}
		params.SeatIds = append(params.SeatIds, place.Seat.ID)
		params.PriceLevelIds = append(params.PriceLevelIds, level)
	}
	if len(params.SeatIds) > maxSeatsPerShow {
		return fault.Invalid("chart", "a show has at most %d seats", maxSeatsPerShow)
	}
	for category := range levelOf {
		if !hasCategory(chart, category) {
			return fault.Invalid("priceLevels", "the chart has no category %q", category)
		}
	}
	if _, err := dbsqlc.New(tx).SeatsInsert(ctx, params); err != nil {
		return fmt.Errorf("store seats: %w", err)
	}
	return nil
}

func hasCategory(chart *charts.Chart, name string) bool {
	for _, category := range chart.Categories {
		if category.Name == name {
			return true
		}
	}
	return false
}

func insertPool(ctx context.Context, tx pgx.Tx, at place, show uuid.UUID, pool NewPool, level uuid.UUID) error {
	shards := max(1, pool.Shards)
	id := uuid.New()
	queries := dbsqlc.New(tx)
	if err := queries.PoolInsert(ctx, dbsqlc.PoolInsertParams{
		TenantID: at.tenant, Region: string(at.region), ID: id, ShowID: show, PriceLevelID: level,
		Name: pool.Name, Capacity: pool.Capacity, Shards: shards,
	}); err != nil {
		return fmt.Errorf("store pool %q: %w", pool.Name, err)
	}
	params := dbsqlc.PoolCountersInsertParams{TenantID: at.tenant, Region: string(at.region), PoolID: id, Bucket: sharedBucket}
	for shard := range shards {
		params.Shards = append(params.Shards, shard)
		params.SellLimits = append(params.SellLimits, shareOf(pool.Capacity, shards, shard))
	}
	if _, err := queries.PoolCountersInsert(ctx, params); err != nil {
		return fmt.Errorf("store the counters of pool %q: %w", pool.Name, err)
	}
	return nil
}

// shareOf splits a capacity over shards so that the parts sum to the whole.
func shareOf(capacity, shards, shard int64) int64 {
	share := capacity / shards
	if shard < capacity%shards {
		share++
	}
	return share
}

// SetShowState puts a show on sale, closes it, or hides it. What is held or sold stays.
func (s *Service) SetShowState(ctx context.Context, actor tenants.Actor, id ShowID, state ShowState) error {
	if err := s.authorizeAt(ctx, actor, policies.ActionShowUpdate, "show", id.Region, id.UUID); err != nil {
		return err
	}
	switch state {
	case ShowStateDraft, ShowStateOnSale, ShowStateClosed:
	default:
		return fault.Invalid("state", "expected DRAFT, ON_SALE or CLOSED")
	}
	_, err := db.Replayable(ctx, s.db, "inventory.SetShowState", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		known, err := dbsqlc.New(tx).ShowsForClaim(ctx, dbsqlc.ShowsForClaimParams{TenantID: actor.Tenant.UUID, Region: string(id.Region), Ids: []uuid.UUID{id.UUID}})
		if err == nil && len(known) == 0 {
			err = fault.NotFound("show")
		}
		if err != nil {
			return struct{}{}, err
		}
		if _, err := dbsqlc.New(tx).ShowStateSet(ctx, dbsqlc.ShowStateSetParams{TenantID: actor.Tenant.UUID, Region: string(id.Region), ID: id.UUID, State: string(state)}); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionShowUpdate, Resource: id,
			Before: map[string]string{"state": known[0].State}, After: map[string]string{"state": string(state)},
		})
	})
	return err
}

// SetPrice changes a price level. Holds already placed keep their price.
func (s *Service) SetPrice(ctx context.Context, actor tenants.Actor, show ShowID, level PriceLevelID, amountMinor int64) error {
	if err := s.authorizeAt(ctx, actor, policies.ActionPricesSet, "show", show.Region, show.UUID); err != nil {
		return err
	}
	if err := checkPrice("amountMinor", amountMinor); err != nil {
		return err
	}
	_, err := db.Replayable(ctx, s.db, "inventory.SetPrice", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		queries := dbsqlc.New(tx)
		levels, err := queries.PriceLevelsOfShows(ctx, dbsqlc.PriceLevelsOfShowsParams{TenantID: actor.Tenant.UUID, Region: string(show.Region), ShowIds: []uuid.UUID{show.UUID}})
		if err != nil {
			return struct{}{}, err
		}
		at := slices.IndexFunc(levels, func(l dbsqlc.PriceLevelsOfShowsRow) bool { return l.ID == level.UUID })
		if at < 0 {
			return struct{}{}, fault.NotFound("price level")
		}
		if _, err := queries.PriceLevelSet(ctx, dbsqlc.PriceLevelSetParams{
			TenantID: actor.Tenant.UUID, Region: string(show.Region), ShowID: show.UUID, ID: level.UUID, AmountMinor: amountMinor,
		}); err != nil {
			return struct{}{}, err
		}
		type price struct {
			Show        ShowID
			AmountMinor int64
		}
		return struct{}{}, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionPricesSet, Resource: level, Before: price{show, levels[at].AmountMinor}, After: price{show, amountMinor},
		})
	})
	return err
}

// SetPoolCapacity changes how many units a pool sells. Lowering it below what is sold is allowed
// and sells nothing more; over says by how many units it then is oversold. The pool of a show that is
// over for good is refused with fault.KindConflict.
func (s *Service) SetPoolCapacity(ctx context.Context, actor tenants.Actor, id PoolID, capacity int64) (over int64, err error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionPoolUpdate, "pool", id.Region, id.UUID); err != nil {
		return 0, err
	}
	if capacity < 0 || capacity > 10_000_000 {
		return 0, fault.Invalid("capacity", "expected 0 to 10000000, got %d", capacity)
	}
	at := placeOf(actor.Tenant, id.Region)
	return db.Replayable(ctx, s.db, "inventory.SetPoolCapacity", func(ctx context.Context, tx pgx.Tx) (int64, error) {
		queries := dbsqlc.New(tx)
		before, err := queries.PoolGet(ctx, dbsqlc.PoolGetParams{TenantID: at.tenant, Region: string(at.region), ID: id.UUID})
		if db.IsNoRows(err) {
			return 0, fault.NotFound("pool")
		}
		if err != nil {
			return 0, fmt.Errorf("read a pool: %w", err)
		}
		_, err = queries.PoolCapacitySet(ctx, dbsqlc.PoolCapacitySetParams{TenantID: at.tenant, Region: string(at.region), ID: id.UUID, Capacity: capacity})
		if err != nil {
			return 0, fmt.Errorf("set a pool's capacity: %w", err)
		}
		if err := requireCurrent(ctx, tx, at, id.UUID); err != nil {
			return 0, err
		}
		rows, err := queries.PoolCountersLock(ctx, dbsqlc.PoolCountersLockParams{TenantID: at.tenant, Region: string(at.region), PoolIds: []uuid.UUID{id.UUID}})
		if err != nil {
			return 0, fmt.Errorf("lock pool counters: %w", err)
		}
		pool, err := queries.PoolGet(ctx, dbsqlc.PoolGetParams{TenantID: at.tenant, Region: string(at.region), ID: id.UUID})
		if err != nil {
			return 0, fmt.Errorf("read a pool: %w", err)
		}
		parts, err := partsOn(ctx, tx, at, []uuid.UUID{id.UUID}, poolNight, poolNight)
		if err != nil {
			return 0, err
		}
		var over int64
		if len(parts) == 0 {
			over, err = spreadCapacity(ctx, tx, at, id.UUID, rows, capacity, pool.Shards)
		} else {
			stock := poolStock(id.UUID, capacity, pool.Shards, rows, parts)
			over = max(0, stock.taken()-capacity)
			_, err = fitPoolTx(ctx, tx, at, stock, rows)
		}
		if err != nil {
			return 0, err
		}
		return over, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionPoolUpdate, Resource: id,
			Before: map[string]int64{"capacity": before.Capacity}, After: map[string]int64{"capacity": capacity, "oversold": over},
		})
	})
}

// sharedStock adds up the counters of one pool that every channel may sell: their limits, and what they
// have sold.
func sharedStock(rows []dbsqlc.PoolCountersLockRow, pool uuid.UUID) (shared []dbsqlc.PoolCountersLockRow, limits, taken int64) {
	for _, row := range rows {
		if row.PoolID == pool && row.Bucket == sharedBucket {
			shared = append(shared, row)
			limits += row.SellLimit
			taken += row.Held + row.Booked
		}
	}
	return shared, limits, taken
}

// create runs a command that makes one entity: claim the key for a fresh id, make it, and answer a
// repetition with the id of the first time.
func (s *Service) create(ctx context.Context, actor tenants.Actor, region ids.Region, operation, requestKey string, content any,
	make func(ctx context.Context, tx pgx.Tx, id uuid.UUID) error,
) (uuid.UUID, error) {
	if err := request.ValidateKey(requestKey); err != nil {
		return uuid.Nil, err
	}
	fingerprint, err := request.Fingerprint(content)
	if err != nil {
		return uuid.Nil, err
	}
	id := uuid.New()
	return db.Replayable(ctx, s.db, "inventory."+operation, func(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
		earlier, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: region, Key: requestKey, Scope: operation + "/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, id)
		if err != nil || replayed {
			return earlier, err
		}
		return id, nameTaken(make(ctx, tx, id))
	})
}

// nameTaken turns the violation of a UNIQUE name into a conflict.
func nameTaken(err error) error {
	if constraint := db.ViolatedConstraint(err); strings.HasSuffix(constraint, "_name_unique") {
		return fault.Conflict("the name is already taken")
	}
	return err
}

func venueTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id tenants.VenueID, currency *money.Currency) error {
	row, err := dbsqlc.New(tx).VenueForSetup(ctx, dbsqlc.VenueForSetupParams{TenantID: tenant.UUID, ID: id.UUID})
	switch {
	case db.IsNoRows(err), err == nil && row.Region != string(id.Region):
		return fault.NotFound("venue")
	case err != nil:
		return fmt.Errorf("read the venue: %w", err)
	}
	if currency != nil {
		*currency = money.Currency(row.Currency)
	}
	return nil
}

func chartTx(ctx context.Context, tx pgx.Tx, at place, id ChartID, venue tenants.VenueID) (*charts.Chart, error) {
	row, err := dbsqlc.New(tx).ChartGet(ctx, dbsqlc.ChartGetParams{TenantID: at.tenant, Region: string(at.region), ID: id.UUID})
	switch {
	case db.IsNoRows(err):
		return nil, fault.NotFound("chart")
	case err != nil:
		return nil, fmt.Errorf("read the chart: %w", err)
	case row.VenueID != venue.UUID:
		return nil, fault.Invalid("chart", "the chart belongs to another venue than the event")
	}
	return decodeChart(row.Geometry)
}

func decodeChart(geometry []byte) (*charts.Chart, error) {
	var chart charts.Chart
	if err := json.Unmarshal(geometry, &chart); err != nil {
		return nil, errors.Join(errors.New("a stored chart cannot be read"), err)
	}
	return &chart, nil
}

func checkName(field, name string) error {
	if n := utf8.RuneCountInString(name); n < 1 || n > 200 || strings.TrimSpace(name) != name || strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
		return fault.Invalid(field, "expected 1 to 200 characters without spaces around them")
	}
	return nil
}

func checkPrice(field string, minor int64) error {
	if minor < 0 || minor > money.MaxMinor {
		return fault.Invalid(field, "expected 0 to %d minor units, got %d", int64(money.MaxMinor), minor)
	}
	return nil
}
