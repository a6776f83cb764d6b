package policies

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// The policy decides about real credentials in the service that is below it.
func TestRolesOfRealCredentials(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	service := tenants.NewService(d, newEnforcer(t), tenants.Config{})
	t.Cleanup(service.Close)
	secret, err := tenants.BootstrapPlatformKey(t.Context(), d, "Operator")
	if err != nil {
		t.Fatal(err)
	}
	actor := func(key, session string) tenants.Actor {
		actor, err := service.Authenticate(t.Context(), key, session)
		if err != nil {
			t.Fatal(err)
		}
		return actor
	}
	operator := actor(secret, "")
	newTenant := func() tenants.TenantCreated {
		slug := strings.ToLower(rand.Text())
		created, err := service.CreateTenant(t.Context(), operator, slug, tenants.NewTenant{Name: slug, Slug: slug, HomeRegion: "eu"})
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	mine, theirs := newTenant(), newTenant()
	owner := actor(mine.Secret, "")
	issue := func(keyType tenants.KeyType) string {
		created, err := service.CreateKey(t.Context(), owner, string(keyType), tenants.NewKey{
			Type: keyType, Mode: tenants.ModeLive, Name: "A key", Channel: mine.BoxOffice.ID,
		})
		if err != nil {
			t.Fatal(err)
		}
		return created.Secret
	}
	partner, widgetKey := actor(issue(tenants.KeyTypePartner), ""), issue(tenants.KeyTypePublishable)
	widget := actor(widgetKey, "")
	session, err := service.StartGuestSession(t.Context(), widget, "")
	if err != nil {
		t.Fatal(err)
	}
	guest := actor(widgetKey, session.Token)

	site := tenants.Site{Name: "Hotel", TimeZone: "Europe/Rome", Currency: "EUR", Country: "IT", City: "Rome"}
	calls := map[string]func(tenants.Actor) error{
		"create a tenant": func(a tenants.Actor) error {
			slug := strings.ToLower(rand.Text())
			_, err := service.CreateTenant(t.Context(), a, slug, tenants.NewTenant{Name: slug, Slug: slug, HomeRegion: "eu"})
			return err
		},
		"list tenants": func(a tenants.Actor) error {
			_, err := service.Tenants(t.Context(), a, tenants.TenantID{}, 1)
			return err
		},
		"read the tenant": func(a tenants.Actor) error {
			_, err := service.Tenant(t.Context(), a, mine.Tenant.ID)
			return err
		},
		"read another tenant": func(a tenants.Actor) error {
			_, err := service.Tenant(t.Context(), a, theirs.Tenant.ID)
			return err
		},
		"create a property": func(a tenants.Actor) error {
			_, err := service.CreateProperty(t.Context(), a, "p", tenants.NewProperty{Region: "eu", Site: site})
			return err
		},
		"list properties": func(a tenants.Actor) error {
			_, err := service.Properties(t.Context(), a, tenants.PropertyID{}, 1)
			return err
		},
		"list channels": func(a tenants.Actor) error {
			_, err := service.Channels(t.Context(), a, tenants.ChannelID{}, 1)
			return err
		},
		"list keys": func(a tenants.Actor) error {
			_, err := service.Keys(t.Context(), a, tenants.TenantID{}, tenants.KeyID{}, 1)
			return err
		},
		"list another tenant's keys": func(a tenants.Actor) error {
			_, err := service.Keys(t.Context(), a, theirs.Tenant.ID, tenants.KeyID{}, 1)
			return err
		},
		"start a session": func(a tenants.Actor) error {
			_, err := service.StartGuestSession(t.Context(), a, "")
			return err
		},
	}
	const (
		yes     = "yes"
		denied  = "denied"
		unknown = "not_found"
	)
	for name, want := range map[string][5]string{
		//                            operator owner   partner  widget   guest
		"create a tenant":            {yes, denied, denied, denied, denied},
		"list tenants":               {yes, denied, denied, denied, denied},
		"read the tenant":            {yes, yes, denied, denied, denied},
		"read another tenant":        {yes, unknown, unknown, unknown, unknown},
		"create a property":          {denied, yes, denied, denied, denied},
		"list properties":            {denied, yes, yes, yes, yes},
		"list channels":              {denied, yes, denied, denied, denied},
		"list keys":                  {yes, yes, denied, denied, denied},
		"list another tenant's keys": {yes, unknown, unknown, unknown, unknown},
		"start a session":            {denied, denied, yes, yes, yes},
	} {
		for i, a := range []tenants.Actor{operator, owner, partner, widget, guest} {
			got := yes
			if err := calls[name](a); err != nil {
				got = fault.KindOf(err).String()
			}
			if got != want[i] {
				t.Errorf("%s as %s (session %v): %s, want %s", name, a.KeyType, !a.Session.IsZero(), got, want[i])
			}
		}
	}
}
