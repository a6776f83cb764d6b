package bookings_test

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// archive runs the archiver for shows that are yet to come, so that they can be sold and archived at
// once.
func (b box) archive(t *testing.T, afterStep func(step string)) inventory.Archived {
	t.Helper()
	done, err := b.Inventory.ArchiveDue(t.Context(), inventory.Archiving{
		CompletedBefore: time.Date(inventorytest.Year+1, 1, 1, 0, 0, 0, 0, time.UTC), MaxRows: 1_000_000, AfterStep: afterStep,
	})
	if err != nil {
		t.Error(err)
	}
	return done
}

// sales are everything that is told of the tenant's bookings and of the holds behind them.
type sales struct {
	bookings []bookings.Booking
	holds    []inventory.Hold
	seats    []inventory.SeatState
	left     int64
}

func (b box) sales(t *testing.T) sales {
	t.Helper()
	var s sales
	var err error
	if s.bookings, _, err = b.Sales.Bookings(t.Context(), b.Owner, inventorytest.Region, nil, 100); err != nil {
		t.Fatal(err)
	}
	for _, booking := range s.bookings {
		hold, err := b.Inventory.Hold(t.Context(), b.Owner, booking.Hold)
		if err != nil {
			t.Fatal(err)
		}
		s.holds = append(s.holds, hold)
	}
	seats, err := b.Inventory.SeatMap(t.Context(), b.Owner, b.hall.Show)
	if err != nil {
		t.Fatal(err)
	}
	s.seats, s.left = seats.Seats, b.Guest().Available(b.hall)
	return s
}

// Bookings of a past show are what they were; cancelled or marked, before, amid and after its moving.
func TestBookingsOutliveTheArchivingOfTheirShow(t *testing.T) {
	t.Parallel()
	for _, kill := range []string{"complete", "seats", "counters", "archive", "not at all"} {
		t.Run(kill, func(t *testing.T) {
			t.Parallel()
			b := open(t, ownDatabase(t))
			hold, booking := b.sold(t)
			other := b.soldTo(t, b.hall.Seats(5), b.floor().Units(1))
			before := b.sales(t)
			bookingstest.Survive(func() {
				b.archive(t, func(step string) {
					if step == kill {
						runtime.Goexit()
					}
				})
			})
			if got := b.sales(t); !reflect.DeepEqual(got, before) {
				t.Errorf("told of\n%+v\nbefore\n%+v", got, before)
			}
			b.Audit()

			// A seat, the units of the pool and a night go back; the other booking's guest did not come.
			cancelled, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID, Ordinals: []int64{0, 2, 3}})
			if err != nil {
				t.Fatal(err)
			}
			changed := cancelled.Booking
			expect(t, "cancelled", states(changed), "BOOKED CANCELLED BOOKED CANCELLED CANCELLED BOOKED")
			if changed, err = b.Sales.MarkNoShow(t.Context(), b.Owner, bookings.NoShow{RequestKey: inventorytest.Key(), Booking: other.ID, History: true}); err != nil {
				t.Fatal(err)
			}
			expect(t, "marked", states(changed), "BOOKED NO_SHOW NO_SHOW")
			b.Audit()
			after := b.sales(t)
			if got := booked(after); got != 2 || after.left != 9 {
				t.Errorf("%d seats are booked and %d units left, want 2 and 9", got, after.left)
			}
			b.archive(t, nil)
			if got := b.sales(t); !reflect.DeepEqual(got, after) {
				t.Errorf("in the end told of\n%+v\nbefore\n%+v", got, after)
			}
			if n := b.Rows("show_seats") + b.Rows("pool_counters"); n != 0 {
				t.Errorf("%d rows are left", n)
			}
			_, err = b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID, Ordinals: []int64{0}})
			expect(t, "cancelled again", b.Explain(err), "NOT_BOOKED")
			b.Settle()
			expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 24500 SUCCEEDED BOOKED")
			b.Audit()
		})
	}
}

func (b box) soldTo(t *testing.T, wishes ...inventory.LineRequest) bookings.Booking {
	t.Helper()
	guest := b.Guest()
	hold := guest.Hold(wishes...)
	expect(t, "booked", b.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	return *b.BookingOf(hold)
}

func booked(s sales) int {
	n := 0
	for _, seat := range s.seats {
		if seat.Status == inventory.SeatStatusBooked {
			n++
		}
	}
	return n
}

// Buyers pay, guests cancel and the archiver moves, all at once, and the audit looks on.
func TestArchivingRacesWithSales(t *testing.T) {
	t.Parallel()
	b := open(t, ownDatabase(t))
	b.archive(t, nil)
	ends := map[string]int{}
	for round := range 8 {
		b.hall = b.hall.Another(inventorytest.PoolOf("Floor", 10, 2))
		paying := b.Guests(3)
		carts := make([]inventory.Hold, len(paying))
		sold := make([]bookings.Booking, 3)
		for i := range sold {
			sold[i] = b.soldTo(t, b.hall.Seats(i+1), b.floor().Units(1))
		}
		for i, guest := range paying {
			if round%2 == 0 {
				carts[i] = guest.Hold(b.hall.Seats(i+5), b.floor().Units(1))
			}
		}
		for i, err := range inventorytest.Race(9, func(i int) error {
			switch {
			case i < 3 && round%2 == 0:
				_, err := b.TryPay(paying[i], carts[i], fmt.Sprintf("%s:r%d-%d", sandbox.TokenApprove, round, i))
				return err
			case i < 3:
				_, err := paying[i].Try(b.hall.Seats(i+5), b.floor().Units(1))
				if refused(err) && b.Explain(err) == "0: SALE_CLOSED, 1: SALE_CLOSED Floor" {
					return nil // the archiver was first
				}
				return err
			case i < 6:
				_, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: sold[i-3].ID, Ordinals: []int64{int64(i % 2)}})
				return err
			case i < 8:
				b.archive(t, nil)
			default:
				b.Audit()
			}
			return nil
		}) {
			if err != nil {
				t.Errorf("round %d, racer %d: %s", round, i, b.Explain(err))
			}
		}
		b.Audit()
		b.Tick(time.Hour)
		if _, err := b.Inventory.ExpireDue(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		ends[fmt.Sprintf("%d shows in the end", b.archive(t, nil).Shows)]++
		if n := b.Rows("show_seats"); n != 0 {
			t.Errorf("round %d left %d seats", round, n)
		}
		b.Settle()
		b.Audit()
	}
	t.Logf("%v", ends)
}

// Should a live hold ever meet a completed show, neither an extension nor a checkout goes on with it.
func TestACompletedShowTakesNoPayment(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Exec("UPDATE shows SET completed_at = now() WHERE tenant_id = $1 AND id = $2", b.hall.Show.UUID)
	_, err := guest.TryExtend(hold)
	expect(t, "extended", b.Explain(err), "SALE_CLOSED")
	_, err = b.TryPay(guest, hold, sandbox.TokenApprove)
	expect(t, "checked out", b.Explain(err), "SALE_CLOSED")
	expect(t, "the sale", b.Sale(hold), "ACTIVE")
	guest.Release(hold)
	b.Audit()
}

// What breaks the past tables is found like what breaks the others.
func TestTheAuditFindsDamageInPastShows(t *testing.T) {
	t.Parallel()
	b := open(t, ownDatabase(t))
	_, booking := b.sold(t)
	b.archive(t, nil)
	b.hall.Another(inventorytest.PoolOf("Floor", 10, 1))
	seat := func(number int) any { return b.hall.Seats(number).Seats.Seats[0].UUID }
	pool := b.floor().ID.UUID
	for name, c := range map[string]struct {
		check          string
		damage, repair string
		args           []any
		names          string
	}{
		"a booked seat that was freed": {
			"every booking owns all its seats",
			"UPDATE past_show_seats SET state = 'AVAILABLE', hold_id = NULL WHERE tenant_id = $1 AND seat_id = $2",
			"UPDATE past_show_seats SET state = 'BOOKED', hold_id = (SELECT hold_id FROM bookings WHERE tenant_id = $1) WHERE tenant_id = $1 AND seat_id = $2",
			[]any{seat(1)},
			booking.ID.UUID.String(),
		},
		"a seat that is booked for nobody": {
			"every taken seat has a live line",
			"UPDATE past_show_seats SET state = 'BOOKED', hold_id = $2 WHERE tenant_id = $1 AND seat_id = $2",
			"UPDATE past_show_seats SET state = 'AVAILABLE', hold_id = NULL WHERE tenant_id = $1 AND seat_id = $2",
			[]any{seat(9)},
			fmt.Sprint(seat(9)),
		},
		"a pool that lost a unit": {
			"pool counters equal their live lines",
			"UPDATE past_pool_counters SET booked = booked - 1 WHERE tenant_id = $1 AND pool_id = $2",
			"UPDATE past_pool_counters SET booked = booked + 1 WHERE tenant_id = $1 AND pool_id = $2",
			[]any{pool},
			pool.String(),
		},
		"a ceiling that lets more in": {
			"no counter above its ceiling",
			"UPDATE past_pool_counters SET ceiling = ceiling + 1 WHERE tenant_id = $1 AND pool_id = $2",
			"UPDATE past_pool_counters SET ceiling = ceiling - 1 WHERE tenant_id = $1 AND pool_id = $2",
			[]any{pool},
			pool.String(),
		},
		"a counter that is gone": {
			"no line without its counter",
			"UPDATE past_pool_counters SET shard = shard + 7 WHERE tenant_id = $1 AND pool_id = $2",
			"UPDATE past_pool_counters SET shard = shard - 7 WHERE tenant_id = $1 AND pool_id = $2",
			[]any{pool},
			booking.ID.UUID.String(),
		},
		"a seat in both tables": {
			"stock stands in one place",
			"INSERT INTO show_seats (tenant_id, region, show_id, seat_id, price_level_id) SELECT tenant_id, region, show_id, seat_id, price_level_id FROM past_show_seats WHERE tenant_id = $1 AND seat_id = $2",
			"DELETE FROM show_seats WHERE tenant_id = $1 AND seat_id = $2 AND show_id = (SELECT show_id FROM past_show_seats WHERE tenant_id = $1 AND seat_id = $2)",
			[]any{seat(9)},
			fmt.Sprint(seat(9)),
		},
		"a counter in both tables": {
			"stock stands in one place",
			"INSERT INTO pool_counters (tenant_id, region, pool_id, bucket, shard, sell_limit, booked, ceiling) SELECT tenant_id, region, pool_id, bucket, shard, sell_limit, booked, ceiling FROM past_pool_counters WHERE tenant_id = $1 AND pool_id = $2",
			"DELETE FROM pool_counters WHERE tenant_id = $1 AND pool_id = $2",
			[]any{pool},
			pool.String(),
		},
		"past stock of a show that goes on": {
			"stock stands in one place",
			"UPDATE shows SET completed_at = NULL, archived_at = NULL WHERE tenant_id = $1 AND id = $2",
			"UPDATE shows SET completed_at = now(), archived_at = now() WHERE tenant_id = $1 AND id = $2",
			[]any{b.hall.Show.UUID},
			b.hall.Show.UUID.String(),
		},
		"stock of an archived show that stayed behind": {
			"stock stands in one place",
			"UPDATE shows SET completed_at = now(), archived_at = now() WHERE tenant_id = $1 AND id <> $2",
			"UPDATE shows SET completed_at = NULL, archived_at = NULL WHERE tenant_id = $1 AND id <> $2",
			[]any{b.hall.Show.UUID},
			"show ",
		},
	} {
		b.Exec(c.damage, c.args...)
		report, err := b.Sales.Audit(t.Context(), &b.ID)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(report.Checks, func(check bookings.AuditCheck) bool { return check.Name == c.check })
		if i < 0 || report.Checks[i].OK || !strings.Contains(strings.Join(report.Checks[i].Examples, "\n"), c.names) {
			t.Errorf("%s: %+v, want %s named by %q", name, report.Checks, c.names, c.check)
		}
		b.Exec(c.repair, c.args...)
		b.Audit()
	}
}
