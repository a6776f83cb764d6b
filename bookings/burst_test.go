package bookings_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// The carts of a burst: so many holds were placed in the same second, and are due in the same second.
const (
	burstHolds = 20_000
	burstSeats = burstHolds / 5
	burstPit   = burstHolds / 20
	// burstRounds bounds what one buyer takes while it is swept.
	burstRounds = 400
)

// burst is a shop in which 20,000 holds are due at once: of a seat each one in five, of a night six in
// twenty, of a large pool nine in twenty, and one in twenty of a small pool that is sold out with
// them.
type burst struct {
	box
	floor, pit inventorytest.Pool
	rooms      *inventorytest.Room
}

func openBurst(t *testing.T) burst {
	t.Helper()
	b := burst{box: open(t, ownDatabase(t))}
	n := inventorytest.Of[int64]
	b.SetTerms(inventory.TermsChange{HoldSeconds: n(3600), MaxHoldSeconds: n(3600)})
	b.hall = b.Hall(burstSeats, inventorytest.PoolOf("Floor", burstHolds, 4), inventorytest.PoolOf("Pit", burstPit, 2))
	b.floor, b.pit = b.hall.Pools[0], b.hall.Pools[1]
	hotel := b.Hotel()
	b.rooms = hotel.Stocked("Dormitory", burstHolds, 1, 28)
	hotel.SetHouseLimit(1, 28, n(burstHolds))
	return b
}

// place stores the holds with their lines, seats and counters, as their buyers would have.
func (b burst) place(t *testing.T) {
	t.Helper()
	due := b.Now().Add(-time.Second)
	const kind = `CASE WHEN n % 20 < 4 THEN 'SEAT' WHEN n % 20 < 10 THEN 'NIGHT' ELSE 'POOL' END`
	for _, statement := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO holds (tenant_id, region, id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline, claimable_at,
			max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline, max_per_instrument, total_minor, currency)
		SELECT $1, $2::text, ('20000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, gen_random_uuid(), 'GUEST', gen_random_uuid(), 'ACTIVE',
			$3::timestamptz - interval '300 seconds', $3::timestamptz, $3::timestamptz, $3::timestamptz, 1, 300, 900, 120, 120, 'HONOUR', 'RELEASE', 5, 0, 'EUR'
		FROM generate_series(0, $4::bigint - 1) AS n`, []any{string(inventorytest.Region), due, burstHolds}},
		{
			`INSERT INTO hold_lines (tenant_id, region, hold_id, ordinal, item, kind, show_id, seat_id, pool_id, shard, property_id, room_type_id, night, bucket, quantity, amount_minor)
		SELECT $1, $2::text, ('20000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 0, 0, ` + kind + `,
			CASE WHEN n % 20 < 4 OR n % 20 >= 10 THEN $3::uuid END, s.seat_id,
			CASE WHEN n % 20 = 19 THEN $4::uuid WHEN n % 20 >= 10 THEN $5::uuid END,
			CASE WHEN n % 20 = 19 THEN (n >> 2) % 2 WHEN n % 20 >= 10 THEN n % 4 END,
			CASE WHEN n % 20 >= 4 AND n % 20 < 10 THEN $6::uuid END, CASE WHEN n % 20 >= 4 AND n % 20 < 10 THEN $7::uuid END,
			CASE WHEN n % 20 >= 4 AND n % 20 < 10 THEN $8::date + (n % 28)::int END,
			'00000000-0000-0000-0000-000000000000', 1, 0
		FROM generate_series(0, $9::bigint - 1) AS n
		LEFT JOIN (SELECT seat_id, row_number() OVER (ORDER BY seat_id) - 1 AS number FROM show_seats WHERE tenant_id = $1 AND show_id = $3) AS s
			ON n % 20 < 4 AND s.number = (n - n % 20) / 20 * 4 + n % 20`,
			[]any{string(inventorytest.Region), b.hall.Show.UUID, b.pit.ID.UUID, b.floor.ID.UUID, b.rooms.Hotel.Property.ID.UUID, b.rooms.ID.UUID, inventorytest.Nov(1), burstHolds},
		},
		{`UPDATE show_seats s SET state = 'HELD', hold_id = l.hold_id, claimable_at = $2::timestamptz FROM hold_lines l
			WHERE s.tenant_id = $1 AND l.tenant_id = $1 AND l.kind = 'SEAT' AND l.show_id = s.show_id AND l.seat_id = s.seat_id`, []any{due}},
		{`UPDATE pool_counters c SET held = l.held FROM (SELECT pool_id, shard, count(*) AS held FROM hold_lines WHERE tenant_id = $1 AND kind = 'POOL' GROUP BY pool_id, shard) AS l
			WHERE c.tenant_id = $1 AND l.pool_id = c.pool_id AND l.shard = c.shard`, nil},
		{`UPDATE night_counters c SET held = l.held FROM (SELECT room_type_id, night, count(*) AS held FROM hold_lines WHERE tenant_id = $1 AND kind = 'NIGHT' GROUP BY room_type_id, night) AS l
			WHERE c.tenant_id = $1 AND l.room_type_id = c.room_type_id AND l.night = c.night`, nil},
		{`UPDATE house_counters c SET held = l.held FROM (SELECT property_id, night, count(*) AS held FROM hold_lines WHERE tenant_id = $1 AND kind = 'NIGHT' GROUP BY property_id, night) AS l
			WHERE c.tenant_id = $1 AND l.property_id = c.property_id AND l.night = c.night`, nil},
	} {
		b.Exec(statement.sql, statement.args...)
	}
	// A database in use has its statistics; right after a bulk load there are none.
	if _, err := b.DB.Pool().Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	if got := b.pit.Count(); got.Held != burstPit || got.Limit != burstPit {
		t.Fatalf("the small pool is %+v", got)
	}
	if got := b.Rows("holds"); got != burstHolds {
		t.Fatalf("%d holds", got)
	}
	b.Audit()
}

// 20,000 holds are due in the same second, and are swept while buyers go for the same pools, seats
// and nights. Nobody is refused because of the sweep, also not what only it has freed; the small
// pool is sold to its last unit and not beyond; and every due hold ends exactly once.
func TestTwentyThousandHoldsAreDueAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: it sweeps 20,000 holds")
	}
	b := openBurst(t)
	b.place(t)

	var swept, floor, pit, seats, nights atomic.Int64
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		defer close(done)
		for {
			n, err := b.Inventory.ExpireDue(t.Context(), 2000)
			if err != nil {
				t.Errorf("the sweeper: %v", err)
			}
			if swept.Add(int64(n)); n == 0 {
				return
			}
		}
	})
	// Partners buy for many, and so have no limit on their holds. Two go for each kind of unit, and the
	// small pool can be had only for what due holds give back.
	var nextSeat atomic.Int64
	for i := range 8 {
		buyer := b.Partner(fmt.Sprintf("Agency %d", i))
		kind := i % 4
		work.Go(func() {
			for round := range burstRounds {
				select {
				case <-done:
					return
				default:
				}
				wish, count, units := b.floor.Units(2), &floor, int64(2)
				switch kind {
				case 1:
					wish, count, units = b.pit.Units(5), &pit, 5
				case 2:
					wish, count, units = b.hall.Seats(int(nextSeat.Add(1))), &seats, 1
				case 3:
					wish, count, units = b.rooms.Rooms(1, 1+round%20, 8+round%20), &nights, 7
				}
				switch _, err := buyer.Try(wish); {
				case err == nil:
					count.Add(units)
				case kind == 1 && pit.Load() >= burstPit-10 && b.Explain(err) == "SOLD_OUT Pit left 0 yours":
					return // the other has the last of it, or is about to
				default:
					t.Errorf("buyer %d, round %d: %s", i, round, b.Explain(err))
					return
				}
			}
		})
	}
	work.Wait()
	last := b.Partner("Walk-in")
	for {
		if _, err := last.Try(b.pit.Units(5)); err != nil {
			expect(t, "of the small pool", strings.TrimSuffix(b.Explain(err), " yours"), "SOLD_OUT Pit left 0")
			break
		}
		pit.Add(5)
	}
	t.Logf("swept %d, the rest by buyers; held meanwhile: %d of the large pool, %d of the small one, %d seats, %d nights",
		swept.Load(), floor.Load(), pit.Load(), seats.Load(), nights.Load())

	var ended int64
	if err := b.DB.Pool().QueryRow(t.Context(), `SELECT count(*) FROM holds
		WHERE tenant_id = $1 AND state = 'EXPIRED' AND version = 2 AND id::text LIKE '20000000-%'`, b.ID.UUID).Scan(&ended); err != nil {
		t.Fatal(err)
	}
	if ended != burstHolds {
		t.Errorf("%d holds have expired, once each; want %d", ended, burstHolds)
	}
	for what, c := range map[string]struct{ got, want int64 }{
		"the large pool": {b.floor.Count().Held, floor.Load()},
		"the small pool": {b.pit.Count().Held, pit.Load()},
		"its limit":      {pit.Load(), burstPit},
		"the seats":      {b.heldSeats(t), seats.Load()},
		"the nights":     {b.heldNights(), nights.Load()},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d held, want %d", what, c.got, c.want)
		}
	}
	b.Audit()
}

func (b burst) heldSeats(t *testing.T) int64 {
	t.Helper()
	var n int64
	if err := b.DB.Pool().QueryRow(t.Context(), "SELECT count(*) FROM show_seats WHERE tenant_id = $1 AND state = 'HELD'", b.ID.UUID).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (b burst) heldNights() (sum int64) {
	for day := 1; day <= 28; day++ {
		sum += b.rooms.Count(day).Held
	}
	return sum
}
