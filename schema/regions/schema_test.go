package regions

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// directory are the tables whose every write waits until all regions can read it. A new table
// without a region in its key belongs here only if it is read everywhere and written rarely;
// otherwise it lacks its region.
func directory() []string {
	return []string{"admin_sessions", "admission_keys", "api_keys", "cancellation_policies", "cancellation_steps", "channel_offers", "channel_sales", "channels", "customer_secrets", "member_bindings", "member_versions", "members", "properties", "property_places", "rounding_rules", "sales_terms", "tax_rates", "tenants", "trade_hotels", "venues", "walk_terms", "webhook_endpoints"}
}

func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dbtest.URL(t))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// catalogTables are the tables of a migrated database, from its catalog.
func catalogTables(t *testing.T, conn *pgx.Conn) []Table {
	t.Helper()
	migrated, err := migratedTables()
	if err != nil {
		t.Fatalf("read the migrations: %v", err)
	}
	tables, err := readTables(context.Background(), conn, tableNames(migrated))
	if err != nil {
		t.Fatalf("read the catalog: %v", err)
	}
	return tables
}

// TestEveryTableHasItsPlace proves from the catalog that the migrations leave no table without one.
func TestEveryTableHasItsPlace(t *testing.T) {
	t.Parallel()
	placed := map[Placement][]string{}
	tables := catalogTables(t, connect(t))
	for _, table := range tables {
		placed[table.Placement] = append(placed[table.Placement], table.Name)
	}
	if others := placed[PlacementUnmanaged]; len(others) > 0 {
		t.Errorf("the migrations made %v, and the reader of the migrations does not know them", others)
	}
	if got := placed[PlacementGlobal]; !slices.Equal(got, directory()) {
		t.Errorf("tables without a region in their primary key: %v\nexpected the directory: %v", got, directory())
	}
	for _, name := range placed[PlacementPrimary] {
		if name != "schema_migrations" && name != "schema_lock" {
			t.Errorf("%s is placed as bookkeeping", name)
		}
	}
	if len(placed[PlacementRegional]) < 20 {
		t.Errorf("only %d regional tables: %v", len(placed[PlacementRegional]), placed[PlacementRegional])
	}
}

// TestMigrationsAreReadAsTheCatalogShowsThem compares what plan --offline knows with a database.
func TestMigrationsAreReadAsTheCatalogShowsThem(t *testing.T) {
	t.Parallel()
	migrated, err := migratedTables()
	if err != nil {
		t.Fatalf("read the migrations: %v", err)
	}
	found := slices.DeleteFunc(catalogTables(t, connect(t)), func(table Table) bool { return table.Placement == PlacementPrimary })
	if got, want := tableNames(migrated), tableNames(found); !slices.Equal(got, want) {
		t.Fatalf("tables of the migrations: %v\nof the catalog: %v", got, want)
	}
	for i, table := range found {
		if !slices.Equal(migrated[i].Columns, table.Columns) || !slices.Equal(migrated[i].PrimaryKey, table.PrimaryKey) || migrated[i].Placement != table.Placement {
			t.Errorf("%s: the migrations give %+v\nthe catalog %+v", table.Name, migrated[i], table)
		}
	}
}

// key is a primary key, a unique constraint or index, or a foreign key.
type key struct {
	table, name string
	kind        string
	columns     []string
	// references is the table a foreign key points to.
	references string
}

// TestEveryKeyOfARegionalTableHoldsItsTenantAndRegion proves from the catalog that a key of a
// regional table says where its row lives. A foreign key to a directory table holds the tenant: the
// directory has no region in its key, and is local everywhere.
func TestEveryKeyOfARegionalTableHoldsItsTenantAndRegion(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	placements := map[string]Placement{}
	for _, table := range catalogTables(t, conn) {
		placements[table.Name] = table.Placement
	}
	keys := slices.Concat(uniqueKeys(t, conn), foreignKeys(t, conn))
	kinds := map[string]int{}
	for _, k := range keys {
		if placements[k.table] != PlacementRegional {
			if placements[k.references] == PlacementRegional {
				t.Errorf("%s: %s points from a table without regions to the regional %s", k.table, k.name, k.references)
			}
			continue
		}
		kinds[k.kind]++
		if !slices.Contains(k.columns, "tenant_id") {
			t.Errorf("%s: the %s %s (%s) lacks the tenant", k.table, k.kind, k.name, strings.Join(k.columns, ", "))
		}
		if placements[k.references] != PlacementGlobal && !slices.Contains(k.columns, codeColumn) {
			t.Errorf("%s: the %s %s (%s) lacks the region", k.table, k.kind, k.name, strings.Join(k.columns, ", "))
		}
	}
	if kinds["unique key"] < 25 || kinds["foreign key"] < 10 {
		t.Errorf("only %v were found", kinds)
	}
}

// uniqueKeys come from pg_catalog: information_schema does not know unique indexes without a
// constraint.
func uniqueKeys(t *testing.T, conn *pgx.Conn) []key {
	t.Helper()
	return collectKeys(t, conn, "unique key", `SELECT t.relname::text, i.relname::text, a.attname::text, ''
		FROM pg_catalog.pg_index AS x
		JOIN pg_catalog.pg_class AS t ON t.oid = x.indrelid
		JOIN pg_catalog.pg_class AS i ON i.oid = x.indexrelid
		JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
		JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = ANY (x.indkey)
		WHERE x.indisunique AND n.nspname = current_schema()
		ORDER BY t.relname, i.relname, a.attnum`)
}

func foreignKeys(t *testing.T, conn *pgx.Conn) []key {
	t.Helper()
	return collectKeys(t, conn, "foreign key", `SELECT c.table_name::text, c.constraint_name::text, k.column_name::text, u.table_name::text
		FROM information_schema.table_constraints AS c
		JOIN information_schema.key_column_usage AS k ON k.constraint_schema = c.constraint_schema
			AND k.constraint_name = c.constraint_name AND k.table_name = c.table_name
		JOIN information_schema.referential_constraints AS r ON r.constraint_schema = c.constraint_schema
			AND r.constraint_name = c.constraint_name
		JOIN information_schema.table_constraints AS u ON u.constraint_schema = r.unique_constraint_schema
			AND u.constraint_name = r.unique_constraint_name
		WHERE c.constraint_type = 'FOREIGN KEY' AND c.table_schema = current_schema()
		ORDER BY c.table_name, c.constraint_name, k.ordinal_position`)
}

func collectKeys(t *testing.T, conn *pgx.Conn, kind, query string) []key {
	t.Helper()
	var keys []key
	var table, name, column, references string
	err := forEach(context.Background(), conn, query, []any{&table, &name, &column, &references}, func() {
		if len(keys) == 0 || keys[len(keys)-1].name != name || keys[len(keys)-1].table != table {
			keys = append(keys, key{table: table, name: name, kind: kind, references: references})
		}
		last := &keys[len(keys)-1]
		last.columns = append(last.columns, column)
	})
	if err != nil {
		t.Fatalf("read the %ss: %v", kind, err)
	}
	return keys
}

func TestClassify(t *testing.T) {
	t.Parallel()
	own := []string{"holds", "venues", "river_boats"}
	for _, c := range []struct {
		table Table
		want  Placement
	}{
		{Table{Name: "holds", PrimaryKey: []string{"tenant_id", "region", "id"}}, PlacementRegional},
		{Table{Name: "venues", PrimaryKey: []string{"tenant_id", "id"}, Columns: []string{"region"}}, PlacementGlobal},
		{Table{Name: "river_job", PrimaryKey: []string{"id"}}, PlacementPrimary},
		{Table{Name: "schema_migrations", PrimaryKey: []string{"version"}}, PlacementPrimary},
		{Table{Name: "schema_lock", PrimaryKey: []string{"lock_id"}}, PlacementPrimary},
		{Table{Name: "spreadsheet", PrimaryKey: []string{"region"}}, PlacementUnmanaged},
	} {
		if got := classify(c.table, own); got != c.want {
			t.Errorf("%s: got %s, expected %s", c.table.Name, got, c.want)
		}
	}
}

func TestServerExplainsItselfOnPostgreSQL(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	if d.Engine() != db.EnginePostgreSQL {
		t.Skip("the tests run on CockroachDB, which has regions")
	}
	_, err := NewServer(context.Background(), d)
	if fault.KindOf(err) != fault.KindConflict || !strings.HasPrefix(err.Error(), "regions are a matter of CockroachDB, and this database is PostgreSQL ") {
		t.Errorf("got %v", err)
	}
}
