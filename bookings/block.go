package bookings

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// The release of a block of seats is told to others, and so it is here, where stock and events meet.

// ReleaseBlock makes the seats of a block for sale through every channel at once. Who holds or has bought
// some of them keeps them. A block that was released before is answered as it is, and nobody is told
// again.
func (s *Service) ReleaseBlock(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.BlockID) error {
	if err := s.authorizePlace(ctx, actor, policies.ActionBlockSet, "seat block", id.Region, id.UUID); err != nil {
		return err
	}
	if err := request.ValidateKey(requestKey); err != nil {
		return err
	}
	fingerprint, err := request.Fingerprint(id.String())
	if err != nil {
		return err
	}
	_, err = db.Replayable(ctx, s.db, "bookings.ReleaseBlock", func(ctx context.Context, tx pgx.Tx) (bool, error) {
		_, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: id.Region, Key: requestKey, Scope: "releaseSeatBlock/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, uuid.New())
		if err != nil || replayed {
			return false, err
		}
		return s.releaseBlockTx(ctx, tx, actor.Tenant, id, actor)
	})
	return err
}

// releaseBlockTx releases a block and tells of it, both or neither, and once.
func (s *Service) releaseBlockTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id inventory.BlockID, by tenants.Actor) (bool, error) {
	block, changed, err := inventory.ReleaseBlockTx(ctx, tx, tenant, id, by)
	if err != nil || !changed {
		return false, err
	}
	// The clock, and not the moment, which may lie back: who reads the feed has read up to the clock.
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return false, err
	}
	return true, s.emitTx(ctx, tx, tenant, id.Region, block.Channel, string(events.KindBlock), id.UUID, block.Version, string(events.TypeBlockReleased), now)
}

// ReleaseDueBlocks writes down, and tells others, that blocks whose moment has come are released: at most
// limit, the longest overdue first. It changes nothing about what can be sold, which the clock alone
// decides. It does not ask for permission: it is the operator's.
func (s *Service) ReleaseDueBlocks(ctx context.Context, limit int) (released int, err error) {
	due, err := inventory.DueBlocks(ctx, s.db, limit)
	if err != nil {
		return 0, err
	}
	var failures []error
	for _, block := range due {
		changed, err := db.Replayable(ctx, s.db, "bookings.ReleaseDueBlock", func(ctx context.Context, tx pgx.Tx) (bool, error) {
			return s.releaseBlockTx(ctx, tx, block.Tenant, block.ID, tenants.Actor{})
		})
		if err != nil {
			// One block that cannot be released must not keep the others.
			failures = append(failures, fmt.Errorf("release the block %s: %w", block.ID, err))
		}
		if changed {
			released++
		}
	}
	return released, errors.Join(failures...)
}
