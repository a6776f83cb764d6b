package sqlfloor

import (
	"fmt"
	"regexp"
	"strings"
)

// Table is what Scope must know of a table.
type Table struct {
	// Tenant and Region tell whether it has the columns tenant_id and region.
	Tenant, Region bool
}

// Tables reads the CREATE TABLE statements among statements. A directory table has a region as
// mere information: its primary key does not hold it, and so no statement needs to name it.
func Tables(statements []Statement) map[string]Table {
	tables := map[string]Table{}
	for _, statement := range statements {
		text := normalize(statement.Text)
		created := createPattern.FindStringSubmatch(text)
		if created == nil {
			continue
		}
		key := primaryKeyPattern.FindString(text)
		tables[created[1]] = Table{
			Tenant: strings.Contains(text, " TENANT_ID UUID "),
			Region: strings.Contains(key, " REGION "),
		}
	}
	return tables
}

// Scope says in which of its tables a statement reaches beyond one tenant, or beyond the named
// regions: for each table it mentions there must be a condition on each of these columns, or the
// column in the list of an INSERT.
func Scope(statement Statement, tables map[string]Table) []string {
	text := normalize(statement.Text)
	var tenant, region int
	var problems []string
	for _, mention := range mentionPattern.FindAllStringSubmatch(text, -1) {
		table := tables[strings.ToUpper(mention[2])]
		if mention[1] == "INTO" {
			columns, _, _ := strings.Cut(text[strings.Index(text, mention[0])+len(mention[0]):], ")")
			if table.Tenant && !strings.Contains(columns, " TENANT_ID ") || table.Region && !strings.Contains(columns, " REGION ") {
				problems = append(problems, fmt.Sprintf("inserts into %s without tenant_id or region", strings.ToLower(mention[2])))
			}
			continue
		}
		if table.Tenant {
			tenant++
		}
		if table.Region {
			region++
		}
	}
	if commaJoin.MatchString(strings.ReplaceAll(text, " DISTINCT FROM ", " ")) {
		problems = append(problems, "joins with a comma, where the second table is not seen: JOIN")
	}
	if got := len(tenantPattern.FindAllString(text, -1)); got < tenant {
		problems = append(problems, fmt.Sprintf("mentions %d tables of tenants and has %d conditions on tenant_id", tenant, got))
	}
	if got := len(regionPattern.FindAllString(text, -1)); got < region {
		problems = append(problems, fmt.Sprintf("mentions %d regional tables and has %d conditions on region", region, got))
	}
	return problems
}

var (
	createPattern     = regexp.MustCompile(`^ CREATE TABLE (?:IF NOT EXISTS )?(\w+) `)
	primaryKeyPattern = regexp.MustCompile(` PRIMARY KEY \([^)]*\)`)
	mentionPattern    = regexp.MustCompile(`\b(FROM|JOIN|UPDATE|INTO) (?:ONLY )?(?:\w+ \. )?(\w+)\b`)
	// commaJoin meets a table, with its alias, and another one after a comma.
	commaJoin     = regexp.MustCompile(` FROM (?:ONLY )?(?:\w+ \. )?\w+(?: AS)?(?: \w+)? , (?:\w+|\()`)
	tenantPattern = regexp.MustCompile(`\bTENANT_ID (=|IS NOT DISTINCT FROM\b|IS NULL\b)`)
	regionPattern = regexp.MustCompile(`\bREGION (=|IN\b)`)
)
