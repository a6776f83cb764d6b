package inventory

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Override holds nights against their restrictions: closed for sale, for arrival or departure, lengths of
// stay, booking windows, and rate plans that are closed. It never reaches the stock: what there is to sell, oversell and house limit
// included, the counters decide for everybody.
type Override struct {
	// Reason is what the log of changes keeps.
	Reason string
}

// mayOverride asks whether the actor may, and for a reason.
func (s *Service) mayOverride(ctx context.Context, actor tenants.Actor, c claim, override Override) error {
	if err := s.authorizeClaim(ctx, actor, policies.ActionHoldOverride, c); err != nil {
		return err
	}
	reason := override.Reason
	if n := utf8.RuneCountInString(strings.TrimSpace(reason)); n < 1 || n > maxOverrideReason || !utf8.ValidString(reason) || strings.ContainsRune(reason, 0) {
		return fault.Invalid("overrideReason", "expected why the restrictions are overridden, in 1 to %d characters", maxOverrideReason)
	}
	return nil
}

// restrictions are the rules of nights that an override lifts. That a night is not planned, or the
// terms allow no stay so long, is not among them.
func restrictions() []RefusalCode {
	return []RefusalCode{
		RefusalStopSell, RefusalClosedToArrival, RefusalClosedToDeparture,
		RefusalMinStayArrival, RefusalMaxStayArrival, RefusalMinStayThrough, RefusalMaxStayThrough,
		RefusalTooEarlyToBook, RefusalTooLateToBook, RefusalRatePlanClosed,
	}
}

// rest leaves out what the override lifts; without one that is nothing.
func (o *Override) rest(refused []RefusedLine) []RefusedLine {
	if o == nil {
		return refused
	}
	return slices.DeleteFunc(refused, func(line RefusedLine) bool { return slices.Contains(restrictions(), line.Code) })
}

// auditOverrides logs the restrictions that winners of a batch have overridden, in the transaction of
// their holds.
func auditOverrides(ctx context.Context, tx pgx.Tx, f facts, winners []won) error {
	type overridden struct {
		Code     RefusalCode
		RoomType RoomTypeID
		Night    *civil.Date
	}
	for _, w := range winners {
		if w.wish.claim.override == nil {
			continue
		}
		var lifted []overridden
		for _, line := range w.wish.claim.lines {
			if line.Stay == nil {
				continue
			}
			for _, rule := range judgeStay(*line.Stay, f.stay(*line.Stay)) {
				lifted = append(lifted, overridden{Code: rule.Code, RoomType: line.Stay.RoomType, Night: rule.Night})
			}
		}
		if len(lifted) == 0 {
			continue
		}
		if err := tenants.AuditTx(ctx, tx, w.wish.actor, tenants.Change{
			Action: policies.ActionHoldOverride, Resource: HoldID{Region: w.wish.claim.region, UUID: w.wish.hold},
			Reason: w.wish.claim.override.Reason, After: map[string]any{"overridden": lifted},
		}); err != nil {
			return err
		}
	}
	return nil
}

// What somebody does to a hold by a command, for the history of its units.
const (
	holdExtended = "EXTENDED"
	holdReleased = "RELEASED"
)

// noteHoldChange keeps who extended or released a hold, in the transaction that did it. It passes on
// the failure of what it follows.
func noteHoldChange(ctx context.Context, tx pgx.Tx, failed error, actor tenants.Actor, hold Hold, change string, now time.Time) error {
	if failed != nil {
		return failed
	}
	author := actor.Author()
	if author.Session != "" {
		author.Actor = author.Session
	}
	return dbsqlc.New(tx).HoldChangeInsert(ctx, dbsqlc.HoldChangeInsertParams{
		TenantID: hold.Tenant.UUID, Region: string(hold.ID.Region), HoldID: hold.ID.UUID, Version: hold.Version,
		Change: change, Actor: author.Actor, ChangedAt: now,
	})
}
