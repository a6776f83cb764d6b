package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// A seat's row names the block that it is in; whether that block still stands is said by the block's
// own row. A claim asks for it after the seats are locked, and only when a wanted seat is in one: sales
// of a show without blocks pay nothing for them, and a block whose moment has come is as good as none
// although nobody has written it.

// readBlocks reads the blocks that the locked seats are in.
func (b *batch) readBlocks(ctx context.Context, tx pgx.Tx, s *stock) error {
	var wanted []uuid.UUID
	for _, rows := range s.seats {
		for _, row := range rows {
			if row.BlockID != nil {
				wanted = append(wanted, *row.BlockID)
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	slices.SortFunc(wanted, compareUUID)
	rows, err := dbsqlc.New(tx).BlocksForClaim(ctx, dbsqlc.BlocksForClaimParams{
		TenantID: b.at.tenant, Region: string(b.at.region), Ids: slices.Compact(wanted),
	})
	if err != nil {
		return fmt.Errorf("read the blocks of seats: %w", err)
	}
	s.blocks = make(map[uuid.UUID]dbsqlc.BlocksForClaimRow, len(rows))
	for _, row := range rows {
		s.blocks[row.ID] = row
	}
	return nil
}

// keepsFrom reports whether a block keeps its seats from a channel at an instant. House seats are kept
// from everybody.
func keepsFrom(block dbsqlc.BlocksForClaimRow, channel tenants.ChannelID, now time.Time) bool {
	if block.State != string(BlockStateActive) || block.ReleaseAt != nil && !now.Before(*block.ReleaseAt) {
		return false
	}
	return block.ChannelID == nil || *block.ChannelID != channel.UUID
}

// inOtherBlock reports whether a seat is in a block that keeps it from a channel.
func (s stock) inOtherBlock(row dbsqlc.SeatsLockRow, channel tenants.ChannelID, now time.Time) bool {
	if row.BlockID == nil {
		return false
	}
	block, ok := s.blocks[*row.BlockID]
	return ok && keepsFrom(block, channel, now)
}

// closedTo says which seats a wish may not have because of their blocks.
func (s stock) closedTo(w wish, now time.Time) func(dbsqlc.SeatsLockRow) bool {
	return func(row dbsqlc.SeatsLockRow) bool {
		return w.claim.overrideBlock == "" && s.inOtherBlock(row, w.actor.Channel, now)
	}
}

// overriddenBy counts, by block, the seats that a wish gets only because it may override blocks.
func (s stock) overriddenBy(w wish, now time.Time) map[uuid.UUID]int64 {
	if w.claim.overrideBlock == "" || len(s.blocks) == 0 {
		return nil
	}
	seats := map[uuid.UUID]int64{}
	for _, line := range w.claim.lines {
		if line.Seats == nil {
			continue
		}
		for _, seat := range line.Seats.Seats {
			if row := s.seats[line.Seats.Show.UUID][seat]; s.inOtherBlock(row, w.actor.Channel, now) {
				seats[*row.BlockID]++
			}
		}
	}
	return seats
}

// noteOverrides keeps, in the claim's transaction, who has held seats across which block and why.
func (b *batch) noteOverrides(ctx context.Context, tx pgx.Tx, winners []won, now time.Time) error {
	var notes []blockNote
	for _, w := range winners {
		for block, seats := range w.overridden {
			notes = append(notes, blockNote{
				block: block, kind: BlockOverridden, seats: seats, hold: w.wish.hold, actor: w.wish.actor, note: w.wish.claim.overrideBlock,
			})
		}
	}
	return noteBlocks(ctx, tx, b.at, notes, now)
}

// blocksInForce are the blocks of a show that stand at an instant, and the channels that they are for;
// house seats are for the zero id, which is no channel's.
func blocksInForce(ctx context.Context, tx pgx.Tx, show owner, asOf time.Time) (map[uuid.UUID]uuid.UUID, error) {
	rows, err := dbsqlc.New(tx).BlocksOfShowInForce(ctx, dbsqlc.BlocksOfShowInForceParams{
		TenantID: show.tenant, Region: string(show.region), ShowID: show.stock, AsOf: asOf,
	})
	if err != nil {
		return nil, fmt.Errorf("read the blocks of a show: %w", err)
	}
	channels := make(map[uuid.UUID]uuid.UUID, len(rows))
	for _, row := range rows {
		channels[row.ID] = uuid.Nil
		if row.ChannelID != nil {
			channels[row.ID] = *row.ChannelID
		}
	}
	return channels, nil
}
