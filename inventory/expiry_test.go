package inventory_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// R28: nobody sweeps, and everything whose time is over can be held again at once, by anybody.
func TestWithoutAnyWorkerEverythingDueCanBeHeldAgain(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(6, inventorytest.PoolOf("Floor", 9, 4))
	floor, hotel := hall.Pools[0], tenant.Hotel()
	double, suite := hotel.Stocked("Double", 2, 1, 10), hotel.Stocked("Suite", 2, 1, 10)
	hotel.SetHouseLimit(1, 10, inventorytest.Of[int64](2))
	everything := []inventory.LineRequest{hall.Seats(1, 2, 3, 4, 5, 6), floor.Units(8), double.Rooms(2, 3, 8)}
	tenant.SetTerms(inventory.TermsChange{MaxQuantityPerHold: inventorytest.Of[int64](20)})

	a, b, c := tenant.Guest(), tenant.Guest(), tenant.Guest()
	first := a.Hold(everything...)
	a.Hold(floor.Units(1))
	if _, err := b.Try(everything...); err == nil {
		t.Fatal("held twice")
	}
	tenant.Tick(301 * time.Second)
	if got := a.Read(first).State; got != inventory.HoldStateExpired {
		t.Errorf("the buyer sees the lapsed hold as %s", got)
	}
	second := b.Hold(everything...)
	c.Hold(floor.Units(1))
	if got := a.Read(first).State; got != inventory.HoldStateExpired {
		t.Errorf("the reaped hold is %s", got)
	}
	tenant.Audit()

	// The suite has rooms of its own; what stands in its way is the house, held by doubles.
	c.Refused("HOUSE_FULL 4 Nov left 0", suite.Stay(4, 5))
	tenant.Lapse(second)
	c.Hold(suite.Rooms(2, 4, 5))
	c.Hold(hall.Seats(6))
	c.Hold(floor.Units(8))
	tenant.Audit()
}

// A mixed claim whose units are held by several due holds, some of which also hold others' units.
func TestReapingSeveralHoldsOfEveryKind(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guests := e.tenant.Guests(3)
	e.tenant.Lapse(
		guests[0].Hold(e.hall.Seats(1), e.floor.Units(1), e.room.Stay(4, 6)),
		guests[1].Hold(e.hall.Seats(2, 3), e.room.Stay(5, 7)),
		guests[2].Hold(e.hall.Seats(4), e.floor.Units(3)),
	)
	live := e.tenant.Guest().Hold(e.hall.Seats(5), e.room.Stay(4, 5))
	e.tenant.Guest().Hold(e.hall.Seats(1, 2), e.floor.Units(2), e.room.Rooms(2, 5, 6))
	if got := e.tenant.Guest().SeatStatus(e.hall, 3); got != inventory.SeatStatusAvailable {
		t.Errorf("seat 3, which nobody wanted, is %s", got)
	}
	if got := e.tenant.Guest().SeatStatus(e.hall, 5); got != inventory.SeatStatusHeld {
		t.Errorf("seat 5 of the live hold %s is %s", live.ID, got)
	}
	e.tenant.Audit()
}

// R29 and R77: what is shown is right the moment a deadline passes, with no write.
func TestReadersDoNotCountTheDead(t *testing.T) {
	// Not parallel: it sweeps due holds of every tenant.
	tenant := inventorytest.New(t)
	hall := tenant.Hall(3, inventorytest.PoolOf("Floor", 100, 4))
	hotel := tenant.Hotel()
	room := hotel.Stocked("Double", 3, 1, 10)
	guest := tenant.Guest()
	tenant.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: inventorytest.Of[int64](100)})
	sold := guest.Hold(hall.Pools[0].Units(7))
	if _, err := tenant.Confirm(sold.ID); err != nil {
		t.Fatal(err)
	}
	var carts []inventory.Hold
	for range 20 {
		carts = append(carts, guest.Hold(hall.Pools[0].Units(1)))
	}
	carts = append(carts, guest.Hold(hall.Seats(1, 2), room.Rooms(2, 4, 6)))
	hotel.SetHouseLimit(5, 5, inventorytest.Of[int64](2))
	if got := guest.Available(hall); got != 73 {
		t.Errorf("%d available while 20 are held", got)
	}
	if got := guest.Calendar(room, 4, 6); !slices.Equal(got, []int64{1, 0, 3}) {
		t.Errorf("the calendar shows %v while 2 are held", got)
	}
	requests := tenant.Rows("requests")
	tenant.Lapse(carts...)
	if got := guest.Available(hall); got != 93 {
		t.Errorf("%d available, want 93", got)
	}
	if got := guest.Calendar(room, 4, 6); !slices.Equal(got, []int64{3, 2, 3}) {
		t.Errorf("the calendar shows %v", got)
	}
	if got := guest.SeatStatus(hall, 1); got != inventory.SeatStatusAvailable {
		t.Errorf("the seat is shown as %s", got)
	}
	if tenant.Rows("requests") != requests {
		t.Error("reading wrote something")
	}
	expectCount(t, "the pool", hall.Pools[0].Count(), 100, 20, 7)
	if n, err := tenant.Inventory.ExpireDue(t.Context(), 10_000); err != nil || n < 21 {
		t.Errorf("swept %d, %v", n, err)
	}
	if got := guest.Available(hall); got != 93 {
		t.Errorf("%d available after the sweep", got)
	}
	expectCount(t, "the pool", hall.Pools[0].Count(), 100, 0, 7)
	tenant.Audit()
}

// More due holds than one transaction gives back, and the one that matters is the last.
func TestMoreDueHoldsThanOneClaimReaps(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	n := inventorytest.Of[int64]
	tenant.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: n(1000), MaxQuantityPerHold: n(1000)})
	hotel := tenant.Hotel()
	double, suite := hotel.Stocked("Double", 230, 5, 5), hotel.Stocked("Suite", 1, 5, 5)
	pool := tenant.Hall(0, inventorytest.PoolOf("Floor", 150, 3)).Pools[0]
	guest := tenant.Guest()
	var due []inventory.Hold
	for range 150 {
		due = append(due, guest.Hold(pool.Units(1)))
	}
	for range 130 {
		due = append(due, guest.Hold(double.Stay(5, 6)))
	}
	last := guest.Hold(suite.Stay(5, 6))
	tenant.Tick(310 * time.Second)

	other := tenant.Guest()
	other.Hold(pool.Units(150))
	other.Hold(suite.Stay(5, 6))
	if got := guest.Read(last).State; got != inventory.HoldStateExpired {
		t.Errorf("the hold on the suite is %s", got)
	}
	tenant.Audit()
	if got := len(due); got != 280 {
		t.Errorf("%d holds were due", got)
	}
}

// A claim that waits for a lock while a deadline passes is judged by the clock after the wait. The
// row is locked by hand, and the hold's time ends while the claim stands in line.
func TestTheClockIsReadAfterTheWait(t *testing.T) {
	t.Parallel()
	for _, wait := range []struct {
		name string
		lock string
		held func(e evening) inventory.LineRequest
		want string
	}{
		{"seat", "SELECT 1 FROM show_seats WHERE tenant_id = $1 AND state = 'HELD' FOR UPDATE", func(e evening) inventory.LineRequest { return e.hall.Seats(1) }, "held"},
		{"pool", "SELECT 1 FROM pool_counters WHERE tenant_id = $1 FOR UPDATE", func(e evening) inventory.LineRequest { return e.floor.Units(4) }, "held"},
		{"night", "SELECT 1 FROM night_counters WHERE tenant_id = $1 FOR UPDATE", func(e evening) inventory.LineRequest { return e.room.Rooms(2, 5, 7) }, "held"},
		// A claim that is refused for another reason looks at everything, under lock.
		{
			"pool, refused", "SELECT 1 FROM pool_counters WHERE tenant_id = $1 FOR UPDATE",
			func(e evening) inventory.LineRequest { return e.floor.Units(4) },
			"1: HELD_BY_OTHER seat 9",
		},
		{
			"night, refused", "SELECT 1 FROM house_counters WHERE tenant_id = $1 FOR UPDATE",
			func(e evening) inventory.LineRequest { return e.room.Rooms(2, 5, 7) },
			"1: HELD_BY_OTHER seat 9",
		},
	} {
		t.Run(wait.name, func(t *testing.T) {
			t.Parallel()
			e := newEvening(t)
			a, b := e.tenant.Guest(), e.tenant.Guest()
			wishes := []inventory.LineRequest{wait.held(e)}
			if wait.want != "held" {
				a.Hold(e.hall.Seats(9))
				wishes = append(wishes, e.hall.Seats(9))
			}
			e.tenant.SetTerms(inventory.TermsChange{HoldSeconds: inventorytest.Of[int64](1)})
			hold := a.Hold(wait.held(e))

			blocker, err := e.tenant.DB.Pool().Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = blocker.Rollback(context.WithoutCancel(t.Context())) }()
			if _, err := blocker.Exec(t.Context(), wait.lock, e.tenant.ID.UUID); err != nil {
				t.Fatal(err)
			}
			if !e.tenant.Now().Before(hold.Deadline) {
				t.Skip("this machine was too slow to begin before the deadline")
			}
			answer := make(chan error, 1)
			go func() {
				_, err := b.Try(wishes...)
				answer <- err
			}()
			waitUntil(t, e.tenant, hold.ClaimableAt)
			select {
			case err := <-answer:
				t.Fatalf("the claim did not wait for the lock: %s", e.tenant.Explain(err))
			default:
			}
			if err := blocker.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			expectAnswer(t, e.tenant, <-answer, wait.want)
			if got := a.Read(hold).State; got != inventory.HoldStateExpired {
				t.Errorf("the first hold is %s", got)
			}
			e.tenant.Audit()
		})
	}
}

// A hold that is due when the claim begins, and whose payment begins while the claim waits for it,
// stays its owner's.
func TestADueHoldThatIsSavedWhileTheClaimWaits(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	a, b := e.tenant.Guest(), e.tenant.Guest()
	wishes := []inventory.LineRequest{e.hall.Seats(1), e.floor.Units(4), e.room.Rooms(2, 5, 6)}
	hold := a.Hold(wishes...)
	e.tenant.Lapse(hold)
	saviour, err := e.tenant.DB.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = saviour.Rollback(context.WithoutCancel(t.Context())) }()
	locked, err := inventory.LockHold(t.Context(), saviour, e.tenant.ID, hold.ID)
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := b.Try(wishes...)
		answer <- err
	}()
	if _, err := inventory.ProcessTx(t.Context(), saviour, locked, e.tenant.Now()); err != nil {
		t.Fatal(err)
	}
	if err := saviour.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = <-answer
	if got := a.Read(hold).State; got != inventory.HoldStateProcessing && err != nil {
		t.Errorf("the hold is %s, and the claim was told %s", got, e.tenant.Explain(err))
	}
	if err == nil {
		t.Error("the claim took units whose payment had begun")
	}
	e.tenant.Audit()
}

// waitUntil waits for the database's clock.
func waitUntil(t *testing.T, tenant *inventorytest.Tenant, instant time.Time) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for tenant.Now().Before(instant) {
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

// A real deadline, without any fixture: a hold of one second.
func TestARealSecond(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	e.tenant.SetTerms(inventory.TermsChange{HoldSeconds: inventorytest.Of[int64](1)})
	a, b := e.tenant.Guest(), e.tenant.Guest()
	hold := a.Hold(e.hall.Seats(1), e.floor.Units(4))
	if got := hold.Deadline.Sub(hold.PlacedAt); got != time.Second {
		t.Errorf("a hold of one second lasts %s", got)
	}
	for {
		_, err := b.Try(e.hall.Seats(1), e.floor.Units(4))
		now := e.tenant.Now()
		if err == nil {
			if now.Before(hold.Deadline) {
				t.Errorf("taken at %s, before the deadline %s", now, hold.Deadline)
			}
			break
		}
		expectAnswer(t, e.tenant, err, "0: HELD_BY_OTHER seat 1, 1: SOLD_OUT Floor left 0")
		if now.After(hold.Deadline.Add(10 * time.Second)) {
			t.Fatal("never free again")
		}
	}
	e.tenant.Audit()
}

// Two tenants with more due than one sweep ends: the longest overdue go first, whosever they are.
func TestASweepBeginsWithTheLongestOverdue(t *testing.T) {
	t.Parallel()
	d := ownDatabase(t)
	var carts []inventory.Hold
	shops := []*inventorytest.Tenant{inventorytest.NewOn(t, d), inventorytest.NewOn(t, d)}
	for _, shop := range shops {
		shop.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: inventorytest.Of[int64](100)})
	}
	floors := []inventorytest.Pool{shops[0].Hall(0, inventorytest.PoolOf("Floor", 50, 1)).Pools[0], shops[1].Hall(0, inventorytest.PoolOf("Floor", 50, 1)).Pools[0]}
	guests := []inventorytest.Buyer{shops[0].Guest(), shops[1].Guest()}
	for i := range 12 {
		hold := guests[i%2].Hold(floors[i%2].Units(1))
		if _, err := d.Pool().Exec(t.Context(), `UPDATE holds SET deadline = $3, lease_deadline = $3, claimable_at = $3
			WHERE tenant_id = $1 AND id = $2`, shops[i%2].ID.UUID, hold.ID.UUID, shops[0].Now().Add(time.Duration(i-20)*time.Second)); err != nil {
			t.Fatal(err)
		}
		carts = append(carts, hold)
	}
	for begun := 0; begun < len(carts); begun += 4 {
		if n, err := shops[0].Inventory.ExpireDue(t.Context(), 4); err != nil || n != 4 {
			t.Fatalf("swept %d, %v", n, err)
		}
		for i, cart := range carts {
			row, err := inventory.GetHold(t.Context(), d.Pool(), shops[i%2].ID, cart.ID)
			if err != nil {
				t.Fatal(err)
			}
			if swept := row.State == inventory.HoldStateExpired; swept != (i < begun+4) {
				t.Errorf("after %d, number %d is %s", begun+4, i, row.State)
			}
		}
	}
	shops[0].Audit()
	shops[1].Audit()
}

// Two sweepers and a buyer go for the same holds at once: each unit comes back once.
func TestTwoSweepersAtOnce(t *testing.T) {
	// Not parallel: it sweeps due holds of every tenant.
	e := newEvening(t)
	guests := e.tenant.Guests(4)
	for round := range 5 {
		for i, guest := range guests {
			guest.Hold(e.hall.Seats(1+2*i, 2+2*i), e.floor.Units(1))
		}
		guests[0].Hold(e.room.Stay(4, 8))
		guests[1].Hold(e.room.Stay(4, 8))
		e.tenant.Tick(310 * time.Second)
		counts := make([]int, 3)
		for _, err := range inventorytest.Race(3, func(i int) (err error) {
			if i == 2 {
				_, err = guests[2].Try(e.hall.Seats(1, 3), e.floor.Units(3), e.room.Rooms(2, 5, 6))
				return err
			}
			counts[i], err = e.tenant.Inventory.ExpireDue(t.Context(), 1000)
			return err
		}) {
			if err != nil {
				t.Errorf("round %d: %s", round, e.tenant.Explain(err))
			}
		}
		e.tenant.Audit()
		if count := e.floor.Count(); count.Held != 3 {
			t.Errorf("round %d: the pool counts %+v", round, count)
		}
		e.tenant.Tick(310 * time.Second)
		if _, err := e.tenant.Inventory.ExpireDue(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
	}
	expectCount(t, "the pool", e.floor.Count(), 4, 0, 0)
	if rows := e.tenant.Rows("holds"); rows != 35 {
		t.Errorf("%d holds are kept, want all 35", rows)
	}
}

// C32: a clean-up that is late never frees what has a newer owner.
func TestALateCleanUpFreesNothingOfANewerOwner(t *testing.T) {
	// Not parallel: it sweeps due holds of every tenant.
	e := newEvening(t)
	a, b := e.tenant.Guest(), e.tenant.Guest()
	old := a.Hold(e.hall.Seats(1, 2), e.floor.Units(4), e.room.Rooms(2, 5, 6))
	if _, err := e.tenant.Checkout(old.ID); err != nil {
		t.Fatal(err)
	}
	e.tenant.Lapse(old)
	newer := b.Hold(e.hall.Seats(1, 2), e.floor.Units(4), e.room.Rooms(2, 5, 6))

	if released := a.Release(old); released.State != inventory.HoldStateExpired {
		t.Errorf("a late release says %s", released.State)
	}
	_, err := a.TryExtend(old)
	expectAnswer(t, e.tenant, err, "HOLD_EXPIRED")
	if _, err := e.tenant.Decline(old.ID); err == nil {
		t.Error("a late decline was carried out")
	}
	if _, err := e.tenant.Confirm(old.ID); err == nil {
		t.Error("a late confirm was carried out")
	}
	if err := e.tenant.Return(old); err == nil {
		t.Error("units that were never booked were given back")
	}
	if _, err := e.tenant.Inventory.ExpireDue(t.Context(), 1000); err != nil {
		t.Error(err)
	}
	e.tenant.Audit()
	if got := b.Read(newer); got.State != inventory.HoldStateActive {
		t.Errorf("the newer hold is %s", got.State)
	}
	if got := a.Read(old); got.State != inventory.HoldStateExpired || got.Total != old.Total || len(got.Lines) != len(old.Lines) || got.EndedAt == nil {
		t.Errorf("the expired hold reads %+v", got)
	}
}

// The sweeper works in bounded batches and ends only what is due.
func TestTheSweeperIsBounded(t *testing.T) {
	// Not parallel: it counts, and sweeps due holds of every tenant.
	tenant := inventorytest.New(t)
	tenant.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: inventorytest.Of[int64](1000)})
	hall := tenant.Hall(3, inventorytest.PoolOf("Floor", 200, 1))
	guest := tenant.Guest()
	for range 7 {
		if _, err := tenant.Inventory.ExpireDue(t.Context(), 10_000); err != nil {
			t.Fatal(err)
		}
	}
	var due []inventory.Hold
	for range 60 {
		due = append(due, guest.Hold(hall.Pools[0].Units(1)))
	}
	tenant.Tick(310 * time.Second)
	live := guest.Hold(hall.Seats(1))
	for _, want := range []int{7, 53, 0} {
		limit := want
		if want != 7 {
			limit = 1000
		}
		if n, err := tenant.Inventory.ExpireDue(t.Context(), limit); err != nil || n != want {
			t.Errorf("swept %d of at most %d, %v; want %d", n, limit, err, want)
		}
	}
	for _, hold := range due {
		if got := guest.Read(hold); got.State != inventory.HoldStateExpired || got.Version != 2 {
			t.Fatalf("a due hold is %s in version %d", got.State, got.Version)
		}
	}
	if got := guest.Read(live).State; got != inventory.HoldStateActive {
		t.Errorf("the live hold is %s", got)
	}
	tenant.Audit()
}

// One hold whose units cannot be given back does not keep the others from being swept.
func TestOneBrokenHoldHarmsNoOther(t *testing.T) {
	// Not parallel: it sweeps due holds of every tenant.
	tenant := inventorytest.New(t)
	hall := tenant.Hall(3, inventorytest.PoolOf("Floor", 9, 1))
	guest := tenant.Guest()
	broken, sound := guest.Hold(hall.Pools[0].Units(9)), guest.Hold(hall.Seats(1))
	tenant.Lapse(broken, sound)
	if _, err := tenant.DB.Pool().Exec(t.Context(), "UPDATE pool_counters SET held = 0 WHERE tenant_id = $1", tenant.ID.UUID); err != nil {
		t.Fatal(err)
	}
	if n, err := tenant.Inventory.ExpireDue(t.Context(), 10_000); err == nil || n < 1 {
		t.Errorf("swept %d, %v; want the sound ones, and the error", n, err)
	}
	stored, err := inventory.GetHold(t.Context(), tenant.DB.Pool(), tenant.ID, sound.ID)
	if err != nil || stored.State != inventory.HoldStateExpired {
		t.Errorf("the sound hold is %s, %v", stored.State, err)
	}
	// Mend it: other tests sweep too.
	if _, err := tenant.DB.Pool().Exec(t.Context(), "UPDATE pool_counters SET held = 9 WHERE tenant_id = $1", tenant.ID.UUID); err != nil {
		t.Fatal(err)
	}
}

// A buyer who returns just as their own hold lapses gets the unit once.
func TestReclaimingYourOwnLapsedHold(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest := e.tenant.Guest()
	wishes := []inventory.LineRequest{e.hall.Seats(1), e.floor.Units(4), e.room.Rooms(2, 5, 6)}
	first := guest.Hold(wishes...)
	e.tenant.Lapse(first)
	second := guest.Hold(wishes...)
	if second.ID == first.ID {
		t.Error("the same hold came back to life")
	}
	e.tenant.Audit()
}

// A due hold that is extended, paid or confirmed by somebody at the moment of the claim is either
// theirs or the claimant's.
func TestAClaimRacesTheLateOwner(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(e evening, owner inventorytest.Buyer, hold inventory.Hold) error{
		"confirm": func(e evening, _ inventorytest.Buyer, hold inventory.Hold) error {
			_, err := e.tenant.Confirm(hold.ID)
			return err
		},
		"release": func(_ evening, owner inventorytest.Buyer, hold inventory.Hold) error {
			_, err := owner.TryRelease(hold)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEvening(t)
			for round := range 10 {
				owner, claimant := e.tenant.Guest(), e.tenant.Guest()
				wishes := []inventory.LineRequest{e.hall.Seats(1 + round), e.floor.Units(4), e.room.Rooms(2, 5, 6)}
				hold := owner.Hold(wishes...)
				e.tenant.Lapse(hold)
				var taken inventory.Hold
				results := inventorytest.Race(2, func(i int) (err error) {
					if i == 0 {
						return act(e, owner, hold)
					}
					taken, err = claimant.Try(wishes...)
					return err
				})
				switch {
				case name == "release" && (results[0] != nil || results[1] != nil):
					t.Errorf("release and claim: %v", results)
				case name == "confirm" && (results[0] == nil) == (results[1] == nil):
					t.Errorf("confirm and claim: %v", results)
				}
				e.tenant.Audit()
				if results[1] == nil {
					claimant.Release(taken)
					continue
				}
				owned := owner.Read(hold)
				if err := e.tenant.Return(owned); err != nil {
					t.Fatal(err)
				}
				// Its lines are no longer live: take it out of the books.
				if _, err := e.tenant.DB.Pool().Exec(t.Context(), "DELETE FROM hold_lines WHERE tenant_id = $1 AND hold_id = $2", e.tenant.ID.UUID, hold.ID.UUID); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
