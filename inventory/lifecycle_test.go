package inventory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/tenants"
)

func TestExtending(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	n := inventorytest.Of[int64]
	e.tenant.SetTerms(inventory.TermsChange{HoldSeconds: n(300), MaxExtensions: n(2), MaxHoldSeconds: n(500)})
	guest := e.tenant.Guest()
	hold := guest.Hold(e.hall.Seats(1), e.floor.Units(1), e.room.Stay(5, 7))
	if hold.MaxExtensions != 2 || hold.Deadline.Sub(hold.PlacedAt) != 300*time.Second {
		t.Fatalf("the hold is %+v", hold)
	}
	e.tenant.Tick(100 * time.Second)
	before := guest.Read(hold)
	extended := guest.Extend(hold)
	gained := extended.Deadline.Sub(before.Deadline)
	if gained < 100*time.Second || gained > 130*time.Second || extended.Extensions != 1 || extended.ClaimableAt != extended.Deadline {
		t.Errorf("extended by %s: %+v", gained, extended)
	}

	// The same request extends nothing again.
	again, err := e.tenant.Inventory.ExtendHold(t.Context(), guest.Actor, hold.ID, "second")
	if err != nil {
		t.Fatal(err)
	}
	e.tenant.Tick(time.Second)
	replay, err := e.tenant.Inventory.ExtendHold(t.Context(), guest.Actor, hold.ID, "second")
	if err != nil || replay.Extensions != 2 || !replay.Deadline.Equal(again.Deadline.Add(-time.Second)) || replay.Version != again.Version {
		t.Errorf("the replay says %+v, %v", replay, err)
	}
	_, err = guest.TryExtend(hold)
	expectAnswer(t, e.tenant, err, "NO_EXTENSION_LEFT")
	e.tenant.Audit()
}

func TestAnExtensionIsCapped(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	n := inventorytest.Of[int64]
	e.tenant.SetTerms(inventory.TermsChange{HoldSeconds: n(300), MaxExtensions: n(5), MaxHoldSeconds: n(400)})
	guest := e.tenant.Guest()
	hold := guest.Hold(e.hall.Seats(1))
	e.tenant.Tick(200 * time.Second)
	extended := guest.Extend(hold)
	if got := extended.Deadline.Sub(extended.PlacedAt); got != 400*time.Second {
		t.Errorf("it now lasts %s from when it was placed, want the cap of 400 s", got)
	}
	_, err := guest.TryExtend(hold)
	expectAnswer(t, e.tenant, err, "NO_EXTENSION_LEFT")

	// A cap below the lease caps the lease.
	e.tenant.SetTerms(inventory.TermsChange{HoldSeconds: n(300), MaxHoldSeconds: n(60)})
	short := guest.Hold(e.hall.Seats(2))
	if got := short.Deadline.Sub(short.PlacedAt); got != time.Minute {
		t.Errorf("a hold lasts %s, want the cap of a minute", got)
	}
}

func TestOnlyALiveHoldIsExtended(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest, stranger := e.tenant.Guest(), e.tenant.Guest()
	hold := guest.Hold(e.hall.Seats(1))
	_, err := stranger.TryExtend(hold)
	expectAnswer(t, e.tenant, err, "not_found: no such hold")
	_, err = stranger.TryRelease(hold)
	expectAnswer(t, e.tenant, err, "not_found: no such hold")
	e.tenant.Lapse(hold)
	_, err = guest.TryExtend(hold)
	expectAnswer(t, e.tenant, err, "HOLD_EXPIRED")
	if got := guest.Read(hold); got.Extensions != 0 || got.State != inventory.HoldStateExpired {
		t.Errorf("%+v", got)
	}

	paid := guest.Hold(e.hall.Seats(2))
	if _, err := e.tenant.Checkout(paid.ID); err != nil {
		t.Fatal(err)
	}
	_, err = guest.TryExtend(paid)
	expectAnswer(t, e.tenant, err, "PAYMENT_IN_PROGRESS")
	_, err = guest.TryRelease(paid)
	expectAnswer(t, e.tenant, err, "PAYMENT_IN_PROGRESS")
	if _, err := e.tenant.Confirm(paid.ID); err != nil {
		t.Fatal(err)
	}
	_, err = guest.TryExtend(paid)
	expectAnswer(t, e.tenant, err, "HOLD_ENDED")
	_, err = guest.TryRelease(paid)
	expectAnswer(t, e.tenant, err, "HOLD_ENDED")
	if got := guest.SeatStatus(e.hall, 2); got != inventory.SeatStatusBooked {
		t.Errorf("the sold seat is %s", got)
	}
	e.tenant.Audit()
}

// R34: what is released comes back by the exact amount, once.
func TestReleasingGivesBackOnce(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest, other := e.tenant.Guest(), e.tenant.Guest()
	kept := guest.Hold(e.floor.Units(1), e.room.Stay(5, 6))
	hold := guest.Hold(e.hall.Seats(1, 2), e.floor.Units(3), e.room.Stay(4, 7))
	other.Refused("SOLD_OUT Floor left 0", e.floor.Units(1))

	released := guest.Release(hold)
	if released.State != inventory.HoldStateReleased || released.EndedAt == nil {
		t.Errorf("released: %+v", released)
	}
	for range 2 {
		if again := guest.Release(hold); again.State != inventory.HoldStateReleased || again.Version != released.Version {
			t.Errorf("released again: %+v", again)
		}
	}
	// Many at once on another hold: one of them does it.
	second := guest.Hold(e.hall.Seats(1, 2), e.floor.Units(3), e.room.Stay(4, 7))
	for _, err := range inventorytest.Race(8, func(int) error {
		_, err := guest.TryRelease(second)
		return err
	}) {
		if err != nil {
			t.Error(e.tenant.Explain(err))
		}
	}
	expectCount(t, "the pool", e.floor.Count(), 4, 1, 0)
	expectCount(t, "the night", e.room.Count(5), 2, 1, 0)
	expectCount(t, "the house", e.hotel.HouseCount(5), 2, 1, 0)
	e.tenant.Audit()
	other.Hold(e.hall.Seats(1, 2), e.floor.Units(3), e.room.Stay(4, 7))
	if got := guest.Read(kept).State; got != inventory.HoldStateActive {
		t.Errorf("the other hold is %s", got)
	}
}

// R76, the part of the stock: nobody swept. After the deadline a success buys the whole hold, or
// nothing of it, by the policy of the terms.
func TestASuccessAfterTheDeadline(t *testing.T) {
	t.Parallel()
	for policy, confirms := range map[inventory.LatePayment]bool{inventory.LatePaymentHonour: true, inventory.LatePaymentRefund: false} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			e := newEvening(t)
			e.tenant.SetTerms(inventory.TermsChange{LatePayment: &policy})
			guest := e.tenant.Guest()
			hold := guest.Hold(e.hall.Seats(1, 2), e.floor.Units(3), e.room.Stay(5, 7))
			processing, err := e.tenant.Checkout(hold.ID)
			if err != nil {
				t.Fatal(err)
			}
			grace := processing.ClaimableAt.Sub(processing.Deadline)
			if want := map[bool]time.Duration{true: 2 * time.Minute, false: 0}[confirms]; grace != want {
				t.Errorf("the grace is %s, want %s", grace, want)
			}
			e.tenant.Lapse(hold)
			confirmed, err := e.tenant.Confirm(hold.ID)
			if confirms {
				if err != nil || confirmed.State != inventory.HoldStateConfirmed {
					t.Fatalf("%+v, %v", confirmed, err)
				}
				expectCount(t, "the pool", e.floor.Count(), 4, 0, 3)
				expectCount(t, "the night", e.room.Count(6), 2, 0, 1)
				expectCount(t, "the house", e.hotel.HouseCount(6), 2, 0, 1)
			} else {
				if !errors.Is(err, inventorytest.ErrNotConfirmable) {
					t.Fatalf("%+v, %v", confirmed, err)
				}
				expectCount(t, "the pool", e.floor.Count(), 4, 3, 0)
			}
			e.tenant.Audit()

			// Within its time it is confirmed under either policy, and only once.
			intime := guest.Hold(e.hall.Seats(3))
			if _, err := e.tenant.Checkout(intime.ID); err != nil {
				t.Fatal(err)
			}
			results := inventorytest.Race(4, func(int) error {
				_, err := e.tenant.Confirm(intime.ID)
				return err
			})
			won := 0
			for _, err := range results {
				if err == nil {
					won++
				} else if !errors.Is(err, inventorytest.ErrNotConfirmable) {
					t.Error(err)
				}
			}
			if won != 1 {
				t.Errorf("confirmed %d times: %v", won, results)
			}
			e.tenant.Audit()
		})
	}
}

// While a payment's outcome is unknown nobody else is offered the units: HONOUR keeps them through
// the grace. Under REFUND they are free from the deadline on.
func TestTheGraceOfAPayment(t *testing.T) {
	t.Parallel()
	for policy, kept := range map[inventory.LatePayment]bool{inventory.LatePaymentHonour: true, inventory.LatePaymentRefund: false} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			e := newEvening(t)
			e.tenant.SetTerms(inventory.TermsChange{LatePayment: &policy})
			guest, other := e.tenant.Guest(), e.tenant.Guest()
			wishes := []inventory.LineRequest{e.hall.Seats(1), e.floor.Units(4)}
			hold := guest.Hold(wishes...)
			if _, err := e.tenant.Checkout(hold.ID); err != nil {
				t.Fatal(err)
			}
			e.tenant.Tick(170 * time.Second) // after the deadline, within the grace
			_, err := other.Try(wishes...)
			if kept {
				expectAnswer(t, e.tenant, err, "0: HELD_BY_OTHER seat 1, 1: SOLD_OUT Floor left 0")
				e.tenant.Tick(170 * time.Second)
				other.Hold(wishes...)
			} else {
				expectAnswer(t, e.tenant, err, "held")
			}
			if _, err := e.tenant.Confirm(hold.ID); !errors.Is(err, inventorytest.ErrNotConfirmable) {
				t.Errorf("a success for units that have a newer owner: %v", err)
			}
			e.tenant.Audit()
		})
	}
}

// R33: a declined payment returns the units at once, or keeps them until the original deadline for
// another card; never twice.
func TestADeclinedPayment(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest, other := e.tenant.Guest(), e.tenant.Guest()
	wishes := []inventory.LineRequest{e.hall.Seats(1), e.floor.Units(4), e.room.Rooms(2, 5, 6)}
	hold := guest.Hold(wishes...)
	if _, err := e.tenant.Checkout(hold.ID); err != nil {
		t.Fatal(err)
	}
	if declined, err := e.tenant.Decline(hold.ID); err != nil || declined.State != inventory.HoldStateReleased {
		t.Fatalf("%+v, %v", declined, err)
	}
	if _, err := e.tenant.Decline(hold.ID); err == nil {
		t.Error("declined twice")
	}
	e.tenant.Audit()

	keep := inventory.OnDeclineKeep
	e.tenant.SetTerms(inventory.TermsChange{OnDecline: &keep})
	hold = guest.Hold(wishes...)
	e.tenant.Tick(60 * time.Second)
	if _, err := e.tenant.Checkout(hold.ID); err != nil {
		t.Fatal(err)
	}
	declined, err := e.tenant.Decline(hold.ID)
	if err != nil || declined.State != inventory.HoldStateActive || !declined.Deadline.Equal(hold.Deadline.Add(-60*time.Second)) {
		t.Fatalf("%+v, %v; the first deadline was %s", declined, err, hold.Deadline)
	}
	other.Refused("0: HELD_BY_OTHER seat 1, 1: SOLD_OUT Floor left 0, 2: SOLD_OUT 5 Nov left 0, 2: HOUSE_FULL 5 Nov left 0", wishes...)
	e.tenant.Audit()
	if _, err := e.tenant.Checkout(hold.ID); err != nil {
		t.Errorf("a second card: %v", err)
	}
	e.tenant.Tick(250 * time.Second)
	if _, err := e.tenant.Decline(hold.ID); err != nil {
		t.Fatal(err)
	}
	other.Hold(wishes...)
	e.tenant.Audit()
}

// A cancellation gives booked units back through the same guarded path, once.
func TestReturningWhatWasBooked(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest := e.tenant.Guest()
	wishes := []inventory.LineRequest{e.hall.Seats(1, 2), e.floor.Units(3), e.room.Stay(5, 7)}
	hold := guest.Hold(wishes...)
	confirmed, err := e.tenant.Confirm(hold.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.tenant.Return(confirmed); err != nil {
		t.Fatal(err)
	}
	e.tenant.Audit(hold.ID)
	newer := e.tenant.Guest().Hold(wishes...)
	if err := e.tenant.Return(confirmed); err == nil {
		t.Error("returned twice")
	}
	e.tenant.Audit(hold.ID)
	// Nor when the seats are booked again: they have a newer owner.
	sold := e.tenant.Guest().Hold(e.hall.Seats(3))
	if _, err := e.tenant.Confirm(sold.ID); err != nil {
		t.Fatal(err)
	}
	stray := confirmed
	stray.Lines = sold.Lines
	if err := e.tenant.Return(stray); err == nil {
		t.Error("a hold gave back the seats of another")
	}
	if got := guest.SeatStatus(e.hall, 3); got != inventory.SeatStatusBooked {
		t.Errorf("the other's seat is %s", got)
	}
	if got, err := e.tenant.Inventory.Hold(t.Context(), e.tenant.Owner, newer.ID); err != nil || got.State != inventory.HoldStateActive {
		t.Errorf("the newer hold is %s, %v", got.State, err)
	}
}

// Whoever closes a sale between hold and payment closes it for the extension too (R35).
func TestASaleThatClosesInBetween(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest := e.tenant.Guest()
	seats, floor := guest.Hold(e.hall.Seats(1)), guest.Hold(e.floor.Units(1))
	night := guest.Hold(e.room.Stay(5, 6))
	e.hall.SetState(inventory.ShowStateClosed)
	guest.Refused("SALE_CLOSED", e.hall.Seats(2))
	guest.Refused("SALE_CLOSED Floor", e.floor.Units(1))
	for _, hold := range []inventory.Hold{seats, floor} {
		_, err := guest.TryExtend(hold)
		expectAnswer(t, e.tenant, err, "SALE_CLOSED")
	}
	guest.Extend(night)
	e.hall.SetState(inventory.ShowStateOnSale)
	guest.Extend(seats)

	suspended := guest
	suspended.Actor.ChannelSuspended = true
	suspended.Refused("CHANNEL_SUSPENDED", e.hall.Seats(2))
	_, err := suspended.TryExtend(floor)
	expectAnswer(t, e.tenant, err, "CHANNEL_SUSPENDED")
	suspended.Release(floor)
}

func TestTheSaleWindow(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(3)
	now := tenant.Now()
	evening, yesterday := hall.NewShow().StartsAt, now.Add(-24*time.Hour)
	for _, window := range []struct {
		starts        time.Time
		opens, closes *time.Time
		want          string
	}{
		{evening, inventorytest.Of(now.Add(time.Hour)), nil, "SALE_NOT_OPEN"},
		{evening, inventorytest.Of(now.Add(-time.Hour)), nil, "held"},
		{evening, nil, inventorytest.Of(now.Add(time.Hour)), "held"},
		{evening, nil, inventorytest.Of(now), "SALE_CLOSED"},
		{evening, inventorytest.Of(now.Add(-2 * time.Hour)), inventorytest.Of(now.Add(-time.Hour)), "SALE_CLOSED"},
		// A sale without an end of its own ends when the show starts.
		{yesterday, nil, nil, "SALE_CLOSED"},
		{yesterday, nil, inventorytest.Of(now.Add(time.Hour)), "held"},
	} {
		input := hall.NewShow()
		input.StartsAt = window.starts
		input.SaleOpensAt, input.SaleClosesAt = window.opens, window.closes
		show, err := tenant.Inventory.CreateShow(t.Context(), tenant.Owner, inventorytest.Key(), input)
		if err != nil {
			t.Fatal(err)
		}
		wish := hall.Seats(1)
		wish.Seats.Show = show
		_, err = tenant.Guest().Try(wish)
		expectAnswer(t, tenant, err, window.want)
	}
}

// R70: the limit per buyer holds when the buyer asks many times at once.
func TestParallelHoldsAgainstTheBuyersLimit(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	tenant.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: inventorytest.Of[int64](2)})
	hall := tenant.Hall(20, inventorytest.PoolOf("Floor", 100, 8))
	room := tenant.Hotel().Stocked("Double", 20, 5, 5)
	guest := tenant.Guest()
	holds := make([]inventory.Hold, 12)
	won, refused := tally(t, tenant, inventorytest.Race(12, func(i int) (err error) {
		wish := []inventory.LineRequest{hall.Seats(1 + i), hall.Pools[0].Units(2), room.Stay(5, 6)}[i%3]
		holds[i], err = guest.Try(wish)
		return err
	}))
	if won != 2 || refused["LIMIT_PER_BUYER limit 2"] != 10 {
		t.Errorf("%d holds of at most 2, the others were told %v", won, refused)
	}
	// Another buyer has a limit of their own, and one that has ended no longer counts.
	tenant.Guest().Hold(hall.Seats(15))
	for _, hold := range holds {
		if !hold.ID.IsZero() {
			tenant.Lapse(hold)
			break
		}
	}
	guest.Hold(hall.Seats(16))
	guest.Refused("LIMIT_PER_BUYER limit 2", hall.Seats(17))
	tenant.Audit()
	// Sellers who buy for their customers have none.
	agency := tenant.Partner("Agency")
	for i := range 4 {
		agency.Hold(hall.Seats(17 + i))
	}
}

func TestLimitsPerHold(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	n := inventorytest.Of[int64]
	e.tenant.SetTerms(inventory.TermsChange{MaxSeatsPerHold: n(3), MaxQuantityPerHold: n(2), MaxNightsPerStay: n(4)})
	guest := e.tenant.Guest()
	guest.Refused("LIMIT_PER_HOLD limit 3", e.hall.Seats(1, 2, 3, 4))
	guest.Refused("LIMIT_PER_HOLD limit 2", e.floor.Units(3))
	guest.Refused("STAY_TOO_LONG limit 4", e.room.Stay(1, 6))
	guest.Refused("1: LIMIT_PER_HOLD limit 2", e.floor.Units(1), e.room.Rooms(2, 3, 4))
	guest.Hold(e.hall.Seats(1, 2, 3), e.floor.Units(1), e.room.Stay(1, 5))

	// Of a show's own terms and a hotel's, the stricter count.
	service := e.tenant.Inventory
	if _, err := service.SetTerms(t.Context(), e.tenant.Owner, inventory.TermsScope{Show: &e.hall.Show}, inventory.TermsChange{HoldSeconds: n(200), MaxSeatsPerHold: n(1)}); err != nil {
		t.Fatal(err)
	}
	if _, err := service.SetTerms(t.Context(), e.tenant.Owner, inventory.TermsScope{Property: &e.hotel.Property.ID}, inventory.TermsChange{HoldSeconds: n(100)}); err != nil {
		t.Fatal(err)
	}
	guest.Refused("LIMIT_PER_HOLD limit 1", e.hall.Seats(4, 5))
	for _, lease := range []struct {
		wishes []inventory.LineRequest
		want   time.Duration
	}{
		{[]inventory.LineRequest{e.hall.Seats(4)}, 200 * time.Second},
		{[]inventory.LineRequest{e.room.Stay(8, 9)}, 100 * time.Second},
		{[]inventory.LineRequest{e.hall.Seats(5), e.room.Stay(9, 10)}, 100 * time.Second},
	} {
		hold := e.tenant.Guest().Hold(lease.wishes...)
		if got := hold.Deadline.Sub(hold.PlacedAt); got != lease.want {
			t.Errorf("a lease of %s, want %s", got, lease.want)
		}
	}
}

// A hold keeps the terms under which it was placed.
func TestTermsDoNotChangeAHold(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest := e.tenant.Guest()
	hold := guest.Hold(e.hall.Seats(1))
	refund, n := inventory.LatePaymentRefund, inventorytest.Of[int64]
	e.tenant.SetTerms(inventory.TermsChange{HoldSeconds: n(1), MaxExtensions: n(0), GraceSeconds: n(0), LatePayment: &refund})
	guest.Extend(hold)
	processing, err := e.tenant.Checkout(hold.ID)
	if err != nil || processing.ClaimableAt.Sub(processing.Deadline) != 2*time.Minute {
		t.Errorf("%+v, %v", processing, err)
	}
}

// Who may see a hold.
func TestWhoSeesAHold(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest, agency := e.tenant.Guest(), e.tenant.Partner("Agency")
	hold := guest.Hold(e.hall.Seats(1))
	sold := agency.Hold(e.hall.Seats(2))
	other := inventorytest.New(t)
	for _, reader := range []struct {
		who   string
		actor tenants.Actor
		hold  inventory.HoldID
		want  string
	}{
		{"its guest", guest.Actor, hold.ID, "held"},
		{"the admin", e.tenant.Owner, hold.ID, "held"},
		{"another guest", e.tenant.Guest().Actor, hold.ID, "not_found: no such hold"},
		{"a partner of another channel", agency.Actor, hold.ID, "not_found: no such hold"},
		{"its partner", agency.Actor, sold.ID, "held"},
		{"another tenant's admin", other.Owner, hold.ID, "not_found: no such hold"},
		{"another tenant's guest", other.Guest().Actor, hold.ID, "not_found: no such hold"},
		{"nobody's hold", guest.Actor, inventorytest.Random[inventory.HoldKind](), "not_found: no such hold"},
	} {
		_, err := e.tenant.Inventory.Hold(t.Context(), reader.actor, reader.hold)
		if got := e.tenant.Explain(err); got != reader.want {
			t.Errorf("%s: got %s, want %s", reader.who, got, reader.want)
		}
	}
}
