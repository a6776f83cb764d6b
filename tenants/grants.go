package tenants

import (
	"cmp"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
)

// Role is what a member of a tenant is there for. What each allows is in package policies.
type Role string

// The roles of members. Keys have theirs by their type.
const (
	RoleTenantOwner     Role = "TENANT_OWNER"
	RoleChainManager    Role = "CHAIN_MANAGER"
	RolePropertyManager Role = "PROPERTY_MANAGER"
	RoleVenueManager    Role = "VENUE_MANAGER"
	RoleRevenueManager  Role = "REVENUE_MANAGER"
	RoleBoxOffice       Role = "BOX_OFFICE"
	RoleChannelManager  Role = "CHANNEL_MANAGER"
	RoleSupport         Role = "SUPPORT"
	RoleAuditor         Role = "AUDITOR"
)

// ScopeKind says what a role is bound to.
type ScopeKind string

// The kinds of scope.
const (
	ScopeKindTenant   ScopeKind = "TENANT"
	ScopeKindProperty ScopeKind = "PROPERTY"
	ScopeKindVenue    ScopeKind = "VENUE"
	ScopeKindShow     ScopeKind = "SHOW"
)

// MemberRoles are the roles that a member can have, each with what it can be bound to.
func MemberRoles() []MemberRole {
	anywhere := []ScopeKind{ScopeKindTenant, ScopeKindProperty, ScopeKindVenue, ScopeKindShow}
	return []MemberRole{
		{RoleTenantOwner, []ScopeKind{ScopeKindTenant}},
		{RoleChainManager, []ScopeKind{ScopeKindTenant, ScopeKindProperty}},
		{RolePropertyManager, []ScopeKind{ScopeKindProperty}},
		{RoleVenueManager, []ScopeKind{ScopeKindVenue, ScopeKindShow}},
		{RoleRevenueManager, anywhere},
		{RoleBoxOffice, anywhere},
		{RoleChannelManager, []ScopeKind{ScopeKindTenant}},
		{RoleSupport, anywhere},
		{RoleAuditor, anywhere},
	}
}

// MemberRole is a role with what it can be bound to.
type MemberRole struct {
	Role   Role
	Scopes []ScopeKind
}

// Place is where in a tenant something is: at a property, or at a venue, where it may be a show or
// of one. The zero Place is the tenant as a whole.
type Place struct {
	Property, Venue, Show uuid.UUID
}

// Grants are what one member may do and where: each role once, with all places that it is bound to.
// They never change; a change of a member's roles makes new ones.
type Grants struct {
	roles  []Grant
	limits []RefundLimit
}

// Grant is one role, in the whole tenant or at some places.
type Grant struct {
	Role  Role
	reach places
}

// RefundLimit is the most that a member gives back on one booking, and where.
type RefundLimit struct {
	Amount money.Amount
	Reach  Reach
}

// Answer is the limit's reach in the form of an Authorizer's answer.
func (l RefundLimit) Answer() error {
	if l.Reach.Whole() {
		return nil
	}
	return &LimitedError{Reach: l.Reach, Refusal: fault.Denied("the limit does not hold here")}
}

// places are what a role is bound to: the whole tenant, all its hotels, or each by itself. halls are the venues of shows that it is bound to: who works
// at a show may look at its hall.
type places struct {
	whole, hotels                    bool
	properties, venues, shows, halls map[uuid.UUID]struct{}
}

// NewGrants puts bindings together.
func NewGrants(bindings []Binding) *Grants {
	g := &Grants{}
	at := map[Role]int{}
	for _, binding := range bindings {
		i, ok := at[binding.Role]
		if !ok {
			i = len(g.roles)
			at[binding.Role] = i
			g.roles = append(g.roles, Grant{Role: binding.Role, reach: newPlaces()})
		}
		g.roles[i].reach.add(binding)
		if binding.RefundLimit != nil {
			alone := newPlaces()
			alone.add(binding)
			g.limits = append(g.limits, RefundLimit{Amount: *binding.RefundLimit, Reach: alone.reach()})
		}
	}
	return g
}

func newPlaces() places {
	return places{properties: map[uuid.UUID]struct{}{}, venues: map[uuid.UUID]struct{}{}, shows: map[uuid.UUID]struct{}{}, halls: map[uuid.UUID]struct{}{}}
}

// add adds what a binding is bound to.
func (p *places) add(binding Binding) {
	switch binding.Scope.Kind {
	case ScopeKindTenant:
		// A chain is its hotels, and not the halls that may belong to the same tenant.
		if binding.Role == RoleChainManager {
			p.hotels = true
		} else {
			p.whole = true
		}
	case ScopeKindProperty:
		p.properties[binding.Scope.ID] = struct{}{}
	case ScopeKindVenue:
		p.venues[binding.Scope.ID] = struct{}{}
	case ScopeKindShow:
		p.shows[binding.Scope.ID] = struct{}{}
		p.halls[binding.Scope.Venue] = struct{}{}
	}
}

func (p *places) reach() Reach {
	if p.whole {
		return Whole()
	}
	return Reach{parts: []*places{p}}
}

// Roles are the roles, each once.
func (g *Grants) Roles() []Role {
	if g == nil {
		return nil
	}
	roles := make([]Role, len(g.roles))
	for i, grant := range g.roles {
		roles[i] = grant.Role
	}
	return roles
}

// Reach is where the roles that fit are bound to. It is empty when no role fits.
func (g *Grants) Reach(fits func(Role) bool) Reach {
	var reach Reach
	if g == nil {
		return reach
	}
	for i := range g.roles {
		grant := &g.roles[i]
		if !fits(grant.Role) {
			continue
		}
		if grant.reach.whole {
			return Whole()
		}
		reach.parts = append(reach.parts, &grant.reach)
	}
	return reach
}

// RefundLimits are the most that the member gives back on one booking paid in a currency, the highest
// first, each with where it holds.
func (g *Grants) RefundLimits(currency money.Currency) []RefundLimit {
	var limits []RefundLimit
	if g == nil {
		return limits
	}
	for _, limit := range g.limits {
		if limit.Amount.Currency == currency {
			limits = append(limits, limit)
		}
	}
	slices.SortStableFunc(limits, func(a, b RefundLimit) int { return cmp.Compare(b.Amount.Minor, a.Amount.Minor) })
	return limits
}

// Reach is where in a tenant an actor may do something: everywhere, or at some places.
type Reach struct {
	whole bool
	parts []*places
}

// Whole is the reach of an actor who may do it everywhere in the tenant.
func Whole() Reach { return Reach{whole: true} }

// Whole says that there is no bound.
func (r Reach) Whole() bool { return r.whole }

// Empty says that there is no place at all.
func (r Reach) Empty() bool { return !r.whole && len(r.parts) == 0 }

// Covers says whether a place is within the reach. The tenant as a whole is only within the whole.
func (r Reach) Covers(at Place) bool {
	if r.whole {
		return true
	}
	for _, part := range r.parts {
		if part.hotels && at.Property != uuid.Nil || within(part.properties, at.Property) || within(part.venues, at.Venue) || within(part.shows, at.Show) {
			return true
		}
	}
	return false
}

// Shows says whether a place may be looked at: what the reach covers, and the hall around a show
// that it covers.
func (r Reach) Shows(at Place) bool {
	if r.Covers(at) {
		return true
	}
	for _, part := range r.parts {
		if at.Show == uuid.Nil && within(part.halls, at.Venue) {
			return true
		}
	}
	return false
}

func within(set map[uuid.UUID]struct{}, id uuid.UUID) bool {
	if id == uuid.Nil {
		return false
	}
	_, ok := set[id]
	return ok
}

// AllProperties says that the reach covers every property of the tenant.
func (r Reach) AllProperties() bool {
	return r.whole || slices.ContainsFunc(r.parts, func(p *places) bool { return p.hotels })
}

// Properties are the properties that a reach covers by themselves.
func (r Reach) Properties() []uuid.UUID {
	return r.list(func(p *places) []map[uuid.UUID]struct{} { return []map[uuid.UUID]struct{}{p.properties} })
}

// Venues are the venues within a reach that is not the whole, and with halls those around its shows.
func (r Reach) Venues(halls bool) []uuid.UUID {
	return r.list(func(p *places) []map[uuid.UUID]struct{} {
		if halls {
			return []map[uuid.UUID]struct{}{p.venues, p.halls}
		}
		return []map[uuid.UUID]struct{}{p.venues}
	})
}

// OneByOne are the shows that a reach which is not the whole covers by themselves.
func (r Reach) OneByOne() []uuid.UUID {
	return r.list(func(p *places) []map[uuid.UUID]struct{} { return []map[uuid.UUID]struct{}{p.shows} })
}

func (r Reach) list(sets func(*places) []map[uuid.UUID]struct{}) []uuid.UUID {
	seen := map[uuid.UUID]struct{}{}
	list := []uuid.UUID{}
	for _, part := range r.parts {
		for _, set := range sets(part) {
			for id := range set {
				if _, ok := seen[id]; !ok {
					seen[id] = struct{}{}
					list = append(list, id)
				}
			}
		}
	}
	return list
}

// LimitedError is an Authorizer's answer about an action that the actor may do at some places of the
// tenant only. Whoever does not ask where has been refused.
type LimitedError struct {
	// Reach is not empty.
	Reach Reach
	// Refusal is what is answered when the action is about the tenant as a whole.
	Refusal error
}

// Error is the refusal's.
func (e *LimitedError) Error() string { return e.Refusal.Error() }

// Unwrap gives the refusal.
func (e *LimitedError) Unwrap() error { return e.Refusal }

// ReachOf makes of an Authorizer's answer where the actor may act, or the refusal.
func ReachOf(answer error) (Reach, error) {
	var limited *LimitedError
	switch {
	case answer == nil:
		return Whole(), nil
	case errors.As(answer, &limited):
		return limited.Reach, nil
	}
	return Reach{}, answer
}
