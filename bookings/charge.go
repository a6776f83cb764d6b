package bookings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
)

// notReceivedAfter is how long a provider may know nothing of a submitted charge before it is taken
// as never received. A success that appears even later is still recorded and refunded.
const notReceivedAfter = 15 * time.Minute

// errMismatch says that a provider's evidence is not about this attempt or refund: another account,
// currency or, for a refund, amount. Nothing is changed by it.
var errMismatch = errors.New("the provider's account, amount or currency is not the stored one")

// DriveCharge brings an attempt one step further: it submits it, or asks the provider what became
// of it, and applies the answer. It may run twice and in several processes at once: the provider
// knows the attempt by its key, and applying repeats its precondition.
func (s *Service) DriveCharge(ctx context.Context, at payments.Located[payments.AttemptID]) error {
	return s.driveCharge(ctx, at, DriverJob)
}

func (s *Service) driveCharge(ctx context.Context, at payments.Located[payments.AttemptID], by Driver) error {
	attempt, err := payments.Get(ctx, s.db.Pool(), at.Tenant, at.ID)
	if err != nil || !attempt.State.Open() {
		return db.Classify(err)
	}
	// Asked before anything is marked as sent.
	gateway, err := s.gateway(attempt.Provider)
	if err != nil {
		return err
	}
	fresh := false
	if attempt.State == payments.AttemptStateCreated {
		if attempt, fresh, err = s.submit(ctx, at, by); err != nil || !attempt.State.Open() {
			return err
		}
	}
	s.config.AfterStep("submit")
	if attempt.State != payments.AttemptStateAuthorized {
		outcome, err := s.ask(ctx, gateway, attempt, fresh)
		s.config.AfterStep("charge")
		if err != nil {
			s.config.Logger.InfoContext(ctx, "the payment provider gave no definite answer", "attempt", attempt.ID.String(), "error", err)
		}
		if undecided(outcome.State) {
			err := s.askLater(ctx, attempt, outcome.RedirectURL)
			s.config.AfterStep("apply")
			return err
		}
		if err := s.apply(ctx, at, outcome, by); err != nil || outcome.State != payments.OutcomeStateAuthorized {
			return err
		}
	}
	return s.endReservation(ctx, gateway, at, by)
}

// undecided reports whether an outcome changes nothing but the time of the next look.
func undecided(state payments.OutcomeState) bool {
	return state == payments.OutcomeStateUnknown || state == payments.OutcomeStatePending || state == payments.OutcomeStateNotFound
}

// askLater says of an attempt that its outcome is still open. It changes the attempt's row alone and
// holds no other, so it needs no lock of the hold: a backlog of payments whose provider is silent
// costs one statement each. An attempt that somebody has ended meanwhile is left as it is.
func (s *Service) askLater(ctx context.Context, attempt payments.Attempt, redirectURL string) error {
	_, err := db.Replayable(ctx, s.db, "bookings.AskLater", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, payments.AskLaterTx(ctx, tx, attempt, redirectURL, now)
	})
	return err
}

func (s *Service) gateway(provider string) (payments.Gateway, error) {
	gateway, ok := s.gateways[provider]
	if !ok {
		return nil, fault.Unavailable(nil, "the tenant's payment provider %q is not configured on this server", provider)
	}
	return gateway, nil
}

// submit marks a CREATED attempt as being sent, before it is sent, and says whether this is the
// first time. A card is not charged for what cannot be bought any more: when the hold has ended, or
// its payment window has, the attempt is declined without a call.
func (s *Service) submit(ctx context.Context, at payments.Located[payments.AttemptID], by Driver) (attempt payments.Attempt, fresh bool, err error) {
	type submitted struct {
		attempt payments.Attempt
		fresh   bool
	}
	result, err := db.Replayable(ctx, s.db, "bookings.SubmitCharge", func(ctx context.Context, tx pgx.Tx) (submitted, error) {
		hold, attempt, now, err := lockAttempt(ctx, tx, at)
		if err != nil || attempt.State != payments.AttemptStateCreated {
			return submitted{attempt: attempt}, err
		}
		if hold.State != inventory.HoldStateProcessing || !now.Before(hold.Deadline) {
			_, err := s.declineTx(ctx, tx, hold, attempt, payments.Outcome{Account: attempt.Account, DeclineCode: "not_sent"}, by, now)
			attempt.State = payments.AttemptStateDeclined
			return submitted{attempt: attempt}, err
		}
		if err := payments.SubmitTx(ctx, tx, attempt, now); err != nil {
			return submitted{}, err
		}
		attempt.State = payments.AttemptStateSubmitted
		return submitted{attempt: attempt, fresh: true}, nil
	})
	return result.attempt, result.fresh, err
}

// ask calls the provider with no transaction open. A first submission charges. Later ones look the
// charge up first, and send it again under the same key only when the provider has not seen it
// while the hold can still be bought. What still waits when it cannot is cancelled, so that nobody
// pays for nothing.
func (s *Service) ask(ctx context.Context, gateway payments.Gateway, attempt payments.Attempt, fresh bool) (payments.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	if !fresh {
		outcome, err := gateway.LookUp(ctx, attempt.Account, attempt.ID.String())
		if outcome.State != payments.OutcomeStateNotFound && outcome.State != payments.OutcomeStatePending {
			return outcome, err
		}
		hold, now, err := s.holdOf(ctx, attempt)
		if err != nil {
			return payments.Outcome{}, err
		}
		over := hold.State != inventory.HoldStateProcessing || !now.Before(hold.Deadline)
		switch {
		case outcome.State == payments.OutcomeStateNotFound && over:
			return s.giveUp(ctx, gateway, attempt, now)
		case outcome.State == payments.OutcomeStateNotFound:
			// It is sent once more.
		case over && outcome.RedirectURL != "", !hold.StateAt(now).Live():
			return cancelCharge(ctx, gateway, attempt, "cancelled")
		default:
			return outcome, nil
		}
	}
	outcome, err := gateway.Charge(ctx, chargeRequest(attempt))
	if errors.Is(err, payments.ErrRejected) && fresh {
		// Nothing was sent under this key before, and this call moved no money.
		return payments.Outcome{State: payments.OutcomeStateDeclined, Account: attempt.Account, DeclineCode: "rejected"}, nil
	}
	return outcome, err
}

// chargeRequest is the same for every call under an attempt's key.
func chargeRequest(attempt payments.Attempt) payments.ChargeRequest {
	request := payments.ChargeRequest{
		Account: attempt.Account, Key: attempt.ID.String(), Reference: attempt.Reference(), Amount: attempt.Amount,
		MethodToken: attempt.MethodToken, Capture: attempt.Capture, Description: "Booking",
	}
	if attempt.ReturnURL != "" {
		request.Hosted = &payments.HostedPage{ReturnURL: attempt.ReturnURL}
		if attempt.PayUntil != nil {
			request.Hosted.ExpiresAt = *attempt.PayUntil
		}
	}
	return request
}

// giveUp ends a charge that the provider has not seen and that is not wanted any more. Where the
// provider cannot see to it that a call still on its way does nothing, that is waited for.
func (s *Service) giveUp(ctx context.Context, gateway payments.Gateway, attempt payments.Attempt, now time.Time) (payments.Outcome, error) {
	outcome, err := cancelCharge(ctx, gateway, attempt, "not_received")
	switch {
	case err != nil || outcome.State != payments.OutcomeStateNotFound:
		return outcome, err
	case attempt.SubmittedAt != nil && now.Sub(*attempt.SubmittedAt) < notReceivedAfter:
		return payments.Outcome{}, errors.New("the provider has not seen the charge, which may still be on its way")
	}
	return payments.Outcome{State: payments.OutcomeStateDeclined, Account: attempt.Account, DeclineCode: "not_received"}, nil
}

func (s *Service) holdOf(ctx context.Context, attempt payments.Attempt) (inventory.Hold, time.Time, error) {
	hold, err := inventory.GetHold(ctx, s.db.Pool(), attempt.Tenant, inventory.HoldID{Region: attempt.ID.Region, UUID: attempt.Hold})
	if err != nil {
		return inventory.Hold{}, time.Time{}, err
	}
	now, err := inventory.Now(ctx, s.db.Pool())
	return hold, now, err
}

// apply records what is known of an attempt, in a transaction of its own.
func (s *Service) apply(ctx context.Context, at payments.Located[payments.AttemptID], outcome payments.Outcome, by Driver) error {
	_, err := db.Replayable(ctx, s.db, "bookings.ApplyPayment", func(ctx context.Context, tx pgx.Tx) (payments.EventResult, error) {
		return s.applyTx(ctx, tx, at, outcome, by)
	})
	if outcome.State == payments.OutcomeStateAuthorized {
		s.config.AfterStep("authorize")
	} else {
		s.config.AfterStep("apply")
	}
	if !errors.Is(err, errMismatch) {
		return err
	}
	s.config.Logger.ErrorContext(ctx, "a provider's answer does not fit its payment; a person has to look", "attempt", at.ID.String())
	if err := s.keepAnswer(ctx, at, outcome); err != nil {
		return err
	}
	return s.apply(ctx, at, payments.Outcome{State: payments.OutcomeStateUnknown}, by)
}

// lockAttempt locks a hold and its attempt, in this order, and reads the clock after both. An
// attempt is never locked for a change without its hold, so nobody can wait for it while holding
// the units that its holder goes on to lock.
func lockAttempt(ctx context.Context, tx pgx.Tx, at payments.Located[payments.AttemptID]) (hold inventory.Hold, attempt payments.Attempt, now time.Time, err error) {
	// The hold's id never changes, so it may be read before the hold is locked.
	if attempt, err = payments.Get(ctx, tx, at.Tenant, at.ID); err != nil {
		return hold, attempt, now, err
	}
	if hold, err = inventory.LockHold(ctx, tx, at.Tenant, inventory.HoldID{Region: at.ID.Region, UUID: attempt.Hold}); err != nil {
		return hold, attempt, now, err
	}
	if attempt, err = payments.Lock(ctx, tx, at.Tenant, at.ID); err != nil {
		return hold, attempt, now, err
	}
	now, err = inventory.Now(ctx, tx)
	return hold, attempt, now, err
}

// applyTx is the decision about a payment's outcome: under the locks of the hold and the attempt,
// by the clock read after them.
func (s *Service) applyTx(ctx context.Context, tx pgx.Tx, at payments.Located[payments.AttemptID], outcome payments.Outcome, by Driver) (payments.EventResult, error) {
	hold, attempt, now, err := lockAttempt(ctx, tx, at)
	if err != nil {
		return "", err
	}
	if attempt.State == payments.AttemptStateSucceeded {
		return payments.EventAlreadyKnown, nil
	}
	switch outcome.State {
	case payments.OutcomeStateApproved:
		return s.succeedTx(ctx, tx, hold, attempt, outcome, by, now)
	case payments.OutcomeStateDeclined:
		return s.declineTx(ctx, tx, hold, attempt, outcome, by, now)
	case payments.OutcomeStateAuthorized:
		return authorizeTx(ctx, tx, attempt, outcome, now)
	case payments.OutcomeStateUnknown, payments.OutcomeStatePending, payments.OutcomeStateNotFound:
	}
	if !attempt.State.Open() {
		return payments.EventAlreadyKnown, nil
	}
	redirect := attempt.RedirectURL
	if outcome.State == payments.OutcomeStatePending && len(outcome.RedirectURL) <= maxURLLength {
		redirect = outcome.RedirectURL
	}
	return payments.EventApplied, payments.CheckLaterTx(ctx, tx, attempt, redirect, now)
}

// succeedTx sells the hold to its payer when it may still be sold, and otherwise keeps the success
// as orphaned and requests its one refund. A newer owner is never displaced.
func (s *Service) succeedTx(ctx context.Context, tx pgx.Tx, hold inventory.Hold, attempt payments.Attempt, outcome payments.Outcome, by Driver, now time.Time) (payments.EventResult, error) {
	if outcome.Account != attempt.Account || outcome.Captured.Currency != attempt.Amount.Currency {
		return payments.EventMismatch, errMismatch
	}
	if hold.Confirmable(now) && outcome.Captured == attempt.Amount {
		if err := s.confirmTx(ctx, tx, hold, now); err != nil {
			return "", err
		}
		if _, err := payments.SucceedTx(ctx, tx, attempt, payments.DispositionApplied, outcome, now); err != nil {
			return "", err
		}
		return payments.EventApplied, mendedAttemptTx(ctx, tx, RepairConfirmed, by, attempt, now)
	}
	reason := "the units were no longer available"
	if hold.Confirmable(now) {
		reason = "the captured amount was not the price"
	}
	if err := endPaymentTx(ctx, tx, hold, attempt, now); err != nil {
		return "", err
	}
	attempt, err := payments.SucceedTx(ctx, tx, attempt, payments.DispositionOrphaned, outcome, now)
	if err != nil {
		return "", err
	}
	if attempt.Captured.Minor == 0 {
		return payments.EventApplied, nil
	}
	return payments.EventApplied, s.requestRefundTx(ctx, tx, attempt, orphanAction, reason, attempt.Captured, now, now)
}

// endPaymentTx moves a hold out of PROCESSING whose payment has ended without buying it.
func endPaymentTx(ctx context.Context, tx pgx.Tx, hold inventory.Hold, attempt payments.Attempt, now time.Time) error {
	var err error
	switch {
	case hold.State != inventory.HoldStateProcessing:
	case !hold.Confirmable(now):
		// Under policy REFUND the hold is invalid from its deadline; nobody has to wait for its reaping.
		_, err = inventory.ExpireTx(ctx, tx, hold, now)
	case attempt.State.Open():
		// A hold is PROCESSING for its one open attempt, which this was. A late success of an earlier
		// one leaves it alone.
		_, err = inventory.DeclineTx(ctx, tx, hold, now)
	}
	return err
}

func (s *Service) declineTx(ctx context.Context, tx pgx.Tx, hold inventory.Hold, attempt payments.Attempt, outcome payments.Outcome, by Driver, now time.Time) (payments.EventResult, error) {
	if outcome.Account != attempt.Account {
		return payments.EventMismatch, errMismatch
	}
	if !attempt.State.Open() {
		return payments.EventAlreadyKnown, nil
	}
	// A hold is PROCESSING for its one open attempt, which this is.
	if hold.State == inventory.HoldStateProcessing {
		if _, err := inventory.DeclineTx(ctx, tx, hold, now); err != nil {
			return "", err
		}
	}
	if err := payments.DeclineTx(ctx, tx, attempt, outcome.DeclineCode, now); err != nil {
		return "", err
	}
	return payments.EventApplied, mendedAttemptTx(ctx, tx, RepairReleased, by, attempt, now)
}

// confirmTx turns a locked hold into a booking.
func (s *Service) confirmTx(ctx context.Context, tx pgx.Tx, hold inventory.Hold, now time.Time) error {
	hold, err := inventory.ConfirmTx(ctx, tx, hold, now)
	if err != nil {
		return err
	}
	queries := dbsqlc.New(tx)
	said, err := queries.CheckoutGet(ctx, dbsqlc.CheckoutGetParams{TenantID: hold.Tenant.UUID, Region: string(hold.ID.Region), HoldID: hold.ID.UUID})
	if err != nil {
		return fmt.Errorf("read the checkout of hold %s: %w", hold.ID, err)
	}
	id := BookingID{Region: hold.ID.Region, UUID: uuid.New()}
	conditions, err := inventory.ConditionsTx(ctx, tx, hold)
	if err != nil {
		return err
	}
	timelines, err := json.Marshal(conditions.Timelines)
	if err != nil {
		return fmt.Errorf("encode the cancellation policy of hold %s: %w", hold.ID, err)
	}
	if err := queries.BookingInsert(ctx, dbsqlc.BookingInsertParams{
		TenantID: hold.Tenant.UUID, Region: string(id.Region), ID: id.UUID, HoldID: hold.ID.UUID, ChannelID: hold.Channel.UUID,
		BuyerKind: string(hold.Buyer.Kind), BuyerID: hold.Buyer.ID, Reference: referenceOf(id), PartnerReference: said.PartnerReference,
		ContactName: said.ContactName, ContactEmail: said.ContactEmail, TotalMinor: hold.Total.Minor, Currency: string(hold.Total.Currency), BookedAt: now,
		Cancellation: timelines,
	}); err != nil {
		return fmt.Errorf("store the booking of hold %s: %w", hold.ID, err)
	}
	lines := dbsqlc.BookingLinesInsertParams{
		BookingID: id.UUID, TenantID: hold.Tenant.UUID, Region: string(id.Region), HoldID: hold.ID.UUID, TaxBasisPoints: conditions.TaxBasisPoints,
	}
	for _, line := range hold.Lines {
		lines.Ordinals = append(lines.Ordinals, line.Ordinal)
	}
	lines.TaxMinors = conditions.Taxes
	n, err := queries.BookingLinesInsert(ctx, lines)
	if err != nil {
		return fmt.Errorf("store the booking's lines: %w", err)
	}
	if n != int64(len(hold.Lines)) {
		return fmt.Errorf("store the booking's lines: %d of %d", n, len(hold.Lines))
	}
	return s.emitTx(ctx, tx, hold.Tenant, id.Region, hold.Channel, "booking", id.UUID, 1, "booking.confirmed", now)
}

// referenceLength is how many characters a booking's reference has.
const referenceLength = 12

// referenceOf is the code that people read to each other: the last twelve characters of the id, in
// capitals. Its uniqueness is a constraint; a booking that meets a taken one is made again with
// another id.
func referenceOf(id BookingID) string {
	text := id.String()
	reference := []byte(text[len(text)-referenceLength:])
	for i, c := range reference {
		if c >= 'a' && c <= 'z' {
			reference[i] = c - 'a' + 'A'
		}
	}
	return string(reference)
}
