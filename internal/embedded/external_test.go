//go:build linux || darwin

package embedded

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Whatever is wrong with a URL, the error names the variable it came from, says
// what was expected, and keeps the password to itself.
func TestBadURL(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	cases := []struct{ url, want string }{
		{"mysql://u:" + secret + "@h/db", `its scheme is "mysql"`},
		{"u:" + secret + "@h/db", "it has no scheme"},
		{"host=h user=u password=" + secret, "it has no scheme"},
		{secret + "@x://h/db", "its scheme is not postgres"},
		{"postgres://u:" + secret + "@/db", "it has no host"},
		{"postgres://u:" + secret + "@h:port/db", "cannot be parsed"},
		{"postgres://u:" + secret + "/@h/db", "cannot be parsed"},
		{"postgres://u:" + secret + "%zz@h/db", "cannot be parsed"},
		{"postgres://u:" + secret + "@h:99999/db", `its port "99999"`},
		{"postgres://u:" + secret + "@h/db#x", "it contains a #"},
		{" postgres://u:" + secret + "@h/db", "white space"},
		{"postgres://u:" + secret + "@h/db?sslmode=perhaps", "sslmode"},
		{"postgres://u@h/db?sslmode=perhaps&password=" + secret, "sslmode"},
	}
	for _, c := range cases {
		_, err := Start(t.Context(), Config{URL: c.url, URLSource: "SOME_VARIABLE"})
		if !errors.Is(err, ErrBadURL) {
			t.Errorf("%s: got %v, want ErrBadURL", c.url, err)
			continue
		}
		for _, want := range []string{"SOME_VARIABLE: ", c.want, "expected postgres://"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", c.url, err, want)
			}
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error shows the password: %v", c.url, err)
		}
	}
	_, err := Start(t.Context(), Config{URL: "x"})
	if err == nil || !strings.HasPrefix(err.Error(), DefaultURLSource+": ") {
		t.Errorf("got %v, want an error that names %s", err, DefaultURLSource)
	}
}

func TestExternalThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	said := &transcript{}
	_, err = Start(t.Context(), Config{
		URL: "postgres://u:hush@" + addr + "/db?sslmode=disable", ReadyTimeout: 100 * time.Millisecond, Progress: said,
	})
	if err == nil || !strings.Contains(err.Error(), addr+"/db") || !strings.Contains(err.Error(), DefaultURLSource) {
		t.Errorf("got %v, want an error that names the variable and %s", err, addr)
	}
	if err != nil && strings.Contains(err.Error(), "hush") {
		t.Errorf("the error shows the password: %v", err)
	}
	said.mustSay(t, "Waiting for the database at "+addr)
}

// An external server is used and left running; a refused password is reported at
// once, however long the wait may be.
func TestExternalServerIsNotStopped(t *testing.T) {
	t.Parallel()
	cfg, _ := postgresConfig(t, "")
	server := mustStart(t, cfg)

	external := mustStart(t, Config{URL: server.URL()})
	if external.Kind() != KindExternal || external.Product() != KindPostgreSQL || external.Version() != server.Version() {
		t.Errorf("got %s, %s %s", external.Kind(), external.Product(), external.Version())
	}
	if external.URL() != server.URL() || external.Started() || external.Done() != nil || external.PID() != 0 {
		t.Error("an external engine must be what was given, and not ours")
	}
	mustClose(t, external)
	if !answers(t, server) {
		t.Error("closing an external engine has stopped the server")
	}

	wrong := strings.Replace(server.URL(), ":"+passwordOf(t, server)+"@", ":wr0ng@", 1)
	begun := time.Now()
	_, err := Start(t.Context(), Config{URL: wrong, ReadyTimeout: time.Hour})
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "28P01" {
		t.Errorf("got %v, want a refused password", err)
	}
	if err != nil && strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("the error shows the password: %v", err)
	}
	if time.Since(begun) > time.Minute {
		t.Error("a refused password was tried again and again")
	}
}

func passwordOf(t *testing.T, e *Engine) string {
	t.Helper()
	secrets := urlSecrets(e.URL())
	if len(secrets) == 0 || len(secrets[0]) < 20 {
		t.Fatal("the engine's URL has no long password")
	}
	return secrets[0]
}
