package waitlist

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/waitlist/internal/dbsqlc"
)

// Join asks for a place in line.
type Join struct {
	// RequestKey makes the command safe to repeat: the same key and content is answered with the same entry.
	RequestKey string
	// Lines are the wish, all or nothing: pools, best available seats or stays, all of one show or hotel.
	Lines []inventory.LineRequest
	// Until is when the buyer stops waiting; nil waits as long as there is something to wait for.
	Until *time.Time
}

// sameWish ends a join of a buyer who waits for the same already.
type sameWish struct{ entry EntryID }

// Error says so.
func (sameWish) Error() string { return "the buyer waits for the same already" }

// Join puts a buyer's wish at the end of the line of its show or hotel. A wish that could not be held even
// if there were units is refused as the hold would be. Who waits for the same already is answered with
// that entry. What is free is offered at once.
//
// An entry waits until the sale of the show ends, or the day of arrival is over, or until the moment that
// the buyer said; and no longer than the guest's session, for nobody else could buy what is offered.
func (s *Service) Join(ctx context.Context, actor tenants.Actor, input Join) (Entry, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionWaitingListJoin, actor.Tenant)); err != nil {
		return Entry{}, err
	}
	buyer, ok := actor.Buyer()
	if !ok {
		return Entry{}, fault.Unauthenticated("a waiting list needs a buyer: send the header Holdfast-Session with a token of startGuestSession")
	}
	if err := request.ValidateKey(input.RequestKey); err != nil {
		return Entry{}, err
	}
	wanted, err := s.stock.JudgeWish(ctx, actor, policies.ActionWaitingListJoin, input.Lines)
	if err != nil {
		return Entry{}, err
	}
	p, err := newPlace(actor, buyer, input, wanted)
	if err != nil {
		return Entry{}, err
	}
	id, err := s.join(ctx, p)
	var same sameWish
	if errors.As(err, &same) {
		// Unless it is over and nobody has written that down.
		if id, err = same.entry, nil; s.settleOne(ctx, actor.Tenant, id) {
			id, err = s.join(ctx, p)
		}
	}
	if err != nil {
		return Entry{}, refused(err)
	}
	s.lookSoon(ctx, actor.Tenant, p.scope)
	return s.get(ctx, actor.Tenant, id)
}

// placeInLine is what Join stores.
type placeInLine struct {
	actor tenants.Actor
	buyer tenants.Buyer
	input Join
	scope Scope
	ends  time.Time
	id    EntryID
	lines []byte
	// wish tells wishes of one buyer apart, request what the request key stands for.
	wish, request []byte
}

func newPlace(actor tenants.Actor, buyer tenants.Buyer, input Join, wanted inventory.Wanted) (placeInLine, error) {
	scope := Scope{Show: wanted.Show, Property: wanted.Property}
	p := placeInLine{actor: actor, buyer: buyer, input: input, scope: scope, ends: wanted.Ends, id: EntryID{Region: scope.region(), UUID: uuid.New()}}
	var err error
	if p.lines, err = encodeLines(input.Lines); err != nil {
		return p, err
	}
	wish := struct {
		Lines []inventory.LineRequest
		Key   string
	}{Lines: input.Lines}
	if buyer.Kind == tenants.BuyerKindKey {
		// A seller's own key waits for many people, who may wish for the same.
		wish.Key = input.RequestKey
	}
	if p.wish, err = request.Fingerprint(wish); err != nil {
		return p, err
	}
	p.request, err = request.Fingerprint(input)
	return p, err
}

func (s *Service) join(ctx context.Context, p placeInLine) (EntryID, error) {
	return db.Replayable(ctx, s.db, "waitlist.Join", func(ctx context.Context, tx pgx.Tx) (EntryID, error) {
		tenant, region := p.actor.Tenant.UUID, string(p.scope.region())
		earlier, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: tenant, Region: p.scope.region(), Key: p.input.RequestKey, Scope: "joinWaitingList/" + string(p.buyer.Kind) + "/" + p.buyer.ID.String(),
		}, p.request, p.id.UUID)
		if err != nil {
			return EntryID{}, err
		}
		if replayed {
			return EntryID{Region: p.scope.region(), UUID: earlier}, nil
		}
		queries := dbsqlc.New(tx)
		ends, err := p.endsTx(ctx, queries)
		if err != nil {
			return EntryID{}, err
		}
		list, err := queries.ListNext(ctx, dbsqlc.ListNextParams{TenantID: tenant, Region: region, ScopeID: p.scope.id()})
		if db.IsNoRows(err) || err == nil && !list.IsOpen {
			return EntryID{}, inventory.RefuseBy(inventory.RefusalWaitingListClosed)
		}
		if err != nil {
			return EntryID{}, fmt.Errorf("take a place in line: %w", err)
		}
		if err := p.judgeTx(ctx, queries, list.MaxEntries); err != nil {
			return EntryID{}, err
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return EntryID{}, err
		}
		if !ends.After(now) {
			return EntryID{}, fault.Invalid("until", "expected a moment to come, and before there is nothing to wait for any more")
		}
		if err := queries.EntryInsert(ctx, dbsqlc.EntryInsertParams{
			TenantID: tenant, Region: region, ID: p.id.UUID, ScopeID: p.scope.id(), Number: list.LastNumber, ChannelID: p.actor.Channel.UUID,
			BuyerKind: string(p.buyer.Kind), BuyerID: p.buyer.ID, Lines: p.lines, Fingerprint: p.wish, JoinedAt: now, ExpiresAt: ends,
		}); err != nil {
			return EntryID{}, fmt.Errorf("store an entry of a waiting list: %w", err)
		}
		return p.id, nil
	})
}

// endsTx is until when the entry waits.
func (p placeInLine) endsTx(ctx context.Context, queries *dbsqlc.Queries) (time.Time, error) {
	ends := p.ends
	if until := p.input.Until; until != nil && until.Before(ends) {
		ends = until.Truncate(time.Microsecond)
	}
	if p.actor.Session.IsZero() {
		return ends, nil
	}
	session := p.actor.Session
	rows, err := queries.SessionEnds(ctx, dbsqlc.SessionEndsParams{TenantID: p.actor.Tenant.UUID, Region: string(session.Region), ID: session.UUID})
	if err != nil {
		return ends, fmt.Errorf("read when the session ends: %w", err)
	}
	if len(rows) > 0 && rows[0].Before(ends) {
		ends = rows[0]
	}
	return ends, nil
}

// judgeTx refuses what is one too many, under the list's lock.
func (p placeInLine) judgeTx(ctx context.Context, queries *dbsqlc.Queries, most int64) error {
	tenant, region := p.actor.Tenant.UUID, string(p.scope.region())
	same, err := queries.EntryOfWish(ctx, dbsqlc.EntryOfWishParams{TenantID: tenant, Region: region, BuyerID: p.buyer.ID, Fingerprint: p.wish})
	if err != nil {
		return fmt.Errorf("look for an entry of the same wish: %w", err)
	}
	if len(same) > 0 {
		return sameWish{entry: EntryID{Region: p.scope.region(), UUID: same[0]}}
	}
	live, err := queries.EntriesLive(ctx, dbsqlc.EntriesLiveParams{TenantID: tenant, Region: region, ScopeID: p.scope.id(), BuyerID: p.buyer.ID})
	if err != nil {
		return fmt.Errorf("count the entries of a waiting list: %w", err)
	}
	switch {
	case live.OfList >= most:
		return inventory.RefuseBy(inventory.RefusalWaitingListFull)
	case p.buyer.Kind == tenants.BuyerKindGuest && live.OfBuyer >= entriesPerGuest:
		return inventory.RefuseBy(inventory.RefusalWaitingListLimit)
	}
	return nil
}

// refused turns what package request and the database say into what buyers are told.
func refused(err error) error {
	switch {
	case errors.Is(err, request.ErrKeyReused):
		return inventory.RefuseBy(inventory.RefusalRequestKeyReused)
	case errors.Is(err, db.ErrContention):
		return inventory.Busy()
	}
	return err
}
