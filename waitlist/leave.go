package waitlist

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/waitlist/internal/dbsqlc"
)

// Leave takes an entry out of its list, for its buyer or the partner through whose channel it came. What is
// held for it is released, and so goes to the next. An entry that is over is answered as it is.
func (s *Service) Leave(ctx context.Context, actor tenants.Actor, requestKey string, id EntryID) (Entry, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionWaitingListJoin, actor.Tenant)); err != nil {
		return Entry{}, err
	}
	if err := request.ValidateKey(requestKey); err != nil {
		return Entry{}, err
	}
	entry, err := s.get(ctx, actor.Tenant, id)
	if err != nil {
		return Entry{}, err
	}
	if !mayLeave(actor, entry) {
		return Entry{}, fault.NotFound("waiting list entry")
	}
	if err := s.leave(ctx, actor, requestKey, id); err != nil {
		return Entry{}, refused(err)
	}
	// It may have been offered something before it left.
	if entry, err = s.get(ctx, actor.Tenant, id); err != nil || entry.State != StateOffered {
		return entry, err
	}
	if _, err := s.stock.ReleaseHold(ctx, actor, entry.Hold, requestKey); err != nil {
		return Entry{}, err
	}
	s.settleOne(ctx, actor.Tenant, id)
	s.lookSoon(ctx, actor.Tenant, entry.Scope)
	return s.get(ctx, actor.Tenant, id)
}

func mayLeave(actor tenants.Actor, entry Entry) bool {
	return actor.Owns(entry.Buyer) ||
		actor.Session.IsZero() && actor.KeyType == tenants.KeyTypePartner && actor.Channel == entry.Channel
}

func (s *Service) leave(ctx context.Context, actor tenants.Actor, requestKey string, id EntryID) error {
	fingerprint, err := request.Fingerprint(id.String())
	if err != nil {
		return err
	}
	_, err = db.Replayable(ctx, s.db, "waitlist.Leave", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		_, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: id.Region, Key: requestKey,
			Scope: "leaveWaitingList/" + actor.Key.UUID.String() + "/" + actor.Session.UUID.String(),
		}, fingerprint, id.UUID)
		if err != nil || replayed {
			return struct{}{}, err
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return struct{}{}, err
		}
		if _, err := dbsqlc.New(tx).EntryLeave(ctx, dbsqlc.EntryLeaveParams{
			TenantID: actor.Tenant.UUID, Region: string(id.Region), ID: id.UUID, Now: now,
		}); err != nil {
			return struct{}{}, fmt.Errorf("leave a waiting list: %w", err)
		}
		return struct{}{}, nil
	})
	return err
}
