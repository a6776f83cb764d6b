package bookings_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

const hour = time.Hour

// hours is a step that ends so many hours before the start.
func hours(n int64, fee inventory.Fee) inventory.CancellationStep {
	return inventory.CancellationStep{MinutesBefore: inventorytest.Of(n * 60), Fee: fee}
}

func perBooking(minor int64, currency money.Currency) inventory.Fee {
	return inventory.Fee{Kind: inventory.FeeKindPerBooking, Minor: minor, Currency: currency}
}

func perUnit(minor int64, currency money.Currency) inventory.Fee {
	return inventory.Fee{Kind: inventory.FeeKindPerUnit, Minor: minor, Currency: currency}
}

func (b box) setPolicy(t *testing.T, scope inventory.ConditionsScope, final inventory.Fee, steps ...inventory.CancellationStep) {
	t.Helper()
	policy := inventory.CancellationPolicy{Name: "Test", CheckIn: inventory.DefaultCheckIn, Steps: steps, Final: final}
	if _, err := b.Inventory.SetCancellationPolicy(t.Context(), b.Owner, scope, policy); err != nil {
		t.Fatal(err)
	}
}

func (b box) setTax(t *testing.T, scope inventory.ConditionsScope, basisPoints int64) {
	t.Helper()
	if _, err := b.Inventory.SetTaxRate(t.Context(), b.Owner, scope, basisPoints); err != nil {
		t.Fatal(err)
	}
}

func ofProperty(id tenants.PropertyID) inventory.ConditionsScope {
	return inventory.ConditionsScope{Property: &id}
}

func ofVenue(id tenants.VenueID) inventory.ConditionsScope {
	return inventory.ConditionsScope{Venue: &id}
}

// figures are what a cancellation says, without what only a real one has.
func figures(c bookings.Cancellation) string {
	text := fmt.Sprintf("fee %d (%d) refund %d (%d) waived %d credited %d:", c.Fee.Minor, c.FeeTax.Minor, c.Refund.Minor, c.RefundTax.Minor, c.Waived.Minor, c.Credited.Minor)
	for _, l := range c.Lines {
		text += fmt.Sprintf(" %d=%d+%d/%d+%d", l.Ordinal, l.Fee.Minor, l.Refund.Minor, l.FeeTax.Minor, l.RefundTax.Minor)
	}
	return text
}

func (b box) cancel(t *testing.T, actor tenants.Actor, input bookings.Cancel) bookings.Cancellation {
	t.Helper()
	if input.RequestKey == "" {
		input.RequestKey = inventorytest.Key()
	}
	done, err := b.Sales.CancelBooking(t.Context(), actor, input)
	if err != nil {
		t.Fatalf("cancel: %s", b.Explain(err))
	}
	return done
}

// What a dry run says is what is done: at every step of the policy, with tax, by guest and admin.
func TestADryRunIsWhatIsDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before time.Duration
		fee    int64
		want   string
	}{
		"long before":    {200 * hour, 0, "fee 0 (0) refund 21100 (1919) waived 0 credited 0: 0=0+10500/0+955 1=0+10600/0+964"},
		"a fixed fee":    {100 * hour, 3000, "fee 3000 (273) refund 18100 (1646) waived 0 credited 0: 0=1492+9008/136+819 1=1508+9092/137+827"},
		"a part":         {30 * hour, 10550, "fee 10550 (960) refund 10550 (959) waived 0 credited 0: 0=5250+5250/478+477 1=5300+5300/482+482"},
		"after the last": {1 * hour, 21100, "fee 21100 (1919) refund 0 (0) waived 0 credited 0: 0=10500+0/955+0 1=10600+0/964+0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			scope := ofProperty(b.room.Hotel.Property.ID)
			b.setPolicy(t, scope, inventory.FeePercent(10_000), hours(168, inventory.FeePercent(0)), hours(72, perBooking(3000, "EUR")), hours(24, inventory.FeePercent(5000)))
			b.setTax(t, scope, 1000)
			guest := b.Guest()
			hold := guest.Hold(b.room.Stay(5, 7))
			b.Pay(guest, hold, sandbox.TokenApprove)
			id := b.BookingOf(hold).ID
			b.Until(id, c.before)
			wish := bookings.Cancel{Booking: id, DryRun: true}
			before := b.BookingOf(hold)
			dry := b.cancel(t, guest.Actor, wish)
			expect(t, "the dry run", figures(dry), c.want)
			if after := b.BookingOf(hold); !reflect.DeepEqual(before, after) || !dry.DryRun() {
				t.Errorf("the dry run changed the booking from %+v to %+v", before, after)
			}
			expect(t, "a dry run as the admin", figures(b.cancel(t, b.Owner, wish)), c.want)
			wish.DryRun, wish.ExpectedFee, wish.ExpectedRefund = false, &dry.Fee, &dry.Refund
			done := b.cancel(t, guest.Actor, wish)
			expect(t, "the cancellation", figures(done), c.want)
			refunds := 0
			for _, of := range b.Refunds(hold) {
				refunds += len(of)
			}
			if (refunds == 0) != (done.Refund.Minor == 0) {
				t.Errorf("%d refunds of %v", refunds, done.Refund)
			}
			b.Settle()
			if kept := b.Kept()["EUR"]; kept != c.fee {
				t.Errorf("the provider has %d, want %d", kept, c.fee)
			}
			b.Audit()
		})
	}
}

// A part of a policy's fee falls on each line, whichever goes first and at whatever time: the parts
// are the whole.
func TestPartsOfACancellationAreTheWhole(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int64{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			for _, currency := range []money.Currency{"JPY", "USD", "KWD"} {
				b := open(t)
				hotel := b.HotelIn("Asia/Tokyo", currency)
				room := hotel.Stocked("Double", 1, 1, 10)
				room.Set(1, 10, inventory.NightChange{RateMinor: inventorytest.Of[int64](3333)})
				b.setPolicy(t, ofProperty(hotel.Property.ID), perBooking(1000, currency))
				b.setTax(t, ofProperty(hotel.Property.ID), 2100)
				guest := b.Guest()
				hold := guest.Hold(room.Stay(1, 4))
				b.Pay(guest, hold, sandbox.TokenApprove)
				id := b.BookingOf(hold).ID
				whole := b.cancel(t, guest.Actor, bookings.Cancel{Booking: id, DryRun: true})
				if whole.Fee.Minor != 1000 || whole.Fee.Currency != currency || whole.FeeTax.Minor+whole.RefundTax.Minor != 3*578 {
					t.Errorf("the whole: %s", figures(whole))
				}
				var fee, refund, feeTax, refundTax int64
				for _, ordinal := range order {
					part := b.cancel(t, guest.Actor, bookings.Cancel{Booking: id, Ordinals: []int64{ordinal}})
					fee += part.Fee.Minor
					refund += part.Refund.Minor
					feeTax += part.FeeTax.Minor
					refundTax += part.RefundTax.Minor
					b.Settle()
					b.Audit()
				}
				if fee != whole.Fee.Minor || refund != whole.Refund.Minor || feeTax != whole.FeeTax.Minor || refundTax != whole.RefundTax.Minor {
					t.Errorf("%s: parts of %d (%d) + %d (%d), the whole: %s", currency, fee, feeTax, refund, refundTax, figures(whole))
				}
				if kept := b.Kept()[currency]; kept != 1000 {
					t.Errorf("the provider has %d %s, want 1000", kept, currency)
				}
			}
		})
	}
}

// R62: three units at 33.33 with 21 % included: net and tax are the price on each line and in all, and
// refunding one after the other ends at nothing.
func TestTaxIsWithinThePrice(t *testing.T) {
	t.Parallel()
	b := open(t)
	room := b.HotelIn("Europe/Vienna", "EUR").Stocked("Double", 1, 1, 10)
	room.Set(1, 10, inventory.NightChange{RateMinor: inventorytest.Of[int64](3333)})
	b.setTax(t, ofProperty(room.Hotel.Property.ID), 2100)
	guest := b.Guest()
	hold := guest.Hold(room.Stay(1, 4))
	b.Pay(guest, hold, sandbox.TokenApprove)
	// A later rate is of later sales.
	b.setTax(t, ofProperty(room.Hotel.Property.ID), 500)
	booking := b.BookingOf(hold)
	left, leftTax := booking.Total.Minor, booking.Tax().Minor
	if left != 9999 || leftTax != 3*578 {
		t.Errorf("the total is %d with %d tax", left, leftTax)
	}
	for _, line := range booking.Lines {
		if line.Tax.Minor != 578 || line.TaxBasisPoints != 2100 {
			t.Errorf("line %d has %d tax at %d", line.Ordinal, line.Tax.Minor, line.TaxBasisPoints)
		}
		done := b.cancel(t, guest.Actor, bookings.Cancel{Booking: booking.ID, Ordinals: []int64{line.Ordinal}})
		left -= done.Refund.Minor
		leftTax -= done.RefundTax.Minor
	}
	if left != 0 || leftTax != 0 {
		t.Errorf("%d and %d tax are left", left, leftTax)
	}
	b.Settle()
	b.Audit()
}

// R63: what was not paid costs no fee, and nothing is given back of it.
func TestAFeeIsNeverMoreThanWasPaid(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.setPolicy(t, ofVenue(b.hall.Venue), perUnit(99_999, "EUR"))
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, sandbox.TokenApprove)
	done := b.cancel(t, guest.Actor, bookings.Cancel{Booking: b.BookingOf(hold).ID})
	expect(t, "a fee above the price", figures(done), "fee 5000 (0) refund 0 (0) waived 0 credited 0: 0=5000+0/0+0")
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED CANCELLED")

	free := b.Hotel().Stocked("Gift", 1, 1, 10)
	free.Set(1, 10, inventory.NightChange{RateMinor: inventorytest.Of[int64](0)})
	b.setPolicy(t, ofProperty(free.Hotel.Property.ID), perBooking(1000, "EUR"))
	gift := guest.Hold(free.Stay(1, 3))
	expect(t, "a free stay", b.Pay(guest, gift, ""), "CONFIRMED BOOKED")
	done = b.cancel(t, guest.Actor, bookings.Cancel{Booking: b.BookingOf(gift).ID})
	expect(t, "a fee on nothing", figures(done), "fee 0 (0) refund 0 (0) waived 0 credited 0: 0=0+0/0+0 1=0+0/0+0")
	if n := len(b.Attempts(gift)); n != 0 {
		t.Errorf("%d money rows for a gift", n)
	}
	b.Settle()
	b.Audit()
}

// A booking keeps the policy of its sale, whatever becomes of the policy, the show and the clocks.
func TestWhatWasSoldStays(t *testing.T) {
	t.Parallel()
	b := open(t)
	// On 2027-03-14 New York's clocks skip from 02:00 to 03:00.
	hotel := b.HotelIn("America/New_York", "USD")
	room := hotel.Room("Double")
	arrival := inventorytest.Nov(0)
	arrival.Year, arrival.Month, arrival.Day = 2027, time.March, 14
	room.Stock(1, arrival.AddDays(-1), arrival.AddDays(3))
	local := inventory.TimeOfDay(2*60 + 30)
	b.setPolicy(t, ofProperty(hotel.Property.ID), inventory.FeePercent(10_000),
		inventory.CancellationStep{DaysBefore: inventorytest.Of[int64](1), Fee: inventory.FeePercent(0)},
		inventory.CancellationStep{DaysBefore: inventorytest.Of[int64](0), LocalTime: &local, Fee: inventory.FeePercent(5000)})
	guest := b.Guest()
	hold := guest.Hold(room.On(1, arrival, arrival.AddDays(2)))
	b.Pay(guest, hold, sandbox.TokenApprove)
	sold := b.BookingOf(hold)
	var instants []string
	for _, step := range sold.Cancellation[0].Steps {
		instants = append(instants, step.Until.Format(time.RFC3339))
	}
	if want := []string{"2027-03-13T20:00:00Z", "2027-03-14T07:30:00Z"}; !slices.Equal(instants, want) {
		t.Errorf("the steps end at %v, want %v", instants, want)
	}
	if got := sold.Cancellation[0].StartsAt.Format(time.RFC3339); got != "2027-03-14T19:00:00Z" {
		t.Errorf("the guests are due at %s", got)
	}
	b.setPolicy(t, ofProperty(hotel.Property.ID), inventory.FeePercent(10_000))
	b.Exec("UPDATE properties SET time_zone = 'Asia/Tokyo' WHERE tenant_id = $1 AND id = $2", hotel.Property.ID.UUID)
	if now := b.BookingOf(hold); !reflect.DeepEqual(now.Cancellation, sold.Cancellation) {
		t.Errorf("the booking's policy is now %+v, was %+v", now.Cancellation, sold.Cancellation)
	}
	if dry := b.cancel(t, guest.Actor, bookings.Cancel{Booking: sold.ID, DryRun: true}); dry.Fee.Minor != 0 {
		t.Errorf("it costs %v", dry.Fee)
	}
}

// Guests and partners cancel what is theirs, until the start; the seller at any time.
func TestWhoCancelsUntilWhen(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.setPolicy(t, inventory.ConditionsScope{}, inventory.FeePercent(10_000), hours(1, inventory.FeePercent(0)))
	guest, partner := b.Guest(), b.Partner("Agency")
	sold := func(buyer inventorytest.Buyer, wishes ...inventory.LineRequest) bookings.BookingID {
		t.Helper()
		hold := buyer.Hold(wishes...)
		b.Pay(buyer, hold, sandbox.TokenApprove)
		return b.BookingOf(hold).ID
	}
	try := func(actor tenants.Actor, id bookings.BookingID, ordinals ...int64) string {
		t.Helper()
		_, err := b.Sales.CancelBooking(t.Context(), actor, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: id, Ordinals: ordinals})
		var refusal *inventory.Refusal
		if err != nil && !errors.As(err, &refusal) {
			return fault.KindOf(err).String()
		}
		return b.Explain(err)
	}
	own := sold(guest, b.hall.Seats(1))
	expect(t, "the partner, a guest's", try(partner.Actor, own), "not_found")
	expect(t, "another guest", try(b.Guest().Actor, own), "not_found")
	theirs := sold(partner, b.hall.Seats(2))
	expect(t, "the guest, a partner's", try(guest.Actor, theirs), "not_found")
	expect(t, "the partner", try(partner.Actor, theirs), b.Explain(nil))

	b.Until(own, 0)
	expect(t, "after the show began", try(guest.Actor, own), "CANCELLATION_CLOSED")
	done := b.cancel(t, b.Owner, bookings.Cancel{Booking: own})
	expect(t, "the seller", figures(done), "fee 5000 (0) refund 0 (0) waived 0 credited 0: 0=5000+0/0+0")

	stay := sold(guest, b.room.Stay(5, 8))
	if _, err := b.Sales.MarkNoShow(t.Context(), b.Owner, bookings.NoShow{RequestKey: inventorytest.Key(), Booking: stay, Ordinals: []int64{0}, History: true}); err != nil {
		t.Fatal(err)
	}
	expect(t, "a no-show, by its guest", try(guest.Actor, stay, 0), "CANCELLATION_CLOSED")
	b.Until(stay, 0)
	expect(t, "the nights after arrival", try(guest.Actor, stay, 1, 2), "CANCELLATION_CLOSED")
	expect(t, "the nights after arrival, by the partner", try(partner.Actor, stay, 1), "not_found")
	b.cancel(t, b.Owner, bookings.Cancel{Booking: stay, Ordinals: []int64{0, 1}, WaiveFee: true, Reason: "a storm"})
	if count := b.room.Count(5); count.Booked != 0 {
		t.Errorf("the night of the no-show is still sold: %+v", count)
	}
	// A booking older than policies is the seller's to cancel, in full.
	old := sold(guest, b.hall.Seats(3))
	b.Exec("UPDATE bookings SET cancellation = NULL WHERE tenant_id = $1 AND id = $2", old.UUID)
	expect(t, "without a policy", try(guest.Actor, old), "CANCELLATION_CLOSED")
	expect(t, "without a policy, by the seller", figures(b.cancel(t, b.Owner, bookings.Cancel{Booking: old})), "fee 0 (0) refund 5000 (0) waived 0 credited 0: 0=0+5000/0+0")
	b.Settle()
	b.Audit()
}

// A waived fee is recorded with who, how much and why; a repetition is told the same.
func TestAWaivedFeeIsRecorded(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.setPolicy(t, inventory.ConditionsScope{}, inventory.FeePercent(10_000))
	hold, booking := b.sold(t)
	_, err := b.Sales.CancelBooking(t.Context(), b.Guest().Actor, bookings.Cancel{RequestKey: "1", Booking: booking.ID, WaiveFee: true, Reason: "please"})
	expectFault(t, "a guest waives", err, fault.KindDenied)
	wish := bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID, Ordinals: []int64{0, 2}, WaiveFee: true, Reason: "the heating failed"}
	done := b.cancel(t, b.Owner, wish)
	expect(t, "waived", figures(done), "fee 0 (0) refund 14000 (0) waived 14000 credited 0: 0=0+5000/0+0 2=0+9000/0+0")
	b.Later(booking.ID, 80*365*24*hour)
	again := b.cancel(t, b.Owner, wish)
	if again.ID != done.ID || figures(again) != figures(done) || !again.At.Equal(done.At) || again.Reason != done.Reason {
		t.Errorf("the repetition: %+v, was %+v", again, done)
	}
	listed, err := b.Sales.CancellationsOf(t.Context(), b.Owner, booking.ID)
	if err != nil || len(listed) != 1 || listed[0].ID != done.ID || figures(listed[0]) != figures(done) || listed[0].Reason != done.Reason {
		t.Errorf("listed: %+v, %v", listed, err)
	}
	_, err = b.Sales.CancellationsOf(t.Context(), b.Guest().Actor, booking.ID)
	expectFault(t, "another guest lists them", err, fault.KindNotFound)
	var key [16]byte
	var reason string
	var waived int64
	if err := b.DB.Pool().QueryRow(t.Context(), "SELECT key_id, reason, waived_minor FROM cancellations WHERE tenant_id = $1", b.ID.UUID).Scan(&key, &reason, &waived); err != nil {
		t.Fatal(err)
	}
	if key != b.Owner.Key.UUID || reason != "the heating failed" || waived != 14_000 {
		t.Errorf("recorded: %x %q %d", key, reason, waived)
	}
	b.Settle()
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 14000 SUCCEEDED BOOKED")
	b.Audit()
}

// What is not what was expected changes nothing, and is told with the new figures.
func TestAChangedFeeIsRefused(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.setPolicy(t, inventory.ConditionsScope{}, inventory.FeePercent(10_000), hours(24, inventory.FeePercent(0)))
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1, 2))
	b.Pay(guest, hold, sandbox.TokenApprove)
	id := b.BookingOf(hold).ID
	dry := b.cancel(t, guest.Actor, bookings.Cancel{Booking: id, DryRun: true})
	b.Until(id, 23*hour)
	for name, wish := range map[string]bookings.Cancel{
		"the fee":      {ExpectedFee: &dry.Fee},
		"the refund":   {ExpectedRefund: &dry.Refund},
		"the currency": {ExpectedFee: &money.Amount{Minor: 10_000, Currency: "USD"}},
	} {
		wish.Booking, wish.RequestKey = id, "the same key"
		_, err := b.Sales.CancelBooking(t.Context(), guest.Actor, wish)
		var changed *bookings.ChangedFee
		if !errors.As(err, &changed) || changed.Now.Fee.Minor != 10_000 || changed.Now.Refund.Minor != 0 || changed.Code != inventory.RefusalFeeChanged {
			t.Errorf("%s: got %v", name, err)
		}
	}
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	fee := money.Amount{Minor: 10_000, Currency: "EUR"}
	b.cancel(t, guest.Actor, bookings.Cancel{RequestKey: "the same key", Booking: id, ExpectedFee: &fee})
	b.Audit()
}

// A guest and the seller cancel, and the seller marks a no-show, all at once: each line goes one way
// once, and the money follows it.
func TestCancellationsRace(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.setPolicy(t, ofVenue(b.hall.Venue), inventory.FeePercent(10_000), hours(1, perBooking(1001, "EUR")))
	for round := range 5 {
		guest := b.Guest()
		hold := guest.Hold(b.hall.Seats(1, 2, 3))
		b.Pay(guest, hold, sandbox.TokenApprove)
		id := b.BookingOf(hold).ID
		results := inventorytest.Race(6, func(i int) error {
			switch i {
			case 0:
				_, err := b.Sales.MarkNoShow(t.Context(), b.Owner, bookings.NoShow{RequestKey: inventorytest.Key(), Booking: id, Ordinals: []int64{1}, History: true})
				return err
			case 1:
				_, err := b.Sales.RefundBooking(t.Context(), b.Owner, bookings.Refund{
					RequestKey: inventorytest.Key(), Booking: id, Amount: money.Amount{Minor: 4000, Currency: "EUR"}, Reason: "noise",
				})
				return err
			case 2, 3:
				_, err := b.Sales.CancelBooking(t.Context(), guest.Actor, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: id, Ordinals: []int64{int64(i - 1)}})
				return err
			}
			_, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: id, WaiveFee: i == 4, Reason: "race"})
			return err
		})
		for i, err := range results {
			var refusal *inventory.Refusal
			if err != nil && !errors.As(err, &refusal) {
				t.Errorf("round %d, caller %d: %v", round, i, err)
			}
		}
		b.Settle()
		b.Audit()
		b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: id, Ordinals: []int64{1}, WaiveFee: true, Reason: "cleared"}) //nolint:errcheck // it may be cancelled already
		b.Settle()
		b.Audit()
	}
}
