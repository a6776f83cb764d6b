package inventory_test

import (
	"testing"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// R1: one unit is left, 200 want it at once.
func TestTheLastUnitOfAPool(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	pool := tenant.Hall(0, inventorytest.PoolOf("Floor", 1, 1)).Pools[0]
	guests := tenant.Guests(200)
	won, refused := tally(t, tenant, inventorytest.Race(len(guests), func(i int) error {
		_, err := guests[i].Try(pool.Units(1))
		return err
	}))
	if won != 1 || refused["SOLD_OUT Floor left 0"] != 199 {
		t.Errorf("%d won, the others were told %v", won, refused)
	}
	expectCount(t, "the pool", pool.Count(), 1, 1, 0)
	tenant.Audit()
}

// R5: two carts, each below what is left, together above it.
func TestTwoCartsTogetherAboveTheStock(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	pool := tenant.Hall(0, inventorytest.PoolOf("Floor", 5, 1)).Pools[0]
	guests := tenant.Guests(2)
	won, refused := tally(t, tenant, inventorytest.Race(2, func(i int) error {
		_, err := guests[i].Try(pool.Units(3))
		return err
	}))
	if won != 1 || refused["SOLD_OUT Floor left 2"] != 1 {
		t.Errorf("%d won, the other was told %v", won, refused)
	}
	expectCount(t, "the pool", pool.Count(), 5, 3, 0)
	tenant.Guest().Hold(pool.Units(2))
}

// R4, the part of the stock: 50 buyers hold and confirm, some change their mind; never more than
// 10 are sold.
func TestFiftySagasOnTenUnits(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	pool := tenant.Hall(0, inventorytest.PoolOf("Floor", 10, 2)).Pools[0]
	guests := tenant.Guests(50)
	won, _ := tally(t, tenant, inventorytest.Race(len(guests), func(i int) error {
		hold, err := guests[i].Try(pool.Units(1))
		if err != nil {
			return err
		}
		if _, err := tenant.Checkout(hold.ID); err != nil {
			return err
		}
		_, err = tenant.Confirm(hold.ID)
		return err
	}))
	if won != 10 {
		t.Errorf("%d sagas were completed on 10 units", won)
	}
	expectCount(t, "the pool", pool.Count(), 10, 0, 10)
	tenant.Audit()
}

// A quantity that no single shard has is found as long as the shards have it together, and the
// refusal says exactly what is left.
func TestTheTailOfAShardedPool(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	pool := tenant.Hall(0, inventorytest.PoolOf("Floor", 10, 4)).Pools[0]
	hold := tenant.Guest().Hold(pool.Units(7))
	if len(hold.Lines) < 3 || hold.Total.Minor != 7*inventorytest.PoolPrice {
		t.Errorf("7 units of shards of 3, 3, 2 and 2 came as %d lines for %s", len(hold.Lines), hold.Total)
	}
	tenant.Guest().Refused("SOLD_OUT Floor left 3", pool.Units(4))
	for range 3 {
		tenant.Guest().Hold(pool.Units(1))
	}
	tenant.Guest().Refused("SOLD_OUT Floor left 0", pool.Units(1))
	expectCount(t, "the pool", pool.Count(), 10, 10, 0)
	tenant.Audit()
}

func TestManyBuyersOnAShardedPool(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	pool := tenant.Hall(0, inventorytest.PoolOf("Floor", 30, 8)).Pools[0]
	guests := tenant.Guests(40)
	won, refused := tally(t, tenant, inventorytest.Race(len(guests), func(i int) error {
		_, err := guests[i].Try(pool.Units(1))
		return err
	}))
	if won != 30 || refused["SOLD_OUT Floor left 0"] != 10 {
		t.Errorf("%d of 40 had one of 30 units, the others were told %v", won, refused)
	}
	tenant.Audit()
}

// R8: the same pool on two lines is no way around the check of one.
func TestTheSamePoolOnTwoLines(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	pool := tenant.Hall(0, inventorytest.PoolOf("Floor", 1, 1)).Pools[0]
	tenant.Guest().Refused("invalid: lines[1].pool.pool: the same pool is named at lines[0].pool; ask for the sum in one line", pool.Units(1), pool.Units(1))
	expectCount(t, "the pool", pool.Count(), 1, 0, 0)
}

// R52: what is wrong with one pool does not concern the other.
func TestAPoolThatIsOversoldHarmsNoOther(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	pools := tenant.Hall(0, inventorytest.PoolOf("Floor", 5, 1), inventorytest.PoolOf("Balcony", 5, 1)).Pools
	floor, balcony := pools[0], pools[1]
	tenant.Guest().Hold(floor.Units(5))
	if over := floor.SetCapacity(2); over != 3 {
		t.Errorf("oversold by %d", over)
	}
	tenant.Guest().Hold(balcony.Units(5))
	tenant.Guest().Refused("0: SOLD_OUT Balcony left 0, 1: SOLD_OUT Floor left 0", balcony.Units(1), floor.Units(1))
}

func TestRaisingAndLoweringAPool(t *testing.T) {
	t.Parallel()
	for _, shards := range []int64{1, 4} {
		tenant := inventorytest.New(t)
		hall := tenant.Hall(0, inventorytest.PoolOf("Floor", 6, shards))
		pool := hall.Pools[0]
		guest := tenant.Guest()
		first := guest.Hold(pool.Units(4))
		guest.Hold(pool.Units(1))

		pool.SetCapacity(8)
		if got := guest.Available(hall); got != 3 {
			t.Errorf("%d shards: %d available of 8 with 5 held", shards, got)
		}
		guest.Refused("SOLD_OUT Floor left 3 yours", pool.Units(4))

		// R54: below what is sold nothing is available, never less than nothing, and nothing more is
		// sold until what is sold is below.
		if over := pool.SetCapacity(3); over != 2 {
			t.Errorf("%d shards: over by %d, want 2", shards, over)
		}
		if got := guest.Available(hall); got != 0 {
			t.Errorf("%d shards: %d available of 3 with 5 held", shards, got)
		}
		other := tenant.Guest()
		other.Refused("SOLD_OUT Floor left 0", pool.Units(1))
		guest.Release(first)
		if got := guest.Available(hall); got != 2 {
			t.Errorf("%d shards: %d available of 3 with 1 held", shards, got)
		}
		other.Refused("SOLD_OUT Floor left 2", pool.Units(3))
		other.Hold(pool.Units(2))
		other.Refused("SOLD_OUT Floor left 0 yours", pool.Units(1))
		expectCount(t, "the pool", pool.Count(), 3, 3, 0)
		tenant.Audit()
	}
}

// R54 on a pool of several counters: giving one unit back while the pool is still oversold sells
// nothing.
func TestAnOversoldShardedPoolSellsNothingUntilBelow(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	pool := tenant.Hall(0, inventorytest.PoolOf("Floor", 10, 2)).Pools[0]
	tenant.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: inventorytest.Of[int64](20)})
	guest, other := tenant.Guest(), tenant.Guest()
	var holds []inventory.Hold
	for range 10 {
		holds = append(holds, guest.Hold(pool.Units(1)))
	}
	pool.SetCapacity(6)
	for sold := 9; sold >= 6; sold-- {
		guest.Release(holds[sold])
		other.Refused("SOLD_OUT Floor left 0", pool.Units(1))
	}
	guest.Release(holds[5])
	other.Hold(pool.Units(1))
	other.Refused("SOLD_OUT Floor left 0 yours", pool.Units(1))
	tenant.Audit()
}

// A capacity that changes while buyers are at it: in the end nothing above it is sold.
func TestCapacityChangesDuringTheSale(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	pool := tenant.Hall(0, inventorytest.PoolOf("Floor", 10, 3)).Pools[0]
	guests := tenant.Guests(24)
	won, _ := tally(t, tenant, inventorytest.Race(len(guests)+1, func(i int) error {
		if i == len(guests) {
			_, err := tenant.Inventory.SetPoolCapacity(t.Context(), tenant.Owner, pool.ID, 16)
			return err
		}
		_, err := guests[i].Try(pool.Units(1))
		return err
	}))
	if won--; won < 10 || won > 16 {
		t.Errorf("%d held units of a pool that went from 10 to 16", won)
	}
	count := pool.Count()
	if count.Limit != 16 || count.Held != int64(won) {
		t.Errorf("%d won, the counters say %+v", won, count)
	}
	tenant.Audit()
}

// Prices are fixed at the hold.
func TestAPriceChangesBetweenTwoHolds(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(0, inventorytest.PoolOf("Floor", 10, 1))
	guest := tenant.Guest()
	before := guest.Hold(hall.Pools[0].Units(2))
	show, err := tenant.Inventory.Show(t.Context(), tenant.Owner, hall.Show)
	if err != nil {
		t.Fatal(err)
	}
	levels, err := tenant.Inventory.PriceLevelsOfShows(t.Context(), tenant.Owner, []inventory.Show{show})
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range levels[hall.Show] {
		if level.Name == "Floor" {
			if err := tenant.Inventory.SetPrice(t.Context(), tenant.Owner, hall.Show, level.ID, 4000); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err = tenant.Inventory.PlaceHold(t.Context(), guest.Actor, inventory.PlaceHold{
		RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{hall.Pools[0].Units(2)}, ExpectedTotal: &before.Total,
	})
	if got, want := refusalIn(t, err).Message, "the price is now 80.00 EUR, expected was 60.00 EUR"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	after := guest.Hold(hall.Pools[0].Units(2))
	if before = guest.Read(before); before.Total.Minor != 6000 || after.Total.Minor != 8000 {
		t.Errorf("the earlier hold costs %s, the later one %s", before.Total, after.Total)
	}
}
