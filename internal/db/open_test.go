package db_test

import (
	"context"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
)

// secret is a password that no message may contain, nor a piece of it.
const secret = "hush-Tr0ub4dor"

func TestOpenNamesTheSettingAndKeepsThePassword(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		url    string
		reason string
	}{
		"empty":            {"", "expected a URL such as postgres://"},
		"other scheme":     {"mysql://u:" + secret + "@localhost/db", "expected a URL such as postgres://"},
		"key=value":        {"host=localhost password=" + secret, "expected a URL such as postgres://"},
		"slash":            {"postgres://u:" + secret + "/x@localhost:5432/db", "percent-encoded"},
		"question mark":    {"postgres://u:" + secret + "?x@" + closedPort(t) + "/db", ""},
		"hash":             {"postgres://u:" + secret + "#x@" + closedPort(t) + "/db", ""},
		"percent":          {"postgres://u:%zz" + secret + "@localhost:5432/db", "percent-encoded"},
		"port":             {"postgres://u:" + secret + "@localhost:many/db", "percent-encoded"},
		"sslmode":          {"postgres://u:" + secret + "@localhost/db?sslmode=perhaps", "sslmode is invalid"},
		"certificate":      {"postgres://u:" + secret + "@localhost/db?sslmode=verify-full&sslrootcert=/nowhere/ca.pem", "/nowhere/ca.pem"},
		"closed port":      {"postgres://u:" + secret + "@" + closedPort(t) + "/db?sslmode=disable", "connection refused"},
		"unknown host":     {"postgres://u:" + secret + "@no-such-host.invalid/db?sslmode=disable", "no-such-host.invalid"},
		"silent server":    {"postgres://u:" + secret + "@" + silentServer(t) + "/db?sslmode=disable", "timeout"},
		"not a database":   {"postgres://u:" + secret + "@" + otherServer(t) + "/db?sslmode=disable", ""},
		"password in form": {"postgres://u@" + closedPort(t) + "/db?sslmode=disable&password=" + secret, "connection refused"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := patience
			if name == "silent server" {
				timeout = 100 * time.Millisecond
			}
			wantRefusedURL(t, c.url, c.reason, timeout)
		})
	}
}

func TestOpenOnTheEngineItself(t *testing.T) {
	t.Parallel()
	engine := dbtest.Open(t).Engine()
	change := func(edit func(u *url.URL)) string {
		u, err := url.Parse(dbtest.URL(t))
		if err != nil {
			t.Fatal("the database URL cannot be parsed")
		}
		edit(u)
		return u.String()
	}
	t.Run("wrong password", func(t *testing.T) {
		t.Parallel()
		if engine == db.EngineCockroachDB {
			t.Skip("an insecure CockroachDB asks for no password")
		}
		wantRefusedURL(t, change(func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), secret) }), "password authentication failed", patience)
	})
	t.Run("unknown database", func(t *testing.T) {
		t.Parallel()
		if engine == db.EngineCockroachDB {
			t.Skip("CockroachDB lets clients into databases that do not exist; RequireVersion refuses them")
		}
		wantRefusedURL(t, change(func(u *url.URL) { u.Path = "/no_such_database" }), `database "no_such_database" does not exist`, patience)
	})
}

func wantRefusedURL(t *testing.T, address, reason string, timeout time.Duration) {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: address, URLSource: "THE_SETTING", ConnectTimeout: timeout})
	if err == nil {
		d.Close()
		t.Fatal("Open succeeded")
	}
	message := err.Error()
	if !strings.Contains(message, "THE_SETTING") || !strings.Contains(message, reason) {
		t.Errorf("message %q, want it to name the setting and say %q", message, reason)
	}
	for _, piece := range []string{secret, "Tr0ub4dor", "SELECT", "\n"} {
		if strings.Contains(message, piece) {
			t.Errorf("message %q contains %q", message, piece)
		}
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d, err := db.Open(ctx, db.Config{URL: dbtest.URL(t)})
	if err == nil {
		d.Close()
		t.Error("Open succeeded")
	}
}

func TestOpenFindsOutTheEngine(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	prefix := map[db.Engine]string{db.EngineCockroachDB: "CockroachDB v", db.EnginePostgreSQL: "PostgreSQL 1"}[d.Engine()]
	if prefix == "" || !strings.HasPrefix(d.Version(), prefix) {
		t.Errorf("engine %q, version %q", d.Engine(), d.Version())
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]db.Config{
		"HOLDFAST_DATABASE_URL": {},
		"FLAG":                  {URLSource: "FLAG"},
		"MaxConnections":        {URL: "postgres://h/db", MaxConnections: 10_001},
		"ConnectTimeout":        {URL: "postgres://h/db", ConnectTimeout: -time.Second},
	} {
		if err := config.Validate(); err == nil || !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("Validate: %v, want a message about %s", err, want)
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func closedPort(t *testing.T) string {
	t.Helper()
	listener := listen(t)
	_ = listener.Close()
	return listener.Addr().String()
}

// silentServer takes connections, as a stopped process does, and never answers.
func silentServer(t *testing.T) string { t.Helper(); return listen(t).Addr().String() }

// otherServer speaks another protocol.
func otherServer(t *testing.T) string {
	t.Helper()
	listener := listen(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}
