package inventorytest

import (
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// Numbers is the selection of these seats of a hall.
func (h *Hall) Numbers(numbers ...int) inventory.SeatSelection {
	var selection inventory.SeatSelection
	for _, number := range numbers {
		selection.Seats = append(selection.Seats, h.seat(number))
	}
	return selection
}

// TryBlock asks for seats to be set aside and returns what the service says; the zero channel makes them
// house seats.
func (h *Hall) TryBlock(channel tenants.ChannelID, numbers ...int) (inventory.BlockEdit, error) {
	block := inventory.NewSeatBlock{Show: h.Show, Channel: channel, Seats: h.Numbers(numbers...)}
	if channel.IsZero() {
		block.Reason = "Camera"
	}
	return h.tenant.Inventory.CreateSeatBlock(h.tenant.t.Context(), h.tenant.Owner, Key(), block)
}

// Block must set seats aside.
func (h *Hall) Block(channel tenants.ChannelID, numbers ...int) inventory.SeatBlock {
	h.tenant.t.Helper()
	edit, err := h.TryBlock(channel, numbers...)
	if err != nil {
		h.tenant.t.Fatalf("refused: %s", h.tenant.Explain(err))
	}
	return edit.Block
}

// Expire lets the moment of a block's release come.
func (x *Tenant) Expire(block inventory.SeatBlock) {
	x.t.Helper()
	moment := x.Now().Add(-time.Second)
	if _, err := x.DB.Pool().Exec(x.t.Context(), "UPDATE seat_blocks SET release_at = $3 WHERE tenant_id = $1 AND id = $2", x.ID.UUID, block.ID.UUID, moment); err != nil {
		x.t.Fatal(err)
	}
}

// ReadBlock is the block as the tenant's owner sees it.
func (x *Tenant) ReadBlock(block inventory.SeatBlock) inventory.SeatBlock {
	x.t.Helper()
	read, err := x.Inventory.SeatBlock(x.t.Context(), x.Owner, block.ID)
	if err != nil {
		x.t.Fatal(err)
	}
	return read
}
