package graph_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/graph"
	"github.com/holdfast/holdfast/internal/ratelimit"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// slow is a policy whose bucket does not fill while a test runs.
func slow(burst int) ratelimit.Policy { return ratelimit.Policy{PerSecond: 0.001, Burst: burst} }

// limited is a house whose callers have these limits; it is built before they begin to count.
func limited(t *testing.T, limits graph.RateLimits, change ...func(*graph.Config)) (house, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	h := newHouse(t, newServer(t, nil))
	bounded := newServer(t, func(c *graph.Config) {
		c.RateLimits, c.Metrics = &limits, registry
		for _, also := range change {
			also(c)
		}
	})
	h.page, h.partner, h.admin = bounded.client(h.page.key), bounded.client(h.partner.key), bounded.client(h.admin.key)
	return h, registry
}

func wantLimited(t *testing.T, r reply, limit string) {
	t.Helper()
	if r.status != http.StatusTooManyRequests || len(r.Errors) != 1 || r.Errors[0].code() != "RATE_LIMITED" || text(r.Errors[0].Extensions["limit"]) != limit {
		t.Fatalf("expected 429 by the limit %s, got %d %s", limit, r.status, r.body)
	}
	if after, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || after < 1 {
		t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
	}
	if got := r.header.Get("RateLimit"); !strings.Contains(got, `"`+limit+`";r=0;t=`) {
		t.Errorf("RateLimit is %s", got)
	}
	if r.Data != nil {
		t.Errorf("it was answered all the same: %s", r.body)
	}
}

func wantAnswered(t *testing.T, who string, r reply) {
	t.Helper()
	if r.status != http.StatusOK || len(r.Errors) != 0 {
		t.Fatalf("%s: got %d %s", who, r.status, r.body)
	}
}

// One guest who asks without end is refused; every other is served, at the same address and with the
// same key.
func TestASessionHasItsLimit(t *testing.T) {
	t.Parallel()
	h, registry := limited(t, graph.RateLimits{Session: slow(3), Address: slow(100), Publishable: slow(100)})
	eager, other := h.guest(), h.guest()
	for left := 2; left >= 0; left-- {
		r := eager.post(whoAmI, nil)
		wantAnswered(t, "within the limit", r)
		if got := r.header.Get("RateLimit"); !strings.Contains(got, `"session";r=`+strconv.Itoa(left)+";t=") || !strings.Contains(got, `"key";r=`) || !strings.Contains(got, `"address";r=`) {
			t.Errorf("with %d left: RateLimit is %s", left, got)
		}
		if got := r.header.Get("RateLimit-Policy"); !strings.Contains(got, `"session";q=3;w=3000`) {
			t.Errorf("RateLimit-Policy is %s", got)
		}
	}
	before := other.post(whoAmI, nil).header.Get("RateLimit")
	for range 20 {
		wantLimited(t, eager.post(whoAmI, nil), "session")
	}
	// What was refused took nothing from what all share.
	after := other.post(whoAmI, nil)
	wantAnswered(t, "another guest", after)
	if left := keyLeft(t, before) - keyLeft(t, after.header.Get("RateLimit")); left != 1 {
		t.Errorf("20 refused requests and one took %d of the key's", left)
	}
	wantAnswered(t, "an admin", h.admin.post(whoAmI, nil))
	if got := counterOf(t, registry, "holdfast_rate_limited_total", "limit", "session"); got != 20 {
		t.Errorf("the metric counts %g", got)
	}
}

func keyLeft(t *testing.T, header string) int {
	t.Helper()
	_, rest, _ := strings.Cut(header, `"key";r=`)
	digits, _, _ := strings.Cut(rest, ";")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("RateLimit is %s", header)
	}
	return n
}

// Making sessions by the thousand gains nothing: the address is bounded, whatever they are. A partner's
// server is known by its key alone.
func TestAnAddressHasItsLimit(t *testing.T) {
	t.Parallel()
	h, _ := limited(t, graph.RateLimits{Session: slow(100), Address: slow(5)})
	for range 5 {
		wantAnswered(t, "a new session", h.page.post(`mutation { startGuestSession { id } }`, nil))
	}
	wantLimited(t, h.page.post(`mutation { startGuestSession { id } }`, nil), "address")
	wantLimited(t, h.page.post(whoAmI, nil), "address")
	for range 10 {
		wantAnswered(t, "a partner", h.partner.post(whoAmI, nil))
	}
}

func TestKeysHaveTheLimitOfTheirKind(t *testing.T) {
	t.Parallel()
	h, _ := limited(t, graph.RateLimits{Publishable: slow(1), Partner: slow(2), Admin: slow(3)})
	for _, c := range []struct {
		as    client
		burst int
	}{{h.page, 1}, {h.partner, 2}, {h.admin, 3}} {
		for range c.burst {
			wantAnswered(t, "within the limit", c.as.post(whoAmI, nil))
		}
		wantLimited(t, c.as.post(whoAmI, nil), "key")
	}
}

// Who tries keys is refused before the database is asked; a good key at the same address, which is in
// the same office, is refused with it only as long as that lasts.
func TestGuessingKeysHasItsLimit(t *testing.T) {
	t.Parallel()
	h, _ := limited(t, graph.RateLimits{Unknown: slow(4)})
	wantAnswered(t, "a good key", h.page.post(whoAmI, nil))
	guess := h.page
	guess.key = "hfk_live_" + strings.Repeat("0", 64)
	for range 4 {
		if r := guess.post(whoAmI, nil); r.status != http.StatusUnauthorized {
			t.Fatalf("a guess: got %d %s", r.status, r.body)
		}
	}
	wantLimited(t, guess.post(whoAmI, nil), "unknown")
}

// Behind a proxy each buyer has a limit; what a buyer says of itself counts for nothing.
func TestAddressesBehindAProxy(t *testing.T) {
	t.Parallel()
	behind, err := ratelimit.NewAddresses([]string{"127.0.0.0/8", "::1"}, "X-Forwarded-For")
	if err != nil {
		t.Fatal(err)
	}
	h, _ := limited(t, graph.RateLimits{Address: slow(1)}, func(c *graph.Config) { c.Addresses = behind })
	from := func(forwarded string) reply {
		return h.page.send("POST", "", strings.NewReader(`{"query": "{ viewer { keyId } }"}`),
			map[string]string{"Content-Type": "application/json", "X-Forwarded-For": forwarded, "X-Real-Ip": forwarded})
	}
	wantAnswered(t, "a buyer", from("192.0.2.1"))
	wantLimited(t, from("192.0.2.1"), "address")
	wantAnswered(t, "another buyer", from("192.0.2.2"))
	wantLimited(t, from("198.51.100.200, 192.0.2.2"), "address")

	direct, _ := limited(t, graph.RateLimits{Address: slow(1)})
	h = direct
	wantAnswered(t, "without a proxy", from("192.0.2.1"))
	wantLimited(t, from("192.0.2.2"), "address")
}

// What comes over a WebSocket is limited like any other request, and so is a report as a file.
func TestNothingGoesRoundTheLimits(t *testing.T) {
	t.Parallel()
	h, _ := limited(t, graph.RateLimits{Publishable: slow(2), Unknown: slow(1), Admin: slow(1)})
	follow := vars{"query": mapChanged, "variables": vars{"show": h.show}}
	s := h.page.server.socket(t)
	s.send("", "connection_init", vars{"Authorization": "Bearer " + h.page.key})
	if ack, err := s.read(); err != nil || ack.Type != "connection_ack" {
		t.Fatalf("%+v, %v", ack, err)
	}
	for i := range 3 {
		s.send(fmt.Sprint(i), "subscribe", follow)
	}
	for {
		message, err := s.read()
		if err != nil {
			t.Fatal(err)
		}
		if message.Type == "error" {
			if message.ID != "2" || !strings.Contains(string(message.Payload), "RATE_LIMITED") {
				t.Errorf("got %+v", message)
			}
			break
		}
	}
	report := func(as client) reply {
		return as.send(http.MethodGet, "/reports/occupancy.csv?property="+h.property+"&from=2030-03-10&to=2030-03-11", nil, nil)
	}
	if r := report(h.admin); r.status != http.StatusOK {
		t.Errorf("a report: %d %s", r.status, r.body)
	}
	wantLimited(t, report(h.admin), "key")
	guess := h.page.server.client("hfk_live_guess")
	if r := report(guess); r.status != http.StatusUnauthorized {
		t.Errorf("a guess: %d %s", r.status, r.body)
	}
	wantLimited(t, report(guess), "unknown")
	if _, response, err := websocket.Dial(t.Context(), strings.Replace(h.page.server.url, "http", "ws", 1), nil); err == nil || response.StatusCode != http.StatusTooManyRequests { //nolint:bodyclose // the library has read it
		t.Errorf("a socket of who guesses: %v", err)
	}
}

// A client that offers to speak HTTP/2 is answered in what both speak.
func TestAnotherUpgradeIsNotTaken(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	r := h.page.send(http.MethodPost, "", strings.NewReader(`{"query": "{ viewer { keyId } }"}`),
		map[string]string{"Content-Type": "application/json", "Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAAP__"})
	wantAnswered(t, "a client that would speak HTTP/2", r)
}

// stuck is an inventory whose terms, which an admin asks for, take until they are let go.
type stuck struct {
	graph.Inventory
	entered, release chan struct{}
}

func (s stuck) Terms(ctx context.Context, _ tenants.Actor, _ inventory.TermsScope) (inventory.Terms, error) {
	s.entered <- struct{}{}
	select {
	case <-s.release:
	case <-ctx.Done():
	}
	return inventory.Terms{}, ctx.Err()
}

// However many reports hang, buyers buy; a report too many is told to come again.
func TestReportsDoNotStopSales(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	slowest := stuck{entered: make(chan struct{}, 10), release: make(chan struct{})}
	h := newHouse(t, newServer(t, nil))
	s := newServer(t, func(c *graph.Config) {
		slowest.Inventory = c.Inventory
		c.Inventory, c.Metrics = slowest, registry
		c.Lanes = graph.Lanes{BackOffice: 2, BackOfficeQueue: 1, BackOfficeWait: 1 << 40}
	})
	admin, buyer := s.client(h.admin.key), s.client(h.page.key).as(h.guest().session)
	const report = `{ terms { holdSeconds } }`
	occupancy := func() reply {
		return admin.post(`query($id: ID!) { hotel(id: $id) { occupancy(from: "2030-03-10", to: "2030-03-11") { asOf } } }`, vars{"id": h.property})
	}
	wantAnswered(t, "a report while nothing runs", occupancy())
	answers := make(chan reply, 3)
	ask := func() { answers <- admin.post(report, nil) }
	go ask()
	go ask()
	<-slowest.entered
	<-slowest.entered
	// One waits, and one more is refused at once: whichever came second.
	go ask()
	go ask()
	r := <-answers
	if r.status != http.StatusServiceUnavailable || r.Errors[0].code() != "UNAVAILABLE" || r.header.Get("Retry-After") == "" {
		t.Errorf("the report too many: got %d %s", r.status, r.body)
	}
	file := admin.send(http.MethodGet, "/reports/occupancy.csv?property="+h.property+"&from=2030-03-10&to=2030-03-11", nil, nil)
	for what, r := range map[string]reply{"within a hotel": occupancy(), "as a file": file} {
		if r.status != http.StatusServiceUnavailable {
			t.Errorf("a report %s: got %d %s", what, r.status, r.body)
		}
	}
	if got := counterOf(t, registry, "holdfast_lane_refused_total", "lane", "back_office"); got != 3 {
		t.Errorf("the metric counts %g", got)
	}
	wantAnswered(t, "a sale", buyer.post(`mutation($input: PlaceHoldInput!) { placeHold(input: $input) { ... on Hold { id } ... on HoldRefused { code } } }`,
		vars{"input": vars{"requestKey": key(), "lines": []vars{{"pool": vars{"pool": h.standing, "quantity": 1}}}}}))
	// A box office sells with an admin key: that is no report.
	wantAnswered(t, "a sale of the box office", admin.post(`mutation($input: PlaceHoldInput!) { placeHold(input: $input) { ... on Hold { id } ... on HoldRefused { code } } }`,
		vars{"input": vars{"requestKey": key(), "lines": []vars{{"pool": vars{"pool": h.standing, "quantity": 1}}}}}))
	wantAnswered(t, "a page", buyer.post(`query($id: ID!) { show(id: $id) { name } }`, vars{"id": h.show}))
	close(slowest.release)
	for range 3 {
		if r := <-answers; r.status != http.StatusOK {
			t.Errorf("a report: got %d %s", r.status, r.body)
		}
	}
}

// When the buying lane is full, more are refused at once and not kept waiting.
func TestTheBuyingLaneIsBounded(t *testing.T) {
	t.Parallel()
	slowest := stuck{entered: make(chan struct{}, 10), release: make(chan struct{})}
	h := newHouse(t, newServer(t, nil))
	s := newServer(t, func(c *graph.Config) {
		slowest.Inventory = c.Inventory
		c.Inventory = slowest
		c.Lanes = graph.Lanes{Buying: 1}
	})
	// A partner's question about terms is no report.
	answered := make(chan reply)
	go func() { answered <- s.client(h.partner.key).post(`{ terms { holdSeconds } }`, nil) }()
	<-slowest.entered
	page := s.client(h.page.key)
	if r := page.post(whoAmI, nil); r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" {
		t.Errorf("one too many: got %d %s", r.status, r.body)
	}
	wantAnswered(t, "the back office", s.client(h.admin.key).post(whoAmI, nil))
	close(slowest.release)
	<-answered
	wantAnswered(t, "afterwards", page.post(whoAmI, nil))
}

func counterOf(t *testing.T, registry *prometheus.Registry, name, label, value string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, pair := range metric.GetLabel() {
				if pair.GetName() == label && pair.GetValue() == value {
					return metric.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}
