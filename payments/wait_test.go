package payments

import (
	"testing"
	"time"
)

// An open outcome is asked for at growing intervals, up to a bound, and never while its first driver
// may still be calling.
func TestWaitsGrowToABound(t *testing.T) {
	t.Parallel()
	last := time.Duration(0)
	for checks := range int64(100) {
		wait := waitAfter(checks)
		if wait < last || wait > longestWait {
			t.Errorf("after %d checks: %s, after %s", checks, wait, last)
		}
		last = wait
	}
	if waitAfter(0) != time.Second || waitAfter(5) != 32*time.Second || last != 5*time.Minute {
		t.Errorf("the waits are %s, %s … %s", waitAfter(0), waitAfter(5), last)
	}
	if retryAfterTries(0) != time.Minute || retryAfterTries(100) != longestRetry {
		t.Errorf("an event is tried again after %s … %s", retryAfterTries(0), retryAfterTries(100))
	}
	const defaultCallTimeout = 15 * time.Second
	if driverPatience <= defaultCallTimeout {
		t.Errorf("the reconciler looks after %s, a call may take %s", driverPatience, defaultCallTimeout)
	}
}

func retryAfterTries(tries int64) time.Duration {
	now := time.Unix(1_800_000_000, 0)
	return retryAfter(now, tries, now).Sub(now)
}

// An event that matches nothing is tried for a week, and not for ever.
func TestAnEventIsTriedForAWeek(t *testing.T) {
	t.Parallel()
	received := time.Unix(1_800_000_000, 0)
	now, tries := received, int64(0)
	for {
		next := retryAfter(received, tries, now)
		if next == nil {
			break
		}
		if !next.After(now) || tries > 100 {
			t.Fatalf("try %d is at %s, after %s", tries, next, now)
		}
		now = *next
		tries++
	}
	if age := now.Sub(received); age > retriedFor || age < retriedFor-longestRetry {
		t.Errorf("the last try is %s old, after %d", age, tries)
	}
}
