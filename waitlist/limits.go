package waitlist

import "time"

// Everything has a limit.
const (
	// defaultOffer and defaultEntries are those of a list for which nothing else was said.
	defaultOffer   = 30 * time.Minute
	defaultEntries = 1000
	// minOffer and maxOffer bound how long an offer is held.
	minOffer = time.Minute
	maxOffer = 48 * time.Hour
	// maxEntries bounds how many may wait in one list.
	maxEntries = 5000
	// entriesPerGuest is for how much one guest may wait in a region at one time.
	entriesPerGuest = 10
	// linePage is how many of those who wait are looked at together, and offersAtOnce how many are decided
	// together.
	linePage     = 500
	offersAtOnce = 50
	// maxStale is how often a page is read again because somebody left while it was decided.
	maxStale = 5
	// endedAtOnce is how many entries are ended in one transaction.
	endedAtOnce = 200
	// gaugeTimeout bounds a question that metrics ask the database.
	gaugeTimeout = 2 * time.Second
)
