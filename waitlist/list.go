package waitlist

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/waitlist/internal/dbsqlc"
)

// Scope is what a list is of: a show or a hotel. Exactly one is set.
type Scope struct {
	Show     inventory.ShowID
	Property tenants.PropertyID
}

type scopeKind string

const (
	scopeShow     scopeKind = "SHOW"
	scopeProperty scopeKind = "PROPERTY"
)

func scopeOf(kind string, region ids.Region, id uuid.UUID) Scope {
	if scopeKind(kind) == scopeShow {
		return Scope{Show: inventory.ShowID{Region: region, UUID: id}}
	}
	return Scope{Property: tenants.PropertyID{Region: region, UUID: id}}
}

func (s Scope) kind() scopeKind {
	if s.Show.IsZero() {
		return scopeProperty
	}
	return scopeShow
}

func (s Scope) region() ids.Region {
	if s.Show.IsZero() {
		return s.Property.Region
	}
	return s.Show.Region
}

func (s Scope) id() uuid.UUID {
	if s.Show.IsZero() {
		return s.Property.UUID
	}
	return s.Show.UUID
}

// name is the sort of thing, for answers.
func (s Scope) name() string {
	if s.Show.IsZero() {
		return "property"
	}
	return "show"
}

// resource is what the log of changes names.
func (s Scope) resource() fmt.Stringer {
	if s.Show.IsZero() {
		return s.Property
	}
	return s.Show
}

func (s Scope) validate() error {
	if s.Show.IsZero() == s.Property.IsZero() {
		return fault.Invalid("show", "expected a show or a property, and not both")
	}
	return nil
}

// Settings are the terms of a list.
type Settings struct {
	// Open lists take entries and are served. In one that is closed nobody joins and nobody is offered
	// anything; those who wait keep their places.
	Open bool
	// Offer is how long what comes free is held for whoever it is offered to.
	Offer time.Duration
	// MaxEntries is how many may wait at one time.
	MaxEntries int64
}

// Change sets what is not nil.
type Change struct {
	Open       *bool
	Offer      *time.Duration
	MaxEntries *int64
}

// List is the waiting list of a show or a hotel. One that was never set is closed and empty.
type List struct {
	Scope
	Settings
	// Waiting and Offered are how many wait, and for how many something is held.
	Waiting, Offered int64
	// Oldest is when the first in line joined; nil when nobody waits.
	Oldest *time.Time
}

func defaults() Settings { return Settings{Offer: defaultOffer, MaxEntries: defaultEntries} }

func (s Settings) validate() error {
	switch {
	case s.Offer < minOffer || s.Offer > maxOffer:
		return fault.Invalid("offerSeconds", "expected %d to %d, got %d", int64(minOffer/time.Second), int64(maxOffer/time.Second), int64(s.Offer/time.Second))
	case s.MaxEntries < 1 || s.MaxEntries > maxEntries:
		return fault.Invalid("maxEntries", "expected 1 to %d, got %d", maxEntries, s.MaxEntries)
	}
	return nil
}

// Set opens, changes or closes the list of a show or a hotel. A shorter list than there are entries puts
// nobody out; an offer that was made keeps its time.
func (s *Service) Set(ctx context.Context, actor tenants.Actor, scope Scope, change Change) (List, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionWaitingListManage, scope); err != nil {
		return List{}, err
	}
	_, err := db.Replayable(ctx, s.db, "waitlist.Set", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		queries := dbsqlc.New(tx)
		if err := exists(ctx, queries, actor.Tenant, scope); err != nil {
			return struct{}{}, err
		}
		key := dbsqlc.ListLockParams{TenantID: actor.Tenant.UUID, Region: string(scope.region()), ScopeID: scope.id()}
		if _, err := queries.ListInsert(ctx, dbsqlc.ListInsertParams{
			TenantID: key.TenantID, Region: key.Region, ScopeID: key.ScopeID, ScopeKind: string(scope.kind()),
			OfferSeconds: int64(defaultOffer / time.Second), MaxEntries: defaultEntries,
		}); err != nil {
			return struct{}{}, fmt.Errorf("make a waiting list: %w", err)
		}
		row, err := queries.ListLock(ctx, key)
		if err != nil {
			return struct{}{}, fmt.Errorf("lock a waiting list: %w", err)
		}
		before := settingsOf(dbsqlc.ListGetRow(row))
		after := before
		assign(&after.Open, change.Open)
		assign(&after.Offer, change.Offer)
		assign(&after.MaxEntries, change.MaxEntries)
		if err := after.validate(); err != nil {
			return struct{}{}, err
		}
		if _, err := queries.ListSet(ctx, dbsqlc.ListSetParams{
			TenantID: key.TenantID, Region: key.Region, ScopeID: key.ScopeID,
			IsOpen: after.Open, OfferSeconds: int64(after.Offer / time.Second), MaxEntries: after.MaxEntries,
		}); err != nil {
			return struct{}{}, fmt.Errorf("set a waiting list: %w", err)
		}
		return struct{}{}, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionWaitingListManage, Resource: scope.resource(), Before: loggedSettings(before), After: loggedSettings(after),
		})
	})
	if err != nil {
		return List{}, err
	}
	return s.read(ctx, actor.Tenant, scope)
}

func assign[T any](target *T, value *T) {
	if value != nil {
		*target = *value
	}
}

// loggedSettings is what the log of changes keeps.
func loggedSettings(s Settings) any {
	return struct {
		Open                     bool
		OfferSeconds, MaxEntries int64
	}{s.Open, int64(s.Offer / time.Second), s.MaxEntries}
}

func settingsOf(row dbsqlc.ListGetRow) Settings {
	return Settings{Open: row.IsOpen, Offer: time.Duration(row.OfferSeconds) * time.Second, MaxEntries: row.MaxEntries}
}

// List is the list of a show or a hotel, for its staff.
func (s *Service) List(ctx context.Context, actor tenants.Actor, scope Scope) (List, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionWaitingListRead, scope); err != nil {
		return List{}, err
	}
	if err := exists(ctx, dbsqlc.New(s.db.Pool()), actor.Tenant, scope); err != nil {
		return List{}, err
	}
	return s.read(ctx, actor.Tenant, scope)
}

func (s *Service) read(ctx context.Context, tenant tenants.TenantID, scope Scope) (List, error) {
	return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (List, error) {
		queries := dbsqlc.New(tx)
		list := List{Scope: scope, Settings: defaults()}
		row, err := queries.ListGet(ctx, dbsqlc.ListGetParams{TenantID: tenant.UUID, Region: string(scope.region()), ScopeID: scope.id()})
		if db.IsNoRows(err) {
			return list, nil
		}
		if err != nil {
			return List{}, fmt.Errorf("read a waiting list: %w", err)
		}
		list.Settings = settingsOf(row)
		counts, err := queries.ListCounts(ctx, dbsqlc.ListCountsParams{TenantID: tenant.UUID, Region: string(scope.region()), ScopeID: scope.id()})
		if err != nil {
			return List{}, fmt.Errorf("count who waits in a list: %w", err)
		}
		list.Waiting, list.Offered = counts.Waiting, counts.Offered
		oldest, err := queries.ListOldest(ctx, dbsqlc.ListOldestParams{TenantID: tenant.UUID, Region: string(scope.region()), ScopeID: scope.id()})
		if err != nil {
			return List{}, fmt.Errorf("read the first in line: %w", err)
		}
		if len(oldest) > 0 {
			list.Oldest = &oldest[0]
		}
		return list, nil
	})
}

// exists answers a show or hotel of another tenant like one that nobody has.
func exists(ctx context.Context, queries *dbsqlc.Queries, tenant tenants.TenantID, scope Scope) error {
	found, err := queries.ScopeExists(ctx, dbsqlc.ScopeExistsParams{TenantID: tenant.UUID, Region: string(scope.region()), ID: scope.id()})
	if err != nil {
		return db.Classify(fmt.Errorf("look for the %s of a waiting list: %w", scope.name(), err))
	}
	if found == nil || !*found {
		return fault.NotFound(scope.name())
	}
	return nil
}
