package inventory

import (
	"context"
	"fmt"
	"reflect"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// What is sold stays sold, so no limit is refused for being too low: a counter's ceiling is then what
// is taken, which refuses every claim, and each release lowers it until it is the limit again. Edits
// change the bucket that all channels share; what is allotted to a channel is its allotment's.

// writeTargetTx writes one change on the same nights of room types and of their house.
func writeTargetTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, author tenants.Author, t target, dates []civil.Date, change NightChange) (NightsSet, error) {
	var set NightsSet
	if t.plan != nil {
		for _, room := range t.rooms {
			if err := writePlanNightsTx(ctx, tx, tenant, author, t, room, dates, change); err != nil {
				return NightsSet{}, err
			}
			set.Nights += len(dates)
		}
		return set, nil
	}
	if change.setsRooms() {
		changes := make([]DatedChange, len(dates))
		for i, date := range dates {
			changes[i] = DatedChange{Night: date, Change: change}
		}
		for _, room := range t.rooms {
			over, err := writeNightsTx(ctx, tx, tenant, author, t, room, changes)
			if err != nil {
				return NightsSet{}, err
			}
			set.Nights += len(changes)
			set.Oversold = append(set.Oversold, over...)
		}
	}
	if change.setsHouse() {
		over, err := writeHouseTx(ctx, tx, tenant, author, t, dates, change.HouseLimit)
		if err != nil {
			return NightsSet{}, err
		}
		set.Nights += len(dates)
		set.Oversold = append(set.Oversold, over...)
	}
	return set, nil
}

// writeNightsTx writes nights of one room type, and says which of them are now sold above their limit.
// A fault of the change is found before anything is written.
func writeNightsTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, author tenants.Author, t target, room uuid.UUID, changes []DatedChange) ([]OversoldNight, error) {
	queries, at := dbsqlc.New(tx), t.at
	nights := make([]civil.Date, len(changes))
	for i, change := range changes {
		nights[i] = change.Night
	}
	present, err := lockPlans(ctx, queries, at, room, nights)
	if err != nil {
		return nil, err
	}
	rates, err := ratesOf(ctx, queries, at, room, changes)
	if err != nil {
		return nil, err
	}
	w := nightsToWrite{
		plans:    dbsqlc.NightPlansSetParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: room},
		counters: dbsqlc.NightCountersSetParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: room, Bucket: sharedBucket},
		rates:    dbsqlc.NightRatesSetParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: room},
	}
	var before, after nightRuns
	for _, change := range changes {
		old, exists := present[change.Night]
		plan, err := merge(old, exists, change)
		if err != nil {
			return nil, err
		}
		w.add(plan, change.Change.RateMinor)
		rate, priced := rates[change.Night]
		if exists {
			before.add(plannedOf(old, orNil(rate, priced)))
		}
		if change.Change.RateMinor != nil {
			rate, priced = *change.Change.RateMinor, true
		}
		after.add(plannedOf(plan, orNil(rate, priced)))
	}
	if err := w.write(ctx, queries); err != nil {
		return nil, err
	}
	if err := fitNightsTx(ctx, tx, at, room, allottedNights(present, nights)); err != nil {
		return nil, err
	}
	roomType := RoomTypeID{Region: at.region, UUID: room}
	if err := tenants.AuditAsTx(ctx, tx, tenant, author, tenants.Change{
		Action: actionOf(changes), Resource: roomType, Before: before.orNil(), After: after,
	}); err != nil {
		return nil, err
	}
	over, err := queries.NightsOverLimit(ctx, dbsqlc.NightsOverLimitParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: room, Nights: nights})
	if err != nil {
		return nil, fmt.Errorf("read oversold nights: %w", err)
	}
	oversold := make([]OversoldNight, len(over))
	for i, row := range over {
		oversold[i] = OversoldNight{
			Property: tenants.PropertyID{Region: at.region, UUID: t.property}, RoomType: roomType, Night: row.Night,
			SellLimit: row.SellLimit, Held: row.Held, Booked: row.Booked, Excess: row.Excess,
		}
	}
	return oversold, nil
}

func lockPlans(ctx context.Context, queries *dbsqlc.Queries, at place, room uuid.UUID, nights []civil.Date) (map[civil.Date]dbsqlc.NightPlansLockRow, error) {
	rows, err := queries.NightPlansLock(ctx, dbsqlc.NightPlansLockParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: room, Nights: nights})
	if err != nil {
		return nil, fmt.Errorf("lock night plans: %w", err)
	}
	present := make(map[civil.Date]dbsqlc.NightPlansLockRow, len(rows))
	for _, row := range rows {
		present[row.Night] = row
	}
	return present, nil
}

// ratesOf are the rates of the nights whose rate changes, for the log.
func ratesOf(ctx context.Context, queries *dbsqlc.Queries, at place, room uuid.UUID, changes []DatedChange) (map[civil.Date]int64, error) {
	var priced []civil.Date
	for _, change := range changes {
		if change.Change.RateMinor != nil {
			priced = append(priced, change.Night)
		}
	}
	if len(priced) == 0 {
		return nil, nil //nolint:nilnil // no rates are asked for, and a nil map has none
	}
	rows, err := queries.NightRatesOf(ctx, dbsqlc.NightRatesOfParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: room, Nights: priced})
	if err != nil {
		return nil, fmt.Errorf("read night rates: %w", err)
	}
	rates := make(map[civil.Date]int64, len(rows))
	for _, row := range rows {
		rates[row.Night] = row.AmountMinor
	}
	return rates, nil
}

// actionOf is the action by which the log knows an edit: of rates alone, or of nights.
func actionOf(changes []DatedChange) tenants.Action {
	for _, change := range changes {
		if change.Change.setsPlan() {
			return policies.ActionNightsSet
		}
	}
	return policies.ActionRatesSet
}

// nightsToWrite are rows of one room type, one statement a table.
type nightsToWrite struct {
	plans    dbsqlc.NightPlansSetParams
	counters dbsqlc.NightCountersSetParams
	rates    dbsqlc.NightRatesSetParams
}

func (w *nightsToWrite) add(plan dbsqlc.NightPlansLockRow, rate *int64) {
	p := &w.plans
	p.Nights = append(p.Nights, plan.Night)
	p.Physicals = append(p.Physicals, plan.Physical)
	p.OutOfOrders = append(p.OutOfOrders, plan.OutOfOrder)
	p.Oversells = append(p.Oversells, plan.Oversell)
	percent := int64(-1)
	if plan.OversellPercent != nil {
		percent = *plan.OversellPercent
	}
	p.OversellPercents = append(p.OversellPercents, percent)
	p.StopSells = append(p.StopSells, plan.StopSell)
	p.ClosedToArrivals = append(p.ClosedToArrivals, plan.ClosedToArrival)
	p.ClosedToDepartures = append(p.ClosedToDepartures, plan.ClosedToDeparture)
	p.MinStayArrivals = append(p.MinStayArrivals, orZero(plan.MinStayArrival))
	p.MaxStayArrivals = append(p.MaxStayArrivals, orZero(plan.MaxStayArrival))
	p.MinStayThroughs = append(p.MinStayThroughs, orZero(plan.MinStayThrough))
	p.MaxStayThroughs = append(p.MaxStayThroughs, orZero(plan.MaxStayThrough))
	w.counters.Nights = append(w.counters.Nights, plan.Night)
	w.counters.SellLimits = append(w.counters.SellLimits, max(0, plan.Physical-plan.OutOfOrder+plan.Oversell-plan.Allotted))
	if rate != nil {
		w.rates.Nights = append(w.rates.Nights, plan.Night)
		w.rates.Amounts = append(w.rates.Amounts, *rate)
	}
}

func (w *nightsToWrite) write(ctx context.Context, queries *dbsqlc.Queries) error {
	if _, err := queries.NightPlansSet(ctx, w.plans); err != nil {
		return fmt.Errorf("store night plans: %w", err)
	}
	if len(w.rates.Nights) > 0 {
		if _, err := queries.NightRatesSet(ctx, w.rates); err != nil {
			return fmt.Errorf("store night rates: %w", err)
		}
	}
	if _, err := queries.NightCountersSet(ctx, w.counters); err != nil {
		return fmt.Errorf("store night counters: %w", err)
	}
	return nil
}

// writeHouseTx sets or, with nil, takes away the limit of a house.
func writeHouseTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, author tenants.Author, t target, dates []civil.Date, limit *int64) ([]OversoldNight, error) {
	queries, at := dbsqlc.New(tx), t.at
	property := tenants.PropertyID{Region: at.region, UUID: t.property}
	known, err := queries.HouseLimitsOf(ctx, dbsqlc.HouseLimitsOfParams{TenantID: at.tenant, Region: string(at.region), PropertyID: t.property, Nights: dates})
	if err != nil {
		return nil, fmt.Errorf("read house limits: %w", err)
	}
	var before, after nightRuns
	for _, row := range known {
		before.add(plannedNight{From: row.Night, HouseLimit: &row.SellLimit})
	}
	if limit == nil {
		if _, err := queries.HouseCountersRemove(ctx, dbsqlc.HouseCountersRemoveParams{TenantID: at.tenant, Region: string(at.region), PropertyID: t.property, Nights: dates}); err != nil {
			return nil, fmt.Errorf("remove house limits: %w", err)
		}
	} else {
		if _, err := queries.HouseCountersSet(ctx, dbsqlc.HouseCountersSetParams{
			TenantID: at.tenant, Region: string(at.region), PropertyID: t.property, Nights: dates, SellLimit: *limit,
		}); err != nil {
			return nil, fmt.Errorf("set house limits: %w", err)
		}
		for _, date := range dates {
			after.add(plannedNight{From: date, HouseLimit: limit})
		}
	}
	if err := tenants.AuditAsTx(ctx, tx, tenant, author, tenants.Change{
		Action: policies.ActionHouseLimitsSet, Resource: property, Before: before.orNil(), After: after.orNil(),
	}); err != nil {
		return nil, err
	}
	over, err := queries.HousesOverLimit(ctx, dbsqlc.HousesOverLimitParams{TenantID: at.tenant, Region: string(at.region), PropertyID: t.property, Nights: dates})
	if err != nil {
		return nil, fmt.Errorf("read oversold houses: %w", err)
	}
	oversold := make([]OversoldNight, len(over))
	for i, row := range over {
		oversold[i] = OversoldNight{Property: property, Night: row.Night, SellLimit: row.SellLimit, Held: row.Held, Booked: row.Booked, Excess: row.Excess}
	}
	return oversold, nil
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
	switch {
	case c.Oversell != nil:
		plan.OversellPercent = nil
	case c.OversellPercent != nil:
		plan.OversellPercent = c.OversellPercent
	}
	if plan.OversellPercent != nil {
		plan.Oversell = shareOfRooms(plan.Physical-plan.OutOfOrder, *plan.OversellPercent)
	}
	if contradict(plan.MinStayArrival, plan.MaxStayArrival) {
		return plan, fault.Invalid("maxStayArrival", "night %s: expected at least minStayArrival %d, got %d", plan.Night, *plan.MinStayArrival, *plan.MaxStayArrival)
	}
	if contradict(plan.MinStayThrough, plan.MaxStayThrough) {
		return plan, fault.Invalid("maxStayThrough", "night %s: expected at least minStayThrough %d, got %d", plan.Night, *plan.MinStayThrough, *plan.MaxStayThrough)
	}
	return plan, nil
}

// shareOfRooms is so many percent of rooms, rounded down: a hotel of nine rooms that oversells by ten
// percent oversells none.
func shareOfRooms(rooms, percent int64) int64 { return rooms * percent / 100 }

func contradict(least, most *int64) bool {
	return least != nil && most != nil && *most > 0 && *least > *most
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func orNil(n int64, known bool) *int64 {
	if !known {
		return nil
	}
	return &n
}

// plannedNight is what the log of changes says of nights that follow each other and are alike.
type plannedNight struct {
	From, To          civil.Date
	Physical          *int64
	OutOfOrder        *int64
	Oversell          *int64
	OversellPercent   *int64
	StopSell          *bool
	ClosedToArrival   *bool
	ClosedToDeparture *bool
	MinStayArrival    *int64
	MaxStayArrival    *int64
	MinStayThrough    *int64
	MaxStayThrough    *int64
	RateMinor         *int64
	HouseLimit        *int64
}

func plannedOf(plan dbsqlc.NightPlansLockRow, rate *int64) plannedNight {
	return plannedNight{
		From: plan.Night, Physical: &plan.Physical, OutOfOrder: &plan.OutOfOrder, Oversell: &plan.Oversell, OversellPercent: plan.OversellPercent,
		StopSell: &plan.StopSell, ClosedToArrival: &plan.ClosedToArrival, ClosedToDeparture: &plan.ClosedToDeparture,
		MinStayArrival: plan.MinStayArrival, MaxStayArrival: plan.MaxStayArrival, MinStayThrough: plan.MinStayThrough, MaxStayThrough: plan.MaxStayThrough,
		RateMinor: rate,
	}
}

// nightRuns joins nights that follow each other and are alike, so that a year that was the same all
// along is one line of the log.
type nightRuns []plannedNight

func (r *nightRuns) add(night plannedNight) {
	night.To = night.From
	if n := len(*r); n > 0 && (*r)[n-1].To.AddDays(1) == night.From {
		last := &(*r)[n-1]
		same := night
		same.From, same.To = last.From, last.To
		if reflect.DeepEqual(*last, same) {
			last.To = night.From
			return
		}
	}
	*r = append(*r, night)
}

// orNil is nil where there is nothing, so that the log says so.
func (r nightRuns) orNil() any {
	if len(r) == 0 {
		return nil
	}
	return r
}
