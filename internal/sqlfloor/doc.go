// Package sqlfloor owns the list of what SQL of Holdfast may not use, so that the same statements
// run on CockroachDB from 21.1 on and on PostgreSQL 15: Check names each construct that one of them
// refuses or means otherwise. Its tests collect every statement of the project, and say for each
// exception why it is one.
//
// It reads tokens, not grammar: it finds what is known to be forbidden, and does not prove that a
// statement is valid. The tests that run the statements do that.
package sqlfloor
