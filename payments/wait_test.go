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
	const defaultCallTimeout = 15 * time.Second
	if driverPatience <= defaultCallTimeout {
		t.Errorf("the reconciler looks after %s, a call may take %s", driverPatience, defaultCallTimeout)
	}
}
