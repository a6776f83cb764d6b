package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// sampleKeys are the secrets of the sample data. They are told only when they are made, so whoever
// asks for them keeps them.
type sampleKeys struct {
	// Platform operates the installation.
	Platform string `json:"platform"`
	// Admin runs the sample tenant, and sells at its box office.
	Admin string `json:"admin"`
	// Partner sells through the sample partner's channel.
	Partner string `json:"partner"`
	// Publishable is for the sample tenant's own site.
	Publishable string           `json:"publishable"`
	Tenant      tenants.TenantID `json:"tenant"`
}

const (
	sampleTenantName     = "Holdfast Sample Group"
	sampleTenantSlug     = "holdfast-sample"
	sampleSiteName       = "Own site"
	samplePartnerName    = "Tidewater Travel"
	samplePlatformKey    = "Development"
	sampleAdminKey       = "Sample admin"
	samplePartnerKey     = "Sample partner"
	samplePublishableKey = "Sample site"
)

// errNotEmpty says that the database has tenants of its own, among which sample data have no place.
var errNotEmpty = errors.New("the database has tenants already, and none is the sample")

// sampleData gives the keys of the sample data: those that are known when they are still good, and
// otherwise new ones, for sample data that it makes when the database has no tenant. A database
// with tenants of its own gets a platform key only.
func (a *app) sampleData(ctx context.Context, known sampleKeys, progress io.Writer) (sampleKeys, error) {
	good, err := a.keysAreGood(ctx, known.Platform)
	if err != nil {
		return sampleKeys{}, err
	}
	if !good {
		if known.Platform, err = tenants.BootstrapPlatformKey(ctx, a.store.db, samplePlatformKey); err != nil {
			return sampleKeys{}, err
		}
	}
	if good, err = a.keysAreGood(ctx, known.Admin, known.Partner, known.Publishable); err != nil || good {
		return known, err
	}
	keys, err := loadSample(ctx, a, known.Platform, progress)
	if errors.Is(err, errNotEmpty) {
		fmt.Fprintln(progress, "The database has data of its own; no sample data were loaded.")
		return sampleKeys{Platform: known.Platform}, nil
	}
	return keys, err
}

// keysAreGood reports whether every one of the secrets still authenticates.
func (a *app) keysAreGood(ctx context.Context, secrets ...string) (bool, error) {
	for _, secret := range secrets {
		_, err := a.tenants.Authenticate(ctx, secret, "")
		switch {
		case fault.KindOf(err) == fault.KindUnauthenticated:
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

// loadSample makes the sample data in a database that has no tenant, through the services: one
// tenant with a theatre, an arena and hotels in two regions. Where the sample tenant is there
// already, it makes what an interrupted load left out, and new keys. A database with other tenants
// only is errNotEmpty.
func loadSample(ctx context.Context, a *app, platformSecret string, progress io.Writer) (sampleKeys, error) {
	operator, err := a.tenants.Authenticate(ctx, platformSecret, "")
	if err != nil {
		return sampleKeys{}, err
	}
	tenant, err := a.sampleTenant(ctx, operator, progress)
	if err != nil {
		return sampleKeys{}, err
	}
	l := sampleLoad{app: a, progress: progress, operator: operator, tenant: tenant}
	if l.owner, err = l.firstKey(ctx); err != nil {
		return sampleKeys{}, err
	}
	channels, err := allPages(func(after tenants.ChannelID) (tenants.Page[tenants.Channel], error) {
		return a.tenants.Channels(ctx, l.owner, after, tenants.MaxPage)
	}, func(channel tenants.Channel) tenants.ChannelID { return channel.ID })
	if err != nil {
		return sampleKeys{}, err
	}
	// The partner's channel is made last: where it is, everything is.
	if !slices.ContainsFunc(channels, func(channel tenants.Channel) bool { return channel.Name == samplePartnerName }) {
		if err := l.stock(ctx); err != nil {
			return sampleKeys{}, fmt.Errorf("load sample data: %w", err)
		}
	}
	return l.keys(ctx, platformSecret)
}

// sampleTenant finds the sample tenant, or makes it in an empty database.
func (a *app) sampleTenant(ctx context.Context, operator tenants.Actor, progress io.Writer) (tenants.Tenant, error) {
	all, err := a.allTenants(ctx, operator)
	if err != nil {
		return tenants.Tenant{}, err
	}
	for _, tenant := range all {
		if tenant.Slug == sampleTenantSlug {
			return tenant, nil
		}
	}
	if len(all) > 0 {
		return tenants.Tenant{}, errNotEmpty
	}
	fmt.Fprintf(progress, "Loading sample data: %s …\n", sampleTenantName)
	created, err := a.tenants.CreateTenant(ctx, operator, "sample", tenants.NewTenant{
		Name: sampleTenantName, Slug: sampleTenantSlug, HomeRegion: sampleRegionEU,
	})
	return created.Tenant, err
}

// sampleLoad is one load of the sample data under way. Every step has a request key of its own and
// depends on nothing but the tenant's age, so that a load that was interrupted can be run again.
type sampleLoad struct {
	*app
	progress io.Writer
	operator tenants.Actor
	tenant   tenants.Tenant
	owner    tenants.Actor
}

// firstKey acts as the admin key that came with the tenant: requests are told apart by the key that
// makes them.
func (l sampleLoad) firstKey(ctx context.Context) (tenants.Actor, error) {
	keys, err := l.allKeys(ctx, l.operator, l.tenant.ID)
	if err != nil {
		return tenants.Actor{}, err
	}
	keys = slices.DeleteFunc(keys, func(key tenants.Key) bool { return key.Type != tenants.KeyTypeAdmin })
	if len(keys) == 0 {
		return tenants.Actor{}, errors.New("the sample tenant has no admin key")
	}
	first := slices.MinFunc(keys, func(x, y tenants.Key) int { return x.CreatedAt.Compare(y.CreatedAt) })
	return actorOf(first), nil
}

func (l sampleLoad) stock(ctx context.Context) error {
	if err := l.theatre(ctx); err != nil {
		return err
	}
	if err := l.arena(ctx); err != nil {
		return err
	}
	for _, hotel := range sampleHotels() {
		if err := l.hotel(ctx, hotel); err != nil {
			return fmt.Errorf("%s: %w", hotel.site.Name, err)
		}
	}
	if _, err := l.channel(ctx, sampleSiteName, tenants.ChannelTypeOwnSite); err != nil {
		return err
	}
	_, err := l.channel(ctx, samplePartnerName, tenants.ChannelTypePartner)
	return err
}

func (l sampleLoad) channel(ctx context.Context, name string, kind tenants.ChannelType) (tenants.Channel, error) {
	return l.tenants.CreateChannel(ctx, l.owner, "sample/channel/"+name, tenants.NewChannel{Name: name, Type: kind})
}

// keys issues a fresh key of each type: nobody can read the secrets of earlier ones.
func (l sampleLoad) keys(ctx context.Context, platformSecret string) (sampleKeys, error) {
	site, err := l.channel(ctx, sampleSiteName, tenants.ChannelTypeOwnSite)
	if err != nil {
		return sampleKeys{}, err
	}
	partner, err := l.channel(ctx, samplePartnerName, tenants.ChannelTypePartner)
	if err != nil {
		return sampleKeys{}, err
	}
	result := sampleKeys{Platform: platformSecret, Tenant: l.tenant.ID}
	for _, issue := range []struct {
		secret  *string
		name    string
		kind    tenants.KeyType
		channel tenants.ChannelID
	}{
		{&result.Admin, sampleAdminKey, tenants.KeyTypeAdmin, l.owner.Channel},
		{&result.Partner, samplePartnerKey, tenants.KeyTypePartner, partner.ID},
		{&result.Publishable, samplePublishableKey, tenants.KeyTypePublishable, site.ID},
	} {
		created, err := l.tenants.CreateKey(ctx, l.operator, "sample/key/"+newSecret(), tenants.NewKey{
			Tenant: l.tenant.ID, Type: issue.kind, Mode: tenants.ModeLive, Name: issue.name, Channel: issue.channel,
		})
		if err != nil {
			return sampleKeys{}, fmt.Errorf("make a key for the sample data: %w", err)
		}
		*issue.secret = created.Secret
	}
	return result, nil
}

// today is the day on which the sample begins, in a site's own calendar.
func (l sampleLoad) today(site tenants.Site) (civil.Date, error) {
	zone, err := site.Location()
	if err != nil {
		return civil.Date{}, err
	}
	return civil.DateOf(l.tenant.CreatedAt.In(zone)), nil
}

// firstQuery is a GraphQL query that shows what the sample data have; where there are none it asks
// who is asking.
func (a *app) firstQuery(ctx context.Context, keys sampleKeys) (string, error) {
	if keys.Tenant.IsZero() {
		return "{ __typename }", nil
	}
	const nights = 3
	now, err := inventory.Now(ctx, a.store.db.Pool())
	if err != nil {
		return "", err
	}
	from := civil.DateOf(now).AddDays(1)
	return fmt.Sprintf(`{
  shows(region: %q, first: 3) {
    nodes {
      id
      name
      startsAt
      venue { name city }
      priceLevels { name price { formatted } }
      pools { id name available }
    }
  }
  hotels(first: 5) {
    nodes {
      name
      city
      region
      roomTypes { id name }
      calendar(from: "%s", to: "%s") {
        nights { roomTypeId night available price { formatted } }
      }
    }
  }
}`, sampleRegionEU, from, from.AddDays(nights-1)), nil
}
