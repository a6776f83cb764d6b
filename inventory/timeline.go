package inventory

import (
	"time"

	"cloud.google.com/go/civil"
)

// Timeline is a cancellation policy for one start, with instants. Its JSON form is stored with
// bookings, so that no later change of a policy, a start or a time zone changes what was sold.
type Timeline struct {
	// Policy is the policy's name.
	Policy string `json:"policy"`
	// Zone is the IANA time zone in which days were counted.
	Zone string `json:"zone"`
	// StartsAt is when the show begins, or when the guests are expected.
	StartsAt time.Time `json:"startsAt"`
	// Steps are in the order of time.
	Steps []TimelineStep `json:"steps"`
	// Final is the fee after the last step.
	Final Fee `json:"finalFee"`
	// Lines are the ordinals of the lines that it is for.
	Lines []int64 `json:"lines,omitempty"`
}

// TimelineStep is the fee before an instant: from the instant on the next step holds.
type TimelineStep struct {
	Until time.Time `json:"until"`
	Fee   Fee       `json:"fee"`
}

// FeeAt is the fee that holds at an instant.
func (t Timeline) FeeAt(now time.Time) Fee {
	for _, step := range t.Steps {
		if now.Before(step.Until) {
			return step.Fee
		}
	}
	return t.Final
}

// ClosesAt is the instant from which only the seller cancels: the start, or the end of the last step
// where that is later, as with "until 18:00 on the day of arrival".
func (t Timeline) ClosesAt() time.Time {
	closes := t.StartsAt
	if n := len(t.Steps); n > 0 && t.Steps[n-1].Until.After(closes) {
		closes = t.Steps[n-1].Until
	}
	return closes
}

// OfShow is the policy for a show that begins at an instant. No step outlasts the beginning.
func (p CancellationPolicy) OfShow(startsAt time.Time, zone *time.Location) Timeline {
	local := startsAt.In(zone)
	wall := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second
	t := p.timeline(startsAt, civil.DateOf(local), wall, zone)
	for i := range t.Steps {
		if t.Steps[i].Until.After(startsAt) {
			t.Steps[i].Until = startsAt
		}
	}
	return t
}

// OfStay is the policy for guests who arrive on a day.
func (p CancellationPolicy) OfStay(arrival civil.Date, zone *time.Location) Timeline {
	wall := time.Duration(p.CheckIn) * time.Minute
	return p.timeline(localInstant(arrival, wall, zone), arrival, wall, zone)
}

// timeline turns the steps into instants, given the start as an instant and as a date and time of
// day.
func (p CancellationPolicy) timeline(startsAt time.Time, date civil.Date, wall time.Duration, zone *time.Location) Timeline {
	t := Timeline{Policy: p.Name, Zone: zone.String(), StartsAt: startsAt.UTC(), Final: p.Final, Steps: make([]TimelineStep, len(p.Steps))}
	for i, step := range p.Steps {
		var until time.Time
		switch {
		case step.MinutesBefore != nil:
			until = startsAt.Add(-time.Duration(*step.MinutesBefore) * time.Minute)
		case step.LocalTime != nil:
			until = localInstant(date.AddDays(-int(*step.DaysBefore)), time.Duration(*step.LocalTime)*time.Minute, zone)
		default:
			until = localInstant(date.AddDays(-int(*step.DaysBefore)), wall, zone)
		}
		// Where clocks are set back over midnight a later day's time may come first.
		if i > 0 && until.Before(t.Steps[i-1].Until) {
			until = t.Steps[i-1].Until
		}
		t.Steps[i] = TimelineStep{Until: until.UTC(), Fee: step.Fee}
	}
	return t
}

// localInstant is when the clocks of a zone show a time on a date. A time that they show twice means
// the second; one that they skip is as long after the shift as it would be after the time skipped
// from. Both are in favour of who has until then.
func localInstant(date civil.Date, wall time.Duration, zone *time.Location) time.Time {
	shown := date.In(time.UTC).Add(wall)
	// The offsets before and after a shift nearby: no zone shifts twice within two days.
	_, before := shown.Add(-24 * time.Hour).In(zone).Zone()
	_, after := shown.Add(24 * time.Hour).In(zone).Zone()
	early := shown.Add(-time.Duration(before) * time.Second)
	late := shown.Add(-time.Duration(after) * time.Second)
	if late.Before(early) {
		early, late = late, early
	}
	if shows(late, shown, zone) {
		return late
	}
	if shows(early, shown, zone) {
		return early
	}
	// Skipped: reckoned with the offset before the shift, which is the smaller one.
	return late
}

// shows reports whether the zone's clocks show this date and time at the instant.
func shows(instant, shown time.Time, zone *time.Location) bool {
	_, offset := instant.In(zone).Zone()
	return instant.Add(time.Duration(offset) * time.Second).Equal(shown)
}
