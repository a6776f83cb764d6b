package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
)

// FeeKind says how a fee is reckoned.
type FeeKind string

// The kinds of fee. None is ever more than the price of what is cancelled.
const (
	// FeeKindPercent is a part of the price.
	FeeKindPercent FeeKind = "PERCENT"
	// FeeKindPerUnit is an amount for each seat, each place of a pool, and each room and night.
	FeeKindPerUnit FeeKind = "PER_UNIT"
	// FeeKindPerBooking is an amount for all that one booking has of a show, or of a stay's property
	// and arrival, shared over its lines by their prices.
	FeeKindPerBooking FeeKind = "PER_BOOKING"
)

// Fee is what is kept of a price. Its JSON form is stored with bookings.
type Fee struct {
	Kind FeeKind `json:"kind"`
	// BasisPoints are hundredths of a percent, 0 to 10000, of kind PERCENT.
	BasisPoints int64 `json:"basisPoints,omitempty"`
	// Minor is the amount of the other kinds, in minor units of Currency.
	Minor    int64          `json:"minor,omitempty"`
	Currency money.Currency `json:"currency,omitempty"`
}

// FeePercent is a part of the price, in basis points.
func FeePercent(basisPoints int64) Fee { return Fee{Kind: FeeKindPercent, BasisPoints: basisPoints} }

// PricedUnits are units whose cancellation may cost a fee.
type PricedUnits struct {
	Quantity int64
	// Minor is the price of all of them.
	Minor int64
}

// Shares are the parts of the fee that fall on each line, when these are all lines under it. They
// add up exactly, and depend on nothing else: not on which lines were cancelled before.
func (f Fee) Shares(lines []PricedUnits) []int64 {
	prices := make([]int64, len(lines))
	var sum int64
	for i, line := range lines {
		prices[i] = line.Minor
		sum += line.Minor
	}
	switch f.Kind {
	case FeeKindPercent:
		return money.Apportion(money.Percent(sum, f.BasisPoints), prices)
	case FeeKindPerBooking:
		return money.Apportion(min(f.Minor, sum), prices)
	case FeeKindPerUnit:
	}
	for i, line := range lines {
		// The price bounds it, and comes first: the product could be too large.
		if f.Minor == 0 || line.Quantity <= prices[i]/f.Minor {
			prices[i] = f.Minor * line.Quantity
		}
	}
	return prices
}

// TimeOfDay is a local time, in minutes from midnight.
type TimeOfDay int64

// ParseTimeOfDay reads a time such as "18:00".
func ParseTimeOfDay(text string) (TimeOfDay, error) {
	const form = "expected a time from \"00:00\" to \"23:59\", got %.16q"
	if len(text) != len("18:00") || text[2] != ':' {
		return 0, fmt.Errorf(form, text)
	}
	hours, hoursErr := strconv.ParseUint(text[:2], 10, 8)
	minutes, minutesErr := strconv.ParseUint(text[3:], 10, 8)
	if hoursErr != nil || minutesErr != nil || hours > 23 || minutes > 59 {
		return 0, fmt.Errorf(form, text)
	}
	return TimeOfDay(hours*60 + minutes), nil
}

// String is the time as "18:00".
func (t TimeOfDay) String() string { return fmt.Sprintf("%02d:%02d", int64(t)/60, int64(t)%60) }

// CancellationStep says what a cancellation costs until some time before the start. Exactly one of
// MinutesBefore and DaysBefore is set.
type CancellationStep struct {
	// MinutesBefore is time that passes, whatever the clocks do: 1440 is 24 hours.
	MinutesBefore *int64
	// DaysBefore counts calendar days back from the day of the start, at LocalTime, or without one at
	// the time of day of the start.
	DaysBefore *int64
	LocalTime  *TimeOfDay
	Fee        Fee
}

// CancellationPolicy is what a cancellation costs, from long before the start until after it. The
// start of a show is its own; that of a stay is CheckIn on the day of arrival.
type CancellationPolicy struct {
	// Name is what buyers are told, such as "Flexible".
	Name string
	// CheckIn is from when guests are expected, by the property's clock.
	CheckIn TimeOfDay
	// Steps are in the order of time, the earliest first.
	Steps []CancellationStep
	// Final is the fee after the last step.
	Final Fee
}

// refundable says whether there is a time at which less than the whole price is kept.
func (p CancellationPolicy) refundable() bool {
	whole := FeePercent(maxBasisPoints)
	return p.Final != whole || slices.ContainsFunc(p.Steps, func(s CancellationStep) bool { return s.Fee != whole })
}

// DefaultCheckIn is from when guests are expected where a policy does not say.
const DefaultCheckIn TimeOfDay = 15 * 60

// DefaultCancellationPolicy holds where a tenant has set none: free until the start, and nothing is
// given back after it.
func DefaultCancellationPolicy() CancellationPolicy {
	return CancellationPolicy{
		Name: "Free until the start", CheckIn: DefaultCheckIn,
		Steps: []CancellationStep{{MinutesBefore: new(int64), Fee: FeePercent(0)}}, Final: FeePercent(maxBasisPoints),
	}
}

// Bounds of a policy. They are also named constraints.
const (
	maxBasisPoints       = 10_000
	maxCancellationSteps = 10
	maxPolicyNameLength  = 100
	maxDaysBefore        = 730
	maxMinutesBefore     = maxDaysBefore * 24 * 60
)

// Validate names the field that is wrong. Amounts must be in the currency of what the policy is for;
// none means that it is for sites of any currency, and so may have no amounts.
func (p CancellationPolicy) Validate(currency money.Currency) error {
	if n := utf8.RuneCountInString(p.Name); n < 1 || n > maxPolicyNameLength || !utf8.ValidString(p.Name) || containsControl(p.Name) {
		return fault.Invalid("name", "expected one line of 1 to %d characters", maxPolicyNameLength)
	}
	if p.CheckIn < 0 || p.CheckIn >= 24*60 {
		return fault.Invalid("checkInTime", "expected a time from \"00:00\" to \"23:59\"")
	}
	if len(p.Steps) > maxCancellationSteps {
		return fault.Invalid("steps", "expected at most %d, got %d", maxCancellationSteps, len(p.Steps))
	}
	for i, step := range p.Steps {
		field := fmt.Sprintf("steps[%d]", i)
		if err := step.validate(field); err != nil {
			return err
		}
		if err := step.Fee.validate(field+".fee", currency); err != nil {
			return err
		}
		if i > 0 {
			if err := step.follows(field, p.Steps[i-1]); err != nil {
				return err
			}
		}
	}
	return p.Final.validate("finalFee", currency)
}

func (s CancellationStep) validate(field string) error {
	switch {
	case (s.MinutesBefore == nil) == (s.DaysBefore == nil):
		return fault.Invalid(field, "expected either minutesBefore or daysBefore")
	case s.MinutesBefore != nil && (*s.MinutesBefore < 0 || *s.MinutesBefore > maxMinutesBefore):
		return fault.Invalid(field+".minutesBefore", "expected 0 to %d, got %d", maxMinutesBefore, *s.MinutesBefore)
	case s.DaysBefore != nil && (*s.DaysBefore < 0 || *s.DaysBefore > maxDaysBefore):
		return fault.Invalid(field+".daysBefore", "expected 0 to %d, got %d", maxDaysBefore, *s.DaysBefore)
	case s.LocalTime != nil && s.DaysBefore == nil:
		return fault.Invalid(field+".localTime", "expected only with daysBefore")
	case s.LocalTime != nil && (*s.LocalTime < 0 || *s.LocalTime >= 24*60):
		return fault.Invalid(field+".localTime", "expected a time from \"00:00\" to \"23:59\"")
	}
	return nil
}

// follows reports whether the step ends after the one before it, whatever the start and the clocks.
func (s CancellationStep) follows(field string, before CancellationStep) error {
	switch {
	case (s.MinutesBefore == nil) != (before.MinutesBefore == nil):
		return fault.Invalid(field, "expected all steps to count in the same way: minutesBefore or daysBefore")
	case s.MinutesBefore != nil:
		if *s.MinutesBefore >= *before.MinutesBefore {
			return fault.Invalid(field+".minutesBefore", "expected less than the %d of the step before, got %d", *before.MinutesBefore, *s.MinutesBefore)
		}
	case *s.DaysBefore > *before.DaysBefore:
		return fault.Invalid(field+".daysBefore", "expected no more than the %d of the step before, got %d", *before.DaysBefore, *s.DaysBefore)
	case *s.DaysBefore == *before.DaysBefore:
		if s.LocalTime == nil || before.LocalTime == nil || *s.LocalTime <= *before.LocalTime {
			return fault.Invalid(field+".localTime", "expected a later time than that of the step before, on the same day")
		}
	}
	return nil
}

func (f Fee) validate(field string, currency money.Currency) error {
	part := field + ".perUnit"
	switch f.Kind {
	case FeeKindPercent:
		if f.BasisPoints < 0 || f.BasisPoints > maxBasisPoints {
			return fault.Invalid(field+".basisPoints", "expected 0 to %d, got %d", maxBasisPoints, f.BasisPoints)
		}
		return nil
	case FeeKindPerBooking:
		part = field + ".perBooking"
	case FeeKindPerUnit:
	default:
		return fault.Invalid(field, "expected one of basisPoints, perUnit and perBooking")
	}
	switch {
	case f.Minor < 0 || f.Minor > money.MaxMinor:
		return fault.Invalid(part+".amountMinor", "expected 0 to %d, got %d", int64(money.MaxMinor), f.Minor)
	case currency == "":
		return fault.Invalid(part, "an amount is in one currency: set it for a property, venue or show, or use basisPoints")
	case f.Currency != currency:
		return fault.Invalid(part+".currency", "expected %s, in which this is sold, got %s", currency, f.Currency)
	}
	return nil
}

func containsControl(text string) bool {
	for _, r := range text {
		if unicode.IsControl(r) {
			return true
		}
	}
	return false
}

// validateTax checks a rate of included tax.
func validateTax(basisPoints int64) error {
	if basisPoints < 0 || basisPoints > maxBasisPoints {
		return fault.Invalid("basisPoints", "expected 0 to %d, got %d", maxBasisPoints, basisPoints)
	}
	return nil
}
