package tenants

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// Venue is a hall, arena or theatre. Its id's region is where its stock lives, for good.
type Venue struct {
	ID     VenueID
	Tenant TenantID
	Site
	CreatedAt time.Time
}

// NewVenue is what CreateVenue is told.
type NewVenue struct {
	// Region is where the venue's stock is kept: the one nearest to it.
	Region ids.Region
	Site
}

// CreateVenue makes a venue of the actor's tenant.
func (s *Service) CreateVenue(ctx context.Context, actor Actor, requestKey string, input NewVenue) (Venue, error) {
	if err := s.authorizer.Authorize(actor, ActionVenueCreate, actor.Tenant); err != nil {
		return Venue{}, err
	}
	if err := s.region("region", input.Region); err != nil {
		return Venue{}, err
	}
	var err error
	if input.Site, err = input.checked(); err != nil {
		return Venue{}, err
	}
	command, err := newCommand("createVenue", actor, requestKey, input)
	if err != nil {
		return Venue{}, err
	}
	id := ids.New[VenueKind](input.Region)
	return db.Replayable(ctx, s.db, "tenants.CreateVenue", func(ctx context.Context, tx pgx.Tx) (Venue, error) {
		return createVenueTx(ctx, tx, command, actor, id, input.Site)
	})
}

func createVenueTx(ctx context.Context, tx pgx.Tx, command command, actor Actor, id VenueID, site Site) (Venue, error) {
	queries, tenantID := dbsqlc.New(tx), actor.Tenant
	tenant, err := tenantTx(ctx, queries, tenantID)
	if err != nil {
		return Venue{}, err
	}
	earlier, replayed, err := command.claimTx(ctx, tx, tenantID.UUID, tenant.HomeRegion, id.UUID)
	if err != nil {
		return Venue{}, err
	}
	if replayed {
		rows, err := queries.VenueGetMany(ctx, dbsqlc.VenueGetManyParams{TenantID: tenantID.UUID, Ids: []uuid.UUID{earlier}})
		if err != nil {
			return Venue{}, fmt.Errorf("read a venue created before: %w", err)
		}
		if len(rows) != 1 {
			return Venue{}, fmt.Errorf("read a venue created before: %w", errInconsistent)
		}
		return venueOf(rows[0]), nil
	}
	row, err := queries.VenueInsert(ctx, dbsqlc.VenueInsertParams{
		TenantID: tenantID.UUID, ID: id.UUID, Region: string(id.Region), Name: site.Name, TimeZone: site.TimeZone,
		Currency: string(site.Currency), Country: site.Country, City: site.City,
	})
	if err != nil {
		return Venue{}, fmt.Errorf("insert the venue %s: %w", id, err)
	}
	created := venueOf(row)
	return created, AuditTx(ctx, tx, actor, Change{Action: ActionVenueCreate, Resource: created.ID, After: created.Site})
}

// Venue is one venue of the actor's tenant.
func (s *Service) Venue(ctx context.Context, actor Actor, id VenueID) (Venue, error) {
	found, err := s.VenuesByID(ctx, actor, []VenueID{id})
	if err != nil {
		return Venue{}, err
	}
	venue, ok := found[id]
	if !ok {
		return Venue{}, fault.NotFound("venue")
	}
	return venue, nil
}

// VenuesByID are those of up to MaxBatch ids that are the actor's tenant's; the others are left out.
func (s *Service) VenuesByID(ctx context.Context, actor Actor, batch []VenueID) (map[VenueID]Venue, error) {
	reach, err := ReachOf(s.authorizer.Authorize(actor, ActionVenueRead, actor.Tenant))
	if err != nil {
		return nil, err
	}
	uuids, err := uuidsOf(batch, func(id VenueID) uuid.UUID { return id.UUID })
	if err != nil {
		return nil, err
	}
	rows, err := s.read().VenueGetMany(ctx, dbsqlc.VenueGetManyParams{TenantID: actor.Tenant.UUID, Ids: uuids})
	if err != nil {
		return nil, failed("read venues", err)
	}
	// An id with a wrong region finds its row, but not itself in the answer.
	found := make(map[VenueID]Venue, len(rows))
	for _, row := range rows {
		if venue := venueOf(row); reach.Shows(Place{Venue: row.ID}) {
			found[venue.ID] = venue
		}
	}
	return found, nil
}

// Venues lists the venues of the actor's tenant.
func (s *Service) Venues(ctx context.Context, actor Actor, after VenueID, limit int) (Page[Venue], error) {
	reach, err := ReachOf(s.authorizer.Authorize(actor, ActionVenueRead, actor.Tenant))
	if err != nil {
		return Page[Venue]{}, err
	}
	if err := checkPage(limit); err != nil {
		return Page[Venue]{}, err
	}
	rows, err := s.read().VenueList(ctx, dbsqlc.VenueListParams{TenantID: actor.Tenant.UUID, After: after.UUID, MaxRows: int64(limit) + 1, Limited: !reach.Whole(), Ids: reach.Venues(true)})
	if err != nil {
		return Page[Venue]{}, failed("list venues", err)
	}
	return pageOf(rows, limit, venueOf), nil
}

func venueOf(row dbsqlc.Venue) Venue {
	return Venue{
		ID:        VenueID{Region: ids.Region(row.Region), UUID: row.ID},
		Tenant:    TenantID{UUID: row.TenantID},
		Site:      siteOf(row.Name, row.TimeZone, row.Currency, row.Country, row.City),
		CreatedAt: row.CreatedAt,
	}
}
