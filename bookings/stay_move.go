package bookings

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
)

// stayMove is one change of one stay.
type stayMove struct {
	id     uuid.UUID
	kind   ChangeKind
	event  string
	reason string
	waive  bool
	move   inventory.Move
}

// moveStayTx moves a stay of a locked booking, with the money that follows from it.
func (s *Service) moveStayTx(ctx context.Context, tx pgx.Tx, as canceller, booking *Booking, m stayMove) (StayChange, error) {
	hold, err := inventory.GetHold(ctx, tx, booking.Tenant, booking.Hold)
	if err != nil {
		return StayChange{}, err
	}
	m.move.Actor, m.move.Hold = as.actor, hold
	m.move.Ordinal = booking.Lines[len(booking.Lines)-1].Ordinal + 1
	moved, err := inventory.MoveTx(ctx, tx, m.move)
	if err != nil {
		return StayChange{}, err
	}
	// After the locks of everything that is moved.
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return StayChange{}, err
	}
	paid, err := paymentOf(ctx, tx, *booking)
	if err != nil {
		return StayChange{}, err
	}
	change, err := s.reckonMoveTx(ctx, tx, as, *booking, m, moved, paid.Left().Minor, now)
	if err != nil {
		return StayChange{}, err
	}
	if err := s.writeMoveTx(ctx, tx, as, booking, hold, m, moved, change); err != nil {
		return StayChange{}, err
	}
	if err := dropDuesTx(ctx, tx, *booking, change.Credited.Minor, now); err != nil {
		return StayChange{}, err
	}
	change.Booking = *booking
	if err := s.emitTx(ctx, tx, booking.Tenant, booking.ID.Region, booking.Channel, "booking", booking.ID.UUID, booking.Version, m.event, now); err != nil {
		return StayChange{}, err
	}
	if change.Refund.Minor == 0 {
		return change, nil
	}
	attempt, err := payments.Lock(ctx, tx, booking.Tenant, paid.ID)
	if err != nil {
		return StayChange{}, err
	}
	return change, s.requestRefundTx(ctx, tx, attempt, fmt.Sprintf("change:v%d", booking.Version), "the stay was changed", change.Refund, now, now)
}

// reckonMoveTx is the arithmetic of a change: new nights are paid with what the old ones cost. What is
// missing is due. Of what is left over, the fee that cancelling the old nights would cost is kept in
// proportion, and the rest goes back, as far as it is not owed.
func (s *Service) reckonMoveTx(ctx context.Context, tx pgx.Tx, as canceller, booking Booking, m stayMove, moved inventory.Moved, left int64, now time.Time) (StayChange, error) {
	none := money.Amount{Currency: booking.Total.Currency}
	c := StayChange{
		ID: StayChangeID{Region: booking.ID.Region, UUID: m.id}, Kind: m.kind, Item: m.move.Lines[0].Item, At: now, Reason: m.reason, DueState: DueStateNone,
		Returned: none, Added: none, Fee: none, Waived: none, Refund: none, Credited: none, Due: none, Settled: none, Dropped: none,
	}
	stays := int64(0)
	for _, line := range moved.Added {
		c.AddedLines = append(c.AddedLines, line.Ordinal)
		c.Added.Minor += line.Amount.Minor
		stays += line.Amount.Minor
	}
	fees, fee := feesOf(booking, now), int64(0)
	var ended []Line
	for _, line := range moved.Ended {
		c.EndedLines = append(c.EndedLines, line.Ordinal)
		c.Returned.Minor += line.Amount.Minor
		fee += fees[line.Ordinal]
		ended = append(ended, booking.Lines[slices.IndexFunc(booking.Lines, func(l Line) bool { return l.Ordinal == line.Ordinal })])
	}
	if !as.seller && len(ended) > 0 {
		if err := judgeClosed(booking, ended, now); err != nil {
			return StayChange{}, err
		}
		if fee > 0 {
			return StayChange{}, inventory.Refuse(inventory.RefusalChangeClosed, "giving these nights back costs a fee now: only the seller changes the stay")
		}
	}
	over := c.Returned.Minor - stays
	if over <= 0 {
		if c.Due.Minor = -over; c.Due.Minor > 0 {
			c.DueState = DueStateDue
		}
		return c, nil
	}
	if c.Fee.Minor = money.Portion(fee, over, c.Returned.Minor); m.waive {
		c.Waived, c.Fee = c.Fee, none
	}
	owed, err := owedTx(ctx, tx, booking)
	if err != nil {
		return StayChange{}, err
	}
	back := over - c.Fee.Minor
	c.Refund.Minor = min(max(0, back-owed), left)
	c.Credited.Minor = back - c.Refund.Minor
	return c, nil
}

// writeMoveTx stores what a change did to the lines, the total and the cancellation policy of a booking.
func (s *Service) writeMoveTx(ctx context.Context, tx pgx.Tx, as canceller, booking *Booking, hold inventory.Hold, m stayMove, moved inventory.Moved, change StayChange) error {
	if err := endLinesTx(ctx, tx, *booking, change.EndedLines, LineStateChanged, m.id); err != nil {
		return err
	}
	if err := inventory.AddLinesTx(ctx, tx, hold, m.id, moved.Added); err != nil {
		return err
	}
	if err := addLinesTx(ctx, tx, booking, hold, m, moved); err != nil {
		return err
	}
	booking.Total.Minor += change.Added.Minor - change.Returned.Minor
	timelines, err := json.Marshal(booking.Cancellation)
	if err != nil {
		return fmt.Errorf("encode the cancellation policy of booking %s: %w", booking.ID, err)
	}
	if booking.Cancellation == nil {
		timelines = nil
	}
	n, err := dbsqlc.New(tx).BookingChange(ctx, dbsqlc.BookingChangeParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), ID: booking.ID.UUID, Version: booking.Version,
		TotalMinor: booking.Total.Minor, Cancellation: timelines,
	})
	if err != nil {
		return fmt.Errorf("change booking %s: %w", booking.ID, err)
	}
	if n != 1 {
		return fmt.Errorf("change booking %s: its version is not %d", booking.ID, booking.Version)
	}
	booking.Version++
	found := []Booking{*booking}
	found[0].Lines = nil
	if err := withLines(ctx, tx, found); err != nil {
		return err
	}
	*booking = found[0]
	return recordChangeTx(ctx, tx, as, *booking, change)
}

// endLinesTx moves booked lines to a state in which they have given their units back.
func endLinesTx(ctx context.Context, tx pgx.Tx, booking Booking, ordinals []int64, to LineState, by uuid.UUID) error {
	n, err := dbsqlc.New(tx).BookingLinesEnd(ctx, dbsqlc.BookingLinesEndParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), BookingID: booking.ID.UUID, Ordinals: ordinals, ToState: string(to), EndedBy: by,
	})
	if err != nil {
		return fmt.Errorf("end lines of booking %s: %w", booking.ID, err)
	}
	if n != int64(len(ordinals)) {
		return fmt.Errorf("end lines of booking %s: %d of %d were booked", booking.ID, n, len(ordinals))
	}
	return freeRoomsTx(ctx, tx, booking, ordinals, to)
}

// addLinesTx makes the lines that were added to the hold the booking's, with their tax, and puts them under
// a cancellation policy: that of the nights of the same arrival, or else the one in force.
func addLinesTx(ctx context.Context, tx pgx.Tx, booking *Booking, hold inventory.Hold, m stayMove, moved inventory.Moved) error {
	for i := range booking.Cancellation {
		booking.Cancellation[i].Lines = slices.DeleteFunc(booking.Cancellation[i].Lines, func(ordinal int64) bool {
			return slices.ContainsFunc(moved.Ended, func(line inventory.HoldLine) bool { return line.Ordinal == ordinal })
		})
	}
	booking.Cancellation = slices.DeleteFunc(booking.Cancellation, func(t inventory.Timeline) bool { return len(t.Lines) == 0 })
	if len(moved.Added) == 0 {
		return nil
	}
	conditions, err := conditionsOf(ctx, tx, hold, m, moved)
	if err != nil {
		return err
	}
	params := dbsqlc.BookingLinesInsertParams{
		BookingID: booking.ID.UUID, TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), HoldID: hold.ID.UUID, TaxBasisPoints: conditions.TaxBasisPoints,
	}
	for i, line := range moved.Added {
		params.Ordinals = append(params.Ordinals, line.Ordinal)
		params.TaxMinors = append(params.TaxMinors, money.IncludedTax(line.Amount.Minor, conditions.TaxBasisPoints[i]))
	}
	queries := dbsqlc.New(tx)
	n, err := queries.BookingLinesInsert(ctx, params)
	if err == nil && n == int64(len(moved.Added)) {
		n, err = queries.BookingLinesAdded(ctx, dbsqlc.BookingLinesAddedParams{
			TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), BookingID: booking.ID.UUID, Ordinals: params.Ordinals, AddedBy: m.id,
		})
	}
	if err != nil {
		return fmt.Errorf("add lines to booking %s: %w", booking.ID, err)
	}
	if n != int64(len(moved.Added)) {
		return fmt.Errorf("add lines to booking %s: %d of %d", booking.ID, n, len(moved.Added))
	}
	for _, timeline := range conditions.Timelines {
		booking.adopt(timeline, moved.Added[0].Property.UUID)
	}
	return nil
}

// adopt puts lines under a policy of the booking for the same hotel and arrival, or else under this one.
func (b *Booking) adopt(timeline inventory.Timeline, property uuid.UUID) {
	for i, known := range b.Cancellation {
		of := slices.IndexFunc(b.Lines, func(line Line) bool { return slices.Contains(known.Lines, line.Ordinal) })
		if known.StartsAt.Equal(timeline.StartsAt) && of >= 0 && b.Lines[of].Property.UUID == property {
			b.Cancellation[i].Lines = append(b.Cancellation[i].Lines, timeline.Lines...)
			return
		}
	}
	b.Cancellation = append(b.Cancellation, timeline)
}

// conditionsOf are the tax and the policy of added nights. They arrive when the stay does; in another hotel
// when its first night is there.
func conditionsOf(ctx context.Context, tx pgx.Tx, hold inventory.Hold, m stayMove, moved inventory.Moved) (inventory.Conditions, error) {
	sold := hold
	sold.Lines = slices.Clone(moved.Added)
	first := firstNight(moved.Added)
	if moved.Added[0].Property == m.move.Lines[0].Property && moved.Arrives.Before(first) {
		arrival := moved.Added[0]
		arrival.Ordinal, arrival.Night = -1, moved.Arrives
		sold.Lines = append(sold.Lines, arrival)
	}
	conditions, err := inventory.ConditionsTx(ctx, tx, sold)
	if err != nil {
		return inventory.Conditions{}, err
	}
	conditions.TaxBasisPoints = conditions.TaxBasisPoints[:len(moved.Added)]
	for i := range conditions.Timelines {
		conditions.Timelines[i].Lines = slices.DeleteFunc(conditions.Timelines[i].Lines, func(ordinal int64) bool { return ordinal < 0 })
	}
	return conditions, nil
}

func firstNight(lines []inventory.HoldLine) civil.Date {
	first := lines[0].Night
	for _, line := range lines {
		if line.Night.Before(first) {
			first = line.Night
		}
	}
	return first
}

// recordChangeTx stores a change of a booking that has the version after it.
func recordChangeTx(ctx context.Context, tx pgx.Tx, as canceller, booking Booking, c StayChange) error {
	params := dbsqlc.StayChangeInsertParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), ID: c.ID.UUID, BookingID: booking.ID.UUID, BookingVersion: booking.Version,
		Item: c.Item, Kind: string(c.Kind), Currency: string(booking.Total.Currency), AddedMinor: c.Added.Minor, ReturnedMinor: c.Returned.Minor,
		FeeMinor: c.Fee.Minor, WaivedMinor: c.Waived.Minor, RefundMinor: c.Refund.Minor, CreditedMinor: c.Credited.Minor, DueMinor: c.Due.Minor,
		DueState: string(c.DueState), Reason: c.Reason, KeyID: as.actor.Key.UUID, ChangedAt: c.At,
	}
	if !as.actor.Session.IsZero() {
		params.SessionID = &as.actor.Session.UUID
	}
	if err := dbsqlc.New(tx).StayChangeInsert(ctx, params); err != nil {
		return fmt.Errorf("record a change of booking %s: %w", booking.ID, err)
	}
	return nil
}
