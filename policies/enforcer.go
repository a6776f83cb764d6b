package policies

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
	"github.com/casbin/casbin/v2/persist"
	"github.com/casbin/casbin/v2/util"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

//go:embed model.conf
var modelText string

//go:embed policy.csv
var policyText string

// Enforcer decides. It is safe for concurrent use, and satisfies tenants.Authorizer.
type Enforcer struct {
	// allowed has every decision about a role. They are the same in all tenants and there are few,
	// so casbin is asked what each role has once, at the start: see BenchmarkCasbin for what that saves. Where a
	// member has which role is in the actor's grants; that this gives what casbin would say with the
	// same bindings as lines of its policy is a test.
	allowed map[Role]map[Action]bool
	// members are the same decisions under the names that bindings use.
	members map[tenants.Role]map[Action]bool
}

// New reads the policy that is built in. An error is a defect of the policy.
func New() (*Enforcer, error) {
	judge, err := newCasbin(policyText)
	if err != nil {
		return nil, err
	}
	e := &Enforcer{allowed: make(map[Role]map[Action]bool, len(Roles())), members: map[tenants.Role]map[Action]bool{}}
	for _, role := range Roles() {
		lines, err := judge.GetImplicitPermissionsForUser(string(role))
		if err != nil {
			return nil, fmt.Errorf("list what the role %s may do: %w", role, err)
		}
		actions := make(map[Action]bool, len(lines))
		for _, line := range lines {
			actions[Action(line[1]+"."+line[2])] = true
		}
		e.allowed[role] = actions
	}
	for _, role := range tenants.MemberRoles() {
		actions, ok := e.allowed[ofMember(role.Role)]
		if !ok {
			return nil, fmt.Errorf("members can have the role %s, which the policy does not know", role.Role)
		}
		e.members[role.Role] = actions
	}
	return e, nil
}

// newCasbin loads a policy, and refuses lines about roles or actions that do not exist: they would
// silently allow nothing.
func newCasbin(policy string) (*casbin.Enforcer, error) {
	m, err := model.NewModelFromString(modelText)
	if err != nil {
		return nil, fmt.Errorf("read the policy model: %w", err)
	}
	// casbin's own adapter for text skips the lines that it cannot read.
	for i, line := range strings.Split(policy, "\n") {
		if err := persist.LoadPolicyLine(line, m); err != nil {
			return nil, fmt.Errorf("read line %d of the policy: %w", i+1, err)
		}
	}
	judge, err := casbin.NewEnforcer(m)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	judge.AddNamedDomainMatchingFunc("g", "keyMatch", util.KeyMatch)
	if err := judge.BuildRoleLinks(); err != nil {
		return nil, fmt.Errorf("bind the members of the policy: %w", err)
	}
	lines, err := judge.GetPolicy()
	if err != nil {
		return nil, fmt.Errorf("list the policy: %w", err)
	}
	for _, line := range lines {
		known := slices.ContainsFunc(Meanings(), func(m Meaning) bool { return string(m.Action) == line[1]+"."+line[2] })
		if !known {
			return nil, fmt.Errorf("the policy names the action %s.%s, which does not exist", line[1], line[2])
		}
		if !slices.Contains(Roles(), Role(line[0])) {
			return nil, fmt.Errorf("the policy names the role %s, which does not exist", line[0])
		}
	}
	return judge, nil
}

// Authorize is nil when the actor may do this in the tenant; the zero tenant is the installation
// itself. Otherwise it is a fault: KindUnauthenticated for the zero actor, KindNotFound for a
// tenant that is not the actor's, KindDenied for an action that none of the actor's roles has. The
// denial of what a member may do at some places only is a *tenants.LimitedError, for services that
// know which place is meant.
func (e *Enforcer) Authorize(actor tenants.Actor, action Action, tenant tenants.TenantID) error {
	if actor.KeyType == tenants.KeyTypeMember {
		return e.authorizeMember(actor, action, tenant)
	}
	roles := rolesOf(actor)
	if len(roles) == 0 {
		return fault.Unauthenticated("Authorization: expected a key")
	}
	operator := actor.KeyType == tenants.KeyTypePlatform
	if !operator && !tenant.IsZero() && tenant != actor.Tenant {
		return fault.NotFound("tenant")
	}
	// Only operators act on the installation itself, whatever the others may do in their tenant.
	if operator || !tenant.IsZero() {
		for _, role := range roles {
			if e.allowed[role][action] {
				return nil
			}
		}
	}
	return e.denied(actor, action)
}

func (e *Enforcer) authorizeMember(actor tenants.Actor, action Action, tenant tenants.TenantID) error {
	if !tenant.IsZero() && tenant != actor.Tenant {
		return fault.NotFound("tenant")
	}
	var reach tenants.Reach
	if !tenant.IsZero() {
		reach = actor.Grants.Reach(func(role tenants.Role) bool { return e.members[role][action] })
	}
	switch {
	case reach.Whole():
		return nil
	case reach.Empty():
		return e.denied(actor, action)
	}
	return &tenants.LimitedError{Reach: reach, Refusal: fault.Denied("a member with your roles may do %s at some places only, and not for the whole tenant", action)}
}

// denied says what the actor is and, where that is all that lacks, how a guest is let in.
func (e *Enforcer) denied(actor tenants.Actor, action Action) error {
	canBeGuest := actor.KeyType == tenants.KeyTypePartner || actor.KeyType == tenants.KeyTypePublishable
	if canBeGuest && actor.Session.IsZero() && e.allowed[RoleGuest][action] {
		return fault.Denied("%s may do %s only for a guest: present the guest's session in the Holdfast-Session header", holder(actor.KeyType, actor.Mode), action)
	}
	return fault.Denied("%s may not do %s", holder(actor.KeyType, actor.Mode), action)
}
