package graph

import (
	"context"
	"time"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
)

// SeatMap is the resolver for the seatMap field.
func (r *showResolver) SeatMap(ctx context.Context, obj *generated.Show) (*generated.SeatMap, error) {
	if obj.Source.Chart == nil {
		return nil, nil //nolint:nilnil // a show without assigned seats has no seat map
	}
	fill := fillOf(ctx)
	board, err := r.inventory.SeatBoard(ctx, actorOf(ctx), obj.Source.ID, fill.mapAge())
	if err != nil {
		return nil, err
	}
	if !fill.noteMap(board.ReadAt()) {
		r.metrics.mapServed(time.Since(board.ReadAt()))
	}
	return &generated.SeatMap{AsOf: board.AsOf(), Version: board.Version().String(), Source: board, Chart: *obj.Source.Chart}, nil
}

// Seats is the resolver for the seats field.
func (r *seatMapResolver) Seats(ctx context.Context, obj *generated.SeatMap) ([]generated.SeatState, error) {
	geometry, err := r.halls.get(ctx, actorOf(ctx), obj.Chart)
	if err != nil {
		return nil, err
	}
	return seatStatesView(obj.Source, geometry)
}

// Packed is the resolver for the packed field.
func (r *seatMapResolver) Packed(ctx context.Context, obj *generated.SeatMap) (string, error) {
	geometry, err := r.halls.get(ctx, actorOf(ctx), obj.Chart)
	if err != nil {
		return "", err
	}
	return packedView(obj.Source, geometry)
}

// ChangesSince is the resolver for the changesSince field.
func (r *seatMapResolver) ChangesSince(ctx context.Context, obj *generated.SeatMap, version string) (*generated.SeatMapChange, error) {
	since, err := readVersion("version", version)
	if err != nil {
		return nil, err
	}
	geometry, err := r.halls.get(ctx, actorOf(ctx), obj.Chart)
	if err != nil {
		return nil, err
	}
	return seatMapChangeView(obj.Source, geometry, &since)
}

func readVersion(field, text string) (inventory.MapVersion, error) {
	version, err := inventory.ParseMapVersion(text)
	if err != nil {
		return version, fault.Invalid(field, "%s, got %.64q", err, text)
	}
	return version, nil
}

// SeatMapChanged is the resolver for the seatMapChanged field.
func (r *subscriptionResolver) SeatMapChanged(ctx context.Context, show string, since *string) (<-chan *generated.SeatMapChange, error) {
	var d decoder
	id := readID[inventory.ShowKind](&d, "show", show)
	if d.err != nil {
		return nil, d.err
	}
	var have *inventory.MapVersion
	if since != nil {
		version, err := readVersion("since", *since)
		if err != nil {
			return nil, err
		}
		have = &version
	}
	actor := actorOf(ctx)
	found, err := load(ctx, loadersOf(ctx).shows, id, "show")
	if err != nil {
		return nil, err
	}
	if found.Chart == nil {
		return nil, fault.Invalid("show", "expected a show with assigned seats")
	}
	geometry, err := r.halls.get(ctx, actor, *found.Chart)
	if err != nil {
		return nil, err
	}
	watch, err := r.inventory.WatchSeats(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	return stream(ctx, watch.Changed(), watch.Close, func(first bool) (*generated.SeatMapChange, bool, error) {
		board, err := r.inventory.SeatBoard(ctx, subscriberOf(ctx), id, mapWatchAge)
		if err != nil {
			return nil, false, err
		}
		if !first && have != nil && *have == board.Version() {
			return nil, false, nil
		}
		change, err := seatMapChangeView(board, geometry, have)
		if err != nil {
			return nil, false, err
		}
		now, err := inventory.ParseMapVersion(change.Version)
		nothing := !first && have != nil && *have == now
		have = &now
		if nothing {
			return nil, false, err
		}
		r.metrics.mapServed(time.Since(board.ReadAt()))
		return change, false, err
	}), nil
}

// mapWatchAge is how old the board may be that answers a watch: the poll has just read it.
const mapWatchAge = time.Second

// HoldChanged is the resolver for the holdChanged field.
func (r *subscriptionResolver) HoldChanged(ctx context.Context, hold string) (<-chan *generated.Hold, error) {
	var d decoder
	id := readID[inventory.HoldKind](&d, "hold", hold)
	if d.err != nil {
		return nil, d.err
	}
	actor := actorOf(ctx)
	watch, current, err := r.inventory.WatchHold(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	return stream(ctx, watch.Changed(), watch.Close, func(first bool) (*generated.Hold, bool, error) {
		if !first {
			now, err := r.inventory.Hold(ctx, subscriberOf(ctx), id)
			if err != nil {
				return nil, false, err
			}
			if now.Version == current.Version && now.State == current.State {
				return nil, false, nil
			}
			current = now
		}
		view := holdView(current)
		return &view, !current.State.Live(), nil
	}), nil
}
