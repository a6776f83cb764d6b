package inventory_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/policies"
)

// screen is a client's map: what it was given once, and the changes since.
type screen struct {
	version  inventory.MapVersion
	statuses []inventory.SeatStatus
}

// follow brings a screen up to a board, and says whether it had to read the whole.
func (s *screen) follow(b inventory.SeatBoard) (whole bool) {
	changes, ok := b.Since(s.version)
	if !ok || s.statuses == nil {
		*s = screen{version: b.Version()}
		for i := range b.Len() {
			s.statuses = append(s.statuses, b.Status(i))
		}
		return true
	}
	for _, i := range changes.Seats {
		s.statuses[i] = b.Status(i)
	}
	s.version = changes.Version
	return false
}

func anotherProcess(t *testing.T, tenant *inventorytest.Tenant) *inventory.Service {
	t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	return inventory.NewService(tenant.DB, enforcer)
}

func seatBoard(t *testing.T, s *inventory.Service, b inventorytest.Buyer, hall *inventorytest.Hall) inventory.SeatBoard {
	t.Helper()
	board, err := s.SeatBoard(t.Context(), b.Actor, hall.Show, 0)
	if err != nil {
		t.Fatal(err)
	}
	return board
}

// Clients that ask now one process and now another, each of which looks at its own times, and apply
// nothing but changes, see what a client sees that reads the whole map. Seats change, change back, and
// become free by the passing of time.
func TestChangesFromAnyProcessMakeTheWholeMap(t *testing.T) {
	t.Parallel()
	const seats = 30
	tenant := inventorytest.New(t)
	hall := tenant.Hall(seats)
	guest := tenant.Guest()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a schedule that can be repeated
	processes := []*inventory.Service{anotherProcess(t, tenant), anotherProcess(t, tenant), anotherProcess(t, tenant)}
	screens := make([]screen, 4)
	for i := range screens {
		screens[i].follow(seatBoard(t, processes[i%len(processes)], guest, hall))
	}
	var holds []inventory.Hold
	apart, whole := 0, 0
	for range 60 {
		if random.IntN(3) > 0 {
			if hold, err := guest.Try(hall.Seats(1+random.IntN(seats), 1+random.IntN(seats))); err == nil {
				holds = append(holds, hold)
			} else if fault.KindOf(err) != fault.KindInternal {
				apart++
			}
		}
		if len(holds) > 0 {
			i := random.IntN(len(holds))
			switch random.IntN(4) {
			case 0:
				_, _ = guest.TryRelease(holds[i])
			case 1:
				_, _ = tenant.Confirm(holds[i].ID)
			case 2:
				tenant.Tick(time.Minute)
			}
		}
		i := random.IntN(len(screens))
		board := seatBoard(t, processes[random.IntN(len(processes))], guest, hall)
		if screens[i].follow(board) {
			whole++
		}
		fresh := screen{}
		fresh.follow(seatBoard(t, anotherProcess(t, tenant), guest, hall))
		for seat, want := range fresh.statuses {
			if got := screens[i].statuses[seat]; got != want {
				t.Fatalf("seat %d is %s on a screen that followed the changes to %s, and %s on the map of %s", seat, got, screens[i].version, want, fresh.version)
			}
		}
	}
	if whole > len(screens)+len(processes) {
		t.Errorf("%d times the whole map was read instead of changes", whole)
	}
	tenant.Audit()
}

// The change of one seat is one seat, and nothing when nothing has changed.
func TestOneSeatIsOneChange(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(100)
	guest := tenant.Guest()
	before := seatBoard(t, tenant.Inventory, guest, hall)
	again := seatBoard(t, tenant.Inventory, guest, hall)
	if again.Version() != before.Version() {
		t.Errorf("nothing has changed from %s to %s", before.Version(), again.Version())
	}
	hold := guest.Hold(hall.Seats(17))
	after := seatBoard(t, tenant.Inventory, guest, hall)
	changes, ok := after.Since(before.Version())
	if !ok || len(changes.Seats) != 1 || after.Status(changes.Seats[0]) != inventory.SeatStatusHeld || changes.Version != after.Version() {
		t.Fatalf("after one hold: %+v, %t", changes, ok)
	}
	if at, found := after.Find(hold.Lines[0].Seat); !found || at != changes.Seats[0] || after.Seat(at).Seat != hold.Lines[0].Seat {
		t.Errorf("the changed seat is %v, held is %v", after.Seat(changes.Seats[0]), hold.Lines[0].Seat)
	}
	// What this process has not seen, it does not guess.
	for name, version := range map[string]inventory.MapVersion{
		"from before its first look":   {Sum: before.Version().Sum - 1, At: before.Version().At},
		"that no database ever gave":   {Sum: 1 << 60, At: before.AsOf().Add(-time.Hour)},
		"of a database since restored": {Sum: after.Version().Sum + 5, At: before.AsOf().Add(-time.Hour)},
	} {
		if changes, ok := after.Since(version); ok {
			t.Errorf("a version %s is answered with %+v", name, changes)
		}
	}
	ahead := inventory.MapVersion{Sum: after.Version().Sum + 5, At: after.AsOf().Add(time.Second)}
	if changes, ok := after.Since(ahead); !ok || len(changes.Seats) != 0 || changes.Version != ahead {
		t.Errorf("a version of a process that is ahead is answered with %+v, %t", changes, ok)
	}
}

func TestMapVersionsAreReadStrictly(t *testing.T) {
	t.Parallel()
	good := inventory.MapVersion{Sum: 50_012, At: time.UnixMicro(1_900_000_000_123_456).UTC()}
	if got, err := inventory.ParseMapVersion(good.String()); err != nil || got != good {
		t.Errorf("%s is read as %v, %v", good, got, err)
	}
	for _, bad := range []string{"", ".", "1", "1.", ".1", "-1.1", "1.-1", "01.1", "1.1.1", "1. 1", "9223372036854775808.1", "a.b", strings.Repeat("9", 400)} {
		if got, err := inventory.ParseMapVersion(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

// Two hundred who look at once are one or two reads, and one who may look at a board of a minute ago
// is none.
func TestManyLooksAreFewReads(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(10)
	guest := tenant.Guest()
	service := anotherProcess(t, tenant)
	var reads atomic.Int64
	release := inventory.CountBoardReads(service, &reads)
	errs := make(chan error, 200)
	for range cap(errs) {
		go func() {
			_, err := service.SeatBoard(t.Context(), guest.Actor, hall.Show, time.Hour)
			errs <- err
		}()
	}
	close(release)
	var failed error
	for range cap(errs) {
		failed = errors.Join(failed, <-errs)
	}
	if failed != nil || reads.Load() != 1 {
		t.Errorf("200 looks were %d reads: %v", reads.Load(), failed)
	}
	// One who wants the present never gets what was read before.
	guest.Hold(hall.Seats(3))
	if changes, ok := seatBoard(t, service, guest, hall).Since(inventory.MapVersion{Sum: 10}); !ok || len(changes.Seats) != 1 {
		t.Errorf("a look at the present shows %+v, %t", changes, ok)
	}
	// Who has gone does not end the read of the others.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := service.SeatBoard(gone, guest.Actor, hall.Show, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("one who has gone got %v", err)
	}
	seatBoard(t, service, guest, hall)
}

// All who watch a show are told of a change, by one poll.
func TestAWatchIsToldOfAChange(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(10)
	guest := tenant.Guest()
	service := anotherProcess(t, tenant)
	var watches []*inventory.BoardWatch
	for range 3 {
		watch, err := service.WatchSeats(t.Context(), guest.Actor, hall.Show)
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Close()
		watches = append(watches, watch)
	}
	seen := seatBoard(t, service, guest, hall)
	for _, watch := range watches {
		<-watch.Changed() // the first look
	}
	hold := guest.Hold(hall.Seats(1, 2)) // in another process
	for _, watch := range watches {
		for len(changedSince(t, service, guest, hall, seen)) < 2 {
			<-watch.Changed()
		}
	}
	waiting, held, err := service.WatchHold(t.Context(), guest.Actor, hold.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	tenant.Lapse(hold)
	for held.State == inventory.HoldStateActive {
		<-waiting.Changed()
		if held, err = service.Hold(t.Context(), guest.Actor, hold.ID); err != nil {
			t.Fatal(err)
		}
	}
	if held.State != inventory.HoldStateExpired {
		t.Errorf("the hold is %s", held.State)
	}
	if _, _, err := service.WatchHold(t.Context(), tenant.Guest().Actor, hold.ID); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("somebody else watches the hold: %v", err)
	}
}

func changedSince(t *testing.T, s *inventory.Service, b inventorytest.Buyer, hall *inventorytest.Hall, seen inventory.SeatBoard) []int {
	t.Helper()
	board, err := s.SeatBoard(t.Context(), b.Actor, hall.Show, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	changes, _ := board.Since(seen.Version())
	return changes.Seats
}

// Boards are bounded by seats: those looked at longest ago are forgotten, and read again when they are
// wanted.
func TestBoardsAreBounded(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(10)
	guest := tenant.Guest()
	service := anotherProcess(t, tenant)
	inventory.BoundBoards(service, 25)
	shows := []*inventorytest.Hall{hall, hall.Another(), hall.Another(), hall.Another()}
	for range 2 {
		for _, show := range shows {
			if b := seatBoard(t, service, guest, show); b.Len() != 10 {
				t.Fatalf("%d seats", b.Len())
			}
		}
	}
	// Shows that do not exist leave nothing.
	for range 20 {
		other := *hall
		other.Show = inventorytest.Random[inventory.ShowKind]()
		seatBoard(t, service, guest, &other)
	}
	if shows, seats := inventory.KeptBoards(service); shows > 2 || seats > 25 {
		t.Errorf("%d shows with %d seats are kept", shows, seats)
	}
}

// Every statement that writes a seat counts it, or clients would not hear of the change.
func TestEveryWriteOfASeatCounts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/queries/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	written := regexp.MustCompile(`(?s)UPDATE (?:past_)?show_seats\b[^;]*;`)
	counted := regexp.MustCompile(`\bversion = (?:GREATEST\()?(?:\w+\.)?version \+ 1\b`)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range written.FindAllString(string(text), -1) {
			found++
			if !counted.MatchString(statement) {
				t.Errorf("%s: set version = version + 1 in\n%s", file, statement)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d statements that write seats were found", found)
	}
}
