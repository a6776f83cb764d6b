package waitlist_test

import (
	"strings"
	"testing"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/waitlist"
)

// R56: a wish that two pools limit waits until there is enough of both; then the oldest that fits is offered
// it, and nobody else.
func TestAWishOfTwoPoolsWaitsForBoth(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.Hall(0, inventorytest.PoolOf("Floor", 1, 1), inventorytest.PoolOf("Parking", 1, 1))
	floor, parking := hall.Pools[0], hall.Pools[1]
	s.openList(of(hall))
	first, second := s.Guest(), s.Guest()
	onFloor, inParking := s.Guest().Hold(floor.Units(1)), s.Guest().Hold(parking.Units(1))
	older := s.join(first, floor.Units(1), parking.Units(1))
	younger := s.join(second, floor.Units(1), parking.Units(1))
	s.expect("sold out", s.standing(older, younger), "WAITING, WAITING behind 1")

	s.Lapse(onFloor)
	s.serve()
	s.expect("one pool frees", s.standing(older, younger), "WAITING, WAITING behind 1")
	s.expect("others are told", strings.Join(append(s.Events(older.ID.UUID), s.Events(younger.ID.UUID)...), ", "), "")

	s.Lapse(inParking)
	s.serve()
	s.expect("both are free", s.standing(older, younger), "OFFERED, WAITING")
	hold := s.held(older)
	if hold.Buyer != older.Buyer || hold.State != inventory.HoldStateActive || len(hold.Lines) != 2 {
		t.Errorf("held: %+v", hold)
	}
	if lease := hold.Deadline.Sub(hold.PlacedAt).Minutes(); lease != 30 {
		t.Errorf("it is held for %v minutes", lease)
	}
	if _, err := first.TryExtend(hold); s.Explain(err) != "NO_EXTENSION_LEFT" {
		t.Errorf("an offer is extended: %v", err)
	}
	s.expect("others are told", strings.Join(s.Events(older.ID.UUID), ", "), "2 waitinglist.offered")
	s.serve()
	s.expect("they are told once", strings.Join(s.Events(older.ID.UUID), ", "), "2 waitinglist.offered")
	s.Audit()
}

// An entry that does not fit keeps nobody from what fits, and nobody younger gets what fits an older one.
func TestTheOldestThatFitsIsServed(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.Hall(0, inventorytest.PoolOf("Floor", 5, 2))
	floor := hall.Pools[0]
	s.openList(of(hall))
	sold := s.Guest().Hold(floor.Units(2))
	rest := s.Guest().Hold(floor.Units(3))
	three, two, one, last := s.join(s.Guest(), floor.Units(3)), s.join(s.Guest(), floor.Units(2)), s.join(s.Guest(), floor.Units(1)), s.join(s.Guest(), floor.Units(1))
	s.Lapse(sold)
	s.serve()
	s.expect("two are free", s.standing(three, two, one, last), "WAITING, OFFERED, WAITING behind 1, WAITING behind 2")
	s.Lapse(rest)
	s.serve()
	s.expect("three more", s.standing(three, two, one, last), "OFFERED, OFFERED, WAITING, WAITING behind 1")
	hall.Pools[0].SetCapacity(6)
	s.serve()
	s.expect("capacity is raised", s.standing(three, two, one, last), "OFFERED, OFFERED, OFFERED, WAITING")
	s.Audit()
}

// Declining, and letting it lapse, pass an offer on; buying ends the entry.
func TestAnOfferIsPassedOn(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.Hall(0, inventorytest.PoolOf("Floor", 1, 1))
	floor := hall.Pools[0]
	s.openList(of(hall))
	sold := s.Guest().Hold(floor.Units(1))
	buyers := s.Guests(4)
	entries := make([]waitlist.Entry, len(buyers))
	for i, buyer := range buyers {
		entries[i] = s.join(buyer, floor.Units(1))
	}
	s.Lapse(sold)
	s.serve()
	s.expect("the first", s.standing(entries...), "OFFERED, WAITING, WAITING behind 1, WAITING behind 2")
	buyers[0].Release(s.held(entries[0]))
	s.serve()
	s.expect("the first declines", s.standing(entries...), "DECLINED, OFFERED, WAITING, WAITING behind 1")
	s.Lapse(s.held(entries[1]))
	s.expect("the second lets it lapse, and nobody works", s.standing(entries...), "DECLINED, LAPSED, WAITING, WAITING behind 1")
	s.serve()
	s.expect("it goes to the third", s.standing(entries...), "DECLINED, LAPSED, OFFERED, WAITING")
	s.Pay(buyers[2], s.held(entries[2]), sandbox.TokenApprove)
	s.expect("the third buys", s.standing(entries...), "DECLINED, LAPSED, SERVED, WAITING")
	// A cancellation is offered as well.
	booking := s.BookingOf(s.held(entries[2]))
	if _, err := s.Sales.CancelBooking(t.Context(), buyers[2].Actor, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID}); err != nil {
		t.Fatal(err)
	}
	s.serve()
	s.expect("the sale is cancelled", s.standing(entries...), "DECLINED, LAPSED, SERVED, OFFERED")
	s.serve()
	for i, entry := range entries {
		if read := s.read(entry); i < 3 && (read.EndedAt == nil || read.Version != 3) {
			t.Errorf("entry %d reads %+v", i, read)
		}
	}
	s.Audit()
}

// Seats are chosen as for everybody: so many beside each other, or none.
func TestSeatsAreOfferedTogether(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.HallOf("....")
	s.openList(of(hall))
	sold := make([]inventory.Hold, 4)
	for i := range sold {
		sold[i] = s.Guest().Hold(hall.Seats(i + 1))
	}
	pair, otherPair, single := s.join(s.Guest(), hall.Best(2)), s.join(s.Guest(), hall.Best(2)), s.join(s.Guest(), hall.Best(1))
	s.Lapse(sold[0], sold[2])
	s.serve()
	s.expect("two seats apart", s.standing(pair, otherPair, single), "WAITING, WAITING behind 1, OFFERED")
	s.Lapse(sold[1], sold[3])
	s.serve()
	s.expect("all are free", s.standing(pair, otherPair, single), "OFFERED, WAITING, OFFERED")
	if seats := hall.NumbersOf(s.held(pair)); len(seats) != 2 {
		t.Errorf("offered seats %v", seats)
	}
	s.Audit()
}

// A stay is offered when every night of it is free.
func TestAStayIsOfferedWhole(t *testing.T) {
	t.Parallel()
	s := open(t)
	hotel := s.Hotel()
	room := hotel.Stocked("Double", 1, 1, 10)
	s.openList(waitlist.Scope{Property: hotel.Property.ID})
	early, late := s.Guest().Hold(room.Stay(1, 3)), s.Guest().Hold(room.Stay(3, 5))
	long, short := s.join(s.Guest(), room.Stay(1, 5)), s.join(s.Guest(), room.Stay(3, 4))
	if _, err := s.tryJoin(s.Guest(), room.Rooms(1, 1, 40)); err == nil {
		t.Error("a stay of nights that are not on sale is waited for")
	}
	s.Lapse(early)
	s.serve()
	s.expect("half of it", s.standing(long, short), "WAITING, WAITING behind 1")
	s.Lapse(late)
	s.serve()
	s.expect("all of it", s.standing(long, short), "OFFERED, WAITING")
	s.Audit()
}

// R58: what is set aside for a channel is offered to those who wait through it, and to nobody else.
func TestEachChannelHasItsOwnView(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.HallOf("....")
	agency := s.Partner("Agency")
	hall.Block(agency.Actor.Channel, 1, 2)
	s.openList(of(hall))
	public := s.Guest().Hold(hall.Seats(3, 4))
	guest := s.join(s.Guest(), hall.Best(2))
	customer := s.join(agency, hall.Best(2))
	s.serve()
	s.expect("the block is free", s.standing(guest, customer), "WAITING, OFFERED")
	if seats := hall.NumbersOf(s.held(customer)); len(seats) != 2 || seats[0]+seats[1] != 3 {
		t.Errorf("the agency is offered %v", seats)
	}
	s.Lapse(public)
	s.serve()
	s.expect("the public's seats are free", s.standing(guest, customer), "OFFERED, OFFERED")
	agency.Release(s.held(customer))
	waiting := s.join(s.Guest(), hall.Best(2))
	s.serve()
	s.expect("the block is free again", s.standing(waiting), "WAITING")
	s.Audit()
}

// Two processes that serve one list at once offer a unit once, and nobody twice.
func TestTwoProcessesOfferOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	const units, buyers = 5, 12
	hall := s.Hall(0, inventorytest.PoolOf("Floor", units, 2))
	floor := hall.Pools[0]
	s.openList(of(hall))
	sold := s.Guest().Hold(floor.Units(units))
	entries := make([]waitlist.Entry, buyers)
	for i, buyer := range s.Guests(buyers) {
		entries[i] = s.join(buyer, floor.Units(1))
	}
	processes := make([]*waitlist.Service, 4)
	for i := range processes {
		processes[i] = s.service(s.stock(), bookings.NewAnnouncer(bookingstest.Nobody{}))
	}
	s.Lapse(sold)
	for _, err := range inventorytest.Race(len(processes), func(i int) error { return processes[i].ServeTenant(t.Context(), s.ID) }) {
		if err != nil {
			t.Error(err)
		}
	}
	s.serve()
	for i, entry := range entries {
		if got, want := s.read(entry).State == waitlist.StateOffered, i < units; got != want {
			t.Errorf("entry %d is %s", i, s.read(entry).State)
		}
	}
	if count := floor.Count(); count.Held != units {
		t.Errorf("%d units are held", count.Held)
	}
	s.Audit()
}

// A process that dies while it makes an offer has made none: the hold and what is noted of it are there
// together or not at all.
func TestAnOfferIsMadeWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.Hall(0, inventorytest.PoolOf("Floor", 1, 1))
	floor := hall.Pools[0]
	s.openList(of(hall))
	sold := s.Guest().Hold(floor.Units(1))
	entry := s.join(s.Guest(), floor.Units(1))
	s.Lapse(sold)
	dying := s.service(s.Inventory, failing{})
	if err := dying.ServeTenant(t.Context(), s.ID); err == nil || !strings.Contains(err.Error(), errDied.Error()) {
		t.Errorf("got %v", err)
	}
	s.expect("nothing was offered", s.standing(entry), "WAITING")
	if holds := s.Rows("holds"); holds != 1 {
		t.Errorf("%d holds are there, one of them the buyer's before", holds)
	}
	s.serve()
	s.expect("the next one offers it", s.standing(entry), "OFFERED")
	s.expect("and tells once", strings.Join(s.Events(entry.ID.UUID), ", "), "2 waitinglist.offered")
	s.Audit()
}

// Without any worker, whoever asks for an entry has the list served.
func TestAskingServes(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.Hall(0, inventorytest.PoolOf("Floor", 1, 1))
	floor := hall.Pools[0]
	s.openList(of(hall))
	sold := s.Guest().Hold(floor.Units(1))
	guest := s.Guest()
	entry := s.join(guest, floor.Units(1))
	s.Lapse(sold)
	read, err := s.lists.Entry(t.Context(), guest.Actor, entry.ID)
	if err != nil || read.State != waitlist.StateOffered {
		t.Errorf("got %s, %v", read.State, err)
	}
	// What is free already is offered at once.
	hall.Pools[0].SetCapacity(2)
	if late := s.join(s.Guest(), floor.Units(1)); late.State != waitlist.StateOffered {
		t.Errorf("got %s", late.State)
	}
	s.Audit()
}

// The limits of holds hold for offers, too.
func TestOffersKeepToTheLimits(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.Hall(0, inventorytest.PoolOf("Floor", 1, 1), inventorytest.PoolOf("Balcony", 5, 1))
	floor, balcony := hall.Pools[0], hall.Pools[1]
	s.openList(of(hall))
	one := int64(1)
	s.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: &one})
	sold := s.Guest().Hold(floor.Units(1))
	busy := s.Guest()
	older, younger := s.join(busy, floor.Units(1)), s.join(s.Guest(), floor.Units(1))
	busy.Hold(balcony.Units(1))
	s.Lapse(sold)
	s.serve()
	s.expect("the oldest has as many holds as allowed", s.standing(older, younger), "WAITING, OFFERED")
	s.Audit()
}
