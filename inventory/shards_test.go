package inventory_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/policies"
)

// While buyers of two processes hold and give back, the counter is split and joined again and again: no
// unit is lost, none is sold twice, and what is left is found wherever it is.
func TestShardsChangeWhileThePoolIsSold(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	tenant.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: inventorytest.Of[int64](1000)})
	const capacity = 110
	pool := tenant.Hall(0, inventorytest.PoolOf("Floor", capacity, 1)).Pools[0]
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	processes := []*inventory.Service{tenant.Inventory, inventory.NewService(dbtest.Open(t), enforcer)}
	guests := tenant.Guests(12)
	var held atomic.Int64
	results := inventorytest.Race(len(guests)+1, func(i int) error {
		if i == len(guests) {
			for _, shards := range []int64{8, 3, 17, 1, 5, 2, 32, 4} {
				if _, err := tenant.Inventory.SetPoolShards(t.Context(), tenant.Owner, pool.ID, shards); err != nil {
					return err
				}
			}
			return nil
		}
		for round := range 6 {
			quantity := int64(1 + (i+round)%3)
			hold, err := processes[i%2].PlaceHold(t.Context(), guests[i].Actor, inventory.PlaceHold{
				RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{pool.Units(quantity)},
			})
			if err != nil {
				return err
			}
			if held.Add(quantity); round%2 == 0 {
				guests[i].Release(hold)
				held.Add(-quantity)
			}
		}
		return nil
	})
	// 12 buyers keep 6 units each and have 3 more at most: a refusal would be a lie.
	for i, err := range results {
		if err != nil && tenant.Explain(err) != "BUSY" {
			t.Errorf("buyer %d: %s", i, tenant.Explain(err))
		}
	}
	tenant.Audit()
	expectCount(t, "the pool", pool.Count(), capacity, held.Load(), 0)
	rest := capacity - held.Load()
	for ; rest > 10; rest -= 10 {
		tenant.Guest().Hold(pool.Units(10))
	}
	tenant.Guest().Refused("LIMIT_PER_HOLD limit 10", pool.Units(11))
	tenant.Guest().Hold(pool.Units(rest))
	tenant.Guest().Refused("SOLD_OUT Floor left 0", pool.Units(1))
	tenant.Audit()
}

func TestShardsThatAreTooManyKeepWhatTheyHaveSold(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(0, inventorytest.PoolOf("Floor", 10, 5))
	pool := hall.Pools[0]
	guest := tenant.Guest()
	first, second := guest.Hold(pool.Units(7)), guest.Hold(pool.Units(2))
	if over := pool.SetShards(1); over != 0 {
		t.Errorf("oversold by %d", over)
	}
	if got := guest.Available(hall); got != 1 {
		t.Errorf("%d are available", got)
	}
	guest.Hold(pool.Units(1))
	guest.Refused("SOLD_OUT Floor left 0 yours", pool.Units(1))
	// What comes back to a row that is sold from no more is found.
	guest.Release(first)
	other := tenant.Guest()
	other.Refused("SOLD_OUT Floor left 7", pool.Units(8))
	other.Hold(pool.Units(7))
	guest.Release(second)
	pool.SetShards(3)
	expectCount(t, "the pool", pool.Count(), 10, 8, 0)
	if pool.SetCapacity(4); guest.Available(hall) != 0 {
		t.Error("an oversold pool has something left")
	}
	if over := pool.SetShards(2); over != 4 {
		t.Errorf("oversold by %d, want 4", over)
	}
	tenant.Guest().Refused("SOLD_OUT Floor left 0", pool.Units(1))
	pool.SetCapacity(9)
	tenant.Guest().Hold(pool.Units(1))
	tenant.Audit()

	for _, shards := range []int64{0, 257, -1} {
		_, err := tenant.Inventory.SetPoolShards(t.Context(), tenant.Owner, pool.ID, shards)
		expectAnswer(t, tenant, err, fmt.Sprintf("invalid: shards: expected 1 to 256, got %d", shards))
	}
	_, err := tenant.Inventory.SetPoolShards(t.Context(), tenant.Owner, inventorytest.Random[inventory.PoolKind](), 2)
	expectAnswer(t, tenant, err, "not_found: no such pool")
}

// What an allotment keeps is no part of what is split: all of the rest is for everybody, and no row of it
// is closed.
func TestShardsLeaveAllotmentsAlone(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(0, inventorytest.PoolOf("Floor", 100, 1))
	pool, partner, guest := hall.Pools[0], tenant.Partner("Fan club"), tenant.Guest()
	tenant.SetTerms(inventory.TermsChange{MaxQuantityPerHold: inventorytest.Of[int64](100)})
	input := pool.Part(partner.Actor.Channel, 30)
	input.Definite = true
	if _, err := tenant.Inventory.CreateAllotment(t.Context(), tenant.Owner, inventorytest.Key(), input); err != nil {
		t.Fatal(tenant.Explain(err))
	}
	guest.Hold(pool.Units(45))
	for _, shards := range []int64{4, 2, 7} {
		if over := pool.SetShards(shards); over != 0 {
			t.Errorf("oversold by %d", over)
		}
		var limits int64
		if err := tenant.DB.Pool().QueryRow(t.Context(), "SELECT sum(sell_limit)::bigint FROM pool_counters WHERE tenant_id = $1 AND bucket = $2", tenant.ID.UUID, uuid.Nil).Scan(&limits); err != nil || limits != 70 {
			t.Errorf("over %d shards the limits are %d, want 70: %v", shards, limits, err)
		}
	}
	tenant.Audit()
	other := tenant.Guest()
	other.Refused("SOLD_OUT Floor left 25", pool.Units(26))
	other.Hold(pool.Units(25))
	partner.Hold(pool.Units(30))
	partner.Refused("SOLD_OUT Floor left 0 yours", pool.Units(1))
	tenant.Audit()
}

// An allotment that was released keeps what it has sold; when that is given back and the pool is split,
// everybody may sell it, and the limits are no more than there is.
func TestShardsTakeBackWhatAReleasedAllotmentKept(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	pool, partner := tenant.Hall(0, inventorytest.PoolOf("Floor", 5, 1)).Pools[0], tenant.Partner("Fan club")
	input := pool.Part(partner.Actor.Channel, 3)
	input.Definite = true
	allotment := tenant.Allot(input)
	hold := partner.Hold(pool.Units(2))
	if err := tenant.ReleaseAllotment(allotment); err != nil {
		t.Fatal(tenant.Explain(err))
	}
	partner.Release(hold)
	if over := pool.SetShards(2); over != 0 {
		t.Errorf("oversold by %d", over)
	}
	tenant.Audit()
	tenant.Guest().Hold(pool.Units(5))
	tenant.Audit()
}

// Whatever is held, given back, resized and split: a quantity is had as long as the pool has it anywhere,
// and a refusal says exactly what is left.
func TestSoldOutIsOnlySaidWhenItIsTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		tenant := inventorytest.New(t)
		capacity := rapid.Int64Range(1, 20).Draw(r, "capacity")
		pool := tenant.Hall(0, inventorytest.PoolOf("Floor", capacity, rapid.Int64Range(1, 6).Draw(r, "shards"))).Pools[0]
		type sold struct {
			buyer inventorytest.Buyer
			hold  inventory.Hold
		}
		var holds []sold
		taken := int64(0)
		for range rapid.IntRange(1, 20).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"hold", "hold", "hold", "release", "split", "resize"}).Draw(r, "step") {
			case "hold":
				quantity, left := rapid.Int64Range(1, 8).Draw(r, "quantity"), max(0, capacity-taken)
				want := "held"
				if quantity > left {
					want = fmt.Sprintf("SOLD_OUT Floor left %d", left)
				}
				buyer := tenant.Guest()
				hold, err := buyer.Try(pool.Units(quantity))
				if got := tenant.Explain(err); got != want {
					r.Fatalf("%d of %d: got %s, want %s", quantity, left, got, want)
				}
				if err == nil {
					holds, taken = append(holds, sold{buyer, hold}), taken+quantity
				}
			case "release":
				if len(holds) > 0 {
					taken -= quantityOf(holds[0].hold)
					holds[0].buyer.Release(holds[0].hold)
					holds = holds[1:]
				}
			case "split":
				if over := pool.SetShards(rapid.Int64Range(1, 6).Draw(r, "shards")); over != max(0, taken-capacity) {
					r.Fatalf("oversold by %d with %d of %d taken", over, taken, capacity)
				}
			case "resize":
				capacity = rapid.Int64Range(0, 20).Draw(r, "capacity")
				pool.SetCapacity(capacity)
			}
		}
		tenant.Audit()
	})
}
