package bookings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Guests who do not come are first only marked: their nights stay sold, their room stays theirs, and no
// money moves, because they may still come. That the nights which are left are sold to others, and what the
// guests are charged, is a decision of its own: ReleaseNoShow.

// NoShow marks lines of a booking whose guests did not come.
type NoShow struct {
	RequestKey string
	Booking    BookingID
	// Ordinals are the lines; none means every line that is still booked.
	Ordinals []int64
	// History marks what lies in a history that is played again, where the database's clock says nothing.
	History bool
}

// MarkNoShow records that the guests of lines did not come. Of a stay that can be said once the day of
// arrival is over at the hotel, and only of guests who have not checked in. Their units stay sold: see
// ReleaseNoShow.
func (s *Service) MarkNoShow(ctx context.Context, actor tenants.Actor, input NoShow) (Booking, error) {
	may := s.authorizer.Authorize(actor, policies.ActionBookingNoShow, actor.Tenant)
	if _, err := tenants.ReachOf(may); err != nil {
		return Booking{}, err
	}
	if err := request.ValidateKey(input.RequestKey); err != nil {
		return Booking{}, err
	}
	if len(input.Ordinals) > maxOrdinals {
		return Booking{}, fault.Invalid("lines", "expected at most %d", maxOrdinals)
	}
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return Booking{}, err
	}
	marked, err := db.Replayable(ctx, s.db, "bookings.markNoShow", func(ctx context.Context, tx pgx.Tx) (Booking, error) {
		_, replayed, err := request.Claim(ctx, tx, identity(actor, "markNoShow", input.Booking, input.RequestKey), fingerprint, input.Booking.UUID)
		if err != nil {
			return Booking{}, err
		}
		booking, err := lockBooking(ctx, tx, actor.Tenant, input.Booking, everybody)
		if err == nil {
			err = within(ctx, tx, actor, may, booking)
		}
		if err != nil || replayed {
			return booking, err
		}
		chosen, err := choose(booking, input.Ordinals, LineStateBooked)
		if err != nil {
			return Booking{}, err
		}
		if !input.History {
			if err := judgeNoShowTx(ctx, tx, booking, chosen); err != nil {
				return Booking{}, err
			}
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return Booking{}, err
		}
		if err := s.moveTx(ctx, tx, &booking, chosen, LineStateNoShow, string(events.TypeBookingNoShow), now); err != nil {
			return Booking{}, err
		}
		return booking, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionBookingNoShow, Resource: input.Booking, After: map[string]any{"noShow": input.Ordinals},
		})
	})
	return marked, refusable(err)
}

// judgeNoShowTx refuses stays whose day of arrival is not over, and guests who have come.
func judgeNoShowTx(ctx context.Context, tx pgx.Tx, booking Booking, chosen []Line) error {
	stays := staysOf(booking)
	if err := staysTx(ctx, tx, stays); err != nil {
		return err
	}
	for _, stay := range stays {
		if !slices.ContainsFunc(chosen, func(l Line) bool { return l.Kind == inventory.LineKindNight && l.Item == stay.Item }) {
			continue
		}
		today, _, err := inventory.TodayTx(ctx, tx, booking.Tenant, stay.Property)
		if err != nil {
			return err
		}
		if !stay.CheckIn.Before(today) {
			return inventory.Refuse(inventory.RefusalNotDue, fmt.Sprintf("the guests are expected on %s, and that day is not over at the hotel", stay.CheckIn))
		}
		if stay.State == StayCheckedIn || stay.State == StayCheckedOut {
			return inventory.Refuse(inventory.RefusalCheckedIn, "guests of the stay have come")
		}
	}
	return nil
}

// ReleaseNoShow names no-shows whose end is to be settled.
type ReleaseNoShow struct {
	RequestKey string
	Booking    BookingID
	// Item is the stay; nil means every no-show of the booking.
	Item *int64
	// DryRun asks what the release would do now, and does nothing.
	DryRun bool
	// ExpectedFee is what the caller was told: another fee is refused with FEE_CHANGED.
	ExpectedFee *money.Amount
	// WaiveFee gives everything back; who may cancel anybody's booking may, for a reason.
	WaiveFee bool
	// Reason is recorded: one line of up to 200 characters.
	Reason string
}

func (r ReleaseNoShow) validate() error {
	if err := request.ValidateKey(r.RequestKey); err != nil {
		return err
	}
	if err := validateAmount("expectedFee", r.ExpectedFee, 0); err != nil {
		return err
	}
	if r.WaiveFee && r.Reason == "" {
		return fault.Invalid("reason", "expected why the fee is waived")
	}
	return validateReason(r.Reason)
}

// NoShowRelease is what a release did, or in a dry run would do.
type NoShowRelease struct {
	// ID is zero in a dry run.
	ID      uuid.UUID
	Booking Booking
	// At is the instant that chose the fee, by the database's clock.
	At time.Time
	// Released are the lines of nights that others can book again, Past those of nights that are over.
	Released, Past []CancelledLine
	// Fee is what is kept of all of them, Refund the money that goes back, Credited what was given back
	// before, Waived the fee that was not taken: the prices are Fee + Refund + Credited.
	Fee, Refund, Credited, Waived money.Amount
	Reason                        string
}

// DryRun says that nothing was done.
func (r NoShowRelease) DryRun() bool { return r.ID == uuid.Nil }

// ReleaseNoShow ends no-shows: the nights from today on are given back to the stock, once, and of all their
// nights the fee is kept that the booking was sold under; the rest is refunded, or with a waiver all. Lines
// of nights that are over stay marked.
func (s *Service) ReleaseNoShow(ctx context.Context, actor tenants.Actor, input ReleaseNoShow) (NoShowRelease, error) {
	may := s.authorizer.Authorize(actor, policies.ActionBookingNoShow, actor.Tenant)
	if _, err := tenants.ReachOf(may); err != nil {
		return NoShowRelease{}, err
	}
	if input.WaiveFee {
		may = s.authorizer.Authorize(actor, policies.ActionBookingCancelAny, actor.Tenant)
		if _, err := tenants.ReachOf(may); err != nil {
			return NoShowRelease{}, err
		}
	}
	if err := input.validate(); err != nil {
		return NoShowRelease{}, err
	}
	if input.DryRun {
		return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (NoShowRelease, error) {
			booking, err := getBooking(ctx, tx, actor.Tenant, input.Booking, everybody)
			if err == nil {
				err = within(ctx, tx, actor, may, booking)
			}
			if err != nil {
				return NoShowRelease{}, err
			}
			quote, err := quoteNoShowTx(ctx, tx, booking, input)
			return quote.release, err
		})
	}
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return NoShowRelease{}, err
	}
	id := uuid.New()
	done, err := db.Replayable(ctx, s.db, "bookings.releaseNoShow", func(ctx context.Context, tx pgx.Tx) (NoShowRelease, error) {
		earlier, replayed, err := request.Claim(ctx, tx, identity(actor, "releaseNoShow", input.Booking, input.RequestKey), fingerprint, id)
		if err != nil {
			return NoShowRelease{}, err
		}
		booking, err := lockBooking(ctx, tx, actor.Tenant, input.Booking, everybody)
		if err == nil {
			err = within(ctx, tx, actor, may, booking)
		}
		if err != nil {
			return NoShowRelease{}, err
		}
		if replayed {
			return releaseOf(ctx, tx, booking, earlier)
		}
		return s.releaseNoShowTx(ctx, tx, actor, booking, input, id)
	})
	return done, refusable(err)
}

// noShowQuote is a release in its two parts: a cancellation of the nights that are left, and the nights that
// are over, whose lines stand.
type noShowQuote struct {
	release NoShowRelease
	left    *Cancellation
	past    []CancelledLine
	// pastRefund and pastCredited are the parts of the nights that are over.
	pastRefund, pastCredited int64
	paid                     payments.Attempt
}

// quoteNoShowTx is what a release does; it reckons with the arithmetic of cancellations, all lines at once, so
// that the parts are the whole.
func quoteNoShowTx(ctx context.Context, tx pgx.Tx, booking Booking, input ReleaseNoShow) (noShowQuote, error) {
	left, past, err := noShowLinesTx(ctx, tx, booking, input.Item)
	if err != nil {
		return noShowQuote{}, err
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return noShowQuote{}, err
	}
	paid, err := paymentOf(ctx, tx, booking)
	if err != nil {
		return noShowQuote{}, err
	}
	rest := paid.Left().Minor
	// The nights that are over come first: their refund is bounded by what is left of the payment, like
	// that of a cancellation, and the cancellation by what is left then.
	over := reckon(booking, past, rest, now, input.WaiveFee)
	all := over
	q := noShowQuote{past: over.Lines, pastRefund: over.Refund.Minor, pastCredited: over.Credited.Minor, paid: paid}
	q.release = NoShowRelease{
		Booking: booking, At: now, Past: over.Lines, Fee: over.Fee, Refund: over.Refund, Credited: over.Credited, Waived: over.Waived, Reason: input.Reason,
	}
	if len(left) > 0 {
		ahead := reckon(booking, left, rest-over.Refund.Minor, now, input.WaiveFee)
		ahead.Reason = input.Reason
		q.left, q.release.Released = &ahead, ahead.Lines
		q.release.Fee.Minor += ahead.Fee.Minor
		q.release.Refund.Minor += ahead.Refund.Minor
		q.release.Credited.Minor += ahead.Credited.Minor
		q.release.Waived.Minor += ahead.Waived.Minor
	}
	if input.ExpectedFee != nil && *input.ExpectedFee != q.release.Fee {
		all.Fee, all.Refund = q.release.Fee, q.release.Refund
		return noShowQuote{}, &ChangedFee{
			Refusal: inventory.Refuse(inventory.RefusalFeeChanged, fmt.Sprintf("the no-show costs %s and gives %s back", q.release.Fee, q.release.Refund)),
			Now:     all,
		}
	}
	return q, nil
}

// noShowLinesTx are the no-shows that a release is about: those of nights from today at the hotel on, and
// those of nights that are over and not settled yet.
func noShowLinesTx(ctx context.Context, tx pgx.Tx, booking Booking, item *int64) (left, past []Line, err error) {
	settled, err := settledTx(ctx, tx, booking)
	if err != nil {
		return nil, nil, err
	}
	days := map[tenants.PropertyID]civil.Date{}
	for _, line := range booking.Lines {
		if line.State != LineStateNoShow || line.Kind != inventory.LineKindNight || item != nil && line.Item != *item {
			continue
		}
		today, known := days[line.Property]
		if !known {
			if today, _, err = inventory.TodayTx(ctx, tx, booking.Tenant, line.Property); err != nil {
				return nil, nil, err
			}
			days[line.Property] = today
		}
		switch {
		case !line.Night.Before(today):
			left = append(left, line)
		case !slices.Contains(settled, line.Ordinal):
			past = append(past, line)
		}
	}
	if len(left)+len(past) == 0 {
		return nil, nil, inventory.Refuse(inventory.RefusalNotNoShow, "no night is marked as a no-show that is not settled")
	}
	return left, past, nil
}

// settledTx are the lines of a booking whose no-show was settled.
func settledTx(ctx context.Context, tx pgx.Tx, booking Booking) ([]int64, error) {
	rows, err := dbsqlc.New(tx).NoShowLinesOfBooking(ctx, dbsqlc.NoShowLinesOfBookingParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), BookingID: booking.ID.UUID,
	})
	if err != nil {
		return nil, fmt.Errorf("read the settled no-shows of booking %s: %w", booking.ID, err)
	}
	settled := make([]int64, len(rows))
	for i, row := range rows {
		settled[i] = row.Ordinal
	}
	return settled, nil
}

// unsettledTx refuses to cancel what a release has settled: its fee is kept and its rest given back.
func unsettledTx(ctx context.Context, tx pgx.Tx, booking Booking, chosen []Line) error {
	if !slices.ContainsFunc(chosen, func(l Line) bool { return l.State == LineStateNoShow }) {
		return nil
	}
	settled, err := settledTx(ctx, tx, booking)
	if err != nil {
		return err
	}
	for _, line := range chosen {
		if slices.Contains(settled, line.Ordinal) {
			return inventory.Refuse(inventory.RefusalNotBooked, fmt.Sprintf("line %d was settled as a no-show", line.Ordinal))
		}
	}
	return nil
}

func (s *Service) releaseNoShowTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, booking Booking, input ReleaseNoShow, id uuid.UUID) (NoShowRelease, error) {
	q, err := quoteNoShowTx(ctx, tx, booking, input)
	if err != nil {
		return NoShowRelease{}, err
	}
	done := q.release
	done.ID = id
	params := dbsqlc.NoShowReleaseInsertParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), ID: id, BookingID: booking.ID.UUID, Currency: string(booking.Total.Currency),
		FeeMinor: done.Fee.Minor, RefundMinor: done.Refund.Minor, CreditedMinor: done.Credited.Minor, WaivedMinor: done.Waived.Minor,
		Reason: done.Reason, ReleasedAt: done.At,
	}
	if q.left != nil {
		cancellation := uuid.NewSHA1(id, []byte("cancellation"))
		// What is logged is the release as a whole, below.
		ahead, err := s.cancelQuotedTx(ctx, tx, canceller{actor: actor, operation: "releaseNoShow"}, booking, *q.left, q.paid, cancellation)
		if err != nil {
			return NoShowRelease{}, err
		}
		booking, params.CancellationID = ahead.Booking, &cancellation
	}
	if err := s.touchTx(ctx, tx, &booking, string(events.TypeBookingNoShowSettled), done.At); err != nil {
		return NoShowRelease{}, err
	}
	params.BookingVersion = booking.Version
	if err := s.settleTx(ctx, tx, actor, booking, q, params); err != nil {
		return NoShowRelease{}, err
	}
	done.Booking = booking
	return done, tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionBookingNoShow, Resource: booking.ID, Reason: done.Reason,
		After: map[string]any{"released": id, "nights": len(done.Released), "fee": done.Fee, "refund": done.Refund, "waived": done.Waived},
	})
}

// settleTx stores a release and gives back what nights that are over cost more than their fee: the lines
// stand, so it is a refund of an amount, as any other.
func (s *Service) settleTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, booking Booking, q noShowQuote, params dbsqlc.NoShowReleaseInsertParams) error {
	queries := dbsqlc.New(tx)
	if err := queries.NoShowReleaseInsert(ctx, params); err != nil {
		return fmt.Errorf("record the release of booking %s: %w", booking.ID, err)
	}
	if len(q.past) == 0 {
		return nil
	}
	lines := dbsqlc.NoShowLinesInsertParams{TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), BookingID: booking.ID.UUID, ReleaseID: params.ID}
	for _, line := range q.past {
		lines.Ordinals = append(lines.Ordinals, line.Ordinal)
		lines.AmountMinors = append(lines.AmountMinors, line.Price.Minor)
		lines.FeeMinors = append(lines.FeeMinors, line.Fee.Minor)
	}
	if _, err := queries.NoShowLinesInsert(ctx, lines); err != nil {
		return fmt.Errorf("record the settled no-shows of booking %s: %w", booking.ID, err)
	}
	if q.pastRefund == 0 {
		return nil
	}
	attempt, err := payments.Lock(ctx, tx, booking.Tenant, q.paid.ID)
	if err != nil {
		return err
	}
	reason, amount := "the guests did not come", money.Amount{Minor: q.pastRefund, Currency: booking.Total.Currency}
	if params.Reason != "" {
		reason = params.Reason
	}
	if err := queries.BookingRefundInsert(ctx, dbsqlc.BookingRefundInsertParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), ID: params.ID, BookingID: booking.ID.UUID, AttemptID: attempt.ID.UUID,
		AmountMinor: amount.Minor, Currency: string(amount.Currency), Reason: reason, KeyID: actor.Key.UUID, DecidedAt: params.ReleasedAt,
	}); err != nil {
		return fmt.Errorf("record the refund of a no-show of booking %s: %w", booking.ID, err)
	}
	return s.requestRefundTx(ctx, tx, attempt, amountAction(params.ID), reason, amount, params.ReleasedAt, params.ReleasedAt)
}

// releaseOf reads what was done under a request key before.
func releaseOf(ctx context.Context, tx pgx.Tx, booking Booking, id uuid.UUID) (NoShowRelease, error) {
	queries, region := dbsqlc.New(tx), string(booking.ID.Region)
	row, err := queries.NoShowReleaseGet(ctx, dbsqlc.NoShowReleaseGetParams{TenantID: booking.Tenant.UUID, Region: region, ID: id})
	if err != nil {
		return NoShowRelease{}, fmt.Errorf("read the earlier release of booking %s: %w", booking.ID, err)
	}
	amount := func(minor int64) money.Amount {
		return money.Amount{Minor: minor, Currency: money.Currency(row.Currency)}
	}
	done := NoShowRelease{
		ID: id, Booking: booking, At: row.ReleasedAt, Fee: amount(row.FeeMinor), Refund: amount(row.RefundMinor), Credited: amount(row.CreditedMinor),
		Waived: amount(row.WaivedMinor), Reason: row.Reason,
	}
	if row.CancellationID != nil {
		ahead, err := cancellationOf(ctx, tx, booking, *row.CancellationID)
		if err != nil {
			return NoShowRelease{}, err
		}
		done.Released = ahead.Lines
	}
	lines, err := queries.NoShowLinesOfBooking(ctx, dbsqlc.NoShowLinesOfBookingParams{TenantID: booking.Tenant.UUID, Region: region, BookingID: booking.ID.UUID})
	if err != nil {
		return NoShowRelease{}, fmt.Errorf("read the settled no-shows of booking %s: %w", booking.ID, err)
	}
	for _, settled := range lines {
		for _, line := range booking.Lines {
			if settled.ReleaseID != id || line.Ordinal != settled.Ordinal {
				continue
			}
			feeTax := money.Portion(line.Tax.Minor, settled.FeeMinor, line.Amount.Minor)
			done.Past = append(done.Past, CancelledLine{
				Ordinal: line.Ordinal, Price: line.Amount, Fee: amount(settled.FeeMinor), Refund: amount(line.Amount.Minor - settled.FeeMinor),
				Tax: line.Tax, FeeTax: amount(feeTax), RefundTax: amount(line.Tax.Minor - feeTax),
			})
		}
	}
	return done, nil
}
