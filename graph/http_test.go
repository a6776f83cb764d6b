package graph_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/graph"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// What is no GraphQL request is answered with an error in GraphQL's form that says what was expected.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	for _, c := range []struct {
		name, method, contentType, body string
		status                          int
		message                         string
	}{
		{"nothing", "POST", "application/json", "", 400, "expected a JSON object, got nothing"},
		{"an array", "POST", "application/json", `[{"query": "{ viewer { keyId } }"}]`, 400, "expected a JSON object, got an array; operations cannot be batched"},
		{"a text", "POST", "application/json", `"query"`, 400, "expected a JSON object, got text"},
		{"a number", "POST", "application/json", `17`, 400, "expected a JSON object, got a number"},
		{"null", "POST", "application/json", `null`, 400, "expected a JSON object, got null"},
		{"true", "POST", "application/json", ` true`, 400, "expected a JSON object, got a boolean"},
		{"half an object", "POST", "application/json", `{"query": "{ viewer`, 400, "the body is not JSON: it ends too early"},
		{"no JSON", "POST", "application/json", `query=x`, 400, "the body is not JSON: invalid character 'q'"},
		{"two objects", "POST", "application/json", `{"query": "{ __typename }"} {}`, 400, "expected one JSON object, got more after it"},
		{"no query", "POST", "application/json", `{}`, 400, "query: expected the text of a GraphQL operation"},
		{"a query of spaces", "POST", "application/json", `{"query": " \n"}`, 400, "query: expected the text of a GraphQL operation"},
		{"a query that is a number", "POST", "application/json", `{"query": 1}`, 400, "query: expected text, got number"},
		{"variables as a list", "POST", "application/json", `{"query": "{ __typename }", "variables": []}`, 400, "variables: expected a JSON object, got an array"},
		{"variables as text", "POST", "application/json", `{"query": "{ __typename }", "variables": "{}"}`, 400, "variables: expected a JSON object, got text"},
		{"extensions as a number", "POST", "application/json", `{"query": "{ __typename }", "extensions": 1}`, 400, "extensions: expected a JSON object, got a number"},
		{"a form", "POST", "application/x-www-form-urlencoded", `query=x`, 415, "Content-Type: expected application/json"},
		{"plain text, as a page of another site could send it", "POST", "text/plain", `{"query": "{ __typename }"}`, 415, "Content-Type: expected application/json"},
		{"no content type", "POST", "", `{"query": "{ __typename }"}`, 415, "Content-Type: expected application/json"},
		{"another charset", "POST", "application/json; charset=latin1", `{"query": "{ __typename }"}`, 415, "Content-Type: expected the charset utf-8"},
		{"PUT", "PUT", "application/json", `{"query": "{ __typename }"}`, 405, "expected a POST with a JSON body, or a GET of a query"},
		{"a query that does not parse", "POST", "application/json", `{"query": "{ viewer {"}`, 400, "Expected Name"},
		{"a field that does not exist", "POST", "application/json", `{"query": "{ shoes }"}`, 400, `Cannot query field "shoes" on type "Query".`},
		{"an argument that is missing", "POST", "application/json", `{"query": "{ show { id } }"}`, 400, `argument "id"`},
		{"an operation that is not there", "POST", "application/json", `{"query": "query A { __typename }", "operationName": "B"}`, 400, "operation B not found"},
	} {
		header := map[string]string{}
		if c.contentType != "" {
			header["Content-Type"] = c.contentType
		}
		r := h.page.send(c.method, "", strings.NewReader(c.body), header)
		if r.status != c.status || len(r.Errors) != 1 || r.Errors[0].code() != "BAD_INPUT" || !strings.Contains(r.Errors[0].Message, c.message) {
			t.Errorf("%s: got %d %s", c.name, r.status, r.body)
		}
		if got := r.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
			t.Errorf("%s: got the content type %q", c.name, got)
		}
		if len(r.body) > 1000 {
			t.Errorf("%s: the answer repeats the request", c.name)
		}
	}
	broken, err := json.Marshal(map[string]string{"query": strings.Repeat("x", 2_000_000)})
	if err != nil {
		t.Fatal(err)
	}
	r := h.page.send("POST", "", strings.NewReader(string(broken)), map[string]string{"Content-Type": "application/json"})
	if r.status != http.StatusRequestEntityTooLarge || !strings.Contains(r.body, "larger than the 1048576 bytes allowed") {
		t.Errorf("2 MB from a page: got %d %.200s", r.status, r.body)
	}
	r = h.admin.send("POST", "", strings.NewReader(string(broken)), map[string]string{"Content-Type": "application/json"})
	if r.status != 400 || !strings.Contains(r.body, "send values as variables") {
		t.Errorf("a query of 2 MB from an admin: got %d %.200s", r.status, r.body)
	}
}

// The real plan of a stadium comes in one request of an admin.
func TestALargePlanIsImported(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	plan := strings.Replace(hallPlan(), `"name": "Hall`, `"name": "`+strings.Repeat(" ", 3<<20)+`Hall`, 1)
	var rejected struct {
		ImportChart struct{ Message string }
	}
	h.admin.get(`mutation($input: ImportChartInput!) { importChart(input: $input) { ... on ChartRejected { message } } }`,
		vars{"input": vars{"requestKey": key(), "venue": h.venue, "plan": plan}}, &rejected)
	if rejected.ImportChart.Message == "" {
		t.Error("a plan of 3 MiB did not arrive")
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	session := h.guest().session
	for _, c := range []struct {
		name, key, session, message string
	}{
		{"none", "", "", "Authorization: expected"},
		{"no key", "secret", "", "got something else"},
		{"a key that is none", "hfk_live_" + strings.Repeat("0", 64), "", "Authorization: no such key"},
		{"a session as a key", session, "", "got the token of a guest session"},
		{"a session that is none", h.page.key, "token", "Holdfast-Session: expected a token"},
		{"a session of another tenant", other.page.key, session, "Holdfast-Session: no such session"},
		{"a session of another channel", h.partner.key, session, "belongs to another channel"},
		{"an admin as a guest", h.admin.key, session, "only a publishable or partner key acts for a guest"},
	} {
		r := s.client(c.key).as(c.session).post(`{ viewer { keyId } }`, nil)
		if r.status != 401 || len(r.Errors) != 1 || r.Errors[0].code() != "UNAUTHENTICATED" || !strings.Contains(r.Errors[0].Message, c.message) ||
			r.header.Get("WWW-Authenticate") == "" || r.Data != nil {
			t.Errorf("%s: got %d %s", c.name, r.status, r.body)
		}
	}
	basic := s.client("").send("POST", "", strings.NewReader(`{"query": "{ __typename }"}`), map[string]string{"Content-Type": "application/json", "Authorization": "Basic eDp5"})
	if basic.status != 401 || !strings.Contains(basic.body, "got another scheme") {
		t.Errorf("basic: got %d %s", basic.status, basic.body)
	}
	for who, as := range map[string]client{"page": h.page, "partner": h.partner, "guest": h.guest()} {
		for _, query := range []string{`{ keys { nodes { id } } }`, `{ tenants { nodes { id } } }`, `{ tenant { id } }`, `{ channels { nodes { id } } }`} {
			if e := as.refused(query, nil); e.code() != "FORBIDDEN" {
				t.Errorf("%s, %s: got %+v", who, query, e)
			}
		}
	}
	if e := h.page.refused(`mutation($input: PlaceHoldInput!) { placeHold(input: $input) { __typename } }`,
		vars{"input": vars{"requestKey": key(), "lines": []vars{{"pool": vars{"pool": h.standing, "quantity": 1}}}}}); e.code() != "FORBIDDEN" || !strings.Contains(e.Message, "Holdfast-Session") {
		t.Errorf("a hold without a session: got %+v", e)
	}
}

func TestGetIsForQueries(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	query := url.Values{"query": {`query($id: ID!) { show(id: $id) { name } }`}, "variables": {`{"id": "` + h.show + `"}`}}
	r := h.page.send("GET", "?"+query.Encode(), nil, nil)
	if r.status != 200 || !strings.Contains(r.body, `"name":"Hamlet, first night"`) {
		t.Errorf("got %d %s", r.status, r.body)
	}
	mutation := url.Values{"query": {`mutation { startGuestSession { id } }`}}
	r = h.page.send("GET", "?"+mutation.Encode(), nil, nil)
	if r.status != 405 || r.Errors[0].code() != "BAD_INPUT" || r.header.Get("Allow") == "" || r.Data != nil {
		t.Errorf("a mutation: got %d %s", r.status, r.body)
	}
	for _, address := range []string{"?query=%zz", "?query={__typename}&variables=[]", "?query={__typename}&extensions=x", "?", "?query="} {
		if r := h.page.send("GET", address, nil, nil); r.status != 400 || r.Errors[0].code() != "BAD_INPUT" {
			t.Errorf("%s: got %d %s", address, r.status, r.body)
		}
	}
}

func TestPersistedQueries(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	const query = `{ viewer { keyType } }`
	sum := sha256.Sum256([]byte(query))
	hash := hex.EncodeToString(sum[:])
	ask := func(text, hash string) reply {
		body := map[string]any{"extensions": vars{"persistedQuery": vars{"version": 1, "sha256Hash": hash}}}
		if text != "" {
			body["query"] = text
		}
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return h.page.send("POST", "", strings.NewReader(string(encoded)), map[string]string{"Content-Type": "application/json"})
	}
	if r := ask("", hash); r.status != 200 || r.Errors[0].code() != "PERSISTED_QUERY_NOT_FOUND" || r.Errors[0].Message != "PersistedQueryNotFound" {
		t.Errorf("before: got %d %s", r.status, r.body)
	}
	if r := ask(query, hash); r.status != 200 || len(r.Errors) != 0 {
		t.Errorf("with its text: got %d %s", r.status, r.body)
	}
	if r := ask("", hash); r.status != 200 || len(r.Errors) != 0 || !strings.Contains(r.body, "PUBLISHABLE") {
		t.Errorf("after: got %d %s", r.status, r.body)
	}
	if r := ask(query, strings.Repeat("0", 64)); r.status != 400 || r.Errors[0].code() != "BAD_INPUT" {
		t.Errorf("another hash: got %d %s", r.status, r.body)
	}
	address := url.Values{"extensions": {`{"persistedQuery": {"version": 1, "sha256Hash": "` + hash + `"}}`}}
	if r := h.page.send("GET", "?"+address.Encode(), nil, nil); r.status != 200 || len(r.Errors) != 0 {
		t.Errorf("by GET: got %d %s", r.status, r.body)
	}
}

// introspection is the query that GraphiQL sends when it opens.
func introspection(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/introspection.graphql")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestIntrospection(t *testing.T) {
	t.Parallel()
	off := newServer(t, nil)
	for _, query := range []string{introspection(t), `{ __schema { types { name } } }`, `{ __type(name: "Show") { name } }`, `{ ...F } fragment F on Query { __schema { types { name } } }`} {
		if e := off.operator.refused(query, nil); e.code() != "FORBIDDEN" || !strings.Contains(e.Message, "introspection is off") {
			t.Errorf("off: got %+v", e)
		}
	}
	if e := off.operator.refused(`{ showz { id } }`, nil); strings.Contains(e.Message, "Did you mean") {
		t.Errorf("off, the schema is told in suggestions: %s", e.Message)
	}
	on := newServer(t, func(c *graph.Config) { c.Introspection, c.MaxDepth, c.MaxCost = true, 3, 50 })
	var answer struct {
		Schema struct {
			Types []struct{ Name string }
		} `json:"__schema"`
	}
	r := on.operator.post(introspection(t), nil)
	if err := json.Unmarshal(r.Data, &answer); err != nil || len(r.Errors) > 0 || len(answer.Schema.Types) < 50 {
		t.Errorf("on: got %d types, %.300s", len(answer.Schema.Types), r.body)
	}
}

func TestLimitsOfOperations(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *graph.Config) { c.MaxDepth, c.MaxCost, c.MaxTokens = 5, 1000, 400 })
	h := newHouse(t, newServer(t, nil))
	page := s.client(h.page.key)
	// 40 fragments, each spreading the next one twice, would be 2^40 fields.
	bomb := "{ ...F0 }"
	for i := range 10 {
		bomb += fmt.Sprintf(" fragment F%d on Query { a%d: viewer { keyId } ...F%d ...F%d }", i, i, i+1, i+1)
	}
	bomb += " fragment F10 on Query { viewer { keyId } }"
	for _, c := range []struct{ name, query, message string }{
		{"too deep", `{ shows { nodes { chart { zones { rows { seats { id } } } } } } }`, "nested 7 deep; at most 5 are allowed"},
		{"too deep in a fragment", `{ shows { nodes { ...C } } } fragment C on Show { chart { zones { rows { seats { id } } } } }`, "nested 7 deep"},
		{"too long a page of dear fields", `{ shows(first: 100) { nodes { seatMap { asOf } } } }`, "at most 1000 is allowed"},
		{"the same under another name", `{ a: shows(first: 30) { nodes { id name pools { id name available } } } b: shows(first: 30) { nodes { id name pools { id name available } } } c: shows(first: 30) { nodes { id name pools { id name available } } } d: shows(first: 30) { nodes { id name pools { id name available } } } e: shows(first: 30) { nodes { id name pools { id name available } } } f: shows(first: 30) { nodes { id name pools { id name available } } } }`, "at most 1000 is allowed"},
		{"a bomb of fragments", bomb, "at most 1000 is allowed"},
		{"too many tokens", "{" + strings.Repeat(" __typename", 500) + " }", "exceeded token limit of 400"},
	} {
		r := page.post(c.query, nil)
		if r.status != 400 || len(r.Errors) != 1 || r.Errors[0].code() != "BAD_INPUT" || !strings.Contains(r.Errors[0].Message, c.message) {
			t.Errorf("%s: got %d %s", c.name, r.status, r.body)
		}
	}
	var answer struct{ Shows struct{ Nodes []created } }
	page.get(`query($first: Int!) { shows(first: $first) { nodes { id } } }`, vars{"first": 100}, &answer)
}

func TestOriginsOfPages(t *testing.T) {
	t.Parallel()
	anyone := newServer(t, nil)
	if r := anyone.client("").send("OPTIONS", "", nil, map[string]string{"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}); r.status != 204 ||
		r.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Holdfast-Session") || r.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("got %d %v", r.status, r.header)
	}
	some := newServer(t, func(c *graph.Config) { c.AllowedOrigins = []string{"https://tickets.example"} })
	if r := some.operator.send("GET", "?query={__typename}", nil, map[string]string{"Origin": "https://tickets.example"}); r.status != 200 ||
		r.header.Get("Access-Control-Allow-Origin") != "https://tickets.example" || r.header.Get("Vary") != "Origin" {
		t.Errorf("an allowed origin: got %d %v", r.status, r.header)
	}
	if r := some.operator.send("GET", "?query={__typename}", nil, map[string]string{"Origin": "https://evil.example"}); r.status != 403 || r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin: got %d %v", r.status, r.header)
	}
	if r := some.operator.send("GET", "?query={__typename}", nil, nil); r.status != 200 {
		t.Errorf("no page at all: got %d %s", r.status, r.body)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	for sent, kept := range map[string]bool{"abc-123": true, "": false, "a b": false, strings.Repeat("x", 65): false, "<script>": false} {
		r := s.operator.send("GET", "?query={__typename}", nil, map[string]string{"X-Request-Id": sent})
		if got := r.header.Get("X-Request-Id"); (got == sent) != kept || got == "" {
			t.Errorf("%q came back as %q", sent, got)
		}
	}
}

// broken is an inventory whose methods fail in ways that they must not.
type broken struct{ graph.Inventory }

func (broken) Terms(context.Context, tenants.Actor, inventory.TermsScope) (inventory.Terms, error) {
	panic("the secret of the house")
}

func (broken) ShowsByID(context.Context, tenants.Actor, []inventory.ShowID) (map[inventory.ShowID]inventory.Show, error) {
	return nil, fmt.Errorf("SELECT secret FROM houses: %w", os.ErrInvalid)
}

// Defects are answered with an id and nothing else; the log tells the rest under that id.
func TestDefectsStayInside(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	log := &logs{}
	s := newServer(t, func(c *graph.Config) { c.Logger, c.Inventory = log.logger(), broken{c.Inventory} })
	admin := s.client(h.admin.key)
	for _, query := range []string{`{ terms { holdSeconds } }`, `{ show(id: "` + h.show + `") { id } }`} {
		r := admin.post(query, nil)
		if r.status != 200 || len(r.Errors) != 1 || r.Errors[0].code() != "INTERNAL" || strings.Contains(r.body, "secret") {
			t.Fatalf("%s: got %d %s", query, r.status, r.body)
		}
		id := text(r.Errors[0].Extensions["errorId"])
		if id == "" || !strings.Contains(log.String(), `"error_id":"`+id+`"`) || !strings.Contains(log.String(), `"request_id":"`+r.header.Get("X-Request-Id")+`"`) {
			t.Errorf("%s: the id %q is not in the log:\n%s", query, id, log)
		}
	}
	if !strings.Contains(log.String(), "the secret of the house") || !strings.Contains(log.String(), "SELECT secret FROM houses") {
		t.Errorf("the log does not tell what happened:\n%s", log)
	}
	// The process serves on.
	var viewer struct{ Viewer struct{ KeyType string } }
	admin.get(`{ viewer { keyType } }`, nil, &viewer)
}

func TestADatabaseThatIsDownIsUnavailable(t *testing.T) {
	t.Parallel()
	down := newWire(t)
	s := serverOn(t, down.open(), nil)
	h := newHouse(t, newServer(t, nil))
	page := s.client(h.page.key)
	var answer struct{ Viewer struct{ KeyType string } }
	page.get(`{ viewer { keyType } }`, nil, &answer)
	down.cut()
	// The key is still remembered: the operation itself meets the database that is down.
	if r := page.post(`{ venues { nodes { id } } }`, nil); len(r.Errors) != 1 || r.Errors[0].code() != "UNAVAILABLE" || r.Errors[0].Extensions["retryAfterMs"] == nil {
		t.Errorf("an operation: got %d %s", r.status, r.body)
	}
	if r := s.client(h.admin.key).post(`{ viewer { keyId } }`, nil); r.status != 503 || len(r.Errors) != 1 || r.Errors[0].code() != "UNAVAILABLE" || r.header.Get("Retry-After") == "" {
		t.Errorf("a key that is not remembered: got %d %s", r.status, r.body)
	}
}

func TestMetricsNameTheRootField(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := newServer(t, func(c *graph.Config) { c.Metrics = registry })
	s.operator.post(`query AnyName { viewer { keyId } }`, nil)
	s.operator.post(`{ show(id: "x") { id } }`, nil)
	s.operator.post(`{ a: viewer { keyId } b: viewer { keyId } }`, nil)
	s.operator.post(`{`, nil)
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, family := range gathered {
		if family.GetName() != "holdfast_graphql_operation_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			got[metric.GetLabel()[0].GetValue()+" "+metric.GetLabel()[1].GetValue()] = true
		}
	}
	for _, want := range []string{"viewer ok", "show bad_input", "several ok", "none bad_input"} {
		if !got[want] {
			t.Errorf("no figures of %q in %v", want, got)
		}
	}
	if _, err := graph.NewHandler(graph.Config{}); err == nil {
		t.Error("a handler without services was made")
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	newServer(t, func(c *graph.Config) {
		for want, change := range map[string]func(*graph.Config){
			"Tenants":        func(c *graph.Config) { c.Tenants = nil },
			"MaxBodyBytes":   func(c *graph.Config) { c.MaxBodyBytes = -1 },
			"MaxCost":        func(c *graph.Config) { c.MaxCost = -1 },
			"MaxDuration":    func(c *graph.Config) { c.MaxDuration = -time.Second },
			"AllowedOrigins": func(c *graph.Config) { c.AllowedOrigins = []string{"tickets.example"} },
		} {
			wrong := *c
			change(&wrong)
			if err := wrong.Validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v", want, err)
			}
		}
		if err := c.Validate(); err != nil {
			t.Errorf("the configuration of the tests: %v", err)
		}
	})
}

// A refusal is an answer and no error, so it is counted by its own code.
func TestRefusalsAreCountedByCode(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := newServer(t, func(c *graph.Config) { c.Metrics = registry })
	h := newHouse(t, s)
	h.build()
	first, second := h.guest(), h.guest()
	wish := vars{"seats": vars{"show": h.show, "seats": []string{h.seats[0]}}}
	held := h.hold(first, wish)
	for range 2 {
		if refused := h.place(second, vars{"requestKey": key(), "lines": []vars{wish}}); refused.Code != "HELD_BY_OTHER" {
			t.Fatalf("not refused: %+v", refused)
		}
	}
	var checkout struct {
		Checkout struct{ Code string }
	}
	first.get(`mutation($input: CheckoutInput!) { checkout(input: $input) { ... on CheckoutRefused { code } } }`, vars{"input": vars{
		"requestKey": key(), "hold": held.ID, "expectedTotal": vars{"amountMinor": 1, "currency": "EUR"},
		"paymentMethod": vars{"token": "tok_approve"}, "contact": vars{"name": "A guest", "email": "guest@example.com"},
	}}, &checkout)
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, family := range gathered {
		if family.GetName() == "holdfast_refusals_total" {
			for _, metric := range family.GetMetric() {
				labels := metric.GetLabel()
				counted[labels[1].GetValue()+" "+labels[0].GetValue()] = metric.GetCounter().GetValue()
			}
		}
	}
	want := map[string]float64{"placeHold HELD_BY_OTHER": 2, "checkout PRICE_CHANGED": 1}
	if !maps.Equal(counted, want) {
		t.Errorf("counted %v, want %v (the checkout says %+v)", counted, want, checkout)
	}
}
