package inventory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/policies"
)

// together reports whether seats stand in one row without an aisle between them, by their numbers.
func together(numbers []int) bool {
	sorted := slices.Sorted(slices.Values(numbers))
	return sorted[len(sorted)-1]-sorted[0] == len(sorted)-1
}

func TestBestSeatsAreTogetherAndInFront(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	tenant.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: inventorytest.Of[int64](100)})
	rows := []string{".... ....", ".... ....", ".... ...."}
	hall := tenant.HallOf(rows...)
	guest := tenant.Guest()
	var held [][]int
	for range 12 {
		hold := guest.Hold(hall.Best(2))
		numbers := hall.NumbersOf(hold)
		if len(numbers) != 2 || !together(numbers) || hold.Total.Minor != 2*inventorytest.SeatPrice {
			t.Errorf("got seats %v for %s", numbers, hold.Total)
		}
		held = append(held, numbers)
		if drawn := strings.Join(guest.Picture(hall, rows...), " "); strings.Contains(" "+drawn+" ", "x.x") {
			t.Errorf("a single seat is left: %v", drawn)
		}
	}
	// Every seat of the hall is held: no pair was in the way of another.
	guest.Refused("SOLD_OUT left 0", hall.Best(1))
	if seat := slices.Max(held[0]); seat > 16 {
		t.Errorf("the first pair of an empty hall was %v, in the last row", held[0])
	}
	tenant.Audit()
}

func TestBestSeatsByPriceSectionAndAisle(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.HallOf("... ..", ".....", "......")
	guest := tenant.Guest()
	wish := hall.Best(3)
	wish.Best.Sections = []string{"Row 2"}
	if numbers := hall.NumbersOf(guest.Hold(wish)); slices.Min(numbers) < 6 || slices.Max(numbers) > 10 {
		t.Errorf("got %v, want seats of the second row", numbers)
	}
	wish.Best.Sections = []string{"r3"}
	if numbers := hall.NumbersOf(guest.Hold(wish)); slices.Min(numbers) < 11 {
		t.Errorf("got %v, want seats of the third row", numbers)
	}
	wish.Best.Sections = []string{"Row 1"}
	if numbers := hall.NumbersOf(guest.Hold(wish)); !slices.Equal(numbers, []int{1, 2, 3}) {
		t.Errorf("got %v, want the seats this side of the aisle", numbers)
	}
	wish.Best.Sections = []string{"Balcony"}
	guest.Refused(`invalid: lines[0].bestAvailable.sections[0]: expected the name of a section of the show's chart, got "Balcony"`, wish)
	wish.Best.Sections = nil
	wish.Best.PriceLevels = []inventory.PriceLevelID{inventorytest.Random[inventory.PriceLevelKind]()}
	guest.Refused("invalid: lines[0].bestAvailable.priceLevels[0]: expected a price level of the show", wish)
	show, err := tenant.Inventory.Show(t.Context(), guest.Actor, hall.Show)
	if err != nil {
		t.Fatal(err)
	}
	levels, err := tenant.Inventory.PriceLevelsOfShows(t.Context(), guest.Actor, []inventory.Show{show})
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range levels[hall.Show] {
		wish.Best.PriceLevels = []inventory.PriceLevelID{level.ID}
		if level.Name == "Floor" {
			guest.Refused("SOLD_OUT left 0", wish)
		}
	}
	tenant.Audit()
}

// What is left apart is offered to those whom that suits, and the others are told how it is.
func TestBestSeatsInSeveralRows(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.HallOf("...", "...", "..")
	guest := tenant.Guest()
	guest.Refused("NOT_TOGETHER left 8", hall.Best(4))
	numbers := hall.NumbersOf(guest.Hold(hall.Split(4)))
	if slices.Sort(numbers); len(numbers) != 4 || !together(numbers[:2]) || !together(numbers[2:]) {
		t.Errorf("4 seats came as %v, want two pairs", numbers)
	}
	guest.Refused("SOLD_OUT left 4", hall.Split(5))
	if numbers := hall.NumbersOf(guest.Hold(hall.Split(4))); len(numbers) != 4 {
		t.Errorf("the last seats came as %v", numbers)
	}
	guest.Refused("SOLD_OUT left 0", hall.Split(1))
	tenant.Audit()
}

func TestBestSeatsOnceMore(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.HallOf("....", "....")
	guest, other := tenant.Guest(), tenant.Guest()
	hold, err := guest.TryKey("evening", hall.Best(4))
	if err != nil {
		t.Fatal(tenant.Explain(err))
	}
	rest := other.Hold(hall.Best(4))
	// Nothing is left, and the same request is answered with the same seats all the same.
	again, err := guest.TryKey("evening", hall.Best(4))
	if err != nil || again.ID != hold.ID || !slices.Equal(hall.NumbersOf(again), hall.NumbersOf(hold)) {
		t.Errorf("got %v of %s (%s), want %v of %s", hall.NumbersOf(again), again.ID, tenant.Explain(err), hall.NumbersOf(hold), hold.ID)
	}
	_, err = guest.TryKey("evening", hall.Best(3))
	expectAnswer(t, tenant, err, "REQUEST_KEY_REUSED")
	guest.Refused("SOLD_OUT left 0", hall.Best(1))
	// What was given back, or whose time is over, is found at once.
	other.Release(rest)
	tenant.Lapse(hold)
	for range 2 {
		other.Hold(hall.Best(4))
	}
	if state := guest.Read(hold).State; state != inventory.HoldStateExpired {
		t.Errorf("the hold whose seats were chosen is %s", state)
	}
	tenant.Audit()
}

func TestBestSeatsAmongOtherWishes(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.HallOf("......")
	room := tenant.Hotel().Stocked("Double", 1, 1, 5)
	guest := tenant.Guest()
	hold := guest.Hold(hall.Best(2), hall.Seats(3), hall.Best(2), room.Stay(2, 4))
	if numbers := hall.NumbersOf(hold); len(numbers) != 5 || slices.Contains(numbers[:2], 3) || slices.Contains(numbers[3:], 3) {
		t.Errorf("got %v", numbers)
	}
	guest.Refused("0: SOLD_OUT left 1, 1: SOLD_OUT 2 Nov left 0 yours", hall.Best(2), room.Stay(2, 3))
	guest.Refused("LIMIT_PER_HOLD limit 10", hall.Best(11))
	// Each wants what the other names: one gets it, and neither waits for the other.
	orders := []inventory.Order{
		{Actor: tenant.Guest().Actor, Input: inventory.PlaceHold{RequestKey: "a", Lines: []inventory.LineRequest{hall.Best(1)}}},
		{Actor: tenant.Guest().Actor, Input: inventory.PlaceHold{RequestKey: "b", Lines: []inventory.LineRequest{hall.Best(1)}}},
	}
	var answers []string
	for _, placed := range tenant.Inventory.PlaceTogether(t.Context(), orders) {
		answers = append(answers, tenant.Explain(placed.Err))
	}
	if !slices.Equal(answers, []string{"held", "SOLD_OUT left 0"}) {
		t.Errorf("got %v", answers)
	}
	tenant.Audit()
}

// R1 and R2 for chosen seats: one pair is left, 200 want it at once, each with a key of its own; and ten
// with one key are given the same pair.
func TestTheLastPair(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.HallOf("..")
	guests := tenant.Guests(200)
	won, refused := tally(t, tenant, inventorytest.Race(len(guests), func(i int) error {
		_, err := guests[i].Try(hall.Best(2))
		return err
	}))
	if won != 1 || refused["SOLD_OUT left 0"] != 199 {
		t.Errorf("%d won, the others were told %v", won, refused)
	}
	other := hall.Another()
	guest := tenant.Guest()
	holds := make([]inventory.Hold, 10)
	won, _ = tally(t, tenant, inventorytest.Race(10, func(i int) (err error) {
		holds[i], err = guest.TryKey("once", other.Best(2))
		return err
	}))
	for _, hold := range holds {
		if won != 10 || hold.ID != holds[0].ID {
			t.Errorf("%d of 10 equal requests were answered, with hold %s and %s", won, holds[0].ID, hold.ID)
		}
	}
	tenant.Audit()
}

// Three processes choose for their buyers, each from a map of its own: all seats are sold, most in pairs,
// and sold out is only said when it is true.
func TestThreeProcessesChooseSeats(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	refuse := inventory.OrphanSeatsRefuse
	tenant.SetTerms(inventory.TermsChange{OrphanSeats: &refuse})
	rows := slices.Repeat([]string{"........"}, 12)
	hall := tenant.HallOf(rows...)
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	processes := []*inventory.Service{tenant.Inventory, inventory.NewService(dbtest.Open(t), enforcer), inventory.NewService(dbtest.Open(t), enforcer)}
	buyers := tenant.Guests(60)
	holds := make([]inventory.Hold, len(buyers))
	won, refused := tally(t, tenant, inventorytest.Race(len(buyers), func(i int) (err error) {
		for range 50 {
			holds[i], err = processes[i%3].PlaceHold(t.Context(), buyers[i].Actor, inventory.PlaceHold{RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{hall.Split(2)}})
			if !strings.HasPrefix(tenant.Explain(err), "BUSY") {
				return err
			}
		}
		return err
	}))
	if won != 48 || refused["SOLD_OUT left 0"] != 12 {
		t.Errorf("%d pairs of 48 were sold to 60 buyers, the others were told %v", won, refused)
	}
	apart := 0
	for _, hold := range holds {
		if !hold.ID.IsZero() && !together(hall.NumbersOf(hold)) {
			apart++
		}
	}
	if apart > 24 {
		t.Errorf("%d of 48 pairs are not together", apart)
	}
	tenant.Audit()
}

func TestWheelchairsAndCompanions(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.HallOf("..wcc..", ".......")
	guest := tenant.Guest()
	guest.Refused("COMPANION_SEAT seat 4", hall.Seats(4))
	guest.Refused("COMPANION_SEAT seat 5", hall.Seats(5, 6))
	// Nobody is offered what is for others.
	guest.Refused("NOT_TOGETHER left 11", hall.Best(8))
	guest.Refused("SOLD_OUT left 1", hall.Wheelchairs(2, 3))
	if numbers := hall.NumbersOf(guest.Hold(hall.Wheelchairs(1, 3))); !slices.Equal(numbers, []int{3, 4, 5}) {
		t.Errorf("a wheelchair and two companions were given %v", numbers)
	}
	guest.Refused("SOLD_OUT left 0", hall.Wheelchairs(1, 1))

	// The house's own staff sell as they see fit.
	evening := hall.Another()
	tenant.Buyer(tenant.Owner).Hold(evening.Seats(4))
	guest.Hold(evening.Seats(3, 5))
	third := hall.Another()
	four := third.Wheelchairs(1, 6)
	guest.Refused("NOT_TOGETHER left 14", third.Wheelchairs(1, 8))
	numbers := hall.NumbersOf(guest.Hold(four))
	if slices.Sort(numbers); len(numbers) != 6 || !together(numbers) || !slices.Contains(numbers, 3) {
		t.Errorf("a wheelchair and five others were given %v", numbers)
	}
	tenant.Audit()
}

// More companions than one wheelchair may bring are named, and a companion's seat that stands alone is a
// seat like any other.
func TestTooManyCompanions(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.HallOf("wcccc.", "..c..")
	guest := tenant.Guest()
	guest.Refused("COMPANION_SEAT seat 5", hall.Seats(1, 2, 3, 4, 5))
	guest.Hold(hall.Seats(1, 2, 3, 4))
	guest.Refused("COMPANION_SEAT seat 5", hall.Seats(5))
	guest.Hold(hall.Seats(9))
}

// The same wishes get as much together as one by one, and never a seat twice.
func TestCombinedChoicesAreLikeSingleOnes(t *testing.T) {
	t.Parallel()
	rows := []string{"..... ...", "........"}
	rapid.Check(t, func(r *rapid.T) {
		orphans := rapid.SampledFrom([]inventory.OrphanSeats{inventory.OrphanSeatsAllow, inventory.OrphanSeatsRefuse}).Draw(r, "orphans")
		quantities := rapid.SliceOfN(rapid.Int64Range(1, 4), 2, 10).Draw(r, "quantities")
		tenant := inventorytest.New(t)
		tenant.SetTerms(inventory.TermsChange{OrphanSeats: &orphans})
		hall := tenant.HallOf(rows...)
		var orders []inventory.Order
		for i, quantity := range quantities {
			wish := hall.Best(quantity)
			wish.Best.AllowSplit = i%2 == 0
			orders = append(orders, inventory.Order{Actor: tenant.Guest().Actor, Input: inventory.PlaceHold{RequestKey: fmt.Sprint(i), Lines: []inventory.LineRequest{wish}}})
		}
		left := int64(16)
		for i, placed := range tenant.Inventory.PlaceTogether(t.Context(), orders) {
			switch answer := tenant.Explain(placed.Err); {
			case placed.Err == nil:
				left -= quantities[i]
				if numbers := hall.NumbersOf(placed.Hold); i%2 == 1 && !together(numbers) {
					r.Fatalf("%d seats are %v", quantities[i], numbers)
				}
			case left >= quantities[i] && (i%2 == 0 || !strings.HasPrefix(answer, "NOT_TOGETHER")):
				r.Fatalf("%d seats of %d were refused: %s", quantities[i], left, answer)
			case !strings.HasPrefix(answer, "NOT_TOGETHER") && !strings.HasPrefix(answer, "SOLD_OUT"):
				r.Fatalf("%d seats of %d were refused: %s", quantities[i], left, answer)
			}
		}
		tenant.Audit()
	})
}
