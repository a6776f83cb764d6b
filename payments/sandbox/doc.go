// Package sandbox is a payment provider for development, demonstrations and tests: an HTTP server
// with its own listener (Server), and the adapter that speaks to it (Gateway). No money moves.
//
// It owns the charges and refunds it was asked for, the tokens that choose what happens to them,
// and the signed webhooks that tell of them. It does not own payment attempts or what they pay
// for; it reaches Holdfast over HTTP only, as any provider would.
//
// Invariants:
//
//   - One (account, idempotency key) makes one charge or refund, however many requests carry it
//     and at whatever moment. The same key with another request is refused.
//   - A decided charge is never undecided, and its outcome never changes, unless its token says so. A
//     reservation is decided by its capture, its cancellation or its end.
//   - The sum of refunds that succeeded or are pending never exceeds what was captured.
//   - Each decision makes one event with one id. It is delivered at least once while the server
//     runs, unless its token says otherwise, the bounds on the queue and on the attempts are
//     exceeded, or there is no receiver.
//   - Everything is bounded: charges, undecided charges, refunds of a charge, queued webhooks,
//     connections, bodies and times.
package sandbox
