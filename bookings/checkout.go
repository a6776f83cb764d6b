package bookings

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
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
	// ReturnURL asks, in place of a token, for a page of the provider on which the buyer pays, and is
	// where that sends the buyer back to: https, or http on this machine where that is configured.
	ReturnURL string
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
	maxURLLength       = 2000
	// fingerprintTimeout bounds the question which instrument a token stands for. Without an answer the
	// token itself is counted.
	fingerprintTimeout = 2 * time.Second
)

func (c Checkout) validate(loopbackReturn bool) error {
	if err := request.ValidateKey(c.RequestKey); err != nil {
		return err
	}
	if err := c.validateReturn(loopbackReturn); err != nil {
		return err
	}
	if n := len(c.MethodToken); n > maxTokenLength || strings.ContainsFunc(c.MethodToken, func(r rune) bool { return r < '!' || r > '~' }) {
		return fault.Invalid("paymentMethod.token", "expected at most %d visible ASCII characters", maxTokenLength)
	}
	if isCardNumber(c.MethodToken) {
		return fault.Invalid("paymentMethod.token", "expected the provider's token of a payment method; a card number must never be sent here")
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

// isCardNumber reports whether a token is a card's number, which is neither stored nor sent on: 12 to
// 19 digits, perhaps with hyphens, with the right check digit.
func isCardNumber(token string) bool {
	const shortest, longest = 12, 19
	digits, sum := 0, 0
	for i := len(token) - 1; i >= 0; i-- {
		if token[i] == '-' {
			continue
		}
		if token[i] < '0' || token[i] > '9' {
			return false
		}
		digit := int(token[i] - '0')
		if digits%2 == 1 {
			if digit *= 2; digit > 9 {
				digit -= 9
			}
		}
		sum += digit
		digits++
	}
	return digits >= shortest && digits <= longest && sum%10 == 0
}

// validateReturn lets a buyer be sent only to where the connection is private, or to this machine.
func (c Checkout) validateReturn(loopback bool) error {
	if c.ReturnURL == "" {
		return nil
	}
	if c.MethodToken != "" {
		return fault.Invalid("paymentMethod.hosted", "expected a token or a page of the provider, not both")
	}
	target, err := url.Parse(c.ReturnURL)
	visible := len(c.ReturnURL) <= maxURLLength && !strings.ContainsFunc(c.ReturnURL, func(r rune) bool { return r <= ' ' || r > '~' })
	if err != nil || !visible || target.Host == "" || target.Hostname() == "" || target.User != nil ||
		target.Scheme != "https" && !(loopback && target.Scheme == "http" && isLoopback(target.Hostname())) {
		return fault.Invalid("paymentMethod.hosted.returnUrl", "expected an https URL of at most %d visible ASCII characters, without a user", maxURLLength)
	}
	return nil
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// Checkout starts the payment of a hold, waits a short while for the provider, and says where the
// sale stands: booked, declined, or still being processed. An expected no is a *inventory.Refusal.
//
// The attempt is stored before the provider is called, and no transaction is open during the call.
// A hold that is already being paid, or is booked, is answered as it stands: a second click never
// makes a second attempt.
func (s *Service) Checkout(ctx context.Context, actor tenants.Actor, input Checkout) (Outcome, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionBookingCheckout, actor.Tenant)); err != nil {
		return Outcome{}, err
	}
	if err := input.validate(s.config.LoopbackReturn); err != nil {
		return Outcome{}, err
	}
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return Outcome{}, err
	}
	instrument, err := s.instrumentOf(ctx, actor, input)
	if err != nil {
		return Outcome{}, err
	}
	attemptID := payments.AttemptID{Region: input.Hold.Region, UUID: uuid.New()}
	started, err := db.Replayable(ctx, s.db, "bookings.Checkout", func(ctx context.Context, tx pgx.Tx) (bool, error) {
		return s.checkoutTx(ctx, tx, actor, input, fingerprint, started{id: attemptID, instrument: instrument})
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

// started is what the attempt of a checkout will be.
type started struct {
	id         payments.AttemptID
	instrument string
}

// instrumentOf asks the provider which instrument a token stands for, with no transaction open, so
// that several tokens of one card count as one. It is empty when nobody can tell, or when there is
// nothing to pay: the checkout's transaction then says why.
func (s *Service) instrumentOf(ctx context.Context, actor tenants.Actor, input Checkout) (string, error) {
	if input.MethodToken == "" {
		return "", nil
	}
	hold, err := inventory.GetHold(ctx, s.db.Pool(), actor.Tenant, input.Hold)
	if fault.KindOf(err) == fault.KindNotFound || err == nil && (!inventory.MayPay(actor, hold) || hold.State != inventory.HoldStateActive || hold.Total.Minor == 0) {
		return "", nil
	}
	if err != nil {
		return "", db.Classify(err)
	}
	seller, err := dbsqlc.New(s.db.Pool()).TenantPayments(ctx, actor.Tenant.UUID)
	if err != nil {
		return "", db.Classify(fmt.Errorf("read the tenant's payment account: %w", err))
	}
	gateway, err := s.gateway(seller.PaymentProvider)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, fingerprintTimeout)
	defer cancel()
	instrument, err := gateway.Fingerprint(ctx, seller.PaymentAccount, input.MethodToken)
	if err != nil || len(instrument) > maxTokenLength || !utf8.ValidString(instrument) || strings.ContainsRune(instrument, 0) {
		s.config.Logger.InfoContext(ctx, "the payment provider did not say which instrument a token stands for; the token is counted", "hold", input.Hold.String(), "error", err)
		return "", nil
	}
	return instrument, nil
}

// checkoutTx reports whether it made the attempt, which is then to be driven.
func (s *Service) checkoutTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, input Checkout, fingerprint []byte, start started) (bool, error) {
	earlier, replayed, err := request.Claim(ctx, tx, request.Identity{
		Tenant: actor.Tenant.UUID, Region: input.Hold.Region, Key: input.RequestKey,
		Scope: "checkout/" + actor.Key.UUID.String() + "/" + actor.Session.UUID.String(),
	}, fingerprint, start.id.UUID)
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
	may := s.authorizer.Authorize(actor, policies.ActionBookingCheckout, actor.Tenant)
	if covered, err := inventory.WithinReach(ctx, tx, actor.Tenant, may, hold.ID.Region, hold.Lines); err != nil {
		return false, err
	} else if !covered {
		return false, fault.NotFound("hold")
	}
	if replayed {
		// Our own attempt, from a commit whose answer was lost, is still to be driven.
		return earlier == start.id.UUID && hold.State == inventory.HoldStateProcessing, nil
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
	return true, s.startTx(ctx, tx, hold, input, start, now)
}

// startTx moves a locked hold into its payment and stores the attempt with the job that drives it.
func (s *Service) startTx(ctx context.Context, tx pgx.Tx, hold inventory.Hold, input Checkout, start started, now time.Time) error {
	if input.MethodToken == "" && input.ReturnURL == "" {
		return fault.Invalid("paymentMethod.token", "expected the provider's token of a payment method, or that its page is wanted")
	}
	seller, err := dbsqlc.New(tx).TenantPayments(ctx, hold.Tenant.UUID)
	if err != nil {
		return fmt.Errorf("read the tenant's payment account: %w", err)
	}
	if _, err := s.gateway(seller.PaymentProvider); err != nil {
		return err
	}
	if start.instrument == "" && input.MethodToken != "" {
		start.instrument = payments.InstrumentOf(seller.PaymentProvider, input.MethodToken)
	}
	if err := judgeInstrument(ctx, tx, hold, start.instrument, now); err != nil {
		return err
	}
	if hold, err = inventory.ProcessTx(ctx, tx, hold, now); err != nil {
		return err
	}
	attempt, err := payments.CreateTx(ctx, tx, hold.Tenant, payments.NewAttempt{
		ID: start.id, Hold: hold.ID.UUID, Provider: seller.PaymentProvider, Account: seller.PaymentAccount,
		MethodToken: input.MethodToken, Instrument: start.instrument, Amount: hold.Total, Capture: captureOf(hold.Terms),
		ReturnURL: input.ReturnURL, PayUntil: hold.Deadline,
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

func captureOf(terms inventory.HoldTerms) payments.CaptureMode {
	if terms.Capture == inventory.CaptureManual {
		return payments.CaptureManual
	}
	return payments.CaptureAutomatic
}

// judgeInstrument counts a guest's card's open payments in the transaction of the checkout.
func judgeInstrument(ctx context.Context, tx pgx.Tx, hold inventory.Hold, instrument string, now time.Time) error {
	// Which card will be used on a provider's page is not known yet.
	if hold.Buyer.Kind != tenants.BuyerKindGuest || instrument == "" {
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
