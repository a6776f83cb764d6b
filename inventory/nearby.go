package inventory

import (
	"context"
	"fmt"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// maxNearby bounds the room types that are looked at for guests without a room.
const maxNearby = 500

// NearbyRoom is a room type of a property, or of one of the tenant's other properties of the same region,
// city and currency.
type NearbyRoom struct {
	RoomType     RoomTypeID
	Name         string
	MaxGuests    int64
	Property     tenants.PropertyID
	PropertyName string
}

// NearbyRooms are the room types in which guests of a property could sleep.
func NearbyRooms(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, property tenants.PropertyID) ([]NearbyRoom, error) {
	rows, err := dbsqlc.New(q).RoomsNearby(ctx, dbsqlc.RoomsNearbyParams{
		TenantID: tenant.UUID, Region: string(property.Region), PropertyID: property.UUID, MaxRows: maxNearby,
	})
	if err != nil {
		return nil, fmt.Errorf("read the room types near a property: %w", err)
	}
	rooms := make([]NearbyRoom, len(rows))
	for i, row := range rows {
		rooms[i] = NearbyRoom{
			RoomType: RoomTypeID{Region: property.Region, UUID: row.ID}, Name: row.Name, MaxGuests: row.MaxGuests,
			Property: tenants.PropertyID{Region: property.Region, UUID: row.PropertyID}, PropertyName: row.PropertyName,
		}
	}
	return rooms, nil
}

// RoomNight is how a room type stands on a night, over all buckets.
type RoomNight struct {
	// Usable are the rooms that can be slept in.
	Usable       int64
	Held, Booked int64
	// SharedFree is how many may still be sold through every channel.
	SharedFree int64
	// RateMinor is the price of a room; nil for none.
	RateMinor *int64
}

// Short is how many rooms more are booked than can be slept in.
func (n RoomNight) Short() int64 { return max(0, n.Booked-n.Usable) }

// Room reports whether so many rooms can be slept in, and may be sold.
func (n RoomNight) Room(rooms int64) bool {
	return n.RateMinor != nil && n.Usable-n.Held-n.Booked >= rooms && n.SharedFree >= rooms
}

// RoomNights says how room types stand on the nights from first to last. A night that is not planned is
// missing.
func RoomNights(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, region ids.Region, rooms []uuid.UUID, first, last civil.Date) (map[uuid.UUID]map[civil.Date]RoomNight, error) {
	now, err := Now(ctx, q)
	if err != nil {
		return nil, err
	}
	rows, err := dbsqlc.New(q).RoomNights(ctx, dbsqlc.RoomNightsParams{
		TenantID: tenant.UUID, Region: string(region), RoomTypeIds: rooms, FirstNight: first, LastNight: last, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("read how nights stand: %w", err)
	}
	nights := map[uuid.UUID]map[civil.Date]RoomNight{}
	for _, row := range rows {
		if nights[row.RoomTypeID] == nil {
			nights[row.RoomTypeID] = map[civil.Date]RoomNight{}
		}
		nights[row.RoomTypeID][row.Night] = RoomNight{
			Usable: row.Physical - row.OutOfOrder, Held: row.Held, Booked: row.Booked, SharedFree: row.SharedFree, RateMinor: row.AmountMinor,
		}
	}
	return nights, nil
}
