// Package stripetest is a double of Stripe for tests: an HTTP server that keeps PaymentIntents,
// Checkout Sessions, refunds and disputes, repeats answers by idempotency key as Stripe does, makes
// signed events, and goes wrong on demand.
//
// It follows Stripe where the adapter depends on it: a declined PaymentIntent stays and can be
// confirmed again until it is cancelled; the first answer under a key is repeated, errors of the
// server included, until the keys are forgotten; a list is exact while the search is behind; a page
// has no PaymentIntent before somebody pays. It checks no more of a request than that; whether Stripe
// would take the parameters is what stripe-mock is asked.
package stripetest
