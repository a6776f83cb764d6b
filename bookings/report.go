package bookings

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

const (
	// reportStaleness is how old reports and histories may be: enough that the nearest replica answers,
	// and that they make no sale start over.
	reportStaleness = 5 * time.Second
	// MaxReportNights bounds the range of a report.
	MaxReportNights = 366
)

// Occupancy is what there is and what is taken, by night and room type.
type Occupancy struct {
	// AsOf is when it was so, by the database's clock.
	AsOf   time.Time
	Nights []OccupiedNight
}

// OccupiedNight is one night of one room type.
type OccupiedNight struct {
	RoomType inventory.RoomTypeID
	// Name is the room type's.
	Name  string
	Night civil.Date
	// Physical less OutOfOrder rooms can be slept in; Oversell more may be sold. Allotted are set aside
	// for channels.
	Physical, OutOfOrder, Oversell, Allotted int64
	// Held and Booked are rooms of whatever bucket; those of guests who did not come are booked.
	Held, Booked int64
	// Revenue is the price of the booked rooms on this night, tax included.
	Revenue money.Amount
}

// Occupancy reports the nights of a property from first to last, both included. Nights that are not
// planned are absent.
func (s *Service) Occupancy(ctx context.Context, actor tenants.Actor, property tenants.Property, first, last civil.Date) (Occupancy, error) {
	if err := s.authorizePlace(ctx, actor, policies.ActionReportRead, "property", property.ID.Region, property.ID.UUID); err != nil {
		return Occupancy{}, err
	}
	if err := checkReport(first, last); err != nil {
		return Occupancy{}, err
	}
	return db.InSnapshotAsOf(ctx, s.db, func(ctx context.Context, at db.Snapshot) (Occupancy, error) {
		asOf, err := at.AsOf(ctx)
		if err != nil {
			return Occupancy{}, err
		}
		queries, region := dbsqlc.New(at.Tx), string(property.ID.Region)
		names, rooms, err := roomTypesOf(ctx, queries, actor.Tenant, property.ID)
		if err != nil {
			return Occupancy{}, err
		}
		rows, err := queries.OccupancyOfProperty(ctx, dbsqlc.OccupancyOfPropertyParams{
			TenantID: actor.Tenant.UUID, Region: region, RoomTypeIds: rooms, FirstNight: first, LastNight: last,
		})
		if err != nil {
			return Occupancy{}, fmt.Errorf("read the occupancy of a property: %w", err)
		}
		revenues, err := queries.RevenueOfProperty(ctx, dbsqlc.RevenueOfPropertyParams{
			TenantID: actor.Tenant.UUID, Region: region, RoomTypeIds: rooms, FirstNight: first, LastNight: last,
		})
		if err != nil {
			return Occupancy{}, fmt.Errorf("read the revenue of a property: %w", err)
		}
		revenue := make(map[roomNight]int64, len(revenues))
		for _, row := range revenues {
			revenue[roomNight{row.RoomTypeID, row.Night}] = row.AmountMinor
		}
		report := Occupancy{AsOf: asOf, Nights: make([]OccupiedNight, len(rows))}
		for i, row := range rows {
			report.Nights[i] = OccupiedNight{
				RoomType: inventory.RoomTypeID{Region: property.ID.Region, UUID: row.RoomTypeID}, Name: names[row.RoomTypeID], Night: row.Night,
				Physical: row.Physical, OutOfOrder: row.OutOfOrder, Oversell: row.Oversell, Allotted: row.Allotted, Held: row.Held, Booked: row.Booked,
				Revenue: money.Amount{Minor: revenue[roomNight{row.RoomTypeID, row.Night}], Currency: property.Currency},
			}
		}
		return report, nil
	}, db.Stale(reportStaleness))
}

type roomNight struct {
	room  uuid.UUID
	night civil.Date
}

// PickUp is how the books have changed between two moments, by night and room type.
type PickUp struct {
	AsOf   time.Time
	Nights []PickedUpNight
}

// PickedUpNight is one night of one room type that anything was ever sold of. RoomsAfter is RoomsBefore
// plus Sold less Cancelled.
type PickedUpNight struct {
	RoomType inventory.RoomTypeID
	Name     string
	Night    civil.Date
	// Sold and Cancelled are rooms sold and cancelled between the moments.
	Sold, Cancelled int64
	// RoomsBefore and RoomsAfter, and the revenues, are what was on the books at each moment.
	RoomsBefore, RoomsAfter     int64
	RevenueBefore, RevenueAfter money.Amount
}

// PickUp reports what was sold and cancelled from since up to, but not at, until, of the nights of a
// property from first to last, both included.
func (s *Service) PickUp(ctx context.Context, actor tenants.Actor, property tenants.Property, first, last civil.Date, since, until time.Time) (PickUp, error) {
	if err := s.authorizePlace(ctx, actor, policies.ActionReportRead, "property", property.ID.Region, property.ID.UUID); err != nil {
		return PickUp{}, err
	}
	if err := checkReport(first, last); err != nil {
		return PickUp{}, err
	}
	if !since.Before(until) {
		return PickUp{}, fault.Invalid("until", "expected a moment after since")
	}
	return db.InSnapshotAsOf(ctx, s.db, func(ctx context.Context, at db.Snapshot) (PickUp, error) {
		asOf, err := at.AsOf(ctx)
		if err != nil {
			return PickUp{}, err
		}
		queries := dbsqlc.New(at.Tx)
		names, rooms, err := roomTypesOf(ctx, queries, actor.Tenant, property.ID)
		if err != nil {
			return PickUp{}, err
		}
		rows, err := queries.PickUpOfProperty(ctx, dbsqlc.PickUpOfPropertyParams{
			TenantID: actor.Tenant.UUID, Region: string(property.ID.Region), RoomTypeIds: rooms, FirstNight: first, LastNight: last,
			Since: since, Until: until,
		})
		if err != nil {
			return PickUp{}, fmt.Errorf("read the pick-up of a property: %w", err)
		}
		report := PickUp{AsOf: asOf, Nights: make([]PickedUpNight, len(rows))}
		for i, row := range rows {
			report.Nights[i] = PickedUpNight{
				RoomType: inventory.RoomTypeID{Region: property.ID.Region, UUID: row.RoomTypeID}, Name: names[row.RoomTypeID], Night: row.Night,
				Sold: row.Sold, Cancelled: row.Cancelled, RoomsBefore: row.RoomsBefore, RoomsAfter: row.RoomsAfter,
				RevenueBefore: money.Amount{Minor: row.RevenueBefore, Currency: property.Currency},
				RevenueAfter:  money.Amount{Minor: row.RevenueAfter, Currency: property.Currency},
			}
		}
		return report, nil
	}, db.Stale(reportStaleness))
}

func roomTypesOf(ctx context.Context, queries *dbsqlc.Queries, tenant tenants.TenantID, property tenants.PropertyID) (map[uuid.UUID]string, []uuid.UUID, error) {
	rows, err := queries.RoomTypesOfProperty(ctx, dbsqlc.RoomTypesOfPropertyParams{TenantID: tenant.UUID, Region: string(property.Region), PropertyID: property.UUID})
	if err != nil {
		return nil, nil, fmt.Errorf("read the room types of a property: %w", err)
	}
	names, rooms := make(map[uuid.UUID]string, len(rows)), make([]uuid.UUID, len(rows))
	for i, row := range rows {
		names[row.ID], rooms[i] = row.Name, row.ID
	}
	return names, rooms, nil
}

func checkReport(first, last civil.Date) error {
	sound := func(date civil.Date) bool { return date.IsValid() && date.Year >= 1 && date.Year <= 9999 }
	switch {
	case !sound(first):
		return fault.Invalid("from", "expected a date such as 2027-03-14")
	case !sound(last) || last.Before(first):
		return fault.Invalid("to", "expected a date not before from %s, got %s", first, last)
	case last.DaysSince(first) >= MaxReportNights:
		return fault.Invalid("to", "a report has at most %d nights, this one has %d", MaxReportNights, last.DaysSince(first)+1)
	}
	return nil
}
