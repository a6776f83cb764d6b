package inventory_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/policies"
)

// tidy is a tenant whose terms forbid to leave single seats.
func tidy(t *testing.T) *inventorytest.Tenant {
	t.Helper()
	tenant := inventorytest.New(t)
	refuse := inventory.OrphanSeatsRefuse
	tenant.SetTerms(inventory.TermsChange{OrphanSeats: &refuse, MaxActiveHoldsPerBuyer: inventorytest.Of[int64](100)})
	return tenant
}

func TestASelectionLeavesNoSingleSeat(t *testing.T) {
	t.Parallel()
	tenant := tidy(t)
	hall := tenant.HallOf("....... ....")
	guest := tenant.Guest()
	for _, claim := range []struct {
		seats []int
		want  string
	}{
		{[]int{2}, "ORPHAN_SEAT seat 1"},
		{[]int{6}, "ORPHAN_SEAT seat 7"},
		{[]int{2, 6}, "ORPHAN_SEAT seat 1, ORPHAN_SEAT seat 7"},
		// The aisle after seat 7 is an end.
		{[]int{9, 10}, "ORPHAN_SEAT seat 8, ORPHAN_SEAT seat 11"},
		{[]int{1, 3}, "ORPHAN_SEAT seat 2"},
		{[]int{3, 6}, "ORPHAN_SEAT seat 7"},
		{[]int{3, 4}, "held"},
		// One of two that are free is left whatever one takes.
		{[]int{2}, "held"},
		// Seats 5, 6 and 7 are free.
		{[]int{6}, "ORPHAN_SEAT seat 5, ORPHAN_SEAT seat 7"},
		{[]int{5, 7}, "held"},
		{[]int{8}, "held"},
		{[]int{9, 10, 11}, "held"},
	} {
		_, err := guest.Try(hall.Seats(claim.seats...))
		expectAnswer(t, tenant, err, claim.want)
	}
	if drawn := guest.Picture(hall, "....... ...."); !slices.Equal(drawn, []string{".xxxx.x xxxx"}) {
		t.Errorf("the hall is %q", drawn)
	}
	tenant.Audit()
}

// The lines of one hold are one selection, and each lost seat is named at the line beside it.
func TestLinesAreOneSelection(t *testing.T) {
	t.Parallel()
	tenant := tidy(t)
	hall := tenant.HallOf("......", "......")
	guest := tenant.Guest()
	guest.Refused("0: ORPHAN_SEAT seat 1, 1: ORPHAN_SEAT seat 12", hall.Seats(2), hall.Seats(11))
	guest.Hold(hall.Seats(2, 3), hall.Seats(1))
	// With wishes of another kind, everything that is wrong is said at once.
	room := tenant.Hotel().Stocked("Double", 1, 1, 5)
	guest.Refused("0: ORPHAN_SEAT seat 7, 1: SOLD_OUT 2 Nov left 1", hall.Seats(8), room.Rooms(2, 2, 3))
}

func TestWhoMayLeaveSingleSeats(t *testing.T) {
	t.Parallel()
	tenant := tidy(t)
	hall := tenant.HallOf("......", "..w...")
	tenant.Buyer(tenant.Owner).Hold(hall.Seats(2))
	tenant.Partner("Agency").Refused("ORPHAN_SEAT seat 3", hall.Seats(4))
	// A place for a wheelchair is an end, leaves nobody alone, and is alone by nature.
	tenant.Guest().Hold(hall.Seats(9))
	tenant.Guest().Refused("ORPHAN_SEAT seat 10, ORPHAN_SEAT seat 12", hall.Seats(11))
	// Another show has terms of its own.
	allow := inventory.OrphanSeatsAllow
	other := hall.Another()
	if _, err := tenant.Inventory.SetTerms(t.Context(), tenant.Owner, inventory.TermsScope{Show: &other.Show}, inventory.TermsChange{OrphanSeats: &allow}); err != nil {
		t.Fatal(err)
	}
	tenant.Guest().Hold(other.Seats(2))
}

// A seat whose hold is over is free: it keeps a neighbour from being alone, and can itself be alone.
func TestSeatsOfHoldsThatAreOver(t *testing.T) {
	t.Parallel()
	tenant := tidy(t)
	hall := tenant.HallOf("......")
	guest, other := tenant.Guest(), tenant.Guest()
	hold := guest.Hold(hall.Seats(1, 2))
	other.Refused("ORPHAN_SEAT seat 3, ORPHAN_SEAT seat 6", hall.Seats(4, 5))
	tenant.Lapse(hold)
	other.Refused("ORPHAN_SEAT seat 6", hall.Seats(4, 5))
	other.Hold(hall.Seats(4, 5, 6))
	other.Refused("ORPHAN_SEAT seat 1, ORPHAN_SEAT seat 3", hall.Seats(2))
	other.Hold(hall.Seats(2, 3))
	tenant.Audit()
}

// Two buyers of two processes who would together leave a seat alone: each alone may have what they want,
// and one of them gets it, whichever is first.
func TestTwoBuyersLeaveNoSingleSeatTogether(t *testing.T) {
	t.Parallel()
	tenant := tidy(t)
	const rows = 12
	hall := tenant.HallOf(slices.Repeat([]string{"......."}, rows)...)
	guests := tenant.Guests(2 * rows)
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	processes := []*inventory.Service{tenant.Inventory, inventory.NewService(dbtest.Open(t), enforcer)}
	won, refused := tally(t, tenant, inventorytest.Race(len(guests), func(i int) error {
		// Seats 3 and 5 of a row of seven.
		_, err := processes[i%2].PlaceHold(t.Context(), guests[i].Actor, inventory.PlaceHold{
			RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{hall.Seats(7*(i/2) + 3 + 2*(i%2))},
		})
		return err
	}))
	if won != rows {
		t.Errorf("%d of %d pairs of buyers left a seat alone", won-rows, rows)
	}
	for row := range rows {
		if n := refused[fmt.Sprintf("ORPHAN_SEAT seat %d", 7*row+4)]; n != 1 {
			t.Errorf("in row %d, %d buyers were told of the seat between: %v", row+1, n, refused)
		}
	}
	tenant.Audit()
}

// leftAlone are the single seats that taking seats of a row makes where it need not: told once more, in
// the words of the rule and without a word of the code. A row is drawn as Picture draws it.
func leftAlone(row string, take []int) []int {
	single := func(row string, i int) bool {
		free := func(i int) bool { return i >= 0 && i < len(row) && row[i] == '.' }
		return free(i) && !free(i-1) && !free(i+1)
	}
	after := []byte(row)
	for _, i := range take {
		after[i] = 'x'
	}
	var alone []int
	for i := range row {
		if !single(string(after), i) || single(row, i) {
			continue
		}
		// The stretch that was free before, and what is free of it now.
		first, end := i, i+1
		for first > 0 && row[first-1] == '.' {
			first--
		}
		for end < len(row) && row[end] == '.' {
			end++
		}
		if strings.Count(string(after[first:end]), ".") > 1 {
			alone = append(alone, i)
		}
	}
	return alone
}

// Whatever buyers want, one after another or in one batch, and whoever gives seats back: nobody leaves a
// seat alone who need not, and nobody is refused who does not.
func TestNoScheduleLeavesSingleSeats(t *testing.T) {
	t.Parallel()
	const row = "........."
	rapid.Check(t, func(r *rapid.T) {
		tenant := tidy(t)
		hall := tenant.HallOf(row)
		guest := tenant.Guest()
		state, holds := row, map[int]inventory.Hold{}
		play := func(wishes [][]int, placed []inventory.Placed) {
			for n, wish := range wishes {
				taken := slices.ContainsFunc(wish, func(i int) bool { return state[i] == 'x' })
				alone := leftAlone(state, wish)
				answer := tenant.Explain(placed[n].Err)
				switch {
				case placed[n].Err == nil && (taken || len(alone) > 0):
					r.Fatalf("%q: %v were held and leave %v", state, wish, alone)
				case placed[n].Err != nil && !taken && len(alone) == 0:
					r.Fatalf("%q: %v were refused: %s", state, wish, answer)
				case !taken && len(alone) > 0:
					var want []string
					for _, i := range alone {
						want = append(want, fmt.Sprintf("ORPHAN_SEAT seat %d", i+1))
					}
					if answer != strings.Join(want, ", ") {
						r.Fatalf("%q: %v were refused with %s, want %v", state, wish, answer, want)
					}
				}
				if placed[n].Err == nil {
					drawn := []byte(state)
					for _, i := range wish {
						drawn[i] = 'x'
					}
					state, holds[wish[0]] = string(drawn), placed[n].Hold
				}
			}
		}
		for range rapid.IntRange(1, 6).Draw(r, "steps") {
			if seats := rapid.SampledFrom(append(slices.Sorted(maps.Keys(holds)), -1)).Draw(r, "give back"); seats >= 0 && rapid.Bool().Draw(r, "really") {
				hold := holds[seats]
				guest.Release(hold)
				drawn := []byte(state)
				for _, number := range hall.NumbersOf(hold) {
					drawn[number-1] = '.'
				}
				delete(holds, seats)
				state = string(drawn)
			}
			var wishes [][]int
			var orders []inventory.Order
			for range rapid.IntRange(1, 4).Draw(r, "at once") {
				wish := rapid.SliceOfNDistinct(rapid.IntRange(0, len(row)-1), 1, 3, rapid.ID).Draw(r, "wish")
				numbers := make([]int, len(wish))
				for i, at := range wish {
					numbers[i] = at + 1
				}
				wishes = append(wishes, wish)
				orders = append(orders, inventory.Order{Actor: guest.Actor, Input: inventory.PlaceHold{RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{hall.Seats(numbers...)}}})
			}
			play(wishes, tenant.Inventory.PlaceTogether(t.Context(), orders))
		}
		if drawn := guest.Picture(hall, row); drawn[0] != state {
			r.Fatalf("the row is %q, want %q", drawn[0], state)
		}
		tenant.Audit()
	})
}
