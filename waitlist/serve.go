package waitlist

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/waitlist/internal/dbsqlc"
)

// errGone ends an offer to somebody who has left, or was offered something by another process, meanwhile.
var errGone = errors.New("an entry does not wait any more")

// errLater ends a walk in which somebody could not be decided: nobody behind may be, before that.
var errLater = errors.New("too many want the same units at this moment")

// line is the list of a show or hotel that is served.
type line struct {
	tenant tenants.TenantID
	region ids.Region
	scope  uuid.UUID
	offer  time.Duration
}

// ServeDue ends entries that are over, and offers what is free to those who wait, in at most limit lists:
// those at which nobody has looked the longest. It says how many were offered something. It looks at
// state, not at what happened; two processes at once share the work, and running it twice changes nothing.
// It does not ask for permission: it is the operator's.
func (s *Service) ServeDue(ctx context.Context, limit int) (offered int, err error) {
	tenantIDs, regions, err := s.places(ctx)
	if err != nil {
		return 0, err
	}
	return s.serveAt(ctx, tenantIDs, regions, limit)
}

// serveAt is ServeDue for some places.
func (s *Service) serveAt(ctx context.Context, tenantIDs []uuid.UUID, regions []string, limit int) (offered int, err error) {
	failures := []error{s.endDue(ctx, tenantIDs, regions, limit)}
	queries := dbsqlc.New(s.db.Pool())
	now, err := inventory.Now(ctx, s.db.Pool())
	if err != nil {
		return 0, db.Classify(err)
	}
	due, err := queries.ListsToLookAt(ctx, dbsqlc.ListsToLookAtParams{
		TenantIds: tenantIDs, Regions: regions, Before: now.Add(-s.config.LookEvery), MaxLists: int32(min(limit, 10_000)), //nolint:gosec // bounded here
	})
	if err != nil {
		return 0, errors.Join(append(failures, db.Classify(fmt.Errorf("list waiting lists to look at: %w", err)))...)
	}
	for _, row := range due {
		if ctx.Err() != nil {
			break
		}
		n, err := s.look(ctx, line{tenant: tenants.TenantID{UUID: row.TenantID}, region: ids.Region(row.Region), scope: row.ScopeID})
		offered += n
		if err != nil && !errors.Is(err, errLookedAt) {
			// One list that cannot be served must not keep the others.
			failures = append(failures, fmt.Errorf("serve the waiting list of %s: %w", row.ScopeID, err))
		}
	}
	return offered, errors.Join(append(failures, ctx.Err())...)
}

// places are where lists can be.
func (s *Service) places(ctx context.Context) (tenantIDs []uuid.UUID, regions []string, err error) {
	rows, err := dbsqlc.New(s.db.Pool()).ListPlaces(ctx)
	if err != nil {
		return nil, nil, db.Classify(fmt.Errorf("list where waiting lists are: %w", err))
	}
	for _, row := range rows {
		tenantIDs, regions = append(tenantIDs, row.TenantID), append(regions, row.Region)
	}
	return tenantIDs, regions, nil
}

// lookSoon serves a list beside a request that is answered all the same. It reports whether it looked.
func (s *Service) lookSoon(ctx context.Context, tenant tenants.TenantID, scope Scope) bool {
	_, err := s.look(ctx, line{tenant: tenant, region: scope.region(), scope: scope.id()})
	if errors.Is(err, errLookedAt) {
		return false
	}
	if err != nil {
		s.config.Logger.WarnContext(ctx, "serving a waiting list failed; it is tried again", "error", err)
	}
	return true
}

// errLookedAt says that somebody has looked at the list a moment ago, or that it is not open.
var errLookedAt = errors.New("the list was looked at")

// look serves a list when nobody has looked at it for a while.
func (s *Service) look(ctx context.Context, l line) (int, error) {
	now, err := inventory.Now(ctx, s.db.Pool())
	if err != nil {
		return 0, db.Classify(err)
	}
	seconds, err := db.Replayable(ctx, s.db, "waitlist.Look", func(ctx context.Context, tx pgx.Tx) (int64, error) {
		return dbsqlc.New(tx).ListLook(ctx, dbsqlc.ListLookParams{
			TenantID: l.tenant.UUID, Region: string(l.region), ScopeID: l.scope, Now: now, Before: now.Add(-s.config.LookEvery),
		})
	})
	if db.IsNoRows(err) {
		return 0, errLookedAt
	}
	if err != nil {
		return 0, err
	}
	l.offer = time.Duration(seconds) * time.Second
	return s.serve(ctx, l)
}

// serve offers what is free to those who wait in a list, in one pass from the first in line to the last.
func (s *Service) serve(ctx context.Context, l line) (int, error) {
	s.metrics.passes.Inc()
	p := pass{Service: s, line: l, lost: map[string]bool{}}
	for gone := 0; ; {
		rows, err := dbsqlc.New(s.db.Pool()).EntriesInLine(ctx, dbsqlc.EntriesInLineParams{
			TenantID: l.tenant.UUID, Region: string(l.region), ScopeID: l.scope, AfterNumber: p.after, MaxRows: linePage,
		})
		if err != nil {
			return p.offered, db.Classify(fmt.Errorf("read who waits: %w", err))
		}
		if len(rows) == 0 {
			return p.offered, nil
		}
		switch err := p.page(ctx, rows); {
		case errors.Is(err, errGone) && gone < maxStale:
			gone++
		case errors.Is(err, errGone), errors.Is(err, errLater):
			// Somebody else serves this list, or buyers are quicker at this moment.
			return p.offered, nil
		case err != nil:
			return p.offered, err
		}
	}
}

// pass is one walk along a line.
type pass struct {
	*Service
	line
	// after is the place in line up to which everybody was decided.
	after   int64
	offered int
	// lost are wishes for seats that were refused for want of seats: the same wish of another buyer would
	// be refused, too.
	lost map[string]bool
}

// waiting is somebody in line.
type waiting struct {
	inventory.WaitingWish
	entry  uuid.UUID
	number int64
	// shape is the same for the same wish through the same channel.
	shape string
	best  bool
}

func (l line) waitingOf(row dbsqlc.EntriesInLineRow) (waiting, error) {
	lines, err := decodeLines(row.Lines)
	if err != nil {
		return waiting{}, fmt.Errorf("read the wish of entry %s: %w", row.ID, err)
	}
	w := waiting{
		WaitingWish: inventory.WaitingWish{
			Hold: inventory.HoldID{Region: l.region, UUID: uuid.New()}, Channel: tenants.ChannelID{UUID: row.ChannelID},
			Buyer: tenants.Buyer{Kind: tenants.BuyerKind(row.BuyerKind), ID: row.BuyerID}, Lines: lines,
		},
		entry: row.ID, number: row.Number, shape: row.ChannelID.String() + string(row.Lines),
	}
	for _, line := range lines {
		w.best = w.best || line.Best != nil
	}
	return w, nil
}

// page decides some who stand in line one after the other. What cannot fit is left out without asking a
// claim; after each offer it is looked again what is left.
func (p *pass) page(ctx context.Context, rows []dbsqlc.EntriesInLineRow) error {
	open := make([]waiting, 0, len(rows))
	for _, row := range rows {
		w, err := p.waitingOf(row)
		if err != nil {
			return err
		}
		open = append(open, w)
	}
	last := open[len(open)-1].number
	for len(open) > 0 {
		fitting, err := p.fitting(ctx, open)
		if err != nil {
			return err
		}
		open = nil
		for at := 0; at < len(fitting); {
			n := p.bite(fitting[at:])
			won, err := p.offer(ctx, fitting[at:at+n])
			if err != nil {
				return err
			}
			at += n
			p.after = fitting[at-1].number
			if won > 0 {
				open = fitting[at:]
				break
			}
		}
	}
	p.after = last
	return nil
}

// fitting are those for whom there could be enough.
func (p *pass) fitting(ctx context.Context, open []waiting) ([]waiting, error) {
	wishes := make([]inventory.WaitingWish, len(open))
	for i, w := range open {
		wishes[i] = w.WaitingWish
	}
	fit, err := p.stock.MayFit(ctx, p.tenant, p.region, wishes)
	if err != nil {
		return nil, err
	}
	var fitting []waiting
	for i, w := range open {
		if fit[i] {
			fitting = append(fitting, w)
		}
	}
	return fitting, nil
}

// bite is how many are decided together: one who wants seats chosen, or a few who do not.
func (p *pass) bite(fitting []waiting) int {
	n := 0
	for n < len(fitting) && n < offersAtOnce && !fitting[n].best {
		n++
	}
	return max(n, 1)
}

// offer holds for some, in their order, what can be held for them, and says for how many.
func (p *pass) offer(ctx context.Context, some []waiting) (int, error) {
	if some[0].best && p.lost[some[0].shape] {
		return 0, nil
	}
	offers := inventory.Offers{Tenant: p.tenant, Region: p.region, Lease: p.line.offer, Wishes: make([]inventory.WaitingWish, len(some))}
	byHold := make(map[inventory.HoldID]waiting, len(some))
	for i, w := range some {
		offers.Wishes[i] = w.WaitingWish
		byHold[w.Hold] = w
	}
	offers.NoteTx = func(ctx context.Context, tx pgx.Tx, holds []inventory.Hold) error {
		return p.noteTx(ctx, tx, holds, byHold)
	}
	answers, err := p.stock.PlaceOffers(ctx, offers)
	if isBusy(err) {
		return 0, errLater
	}
	if err != nil {
		return 0, err
	}
	won, later := 0, false
	for i, answer := range answers {
		var refusal *inventory.Refusal
		switch {
		case answer == nil:
			won++
		case isBusy(answer):
			later = true
		case errors.As(answer, &refusal):
			if some[i].best && isLost(refusal) {
				p.lost[some[i].shape] = true
			}
		case fault.KindOf(answer) == fault.KindInvalid || fault.KindOf(answer) == fault.KindNotFound:
			// What was wished for is not there any more; the entry waits until its time is over.
		default:
			return won, answer
		}
	}
	p.offered += won
	p.metrics.offers.Add(float64(won))
	if later {
		return won, errLater
	}
	return won, nil
}

// isBusy reports whether something was not decided because too many wanted the same units.
func isBusy(err error) bool {
	var refusal *inventory.Refusal
	return errors.Is(err, db.ErrContention) || errors.As(err, &refusal) && refusal.Code == inventory.RefusalBusy
}

// isLost reports whether a refusal says that there are no such seats, to whomever.
func isLost(refusal *inventory.Refusal) bool {
	for _, line := range refusal.Lines {
		switch line.Code { //nolint:exhaustive // others speak of the buyer or the sale
		case inventory.RefusalSoldOut, inventory.RefusalNotTogether, inventory.RefusalHeldByOther, inventory.RefusalOrphanSeat:
		default:
			return false
		}
	}
	return len(refusal.Lines) > 0
}

// noteTx writes down, in the transaction of the holds, to whom they were offered, and tells others.
func (p *pass) noteTx(ctx context.Context, tx pgx.Tx, holds []inventory.Hold, byHold map[inventory.HoldID]waiting) error {
	queries := dbsqlc.New(tx)
	for _, hold := range holds {
		entry := byHold[hold.ID].entry
		versions, err := queries.EntryOffer(ctx, dbsqlc.EntryOfferParams{
			TenantID: p.tenant.UUID, Region: string(p.region), ID: entry, HoldID: &hold.ID.UUID, Now: hold.PlacedAt,
		})
		if err != nil {
			return fmt.Errorf("note the offer to entry %s: %w", entry, err)
		}
		if len(versions) != 1 {
			return errGone
		}
		if err := p.teller.TellTx(ctx, tx, events.NewEvent{
			Tenant: p.tenant, Region: p.region, Channel: hold.Channel, Kind: events.KindWaitingEntry, Entity: entry,
			Version: versions[0], Type: events.TypeWaitingListOffered, OccurredAt: hold.PlacedAt,
		}); err != nil {
			return err
		}
	}
	return nil
}
