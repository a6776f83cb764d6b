package inventory

import (
	"context"
	"fmt"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// checkPlanChange names the first field of a change that is not a rate plan's.
func (c NightChange) checkPlanChange() error {
	for _, field := range []struct {
		name  string
		named bool
	}{
		{"physical", c.Physical != nil},
		{"outOfOrder", c.OutOfOrder != nil},
		{"oversell", c.Oversell != nil},
		{"oversellPercent", c.OversellPercent != nil},
		{"houseLimit", c.HouseLimit != nil},
		{"noHouseLimit", c.NoHouseLimit},
	} {
		if field.named {
			return fault.Invalid(field.name, "expected only the rate and restrictions with ratePlan: rooms are the room type's or the hotel's, however they are sold")
		}
	}
	return nil
}

// planOfEdit says what is wrong with the rate plan of an edit, where it has one.
func planOfEdit(plan RatePlan, t target, change NightChange) error {
	switch {
	case plan.Property.UUID != t.property:
		return fault.Invalid("ratePlan", "the rate plan is of another hotel")
	case change.RateMinor != nil && plan.Derivation.Kind != "":
		return fault.Invalid("rate", "the prices of rate plan %s are derived from others; set those, or its derivation", plan.Code)
	}
	return nil
}

// writePlanNightsTx writes the same change on nights of a rate plan, for one room type.
func writePlanNightsTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, author tenants.Author, t target, room uuid.UUID, dates []civil.Date, change NightChange) error {
	queries := dbsqlc.New(tx)
	id := RatePlanID{Region: t.at.region, UUID: *t.plan}
	plan, err := ratePlanOf(ctx, tx, tenant, id)
	if err != nil {
		return err
	}
	if err := planOfEdit(plan, t, change); err != nil {
		return err
	}
	rows, err := queries.RatePlanNightsLock(ctx, dbsqlc.RatePlanNightsLockParams{
		TenantID: t.at.tenant, Region: string(t.at.region), RatePlanID: id.UUID, RoomTypeID: room, Nights: dates,
	})
	if err != nil {
		return fmt.Errorf("lock nights of a rate plan: %w", err)
	}
	present := make(map[civil.Date]dbsqlc.RatePlanNightsLockRow, len(rows))
	for _, row := range rows {
		present[row.Night] = row
	}
	params := dbsqlc.RatePlanNightsSetParams{TenantID: t.at.tenant, Region: string(t.at.region), RatePlanID: id.UUID, RoomTypeID: room}
	var before, after nightRuns
	for _, date := range dates {
		old, exists := present[date]
		if exists {
			before.add(plannedOfPlan(old))
		}
		row, err := mergePlanNight(old, date, change)
		if err != nil {
			return err
		}
		addPlanNight(&params, row)
		after.add(plannedOfPlan(row))
	}
	if _, err := queries.RatePlanNightsSet(ctx, params); err != nil {
		return fmt.Errorf("store nights of a rate plan: %w", err)
	}
	type nightsOfRoom struct {
		RoomType RoomTypeID
		Nights   nightRuns
	}
	roomType := RoomTypeID{Region: t.at.region, UUID: room}
	return tenants.AuditAsTx(ctx, tx, tenant, author, tenants.Change{
		Action: actionOf([]DatedChange{{Change: change}}), Resource: id,
		Before: nightsOfRoom{roomType, before}, After: nightsOfRoom{roomType, after},
	})
}

// mergePlanNight overlays a change on what a rate plan says of a night.
func mergePlanNight(row dbsqlc.RatePlanNightsLockRow, night civil.Date, c NightChange) (dbsqlc.RatePlanNightsLockRow, error) {
	row.Night = night
	if c.RateMinor != nil {
		row.AmountMinor = c.RateMinor
	}
	for _, set := range []struct {
		target **bool
		value  *bool
	}{{&row.StopSell, c.StopSell}, {&row.ClosedToArrival, c.ClosedToArrival}, {&row.ClosedToDeparture, c.ClosedToDeparture}} {
		if set.value != nil {
			*set.target = set.value
		}
	}
	for _, set := range []struct {
		target **int64
		value  *int64
	}{
		{&row.MinStayArrival, c.MinStayArrival},
		{&row.MaxStayArrival, c.MaxStayArrival},
		{&row.MinStayThrough, c.MinStayThrough},
		{&row.MaxStayThrough, c.MaxStayThrough},
	} {
		if set.value != nil {
			*set.target = set.value
		}
	}
	if contradict(row.MinStayArrival, row.MaxStayArrival) {
		return row, fault.Invalid("maxStayArrival", "night %s: expected at least minStayArrival %d, got %d", night, *row.MinStayArrival, *row.MaxStayArrival)
	}
	if contradict(row.MinStayThrough, row.MaxStayThrough) {
		return row, fault.Invalid("maxStayThrough", "night %s: expected at least minStayThrough %d, got %d", night, *row.MinStayThrough, *row.MaxStayThrough)
	}
	return row, nil
}

func addPlanNight(p *dbsqlc.RatePlanNightsSetParams, row dbsqlc.RatePlanNightsLockRow) {
	amount := int64(-1)
	if row.AmountMinor != nil {
		amount = *row.AmountMinor
	}
	is := func(flag *bool) bool { return flag != nil && *flag }
	p.Nights = append(p.Nights, row.Night)
	p.Amounts = append(p.Amounts, amount)
	p.StopSells = append(p.StopSells, is(row.StopSell))
	p.ClosedToArrivals = append(p.ClosedToArrivals, is(row.ClosedToArrival))
	p.ClosedToDepartures = append(p.ClosedToDepartures, is(row.ClosedToDeparture))
	p.MinStayArrivals = append(p.MinStayArrivals, orZero(row.MinStayArrival))
	p.MaxStayArrivals = append(p.MaxStayArrivals, orZero(row.MaxStayArrival))
	p.MinStayThroughs = append(p.MinStayThroughs, orZero(row.MinStayThrough))
	p.MaxStayThroughs = append(p.MaxStayThroughs, orZero(row.MaxStayThrough))
}

func plannedOfPlan(row dbsqlc.RatePlanNightsLockRow) plannedNight {
	return plannedNight{
		From: row.Night, StopSell: row.StopSell, ClosedToArrival: row.ClosedToArrival, ClosedToDeparture: row.ClosedToDeparture,
		MinStayArrival: row.MinStayArrival, MaxStayArrival: row.MaxStayArrival, MinStayThrough: row.MinStayThrough, MaxStayThrough: row.MaxStayThrough,
		RateMinor: row.AmountMinor,
	}
}

// rehearsePlan merges a change with what a rate plan says, and writes nothing.
func rehearsePlan(ctx context.Context, tx pgx.Tx, t target, dates []civil.Date, change NightChange) error {
	for _, room := range t.rooms {
		rows, err := dbsqlc.New(tx).RatePlanNightsOf(ctx, dbsqlc.RatePlanNightsOfParams{
			TenantID: t.at.tenant, Region: string(t.at.region), RatePlanID: *t.plan, RoomTypeID: room, FirstNight: dates[0], LastNight: dates[len(dates)-1],
		})
		if err != nil {
			return fmt.Errorf("read nights of a rate plan: %w", err)
		}
		present := make(map[civil.Date]dbsqlc.RatePlanNightsLockRow, len(rows))
		for _, row := range rows {
			present[row.Night] = dbsqlc.RatePlanNightsLockRow(row)
		}
		for _, date := range dates {
			if _, err := mergePlanNight(present[date], date, change); err != nil {
				return err
			}
		}
	}
	return nil
}

// aimAtPlan turns an edit of room types to the nights of its rate plan.
func (s *Service) aimAtPlan(ctx context.Context, actor tenants.Actor, t *target, edit NightsEdit) error {
	if edit.RatePlan.Region != t.at.region {
		return fault.NotFound("rate plan")
	}
	plan, err := ratePlanOf(ctx, s.db.Pool(), actor.Tenant, *edit.RatePlan)
	if err != nil {
		return db.Classify(err)
	}
	t.plan = &edit.RatePlan.UUID
	return planOfEdit(plan, *t, edit.Change)
}
