// Package oidc tells who the tokens of OpenID Connect providers are about. An installation names the
// issuers that it trusts, each with the audience that a token must be for, and may trust one for a
// single tenant only. Nothing else is asked of a provider than its keys, which are remembered.
//
// Invariants: a token is judged by the keys that its issuer publishes at the address that its own
// discovery document names, and by a list of signature algorithms of our own; no provider is asked
// for one thing more often than once in Config.FetchInterval, however many tokens come.
package oidc
