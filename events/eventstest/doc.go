// Package eventstest has a receiver of webhooks for tests: a real HTTP server that keeps what it was
// sent and answers as it is told.
package eventstest
