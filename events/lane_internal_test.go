package events

import (
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/ids"
)

// lanesAt has a clock that the test moves.
func lanesAt(width int) (*lanes, *time.Time) {
	now := time.Unix(1_900_000_000, 0)
	l := newLanes(width)
	l.now = func() time.Time { return now }
	return l, &now
}

func TestALaneHasItsWidth(t *testing.T) {
	t.Parallel()
	l, _ := lanesAt(2)
	a, b := ids.NewGlobal[EndpointKind](), ids.NewGlobal[EndpointKind]()
	for i, want := range []bool{true, true, false} {
		if got := l.enter(a); got != want {
			t.Errorf("place %d at an endpoint: %t", i, got)
		}
	}
	if !l.enter(b) {
		t.Error("another endpoint is in the way of nobody")
	}
	l.leave(a)
	if !l.enter(a) {
		t.Error("a place that was given back is not free")
	}
	l.leave(a)
	l.leave(a)
	l.leave(b)
	if len(l.known) != 0 {
		t.Errorf("%d endpoints are remembered for nothing", len(l.known))
	}
}

func TestFailuresInARowMakeALaneRest(t *testing.T) {
	t.Parallel()
	l, now := lanesAt(1)
	endpoint := ids.NewGlobal[EndpointKind]()
	try := func(delivered bool) bool {
		if !l.enter(endpoint) {
			return false
		}
		l.note(endpoint, delivered)
		l.leave(endpoint)
		return true
	}
	for i := range restAfter {
		if !try(false) {
			t.Fatalf("it rests after %d failures", i)
		}
	}
	var rests []time.Duration
	for range 9 {
		start := *now
		for !l.enter(endpoint) {
			*now = now.Add(100 * time.Millisecond)
		}
		l.note(endpoint, false)
		l.leave(endpoint)
		rests = append(rests, now.Sub(start))
	}
	for i, rest := range rests {
		if want := min(firstRest<<i, longestRest); rest != want {
			t.Errorf("rest %d is %s, want %s", i, rest, want)
		}
	}
	*now = now.Add(longestRest)
	if !try(true) || !try(false) || !try(false) || !try(true) {
		t.Error("a success does not end the resting")
	}
}

func TestOnlySoManyFailuresAreRemembered(t *testing.T) {
	t.Parallel()
	l, _ := lanesAt(1)
	busy := ids.NewGlobal[EndpointKind]()
	l.enter(busy)
	for range maxLanes + 10 {
		endpoint := ids.NewGlobal[EndpointKind]()
		l.enter(endpoint)
		l.note(endpoint, false)
		l.leave(endpoint)
	}
	if len(l.known) > maxLanes {
		t.Errorf("%d are remembered", len(l.known))
	}
	l.leave(busy)
}

func TestTheWaitsGrow(t *testing.T) {
	t.Parallel()
	var total time.Duration
	tries := 0
	for attempt := int64(1); total < RetryFor; attempt++ {
		full := min(firstRetry<<min(attempt-1, 30), longestRetry)
		for range 100 {
			if wait := backOff(attempt); wait < full/2 || wait > full {
				t.Fatalf("after %d tries it waits %s, want %s to %s", attempt, wait, full/2, full)
			}
		}
		total += full * 3 / 4
		tries++
	}
	if tries < 15 || tries > 40 {
		t.Errorf("%d tries in three days", tries)
	}
}

// What the limits promise one another.
func TestLimitsFitTogether(t *testing.T) {
	t.Parallel()
	const longestTry = 15 * time.Second // webhooks.Config
	if deliveryLease <= longestTry {
		t.Error("a delivery is claimed again while its try is under way")
	}
	if afterDeletion <= longestRetry+deliveryLease {
		t.Error("deliveries of a deleted endpoint may wait for ever")
	}
	if MaxReplaySpan > 31*24*time.Hour {
		t.Error("a replay is longer than events are kept")
	}
}
