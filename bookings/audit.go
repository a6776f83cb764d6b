package bookings

import (
	"context"
	"fmt"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/tenants"
)

// maxExamples is how many offending ids one check of the audit names.
const maxExamples = 20

// AuditReport is what an audit of the live database found.
type AuditReport struct {
	OK      bool         `json:"ok"`
	Checks  []AuditCheck `json:"checks"`
	Counted AuditCounts  `json:"counted"`
}

// AuditCounts is how much there was to look at: an audit of nothing finds nothing.
type AuditCounts struct {
	Tenants  int64 `json:"tenants"`
	Holds    int64 `json:"holds"`
	Bookings int64 `json:"bookings"`
	// Payments are the attempts to pay, whatever became of them.
	Payments int64 `json:"payments"`
}

// AuditCheck is one invariant and what breaks it.
type AuditCheck struct {
	Name       string   `json:"name"`
	OK         bool     `json:"ok"`
	Violations int64    `json:"violations"`
	Examples   []string `json:"examples,omitempty"`
}

// scope limits an audit to one tenant, or to none.
type scope struct {
	every  bool
	tenant uuid.UUID
}

// violation is how a check names an offender.
func violation(tenant uuid.UUID, region string, words ...any) string {
	return fmt.Sprintf("tenant %s, %s: %s", tenants.TenantID{UUID: tenant}, region, fmt.Sprint(words...))
}

// auditCheck is one invariant, as a query that lists its offenders.
type auditCheck struct {
	name string
	find func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error)
}

// Audit checks the invariants of stock and money in one snapshot of the live database, for one
// tenant or, with nil, for all. It changes nothing and may run while selling goes on. It does not
// ask for permission: it is the operator's.
func (s *Service) Audit(ctx context.Context, tenant *tenants.TenantID) (AuditReport, error) {
	within := scope{every: tenant == nil}
	if tenant != nil {
		within.tenant = tenant.UUID
	}
	return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (AuditReport, error) {
		report := AuditReport{OK: true}
		for _, check := range auditChecks() {
			found, err := check.find(ctx, dbsqlc.New(tx), within)
			if err != nil {
				return AuditReport{}, fmt.Errorf("audit %s: %w", check.name, err)
			}
			result := AuditCheck{Name: check.name, OK: len(found) == 0, Violations: int64(len(found))}
			result.Examples = found[:min(len(found), maxExamples)]
			report.OK = report.OK && result.OK
			report.Checks = append(report.Checks, result)
		}
		counts, err := dbsqlc.New(tx).AuditCounts(ctx, dbsqlc.AuditCountsParams{EveryTenant: within.every, TenantID: within.tenant})
		if err != nil {
			return AuditReport{}, fmt.Errorf("count what was audited: %w", err)
		}
		report.Counted = AuditCounts{Tenants: counts.Tenants, Holds: counts.Holds, Bookings: counts.Bookings, Payments: counts.Payments}
		return report, nil
	})
}

func auditChecks() []auditCheck {
	return []auditCheck{
		{"no seat with two owners", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditSeatOwners(ctx, dbsqlc.AuditSeatOwnersParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditSeatOwnersRow) string {
				return violation(r.TenantID, r.Region, "seat ", text(r.SeatID), " of show ", text(r.ShowID), " has ", r.Owners, " owners")
			})
		}},
		{"every live hold owns all its seats", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditHoldsOwnSeats(ctx, dbsqlc.AuditHoldsOwnSeatsParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditHoldsOwnSeatsRow) string {
				return violation(r.TenantID, r.Region, "hold ", r.ID, " does not own seat ", text(r.SeatID))
			})
		}},
		{"every booking owns all its seats", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditBookingsOwnSeats(ctx, dbsqlc.AuditBookingsOwnSeatsParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditBookingsOwnSeatsRow) string {
				return violation(r.TenantID, r.Region, "booking ", r.ID, " does not own seat ", text(r.SeatID))
			})
		}},
		{"every taken seat has a live line", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditSeatsHaveLines(ctx, dbsqlc.AuditSeatsHaveLinesParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditSeatsHaveLinesRow) string {
				return violation(r.TenantID, r.Region, "seat ", r.SeatID, " of show ", r.ShowID, " is taken by nobody")
			})
		}},
		{"pool counters equal their live lines", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditPoolCounters(ctx, dbsqlc.AuditPoolCountersParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditPoolCountersRow) string {
				return violation(r.TenantID, r.Region, "pool ", r.PoolID, " shard ", r.Shard, differs(r.Held, r.Booked, r.LinesHeld, r.LinesBooked))
			})
		}},
		{"night counters equal their live lines", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditNightCounters(ctx, dbsqlc.AuditNightCountersParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditNightCountersRow) string {
				return violation(r.TenantID, r.Region, "room type ", r.RoomTypeID, " night ", r.Night, differs(r.Held, r.Booked, r.LinesHeld, r.LinesBooked))
			})
		}},
		{"house counters equal their room types", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditHouseCounters(ctx, dbsqlc.AuditHouseCountersParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditHouseCountersRow) string {
				return violation(r.TenantID, r.Region, "property ", r.PropertyID, " night ", r.Night, differs(r.Held, r.Booked, r.LinesHeld, r.LinesBooked))
			})
		}},
		{"no counter above its ceiling", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditCeilings(ctx, dbsqlc.AuditCeilingsParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditCeilingsRow) string {
				return violation(r.TenantID, r.Region, r.Kind, " counter ", r.ID, onNight(r.Night))
			})
		}},
		{"no line without its counter", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditLinesHaveCounters(ctx, dbsqlc.AuditLinesHaveCountersParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditLinesHaveCountersRow) string {
				return violation(r.TenantID, r.Region, r.Kind, " ", r.UnitID, onNight(r.Night), " of ", r.OwnerID)
			})
		}},
		{"every confirmed hold is one booking at its price", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditBookingsMatchHolds(ctx, dbsqlc.AuditBookingsMatchHoldsParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditBookingsMatchHoldsRow) string {
				return violation(r.TenantID, r.Region, "hold ", r.ID)
			})
		}},
		{"every captured payment has a booking or a refund", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditCapturedPayments(ctx, dbsqlc.AuditCapturedPaymentsParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditCapturedPaymentsRow) string {
				return violation(r.TenantID, r.Region, "payment attempt ", r.ID)
			})
		}},
		{"every booking with a price was paid", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditPaidBookings(ctx, dbsqlc.AuditPaidBookingsParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditPaidBookingsRow) string {
				return violation(r.TenantID, r.Region, "booking ", r.ID)
			})
		}},
		{"disputes add up", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditDisputeSums(ctx, dbsqlc.AuditDisputeSumsParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditDisputeSumsRow) string {
				return violation(r.TenantID, r.Region, "payment attempt ", r.ID)
			})
		}},
		{"refunds add up and stay within what was captured", func(ctx context.Context, q *dbsqlc.Queries, s scope) ([]string, error) {
			rows, err := q.AuditRefundSums(ctx, dbsqlc.AuditRefundSumsParams{EveryTenant: s.every, TenantID: s.tenant})
			return list(rows, err, func(r dbsqlc.AuditRefundSumsRow) string {
				return violation(r.TenantID, r.Region, "payment attempt ", r.ID)
			})
		}},
	}
}

func list[R any](rows []R, err error, describe func(R) string) ([]string, error) {
	if err != nil {
		return nil, err
	}
	found := make([]string, len(rows))
	for i, row := range rows {
		found[i] = describe(row)
	}
	return found, nil
}

func differs(held, booked, linesHeld, linesBooked int64) string {
	return fmt.Sprintf(": held %d and booked %d, its lines say %d and %d", held, booked, linesHeld, linesBooked)
}

func onNight(night *civil.Date) string {
	if night == nil {
		return ""
	}
	return " night " + night.String()
}

func text(id *uuid.UUID) string {
	if id == nil {
		return "-"
	}
	return id.String()
}
