// Package bookings owns the sale: the hold -> pay -> confirm saga, the bookings it ends in, their
// cancellation, and the events that tell others. It is the one place where stock and money meet in
// a transaction: it joins inventory's and payments' functions that end in Tx.
//
// The saga's truth is the rows of the hold and the attempt; jobs and webhooks only drive it:
//
//	checkout  hold ACTIVE -> PROCESSING, attempt CREATED        one transaction
//	submit    attempt CREATED -> SUBMITTED                      one transaction
//	charge    the provider is called, no transaction is open; what is no longer wanted is cancelled
//	authorize reserved only: attempt AUTHORIZED                 one transaction
//	judge     may the hold still be sold?                       one transaction, changes nothing
//	capture   the provider is called: capture, or let go
//	apply     success: hold -> CONFIRMED, booking, APPLIED      one transaction
//	          success, units gone or too late: ORPHANED, refund requested
//	          declined: attempt DECLINED, hold released or kept
//	          unknown: attempt UNKNOWN, asked again later; nothing is released
//
// authorize, judge and capture are only for sales whose terms say MANUAL, or whose provider reserves.
// A dispute is recorded beside all that and moves no seat; refunds that were not sent wait for it.
// A provider's message that matches nothing is tried again; one that does not fit waits for a person.
//
// Every step may run twice and in any process: it repeats its precondition and changes nothing the
// second time.
//
// A booking keeps the cancellation policy and the tax of its sale. Captured less refunded is always
// what its standing lines cost, plus the fees of the cancelled ones, less what was given back besides.
package bookings
