package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// findOrFetch finds an installation, or else gets one: CockroachDB by download,
// PostgreSQL as a package of the system.
func findOrFetch(ctx context.Context, m machine, cfg Config, n need) (installation, error) {
	found, err := find(ctx, m, n)
	if err == nil || !errors.Is(err, ErrNoEngine) {
		return found, err
	}
	if cfg.NoFetch {
		return installation{}, fmt.Errorf("%w, and fetching one is switched off; %s", err, advice(n))
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.FetchTimeout)
	defer cancel()

	cfg.say("No database engine found on this machine: getting one.")
	failures := []string{strings.TrimPrefix(err.Error(), ErrNoEngine.Error()+" ")}
	if n.allows(KindCockroachDB) {
		found, err := fetchCockroach(ctx, m, cfg)
		if err == nil {
			return found, nil
		}
		cfg.say("CockroachDB could not be downloaded: %s.", oneLine(err))
		failures = append(failures, "download: "+oneLine(err))
	}
	if n.allows(KindPostgreSQL) {
		found, err := fetchPostgres(ctx, m, cfg, n)
		if err == nil {
			return found, nil
		}
		failures = append(failures, "packages: "+oneLine(err))
	}
	if err := ctx.Err(); err != nil {
		failures = append(failures, oneLine(err))
	}
	return installation{}, fmt.Errorf("%w %s; %s", ErrNoEngine, strings.Join(failures, "; "), advice(n))
}

// advice is the one line that says what to install.
func advice(n need) string {
	switch {
	case n.major != 0:
		return fmt.Sprintf("install PostgreSQL %d, which made this data directory, or choose another data directory", n.major)
	case n.kind == KindCockroachDB:
		return fmt.Sprintf("put cockroach on PATH or name it in %s", CockroachBinaryVariable)
	case n.kind == KindPostgreSQL:
		return fmt.Sprintf("install PostgreSQL %d or later (Debian and Ubuntu: apt-get install postgresql; macOS: brew install postgresql), or set %s",
			oldestPostgres, DefaultURLSource)
	default:
		return fmt.Sprintf("install PostgreSQL %d or later (Debian and Ubuntu: apt-get install postgresql; macOS: brew install postgresql), put cockroach on PATH, or set %s to the URL of a running server",
			oldestPostgres, DefaultURLSource)
	}
}

func fetchCockroach(ctx context.Context, m machine, cfg Config) (installation, error) {
	path, err := m.download(ctx, cfg.CacheDir, cfg.say)
	if err != nil {
		return installation{}, err
	}
	found, err := inspectCockroach(ctx, m, path)
	if err != nil {
		return installation{}, fmt.Errorf("the downloaded CockroachDB cannot be used: %w", err)
	}
	return found, nil
}

// packageManager is one that can install a PostgreSQL server.
type packageManager struct {
	program string
	// script runs in sh as root. It must leave no server running and no cluster
	// created, and put back whatever it changed to achieve that.
	script string
}

func packageManagers() []packageManager {
	return []packageManager{
		{program: "apt-get", script: aptScript},
		{program: "dnf", script: dnfScript},
		{program: "apk", script: apkScript},
	}
}

// aptScript keeps Debian's packages from creating and starting a cluster of
// their own: the file that decides it comes with postgresql-common, so that one
// is installed first, and the file is put back afterwards. A machine that has no
// package lists yet needs an update, whose failure alone is not fatal.
const aptScript = `
set -eu
export DEBIAN_FRONTEND=noninteractive
get="apt-get -y -q -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=120"
$get update || true
$get install --no-install-recommends postgresql-common
conf=/etc/postgresql-common/createcluster.conf
saved="$conf.before-holdfast"
restore() { if [ -e "$saved" ]; then mv -f "$saved" "$conf"; fi; }
trap restore EXIT
trap 'exit 130' HUP INT TERM
cp -p "$conf" "$saved"
printf '\ncreate_main_cluster = false\n' >> "$conf"
$get install --no-install-recommends postgresql
`

// dnfScript: Red Hat's packages create no cluster and start no service. Where
// PostgreSQL is a module, the default stream can be older than what is needed.
const dnfScript = `
set -eu
dnf -y -q module enable postgresql:16 >/dev/null 2>&1 || true
dnf -y -q install postgresql-server
`

const apkScript = `
set -eu
apk add --no-progress --quiet postgresql || { apk update --quiet; apk add --no-progress --quiet postgresql; }
`

// fetchPostgres installs the system's package and finds what it brought.
func fetchPostgres(ctx context.Context, m machine, cfg Config, n need) (installation, error) {
	pm, err := choosePackageManager(m)
	if err != nil {
		return installation{}, err
	}
	shell, err := m.lookPath("sh")
	if err != nil {
		return installation{}, fmt.Errorf("no shell to run %s: %w", pm.program, err)
	}
	cmd := invocation{path: shell, args: []string{"-c", pm.script}}
	if m.euid != 0 {
		sudo, err := passwordlessSudo(ctx, m)
		if err != nil {
			return installation{}, err
		}
		cmd = invocation{path: sudo, args: append([]string{"-n", cmd.path}, cmd.args...)}
	}
	cfg.say("Installing this system's PostgreSQL package with %s ...", pm.program)
	err = during(ctx, cfg, "still installing", func() error {
		_, err := m.run(ctx, cmd)
		return err
	})
	if err != nil {
		return installation{}, fmt.Errorf("%s could not install PostgreSQL: %w", pm.program, err)
	}
	found, err := find(ctx, m, need{kind: KindPostgreSQL, major: n.major})
	if err != nil {
		return installation{}, fmt.Errorf("after %s had installed PostgreSQL: %w", pm.program, err)
	}
	cfg.say("Installed PostgreSQL %s.", found.version)
	return found, nil
}

var errNoPackages = errors.New("packages cannot be installed here")

func choosePackageManager(m machine) (packageManager, error) {
	if m.goos != "linux" {
		return packageManager{}, fmt.Errorf("%w: only the package managers of Linux are used", errNoPackages)
	}
	for _, pm := range packageManagers() {
		if _, err := m.lookPath(pm.program); err == nil {
			return pm, nil
		}
	}
	return packageManager{}, fmt.Errorf("%w: none of apt-get, dnf and apk is there", errNoPackages)
}

func passwordlessSudo(ctx context.Context, m machine) (string, error) {
	path, err := m.lookPath("sudo")
	if err != nil {
		return "", fmt.Errorf("%w: not root, and there is no sudo", errNoPackages)
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	if _, err := m.run(ctx, invocation{path: path, args: []string{"-n", "true"}}); err != nil {
		return "", fmt.Errorf("%w: not root, and sudo asks for a password", errNoPackages)
	}
	return path, nil
}

// during runs work and reports every ten seconds that it goes on.
func during(ctx context.Context, cfg Config, what string, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	begun := time.Now()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if ctx.Err() == nil {
				cfg.say("... %s (%d s)", what, int(time.Since(begun).Seconds()))
			}
		}
	}
}

// oneLine is an error as part of a sentence.
func oneLine(err error) string {
	const max = 300
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > max {
		text = strings.ToValidUTF8(text[:max], "") + " ..."
	}
	return strings.TrimSuffix(text, ".")
}
