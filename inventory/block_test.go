package inventory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/tenants"
)

// expectBlock compares what a block's list says.
func expectBlock(t *testing.T, tenant *inventorytest.Tenant, block inventory.SeatBlock, free, held, sold int64) {
	t.Helper()
	read := tenant.ReadBlock(block)
	if read.Free != free || read.Held != held || read.Sold != sold {
		t.Errorf("the block has %d free, %d held, %d sold; want %d, %d, %d", read.Free, read.Held, read.Sold, free, held, sold)
	}
}

// expectInvalid wants a malformed request whose field is named.
func expectInvalid(t *testing.T, err error, field, message string) {
	t.Helper()
	var invalid *fault.Error
	if !errors.As(err, &invalid) || invalid.Kind != fault.KindInvalid || invalid.Field != field || !strings.Contains(invalid.Message, message) {
		t.Errorf("got %v, want %s: %s", err, field, message)
	}
}

// blockedSeats are the seats that the service names in the way, as "CODE number".
func blockedSeats(t *testing.T, hall *inventorytest.Hall, err error) []string {
	t.Helper()
	var refused *inventory.BlockRefused
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want refused seats", err)
	}
	if refused.Count != int64(len(refused.Seats)) {
		t.Errorf("%d seats are named of %d", len(refused.Seats), refused.Count)
	}
	var named []string
	for _, seat := range refused.Seats {
		for number := 1; number <= 100; number++ {
			if hall.Numbers(number).Seats[0] == seat.Seat {
				named = append(named, fmt.Sprintf("%s %d", seat.Code, number))
			}
		}
	}
	slices.Sort(named)
	return named
}

func kinds(t *testing.T, tenant *inventorytest.Tenant, block inventory.SeatBlock) []string {
	t.Helper()
	changes, more, err := tenant.Inventory.ChangesOfBlock(t.Context(), tenant.Owner, block.ID, nil, 100)
	if err != nil || more {
		t.Fatal(more, err)
	}
	found := make([]string, len(changes))
	for i, change := range changes {
		found[i] = fmt.Sprintf("%s %d", change.Kind, change.Seats)
	}
	return found
}

// R58: while everything else is sold, the public sees nothing left, and the agency its block.
func TestASeatOfAnotherChannelsBlock(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(12)
	agency, guest := tenant.Partner("Agency"), tenant.Guest()
	block := hall.Block(agency.Actor.Channel, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	guest.Refused("IN_OTHER_BLOCK seat 2", hall.Seats(11, 2))
	guest.Hold(hall.Seats(11, 12))

	count := func(buyer inventorytest.Buyer, want inventory.SeatStatus) (n int) {
		for _, status := range buyer.SeatStatuses(hall) {
			if status == want {
				n++
			}
		}
		return n
	}
	if n := count(guest, inventory.SeatStatusAvailable); n != 0 {
		t.Errorf("the public sees %d seats left", n)
	}
	if n := count(guest, inventory.SeatStatusBlocked); n != 10 {
		t.Errorf("the public sees %d blocked seats", n)
	}
	if n := count(agency, inventory.SeatStatusAvailable); n != 10 {
		t.Errorf("the agency sees %d seats left", n)
	}
	hold := agency.Hold(hall.Seats(2, 3))
	sold := agency.Hold(hall.Seats(4))
	if _, err := tenant.Confirm(sold.ID); err != nil {
		t.Fatal(err)
	}
	expectBlock(t, tenant, block, 7, 2, 1)
	// What the agency gives back stays the agency's, whether or not anybody has reaped it.
	tenant.Lapse(hold)
	expectBlock(t, tenant, block, 9, 0, 1)
	guest.Refused("IN_OTHER_BLOCK seat 2", hall.Seats(2))
	if status := guest.SeatStatus(hall, 2); status != inventory.SeatStatusBlocked {
		t.Errorf("the guest sees %s", status)
	}
	agency.Hold(hall.Seats(2))
	tenant.Audit()
}

// R11: house seats are sold through no channel, the box office's own included; staff who may override
// blocks get what is free of them, and never what somebody has.
func TestHouseSeatsAreSoldToNobody(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(6)
	staff, agency, guest := tenant.Buyer(tenant.Owner), tenant.Partner("Agency"), tenant.Guest()
	house := hall.Block(tenants.ChannelID{}, 1, 2, 3)
	for _, buyer := range []inventorytest.Buyer{staff, agency, guest} {
		buyer.Refused("IN_OTHER_BLOCK seat 1", hall.Seats(1))
	}
	override := func(buyer inventorytest.Buyer, reason string, wishes ...inventory.LineRequest) (inventory.Hold, error) {
		return tenant.Inventory.PlaceHold(t.Context(), buyer.Actor, inventory.PlaceHold{RequestKey: inventorytest.Key(), Lines: wishes, OverrideBlock: reason})
	}
	for _, buyer := range []inventorytest.Buyer{agency, guest} {
		if _, err := override(buyer, "For a friend", hall.Seats(1)); fault.KindOf(err) != fault.KindDenied {
			t.Errorf("without the permission: %v", err)
		}
	}
	_, err := override(staff, " ", hall.Seats(1))
	expectInvalid(t, err, "overrideBlock.reason", "expected 1 to 200 characters")

	hold, err := override(staff, "The mayor comes", hall.Seats(1, 4))
	if err != nil {
		t.Fatal(tenant.Explain(err))
	}
	_, err = override(tenant.Buyer(tenant.Owner), "The mayor's friend", hall.Seats(2, 1))
	expectAnswer(t, tenant, err, "HELD_BY_YOU seat 1 yours")
	taken := guest.Hold(hall.Seats(5))
	_, err = override(staff, "The mayor's friend", hall.Seats(2, 5))
	expectAnswer(t, tenant, err, "HELD_BY_OTHER seat 5")
	guest.Release(taken)

	changes, _, err := tenant.Inventory.ChangesOfBlock(t.Context(), tenant.Owner, house.ID, nil, 10)
	if err != nil || len(changes) != 2 {
		t.Fatalf("%d changes are kept: %v", len(changes), err)
	}
	if c := changes[1]; c.Kind != inventory.BlockOverridden || c.Seats != 1 || c.Hold == nil || *c.Hold != hold.ID || c.Note != "The mayor comes" || c.Key != tenant.Owner.Key {
		t.Errorf("what is kept of the override is %+v", c)
	}
	// The seat is still the house's, and is when it comes back.
	expectBlock(t, tenant, house, 2, 1, 0)
	staff.Release(hold)
	guest.Refused("IN_OTHER_BLOCK seat 1", hall.Seats(1))
	tenant.Audit()
}

// A seat that somebody has keeps its owner, and is the block's when it comes back.
func TestSeatsThatSomebodyHasKeepTheirOwner(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(6)
	agency, guest := tenant.Partner("Agency"), tenant.Guest()
	held, sold := guest.Hold(hall.Seats(1)), guest.Hold(hall.Seats(2))
	if _, err := tenant.Confirm(sold.ID); err != nil {
		t.Fatal(err)
	}
	edit, err := hall.TryBlock(agency.Actor.Channel, 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if edit.Seats != 3 || edit.KeptCount != 2 || len(edit.Kept) != 2 {
		t.Errorf("of %d seats %d are kept: %v", edit.Seats, edit.KeptCount, edit.Kept)
	}
	expectBlock(t, tenant, edit.Block, 1, 1, 1)
	agency.Refused("HELD_BY_OTHER seat 1", hall.Seats(1))
	if _, err := tenant.Confirm(held.ID); err != nil {
		t.Errorf("the hold cannot be sold any more: %v", err)
	}
	expectBlock(t, tenant, edit.Block, 1, 0, 2)
	tenant.Audit()
}

func TestSeatsAreMovedAndReleased(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(60)
	agency, club, guest := tenant.Partner("Agency"), tenant.Partner("Club"), tenant.Guest()
	stock := tenant.Inventory
	first := hall.Block(agency.Actor.Channel, 1, 2, 3)
	second := hall.Block(club.Actor.Channel, 4)

	_, err := hall.TryBlock(club.Actor.Channel, 5, 3, 4)
	if got := blockedSeats(t, hall, err); !slices.Equal(got, []string{"IN_OTHER_BLOCK 3", "IN_OTHER_BLOCK 4"}) {
		t.Errorf("in the way are %v", got)
	}
	guest.Hold(hall.Seats(5)) // nothing was set aside
	_, err = stock.AssignSeats(t.Context(), tenant.Owner, inventorytest.Key(), second.ID, hall.Numbers(3, 6))
	if got := blockedSeats(t, hall, err); !slices.Equal(got, []string{"IN_OTHER_BLOCK 3"}) {
		t.Errorf("in the way are %v", got)
	}
	_, err = stock.MoveSeats(t.Context(), tenant.Owner, inventorytest.Key(), first.ID, second.ID, hall.Numbers(3, 6))
	if got := blockedSeats(t, hall, err); !slices.Equal(got, []string{"NOT_IN_BLOCK 6"}) {
		t.Errorf("in the way are %v", got)
	}
	_, err = stock.ReleaseSeats(t.Context(), tenant.Owner, inventorytest.Key(), first.ID, hall.Numbers(1, 4))
	if got := blockedSeats(t, hall, err); !slices.Equal(got, []string{"NOT_IN_BLOCK 4"}) {
		t.Errorf("in the way are %v", got)
	}

	key := inventorytest.Key()
	for range 2 { // the same request again changes nothing
		edit, err := stock.MoveSeats(t.Context(), tenant.Owner, key, first.ID, second.ID, hall.Numbers(3))
		if err != nil {
			t.Fatal(err)
		}
		if edit.Block.ID != second.ID || edit.Block.Free != 2 || edit.Block.Version != 2 {
			t.Errorf("the block is %+v", edit.Block)
		}
	}
	agency.Refused("IN_OTHER_BLOCK seat 3", hall.Seats(3))
	club.Hold(hall.Seats(3))
	if _, err := stock.AssignSeats(t.Context(), tenant.Owner, inventorytest.Key(), second.ID, hall.Numbers(6)); err != nil {
		t.Fatal(err)
	}
	if _, err := stock.ReleaseSeats(t.Context(), tenant.Owner, inventorytest.Key(), first.ID, hall.Numbers(1)); err != nil {
		t.Fatal(err)
	}
	guest.Hold(hall.Seats(1))
	expectBlock(t, tenant, first, 1, 0, 0)
	expectBlock(t, tenant, second, 2, 1, 0)
	if got, want := kinds(t, tenant, first), []string{"CREATED 3", "MOVED_OUT 1", "SEATS_RELEASED 1"}; !slices.Equal(got, want) {
		t.Errorf("kept is %v, want %v", got, want)
	}
	if got, want := kinds(t, tenant, second), []string{"CREATED 1", "MOVED_IN 1", "ASSIGNED 1"}; !slices.Equal(got, want) {
		t.Errorf("kept is %v, want %v", got, want)
	}

	// Whole rows and zones: row 2 has the seats 26 to 50, the hall has one zone.
	edit, err := stock.AssignSeats(t.Context(), tenant.Owner, inventorytest.Key(), first.ID, inventory.SeatSelection{
		Rows: []inventory.ZoneRow{{Zone: "Stalls", Row: "2"}}, Seats: hall.Numbers(26, 51, 51).Seats,
	})
	if err != nil || edit.Seats != 26 || edit.Block.Free != 27 {
		t.Errorf("%d seats were assigned, %d are free: %v", edit.Seats, edit.Block.Free, err)
	}
	seats, more, err := stock.SeatsOfBlock(t.Context(), tenant.Owner, first.ID, inventory.SeatID{}, 20)
	if err != nil || !more || len(seats) != 20 {
		t.Fatalf("%d seats are listed, more %v: %v", len(seats), more, err)
	}
	rest, more, err := stock.SeatsOfBlock(t.Context(), tenant.Owner, first.ID, seats[19].Seat, 20)
	if err != nil || more || len(rest) != 7 {
		t.Errorf("%d more seats are listed, more %v: %v", len(rest), more, err)
	}
	evening := hall.Another()
	if edit, err = stock.CreateSeatBlock(t.Context(), tenant.Owner, inventorytest.Key(), inventory.NewSeatBlock{
		Show: evening.Show, Channel: agency.Actor.Channel, Seats: inventory.SeatSelection{Zones: []string{"Stalls"}},
	}); err != nil || edit.Block.Free != 60 {
		t.Errorf("of the whole zone %d are free: %v", edit.Block.Free, err)
	}
	_, err = stock.MoveSeats(t.Context(), tenant.Owner, inventorytest.Key(), first.ID, edit.Block.ID, hall.Numbers(2))
	expectInvalid(t, err, "fromBlock", "different shows")
	tenant.Audit()
}

// With all workers stopped, a block whose moment has come is sold to everybody, and reads as released.
func TestADueBlockIsNone(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(8)
	agency, guest := tenant.Partner("Agency"), tenant.Guest()
	soon := tenant.Now().Add(time.Hour)
	edit, err := tenant.Inventory.CreateSeatBlock(t.Context(), tenant.Owner, inventorytest.Key(), inventory.NewSeatBlock{
		Show: hall.Show, Channel: agency.Actor.Channel, Release: inventory.Moment{At: &soon}, Seats: hall.Numbers(1, 2, 3),
	})
	if err != nil {
		t.Fatal(err)
	}
	block := edit.Block
	agency.Hold(hall.Seats(1))
	guest.Refused("IN_OTHER_BLOCK seat 2", hall.Seats(2))
	tenant.Expire(block)
	if status := guest.SeatStatus(hall, 2); status != inventory.SeatStatusAvailable {
		t.Errorf("the guest sees %s", status)
	}
	guest.Hold(hall.Seats(2))
	agency.Hold(hall.Seats(3))
	if read := tenant.ReadBlock(block); read.State != inventory.BlockStateReleased || read.Free+read.Held+read.Sold != 0 {
		t.Errorf("the block reads %+v", read)
	}
	seats, _, err := tenant.Inventory.SeatsOfBlock(t.Context(), tenant.Owner, block.ID, inventory.SeatID{}, 10)
	if err != nil || len(seats) > 0 {
		t.Errorf("the block lists %d seats: %v", len(seats), err)
	}
	// Nothing joins or leaves it any more, and its seats may join another.
	later := tenant.Now().Add(time.Hour)
	for what, change := range map[string]func() error{
		"assign": func() error {
			_, err := tenant.Inventory.AssignSeats(t.Context(), tenant.Owner, inventorytest.Key(), block.ID, hall.Numbers(4))
			return err
		},
		"release": func() error {
			_, err := tenant.Inventory.ReleaseSeats(t.Context(), tenant.Owner, inventorytest.Key(), block.ID, hall.Numbers(1))
			return err
		},
		"put off": func() error {
			_, err := tenant.Inventory.ChangeSeatBlock(t.Context(), tenant.Owner, inventorytest.Key(), block.ID, inventory.BlockTerms{Release: &inventory.Moment{At: &later}})
			return err
		},
	} {
		if refusal := refusalIn(t, change()); refusal.Code != inventory.RefusalBlockReleased {
			t.Errorf("%s: %s", what, refusal.Code)
		}
	}
	hall.Block(agency.Actor.Channel, 1, 4)
	tenant.Audit()
}

// The clocks of the venue, in Vienna, skip 02:30 on 31 March 2030 and show it twice on 27 October 2030.
func TestMomentsByTheClocksOfTheVenue(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(3)
	block := hall.Block(tenants.ChannelID{}, 1)
	for local, want := range map[string]string{
		"2030-01-15T18:00":    "2030-01-15T17:00:00Z",
		"2030-07-15T18:00:30": "2030-07-15T16:00:30Z",
		"2030-03-31T02:30":    "2030-03-31T01:30:00Z",
		"2030-10-27T02:30":    "2030-10-27T01:30:00Z",
	} {
		changed, err := tenant.Inventory.ChangeSeatBlock(t.Context(), tenant.Owner, inventorytest.Key(), block.ID, inventory.BlockTerms{Release: &inventory.Moment{Local: local}})
		if err != nil {
			t.Fatal(err)
		}
		if got := changed.ReleaseAt.UTC().Format(time.RFC3339); got != want {
			t.Errorf("%s is %s, want %s", local, got, want)
		}
	}
	note := "Until the cameras are placed"
	changed, err := tenant.Inventory.ChangeSeatBlock(t.Context(), tenant.Owner, inventorytest.Key(), block.ID, inventory.BlockTerms{NeverRelease: true, Note: &note})
	if err != nil || changed.ReleaseAt != nil || changed.Note != note || changed.Reason != "Camera" {
		t.Errorf("the block is %+v: %v", changed, err)
	}
}

// R11: two channels want one seat at the same moment that is moved between their blocks. One gets it.
func TestOneSeatBetweenTwoChannels(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(20)
	agency, club := tenant.Partner("Agency"), tenant.Partner("Club")
	from := hall.Block(agency.Actor.Channel, 1, 2, 3, 4, 5, 6, 7, 8)
	to := hall.Block(club.Actor.Channel, 20)
	for seat := 1; seat <= 8; seat++ {
		results := inventorytest.Race(3, func(i int) error {
			var err error
			switch i {
			case 0:
				_, err = agency.Try(hall.Seats(seat))
			case 1:
				_, err = club.Try(hall.Seats(seat))
			default:
				_, err = tenant.Inventory.MoveSeats(t.Context(), tenant.Owner, inventorytest.Key(), from.ID, to.ID, hall.Numbers(seat))
			}
			return err
		})
		if results[2] != nil {
			t.Errorf("the move of seat %d: %v", seat, results[2])
		}
		won, refused := tally(t, tenant, results[:2])
		for reason := range refused {
			if reason != fmt.Sprintf("IN_OTHER_BLOCK seat %d", seat) && reason != fmt.Sprintf("HELD_BY_OTHER seat %d", seat) {
				t.Errorf("seat %d is refused with %s", seat, reason)
			}
		}
		if won > 1 {
			t.Errorf("seat %d has %d owners", seat, won)
		}
	}
	tenant.Audit()
}

func TestBlocksOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	tenant, other := inventorytest.New(t), inventorytest.New(t)
	hall := tenant.Hall(4)
	stranger := inventorytest.Random[inventory.SeatKind]()
	past := tenant.Now().Add(-time.Hour)
	sound := inventory.NewSeatBlock{Show: hall.Show, Channel: tenant.Owner.Channel, Seats: hall.Numbers(1)}
	many := make([]inventory.SeatID, 20_001)
	for i := range many {
		many[i] = stranger
	}
	for _, c := range []struct {
		field, message string
		change         func(*inventory.NewSeatBlock)
	}{
		{"seats", "expected at least one seat", func(b *inventory.NewSeatBlock) { b.Seats = inventory.SeatSelection{} }},
		{"seats.seats[2]", "the show has no such seat", func(b *inventory.NewSeatBlock) {
			b.Seats = hall.Numbers(1, 2)
			b.Seats.Seats = append(b.Seats.Seats, stranger)
		}},
		{"seats.seats", "expected at most 20000, got 20001", func(b *inventory.NewSeatBlock) { b.Seats.Seats = many }},
		{"seats.zones[1]", `the hall has no zone "Moon"`, func(b *inventory.NewSeatBlock) { b.Seats.Zones = []string{"Stalls", "Moon"} }},
		{"seats.rows[0].zone", `the hall has no zone "Moon"`, func(b *inventory.NewSeatBlock) { b.Seats.Rows = []inventory.ZoneRow{{Zone: "Moon", Row: "1"}} }},
		{"seats.rows[0].row", `the zone "Stalls" has no row "9"`, func(b *inventory.NewSeatBlock) { b.Seats.Rows = []inventory.ZoneRow{{Zone: "Stalls", Row: "9"}} }},
		{"reason", "expected why", func(b *inventory.NewSeatBlock) { b.Channel = tenants.ChannelID{} }},
		{"reason", "expected 1 to 200 characters", func(b *inventory.NewSeatBlock) { b.Reason = strings.Repeat("x", 201) }},
		{"note", "expected 1 to 1000 characters", func(b *inventory.NewSeatBlock) { b.Note = "a\x00b" }},
		{"releaseAt", "expected a moment to come", func(b *inventory.NewSeatBlock) { b.Release.At = &past }},
		{"releaseAtLocal", "expected a date and time", func(b *inventory.NewSeatBlock) { b.Release.Local = "tomorrow" }},
		{"releaseAtLocal", "expected a date and time", func(b *inventory.NewSeatBlock) { b.Release.Local = "2030-02-30T10:00" }},
		{"releaseAtLocal", "not both", func(b *inventory.NewSeatBlock) { b.Release = inventory.Moment{At: &past, Local: "2030-02-20T10:00"} }},
	} {
		block := sound
		block.Seats = hall.Numbers(1)
		c.change(&block)
		_, err := tenant.Inventory.CreateSeatBlock(t.Context(), tenant.Owner, inventorytest.Key(), block)
		expectInvalid(t, err, c.field, c.message)
	}
	foreign := sound
	foreign.Channel = other.Owner.Channel
	if _, err := tenant.Inventory.CreateSeatBlock(t.Context(), tenant.Owner, inventorytest.Key(), foreign); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("another tenant's channel: %v", err)
	}
	if _, err := other.Inventory.CreateSeatBlock(t.Context(), other.Owner, inventorytest.Key(), sound); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("another tenant's show: %v", err)
	}
	block := hall.Block(tenant.Owner.Channel, 2)
	if _, err := other.Inventory.AssignSeats(t.Context(), other.Owner, inventorytest.Key(), block.ID, hall.Numbers(1)); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("another tenant's block: %v", err)
	}
	agency := tenant.Partner("Agency")
	if _, err := tenant.Inventory.SeatBlock(t.Context(), agency.Actor, block.ID); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("another channel's block: %v", err)
	}
	own := hall.Block(agency.Actor.Channel, 3)
	blocks, _, err := tenant.Inventory.SeatBlocks(t.Context(), agency.Actor, hall.Show, nil, 10)
	if err != nil || len(blocks) != 1 || blocks[0].ID != own.ID {
		t.Errorf("the agency sees %d blocks: %v", len(blocks), err)
	}
	if _, err := hall.TryBlock(agency.Actor.Channel, 1); err != nil {
		t.Errorf("the seats of refused blocks are not free: %v", err)
	}
}

// What a channel may sell is data; what it already holds of something else can be neither extended nor
// paid.
func TestChannelsSellWhatTheyMay(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(8, inventorytest.PoolOf("Floor", 10, 1))
	evening := hall.Another(inventorytest.PoolOf("Floor", 10, 1))
	agency, guest := tenant.Partner("Agency"), tenant.Guest()
	hold := agency.Hold(hall.Seats(1))
	set := func(sales inventory.ChannelSales) {
		t.Helper()
		sales.Channel = agency.Actor.Channel
		if _, err := tenant.Inventory.SetChannelSales(t.Context(), tenant.Owner, sales); err != nil {
			t.Fatal(err)
		}
	}
	set(inventory.ChannelSales{Shows: []inventory.ShowID{evening.Show, evening.Show}, EveryProperty: true, CommissionBasisPoints: 750})
	agency.Refused("0: NOT_SOLD_BY_CHANNEL, 1: NOT_SOLD_BY_CHANNEL Floor", hall.Seats(2), hall.Pools[0].Units(1))
	_, err := agency.TryExtend(hold)
	expectAnswer(t, tenant, err, "NOT_SOLD_BY_CHANNEL")
	agency.Hold(evening.Seats(2), evening.Pools[0].Units(1))
	guest.Hold(hall.Seats(2))
	read, err := tenant.Inventory.ChannelSales(t.Context(), tenant.Owner, agency.Actor.Channel)
	if err != nil || read.EveryShow || !read.EveryProperty || len(read.Shows) != 1 || read.CommissionBasisPoints != 750 {
		t.Errorf("the channel sells %+v: %v", read, err)
	}
	set(inventory.ChannelSales{EveryShow: true, EveryProperty: true})
	agency.Extend(hold)

	other := inventorytest.New(t)
	foreign := other.Hall(1)
	_, err = tenant.Inventory.SetChannelSales(t.Context(), tenant.Owner, inventory.ChannelSales{Channel: agency.Actor.Channel, Shows: []inventory.ShowID{foreign.Show}})
	if fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("another tenant's show: %v", err)
	}
	_, err = tenant.Inventory.SetChannelSales(t.Context(), tenant.Owner, inventory.ChannelSales{Channel: agency.Actor.Channel, CommissionBasisPoints: 10_001})
	expectInvalid(t, err, "commissionBasisPoints", "expected 0 to 10000")
	agency.Hold(hall.Seats(3))
}
