package inventory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// LatePayment says what happens to a success that arrives after the deadline while the units are
// still the hold's.
type LatePayment string

// The policies for late payments. Under both, a newer owner is never displaced, and money without
// units ends in exactly one refund.
const (
	// LatePaymentHonour sells to the late payer as long as nobody was given the units.
	LatePaymentHonour LatePayment = "HONOUR"
	// LatePaymentRefund refunds every success after the processing deadline.
	LatePaymentRefund LatePayment = "REFUND"
)

// OnDecline says what happens to a hold whose payment was declined.
type OnDecline string

// The policies for declined payments.
const (
	// OnDeclineRelease gives the units back at once.
	OnDeclineRelease OnDecline = "RELEASE"
	// OnDeclineKeep keeps the hold until its original deadline, for another card.
	OnDeclineKeep OnDecline = "KEEP"
)

// Capture says when a payment takes its money.
type Capture string

// The ways to capture.
const (
	// CaptureAutomatic takes the money with the charge.
	CaptureAutomatic Capture = "AUTOMATIC"
	// CaptureManual reserves the money first, and takes it only while the units can still be sold.
	CaptureManual Capture = "MANUAL"
)

// OrphanSeats says whether a selection may leave a single free seat.
type OrphanSeats string

// The rules for orphan seats.
const (
	OrphanSeatsAllow  OrphanSeats = "ALLOW"
	OrphanSeatsRefuse OrphanSeats = "REFUSE"
)

// Terms are the sales terms in force: data, with a default per tenant, overridable per show or
// property. The zero Terms are not valid; start from DefaultTerms.
type Terms struct {
	// HoldSeconds is how long a hold lives from the moment it is placed or extended.
	HoldSeconds int64
	// MaxExtensions is how often the buyer may extend.
	MaxExtensions int64
	// MaxHoldSeconds caps the life of a hold from the moment it was placed, however often extended.
	MaxHoldSeconds int64
	// ProcessingSeconds is the window of a payment, from checkout.
	ProcessingSeconds int64
	// GraceSeconds is how long after the processing deadline the units are kept while a payment's
	// outcome is unknown (policy HONOUR only).
	GraceSeconds int64
	LatePayment  LatePayment
	OnDecline    OnDecline
	// MaxSeatsPerHold counts assigned seats in one hold.
	MaxSeatsPerHold int64
	// MaxQuantityPerHold counts pool units, and rooms, in one hold.
	MaxQuantityPerHold int64
	// MaxNightsPerStay counts nights from check-in to check-out.
	MaxNightsPerStay int64
	// MaxActiveHoldsPerBuyer counts live holds of one guest.
	MaxActiveHoldsPerBuyer int64
	// MaxActiveHoldsPerInstrument counts live holds being paid with one payment instrument.
	MaxActiveHoldsPerInstrument int64
	// MaxUnitsPerBuyer counts seats and pool units of one show in the live holds and standing bookings of
	// one guest; nil is no limit.
	MaxUnitsPerBuyer *int64
	// MaxRemainingShown is up to how many rooms or units calendars and searches say exactly what is left; of
	// more they say that there are more. nil shows everything.
	MaxRemainingShown *int64
	// AdmissionRequired asks guests for a grant of the show's waiting room at all times; while the room is
	// open it asks for one by itself.
	AdmissionRequired bool
	OrphanSeats       OrphanSeats
	Capture           Capture
}

// DefaultTerms hold where a tenant has set nothing. Five minutes to pay, one extension, a window
// of two minutes for the payment and up to ten seats follow the second source of the product.
func DefaultTerms() Terms {
	return Terms{
		HoldSeconds: 300, MaxExtensions: 1, MaxHoldSeconds: 900,
		ProcessingSeconds: 120, GraceSeconds: 120,
		LatePayment: LatePaymentHonour, OnDecline: OnDeclineRelease,
		MaxSeatsPerHold: 10, MaxQuantityPerHold: 10, MaxNightsPerStay: 30,
		MaxActiveHoldsPerBuyer: 5, MaxActiveHoldsPerInstrument: 5,
		OrphanSeats: OrphanSeatsAllow, Capture: CaptureAutomatic,
	}
}

// TermsChange names what to set; nil leaves the value to the tenant's default or to DefaultTerms.
type TermsChange struct {
	HoldSeconds                 *int64
	MaxExtensions               *int64
	MaxHoldSeconds              *int64
	ProcessingSeconds           *int64
	GraceSeconds                *int64
	LatePayment                 *LatePayment
	OnDecline                   *OnDecline
	MaxSeatsPerHold             *int64
	MaxQuantityPerHold          *int64
	MaxNightsPerStay            *int64
	MaxActiveHoldsPerBuyer      *int64
	MaxActiveHoldsPerInstrument *int64
	MaxUnitsPerBuyer            *int64
	MaxRemainingShown           *int64
	OrphanSeats                 *OrphanSeats
	AdmissionRequired           *bool
	Capture                     *Capture
}

// Validate names the field that is out of bounds. The bounds are also named constraints.
func (c TermsChange) Validate() error {
	for _, bound := range []struct {
		field     string
		value     *int64
		low, high int64
	}{
		{"holdSeconds", c.HoldSeconds, 1, 86_400},
		{"maxExtensions", c.MaxExtensions, 0, 10},
		{"maxHoldSeconds", c.MaxHoldSeconds, 1, 172_800},
		{"processingSeconds", c.ProcessingSeconds, 1, 86_400},
		{"graceSeconds", c.GraceSeconds, 0, 86_400},
		{"maxSeatsPerHold", c.MaxSeatsPerHold, 1, 100},
		{"maxQuantityPerHold", c.MaxQuantityPerHold, 1, 1000},
		{"maxNightsPerStay", c.MaxNightsPerStay, 1, 366},
		{"maxActiveHoldsPerBuyer", c.MaxActiveHoldsPerBuyer, 1, 1000},
		{"maxActiveHoldsPerInstrument", c.MaxActiveHoldsPerInstrument, 1, 1000},
		{"maxUnitsPerBuyer", c.MaxUnitsPerBuyer, 1, 1000},
		{"maxRemainingShown", c.MaxRemainingShown, 1, 1_000_000},
	} {
		if bound.value != nil && (*bound.value < bound.low || *bound.value > bound.high) {
			return fault.Invalid(bound.field, "expected %d to %d, got %d", bound.low, bound.high, *bound.value)
		}
	}
	if c.LatePayment != nil && *c.LatePayment != LatePaymentHonour && *c.LatePayment != LatePaymentRefund {
		return fault.Invalid("latePayment", "expected HONOUR or REFUND")
	}
	if c.OnDecline != nil && *c.OnDecline != OnDeclineRelease && *c.OnDecline != OnDeclineKeep {
		return fault.Invalid("onDecline", "expected RELEASE or KEEP")
	}
	if c.OrphanSeats != nil && *c.OrphanSeats != OrphanSeatsAllow && *c.OrphanSeats != OrphanSeatsRefuse {
		return fault.Invalid("orphanSeats", "expected ALLOW or REFUSE")
	}
	if c.Capture != nil && *c.Capture != CaptureAutomatic && *c.Capture != CaptureManual {
		return fault.Invalid("capture", "expected AUTOMATIC or MANUAL")
	}
	return nil
}

// tenantScope is the scope_id of a tenant's default terms.
var tenantScope = uuid.Nil //nolint:gochecknoglobals // a name for a constant that Go cannot declare

// termsOf are the terms for a hold over several shows and properties: of each bound the strictest.
func termsOf(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, scopes []uuid.UUID) (Terms, error) {
	rows, err := dbsqlc.New(tx).TermsOfScopes(ctx, dbsqlc.TermsOfScopesParams{
		TenantID: tenant, ScopeIds: append([]uuid.UUID{tenantScope}, scopes...),
	})
	if err != nil {
		return Terms{}, fmt.Errorf("read the sales terms: %w", err)
	}
	base := DefaultTerms()
	byScope := make(map[uuid.UUID]dbsqlc.TermsOfScopesRow, len(rows))
	for _, row := range rows {
		byScope[row.ScopeID] = row
	}
	if row, ok := byScope[tenantScope]; ok {
		base = overlay(base, row)
	}
	result := base
	for i, scope := range scopes {
		own := base
		if row, ok := byScope[scope]; ok {
			own = overlay(base, row)
		}
		if i == 0 {
			result = own
			continue
		}
		result = strictest(result, own)
	}
	return result, nil
}

func overlay(t Terms, row dbsqlc.TermsOfScopesRow) Terms {
	for _, set := range []struct {
		target *int64
		value  *int64
	}{
		{&t.HoldSeconds, row.HoldSeconds},
		{&t.MaxExtensions, row.MaxExtensions},
		{&t.MaxHoldSeconds, row.MaxHoldSeconds},
		{&t.ProcessingSeconds, row.ProcessingSeconds},
		{&t.GraceSeconds, row.GraceSeconds},
		{&t.MaxSeatsPerHold, row.MaxSeatsPerHold},
		{&t.MaxQuantityPerHold, row.MaxQuantityPerHold},
		{&t.MaxNightsPerStay, row.MaxNightsPerStay},
		{&t.MaxActiveHoldsPerBuyer, row.MaxActiveHoldsPerBuyer},
		{&t.MaxActiveHoldsPerInstrument, row.MaxActiveHoldsPerInstrument},
	} {
		if set.value != nil {
			*set.target = *set.value
		}
	}
	if row.MaxUnitsPerBuyer != nil {
		t.MaxUnitsPerBuyer = row.MaxUnitsPerBuyer
	}
	if row.MaxRemainingShown != nil {
		t.MaxRemainingShown = row.MaxRemainingShown
	}
	if row.LatePayment != nil {
		t.LatePayment = LatePayment(*row.LatePayment)
	}
	if row.OnDecline != nil {
		t.OnDecline = OnDecline(*row.OnDecline)
	}
	if row.AdmissionRequired != nil {
		t.AdmissionRequired = *row.AdmissionRequired
	}
	if row.OrphanSeats != nil {
		t.OrphanSeats = OrphanSeats(*row.OrphanSeats)
	}
	if row.Capture != nil {
		t.Capture = Capture(*row.Capture)
	}
	return t
}

func strictest(a, b Terms) Terms {
	a.HoldSeconds = min(a.HoldSeconds, b.HoldSeconds)
	a.MaxExtensions = min(a.MaxExtensions, b.MaxExtensions)
	a.MaxHoldSeconds = min(a.MaxHoldSeconds, b.MaxHoldSeconds)
	a.ProcessingSeconds = min(a.ProcessingSeconds, b.ProcessingSeconds)
	a.GraceSeconds = min(a.GraceSeconds, b.GraceSeconds)
	a.MaxSeatsPerHold = min(a.MaxSeatsPerHold, b.MaxSeatsPerHold)
	a.MaxQuantityPerHold = min(a.MaxQuantityPerHold, b.MaxQuantityPerHold)
	a.MaxNightsPerStay = min(a.MaxNightsPerStay, b.MaxNightsPerStay)
	a.MaxActiveHoldsPerBuyer = min(a.MaxActiveHoldsPerBuyer, b.MaxActiveHoldsPerBuyer)
	a.MaxActiveHoldsPerInstrument = min(a.MaxActiveHoldsPerInstrument, b.MaxActiveHoldsPerInstrument)
	if a.MaxUnitsPerBuyer == nil || b.MaxUnitsPerBuyer != nil && *b.MaxUnitsPerBuyer < *a.MaxUnitsPerBuyer {
		a.MaxUnitsPerBuyer = b.MaxUnitsPerBuyer
	}
	if a.MaxRemainingShown == nil || b.MaxRemainingShown != nil && *b.MaxRemainingShown < *a.MaxRemainingShown {
		a.MaxRemainingShown = b.MaxRemainingShown
	}
	a.AdmissionRequired = a.AdmissionRequired || b.AdmissionRequired
	if b.LatePayment == LatePaymentRefund {
		a.LatePayment = LatePaymentRefund
	}
	if b.OnDecline == OnDeclineRelease {
		a.OnDecline = OnDeclineRelease
	}
	if b.OrphanSeats == OrphanSeatsRefuse {
		a.OrphanSeats = OrphanSeatsRefuse
	}
	if b.Capture == CaptureManual {
		a.Capture = CaptureManual
	}
	return a
}

// remaining is what is shown of what is left, and whether there is more.
func (t Terms) remaining(left int64) (shown int64, more bool) {
	if most := t.MaxRemainingShown; most != nil && left > *most {
		return *most, true
	}
	return left, false
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// SetTerms writes the terms of a scope whole: what the change does not name falls back to the
// tenant's default, and for the default itself to DefaultTerms.
func (s *Service) SetTerms(ctx context.Context, actor tenants.Actor, scope TermsScope, change TermsChange) (Terms, error) {
	if err := s.authorizeScope(ctx, actor, policies.ActionTermsSet, scope.Show, nil, scope.Property); err != nil {
		return Terms{}, err
	}
	if err := change.Validate(); err != nil {
		return Terms{}, err
	}
	return db.Replayable(ctx, s.db, "inventory.SetTerms", func(ctx context.Context, tx pgx.Tx) (Terms, error) {
		scopes, err := scope.check(ctx, tx, actor.Tenant)
		if err != nil {
			return Terms{}, err
		}
		before, err := termsOf(ctx, tx, actor.Tenant.UUID, scopes)
		if err != nil {
			return Terms{}, err
		}
		target := tenantScope
		if len(scopes) == 1 {
			target = scopes[0]
		}
		if err := dbsqlc.New(tx).TermsSet(ctx, dbsqlc.TermsSetParams{
			TenantID: actor.Tenant.UUID, ScopeID: target, HoldSeconds: change.HoldSeconds, MaxExtensions: change.MaxExtensions,
			MaxHoldSeconds: change.MaxHoldSeconds, ProcessingSeconds: change.ProcessingSeconds, GraceSeconds: change.GraceSeconds,
			LatePayment: (*string)(change.LatePayment), OnDecline: (*string)(change.OnDecline),
			MaxSeatsPerHold: change.MaxSeatsPerHold, MaxQuantityPerHold: change.MaxQuantityPerHold,
			MaxNightsPerStay: change.MaxNightsPerStay, MaxActiveHoldsPerBuyer: change.MaxActiveHoldsPerBuyer,
			MaxActiveHoldsPerInstrument: change.MaxActiveHoldsPerInstrument, MaxUnitsPerBuyer: change.MaxUnitsPerBuyer, MaxRemainingShown: change.MaxRemainingShown,
			OrphanSeats:       (*string)(change.OrphanSeats),
			AdmissionRequired: change.AdmissionRequired, Capture: (*string)(change.Capture),
		}); err != nil {
			return Terms{}, fmt.Errorf("store the sales terms: %w", err)
		}
		after, err := termsOf(ctx, tx, actor.Tenant.UUID, scopes)
		if err != nil {
			return Terms{}, err
		}
		return after, tenants.AuditTx(ctx, tx, actor, tenants.Change{Action: policies.ActionTermsSet, Resource: scope.resource(actor), Before: before, After: after})
	})
}

// resource is what the terms belong to.
func (t TermsScope) resource(actor tenants.Actor) fmt.Stringer {
	switch {
	case t.Show != nil:
		return *t.Show
	case t.Property != nil:
		return *t.Property
	}
	return actor.Tenant
}

// Terms are the terms in force for a scope.
func (s *Service) Terms(ctx context.Context, actor tenants.Actor, scope TermsScope) (Terms, error) {
	if err := s.authorizeScope(ctx, actor, policies.ActionTermsRead, scope.Show, nil, scope.Property); err != nil {
		return Terms{}, err
	}
	return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (Terms, error) {
		scopes, err := scope.check(ctx, tx, actor.Tenant)
		if err != nil {
			return Terms{}, err
		}
		return termsOf(ctx, tx, actor.Tenant.UUID, scopes)
	})
}

// TermsScope is what terms apply to: a show, a property, or with neither the whole tenant.
type TermsScope struct {
	Show     *ShowID
	Property *tenants.PropertyID
}

// check says which scope_id is meant, and that it is the tenant's.
func (t TermsScope) check(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID) ([]uuid.UUID, error) {
	switch {
	case t.Show != nil && t.Property != nil:
		return nil, fault.Invalid("scope", "expected a show or a property, not both")
	case t.Show != nil:
		shows, err := dbsqlc.New(tx).ShowsForClaim(ctx, dbsqlc.ShowsForClaimParams{TenantID: tenant.UUID, Region: string(t.Show.Region), Ids: []uuid.UUID{t.Show.UUID}})
		if err != nil {
			return nil, fmt.Errorf("read the show: %w", err)
		}
		if len(shows) == 0 {
			return nil, fault.NotFound("show")
		}
		return []uuid.UUID{t.Show.UUID}, nil
	case t.Property != nil:
		return []uuid.UUID{t.Property.UUID}, propertyTx(ctx, tx, tenant, *t.Property)
	}
	return nil, nil
}
