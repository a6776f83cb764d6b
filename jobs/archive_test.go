package jobs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/payments/sandbox"
)

const week = 7 * 24 * time.Hour

func archiving(after time.Duration) func(*jobs.Config) {
	return func(c *jobs.Config) { c.ArchiveAfter, c.ArchiveInterval = after, 50*time.Millisecond }
}

func (o office) pastRows(t *testing.T) (seats, counters int) {
	t.Helper()
	return o.Rows("past_show_seats"), o.Rows("past_pool_counters")
}

// A show that was over for longer than configured is archived, and a later one is not; what it sold
// can still be cancelled.
func TestTheArchiverMovesShowsThatAreOver(t *testing.T) {
	t.Parallel()
	o := open(t)
	guest := o.Guest()
	hold := guest.Hold(o.hall.Seats(1, 2), o.hall.Pools[0].Units(3))
	o.Pay(guest, hold, sandbox.TokenApprove)
	recent := o.hall.Another()
	o.hall.Over(week + time.Hour)
	recent.Over(week - time.Hour)
	registry := prometheus.NewRegistry()
	o.work(t, archiving(week), func(c *jobs.Config) { c.Metrics = registry })
	o.Eventually("its rows have been moved and counted", func() bool {
		seats, counters := o.pastRows(t)
		return seats == 5 && counters == 1 && metrics(t, registry) ==
			"holdfast_archived_rows_total pool_counters 1, holdfast_archived_rows_total show_seats 5, holdfast_archived_shows_total 1"
	})
	o.Eventually("it has looked again", func() bool { return o.count(t, "archive_shows", "completed") > 2 })
	if n := o.Rows("show_seats"); n != 5 {
		t.Errorf("%d seats are left, want the 5 of the show that ended within the week", n)
	}
	o.Audit()
	o.cancel(t, hold)
	o.Audit()
	if count := o.hall.Pools[0].Count(); count.Booked != 0 {
		t.Errorf("after the cancellation the pool is %+v", count)
	}
}

// metrics are the archiver's counters in a registry, with their labels, by name.
func metrics(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "holdfast_archived_") {
			continue
		}
		for _, metric := range family.GetMetric() {
			words := []string{family.GetName()}
			for _, label := range metric.GetLabel() {
				words = append(words, label.GetValue())
			}
			found = append(found, fmt.Sprintf("%s %g", strings.Join(words, " "), metric.GetCounter().GetValue()))
		}
	}
	return strings.Join(found, ", ")
}

// Without a time, nothing is ever archived.
func TestTheArchiverMayBeOff(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.hall.Over(1000 * week)
	o.work(t, archiving(0), sweeping)
	o.Eventually("others have run", func() bool { return o.count(t, "expire_holds", "completed") > 2 })
	if n := o.count(t, "archive_shows"); n != 0 {
		t.Errorf("%d jobs", n)
	}
	if seats, counters := o.pastRows(t); seats != 0 || counters != 0 {
		t.Errorf("moved %d seats and %d counters", seats, counters)
	}
}
