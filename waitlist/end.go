package waitlist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/waitlist/internal/dbsqlc"
)

// The end of an entry follows from its hold or from the clock, and every reader judges it by them. It is
// written down so that lists stay short.

// endDue writes down the end of at most limit entries.
func (s *Service) endDue(ctx context.Context, tenantIDs []uuid.UUID, regions []string, limit int) error {
	now, err := inventory.Now(ctx, s.db.Pool())
	if err != nil {
		return db.Classify(err)
	}
	due, err := dbsqlc.New(s.db.Pool()).EntriesEnded(ctx, dbsqlc.EntriesEndedParams{
		TenantIds: tenantIDs, Regions: regions, Now: now, MaxEntries: int32(min(limit, 10_000)), //nolint:gosec // bounded here
	})
	if err != nil {
		return db.Classify(fmt.Errorf("list entries that have ended: %w", err))
	}
	type place struct {
		tenant uuid.UUID
		region string
	}
	byPlace := map[place][]uuid.UUID{}
	for _, row := range due {
		at := place{tenant: row.TenantID, region: row.Region}
		byPlace[at] = append(byPlace[at], row.ID)
	}
	var failures []error
	for at, entries := range byPlace {
		for some := range slices.Chunk(entries, endedAtOnce) {
			if _, err := db.Replayable(ctx, s.db, "waitlist.End", func(ctx context.Context, tx pgx.Tx) (int64, error) {
				return endTx(ctx, tx, at.tenant, at.region, some, now)
			}); err != nil {
				failures = append(failures, err)
			}
		}
	}
	return errors.Join(failures...)
}

// endTx writes down what became of some entries, and says of how many.
func endTx(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region string, entries []uuid.UUID, now time.Time) (int64, error) {
	queries := dbsqlc.New(tx)
	expired, err := queries.EntriesExpire(ctx, dbsqlc.EntriesExpireParams{TenantID: tenant, Region: region, Ids: entries, Now: now})
	if err != nil {
		return 0, fmt.Errorf("end entries that have waited in vain: %w", err)
	}
	settled, err := queries.EntriesSettle(ctx, dbsqlc.EntriesSettleParams{TenantID: tenant, Region: region, Ids: entries})
	if err != nil {
		return 0, fmt.Errorf("end entries whose holds have ended: %w", err)
	}
	return expired + settled, nil
}

// settleOne writes down the end of one entry, if it is over, and reports whether it was. An offer whose
// time has passed is given back here when nobody has yet.
func (s *Service) settleOne(ctx context.Context, tenant tenants.TenantID, id EntryID) bool {
	entry, err := s.get(ctx, tenant, id)
	if err != nil || entry.State.Live() {
		return false
	}
	ended, err := db.Replayable(ctx, s.db, "waitlist.EndOne", func(ctx context.Context, tx pgx.Tx) (int64, error) {
		if !entry.Hold.IsZero() {
			hold, err := inventory.LockHold(ctx, tx, tenant, entry.Hold)
			if err != nil {
				return 0, err
			}
			now, err := inventory.Now(ctx, tx)
			if err != nil {
				return 0, err
			}
			if hold.State.Live() && hold.StateAt(now) == inventory.HoldStateExpired {
				if _, err := inventory.ExpireTx(ctx, tx, hold, now); err != nil {
					return 0, err
				}
			}
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return 0, err
		}
		return endTx(ctx, tx, tenant.UUID, string(id.Region), []uuid.UUID{id.UUID}, now)
	})
	if err != nil {
		s.config.Logger.WarnContext(ctx, "ending an entry of a waiting list failed; it is tried again", "error", err)
	}
	return ended > 0
}

// DeleteEntriesTx deletes at most limit entries of a place that ended before an instant.
func DeleteEntriesTx(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region ids.Region, before time.Time, limit int32) (int64, error) {
	n, err := dbsqlc.New(tx).EntriesDelete(ctx, dbsqlc.EntriesDeleteParams{TenantID: tenant, Region: string(region), Before: before, MaxRows: limit})
	if err != nil {
		return 0, fmt.Errorf("delete entries of waiting lists: %w", err)
	}
	return n, nil
}
