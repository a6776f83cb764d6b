package oversell_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/bookings/oversell"
)

// Without a spread the guests decide by themselves, and the distribution is the library's binomial.
func TestWithoutSpreadItIsBinomial(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 2000).Draw(t, "bookings")
		chance := rapid.Float64Range(0.01, 0.99).Draw(t, "chance")
		d, want := oversell.NewShowUps(n, chance, 0), distuv.Binomial{N: float64(n), P: chance}
		for _, k := range []int{0, n / 3, int(float64(n) * chance), n - 1, n} {
			if got := d.AtMost(k); math.Abs(got-want.CDF(float64(k))) > 1e-3 {
				t.Fatalf("at most %d of %d: got %g, want %g", k, n, got, want.CDF(float64(k)))
			}
		}
		if got := d.Mean(); math.Abs(got-float64(n)*chance) > 1e-3*float64(n) {
			t.Fatalf("mean: got %g, want %g", got, float64(n)*chance)
		}
	})
}

// A spread widens the distribution by the textbook's factor and leaves its mean.
func TestASpreadWidens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 500).Draw(t, "bookings")
		chance := rapid.Float64Range(0.05, 0.95).Draw(t, "chance")
		spread := rapid.Float64Range(0.001, 0.4).Draw(t, "spread")
		d := oversell.NewShowUps(n, chance, spread)
		mean, square, before := 0.0, 0.0, 0.0
		for k := range n + 1 {
			share := d.AtMost(k) - before
			before = d.AtMost(k)
			if share < -1e-12 {
				t.Fatalf("the share of %d is %g", k, share)
			}
			mean += float64(k) * share
			square += float64(k) * float64(k) * share
		}
		if want := float64(n) * chance; math.Abs(mean-want) > 1e-6*want {
			t.Fatalf("mean: got %g, want %g", mean, want)
		}
		if got, want := square-mean*mean, float64(n)*chance*(1-chance)*(1+float64(n-1)*spread); math.Abs(got-want) > 1e-5*want+1e-6 {
			t.Fatalf("variance: got %g, want %g", got, want)
		}
	})
}

func certain(chance float64) oversell.Estimate {
	return oversell.Estimate{Chance: chance, Evidence: 1000}
}

func advise(t *testing.T, n oversell.Night) oversell.Advice {
	t.Helper()
	a, err := oversell.Advise(n)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		night oversell.Night
		limit int
	}{
		"everybody comes":          {oversell.Night{Rooms: 100, Next: certain(0.9999999), RateMinor: 100, WalkMinor: 200, MaxOversell: 50}, 100},
		"a walk costs the world":   {oversell.Night{Rooms: 100, Next: certain(0.9), RateMinor: 1, WalkMinor: 1_000_000_000, MaxOversell: 50}, 100},
		"a walk costs nothing":     {oversell.Night{Rooms: 100, Next: certain(0.9), RateMinor: 100, MaxOversell: 20}, 120},
		"the most is the most":     {oversell.Night{Rooms: 100, Next: certain(0.5), RateMinor: 100, WalkMinor: 200, MaxOversell: 7}, 107},
		"no rooms":                 {oversell.Night{Rooms: 0, Next: certain(0.5), RateMinor: 100, WalkMinor: 200, MaxOversell: 7}, 0},
		"one room, half come":      {oversell.Night{Rooms: 1, Next: certain(0.5), RateMinor: 100, WalkMinor: 99, MaxOversell: 7}, 2},
		"one room, a dearer walk":  {oversell.Night{Rooms: 1, Next: certain(0.5), RateMinor: 100, WalkMinor: 101, MaxOversell: 7}, 1},
		"all act as one":           {oversell.Night{Rooms: 100, Next: certain(0.6), Spread: 0.4999, RateMinor: 100, WalkMinor: 900, MaxOversell: 50}, 100},
		"those on the books count": {oversell.Night{Rooms: 1, OnBooks: []oversell.Estimate{{Chance: 1, Evidence: 1}}, Next: certain(0.1), RateMinor: 100, WalkMinor: 100, MaxOversell: 7}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := advise(t, c.night)
			if a.Limit != c.limit {
				t.Errorf("limit: got %d, want %d", a.Limit, c.limit)
			}
			if a.Low > a.Limit || a.High < a.Limit {
				t.Errorf("the limit %d is not between %d and %d", a.Limit, a.Low, a.High)
			}
		})
	}
}

// The advised limit earns at least as much as every other one: it is the maximum, found by trying all.
func TestNoOtherLimitEarnsMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := oversell.Night{
			Rooms:     rapid.IntRange(1, 60).Draw(t, "rooms"),
			Next:      certain(rapid.Float64Range(0.3, 0.99).Draw(t, "chance")),
			Spread:    rapid.Float64Range(0, 0.1).Draw(t, "spread"),
			RateMinor: rapid.Int64Range(1, 50_000).Draw(t, "rate"), WalkMinor: rapid.Int64Range(0, 200_000).Draw(t, "walk"),
			MaxOversell: rapid.IntRange(0, 40).Draw(t, "most"),
		}
		a, err := oversell.Advise(n)
		if err != nil {
			t.Fatal(err)
		}
		earns := func(sold int) float64 {
			d := oversell.NewShowUps(sold, n.Next.Chance, n.Spread)
			return float64(n.RateMinor)*(d.Mean()-d.Over(n.Rooms)) - float64(n.WalkMinor)*d.Over(n.Rooms)
		}
		best := earns(a.Limit)
		for sold := n.Rooms; sold <= n.Rooms+n.MaxOversell; sold++ {
			if earns(sold) > best+1e-9*float64(n.RateMinor+n.WalkMinor)*float64(sold) {
				t.Fatalf("%d earns %.0f, the advised %d only %.0f", sold, earns(sold), a.Limit, best)
			}
		}
		if a.GainMinor < 0 {
			t.Fatalf("the advised limit loses %d", -a.GainMinor)
		}
	})
}

func TestAQuestionOutOfBoundsIsRefused(t *testing.T) {
	t.Parallel()
	good := oversell.Night{Rooms: 10, Next: certain(0.9), RateMinor: 100, WalkMinor: 200, MaxOversell: 5}
	for want, change := range map[string]func(*oversell.Night){
		"rooms: expected 0 to 10000, got -1":         func(n *oversell.Night) { n.Rooms = -1 },
		"rate: expected more than 0, got 0":          func(n *oversell.Night) { n.RateMinor = 0 },
		"walk cost: expected 0 or more, got -1":      func(n *oversell.Night) { n.WalkMinor = -1 },
		"most oversell: expected 0 to 10000, got -1": func(n *oversell.Night) { n.MaxOversell = -1 },
	} {
		n := good
		change(&n)
		if _, err := oversell.Advise(n); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// history is stays of a made-up hotel whose chances are known: of the one channel nine of ten come, of
// the other half do, and those who cancel do so evenly over their lead time.
func history(seed uint64, from civil.Date, days int) []oversell.Stay {
	random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a made-up history
	var stays []oversell.Stay
	for day := range days {
		arrival := from.AddDays(day)
		for i := range 20 {
			lead := random.IntN(60)
			stay := oversell.Stay{
				Traits:   oversell.Traits{Booked: arrival.AddDays(-lead), Arrival: arrival, Channel: []string{"sure", "unsure"}[i%2]},
				RoomType: "double", Nights: 1 + random.IntN(3), Outcome: oversell.OutcomeCame, RateMinor: 10_000,
			}
			if random.Float64() > []float64{0.9, 0.5}[i%2] {
				stay.Outcome, stay.Cancelled = oversell.OutcomeCancelled, arrival.AddDays(-random.IntN(lead+1))
			}
			stays = append(stays, stay)
		}
	}
	return stays
}

var start = civil.Date{Year: 2024, Month: time.January, Day: 1}

func TestAModelFindsWhatTheHistoryWasMadeOf(t *testing.T) {
	t.Parallel()
	m, err := oversell.Fit(history(1, start, 400))
	if err != nil {
		t.Fatal(err)
	}
	arrival := civil.Date{Year: 2025, Month: time.May, Day: 20}
	chance := func(channel string, lead, out int) float64 {
		return m.Chance(oversell.Traits{Booked: arrival.AddDays(-lead), Arrival: arrival, Channel: channel}, out).Chance
	}
	for _, c := range []struct {
		channel   string
		lead, out int
		low, high float64
	}{
		{"sure", 45, 45, 0.86, 0.94},
		{"unsure", 45, 45, 0.45, 0.56},
		// Half of those who would cancel have done so by half of the lead time.
		{"unsure", 45, 20, 0.55, 0.75},
		{"unsure", 45, 0, 0.9, 1},
		{"sure", 45, 0, 0.97, 1},
		// A channel without history is what is known of all.
		{"new", 45, 45, 0.62, 0.78},
	} {
		if got := chance(c.channel, c.lead, c.out); got < c.low || got > c.high {
			t.Errorf("%s, booked %d days before, %d days out: %.3f is not in %.2f to %.2f", c.channel, c.lead, c.out, got, c.low, c.high)
		}
	}
	if got := m.Spread(7); got > 0.02 {
		t.Errorf("guests who decide by themselves have a spread of %g", got)
	}
	if m.Chance(oversell.Traits{Booked: arrival, Arrival: arrival}, -1).Chance != 1 {
		t.Error("a guest who has arrived is not there")
	}
}

func TestTheSameHistoryGivesTheSameModel(t *testing.T) {
	t.Parallel()
	stays := history(2, start, 60)
	print := func() string {
		m, err := oversell.Fit(stays)
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for days := range 90 {
			out += fmt.Sprint(m.Spread(days), m.Chance(oversell.Traits{Booked: start, Arrival: start.AddDays(days), Channel: "sure"}, days))
		}
		return out
	}
	first := print()
	for range 5 {
		if print() != first {
			t.Fatal("two models of one history differ")
		}
	}
}

func TestTooShortAHistoryGivesNoAdvice(t *testing.T) {
	t.Parallel()
	if _, err := oversell.Fit(history(3, start, 4)); !errors.Is(err, oversell.ErrTooFewStays) {
		t.Errorf("got %v", err)
	}
}

// The predicted distributions are right where nothing but chance is at work.
func TestCalibrationOfAKnownHotel(t *testing.T) {
	t.Parallel()
	m, err := oversell.Fit(history(4, start, 600))
	if err != nil {
		t.Fatal(err)
	}
	from := start.AddDays(600)
	c := oversell.Calibrate(m, history(5, from, 400), 7, from, from.AddDays(399))
	if c.Nights < 300 {
		t.Fatalf("only %d nights were compared", c.Nights)
	}
	if ratio := float64(c.Came) / c.Expected; ratio < 0.97 || ratio > 1.03 {
		t.Errorf("%d came, %.0f were expected", c.Came, c.Expected)
	}
	if c.Within80 < 0.78 {
		t.Errorf("%.2f of the nights lie in the central 80 percent", c.Within80)
	}
	sum := 0.0
	for _, tenth := range c.Tenths {
		sum += tenth
		if tenth < 0.05 || tenth > 0.16 {
			t.Errorf("a tenth has %.3f of the nights: %.3f", tenth, c.Tenths)
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the tenths add up to %g", sum)
	}
}

// Three bookings, one room, by hand: what is refused, slept, walked and earned.
func TestReplayByHand(t *testing.T) {
	t.Parallel()
	night := civil.Date{Year: 2025, Month: time.March, Day: 10}
	stay := func(lead int, outcome oversell.Outcome, cancelled int) oversell.Stay {
		return oversell.Stay{
			Traits:   oversell.Traits{Booked: night.AddDays(-lead), Arrival: night},
			RoomType: "double", Nights: 1, Outcome: outcome, Cancelled: night.AddDays(-cancelled), RateMinor: 100,
		}
	}
	house := oversell.House{
		Rooms:     func(string, civil.Date) int { return 1 },
		RateMinor: func(string, civil.Date) int64 { return 100 },
	}
	run := func(policy oversell.Policy, stays ...oversell.Stay) string {
		r := oversell.Replay(stays, house, policy, 2, night, night)
		return fmt.Sprintf("%d taken, %d refused, %d slept, %d walked, %d net", r.Accepted, r.Refused, r.Slept, r.Walked, r.NetMinor())
	}
	twice := oversell.FlatOversell("twice", 100)
	for _, c := range []struct{ got, want string }{
		{run(oversell.NoOversell(), stay(9, oversell.OutcomeCame, 0), stay(8, oversell.OutcomeCame, 0)), "1 taken, 1 refused, 1 slept, 0 walked, 100 net"},
		{run(twice, stay(9, oversell.OutcomeCame, 0), stay(8, oversell.OutcomeCame, 0)), "2 taken, 0 refused, 1 slept, 1 walked, -100 net"},
		{run(oversell.NoOversell(), stay(9, oversell.OutcomeNoShow, 0), stay(8, oversell.OutcomeCame, 0)), "1 taken, 1 refused, 0 slept, 0 walked, 0 net"},
		{run(twice, stay(9, oversell.OutcomeNoShow, 0), stay(8, oversell.OutcomeCame, 0)), "2 taken, 0 refused, 1 slept, 0 walked, 100 net"},
		// The night of a cancelled booking is sold again, but not before the day after.
		{run(oversell.NoOversell(), stay(9, oversell.OutcomeCancelled, 5), stay(5, oversell.OutcomeCame, 0), stay(4, oversell.OutcomeCame, 0)), "2 taken, 1 refused, 1 slept, 0 walked, 100 net"},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// On a hotel that is always asked for by more than it can hold, advice earns more than rooms alone and
// more than any flat percentage could by luck.
func TestAdviceEarnsMoreThanRoomsAlone(t *testing.T) {
	t.Parallel()
	m, err := oversell.Fit(history(6, start, 300))
	if err != nil {
		t.Fatal(err)
	}
	from := start.AddDays(300)
	stays := history(7, from, 100)
	house := oversell.House{
		Rooms:     func(string, civil.Date) int { return 30 },
		RateMinor: func(string, civil.Date) int64 { return 10_000 },
	}
	until := from.AddDays(99)
	none := oversell.Replay(stays, house, oversell.NoOversell(), 2, from, until)
	advised := oversell.Replay(stays, house, oversell.Advised(m, 2, 50), 2, from, until)
	if advised.NetMinor() <= none.NetMinor() {
		t.Errorf("advised %+v, rooms alone %+v", advised, none)
	}
	if none.Walked != 0 {
		t.Errorf("without overbooking %d were walked", none.Walked)
	}
}
