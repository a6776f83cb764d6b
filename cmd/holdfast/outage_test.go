package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/embedded"
	"github.com/holdfast/holdfast/tenants"
)

// TestRequestsSayUnavailableWhileTheDatabaseIsDown stops the database under a server and starts it
// again: the process stays up, says that it is not ready, answers UNAVAILABLE, and recovers.
func TestRequestsSayUnavailableWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	config := embedded.Config{DataDir: t.TempDir(), NoFetch: true}
	engine, err := embedded.Start(ctx, config)
	if err != nil {
		t.Skipf("this test stops a database of its own, and none can be started here: %v", err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	target, err := createDatabase(ctx, engine.URL(), databaseName)
	if err != nil {
		t.Fatal(err)
	}
	s, err := openStore(ctx, target, "", nil, discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close(ctx) })
	if err := s.migrate(ctx, discard()); err != nil {
		t.Fatal(err)
	}
	a, err := newApp(ctx, s, nil, discard(), appSettings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	key, err := tenants.BootstrapPlatformKey(ctx, s.db, "outage")
	if err != nil {
		t.Fatal(err)
	}
	handler, err := a.handler(httpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := bind(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := serveOn(listener, handler)
	t.Cleanup(func() { _ = web.close(ctx) })

	const query = `{"query":"{ tenants(first: 1) { nodes { id } } }"}`
	if status, body := call(t, http.MethodPost, web.url+"/graphql", key, query); status != http.StatusOK || strings.Contains(body, "errors") {
		t.Fatalf("before the outage: %d %s", status, body)
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	if status, body := call(t, http.MethodGet, web.url+"/readyz", "", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "the database does not answer") {
		t.Errorf("during the outage /readyz says %d %s", status, body)
	}
	if status, _ := call(t, http.MethodGet, web.url+"/healthz", "", ""); status != http.StatusOK {
		t.Errorf("during the outage /healthz says %d", status)
	}
	_, body := call(t, http.MethodPost, web.url+"/graphql", key, query)
	if !strings.Contains(body, "UNAVAILABLE") || strings.Contains(strings.ToUpper(body), "SELECT") || strings.Contains(body, "127.0.0.1") {
		t.Errorf("during the outage a request is answered with %s", body)
	}

	engine, err = embedded.Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	eventually(t, "the server serves again", func() bool {
		_, body := call(t, http.MethodPost, web.url+"/graphql", key, query)
		return !strings.Contains(body, "errors")
	})
	if status, _ := call(t, http.MethodGet, web.url+"/readyz", "", ""); status != http.StatusOK {
		t.Errorf("after the outage, %s later, /readyz says %d", time.Since(began), status)
	}
}
