package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// NewRoomType is what a hotel sells, such as "double king".
type NewRoomType struct {
	Property  tenants.PropertyID
	Name      string
	MaxGuests int64
}

// NightRange names nights from First to Last, both included, on some weekdays; no weekday means all.
type NightRange struct {
	First    civil.Date
	Last     civil.Date
	Weekdays []time.Weekday
}

// dates are the nights of the range in ascending order.
func (r NightRange) dates(field string) ([]civil.Date, error) {
	if !r.First.IsValid() || r.First.Year < 2000 || r.First.Year > 2199 {
		return nil, fault.Invalid(field+".from", "expected a date between 2000 and 2199, such as 2027-03-14")
	}
	if !r.Last.IsValid() || r.Last.Year > 2199 {
		return nil, fault.Invalid(field+".to", "expected a date between 2000 and 2199, such as 2027-03-14")
	}
	if r.Last.Before(r.First) {
		return nil, fault.Invalid(field+".to", "expected a date not before from %s, got %s", r.First, r.Last)
	}
	if days := r.Last.DaysSince(r.First) + 1; days > MaxNightsPerEdit {
		return nil, fault.Invalid(field+".to", "at most %d nights can be named at once, got %d", MaxNightsPerEdit, days)
	}
	var dates []civil.Date
	for night := r.First; !night.After(r.Last); night = night.AddDays(1) {
		if len(r.Weekdays) == 0 || slices.Contains(r.Weekdays, night.Weekday()) {
			dates = append(dates, night)
		}
	}
	if len(dates) == 0 {
		return nil, fault.Invalid(field+".weekdays", "no night of the range falls on these weekdays")
	}
	return dates, nil
}

// NightChange is what to set on a night; nil leaves it. A night that does not exist yet needs
// Physical. The length-of-stay rules take 0 as "no rule".
type NightChange struct {
	// Physical is how many rooms of the type there are.
	Physical *int64
	// OutOfOrder is how many of them cannot be sold.
	OutOfOrder *int64
	// Oversell is how many more than there are may be sold.
	Oversell          *int64
	StopSell          *bool
	ClosedToArrival   *bool
	ClosedToDeparture *bool
	MinStayArrival    *int64
	MaxStayArrival    *int64
	MinStayThrough    *int64
	MaxStayThrough    *int64
	// RateMinor is the price of one room on the night, in minor units of the property's currency.
	RateMinor *int64
}

// DatedChange is a change of one night, as a CSV file has it.
type DatedChange struct {
	Night  civil.Date
	Change NightChange
}

// NightsSet is what an edit did.
type NightsSet struct {
	// Nights is how many nights were written.
	Nights int
	// Oversold lists nights that are now sold above their limit. They stay sold, and sell nothing
	// more until they are below it.
	Oversold []OversoldNight
}

// OversoldNight is a night with more sold than its limit.
type OversoldNight struct {
	Night     civil.Date
	SellLimit int64
	Taken     int64
}

// CreateRoomType adds a room type to a property.
func (s *Service) CreateRoomType(ctx context.Context, actor tenants.Actor, requestKey string, input NewRoomType) (RoomTypeID, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRoomTypeCreate, "property", input.Property.Region, input.Property.UUID); err != nil {
		return RoomTypeID{}, err
	}
	if err := checkName("name", input.Name); err != nil {
		return RoomTypeID{}, err
	}
	if input.MaxGuests < 1 || input.MaxGuests > 100 {
		return RoomTypeID{}, fault.Invalid("maxGuests", "expected 1 to 100, got %d", input.MaxGuests)
	}
	region := input.Property.Region
	id, err := s.create(ctx, actor, region, "createRoomType", requestKey, input, func(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
		if err := propertyTx(ctx, tx, actor.Tenant, input.Property); err != nil {
			return err
		}
		return dbsqlc.New(tx).RoomTypeInsert(ctx, dbsqlc.RoomTypeInsertParams{
			TenantID: actor.Tenant.UUID, Region: string(region), ID: id, PropertyID: input.Property.UUID,
			Name: input.Name, MaxGuests: input.MaxGuests,
		})
	})
	return RoomTypeID{Region: region, UUID: id}, err
}

// SetNights writes the same change on every night of a range, in one transaction. Nights outside
// the range and everything the change does not name stay as they are.
func (s *Service) SetNights(ctx context.Context, actor tenants.Actor, roomType RoomTypeID, nights NightRange, change NightChange) (NightsSet, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionNightsSet, "room type", roomType.Region, roomType.UUID); err != nil {
		return NightsSet{}, err
	}
	dates, err := nights.dates("nights")
	if err != nil {
		return NightsSet{}, err
	}
	changes := make([]DatedChange, len(dates))
	for i, date := range dates {
		changes[i] = DatedChange{Night: date, Change: change}
	}
	return s.WriteNights(ctx, actor, roomType, changes)
}

// WriteNights writes a change of its own on each night, in one transaction: all or none.
func (s *Service) WriteNights(ctx context.Context, actor tenants.Actor, roomType RoomTypeID, changes []DatedChange) (NightsSet, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionNightsSet, "room type", roomType.Region, roomType.UUID); err != nil {
		return NightsSet{}, err
	}
	if len(changes) < 1 || len(changes) > MaxNightsPerEdit {
		return NightsSet{}, fault.Invalid("nights", "expected 1 to %d nights, got %d", MaxNightsPerEdit, len(changes))
	}
	changes = slices.Clone(changes)
	slices.SortFunc(changes, func(a, b DatedChange) int { return a.Night.Compare(b.Night) })
	for i, change := range changes {
		if i > 0 && changes[i-1].Night == change.Night {
			return NightsSet{}, fault.Invalid("nights", "night %s is named twice", change.Night)
		}
		if err := change.Change.validate(change.Night); err != nil {
			return NightsSet{}, err
		}
	}
	at := placeOf(actor.Tenant, roomType.Region)
	set, err := db.Replayable(ctx, s.db, "inventory.WriteNights", func(ctx context.Context, tx pgx.Tx) (NightsSet, error) {
		return writeNightsTx(ctx, tx, at, roomType.UUID, changes)
	})
	if err == nil {
		for _, table := range []string{"night_plans", "night_rates", "night_counters"} {
			s.noteGrowth(ctx, table, int64(len(changes)))
		}
	}
	return set, err
}

func writeNightsTx(ctx context.Context, tx pgx.Tx, at place, roomType uuid.UUID, changes []DatedChange) (NightsSet, error) {
	queries := dbsqlc.New(tx)
	found, err := queries.RoomTypesForClaim(ctx, dbsqlc.RoomTypesForClaimParams{TenantID: at.tenant, Region: string(at.region), Ids: []uuid.UUID{roomType}})
	if err != nil {
		return NightsSet{}, fmt.Errorf("read the room type: %w", err)
	}
	if len(found) == 0 {
		return NightsSet{}, fault.NotFound("room type")
	}
	nights := make([]civil.Date, len(changes))
	for i, change := range changes {
		nights[i] = change.Night
	}
	rows, err := queries.NightPlansLock(ctx, dbsqlc.NightPlansLockParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: roomType, Nights: nights})
	if err != nil {
		return NightsSet{}, fmt.Errorf("lock night plans: %w", err)
	}
	present := make(map[civil.Date]dbsqlc.NightPlansLockRow, len(rows))
	for _, row := range rows {
		present[row.Night] = row
	}
	plans := dbsqlc.NightPlansSetParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: roomType}
	counters := dbsqlc.NightCountersSetParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: roomType, Bucket: sharedBucket}
	rates := dbsqlc.NightRatesSetParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: roomType}
	for _, change := range changes {
		old, exists := present[change.Night]
		plan, err := merge(old, exists, change)
		if err != nil {
			return NightsSet{}, err
		}
		appendPlan(&plans, plan)
		counters.Nights = append(counters.Nights, plan.Night)
		counters.SellLimits = append(counters.SellLimits, max(0, plan.Physical-plan.OutOfOrder+plan.Oversell-plan.Allotted))
		if change.Change.RateMinor != nil {
			rates.Nights = append(rates.Nights, change.Night)
			rates.Amounts = append(rates.Amounts, *change.Change.RateMinor)
		}
	}
	if _, err := queries.NightPlansSet(ctx, plans); err != nil {
		return NightsSet{}, fmt.Errorf("store night plans: %w", err)
	}
	if len(rates.Nights) > 0 {
		if _, err := queries.NightRatesSet(ctx, rates); err != nil {
			return NightsSet{}, fmt.Errorf("store night rates: %w", err)
		}
	}
	if _, err := queries.NightCountersSet(ctx, counters); err != nil {
		return NightsSet{}, fmt.Errorf("store night counters: %w", err)
	}
	over, err := queries.NightsOverLimit(ctx, dbsqlc.NightsOverLimitParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: roomType, Nights: nights})
	if err != nil {
		return NightsSet{}, fmt.Errorf("read oversold nights: %w", err)
	}
	result := NightsSet{Nights: len(changes)}
	for _, row := range over {
		result.Oversold = append(result.Oversold, OversoldNight{Night: row.Night, SellLimit: row.SellLimit, Taken: row.Taken})
	}
	return result, nil
}

// SetHouseLimit caps the sum over all room types of a property on each night of a range; nil
// removes the cap.
func (s *Service) SetHouseLimit(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, nights NightRange, limit *int64) (NightsSet, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionHouseLimitsSet, "property", property.Region, property.UUID); err != nil {
		return NightsSet{}, err
	}
	dates, err := nights.dates("nights")
	if err != nil {
		return NightsSet{}, err
	}
	if limit != nil && (*limit < 0 || *limit > 1_000_000) {
		return NightsSet{}, fault.Invalid("limit", "expected 0 to 1000000, got %d", *limit)
	}
	at := placeOf(actor.Tenant, property.Region)
	return db.Replayable(ctx, s.db, "inventory.SetHouseLimit", func(ctx context.Context, tx pgx.Tx) (NightsSet, error) {
		if err := propertyTx(ctx, tx, actor.Tenant, property); err != nil {
			return NightsSet{}, err
		}
		queries := dbsqlc.New(tx)
		if limit == nil {
			_, err := queries.HouseCountersRemove(ctx, dbsqlc.HouseCountersRemoveParams{TenantID: at.tenant, Region: string(at.region), PropertyID: property.UUID, Nights: dates})
			return NightsSet{Nights: len(dates)}, err
		}
		if _, err := queries.HouseCountersSet(ctx, dbsqlc.HouseCountersSetParams{
			TenantID: at.tenant, Region: string(at.region), PropertyID: property.UUID, Nights: dates, SellLimit: *limit,
		}); err != nil {
			return NightsSet{}, fmt.Errorf("set house limits: %w", err)
		}
		over, err := queries.HousesOverLimit(ctx, dbsqlc.HousesOverLimitParams{TenantID: at.tenant, Region: string(at.region), PropertyID: property.UUID, Nights: dates})
		if err != nil {
			return NightsSet{}, fmt.Errorf("read oversold houses: %w", err)
		}
		result := NightsSet{Nights: len(dates)}
		for _, row := range over {
			result.Oversold = append(result.Oversold, OversoldNight{Night: row.Night, SellLimit: row.SellLimit, Taken: row.Taken})
		}
		return result, nil
	})
}

func (c NightChange) validate(night civil.Date) error {
	if !night.IsValid() || night.Year < 2000 || night.Year > 2199 {
		return fault.Invalid("night", "expected a date between 2000 and 2199, such as 2027-03-14")
	}
	for _, bound := range []struct {
		field string
		value *int64
		high  int64
	}{
		{"physical", c.Physical, 100_000},
		{"outOfOrder", c.OutOfOrder, 100_000},
		{"oversell", c.Oversell, 100_000},
		{"minStayArrival", c.MinStayArrival, maxStayDays},
		{"maxStayArrival", c.MaxStayArrival, maxStayDays},
		{"minStayThrough", c.MinStayThrough, maxStayDays},
		{"maxStayThrough", c.MaxStayThrough, maxStayDays},
	} {
		if bound.value != nil && (*bound.value < 0 || *bound.value > bound.high) {
			return fault.Invalid(bound.field, "expected 0 to %d, got %d", bound.high, *bound.value)
		}
	}
	if c.RateMinor != nil {
		return checkPrice("rate", *c.RateMinor)
	}
	return nil
}

// merge overlays a change on the plan of a night.
func merge(plan dbsqlc.NightPlansLockRow, exists bool, change DatedChange) (dbsqlc.NightPlansLockRow, error) {
	if !exists && change.Change.Physical == nil {
		return plan, fault.Invalid("physical", "night %s does not exist yet: say how many rooms there are", change.Night)
	}
	plan.Night = change.Night
	c := change.Change
	for _, set := range []struct {
		target *int64
		value  *int64
	}{{&plan.Physical, c.Physical}, {&plan.OutOfOrder, c.OutOfOrder}, {&plan.Oversell, c.Oversell}} {
		if set.value != nil {
			*set.target = *set.value
		}
	}
	for _, set := range []struct {
		target *bool
		value  *bool
	}{{&plan.StopSell, c.StopSell}, {&plan.ClosedToArrival, c.ClosedToArrival}, {&plan.ClosedToDeparture, c.ClosedToDeparture}} {
		if set.value != nil {
			*set.target = *set.value
		}
	}
	for _, set := range []struct {
		target **int64
		value  *int64
	}{
		{&plan.MinStayArrival, c.MinStayArrival},
		{&plan.MaxStayArrival, c.MaxStayArrival},
		{&plan.MinStayThrough, c.MinStayThrough},
		{&plan.MaxStayThrough, c.MaxStayThrough},
	} {
		if set.value != nil {
			*set.target = set.value
		}
	}
	if plan.OutOfOrder > plan.Physical {
		return plan, fault.Invalid("outOfOrder", "night %s: %d rooms out of order are more than its %d rooms", plan.Night, plan.OutOfOrder, plan.Physical)
	}
	if contradict(plan.MinStayArrival, plan.MaxStayArrival) {
		return plan, fault.Invalid("maxStayArrival", "night %s: expected at least minStayArrival %d, got %d", plan.Night, *plan.MinStayArrival, *plan.MaxStayArrival)
	}
	if contradict(plan.MinStayThrough, plan.MaxStayThrough) {
		return plan, fault.Invalid("maxStayThrough", "night %s: expected at least minStayThrough %d, got %d", plan.Night, *plan.MinStayThrough, *plan.MaxStayThrough)
	}
	return plan, nil
}

func contradict(least, most *int64) bool {
	return least != nil && most != nil && *most > 0 && *least > *most
}

func appendPlan(params *dbsqlc.NightPlansSetParams, plan dbsqlc.NightPlansLockRow) {
	params.Nights = append(params.Nights, plan.Night)
	params.Physicals = append(params.Physicals, plan.Physical)
	params.OutOfOrders = append(params.OutOfOrders, plan.OutOfOrder)
	params.Oversells = append(params.Oversells, plan.Oversell)
	params.StopSells = append(params.StopSells, plan.StopSell)
	params.ClosedToArrivals = append(params.ClosedToArrivals, plan.ClosedToArrival)
	params.ClosedToDepartures = append(params.ClosedToDepartures, plan.ClosedToDeparture)
	params.MinStayArrivals = append(params.MinStayArrivals, orZero(plan.MinStayArrival))
	params.MaxStayArrivals = append(params.MaxStayArrivals, orZero(plan.MaxStayArrival))
	params.MinStayThroughs = append(params.MinStayThroughs, orZero(plan.MinStayThrough))
	params.MaxStayThroughs = append(params.MaxStayThroughs, orZero(plan.MaxStayThrough))
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func propertyTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id tenants.PropertyID) error {
	_, err := propertyCurrencyTx(ctx, tx, tenant, id)
	return err
}

// propertyCurrencyTx is in which currency a property sells, if it is the tenant's.
func propertyCurrencyTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id tenants.PropertyID) (money.Currency, error) {
	row, err := dbsqlc.New(tx).PropertyForSetup(ctx, dbsqlc.PropertyForSetupParams{TenantID: tenant.UUID, ID: id.UUID})
	switch {
	case db.IsNoRows(err), err == nil && row.Region != string(id.Region):
		return "", fault.NotFound("property")
	case err != nil:
		return "", fmt.Errorf("read the property: %w", err)
	}
	return money.Currency(row.Currency), nil
}
