package ratelimit

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

func TestPoliciesAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Policy{"10/40": {10, 40}, "0.5/1": {0.5, 1}, "off": {}} {
		got, err := ParsePolicy(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "10", "10/0", "0/5", "-1/5", "NaN/5", "10/x", "x/5", "Inf/5", "10/4000000", "1e9/5"} {
		if got, err := ParsePolicy(text); err == nil {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// A caller has the burst, then nothing, then waits for one; others are not concerned.
func TestACallerHasItsBurst(t *testing.T) {
	t.Parallel()
	table, err := NewTable(10)
	if err != nil {
		t.Fatal(err)
	}
	policy := Policy{PerSecond: 0.01, Burst: 3}
	for left := 2; left >= 0; left-- {
		if s := table.Take("a", policy); !s.Allowed || s.Remaining != left || s.RetryAfter != 0 {
			t.Fatalf("with %d left: got %+v", left, s)
		}
	}
	s := table.Take("a", policy)
	if s.Allowed || s.Remaining != 0 || s.RetryAfter <= 0 || s.RetryAfter > 100*time.Second || s.Reset < 200*time.Second || s.Reset > 300*time.Second {
		t.Errorf("past the burst: got %+v", s)
	}
	if s := table.Peek("b", policy); !s.Allowed || s.Remaining != 3 {
		t.Errorf("another caller: got %+v", s)
	}
	if s := table.Take("b", policy); !s.Allowed || s.Remaining != 2 {
		t.Errorf("after a look: got %+v", s)
	}
	fast := Policy{PerSecond: 1_000_000, Burst: 1}
	table.Take("c", fast)
	for !table.Take("c", fast).Allowed {
		// It fills within a microsecond.
	}
}

// However many callers come, the table keeps its size.
func TestTheTableIsBounded(t *testing.T) {
	t.Parallel()
	table, err := NewTable(100)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		table.Take(fmt.Sprint(i), Policy{PerSecond: 1, Burst: 1})
	}
	if got := table.Len(); got != 100 {
		t.Errorf("got %d buckets", got)
	}
}

func TestTheHeadersSayWhatIsLeft(t *testing.T) {
	t.Parallel()
	header := http.Header{}
	Write(header, []Named{
		{Name: "session", State: State{Policy: Policy{PerSecond: 10, Burst: 40}, Allowed: true, Remaining: 39, Reset: 100 * time.Millisecond}},
		{Name: "key", State: State{Policy: Policy{PerSecond: 2, Burst: 5}, RetryAfter: 1400 * time.Millisecond, Reset: 3900 * time.Millisecond}},
	})
	for name, want := range map[string]string{
		"RateLimit-Policy": `"session";q=40;w=4, "key";q=5;w=3`,
		"RateLimit":        `"session";r=39;t=1, "key";r=0;t=4`,
		"Retry-After":      "2",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestOnlyATrustedProxyIsBelieved(t *testing.T) {
	t.Parallel()
	addresses, err := NewAddresses([]string{"10.0.0.0/8", " 2001:db8::1"}, "x-forwarded-for")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, peer, want string
		header           []string
	}{
		{"a stranger who says much", "203.0.113.9:1", "203.0.113.9", []string{"198.51.100.1"}},
		{"a proxy", "10.1.2.3:1", "198.51.100.1", []string{"198.51.100.1"}},
		{"a proxy over IPv6", "[2001:db8::1]:1", "198.51.100.1", []string{"198.51.100.1"}},
		{"a proxy that speaks IPv4 over IPv6", "[::ffff:10.1.2.3]:1", "198.51.100.1", []string{"198.51.100.1:4711"}},
		{"what the caller put before it", "10.1.2.3:1", "198.51.100.1", []string{"192.0.2.1, 198.51.100.1"}},
		{"two proxies", "10.1.2.3:1", "198.51.100.1", []string{"192.0.2.1, 198.51.100.1", "10.9.9.9"}},
		{"only proxies", "10.1.2.3:1", "10.9.9.9", []string{"10.9.9.9"}},
		{"nothing", "10.1.2.3:1", "10.1.2.3", nil},
		{"nonsense", "10.1.2.3:1", "10.1.2.3", []string{"192.0.2.1, unknown"}},
		{"no address at all", "pipe", "invalid IP", []string{"192.0.2.1"}},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.header, "X-Real-Ip": {"192.0.2.77"}}}
		if got := addresses.Of(r).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	// Who trusts no proxy believes no header.
	if got := (Addresses{}).Of(&http.Request{RemoteAddr: "10.1.2.3:1", Header: http.Header{"X-Forwarded-For": {"192.0.2.1"}}}).String(); got != "10.1.2.3" {
		t.Errorf("without proxies: got %s", got)
	}
}

func TestOneSubscriberOfIPv6IsOneSite(t *testing.T) {
	t.Parallel()
	addresses := Addresses{}
	site := func(peer string) string { return Site(addresses.Of(&http.Request{RemoteAddr: peer})) }
	if a, b := site("[2001:db8:1:2::1]:1"), site("[2001:db8:1:2:ffff::9]:2"); a != b {
		t.Errorf("one /64: got %s and %s", a, b)
	}
	if a, b := site("[2001:db8:1:2::1]:1"), site("[2001:db8:1:3::1]:1"); a == b {
		t.Errorf("two /64: got %s twice", a)
	}
	if a, b := site("192.0.2.1:1"), site("192.0.2.2:1"); a == b || a != "192.0.2.1" {
		t.Errorf("IPv4: got %s and %s", a, b)
	}
}

func TestProxiesAreValidated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		proxies []string
		header  string
	}{{[]string{"10.0.0.0/8"}, ""}, {nil, "X-Forwarded-For"}, {[]string{"ten"}, "X-Forwarded-For"}, {[]string{"10.0.0.0/40"}, "X-Forwarded-For"}, {[]string{"10.0.0.0/8"}, "X Forwarded"}} {
		if _, err := NewAddresses(c.proxies, c.header); err == nil {
			t.Errorf("%v, %q: got no error", c.proxies, c.header)
		}
	}
}
