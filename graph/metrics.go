package graph

import (
	"fmt"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
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
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "holdfast_graphql_operation_seconds",
		Help: "Duration of GraphQL operations by root field and outcome, which is ok or the code of the first error. " +
			"A rising share of internal is a defect, of unavailable a dependency that is down.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
	}, []string{"operation", "outcome"})}
	if err := registerer.Register(m.duration); err != nil {
		return nil, fmt.Errorf("register the metrics of GraphQL operations: %w", err)
	}
	return m, nil
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
