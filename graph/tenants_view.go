package graph

import (
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/tenants"
)

// one encodes what a service answered, or passes its error.
func one[T, V any](value T, err error, view func(T) V) (*V, error) {
	if err != nil {
		return nil, err
	}
	shown := view(value)
	return &shown, nil
}

// orNull is null for text that is not there.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// idOrNull is null for an id that names nothing.
func idOrNull(id interface {
	IsZero() bool
	String() string
},
) *string {
	if id.IsZero() {
		return nil
	}
	text := id.String()
	return &text
}

func moneyView(amount money.Amount) generated.Money {
	return generated.Money{AmountMinor: amount.Minor, Currency: string(amount.Currency), Formatted: amount.String()}
}

func viewerView(actor tenants.Actor) *generated.Viewer {
	roles := []generated.MemberRole{}
	for _, role := range actor.Grants.Roles() {
		roles = append(roles, generated.MemberRole(role))
	}
	key := idOrNull(actor.Key)
	if !actor.Member.IsZero() {
		key = nil
	}
	return &generated.Viewer{
		TenantID: idOrNull(actor.Tenant), KeyID: key, MemberID: idOrNull(actor.Member), Roles: roles, KeyType: generated.KeyType(actor.KeyType), Mode: generated.KeyMode(actor.Mode),
		ChannelID: idOrNull(actor.Channel), ChannelSuspended: actor.ChannelSuspended, SessionID: idOrNull(actor.Session),
	}
}

func tenantView(t tenants.Tenant) generated.Tenant {
	return generated.Tenant{
		ID: t.ID.String(), Name: t.Name, Slug: t.Slug, HomeRegion: string(t.HomeRegion),
		PaymentProvider: t.PaymentProvider, PaymentAccount: t.PaymentAccount, CreatedAt: t.CreatedAt,
	}
}

func tenantCreatedView(c tenants.TenantCreated) generated.TenantCreated {
	return generated.TenantCreated{
		Tenant: tenantView(c.Tenant), BoxOffice: channelView(c.BoxOffice), AdminKey: keyView(c.AdminKey), Secret: orNull(c.Secret),
	}
}

func propertyView(p tenants.Property) generated.Property {
	return generated.Property{
		ID: p.ID.String(), Name: p.Name, Region: string(p.ID.Region), TimeZone: p.TimeZone, Currency: string(p.Currency),
		Country: p.Country, City: p.City, CreatedAt: p.CreatedAt, Source: p,
	}
}

func venueView(v tenants.Venue) generated.Venue {
	return generated.Venue{
		ID: v.ID.String(), Name: v.Name, Region: string(v.ID.Region), TimeZone: v.TimeZone, Currency: string(v.Currency),
		Country: v.Country, City: v.City, CreatedAt: v.CreatedAt, Source: v.ID,
	}
}

func channelView(c tenants.Channel) generated.Channel {
	return generated.Channel{
		ID: c.ID.String(), Name: c.Name, Kind: generated.ChannelKind(c.Type), Suspended: c.Suspended, CreatedAt: c.CreatedAt,
	}
}

func keyView(k tenants.Key) generated.Key {
	return generated.Key{
		ID: k.ID.String(), TenantID: idOrNull(k.Tenant), ChannelID: idOrNull(k.Channel), Kind: generated.KeyType(k.Type),
		Mode: generated.KeyMode(k.Mode), Name: k.Name, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
		LastUsedAt: k.LastUsedAt, AllowedOrigins: append([]string{}, k.AllowedOrigins...), ReplacesID: idOrNull(k.Replaces),
	}
}

func customerSecretView(c tenants.CustomerSecret) generated.CustomerSecret {
	return generated.CustomerSecret{ID: c.ID.String(), ChannelID: c.Channel.String(), CreatedAt: c.CreatedAt, EndedAt: c.EndedAt}
}

func keyCreatedView(c tenants.KeyCreated) generated.KeyCreated {
	return generated.KeyCreated{Key: keyView(c.Key), Secret: orNull(c.Secret)}
}

func sessionView(s tenants.GuestSession) generated.GuestSession {
	return generated.GuestSession{ID: s.ID.String(), Token: s.Token, ExpiresAt: s.ExpiresAt}
}
