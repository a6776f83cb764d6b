package inventory

import (
	"time"

	"cloud.google.com/go/civil"
)

// bookingWindow says on which days before its arrival a stay may be booked, in days of the property's
// calendar, both edges included. The zero window is open until the day of arrival is over.
type bookingWindow struct {
	minAdvance int64
	maxAdvance *int64
	// cutoff is the last minute of the last of these days; nil is its end.
	cutoff *int64
}

// windowOf is a stored window, or with no row the zero window.
func windowOf(minAdvance, maxAdvance, cutoff *int64) bookingWindow {
	return bookingWindow{minAdvance: orZero(minAdvance), maxAdvance: maxAdvance, cutoff: cutoff}
}

// judge is the rule of a window at a moment, which is by the clock on the property's wall.
func (w bookingWindow) judge(checkIn civil.Date, now time.Time, level RuleLevel) []brokenRule {
	advance := int64(checkIn.DaysSince(civil.DateOf(now)))
	minute := int64(now.Hour()*60 + now.Minute())
	switch {
	case advance < w.minAdvance, advance == w.minAdvance && w.cutoff != nil && minute > *w.cutoff:
		return []brokenRule{{Code: RefusalTooLateToBook, Level: level, Night: &checkIn, Limit: &w.minAdvance}}
	case w.maxAdvance != nil && advance > *w.maxAdvance:
		return []brokenRule{{Code: RefusalTooEarlyToBook, Level: level, Night: &checkIn, Limit: w.maxAdvance}}
	}
	return nil
}

// BookingWindow is when stays may be booked, as it is set.
type BookingWindow struct {
	// MinAdvanceDays is how many days before the arrival a stay is booked at the latest, 0 to 730.
	MinAdvanceDays int64
	// MaxAdvanceDays is how many at the earliest, 0 to 730; nil is no bound.
	MaxAdvanceDays *int64 `json:",omitempty"`
	// Cutoff is the last minute at which a stay is booked on the last of these days; nil is all day.
	Cutoff *TimeOfDay `json:",omitempty"`
}
