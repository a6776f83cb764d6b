package main

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Limits of refused sign-ins. Keys cannot be guessed; this spares the database and the log. Behind a
// proxy all share its address, and so the limit.
const (
	failureWindow  = time.Minute
	maxFailures    = 10
	maxFailureFrom = 4096
	// otherAddresses is where addresses are counted together that do not fit any more.
	otherAddresses = ""
	// addressBits of an IPv6 address are one customer's.
	addressBits = 64
)

// signInFailures counts the refused sign-ins of each address in a window of time.
type signInFailures struct {
	now func() time.Time

	lock   sync.Mutex
	began  time.Time
	counts map[string]int
}

func newSignInFailures(now func() time.Time) *signInFailures {
	return &signInFailures{now: now, counts: map[string]int{}}
}

// begin counts a try as refused before it is made, so that tries at the same moment count too. It says
// how long an address has to wait instead, or 0.
func (f *signInFailures) begin(from string) time.Duration {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.turn()
	if place := f.place(from); f.counts[place] < maxFailures {
		f.counts[place]++
		return 0
	}
	return f.began.Add(failureWindow).Sub(f.now())
}

// forgive takes back the count of a try that was not refused.
func (f *signInFailures) forgive(from string) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if place := f.place(from); f.counts[place] > 0 {
		f.counts[place]--
	}
}

// turn begins a new window when the last one is over.
func (f *signInFailures) turn() {
	if now := f.now(); now.Sub(f.began) >= failureWindow {
		f.began = now
		clear(f.counts)
	}
}

// place is under which name an address is counted.
func (f *signInFailures) place(from string) string {
	if _, known := f.counts[from]; known || len(f.counts) < maxFailureFrom {
		return from
	}
	return otherAddresses
}

// remoteHost is the other end of a connection; an IPv6 address stands for its network.
func remoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return otherAddresses
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	address = address.Unmap().WithZone("")
	if address.Is6() {
		if network, err := address.Prefix(addressBits); err == nil {
			return network.String()
		}
	}
	return address.String()
}
