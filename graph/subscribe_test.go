package graph_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/graph"
	"github.com/holdfast/holdfast/internal/ratelimit"
)

const mapChanged = `subscription($show: ID!, $since: String) { seatMapChanged(show: $show, since: $since) { since version asOf packed seats { index seatId status } } }`

// mapChange is one message of mapChanged.
type mapChange struct {
	Since, Packed  *string
	Version, AsOf  string
	SeatMapChanged *mapChange
	Seats          []struct {
		Index          int
		SeatID, Status string
	}
}

// messages is a stream of them, however it comes.
type messages interface {
	// next waits for a message, and is false at the end.
	next() (reply, bool)
}

// screen is the map of a client that applies changes.
type screen struct {
	t        *testing.T
	version  string
	statuses []string
}

// apply reads the next message; a gap is an error.
func (s *screen) apply(from messages, seats int) {
	s.t.Helper()
	message, ok := from.next()
	if !ok || len(message.Errors) > 0 {
		s.t.Fatalf("the stream ended, or failed: %s", message.body)
	}
	var data mapChange
	if err := json.Unmarshal(message.Data, &data); err != nil {
		s.t.Fatal(err)
	}
	change := data.SeatMapChanged
	switch {
	case change.Since == nil:
		s.statuses = unpack(s.t, *change.Packed, seats)
	case *change.Since != s.version:
		s.t.Fatalf("a message leads from %s, the map has %s", *change.Since, s.version)
	}
	for _, seat := range change.Seats {
		s.statuses[seat.Index] = seat.Status
	}
	s.version = change.Version
}

// feed is a stream of Server-Sent Events.
type feed struct {
	t        *testing.T
	response *http.Response
	lines    *bufio.Scanner
}

func (c client) events(query string, variables vars) *feed {
	t := c.server.t.(*testing.T)
	t.Helper()
	body, err := json.Marshal(vars{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.server.url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Authorization": {"Bearer " + c.key}, "Accept": {"text/event-stream"}, "Content-Type": {"application/json"}}
	if c.session != "" {
		request.Header.Set("Holdfast-Session", c.session)
		request.Header.Set("X-Forwarded-For", "192.0.2.7")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return &feed{t: t, response: response, lines: lines}
}

func (e *feed) next() (reply, bool) {
	name := ""
	for e.lines.Scan() {
		field, value, _ := strings.Cut(e.lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			if name == "complete" {
				return reply{}, false
			}
			r := reply{body: value}
			if err := json.Unmarshal([]byte(value), &r); err != nil || name != "next" {
				e.t.Fatalf("the event %s says %s: %v", name, value, err)
			}
			return r, true
		}
	}
	return reply{body: fmt.Sprint(e.lines.Err())}, false
}

// socket is a WebSocket with one subscription.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
}

type socketMessage struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

func (s server) socket(t *testing.T) socket {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(s.url, "http", "ws", 1), &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}}) //nolint:bodyclose // the connection owns it
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return socket{t: t, conn: conn}
}

func (s socket) send(id, kind string, payload any) {
	s.t.Helper()
	encoded, err := json.Marshal(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	message, err := json.Marshal(socketMessage{ID: id, Type: kind, Payload: encoded})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.conn.Write(s.t.Context(), websocket.MessageText, message); err != nil {
		s.t.Fatal(err)
	}
}

func (s socket) read() (socketMessage, error) {
	s.t.Helper()
	_, text, err := s.conn.Read(s.t.Context())
	if err != nil {
		return socketMessage{}, err
	}
	var message socketMessage
	if err := json.Unmarshal(text, &message); err != nil {
		s.t.Fatal(err)
	}
	return message, nil
}

func (s socket) next() (reply, bool) {
	s.t.Helper()
	message, err := s.read()
	switch {
	case err != nil:
		return reply{body: err.Error()}, false
	case message.Type == "complete":
		return reply{}, false
	case message.Type == "error":
		return reply{body: string(message.Payload)}, false
	case message.Type != "next":
		s.t.Fatalf("got %+v", message)
	}
	r := reply{body: string(message.Payload)}
	if err := json.Unmarshal(message.Payload, &r); err != nil {
		s.t.Fatal(err)
	}
	return r, true
}

// open identifies a client and subscribes.
func (c client) socket(query string, variables vars) socket {
	s := c.server.socket(c.server.t.(*testing.T))
	s.send("", "connection_init", vars{"Authorization": "Bearer " + c.key, "Holdfast-Session": c.session})
	if ack, err := s.read(); err != nil || ack.Type != "connection_ack" {
		s.t.Fatalf("the socket answers %+v, %v", ack, err)
	}
	s.send("1", "subscribe", vars{"query": query, "variables": variables})
	return s
}

// Clients over either way, one of them on another process and one that comes back with the version it
// had, show the same map as one that reads the whole.
func TestSubscribersFollowTheMap(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	elsewhere := newServer(t, nil).client(h.page.key)
	seats := len(h.seats)
	first := h.page.ask(mapQuery, vars{"id": h.show}, nil)
	version, statuses := first.packed(t, seats)
	streams := map[string]messages{
		"events":                    h.page.events(mapChanged, vars{"show": h.show}),
		"socket":                    h.page.socket(mapChanged, vars{"show": h.show}),
		"events of another process": elsewhere.events(mapChanged, vars{"show": h.show}),
		"socket with a version":     h.page.socket(mapChanged, vars{"show": h.show, "since": version}),
	}
	screens := map[string]*screen{}
	for name, stream := range streams {
		screens[name] = &screen{t: t, version: version, statuses: append([]string(nil), statuses...)}
		screens[name].apply(stream, seats)
	}
	guest := h.guest()
	held := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": []string{h.seats[1], h.seats[8]}}})
	until := func(want string, at ...int) {
		t.Helper()
		for name, s := range screens {
			for _, seat := range at {
				for s.statuses[seat] != want {
					s.apply(streams[name], seats)
				}
			}
		}
	}
	until("HELD", 1, 8)
	var released struct{ ReleaseHold json.RawMessage }
	guest.get(`mutation($input: ReleaseHoldInput!) { releaseHold(input: $input) { __typename } }`, vars{"input": vars{"requestKey": key(), "hold": held.ID}}, &released)
	until("AVAILABLE", 1, 8)
	// changesSince tells the same to who asks.
	h.hold(guest, vars{"seats": vars{"show": h.show, "seats": []string{h.seats[4]}}})
	var since struct {
		Show struct {
			SeatMap struct{ ChangesSince mapChange }
		}
	}
	guest.get(`query($id: ID!, $version: String!) { show(id: $id) { seatMap { changesSince(version: $version) { since version packed seats { index seatId status } } } } }`,
		vars{"id": h.show, "version": screens["socket"].version}, &since)
	change := since.Show.SeatMap.ChangesSince
	if change.Since == nil || change.Packed != nil || len(change.Seats) != 1 || change.Seats[0].Index != 4 || change.Seats[0].SeatID != h.seats[4] || change.Seats[0].Status != "HELD" {
		t.Errorf("after one hold the changes are %+v", change)
	}
	until("HELD", 4)
}

// A guest follows their hold to its end, and nobody else can.
func TestSubscribersFollowTheirHold(t *testing.T) {
	t.Parallel()
	const changed = `subscription($hold: ID!) { holdChanged(hold: $hold) { id state version lines { unit { show { name } seat { label } } } } }`
	s := newServer(t, nil)
	h := newHouse(t, s)
	guest := h.guest()
	hold := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": h.seats[:2]}})
	streams := []messages{guest.events(changed, vars{"hold": hold.ID}), guest.socket(changed, vars{"hold": hold.ID}), h.admin.socket(changed, vars{"hold": hold.ID})}
	read := func(stream messages) (state string, version int64, ok bool) {
		t.Helper()
		message, ok := stream.next()
		if !ok {
			return message.body, 0, false
		}
		var data struct {
			HoldChanged struct {
				State   string
				Version int64
			}
		}
		if err := json.Unmarshal(message.Data, &data); err != nil || len(message.Errors) > 0 {
			t.Fatalf("%v: %s", err, message.body)
		}
		return data.HoldChanged.State, data.HoldChanged.Version, true
	}
	var versions [3]int64
	for i, stream := range streams {
		state, version, ok := read(stream)
		if state != "ACTIVE" || !ok {
			t.Fatalf("the first message says %s", state)
		}
		versions[i] = version
	}
	var released struct{ ReleaseHold json.RawMessage }
	guest.get(`mutation($input: ReleaseHoldInput!) { releaseHold(input: $input) { __typename } }`, vars{"input": vars{"requestKey": key(), "hold": hold.ID}}, &released)
	for i, stream := range streams {
		if state, version, ok := read(stream); state != "RELEASED" || version <= versions[i] || !ok {
			t.Errorf("after the release: %s in version %d, was %d", state, version, versions[i])
		}
		if why, _, more := read(stream); more || why != "" {
			t.Errorf("after the end: %s", why)
		}
	}
	// Others, and other tenants, are answered as for an id that never was.
	live := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": h.seats[3:4]}})
	other := newHouse(t, s)
	for who, c := range map[string]client{"another guest": h.guest(), "the page": h.page, "a partner": h.partner, "another tenant": other.admin} {
		for form, ask := range map[string]func(id string) string{
			"events": func(id string) string { return body(t, c.events(changed, vars{"hold": id}).response.Body) },
			"socket": func(id string) string { r, _ := c.socket(changed, vars{"hold": id}).next(); return r.body },
		} {
			theirs, nobodys := ask(live.ID), ask(randomID(live.ID))
			if theirs != nobodys || !strings.Contains(theirs, "NOT_FOUND") && !strings.Contains(theirs, "FORBIDDEN") || strings.Contains(theirs, "state") {
				t.Errorf("%s over %s: %s, for nobody's %s", who, form, theirs, nobodys)
			}
		}
	}
	for form, text := range map[string]string{
		"another tenant's show": body(t, other.page.events(mapChanged, vars{"show": h.show}).response.Body),
		"no show":               body(t, other.page.events(mapChanged, vars{"show": randomID(h.show)}).response.Body),
	} {
		if !strings.Contains(text, "NOT_FOUND") || strings.Contains(text, "packed") {
			t.Errorf("%s: %s", form, text)
		}
	}
}

func body(t *testing.T, from io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What a client does wrong is told under the id of its subscription, or closes the socket with the
// code of the protocol.
func TestSocketsAreClosedWithAReason(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	identify := func(s socket) {
		s.send("", "connection_init", vars{"Authorization": "Bearer " + h.page.key})
		if ack, err := s.read(); err != nil || ack.Type != "connection_ack" {
			t.Fatalf("%+v, %v", ack, err)
		}
	}
	follow := vars{"query": mapChanged, "variables": vars{"show": h.show}}
	for name, c := range map[string]struct {
		act  func(s socket)
		code websocket.StatusCode
		says string
	}{
		"no key":            {func(s socket) { s.send("", "connection_init", nil) }, 4403, "Authorization"},
		"a wrong key":       {func(s socket) { s.send("", "connection_init", vars{"Authorization": "Bearer nothing"}) }, 4403, "key"},
		"a number as key":   {func(s socket) { s.send("", "connection_init", vars{"Authorization": 1}) }, 4400, "as text"},
		"not identified":    {func(s socket) { s.send("1", "subscribe", follow) }, 4401, "connection_init"},
		"identified twice":  {func(s socket) { identify(s); s.send("", "connection_init", nil) }, 4429, "too many"},
		"an unknown type":   {func(s socket) { identify(s); s.send("", "start", nil) }, 4400, "expected"},
		"no id":             {func(s socket) { identify(s); s.send("", "subscribe", follow) }, 4400, "id"},
		"a payload of text": {func(s socket) { identify(s); s.send("1", "subscribe", "x") }, 4400, "payload"},
		"an id twice":       {func(s socket) { identify(s); s.send("1", "subscribe", follow); s.send("1", "subscribe", follow) }, 4409, "already exists"},
		"no JSON":           {func(s socket) { _ = s.conn.Write(t.Context(), websocket.MessageText, []byte("{")) }, 4400, "JSON"},
		"too much":          {func(s socket) { _ = s.conn.Write(t.Context(), websocket.MessageText, make([]byte, 400<<10)) }, websocket.StatusMessageTooBig, ""},
	} {
		s := h.server.socket(t)
		c.act(s)
		var err error
		for err == nil {
			_, err = s.read()
		}
		var closed websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != c.code || !strings.Contains(closed.Reason, c.says) {
			t.Errorf("%s: closed with %v, want %d %q", name, err, c.code, c.says)
		}
	}
	if _, response, err := websocket.Dial(t.Context(), strings.Replace(h.server.url, "http", "ws", 1), nil); err == nil { //nolint:bodyclose // of a 101
		if response.StatusCode != http.StatusSwitchingProtocols {
			t.Errorf("without a subprotocol: %d", response.StatusCode)
		}
	}
	s := h.server.socket(t)
	identify(s)
	s.send("", "ping", nil)
	if pong, err := s.read(); err != nil || pong.Type != "pong" {
		t.Errorf("a ping is answered with %+v, %v", pong, err)
	}
	for what, c := range map[string]struct {
		payload vars
		code    string
	}{
		"a query":             {vars{"query": `{ viewer { keyId } }`}, "BAD_INPUT"},
		"a mutation":          {vars{"query": `mutation { startGuestSession { token } }`}, "BAD_INPUT"},
		"no operation":        {vars{"query": ``}, "BAD_INPUT"},
		"a syntax error":      {vars{"query": `subscription {`}, "BAD_INPUT"},
		"two fields":          {vars{"query": `subscription($s: ID!) { a: seatMapChanged(show: $s) { version } b: seatMapChanged(show: $s) { version } }`, "variables": vars{"s": h.show}}, "BAD_INPUT"},
		"no field":            {vars{"query": `subscription { __typename }`}, "BAD_INPUT"},
		"a version of no map": {vars{"query": mapChanged, "variables": vars{"show": h.show, "since": "latest"}}, "BAD_INPUT"},
		"an id of a hold":     {vars{"query": mapChanged, "variables": vars{"show": strings.Replace(h.show, "show_", "hold_", 1)}}, "BAD_INPUT"},
	} {
		s.send(what, "subscribe", c.payload)
		if answer, err := s.read(); err != nil || answer.Type != "error" || answer.ID != what || !strings.Contains(string(answer.Payload), c.code) {
			t.Errorf("%s is answered with %s %s, %v", what, answer.Type, answer.Payload, err)
		}
	}
	// The socket serves on, and an id is free after its end.
	for range 3 {
		s.send("again", "subscribe", follow)
		if r, ok := s.next(); !ok {
			t.Fatalf("got %s", r.body)
		}
		s.send("again", "complete", nil)
		s.send("", "ping", nil)
		for {
			message, err := s.read()
			if err != nil {
				t.Fatal(err)
			}
			if message.Type == "pong" {
				break
			}
		}
	}
	// Over HTTP without a stream it is refused.
	if r := h.page.post(mapChanged, vars{"show": h.show}); r.status != http.StatusNotAcceptable || len(r.Errors) != 1 || !strings.Contains(r.body, "text/event-stream") {
		t.Errorf("a subscription as a plain POST: %d %s", r.status, r.body)
	}
}

// Subscribers are bounded in all, by key and by address, and told when the server stops.
func TestSubscribersAreBoundedAndTold(t *testing.T) {
	t.Parallel()
	streams := graph.NewStreams()
	registry := prometheus.NewRegistry()
	h := newHouse(t, newServer(t, func(c *graph.Config) {
		c.Streams, c.Metrics = streams, registry
		c.MaxSubscribers, c.MaxSubscriptionsPerKey, c.MaxSubscribersPerAddress = 5, 2, 4
		// Guests of these tests come from another address, as a proxy would say it.
		var err error
		if c.Addresses, err = ratelimit.NewAddresses([]string{"127.0.0.0/8", "::1"}, "X-Forwarded-For"); err != nil {
			t.Fatal(err)
		}
	}))
	one := h.page.events(mapChanged, vars{"show": h.show})
	two := h.page.socket(mapChanged, vars{"show": h.show})
	for _, stream := range []messages{one, two} {
		if r, ok := stream.next(); !ok {
			t.Fatalf("got %s", r.body)
		}
	}
	if r, ok := h.page.socket(mapChanged, vars{"show": h.show}).next(); ok || !strings.Contains(r.body, "RATE_LIMITED") || !strings.Contains(r.body, "this key") {
		t.Errorf("a third with the key: %s", r.body)
	}
	three := h.partner.socket(mapChanged, vars{"show": h.show})
	if r, ok := three.next(); !ok {
		t.Fatalf("with another key: %s", r.body)
	}
	if text := body(t, h.partner.events(mapChanged, vars{"show": h.show}).response.Body); !strings.Contains(text, "this address") {
		t.Errorf("a fifth from the address: %s", text)
	}
	guest := h.guest()
	if text := body(t, guest.events(mapChanged, vars{"show": h.show}).response.Body); !strings.Contains(text, "this key") {
		t.Errorf("from another address: %s", text)
	}
	if n := figures(t, registry, "holdfast_subscriptions")[""]; n != 3 {
		t.Errorf("%v subscriptions are counted", n)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		streams.End(ctx)
	}()
	for {
		r, ok := one.next()
		if !ok {
			t.Errorf("the events ended without a word: %s", r.body)
			break
		}
		if len(r.Errors) > 0 {
			if r.Errors[0].code() != "UNAVAILABLE" || !strings.Contains(r.body, "stopping") {
				t.Errorf("the events end with %s", r.body)
			}
			break
		}
	}
	if _, ok := one.next(); ok {
		t.Error("the events go on")
	}
	for _, stream := range []socket{two, three} {
		var err error
		for err == nil {
			_, err = stream.read()
		}
		if websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("a socket ends with %v", err)
		}
	}
	<-ended
	if text := body(t, h.page.events(mapChanged, vars{"show": h.show}).response.Body); !strings.Contains(text, "stopping") {
		t.Errorf("after the end: %s", text)
	}
	if n := figures(t, registry, "holdfast_subscriptions_ended_total")["stopping"]; n != 3 {
		t.Errorf("%v ends are counted as the server's: %v", n, figures(t, registry, "holdfast_subscriptions_ended_total"))
	}
}
