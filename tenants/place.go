package tenants

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// Point is a place on the globe, in millionths of a degree (WGS 84).
type Point struct{ LatitudeE6, LongitudeE6 int64 }

// Description is where a hotel is and what it has, for whoever looks for one. The zero value says nothing.
type Description struct {
	// Point is nil where it is not known; then no search by distance finds the hotel.
	Point *Point
	// Stars are 1 to 5, nil for none.
	Stars *int64
	// Amenities are codes of Amenities, each once, in order.
	Amenities []string
}

// Amenities are the codes of what a hotel can have.
func Amenities() []string {
	return []string{
		"ACCESSIBLE", "AIR_CONDITIONING", "AIRPORT_SHUTTLE", "BAR", "BREAKFAST", "EV_CHARGING", "FAMILY_ROOMS", "FITNESS", "KITCHEN", "LAUNDRY",
		"LIFT", "MEETING_ROOMS", "NON_SMOKING", "PARKING", "PETS", "POOL", "RESTAURANT", "ROOM_SERVICE", "SAUNA", "WIFI",
	}
}

// checked is the description with its amenities in order, or the first thing wrong with it.
func (d Description) checked() (Description, error) {
	if p := d.Point; p != nil {
		if p.LatitudeE6 < -90_000_000 || p.LatitudeE6 > 90_000_000 {
			return d, fault.Invalid("latitude", "expected -90 to 90")
		}
		if p.LongitudeE6 < -180_000_000 || p.LongitudeE6 > 180_000_000 {
			return d, fault.Invalid("longitude", "expected -180 to 180")
		}
	}
	if d.Stars != nil && (*d.Stars < 1 || *d.Stars > 5) {
		return d, fault.Invalid("stars", "expected 1 to 5, got %d", *d.Stars)
	}
	if len(d.Amenities) > len(Amenities()) {
		return d, fault.Invalid("amenities", "expected at most %d, each once", len(Amenities()))
	}
	d.Amenities = slices.Clone(d.Amenities)
	slices.Sort(d.Amenities)
	for i, code := range d.Amenities {
		if !slices.Contains(Amenities(), code) {
			return d, fault.Invalid("amenities", "expected some of %v, got %.32q", Amenities(), code)
		}
		if i > 0 && d.Amenities[i-1] == code {
			return d, fault.Invalid("amenities", "%s is named twice", code)
		}
	}
	if d.Amenities == nil {
		d.Amenities = []string{}
	}
	return d, nil
}

// SetDescription writes a hotel's description whole.
func (s *Service) SetDescription(ctx context.Context, actor Actor, id PropertyID, description Description) (Description, error) {
	reach, err := ReachOf(s.authorizer.Authorize(actor, ActionPropertyUpdate, actor.Tenant))
	if err != nil {
		return Description{}, err
	}
	if !reach.Covers(Place{Property: id.UUID}) {
		return Description{}, fault.NotFound("property")
	}
	if description, err = description.checked(); err != nil {
		return Description{}, err
	}
	return db.Replayable(ctx, s.db, "tenants.SetDescription", func(ctx context.Context, tx pgx.Tx) (Description, error) {
		queries := dbsqlc.New(tx)
		rows, err := queries.PropertyGetMany(ctx, dbsqlc.PropertyGetManyParams{TenantID: actor.Tenant.UUID, Ids: []uuid.UUID{id.UUID}})
		if err != nil {
			return Description{}, fmt.Errorf("read the property %s: %w", id, err)
		}
		if len(rows) != 1 || rows[0].Region != string(id.Region) {
			return Description{}, fault.NotFound("property")
		}
		before, err := descriptions(ctx, queries, actor.Tenant, []uuid.UUID{id.UUID})
		if err != nil {
			return Description{}, err
		}
		params := dbsqlc.PlaceSetParams{TenantID: actor.Tenant.UUID, PropertyID: id.UUID, Stars: description.Stars, Amenities: description.Amenities}
		if p := description.Point; p != nil {
			params.LatitudeE6, params.LongitudeE6 = &p.LatitudeE6, &p.LongitudeE6
		}
		if err := queries.PlaceSet(ctx, params); err != nil {
			return Description{}, fmt.Errorf("store where the property %s is: %w", id, err)
		}
		return description, AuditTx(ctx, tx, actor, Change{Action: ActionPropertyUpdate, Resource: id, Before: before[id.UUID], After: description})
	})
}

// Descriptions are those of up to MaxBatch properties that the actor was shown.
func (s *Service) Descriptions(ctx context.Context, actor Actor, batch []PropertyID) (map[PropertyID]Description, error) {
	if _, err := ReachOf(s.authorizer.Authorize(actor, ActionPropertyRead, actor.Tenant)); err != nil {
		return nil, err
	}
	uuids, err := uuidsOf(batch, func(id PropertyID) uuid.UUID { return id.UUID })
	if err != nil {
		return nil, err
	}
	found, err := descriptions(ctx, s.read(), actor.Tenant, uuids)
	if err != nil {
		return nil, failed("read where properties are", err)
	}
	described := make(map[PropertyID]Description, len(batch))
	for _, id := range batch {
		described[id] = found[id.UUID]
	}
	return described, nil
}

func descriptions(ctx context.Context, queries *dbsqlc.Queries, tenant TenantID, properties []uuid.UUID) (map[uuid.UUID]Description, error) {
	rows, err := queries.PlaceGetMany(ctx, dbsqlc.PlaceGetManyParams{TenantID: tenant.UUID, Ids: properties})
	if err != nil {
		return nil, fmt.Errorf("read where properties are: %w", err)
	}
	found := make(map[uuid.UUID]Description, len(rows))
	for _, row := range rows {
		d := Description{Stars: row.Stars, Amenities: row.Amenities}
		if row.LatitudeE6 != nil && row.LongitudeE6 != nil {
			d.Point = &Point{LatitudeE6: *row.LatitudeE6, LongitudeE6: *row.LongitudeE6}
		}
		found[row.PropertyID] = d
	}
	return found, nil
}
