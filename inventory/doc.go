// Package inventory owns sellable stock: seats, pools and room-type nights, the sales terms, what
// cancelling costs, the allotments of channels, and the holds that lease units. It knows no money provider and no booking; package bookings joins its
// transactions.
//
// Invariants, each also a named constraint or an audit check:
//   - A seat has at most one owner: the hold named in its row.
//   - held + booked of a counter never exceeds its ceiling, and equals the sum of the live lines.
//   - The limits of all counters of a night or pool together are within what there is to sell.
//   - A hold that is ACTIVE or PROCESSING owns every one of its lines; there is no partial hold.
//   - A hold whose claimable_at has passed may be reaped by anybody who wants its units; nothing
//     depends on a worker being alive.
//   - Deadlines come from the database's clock, read after the locks were waited for.
//
// Locks are taken in one order everywhere: request row, allotment, night plans, hold rows, seats, pool counters, night
// counters, house counters (each sorted by its key), then payment rows.
package inventory
