package inventory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/policies"
)

// order is one buyer's wish in a schedule that two tenants play.
type order struct {
	buyer    int
	seats    []int
	standing int64
	nights   [2]int
	wrong    string
	repeats  bool
}

func drawOrder(t *rapid.T, hotel bool) order {
	o := order{
		buyer: rapid.IntRange(0, 3).Draw(t, "buyer"), repeats: rapid.IntRange(0, 9).Draw(t, "repeats") == 0,
		wrong: rapid.SampledFrom([]string{"", "", "", "", "", "price", "code", "unit"}).Draw(t, "wrong"),
	}
	if hotel {
		o.nights[0] = rapid.IntRange(2, 6).Draw(t, "check-in")
		o.nights[1] = o.nights[0] + rapid.IntRange(1, 3).Draw(t, "nights")
		return o
	}
	o.seats = rapid.SliceOfNDistinct(rapid.IntRange(1, 8), 0, 3, rapid.ID).Draw(t, "seats")
	if len(o.seats) == 0 || rapid.Bool().Draw(t, "also stands") {
		o.standing = rapid.Int64Range(1, 3).Draw(t, "standing")
	}
	return o
}

// theatre is one of the two tenants, with the same stock, the same buyers and the same holds before.
type theatre struct {
	*inventorytest.Tenant
	hall   *inventorytest.Hall
	room   *inventorytest.Room
	buyers []inventorytest.Buyer
}

func newTheatre(t *testing.T) theatre {
	t.Helper()
	s := theatre{Tenant: inventorytest.New(t)}
	s.hall = s.Hall(8, inventorytest.PoolOf("Floor", 5, 2))
	hotel := s.Hotel()
	s.room = hotel.Stocked("Double", 2, 1, 12)
	limit := int64(2)
	hotel.SetHouseLimit(4, 5, &limit)
	s.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: inventorytest.Of[int64](3), MaxUnitsPerBuyer: inventorytest.Of[int64](5)})
	agency := s.Partner("Agency")
	s.buyers = append(s.Guests(3), agency)
	before := s.Guest()
	before.Hold(s.hall.Seats(1))
	s.Lapse(before.Hold(s.hall.Seats(2), s.hall.Pools[0].Units(2)), before.Hold(s.room.Rooms(1, 3, 6)))
	// The agency has some of it, and some more that is due for release.
	due := s.hall.Pools[0].Part(agency.Actor.Channel, 1)
	due.Release = inventory.ReleaseRule{At: inventorytest.Of(s.Now().Add(time.Hour))}
	s.Allot(due)
	s.TickAllotments(2 * time.Hour)
	s.Allot(s.hall.Pools[0].Part(agency.Actor.Channel, 2))
	s.Allot(s.room.Nights(agency.Actor.Channel, 1, 2, 4))
	return s
}

func (s theatre) input(o order, key string) inventory.PlaceHold {
	input := inventory.PlaceHold{RequestKey: key}
	if len(o.seats) > 0 {
		input.Lines = append(input.Lines, s.hall.Seats(o.seats...))
	}
	if o.standing > 0 {
		input.Lines = append(input.Lines, s.hall.Pools[0].Units(o.standing))
	}
	if o.nights[1] > 0 {
		input.Lines = append(input.Lines, s.room.Rooms(1, o.nights[0], o.nights[1]))
	}
	switch o.wrong {
	case "price":
		input.ExpectedTotal = &money.Amount{Minor: 1, Currency: "EUR"}
	case "code":
		input.PresaleCode = "NO-SUCH-CODE"
	case "unit":
		input.Lines = append(input.Lines, inventory.LineRequest{Pool: &inventory.PoolRequest{Pool: inventorytest.Random[inventory.PoolKind](), Quantity: 1}})
	}
	return input
}

func (s theatre) told(hold inventory.Hold, err error) string {
	if err != nil {
		return s.Explain(err)
	}
	return fmt.Sprintf("%s %d lines' units for %s", hold.State, quantityOf(hold), hold.Total)
}

// quantityOf adds the units up: how a quantity is spread over a pool's counters is chance.
func quantityOf(hold inventory.Hold) (n int64) {
	for _, line := range hold.Lines {
		n += line.Quantity
	}
	return n
}

// The same wishes in the same order get the same answers, whether each has a transaction of its own
// or all share one.
func TestCombinedClaimsAreAnsweredLikeSingleOnes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		hotel := rapid.Bool().Draw(r, "hotel")
		orders := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) order { return drawOrder(r, hotel) }), 2, 12).Draw(r, "orders")
		single, together := newTheatre(t), newTheatre(t)
		var want, got []string
		var batch []inventory.Order
		keys := map[string]bool{}
		for i, o := range orders {
			key := fmt.Sprint("key ", i)
			if o.repeats && i > 0 && orders[i-1].buyer == o.buyer {
				// The same key with other content: refused in both.
				key = fmt.Sprint("key ", i-1)
			}
			hold, err := single.Inventory.PlaceHold(t.Context(), single.buyers[o.buyer].Actor, single.input(o, key))
			want = append(want, single.told(hold, err))
			if keys[key] {
				// One batch never has a key twice; the next one has it.
				for _, placed := range together.Inventory.PlaceTogether(t.Context(), batch) {
					got = append(got, together.told(placed.Hold, placed.Err))
				}
				batch, keys = nil, map[string]bool{}
			}
			keys[key] = true
			batch = append(batch, inventory.Order{Actor: together.buyers[o.buyer].Actor, Input: together.input(o, key)})
		}
		for _, placed := range together.Inventory.PlaceTogether(t.Context(), batch) {
			got = append(got, together.told(placed.Hold, placed.Err))
		}
		if !slices.Equal(got, want) {
			r.Fatalf("together:\n%s\none by one:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		single.Audit()
		together.Audit()
		if a, b := single.Rows("requests"), together.Rows("requests"); a != b {
			r.Fatalf("%d request keys are kept together, %d one by one", b, a)
		}
	})
}

// Three processes sell one show: each combines its own buyers' claims, and the database decides
// between them.
func TestThreeProcessesSellOneShow(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(60, inventorytest.PoolOf("Floor", 50, 2))
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	processes := []*inventory.Service{tenant.Inventory, inventory.NewService(dbtest.Open(t), enforcer), inventory.NewService(dbtest.Open(t), enforcer)}
	buyers := tenant.Guests(150)
	holds := make([]inventory.Hold, len(buyers))
	won, refused := tally(t, tenant, inventorytest.Race(len(buyers), func(i int) (err error) {
		wishes := []inventory.LineRequest{hall.Seats(i%60 + 1)}
		if i%3 == 0 {
			wishes = append(wishes, hall.Pools[0].Units(1))
		}
		for range 20 {
			holds[i], err = processes[i%3].PlaceHold(t.Context(), buyers[i].Actor, inventory.PlaceHold{RequestKey: inventorytest.Key(), Lines: wishes})
			if tenant.Explain(err) != "BUSY" {
				return err
			}
		}
		return err
	}))
	if won != 60 {
		t.Errorf("%d of 150 buyers hold one of 60 seats; refused: %v", won, refused)
	}
	for i, hold := range holds {
		if !hold.ID.IsZero() && buyers[i].Read(hold).State != inventory.HoldStateActive {
			t.Errorf("buyer %d was told of a hold that is not there", i)
		}
	}
	tenant.Audit()
}

// What a buyer is refused beside others may be asked for again with the same key.
func TestARefusalInABatchLeavesNoTrace(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(5)
	first, second := tenant.Guest(), tenant.Guest()
	orders := []inventory.Order{
		{Actor: first.Actor, Input: inventory.PlaceHold{RequestKey: "a", Lines: []inventory.LineRequest{hall.Seats(1, 2)}}},
		{Actor: second.Actor, Input: inventory.PlaceHold{RequestKey: "b", Lines: []inventory.LineRequest{hall.Seats(2, 3)}}},
		{Actor: first.Actor, Input: inventory.PlaceHold{RequestKey: "c", Lines: []inventory.LineRequest{hall.Seats(1)}}},
	}
	placed := tenant.Inventory.PlaceTogether(t.Context(), orders)
	expectAnswer(t, tenant, placed[0].Err, "held")
	expectAnswer(t, tenant, placed[1].Err, "HELD_BY_OTHER seat 2")
	expectAnswer(t, tenant, placed[2].Err, "HELD_BY_YOU seat 1 yours")
	if refusal := refusalIn(t, placed[2].Err); *refusal.Lines[0].HeldByYou != placed[0].Hold.ID {
		t.Errorf("the buyer's own hold is %s, want %s", refusal.Lines[0].HeldByYou, placed[0].Hold.ID)
	}
	first.Release(placed[0].Hold)
	hold, err := second.TryKey("b", hall.Seats(2, 3))
	if err != nil {
		t.Fatal(tenant.Explain(err))
	}
	// The same request again, alone or beside others, is answered with the same hold.
	for _, again := range tenant.Inventory.PlaceTogether(t.Context(), orders[1:]) {
		if again.Err == nil && again.Hold.ID != hold.ID && again.Hold.Buyer == hold.Buyer {
			t.Errorf("the request made another hold %s", again.Hold.ID)
		}
	}
	if n := tenant.Rows("holds"); n != 3 {
		t.Errorf("%d holds were made, want 3", n)
	}
	tenant.Audit()
}
