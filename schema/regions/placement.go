package regions

import (
	"slices"
	"strings"
)

// Placement is where a table's rows belong. It is derived from the table and from the migrations,
// not kept in a list that could be forgotten.
type Placement string

// The placements.
const (
	// PlacementRegional is a table with region in its primary key: each row lives in its region.
	PlacementRegional Placement = "regional"
	// PlacementGlobal is a directory: a table of the migrations without a region in its key, read
	// everywhere and written rarely. Reads are local in every region, writes are slow.
	PlacementGlobal Placement = "global"
	// PlacementPrimary is bookkeeping that has no region: the migrations' version and lock, and
	// River's tables.
	//
	// River finds jobs by queue, priority and time, keeps one leader, and checks unique jobs over
	// all of them: split by row, each of these would visit every region, and as a GLOBAL table each
	// insert of a job, which is part of a sale's transaction, would wait as long as a write to the
	// directory does.
	PlacementPrimary Placement = "primary"
	// PlacementUnmanaged is a table that Holdfast did not create. It is left as it is.
	PlacementUnmanaged Placement = "unmanaged"
)

// classify places a table. own are the tables that the migrations create.
func classify(t Table, own []string) Placement {
	switch {
	case t.Name == "schema_migrations", t.Name == "schema_lock", strings.HasPrefix(t.Name, "river_"):
		return PlacementPrimary
	case !slices.Contains(own, t.Name):
		return PlacementUnmanaged
	case slices.Contains(t.PrimaryKey, codeColumn):
		return PlacementRegional
	}
	return PlacementGlobal
}

// codeColumns are the columns of a table that hold region codes: region, and others like a
// tenant's home_region.
func (t Table) codeColumns() []string {
	var found []string
	for _, column := range t.Columns {
		if column == codeColumn || strings.HasSuffix(column, "_"+codeColumn) && column != regionColumn {
			found = append(found, column)
		}
	}
	return found
}
