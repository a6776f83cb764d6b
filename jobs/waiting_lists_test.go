package jobs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/waitlist"
)

// Workers offer what comes free, pass on what lapses, and tell others of each offer.
func TestWorkersServeWaitingLists(t *testing.T) {
	t.Parallel()
	o := open(t)
	open := true
	if _, err := o.lists.Set(t.Context(), o.Owner, waitlist.Scope{Show: o.hall.Show}, waitlist.Change{Open: &open}); err != nil {
		t.Fatal(err)
	}
	sold := o.Guest().Hold(o.hall.Pools[0].Units(10))
	var entries []waitlist.Entry
	for range 2 {
		entry, err := o.lists.Join(t.Context(), o.Guest().Actor, waitlist.Join{
			RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{o.hall.Pools[0].Units(6)},
		})
		if err != nil {
			t.Fatalf("refused: %s", o.Explain(err))
		}
		entries = append(entries, entry)
	}
	held := func(entry waitlist.Entry) (held *inventory.Hold) {
		t.Helper()
		page, _, err := o.lists.Entries(t.Context(), o.Owner, waitlist.Scope{Show: o.hall.Show}, entry.Number()-1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if page[0].State != waitlist.StateOffered {
			return nil
		}
		return &inventory.Hold{ID: page[0].Hold}
	}
	o.work(t, func(c *jobs.Config) {
		c.SweepInterval, c.WaitingListInterval = 50*time.Millisecond, 50*time.Millisecond
	})
	o.Lapse(sold)
	o.Eventually("the first is offered it", func() bool { return held(entries[0]) != nil })
	if held(entries[1]) != nil {
		t.Error("the second is offered what is not there")
	}
	o.Lapse(*held(entries[0]))
	o.Eventually("it is passed on", func() bool { return held(entries[1]) != nil })
	for _, entry := range entries {
		expect(t, "others are told", strings.Join(o.Events(entry.ID.UUID), ", "), "2 waitinglist.offered")
	}
	o.Audit()
}
