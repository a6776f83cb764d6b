package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/dbtest"
)

// devRun is `holdfast dev` on a port and data directory of its own.
type devRun struct {
	url  string
	out  *lockedBuffer
	stop context.CancelFunc
	done chan error
}

type lockedBuffer struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.text.String()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func startDev(t *testing.T, dataDir, databaseURL string) *devRun {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	address := freeAddress(t)
	run := &devRun{url: "http://" + address, out: &lockedBuffer{}, stop: stop, done: make(chan error, 1)}
	root := &cli{DatabaseURL: databaseURL, DataDir: dataDir, LogLevel: "warn"}
	go func() { run.done <- (&devCommand{Listen: address, out: run.out}).Run(ctx, root) }()
	t.Cleanup(func() { run.end(t) })
	eventually(t, "the server is ready", func() bool {
		select {
		case err := <-run.done:
			run.done <- err
			t.Fatalf("dev ended: %v\n%s", err, run.out)
		default:
		}
		return strings.Contains(run.out.String(), "Ctrl-C stops everything")
	})
	return run
}

func (r *devRun) end(t *testing.T) {
	t.Helper()
	r.stop()
	select {
	case err := <-r.done:
		r.done <- err
		if err != nil {
			t.Errorf("dev did not end well: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("dev did not end within a minute")
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !condition() {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func call(t *testing.T, method, url, key, body string) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}

// TestDevServesThePastedQueryAndKeepsItsData is the first minute of a newcomer.
func TestDevServesThePastedQueryAndKeepsItsData(t *testing.T) {
	t.Parallel()
	databaseURL := dbtest.Create(t)
	dataDir := filepath.Join(t.TempDir(), "data")
	first := startDev(t, dataDir, databaseURL)
	pasted := regexp.MustCompile(`Bearer (hfp_\S+)' \\\n\s+-d '(.*)'`).FindStringSubmatch(first.out.String())
	if pasted == nil {
		t.Fatalf("there is no query to paste in\n%s", first.out)
	}
	status, body := call(t, http.MethodPost, first.url+"/graphql", pasted[1], pasted[2])
	var answer struct {
		Errors []json.RawMessage
		Data   struct {
			Shows  struct{ Nodes []json.RawMessage }
			Hotels struct{ Nodes []json.RawMessage }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	if status != http.StatusOK || len(answer.Errors) > 0 || len(answer.Data.Shows.Nodes) != 3 || len(answer.Data.Hotels.Nodes) != 5 {
		t.Errorf("the pasted query was answered with %d: %s", status, body)
	}
	if status, body := call(t, http.MethodGet, first.url+"/explorer/", "", ""); status != http.StatusOK || !strings.Contains(body, "<html") {
		t.Errorf("the explorer is not served: %d", status)
	}
	if status, body := call(t, http.MethodGet, first.url+"/metrics", "", ""); status != http.StatusOK || !strings.Contains(body, "holdfast_transaction_seconds") {
		t.Errorf("the metrics lack the transactions: %d", status)
	}
	info, err := os.Stat(filepath.Join(dataDir, devStateFile))
	if err != nil || info.Mode().Perm() != privateFile {
		t.Errorf("the file with the keys: %v, %v", info, err)
	}
	if state, err := readDevState(dataDir); err != nil || state.DatabaseURL == "" || databaseURL != "" && state.DatabaseURL != databaseURL {
		t.Errorf("the file does not say where the database is: %v", err)
	}
	first.end(t)

	second := startDev(t, dataDir, databaseURL)
	if !strings.Contains(second.out.String(), pasted[1]) {
		t.Error("after a restart the keys are others")
	}
	if status, body := call(t, http.MethodPost, second.url+"/graphql", pasted[1], pasted[2]); status != http.StatusOK || strings.Contains(body, `"errors"`) {
		t.Errorf("after a restart the query was answered with %d: %s", status, body)
	}
}

// TestBadCommandLines are mistakes of a person at a terminal.
func TestBadCommandLines(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no command":          {},
		"an unknown command":  {"sell"},
		"an unknown flag":     {"audit", "--everything"},
		"a bad log level":     {"--log-level", "loud", "audit"},
		"a bad survival goal": {"regions", "plan", "--survive", "luck"},
		"no length of time":   {"work", "--archive-after", "a week"},
	} {
		if code := run(t.Context(), args); code != 2 {
			t.Errorf("%s: exit %d, want 2", name, code)
		}
	}
	for name, args := range map[string][]string{
		"no database to serve": {"serve"},
		"a bad database URL":   {"--database-url", "mysql://localhost", "audit"},
		"a bad version":        {"--database-url", dbtest.URL(t), "migrate", "latest"},
		"a time in the future": {"--database-url", dbtest.URL(t), "work", "--archive-after=-1h"},
		"a bad tenant":         {"--database-url", dbtest.URL(t), "audit", "--tenant", "book_eu_x"},
	} {
		if code := run(t.Context(), args); code != 1 {
			t.Errorf("%s: exit %d, want 1", name, code)
		}
	}
}
