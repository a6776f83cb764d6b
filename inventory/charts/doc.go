// Package charts owns the geometry of a hall, stored once: its zones, rows, seats and areas, and the readers that turn
// other programs' seating plans into it.
//
// It does not own what is sold. Shows, price levels, pools, blocks and the state of a seat live in package inventory
// and refer to a chart by seat id, category name and pool name. It reads no database and no network.
//
// Invariants of a chart that passed Validate:
//
//   - every seat has an id and a ref, both unique over the chart, and a number that is unique in its row;
//   - every seat's category is one of the chart's categories;
//   - every coordinate is finite, absolute (already summed over zone, row and seat) and within MaxCoordinate;
//   - no text holds control characters, so that the chart can be stored as jsonb and drawn as it is;
//   - reading the same plan again gives the same seat ids.
package charts
