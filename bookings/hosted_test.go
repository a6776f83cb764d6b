package bookings_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// onPage checks a hold out on the provider's page.
func (b box) onPage(t *testing.T, buyer inventorytest.Buyer, hold inventory.Hold) bookings.Outcome {
	t.Helper()
	input := bookingstest.CheckoutOf(hold, "")
	input.ReturnURL = "https://shop.example/thanks"
	outcome, err := b.Sales.Checkout(t.Context(), buyer.Actor, input)
	if err != nil {
		t.Fatal(b.Explain(err))
	}
	return outcome
}

// press is what the buyer does on the page.
func (b box) press(t *testing.T, hold inventory.Hold, button, token string) {
	t.Helper()
	if err := b.Provider.Press(b.Account, b.Attempt(hold).ID.String(), button, token); err != nil {
		t.Fatal(err)
	}
}

func TestABuyerPaysOnTheProvidersPage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ button, token, want string }{
		"pays":               {"pay", sandbox.TokenApprove, "CONFIRMED SUCCEEDED/APPLIED BOOKED"},
		"has a bad card":     {"pay", sandbox.TokenDeclineStolenCard, "RELEASED DECLINED/stolen_card"},
		"declines":           {"decline", "", "RELEASED DECLINED/card_declined"},
		"leaves":             {"leave", "", "PROCESSING UNKNOWN"},
		"pays by itself":     {"pay", sandbox.TokenWebhookNever, "CONFIRMED SUCCEEDED/APPLIED BOOKED"},
		"pays a wrong price": {"pay", sandbox.TokenWrongAmount, "RELEASED SUCCEEDED/ORPHANED refund 5001 SUCCEEDED"},
	} {
		for _, capture := range []inventory.Capture{inventory.CaptureAutomatic, inventory.CaptureManual} {
			t.Run(name+" "+string(capture), func(t *testing.T) {
				t.Parallel()
				b := open(t, webhooks).terms(inventory.TermsChange{Capture: &capture})
				guest := b.Guest()
				hold := guest.Hold(b.hall.Seats(1))
				started := b.onPage(t, guest, hold)
				expect(t, "started", bookingstest.Standing(started), "PROCESSING UNKNOWN")
				if page := b.Provider.Charges()[0].Page; page == "" || started.Attempt.RedirectURL != page {
					t.Errorf("the buyer is sent to %q, the page is %q", started.Attempt.RedirectURL, page)
				}
				// A second click finds the same page.
				if again := b.onPage(t, guest, hold); again.Attempt.ID != started.Attempt.ID || again.Attempt.RedirectURL != started.Attempt.RedirectURL {
					t.Errorf("the second checkout says %+v", again.Attempt)
				}
				b.press(t, hold, c.button, c.token)
				b.Eventually(c.want, func() bool { b.Reconcile(); return b.Sale(hold) == c.want })
				if c.button != "leave" && b.Attempts(hold)[0].RedirectURL != "" {
					t.Error("the page is still offered")
				}
				// A buyer who takes his time on the page is the ordinary course, whoever hears of it first.
				if repairs := b.repairs(t); repairs != "none" && c.token != sandbox.TokenWrongAmount {
					t.Errorf("counted as repaired: %s", repairs)
				}
				b.audit(t)
			})
		}
	}
}

// Who may see a hold but not pay it is not told where that is done.
func TestThePageIsTheBuyersOwn(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.onPage(t, guest, hold)
	own, err := b.Sales.AttemptsOfHold(t.Context(), guest.Actor, hold.ID)
	if err != nil || own[0].RedirectURL == "" {
		t.Errorf("the buyer sees %+v, %v", own, err)
	}
	if seen := b.Attempts(hold)[0]; seen.RedirectURL != "" || seen.ReturnURL == "" {
		t.Errorf("the admin sees %+v", seen)
	}
	if _, err := b.Sales.AttemptsOfHold(t.Context(), b.Guest().Actor, hold.ID); err == nil {
		t.Error("another guest sees the payment")
	}
}

// Nobody can pay for what he cannot have any more: the page ends with the payment's window.
func TestAPageEndsWithItsWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start func(t *testing.T, b box, guest inventorytest.Buyer, hold inventory.Hold)
		lapse func(b box, hold inventory.Hold)
		want  string
	}{
		"within the grace": {
			func(t *testing.T, b box, guest inventorytest.Buyer, hold inventory.Hold) { b.onPage(t, guest, hold) },
			func(b box, _ inventory.Hold) { b.Tick(125 * time.Second) }, "RELEASED DECLINED/cancelled",
		},
		"its units were taken": {
			func(t *testing.T, b box, guest inventorytest.Buyer, hold inventory.Hold) { b.onPage(t, guest, hold) },
			func(b box, hold inventory.Hold) { b.Lapse(hold); b.Guest().Hold(b.hall.Seats(1)) }, "EXPIRED DECLINED/cancelled",
		},
		"a confirmation": {
			func(_ *testing.T, b box, guest inventorytest.Buyer, hold inventory.Hold) {
				b.Pay(guest, hold, sandbox.TokenConfirm)
			},
			func(b box, _ inventory.Hold) { b.Tick(125 * time.Second) }, "RELEASED DECLINED/cancelled",
		},
		"a card that is still being asked": {
			func(_ *testing.T, b box, guest inventorytest.Buyer, hold inventory.Hold) { b.Pay(guest, hold, slow) },
			func(b box, hold inventory.Hold) { b.Lapse(hold) }, "RELEASED DECLINED/cancelled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			guest := b.Guest()
			hold := guest.Hold(b.hall.Seats(1))
			c.start(t, b, guest, hold)
			b.Reconcile()
			expect(t, "in time", b.Sale(hold), "PROCESSING UNKNOWN")
			c.lapse(b, hold)
			b.Settle()
			expect(t, "in the end", b.Sale(hold), c.want)
			b.press(t, hold, "pay", sandbox.TokenApprove)
			b.Provider.Settle(b.Account, b.Attempt(hold).ID.String())
			if captured := b.Provider.CapturedTotal(b.Account)["EUR"]; captured != 0 {
				t.Errorf("%d were captured", captured)
			}
			b.Audit()
		})
	}
}

// The buyer paid before the page was cancelled: that is a late payment like any other.
func TestAPageThatWasPaidBeforeItsCancellation(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.onPage(t, guest, hold)
	b.press(t, hold, "pay", sandbox.TokenApprove)
	b.Lapse(hold)
	b.Guest().Hold(b.hall.Seats(1))
	// The look-up before the cancellation is as old as it can be.
	stale := b.Service(bookings.Config{}, pendingLookUp{b.Gateway})
	if err := stale.DriveCharge(t.Context(), b.Attempt(hold)); err != nil {
		t.Fatal(err)
	}
	b.Settle()
	expect(t, "refunded", b.Sale(hold), "EXPIRED SUCCEEDED/ORPHANED refund 5000 SUCCEEDED")
	b.Audit()
}

// pendingLookUp says that nothing was decided yet.
type pendingLookUp struct{ payments.Gateway }

func (p pendingLookUp) LookUp(ctx context.Context, account, key string) (payments.Outcome, error) {
	outcome, err := p.Gateway.LookUp(ctx, account, key)
	outcome.State = payments.OutcomeStatePending
	return outcome, err
}

// A provider that will not cancel is asked again, and what it takes after all goes back.
func TestAChargeThatCannotBeCancelledIsRefunded(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, "tok_late_approve_after_600s")
	b.Lapse(hold)
	sold := b.Guest().Hold(b.hall.Seats(1))
	b.Reconcile()
	b.Age(16 * time.Minute)
	b.Reconcile()
	expect(t, "nobody knows", b.Sale(hold), "EXPIRED UNKNOWN")
	b.decide(t, hold)
	b.Settle()
	expect(t, "refunded", b.Sale(hold), "EXPIRED SUCCEEDED/ORPHANED refund 5000 SUCCEEDED")
	expect(t, "the newer buyer", b.Sale(sold), "ACTIVE")
	b.Audit()
}

// A provider that cannot be reached declines nothing.
func TestACancellationWithoutAnAnswerDeclinesNothing(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.onPage(t, guest, hold)
	b.Lapse(hold)
	down := b.Service(bookings.Config{}, cancelling{b.Gateway, func() (payments.Outcome, error) { return payments.Outcome{}, errors.New("no route") }})
	if err := down.DriveCharge(t.Context(), b.Attempt(hold)); err != nil {
		t.Fatal(err)
	}
	if got := b.Attempts(hold)[0].State; got != payments.AttemptStateUnknown {
		t.Errorf("the attempt is %s", got)
	}
	b.Settle()
	expect(t, "in the end", b.Sale(hold), "RELEASED DECLINED/cancelled")
	b.Audit()
}

// A provider that can see to it that a charge on its way does nothing ends it at once.
func TestAChargeThatTheProviderNeverSawCanBeCancelled(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, sandbox.TokenLostOnce)
	b.Lapse(hold)
	able := b.Service(bookings.Config{}, cancelling{b.Gateway, func() (payments.Outcome, error) {
		return payments.Outcome{State: payments.OutcomeStateDeclined, Account: b.Account, DeclineCode: "cancelled"}, nil
	}})
	if err := able.DriveCharge(t.Context(), b.Attempt(hold)); err != nil {
		t.Fatal(err)
	}
	expect(t, "given up", b.Sale(hold), "RELEASED DECLINED/not_received")
	b.Audit()
}

// cancelling changes the provider's answers to cancellations.
type cancelling struct {
	payments.Gateway
	cancel func() (payments.Outcome, error)
}

func (c cancelling) Cancel(context.Context, string, string) (payments.Outcome, error) {
	return c.cancel()
}

// The second card of a hold that the first one has bought after all is not charged any more.
func TestTheSecondCardIsCancelledWhenTheFirstHasPaid(t *testing.T) {
	t.Parallel()
	b := open(t).terms(keep())
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, slow)
	first := b.Attempts(hold)[0]
	if err := b.deliver(t, b.chargeMessage(first, "declined")); err != nil {
		t.Fatal(err)
	}
	b.Pay(guest, hold, slow+":next")
	if !b.Provider.Settle(b.Account, first.ID.String()) {
		t.Fatal("no pending charge")
	}
	paid := b.chargeMessage(first, "approved")
	paid.about()["id"] = b.chargeID(first)
	if err := b.deliver(t, paid); err != nil {
		t.Fatal(err)
	}
	b.Settle()
	expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED DECLINED/cancelled BOOKED")
	b.Audit()
}

// A developer's shop may be on this machine, where that is configured.
func TestAPageMayReturnToThisMachineWhereConfigured(t *testing.T) {
	t.Parallel()
	b := open(t, func(s *bookingstest.Setup) { s.Sales.LoopbackReturn = true })
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	input := bookingstest.CheckoutOf(hold, "")
	for _, target := range []string{"http://shop.example/", "http://10.0.0.1/", "http://localhost.example/", "ftp://127.0.0.1/"} {
		input.ReturnURL = target
		if _, err := b.Sales.Checkout(t.Context(), guest.Actor, input); err == nil {
			t.Errorf("%s was taken", target)
		}
	}
	input.ReturnURL = "http://127.0.0.1:8080/thanks"
	if outcome, err := b.Sales.Checkout(t.Context(), guest.Actor, input); err != nil || outcome.Attempt.RedirectURL == "" {
		t.Errorf("got %+v, %v", outcome, err)
	}
}
