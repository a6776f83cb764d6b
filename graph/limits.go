package graph

import (
	"context"
	"math"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/holdfast/holdfast/graph/scalar"
)

// limits refuses operations that ask for too much before anything of them is resolved. Each fragment
// is weighed once, however often it is spread, so that weighing cannot be made expensive.
type limits struct {
	maxDepth, maxCost int
	introspection     bool
}

// costs of fields that are dearer than one, by type and field: those that read much, and those that
// cost statements of their own for each item of a list.
func fieldCost(object, field string) int {
	switch object + "." + field {
	case "Show.seatMap":
		return 250
	case "Query.audit", "Query.searchStays":
		return 1000
	case "Show.chart", "Query.chart", "Property.calendar", "Property.occupancy", "Property.pickUp":
		return 100
	case "Allotment.stock":
		return 50
	case "Allotment.history":
		return 20
	case "Query.unresolvedPayments", "Query.paymentTimeline", "Query.seatHistory", "Query.poolHistory", "Query.nightHistory":
		return 50
	case "SeatBlock.seats", "SeatBlock.changes", "Hold.payments", "Hold.booking", "OversoldNight.bookings", "NightsJob.chunks", "Query.nightsJobs", "Booking.payments", "Booking.cancellations":
		return 20
	}
	return 1
}

// ExtensionName is what gqlgen calls this.
func (*limits) ExtensionName() string { return "Limits" }

// Validate has nothing to ask of the schema.
func (*limits) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext refuses an operation that is too deep or too dear, and introspection where
// it is off.
func (l *limits) MutateOperationContext(_ context.Context, operation *graphql.OperationContext) *gqlerror.Error {
	w := weigher{variables: operation.Variables, fragments: map[*ast.FragmentDefinition]weight{}}
	total := w.selection(operation.Operation.SelectionSet)
	switch {
	case w.introspects && !l.introspection:
		return failure(codeForbidden, "introspection is off on this server: the schema is graph/schema.graphql of the repository, and `holdfast serve --introspection` turns it on")
	case total.depth > l.maxDepth:
		return failureOf("the fields of the operation are nested %d deep; at most %d are allowed", total.depth, l.maxDepth)
	case total.cost > l.maxCost:
		return failureOf("the operation costs %d; at most %d is allowed: ask for shorter pages or fewer fields", total.cost, l.maxCost)
	}
	return nil
}

func failureOf(format string, args ...any) *gqlerror.Error {
	err := gqlerror.Errorf(format, args...)
	return failure(codeBadInput, err.Message)
}

// weight is what a part of an operation asks for.
type weight struct{ depth, cost int }

// plus adds fields that stand beside each other; sums stop short of overflow.
func (a weight) plus(b weight) weight {
	return weight{depth: max(a.depth, b.depth), cost: min(a.cost+b.cost, maxWeight)}
}

const maxWeight = math.MaxInt32

type weigher struct {
	variables   map[string]any
	fragments   map[*ast.FragmentDefinition]weight
	introspects bool
}

func (w *weigher) selection(set ast.SelectionSet) weight {
	var sum weight
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			sum = sum.plus(w.field(s))
		case *ast.InlineFragment:
			sum = sum.plus(w.selection(s.SelectionSet))
		case *ast.FragmentSpread:
			sum = sum.plus(w.fragment(s.Definition))
		}
	}
	return sum
}

func (w *weigher) fragment(definition *ast.FragmentDefinition) weight {
	known, ok := w.fragments[definition]
	if !ok {
		known = w.selection(definition.SelectionSet)
		w.fragments[definition] = known
	}
	return known
}

// field weighs a field and what is asked below it. The schema about itself weighs nothing: it is the
// same small thing every time, and the depth of a question about it is bounded by validation.
func (w *weigher) field(f *ast.Field) weight {
	if strings.HasPrefix(f.Name, "__") {
		w.introspects = w.introspects || f.Name != "__typename"
		return weight{}
	}
	below := w.selection(f.SelectionSet)
	items := w.items(f)
	cost := min(fieldCost(f.ObjectDefinition.Name, f.Name)+min(items, maxWeight/max(1, below.cost))*below.cost, maxWeight)
	return weight{depth: below.depth + 1, cost: cost}
}

// items is how many items a list of the field may have: what its argument "first" asks for.
func (w *weigher) items(f *ast.Field) int {
	if f.Definition.Arguments.ForName("first") == nil {
		return 1
	}
	first, err := scalar.UnmarshalInt(f.ArgumentMap(w.variables)["first"])
	if err != nil || first < 1 {
		return 1
	}
	return int(first)
}
