// Package waitlist keeps who waits for units of a show or a hotel that are sold out, and offers them what
// comes free, the first in line first.
//
// An entry is one wish, all or nothing: what placeHold could be asked for. An offer is a hold like any other,
// placed by inventory's own claim for the oldest entry whose whole wish fits, and noted in the same
// transaction. It expires by itself, so nothing is stuck when nobody works: jobs serve the lists, and so
// does whoever asks for an entry.
//
// It has nothing to do with waiting rooms (package admission), in which visitors wait for the sale itself.
package waitlist
