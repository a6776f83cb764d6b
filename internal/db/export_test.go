package db

import "time"

// WithLimits is the same database with other limits of a transaction.
func WithLimits(d *DB, attempts int, duration time.Duration) *DB {
	limited := *d
	limited.limits.attempts, limited.limits.duration = attempts, duration
	return &limited
}
