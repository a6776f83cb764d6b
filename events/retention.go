package events

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/ids"
)

// DeleteDeliveriesTx removes at most limit deliveries of one tenant and region that ended before an
// instant, and says how many.
func DeleteDeliveriesTx(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region ids.Region, before time.Time, limit int32) (int64, error) {
	n, err := dbsqlc.New(tx).DeliveriesDelete(ctx, dbsqlc.DeliveriesDeleteParams{
		TenantID: tenant, Region: string(region), Before: before, MaxRows: int64(limit),
	})
	if err != nil {
		return 0, fmt.Errorf("delete old deliveries: %w", err)
	}
	return n, nil
}

// DeleteEventsTx removes at most limit events of one tenant and region that happened before an
// instant, and says how many. One that nobody has been told of
// yet, is still being delivered, or was not long ago, stays.
func DeleteEventsTx(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region ids.Region, before time.Time, limit int32) (int64, error) {
	n, err := dbsqlc.New(tx).EventsDelete(ctx, dbsqlc.EventsDeleteParams{
		TenantID: tenant, Region: string(region), OccurredBefore: before, MaxRows: int64(limit),
	})
	if err != nil {
		return 0, fmt.Errorf("delete old events: %w", err)
	}
	return n, nil
}
