package ratelimit

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Named is the state of a bucket under the name of its policy, such as "session".
type Named struct {
	Name string
	State
}

// Write sets the RateLimit and RateLimit-Policy headers as the IETF's draft "RateLimit header fields
// for HTTP" (draft-ietf-httpapi-ratelimit-headers, from its 8th version on) has them: for each policy
// its quota q in a window of w seconds, and how many requests r remain now and in how many seconds t
// all of the quota is there again. When a request was refused it sets Retry-After, too.
func Write(header http.Header, states []Named) {
	var policies, remaining []string
	var retryAfter time.Duration
	refused := false
	for _, s := range states {
		name := strconv.Quote(s.Name)
		policies = append(policies, name+";q="+strconv.Itoa(s.Policy.Burst)+";w="+seconds(s.Policy.Window()))
		remaining = append(remaining, name+";r="+strconv.Itoa(s.Remaining)+";t="+seconds(s.Reset))
		if !s.Allowed {
			refused, retryAfter = true, max(retryAfter, s.RetryAfter)
		}
	}
	if len(states) > 0 {
		header.Set("RateLimit-Policy", strings.Join(policies, ", "))
		header.Set("RateLimit", strings.Join(remaining, ", "))
	}
	if refused {
		header.Set("Retry-After", strconv.Itoa(max(1, ceilSeconds(retryAfter))))
	}
}

// seconds are whole and rounded up, as the headers want them.
func seconds(d time.Duration) string { return strconv.Itoa(ceilSeconds(d)) }

func ceilSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
