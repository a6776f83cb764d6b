package inventory

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// The release of a block is one row: from then on no claim and no reader minds it. Its seats forget it
// afterwards, in small transactions, and it makes no difference to anybody when.

// DueBlock names a block whose moment has come.
type DueBlock struct {
	Tenant tenants.TenantID
	ID     BlockID
}

// DueBlocks lists blocks that still have to be written as released, the longest overdue first, at most
// limit, of every tenant. It does not ask for permission: it is the operator's.
func DueBlocks(ctx context.Context, d *db.DB, limit int) ([]DueBlock, error) {
	queries := dbsqlc.New(d.Pool())
	now, err := Now(ctx, d.Pool())
	if err != nil {
		return nil, db.Classify(err)
	}
	tenantIDs, regions, err := sellingPlaces(ctx, queries)
	if err != nil {
		return nil, db.Classify(err)
	}
	rows, err := queries.BlocksDue(ctx, dbsqlc.BlocksDueParams{
		TenantIds: tenantIDs, Regions: regions, Now: now, MaxBlocks: int32(limit), //nolint:gosec // a small constant of the caller
	})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("list due blocks: %w", err))
	}
	due := make([]DueBlock, len(rows))
	for i, row := range rows {
		due[i] = DueBlock{Tenant: tenants.TenantID{UUID: row.TenantID}, ID: BlockID{Region: ids.Region(row.Region), UUID: row.ID}}
	}
	return due, nil
}

func sellingPlaces(ctx context.Context, queries *dbsqlc.Queries) (tenantIDs []uuid.UUID, regions []string, err error) {
	places, err := queries.SellingPlaces(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list where stock lives: %w", err)
	}
	for _, p := range places {
		tenantIDs, regions = append(tenantIDs, p.TenantID), append(regions, p.Region)
	}
	return tenantIDs, regions, nil
}

// ReleaseBlockTx writes that a block is released, once: changed is false when it was before, or when
// nobody asks for it and its moment has not come or was put off. The zero actor is nobody.
func ReleaseBlockTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id BlockID, by tenants.Actor) (block SeatBlock, changed bool, err error) {
	at := placeOf(tenant, id.Region)
	rows, err := lockBlocks(ctx, tx, at, id.UUID)
	if err != nil {
		return SeatBlock{}, false, err
	}
	now, err := Now(ctx, tx)
	if err != nil {
		return SeatBlock{}, false, err
	}
	block = blockOf(at, rows[id.UUID])
	due := block.stateAt(now) == BlockStateReleased
	if block.State == BlockStateReleased || by.Tenant.IsZero() && !due {
		return block, false, nil
	}
	// A command that comes after the moment has nothing left to release.
	block.ReleasedBy = ReleasedByCommand
	released := now
	if due {
		block.ReleasedBy, by, released = ReleasedByMoment, tenants.Actor{}, *block.ReleaseAt
	}
	releasedBy := string(block.ReleasedBy)
	n, err := dbsqlc.New(tx).BlockRelease(ctx, dbsqlc.BlockReleaseParams{
		TenantID: at.tenant, Region: string(at.region), ID: id.UUID, ReleasedAt: &released, ReleasedBy: &releasedBy,
	})
	if err != nil {
		return SeatBlock{}, false, fmt.Errorf("release a block: %w", err)
	}
	if n != 1 {
		return SeatBlock{}, false, fmt.Errorf("release the block %s: it is not %s", id, BlockStateActive)
	}
	block.State, block.ReleasedAt = BlockStateReleased, &released
	block.Version++
	return block, true, noteBlocks(ctx, tx, at, []blockNote{{block: id.UUID, kind: BlockReleased, actor: by}}, now)
}

// ClearReleasedBlocks lets the seats of released blocks forget them, in transactions of unblockBatch
// seats, and says how many it let go. It stops after limit blocks; two at once share the work. Nothing
// waits for it: a released block is none to every claim and reader.
func (s *Service) ClearReleasedBlocks(ctx context.Context, limit int) (seats int64, err error) {
	queries := dbsqlc.New(s.db.Pool())
	tenantIDs, regions, err := sellingPlaces(ctx, queries)
	if err != nil {
		return 0, db.Classify(err)
	}
	rows, err := queries.BlocksUncleared(ctx, dbsqlc.BlocksUnclearedParams{
		TenantIds: tenantIDs, Regions: regions, MaxBlocks: int32(limit), //nolint:gosec // a small constant of the caller
	})
	if err != nil {
		return 0, db.Classify(fmt.Errorf("list released blocks: %w", err))
	}
	for _, row := range rows {
		n, err := s.clearBlock(ctx, place{tenant: row.TenantID, region: ids.Region(row.Region)}, row.ShowID, row.ID)
		seats += n
		if err != nil {
			return seats, err
		}
	}
	return seats, nil
}

// clearBlock lets go of a released block's seats, batch after batch, until none is left.
func (s *Service) clearBlock(ctx context.Context, at place, show, block uuid.UUID) (cleared int64, err error) {
	for {
		// Outside of the transaction that writes: this passes over every seat of the show.
		seats, err := dbsqlc.New(s.db.Pool()).SeatsToUnblock(ctx, dbsqlc.SeatsToUnblockParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: show, BlockID: block, MaxRows: unblockBatch,
		})
		if err != nil {
			return cleared, db.Classify(fmt.Errorf("list the seats of a released block: %w", err))
		}
		n, err := db.Replayable(ctx, s.db, "inventory.ClearBlock", func(ctx context.Context, tx pgx.Tx) (int64, error) {
			return clearBlockTx(ctx, tx, at, show, block, seats)
		})
		cleared += n
		if err != nil || len(seats) == 0 {
			return cleared, err
		}
	}
}

// clearBlockTx lets go of some seats; with none left, the block is cleared.
func clearBlockTx(ctx context.Context, tx pgx.Tx, at place, show, block uuid.UUID, seats []uuid.UUID) (int64, error) {
	queries := dbsqlc.New(tx)
	if len(seats) > 0 {
		// In the order of all claims.
		if _, err := queries.SeatsLock(ctx, dbsqlc.SeatsLockParams{TenantID: at.tenant, Region: string(at.region), ShowID: show, SeatIds: seats}); err != nil {
			return 0, fmt.Errorf("lock the seats of a released block: %w", err)
		}
		n, err := queries.SeatsUnblock(ctx, dbsqlc.SeatsUnblockParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: show, BlockID: block, SeatIds: seats,
		})
		if err != nil {
			return 0, fmt.Errorf("let go of the seats of a released block: %w", err)
		}
		return n, nil
	}
	now, err := Now(ctx, tx)
	if err != nil {
		return 0, err
	}
	if _, err := queries.BlockClear(ctx, dbsqlc.BlockClearParams{TenantID: at.tenant, Region: string(at.region), ID: block, Now: now}); err != nil {
		return 0, fmt.Errorf("note that a block is cleared: %w", err)
	}
	return 0, nil
}
