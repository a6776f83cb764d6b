package inventorytest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Region is where the stock of these fixtures lives.
const Region ids.Region = "eu"

// Tenant is one that is ready to set up stock and to sell it. Its methods end the test when a step
// that must succeed does not; those that say so in their comment return the error instead.
type Tenant struct {
	ID        tenants.TenantID
	DB        *db.DB
	Tenants   *tenants.Service
	Inventory *inventory.Service
	// Owner acts with the tenant's admin key.
	Owner tenants.Actor
	// Widget acts with the publishable key of the tenant's own shop, without a guest.
	Widget tenants.Actor

	t         testing.TB
	widgetKey string
	// names tell seats and pools in refusals. Filled while stock is set up, then only read.
	names map[uuid.UUID]string
}

// New makes a tenant on the package's database.
func New(t testing.TB) *Tenant {
	t.Helper()
	return NewOn(t, dbtest.Open(t))
}

// NewOn makes a tenant on a database of the test's own.
func NewOn(t testing.TB, d *db.DB) *Tenant {
	t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	x := &Tenant{
		DB: d, Tenants: tenants.NewService(d, enforcer, tenants.Config{}), Inventory: inventory.NewService(d, enforcer),
		t: t, names: map[uuid.UUID]string{},
	}
	t.Cleanup(x.Tenants.Close)
	secret, err := tenants.BootstrapPlatformKey(t.Context(), d, "Tests")
	if err != nil {
		t.Fatal(err)
	}
	created, err := x.Tenants.CreateTenant(t.Context(), x.authenticate(secret, ""), Key(), tenants.NewTenant{
		Name: "Astoria", Slug: "t-" + strings.ToLower(rand.Text()[:20]), HomeRegion: Region,
	})
	if err != nil {
		t.Fatal(err)
	}
	x.ID = created.Tenant.ID
	x.Owner = x.authenticate(created.Secret, "")
	shop := x.Channel("Shop", tenants.ChannelTypeOwnSite)
	x.widgetKey = x.Key(tenants.KeyTypePublishable, shop.ID)
	x.Widget = x.authenticate(x.widgetKey, "")
	return x
}

// For is the same tenant with its failures reported to another test, such as a subtest.
func (x *Tenant) For(t testing.TB) *Tenant {
	other := *x
	other.t = t
	return &other
}

// Context ends with the test.
func (x *Tenant) Context() context.Context { return x.t.Context() }

// Key is a fresh request key.
func Key() string { return rand.Text() }

// Channel adds a channel.
func (x *Tenant) Channel(name string, kind tenants.ChannelType) tenants.Channel {
	x.t.Helper()
	channel, err := x.Tenants.CreateChannel(x.t.Context(), x.Owner, Key(), tenants.NewChannel{Name: name, Type: kind})
	if err != nil {
		x.t.Fatal(err)
	}
	return channel
}

// Key issues a key of a channel and returns its secret.
func (x *Tenant) Key(kind tenants.KeyType, channel tenants.ChannelID) string {
	x.t.Helper()
	created, err := x.Tenants.CreateKey(x.t.Context(), x.Owner, Key(), tenants.NewKey{
		Type: kind, Mode: tenants.ModeLive, Name: "A key", Channel: channel,
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return created.Secret
}

// Guest is a person with a session of the tenant's own shop.
func (x *Tenant) Guest() Buyer {
	x.t.Helper()
	session, err := x.Tenants.StartGuestSession(x.t.Context(), x.Widget, Region)
	if err != nil {
		x.t.Fatal(err)
	}
	return x.Buyer(x.authenticate(x.widgetKey, session.Token))
}

// Guests are n persons.
func (x *Tenant) Guests(n int) []Buyer {
	x.t.Helper()
	guests := make([]Buyer, n)
	for i := range guests {
		guests[i] = x.Guest()
	}
	return guests
}

// Partner buys for its own customers, through a channel of its own.
func (x *Tenant) Partner(name string) Buyer {
	x.t.Helper()
	channel := x.Channel(name, tenants.ChannelTypePartner)
	return x.Buyer(x.authenticate(x.Key(tenants.KeyTypePartner, channel.ID), ""))
}

// Buyer is any actor as a buyer.
func (x *Tenant) Buyer(actor tenants.Actor) Buyer { return Buyer{Actor: actor, tenant: x} }

// SetTerms sets the tenant's default terms of sale.
func (x *Tenant) SetTerms(change inventory.TermsChange) inventory.Terms {
	x.t.Helper()
	terms, err := x.Inventory.SetTerms(x.t.Context(), x.Owner, inventory.TermsScope{}, change)
	if err != nil {
		x.t.Fatal(err)
	}
	return terms
}

func (x *Tenant) authenticate(key, session string) tenants.Actor {
	x.t.Helper()
	actor, err := x.Tenants.Authenticate(x.t.Context(), key, session)
	if err != nil {
		x.t.Fatalf("authenticate: %v", err)
	}
	return actor
}

func site(name, zone string, currency money.Currency) tenants.Site {
	return tenants.Site{Name: name, TimeZone: zone, Currency: currency, Country: "AT", City: "Vienna"}
}

// Of is a pointer to a value, for optional fields.
func Of[T any](value T) *T { return &value }
