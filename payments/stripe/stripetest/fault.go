package stripetest

import (
	"net/http"
	"strings"
)

// Fault is a way in which a call goes wrong.
type Fault int

// The faults.
const (
	// FaultNone is none.
	FaultNone Fault = iota
	// FaultUnreached breaks the connection before the request is read.
	FaultUnreached
	// FaultLost breaks the connection after the request took effect.
	FaultLost
	// FaultHang never answers, after the request took effect.
	FaultHang
	// FaultFailed is a 500 without effect, which is repeated under the request's key.
	FaultFailed
	// FaultFailedAfter is a 500 after the request took effect, which is repeated under its key.
	FaultFailedAfter
	// FaultRateLimit is a 429.
	FaultRateLimit
	// FaultUnauthorized is a 401.
	FaultUnauthorized
	// FaultGarbage answers with a page of something in between, after the request took effect.
	FaultGarbage
	// FaultRedirect answers with a redirect, after the request took effect.
	FaultRedirect
	// FaultHuge answers with megabytes, after the request took effect.
	FaultHuge
)

type fault struct {
	method, path string
	kind         Fault
	times        int
}

// Break lets the next calls whose path contains a text go wrong.
func (s *Server) Break(method, path string, kind Fault, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{method: method, path: path, kind: kind, times: times})
}

// meet is the fault that a call meets. The caller holds the lock.
func (s *Server) meet(r *http.Request) Fault {
	for _, f := range s.faults {
		if f.times > 0 && f.method == r.Method && strings.Contains(r.URL.Path, f.path) {
			f.times--
			return f.kind
		}
	}
	return FaultNone
}
