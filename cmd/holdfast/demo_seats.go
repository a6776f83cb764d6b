package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// A holds 54-56, B asks for 56-57: B gets nothing and 57 stays free.
func playSeatConflict(ctx context.Context, s *demoStage) (string, error) {
	seller, err := s.sells(ctx, "seat-conflict", nil)
	if err != nil {
		return "", err
	}
	hall, err := seller.hall(ctx, 60, 0)
	if err != nil {
		return "", err
	}
	a, b, err := seller.guests(ctx)
	if err != nil {
		return "", err
	}
	if _, err := a.holds(ctx, hall.seats(54, 55, 56)); err != nil {
		return "", err
	}
	refusal, err := b.isRefused(ctx, "HELD_BY_OTHER", hall.seats(56, 57))
	if err != nil {
		return "", err
	}
	if len(refusal.Refused) != 1 || hall.numbers[refusal.Refused[0].SeatID] != 56 {
		return "", fmt.Errorf("expected B to be refused for seat 56 alone, saw %+v", refusal.Refused)
	}
	if err := hall.expect(ctx, "HELD", 54, 55, 56); err != nil {
		return "", err
	}
	if err := hall.expect(ctx, "AVAILABLE", 53, 57); err != nil {
		return "", err
	}
	if _, err := b.holds(ctx, hall.seats(57)); err != nil {
		return "", err
	}
	return "A holds seats 54-56; B asked for 56-57, was refused for seat 56 (HELD_BY_OTHER) and got nothing; 57 stayed free, and B then held it alone.", nil
}

// 200 buyers at once on 10 seats.
func playLastUnitRace(ctx context.Context, s *demoStage) (string, error) {
	const buyers, seats = 200, 10
	seller, err := s.sells(ctx, "last-unit-race", nil)
	if err != nil {
		return "", err
	}
	hall, err := seller.hall(ctx, seats, 0)
	if err != nil {
		return "", err
	}
	crowd, err := seller.crowd(ctx, buyers)
	if err != nil {
		return "", err
	}
	answers := make([]apiPlaced, buyers)
	gun := make(chan struct{})
	var race errgroup.Group
	for i, buyer := range crowd {
		race.Go(func() error {
			<-gun
			var err error
			answers[i], err = buyer.asks(ctx, randomName(), hall.seats(1+i%seats))
			return err
		})
	}
	started := time.Now()
	close(gun)
	if err := race.Wait(); err != nil {
		return "", err
	}
	took := time.Since(started)
	owners := map[string]int{}
	refused := map[string]int{}
	for _, answer := range answers {
		if answer.Code != "" {
			refused[answer.Code]++
			continue
		}
		for _, line := range answer.Lines {
			owners[line.Unit.SeatID]++
		}
	}
	for seat, n := range owners {
		if n != 1 {
			return "", fmt.Errorf("expected one owner of seat %d, saw %d", hall.numbers[seat], n)
		}
	}
	if len(owners) != seats || refused["HELD_BY_OTHER"] != buyers-seats {
		return "", fmt.Errorf("expected %d winners and %d refused with HELD_BY_OTHER, saw %d winners and %v", seats, buyers-seats, len(owners), refused)
	}
	if err := hall.expect(ctx, "HELD", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d buyers at once on %d seats: exactly %d won, one owner a seat, and %d were refused (HELD_BY_OTHER), all within %.1f s.",
		buyers, seats, len(owners), refused["HELD_BY_OTHER"], took.Seconds()), nil
}

// crowd is many guests with a session each.
func (s *demoSeller) crowd(ctx context.Context, size int) ([]demoBuyer, error) {
	const atOnce = 16
	crowd := make([]demoBuyer, size)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range crowd {
		group.Go(func() (err error) {
			crowd[i], err = s.guest(ctx, fmt.Sprintf("buyer %d", i+1))
			return err
		})
	}
	return crowd, group.Wait()
}

// Two seats and two nights in one hold.
func playMixedHold(ctx context.Context, s *demoStage) (string, error) {
	seller, err := s.sells(ctx, "mixed-hold", nil)
	if err != nil {
		return "", err
	}
	hall, err := seller.hall(ctx, 10, 0)
	if err != nil {
		return "", err
	}
	hotel, err := seller.hotel(ctx, 4)
	if err != nil {
		return "", err
	}
	a, b, err := seller.guests(ctx)
	if err != nil {
		return "", err
	}
	hold, err := a.holds(ctx, hall.seats(1, 2), hotel.stay(0, 2))
	if err != nil {
		return "", err
	}
	kinds := map[string]int{}
	for _, line := range hold.Lines {
		kinds[line.Unit.Kind]++
	}
	const price = 2*demoSeatMinor + 2*demoNightMinor
	if kinds["SEAT"] != 2 || kinds["NIGHT"] != 2 || hold.Total.AmountMinor != price {
		return "", fmt.Errorf("expected 2 seats and 2 nights for %d cents, saw %v for %d", price, kinds, hold.Total.AmountMinor)
	}
	// One lost night loses B the free seat, too.
	if _, err := b.isRefused(ctx, "SOLD_OUT", hall.seats(3), hotel.stay(1, 3)); err != nil {
		return "", err
	}
	if err := hall.expect(ctx, "AVAILABLE", 3); err != nil {
		return "", err
	}
	if err := hotel.expect(ctx, 0, 0, 1, 1); err != nil {
		return "", err
	}
	paid, err := a.pays(ctx, hold, "tok_approve")
	if err != nil {
		return "", err
	}
	if paid.Booking == nil || len(paid.Booking.Lines) != 4 {
		return "", fmt.Errorf("expected one booking of 4 lines, saw %+v in state %s", paid.Booking, paid.Hold.State)
	}
	return fmt.Sprintf("A held seats 1-2 and 2 nights in one hold for %s and paid once: booking %s has all 4 units. B asked for seat 3 with one of those nights and got neither.",
		hold.Total.Formatted, paid.Booking.Reference), nil
}

// The same request again is answered with the same hold and deadline; other content is refused.
func playReplay(ctx context.Context, s *demoStage) (string, error) {
	const times = 10
	seller, err := s.sells(ctx, "replay", nil)
	if err != nil {
		return "", err
	}
	hall, err := seller.hall(ctx, 10, 10)
	if err != nil {
		return "", err
	}
	a, err := seller.guest(ctx, "A")
	if err != nil {
		return "", err
	}
	key := randomName()
	wish := []apiInput{hall.seats(1), poolInput(hall.pool, 2)}
	answers := make([]apiPlaced, times)
	var group errgroup.Group
	for i := range answers {
		group.Go(func() (err error) {
			answers[i], err = a.asks(ctx, key, wish...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return "", err
	}
	for _, answer := range answers {
		if answer.ID == "" || answer.ID != answers[0].ID || !answer.Deadline.Equal(answers[0].Deadline) {
			return "", fmt.Errorf("expected %d times hold %s until %s, saw hold %q until %s with code %q",
				times, answers[0].ID, answers[0].Deadline, answer.ID, answer.Deadline, answer.Code)
		}
	}
	other, err := a.asks(ctx, key, hall.seats(2))
	if err != nil {
		return "", err
	}
	if other.Code != "REQUEST_KEY_REUSED" {
		return "", fmt.Errorf("expected REQUEST_KEY_REUSED for other content, saw hold %q, code %q", other.ID, other.Code)
	}
	view, err := hall.view(ctx)
	if err != nil {
		return "", err
	}
	if left := view.Pools[0].Available; left != 8 {
		return "", fmt.Errorf("expected 8 of 10 standing places left after one hold of 2, saw %d", left)
	}
	if err := hall.expect(ctx, "AVAILABLE", 2); err != nil {
		return "", err
	}
	return fmt.Sprintf("One request sent %d times at once made one hold, every answer with the deadline %s; other content under its key was refused (REQUEST_KEY_REUSED); 8 of 10 standing places are left.",
		times, answers[0].Deadline.Format("15:04:05.000")), nil
}

// With every worker stopped, everything can be held again past the deadline.
func playAbandonedCart(ctx context.Context, s *demoStage) (string, error) {
	if s.workers != nil {
		return "", fmt.Errorf("expected no worker to run, saw some")
	}
	seller, err := s.sells(ctx, "abandoned-cart", apiInput{"holdSeconds": 2, "maxExtensions": 0})
	if err != nil {
		return "", err
	}
	hall, err := seller.hall(ctx, 2, 3)
	if err != nil {
		return "", err
	}
	hotel, err := seller.hotel(ctx, 2)
	if err != nil {
		return "", err
	}
	a, b, err := seller.guests(ctx)
	if err != nil {
		return "", err
	}
	everything := []apiInput{hall.seats(1, 2), poolInput(hall.pool, 3), hotel.stay(0, 2)}
	abandoned, err := a.holds(ctx, everything...)
	if err != nil {
		return "", err
	}
	var second apiPlaced
	refused := 0
	key := randomName()
	if err := poll(ctx, "B to get everything that A abandoned", func(ctx context.Context) (bool, string, error) {
		second, err = b.asks(ctx, key, everything...)
		if err == nil && second.Code != "" {
			refused++
			if !slices.Contains([]string{"HELD_BY_OTHER", "SOLD_OUT"}, second.Code) {
				err = fmt.Errorf("expected B to be refused with HELD_BY_OTHER or SOLD_OUT, saw %s", second.Code)
			}
		}
		return second.ID != "", second.Code, err
	}); err != nil {
		return "", err
	}
	if second.PlacedAt.Before(abandoned.Deadline) {
		return "", fmt.Errorf("expected B's hold to begin after A's deadline %s, saw %s", abandoned.Deadline, second.PlacedAt)
	}
	after, err := a.reads(ctx, abandoned.ID)
	if err != nil {
		return "", err
	}
	if after.State != "EXPIRED" {
		return "", fmt.Errorf("expected A's hold to read EXPIRED, saw %s", after.State)
	}
	return fmt.Sprintf("No worker ran. A left 2 seats, 3 standing places and 2 nights in the cart; B was refused %d times until the deadline and got every unit %.2f s after it; A's hold reads EXPIRED.",
		refused, second.PlacedAt.Sub(abandoned.Deadline).Seconds()), nil
}
