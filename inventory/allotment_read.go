package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// AllotmentStock is what an allotment has of one night, or of its pool, and what became of it: Quantity
// is Held + Sold + Released + Free, and what is not there for it because less can be sold than was set
// aside.
type AllotmentStock struct {
	// Night is zero for a pool.
	Night civil.Date
	// State is RELEASED from the moment of its release, whether or not anybody has carried it out.
	State    AllotmentState
	Quantity int64
	// Held are of live holds, Sold of bookings.
	Held, Sold int64
	// Released is what everybody could buy since the release, or the cancellation.
	Released int64
	// Free is what the channel can sell of it now.
	Free      int64
	ReleaseAt *time.Time
}

// AllotmentEntry is one step of an allotment's history.
type AllotmentEntry struct {
	Version int64
	Action  AllotmentAction
	// Actor is the public id of the key or the member whose command it was; "" means that the time of a
	// release had come. Key is the key, or zero.
	Actor string
	Key   tenants.KeyID
	// Units is by how many units, over all nights, what it keeps from others grew; less than 0 is shrank.
	Units int64
	At    time.Time
}

// AllotmentFilter chooses the allotments of one property or one show.
type AllotmentFilter struct {
	Property *tenants.PropertyID
	Show     *ShowID
	// Channel limits to one channel's; nil is all that the actor may see.
	Channel *tenants.ChannelID
}

// AllotmentCursor is where a page ended.
type AllotmentCursor struct {
	CreatedAt time.Time
	ID        uuid.UUID
}

// mayOnlySee is the channel whose allotments are the only ones that exist for the actor; nil is every
// channel, and the zero id none: a guest sees no allotment, whatever key the session came with.
func mayOnlySee(actor tenants.Actor) *tenants.ChannelID {
	switch {
	case !actor.Session.IsZero():
		return &tenants.ChannelID{}
	case actor.IsStaff():
		return nil
	}
	return &actor.Channel
}

// Allotment reads one allotment: for the tenant's admins, and for the partner whose channel it is.
func (s *Service) Allotment(ctx context.Context, actor tenants.Actor, id AllotmentID) (Allotment, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionAllotmentRead, "allotment", id.Region, id.UUID); err != nil {
		return Allotment{}, err
	}
	at := placeOf(actor.Tenant, id.Region)
	rows, err := dbsqlc.New(s.db.Pool()).AllotmentsByID(ctx, dbsqlc.AllotmentsByIDParams{TenantID: at.tenant, Region: string(at.region), Ids: []uuid.UUID{id.UUID}})
	if err != nil {
		return Allotment{}, db.Classify(fmt.Errorf("read the allotment: %w", err))
	}
	if only := mayOnlySee(actor); len(rows) == 0 || only != nil && rows[0].ChannelID != only.UUID {
		return Allotment{}, fault.NotFound("allotment")
	}
	return allotmentOf(at, rows[0]), nil
}

// Allotments lists allotments in the order in which they were made, at most limit after the cursor, and
// says whether more follow.
func (s *Service) Allotments(ctx context.Context, actor tenants.Actor, filter AllotmentFilter, after *AllotmentCursor, limit int) ([]Allotment, bool, error) {
	if err := s.authorizeScope(ctx, actor, policies.ActionAllotmentRead, filter.Show, nil, filter.Property); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	if (filter.Property == nil) == (filter.Show == nil) {
		return nil, false, fault.Invalid("property", "expected exactly one of property and show")
	}
	if only := mayOnlySee(actor); only != nil {
		if filter.Channel != nil && *filter.Channel != *only {
			return nil, false, nil
		}
		filter.Channel = only
	}
	var from AllotmentCursor
	if after != nil {
		from = *after
	}
	at, rows, err := s.allotmentPage(ctx, actor, filter, from, int32(limit+1)) //nolint:gosec // at most MaxPage
	if err != nil {
		return nil, false, db.Classify(err)
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	found := make([]Allotment, len(rows))
	for i, row := range rows {
		found[i] = allotmentOf(at, row)
	}
	return found, more, nil
}

func (s *Service) allotmentPage(ctx context.Context, actor tenants.Actor, filter AllotmentFilter, from AllotmentCursor, rows int32) (place, []dbsqlc.AllotmentsByIDRow, error) {
	queries := dbsqlc.New(s.db.Pool())
	var channel uuid.UUID
	if filter.Channel != nil {
		channel = filter.Channel.UUID
	}
	var page []dbsqlc.AllotmentsByIDRow
	if filter.Property != nil {
		at := placeOf(actor.Tenant, filter.Property.Region)
		found, err := queries.PropertyForSetup(ctx, dbsqlc.PropertyForSetupParams{TenantID: at.tenant, ID: filter.Property.UUID})
		if db.IsNoRows(err) || err == nil && found.Region != string(at.region) {
			return at, nil, fault.NotFound("property")
		}
		if err != nil {
			return at, nil, fmt.Errorf("read the property: %w", err)
		}
		list, err := queries.AllotmentsOfPropertyPage(ctx, dbsqlc.AllotmentsOfPropertyPageParams{
			TenantID: at.tenant, Region: string(at.region), PropertyID: filter.Property.UUID, OneChannel: filter.Channel != nil, ChannelID: channel,
			AfterCreatedAt: from.CreatedAt, AfterID: from.ID, MaxRows: rows,
		})
		for _, row := range list {
			page = append(page, dbsqlc.AllotmentsByIDRow(row))
		}
		return at, page, wrap("list allotments", err)
	}
	at := placeOf(actor.Tenant, filter.Show.Region)
	if err := showTx(ctx, s.db.Pool(), at, filter.Show.UUID); err != nil {
		return at, nil, err
	}
	list, err := queries.AllotmentsOfShowPage(ctx, dbsqlc.AllotmentsOfShowPageParams{
		TenantID: at.tenant, Region: string(at.region), ShowID: filter.Show.UUID, OneChannel: filter.Channel != nil, ChannelID: channel,
		AfterCreatedAt: from.CreatedAt, AfterID: from.ID, MaxRows: rows,
	})
	for _, row := range list {
		page = append(page, dbsqlc.AllotmentsByIDRow(row))
	}
	return at, page, wrap("list allotments", err)
}

func wrap(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// AllotmentStocks reads what allotments have of each night, in ascending order. They must be ones that
// the actor was shown.
func (s *Service) AllotmentStocks(ctx context.Context, actor tenants.Actor, wanted []AllotmentID) (map[AllotmentID][]AllotmentStock, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionAllotmentRead, actor.Tenant)); err != nil {
		return nil, err
	}
	for _, id := range wanted {
		if err := s.authorizeAt(ctx, actor, policies.ActionAllotmentRead, "allotment", id.Region, id.UUID); err != nil {
			return nil, err
		}
	}
	return db.InSnapshotAsOf(ctx, s.db, func(ctx context.Context, at db.Snapshot) (map[AllotmentID][]AllotmentStock, error) {
		asOf, err := at.AsOf(ctx)
		if err != nil {
			return nil, err
		}
		regions, uuids := splitIDs(wanted)
		stocks := make(map[AllotmentID][]AllotmentStock, len(wanted))
		for _, region := range regions {
			rows, err := dbsqlc.New(at.Tx).AllotmentStock(ctx, dbsqlc.AllotmentStockParams{TenantID: actor.Tenant.UUID, Regions: []string{region}, AllotmentIds: uuids})
			if err != nil {
				return nil, fmt.Errorf("read the nights of allotments: %w", err)
			}
			due := dueUnits{}
			if err := due.read(ctx, at.Tx, actor.Tenant.UUID, region, asOf); err != nil {
				return nil, err
			}
			for _, row := range rows {
				id := AllotmentID{Region: ids.Region(region), UUID: row.AllotmentID}
				stocks[id] = append(stocks[id], allotmentStockOf(row, due, asOf))
			}
		}
		return stocks, nil
	})
}

func allotmentStockOf(row dbsqlc.AllotmentStockRow, due dueUnits, asOf time.Time) AllotmentStock {
	key := nightKey{owner: row.UnitID, bucket: row.AllotmentID, night: row.Night}
	stock := AllotmentStock{Night: row.Night, Quantity: row.Quantity, Sold: row.Booked, ReleaseAt: row.ReleaseAt}
	if row.Night == poolNight {
		stock.Night, key.night = civil.Date{}, civil.Date{}
	}
	// Units of a hold whose time is over are free.
	stock.Held = max(0, row.Held-due[key])
	part := allotmentPart{state: partState(row.State), releaseAt: row.ReleaseAt}
	switch {
	case part.open(asOf):
		stock.State, stock.Free = AllotmentStateDefinite, max(0, row.SellLimit-stock.Held-stock.Sold)
	case part.state == partTentative:
		stock.State = AllotmentStateTentative
	case part.state == partCancelled:
		stock.State, stock.Released = AllotmentStateCancelled, max(0, row.Quantity-stock.Held-stock.Sold)
	default:
		stock.State, stock.Released = AllotmentStateReleased, max(0, row.Quantity-stock.Held-stock.Sold)
	}
	return stock
}

// AllotmentHistory lists what happened to an allotment, the latest first, at most limit before a version
// (0 is from the latest), and says whether more follow.
func (s *Service) AllotmentHistory(ctx context.Context, actor tenants.Actor, id AllotmentID, before int64, limit int) ([]AllotmentEntry, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionAllotmentRead, "allotment", id.Region, id.UUID); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	allotment, err := s.Allotment(ctx, actor, id)
	if err != nil {
		return nil, false, err
	}
	if before == 0 {
		before = allotment.Version + 1
	}
	rows, err := dbsqlc.New(s.db.Pool()).AllotmentChangesOf(ctx, dbsqlc.AllotmentChangesOfParams{
		TenantID: actor.Tenant.UUID, Region: string(id.Region), AllotmentID: id.UUID, BeforeVersion: before, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	})
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("read the history of the allotment: %w", err))
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	by := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		if row.KeyID != nil {
			by[i] = *row.KeyID
		}
	}
	acted, err := tenants.WhoActed(ctx, s.db.Pool(), actor.Tenant, by)
	if err != nil {
		return nil, false, db.Classify(err)
	}
	entries := make([]AllotmentEntry, len(rows))
	for i, row := range rows {
		entries[i] = AllotmentEntry{
			Version: row.Version, Action: AllotmentAction(row.Action), Actor: acted.Actor(by[i]), Key: acted.Key(by[i]), Units: row.Units, At: row.OccurredAt,
		}
	}
	return entries, more, nil
}

// left is what a channel can hold of one pool or night, when all that is due was given back.
func (s unitStock) left(channel uuid.UUID, due dueUnits, asOf time.Time) int64 {
	key := func(bucket uuid.UUID) nightKey {
		of := nightKey{owner: s.unit, bucket: bucket, night: s.night}
		if s.night == poolNight {
			of.night = civil.Date{}
		}
		return of
	}
	now := s
	now.sharedTaken -= due[key(sharedBucket)]
	now.buckets = make([]bucketStock, len(s.buckets))
	parts := make([]allotmentPart, len(s.buckets))
	for i, bucket := range s.buckets {
		parts[i] = bucket.part
		bucket.taken -= due[key(bucket.part.allotment)]
		now.buckets[i] = bucket
	}
	to := now.fit(openAt(asOf))
	free := int64(0)
	for _, from := range bucketsOf(parts, channel, asOf) {
		if from == sharedBucket {
			free += max(0, to.shared-now.sharedTaken)
			continue
		}
		for i, bucket := range now.buckets {
			if bucket.part.allotment == from {
				free += max(0, to.buckets[i]-bucket.taken)
			}
		}
	}
	return free
}

// shownParts reads what is set aside of units, with its counters.
func shownParts(ctx context.Context, at db.Snapshot, tenant uuid.UUID, regions []string, units []uuid.UUID, first, last civil.Date) (map[nightKey][]bucketStock, error) {
	if len(units) == 0 {
		return nil, nil //nolint:nilnil // nothing is set aside of no units
	}
	rows, err := dbsqlc.New(at.Tx).AllotmentPartsShown(ctx, dbsqlc.AllotmentPartsShownParams{
		TenantID: tenant, Regions: regions, UnitIds: units, FirstNight: first, LastNight: last,
	})
	if err != nil {
		return nil, fmt.Errorf("read allotments: %w", err)
	}
	shown := map[nightKey][]bucketStock{}
	for _, row := range rows {
		part := partOf(dbsqlc.AllotmentPartsForClaimRow{
			AllotmentID: row.AllotmentID, UnitID: row.UnitID, Night: row.Night, Quantity: row.Quantity, State: row.State, ReleaseAt: row.ReleaseAt,
			ChannelID: row.ChannelID, SellsShared: row.SellsShared, DefiniteAt: row.DefiniteAt,
		})
		shown[part.key()] = append(shown[part.key()], bucketStock{part: part, taken: row.Held + row.Booked, limit: row.SellLimit, counted: true})
	}
	return shown, nil
}

// shownNights reads what is set aside of the nights of a calendar.
func shownNights(ctx context.Context, at db.Snapshot, tenant uuid.UUID, region string, nights []dbsqlc.CalendarNightsRow, first, last civil.Date) (map[nightKey][]bucketStock, error) {
	var rooms []uuid.UUID
	for _, night := range nights {
		if night.HasAllotment && !slices.Contains(rooms, night.RoomTypeID) {
			rooms = append(rooms, night.RoomTypeID)
		}
	}
	return shownParts(ctx, at, tenant, []string{region}, rooms, first, last)
}

// nightStock is a night of a calendar with what is set aside of it.
func nightStock(row dbsqlc.CalendarNightsRow, setAside map[nightKey][]bucketStock) unitStock {
	return unitStock{
		unit: row.RoomTypeID, night: row.Night, capacity: max(0, row.Physical-row.OutOfOrder+row.Oversell), sharedTaken: row.Held + row.Booked,
		buckets: setAside[nightKey{owner: row.RoomTypeID, night: row.Night}],
	}
}
