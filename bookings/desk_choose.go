package bookings

import (
	"context"
	"fmt"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// gapNights is how far beside a stay a room is looked at when one is chosen.
const gapNights = 14

// freeRooms is which rooms of some types are free on which nights. Choosing works on it alone; what is
// chosen, the database judges.
type freeRooms struct {
	rooms []inventory.Room
	taken map[uuid.UUID]map[civil.Date]bool
}

// readFreeRooms reads the rooms of some types from first to last, and a little beside them.
func readFreeRooms(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, region ids.Region, types []uuid.UUID, first, last civil.Date) (freeRooms, error) {
	rooms, err := inventory.RoomsInUse(ctx, tx, tenant, region, types)
	if err != nil {
		return freeRooms{}, err
	}
	f := freeRooms{rooms: rooms, taken: map[uuid.UUID]map[civil.Date]bool{}}
	named := make([]uuid.UUID, len(rooms))
	for i, room := range rooms {
		named[i] = room.ID.UUID
	}
	rows, err := dbsqlc.New(tx).RoomNightsBetween(ctx, dbsqlc.RoomNightsBetweenParams{
		TenantID: tenant.UUID, Region: string(region), RoomIds: named, FirstNight: first.AddDays(-gapNights), LastNight: last.AddDays(gapNights),
	})
	if err != nil {
		return freeRooms{}, fmt.Errorf("read which rooms are taken: %w", err)
	}
	for _, row := range rows {
		f.take(row.RoomID, row.Night)
	}
	return f, nil
}

func (f freeRooms) take(room uuid.UUID, night civil.Date) {
	if f.taken[room] == nil {
		f.taken[room] = map[civil.Date]bool{}
	}
	f.taken[room][night] = true
}

// single is the room of a type that is free on all nights and leaves the least free beside them, so that
// long stays find room.
func (f freeRooms) single(roomType inventory.RoomTypeID, nights []civil.Date) ([]RoomSpan, bool) {
	var best *inventory.Room
	least := 0
	for i, room := range f.rooms {
		if room.RoomType != roomType || f.run(room, nights) < len(nights) {
			continue
		}
		if gap := f.gap(room, nights); best == nil || gap < least {
			best, least = &f.rooms[i], gap
		}
	}
	if best == nil {
		return nil, false
	}
	return spansOf(*best, nights), true
}

// run is on how many of the nights, from the first, a room is free.
func (f freeRooms) run(room inventory.Room, nights []civil.Date) int {
	for i, night := range nights {
		if f.taken[room.ID.UUID][night] {
			return i
		}
	}
	return len(nights)
}

// gap is how many nights beside a stay a room would be free, looked at gapNights far.
func (f freeRooms) gap(room inventory.Room, nights []civil.Date) int {
	gap := 0
	for _, side := range []struct {
		from civil.Date
		step int
	}{{nights[0], -1}, {nights[len(nights)-1], 1}} {
		for n := 1; n <= gapNights && !f.taken[room.ID.UUID][side.from.AddDays(n*side.step)]; n++ {
			gap++
		}
	}
	return gap
}

// split puts a stay into as few rooms as can be: from each night on, the room that is free the longest. It
// stops at the night on which no room is free.
func (f freeRooms) split(roomType inventory.RoomTypeID, nights []civil.Date) (spans []RoomSpan, whole bool) {
	for len(nights) > 0 {
		var best *inventory.Room
		longest := 0
		for i, room := range f.rooms {
			if room.RoomType != roomType {
				continue
			}
			if run := f.run(room, nights); run > longest {
				best, longest = &f.rooms[i], run
			}
		}
		if best == nil {
			return spans, false
		}
		spans = append(spans, spansOf(*best, nights[:longest])...)
		nights = nights[longest:]
	}
	return spans, true
}

// spansOf is a room on some nights, those that follow each other joined.
func spansOf(room inventory.Room, nights []civil.Date) []RoomSpan {
	var spans []RoomSpan
	for _, night := range nights {
		if n := len(spans); n > 0 && spans[n-1].Last.AddDays(1) == night {
			spans[n-1].Last = night
			continue
		}
		spans = append(spans, RoomSpan{Room: room.ID, Door: room.Number, RoomType: room.RoomType, First: night, Last: night})
	}
	return spans
}

// takeSpans marks what was chosen, so that it is not chosen again.
func (f freeRooms) takeSpans(spans []RoomSpan) {
	for _, span := range spans {
		for night := span.First; !night.After(span.Last); night = night.AddDays(1) {
			f.take(span.Room.UUID, night)
		}
	}
}
