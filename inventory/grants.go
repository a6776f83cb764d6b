package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// A grant is an admission from the waiting room of a show: one session may hold so many times until
// it expires. Package admission issues grants; the claim uses them in the hold's own transaction. A
// use is taken by a hold that is placed, never by one that is refused, and is not given back when
// the hold ends: who holds and releases in a loop has soon used the grant up.

// Grant is an admission as its session sees it.
type Grant struct {
	ID      GrantID
	Show    ShowID
	Session tenants.SessionID
	// IssuedAt and ExpiresAt are by the database's clock.
	IssuedAt, ExpiresAt time.Time
	// Holds is how many holds it is good for, Used how many were placed with it.
	Holds, Used int64
}

// NewGrant is a grant to be issued. ID is chosen before the transaction's first attempt.
type NewGrant struct {
	ID      GrantID
	Show    ShowID
	Ticket  uuid.UUID
	Session tenants.SessionID
	// Lifetime is how long it may be used from now.
	Lifetime time.Duration
	Holds    int64
}

// IssueGrantTx lets a session in with a ticket of the show's waiting room. A ticket is good for one
// grant: the session that exchanged it is answered with the same again, as long as it may be used,
// and every other one with RefusalAdmissionUsed. A session that has a live grant of the show is
// answered with that, and keeps the ticket.
func IssueGrantTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, n NewGrant) (Grant, error) {
	at := placeOf(tenant, n.Show.Region)
	queries := dbsqlc.New(tx)
	now, err := Now(ctx, tx)
	if err != nil {
		return Grant{}, err
	}
	exchanged, found, err := grantByTicket(ctx, tx, at, n)
	switch {
	case err != nil:
		return Grant{}, err
	case found && exchanged.Session.UUID == n.Session.UUID && now.Before(exchanged.ExpiresAt) && exchanged.Used < exchanged.Holds:
		return exchanged, nil
	case found:
		return Grant{}, Refuse(RefusalAdmissionUsed, messageOf(RefusalAdmissionUsed))
	}
	live, err := queries.GrantLive(ctx, dbsqlc.GrantLiveParams{
		TenantID: at.tenant, Region: string(at.region), ShowID: n.Show.UUID, SessionID: n.Session.UUID, Now: now,
	})
	if err != nil {
		return Grant{}, fmt.Errorf("look for a live grant of the session: %w", err)
	}
	if len(live) > 0 {
		return grantOf(at, n.Session.Region, dbsqlc.GrantByTicketRow(live[0])), nil
	}
	issued := Grant{ID: n.ID, Show: n.Show, Session: n.Session, IssuedAt: now, ExpiresAt: now.Add(n.Lifetime), Holds: n.Holds}
	inserted, err := queries.GrantInsert(ctx, dbsqlc.GrantInsertParams{
		TenantID: at.tenant, Region: string(at.region), ID: n.ID.UUID, ShowID: n.Show.UUID, Ticket: n.Ticket, SessionID: n.Session.UUID,
		IssuedAt: issued.IssuedAt, ExpiresAt: issued.ExpiresAt, Holds: n.Holds,
	})
	if err != nil {
		return Grant{}, fmt.Errorf("store a grant: %w", err)
	}
	if inserted == 0 {
		return Grant{}, Refuse(RefusalAdmissionUsed, messageOf(RefusalAdmissionUsed))
	}
	return issued, nil
}

func grantByTicket(ctx context.Context, tx pgx.Tx, at place, n NewGrant) (Grant, bool, error) {
	row, err := dbsqlc.New(tx).GrantByTicket(ctx, dbsqlc.GrantByTicketParams{
		TenantID: at.tenant, Region: string(at.region), ShowID: n.Show.UUID, Ticket: n.Ticket,
	})
	if db.IsNoRows(err) {
		return Grant{}, false, nil
	}
	if err != nil {
		return Grant{}, false, fmt.Errorf("look for the grant of a ticket: %w", err)
	}
	return grantOf(at, n.Session.Region, row), true, nil
}

func grantOf(at place, sessionRegion ids.Region, row dbsqlc.GrantByTicketRow) Grant {
	return Grant{
		ID: GrantID{Region: at.region, UUID: row.ID}, Show: ShowID{Region: at.region, UUID: row.ShowID},
		Session:  tenants.SessionID{Region: sessionRegion, UUID: row.SessionID},
		IssuedAt: row.IssuedAt, ExpiresAt: row.ExpiresAt, Holds: row.Holds, Used: row.Used,
	}
}

// SetAdmissionTx says from when until when guests need a grant to hold units of a show; nil, nil is
// never. A show of another tenant is not found.
func SetAdmissionTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, show ShowID, from, until *time.Time) error {
	n, err := dbsqlc.New(tx).ShowAdmissionSet(ctx, dbsqlc.ShowAdmissionSetParams{
		TenantID: tenant.UUID, Region: string(show.Region), ID: show.UUID, AdmissionFrom: from, AdmissionUntil: until,
	})
	if err != nil {
		return fmt.Errorf("set when a show needs admissions: %w", err)
	}
	if n == 0 {
		return fault.NotFound("show")
	}
	return nil
}

// admissionWindow is when a show's waiting room is open.
type admissionWindow struct{ from, until *time.Time }

func (w admissionWindow) contains(now time.Time) bool {
	return w.from != nil && w.until != nil && !now.Before(*w.from) && now.Before(*w.until)
}

// grantFacts is a locked grant.
type grantFacts struct {
	show, session uuid.UUID
	expires       time.Time
	holds, used   int64
}

// addGrant checks the form of the grant that a request names.
func (c *claim) addGrant(grant *GrantID) error {
	if grant == nil {
		return nil
	}
	if err := c.inRegion("grant", grant.Region); err != nil {
		return err
	}
	c.grant = &grant.UUID
	return nil
}

// lockGrants locks the grants that the wishes name, after the request rows and before everything
// else. The clock that judges them is read afterwards.
func (b *batch) lockGrants(ctx context.Context, tx pgx.Tx) (map[uuid.UUID]*grantFacts, error) {
	var named []uuid.UUID
	for _, w := range b.wishes {
		if w.claim.grant != nil {
			named = append(named, *w.claim.grant)
		}
	}
	if len(named) == 0 {
		return nil, nil //nolint:nilnil // no grants are named
	}
	rows, err := dbsqlc.New(tx).GrantsLock(ctx, dbsqlc.GrantsLockParams{TenantID: b.at.tenant, Region: string(b.at.region), Ids: named})
	if err != nil {
		return nil, fmt.Errorf("lock grants: %w", err)
	}
	locked := make(map[uuid.UUID]*grantFacts, len(rows))
	for _, row := range rows {
		locked[row.ID] = &grantFacts{show: row.ShowID, session: row.SessionID, expires: row.ExpiresAt, holds: row.Holds, used: row.Used}
	}
	return locked, nil
}

// needsGrant is the show for which a line needs a grant. Only guests wait: a seller's own key stands
// at the counter.
func (f facts) needsGrant(w wish, line LineRequest) (uuid.UUID, bool) {
	show, units := f.unitsOf(line)
	if units == 0 || w.buyer.Kind != tenants.BuyerKindGuest {
		return show, false
	}
	return show, f.terms.AdmissionRequired || f.shows[show].admission.contains(f.now)
}

// judgeAdmission adds the lines that need a grant and have none to those that were refused before,
// in front of them: who was not let in is told so first. A grant that is named must be good, whether
// or not it is needed.
func (f facts) judgeAdmission(w wish, refused []RefusedLine) ([]RefusedLine, error) {
	if refusal := f.judgeGrant(w); refusal != nil {
		return nil, refusal
	}
	var missing []RefusedLine
	for i, line := range w.claim.lines {
		show, needed := f.needsGrant(w, line)
		if !needed || w.claim.grant != nil && f.grants[*w.claim.grant].show == show {
			continue
		}
		missing = append(missing, RefusedLine{Line: i, Code: RefusalAdmissionRequired})
	}
	if len(missing) > 0 {
		// Who was not let in need not know more.
		return nil, refuseLines(missing)
	}
	return refused, nil
}

// judgeGrant refuses a grant that is not this guest's, over, used up, or of no show of the hold, with
// one answer for all: who tries ids learns nothing.
func (f facts) judgeGrant(w wish) error {
	if w.claim.grant == nil {
		return nil
	}
	grant := f.grants[*w.claim.grant]
	if grant == nil || w.buyer.Kind != tenants.BuyerKindGuest || grant.session != w.buyer.ID ||
		!f.now.Before(grant.expires) || grant.used >= grant.holds || !f.isOf(w, grant.show) {
		return Refuse(RefusalAdmissionRequired, messageOf(RefusalAdmissionRequired))
	}
	return nil
}

// isOf reports whether a wish is for units of a show.
func (f facts) isOf(w wish, show uuid.UUID) bool {
	return slices.ContainsFunc(w.claim.lines, func(line LineRequest) bool {
		of, units := f.unitsOf(line)
		return units > 0 && of == show
	})
}

// noteGrant takes a use, for the wishes that follow in the batch.
func (f facts) noteGrant(w wish) {
	if w.claim.grant != nil {
		f.grants[*w.claim.grant].used++
	}
}

// useGrants stores which hold took which use of a grant.
func (b *batch) useGrants(ctx context.Context, tx pgx.Tx, f facts, winners []won) error {
	at := dbsqlc.GrantUsesInsertParams{TenantID: b.at.tenant, Region: string(b.at.region)}
	taken := map[uuid.UUID]int64{}
	for _, w := range winners {
		if w.wish.claim.grant != nil {
			taken[*w.wish.claim.grant]++
		}
	}
	if len(taken) == 0 {
		return nil
	}
	given := map[uuid.UUID]int64{}
	for _, w := range winners {
		grant := w.wish.claim.grant
		if grant == nil {
			continue
		}
		given[*grant]++
		at.GrantIds = append(at.GrantIds, *grant)
		// The facts count the uses of this batch already.
		at.Ordinals = append(at.Ordinals, f.grants[*grant].used-taken[*grant]+given[*grant])
		at.HoldIds = append(at.HoldIds, w.wish.hold)
	}
	use := dbsqlc.GrantsUseParams{TenantID: b.at.tenant, Region: string(b.at.region)}
	for grant := range taken {
		use.Ids = append(use.Ids, grant)
	}
	slices.SortFunc(use.Ids, compareUUID)
	for _, grant := range use.Ids {
		use.Holds = append(use.Holds, taken[grant])
	}
	queries := dbsqlc.New(tx)
	n, err := queries.GrantsUse(ctx, use)
	if err != nil {
		return fmt.Errorf("use grants: %w", err)
	}
	if n != int64(len(taken)) {
		return fmt.Errorf("use grants: %d of %d", n, len(taken))
	}
	if _, err := queries.GrantUsesInsert(ctx, at); err != nil {
		return fmt.Errorf("store the uses of grants: %w", err)
	}
	return nil
}
