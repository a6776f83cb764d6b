package graph_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	graphql "github.com/vektah/gqlparser/v2/ast"
)

// R73: what comes as a stream or as a file is guarded as the operations of the walk are: about another
// tenant's ids it says what it says of ids that never existed, whoever asks.
func TestForeignStreamsAndFilesAreAnsweredLikeRandomOnes(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	own, guest := h.ids()
	foreign, _ := other.ids()
	before := digest(t, other.tenant)
	for who, as := range h.everybody(guest) {
		for name, ask := range streamsAndFiles(t, as, own) {
			for _, kind := range []string{"show", "hold", "prop"} {
				theirs, nobodys := ask(kind, foreign[kind]), ask(kind, randomID(foreign[kind]))
				if theirs != nobodys {
					t.Errorf("%s, %s of a %s:\nanother's: %s\nnobody's:  %s", who, name, kind, theirs, nobodys)
				}
				if strings.Contains(theirs, "INTERNAL") || !strings.Contains(theirs, `"errors"`) && theirs != "" {
					t.Errorf("%s, %s of a %s is answered with %s", who, name, kind, theirs)
				}
			}
		}
	}
	if after := digest(t, other.tenant); after != before {
		t.Errorf("rows of the other tenant have changed:\n%s\nwere\n%s", after, before)
	}
	// The same questions about what is the tenant's own are answered, so that the ones above prove something.
	for name, ask := range streamsAndFiles(t, h.admin, own) {
		kind := "prop"
		switch name {
		case "seatMapChanged":
			kind = "show"
		case "holdChanged":
			kind = "hold"
		}
		if answer := ask(kind, own[kind]); answer == "" || strings.Contains(answer, `"errors"`) {
			t.Errorf("%s of the own %s: %s", name, kind, answer)
		}
	}
}

// streamsAndFiles ask for the first message of each subscription and for each report, about an id of some
// kind; where it takes none of that kind the answer is "".
func streamsAndFiles(t *testing.T, as client, own map[string]string) map[string]func(kind, id string) string {
	t.Helper()
	asks := map[string]func(kind, id string) string{}
	for _, field := range schema().Subscription.Fields {
		asks[field.Name] = func(kind, id string) string {
			for _, argument := range field.Arguments {
				if idKinds()[argument.Name] != kind {
					continue
				}
				p := place{operation: graphql.Subscription, field: field, path: argument.Name, kind: kind}
				f := filler{schema: schema(), own: own, chosen: p.path, id: id}
				return as.firstEvent(t, operation(f.schema, p), f.variables(p))
			}
			return ""
		}
	}
	for name, query := range map[string]url.Values{
		"occupancy.csv":    {"from": {"2030-03-10"}, "to": {"2030-03-12"}},
		"compensation.csv": {"from": {"2030-03-10"}, "to": {"2030-03-12"}},
		"pickup.csv":       {"from": {"2030-03-10"}, "to": {"2030-03-12"}, "since": {"2026-01-01T00:00:00Z"}, "until": {"2026-02-01T00:00:00Z"}},
	} {
		asks[name] = func(kind, id string) string {
			if kind != "prop" {
				return ""
			}
			query.Set("property", id)
			return as.send(http.MethodGet, "/reports/"+name+"?"+query.Encode(), nil, nil).body
		}
	}
	return asks
}

// firstEvent is the first message of a subscription, or the answer that it is refused with.
func (c client) firstEvent(t *testing.T, query string, variables vars) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body, err := json.Marshal(vars{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server.url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Authorization": {"Bearer " + c.key}, "Accept": {"text/event-stream"}, "Content-Type": {"application/json"}}
	for name, value := range map[string]string{"Holdfast-Session": c.session, "Holdfast-Tenant": c.tenant} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		whole, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(whole)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return data
		}
	}
	t.Fatalf("the stream of %s ended without a message: %v", query, lines.Err())
	return ""
}
