package inventory

import (
	"context"
	"fmt"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// channelPlansTx are the rate plans of a channel that does not sell every one; it is never nil.
func channelPlansTx(ctx context.Context, queries *dbsqlc.Queries, tenant tenants.TenantID, channel tenants.ChannelID) ([]RatePlanID, error) {
	regions, err := queries.PropertyRegions(ctx, tenant.UUID)
	if err != nil {
		return nil, fmt.Errorf("read where hotels are: %w", err)
	}
	rows, err := queries.ChannelRatePlansList(ctx, dbsqlc.ChannelRatePlansListParams{TenantID: tenant.UUID, Regions: regions, ChannelID: channel.UUID})
	if err != nil {
		return nil, fmt.Errorf("list the rate plans of a channel: %w", err)
	}
	plans := make([]RatePlanID, len(rows))
	for i, row := range rows {
		plans[i] = RatePlanID{Region: ids.Region(row.Region), UUID: row.RatePlanID}
	}
	return plans, nil
}

// setChannelPlansTx replaces the rate plans that a channel sells.
func setChannelPlansTx(ctx context.Context, queries *dbsqlc.Queries, tenant tenants.TenantID, sales ChannelSales) error {
	regions, err := queries.PropertyRegions(ctx, tenant.UUID)
	if err != nil {
		return fmt.Errorf("read where hotels are: %w", err)
	}
	if _, err := queries.ChannelRatePlansDelete(ctx, dbsqlc.ChannelRatePlansDeleteParams{TenantID: tenant.UUID, Regions: regions, ChannelID: sales.Channel.UUID}); err != nil {
		return fmt.Errorf("remove the rate plans of a channel: %w", err)
	}
	plans := distinctIDs(sales.RatePlans == nil, sales.RatePlans)
	if len(plans) == 0 {
		return nil
	}
	named, uuids := splitIDs(plans)
	known, err := queries.RatePlansByID(ctx, dbsqlc.RatePlansByIDParams{TenantID: tenant.UUID, Regions: named, Ids: uuids})
	if err != nil {
		return fmt.Errorf("read the rate plans of a channel: %w", err)
	}
	found := make(map[RatePlanID]bool, len(known))
	for _, row := range known {
		found[planFrom(row).ID] = true
	}
	params := dbsqlc.ChannelRatePlansInsertParams{TenantID: tenant.UUID, ChannelID: sales.Channel.UUID}
	for _, plan := range plans {
		if !found[plan] {
			return fault.NotFound("rate plan")
		}
		params.Regions, params.RatePlanIds = append(params.Regions, string(plan.Region)), append(params.RatePlanIds, plan.UUID)
	}
	if _, err := queries.ChannelRatePlansInsert(ctx, params); err != nil {
		return fmt.Errorf("store the rate plans of a channel: %w", err)
	}
	return nil
}
