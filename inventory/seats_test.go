package inventory_test

import (
	"slices"
	"testing"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// A holds 54-56, B asks for 56-57: B gets nothing, is told which seat was lost, and 57 stays free.
func TestAPartOfASetIsNothing(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(60)
	a, b := tenant.Guest(), tenant.Guest()

	hold := a.Hold(hall.Seats(54, 55, 56))
	if hold.Total.Minor != 3*inventorytest.SeatPrice || hold.Total.Currency != "EUR" || len(hold.Lines) != 3 {
		t.Errorf("the hold is %+v", hold)
	}
	b.Refused("HELD_BY_OTHER seat 56", hall.Seats(56, 57))

	for number, want := range map[int]inventory.SeatStatus{
		53: inventory.SeatStatusAvailable, 54: inventory.SeatStatusHeld, 56: inventory.SeatStatusHeld, 57: inventory.SeatStatusAvailable,
	} {
		if got := b.SeatStatus(hall, number); got != want {
			t.Errorf("seat %d is %s, want %s", number, got, want)
		}
	}
	b.Hold(hall.Seats(57))
	tenant.Audit()
}

func TestARefusalNamesEverySeat(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(10)
	a, b := tenant.Guest(), tenant.Guest()
	mine := b.Hold(hall.Seats(4))
	a.Hold(hall.Seats(1, 3))
	sold := a.Hold(hall.Seats(5))
	if _, err := tenant.Confirm(sold.ID); err != nil {
		t.Fatal(err)
	}
	wish := hall.Seats(1, 2, 3, 4, 5)
	stranger := inventorytest.Random[inventory.SeatKind]()
	wish.Seats.Seats = append(wish.Seats.Seats, stranger)
	b.Refused("HELD_BY_OTHER seat 1, HELD_BY_OTHER seat 3, HELD_BY_YOU seat 4 yours, HELD_BY_OTHER seat 5, NO_SUCH_SEAT seat ?", wish)
	_, err := b.Try(hall.Seats(4))
	refusal := refusalIn(t, err)
	if id := refusal.Lines[0].HeldByYou; id == nil || *id != mine.ID {
		t.Errorf("the buyer's own hold is %v, want %v", id, mine.ID)
	}
	// Nobody is told that somebody else took the seat that they bought.
	a.Refused("HELD_BY_YOU seat 5 yours", hall.Seats(5))
}

// 200 buyers want one of 10 seats each.
func TestTwoHundredBuyersOnTenSeats(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(10)
	guests := tenant.Guests(200)
	holds := make([]inventory.Hold, len(guests))
	won, refused := tally(t, tenant, inventorytest.Race(len(guests), func(i int) error {
		hold, err := guests[i].Try(hall.Seats(1 + i%10))
		holds[i] = hold
		return err
	}))
	if won != 10 {
		t.Errorf("%d won 10 seats", won)
	}
	for number := range 10 {
		delete(refused, "HELD_BY_OTHER seat "+string(rune('1'+number)))
	}
	delete(refused, "HELD_BY_OTHER seat 10")
	if len(refused) > 0 {
		t.Errorf("others were refused for %v", refused)
	}
	var seats []string
	for _, hold := range holds {
		for _, line := range hold.Lines {
			seats = append(seats, line.Seat.String())
		}
	}
	slices.Sort(seats)
	if n := len(slices.Compact(seats)); n != 10 {
		t.Errorf("%d seats have an owner", n)
	}
	tenant.Audit()
}

// Sets that overlap in a ring: whoever wins, nobody has a part, and locks in one order never leave
// two buyers waiting for each other for good.
func TestOverlappingSetsNeverSplit(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(12)
	guests := tenant.Guests(24)
	won, _ := tally(t, tenant, inventorytest.Race(len(guests), func(i int) error {
		first := i % 12
		_, err := guests[i].Try(hall.Seats(1+(first+2)%12, 1+first, 1+(first+1)%12))
		return err
	}))
	if won < 2 || won > 4 {
		t.Errorf("%d sets of 3 were held on 12 seats in a ring", won)
	}
	if held := len(heldSeats(tenant.Guest(), hall, 12)); held != 3*won {
		t.Errorf("%d seats are held by %d winners", held, won)
	}
	tenant.Audit()
}

func heldSeats(b inventorytest.Buyer, hall *inventorytest.Hall, seats int) []int {
	var held []int
	for number := 1; number <= seats; number++ {
		if b.SeatStatus(hall, number) != inventory.SeatStatusAvailable {
			held = append(held, number)
		}
	}
	return held
}

// The same seat of another show is another unit, also within one hold.
func TestTheSameSeatOfTwoShows(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	matinee := tenant.Hall(5)
	evening := matinee.Another()
	a, b := tenant.Guest(), tenant.Guest()
	a.Hold(matinee.Seats(1), evening.Seats(2))
	b.Hold(evening.Seats(1))
	b.Refused("0: HELD_BY_OTHER seat 1, 1: HELD_BY_OTHER seat 2", matinee.Seats(1), evening.Seats(2))
	b.Hold(matinee.Seats(2))
	tenant.Audit()
}
