package tenants

// Action names something that an actor may be allowed to do, as resource and verb:
// "property.create". The type stands here, beside Actor, so that this package's services can ask
// for a decision; package policies uses it under the same name and has the actions of all
// packages.
type Action string

// What this package's services ask for.
const (
	ActionTenantCreate   Action = "tenant.create"
	ActionTenantRead     Action = "tenant.read"
	ActionPropertyCreate Action = "property.create"
	ActionPropertyRead   Action = "property.read"
	ActionPropertyUpdate Action = "property.update"
	ActionVenueCreate    Action = "venue.create"
	ActionVenueRead      Action = "venue.read"
	ActionChannelCreate  Action = "channel.create"
	ActionChannelRead    Action = "channel.read"
	ActionChannelSuspend Action = "channel.suspend"
	ActionKeyCreate      Action = "key.create"
	ActionKeyRead        Action = "key.read"
	ActionKeyRevoke      Action = "key.revoke"
	ActionSessionStart   Action = "session.start"
	ActionJobInspect     Action = "job.inspect"
	ActionAuditRead      Action = "audit.read"
	ActionMemberRead     Action = "member.read"
	ActionMemberManage   Action = "member.manage"
	ActionCustomerSecret Action = "customer.secret"
)
