// Package jobs owns background work: River in the same database, its jobs enqueued in the
// transaction of the change they follow from, one worker per file.
//
// Some jobs look after the whole installation: the audit, the retention of old rows. What they find,
// and how long the queues are, is exported as metrics; River's own web pages show the jobs.
//
// Workers only drive what the rows already say: a hold, an attempt, a refund. Nothing depends on
// one being alive, every job may run twice, and each batch is bounded. On PostgreSQL River runs on
// its own driver, on CockroachDB on package rivercrdb; the rest of this package cannot tell them
// apart.
package jobs
