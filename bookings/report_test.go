package bookings_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// onNight is what the lines of one night say.
type onNight struct{ held, booked, revenue, sold, cancelled, before, after, revenueBefore, revenueAfter int64 }

// linesByNight adds up the lines of a tenant themselves, one by one, as a clerk would.
func linesByNight(t *testing.T, b box, since, until time.Time) map[string]onNight {
	t.Helper()
	nights := map[string]onNight{}
	rows, err := b.DB.Pool().Query(t.Context(), `
SELECT l.room_type_id::text || ' ' || l.night::text, h.state, l.quantity, COALESCE(s.state, ''), COALESCE(s.amount_minor, 0),
    COALESCE(k.booked_at, 'epoch'::timestamptz), COALESCE(c.cancelled_at, 'epoch'::timestamptz)
FROM hold_lines l
JOIN holds h ON h.tenant_id = l.tenant_id AND h.region = l.region AND h.id = l.hold_id
LEFT JOIN bookings k ON k.tenant_id = l.tenant_id AND k.region = l.region AND k.hold_id = l.hold_id
LEFT JOIN booking_lines s ON s.tenant_id = l.tenant_id AND s.region = l.region AND s.booking_id = k.id AND s.ordinal = l.ordinal
LEFT JOIN cancelled_lines x ON x.tenant_id = l.tenant_id AND x.region = l.region AND x.booking_id = k.id AND x.ordinal = l.ordinal
LEFT JOIN cancellations c ON c.tenant_id = l.tenant_id AND c.region = l.region AND c.id = x.cancellation_id
WHERE l.tenant_id = $1 AND l.kind = 'NIGHT'`, b.ID.UUID)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var night, hold, line string
		var quantity, amount int64
		var bookedAt, cancelledAt time.Time
		if err := rows.Scan(&night, &hold, &quantity, &line, &amount, &bookedAt, &cancelledAt); err != nil {
			t.Fatal(err)
		}
		n := nights[night]
		within := func(at time.Time) bool { return !at.Before(since) && at.Before(until) }
		gone := func(by time.Time) bool { return line == "CANCELLED" && cancelledAt.Before(by) }
		if hold == "ACTIVE" || hold == "PROCESSING" {
			n.held += quantity
		}
		if line != "" {
			if line != "CANCELLED" {
				n.booked, n.revenue = n.booked+quantity, n.revenue+amount
			}
			if within(bookedAt) {
				n.sold += quantity
			}
			if line == "CANCELLED" && within(cancelledAt) {
				n.cancelled += quantity
			}
			if bookedAt.Before(since) && !gone(since) {
				n.before, n.revenueBefore = n.before+quantity, n.revenueBefore+amount
			}
			if bookedAt.Before(until) && !gone(until) {
				n.after, n.revenueAfter = n.after+quantity, n.revenueAfter+amount
			}
		}
		nights[night] = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return nights
}

// After any history of holds, sales, expiries, cancellations, no-shows, edits and rooms out of order, the reports equal the
// sum of the lines on every night, and the history of each night has each of its lines' steps.
func TestReportsEqualTheLines(t *testing.T) {
	t.Parallel()
	b := open(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test's history
	hotel := b.Hotel()
	rooms := []*inventorytest.Room{hotel.Stocked("Double", 8, 1, 8), hotel.Stocked("Suite", 5, 1, 8)}
	rooms[0].Set(2, 4, inventory.NightChange{OversellPercent: inventorytest.Of[int64](25), OutOfOrder: inventorytest.Of[int64](1)})
	hotel.SetHouseLimit(3, 5, inventorytest.Of[int64](9))
	doors, err := b.Inventory.CreateRooms(t.Context(), b.Owner, inventorytest.Key(), hotel.Property.ID,
		[]inventory.NewRoom{{RoomType: rooms[0].ID, Number: "101"}, {RoomType: rooms[1].ID, Number: "201"}})
	if err != nil {
		t.Fatal(err)
	}
	var since, until time.Time
	var sold []bookings.Booking
	for step := range 45 {
		switch step {
		case 15:
			since = b.Now()
		case 35:
			until = b.Now()
		}
		switch random.IntN(7) {
		case 0, 1, 2:
			guest := b.Guest()
			first := 1 + random.IntN(6)
			hold, err := guest.Try(rooms[random.IntN(2)].Rooms(1+random.Int64N(2), first, first+1+random.IntN(3)))
			if err != nil {
				continue // full
			}
			switch random.IntN(4) {
			case 0:
			case 1:
				guest.Release(hold)
			default:
				b.Pay(guest, hold, "tok_approve")
				if booking := b.BookingOf(hold); booking != nil {
					sold = append(sold, *booking)
				}
			}
		case 3:
			if len(sold) < 2 {
				continue // the first is the one whose guests may not come
			}
			last := len(sold) - 1
			if _, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: sold[last].ID, Reason: "a test"}); err != nil {
				t.Fatal(err)
			}
			sold = sold[:last]
		case 4:
			if len(sold) > 0 && random.IntN(2) == 0 {
				_, _ = b.Sales.MarkNoShow(t.Context(), b.Owner, bookings.NoShow{RequestKey: inventorytest.Key(), Booking: sold[0].ID, Ordinals: []int64{0}, History: true})
			}
		case 5:
			rooms[1].Set(2, 6, inventory.NightChange{OutOfOrder: inventorytest.Of(random.Int64N(5))})
		case 6:
			if len(sold) > 0 {
				// The front desk gives rooms, closes them, and ends what is marked; or is refused.
				_, _ = b.Sales.AssignRoom(t.Context(), b.Owner, bookings.AssignRoom{RequestKey: inventorytest.Key(), Booking: sold[0].ID, Number: 1, Room: &doors[random.IntN(2)].ID, Upgrade: true})
				_, _ = b.Sales.ReleaseNoShow(t.Context(), b.Owner, bookings.ReleaseNoShow{RequestKey: inventorytest.Key(), Booking: sold[0].ID})
			}
			first := inventorytest.Nov(1 + random.IntN(6))
			_, _ = b.Sales.PutOutOfOrder(t.Context(), b.Owner, bookings.NewOutOfOrder{
				RequestKey: inventorytest.Key(), Room: doors[random.IntN(2)].ID, First: first, Last: first.AddDays(random.IntN(2)), Reason: "Paint",
			})
		}
	}
	b.compareReports(t, rooms, since, until)
	b.Audit()
}

func (b box) compareReports(t *testing.T, rooms []*inventorytest.Room, since, until time.Time) {
	t.Helper()
	want := linesByNight(t, b, since, until)
	property := rooms[0].Hotel.Property
	occupancy, err := b.Sales.Occupancy(t.Context(), b.Owner, property, inventorytest.Nov(1), inventorytest.Nov(8))
	if err != nil || len(occupancy.Nights) != 16 {
		t.Fatalf("%d nights, %v", len(occupancy.Nights), err)
	}
	for _, n := range occupancy.Nights {
		lines := want[fmt.Sprintf("%s %s", n.RoomType.UUID, n.Night)]
		if n.Held != lines.held || n.Booked != lines.booked || n.Revenue.Minor != lines.revenue {
			t.Errorf("%s %s: the report has %+v, the lines %+v", n.Name, n.Night, n, lines)
		}
		b.compareHistory(t, n, lines)
	}
	pickUp, err := b.Sales.PickUp(t.Context(), b.Owner, property, inventorytest.Nov(1), inventorytest.Nov(8), since, until)
	if err != nil {
		t.Fatal(err)
	}
	reported := map[string]bookings.PickedUpNight{}
	for _, n := range pickUp.Nights {
		reported[fmt.Sprintf("%s %s", n.RoomType.UUID, n.Night)] = n
	}
	picked := 0
	for night, lines := range want {
		n := reported[night]
		if n.Sold != lines.sold || n.Cancelled != lines.cancelled || n.RoomsBefore != lines.before || n.RoomsAfter != lines.after || n.RoomsBefore+n.Sold-n.Cancelled != n.RoomsAfter ||
			n.RevenueBefore.Minor != lines.revenueBefore || n.RevenueAfter.Minor != lines.revenueAfter {
			t.Errorf("%s: the pick-up is %+v, the lines say %+v", night, n, lines)
		}
		if lines.sold+lines.before > 0 {
			picked++
		}
	}
	if picked == 0 {
		t.Error("nothing was sold")
	}
}

// compareHistory adds up the steps of a night, read in short pages: they lead to what is held and sold.
func (b box) compareHistory(t *testing.T, n bookings.OccupiedNight, lines onNight) {
	t.Helper()
	var held, booked int64
	var after *bookings.HistoryCursor
	for {
		steps, more, err := b.Sales.NightHistory(t.Context(), b.Owner, n.RoomType, n.Night, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			switch step.Change {
			case bookings.UnitHeld:
				held += step.Quantity
			case bookings.UnitReleased, bookings.UnitExpired:
				held -= step.Quantity
			case bookings.UnitSold:
				held, booked = held-step.Quantity, booked+step.Quantity
			case bookings.UnitMovedIn:
				booked += step.Quantity
			case bookings.UnitCancelled, bookings.UnitMovedOut, bookings.UnitWalked:
				booked -= step.Quantity
			case bookings.UnitExtended, bookings.UnitBlocked, bookings.UnitUnblocked, bookings.UnitAllotted, bookings.UnitUnallotted:
			}
			cursor := step.Cursor()
			after = &cursor
		}
		if !more {
			break
		}
	}
	if held != lines.held || booked != lines.booked {
		t.Errorf("the steps of %s %s lead to %d held and %d sold, the lines have %+v", n.Name, n.Night, held, booked, lines)
	}
}

// Ranges that end before they begin or are too long, and moments in the wrong order, are refused by name.
func TestMalformedReports(t *testing.T) {
	t.Parallel()
	b := open(t)
	property, first := b.Hotel().Property, inventorytest.Nov(1)
	for _, c := range []struct {
		from, to     civil.Date
		since, until time.Time
		field        string
	}{
		{from: first, to: first.AddDays(-1), field: "to"},
		{from: first, to: first.AddDays(366), field: "to"},
		{to: first, field: "from"},
		{from: first, to: first, since: time.Unix(2, 0), until: time.Unix(1, 0), field: "until"},
	} {
		_, err := b.Sales.PickUp(t.Context(), b.Owner, property, c.from, c.to, c.since, c.until)
		if fault.KindOf(err) != fault.KindInvalid || err.Error()[:len(c.field)] != c.field {
			t.Errorf("%+v is answered with %v", c, err)
		}
	}
}
