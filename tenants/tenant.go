package tenants

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// Tenant is an organisation that sells.
type Tenant struct {
	ID   TenantID
	Name string
	// Slug is unique in the installation and stands in addresses.
	Slug string
	// HomeRegion is where what belongs to no property or venue is kept.
	HomeRegion ids.Region
	// PaymentProvider and PaymentAccount say who takes the money, and into which of the
	// provider's accounts.
	PaymentProvider string
	PaymentAccount  string
	CreatedAt       time.Time
}

// NewTenant is what CreateTenant is told.
type NewTenant struct {
	Name string
	// Slug is 2 to 40 lower-case letters, digits or hyphens.
	Slug       string
	HomeRegion ids.Region
	// PaymentProvider is "offline", "sandbox" or "stripe". Default "sandbox", where it is configured.
	PaymentProvider string
	// PaymentAccount is 1 to 200 characters, with Stripe an account of Stripe's. Default, except with
	// Stripe: the tenant's public id.
	PaymentAccount string
}

// TenantCreated is a tenant that can be used at once.
type TenantCreated struct {
	Tenant Tenant
	// BoxOffice is the channel that the tenant's own staff sell through.
	BoxOffice Channel
	// AdminKey is the tenant's first, and Secret its text, which is told only in the answer to the
	// call that created it. When the call is repeated Secret is empty; a platform operator whose
	// first answer was lost creates another key (CreateKey with Tenant) and revokes this one.
	AdminKey Key
	Secret   string
}

const (
	defaultPaymentProvider = providerSandbox
	boxOfficeName          = "Box office"
	firstKeyName           = "First admin key"
)

// CreateTenant makes a tenant, its box office and its first admin key. Only platform operators
// may. A slug that is taken is a fault.KindConflict.
func (s *Service) CreateTenant(ctx context.Context, actor Actor, requestKey string, input NewTenant) (TenantCreated, error) {
	if err := s.authorizer.Authorize(actor, ActionTenantCreate, TenantID{}); err != nil {
		return TenantCreated{}, err
	}
	input, err := s.checkTenant(input)
	if err != nil {
		return TenantCreated{}, err
	}
	command, err := newCommand("createTenant", actor, requestKey, input)
	if err != nil {
		return TenantCreated{}, err
	}
	// The request's row lies in the region that the request asks for, so one that is repeated with
	// another region does not meet it. The tenant's id is made of the request key: there they meet.
	id := TenantID{UUID: uuid.NewSHA1(actor.Key.UUID, []byte(command.scope+"/"+requestKey))}
	issue := issueKey(KeyID{UUID: uuid.NewSHA1(id.UUID, []byte("admin key"))}, KeyTypeAdmin, ModeLive)
	return db.Replayable(ctx, s.db, "tenants.CreateTenant", func(ctx context.Context, tx pgx.Tx) (TenantCreated, error) {
		return createTenantTx(ctx, tx, command, actor, id, issue, input)
	})
}

func (s *Service) checkTenant(input NewTenant) (NewTenant, error) {
	var err error
	if input.Name, err = text("name", input.Name, maxNameLength); err != nil {
		return NewTenant{}, err
	}
	if input.Slug, err = word("slug", input.Slug); err != nil {
		return NewTenant{}, err
	}
	if err := s.region("homeRegion", input.HomeRegion); err != nil {
		return NewTenant{}, err
	}
	providers := s.config.Providers
	if len(providers) == 0 {
		providers = []string{providerOffline, providerSandbox, providerStripe}
	}
	if input.PaymentProvider == "" && slices.Contains(providers, defaultPaymentProvider) {
		input.PaymentProvider = defaultPaymentProvider
	}
	if input.PaymentAccount != "" {
		if input.PaymentAccount, err = text("paymentAccount", input.PaymentAccount, maxPaymentAccountLength); err != nil {
			return NewTenant{}, err
		}
	}
	return input, checkProvider(providers, input.PaymentProvider, input.PaymentAccount)
}

func createTenantTx(ctx context.Context, tx pgx.Tx, command command, actor Actor, id TenantID, issue issuedKey, input NewTenant) (TenantCreated, error) {
	queries := dbsqlc.New(tx)
	boxOffice := ChannelID{UUID: uuid.NewSHA1(id.UUID, []byte("box office"))}
	_, replayed, err := command.claimTx(ctx, tx, uuid.Nil, input.HomeRegion, id.UUID)
	if err != nil {
		return TenantCreated{}, err
	}
	if replayed {
		return tenantCreatedTx(ctx, queries, id, boxOffice, issue)
	}
	_, err = queries.TenantGet(ctx, id.UUID)
	if err == nil {
		return TenantCreated{}, request.ErrKeyReused
	}
	if !db.IsNoRows(err) {
		return TenantCreated{}, fmt.Errorf("look for the tenant %s: %w", id, err)
	}
	if input.PaymentAccount == "" {
		input.PaymentAccount = id.String()
	}
	tenant, err := queries.TenantInsert(ctx, dbsqlc.TenantInsertParams{
		ID: id.UUID, Name: input.Name, Slug: input.Slug, HomeRegion: string(input.HomeRegion),
		PaymentProvider: input.PaymentProvider, PaymentAccount: input.PaymentAccount,
	})
	if db.ViolatedConstraint(err) == "tenants_slug_unique" {
		return TenantCreated{}, fault.Conflict("the slug %q is taken by another tenant", input.Slug)
	}
	if err != nil {
		return TenantCreated{}, fmt.Errorf("insert the tenant %s: %w", id, err)
	}
	channel, err := queries.ChannelInsert(ctx, dbsqlc.ChannelInsertParams{
		TenantID: id.UUID, ID: boxOffice.UUID, Name: boxOfficeName, Kind: string(ChannelTypeBoxOffice),
	})
	if err != nil {
		return TenantCreated{}, fmt.Errorf("insert the box office of the tenant %s: %w", id, err)
	}
	key, err := insertKeyTx(ctx, queries, id, issue, NewKey{Name: firstKeyName, Channel: boxOffice}, KeyID{})
	if err != nil {
		return TenantCreated{}, err
	}
	created := TenantCreated{Tenant: tenantOf(tenant), BoxOffice: channelOf(channel), AdminKey: key, Secret: issue.token}
	return created, AuditAsTx(ctx, tx, id, actor.Author(), Change{Action: ActionTenantCreate, Resource: id, After: created.Tenant})
}

// tenantCreatedTx is the answer to a repeated call.
func tenantCreatedTx(ctx context.Context, queries *dbsqlc.Queries, id TenantID, boxOffice ChannelID, issue issuedKey) (TenantCreated, error) {
	tenant, err := tenantTx(ctx, queries, id)
	if err != nil {
		return TenantCreated{}, err
	}
	channel, err := channelTx(ctx, queries, id, boxOffice)
	if err != nil {
		return TenantCreated{}, err
	}
	key, err := keyCreatedTx(ctx, queries, id, issue.id.UUID, issue)
	if err != nil {
		return TenantCreated{}, err
	}
	return TenantCreated{Tenant: tenant, BoxOffice: channel, AdminKey: key.Key, Secret: key.Secret}, nil
}

// Tenant is one tenant: the actor's own, or any for a platform operator.
func (s *Service) Tenant(ctx context.Context, actor Actor, id TenantID) (Tenant, error) {
	if id.IsZero() {
		return Tenant{}, fault.NotFound("tenant")
	}
	if err := s.authorizer.Authorize(actor, ActionTenantRead, id); err != nil {
		return Tenant{}, err
	}
	row, err := s.read().TenantGet(ctx, id.UUID)
	if db.IsNoRows(err) {
		return Tenant{}, fault.NotFound("tenant")
	}
	if err != nil {
		return Tenant{}, failed("read a tenant", err)
	}
	return tenantOf(row), nil
}

// Tenants lists the tenants of the installation. Only platform operators may.
func (s *Service) Tenants(ctx context.Context, actor Actor, after TenantID, limit int) (Page[Tenant], error) {
	if err := s.authorizer.Authorize(actor, ActionTenantRead, TenantID{}); err != nil {
		return Page[Tenant]{}, err
	}
	if err := checkPage(limit); err != nil {
		return Page[Tenant]{}, err
	}
	rows, err := s.read().TenantList(ctx, dbsqlc.TenantListParams{After: after.UUID, MaxRows: int64(limit) + 1})
	if err != nil {
		return Page[Tenant]{}, failed("list tenants", err)
	}
	return pageOf(rows, limit, tenantOf), nil
}

func tenantOf(row dbsqlc.Tenant) Tenant {
	return Tenant{
		ID: TenantID{UUID: row.ID}, Name: row.Name, Slug: row.Slug, HomeRegion: ids.Region(row.HomeRegion),
		PaymentProvider: row.PaymentProvider, PaymentAccount: row.PaymentAccount, CreatedAt: row.CreatedAt,
	}
}
