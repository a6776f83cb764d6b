package inventory

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// halls remembers the seating of shows, which never changes. It bounds what it keeps: by the number of
// shows, and of the charts that they share.
type halls struct {
	db     *db.DB
	shows  *lru.Cache[owner, uuid.UUID]
	charts *lru.Cache[owner, *seating]
	reads  singleflight.Group
}

func newHalls(d *db.DB) *halls {
	shows, err := lru.New[owner, uuid.UUID](maxKnownOwners)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	kept, err := lru.New[owner, *seating](maxKnownHalls)
	if err != nil {
		panic(err)
	}
	return &halls{db: d, shows: shows, charts: kept}
}

// of are the halls of the shows whose seats are wanted. A show that does not exist, or has no seats, is
// left out: the claim says what is wrong with it.
func (h *halls) of(ctx context.Context, wishes []wish) (map[uuid.UUID]*seating, error) {
	found := map[uuid.UUID]*seating{}
	for _, w := range wishes {
		for _, line := range w.claim.lines {
			show := line.show()
			if show == uuid.Nil {
				continue
			}
			if _, ok := found[show]; ok {
				continue
			}
			hall, err := h.ofShow(ctx, owner{place: placeOf(w.actor.Tenant, w.claim.region), stock: show})
			if err != nil {
				return nil, err
			}
			if hall != nil {
				found[show] = hall
			}
		}
	}
	return found, nil
}

// show is the show whose seats a line wants, chosen or to be chosen.
func (l LineRequest) show() uuid.UUID {
	switch {
	case l.Best != nil:
		return l.Best.Show.UUID
	case l.Seats != nil:
		return l.Seats.Show.UUID
	}
	return uuid.Nil
}

// ofShow is the hall of one show, or nil.
func (h *halls) ofShow(ctx context.Context, show owner) (*seating, error) {
	id, ok := h.shows.Get(show)
	if !ok {
		chart, err := dbsqlc.New(h.db.Pool()).ChartOfShow(ctx, dbsqlc.ChartOfShowParams{TenantID: show.tenant, Region: string(show.region), ID: show.stock})
		switch {
		case db.IsNoRows(err), err == nil && chart == nil:
			return nil, nil //nolint:nilnil // there is nothing to sit on
		case err != nil:
			return nil, db.Classify(fmt.Errorf("read a show's chart: %w", err))
		}
		id = *chart
		h.shows.Add(show, id)
	}
	chart := owner{place: show.place, stock: id}
	if hall, ok := h.charts.Get(chart); ok {
		return hall, nil
	}
	// A chart is megabytes: many who want the first seats of a show read it once, and none's leaving ends it.
	read, err, _ := h.reads.Do(fmt.Sprint(chart), func() (any, error) {
		row, err := dbsqlc.New(h.db.Pool()).ChartGet(db.Shared(ctx), dbsqlc.ChartGetParams{TenantID: chart.tenant, Region: string(chart.region), ID: chart.stock})
		if err != nil {
			return nil, db.Classify(fmt.Errorf("read the chart: %w", err))
		}
		decoded, err := decodeChart(row.Geometry)
		if err != nil {
			return nil, err
		}
		hall := seatingOf(decoded)
		h.charts.Add(chart, hall)
		return hall, nil
	})
	if err != nil {
		return nil, err
	}
	return read.(*seating), nil //nolint:forcetypeassert // what the function above returns
}
