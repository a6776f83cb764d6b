package events_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

// feed reads everything after a cursor, page by page.
func (o office) feed(actor tenants.Actor, after events.EventCursor, size int) ([]string, events.EventCursor) {
	o.t.Helper()
	var all []string
	for {
		found, more, err := o.events.Events(o.t.Context(), actor, region, after, size)
		if err != nil {
			o.t.Fatal(err)
		}
		for _, e := range found {
			all = append(all, e.ID.String())
			after = events.EventCursor{OccurredAt: e.OccurredAt, ID: e.ID.UUID}
		}
		if !more {
			return all, after
		}
	}
}

func TestTheFeedIsInOrderAndEachsOwn(t *testing.T) {
	t.Parallel()
	o := open(t)
	first, second := o.Partner("First"), o.Partner("Second")
	a, b, c := o.emit(first.Actor.Channel, events.TypeBookingConfirmed), o.emit(second.Actor.Channel, events.TypeBookingConfirmed), o.emit(tenants.ChannelID{}, events.TypeRefundFailed)
	d, e := o.emit(first.Actor.Channel, events.TypeRefundFailed), o.emit(first.Actor.Channel, events.TypeBookingConfirmed)
	o.pass(time.Hour)
	for _, size := range []int{1, 2, 3, 100} {
		got, _ := o.feed(o.Owner, events.EventCursor{}, size)
		expectIDs(t, "an admin's", got, a, b, c, d, e)
		got, _ = o.feed(first.Actor, events.EventCursor{}, size)
		expectIDs(t, "the first partner's", got, a, d, e)
		got, _ = o.feed(second.Actor, events.EventCursor{}, size)
		expectIDs(t, "the second partner's", got, b)
	}
	if _, err := o.events.Event(t.Context(), first.Actor, b); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("a partner reads another's event: %v", err)
	}
	if _, err := o.events.Event(t.Context(), first.Actor, c); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("a partner reads an event of no channel: %v", err)
	}
	if got, err := o.events.Event(t.Context(), first.Actor, a); err != nil || got.ID != a {
		t.Errorf("a partner's own event: %+v, %v", got, err)
	}
	other := open(t)
	if got, _ := other.feed(other.Owner, events.EventCursor{}, 10); len(got) != 0 {
		t.Errorf("another tenant reads %v", got)
	}
	expectFault(t, "another tenant's admin", func() error { _, err := o.events.Event(t.Context(), other.Owner, a); return err }(), fault.KindNotFound)
	for name, actor := range map[string]tenants.Actor{"a page": o.Widget, "a guest": o.Guest().Actor, "nobody": {}} {
		if _, _, err := o.events.Events(t.Context(), actor, region, events.EventCursor{}, 10); err == nil {
			t.Errorf("%s reads the feed", name)
		}
	}
	for _, size := range []int{0, -1, events.MaxPage + 1} {
		_, _, err := o.events.Events(t.Context(), o.Owner, region, events.EventCursor{}, size)
		expectFault(t, "a page out of bounds", err, fault.KindInvalid)
	}
}

// A transaction read the clock, another one later read it and committed first. Who reads the feed in
// between must not be past the moment of the first when it commits.
func TestTheFeedMissesNothingThatCommitsLate(t *testing.T) {
	t.Parallel()
	o := open(t)
	slow, err := o.DB.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Rollback(t.Context()) }()
	early, err := events.EmitTx(t.Context(), slow, events.NewEvent{
		Tenant: o.ID, Region: region, Channel: o.Widget.Channel, Kind: events.KindBooking, Entity: uuid.New(), Version: 1,
		Type: events.TypeBookingConfirmed, OccurredAt: o.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	late := o.emit(o.Widget.Channel, events.TypeBookingConfirmed)
	got, cursor := o.feed(o.Owner, events.EventCursor{}, 10)
	expectIDs(t, "before the first has committed", got)
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.pass(time.Hour)
	got, cursor = o.feed(o.Owner, cursor, 10)
	expectIDs(t, "after the horizon", got, early, late)
	got, _ = o.feed(o.Owner, cursor, 10)
	expectIDs(t, "after that", got)
}

func TestTheFeedIsOfOneRegion(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.emit(o.Widget.Channel, events.TypeBookingConfirmed)
	o.pass(time.Hour)
	found, _, err := o.events.Events(t.Context(), o.Owner, ids.Region("us"), events.EventCursor{}, 10)
	if err != nil || len(found) != 0 {
		t.Errorf("us: %v, %v", found, err)
	}
}
