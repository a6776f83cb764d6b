package bookings

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// SettleMethod is how an amount due was paid at the hotel.
type SettleMethod string

// The methods.
const (
	SettleMethodCash         SettleMethod = "CASH"
	SettleMethodCard         SettleMethod = "CARD"
	SettleMethodBankTransfer SettleMethod = "BANK_TRANSFER"
	SettleMethodInvoice      SettleMethod = "INVOICE"
)

// maxSettleNote bounds the reference of a settlement, in characters.
const maxSettleNote = 100

// Settle says how an amount due was paid, or with no method that it is waived.
type Settle struct {
	RequestKey string
	Change     StayChangeID
	// Method is "" to waive the amount; then Note is the reason.
	Method SettleMethod
	// Note is the reference of the payment, such as the number of a receipt.
	Note string
}

func (s Settle) validate() error {
	if err := request.ValidateKey(s.RequestKey); err != nil {
		return err
	}
	field := "reference"
	if s.Method == "" {
		field = "reason"
	}
	if n := utf8.RuneCountInString(strings.TrimSpace(s.Note)); n < 1 || utf8.RuneCountInString(s.Note) > maxSettleNote || !utf8.ValidString(s.Note) || strings.ContainsFunc(s.Note, unicode.IsControl) {
		return fault.Invalid(field, "expected one line of 1 to %d characters, without control characters", maxSettleNote)
	}
	return nil
}

// SettleAmountDue records that what a change of a stay has left to be paid was paid at the hotel, or is
// waived. What is not due any more is refused.
func (s *Service) SettleAmountDue(ctx context.Context, actor tenants.Actor, input Settle) (StayChange, error) {
	may := s.authorizer.Authorize(actor, policies.ActionBookingSettle, actor.Tenant)
	if _, err := tenants.ReachOf(may); err != nil {
		return StayChange{}, err
	}
	if err := input.validate(); err != nil {
		return StayChange{}, err
	}
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return StayChange{}, err
	}
	settled, err := db.Replayable(ctx, s.db, "bookings.settleAmountDue", func(ctx context.Context, tx pgx.Tx) (StayChange, error) {
		_, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: input.Change.Region, Key: input.RequestKey, Scope: "settleAmountDue/" + actor.Key.UUID.String(),
		}, fingerprint, input.Change.UUID)
		if err != nil {
			return StayChange{}, err
		}
		of, err := dbsqlc.New(tx).StayChangeBooking(ctx, dbsqlc.StayChangeBookingParams{
			TenantID: actor.Tenant.UUID, Region: string(input.Change.Region), ID: input.Change.UUID,
		})
		if db.IsNoRows(err) {
			return StayChange{}, fault.NotFound("change of a stay")
		}
		if err != nil {
			return StayChange{}, fmt.Errorf("read change %s: %w", input.Change, err)
		}
		booking, err := lockBooking(ctx, tx, actor.Tenant, BookingID{Region: input.Change.Region, UUID: of}, everybody)
		if err == nil {
			err = within(ctx, tx, actor, may, booking)
		}
		if fault.KindOf(err) == fault.KindNotFound {
			return StayChange{}, fault.NotFound("change of a stay")
		}
		if err != nil {
			return StayChange{}, err
		}
		change, err := changeOf(ctx, tx, booking, input.Change.UUID)
		if err != nil || replayed {
			return change, err
		}
		return input.settleTx(ctx, tx, actor, change)
	})
	return settled, refusable(err)
}

func (s Settle) settleTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, change StayChange) (StayChange, error) {
	if change.DueState != DueStateDue {
		return StayChange{}, inventory.Refuse(inventory.RefusalAmountNotDue, "nothing of the change is to be paid any more")
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return StayChange{}, err
	}
	open := change.Open()
	after := change
	if s.Method == "" {
		after.Dropped.Minor += open.Minor
		after.DueState = DueStateWaived
		if after.Settled.Minor > 0 {
			after.DueState = DueStateSettled
		}
	} else {
		after.Settled.Minor += open.Minor
		after.DueState = DueStateSettled
	}
	after.Method, after.Note, after.SettledAt = s.Method, s.Note, &now
	if err := writeDueTx(ctx, tx, change, after, &actor.Key.UUID); err != nil {
		return StayChange{}, err
	}
	return after, tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionBookingSettle, Resource: change.Booking.ID, Reason: s.Note,
		Before: map[string]any{"due": open}, After: map[string]any{"change": change.ID, "state": after.DueState, "method": s.Method},
	})
}

// writeDueTx stores what became of the amount due of a change.
func writeDueTx(ctx context.Context, tx pgx.Tx, before, after StayChange, by *uuid.UUID) error {
	n, err := dbsqlc.New(tx).StayChangeSettle(ctx, dbsqlc.StayChangeSettleParams{
		TenantID: before.Booking.Tenant.UUID, Region: string(before.ID.Region), ID: before.ID.UUID, Settled: after.Settled.Minor - before.Settled.Minor,
		Dropped: after.Dropped.Minor - before.Dropped.Minor, DueState: string(after.DueState), SettleMethod: string(after.Method), SettleNote: after.Note,
		SettledBy: by, SettledAt: after.SettledAt,
	})
	if err != nil {
		return fmt.Errorf("settle change %s: %w", before.ID, err)
	}
	if n != 1 {
		return fmt.Errorf("settle change %s: it is not due", before.ID)
	}
	return nil
}

// owedTx is what is still to be paid for a booking.
func owedTx(ctx context.Context, q dbsqlc.DBTX, booking Booking) (int64, error) {
	changes, err := stayChanges(ctx, q, booking)
	owed := int64(0)
	for _, change := range changes {
		owed += change.Open().Minor
	}
	return owed, err
}

// setOffTx sets what a cancellation gives back against what is still owed for the booking: it is owed no
// more, and does not go back.
func (c *Cancellation) setOffTx(ctx context.Context, tx pgx.Tx, left int64) error {
	owed, err := owedTx(ctx, tx, c.Booking)
	if err != nil || owed == 0 {
		return err
	}
	back := c.Refund.Minor + c.Credited.Minor
	c.Refund.Minor = min(max(0, back-owed), left)
	c.Credited.Minor = back - c.Refund.Minor
	return nil
}

// dropDuesTx takes what was credited off what is still owed for a locked booking, the oldest first.
func dropDuesTx(ctx context.Context, tx pgx.Tx, booking Booking, credited int64, now time.Time) error {
	if credited == 0 {
		return nil
	}
	changes, err := stayChanges(ctx, tx, booking)
	if err != nil {
		return err
	}
	for _, change := range changes {
		drop := min(credited, change.Open().Minor)
		if drop == 0 {
			continue
		}
		credited -= drop
		after := change
		after.Dropped.Minor += drop
		if after.Open().Minor == 0 {
			after.DueState, after.SettledAt, after.Note = DueStateWaived, &now, "the nights were given back"
			if after.Settled.Minor > 0 {
				after.DueState = DueStateSettled
			}
		}
		if err := writeDueTx(ctx, tx, change, after, nil); err != nil {
			return err
		}
	}
	return nil
}

// stayChanges are the changes of a booking's stays, the earliest first.
func stayChanges(ctx context.Context, q dbsqlc.DBTX, booking Booking) ([]StayChange, error) {
	rows, err := dbsqlc.New(q).StayChangesOfBooking(ctx, dbsqlc.StayChangesOfBookingParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), BookingID: booking.ID.UUID,
	})
	if err != nil {
		return nil, fmt.Errorf("read the changes of booking %s: %w", booking.ID, err)
	}
	changes := make([]StayChange, len(rows))
	for i, row := range rows {
		changes[i] = stayChangeOf(booking, row)
	}
	return changes, nil
}

func stayChangeOf(booking Booking, row dbsqlc.StayChangesOfBookingRow) StayChange {
	amount := func(minor int64) money.Amount {
		return money.Amount{Minor: minor, Currency: money.Currency(row.Currency)}
	}
	c := StayChange{
		ID: StayChangeID{Region: booking.ID.Region, UUID: row.ID}, Booking: booking, Kind: ChangeKind(row.Kind), Item: row.Item, At: row.ChangedAt,
		Returned: amount(row.ReturnedMinor), Added: amount(row.AddedMinor), Fee: amount(row.FeeMinor), Waived: amount(row.WaivedMinor),
		Refund: amount(row.RefundMinor), Credited: amount(row.CreditedMinor), Due: amount(row.DueMinor), Settled: amount(row.SettledMinor),
		Dropped: amount(row.DroppedMinor), DueState: DueState(row.DueState), Method: SettleMethod(row.SettleMethod), Note: row.SettleNote,
		SettledAt: row.SettledAt, Reason: row.Reason,
	}
	for _, line := range booking.Lines {
		if line.EndedBy != nil && *line.EndedBy == row.ID {
			c.EndedLines = append(c.EndedLines, line.Ordinal)
		}
		if line.AddedBy != nil && *line.AddedBy == row.ID {
			c.AddedLines = append(c.AddedLines, line.Ordinal)
		}
	}
	if row.PropertyID != nil {
		c.Compensation = compensationOf(booking, row)
	}
	return c
}

// StayChangesOf lists the changes of the stays of a booking that the actor may see, the earliest first.
func (s *Service) StayChangesOf(ctx context.Context, actor tenants.Actor, id BookingID) ([]StayChange, error) {
	booking, err := s.Booking(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	changes, err := stayChanges(ctx, s.db.Pool(), booking)
	return changes, db.Classify(err)
}

// DueCursor is where a page of amounts due ended.
type DueCursor struct {
	At time.Time
	ID uuid.UUID
}

// AmountsDue lists changes of stays that have left something to be paid, the longest due first, and says
// whether more follow.
func (s *Service) AmountsDue(ctx context.Context, actor tenants.Actor, region ids.Region, after *DueCursor, limit int) ([]StayChange, bool, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionBookingSettle, actor.Tenant); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > inventory.MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	from := DueCursor{At: time.Unix(0, 0)}
	if after != nil {
		from = *after
	}
	rows, err := dbsqlc.New(s.db.Pool()).StayChangesDue(ctx, dbsqlc.StayChangesDueParams{
		TenantID: actor.Tenant.UUID, Region: string(region), AfterTime: from.At, AfterID: from.ID, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	})
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list what is to be paid: %w", err))
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	found := make([]StayChange, 0, len(rows))
	for _, row := range rows {
		booking, err := getBooking(ctx, s.db.Pool(), actor.Tenant, BookingID{Region: region, UUID: row.BookingID}, everybody)
		if err != nil {
			return nil, false, db.Classify(err)
		}
		change, err := changeOf(ctx, s.db.Pool(), booking, row.ID)
		if err != nil {
			return nil, false, db.Classify(err)
		}
		found = append(found, change)
	}
	return found, more, nil
}
