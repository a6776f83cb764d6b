package graph_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/admission"
	"github.com/holdfast/holdfast/admission/proofofwork"
	"github.com/holdfast/holdfast/graph"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/policies"
)

const roomFields = `{ showId state opensAt admitsFrom closesAt ratePerMinute grantSeconds holdsPerGrant verifier opening waiting statusPath }`

type shownRoom struct {
	ShowID, State, OpensAt, AdmitsFrom, ClosesAt, StatusPath string
	RatePerMinute, GrantSeconds, HoldsPerGrant               int
	Opening, Waiting                                         int
	Verifier                                                 *string
}

// openRoom opens a room that has been open for a minute and calls ten thousand visitors a second.
func (h *house) openRoom(change vars) shownRoom {
	h.server.t.Helper()
	input := vars{
		"requestKey": key(), "show": h.show, "opensAt": time.Now().Add(-time.Minute).Format(time.RFC3339), "closesAt": time.Now().Add(time.Hour).Format(time.RFC3339),
		"windowSeconds": 0, "ratePerMinute": 600000,
	}
	for name, value := range change {
		input[name] = value
	}
	var answer struct{ OpenWaitingRoom shownRoom }
	h.admin.get(`mutation($input: OpenWaitingRoomInput!) { openWaitingRoom(input: $input) `+roomFields+` }`, vars{"input": input}, &answer)
	return answer.OpenWaitingRoom
}

type joined struct {
	Typename                         string `json:"__typename"`
	Token, StatusPath, Code, Message string
	Visitor, Verifier, Challenge     *string
	Order                            int64
	Opening                          int
	RetryAfterMs                     *int
	Place                            *placed
	ID, ShowID, IssuedAt, ExpiresAt  string
	HoldsLeft                        int
	State                            string
	Called                           bool
	Position                         int
	EstimatedSeconds                 *int
	AsOf                             string
}

type placed struct {
	State            string
	Called           bool
	Position         int
	EstimatedSeconds *int
	AsOf             string
}

const (
	placeFields   = `state called position estimatedSeconds asOf`
	refusedFields = `... on WaitingRoomRefused { code message retryAfterMs verifier challenge visitor }`
)

func join(as client, input vars) joined {
	var answer struct{ JoinWaitingRoom joined }
	as.get(`mutation($input: JoinWaitingRoomInput!) { joinWaitingRoom(input: $input) { __typename ... on WaitingRoomTicket { token visitor order opening statusPath place { `+placeFields+` } } `+refusedFields+` } }`,
		vars{"input": input}, &answer)
	return answer.JoinWaitingRoom
}

func placeOf(as client, token string) joined {
	var answer struct{ WaitingRoomPlace joined }
	as.get(`query($token: String!) { waitingRoomPlace(token: $token) { __typename ... on WaitingRoomPlace { `+placeFields+` } `+refusedFields+` } }`, vars{"token": token}, &answer)
	return answer.WaitingRoomPlace
}

func admit(as client, token string) joined {
	var answer struct{ AdmitVisitor joined }
	as.get(`mutation($input: AdmitVisitorInput!) { admitVisitor(input: $input) { __typename ... on AdmissionGrant { id showId issuedAt expiresAt holdsLeft } `+refusedFields+` } }`,
		vars{"input": vars{"token": token}}, &answer)
	return answer.AdmitVisitor
}

// comeIn joins the room of the house's show and waits until the guest is let in.
func (h *house) comeIn(guest client) string {
	t := h.server.t
	t.Helper()
	ticket := join(guest, vars{"show": h.show})
	var grant joined
	soon(t, func() bool {
		grant = admit(guest, ticket.Token)
		return grant.Code != "NOT_YOUR_TURN"
	})
	if grant.Typename != "AdmissionGrant" {
		t.Fatalf("the guest is not let in: %+v", grant)
	}
	return grant.ID
}

// soon waits until something is so.
func soon(t testing.TB, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !so() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatal("it did not become so in time")
		}
	}
}

// A visitor joins without a session, waits with the public document, comes in with a session of their
// own, and holds once.
func TestFromTheWaitingRoomToAHold(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	room := h.openRoom(vars{})
	if room.ShowID != h.show || room.State != "ADMITTING" || room.Opening != 1 || room.HoldsPerGrant != 1 || room.GrantSeconds != 600 || room.RatePerMinute != 600000 {
		t.Errorf("the room is %+v", room)
	}
	guest := h.guest()
	input := vars{"requestKey": key(), "lines": []vars{{"pool": vars{"pool": h.standing, "quantity": 1}}}}
	if refused := h.place(guest, input); refused.Code != "ADMISSION_REQUIRED" {
		t.Fatalf("without a grant: %+v", refused)
	}
	visitor := "a-visitor-of-this-test-0001"
	ticket := join(h.page, vars{"show": h.show, "visitor": visitor})
	if ticket.Visitor == nil || *ticket.Visitor != visitor || ticket.Place == nil {
		t.Fatalf("joined: %+v", ticket)
	}
	again := join(h.page, vars{"show": h.show, "visitor": visitor})
	if again.Order < ticket.Order {
		t.Errorf("joining again is order %d, before it was %d", again.Order, ticket.Order)
	}
	soon(t, func() bool { return placeOf(h.page, ticket.Token).Called })
	grant := admit(guest, ticket.Token)
	if grant.Typename != "AdmissionGrant" || grant.HoldsLeft != 1 || grant.ShowID != h.show {
		t.Fatalf("admitted: %+v", grant)
	}
	if other := admit(h.guest(), ticket.Token); other.Code != "ADMISSION_USED" {
		t.Errorf("another guest with the same ticket: %+v", other)
	}
	input["grant"] = grant.ID
	held := h.place(guest, input)
	if held.ID == "" {
		t.Fatalf("with a grant: %+v", held)
	}
	if same := h.place(guest, input); same.ID != held.ID {
		t.Errorf("the same request again: %+v", same)
	}
	input["requestKey"] = key()
	if refused := h.place(guest, input); refused.Code != "ADMISSION_REQUIRED" {
		t.Errorf("with a grant that is used up: %+v", refused)
	}
	if forged := placeOf(h.page, ticket.Token+"A"); forged.Code != "ADMISSION_TOKEN_INVALID" {
		t.Errorf("a forged token: %+v", forged)
	}
}

// The seller steers the room while it sells, and what does not fit is refused by field.
func TestARoomIsSteeredWhileItSells(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	h.openRoom(vars{})
	update := func(change vars) (room shownRoom) {
		change["show"] = h.show
		var answer struct{ UpdateWaitingRoom shownRoom }
		h.admin.get(`mutation($input: UpdateWaitingRoomInput!) { updateWaitingRoom(input: $input) `+roomFields+` }`, vars{"input": change}, &answer)
		return answer.UpdateWaitingRoom
	}
	guest := h.guest()
	ticket := join(guest, vars{"show": h.show})
	if room := update(vars{"paused": true, "ratePerMinute": 30}); room.State != "PAUSED" || room.RatePerMinute != 30 {
		t.Errorf("paused: %+v", room)
	}
	if refused := admit(guest, ticket.Token); refused.Code != "WAITING_ROOM_PAUSED" || refused.RetryAfterMs == nil {
		t.Errorf("while it is paused: %+v", refused)
	}
	if late := join(h.guest(), vars{"show": h.show}); late.Typename != "WaitingRoomTicket" || late.Place.State != "PAUSED" || late.Place.EstimatedSeconds != nil {
		t.Errorf("joined while it is paused: %+v", late)
	}
	if room := update(vars{"paused": false, "ratePerMinute": 600000}); room.State != "ADMITTING" {
		t.Errorf("resumed: %+v", room)
	}
	h.comeIn(guest)
	for field, input := range map[string]vars{
		"input.ratePerMinute": {"ratePerMinute": 0}, "input.grantSeconds": {"grantSeconds": 9}, "input.holdsPerGrant": {"holdsPerGrant": 21},
		"input.closesAt": {"closesAt": "2001-01-01T00:00:00Z"}, "input.verifier": {"verifier": "crystal ball"},
	} {
		input["show"] = h.show
		if e := h.admin.refused(`mutation($input: UpdateWaitingRoomInput!) { updateWaitingRoom(input: $input) { state } }`, vars{"input": input}); e.code() != "BAD_INPUT" || e.field() != field {
			t.Errorf("%s: %+v", field, e)
		}
	}
	if e := h.admin.refused(`mutation($input: UpdateWaitingRoomInput!) { updateWaitingRoom(input: $input) { state } }`,
		vars{"input": vars{"show": h.show, "windowSeconds": 60}}); e.code() != "CONFLICT" {
		t.Errorf("the window of an open room: %+v", e)
	}
	for range 2 {
		var answer struct{ CloseWaitingRoom shownRoom }
		h.admin.get(`mutation($show: ID!) { closeWaitingRoom(show: $show) `+roomFields+` }`, vars{"show": h.show}, &answer)
		if answer.CloseWaitingRoom.State != "CLOSED" {
			t.Errorf("closed: %+v", answer)
		}
	}
	if refused := join(h.guest(), vars{"show": h.show}); refused.Code != "WAITING_ROOM_CLOSED" {
		t.Errorf("after it closed: %+v", refused)
	}
	// Without a room the sale is open to all.
	h.hold(h.guest(), vars{"pool": vars{"pool": h.standing, "quantity": 1}})
	// It may be opened again, with nobody in it: tickets of before are good no more.
	if room := h.openRoom(vars{"opensAt": time.Now().Add(time.Hour).Format(time.RFC3339), "closesAt": time.Now().Add(2 * time.Hour).Format(time.RFC3339)}); room.Opening != 2 || room.State != "SCHEDULED" {
		t.Errorf("opened again: %+v", room)
	}
	if refused := admit(guest, ticket.Token); refused.Code != "ADMISSION_TOKEN_INVALID" {
		t.Errorf("a ticket of the first opening: %+v", refused)
	}
	if refused := join(h.guest(), vars{"show": h.show}); refused.Code != "WAITING_ROOM_NOT_OPEN" || refused.RetryAfterMs == nil {
		t.Errorf("before it opens: %+v", refused)
	}
}

// A room may ask for a proof before it gives a place; package proofofwork is one that needs no service.
func TestAPlaceIsPaidWithWork(t *testing.T) {
	t.Parallel()
	// So much work that another visitor's is not good by chance.
	work, err := proofofwork.New(20)
	if err != nil {
		t.Fatal(err)
	}
	rooms := roomsWith(t, admission.Config{Tick: 20 * time.Millisecond, Flush: 10 * time.Millisecond, Settle: 60 * time.Millisecond, Verifiers: []admission.Verifier{work}})
	h := newHouse(t, newServer(t, func(c *graph.Config) { c.Admission = rooms }))
	h.openRoom(vars{"verifier": "proof-of-work"})
	asked := join(h.page, vars{"show": h.show})
	if asked.Code != "VERIFICATION_REQUIRED" || asked.Challenge == nil || asked.Visitor == nil || asked.Verifier == nil || *asked.Verifier != "proof-of-work" {
		t.Fatalf("asked: %+v", asked)
	}
	proof, err := proofofwork.Solve(t.Context(), *asked.Challenge)
	if err != nil {
		t.Fatal(err)
	}
	if ticket := join(h.page, vars{"show": h.show, "visitor": *asked.Visitor, "proof": proof}); ticket.Typename != "WaitingRoomTicket" {
		t.Errorf("with the work done: %+v", ticket)
	}
	// Another visitor's work is nobody's.
	another := join(h.page, vars{"show": h.show})
	if another.Visitor == nil || *another.Visitor == *asked.Visitor {
		t.Fatalf("asked once more: %+v", another)
	}
	if other := join(h.page, vars{"show": h.show, "visitor": *another.Visitor, "proof": proof}); other.Code != "VERIFICATION_REQUIRED" {
		t.Errorf("with another's work: %+v", other)
	}
}

func roomsWith(t *testing.T, config admission.Config) *admission.Service {
	t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := admission.NewService(dbtest.Open(t), enforcer, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rooms.Close)
	return rooms
}

// The public document needs no key, is the same for all, and may be kept for a second; a made-up
// address finds nothing.
func TestTheDocumentOfARoomIsForEverybody(t *testing.T) {
	t.Parallel()
	// The document is as old as this test, so that its bytes stay the same.
	rooms := roomsWith(t, admission.Config{Tick: time.Hour, Flush: time.Hour, Settle: 24 * time.Hour})
	h := newHouse(t, newServer(t, func(c *graph.Config) { c.Admission = rooms }))
	room := h.openRoom(vars{})
	ticket := join(h.page, vars{"show": h.show})
	mux := http.NewServeMux()
	mux.Handle("GET /waiting-rooms/{address}", graph.NewWaitingRoomHandler(rooms))
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	read := func(path, etag string) (*http.Response, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if etag != "" {
			request.Header.Set("If-None-Match", etag)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(body)
	}
	if ticket.StatusPath != room.StatusPath {
		t.Errorf("the visitor is told %s, the page %s", ticket.StatusPath, room.StatusPath)
	}
	response, body := read(ticket.StatusPath, "")
	var document struct {
		Show, State, AsOf, OpensAt, AdmitsFrom, ClosesAt string
		RatePerMinute, Opening, Watermark, Waiting       int64
		Line                                             [][2]int64
	}
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Cache-Control") != "public, max-age=1" || response.Header.Get("Content-Type") != "application/json" ||
		document.Show != h.show || document.State != "ADMITTING" || len(body) > 4096 {
		t.Errorf("%d %v\n%s", response.StatusCode, response.Header, body)
	}
	again, same := read(ticket.StatusPath, "")
	known, nothing := read(ticket.StatusPath, `"another", W/`+response.Header.Get("ETag"))
	if same != body || again.Header.Get("ETag") != response.Header.Get("ETag") || known.StatusCode != http.StatusNotModified || nothing != "" {
		t.Errorf("read again: %s; by its name: %d %s", same, known.StatusCode, nothing)
	}
	for _, path := range []string{"/waiting-rooms/hfw1_AAAA", "/waiting-rooms/x", ticket.StatusPath + "A", "/waiting-rooms/" + ticket.Token} {
		if response, body := read(path, ""); response.StatusCode != http.StatusNotFound || strings.Contains(body, "sql") {
			t.Errorf("%s: %d %s", path, response.StatusCode, body)
		}
	}
}
