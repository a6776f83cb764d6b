package regions

import (
	"context"
	"testing"

	"github.com/holdfast/holdfast/internal/ids"
)

const (
	europe = "europe-west1"
	us     = "us-east1"
	asia   = "asia-southeast1"
	berlin = "europe-west10"
)

var (
	v25 = Version{25, 4}
	v26 = Version{26, 2}
)

// smallCluster has one table of each placement, before anything was applied.
func smallCluster(version Version) *fakeCluster {
	locked := version.atLeast(schemaLockedByDefault)
	return &fakeCluster{
		state: Catalog{
			Version: version, Database: "holdfast", ClusterRegions: []string{asia, berlin, europe, us},
			Tables: []Table{
				{Name: "bookings", Placement: PlacementRegional, Columns: []string{"tenant_id", "region", "id"}, PrimaryKey: []string{"tenant_id", "region", "id"}, SchemaLocked: locked},
				{Name: "holds", Placement: PlacementRegional, Columns: []string{"tenant_id", "region", "id"}, PrimaryKey: []string{"tenant_id", "region", "id"}, SchemaLocked: locked},
				{Name: "river_job", Placement: PlacementPrimary, Columns: []string{"id"}, PrimaryKey: []string{"id"}, SchemaLocked: locked},
				{Name: "spreadsheet", Placement: PlacementUnmanaged, Columns: []string{"id"}, PrimaryKey: []string{"id"}, SchemaLocked: locked},
				{Name: "tenants", Placement: PlacementGlobal, Columns: []string{"id", "home_region"}, PrimaryKey: []string{"id"}, SchemaLocked: locked},
			},
		},
		rows: map[string][]ids.Region{"tenants": {"eu"}, "holds": {"eu"}},
	}
}

func mapping(t testing.TB, text, primary string, survive Survival) Mapping {
	t.Helper()
	m, err := ParseMapping(text, primary, survive)
	if err != nil {
		t.Fatalf("ParseMapping(%q): %v", text, err)
	}
	return m
}

func silent(Progress) {}

// applied is the cluster after a whole run.
func (f *fakeCluster) applied(t testing.TB, desired Mapping) *fakeCluster {
	t.Helper()
	f.killAt, f.seen = 0, 0
	if err := Apply(context.Background(), f, desired, silent); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	return f
}

// killed is the cluster after a run that died behind its n-th statement.
func (f *fakeCluster) killed(t testing.TB, desired Mapping, n int) *fakeCluster {
	t.Helper()
	f.killAt, f.killAfter, f.seen = n, true, 0
	if err := Apply(context.Background(), f, desired, silent); err == nil {
		t.Fatalf("the run ended before its statement %d", n)
	}
	f.killAt, f.seen = 0, 0
	return f
}
