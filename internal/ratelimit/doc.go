// Package ratelimit says how much a caller may ask of this process: a token bucket for each caller,
// found by any name (a key, a session, an address), in a table of bounded size.
//
// It knows neither HTTP nor who calls. Buckets are in memory: several processes behind a balancer
// each allow the whole rate, so that the limit of all is at most their number times one's.
package ratelimit
