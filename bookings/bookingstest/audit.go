package bookingstest

import (
	"strings"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
)

// Audit must find nothing wrong with the tenant, and its money must add up: what the provider took
// and did not give back is what the standing lines of paid bookings cost and the fees of cancelled
// ones, less what was given back besides, while nothing is open.
func (s *Shop) Audit() {
	s.t.Helper()
	report, err := s.Sales.Audit(s.t.Context(), &s.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, check := range report.Checks {
		if !check.OK {
			s.t.Errorf("audit: %s:\n%s", check.Name, strings.Join(check.Examples, "\n"))
		}
	}
	if s.open() > 0 {
		return
	}
	for currency, kept := range s.Kept() {
		if sold := s.Sold()[currency]; kept != sold {
			s.t.Errorf("the provider has %d %s, the tenant is due %d", kept, currency, sold)
		}
	}
}

// Kept is what the provider took for the tenant and did not give back, in minor units.
func (s *Shop) Kept() map[money.Currency]int64 {
	kept := s.Provider.CapturedTotal(s.Account)
	for currency, refunded := range s.Provider.RefundedTotal(s.Account) {
		kept[currency] -= refunded
	}
	return kept
}

// Sold is what the lines cost that were not cancelled and the fees of those that were, less what was
// given back besides, in minor units.
func (s *Shop) Sold() map[money.Currency]int64 {
	s.t.Helper()
	rows, err := s.DB.Pool().Query(s.t.Context(), `
		SELECT d.currency, sum(d.minor)::bigint
		FROM (
			SELECT b.currency, l.amount_minor AS minor
			FROM bookings b
			JOIN booking_lines l ON l.tenant_id = b.tenant_id AND l.region = b.region AND l.booking_id = b.id AND l.state NOT IN ('CANCELLED', 'CHANGED')
			WHERE b.tenant_id = $1
			UNION ALL
			SELECT currency, fee_minor + credited_minor AS minor FROM cancellations WHERE tenant_id = $1
			UNION ALL
			SELECT currency, fee_minor + credited_minor - due_minor AS minor FROM stay_changes WHERE tenant_id = $1
			UNION ALL
			SELECT currency, -amount_minor AS minor FROM booking_refunds WHERE tenant_id = $1) AS d
		GROUP BY d.currency`, s.ID.UUID)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	sold := map[money.Currency]int64{}
	for rows.Next() {
		var currency string
		var minor int64
		if err := rows.Scan(&currency, &minor); err != nil {
			s.t.Fatal(err)
		}
		sold[money.Currency(currency)] = minor
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return sold
}

// Events are the types of the events about an entity, each with its version, in the order of the
// versions, such as "1 booking.confirmed".
func (s *Shop) Events(entity [16]byte) []string {
	s.t.Helper()
	rows, err := s.DB.Pool().Query(s.t.Context(),
		"SELECT version::text || ' ' || type FROM outbox_events WHERE tenant_id = $1 AND entity_id = $2::uuid ORDER BY version, type", s.ID.UUID, entity)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	var events []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			s.t.Fatal(err)
		}
		events = append(events, text)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return events
}

// ChargesOf are the provider's charges of an attempt: never more than one.
func (s *Shop) ChargesOf(attempt payments.AttemptID) int {
	n := 0
	for _, charge := range s.Provider.Charges() {
		if charge.Key == attempt.String() {
			n++
		}
	}
	return n
}
