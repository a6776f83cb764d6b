package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/net/netutil"

	"github.com/holdfast/holdfast/graph"
)

func parseLimits(t *testing.T, args ...string) limitFlags {
	t.Helper()
	var c struct{ limitFlags }
	parser, err := kong.New(&c, kong.Vars(limitDefaults()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c.limitFlags
}

func TestServeHasItsLimitsFromTheStart(t *testing.T) {
	t.Parallel()
	flags := parseLimits(t)
	if err := flags.validate(); err != nil {
		t.Fatal(err)
	}
	limits, err := flags.rateLimits()
	if err != nil {
		t.Fatal(err)
	}
	want := graph.DefaultRateLimits()
	if fmt.Sprint(*limits) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", *limits, want)
	}
	for _, args := range [][]string{
		{"--no-rate-limits"},
		{"--rate-session=off", "--rate-address=off", "--rate-unknown=off", "--rate-publishable=off", "--rate-partner=off", "--rate-admin=off", "--rate-platform=off"},
	} {
		if limits, err := parseLimits(t, args...).rateLimits(); limits != nil || err != nil {
			t.Errorf("%v: got %+v, %v", args, limits, err)
		}
	}
	changed, err := parseLimits(t, "--rate-partner=1000/2000", "--trusted-proxies=10.0.0.0/8,192.0.2.1", "--client-address-header=X-Forwarded-For").rateLimits()
	if err != nil || changed.Partner.PerSecond != 1000 || changed.Partner.Burst != 2000 || changed.Session != want.Session {
		t.Errorf("got %+v, %v", changed, err)
	}
}

func TestLimitFlagsNameWhatIsWrong(t *testing.T) {
	t.Parallel()
	for flag, args := range map[string][]string{
		"--rate-session":            {"--rate-session=fast"},
		"--rate-admin":              {"--rate-admin=10"},
		"--rate-callers":            {"--rate-callers=0"},
		"--trusted-proxies":         {"--trusted-proxies=10.0.0.0/8"},
		"--max-connections":         {"--max-connections=0"},
		"--back-office-connections": {"--back-office-connections=32"},
		"--back-office-operations":  {"--back-office-operations=-1"},
		"--back-office-queue":       {"--back-office-queue=0"},
		"--back-office-wait":        {"--back-office-wait=0s"},
		"--buying-operations":       {"--buying-operations=0"},
		"--database-connections":    {"--database-connections=0"},
	} {
		if err := parseLimits(t, args...).validate(); err == nil || !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%v: got %v", args, err)
		}
	}
}

// Clients that send a byte and then nothing, in the header or in the body, are let go, and others are
// served while they hang: also when the slow ones keep every connection that there may be.
func TestSlowClientsAreLetGo(t *testing.T) {
	t.Parallel()
	const slowOnes = 20
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	times := clientTimes{header: 300 * time.Millisecond, request: 600 * time.Millisecond, answer: time.Minute, idle: time.Minute}
	s := serveWithin(times, netutil.LimitListener(listener, slowOnes), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer func() {
		if err := s.close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	var all []net.Conn
	for i := range slowOnes {
		var dialer net.Dialer
		conn, err := dialer.DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		text := "POST /graphql HTTP/1.1\r\nHost: x\r\n"
		if i%2 == 0 {
			text += "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		all = append(all, conn)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("a client beside the slow ones: %v", err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("a client beside the slow ones: got %d, %v", response.StatusCode, err)
	}
	for i, conn := range all {
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the slow client %d still has its connection", i)
		}
	}
}
