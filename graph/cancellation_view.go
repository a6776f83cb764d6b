package graph

import (
	"fmt"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
)

// indexed is the path of an element of a list.
func indexed(field string, index int) string { return fmt.Sprintf("%s[%d]", field, index) }

func policyView(p inventory.CancellationPolicy) generated.CancellationPolicy {
	return generated.CancellationPolicy{
		Name: p.Name, CheckInTime: p.CheckIn.String(), FinalFee: feeView(p.Final),
		Steps: each(p.Steps, func(s inventory.CancellationStep) generated.CancellationStep {
			view := generated.CancellationStep{MinutesBefore: s.MinutesBefore, DaysBefore: s.DaysBefore, Fee: feeView(s.Fee)}
			if s.LocalTime != nil {
				at := s.LocalTime.String()
				view.LocalTime = &at
			}
			return view
		}),
	}
}

// timedPolicyView is a policy with the instants of one start.
func timedPolicyView(p inventory.CancellationPolicy, t inventory.Timeline) *generated.CancellationPolicy {
	view := policyView(p)
	for i, step := range t.Steps {
		view.Steps[i].Until = &step.Until
	}
	closes := t.ClosesAt()
	view.ClosesAt = &closes
	return &view
}

func feeView(f inventory.Fee) generated.CancellationFee {
	view := generated.CancellationFee{Kind: generated.CancellationFeeKind(f.Kind)}
	if f.Kind == inventory.FeeKindPercent {
		view.BasisPoints = &f.BasisPoints
		return view
	}
	amount := moneyView(money.Amount{Minor: f.Minor, Currency: f.Currency})
	view.Amount = &amount
	return view
}

func bookingPolicyView(t inventory.Timeline) generated.BookingCancellationPolicy {
	return generated.BookingCancellationPolicy{
		Name: t.Policy, Lines: t.Lines, StartsAt: t.StartsAt, TimeZone: t.Zone, FinalFee: feeView(t.Final), ClosesAt: t.ClosesAt(),
		Steps: each(t.Steps, func(s inventory.TimelineStep) generated.CancellationDeadline {
			return generated.CancellationDeadline{Until: s.Until, Fee: feeView(s.Fee)}
		}),
	}
}

func taxRateView(basisPoints int64) generated.TaxRate {
	return generated.TaxRate{BasisPoints: basisPoints}
}

func cancellationView(c bookings.Cancellation) generated.Cancellation {
	return generated.Cancellation{
		Booking: bookingView(c.Booking), DryRun: c.DryRun(), At: c.At, Fee: moneyView(c.Fee), FeeTax: moneyView(c.FeeTax),
		Refund: moneyView(c.Refund), RefundTax: moneyView(c.RefundTax), AlreadyRefunded: moneyView(c.Credited),
		WaivedFee: moneyView(c.Waived), Reason: orNull(c.Reason),
		Lines: each(c.Lines, func(l bookings.CancelledLine) generated.CancelledLine {
			return generated.CancelledLine{
				Ordinal: l.Ordinal, Price: moneyView(l.Price), Fee: moneyView(l.Fee), Refund: moneyView(l.Refund),
				Tax: moneyView(l.Tax), FeeTax: moneyView(l.FeeTax), RefundTax: moneyView(l.RefundTax),
			}
		}),
	}
}

func failedRefundView(f bookings.FailedRefund) generated.FailedRefund {
	view := generated.FailedRefund{Refund: refundView(f.Refund), PaymentID: f.Attempt.String(), HoldID: f.Hold.String()}
	if f.Booking != nil {
		view.BookingID = idOrNull(*f.Booking)
	}
	if f.ExhaustedAt != nil {
		view.FailedAt = *f.ExhaustedAt
	}
	return view
}
