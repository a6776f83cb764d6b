package inventory

import (
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/tenants"
)

// RatePlanState says whether a rate plan is sold.
type RatePlanState string

// The states of a rate plan.
const (
	RatePlanActive RatePlanState = "ACTIVE"
	// RatePlanClosed: nothing is sold as it; what was sold stays.
	RatePlanClosed RatePlanState = "CLOSED"
)

// RatePlan is what rooms are sold as, besides the standard rate: at prices and under rules of its own, in
// addition to those of the room types.
type RatePlan struct {
	ID       RatePlanID
	Property tenants.PropertyID
	Currency money.Currency
	// Code is what systems call it, such as "BAR"; Name is for people.
	Code  string
	Name  string
	State RatePlanState
	// Refundable: without a cancellation policy of its own, a plan that is not keeps the whole price.
	Refundable bool
	// Derivation is how its prices follow from others; the zero one has prices of its own.
	Derivation Derivation
	// Window is when it may be booked.
	Window    BookingWindow
	CreatedAt time.Time
}

// DerivationKind says how a price follows from another.
type DerivationKind string

// The kinds of derivation. None means prices of its own.
const (
	DerivationPercent DerivationKind = "PERCENT"
	DerivationAmount  DerivationKind = "AMOUNT"
)

// Derivation is how the prices of a plan follow from those of another or from the standard rate.
type Derivation struct {
	Kind DerivationKind `json:",omitempty"`
	// Parent is the plan whose prices are changed; nil is the standard rate.
	Parent *RatePlanID `json:",omitempty"`
	// BasisPoints are added, in hundredths of a percent of the price, of kind PERCENT; minus takes off.
	BasisPoints int64 `json:",omitempty"`
	// Minor is added, in minor units of the property's currency, of kind AMOUNT; minus takes off.
	Minor int64 `json:",omitempty"`
}

// Bounds of a derivation. They are also named constraints.
const (
	leastDerived = -10_000
	mostDerived  = 100_000
)

// validate names the field that is wrong.
func (d Derivation) validate(field string) error {
	switch d.Kind {
	case "":
		if d.Parent != nil {
			return fault.Invalid(field, "expected basisPoints or amountMinor: how the price differs from the parent's")
		}
	case DerivationPercent:
		if d.BasisPoints < leastDerived || d.BasisPoints > mostDerived {
			return fault.Invalid(field+".basisPoints", "expected %d to %d, got %d", leastDerived, mostDerived, d.BasisPoints)
		}
	case DerivationAmount:
		if d.Minor < -money.MaxMinor || d.Minor > money.MaxMinor {
			return fault.Invalid(field+".amountMinor", "expected %d to %d, got %d", int64(-money.MaxMinor), int64(money.MaxMinor), d.Minor)
		}
	}
	return nil
}

// of is the price that follows from another, rounded half up to the minor unit and never below zero.
func (d Derivation) of(minor int64) int64 {
	switch d.Kind {
	case DerivationPercent:
		// At most money.MaxMinor by 110000: far from the end of the type.
		minor = (minor*(maxBasisPoints+d.BasisPoints) + maxBasisPoints/2) / maxBasisPoints
	case DerivationAmount:
		minor += d.Minor
	}
	return max(0, minor)
}

// derivationOf is a stored derivation, without its parent.
func derivationOf(kind *string, basisPoints, minor int64) Derivation {
	if kind == nil {
		return Derivation{}
	}
	return Derivation{Kind: DerivationKind(*kind), BasisPoints: basisPoints, Minor: minor}
}
