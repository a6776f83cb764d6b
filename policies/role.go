package policies

import (
	"strings"

	"github.com/holdfast/holdfast/tenants"
)

// Role is a set of actions that the policy allows together.
type Role string

// The roles.
const (
	// RolePlatformOperator runs the installation, with a platform key. It acts in every tenant,
	// for the few things that it may do there.
	RolePlatformOperator Role = "platform-operator"
	// RoleTenantOwner sets up and runs one tenant, with an admin key or as a member.
	RoleTenantOwner Role = "tenant-owner"
	// The roles of members say in the policy what they are for; a member has them in the whole tenant
	// or at some places.
	RoleChainManager    Role = "chain-manager"
	RolePropertyManager Role = "property-manager"
	RoleVenueManager    Role = "venue-manager"
	RoleRevenueManager  Role = "revenue-manager"
	RoleBoxOffice       Role = "box-office"
	RoleChannelManager  Role = "channel-manager"
	RoleSupport         Role = "support"
	RoleAuditor         Role = "auditor"
	// RolePartner sells through one channel, with a partner key.
	RolePartner Role = "partner"
	// RoleWidget is a publishable key: it shows what is for sale.
	RoleWidget Role = "widget"
	// RoleGuest is a person with a session, in addition to the role of the key.
	RoleGuest Role = "guest"
	// RoleTrial is every key in test mode, whatever its type: it sees what is for sale and touches
	// neither live stock nor live money. Trial stock of its own will give it more to do.
	RoleTrial Role = "trial"
)

// Roles are all roles, from the one that runs the installation to the one that buys.
func Roles() []Role {
	return []Role{
		RolePlatformOperator, RoleTenantOwner, RoleChainManager, RolePropertyManager, RoleVenueManager, RoleRevenueManager, RoleBoxOffice,
		RoleChannelManager, RoleSupport, RoleAuditor, RolePartner, RoleWidget, RoleGuest, RoleTrial,
	}
}

// ofMember is the policy's name for a member's role.
func ofMember(role tenants.Role) Role {
	return Role(strings.ReplaceAll(strings.ToLower(string(role)), "_", "-"))
}

// rolesOf are what an actor's key gives it. A member's roles are in Actor.Grants.
func rolesOf(actor tenants.Actor) []Role {
	var roles []Role
	if actor.Mode == tenants.ModeTest {
		return []Role{RoleTrial}
	}
	switch actor.KeyType {
	case tenants.KeyTypePlatform:
		return []Role{RolePlatformOperator}
	case tenants.KeyTypeAdmin:
		return []Role{RoleTenantOwner}
	case tenants.KeyTypePartner:
		roles = []Role{RolePartner}
	case tenants.KeyTypePublishable:
		roles = []Role{RoleWidget}
	case tenants.KeyTypeMember:
		return nil
	default:
		return nil
	}
	if !actor.Session.IsZero() {
		roles = append(roles, RoleGuest)
	}
	return roles
}

// holder is what a refusal calls the caller.
func holder(keyType tenants.KeyType, mode tenants.Mode) string {
	if mode == tenants.ModeTest {
		return "a key in test mode sees what is for sale; it"
	}
	switch keyType {
	case tenants.KeyTypeAdmin:
		return "an admin key"
	case tenants.KeyTypeMember:
		return "a member with your roles"
	case tenants.KeyTypePlatform, tenants.KeyTypePartner, tenants.KeyTypePublishable:
	}
	return "a " + strings.ToLower(string(keyType)) + " key"
}
