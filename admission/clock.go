package admission

import "time"

// monotonic is the time since the process began. The computer's clock may be set while it runs; this
// goes on.
func monotonic() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// reading is what the database's clock showed at a moment of the process. Nothing here asks the
// computer's own clock what time it is: processes whose clocks differ agree on the line all the same.
type reading struct {
	shown time.Time
	at    time.Duration
}

// age is how long ago the clock was read. A negative one says that the process's time went back.
func (r reading) age(now time.Duration) time.Duration { return now - r.at }

// time is what the database's clock shows by now, less the way of the answer.
func (r reading) time(now time.Duration) time.Time { return r.shown.Add(now - r.at) }
