package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// market is everything by which stays at some hotels are judged and priced, read once: a fixed number of
// statements for each region, whatever the number of hotels.
type market struct {
	asOf    time.Time
	channel uuid.UUID
	// suspended: the channel may not sell at present.
	suspended bool
	hotels    []*marketHotel
	// only are the room types that are read; nil is all.
	only []RoomTypeID
}

// marketHotel is one hotel of a market.
type marketHotel struct {
	id       tenants.PropertyID
	name     string
	zone     *time.Location
	currency money.Currency
	place    tenants.Description
	window   bookingWindow
	terms    Terms
	// sold is whether the channel sells the hotel, standardSold whether it sells the standard rate.
	sold, standardSold bool
	// refundable is whether the policy of the standard rate ever keeps less than the whole price.
	refundable bool
	plans      []marketPlan
	rooms      []*marketRoom
	// houseLeft are the nights with a house limit.
	houseLeft map[civil.Date]int64
	// pricing and promotions are what prices are made of besides the amounts of nights.
	pricing    pricing
	promotions []promotionFacts
	metres     *int64
}

// marketPlan is a rate plan of a hotel.
type marketPlan struct {
	id         RatePlanID
	facts      planFacts
	refundable bool
	sold       bool
}

// marketRoom is a room type of a hotel.
type marketRoom struct {
	id        RoomTypeID
	maxGuests int64
	nights    nightTable
	left      map[civil.Date]int64
	// plans are the nights of rate plans.
	plans map[uuid.UUID]nightTable
}

// read reads hotels with their nights from first to last, the date of a departure included.
func (m *market) read(ctx context.Context, at db.Snapshot, actor tenants.Actor, reach tenants.Reach, where SearchWhere, filter SearchFilter, first, last civil.Date) (err error) {
	m.channel, m.suspended = actor.Channel.UUID, actor.ChannelSuspended
	if m.asOf, err = at.AsOf(ctx); err != nil {
		return err
	}
	if err := m.readHotels(ctx, at, actor.Tenant, reach, where, filter); err != nil {
		return err
	}
	byRegion := map[ids.Region][]*marketHotel{}
	for _, hotel := range m.hotels {
		byRegion[hotel.id.Region] = append(byRegion[hotel.id.Region], hotel)
	}
	for region, hotels := range byRegion {
		if err := m.readRegion(ctx, at, placeOf(actor.Tenant, region), hotels, first, last); err != nil {
			return err
		}
	}
	return nil
}

func (m *market) readHotels(ctx context.Context, at db.Snapshot, tenant tenants.TenantID, reach tenants.Reach, where SearchWhere, filter SearchFilter) error {
	params := dbsqlc.SearchPropertiesParams{TenantID: tenant.UUID, ChannelID: m.channel, MaxRows: MaxSearchHotels + 1}
	if where.City != "" {
		params.ByCity, params.City, params.Country = true, where.City, where.Country
	}
	for _, id := range where.Properties {
		params.ByID, params.Ids = true, append(params.Ids, id.UUID)
	}
	if where.Circle != nil {
		params.ByBox = true
		params.SouthE6, params.NorthE6, params.WestE6, params.EastE6 = where.Circle.box()
	}
	rows, err := dbsqlc.New(at.Tx).SearchProperties(ctx, params)
	if err != nil {
		return fmt.Errorf("read the hotels of a search: %w", err)
	}
	if len(rows) > MaxSearchHotels {
		return errTooManyHotels()
	}
	for _, row := range rows {
		hotel, err := marketHotelOf(row)
		if err != nil {
			return err
		}
		if !reach.Covers(tenants.Place{Property: row.ID}) || where.Properties != nil && !slices.Contains(where.Properties, hotel.id) {
			continue
		}
		if where.Circle != nil {
			metres := metresBetween(where.Circle.Centre, *hotel.place.Point)
			if hotel.metres = &metres; metres > where.Circle.Kilometres*1000 {
				continue
			}
		}
		if hotel.wanted(filter) {
			m.hotels = append(m.hotels, hotel)
		}
	}
	return m.readTerms(ctx, at, tenant)
}

func marketHotelOf(row dbsqlc.SearchPropertiesRow) (*marketHotel, error) {
	zone, err := time.LoadLocation(row.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("time zone %q of property %s: %w", row.TimeZone, row.ID, err)
	}
	hotel := &marketHotel{
		id: tenants.PropertyID{Region: ids.Region(row.Region), UUID: row.ID}, name: row.Name, zone: zone, currency: money.Currency(row.Currency),
		place: tenants.Description{Stars: row.Stars, Amenities: row.Amenities}, window: windowOf(row.MinAdvanceDays, row.MaxAdvanceDays, row.CutoffMinute),
		sold: row.Sold, standardSold: row.StandardSold, houseLeft: map[civil.Date]int64{},
	}
	if row.LatitudeE6 != nil && row.LongitudeE6 != nil {
		hotel.place.Point = &tenants.Point{LatitudeE6: *row.LatitudeE6, LongitudeE6: *row.LongitudeE6}
	}
	return hotel, nil
}

// wanted says whether the hotel itself passes a filter.
func (h *marketHotel) wanted(f SearchFilter) bool {
	if f.MinStars != nil && (h.place.Stars == nil || *h.place.Stars < *f.MinStars) {
		return false
	}
	for _, amenity := range f.Amenities {
		if !slices.Contains(h.place.Amenities, amenity) {
			return false
		}
	}
	return f.MaxTotal == nil || f.MaxTotal.Currency == h.currency
}

// readTerms reads the terms of sale, and what a cancellation costs at the standard rate.
func (m *market) readTerms(ctx context.Context, at db.Snapshot, tenant tenants.TenantID) error {
	scopes, sites := []uuid.UUID{tenantScope}, make([]Site, len(m.hotels))
	for i, hotel := range m.hotels {
		scopes, sites[i] = append(scopes, hotel.id.UUID), Site{Property: hotel.id}
	}
	rows, err := dbsqlc.New(at.Tx).TermsOfScopes(ctx, dbsqlc.TermsOfScopesParams{TenantID: tenant.UUID, ScopeIds: scopes})
	if err != nil {
		return fmt.Errorf("read the sales terms: %w", err)
	}
	base, own := DefaultTerms(), map[uuid.UUID]dbsqlc.TermsOfScopesRow{}
	for _, row := range rows {
		if own[row.ScopeID] = row; row.ScopeID == tenantScope {
			base = overlay(base, row)
		}
	}
	offers, err := offersOf(ctx, at.Tx, tenant, sites)
	if err != nil {
		return err
	}
	for i, hotel := range m.hotels {
		hotel.terms = base
		if row, ok := own[hotel.id.UUID]; ok {
			hotel.terms = overlay(base, row)
		}
		hotel.refundable = offers[sites[i]].Policy.refundable()
	}
	return nil
}

// readRegion reads rooms, rate plans, nights and what is left of them, of the hotels in one region.
func (m *market) readRegion(ctx context.Context, at db.Snapshot, place place, hotels []*marketHotel, first, last civil.Date) error {
	queries, region := dbsqlc.New(at.Tx), string(place.region)
	byID, properties := make(map[uuid.UUID]*marketHotel, len(hotels)), make([]uuid.UUID, len(hotels))
	for i, hotel := range hotels {
		byID[hotel.id.UUID], properties[i] = hotel, hotel.id.UUID
	}
	types, err := queries.SearchRoomTypes(ctx, dbsqlc.SearchRoomTypesParams{TenantID: place.tenant, Region: region, PropertyIds: properties})
	if err != nil {
		return fmt.Errorf("read the room types of a search: %w", err)
	}
	if m.only != nil {
		types = slices.DeleteFunc(types, func(t dbsqlc.SearchRoomTypesRow) bool {
			return !slices.Contains(m.only, RoomTypeID{Region: place.region, UUID: t.ID})
		})
	}
	days := last.DaysSince(first) + 1
	// A calendar is of one hotel, and its days are bounded.
	if nights := len(types) * days; nights > maxSearchNights && m.only == nil {
		return errTooWide(nights)
	}
	rooms := make(map[uuid.UUID]*marketRoom, len(types))
	for _, row := range types {
		room := &marketRoom{
			id: RoomTypeID{Region: place.region, UUID: row.ID}, maxGuests: row.MaxGuests,
			nights: make(nightTable, days), left: make(map[civil.Date]int64, days), plans: map[uuid.UUID]nightTable{},
		}
		rooms[row.ID] = room
		byID[row.PropertyID].rooms = append(byID[row.PropertyID].rooms, room)
	}
	if err := m.readPricing(ctx, at, place, byID, rooms, properties); err != nil {
		return err
	}
	if err := m.readPlans(ctx, at, place, byID, properties, first, last); err != nil {
		return err
	}
	return m.readNights(ctx, at, place, byID, rooms, first, last)
}

// readPricing reads what prices are made of besides the amounts of nights.
func (m *market) readPricing(ctx context.Context, at db.Snapshot, place place, hotels map[uuid.UUID]*marketHotel, rooms map[uuid.UUID]*marketRoom, properties []uuid.UUID) error {
	roomIDs := make([]uuid.UUID, 0, len(rooms))
	for id := range rooms {
		roomIDs = append(roomIDs, id)
	}
	pricing, err := readPricing(ctx, at.Tx, place, roomIDs, properties)
	if err != nil {
		return err
	}
	promotions, err := readPromotions(ctx, at.Tx, place, properties, nil, m.asOf)
	if err != nil {
		return err
	}
	for _, hotel := range hotels {
		hotel.pricing = pricing
	}
	for _, promotion := range promotions {
		hotel := hotels[promotion.property]
		hotel.promotions = append(hotel.promotions, promotion)
	}
	return nil
}

// readPlans reads the rate plans of hotels, and what these say of nights.
func (m *market) readPlans(ctx context.Context, at db.Snapshot, place place, hotels map[uuid.UUID]*marketHotel, properties []uuid.UUID, first, last civil.Date) error {
	queries, region := dbsqlc.New(at.Tx), string(place.region)
	rows, err := queries.SearchRatePlans(ctx, dbsqlc.SearchRatePlansParams{TenantID: place.tenant, Region: region, PropertyIds: properties, ChannelID: m.channel})
	if err != nil {
		return fmt.Errorf("read the rate plans of a search: %w", err)
	}
	params := dbsqlc.SearchPlanNightsParams{TenantID: place.tenant, Region: region, FirstNight: first, LastNight: last}
	rooms, pairs := map[uuid.UUID]*marketRoom{}, map[planRoom]bool{}
	for _, row := range rows {
		hotel := hotels[row.PropertyID]
		hotel.plans = append(hotel.plans, marketPlan{
			id: RatePlanID{Region: place.region, UUID: row.ID}, refundable: row.Refundable, sold: row.Sold,
			facts: planFacts{
				property: row.PropertyID, state: RatePlanActive, parent: row.ParentID,
				derivation: derivationOf(row.DeriveKind, row.DeriveBasisPoints, row.DeriveMinor),
				window:     windowOf(row.MinAdvanceDays, row.MaxAdvanceDays, row.CutoffMinute),
			},
		})
		for _, room := range hotel.rooms {
			rooms[room.id.UUID] = room
			pairs[planRoom{plan: row.ID, room: room.id.UUID}] = true
			if row.ParentID != nil {
				// It may be closed, and its price is asked for all the same.
				pairs[planRoom{plan: *row.ParentID, room: room.id.UUID}] = true
			}
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	for pair := range pairs {
		params.PlanIds, params.RoomTypeIds = append(params.PlanIds, pair.plan), append(params.RoomTypeIds, pair.room)
	}
	nights, err := queries.SearchPlanNights(ctx, params)
	if err != nil {
		return fmt.Errorf("read the nights of rate plans: %w", err)
	}
	for _, row := range nights {
		room := rooms[row.RoomTypeID]
		if room.plans[row.RatePlanID] == nil {
			room.plans[row.RatePlanID] = nightTable{}
		}
		room.plans[row.RatePlanID][row.Night] = nightRules{
			amount: row.AmountMinor, stopSell: row.StopSell, closedToArrival: row.ClosedToArrival, closedToDeparture: row.ClosedToDeparture,
			minStayArrival: row.MinStayArrival, maxStayArrival: row.MaxStayArrival, minStayThrough: row.MinStayThrough, maxStayThrough: row.MaxStayThrough,
		}
	}
	return nil
}

// readNights reads the nights of room types, and how many rooms of each a channel could hold.
func (m *market) readNights(ctx context.Context, at db.Snapshot, place place, hotels map[uuid.UUID]*marketHotel, rooms map[uuid.UUID]*marketRoom, first, last civil.Date) error {
	queries, region := dbsqlc.New(at.Tx), string(place.region)
	roomIDs, properties := make([]uuid.UUID, 0, len(rooms)), make([]uuid.UUID, 0, len(hotels))
	for id := range rooms {
		roomIDs = append(roomIDs, id)
	}
	for id := range hotels {
		properties = append(properties, id)
	}
	rows, err := queries.CalendarNights(ctx, dbsqlc.CalendarNightsParams{TenantID: place.tenant, Region: region, RoomTypeIds: roomIDs, FirstNight: first, LastNight: last})
	if err != nil {
		return fmt.Errorf("read the nights of a search: %w", err)
	}
	houses, err := queries.CalendarHouses(ctx, dbsqlc.CalendarHousesParams{TenantID: place.tenant, Region: region, PropertyIds: properties, FirstNight: first, LastNight: last})
	if err != nil {
		return fmt.Errorf("read house limits: %w", err)
	}
	due := dueUnits{}
	if err := due.read(ctx, at.Tx, place.tenant, region, m.asOf); err != nil {
		return err
	}
	setAside, err := shownNights(ctx, at, place.tenant, region, rows, first, last)
	if err != nil {
		return err
	}
	for _, house := range houses {
		hotels[house.PropertyID].houseLeft[house.Night] = max(0, house.Ceiling-house.Held-house.Booked+due[nightKey{owner: house.PropertyID, night: house.Night}])
	}
	for _, row := range rows {
		room := rooms[row.RoomTypeID]
		room.nights[row.Night] = nightRules{
			amount: row.AmountMinor, stopSell: row.StopSell, closedToArrival: row.ClosedToArrival, closedToDeparture: row.ClosedToDeparture,
			minStayArrival: row.MinStayArrival, maxStayArrival: row.MaxStayArrival, minStayThrough: row.MinStayThrough, maxStayThrough: row.MaxStayThrough,
		}
		room.left[row.Night] = nightStock(row, setAside).left(m.channel, due, m.asOf)
	}
	return nil
}
