// Package scalar owns how the plain values of the API are written and read: whole numbers, instants
// and dates. It does not own ids, which package graph reads because only it knows which kind a field
// expects.
//
// Invariant: what cannot be read is a fault.KindInvalid that says what was expected; the field's
// path is added where the fault is answered.
package scalar
