package main

import (
	"context"
	"fmt"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// Tokens whose charge stays undecided until the demo settles it, so that nothing depends on how
// fast the machine is: the seconds are longer than the demo lives.
const (
	demoTokenPending = sandbox.TokenPendingApproveAfter + "600s"
	demoTokenUnknown = sandbox.TokenUnknownThenApproveAfter + "600s"
	// demoTokenLate is not ended by a cancellation either.
	demoTokenLate = sandbox.TokenLateApproveAfter + "600s"
)

// settle makes the provider decide a buyer's charge now, and tell so by webhook.
func (s *demoSeller) settle(payment *apiPayment) error {
	if payment == nil {
		return fmt.Errorf("expected a payment under way, saw none")
	}
	if !s.stage.provider.Settle(s.account, payment.ID) {
		return fmt.Errorf("expected the provider to have the charge %s pending, saw none", payment.ID)
	}
	return nil
}

// money is what the provider took and gave back for the tenant, and in how many charges and refunds
// that came true.
func (s *demoSeller) money() (captured, refunded int64, charges, refunds int) {
	for _, charge := range s.stage.provider.Charges() {
		if charge.Account == s.account && charge.State == payments.OutcomeStateApproved {
			captured += charge.Captured.Minor
			charges++
		}
	}
	for _, refund := range s.stage.provider.Refunds() {
		if refund.Account == s.account && refund.State == payments.RefundStateSucceeded {
			refunded += refund.Amount.Minor
			refunds++
		}
	}
	return captured, refunded, charges, refunds
}

// expectMoney compares the provider's own books.
func (s *demoSeller) expectMoney(captured, refunded int64, charges, refunds int) error {
	gotCaptured, gotRefunded, gotCharges, gotRefunds := s.money()
	if gotCaptured != captured || gotRefunded != refunded || gotCharges != charges || gotRefunds != refunds {
		return fmt.Errorf("expected the provider to have taken %d cents in %d charges and given back %d in %d refunds, saw %d in %d and %d in %d",
			captured, charges, refunded, refunds, gotCaptured, gotCharges, gotRefunded, gotRefunds)
	}
	return nil
}

// A success that comes after the payment's deadline buys the units, because nobody was given them.
func playLatePaymentHonoured(ctx context.Context, s *demoStage) (string, error) {
	seller, err := s.sells(ctx, "late-payment-honoured", apiInput{"processingSeconds": 1, "graceSeconds": 600, "latePayment": "HONOUR"})
	if err != nil {
		return "", err
	}
	hall, err := seller.hall(ctx, 1, 0)
	if err != nil {
		return "", err
	}
	a, b, err := seller.guests(ctx)
	if err != nil {
		return "", err
	}
	hold, err := a.holds(ctx, hall.seats(1))
	if err != nil {
		return "", err
	}
	paid, err := a.pays(ctx, hold, demoTokenPending)
	if err != nil {
		return "", err
	}
	if paid.Hold.State != "PROCESSING" || paid.Booking != nil {
		return "", fmt.Errorf("expected the checkout to be PROCESSING without a booking, saw %s and %v", paid.Hold.State, paid.Booking)
	}
	if err := hall.passed(ctx, paid.Hold.Deadline); err != nil {
		return "", err
	}
	if _, err := b.isRefused(ctx, "HELD_BY_OTHER", hall.seats(1)); err != nil {
		return "", err
	}
	if err := seller.settle(paid.Payment); err != nil {
		return "", err
	}
	done, err := a.becomes(ctx, hold.ID, "CONFIRMED", "SUCCEEDED")
	if err != nil {
		return "", err
	}
	payment := done.Payments[0]
	if done.Booking == nil || payment.Disposition != "APPLIED" || payment.Refunded.AmountMinor != 0 || payment.SettledAt == nil {
		return "", fmt.Errorf("expected a booking paid without a refund, saw booking %v, payment %+v", done.Booking, payment)
	}
	late := payment.SettledAt.Sub(paid.Hold.Deadline)
	if late <= 0 {
		return "", fmt.Errorf("expected the success after the deadline %s, saw %s", paid.Hold.Deadline, payment.SettledAt)
	}
	if err := seller.expectMoney(demoSeatMinor, 0, 1, 0); err != nil {
		return "", err
	}
	if err := hall.expect(ctx, "BOOKED", 1); err != nil {
		return "", err
	}
	return fmt.Sprintf("A's payment succeeded %.2f s after its deadline; nobody had been given seat 1 (B was refused meanwhile), so A has booking %s for %s and no refund.",
		late.Seconds(), done.Booking.Reference, payment.Captured.Formatted), nil
}

// A success that comes when B owns the seat ends in exactly one refund.
func playLatePaymentRefunded(ctx context.Context, s *demoStage) (string, error) {
	seller, err := s.sells(ctx, "late-payment-refunded", apiInput{"processingSeconds": 1, "graceSeconds": 1, "latePayment": "HONOUR"})
	if err != nil {
		return "", err
	}
	hall, err := seller.hall(ctx, 1, 0)
	if err != nil {
		return "", err
	}
	a, b, err := seller.guests(ctx)
	if err != nil {
		return "", err
	}
	hold, err := a.holds(ctx, hall.seats(1))
	if err != nil {
		return "", err
	}
	paid, err := a.pays(ctx, hold, demoTokenLate)
	if err != nil {
		return "", err
	}
	second, refused, err := b.holdsInTheEnd(ctx, hall.seats(1))
	if err != nil {
		return "", err
	}
	if second.PlacedAt.Before(paid.Hold.Deadline) {
		return "", fmt.Errorf("expected B's hold to begin after A's deadline %s, saw %s", paid.Hold.Deadline, second.PlacedAt)
	}
	newer, err := b.pays(ctx, second, sandbox.TokenApprove)
	if err != nil {
		return "", err
	}
	if newer.Booking == nil {
		return "", fmt.Errorf("expected B to get a booking, saw hold %s", newer.Hold.State)
	}
	if err := seller.settle(paid.Payment); err != nil {
		return "", err
	}
	var refund apiRefund
	var done apiHold
	if err := poll(ctx, "A's refund to succeed", func(ctx context.Context) (bool, string, error) {
		if done, err = a.becomes(ctx, hold.ID, "EXPIRED", "SUCCEEDED"); err != nil {
			return false, "", err
		}
		refunds := done.Payments[0].Refunds
		if len(refunds) > 1 {
			return false, "", fmt.Errorf("expected one refund, saw %d", len(refunds))
		}
		if len(refunds) == 1 {
			refund = refunds[0]
		}
		return refund.State == "SUCCEEDED", refund.State, nil
	}); err != nil {
		return "", err
	}
	if done.Booking != nil || done.Payments[0].Disposition != "ORPHANED" || refund.Amount.AmountMinor != demoSeatMinor {
		return "", fmt.Errorf("expected no booking of A's and a refund of %d cents, saw booking %v, payment %+v", demoSeatMinor, done.Booking, done.Payments[0])
	}
	if err := seller.expectMoney(2*demoSeatMinor, demoSeatMinor, 2, 1); err != nil {
		return "", err
	}
	owner, err := b.reads(ctx, second.ID)
	if err != nil {
		return "", err
	}
	if owner.State != "CONFIRMED" || owner.Booking == nil || owner.Booking.State != "BOOKED" {
		return "", fmt.Errorf("expected B's booking to stand, saw hold %s and booking %v", owner.State, owner.Booking)
	}
	return fmt.Sprintf("B was refused %d times until A's payment window and grace were over, then held and booked seat 1 (%s); A's success came after that: no booking, one refund of %s, and B keeps the seat.",
		refused, owner.Booking.Reference, refund.Amount.Formatted), nil
}

// holdsInTheEnd asks again until the units can be had, and says how often it was refused before.
func (b demoBuyer) holdsInTheEnd(ctx context.Context, lines ...apiInput) (hold apiHold, refused int, err error) {
	key := randomName()
	err = poll(ctx, b.name+" to get a hold", func(ctx context.Context) (bool, string, error) {
		answer, err := b.asks(ctx, key, lines...)
		if answer.Code != "" {
			refused++
		}
		hold = answer.apiHold
		return hold.ID != "", answer.Code, err
	})
	return hold, refused, err
}

// A declined payment gives the units back at once.
func playDeclineReturnsUnits(ctx context.Context, s *demoStage) (string, error) {
	seller, err := s.sells(ctx, "decline-returns-units", nil)
	if err != nil {
		return "", err
	}
	hall, err := seller.hall(ctx, 2, 5)
	if err != nil {
		return "", err
	}
	a, b, err := seller.guests(ctx)
	if err != nil {
		return "", err
	}
	everything := []apiInput{hall.seats(1, 2), poolInput(hall.pool, 5)}
	hold, err := a.holds(ctx, everything...)
	if err != nil {
		return "", err
	}
	if _, err := b.isRefused(ctx, "HELD_BY_OTHER", everything...); err != nil {
		return "", err
	}
	paid, err := a.pays(ctx, hold, sandbox.TokenDeclineInsufficientFunds)
	if err != nil {
		return "", err
	}
	if paid.Hold.State != "RELEASED" || paid.Payment == nil || paid.Payment.State != "DECLINED" || paid.Booking != nil {
		return "", fmt.Errorf("expected a DECLINED payment and a RELEASED hold, saw payment %+v, hold %s", paid.Payment, paid.Hold.State)
	}
	if _, err := b.books(ctx, everything...); err != nil {
		return "", err
	}
	if err := seller.expectMoney(2*demoSeatMinor+5*demoPoolMinor, 0, 1, 0); err != nil {
		return "", err
	}
	return fmt.Sprintf("A's card was declined (%s): the hold of 2 seats and 5 standing places was RELEASED in the same answer, no money was taken, and B booked all 7 units at once.",
		paid.Payment.DeclineCode), nil
}

// The provider's answer is lost; the units stay A's, and the success is found out and booked once.
func playUnknownThenApproved(ctx context.Context, s *demoStage) (string, error) {
	seller, err := s.sells(ctx, "unknown-then-approved", nil)
	if err != nil {
		return "", err
	}
	hall, err := seller.hall(ctx, 1, 0)
	if err != nil {
		return "", err
	}
	a, b, err := seller.guests(ctx)
	if err != nil {
		return "", err
	}
	hold, err := a.holds(ctx, hall.seats(1))
	if err != nil {
		return "", err
	}
	paid, err := a.pays(ctx, hold, demoTokenUnknown)
	if err != nil {
		return "", err
	}
	if paid.Hold.State != "PROCESSING" || paid.Payment == nil || paid.Payment.State != "UNKNOWN" || paid.Booking != nil {
		return "", fmt.Errorf("expected an UNKNOWN payment and a PROCESSING hold, saw payment %+v, hold %s", paid.Payment, paid.Hold.State)
	}
	if _, err := b.isRefused(ctx, "HELD_BY_OTHER", hall.seats(1)); err != nil {
		return "", err
	}
	// A second click is answered with the same payment.
	again, err := a.pays(ctx, hold, demoTokenUnknown)
	if err != nil {
		return "", err
	}
	if again.Payment == nil || again.Payment.ID != paid.Payment.ID {
		return "", fmt.Errorf("expected a second checkout to show payment %s, saw %+v", paid.Payment.ID, again.Payment)
	}
	if err := seller.settle(paid.Payment); err != nil {
		return "", err
	}
	done, err := a.becomes(ctx, hold.ID, "CONFIRMED", "SUCCEEDED")
	if err != nil {
		return "", err
	}
	if done.Booking == nil || done.Payments[0].Disposition != "APPLIED" {
		return "", fmt.Errorf("expected a paid booking, saw %v, payment %+v", done.Booking, done.Payments[0])
	}
	if err := seller.expectMoney(demoSeatMinor, 0, 1, 0); err != nil {
		return "", err
	}
	return fmt.Sprintf("The provider's answer was lost, so the checkout said PROCESSING and payment UNKNOWN, and B was refused; then the approval came: one charge of %s in spite of a second click, booking %s.",
		done.Payments[0].Captured.Formatted, done.Booking.Reference), nil
}
