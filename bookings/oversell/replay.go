package oversell

import (
	"cmp"
	"slices"

	"cloud.google.com/go/civil"
)

// Standing is what a policy sees of a night when one more booking is asked for.
type Standing struct {
	Today, Night civil.Date
	RoomType     string
	// Rooms that there are, and RateMinor what one brings that night, in minor units.
	Rooms     int
	RateMinor int64
	// OnBooks are the stays that are sold for the night. A policy may not look at their outcome before
	// their arrival; Known tells what is known today.
	OnBooks []Stay
}

// Policy says how many rooms of a night may be sold as things stand.
type Policy struct {
	Name  string
	Limit func(Standing) int
}

// NoOversell sells the rooms that there are.
func NoOversell() Policy {
	return Policy{Name: "no overbooking", Limit: func(s Standing) int { return s.Rooms }}
}

// FlatOversell sells the same percentage more on every night, rounded down.
func FlatOversell(name string, percent int) Policy {
	return Policy{Name: name, Limit: func(s Standing) int { return s.Rooms + s.Rooms*percent/100 }}
}

// Advised asks the model each time. walk is the cost of a walk as a multiple of the rate.
func Advised(m *Model, walk float64, maxPercent int) Policy {
	return Policy{Name: "advised", Limit: func(s Standing) int {
		n := Night{
			Rooms: s.Rooms, Spread: m.Spread(s.Night.DaysSince(s.Today)), RateMinor: s.RateMinor, WalkMinor: int64(walk * float64(s.RateMinor)),
			MaxOversell: s.Rooms * maxPercent / 100, Next: m.Chance(Traits{Booked: s.Today, Arrival: s.Night}, s.Night.DaysSince(s.Today)),
		}
		for _, stay := range s.OnBooks {
			n.OnBooks = append(n.OnBooks, m.Known(stay, s.Today))
		}
		return n.limit(0)
	}}
}

// Known is the chance of a stay that stands on the books, as of a day: certain once it has arrived or
// was missed.
func (m *Model) Known(stay Stay, today civil.Date) Estimate {
	if today.After(stay.Arrival) && stay.Outcome == OutcomeNoShow {
		return Estimate{Evidence: float64(m.stays)}
	}
	return m.Chance(stay.Traits, stay.Arrival.DaysSince(today))
}

// House is what a replay sells: rooms and a rate per room type and night.
type House struct {
	Rooms func(roomType string, night civil.Date) int
	// RateMinor is what a room brings, in minor units; used where a policy weighs a sale.
	RateMinor func(roomType string, night civil.Date) int64
}

// Result of a policy over the nights that were judged.
type Result struct {
	Policy string `json:"policy"`
	// Refused is how many stays were turned away, and Accepted how many were taken.
	Accepted int `json:"acceptedStays"`
	Refused  int `json:"refusedStays"`
	// RoomNights is how many there were to sell, Slept how many guests slept in the house, Walked how
	// many came and found no room. In room-nights.
	RoomNights int `json:"roomNights"`
	Slept      int `json:"sleptRoomNights"`
	Walked     int `json:"walkedRoomNights"`
	// WalkNights is on how many nights of a room type anybody was walked.
	WalkNights int `json:"nightsWithWalks"`
	// RoomMinor is what the guests paid who slept, WalkMinor what walks cost, in minor units.
	RoomMinor int64 `json:"roomRevenueMinor"`
	WalkMinor int64 `json:"walkCostMinor"`
}

// NetMinor is the revenue, walks paid, in minor units.
func (r Result) NetMinor() int64 { return r.RoomMinor - r.WalkMinor }

// Replay lets stays ask for rooms in the order in which they were booked, under a policy, and judges
// the nights from one date to another, both included. A stay that is refused on one night is refused;
// one that was cancelled gives its nights back on that day. Bookings of a day come before its
// cancellations. Guests are walked by the night, at a multiple of what they pay, and only within their
// room type: a real house would upgrade some of them, so walks are counted too many, for every policy
// alike.
func Replay(stays []Stay, house House, policy Policy, walk float64, from, until civil.Date) Result {
	r := replay{stays: stays, house: house, policy: policy, nights: map[roomNight]*bookedNight{}}
	type event struct {
		day     civil.Date
		cancels bool
		stay    int
	}
	var events []event
	for i, stay := range stays {
		events = append(events, event{day: stay.Booked, stay: i})
		if stay.Outcome == OutcomeCancelled {
			events = append(events, event{day: stay.Arrival.AddDays(-stay.cancelledDaysOut()), cancels: true, stay: i})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		if c := a.day.Compare(b.day); c != 0 {
			return c
		}
		return cmp.Compare(boolean(a.cancels), boolean(b.cancels))
	})
	taken := make([]bool, len(stays))
	for _, e := range events {
		if e.cancels {
			if taken[e.stay] {
				r.cancel(e.stay)
			}
			continue
		}
		taken[e.stay] = r.book(e.stay)
	}
	return r.result(policy.Name, taken, walk, from, until)
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

type roomNight struct {
	roomType string
	night    civil.Date
}

// bookedNight is what is sold of a night: the stays, and their places in the history.
type bookedNight struct {
	stays []Stay
	index []int
}

type replay struct {
	stays  []Stay
	house  House
	policy Policy
	nights map[roomNight]*bookedNight
}

func (r *replay) book(i int) bool {
	stay := r.stays[i]
	for day := range stay.Nights {
		night := stay.Arrival.AddDays(day)
		at := r.at(stay.RoomType, night)
		rooms := r.house.Rooms(stay.RoomType, night)
		if len(at.stays) < rooms {
			continue
		}
		limit := r.policy.Limit(Standing{
			Today: stay.Booked, Night: night, RoomType: stay.RoomType, Rooms: rooms,
			RateMinor: r.house.RateMinor(stay.RoomType, night), OnBooks: at.stays,
		})
		if len(at.stays) >= limit {
			return false
		}
	}
	for day := range stay.Nights {
		at := r.at(stay.RoomType, stay.Arrival.AddDays(day))
		at.stays, at.index = append(at.stays, stay), append(at.index, i)
	}
	return true
}

func (r *replay) cancel(i int) {
	stay := r.stays[i]
	for day := range stay.Nights {
		at := r.at(stay.RoomType, stay.Arrival.AddDays(day))
		if k := slices.Index(at.index, i); k >= 0 {
			at.stays, at.index = slices.Delete(at.stays, k, k+1), slices.Delete(at.index, k, k+1)
		}
	}
}

func (r *replay) at(roomType string, night civil.Date) *bookedNight {
	key := roomNight{roomType, night}
	if r.nights[key] == nil {
		r.nights[key] = &bookedNight{}
	}
	return r.nights[key]
}

func (r *replay) result(name string, taken []bool, walk float64, from, until civil.Date) Result {
	result := Result{Policy: name}
	roomTypes := map[string]bool{}
	for i, stay := range r.stays {
		roomTypes[stay.RoomType] = true
		if stay.Arrival.Before(from) || stay.Arrival.After(until) {
			continue
		}
		if taken[i] {
			result.Accepted++
		} else {
			result.Refused++
		}
	}
	for roomType := range roomTypes {
		for night := from; !night.After(until); night = night.AddDays(1) {
			rooms := r.house.Rooms(roomType, night)
			result.RoomNights += rooms
			came, paid := 0, int64(0)
			for _, stay := range r.at(roomType, night).stays {
				if stay.Outcome == OutcomeCame {
					came++
					paid += stay.RateMinor
				}
			}
			slept := min(came, rooms)
			result.Slept += slept
			if came == 0 {
				continue
			}
			// Who is walked is chance: each guest who came alike.
			result.RoomMinor += paid * int64(slept) / int64(came)
			if over := came - slept; over > 0 {
				result.Walked += over
				result.WalkNights++
				result.WalkMinor += int64(walk * float64(paid) * float64(over) / float64(came))
			}
		}
	}
	return result
}
