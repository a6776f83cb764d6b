package tenants_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/tenants"
)

func TestATenantCanBeUsedAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newService(t, tenants.Config{}))
	tenant := h.created.Tenant
	if tenant.PaymentProvider != "sandbox" || tenant.PaymentAccount != tenant.ID.String() {
		t.Errorf("payments default to %s of %s", tenant.PaymentAccount, tenant.PaymentProvider)
	}
	want := tenants.Actor{
		Tenant: tenant.ID, Key: h.created.AdminKey.ID, KeyType: tenants.KeyTypeAdmin,
		Mode: tenants.ModeLive, Channel: h.created.BoxOffice.ID,
	}
	if h.owner != want {
		t.Errorf("the first key acts as %+v, want %+v", h.owner, want)
	}
	if h.created.BoxOffice.Type != tenants.ChannelTypeBoxOffice || h.created.BoxOffice.Name != "Box office" {
		t.Errorf("the box office is %+v", h.created.BoxOffice)
	}
	read, err := h.service.Tenant(t.Context(), h.owner, tenant.ID)
	if err != nil || read != tenant {
		t.Errorf("read back %+v, %v", read, err)
	}
}

func TestRepeatedCreateTenant(t *testing.T) {
	t.Parallel()
	service := newService(t, tenants.Config{})
	platform := operator(t, service)
	input := tenants.NewTenant{Name: "Opera", Slug: uniqueSlug(), HomeRegion: "eu"}
	first, err := service.CreateTenant(t.Context(), platform, "k1", input)
	if err != nil || first.Secret == "" {
		t.Fatalf("first call: %+v, %v", first, err)
	}
	again, err := service.CreateTenant(t.Context(), platform, "k1", input)
	if err != nil {
		t.Fatal(err)
	}
	if again.Secret != "" {
		t.Error("the secret was told twice")
	}
	again.Secret = first.Secret
	again.AdminKey.LastUsedAt = nil
	if again.Tenant != first.Tenant || again.BoxOffice != first.BoxOffice || again.AdminKey.ID != first.AdminKey.ID {
		t.Errorf("the second answer is %+v, the first was %+v", again, first)
	}
	for name, other := range map[string]tenants.NewTenant{
		"name":             {Name: "Opera House", Slug: input.Slug, HomeRegion: "eu"},
		"region":           {Name: "Opera", Slug: input.Slug, HomeRegion: "us"},
		"region and slug":  {Name: "Opera", Slug: uniqueSlug(), HomeRegion: "us"},
		"payment provider": {Name: "Opera", Slug: input.Slug, HomeRegion: "eu", PaymentProvider: "stripe", PaymentAccount: "acct_1"},
	} {
		if _, err := service.CreateTenant(t.Context(), platform, "k1", other); !errors.Is(err, request.ErrKeyReused) {
			t.Errorf("other %s: got %v, want %v", name, err, request.ErrKeyReused)
		}
	}
	// Another operator may choose the same request key.
	input.Slug = uniqueSlug()
	other, err := service.CreateTenant(t.Context(), operator(t, service), "k1", input)
	if err != nil || other.Tenant.ID == first.Tenant.ID {
		t.Errorf("another operator's call: %+v, %v", other, err)
	}
}

func TestOneRequestFromManyClientsMakesOneTenant(t *testing.T) {
	t.Parallel()
	service := newService(t, tenants.Config{})
	platform := operator(t, service)
	input := tenants.NewTenant{Name: "Arena", Slug: uniqueSlug(), HomeRegion: "eu"}
	const clients = 8
	answers := make([]tenants.TenantCreated, clients)
	errs := make([]error, clients)
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			answers[i], errs[i] = service.CreateTenant(t.Context(), platform, "same", input)
		})
	}
	wait.Wait()
	secrets := 0
	for i, answer := range answers {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if answer.Tenant != answers[0].Tenant {
			t.Errorf("client %d got another tenant", i)
		}
		if answer.Secret != "" {
			secrets++
			authenticated(t, service, answer.Secret, "")
		}
	}
	if secrets != 1 {
		t.Errorf("%d clients were told a secret, want 1", secrets)
	}
}

func TestALostFirstKeyCanBeReplaced(t *testing.T) {
	t.Parallel()
	service := newService(t, tenants.Config{})
	h := newHouse(t, service)
	platform := operator(t, service)
	created, err := service.CreateKey(t.Context(), platform, "again", tenants.NewKey{
		Tenant: h.created.Tenant.ID, Type: tenants.KeyTypeAdmin, Mode: tenants.ModeLive, Name: "Replacement",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.RevokeKey(t.Context(), platform, h.created.Tenant.ID, h.created.AdminKey.ID); err != nil {
		t.Fatal(err)
	}
	if actor := authenticated(t, service, created.Secret, ""); actor.Tenant != h.created.Tenant.ID || actor.KeyType != tenants.KeyTypeAdmin {
		t.Errorf("the replacement acts as %+v", actor)
	}
	_, err = service.CreateKey(t.Context(), platform, "no tenant", tenants.NewKey{Type: tenants.KeyTypeAdmin, Mode: tenants.ModeLive, Name: "X"})
	expectFault(t, err, fault.KindInvalid, "tenant: expected the tenant that the key is for")
	_, err = service.CreateKey(t.Context(), platform, "unknown tenant", tenants.NewKey{
		Tenant: ids.NewGlobal[tenants.TenantKind](), Type: tenants.KeyTypeAdmin, Mode: tenants.ModeLive, Name: "X",
	})
	expectFault(t, err, fault.KindNotFound, "no such tenant")
}

// Each thing that can be created: twice with one request key it is one thing, with other content
// it is refused, and with another request key it is another thing.
func TestRepeatedCreates(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newService(t, tenants.Config{}))
	later := vienna()
	later.Name = "Hotel Bristol"
	for name, create := range map[string]func(ctx context.Context, requestKey string, changed bool) (id string, err error){
		"property": func(ctx context.Context, requestKey string, changed bool) (string, error) {
			input := tenants.NewProperty{Region: "eu", Site: vienna()}
			if changed {
				input.Site = later
			}
			property, err := h.service.CreateProperty(ctx, h.owner, requestKey, input)
			return property.ID.String(), err
		},
		"property elsewhere": func(ctx context.Context, requestKey string, changed bool) (string, error) {
			input := tenants.NewProperty{Region: "us", Site: vienna()}
			if changed {
				input.Region = "eu"
			}
			property, err := h.service.CreateProperty(ctx, h.owner, requestKey, input)
			return property.ID.String(), err
		},
		"venue": func(ctx context.Context, requestKey string, changed bool) (string, error) {
			input := tenants.NewVenue{Region: "eu", Site: vienna()}
			if changed {
				input.Currency = "CHF"
			}
			venue, err := h.service.CreateVenue(ctx, h.owner, requestKey, input)
			return venue.ID.String(), err
		},
		"channel": func(ctx context.Context, requestKey string, changed bool) (string, error) {
			input := tenants.NewChannel{Name: "Agency " + requestKey, Type: tenants.ChannelTypePartner}
			if changed {
				input.Type = tenants.ChannelTypeOwnSite
			}
			channel, err := h.service.CreateChannel(ctx, h.owner, requestKey, input)
			return channel.ID.String(), err
		},
		"key": func(ctx context.Context, requestKey string, changed bool) (string, error) {
			input := tenants.NewKey{Type: tenants.KeyTypePublishable, Mode: tenants.ModeLive, Name: "Widget", Channel: h.shop.ID}
			if changed {
				input.ExpiresAt = time.Now().Add(time.Hour)
			}
			created, err := h.service.CreateKey(ctx, h.owner, requestKey, input)
			return created.Key.ID.String(), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := strings.ReplaceAll(name, " ", "-")
			first, err := create(t.Context(), prefix+"-1", false)
			if err != nil {
				t.Fatal(err)
			}
			again, err := create(t.Context(), prefix+"-1", false)
			if err != nil || again != first {
				t.Errorf("the second answer is %s, %v, the first was %s", again, err, first)
			}
			if _, err := create(t.Context(), prefix+"-1", true); !errors.Is(err, request.ErrKeyReused) {
				t.Errorf("with other content: got %v, want %v", err, request.ErrKeyReused)
			}
			another, err := create(t.Context(), prefix+"-2", false)
			if err != nil || another == first {
				t.Errorf("with another request key: %s, %v", another, err)
			}
			for _, requestKey := range []string{"", strings.Repeat("k", request.MaxKeyLength+1)} {
				_, err := create(t.Context(), requestKey, false)
				if name == "channel" && requestKey != "" {
					// Its name is made of the request key, and is refused first.
					continue
				}
				expectFault(t, err, fault.KindInvalid, "requestKey: expected 1 to 255 characters")
			}
		})
	}
}

func TestARepeatedCreateKeyKeepsItsSecret(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newService(t, tenants.Config{}))
	input := tenants.NewKey{
		Type: tenants.KeyTypePartner, Mode: tenants.ModeTest, Name: "Agency", Channel: h.shop.ID,
		// Finer than the database keeps.
		ExpiresAt: databaseNow(t).Add(time.Hour + time.Nanosecond),
	}
	first, err := h.service.CreateKey(t.Context(), h.owner, "k", input)
	if err != nil || !strings.HasPrefix(first.Secret, "hfk_test_") || len(first.Secret) != len("hfk_test_")+64 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := h.service.CreateKey(t.Context(), h.owner, "k", input)
	if err != nil || again.Secret != "" || again.Key.ID != first.Key.ID {
		t.Errorf("the second answer is %+v, %v", again, err)
	}
}

func TestNamesThatAreTaken(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newService(t, tenants.Config{}))
	slug := h.created.Tenant.Slug
	_, err := h.service.CreateTenant(t.Context(), operator(t, h.service), "k", tenants.NewTenant{Name: "Other", Slug: slug, HomeRegion: "us"})
	expectFault(t, err, fault.KindConflict, `the slug "`+slug+`" is taken by another tenant`)
	_, err = h.service.CreateChannel(t.Context(), h.owner, "k", tenants.NewChannel{Name: " Shop ", Type: tenants.ChannelTypePartner})
	expectFault(t, err, fault.KindConflict, `another channel has the name "Shop"`)
	// A refusal leaves no request row: the same key may be used for the corrected call.
	if _, err := h.service.CreateChannel(t.Context(), h.owner, "k", tenants.NewChannel{Name: "Agency", Type: tenants.ChannelTypePartner}); err != nil {
		t.Error(err)
	}
	// Another tenant's channels have names of their own.
	newHouse(t, h.service)
}

func TestInvalidInput(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newService(t, tenants.Config{Regions: []ids.Region{"eu", "us"}}))
	platform := operator(t, h.service)
	site := func(change func(*tenants.Site)) func() error {
		return func() error {
			input := tenants.NewProperty{Region: "eu", Site: vienna()}
			change(&input.Site)
			_, err := h.service.CreateProperty(t.Context(), h.owner, "invalid", input)
			venue := tenants.NewVenue(input)
			if _, venueErr := h.service.CreateVenue(t.Context(), h.owner, "invalid", venue); venueErr == nil || venueErr.Error() != err.Error() {
				t.Errorf("a venue answers %v, a property %v", venueErr, err)
			}
			return err
		}
	}
	tenant := func(change func(*tenants.NewTenant)) func() error {
		return func() error {
			input := tenants.NewTenant{Name: "Opera", Slug: uniqueSlug(), HomeRegion: "eu"}
			change(&input)
			_, err := h.service.CreateTenant(t.Context(), platform, "invalid", input)
			return err
		}
	}
	key := func(change func(*tenants.NewKey)) func() error {
		return func() error {
			input := tenants.NewKey{Type: tenants.KeyTypePartner, Mode: tenants.ModeLive, Name: "Agency", Channel: h.shop.ID}
			change(&input)
			_, err := h.service.CreateKey(t.Context(), h.owner, "invalid", input)
			return err
		}
	}
	const (
		slugExpected     = `slug: expected 2 to 40 lower-case letters, digits or hyphens, such as "grand-hotel"`
		zoneExpected     = `timeZone: expected an IANA time zone such as "Europe/Vienna", got `
		currencyExpected = `currency: expected an ISO 4217 currency code such as "EUR", got `
		countryExpected  = `country: expected an ISO 3166 country code of two upper-case letters such as "AT", got `
	)
	for name, c := range map[string]struct {
		call func() error
		want string
	}{
		"no name":             {site(func(s *tenants.Site) { s.Name = "" }), "name: expected 1 to 200 characters"},
		"blank name":          {site(func(s *tenants.Site) { s.Name = " \t " }), "name: expected 1 to 200 characters"},
		"long name":           {site(func(s *tenants.Site) { s.Name = strings.Repeat("é", 201) }), "name: expected 1 to 200 characters"},
		"name with NUL":       {site(func(s *tenants.Site) { s.Name = "a\x00b" }), "name: expected one line of text without control characters"},
		"name of two lines":   {site(func(s *tenants.Site) { s.Name = "a\nb" }), "name: expected one line of text without control characters"},
		"name not UTF-8":      {site(func(s *tenants.Site) { s.Name = "a\xff" }), "name: expected one line of text without control characters"},
		"no zone":             {site(func(s *tenants.Site) { s.TimeZone = "" }), zoneExpected + `""`},
		"the server's zone":   {site(func(s *tenants.Site) { s.TimeZone = "Local" }), zoneExpected + `"Local"`},
		"unknown zone":        {site(func(s *tenants.Site) { s.TimeZone = "Europe/Wien" }), zoneExpected + `"Europe/Wien"`},
		"zone as a path":      {site(func(s *tenants.Site) { s.TimeZone = "../../etc/passwd" }), zoneExpected + `"../../etc/passwd"`},
		"zone by offset":      {site(func(s *tenants.Site) { s.TimeZone = "+02:00" }), zoneExpected + `"+02:00"`},
		"no currency":         {site(func(s *tenants.Site) { s.Currency = "" }), currencyExpected + `""`},
		"unknown currency":    {site(func(s *tenants.Site) { s.Currency = "EUX" }), currencyExpected + `"EUX"`},
		"lower-case currency": {site(func(s *tenants.Site) { s.Currency = money.Currency("eur") }), currencyExpected + `"eur"`},
		"lower-case country":  {site(func(s *tenants.Site) { s.Country = "at" }), countryExpected + `"at"`},
		"unknown country":     {site(func(s *tenants.Site) { s.Country = "XX" }), countryExpected + `"XX"`},
		"three-letter":        {site(func(s *tenants.Site) { s.Country = "AUT" }), countryExpected + `"AUT"`},
		"country across":      {site(func(s *tenants.Site) { s.Country = "D " }), countryExpected + `"D "`},
		"no city":             {site(func(s *tenants.Site) { s.City = "" }), "city: expected 1 to 100 characters"},

		"short slug":        {tenant(func(n *tenants.NewTenant) { n.Slug = "a" }), slugExpected},
		"long slug":         {tenant(func(n *tenants.NewTenant) { n.Slug = strings.Repeat("a", 41) }), slugExpected},
		"upper-case slug":   {tenant(func(n *tenants.NewTenant) { n.Slug = "Opera" }), slugExpected},
		"slug with a dot":   {tenant(func(n *tenants.NewTenant) { n.Slug = "opera.eu" }), slugExpected},
		"malformed region":  {tenant(func(n *tenants.NewTenant) { n.HomeRegion = "EU" }), `homeRegion: a region is 2 to 8 lower-case letters, such as "eu"`},
		"no region":         {tenant(func(n *tenants.NewTenant) { n.HomeRegion = "" }), `homeRegion: a region is 2 to 8 lower-case letters, such as "eu"`},
		"unknown region":    {tenant(func(n *tenants.NewTenant) { n.HomeRegion = "mars" }), `homeRegion: expected one of the regions ["eu" "us"], got "mars"`},
		"provider in words": {tenant(func(n *tenants.NewTenant) { n.PaymentProvider = "My bank" }), `paymentProvider: expected one of the providers ["offline" "sandbox" "stripe"], got "My bank"`},
		"unknown provider":  {tenant(func(n *tenants.NewTenant) { n.PaymentProvider = "paypal" }), `paymentProvider: expected one of the providers ["offline" "sandbox" "stripe"], got "paypal"`},
		"stripe's account":  {tenant(func(n *tenants.NewTenant) { n.PaymentProvider = "stripe" }), `paymentAccount: expected the tenant's account with Stripe, such as "acct_1A2b3C"`},
		"another's account": {tenant(func(n *tenants.NewTenant) { n.PaymentProvider, n.PaymentAccount = "stripe", "theatre" }), `paymentAccount: expected the tenant's account with Stripe, such as "acct_1A2b3C"`},
		"long account":      {tenant(func(n *tenants.NewTenant) { n.PaymentAccount = strings.Repeat("a", 201) }), "paymentAccount: expected 1 to 200 characters"},

		"platform key":        {key(func(n *tenants.NewKey) { n.Type = tenants.KeyTypePlatform }), `kind: expected ADMIN, PARTNER or PUBLISHABLE, got "PLATFORM"`},
		"no kind":             {key(func(n *tenants.NewKey) { n.Type = "" }), `kind: expected ADMIN, PARTNER or PUBLISHABLE, got ""`},
		"no mode":             {key(func(n *tenants.NewKey) { n.Mode = "live" }), `mode: expected LIVE or TEST, got "live"`},
		"key without channel": {key(func(n *tenants.NewKey) { n.Channel = tenants.ChannelID{} }), "channel: expected the channel that the PARTNER key sells through"},
		"admin of a shop":     {key(func(n *tenants.NewKey) { n.Type = tenants.KeyTypeAdmin }), "channel: an admin key sells through a box office or through no channel, got one of kind OWN_SITE"},
		"long key name":       {key(func(n *tenants.NewKey) { n.Name = strings.Repeat("a", 101) }), "name: expected 1 to 100 characters"},
		"expiry in the past":  {key(func(n *tenants.NewKey) { n.ExpiresAt = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC) }), "expiresAt: expected an instant in the future, got 2001-02-03T04:05:06Z"},
		"expiry far away":     {key(func(n *tenants.NewKey) { n.ExpiresAt = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC) }), "expiresAt: expected at most ten years from now, got 2999-01-01T00:00:00Z"},
		"year 10000":          {key(func(n *tenants.NewKey) { n.ExpiresAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }), "expiresAt: expected a year up to 9999"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectFault(t, c.call(), fault.KindInvalid, c.want)
		})
	}
}

func TestChannelTypeIsChecked(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newService(t, tenants.Config{}))
	_, err := h.service.CreateChannel(t.Context(), h.owner, "k", tenants.NewChannel{Name: "Phone", Type: "PHONE"})
	expectFault(t, err, fault.KindInvalid, `kind: expected OWN_SITE, BOX_OFFICE or PARTNER, got "PHONE"`)
}

func TestATestKeyIssuesOnlyTestKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newService(t, tenants.Config{}))
	trial, err := h.service.CreateKey(t.Context(), h.owner, "trial", tenants.NewKey{Type: tenants.KeyTypeAdmin, Mode: tenants.ModeTest, Name: "Trial"})
	if err != nil {
		t.Fatal(err)
	}
	actor := authenticated(t, h.service, trial.Secret, "")
	input := tenants.NewKey{Type: tenants.KeyTypeAdmin, Mode: tenants.ModeLive, Name: "More"}
	_, err = h.service.CreateKey(t.Context(), actor, "more", input)
	expectFault(t, err, fault.KindDenied, "a test key can only create test keys")
	input.Mode = tenants.ModeTest
	if _, err := h.service.CreateKey(t.Context(), actor, "more", input); err != nil {
		t.Error(err)
	}
}

func TestBootstrapPlatformKeyChecksItsName(t *testing.T) {
	t.Parallel()
	_, err := tenants.BootstrapPlatformKey(t.Context(), dbtest.Open(t), "")
	expectFault(t, err, fault.KindInvalid, "name: expected 1 to 100 characters")
}
