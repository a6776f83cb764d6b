package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// site is where an allotment's pool or room type is, and by which clock its nights are released.
type allotmentSite struct {
	location *time.Location
	// property, or show with its date and capacity.
	property, show uuid.UUID
	showDate       civil.Date
	capacity       int64
	// completed: the show is over for good, and its counters are on their way to the past tables or there.
	completed bool
}

// locate finds the pool or room type of an allotment, if it is the tenant's.
func (a Allotment) locate(ctx context.Context, tx pgx.Tx, at place) (allotmentSite, error) {
	var found allotmentSite
	var zone string
	queries := dbsqlc.New(tx)
	if a.ofPool() {
		pool, err := queries.PoolForAllotment(ctx, dbsqlc.PoolForAllotmentParams{TenantID: at.tenant, Region: string(at.region), ID: a.Pool.UUID})
		switch {
		case db.IsNoRows(err):
			return found, fault.NotFound("pool")
		case err != nil:
			return found, fmt.Errorf("read the pool: %w", err)
		}
		zone, found.show, found.capacity, found.completed = pool.TimeZone, pool.ShowID, pool.Capacity, pool.Completed
		found.showDate = civil.DateOf(pool.StartsAt) // at the venue, below
		location, err := time.LoadLocation(zone)
		if err != nil {
			return found, fmt.Errorf("time zone %q of the show of pool %s: %w", zone, a.Pool, err)
		}
		found.location, found.showDate = location, civil.DateOf(pool.StartsAt.In(location))
		return found, nil
	}
	rooms, err := queries.RoomTypesForClaim(ctx, dbsqlc.RoomTypesForClaimParams{TenantID: at.tenant, Region: string(at.region), Ids: []uuid.UUID{a.RoomType.UUID}})
	switch {
	case err != nil:
		return found, fmt.Errorf("read the room type: %w", err)
	case len(rooms) == 0:
		return found, fault.NotFound("room type")
	}
	found.property = rooms[0].PropertyID
	if found.location, err = time.LoadLocation(rooms[0].TimeZone); err != nil {
		return found, fmt.Errorf("time zone %q of property %s: %w", rooms[0].TimeZone, found.property, err)
	}
	return found, nil
}

// edit is a change of an allotment whose row is locked.
type edit struct {
	at        place
	allotment Allotment
	zone      allotmentSite
	// key is whose; nil is nobody's: the time had come.
	by    *tenants.Actor
	now   time.Time
	parts map[civil.Date]*editedPart
}

type editedPart struct {
	quantity  int64
	state     partState
	releaseAt *time.Time
	// touched parts are stored, and their nights shared out anew.
	touched bool
	// grows: there must be enough free for its size.
	grows bool
	// before is what it was when it was read; zero for a new one.
	before allotmentPart
}

func (p *editedPart) set(state partState) { p.state, p.touched = state, true }

// lockAllotment reads an allotment with its parts, and locks its row.
func lockAllotment(ctx context.Context, tx pgx.Tx, at place, id AllotmentID, by *tenants.Actor) (*edit, error) {
	queries := dbsqlc.New(tx)
	row, err := queries.AllotmentLock(ctx, dbsqlc.AllotmentLockParams{TenantID: at.tenant, Region: string(at.region), ID: id.UUID})
	switch {
	case db.IsNoRows(err):
		return nil, fault.NotFound("allotment")
	case err != nil:
		return nil, fmt.Errorf("lock the allotment: %w", err)
	}
	e := &edit{at: at, allotment: allotmentOf(at, dbsqlc.AllotmentsByIDRow(row)), by: by, parts: map[civil.Date]*editedPart{}}
	// The clock after the wait for the lock.
	if e.now, err = Now(ctx, tx); err != nil {
		return nil, err
	}
	if e.zone, err = e.allotment.locate(ctx, tx, at); err != nil {
		return nil, err
	}
	parts, err := queries.AllotmentPartsOf(ctx, dbsqlc.AllotmentPartsOfParams{TenantID: at.tenant, Region: string(at.region), AllotmentID: id.UUID})
	if err != nil {
		return nil, fmt.Errorf("read the nights of the allotment: %w", err)
	}
	for _, part := range parts {
		e.parts[part.Night] = &editedPart{
			quantity: part.Quantity, state: partState(part.State), releaseAt: part.ReleaseAt,
			before: allotmentPart{quantity: part.Quantity, state: partState(part.State), releaseAt: part.ReleaseAt},
		}
	}
	return e, nil
}

// releaseOf is when what the allotment has of a date is released.
func (e *edit) releaseOf(date civil.Date) *time.Time {
	if e.allotment.ofPool() {
		date = e.zone.showDate
	}
	return e.allotment.Release.of(date, e.zone.location)
}

func (e *edit) end(state AllotmentState) {
	e.allotment.State, e.allotment.EndedAt = state, &e.now
}

// makeDefinite opens every part whose release has not come, and reports whether there was one.
func (e *edit) makeDefinite() bool {
	opened := false
	for _, part := range e.parts {
		if part.releaseAt != nil && !e.now.Before(*part.releaseAt) {
			part.set(partReleased)
			continue
		}
		part.set(partOpen)
		part.grows, opened = true, true
	}
	e.allotment.State, e.allotment.DefiniteAt = AllotmentStateDefinite, &e.now
	return opened
}

// release gives the rest of chosen parts to everybody, and reports whether any was open.
func (e *edit) release(chosen func(civil.Date, *editedPart) bool) bool {
	released, open := false, false
	for date, part := range e.parts {
		if part.state != partOpen {
			continue
		}
		if chosen(date, part) {
			part.set(partReleased)
			released = true
		} else {
			open = true
		}
	}
	if released && !open {
		e.end(AllotmentStateReleased)
	}
	return released
}

// chosen are the dates that a command is about: those of a range, which must be the allotment's, or all.
func (e *edit) chosen(nights *NightRange) ([]civil.Date, error) {
	if nights == nil {
		dates := make([]civil.Date, 0, len(e.parts))
		for date := range e.parts {
			dates = append(dates, date)
		}
		slices.SortFunc(dates, civil.Date.Compare)
		return dates, nil
	}
	if e.allotment.ofPool() {
		return nil, fault.Invalid("nights", "the allotment is of a pool, which has no nights; expected none")
	}
	named, err := nights.dates("nights")
	if err != nil {
		return nil, err
	}
	var dates []civil.Date
	for _, date := range named {
		if e.parts[date] != nil {
			dates = append(dates, date)
		}
	}
	if len(dates) == 0 {
		return nil, fault.Invalid("nights", "the allotment has none of these nights; it is for %s to %s", e.allotment.Nights.First, e.allotment.Nights.Last)
	}
	return dates, nil
}

// change sets what is named.
func (e *edit) change(c AllotmentChange) error {
	if c.Name != nil {
		e.allotment.Name = *c.Name
	}
	if c.SellsShared != nil {
		e.allotment.SellsShared = *c.SellsShared
	}
	if c.Quantity != nil {
		dates, err := e.chosen(c.Nights)
		if err != nil {
			return err
		}
		for _, date := range dates {
			part := e.parts[date]
			if part.state != partOpen && part.state != partTentative || part.quantity == *c.Quantity {
				continue
			}
			part.grows = part.state == partOpen && *c.Quantity > part.quantity
			part.quantity, part.touched = *c.Quantity, true
		}
	}
	if c.Release != nil {
		e.allotment.Release = *c.Release
		for date, part := range e.parts {
			if part.state == partOpen || part.state == partTentative {
				part.releaseAt, part.touched = e.releaseOf(date), true
			}
		}
	}
	return nil
}

// touched are the dates of changed parts in ascending order.
func (e *edit) touched() []civil.Date {
	var dates []civil.Date
	for date, part := range e.parts {
		if part.touched {
			dates = append(dates, date)
		}
	}
	slices.SortFunc(dates, civil.Date.Compare)
	return dates
}

func (e *edit) storePartsTx(ctx context.Context, tx pgx.Tx) error {
	params := dbsqlc.AllotmentPartsSetParams{
		TenantID: e.at.tenant, Region: string(e.at.region), AllotmentID: e.allotment.ID.UUID, UnitID: e.allotment.unit(),
	}
	for _, date := range e.touched() {
		part := e.parts[date]
		release := never
		if part.releaseAt != nil {
			release = *part.releaseAt
		}
		params.Nights = append(params.Nights, date)
		params.Quantities = append(params.Quantities, part.quantity)
		params.States = append(params.States, string(part.state))
		params.ReleaseAts = append(params.ReleaseAts, release)
	}
	if len(params.Nights) == 0 {
		return nil
	}
	if _, err := dbsqlc.New(tx).AllotmentPartsSet(ctx, params); err != nil {
		return fmt.Errorf("store the nights of the allotment: %w", err)
	}
	return nil
}

// storeEditTx writes an edit: the allotment with a new version, its parts, and the limits of every
// counter that they change; then what happened, for the history and for whoever is told.
func (s *Service) storeEditTx(ctx context.Context, tx pgx.Tx, e *edit, action AllotmentAction) error {
	a := e.allotment
	n, err := dbsqlc.New(tx).AllotmentSet(ctx, dbsqlc.AllotmentSetParams{
		TenantID: e.at.tenant, Region: string(e.at.region), ID: a.ID.UUID, Version: a.Version, Name: a.Name, SellsShared: a.SellsShared,
		ReleaseAt: a.Release.At, ReleaseDays: a.Release.DaysBefore, ReleaseMinute: (*int64)(a.Release.LocalTime),
		State: string(a.State), DefiniteAt: a.DefiniteAt, EndedAt: a.EndedAt,
	})
	if err != nil {
		return fmt.Errorf("store the allotment: %w", err)
	}
	if n != 1 {
		return fmt.Errorf("store the allotment: %d rows of version %d", n, a.Version)
	}
	if err := e.storePartsTx(ctx, tx); err != nil {
		return err
	}
	units, err := e.fitTx(ctx, tx)
	if err != nil {
		return err
	}
	if err := e.logTx(ctx, tx, action, a.Version+1, units); err != nil {
		return err
	}
	if err := e.noteMovesTx(ctx, tx, a.Version+1); err != nil {
		return err
	}
	if action != AllotmentActionReleased && action != AllotmentActionCancelled {
		return nil
	}
	return s.announcer.AnnounceTx(ctx, tx, AllotmentNews{
		Tenant: tenants.TenantID{UUID: e.at.tenant}, Allotment: a.ID, Channel: a.Channel, Version: a.Version + 1, Action: action, At: e.now,
	})
}

// fitTx shares the stock of touched parts out anew, if there is enough, and says by how many units what
// the allotment keeps from others has grown.
func (e *edit) fitTx(ctx context.Context, tx pgx.Tx) (units int64, err error) {
	dates := e.touched()
	if e.allotment.DefiniteAt == nil || len(dates) == 0 {
		return 0, nil
	}
	if e.allotment.ofPool() {
		return e.fitPoolTx(ctx, tx)
	}
	stocks, err := nightStocks(ctx, tx, e.at, e.allotment.RoomType.UUID, dates)
	if err != nil {
		return 0, err
	}
	if err := e.judge(stocks); err != nil {
		return 0, err
	}
	limits := newNightLimits(e.at, e.allotment.RoomType.UUID)
	for _, stock := range stocks {
		if !stock.planned {
			continue // it was removed, or never was: there is nothing to share
		}
		to := stock.fit(isOpen)
		units += e.gained(stock, to)
		limits.add(stock, to)
	}
	return units, limits.writeTx(ctx, tx)
}

func (e *edit) fitPoolTx(ctx context.Context, tx pgx.Tx) (units int64, err error) {
	if e.zone.completed {
		if e.parts[poolNight].grows {
			return 0, fault.Conflict("the show is over, and its stock is archived")
		}
		return 0, nil
	}
	pool, queries := e.allotment.Pool.UUID, dbsqlc.New(tx)
	if _, err := queries.PoolMarkAllotment(ctx, dbsqlc.PoolMarkAllotmentParams{TenantID: e.at.tenant, Region: string(e.at.region), ID: pool}); err != nil {
		return 0, fmt.Errorf("mark the pool: %w", err)
	}
	rows, err := queries.PoolCountersLock(ctx, dbsqlc.PoolCountersLockParams{TenantID: e.at.tenant, Region: string(e.at.region), PoolIds: []uuid.UUID{pool}})
	if err != nil {
		return 0, fmt.Errorf("lock pool counters: %w", err)
	}
	parts, err := partsOn(ctx, tx, e.at, []uuid.UUID{pool}, poolNight, poolNight)
	if err != nil {
		return 0, err
	}
	known, err := queries.PoolGet(ctx, dbsqlc.PoolGetParams{TenantID: e.at.tenant, Region: string(e.at.region), ID: pool})
	if err != nil {
		return 0, fmt.Errorf("read a pool: %w", err)
	}
	stock := poolStock(pool, e.zone.capacity, known.Shards, rows, parts)
	if err := e.judge([]unitStock{stock}); err != nil {
		return 0, err
	}
	units = e.gained(stock, stock.fit(isOpen))
	_, err = fitPoolTx(ctx, tx, e.at, stock, rows)
	return units, err
}

// gained is by how much the allotment's own limit grows.
func (e *edit) gained(stock unitStock, to shares) int64 {
	for i, bucket := range stock.buckets {
		if bucket.part.allotment == e.allotment.ID.UUID {
			return to.buckets[i] - bucket.limit
		}
	}
	return 0
}

// judge refuses nights that do not exist, that have too little free for a part that grows, and that have
// more sold from a part than its new size.
func (e *edit) judge(stocks []unitStock) error {
	var refused []RefusedLine
	for _, stock := range stocks {
		part := e.parts[stock.night]
		if part.state != partOpen {
			continue
		}
		line := RefusedLine{}
		if e.allotment.ofPool() {
			line.Pool = &e.allotment.Pool
		} else {
			line.Night = &stock.night
		}
		taken, room := stock.bucket(e.allotment.ID.UUID).taken, stock.roomFor(e.allotment.ID.UUID)
		switch {
		case part.grows && !stock.planned:
			line.Code = RefusalNoSuchNight
		case part.grows && part.quantity > room:
			line.Code, line.Limit, line.Available = RefusalSoldOut, &part.quantity, &room
		case part.quantity < taken:
			line.Code, line.Limit, line.Available = RefusalAllotmentSold, &part.quantity, &taken
		default:
			continue
		}
		refused = append(refused, line)
	}
	if len(refused) == 0 {
		return nil
	}
	lack := &lacking{refusal: refuseLines(refused), unit: e.allotment.unit(), property: e.zone.property, nights: e.touched()}
	return lack
}

// logTx adds to the allotment's history.
func (e *edit) logTx(ctx context.Context, tx pgx.Tx, action AllotmentAction, version, units int64) error {
	var key *uuid.UUID
	if e.by != nil {
		key = &e.by.Key.UUID
		if err := tenants.AuditTx(ctx, tx, *e.by, tenants.Change{
			Action: policies.ActionAllotmentSet, Resource: e.allotment.ID, After: struct {
				Change         AllotmentAction
				Version, Units int64
				State          AllotmentState
				Name           string
			}{action, version, units, e.allotment.State, e.allotment.Name},
		}); err != nil {
			return err
		}
	}
	if err := dbsqlc.New(tx).AllotmentChangeInsert(ctx, dbsqlc.AllotmentChangeInsertParams{
		TenantID: e.at.tenant, Region: string(e.at.region), AllotmentID: e.allotment.ID.UUID, Version: version, Action: string(action),
		KeyID: key, Units: units, OccurredAt: e.now,
	}); err != nil {
		return fmt.Errorf("note what happened to the allotment: %w", err)
	}
	return nil
}
