package inventory

import (
	"context"
	"fmt"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// authorizeConditions is authorizeScope for conditions, which may be a rate plan's.
func (s *Service) authorizeConditions(ctx context.Context, actor tenants.Actor, action tenants.Action, scope ConditionsScope) error {
	if scope.RatePlan != nil {
		return s.authorizeAt(ctx, actor, action, "rate plan", scope.RatePlan.Region, scope.RatePlan.UUID)
	}
	return s.authorizeScope(ctx, actor, action, scope.Show, scope.Venue, scope.Property)
}

// nonRefundablePolicy is that of a rate plan that is not refundable and has none of its own: the whole
// price, at any time.
func nonRefundablePolicy(checkIn TimeOfDay) CancellationPolicy {
	return CancellationPolicy{Name: "Non-refundable", CheckIn: checkIn, Final: FeePercent(maxBasisPoints)}
}

// nonRefundable says which rate plans of some sites are not refundable. Sites without one ask nothing.
func nonRefundable(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, sites []Site) (map[RatePlanID]bool, error) {
	var plans []RatePlanID
	for _, site := range sites {
		if !site.RatePlan.IsZero() {
			plans = append(plans, site.RatePlan)
		}
	}
	if len(plans) == 0 {
		return nil, nil //nolint:nilnil // nobody asked, and a nil map has none
	}
	regions, uuids := splitIDs(plans)
	rows, err := dbsqlc.New(q).RatePlansRefundable(ctx, dbsqlc.RatePlansRefundableParams{TenantID: tenant.UUID, Regions: regions, Ids: uuids})
	if err != nil {
		return nil, fmt.Errorf("read whether rate plans are refundable: %w", err)
	}
	final := make(map[RatePlanID]bool, len(rows))
	for _, row := range rows {
		final[RatePlanID{Region: ids.Region(row.Region), UUID: row.ID}] = !row.Refundable
	}
	return final, nil
}
