package inventory_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// tours is a hotel of ten rooms from the 1st to the 5th of November, a partner and a guest.
type tours struct {
	*inventorytest.Tenant
	room    *inventorytest.Room
	partner inventorytest.Buyer
	guest   inventorytest.Buyer
}

func newTours(t *testing.T) tours {
	t.Helper()
	return toursOn(inventorytest.New(t))
}

func toursOn(tenant *inventorytest.Tenant) tours {
	return tours{Tenant: tenant, room: tenant.Hotel().Stocked("Double", 10, 1, 5), partner: tenant.Partner("Tour operator"), guest: tenant.Guest()}
}

func (x tours) nights(rooms int64, first, last int) inventory.NewAllotment {
	return x.room.Nights(x.partner.Actor.Channel, rooms, first, last)
}

// stockOf writes an allotment's nights in a line: "size held sold released free" each.
func stockOf(tenant *inventorytest.Tenant, a inventory.Allotment) string {
	var parts []string
	for _, s := range tenant.Stock(a) {
		parts = append(parts, fmt.Sprintf("%d=%d+%d+%d+%d", s.Quantity, s.Held, s.Sold, s.Released, s.Free))
	}
	return strings.Join(parts, " ")
}

func expectText(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\ngot:  %s\nwant: %s", what, got, want)
	}
}

func seen(x tours) string {
	return fmt.Sprint(x.guest.Calendar(x.room, 1, 5), x.partner.Calendar(x.room, 1, 5))
}

// R25, R58: what is set aside is gone for the public at once, and there for its channel.
func TestAnAllotmentIsSoldByItsChannelOnly(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	a := x.Allot(x.nights(10, 2, 3))
	expectText(t, "what guest and partner see", seen(x), "[10 0 0 10 10] [10 10 10 10 10]")
	x.guest.Refused("SOLD_OUT 2 Nov left 0, SOLD_OUT 3 Nov left 0", x.room.Stay(1, 5))
	hold := x.partner.Hold(x.room.Rooms(4, 1, 5))
	expectText(t, "the allotment", stockOf(x.Tenant, a), "10=4+0+0+6 10=4+0+0+6")
	expectText(t, "what guest and partner see", seen(x), "[6 0 0 6 10] [6 6 6 6 10]")
	if _, err := x.Checkout(hold.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Confirm(hold.ID); err != nil {
		t.Fatal(err)
	}
	expectText(t, "the allotment", stockOf(x.Tenant, a), "10=0+4+0+6 10=0+4+0+6")
	if err := x.Return(hold); err != nil {
		t.Fatal(err)
	}
	expectText(t, "the allotment", stockOf(x.Tenant, a), "10=0+0+0+10 10=0+0+0+10")
	x.Audit(hold.ID)
}

// Each night decides for itself, and so does each room of a night: the allotment first, then what
// everybody may sell. What is given back goes where it came from.
func TestAClaimTakesTheAllotmentFirstThenWhatIsShared(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	a := x.Allot(x.nights(2, 2, 3))
	first := x.partner.Hold(x.room.Rooms(1, 2, 3))
	hold := x.partner.Hold(x.room.Rooms(3, 1, 4))
	expectText(t, "the allotment", stockOf(x.Tenant, a), "2=2+0+0+0 2=2+0+0+0")
	expectText(t, "what guest and partner see", seen(x), "[7 6 7 10 10] [7 6 7 10 10]")
	if want := 3*inventorytest.NightPrice(inventorytest.Nov(1)) + 3*inventorytest.NightPrice(inventorytest.Nov(2)) + 3*inventorytest.NightPrice(inventorytest.Nov(3)); hold.Total.Minor != want {
		t.Errorf("the stay costs %d, want %d", hold.Total.Minor, want)
	}
	x.partner.Release(first)
	expectText(t, "what guest and partner see", seen(x), "[7 6 7 10 10] [7 7 7 10 10]")
	x.Lapse(hold)
	expectText(t, "what guest and partner see", seen(x), "[10 8 8 10 10] [10 10 10 10 10]")
	x.partner.Hold(x.room.Rooms(10, 1, 6))
	x.partner.Refused("SOLD_OUT 2 Nov left 0 yours", x.room.Stay(2, 3))
	x.Audit()
}

// A channel whose terms do not allow it sells its allotment and nothing else, released or not.
func TestAnExclusiveChannelSellsNothingShared(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	input := x.nights(2, 2, 3)
	input.SellsShared = false
	a := x.Allot(input)
	x.partner.Refused("SOLD_OUT 2 Nov left 2", x.room.Rooms(3, 2, 3))
	x.partner.Hold(x.room.Rooms(3, 1, 2))
	x.partner.Hold(x.room.Rooms(1, 2, 3))
	expectAnswer(t, x.Tenant, x.ReleaseAllotment(a), "held")
	x.partner.Refused("SOLD_OUT 2 Nov left 0 yours, SOLD_OUT 3 Nov left 0", x.room.Rooms(1, 2, 4))
	expectText(t, "what guest and partner see", seen(x), "[7 9 10 10 10] [7 0 0 10 10]")
	x.Audit()
}

func TestATentativeAllotmentSetsNothingAside(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	input := x.nights(8, 1, 3)
	input.Definite = false
	a := x.Allot(input)
	expectText(t, "what guest and partner see", seen(x), "[10 10 10 10 10] [10 10 10 10 10]")
	hold := x.guest.Hold(x.room.Rooms(3, 2, 4))
	// By now the 2nd and 3rd have too little.
	expectAnswer(t, x.Tenant, x.MakeDefinite(a), "SOLD_OUT 2 Nov left 7 limit 8, SOLD_OUT 3 Nov left 7 limit 8")
	expectText(t, "state", string(x.Allotment(a).State), "TENTATIVE")
	expectAnswer(t, x.Tenant, x.Resize(a, 7), "held")
	expectAnswer(t, x.Tenant, x.MakeDefinite(a), "held")
	expectText(t, "what guest and partner see", seen(x), "[3 0 0 10 10] [10 7 7 10 10]")
	// What a due hold has is to be had, without a sweeper.
	x.Lapse(hold)
	expectAnswer(t, x.Tenant, x.Resize(a, 10), "held")
	expectText(t, "what guest and partner see", seen(x), "[0 0 0 10 10] [10 10 10 10 10]")
	x.Audit()
}

func TestAnAllotmentGrowsByWhatIsFreeAndShrinksToWhatIsSold(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	a := x.Allot(x.nights(4, 1, 2))
	x.partner.Hold(x.room.Rooms(3, 1, 2))
	x.guest.Hold(x.room.Rooms(5, 2, 3))
	expectAnswer(t, x.Tenant, x.Resize(a, 6), "SOLD_OUT 2 Nov left 5 limit 6")
	expectAnswer(t, x.Tenant, x.Resize(a, 2), "ALLOTMENT_SOLD 1 Nov left 3 limit 2")
	expectText(t, "the allotment", stockOf(x.Tenant, a), "4=3+0+0+1 4=0+0+0+4")
	expectAnswer(t, x.Tenant, x.Resize(a, 5), "held")
	expectText(t, "what guest and partner see", seen(x), "[5 0 10 10 10] [7 5 10 10 10]")
	second := inventory.AllotmentChange{Quantity: inventorytest.Of[int64](0), Nights: &inventory.NightRange{First: inventorytest.Nov(2), Last: inventorytest.Nov(2)}}
	if _, err := x.Inventory.UpdateAllotment(x.Context(), x.Owner, inventorytest.Key(), a.ID, second); err != nil {
		t.Fatal(err)
	}
	expectText(t, "the allotment", stockOf(x.Tenant, a), "5=3+0+0+2 0=0+0+0+0")
	expectText(t, "what guest and partner see", seen(x), "[5 5 10 10 10] [7 5 10 10 10]")
	x.Audit()
}

// R25: a cancelled allotment gives its rest back once. What was sold from it stays, and comes back to
// everybody when it is given up.
func TestACancelledAllotmentReturnsItsRest(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	a := x.Allot(x.nights(6, 1, 2))
	hold := x.partner.Hold(x.room.Rooms(2, 1, 3))
	key := inventorytest.Key()
	for range 2 {
		if _, err := x.Inventory.CancelAllotment(x.Context(), x.Owner, key, a.ID); err != nil {
			t.Fatal(err)
		}
	}
	expectAnswer(t, x.Tenant, x.CancelAllotment(a), "held")
	expectText(t, "history", fmt.Sprint(x.History(a)), "[CANCELLED MADE_DEFINITE CREATED]")
	expectText(t, "the allotment", stockOf(x.Tenant, a), "6=2+0+4+0 6=2+0+4+0")
	expectText(t, "what guest and partner see", seen(x), "[8 8 10 10 10] [8 8 10 10 10]")
	x.partner.Release(hold)
	expectText(t, "what guest and partner see", seen(x), "[10 10 10 10 10] [10 10 10 10 10]")
	x.guest.Hold(x.room.Rooms(10, 1, 3))
	expectAnswer(t, x.Tenant, x.Resize(a, 1), "ALLOTMENT_ENDED")
	expectAnswer(t, x.Tenant, x.MakeDefinite(a), "ALLOTMENT_ENDED")
	x.Audit()
}

// R27: capacity 10, oversell 2: units 11 and 12 through every channel, 13 through none.
func TestOversellIsSoldThroughEveryChannel(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	x.room.Set(1, 5, inventory.NightChange{Oversell: inventorytest.Of[int64](2)})
	x.Allot(x.nights(4, 1, 1))
	x.guest.Hold(x.room.Rooms(8, 1, 2))
	x.guest.Refused("SOLD_OUT 1 Nov left 0 yours", x.room.Stay(1, 2))
	x.partner.Hold(x.room.Rooms(3, 1, 2))
	x.partner.Hold(x.room.Rooms(1, 1, 2))
	x.partner.Refused("SOLD_OUT 1 Nov left 0 yours", x.room.Stay(1, 2))
	x.Audit()
}

// R54: less than is set aside can be sold by nobody, and more again as soon as there is more.
func TestALoweredLimitCutsAllotments(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	a := x.Allot(x.nights(6, 1, 1))
	b := x.Allot(x.nights(2, 1, 1))
	sold := x.guest.Hold(x.room.Rooms(2, 1, 2))
	x.room.Set(1, 1, inventory.NightChange{Physical: inventorytest.Of[int64](5)})
	expectText(t, "the first allotment", stockOf(x.Tenant, a), "6=0+0+0+3")
	expectText(t, "the second", stockOf(x.Tenant, b), "2=0+0+0+0")
	x.partner.Refused("SOLD_OUT 1 Nov left 3", x.room.Rooms(4, 1, 2))
	x.partner.Hold(x.room.Rooms(3, 1, 2))
	if set := x.room.Set(1, 1, inventory.NightChange{Physical: inventorytest.Of[int64](4)}); len(set.Oversold) != 1 || set.Oversold[0].SellLimit != 4 || set.Oversold[0].Taken() != 5 {
		t.Errorf("oversold: %+v", set.Oversold)
	}
	x.partner.Refused("SOLD_OUT 1 Nov left 0 yours", x.room.Stay(1, 2))
	x.guest.Release(sold)
	expectText(t, "what guest and partner see", seen(x), "[0 10 10 10 10] [1 10 10 10 10]")
	x.guest.Refused("SOLD_OUT 1 Nov left 0", x.room.Stay(1, 2))
	x.partner.Hold(x.room.Stay(1, 2))
	x.partner.Refused("SOLD_OUT 1 Nov left 0 yours", x.room.Stay(1, 2))
	x.room.Set(1, 1, inventory.NightChange{Physical: inventorytest.Of[int64](12)})
	expectText(t, "what guest and partner see", seen(x), "[4 10 10 10 10] [8 10 10 10 10]")
	x.Audit()
}

// With all workers stopped, what is due for release is sold to others, in the search and in the claim.
func TestADueAllotmentIsSoldToOthersWithoutAWorker(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	input := x.nights(10, 1, 2)
	input.Release = inventory.ReleaseRule{At: inventorytest.Of(x.Now().Add(time.Hour))}
	a := x.Allot(input)
	hold := x.partner.Hold(x.room.Rooms(3, 1, 3))
	x.guest.Refused("SOLD_OUT 1 Nov left 0", x.room.Stay(1, 2))
	x.TickAllotments(2 * time.Hour)
	expectText(t, "the allotment", stockOf(x.Tenant, a), "10=3+0+7+0 10=3+0+7+0")
	expectText(t, "what guest and partner see", seen(x), "[7 7 10 10 10] [7 7 10 10 10]")
	x.guest.Hold(x.room.Rooms(6, 1, 3))
	expectText(t, "history", fmt.Sprint(x.History(a)), "[RELEASED MADE_DEFINITE CREATED]")
	expectText(t, "state", string(x.Allotment(a).State), "RELEASED")
	// The channel may sell what everybody may.
	x.partner.Hold(x.room.Rooms(1, 1, 3))
	x.guest.Refused("SOLD_OUT 1 Nov left 0 yours", x.room.Stay(1, 2))
	// What comes back to a released allotment is everybody's.
	x.partner.Release(hold)
	expectText(t, "what guest and partner see", seen(x), "[3 3 10 10 10] [3 3 10 10 10]")
	x.guest.Hold(x.room.Rooms(3, 1, 3))
	expectText(t, "history", fmt.Sprint(x.History(a)), "[RELEASED MADE_DEFINITE CREATED]")
	x.Audit()
}

// The channel itself cannot sell from an allotment after its release, either.
func TestADueAllotmentIsNotSoldByItsOwnChannel(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	input := x.nights(4, 1, 2)
	input.SellsShared = false
	input.Release = inventory.ReleaseRule{At: inventorytest.Of(x.Now().Add(time.Hour))}
	x.Allot(input)
	x.TickAllotments(2 * time.Hour)
	x.partner.Refused("SOLD_OUT 1 Nov left 0", x.room.Stay(1, 2))
	x.Audit()
}

// Each night is released so many days before it at the hotel's own clock, however its days are long.
func TestRollingReleaseFollowsTheHotelsClock(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hotel := tenant.HotelIn("Europe/Vienna", "EUR")
	room := hotel.Stocked("Double", 10, -10, 5)
	partner := tenant.Partner("Tour operator")
	input := room.Nights(partner.Actor.Channel, 2, -5, -2)
	at, days := inventory.TimeOfDay(2*60+30), int64(1)
	input.Release = inventory.ReleaseRule{DaysBefore: &days, LocalTime: &at}
	a := tenant.Allot(input)
	var got []string
	for _, s := range tenant.Stock(a) {
		got = append(got, s.ReleaseAt.UTC().Format("2 Jan 15:04"))
	}
	// In 2097 the clocks go back on 27 October at 3:00: 2:30 is shown twice, and the later is meant.
	expectText(t, "releases", strings.Join(got, ", "), "25 Oct 00:30, 26 Oct 00:30, 27 Oct 01:30, 28 Oct 01:30")
	tenant.TickAllotments(time.Until(time.Date(inventorytest.Year, 10, 27, 1, 0, 0, 0, time.UTC)))
	released, err := tenant.Inventory.ReleaseDue(tenant.Context(), 100)
	if err != nil || released < 1 {
		t.Fatalf("released %d: %v", released, err)
	}
	expectText(t, "the allotment", stockOf(tenant, a), "2=0+0+2+0 2=0+0+2+0 2=0+0+0+2 2=0+0+0+2")
	expectText(t, "state", string(tenant.Allotment(a).State), "DEFINITE")
	tenant.Audit()
}

// R52 and the pool's side of everything above.
func TestAnAllotmentOfAPool(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(0, inventorytest.PoolOf("Floor", 10, 4), inventorytest.PoolOf("Balcony", 5, 1))
	floor, partner, guest := hall.Pools[0], tenant.Partner("Fan club"), tenant.Guest()
	a := tenant.Allot(floor.Part(partner.Actor.Channel, 6))
	expectText(t, "what is seen", fmt.Sprint(guest.Available(hall), partner.Available(hall)), "4 10")
	guest.Refused("SOLD_OUT Floor left 4", floor.Units(5))
	guest.Hold(floor.Units(2))
	hold := partner.Hold(floor.Units(8))
	expectText(t, "what is seen", fmt.Sprint(guest.Available(hall), partner.Available(hall)), "0 0")
	partner.Refused("SOLD_OUT Floor left 0 yours", floor.Units(1))
	expectAnswer(t, tenant, tenant.Resize(a, 5), "ALLOTMENT_SOLD Floor left 6 limit 5")
	expectAnswer(t, tenant, tenant.Resize(a, 7), "SOLD_OUT Floor left 6 limit 7")
	partner.Release(hold)
	expectText(t, "what is seen", fmt.Sprint(guest.Available(hall), partner.Available(hall)), "2 8")
	floor.SetCapacity(5)
	expectText(t, "what is seen", fmt.Sprint(guest.Available(hall), partner.Available(hall)), "0 3")
	partner.Refused("SOLD_OUT Floor left 3", floor.Units(4))
	floor.SetCapacity(1)
	partner.Refused("SOLD_OUT Floor left 0", floor.Units(1))
	guest.Hold(hall.Pools[1].Units(5))
	floor.SetCapacity(12)
	expectText(t, "what is seen", fmt.Sprint(guest.Available(hall), partner.Available(hall)), "4 10")
	partner.Hold(floor.Units(2))
	expectAnswer(t, tenant, tenant.ReleaseAllotment(a), "held")
	expectText(t, "the allotment", stockOf(tenant, a), "6=2+0+4+0")
	guest.Hold(floor.Units(8))
	guest.Refused("SOLD_OUT Floor left 0 yours", floor.Units(1))
	tenant.Audit()
}

// Two channels and one last unit: exactly one sale, and the other hears SOLD_OUT. On the last shared
// room the partner, whose allotment is used up, races a guest.
func TestTwoChannelsRaceForTheLastUnit(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	x.Allot(x.nights(3, 1, 1))
	x.partner.Hold(x.room.Rooms(3, 1, 2))
	x.guest.Hold(x.room.Rooms(6, 1, 2))
	other := x.Guest()
	results := inventorytest.Race(8, func(i int) error {
		buyer := x.partner
		if i%2 == 0 {
			buyer = other
		}
		_, err := buyer.Try(x.room.Stay(1, 2))
		return err
	})
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else if code := refusalIn(t, err).Code; code != inventory.RefusalSoldOut {
			t.Errorf("got %s, want SOLD_OUT", x.Explain(err))
		}
	}
	if won != 1 {
		t.Errorf("%d got the last room", won)
	}
	x.Audit()
}

// R11: the box office has no way around: of staff and a partner who want the last place, one gets it.
func TestTheBoxOfficeRacesAPartnerForTheLastPlace(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(0, inventorytest.PoolOf("Floor", 5, 1))
	floor, partner, staff := hall.Pools[0], tenant.Partner("Fan club"), tenant.Buyer(tenant.Owner)
	tenant.Allot(floor.Part(partner.Actor.Channel, 2))
	partner.Hold(floor.Units(2))
	staff.Hold(floor.Units(2))
	won, refused := tally(t, tenant, inventorytest.Race(6, func(i int) error {
		buyer := partner
		if i%2 == 0 {
			buyer = staff
		}
		_, err := buyer.Try(floor.Units(1))
		return err
	}))
	if won != 1 || refused["SOLD_OUT Floor left 0 yours"] != 5 {
		t.Errorf("%d got the last place, others were told %v", won, refused)
	}
	staff.Refused("SOLD_OUT Floor left 0 yours", floor.Units(1))
	tenant.Audit()
}

// R22: restrictions are the night's, whoever sells it from wherever, and each names its own rule.
func TestRestrictionsHoldForAllotments(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	x.Allot(x.nights(4, 1, 5))
	x.room.Set(2, 2, inventory.NightChange{ClosedToArrival: inventorytest.Of(true)})
	x.room.Set(1, 5, inventory.NightChange{MinStayThrough: inventorytest.Of[int64](3)})
	x.partner.Refused("CLOSED_TO_ARRIVAL 2 Nov", x.room.Stay(2, 5))
	x.partner.Refused("MIN_STAY_THROUGH 1 Nov limit 3, MIN_STAY_THROUGH 2 Nov limit 3", x.room.Stay(1, 3))
	x.partner.Hold(x.room.Stay(1, 4))
	x.room.Set(3, 3, inventory.NightChange{StopSell: inventorytest.Of(true)})
	x.partner.Refused("STOP_SELL 3 Nov", x.room.Stay(1, 4))
	x.Audit()
}

// A booking that races a release gets its unit once, whoever wins: never more than there are, and none
// is lost.
func TestClaimsRaceAReleaseWithoutLosingAUnit(t *testing.T) {
	t.Parallel()
	x := newTours(t)
	a := x.Allot(x.nights(6, 1, 2))
	guests := x.Guests(4)
	results := inventorytest.Race(21, func(i int) error {
		switch {
		case i == 10:
			return x.ReleaseAllotment(a)
		case i%2 == 0:
			_, err := x.partner.Try(x.room.Stay(1, 3))
			return err
		default:
			_, err := guests[i%4].Try(x.room.Stay(1, 3))
			return err
		}
	})
	won, _ := tally(t, x.Tenant, slices.Delete(results, 10, 11))
	if won != 10 {
		t.Errorf("%d of 20 got one of ten rooms", won)
	}
	for day := 1; day <= 2; day++ {
		if c := x.room.Count(day); c.Held != 10 || c.Limit != 10 {
			t.Errorf("%d Nov: %+v", day, c)
		}
	}
	x.Audit()
}

// Several releasers at once release once.
func TestReleaseIsIdempotent(t *testing.T) {
	t.Parallel()
	x := toursOn(inventorytest.NewOn(t, dbtest.Open(t)))
	input := x.nights(5, 1, 3)
	input.Release = inventory.ReleaseRule{At: inventorytest.Of(x.Now().Add(time.Hour))}
	a := x.Allot(input)
	x.TickAllotments(2 * time.Hour)
	for _, err := range inventorytest.Race(6, func(i int) error {
		if i%2 == 0 {
			_, err := x.Inventory.ReleaseDue(x.Context(), 1000)
			return err
		}
		return x.ReleaseAllotment(a)
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	expectText(t, "history", fmt.Sprint(x.History(a)), "[RELEASED MADE_DEFINITE CREATED]")
	expectText(t, "what guest and partner see", seen(x), "[10 10 10 10 10] [10 10 10 10 10]")
	x.Audit()
}

const allotmentsDocument = "../docs/allotments.md"

// TestDiagramOfAllotmentsIsMadeFromTheTable keeps docs/allotments.md equal to the code's own transitions.
func TestDiagramOfAllotmentsIsMadeFromTheTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	fmt.Fprintf(&b, "```mermaid\nstateDiagram-v2\n    [*] --> %s: create\n", inventory.AllotmentStateTentative)
	for _, transition := range inventory.AllotmentTransitions() {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", transition.From, transition.To, transition.Name)
	}
	fmt.Fprintf(&b, "    %s --> [*]\n    %s --> [*]\n```\n", inventory.AllotmentStateReleased, inventory.AllotmentStateCancelled)
	written, err := os.ReadFile(allotmentsDocument)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begun := strings.Cut(string(written), "```mermaid\n")
	_, tail, ended := strings.Cut(rest, "\n```\n")
	if !begun || !ended {
		t.Fatalf("%s has no diagram", allotmentsDocument)
	}
	want := head + b.String() + tail
	if *update {
		if err := os.WriteFile(allotmentsDocument, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(written) != want {
		t.Errorf("%s differs from the code's transitions; run this test with -update", allotmentsDocument)
	}
}
