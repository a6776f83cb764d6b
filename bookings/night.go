package bookings

import (
	"context"
	"fmt"
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

// BookingsOfNight lists the bookings that have rooms on a night, from the newest, and says whether
// more follow: of one room type, or of several, such as all of a house.
func (s *Service) BookingsOfNight(ctx context.Context, actor tenants.Actor, region ids.Region, roomTypes []inventory.RoomTypeID, night civil.Date, after *Cursor, limit int) ([]Booking, bool, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionBookingReadAny, actor.Tenant); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > inventory.MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	from := Cursor{BookedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	if after != nil {
		from = *after
	}
	rooms := make([]uuid.UUID, len(roomTypes))
	for i, room := range roomTypes {
		rooms[i] = room.UUID
	}
	found, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]Booking, error) {
		rows, err := dbsqlc.New(tx).BookingsOfNight(ctx, dbsqlc.BookingsOfNightParams{
			TenantID: actor.Tenant.UUID, Region: string(region), RoomTypeIds: rooms, Night: night,
			BeforeTime: from.BookedAt, BeforeID: from.ID, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
		})
		if err != nil {
			return nil, fmt.Errorf("list the bookings of a night: %w", err)
		}
		found := make([]Booking, len(rows))
		for i, row := range rows {
			if found[i], err = bookingOf(actor.Tenant, dbsqlc.BookingGetRow(row)); err != nil {
				return nil, err
			}
		}
		return found, withLines(ctx, tx, found)
	})
	more := len(found) > limit
	if more {
		found = found[:limit]
	}
	return found, more, err
}
