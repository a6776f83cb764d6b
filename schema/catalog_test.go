package schema_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
)

// directoryTables are read everywhere and written rarely, and so have no region in their keys: on
// CockroachDB they become GLOBAL. Every other table is regional.
func directoryTables() []string {
	return []string{"admin_sessions", "admission_keys", "api_keys", "cancellation_policies", "cancellation_steps", "channel_offers", "channel_sales", "channels", "customer_secrets", "member_bindings", "member_versions", "members", "properties", "property_places", "rounding_rules", "sales_terms", "tax_rates", "tenants", "trade_hotels", "venues", "walk_terms", "webhook_endpoints"}
}

// allowedColumnTypes are those on whose meaning the engines agree.
func allowedColumnTypes() []string {
	return []string{"int8", "int2", "text", "uuid", "date", "timestamptz", "bool", "jsonb", "bytea", "_text"}
}

// list is the only column of a query.
func list(t *testing.T, d *db.DB, query string) []string {
	t.Helper()
	rows, err := d.Pool().Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var result []string
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		result = append(result, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return result
}

func tableNames(t *testing.T, d *db.DB) []string {
	t.Helper()
	names := list(t, d, `
SELECT table_name::text FROM information_schema.tables
WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND table_name NOT IN ('schema_migrations', 'schema_lock')
ORDER BY table_name`)
	if len(names) < 20 {
		t.Fatalf("tables %v: the query has lost its way", names)
	}
	return names
}

// constraint is a row of pg_constraint, or a unique index. NOT NULL is left out: newer servers count
// it among the constraints and name it themselves.
type constraint struct {
	table, name, kind string
	// columns are in the order of the key, or empty for CHECK.
	columns []string
	// target is the table that a foreign key refers to.
	target string
}

func constraints(t *testing.T, d *db.DB) []constraint {
	t.Helper()
	rows, err := d.Pool().Query(t.Context(), `
SELECT t.relname::text, c.conname::text, c.contype::text, COALESCE(f.relname, '')::text, COALESCE(c.conkey, '{}')::bigint[]::text[]
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
LEFT JOIN pg_catalog.pg_class f ON f.oid = c.confrelid
WHERE n.nspname = current_schema() AND t.relname NOT IN ('schema_migrations', 'schema_lock')
    AND c.contype IN ('p', 'u', 'f', 'c')
UNION ALL
SELECT t.relname::text, i.relname::text, 'unique index', '', x.indkey::bigint[]::text[]
FROM pg_catalog.pg_index x
JOIN pg_catalog.pg_class t ON t.oid = x.indrelid
JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = current_schema() AND x.indisunique AND t.relname NOT IN ('schema_migrations', 'schema_lock')
ORDER BY 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var result []constraint
	for rows.Next() {
		var c constraint
		if err := rows.Scan(&c.table, &c.name, &c.kind, &c.target, &c.columns); err != nil {
			t.Fatal(err)
		}
		result = append(result, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	names := columnNumbers(t, d)
	for _, c := range result {
		for i, number := range c.columns {
			c.columns[i] = names[c.table][number]
		}
	}
	return result
}

// columnNumbers are the columns of each table by pg_attribute's number.
func columnNumbers(t *testing.T, d *db.DB) map[string]map[string]string {
	t.Helper()
	names := map[string]map[string]string{}
	for _, line := range list(t, d, `
SELECT t.relname::text || ' ' || a.attnum::text || ' ' || a.attname::text
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class t ON t.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = current_schema() AND t.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped`) {
		fields := strings.Fields(line)
		if names[fields[0]] == nil {
			names[fields[0]] = map[string]string{}
		}
		names[fields[0]][fields[1]] = fields[2]
	}
	return names
}

func TestRegionalTablesHaveTenantAndRegionInEveryKey(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	directory := directoryTables()
	names := tableNames(t, d)
	for _, name := range directory {
		if !slices.Contains(names, name) {
			t.Errorf("there is no directory table %s", name)
		}
	}
	columns := columnNumbers(t, d)
	for _, table := range names {
		if slices.Contains(directory, table) {
			continue
		}
		var own []string
		for _, column := range columns[table] {
			own = append(own, column)
		}
		if !slices.Contains(own, "tenant_id") || !slices.Contains(own, "region") {
			t.Errorf("%s has no tenant_id and region: add them, or name it among the directory tables", table)
		}
	}
	keys := 0
	for _, c := range constraints(t, d) {
		if slices.Contains(directory, c.table) || c.kind == "c" {
			continue
		}
		keys++
		if !slices.Contains(c.columns, "tenant_id") {
			t.Errorf("%s of %s is (%s), without tenant_id", c.name, c.table, strings.Join(c.columns, ", "))
		}
		// A directory table's key has no region that a foreign key could refer to.
		if c.kind == "f" && slices.Contains(directory, c.target) {
			continue
		}
		if len(c.columns) < 2 || c.columns[0] != "tenant_id" || c.columns[1] != "region" {
			t.Errorf("%s of %s is (%s), want it to begin with tenant_id, region", c.name, c.table, strings.Join(c.columns, ", "))
		}
	}
	if keys < 50 {
		t.Errorf("only %d keys were looked at", keys)
	}
}

func TestNoRegionalRowDependsOnADirectoryRowOfAnotherTenant(t *testing.T) {
	t.Parallel()
	for _, c := range constraints(t, dbtest.Open(t)) {
		if c.kind == "f" && c.target != "tenants" && !slices.Contains(c.columns, "tenant_id") {
			t.Errorf("%s of %s refers to %s without tenant_id", c.name, c.table, c.target)
		}
	}
}

// Names of constraints are mapped to errors: they are given, and never made up by the engine.
func TestConstraintsAreNamedByTheirTable(t *testing.T) {
	t.Parallel()
	madeUp := regexp.MustCompile(`(_check[0-9]*|_key[0-9]*|_fkey[0-9]*|^primary|^check_.*|^fk_.*)$`)
	for _, c := range constraints(t, dbtest.Open(t)) {
		if !strings.HasPrefix(c.name, c.table+"_") || madeUp.MatchString(c.name) {
			t.Errorf("constraint %s of %s: begin it with the table's name and say what it is about", c.name, c.table)
		}
		if c.kind == "p" && c.name != c.table+"_pkey" {
			t.Errorf("the primary key of %s is named %s, want %s_pkey", c.table, c.name, c.table)
		}
	}
	for _, line := range list(t, dbtest.Open(t), "SELECT tablename::text || ' ' || indexname::text FROM pg_catalog.pg_indexes WHERE schemaname = current_schema() AND tablename NOT IN ('schema_migrations', 'schema_lock')") {
		table, index, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(index, table+"_") {
			t.Errorf("index %s of %s: begin it with the table's name", index, table)
		}
	}
}

func TestColumnsHaveTypesThatTheEnginesAgreeOn(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	allowed := allowedColumnTypes()
	for _, line := range list(t, d, `
SELECT udt_name::text || ' ' || table_name::text || '.' || column_name::text FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name NOT IN ('schema_migrations', 'schema_lock')`) {
		kind, column, _ := strings.Cut(line, " ")
		if !slices.Contains(allowed, kind) {
			t.Errorf("%s is %s", column, kind)
		}
	}
	for _, name := range list(t, d, `
SELECT t.typname::text FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname = current_schema() AND t.typtype IN ('e', 'd', 'r')`) {
		t.Errorf("type %s: use text and a named CHECK", name)
	}
	for _, name := range list(t, d, "SELECT sequence_name::text FROM information_schema.sequences WHERE sequence_schema = current_schema()") {
		t.Errorf("sequence %s: use uuid", name)
	}
	for _, name := range list(t, d, `
SELECT table_name::text || '.' || column_name::text FROM information_schema.columns
WHERE table_schema = current_schema() AND column_name = 'region' AND is_nullable <> 'NO'`) {
		t.Errorf("%s may be NULL: CockroachDB could not place the row", name)
	}
}
