package bookings

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/ids"
)

// DeleteForTest is one batch of a table's retention.
func DeleteForTest(ctx context.Context, tx pgx.Tx, table Retained, tenant uuid.UUID, region ids.Region, before time.Time, limit int32) (int64, error) {
	return table.delete(ctx, tx, tenant, region, before, limit)
}
