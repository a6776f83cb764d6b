package regions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/fault"
)

// Step is one statement, which CockroachDB runs and commits by itself.
type Step struct {
	// Statement is in one line and without a semicolon.
	Statement string
	// Why is a sentence for the operator.
	Why string
}

// Plan says what is missing between the catalog and the mapping, in the order to run it. No steps
// means that nothing is missing. It refuses, as a fault, a mapping that the cluster cannot keep or
// that would leave rows without a region.
func Plan(desired Mapping, present Catalog) ([]Step, error) {
	if err := desired.Validate(); err != nil {
		return nil, err
	}
	if err := admit(desired, present); err != nil {
		return nil, err
	}
	steps := planDatabase(desired, present)
	for _, placement := range []Placement{PlacementPrimary, PlacementGlobal, PlacementRegional} {
		for _, t := range present.Tables {
			if t.Placement != placement {
				continue
			}
			more, err := planTable(desired, present.Version, t)
			if err != nil {
				return nil, err
			}
			steps = append(steps, more...)
		}
	}
	return steps, nil
}

// admit refuses what CockroachDB would refuse half-way, or what would strand rows.
func admit(desired Mapping, present Catalog) error {
	all := slices.Clone(present.Regions)
	for _, region := range desired.clusterRegions() {
		if slices.Contains(present.Regions, region) {
			continue
		}
		all = append(all, region)
		if len(present.ClusterRegions) == 0 {
			return fault.Conflict("the cluster has no regions: start each node with --locality=region=…, as `SHOW REGIONS FROM CLUSTER` would list them")
		}
		if !slices.Contains(present.ClusterRegions, region) {
			return fault.Conflict("--map: the cluster has no region %q; its nodes are in %s", region, listed(present.ClusterRegions))
		}
	}
	if desired.Survive == SurvivalRegion && len(all) < minRegionsToSurviveOne {
		return fault.Conflict("--survive region needs at least %d cluster regions, and the database would have %d: %s", minRegionsToSurviveOne, len(all), listed(all))
	}
	for _, code := range slices.Sorted(maps.Keys(present.Codes)) {
		if _, mapped := desired.Homes[code]; !mapped {
			return fault.Conflict("--map: the region code %q is in use (%s), so it must be mapped to a cluster region", code, listed(present.Codes[code]))
		}
	}
	return nil
}

// planDatabase makes the database multi-region, or completes it. Regions that no code is mapped to
// are kept: tables of others may live there.
func planDatabase(desired Mapping, present Catalog) []Step {
	database := "ALTER DATABASE " + quoted(present.Database) + " "
	primary := desired.Homes[desired.Primary]
	var steps []Step
	known := slices.Clone(present.Regions)
	if present.Primary == "" {
		steps = append(steps, Step{
			database + "SET PRIMARY REGION " + quoted(primary),
			"Makes the database multi-region; what has no region of its own lives here.",
		})
		known = append(known, primary)
	}
	for _, region := range desired.clusterRegions() {
		if !slices.Contains(known, region) {
			steps = append(steps, Step{
				database + "ADD REGION " + quoted(region),
				fmt.Sprintf("Rows with %s will live here.", desired.codesIn(region)),
			})
		}
	}
	if present.Primary != "" && present.Primary != primary {
		steps = append(steps, Step{
			database + "SET PRIMARY REGION " + quoted(primary),
			fmt.Sprintf("Moves what has no region of its own here from %s.", present.Primary),
		})
	}
	switch {
	case desired.Survive == SurvivalRegion && present.Survive != SurvivalRegion:
		steps = append(steps, Step{
			database + "SURVIVE REGION FAILURE",
			"Keeps five replicas in three regions; from now on each write waits for the nearest other region.",
		})
	case desired.Survive == SurvivalZone && present.Survive == SurvivalRegion:
		steps = append(steps, Step{
			database + "SURVIVE ZONE FAILURE",
			"Writes no longer wait for another region, and the loss of a region stops the sale of its stock.",
		})
	}
	return steps
}

// codesIn names the codes that a cluster region keeps.
func (m Mapping) codesIn(region string) string {
	var codes []string
	for _, code := range m.codes() {
		if m.Homes[code] == region {
			codes = append(codes, fmt.Sprintf("region '%s'", code))
		}
	}
	return strings.Join(codes, " or ")
}

// planTable takes the schema lock off around the changes of a table.
func planTable(desired Mapping, version Version, t Table) ([]Step, error) {
	changes, err := planLocality(desired, t)
	if err != nil {
		return nil, err
	}
	locks := version.atLeast(schemaLockedByDefault)
	lock := func(on bool, why string) Step {
		return Step{t.alter(fmt.Sprintf("SET (schema_locked = %t)", on)), why}
	}
	if len(changes) == 0 {
		if locks && !t.SchemaLocked && t.Placement != PlacementPrimary {
			return []Step{lock(true, "A run that did not finish left the table unlocked.")}, nil
		}
		return nil, nil
	}
	var steps []Step
	if t.SchemaLocked {
		steps = append(steps, lock(false, "SET LOCALITY does not unlock the table by itself; this has to stand alone."))
	}
	steps = append(steps, changes...)
	if t.SchemaLocked || locks {
		steps = append(steps, lock(true, "Locks the table again, as "+schemaLockedByDefault.String()+" and later do by default."))
	}
	return steps, nil
}

// planLocality brings a table to where its placement wants it.
func planLocality(desired Mapping, t Table) ([]Step, error) {
	switch t.Placement {
	case PlacementRegional:
		return planRegional(desired, t)
	case PlacementGlobal:
		if t.Locality != localityGlobal {
			return []Step{{t.alter("SET LOCALITY " + localityGlobal), "A directory: read in every region without leaving it, written rarely."}}, nil
		}
	case PlacementPrimary:
		if t.Locality != "" && t.Locality != localityPrimary {
			return []Step{{t.alter("SET LOCALITY " + localityPrimary), "Bookkeeping without regions stays in the primary one."}}, nil
		}
	case PlacementUnmanaged:
	}
	return nil, nil
}

// planRegional gives a regional table the computed column and makes it the one the table is split
// by. A column in use cannot be dropped and its expression cannot change: a new mapping is a second
// column that takes over its name.
func planRegional(desired Mapping, t Table) ([]Step, error) {
	inUse := t.rowColumn()
	if inUse == nextColumn {
		return nil, fault.Conflict("table %s is split by %s, which no plan of Holdfast does: set its locality by hand", t.Name, nextColumn)
	}
	right := func(column string) (bool, error) {
		homes, err := t.homes(column)
		return maps.Equal(homes, desired.Homes), err
	}
	isRight, err := right(regionColumn)
	if err != nil {
		return nil, err
	}
	nextIsRight, err := right(nextColumn)
	if err != nil {
		return nil, err
	}
	var steps []Step
	drop := func(column, why string) {
		steps = append(steps, Step{t.alter("DROP COLUMN " + quoted(column)), why})
	}
	add := func(column, why string) {
		steps = append(steps, Step{t.alter(fmt.Sprintf("ADD COLUMN %s crdb_internal_region NOT VISIBLE NOT NULL AS (%s) STORED", quoted(column), desired.expression())), why})
	}
	hasNext, hasPrevious := t.has(nextColumn), t.has(previousColumn)
	switch {
	case isRight:
	case inUse == regionColumn:
		if hasNext && !nextIsRight {
			drop(nextColumn, "Computed for a mapping that was never finished.")
			hasNext = false
		}
		if !hasNext {
			add(nextColumn, "The expression of the column in use cannot change, so a second one computes the new mapping.")
		}
		if hasPrevious {
			drop(previousColumn, "Left over from an earlier mapping; its name is needed.")
		}
		steps = append(steps, Step{
			t.alter(fmt.Sprintf("RENAME COLUMN %s TO %s, RENAME COLUMN %s TO %s", quoted(regionColumn), quoted(previousColumn), quoted(nextColumn), quoted(regionColumn))),
			"The new column takes over the name; the table is still split by the old one.",
		})
		hasNext, hasPrevious, inUse = false, true, previousColumn
	default:
		if t.has(regionColumn) {
			drop(regionColumn, "Computed for a mapping that was never finished.")
		}
		add(regionColumn, "Where a row lives follows from its region; a code that is not mapped is refused.")
	}
	if inUse != regionColumn {
		steps = append(steps, Step{t.alter("SET LOCALITY " + localityByRow + " AS " + quoted(regionColumn)), "Moves each row to its region; rewrites every index of the table."})
	}
	if hasPrevious {
		drop(previousColumn, "Nothing uses the column of the earlier mapping any more.")
	}
	if hasNext {
		drop(nextColumn, "Computed for a mapping that was never finished.")
	}
	return steps, nil
}

func (t Table) has(column string) bool { return slices.Contains(t.Columns, column) }

func (t Table) alter(change string) string { return "ALTER TABLE " + quoted(t.Name) + " " + change }

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
