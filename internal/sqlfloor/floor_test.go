package sqlfloor_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/sqlfloor"
)

// exception lets one kind of finding pass in the statements that it describes.
type exception struct {
	// rule is a Rule's name, or "tenant" for Scope.
	rule string
	file string
	// statement is sqlc's name of the query, the beginning of such names and a star, or a part of
	// the text of a statement without a name.
	statement string
	reason    string
}

func (e exception) covers(rule string, s source) bool {
	if e.rule != rule || e.file != s.file {
		return false
	}
	if s.Name == "" {
		return strings.Contains(s.Text, e.statement)
	}
	beginning, many := strings.CutSuffix(e.statement, "*")
	return e.statement == s.Name || (many && strings.HasPrefix(s.Name, beginning))
}

// exceptions is the whole list. One that nothing needs any more fails the test.
func exceptions() []exception {
	return []exception{
		{
			"tenant", "inventory/queries/holds.sql", "SellingPlaces",
			"the expiry sweeper works for all tenants: this is the list that it goes through",
		},
		{
			"tenant", "bookings/queries/bookings.sql", "SellingPlaces",
			"the payment reconciler works for all tenants: this is the list that it goes through",
		},
		{
			"tenant", "bookings/queries/retention.sql", "RetentionPlaces",
			"old rows are deleted for all tenants: this is the list that the retention goes through",
		},
		{
			"tenant", "waitlist/queries/lists.sql", "ListPlaces",
			"waiting lists are served for all tenants: this is the list that the job goes through",
		},
		{
			"tenant", "events/queries/events.sql", "EventPlaces",
			"the sweep of events works for all tenants: this is the list that it goes through",
		},
		{
			"tenant", "bookings/queries/audit.sql", "Audit*",
			"operators check a whole database; for one tenant, every_tenant is false and each query compares the tenant",
		},
		{
			"tenant", "tenants/queries/keys.sql", "KeyFind",
			"a bearer names no tenant: the key's id, and the secret behind it, tell whose it is",
		},
		{
			"tenant", "cmd/holdfast/chaos_check.go", "",
			"every statement of this file counts, or lets time pass, in the database that the chaos command made for itself",
		},
		{
			"tenant", "tenants/queries/members.sql", "MembersFind",
			"a token says who somebody is and not where they are a member",
		},
		{
			"tenant", "tenants/queries/members.sql", "MembersInvited",
			"the same for who was invited by e-mail and signs in for the first time",
		},
		{
			"tenant", "tenants/queries/keys.sql", "KeyUpdateLastUsed",
			"follows KeyFind with the id that it found, and writes nothing but a time",
		},
		{
			"system-time", "internal/db/snapshot.go", "AS OF SYSTEM TIME",
			"a stale read begins so on CockroachDB alone",
		},
		{
			"system-time", "internal/db/snapshot.go", "cluster_logical_timestamp()",
			"asked for in a stale read, which is CockroachDB's alone",
		},
		{
			"skip-locked", "jobs/rivercrdb/driver.go", "LIMIT 0 FOR UPDATE SKIP LOCKED",
			"this is the question whether the server takes it",
		},
		{
			"notify", "jobs/rivercrdb/rewrite.go", "currently_held_leaders",
			"this is River's text, which is looked for in order to be replaced",
		},
		{
			"enum", "jobs/rivercrdb/schema.sql", "river_job_state",
			"River casts to this type by name; its values change only with River's version",
		},
		{
			"not-repeatable", "jobs/rivercrdb/schema.sql", "CREATE TYPE",
			"PostgreSQL has no CREATE TYPE IF NOT EXISTS: rivercrdb.Migrate looks for it first",
		},
		{
			"not-repeatable", "schema/migrations/0007_money.up.sql", "ADD CONSTRAINT",
			"PostgreSQL has no IF NOT EXISTS for it: the statement before drops the constraint if it exists",
		},
		{
			"not-repeatable", "schema/migrations/0010_presale.up.sql", "ADD CONSTRAINT",
			"PostgreSQL has no IF NOT EXISTS for it: the statement before drops the constraint if it exists",
		},
		{
			"not-repeatable", "schema/migrations/0016_admin.up.sql", "ADD CONSTRAINT",
			"PostgreSQL has no IF NOT EXISTS for it: the statement before drops the constraint if it exists",
		},
		{
			"not-repeatable", "schema/migrations/0022_desk.up.sql", "ADD CONSTRAINT",
			"PostgreSQL has no IF NOT EXISTS for it: the statement before drops the constraint if it exists",
		},
		{
			"not-repeatable", "schema/migrations/0007_money.down.sql", "ADD CONSTRAINT",
			"PostgreSQL has no IF NOT EXISTS for it: the statement before drops the constraint if it exists",
		},
		{
			"not-repeatable", "schema/migrations/0023_moves.up.sql", "ADD CONSTRAINT",
			"PostgreSQL has no IF NOT EXISTS for it: the statement before drops the constraint if it exists",
		},
		{
			"not-repeatable", "schema/migrations/0023_moves.down.sql", "ADD CONSTRAINT",
			"PostgreSQL has no IF NOT EXISTS for it: the statement before drops the constraint if it exists",
		},
		{
			"not-repeatable", "schema/regions/plan.go", "DROP COLUMN",
			"the plan is made from the catalog: after a kill it holds only what is missing",
		},
		{
			"not-repeatable", "internal/dbtest/dbtest.go", "CREATE DATABASE",
			"a new database for each test; an old one of that name would be a defect",
		},
		{
			"not-repeatable", "cmd/holdfast/app.go", "CREATE DATABASE",
			"PostgreSQL has no IF NOT EXISTS for it: the caller takes 42P04 for success",
		},
	}
}

// scoped is whether statements of a file must name the tenant: those of migrations define the
// tables, and those of packages of test support, named after what they help to test, set the stage.
func scoped(file string) bool {
	return !strings.HasPrefix(file, "schema/migrations/") && !strings.HasSuffix(path.Dir(file), "test")
}

func TestEveryStatementKeepsTheFloor(t *testing.T) {
	t.Parallel()
	sources := collect(t)
	var all []sqlfloor.Statement
	kinds := map[string]int{}
	for _, s := range sources {
		all = append(all, s.Statement)
		kinds[filepath.Ext(s.file)]++
	}
	if kinds[".sql"] < 100 || kinds[".go"] < 3 {
		t.Fatalf("collected %v statements: the search has lost its way", kinds)
	}
	tables := sqlfloor.Tables(all)
	if !tables["HOLDS"].Tenant || !tables["HOLDS"].Region || !tables["VENUES"].Tenant || tables["VENUES"].Region {
		t.Fatalf("tables: %v", tables)
	}

	list := exceptions()
	used := make([]bool, len(list))
	excused := func(rule string, s source) bool {
		found := false
		for i, e := range list {
			if e.covers(rule, s) {
				used[i], found = true, true
			}
		}
		return found
	}
	for _, s := range sources {
		for _, rule := range sqlfloor.Check(s.Statement) {
			if !excused(rule.Name, s) {
				t.Errorf("%s: %s: %s", s.place(), rule.Name, rule.Reason)
			}
		}
		if !scoped(s.file) {
			continue
		}
		for _, problem := range sqlfloor.Scope(s.Statement, tables) {
			if !excused("tenant", s) {
				t.Errorf("%s: tenant: %s", s.place(), problem)
			}
		}
	}
	for i, e := range list {
		if !used[i] {
			t.Errorf("nothing needs the exception of %s in %s (%s) any more: remove it", e.rule, e.file, e.statement)
		}
		if e.reason == "" {
			t.Errorf("the exception of %s in %s has no reason", e.rule, e.file)
		}
	}
}

func TestCheckFindsEachRule(t *testing.T) {
	t.Parallel()
	broken := map[string][]string{
		"skip-locked":      {"SELECT id FROM jobs ORDER BY id FOR UPDATE SKIP LOCKED", "select id from jobs for update\n\tskip  locked"},
		"weak-lock":        {"SELECT id FROM holds FOR SHARE", "SELECT id FROM holds FOR NO KEY UPDATE", "SELECT id FROM holds FOR UPDATE NOWAIT"},
		"jsonb-array":      {"SELECT unnest($1::jsonb[])", "CREATE TABLE IF NOT EXISTS a (b jsonb[])"},
		"cast-type":        {"SELECT $1::varchar", "SELECT CAST($1 AS numeric)", "SELECT a::timestamp", "SELECT CAST(coalesce(a, b) AS numeric)", "SELECT CAST(CAST(a AS text) AS varchar)"},
		"serial":           {"CREATE TABLE IF NOT EXISTS a (id bigserial)", "CREATE TABLE IF NOT EXISTS a (id bigint GENERATED ALWAYS AS IDENTITY)"},
		"integer":          {"CREATE TABLE IF NOT EXISTS a (b int)", "SELECT $1::integer[]", "CREATE TABLE IF NOT EXISTS a (b INT4)"},
		"enum":             {"CREATE TYPE state AS ENUM ('A')"},
		"domain":           {"CREATE DOMAIN money AS bigint"},
		"advisory-lock":    {"SELECT pg_advisory_xact_lock(1)", "SELECT pg_try_advisory_lock(1)"},
		"notify":           {"LISTEN holds", "SELECT pg_notify('a', 'b')"},
		"code-in-database": {"CREATE TRIGGER t AFTER INSERT ON a EXECUTE FUNCTION f()", "DO $$ BEGIN END $$", "CREATE FUNCTION f() RETURNS text AS 'x'", "CALL p()"},
		"exclusion":        {"ALTER TABLE IF EXISTS a ADD EXCLUDE USING gist (b WITH &&)"},
		"range-type":       {"SELECT daterange($1, $2)"},
		"array-slice":      {"SELECT a[2:] FROM b", "SELECT a[:3] FROM b", "SELECT a[1:n] FROM b"},
		"system-column":    {"INSERT INTO a (b) VALUES (1) RETURNING xmax", `SELECT "ctid" FROM a`, `SELECT E'\'' AS a, xmax FROM b WHERE c = ''`},
		"delete-using":     {"DELETE FROM a USING b WHERE a.id = b.id"},
		"extension":        {"CREATE EXTENSION IF NOT EXISTS pgcrypto"},
		"make-interval":    {"SELECT now() + make_interval(secs => 1)"},
		"named-argument":   {"SELECT f(a => 1)", "SELECT f(a := 1)"},
		"storage":          {"CREATE UNLOGGED TABLE a (b text)", "CREATE INDEX IF NOT EXISTS a ON b USING gin (c)"},
		"select-star":      {"SELECT * FROM holds", "SELECT h.* FROM holds h", "INSERT INTO a (b) VALUES (1) RETURNING *", "SELECT a, * FROM b", "SELECT ALL * FROM b", "SELECT DISTINCT ON (a) * FROM b"},
		"arbiter":          {"INSERT INTO a (b) VALUES (1) ON CONFLICT (lower(b)) DO NOTHING", "INSERT INTO a (b) VALUES (1) ON CONFLICT ON CONSTRAINT c DO NOTHING", "INSERT INTO a (b) VALUES (1) ON CONFLICT (b) WHERE c DO NOTHING"},
		"index-expression": {"CREATE INDEX IF NOT EXISTS a ON b (c, lower(d))"},
		"index-function":   {"CREATE INDEX IF NOT EXISTS a ON b (c) WHERE d > now()"},
		"index-include":    {"CREATE INDEX IF NOT EXISTS a ON b (c) INCLUDE (d)", "CREATE INDEX CONCURRENTLY IF NOT EXISTS a ON b (c)"},
		"division":         {"SELECT a / b FROM c", "SELECT sum(a)/2 FROM c"},
		"system-time":      {"BEGIN READ ONLY, AS OF SYSTEM TIME '-5s'", "SET TRANSACTION AS OF SYSTEM TIME '-5s'", "SELECT cluster_logical_timestamp()::text"},
		"merge":            {"MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE"},
		"computed-column":  {"CREATE TABLE IF NOT EXISTS a (b text AS (c) VIRTUAL)"},
		"column-check":     {"ALTER TABLE IF EXISTS a ADD COLUMN IF NOT EXISTS b bigint CHECK (b > 0)", "ALTER TABLE IF EXISTS a ADD COLUMN IF NOT EXISTS b bigint NOT NULL DEFAULT 0 CONSTRAINT c CHECK (b > 0)"},
		"add-what":         {"ALTER TABLE IF EXISTS a ADD b text CHECK (b > '')", "ALTER TABLE IF EXISTS a ADD CHECK (b > 0)", "ALTER TABLE IF EXISTS a ADD PRIMARY KEY (b)", "ALTER TABLE IF EXISTS a DROP b"},
		"not-repeatable":   {"CREATE TABLE a (b text)", "CREATE UNIQUE INDEX a ON b (c)", "DROP TABLE a", "ALTER TABLE a ADD COLUMN IF NOT EXISTS b text", "ALTER TABLE IF EXISTS a ADD COLUMN b text", "ALTER TABLE IF EXISTS a ADD CONSTRAINT b CHECK (c)"},
	}
	for name, texts := range broken {
		for _, text := range texts {
			found := false
			for _, rule := range sqlfloor.Check(sqlfloor.Statement{Text: text}) {
				found = found || rule.Name == name
			}
			if !found {
				t.Errorf("%s does not find %q", name, text)
			}
		}
	}
	for _, text := range []string{
		"SELECT 'SELECT * / jsonb[] FOR UPDATE SKIP LOCKED' AS a, $1::uuid[] -- xmax / DO",
		"SELECT count(*) FROM holds /* SELECT * */",
		`SELECT "trigger" FROM a WHERE b = ANY($1::text[]) AND c[1] = 'x'`,
		"INSERT INTO a (b) VALUES ($1::text) ON CONFLICT (b) DO UPDATE SET b = excluded.b",
		"CREATE UNIQUE INDEX IF NOT EXISTS a ON b (c, d) WHERE e IN ('X', 'Y')",
		"SELECT unnest($1::date[]) AS night, sum(a)::bigint FROM b",
		"ALTER TABLE IF EXISTS a ADD COLUMN IF NOT EXISTS b text",
		"ALTER TABLE IF EXISTS a ALTER COLUMN b DROP NOT NULL",
		"SELECT count(*), a * b, (a + b) * c FROM d WHERE CAST(coalesce(a, b) AS bigint) > 0",
	} {
		for _, rule := range sqlfloor.Check(sqlfloor.Statement{Text: text}) {
			t.Errorf("%s finds something in %q", rule.Name, text)
		}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	tables := sqlfloor.Tables([]sqlfloor.Statement{
		{Text: "CREATE TABLE IF NOT EXISTS holds (tenant_id uuid NOT NULL, region text, id uuid, CONSTRAINT holds_pkey PRIMARY KEY (tenant_id, region, id))"},
		{Text: "CREATE TABLE IF NOT EXISTS venues (tenant_id uuid NOT NULL, id uuid, region text, CONSTRAINT venues_pkey PRIMARY KEY (tenant_id, id))"},
		{Text: "CREATE TABLE IF NOT EXISTS tenants (id uuid, CONSTRAINT tenants_pkey PRIMARY KEY (id))"},
	})
	for _, c := range []struct {
		text string
		want int
	}{
		{"SELECT id FROM holds WHERE tenant_id = $1 AND region = $2", 0},
		{"SELECT id FROM holds WHERE tenant_id = $1", 1},
		{"SELECT id FROM holds WHERE id = $1", 2},
		{"SELECT id FROM venues WHERE tenant_id = @tenant_id", 0},
		{"SELECT id FROM venues", 1},
		{"SELECT id FROM public.venues", 1},
		{"SELECT id FROM ONLY venues", 1},
		{`SELECT id FROM "venues"`, 1},
		{"SELECT v.id FROM venues v, holds h WHERE v.tenant_id = $1", 1},
		{"SELECT a IS NOT DISTINCT FROM b, c FROM venues WHERE tenant_id = $1", 0},
		{"SELECT id FROM tenants WHERE id = $1", 0},
		{"SELECT h.id FROM holds h JOIN venues v ON v.id = h.id WHERE h.tenant_id = $1 AND h.region = $2", 1},
		{"SELECT h.id FROM holds h JOIN venues v ON v.tenant_id = h.tenant_id WHERE h.tenant_id = $1 AND h.region = $2", 0},
		{"UPDATE holds SET id = $1 WHERE region = $2", 1},
		{"DELETE FROM holds WHERE tenant_id = $1 AND region IN ('eu')", 0},
		{"INSERT INTO holds (tenant_id, region, id) VALUES ($1, $2, $3) ON CONFLICT (tenant_id, region, id) DO UPDATE SET id = excluded.id", 0},
		{"INSERT INTO holds (id, region) VALUES ($1, $2)", 1},
		{"INSERT INTO holds (tenant_id, region, id) SELECT tenant_id, 'eu', id FROM venues", 1},
		{"SELECT id FROM holds WHERE tenant_id = $1 AND region = $2 AND EXISTS (SELECT 1 FROM venues WHERE venues.id = holds.id) ORDER BY id LIMIT 1", 1},
	} {
		if got := sqlfloor.Scope(sqlfloor.Statement{Text: c.text}, tables); len(got) != c.want {
			t.Errorf("Scope(%q) = %q, want %d problems", c.text, got, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	got := sqlfloor.Split(`-- A head; with a semicolon.

-- name: First :one
-- Why it is so.
SELECT ';', "a;b" -- not; here
FROM a;
/* nor;
here */ SELECT 2;

SELECT 'it''s'`)
	want := []sqlfloor.Statement{
		{Name: "First", Text: "SELECT ';', \"a;b\" -- not; here\nFROM a", Line: 5},
		{Text: "SELECT 2", Line: 8},
		{Text: "SELECT 'it''s'", Line: 10},
	}
	if len(got) != len(want) {
		t.Fatalf("Split = %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("statement %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}
