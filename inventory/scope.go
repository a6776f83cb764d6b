package inventory

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// What a member may do at some places only is refused at all others as if nothing were there: the
// same answer as for an id that does not exist.

// AuthorizeAt authorises an action on things that are named by their ids. what is their kind, for the
// answer. Only for members whose roles are bound to places anything is read.
func AuthorizeAt(ctx context.Context, q dbsqlc.DBTX, authorizer Authorizer, actor tenants.Actor, action tenants.Action, what string, region ids.Region, named ...uuid.UUID) error {
	reach, err := tenants.ReachOf(authorizer.Authorize(actor, action, actor.Tenant))
	if err != nil || reach.Whole() {
		return err
	}
	return within(ctx, q, actor.Tenant, reach.Covers, what, region, named)
}

func (s *Service) authorizeAt(ctx context.Context, actor tenants.Actor, action tenants.Action, what string, region ids.Region, named ...uuid.UUID) error {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, action, actor.Tenant))
	if err != nil || reach.Whole() {
		return err
	}
	return within(ctx, s.db.Pool(), actor.Tenant, reach.Covers, what, region, named)
}

// authorizeLook is authorizeAt for what may also be looked at by who works at a show there.
func (s *Service) authorizeLook(ctx context.Context, actor tenants.Actor, action tenants.Action, what string, region ids.Region, named ...uuid.UUID) error {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, action, actor.Tenant))
	if err != nil || reach.Whole() {
		return err
	}
	return within(ctx, s.db.Pool(), actor.Tenant, reach.Shows, what, region, named)
}

// authorizeShows is authorizeAt for shows, which may lie in several regions.
func (s *Service) authorizeShows(ctx context.Context, actor tenants.Actor, action tenants.Action, shows []ShowID) error {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, action, actor.Tenant))
	if err != nil || reach.Whole() {
		return err
	}
	byRegion := map[ids.Region][]uuid.UUID{}
	for _, show := range shows {
		byRegion[show.Region] = append(byRegion[show.Region], show.UUID)
	}
	for region, named := range byRegion {
		if err := within(ctx, s.db.Pool(), actor.Tenant, reach.Covers, "show", region, named); err != nil {
			return err
		}
	}
	return nil
}

// authorizeScope is authorizeAt for what is set for a show, a venue, a property or, with none of them,
// the whole tenant.
func (s *Service) authorizeScope(ctx context.Context, actor tenants.Actor, action tenants.Action, show *ShowID, venue *tenants.VenueID, property *tenants.PropertyID) error {
	switch {
	case show != nil:
		return s.authorizeAt(ctx, actor, action, "show", show.Region, show.UUID)
	case venue != nil:
		return s.authorizeAt(ctx, actor, action, "venue", venue.Region, venue.UUID)
	case property != nil:
		return s.authorizeAt(ctx, actor, action, "property", property.Region, property.UUID)
	}
	return s.authorizer.Authorize(actor, action, actor.Tenant)
}

// authorizeUnits is authorizeAt for what is of a pool or of a room type; input that names neither is
// refused later.
func (s *Service) authorizeUnits(ctx context.Context, actor tenants.Actor, action tenants.Action, pool *PoolID, room *RoomTypeID) error {
	switch {
	case pool != nil:
		return s.authorizeAt(ctx, actor, action, "pool", pool.Region, pool.UUID)
	case room != nil:
		return s.authorizeAt(ctx, actor, action, "room type", room.Region, room.UUID)
	}
	return s.authorizer.Authorize(actor, action, actor.Tenant)
}

// authorizeClaim authorises a hold of units that lie at several places, perhaps.
func (s *Service) authorizeClaim(ctx context.Context, actor tenants.Actor, action tenants.Action, c claim) error {
	reach, err := tenants.ReachOf(s.authorizer.Authorize(actor, action, actor.Tenant))
	if err != nil || reach.Whole() {
		return err
	}
	for what, named := range map[string][]uuid.UUID{"show": c.shows, "pool": c.pools, "room type": c.rooms} {
		if err := within(ctx, s.db.Pool(), actor.Tenant, reach.Covers, what, c.region, named); err != nil {
			return err
		}
	}
	return nil
}

// within says that everything that is named is there and where it may be.
func within(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, fits func(tenants.Place) bool, what string, region ids.Region, named []uuid.UUID) error {
	rows, err := dbsqlc.New(q).Locate(ctx, dbsqlc.LocateParams{TenantID: tenant.UUID, Region: string(region), Ids: named})
	if err != nil {
		return db.Classify(fmt.Errorf("find out where things are: %w", err))
	}
	fitting := make(map[uuid.UUID]bool, len(rows))
	for _, row := range rows {
		fitting[row.ID] = fits(tenants.Place{Property: row.PropertyID, Venue: row.VenueID, Show: row.ShowID})
	}
	for _, id := range named {
		if !fitting[id] {
			return fault.NotFound(what)
		}
	}
	return nil
}

// WithinReach says whether all lines of a hold or booking lie where an actor may act, by the
// authorizer's answer about the action: of who may act at some places, one line elsewhere is enough
// to be refused the whole.
func WithinReach[L Line](ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, answer error, region ids.Region, lines []L) (bool, error) {
	reach, err := tenants.ReachOf(answer)
	switch {
	case err != nil:
		return false, nil //nolint:nilerr // that it may not is the answer
	case reach.Whole():
		return true, nil
	}
	var shows []uuid.UUID
	for _, line := range lines {
		switch unit := line.Unit(); {
		case unit.Kind != LineKindNight:
			shows = append(shows, unit.Show)
		case !reach.Covers(tenants.Place{Property: unit.Property}):
			return false, nil
		}
	}
	if len(shows) == 0 {
		return len(lines) > 0, nil
	}
	err = within(ctx, q, tenant, reach.Covers, "show", region, shows)
	if fault.KindOf(err) == fault.KindNotFound {
		return false, nil
	}
	return err == nil, err
}

// showsOf are the ids of shows.
func showsOf(shows []Show) []ShowID {
	named := make([]ShowID, len(shows))
	for i, show := range shows {
		named[i] = show.ID
	}
	return named
}
