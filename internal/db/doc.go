// Package db owns the connection to the database and the only way to write to it: InTx, one
// SERIALIZABLE transaction on CockroachDB or PostgreSQL, retried until it commits, is refused, or
// its outcome is unknown.
//
// It knows no table. The list of differences between the two engines lives here, in package
// schema and in package jobs, and nowhere else.
package db
