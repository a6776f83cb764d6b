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

	outcomeOK = "ok"
)

// metrics are the figures of operations.
type metrics struct {
	duration *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	// Of answers that are kept.
	answers       *prometheus.CounterVec
	answerBytes   prometheus.Gauge
	answersKept   prometheus.Gauge
	mapAge        prometheus.Histogram
	subscriptions *prometheus.CounterVec
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
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_public_answers_total",
			Help: "Public queries over GET by how they were answered: hit, from memory; miss, executed; shared, by the execution of " +
				"another; and not_kept, executed answers that got no room. Many misses and not_kept are questions that nobody asks twice.",
		}, []string{"outcome"}),
		answerBytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_public_answer_bytes", Help: "Memory of the answers that are kept, which is bounded.",
		}),
		answersKept: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_public_answers", Help: "Answers that are kept, some of them too old to be sent.",
		}),
		mapAge: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "holdfast_map_age_seconds",
			Help: "How long ago the seats were read that a client was sent. Above two seconds, buyers click seats that are gone: " +
				"the database is slow to answer.",
			Buckets: []float64{0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 5, 10, 30},
		}),
	}
	m.subscriptions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_subscriptions_ended_total",
		Help: "Subscriptions that have ended, by why: client, finished, failed, slow (it did not read) and stopping (the server is).",
	}, []string{"reason"})
	for _, collector := range []prometheus.Collector{m.duration, m.refusals, m.answers, m.answerBytes, m.answersKept, m.mapAge, m.subscriptions} {
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

// mapServed notes the age of the seats that a client is sent.
func (m *metrics) mapServed(age time.Duration) { m.mapAge.Observe(age.Seconds()) }

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
		return outcomeOK
	}
	code, ok := response.Errors[0].Extensions["code"].(string)
	if !ok {
		return codeInternal
	}
	return code
}
