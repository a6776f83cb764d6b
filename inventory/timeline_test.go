package inventory_test

import (
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

func minutesBefore(n int64) inventory.CancellationStep {
	return inventory.CancellationStep{MinutesBefore: &n, Fee: inventory.FeePercent(0)}
}

func daysBefore(n int64, local string) inventory.CancellationStep {
	step := inventory.CancellationStep{DaysBefore: &n, Fee: inventory.FeePercent(0)}
	if local != "" {
		parsed, err := inventory.ParseTimeOfDay(local)
		if err != nil {
			panic(err)
		}
		step.LocalTime = &parsed
	}
	return step
}

// Days are counted by the clock on the wall, minutes by time that passes; over a shift of the clocks
// they differ. R66: on 2026-03-08 New York skips 02:00 to 03:00, on 2026-11-01 it shows 01:00 to 02:00
// twice.
func TestStepsOverAShiftOfTheClocks(t *testing.T) {
	t.Parallel()
	newYork := zone(t, "America/New_York")
	day := func(text string) civil.Date {
		parsed, err := civil.ParseDate(text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, c := range []struct {
		name    string
		arrival string
		step    inventory.CancellationStep
		until   string
	}{
		{"the check-in itself, in winter", "2026-03-07", daysBefore(0, ""), "2026-03-07T20:00:00Z"},
		{"the check-in itself, in summer", "2026-03-08", daysBefore(0, ""), "2026-03-08T19:00:00Z"},
		{"a calendar day before the shift", "2026-03-08", daysBefore(1, ""), "2026-03-07T20:00:00Z"},
		{"24 hours before, over the shift", "2026-03-08", minutesBefore(24 * 60), "2026-03-07T19:00:00Z"},
		{"18:00 on the day before", "2026-03-08", daysBefore(1, "18:00"), "2026-03-07T23:00:00Z"},
		{"a time that is skipped", "2026-03-08", daysBefore(0, "02:30"), "2026-03-08T07:30:00Z"},
		{"just before the shift", "2026-03-08", daysBefore(0, "01:59"), "2026-03-08T06:59:00Z"},
		{"just after the shift", "2026-03-08", daysBefore(0, "03:00"), "2026-03-08T07:00:00Z"},
		{"a time that comes twice", "2026-11-01", daysBefore(0, "01:30"), "2026-11-01T06:30:00Z"},
		{"the hour before it", "2026-11-01", daysBefore(0, "00:30"), "2026-11-01T04:30:00Z"},
		{"until the evening of arrival", "2026-11-01", daysBefore(0, "18:00"), "2026-11-01T23:00:00Z"},
	} {
		policy := inventory.CancellationPolicy{Name: "P", CheckIn: inventory.DefaultCheckIn, Steps: []inventory.CancellationStep{c.step}, Final: inventory.FeePercent(10_000)}
		if got := policy.OfStay(day(c.arrival), newYork).Steps[0].Until.Format(time.RFC3339); got != c.until {
			t.Errorf("%s: got %s, want %s", c.name, got, c.until)
		}
	}
	// Half an hour's shift, and a midnight that is skipped.
	policy := inventory.CancellationPolicy{Name: "P", Steps: []inventory.CancellationStep{daysBefore(0, "00:00")}, Final: inventory.FeePercent(0)}
	if got := policy.OfStay(day("2026-10-04"), zone(t, "Australia/Lord_Howe")).StartsAt.Format(time.RFC3339); got != "2026-10-03T13:30:00Z" {
		t.Errorf("Lord Howe: %s", got)
	}
	if got := policy.OfStay(day("2026-04-24"), zone(t, "Africa/Cairo")).Steps[0].Until.Format(time.RFC3339); got != "2026-04-23T22:00:00Z" {
		t.Errorf("Cairo, where the day begins at 01:00: %s", got)
	}
}

// The example of docs/cancellation.md.
func TestTheExampleOfTheDocument(t *testing.T) {
	t.Parallel()
	perBooking := inventory.Fee{Kind: inventory.FeeKindPerBooking, Minor: 2500, Currency: "USD"}
	policy := inventory.CancellationPolicy{
		Name: "Example", CheckIn: inventory.DefaultCheckIn, Final: inventory.FeePercent(9000),
		Steps: []inventory.CancellationStep{daysBefore(7, ""), daysBefore(1, "18:00")},
	}
	policy.Steps[1].Fee = perBooking
	if err := policy.Validate("USD"); err != nil {
		t.Fatal(err)
	}
	stay := policy.OfStay(civil.Date{Year: 2027, Month: 3, Day: 14}, zone(t, "America/New_York"))
	for what, c := range map[string]struct {
		got  time.Time
		want string
	}{
		"the first step":  {stay.Steps[0].Until, "2027-03-07T20:00:00Z"},
		"the second step": {stay.Steps[1].Until, "2027-03-13T23:00:00Z"},
		"the check-in":    {stay.ClosesAt(), "2027-03-14T19:00:00Z"},
	} {
		if !c.got.Equal(at(t, c.want)) {
			t.Errorf("%s: got %s, want %s", what, c.got, c.want)
		}
	}
	nights := []inventory.PricedUnits{{Quantity: 1, Minor: 12_000}, {Quantity: 1, Minor: 13_000}}
	for fee, want := range map[inventory.Fee][2]int64{perBooking: {1200, 1300}, policy.Final: {10_800, 11_700}} {
		if got := fee.Shares(nights); got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%+v: got %v, want %v", fee, got, want)
		}
	}
}

// The fee at an instant is that of the first step that has not ended; a stay may be cancelled by its
// guest until the last step or the check-in, a show until it begins.
func TestTheFeeThatHolds(t *testing.T) {
	t.Parallel()
	policy := inventory.CancellationPolicy{
		Name: "P", CheckIn: 15 * 60, Final: inventory.FeePercent(10_000),
		Steps: []inventory.CancellationStep{daysBefore(7, ""), daysBefore(0, "18:00")},
	}
	policy.Steps[1].Fee = inventory.FeePercent(5000)
	stay := policy.OfStay(civil.Date{Year: 2027, Month: 6, Day: 10}, zone(t, "Europe/Vienna"))
	show := policy.OfShow(at(t, "2027-06-10T15:30:00Z"), zone(t, "Europe/Vienna"))
	for _, c := range []struct {
		timeline inventory.Timeline
		now      string
		want     int64
	}{
		{stay, "2027-06-03T12:59:59Z", 0},
		{stay, "2027-06-03T13:00:00Z", 5000},
		{stay, "2027-06-10T15:59:59Z", 5000},
		{stay, "2027-06-10T16:00:00Z", 10_000},
		{show, "2027-06-03T15:29:59Z", 0},
		{show, "2027-06-03T15:30:00Z", 5000},
		{show, "2027-06-10T15:29:59Z", 5000},
		{show, "2027-06-10T15:30:00Z", 10_000},
	} {
		if got := c.timeline.FeeAt(at(t, c.now)).BasisPoints; got != c.want {
			t.Errorf("at %s: %d, want %d", c.now, got, c.want)
		}
	}
	if got := stay.ClosesAt(); !got.Equal(at(t, "2027-06-10T16:00:00Z")) {
		t.Errorf("the stay closes at %s", got)
	}
	if got := show.ClosesAt(); !got.Equal(show.StartsAt) {
		t.Errorf("the show closes at %s, it begins at %s", got, show.StartsAt)
	}
}

// Whatever the policy that passes validation, the start and the zone, steps are in order.
func TestStepsAreInOrder(t *testing.T) {
	t.Parallel()
	zones := []*time.Location{zone(t, "America/New_York"), zone(t, "Pacific/Apia"), zone(t, "Asia/Kolkata"), zone(t, "Europe/Lisbon"), time.UTC}
	rapid.Check(t, func(rt *rapid.T) {
		policy := inventory.CancellationPolicy{Name: "P", CheckIn: inventory.TimeOfDay(rapid.Int64Range(0, 1439).Draw(rt, "check-in")), Final: inventory.FeePercent(0)}
		elapsed := rapid.Bool().Draw(rt, "elapsed")
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			step := inventory.CancellationStep{Fee: inventory.FeePercent(0)}
			if elapsed {
				step.MinutesBefore = inventorytest.Of(rapid.Int64Range(0, 4000).Draw(rt, "minutes"))
			} else {
				step.DaysBefore = inventorytest.Of(rapid.Int64Range(0, 4).Draw(rt, "days"))
				if rapid.Bool().Draw(rt, "local") {
					step.LocalTime = inventorytest.Of(inventory.TimeOfDay(rapid.Int64Range(0, 1439).Draw(rt, "time")))
				}
			}
			policy.Steps = append(policy.Steps, step)
			if policy.Validate("EUR") != nil {
				policy.Steps = policy.Steps[:len(policy.Steps)-1]
			}
		}
		where := rapid.SampledFrom(zones).Draw(rt, "zone")
		start := time.Unix(rapid.Int64Range(1_770_000_000, 1_810_000_000).Draw(rt, "start"), 0)
		for _, timeline := range []inventory.Timeline{policy.OfStay(civil.DateOf(start.UTC()), where), policy.OfShow(start, where)} {
			for i := 1; i < len(timeline.Steps); i++ {
				if timeline.Steps[i].Until.Before(timeline.Steps[i-1].Until) {
					rt.Fatalf("step %d ends at %s, the one before at %s", i, timeline.Steps[i].Until, timeline.Steps[i-1].Until)
				}
			}
		}
	})
}

// The parts of a fee are what the whole costs, and no line costs more than its price.
func TestFeesAreShared(t *testing.T) {
	t.Parallel()
	lines := []inventory.PricedUnits{{Quantity: 1, Minor: 3333}, {Quantity: 2, Minor: 3333}, {Quantity: 1, Minor: 3333}, {Quantity: 1, Minor: 0}}
	for _, c := range []struct {
		fee  inventory.Fee
		want []int64
	}{
		{inventory.FeePercent(0), []int64{0, 0, 0, 0}},
		{inventory.FeePercent(5000), []int64{1666, 1667, 1667, 0}},
		{inventory.FeePercent(10_000), []int64{3333, 3333, 3333, 0}},
		{inventory.Fee{Kind: inventory.FeeKindPerBooking, Minor: 1000, Currency: "EUR"}, []int64{333, 333, 334, 0}},
		{inventory.Fee{Kind: inventory.FeeKindPerBooking, Minor: 99_999, Currency: "EUR"}, []int64{3333, 3333, 3333, 0}},
		{inventory.Fee{Kind: inventory.FeeKindPerUnit, Minor: 500, Currency: "EUR"}, []int64{500, 1000, 500, 0}},
		{inventory.Fee{Kind: inventory.FeeKindPerUnit, Minor: money.MaxMinor, Currency: "EUR"}, []int64{3333, 3333, 3333, 0}},
	} {
		got := c.fee.Shares(lines)
		for i := range lines {
			if got[i] != c.want[i] {
				t.Errorf("%+v: got %v, want %v", c.fee, got, c.want)
				break
			}
		}
	}
}
