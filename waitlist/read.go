package waitlist

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/waitlist/internal/dbsqlc"
)

// Entry is an entry for its buyer, the partner through whose channel it came, the tenant's admins, and
// members who may see the list. Asking for one that waits has its list served, when nobody has for a while.
func (s *Service) Entry(ctx context.Context, actor tenants.Actor, id EntryID) (Entry, error) {
	if err := s.mayAsk(actor); err != nil {
		return Entry{}, err
	}
	entry, err := s.get(ctx, actor.Tenant, id)
	if err != nil {
		return Entry{}, err
	}
	if err := s.maySee(ctx, actor, entry); err != nil {
		return Entry{}, err
	}
	if entry.State != StateWaiting || entry.unseen < s.config.LookEvery || !s.lookSoon(ctx, actor.Tenant, entry.Scope) {
		return entry, nil
	}
	return s.get(ctx, actor.Tenant, id)
}

// mayAsk lets through who may have entries and who may see everybody's.
func (s *Service) mayAsk(actor tenants.Actor) error {
	_, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionWaitingListJoin, actor.Tenant))
	if err == nil {
		return nil
	}
	if _, seen := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionWaitingListRead, actor.Tenant)); seen == nil {
		return nil
	}
	return err
}

func (s *Service) maySee(ctx context.Context, actor tenants.Actor, entry Entry) error {
	if actor.KeyType != tenants.KeyTypeMember || actor.Owns(entry.Buyer) {
		if !inventory.MaySee(actor, entry.Buyer, entry.Channel) {
			return fault.NotFound("waiting list entry")
		}
		return nil
	}
	err := s.authorizeAt(ctx, actor, policies.ActionWaitingListRead, entry.Scope)
	if kind := fault.KindOf(err); kind == fault.KindNotFound || kind == fault.KindDenied {
		return fault.NotFound("waiting list entry")
	}
	return err
}

func (s *Service) get(ctx context.Context, tenant tenants.TenantID, id EntryID) (Entry, error) {
	row, err := dbsqlc.New(s.db.Pool()).EntryGet(ctx, dbsqlc.EntryGetParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return Entry{}, fault.NotFound("waiting list entry")
	}
	if err != nil {
		return Entry{}, db.Classify(fmt.Errorf("read entry %s: %w", id, err))
	}
	return entryOf(tenant, id.Region, row)
}

// Mine are a buyer's own entries from the newest, at most limit after the cursor, and whether more follow.
func (s *Service) Mine(ctx context.Context, actor tenants.Actor, region ids.Region, after *Cursor, limit int) ([]Entry, bool, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionWaitingListJoin, actor.Tenant)); err != nil {
		return nil, false, err
	}
	buyer, ok := actor.Buyer()
	if !ok {
		return nil, false, fault.Unauthenticated("entries need a buyer: send the header Holdfast-Session")
	}
	if err := checkPage(limit); err != nil {
		return nil, false, err
	}
	before := Cursor{JoinedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), ID: uuid.Max}
	if after != nil {
		before = *after
	}
	rows, err := dbsqlc.New(s.db.Pool()).EntriesOfBuyerPage(ctx, dbsqlc.EntriesOfBuyerPageParams{
		TenantID: actor.Tenant.UUID, Region: string(region), BuyerID: buyer.ID, BuyerKind: string(buyer.Kind),
		Before: before.JoinedAt, BeforeID: before.ID, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	})
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list a buyer's entries: %w", err))
	}
	return entriesOf(actor.Tenant, region, rows, limit)
}

// Entries are all entries of a list in the order of joining, for its staff: those after the place in line
// that a cursor names, at most limit, and whether more follow.
func (s *Service) Entries(ctx context.Context, actor tenants.Actor, scope Scope, after int64, limit int) ([]Entry, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionWaitingListRead, scope); err != nil {
		return nil, false, err
	}
	if err := checkPage(limit); err != nil {
		return nil, false, err
	}
	rows, err := dbsqlc.New(s.db.Pool()).EntriesOfListPage(ctx, dbsqlc.EntriesOfListPageParams{
		TenantID: actor.Tenant.UUID, Region: string(scope.region()), ScopeID: scope.id(), AfterNumber: after, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	})
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list the entries of a waiting list: %w", err))
	}
	return entriesOf(actor.Tenant, scope.region(), rows, limit)
}

// Number is the entry's place in line, for cursors.
func (e Entry) Number() int64 { return e.number }

func checkPage(limit int) error {
	if limit < 1 || limit > inventory.MaxPage {
		return fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	return nil
}

// entriesOf are at most limit of the rows, and whether there are more.
func entriesOf[R dbsqlc.EntriesOfBuyerPageRow | dbsqlc.EntriesOfListPageRow](tenant tenants.TenantID, region ids.Region, rows []R, limit int) ([]Entry, bool, error) {
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	entries := make([]Entry, len(rows))
	for i, row := range rows {
		entry, err := entryOf(tenant, region, dbsqlc.EntryGetRow(row))
		if err != nil {
			return nil, false, err
		}
		entries[i] = entry
	}
	return entries, more, nil
}
