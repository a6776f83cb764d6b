//go:build linux || darwin

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeMachine is a computer that has the executables of installed, by path, each
// with what it prints about its version.
type fakeMachine struct {
	installed map[string]string
	// onPath maps a name to the path that PATH leads to.
	onPath map[string]string
	env    map[string]string
	euid   int
	goos   string

	downloads string
	// packages is what a package manager brings, by path.
	packages map[string]string
	// ran is every command, without those that ask for a version.
	ran []string
	// failing names commands that fail.
	failing []string
}

func (f *fakeMachine) machine() machine {
	return machine{
		goos: f.goos, goarch: "amd64", euid: f.euid,
		getenv: func(name string) string { return f.env[name] },
		lookPath: func(name string) (string, error) {
			if p, ok := f.onPath[name]; ok {
				return p, nil
			}
			if _, ok := f.installed[name]; ok && strings.Contains(name, "/") {
				return name, nil
			}
			return "", fmt.Errorf("%s: %w", name, os.ErrNotExist)
		},
		glob: func(pattern string) []string {
			var found []string
			for p := range f.installed {
				dir := filepath.Dir(p)
				if ok, err := filepath.Match(pattern, dir); err == nil && ok && !slices.Contains(found, dir) {
					found = append(found, dir)
				}
			}
			slices.Sort(found)
			return found
		},
		resolve: func(path string) (string, error) { return path, nil },
		run:     f.run,
		download: func(context.Context, string, func(string, ...any)) (string, error) {
			if f.downloads == "" {
				return "", errors.New("the download server cannot be reached")
			}
			f.installed[f.downloads] = cockroachSays("v25.4.0")
			return f.downloads, nil
		},
	}
}

func (f *fakeMachine) run(_ context.Context, in invocation) (string, error) {
	says, isServer := f.installed[in.path]
	if isServer {
		if says == "" {
			return "", errors.New("exec format error")
		}
		return says, nil
	}
	line := strings.Join(append([]string{in.path}, in.args...), " ")
	f.ran = append(f.ran, line)
	for _, part := range f.failing {
		if strings.Contains(line, part) {
			return "", errors.New("exit status 100: no network")
		}
	}
	if strings.Contains(line, "install") || strings.Contains(line, "apk add") {
		for p, says := range f.packages {
			f.installed[p] = says
		}
	}
	return "", nil
}

func cockroachSays(tag string) string {
	return "Build Tag:        " + tag + "\nBuild Time:       2021/09/20\n"
}

func postgresSays(version string) string { return "postgres (PostgreSQL) " + version + "\n" }

// withPostgres adds a server and its initdb.
func withPostgres(m map[string]string, dir, version string) map[string]string {
	m[dir+"/postgres"], m[dir+"/initdb"] = postgresSays(version), "initdb"
	return m
}

func TestFindOrder(t *testing.T) {
	t.Parallel()
	all := func() map[string]string {
		m := map[string]string{
			"/opt/crdb":              cockroachSays("v21.1.21"),
			"/usr/bin/cockroach":     cockroachSays("v25.4.1"),
			"/opt/broken":            "",
			"/opt/other":             "something else 1.0",
			"/usr/lib/lonely/pg":     "",
			"/srv/nowhere/cockroach": cockroachSays("v1"),
		}
		withPostgres(m, "/usr/lib/postgresql/9.6/bin", "9.6.24")
		withPostgres(m, "/usr/lib/postgresql/15/bin", "15.14 (Debian 15.14-0+deb12u1)")
		withPostgres(m, "/usr/pgsql-17/bin", "17beta1")
		withPostgres(m, "/opt/homebrew/opt/postgresql@16/bin", "16.3 (Homebrew)")
		withPostgres(m, "/Applications/Postgres.app/Contents/Versions/14/bin", "14.1")
		withPostgres(m, "/usr/local/bin", "15.2")
		withPostgres(m, "/old/bin", "12.9")
		return m
	}
	cases := []struct {
		name   string
		onPath map[string]string
		env    string
		need   need
		want   string
		fails  string
	}{
		{name: "the named CockroachDB wins", onPath: map[string]string{"cockroach": "/usr/bin/cockroach", "postgres": "/usr/local/bin/postgres"}, env: "/opt/crdb", want: "/opt/crdb 21.1.21"},
		{name: "then CockroachDB on PATH", onPath: map[string]string{"cockroach": "/usr/bin/cockroach", "postgres": "/usr/local/bin/postgres"}, want: "/usr/bin/cockroach 25.4.1"},
		{name: "then PostgreSQL on PATH", onPath: map[string]string{"postgres": "/usr/local/bin/postgres"}, want: "/usr/local/bin/postgres 15.2"},
		{name: "then the newest of the usual places", want: "/usr/pgsql-17/bin/postgres 17beta1"},
		{name: "an old PostgreSQL on PATH is passed over", onPath: map[string]string{"postgres": "/old/bin/postgres"}, want: "/usr/pgsql-17/bin/postgres 17beta1"},
		{name: "a CockroachDB that does not run is passed over", onPath: map[string]string{"cockroach": "/opt/broken"}, want: "/usr/pgsql-17/bin/postgres 17beta1"},
		{name: "a kind that is asked for", onPath: map[string]string{"cockroach": "/usr/bin/cockroach"}, need: need{kind: KindPostgreSQL}, want: "/usr/pgsql-17/bin/postgres 17beta1"},
		{name: "a version that is asked for", onPath: map[string]string{"postgres": "/old/bin/postgres"}, need: need{kind: KindPostgreSQL, major: 16}, want: "/opt/homebrew/opt/postgresql@16/bin/postgres 16.3"},
		{name: "a named CockroachDB that is not there", env: "/no/such", fails: "COCKROACH_BINARY: no executable"},
		{name: "a named CockroachDB that is something else", env: "/opt/other", fails: "COCKROACH_BINARY: /opt/other is not CockroachDB"},
		{name: "a named CockroachDB that does not run", env: "/opt/broken", fails: "COCKROACH_BINARY: /opt/broken does not run"},
		{name: "no such version", need: need{kind: KindPostgreSQL, major: 18}, fails: "is PostgreSQL 16.3, not 18"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &fakeMachine{installed: all(), onPath: c.onPath, env: map[string]string{CockroachBinaryVariable: c.env}, goos: "linux"}
			in, err := find(t.Context(), f.machine(), c.need)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("got %v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := in.server + " " + in.version; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if in.kind == KindPostgreSQL && filepath.Dir(in.initdb) != filepath.Dir(in.server) {
				t.Errorf("initdb %s is not beside %s", in.initdb, in.server)
			}
		})
	}
}

func TestNeedKeepsToTheData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pg := record{Kind: KindPostgreSQL, Postgres: &postgresRecord{Dir: dir}}
	crdb := record{Kind: KindCockroachDB, Cockroach: &cockroachRecord{}, Postgres: &postgresRecord{Dir: dir}}
	cases := []struct {
		name   string
		config Config
		env    string
		record record
		want   need
	}{
		{"a new directory takes anything", Config{}, "", record{}, need{}},
		{"PostgreSQL's data, its version", Config{}, "", pg, need{kind: KindPostgreSQL, major: 15}},
		{"CockroachDB's data", Config{}, "", crdb, need{kind: KindCockroachDB}},
		{"a kind that is asked for", Config{Kind: KindCockroachDB}, "", pg, need{kind: KindCockroachDB}},
		{"back to the other kind", Config{Kind: KindPostgreSQL}, "", crdb, need{kind: KindPostgreSQL, major: 15}},
		{"a named executable", Config{}, "/opt/crdb", pg, need{major: 15}},
	}
	for _, c := range cases {
		f := &fakeMachine{env: map[string]string{CockroachBinaryVariable: c.env}}
		got, err := needOf(f.machine(), c.config, c.record)
		if err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}
