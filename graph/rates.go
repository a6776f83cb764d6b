package graph

import (
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
)

func guestsOf(rooms []generated.GuestsInput) []inventory.Guests {
	guests := make([]inventory.Guests, len(rooms))
	for i, room := range rooms {
		guests[i] = inventory.Guests{Adults: room.Adults, ChildAges: room.ChildAges}
	}
	return guests
}
