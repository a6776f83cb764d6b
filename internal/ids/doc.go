// Package ids owns the public identifiers of Holdfast: typed, routable text such as
// hold_eu_06bq5k3v9m0x4r8t2w7y1c5h3n, made of a kind, a region and a random UUID.
//
// A public id tells which kind of thing it names and in which region that thing lives, so a
// request can be routed and an id of the wrong kind refused before any lookup. Ids are made in
// Go, before a transaction's first attempt, so that a retried transaction writes the same keys.
// They are random (version 4): time-ordered keys would make one hot range on CockroachDB.
//
// The package knows no entity: each domain package declares its own kinds.
package ids
