package regions

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"

	"github.com/holdfast/holdfast/schema"
)

// What the migrations are read for. A test compares the result with the catalog of a migrated
// database, so that a migration written in another way is noticed.
var (
	tableStatement = regexp.MustCompile(`(?ms)^CREATE TABLE IF NOT EXISTS (\w+) \((.*?)^\)[^;]*;|` +
		`^ALTER TABLE (?:IF EXISTS )?(\w+)\s(.*?);|^DROP TABLE IF EXISTS (\w+)`)
	tableCreation  = regexp.MustCompile(`(?im)^\s*CREATE\s+TABLE\b`)
	columnLine     = regexp.MustCompile(`(?m)^\s+([a-z_0-9]+)\s+[a-z]`)
	columnAddition = regexp.MustCompile(`ADD COLUMN IF NOT EXISTS (\w+)`)
	columnRemoval  = regexp.MustCompile(`DROP COLUMN IF EXISTS (\w+)`)
	primaryKey     = regexp.MustCompile(`PRIMARY KEY \(([^)]*)\)`)
	columnName     = regexp.MustCompile(`\w+`)
)

// migratedTables are the tables that the embedded migrations leave behind, by name.
func migratedTables() ([]Table, error) {
	names, err := fs.Glob(schema.Files(), "migrations/*.up.sql")
	if err != nil {
		return nil, fmt.Errorf("list the migrations: %w", err)
	}
	slices.Sort(names)
	tables := map[string]Table{}
	for _, name := range names {
		text, err := fs.ReadFile(schema.Files(), name)
		if err != nil {
			return nil, fmt.Errorf("read a migration: %w", err)
		}
		understood := 0
		for _, found := range tableStatement.FindAllStringSubmatch(string(text), -1) {
			readStatement(tables, found)
			if found[1] != "" {
				understood++
			}
		}
		// A table that is overlooked would never get its place.
		if written := len(tableCreation.FindAllString(string(text), -1)); written != understood {
			return nil, fmt.Errorf("%s creates %d tables, of which %d are understood", name, written, understood)
		}
	}
	found := make([]Table, 0, len(tables))
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		found = append(found, tables[name])
	}
	own := tableNames(found)
	for i := range found {
		found[i].Placement = classify(found[i], own)
	}
	return found, nil
}

// readStatement follows one match of tableStatement.
func readStatement(tables map[string]Table, match []string) {
	created, body, altered, changes, dropped := match[1], match[2], match[3], match[4], match[5]
	switch {
	case created != "":
		t := Table{Name: created}
		for _, column := range columnLine.FindAllStringSubmatch(body, -1) {
			t.Columns = append(t.Columns, column[1])
		}
		if key := primaryKey.FindStringSubmatch(body); key != nil {
			t.PrimaryKey = columnName.FindAllString(key[1], -1)
		}
		tables[created] = t
	case altered != "":
		t := tables[altered]
		for _, column := range columnAddition.FindAllStringSubmatch(changes, -1) {
			t.Columns = append(t.Columns, column[1])
		}
		for _, column := range columnRemoval.FindAllStringSubmatch(changes, -1) {
			t.Columns = slices.DeleteFunc(t.Columns, func(name string) bool { return name == column[1] })
		}
		tables[altered] = t
	case dropped != "":
		delete(tables, dropped)
	}
}

func tableNames(tables []Table) []string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	return names
}

// EmptyCatalog is a freshly migrated database, without rows and without regions, on a cluster of
// that version that has every region of the mapping. It needs no connection.
func EmptyCatalog(desired Mapping, database string, version Version) (Catalog, error) {
	tables, err := migratedTables()
	if err != nil {
		return Catalog{}, err
	}
	for i := range tables {
		tables[i].SchemaLocked = version.atLeast(schemaLockedByDefault)
	}
	return Catalog{Version: version, Database: database, ClusterRegions: desired.clusterRegions(), Tables: tables}, nil
}
