// Package explorer serves a web page on which people read the schema of
// Holdfast's GraphQL API and try queries against it.
//
// It owns the page, the few lines of script that start GraphiQL on it, the
// copies of GraphiQL and React that it needs, and the headers under which all
// of them are served. It does not own the GraphQL endpoint, who may call it,
// or whether it answers introspection; without introspection the editor still
// runs queries, but has no completion and no documentation.
//
// Invariants: everything the page loads is embedded in the binary and served
// from below the page itself, so that it works without internet access, and
// the page's Content-Security-Policy lets the browser talk to no other host.
// Whatever the configuration holds, it reaches the page as data and never as
// markup or script.
package explorer
