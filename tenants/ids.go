package tenants

import "github.com/holdfast/holdfast/internal/ids"

// Kinds of public ids of this package.
type (
	// TenantKind is an organisation that sells.
	TenantKind struct{}
	// PropertyKind is a hotel.
	PropertyKind struct{}
	// VenueKind is a hall, arena or theatre.
	VenueKind struct{}
	// ChannelKind is a way of selling.
	ChannelKind struct{}
	// KeyKind is an API key.
	KeyKind struct{}
	// SessionKind is a guest session.
	SessionKind struct{}
	// AuditEntryKind is an entry of the log of changes.
	AuditEntryKind struct{}
	// MemberKind is a person who works for a tenant.
	MemberKind struct{}
	// BindingKind is a role that a member has somewhere.
	BindingKind struct{}
	// CustomerSecretKind is a secret that signs references to customers.
	CustomerSecretKind struct{}
)

// Prefix of a tenant's public id.
func (TenantKind) Prefix() string { return "tenant" }

// Prefix of a property's public id.
func (PropertyKind) Prefix() string { return "prop" }

// Prefix of a venue's public id.
func (VenueKind) Prefix() string { return "venue" }

// Prefix of a channel's public id.
func (ChannelKind) Prefix() string { return "chan" }

// Prefix of a key's public id.
func (KeyKind) Prefix() string { return "key" }

// Prefix of a guest session's public id.
func (SessionKind) Prefix() string { return "sess" }

// Prefix of an audit entry's public id.
func (AuditEntryKind) Prefix() string { return "audit" }

// Prefix of a member's public id.
func (MemberKind) Prefix() string { return "member" }

// Prefix of a binding's public id.
func (BindingKind) Prefix() string { return "bind" }

// Prefix of a customer secret's public id.
func (CustomerSecretKind) Prefix() string { return "csec" }

// Public ids. Properties and venues are directory entities, but their ids carry the region in
// which their stock lives.
type (
	TenantID   = ids.GlobalID[TenantKind]
	PropertyID = ids.ID[PropertyKind]
	VenueID    = ids.ID[VenueKind]
	ChannelID  = ids.GlobalID[ChannelKind]
	KeyID      = ids.GlobalID[KeyKind]
	SessionID  = ids.ID[SessionKind]

	AuditEntryID = ids.ID[AuditEntryKind]
	MemberID     = ids.GlobalID[MemberKind]
	BindingID    = ids.GlobalID[BindingKind]

	CustomerSecretID = ids.GlobalID[CustomerSecretKind]
)
