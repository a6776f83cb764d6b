package bookings

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// WalkTerms is what it costs a hotel to send guests elsewhere, for each room: in another house for a night,
// and once for goodwill and for the way.
type WalkTerms struct {
	Night, Goodwill, Transport money.Amount
}

// maxWalkCost bounds each amount of walk terms, in minor units: so that sums over a stay are amounts.
const maxWalkCost = 1_000_000_000

// SetWalkTerms writes what walking guests of a hotel costs.
func (s *Service) SetWalkTerms(ctx context.Context, actor tenants.Actor, property tenants.Property, terms WalkTerms) (WalkTerms, error) {
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionWalkTermsSet, "property", property.ID.Region, property.ID.UUID); err != nil {
		return WalkTerms{}, err
	}
	for _, part := range []struct {
		field  string
		amount money.Amount
	}{{"night", terms.Night}, {"goodwill", terms.Goodwill}, {"transport", terms.Transport}} {
		if part.amount.Minor < 0 || part.amount.Minor > maxWalkCost {
			return WalkTerms{}, fault.Invalid(part.field+".amountMinor", "expected 0 to %d, got %d", maxWalkCost, part.amount.Minor)
		}
		if part.amount.Currency != property.Currency {
			return WalkTerms{}, fault.Invalid(part.field+".currency", "expected %s, the hotel's, got %s", property.Currency, part.amount.Currency)
		}
	}
	return db.Replayable(ctx, s.db, "bookings.SetWalkTerms", func(ctx context.Context, tx pgx.Tx) (WalkTerms, error) {
		before, err := walkTermsTx(ctx, tx, actor.Tenant, property.ID)
		if err != nil {
			return WalkTerms{}, err
		}
		if err := dbsqlc.New(tx).WalkTermsSet(ctx, dbsqlc.WalkTermsSetParams{
			TenantID: actor.Tenant.UUID, PropertyID: property.ID.UUID, NightMinor: terms.Night.Minor, GoodwillMinor: terms.Goodwill.Minor, TransportMinor: terms.Transport.Minor,
		}); err != nil {
			return WalkTerms{}, fmt.Errorf("set what walking guests costs: %w", err)
		}
		return terms, tenants.AuditTx(ctx, tx, actor, tenants.Change{Action: policies.ActionWalkTermsSet, Resource: property.ID, Before: before, After: terms})
	})
}

// WalkTerms are what walking guests of a hotel costs; nil when nobody has said.
func (s *Service) WalkTerms(ctx context.Context, actor tenants.Actor, property tenants.PropertyID) (*WalkTerms, error) {
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionCompensationRead, "property", property.Region, property.UUID); err != nil {
		return nil, err
	}
	terms, err := walkTermsTx(ctx, s.db.Pool(), actor.Tenant, property)
	return terms, db.Classify(err)
}

func walkTermsTx(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, property tenants.PropertyID) (*WalkTerms, error) {
	row, err := dbsqlc.New(q).WalkTermsGet(ctx, dbsqlc.WalkTermsGetParams{TenantID: tenant.UUID, PropertyID: property.UUID})
	if db.IsNoRows(err) {
		return nil, nil //nolint:nilnil // that nobody has said is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("read what walking guests costs: %w", err)
	}
	amount := func(minor int64) money.Amount {
		return money.Amount{Minor: minor, Currency: money.Currency(row.Currency)}
	}
	return &WalkTerms{Night: amount(row.NightMinor), Goodwill: amount(row.GoodwillMinor), Transport: amount(row.TransportMinor)}, nil
}

// CompensationReport is what guests without a room cost a hotel, by the night that had no room.
type CompensationReport struct {
	AsOf   time.Time
	Nights []CompensatedNight
	// Total is the cost of all of them.
	Total money.Amount
}

// CompensatedNight is one kind of way out on one night.
type CompensatedNight struct {
	Night civil.Date
	Kind  ChangeKind
	// Stays are how many, Rooms and RoomNights how much of them.
	Stays, Rooms, RoomNights                           int64
	RateDifference, Lodging, Goodwill, Transport, Cost money.Amount
	Refunded                                           money.Amount
}

// CompensationReport reports the nights of a property from first to last, both included.
func (s *Service) CompensationReport(ctx context.Context, actor tenants.Actor, property tenants.Property, first, last civil.Date) (CompensationReport, error) {
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, policies.ActionReportRead, "property", property.ID.Region, property.ID.UUID); err != nil {
		return CompensationReport{}, err
	}
	if err := checkReport(first, last); err != nil {
		return CompensationReport{}, err
	}
	return db.InSnapshotAsOf(ctx, s.db, func(ctx context.Context, at db.Snapshot) (CompensationReport, error) {
		asOf, err := at.AsOf(ctx)
		if err != nil {
			return CompensationReport{}, err
		}
		rows, err := dbsqlc.New(at.Tx).CompensationsOfProperty(ctx, dbsqlc.CompensationsOfPropertyParams{
			TenantID: actor.Tenant.UUID, Region: string(property.ID.Region), PropertyID: property.ID.UUID, FirstNight: first, LastNight: last,
		})
		if err != nil {
			return CompensationReport{}, fmt.Errorf("read the compensations of a property: %w", err)
		}
		amount := func(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: property.Currency} }
		report := CompensationReport{AsOf: asOf, Total: amount(0), Nights: make([]CompensatedNight, len(rows))}
		for i, row := range rows {
			report.Nights[i] = CompensatedNight{
				Night: row.Night, Kind: ChangeKind(row.Kind), Stays: row.Stays, Rooms: row.Rooms, RoomNights: row.RoomNights,
				RateDifference: amount(row.RateDifferenceMinor), Lodging: amount(row.LodgingMinor), Goodwill: amount(row.GoodwillMinor),
				Transport: amount(row.TransportMinor), Cost: amount(row.CostMinor), Refunded: amount(row.RefundMinor),
			}
			report.Total.Minor += row.CostMinor
		}
		return report, nil
	}, db.Stale(reportStaleness))
}
