package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Rates are what the prices of a hotel's stays are made of besides the amounts of nights.
type Rates struct {
	Guests      []RoomGuestPrices
	Adjustments []PlanAdjustments
	Charges     []Charge
	Rounding    RoundingRule
}

// RoomGuestPrices are the guest prices of a room type, at a rate plan or, with none, at the standard rate.
type RoomGuestPrices struct {
	RoomType RoomTypeID
	RatePlan *RatePlanID
	Prices   GuestPrices
}

// PlanAdjustments are the differences of a rate plan or, with none, of the standard rate.
type PlanAdjustments struct {
	RatePlan    *RatePlanID
	Adjustments []RateAdjustment
}

// RatesOf reads what the prices of a hotel's stays are made of, for its staff.
func (s *Service) RatesOf(ctx context.Context, actor tenants.Actor, property tenants.PropertyID) (Rates, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRatesRead, "property", property.Region, property.UUID); err != nil {
		return Rates{}, err
	}
	at := placeOf(actor.Tenant, property.Region)
	return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (Rates, error) {
		if _, err := propertyCurrencyTx(ctx, tx, actor.Tenant, property); err != nil {
			return Rates{}, err
		}
		rooms, err := dbsqlc.New(tx).RoomTypeIDsOfProperty(ctx, dbsqlc.RoomTypeIDsOfPropertyParams{TenantID: at.tenant, Region: string(at.region), PropertyID: property.UUID})
		if err != nil {
			return Rates{}, fmt.Errorf("list room types: %w", err)
		}
		p, err := readPricing(ctx, tx, at, rooms, []uuid.UUID{property.UUID})
		if err != nil {
			return Rates{}, err
		}
		rates := Rates{Charges: p.charges[property.UUID], Rounding: p.rounding}
		for key, guests := range p.guests {
			rates.Guests = append(rates.Guests, RoomGuestPrices{RoomType: RoomTypeID{Region: at.region, UUID: key.owner}, RatePlan: planID(at.region, key.plan), Prices: guests})
		}
		for key, adjustments := range p.adjustments {
			rates.Adjustments = append(rates.Adjustments, PlanAdjustments{RatePlan: planID(at.region, key.plan), Adjustments: adjustments})
		}
		slices.SortFunc(rates.Guests, func(a, b RoomGuestPrices) int {
			return cmp.Or(compareUUID(a.RoomType.UUID, b.RoomType.UUID), comparePlans(a.RatePlan, b.RatePlan))
		})
		slices.SortFunc(rates.Adjustments, func(a, b PlanAdjustments) int { return comparePlans(a.RatePlan, b.RatePlan) })
		return rates, nil
	})
}

// planID is the public id of a rate plan, nil for the standard rate.
func planID(region ids.Region, plan uuid.UUID) *RatePlanID {
	if plan == standardRate {
		return nil
	}
	return &RatePlanID{Region: region, UUID: plan}
}

// comparePlans puts the standard rate first.
func comparePlans(a, b *RatePlanID) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return compareUUID(a.UUID, b.UUID)
}

// lockProperty makes those who change lists of a property wait for each other.
func lockProperty(ctx context.Context, tx pgx.Tx, at place, property uuid.UUID) error {
	_, err := dbsqlc.New(tx).PropertyLock(ctx, dbsqlc.PropertyLockParams{TenantID: at.tenant, Region: string(at.region), ID: property})
	if db.IsNoRows(err) {
		return fault.NotFound("property")
	}
	if err != nil {
		return fmt.Errorf("lock the property: %w", err)
	}
	return nil
}

// planOfProperty says which rate is meant: a plan that the property has, or the standard rate.
func planOfProperty(ctx context.Context, tx pgx.Tx, at place, property uuid.UUID, plan *RatePlanID) (uuid.UUID, error) {
	if plan == nil {
		return standardRate, nil
	}
	owner, err := dbsqlc.New(tx).PropertyOfRatePlan(ctx, dbsqlc.PropertyOfRatePlanParams{TenantID: at.tenant, Region: string(at.region), ID: plan.UUID})
	switch {
	case db.IsNoRows(err), err == nil && (owner != property || plan.Region != at.region):
		return uuid.Nil, fault.NotFound("rate plan")
	case err != nil:
		return uuid.Nil, fmt.Errorf("read the rate plan: %w", err)
	}
	return plan.UUID, nil
}
