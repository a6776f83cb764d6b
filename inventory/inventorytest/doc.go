// Package inventorytest makes stock for tests: a tenant with its admin, halls with seats and pools,
// hotels with nights, and buyers with sessions of their own. A test reads like the table of a
// hotelier: stock, hold, let time pass, and see what is left.
//
// Everything goes through the services, on the database of package dbtest. Only two things reach
// into the tables: the clock (a hold is moved into the past, instead of waiting for its deadline)
// and the books (counters and lines are counted, to compare them with each other).
package inventorytest
