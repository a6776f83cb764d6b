package tenants_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

// A foreign id, a made-up id and an id with another region answer byte for byte alike.
func TestForeignIDsAnswerLikeRandomOnes(t *testing.T) {
	t.Parallel()
	service := newService(t, tenants.Config{})
	mine, theirs := newHouse(t, service), newHouse(t, service)
	property, err := service.CreateProperty(t.Context(), theirs.owner, "p", tenants.NewProperty{Region: "eu", Site: vienna()})
	if err != nil {
		t.Fatal(err)
	}
	venue, err := service.CreateVenue(t.Context(), theirs.owner, "v", tenants.NewVenue{Region: "eu", Site: vienna()})
	if err != nil {
		t.Fatal(err)
	}
	own, err := service.CreateProperty(t.Context(), mine.owner, "p", tenants.NewProperty{Region: "eu", Site: vienna()})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := own.ID
	elsewhere.Region = "us"

	one := func(_ any, err error) error { return err }
	newKey := func(channel tenants.ChannelID) error {
		return one(service.CreateKey(t.Context(), mine.owner, "k", tenants.NewKey{
			Type: tenants.KeyTypePartner, Mode: tenants.ModeLive, Name: "Agency", Channel: channel,
		}))
	}
	for name, c := range map[string]struct {
		foreign, random error
		want            string
	}{
		"tenant": {
			one(service.Tenant(t.Context(), mine.owner, theirs.created.Tenant.ID)),
			one(service.Tenant(t.Context(), mine.owner, ids.NewGlobal[tenants.TenantKind]())), "no such tenant",
		},
		"no tenant": {
			one(service.Tenant(t.Context(), mine.owner, tenants.TenantID{})),
			one(service.Tenant(t.Context(), mine.owner, ids.NewGlobal[tenants.TenantKind]())), "no such tenant",
		},
		"property": {
			one(service.Property(t.Context(), mine.owner, property.ID)),
			one(service.Property(t.Context(), mine.owner, ids.New[tenants.PropertyKind]("eu"))), "no such property",
		},
		"property of another region": {
			one(service.Property(t.Context(), mine.owner, elsewhere)),
			one(service.Property(t.Context(), mine.owner, ids.New[tenants.PropertyKind]("us"))), "no such property",
		},
		"venue": {
			one(service.Venue(t.Context(), mine.owner, venue.ID)),
			one(service.Venue(t.Context(), mine.owner, ids.New[tenants.VenueKind]("eu"))), "no such venue",
		},
		"channel": {
			one(service.Channel(t.Context(), mine.owner, theirs.shop.ID)),
			one(service.Channel(t.Context(), mine.owner, ids.NewGlobal[tenants.ChannelKind]())), "no such channel",
		},
		"channel to suspend": {
			one(service.SetChannelSuspended(t.Context(), mine.owner, theirs.shop.ID, true)),
			one(service.SetChannelSuspended(t.Context(), mine.owner, ids.NewGlobal[tenants.ChannelKind](), true)), "no such channel",
		},
		"channel of a new key": {
			newKey(theirs.shop.ID), newKey(ids.NewGlobal[tenants.ChannelKind]()), "no such channel",
		},
		"key": {
			one(service.Key(t.Context(), mine.owner, tenants.TenantID{}, theirs.created.AdminKey.ID)),
			one(service.Key(t.Context(), mine.owner, tenants.TenantID{}, ids.NewGlobal[tenants.KeyKind]())), "no such key",
		},
		"key of a platform": {
			one(service.Key(t.Context(), mine.owner, tenants.TenantID{}, operator(t, service).Key)),
			one(service.Key(t.Context(), mine.owner, tenants.TenantID{}, ids.NewGlobal[tenants.KeyKind]())), "no such key",
		},
		"key to revoke": {
			one(service.RevokeKey(t.Context(), mine.owner, tenants.TenantID{}, theirs.created.AdminKey.ID)),
			one(service.RevokeKey(t.Context(), mine.owner, tenants.TenantID{}, ids.NewGlobal[tenants.KeyKind]())), "no such key",
		},
		"keys of another tenant": {
			one(service.Keys(t.Context(), mine.owner, theirs.created.Tenant.ID, tenants.KeyID{}, 10)),
			one(service.Keys(t.Context(), mine.owner, ids.NewGlobal[tenants.TenantKind](), tenants.KeyID{}, 10)), "no such tenant",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectFault(t, c.foreign, fault.KindNotFound, c.want)
			expectFault(t, c.random, fault.KindNotFound, c.want)
		})
	}
	// And nothing of the other tenant changed.
	channel, err := service.Channel(t.Context(), theirs.owner, theirs.shop.ID)
	if err != nil || channel.Suspended {
		t.Errorf("their channel is %+v, %v", channel, err)
	}
	authenticated(t, newService(t, tenants.Config{}), theirs.created.Secret, "")
}

func TestBatchedReadsLeaveOutWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	service := newService(t, tenants.Config{})
	mine, theirs := newHouse(t, service), newHouse(t, service)
	own, err := service.CreateProperty(t.Context(), mine.owner, "p", tenants.NewProperty{Region: "eu", Site: vienna()})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := service.CreateProperty(t.Context(), theirs.owner, "p", tenants.NewProperty{Region: "eu", Site: vienna()})
	if err != nil {
		t.Fatal(err)
	}
	found, err := service.PropertiesByID(t.Context(), mine.owner, []tenants.PropertyID{own.ID, foreign.ID, own.ID, ids.New[tenants.PropertyKind]("eu")})
	if err != nil || len(found) != 1 || found[own.ID] != own {
		t.Errorf("found %+v, %v", found, err)
	}
	if location, err := own.Location(); err != nil || location.String() != "Europe/Vienna" {
		t.Errorf("the property's location is %v, %v", location, err)
	}
	_, err = service.VenuesByID(t.Context(), mine.owner, make([]tenants.VenueID, tenants.MaxBatch+1))
	expectFault(t, err, fault.KindInvalid, "ids: expected at most 500")
}

// pages reads a whole list in pages of a size and returns its ids in order.
func pages[T any, ID comparable](t *testing.T, limit int, list func(after ID) (tenants.Page[T], error), idOf func(T) ID) []ID {
	t.Helper()
	var all []ID
	var after ID
	for {
		page, err := list(after)
		if err != nil {
			t.Fatal(err)
		}
		if page.More && len(page.Items) != limit || len(page.Items) > limit {
			t.Fatalf("a page of %d has %d items, more: %v", limit, len(page.Items), page.More)
		}
		for _, item := range page.Items {
			after = idOf(item)
			all = append(all, after)
		}
		if !page.More {
			return all
		}
	}
}

func TestListsAreCompleteAndInOneOrder(t *testing.T) {
	t.Parallel()
	service := newService(t, tenants.Config{})
	h, neighbour := newHouse(t, service), newHouse(t, service)
	want := map[string]int{"properties": 7, "venues": 7, "channels": 2 + 7, "keys": 1 + 7}
	for i := range 7 {
		for _, owner := range []tenants.Actor{h.owner, neighbour.owner} {
			requestKey := fmt.Sprint(i)
			_, propertyErr := service.CreateProperty(t.Context(), owner, requestKey, tenants.NewProperty{Region: "eu", Site: vienna()})
			_, venueErr := service.CreateVenue(t.Context(), owner, requestKey, tenants.NewVenue{Region: "us", Site: vienna()})
			_, channelErr := service.CreateChannel(t.Context(), owner, requestKey, tenants.NewChannel{Name: requestKey, Type: tenants.ChannelTypePartner})
			_, keyErr := service.CreateKey(t.Context(), owner, requestKey, tenants.NewKey{Type: tenants.KeyTypeAdmin, Mode: tenants.ModeLive, Name: requestKey})
			if err := errors.Join(propertyErr, venueErr, channelErr, keyErr); err != nil {
				t.Fatal(err)
			}
		}
	}
	lists := map[string]func(ctx context.Context, limit int) []string{
		"properties": func(ctx context.Context, limit int) []string {
			return texts(pages(t, limit, func(after tenants.PropertyID) (tenants.Page[tenants.Property], error) {
				return service.Properties(ctx, h.owner, after, limit)
			}, func(p tenants.Property) tenants.PropertyID { return p.ID }))
		},
		"venues": func(ctx context.Context, limit int) []string {
			return texts(pages(t, limit, func(after tenants.VenueID) (tenants.Page[tenants.Venue], error) {
				return service.Venues(ctx, h.owner, after, limit)
			}, func(v tenants.Venue) tenants.VenueID { return v.ID }))
		},
		"channels": func(ctx context.Context, limit int) []string {
			return texts(pages(t, limit, func(after tenants.ChannelID) (tenants.Page[tenants.Channel], error) {
				return service.Channels(ctx, h.owner, after, limit)
			}, func(c tenants.Channel) tenants.ChannelID { return c.ID }))
		},
		"keys": func(ctx context.Context, limit int) []string {
			return texts(pages(t, limit, func(after tenants.KeyID) (tenants.Page[tenants.Key], error) {
				return service.Keys(ctx, h.owner, tenants.TenantID{}, after, limit)
			}, func(k tenants.Key) tenants.KeyID { return k.ID }))
		},
	}
	for name, list := range lists {
		whole := list(t.Context(), tenants.MaxPage)
		distinct := map[string]bool{}
		for _, id := range whole {
			distinct[id] = true
		}
		if len(whole) != want[name] || len(distinct) != want[name] {
			t.Errorf("%s: %d items, %d distinct, want %d", name, len(whole), len(distinct), want[name])
		}
		for _, limit := range []int{1, 3, want[name]} {
			if got := list(t.Context(), limit); fmt.Sprint(got) != fmt.Sprint(whole) {
				t.Errorf("%s in pages of %d: %v, want %v", name, limit, got, whole)
			}
		}
	}
	for _, limit := range []int{-1, 0, tenants.MaxPage + 1} {
		_, err := service.Properties(t.Context(), h.owner, tenants.PropertyID{}, limit)
		expectFault(t, err, fault.KindInvalid, "first: expected 1 to 100")
	}
}

func texts[ID fmt.Stringer](all []ID) []string {
	out := make([]string, len(all))
	for i, id := range all {
		out[i] = id.String()
	}
	return out
}

func TestOperatorsListTenantsAndPlatformKeys(t *testing.T) {
	t.Parallel()
	service := newService(t, tenants.Config{})
	platform := operator(t, service)
	h := newHouse(t, service)
	found := false
	var after tenants.TenantID
	for more := true; more; {
		page, err := service.Tenants(t.Context(), platform, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, tenant := range page.Items {
			found = found || tenant == h.created.Tenant
			after = tenant.ID
		}
		more = page.More
	}
	if !found {
		t.Error("a tenant is missing in the list")
	}
	key, err := service.RevokeKey(t.Context(), platform, tenants.TenantID{}, platform.Key)
	if err != nil || key.RevokedAt == nil || !key.Tenant.IsZero() {
		t.Errorf("revoked %+v, %v", key, err)
	}
	listed := false
	for _, key := range pages(t, 50, func(after tenants.KeyID) (tenants.Page[tenants.Key], error) {
		return service.Keys(t.Context(), platform, tenants.TenantID{}, after, 50)
	}, func(k tenants.Key) tenants.KeyID { return k.ID }) {
		listed = listed || key == platform.Key
	}
	if !listed {
		t.Error("a platform key is missing in the list")
	}
}
