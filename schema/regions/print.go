package regions

import (
	"fmt"
	"slices"
	"strings"
)

// Script is a plan as it will run: a comment that says why, then the statement, each in one line.
func Script(steps []Step, remarks []string) string {
	var b strings.Builder
	for _, step := range steps {
		fmt.Fprintf(&b, "-- %s\n%s;\n", step.Why, step.Statement)
	}
	if len(steps) == 0 {
		b.WriteString("-- Nothing to do: the database is as the mapping wants it.\n")
	}
	for _, remark := range remarks {
		fmt.Fprintf(&b, "-- %s\n", remark)
	}
	return b.String()
}

// Remarks say what a plan leaves alone, and why.
func Remarks(desired Mapping, present Catalog) []string {
	var remarks []string
	primary := namesPlaced(present.Tables, PlacementPrimary)
	if len(primary) > 0 {
		remarks = append(remarks, fmt.Sprintf("In the primary region, because their keys have no region: %s.", listed(primary)))
	}
	if others := namesPlaced(present.Tables, PlacementUnmanaged); len(others) > 0 {
		remarks = append(remarks, fmt.Sprintf("Not created by Holdfast and left as they are: %s.", listed(others)))
	}
	homes := desired.clusterRegions()
	for _, region := range present.Regions {
		if !slices.Contains(homes, region) {
			remarks = append(remarks, fmt.Sprintf("No code is mapped to the database's region %s any more; drop it by hand when nothing lives there.", region))
		}
	}
	for _, change := range present.Running {
		remarks = append(remarks, "Still running, and waited for by apply: "+strings.Join(strings.Fields(change), " "))
	}
	return remarks
}

func namesPlaced(tables []Table, placement Placement) []string {
	var names []string
	for _, t := range tables {
		if t.Placement == placement {
			names = append(names, t.Name)
		}
	}
	return names
}
