package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// benchHolder places one hold. refused is the code of a refusal, or empty when the hold was placed.
type benchHolder func(ctx context.Context) (refused string, err error)

// benchLoad is what one cell saw in its measured time.
type benchLoad struct {
	took      time.Duration
	latencies []time.Duration
	refused   map[string]int
	errors    map[string]int
	// firstError is an example of what the errors said.
	firstError error
}

// benchPlan is how load is made.
type benchPlan struct {
	clients int
	// perSecond is how many holds are offered, at even distances; 0 lets each client ask as soon as it
	// has its last answer.
	perSecond        float64
	warmUp, measured time.Duration
	// progress is told once a second how many were placed and how many not; nil tells nobody.
	progress func(seconds int, placed, refused int64)
}

// runLoad lets so many clients hold for a while, each its next hold as soon as the last is
// answered. Answers within the warm-up, or after the end, are not counted.
func runLoad(ctx context.Context, clients int, warmUp, measured time.Duration, hold benchHolder) (benchLoad, error) {
	return runLoadOf(ctx, benchPlan{clients: clients, warmUp: warmUp, measured: measured}, hold)
}

// runLoadOf makes load as planned.
func runLoadOf(ctx context.Context, plan benchPlan, hold benchHolder) (benchLoad, error) {
	start := time.Now()
	begin := start.Add(plan.warmUp)
	end := begin.Add(plan.measured)
	var placed, refused atomic.Int64
	counted := func(ctx context.Context) (string, error) {
		code, err := hold(ctx)
		if code == "" && err == nil {
			placed.Add(1)
		} else {
			refused.Add(1)
		}
		return code, err
	}
	stop := tellProgress(plan, &placed, &refused)
	defer stop()
	next := closedLoop(end)
	if plan.perSecond > 0 {
		next = openLoop(start, end, plan.perSecond)
	}
	parts := make([]benchLoad, plan.clients)
	var group errgroup.Group
	for i := range parts {
		group.Go(func() error {
			parts[i] = runClient(ctx, begin, end, next, counted)
			return nil
		})
	}
	if err := errors.Join(group.Wait(), ctx.Err()); err != nil {
		return benchLoad{}, err
	}
	all := benchLoad{took: plan.measured, refused: map[string]int{}, errors: map[string]int{}}
	for _, part := range parts {
		all.add(part)
	}
	slices.Sort(all.latencies)
	return all, nil
}

// tellProgress tells once a second until it is stopped.
func tellProgress(plan benchPlan, placed, refused *atomic.Int64) (stop func()) {
	if plan.progress == nil {
		return func() {}
	}
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for seconds := 1; ; seconds++ {
			select {
			case <-ticker.C:
				plan.progress(seconds, placed.Load(), refused.Load())
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
	}
}

// benchNext is when the next hold is due; false when there is none any more.
type benchNext func(ctx context.Context) (due time.Time, ok bool)

// closedLoop has the next hold due as soon as a client is free.
func closedLoop(end time.Time) benchNext {
	return func(context.Context) (time.Time, bool) {
		now := time.Now()
		return now, now.Before(end)
	}
}

// openLoop has holds due at even distances, whether or not the ones before are answered. A client that
// comes late finds a hold whose moment is past, and what it waits counts from that moment: a server
// that stalls is charged for all who would have come meanwhile.
func openLoop(start, end time.Time, perSecond float64) benchNext {
	var given atomic.Int64
	return func(ctx context.Context) (time.Time, bool) {
		n := given.Add(1) - 1
		due := start.Add(time.Duration(float64(n) / perSecond * float64(time.Second)))
		// What is due before the end and could not be asked by then is not waited for.
		if !due.Before(end) || !time.Now().Before(end) {
			return due, false
		}
		if wait := time.Until(due); wait > 0 {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return due, false
			}
		}
		return due, true
	}
}

// failurePause keeps a client from asking a dead server in a busy loop.
const failurePause = 20 * time.Millisecond

func runClient(ctx context.Context, begin, end time.Time, next benchNext, hold benchHolder) benchLoad {
	load := benchLoad{refused: map[string]int{}, errors: map[string]int{}}
	for ctx.Err() == nil {
		due, ok := next(ctx)
		if !ok {
			break
		}
		code, err := hold(ctx)
		answered := time.Now()
		if answered.After(begin) && answered.Before(end) {
			load.count(code, err, answered.Sub(due))
		}
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(failurePause):
			}
		}
	}
	return load
}

func (l *benchLoad) count(refused string, err error, latency time.Duration) {
	var answer *apiError
	switch {
	case errors.As(err, &answer):
		l.errors[answer.Extensions.Code]++
	case err != nil:
		l.errors["FAILED"]++
	case refused != "":
		l.refused[refused]++
	default:
		l.latencies = append(l.latencies, latency)
	}
	if l.firstError == nil {
		l.firstError = err
	}
}

func (l *benchLoad) add(part benchLoad) {
	l.latencies = append(l.latencies, part.latencies...)
	for code, n := range part.refused {
		l.refused[code] += n
	}
	for code, n := range part.errors {
		l.errors[code] += n
	}
	if l.firstError == nil {
		l.firstError = part.firstError
	}
}

// complaints is what did not go well, for the progress line.
func (l *benchLoad) complaints() string {
	text := "refused: " + counts(l.refused)
	if len(l.errors) > 0 {
		text += fmt.Sprintf("; FAILED: %s, such as: %v", counts(l.errors), l.firstError)
	}
	return text
}

func (l *benchLoad) cell(scenario string, clients int) benchCell {
	return benchCell{
		Scenario: scenario, Clients: clients, HoldsPerSecond: rounded(float64(len(l.latencies))/l.took.Seconds(), 10),
		P50Ms: l.percentile(50), P95Ms: l.percentile(95), P99Ms: l.percentile(99), Refused: l.refused, Errors: l.errors,
	}
}

// percentile is in milliseconds; 0 when nothing was held.
func (l *benchLoad) percentile(p int) float64 {
	if len(l.latencies) == 0 {
		return 0
	}
	rank := (len(l.latencies)*p + 99) / 100
	return rounded(float64(l.latencies[max(rank, 1)-1])/float64(time.Millisecond), 100)
}

// rounded keeps as many digits as were measured.
func rounded(value, parts float64) float64 { return math.Round(value*parts) / parts }
