package graph

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// Allotments is what the API asks of package inventory about allotments.
type Allotments interface {
	CreateAllotment(ctx context.Context, actor tenants.Actor, requestKey string, input inventory.NewAllotment) (inventory.Allotment, error)
	MakeAllotmentDefinite(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.AllotmentID) (inventory.Allotment, error)
	UpdateAllotment(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.AllotmentID, change inventory.AllotmentChange) (inventory.Allotment, error)
	ReleaseAllotment(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.AllotmentID, nights *inventory.NightRange) (inventory.Allotment, error)
	CancelAllotment(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.AllotmentID) (inventory.Allotment, error)
	Allotment(ctx context.Context, actor tenants.Actor, id inventory.AllotmentID) (inventory.Allotment, error)
	Allotments(ctx context.Context, actor tenants.Actor, filter inventory.AllotmentFilter, after *inventory.AllotmentCursor, limit int) ([]inventory.Allotment, bool, error)
	AllotmentStocks(ctx context.Context, actor tenants.Actor, wanted []inventory.AllotmentID) (map[inventory.AllotmentID][]inventory.AllotmentStock, error)
	AllotmentHistory(ctx context.Context, actor tenants.Actor, id inventory.AllotmentID, before int64, limit int) ([]inventory.AllotmentEntry, bool, error)
}

const (
	listAllotments       = "allotments"
	listAllotmentHistory = "allotmentHistory"
)

// Allotment is the resolver for the allotment field.
func (r *queryResolver) Allotment(ctx context.Context, id string) (*generated.Allotment, error) {
	var d decoder
	wanted := readID[inventory.AllotmentKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	found, err := r.inventory.Allotment(ctx, actorOf(ctx), wanted)
	return one(found, err, allotmentView)
}

// Allotments is the resolver for the allotments field.
func (r *queryResolver) Allotments(ctx context.Context, property, show, channel *string, first int64, after *string) (*generated.AllotmentConnection, error) {
	var d decoder
	filter := inventory.AllotmentFilter{
		Property: readOptionalID[tenants.PropertyKind](&d, "property", property), Show: readOptionalID[inventory.ShowKind](&d, "show", show),
	}
	if of := readOptionalGlobalID[tenants.ChannelKind](&d, "channel", channel); channel != nil {
		filter.Channel = &of
	}
	at, id := readTimeCursor(&d, listAllotments, after)
	if d.err != nil {
		return nil, d.err
	}
	found, more, err := r.inventory.Allotments(ctx, actorOf(ctx), filter, &inventory.AllotmentCursor{CreatedAt: at, ID: id}, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.AllotmentConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more,
		func(a inventory.Allotment) string {
			return encodeCursor(listAllotments, a.CreatedAt.UTC().Format(time.RFC3339Nano), a.ID.UUID.String())
		}, allotmentView,
		func(cursor string, node generated.Allotment) generated.AllotmentEdge {
			return generated.AllotmentEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// Stock is the resolver for the stock field.
func (r *allotmentResolver) Stock(ctx context.Context, obj *generated.Allotment) ([]generated.AllotmentStock, error) {
	stocks, err := loadList(ctx, loadersOf(ctx).allotted, obj.Source)
	return each(stocks, allotmentStockView), err
}

// History is the resolver for the history field.
func (r *allotmentResolver) History(ctx context.Context, obj *generated.Allotment, first int64, after *string) (*generated.AllotmentChangeConnection, error) {
	var d decoder
	before := int64(0)
	if key := readCursor(&d, listAllotmentHistory, after); key != "" {
		var err error
		if before, err = strconv.ParseInt(key, 10, 64); err != nil || before < 1 {
			d.refuse("after", errCursor)
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	entries, more, err := r.inventory.AllotmentHistory(ctx, actorOf(ctx), obj.Source, before, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.AllotmentChangeConnection
	c.Edges, c.Nodes, c.PageInfo = connect(entries, more,
		func(e inventory.AllotmentEntry) string {
			return encodeCursor(listAllotmentHistory, strconv.FormatInt(e.Version, 10))
		}, allotmentChangeView,
		func(cursor string, node generated.AllotmentChange) generated.AllotmentChangeEdge {
			return generated.AllotmentChangeEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// CreateAllotment is the resolver for the createAllotment field.
func (r *mutationResolver) CreateAllotment(ctx context.Context, input generated.CreateAllotmentInput) (generated.AllotmentResult, error) {
	var d decoder
	n := inventory.NewAllotment{
		Channel: readGlobalID[tenants.ChannelKind](&d, "input.channel", input.Channel), Name: input.Name,
		Pool:     readOptionalID[inventory.PoolKind](&d, "input.pool", input.Pool),
		RoomType: readOptionalID[inventory.RoomTypeKind](&d, "input.roomType", input.RoomType), Nights: allotmentNights(input.Nights),
		Quantity: input.Quantity, SellsShared: input.SellsShared, Definite: input.Definite,
	}
	if release := readRelease(&d, "input.release", input.Release); release != nil {
		n.Release = *release
	}
	if d.err != nil {
		return nil, d.err
	}
	made, err := r.inventory.CreateAllotment(ctx, actorOf(ctx), input.RequestKey, n)
	return allotmentResult(made, inInput(err))
}

// MakeAllotmentDefinite is the resolver for the makeAllotmentDefinite field.
func (r *mutationResolver) MakeAllotmentDefinite(ctx context.Context, input generated.AllotmentInput) (generated.AllotmentResult, error) {
	var d decoder
	id := readID[inventory.AllotmentKind](&d, "input.allotment", input.Allotment)
	if d.err != nil {
		return nil, d.err
	}
	made, err := r.inventory.MakeAllotmentDefinite(ctx, actorOf(ctx), input.RequestKey, id)
	return allotmentResult(made, inInput(err))
}

// UpdateAllotment is the resolver for the updateAllotment field.
func (r *mutationResolver) UpdateAllotment(ctx context.Context, input generated.UpdateAllotmentInput) (generated.AllotmentResult, error) {
	var d decoder
	id := readID[inventory.AllotmentKind](&d, "input.allotment", input.Allotment)
	change := inventory.AllotmentChange{
		Name: input.Name, Quantity: input.Quantity, Nights: allotmentNights(input.Nights), SellsShared: input.SellsShared,
		Release: readRelease(&d, "input.release", input.Release),
	}
	if d.err != nil {
		return nil, d.err
	}
	changed, err := r.inventory.UpdateAllotment(ctx, actorOf(ctx), input.RequestKey, id, change)
	return allotmentResult(changed, inInput(err))
}

// ReleaseAllotment is the resolver for the releaseAllotment field.
func (r *mutationResolver) ReleaseAllotment(ctx context.Context, input generated.ReleaseAllotmentInput) (generated.AllotmentResult, error) {
	var d decoder
	id := readID[inventory.AllotmentKind](&d, "input.allotment", input.Allotment)
	if d.err != nil {
		return nil, d.err
	}
	released, err := r.inventory.ReleaseAllotment(ctx, actorOf(ctx), input.RequestKey, id, allotmentNights(input.Nights))
	return allotmentResult(released, inInput(err))
}

// CancelAllotment is the resolver for the cancelAllotment field.
func (r *mutationResolver) CancelAllotment(ctx context.Context, input generated.AllotmentInput) (generated.AllotmentResult, error) {
	var d decoder
	id := readID[inventory.AllotmentKind](&d, "input.allotment", input.Allotment)
	if d.err != nil {
		return nil, d.err
	}
	cancelled, err := r.inventory.CancelAllotment(ctx, actorOf(ctx), input.RequestKey, id)
	return allotmentResult(cancelled, inInput(err))
}

// readRelease reads when an allotment is released; nil when nothing is said.
func readRelease(d *decoder, field string, input *generated.AllotmentReleaseInput) *inventory.ReleaseRule {
	if input == nil {
		return nil
	}
	rule := inventory.ReleaseRule{At: input.At, DaysBefore: input.DaysBefore}
	if input.LocalTime != nil {
		at, err := inventory.ParseTimeOfDay(*input.LocalTime)
		if err != nil {
			d.refuse(field+".localTime", err)
		}
		rule.LocalTime = &at
	}
	return &rule
}

// allotmentNights keeps no weekday at all apart from every weekday.
func allotmentNights(input *generated.AllotmentNightsInput) *inventory.NightRange {
	if input == nil {
		return nil
	}
	nights := inventory.NightRange{First: input.From, Last: input.To}
	if input.Weekdays != nil {
		nights.Weekdays = each(input.Weekdays, weekdayOf)
	}
	return &nights
}

// allotmentResult shows the allotment, or the refusal.
func allotmentResult(a inventory.Allotment, err error) (generated.AllotmentResult, error) {
	var refusal *inventory.Refusal
	if errors.As(err, &refusal) {
		return allotmentRefusedView(refusal), nil
	}
	if err != nil {
		return nil, err
	}
	return allotmentView(a), nil
}

func allotmentRefusedView(r *inventory.Refusal) generated.AllotmentRefused {
	return generated.AllotmentRefused{
		Code: generated.RefusalCode(r.Code), Message: r.Message,
		Lacking: each(r.Lines, func(l inventory.RefusedLine) generated.AllotmentLack {
			return generated.AllotmentLack{Code: generated.RefusalCode(l.Code), Night: l.Night, Asked: l.Limit, Possible: l.Available}
		}),
	}
}

func allotmentView(a inventory.Allotment) generated.Allotment {
	view := generated.Allotment{
		ID: a.ID.String(), Name: a.Name, ChannelID: a.Channel.String(), PoolID: idOrNull(a.Pool), ShowID: idOrNull(a.Show),
		RoomTypeID: idOrNull(a.RoomType), PropertyID: idOrNull(a.Property), SellsShared: a.SellsShared,
		State: generated.AllotmentState(a.State), Version: a.Version, CreatedAt: a.CreatedAt, DefiniteAt: a.DefiniteAt, EndedAt: a.EndedAt,
		Source: a.ID,
	}
	if !a.RoomType.IsZero() {
		view.From, view.To = &a.Nights.First, &a.Nights.Last
		if a.Nights.Weekdays != nil {
			view.Weekdays = each(a.Nights.Weekdays, weekdayView)
		}
	}
	if a.Release.At != nil || a.Release.DaysBefore != nil {
		view.Release = &generated.AllotmentRelease{At: a.Release.At, DaysBefore: a.Release.DaysBefore}
		if a.Release.LocalTime != nil {
			text := a.Release.LocalTime.String()
			view.Release.LocalTime = &text
		}
	}
	return view
}

func allotmentStockView(s inventory.AllotmentStock) generated.AllotmentStock {
	view := generated.AllotmentStock{
		State: generated.AllotmentState(s.State), Quantity: s.Quantity, Held: s.Held, Sold: s.Sold, Released: s.Released, Free: s.Free, ReleaseAt: s.ReleaseAt,
	}
	if s.Night.IsValid() {
		view.Night = &s.Night
	}
	return view
}

func allotmentChangeView(e inventory.AllotmentEntry) generated.AllotmentChange {
	return generated.AllotmentChange{
		Version: e.Version, Action: generated.AllotmentAction(e.Action), KeyID: idOrNull(e.Key), Actor: orNull(e.Actor), Units: e.Units, At: e.At,
	}
}

func weekdayView(day time.Weekday) generated.Weekday {
	return generated.AllWeekday[(int(day)+6)%7]
}
