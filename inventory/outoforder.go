package inventory

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// A period out of order takes a room from the guests who sleep in it and one from what can be sold of its
// type. The plan of a night counts the rooms that have a period on it anew whenever it is written, by
// whatever command, also where a night is planned after the period was made: nothing is added or
// subtracted, so nothing can drift. What admins set by hand (outOfOrder) comes on top.

// OutOfOrderState says whether a period has been ended.
type OutOfOrderState string

// The states of a period. One that is past is open: nobody had to end it.
const (
	OutOfOrderOpen  OutOfOrderState = "OPEN"
	OutOfOrderEnded OutOfOrderState = "ENDED"
)

// OutOfOrder is a period in which a room cannot be slept in.
type OutOfOrder struct {
	ID   OutOfOrderID
	Room RoomID
	// RoomType is the room's when the period was made.
	RoomType RoomTypeID
	// First and Last are its nights, both included.
	First, Last civil.Date
	Reason      string
	State       OutOfOrderState
	// Version grows by one with each change.
	Version   int64
	CreatedAt time.Time
	EndedAt   *time.Time
}

// Nights are the nights of a period.
func (o OutOfOrder) Nights() []civil.Date { return NightRange{}.within(o.First, o.Last) }

// Validate names the field of a period to be that is wrong.
func (o OutOfOrder) Validate() error {
	if err := checkRange(o.First, o.Last, MaxNightsPerEdit); err != nil {
		return err
	}
	if o.First.Year < 2000 || o.Last.Year > 2199 {
		return fault.Invalid("from", "expected nights between 2000 and 2199")
	}
	n := utf8.RuneCountInString(o.Reason)
	if n < 1 || n > 200 || !utf8.ValidString(o.Reason) || strings.ContainsFunc(o.Reason, unicode.IsControl) || strings.TrimSpace(o.Reason) == "" {
		return fault.Invalid("reason", "expected why, in one line of 1 to 200 characters")
	}
	return nil
}

// LockPlansTx locks the plans of nights of a room type, which come before holds in the order of locks.
func LockPlansTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, roomType RoomTypeID, nights []civil.Date) error {
	_, err := lockPlans(ctx, dbsqlc.New(tx), placeOf(tenant, roomType.Region), roomType.UUID, nights)
	return err
}

// BeginOutOfOrderTx makes a period of a locked room whose nights nobody sleeps in, and answers with the
// nights of its type that are now sold above their limit. One that overlaps another of the room is
// refused with OUT_OF_ORDER_OVERLAP.
func BeginOutOfOrderTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, room Room, period OutOfOrder) ([]OversoldNight, error) {
	queries, region := dbsqlc.New(tx), string(room.ID.Region)
	overlap, err := queries.OutOfOrderOverlaps(ctx, dbsqlc.OutOfOrderOverlapsParams{
		TenantID: actor.Tenant.UUID, Region: region, RoomID: room.ID.UUID, FirstNight: period.First, LastNight: period.Last,
	})
	if err != nil {
		return nil, fmt.Errorf("look for other periods of room %s: %w", room.ID, err)
	}
	if len(overlap) > 0 {
		return nil, Refuse(RefusalOutOfOrderOverlap, fmt.Sprintf("room %s has another period out of order on %d of these nights, first on %s", room.Number, len(overlap), overlap[0]))
	}
	if err := queries.OutOfOrderInsert(ctx, dbsqlc.OutOfOrderInsertParams{
		TenantID: actor.Tenant.UUID, Region: region, ID: period.ID.UUID, RoomID: room.ID.UUID, RoomTypeID: room.RoomType.UUID,
		FirstNight: period.First, LastNight: period.Last, Reason: period.Reason, CreatedAt: period.CreatedAt,
	}); err != nil {
		return nil, fmt.Errorf("store a period of room %s: %w", room.ID, err)
	}
	nights := period.Nights()
	if _, err := queries.OutOfOrderNightsInsert(ctx, dbsqlc.OutOfOrderNightsInsertParams{
		TenantID: actor.Tenant.UUID, Region: region, RoomID: room.ID.UUID, RoomTypeID: room.RoomType.UUID, PeriodID: period.ID.UUID, Nights: nights,
	}); err != nil {
		return nil, fmt.Errorf("take the nights of a period of room %s: %w", room.ID, err)
	}
	if err := tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionRoomOutOfOrder, Resource: room.ID, Reason: period.Reason, After: period,
	}); err != nil {
		return nil, err
	}
	return fitOutOfOrderTx(ctx, tx, actor.Tenant, room, nights)
}

// EndOutOfOrderTx gives the nights of a period of a locked room back from a date on: the period is shortened
// or, where state says so, ended. It answers with the nights that are still sold above their limit.
func EndOutOfOrderTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, room Room, period OutOfOrder, from civil.Date, state OutOfOrderState, now time.Time) (OutOfOrder, []OversoldNight, error) {
	queries, region, before := dbsqlc.New(tx), string(room.ID.Region), period
	if from.Before(period.First) {
		from = period.First
	}
	freed := NightRange{}.within(from, period.Last)
	period.State, period.Version = state, period.Version+1
	if from.After(period.First) {
		period.Last = from.AddDays(-1)
	}
	if state == OutOfOrderEnded {
		period.EndedAt = &now
	}
	n, err := queries.OutOfOrderSet(ctx, dbsqlc.OutOfOrderSetParams{
		TenantID: actor.Tenant.UUID, Region: region, ID: period.ID.UUID, Version: before.Version, LastNight: period.Last, State: string(state), EndedAt: period.EndedAt,
	})
	if err != nil {
		return OutOfOrder{}, nil, fmt.Errorf("change period %s: %w", period.ID, err)
	}
	if n != 1 {
		return OutOfOrder{}, nil, fmt.Errorf("change period %s: it is not in version %d", period.ID, before.Version)
	}
	if _, err := queries.OutOfOrderNightsDelete(ctx, dbsqlc.OutOfOrderNightsDeleteParams{
		TenantID: actor.Tenant.UUID, Region: region, RoomID: room.ID.UUID, PeriodID: &period.ID.UUID, FirstNight: from,
	}); err != nil {
		return OutOfOrder{}, nil, fmt.Errorf("give back the nights of period %s: %w", period.ID, err)
	}
	if err := tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionRoomOutOfOrder, Resource: room.ID, Before: before, After: period,
	}); err != nil {
		return OutOfOrder{}, nil, err
	}
	over, err := fitOutOfOrderTx(ctx, tx, actor.Tenant, room, freed)
	return period, over, err
}

// fitOutOfOrderTx writes those of some nights that are planned, so that they count the periods anew.
func fitOutOfOrderTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, room Room, nights []civil.Date) ([]OversoldNight, error) {
	t := target{at: placeOf(tenant, room.ID.Region), property: room.Property.UUID}
	if len(nights) == 0 {
		return nil, nil
	}
	present, err := lockPlans(ctx, dbsqlc.New(tx), t.at, room.RoomType.UUID, nights)
	if err != nil {
		return nil, err
	}
	var changes []DatedChange
	for _, night := range nights {
		if _, planned := present[night]; planned {
			changes = append(changes, DatedChange{Night: night})
		}
	}
	if len(changes) == 0 {
		return nil, nil
	}
	if _, _, err := planNightsTx(ctx, tx, t, room.RoomType.UUID, changes); err != nil {
		return nil, err
	}
	return oversoldTx(ctx, tx, t, room.RoomType.UUID, nightsOf(changes))
}

// roomsOutOfOrder counts the rooms of a type that have a period on each night.
func roomsOutOfOrder(ctx context.Context, queries *dbsqlc.Queries, at place, room uuid.UUID, nights []civil.Date) (map[civil.Date]int64, error) {
	rows, err := queries.RoomsOutOfOrder(ctx, dbsqlc.RoomsOutOfOrderParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: room, Nights: nights})
	if err != nil {
		return nil, fmt.Errorf("count the rooms out of order: %w", err)
	}
	counts := make(map[civil.Date]int64, len(rows))
	for _, row := range rows {
		counts[row.Night] = row.Rooms
	}
	return counts, nil
}

// outOfOrderSet is how many rooms of a night were set out of order by hand.
func outOfOrderSet(plan dbsqlc.NightPlansLockRow) int64 {
	if plan.OutOfOrderSet == nil {
		return plan.OutOfOrder
	}
	return *plan.OutOfOrderSet
}

// OutOfOrderTx reads a period. Whoever changes it has locked its room.
func OutOfOrderTx(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, id OutOfOrderID) (OutOfOrder, error) {
	row, err := dbsqlc.New(q).OutOfOrderGet(ctx, dbsqlc.OutOfOrderGetParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return OutOfOrder{}, fault.NotFound("out-of-order period")
	}
	if err != nil {
		return OutOfOrder{}, fmt.Errorf("read period %s: %w", id, err)
	}
	return outOfOrderOf(id.Region, row), nil
}

// OutOfOrderCursor is where a page of periods begins: after this one.
type OutOfOrderCursor struct {
	First civil.Date
	ID    uuid.UUID
}

// OutOfOrderOf lists the periods of a room from the earliest, and says whether more follow.
func (s *Service) OutOfOrderOf(ctx context.Context, actor tenants.Actor, room RoomID, after *OutOfOrderCursor, limit int) ([]OutOfOrder, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRoomRead, "room", room.Region, room.UUID); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	at := OutOfOrderCursor{First: civil.Date{Year: 1, Month: 1, Day: 1}}
	if after != nil {
		at = *after
	}
	rows, err := dbsqlc.New(s.db.Pool()).OutOfOrderOfRoom(ctx, dbsqlc.OutOfOrderOfRoomParams{
		TenantID: actor.Tenant.UUID, Region: string(room.Region), RoomID: room.UUID, AfterNight: at.First, AfterID: at.ID, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	})
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list the periods of room %s: %w", room, err))
	}
	more := len(rows) > limit
	periods := make([]OutOfOrder, min(len(rows), limit))
	for i := range periods {
		periods[i] = outOfOrderOf(room.Region, dbsqlc.OutOfOrderGetRow(rows[i]))
	}
	return periods, more, nil
}

func outOfOrderOf(region ids.Region, row dbsqlc.OutOfOrderGetRow) OutOfOrder {
	return OutOfOrder{
		ID: OutOfOrderID{Region: region, UUID: row.ID}, Room: RoomID{Region: region, UUID: row.RoomID}, RoomType: RoomTypeID{Region: region, UUID: row.RoomTypeID},
		First: row.FirstNight, Last: row.LastNight, Reason: row.Reason, State: OutOfOrderState(row.State), Version: row.Version,
		CreatedAt: row.CreatedAt, EndedAt: row.EndedAt,
	}
}
