package graph

import (
	"context"
	"time"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/tenants"
)

// The names of lists in their cursors.
const (
	listTenants    = "tenants"
	listProperties = "hotels"
	listVenues     = "venues"
	listChannels   = "channels"
	listKeys       = "keys"
)

// Viewer is the resolver for the viewer field.
func (r *queryResolver) Viewer(ctx context.Context) (*generated.Viewer, error) {
	return viewerView(actorOf(ctx)), nil
}

// Tenants is the resolver for the tenants field.
func (r *queryResolver) Tenants(ctx context.Context, first int64, after *string) (*generated.TenantConnection, error) {
	var d decoder
	var from tenants.TenantID
	if cursor := readCursor(&d, listTenants, after); cursor != "" {
		from = readGlobalID[tenants.TenantKind](&d, "after", cursor)
	}
	if d.err != nil {
		return nil, d.err
	}
	page, err := r.tenants.Tenants(ctx, actorOf(ctx), from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.TenantConnection
	c.Edges, c.Nodes, c.PageInfo = connect(page.Items, page.More,
		func(t tenants.Tenant) string { return encodeCursor(listTenants, t.ID.String()) }, tenantView,
		func(cursor string, node generated.Tenant) generated.TenantEdge {
			return generated.TenantEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// Tenant is the resolver for the tenant field.
func (r *queryResolver) Tenant(ctx context.Context, id *string) (*generated.Tenant, error) {
	var d decoder
	wanted := readOptionalGlobalID[tenants.TenantKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	actor := actorOf(ctx)
	if wanted.IsZero() {
		wanted = actor.Tenant
	}
	tenant, err := r.tenants.Tenant(ctx, actor, wanted)
	return one(tenant, err, tenantView)
}

// Hotels is the resolver for the hotels field.
func (r *queryResolver) Hotels(ctx context.Context, first int64, after *string) (*generated.PropertyConnection, error) {
	var d decoder
	var from tenants.PropertyID
	if cursor := readCursor(&d, listProperties, after); cursor != "" {
		from = readID[tenants.PropertyKind](&d, "after", cursor)
	}
	if d.err != nil {
		return nil, d.err
	}
	page, err := r.tenants.Properties(ctx, actorOf(ctx), from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.PropertyConnection
	c.Edges, c.Nodes, c.PageInfo = connect(page.Items, page.More,
		func(p tenants.Property) string { return encodeCursor(listProperties, p.ID.String()) }, propertyView,
		func(cursor string, node generated.Property) generated.PropertyEdge {
			return generated.PropertyEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// Hotel is the resolver for the hotel field.
func (r *queryResolver) Hotel(ctx context.Context, id string) (*generated.Property, error) {
	var d decoder
	wanted := readID[tenants.PropertyKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	property, err := r.tenants.Property(ctx, actorOf(ctx), wanted)
	return one(property, err, propertyView)
}

// Venues is the resolver for the venues field.
func (r *queryResolver) Venues(ctx context.Context, first int64, after *string) (*generated.VenueConnection, error) {
	var d decoder
	var from tenants.VenueID
	if cursor := readCursor(&d, listVenues, after); cursor != "" {
		from = readID[tenants.VenueKind](&d, "after", cursor)
	}
	if d.err != nil {
		return nil, d.err
	}
	page, err := r.tenants.Venues(ctx, actorOf(ctx), from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.VenueConnection
	c.Edges, c.Nodes, c.PageInfo = connect(page.Items, page.More,
		func(v tenants.Venue) string { return encodeCursor(listVenues, v.ID.String()) }, venueView,
		func(cursor string, node generated.Venue) generated.VenueEdge {
			return generated.VenueEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// Venue is the resolver for the venue field.
func (r *queryResolver) Venue(ctx context.Context, id string) (*generated.Venue, error) {
	var d decoder
	wanted := readID[tenants.VenueKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	venue, err := r.tenants.Venue(ctx, actorOf(ctx), wanted)
	return one(venue, err, venueView)
}

// Channels is the resolver for the channels field.
func (r *queryResolver) Channels(ctx context.Context, first int64, after *string) (*generated.ChannelConnection, error) {
	var d decoder
	var from tenants.ChannelID
	if cursor := readCursor(&d, listChannels, after); cursor != "" {
		from = readGlobalID[tenants.ChannelKind](&d, "after", cursor)
	}
	if d.err != nil {
		return nil, d.err
	}
	page, err := r.tenants.Channels(ctx, actorOf(ctx), from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.ChannelConnection
	c.Edges, c.Nodes, c.PageInfo = connect(page.Items, page.More,
		func(ch tenants.Channel) string { return encodeCursor(listChannels, ch.ID.String()) }, channelView,
		func(cursor string, node generated.Channel) generated.ChannelEdge {
			return generated.ChannelEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// Keys is the resolver for the keys field.
func (r *queryResolver) Keys(ctx context.Context, tenant *string, first int64, after *string) (*generated.KeyConnection, error) {
	var d decoder
	whose := readOptionalGlobalID[tenants.TenantKind](&d, "tenant", tenant)
	var from tenants.KeyID
	if cursor := readCursor(&d, listKeys, after); cursor != "" {
		from = readGlobalID[tenants.KeyKind](&d, "after", cursor)
	}
	if d.err != nil {
		return nil, d.err
	}
	page, err := r.tenants.Keys(ctx, actorOf(ctx), whose, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.KeyConnection
	c.Edges, c.Nodes, c.PageInfo = connect(page.Items, page.More,
		func(k tenants.Key) string { return encodeCursor(listKeys, k.ID.String()) }, keyView,
		func(cursor string, node generated.Key) generated.KeyEdge {
			return generated.KeyEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// CreateTenant is the resolver for the createTenant field.
func (r *mutationResolver) CreateTenant(ctx context.Context, input generated.CreateTenantInput) (*generated.TenantCreated, error) {
	var d decoder
	home := readRegion(&d, "input.homeRegion", input.HomeRegion)
	if d.err != nil {
		return nil, d.err
	}
	created, err := r.tenants.CreateTenant(ctx, actorOf(ctx), input.RequestKey, tenants.NewTenant{
		Name: input.Name, Slug: input.Slug, HomeRegion: home,
		PaymentProvider: textOf(input.PaymentProvider), PaymentAccount: textOf(input.PaymentAccount),
	})
	return one(created, inInput(err), tenantCreatedView)
}

// CreateProperty is the resolver for the createProperty field.
func (r *mutationResolver) CreateProperty(ctx context.Context, input generated.CreateSiteInput) (*generated.Property, error) {
	var d decoder
	region := readRegion(&d, "input.region", input.Region)
	if d.err != nil {
		return nil, d.err
	}
	property, err := r.tenants.CreateProperty(ctx, actorOf(ctx), input.RequestKey, tenants.NewProperty{Region: region, Site: siteOf(input)})
	return one(property, inInput(err), propertyView)
}

// CreateVenue is the resolver for the createVenue field.
func (r *mutationResolver) CreateVenue(ctx context.Context, input generated.CreateSiteInput) (*generated.Venue, error) {
	var d decoder
	region := readRegion(&d, "input.region", input.Region)
	if d.err != nil {
		return nil, d.err
	}
	venue, err := r.tenants.CreateVenue(ctx, actorOf(ctx), input.RequestKey, tenants.NewVenue{Region: region, Site: siteOf(input)})
	return one(venue, inInput(err), venueView)
}

func siteOf(input generated.CreateSiteInput) tenants.Site {
	return tenants.Site{
		Name: input.Name, TimeZone: input.TimeZone, Currency: money.Currency(input.Currency), Country: input.Country, City: input.City,
	}
}

// CreateChannel is the resolver for the createChannel field.
func (r *mutationResolver) CreateChannel(ctx context.Context, input generated.CreateChannelInput) (*generated.Channel, error) {
	channel, err := r.tenants.CreateChannel(ctx, actorOf(ctx), input.RequestKey, tenants.NewChannel{
		Name: input.Name, Type: tenants.ChannelType(input.Kind),
	})
	return one(channel, inInput(err), channelView)
}

// SetChannelSuspended is the resolver for the setChannelSuspended field.
func (r *mutationResolver) SetChannelSuspended(ctx context.Context, input generated.SetChannelSuspendedInput) (*generated.Channel, error) {
	var d decoder
	id := readGlobalID[tenants.ChannelKind](&d, "input.channel", input.Channel)
	if d.err != nil {
		return nil, d.err
	}
	channel, err := r.tenants.SetChannelSuspended(ctx, actorOf(ctx), id, input.Suspended)
	return one(channel, inInput(err), channelView)
}

// CreateKey is the resolver for the createKey field.
func (r *mutationResolver) CreateKey(ctx context.Context, input generated.CreateKeyInput) (*generated.KeyCreated, error) {
	var d decoder
	key := tenants.NewKey{
		Tenant: readOptionalGlobalID[tenants.TenantKind](&d, "input.tenant", input.Tenant),
		Type:   tenants.KeyType(input.Kind), Mode: tenants.Mode(input.Mode), Name: input.Name,
		Channel: readOptionalGlobalID[tenants.ChannelKind](&d, "input.channel", input.Channel),
	}
	if input.ExpiresAt != nil {
		key.ExpiresAt = *input.ExpiresAt
	}
	key.AllowedOrigins = input.AllowedOrigins
	if d.err != nil {
		return nil, d.err
	}
	created, err := r.tenants.CreateKey(ctx, actorOf(ctx), input.RequestKey, key)
	return one(created, inInput(err), keyCreatedView)
}

// RotateKey is the resolver for the rotateKey field.
func (r *mutationResolver) RotateKey(ctx context.Context, input generated.RotateKeyInput) (*generated.KeyCreated, error) {
	var d decoder
	rotation := tenants.KeyRotation{
		Tenant: readOptionalGlobalID[tenants.TenantKind](&d, "input.tenant", input.Tenant),
		Key:    readGlobalID[tenants.KeyKind](&d, "input.key", input.Key), Overlap: time.Duration(input.OverlapSeconds) * time.Second,
	}
	if input.ExpiresAt != nil {
		rotation.ExpiresAt = *input.ExpiresAt
	}
	if d.err != nil {
		return nil, d.err
	}
	created, err := r.tenants.RotateKey(ctx, actorOf(ctx), input.RequestKey, rotation)
	return one(created, inInput(err), keyCreatedView)
}

// CreateCustomerSecret is the resolver for the createCustomerSecret field.
func (r *mutationResolver) CreateCustomerSecret(ctx context.Context, input generated.CreateCustomerSecretInput) (*generated.CustomerSecretCreated, error) {
	var d decoder
	channel := readGlobalID[tenants.ChannelKind](&d, "input.channel", input.Channel)
	if d.err != nil {
		return nil, d.err
	}
	created, err := r.tenants.CreateCustomerSecret(ctx, actorOf(ctx), input.RequestKey, channel)
	return one(created, inInput(err), func(c tenants.CustomerSecretCreated) generated.CustomerSecretCreated {
		return generated.CustomerSecretCreated{CustomerSecret: customerSecretView(c.CustomerSecret), Secret: orNull(c.Secret)}
	})
}

// EndCustomerSecret is the resolver for the endCustomerSecret field.
func (r *mutationResolver) EndCustomerSecret(ctx context.Context, input generated.EndCustomerSecretInput) (*generated.CustomerSecret, error) {
	var d decoder
	id := readGlobalID[tenants.CustomerSecretKind](&d, "input.customerSecret", input.CustomerSecret)
	if d.err != nil {
		return nil, d.err
	}
	ended, err := r.tenants.EndCustomerSecret(ctx, actorOf(ctx), id)
	return one(ended, inInput(err), customerSecretView)
}

// CustomerSecrets is the resolver for the customerSecrets field.
func (r *queryResolver) CustomerSecrets(ctx context.Context, channel string) ([]generated.CustomerSecret, error) {
	var d decoder
	id := readGlobalID[tenants.ChannelKind](&d, "channel", channel)
	if d.err != nil {
		return nil, d.err
	}
	secrets, err := r.tenants.CustomerSecrets(ctx, actorOf(ctx), id)
	return each(secrets, customerSecretView), err
}

// RevokeKey is the resolver for the revokeKey field.
func (r *mutationResolver) RevokeKey(ctx context.Context, input generated.RevokeKeyInput) (*generated.Key, error) {
	var d decoder
	tenant := readOptionalGlobalID[tenants.TenantKind](&d, "input.tenant", input.Tenant)
	id := readGlobalID[tenants.KeyKind](&d, "input.key", input.Key)
	if d.err != nil {
		return nil, d.err
	}
	key, err := r.tenants.RevokeKey(ctx, actorOf(ctx), tenant, id)
	return one(key, inInput(err), keyView)
}

// StartGuestSession is the resolver for the startGuestSession field.
func (r *mutationResolver) StartGuestSession(ctx context.Context, region *string) (*generated.GuestSession, error) {
	var d decoder
	where := readOptionalRegion(&d, region)
	if d.err != nil {
		return nil, d.err
	}
	session, err := r.tenants.StartGuestSession(ctx, actorOf(ctx), where)
	return one(session, err, sessionView)
}
