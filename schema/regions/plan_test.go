package regions

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
)

//nolint:gochecknoglobals // flags of tests are package variables
var update = flag.Bool("update", false, "write the golden plans anew")

// TestPlanPrintsTheDifference compares plans with testdata. Each is the difference between a
// mapping and what the cluster has been through before.
func TestPlanPrintsTheDifference(t *testing.T) {
	t.Parallel()
	const two, three = "eu=europe-west1,us=us-east1", "eu=europe-west1,us=us-east1,ap=asia-southeast1"
	cases := []struct {
		golden  string
		cluster func(t *testing.T) *fakeCluster
		desired func(t *testing.T) Mapping
	}{
		{
			"one_region",
			func(*testing.T) *fakeCluster { return smallCluster(v25) },
			func(t *testing.T) Mapping { return mapping(t, "eu=europe-west1", "eu", SurvivalZone) },
		},
		{
			"three_regions",
			func(*testing.T) *fakeCluster { return smallCluster(v25) },
			func(t *testing.T) Mapping { return mapping(t, three, "eu", SurvivalZone) },
		},
		{
			"three_regions_survive_region_schema_locked",
			func(*testing.T) *fakeCluster { return smallCluster(v26) },
			func(t *testing.T) Mapping { return mapping(t, three, "us", SurvivalRegion) },
		},
		{
			"two_codes_in_one_region",
			func(*testing.T) *fakeCluster { return smallCluster(v25) },
			func(t *testing.T) Mapping {
				return mapping(t, "uk=europe-west1,eu=europe-west1,us=us-east1", "uk", SurvivalZone)
			},
		},
		{
			"complete",
			func(t *testing.T) *fakeCluster {
				return smallCluster(v26).applied(t, mapping(t, three, "eu", SurvivalRegion))
			},
			func(t *testing.T) Mapping { return mapping(t, three, "eu", SurvivalRegion) },
		},
		{
			"add_a_region",
			func(t *testing.T) *fakeCluster {
				return smallCluster(v25).applied(t, mapping(t, two, "eu", SurvivalZone))
			},
			func(t *testing.T) Mapping { return mapping(t, three, "eu", SurvivalZone) },
		},
		{
			"add_a_region_schema_locked",
			func(t *testing.T) *fakeCluster {
				return smallCluster(v26).applied(t, mapping(t, two, "eu", SurvivalZone))
			},
			func(t *testing.T) Mapping { return mapping(t, three, "eu", SurvivalRegion) },
		},
		{
			"resume_before_the_swap",
			func(t *testing.T) *fakeCluster {
				c := smallCluster(v26).applied(t, mapping(t, two, "eu", SurvivalZone))
				return c.killed(t, mapping(t, three, "eu", SurvivalZone), 3)
			},
			func(t *testing.T) Mapping { return mapping(t, three, "eu", SurvivalZone) },
		},
		{
			"resume_after_the_swap",
			func(t *testing.T) *fakeCluster {
				c := smallCluster(v26).applied(t, mapping(t, two, "eu", SurvivalZone))
				return c.killed(t, mapping(t, three, "eu", SurvivalZone), 4)
			},
			func(t *testing.T) Mapping { return mapping(t, three, "eu", SurvivalZone) },
		},
		{
			"resume_unlocked",
			func(t *testing.T) *fakeCluster {
				c := smallCluster(v26).applied(t, mapping(t, two, "eu", SurvivalZone))
				return c.killed(t, mapping(t, three, "eu", SurvivalZone), 6)
			},
			func(t *testing.T) Mapping { return mapping(t, three, "eu", SurvivalZone) },
		},
		{
			"other_mapping_after_the_swap",
			func(t *testing.T) *fakeCluster {
				c := smallCluster(v25).applied(t, mapping(t, two, "eu", SurvivalZone))
				return c.killed(t, mapping(t, three, "eu", SurvivalZone), 3)
			},
			func(t *testing.T) Mapping { return mapping(t, two+",ap=us-east1", "eu", SurvivalZone) },
		},
		{
			"move_a_code_and_the_primary",
			func(t *testing.T) *fakeCluster {
				return smallCluster(v25).applied(t, mapping(t, three, "eu", SurvivalRegion))
			},
			func(t *testing.T) Mapping {
				return mapping(t, "eu=europe-west10,us=us-east1,ap=asia-southeast1", "eu", SurvivalZone)
			},
		},
		{
			"remove_an_unused_code",
			func(t *testing.T) *fakeCluster {
				return smallCluster(v25).applied(t, mapping(t, three, "eu", SurvivalZone))
			},
			func(t *testing.T) Mapping { return mapping(t, two, "eu", SurvivalZone) },
		},
		{
			"set_by_hand",
			func(t *testing.T) *fakeCluster {
				c := smallCluster(v25).applied(t, mapping(t, two, "eu", SurvivalZone))
				for i, locality := range []string{"REGIONAL BY ROW", `REGIONAL BY TABLE IN "us-east1"`, "GLOBAL", "GLOBAL", "REGIONAL BY TABLE IN PRIMARY REGION"} {
					c.state.Tables[i].Locality = locality
				}
				c.state.Tables[0].Computed = nil
				c.state.Running = []string{"ALTER TABLE holdfast.public.spreadsheet\n\tADD COLUMN total DECIMAL"}
				return c
			},
			func(t *testing.T) Mapping { return mapping(t, two, "eu", SurvivalZone) },
		},
	}
	for _, c := range cases {
		t.Run(c.golden, func(t *testing.T) {
			t.Parallel()
			desired := c.desired(t)
			present, err := c.cluster(t).Catalog(context.Background(), desired)
			if err != nil {
				t.Fatalf("Catalog: %v", err)
			}
			compareGolden(t, c.golden, desired, present)
		})
	}
}

// TestOfflinePlanOfTheWholeSchema prints the plan for a freshly migrated database. A migration that
// adds a table changes it: go test ./schema/regions -update writes it anew.
func TestOfflinePlanOfTheWholeSchema(t *testing.T) {
	t.Parallel()
	desired := mapping(t, "eu=europe-west1,us=us-east1,ap=asia-southeast1", "eu", SurvivalRegion)
	for name, version := range map[string]Version{"schema": v25, "schema_locked": v26} {
		present, err := EmptyCatalog(desired, "holdfast", version)
		if err != nil {
			t.Fatalf("EmptyCatalog: %v", err)
		}
		compareGolden(t, name, desired, present)
		// The fake cluster takes the whole plan, too.
		cluster := &fakeCluster{state: present}
		cluster.applied(t, desired)
	}
}

func compareGolden(t *testing.T, name string, desired Mapping, present Catalog) {
	t.Helper()
	steps, err := Plan(desired, present)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	got := Script(steps, Remarks(desired, present))
	path := filepath.Join("testdata", name+".sql")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatalf("write the golden plan: %v", err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the golden plan: %v", err)
	}
	if got != string(want) {
		t.Errorf("the plan differs from %s; if that is meant, run go test ./schema/regions -update\n%s", path, got)
	}
}

// TestDocumentedExampleIsReal keeps docs/regions.md from showing what plan does not print.
func TestDocumentedExampleIsReal(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "regions.md"))
	if err != nil {
		t.Fatalf("read the documentation: %v", err)
	}
	blocks := strings.Split(string(document), "```sql\n")[1:]
	for i, name := range []string{"schema", "add_a_region"} {
		if i >= len(blocks) {
			t.Fatalf("docs/regions.md shows %d plans, expected 2", len(blocks))
		}
		golden, err := os.ReadFile(filepath.Join("testdata", name+".sql"))
		if err != nil {
			t.Fatalf("read the golden plan: %v", err)
		}
		shown, _, _ := strings.Cut(blocks[i], "```")
		for _, part := range strings.Split(shown, "…\n") {
			if !strings.Contains(string(golden), part) {
				t.Errorf("docs/regions.md shows what testdata/%s.sql does not hold:\n%s", name, part)
			}
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	ready := func(t *testing.T) *fakeCluster {
		return smallCluster(v25).applied(t, mapping(t, "eu=europe-west1,us=us-east1", "eu", SurvivalZone))
	}
	cases := []struct {
		name    string
		cluster func(t *testing.T) *fakeCluster
		desired Mapping
		says    string
	}{
		{
			"a code in use that is not mapped",
			func(*testing.T) *fakeCluster { return smallCluster(v25) },
			Mapping{Homes: map[ids.Region]string{"us": us}, Primary: "us", Survive: SurvivalZone},
			`--map: the region code "eu" is in use (holds, tenants), so it must be mapped to a cluster region`,
		},
		{
			"a code in use that is left out later",
			func(t *testing.T) *fakeCluster {
				c := ready(t)
				c.rows["bookings"] = []ids.Region{"us"}
				return c
			},
			Mapping{Homes: map[ids.Region]string{"eu": europe}, Primary: "eu", Survive: SurvivalZone},
			`--map: the region code "us" is in use (bookings), so it must be mapped to a cluster region`,
		},
		{
			"surviving a region with two of them",
			ready,
			Mapping{Homes: map[ids.Region]string{"eu": europe, "us": us}, Primary: "eu", Survive: SurvivalRegion},
			"--survive region needs at least 3 cluster regions, and the database would have 2: europe-west1, us-east1",
		},
		{
			"a region that the cluster does not have",
			ready,
			Mapping{Homes: map[ids.Region]string{"eu": europe, "af": "africa-south1"}, Primary: "eu", Survive: SurvivalZone},
			`--map: the cluster has no region "africa-south1"; its nodes are in asia-southeast1, europe-west10, europe-west1, us-east1`,
		},
		{
			"a cluster without regions",
			func(*testing.T) *fakeCluster {
				c := smallCluster(v25)
				c.state.ClusterRegions = nil
				return c
			},
			Mapping{Homes: map[ids.Region]string{"eu": europe}, Primary: "eu", Survive: SurvivalZone},
			"the cluster has no regions: start each node with --locality=region=…, as `SHOW REGIONS FROM CLUSTER` would list them",
		},
		{
			"a computed column that somebody else wrote",
			func(t *testing.T) *fakeCluster {
				c := ready(t)
				c.state.Tables[1].Computed[regionColumn] = "lookup_region(region)"
				return c
			},
			Mapping{Homes: map[ids.Region]string{"eu": europe, "us": us}, Primary: "eu", Survive: SurvivalZone},
			`the column crdb_region of table holds is computed by "lookup_region(region)", which is not an expression that Holdfast wrote: change it by hand`,
		},
		{
			"an invalid mapping",
			ready,
			Mapping{Homes: map[ids.Region]string{"EU": europe}, Primary: "EU", Survive: SurvivalZone},
			`--map: the code "EU": a region is 2 to 8 lower-case letters, such as "eu"`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			present, err := c.cluster(t).Catalog(context.Background(), c.desired)
			if err != nil {
				t.Fatalf("Catalog: %v", err)
			}
			steps, err := Plan(c.desired, present)
			if err == nil {
				t.Fatalf("planned %d steps, expected a refusal", len(steps))
			}
			if kind := fault.KindOf(err); kind != fault.KindConflict && kind != fault.KindInvalid {
				t.Errorf("the refusal is %s, expected a conflict or an invalid input", kind)
			}
			if err.Error() != c.says {
				t.Errorf("got  %s\nwant %s", err, c.says)
			}
		})
	}
}
