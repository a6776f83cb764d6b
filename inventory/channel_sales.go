package inventory

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// ChannelSales is what a channel may sell, and what it earns. A channel about which nothing was said
// sells everything, for no commission.
type ChannelSales struct {
	Channel tenants.ChannelID
	// EveryShow and EveryProperty: there is no list, and what is added later is sold, too.
	EveryShow     bool
	EveryProperty bool
	// Shows and Properties are the only ones that it sells, where not every one.
	Shows      []ShowID
	Properties []tenants.PropertyID
	// RatePlans are the only ones that it sells, where not nil; NoStandardRate says that it sells nothing but
	// rate plans.
	RatePlans      []RatePlanID `json:",omitempty"`
	NoStandardRate bool         `json:",omitempty"`
	// CommissionBasisPoints is in hundredths of a percent of a booking's total, 0 to 10000. A sale keeps the
	// commission of its moment.
	CommissionBasisPoints int64
}

const (
	offerShow     = "SHOW"
	offerProperty = "PROPERTY"
)

// ChannelSales reads what a channel may sell.
func (s *Service) ChannelSales(ctx context.Context, actor tenants.Actor, id tenants.ChannelID) (ChannelSales, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionChannelSalesRead, actor.Tenant); err != nil {
		return ChannelSales{}, err
	}
	sales, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (ChannelSales, error) {
		return channelSalesTx(ctx, tx, actor.Tenant, id)
	})
	return sales, db.Classify(err)
}

func channelSalesTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id tenants.ChannelID) (ChannelSales, error) {
	queries := dbsqlc.New(tx)
	row, err := queries.ChannelSalesGet(ctx, dbsqlc.ChannelSalesGetParams{TenantID: tenant.UUID, ID: id.UUID})
	if db.IsNoRows(err) {
		return ChannelSales{}, fault.NotFound("channel")
	}
	if err != nil {
		return ChannelSales{}, fmt.Errorf("read what a channel sells: %w", err)
	}
	sales := ChannelSales{Channel: id, EveryShow: row.EveryShow, EveryProperty: row.EveryProperty, CommissionBasisPoints: row.CommissionBasisPoints, NoStandardRate: !row.StandardRate}
	if !row.EveryRatePlan {
		if sales.RatePlans, err = channelPlansTx(ctx, queries, tenant, id); err != nil {
			return ChannelSales{}, err
		}
	}
	offers, err := queries.ChannelOffersList(ctx, dbsqlc.ChannelOffersListParams{TenantID: tenant.UUID, ChannelID: id.UUID})
	if err != nil {
		return ChannelSales{}, fmt.Errorf("list what a channel sells: %w", err)
	}
	for _, offer := range offers {
		region := ids.Region(offer.Region)
		if offer.Kind == offerShow {
			sales.Shows = append(sales.Shows, ShowID{Region: region, UUID: offer.ScopeID})
		} else {
			sales.Properties = append(sales.Properties, tenants.PropertyID{Region: region, UUID: offer.ScopeID})
		}
	}
	return sales, nil
}

// SetChannelSales says what a channel may sell and earns; saying it twice changes nothing. Holds of what
// it may not sell any more can neither be extended nor paid. Bookings stay, with their commission.
func (s *Service) SetChannelSales(ctx context.Context, actor tenants.Actor, sales ChannelSales) (ChannelSales, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionChannelSalesSet, actor.Tenant); err != nil {
		return ChannelSales{}, err
	}
	switch {
	case sales.CommissionBasisPoints < 0 || sales.CommissionBasisPoints > 10_000:
		return ChannelSales{}, fault.Invalid("commissionBasisPoints", "expected 0 to 10000, got %d", sales.CommissionBasisPoints)
	case len(sales.Shows) > maxOffers:
		return ChannelSales{}, fault.Invalid("shows", "expected at most %d, got %d", maxOffers, len(sales.Shows))
	case len(sales.Properties) > maxOffers:
		return ChannelSales{}, fault.Invalid("properties", "expected at most %d, got %d", maxOffers, len(sales.Properties))
	case len(sales.RatePlans) > maxOffers:
		return ChannelSales{}, fault.Invalid("ratePlans", "expected at most %d, got %d", maxOffers, len(sales.RatePlans))
	}
	return db.Replayable(ctx, s.db, "inventory.SetChannelSales", func(ctx context.Context, tx pgx.Tx) (ChannelSales, error) {
		before, err := channelSalesTx(ctx, tx, actor.Tenant, sales.Channel)
		if err != nil {
			return ChannelSales{}, err
		}
		if err := setChannelSalesTx(ctx, tx, actor.Tenant, sales); err != nil {
			return ChannelSales{}, err
		}
		after, err := channelSalesTx(ctx, tx, actor.Tenant, sales.Channel)
		if err != nil {
			return ChannelSales{}, err
		}
		return after, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionChannelSalesSet, Resource: sales.Channel, Before: before, After: after,
		})
	})
}

func setChannelSalesTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, sales ChannelSales) error {
	queries := dbsqlc.New(tx)
	if _, err := queries.ChannelForBlock(ctx, dbsqlc.ChannelForBlockParams{TenantID: tenant.UUID, ID: sales.Channel.UUID}); err != nil {
		if db.IsNoRows(err) {
			return fault.NotFound("channel")
		}
		return fmt.Errorf("read a channel: %w", err)
	}
	if err := requireOffers(ctx, queries, tenant, sales); err != nil {
		return err
	}
	if err := queries.ChannelSalesSet(ctx, dbsqlc.ChannelSalesSetParams{
		TenantID: tenant.UUID, ChannelID: sales.Channel.UUID, EveryShow: sales.EveryShow, EveryProperty: sales.EveryProperty,
		CommissionBasisPoints: sales.CommissionBasisPoints, EveryRatePlan: sales.RatePlans == nil, StandardRate: !sales.NoStandardRate,
	}); err != nil {
		return fmt.Errorf("store what a channel sells: %w", err)
	}
	if _, err := queries.ChannelOffersDelete(ctx, dbsqlc.ChannelOffersDeleteParams{TenantID: tenant.UUID, ChannelID: sales.Channel.UUID}); err != nil {
		return fmt.Errorf("remove what a channel sold: %w", err)
	}
	params := dbsqlc.ChannelOffersInsertParams{TenantID: tenant.UUID, ChannelID: sales.Channel.UUID}
	add := func(kind string, region ids.Region, scope uuid.UUID) {
		params.Kinds, params.Regions, params.ScopeIds = append(params.Kinds, kind), append(params.Regions, string(region)), append(params.ScopeIds, scope)
	}
	for _, show := range distinctIDs(sales.EveryShow, sales.Shows) {
		add(offerShow, show.Region, show.UUID)
	}
	for _, property := range distinctIDs(sales.EveryProperty, sales.Properties) {
		add(offerProperty, property.Region, property.UUID)
	}
	if _, err := queries.ChannelOffersInsert(ctx, params); err != nil {
		return fmt.Errorf("store what a channel sells: %w", err)
	}
	return setChannelPlansTx(ctx, queries, tenant, sales)
}

// distinctIDs leaves out what is named twice, and everything where there is no list.
func distinctIDs[K ids.Kind](every bool, named []ids.ID[K]) []ids.ID[K] {
	if every {
		return nil
	}
	sorted := slices.Clone(named)
	slices.SortFunc(sorted, func(a, b ids.ID[K]) int { return compareUUID(a.UUID, b.UUID) })
	return slices.Compact(sorted)
}

// requireOffers answers a show or property that is not the tenant's like one that nobody has.
func requireOffers(ctx context.Context, queries *dbsqlc.Queries, tenant tenants.TenantID, sales ChannelSales) error {
	regions, uuids := splitIDs(sales.Shows)
	shows, err := queries.ShowsByID(ctx, dbsqlc.ShowsByIDParams{TenantID: tenant.UUID, Regions: regions, Ids: uuids})
	if err != nil {
		return fmt.Errorf("read the shows of a channel: %w", err)
	}
	known := map[uuid.UUID]string{}
	for _, show := range shows {
		known[show.ID] = show.Region
	}
	for _, show := range sales.Shows {
		if known[show.UUID] != string(show.Region) {
			return fault.NotFound("show")
		}
	}
	_, uuids = splitIDs(sales.Properties)
	properties, err := queries.PropertiesExist(ctx, dbsqlc.PropertiesExistParams{TenantID: tenant.UUID, Ids: uuids})
	if err != nil {
		return fmt.Errorf("read the properties of a channel: %w", err)
	}
	for _, property := range properties {
		known[property.ID] = property.Region
	}
	for _, property := range sales.Properties {
		if known[property.UUID] != string(property.Region) {
			return fault.NotFound("property")
		}
	}
	return nil
}

// judgeOffers names the lines whose show or property the channel does not sell.
func (c claim) judgeOffers(channel tenants.ChannelID, f facts) []RefusedLine {
	var refused []RefusedLine
	for i, line := range c.lines {
		var notSoldBy []uuid.UUID
		at := RefusedLine{Line: i, Code: RefusalNotSoldByChannel}
		switch {
		case line.Seats != nil:
			notSoldBy = f.shows[line.Seats.Show.UUID].notSoldBy
		case line.Pool != nil:
			notSoldBy = f.shows[f.pools[line.Pool.Pool.UUID].show].notSoldBy
			at.Pool = &line.Pool.Pool
		case line.Stay != nil:
			refused = append(refused, f.judgeChannel(i, *line.Stay, channel)...)
			continue
		}
		if slices.Contains(notSoldBy, channel.UUID) {
			refused = append(refused, at)
		}
	}
	return refused
}

// judgeOffersTx asks, for a hold that is to be extended or paid, whether its channel still sells what it
// has.
func judgeOffersTx(ctx context.Context, tx pgx.Tx, at place, hold Hold) error {
	params := dbsqlc.ChannelNotSellingParams{TenantID: at.tenant, ChannelID: hold.Channel.UUID}
	for _, line := range hold.Lines {
		kind, scope := offerShow, line.Show.UUID
		if line.Kind == LineKindNight {
			kind, scope = offerProperty, line.Property.UUID
		}
		if !slices.Contains(params.ScopeIds, scope) {
			params.Kinds, params.ScopeIds = append(params.Kinds, kind), append(params.ScopeIds, scope)
		}
	}
	rows, err := dbsqlc.New(tx).ChannelNotSelling(ctx, params)
	if err != nil {
		return fmt.Errorf("read what a channel sells: %w", err)
	}
	if len(rows) > 0 {
		return Refuse(RefusalNotSoldByChannel, messageOf(RefusalNotSoldByChannel))
	}
	return nil
}
