package events

import (
	"sync"
	"time"
)

// lanes bound what this process does at each endpoint, so that a receiver that is slow or dead
// delays no other: a few tries at once, and a rest after failures in a row. They decide nothing that
// lasts: what is due stays due in its row.
type lanes struct {
	width int
	// now is the process's clock.
	now func() time.Time

	mu    sync.Mutex
	known map[EndpointID]*laneState
}

type laneState struct {
	busy     int
	failures int
	restsTo  time.Time
}

func newLanes(width int) *lanes {
	return &lanes{width: width, now: time.Now, known: map[EndpointID]*laneState{}}
}

// enter takes a place at an endpoint; leave gives it back.
func (l *lanes) enter(endpoint EndpointID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane := l.known[endpoint]
	if lane == nil {
		l.makeRoom()
		lane = &laneState{}
		l.known[endpoint] = lane
	}
	if lane.busy >= l.width || l.now().Before(lane.restsTo) {
		return false
	}
	lane.busy++
	return true
}

func (l *lanes) leave(endpoint EndpointID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane := l.known[endpoint]
	lane.busy--
	if lane.busy == 0 && lane.failures == 0 {
		delete(l.known, endpoint)
	}
}

// note counts failures in a row. The caller has a place at the endpoint.
func (l *lanes) note(endpoint EndpointID, delivered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane := l.known[endpoint]
	if delivered {
		lane.failures, lane.restsTo = 0, time.Time{}
		return
	}
	lane.failures++
	if lane.failures < restAfter {
		return
	}
	rest := firstRest
	for range lane.failures - restAfter {
		if rest >= longestRest {
			break
		}
		rest *= 2
	}
	lane.restsTo = l.now().Add(min(rest, longestRest))
}

// makeRoom forgets the failures of endpoints where nobody is, when there are too many to remember.
func (l *lanes) makeRoom() {
	if len(l.known) < maxLanes {
		return
	}
	for endpoint, lane := range l.known {
		if lane.busy == 0 {
			delete(l.known, endpoint)
		}
	}
}
