package inventory_test

import (
	"testing"

	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// BenchmarkBoard is what it costs to read the seats of a large hall again, after one has changed and
// when none has.
func BenchmarkBoard(b *testing.B) {
	tenant := inventorytest.New(b)
	hall := tenant.Hall(50_000)
	guest := tenant.Guest()
	wish := hall.Seats(1)
	look := func() {
		if _, err := tenant.Inventory.SeatBoard(b.Context(), guest.Actor, hall.Show, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("changed", func(b *testing.B) {
		for b.Loop() {
			guest.Release(guest.Hold(wish))
			look()
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		look()
		for b.Loop() {
			look()
		}
	})
}
