package db

import "time"

// limits bound how long one transaction is tried. The duration is what ends a hot transaction; the
// counts only stop a loop that makes no progress at all.
type limits struct {
	// attempts is how often a transaction may lose to others.
	attempts int
	// connections is how many connections one transaction may lose, or fail to get.
	connections int
	// duration bounds all attempts of a transaction together.
	duration time.Duration
	// snapshot bounds InSnapshot, which is for reports, too.
	snapshot time.Duration
}

func defaultLimits() limits {
	return limits{attempts: 200, connections: 8, duration: 15 * time.Second, snapshot: 5 * time.Minute}
}

const (
	firstBackoff    = 500 * time.Microsecond
	longestBackoff  = 60 * time.Millisecond
	rollbackTimeout = 2 * time.Second
	// idleInTransaction is after which silence the server ends a transaction. It is longer than a
	// transaction may last: only a process that hangs or has lost its network meets it.
	idleInTransaction = 30 * time.Second
	// longestStaleness is the most that Config.MaxStaleness takes: far less than CockroachDB keeps old
	// rows for, and more than any follower needs.
	longestStaleness = time.Minute
	// maxReplays is how often Replayable runs a command again after an unknown outcome.
	maxReplays = 4
)
