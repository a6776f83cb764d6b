package bookings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

// maxOrdinals bounds the lines that one command names: more than a booking can have.
const maxOrdinals = 1000

// Cancellation is what a cancellation of lines did, or in a dry run would do.
type Cancellation struct {
	// ID is zero in a dry run.
	ID uuid.UUID
	// Booking is as it stands afterwards, in a dry run as it is.
	Booking Booking
	// At is the instant that chose the fee, by the database's clock.
	At    time.Time
	Lines []CancelledLine
	// Fee is what is kept, FeeTax the tax within it. They are the sums of the lines'.
	Fee    money.Amount
	FeeTax money.Amount
	// Refund is the money that goes back, RefundTax the tax within what the lines are due.
	Refund    money.Amount
	RefundTax money.Amount
	// Credited is what the lines are due and was given back before, outside a cancellation, or was taken
	// by a dispute that was lost: their prices are Fee + Refund + Credited.
	Credited money.Amount
	// Waived is the fee that was not taken.
	Waived money.Amount
	Reason string
}

// DryRun says that nothing was done.
func (c Cancellation) DryRun() bool { return c.ID == uuid.Nil }

// CancelledLine is one line of a cancellation: Price is Fee + Refund, and Tax is FeeTax + RefundTax.
type CancelledLine struct {
	Ordinal   int64
	Price     money.Amount
	Fee       money.Amount
	Refund    money.Amount
	Tax       money.Amount
	FeeTax    money.Amount
	RefundTax money.Amount
}

// ChangedFee is the refusal of a cancellation that would not do what its caller expected.
type ChangedFee struct {
	*inventory.Refusal
	// Now is what it would do.
	Now Cancellation
}

// Unwrap gives the refusal.
func (c *ChangedFee) Unwrap() error { return c.Refusal }

// quoteTx is what a cancellation does, and the payment that it refunds from. It is the only place
// that reckons, for a dry run and for the cancellation itself.
func (c canceller) quoteTx(ctx context.Context, tx pgx.Tx, booking Booking, input Cancel) (Cancellation, payments.Attempt, error) {
	if c.early != nil {
		ordinals, err := c.early.linesTx(ctx, tx, booking)
		if err != nil {
			return Cancellation{}, payments.Attempt{}, err
		}
		input.Ordinals = ordinals
	}
	states := []LineState{LineStateBooked}
	if c.seller || len(input.Ordinals) > 0 {
		states = append(states, LineStateNoShow)
	}
	chosen, err := choose(booking, input.Ordinals, states...)
	if err == nil {
		err = unsettledTx(ctx, tx, booking, chosen)
	}
	if err != nil {
		return Cancellation{}, payments.Attempt{}, err
	}
	// In a cancellation the clock is read after the locks of the hold and the booking.
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return Cancellation{}, payments.Attempt{}, err
	}
	if !c.seller {
		if err := judgeClosed(booking, chosen, now); err != nil {
			return Cancellation{}, payments.Attempt{}, err
		}
	}
	paid, err := paymentOf(ctx, tx, booking)
	if err != nil {
		return Cancellation{}, payments.Attempt{}, err
	}
	quote := reckon(booking, chosen, paid.Left().Minor, now, input.WaiveFee)
	if err := quote.setOffTx(ctx, tx, paid.Left().Minor); err != nil {
		return Cancellation{}, payments.Attempt{}, err
	}
	quote.Reason = input.Reason
	if differs := input.ExpectedFee != nil && *input.ExpectedFee != quote.Fee || input.ExpectedRefund != nil && *input.ExpectedRefund != quote.Refund; differs {
		return Cancellation{}, payments.Attempt{}, &ChangedFee{
			Refusal: inventory.Refuse(inventory.RefusalFeeChanged, fmt.Sprintf("the cancellation costs %s and gives %s back", quote.Fee, quote.Refund)),
			Now:     quote,
		}
	}
	return quote, paid, nil
}

// judgeClosed refuses lines that have been used, or may have been.
func judgeClosed(booking Booking, chosen []Line, now time.Time) error {
	for _, line := range chosen {
		var why string
		timeline, ok := booking.timelineOf(line.Ordinal)
		switch {
		case line.State == LineStateNoShow:
			why = "the guests did not come"
		case !ok:
			why = "the booking was sold without a cancellation policy"
		case now.Before(timeline.ClosesAt()):
			continue
		case line.Kind == inventory.LineKindNight:
			why = "the guests were due before now"
		default:
			why = "the show has begun"
		}
		return inventory.Refuse(inventory.RefusalCancellationClosed, fmt.Sprintf("line %d can only be cancelled by the seller: %s", line.Ordinal, why))
	}
	return nil
}

func (b Booking) timelineOf(ordinal int64) (inventory.Timeline, bool) {
	for _, timeline := range b.Cancellation {
		if slices.Contains(timeline.Lines, ordinal) {
			return timeline, true
		}
	}
	return inventory.Timeline{}, false
}

// paymentOf is the payment that bought a booking, or none for one that cost nothing.
func paymentOf(ctx context.Context, tx pgx.Tx, booking Booking) (payments.Attempt, error) {
	if booking.Total.Minor == 0 {
		return payments.Attempt{}, nil
	}
	attempts, err := payments.OfHold(ctx, tx, booking.Tenant, booking.ID.Region, booking.Hold.UUID)
	if err != nil {
		return payments.Attempt{}, err
	}
	for _, attempt := range attempts {
		if attempt.Disposition == payments.DispositionApplied {
			return attempt, nil
		}
	}
	if slices.ContainsFunc(booking.Lines, func(line Line) bool { return line.AddedBy != nil }) {
		// It was sold for nothing, and costs something since its stay was changed.
		return payments.Attempt{}, nil
	}
	return payments.Attempt{}, fmt.Errorf("find the payment of booking %s: none bought it", booking.ID)
}

// reckon is the arithmetic of a cancellation: the fee of each line by the timeline that the booking
// was sold under, the tax in proportion, and of what the lines are due as much as is left of the
// payment.
func reckon(booking Booking, chosen []Line, left int64, now time.Time, waive bool) Cancellation {
	currency := booking.Total.Currency
	amount := func(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: currency} }
	fees := feesOf(booking, now)
	q := Cancellation{
		Booking: booking, At: now, Fee: amount(0), FeeTax: amount(0), Refund: amount(0), RefundTax: amount(0), Credited: amount(0), Waived: amount(0),
	}
	for _, line := range chosen {
		fee := fees[line.Ordinal]
		if waive {
			q.Waived.Minor += fee
			fee = 0
		}
		feeTax := money.Portion(line.Tax.Minor, fee, line.Amount.Minor)
		q.Lines = append(q.Lines, CancelledLine{
			Ordinal: line.Ordinal, Price: line.Amount, Fee: amount(fee), Refund: amount(line.Amount.Minor - fee),
			Tax: line.Tax, FeeTax: amount(feeTax), RefundTax: amount(line.Tax.Minor - feeTax),
		})
		q.Fee.Minor += fee
		q.FeeTax.Minor += feeTax
		q.Refund.Minor += line.Amount.Minor - fee
		q.RefundTax.Minor += line.Tax.Minor - feeTax
	}
	if over := q.Refund.Minor - left; over > 0 {
		q.Refund.Minor, q.Credited.Minor = left, over
	}
	return q
}

// feesOf are the fees that each line of a booking costs now. They are shared over all lines of a
// timeline, cancelled or not, so that the order of cancellations makes no difference.
func feesOf(booking Booking, now time.Time) map[int64]int64 {
	lines := make(map[int64]Line, len(booking.Lines))
	for _, line := range booking.Lines {
		lines[line.Ordinal] = line
	}
	fees := map[int64]int64{}
	for _, timeline := range booking.Cancellation {
		priced := make([]inventory.PricedUnits, len(timeline.Lines))
		for i, ordinal := range timeline.Lines {
			priced[i] = inventory.PricedUnits{Quantity: lines[ordinal].Quantity, Minor: lines[ordinal].Amount.Minor}
		}
		for i, fee := range timeline.FeeAt(now).Shares(priced) {
			fees[timeline.Lines[i]] = fee
		}
	}
	return fees
}

// chosen are the lines of the booking that the cancellation is about.
func (c Cancellation) chosen(booking Booking) []Line {
	var chosen []Line
	for _, cancelled := range c.Lines {
		for _, line := range booking.Lines {
			if line.Ordinal == cancelled.Ordinal {
				chosen = append(chosen, line)
			}
		}
	}
	return chosen
}

// recordTx stores the cancellation of a booking whose lines have been moved, and shows its fees on
// them.
func (c Cancellation) recordTx(ctx context.Context, tx pgx.Tx, booking *Booking, actor tenants.Actor) error {
	queries := dbsqlc.New(tx)
	header := dbsqlc.CancellationInsertParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), ID: c.ID, BookingID: booking.ID.UUID, BookingVersion: booking.Version,
		Currency: string(booking.Total.Currency), FeeMinor: c.Fee.Minor, RefundMinor: c.Refund.Minor, CreditedMinor: c.Credited.Minor,
		WaivedMinor: c.Waived.Minor, Reason: c.Reason, KeyID: actor.Key.UUID, CancelledAt: c.At,
	}
	if !actor.Session.IsZero() {
		header.SessionID = &actor.Session.UUID
	}
	if err := queries.CancellationInsert(ctx, header); err != nil {
		return fmt.Errorf("record the cancellation of booking %s: %w", booking.ID, err)
	}
	lines := dbsqlc.CancelledLinesInsertParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), BookingID: booking.ID.UUID, CancellationID: c.ID,
	}
	for _, line := range c.Lines {
		lines.Ordinals = append(lines.Ordinals, line.Ordinal)
		lines.AmountMinors = append(lines.AmountMinors, line.Price.Minor)
		lines.TaxMinors = append(lines.TaxMinors, line.Tax.Minor)
		lines.FeeMinors = append(lines.FeeMinors, line.Fee.Minor)
		lines.FeeTaxMinors = append(lines.FeeTaxMinors, line.FeeTax.Minor)
		for i := range booking.Lines {
			if booking.Lines[i].Ordinal == line.Ordinal {
				booking.Lines[i].Fee, booking.Lines[i].FeeTax, booking.Lines[i].Cancellation = line.Fee, line.FeeTax, &c.ID
			}
		}
	}
	n, err := queries.CancelledLinesInsert(ctx, lines)
	if err != nil {
		return fmt.Errorf("record the cancelled lines of booking %s: %w", booking.ID, err)
	}
	if n != int64(len(c.Lines)) {
		return fmt.Errorf("record the cancelled lines of booking %s: %d of %d", booking.ID, n, len(c.Lines))
	}
	return nil
}

// cancellationOf reads what was done under a request key before.
func cancellationOf(ctx context.Context, tx pgx.Tx, booking Booking, id uuid.UUID) (Cancellation, error) {
	row, err := dbsqlc.New(tx).CancellationGet(ctx, dbsqlc.CancellationGetParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), ID: id,
	})
	if err != nil {
		return Cancellation{}, fmt.Errorf("read the earlier cancellation of booking %s: %w", booking.ID, err)
	}
	return recorded(booking, row), nil
}

// CancellationsOf lists what was cancelled of a booking that the actor may see, the earliest first.
func (s *Service) CancellationsOf(ctx context.Context, actor tenants.Actor, id BookingID) ([]Cancellation, error) {
	booking, err := s.Booking(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	rows, err := dbsqlc.New(s.db.Pool()).CancellationsOfBooking(ctx, dbsqlc.CancellationsOfBookingParams{
		TenantID: actor.Tenant.UUID, Region: string(id.Region), BookingID: id.UUID,
	})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read the cancellations of booking %s: %w", id, err))
	}
	done := make([]Cancellation, len(rows))
	for i, row := range rows {
		done[i] = recorded(booking, dbsqlc.CancellationGetRow(row))
	}
	return done, nil
}

// recorded is a stored cancellation of a booking; its lines are the booking's.
func recorded(booking Booking, row dbsqlc.CancellationGetRow) Cancellation {
	amount := func(minor int64) money.Amount {
		return money.Amount{Minor: minor, Currency: money.Currency(row.Currency)}
	}
	c := Cancellation{
		ID: row.ID, Booking: booking, At: row.CancelledAt, Fee: amount(row.FeeMinor), FeeTax: amount(0), Refund: amount(row.RefundMinor),
		RefundTax: amount(0), Credited: amount(row.CreditedMinor), Waived: amount(row.WaivedMinor), Reason: row.Reason,
	}
	for _, line := range booking.Lines {
		if line.Cancellation == nil || *line.Cancellation != row.ID {
			continue
		}
		done := CancelledLine{
			Ordinal: line.Ordinal, Price: line.Amount, Fee: line.Fee, Refund: amount(line.Amount.Minor - line.Fee.Minor),
			Tax: line.Tax, FeeTax: line.FeeTax, RefundTax: amount(line.Tax.Minor - line.FeeTax.Minor),
		}
		c.Lines = append(c.Lines, done)
		c.FeeTax.Minor += done.FeeTax.Minor
		c.RefundTax.Minor += done.RefundTax.Minor
	}
	return c
}
