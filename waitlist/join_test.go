package waitlist_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/waitlist"
)

// Joining twice is joining once: with the same key, and with the same wish.
func TestJoiningTwiceIsJoiningOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.Hall(0, inventorytest.PoolOf("Floor", 1, 1))
	floor := hall.Pools[0]
	s.openList(of(hall))
	s.Guest().Hold(floor.Units(1))
	guest := s.Guest()
	input := waitlist.Join{RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{floor.Units(1)}}
	first, err := s.lists.Join(t.Context(), guest.Actor, input)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.lists.Join(t.Context(), guest.Actor, input)
	if err != nil || again.ID != first.ID {
		t.Errorf("the same key: %s, %v", again.ID, err)
	}
	input.Lines = []inventory.LineRequest{floor.Units(2)}
	if _, err := s.lists.Join(t.Context(), guest.Actor, input); s.Explain(err) != "REQUEST_KEY_REUSED" {
		t.Errorf("the key of another wish: %s", s.Explain(err))
	}
	if same := s.join(guest, floor.Units(1)); same.ID != first.ID {
		t.Error("the same wish is a second entry")
	}
	if other := s.join(guest, floor.Units(2)); other.ID == first.ID || other.Ahead != 1 {
		t.Errorf("another wish: %+v", other)
	}
	// A seller's own key waits for many people.
	agency := s.Partner("Agency")
	if one, other := s.join(agency, floor.Units(1)), s.join(agency, floor.Units(1)); one.ID == other.ID {
		t.Error("two customers of a partner have one entry")
	}
	mine, more, err := s.lists.Mine(t.Context(), guest.Actor, inventorytest.Region, nil, 1)
	if err != nil || len(mine) != 1 || !more || mine[0].ID == first.ID {
		t.Errorf("my entries: %+v, %t, %v", mine, more, err)
	}
	// Who left may join again, at the end.
	if left, err := s.lists.Leave(t.Context(), guest.Actor, inventorytest.Key(), first.ID); err != nil || left.State != waitlist.StateLeft {
		t.Errorf("left: %s, %v", left.State, err)
	}
	if back := s.join(guest, floor.Units(1)); back.ID == first.ID || back.Ahead != 3 {
		t.Errorf("back again: %+v", back)
	}
}

// A rule that would refuse the hold refuses the wish, in the same words; a list that is closed or full, and
// a guest who waits for enough, are told so.
func TestWhoMayNotJoin(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.Hall(4, inventorytest.PoolOf("Floor", 1, 1))
	other := s.Hall(0, inventorytest.PoolOf("Floor", 1, 1))
	floor := hall.Pools[0]
	guest := s.Guest()
	refused := func(want string, buyer inventorytest.Buyer, lines ...inventory.LineRequest) {
		t.Helper()
		if _, err := s.tryJoin(buyer, lines...); s.Explain(err) != want {
			t.Errorf("got %s, want %s", s.Explain(err), want)
		}
	}
	refused("WAITING_LIST_CLOSED", guest, floor.Units(1))
	two := int64(2)
	s.openList(of(hall), func(c *waitlist.Change) { c.MaxEntries = &two })
	s.Guest().Hold(floor.Units(1))
	if _, err := s.tryJoin(guest, hall.Seats(1)); fault.KindOf(err) != fault.KindInvalid || !strings.Contains(err.Error(), "lines[0].seats") {
		t.Errorf("seats by name: %v", err)
	}
	if _, err := s.tryJoin(guest, floor.Units(1), other.Pools[0].Units(1)); fault.KindOf(err) != fault.KindInvalid {
		t.Errorf("two shows: %v", err)
	}
	best := hall.Best(1)
	best.Best.Sections = []string{"Nowhere"}
	if _, err := s.tryJoin(guest, best); fault.KindOf(err) != fault.KindInvalid || !strings.Contains(err.Error(), "sections[0]") {
		t.Errorf("no such section: %v", err)
	}
	refused("LIMIT_PER_HOLD limit 10", guest, floor.Units(500))
	if _, err := s.lists.Join(t.Context(), s.Widget, waitlist.Join{RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{floor.Units(1)}}); fault.KindOf(err) != fault.KindDenied {
		t.Errorf("nobody's entry: %v", err)
	}
	past := s.Now().Add(-time.Second)
	if _, err := s.lists.Join(t.Context(), guest.Actor, waitlist.Join{RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{floor.Units(1)}, Until: &past}); fault.KindOf(err) != fault.KindInvalid {
		t.Errorf("until the past: %v", err)
	}
	s.join(guest, floor.Units(1))
	s.join(s.Guest(), floor.Units(1))
	refused("WAITING_LIST_FULL", s.Guest(), floor.Units(1))
	many := int64(100)
	s.openList(of(hall), func(c *waitlist.Change) { c.MaxEntries = &many })
	for n := int64(2); n <= 10; n++ {
		s.join(guest, floor.Units(n))
	}
	refused("WAITING_LIST_LIMIT", guest, hall.Best(1))
	hall.SetState(inventory.ShowStateClosed)
	refused("SALE_CLOSED Floor", s.Guest(), floor.Units(1))
}

// A show that is not on sale offers nobody anything; once it has begun, the entries are over.
func TestAShowThatIsNotOnSaleServesNobody(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.Hall(0, inventorytest.PoolOf("Floor", 1, 1))
	floor := hall.Pools[0]
	s.openList(of(hall))
	sold := s.Guest().Hold(floor.Units(1))
	guest := s.Guest()
	entry := s.join(guest, floor.Units(1))
	until := s.Now().Add(time.Hour)
	short, err := s.lists.Join(t.Context(), s.Guest().Actor, waitlist.Join{RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{floor.Units(1)}, Until: &until})
	if err != nil || !short.ExpiresAt.Equal(until.Truncate(time.Microsecond)) {
		t.Errorf("until %s: %+v, %v", until, short, err)
	}
	hall.SetState(inventory.ShowStateClosed)
	s.Lapse(sold)
	s.serve()
	s.expect("the show is closed", s.standing(entry, short), "WAITING, WAITING behind 1")
	s.Exec("UPDATE waiting_entries SET expires_at = clock_timestamp() WHERE tenant_id = $1")
	s.expect("its time is over, and nobody works", s.standing(entry, short), "EXPIRED, EXPIRED")
	hall.SetState(inventory.ShowStateOnSale)
	s.serve()
	s.expect("it is on sale again", s.standing(entry, short), "EXPIRED, EXPIRED")
	if read := s.read(entry); read.Version != 2 || read.EndedAt == nil {
		t.Errorf("it reads %+v", read)
	}
	s.Audit()
}

// A closed list offers nothing and keeps its line.
func TestAClosedListKeepsItsLine(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.Hall(0, inventorytest.PoolOf("Floor", 1, 1))
	floor := hall.Pools[0]
	s.openList(of(hall))
	sold := s.Guest().Hold(floor.Units(1))
	entry := s.join(s.Guest(), floor.Units(1))
	no := false
	if _, err := s.lists.Set(t.Context(), s.Owner, of(hall), waitlist.Change{Open: &no}); err != nil {
		t.Fatal(err)
	}
	s.Lapse(sold)
	s.serve()
	s.expect("closed", s.standing(entry), "WAITING")
	minutes := 5 * time.Minute
	s.openList(of(hall), func(c *waitlist.Change) { c.Offer = &minutes })
	s.serve()
	s.expect("open again", s.standing(entry), "OFFERED")
	if hold := s.held(entry); hold.Deadline.Sub(hold.PlacedAt) != minutes {
		t.Errorf("it is held until %s", hold.Deadline)
	}
	list, err := s.lists.List(t.Context(), s.Owner, of(hall))
	if err != nil || list.Waiting != 0 || list.Offered != 1 || list.Oldest != nil || !list.Open {
		t.Errorf("the list: %+v, %v", list, err)
	}
}

// Leaving gives back what was offered. Who leaves while it is being offered has it and gives it back, or
// never had it.
func TestLeavingDeclines(t *testing.T) {
	t.Parallel()
	s := open(t)
	hall := s.Hall(0, inventorytest.PoolOf("Floor", 1, 1))
	floor := hall.Pools[0]
	s.openList(of(hall))
	sold := s.Guest().Hold(floor.Units(1))
	guest, next := s.Guest(), s.Guest()
	entry, behind := s.join(guest, floor.Units(1)), s.join(next, floor.Units(1))
	if _, err := s.lists.Leave(t.Context(), next.Actor, inventorytest.Key(), entry.ID); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("another's entry: %v", err)
	}
	if _, err := s.lists.Entry(t.Context(), next.Actor, entry.ID); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("another's entry: %v", err)
	}
	s.Lapse(sold)
	s.serve()
	key := inventorytest.Key()
	for range 2 {
		left, err := s.lists.Leave(t.Context(), guest.Actor, key, entry.ID)
		if err != nil || left.State != waitlist.StateDeclined {
			t.Errorf("left: %s, %v", left.State, err)
		}
	}
	s.expect("the next has it", s.standing(entry, behind), "DECLINED, OFFERED")

	s.Lapse(s.held(behind))
	racing := s.Guest()
	raced := s.join(racing, floor.Units(2))
	floor.SetCapacity(2)
	for _, err := range inventorytest.Race(2, func(i int) error {
		if i == 0 {
			_, err := s.lists.Leave(t.Context(), racing.Actor, inventorytest.Key(), raced.ID)
			return err
		}
		return s.lists.ServeTenant(t.Context(), s.ID)
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	if state := s.read(raced).State; state != waitlist.StateLeft && state != waitlist.StateDeclined {
		t.Errorf("it is %s", state)
	}
	if count := floor.Count(); count.Held > 1 {
		t.Errorf("%d units are held for nobody", count.Held)
	}
	s.Audit()
}
