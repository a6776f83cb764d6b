package bookingstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
)

// CheckoutOf is a sound checkout of a hold with a card of this token.
func CheckoutOf(hold inventory.Hold, token string) bookings.Checkout {
	return bookings.Checkout{
		RequestKey: inventorytest.Key(), Hold: hold.ID, MethodToken: token, ExpectedTotal: hold.Total,
		Contact: bookings.Contact{Name: "Ada Guest", Email: "ada@example.com"}, PartnerReference: "PR-7",
	}
}

// TryPay checks a hold out and returns what the service says.
func (s *Shop) TryPay(buyer inventorytest.Buyer, hold inventory.Hold, token string) (bookings.Outcome, error) {
	return s.Sales.Checkout(s.t.Context(), buyer.Actor, CheckoutOf(hold, token))
}

// Pay checks a hold out, which must not be refused, and says in one line where the sale stands; see
// Standing.
func (s *Shop) Pay(buyer inventorytest.Buyer, hold inventory.Hold, token string) string {
	s.t.Helper()
	outcome, err := s.TryPay(buyer, hold, token)
	if err != nil {
		s.t.Fatalf("refused: %s", s.Explain(err))
	}
	return Standing(outcome)
}

// Standing is the hold's state, the latest attempt's and, if there is one, the booking's, such as
// "CONFIRMED SUCCEEDED/APPLIED BOOKED".
func Standing(outcome bookings.Outcome) string {
	parts := []string{string(outcome.Hold.State)}
	if a := outcome.Attempt; a != nil {
		parts = append(parts, attemptText(*a))
	}
	if outcome.Booking != nil {
		parts = append(parts, string(outcome.Booking.State))
	}
	return strings.Join(parts, " ")
}

func attemptText(a payments.Attempt) string {
	text := string(a.State)
	switch {
	case a.Disposition != payments.DispositionNone:
		text += "/" + string(a.Disposition)
	case a.DeclineCode != "":
		text += "/" + a.DeclineCode
	}
	return text
}

// Sale says in one line what became of a hold, with every attempt and every refund, such as
// "EXPIRED SUCCEEDED/ORPHANED refund 5000 SUCCEEDED".
func (s *Shop) Sale(hold inventory.Hold) string {
	s.t.Helper()
	current, err := s.Inventory.Hold(s.t.Context(), s.Owner, hold.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	parts := []string{string(current.State)}
	attempts := s.Attempts(hold)
	refunds := s.Refunds(hold)
	for _, attempt := range attempts {
		parts = append(parts, attemptText(attempt))
		for _, refund := range refunds[attempt.ID] {
			parts = append(parts, fmt.Sprintf("refund %d %s", refund.Amount.Minor, refund.State))
		}
	}
	booking := s.BookingOf(hold)
	if booking != nil {
		parts = append(parts, string(booking.State))
	}
	return strings.Join(parts, " ")
}

// Attempts are the payment attempts of a hold, oldest first.
func (s *Shop) Attempts(hold inventory.Hold) []payments.Attempt {
	s.t.Helper()
	attempts, err := s.Sales.AttemptsOfHold(s.t.Context(), s.Owner, hold.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return attempts
}

// Attempt is the one payment attempt of a hold, with its tenant.
func (s *Shop) Attempt(hold inventory.Hold) payments.Located[payments.AttemptID] {
	s.t.Helper()
	attempts := s.Attempts(hold)
	if len(attempts) != 1 {
		s.t.Fatalf("%d payment attempts, want 1", len(attempts))
	}
	return payments.Located[payments.AttemptID]{Tenant: s.ID, ID: attempts[0].ID}
}

// Refunds are the refunds of a hold's attempts.
func (s *Shop) Refunds(hold inventory.Hold) map[payments.AttemptID][]payments.Refund {
	s.t.Helper()
	attempts := s.Attempts(hold)
	found := make([]payments.AttemptID, len(attempts))
	for i, attempt := range attempts {
		found[i] = attempt.ID
	}
	refunds, err := s.Sales.RefundsOfAttempts(s.t.Context(), s.Owner, found)
	if err != nil {
		s.t.Fatal(err)
	}
	return refunds
}

// Refund is the one refund of a hold, with its tenant.
func (s *Shop) Refund(hold inventory.Hold) payments.Located[payments.RefundID] {
	s.t.Helper()
	var found []payments.Refund
	for _, refunds := range s.Refunds(hold) {
		found = append(found, refunds...)
	}
	if len(found) != 1 {
		s.t.Fatalf("%d refunds, want 1", len(found))
	}
	return payments.Located[payments.RefundID]{Tenant: s.ID, ID: found[0].ID}
}

// BookingOf is the booking of a hold, or nil.
func (s *Shop) BookingOf(hold inventory.Hold) *bookings.Booking {
	s.t.Helper()
	booking, err := s.Sales.BookingOfHold(s.t.Context(), s.Owner, hold.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return booking
}

// Later lets so much time pass for the cancellation policies that a booking was sold under.
func (s *Shop) Later(booking bookings.BookingID, d time.Duration) {
	s.t.Helper()
	current, err := s.Sales.Booking(s.t.Context(), s.Owner, booking)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range current.Cancellation {
		timeline := &current.Cancellation[i]
		timeline.StartsAt = timeline.StartsAt.Add(-d)
		for k := range timeline.Steps {
			timeline.Steps[k].Until = timeline.Steps[k].Until.Add(-d)
		}
	}
	stored, err := json.Marshal(current.Cancellation)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Exec("UPDATE bookings SET cancellation = $3::jsonb WHERE tenant_id = $1 AND id = $2", booking.UUID, string(stored))
}

// Until lets just so much time pass for a booking that its first show begins, or its first guests are
// due, in so long.
func (s *Shop) Until(booking bookings.BookingID, before time.Duration) {
	s.t.Helper()
	current, err := s.Sales.Booking(s.t.Context(), s.Owner, booking)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Later(booking, current.Cancellation[0].StartsAt.Sub(s.Now())-before)
}

// Due lets just so much time pass for the payments of the tenant that each open one is to be looked
// at.
func (s *Shop) Due() {
	s.t.Helper()
	s.Exec("UPDATE payment_attempts SET next_check_at = now() - interval '1 second' WHERE tenant_id = $1 AND next_check_at IS NOT NULL")
	s.Exec("UPDATE refunds SET next_check_at = now() - interval '1 second' WHERE tenant_id = $1 AND next_check_at IS NOT NULL")
}

// Age lets time pass for the payments of the tenant.
func (s *Shop) Age(d time.Duration) {
	s.t.Helper()
	s.Exec(`UPDATE payment_attempts SET created_at = created_at - $2::interval, submitted_at = submitted_at - $2::interval,
		next_check_at = next_check_at - $2::interval WHERE tenant_id = $1`, d)
	s.Exec("UPDATE refunds SET requested_at = requested_at - $2::interval, next_check_at = next_check_at - $2::interval WHERE tenant_id = $1", d)
}

// Reconcile looks once at every open payment of the tenant, as the reconciler does when their time
// has come. Payments of other shops on the same database are beyond this one's reach.
func (s *Shop) Reconcile() {
	s.t.Helper()
	s.Due()
	if _, err := s.Sales.Reconcile(s.t.Context(), 10_000); err != nil {
		for _, failure := range failures(err) {
			if fault.KindOf(failure) != fault.KindUnavailable || !strings.Contains(failure.Error(), "is not configured on this server") {
				s.t.Errorf("reconcile: %v", failure)
			}
		}
	}
}

func failures(err error) []error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []error{err}
	}
	var all []error
	for _, part := range joined.Unwrap() {
		all = append(all, failures(part)...)
	}
	return all
}

// Settle reconciles until no payment and no refund of the tenant is open.
func (s *Shop) Settle() {
	s.t.Helper()
	s.Eventually("every payment and refund has ended", func() bool {
		s.Reconcile()
		return s.open() == 0
	})
}

func (s *Shop) open() int {
	s.t.Helper()
	var n int
	if err := s.DB.Pool().QueryRow(s.t.Context(), `
		SELECT (SELECT count(*) FROM payment_attempts WHERE tenant_id = $1 AND settled_at IS NULL)
			+ (SELECT count(*) FROM refunds WHERE tenant_id = $1 AND state IN ('REQUESTED', 'SUBMITTED'))`, s.ID.UUID).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// Eventually asks again until the condition holds.
func (s *Shop) Eventually(what string, holds func() bool) {
	s.t.Helper()
	deadline := time.After(Patience)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-deadline:
			s.t.Fatalf("waited %s in vain: %s", Patience, what)
		}
	}
}

// Crash is a bookings.Config.AfterStep that ends whoever runs the named step, the first time, as if
// its process had died there.
func Crash(step string) func(string) {
	var once sync.Once
	return func(at string) {
		if at == step {
			once.Do(runtime.Goexit)
		}
	}
}

// Survive runs what may be ended by Crash, and reports whether it returned.
func Survive(act func()) (returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		act()
		returned = true
	}()
	<-done
	return returned
}
