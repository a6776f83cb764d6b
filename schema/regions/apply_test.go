package regions

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/internal/ids"
)

// TestApplyResumesAfterAKillAtEveryStep kills a run at each statement in turn, before and after its
// effect, and runs it again: the result is that of an uninterrupted run, and no statement that had
// its effect is repeated.
func TestApplyResumesAfterAKillAtEveryStep(t *testing.T) {
	t.Parallel()
	two := mapping(t, "eu=europe-west1,us=us-east1", "eu", SurvivalZone)
	three := mapping(t, "eu=europe-west1,us=us-east1,ap=asia-southeast1", "us", SurvivalRegion)
	for _, version := range []Version{v25, v26} {
		starts := map[string]func(t testing.TB) *fakeCluster{
			"fresh":        func(testing.TB) *fakeCluster { return smallCluster(version) },
			"with regions": func(t testing.TB) *fakeCluster { return smallCluster(version).applied(t, two) },
		}
		for name, start := range starts {
			t.Run(fmt.Sprintf("%s on %s", name, version), func(t *testing.T) {
				t.Parallel()
				before := len(start(t).executed)
				whole := start(t).applied(t, three)
				for step := 1; step <= len(whole.executed)-before; step++ {
					for _, after := range []bool{false, true} {
						cluster := start(t)
						cluster.killAt, cluster.killAfter, cluster.seen = step, after, 0
						if err := Apply(context.Background(), cluster, three, silent); !errors.Is(err, errKilled) {
							t.Fatalf("step %d: got %v, expected the kill", step, err)
						}
						cluster.applied(t, three)
						if !slices.Equal(cluster.executed, whole.executed) {
							t.Errorf("killed at step %d (after its effect: %t): ran\n%s\nexpected\n%s", step, after,
								strings.Join(cluster.executed, "\n"), strings.Join(whole.executed, "\n"))
						}
						if !reflect.DeepEqual(cluster.state, whole.state) {
							t.Errorf("killed at step %d (after its effect: %t): ended as %+v, expected %+v", step, after, cluster.state, whole.state)
						}
					}
				}
			})
		}
	}
}

// TestApplyEndsRightWhateverHappenedBefore applies a series of random mappings, most of them killed
// somewhere, and then one to its end.
func TestApplyEndsRightWhateverHappenedBefore(t *testing.T) {
	t.Parallel()
	homes := []string{asia, berlin, europe, us}
	rapid.Check(t, func(t *rapid.T) {
		cluster := smallCluster(rapid.SampledFrom([]Version{v25, v26}).Draw(t, "version"))
		draw := func(label string) Mapping {
			m := Mapping{Homes: map[ids.Region]string{}, Primary: "eu", Survive: SurvivalZone}
			for _, code := range []ids.Region{"eu", "us", "ap"} {
				if code == "eu" || rapid.Bool().Draw(t, label+" maps "+string(code)) {
					m.Homes[code] = rapid.SampledFrom(homes).Draw(t, label+" home of "+string(code))
				}
			}
			if len(m.clusterRegions()) >= minRegionsToSurviveOne && rapid.Bool().Draw(t, label+" survives a region") {
				m.Survive = SurvivalRegion
			}
			return m
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "earlier runs") {
			label := fmt.Sprintf("run %d", i)
			cluster.killAt, cluster.seen = rapid.IntRange(1, 14).Draw(t, label+" is killed at"), 0
			cluster.killAfter = rapid.Bool().Draw(t, label+" is killed after the effect")
			if err := Apply(context.Background(), cluster, draw(label), silent); err != nil && !errors.Is(err, errKilled) {
				t.Fatalf("%s: %v", label, err)
			}
		}
		cluster.killAt = 0
		last := draw("the last run")
		if err := Apply(context.Background(), cluster, last, silent); err != nil {
			t.Fatalf("the last run: %v", err)
		}
		assertPlaced(t, cluster.state, last)
	})
}

// assertPlaced checks the result by itself, not with the planner.
func assertPlaced(t *rapid.T, state Catalog, m Mapping) {
	if state.Primary != m.Homes[m.Primary] || state.Survive != m.Survive {
		t.Fatalf("the database has primary %s and survives %s", state.Primary, state.Survive)
	}
	for _, table := range state.Tables {
		locality, columns := map[Placement]string{
			PlacementRegional: "REGIONAL BY ROW AS crdb_region", PlacementGlobal: "GLOBAL",
			PlacementPrimary: localityPrimary, PlacementUnmanaged: localityPrimary,
		}[table.Placement], slices.Clone(table.PrimaryKey)
		if table.Placement == PlacementRegional {
			columns = append(columns, regionColumn)
			if got, _ := homesOf(table.Computed[regionColumn]); !reflect.DeepEqual(got, m.Homes) {
				t.Fatalf("%s computes %v, expected %v", table.Name, got, m.Homes)
			}
		}
		if table.Placement == PlacementGlobal {
			columns = append(columns, "home_region")
		}
		if table.Locality != locality || !slices.Equal(table.Columns, columns) {
			t.Fatalf("%s is %s with the columns %v, expected %s with %v", table.Name, table.Locality, table.Columns, locality, columns)
		}
		if table.SchemaLocked != state.Version.atLeast(schemaLockedByDefault) {
			t.Fatalf("%s is schema-locked: %t", table.Name, table.SchemaLocked)
		}
	}
}

func TestApplyReportsEachStep(t *testing.T) {
	t.Parallel()
	cluster := smallCluster(v25)
	desired := mapping(t, "eu=europe-west1", "eu", SurvivalZone)
	var numbers []int
	err := Apply(context.Background(), cluster, desired, func(p Progress) {
		if p.Total != 6 || p.Done && cluster.executed[p.Number-1] != p.Step.Statement {
			t.Errorf("progress %+v after %q", p, cluster.executed)
		}
		numbers = append(numbers, p.Number)
	})
	if err != nil {
		t.Fatalf("Apply: %v", err)
	}
	if want := []int{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}; !slices.Equal(numbers, want) {
		t.Errorf("told of the steps %v, expected %v", numbers, want)
	}
	if cluster.settled != 1 {
		t.Errorf("waited %d times for earlier schema changes, expected once", cluster.settled)
	}
}

// forgetful accepts every statement and changes nothing.
type forgetful struct{ *fakeCluster }

func (forgetful) Execute(context.Context, string) error { return nil }

func TestApplyProvesTheResult(t *testing.T) {
	t.Parallel()
	err := Apply(context.Background(), forgetful{smallCluster(v25)}, mapping(t, "eu=europe-west1", "eu", SurvivalZone), silent)
	if err == nil || !strings.Contains(err.Error(), "the catalog still differs") {
		t.Errorf("got %v, expected it to notice that nothing changed", err)
	}
}
