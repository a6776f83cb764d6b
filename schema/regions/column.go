package regions

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
)

// The columns of the overlay. Outside a change of the mapping there is only regionColumn.
const (
	codeColumn     = "region"
	regionColumn   = "crdb_region"
	nextColumn     = "crdb_region_next"
	previousColumn = "crdb_region_prev"
)

// expression is the CASE that computes a row's cluster region. It has no ELSE, so that an unknown
// code violates NOT NULL.
func (m Mapping) expression() string {
	var b strings.Builder
	b.WriteString("CASE " + codeColumn)
	for _, code := range m.codes() {
		// Validate allows neither quotes nor backslashes in either.
		fmt.Fprintf(&b, " WHEN '%s' THEN '%s'", code, m.Homes[code])
	}
	b.WriteString(" END")
	return b.String()
}

const (
	// annotation is a type that CockroachDB writes behind a constant, such as
	// :::public.crdb_internal_region.
	annotation = `(?::{2,3}(?:"[^"]*"|@?\w+)(?:\.(?:"[^"]*"|\w+))*)?`
	caseArm    = `\s+WHEN\s+'([^']*)'` + annotation + `\s+THEN\s+'([^']*)'` + annotation
)

var (
	caseArms       = regexp.MustCompile(`(?i)` + caseArm)
	caseExpression = regexp.MustCompile(`(?i)^\(*CASE\s+"?` + codeColumn + `"?(?:` + caseArm + `)+\s+END\)*` + annotation + `$`)
)

// homesOf reads back what expression wrote, in the form in which a catalog shows it.
func homesOf(expression string) (homes map[ids.Region]string, ok bool) {
	expression = strings.TrimSpace(expression)
	if !caseExpression.MatchString(expression) {
		return nil, false
	}
	homes = map[ids.Region]string{}
	for _, arm := range caseArms.FindAllStringSubmatch(expression, -1) {
		homes[ids.Region(arm[1])] = arm[2]
	}
	return homes, true
}

// homes is what a region column of the table computes: nothing when it is not computed. An
// expression that cannot be read is refused, because replacing it could undo somebody's work or go
// on for ever.
func (t Table) homes(column string) (map[ids.Region]string, error) {
	expression := t.Computed[column]
	if expression == "" {
		return map[ids.Region]string{}, nil
	}
	homes, ok := homesOf(expression)
	if !ok {
		return nil, fault.Conflict("the column %s of table %s is computed by %q, which is not an expression that Holdfast wrote: change it by hand", column, t.Name, expression)
	}
	return homes, nil
}

// guarded reports that the table's own region column admits none but the given codes.
func (t Table) guarded(codes []ids.Region) bool {
	foreign := func(code ids.Region) bool { return !slices.Contains(codes, code) }
	for _, column := range []string{regionColumn, nextColumn, previousColumn} {
		homes, ok := homesOf(t.Computed[column])
		if ok && !slices.ContainsFunc(slices.Collect(maps.Keys(homes)), foreign) {
			return true
		}
	}
	return false
}
