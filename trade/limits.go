package trade

// Limits of what is taken and given.
const (
	// MaxBytes bounds a message, a calendar and a file of nights.
	MaxBytes = 4 << 20
	// MaxNights bounds the nights of room types that one message, calendar or file writes: it is one transaction.
	MaxNights = 3660
	// MaxExportDays bounds the range of an export.
	MaxExportDays = 731
	// MaxCodeLength bounds a partner's code, in characters.
	MaxCodeLength = 64
	// KeptDays is how long an applied message is kept, at least.
	KeptDays = 30

	// maxDepth, maxElements and maxAttributes bound what a message is read into.
	maxDepth      = 16
	maxElements   = 50_000
	maxAttributes = 64
	// maxErrors and maxWarnings bound an answer.
	maxErrors   = 20
	maxWarnings = 50
	// maxEchoToken bounds what is kept of a message's own name, in bytes.
	maxEchoToken = 128
	// maxQuoted bounds what an answer repeats of a message, in characters.
	maxQuoted = 40
	// messagesForgotten is how many old messages make room for a new one, at most.
	messagesForgotten = 100
)
