package money_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/internal/money"
)

func TestPortionsAreRoundedHalfUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ amount, n, of, want int64 }{
		{100, 1, 3, 33},
		{100, 2, 3, 67},
		{5, 1, 2, 3},
		{1, 1, 2, 1},
		{1, 1, 3, 0},
		{7, 7, 7, 7},
		{0, 1, 2, 0},
		{9, 0, 2, 0},
		{money.MaxMinor, money.MaxMinor, money.MaxMinor, money.MaxMinor},
	} {
		if got := money.Portion(c.amount, c.n, c.of); got != c.want {
			t.Errorf("%d*%d/%d is %d, want %d", c.amount, c.n, c.of, got, c.want)
		}
	}
	// R62: 33.33 with 21 % included.
	if tax := money.IncludedTax(3333, 2100); tax != 578 {
		t.Errorf("the tax in 33.33 at 21 %% is %d", tax)
	}
	if fee := money.Percent(9999, 5000); fee != 5000 {
		t.Errorf("half of 99.99 is %d", fee)
	}
}

// Parts add up to the whole, are never negative and never more than their weight.
func TestPartsAddUpToTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		weights := rapid.SliceOfN(rapid.Int64Range(0, money.MaxMinor), 1, 20).Draw(rt, "weights")
		var sum int64
		for _, weight := range weights {
			sum += weight
		}
		total := rapid.Int64Range(0, sum).Draw(rt, "total")
		var reached int64
		for i, part := range money.Apportion(total, weights) {
			if part < 0 || part > weights[i] {
				rt.Fatalf("part %d of weight %d is %d", i, weights[i], part)
			}
			reached += part
		}
		if reached != total {
			rt.Fatalf("the parts are %d, want %d", reached, total)
		}
	})
}

func TestRoundingsDifferInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ amount, n, of, up, even int64 }{
		{1, 1, 2, 1, 0},
		{3, 1, 2, 2, 2},
		{5, 1, 2, 3, 2},
		{100, 1, 3, 33, 33},
		{100, 2, 3, 67, 67},
		{0, 1, 2, 0, 0},
		{money.MaxMinor, 1, 1, money.MaxMinor, money.MaxMinor},
	} {
		if up, even := money.HalfUp.Portion(c.amount, c.n, c.of), money.HalfEven.Portion(c.amount, c.n, c.of); up != c.up || even != c.even {
			t.Errorf("%d*%d/%d is %d and %d, want %d and %d", c.amount, c.n, c.of, up, even, c.up, c.even)
		}
	}
	// 1.05 with 5 % on top: 5.25 units, and half of 10.5.
	if tax := money.HalfEven.IncludedTax(105, 500); tax != 5 {
		t.Errorf("the tax in 1.05 is %d", tax)
	}
	if half := money.HalfEven.Percent(21, 5000); half != 10 {
		t.Errorf("half of 0.21 is %d", half)
	}
}
