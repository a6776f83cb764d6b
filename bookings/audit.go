package bookings

import (
	"context"
	"fmt"
	"time"

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

// auditStaleness is how old the state may be that is audited.
const auditStaleness = 5 * time.Second

// scope limits an audit to one tenant, or to none.
type scope struct {
	every  bool
	tenant uuid.UUID
}

// violation is how a check names an offender.
func violation(tenant uuid.UUID, region string, words ...any) string {
	return fmt.Sprintf("tenant %s, %s: %s", tenants.TenantID{UUID: tenant}, region, fmt.Sprint(words...))
}

// offenders is what breaks an invariant: how many there are, and some of them by name. A database
// that is badly broken has millions, which fit into no report.
type offenders struct {
	violations int64
	examples   []string
}

// auditCheck is one invariant, as a query that counts its offenders and names at most maxExamples.
type auditCheck struct {
	name string
	find func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error)
}

// Audit checks the invariants of stock and money in one snapshot of the live database, for one
// tenant or, with nil, for all. It changes nothing and may run while selling goes on. It does not
// ask for permission: it is the operator's.
//
// The snapshot may be stale, where the process allows that: on CockroachDB an audit of the present
// makes the sales start over whose rows it has read, and one of a few seconds ago finds the same
// mistakes.
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
			result := AuditCheck{Name: check.name, OK: found.violations == 0, Violations: found.violations, Examples: found.examples}
			report.OK = report.OK && result.OK
			report.Checks = append(report.Checks, result)
		}
		counts, err := dbsqlc.New(tx).AuditCounts(ctx, dbsqlc.AuditCountsParams{EveryTenant: within.every, TenantID: within.tenant})
		if err != nil {
			return AuditReport{}, fmt.Errorf("count what was audited: %w", err)
		}
		report.Counted = AuditCounts{Tenants: counts.Tenants, Holds: counts.Holds, Bookings: counts.Bookings, Payments: counts.Payments}
		return report, nil
	}, db.Stale(auditStaleness))
}

func auditChecks() []auditCheck {
	return []auditCheck{
		{"no seat with two owners", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditSeatOwners(ctx, dbsqlc.AuditSeatOwnersParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditSeatOwnersRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "seat ", text(r.SeatID), " of show ", text(r.ShowID), " has ", r.Owners, " owners")
			})
		}},
		{"every live hold owns all its seats", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditHoldsOwnSeats(ctx, dbsqlc.AuditHoldsOwnSeatsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditHoldsOwnSeatsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "hold ", r.ID, " does not own seat ", text(r.SeatID))
			})
		}},
		{"every booking owns all its seats", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditBookingsOwnSeats(ctx, dbsqlc.AuditBookingsOwnSeatsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditBookingsOwnSeatsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "booking ", r.ID, " does not own seat ", text(r.SeatID))
			})
		}},
		{"every taken seat has a live line", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditSeatsHaveLines(ctx, dbsqlc.AuditSeatsHaveLinesParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditSeatsHaveLinesRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "seat ", r.SeatID, " of show ", r.ShowID, " is taken by nobody")
			})
		}},
		{"pool counters equal their live lines", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditPoolCounters(ctx, dbsqlc.AuditPoolCountersParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditPoolCountersRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "pool ", r.PoolID, " shard ", r.Shard, differs(r.Held, r.Booked, r.LinesHeld, r.LinesBooked))
			})
		}},
		{"night counters equal their live lines", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditNightCounters(ctx, dbsqlc.AuditNightCountersParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditNightCountersRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "room type ", r.RoomTypeID, " night ", r.Night, differs(r.Held, r.Booked, r.LinesHeld, r.LinesBooked))
			})
		}},
		{"house counters equal their room types", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditHouseCounters(ctx, dbsqlc.AuditHouseCountersParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditHouseCountersRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "property ", r.PropertyID, " night ", r.Night, differs(r.Held, r.Booked, r.LinesHeld, r.LinesBooked))
			})
		}},
		{"presale counters equal their holds", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditPresaleCounters(ctx, dbsqlc.AuditPresaleCountersParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditPresaleCountersRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "presale code ", r.CodeID, differs(r.Held, r.Booked, r.HoldsHeld, r.HoldsBooked))
			})
		}},
		{"every use of a grant is one hold of its guest", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditGrants(ctx, dbsqlc.AuditGrantsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditGrantsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "grant ", r.ID, " counts ", r.Used, " uses, has ", r.Uses, " with ", r.Holds, " holds")
			})
		}},
		{"no counter above its ceiling", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditCeilings(ctx, dbsqlc.AuditCeilingsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditCeilingsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, r.Kind, " counter ", r.ID, onNight(r.Night))
			})
		}},
		{"allotments fit into what there is", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditAllotments(ctx, dbsqlc.AuditAllotmentsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditAllotmentsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, r.Kind, " ", r.ID, onNight(r.Night))
			})
		}},
		{"night limits equal their plans", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditNightLimits(ctx, dbsqlc.AuditNightLimitsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditNightLimitsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "room type ", r.RoomTypeID, " night ", r.Night)
			})
		}},
		{"jobs write all their nights", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditNightsJobs(ctx, dbsqlc.AuditNightsJobsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditNightsJobsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "job ", r.ID)
			})
		}},
		{"nights are sold as plans of their hotel", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditRatePlans(ctx, dbsqlc.AuditRatePlansParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditRatePlansRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, r.Kind, " ", r.ID)
			})
		}},
		{"stock stands in one place", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditStockPlaces(ctx, dbsqlc.AuditStockPlacesParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditStockPlacesRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, r.Kind, " ", r.ID, " of ", r.OwnerID)
			})
		}},
		{"no line without its counter", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditLinesHaveCounters(ctx, dbsqlc.AuditLinesHaveCountersParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditLinesHaveCountersRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, r.Kind, " ", r.UnitID, onNight(r.Night), " of ", r.OwnerID)
			})
		}},
		{"every confirmed hold is one booking at its price", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditBookingsMatchHolds(ctx, dbsqlc.AuditBookingsMatchHoldsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditBookingsMatchHoldsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "hold ", r.ID)
			})
		}},
		{"disputes add up", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditDisputeSums(ctx, dbsqlc.AuditDisputeSumsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditDisputeSumsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "payment attempt ", r.ID)
			})
		}},
		{"every captured payment has a booking or a refund", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditCapturedPayments(ctx, dbsqlc.AuditCapturedPaymentsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditCapturedPaymentsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "payment attempt ", r.ID)
			})
		}},
		{"every booking with a price was paid", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditPaidBookings(ctx, dbsqlc.AuditPaidBookingsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditPaidBookingsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "booking ", r.ID)
			})
		}},
		{"every line's tax is its share of the price", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditLineTaxes(ctx, dbsqlc.AuditLineTaxesParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditLineTaxesRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "line ", r.Ordinal, " of booking ", r.BookingID)
			})
		}},
		{"the lines of every stay are the price it was held at", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditStayPrices(ctx, dbsqlc.AuditStayPricesParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditStayPricesRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "stay ", r.Item, " of hold ", r.HoldID, ": lines of ", r.LinesMinor, " for ", r.TotalMinor)
			})
		}},
		{"every cancellation is the sum of its lines", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditCancellations(ctx, dbsqlc.AuditCancellationsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditCancellationsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "cancellation ", r.ID, " of booking ", r.BookingID)
			})
		}},
		{"refunds add up and stay within what was captured", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditRefundSums(ctx, dbsqlc.AuditRefundSumsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditRefundSumsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "payment attempt ", r.ID)
			})
		}},
		{"every change of a stay is the sum of its lines", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditStayChanges(ctx, dbsqlc.AuditStayChangesParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditStayChangesRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "change ", r.ID, " of booking ", r.BookingID)
			})
		}},
		{"every line that was changed or walked has its change", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditEndedLines(ctx, dbsqlc.AuditEndedLinesParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditEndedLinesRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "line ", r.Ordinal, " of booking ", r.BookingID)
			})
		}},
		{"every offer of a waiting list is one hold of its buyer", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditWaitingEntries(ctx, dbsqlc.AuditWaitingEntriesParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditWaitingEntriesRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "entry ", r.ID, " is ", r.State)
			})
		}},
		{"every seat set aside is in a block of its show and channel", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditSeatBlocks(ctx, dbsqlc.AuditSeatBlocksParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditSeatBlocksRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "seat ", r.SeatID, " of show ", r.ShowID)
			})
		}},
		{"every release of a block is kept once and told at most once", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditBlockReleases(ctx, dbsqlc.AuditBlockReleasesParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditBlockReleasesRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "block ", r.ID)
			})
		}},
		{"every physical room is taken for a line that stands or a period", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditRoomNights(ctx, dbsqlc.AuditRoomNightsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditRoomNightsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "room ", r.RoomID, " night ", r.Night)
			})
		}},
		{"nights count the rooms that are out of order", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditOutOfOrder(ctx, dbsqlc.AuditOutOfOrderParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditOutOfOrderRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "room type or period ", r.ID, " night ", r.Night, " has ", r.Counted, " for ", r.Periods)
			})
		}},
		{"every settled no-show adds up", func(ctx context.Context, q *dbsqlc.Queries, s scope) (offenders, error) {
			rows, err := q.AuditNoShows(ctx, dbsqlc.AuditNoShowsParams{EveryTenant: s.every, TenantID: s.tenant, MaxExamples: maxExamples})
			return list(rows, err, func(r dbsqlc.AuditNoShowsRow) (int64, string) {
				return r.Violations, violation(r.TenantID, r.Region, "release ", r.ID, " of booking ", r.BookingID)
			})
		}},
	}
}

// list takes rows that each say how many there are of their kind.
func list[R any](rows []R, err error, describe func(R) (violations int64, example string)) (offenders, error) {
	if err != nil {
		return offenders{}, err
	}
	var found offenders
	for _, row := range rows {
		violations, example := describe(row)
		found.violations = violations
		found.examples = append(found.examples, example)
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
