package bookings_test

import (
	"testing"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// R61, R62: a stay with taxes within and on top, in currencies of 0, 2 and 3 decimals, is given back line by
// line, and at the end exactly nothing is kept.
func TestAStayIsGivenBackLineByLine(t *testing.T) {
	t.Parallel()
	for currency, want := range map[money.Currency]struct{ total, tax int64 }{
		// Nights of 10100, 10200 and 10300 in minor units; 7 % within is 2001.87 together, 8.25 % on top 2524.5,
		// and 1 once.
		"JPY": {30600 + 2525 + 1, 2002},
		"EUR": {30600 + 2525 + 1, 2002},
		"KWD": {30600 + 2525 + 1, 2002},
	} {
		t.Run(string(currency), func(t *testing.T) {
			t.Parallel()
			shop := bookingstest.New(t)
			room := shop.HotelIn("Europe/Vienna", currency).Stocked("Double", 2, 1, 30)
			if _, err := shop.Inventory.SetTaxesAndFees(t.Context(), shop.Owner, room.Hotel.Property.ID, []inventory.Charge{
				{Name: "VAT", Kind: inventory.ChargeKindPercent, Included: true, BasisPoints: 700},
				{Name: "Sales tax", Kind: inventory.ChargeKindPercent, BasisPoints: 825},
				{Name: "Stamp", Kind: inventory.ChargeKindStay, Minor: 1},
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := shop.Inventory.SetRoundingRule(t.Context(), shop.Owner, inventory.RoundingRule{Level: inventory.RoundingLevelStay, Mode: money.HalfUp}); err != nil {
				t.Fatal(err)
			}
			guest := shop.Guest()
			hold := guest.Hold(room.Stay(1, 4))
			// The rate at the sale does not change what was held.
			if _, err := shop.Inventory.SetTaxRate(t.Context(), shop.Owner, inventory.ConditionsScope{Property: &room.Hotel.Property.ID}, 2000); err != nil {
				t.Fatal(err)
			}
			expect(t, "booked", shop.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
			booking := shop.BookingOf(hold)
			if booking.Total.Minor != want.total || booking.Tax().Minor != want.tax || booking.Lines[0].TaxBasisPoints != 700 {
				t.Errorf("sold for %s with a tax of %s", booking.Total, booking.Tax())
			}
			left, tax := booking.Total.Minor, booking.Tax().Minor
			for _, line := range booking.Lines {
				cancelled, err := shop.Sales.CancelBooking(t.Context(), shop.Owner, bookings.Cancel{
					RequestKey: inventorytest.Key(), Booking: booking.ID, Ordinals: []int64{line.Ordinal},
				})
				if err != nil {
					t.Fatal(err)
				}
				left -= cancelled.Refund.Minor
				tax -= cancelled.RefundTax.Minor
			}
			shop.Settle()
			if kept := shop.Kept()[currency]; left != 0 || tax != 0 || kept != 0 {
				t.Errorf("%d and a tax of %d are left, the provider has %d", left, tax, kept)
			}
			shop.Audit()
		})
	}
}
