package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// PromotionState says whether a promotion lowers prices.
type PromotionState string

// The states of a promotion.
const (
	PromotionStateActive PromotionState = "ACTIVE"
	// PromotionStateClosed: it lowers no price any more. Holds and bookings keep theirs.
	PromotionStateClosed PromotionState = "CLOSED"
)

// PromotionTerms are what a promotion takes off and when.
type PromotionTerms struct {
	Name string
	// Exactly one of BasisPoints, hundredths of a percent of the rooms, and Minor, an amount off each stay
	// whatever its rooms and nights, is above 0.
	BasisPoints int64
	Minor       int64
	// BookFrom and BookUntil bound when stays are held with it, the latter not included; nil is no bound.
	BookFrom  *time.Time
	BookUntil *time.Time
	// StayFrom and StayTo are the first and the last night that such a stay may have; nil is no bound.
	StayFrom *civil.Date
	StayTo   *civil.Date
	// MinNights is how long a stay must be at least.
	MinNights int64
	// RoomTypes and RatePlans are those that it is for; none means all, stays at the standard rate
	// included. With rate plans named it is not for the standard rate.
	RoomTypes []RoomTypeID
	RatePlans []RatePlanID
}

// Promotion lowers the price of a hotel's stays: by itself, or for those who name its code.
type Promotion struct {
	ID       PromotionID
	Property tenants.PropertyID
	State    PromotionState
	Terms    PromotionTerms
	// Code is in capitals, without spaces; "" for one that applies by itself.
	Code string
	// Uses is how many holds it is good for; nil has no limit, and then Held and Used are not counted.
	// Held are taken by live holds, Used by sales; a sale that is cancelled keeps its use.
	Uses *int64
	Held int64
	Used int64
}

// NewPromotion is a promotion to be made.
type NewPromotion struct {
	Property tenants.PropertyID
	Terms    PromotionTerms
	Code     string
	// Uses is the limit; nil for none. Whether there is one cannot be changed later.
	Uses *int64
}

// check says what is wrong with the terms of a promotion of a region.
func (t PromotionTerms) check(at place) error {
	if err := checkText("name", t.Name, maxChargeName); err != nil {
		return err
	}
	if err := checkMinor("amountMinor", t.Minor); err != nil {
		return err
	}
	switch {
	case t.BasisPoints < 0 || t.BasisPoints > wholeBasisPoints:
		return fault.Invalid("basisPoints", "expected 1 to 10000, got %d", t.BasisPoints)
	case (t.BasisPoints == 0) == (t.Minor == 0):
		return fault.Invalid("basisPoints", "expected exactly one of basisPoints and amountMinor above 0")
	case t.BookFrom != nil && t.BookUntil != nil && !t.BookFrom.Before(*t.BookUntil):
		return fault.Invalid("bookUntil", "expected a time after bookFrom")
	case t.StayFrom != nil && !isDate(*t.StayFrom):
		return fault.Invalid("stayFrom", "expected a date such as 2027-03-14")
	case t.StayTo != nil && !isDate(*t.StayTo):
		return fault.Invalid("stayTo", "expected a date such as 2027-03-14")
	case t.StayFrom != nil && t.StayTo != nil && t.StayTo.Before(*t.StayFrom):
		return fault.Invalid("stayTo", "expected a date not before stayFrom %s, got %s", t.StayFrom, t.StayTo)
	case t.MinNights < 1 || t.MinNights > maxStayDays:
		return fault.Invalid("minNights", "expected 1 to %d, got %d", maxStayDays, t.MinNights)
	case len(t.RoomTypes) > maxPromotionScopes:
		return fault.Invalid("roomTypes", "expected at most %d, got %d", maxPromotionScopes, len(t.RoomTypes))
	case len(t.RatePlans) > maxPromotionScopes:
		return fault.Invalid("ratePlans", "expected at most %d, got %d", maxPromotionScopes, len(t.RatePlans))
	}
	for i, room := range t.RoomTypes {
		if room.Region != at.region {
			return fault.Invalid(fmt.Sprintf("roomTypes[%d]", i), "the room type is of another region than the hotel")
		}
	}
	for i, plan := range t.RatePlans {
		if plan.Region != at.region {
			return fault.Invalid(fmt.Sprintf("ratePlans[%d]", i), "the rate plan is of another region than the hotel")
		}
	}
	return nil
}

// CreatePromotion adds a promotion to a hotel. A code that the hotel has already is a conflict.
func (s *Service) CreatePromotion(ctx context.Context, actor tenants.Actor, requestKey string, input NewPromotion) (Promotion, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionPromotionSet, "property", input.Property.Region, input.Property.UUID); err != nil {
		return Promotion{}, err
	}
	at := placeOf(actor.Tenant, input.Property.Region)
	if err := input.Terms.check(at); err != nil {
		return Promotion{}, err
	}
	if input.Code != "" {
		input.Code = normalCode(input.Code)
		if err := checkCode("code", input.Code); err != nil {
			return Promotion{}, err
		}
	}
	if input.Uses != nil {
		if err := checkUses(*input.Uses); err != nil {
			return Promotion{}, err
		}
	}
	id, err := s.create(ctx, actor, at.region, "createPromotion", requestKey, input, func(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
		return createPromotionTx(ctx, tx, actor, at, id, input)
	})
	if db.ViolatedConstraint(err) == constraintPromotionCode {
		return Promotion{}, fault.Conflict("the hotel has a promotion with this code")
	}
	if err != nil {
		return Promotion{}, err
	}
	promotion, err := promotionByID(ctx, s.db.Pool(), at, id)
	return promotion, db.Classify(err)
}

const constraintPromotionCode = "promotions_code_unique"

func createPromotionTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, at place, id uuid.UUID, input NewPromotion) error {
	queries := dbsqlc.New(tx)
	if err := lockProperty(ctx, tx, at, input.Property.UUID); err != nil {
		return err
	}
	if input.Code == "" {
		if err := roomForPromotion(ctx, queries, at, input.Property.UUID); err != nil {
			return err
		}
	}
	t := input.Terms
	params := dbsqlc.PromotionInsertParams{
		TenantID: at.tenant, Region: string(at.region), ID: id, PropertyID: input.Property.UUID, Name: t.Name,
		BasisPoints: t.BasisPoints, AmountMinor: t.Minor, BookFrom: t.BookFrom, BookUntil: t.BookUntil, StayFrom: t.StayFrom, StayTo: t.StayTo,
		MinNights: t.MinNights, Counted: input.Uses != nil,
	}
	if input.Code != "" {
		params.Code = &input.Code
	}
	if err := queries.PromotionInsert(ctx, params); err != nil {
		return fmt.Errorf("store the promotion: %w", err)
	}
	if err := setPromotionScopes(ctx, tx, at, input.Property.UUID, id, t); err != nil {
		return err
	}
	if input.Uses != nil {
		if _, err := queries.PresaleCountersInsert(ctx, dbsqlc.PresaleCountersInsertParams{
			TenantID: at.tenant, Region: string(at.region), Ids: []uuid.UUID{id}, Uses: *input.Uses,
		}); err != nil {
			return fmt.Errorf("store the counter of the promotion: %w", err)
		}
	}
	return tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionPromotionSet, Resource: PromotionID{Region: at.region, UUID: id}, After: input,
	})
}

// roomForPromotion says whether one more promotion of a hotel may apply by itself.
func roomForPromotion(ctx context.Context, queries *dbsqlc.Queries, at place, property uuid.UUID) error {
	open, err := queries.PromotionsOpenCount(ctx, dbsqlc.PromotionsOpenCountParams{TenantID: at.tenant, Region: string(at.region), PropertyID: property})
	if err != nil {
		return fmt.Errorf("count promotions: %w", err)
	}
	if open >= maxOpenPromotions {
		return fault.Conflict("a hotel has at most %d active promotions without a code; close one first", maxOpenPromotions)
	}
	return nil
}

// setPromotionScopes replaces the room types and rate plans that a promotion is for.
func setPromotionScopes(ctx context.Context, tx pgx.Tx, at place, property, promotion uuid.UUID, t PromotionTerms) error {
	queries := dbsqlc.New(tx)
	if err := queries.PromotionScopesDelete(ctx, dbsqlc.PromotionScopesDeleteParams{TenantID: at.tenant, Region: string(at.region), PromotionID: promotion}); err != nil {
		return fmt.Errorf("replace what the promotion is for: %w", err)
	}
	params := dbsqlc.PromotionScopesInsertParams{TenantID: at.tenant, Region: string(at.region), PromotionID: promotion}
	_, rooms := splitIDs(t.RoomTypes)
	slices.SortFunc(rooms, compareUUID)
	rooms = slices.Compact(rooms)
	if len(rooms) > 0 {
		known, err := queries.RoomTypesOfProperty(ctx, dbsqlc.RoomTypesOfPropertyParams{TenantID: at.tenant, Region: string(at.region), PropertyID: property, Ids: rooms})
		if err != nil {
			return fmt.Errorf("read room types: %w", err)
		}
		if len(known) != len(rooms) {
			return fault.NotFound("room type")
		}
	}
	for _, room := range rooms {
		params.Kinds, params.ScopeIds = append(params.Kinds, "ROOM_TYPE"), append(params.ScopeIds, room)
	}
	seen := map[uuid.UUID]bool{}
	for _, plan := range t.RatePlans {
		id, err := planOfProperty(ctx, tx, at, property, &plan)
		if err != nil {
			return err
		}
		if !seen[id] {
			seen[id] = true
			params.Kinds, params.ScopeIds = append(params.Kinds, "RATE_PLAN"), append(params.ScopeIds, id)
		}
	}
	if len(params.Kinds) == 0 {
		return nil
	}
	if _, err := queries.PromotionScopesInsert(ctx, params); err != nil {
		return fmt.Errorf("store what the promotion is for: %w", err)
	}
	return nil
}

// PromotionChange replaces a promotion's terms and state. Uses sets another limit, nil leaves it.
type PromotionChange struct {
	Terms PromotionTerms
	State PromotionState
	Uses  *int64
}

// UpdatePromotion changes a promotion. Fewer uses than are taken end it without touching what is held or
// sold; holds keep the price that they have.
func (s *Service) UpdatePromotion(ctx context.Context, actor tenants.Actor, requestKey string, id PromotionID, change PromotionChange) (Promotion, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionPromotionSet, "promotion", id.Region, id.UUID); err != nil {
		return Promotion{}, err
	}
	at := placeOf(actor.Tenant, id.Region)
	if err := change.Terms.check(at); err != nil {
		return Promotion{}, err
	}
	if change.State != PromotionStateActive && change.State != PromotionStateClosed {
		return Promotion{}, fault.Invalid("state", "expected %s or %s", PromotionStateActive, PromotionStateClosed)
	}
	if change.Uses != nil {
		if err := checkUses(*change.Uses); err != nil {
			return Promotion{}, err
		}
	}
	if err := request.ValidateKey(requestKey); err != nil {
		return Promotion{}, err
	}
	fingerprint, err := request.Fingerprint(struct {
		ID     string
		Change PromotionChange
	}{id.String(), change})
	if err != nil {
		return Promotion{}, err
	}
	return db.Replayable(ctx, s.db, "inventory.UpdatePromotion", func(ctx context.Context, tx pgx.Tx) (Promotion, error) {
		_, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: at.tenant, Region: at.region, Key: requestKey, Scope: "updatePromotion/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, id.UUID)
		if err != nil {
			return Promotion{}, err
		}
		before, err := promotionByID(ctx, tx, at, id.UUID)
		if err != nil || replayed {
			return before, err
		}
		return updatePromotionTx(ctx, tx, actor, at, before, change)
	})
}

func updatePromotionTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, at place, before Promotion, change PromotionChange) (Promotion, error) {
	queries, id := dbsqlc.New(tx), before.ID.UUID
	if err := lockProperty(ctx, tx, at, before.Property.UUID); err != nil {
		return Promotion{}, err
	}
	if change.Uses != nil && before.Uses == nil {
		return Promotion{}, fault.Invalid("uses", "the promotion was made without a limit of uses; make another one with it")
	}
	if change.State == PromotionStateActive && before.State != PromotionStateActive && before.Code == "" {
		if err := roomForPromotion(ctx, queries, at, before.Property.UUID); err != nil {
			return Promotion{}, err
		}
	}
	t := change.Terms
	if _, err := queries.PromotionSet(ctx, dbsqlc.PromotionSetParams{
		TenantID: at.tenant, Region: string(at.region), ID: id, Name: t.Name, State: string(change.State), BasisPoints: t.BasisPoints,
		AmountMinor: t.Minor, BookFrom: t.BookFrom, BookUntil: t.BookUntil, StayFrom: t.StayFrom, StayTo: t.StayTo, MinNights: t.MinNights,
	}); err != nil {
		return Promotion{}, fmt.Errorf("change the promotion: %w", err)
	}
	if err := setPromotionScopes(ctx, tx, at, before.Property.UUID, id, t); err != nil {
		return Promotion{}, err
	}
	if change.Uses != nil {
		if _, err := queries.PresaleCounterLimitSet(ctx, dbsqlc.PresaleCounterLimitSetParams{
			TenantID: at.tenant, Region: string(at.region), CodeID: id, Uses: *change.Uses,
		}); err != nil {
			return Promotion{}, fmt.Errorf("set the uses of a promotion: %w", err)
		}
	}
	after, err := promotionByID(ctx, tx, at, id)
	if err != nil {
		return Promotion{}, err
	}
	said := func(p Promotion) PromotionChange {
		return PromotionChange{Terms: p.Terms, State: p.State, Uses: p.Uses}
	}
	return after, tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionPromotionSet, Resource: before.ID, Before: said(before), After: said(after),
	})
}

// Promotions lists the promotions of a hotel in the order of their ids, at most limit after the given one,
// and says whether more follow.
func (s *Service) Promotions(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, after uuid.UUID, limit int) ([]Promotion, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRatesRead, "property", property.Region, property.UUID); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	if _, err := propertyCurrency(ctx, dbsqlc.New(s.db.Pool()), actor.Tenant, property); err != nil {
		return nil, false, db.Classify(err)
	}
	at := placeOf(actor.Tenant, property.Region)
	promotions, err := readPromotionRows(ctx, s.db.Pool(), at, dbsqlc.PromotionsGetParams{
		PropertyID: property.UUID, AfterID: after, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	})
	if err != nil {
		return nil, false, db.Classify(err)
	}
	more := len(promotions) > limit
	if more {
		promotions = promotions[:limit]
	}
	return promotions, more, nil
}

func promotionByID(ctx context.Context, q dbsqlc.DBTX, at place, id uuid.UUID) (Promotion, error) {
	promotions, err := readPromotionRows(ctx, q, at, dbsqlc.PromotionsGetParams{ID: id, MaxRows: 1})
	if err != nil {
		return Promotion{}, err
	}
	if len(promotions) == 0 {
		return Promotion{}, fault.NotFound("promotion")
	}
	return promotions[0], nil
}

func readPromotionRows(ctx context.Context, q dbsqlc.DBTX, at place, params dbsqlc.PromotionsGetParams) ([]Promotion, error) {
	params.TenantID, params.Region = at.tenant, string(at.region)
	rows, err := dbsqlc.New(q).PromotionsGet(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("read promotions: %w", err)
	}
	promotions := make([]Promotion, len(rows))
	for i, row := range rows {
		p := Promotion{
			ID: PromotionID{Region: at.region, UUID: row.ID}, Property: tenants.PropertyID{Region: at.region, UUID: row.PropertyID},
			State: PromotionState(row.State), Held: row.Held, Used: row.Used,
			Terms: PromotionTerms{
				Name: row.Name, BasisPoints: row.BasisPoints, Minor: row.AmountMinor, BookFrom: row.BookFrom, BookUntil: row.BookUntil,
				StayFrom: row.StayFrom, StayTo: row.StayTo, MinNights: row.MinNights,
			},
		}
		if row.Code != nil {
			p.Code = *row.Code
		}
		if row.Counted {
			p.Uses = &rows[i].Uses
		}
		for _, room := range row.RoomTypeIds {
			p.Terms.RoomTypes = append(p.Terms.RoomTypes, RoomTypeID{Region: at.region, UUID: room})
		}
		for _, plan := range row.RatePlanIds {
			p.Terms.RatePlans = append(p.Terms.RatePlans, RatePlanID{Region: at.region, UUID: plan})
		}
		promotions[i] = p
	}
	return promotions, nil
}
