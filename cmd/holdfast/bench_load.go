package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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

// runLoad lets so many clients hold for a while, each its next hold as soon as the last is
// answered. Answers within the warm-up, or after the end, are not counted.
func runLoad(ctx context.Context, clients int, warmUp, measured time.Duration, hold benchHolder) (benchLoad, error) {
	begin := time.Now().Add(warmUp)
	end := begin.Add(measured)
	parts := make([]benchLoad, clients)
	var group errgroup.Group
	for i := range parts {
		group.Go(func() error {
			parts[i] = runClient(ctx, begin, end, hold)
			return nil
		})
	}
	if err := errors.Join(group.Wait(), ctx.Err()); err != nil {
		return benchLoad{}, err
	}
	all := benchLoad{took: measured, refused: map[string]int{}, errors: map[string]int{}}
	for _, part := range parts {
		all.add(part)
	}
	slices.Sort(all.latencies)
	return all, nil
}

// failurePause keeps a client from asking a dead server in a busy loop.
const failurePause = 20 * time.Millisecond

func runClient(ctx context.Context, begin, end time.Time, hold benchHolder) benchLoad {
	load := benchLoad{refused: map[string]int{}, errors: map[string]int{}}
	for ctx.Err() == nil {
		started := time.Now()
		if !started.Before(end) {
			break
		}
		code, err := hold(ctx)
		answered := time.Now()
		if answered.After(begin) && answered.Before(end) {
			load.count(code, err, answered.Sub(started))
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
