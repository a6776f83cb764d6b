package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Offer is what a buyer is told before the sale: what a cancellation costs, and the tax in prices.
type Offer struct {
	Policy CancellationPolicy
	// TaxBasisPoints is the tax that prices include, in hundredths of a percent.
	TaxBasisPoints int64
}

// Site is where something is sold, and what its conditions may be set for: a property, or a venue
// with or without one of its shows.
type Site struct {
	Property tenants.PropertyID
	Venue    tenants.VenueID
	Show     ShowID
	// RatePlan is what nights of the property are sold as; zero is the standard rate.
	RatePlan RatePlanID
}

// scopes are what conditions may be set for, the most particular first.
func (s Site) scopes() []uuid.UUID {
	var scopes []uuid.UUID
	for _, id := range []uuid.UUID{s.Show.UUID, s.RatePlan.UUID, s.Venue.UUID, s.Property.UUID} {
		if id != uuid.Nil {
			scopes = append(scopes, id)
		}
	}
	return append(scopes, tenantScope)
}

// ConditionsScope is what a policy is set for: a show, a venue, a property, a rate plan, or with none of
// them the whole tenant.
type ConditionsScope struct {
	Show     *ShowID
	Venue    *tenants.VenueID
	Property *tenants.PropertyID
	RatePlan *RatePlanID
}

// check says which site is meant, that it is the tenant's, and in which currency it sells.
func (c ConditionsScope) check(ctx context.Context, tx pgx.Tx, actor tenants.Actor) (site Site, currency money.Currency, err error) {
	named := 0
	for _, is := range []bool{c.Show != nil, c.Venue != nil, c.Property != nil, c.RatePlan != nil} {
		if is {
			named++
		}
	}
	switch {
	case named > 1:
		err = fault.Invalid("scope", "expected a show, a venue, a property or a rate plan, not several of them")
	case c.Show != nil:
		var starts []dbsqlc.ShowStartsRow
		starts, err = dbsqlc.New(tx).ShowStarts(ctx, dbsqlc.ShowStartsParams{TenantID: actor.Tenant.UUID, Region: string(c.Show.Region), Ids: []uuid.UUID{c.Show.UUID}})
		switch {
		case err != nil:
			err = fmt.Errorf("read the show: %w", err)
		case len(starts) == 0, ShowState(starts[0].State) == ShowStateDraft && !actor.IsStaff():
			err = fault.NotFound("show")
		default:
			site = Site{Show: *c.Show, Venue: tenants.VenueID{Region: c.Show.Region, UUID: starts[0].VenueID}}
			currency = money.Currency(starts[0].Currency)
		}
	case c.Venue != nil:
		site.Venue = *c.Venue
		err = venueTx(ctx, tx, actor.Tenant, *c.Venue, &currency)
	case c.Property != nil:
		site.Property = *c.Property
		currency, err = propertyCurrencyTx(ctx, tx, actor.Tenant, *c.Property)
	case c.RatePlan != nil:
		var plan RatePlan
		plan, err = ratePlanOf(ctx, tx, actor.Tenant, *c.RatePlan)
		site, currency = Site{Property: plan.Property, RatePlan: plan.ID}, plan.Currency
	}
	return site, currency, err
}

// SetCancellationPolicy writes the policy of a scope whole, and answers with it. Bookings keep what
// they were sold with.
func (s *Service) SetCancellationPolicy(ctx context.Context, actor tenants.Actor, scope ConditionsScope, policy CancellationPolicy) (CancellationPolicy, error) {
	if err := s.authorizeConditions(ctx, actor, policies.ActionCancellationSet, scope); err != nil {
		return CancellationPolicy{}, err
	}
	return db.Replayable(ctx, s.db, "inventory.SetCancellationPolicy", func(ctx context.Context, tx pgx.Tx) (CancellationPolicy, error) {
		site, currency, err := scope.check(ctx, tx, actor)
		if err != nil {
			return CancellationPolicy{}, err
		}
		if err := policy.Validate(currency); err != nil {
			return CancellationPolicy{}, err
		}
		before, err := offerOf(ctx, tx, actor.Tenant, site)
		if err != nil {
			return CancellationPolicy{}, err
		}
		if err := policySetTx(ctx, tx, actor.Tenant, site.scopes()[0], policy); err != nil {
			return CancellationPolicy{}, err
		}
		return policyChangedTx(ctx, tx, actor, scope, site, before.Policy)
	})
}

func policySetTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, scope uuid.UUID, policy CancellationPolicy) error {
	queries := dbsqlc.New(tx)
	// The policy first: its row makes two writers wait for each other.
	if err := queries.PolicySet(ctx, dbsqlc.PolicySetParams{
		TenantID: tenant.UUID, ScopeID: scope, Name: policy.Name, CheckInMinute: int64(policy.CheckIn),
	}); err != nil {
		return fmt.Errorf("store the cancellation policy: %w", err)
	}
	if err := queries.PolicyStepsRemove(ctx, dbsqlc.PolicyStepsRemoveParams{TenantID: tenant.UUID, ScopeID: scope}); err != nil {
		return fmt.Errorf("replace the steps of the cancellation policy: %w", err)
	}
	params := dbsqlc.PolicyStepsInsertParams{TenantID: tenant.UUID, ScopeID: scope}
	orUnset := func(value *int64) int64 {
		if value == nil {
			return -1
		}
		return *value
	}
	for i, step := range append(slices.Clone(policy.Steps), CancellationStep{Fee: policy.Final}) {
		params.Ordinals = append(params.Ordinals, int64(i))
		params.MinutesBefores = append(params.MinutesBefores, orUnset(step.MinutesBefore))
		params.DaysBefores = append(params.DaysBefores, orUnset(step.DaysBefore))
		params.LocalMinutes = append(params.LocalMinutes, orUnset((*int64)(step.LocalTime)))
		params.FeeKinds = append(params.FeeKinds, string(step.Fee.Kind))
		params.FeeBasisPoints = append(params.FeeBasisPoints, step.Fee.BasisPoints)
		params.FeeMinors = append(params.FeeMinors, step.Fee.Minor)
		params.FeeCurrencies = append(params.FeeCurrencies, string(step.Fee.Currency))
	}
	if err := queries.PolicyStepsInsert(ctx, params); err != nil {
		return fmt.Errorf("store the steps of the cancellation policy: %w", err)
	}
	return nil
}

// RemoveCancellationPolicy takes a scope's own policy away, and answers with the one that then holds.
func (s *Service) RemoveCancellationPolicy(ctx context.Context, actor tenants.Actor, scope ConditionsScope) (CancellationPolicy, error) {
	if err := s.authorizeConditions(ctx, actor, policies.ActionCancellationSet, scope); err != nil {
		return CancellationPolicy{}, err
	}
	return db.Replayable(ctx, s.db, "inventory.RemoveCancellationPolicy", func(ctx context.Context, tx pgx.Tx) (CancellationPolicy, error) {
		site, _, err := scope.check(ctx, tx, actor)
		if err != nil {
			return CancellationPolicy{}, err
		}
		before, err := offerOf(ctx, tx, actor.Tenant, site)
		if err != nil {
			return CancellationPolicy{}, err
		}
		queries, target := dbsqlc.New(tx), site.scopes()[0]
		if err := queries.PolicyStepsRemove(ctx, dbsqlc.PolicyStepsRemoveParams{TenantID: actor.Tenant.UUID, ScopeID: target}); err != nil {
			return CancellationPolicy{}, fmt.Errorf("remove the steps of the cancellation policy: %w", err)
		}
		if err := queries.PolicyRemove(ctx, dbsqlc.PolicyRemoveParams{TenantID: actor.Tenant.UUID, ScopeID: target}); err != nil {
			return CancellationPolicy{}, fmt.Errorf("remove the cancellation policy: %w", err)
		}
		return policyChangedTx(ctx, tx, actor, scope, site, before.Policy)
	})
}

// policyChangedTx logs what now holds for a scope, and answers with it.
func policyChangedTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, scope ConditionsScope, site Site, before CancellationPolicy) (CancellationPolicy, error) {
	offer, err := offerOf(ctx, tx, actor.Tenant, site)
	if err != nil {
		return CancellationPolicy{}, err
	}
	return offer.Policy, tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionCancellationSet, Resource: scope.resource(actor), Before: before, After: offer.Policy,
	})
}

// resource is what the conditions belong to.
func (c ConditionsScope) resource(actor tenants.Actor) fmt.Stringer {
	switch {
	case c.Show != nil:
		return *c.Show
	case c.Venue != nil:
		return *c.Venue
	case c.Property != nil:
		return *c.Property
	case c.RatePlan != nil:
		return *c.RatePlan
	}
	return actor.Tenant
}

// CancellationPolicy is the policy that holds for a scope: its own, or the one of what it is in.
func (s *Service) CancellationPolicy(ctx context.Context, actor tenants.Actor, scope ConditionsScope) (CancellationPolicy, error) {
	if err := s.authorizeConditions(ctx, actor, policies.ActionCancellationRead, scope); err != nil {
		return CancellationPolicy{}, err
	}
	return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (CancellationPolicy, error) {
		site, _, err := scope.check(ctx, tx, actor)
		if err != nil {
			return CancellationPolicy{}, err
		}
		offer, err := offerOf(ctx, tx, actor.Tenant, site)
		return offer.Policy, err
	})
}

// SetTaxRate says how much tax the prices of a property or venue include, in basis points. Lines
// that are sold keep the rate of their sale.
func (s *Service) SetTaxRate(ctx context.Context, actor tenants.Actor, scope ConditionsScope, basisPoints int64) (int64, error) {
	if err := s.authorizeConditions(ctx, actor, policies.ActionCancellationSet, scope); err != nil {
		return 0, err
	}
	if err := validateTax(basisPoints); err != nil {
		return 0, err
	}
	if scope.Show != nil || scope.RatePlan != nil || (scope.Venue == nil) == (scope.Property == nil) {
		return 0, fault.Invalid("scope", "expected a venue or a property")
	}
	return db.Replayable(ctx, s.db, "inventory.SetTaxRate", func(ctx context.Context, tx pgx.Tx) (int64, error) {
		site, _, err := scope.check(ctx, tx, actor)
		if err != nil {
			return 0, err
		}
		before, err := offerOf(ctx, tx, actor.Tenant, site)
		if err != nil {
			return 0, err
		}
		if err := dbsqlc.New(tx).TaxRateSet(ctx, dbsqlc.TaxRateSetParams{
			TenantID: actor.Tenant.UUID, ScopeID: site.scopes()[0], BasisPoints: basisPoints,
		}); err != nil {
			return 0, fmt.Errorf("store the tax rate: %w", err)
		}
		return basisPoints, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionCancellationSet, Resource: scope.resource(actor),
			Before: map[string]int64{"taxBasisPoints": before.TaxBasisPoints}, After: map[string]int64{"taxBasisPoints": basisPoints},
		})
	})
}

// Offers are the conditions at sites that the actor was shown, and so may look at.
func (s *Service) Offers(ctx context.Context, actor tenants.Actor, sites []Site) (map[Site]Offer, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionCancellationRead, actor.Tenant)); err != nil {
		return nil, err
	}
	offers, err := offersOf(ctx, s.db.Pool(), actor.Tenant, sites)
	return offers, db.Classify(err)
}

func offerOf(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, site Site) (Offer, error) {
	offers, err := offersOf(ctx, q, tenant, []Site{site})
	return offers[site], err
}

// offersOf reads everything that is set for some sites in one statement.
func offersOf(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, sites []Site) (map[Site]Offer, error) {
	var scopes []uuid.UUID
	for _, site := range sites {
		scopes = append(scopes, site.scopes()...)
	}
	slices.SortFunc(scopes, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	rows, err := dbsqlc.New(q).PolicyStepsOfScopes(ctx, dbsqlc.PolicyStepsOfScopesParams{TenantID: tenant.UUID, ScopeIds: slices.Compact(scopes)})
	if err != nil {
		return nil, fmt.Errorf("read cancellation policies and tax rates: %w", err)
	}
	set := map[uuid.UUID]*CancellationPolicy{}
	tax := map[uuid.UUID]int64{}
	for _, row := range rows {
		if row.TaxBasisPoints != nil {
			tax[row.ScopeID] = *row.TaxBasisPoints
		}
		if row.Name == nil || row.CheckInMinute == nil || row.FeeKind == nil {
			continue
		}
		policy, ok := set[row.ScopeID]
		if !ok {
			policy = &CancellationPolicy{Name: *row.Name, CheckIn: TimeOfDay(*row.CheckInMinute)}
			set[row.ScopeID] = policy
		}
		fee := Fee{Kind: FeeKind(*row.FeeKind), BasisPoints: *row.FeeBasisPoints, Minor: *row.FeeMinor, Currency: money.Currency(*row.FeeCurrency)}
		if row.MinutesBefore == nil && row.DaysBefore == nil {
			policy.Final = fee
			continue
		}
		policy.Steps = append(policy.Steps, CancellationStep{
			MinutesBefore: row.MinutesBefore, DaysBefore: row.DaysBefore, LocalTime: (*TimeOfDay)(row.LocalMinute), Fee: fee,
		})
	}
	final, err := nonRefundable(ctx, q, tenant, sites)
	if err != nil {
		return nil, err
	}
	offers := make(map[Site]Offer, len(sites))
	for _, site := range sites {
		offer := Offer{Policy: DefaultCancellationPolicy()}
		chain := site.scopes()
		for _, scope := range slices.Backward(chain) {
			if policy, ok := set[scope]; ok {
				offer.Policy = *policy
			}
			if rate, ok := tax[scope]; ok {
				offer.TaxBasisPoints = rate
			}
		}
		if _, own := set[site.RatePlan.UUID]; final[site.RatePlan] && !own {
			offer.Policy = nonRefundablePolicy(offer.Policy.CheckIn)
		}
		offers[site] = offer
	}
	return offers, nil
}

// Conditions are those of a sale: when its lines can be cancelled for what, and the tax in them.
type Conditions struct {
	// Timelines are one for each show, and for each property, rate plan and day of arrival.
	Timelines []Timeline
	// TaxBasisPoints are the rates of the lines, in their order.
	TaxBasisPoints []int64
}

// start is what one timeline is for.
type start struct {
	site    Site
	arrival civil.Date
}

// ConditionsTx are the conditions of a hold that is being sold, as they are now.
func ConditionsTx(ctx context.Context, tx pgx.Tx, hold Hold) (Conditions, error) {
	shows, zones, err := startsTx(ctx, tx, hold)
	if err != nil {
		return Conditions{}, err
	}
	arrivals := map[int64]civil.Date{}
	for _, line := range hold.Lines {
		if first, ok := arrivals[line.Item]; line.Kind == LineKindNight && (!ok || line.Night.Before(first)) {
			arrivals[line.Item] = line.Night
		}
	}
	// In the order of the lines, so that the same sale is stored in the same way.
	var order []start
	var sites []Site
	lines := map[start][]int64{}
	of := make([]start, len(hold.Lines))
	for i, line := range hold.Lines {
		var at start
		if line.Kind == LineKindNight {
			at = start{site: Site{Property: line.Property, RatePlan: line.RatePlan}, arrival: arrivals[line.Item]}
		} else {
			at.site = Site{Show: line.Show, Venue: shows[line.Show.UUID].venue}
		}
		if _, known := lines[at]; !known {
			order = append(order, at)
			sites = append(sites, at.site)
		}
		lines[at] = append(lines[at], line.Ordinal)
		of[i] = at
	}
	offers, err := offersOf(ctx, tx, hold.Tenant, sites)
	if err != nil {
		return Conditions{}, err
	}
	var c Conditions
	for _, at := range order {
		policy := offers[at.site].Policy
		var t Timeline
		if at.site.Show.IsZero() {
			t = policy.OfStay(at.arrival, zones[at.site.Property.UUID])
		} else {
			show := shows[at.site.Show.UUID]
			t = policy.OfShow(show.startsAt, show.zone)
		}
		t.Lines = lines[at]
		c.Timelines = append(c.Timelines, t)
	}
	for _, at := range of {
		c.TaxBasisPoints = append(c.TaxBasisPoints, offers[at.site].TaxBasisPoints)
	}
	return c, nil
}

type showStart struct {
	venue    tenants.VenueID
	startsAt time.Time
	zone     *time.Location
}

// startsTx are the starts of a hold's shows, and the time zones of its properties.
func startsTx(ctx context.Context, tx pgx.Tx, hold Hold) (map[uuid.UUID]showStart, map[uuid.UUID]*time.Location, error) {
	var showIDs, propertyIDs []uuid.UUID
	for _, line := range hold.Lines {
		if line.Kind == LineKindNight {
			propertyIDs = append(propertyIDs, line.Property.UUID)
		} else {
			showIDs = append(showIDs, line.Show.UUID)
		}
	}
	shows, zones := map[uuid.UUID]showStart{}, map[uuid.UUID]*time.Location{}
	if len(showIDs) > 0 {
		rows, err := dbsqlc.New(tx).ShowStarts(ctx, dbsqlc.ShowStartsParams{TenantID: hold.Tenant.UUID, Region: string(hold.ID.Region), Ids: showIDs})
		if err != nil {
			return nil, nil, fmt.Errorf("read when shows start: %w", err)
		}
		for _, row := range rows {
			zone, err := time.LoadLocation(row.TimeZone)
			if err != nil {
				return nil, nil, fmt.Errorf("time zone %q of venue %s: %w", row.TimeZone, row.VenueID, err)
			}
			shows[row.ID] = showStart{venue: tenants.VenueID{Region: hold.ID.Region, UUID: row.VenueID}, startsAt: row.StartsAt, zone: zone}
		}
	}
	if len(propertyIDs) > 0 {
		rows, err := dbsqlc.New(tx).PropertyZones(ctx, dbsqlc.PropertyZonesParams{TenantID: hold.Tenant.UUID, Ids: propertyIDs})
		if err != nil {
			return nil, nil, fmt.Errorf("read the time zones of properties: %w", err)
		}
		for _, row := range rows {
			if zones[row.ID], err = time.LoadLocation(row.TimeZone); err != nil {
				return nil, nil, fmt.Errorf("time zone %q of property %s: %w", row.TimeZone, row.ID, err)
			}
		}
	}
	return shows, zones, nil
}
