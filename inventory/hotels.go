package inventory

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// NewRoomType is what a hotel sells, such as "double king".
type NewRoomType struct {
	Property  tenants.PropertyID
	Name      string
	MaxGuests int64
}

// CreateRoomType adds a room type to a property.
func (s *Service) CreateRoomType(ctx context.Context, actor tenants.Actor, requestKey string, input NewRoomType) (RoomTypeID, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionRoomTypeCreate, "property", input.Property.Region, input.Property.UUID); err != nil {
		return RoomTypeID{}, err
	}
	if err := checkName("name", input.Name); err != nil {
		return RoomTypeID{}, err
	}
	if input.MaxGuests < 1 || input.MaxGuests > 100 {
		return RoomTypeID{}, fault.Invalid("maxGuests", "expected 1 to 100, got %d", input.MaxGuests)
	}
	region := input.Property.Region
	id, err := s.create(ctx, actor, region, "createRoomType", requestKey, input, func(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
		if err := propertyTx(ctx, tx, actor.Tenant, input.Property); err != nil {
			return err
		}
		if err := dbsqlc.New(tx).RoomTypeInsert(ctx, dbsqlc.RoomTypeInsertParams{
			TenantID: actor.Tenant.UUID, Region: string(region), ID: id, PropertyID: input.Property.UUID,
			Name: input.Name, MaxGuests: input.MaxGuests,
		}); err != nil {
			return err
		}
		return tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionRoomTypeCreate, Resource: RoomTypeID{Region: region, UUID: id}, After: input,
		})
	})
	return RoomTypeID{Region: region, UUID: id}, err
}

func propertyTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id tenants.PropertyID) error {
	_, err := propertyCurrencyTx(ctx, tx, tenant, id)
	return err
}

// propertyCurrencyTx is in which currency a property sells, if it is the tenant's.
func propertyCurrencyTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id tenants.PropertyID) (money.Currency, error) {
	return propertyCurrency(ctx, dbsqlc.New(tx), tenant, id)
}

func propertyCurrency(ctx context.Context, queries *dbsqlc.Queries, tenant tenants.TenantID, id tenants.PropertyID) (money.Currency, error) {
	row, err := queries.PropertyForSetup(ctx, dbsqlc.PropertyForSetupParams{TenantID: tenant.UUID, ID: id.UUID})
	switch {
	case db.IsNoRows(err), err == nil && row.Region != string(id.Region):
		return "", fault.NotFound("property")
	case err != nil:
		return "", fmt.Errorf("read the property: %w", err)
	}
	return money.Currency(row.Currency), nil
}
