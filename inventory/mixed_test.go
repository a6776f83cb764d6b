package inventory_test

import (
	"testing"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// evening is a hall and a hotel of one tenant.
type evening struct {
	tenant *inventorytest.Tenant
	hall   *inventorytest.Hall
	floor  inventorytest.Pool
	hotel  *inventorytest.Hotel
	room   *inventorytest.Room
}

func newEvening(t *testing.T) evening {
	t.Helper()
	tenant := inventorytest.New(t)
	e := evening{tenant: tenant, hall: tenant.Hall(10, inventorytest.PoolOf("Floor", 4, 2)), hotel: tenant.Hotel()}
	e.floor, e.room = e.hall.Pools[0], e.hotel.Stocked("Double", 2, 1, 10)
	e.hotel.SetHouseLimit(1, 10, inventorytest.Of[int64](2))
	return e
}

// Seats, a pool and nights in one hold: all of them, or none.
func TestAMixedHoldIsAllOrNothing(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	a, b := e.tenant.Guest(), e.tenant.Guest()
	hold := a.Hold(e.hall.Seats(1, 2), e.floor.Units(3), e.room.Stay(5, 7))
	want := 2*inventorytest.SeatPrice + 3*inventorytest.PoolPrice +
		inventorytest.NightPrice(inventorytest.Nov(5)) + inventorytest.NightPrice(inventorytest.Nov(6))
	if hold.Total.Minor != want {
		t.Errorf("the hold costs %s, want %d", hold.Total, want)
	}
	e.room.Set(8, 8, inventory.NightChange{StopSell: inventorytest.Of(true)})
	for _, refused := range []struct {
		want   string
		wishes []inventory.LineRequest
	}{
		{"HELD_BY_OTHER seat 2", []inventory.LineRequest{e.hall.Seats(2, 3), e.floor.Units(1), e.room.Stay(5, 7)}},
		{"1: SOLD_OUT Floor left 1", []inventory.LineRequest{e.hall.Seats(3), e.floor.Units(2), e.room.Stay(5, 7)}},
		{"2: NO_SUCH_NIGHT 11 Nov", []inventory.LineRequest{e.hall.Seats(3), e.floor.Units(1), e.room.Stay(9, 12)}},
		{"2: STOP_SELL 8 Nov", []inventory.LineRequest{e.hall.Seats(3), e.floor.Units(1), e.room.Stay(7, 9)}},
		{"1: SOLD_OUT 6 Nov left 1, 1: HOUSE_FULL 6 Nov left 1", []inventory.LineRequest{e.hall.Seats(3), e.room.Rooms(2, 6, 8)}},
		{"1: NO_SUCH_SEAT seat ?", []inventory.LineRequest{e.floor.Units(1), stranger(e.hall)}},
		{"1: LIMIT_PER_HOLD limit 10, 1: SOLD_OUT Floor left 1", []inventory.LineRequest{e.hall.Seats(3), e.floor.Units(11)}},
	} {
		b.Refused(refused.want, refused.wishes...)
	}
	if got := b.SeatStatus(e.hall, 3); got != inventory.SeatStatusAvailable {
		t.Errorf("seat 3 is %s after refusals", got)
	}
	expectCount(t, "the pool", e.floor.Count(), 4, 3, 0)
	expectCount(t, "the night", e.room.Count(6), 2, 1, 0)
	expectCount(t, "the house", e.hotel.HouseCount(7), 2, 0, 0)
	if rows := e.tenant.Rows("holds"); rows != 1 {
		t.Errorf("%d holds are stored", rows)
	}
	e.tenant.Audit()
}

// A refusal names every unit that was lost, whatever its kind and in the order of the wishes, so
// that the buyer need not find out one at a time.
func TestARefusalNamesEverythingAtOnce(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	a, b := e.tenant.Guest(), e.tenant.Guest()
	a.Hold(e.hall.Seats(1, 2), e.floor.Units(4), e.room.Rooms(2, 5, 7))
	b.Refused("0: SOLD_OUT 6 Nov left 0, 0: HOUSE_FULL 6 Nov left 0, 1: HELD_BY_OTHER seat 2, 2: SOLD_OUT Floor left 0",
		e.room.Stay(6, 8), e.hall.Seats(2, 3), e.floor.Units(1))
	b.Refused("0: HELD_BY_OTHER seat 1, 1: SOLD_OUT Floor left 0", e.hall.Seats(1), e.floor.Units(1))

	// A rule that speaks against a line does not hide what is lost of the others.
	e.room.Set(8, 8, inventory.NightChange{StopSell: inventorytest.Of(true)})
	b.Refused("0: HELD_BY_OTHER seat 1, 1: SOLD_OUT Floor left 0, 2: STOP_SELL 8 Nov, 2: SOLD_OUT 6 Nov left 0, 2: HOUSE_FULL 6 Nov left 0",
		e.hall.Seats(1), e.floor.Units(1), e.room.Stay(6, 9))
	b.Refused("NO_SUCH_NIGHT 11 Nov", e.room.Stay(10, 12))
	b.Refused("0: HELD_BY_OTHER seat 1, 1: NO_SUCH_NIGHT 11 Nov", e.hall.Seats(1), e.room.Stay(10, 12))
	e.tenant.Audit()
}

// R31: somebody who is in their own way is told so, with the hold that they may pay or release.
func TestYourOwnHoldIsRecognised(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	a, b := e.tenant.Guest(), e.tenant.Guest()
	hold := a.Hold(e.hall.Seats(1), e.floor.Units(4), e.room.Rooms(2, 5, 7))
	wishes := []inventory.LineRequest{e.hall.Seats(1), e.floor.Units(1), e.room.Stay(6, 8)}
	a.Refused("0: HELD_BY_YOU seat 1 yours, 1: SOLD_OUT Floor left 0 yours, 2: SOLD_OUT 6 Nov left 0 yours, 2: HOUSE_FULL 6 Nov left 0", wishes...)
	_, err := a.Try(wishes...)
	for _, line := range refusalIn(t, err).Lines {
		if line.HeldByYou != nil && *line.HeldByYou != hold.ID {
			t.Errorf("line %d names the hold %s", line.Line, line.HeldByYou)
		}
	}
	b.Refused("0: HELD_BY_OTHER seat 1, 1: SOLD_OUT Floor left 0, 2: SOLD_OUT 6 Nov left 0, 2: HOUSE_FULL 6 Nov left 0", wishes...)

	// Another night of the same room type is not in the way.
	e.tenant.Guest().Hold(e.room.Rooms(2, 8, 9))
	a.Refused("SOLD_OUT 8 Nov left 0, HOUSE_FULL 8 Nov left 0", e.room.Stay(8, 9))
	// Nor is a hold that has ended.
	a.Release(hold)
	b.Hold(wishes...)
	a.Refused("HELD_BY_OTHER seat 1", e.hall.Seats(1))
}

// stranger is the wish for a seat that the show does not have.
func stranger(hall *inventorytest.Hall) inventory.LineRequest {
	return inventory.LineRequest{Seats: &inventory.SeatsRequest{
		Show: hall.Show, Seats: []inventory.SeatID{inventorytest.Random[inventory.SeatKind]()},
	}}
}
