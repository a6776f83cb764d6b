package inventory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// How adjustments are stored.
const (
	adjustmentLength  = "LENGTH"
	adjustmentWeekday = "WEEKDAY"
	daysOfWeek        = 7
)

// stored is the kind and threshold of an adjustment; Sunday is the seventh day.
func (a RateAdjustment) stored() (kind string, threshold int64) {
	if a.MinNights != nil {
		return adjustmentLength, *a.MinNights
	}
	if *a.Weekday == time.Sunday {
		return adjustmentWeekday, daysOfWeek
	}
	return adjustmentWeekday, int64(*a.Weekday)
}

// checkAdjustments says what is wrong with the adjustments of a rate.
func checkAdjustments(adjustments []RateAdjustment) error {
	if len(adjustments) > maxAdjustments {
		return fault.Invalid("adjustments", "expected at most %d, got %d", maxAdjustments, len(adjustments))
	}
	type key struct {
		kind      string
		threshold int64
	}
	seen := map[key]int{}
	for i, a := range adjustments {
		field := fmt.Sprintf("adjustments[%d]", i)
		switch {
		case (a.MinNights == nil) == (a.Weekday == nil):
			return fault.Invalid(field, "expected exactly one of minNights and weekday")
		case a.MinNights != nil && (*a.MinNights < 2 || *a.MinNights > maxStayDays):
			return fault.Invalid(field+".minNights", "expected 2 to %d, got %d", maxStayDays, *a.MinNights)
		case (a.BasisPoints == 0) == (a.Minor == 0):
			return fault.Invalid(field, "expected exactly one of basisPoints and amountMinor, and not 0")
		case a.BasisPoints < -wholeBasisPoints || a.BasisPoints > wholeBasisPoints:
			return fault.Invalid(field+".basisPoints", "expected -10000 to 10000, got %d", a.BasisPoints)
		case a.Minor < -money.MaxMinor || a.Minor > money.MaxMinor:
			return fault.Invalid(field+".amountMinor", "expected %d to %d, got %d", int64(-money.MaxMinor), int64(money.MaxMinor), a.Minor)
		}
		var k key
		k.kind, k.threshold = a.stored()
		if first, twice := seen[k]; twice {
			return fault.Invalid(field, "it is for the same nights as adjustments[%d]", first)
		}
		seen[k] = i
	}
	return nil
}

// wholeBasisPoints is 100 %.
const wholeBasisPoints = 10_000

// SetRateAdjustments says how nights of a property differ by weekday and length of stay, at a rate plan or,
// with none, at the standard rate. It replaces what was set for that rate; saying it twice changes nothing.
func (s *Service) SetRateAdjustments(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, plan *RatePlanID, adjustments []RateAdjustment) ([]RateAdjustment, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRatesSet, "property", property.Region, property.UUID); err != nil {
		return nil, err
	}
	if err := checkAdjustments(adjustments); err != nil {
		return nil, err
	}
	at := placeOf(actor.Tenant, property.Region)
	return db.Replayable(ctx, s.db, "inventory.SetRateAdjustments", func(ctx context.Context, tx pgx.Tx) ([]RateAdjustment, error) {
		if err := lockProperty(ctx, tx, at, property.UUID); err != nil {
			return nil, err
		}
		planID, err := planOfProperty(ctx, tx, at, property.UUID, plan)
		if err != nil {
			return nil, err
		}
		before, err := readPricing(ctx, tx, at, nil, []uuid.UUID{property.UUID})
		if err != nil {
			return nil, err
		}
		queries := dbsqlc.New(tx)
		if err := queries.RateAdjustmentsDelete(ctx, dbsqlc.RateAdjustmentsDeleteParams{
			TenantID: at.tenant, Region: string(at.region), PropertyID: property.UUID, RatePlanID: planID,
		}); err != nil {
			return nil, fmt.Errorf("replace rate adjustments: %w", err)
		}
		params := dbsqlc.RateAdjustmentsInsertParams{TenantID: at.tenant, Region: string(at.region), PropertyID: property.UUID, RatePlanID: planID}
		for _, a := range adjustments {
			kind, threshold := a.stored()
			params.Kinds, params.Thresholds = append(params.Kinds, kind), append(params.Thresholds, threshold)
			params.BasisPoints, params.Amounts = append(params.BasisPoints, a.BasisPoints), append(params.Amounts, a.Minor)
		}
		if len(adjustments) > 0 {
			if _, err := queries.RateAdjustmentsInsert(ctx, params); err != nil {
				return nil, fmt.Errorf("store rate adjustments: %w", err)
			}
		}
		return adjustments, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionRatesSet, Resource: property,
			Before: ratesOfPlan{Plan: plan, Rates: before.adjustments[rateKey{property.UUID, planID}]}, After: ratesOfPlan{Plan: plan, Rates: adjustments},
		})
	})
}
