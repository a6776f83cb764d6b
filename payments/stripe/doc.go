// Package stripe is the payments adapter for Stripe: PaymentIntents for a card that the buyer's
// browser has already turned into a token, Checkout Sessions for a page on which the buyer pays,
// refunds, and webhooks. README.md says how it is set up and where its limits are.
//
// It owns the translation between payments.Gateway and Stripe's API, and no state: everything that
// it must find again carries the attempt's key as metadata at Stripe. A bounded cache of which id
// belongs to which key only saves calls.
//
// Invariants:
//   - Money moves at most once per key: a charge is one POST under the key as Stripe's idempotency
//     key, and a refund is made only after the charge's refunds were read and none has the key.
//   - DECLINED is proven. A declined PaymentIntent can be confirmed again at Stripe, so it is
//     cancelled before it is called declined; when that fails, the outcome is UNKNOWN.
//   - An answer that Stripe repeats from its store of idempotency keys is as old as its first
//     telling, so it is never believed: the object is read again.
//   - Errors carry Stripe's codes and the request's id, never Stripe's text or objects, which can
//     hold a buyer's data.
package stripe
