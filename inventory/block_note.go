package inventory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// blockNote is what is kept of one change of a block. The zero actor is nobody: its moment had come.
type blockNote struct {
	// id is of the change; the zero UUID is given one.
	id                 uuid.UUID
	block, other, hold uuid.UUID
	kind               BlockChangeKind
	seats              int64
	actor              tenants.Actor
	note               string
	// blockReason and blockNote are the block's own, of a change with which seats join it or which sets
	// them.
	blockReason, blockNote string
}

// noteBlocks keeps changes of blocks in the transaction of the changes themselves.
func noteBlocks(ctx context.Context, tx pgx.Tx, at place, notes []blockNote, now time.Time) error {
	if len(notes) == 0 {
		return nil
	}
	for _, n := range notes {
		if n.actor.Tenant.IsZero() {
			continue
		}
		action := policies.ActionBlockSet
		if n.kind == BlockOverridden {
			action = policies.ActionBlockOverride
		}
		if err := tenants.AuditTx(ctx, tx, n.actor, tenants.Change{
			Action: action, Resource: BlockID{Region: at.region, UUID: n.block}, Reason: n.note, After: struct {
				Change BlockChangeKind
				Seats  int64
			}{n.kind, n.seats},
		}); err != nil {
			return err
		}
	}
	params := dbsqlc.BlockChangesInsertParams{TenantID: at.tenant, Region: string(at.region), ChangedAt: now}
	for _, n := range notes {
		if n.id == uuid.Nil {
			n.id = uuid.New()
		}
		params.Ids = append(params.Ids, n.id)
		params.BlockIds = append(params.BlockIds, n.block)
		params.Kinds = append(params.Kinds, string(n.kind))
		params.Seats = append(params.Seats, n.seats)
		params.OtherIds = append(params.OtherIds, n.other)
		params.HoldIds = append(params.HoldIds, n.hold)
		params.KeyIds = append(params.KeyIds, n.actor.Key.UUID)
		params.SessionIds = append(params.SessionIds, n.actor.Session.UUID)
		params.Notes = append(params.Notes, n.note)
		params.BlockReasons = append(params.BlockReasons, n.blockReason)
		params.BlockNotes = append(params.BlockNotes, n.blockNote)
	}
	if _, err := dbsqlc.New(tx).BlockChangesInsert(ctx, params); err != nil {
		return fmt.Errorf("keep what was done with a block: %w", err)
	}
	return nil
}

// seatMoves are seats that came from blocks, or from none where that is the zero UUID.
type seatMoves struct {
	seats, from []uuid.UUID
}

// noteMoves keeps of each seat that one change of blocks has moved where it came from, in one statement
// whatever their number.
func (e blockEnds) noteMoves(ctx context.Context, tx pgx.Tx, change uuid.UUID, moved seatMoves, now time.Time) error {
	if len(moved.seats) == 0 {
		return nil
	}
	params := dbsqlc.SeatMovesInsertParams{
		TenantID: e.at.tenant, Region: string(e.at.region), ShowID: e.show, ChangeID: change, MovedAt: now, SeatIds: moved.seats, FromBlocks: moved.from,
	}
	if e.to != uuid.Nil {
		params.ToBlock = &e.to
	}
	if _, err := dbsqlc.New(tx).SeatMovesInsert(ctx, params); err != nil {
		return fmt.Errorf("keep which seats a block had: %w", err)
	}
	return nil
}
