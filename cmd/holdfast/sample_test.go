package main

import (
	"strings"
	"testing"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

func TestSampleDataLoadTwiceWithoutHarm(t *testing.T) {
	t.Parallel()
	a := newEmptyApp(t)
	var progress strings.Builder
	keys, err := a.sampleData(t.Context(), sampleKeys{}, &progress)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"Lindenhof Theatre", "1350 seats", "Harbour Arena", "(us)"} {
		if !strings.Contains(progress.String(), word) {
			t.Errorf("the progress does not say %q:\n%s", word, progress.String())
		}
	}
	before := contents(t, a, keys)
	if before.shows != 7 || before.hotels != 5 || before.roomTypes != 15 {
		t.Errorf("the sample has %+v", before)
	}
	// Keys that are known and good are kept.
	again, err := a.sampleData(t.Context(), keys, &progress)
	if err != nil || again != keys {
		t.Errorf("known keys became %+v, %v", again, err)
	}
	// Keys that were lost are replaced, and the sample stays what it is.
	again, err = a.sampleData(t.Context(), sampleKeys{}, &progress)
	if err != nil {
		t.Fatal(err)
	}
	if again.Admin == keys.Admin || again.Tenant != keys.Tenant {
		t.Errorf("lost keys were replaced by %+v", again)
	}
	if after := contents(t, a, again); after != before {
		t.Errorf("the sample was %+v and is %+v", before, after)
	}
	query, err := a.firstQuery(t.Context(), keys)
	if err != nil || !strings.Contains(query, "shows(") {
		t.Errorf("the first query is %q, %v", query, err)
	}
}

// A load that was interrupted is completed.
func TestSampleDataAreCompleted(t *testing.T) {
	t.Parallel()
	a := newEmptyApp(t)
	secret, err := tenants.BootstrapPlatformKey(t.Context(), a.store.db, "Tests")
	if err != nil {
		t.Fatal(err)
	}
	operator, err := a.tenants.Authenticate(t.Context(), secret, "")
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := a.sampleTenant(t.Context(), operator, new(strings.Builder))
	if err != nil {
		t.Fatal(err)
	}
	l := sampleLoad{app: a, progress: new(strings.Builder), operator: operator, tenant: tenant}
	if l.owner, err = l.firstKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.theatre(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys, err := loadSample(t.Context(), a, secret, new(strings.Builder))
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, a, keys); got.shows != 7 || got.hotels != 5 {
		t.Errorf("the completed sample has %+v", got)
	}
}

func TestSampleDataLeaveOtherDataAlone(t *testing.T) {
	t.Parallel()
	a := newEmptyApp(t)
	newOwner(t, a)
	keys, err := a.sampleData(t.Context(), sampleKeys{}, new(strings.Builder))
	if err != nil {
		t.Fatal(err)
	}
	if keys.Platform == "" || keys.Admin != "" {
		t.Errorf("got %+v, want a platform key alone", keys)
	}
	if query, err := a.firstQuery(t.Context(), keys); err != nil || query != "{ __typename }" {
		t.Errorf("the first query is %q, %v", query, err)
	}
}

type sampleContents struct{ shows, hotels, roomTypes, channels int }

func contents(t *testing.T, a *app, keys sampleKeys) sampleContents {
	t.Helper()
	var found sampleContents
	for _, secret := range []string{keys.Admin, keys.Partner, keys.Publishable} {
		actor, err := a.tenants.Authenticate(t.Context(), secret, "")
		if err != nil {
			t.Fatal(err)
		}
		shows, _, err := a.inventory.Shows(t.Context(), actor, inventory.ShowFilter{Region: sampleRegionEU}, nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		hotels, err := a.tenants.Properties(t.Context(), actor, tenants.PropertyID{}, tenants.MaxPage)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]tenants.PropertyID, len(hotels.Items))
		for i, hotel := range hotels.Items {
			ids[i] = hotel.ID
		}
		rooms, err := a.inventory.RoomTypesOfProperties(t.Context(), actor, ids)
		if err != nil {
			t.Fatal(err)
		}
		found = sampleContents{shows: len(shows), hotels: len(ids)}
		for _, of := range rooms {
			found.roomTypes += len(of)
		}
	}
	owner, err := a.tenants.Authenticate(t.Context(), keys.Admin, "")
	if err != nil {
		t.Fatal(err)
	}
	channels, err := a.tenants.Channels(t.Context(), owner, tenants.ChannelID{}, tenants.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	found.channels = len(channels.Items)
	return found
}
