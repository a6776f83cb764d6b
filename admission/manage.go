package admission

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/admission/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

func placeOf(tenant tenants.TenantID, show inventory.ShowID) place {
	return place{tenant: tenant.UUID, region: show.Region, show: show.UUID}
}

// Open gives a show a waiting room. While it is open, guests hold units of the show with a grant of
// the room only. A show has one room; one that has closed may be opened again, with nobody in it.
func (s *Service) Open(ctx context.Context, actor tenants.Actor, requestKey string, input NewRoom) (Room, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionWaitingRoomManage, input.Show); err != nil {
		return Room{}, err
	}
	if err := request.ValidateKey(requestKey); err != nil {
		return Room{}, err
	}
	room := Room{
		Show: input.Show, OpensAt: input.OpensAt.Truncate(time.Microsecond), ClosesAt: input.ClosesAt.Truncate(time.Microsecond), Window: input.Window, RatePerMinute: input.RatePerMinute,
		GrantLifetime: input.GrantLifetime, HoldsPerGrant: input.HoldsPerGrant, Verifier: input.Verifier, Watermark: -1,
	}
	if err := s.validate(room); err != nil {
		return Room{}, err
	}
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return Room{}, err
	}
	secret := make([]byte, secretLength)
	if _, err := rand.Read(secret); err != nil {
		return Room{}, fmt.Errorf("make the secret of a waiting room: %w", err)
	}
	at := placeOf(actor.Tenant, input.Show)
	return s.change(ctx, "admission.OpenRoom", at, func(ctx context.Context, tx pgx.Tx) error {
		_, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: at.tenant, Region: at.region, Key: requestKey, Scope: "openWaitingRoom/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, input.Show.UUID)
		if err != nil || replayed {
			return err
		}
		// First of all, because it knows whose the show is.
		if err := inventory.SetAdmissionTx(ctx, tx, actor.Tenant, input.Show, &room.OpensAt, &room.ClosesAt); err != nil {
			return err
		}
		queries := dbsqlc.New(tx)
		inserted, err := queries.RoomInsert(ctx, dbsqlc.RoomInsertParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: at.show, Secret: secret, OpensAt: room.OpensAt, ClosesAt: room.ClosesAt,
			WindowSeconds: seconds(room.Window), RatePerMinute: room.RatePerMinute, GrantSeconds: seconds(room.GrantLifetime),
			HoldsPerGrant: room.HoldsPerGrant, Verifier: room.Verifier,
		})
		if err != nil {
			return fmt.Errorf("store a waiting room: %w", err)
		}
		if inserted != 1 {
			if err := reopen(ctx, tx, at, room, secret); err != nil {
				return err
			}
		}
		return tenants.AuditTx(ctx, tx, actor, tenants.Change{Action: policies.ActionWaitingRoomManage, Resource: input.Show, After: loggedRoom(room)})
	})
}

func reopen(ctx context.Context, tx pgx.Tx, at place, room Room, secret []byte) error {
	earlier, now, err := lock(ctx, tx, at)
	if err != nil {
		return err
	}
	if earlier.stateAt(now) != StateClosed {
		return fault.Conflict("the show has a waiting room that has not closed: change that one")
	}
	_, err = dbsqlc.New(tx).RoomReopen(ctx, dbsqlc.RoomReopenParams{
		TenantID: at.tenant, Region: string(at.region), ShowID: at.show, Secret: secret, OpensAt: room.OpensAt, ClosesAt: room.ClosesAt,
		WindowSeconds: seconds(room.Window), RatePerMinute: room.RatePerMinute, GrantSeconds: seconds(room.GrantLifetime),
		HoldsPerGrant: room.HoldsPerGrant, Verifier: room.Verifier,
	})
	if err != nil {
		return fmt.Errorf("open a waiting room again: %w", err)
	}
	return nil
}

// Update changes a room, also while the sale goes on. When it opened and its opening window stand
// fast once it is open, because visitors have drawn places in it.
func (s *Service) Update(ctx context.Context, actor tenants.Actor, show inventory.ShowID, change Change) (Room, error) {
	return s.set(ctx, actor, show, func(room Room, now time.Time) (Room, error) {
		if room.stateAt(now) == StateClosed {
			return room, fault.Conflict("the waiting room has closed")
		}
		began := !now.Before(room.OpensAt)
		if began && (change.OpensAt != nil && !change.OpensAt.Equal(room.OpensAt) || change.Window != nil && *change.Window != room.Window) {
			return room, fault.Conflict("the waiting room is open: when it opened and its opening window stand fast, because visitors have drawn places in it")
		}
		assign(&room.OpensAt, change.OpensAt)
		assign(&room.ClosesAt, change.ClosesAt)
		assign(&room.Window, change.Window)
		assign(&room.RatePerMinute, change.RatePerMinute)
		assign(&room.GrantLifetime, change.GrantLifetime)
		assign(&room.HoldsPerGrant, change.HoldsPerGrant)
		assign(&room.Verifier, change.Verifier)
		assign(&room.Paused, change.Paused)
		room.OpensAt, room.ClosesAt = room.OpensAt.Truncate(time.Microsecond), room.ClosesAt.Truncate(time.Microsecond)
		return room, s.validate(room)
	})
}

func assign[T any](target *T, value *T) {
	if value != nil {
		*target = *value
	}
}

// CloseRoom ends a room before its time: nobody joins or is let in any more, and guests need no grant,
// unless the show's terms ask for one. Closing it twice changes nothing.
func (s *Service) CloseRoom(ctx context.Context, actor tenants.Actor, show inventory.ShowID) (Room, error) {
	return s.set(ctx, actor, show, func(room Room, now time.Time) (Room, error) {
		if room.ClosedAt == nil {
			room.ClosedAt = &now
		}
		return room, nil
	})
}

// set changes a room under its lock.
func (s *Service) set(ctx context.Context, actor tenants.Actor, show inventory.ShowID, change func(room Room, now time.Time) (Room, error)) (Room, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionWaitingRoomManage, show); err != nil {
		return Room{}, err
	}
	at := placeOf(actor.Tenant, show)
	return s.change(ctx, "admission.ChangeRoom", at, func(ctx context.Context, tx pgx.Tx) error {
		room, now, err := lock(ctx, tx, at)
		if err != nil {
			return err
		}
		before := loggedRoom(room)
		if room, err = change(room, now); err != nil {
			return err
		}
		until := room.ClosesAt
		if room.ClosedAt != nil && room.ClosedAt.Before(until) {
			until = *room.ClosedAt
		}
		if err := inventory.SetAdmissionTx(ctx, tx, actor.Tenant, show, &room.OpensAt, &until); err != nil {
			return err
		}
		if _, err := dbsqlc.New(tx).RoomSet(ctx, dbsqlc.RoomSetParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: at.show, OpensAt: room.OpensAt, ClosesAt: room.ClosesAt,
			WindowSeconds: seconds(room.Window), RatePerMinute: room.RatePerMinute, GrantSeconds: seconds(room.GrantLifetime),
			HoldsPerGrant: room.HoldsPerGrant, Verifier: room.Verifier, Paused: room.Paused, ClosedAt: room.ClosedAt,
		}); err != nil {
			return fmt.Errorf("change a waiting room: %w", err)
		}
		return tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionWaitingRoomManage, Resource: show, Before: before, After: loggedRoom(room),
		})
	})
}

// loggedRoom is what the log of changes keeps of a room: what an admin sets, and never its secret.
func loggedRoom(room Room) any {
	return struct {
		OpensAt, ClosesAt                                         time.Time
		WindowSeconds, RatePerMinute, GrantSeconds, HoldsPerGrant int64
		Verifier                                                  string
		Paused                                                    bool
		ClosedAt                                                  *time.Time
	}{
		room.OpensAt, room.ClosesAt, seconds(room.Window), room.RatePerMinute, seconds(room.GrantLifetime), room.HoldsPerGrant,
		room.Verifier, room.Paused, room.ClosedAt,
	}
}

// change runs a command on a room and answers with the room as it is then. This process shows it at
// once, others within a tick.
func (s *Service) change(ctx context.Context, name string, at place, act func(ctx context.Context, tx pgx.Tx) error) (Room, error) {
	if _, err := db.Replayable(ctx, s.db, name, func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		return struct{}{}, act(ctx, tx)
	}); err != nil {
		return Room{}, err
	}
	c := s.crowdOf(at)
	c.reading.Lock()
	defer c.reading.Unlock()
	st, err := s.lookAgain(ctx, c)
	if err != nil {
		return Room{}, err
	}
	return st.room, nil
}

// lock locks a room, and reads the database's clock then.
func lock(ctx context.Context, tx pgx.Tx, at place) (Room, time.Time, error) {
	row, err := dbsqlc.New(tx).RoomLock(ctx, dbsqlc.RoomLockParams{TenantID: at.tenant, Region: string(at.region), ShowID: at.show})
	if db.IsNoRows(err) {
		return Room{}, time.Time{}, fault.NotFound("waiting room")
	}
	if err != nil {
		return Room{}, time.Time{}, fmt.Errorf("lock a waiting room: %w", err)
	}
	now, err := inventory.Now(ctx, tx)
	return roomOf(at, roomRow(row)), now, err
}

// Room is the waiting room of a show. It may be a tick old.
func (s *Service) Room(ctx context.Context, actor tenants.Actor, show inventory.ShowID) (Room, error) {
	st, err := s.room(ctx, actor, policies.ActionWaitingRoomRead, show)
	if err != nil {
		return Room{}, err
	}
	return st.room, nil
}

// Waiting is how many visitors joined a show's room and were not called, as it was a tick ago at most.
func (s *Service) Waiting(ctx context.Context, actor tenants.Actor, show inventory.ShowID) (int64, error) {
	st, err := s.room(ctx, actor, policies.ActionWaitingRoomRead, show)
	if err != nil {
		return 0, err
	}
	return st.ahead(st.room.orderAt(st.clock.shown) + st.line.window), nil
}

// Address is where the room's public document is read, below the path that the server chose for
// such documents.
func (s *Service) Address(ctx context.Context, actor tenants.Actor, show inventory.ShowID) (string, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionWaitingRoomRead, show); err != nil {
		return "", err
	}
	return s.address(ctx, placeOf(actor.Tenant, show))
}

func (s *Service) room(ctx context.Context, actor tenants.Actor, action tenants.Action, show inventory.ShowID) (*state, error) {
	if err := s.authorizeAt(ctx, actor, action, show); err != nil {
		return nil, err
	}
	if actor.Tenant.UUID == uuid.Nil {
		return nil, fault.NotFound("waiting room")
	}
	return s.look(ctx, s.crowdOf(placeOf(actor.Tenant, show)))
}

// authorizeAt authorises an action on the room of a show.
func (s *Service) authorizeAt(ctx context.Context, actor tenants.Actor, action tenants.Action, show inventory.ShowID) error {
	return inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, action, "show", show.Region, show.UUID)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
