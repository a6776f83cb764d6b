//go:build linux || darwin

package embedded

import (
	"errors"
	"strings"
	"testing"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	newPostgres := withPostgres(map[string]string{}, "/usr/lib/postgresql/17/bin", "17.1")
	oldPostgres := withPostgres(map[string]string{}, "/usr/lib/postgresql/13/bin", "13.1")
	apt := map[string]string{"apt-get": "/usr/bin/apt-get", "sh": "/bin/sh"}
	aptSudo := map[string]string{"apt-get": "/usr/bin/apt-get", "sh": "/bin/sh", "sudo": "/usr/bin/sudo"}
	cases := []struct {
		name    string
		machine fakeMachine
		config  Config
		// want is the executable; fails are parts of the error, in one line.
		want  string
		fails []string
		ran   string
		said  string
	}{
		{
			name: "CockroachDB by download", machine: fakeMachine{downloads: "/cache/cockroach-v25.4.0", onPath: apt, packages: newPostgres},
			want: "/cache/cockroach-v25.4.0",
		},
		{
			name: "without a download, a package, as root", machine: fakeMachine{onPath: apt, packages: newPostgres},
			want: "/usr/lib/postgresql/17/bin/postgres", ran: "/bin/sh -c", said: "Installing this system's PostgreSQL package with apt-get",
		},
		{
			name: "with sudo that asks for nothing", machine: fakeMachine{euid: 1000, onPath: aptSudo, packages: newPostgres},
			want: "/usr/lib/postgresql/17/bin/postgres", ran: "/usr/bin/sudo -n /bin/sh -c",
		},
		{
			name: "with sudo that asks for a password", machine: fakeMachine{euid: 1000, onPath: aptSudo, packages: newPostgres, failing: []string{"-n true"}},
			fails: []string{"sudo asks for a password", "install PostgreSQL 15 or later", "HOLDFAST_DATABASE_URL"},
		},
		{
			name: "without sudo", machine: fakeMachine{euid: 1000, onPath: apt, packages: newPostgres},
			fails: []string{"there is no sudo", "download: the download server cannot be reached"},
		},
		{
			name: "with dnf", machine: fakeMachine{onPath: map[string]string{"dnf": "/usr/bin/dnf", "sh": "/bin/sh"}, packages: newPostgres},
			want: "/usr/lib/postgresql/17/bin/postgres", ran: "postgresql-server",
		},
		{
			name: "with apk", machine: fakeMachine{onPath: map[string]string{"apk": "/sbin/apk", "sh": "/bin/sh"}, packages: newPostgres},
			want: "/usr/lib/postgresql/17/bin/postgres", ran: "apk add",
		},
		{
			name: "on a Mac nothing is installed", machine: fakeMachine{goos: "darwin", onPath: apt, packages: newPostgres},
			fails: []string{"packages cannot be installed here", "brew install postgresql"},
		},
		{
			name: "a package manager without network", machine: fakeMachine{onPath: apt, failing: []string{"-c"}},
			fails: []string{"apt-get could not install PostgreSQL", "no network", "install PostgreSQL 15 or later"},
		},
		{
			name: "a package that is too old", machine: fakeMachine{onPath: apt, packages: oldPostgres},
			fails: []string{"is PostgreSQL 13.1, older than 15"},
		},
		{
			name: "fetching is switched off", config: Config{NoFetch: true}, machine: fakeMachine{downloads: "/cache/cockroach-v25.4.0", onPath: apt, packages: newPostgres},
			fails: []string{"switched off", "install PostgreSQL 15 or later"},
		},
		{
			name: "only CockroachDB will do", config: Config{Kind: KindCockroachDB}, machine: fakeMachine{onPath: apt, packages: newPostgres},
			fails: []string{"put cockroach on PATH or name it in COCKROACH_BINARY"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := c.machine
			f.installed = map[string]string{}
			if f.goos == "" {
				f.goos = "linux"
			}
			said := &transcript{}
			cfg := c.config
			cfg.Progress = said
			in, err := findOrFetch(t.Context(), f.machine(), cfg.withDefaults(), need{kind: cfg.Kind})
			if c.want != "" {
				if err != nil || in.server != c.want {
					t.Fatalf("got %q, %v, want %q", in.server, err, c.want)
				}
			} else {
				if !errors.Is(err, ErrNoEngine) {
					t.Fatalf("got %q, %v, want ErrNoEngine", in.server, err)
				}
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("the error has more than one line: %v", err)
				}
				for _, part := range c.fails {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q does not say %q", err, part)
					}
				}
			}
			if !strings.Contains(strings.Join(f.ran, "\n"), c.ran) {
				t.Errorf("ran %q, want %q", f.ran, c.ran)
			}
			said.mustSay(t, c.said)
		})
	}
}
