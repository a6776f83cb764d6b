// Package policies owns who may do what: the actions of all packages, the roles, and the policy
// that joins them (policy.csv, over the casbin model in model.conf). testdata/roles.golden.md
// shows the whole of it as one table.
//
// It knows no rows. Whether a hold is the caller's own, or an id exists in the tenant, is for the
// service that reads it, which keeps actor.Tenant in every query.
//
// Invariants: what no line of the policy allows is denied; an actor of one tenant gets for every
// other tenant the answer for a tenant that does not exist.
package policies
