package embedded

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Kind says what an Engine is.
type Kind string

// The kinds of engine. KindExternal is a server that was named by URL; what
// runs there is told by [Engine.Product].
const (
	KindPostgreSQL  Kind = "postgresql"
	KindCockroachDB Kind = "cockroachdb"
	KindExternal    Kind = "external"
)

// DefaultURLSource is the environment variable that error messages name when
// Config.URLSource is empty.
const DefaultURLSource = "HOLDFAST_DATABASE_URL"

// CockroachBinaryVariable is the environment variable that names the CockroachDB
// executable to use before any other engine.
const CockroachBinaryVariable = "COCKROACH_BINARY"

// Limits of a start. They bound what is waited for, not what is usual: a
// throw-away PostgreSQL is up in about two seconds.
const (
	defaultReadyTimeout    = 60 * time.Second
	defaultExternalTimeout = 10 * time.Second
	defaultStopTimeout     = 30 * time.Second
	defaultFetchTimeout    = 15 * time.Minute
	settingsMax            = 100
)

// Config says which engine is wanted and where its data lives. The zero value
// is a throw-away engine of whatever kind is at hand.
type Config struct {
	// URL is a postgres:// URL of a server to use instead of starting one.
	// Empty means: find or start an engine.
	URL string

	// URLSource is where URL was read from, for error messages.
	// Default: DefaultURLSource.
	URLSource string

	// DataDir holds the data and survives restarts. It is created if it does not
	// exist; files of others in it are left alone. When this process is root, the
	// directory is made passable for the user that PostgreSQL runs as. Empty means
	// throw-away: a temporary directory, without durability, removed by Stop.
	DataDir string

	// Kind limits the search to KindPostgreSQL or KindCockroachDB.
	// Empty means any. It has no effect on URL.
	Kind Kind

	// NoFetch forbids to download an engine or to install packages: only what is
	// on this machine is used.
	NoFetch bool

	// PostgresSettings are server settings that are added to, and win over, those
	// of this package: {"shared_buffers": "1GB"}. Settings that say where the
	// server listens and who may connect are refused. At most 100.
	PostgresSettings map[string]string

	// CockroachFlags are added to `cockroach start-single-node`: "--cache=1GiB".
	// At most 100.
	CockroachFlags []string

	// CacheDir keeps downloaded engines. Default: holdfast in the user's cache
	// directory, or in the system's temporary directory where there is none.
	CacheDir string

	// ReadyTimeout bounds the wait from the start of the server until it answers.
	// Default: 60 s; 10 s for URL, whose server should be running already.
	ReadyTimeout time.Duration

	// StopTimeout bounds an orderly shutdown; after it the server is ended by
	// force. Default: 30 s.
	StopTimeout time.Duration

	// FetchTimeout bounds downloading or installing an engine. Default: 15 min.
	FetchTimeout time.Duration

	// Progress receives one-line messages for people. Default: none.
	Progress io.Writer

	// Logger receives events for operators. Default: discarded.
	Logger *slog.Logger
}

var (
	settingName  = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$`)
	flagPattern  = regexp.MustCompile(`^--[a-z][a-z0-9-]*(=.*)?$`)
	controlBytes = regexp.MustCompile(`[\x00-\x1f\x7f]`)
)

// ownedSettings decide where the server listens, who may connect and where its
// files are; changing them would break the invariants of this package.
func ownedSettings() []string {
	return []string{
		"config_file", "data_directory", "external_pid_file", "hba_file", "ident_file",
		"listen_addresses", "logging_collector", "log_destination", "port", "unix_socket_directories",
	}
}

// ownedFlags are the flags of `cockroach start-single-node` that this package
// sets for the same reasons.
func ownedFlags() []string {
	return []string{
		"--advertise-addr", "--background", "--certs-dir", "--http-addr", "--insecure", "--listen-addr",
		"--listening-url-file", "--pid-file", "--socket-dir", "--sql-addr", "--store",
	}
}

// Validate reports every field that cannot be used, by name, and what was
// expected. Errors about URL name URLSource and never show the password.
func (c Config) Validate() error {
	var errs []error
	if c.URL != "" {
		if err := validateURL(c.URL, c.urlSource()); err != nil {
			errs = append(errs, err)
		}
	}
	switch c.Kind {
	case "", KindPostgreSQL, KindCockroachDB:
	case KindExternal:
		errs = append(errs, errors.New("Kind: an external engine is chosen by URL"))
	default:
		errs = append(errs, fmt.Errorf("Kind: %q is neither %q nor %q", c.Kind, KindPostgreSQL, KindCockroachDB))
	}
	if strings.ContainsRune(c.DataDir, 0) {
		errs = append(errs, errors.New("DataDir: contains a NUL byte"))
	}
	if c.DataDir != "" && isRootDir(c.DataDir) {
		errs = append(errs, fmt.Errorf("DataDir: %q is the root of the file system; a directory of its own is needed", c.DataDir))
	}
	if len(c.PostgresSettings) > settingsMax {
		errs = append(errs, fmt.Errorf("PostgresSettings: %d settings, at most %d", len(c.PostgresSettings), settingsMax))
	}
	for _, name := range slices.Sorted(maps.Keys(c.PostgresSettings)) {
		switch {
		case !settingName.MatchString(name):
			errs = append(errs, fmt.Errorf("PostgresSettings: %q is not a setting's name", name))
		case slices.Contains(ownedSettings(), name):
			errs = append(errs, fmt.Errorf("PostgresSettings: %s is set by Holdfast itself", name))
		case controlBytes.MatchString(c.PostgresSettings[name]):
			errs = append(errs, fmt.Errorf("PostgresSettings: the value of %s contains control characters", name))
		}
	}
	if len(c.CockroachFlags) > settingsMax {
		errs = append(errs, fmt.Errorf("CockroachFlags: %d flags, at most %d", len(c.CockroachFlags), settingsMax))
	}
	for _, f := range c.CockroachFlags {
		name, _, _ := strings.Cut(f, "=")
		switch {
		case !flagPattern.MatchString(f) || controlBytes.MatchString(f):
			errs = append(errs, fmt.Errorf("CockroachFlags: %q is not of the form --name or --name=value", f))
		case slices.Contains(ownedFlags(), name):
			errs = append(errs, fmt.Errorf("CockroachFlags: %s is set by Holdfast itself", name))
		}
	}
	for name, d := range map[string]time.Duration{
		"ReadyTimeout": c.ReadyTimeout, "StopTimeout": c.StopTimeout, "FetchTimeout": c.FetchTimeout,
	} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("%s: %v is negative", name, d))
		}
	}
	return errors.Join(errs...)
}

func (c Config) urlSource() string {
	if c.URLSource == "" {
		return DefaultURLSource
	}
	return c.URLSource
}

// withDefaults returns a copy in which every optional field is usable.
func (c Config) withDefaults() Config {
	c.URLSource = c.urlSource()
	if c.ReadyTimeout == 0 {
		c.ReadyTimeout = defaultReadyTimeout
		if c.URL != "" {
			c.ReadyTimeout = defaultExternalTimeout
		}
	}
	if c.StopTimeout == 0 {
		c.StopTimeout = defaultStopTimeout
	}
	if c.FetchTimeout == 0 {
		c.FetchTimeout = defaultFetchTimeout
	}
	if c.CacheDir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			base = os.TempDir()
		}
		c.CacheDir = filepath.Join(base, "holdfast")
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// say writes one line for a person. A Progress that cannot be written to must
// not keep an engine from starting, so the error is dropped.
func (c Config) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Progress, format+"\n", args...)
}

func isRootDir(path string) bool {
	abs, err := filepath.Abs(path)
	return err == nil && filepath.Dir(abs) == abs
}
