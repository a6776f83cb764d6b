package inventory

import (
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// AllotmentState is where an allotment stands in its life.
type AllotmentState string

// The states of an allotment.
const (
	// AllotmentStateTentative: promised, and nothing is set aside yet.
	AllotmentStateTentative AllotmentState = "TENTATIVE"
	// AllotmentStateDefinite: what it has is taken from what others can buy.
	AllotmentStateDefinite AllotmentState = "DEFINITE"
	// AllotmentStateReleased: the unsold rest of all of it went to everybody.
	AllotmentStateReleased AllotmentState = "RELEASED"
	// AllotmentStateCancelled: taken back; what was sold from it stays sold.
	AllotmentStateCancelled AllotmentState = "CANCELLED"
)

// ended reports whether nothing about the allotment can change any more.
func (s AllotmentState) ended() bool {
	return s == AllotmentStateReleased || s == AllotmentStateCancelled
}

// AllotmentTransition is a change of an allotment's state.
type AllotmentTransition struct {
	Name     string
	From, To AllotmentState
}

// AllotmentTransitions are all there are; the diagram in docs/allotments.md is made from them.
func AllotmentTransitions() []AllotmentTransition {
	return []AllotmentTransition{
		{"make definite", AllotmentStateTentative, AllotmentStateDefinite},
		{"release the last of it", AllotmentStateDefinite, AllotmentStateReleased},
		{"cancel", AllotmentStateTentative, AllotmentStateCancelled},
		{"cancel", AllotmentStateDefinite, AllotmentStateCancelled},
	}
}

// partState is where one night of an allotment stands, or what it has of a pool.
type partState string

const (
	partTentative partState = "TENTATIVE"
	partOpen      partState = "OPEN"
	partReleased  partState = "RELEASED"
	partCancelled partState = "CANCELLED"
)

// poolNight stands for the night of a part that is of a pool.
var poolNight = civil.Date{Year: 1, Month: time.January, Day: 1} //nolint:gochecknoglobals // a constant of a type without constants

// never stands for the release of a part that is not released by itself.
var never = time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant of a type without constants

// Allotment is a quantity of a pool, or of a room type on some nights, that one channel sells from
// first. While it is definite, nobody else can sell it before its release.
type Allotment struct {
	ID      AllotmentID
	Channel tenants.ChannelID
	Name    string
	// Pool and Show, or RoomType and Property with Nights.
	Pool     PoolID
	Show     ShowID
	RoomType RoomTypeID
	Property tenants.PropertyID
	Nights   NightRange
	// SellsShared is whether the channel may also sell what everybody may, on these nights or of this
	// pool, when its allotments are used up. It holds after the release, too.
	SellsShared bool
	Release     ReleaseRule
	State       AllotmentState
	// Version grows by one with each change, and each release.
	Version   int64
	CreatedAt time.Time
	// DefiniteAt and EndedAt are nil before.
	DefiniteAt, EndedAt *time.Time
}

// ofPool reports whether the allotment is of a pool, and not of nights.
func (a Allotment) ofPool() bool { return !a.Pool.IsZero() }

// unit is the pool or room type.
func (a Allotment) unit() uuid.UUID {
	if a.ofPool() {
		return a.Pool.UUID
	}
	return a.RoomType.UUID
}

// dates are the nights, or the one that stands for a pool.
func (a Allotment) dates() ([]civil.Date, error) {
	if a.ofPool() {
		return []civil.Date{poolNight}, nil
	}
	return a.Nights.dates("nights")
}

// ReleaseRule says when the unsold rest of an allotment goes to everybody: all of it at one moment, or
// each night so many days before it, at a local time of the property (or before the date of the show,
// at the venue's). With nothing set, somebody has to release it.
type ReleaseRule struct {
	At         *time.Time
	DaysBefore *int64
	LocalTime  *TimeOfDay
}

func (r ReleaseRule) validate() error {
	switch {
	case r.At != nil && (r.DaysBefore != nil || r.LocalTime != nil):
		return fault.Invalid("release", "expected either at, or daysBefore with localTime")
	case r.DaysBefore == nil && r.LocalTime != nil:
		return fault.Invalid("release.daysBefore", "expected how many days before each night, 0 to %d", maxReleaseDays)
	case r.DaysBefore == nil:
		return nil
	case *r.DaysBefore < 0 || *r.DaysBefore > maxReleaseDays:
		return fault.Invalid("release.daysBefore", "expected 0 to %d, got %d", maxReleaseDays, *r.DaysBefore)
	case r.LocalTime == nil:
		return fault.Invalid("release.localTime", "expected the time of day at the property, such as 18:00")
	}
	return nil
}

// of is when what is for a date is released; nil is never.
func (r ReleaseRule) of(date civil.Date, zone *time.Location) *time.Time {
	if r.DaysBefore == nil {
		return r.At
	}
	at := localInstant(date.AddDays(-int(*r.DaysBefore)), time.Duration(*r.LocalTime)*time.Minute, zone).UTC()
	return &at
}

// NewAllotment is an allotment to be: of a pool, or of a room type on nights.
type NewAllotment struct {
	Channel  tenants.ChannelID
	Name     string
	Pool     *PoolID
	RoomType *RoomTypeID
	// Nights are of a room type.
	Nights *NightRange
	// Quantity is the same for each night.
	Quantity    int64
	SellsShared bool
	Release     ReleaseRule
	// Definite sets it aside at once.
	Definite bool
}

func (n NewAllotment) validate() error {
	switch {
	case (n.Pool == nil) == (n.RoomType == nil):
		return fault.Invalid("pool", "expected exactly one of pool and roomType")
	case n.Pool != nil && n.Nights != nil:
		return fault.Invalid("nights", "a pool has no nights; expected none")
	case n.RoomType != nil && n.Nights == nil:
		return fault.Invalid("nights", "expected the nights of the room type")
	}
	if err := checkName("name", n.Name); err != nil {
		return err
	}
	if n.Nights != nil {
		if err := n.Nights.validate("nights"); err != nil {
			return err
		}
	}
	if err := checkAllotted("quantity", n.Quantity, 1); err != nil {
		return err
	}
	return n.Release.validate()
}

func checkAllotted(field string, quantity, least int64) error {
	if quantity < least || quantity > maxAllotted {
		return fault.Invalid(field, "expected %d to %d, got %d", least, int64(maxAllotted), quantity)
	}
	return nil
}

// allotment is the new one with an id.
func (n NewAllotment) allotment(id AllotmentID) Allotment {
	a := Allotment{ID: id, Channel: n.Channel, Name: n.Name, SellsShared: n.SellsShared, Release: n.Release, State: AllotmentStateTentative, Version: 1}
	if n.Pool != nil {
		a.Pool = *n.Pool
	} else {
		a.RoomType, a.Nights = *n.RoomType, *n.Nights
	}
	return a
}

// AllotmentChange names what to set; nil leaves a value as it is.
type AllotmentChange struct {
	Name *string
	// Quantity is the new size of each night that was not released, or only of those in Nights.
	Quantity    *int64
	Nights      *NightRange
	SellsShared *bool
	Release     *ReleaseRule
}

func (c AllotmentChange) validate() error {
	if c.Name != nil {
		if err := checkName("name", *c.Name); err != nil {
			return err
		}
	}
	if c.Quantity != nil {
		if err := checkAllotted("quantity", *c.Quantity, 0); err != nil {
			return err
		}
	}
	if c.Nights != nil {
		if c.Quantity == nil {
			return fault.Invalid("quantity", "expected the new size of these nights")
		}
		if err := c.Nights.validate("nights"); err != nil {
			return err
		}
	}
	if c.Release != nil {
		return c.Release.validate()
	}
	return nil
}

// validate checks a range that may also name no weekday at all by mistake.
func (r NightRange) validate(field string) error {
	if r.Weekdays != nil && len(r.Weekdays) == 0 {
		return fault.Invalid(field+".weekdays", "expected at least one day of the week, or none at all for every day")
	}
	dates, err := r.dates(field)
	if err == nil && len(dates) > MaxNightsPerEdit {
		return fault.Invalid(field+".to", "at most %d nights can be set aside at once, got %d", MaxNightsPerEdit, len(dates))
	}
	return err
}

func allotmentOf(at place, row dbsqlc.AllotmentsByIDRow) Allotment {
	a := Allotment{
		ID: AllotmentID{Region: at.region, UUID: row.ID}, Channel: tenants.ChannelID{UUID: row.ChannelID}, Name: row.Name,
		SellsShared: row.SellsShared, State: AllotmentState(row.State), Version: row.Version,
		Release:   ReleaseRule{At: row.ReleaseAt, DaysBefore: row.ReleaseDays, LocalTime: (*TimeOfDay)(row.ReleaseMinute)},
		CreatedAt: row.CreatedAt, DefiniteAt: row.DefiniteAt, EndedAt: row.EndedAt,
	}
	if row.PoolID != nil {
		a.Pool, a.Show = PoolID{Region: at.region, UUID: *row.PoolID}, ShowID{Region: at.region, UUID: *row.ShowID}
	} else {
		a.RoomType, a.Property = RoomTypeID{Region: at.region, UUID: *row.RoomTypeID}, tenants.PropertyID{Region: at.region, UUID: *row.PropertyID}
		a.Nights = NightRange{First: *row.FirstNight, Last: *row.LastNight, Weekdays: weekdaysOf(row.Weekdays)}
		if row.Weekdays == maskOf(nil) {
			a.Nights.Weekdays = nil
		}
	}
	return a
}

// allotmentPart is what an allotment has of one night, or of a pool.
type allotmentPart struct {
	allotment, channel uuid.UUID
	unit               uuid.UUID
	night              civil.Date
	quantity           int64
	state              partState
	releaseAt          *time.Time
	sellsShared        bool
	definiteAt         time.Time
}

// due reports whether the time of its release has come, whether or not anybody has released it.
func (p allotmentPart) due(now time.Time) bool {
	return p.state == partOpen && p.releaseAt != nil && !now.Before(*p.releaseAt)
}

// open reports whether its channel may sell from it.
func (p allotmentPart) open(now time.Time) bool { return p.state == partOpen && !p.due(now) }

func partOf(row dbsqlc.AllotmentPartsForClaimRow) allotmentPart {
	part := allotmentPart{
		allotment: row.AllotmentID, channel: row.ChannelID, unit: row.UnitID, night: row.Night, quantity: row.Quantity,
		state: partState(row.State), releaseAt: row.ReleaseAt, sellsShared: row.SellsShared,
	}
	if row.DefiniteAt != nil {
		part.definiteAt = *row.DefiniteAt
	}
	return part
}

// key is the night or pool that the part is of.
func (p allotmentPart) key() nightKey { return nightKey{owner: p.unit, night: p.night} }

// bucket is the key of its counter of a night.
func (p allotmentPart) bucket() nightKey {
	return nightKey{owner: p.unit, bucket: p.allotment, night: p.night}
}

// byClaim orders parts as their channel sells from them: what is released first, first.
func byClaim(parts []allotmentPart) {
	slices.SortStableFunc(parts, func(a, b allotmentPart) int {
		switch {
		case a.releaseAt == nil && b.releaseAt == nil:
			return compareUUID(a.allotment, b.allotment)
		case a.releaseAt == nil:
			return 1
		case b.releaseAt == nil:
			return -1
		}
		if c := a.releaseAt.Compare(*b.releaseAt); c != 0 {
			return c
		}
		return compareUUID(a.allotment, b.allotment)
	})
}
