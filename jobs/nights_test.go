package jobs_test

import (
	"testing"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/jobs"
)

// An edit that is too large for one transaction is written by the workers, the next ones going on where
// those before were stopped.
func TestTheWorkersWriteNights(t *testing.T) {
	t.Parallel()
	o := open(t)
	room := o.Hotel().Stocked("Double", 5, 1, 10)
	first := inventorytest.Nov(1)
	set, err := o.Inventory.SetNights(t.Context(), o.Owner, inventory.NightsEdit{
		RequestKey: inventorytest.Key(), Property: &room.Hotel.Property.ID,
		Nights: inventory.NightRange{First: first, Last: first.AddDays(4*366 - 1)}, Change: inventory.NightChange{Physical: inventorytest.Of[int64](3)},
	})
	if err != nil || set.Job == nil {
		t.Fatalf("%+v, %v", set, err)
	}
	job := func() inventory.NightsJob {
		job, err := o.Inventory.NightsJob(t.Context(), o.Owner, *set.Job)
		if err != nil {
			t.Fatal(err)
		}
		return job
	}
	soon := func(c *jobs.Config) { c.NightsInterval = 20 * time.Millisecond }
	stop := o.work(t, soon)
	o.Eventually("a chunk is written", func() bool { return job().Written > 0 })
	stop()
	o.work(t, soon)
	o.Eventually("all is written", func() bool { return job().State == inventory.NightsJobDone })
	if done := job(); done.Written != 4*366 || done.Failed != 0 {
		t.Errorf("it ends as %+v", done)
	}
	if count := room.Count(5); count.Limit != 3 {
		t.Errorf("the night has %+v", count)
	}
}
