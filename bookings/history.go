package bookings

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// UnitChange is what can become of a unit.
type UnitChange string

// The changes, in the order in which they can follow each other.
const (
	UnitHeld      UnitChange = "HELD"
	UnitExtended  UnitChange = "EXTENDED"
	UnitReleased  UnitChange = "RELEASED"
	UnitExpired   UnitChange = "EXPIRED"
	UnitSold      UnitChange = "SOLD"
	UnitCancelled UnitChange = "CANCELLED"
	UnitMovedIn   UnitChange = "MOVED_IN"
	UnitMovedOut  UnitChange = "MOVED_OUT"
	UnitWalked    UnitChange = "WALKED"
	// UnitBlocked: a seat joined a block. Moved from another one, it left that at the same instant.
	UnitBlocked UnitChange = "BLOCKED"
	// UnitUnblocked: a seat left a block, or its block was released.
	UnitUnblocked UnitChange = "UNBLOCKED"
	// UnitAllotted: a definite allotment sets aside so many more.
	UnitAllotted UnitChange = "ALLOTTED"
	// UnitUnallotted: an allotment sets aside so many less. What of them is sold stays sold.
	UnitUnallotted UnitChange = "UNALLOTTED"
)

// ofHold reports whether the step is one of a hold.
func (c UnitChange) ofHold() bool {
	switch c {
	case UnitHeld, UnitExtended, UnitReleased, UnitExpired, UnitSold, UnitCancelled, UnitMovedIn, UnitMovedOut, UnitWalked:
		return true
	case UnitBlocked, UnitUnblocked, UnitAllotted, UnitUnallotted:
	}
	return false
}

// UnitEvent is one step in the history of a seat, a pool or a night.
type UnitEvent struct {
	At       time.Time
	Change   UnitChange
	Quantity int64
	// Hold is zero for what was set aside, Booking for what is not sold. Block and Allotment are of what was
	// set aside, or is no more.
	Hold      inventory.HoldID
	Booking   BookingID
	Block     inventory.BlockID
	Allotment inventory.AllotmentID
	// Channel is zero for house seats.
	Channel tenants.ChannelID
	// Actor is the public id of the session, member or key that did it; "" is the passing of time, or a
	// payment.
	Actor string
	// Reason is why, where more is known than the change itself says: that of a block, too. Note is the
	// block's.
	Reason, Note string

	cursor HistoryCursor
}

// Cursor is where the page after this step begins.
func (e UnitEvent) Cursor() HistoryCursor { return e.cursor }

// HistoryCursor is where a page of a history begins: with what was before this step. No two steps of a
// unit have the same.
type HistoryCursor struct {
	At time.Time
	// Subject is what the step is of: a hold, a change of blocks, a block or an allotment.
	Subject uuid.UUID
	Ordinal int64
	Step    int64
}

// SeatHistory lists what became of a seat of a show, the newest first, and says whether older steps
// follow.
func (s *Service) SeatHistory(ctx context.Context, actor tenants.Actor, show inventory.ShowID, seat inventory.SeatID, after *HistoryCursor, limit int) ([]UnitEvent, bool, error) {
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionUnitHistory, "show", show.Region, show.UUID); err != nil {
		return nil, false, err
	}
	return s.history(ctx, actor, show.Region, after, limit, func(ctx context.Context, q *dbsqlc.Queries, from reading) ([]dbsqlc.SeatHistoryRow, error) {
		known, err := q.SeatsOfShowCount(ctx, dbsqlc.SeatsOfShowCountParams{TenantID: actor.Tenant.UUID, Region: string(show.Region), ShowID: show.UUID, SeatID: seat.UUID})
		if err == nil && known == 0 {
			err = fault.NotFound("seat of the show")
		}
		if err != nil {
			return nil, err
		}
		return q.SeatHistory(ctx, dbsqlc.SeatHistoryParams{
			TenantID: actor.Tenant.UUID, Region: string(show.Region), ShowID: &show.UUID, SeatID: &seat.UUID,
			AsOf: from.asOf, BeforeTime: from.at.At, BeforeSubject: from.at.Subject, BeforeOrdinal: from.at.Ordinal, BeforeStep: from.at.Step, MaxRows: from.most,
		})
	})
}

// PoolHistory is SeatHistory for a pool.
func (s *Service) PoolHistory(ctx context.Context, actor tenants.Actor, pool inventory.PoolID, after *HistoryCursor, limit int) ([]UnitEvent, bool, error) {
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionUnitHistory, "pool", pool.Region, pool.UUID); err != nil {
		return nil, false, err
	}
	return s.history(ctx, actor, pool.Region, after, limit, func(ctx context.Context, q *dbsqlc.Queries, from reading) ([]dbsqlc.SeatHistoryRow, error) {
		known, err := q.PoolsCount(ctx, dbsqlc.PoolsCountParams{TenantID: actor.Tenant.UUID, Region: string(pool.Region), ID: pool.UUID})
		if err == nil && known == 0 {
			err = fault.NotFound("pool")
		}
		if err != nil {
			return nil, err
		}
		rows, err := q.PoolHistory(ctx, dbsqlc.PoolHistoryParams{
			TenantID: actor.Tenant.UUID, Region: string(pool.Region), PoolID: pool.UUID,
			AsOf: from.asOf, BeforeTime: from.at.At, BeforeSubject: from.at.Subject, BeforeOrdinal: from.at.Ordinal, BeforeStep: from.at.Step, MaxRows: from.most,
		})
		steps := make([]dbsqlc.SeatHistoryRow, len(rows))
		for i, row := range rows {
			steps[i] = dbsqlc.SeatHistoryRow(row)
		}
		return steps, err
	})
}

// NightHistory is SeatHistory for a night of a room type.
func (s *Service) NightHistory(ctx context.Context, actor tenants.Actor, room inventory.RoomTypeID, night civil.Date, after *HistoryCursor, limit int) ([]UnitEvent, bool, error) {
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionUnitHistory, "room type", room.Region, room.UUID); err != nil {
		return nil, false, err
	}
	return s.history(ctx, actor, room.Region, after, limit, func(ctx context.Context, q *dbsqlc.Queries, from reading) ([]dbsqlc.SeatHistoryRow, error) {
		rows, err := q.NightHistory(ctx, dbsqlc.NightHistoryParams{
			TenantID: actor.Tenant.UUID, Region: string(room.Region), RoomTypeID: room.UUID, Night: night,
			AsOf: from.asOf, BeforeTime: from.at.At, BeforeSubject: from.at.Subject, BeforeOrdinal: from.at.Ordinal, BeforeStep: from.at.Step, MaxRows: from.most,
		})
		steps := make([]dbsqlc.SeatHistoryRow, len(rows))
		for i, row := range rows {
			steps[i] = dbsqlc.SeatHistoryRow(row)
		}
		return steps, err
	})
}

// reading is where a page begins, how long it is, and of which instant.
type reading struct {
	at   HistoryCursor
	asOf time.Time
	most int32
}

// history reads a page of steps. It may be a little old, where the process allows that: a history is of
// what was.
func (s *Service) history(ctx context.Context, actor tenants.Actor, region ids.Region, after *HistoryCursor, limit int,
	read func(ctx context.Context, q *dbsqlc.Queries, from reading) ([]dbsqlc.SeatHistoryRow, error),
) ([]UnitEvent, bool, error) {
	if limit < 1 || limit > inventory.MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	from := reading{at: HistoryCursor{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, most: int32(limit + 1)} //nolint:gosec // at most MaxPage
	if after != nil {
		from.at = *after
	}
	steps, err := db.InSnapshotAsOf(ctx, s.db, func(ctx context.Context, at db.Snapshot) ([]UnitEvent, error) {
		var err error
		if from.asOf, err = at.AsOf(ctx); err != nil {
			return nil, err
		}
		rows, err := read(ctx, dbsqlc.New(at.Tx), from)
		if err != nil {
			return nil, fmt.Errorf("read the history of a unit: %w", err)
		}
		return unitEvents(ctx, at.Tx, actor.Tenant, region, rows)
	}, db.Stale(reportStaleness))
	if err != nil {
		return nil, false, err
	}
	more := len(steps) > limit
	if more {
		steps = steps[:limit]
	}
	return steps, more, nil
}

func unitEvents(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, region ids.Region, rows []dbsqlc.SeatHistoryRow) ([]UnitEvent, error) {
	by := make([]storedActor, len(rows))
	var keys []uuid.UUID
	for i, row := range rows {
		by[i] = readStoredActor(row.Actor)
		if by[i].kind == tenants.BuyerKindKey {
			keys = append(keys, by[i].id)
		}
	}
	acted, err := tenants.WhoActed(ctx, tx, tenant, keys)
	if err != nil {
		return nil, err
	}
	steps := make([]UnitEvent, len(rows))
	for i, row := range rows {
		step := UnitEvent{
			At: row.At.UTC(), Change: UnitChange(row.Change), Quantity: row.Quantity, Channel: tenants.ChannelID{UUID: row.ChannelID},
			Actor: by[i].public(region, acted), Reason: row.Reason, Note: row.Note,
			cursor: HistoryCursor{At: row.At, Subject: row.SubjectID, Ordinal: row.Ordinal, Step: row.Step},
		}
		if step.Change.ofHold() {
			step.Hold = inventory.HoldID{Region: region, UUID: row.SubjectID}
		}
		if row.BookingID != nil {
			step.Booking = BookingID{Region: region, UUID: *row.BookingID}
		}
		if row.BlockID != nil {
			step.Block = inventory.BlockID{Region: region, UUID: *row.BlockID}
		}
		if row.AllotmentID != nil {
			step.Allotment = inventory.AllotmentID{Region: region, UUID: *row.AllotmentID}
		}
		steps[i] = step
	}
	return steps, nil
}

// storedActor is who did something, which rows keep as a kind and a UUID, or as a public id.
type storedActor struct {
	kind tenants.BuyerKind
	id   uuid.UUID
	text string
}

// readStoredActor is zero when nobody did it.
func readStoredActor(stored string) storedActor {
	kind, text, _ := strings.Cut(stored, " ")
	id, err := uuid.Parse(text)
	if err != nil {
		var key tenants.KeyID
		if key.UnmarshalText([]byte(stored)) == nil {
			return storedActor{kind: tenants.BuyerKindKey, id: key.UUID}
		}
		return storedActor{text: stored}
	}
	return storedActor{kind: tenants.BuyerKind(kind), id: id}
}

// public is the public id of the guest's session, the member or the key.
func (a storedActor) public(region ids.Region, acted tenants.Acted) string {
	switch a.kind {
	case "":
		return a.text
	case tenants.BuyerKindGuest:
		return tenants.SessionID{Region: region, UUID: a.id}.String()
	case tenants.BuyerKindKey:
	}
	return acted.Actor(a.id)
}
