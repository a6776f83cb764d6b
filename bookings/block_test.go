package bookings_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// told is what others were told of a block.
func told(s *bookingstest.Shop, block inventory.SeatBlock) string {
	return strings.Join(s.Events(block.ID.UUID), ", ")
}

// R25: a release restores what the public sees once and is told once, however often it is asked for.
func TestAReleaseIsToldOnce(t *testing.T) {
	t.Parallel()
	s := bookingstest.New(t)
	hall := s.Hall(10)
	agency, guest := s.Partner("Agency"), s.Guest()
	block := hall.Block(agency.Actor.Channel, 1, 2, 3)
	sold := agency.Hold(hall.Seats(1))
	guest.Refused("IN_OTHER_BLOCK seat 2", hall.Seats(2))
	key := inventorytest.Key()
	for range 2 {
		for range 2 {
			if err := s.Sales.ReleaseBlock(t.Context(), s.Owner, key, block.ID); err != nil {
				t.Fatal(err)
			}
		}
		key = inventorytest.Key()
	}
	expect(t, "others are told", told(s, block), "2 block.released")
	guest.Hold(hall.Seats(2))
	if outcome, err := s.TryPay(agency, sold, sandbox.TokenApprove); err != nil || outcome.Booking == nil {
		t.Errorf("the agency's hold cannot be paid: %v", err)
	}
	if read := s.ReadBlock(block); read.State != inventory.BlockStateReleased || read.ReleasedBy != inventory.ReleasedByCommand || read.ReleasedAt == nil {
		t.Errorf("the block reads %+v", read)
	}
	// Its seats are let go of, and the one that is sold as well.
	if _, err := s.Inventory.ClearReleasedBlocks(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	left := 0
	if err := s.DB.Pool().QueryRow(t.Context(), "SELECT count(*) FROM show_seats WHERE tenant_id = $1 AND (block_id IS NOT NULL OR block_channel_id IS NOT NULL)", s.ID.UUID).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d seats are still in the block: %v", left, err)
	}
	if err := s.Sales.ReleaseBlock(t.Context(), agency.Actor, inventorytest.Key(), block.ID); fault.KindOf(err) != fault.KindDenied {
		t.Errorf("a partner releases: %v", err)
	}
	other := hall.Block(agency.Actor.Channel, 5)
	last := inventorytest.Key()
	if err := s.Sales.ReleaseBlock(t.Context(), s.Owner, last, other.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Sales.ReleaseBlock(t.Context(), s.Owner, last, block.ID); !errors.Is(err, request.ErrKeyReused) {
		t.Errorf("the key of another release: %v", err)
	}
	s.Audit()
}

// A moment that has come is written and told once by whoever comes first: jobs of several processes, and
// somebody who releases the block by hand. The block says the moment itself, the event when it was told:
// whoever reads the feed has read past the moment.
func TestADueBlockIsToldOnce(t *testing.T) {
	t.Parallel()
	s := bookingstest.New(t)
	hall := s.Hall(10)
	agency := s.Partner("Agency")
	block, standing := hall.Block(agency.Actor.Channel, 1, 2), hall.Block(agency.Actor.Channel, 3)
	begin := s.Now()
	s.Expire(block)
	second := s.Service(bookings.Config{}, s.Gateway)
	for _, err := range inventorytest.Race(4, func(i int) (err error) {
		switch i {
		case 0:
			_, err = s.Sales.ReleaseDueBlocks(t.Context(), 100)
		case 1:
			_, err = second.ReleaseDueBlocks(t.Context(), 100)
		case 2:
			err = s.Sales.ReleaseBlock(t.Context(), s.Owner, inventorytest.Key(), block.ID)
		default:
			_, err = s.Inventory.ClearReleasedBlocks(t.Context(), 100)
		}
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	expect(t, "others are told", told(s, block), "2 block.released")
	expect(t, "of the block that stands", told(s, standing), "")
	read := s.ReadBlock(block)
	if read.ReleasedBy != inventory.ReleasedByMoment || read.ReleasedAt == nil || !read.ReleasedAt.Equal(*read.ReleaseAt) {
		t.Errorf("the block reads %+v", read)
	}
	var late bool
	if err := s.DB.Pool().QueryRow(t.Context(), "SELECT occurred_at >= $3 FROM outbox_events WHERE tenant_id = $1 AND entity_id = $2::uuid",
		s.ID.UUID, block.ID.UUID, begin).Scan(&late); err != nil || !late {
		t.Errorf("the event is told as of the moment: %v", err)
	}
	if s.ReadBlock(standing).State != inventory.BlockStateActive {
		t.Error("the other block is released, too")
	}
	s.Audit()
}

// A booking that races the release of its block gets its seat once, and nobody else gets it.
func TestASaleThatRacesARelease(t *testing.T) {
	t.Parallel()
	s := bookingstest.New(t)
	hall := s.Hall(20)
	agency := s.Partner("Agency")
	guests := s.Guests(8)
	for seat := 1; seat <= 4; seat++ {
		block := hall.Block(agency.Actor.Channel, seat)
		results := inventorytest.Race(2+len(guests), func(i int) error {
			switch i {
			case 0:
				return s.Sales.ReleaseBlock(t.Context(), s.Owner, inventorytest.Key(), block.ID)
			case 1:
				hold, err := agency.Try(hall.Seats(seat))
				if err != nil {
					return err
				}
				outcome, err := s.TryPay(agency, hold, sandbox.TokenApprove)
				if err == nil && outcome.Booking == nil {
					t.Errorf("seat %d: %+v", seat, outcome)
				}
				return err
			}
			_, err := guests[i-2].Try(hall.Seats(seat))
			return err
		})
		if results[0] != nil {
			t.Errorf("the release: %v", results[0])
		}
		won := 0
		for _, err := range results[1:] {
			var refusal *inventory.Refusal
			switch {
			case err == nil:
				won++
			case !errors.As(err, &refusal):
				t.Errorf("seat %d: %v", seat, err)
			case !slices.Contains([]inventory.RefusalCode{inventory.RefusalHeldByOther, inventory.RefusalInOtherBlock}, refusal.Code):
				t.Errorf("seat %d is refused with %s", seat, refusal.Code)
			}
		}
		if won > 1 {
			t.Errorf("seat %d has %d owners", seat, won)
		}
		expect(t, "others are told", told(s, block), "2 block.released")
	}
	s.Audit()
}

// The commission is that of the sale, whatever the channel earns later.
func TestASaleKeepsItsCommission(t *testing.T) {
	t.Parallel()
	s := bookingstest.New(t)
	hall := s.Hall(4)
	agency := s.Partner("Agency")
	earn := func(basisPoints int64) {
		t.Helper()
		if _, err := s.Inventory.SetChannelSales(t.Context(), s.Owner, inventory.ChannelSales{
			Channel: agency.Actor.Channel, EveryShow: true, EveryProperty: true, CommissionBasisPoints: basisPoints,
		}); err != nil {
			t.Fatal(err)
		}
	}
	sell := func(seat int) int64 {
		t.Helper()
		outcome, err := s.TryPay(agency, agency.Hold(hall.Seats(seat)), sandbox.TokenApprove)
		if err != nil {
			t.Fatal(err)
		}
		earn(9_000)
		read, err := s.Sales.Booking(t.Context(), s.Owner, outcome.Booking.ID)
		if err != nil {
			t.Fatal(err)
		}
		return read.Commission().Amount.Minor
	}
	if earned := sell(1); earned != 0 {
		t.Errorf("without a commission it earns %d", earned)
	}
	earn(1_050)
	if earned := sell(2); earned != inventorytest.SeatPrice*1_050/10_000 {
		t.Errorf("it earns %d", earned)
	}
	// What it may not sell any more can be held no longer, and not be paid either.
	hold := agency.Hold(hall.Seats(3))
	if _, err := s.Inventory.SetChannelSales(t.Context(), s.Owner, inventory.ChannelSales{Channel: agency.Actor.Channel}); err != nil {
		t.Fatal(err)
	}
	_, err := s.TryPay(agency, hold, sandbox.TokenApprove)
	expect(t, "the checkout", s.Explain(err), "NOT_SOLD_BY_CHANNEL")
	agency.Release(hold)
}

// A block of an hour ago that nobody has written is due; with a moment to come it is not.
func TestOnlyDueBlocksAreReleased(t *testing.T) {
	t.Parallel()
	s := bookingstest.New(t)
	hall := s.Hall(3)
	soon := s.Now().Add(time.Hour)
	edit, err := s.Inventory.CreateSeatBlock(t.Context(), s.Owner, inventorytest.Key(), inventory.NewSeatBlock{
		Show: hall.Show, Channel: s.Owner.Channel, Release: inventory.Moment{At: &soon}, Seats: hall.Numbers(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sales.ReleaseDueBlocks(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	expect(t, "others are told", told(s, edit.Block), "")
	s.Expire(edit.Block)
	if _, err := s.Sales.ReleaseDueBlocks(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	expect(t, "others are told", told(s, edit.Block), "2 block.released")
}
