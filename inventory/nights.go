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
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// NightsEdit sets the same on every night of a range.
type NightsEdit struct {
	// RequestKey is needed where the edit becomes a job, which must not be made twice; a shorter edit
	// may be repeated freely and needs none.
	RequestKey string
	// Exactly one of RoomType and Property is set. A property stands for all its room types.
	RoomType *RoomTypeID
	Property *tenants.PropertyID
	// RatePlan has the change set for what is sold as the plan; it then names the rate and restrictions alone.
	RatePlan *RatePlanID `json:",omitempty"`
	Nights   NightRange
	Change   NightChange
}

// NightRange names nights from First to Last, both included, on some weekdays; nil means all.
type NightRange struct {
	First    civil.Date
	Last     civil.Date
	Weekdays []time.Weekday
}

// dates are the nights of the range in ascending order.
func (r NightRange) dates(field string) ([]civil.Date, error) {
	if !r.First.IsValid() || r.First.Year < 2000 || r.First.Year > 2199 {
		return nil, fault.Invalid(field+".from", "expected a date between 2000 and 2199, such as 2027-03-14")
	}
	if !r.Last.IsValid() || r.Last.Year > 2199 {
		return nil, fault.Invalid(field+".to", "expected a date between 2000 and 2199, such as 2027-03-14")
	}
	if r.Last.Before(r.First) {
		return nil, fault.Invalid(field+".to", "expected a date not before from %s, got %s", r.First, r.Last)
	}
	if days := r.Last.DaysSince(r.First) + 1; days > MaxNightRange {
		return nil, fault.Invalid(field+".to", "a range has at most %d nights, got %d", MaxNightRange, days)
	}
	if r.Weekdays != nil && len(r.Weekdays) == 0 {
		return nil, fault.Invalid(field+".weekdays", "expected at least one day; leave it out for all")
	}
	dates := r.within(r.First, r.Last)
	if len(dates) == 0 {
		return nil, fault.Invalid(field+".weekdays", "no night of the range falls on these weekdays")
	}
	return dates, nil
}

// within are the nights from first to last that begin on the range's weekdays.
func (r NightRange) within(first, last civil.Date) []civil.Date {
	var dates []civil.Date
	for night := first; !night.After(last); night = night.AddDays(1) {
		if r.Weekdays == nil || slices.Contains(r.Weekdays, night.Weekday()) {
			dates = append(dates, night)
		}
	}
	return dates
}

// NightChange is what to set on a night; nil leaves it. A night that does not exist yet needs
// Physical. The length-of-stay rules take 0 as "no rule". Its JSON form is stored with jobs and in the
// log of changes.
type NightChange struct {
	// Physical is how many rooms of the type there are.
	Physical *int64
	// OutOfOrder is how many of them cannot be sold.
	OutOfOrder *int64
	// Oversell is how many more than can be sold may be sold all the same: a number of rooms, or
	// OversellPercent of the rooms that are not out of order, rounded down, which then follows them.
	Oversell          *int64
	OversellPercent   *int64
	StopSell          *bool
	ClosedToArrival   *bool
	ClosedToDeparture *bool
	MinStayArrival    *int64
	MaxStayArrival    *int64
	MinStayThrough    *int64
	MaxStayThrough    *int64
	// RateMinor is the price of one room on the night, in minor units of the property's currency.
	RateMinor *int64
	// HouseLimit caps the sum over all room types of the property; NoHouseLimit takes the cap away.
	HouseLimit   *int64
	NoHouseLimit bool
}

// DatedChange is a change of one night, as a CSV file has it.
type DatedChange struct {
	Night  civil.Date
	Change NightChange
}

// NightsSet is what an edit did.
type NightsSet struct {
	// Nights is how many nights of room types and houses were written.
	Nights int
	// Oversold lists those that are now sold above their limit. They stay sold, and sell nothing more
	// until they are below it.
	Oversold []OversoldNight
	// Job is set where the edit is too large for one transaction: then nothing is written yet.
	Job *NightsJobID
}

// OversoldNight is a night of a room type, or of a whole house, with more taken than its limit.
type OversoldNight struct {
	Property tenants.PropertyID
	// RoomType is zero for the house.
	RoomType  RoomTypeID
	Night     civil.Date
	SellLimit int64
	Held      int64
	Booked    int64
	// Excess is how many are taken above a limit: the night's, or that of the stock that channels share
	// besides their allotments.
	Excess int64
}

// Taken is what is held and booked.
func (o OversoldNight) Taken() int64 { return o.Held + o.Booked }

// SetNights writes the same change on every night of a range, all or none. Other nights, and
// everything the change does not name, stay as they are. More than MaxNightsPerEdit nights, counted for
// each room type, are written by a job.
func (s *Service) SetNights(ctx context.Context, actor tenants.Actor, edit NightsEdit) (NightsSet, error) {
	if err := s.authorizeChange(ctx, actor, edit.RoomType, edit.Property, edit.Change); err != nil {
		return NightsSet{}, err
	}
	dates, err := edit.check()
	if err != nil {
		return NightsSet{}, err
	}
	target, err := s.targetOf(ctx, actor, edit)
	if err != nil {
		return NightsSet{}, err
	}
	if edit.RatePlan != nil {
		if err := s.aimAtPlan(ctx, actor, &target, edit); err != nil {
			return NightsSet{}, err
		}
	}
	if edit.size(target, len(dates)) > MaxNightsPerEdit {
		return s.startNightsJob(ctx, actor, edit, target, dates)
	}
	set, err := db.Replayable(ctx, s.db, "inventory.SetNights", func(ctx context.Context, tx pgx.Tx) (NightsSet, error) {
		return writeTargetTx(ctx, tx, actor.Tenant, actor.Author(), target, dates, edit.Change)
	})
	if err == nil {
		s.noteNights(ctx, int64(set.Nights))
	}
	return set, err
}

// authorizeChange asks for each part of a change whether the actor may set it there.
func (s *Service) authorizeChange(ctx context.Context, actor tenants.Actor, room *RoomTypeID, property *tenants.PropertyID, change NightChange) error {
	rate, house := change.RateMinor != nil, change.HouseLimit != nil || change.NoHouseLimit
	for _, part := range []struct {
		named  bool
		action tenants.Action
	}{{rate, policies.ActionRatesSet}, {house, policies.ActionHouseLimitsSet}, {change.setsPlan() || !rate && !house, policies.ActionNightsSet}} {
		if !part.named {
			continue
		}
		var err error
		switch {
		case room != nil:
			err = s.authorizeAt(ctx, actor, part.action, "room type", room.Region, room.UUID)
		case property != nil:
			err = s.authorizeAt(ctx, actor, part.action, "property", property.Region, property.UUID)
		default:
			err = s.authorizer.Authorize(actor, part.action, actor.Tenant)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check says what is wrong with the form of an edit, and which nights it names.
func (e NightsEdit) check() ([]civil.Date, error) {
	if (e.RoomType == nil) == (e.Property == nil) {
		return nil, fault.Invalid("roomType", "expected exactly one of roomType and property")
	}
	if e.RatePlan != nil {
		if err := e.Change.checkPlanChange(); err != nil {
			return nil, err
		}
	}
	dates, err := e.Nights.dates("nights")
	if err != nil {
		return nil, err
	}
	return dates, e.Change.validate(dates[0])
}

// target is what an edit is about: room types of one property, and perhaps its house.
type target struct {
	at       place
	property uuid.UUID
	// rooms are in the order in which they are locked.
	rooms []uuid.UUID
	// plan is the rate plan whose nights are meant; nil are those of the room types.
	plan *uuid.UUID
}

// targetOf reads what the edit names.
func (s *Service) targetOf(ctx context.Context, actor tenants.Actor, edit NightsEdit) (target, error) {
	queries := dbsqlc.New(s.db.Pool())
	if edit.RoomType != nil {
		t := target{at: placeOf(actor.Tenant, edit.RoomType.Region), rooms: []uuid.UUID{edit.RoomType.UUID}}
		found, err := queries.RoomTypesForClaim(ctx, dbsqlc.RoomTypesForClaimParams{TenantID: t.at.tenant, Region: string(t.at.region), Ids: t.rooms})
		if err != nil {
			return target{}, db.Classify(fmt.Errorf("read the room type: %w", err))
		}
		if len(found) == 0 {
			return target{}, fault.NotFound("room type")
		}
		t.property = found[0].PropertyID
		return t, nil
	}
	t := target{at: placeOf(actor.Tenant, edit.Property.Region), property: edit.Property.UUID}
	if _, err := propertyCurrency(ctx, queries, actor.Tenant, *edit.Property); err != nil {
		return target{}, db.Classify(err)
	}
	types, err := queries.RoomTypesOfProperties(ctx, dbsqlc.RoomTypesOfPropertiesParams{
		TenantID: t.at.tenant, Regions: []string{string(t.at.region)}, PropertyIds: []uuid.UUID{t.property},
	})
	if err != nil {
		return target{}, db.Classify(fmt.Errorf("read the property's room types: %w", err))
	}
	for _, row := range types {
		t.rooms = append(t.rooms, row.ID)
	}
	slices.SortFunc(t.rooms, compareUUID)
	if len(t.rooms) == 0 && edit.Change.setsRooms() {
		return target{}, fault.Invalid("property", "it has no room type yet")
	}
	return t, nil
}

// size is how many nights of room types and of the house an edit writes.
func (e NightsEdit) size(t target, dates int) int {
	size := 0
	if e.Change.setsRooms() {
		size += len(t.rooms) * dates
	}
	if e.Change.setsHouse() {
		size += dates
	}
	return size
}

// setsPlan, setsRooms and setsHouse tell which rows a change writes.
func (c NightChange) setsPlan() bool {
	c.RateMinor, c.HouseLimit, c.NoHouseLimit = nil, nil, false
	return c != NightChange{}
}

func (c NightChange) setsRooms() bool { return c.setsPlan() || c.RateMinor != nil }

func (c NightChange) setsHouse() bool { return c.HouseLimit != nil || c.NoHouseLimit }

// WriteNights writes a change of its own on each night of a room type, in one transaction: all or none.
func (s *Service) WriteNights(ctx context.Context, actor tenants.Actor, roomType RoomTypeID, changes []DatedChange) (NightsSet, error) {
	// What any night changes is asked for once.
	var asked NightChange
	for _, change := range changes {
		if change.Change.RateMinor != nil {
			asked.RateMinor = change.Change.RateMinor
		}
		if change.Change.setsPlan() {
			asked.Physical = new(int64)
		}
	}
	if err := s.authorizeChange(ctx, actor, &roomType, nil, asked); err != nil {
		return NightsSet{}, err
	}
	if len(changes) < 1 || len(changes) > MaxNightsPerEdit {
		return NightsSet{}, fault.Invalid("nights", "expected 1 to %d nights, got %d", MaxNightsPerEdit, len(changes))
	}
	changes = slices.Clone(changes)
	slices.SortFunc(changes, func(a, b DatedChange) int { return a.Night.Compare(b.Night) })
	for i, change := range changes {
		if i > 0 && changes[i-1].Night == change.Night {
			return NightsSet{}, fault.Invalid("nights", "night %s is named twice", change.Night)
		}
		if err := change.Change.validate(change.Night); err != nil {
			return NightsSet{}, err
		}
		if change.Change.setsHouse() {
			return NightsSet{}, fault.Invalid("houseLimit", "night %s: it is of the house, not of a room type", change.Night)
		}
	}
	target, err := s.targetOf(ctx, actor, NightsEdit{RoomType: &roomType})
	if err != nil {
		return NightsSet{}, err
	}
	set, err := db.Replayable(ctx, s.db, "inventory.WriteNights", func(ctx context.Context, tx pgx.Tx) (NightsSet, error) {
		over, err := writeNightsTx(ctx, tx, actor.Tenant, actor.Author(), target, roomType.UUID, changes)
		return NightsSet{Nights: len(changes), Oversold: over}, err
	})
	if err == nil {
		s.noteNights(ctx, int64(len(changes)))
	}
	return set, err
}

func (s *Service) noteNights(ctx context.Context, nights int64) {
	for _, table := range []string{"night_plans", "night_rates", "night_counters"} {
		s.noteGrowth(ctx, table, nights)
	}
}

// OversoldNights lists what is over its limit at a property from first to last, both included: after
// an edit that ran as a job, or at any time. It says whether more follow.
func (s *Service) OversoldNights(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, first, last civil.Date, after *OversoldCursor, limit int) ([]OversoldNight, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionNightsRead, "property", property.Region, property.UUID); err != nil {
		return nil, false, err
	}
	if err := checkRange(first, last, MaxCalendarDays); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	target, err := s.targetOf(ctx, actor, NightsEdit{Property: &property})
	if err != nil {
		return nil, false, err
	}
	at := OversoldCursor{Night: first.AddDays(-1), Room: uuid.Max}
	if after != nil {
		at = *after
	}
	rows, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]dbsqlc.OversoldNightsPageRow, error) {
		return dbsqlc.New(tx).OversoldNightsPage(ctx, dbsqlc.OversoldNightsPageParams{
			TenantID: target.at.tenant, Region: string(target.at.region), PropertyID: target.property, RoomTypeIds: target.rooms,
			FirstNight: first, LastNight: last, AfterNight: at.Night, AfterRoom: at.Room, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
		})
	}, db.Stale(listStaleness))
	if err != nil {
		return nil, false, fmt.Errorf("list oversold nights: %w", err)
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	nights := make([]OversoldNight, len(rows))
	for i, row := range rows {
		nights[i] = OversoldNight{
			Property: property, Night: row.Night, SellLimit: row.SellLimit, Held: row.Held, Booked: row.Booked, Excess: row.Excess,
		}
		if row.RoomTypeID != uuid.Max {
			nights[i].RoomType = RoomTypeID{Region: property.Region, UUID: row.RoomTypeID}
		}
	}
	return nights, more, nil
}

// OversoldCursor is where a page of oversold nights begins: after this one. The house comes after all
// room types.
type OversoldCursor struct {
	Night civil.Date
	Room  uuid.UUID
}

// Cursor is where the page after this night begins.
func (o OversoldNight) Cursor() OversoldCursor {
	if o.RoomType.IsZero() {
		return OversoldCursor{Night: o.Night, Room: uuid.Max}
	}
	return OversoldCursor{Night: o.Night, Room: o.RoomType.UUID}
}

// checkRange says what is wrong with a range of nights that is read.
func checkRange(first, last civil.Date, most int) error {
	switch {
	case !isDate(first):
		return fault.Invalid("from", "expected a date such as 2027-03-14")
	case !isDate(last) || last.Before(first):
		return fault.Invalid("to", "expected a date not before from %s, got %s", first, last)
	case last.DaysSince(first) >= most:
		return fault.Invalid("to", "expected at most %d days, got %d", most, last.DaysSince(first)+1)
	}
	return nil
}

func (c NightChange) validate(night civil.Date) error {
	if !night.IsValid() || night.Year < 2000 || night.Year > 2199 {
		return fault.Invalid("night", "expected a date between 2000 and 2199, such as 2027-03-14")
	}
	for _, bound := range []struct {
		field string
		value *int64
		high  int64
	}{
		{"physical", c.Physical, 100_000},
		{"outOfOrder", c.OutOfOrder, 100_000},
		{"oversell", c.Oversell, 100_000},
		{"oversellPercent", c.OversellPercent, 100},
		{"minStayArrival", c.MinStayArrival, maxStayDays},
		{"maxStayArrival", c.MaxStayArrival, maxStayDays},
		{"minStayThrough", c.MinStayThrough, maxStayDays},
		{"maxStayThrough", c.MaxStayThrough, maxStayDays},
		{"houseLimit", c.HouseLimit, 1_000_000},
	} {
		if bound.value != nil && (*bound.value < 0 || *bound.value > bound.high) {
			return fault.Invalid(bound.field, "expected 0 to %d, got %d", bound.high, *bound.value)
		}
	}
	if c.Oversell != nil && c.OversellPercent != nil {
		return fault.Invalid("oversellPercent", "expected oversell or oversellPercent, not both")
	}
	if c.HouseLimit != nil && c.NoHouseLimit {
		return fault.Invalid("noHouseLimit", "expected houseLimit or noHouseLimit, not both")
	}
	if c.RateMinor != nil {
		return checkPrice("rate", *c.RateMinor)
	}
	return nil
}

// requireKey is asked of an edit that becomes a job.
func (e NightsEdit) requireKey(size int) error {
	if e.RequestKey == "" {
		return fault.Invalid("requestKey", "expected a key of 1 to %d characters: %d nights are more than one transaction writes (%d), so the edit runs as a job",
			request.MaxKeyLength, size, MaxNightsPerEdit)
	}
	return request.ValidateKey(e.RequestKey)
}
