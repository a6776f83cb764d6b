package inventory

import "github.com/google/uuid"

// hasPlan reports whether the tenant has a rate plan.
func (f *facts) hasPlan(plan uuid.UUID) bool {
	_, ok := f.plans[plan]
	return ok
}

// planFacts are what a claim must know of a rate plan.
type planFacts struct {
	property uuid.UUID
}
