// Package embedded finds, gets or starts the database engine that Holdfast
// runs on when nobody has set one up: for development, for the demo and for
// tests.
//
// It owns the search for an engine (an explicit URL, CockroachDB, PostgreSQL),
// the fetching of one where there is none, the data directory, and the life of
// the server process that it started. It does not own schemas, databases,
// migrations or connection pools: it hands out the URL of a server and of its
// default database, and nothing else.
//
// Invariants:
//   - Stop ends the process that this Engine started, by its process id, and
//     nothing else. An engine reached by URL, or started by another process on
//     the same data directory, is never stopped.
//   - At most one engine runs on a data directory. The server process inherits
//     a file lock, so that the lock is held exactly as long as the server lives,
//     whatever becomes of the process that started it.
//   - Servers listen on the loopback address only. PostgreSQL asks for a random
//     password that is kept in a file only its owner can read. CockroachDB runs
//     with --insecure: any local user can reach it while it runs.
//   - A throw-away engine leaves neither process nor directory behind; one whose
//     starter was killed is ended by the kernel (Linux), and its directory is
//     removed by the next throw-away start.
//   - No error and no message contains a password.
package embedded
