package graph

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/waitlist"
)

// WaitingLists is what the API asks of package waitlist; a waitlist.Service is one.
type WaitingLists interface {
	Join(ctx context.Context, actor tenants.Actor, input waitlist.Join) (waitlist.Entry, error)
	Leave(ctx context.Context, actor tenants.Actor, requestKey string, id waitlist.EntryID) (waitlist.Entry, error)
	Set(ctx context.Context, actor tenants.Actor, scope waitlist.Scope, change waitlist.Change) (waitlist.List, error)
	List(ctx context.Context, actor tenants.Actor, scope waitlist.Scope) (waitlist.List, error)
	Entry(ctx context.Context, actor tenants.Actor, id waitlist.EntryID) (waitlist.Entry, error)
	Mine(ctx context.Context, actor tenants.Actor, region ids.Region, after *waitlist.Cursor, limit int) ([]waitlist.Entry, bool, error)
	Entries(ctx context.Context, actor tenants.Actor, scope waitlist.Scope, after int64, limit int) ([]waitlist.Entry, bool, error)
}

const (
	listWaitingListEntries = "waitingListEntries"
	listWaitingListLine    = "waitingListLine"
)

// WaitingListEntry is the resolver for the waitingListEntry field.
func (r *queryResolver) WaitingListEntry(ctx context.Context, id string) (*generated.WaitingListEntry, error) {
	var d decoder
	wanted := readID[waitlist.EntryKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	entry, err := r.waitlists.Entry(ctx, actorOf(ctx), wanted)
	return one(entry, err, entryView)
}

// WaitingListEntries is the resolver for the waitingListEntries field.
func (r *queryResolver) WaitingListEntries(ctx context.Context, region *string, first int64, after *string) (*generated.WaitingListEntryConnection, error) {
	var d decoder
	actor := actorOf(ctx)
	where := readOptionalRegion(&d, region)
	if where == "" {
		where = actor.Session.Region
	}
	at, id := readTimeCursor(&d, listWaitingListEntries, after)
	if d.err == nil && where == "" {
		d.err = fault.Invalid("region", "expected the region whose entries are wanted, such as \"eu\"")
	}
	if d.err != nil {
		return nil, d.err
	}
	var from *waitlist.Cursor
	if after != nil {
		from = &waitlist.Cursor{JoinedAt: at, ID: id}
	}
	entries, more, err := r.waitlists.Mine(ctx, actor, where, from, int(first))
	if err != nil {
		return nil, err
	}
	return entryConnection(entries, more, func(e waitlist.Entry) string {
		return encodeCursor(listWaitingListEntries, e.JoinedAt.UTC().Format(time.RFC3339Nano), e.ID.UUID.String())
	}), nil
}

// WaitingList is the resolver for the waitingList field.
func (r *queryResolver) WaitingList(ctx context.Context, show, property *string) (*generated.WaitingList, error) {
	var d decoder
	scope := readListScope(&d, "", show, property)
	if d.err != nil {
		return nil, d.err
	}
	list, err := r.waitlists.List(ctx, actorOf(ctx), scope)
	return one(list, err, waitingListView)
}

func readListScope(d *decoder, within string, show, property *string) waitlist.Scope {
	var scope waitlist.Scope
	if id := readOptionalID[inventory.ShowKind](d, within+"show", show); id != nil {
		scope.Show = *id
	}
	if id := readOptionalID[tenants.PropertyKind](d, within+"property", property); id != nil {
		scope.Property = *id
	}
	return scope
}

// Entries is the resolver for the entries field.
func (r *waitingListResolver) Entries(ctx context.Context, obj *generated.WaitingList, first int64, after *string) (*generated.WaitingListEntryConnection, error) {
	var d decoder
	var from int64
	if key := readCursor(&d, listWaitingListLine, after); key != "" {
		number, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			d.refuse("after", errCursor)
		}
		from = number
	}
	if d.err != nil {
		return nil, d.err
	}
	entries, more, err := r.waitlists.Entries(ctx, actorOf(ctx), obj.Source, from, int(first))
	if err != nil {
		return nil, err
	}
	return entryConnection(entries, more, func(e waitlist.Entry) string {
		return encodeCursor(listWaitingListLine, strconv.FormatInt(e.Number(), 10))
	}), nil
}

// Hold is the resolver for the hold field.
func (r *waitingListEntryResolver) Hold(ctx context.Context, obj *generated.WaitingListEntry) (*generated.Hold, error) {
	if obj.Source.IsZero() {
		return nil, nil //nolint:nilnil // nothing was held for it
	}
	hold, err := r.inventory.Hold(ctx, actorOf(ctx), obj.Source)
	if kind := fault.KindOf(err); kind == fault.KindNotFound || kind == fault.KindDenied {
		return nil, nil //nolint:nilnil // the entry may be seen, its hold may not
	}
	return one(hold, err, holdView)
}

// JoinWaitingList is the resolver for the joinWaitingList field.
func (r *mutationResolver) JoinWaitingList(ctx context.Context, input generated.JoinWaitingListInput) (generated.JoinWaitingListResult, error) {
	var d decoder
	join := waitlist.Join{RequestKey: input.RequestKey, Lines: make([]inventory.LineRequest, len(input.Lines)), Until: input.Until}
	for i, line := range input.Lines {
		join.Lines[i] = readLine(&d, fmt.Sprintf("input.lines[%d]", i), generated.HoldLineInput{
			Pool: line.Pool, Stay: line.Stay, BestAvailable: line.BestAvailable,
		})
	}
	if d.err != nil {
		return nil, d.err
	}
	entry, err := r.waitlists.Join(ctx, actorOf(ctx), join)
	if err != nil {
		return holdRefused(err, join.Lines)
	}
	return entryView(entry), nil
}

// LeaveWaitingList is the resolver for the leaveWaitingList field.
func (r *mutationResolver) LeaveWaitingList(ctx context.Context, input generated.LeaveWaitingListInput) (generated.LeaveWaitingListResult, error) {
	var d decoder
	id := readID[waitlist.EntryKind](&d, "input.waitingListEntry", input.WaitingListEntry)
	if d.err != nil {
		return nil, d.err
	}
	entry, err := r.waitlists.Leave(ctx, actorOf(ctx), input.RequestKey, id)
	if err != nil {
		return holdRefused(err, nil)
	}
	return entryView(entry), nil
}

// SetWaitingList is the resolver for the setWaitingList field.
func (r *mutationResolver) SetWaitingList(ctx context.Context, input generated.SetWaitingListInput) (*generated.WaitingList, error) {
	var d decoder
	scope := readListScope(&d, "input.", input.Show, input.Property)
	if d.err != nil {
		return nil, d.err
	}
	list, err := r.waitlists.Set(ctx, actorOf(ctx), scope, waitlist.Change{
		Open: input.Open, Offer: optionalSeconds(input.OfferSeconds), MaxEntries: input.MaxEntries,
	})
	return one(list, inInput(err), waitingListView)
}

func waitingListView(l waitlist.List) generated.WaitingList {
	return generated.WaitingList{
		ShowID: idOrNull(l.Show), PropertyID: idOrNull(l.Property), Open: l.Open, OfferSeconds: int64(l.Offer / time.Second), MaxEntries: l.MaxEntries,
		Waiting: l.Waiting, Offered: l.Offered, OldestJoinedAt: l.Oldest, Source: l.Scope,
	}
}

func entryView(e waitlist.Entry) generated.WaitingListEntry {
	view := generated.WaitingListEntry{
		ID: e.ID.String(), State: generated.WaitingListEntryState(e.State), ShowID: idOrNull(e.Show), PropertyID: idOrNull(e.Property),
		ChannelID: e.Channel.String(), Lines: each(e.Lines, lineView), JoinedAt: e.JoinedAt, ExpiresAt: e.ExpiresAt,
		OfferedAt: e.OfferedAt, EndedAt: e.EndedAt, HoldID: idOrNull(e.Hold), Version: e.Version, Source: e.Hold,
	}
	if e.State == waitlist.StateWaiting {
		view.Ahead = &e.Ahead
	}
	return view
}

func lineView(line inventory.LineRequest) generated.WaitingListLine {
	view := generated.WaitingListLine{PriceLevelIds: []string{}, Sections: []string{}}
	switch {
	case line.Pool != nil:
		view.Kind, view.Quantity, view.PoolID = generated.UnitKindPool, line.Pool.Quantity, idOrNull(line.Pool.Pool)
	case line.Stay != nil:
		view.Kind, view.Quantity, view.RoomTypeID = generated.UnitKindNight, line.Stay.Rooms, idOrNull(line.Stay.RoomType)
		view.CheckIn, view.CheckOut = &line.Stay.CheckIn, &line.Stay.CheckOut
	case line.Best != nil:
		view.Kind, view.Quantity, view.ShowID = generated.UnitKindSeat, line.Best.Quantity, idOrNull(line.Best.Show)
		view.PriceLevelIds = each(line.Best.PriceLevels, inventory.PriceLevelID.String)
		view.Sections = append(view.Sections, line.Best.Sections...)
		view.Accessible, view.AllowSplit = line.Best.Accessible, line.Best.AllowSplit
	}
	return view
}

func entryConnection(entries []waitlist.Entry, more bool, cursor func(waitlist.Entry) string) *generated.WaitingListEntryConnection {
	var c generated.WaitingListEntryConnection
	c.Edges, c.Nodes, c.PageInfo = connect(entries, more, cursor, entryView,
		func(cursor string, node generated.WaitingListEntry) generated.WaitingListEntryEdge {
			return generated.WaitingListEntryEdge{Cursor: cursor, Node: node}
		})
	return &c
}
