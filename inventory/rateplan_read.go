package inventory

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// RatePlansByID reads several rate plans; what does not exist is missing in the answer.
func (s *Service) RatePlansByID(ctx context.Context, actor tenants.Actor, wanted []RatePlanID) (map[RatePlanID]RatePlan, error) {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionRoomTypeRead, actor.Tenant))
	if err != nil {
		return nil, err
	}
	found, err := ratePlansOf(ctx, s.db.Pool(), actor.Tenant, wanted)
	if err != nil {
		return nil, db.Classify(err)
	}
	for id, plan := range found {
		if !reach.Covers(tenants.Place{Property: plan.Property.UUID}) {
			delete(found, id)
		}
	}
	return found, nil
}

// RatePlansOfProperties reads the rate plans of several hotels, by code.
func (s *Service) RatePlansOfProperties(ctx context.Context, actor tenants.Actor, properties []tenants.PropertyID) (map[tenants.PropertyID][]RatePlan, error) {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionRoomTypeRead, actor.Tenant))
	if err != nil {
		return nil, err
	}
	regions, uuids := splitIDs(properties)
	rows, err := dbsqlc.New(s.db.Pool()).RatePlansOfProperties(ctx, dbsqlc.RatePlansOfPropertiesParams{TenantID: actor.Tenant.UUID, Regions: regions, PropertyIds: uuids})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read rate plans: %w", err))
	}
	plans := make(map[tenants.PropertyID][]RatePlan, len(properties))
	for _, row := range rows {
		if plan := planFrom(dbsqlc.RatePlansByIDRow(row)); reach.Covers(tenants.Place{Property: row.PropertyID}) {
			plans[plan.Property] = append(plans[plan.Property], plan)
		}
	}
	return plans, nil
}

// ratePlanOf reads one rate plan of the tenant.
func ratePlanOf(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, id RatePlanID) (RatePlan, error) {
	found, err := ratePlansOf(ctx, q, tenant, []RatePlanID{id})
	if err != nil {
		return RatePlan{}, err
	}
	plan, ok := found[id]
	if !ok {
		return RatePlan{}, fault.NotFound("rate plan")
	}
	return plan, nil
}

func ratePlansOf(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, wanted []RatePlanID) (map[RatePlanID]RatePlan, error) {
	regions, uuids := splitIDs(wanted)
	rows, err := dbsqlc.New(q).RatePlansByID(ctx, dbsqlc.RatePlansByIDParams{TenantID: tenant.UUID, Regions: regions, Ids: uuids})
	if err != nil {
		return nil, fmt.Errorf("read rate plans: %w", err)
	}
	plans := make(map[RatePlanID]RatePlan, len(rows))
	for _, row := range rows {
		plan := planFrom(row)
		plans[plan.ID] = plan
	}
	return plans, nil
}

func planFrom(row dbsqlc.RatePlansByIDRow) RatePlan {
	region := ids.Region(row.Region)
	plan := RatePlan{
		ID: RatePlanID{Region: region, UUID: row.ID}, Property: tenants.PropertyID{Region: region, UUID: row.PropertyID},
		Currency: money.Currency(row.Currency), Code: row.Code, Name: row.Name, State: RatePlanState(row.State), Refundable: row.Refundable,
		Derivation: derivationOf(row.DeriveKind, row.DeriveBasisPoints, row.DeriveMinor), CreatedAt: row.CreatedAt,
		Window: BookingWindow{MinAdvanceDays: orZero(row.MinAdvanceDays), MaxAdvanceDays: row.MaxAdvanceDays, Cutoff: (*TimeOfDay)(row.CutoffMinute)},
	}
	if row.ParentID != nil {
		plan.Derivation.Parent = &RatePlanID{Region: region, UUID: *row.ParentID}
	}
	return plan
}

// hotelsOwnWindow is the rate plan by which a hotel's own booking window is stored.
var hotelsOwnWindow = uuid.Nil //nolint:gochecknoglobals // a name for a constant that Go cannot declare
