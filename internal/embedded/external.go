package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrBadURL is wrapped by every error about a database URL that cannot be used
// because of how it is written.
var ErrBadURL = errors.New("bad database URL")

const urlForm = "expected postgres://user:password@host:port/database"

// startExternal connects to the server named by cfg.URL, to learn what it is,
// and returns an Engine that stops nothing.
func startExternal(ctx context.Context, cfg Config) (*Engine, error) {
	where := describeURL(cfg.URL)
	wait := newPatience(cfg.ReadyTimeout)
	told := false
	for {
		server, err := askServer(ctx, cfg.URL)
		if err == nil {
			cfg.say("Database: %s %s at %s (from %s).", server.product.title(), server.version, where, cfg.URLSource)
			return &Engine{kind: KindExternal, product: server.product, version: server.version, url: cfg.URL}, nil
		}
		if !mayPass(err) || !wait.again(ctx) {
			return nil, fmt.Errorf("%s: connecting to the database at %s: %w", cfg.URLSource, where, hideSecrets(err, urlSecrets(cfg.URL)...))
		}
		if !told {
			cfg.say("Waiting for the database at %s.", where)
			told = true
		}
	}
}

// validateURL reports what is wrong with a database URL without quoting more of
// it than the part that is wrong, and never its password.
func validateURL(raw, source string) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w: %s; %s", source, ErrBadURL, fmt.Sprintf(format, args...), urlForm)
	}
	if strings.TrimSpace(raw) != raw {
		return bad("it begins or ends with white space")
	}
	scheme, _, found := strings.Cut(raw, "://")
	if !found {
		// The text may be a mistyped URL or a key=value string: either can hold a
		// password, so nothing of it is shown.
		return bad("it has no scheme")
	}
	if scheme != "postgres" && scheme != "postgresql" {
		if len(scheme) > 20 || strings.ContainsAny(scheme, "@: ") {
			return bad("its scheme is not postgres")
		}
		return bad("its scheme is %q, not postgres", scheme)
	}
	u, err := url.Parse(raw)
	if err != nil {
		// url.Error quotes the whole URL, and its cause can quote the part after a
		// misplaced colon, which is often the password.
		return bad("it cannot be parsed (a special character in the password must be percent-encoded)")
	}
	if u.Host == "" && u.Query().Get("host") == "" {
		return bad("it has no host")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return bad("its port %q is not between 1 and 65535", port)
		}
	}
	if u.Fragment != "" {
		return bad("it contains a # (percent-encode it as %%23)")
	}
	if _, err := pgx.ParseConfig(raw); err != nil {
		cause := err
		var parse *pgconn.ParseConfigError
		if errors.As(err, &parse) && parse.Unwrap() != nil {
			cause = parse.Unwrap()
		}
		return bad("%v", hideSecrets(cause, append(urlSecrets(raw), raw)...))
	}
	return nil
}

// describeURL is host, port and database of a URL that passed validateURL.
func describeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the given URL"
	}
	host := u.Host
	if host == "" {
		host = u.Query().Get("host")
	}
	return host + u.Path
}

// urlSecrets returns every spelling of the secrets in a URL.
func urlSecrets(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	var secrets []string
	if p, ok := u.User.Password(); ok {
		secrets = append(secrets, p, url.QueryEscape(p), url.PathEscape(p))
		if _, encoded, ok := strings.Cut(u.User.String(), ":"); ok {
			secrets = append(secrets, encoded)
		}
	}
	for _, key := range []string{"password", "sslpassword"} {
		for _, p := range u.Query()[key] {
			secrets = append(secrets, p, url.QueryEscape(p))
		}
	}
	return secrets
}

// redacted is an error whose text was rewritten; it still unwraps to the
// original for errors.Is and errors.As.
type redacted struct {
	text  string
	cause error
}

func (r *redacted) Error() string { return r.text }
func (r *redacted) Unwrap() error { return r.cause }

func hideSecrets(err error, secrets ...string) error {
	text := hideSecretsIn(err.Error(), secrets...)
	if text == err.Error() {
		return err
	}
	return &redacted{text: text, cause: err}
}

func hideSecretsIn(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "xxxxx")
		}
	}
	return text
}
