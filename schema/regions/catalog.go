package regions

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/holdfast/holdfast/internal/ids"
)

// Catalog is what a plan needs to know of a database and its cluster.
type Catalog struct {
	Version  Version
	Database string
	// ClusterRegions are those that nodes were started in.
	ClusterRegions []string
	// Primary is the database's primary region; "" while the database is not multi-region.
	Primary string
	// Regions are those of the database, the primary one included.
	Regions []string
	// Survive is the database's survival goal; "" while the database is not multi-region.
	Survive Survival
	Tables  []Table
	// Codes are the region codes that rows hold, each with the tables that were found to hold it.
	Codes map[ids.Region][]string
	// Running are the schema changes of this database that have not ended, as CockroachDB
	// describes them.
	Running []string
}

// Table is one table of the database.
type Table struct {
	Name       string
	Placement  Placement
	Columns    []string
	PrimaryKey []string
	// Locality is CockroachDB's, such as "REGIONAL BY ROW AS crdb_region"; "" while the database is
	// not multi-region.
	Locality string
	// Computed holds the expressions of computed columns, as the catalog writes them.
	Computed map[string]string
	// SchemaLocked refuses SET LOCALITY until it is taken off.
	SchemaLocked bool
}

// Version is a release of CockroachDB.
type Version struct{ Major, Minor int }

// oldest is the release that has regions in its SQL.
var oldest = Version{Major: 21, Minor: 1}

// schemaLockedByDefault is the release from which tables are created schema-locked.
var schemaLockedByDefault = Version{Major: 26, Minor: 1}

var versionDigits = regexp.MustCompile(`\bv?(\d+)\.(\d+)`)

// ParseVersion finds a version such as v25.4 or "CockroachDB v25.4.1".
func ParseVersion(text string) (Version, error) {
	found := versionDigits.FindStringSubmatch(text)
	if found == nil {
		return Version{}, fmt.Errorf("expected a version such as v25.4, got %q", text)
	}
	major, err := strconv.Atoi(found[1])
	if err != nil {
		return Version{}, fmt.Errorf("the version %q: %w", text, err)
	}
	minor, err := strconv.Atoi(found[2])
	if err != nil {
		return Version{}, fmt.Errorf("the version %q: %w", text, err)
	}
	version := Version{Major: major, Minor: minor}
	if !version.atLeast(oldest) {
		return Version{}, fmt.Errorf("CockroachDB has regions since %s, got %s", oldest, version)
	}
	return version, nil
}

// String is the version as CockroachDB writes it.
func (v Version) String() string { return fmt.Sprintf("v%d.%d", v.Major, v.Minor) }

func (v Version) atLeast(other Version) bool {
	return v.Major > other.Major || v.Major == other.Major && v.Minor >= other.Minor
}

// The localities that a plan sets.
const (
	localityGlobal  = "GLOBAL"
	localityPrimary = "REGIONAL BY TABLE IN PRIMARY REGION"
	localityByRow   = "REGIONAL BY ROW"
)

// rowColumn is the column that a REGIONAL BY ROW table is split by, or "". Without AS it is
// CockroachDB's own crdb_region, which clients write.
func (t Table) rowColumn() string {
	rest, byRow := strings.CutPrefix(t.Locality, localityByRow)
	if !byRow {
		return ""
	}
	if column, as := strings.CutPrefix(rest, " AS "); as {
		return strings.Trim(column, `"`)
	}
	return regionColumn
}
