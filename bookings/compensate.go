package bookings

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Compensate takes up a proposal for a stay.
type Compensate struct {
	RequestKey string
	Booking    BookingID
	Item       int64
	Night      civil.Date
	Kind       ChangeKind
	// RoomType is where the guests go; nil for a walk.
	RoomType *inventory.RoomTypeID
	// ExpectedCost is what the proposal said.
	ExpectedCost money.Amount
	// Refund gives walked guests back what they paid for the nights.
	Refund bool
	Reason string
}

func (c Compensate) validate() error {
	if err := request.ValidateKey(c.RequestKey); err != nil {
		return err
	}
	if err := validateAmount("expectedCost", &c.ExpectedCost, 0); err != nil {
		return err
	}
	switch c.Kind {
	case ChangeKindWalk:
		if c.RoomType != nil {
			return fault.Invalid("roomType", "expected none for a walk")
		}
	case ChangeKindUpgrade, ChangeKindSisterHotel:
		if c.RoomType == nil || c.RoomType.Region != c.Booking.Region {
			return fault.Invalid("roomType", "expected the room type of the proposal")
		}
		if c.Refund {
			return fault.Invalid("refund", "only walked guests are given money back")
		}
	case ChangeKindChange:
		return fault.Invalid("kind", "expected UPGRADE, SISTER_HOTEL or WALK")
	}
	if !c.Night.IsValid() {
		return fault.Invalid("night", "expected a date such as 2027-03-14")
	}
	if c.Reason == "" {
		return fault.Invalid("reason", "expected why there is no room")
	}
	return validateReason(c.Reason)
}

// Compensate carries a proposal out, all of it or nothing: the rooms of another type or hotel are claimed
// at no charge, and the old ones given back; or the nights are given back, and the guests walked. What it
// costs is recorded. A proposal whose rooms are gone, that would cost something else, or of a night that
// has room again, is refused.
func (s *Service) Compensate(ctx context.Context, actor tenants.Actor, input Compensate) (StayChange, error) {
	may := s.authorizer.Authorize(actor, policies.ActionCompensate, actor.Tenant)
	if _, err := tenants.ReachOf(may); err != nil {
		return StayChange{}, err
	}
	if err := input.validate(); err != nil {
		return StayChange{}, err
	}
	if input.RoomType != nil {
		// Who moves guests to another hotel does something there, too.
		if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionCompensate, "room type", input.RoomType.Region, input.RoomType.UUID); err != nil {
			return StayChange{}, err
		}
	}
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return StayChange{}, err
	}
	as := canceller{actor: actor, seller: true, may: may}
	id := uuid.New()
	return s.runMove(ctx, "bookings.compensate", false, func(ctx context.Context, tx pgx.Tx, due []uuid.UUID) (StayChange, error) {
		earlier, replayed, err := request.Claim(ctx, tx, identity(actor, "compensate", input.Booking, input.RequestKey), fingerprint, id)
		if err != nil {
			return StayChange{}, err
		}
		if replayed {
			return s.earlierChangeTx(ctx, tx, as, input.Booking, earlier)
		}
		booking, err := lockBooking(ctx, tx, actor.Tenant, input.Booking, everybody)
		if err == nil {
			err = within(ctx, tx, actor, may, booking)
		}
		if err != nil {
			return StayChange{}, err
		}
		return s.compensateTx(ctx, tx, as, booking, input, id, due)
	})
}

func (s *Service) compensateTx(ctx context.Context, tx pgx.Tx, as canceller, booking Booking, input Compensate, id uuid.UUID, due []uuid.UUID) (StayChange, error) {
	stay, err := soldStayOf(booking, input.Item)
	if err != nil {
		return StayChange{}, err
	}
	on := slices.IndexFunc(stay.lines, func(line inventory.HoldLine) bool { return line.Night == input.Night })
	if on < 0 {
		return StayChange{}, fault.Invalid("night", "expected a night of the stay, %s to %s", stay.checkIn, stay.checkOut.AddDays(-1))
	}
	proposals, err := proposalsTx(ctx, tx, booking.Tenant, stay.lines[on].Property, input.Night, &booking)
	if err != nil {
		return StayChange{}, err
	}
	proposal, err := input.chosen(proposals)
	if err != nil {
		return StayChange{}, err
	}
	var done StayChange
	if input.Kind == ChangeKindWalk {
		done, err = s.walkTx(ctx, tx, as, &booking, stay, &proposal, input, id)
	} else {
		done, err = s.moveStayTx(ctx, tx, as, &booking, stayMove{
			id: id, kind: input.Kind, event: "booking.changed", reason: input.Reason,
			move: inventory.Move{
				Lines: stay.lines, From: input.Night, Elsewhere: input.Kind == ChangeKindSisterHotel, KeepPrice: true, Physical: true, SameCount: true,
				Stay:     inventory.StayRequest{RoomType: *input.RoomType, CheckIn: stay.checkIn, CheckOut: stay.checkOut, Rooms: stay.rooms},
				Override: &inventory.Override{Reason: input.Reason}, Due: due,
			},
		})
	}
	if err != nil {
		return StayChange{}, err
	}
	done.Compensation = &proposal.Compensation
	if err := recordCompensationTx(ctx, tx, booking, done); err != nil {
		return StayChange{}, err
	}
	return done, tenants.AuditTx(ctx, tx, as.actor, tenants.Change{
		Action: policies.ActionCompensate, Resource: booking.ID, Reason: input.Reason, Before: stay.told(),
		After: map[string]any{"change": done.ID, "kind": input.Kind, "night": input.Night, "roomType": input.RoomType, "cost": proposal.Cost, "refund": proposal.Refunded},
	})
}

// chosen is the proposal that is taken up, as it is now.
func (c Compensate) chosen(now Proposals) (Proposal, error) {
	if len(now.Overbooked) == 0 {
		return Proposal{}, inventory.Refuse(inventory.RefusalProposalStale, "every room that is booked on the night can be slept in")
	}
	for _, p := range now.Proposals {
		if p.Kind != c.Kind || p.Item != c.Item || c.RoomType != nil && (p.To == nil || *p.To != *c.RoomType) {
			continue
		}
		if p.Cost != c.ExpectedCost {
			return Proposal{}, inventory.Refuse(inventory.RefusalProposalStale, fmt.Sprintf("it would cost %s now", p.Cost))
		}
		return p, nil
	}
	return Proposal{}, inventory.Refuse(inventory.RefusalProposalStale, "there is no such proposal now: the rooms may be gone")
}

// walkTx sends the guests of a stay elsewhere for the nights of a proposal.
func (s *Service) walkTx(ctx context.Context, tx pgx.Tx, as canceller, booking *Booking, stay bookedStay, proposal *Proposal, input Compensate, id uuid.UUID) (StayChange, error) {
	var walked []inventory.HoldLine
	var ordinals []int64
	price := int64(0)
	until := input.Night.AddDays(int(proposal.Nights))
	for _, line := range stay.lines {
		if !line.Night.Before(input.Night) && line.Night.Before(until) {
			walked, ordinals = append(walked, line), append(ordinals, line.Ordinal)
			price += line.Amount.Minor
		}
	}
	if err := inventory.ReturnBookedTx(ctx, tx, booking.Tenant, booking.Hold, walked); err != nil {
		return StayChange{}, err
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return StayChange{}, err
	}
	if err := endLinesTx(ctx, tx, *booking, ordinals, LineStateWalked, id); err != nil {
		return StayChange{}, err
	}
	touched, err := dbsqlc.New(tx).BookingTouch(ctx, dbsqlc.BookingTouchParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), ID: booking.ID.UUID, State: string(booking.State), Version: booking.Version,
	})
	if err != nil {
		return StayChange{}, fmt.Errorf("raise the version of booking %s: %w", booking.ID, err)
	}
	if touched != 1 {
		return StayChange{}, fmt.Errorf("raise the version of booking %s: it is not %d", booking.ID, booking.Version)
	}
	booking.Version++
	for i := range booking.Lines {
		if slices.Contains(ordinals, booking.Lines[i].Ordinal) {
			booking.Lines[i].State, booking.Lines[i].EndedBy = LineStateWalked, &id
		}
	}
	none := money.Amount{Currency: booking.Total.Currency}
	change := StayChange{
		ID: StayChangeID{Region: booking.ID.Region, UUID: id}, Kind: ChangeKindWalk, Item: stay.item, At: now, Reason: input.Reason, EndedLines: ordinals,
		DueState: DueStateNone, Returned: none, Added: none, Fee: none, Waived: none, Refund: none, Credited: none, Due: none, Settled: none, Dropped: none,
	}
	if err := recordChangeTx(ctx, tx, as, *booking, change); err != nil {
		return StayChange{}, err
	}
	change.Booking = *booking
	if err := s.emitTx(ctx, tx, booking.Tenant, booking.ID.Region, booking.Channel, "booking", booking.ID.UUID, booking.Version, "booking.walked", now); err != nil {
		return StayChange{}, err
	}
	if !input.Refund {
		return change, nil
	}
	proposal.Refunded.Minor, err = s.giveBackTx(ctx, tx, as, *booking, id, price, input.Reason)
	return change, err
}

// giveBackTx gives back what walked nights cost, as far as it is left of the payment.
func (s *Service) giveBackTx(ctx context.Context, tx pgx.Tx, as canceller, booking Booking, id uuid.UUID, price int64, reason string) (int64, error) {
	paid, err := paymentOf(ctx, tx, booking)
	if err != nil || paid.ID.IsZero() {
		return 0, err
	}
	attempt, err := payments.Lock(ctx, tx, booking.Tenant, paid.ID)
	if err != nil {
		return 0, err
	}
	amount := money.Amount{Minor: min(price, attempt.Left().Minor), Currency: booking.Total.Currency}
	if amount.Minor == 0 {
		return 0, nil
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return 0, err
	}
	if err := dbsqlc.New(tx).BookingRefundInsert(ctx, dbsqlc.BookingRefundInsertParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), ID: id, BookingID: booking.ID.UUID, AttemptID: attempt.ID.UUID,
		AmountMinor: amount.Minor, Currency: string(amount.Currency), Reason: reason, KeyID: as.actor.Key.UUID, DecidedAt: now,
	}); err != nil {
		return 0, fmt.Errorf("record the refund of walked nights of booking %s: %w", booking.ID, err)
	}
	return amount.Minor, s.requestRefundTx(ctx, tx, attempt, amountAction(id), reason, amount, now, now)
}

func recordCompensationTx(ctx context.Context, tx pgx.Tx, booking Booking, change StayChange) error {
	c := change.Compensation
	params := dbsqlc.CompensationInsertParams{
		TenantID: booking.Tenant.UUID, Region: string(booking.ID.Region), ID: change.ID.UUID, PropertyID: c.Property.UUID, RoomTypeID: c.RoomType.UUID,
		Night: c.Night, Nights: c.Nights, Rooms: c.Rooms, RateDifferenceMinor: c.RateDifference.Minor, LodgingMinor: c.Lodging.Minor,
		GoodwillMinor: c.Goodwill.Minor, TransportMinor: c.Transport.Minor, CostMinor: c.Cost.Minor, RefundMinor: c.Refunded.Minor, Currency: string(c.Cost.Currency),
	}
	if c.To != nil {
		params.ToRoomTypeID = &c.To.UUID
	}
	if err := dbsqlc.New(tx).CompensationInsert(ctx, params); err != nil {
		return fmt.Errorf("record what change %s cost: %w", change.ID, err)
	}
	return nil
}
