package graph

import (
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
)

func bookingCursor(b bookings.Booking) string {
	return encodeCursor(listBookings, b.BookedAt.UTC().Format(time.RFC3339Nano), b.ID.UUID.String())
}

func bookingView(b bookings.Booking) generated.Booking {
	return generated.Booking{
		ID: b.ID.String(), Reference: b.Reference, PartnerReference: orNull(b.PartnerReference), State: generated.BookingState(b.State),
		Total: moneyView(b.Total), Contact: generated.Contact{Name: orNull(b.Contact.Name), Email: orNull(b.Contact.Email)},
		BookedAt: b.BookedAt, Version: b.Version, ChannelID: b.Channel.String(), HoldID: b.Hold.String(), Source: b.Hold,
		Lines: each(b.Lines, func(l bookings.Line) generated.BookingLine {
			return generated.BookingLine{
				Ordinal: l.Ordinal, Item: l.Item, State: generated.BookingLineState(l.State), Unit: unitView(l.HoldLine), Amount: moneyView(l.Amount),
				AddedBy: changeIDView(b.ID.Region, l.AddedBy), EndedBy: changeIDView(b.ID.Region, l.EndedBy),
				Tax: moneyView(l.Tax), TaxRate: taxRateView(l.TaxBasisPoints), Fee: moneyView(l.Fee), FeeTax: moneyView(l.FeeTax),
			}
		}),
		CancellationPolicies: each(b.Cancellation, bookingPolicyView), Tax: moneyView(b.Tax()), FeesKept: moneyView(b.FeesKept()),
		CommissionSource: b.Commission(),
	}
}

func checkoutView(o bookings.Outcome) generated.Checkout {
	view := generated.Checkout{Hold: holdView(o.Hold)}
	if o.Attempt != nil {
		payment := paymentView(*o.Attempt)
		view.Payment = &payment
	}
	if o.Booking != nil {
		booking := bookingView(*o.Booking)
		view.Booking = &booking
	}
	return view
}

func checkoutRefusedView(r *inventory.Refusal) generated.CheckoutRefused {
	return generated.CheckoutRefused{Code: generated.RefusalCode(r.Code), Message: r.Message, RetryAfterMs: retryAfterView(r.RetryAfter)}
}

func paymentView(a payments.Attempt) generated.Payment {
	view := generated.Payment{
		ID: a.ID.String(), State: generated.PaymentState(a.State), Amount: moneyView(a.Amount), Captured: moneyView(a.Captured),
		Refunded: moneyView(a.Refunded), DeclineCode: orNull(a.DeclineCode), RedirectURL: orNull(a.RedirectURL), CreatedAt: a.CreatedAt,
		SubmittedAt: a.SubmittedAt, SettledAt: a.SettledAt, Source: a.ID,
	}
	if a.Disposition != "" {
		disposition := generated.PaymentDisposition(a.Disposition)
		view.Disposition = &disposition
	}
	return view
}

func refundView(r payments.Refund) generated.Refund {
	return generated.Refund{
		ID: r.ID.String(), Amount: moneyView(r.Amount), State: generated.RefundState(r.State), Reason: r.Reason,
		FailureCode: orNull(r.FailureCode), RequestedAt: r.RequestedAt, SettledAt: r.SettledAt,
	}
}

func disputeView(d payments.Dispute) generated.Dispute {
	return generated.Dispute{
		ID: d.ID.String(), Amount: moneyView(d.Amount), State: generated.DisputeState(d.State), OpenedAt: d.OpenedAt, ClosedAt: d.ClosedAt,
	}
}

func auditView(a bookings.AuditReport) generated.AuditReport {
	return generated.AuditReport{Ok: a.OK, Checks: each(a.Checks, func(c bookings.AuditCheck) generated.AuditCheck {
		examples := c.Examples
		if examples == nil {
			examples = []string{}
		}
		return generated.AuditCheck{Name: c.Name, Ok: c.OK, Violations: c.Violations, Examples: examples}
	})}
}
