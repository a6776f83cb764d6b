package admission

import "time"

// Everything has a limit.
const (
	// maxRooms bounds the rooms that a process keeps at hand; the one that was asked for longest ago
	// makes way.
	maxRooms = 1000
	// maxRemembered bounds the visitors of all rooms whose order a process remembers, so that joining
	// again gives the same; at about 100 bytes each.
	maxRemembered = 262_144
	// maxBuckets bounds the sums of one room that are read at once. Ten seconds each, that is eleven
	// hours of arrivals that were not called yet; what is behind them is not counted.
	maxBuckets = 4096
	// maxFlush bounds the sums that one statement writes.
	maxFlush = 1000
	// maxLine is how many points of the line the public document shows.
	maxLine = 64
	// maxOpen bounds how long a room is open.
	maxOpen = 7 * 24 * time.Hour
	// maxWindow bounds the opening window.
	maxWindow = 24 * time.Hour
	// maxRate bounds the visitors called in a minute.
	maxRate = 1_000_000
	// shortestGrant and longestGrant bound how long a grant may be used.
	shortestGrant = 10 * time.Second
	longestGrant  = 24 * time.Hour
	// maxHolds bounds the holds of one grant.
	maxHolds = 20
	// minVisitor and maxVisitor bound the length of a visitor's own secret; shorter ones could be guessed.
	minVisitor = 22
	maxVisitor = 64
	// maxToken bounds a token that is looked at.
	maxToken = 512
	// maxProof bounds the proof of a verification.
	maxProof = 4096
	// maxCatchUp bounds the time that a room makes up for when nobody asked after it: who would have been
	// called meanwhile was not there.
	maxCatchUp = 10 * time.Second
	// refreshTimeout bounds one read of a room.
	refreshTimeout = 5 * time.Second
	// staleFactor is after how many ticks a state is too old to be shown while it is read anew.
	staleFactor = 5
	// retryLongest bounds what a visitor is told to wait before asking again.
	retryLongest = time.Minute
)
