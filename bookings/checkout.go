package bookings

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Checkout pays for a hold.
type Checkout struct {
	RequestKey string
	Hold       inventory.HoldID
	// MethodToken is the provider's name of the buyer's card or account.
	MethodToken string
	// ExpectedTotal is the price that the buyer agreed to; another one is refused.
	ExpectedTotal    money.Amount
	Contact          Contact
	PartnerReference string
}

// Outcome is where a sale stands.
type Outcome struct {
	Hold inventory.Hold
	// Attempt is the latest payment attempt; nil for a hold without a price.
	Attempt *payments.Attempt
	// Booking is set once the sale is confirmed.
	Booking *Booking
}

const (
	maxTokenLength     = 200
	maxContactLength   = 200
	maxReferenceLength = 100
)

func (c Checkout) validate() error {
	if err := request.ValidateKey(c.RequestKey); err != nil {
		return err
	}
	if n := len(c.MethodToken); n > maxTokenLength || strings.ContainsFunc(c.MethodToken, func(r rune) bool { return r < '!' || r > '~' }) {
		return fault.Invalid("paymentMethod.token", "expected at most %d visible ASCII characters", maxTokenLength)
	}
	if c.ExpectedTotal.Minor < 0 || c.ExpectedTotal.Minor > money.MaxMinor {
		return fault.Invalid("expectedTotal.amountMinor", "expected 0 to %d, got %d", int64(money.MaxMinor), c.ExpectedTotal.Minor)
	}
	for _, text := range []struct {
		field, value string
		limit        int
	}{
		{"contact.name", c.Contact.Name, maxContactLength},
		{"contact.email", c.Contact.Email, maxContactLength},
		{"partnerReference", c.PartnerReference, maxReferenceLength},
	} {
		if utf8.RuneCountInString(text.value) > text.limit || !utf8.ValidString(text.value) || strings.ContainsFunc(text.value, unicode.IsControl) {
			return fault.Invalid(text.field, "expected one line of at most %d characters, without control characters", text.limit)
		}
	}
	if c.Contact.Email != "" {
		if address, err := mail.ParseAddress(c.Contact.Email); err != nil || address.Address != c.Contact.Email {
			return fault.Invalid("contact.email", "expected an address such as guest@example.com")
		}
	}
	return nil
}

// Checkout starts the payment of a hold, waits a short while for the provider, and says where the
// sale stands: booked, declined, or still being processed. An expected no is a *inventory.Refusal.
//
// The attempt is stored before the provider is called, and no transaction is open during the call.
// A hold that is already being paid, or is booked, is answered as it stands: a second click never
// makes a second attempt.
func (s *Service) Checkout(ctx context.Context, actor tenants.Actor, input Checkout) (Outcome, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionBookingCheckout, actor.Tenant); err != nil {
		return Outcome{}, err
	}
	if err := input.validate(); err != nil {
		return Outcome{}, err
	}
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return Outcome{}, err
	}
	attemptID := payments.AttemptID{Region: input.Hold.Region, UUID: uuid.New()}
	started, err := db.Replayable(ctx, s.db, "bookings.Checkout", func(ctx context.Context, tx pgx.Tx) (bool, error) {
		return s.checkoutTx(ctx, tx, actor, input, fingerprint, attemptID)
	})
	switch {
	case errors.Is(err, request.ErrKeyReused):
		return Outcome{}, inventory.Refuse(inventory.RefusalRequestKeyReused, err.Error())
	case errors.Is(err, db.ErrContention):
		return Outcome{}, inventory.Busy()
	case err != nil:
		return Outcome{}, err
	}
	s.config.AfterStep("checkout")
	if started {
		s.driveInline(ctx, payments.Located[payments.AttemptID]{Tenant: actor.Tenant, ID: attemptID})
	}
	return s.outcome(ctx, actor.Tenant, input.Hold)
}

// checkoutTx reports whether it made the attempt, which is then to be driven.
func (s *Service) checkoutTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, input Checkout, fingerprint []byte, attemptID payments.AttemptID) (bool, error) {
	earlier, replayed, err := request.Claim(ctx, tx, request.Identity{
		Tenant: actor.Tenant.UUID, Region: input.Hold.Region, Key: input.RequestKey,
		Scope: "checkout/" + actor.Key.UUID.String() + "/" + actor.Session.UUID.String(),
	}, fingerprint, attemptID.UUID)
	if err != nil {
		return false, err
	}
	hold, err := inventory.LockHold(ctx, tx, actor.Tenant, input.Hold)
	if err != nil {
		return false, err
	}
	if !inventory.MayPay(actor, hold) {
		return false, fault.NotFound("hold")
	}
	if replayed {
		// Our own attempt, from a commit whose answer was lost, is still to be driven.
		return earlier == attemptID.UUID && hold.State == inventory.HoldStateProcessing, nil
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return false, err
	}
	switch hold.State {
	case inventory.HoldStateProcessing, inventory.HoldStateConfirmed:
		return false, nil
	case inventory.HoldStateReleased:
		return false, inventory.Refuse(inventory.RefusalHoldEnded, "the hold was released")
	case inventory.HoldStateExpired:
		return false, inventory.Refuse(inventory.RefusalHoldExpired, "the hold's deadline has passed")
	case inventory.HoldStateActive:
	}
	if !now.Before(hold.Deadline) {
		return false, inventory.Refuse(inventory.RefusalHoldExpired, "the hold's deadline has passed")
	}
	if err := inventory.JudgeSaleTx(ctx, tx, actor, hold); err != nil {
		return false, err
	}
	if input.ExpectedTotal != hold.Total {
		return false, inventory.Refuse(inventory.RefusalPriceChanged, fmt.Sprintf("the hold costs %s, expected was %s", hold.Total, input.ExpectedTotal))
	}
	if hold.Total.Minor == 0 {
		if err := saleTx(ctx, tx, hold, input); err != nil {
			return false, err
		}
		return false, s.confirmTx(ctx, tx, hold, now)
	}
	return true, s.startTx(ctx, tx, hold, input, attemptID, now)
}

// startTx moves a locked hold into its payment and stores the attempt with the job that drives it.
func (s *Service) startTx(ctx context.Context, tx pgx.Tx, hold inventory.Hold, input Checkout, attemptID payments.AttemptID, now time.Time) error {
	if input.MethodToken == "" {
		return fault.Invalid("paymentMethod.token", "expected the provider's token of a payment method")
	}
	seller, err := dbsqlc.New(tx).TenantPayments(ctx, hold.Tenant.UUID)
	if err != nil {
		return fmt.Errorf("read the tenant's payment account: %w", err)
	}
	if _, err := s.gateway(seller.PaymentProvider); err != nil {
		return err
	}
	if err := judgeInstrument(ctx, tx, hold, payments.InstrumentOf(seller.PaymentProvider, input.MethodToken), now); err != nil {
		return err
	}
	if _, err := inventory.ProcessTx(ctx, tx, hold, now); err != nil {
		return err
	}
	attempt, err := payments.CreateTx(ctx, tx, hold.Tenant, payments.NewAttempt{
		ID: attemptID, Hold: hold.ID.UUID, Provider: seller.PaymentProvider, Account: seller.PaymentAccount,
		MethodToken: input.MethodToken, Amount: hold.Total,
	}, now)
	if err != nil {
		return err
	}
	if err := saleTx(ctx, tx, hold, input); err != nil {
		return err
	}
	return s.jobs.EnqueueTx(ctx, tx, ChargeJob{
		Attempt: payments.Located[payments.AttemptID]{Tenant: hold.Tenant, ID: attempt.ID}, After: now.Add(jobPatience),
	})
}

// judgeInstrument counts a guest's card's open payments in the transaction of the checkout.
func judgeInstrument(ctx context.Context, tx pgx.Tx, hold inventory.Hold, instrument string, now time.Time) error {
	if hold.Buyer.Kind != tenants.BuyerKindGuest {
		return nil
	}
	open, err := payments.OpenOfInstrument(ctx, tx, hold.Tenant, hold.ID.Region, instrument, now)
	if err != nil {
		return err
	}
	if open >= hold.Terms.MaxPerInstrument {
		return inventory.Refuse(inventory.RefusalLimitPerInstrument, "this payment method has as many payments under way as allowed")
	}
	return nil
}

// jobPatience gives the process of the checkout a head start over its job.
const jobPatience = 10 * time.Second

// saleTx keeps what the buyer said at checkout for the booking to come.
func saleTx(ctx context.Context, tx pgx.Tx, hold inventory.Hold, input Checkout) error {
	if err := dbsqlc.New(tx).CheckoutSet(ctx, dbsqlc.CheckoutSetParams{
		TenantID: hold.Tenant.UUID, Region: string(hold.ID.Region), HoldID: hold.ID.UUID,
		ContactName: input.Contact.Name, ContactEmail: input.Contact.Email, PartnerReference: input.PartnerReference,
	}); err != nil {
		return fmt.Errorf("keep the checkout of hold %s: %w", hold.ID, err)
	}
	return nil
}

// driveInline drives an attempt in this process and waits for it a short while. The payment goes
// on when the caller goes away; when this process drives too many already, the job does it.
func (s *Service) driveInline(ctx context.Context, attempt payments.Located[payments.AttemptID]) {
	select {
	case s.inline <- struct{}{}:
	default:
		return
	}
	done := make(chan struct{})
	s.background.Add(1)
	go func() {
		defer s.background.Done()
		defer func() { <-s.inline }()
		defer close(done)
		ctx := context.WithoutCancel(ctx)
		if err := s.driveCharge(ctx, attempt, DriverCheckout); err != nil {
			s.config.Logger.WarnContext(ctx, "a payment could not be driven to its end; its job will", "attempt", attempt.ID.String(), "error", err)
		}
	}()
	timer := time.NewTimer(s.config.InlineWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// outcome reads where a sale stands, in one snapshot.
func (s *Service) outcome(ctx context.Context, tenant tenants.TenantID, id inventory.HoldID) (Outcome, error) {
	return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (Outcome, error) {
		hold, err := inventory.GetHold(ctx, tx, tenant, id)
		if err != nil {
			return Outcome{}, err
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return Outcome{}, err
		}
		hold.State = hold.StateAt(now)
		result := Outcome{Hold: hold}
		attempts, err := payments.OfHold(ctx, tx, tenant, id.Region, id.UUID)
		if err != nil {
			return Outcome{}, err
		}
		if len(attempts) > 0 {
			result.Attempt = &attempts[len(attempts)-1]
		}
		result.Booking, err = bookingOfHold(ctx, tx, tenant, id)
		return result, err
	})
}
