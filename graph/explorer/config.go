package explorer

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

const (
	defaultEndpoint = "/graphql"
	defaultTitle    = "Holdfast GraphQL explorer"
)

// Config says what the explorer shows. The zero value is useful.
type Config struct {
	// Endpoint is the path of the GraphQL endpoint on the host that serves the
	// page, as the browser sees it. Default: "/graphql".
	Endpoint string

	// Title is shown in the browser's tab and at the top right of the page.
	// Default: "Holdfast GraphQL explorer".
	Title string

	// DefaultQuery is what the query editor shows first, and in each new tab.
	// Visitors who have been here before keep their tabs, and get one more when
	// DefaultQuery is another than at their last visit. Default: a comment that
	// explains the editor.
	DefaultQuery string

	// DefaultHeaders fill the headers editor; they are sent with every request,
	// introspection included, until the visitor changes them. Everybody who can
	// load the page can read them, so a credential belongs here only on a
	// development or demonstration server. Default: none.
	DefaultHeaders map[string]string
}

// Validate reports the first field that would give a page that cannot work.
// Handler is safe with any Config, valid or not.
func (c Config) Validate() error {
	if c.Endpoint != "" {
		if err := validateEndpoint(c.Endpoint); err != nil {
			return fmt.Errorf("explorer endpoint %q: %w", c.Endpoint, err)
		}
	}
	for name, value := range c.DefaultHeaders {
		if !isHeaderName(name) {
			return fmt.Errorf("explorer default header %q: a header name is made of letters, digits and hyphens", name)
		}
		// The value may be a credential, so the message does not repeat it.
		if !isHeaderValue(value) {
			return fmt.Errorf("explorer default header %q: a header value is made of printable ASCII characters", name)
		}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Endpoint == "" {
		c.Endpoint = defaultEndpoint
	}
	if c.Title == "" {
		c.Title = defaultTitle
	}
	if c.DefaultQuery == "" {
		c.DefaultQuery = defaultQuery
	}
	return c
}

// validateEndpoint admits paths of the page's own host only: the page's
// Content-Security-Policy would stop the browser from calling another one.
func validateEndpoint(endpoint string) error {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	if parsed.IsAbs() || parsed.Host != "" || !strings.HasPrefix(endpoint, "/") || strings.HasPrefix(endpoint, "//") {
		return errors.New("expected a path that starts with one slash, such as /graphql")
	}
	return nil
}

func isHeaderName(name string) bool {
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-':
		default:
			return false
		}
	}
	return name != ""
}

func isHeaderValue(value string) bool {
	for _, r := range value {
		if r < ' ' || r > '~' {
			return false
		}
	}
	return true
}

const defaultQuery = `# Write a GraphQL operation here and run it with Ctrl-Enter.
# Ctrl-Space completes names; the book at the left opens the documentation.
`
