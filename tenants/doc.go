// Package tenants owns who sells and who is asking: tenants, their properties, venues and
// channels, the keys and guest sessions that callers present, and the Actor that a request acts
// as. It does not decide what an actor may do (package policies) and knows no stock.
//
// Invariants: a key's or session's secret is stored only as its hash and shown only once; every
// tenant-owned row is read and written with its tenant in the predicate.
package tenants
