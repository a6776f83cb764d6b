package admission

import (
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
)

// State is where a room stands. It is judged by the database's clock.
type State string

// The states of a room.
const (
	// StateScheduled is before it opens: nobody can join.
	StateScheduled State = "SCHEDULED"
	// StateGathering is the opening window: who joins draws a random place; nobody is called yet.
	StateGathering State = "GATHERING"
	// StateAdmitting calls visitors at the room's rate; who joins stands behind all others.
	StateAdmitting State = "ADMITTING"
	// StatePaused calls nobody and lets nobody in; places are kept, and who comes may join.
	StatePaused State = "PAUSED"
	// StateClosed is over.
	StateClosed State = "CLOSED"
)

// Room is the waiting room of a show.
type Room struct {
	Show inventory.ShowID
	// Opening is 1 for the room's first opening. Tickets are good for one.
	Opening int64
	// OpensAt is from when visitors may join and guests need a grant to hold; ClosesAt is until when.
	OpensAt, ClosesAt time.Time
	// Window is how long those who join draw random places. Nobody is called in it.
	Window time.Duration
	// RatePerMinute is how many visitors are called in a minute.
	RatePerMinute int64
	// GrantLifetime is how long a visitor who was let in may place holds, and HoldsPerGrant how many.
	GrantLifetime time.Duration
	HoldsPerGrant int64
	// Verifier names what proofs the room asks for; "" asks for none.
	Verifier string
	Paused   bool
	// ClosedAt is when it was closed before its time.
	ClosedAt *time.Time
	// Watermark is the order up to which visitors were called, -1 for none.
	Watermark int64
	// State is the one at the moment when the room was read.
	State State
}

// AdmitsFrom is when the opening window ends.
func (r Room) AdmitsFrom() time.Time { return r.OpensAt.Add(r.Window) }

// stateAt is the room's state at a moment.
func (r Room) stateAt(now time.Time) State {
	switch {
	case r.ClosedAt != nil || !now.Before(r.ClosesAt):
		return StateClosed
	case now.Before(r.OpensAt):
		return StateScheduled
	case r.Paused:
		return StatePaused
	case now.Before(r.AdmitsFrom()):
		return StateGathering
	}
	return StateAdmitting
}

// orderAt is a moment as an order.
func (r Room) orderAt(now time.Time) int64 { return now.Sub(r.OpensAt).Microseconds() }

func (r Room) line() line { return line{window: r.Window.Microseconds()} }

// NewRoom is a room to be opened.
type NewRoom struct {
	Show              inventory.ShowID
	OpensAt, ClosesAt time.Time
	Window            time.Duration
	RatePerMinute     int64
	GrantLifetime     time.Duration
	HoldsPerGrant     int64
	Verifier          string
}

// Change names what to set of a room; nil leaves a value as it is.
type Change struct {
	OpensAt, ClosesAt *time.Time
	Window            *time.Duration
	RatePerMinute     *int64
	GrantLifetime     *time.Duration
	HoldsPerGrant     *int64
	Verifier          *string
	Paused            *bool
}

// validate names the field that is out of bounds. The bounds are also named constraints.
func (s *Service) validate(r Room) error {
	switch {
	case !r.OpensAt.Before(r.ClosesAt):
		return fault.Invalid("closesAt", "expected a time after opensAt")
	case r.ClosesAt.Sub(r.OpensAt) > maxOpen:
		return fault.Invalid("closesAt", "expected at most %d hours after opensAt", int(maxOpen.Hours()))
	case r.Window < 0 || r.Window > maxWindow:
		return fault.Invalid("windowSeconds", "expected 0 to %d", int(maxWindow.Seconds()))
	case r.Window >= r.ClosesAt.Sub(r.OpensAt):
		return fault.Invalid("windowSeconds", "expected the opening window to end before closesAt")
	case r.RatePerMinute < 1 || r.RatePerMinute > maxRate:
		return fault.Invalid("ratePerMinute", "expected 1 to %d, got %d", maxRate, r.RatePerMinute)
	case r.GrantLifetime < shortestGrant || r.GrantLifetime > longestGrant:
		return fault.Invalid("grantSeconds", "expected %d to %d", int(shortestGrant.Seconds()), int(longestGrant.Seconds()))
	case r.HoldsPerGrant < 1 || r.HoldsPerGrant > maxHolds:
		return fault.Invalid("holdsPerGrant", "expected 1 to %d, got %d", maxHolds, r.HoldsPerGrant)
	}
	if r.Verifier != "" && s.verifiers[r.Verifier] == nil {
		return fault.Invalid("verifier", "expected the name of a verifier that this server has, got %.64q", r.Verifier)
	}
	return nil
}
