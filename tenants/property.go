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

// Property is a hotel. Its id's region is where its stock lives, for good.
type Property struct {
	ID     PropertyID
	Tenant TenantID
	Site
	CreatedAt time.Time
}

// NewProperty is what CreateProperty is told.
type NewProperty struct {
	// Region is where the property's stock is kept: the one nearest to it.
	Region ids.Region
	Site
}

// CreateProperty makes a property of the actor's tenant.
func (s *Service) CreateProperty(ctx context.Context, actor Actor, requestKey string, input NewProperty) (Property, error) {
	if err := s.authorizer.Authorize(actor, ActionPropertyCreate, actor.Tenant); err != nil {
		return Property{}, err
	}
	if err := s.region("region", input.Region); err != nil {
		return Property{}, err
	}
	var err error
	if input.Site, err = input.checked(); err != nil {
		return Property{}, err
	}
	command, err := newCommand("createProperty", actor, requestKey, input)
	if err != nil {
		return Property{}, err
	}
	id := ids.New[PropertyKind](input.Region)
	return db.Replayable(ctx, s.db, "tenants.CreateProperty", func(ctx context.Context, tx pgx.Tx) (Property, error) {
		return createPropertyTx(ctx, tx, command, actor, id, input.Site)
	})
}

func createPropertyTx(ctx context.Context, tx pgx.Tx, command command, actor Actor, id PropertyID, site Site) (Property, error) {
	queries, tenantID := dbsqlc.New(tx), actor.Tenant
	tenant, err := tenantTx(ctx, queries, tenantID)
	if err != nil {
		return Property{}, err
	}
	earlier, replayed, err := command.claimTx(ctx, tx, tenantID.UUID, tenant.HomeRegion, id.UUID)
	if err != nil {
		return Property{}, err
	}
	if replayed {
		rows, err := queries.PropertyGetMany(ctx, dbsqlc.PropertyGetManyParams{TenantID: tenantID.UUID, Ids: []uuid.UUID{earlier}})
		if err != nil {
			return Property{}, fmt.Errorf("read a property created before: %w", err)
		}
		if len(rows) != 1 {
			return Property{}, fmt.Errorf("read a property created before: %w", errInconsistent)
		}
		return propertyOf(rows[0]), nil
	}
	row, err := queries.PropertyInsert(ctx, dbsqlc.PropertyInsertParams{
		TenantID: tenantID.UUID, ID: id.UUID, Region: string(id.Region), Name: site.Name, TimeZone: site.TimeZone,
		Currency: string(site.Currency), Country: site.Country, City: site.City,
	})
	if err != nil {
		return Property{}, fmt.Errorf("insert the property %s: %w", id, err)
	}
	created := propertyOf(row)
	return created, AuditTx(ctx, tx, actor, Change{Action: ActionPropertyCreate, Resource: created.ID, After: created.Site})
}

// Property is one property of the actor's tenant.
func (s *Service) Property(ctx context.Context, actor Actor, id PropertyID) (Property, error) {
	found, err := s.PropertiesByID(ctx, actor, []PropertyID{id})
	if err != nil {
		return Property{}, err
	}
	property, ok := found[id]
	if !ok {
		return Property{}, fault.NotFound("property")
	}
	return property, nil
}

// PropertiesByID are those of up to MaxBatch ids that are the actor's tenant's; the others are left out.
func (s *Service) PropertiesByID(ctx context.Context, actor Actor, batch []PropertyID) (map[PropertyID]Property, error) {
	reach, err := ReachOf(s.authorizer.Authorize(actor, ActionPropertyRead, actor.Tenant))
	if err != nil {
		return nil, err
	}
	uuids, err := uuidsOf(batch, func(id PropertyID) uuid.UUID { return id.UUID })
	if err != nil {
		return nil, err
	}
	rows, err := s.read().PropertyGetMany(ctx, dbsqlc.PropertyGetManyParams{TenantID: actor.Tenant.UUID, Ids: uuids})
	if err != nil {
		return nil, failed("read properties", err)
	}
	// An id with a wrong region finds its row, but not itself in the answer.
	found := make(map[PropertyID]Property, len(rows))
	for _, row := range rows {
		if property := propertyOf(row); reach.Shows(Place{Property: row.ID}) {
			found[property.ID] = property
		}
	}
	return found, nil
}

// Properties lists the properties of the actor's tenant.
func (s *Service) Properties(ctx context.Context, actor Actor, after PropertyID, limit int) (Page[Property], error) {
	reach, err := ReachOf(s.authorizer.Authorize(actor, ActionPropertyRead, actor.Tenant))
	if err != nil {
		return Page[Property]{}, err
	}
	if err := checkPage(limit); err != nil {
		return Page[Property]{}, err
	}
	rows, err := s.read().PropertyList(ctx, dbsqlc.PropertyListParams{TenantID: actor.Tenant.UUID, After: after.UUID, MaxRows: int64(limit) + 1, Limited: !reach.AllProperties(), Ids: reach.Properties()})
	if err != nil {
		return Page[Property]{}, failed("list properties", err)
	}
	return pageOf(rows, limit, propertyOf), nil
}

func propertyOf(row dbsqlc.Property) Property {
	return Property{
		ID:        PropertyID{Region: ids.Region(row.Region), UUID: row.ID},
		Tenant:    TenantID{UUID: row.TenantID},
		Site:      siteOf(row.Name, row.TimeZone, row.Currency, row.Country, row.City),
		CreatedAt: row.CreatedAt,
	}
}
