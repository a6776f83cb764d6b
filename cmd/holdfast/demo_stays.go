package main

import (
	"context"
	"fmt"
)

// Three nights, the middle one full: nothing is held.
func playStayFullNight(ctx context.Context, s *demoStage) (string, error) {
	seller, err := s.sells(ctx, "stay-full-night", nil)
	if err != nil {
		return "", err
	}
	hotel, err := seller.hotel(ctx, 3)
	if err != nil {
		return "", err
	}
	a, b, err := seller.guests(ctx)
	if err != nil {
		return "", err
	}
	if _, err := a.holds(ctx, hotel.stay(1, 2)); err != nil {
		return "", err
	}
	refusal, err := b.isRefused(ctx, "SOLD_OUT", hotel.stay(0, 3))
	if err != nil {
		return "", err
	}
	if len(refusal.Refused) != 1 || refusal.Refused[0].Night != hotel.day(1) {
		return "", fmt.Errorf("expected the refusal to name the night %s alone, saw %+v", hotel.day(1), refusal.Refused)
	}
	if err := hotel.expect(ctx, 1, 0, 1); err != nil {
		return "", err
	}
	// Both edges can really be had.
	if _, err := b.holds(ctx, hotel.stay(0, 1), hotel.stay(2, 3)); err != nil {
		return "", err
	}
	return fmt.Sprintf("The middle night of three was full; B was refused for %s alone (SOLD_OUT) and nothing was held: the first and the third night stayed free, and B then held those two.",
		hotel.day(1)), nil
}

// The checkout day consumes nothing, so stays can follow one another in the same room.
func playStayBoundary(ctx context.Context, s *demoStage) (string, error) {
	seller, err := s.sells(ctx, "stay-boundary", nil)
	if err != nil {
		return "", err
	}
	hotel, err := seller.hotel(ctx, 6)
	if err != nil {
		return "", err
	}
	a, b, err := seller.guests(ctx)
	if err != nil {
		return "", err
	}
	if _, err := a.holds(ctx, hotel.stay(2, 4)); err != nil {
		return "", err
	}
	if err := hotel.expect(ctx, 1, 1, 0, 0, 1, 1); err != nil {
		return "", err
	}
	for _, overlap := range [][2]int{{1, 3}, {2, 3}, {3, 5}, {0, 6}} {
		if _, err := b.isRefused(ctx, "SOLD_OUT", hotel.stay(overlap[0], overlap[1])); err != nil {
			return "", err
		}
	}
	// One arrives on the day A leaves; the other leaves on the day A arrives. The last stay ends on
	// a day that has no plan, because a day of departure is no night.
	for _, neighbour := range [][2]int{{4, 6}, {0, 2}} {
		if _, err := b.holds(ctx, hotel.stay(neighbour[0], neighbour[1])); err != nil {
			return "", err
		}
	}
	if err := hotel.expect(ctx, 0, 0, 0, 0, 0, 0); err != nil {
		return "", err
	}
	return fmt.Sprintf("One room: A stays %s to %s, and the night of A's checkout day stayed free; 4 overlapping stays were refused (SOLD_OUT), and the stays before and after, back to back, were accepted.",
		hotel.day(2), hotel.day(4)), nil
}
