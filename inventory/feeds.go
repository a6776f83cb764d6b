package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// Feed is what a partner's system, or a file, says of nights of one room type.
type Feed struct {
	RoomType RoomTypeID
	Nights   []FedNight
}

// FedNight is a change of one night.
type FedNight struct {
	DatedChange
	// Available is how many rooms may still be sold to everybody, as partners count: what is sold, held and
	// set aside for channels comes on top of it. It decides the night's physical rooms, and leaves nothing
	// to oversell; what is out of order stays out of order. Nil leaves them.
	Available *int64
}

// FeedTx writes feeds of one property in the caller's transaction: all or nothing. The caller has
// authorised the actor for the property, and claimed its request.
func FeedTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, property tenants.PropertyID, feeds []Feed) (NightsSet, error) {
	feeds = slices.Clone(feeds)
	slices.SortFunc(feeds, func(a, b Feed) int { return compareUUID(a.RoomType.UUID, b.RoomType.UUID) })
	t := target{at: placeOf(actor.Tenant, property.Region), property: property.UUID}
	for i, feed := range feeds {
		if i > 0 && feeds[i-1].RoomType == feed.RoomType {
			return NightsSet{}, fault.Invalid("roomType", "%s is fed twice", feed.RoomType)
		}
		t.rooms = append(t.rooms, feed.RoomType.UUID)
	}
	if err := t.ownsTx(ctx, tx); err != nil {
		return NightsSet{}, err
	}
	var set NightsSet
	for _, feed := range feeds {
		changes, err := feed.changesTx(ctx, tx, t.at)
		if err != nil {
			return NightsSet{}, err
		}
		over, err := writeNightsTx(ctx, tx, actor.Tenant, actor.Author(), t, feed.RoomType.UUID, changes)
		if err != nil {
			return NightsSet{}, err
		}
		set.Nights += len(changes)
		set.Oversold = append(set.Oversold, over...)
	}
	return set, nil
}

// PlanFeed is what a partner's system says of a rate plan on nights of one room type: prices and restrictions.
type PlanFeed struct {
	Plan     RatePlanID
	RoomType RoomTypeID
	Nights   []civil.Date
	Change   NightChange
}

// FeedPlansTx writes feeds of rate plans of one property in the caller's transaction, as FeedTx does, and says how many
// nights they are. It comes after FeedTx.
func FeedPlansTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, property tenants.PropertyID, feeds []PlanFeed) (int, error) {
	t := target{at: placeOf(actor.Tenant, property.Region), property: property.UUID}
	for _, feed := range feeds {
		if err := feed.Change.checkPlanChange(); err != nil {
			return 0, err
		}
		if len(feed.Nights) == 0 {
			return 0, fault.Invalid("nights", "expected at least one night")
		}
		for _, night := range feed.Nights {
			if err := feed.Change.validate(night); err != nil {
				return 0, err
			}
		}
		t.rooms = append(t.rooms, feed.RoomType.UUID)
	}
	if err := t.ownsTx(ctx, tx); err != nil {
		return 0, err
	}
	written := 0
	for _, feed := range feeds {
		t.plan = &feed.Plan.UUID
		if err := writePlanNightsTx(ctx, tx, actor.Tenant, actor.Author(), t, feed.RoomType.UUID, feed.Nights, feed.Change); err != nil {
			return 0, err
		}
		written += len(feed.Nights)
	}
	return written, nil
}

// ownsTx says that the room types are the property's.
func (t target) ownsTx(ctx context.Context, tx pgx.Tx) error {
	found, err := dbsqlc.New(tx).RoomTypesForClaim(ctx, dbsqlc.RoomTypesForClaimParams{TenantID: t.at.tenant, Region: string(t.at.region), Ids: t.rooms})
	if err != nil {
		return fmt.Errorf("read the room types: %w", err)
	}
	own := make(map[uuid.UUID]bool, len(found))
	for _, row := range found {
		own[row.ID] = row.PropertyID == t.property
	}
	for _, room := range t.rooms {
		if !own[room] {
			return fault.NotFound("room type")
		}
	}
	return nil
}

// changesTx are the changes of a feed in the order of their nights, with what may still be sold turned into
// rooms.
func (f Feed) changesTx(ctx context.Context, tx pgx.Tx, at place) ([]DatedChange, error) {
	nights := slices.Clone(f.Nights)
	slices.SortFunc(nights, func(a, b FedNight) int { return a.Night.Compare(b.Night) })
	var counted []civil.Date
	for i, night := range nights {
		if i > 0 && nights[i-1].Night == night.Night {
			return nil, fault.Invalid("nights", "night %s is named twice", night.Night)
		}
		if err := night.validate(); err != nil {
			return nil, err
		}
		if night.Available != nil || night.Change.Oversell != nil {
			counted = append(counted, night.Night)
		}
	}
	rooms := sharedRooms{}
	if len(counted) > 0 {
		if err := rooms.lockTx(ctx, tx, at, f.RoomType.UUID, counted); err != nil {
			return nil, err
		}
	}
	changes := make([]DatedChange, len(nights))
	for i, night := range nights {
		changes[i] = night.DatedChange
		if night.Available != nil {
			if err := rooms.settle(&changes[i], *night.Available); err != nil {
				return nil, err
			}
		}
		if night.Available == nil {
			rooms.keepPercent(&changes[i].Change, night.Night)
		}
	}
	return changes, nil
}

func (n FedNight) validate() error {
	c := n.Change
	switch {
	case c.setsHouse():
		return fault.Invalid("houseLimit", "night %s: it is of the house, not of a room type", n.Night)
	case n.Available != nil && (c.Physical != nil || c.Oversell != nil || c.OversellPercent != nil):
		return fault.Invalid("available", "night %s: what may still be sold follows from the rooms there are; expected one of the two", n.Night)
	case n.Available != nil && (*n.Available < 0 || *n.Available > maxPhysical):
		return fault.Invalid("available", "night %s: expected 0 to %d, got %d", n.Night, maxPhysical, *n.Available)
	}
	var invalid *fault.Error
	if err := c.validate(n.Night); errors.As(err, &invalid) {
		return fault.Invalid(invalid.Field, "night %s: %s", n.Night, invalid.Message)
	}
	return nil
}

// maxPhysical bounds the rooms of one type, as validate and the table do.
const maxPhysical = 100_000

// sharedRooms is what is neither free nor everybody's on nights of a room type.
type sharedRooms map[civil.Date]sharedNight

type sharedNight struct {
	taken, allotted, physical, outOfOrder int64
	oversellPercent                       *int64
}

// lockTx locks the plans of nights, then their shared counters, as every edit of nights does.
func (r sharedRooms) lockTx(ctx context.Context, tx pgx.Tx, at place, room uuid.UUID, nights []civil.Date) error {
	queries := dbsqlc.New(tx)
	plans, err := lockPlans(ctx, queries, at, room, nights)
	if err != nil {
		return err
	}
	counters, err := queries.SharedNightsLock(ctx, dbsqlc.SharedNightsLockParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: room, Nights: nights})
	if err != nil {
		return fmt.Errorf("lock night counters: %w", err)
	}
	now, err := Now(ctx, tx)
	if err != nil {
		return err
	}
	due, held := dueUnits{}, slices.ContainsFunc(counters, func(row dbsqlc.SharedNightsLockRow) bool { return row.Held > 0 })
	if held {
		// What holds that are due still occupy is free, here as for readers.
		if err := due.read(ctx, tx, at.tenant, string(at.region), now); err != nil {
			return err
		}
	}
	for night, plan := range plans {
		entry := r[night]
		entry.allotted, entry.physical, entry.outOfOrder, entry.oversellPercent = plan.Allotted, plan.Physical, plan.OutOfOrder, plan.OversellPercent
		r[night] = entry
	}
	for _, row := range counters {
		entry := r[row.Night]
		entry.taken = max(0, row.Held+row.Booked-due[nightKey{owner: room, bucket: sharedBucket, night: row.Night}])
		r[row.Night] = entry
	}
	return nil
}

// settle sets the rooms that leave so many for sale.
func (r sharedRooms) settle(change *DatedChange, available int64) error {
	known, none := r[change.Night], int64(0)
	outOfOrder := known.outOfOrder
	if change.Change.OutOfOrder != nil {
		outOfOrder = *change.Change.OutOfOrder
	}
	physical := available + known.taken + known.allotted + outOfOrder
	if physical > maxPhysical {
		return fault.Invalid("available", "night %s: with what is sold, set aside and out of order these are %d rooms; expected at most %d", change.Night, physical, maxPhysical)
	}
	change.Change.Physical, change.Change.Oversell = &physical, &none
	return nil
}

// keepPercent leaves a percentage that gives the very number that is set: partners know numbers only.
func (r sharedRooms) keepPercent(change *NightChange, night civil.Date) {
	known := r[night]
	if change.Oversell == nil || known.oversellPercent == nil {
		return
	}
	physical, outOfOrder := known.physical, known.outOfOrder
	if change.Physical != nil {
		physical = *change.Physical
	}
	if change.OutOfOrder != nil {
		outOfOrder = *change.OutOfOrder
	}
	if shareOfRooms(physical-outOfOrder, *known.oversellPercent) == *change.Oversell {
		change.Oversell = nil
	}
}

// PlannedNight is a night of a room type as it is planned, for who hands it on.
type PlannedNight struct {
	RoomType   RoomTypeID
	Night      civil.Date
	Physical   int64
	OutOfOrder int64
	// Oversell is a number of rooms; OversellPercent is set where it follows from their number.
	Oversell          int64
	OversellPercent   *int64
	StopSell          bool
	ClosedToArrival   bool
	ClosedToDeparture bool
	MinStayArrival    *int64
	MaxStayArrival    *int64
	MinStayThrough    *int64
	MaxStayThrough    *int64
	// RateMinor is the standard rate; nil is none.
	RateMinor *int64
	// Available is how many rooms everybody may still buy, restrictions and house limits aside.
	Available int64
}

// MaxPlannedNights bounds one reading of planned nights, of all room types together.
const MaxPlannedNights = 100_000

// PlannedNightsTx reads nights of room types from first to last, both included, by room type and night. The
// caller has authorised the actor.
func PlannedNightsTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, property tenants.PropertyID, roomTypes []RoomTypeID, first, last civil.Date) ([]PlannedNight, error) {
	queries, region := dbsqlc.New(tx), string(property.Region)
	_, uuids := splitIDs(roomTypes)
	rows, err := queries.PlannedNights(ctx, dbsqlc.PlannedNightsParams{
		TenantID: tenant.UUID, Region: region, RoomTypeIds: uuids, FirstNight: first, LastNight: last, MaxRows: MaxPlannedNights + 1,
	})
	if err != nil {
		return nil, fmt.Errorf("read planned nights: %w", err)
	}
	if len(rows) > MaxPlannedNights {
		return nil, fault.Invalid("to", "these are more than %d nights of room types; ask for a shorter range", MaxPlannedNights)
	}
	now, err := Now(ctx, tx)
	if err != nil {
		return nil, err
	}
	due := dueUnits{}
	if err := due.read(ctx, tx, tenant.UUID, region, now); err != nil {
		return nil, err
	}
	nights := make([]PlannedNight, len(rows))
	for i, row := range rows {
		taken := row.Taken - due[nightKey{owner: row.RoomTypeID, bucket: sharedBucket, night: row.Night}]
		nights[i] = PlannedNight{
			RoomType: RoomTypeID{Region: property.Region, UUID: row.RoomTypeID}, Night: row.Night,
			Physical: row.Physical, OutOfOrder: row.OutOfOrder, Oversell: row.Oversell, OversellPercent: row.OversellPercent,
			StopSell: row.StopSell, ClosedToArrival: row.ClosedToArrival, ClosedToDeparture: row.ClosedToDeparture,
			MinStayArrival: row.MinStayArrival, MaxStayArrival: row.MaxStayArrival, MinStayThrough: row.MinStayThrough, MaxStayThrough: row.MaxStayThrough,
			RateMinor: row.AmountMinor, Available: max(0, row.SellLimit-taken),
		}
	}
	slices.SortFunc(nights, func(a, b PlannedNight) int {
		return cmp.Or(compareUUID(a.RoomType.UUID, b.RoomType.UUID), a.Night.Compare(b.Night))
	})
	return nights, nil
}

// NoteFed tells the planner's statistics of nights that feeds wrote.
func (s *Service) NoteFed(ctx context.Context, set NightsSet) { s.noteNights(ctx, int64(set.Nights)) }
