package graph_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/graph"
)

// ask sends a query in the address.
func (c client) ask(query string, variables vars, header map[string]string) reply {
	c.server.t.Helper()
	return c.send(http.MethodGet, address(query, variables), nil, header)
}

func address(query string, variables vars) string {
	encoded, _ := json.Marshal(variables)
	return "?" + url.Values{"query": {query}, "variables": {string(encoded)}}.Encode()
}

const mapQuery = `query($id: ID!) { show(id: $id) { seatMap { asOf version packed } } }`

// packedMap is what mapQuery answers.
type packedMap struct {
	Show struct {
		SeatMap struct{ AsOf, Version, Packed string }
	}
}

// unpack reads the statuses as docs/browsing.md says.
func unpack(t *testing.T, packed string, seats int) []string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		t.Fatal(err)
	}
	statuses := make([]string, seats)
	for i := range statuses {
		statuses[i] = []string{"AVAILABLE", "HELD", "BOOKED", "BLOCKED"}[raw[i>>2]>>(2*(i&3))&3]
	}
	return statuses
}

func (r reply) packed(t *testing.T, seats int) (version string, statuses []string) {
	t.Helper()
	var answer packedMap
	if len(r.Errors) > 0 {
		t.Fatalf("got %s", r.body)
	}
	if err := json.Unmarshal(r.Data, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Show.SeatMap.Version, unpack(t, answer.Show.SeatMap.Packed, seats)
}

// oldAnswers lets answers be as old as a test wants, so that only a change renews them.
func oldAnswers(c *graph.Config) { c.MaxAnswerAge = time.Hour }

// figures are the values of a counter or gauge by its label, or by "" without one.
func figures(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range gathered {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			label := ""
			if labels := metric.GetLabel(); len(labels) > 0 {
				label = labels[0].GetValue()
			}
			values[label] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// Two hundred readers at once are one execution, and a reader later is none.
func TestManyReadersAreOneExecution(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	count := newWire(t)
	registry := prometheus.NewRegistry()
	s := serverOn(t, count.open(), func(c *graph.Config) {
		oldAnswers(c)
		c.Metrics = registry
		// So long that all have come before the execution has read anything.
		c.BatchWait = 300 * time.Millisecond
	})
	page := s.client(h.page.key)
	page.get(`{ viewer { keyId } }`, nil, &struct{ Viewer struct{ KeyID string } }{}) // the key is known from now on
	before := count.statements.Load()
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if r := page.ask(mapQuery, vars{"id": h.show}, nil); r.status != http.StatusOK || len(r.Errors) > 0 {
				t.Errorf("got %d %s", r.status, r.body)
			}
		})
	}
	all.Wait()
	first := count.statements.Load() - before
	page.ask(mapQuery, vars{"id": h.show}, nil)
	// The show, the chart, and a transaction with the seats: once.
	if total := count.statements.Load() - before; first > 30 || total != first {
		t.Errorf("200 readers cost %d statements, one more %d", first, total-first)
	}
	served := figures(t, registry, "holdfast_public_answers_total")
	if served["miss"] != 1 || served["hit"]+served["shared"] != 200 {
		t.Errorf("the answers are counted as %v", served)
	}
	if n := figures(t, registry, "holdfast_map_age_seconds")[""]; n != 201 {
		t.Errorf("the age of the map was noted %v times", n)
	}
	if figures(t, registry, "holdfast_public_answer_bytes")[""] == 0 || figures(t, registry, "holdfast_public_answers")[""] != 1 {
		t.Error("the memory of answers is not told")
	}
}

// What is changed through this process is seen long before the answer would be too old, and an answer
// whose state still is true is not sent again.
func TestAChangeRenewsTheAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, oldAnswers))
	first := h.page.ask(mapQuery, vars{"id": h.show}, nil)
	version, statuses := first.packed(t, len(h.seats))
	for i, status := range statuses {
		if status != "AVAILABLE" {
			t.Errorf("seat %d is %s", i, status)
		}
	}
	etag := first.header.Get("ETag")
	if etag == "" || !strings.HasPrefix(first.header.Get("Cache-Control"), "public, max-age=") || !strings.Contains(first.header.Get("Vary"), "Authorization") {
		t.Errorf("the first answer has %v", first.header)
	}
	for _, header := range []string{etag, `"other", ` + etag, "*", strings.TrimPrefix(etag, "W/")} {
		if r := h.page.ask(mapQuery, vars{"id": h.show}, map[string]string{"If-None-Match": header}); r.status != http.StatusNotModified || r.body != "" || r.header.Get("ETag") != etag {
			t.Errorf("If-None-Match: %s is answered with %d %s", header, r.status, r.body)
		}
	}
	guest := h.guest() // changes nothing that is shown, but is a mutation
	held := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": []string{h.seats[7], h.seats[2]}}})
	var now reply
	for now.status = http.StatusNotModified; now.status == http.StatusNotModified; {
		now = h.page.ask(mapQuery, vars{"id": h.show}, map[string]string{"If-None-Match": etag})
	}
	changed, statuses := now.packed(t, len(h.seats))
	if statuses[7] != "HELD" || statuses[2] != "HELD" || statuses[0] != "AVAILABLE" || changed == version {
		t.Errorf("after a hold of %v the map is %v, version %s", held.Lines, statuses, changed)
	}
	// The same state at another time has another asOf and the same tag.
	renewed := now
	for renewed.body == now.body {
		h.guest()
		renewed = h.page.ask(mapQuery, vars{"id": h.show}, nil)
	}
	if renewed.header.Get("ETag") != now.header.Get("ETag") {
		t.Errorf("the tag of %s is %s, of %s it is %s", now.body, now.header.Get("ETag"), renewed.body, renewed.header.Get("ETag"))
	}
	// Unless a client calls something else asOf: then that may be what changes.
	const named = `query($id: ID!) { show(id: $id) { asOf: state seatMap { version } } }`
	open := h.page.ask(named, vars{"id": h.show}, nil)
	var closed struct{ SetShowState created }
	h.admin.get(`mutation($input: SetShowStateInput!) { setShowState(input: $input) { id } }`, vars{"input": vars{"show": h.show, "state": "CLOSED"}}, &closed)
	for now = open; now.body == open.body; {
		now = h.page.ask(named, vars{"id": h.show}, map[string]string{"If-None-Match": "nothing"})
	}
	if now.header.Get("ETag") == open.header.Get("ETag") {
		t.Error("a show that was closed has the same tag")
	}
}

// Answers go to nobody but the channel and key that they were made for, and what is anybody's own is
// never kept.
func TestAnswersGoToNobodyElse(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := newServer(t, func(c *graph.Config) {
		oldAnswers(c)
		c.Metrics = registry
	})
	h, other := newHouse(t, s), newHouse(t, s)
	mine := h.page.ask(mapQuery, vars{"id": h.show}, nil)
	mine.packed(t, len(h.seats))
	theirs, nobodys := other.page.ask(mapQuery, vars{"id": h.show}, nil), other.page.ask(mapQuery, vars{"id": randomID(h.show)}, nil)
	if theirs.body != nobodys.body || theirs.status != nobodys.status || theirs.header.Get("ETag") != "" || theirs.header.Get("Cache-Control") != "no-store" {
		t.Errorf("another tenant is answered %s with %v, for nobody's id %s", theirs.body, theirs.header, nobodys.body)
	}
	if r := s.client("").ask(mapQuery, vars{"id": h.show}, nil); r.status != http.StatusUnauthorized || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("without a key the answer is %d %s", r.status, r.body)
	}
	// A seat of another channel's block is blocked, for each channel but that one.
	second := h.channel("Second shop", "OWN_SITE")
	secondPage := s.client(h.key("PUBLISHABLE", second))
	seen := func(c client) string {
		_, statuses := c.ask(`query($id: ID!) { show(id: $id) { seatMap { packed version } } }`, vars{"id": h.show}, nil).packed(t, len(h.seats))
		return statuses[3]
	}
	h.block(h.seats[3], second)
	for seen(h.page) != "BLOCKED" {
		h.guest() // whatever is changed through the process renews its answers
	}
	if theirs := seen(secondPage); theirs != "AVAILABLE" {
		t.Errorf("the seat is %s for the channel that it is kept for", theirs)
	}
	// Sessions, partners and admins are answered at present, and nothing of theirs may be kept on the way.
	guest := h.guest()
	hold := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": []string{h.seats[0]}}})
	for who, r := range map[string]reply{
		"a guest":             guest.ask(mapQuery, vars{"id": h.show}, nil),
		"a partner":           h.partner.ask(mapQuery, vars{"id": h.show}, nil),
		"an admin":            h.admin.ask(mapQuery, vars{"id": h.show}, nil),
		"a guest's hold":      guest.ask(`query($id: ID!) { hold(id: $id) { id } }`, vars{"id": hold.ID}, nil),
		"a viewer":            h.page.ask(`{ viewer { keyId } }`, nil, nil),
		"a node":              h.page.ask(`query($id: ID!) { node(id: $id) { id } }`, vars{"id": h.show}, nil),
		"a hold in fragments": h.page.ask(`query($id: ID!, $show: ID!) { show(id: $show) { id } ...F } fragment F on Query { hold(id: $id) { id } }`, vars{"id": hold.ID, "show": h.show}, nil),
	} {
		if r.header.Get("Cache-Control") != "no-store" || r.header.Get("ETag") != "" {
			t.Errorf("%s is answered with %v: %s", who, r.header, r.body)
		}
	}
	if _, statuses := guest.ask(mapQuery, vars{"id": h.show}, nil).packed(t, len(h.seats)); statuses[0] != "HELD" {
		t.Errorf("a guest sees the seat that they hold as %s", statuses[0])
	}
	// Refusals and mistakes are asked again each time.
	before := figures(t, registry, "holdfast_public_answers")[""]
	for range 3 {
		h.page.ask(mapQuery, vars{"id": randomID(h.show)}, nil)
		h.page.ask(mapQuery, vars{"id": 17}, nil)
		h.page.ask(`{ nothing }`, nil, nil)
	}
	if after := figures(t, registry, "holdfast_public_answers")[""]; after != before {
		t.Errorf("%v answers were kept, and %v after mistakes", before, after)
	}
}

// The text is compressed once, for who takes it.
func TestAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, oldAnswers))
	const query = `query($id: ID!) { show(id: $id) { seatMap { seats { status seat { label zone row number category } } } } }`
	plain := h.page.ask(query, vars{"id": h.show}, map[string]string{"Accept-Encoding": "identity"})
	for accept, want := range map[string]string{"gzip": "gzip", "br, gzip;q=0.5": "gzip", "gzip;q=0": "", "gzip; q=0": "", "br": "", "*": "gzip"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.server.url+address(query, vars{"id": h.show}), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+h.page.key)
		request.Header.Set("Accept-Encoding", accept)
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := response.Header.Get("Content-Encoding"); got != want || response.ContentLength != int64(len(body)) {
			t.Errorf("Accept-Encoding: %s is answered with %q", accept, got)
			continue
		}
		if want != "" {
			if len(body) > len(plain.body)/2 {
				t.Errorf("%d bytes became %d", len(plain.body), len(body))
			}
			reader, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(reader); err != nil {
				t.Fatal(err)
			}
		}
		if string(body) != plain.body {
			t.Errorf("Accept-Encoding: %s gives another text", accept)
		}
	}
}

// Questions without end fill no more than the bound, and do not push out what many ask.
func TestQuestionsWithoutEndDoNotFillTheCache(t *testing.T) {
	t.Parallel()
	const bound = 100 << 10
	registry := prometheus.NewRegistry()
	h := newHouse(t, newServer(t, func(c *graph.Config) {
		oldAnswers(c)
		c.MaxAnswerBytes = bound
		c.Metrics = registry
	}))
	hot := func() { h.page.ask(mapQuery, vars{"id": h.show}, nil) }
	hot()
	for i := range 300 {
		// Each is sound, different, and public.
		h.page.ask(fmt.Sprintf(`query($first: Int!, $from: DateTime) { shows(first: $first, from: $from) { nodes { a%d: id name } } }`, i),
			vars{"first": 1 + i%100, "from": fmt.Sprintf("2029-01-01T00:00:%02dZ", i%60)}, nil)
		hot()
	}
	counted := figures(t, registry, "holdfast_public_answers_total")
	if bytes := figures(t, registry, "holdfast_public_answer_bytes")[""]; bytes > bound || bytes == 0 {
		t.Errorf("%v bytes are kept, allowed are %d", bytes, bound)
	}
	if counted["not_kept"] == 0 || counted["hit"] < 300 {
		t.Errorf("the answers are counted as %v", counted)
	}
	// One question in many forms is one answer.
	kept := figures(t, registry, "holdfast_public_answers")[""]
	for i := range 50 {
		h.page.ask(strings.Replace(mapQuery, "{", "{"+strings.Repeat(" ", i+1)+"# "+fmt.Sprint(i)+"\n", 1), vars{"id": h.show, "unused": i}, nil)
	}
	if after := figures(t, registry, "holdfast_public_answers")[""]; after != kept {
		t.Errorf("one question in fifty forms made %v answers of %v", after, kept)
	}
}

// Another process has changed the show: the answer is as old as the bound at most.
func TestAnswersGrowOldWithoutBeingTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	elsewhere := newServer(t, func(c *graph.Config) { c.MaxAnswerAge = 300 * time.Millisecond }).client(h.page.key)
	elsewhere.ask(mapQuery, vars{"id": h.show}, nil)
	h.hold(h.guest(), vars{"seats": vars{"show": h.show, "seats": []string{h.seats[4]}}})
	for {
		if _, statuses := elsewhere.ask(mapQuery, vars{"id": h.show}, nil).packed(t, len(h.seats)); statuses[4] == "HELD" {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("the other process never shows the hold")
		}
	}
}

// A persisted query is public, too, also when the hash is all that the client sends.
func TestPersistedQuestionsAreKept(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	h := newHouse(t, newServer(t, func(c *graph.Config) {
		oldAnswers(c)
		c.Metrics = registry
	}))
	extensions := url.Values{"extensions": {`{"persistedQuery":{"version":1,"sha256Hash":"` + fmt.Sprintf("%x", sha256.Sum256([]byte(mapQuery))) + `"}}`}}.Encode()
	byHash := "?" + extensions + "&" + url.Values{"variables": {`{"id":"` + h.show + `"}`}}.Encode()
	if r := h.page.send(http.MethodGet, byHash, nil, nil); len(r.Errors) != 1 || r.Errors[0].code() != "PERSISTED_QUERY_NOT_FOUND" || r.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("a hash that nobody knows: %s", r.body)
	}
	h.page.send(http.MethodGet, address(mapQuery, vars{"id": h.show})+"&"+extensions, nil, nil).packed(t, len(h.seats))
	for range 3 {
		h.page.send(http.MethodGet, byHash, nil, nil).packed(t, len(h.seats))
	}
	if counted := figures(t, registry, "holdfast_public_answers_total"); counted["hit"] != 3 || counted["miss"] != 1 {
		t.Errorf("the answers are counted as %v", counted)
	}
}

// block keeps a seat for a channel.
func (h *house) block(seat, channel string) {
	h.server.t.Helper()
	var made struct{ CreateSeatBlock any }
	h.admin.get(`mutation($input: CreateSeatBlockInput!) { createSeatBlock(input: $input) { __typename } }`,
		vars{"input": vars{"requestKey": key(), "show": h.show, "channel": channel, "seats": vars{"seats": []string{seat}}}}, &made)
}
