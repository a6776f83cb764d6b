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
)

// UnitEvent is one step in the history of a seat, a pool or a night.
type UnitEvent struct {
	At       time.Time
	Change   UnitChange
	Quantity int64
	Hold     inventory.HoldID
	// Booking is zero for what is not sold.
	Booking BookingID
	Channel tenants.ChannelID
	// Actor is the public id of the session or key that did it; "" is the passing of time, or a payment.
	Actor string
	// Reason is why, where more is known than the change itself says.
	Reason string

	cursor HistoryCursor
}

// Cursor is where the page after this step begins.
func (e UnitEvent) Cursor() HistoryCursor { return e.cursor }

// HistoryCursor is where a page of a history begins: with what was before this step.
type HistoryCursor struct {
	At      time.Time
	Hold    uuid.UUID
	Ordinal int64
	Step    int64
}

// SeatHistory lists what became of a seat of a show, the newest first, and says whether older steps
// follow.
func (s *Service) SeatHistory(ctx context.Context, actor tenants.Actor, show inventory.ShowID, seat inventory.SeatID, after *HistoryCursor, limit int) ([]UnitEvent, bool, error) {
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionUnitHistory, "show", show.Region, show.UUID); err != nil {
		return nil, false, err
	}
	return s.history(ctx, show.Region, after, limit, func(ctx context.Context, q *dbsqlc.Queries, at HistoryCursor, most int32) ([]dbsqlc.SeatHistoryRow, error) {
		known, err := q.SeatsOfShowCount(ctx, dbsqlc.SeatsOfShowCountParams{TenantID: actor.Tenant.UUID, Region: string(show.Region), ShowID: show.UUID, SeatID: seat.UUID})
		if err == nil && known == 0 {
			err = fault.NotFound("seat of the show")
		}
		if err != nil {
			return nil, err
		}
		return q.SeatHistory(ctx, dbsqlc.SeatHistoryParams{
			TenantID: actor.Tenant.UUID, Region: string(show.Region), ShowID: &show.UUID, SeatID: &seat.UUID,
			BeforeTime: at.At, BeforeHold: at.Hold, BeforeOrdinal: at.Ordinal, BeforeStep: at.Step, MaxRows: most,
		})
	})
}

// PoolHistory is SeatHistory for a pool.
func (s *Service) PoolHistory(ctx context.Context, actor tenants.Actor, pool inventory.PoolID, after *HistoryCursor, limit int) ([]UnitEvent, bool, error) {
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionUnitHistory, "pool", pool.Region, pool.UUID); err != nil {
		return nil, false, err
	}
	return s.history(ctx, pool.Region, after, limit, func(ctx context.Context, q *dbsqlc.Queries, at HistoryCursor, most int32) ([]dbsqlc.SeatHistoryRow, error) {
		known, err := q.PoolsCount(ctx, dbsqlc.PoolsCountParams{TenantID: actor.Tenant.UUID, Region: string(pool.Region), ID: pool.UUID})
		if err == nil && known == 0 {
			err = fault.NotFound("pool")
		}
		if err != nil {
			return nil, err
		}
		rows, err := q.PoolHistory(ctx, dbsqlc.PoolHistoryParams{
			TenantID: actor.Tenant.UUID, Region: string(pool.Region), PoolID: &pool.UUID,
			BeforeTime: at.At, BeforeHold: at.Hold, BeforeOrdinal: at.Ordinal, BeforeStep: at.Step, MaxRows: most,
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
	return s.history(ctx, room.Region, after, limit, func(ctx context.Context, q *dbsqlc.Queries, at HistoryCursor, most int32) ([]dbsqlc.SeatHistoryRow, error) {
		rows, err := q.NightHistory(ctx, dbsqlc.NightHistoryParams{
			TenantID: actor.Tenant.UUID, Region: string(room.Region), RoomTypeID: &room.UUID, Night: night,
			BeforeTime: at.At, BeforeHold: at.Hold, BeforeOrdinal: at.Ordinal, BeforeStep: at.Step, MaxRows: most,
		})
		steps := make([]dbsqlc.SeatHistoryRow, len(rows))
		for i, row := range rows {
			steps[i] = dbsqlc.SeatHistoryRow(row)
		}
		return steps, err
	})
}

// history reads a page of steps. It may be a little old, where the process allows that: a history is of
// what was.
func (s *Service) history(ctx context.Context, region ids.Region, after *HistoryCursor, limit int,
	read func(ctx context.Context, q *dbsqlc.Queries, at HistoryCursor, most int32) ([]dbsqlc.SeatHistoryRow, error),
) ([]UnitEvent, bool, error) {
	if limit < 1 || limit > inventory.MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	at := HistoryCursor{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	if after != nil {
		at = *after
	}
	rows, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]dbsqlc.SeatHistoryRow, error) {
		rows, err := read(ctx, dbsqlc.New(tx), at, int32(limit+1)) //nolint:gosec // at most MaxPage
		if err != nil {
			return nil, fmt.Errorf("read the history of a unit: %w", err)
		}
		return rows, nil
	}, db.Stale(reportStaleness))
	if err != nil {
		return nil, false, err
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	steps := make([]UnitEvent, len(rows))
	for i, row := range rows {
		steps[i] = UnitEvent{
			At: row.At.UTC(), Change: UnitChange(row.Change), Quantity: row.Quantity, Hold: inventory.HoldID{Region: region, UUID: row.HoldID},
			Channel: tenants.ChannelID{UUID: row.ChannelID}, Actor: publicActor(region, row.Actor), Reason: row.Reason,
			cursor: HistoryCursor{At: row.At, Hold: row.HoldID, Ordinal: row.Ordinal, Step: row.Step},
		}
		if row.BookingID != nil {
			steps[i].Booking = BookingID{Region: region, UUID: *row.BookingID}
		}
	}
	return steps, more, nil
}

// publicActor is the public id of a buyer, which rows keep as its kind and its UUID.
func publicActor(region ids.Region, stored string) string {
	kind, text, found := strings.Cut(stored, " ")
	id, err := uuid.Parse(text)
	if !found || err != nil {
		return stored
	}
	if tenants.BuyerKind(kind) == tenants.BuyerKindGuest {
		return tenants.SessionID{Region: region, UUID: id}.String()
	}
	return tenants.KeyID{UUID: id}.String()
}
