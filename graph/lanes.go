package graph

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/tenants"
)

// Operations run in two lanes, so that a report cannot slow a sale: buying, with what a shop's page
// reads and a buyer does, and the back office. Each bounds how many run at once, and the back office
// has its own share of the database's connections.

// Lanes bound the operations that run at once.
type Lanes struct {
	// Buying is how many operations of buyers and shops run at once; more are refused at once. Default
	// 2,048.
	Buying int
	// BackOffice is how many operations of the back office run at once. Default 16.
	BackOffice int
	// BackOfficeQueue is how many more wait for their turn. Default 64.
	BackOfficeQueue int
	// BackOfficeWait is how long they wait. Default 5 seconds.
	BackOfficeWait time.Duration
}

func (l Lanes) withDefaults() Lanes {
	for _, set := range []struct {
		target *int
		value  int
	}{{&l.Buying, 2048}, {&l.BackOffice, 16}, {&l.BackOfficeQueue, 64}} {
		if *set.target == 0 {
			*set.target = set.value
		}
	}
	if l.BackOfficeWait == 0 {
		l.BackOfficeWait = 5 * time.Second
	}
	return l
}

const maxLane = 100_000

func (l Lanes) validate() error {
	for _, bound := range []int{l.Buying, l.BackOffice, l.BackOfficeQueue} {
		if bound < 0 || bound > maxLane {
			return fmt.Errorf("graph: Lanes: expected 1 to %d operations, or 0 for the default", maxLane)
		}
	}
	if l.BackOfficeWait < 0 {
		return errors.New("graph: Lanes.BackOfficeWait must not be negative")
	}
	return nil
}

// The lanes' names.
const (
	laneBuying     = "buying"
	laneBackOffice = "back_office"
)

// laneOf is the lane of a root field. Some fields are of one lane whoever asks: a box office sells
// with an admin key, and a partner's list of all bookings is a report. The rest is the back office's
// when an admin's or the platform's key, or a member, asks.
func laneOf(field string, asks tenants.KeyType) string {
	switch field {
	case "startGuestSession", "placeHold", "extendHold", "releaseHold", "checkout", "cancelBooking", "hold", "booking", "bookingByReference",
		"shows", "show", "chart", "hotels", "hotel", "searchStays", "quote", "whyNot", "waitingRoom", "joinWaitingRoom", "waitingRoomPlace", "admitVisitor", "__typename":
		return laneBuying
	case "bookings", "events", "audit", "failedRefunds", "unresolvedPayments", "repairs", "paymentTimeline", "webhookEndpoints", "webhookEndpoint",
		"seatHistory", "poolHistory", "nightHistory", "auditEntries", "oversoldNights", "nightsJob", "nightsJobs", "webhookDeliveries", "replayEvents", "replayEventsBetween", "oversellAdvice", "applyOversellAdvice", "tradeCodes", "tradeMessages", "setTradeCodes":
		return laneBackOffice
	}
	if asks == tenants.KeyTypeAdmin || asks == tenants.KeyTypeMember || asks == tenants.KeyTypePlatform {
		return laneBackOffice
	}
	return laneBuying
}

// laneOfOperation is the back office's when one of the root fields is.
func laneOfOperation(set ast.SelectionSet, asks tenants.KeyType) string {
	for _, selection := range set {
		lane := laneBuying
		switch s := selection.(type) {
		case *ast.Field:
			if lane = laneOf(s.Name, asks); reports(s.SelectionSet) {
				lane = laneBackOffice
			}
		case *ast.InlineFragment:
			lane = laneOfOperation(s.SelectionSet, asks)
		case *ast.FragmentSpread:
			lane = laneOfOperation(s.Definition.SelectionSet, asks)
		}
		if lane == laneBackOffice {
			return lane
		}
	}
	return laneBuying
}

// reports tells whether anything below a field is a report.
func reports(set ast.SelectionSet) bool {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if s.ObjectDefinition != nil && s.ObjectDefinition.Name == "Property" && (s.Name == "occupancy" || s.Name == "pickUp") || reports(s.SelectionSet) {
				return true
			}
		case *ast.InlineFragment:
			if reports(s.SelectionSet) {
				return true
			}
		case *ast.FragmentSpread:
			if reports(s.Definition.SelectionSet) {
				return true
			}
		}
	}
	return false
}

// lane lets so many through at once.
type lane struct {
	name    string
	slots   chan struct{}
	waiting atomic.Int64
	queue   int64
	wait    time.Duration
}

// lanes are the two, with their figures.
type lanes struct {
	buying, backOffice *lane
	refused            *prometheus.CounterVec
}

func newLanes(config Lanes, registerer prometheus.Registerer) (*lanes, error) {
	l := &lanes{
		buying:     &lane{name: laneBuying, slots: make(chan struct{}, config.Buying)},
		backOffice: &lane{name: laneBackOffice, slots: make(chan struct{}, config.BackOffice), queue: int64(config.BackOfficeQueue), wait: config.BackOfficeWait},
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_lane_refused_total",
			Help: "Operations refused with 503 because their lane was full, by lane: buying, or back_office for reports and administration. " +
				"A rising buying means that more processes are needed; a rising back_office that somebody reports too much at once.",
		}, []string{"lane"}),
	}
	collectors := []prometheus.Collector{l.refused}
	for _, one := range []*lane{l.buying, l.backOffice} {
		collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "holdfast_lane_operations", ConstLabels: prometheus.Labels{"lane": one.name},
			Help: "Operations that run at present, by lane. At its bound for long, the lane's next operations wait or are refused.",
		}, func() float64 { return float64(len(one.slots)) }))
	}
	for _, collector := range collectors {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register the metrics of lanes: %w", err)
		}
	}
	return l, nil
}

// enter waits for the operation's turn. The context is the one to run it with; leave is to be called
// when it has ended.
func (l *lanes) enter(ctx context.Context, operation *ast.OperationDefinition) (_ context.Context, leave func(), refused *gqlerror.Error) {
	if operation.Operation == ast.Subscription {
		// It lasts and is nearly always idle; what it may hold is bounded where it is served.
		return ctx, func() {}, nil
	}
	return l.enterLane(ctx, laneOfOperation(operation.SelectionSet, actorOf(ctx).KeyType))
}

// enterLane is enter for what is no operation.
func (l *lanes) enterLane(ctx context.Context, name string) (_ context.Context, leave func(), refused *gqlerror.Error) {
	chosen := l.buying
	if name == laneBackOffice {
		chosen = l.backOffice
		ctx = db.BackOffice(ctx)
	}
	if !chosen.take(ctx) {
		l.refused.WithLabelValues(chosen.name).Inc()
		err := failure(codeUnavailable, "the server does as much at once as it can; try again after a moment")
		err.Extensions["retryAfterMs"] = retryAfterMs
		return ctx, nil, err
	}
	return ctx, func() { <-chosen.slots }, nil
}

func (l *lane) take(ctx context.Context) bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
	}
	if l.waiting.Add(1) > l.queue {
		l.waiting.Add(-1)
		return false
	}
	defer l.waiting.Add(-1)
	timer := time.NewTimer(l.wait)
	defer timer.Stop()
	select {
	case l.slots <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
