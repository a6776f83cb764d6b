package graph

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/holdfast/holdfast/graph/generated"
)

// The names of operations that are not called by their root field: a client's own name for an
// operation is no label, because there is no end of them.
const (
	operationNone    = "none"
	operationSeveral = "several"
)

// metrics are the figures of operations.
type metrics struct {
	duration *prometheus.HistogramVec
	refusals *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "holdfast_graphql_operation_seconds",
			Help: "Duration of GraphQL operations by root field and outcome, which is ok or the code of the first error. " +
				"A rising share of internal is a defect, of unavailable a dependency that is down.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}, []string{"operation", "outcome"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_refusals_total",
			Help: "Mutations that were refused, by root field and the code that the client was told. SOLD_OUT is business; " +
				"a rising BUSY means that more want to buy than the server can let through.",
		}, []string{"operation", "code"}),
	}
	for _, collector := range []prometheus.Collector{m.duration, m.refusals} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register the metrics of GraphQL operations: %w", err)
		}
	}
	return m, nil
}

// countRefusals looks at what each mutation of an operation came to. Queries have no refusals, and
// far too many fields to look at.
func (m *metrics) countRefusals(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	operation := graphql.GetOperationContext(ctx)
	if operation.Operation.Operation != ast.Mutation {
		return next(ctx)
	}
	resolve := operation.ResolverMiddleware
	operation.ResolverMiddleware = func(ctx context.Context, resolver graphql.Resolver) (any, error) {
		result, err := resolve(ctx, resolver)
		if refusal, refused := result.(generated.Refusal); refused && err == nil {
			if field := graphql.GetFieldContext(ctx); field.Object == "Mutation" {
				m.refusals.WithLabelValues(field.Field.Name, refusalCode(refusal)).Inc()
			}
		}
		return result, err
	}
	return next(ctx)
}

// refusalCode is the code of any refusal: the schema gives each one, and gqlgen no method to ask
// for it.
func refusalCode(refusal generated.Refusal) string {
	field := reflect.Indirect(reflect.ValueOf(refusal)).FieldByName("Code")
	code, _ := reflect.TypeAssert[generated.RefusalCode](field)
	return string(code)
}

func (m *metrics) observe(operation, outcome string, duration time.Duration) {
	m.duration.WithLabelValues(operation, strings.ToLower(outcome)).Observe(duration.Seconds())
}

// operationName is an operation's only root field, which the schema bounds.
func operationName(operation *ast.OperationDefinition) string {
	if len(operation.SelectionSet) != 1 {
		return operationSeveral
	}
	field, ok := operation.SelectionSet[0].(*ast.Field)
	if !ok {
		return operationSeveral
	}
	return field.Name
}

func outcomeOf(response *graphql.Response) string {
	if len(response.Errors) == 0 {
		return "ok"
	}
	code, ok := response.Errors[0].Extensions["code"].(string)
	if !ok {
		return codeInternal
	}
	return code
}
