package oversell

import (
	"cloud.google.com/go/civil"
)

// Outcome is how a booking ended.
type Outcome string

// Outcomes of a booking.
const (
	// OutcomeCame: the guests came.
	OutcomeCame Outcome = "CAME"
	// OutcomeCancelled: it was cancelled before the arrival.
	OutcomeCancelled Outcome = "CANCELLED"
	// OutcomeNoShow: it was never cancelled, and nobody came.
	OutcomeNoShow Outcome = "NO_SHOW"
)

// Traits are what is known of a booking when it is made, as far as it tells whether its guests come.
type Traits struct {
	Booked  civil.Date
	Arrival civil.Date
	// Channel is where it was sold, such as a channel's id. It may be empty.
	Channel string
}

// leadDays is the days between the booking and the arrival; 0 when dates contradict each other.
func (t Traits) leadDays() int { return max(0, t.Arrival.DaysSince(t.Booked)) }

// Stay is one room of a booking whose end is known.
type Stay struct {
	Traits
	RoomType string
	Nights   int
	Outcome  Outcome
	// Cancelled is the day of the cancellation, where there was one.
	Cancelled civil.Date
	// RateMinor is the price of a night, in minor units.
	RateMinor int64
}

// Departure is the day after the last night.
func (s Stay) Departure() civil.Date { return s.Arrival.AddDays(s.Nights) }

// cancelledDaysOut is how many days before the arrival it was cancelled; -1 when it was not.
func (s Stay) cancelledDaysOut() int {
	if s.Outcome != OutcomeCancelled {
		return -1
	}
	return min(s.leadDays(), max(0, s.Arrival.DaysSince(s.Cancelled)))
}

// stands says whether a booking was on the books at the end of the day so many days before its
// arrival. One that was made and cancelled on the same day never was.
func (s Stay) stands(daysOut int) bool {
	return s.leadDays() >= daysOut && daysOut > s.cancelledDaysOut()
}

// season of the arrival: the meteorological one, which is what demand follows.
func season(d civil.Date) int { return int(d.Month) % 12 / 3 }
