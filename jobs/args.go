package jobs

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

// Queues keep kinds of work from delaying one another.
const (
	// queuePayments drives charges and refunds: calls to providers, which may be slow.
	queuePayments = "payments"
	// queueSweeps ends due holds and looks after open payments.
	queueSweeps = "sweeps"
	// queueEvents tells others what happened.
	queueEvents = "events"
)

// ChargeArgs drives one payment attempt. It holds public ids only, so that a job's row says nothing
// about the buyer.
type ChargeArgs struct {
	Tenant  string `json:"tenant"`
	Attempt string `json:"attempt"`
}

// Kind names the job in River's table.
func (ChargeArgs) Kind() string { return "charge" }

// RefundArgs drives one refund.
type RefundArgs struct {
	Tenant string `json:"tenant"`
	Refund string `json:"refund"`
}

// Kind names the job in River's table.
func (RefundArgs) Kind() string { return "refund" }

// EventArgs tells others of one event.
type EventArgs struct {
	Tenant string    `json:"tenant"`
	Region string    `json:"region"`
	Event  uuid.UUID `json:"event"`
}

// Kind names the job in River's table.
func (EventArgs) Kind() string { return "event" }

// ExpireArgs sweeps due holds of every tenant.
type ExpireArgs struct{}

// Kind names the job in River's table.
func (ExpireArgs) Kind() string { return "expire_holds" }

// ReconcileArgs looks after every attempt and refund whose outcome is open.
type ReconcileArgs struct{}

// Kind names the job in River's table.
func (ReconcileArgs) Kind() string { return "reconcile_payments" }

// CompareChargesArgs compares the providers' own lists of charges with ours.
type CompareChargesArgs struct{}

// Kind names the job in River's table.
func (CompareChargesArgs) Kind() string { return "compare_charges" }

// insertParams turns a domain's job into River's.
func insertParams(job bookings.Job) (river.InsertManyParams, error) {
	switch j := job.(type) {
	case bookings.ChargeJob:
		return river.InsertManyParams{
			Args:       ChargeArgs{Tenant: j.Attempt.Tenant.String(), Attempt: j.Attempt.ID.String()},
			InsertOpts: &river.InsertOpts{Queue: queuePayments, ScheduledAt: j.After},
		}, nil
	case bookings.RefundJob:
		return river.InsertManyParams{
			Args:       RefundArgs{Tenant: j.Refund.Tenant.String(), Refund: j.Refund.ID.String()},
			InsertOpts: &river.InsertOpts{Queue: queuePayments, ScheduledAt: notBefore(j.After)},
		}, nil
	case bookings.EventJob:
		return river.InsertManyParams{
			Args:       EventArgs{Tenant: j.Tenant.String(), Region: string(j.Region), Event: j.Event},
			InsertOpts: &river.InsertOpts{Queue: queueEvents},
		}, nil
	}
	return river.InsertManyParams{}, fmt.Errorf("no River job for %T", job)
}

// notBefore leaves a job that is due now without a schedule: the database's clock and this
// process's may differ, and a job scheduled a moment ahead waits for River's scheduler.
func notBefore(due time.Time) time.Time {
	const clockDifference = 5 * time.Second
	if time.Until(due) < clockDifference {
		return time.Time{}
	}
	return due
}

func attemptOf(args ChargeArgs) (payments.Located[payments.AttemptID], error) {
	tenant, err := ids.ParseGlobal[tenants.TenantKind](args.Tenant)
	if err != nil {
		return payments.Located[payments.AttemptID]{}, err
	}
	attempt, err := ids.Parse[payments.AttemptKind](args.Attempt)
	return payments.Located[payments.AttemptID]{Tenant: tenant, ID: attempt}, err
}

func refundOf(args RefundArgs) (payments.Located[payments.RefundID], error) {
	tenant, err := ids.ParseGlobal[tenants.TenantKind](args.Tenant)
	if err != nil {
		return payments.Located[payments.RefundID]{}, err
	}
	refund, err := ids.Parse[payments.RefundKind](args.Refund)
	return payments.Located[payments.RefundID]{Tenant: tenant, ID: refund}, err
}
