// Package regions owns where CockroachDB keeps the rows of each table: the overlay over the common
// schema that makes a database multi-region. It does not own the tables themselves; package schema
// creates them, the same on every engine, with the region's code inside every key.
//
// Plan is pure: it compares a Mapping of codes to cluster regions with a Catalog and says which
// statements are missing. Apply runs them on a Cluster, of which Server is the real one. Nothing is
// remembered between runs, so a run that was killed is continued by running again.
//
// Invariants:
//   - A regional table is REGIONAL BY ROW AS crdb_region, a column computed from region, which is
//     part of every key. Therefore a key says where its row lives, and uniqueness is checked in one
//     region.
//   - The CASE of the computed column has no ELSE: a row with a code that is not mapped is refused
//     instead of being kept somewhere.
//   - No statement is planned that would leave a code that is in use without a region.
//   - A column is dropped only when it is a region column of this overlay and the table's locality
//     does not use it.
package regions
