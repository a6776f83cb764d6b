package inventory

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// check says what is wrong with guest prices of a room that takes so many guests.
func (g GuestPrices) check(maxGuests int64) error {
	switch {
	case g.BaseOccupancy < 1 || g.BaseOccupancy > min(maxGuests, maxBaseOccupancy):
		return fault.Invalid("baseOccupancy", "expected 1 to %d, which is how many guests the room takes, got %d", min(maxGuests, maxBaseOccupancy), g.BaseOccupancy)
	case len(g.Ages) > maxAgeBands:
		return fault.Invalid("ages", "expected at most %d bands, got %d", maxAgeBands, len(g.Ages))
	}
	if err := checkMinor("extraAdultMinor", g.ExtraAdult); err != nil {
		return err
	}
	if err := checkMinor("singleReductionMinor", g.SingleReduction); err != nil {
		return err
	}
	next := int64(0)
	for i, band := range g.Ages {
		field := fmt.Sprintf("ages[%d]", i)
		switch {
		case band.FromAge != next && i == 0:
			return fault.Invalid(field+".fromAge", "the first band begins at 0, got %d", band.FromAge)
		case band.FromAge < next:
			return fault.Invalid(field+".fromAge", "the band overlaps the one before it, which ends at %d; got %d", next-1, band.FromAge)
		case band.FromAge > next:
			return fault.Invalid(field+".fromAge", "the bands leave a gap: expected %d, got %d", next, band.FromAge)
		case band.ToAge < band.FromAge || band.ToAge > maxChildAge:
			return fault.Invalid(field+".toAge", "expected %d to %d, got %d", band.FromAge, int64(maxChildAge), band.ToAge)
		}
		if err := checkMinor(field+".amountMinor", band.Minor); err != nil {
			return err
		}
		next = band.ToAge + 1
	}
	return nil
}

// checkMinor bounds an amount that is added to a price.
func checkMinor(field string, minor int64) error {
	if minor < 0 || minor > money.MaxMinor {
		return fault.Invalid(field, "expected 0 to %d, got %d", int64(money.MaxMinor), minor)
	}
	return nil
}

// SetGuestPrices says what guests of a room type cost, at a rate plan or, with none, at the standard rate and
// at all plans that have no guest prices of their own. It replaces what was set; saying it twice changes
// nothing. Holds keep the price they have.
func (s *Service) SetGuestPrices(ctx context.Context, actor tenants.Actor, room RoomTypeID, plan *RatePlanID, prices GuestPrices) (GuestPrices, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRatesSet, "room type", room.Region, room.UUID); err != nil {
		return GuestPrices{}, err
	}
	prices.Ages = slices.Clone(prices.Ages)
	slices.SortFunc(prices.Ages, func(a, b AgeBand) int { return int(a.FromAge - b.FromAge) })
	at := placeOf(actor.Tenant, room.Region)
	return db.Replayable(ctx, s.db, "inventory.SetGuestPrices", func(ctx context.Context, tx pgx.Tx) (GuestPrices, error) {
		owner, err := roomForPrices(ctx, tx, at, room.UUID)
		if err != nil {
			return GuestPrices{}, err
		}
		if err := prices.check(owner.MaxGuests); err != nil {
			return GuestPrices{}, err
		}
		planID, err := planOfProperty(ctx, tx, at, owner.PropertyID, plan)
		if err != nil {
			return GuestPrices{}, err
		}
		before, err := readPricing(ctx, tx, at, []uuid.UUID{room.UUID}, nil)
		if err != nil {
			return GuestPrices{}, err
		}
		if err := setGuestPricesTx(ctx, tx, at, room.UUID, planID, prices); err != nil {
			return GuestPrices{}, err
		}
		key := rateKey{room.UUID, planID}
		change := tenants.Change{Action: policies.ActionRatesSet, Resource: room, After: ratesOfPlan{Plan: plan, Rates: prices}}
		if was, ok := before.guests[key]; ok {
			change.Before = ratesOfPlan{Plan: plan, Rates: was}
		}
		return prices, tenants.AuditTx(ctx, tx, actor, change)
	})
}

// ratesOfPlan is how the log of changes shows what was set for a rate plan.
type ratesOfPlan struct {
	Plan  *RatePlanID `json:",omitempty"`
	Rates any
}

func roomForPrices(ctx context.Context, tx pgx.Tx, at place, room uuid.UUID) (dbsqlc.RoomTypeForPricesRow, error) {
	owner, err := dbsqlc.New(tx).RoomTypeForPrices(ctx, dbsqlc.RoomTypeForPricesParams{TenantID: at.tenant, Region: string(at.region), ID: room})
	if db.IsNoRows(err) {
		return owner, fault.NotFound("room type")
	}
	if err != nil {
		return owner, fmt.Errorf("read the room type: %w", err)
	}
	return owner, nil
}

func setGuestPricesTx(ctx context.Context, tx pgx.Tx, at place, room, plan uuid.UUID, prices GuestPrices) error {
	queries := dbsqlc.New(tx)
	// The prices first: their row makes two writers wait for each other.
	if err := queries.GuestPricesSet(ctx, dbsqlc.GuestPricesSetParams{
		TenantID: at.tenant, Region: string(at.region), RoomTypeID: room, RatePlanID: plan,
		BaseOccupancy: prices.BaseOccupancy, ExtraAdultMinor: prices.ExtraAdult, SingleReductionMinor: prices.SingleReduction,
	}); err != nil {
		return fmt.Errorf("store guest prices: %w", err)
	}
	if err := queries.GuestPriceAgesDelete(ctx, dbsqlc.GuestPriceAgesDeleteParams{
		TenantID: at.tenant, Region: string(at.region), RoomTypeID: room, RatePlanID: plan,
	}); err != nil {
		return fmt.Errorf("replace the bands of children: %w", err)
	}
	params := dbsqlc.GuestPriceAgesInsertParams{TenantID: at.tenant, Region: string(at.region), RoomTypeID: room, RatePlanID: plan}
	for _, band := range prices.Ages {
		params.FromAges = append(params.FromAges, band.FromAge)
		params.ToAges = append(params.ToAges, band.ToAge)
		params.Amounts = append(params.Amounts, band.Minor)
	}
	if len(prices.Ages) == 0 {
		return nil
	}
	if _, err := queries.GuestPriceAgesInsert(ctx, params); err != nil {
		return fmt.Errorf("store the bands of children: %w", err)
	}
	return nil
}
