// Package gatewaytest holds the contract of payments.Gateway as tests that any adapter can be run
// through, against whatever stands in for its provider. It knows nothing of a provider: an adapter's
// own tests say how it classifies, searches and signs.
package gatewaytest
