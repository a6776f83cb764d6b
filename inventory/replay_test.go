package inventory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

func TestTheSameRequestAgain(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest := e.tenant.Guest()
	wishes := []inventory.LineRequest{e.hall.Seats(1, 2), e.floor.Units(3), e.room.Stay(5, 7)}
	first, err := guest.TryKey("a key", wishes...)
	if err != nil {
		t.Fatal(err)
	}
	e.tenant.Tick(time.Minute)
	again, err := guest.TryKey("a key", wishes...)
	if err != nil {
		t.Fatal(err)
	}
	if again.ID != first.ID || !again.Deadline.Equal(first.Deadline.Add(-time.Minute)) || again.Version != first.Version ||
		again.Total != first.Total || len(again.Lines) != len(first.Lines) {
		t.Errorf("the same request was answered with\n%+v\nfirst with\n%+v", again, first)
	}
	for i := range again.Lines {
		if again.Lines[i] != first.Lines[i] {
			t.Errorf("line %d is\n%+v\nfirst was\n%+v", i, again.Lines[i], first.Lines[i])
		}
	}
	if rows := e.tenant.Rows("holds"); rows != 1 {
		t.Errorf("%d holds are stored", rows)
	}
	expectCount(t, "the pool", e.floor.Count(), 4, 3, 0)

	for _, other := range [][]inventory.LineRequest{
		{e.hall.Seats(1, 2), e.floor.Units(3), e.room.Stay(5, 8)},
		{e.hall.Seats(1, 2), e.floor.Units(2), e.room.Stay(5, 7)},
		{e.hall.Seats(1, 3), e.floor.Units(3), e.room.Stay(5, 7)},
		{e.floor.Units(1)},
	} {
		_, err := guest.TryKey("a key", other...)
		expectAnswer(t, e.tenant, err, "REQUEST_KEY_REUSED")
	}
	// The expected price is content too.
	_, err = e.tenant.Inventory.PlaceHold(t.Context(), guest.Actor, inventory.PlaceHold{
		RequestKey: "a key", Lines: wishes, ExpectedTotal: &money.Amount{Minor: 1, Currency: "EUR"},
	})
	expectAnswer(t, e.tenant, err, "REQUEST_KEY_REUSED")

	// Another buyer's key is another key.
	other, err := e.tenant.Guest().TryKey("a key", e.hall.Seats(9))
	if err != nil || other.ID == first.ID {
		t.Errorf("another buyer with the same key: %v, %v", other.ID, err)
	}
	e.tenant.Audit()
}

// A replay tells how the hold stands, also when it has ended, and starts nothing.
func TestAReplayOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest := e.tenant.Guest()
	released, err := guest.TryKey("released", e.hall.Seats(1))
	if err != nil {
		t.Fatal(err)
	}
	guest.Release(released)
	lapsed, err := guest.TryKey("lapsed", e.hall.Seats(2))
	if err != nil {
		t.Fatal(err)
	}
	e.tenant.Lapse(lapsed)
	for key, want := range map[string]inventory.HoldState{"released": inventory.HoldStateReleased, "lapsed": inventory.HoldStateExpired} {
		seat := 1
		if key == "lapsed" {
			seat = 2
		}
		again, err := guest.TryKey(key, e.hall.Seats(seat))
		if err != nil || again.State != want {
			t.Errorf("%s: the replay says %s, %v", key, again.State, err)
		}
		if got := guest.SeatStatus(e.hall, seat); got != inventory.SeatStatusAvailable {
			t.Errorf("%s: the seat is %s", key, got)
		}
	}
}

// A refusal by availability is not stored: the same key may try again.
func TestARefusalIsNotRemembered(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	a, b := e.tenant.Guest(), e.tenant.Guest()
	hold := a.Hold(e.hall.Seats(1), e.floor.Units(4), e.room.Rooms(2, 5, 6))
	before := e.tenant.Rows("requests")
	for name, wish := range map[string]inventory.LineRequest{"seat": e.hall.Seats(1), "pool": e.floor.Units(1), "night": e.room.Stay(5, 6)} {
		if _, err := b.TryKey(name, wish); err == nil {
			t.Errorf("%s: held twice", name)
		}
	}
	if after := e.tenant.Rows("requests"); after != before {
		t.Errorf("%d requests were stored by refusals", after-before)
	}
	a.Release(hold)
	for name, wish := range map[string]inventory.LineRequest{"seat": e.hall.Seats(1), "pool": e.floor.Units(1), "night": e.room.Stay(5, 6)} {
		if _, err := b.TryKey(name, wish); err != nil {
			t.Errorf("%s: the same key later: %s", name, e.tenant.Explain(err))
		}
	}
	e.tenant.Audit()
}

// R2: ten times the same request at once is one hold and ten equal answers; with ten keys it is one
// hold and nine refusals.
func TestTenTimesAtOnce(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(2, inventorytest.PoolOf("Floor", 1, 1))
	guest := tenant.Guest()
	holds := make([]inventory.Hold, 10)
	won, refused := tally(t, tenant, inventorytest.Race(10, func(i int) (err error) {
		holds[i], err = guest.TryKey("one key", hall.Seats(1), hall.Pools[0].Units(1))
		return err
	}))
	if won != 10 {
		t.Fatalf("%d were answered with the hold, the others with %v", won, refused)
	}
	for _, hold := range holds[1:] {
		if hold.ID != holds[0].ID || !hold.Deadline.Equal(holds[0].Deadline) || len(hold.Lines) != 2 {
			t.Errorf("two answers: %+v and %+v", holds[0], hold)
		}
	}
	if rows := tenant.Rows("holds"); rows != 1 {
		t.Errorf("%d holds are stored", rows)
	}

	won, refused = tally(t, tenant, inventorytest.Race(10, func(int) error {
		_, err := guest.Try(hall.Seats(2))
		return err
	}))
	if won != 1 || refused["HELD_BY_YOU seat 2 yours"] != 9 {
		t.Errorf("%d keys won one seat, the others were told %v", won, refused)
	}
	tenant.Audit()
}

// Ten keys at once, each with other content, of one session: nobody gets in another's way.
func TestTheSameKeyWithOtherContentAtOnce(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(10)
	guest := tenant.Guest()
	won, refused := tally(t, tenant, inventorytest.Race(10, func(i int) error {
		_, err := guest.TryKey("one key", hall.Seats(1+i))
		return err
	}))
	if won != 1 || refused["REQUEST_KEY_REUSED"] != 9 {
		t.Errorf("%d won with one key, the others were told %v", won, refused)
	}
}

func TestKeysOfChangesAreApart(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(2)
	guest := tenant.Guest()
	one, err := guest.TryKey("k", hall.Seats(1))
	if err != nil {
		t.Fatal(err)
	}
	two := guest.Hold(hall.Seats(2))
	service := tenant.Inventory
	if _, err := service.ExtendHold(t.Context(), guest.Actor, one.ID, "k"); err != nil {
		t.Errorf("a key of placeHold is free for extendHold: %v", err)
	}
	if _, err := service.ReleaseHold(t.Context(), guest.Actor, one.ID, "k"); err != nil {
		t.Errorf("and for releaseHold: %v", err)
	}
	_, err = service.ReleaseHold(t.Context(), guest.Actor, two.ID, "k")
	expectAnswer(t, tenant, err, "REQUEST_KEY_REUSED")
	_, err = service.ExtendHold(t.Context(), guest.Actor, two.ID, "k")
	expectAnswer(t, tenant, err, "REQUEST_KEY_REUSED")
	if got := guest.Read(two); got.State != inventory.HoldStateActive || got.Extensions != 0 {
		t.Errorf("the other hold was changed: %+v", got)
	}
}

// Admins' commands are repeated safely too.
func TestSettingUpTwice(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(3)
	input := hall.NewShow(inventorytest.PoolOf("Floor", 5, 2))
	results := make([]inventory.ShowID, 6)
	for _, err := range inventorytest.Race(len(results), func(i int) (err error) {
		results[i], err = tenant.Inventory.CreateShow(t.Context(), tenant.Owner, "the key", input)
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	for _, id := range results {
		if id != results[0] {
			t.Errorf("two shows: %s and %s", results[0], id)
		}
	}
	input.Name = "Another"
	if _, err := tenant.Inventory.CreateShow(t.Context(), tenant.Owner, "the key", input); err == nil || !strings.Contains(err.Error(), "used before") {
		t.Errorf("other content with the same key: %v", err)
	}
	if rows := tenant.Rows("shows"); rows != 2 {
		t.Errorf("%d shows are stored", rows)
	}
}
