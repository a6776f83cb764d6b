package jobs

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/events"
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
	// queueEvents makes deliveries of events; it calls nobody.
	queueEvents = "events"
	// queueDeliveries calls receivers of webhooks, which are strangers and may be slow.
	queueDeliveries = "deliveries"
	// queueAudits checks invariants: one long read at a time.
	queueAudits = "audits"
	// queueMaintenance tidies up.
	queueMaintenance = "maintenance"
)

// Queues are the names of all queues.
func Queues() []string {
	return []string{queuePayments, queueSweeps, queueEvents, queueDeliveries, queueAudits, queueMaintenance}
}

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

// EventArgs makes the deliveries of one event.
type EventArgs struct {
	Tenant string    `json:"tenant"`
	Region string    `json:"region"`
	Event  uuid.UUID `json:"event"`
}

// Kind names the job in River's table.
func (EventArgs) Kind() string { return "event" }

// DeliverArgs sends what is due to one endpoint from one region.
type DeliverArgs struct {
	Tenant   string `json:"tenant"`
	Region   string `json:"region"`
	Endpoint string `json:"endpoint"`
}

// Kind names the job in River's table.
func (DeliverArgs) Kind() string { return "deliver" }

// DeliverDueArgs finds events and deliveries whose jobs were lost, and retries that are due.
type DeliverDueArgs struct{}

// Kind names the job in River's table.
func (DeliverDueArgs) Kind() string { return "deliver_due" }

// ExpireArgs sweeps due holds of every tenant.
type ExpireArgs struct{}

// Kind names the job in River's table.
func (ExpireArgs) Kind() string { return "expire_holds" }

// ReleaseAllotmentsArgs gives everybody the rest of allotments whose release has come.
type ReleaseAllotmentsArgs struct{}

// Kind names the job in River's table.
func (ReleaseAllotmentsArgs) Kind() string { return "release_allotments" }

// ReconcileArgs looks after every attempt and refund whose outcome is open.
type ReconcileArgs struct{}

// Kind names the job in River's table.
func (ReconcileArgs) Kind() string { return "reconcile_payments" }

// CompareChargesArgs compares the providers' own lists of charges with ours.
type CompareChargesArgs struct{}

// Kind names the job in River's table.
func (CompareChargesArgs) Kind() string { return "compare_charges" }

// AuditArgs checks the invariants of the whole installation.
type AuditArgs struct{}

// Kind names the job in River's table.
func (AuditArgs) Kind() string { return "audit" }

// RetentionArgs deletes what is old enough.
type RetentionArgs struct{}

// Kind names the job in River's table.
func (RetentionArgs) Kind() string { return "retention" }

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

// deliverParams is the job of a lane. It is tried once: what is due stays due in its row, and the sweep
// makes another job. Those of the sweep are unique, so that they do not pile up while none is worked.
func deliverParams(lane events.Lane, unique bool) river.InsertManyParams {
	options := &river.InsertOpts{Queue: queueDeliveries, MaxAttempts: 1}
	if unique {
		options.UniqueOpts = river.UniqueOpts{ByArgs: true, ByState: unfinished()}
	}
	return river.InsertManyParams{
		Args:       DeliverArgs{Tenant: lane.Tenant.String(), Region: string(lane.Region), Endpoint: lane.Endpoint.String()},
		InsertOpts: options,
	}
}

func laneOf(args DeliverArgs) (events.Lane, error) {
	tenant, err := ids.ParseGlobal[tenants.TenantKind](args.Tenant)
	if err != nil {
		return events.Lane{}, err
	}
	region, err := ids.ParseRegion(args.Region)
	if err != nil {
		return events.Lane{}, err
	}
	endpoint, err := ids.ParseGlobal[events.EndpointKind](args.Endpoint)
	return events.Lane{Tenant: tenant, Region: region, Endpoint: endpoint}, err
}

func eventOf(args EventArgs) (tenants.TenantID, events.EventID, error) {
	tenant, err := ids.ParseGlobal[tenants.TenantKind](args.Tenant)
	if err != nil {
		return tenants.TenantID{}, events.EventID{}, err
	}
	region, err := ids.ParseRegion(args.Region)
	return tenant, events.EventID{Region: region, UUID: args.Event}, err
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
