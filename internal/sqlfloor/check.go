package sqlfloor

import (
	"regexp"
	"slices"
	"strings"
)

// Rule is one thing that statements may not use.
type Rule struct {
	// Name is how exceptions refer to it.
	Name string
	// Reason says who refuses it, and what to write instead.
	Reason  string
	pattern *regexp.Regexp
}

// Check is every rule that a statement breaks.
func Check(statement Statement) []Rule {
	text := normalize(statement.Text)
	var broken []Rule
	for _, rule := range rules {
		if rule.pattern.MatchString(text) {
			broken = append(broken, rule)
		}
	}
	for _, to := range castTypes(text) {
		if !allowedType.MatchString(to) {
			broken = append(broken, Rule{Name: "cast-type", Reason: "the engines agree on " + allowedTypes})
			break
		}
	}
	if strings.HasPrefix(text, " ALTER TABLE ") && addsOrDropsSilently(text) {
		broken = append(broken, Rule{Name: "add-what", Reason: "say ADD COLUMN or ADD CONSTRAINT and a name: other rules, and who runs it again, go by them"})
	}
	return broken
}

// castTypes are the types that values are cast to, whatever is cast.
func castTypes(text string) []string {
	var types []string
	for _, cast := range castPattern.FindAllStringSubmatch(text, -1) {
		types = append(types, cast[1])
	}
	for _, at := range castCall.FindAllStringIndex(text, -1) {
		depth := 1
		words := strings.Fields(text[at[1]:])
		for i, word := range words {
			switch word {
			case "(":
				depth++
			case ")":
				depth--
			case "AS":
				if depth == 1 && i+1 < len(words) {
					types = append(types, words[i+1])
				}
			}
			if depth == 0 {
				break
			}
		}
	}
	return types
}

// addsOrDropsSilently is whether ALTER TABLE leaves out what it adds or drops. What ALTER COLUMN drops
// is no object.
func addsOrDropsSilently(text string) bool {
	for _, found := range addPattern.FindAllStringSubmatch(text, -1) {
		if !slices.Contains([]string{"COLUMN", "CONSTRAINT", "NOT", "DEFAULT", "EXPRESSION"}, found[1]) {
			return true
		}
	}
	return false
}

var (
	castPattern = regexp.MustCompile(` :: (\w+)`)
	castCall    = regexp.MustCompile(` CAST \( `)
	addPattern  = regexp.MustCompile(` (?:ADD|DROP) (\w+) `)
	allowedType = regexp.MustCompile(`^(` + allowedTypes + `)$`)
)

// allowedTypes are the types that values are cast to.
const allowedTypes = `BIGINT|SMALLINT|TEXT|UUID|DATE|TIMESTAMPTZ|BOOLEAN|JSONB|BYTEA|FLOAT8|INTERVAL`

// rules meet the normalized statement: words in capitals, one space between tokens, every string
// as ” and every parameter as $1.
var rules = []Rule{
	rule("skip-locked", ` SKIP LOCKED `, "only CockroachDB 22.2 and later take it: ask the server at start-up, and have plain FOR UPDATE as well"),
	rule("weak-lock", ` FOR (NO KEY UPDATE|SHARE|KEY SHARE) | NOWAIT `, "they lock nothing or other things on CockroachDB: FOR UPDATE"),
	rule("jsonb-array", ` JSONB? \[| JSONB? ARRAY `, "CockroachDB has no arrays of jsonb, not even as parameters: send text[] and cast each element"),
	rule("serial", ` (SMALL|BIG)?SERIAL[248]? | AS IDENTITY `, "no sequence stands behind it on CockroachDB: use uuid"),
	rule("integer", ` (INT|INT2|INT4|INT8|INTEGER) `, "int has 4 bytes on PostgreSQL and 8 on CockroachDB: bigint or smallint"),
	rule("enum", ` AS ENUM `, "slow to change on CockroachDB: text and a named CHECK"),
	rule("domain", ` DOMAIN `, "CockroachDB has none: a named CHECK"),
	rule("advisory-lock", ` PG_(TRY_)?ADVISORY_\w+ `, "CockroachDB has none: lock a row"),
	rule("notify", ` (LISTEN|UNLISTEN|NOTIFY|PG_NOTIFY) `, "CockroachDB has none: poll"),
	rule("code-in-database", ` (TRIGGER|PLPGSQL|LANGUAGE|PROCEDURE) |^ (DO|CALL) |^ CREATE (OR REPLACE )?FUNCTION `, "CockroachDB 21.1 has none: write it in Go, in the same transaction"),
	rule("exclusion", ` EXCLUDE (USING|\() `, "CockroachDB has no exclusion constraints: claim rows"),
	rule("range-type", ` (INT4|INT8|NUM|TS|TSTZ|DATE)(MULTI)?RANGE `, "CockroachDB has none: a column for each end"),
	rule("array-slice", `\[ [^\]:]*: [^\]]*\]`, "CockroachDB has none"),
	rule("system-column", ` (XMAX|XMIN|CTID|TABLEOID|xmax|xmin|ctid|tableoid) `, "CockroachDB has none: RETURNING, or the row count"),
	rule("delete-using", ` DELETE FROM [A-Z_. ]+ USING `, "CockroachDB 21.1 has none: IN (SELECT …)"),
	rule("extension", ` EXTENSION `, "CockroachDB has none"),
	rule("make-interval", ` MAKE_INTERVAL `, "CockroachDB has none: $1::float8 * interval '1 second'"),
	rule("named-argument", ` (=>|:=) `, "CockroachDB has none: arguments by position"),
	rule("storage", ` (UNLOGGED|TABLESPACE) | USING (GIN|GIST|BRIN|HASH|SPGIST) `, "the engines differ: plain tables and plain indexes"),
	rule("select-star", ` (SELECT|ALL|DISTINCT|RETURNING|,) \* | \) \* (FROM|,) | \. \* `, "it names hidden and future columns: list the columns"),
	rule("arbiter", ` ON CONFLICT (ON CONSTRAINT|\( [^)]*\(|\( [^)]*\) WHERE|DO UPDATE)`, "ON CONFLICT names plain columns"),
	rule("index-expression", ` INDEX [^(]* ON [^(]*\( [^)]*\(`, "CockroachDB 21.1 indexes plain columns: store the value in one"),
	rule("index-function", ` INDEX .* WHERE .*\b(?:[A-HJ-Z]\w*|I[A-MO-Z]\w*) \( `, "no functions in the predicate of a partial index"),
	rule("index-include", ` INDEX .*\) INCLUDE \( | CONCURRENTLY `, "CockroachDB 21.1 has neither"),
	rule("division", ` / `, "two integers give an integer on PostgreSQL and a decimal on CockroachDB"),
	rule("system-time", ` AS OF SYSTEM TIME | CLUSTER_LOGICAL_TIMESTAMP `, "PostgreSQL has neither: db.InSnapshot with db.Stale"),
	rule("merge", `^ MERGE | TABLESAMPLE | (GROUPING SETS|CUBE|ROLLUP) \(`, "CockroachDB 21.1 has none"),
	rule("computed-column", ` \) VIRTUAL `, "PostgreSQL 15 has only STORED ones"),
	rule("column-check", ` ADD COLUMN .*(CHECK|CONSTRAINT|REFERENCES|UNIQUE) `,
		"CockroachDB makes the constraint once more when the column is there: drop it if it exists, and add it, in statements of their own"),
	rule("not-repeatable", `^ CREATE (UNIQUE )?(INDEX|TABLE|SEQUENCE|SCHEMA|DATABASE|TYPE) ([^I]|I[^F]|$)|^ DROP \w+ ([^I]|I[^F]|$)|^ ALTER TABLE ([^I]|I[^F])| (ADD|DROP) (COLUMN|CONSTRAINT) ([^I]|I[^F])`,
		"a killed migrator's file is run again from the top: IF [NOT] EXISTS"),
}

func rule(name, pattern, reason string) Rule {
	return Rule{Name: name, Reason: reason, pattern: regexp.MustCompile(pattern)}
}
