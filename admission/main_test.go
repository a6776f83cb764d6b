package admission_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast/holdfast/admission"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// quick is a configuration in which nothing takes long.
func quick() admission.Config {
	return admission.Config{Tick: 20 * time.Millisecond, Flush: 10 * time.Millisecond, Settle: 60 * time.Millisecond}
}

// process is a server of its own over the package's database.
func process(t *testing.T, config admission.Config) *admission.Service {
	t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	s, err := admission.NewService(dbtest.Open(t), enforcer, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// house is a tenant with a show that has a pool and a waiting room.
type house struct {
	*inventorytest.Tenant
	t    *testing.T
	hall *inventorytest.Hall
	room *admission.Service
}

const fast = 600_000

// newRoom is sound: open since a minute, with no opening window, at ten thousand visitors a second.
func (h house) newRoom() admission.NewRoom {
	return admission.NewRoom{
		Show: h.hall.Show, OpensAt: h.Now().Add(-time.Minute), ClosesAt: h.Now().Add(time.Hour),
		RatePerMinute: fast, GrantLifetime: 5 * time.Minute, HoldsPerGrant: 1,
	}
}

func open(t *testing.T, config admission.Config, change func(*admission.NewRoom)) house {
	t.Helper()
	x := inventorytest.New(t)
	h := house{Tenant: x, t: t, hall: x.Hall(10, inventorytest.PoolOf("Floor", 1000, 1)), room: process(t, config)}
	input := h.newRoom()
	if change != nil {
		change(&input)
	}
	if _, err := h.room.Open(t.Context(), h.Owner, inventorytest.Key(), input); err != nil {
		t.Fatal(err)
	}
	return h
}

// pass lets time pass for the room: it opened, and was looked after, so much earlier.
func (h house) pass(d time.Duration) {
	h.t.Helper()
	for _, update := range []string{
		"UPDATE waiting_rooms SET opens_at = opens_at - $2::bigint * interval '1 microsecond', closes_at = closes_at - $2::bigint * interval '1 microsecond', moved_at = moved_at - $2::bigint * interval '1 microsecond' WHERE tenant_id = $1",
		"UPDATE shows SET admission_from = admission_from - $2::bigint * interval '1 microsecond', admission_until = admission_until - $2::bigint * interval '1 microsecond' WHERE tenant_id = $1",
		"UPDATE admission_grants SET issued_at = issued_at - $2::bigint * interval '1 microsecond', expires_at = expires_at - $2::bigint * interval '1 microsecond' WHERE tenant_id = $1",
	} {
		if _, err := h.DB.Pool().Exec(h.t.Context(), update, h.ID.UUID, d.Microseconds()); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h house) join(by *admission.Service, actor tenants.Actor, visitor string) admission.Ticket {
	h.t.Helper()
	joined, err := by.Join(h.t.Context(), actor, admission.Join{Show: h.hall.Show, Visitor: visitor})
	if err != nil {
		h.t.Fatal(err)
	}
	return joined
}

// called waits until a ticket is called.
func (h house) called(by *admission.Service, actor tenants.Actor, token string) {
	h.t.Helper()
	wait(h.t, func() error {
		place, err := by.Place(h.t.Context(), actor, token)
		if err != nil {
			return err
		}
		if !place.Called {
			return fmt.Errorf("position %d at watermark %d", place.Position, place.Room.Watermark)
		}
		return nil
	})
}

// admitted joins as a guest, waits, and comes in.
func (h house) admitted(guest inventorytest.Buyer) inventory.Grant {
	h.t.Helper()
	joined := h.join(h.room, guest.Actor, "")
	h.called(h.room, guest.Actor, joined.Token)
	grant, err := h.room.Admit(h.t.Context(), guest.Actor, joined.Token, "")
	if err != nil {
		h.t.Fatal(err)
	}
	return grant
}

// hold asks for one place of the pool with a grant.
func (h house) hold(guest inventorytest.Buyer, grant inventory.GrantID) (inventory.Hold, error) {
	return h.holdKey(inventorytest.Key(), guest, &grant)
}

func (h house) holdKey(key string, guest inventorytest.Buyer, grant *inventory.GrantID) (inventory.Hold, error) {
	return h.Inventory.PlaceHold(h.t.Context(), guest.Actor, inventory.PlaceHold{
		RequestKey: key, Lines: []inventory.LineRequest{h.hall.Pools[0].Units(1)}, Grant: grant,
	})
}

// wait tries until there is no error.
func wait(t *testing.T, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

// expect says in one word what was answered.
func expect(t *testing.T, err error, want string) {
	t.Helper()
	got := "ok"
	var refusal *inventory.Refusal
	switch {
	case errors.As(err, &refusal):
		got = string(refusal.Code)
	case err != nil:
		got = fault.KindOf(err).String()
	}
	if got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}
