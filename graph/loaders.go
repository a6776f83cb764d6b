package graph

import (
	"context"
	"errors"
	"time"

	"github.com/vikstrous/dataloadgen"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

// loaders gather what the fields of one request ask for and read each kind at once, so that a list
// costs as many statements as one item. They live as long as the request and know its actor.
type loaders struct {
	venues      *dataloadgen.Loader[tenants.VenueID, tenants.Venue]
	properties  *dataloadgen.Loader[tenants.PropertyID, tenants.Property]
	events      *dataloadgen.Loader[inventory.EventID, inventory.Event]
	shows       *dataloadgen.Loader[inventory.ShowID, inventory.Show]
	priceLevels *dataloadgen.Loader[pricedShow, []inventory.PriceLevel]
	pools       *dataloadgen.Loader[inventory.ShowID, []inventory.Pool]
	roomTypes   *dataloadgen.Loader[inventory.RoomTypeID, inventory.RoomType]
	// offers are the room types of a property.
	offers *dataloadgen.Loader[tenants.PropertyID, []inventory.RoomType]
	// ratePlans are by id, plansOf those of a property.
	ratePlans *dataloadgen.Loader[inventory.RatePlanID, inventory.RatePlan]
	plansOf   *dataloadgen.Loader[tenants.PropertyID, []inventory.RatePlan]
	refunds   *dataloadgen.Loader[payments.AttemptID, []payments.Refund]
	// refunded is what was given back for the booking of a hold.
	refunded   *dataloadgen.Loader[inventory.HoldID, money.Amount]
	conditions *dataloadgen.Loader[inventory.Site, inventory.Offer]
	disputes   *dataloadgen.Loader[payments.AttemptID, []payments.Dispute]
	allotted   *dataloadgen.Loader[inventory.AllotmentID, []inventory.AllotmentStock]
}

// pricedShow is a show with what its price levels need of it.
type pricedShow struct {
	id       inventory.ShowID
	currency money.Currency
}

func newLoaders(r *Resolver, actor tenants.Actor, wait time.Duration) *loaders {
	return &loaders{
		venues: loader(wait, func(ctx context.Context, keys []tenants.VenueID) (map[tenants.VenueID]tenants.Venue, error) {
			return r.tenants.VenuesByID(ctx, actor, keys)
		}),
		properties: loader(wait, func(ctx context.Context, keys []tenants.PropertyID) (map[tenants.PropertyID]tenants.Property, error) {
			return r.tenants.PropertiesByID(ctx, actor, keys)
		}),
		events: loader(wait, func(ctx context.Context, keys []inventory.EventID) (map[inventory.EventID]inventory.Event, error) {
			return r.inventory.EventsByID(ctx, actor, keys)
		}),
		shows: loader(wait, func(ctx context.Context, keys []inventory.ShowID) (map[inventory.ShowID]inventory.Show, error) {
			return r.inventory.ShowsByID(ctx, actor, keys)
		}),
		priceLevels: loader(wait, func(ctx context.Context, keys []pricedShow) (map[pricedShow][]inventory.PriceLevel, error) {
			return priceLevelsOf(ctx, r, actor, keys)
		}),
		pools: loader(wait, func(ctx context.Context, keys []inventory.ShowID) (map[inventory.ShowID][]inventory.Pool, error) {
			return r.inventory.PoolsOfShows(ctx, actor, keys)
		}),
		roomTypes: loader(wait, func(ctx context.Context, keys []inventory.RoomTypeID) (map[inventory.RoomTypeID]inventory.RoomType, error) {
			return r.inventory.RoomTypesByID(ctx, actor, keys)
		}),
		offers: loader(wait, func(ctx context.Context, keys []tenants.PropertyID) (map[tenants.PropertyID][]inventory.RoomType, error) {
			return r.inventory.RoomTypesOfProperties(ctx, actor, keys)
		}),
		ratePlans: loader(wait, func(ctx context.Context, keys []inventory.RatePlanID) (map[inventory.RatePlanID]inventory.RatePlan, error) {
			return r.inventory.RatePlansByID(ctx, actor, keys)
		}),
		plansOf: loader(wait, func(ctx context.Context, keys []tenants.PropertyID) (map[tenants.PropertyID][]inventory.RatePlan, error) {
			return r.inventory.RatePlansOfProperties(ctx, actor, keys)
		}),
		refunds: loader(wait, func(ctx context.Context, keys []payments.AttemptID) (map[payments.AttemptID][]payments.Refund, error) {
			return r.bookings.RefundsOfAttempts(ctx, actor, keys)
		}),
		refunded: loader(wait, func(ctx context.Context, keys []inventory.HoldID) (map[inventory.HoldID]money.Amount, error) {
			return r.bookings.RefundedOfHolds(ctx, actor, keys)
		}),
		conditions: loader(wait, func(ctx context.Context, keys []inventory.Site) (map[inventory.Site]inventory.Offer, error) {
			return r.inventory.Offers(ctx, actor, keys)
		}),
		disputes: loader(wait, func(ctx context.Context, keys []payments.AttemptID) (map[payments.AttemptID][]payments.Dispute, error) {
			return r.bookings.DisputesOfAttempts(ctx, actor, keys)
		}),
		allotted: loader(wait, func(ctx context.Context, keys []inventory.AllotmentID) (map[inventory.AllotmentID][]inventory.AllotmentStock, error) {
			return r.inventory.AllotmentStocks(ctx, actor, keys)
		}),
	}
}

func priceLevelsOf(ctx context.Context, r *Resolver, actor tenants.Actor, keys []pricedShow) (map[pricedShow][]inventory.PriceLevel, error) {
	shows := make([]inventory.Show, len(keys))
	for i, key := range keys {
		shows[i] = inventory.Show{ID: key.id, Currency: key.currency}
	}
	found, err := r.inventory.PriceLevelsOfShows(ctx, actor, shows)
	if err != nil {
		return nil, err
	}
	levels := make(map[pricedShow][]inventory.PriceLevel, len(keys))
	for _, key := range keys {
		levels[key] = found[key.id]
	}
	return levels, nil
}

func loader[K comparable, V any](wait time.Duration, fetch func(ctx context.Context, keys []K) (map[K]V, error)) *dataloadgen.Loader[K, V] {
	return dataloadgen.NewMappedLoader(fetch, dataloadgen.WithWait(wait), dataloadgen.WithBatchCapacity(maxBatch))
}

// load reads one entity; what is not there for the actor is a fault.KindNotFound that says what was
// looked for.
func load[K comparable, V any](ctx context.Context, from *dataloadgen.Loader[K, V], key K, what string) (V, error) {
	value, err := from.Load(ctx, key)
	if isMissing(err) {
		return value, fault.NotFound(what)
	}
	return value, err
}

// loadList reads what belongs to one entity, which may be nothing.
func loadList[K comparable, V any](ctx context.Context, from *dataloadgen.Loader[K, []V], key K) ([]V, error) {
	values, err := from.Load(ctx, key)
	if isMissing(err) {
		return nil, nil
	}
	return values, err
}

// isMissing says that a loader found nothing for its key.
func isMissing(err error) bool { return errors.Is(err, dataloadgen.ErrNotFound) }

// loadOrNull encodes one entity for a field that is null when the entity is not there for the
// actor any more.
func loadOrNull[K comparable, V, T any](ctx context.Context, from *dataloadgen.Loader[K, V], key K, view func(V) T) (*T, error) {
	value, err := from.Load(ctx, key)
	if isMissing(err) {
		return nil, nil //nolint:nilnil // null is this field's answer
	}
	return one(value, err, view)
}

// loadersKey is where a request's context carries its loaders.
type loadersKey struct{}

func withLoaders(ctx context.Context, l *loaders) context.Context {
	return context.WithValue(ctx, loadersKey{}, l)
}

func loadersOf(ctx context.Context) *loaders {
	l, _ := ctx.Value(loadersKey{}).(*loaders)
	return l
}
