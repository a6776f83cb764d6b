// Package bookingstest makes shops for tests: a tenant of package inventorytest that sells through
// the saga of package bookings, with a sandbox provider of its own behind a real HTTP connection.
//
// Each shop has a provider under a name of its own, so that a reconciliation in one test, which
// looks at every tenant of the shared database, leaves the payments of the others alone. Nothing
// drives a shop in the background: what a worker would do, a test does, and in the order it chooses.
// Time passes by moving what rows remember into the past.
package bookingstest
