package regions

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
)

// Server is a CockroachDB cluster, seen from one of its databases.
type Server struct {
	conn    *pgx.Conn
	version Version
	own     []string
}

// NewServer opens a session of its own, because it changes the session's settings. PostgreSQL is
// refused with fault.KindConflict. Close ends the session.
func NewServer(ctx context.Context, d *db.DB) (*Server, error) {
	if d.Engine() != db.EngineCockroachDB {
		return nil, fault.Conflict("regions are a matter of CockroachDB, and this database is %s, which keeps all rows in one place whatever their region: there is nothing to set up", d.Version())
	}
	version, err := ParseVersion(d.Version())
	if err != nil {
		return nil, fmt.Errorf("which CockroachDB this is: %w", err)
	}
	tables, err := migratedTables()
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, d.Pool().Config().ConnConfig)
	if err != nil {
		return nil, db.Classify(fmt.Errorf("connect: %w", err))
	}
	s := &Server{conn: conn, version: version, own: tableNames(tables)}
	// A role may have defaults that are meant for people and for short queries.
	for _, setting := range []string{"SET sql_safe_updates = false", "SET statement_timeout = 0"} {
		if err := s.Execute(ctx, setting); err != nil {
			_ = s.Close(ctx)
			return nil, err
		}
	}
	return s, nil
}

// Close ends the session.
func (s *Server) Close(ctx context.Context) error {
	if err := s.conn.Close(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("close the connection: %w", err)
	}
	return nil
}

// Execute runs one statement by itself.
func (s *Server) Execute(ctx context.Context, statement string) error {
	if _, err := s.conn.Exec(ctx, statement); err != nil {
		return db.Classify(err)
	}
	return nil
}

// The schema changes of this database that have not ended. One that is paused waits for a person,
// so it is shown but not waited for.
const (
	fromUnfinishedJobs = ` FROM [SHOW JOBS]
		WHERE job_type IN ('SCHEMA CHANGE', 'NEW SCHEMA CHANGE', 'TYPEDESC SCHEMA CHANGE')
		AND description LIKE '%' || current_database() || '%' AND status `
	waitForJobs = `SHOW JOBS WHEN COMPLETE (SELECT job_id` + fromUnfinishedJobs + `IN ('pending', 'running', 'reverting'))`
	listOfJobs  = `SELECT description::text` + fromUnfinishedJobs + `IN ('pending', 'running', 'reverting', 'paused') ORDER BY job_id`
)

// Settle waits for schema changes that are still running.
func (s *Server) Settle(ctx context.Context) error { return s.Execute(ctx, waitForJobs) }

// Catalog reads the state of the database with SHOW statements and information_schema.
func (s *Server) Catalog(ctx context.Context, desired Mapping) (Catalog, error) {
	catalog, err := s.read(ctx, desired)
	if err != nil {
		return Catalog{}, db.Classify(err)
	}
	return catalog, nil
}

func (s *Server) read(ctx context.Context, desired Mapping) (Catalog, error) {
	c := Catalog{Version: s.version, Codes: map[ids.Region][]string{}}
	if err := s.conn.QueryRow(ctx, "SELECT current_database()::text").Scan(&c.Database); err != nil {
		return Catalog{}, fmt.Errorf("read the database's name: %w", err)
	}
	var err error
	if c.ClusterRegions, err = texts(ctx, s.conn, `SELECT region::text FROM [SHOW REGIONS FROM CLUSTER] ORDER BY region`); err != nil {
		return Catalog{}, fmt.Errorf("read the cluster's regions: %w", err)
	}
	if err := s.readDatabase(ctx, &c); err != nil {
		return Catalog{}, err
	}
	if c.Running, err = texts(ctx, s.conn, listOfJobs); err != nil {
		return Catalog{}, fmt.Errorf("read the running schema changes: %w", err)
	}
	if c.Tables, err = readTables(ctx, s.conn, s.own); err != nil {
		return Catalog{}, err
	}
	if err := s.readLocalities(ctx, c.Tables); err != nil {
		return Catalog{}, err
	}
	for _, t := range c.Tables {
		if err := s.readCodes(ctx, t, desired, c.Codes); err != nil {
			return Catalog{}, err
		}
	}
	return c, nil
}

func (s *Server) readDatabase(ctx context.Context, c *Catalog) error {
	var region string
	var primary bool
	query := `SELECT region::text, "primary" FROM [SHOW REGIONS FROM DATABASE] ORDER BY region`
	err := forEach(ctx, s.conn, query, []any{&region, &primary}, func() {
		c.Regions = append(c.Regions, region)
		if primary {
			c.Primary = region
		}
	})
	if err != nil {
		return fmt.Errorf("read the database's regions: %w", err)
	}
	if c.Primary == "" {
		return nil
	}
	var goal string
	if err := s.conn.QueryRow(ctx, `SELECT survival_goal::text FROM [SHOW SURVIVAL GOAL FROM DATABASE]`).Scan(&goal); err != nil {
		return fmt.Errorf("read the survival goal: %w", err)
	}
	c.Survive = Survival(goal)
	return nil
}

// readTables reads the tables of the current schema, in the same way on both engines. own are the
// tables that the migrations create.
func readTables(ctx context.Context, conn *pgx.Conn, own []string) ([]Table, error) {
	var tables []Table
	index := map[string]int{}
	var table, column, expression string
	each := func(query string, do func(t *Table)) error {
		return forEach(ctx, conn, query, []any{&table, &column, &expression}, func() {
			if _, known := index[table]; !known {
				index[table] = len(tables)
				tables = append(tables, Table{Name: table, Computed: map[string]string{}})
			}
			do(&tables[index[table]])
		})
	}
	err := each(`SELECT t.table_name::text, c.column_name::text, COALESCE(c.generation_expression::text, '')
		FROM information_schema.tables AS t
		JOIN information_schema.columns AS c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
		WHERE t.table_schema = current_schema() AND t.table_type = 'BASE TABLE'
		ORDER BY t.table_name, c.ordinal_position`, func(t *Table) {
		t.Columns = append(t.Columns, column)
		if expression != "" {
			t.Computed[column] = expression
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the columns: %w", err)
	}
	err = each(`SELECT k.table_name::text, k.column_name::text, ''
		FROM information_schema.table_constraints AS c
		JOIN information_schema.key_column_usage AS k ON k.constraint_schema = c.constraint_schema
			AND k.constraint_name = c.constraint_name AND k.table_name = c.table_name
		WHERE c.table_schema = current_schema() AND c.constraint_type = 'PRIMARY KEY'
		ORDER BY k.table_name, k.ordinal_position`, func(t *Table) { t.PrimaryKey = append(t.PrimaryKey, column) })
	if err != nil {
		return nil, fmt.Errorf("read the primary keys: %w", err)
	}
	for i := range tables {
		tables[i].Placement = classify(tables[i], own)
	}
	return tables, nil
}

func (s *Server) readLocalities(ctx context.Context, tables []Table) error {
	var name, locality string
	var locked bool
	err := forEach(ctx, s.conn, `SELECT s.table_name::text, COALESCE(s.locality::text, ''),
			COALESCE('schema_locked=true' = ANY (c.reloptions), false)
		FROM [SHOW TABLES] AS s
		JOIN pg_catalog.pg_namespace AS n ON n.nspname = s.schema_name
		JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = s.table_name
		WHERE s.schema_name = current_schema()`, []any{&name, &locality, &locked}, func() {
		if i := slices.IndexFunc(tables, func(t Table) bool { return t.Name == name }); i >= 0 {
			tables[i].Locality, tables[i].SchemaLocked = locality, locked
		}
	})
	if err != nil {
		return fmt.Errorf("read the localities: %w", err)
	}
	return nil
}

// readCodes finds which region codes the rows of a table hold. It reads the whole table, except
// where the computed column already proves that it holds none but mapped ones.
func (s *Server) readCodes(ctx context.Context, t Table, desired Mapping, codes map[ids.Region][]string) error {
	switch t.Placement {
	case PlacementPrimary, PlacementUnmanaged:
		return nil
	case PlacementRegional:
		if t.guarded(desired.codes()) {
			return nil
		}
	case PlacementGlobal:
	}
	for _, column := range t.codeColumns() {
		found, err := texts(ctx, s.conn, fmt.Sprintf("SELECT DISTINCT %[1]s FROM %[2]s WHERE %[1]s IS NOT NULL", quoted(column), quoted(t.Name)))
		if err != nil {
			return fmt.Errorf("read the region codes of table %s: %w", t.Name, err)
		}
		for _, code := range found {
			codes[ids.Region(code)] = append(codes[ids.Region(code)], t.Name)
		}
	}
	return nil
}

// texts are the rows of a query with one text column.
func texts(ctx context.Context, conn *pgx.Conn, query string) ([]string, error) {
	var found []string
	var text string
	err := forEach(ctx, conn, query, []any{&text}, func() { found = append(found, text) })
	return found, err
}

// forEach scans one row after the other into the same variables.
func forEach(ctx context.Context, conn *pgx.Conn, query string, into []any, do func()) error {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		do()
	}
	return rows.Err()
}
