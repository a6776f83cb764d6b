package bookings_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

func TestSeatsPoolAndNightsBecomeOneBooking(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1, 2), b.floor().Units(3), b.room.Stay(5, 8))
	const total = 2*inventorytest.SeatPrice + 3*inventorytest.PoolPrice + 10_500 + 10_600 + 10_700
	outcome, err := b.TryPay(guest, hold, sandbox.TokenApprove)
	if err != nil {
		t.Fatal(b.Explain(err))
	}
	expect(t, "the sale", bookingstest.Standing(outcome), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	booking := *outcome.Booking
	if booking.Total != (money.Amount{Minor: total, Currency: "EUR"}) || outcome.Attempt.Captured != booking.Total {
		t.Errorf("total %v, captured %v, want %d EUR", booking.Total, outcome.Attempt.Captured, total)
	}
	var kinds []string
	var sum int64
	for i, line := range booking.Lines {
		kinds = append(kinds, string(line.Kind))
		sum += line.Amount.Minor
		if line.State != bookings.LineStateBooked || line.HoldLine != hold.Lines[i] {
			t.Errorf("line %d is %+v, the hold's was %+v", i, line, hold.Lines[i])
		}
	}
	expect(t, "the lines", strings.Join(kinds, " "), "SEAT SEAT POOL NIGHT NIGHT NIGHT")
	if sum != total {
		t.Errorf("the lines cost %d, want %d", sum, total)
	}
	if booking.Contact != (bookings.Contact{Name: "Ada Guest", Email: "ada@example.com"}) || booking.PartnerReference != "PR-7" {
		t.Errorf("the buyer's words are %+v and %q", booking.Contact, booking.PartnerReference)
	}
	if len(booking.Reference) != 12 || booking.Reference != strings.ToUpper(booking.Reference) || booking.Version != 1 {
		t.Errorf("reference %q, version %d", booking.Reference, booking.Version)
	}
	expect(t, "events", strings.Join(b.Events(booking.ID.UUID), ", "), "1 booking.confirmed")
	if got := b.counts(); got[0].Booked != 3 || got[0].Held != 0 || got[1].Booked != 1 || got[1].Held != 0 {
		t.Errorf("counters %+v", got)
	}
	b.Guest().Refused("HELD_BY_OTHER seat 2", b.hall.Seats(2))
	if n := b.ChargesOf(outcome.Attempt.ID); n != 1 {
		t.Errorf("%d charges", n)
	}
	b.Audit()
}

func TestABookingIsSeenByItsOwnPeopleOnly(t *testing.T) {
	t.Parallel()
	b, elsewhere := open(t), open(t)
	guest, other, partner, rival := b.Guest(), b.Guest(), b.Partner("Agency"), b.Partner("Rival")
	guestHold, partnerHold := guest.Hold(b.hall.Seats(1)), partner.Hold(b.hall.Seats(2))
	b.Pay(guest, guestHold, sandbox.TokenApprove)
	b.Pay(partner, partnerHold, sandbox.TokenApprove)
	byGuest, byPartner := b.BookingOf(guestHold), b.BookingOf(partnerHold)

	for _, c := range []struct {
		who   string
		actor tenants.Actor
		sees  []bookings.BookingID
	}{
		{"the guest", guest.Actor, []bookings.BookingID{byGuest.ID}},
		{"the partner", partner.Actor, []bookings.BookingID{byPartner.ID}},
		{"the admin", b.Owner, []bookings.BookingID{byPartner.ID, byGuest.ID}},
		{"another guest", other.Actor, nil},
		{"another partner", rival.Actor, nil},
		{"another tenant's admin", elsewhere.Owner, nil},
		{"another tenant's guest", elsewhere.Guest().Actor, nil},
	} {
		for _, sale := range []struct {
			hold    inventory.Hold
			booking bookings.BookingID
		}{{guestHold, byGuest.ID}, {partnerHold, byPartner.ID}} {
			_, err := b.Sales.Booking(t.Context(), c.actor, sale.booking)
			_, holdErr := b.Sales.AttemptsOfHold(t.Context(), c.actor, sale.hold.ID)
			if slices.Contains(c.sees, sale.booking) {
				if err != nil || holdErr != nil {
					t.Errorf("%s: %v, %v", c.who, err, holdErr)
				}
				continue
			}
			expectFault(t, c.who+" reads the booking", err, fault.KindNotFound)
			expectFault(t, c.who+" reads the payments", holdErr, fault.KindNotFound)
			if booking, err := b.Sales.BookingOfHold(t.Context(), c.actor, sale.hold.ID); booking != nil {
				t.Errorf("%s is told of the booking by its hold (%v)", c.who, err)
			}
			_, err = b.Sales.Checkout(t.Context(), c.actor, bookingstest.CheckoutOf(sale.hold, sandbox.TokenApprove))
			if kind := fault.KindOf(err); kind != fault.KindNotFound {
				t.Errorf("%s pays: %v", c.who, err)
			}
		}
		listed, more, err := b.Sales.Bookings(t.Context(), c.actor, inventorytest.Region, nil, 10)
		if err != nil || more || len(listed) != len(c.sees) {
			t.Errorf("%s lists %d bookings, %v, %v; want %d", c.who, len(listed), more, err, len(c.sees))
		}
		for i := range min(len(listed), len(c.sees)) {
			if listed[i].ID != c.sees[i] || len(listed[i].Lines) != 1 {
				t.Errorf("%s lists %+v", c.who, listed[i])
			}
		}
	}
	random, err := b.Sales.Booking(t.Context(), b.Owner, ids.New[bookings.BookingKind](inventorytest.Region))
	expectFault(t, "a random booking "+string(random.State), err, fault.KindNotFound)
	_, _, err = b.Sales.Bookings(t.Context(), b.Widget, inventorytest.Region, nil, 10)
	if err == nil {
		t.Error("a page without a guest lists bookings")
	}
}

func TestBookingsArePaged(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	var sold []bookings.BookingID
	for seat := 1; seat <= 5; seat++ {
		hold := guest.Hold(b.hall.Seats(seat))
		b.Pay(guest, hold, sandbox.TokenApprove)
		sold = append(sold, b.BookingOf(hold).ID)
	}
	slices.Reverse(sold)
	for _, actor := range []tenants.Actor{guest.Actor, b.Owner} {
		var found []bookings.BookingID
		var after *bookings.Cursor
		for more := true; more; {
			var page []bookings.Booking
			var err error
			if page, more, err = b.Sales.Bookings(t.Context(), actor, inventorytest.Region, after, 2); err != nil {
				t.Fatal(err)
			}
			for _, booking := range page {
				found = append(found, booking.ID)
				after = &bookings.Cursor{BookedAt: booking.BookedAt, ID: booking.ID.UUID}
			}
		}
		if !slices.Equal(found, sold) {
			t.Errorf("pages give %v, want %v", found, sold)
		}
	}
	for _, limit := range []int{0, inventory.MaxPage + 1} {
		_, _, err := b.Sales.Bookings(t.Context(), b.Owner, inventorytest.Region, nil, limit)
		expectFault(t, "a page of another size", err, fault.KindInvalid)
	}
}

func TestAHoldWithoutAPriceIsBookedWithoutAPayment(t *testing.T) {
	t.Parallel()
	b := open(t)
	free := int64(0)
	b.room.Set(10, 12, inventory.NightChange{RateMinor: &free})
	guest := b.Guest()
	hold := guest.Hold(b.room.Stay(10, 12))
	input := bookingstest.CheckoutOf(hold, "")
	for range 2 {
		outcome, err := b.Sales.Checkout(t.Context(), guest.Actor, input)
		if err != nil {
			t.Fatal(b.Explain(err))
		}
		expect(t, "the sale", bookingstest.Standing(outcome), "CONFIRMED BOOKED")
	}
	booking := b.BookingOf(hold)
	cancelled, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID})
	if err != nil || cancelled.Booking.State != bookings.StateCancelled || cancelled.Refund.Minor != 0 {
		t.Errorf("cancelled: %+v, %v", cancelled, err)
	}
	if len(b.Attempts(hold)) != 0 || len(b.Provider.Charges()) != 0 {
		t.Error("money rows for a sale without a price")
	}
	b.Audit()
}

const badReturn = "invalid: paymentMethod.hosted.returnUrl: expected an https URL of at most 2000 visible ASCII characters, without a user"

// hosted asks for the provider's page in place of a token.
func hosted(returnURL string) func(*bookings.Checkout) {
	return func(c *bookings.Checkout) { c.MethodToken, c.ReturnURL = "", returnURL }
}

func TestWhatCheckoutRefuses(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	for _, c := range []struct {
		name   string
		change func(*bookings.Checkout)
		want   string
	}{
		{"no request key", func(c *bookings.Checkout) { c.RequestKey = "" }, "invalid: requestKey: expected 1 to 255 characters"},
		{"a key too long", func(c *bookings.Checkout) { c.RequestKey = strings.Repeat("k", 256) }, "invalid: requestKey: expected 1 to 255 characters"},
		{"no token", func(c *bookings.Checkout) { c.MethodToken = "" }, "invalid: paymentMethod.token: expected the provider's token of a payment method, or that its page is wanted"},
		{"a token and a page", func(c *bookings.Checkout) { c.ReturnURL = "https://shop.example/" }, "invalid: paymentMethod.hosted: expected a token or a page of the provider, not both"},
		{"a page that returns to http", hosted("http://shop.example/"), badReturn},
		{"a page that returns to this machine", hosted("http://127.0.0.1:8080/"), badReturn},
		{"a page that returns to a script", hosted("javascript:alert(1)"), badReturn},
		{"a page that returns nowhere", hosted("/thanks"), badReturn},
		{"a page that returns with a user", hosted("https://bank.example@shop.example/"), badReturn},
		{"a page that returns to two lines", hosted("https://shop.example/\r\nSet-Cookie:a=b"), badReturn},
		{"a page that returns too far", hosted("https://shop.example/" + strings.Repeat("a", 2000)), badReturn},
		{"a token with a line break", func(c *bookings.Checkout) { c.MethodToken = "tok\n" }, "invalid: paymentMethod.token: expected at most 200 visible ASCII characters"},
		{"a negative price", func(c *bookings.Checkout) { c.ExpectedTotal.Minor = -1 }, "invalid: expectedTotal.amountMinor: expected 0 to 1000000000000, got -1"},
		{"another price", func(c *bookings.Checkout) { c.ExpectedTotal.Minor++ }, "PRICE_CHANGED"},
		{"another currency", func(c *bookings.Checkout) { c.ExpectedTotal.Currency = "USD" }, "PRICE_CHANGED"},
		{"no address", func(c *bookings.Checkout) { c.Contact.Email = "ada" }, "invalid: contact.email: expected an address such as guest@example.com"},
		{"an address with a name", func(c *bookings.Checkout) { c.Contact.Email = "Ada <ada@example.com>" }, "invalid: contact.email: expected an address such as guest@example.com"},
		{"a reference of two lines", func(c *bookings.Checkout) { c.PartnerReference = "a\r\nb" }, "invalid: partnerReference: expected one line of at most 100 characters, without control characters"},
		{"a name too long", func(c *bookings.Checkout) { c.Contact.Name = strings.Repeat("a", 201) }, "invalid: contact.name: expected one line of at most 200 characters, without control characters"},
		{"a name with a NUL", func(c *bookings.Checkout) { c.Contact.Name = "a\x00b" }, "invalid: contact.name: expected one line of at most 200 characters, without control characters"},
		{"a hold that does not exist", func(c *bookings.Checkout) { c.Hold = ids.New[inventory.HoldKind](inventorytest.Region) }, "not_found: no such hold"},
	} {
		input := bookingstest.CheckoutOf(hold, sandbox.TokenApprove)
		c.change(&input)
		_, err := b.Sales.Checkout(t.Context(), guest.Actor, input)
		if got := b.Explain(err); got != c.want {
			t.Errorf("%s\ngot:  %s\nwant: %s", c.name, got, c.want)
		}
	}
	expect(t, "the hold", b.Sale(hold), "ACTIVE")
	if len(b.Provider.Charges()) != 0 {
		t.Error("something was charged")
	}
	guest.Release(hold)
	_, err := b.TryPay(guest, hold, sandbox.TokenApprove)
	expect(t, "a released hold", b.Explain(err), "HOLD_ENDED")
	b.Audit()
}

// R35: the rules of selling are asked again at the checkout, and are the same.
func TestWhatStoppedSellingCannotBePaid(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest, partner := b.Guest(), b.Partner("Agency")
	hold, theirs := guest.Hold(b.hall.Seats(1)), partner.Hold(b.hall.Seats(2))

	b.hall.SetState(inventory.ShowStateClosed)
	_, placing := guest.Try(b.hall.Seats(3))
	_, extending := guest.TryExtend(hold)
	_, paying := b.TryPay(guest, hold, sandbox.TokenApprove)
	for what, err := range map[string]error{"placing": placing, "extending": extending, "paying": paying} {
		expect(t, what+" after the show closed", b.Explain(err), "SALE_CLOSED")
	}
	b.hall.SetState(inventory.ShowStateOnSale)
	suspended := partner
	suspended.Actor.ChannelSuspended = true
	_, placing = suspended.Try(b.hall.Seats(3))
	_, extending = suspended.TryExtend(theirs)
	_, paying = b.TryPay(suspended, theirs, sandbox.TokenApprove)
	for what, err := range map[string]error{"placing": placing, "extending": extending, "paying": paying} {
		expect(t, what+" while the channel is suspended", b.Explain(err), "CHANNEL_SUSPENDED")
	}
	expect(t, "on sale again", b.Pay(guest, hold, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	expect(t, "not suspended again", b.Pay(partner, theirs, sandbox.TokenApprove), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	b.Audit()
}

func TestTheSameRequestPaysOnce(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	input := bookingstest.CheckoutOf(hold, sandbox.TokenApprove)
	first, err := b.Sales.Checkout(t.Context(), guest.Actor, input)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, err := b.Sales.Checkout(t.Context(), guest.Actor, input)
		if err != nil || again.Attempt.ID != first.Attempt.ID || again.Booking.ID != first.Booking.ID || again.Booking.Version != 1 {
			t.Errorf("the replay says %s, %v", bookingstest.Standing(again), err)
		}
	}
	other := input
	other.MethodToken = sandbox.TokenDecline
	_, err = b.Sales.Checkout(t.Context(), guest.Actor, other)
	expect(t, "the key with another card", b.Explain(err), "REQUEST_KEY_REUSED")
	// Another key for what is booked already is a second click.
	again, err := b.TryPay(guest, hold, sandbox.TokenDecline)
	if err != nil || again.Attempt.ID != first.Attempt.ID {
		t.Errorf("a second click says %s, %v", bookingstest.Standing(again), err)
	}
	// Keys belong to their owner.
	stranger := b.Guest()
	own := stranger.Hold(b.hall.Seats(2))
	mine := bookingstest.CheckoutOf(own, sandbox.TokenApprove)
	mine.RequestKey = input.RequestKey
	if _, err := b.Sales.Checkout(t.Context(), stranger.Actor, mine); err != nil {
		t.Errorf("another guest's equal key: %v", err)
	}
	if n := len(b.Provider.Charges()); n != 2 {
		t.Errorf("%d charges, want 2", n)
	}
	b.Audit()
}

func TestCheckoutsAtOnceMakeOneAttempt(t *testing.T) {
	t.Parallel()
	for name, keyOf := range map[string]func(i int) string{
		"the same key": func(int) string { return "one" },
		"many keys":    func(int) string { return inventorytest.Key() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			guest := b.Guest()
			hold := guest.Hold(b.hall.Seats(1), b.floor().Units(2))
			const callers = 8
			outcomes := make([]bookings.Outcome, callers)
			for i, err := range inventorytest.Race(callers, func(i int) error {
				input := bookingstest.CheckoutOf(hold, sandbox.TokenApprove)
				input.RequestKey = keyOf(i)
				var err error
				outcomes[i], err = b.Sales.Checkout(t.Context(), guest.Actor, input)
				return err
			}) {
				if err != nil {
					t.Errorf("caller %d: %v", i, err)
				} else if outcomes[i].Attempt == nil || outcomes[i].Attempt.ID != outcomes[0].Attempt.ID {
					t.Errorf("caller %d was told %s", i, bookingstest.Standing(outcomes[i]))
				}
			}
			b.Settle()
			expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
			if n := len(b.Provider.Charges()); n != 1 {
				t.Errorf("%d charges", n)
			}
			b.Audit()
		})
	}
}

func TestOneCardHasSoManyPaymentsUnderWay(t *testing.T) {
	t.Parallel()
	b := open(t, func(s *bookingstest.Setup) { s.Sales.InlineWait = time.Millisecond })
	b.SetTerms(inventory.TermsChange{MaxActiveHoldsPerInstrument: inventorytest.Of[int64](1)})
	guest, other := b.Guest(), b.Guest()
	const card = "tok_pending_approve_after_600s:card"
	b.Pay(guest, guest.Hold(b.hall.Seats(1)), card)
	second := other.Hold(b.hall.Seats(2))
	_, err := b.TryPay(other, second, card)
	expect(t, "the same card at once", b.Explain(err), "LIMIT_PER_INSTRUMENT")
	expect(t, "another card", b.Pay(other, second, "tok_pending_approve_after_600s:other")[:10], "PROCESSING")
}

func TestTheConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	if err := (bookings.Config{}).Validate(); err != nil {
		t.Error(err)
	}
	for _, config := range []bookings.Config{{InlineWait: -1}, {CallTimeout: -1}, {MaxInline: -1}} {
		if config.Validate() == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}
