// Package payments owns money: payment attempts, refunds and what providers said of them, and the
// Gateway interface that adapters implement. It knows no stock and no booking; package bookings
// joins its rows into one transaction with both.
//
// Invariants, each also a named constraint or an audit check:
//   - An attempt is stored, with its fixed amount and currency, before the provider is called. Its
//     public id is the provider's idempotency key.
//   - SUCCEEDED is final. A later failure message never overwrites it; a success overwrites a
//     decline, because the money was taken.
//   - A success is APPLIED to a booking or ORPHANED and refunded, never neither.
//   - A hold has at most one open attempt and at most one that is APPLIED.
//   - The refunds of an attempt never sum to more than was captured, and none is requested of what a
//     lost dispute has taken. One refund action pays once.
//   - What is reserved is captured only while its hold can be sold, and let go otherwise.
//   - A provider's event is applied, or known, or kept: for another try or for a person.
//   - No transaction is open while a provider is called.
package payments
