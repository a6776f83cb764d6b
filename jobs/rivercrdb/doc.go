// Package rivercrdb is a driver that runs River (riverqueue.com) on CockroachDB.
//
// It owns the few statements of River that CockroachDB does not take, in a form that it does; the
// tables River needs there; and the decision which statements run outside a transaction, where the
// server retries a serialization failure by itself. Everything else is River's own driver for pgx,
// riverpgxv5, underneath: this package wraps the pgx.Tx that it sends statements to.
//
// It does not own River's behaviour, its client, or its migrations, which cannot run on
// CockroachDB: use Migrate. It has no LISTEN and NOTIFY: River polls.
//
// Invariants:
//
//   - An edit applies only where its expected text stands exactly once in the statement of its
//     name. Anything else is ErrStatementChanged, found by New and not by the first job.
//   - Every statement that is sent stays within the grammar of CockroachDB 21.1, save SKIP LOCKED,
//     which is sent only to a server that New has seen take it.
//   - A statement that runs alone where River asked for a transaction stays alone: a second one in
//     the same transaction is ErrSecondStatement.
//
// The modules river, riverdriver, riverpgxv5, rivershared and rivertype must all be v0.51.2.
package rivercrdb
