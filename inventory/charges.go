package inventory

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// checkCharges says what is wrong with the taxes and fees of a hotel.
func checkCharges(charges []Charge) error {
	if len(charges) > maxCharges {
		return fault.Invalid("charges", "expected at most %d, got %d", maxCharges, len(charges))
	}
	names := map[string]int{}
	tax := -1
	for i, c := range charges {
		field := fmt.Sprintf("charges[%d]", i)
		if err := checkText(field+".name", c.Name, maxChargeName); err != nil {
			return err
		}
		if first, twice := names[c.Name]; twice {
			return fault.Invalid(field+".name", "it is the name of charges[%d]", first)
		}
		names[c.Name] = i
		if err := c.check(field); err != nil {
			return err
		}
		if c.Included && c.Kind == ChargeKindPercent {
			if tax >= 0 {
				return fault.Invalid(field, "prices include one percentage, which is the tax rate; charges[%d] is one", tax)
			}
			tax = i
		}
	}
	return nil
}

func (c Charge) check(field string) error {
	persons := c.Kind == ChargeKindPersonNight || c.Kind == ChargeKindPersonStay
	switch {
	case c.Kind == ChargeKindPercent && c.Minor != 0:
		return fault.Invalid(field+".amountMinor", "a percentage has basisPoints and no amount")
	case c.Kind != ChargeKindPercent && c.BasisPoints != 0:
		return fault.Invalid(field+".basisPoints", "only a percentage has basisPoints; this has an amount")
	case c.BasisPoints < 0 || c.BasisPoints > wholeBasisPoints:
		return fault.Invalid(field+".basisPoints", "expected 0 to 10000, got %d", c.BasisPoints)
	case c.ExemptBelow < 0 || c.ExemptBelow > maxChildAge+1:
		return fault.Invalid(field+".exemptBelowAge", "expected 0 to %d, got %d", int64(maxChildAge+1), c.ExemptBelow)
	case c.ExemptBelow > 0 && !persons:
		return fault.Invalid(field+".exemptBelowAge", "only what is reckoned by persons exempts children")
	}
	return checkMinor(field+".amountMinor", c.Minor)
}

// SetTaxesAndFees replaces the taxes and fees of a hotel's stays. A percentage that prices include, at most
// one, is the hotel's tax rate, which SetTaxRate sets as well; without one the rate is 0. Holds and bookings
// keep what they were made with. Saying it twice changes nothing.
func (s *Service) SetTaxesAndFees(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, charges []Charge) ([]Charge, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionChargesSet, "property", property.Region, property.UUID); err != nil {
		return nil, err
	}
	if err := checkCharges(charges); err != nil {
		return nil, err
	}
	at := placeOf(actor.Tenant, property.Region)
	return db.Replayable(ctx, s.db, "inventory.SetTaxesAndFees", func(ctx context.Context, tx pgx.Tx) ([]Charge, error) {
		if err := lockProperty(ctx, tx, at, property.UUID); err != nil {
			return nil, err
		}
		before, err := readPricing(ctx, tx, at, nil, []uuid.UUID{property.UUID})
		if err != nil {
			return nil, err
		}
		if err := setChargesTx(ctx, tx, at, property.UUID, charges); err != nil {
			return nil, err
		}
		return charges, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionChargesSet, Resource: property, Before: before.charges[property.UUID], After: charges,
		})
	})
}

func setChargesTx(ctx context.Context, tx pgx.Tx, at place, property uuid.UUID, charges []Charge) error {
	queries := dbsqlc.New(tx)
	if err := queries.StayChargesDelete(ctx, dbsqlc.StayChargesDeleteParams{TenantID: at.tenant, Region: string(at.region), PropertyID: property}); err != nil {
		return fmt.Errorf("replace taxes and fees: %w", err)
	}
	params := dbsqlc.StayChargesInsertParams{TenantID: at.tenant, Region: string(at.region), PropertyID: property}
	taxRate := int64(0)
	for i, c := range charges {
		basisPoints := c.BasisPoints
		if c.Included && c.Kind == ChargeKindPercent {
			// Its rate stands once, where the tax rates of hotels and venues are.
			taxRate, basisPoints = c.BasisPoints, 0
		}
		params.Ordinals = append(params.Ordinals, int64(i))
		params.Names = append(params.Names, c.Name)
		params.Kinds = append(params.Kinds, string(c.Kind))
		params.Included = append(params.Included, c.Included)
		params.BasisPoints = append(params.BasisPoints, basisPoints)
		params.Amounts = append(params.Amounts, c.Minor)
		params.ExemptBelows = append(params.ExemptBelows, c.ExemptBelow)
	}
	if len(charges) > 0 {
		if _, err := queries.StayChargesInsert(ctx, params); err != nil {
			return fmt.Errorf("store taxes and fees: %w", err)
		}
	}
	if err := queries.TaxRateSet(ctx, dbsqlc.TaxRateSetParams{TenantID: at.tenant, ScopeID: property, BasisPoints: taxRate}); err != nil {
		return fmt.Errorf("store the tax rate: %w", err)
	}
	return nil
}

// SetRoundingRule says how a tenant's percentages of stays become whole minor units. Saying it twice changes
// nothing; holds and bookings keep the rule that they were made with.
func (s *Service) SetRoundingRule(ctx context.Context, actor tenants.Actor, rule RoundingRule) (RoundingRule, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionChargesSet, actor.Tenant); err != nil {
		return RoundingRule{}, err
	}
	switch {
	case rule.Level != RoundingLevelNight && rule.Level != RoundingLevelStay:
		return RoundingRule{}, fault.Invalid("level", "expected %s or %s", RoundingLevelNight, RoundingLevelStay)
	case rule.Mode != money.HalfUp && rule.Mode != money.HalfEven:
		return RoundingRule{}, fault.Invalid("mode", "expected %s or %s", money.HalfUp, money.HalfEven)
	}
	at := place{tenant: actor.Tenant.UUID}
	return db.Replayable(ctx, s.db, "inventory.SetRoundingRule", func(ctx context.Context, tx pgx.Tx) (RoundingRule, error) {
		before, err := readPricing(ctx, tx, at, nil, nil)
		if err != nil {
			return RoundingRule{}, err
		}
		if err := dbsqlc.New(tx).RoundingRuleSet(ctx, dbsqlc.RoundingRuleSetParams{TenantID: at.tenant, Level: string(rule.Level), Mode: string(rule.Mode)}); err != nil {
			return RoundingRule{}, fmt.Errorf("store the rounding rule: %w", err)
		}
		return rule, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionChargesSet, Resource: actor.Tenant, Before: before.rounding, After: rule,
		})
	})
}
