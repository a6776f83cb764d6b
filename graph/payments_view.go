package graph

import (
	"encoding/base64"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
)

func unresolvedCursor(u bookings.Unresolved) string {
	at := u.Cursor()
	return encodeCursor(listUnresolved, at.Since.UTC().Format(time.RFC3339Nano), base64.RawURLEncoding.EncodeToString([]byte(at.Item)))
}

func unresolvedView(u bookings.Unresolved) generated.UnresolvedPayment {
	view := generated.UnresolvedPayment{
		Reason: generated.UnresolvedReason(u.Reason), Since: u.Since, Amount: amountOrNull(&u.Amount), Provider: u.Provider, Account: u.Account,
		RefundID: refundIDView(u.Refund), Detail: u.Detail, Checks: u.Checks,
	}
	if u.Reason.ForPerson() {
		item := itemView(u.Item)
		view.Item = &item
	}
	if !u.Hold.IsZero() {
		view.HoldID = orNull(u.Hold.String())
	}
	if !u.Attempt.IsZero() {
		view.PaymentID = orNull(u.Attempt.String())
	}
	return view
}

// amountOrNull is no amount where a provider told no currency.
func amountOrNull(amount *money.Amount) *generated.Money {
	if amount == nil || amount.Currency == "" {
		return nil
	}
	view := moneyView(*amount)
	return &view
}

func refundIDView(id *payments.RefundID) *string {
	if id == nil {
		return nil
	}
	return orNull(id.String())
}

func itemView(item bookings.ReviewItem) string {
	return encodeCursor(listReview, string(item.Region), item.Subject, base64.RawURLEncoding.EncodeToString([]byte(item.ID)))
}

func reviewView(r bookings.Review) generated.Review {
	return generated.Review{Item: itemView(r.Item), ResolvedBy: r.ResolvedBy, Note: r.Note, ResolvedAt: r.ResolvedAt}
}

func repairCursor(r bookings.Repair) string {
	return encodeCursor(listRepairs, r.At.UTC().Format(time.RFC3339Nano), r.ID.UUID.String())
}

func repairCountView(c bookings.RepairCount) generated.RepairCount {
	return generated.RepairCount{Kind: generated.RepairKind(c.Kind), Count: c.Count}
}

func repairView(r bookings.Repair) generated.Repair {
	return generated.Repair{
		ID: r.ID.String(), Kind: generated.RepairKind(r.Kind), By: generated.RepairedBy(r.By), At: r.At, HoldID: r.Hold.String(),
		PaymentID: r.Attempt.String(), RefundID: refundIDView(r.Refund),
	}
}

func timelineView(t bookings.Timeline) generated.PaymentTimeline {
	view := generated.PaymentTimeline{HoldID: t.Hold.String(), Steps: each(t.Steps, stepView)}
	if t.Booking != nil {
		view.BookingID = orNull(t.Booking.String())
	}
	return view
}

func stepView(s bookings.Step) generated.PaymentStep {
	view := generated.PaymentStep{
		At: s.At, Kind: generated.PaymentStepKind(s.Kind), RefundID: refundIDView(s.Refund), Amount: amountOrNull(s.Amount), Detail: s.Detail, By: orNull(s.By),
	}
	if s.Attempt != nil {
		view.PaymentID = orNull(s.Attempt.String())
	}
	return view
}
