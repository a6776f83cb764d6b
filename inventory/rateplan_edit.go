package inventory

import (
	"context"
	"fmt"
	"regexp"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// NewRatePlan is a rate plan to be.
type NewRatePlan struct {
	Property   tenants.PropertyID
	Code       string
	Name       string
	Refundable bool
	Derivation Derivation
}

// RatePlanChange is what to change of a rate plan; nil leaves it.
type RatePlanChange struct {
	Name       *string
	State      *RatePlanState
	Refundable *bool
	// Derivation replaces how the prices follow from others; the zero one gives the plan its own again.
	Derivation *Derivation
}

var planCode = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$`)

// CreateRatePlan adds a rate plan to a hotel. A code that the hotel has is a conflict.
func (s *Service) CreateRatePlan(ctx context.Context, actor tenants.Actor, requestKey string, input NewRatePlan) (RatePlan, error) {
	region := input.Property.Region
	if err := s.authorizeAt(ctx, actor, policies.ActionRatesSet, "property", region, input.Property.UUID); err != nil {
		return RatePlan{}, err
	}
	if !planCode.MatchString(input.Code) {
		return RatePlan{}, fault.Invalid("code", "expected 1 to 32 letters, digits, dots, dashes and underscores, such as BAR, got %.40q", input.Code)
	}
	if err := checkName("name", input.Name); err != nil {
		return RatePlan{}, err
	}
	if err := input.Derivation.validate("derivation"); err != nil {
		return RatePlan{}, err
	}
	id, err := s.create(ctx, actor, region, "createRatePlan", requestKey, input, func(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
		return createRatePlanTx(ctx, tx, actor, RatePlanID{Region: region, UUID: id}, input)
	})
	if err != nil {
		return RatePlan{}, err
	}
	return ratePlanOf(ctx, s.db.Pool(), actor.Tenant, RatePlanID{Region: region, UUID: id})
}

func createRatePlanTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, id RatePlanID, input NewRatePlan) error {
	queries := dbsqlc.New(tx)
	if err := propertyTx(ctx, tx, actor.Tenant, input.Property); err != nil {
		return err
	}
	count, err := queries.RatePlansCount(ctx, dbsqlc.RatePlansCountParams{TenantID: actor.Tenant.UUID, Region: string(id.Region), PropertyID: input.Property.UUID})
	if err != nil {
		return fmt.Errorf("count rate plans: %w", err)
	}
	if count >= maxRatePlans {
		return fault.Invalid("property", "a hotel has at most %d rate plans", maxRatePlans)
	}
	if err := lockParent(ctx, queries, actor.Tenant, input.Property, input.Derivation); err != nil {
		return err
	}
	kind, parent := input.Derivation.stored()
	err = queries.RatePlanInsert(ctx, dbsqlc.RatePlanInsertParams{
		TenantID: actor.Tenant.UUID, Region: string(id.Region), ID: id.UUID, PropertyID: input.Property.UUID, Code: input.Code, Name: input.Name,
		Refundable: input.Refundable, ParentID: parent, DeriveKind: kind, DeriveBasisPoints: input.Derivation.BasisPoints, DeriveMinor: input.Derivation.Minor,
	})
	if db.ViolatedConstraint(err) == "rate_plans_code_unique" {
		return fault.Conflict("the hotel has a rate plan with this code")
	}
	if err != nil {
		return fmt.Errorf("store a rate plan: %w", err)
	}
	return tenants.AuditTx(ctx, tx, actor, tenants.Change{Action: policies.ActionRatesSet, Resource: id, After: input})
}

// stored is how a derivation is kept.
func (d Derivation) stored() (kind *string, parent *uuid.UUID) {
	if d.Kind != "" {
		kind = (*string)(&d.Kind)
	}
	if d.Parent != nil {
		parent = &d.Parent.UUID
	}
	return kind, parent
}

// lockParent says what is wrong with the parent of a plan. Its row is locked, so that it keeps its own prices
// until the plan that follows them is stored.
func lockParent(ctx context.Context, queries *dbsqlc.Queries, tenant tenants.TenantID, property tenants.PropertyID, d Derivation) error {
	if d.Parent == nil {
		return nil
	}
	if d.Parent.Region != property.Region {
		return fault.NotFound("rate plan")
	}
	parent, err := queries.RatePlanLock(ctx, dbsqlc.RatePlanLockParams{TenantID: tenant.UUID, Region: string(d.Parent.Region), ID: d.Parent.UUID})
	switch {
	case db.IsNoRows(err):
		return fault.NotFound("rate plan")
	case err != nil:
		return fmt.Errorf("lock a rate plan: %w", err)
	case parent.PropertyID != property.UUID:
		return fault.Invalid("derivation.parent", "expected a rate plan of the same hotel")
	case parent.DeriveKind != nil:
		return fault.Invalid("derivation.parent", "expected a rate plan with prices of its own: this one is derived itself")
	}
	return nil
}

// UpdateRatePlan renames, closes or reopens a rate plan, or changes where its prices come from. What was
// sold stays as it was sold; holds of a plan that closes can neither be extended nor paid.
func (s *Service) UpdateRatePlan(ctx context.Context, actor tenants.Actor, id RatePlanID, change RatePlanChange) (RatePlan, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRatesSet, "rate plan", id.Region, id.UUID); err != nil {
		return RatePlan{}, err
	}
	if change.Name != nil {
		if err := checkName("name", *change.Name); err != nil {
			return RatePlan{}, err
		}
	}
	if change.Derivation != nil {
		if err := change.Derivation.validate("derivation"); err != nil {
			return RatePlan{}, err
		}
	}
	return db.Replayable(ctx, s.db, "inventory.UpdateRatePlan", func(ctx context.Context, tx pgx.Tx) (RatePlan, error) {
		return updateRatePlanTx(ctx, tx, actor, id, change)
	})
}

func updateRatePlanTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, id RatePlanID, change RatePlanChange) (RatePlan, error) {
	queries := dbsqlc.New(tx)
	if _, err := queries.RatePlanLock(ctx, dbsqlc.RatePlanLockParams{TenantID: actor.Tenant.UUID, Region: string(id.Region), ID: id.UUID}); db.IsNoRows(err) {
		return RatePlan{}, fault.NotFound("rate plan")
	} else if err != nil {
		return RatePlan{}, fmt.Errorf("lock a rate plan: %w", err)
	}
	before, err := ratePlanOf(ctx, tx, actor.Tenant, id)
	if err != nil {
		return RatePlan{}, err
	}
	after := before
	if change.Name != nil {
		after.Name = *change.Name
	}
	if change.State != nil {
		after.State = *change.State
	}
	if change.Refundable != nil {
		after.Refundable = *change.Refundable
	}
	if change.Derivation != nil {
		after.Derivation = *change.Derivation
		if err := mayDerive(ctx, queries, actor.Tenant, after); err != nil {
			return RatePlan{}, err
		}
	}
	kind, parent := after.Derivation.stored()
	if _, err := queries.RatePlanUpdate(ctx, dbsqlc.RatePlanUpdateParams{
		TenantID: actor.Tenant.UUID, Region: string(id.Region), ID: id.UUID, Name: after.Name, State: string(after.State), Refundable: after.Refundable,
		ParentID: parent, DeriveKind: kind, DeriveBasisPoints: after.Derivation.BasisPoints, DeriveMinor: after.Derivation.Minor,
	}); err != nil {
		return RatePlan{}, fmt.Errorf("store a rate plan: %w", err)
	}
	return after, tenants.AuditTx(ctx, tx, actor, tenants.Change{Action: policies.ActionRatesSet, Resource: id, Before: before, After: after})
}

// mayDerive says what is wrong with a new derivation of a plan that is locked.
func mayDerive(ctx context.Context, queries *dbsqlc.Queries, tenant tenants.TenantID, plan RatePlan) error {
	if plan.Derivation.Kind == "" {
		return nil
	}
	if parent := plan.Derivation.Parent; parent != nil && *parent == plan.ID {
		return fault.Invalid("derivation.parent", "expected another rate plan")
	}
	children, err := queries.RatePlanChildren(ctx, dbsqlc.RatePlanChildrenParams{TenantID: tenant.UUID, Region: string(plan.ID.Region), PropertyID: plan.Property.UUID, ParentID: plan.ID.UUID})
	if err != nil {
		return fmt.Errorf("count the children of a rate plan: %w", err)
	}
	if children > 0 {
		return fault.Invalid("derivation", "the plan is the parent of %d others, so it has prices of its own", children)
	}
	return lockParent(ctx, queries, tenant, plan.Property, plan.Derivation)
}
