package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrNoEngine is wrapped by the error of Start when no engine was found and
// none could be fetched. Its text says what to install.
var ErrNoEngine = errors.New("no database engine")

// oldestPostgres is the oldest major version that Holdfast's SQL is written for.
const oldestPostgres = 15

const versionTimeout = 20 * time.Second

// installation is an engine's executables on this machine.
type installation struct {
	kind    Kind
	version string
	// major is the version of PostgreSQL's data format; 0 for CockroachDB.
	major int
	// server is the path of the server's executable.
	server string
	// initdb is the path of PostgreSQL's initdb.
	initdb string
}

// need is which installation a start can use.
type need struct {
	// kind is empty when any will do.
	kind Kind
	// major is the only version of PostgreSQL that can read the data; 0 is any.
	major int
}

func (n need) allows(k Kind) bool { return n.kind == "" || n.kind == k }

// find returns the first usable installation on this machine: CockroachDB named
// by COCKROACH_BINARY, CockroachDB on PATH, PostgreSQL on PATH, PostgreSQL in the
// usual places, newest first. The error wraps ErrNoEngine if there is none.
func find(ctx context.Context, m machine, n need) (installation, error) {
	var seen []string
	if n.allows(KindCockroachDB) {
		named := m.getenv(CockroachBinaryVariable)
		found, err := findCockroach(ctx, m, named)
		switch {
		case err == nil:
			return found, nil
		case named != "":
			return installation{}, fmt.Errorf("%s: %w", CockroachBinaryVariable, err)
		case !errors.Is(err, errNotOnPath):
			seen = append(seen, err.Error())
		}
	}
	if n.allows(KindPostgreSQL) {
		found, rejected, err := findPostgres(ctx, m, n.major)
		if err == nil {
			return found, nil
		}
		seen = append(seen, rejected...)
	}
	if err := ctx.Err(); err != nil {
		return installation{}, fmt.Errorf("looking for a database engine: %w", err)
	}
	if len(seen) > 0 {
		return installation{}, fmt.Errorf("%w on this machine (%s)", ErrNoEngine, strings.Join(seen, "; "))
	}
	return installation{}, fmt.Errorf("%w on this machine", ErrNoEngine)
}

var (
	errNotOnPath  = errors.New("not on PATH")
	buildTag      = regexp.MustCompile(`(?m)^Build Tag:\s+v?(\S+)`)
	postgresBuild = regexp.MustCompile(`\(PostgreSQL\) ((\d+)\S*)`)
)

func findCockroach(ctx context.Context, m machine, named string) (installation, error) {
	path, err := m.lookPath(cmp.Or(named, "cockroach"))
	if err != nil {
		if named != "" {
			return installation{}, fmt.Errorf("no executable: %w", err)
		}
		return installation{}, errNotOnPath
	}
	return inspectCockroach(ctx, m, path)
}

// inspectCockroach runs the executable, which also shows that it can run here.
func inspectCockroach(ctx context.Context, m machine, path string) (installation, error) {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := m.run(ctx, invocation{path: path, args: []string{"version"}})
	if err != nil {
		return installation{}, fmt.Errorf("%s does not run: %w", path, err)
	}
	tag := buildTag.FindStringSubmatch(out)
	if tag == nil {
		return installation{}, fmt.Errorf("%s is not CockroachDB: `version` prints no build tag", path)
	}
	return installation{kind: KindCockroachDB, version: tag[1], server: path}, nil
}

// postgresPlaces are the directories that hold server executables when PATH does
// not: Debian, Red Hat, Alpine, Homebrew on ARM and Intel, Postgres.app.
func postgresPlaces() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/usr/lib/postgresql*/bin",
		"/usr/libexec/postgresql*",
		"/usr/local/pgsql/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
}

// findPostgres returns the server on PATH, or else the newest of the usual
// places; major other than 0 accepts that version only. rejected says, for each
// installation that was seen and not taken, why.
func findPostgres(ctx context.Context, m machine, major int) (found installation, rejected []string, err error) {
	usable := func(server string) (installation, bool) {
		in, err := inspectPostgres(ctx, m, server)
		switch {
		case err != nil:
			rejected = append(rejected, err.Error())
		case in.major < oldestPostgres:
			rejected = append(rejected, fmt.Sprintf("%s is PostgreSQL %s, older than %d", server, in.version, oldestPostgres))
		case major != 0 && in.major != major:
			rejected = append(rejected, fmt.Sprintf("%s is PostgreSQL %s, not %d", server, in.version, major))
		default:
			return in, true
		}
		return installation{}, false
	}

	tried := map[string]bool{}
	if path, err := m.lookPath("postgres"); err == nil {
		if real, err := m.resolve(path); err == nil {
			path = real
		}
		tried[path] = true
		if in, ok := usable(path); ok {
			return in, nil, nil
		}
	}
	var inPlaces []installation
	for _, pattern := range postgresPlaces() {
		for _, dir := range m.glob(pattern) {
			server, err := m.lookPath(filepath.Join(dir, "postgres"))
			if err != nil {
				continue
			}
			if real, err := m.resolve(server); err == nil {
				server = real
			}
			if tried[server] {
				continue
			}
			tried[server] = true
			if in, ok := usable(server); ok {
				inPlaces = append(inPlaces, in)
			}
		}
	}
	if len(inPlaces) == 0 {
		return installation{}, rejected, fmt.Errorf("PostgreSQL: %w", ErrNoEngine)
	}
	return slices.MaxFunc(inPlaces, func(a, b installation) int { return cmp.Compare(a.major, b.major) }), nil, nil
}

func inspectPostgres(ctx context.Context, m machine, server string) (installation, error) {
	initdb, err := m.lookPath(filepath.Join(filepath.Dir(server), "initdb"))
	if err != nil {
		return installation{}, fmt.Errorf("%s has no initdb beside it", server)
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := m.run(ctx, invocation{path: server, args: []string{"--version"}})
	if err != nil {
		return installation{}, fmt.Errorf("%s does not run: %w", server, err)
	}
	v := postgresBuild.FindStringSubmatch(out)
	if v == nil {
		return installation{}, fmt.Errorf("%s is not PostgreSQL: it calls itself %.60q", server, strings.TrimSpace(out))
	}
	major, err := strconv.Atoi(v[2])
	if err != nil {
		return installation{}, fmt.Errorf("%s: version %.20q: %w", server, v[1], err)
	}
	return installation{kind: KindPostgreSQL, version: v[1], major: major, server: server, initdb: initdb}, nil
}
