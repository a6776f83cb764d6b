package bookings

import (
	"context"
	"fmt"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// DepartEarly lets guests who are in the house leave before their stay is over.
type DepartEarly struct {
	RequestKey string
	Booking    BookingID
	Item       int64
	// Date is the day on which they leave: its night, and those after it, are given back.
	Date civil.Date
	// DryRun asks what it would cost now, and does nothing.
	DryRun bool
	// ExpectedFee is what the caller was told: another fee is refused with a *ChangedFee.
	ExpectedFee *money.Amount
	// WaiveFee gives everything back; who may cancel anybody's booking may, for a reason.
	WaiveFee bool
	// Reason is recorded: one line of up to 200 characters.
	Reason string
}

// DepartEarly gives the nights of a stay from a date on back to the stock, keeps the fee of the policy that
// the booking was sold under, and refunds the rest: it is a cancellation of these nights. A dry run says
// what it would do. The guests have come, and the day is not before today at the hotel; checking out is
// another step.
func (s *Service) DepartEarly(ctx context.Context, actor tenants.Actor, input DepartEarly) (Cancellation, error) {
	may := s.authorizer.Authorize(actor, policies.ActionDeskWork, actor.Tenant)
	if _, err := tenants.ReachOf(may); err != nil {
		return Cancellation{}, err
	}
	if input.WaiveFee {
		may = s.authorizer.Authorize(actor, policies.ActionBookingCancelAny, actor.Tenant)
		if _, err := tenants.ReachOf(may); err != nil {
			return Cancellation{}, err
		}
	}
	if !input.Date.IsValid() {
		return Cancellation{}, fault.Invalid("date", "expected a date such as 2027-03-14")
	}
	cancel := Cancel{
		RequestKey: input.RequestKey, Booking: input.Booking, DryRun: input.DryRun, ExpectedFee: input.ExpectedFee, WaiveFee: input.WaiveFee, Reason: input.Reason,
	}
	if err := cancel.validate(); err != nil {
		return Cancellation{}, err
	}
	as := canceller{actor: actor, seller: true, may: may, operation: "departEarly", early: &earlyDeparture{item: input.Item, date: input.Date}}
	return s.cancel(ctx, as, cancel, input)
}

// earlyDeparture chooses the lines that guests who leave early give back.
type earlyDeparture struct {
	item int64
	date civil.Date
}

func (e earlyDeparture) linesTx(ctx context.Context, tx pgx.Tx, booking Booking) ([]int64, error) {
	stay, err := readStayTx(ctx, tx, booking, e.item)
	if err != nil {
		return nil, err
	}
	if stay.State != StayCheckedIn {
		return nil, inventory.Refuse(inventory.RefusalNotCheckedIn, "no guests of the stay are in the house")
	}
	today, _, err := inventory.TodayTx(ctx, tx, booking.Tenant, stay.Property)
	if err != nil {
		return nil, err
	}
	if e.date.Before(today) || !e.date.After(stay.CheckIn) || !e.date.Before(stay.CheckOut) {
		return nil, inventory.Refuse(inventory.RefusalNotDue,
			fmt.Sprintf("the stay is from %s to %s and it is %s at the hotel: guests leave early on a day from today on, after the first night and before the last day", stay.CheckIn, stay.CheckOut, today))
	}
	var ordinals []int64
	for _, line := range stay.lines {
		if line.State == LineStateBooked && !line.Night.Before(e.date) {
			ordinals = append(ordinals, line.Ordinal)
		}
	}
	if len(ordinals) == 0 {
		return nil, inventory.Refuse(inventory.RefusalNotBooked, "no night is left from that day on")
	}
	return ordinals, nil
}
