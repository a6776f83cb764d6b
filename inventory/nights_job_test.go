package inventory_test

import (
	"context"
	"testing"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/tenants"
)

// bigEdit is an edit of two room types and their house over three years.
func bigEdit(hotel *inventorytest.Hotel, change inventory.NightChange) inventory.NightsEdit {
	first := inventorytest.Nov(1)
	return inventory.NightsEdit{
		RequestKey: inventorytest.Key(), Property: &hotel.Property.ID,
		Nights: inventory.NightRange{First: first, Last: first.AddDays(3*365 - 1)}, Change: change,
	}
}

func startJob(t *testing.T, tenant *inventorytest.Tenant, edit inventory.NightsEdit) inventory.NightsJobID {
	t.Helper()
	set, err := tenant.Inventory.SetNights(t.Context(), tenant.Owner, edit)
	if err != nil || set.Job == nil || set.Nights != 0 {
		t.Fatalf("%+v, %v", set, err)
	}
	return *set.Job
}

func jobOf(t *testing.T, tenant *inventorytest.Tenant, id inventory.NightsJobID) inventory.NightsJob {
	t.Helper()
	job, err := tenant.Inventory.NightsJob(t.Context(), tenant.Owner, id)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// A job is written chunk by chunk; whoever goes on after one was stopped writes each chunk that is
// left, once, and the same request never makes a second job.
func TestAJobGoesOnWhereItWasStopped(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.NewOn(t, ownDatabase(t))
	hotel := tenant.Hotel()
	double, suite := hotel.Stocked("Double", 5, 1, 10), hotel.Stocked("Suite", 2, 1, 10)
	n := inventorytest.Of[int64]
	edit := bigEdit(hotel, inventory.NightChange{Physical: n(4), OversellPercent: n(50), HouseLimit: n(9)})
	id := startJob(t, tenant, edit)
	if again := startJob(t, tenant, edit); again != id {
		t.Errorf("repeated, it is %s instead of %s", again, id)
	}
	// 1095 nights in chunks of 366: three for each room type and for the house.
	if job := jobOf(t, tenant, id); job.State != inventory.NightsJobRunning || job.Chunks != 9 || job.Waiting != 9 || job.Nights != 3*1095 || job.Written != 0 {
		t.Fatalf("begins as %+v", job)
	}
	for written := 1; written <= 4; written++ {
		if done, err := tenant.Inventory.WriteNightsJobs(t.Context(), 1); done != 1 || err != nil {
			t.Fatalf("%d, %v", done, err)
		}
		if job := jobOf(t, tenant, id); job.Chunks-job.Waiting != int64(written) {
			t.Fatalf("after %d: %+v", written, job)
		}
	}
	// A process that is stopped at once writes nothing and breaks nothing.
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if done, err := tenant.Inventory.WriteNightsJobs(stopped, 10); done != 0 {
		t.Fatalf("stopped, it wrote %d, %v", done, err)
	}
	// Two processes at once.
	inventorytest.Race(2, func(int) error {
		_, err := tenant.Inventory.WriteNightsJobs(t.Context(), 100)
		return err
	})
	job := jobOf(t, tenant, id)
	if job.State != inventory.NightsJobDone || job.Waiting != 0 || job.Failed != 0 || job.Written != 3*1095 || job.EndedAt == nil {
		t.Fatalf("ends as %+v", job)
	}
	chunks, more, err := tenant.Inventory.NightsChunks(t.Context(), tenant.Owner, id, -1, 100)
	if err != nil || more || len(chunks) != 9 || !chunks[8].RoomType.IsZero() || chunks[8].EndedAt == nil || chunks[8].Nights != 1095-2*366 {
		t.Errorf("the chunks are %+v, %v", chunks, err)
	}
	expectCount(t, "the rooms", double.Count(5), 6, 0, 0)
	expectCount(t, "the suites", suite.Count(5), 6, 0, 0)
	expectCount(t, "the house", hotel.HouseCount(5), 9, 0, 0)
	tenant.Audit()
}

// What a cancelled job has written stays, and nothing more is written.
func TestACancelledJobWritesNothingMore(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.NewOn(t, ownDatabase(t))
	hotel := tenant.Hotel()
	hotel.Stocked("Double", 5, 1, 10)
	id := startJob(t, tenant, bigEdit(hotel, inventory.NightChange{Physical: inventorytest.Of[int64](4)}))
	if done, err := tenant.Inventory.WriteNightsJobs(t.Context(), 1); done != 1 || err != nil {
		t.Fatalf("%d, %v", done, err)
	}
	for range 2 {
		job, err := tenant.Inventory.CancelNightsJob(t.Context(), tenant.Owner, id)
		if err != nil || job.State != inventory.NightsJobCancelled || job.Written != 366 {
			t.Fatalf("%+v, %v", job, err)
		}
	}
	if done, err := tenant.Inventory.WriteNightsJobs(t.Context(), 10); done != 0 || err != nil {
		t.Errorf("it wrote %d more, %v", done, err)
	}
	if job := jobOf(t, tenant, id); job.Written != 366 || job.State != inventory.NightsJobCancelled {
		t.Errorf("it is %+v", job)
	}
}

// An edit that a night cannot take is refused as a whole before it begins; a night that is edited
// after that fails its chunk alone, which says why.
func TestAChunkThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.NewOn(t, ownDatabase(t))
	hotel := tenant.Hotel()
	room := hotel.Room("Double")
	first := inventorytest.Nov(1)
	room.Stock(5, first, first.AddDays(700))
	room.Stock(5, first.AddDays(701), first.AddDays(1094))
	edit := bigEdit(hotel, inventory.NightChange{OutOfOrder: inventorytest.Of[int64](6)})
	_, err := tenant.Inventory.SetNights(t.Context(), tenant.Owner, edit)
	expectAnswer(t, tenant, err, "invalid: outOfOrder: night 2097-11-01: 6 rooms out of order are more than its 5 rooms")

	edit.Change = inventory.NightChange{OutOfOrder: inventorytest.Of[int64](4)}
	id := startJob(t, tenant, edit)
	room.Set(3, 3, inventory.NightChange{Physical: inventorytest.Of[int64](2)})
	if _, err := tenant.Inventory.WriteNightsJobs(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	job := jobOf(t, tenant, id)
	if job.State != inventory.NightsJobDone || job.Failed != 1 || job.Written != 1095-366 {
		t.Errorf("it ends as %+v", job)
	}
	chunks, _, err := tenant.Inventory.NightsChunks(t.Context(), tenant.Owner, id, -1, 1)
	if err != nil || len(chunks) != 1 || chunks[0].State != inventory.NightsChunkFailed ||
		chunks[0].Fault != "outOfOrder: night 2097-11-03: 4 rooms out of order are more than its 2 rooms" {
		t.Errorf("the chunk is %+v, %v", chunks, err)
	}
	expectCount(t, "the rooms", room.Count(4), 5, 0, 0)
}

// Percentages round down, and follow the rooms; an absolute number takes their place.
func TestOversellInPercent(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 9, 5, 5)
	n := inventorytest.Of[int64]
	for _, step := range []struct {
		change inventory.NightChange
		limit  int64
	}{
		{inventory.NightChange{OversellPercent: n(10)}, 9},
		{inventory.NightChange{OversellPercent: n(12)}, 10},
		{inventory.NightChange{Physical: n(25)}, 28},
		{inventory.NightChange{OutOfOrder: n(1)}, 26},
		{inventory.NightChange{StopSell: inventorytest.Of(false)}, 26},
		{inventory.NightChange{Oversell: n(5)}, 29},
		{inventory.NightChange{OutOfOrder: n(0)}, 30},
		{inventory.NightChange{OversellPercent: n(0)}, 25},
		{inventory.NightChange{OversellPercent: n(100)}, 50},
	} {
		room.Set(5, 5, step.change)
		expectCount(t, "the rooms", room.Count(5), step.limit, 0, 0)
	}
	tenant.Audit()
}

// R27: oversell is the same number for every channel and on every path, and setting it to 0 takes it
// away at once.
func TestOversellIsTheSameForEveryChannel(t *testing.T) {
	t.Parallel()
	for name, buyer := range map[string]func(*inventorytest.Tenant) inventorytest.Buyer{
		"the shop":     (*inventorytest.Tenant).Guest,
		"a box office": func(x *inventorytest.Tenant) inventorytest.Buyer { return x.Buyer(x.Owner) },
		"a partner":    func(x *inventorytest.Tenant) inventorytest.Buyer { return x.Partner("Agency") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenant := inventorytest.New(t)
			room := tenant.Hotel().Stocked("Double", 10, 5, 5)
			n := inventorytest.Of[int64]
			room.Set(5, 5, inventory.NightChange{Oversell: n(2)})
			tenant.SetTerms(inventory.TermsChange{MaxQuantityPerHold: n(20)})
			who := buyer(tenant)
			who.Hold(room.Rooms(10, 5, 6))
			eleventh := who.Hold(room.Stay(5, 6))
			who.Hold(room.Stay(5, 6))
			who.Refused("SOLD_OUT 5 Nov left 0 yours", room.Stay(5, 6))
			// Together with others, which takes the path that combines claims.
			won, _ := tally(t, tenant, inventorytest.Race(4, func(int) error {
				_, err := who.Try(room.Stay(5, 6))
				return err
			}))
			if won != 0 {
				t.Errorf("%d more were sold", won)
			}
			who.Release(eleventh)
			room.Set(5, 5, inventory.NightChange{Oversell: n(0)})
			who.Refused("SOLD_OUT 5 Nov left 0 yours", room.Stay(5, 6))
			tenant.Audit()
		})
	}
}

// Staff may override each restriction of a night, for a reason, and never the stock: not the rooms,
// not the oversell, not the house limit.
func TestStaffOverrideRestrictionsAndNotTheStock(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hotel := tenant.Hotel()
	room := hotel.Stocked("Double", 1, 1, 10)
	n, yes := inventorytest.Of[int64], inventorytest.Of(true)
	room.Set(5, 6, inventory.NightChange{
		Oversell: n(1), StopSell: yes, ClosedToArrival: yes, ClosedToDeparture: yes, MinStayArrival: n(3), MinStayThrough: n(4),
	})
	hold := func(actor inventorytest.Buyer, override *inventory.Override, line inventory.LineRequest) (inventory.Hold, error) {
		return tenant.Inventory.PlaceHold(t.Context(), actor.Actor, inventory.PlaceHold{
			RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{line}, Override: override,
		})
	}
	staff, because := tenant.Buyer(tenant.Owner), &inventory.Override{Reason: "The guest of honour"}
	staff.Refused("STOP_SELL 5 Nov, MIN_STAY_THROUGH 5 Nov limit 4, CLOSED_TO_ARRIVAL 5 Nov, MIN_STAY_ARRIVAL 5 Nov limit 3, CLOSED_TO_DEPARTURE 6 Nov", room.Stay(5, 6))
	for _, other := range []inventorytest.Buyer{tenant.Guest(), tenant.Partner("Agency")} {
		if _, err := hold(other, because, room.Stay(5, 6)); fault.KindOf(err) != fault.KindDenied {
			t.Errorf("somebody else is answered %v", err)
		}
	}
	_, err := hold(staff, &inventory.Override{Reason: " "}, room.Stay(5, 6))
	expectAnswer(t, tenant, err, "invalid: overrideReason: expected why the restrictions are overridden, in 1 to 500 characters")
	for range 2 {
		if _, err := hold(staff, because, room.Stay(5, 6)); err != nil {
			t.Fatal(err)
		}
	}
	_, err = hold(staff, because, room.Stay(5, 6))
	expectAnswer(t, tenant, err, "SOLD_OUT 5 Nov left 0 yours")
	hotel.SetHouseLimit(6, 6, n(0))
	_, err = hold(staff, because, room.Stay(6, 7))
	expectAnswer(t, tenant, err, "HOUSE_FULL 6 Nov left 0")
	entries, _, err := tenant.Tenants.AuditEntries(t.Context(), tenant.Owner, tenant.ID, tenants.AuditFilter{Region: inventorytest.Region}, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	logged := 0
	for _, e := range entries {
		if e.Action == "hold.override" && e.Reason == because.Reason {
			logged++
		}
	}
	if logged != 2 {
		t.Errorf("%d overrides are logged", logged)
	}
	tenant.Audit()
}
