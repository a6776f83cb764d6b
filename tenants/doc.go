// Package tenants owns who sells and who is asking: tenants, their properties, venues and
// channels, the keys and guest sessions that callers present, and the Actor that a request acts
// as. It does not decide what an actor may do (package policies) and knows no stock.
//
// Invariants: a key's or session's secret is stored only as its hash and shown only once; every
// tenant-owned row is read and written with its tenant in the predicate, but for the look-up of a
// presented key, which finds out the tenant.
//
// A limit to know: a revoked key goes on working in other processes until they look it up again,
// at most Config.KeyCacheAge later, and a suspended channel goes on selling as long.
package tenants
