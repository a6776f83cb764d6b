package inventory

import (
	"context"
	"fmt"
	"slices"
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
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// What is sold are rooms of a type; a physical room is where somebody sleeps. How many rooms a type has
// to sell is the plan's of each night, and not the number of physical rooms, which a hotel may enter
// late, or never.

const (
	// MaxRoomsPerCommand bounds the rooms that one command adds.
	MaxRoomsPerCommand = 500
	// MaxRooms bounds the physical rooms of a property.
	MaxRooms = 10_000

	maxRoomNumber = 20
	maxRoomNotes  = 500
)

// RoomState says whether guests are put into a room.
type RoomState string

// The states of a room.
const (
	RoomStateInUse RoomState = "IN_USE"
	// RoomStateRetired: nobody is put into it any more; what was stays known.
	RoomStateRetired RoomState = "RETIRED"
)

// Room is a physical room of a hotel.
type Room struct {
	ID       RoomID
	Property tenants.PropertyID
	RoomType RoomTypeID
	// Number is what is on its door, unique in the property.
	Number string
	Floor  string
	Notes  string
	State  RoomState
	// Version grows by one with each change.
	Version int64
}

// NewRoom is a room to be.
type NewRoom struct {
	RoomType RoomTypeID
	Number   string
	Floor    string
	Notes    string
}

// RoomChange is what to change of a room; nil leaves it.
type RoomChange struct {
	RoomType *RoomTypeID
	Number   *string
	Floor    *string
	Notes    *string
	State    *RoomState
}

func checkRoom(field string, room NewRoom) error {
	for _, text := range []struct {
		name, value string
		least, most int
	}{{"number", room.Number, 1, maxRoomNumber}, {"floor", room.Floor, 0, maxRoomNumber}, {"notes", room.Notes, 0, maxRoomNotes}} {
		n := utf8.RuneCountInString(text.value)
		if n < text.least || n > text.most || !utf8.ValidString(text.value) || strings.ContainsFunc(text.value, unicode.IsControl) || strings.TrimSpace(text.value) != text.value {
			return fault.Invalid(field+text.name, "expected one line of %d to %d characters without spaces around them", text.least, text.most)
		}
	}
	return nil
}

// CreateRooms adds physical rooms to a property, all or none, and answers with them in the order in which
// they were named.
func (s *Service) CreateRooms(ctx context.Context, actor tenants.Actor, requestKey string, property tenants.PropertyID, rooms []NewRoom) ([]Room, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRoomSet, "property", property.Region, property.UUID); err != nil {
		return nil, err
	}
	if err := request.ValidateKey(requestKey); err != nil {
		return nil, err
	}
	if len(rooms) < 1 || len(rooms) > MaxRoomsPerCommand {
		return nil, fault.Invalid("rooms", "expected 1 to %d rooms, got %d", MaxRoomsPerCommand, len(rooms))
	}
	seen := map[string]bool{}
	for i, room := range rooms {
		field := fmt.Sprintf("rooms[%d].", i)
		if err := checkRoom(field, room); err != nil {
			return nil, err
		}
		if seen[room.Number] {
			return nil, fault.Invalid(field+"number", "room %s is named twice", room.Number)
		}
		seen[room.Number] = true
	}
	fingerprint, err := request.Fingerprint([]any{property.String(), rooms})
	if err != nil {
		return nil, err
	}
	batch := uuid.New()
	return db.Replayable(ctx, s.db, "inventory.createRooms", func(ctx context.Context, tx pgx.Tx) ([]Room, error) {
		earlier, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: property.Region, Key: requestKey, Scope: "createRooms/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, batch)
		if err != nil {
			return nil, err
		}
		source := batch
		if replayed {
			source = earlier
		}
		made := make([]Room, len(rooms))
		for i, room := range rooms {
			// Their ids follow from the request's, so that a repetition names the same.
			id := RoomID{Region: property.Region, UUID: uuid.NewSHA1(source, []byte(room.Number))}
			made[i] = Room{ID: id, Property: property, RoomType: room.RoomType, Number: room.Number, Floor: room.Floor, Notes: room.Notes, State: RoomStateInUse, Version: 1}
		}
		if replayed {
			return made, nil
		}
		return made, s.createRoomsTx(ctx, tx, actor, property, made)
	})
}

func (s *Service) createRoomsTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, property tenants.PropertyID, rooms []Room) error {
	queries, region := dbsqlc.New(tx), string(property.Region)
	if err := propertyTx(ctx, tx, actor.Tenant, property); err != nil {
		return err
	}
	params := dbsqlc.RoomsInsertParams{TenantID: actor.Tenant.UUID, Region: region, PropertyID: property.UUID}
	checked := map[RoomTypeID]bool{}
	for _, room := range rooms {
		if !checked[room.RoomType] {
			if err := roomTypeOfPropertyTx(ctx, tx, actor.Tenant, property, room.RoomType); err != nil {
				return err
			}
			checked[room.RoomType] = true
		}
		params.Ids = append(params.Ids, room.ID.UUID)
		params.RoomTypeIds = append(params.RoomTypeIds, room.RoomType.UUID)
		params.Numbers = append(params.Numbers, room.Number)
		params.Floors = append(params.Floors, room.Floor)
		params.Notes = append(params.Notes, room.Notes)
	}
	known, err := queries.RoomsOfPropertyCount(ctx, dbsqlc.RoomsOfPropertyCountParams{TenantID: actor.Tenant.UUID, Region: region, PropertyID: property.UUID})
	if err != nil {
		return fmt.Errorf("count the rooms of a property: %w", err)
	}
	if known+int64(len(rooms)) > MaxRooms {
		return fault.Invalid("rooms", "a hotel has at most %d physical rooms; this one has %d", MaxRooms, known)
	}
	taken, err := queries.RoomsTaken(ctx, dbsqlc.RoomsTakenParams{TenantID: actor.Tenant.UUID, Region: region, PropertyID: property.UUID, Numbers: params.Numbers})
	if err != nil {
		return fmt.Errorf("look for rooms of the same number: %w", err)
	}
	if len(taken) > 0 {
		return fault.Conflict("the hotel has a room %s already", strings.Join(taken[:min(5, len(taken))], ", "))
	}
	if _, err := queries.RoomsInsert(ctx, params); err != nil {
		return numberTaken(fmt.Errorf("add rooms: %w", err))
	}
	return tenants.AuditTx(ctx, tx, actor, tenants.Change{Action: policies.ActionRoomSet, Resource: property, After: map[string]any{"added": rooms}})
}

// roomTypeOfPropertyTx says whether a room type is the property's.
func roomTypeOfPropertyTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, property tenants.PropertyID, roomType RoomTypeID) error {
	if roomType.Region != property.Region {
		return fault.NotFound("room type")
	}
	found, err := dbsqlc.New(tx).RoomTypesByID(ctx, dbsqlc.RoomTypesByIDParams{
		TenantID: tenant.UUID, Regions: []string{string(roomType.Region)}, Ids: []uuid.UUID{roomType.UUID},
	})
	switch {
	case err != nil:
		return fmt.Errorf("read the room type: %w", err)
	case len(found) == 0 || found[0].PropertyID != property.UUID:
		// Of another hotel is as good as none: who asks may not know that one.
		return fault.NotFound("room type")
	}
	return nil
}

func numberTaken(err error) error {
	if db.ViolatedConstraint(err) == "physical_rooms_number_unique" {
		return fault.Conflict("the hotel has a room of this number already")
	}
	return err
}

// UpdateRoom changes a room. While it is taken for a night from today on, by a guest or a period out of
// order, its type stays and it cannot be retired: a fault of kind conflict.
func (s *Service) UpdateRoom(ctx context.Context, actor tenants.Actor, requestKey string, id RoomID, change RoomChange) (Room, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRoomSet, "room", id.Region, id.UUID); err != nil {
		return Room{}, err
	}
	if change.State != nil && *change.State != RoomStateInUse && *change.State != RoomStateRetired {
		return Room{}, fault.Invalid("state", "expected IN_USE or RETIRED")
	}
	if err := request.ValidateKey(requestKey); err != nil {
		return Room{}, err
	}
	fingerprint, err := request.Fingerprint([]any{id.String(), change})
	if err != nil {
		return Room{}, err
	}
	return db.Replayable(ctx, s.db, "inventory.updateRoom", func(ctx context.Context, tx pgx.Tx) (Room, error) {
		_, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: id.Region, Key: requestKey, Scope: "updateRoom/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, id.UUID)
		if err != nil {
			return Room{}, err
		}
		room, err := LockRoom(ctx, tx, actor.Tenant, id)
		if err != nil || replayed {
			return room, err
		}
		return s.updateRoomTx(ctx, tx, actor, room, change)
	})
}

func (s *Service) updateRoomTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, before Room, change RoomChange) (Room, error) {
	room := before
	for _, set := range []struct{ target, value *string }{{&room.Number, change.Number}, {&room.Floor, change.Floor}, {&room.Notes, change.Notes}} {
		if set.value != nil {
			*set.target = *set.value
		}
	}
	if change.RoomType != nil {
		room.RoomType = *change.RoomType
	}
	if change.State != nil {
		room.State = *change.State
	}
	if err := checkRoom("", NewRoom{Number: room.Number, Floor: room.Floor, Notes: room.Notes}); err != nil {
		return Room{}, err
	}
	queries, region := dbsqlc.New(tx), string(room.ID.Region)
	if room.RoomType != before.RoomType || room.State == RoomStateRetired && before.State != RoomStateRetired {
		if err := roomTypeOfPropertyTx(ctx, tx, actor.Tenant, room.Property, room.RoomType); err != nil {
			return Room{}, err
		}
		today, _, err := TodayTx(ctx, tx, actor.Tenant, room.Property)
		if err != nil {
			return Room{}, err
		}
		// The night that began yesterday may still be slept.
		uses, err := queries.RoomUsesFrom(ctx, dbsqlc.RoomUsesFromParams{TenantID: actor.Tenant.UUID, Region: region, RoomID: room.ID.UUID, FirstNight: today.AddDays(-1)})
		if err != nil {
			return Room{}, fmt.Errorf("look at the uses of room %s: %w", room.ID, err)
		}
		if uses > 0 {
			return Room{}, fault.Conflict("room %s is taken for %d nights from yesterday on: free them, and end its periods out of order, first", before.Number, uses)
		}
	}
	n, err := queries.RoomSet(ctx, dbsqlc.RoomSetParams{
		TenantID: actor.Tenant.UUID, Region: region, ID: room.ID.UUID, Version: before.Version, RoomTypeID: room.RoomType.UUID,
		Number: room.Number, Floor: room.Floor, Notes: room.Notes, State: string(room.State),
	})
	if err != nil {
		return Room{}, numberTaken(fmt.Errorf("change room %s: %w", room.ID, err))
	}
	if n != 1 {
		return Room{}, fmt.Errorf("change room %s: it is not in version %d", room.ID, before.Version)
	}
	room.Version++
	return room, tenants.AuditTx(ctx, tx, actor, tenants.Change{Action: policies.ActionRoomSet, Resource: room.ID, Before: before, After: room})
}

// LockRoom locks a room. The rooms of a command are locked after its bookings, by id.
func LockRoom(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id RoomID) (Room, error) {
	row, err := dbsqlc.New(tx).RoomLock(ctx, dbsqlc.RoomLockParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return Room{}, fault.NotFound("room")
	}
	if err != nil {
		return Room{}, fmt.Errorf("lock room %s: %w", id, err)
	}
	return roomOf(dbsqlc.RoomsByIDRow(row)), nil
}

// TodayTx is the date at a property, by its zone and the database's clock, and the clock.
func TodayTx(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, property tenants.PropertyID) (civil.Date, time.Time, error) {
	row, err := dbsqlc.New(q).PropertyToday(ctx, dbsqlc.PropertyTodayParams{TenantID: tenant.UUID, ID: property.UUID, Region: string(property.Region)})
	if db.IsNoRows(err) {
		return civil.Date{}, time.Time{}, fault.NotFound("property")
	}
	if err != nil {
		return civil.Date{}, time.Time{}, fmt.Errorf("read the date of property %s: %w", property, err)
	}
	zone, err := time.LoadLocation(row.TimeZone)
	if err != nil {
		return civil.Date{}, time.Time{}, fmt.Errorf("time zone %q of property %s: %w", row.TimeZone, property, err)
	}
	return civil.DateOf(row.Now.In(zone)), row.Now, nil
}

// Rooms lists the physical rooms of a property, or those of one of its types, by number from the one after,
// and says whether more follow.
func (s *Service) Rooms(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, roomType *RoomTypeID, after string, limit int) ([]Room, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRoomRead, "property", property.Region, property.UUID); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	params := dbsqlc.RoomsPageParams{
		TenantID: actor.Tenant.UUID, Region: string(property.Region), PropertyID: property.UUID, AfterNumber: after, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	}
	if roomType != nil {
		params.OneType, params.RoomTypeID = true, roomType.UUID
	}
	rows, err := dbsqlc.New(s.db.Pool()).RoomsPage(ctx, params)
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list rooms: %w", err))
	}
	more := len(rows) > limit
	rooms := make([]Room, min(len(rows), limit))
	for i := range rooms {
		rooms[i] = roomOf(dbsqlc.RoomsByIDRow(rows[i]))
	}
	return rooms, more, nil
}

// Room reads a room; RoomsByID reads several of one region in no order, without those that are not the
// tenant's.
func (s *Service) Room(ctx context.Context, actor tenants.Actor, id RoomID) (Room, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRoomRead, "room", id.Region, id.UUID); err != nil {
		return Room{}, err
	}
	rooms, err := RoomsByID(ctx, s.db.Pool(), actor.Tenant, id.Region, []uuid.UUID{id.UUID})
	if err != nil {
		return Room{}, db.Classify(err)
	}
	if len(rooms) == 0 {
		return Room{}, fault.NotFound("room")
	}
	return rooms[0], nil
}

// RoomsByID reads rooms of one region; see Room. It does not ask for permission.
func RoomsByID(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, region ids.Region, named []uuid.UUID) ([]Room, error) {
	rows, err := dbsqlc.New(q).RoomsByID(ctx, dbsqlc.RoomsByIDParams{TenantID: tenant.UUID, Regions: []string{string(region)}, Ids: named})
	if err != nil {
		return nil, fmt.Errorf("read rooms: %w", err)
	}
	rooms := make([]Room, len(rows))
	for i, row := range rows {
		rooms[i] = roomOf(row)
	}
	slices.SortFunc(rooms, func(a, b Room) int { return strings.Compare(a.Number, b.Number) })
	return rooms, nil
}

func roomOf(row dbsqlc.RoomsByIDRow) Room {
	region := ids.Region(row.Region)
	return Room{
		ID: RoomID{Region: region, UUID: row.ID}, Property: tenants.PropertyID{Region: region, UUID: row.PropertyID},
		RoomType: RoomTypeID{Region: region, UUID: row.RoomTypeID}, Number: row.Number, Floor: row.Floor, Notes: row.Notes,
		State: RoomState(row.State), Version: row.Version,
	}
}

// RoomsInUse reads the rooms of some types that guests are put into, by number. It does not ask for
// permission.
func RoomsInUse(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, region ids.Region, types []uuid.UUID) ([]Room, error) {
	rows, err := dbsqlc.New(q).RoomsInUse(ctx, dbsqlc.RoomsInUseParams{TenantID: tenant.UUID, Region: string(region), RoomTypeIds: types})
	if err != nil {
		return nil, fmt.Errorf("read rooms: %w", err)
	}
	rooms := make([]Room, len(rows))
	for i, row := range rows {
		rooms[i] = roomOf(dbsqlc.RoomsByIDRow(row))
	}
	return rooms, nil
}

// TouchRoomTx raises the version of a locked room, whose version an event is about to carry.
func TouchRoomTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, room *Room) error {
	n, err := dbsqlc.New(tx).RoomTouch(ctx, dbsqlc.RoomTouchParams{TenantID: tenant.UUID, Region: string(room.ID.Region), ID: room.ID.UUID, Version: room.Version})
	if err != nil {
		return fmt.Errorf("raise the version of room %s: %w", room.ID, err)
	}
	if n != 1 {
		return fmt.Errorf("raise the version of room %s: it is not %d", room.ID, room.Version)
	}
	room.Version++
	return nil
}
