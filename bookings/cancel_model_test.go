package bookings_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

// till is what a clerk with a pencil would keep of one booking's money.
type till struct {
	box
	guest    inventorytest.Buyer
	hold     inventory.Hold
	booking  bookings.Booking
	currency money.Currency
	// past says that the guest can cancel no more.
	past bool
	// standing are the lines that were not cancelled.
	standing []int64
	// fees, refunds, credited and given are the sums of what the shop said.
	fees, refunds, credited, given int64
	// tax is what is not accounted for yet.
	tax int64
	// done are requests that succeeded, with their answers.
	done []answered
}

type answered struct {
	actor tenants.Actor
	wish  bookings.Cancel
	said  string
}

// Whatever is sold under whatever policy, in whichever order, parts and repetitions it is cancelled and
// refunded: what was paid is what stands, plus fees, plus what went back, to the minor unit, with the
// tax in it; and the audit agrees.
func TestNoOrderOfCancellationsLosesMoney(t *testing.T) {
	t.Parallel()
	shop := bookingstest.New(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := sell(rt, shop)
		rt.Repeat(map[string]func(*rapid.T){
			"cancel": m.cancelSome, "cancel more": m.cancelSome, "again": m.again, "refund": m.refundSome, "later": m.later, "": m.check,
		})
		m.finish(rt)
	})
}

// drawFee is any fee.
func drawFee(rt *rapid.T, currency money.Currency) inventory.Fee {
	switch rapid.IntRange(0, 2).Draw(rt, "kind") {
	case 0:
		return inventory.FeePercent(rapid.Int64Range(0, 10_000).Draw(rt, "basis points"))
	case 1:
		return perUnit(rapid.Int64Range(0, 3000).Draw(rt, "per unit"), currency)
	}
	return perBooking(rapid.Int64Range(0, 9000).Draw(rt, "per booking"), currency)
}

// sell makes a booking of a stay, and in half of all of seats and places beside it, each with a policy
// and a tax of its own.
func sell(rt *rapid.T, shop *bookingstest.Shop) *till {
	m := &till{currency: rapid.SampledFrom([]money.Currency{"JPY", "EUR", "KWD"}).Draw(rt, "currency")}
	m.box = box{Shop: shop, hall: shop.HallIn(m.currency, 3, inventorytest.PoolOf("Floor", 6, 2)), room: shop.HotelIn("Europe/Vienna", m.currency).Stocked("Double", 2, 1, 4)}
	m.room.Set(1, 4, inventory.NightChange{RateMinor: inventorytest.Of(rapid.Int64Range(0, 7000).Draw(rt, "rate"))})
	for _, scope := range []inventory.ConditionsScope{ofVenue(m.hall.Venue), ofProperty(m.room.Hotel.Property.ID)} {
		policy := inventory.CancellationPolicy{Name: "Drawn", CheckIn: inventory.DefaultCheckIn, Final: drawFee(rt, m.currency)}
		for before := int64(72); before > 0; before -= 24 {
			policy.Steps = append(policy.Steps, hours(before, drawFee(rt, m.currency)))
		}
		if _, err := m.Inventory.SetCancellationPolicy(rt.Context(), m.Owner, scope, policy); err != nil {
			rt.Fatal(err)
		}
		if _, err := m.Inventory.SetTaxRate(rt.Context(), m.Owner, scope, rapid.Int64Range(0, 3000).Draw(rt, "tax")); err != nil {
			rt.Fatal(err)
		}
	}
	wishes := []inventory.LineRequest{m.room.Rooms(rapid.Int64Range(1, 2).Draw(rt, "rooms"), 1, rapid.IntRange(2, 4).Draw(rt, "check-out"))}
	if rapid.Bool().Draw(rt, "show, too") {
		wishes = append(wishes, m.hall.Seats(1, 2, 3), m.floor().Units(rapid.Int64Range(1, 3).Draw(rt, "places")))
	}
	m.guest = m.Guest()
	m.hold = m.guest.Hold(wishes...)
	if _, err := m.TryPay(m.guest, m.hold, sandbox.TokenApprove); err != nil {
		rt.Fatal(err)
	}
	m.booking = *m.BookingOf(m.hold)
	m.Until(m.booking.ID, 80*hour)
	for _, line := range m.booking.Lines {
		m.standing = append(m.standing, line.Ordinal)
	}
	m.tax = m.booking.Tax().Minor
	return m
}

func (m *till) cancelSome(rt *rapid.T) {
	wish := bookings.Cancel{RequestKey: inventorytest.Key(), Booking: m.booking.ID}
	actor := m.Owner
	if rapid.Bool().Draw(rt, "guest") {
		actor = m.guest.Actor
	} else if rapid.IntRange(0, 4).Draw(rt, "waive") == 0 {
		wish.WaiveFee, wish.Reason = true, "drawn"
	}
	all := int64(len(m.booking.Lines) - 1)
	if rapid.IntRange(0, 5).Draw(rt, "all") > 0 {
		wish.Ordinals = rapid.SliceOfNDistinct(rapid.Int64Range(0, all), 1, 3, rapid.ID[int64]).Draw(rt, "lines")
	}
	dry := wish
	dry.DryRun = true
	foreseen, dryErr := m.Sales.CancelBooking(rt.Context(), actor, dry)
	if dryErr == nil {
		wish.ExpectedFee, wish.ExpectedRefund = &foreseen.Fee, &foreseen.Refund
	}
	done, err := m.Sales.CancelBooking(rt.Context(), actor, wish)
	gone := slices.ContainsFunc(wish.Ordinals, func(o int64) bool { return !slices.Contains(m.standing, o) }) || len(m.standing) == 0
	switch {
	case err != nil || dryErr != nil:
		if m.Explain(err) != m.Explain(dryErr) || !refused(err) {
			rt.Fatalf("a dry run says %v, the cancellation %v", dryErr, err)
		}
		if !gone && (actor == m.Owner || !m.past) {
			rt.Fatalf("refused: %s", m.Explain(err))
		}
		return
	case gone:
		rt.Fatalf("cancelled %v, of which %v stand", wish.Ordinals, m.standing)
	case figures(done) != figures(foreseen):
		rt.Fatalf("foreseen: %s, done: %s", figures(foreseen), figures(done))
	}
	var price int64
	for _, line := range done.Lines {
		price += line.Price.Minor
		if line.Fee.Minor < 0 || line.Refund.Minor < 0 || line.FeeTax.Minor < 0 || line.RefundTax.Minor < 0 ||
			line.Fee.Minor+line.Refund.Minor != line.Price.Minor || line.FeeTax.Minor+line.RefundTax.Minor != line.Tax.Minor {
			rt.Fatalf("a line does not add up: %+v", line)
		}
		m.standing = slices.DeleteFunc(m.standing, func(o int64) bool { return o == line.Ordinal })
	}
	if done.Fee.Minor+done.Refund.Minor+done.Credited.Minor != price {
		rt.Fatalf("%s is not %d", figures(done), price)
	}
	m.fees += done.Fee.Minor
	m.refunds += done.Refund.Minor
	m.credited += done.Credited.Minor
	m.tax -= done.FeeTax.Minor + done.RefundTax.Minor
	m.done = append(m.done, answered{actor, wish, figures(done)})
}

// again repeats a request: it is told the same, and changes nothing.
func (m *till) again(rt *rapid.T) {
	if len(m.done) == 0 {
		return
	}
	earlier := rapid.SampledFrom(m.done).Draw(rt, "earlier")
	done, err := m.Sales.CancelBooking(rt.Context(), earlier.actor, earlier.wish)
	if err != nil || figures(done) != earlier.said {
		rt.Fatalf("told %s, %v, was %s", figures(done), err, earlier.said)
	}
}

func (m *till) refundSome(rt *rapid.T) {
	rest := m.booking.Total.Minor - m.refunds - m.given
	amount := rapid.Int64Range(1, 4000).Draw(rt, "amount")
	_, err := m.Sales.RefundBooking(rt.Context(), m.Owner, bookings.Refund{
		RequestKey: inventorytest.Key(), Booking: m.booking.ID, Amount: money.Amount{Minor: amount, Currency: m.currency}, Reason: "drawn",
	})
	var tooHigh *bookings.TooHighRefund
	switch {
	case amount > rest:
		if !errors.As(err, &tooHigh) || tooHigh.Rest.Minor != rest {
			rt.Fatalf("%d of %d: %v", amount, rest, err)
		}
	case err != nil:
		rt.Fatal(err)
	default:
		m.given += amount
	}
}

// later lets a day pass for the booking.
func (m *till) later(rt *rapid.T) {
	m.Later(m.booking.ID, 24*hour)
	now, err := m.Sales.Booking(rt.Context(), m.guest.Actor, m.booking.ID)
	if err != nil {
		rt.Fatal(err)
	}
	m.past = !m.Now().Before(now.Cancellation[0].ClosesAt())
}

func (m *till) check(rt *rapid.T) {
	now, err := m.Sales.Booking(rt.Context(), m.guest.Actor, m.booking.ID)
	if err != nil {
		rt.Fatal(err)
	}
	refunded, err := m.Sales.RefundedOfHolds(rt.Context(), m.guest.Actor, []inventory.HoldID{m.hold.ID})
	if err != nil {
		rt.Fatal(err)
	}
	if now.FeesKept().Minor != m.fees || refunded[m.hold.ID].Minor != m.refunds+m.given || (now.State == bookings.StateCancelled) != (len(m.standing) == 0) {
		rt.Fatalf("the booking is %s, kept %v and gave %v back; want %d kept, %d + %d back, %v standing",
			now.State, now.FeesKept(), refunded[m.hold.ID], m.fees, m.refunds, m.given, m.standing)
	}
	kept := m.booking.Total.Minor - m.refunds - m.given
	due := m.fees + m.credited - m.given
	for _, line := range now.Lines {
		if line.State != bookings.LineStateCancelled {
			due += line.Amount.Minor
		}
	}
	if kept != due || kept < 0 {
		rt.Fatalf("%d is kept, %d is due", kept, due)
	}
}

// finish cancels what still stands and counts everything.
func (m *till) finish(rt *rapid.T) {
	if len(m.standing) > 0 {
		done, err := m.Sales.CancelBooking(rt.Context(), m.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: m.booking.ID})
		if err != nil {
			rt.Fatal(err)
		}
		m.fees += done.Fee.Minor
		m.refunds += done.Refund.Minor
		m.credited += done.Credited.Minor
		m.tax -= done.FeeTax.Minor + done.RefundTax.Minor
		m.standing = nil
	}
	m.Settle()
	m.check(rt)
	if m.tax != 0 {
		rt.Fatalf("%d of the tax is not accounted for", m.tax)
	}
	report, err := m.Sales.Audit(rt.Context(), &m.ID)
	if err != nil || !report.OK {
		rt.Fatalf("audit: %+v, %v", report, err)
	}
	if kept, sold := m.Kept()[m.currency], m.Sold()[m.currency]; kept != sold {
		rt.Fatalf("the provider has %d, the tenant is due %d", kept, sold)
	}
}
