package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/tenants"
)

const listShows = "shows"

// Shows is the resolver for the shows field.
func (r *queryResolver) Shows(ctx context.Context, region, venue *string, from *time.Time, first int64, after *string) (*generated.ShowConnection, error) {
	var d decoder
	filter := inventory.ShowFilter{
		Region: readOptionalRegion(&d, region),
		Venue:  readOptionalID[tenants.VenueKind](&d, "venue", venue),
	}
	if from != nil {
		filter.From = *from
	}
	cursor := readShowCursor(&d, after)
	if d.err != nil {
		return nil, d.err
	}
	actor := actorOf(ctx)
	if filter.Region == "" {
		var err error
		if filter.Region, err = r.regionOfShows(ctx, actor, filter.Venue); err != nil {
			return nil, err
		}
	}
	shows, more, err := r.inventory.Shows(ctx, actor, filter, cursor, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.ShowConnection
	c.Edges, c.Nodes, c.PageInfo = connect(shows, more, showCursor, showView,
		func(cursor string, node generated.Show) generated.ShowEdge {
			return generated.ShowEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// regionOfShows is the region that a list of shows means when it names none: the venue's, or the
// only one that the tenant has venues in. A tenant with a whole page of venues has to say.
func (r *queryResolver) regionOfShows(ctx context.Context, actor tenants.Actor, venue *tenants.VenueID) (ids.Region, error) {
	if venue != nil {
		return venue.Region, nil
	}
	page, err := r.tenants.Venues(ctx, actor, tenants.VenueID{}, tenants.MaxPage)
	if err != nil {
		return "", err
	}
	regions := each(page.Items, func(v tenants.Venue) string { return string(v.ID.Region) })
	slices.Sort(regions)
	regions = slices.Compact(regions)
	switch {
	case len(regions) == 0:
		return noRegion, nil
	case len(regions) == 1 && !page.More:
		return ids.Region(regions[0]), nil
	}
	return "", fault.Invalid("region", "expected the region whose shows are wanted: the tenant has venues in %s", strings.Join(regions, ", "))
}

// noRegion is what a tenant without venues is looked up in: it has no shows anywhere.
const noRegion ids.Region = "none"

func showCursor(show inventory.Show) string {
	return encodeCursor(listShows, show.StartsAt.UTC().Format(time.RFC3339Nano), show.ID.UUID.String())
}

func readShowCursor(d *decoder, after *string) *inventory.ShowCursor {
	at, id := readTimeCursor(d, listShows, after)
	if after == nil {
		return nil
	}
	return &inventory.ShowCursor{StartsAt: at, ID: id}
}

// readTimeCursor reads the cursor of a list that is ordered by time and id.
func readTimeCursor(d *decoder, list string, after *string) (time.Time, uuid.UUID) {
	if after == nil {
		return time.Time{}, uuid.Nil
	}
	key, err := decodeCursor(list, *after, 2)
	if err != nil {
		d.refuse("after", err)
		return time.Time{}, uuid.Nil
	}
	at, timeErr := time.Parse(time.RFC3339Nano, key[0])
	id, idErr := uuid.Parse(key[1])
	if timeErr != nil || idErr != nil {
		d.refuse("after", errCursor)
	}
	return at, id
}

// Show is the resolver for the show field.
func (r *queryResolver) Show(ctx context.Context, id string) (*generated.Show, error) {
	var d decoder
	wanted := readID[inventory.ShowKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	show, err := load(ctx, loadersOf(ctx).shows, wanted, "show")
	return one(show, err, showView)
}

// Chart is the resolver for the chart field.
func (r *queryResolver) Chart(ctx context.Context, id string) (*generated.Chart, error) {
	var d decoder
	wanted := readID[inventory.ChartKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	found, err := r.halls.get(ctx, actorOf(ctx), wanted)
	if err != nil {
		return nil, err
	}
	return &found.chart, nil
}

// Venue is the resolver for the venue field.
func (r *eventResolver) Venue(ctx context.Context, obj *generated.Event) (*generated.Venue, error) {
	venue, err := load(ctx, loadersOf(ctx).venues, obj.Source.Venue, "venue")
	return one(venue, err, venueView)
}

// Event is the resolver for the event field.
func (r *showResolver) Event(ctx context.Context, obj *generated.Show) (*generated.Event, error) {
	event, err := load(ctx, loadersOf(ctx).events, obj.Source.Event, "event")
	return one(event, err, eventView)
}

// Venue is the resolver for the venue field.
func (r *showResolver) Venue(ctx context.Context, obj *generated.Show) (*generated.Venue, error) {
	venue, err := load(ctx, loadersOf(ctx).venues, obj.Source.Venue, "venue")
	return one(venue, err, venueView)
}

// Chart is the resolver for the chart field.
func (r *showResolver) Chart(ctx context.Context, obj *generated.Show) (*generated.Chart, error) {
	if obj.Source.Chart == nil {
		return nil, nil //nolint:nilnil // a show without assigned seats has no chart
	}
	found, err := r.halls.get(ctx, actorOf(ctx), *obj.Source.Chart)
	if err != nil {
		return nil, err
	}
	return &found.chart, nil
}

// PriceLevels is the resolver for the priceLevels field.
func (r *showResolver) PriceLevels(ctx context.Context, obj *generated.Show) ([]generated.PriceLevel, error) {
	levels, err := loadList(ctx, loadersOf(ctx).priceLevels, pricedShow{id: obj.Source.ID, currency: obj.Source.Currency})
	return each(levels, priceLevelView), err
}

// Pools is the resolver for the pools field.
func (r *showResolver) Pools(ctx context.Context, obj *generated.Show) ([]generated.Pool, error) {
	return r.poolsOf(ctx, obj.Source)
}

// poolsOf reads a show's pools and, of the same batch, the price levels they are sold at.
func (r *Resolver) poolsOf(ctx context.Context, show inventory.Show) ([]generated.Pool, error) {
	load := loadersOf(ctx)
	levels := load.priceLevels.LoadThunk(ctx, pricedShow{id: show.ID, currency: show.Currency})
	pools, err := loadList(ctx, load.pools, show.ID)
	if err != nil || len(pools) == 0 {
		return []generated.Pool{}, err
	}
	known, err := levels()
	if err != nil {
		return nil, err
	}
	views := make([]generated.Pool, len(pools))
	for i, pool := range pools {
		at := slices.IndexFunc(known, func(l inventory.PriceLevel) bool { return l.ID == pool.PriceLevel })
		if at < 0 {
			return nil, fmt.Errorf("pool %s: its price level %s is not one of its show's", pool.ID, pool.PriceLevel)
		}
		views[i] = poolView(pool, known[at])
	}
	return views, nil
}

// seatOf finds a seat of a show in its chart; nil when the show or the seat is not there for the
// actor.
func (r *Resolver) seatOf(ctx context.Context, show inventory.ShowID, seat inventory.SeatID) (*generated.Seat, error) {
	found, err := loadersOf(ctx).shows.Load(ctx, show)
	if isMissing(err) || err == nil && found.Chart == nil {
		return nil, nil //nolint:nilnil // null is the answer for a seat that cannot be shown any more
	}
	if err != nil {
		return nil, err
	}
	geometry, err := r.halls.get(ctx, actorOf(ctx), *found.Chart)
	if err != nil {
		return nil, err
	}
	return geometry.seats[seat.UUID], nil
}

// ImportChart is the resolver for the importChart field.
func (r *mutationResolver) ImportChart(ctx context.Context, input generated.ImportChartInput) (generated.ImportChartResult, error) {
	var d decoder
	venue := readID[tenants.VenueKind](&d, "input.venue", input.Venue)
	if d.err != nil {
		return nil, d.err
	}
	chart, err := charts.ParsePretix(strings.NewReader(input.Plan))
	var problems *charts.ProblemsError
	switch {
	case errors.As(err, &problems):
		return chartRejectedView(problems), nil
	case errors.Is(err, charts.ErrPlanTooLarge):
		return nil, fault.Invalid("input.plan", "%s", charts.ErrPlanTooLarge)
	case err != nil:
		return nil, fmt.Errorf("read a seating plan: %w", err)
	}
	id, err := r.inventory.ImportChart(ctx, actorOf(ctx), input.RequestKey, venue, chart)
	if err != nil {
		return nil, inInput(err)
	}
	stored, err := newHall(id, chart)
	if err != nil {
		return nil, err
	}
	return stored.chart, nil
}

// CreateEvent is the resolver for the createEvent field.
func (r *mutationResolver) CreateEvent(ctx context.Context, input generated.CreateEventInput) (*generated.Event, error) {
	var d decoder
	venue := readID[tenants.VenueKind](&d, "input.venue", input.Venue)
	if d.err != nil {
		return nil, d.err
	}
	id, err := r.inventory.CreateEvent(ctx, actorOf(ctx), input.RequestKey, inventory.NewEvent{Venue: venue, Name: input.Name})
	return one(inventory.Event{ID: id, Venue: venue, Name: input.Name}, inInput(err), eventView)
}

// CreateShow is the resolver for the createShow field.
func (r *mutationResolver) CreateShow(ctx context.Context, input generated.CreateShowInput) (*generated.Show, error) {
	var d decoder
	show := inventory.NewShow{
		Event: readID[inventory.EventKind](&d, "input.event", input.Event),
		Chart: readOptionalID[inventory.ChartKind](&d, "input.chart", input.Chart),
		Name:  input.Name, State: inventory.ShowState(input.State), StartsAt: input.StartsAt,
		SaleOpensAt: input.SaleOpensAt, SaleClosesAt: input.SaleClosesAt,
		PriceLevels: each(input.PriceLevels, func(l generated.PriceLevelInput) inventory.NewPriceLevel {
			return inventory.NewPriceLevel{Name: l.Name, AmountMinor: l.AmountMinor, Categories: l.Categories}
		}),
		Pools: each(input.Pools, func(p generated.PoolInput) inventory.NewPool {
			return inventory.NewPool{Name: p.Name, PriceLevel: p.PriceLevel, Capacity: p.Capacity, Shards: p.Shards}
		}),
	}
	if d.err != nil {
		return nil, d.err
	}
	id, err := r.inventory.CreateShow(ctx, actorOf(ctx), input.RequestKey, show)
	if err != nil {
		return nil, inInput(err)
	}
	return r.showAfter(ctx, id)
}

// SetShowState is the resolver for the setShowState field.
func (r *mutationResolver) SetShowState(ctx context.Context, input generated.SetShowStateInput) (*generated.Show, error) {
	var d decoder
	id := readID[inventory.ShowKind](&d, "input.show", input.Show)
	if d.err != nil {
		return nil, d.err
	}
	if err := r.inventory.SetShowState(ctx, actorOf(ctx), id, inventory.ShowState(input.State)); err != nil {
		return nil, inInput(err)
	}
	return r.showAfter(ctx, id)
}

// SetPrice is the resolver for the setPrice field.
func (r *mutationResolver) SetPrice(ctx context.Context, input generated.SetPriceInput) (*generated.Show, error) {
	var d decoder
	show := readID[inventory.ShowKind](&d, "input.show", input.Show)
	level := readID[inventory.PriceLevelKind](&d, "input.priceLevel", input.PriceLevel)
	if d.err != nil {
		return nil, d.err
	}
	if err := r.inventory.SetPrice(ctx, actorOf(ctx), show, level, input.AmountMinor); err != nil {
		return nil, inInput(err)
	}
	return r.showAfter(ctx, show)
}

// showAfter reads a show that was just changed.
func (r *mutationResolver) showAfter(ctx context.Context, id inventory.ShowID) (*generated.Show, error) {
	show, err := r.inventory.Show(ctx, actorOf(ctx), id)
	return one(show, err, showView)
}

// SetPoolCapacity is the resolver for the setPoolCapacity field.
func (r *mutationResolver) SetPoolCapacity(ctx context.Context, input generated.SetPoolCapacityInput) (*generated.PoolCapacitySet, error) {
	var d decoder
	pool := readID[inventory.PoolKind](&d, "input.pool", input.Pool)
	if d.err != nil {
		return nil, d.err
	}
	over, err := r.inventory.SetPoolCapacity(ctx, actorOf(ctx), pool, input.Capacity)
	return one(over, inInput(err), func(over int64) generated.PoolCapacitySet {
		return generated.PoolCapacitySet{PoolID: pool.String(), Capacity: input.Capacity, OversoldBy: over}
	})
}
