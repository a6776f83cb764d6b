package bookings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/civil"
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

// StayChangeKind is a change of a stay of a booking.
type StayChangeKind struct{}

// Prefix of a change's public id.
func (StayChangeKind) Prefix() string { return "change" }

// StayChangeID names a change of a stay.
type StayChangeID = ids.ID[StayChangeKind]

// ChangeKind says why a stay was changed.
type ChangeKind string

// The kinds of change.
const (
	// ChangeKindChange: somebody wanted other nights or another room.
	ChangeKindChange ChangeKind = "CHANGE"
	// ChangeKindUpgrade, ChangeKindSisterHotel and ChangeKindWalk: there was no room. The guests have a
	// better room, one in another hotel of the seller, or were sent elsewhere.
	ChangeKindUpgrade     ChangeKind = "UPGRADE"
	ChangeKindSisterHotel ChangeKind = "SISTER_HOTEL"
	ChangeKindWalk        ChangeKind = "WALK"
)

// DueState says what became of an amount that a change has left to be paid.
type DueState string

// The states of an amount due.
const (
	// DueStateNone: the change left nothing to be paid.
	DueStateNone    DueState = "NONE"
	DueStateDue     DueState = "DUE"
	DueStateSettled DueState = "SETTLED"
	// DueStateWaived: it was waived, or the nights that it was for were cancelled.
	DueStateWaived DueState = "WAIVED"
)

// StayChange is what one change of a stay did, or in a dry run would do. What the ended lines cost and what
// is due is what the added lines cost and what was kept, given back and credited:
// Returned + Due = Added + Fee + Refund + Credited.
type StayChange struct {
	// ID is zero in a dry run.
	ID StayChangeID
	// Booking is as it stands afterwards, also in a dry run.
	Booking Booking
	Kind    ChangeKind
	Item    int64
	At      time.Time
	// EndedLines and AddedLines are the numbers of lines of the booking.
	EndedLines, AddedLines []int64
	Returned, Added        money.Amount
	// Fee is kept of what is given back and not spent on other nights; Waived was not taken.
	Fee, Waived money.Amount
	// Refund goes back. Credited is set against what was still due, or has gone back before.
	Refund, Credited money.Amount
	// Due is to be paid at the hotel. Settled of it was, and Dropped need not be any more.
	Due, Settled, Dropped money.Amount
	DueState              DueState
	// Method and Note say how it was settled, or why it was waived.
	Method    SettleMethod
	Note      string
	SettledAt *time.Time
	Reason    string
	// Compensation is what it cost the hotel; nil for a change that somebody wanted.
	Compensation *Compensation
}

// DryRun says that nothing was done.
func (c StayChange) DryRun() bool { return c.ID.IsZero() }

// Open is what is still to be paid.
func (c StayChange) Open() money.Amount {
	return money.Amount{Minor: c.Due.Minor - c.Settled.Minor - c.Dropped.Minor, Currency: c.Due.Currency}
}

// ChangeStay says what is to become of one stay of a booking. What is nil stays as it is.
type ChangeStay struct {
	RequestKey        string
	Booking           BookingID
	Item              int64
	CheckIn, CheckOut *civil.Date
	RoomType          *inventory.RoomTypeID
	Rooms             *int64
	// ExpectedTotal is the booking's total after the change, and ExpectedRefund the refund, as the caller
	// was told: if they differ from what holds now, nothing is changed.
	ExpectedTotal, ExpectedRefund *money.Amount
	DryRun                        bool
	// WaiveFee gives back what a fee would keep. It is the seller's to decide, and needs a reason.
	WaiveFee bool
	// OverrideReason lifts the restrictions of nights, for who may; "" does not.
	OverrideReason string
	Reason         string
}

func (c ChangeStay) validate() error {
	if err := request.ValidateKey(c.RequestKey); err != nil {
		return err
	}
	if err := validateAmount("expectedTotal", c.ExpectedTotal, 0); err != nil {
		return err
	}
	if err := validateAmount("expectedRefund", c.ExpectedRefund, 0); err != nil {
		return err
	}
	if c.WaiveFee && c.Reason == "" {
		return fault.Invalid("reason", "expected why the fee is waived")
	}
	if c.RoomType != nil && c.RoomType.Region != c.Booking.Region {
		return fault.Invalid("newRoomType", "the room type is of another region than the booking")
	}
	if c.OverrideReason != "" && strings.TrimSpace(c.OverrideReason) == "" {
		return fault.Invalid("overrideReason", "expected why the restrictions are overridden")
	}
	return validateReason(c.Reason)
}

// ChangedPrice is the refusal of a change that would not do what its caller expected.
type ChangedPrice struct {
	*inventory.Refusal
	// Now is what it would do.
	Now StayChange
}

// Unwrap gives the refusal.
func (c *ChangedPrice) Unwrap() error { return c.Refusal }

// ChangeStay moves a stay of a booking to other dates, another room type or another number of rooms, in one
// transaction: what is new is claimed by the rules and the counters of a hold, what is old is given back,
// and what stays keeps its price. Refused, it has changed nothing. A dry run does the same and undoes it.
//
// Guests and partners change bookings of their own as long as what they give back is free to cancel; who
// may change anybody's may do it while the stay is not over, and may waive the fee.
func (s *Service) ChangeStay(ctx context.Context, actor tenants.Actor, input ChangeStay) (StayChange, error) {
	anybodys := s.authorizer.Authorize(actor, policies.ActionBookingChangeAny, actor.Tenant)
	own := s.authorizer.Authorize(actor, policies.ActionBookingChange, actor.Tenant)
	_, refusal := tenants.ReachOf(anybodys)
	if _, err := tenants.ReachOf(own); err != nil && refusal != nil {
		return StayChange{}, err
	}
	if input.WaiveFee && refusal != nil {
		return StayChange{}, refusal
	}
	if err := input.validate(); err != nil {
		return StayChange{}, err
	}
	as := canceller{actor: actor, seller: refusal == nil, may: own}
	if as.seller {
		as.may = anybodys
	}
	var override *inventory.Override
	if input.OverrideReason != "" {
		overrides := s.authorizer.Authorize(actor, policies.ActionHoldOverride, actor.Tenant)
		if _, err := tenants.ReachOf(overrides); err != nil {
			return StayChange{}, err
		}
		override = &inventory.Override{Reason: input.OverrideReason}
	}
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return StayChange{}, err
	}
	id := uuid.New()
	act := func(ctx context.Context, tx pgx.Tx, due []uuid.UUID) (StayChange, error) {
		if !input.DryRun {
			earlier, replayed, err := request.Claim(ctx, tx, identity(actor, "changeStay", input.Booking, input.RequestKey), fingerprint, id)
			if err != nil {
				return StayChange{}, err
			}
			if replayed {
				return s.earlierChangeTx(ctx, tx, as, input.Booking, earlier)
			}
		}
		booking, err := lockBooking(ctx, tx, actor.Tenant, input.Booking, as.sees)
		if err == nil {
			err = within(ctx, tx, actor, as.may, booking)
		}
		if err == nil && override != nil {
			err = within(ctx, tx, actor, s.authorizer.Authorize(actor, policies.ActionHoldOverride, actor.Tenant), booking)
		}
		if err != nil {
			return StayChange{}, err
		}
		stay, err := soldStayOf(booking, input.Item)
		if err != nil {
			return StayChange{}, err
		}
		wanted, err := input.wanted(stay)
		if err != nil {
			return StayChange{}, err
		}
		done, err := s.moveStayTx(ctx, tx, as, &booking, stayMove{
			id: id, kind: ChangeKindChange, event: "booking.changed", reason: input.Reason, waive: input.WaiveFee,
			move: inventory.Move{Lines: stay.lines, Stay: wanted, SameRoom: input.RoomType == nil, SameCount: input.Rooms == nil, Override: override, Due: due},
		})
		if err != nil {
			return StayChange{}, err
		}
		if err := input.judgeExpected(done); err != nil {
			return StayChange{}, err
		}
		return done, input.auditTx(ctx, tx, as, stay, done)
	}
	return s.runMove(ctx, "bookings.changeStay", input.DryRun, act)
}

// bookedStay is what stands of a stay of a booking: the nights of one item.
type bookedStay struct {
	item int64
	// lines are those that are booked, by night.
	lines             []inventory.HoldLine
	checkIn, checkOut civil.Date
	// room and rooms are those of the last night.
	room  inventory.RoomTypeID
	rooms int64
	// plan is the rate plan that the last night was sold as; nil is the standard rate.
	plan *inventory.RatePlanID
}

// soldStayOf finds a stay of a booking.
func soldStayOf(booking Booking, item int64) (bookedStay, error) {
	stay := bookedStay{item: item}
	known := false
	for _, line := range booking.Lines {
		if line.Item != item {
			continue
		}
		if line.Kind != inventory.LineKindNight {
			return bookedStay{}, fault.Invalid("item", "expected a stay; item %d of the booking is of a show", item)
		}
		known = true
		if line.State != LineStateBooked {
			continue
		}
		switch last := line.Night.AddDays(1); {
		case len(stay.lines) == 0 || last.After(stay.checkOut):
			stay.checkOut, stay.room, stay.rooms, stay.plan = last, line.RoomType, line.Quantity, nil
			if plan := line.RatePlan; !plan.IsZero() {
				stay.plan = &plan
			}
		case last == stay.checkOut:
			stay.rooms += line.Quantity
		}
		if len(stay.lines) == 0 || line.Night.Before(stay.checkIn) {
			stay.checkIn = line.Night
		}
		stay.lines = append(stay.lines, line.HoldLine)
	}
	switch {
	case !known:
		return bookedStay{}, fault.Invalid("item", "the booking has no such stay; the item is shown on its lines")
	case len(stay.lines) == 0:
		return bookedStay{}, inventory.Refuse(inventory.RefusalNotBooked, "no night of the stay is still booked")
	}
	return stay, nil
}

// wanted is the stay as it is to be.
func (c ChangeStay) wanted(stay bookedStay) (inventory.StayRequest, error) {
	wanted := inventory.StayRequest{RoomType: stay.room, CheckIn: stay.checkIn, CheckOut: stay.checkOut, Rooms: stay.rooms, RatePlan: stay.plan}
	if c.CheckIn != nil {
		wanted.CheckIn = *c.CheckIn
	}
	if c.CheckOut != nil {
		wanted.CheckOut = *c.CheckOut
	}
	if c.RoomType != nil {
		wanted.RoomType = *c.RoomType
	}
	if c.Rooms != nil {
		wanted.Rooms = *c.Rooms
	}
	return wanted, inventory.CheckStay(wanted)
}

// judgeExpected refuses what the caller was not told.
func (c ChangeStay) judgeExpected(done StayChange) error {
	if (c.ExpectedTotal == nil || *c.ExpectedTotal == done.Booking.Total) && (c.ExpectedRefund == nil || *c.ExpectedRefund == done.Refund) {
		return nil
	}
	done.ID = StayChangeID{}
	return &ChangedPrice{
		Refusal: inventory.Refuse(inventory.RefusalPriceChanged, fmt.Sprintf("the booking would cost %s, with %s to be paid and %s given back", done.Booking.Total, done.Due, done.Refund)),
		Now:     done,
	}
}

// auditTx logs what a seller has changed; what buyers change of their own is no admin's change.
func (c ChangeStay) auditTx(ctx context.Context, tx pgx.Tx, as canceller, was bookedStay, done StayChange) error {
	if !as.seller {
		return nil
	}
	reason := c.Reason
	if reason == "" {
		reason = c.OverrideReason
	}
	now, err := soldStayOf(done.Booking, c.Item)
	if err != nil {
		return err
	}
	return tenants.AuditTx(ctx, tx, as.actor, tenants.Change{
		Action: policies.ActionBookingChangeAny, Resource: done.Booking.ID, Reason: reason,
		Before: was.told(), After: map[string]any{"change": done.ID, "stay": now.told(), "due": done.Due, "refund": done.Refund, "fee": done.Fee, "overridden": c.OverrideReason != ""},
	})
}

// told is a stay as the log of changes keeps it.
func (b bookedStay) told() map[string]any {
	return map[string]any{"item": b.item, "roomType": b.room, "checkIn": b.checkIn, "checkOut": b.checkOut, "rooms": b.rooms}
}

// rehearsedMove carries what a dry run would have done out of the transaction that it undoes.
type rehearsedMove struct{ change StayChange }

// Error is never shown.
func (rehearsedMove) Error() string { return "rolled back after a rehearsal" }

// runMove runs a change of a stay until no hold that is due has what it wants; a dry run is undone.
func (s *Service) runMove(ctx context.Context, name string, dry bool, act func(ctx context.Context, tx pgx.Tx, due []uuid.UUID) (StayChange, error)) (StayChange, error) {
	var done StayChange
	err := s.mover.Run(ctx, func(ctx context.Context, due []uuid.UUID) error {
		var err error
		done, err = db.Replayable(ctx, s.db, name, func(ctx context.Context, tx pgx.Tx) (StayChange, error) {
			change, err := act(ctx, tx, due)
			if err == nil && dry {
				change.ID = StayChangeID{}
				err = rehearsedMove{change: change}
			}
			return change, err
		})
		var rehearsed rehearsedMove
		if errors.As(err, &rehearsed) {
			done, err = rehearsed.change, nil
		}
		return err
	})
	return done, refusable(err)
}

// earlierChangeTx is what was done under a request key before.
func (s *Service) earlierChangeTx(ctx context.Context, tx pgx.Tx, as canceller, id BookingID, change uuid.UUID) (StayChange, error) {
	booking, err := getBooking(ctx, tx, as.actor.Tenant, id, as.sees)
	if err == nil {
		err = within(ctx, tx, as.actor, as.may, booking)
	}
	if err != nil {
		return StayChange{}, err
	}
	return changeOf(ctx, tx, booking, change)
}

// changeOf finds a change of a booking.
func changeOf(ctx context.Context, q dbsqlc.DBTX, booking Booking, id uuid.UUID) (StayChange, error) {
	changes, err := stayChanges(ctx, q, booking)
	if err != nil {
		return StayChange{}, err
	}
	for _, change := range changes {
		if change.ID.UUID == id {
			return change, nil
		}
	}
	return StayChange{}, fault.NotFound("change of a stay")
}
