package admission

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Every order is in one bucket, and buckets follow one another without a gap.
func TestBucketsPartTheLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := line{window: int64(rapid.IntRange(0, 86_400).Draw(t, "window")) * 1_000_000}
		order := rapid.Int64Range(0, l.window+1_000_000_000).Draw(t, "order")
		bucket := l.bucketOf(order)
		start, end := l.span(bucket)
		if order < start || order >= end {
			t.Fatalf("order %d is in bucket %d from %d to %d", order, bucket, start, end)
		}
		if next := l.bucketOf(end); bucket != windowBuckets-1 && next != bucket+1 {
			t.Fatalf("after bucket %d comes %d", bucket, next)
		}
	})
}

// visitorsOf are so many visitors of a room with an opening window: half of them came in it.
func visitorsOf(l line, n int, arrivals time.Duration) (orders []int64, sums []sum) {
	counts := map[int64]int64{}
	for i := range n {
		order := rand.Int64N(l.window)
		if i%2 == 1 {
			order = l.window + rand.Int64N(arrivals.Microseconds())
		}
		orders = append(orders, order)
		counts[l.bucketOf(order)]++
	}
	slices.Sort(orders)
	for bucket, visitors := range counts {
		sums = append(sums, sum{bucket: bucket, visitors: visitors})
	}
	slices.SortFunc(sums, func(a, b sum) int { return int(a.bucket - b.bucket) })
	return orders, sums
}

// A hundred thousand visitors are called at the rate, within five percent in every minute and within
// one over all, whether or not the steps are regular, and whatever the rate is changed to.
func TestVisitorsAreCalledAtTheRate(t *testing.T) {
	t.Parallel()
	l := line{window: (10 * time.Minute).Microseconds()}
	orders, sums := visitorsOf(l, 100_000, 20*time.Minute)
	m := motion{line: l, watermark: -1, ratePerMinute: 3000, sums: sums, complete: true}
	present := l.window + (30 * time.Minute).Microseconds()
	called := func() int { n, _ := slices.BinarySearch(orders, m.watermark+1); return n }
	total := 0.0
	for minute := range 20 {
		m.ratePerMinute = int64(2000 + 100*minute)
		before, passed := called(), time.Duration(0)
		for passed < time.Minute {
			step := min(time.Minute-passed, time.Duration(200+rand.IntN(3000))*time.Millisecond)
			passed += step
			present += step.Microseconds()
			m.now, m.limit = present, present-4_000_000
			watermark, credit := m.after(step)
			if watermark < m.watermark || credit < 0 {
				t.Fatalf("the watermark moved from %d to %d with credit %d", m.watermark, watermark, credit)
			}
			m.watermark, m.credit = watermark, credit
		}
		got := called() - before
		total += float64(m.ratePerMinute)
		if off := math.Abs(float64(got)/float64(m.ratePerMinute) - 1); off > 0.05 {
			t.Errorf("in minute %d %d were called at a rate of %d", minute, got, m.ratePerMinute)
		}
	}
	if off := math.Abs(float64(called())/total - 1); off > 0.01 {
		t.Errorf("%d were called, want %g", called(), total)
	}
}

// In a room in which nobody waits, the watermark follows the present, and the time is not saved up.
func TestAnEmptyRoomSavesNothingUp(t *testing.T) {
	t.Parallel()
	m := motion{watermark: -1, ratePerMinute: 600, complete: true, now: 100_000_000, limit: 96_000_000}
	watermark, credit := m.after(10 * time.Second)
	if watermark != m.limit-1 || credit != 600*1_000_000 {
		t.Errorf("the watermark is %d with credit %d", watermark, credit)
	}
	// When it is not known who stands behind, it stays before them.
	m.complete = false
	if watermark, _ := m.after(10 * time.Second); watermark != -1 {
		t.Errorf("the watermark is %d", watermark)
	}
	// Nothing moves it back, not even a limit that lies before it.
	m.complete, m.watermark, m.limit = true, 50, 10
	if watermark, _ := m.after(time.Second); watermark != 50 {
		t.Errorf("the watermark is %d", watermark)
	}
}

// A slow room adds up parts of a visitor.
func TestASlowRoomCallsOneNowAndThen(t *testing.T) {
	t.Parallel()
	l := line{window: 256_000_000}
	m := motion{line: l, watermark: -1, ratePerMinute: 6, sums: []sum{{bucket: 0, visitors: 10}, {bucket: 1, visitors: 10}}, complete: true, now: 400_000_000, limit: 300_000_000}
	for range 100 {
		m.watermark, m.credit = m.after(time.Second)
	}
	// Ten visitors in a hundred seconds: the first bucket of a second's length.
	if math.Abs(float64(m.watermark)-1_000_000) > 50_000 {
		t.Errorf("the watermark is %d", m.watermark)
	}
}

// Only the database's clock is asked what time it is: those of the application's computers may differ.
func TestTheComputersClockIsNotAsked(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") || file == "clock.go" {
			continue
		}
		if strings.Contains(string(text), "time.Now(") || strings.Contains(string(text), "time.Since(") || strings.Contains(string(text), "time.Until(") {
			t.Errorf("%s asks the computer's clock", file)
		}
	}
}
