package policies

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

// anyTenant stands for the domain in decisions that no binding of a member has a part in.
const anyTenant = "*"

func member(tenant tenants.TenantID, bindings ...tenants.Binding) tenants.Actor {
	id := ids.NewGlobal[tenants.MemberKind]()
	return tenants.Actor{
		Tenant: tenant, Key: tenants.KeyID(id), KeyType: tenants.KeyTypeMember, Mode: tenants.ModeLive,
		Member: id, Grants: tenants.NewGrants(bindings),
	}
}

func bound(role tenants.Role, kind tenants.ScopeKind, id uuid.UUID) tenants.Binding {
	return tenants.Binding{Role: role, Scope: tenants.Scope{Kind: kind, ID: id}}
}

func TestMembersActWhereTheirRolesAreBound(t *testing.T) {
	t.Parallel()
	e := newEnforcer(t)
	own, foreign := ids.NewGlobal[tenants.TenantKind](), ids.NewGlobal[tenants.TenantKind]()
	hotelA, hotelB, hall, show, nextShow := uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()
	manager := member(own, bound(tenants.RolePropertyManager, tenants.ScopeKindProperty, hotelA))
	usher := member(own, tenants.Binding{Role: tenants.RoleBoxOffice, Scope: tenants.Scope{Kind: tenants.ScopeKindShow, ID: show, Venue: hall}})
	owner := member(own, bound(tenants.RoleTenantOwner, tenants.ScopeKindTenant, uuid.Nil))

	if err := e.Authorize(owner, ActionMemberManage, own); err != nil {
		t.Errorf("an owner: %v", err)
	}
	for _, actor := range []tenants.Actor{owner, manager, member(own)} {
		if err := e.Authorize(actor, ActionNightsSet, foreign); fault.KindOf(err) != fault.KindNotFound {
			t.Errorf("in another tenant: %v", err)
		}
		if err := e.Authorize(actor, ActionTenantCreate, tenants.TenantID{}); fault.KindOf(err) != fault.KindDenied {
			t.Errorf("on the installation: %v", err)
		}
	}
	if err := e.Authorize(member(own), ActionPropertyRead, own); fault.KindOf(err) != fault.KindDenied {
		t.Errorf("without a role: %v", err)
	}
	err := e.Authorize(manager, ActionNightsSet, own)
	if fault.KindOf(err) != fault.KindDenied {
		t.Errorf("a manager of one hotel for the whole tenant: %v", err)
	}
	reach, err := tenants.ReachOf(err)
	if err != nil || !reach.Covers(tenants.Place{Property: hotelA}) || reach.Covers(tenants.Place{Property: hotelB}) || reach.Covers(tenants.Place{}) {
		t.Errorf("a manager of hotel A: %+v, %v", reach, err)
	}
	if _, err := tenants.ReachOf(e.Authorize(manager, ActionPricesSet, own)); fault.KindOf(err) != fault.KindDenied {
		t.Errorf("a hotel's manager sets prices of shows: %v", err)
	}
	reach, err = tenants.ReachOf(e.Authorize(usher, ActionShowRead, own))
	if err != nil || !reach.Covers(tenants.Place{Venue: hall, Show: show}) || reach.Covers(tenants.Place{Venue: hall, Show: nextShow}) ||
		reach.Covers(tenants.Place{Venue: hall}) || !reach.Shows(tenants.Place{Venue: hall}) || reach.Shows(tenants.Place{Venue: hall, Show: nextShow}) {
		t.Errorf("the box office of one show: %+v, %v", reach, err)
	}
}

// The quick decision is the one that casbin makes when each binding is a line of its policy.
func TestCasbinDecidesTheSameAboutMembers(t *testing.T) {
	t.Parallel()
	e := newEnforcer(t)
	random := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // bindings are drawn, not guessed
	tenantIDs := []tenants.TenantID{ids.NewGlobal[tenants.TenantKind](), ids.NewGlobal[tenants.TenantKind]()}
	pick := map[tenants.ScopeKind][]uuid.UUID{
		tenants.ScopeKindTenant: {uuid.Nil}, tenants.ScopeKindProperty: {uuid.New(), uuid.New()},
		tenants.ScopeKindVenue: {uuid.New(), uuid.New()}, tenants.ScopeKindShow: {uuid.New(), uuid.New()},
	}
	domain := func(tenant tenants.TenantID, kind tenants.ScopeKind, id uuid.UUID) string {
		return tenant.String() + "/" + strings.ToLower(string(kind)) + "/" + id.String()
	}
	text := policyText
	var members []tenants.Actor
	for range 12 {
		var bindings []tenants.Binding
		for range random.IntN(4) {
			role := tenants.MemberRoles()[random.IntN(len(tenants.MemberRoles()))]
			kind := role.Scopes[random.IntN(len(role.Scopes))]
			bindings = append(bindings, bound(role.Role, kind, pick[kind][random.IntN(len(pick[kind]))]))
		}
		actor := member(tenantIDs[random.IntN(2)], bindings...)
		members = append(members, actor)
		for _, b := range bindings {
			where := domain(actor.Tenant, b.Scope.Kind, b.Scope.ID)
			if b.Scope.Kind == tenants.ScopeKindTenant {
				where = actor.Tenant.String() + "/*"
				if b.Role == tenants.RoleChainManager {
					where = actor.Tenant.String() + "/property/*"
				}
			}
			text += fmt.Sprintf("g, %s, %s, %s\n", actor.Member, ofMember(b.Role), where)
		}
	}
	judge, err := newCasbin(text)
	if err != nil {
		t.Fatal(err)
	}
	enforce := func(actor tenants.Actor, where string, action Action) bool {
		resource, verb := split(action)
		allowed, err := judge.Enforce(actor.Member.String(), where, string(resource), verb)
		if err != nil {
			t.Fatal(err)
		}
		return allowed
	}
	yes := 0
	for _, actor := range members {
		for _, tenant := range tenantIDs {
			// casbin takes a millisecond for each, so a few that tell the roles apart.
			for _, action := range []Action{ActionNightsSet, ActionPricesSet, ActionShowRead, ActionMemberManage, ActionRefundLimited} {
				answer := e.Authorize(actor, action, tenant)
				if got, want := answer == nil, enforce(actor, tenant.String()+"/", action); got != want {
					t.Fatalf("%s in the whole of %s: %v, casbin says %v", action, tenant, answer, want)
				}
				for _, property := range pick[tenants.ScopeKindProperty] {
					if got, want := covered(answer, tenants.Place{Property: property}), enforce(actor, domain(tenant, tenants.ScopeKindProperty, property), action); got != want {
						t.Fatalf("%s at a property: %v, casbin says %v", action, answer, want)
					}
				}
				for _, venue := range pick[tenants.ScopeKindVenue] {
					for _, show := range pick[tenants.ScopeKindShow] {
						want := enforce(actor, domain(tenant, tenants.ScopeKindVenue, venue), action) || enforce(actor, domain(tenant, tenants.ScopeKindShow, show), action)
						if got := covered(answer, tenants.Place{Venue: venue, Show: show}); got != want {
							t.Fatalf("%s at a show: %v, casbin says %v", action, answer, want)
						} else if got {
							yes++
						}
					}
				}
			}
		}
	}
	if yes == 0 {
		t.Error("nobody was allowed anything")
	}
}

func covered(answer error, at tenants.Place) bool {
	reach, err := tenants.ReachOf(answer)
	var limited *tenants.LimitedError
	if err != nil && !errors.As(err, &limited) {
		return false
	}
	return reach.Covers(at)
}

// What a role may do is what casbin says about it, action by action.
func TestCasbinDecidesTheSameAboutRoles(t *testing.T) {
	t.Parallel()
	e := newEnforcer(t)
	judge, err := newCasbin(policyText)
	if err != nil {
		t.Fatal(err)
	}
	for i, meaning := range Meanings() {
		for _, role := range []Role{Roles()[i%len(Roles())], RoleTenantOwner, RoleTrial} {
			resource, verb := split(meaning.Action)
			want, err := judge.Enforce(string(role), anyTenant, string(resource), verb)
			if err != nil || want != e.allowed[role][meaning.Action] {
				t.Errorf("%s for %s: got %v, casbin says %v, %v", meaning.Action, role, e.allowed[role][meaning.Action], want, err)
			}
		}
	}
}

// BenchmarkMemberOfTenThousand is one decision about one place for a member who is bound to 10,000.
func BenchmarkMemberOfTenThousand(b *testing.B) {
	e := newEnforcer(b)
	bindings := make([]tenants.Binding, 10_000)
	for i := range bindings {
		bindings[i] = bound(tenants.RoleChainManager, tenants.ScopeKindProperty, uuid.New())
	}
	benchmarkMembers(b, e, []tenants.Actor{member(ids.NewGlobal[tenants.TenantKind](), bindings...)}, bindings)
}

// BenchmarkTenThousandMembers is the same for 10,000 members with one binding each, in turn.
func BenchmarkTenThousandMembers(b *testing.B) {
	e := newEnforcer(b)
	tenant := ids.NewGlobal[tenants.TenantKind]()
	actors, bindings := make([]tenants.Actor, 10_000), make([]tenants.Binding, 10_000)
	for i := range actors {
		bindings[i] = bound(tenants.RolePropertyManager, tenants.ScopeKindProperty, uuid.New())
		actors[i] = member(tenant, bindings[i])
	}
	benchmarkMembers(b, e, actors, bindings)
}

func benchmarkMembers(b *testing.B, e *Enforcer, actors []tenants.Actor, bindings []tenants.Binding) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		actor := actors[i%len(actors)]
		if !covered(e.Authorize(actor, ActionNightsSet, actor.Tenant), tenants.Place{Property: bindings[i%len(bindings)].Scope.ID}) {
			b.Fatal("refused")
		}
		i++
	}
}
