package inventory

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// WindowScope is what a booking window is set for. Exactly one field is set.
type WindowScope struct {
	Property *tenants.PropertyID
	RatePlan *RatePlanID
}

// validate names the field that is wrong.
func (w BookingWindow) validate() error {
	switch {
	case w.MinAdvanceDays < 0 || w.MinAdvanceDays > maxAdvanceDays:
		return fault.Invalid("minAdvanceDays", "expected 0 to %d, got %d", maxAdvanceDays, w.MinAdvanceDays)
	case w.MaxAdvanceDays != nil && (*w.MaxAdvanceDays < 0 || *w.MaxAdvanceDays > maxAdvanceDays):
		return fault.Invalid("maxAdvanceDays", "expected 0 to %d, got %d", maxAdvanceDays, *w.MaxAdvanceDays)
	case w.MaxAdvanceDays != nil && *w.MaxAdvanceDays < w.MinAdvanceDays:
		return fault.Invalid("maxAdvanceDays", "expected at least minAdvanceDays %d, got %d", w.MinAdvanceDays, *w.MaxAdvanceDays)
	case w.Cutoff != nil && (*w.Cutoff < 0 || *w.Cutoff >= 24*60):
		return fault.Invalid("cutoffTime", "expected a time from \"00:00\" to \"23:59\"")
	}
	return nil
}

// SetBookingWindow says when stays at a hotel, or as a rate plan, may be booked; saying it twice changes
// nothing. A plan's window speaks besides its hotel's.
func (s *Service) SetBookingWindow(ctx context.Context, actor tenants.Actor, scope WindowScope, window BookingWindow) (BookingWindow, error) {
	if (scope.Property == nil) == (scope.RatePlan == nil) {
		if err := s.authorizer.Authorize(actor, policies.ActionNightsSet, actor.Tenant); err != nil {
			return BookingWindow{}, err
		}
		return BookingWindow{}, fault.Invalid("property", "expected exactly one of property and ratePlan")
	}
	if scope.Property != nil {
		if err := s.authorizeAt(ctx, actor, policies.ActionNightsSet, "property", scope.Property.Region, scope.Property.UUID); err != nil {
			return BookingWindow{}, err
		}
	} else if err := s.authorizeAt(ctx, actor, policies.ActionNightsSet, "rate plan", scope.RatePlan.Region, scope.RatePlan.UUID); err != nil {
		return BookingWindow{}, err
	}
	if err := window.validate(); err != nil {
		return BookingWindow{}, err
	}
	return db.Replayable(ctx, s.db, "inventory.SetBookingWindow", func(ctx context.Context, tx pgx.Tx) (BookingWindow, error) {
		return window, setBookingWindowTx(ctx, tx, actor, scope, window)
	})
}

func setBookingWindowTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, scope WindowScope, window BookingWindow) error {
	var property tenants.PropertyID
	var resource fmt.Stringer
	plan := hotelsOwnWindow
	if scope.RatePlan != nil {
		known, err := ratePlanOf(ctx, tx, actor.Tenant, *scope.RatePlan)
		if err != nil {
			return err
		}
		property, plan, resource = known.Property, scope.RatePlan.UUID, *scope.RatePlan
	} else {
		property, resource = *scope.Property, *scope.Property
		if err := propertyTx(ctx, tx, actor.Tenant, property); err != nil {
			return err
		}
	}
	before, err := bookingWindowOf(ctx, tx, actor.Tenant, property, plan)
	if err != nil {
		return err
	}
	if err := dbsqlc.New(tx).BookingWindowSet(ctx, dbsqlc.BookingWindowSetParams{
		TenantID: actor.Tenant.UUID, Region: string(property.Region), PropertyID: property.UUID, RatePlanID: plan,
		MinAdvanceDays: window.MinAdvanceDays, MaxAdvanceDays: window.MaxAdvanceDays, CutoffMinute: (*int64)(window.Cutoff),
	}); err != nil {
		return fmt.Errorf("store a booking window: %w", err)
	}
	return tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionNightsSet, Resource: resource,
		Before: map[string]any{"bookingWindow": before}, After: map[string]any{"bookingWindow": window},
	})
}

func bookingWindowOf(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, property tenants.PropertyID, plan uuid.UUID) (BookingWindow, error) {
	row, err := dbsqlc.New(q).BookingWindowGet(ctx, dbsqlc.BookingWindowGetParams{
		TenantID: tenant.UUID, Region: string(property.Region), PropertyID: property.UUID, RatePlanID: plan,
	})
	if db.IsNoRows(err) {
		return BookingWindow{}, nil
	}
	if err != nil {
		return BookingWindow{}, fmt.Errorf("read a booking window: %w", err)
	}
	return BookingWindow{MinAdvanceDays: row.MinAdvanceDays, MaxAdvanceDays: row.MaxAdvanceDays, Cutoff: (*TimeOfDay)(row.CutoffMinute)}, nil
}

// HotelBookingWindow is when stays at a hotel may be booked, whatever they are sold as.
func (s *Service) HotelBookingWindow(ctx context.Context, actor tenants.Actor, property tenants.PropertyID) (BookingWindow, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRoomTypeRead, "property", property.Region, property.UUID); err != nil {
		return BookingWindow{}, err
	}
	window, err := bookingWindowOf(ctx, s.db.Pool(), actor.Tenant, property, hotelsOwnWindow)
	return window, db.Classify(err)
}
