package inventory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// BlockState says whether a block still keeps its seats from others.
type BlockState string

// The states of a block. None leads back.
const (
	// BlockStateActive: its seats are sold through its channel only, or through none.
	BlockStateActive BlockState = "ACTIVE"
	// BlockStateReleased: its seats are for sale through every channel, and it has none any more.
	BlockStateReleased BlockState = "RELEASED"
)

// ReleasedBy says who released a block.
type ReleasedBy string

// Who releases blocks.
const (
	// ReleasedByMoment: its moment had come.
	ReleasedByMoment ReleasedBy = "MOMENT"
	// ReleasedByCommand: somebody who may did.
	ReleasedByCommand ReleasedBy = "COMMAND"
)

// SeatBlock is seats of a show that are set aside: for one channel, or as house seats that no channel
// sells. A seat is in at most one block.
type SeatBlock struct {
	ID   BlockID
	Show ShowID
	// Channel sells the seats; zero for house seats.
	Channel tenants.ChannelID
	// Reason is why seats are the house's; it may be empty for a channel's.
	Reason string
	Note   string
	State  BlockState
	// ReleaseAt is the instant from which the seats are for sale through every channel, whether or not
	// anybody has released the block; nil is never.
	ReleaseAt  *time.Time
	ReleasedAt *time.Time
	// ReleasedBy is empty while the block stands.
	ReleasedBy ReleasedBy
	Version    int64
	CreatedAt  time.Time
	// Free, Held and Sold count its seats, at AsOf. A seat that somebody held or had bought when it joined
	// counts as that, whoever sold it.
	Free, Held, Sold int64
	AsOf             time.Time
}

// stateAt is the state in which a block stands at an instant: one whose moment has come is released,
// whether or not that is written.
func (b SeatBlock) stateAt(now time.Time) BlockState {
	if b.State == BlockStateActive && b.ReleaseAt != nil && !now.Before(*b.ReleaseAt) {
		return BlockStateReleased
	}
	return b.State
}

// BlockChangeKind says what was done with a block.
type BlockChangeKind string

// The kinds of change of a block.
const (
	BlockCreated       BlockChangeKind = "CREATED"
	BlockAssigned      BlockChangeKind = "ASSIGNED"
	BlockMovedIn       BlockChangeKind = "MOVED_IN"
	BlockMovedOut      BlockChangeKind = "MOVED_OUT"
	BlockSeatsReleased BlockChangeKind = "SEATS_RELEASED"
	BlockChanged       BlockChangeKind = "CHANGED"
	BlockReleased      BlockChangeKind = "RELEASED"
	// BlockOverridden: staff of another channel have held seats of it.
	BlockOverridden BlockChangeKind = "OVERRIDDEN"
)

// BlockChange is one thing that was done with a block. Such rows are only added.
type BlockChange struct {
	ID   uuid.UUID
	Kind BlockChangeKind
	// Seats is how many seats it was about; 0 when it was about the block itself.
	Seats int64
	// Other is the block that seats were moved from or to, or nil.
	Other *BlockID
	// Hold took seats across the block, or is nil.
	Hold *HoldID
	// Actor is the public id of the key or the member that did it; "" when the block's moment had come.
	// Key is the key, or zero.
	Actor string
	Key   tenants.KeyID
	Note  string
	At    time.Time
}

// BlockCursor is where a page of blocks or of their changes ended.
type BlockCursor struct {
	At time.Time
	ID uuid.UUID
}

// SeatBlock reads one block. Partners see those of their own channel; for everybody else's the answer
// is that there is none.
func (s *Service) SeatBlock(ctx context.Context, actor tenants.Actor, id BlockID) (SeatBlock, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionBlockRead, "seat block", id.Region, id.UUID); err != nil {
		return SeatBlock{}, err
	}
	at := placeOf(actor.Tenant, id.Region)
	blocks, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]SeatBlock, error) {
		rows, err := dbsqlc.New(tx).BlocksByID(ctx, dbsqlc.BlocksByIDParams{TenantID: at.tenant, Region: string(at.region), Ids: []uuid.UUID{id.UUID}})
		if err != nil {
			return nil, fmt.Errorf("read a block: %w", err)
		}
		return blocksOf(ctx, tx, at, rows)
	})
	if err != nil {
		return SeatBlock{}, db.Classify(err)
	}
	if len(blocks) == 0 || !maySeeBlock(actor, blocks[0]) {
		return SeatBlock{}, fault.NotFound("seat block")
	}
	return blocks[0], nil
}

// maySeeBlock reports whether an actor who may see blocks may see this one.
func maySeeBlock(actor tenants.Actor, block SeatBlock) bool {
	return actor.KeyType != tenants.KeyTypePartner || block.Channel == actor.Channel
}

// SeatBlocks lists the blocks of a show from the oldest, at most limit after the cursor, and says
// whether more follow. Partners see those of their own channel.
func (s *Service) SeatBlocks(ctx context.Context, actor tenants.Actor, show ShowID, after *BlockCursor, limit int) ([]SeatBlock, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionBlockRead, "show", show.Region, show.UUID); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	at := placeOf(actor.Tenant, show.Region)
	params := dbsqlc.BlocksPageParams{
		TenantID: at.tenant, Region: string(at.region), ShowID: show.UUID, AfterCreatedAt: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
		MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	}
	if actor.KeyType == tenants.KeyTypePartner {
		params.OneChannel, params.ChannelID = true, actor.Channel.UUID
	}
	if after != nil {
		params.AfterCreatedAt, params.AfterID = after.At, after.ID
	}
	more := false
	blocks, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]SeatBlock, error) {
		if err := showTx(ctx, tx, at, show.UUID); err != nil {
			return nil, err
		}
		rows, err := dbsqlc.New(tx).BlocksPage(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("list blocks: %w", err)
		}
		if more = len(rows) > limit; more {
			rows = rows[:limit]
		}
		same := make([]dbsqlc.BlocksByIDRow, len(rows))
		for i, row := range rows {
			same[i] = dbsqlc.BlocksByIDRow(row)
		}
		return blocksOf(ctx, tx, at, same)
	})
	return blocks, more, db.Classify(err)
}

// SeatsOfBlock lists the seats of a block by their ids, at most limit after the given one, and says
// whether more follow. A released block has none.
func (s *Service) SeatsOfBlock(ctx context.Context, actor tenants.Actor, id BlockID, after SeatID, limit int) ([]SeatState, bool, error) {
	block, err := s.SeatBlock(ctx, actor, id)
	if err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > maxSeatsNamed {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", maxSeatsNamed, limit)
	}
	if block.State == BlockStateReleased {
		return nil, false, nil
	}
	rows, err := dbsqlc.New(s.db.Pool()).BlockSeatsPage(ctx, dbsqlc.BlockSeatsPageParams{
		TenantID: actor.Tenant.UUID, Region: string(id.Region), ShowID: block.Show.UUID, BlockID: id.UUID, AfterID: after.UUID, AsOf: block.AsOf,
		MaxRows: int32(limit + 1), //nolint:gosec // at most maxSeatsNamed
	})
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list the seats of a block: %w", err))
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	seats := make([]SeatState, len(rows))
	for i, row := range rows {
		seats[i] = SeatState{
			Seat: SeatID{Region: id.Region, UUID: row.SeatID}, PriceLevel: PriceLevelID{Region: id.Region, UUID: row.PriceLevelID}, Status: SeatStatus(row.State),
		}
		if row.Due {
			seats[i].Status = SeatStatusAvailable
		}
	}
	return seats, more, nil
}

// ChangesOfBlock lists what was done with a block from the first, at most limit after the cursor, and
// says whether more follow. It is for those who may change blocks: a partner is not told who did.
func (s *Service) ChangesOfBlock(ctx context.Context, actor tenants.Actor, id BlockID, after *BlockCursor, limit int) ([]BlockChange, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionBlockSet, "seat block", id.Region, id.UUID); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	params := dbsqlc.BlockChangesPageParams{
		TenantID: actor.Tenant.UUID, Region: string(id.Region), BlockID: id.UUID, AfterChangedAt: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
		MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	}
	if after != nil {
		params.AfterChangedAt, params.AfterID = after.At, after.ID
	}
	rows, err := dbsqlc.New(s.db.Pool()).BlockChangesPage(ctx, params)
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list the changes of a block: %w", err))
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	by := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		if row.KeyID != nil {
			by[i] = *row.KeyID
		}
	}
	acted, err := tenants.WhoActed(ctx, s.db.Pool(), actor.Tenant, by)
	if err != nil {
		return nil, false, db.Classify(err)
	}
	changes := make([]BlockChange, len(rows))
	for i, row := range rows {
		change := BlockChange{ID: row.ID, Kind: BlockChangeKind(row.Kind), Seats: row.Seats, Note: row.Note, At: row.ChangedAt}
		if row.OtherID != nil {
			change.Other = &BlockID{Region: id.Region, UUID: *row.OtherID}
		}
		if row.HoldID != nil {
			change.Hold = &HoldID{Region: id.Region, UUID: *row.HoldID}
		}
		change.Actor, change.Key = acted.Actor(by[i]), acted.Key(by[i])
		changes[i] = change
	}
	return changes, more, nil
}

// blocksOf adds to the rows of blocks of one show what is left of each.
func blocksOf(ctx context.Context, tx pgx.Tx, at place, rows []dbsqlc.BlocksByIDRow) ([]SeatBlock, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	now, err := Now(ctx, tx)
	if err != nil {
		return nil, err
	}
	blocks := make([]SeatBlock, len(rows))
	standing := map[uuid.UUID]*SeatBlock{}
	var wanted []uuid.UUID
	for i, row := range rows {
		blocks[i] = blockOf(at, row)
		blocks[i].AsOf = now
		if blocks[i].State = blocks[i].stateAt(now); blocks[i].State == BlockStateActive {
			standing[row.ID] = &blocks[i]
			wanted = append(wanted, row.ID)
		}
	}
	counts, err := dbsqlc.New(tx).BlockCounts(ctx, dbsqlc.BlockCountsParams{
		TenantID: at.tenant, Region: string(at.region), ShowID: rows[0].ShowID, BlockIds: wanted, AsOf: now,
	})
	if err != nil {
		return nil, fmt.Errorf("count the seats of blocks: %w", err)
	}
	for _, row := range counts {
		block := standing[row.BlockID]
		block.Free, block.Held, block.Sold = row.Free, row.Held, row.Sold
	}
	return blocks, nil
}

func blockOf(at place, row dbsqlc.BlocksByIDRow) SeatBlock {
	block := SeatBlock{
		ID: BlockID{Region: at.region, UUID: row.ID}, Show: ShowID{Region: at.region, UUID: row.ShowID}, Reason: row.Reason, Note: row.Note,
		State: BlockState(row.State), ReleaseAt: row.ReleaseAt, ReleasedAt: row.ReleasedAt, Version: row.Version, CreatedAt: row.CreatedAt,
	}
	if row.ChannelID != nil {
		block.Channel = tenants.ChannelID{UUID: *row.ChannelID}
	}
	if row.ReleasedBy != nil {
		block.ReleasedBy = ReleasedBy(*row.ReleasedBy)
	}
	return block
}
