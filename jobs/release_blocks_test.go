package jobs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/jobs"
)

// With all workers stopped, a block whose moment has come is sold to others all the same. Once there are
// workers, its release is told once, and its seats forget it.
func TestBlocksAreReleasedWithAndWithoutWorkers(t *testing.T) {
	t.Parallel()
	o := open(t)
	agency, guest := o.Partner("Agency"), o.Guest()
	block := o.hall.Block(agency.Actor.Channel, 1, 2, 3)
	standing := o.hall.Block(agency.Actor.Channel, 4)
	guest.Refused("IN_OTHER_BLOCK seat 1", o.hall.Seats(1))
	o.Expire(block)
	guest.Hold(o.hall.Seats(1))
	if status := guest.SeatStatus(o.hall, 2); status != inventory.SeatStatusAvailable {
		t.Errorf("the guest sees %s", status)
	}
	expect(t, "without workers others are told", strings.Join(o.Events(block.ID.UUID), ", "), "")

	blocked := func() (n int) {
		t.Helper()
		if err := o.DB.Pool().QueryRow(t.Context(), "SELECT count(*) FROM show_seats WHERE tenant_id = $1 AND block_id IS NOT NULL", o.ID.UUID).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := blocked(); n != 4 {
		t.Errorf("%d seats name a block", n)
	}
	o.work(t, func(c *jobs.Config) { c.BlockInterval = 50 * time.Millisecond })
	o.Eventually("the seats of the released block have forgotten it", func() bool { return blocked() == 1 })
	o.Eventually("it has looked again", func() bool { return o.count(t, "release_blocks", "completed") > 2 })
	expect(t, "others are told", strings.Join(o.Events(block.ID.UUID), ", "), "2 block.released")
	expect(t, "of the block that stands", strings.Join(o.Events(standing.ID.UUID), ", "), "")
	guest.Hold(o.hall.Seats(2))
	guest.Refused("IN_OTHER_BLOCK seat 4", o.hall.Seats(4))
	o.Audit()
}
