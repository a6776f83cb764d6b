package regions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast/holdfast/internal/ids"
)

// fakeCluster interprets the statements of plans as CockroachDB is documented to: it refuses what
// CockroachDB refuses, and shows expressions in CockroachDB's spelling.
type fakeCluster struct {
	state Catalog
	// rows are the region codes that each table holds.
	rows map[string][]ids.Region
	// executed are the statements that had an effect.
	executed []string
	// killAt is the number, from 1, of the statement at which the client dies; 0 is never.
	// killAfter says that the statement still had its effect.
	killAt    int
	killAfter bool
	seen      int
	settled   int
}

var (
	errKilled  = errors.New("the client was killed")
	errRefused = errors.New("refused")
)

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errRefused, fmt.Sprintf(format, args...))
}

func (f *fakeCluster) Settle(context.Context) error {
	f.settled++
	return nil
}

func (f *fakeCluster) Catalog(_ context.Context, desired Mapping) (Catalog, error) {
	present := f.snapshot()
	present.Codes = map[ids.Region][]string{}
	for _, t := range present.Tables {
		if t.Placement == PlacementRegional && t.guarded(desired.codes()) {
			continue
		}
		for _, code := range f.rows[t.Name] {
			if !slices.Contains(present.Codes[code], t.Name) {
				present.Codes[code] = append(present.Codes[code], t.Name)
			}
		}
	}
	return present, nil
}

// snapshot is a copy that later statements do not change.
func (f *fakeCluster) snapshot() Catalog {
	present := f.state
	present.Regions = slices.Clone(present.Regions)
	present.Tables = slices.Clone(present.Tables)
	for i := range present.Tables {
		t := &present.Tables[i]
		t.Columns, t.Computed = slices.Clone(t.Columns), maps.Clone(t.Computed)
	}
	return present
}

func (f *fakeCluster) Execute(_ context.Context, statement string) error {
	f.seen++
	if f.seen == f.killAt && !f.killAfter {
		return errKilled
	}
	if err := f.interpret(statement); err != nil {
		return err
	}
	f.executed = append(f.executed, statement)
	if f.seen == f.killAt {
		return errKilled
	}
	return nil
}

var (
	alterDatabase = regexp.MustCompile(`^ALTER DATABASE "(\w+)" (SET PRIMARY REGION|ADD REGION|SURVIVE) (?:"([^"]+)"|(ZONE|REGION) FAILURE)$`)
	alterTable    = regexp.MustCompile(`^ALTER TABLE "(\w+)" (.*)$`)
	setLocked     = regexp.MustCompile(`^SET \(schema_locked = (true|false)\)$`)
	addColumn     = regexp.MustCompile(`^ADD COLUMN "(\w+)" crdb_internal_region NOT VISIBLE NOT NULL AS \((CASE region .* END)\) STORED$`)
	dropColumn    = regexp.MustCompile(`^DROP COLUMN "(\w+)"$`)
	renameColumns = regexp.MustCompile(`^RENAME COLUMN "(\w+)" TO "(\w+)", RENAME COLUMN "(\w+)" TO "(\w+)"$`)
	setLocality   = regexp.MustCompile(`^SET LOCALITY (.*)$`)
	byRowAs       = regexp.MustCompile(`^REGIONAL BY ROW AS "(\w+)"$`)
	writtenArm    = regexp.MustCompile(`WHEN '([^']*)' THEN '([^']*)'`)
)

func (f *fakeCluster) interpret(statement string) error {
	if found := alterDatabase.FindStringSubmatch(statement); found != nil {
		if found[1] != f.state.Database {
			return refused("no database %s", found[1])
		}
		return f.alterDatabase(found[2], found[3], found[4])
	}
	found := alterTable.FindStringSubmatch(statement)
	if found == nil {
		return refused("syntax: %s", statement)
	}
	for i := range f.state.Tables {
		if f.state.Tables[i].Name == found[1] {
			return f.alterTable(&f.state.Tables[i], found[2])
		}
	}
	return refused("no table %s", found[1])
}

func (f *fakeCluster) alterDatabase(verb, region, goal string) error {
	s := &f.state
	known := slices.Contains(s.Regions, region)
	switch {
	case verb == "SURVIVE" && s.Primary == "":
		return refused("not multi-region")
	case verb == "SURVIVE" && goal == "REGION" && len(s.Regions) < 3:
		return refused("at least 3 regions are required for surviving a region failure")
	case verb == "SURVIVE":
		s.Survive = Survival(strings.ToLower(goal))
	case !slices.Contains(s.ClusterRegions, region):
		return refused("region %q does not exist", region)
	case verb == "ADD REGION" && (s.Primary == "" || known):
		return refused("ADD REGION %s", region)
	case verb == "ADD REGION":
		s.Regions = append(s.Regions, region)
	case s.Primary == "":
		s.Primary, s.Regions, s.Survive = region, []string{region}, SurvivalZone
		for i := range s.Tables {
			s.Tables[i].Locality = localityPrimary
		}
	case !known:
		return refused("the primary region must be added first")
	default:
		s.Primary = region
	}
	return nil
}

func (f *fakeCluster) alterTable(t *Table, change string) error {
	if found := setLocked.FindStringSubmatch(change); found != nil {
		t.SchemaLocked = found[1] == "true"
		return nil
	}
	if t.SchemaLocked {
		return refused("%s is schema_locked", t.Name)
	}
	if f.state.Primary == "" {
		return refused("not multi-region")
	}
	if found := addColumn.FindStringSubmatch(change); found != nil {
		return f.addColumn(t, found[1], found[2])
	}
	if found := dropColumn.FindStringSubmatch(change); found != nil {
		if !t.has(found[1]) || t.rowColumn() == found[1] {
			return refused("cannot drop %s of %s", found[1], t.Name)
		}
		t.Columns = slices.DeleteFunc(t.Columns, func(name string) bool { return name == found[1] })
		delete(t.Computed, found[1])
		return nil
	}
	if found := renameColumns.FindStringSubmatch(change); found != nil {
		for _, names := range [][2]string{{found[1], found[2]}, {found[3], found[4]}} {
			if err := renameColumn(t, names[0], names[1]); err != nil {
				return err
			}
		}
		return nil
	}
	if found := setLocality.FindStringSubmatch(change); found != nil {
		return setTableLocality(t, found[1])
	}
	return refused("syntax: %s", change)
}

func (f *fakeCluster) addColumn(t *Table, column, expression string) error {
	if t.has(column) {
		return refused("%s of %s exists", column, t.Name)
	}
	homes := map[ids.Region]string{}
	for _, arm := range writtenArm.FindAllStringSubmatch(expression, -1) {
		homes[ids.Region(arm[1])] = arm[2]
		if !slices.Contains(f.state.Regions, arm[2]) {
			return refused("invalid input value for enum crdb_internal_region: %s", arm[2])
		}
	}
	for _, code := range f.rows[t.Name] {
		if _, mapped := homes[code]; !mapped {
			return refused("null value in column %s: %s", column, code)
		}
	}
	t.Columns = append(t.Columns, column)
	if t.Computed == nil {
		t.Computed = map[string]string{}
	}
	t.Computed[column] = writtenArm.ReplaceAllString(expression, "WHEN '$1':::STRING THEN '$2':::public.crdb_internal_region")
	return nil
}

// renameColumn lets the locality follow the column that it uses.
func renameColumn(t *Table, from, to string) error {
	i := slices.Index(t.Columns, from)
	if i < 0 || t.has(to) {
		return refused("cannot rename %s of %s to %s", from, t.Name, to)
	}
	used := t.rowColumn() == from
	t.Columns[i] = to
	if expression, computed := t.Computed[from]; computed {
		t.Computed[to] = expression
		delete(t.Computed, from)
	}
	if used {
		t.Locality = "REGIONAL BY ROW AS " + to
	}
	return nil
}

func setTableLocality(t *Table, locality string) error {
	if found := byRowAs.FindStringSubmatch(locality); found != nil {
		if !t.has(found[1]) {
			return refused("no column %s in %s", found[1], t.Name)
		}
		// The catalog writes the name without quotes where it needs none.
		locality = "REGIONAL BY ROW AS " + found[1]
	}
	t.Locality = locality
	return nil
}
