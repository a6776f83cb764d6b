package events

import "time"

// Everything has a limit.
const (
	// MaxPage is the most items that one page of a list holds.
	MaxPage = 100
	// MaxReplayed is the most events that one replay opens again.
	MaxReplayed = 1000
	// MaxReplayedByID is the most events that one replay names.
	MaxReplayedByID = 100
	// MaxReplaySpan is the longest time that one replay covers.
	MaxReplaySpan = 31 * 24 * time.Hour
	// SecretOverlap is how long the secret before a rotation signs beside the new one.
	SecretOverlap = 24 * time.Hour
	// RetryFor is how long a delivery is tried, from when it was opened.
	RetryFor = 72 * time.Hour

	// maxEndpoints bounds the endpoints of one channel, and those of all channels.
	maxEndpoints         = 20
	maxDescriptionLength = 200
	// maxErrorLength keeps what went wrong short, in characters; the schema has the same.
	maxErrorLength = 200

	// The waits between the tries of a delivery double from firstRetry to longestRetry: about 24 tries
	// in three days.
	firstRetry   = 5 * time.Second
	longestRetry = 6 * time.Hour

	// fanOutPatience is the head start that the job of an event has over the sweep.
	fanOutPatience = 10 * time.Second
	// deliveryLease is after how long a try whose process died is made again. It is longer than a try
	// can take.
	deliveryLease = time.Minute

	// One run works on one endpoint for so many deliveries and so long; the last of them may still
	// take the sender's time-out. It has to end before the job's own.
	maxRun  = 50
	runTime = 10 * time.Second
	// maxAbandoned bounds what one transaction gives up because its endpoint takes no more.
	maxAbandoned = 100

	// After restAfter failures in a row an endpoint rests in this process, each time twice as long up
	// to longestRest, so that dead receivers do not keep the workers from the living.
	restAfter   = 3
	firstRest   = time.Second
	longestRest = time.Minute
	// maxLanes bounds the endpoints whose failures a process remembers.
	maxLanes = 10_000

	// afterDeletion is how long the deliveries of a deleted endpoint are still looked for, so that
	// they end; each is due within longestRetry.
	afterDeletion = 7 * 24 * time.Hour
	// gaugeTimeout bounds the query behind a gauge.
	gaugeTimeout = 2 * time.Second
)
