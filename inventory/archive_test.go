package inventory_test

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

const week = 7 * 24 * time.Hour

// archive runs the archiver once, as its job does, for shows that were over a week ago.
func archive(t *testing.T, tenant *inventorytest.Tenant, change ...func(*inventory.Archiving)) (inventory.Archived, error) {
	t.Helper()
	input := inventory.Archiving{CompletedBefore: tenant.Now().Add(-week), MaxRows: 1_000_000}
	for _, c := range change {
		c(&input)
	}
	return tenant.Inventory.ArchiveDue(t.Context(), input)
}

func mustArchive(t *testing.T, tenant *inventorytest.Tenant, change ...func(*inventory.Archiving)) inventory.Archived {
	t.Helper()
	done, err := archive(t, tenant, change...)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// stillAhead makes shows due that are yet to come, so that they can be sold and archived at once.
func stillAhead(input *inventory.Archiving) {
	input.CompletedBefore = time.Date(inventorytest.Year+1, 1, 1, 0, 0, 0, 0, time.UTC)
}

// shown is everything that readers are told of a show.
type shown struct {
	show   inventory.Show
	levels []inventory.PriceLevel
	seats  []inventory.SeatState
	pools  []inventory.Pool
}

func show(t *testing.T, tenant *inventorytest.Tenant, hall *inventorytest.Hall) shown {
	t.Helper()
	var s shown
	var err error
	if s.show, err = tenant.Inventory.Show(t.Context(), tenant.Owner, hall.Show); err != nil {
		t.Fatal(err)
	}
	levels, err := tenant.Inventory.PriceLevelsOfShows(t.Context(), tenant.Owner, []inventory.Show{s.show})
	if err != nil {
		t.Fatal(err)
	}
	s.levels = levels[hall.Show]
	seats, err := tenant.Inventory.SeatMap(t.Context(), tenant.Owner, hall.Show)
	if err != nil {
		t.Fatal(err)
	}
	s.seats = seats.Seats
	pools, err := tenant.Inventory.PoolsOfShows(t.Context(), tenant.Owner, []inventory.ShowID{hall.Show})
	if err != nil {
		t.Fatal(err)
	}
	s.pools = pools[hall.Show]
	for i := range s.pools {
		s.pools[i].AsOf = time.Time{}
	}
	return s
}

// rows are a show's seats and counters as they stand in the hot or in the past tables.
func rows(t *testing.T, tenant *inventorytest.Tenant, hall *inventorytest.Hall, prefix string) []string {
	t.Helper()
	var found []string
	for _, query := range []string{
		`SELECT concat_ws(' ', 'seat', seat_id, price_level_id, state, hold_id, claimable_at, block_channel_id, block_id)
		FROM ` + prefix + `show_seats WHERE tenant_id = $1 AND show_id = $2`,
		`SELECT concat_ws(' ', 'counter', pool_id, bucket, shard, sell_limit, held, booked, ceiling)
		FROM ` + prefix + `pool_counters WHERE tenant_id = $1 AND pool_id IN (SELECT id FROM pools WHERE tenant_id = $1 AND show_id = $2)`,
	} {
		result, err := tenant.DB.Pool().Query(t.Context(), query, tenant.ID.UUID, hall.Show.UUID)
		if err != nil {
			t.Fatal(err)
		}
		for result.Next() {
			var text string
			if err := result.Scan(&text); err != nil {
				t.Fatal(err)
			}
			found = append(found, text)
		}
		if err := result.Err(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(found)
	return found
}

func stage(t *testing.T, tenant *inventorytest.Tenant, hall *inventorytest.Hall) string {
	t.Helper()
	var text string
	if err := tenant.DB.Pool().QueryRow(t.Context(), `SELECT CASE WHEN archived_at IS NOT NULL THEN 'ARCHIVED' WHEN completed_at IS NOT NULL THEN 'COMPLETED' ELSE 'CURRENT' END
		FROM shows WHERE tenant_id = $1 AND id = $2`, tenant.ID.UUID, hall.Show.UUID).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// season is a hall with two sold holds, one that was given back, and seats and units that nobody
// wanted.
type season struct {
	tenant *inventorytest.Tenant
	hall   *inventorytest.Hall
	sold   []inventory.Hold
}

func newSeason(t *testing.T, seats int) season {
	t.Helper()
	tenant := inventorytest.NewOn(t, ownDatabase(t))
	s := season{tenant: tenant, hall: tenant.Hall(seats, inventorytest.PoolOf("Floor", 20, 3), inventorytest.PoolOf("Balcony", 5, 1))}
	s.sell(t)
	return s
}

func (s *season) sell(t *testing.T) {
	t.Helper()
	guest := s.tenant.Guest()
	s.sold = nil
	for _, wishes := range [][]inventory.LineRequest{
		{s.hall.Seats(1, 2, 3), s.hall.Pools[0].Units(4)},
		{s.hall.Seats(5), s.hall.Pools[0].Units(2), s.hall.Pools[1].Units(5)},
	} {
		hold := guest.Hold(wishes...)
		if _, err := s.tenant.Confirm(hold.ID); err != nil {
			t.Fatal(err)
		}
		s.sold = append(s.sold, hold)
	}
	guest.Release(guest.Hold(s.hall.Seats(6), s.hall.Pools[0].Units(1)))
}

func TestAnArchivedShowIsShownAsBefore(t *testing.T) {
	t.Parallel()
	s := newSeason(t, 30)
	later := s.hall.Another(inventorytest.PoolOf("Floor", 3, 1))
	before, laterBefore := show(t, s.tenant, s.hall), show(t, s.tenant, later)
	s.hall.Over(30 * 24 * time.Hour)
	before.show.StartsAt = show(t, s.tenant, s.hall).show.StartsAt
	want := rows(t, s.tenant, s.hall, "")
	if done := mustArchive(t, s.tenant); done != (inventory.Archived{Shows: 1, Seats: 30, PoolCounters: 4}) {
		t.Errorf("archived %+v", done)
	}
	if got := show(t, s.tenant, s.hall); !reflect.DeepEqual(got, before) {
		t.Errorf("shown as\n%+v\nwas\n%+v", got, before)
	}
	if got := rows(t, s.tenant, s.hall, "past_"); !slices.Equal(got, want) {
		t.Errorf("the past tables have\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if left := rows(t, s.tenant, s.hall, ""); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if got := show(t, s.tenant, later); !reflect.DeepEqual(got, laterBefore) || stage(t, s.tenant, later) != "CURRENT" {
		t.Errorf("the later show is %s and shown as %+v", stage(t, s.tenant, later), got)
	}
	if got := stage(t, s.tenant, s.hall); got != "ARCHIVED" {
		t.Errorf("the show is %s", got)
	}
	s.tenant.Audit()
	if done := mustArchive(t, s.tenant); done != (inventory.Archived{}) {
		t.Errorf("archived again: %+v", done)
	}
}

// The stage alone refuses, whatever the sale window says, exactly as a closed show would: nothing is
// said about what is left of its units.
func TestNothingOfACompletedShowCanBeClaimed(t *testing.T) {
	t.Parallel()
	s := newSeason(t, 10)
	other := s.hall.Another(inventorytest.PoolOf("Floor", 3, 1))
	guest := s.tenant.Guest()
	for _, end := range []string{"complete", "archive"} {
		killed(t, func() {
			mustArchive(t, s.tenant, stillAhead, func(input *inventory.Archiving) {
				input.CompletedBefore = time.Date(inventorytest.Year, 11, 21, 0, 0, 0, 0, time.UTC)
				input.AfterStep = func(step string) {
					if step == end {
						runtime.Goexit()
					}
				}
			})
		})
		// Both shows start at the same time: go on with whichever was taken first.
		first, second := s.hall, other
		if stage(t, s.tenant, first) == "CURRENT" {
			first, second = other, s.hall
		}
		if got := stage(t, s.tenant, second); got != "CURRENT" {
			t.Fatalf("the other show is %s", got)
		}
		guest.Refused("SALE_CLOSED", first.Seats(8))
		guest.Refused("SALE_CLOSED Floor", first.Pools[0].Units(1))
		guest.Refused("0: SALE_CLOSED, 1: SALE_CLOSED Floor", first.Seats(9), first.Pools[0].Units(1))
		guest.Refused("SALE_CLOSED", first.Seats(8), second.Pools[0].Units(1))
		guest.Refused("SALE_CLOSED Floor", first.Pools[0].Units(9), second.Seats(7))
		_, err := s.tenant.Inventory.SetPoolCapacity(t.Context(), s.tenant.Owner, first.Pools[0].ID, 50)
		expectAnswer(t, s.tenant, err, "conflict: the show is over, and its stock is archived")
		s.tenant.Audit()
	}
}

// killed runs what ends itself like a process that dies.
func killed(t *testing.T, act func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		act()
	}()
	<-done
}

// The archiver is killed after each of its transactions in turn. What is shown never changes, the
// books agree at every moment, and the next run completes what was begun.
func TestAKillAfterAnyTransactionLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSeason(t, 2500)
	for after, finished := 1, false; !finished; after++ {
		if after > 1 {
			s.hall = s.hall.Another(inventorytest.PoolOf("Floor", 20, 3), inventorytest.PoolOf("Balcony", 5, 1))
			s.sell(t)
		}
		s.hall.Over(2 * week)
		before, want := show(t, s.tenant, s.hall), rows(t, s.tenant, s.hall, "")
		var steps []string
		killed(t, func() {
			mustArchive(t, s.tenant, func(input *inventory.Archiving) {
				input.AfterStep = func(step string) {
					if steps = append(steps, step); len(steps) == after {
						runtime.Goexit()
					}
				}
			})
			finished = true
		})
		what := fmt.Sprintf("killed after %v", steps)
		if got := show(t, s.tenant, s.hall); !reflect.DeepEqual(got, before) {
			t.Errorf("%s: shown otherwise", what)
		}
		s.tenant.Audit()
		if !finished {
			// What was booked can be given back from wherever it stands.
			if err := s.tenant.Return(s.sold[0]); err != nil {
				t.Errorf("%s: give back: %v", what, err)
			}
			s.tenant.Audit(s.sold[0].ID)
			if got := s.hall.Pools[0].Count(); got.Held != 0 || got.Booked != 2 {
				t.Errorf("%s: after the return the pool is %+v", what, got)
			}
			restore(t, s.tenant, s.sold[0], s.hall)
		}
		mustArchive(t, s.tenant)
		if got := rows(t, s.tenant, s.hall, "past_"); !slices.Equal(got, want) || len(rows(t, s.tenant, s.hall, "")) > 0 || stage(t, s.tenant, s.hall) != "ARCHIVED" {
			t.Errorf("%s: the next run left it %s with %d rows of %d", what, stage(t, s.tenant, s.hall), len(got), len(want))
		}
		s.tenant.Audit()
		if finished && after < 9 {
			t.Errorf("only %d transactions: %v", after-1, steps)
		}
	}
}

// restore books units again that were given back, wherever they stand.
func restore(t *testing.T, tenant *inventorytest.Tenant, hold inventory.Hold, hall *inventorytest.Hall) {
	t.Helper()
	for _, prefix := range []string{"", "past_"} {
		for _, query := range []string{
			`UPDATE ` + prefix + `show_seats SET state = 'BOOKED', hold_id = $2 WHERE tenant_id = $1 AND show_id = $3
				AND seat_id IN (SELECT seat_id FROM hold_lines WHERE tenant_id = $1 AND hold_id = $2)`,
			`UPDATE ` + prefix + `pool_counters c SET booked = booked + l.quantity FROM hold_lines l
				WHERE c.tenant_id = $1 AND l.tenant_id = $1 AND l.hold_id = $2 AND l.show_id = $3 AND c.pool_id = l.pool_id AND c.shard = l.shard`,
		} {
			if _, err := tenant.DB.Pool().Exec(t.Context(), query, tenant.ID.UUID, hold.ID.UUID, hall.Show.UUID); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAShowWithALiveHoldWaits(t *testing.T) {
	t.Parallel()
	s := newSeason(t, 10)
	for name, wish := range map[string]func(hall *inventorytest.Hall) inventory.LineRequest{
		"a seat": func(hall *inventorytest.Hall) inventory.LineRequest { return hall.Seats(9) },
		"a pool": func(hall *inventorytest.Hall) inventory.LineRequest { return hall.Pools[0].Units(1) },
	} {
		mustArchive(t, s.tenant, stillAhead)
		hall := s.hall.Another(inventorytest.PoolOf("Floor", 4, 2))
		guest := s.tenant.Guest()
		hold := guest.Hold(wish(hall))
		waits := func(when string) {
			t.Helper()
			if done := mustArchive(t, s.tenant, stillAhead); done != (inventory.Archived{Waiting: 1}) {
				t.Errorf("%s, %s: archived %+v", name, when, done)
			}
		}
		waits("held")
		guest.Extend(hold) // as if nobody had asked
		guest.Hold(hall.Seats(10))
		if _, err := s.tenant.Checkout(hold.ID); err != nil {
			t.Fatal(err)
		}
		waits("being paid for")
		s.tenant.Tick(time.Hour)
		waits("due and not reaped")
		if _, err := s.tenant.Inventory.ExpireDue(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if done := mustArchive(t, s.tenant, stillAhead); done.Shows != 1 || done.Waiting != 0 {
			t.Errorf("%s, after its end: archived %+v", name, done)
		}
		s.tenant.Audit()
	}
}

func TestAShowWhoseSaleGoesOnIsNotOver(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.NewOn(t, ownDatabase(t))
	hall := tenant.Hall(2)
	now := tenant.Now()
	for _, window := range []struct {
		starts time.Duration
		closes *time.Time
		want   int64
	}{
		{-2 * week, inventorytest.Of(now.Add(time.Hour)), 0},
		{-2 * week, inventorytest.Of(now.Add(-week + time.Hour)), 0},
		{-week + time.Hour, nil, 0},
		{time.Hour, inventorytest.Of(now.Add(-2 * week)), 0},
		{-2 * week, inventorytest.Of(now.Add(-week - time.Hour)), 1},
		{-week - time.Hour, nil, 1},
		{-2 * week, inventorytest.Of(now.Add(-3 * week)), 1},
	} {
		input := hall.NewShow()
		input.StartsAt, input.SaleClosesAt = now.Add(window.starts), window.closes
		if _, err := tenant.Inventory.CreateShow(t.Context(), tenant.Owner, inventorytest.Key(), input); err != nil {
			t.Fatal(err)
		}
		if done := mustArchive(t, tenant); done.Shows != window.want {
			t.Errorf("starts %s from now, closes %v: archived %+v", window.starts, window.closes, done)
		}
	}
}

// Buyers and the archiver meet on a show that is still on sale. Whoever is first wins whole: no hold
// ever owns units of a show that is being moved.
func TestArchivingRacesWithHolds(t *testing.T) {
	t.Parallel()
	s := newSeason(t, 8)
	mustArchive(t, s.tenant, stillAhead)
	guests := s.tenant.Guests(4)
	ends := map[string]int{}
	for round := range 15 {
		hall := s.hall.Another(inventorytest.PoolOf("Floor", 8, 2))
		held := make([]inventory.Hold, len(guests))
		var done inventory.Archived
		results := inventorytest.Race(len(guests)+1, func(i int) (err error) {
			if i == len(guests) {
				done, err = archive(t, s.tenant, stillAhead)
				return err
			}
			wishes := []inventory.LineRequest{hall.Seats(2*i+1, 2*i+2), hall.Pools[0].Units(1)}
			held[i], err = guests[i].Try(wishes[:1+(i+round)%2]...)
			return err
		})
		won, refused := tally(t, s.tenant, results[:len(guests)])
		if err := results[len(guests)]; err != nil {
			t.Fatal(err)
		}
		if won > 0 && (done.Waiting != 1 || stage(t, s.tenant, hall) != "CURRENT") || won == 0 && done.Shows != 1 {
			t.Errorf("%d hold units of a show that is %s, archived %+v, refused %v", won, stage(t, s.tenant, hall), done, refused)
		}
		s.tenant.Audit()
		ends[fmt.Sprintf("%d held", won)]++

		// Some are sold while it is tried again, the others end.
		sold := map[int]bool{}
		for i, err := range inventorytest.Race(len(guests)+1, func(i int) (err error) {
			switch {
			case i == len(guests):
				_, err = archive(t, s.tenant, stillAhead)
			case results[i] != nil:
			case i%2 == 0:
				_, err = s.tenant.Confirm(held[i].ID)
			case round%2 == 0:
				_, err = guests[i].TryExtend(held[i])
			default:
				_, err = guests[i].TryRelease(held[i])
			}
			return err
		}) {
			if err != nil {
				t.Errorf("racer %d: %s", i, s.tenant.Explain(err))
			}
			sold[i] = i < len(guests) && i%2 == 0 && results[i] == nil
		}
		s.tenant.Audit()
		for i := range guests {
			if results[i] == nil && !sold[i] && round%2 == 0 {
				guests[i].Release(held[i])
			}
		}
		mustArchive(t, s.tenant, stillAhead)
		if got := stage(t, s.tenant, hall); got != "ARCHIVED" {
			t.Errorf("in the end the show is %s", got)
		}
		s.tenant.Audit()
	}
	t.Logf("%v", ends)
}

// Units come back while their rows are on the way, several archivers at work.
func TestArchivingRacesWithCancellations(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.NewOn(t, ownDatabase(t))
	hall := tenant.Hall(2100, inventorytest.PoolOf("Floor", 30, 3))
	guests := tenant.Guests(6)
	var gone []inventory.HoldID
	for range 4 {
		var sold []inventory.Hold
		for i, guest := range guests {
			hold := guest.Hold(hall.Seats(i+1, i+700, i+1400, i+2000), hall.Pools[0].Units(5))
			if _, err := tenant.Confirm(hold.ID); err != nil {
				t.Fatal(err)
			}
			sold = append(sold, hold)
			gone = append(gone, hold.ID)
		}
		var seats, shows atomic.Int64
		for i, err := range inventorytest.Race(len(sold)+2, func(i int) error {
			if i < len(sold) {
				return tenant.Return(sold[i])
			}
			done, err := archive(t, tenant, stillAhead)
			seats.Add(done.Seats)
			shows.Add(done.Shows)
			return err
		}) {
			if err != nil {
				t.Errorf("racer %d: %v", i, err)
			}
		}
		if seats.Load() != 2100 || shows.Load() != 1 || stage(t, tenant, hall) != "ARCHIVED" {
			t.Errorf("moved %d seats and %d shows, which is %s", seats.Load(), shows.Load(), stage(t, tenant, hall))
		}
		expectCount(t, "the pool", hall.Pools[0].Count(), 30, 0, 0)
		tenant.Audit(gone...)
		if got := len(rows(t, tenant, hall, "past_")); got != 2103 {
			t.Errorf("%d rows are in the past tables", got)
		}
		for _, row := range rows(t, tenant, hall, "past_") {
			if strings.Contains(row, "BOOKED") {
				t.Errorf("not given back: %s", row)
			}
		}
		hall = hall.Another(inventorytest.PoolOf("Floor", 30, 3))
	}
}

// A large show moves in transactions of at most a thousand rows, and no run takes more than it may.
func TestALargeShowMovesInBoundedTransactions(t *testing.T) {
	t.Parallel()
	const seats, batch = 50_000, 1000
	tenant := inventorytest.NewOn(t, ownDatabase(t))
	hall := tenant.Hall(seats, inventorytest.PoolOf("Floor", 1000, 256))
	hall.Over(2 * week)
	transactions, moved := 0, 0
	look := func(input *inventory.Archiving) {
		input.AfterStep = func(step string) {
			transactions++
			if step != "seats" {
				return
			}
			now := tenant.Rows("past_show_seats")
			if now-moved > batch {
				t.Errorf("transaction %d moved %d seats", transactions, now-moved)
			}
			moved = now
		}
	}
	if done := mustArchive(t, tenant, look, func(input *inventory.Archiving) { input.MaxRows = 4500 }); done.Seats != 5000 || done.Shows != 0 {
		t.Errorf("the first run archived %+v", done)
	}
	if done := mustArchive(t, tenant, look); done.Seats != seats-5000 || done.PoolCounters != 256 || done.Shows != 1 {
		t.Errorf("the second run archived %+v", done)
	}
	if transactions < seats/batch+2 || moved != seats || tenant.Rows("show_seats") != 0 {
		t.Errorf("%d transactions moved %d seats", transactions, moved)
	}
	if got := len(show(t, tenant, hall).seats); got != seats {
		t.Errorf("%d seats are shown", got)
	}
}

// The oldest show comes first, whosever it is, so that no tenant waits behind another's many.
func TestTheOldestShowIsArchivedFirst(t *testing.T) {
	t.Parallel()
	d := ownDatabase(t)
	type one struct {
		tenant *inventorytest.Tenant
		hall   *inventorytest.Hall
		age    time.Duration
	}
	var shows []one
	for i := range 3 {
		tenant := inventorytest.NewOn(t, d)
		hall := tenant.Hall(2)
		for j, show := range []*inventorytest.Hall{hall, hall.Another(), hall.Another()} {
			age := time.Duration(10+3*j+i) * 24 * time.Hour
			show.Over(age)
			shows = append(shows, one{tenant, show, age})
		}
	}
	slices.SortFunc(shows, func(a, b one) int { return cmp.Compare(b.age, a.age) })
	for i, next := range shows {
		if done := mustArchive(t, next.tenant, func(input *inventory.Archiving) { input.MaxRows = 1 }); done.Seats != 2 {
			t.Fatalf("archived %+v", done)
		}
		if got := rows(t, next.tenant, next.hall, "past_"); len(got) != 2 {
			t.Errorf("run %d left the show alone that is over since %s", i, next.age)
		}
		// The bound was reached before the last transaction; it is a run of its own.
		killed(t, func() {
			mustArchive(t, next.tenant, func(input *inventory.Archiving) {
				input.AfterStep = func(step string) {
					if step == "archive" {
						runtime.Goexit()
					}
				}
			})
		})
	}
}

func TestWhatTheArchiverIsAsked(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	_, err := archive(t, tenant, func(input *inventory.Archiving) { input.MaxRows = 0 })
	expectAnswer(t, tenant, err, "invalid: maxRows: expected at least 1, got 0")
}

const archiveDocument = "../docs/archive.md"

// The diagram in docs/archive.md is made from the code's own transitions.
func TestDiagramOfStagesIsMadeFromTheTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	transitions := inventory.StageTransitions()
	fmt.Fprintf(&b, "```mermaid\nstateDiagram-v2\n    [*] --> %s: create\n", transitions[0].From)
	for _, transition := range transitions {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", transition.From, transition.To, transition.Name)
	}
	fmt.Fprintf(&b, "    %s --> [*]\n```\n", transitions[len(transitions)-1].To)
	written, err := os.ReadFile(archiveDocument)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begun := strings.Cut(string(written), "```mermaid\n")
	_, tail, ended := strings.Cut(rest, "\n```\n")
	if !begun || !ended {
		t.Fatalf("%s has no diagram", archiveDocument)
	}
	want := head + b.String() + tail
	if *update {
		if err := os.WriteFile(archiveDocument, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(written) != want {
		t.Errorf("%s differs from the code's transitions; run this test with -update", archiveDocument)
	}
}
