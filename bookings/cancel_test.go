package bookings_test

import (
	"strings"
	"testing"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

// sold is a paid booking of two seats, three units of the pool and two nights: seven lines.
func (b box) sold(t *testing.T) (inventory.Hold, bookings.Booking) {
	t.Helper()
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1, 2), b.floor().Units(3), b.room.Stay(5, 7))
	expect(t, "booked", b.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	return hold, *b.BookingOf(hold)
}

func states(booking bookings.Booking) string {
	parts := []string{string(booking.State)}
	for _, line := range booking.Lines {
		parts = append(parts, string(line.State))
	}
	return strings.Join(parts, " ")
}

func TestLinesAreCancelledOneAfterTheOther(t *testing.T) {
	t.Parallel()
	b := open(t)
	free := b.counts()
	hold, booking := b.sold(t)
	cancel := func(ordinals ...int64) bookings.Booking {
		t.Helper()
		changed, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID, Ordinals: ordinals})
		if err != nil {
			t.Fatal(err)
		}
		return changed.Booking
	}
	changed := cancel(0, 3)
	expect(t, "a seat and a night", states(changed), "BOOKED CANCELLED BOOKED BOOKED CANCELLED BOOKED")
	if changed.Version != 2 {
		t.Errorf("the answer has version %d, want 2", changed.Version)
	}
	if got := b.counts(); got[0].Booked != 3 || got[1].Booked != 0 || b.room.Count(6).Booked != 1 {
		t.Errorf("counters %+v", got)
	}
	b.Guest().Hold(b.hall.Seats(1))
	b.Settle()
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 15500 SUCCEEDED BOOKED")
	b.Audit()

	changed = cancel()
	expect(t, "the rest", states(changed), "CANCELLED CANCELLED CANCELLED CANCELLED CANCELLED CANCELLED")
	b.Settle()
	if got := b.counts(); got != free {
		t.Errorf("counters %+v, were %+v", got, free)
	}
	if kept := b.Kept()["EUR"]; kept != 0 {
		t.Errorf("the provider still has %d", kept)
	}
	expect(t, "events", strings.Join(b.Events(booking.ID.UUID), ", "), "1 booking.confirmed, 2 booking.cancelled, 3 booking.cancelled")
	b.Guest().Hold(b.hall.Seats(2), b.room.Rooms(2, 5, 7))
	b.Audit()
}

func TestACancellationHappensOnce(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, booking := b.sold(t)
	for _, err := range inventorytest.Race(4, func(int) error {
		changed, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: "the same key", Booking: booking.ID, Ordinals: []int64{2}})
		if err == nil && (changed.Booking.Version != 2 || changed.Booking.Lines[2].State != bookings.LineStateCancelled || changed.Refund.Minor != 9000) {
			t.Errorf("told of version %d, %s, %v refunded", changed.Booking.Version, states(changed.Booking), changed.Refund)
		}
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	_, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: "the same key", Booking: booking.ID, Ordinals: []int64{1}})
	expect(t, "the key for other lines", b.Explain(err), "REQUEST_KEY_REUSED")
	_, err = b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID, Ordinals: []int64{2}})
	expect(t, "cancelled again", b.Explain(err), "NOT_BOOKED")
	won := 0
	for _, err := range inventorytest.Race(4, func(int) error {
		_, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID})
		return err
	}) {
		if err == nil {
			won++
		} else {
			expect(t, "the rest, cancelled again", b.Explain(err), "NOT_BOOKED")
		}
	}
	if won != 1 {
		t.Errorf("the rest was cancelled %d times", won)
	}
	b.Settle()
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 9000 SUCCEEDED refund 31100 SUCCEEDED CANCELLED")
	b.Audit()
}

func TestANoShowKeepsItsUnitsSold(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, booking := b.sold(t)
	booked := b.counts()
	changed, err := b.Sales.MarkNoShow(t.Context(), b.Owner, bookings.NoShow{RequestKey: inventorytest.Key(), Booking: booking.ID, Ordinals: []int64{3, 4}, History: true})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "no show", states(changed), "BOOKED BOOKED BOOKED BOOKED NO_SHOW NO_SHOW")
	if got := b.counts(); got != booked {
		t.Errorf("counters %+v, were %+v", got, booked)
	}
	_, err = b.Sales.MarkNoShow(t.Context(), b.Owner, bookings.NoShow{RequestKey: inventorytest.Key(), Booking: booking.ID, Ordinals: []int64{3}, History: true})
	expect(t, "a no-show twice", b.Explain(err), "NOT_BOOKED")
	cancelled, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "the rest is cancelled", states(cancelled.Booking), "BOOKED CANCELLED CANCELLED CANCELLED NO_SHOW NO_SHOW")
	b.Settle()
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 19000 SUCCEEDED BOOKED")
	expect(t, "events", strings.Join(b.Events(booking.ID.UUID), ", "), "1 booking.confirmed, 2 booking.no_show, 3 booking.cancelled")
	b.Audit()
}

func TestWhatCannotBeCancelled(t *testing.T) {
	t.Parallel()
	b, elsewhere := open(t), open(t)
	hold, booking := b.sold(t)
	partner := b.Partner("Agency")
	for _, c := range []struct {
		name     string
		actor    tenants.Actor
		id       bookings.BookingID
		key      string
		ordinals []int64
		want     fault.Kind
	}{
		{"no such line", b.Owner, booking.ID, "1", []int64{0, 7}, fault.KindInvalid},
		{"a negative line", b.Owner, booking.ID, "2", []int64{-1}, fault.KindInvalid},
		{"no key", b.Owner, booking.ID, "", nil, fault.KindInvalid},
		{"no such booking", b.Owner, ids.New[bookings.BookingKind](inventorytest.Region), "3", nil, fault.KindNotFound},
		{"another tenant's", elsewhere.Owner, booking.ID, "4", nil, fault.KindNotFound},
		{"by another guest", b.Guest().Actor, booking.ID, "5", nil, fault.KindNotFound},
		{"by a partner who did not sell it", partner.Actor, booking.ID, "6", nil, fault.KindNotFound},
		{"by a page without a guest", b.Widget, booking.ID, "7", nil, fault.KindDenied},
	} {
		_, err := b.Sales.CancelBooking(t.Context(), c.actor, bookings.Cancel{RequestKey: c.key, Booking: c.id, Ordinals: c.ordinals})
		expectFault(t, "cancel: "+c.name, err, c.want)
		_, err = b.Sales.MarkNoShow(t.Context(), c.actor, bookings.NoShow{RequestKey: c.key, Booking: c.id, Ordinals: c.ordinals, History: true})
		if c.actor.KeyType != tenants.KeyTypeAdmin {
			c.want = fault.KindDenied
		}
		expectFault(t, "no show: "+c.name, err, c.want)
	}
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

// R61: amounts are whole minor units in every currency, charged, refunded and reported.
func TestMinorUnitsAreExactInEveryCurrency(t *testing.T) {
	t.Parallel()
	for _, currency := range []string{"JPY", "EUR", "KWD"} {
		t.Run(currency, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			guest := b.Guest()
			code := money.Currency(currency)
			hotel := b.HotelIn("Asia/Tokyo", code).Stocked("Double", 1, 1, 10)
			hotel.Set(1, 10, inventory.NightChange{RateMinor: inventorytest.Of[int64](5801)})
			hold := guest.Hold(hotel.Stay(1, 4))
			if hold.Total.Minor != 3*5801 || hold.Total.Currency != code {
				t.Fatalf("the total is %v", hold.Total)
			}
			expect(t, "booked", b.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
			for ordinal := range int64(3) {
				if kept, want := b.Kept()[code], hold.Total.Minor-ordinal*5801; kept != want {
					t.Errorf("the provider has %d, want %d", kept, want)
				}
				b.cancelLines(t, hold, ordinal)
				b.Settle()
				b.Audit()
			}
			if kept := b.Kept()[code]; kept != 0 {
				t.Errorf("the provider still has %d", kept)
			}
		})
	}
}
