package bookings_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

// stays is a paid booking of one stay.
func (b box) stays(t *testing.T, stay inventory.LineRequest) (inventorytest.Buyer, bookings.Booking) {
	t.Helper()
	guest := b.Guest()
	hold := guest.Hold(stay)
	expect(t, "booked", b.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	return guest, *b.BookingOf(hold)
}

func (b box) change(actor tenants.Actor, booking bookings.Booking, checkIn, checkOut int, more ...func(*bookings.ChangeStay)) (bookings.StayChange, error) {
	in, out := inventorytest.Nov(checkIn), inventorytest.Nov(checkOut)
	input := bookings.ChangeStay{RequestKey: inventorytest.Key(), Booking: booking.ID, CheckIn: &in, CheckOut: &out}
	for _, change := range more {
		change(&input)
	}
	return b.Sales.ChangeStay(b.Context(), actor, input)
}

// nightsOf are the days of November and the states of a booking's lines.
func nightsOf(booking bookings.Booking) string {
	parts := make([]string, len(booking.Lines))
	for i, line := range booking.Lines {
		parts[i] = fmt.Sprintf("%d:%d:%s", line.Night.Day, line.Quantity, line.State)
	}
	return strings.Join(parts, " ")
}

func eur(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: "EUR"} }

// price of the nights of November from a day up to another.
func price(from, to int) int64 {
	sum := int64(0)
	for day := from; day < to; day++ {
		sum += inventorytest.NightPrice(inventorytest.Nov(day))
	}
	return sum
}

// halfUntilTheDay keeps half of the price until the guests are due.
func halfUntilTheDay() inventory.CancellationStep {
	return inventory.CancellationStep{MinutesBefore: inventorytest.Of(int64(0)), Fee: inventory.FeePercent(5_000)}
}

func TestAStayIsMovedAsAWhole(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest, booking := b.stays(t, b.room.Stay(5, 7))
	told, err := b.change(guest.Actor, booking, 6, 9, func(c *bookings.ChangeStay) { c.DryRun = true })
	if err != nil {
		t.Fatal(err)
	}
	due := price(6, 9) - price(5, 7)
	if !told.DryRun() || told.Due != eur(due) || told.Booking.Total != eur(price(6, 9)) || told.Refund.Minor != 0 {
		t.Errorf("the dry run: due %s, total %s, refund %s", told.Due, told.Booking.Total, told.Refund)
	}
	if got := *b.BookingOf(inventory.Hold{ID: booking.Hold}); got.Version != 1 || b.room.Count(5).Booked != 1 || b.room.Count(7).Booked != 0 {
		t.Errorf("the dry run changed something: version %d", got.Version)
	}
	wrong := eur(price(6, 9) - 1)
	var changed *bookings.ChangedPrice
	if _, err := b.change(guest.Actor, booking, 6, 9, func(c *bookings.ChangeStay) { c.ExpectedTotal = &wrong }); !errors.As(err, &changed) || changed.Now.Booking.Total != told.Booking.Total {
		t.Errorf("another price is refused: %v", err)
	}
	done, err := b.change(guest.Actor, booking, 6, 9, func(c *bookings.ChangeStay) { c.ExpectedTotal = &told.Booking.Total })
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "lines", nightsOf(done.Booking), "5:1:CHANGED 6:1:BOOKED 7:1:BOOKED 8:1:BOOKED")
	for day, want := range map[int]int64{5: 0, 6: 1, 7: 1, 8: 1} {
		if got := b.room.Count(day).Booked; got != want {
			t.Errorf("night %d has %d booked, want %d", day, got, want)
		}
	}
	expect(t, "events", strings.Join(b.Events(booking.ID.UUID), ", "), "1 booking.confirmed, 2 booking.changed")
	b.Settle()
	b.Audit()

	settle := bookings.Settle{RequestKey: inventorytest.Key(), Change: done.ID, Method: bookings.SettleMethodCash, Note: "receipt 17"}
	for range 2 {
		paid, err := b.Sales.SettleAmountDue(t.Context(), b.Owner, settle)
		if err != nil || paid.DueState != bookings.DueStateSettled || paid.Settled != eur(due) {
			t.Fatalf("settled: %s %s, %v", paid.DueState, paid.Settled, err)
		}
	}
	settle.RequestKey = inventorytest.Key()
	_, err = b.Sales.SettleAmountDue(t.Context(), b.Owner, settle)
	expect(t, "settled twice", b.Explain(err), "AMOUNT_NOT_DUE")
	b.Audit()
}

// R7: a stay that cannot be moved keeps its nights.
func TestAFullNightLeavesTheStayAsItWas(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest, booking := b.stays(t, b.room.Stay(5, 7))
	b.stays(t, b.room.Rooms(2, 8, 9))
	before := nightsOf(booking)
	_, err := b.change(guest.Actor, booking, 7, 9)
	var refusal *inventory.Refusal
	if !errors.As(err, &refusal) || refusal.Code != inventory.RefusalSoldOut || len(refusal.Lines) != 1 || *refusal.Lines[0].Night != inventorytest.Nov(8) || *refusal.Lines[0].Available != 0 {
		t.Fatalf("got %v", err)
	}
	b.room.Set(9, 9, inventory.NightChange{ClosedToArrival: inventorytest.Of(true)})
	_, err = b.change(guest.Actor, booking, 9, 11)
	if !errors.As(err, &refusal) || refusal.Code != inventory.RefusalClosedToArrival {
		t.Errorf("closed to arrival: %v", err)
	}
	if now := *b.BookingOf(inventory.Hold{ID: booking.Hold}); nightsOf(now) != before || now.Version != 1 || now.Total != booking.Total {
		t.Errorf("the booking is %s, version %d", nightsOf(now), now.Version)
	}
	if b.room.Count(5).Booked != 1 || b.room.Count(6).Booked != 1 || b.room.Count(7).Booked != 0 {
		t.Error("the nights were touched")
	}
	b.Audit()
}

func TestAShorterStayGivesTheDifferenceBackLessItsFee(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.setPolicy(t, ofProperty(b.room.Hotel.Property.ID), inventory.FeePercent(10_000), halfUntilTheDay())
	_, booking := b.stays(t, b.room.Rooms(2, 5, 8))
	b.Until(booking.ID, time.Minute)
	now := *b.BookingOf(inventory.Hold{ID: booking.Hold})
	quote, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: "dry", Booking: booking.ID, Ordinals: []int64{2}, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	done, err := b.change(b.Owner, now, 5, 7)
	if err != nil {
		t.Fatal(err)
	}
	if done.Fee.Minor == 0 || done.Fee != quote.Fee || done.Refund != quote.Refund || done.Booking.Total != eur(2*price(5, 7)) {
		t.Errorf("fee %s, refund %s, total %s; a cancellation of the night %s, %s", done.Fee, done.Refund, done.Booking.Total, quote.Fee, quote.Refund)
	}
	// One of the two rooms, and the other goes on at its price.
	one := int64(1)
	done, err = b.change(b.Owner, done.Booking, 5, 7, func(c *bookings.ChangeStay) { c.Rooms, c.WaiveFee, c.Reason = &one, true, "a friend is ill" })
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "lines", nightsOf(done.Booking), "5:2:CHANGED 6:2:CHANGED 7:2:CHANGED 5:1:BOOKED 6:1:BOOKED")
	if done.Refund != eur(price(5, 7)) || b.room.Count(5).Booked != 1 {
		t.Errorf("refund %s, booked %d", done.Refund, b.room.Count(5).Booked)
	}
	b.Settle()
	b.Audit()
	if _, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID, WaiveFee: true, Reason: "all are ill"}); err != nil {
		t.Fatal(err)
	}
	b.Settle()
	b.Audit()
	if got := *b.BookingOf(inventory.Hold{ID: booking.Hold}); got.State != bookings.StateCancelled {
		t.Errorf("the booking is %s", got.State)
	}
}

// What is still owed is not given back, and is owed no more when its nights are cancelled.
func TestWhatIsOwedIsSetOffWhenTheNightsGo(t *testing.T) {
	t.Parallel()
	b := open(t)
	_, booking := b.stays(t, b.room.Stay(5, 7))
	done, err := b.change(b.Owner, booking, 5, 9)
	if err != nil {
		t.Fatal(err)
	}
	due := done.Due
	b.Audit()
	cancelled, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID})
	if err != nil {
		t.Fatal(err)
	}
	if cancelled.Refund != booking.Total || cancelled.Credited != due {
		t.Errorf("refund %s, credited %s", cancelled.Refund, cancelled.Credited)
	}
	changes, err := b.Sales.StayChangesOf(t.Context(), b.Owner, booking.ID)
	if err != nil || len(changes) != 1 || changes[0].DueState != bookings.DueStateWaived || changes[0].Open().Minor != 0 {
		t.Errorf("the due is %+v, %v", changes, err)
	}
	b.Settle()
	b.Audit()
}

func TestWhoMayMoveAStay(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.setPolicy(t, ofProperty(b.room.Hotel.Property.ID), inventory.FeePercent(10_000), halfUntilTheDay())
	guest, booking := b.stays(t, b.room.Stay(5, 7))
	_, err := b.change(b.Guest().Actor, booking, 6, 8)
	expectFault(t, "somebody else", err, fault.KindNotFound)
	b.Until(booking.ID, time.Minute)
	_, err = b.change(guest.Actor, booking, 6, 8)
	expect(t, "a night that is not free to cancel", b.Explain(err), "CHANGE_CLOSED")
	if _, err := b.change(guest.Actor, booking, 5, 8); err != nil {
		t.Errorf("one night more: %v", err)
	}
	b.Audit()
}

// C: two changes want the last room of a night, one of them beside a hold and a cancellation.
func TestChangesRaceForTheLastRoom(t *testing.T) {
	t.Parallel()
	b := open(t)
	for round := range 6 {
		day := 5 + 3*round
		_, first := b.stays(t, b.room.Stay(day, day+1))
		_, second := b.stays(t, b.room.Stay(day, day+1))
		b.stays(t, b.room.Stay(day+1, day+2))
		holder := b.Guest()
		errs := inventorytest.Race(4, func(i int) error {
			switch i {
			case 0, 1:
				booking := []bookings.Booking{first, second}[i]
				_, err := b.change(b.Owner, booking, day+1, day+2)
				return err
			case 2:
				_, err := holder.Try(b.room.Stay(day+1, day+2))
				return err
			}
			_, err := b.Sales.CancelBooking(b.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: first.ID})
			return err
		})
		for i, err := range errs {
			if err != nil && !refused(err) {
				t.Errorf("round %d, %d: %v", round, i, err)
			}
		}
		if got := b.room.Count(day + 1); got.Held+got.Booked > 2 {
			t.Errorf("round %d: %+v", round, got)
		}
	}
	b.Settle()
	b.Audit()
}

// Two stays that want each other's nights: the house is full, so neither can go first, and none waits for ever.
func TestTwoStaysWantEachOthersNights(t *testing.T) {
	t.Parallel()
	b := open(t)
	one := b.room.Hotel.Stocked("Single", 1, 1, 30)
	for round := range 5 {
		day := 1 + 5*round
		_, a := b.stays(t, one.Stay(day, day+1))
		_, c := b.stays(t, one.Stay(day+2, day+3))
		errs := inventorytest.Race(2, func(i int) error {
			if i == 0 {
				_, err := b.change(b.Owner, a, day+2, day+3)
				return err
			}
			_, err := b.change(b.Owner, c, day, day+1)
			return err
		})
		for _, err := range errs {
			if !refused(err) {
				t.Errorf("both nights are taken: %v", err)
			}
		}
		if one.Count(day).Booked != 1 || one.Count(day+2).Booked != 1 {
			t.Error("a night was lost")
		}
	}
	b.Audit()
}

// A full house is no reason to refuse another room of it, and due holds give way.
func TestAnotherRoomOfAFullHouse(t *testing.T) {
	t.Parallel()
	b := open(t)
	suite := b.room.Hotel.Stocked("Suite", 1, 1, 30)
	b.room.Hotel.SetHouseLimit(5, 6, inventorytest.Of(int64(1)))
	_, booking := b.stays(t, b.room.Stay(5, 7))
	to := func(c *bookings.ChangeStay) { c.RoomType = &suite.ID }
	done, err := b.change(b.Owner, booking, 5, 7, to)
	if err != nil {
		t.Fatal(err)
	}
	if suite.Count(5).Booked != 1 || b.room.Count(5).Booked != 0 || b.room.Hotel.HouseCount(5).Booked != 1 || done.Due.Minor != 0 {
		t.Errorf("suite %+v, double %+v, due %s", suite.Count(5), b.room.Count(5), done.Due)
	}
	held := b.Guest().Hold(suite.Stay(8, 9))
	_, err = b.change(b.Owner, done.Booking, 8, 9)
	expect(t, "a held night", b.Explain(err), "SOLD_OUT 8 Nov left 0")
	b.Lapse(held)
	if _, err := b.change(b.Owner, done.Booking, 8, 9); err != nil {
		t.Errorf("a night whose hold is over: %v", err)
	}
	b.Settle()
	b.Audit()
}

func TestMovesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	b := open(t)
	_, booking := b.stays(t, b.room.Stay(5, 7))
	for what, change := range map[string]func(*bookings.ChangeStay){
		"nothing":        func(*bookings.ChangeStay) {},
		"no night":       func(c *bookings.ChangeStay) { c.CheckOut = c.CheckIn },
		"the past":       func(c *bookings.ChangeStay) { c.CheckIn = &civil.Date{Year: 2001, Month: 1, Day: 1} },
		"no such stay":   func(c *bookings.ChangeStay) { c.Item = 7 },
		"no room":        func(c *bookings.ChangeStay) { c.Rooms = inventorytest.Of(int64(0)) },
		"fee, no reason": func(c *bookings.ChangeStay) { c.WaiveFee = true },
		"no such date":   func(c *bookings.ChangeStay) { c.CheckIn = &civil.Date{Year: 2027, Month: 13, Day: 1} },
	} {
		_, err := b.change(b.Owner, booking, 5, 7, change)
		expectFault(t, what, err, fault.KindInvalid)
	}
	unknown := inventorytest.Random[inventory.RoomTypeKind]()
	_, err := b.change(b.Owner, booking, 5, 7, func(c *bookings.ChangeStay) { c.RoomType = &unknown })
	expectFault(t, "a room type of nobody", err, fault.KindNotFound)
	elsewhere := b.Hotel().Stocked("Double", 2, 1, 30)
	_, err = b.change(b.Owner, booking, 5, 7, func(c *bookings.ChangeStay) { c.RoomType = &elsewhere.ID })
	expectFault(t, "another hotel", err, fault.KindNotFound)
}
